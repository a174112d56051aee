//! Loss recovery: finding a loss, and what is sent until it is repaired.

use super::{LossMeasure, Recovery, Sender};
use crate::sack::DUPLICATE_THRESHOLD;
use evenair_laws::window::WindowLaw;
use evenair_units::Instant;

/// Spreads what recovery sends over the acknowledgements that come (RFC 6937): without it the holes that are found at
/// once are repaired in one burst, which a full queue drops again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProportionalRateReduction {
    /// What was outstanding when recovery began.
    flight: u32,
    delivered: u32,
    out: u32,
    /// How many segments may be sent before the next acknowledgement.
    budget: u32,
}

impl ProportionalRateReduction {
    pub(super) const fn begin(&mut self, flight: u32) {
        *self = Self { flight, delivered: 0, out: 0, budget: 0 };
    }

    /// An acknowledgement reports so many segments more; so many are thought to be in the network.
    pub(super) fn on_ack(&mut self, delivered: u32, pipe: u32, ssthresh: f64, progress: bool) {
        self.delivered += delivered;
        // Truncated to whole segments; thresholds are at least two.
        let target = ssthresh as u32;
        let count = if pipe > target {
            let due = u64::from(self.delivered) * u64::from(target);
            (due.div_ceil(u64::from(self.flight.max(1))) as u32).saturating_sub(self.out)
        } else {
            // As Linux: one more per round trip only where the acknowledgement shows progress and no new loss.
            let conserved = self.delivered.saturating_sub(self.out).max(delivered);
            (target - pipe).min(conserved + u32::from(progress))
        };
        self.budget = count;
    }

    /// A segment goes out.
    pub(super) const fn sent(&mut self) {
        self.out += 1;
        self.budget = self.budget.saturating_sub(1);
    }
}

impl Sender {
    /// One more acknowledgement that moves nothing.
    pub(super) fn handle_duplicate(&mut self, now: Instant) {
        if self.in_recovery {
            self.inflation += 1.0; // RFC 5681 section 3.2 step 4; SACK does without
            return;
        }
        self.duplicates += 1;
        self.detect_loss(now);
    }

    /// Begins recovery if duplicates or arrivals say that the oldest segment is lost.
    pub(super) fn detect_loss(&mut self, now: Instant) {
        let sack = self.params.recovery == Recovery::Sack;
        let lost = self.duplicates == DUPLICATE_THRESHOLD || (sack && self.scoreboard.lost_below() > 0);
        // RFC 6582 section 3.2 step 2: a loss that was dealt with is not found again. After a time-out SACK, too, waits
        // until what was under way is acknowledged (RFC 6675 section 5.1).
        if lost && (self.recover == 0 || self.oldest > self.recover || (sack && self.oldest == self.recover))
        {
            self.stats.fast_retransmits += 1;
            self.prr.begin(self.highest - self.oldest);
            self.law.on_loss(self.loss());
            self.in_recovery = true;
            self.partial = false;
            self.inflation = f64::from(DUPLICATE_THRESHOLD); // RFC 5681 section 3.2 step 3
            self.recover = self.highest;
            self.retransmit = true;
            self.timed = None;
            self.timer = now + self.rto.timeout();
        }
    }

    /// A new acknowledgement during recovery; gives whether the retransmission timer starts anew.
    pub(super) fn advance_in_recovery(&mut self, segments: u32, expected: u32) -> bool {
        let partial = expected < self.recover;
        let first = !std::mem::replace(&mut self.partial, partial);
        match self.params.recovery {
            Recovery::NewReno if partial && self.params.loss_measure == LossMeasure::Window => {
                self.deflate_as_ns2(f64::from(segments));
                self.retransmit = true;
                return first; // RFC 6582 section 4: the impatient variant
            }
            Recovery::NewReno if partial => {
                // RFC 6582 section 3.2 step 3: what was acknowledged leaves, one segment returns.
                self.inflation = (self.inflation - f64::from(segments) + 1.0).max(0.0);
                self.retransmit = true;
            }
            Recovery::Sack if partial => (),
            _ => {
                self.in_recovery = false;
                self.inflation = 0.0;
            }
        }
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

    /// What RFC 6675 section 5 sends next during recovery (`NextSeg`), if the window lets anything out.
    pub(super) fn next_by_scoreboard(&mut self) -> Option<u32> {
        if self.prr.budget == 0 {
            self.window_limited = true;
            return None;
        }
        let number = self.next_candidate()?;
        self.prr.sent();
        Some(number)
    }

    fn next_candidate(&mut self) -> Option<u32> {
        let lost_below = self.scoreboard.lost_below();
        // Rule 1: a lost segment; rule 2: a new one; rule 3: one that may be lost. Rule 4 (rescue) is left out, as the
        // retransmission timer covers the end of the data.
        if let Some(offset) = self.scoreboard.next_lost(0, lost_below) {
            self.scoreboard.mark_retransmitted(offset);
            return Some(self.oldest + offset);
        }
        if self.highest < self.end_of_data() {
            self.next = self.highest + 1;
            return Some(self.highest);
        }
        let offset = self.scoreboard.next_missing(0)?;
        self.scoreboard.mark_retransmitted(offset);
        Some(self.oldest + offset)
    }
}
