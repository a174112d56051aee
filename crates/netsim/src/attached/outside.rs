//! Counts of packets from outside. Those of a flow count for it, all others for their pair of nodes.

use super::Flow;
use super::delay::OneWay;
use crate::measure::OutsideResult;
use crate::packet::{Entered, Whose};
use crate::spec::name;
use crate::times::Histogram;
use evenair_units::{Instant, Volume};
use std::collections::BTreeMap;

/// The counts of packets that belong to no flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    /// By where they entered and where they leave.
    pairs: BTreeMap<(u32, u32), Pair>,
    /// How long each took is kept.
    times: bool,
}

/// Since the warm-up.
#[derive(Clone, Debug, Default)]
struct Pair {
    entered: Volume,
    arrived: Volume,
    lost: Volume,
    delay: OneWay,
}

impl Outside {
    pub(crate) fn new(times: bool) -> Self {
        Self { pairs: BTreeMap::new(), times }
    }

    fn pair(&mut self, entered: &Entered) -> &mut Pair {
        let times = self.times;
        self.pairs.entry(entered.ends()).or_insert_with(|| {
            let mut pair = Pair::default();
            pair.delay.each = times.then(Histogram::default);
            pair
        })
    }

    /// A packet comes in.
    pub(crate) fn enter(&mut self, size: u32, entered: &Entered) {
        if let Whose::Nobody(_) = entered.whose() {
            self.pair(entered).entered.add(size.into());
        }
    }

    /// A packet has come to its node, or to one that hears its broadcast.
    pub(super) fn arrive(&mut self, flows: &mut [Flow], now: Instant, size: u32, entered: &Entered) {
        let delay = now.since(entered.at());
        match entered.whose() {
            Whose::Flow { flow, back } => {
                let flow = &mut flows[flow as usize];
                // The core counts requests and acknowledgements.
                let end = if back { flow.source } else { flow.destination };
                // A packet that leaves at a router is still under way.
                if back == flow.traffic.has_replies() && entered.ends().1 == end {
                    flow.hand_over(now, 1);
                    flow.delay.add(delay);
                }
            }
            Whose::Probe { .. } => (),
            Whose::Nobody(_) => {
                let pair = self.pair(entered);
                pair.arrived.add(size.into());
                pair.delay.add(delay);
            }
        }
    }

    /// A packet was lost.
    pub(crate) fn lose(&mut self, size: u32, entered: &Entered) {
        if let Whose::Nobody(_) = entered.whose() {
            self.pair(entered).lost.add(size.into());
        }
    }

    /// Discards the counts of the warm-up.
    pub(crate) fn start_measuring(&mut self) {
        for pair in self.pairs.values_mut() {
            (pair.entered, pair.arrived, pair.lost) = Default::default();
            pair.delay.start_measuring();
        }
    }

    /// The counts of the measured time, of pairs of nodes that had any packets.
    pub(crate) fn results(&self, nodes: &[String]) -> Vec<OutsideResult> {
        let had_any = |pair: &&Pair| pair.entered.packets + pair.arrived.packets + pair.lost.packets > 0;
        let result = |(&(from, to), pair): (&(u32, u32), &Pair)| OutsideResult {
            from: name(nodes, from).into(),
            to: name(nodes, to).into(),
            entered_packets: pair.entered.packets,
            entered_bytes: pair.entered.bytes,
            arrived_packets: pair.arrived.packets,
            arrived_bytes: pair.arrived.bytes,
            lost_packets: pair.lost.packets,
            lost_bytes: pair.lost.bytes,
            delay: pair.delay.result(),
        };
        self.pairs.iter().filter(|(_, pair)| had_any(pair)).map(result).collect()
    }
}
