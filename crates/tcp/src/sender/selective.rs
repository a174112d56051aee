//! Loss recovery with selective acknowledgements. Losses are found by count (RFC 6675) or by time ([`rack`](super::rack)).
//! One rule sends: as long as fewer segments are in the network than the window allows, lost segments go first, then new
//! ones.

use super::rack::{ACK_DELAY_MAX, Found, Rack, TIMER_SLACK, TailProbe};
use super::reduction::ProportionalRateReduction;
use super::{Guard, Phase, Sender};
use crate::Segment;
use crate::scoreboard::{Fate, Mark};
use evenair_laws::window::{Acked, WindowLaw};
use evenair_units::{Duration, Instant};

/// The content of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    /// Segments that had not been known to have arrived.
    delivered: u32,
    /// Round-trip time of the first of them that is not ambiguous.
    round_trip: Option<Duration>,
    /// The cumulative acknowledgement covers a repetition: all its round trips are ambiguous.
    ambiguous: bool,
}

impl Sender {
    /// An acknowledgement of everything before `expected`.
    #[inline(never)] // out of the way of senders without
    pub(super) fn handle_selective(&mut self, now: Instant, ack: &Segment) {
        let expected = ack.number;
        let advances = expected > self.oldest;
        let flight = self.outstanding();
        let news = self.take_news(now, ack);
        if let Some(round_trip) = news.round_trip
            && self.params.rack
            && !self.params.timestamps
        {
            self.add_sample(1, round_trip);
        }
        self.finish_probe(now, expected, news.delivered == 0 && !advances);
        if self.phase != Phase::Open && expected >= self.recover {
            self.phase = Phase::Open;
        }
        let found = self.detect(now);
        self.count_lost(found.lost);
        let begins = match self.phase {
            // Also of a segment that was sent after the window was cut, lost, and repaired before the end of that recovery: losses
            // in two successive windows are two signs of congestion (RFC 5681 section 4.3; Linux).
            Phase::Open => self.scoreboard.missing() > 0,
            Phase::Recovery => false,
            // A repetition was lost: the path is still overloaded, and the window is cut once more (Linux).
            Phase::Loss => found.repetitions > 0,
        };
        if begins {
            self.recover_selectively(now);
        }
        let in_recovery = self.phase == Phase::Recovery;
        if in_recovery {
            let (pipe, threshold) = (self.scoreboard.pipe(), self.law.slow_start_threshold());
            self.prr.on_ack(news.delivered, pipe, threshold, advances && found.lost == 0);
        }
        let segments = news.delivered;
        self.tell(now, &Acked { segments, advances, in_recovery, flight, ..Acked::default() });
        if advances && !begins {
            self.rearm(now);
        }
        if let Some(after) = found.look_again_after {
            self.timer = now + after + TIMER_SLACK;
            self.guard = Guard::Reordering;
        }
    }

    /// Takes an acknowledgement in.
    fn take_news(&mut self, now: Instant, ack: &Segment) -> News {
        let mut news = News::default();
        let (rack, least) = (&mut self.rack, self.min_round_trip);
        let account = &mut self.account;
        let mut arrival = |number: u32, mark: Mark| {
            news.delivered += 1;
            if let Some(account) = account {
                account.on_arrival(number);
            }
            rack.on_arrival(now, number, mark, least);
            if !mark.repeated {
                news.round_trip.get_or_insert(now.since(mark.sent));
            }
        };
        for number in self.oldest..ack.number {
            let Some(mark) = self.scoreboard.pop() else { break };
            news.ambiguous |= mark.repeated;
            if mark.fate != Fate::Arrived {
                arrival(number, mark);
            }
        }
        self.scoreboard.update(ack.number, &ack.sack, arrival);
        if let Some(account) = &mut self.account {
            account.advance(ack.number);
        }
        self.advance_to(now, ack.number);
        if news.ambiguous {
            news.round_trip = None;
        }
        news
    }

    /// Looks for losses.
    fn detect(&mut self, now: Instant) -> Found {
        if self.params.rack {
            let (least, smoothed) = (self.min_round_trip, self.rto.smoothed());
            let window = Rack::reordering_window(self.phase, self.scoreboard.arrived(), least, smoothed);
            return self.rack.detect(now, &mut self.scoreboard, self.oldest, window);
        }
        let below = self.scoreboard.lost_below();
        if below == 0 {
            return Found::default();
        }
        // Repetitions are not judged: a lost repetition waits for the timer.
        let lost = self.scoreboard.lose_where(|offset, mark| offset < below && mark.fate == Fate::UnderWay);
        Found { lost, ..Found::default() }
    }

    fn recover_selectively(&mut self, now: Instant) {
        // Truncated to whole segments.
        self.prr = ProportionalRateReduction::begin(self.law.congestion_window() as u32);
        self.begin_recovery(now);
    }

    /// The next segment, if fewer are in the network than may be.
    #[inline(never)] // out of the way of senders without
    pub(super) fn next_selected(&mut self, now: Instant) -> Option<u32> {
        if std::mem::take(&mut self.retransmit) {
            return Some(self.send_again(now, 0));
        }
        let window = match self.phase {
            Phase::Recovery if !self.law.steers_recovery() => self.prr.window(),
            Phase::Open | Phase::Loss | Phase::Recovery => self.law.congestion_window() as u32,
        };
        if self.scoreboard.pipe() >= window.min(self.params.receiver_window) {
            self.window_limited = true;
            return None;
        }
        if let Some(offset) = self.scoreboard.next_lost() {
            return Some(self.send_again(now, offset));
        }
        if self.highest < self.end_of_data() {
            self.prr.sent();
            return Some(self.highest);
        }
        self.window_limited = false;
        // RFC 6675 section 5, rule 3. By time it is not needed; rule 4 (rescue) is left to the timer.
        let missing = if self.params.rack || self.phase != Phase::Recovery {
            None
        } else {
            self.scoreboard.next_missing()
        };
        missing.map(|offset| self.send_again(now, offset))
    }

    fn send_again(&mut self, now: Instant, offset: u32) -> u32 {
        self.scoreboard.send_again(offset, now);
        self.prr.sent();
        if offset == 0 {
            self.guard(now, self.rto.timeout()); // Linux: the timer guards the repetition of the oldest
        }
        self.oldest + offset
    }

    /// The retransmission timer expired: all segments are lost but those sent too recently to judge.
    pub(super) fn lose_all(&mut self, now: Instant) {
        let (by_time, rack) = (self.params.rack, self.rack);
        let recent = |mark| by_time && !rack.left(now, mark, Duration::ZERO).is_zero();
        let lost = self.scoreboard.lose_where(|offset, mark| offset == 0 || !recent(mark));
        self.count_lost(lost);
        self.retransmit = true;
        self.probe = None;
    }

    /// Doubtful segments have become lost ones.
    pub(super) fn on_reordering_timer(&mut self, now: Instant) {
        let found = self.detect(now);
        self.count_lost(found.lost);
        if found.lost > 0 && self.phase != Phase::Recovery {
            self.recover_selectively(now);
        }
        if self.phase == Phase::Recovery {
            self.prr.on_ack(1, self.scoreboard.pipe(), self.law.slow_start_threshold(), false);
        }
        self.guard_oldest(now);
    }

    /// How long to wait for acknowledgements before the data's end is probed (RFC 8985 section 7.2); none if it is not.
    pub(super) fn probe_wait(&self) -> Option<Duration> {
        let calm = self.phase == Phase::Open && self.scoreboard.arrived() == 0;
        let probes = self.params.tail_loss_probe && self.params.rack && self.sack();
        if !(probes && calm && self.probe.is_none()) {
            return None;
        }
        let delay = if self.outstanding() == 1 { ACK_DELAY_MAX } else { TIMER_SLACK };
        self.rto.smoothed().map(|smoothed| smoothed * 2 + delay)
    }

    /// The probe (section 7.3): a new segment at any window, or the last one again.
    #[inline(never)] // out of the way of senders without
    pub(super) fn next_probe(&mut self, now: Instant) -> Option<u32> {
        let is_new = self.highest < self.end_of_data();
        let number = if is_new {
            self.highest
        } else {
            let last = self.scoreboard.marks().rfind(|(_, mark)| mark.fate != Fate::Arrived)?.0;
            self.scoreboard.send_again(last, now);
            self.oldest + last
        };
        self.probe = Some(TailProbe { end: self.highest.max(number + 1), repeated: !is_new });
        self.guard(now, self.rto.timeout());
        Some(number)
    }

    /// Judges the probe by an acknowledgement (section 7.4).
    fn finish_probe(&mut self, now: Instant, expected: u32, pure_duplicate: bool) {
        let Some(probe) = self.probe.filter(|probe| expected >= probe.end) else { return };
        if probe.repeated && expected > probe.end && self.phase == Phase::Open {
            self.law.on_loss(&self.loss(now)); // it repaired a loss of which there was no other sign
        } else if probe.repeated && expected == probe.end && !pure_duplicate {
            return; // the original and the probe: a second acknowledgement may come
        }
        self.probe = None;
    }
}
