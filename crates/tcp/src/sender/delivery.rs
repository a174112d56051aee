//! Deliveries and their rate: an account of each segment for laws that ask for it.
//!
//! The delivery rate is that of draft-cheng-iccrg-delivery-rate-estimation. Each segment carries the number
//! of arrivals known when it left, and their time. Its acknowledgement shows how many arrived since, over the
//! longer of the times in which they were sent and acknowledged. A sender keeps none of this for a law that
//! does not need it.

use evenair_laws::window::{Delivery, RateSample};
use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// A segment as it was sent last.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    /// It was sent more than once: its round trip is ambiguous (Karn).
    repeated: bool,
    /// It was sent after all before it had been acknowledged.
    after_idle: bool,
    /// The application may have limited the sender.
    limited: bool,
    /// The number of arrivals known then, and the time of the last.
    total: u64,
    total_at: Instant,
    /// The time of sending of the segment that was then the last known arrival.
    flight_from: Instant,
}

/// The account of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// The segments from the oldest unacknowledged on.
    segments: VecDeque<Sent>,
    oldest: u32,
    total: u64,
    total_at: Instant,
    flight_from: Instant,
    lost: u64,
    /// The sender had nothing to send; rates are the application's until so many segments have arrived.
    limited_until: Option<u64>,
    /// The least round trip: no rate is computed over less time.
    least: Option<Duration>,
    /// Arrivals beyond the acknowledged ones, counted by duplicates without SACK.
    duplicates: u32,
    /// The content of the acknowledgement that is being taken in.
    news: News,
}

/// The content of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct News {
    flight_before: u32,
    segments: u32,
    lost: u32,
    after_idle: bool,
    ambiguous: bool,
    /// The segment among them that was sent last, with its number.
    latest: Option<(u32, Sent)>,
    /// The time of sending of the latest segment with an unambiguous round trip.
    timed: Option<Instant>,
}

impl Account {
    /// An acknowledgement comes, with so many segments thought to be in the network.
    pub(super) fn begin(&mut self, flight_before: u32) {
        self.news = News { flight_before, ..News::default() };
    }

    /// A segment is sent, or sent again.
    pub(super) fn on_sent(&mut self, now: Instant, number: u32) {
        let after_idle = self.segments.is_empty();
        if after_idle {
            (self.total_at, self.flight_from) = (now, now);
        }
        let sent = Sent {
            at: now,
            repeated: false,
            after_idle: after_idle && self.total > 0,
            limited: self.limited_until.is_some(),
            total: self.total,
            total_at: self.total_at,
            flight_from: self.flight_from,
        };
        let place = number.saturating_sub(self.oldest) as usize;
        if let Some(before) = self.segments.get_mut(place) {
            *before = Sent { repeated: true, ..sent };
        } else {
            debug_assert_eq!(place, self.segments.len(), "new segments leave in order");
            self.segments.push_back(sent);
        }
    }

    /// The application had nothing to send, with so many segments under way.
    pub(super) fn on_nothing_to_send(&mut self, under_way: u32) {
        self.limited_until = Some((self.total + u64::from(under_way)).max(1));
    }

    /// A segment is known to have arrived.
    pub(super) fn on_arrival(&mut self, number: u32) {
        let place = number.wrapping_sub(self.oldest) as usize;
        let Some(&sent) = self.segments.get(place) else { return };
        self.news.segments += 1;
        self.news.after_idle |= sent.after_idle;
        if !sent.repeated {
            self.news.timed = self.news.timed.max(Some(sent.at));
        }
        if self.news.latest.is_none_or(|(latest, before)| (before.at, latest) < (sent.at, number)) {
            self.news.latest = Some((number, sent));
        }
    }

    /// All before `expected` is acknowledged; their arrivals that were not known have been reported.
    pub(super) fn advance(&mut self, expected: u32) {
        for _ in self.oldest..expected {
            let Some(sent) = self.segments.pop_front() else { break };
            self.news.ambiguous |= sent.repeated;
        }
        self.oldest = self.oldest.max(expected);
    }

    /// The same without selective acknowledgements: duplicates have reported the number of arrivals, not
    /// which. The acknowledgement covers one hole, and the duplicates after it.
    pub(super) fn advance_in_order(&mut self, expected: u32) {
        let acknowledged = expected.saturating_sub(self.oldest);
        (self.oldest..expected).for_each(|number| self.on_arrival(number));
        self.advance(expected);
        let known = self.duplicates.min(acknowledged.saturating_sub(1));
        self.duplicates -= known;
        self.news.segments = self.news.segments.saturating_sub(known);
    }

    /// A duplicate without selective acknowledgements: one more segment has arrived.
    pub(super) fn on_duplicate(&mut self) {
        if self.duplicates + 1 < self.segments.len() as u32 {
            self.duplicates += 1;
            self.news.segments += 1;
        }
    }

    /// All segments under way are given up; those counted by duplicates will come again.
    pub(super) const fn forget_duplicates(&mut self) {
        self.duplicates = 0;
    }

    /// Segments that have arrived according to duplicates.
    pub(super) const fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// A number of segments are found lost.
    pub(super) fn on_lost(&mut self, segments: u32) {
        self.lost += u64::from(segments);
        self.news.lost += segments;
    }

    /// The delivery of the acknowledgement, once it is taken in.
    pub(super) fn tell(&mut self, now: Instant) -> Delivery {
        let news = std::mem::take(&mut self.news);
        if news.segments > 0 {
            (self.total, self.total_at) = (self.total + u64::from(news.segments), now);
        }
        self.limited_until = self.limited_until.filter(|&until| self.total <= until);
        let round_trip = news.timed.filter(|_| !news.ambiguous).map(|sent| now.since(sent));
        self.least = round_trip.into_iter().chain(self.least).min();
        Delivery {
            now,
            segments: news.segments,
            total: self.total,
            flight_before: news.flight_before,
            lost: news.lost,
            lost_total: self.lost,
            round_trip,
            after_idle: news.after_idle,
            rate: news.latest.and_then(|(_, sent)| self.rate(now, sent)),
            ..Delivery::default()
        }
    }

    fn rate(&mut self, now: Instant, sent: Sent) -> Option<RateSample> {
        self.flight_from = sent.at;
        let sending = sent.at.since(sent.flight_from);
        let interval = sending.max(now.since(sent.total_at));
        debug_assert!(self.total > sent.total, "this segment has arrived since");
        // Less than a round trip: the arrival was sent before (the repetition was not needed).
        let tells = self.least.is_none_or(|least| interval >= least);
        tells.then(|| RateSample {
            before: sent.total,
            segments: self.total - sent.total,
            interval,
            application_limited: sent.limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Segments sent 1 ms apart, acknowledged 2 ms apart from 20 ms on.
    fn acknowledged(segments: u32) -> (Account, Vec<Delivery>) {
        let mut account = Account::default();
        let mut told = Vec::new();
        (0..segments).for_each(|n| account.on_sent(at(u64::from(n)), n));
        for n in 0..segments {
            account.advance_in_order(n + 1);
            told.push(account.tell(at(20 + 2 * u64::from(n))));
        }
        (account, told)
    }

    #[test]
    fn rate_is_the_slower_of_sending_and_acking() {
        let (mut account, told) = acknowledged(10);
        assert!(!told[0].after_idle, "nothing was delivered before");
        let last = told[9].rate.expect("ten segments in 38 ms");
        assert_eq!((last.before, last.segments, last.interval), (0, 10, Duration::from_millis(38)));
        assert_eq!((told[0].now, told[9].now), (at(20), at(38)));
        // Sent when ten had arrived at 38 ms, and then four in 4 ms, acknowledged at once at 60: 5 in 22 ms, not in none.
        (10..15).for_each(|n| account.on_sent(at(40 + u64::from(n) - 10), n));
        account.advance_in_order(15);
        let told = account.tell(at(60));
        let rate = told.rate.expect("five segments");
        assert_eq!((rate.before, rate.segments), (10, 5));
        assert_eq!(
            rate.interval,
            Duration::from_millis(20),
            "since the first of them: all before had been idle"
        );
        assert!(told.after_idle);
        assert_eq!(told.round_trip, Some(Duration::from_millis(16)), "that of the last one");
    }

    #[test]
    fn application_limit_lasts_until_it_is_through() {
        let mut account = Account::default();
        account.on_sent(at(0), 0);
        account.on_nothing_to_send(1);
        account.on_sent(at(5), 1);
        account.advance_in_order(1);
        assert!(!account.tell(at(20)).rate.unwrap().application_limited, "sent before");
        account.advance_in_order(2);
        assert!(account.tell(at(25)).rate.unwrap().application_limited);
        account.on_sent(at(30), 2);
        account.advance_in_order(3);
        assert!(!account.tell(at(50)).rate.unwrap().application_limited);
    }

    /// draft-cheng-iccrg-delivery-rate-estimation section 3.4: `C.app_limited` = `C.delivered` + `C.pipe`, which is 3 + 2, and is
    /// forgotten when more than those have been delivered.
    #[test]
    fn segments_under_way_are_delivered_first() {
        let mut account = Account::default();
        let mut marked = Vec::new();
        (0..5).for_each(|n| account.on_sent(at(0), n));
        account.advance_in_order(3);
        account.tell(at(10));
        account.on_nothing_to_send(2);
        for n in 3..8 {
            account.advance_in_order(n + 1);
            account.tell(at(20 + u64::from(n)));
            account.on_sent(at(20 + u64::from(n)), n + 2);
            marked.push(account.segments.back().unwrap().limited);
        }
        assert_eq!(marked, [true, true, false, false, false], "four, five, six delivered");
    }

    #[test]
    fn a_repetition_makes_the_round_trip_ambiguous() {
        let mut account = Account::default();
        (0..3).for_each(|n| account.on_sent(at(u64::from(n)), n));
        account.on_sent(at(10), 0);
        account.advance_in_order(3);
        let told = account.tell(at(30));
        assert_eq!((told.round_trip, told.segments), (None, 3));
    }

    #[test]
    fn duplicate_arrivals_count_once() {
        let mut account = Account::default();
        (0..5).for_each(|n| account.on_sent(at(u64::from(n)), n));
        let mut arrived = 0;
        for ms in [20, 21, 22] {
            account.on_duplicate();
            arrived += account.tell(at(ms)).segments;
        }
        assert_eq!((arrived, account.duplicates()), (3, 3));
        account.advance_in_order(4);
        let told = account.tell(at(30));
        assert_eq!((told.segments, told.total, account.duplicates()), (1, 4, 0));
        account.advance_in_order(5);
        assert_eq!(account.tell(at(31)).total, 5);
    }

    #[test]
    fn duplicates_leave_the_oldest_segment_out() {
        // The oldest of five is missing, or it would be acknowledged: more than four duplicates are of repetitions.
        let mut account = Account::default();
        (0..5).for_each(|n| account.on_sent(at(u64::from(n)), n));
        (0..7).for_each(|_| account.on_duplicate());
        assert_eq!((account.duplicates(), account.tell(at(20)).segments), (4, 4));
        account.forget_duplicates();
        assert_eq!(account.duplicates(), 0, "at a time-out all comes again");
    }

    /// `C.delivered_time` is that of the last delivery (draft-cheng-iccrg-delivery-rate-estimation section 3.1.2): an
    /// acknowledgement that delivers nothing leaves it at 20 ms, 80 ms before the sample.
    #[test]
    fn ack_without_delivery_moves_no_clock() {
        let mut account = Account::default();
        (0..2).for_each(|n| account.on_sent(at(u64::from(n)), n));
        account.advance_in_order(1);
        account.tell(at(20));
        account.tell(at(40));
        account.on_sent(at(41), 2);
        account.advance_in_order(3);
        let rate = account.tell(at(100)).rate.expect("two segments");
        assert_eq!((rate.segments, rate.interval), (2, Duration::from_millis(80)));
    }

    /// Section 3.1.3 there: no sample of less than the least round trip, 100 ms, as of a repetition that was not needed.
    #[test]
    fn rate_sample_within_a_round_trip_is_dropped() {
        let mut account = Account::default();
        account.on_sent(at(0), 0);
        account.advance_in_order(1);
        assert!(account.tell(at(100)).rate.is_some());
        account.on_sent(at(100), 1);
        account.on_sent(at(150), 1);
        account.advance_in_order(2);
        let told = account.tell(at(160));
        assert_eq!((told.segments, told.rate.is_none()), (1, true));
    }
}
