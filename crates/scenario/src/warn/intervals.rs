//! Back-off laws that look at their queue more often than aggregates let it change.

use crate::resolved::Resolved;
use evenair_laws::Parameters;
use evenair_laws::backoff::{BackoffLaw, BackoffParams, LinkRole};
use evenair_netsim::MacSpec;
use evenair_units::Duration;
use std::collections::BTreeSet;

/// How many turns of all contenders an interval should have, so that a queue's service in it is a rate and not a lump.
const TURNS: u64 = 10;

impl Resolved {
    /// A back-off law with an interval in which its link sends a few aggregates or none: its service is then zero or a lump.
    pub(super) fn too_often(&self) -> Option<String> {
        let network = self.network();
        let limits = &network.aggregation.as_ref()?.limits;
        let MacSpec::Dcf { timing, .. } = &network.mac else { return None };
        let interval =
            |law: &BackoffParams| law.begin(&LinkRole::data(network.surroundings)).update_interval();
        let (contenders, full) = (0..self.layout().links.len())
            .map(|place| {
                let (_, link) = &self.layout().links[place];
                let mode = network.mode(link.from, link.to);
                (self.contenders(place), limits.full(timing, network.surroundings.packet.size, mode))
            })
            .max_by_key(|(contenders, full)| full.exchange * *contenders)?;
        let (packets, exchange) = (full.packets, full.exchange);
        let least = exchange * contenders * TURNS;
        let laws = network.node_backoffs.iter().map(|(_, law)| law).chain([&network.backoff]);
        let shortest: Duration = laws.filter_map(interval).min()?;
        (shortest < least).then(|| {
            format!(
                "backoff.interval: {shortest} is shorter than {TURNS} turns of {contenders} contenders, whose aggregates of {packets} packets take {exchange} each: a link's service in it is a lump or nothing; scale the law's unit to the aggregate, or make the interval {least} or more"
            )
        })
    }

    /// The senders of the links that a link conflicts with, and its own.
    fn contenders(&self, place: usize) -> u64 {
        let layout = self.layout();
        let from = |place: usize| layout.links[place].1.from;
        let others = layout.conflicts.neighbours(place).iter().map(|&other| from(other as usize));
        others.chain([from(place)]).collect::<BTreeSet<u32>>().len() as u64
    }
}
