//! Nodes that move: other hearers from an instant on.
//!
//! A frame on the air keeps the hearers that it began with, so that its end is where its beginning was. Its sender is then *stale*: it
//! takes its new hearers once the frame has ended.

use super::shape::{Shape, Table};
use super::{DcfAir, Hearers, neighbourhoods};
use crate::receivers::Receivers;
use evenair_topology::Medium;
use evenair_units::Instant;

impl<S: Shape> DcfAir<S> {
    /// See [`Air::set_medium`](crate::Air::set_medium).
    pub fn set_medium(
        &mut self,
        now: Instant,
        medium: &Medium,
        receivers: &Receivers,
        stale: &mut Vec<u32>,
    ) -> Instant {
        assert!(!self.is_wide, "nodes move where no hearer is further than half a slot");
        let (_, modes) = receivers.classes(self.timing.phy);
        let mut hearers = Hearers::of(medium, &modes, &self.timing, &self.rules, receivers);
        assert!(hearers.far.iter().all(|(start, end)| start == end), "a hearer further than half a slot");
        let nodes = self.nodes.all().len();
        stale.retain(|&node| self.stations[node as usize].sending.is_some());
        for &node in stale.iter() {
            for row in (node as usize..hearers.near.len()).step_by(nodes) {
                let (start, end) = self.ear_range[row];
                let first = hearers.ears.len() as u32;
                hearers.ears.extend_from_slice(&self.ears[start as usize..end as usize]);
                hearers.near[row] = (first, hearers.ears.len() as u32);
            }
        }
        (self.ears, self.ear_range) = (hearers.ears.into(), Table::new(hearers.near));
        for (from, to) in self.losses.keys().copied().collect::<Vec<_>>() {
            self.mark_lossy(from, to);
        }
        let (around, around_range) = neighbourhoods(medium, self.nodes.all(), self.adds_up());
        (self.around, self.around_range) = (around, Table::new(around_range));
        self.draw_sets();
        self.start_anew(now);
        let ends = stale.iter().map(|&node| self.nodes[node as usize].sending_until);
        ends.fold(Instant::NEVER, Instant::min)
    }

    /// Marks the hearers of one node that are another as those of a link with an error model.
    pub(super) fn mark_lossy(&mut self, from: u32, to: u32) {
        let (near, nodes) = (self.ear_range.all(), self.nodes.all().len());
        let rows = near.iter().chain(&self.far_range).skip(from as usize).step_by(nodes);
        for (start, end) in rows.copied().collect::<Vec<_>>() {
            let ears = &mut self.ears[start as usize..end as usize];
            if let Some(ear) = ears.iter_mut().find(|ear| ear.node == to) {
                ear.lossy = true;
            }
        }
    }

    /// Lets all countdowns at idle media run, and asks for the accesses of all that run: the frame that should have done so may
    /// have other hearers.
    fn start_anew(&mut self, now: Instant) {
        for node in 0..self.nodes.all().len() {
            self.resume(node, now);
        }
        for node in 0..self.nodes.all().len() {
            self.schedule_least(node);
        }
    }
}
