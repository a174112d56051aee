//! A price learnt: the line of loss over queueing delay, `p = ε + c·d`.

use crate::flow::FlowView;
use evenair_units::Duration;

/// How far a learnt slope may lie from the one it was taken for.
const SLOPE_RANGE: f64 = 100.0;

/// The sums of a least-squares line through intervals, each weighted by how much was sent in it.
///
/// The slope is drawn towards the one told at first as if that were known within a factor of its own size: the losses of so many
/// segments, which fall by chance, at so different delays decide how far.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Line {
    seconds: f64,
    sent: f64,
    lost: f64,
    /// Sums of segments times their delay \[s\], and its square.
    delay: f64,
    delay_squared: f64,
    /// Sum of losses times the delay of their interval \[s\].
    lost_delay: f64,
}

impl Line {
    /// One more interval whose packets waited so long \[s\]; older ones fade with the memory.
    pub(super) fn add(&mut self, flow: &FlowView, delay_s: f64, memory: Duration) {
        let fades = libm::exp(-flow.interval.as_secs_f64() / memory.as_secs_f64());
        let (sent, lost) = (flow.sent as f64, flow.retransmitted as f64);
        let terms = [
            (&mut self.seconds, flow.interval.as_secs_f64()),
            (&mut self.sent, sent),
            (&mut self.lost, lost),
            (&mut self.delay, sent * delay_s),
            (&mut self.delay_squared, sent * delay_s * delay_s),
            (&mut self.lost_delay, lost * delay_s),
        ];
        for (sum, term) in terms {
            *sum = *sum * fades + term;
        }
    }

    /// `c` \[1/s\], where a packet that waits was taken to cost so much.
    pub(super) fn slope(&self, per_packet: f64) -> f64 {
        let taken = per_packet * self.sent / self.seconds;
        let spread = self.delay_squared - self.delay * self.delay / self.sent;
        let common = self.lost_delay - self.lost * self.delay / self.sent;
        // A count of losses varies by itself; none says as much as one.
        let doubt = self.lost.max(1.0) / self.sent / (taken * taken);
        let slope = (common + doubt * taken) / (spread.max(0.0) + doubt);
        slope.clamp(taken / SLOPE_RANGE, taken * SLOPE_RANGE)
    }
}
