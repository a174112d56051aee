//! Loss recovery without selective acknowledgements: Reno's and NewReno's.

use super::{LossMeasure, Phase, Recovery, Sender};
use crate::scoreboard::DUPLICATE_THRESHOLD;
use evenair_laws::window::{Acked, WindowLaw};
use evenair_units::Instant;

impl Sender {
    /// One more acknowledgement that moves nothing.
    pub(super) fn handle_duplicate(&mut self, now: Instant) {
        let (in_recovery, flight) = (self.phase == Phase::Recovery, self.outstanding());
        if let Some(account) = &mut self.account {
            account.on_duplicate();
        }
        self.tell(now, &Acked { in_recovery, flight, ..Acked::default() });
        if in_recovery {
            self.inflation += 1.0; // RFC 5681 section 3.2 step 4
            return;
        }
        self.duplicates += 1;
        // RFC 6582 section 3.2 step 2: a loss that was dealt with is not found again.
        if self.duplicates == DUPLICATE_THRESHOLD && (self.recover == 0 || self.oldest > self.recover) {
            self.begin_recovery(now);
            self.count_lost(1);
            self.inflation = f64::from(DUPLICATE_THRESHOLD); // RFC 5681 section 3.2 step 3
            self.retransmit = true;
        }
    }

    /// Recovery begins: the window is cut.
    pub(super) fn begin_recovery(&mut self, now: Instant) {
        self.stats.fast_retransmits += 1;
        self.law.on_loss(&self.loss(now));
        self.phase = Phase::Recovery;
        self.partial = false;
        self.recover = self.highest;
        self.reaction.has_cut(self.highest);
        self.timed = None;
        self.guard(now, self.rto.timeout());
    }

    /// A new acknowledgement during recovery; returns whether the retransmission timer restarts.
    pub(super) fn advance_in_recovery(&mut self, segments: u32, expected: u32) -> bool {
        let partial = expected < self.recover;
        if !(partial && self.params.recovery == Recovery::NewReno) {
            self.phase = Phase::Open;
            self.inflation = 0.0;
            return true;
        }
        let first = !std::mem::replace(&mut self.partial, true);
        self.retransmit = true;
        if self.params.loss_measure == LossMeasure::Window {
            self.deflate_as_ns2(f64::from(segments));
            return first; // RFC 6582 section 4: the impatient variant
        }
        // RFC 6582 section 3.2 step 3: the acknowledged segments leave the window, one segment returns.
        self.inflation = (self.inflation - f64::from(segments) + 1.0).max(0.0);
        true
    }

    /// A partial acknowledgement in ns-2 2.35 (`partial_window_deflation_`): where it covers more than the duplicates
    /// had inflated the window by, the rest leaves the congestion window, for good.
    fn deflate_as_ns2(&mut self, segments: f64) {
        if self.inflation > segments {
            self.inflation -= segments - 1.0;
        } else {
            self.law.deflate(segments - self.inflation);
            self.inflation = 1.0;
        }
    }

    /// The next segment in order that the window lets out.
    pub(super) fn next_in_sequence(&mut self) -> Option<u32> {
        if std::mem::take(&mut self.retransmit) {
            return Some(self.oldest);
        }
        let allowed = self.oldest.saturating_add(self.allowed());
        if self.next >= allowed.min(self.end_of_data()) {
            self.window_limited = self.next >= allowed;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// How many segments may be under way.
    fn allowed(&self) -> u32 {
        let limited = self.params.limited_transmit && self.phase != Phase::Recovery;
        let extra = if limited { self.duplicates.min(2) } else { 0 };
        // The cast truncates to whole segments and saturates.
        let window = (self.law.congestion_window() + self.inflation) as u32;
        window.saturating_add(extra).min(self.params.receiver_window)
    }
}
