//! A price learnt: the line of loss over queueing delay, `p = ε + c·d`.

use crate::flow::FlowView;
use evenair_units::Duration;

/// How far a learnt slope may lie from the one it was taken for.
const SLOPE_RANGE: f64 = 100.0;

/// The sums of a least-squares line through intervals, each weighted by how much was sent in it.
///
/// The first slope counts as known within a factor of its own size. The random losses of the counted
/// segments, at their different delays, decide how far the fit moves away from it.
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
    /// One more interval with this mean wait of its packets \[s\]; older ones fade with the memory.
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
        // A count of losses varies by itself; a count of zero counts as one.
        let doubt = self.lost.max(1.0) / self.sent / (taken * taken);
        let slope = (common + doubt * taken) / (spread.max(0.0) + doubt);
        slope.clamp(taken / SLOPE_RANGE, taken * SLOPE_RANGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(memory: Duration) -> Line {
        let mut line = Line::default();
        for (lost, delay_s) in [(10, 0.01), (30, 0.03)] {
            let interval = Duration::from_secs(1);
            let flow = FlowView { interval, sent: 1000, retransmitted: lost, ..FlowView::default() };
            line.add(&flow, delay_s, memory);
        }
        line
    }

    /// Loss is the delay: Σld − Σl·Σsd/Σs = 1 − 0.8, Σsd² − (Σsd)²/Σs = 1 − 0.8, so that the slope is one a
    /// second. The fit is drawn towards the first slope, 0.003·1000 a second, with the doubt of 40 losses of
    /// 2000: 0.02/3².
    #[test]
    fn slope_is_least_squares_with_a_prior() {
        let line = line(Duration::from_secs(1_000_000_000));
        let slope = line.slope(0.003);
        assert!((slope - (0.2 + 0.02 / 3.0) / (0.2 + 0.02 / 9.0)).abs() < 1e-6, "{slope}");
    }

    #[test]
    fn intervals_fade_with_the_memory() {
        let line = line(Duration::from_secs(1));
        assert!((line.sent - 1000.0 * (1.0 + libm::exp(-1.0))).abs() < 1e-9, "{}", line.sent);
    }
}
