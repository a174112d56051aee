//! Loss recovery: finding a loss, and what is sent until it is repaired.

use super::{Recovery, Sender};
use crate::sack::DUPLICATE_THRESHOLD;
use evenair_laws::window::WindowLaw;
use evenair_units::Instant;

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
            self.law.on_loss(self.loss());
            self.in_recovery = true;
            self.inflation = f64::from(DUPLICATE_THRESHOLD); // RFC 5681 section 3.2 step 3
            self.recover = self.highest;
            self.retransmit = true;
            self.timed = None;
            self.timer = now + self.rto.timeout();
        }
    }

    /// A new acknowledgement during recovery.
    pub(super) fn advance_in_recovery(&mut self, segments: u32, expected: u32) {
        let partial = expected < self.recover;
        match self.params.recovery {
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
    }

    /// What RFC 6675 section 5 sends next during recovery (`NextSeg`), if the window lets anything out.
    pub(super) fn next_by_scoreboard(&mut self) -> Option<u32> {
        let lost_below = self.scoreboard.lost_below();
        let room = self.law.congestion_window() as u32;
        if self.scoreboard.pipe(lost_below) >= room {
            self.window_limited = true;
            return None;
        }
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
