//! The receiving endpoint: measures, and reports once a round trip and at each new loss event (RFC 5348 section 6).

use super::history::{Arrivals, LossIntervals};
use super::{TfrcData, TfrcReport, micros};
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// The receiving endpoint of one connection.
#[derive(Clone, Debug)]
pub struct TfrcReceiver {
    params: TfrcParams,
    arrivals: Arrivals,
    intervals: LossIntervals,
    /// p, as reported last.
    loss_event_rate: f64,
    /// The packet that came last, and when.
    last: Option<(TfrcData, Instant)>,
    /// When packets came, in the last two round trips.
    recent: VecDeque<Instant>,
    /// The greatest receive rate so far \[packets/s\].
    receive_rate_max: f64,
    /// Whether a packet came since the last report.
    has_news: bool,
    report_at: Instant,
    reported_at: Instant,
}

impl TfrcReceiver {
    /// Nothing received yet.
    pub fn new(params: &TfrcParams) -> Self {
        Self {
            params: *params,
            arrivals: Arrivals::default(),
            intervals: LossIntervals::new(params.discounting),
            loss_event_rate: 0.0,
            last: None,
            recent: VecDeque::new(),
            receive_rate_max: 0.0,
            has_news: false,
            report_at: Instant::NEVER,
            reported_at: Instant::ZERO,
        }
    }

    /// Loss events so far.
    pub const fn loss_events(&self) -> u64 {
        self.intervals.events()
    }

    /// A packet comes; gives the report to send at once, if any (section 6.1).
    pub fn handle_data(&mut self, now: Instant, data: TfrcData) -> Option<TfrcReport> {
        let is_first = self.last.is_none();
        self.last = Some((data, now));
        self.has_news = true;
        self.recent.push_back(now);
        let round_trip = round_trip(&data);
        self.forget(now, round_trip * 2);
        let event = Duration::from_micros(u64::from(data.event_us));
        let events = self.intervals.events();
        let mut seeds = false;
        let intervals = &mut self.intervals;
        self.arrivals.add(now, data.number, |number, at| seeds |= intervals.lose(number, at, event));
        if seeds {
            self.seed(now, round_trip);
        }
        let mut is_worse = false;
        if self.intervals.events() > events {
            let before =
                std::mem::replace(&mut self.loss_event_rate, self.intervals.rate(self.arrivals.end()));
            is_worse = self.loss_event_rate > before;
        }
        // Section 6.3: until a packet has the round-trip time each is answered.
        if is_first || round_trip.is_zero() || is_worse {
            return Some(self.report(now));
        }
        if self.report_at.is_never() {
            // The timer would have gone on all the while.
            let rounds = now.since(self.reported_at).whole(round_trip) + 1;
            self.report_at = self.reported_at + round_trip * rounds;
        }
        None
    }

    /// Section 6.3.1: the first interval is the one that would give the greatest receive rate so far.
    fn seed(&mut self, now: Instant, round_trip: Duration) {
        // Before there is a round trip nothing is known of the rate: half a packet in one.
        let round_trip_s = round_trip.as_secs_f64().max(1e-6);
        let target = match self.receive_rate_max.max(self.receive_rate(now, round_trip)) {
            rate if rate > 0.0 => rate,
            _ => 0.5 / round_trip_s,
        };
        // The rate of one connection among those that this connection stands for.
        let share = self
            .last
            .map_or(1.0, |(data, _)| f64::from(data.event_us.max(1)) / f64::from(data.round_trip_us.max(1)));
        let packets = 1.0 / self.params.loss_event_rate_for(target * share.min(1.0), round_trip_s);
        self.intervals.seed(packets);
    }

    /// `X_recv`: the packets of the last round trip (section 6.2 step 2).
    fn receive_rate(&self, now: Instant, round_trip: Duration) -> f64 {
        if round_trip.is_zero() {
            return 0.0;
        }
        let came = self.recent.iter().rev().take_while(|&&at| now.since(at) <= round_trip).count();
        came as f64 / round_trip.as_secs_f64()
    }

    fn forget(&mut self, now: Instant, age: Duration) {
        while self.recent.front().is_some_and(|&at| now.since(at) > age) {
            self.recent.pop_front();
        }
    }

    /// Section 6.2.
    fn report(&mut self, now: Instant) -> TfrcReport {
        let (data, came) = self.last.expect("a report answers a packet");
        let round_trip = round_trip(&data);
        let receive_rate = self.receive_rate(now, round_trip);
        self.receive_rate_max = self.receive_rate_max.max(receive_rate);
        self.loss_event_rate = self.intervals.rate(self.arrivals.end());
        self.has_news = false;
        self.reported_at = now;
        self.report_at = if round_trip.is_zero() { Instant::NEVER } else { now + round_trip };
        TfrcReport {
            echo: data.sent,
            delay_us: micros(now.since(came)),
            receive_rate: receive_rate as f32,
            loss_event_rate: self.loss_event_rate as f32,
        }
    }

    /// When a report is due.
    pub const fn poll_timeout(&self) -> Instant {
        self.report_at
    }

    /// A report, if it is due; none if nothing came since the last one. Then the next packet brings the timer back.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<TfrcReport> {
        if now < self.report_at {
            return None;
        }
        self.report_at = Instant::NEVER;
        self.has_news.then(|| self.report(now))
    }
}

/// `R_m`, as sent by the sender; zero if it has none yet.
fn round_trip(data: &TfrcData) -> Duration {
    Duration::from_micros(u64::from(data.round_trip_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `X_recv` counts the packets of the last round trip (RFC 5348 section 6.2 step 2). The next reported
    /// one may be twice as long, so that arrivals of two are kept, and no more: one every 10 ms, eleven on
    /// the edges of 100 ms.
    #[test]
    fn arrivals_are_kept_for_two_round_trips() {
        let mut receiver = TfrcReceiver::new(&TfrcParams::rfc5348());
        let at = |number: u32| Instant::ZERO + Duration::from_millis(10) * u64::from(number);
        let data = |number| TfrcData { number, sent: at(number), round_trip_us: 50_000, event_us: 50_000 };
        for number in 0..100 {
            receiver.handle_data(at(number), data(number));
        }
        assert_eq!(receiver.recent.len(), 11);
        let doubled = TfrcData { round_trip_us: 100_000, ..data(100) };
        receiver.handle_data(at(100), doubled);
        assert!(receiver.receive_rate(at(100), round_trip(&doubled)) >= 100.0);
    }
}
