//! Energy detection: signals that are not sensed one by one make the medium busy together.
//!
//! A node's medium is busy while the powers of all signals at it add up to [`Rules::energy`](super::Rules::energy) or more. A single signal
//! of that power is sensed in any case, so that the sum is looked at only where signals overlap, and in no network without the rule.

use super::DcfAir;
use super::node::Station;
use super::shape::Shape;
use super::signals::Signals;
use evenair_units::Instant;

impl<S: Shape> DcfAir<S> {
    /// Whether powers are added up at all. No such network is small.
    #[inline]
    pub(super) const fn adds_up(&self) -> bool {
        !S::PLAIN && self.energy_mw < f32::INFINITY
    }

    /// One more of several signals has begun to reach a node.
    #[cold]
    #[inline(never)]
    pub(super) fn note_energy(&mut self, node: usize, from: usize, at: Instant) {
        let (signals, station) = (&mut self.signals[node], &mut self.stations[node]);
        if station.energetic || sum_mw(signals, station) < self.energy_mw {
            return;
        }
        station.energetic = true;
        signals.add_energy();
        let by = self.frame_at(node, from as u32).expect("a signal that has just begun").by;
        self.stop_countdowns(node, at, by);
    }

    /// One of several signals has ended at a node.
    #[cold]
    #[inline(never)]
    pub(super) fn release_energy(&mut self, node: usize, at: Instant) {
        let (signals, station) = (&mut self.signals[node], &mut self.stations[node]);
        if station.energetic && (signals.hears_one() || sum_mw(signals, station) < self.energy_mw) {
            station.energetic = false;
            signals.take_energy();
            let this = &mut self.nodes[node];
            this.idle_since = this.idle_since.max(at);
        }
    }
}

/// The power of all signals at a node.
fn sum_mw(signals: &Signals, station: &Station) -> f32 {
    signals.powers_mw(station).sum()
}
