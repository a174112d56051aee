//! The things of 802.11 that fluid models lack.

use crate::resolved::Resolved;
use evenair_netsim::MacSpec;
use evenair_topology::Link;

/// The most pairs of senders that are named.
const NAMED: usize = 3;

impl Resolved {
    /// Pairs of links, by their places in [`Layout::links`](crate::Layout::links), with hidden terminals: a frame of one link's
    /// sender reaches the other's receiver, and the two senders do not sense each other.
    pub fn hidden_pairs(&self) -> Vec<(usize, usize)> {
        let (links, medium) = (&self.layout().links, &self.network().medium);
        let senses = |from: u32, to: u32| {
            medium.hearing(from as usize, to as usize).is_some_and(evenair_topology::Hearing::is_sensed)
        };
        let reaches =
            |a: Link, b: Link| a.from == b.to || medium.hearing(a.from as usize, b.to as usize).is_some();
        let is_hidden = |a: Link, b: Link| {
            let is_sensed = senses(a.from, b.from) && senses(b.from, a.from);
            a.from != b.from && !is_sensed && (reaches(a, b) || reaches(b, a))
        };
        let all = (0..links.len()).flat_map(|l| (l + 1..links.len()).map(move |m| (l, m)));
        all.filter(|&(l, m)| is_hidden(links[l].1, links[m].1)).collect()
    }

    /// Returns a sentence with the parts of the scenario's MAC that fluid models lack; `None` over ideal CSMA, which they model.
    pub fn fluid_lacks(&self) -> Option<String> {
        if self.network().mac == MacSpec::Ideal || self.layout().links.is_empty() {
            return None;
        }
        let without = "The model has no collisions and no hidden terminals";
        let hidden = self.hidden_pairs();
        let name = |node: u32| self.network().name(node);
        let pair = |&(l, m): &(usize, usize)| {
            let (a, b) = (&self.layout().links[l], &self.layout().links[m]);
            format!("{} and {} ({} and {})", name(a.1.from), name(b.1.from), a.0, b.0)
        };
        let named: Vec<String> = hidden.iter().take(NAMED).map(pair).collect();
        let more = match hidden.len().saturating_sub(NAMED) {
            0 => String::new(),
            1 => ", and one more pair".into(),
            n => format!(", and {n} more pairs"),
        };
        Some(if hidden.is_empty() {
            format!("{without}; evenair compare shows these rates over 802.11.")
        } else {
            format!(
                "{without}. Here senders that do not sense each other reach each other's receivers: {}{more}. Their frames collide \
                 over 802.11, where rates may be far from these; evenair run shows them.",
                named.join(", ")
            )
        })
    }
}
