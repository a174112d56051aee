//! RFC 5348's arithmetic, and both endpoints over a path.

use super::history::{Arrivals, LossIntervals};
use super::*;
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_units::Bytes;
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: Duration = Duration::from_millis(1);
const R: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::ZERO + MS * ms
}

fn data(number: u32, sent_ms: u64) -> TfrcData {
    TfrcData { number, sent: at(sent_ms), round_trip_us: 100_000, event_us: 100_000 }
}

/// Losses as reported: which packet, and when it would have come \[ms\].
fn lost(numbers: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let (mut arrivals, mut lost) = (Arrivals::default(), Vec::new());
    for &(number, ms) in numbers {
        arrivals.add(at(ms), number, |n, when| lost.push((n, when.since(Instant::ZERO).whole(MS))));
    }
    lost
}

#[test]
fn the_third_packet_after_a_gap_makes_it_a_loss() {
    assert_eq!(lost(&[(0, 0), (2, 20), (3, 30)]), []);
    assert_eq!(lost(&[(0, 0), (2, 20), (3, 30), (4, 40)]), [(1, 10)]);
    assert_eq!(lost(&[(0, 0), (2, 20), (3, 30), (1, 31), (4, 40)]), [], "it was late");
    // Section 5.2: evenly between those around the gap.
    assert_eq!(lost(&[(0, 0), (4, 80), (5, 90), (6, 95)]), [(1, 20), (2, 40), (3, 60)]);
    // T_loss = T_before + (T_after − T_before)·(S_loss − S_before)/(S_after − S_before).
    assert_eq!(lost(&[(0, 0), (1, 10), (5, 90), (6, 92), (7, 95)]), [(2, 30), (3, 50), (4, 70)]);
    assert_eq!(lost(&[(2, 5), (3, 30), (4, 40)]), [(0, 5), (1, 5)], "the first of all");
    assert_eq!(
        lost(&[(0, 0), (2, 20), (2, 21), (2, 22), (4, 40), (5, 50)]),
        [(1, 10)],
        "repetitions are none"
    );
}

#[test]
fn losses_of_one_round_trip_are_one_event() {
    let mut intervals = LossIntervals::new(true);
    assert!(intervals.lose(100, at(1000), R));
    intervals.seed(50.0);
    assert!(!intervals.lose(109, at(1099), R));
    assert_eq!(intervals.events(), 1);
    assert!(!intervals.lose(110, at(1100), R));
    assert_eq!(intervals.events(), 2);
    // Ten packets from one event to the next, then 50 before: (10 + 50)/2 packets; five since the last count once they are more.
    assert!((intervals.rate(115) - 1.0 / 30.0).abs() < 1e-12);
}

/// Section 5.4: intervals of 10, 20, … 80 packets, the youngest first: Σ wᵢIᵢ = 100 + 0.8·50 + 0.6·60 + 0.4·70 + 0.2·80 =
/// 220, over 6 packets. With one of 100 that is not over yet: 100 + 10 + 20 + 30 + 0.8·40 + 0.6·50 + 0.4·60 + 0.2·70 = 260.
#[test]
fn the_mean_interval_is_weighted() {
    let mut intervals = LossIntervals::new(false);
    let mut number = 1000;
    let mut time = 0;
    assert!(intervals.lose(number, at(time), R));
    intervals.seed(80.0);
    for packets in [70, 60, 50, 40, 30, 20, 10] {
        (number, time) = (number + packets, time + 1000);
        assert!(!intervals.lose(number, at(time), R));
    }
    assert!((intervals.rate(number) - 6.0 / 220.0).abs() < 1e-12);
    assert!((intervals.rate(number + 5) - 6.0 / 220.0).abs() < 1e-12, "a young event makes it no worse");
    assert!((intervals.rate(number + 100) - 6.0 / 260.0).abs() < 1e-12);
    // The ninth pushes the oldest out: 30 + 10 + 20 + 30 + 0.8·40 + 0.6·50 + 0.4·60 + 0.2·70 = 190.
    intervals.lose(number + 30, at(time + 1000), R);
    assert!((intervals.rate(number + 30) - 6.0 / 190.0).abs() < 1e-12);
}

/// Section 5.5: four intervals of 100 and one of 1000 that is not over: DF = max(0.25, 200/1000); the mean is
/// (1000 + 0.25·(3·100 + 0.8·100))/(1 + 0.25·3.8).
#[test]
fn long_time_without_loss_discounts_the_past() {
    let filled = |discounting| {
        let mut intervals = LossIntervals::new(discounting);
        intervals.lose(100, at(0), R);
        intervals.seed(100.0);
        for i in 1..4 {
            intervals.lose(100 + 100 * i, at(1000 * u64::from(i)), R);
        }
        intervals
    };
    let mut plain = filled(false);
    assert!((plain.rate(1400) - 4.8 / 1380.0).abs() < 1e-12);
    let mut discounted = filled(true);
    assert!((discounted.rate(500) - 0.01).abs() < 1e-12);
    // One of 400: DF = 200/400.
    assert!((filled(true).rate(800) - 2.9 / 590.0).abs() < 1e-12);
    assert!((discounted.rate(1400) - 1.95 / 1095.0).abs() < 1e-12);
    // The next event keeps the discount: (1000 + 0.25·380)/(1 + 0.25·3.8) again, then without a word of the open one.
    discounted.lose(1400, at(20_000), R);
    assert!((discounted.rate(1400) - 1.95 / 1095.0).abs() < 1e-12);
}

/// Section 5.5: at a loss event the discount goes to the intervals that were closed before
/// (`DF_i = DF · DF_i`), and then DF is one again. One arrival reveals two events here: the 1000 packets of
/// the first are not discounted by the second. (10 + 1000 + 0.25·(100 + 100 + 0.8·100 + 0.6·100))/(2 +
/// 0.25·3.4).
#[test]
fn discount_ends_with_the_event_that_uses_it() {
    let mut intervals = LossIntervals::new(true);
    intervals.lose(100, at(0), R);
    intervals.seed(100.0);
    for i in 1..4 {
        intervals.lose(100 + 100 * i, at(1000 * u64::from(i)), R);
    }
    assert!(intervals.rate(1400) > 0.0, "discounts by 200/1000, but not below a quarter");
    intervals.lose(1400, at(20_000), R);
    intervals.lose(1410, at(21_000), R);
    assert!((intervals.rate(1410) - 2.85 / 1095.0).abs() < 1e-12, "{}", intervals.rate(1410));
}

/// Section 6.3.1: the first interval is 1/p, of the p at which the throughput equation (section 3.1) gives the greatest
/// receive rate. That is a hundred packets a second here, of a connection that stands for two: fifty of each.
#[test]
fn first_interval_is_of_one_connections_rate() {
    let mut receiver = TfrcReceiver::new(&TfrcParams::rfc5348());
    let mut reports = Vec::new();
    for i in (0..25).filter(|&i| i != 21) {
        let packet = TfrcData { event_us: 50_000, ..data(i, 10 * u64::from(i)) };
        reports.extend(receiver.handle_data(at(10 * u64::from(i)), packet));
    }
    let p = f64::from(reports.last().unwrap().loss_event_rate);
    let (r, t_rto) = (0.1, 0.4); // t_RTO = 4R
    let timeouts = t_rto * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    let throughput = 1.0 / (r * (2.0 * p / 3.0).sqrt() + timeouts);
    assert!((throughput / 50.0 - 1.0).abs() < 1e-5, "{throughput} packets/s at {p}");
}

/// Section 6.3.1, where no round trip is known: as if half a packet a round trip had come.
#[test]
fn first_interval_without_trip_is_half_a_packet() {
    let mut receiver = TfrcReceiver::new(&TfrcParams::rfc5348());
    let mut reports = Vec::new();
    for i in [0, 1, 3, 4, 5] {
        let packet = TfrcData { round_trip_us: 0, event_us: 0, ..data(i, 0) };
        reports.extend(receiver.handle_data(at(10 * u64::from(i)), packet));
    }
    let p = f64::from(reports.last().unwrap().loss_event_rate);
    let timeouts = 4.0 * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    let packets = 1.0 / ((2.0 * p / 3.0).sqrt() + timeouts);
    assert!((packets / 0.5 - 1.0).abs() < 1e-5, "{packets} in a round trip at {p}");
}

/// Section 6.1: a new loss event is reported at once if it raises p above its value at the last report or
/// event. Every tenth packet is lost until 1001, so that eight intervals are of ten; then the timer reports
/// every twentieth.
#[test]
fn loss_event_that_raises_no_p_waits_for_timer() {
    let params = TfrcParams { discounting: false, ..TfrcParams::rfc5348() };
    // When there were reports after so much calm, by the timer and at once.
    let reports = |lost: std::ops::Range<u32>| {
        let mut receiver = TfrcReceiver::new(&params);
        let (mut by_timer, mut at_once) = (Vec::new(), Vec::new());
        for i in (1..1300).filter(|i| (*i > 1001 || i % 10 != 1) && !lost.contains(i)) {
            let now = at(5 * u64::from(i));
            by_timer.extend(receiver.handle_timeout(now).map(|_| i));
            let packet = TfrcData { event_us: 25_000, ..data(i, 5 * u64::from(i)) };
            at_once.extend(receiver.handle_data(now, packet).map(|_| i).filter(|&i| i > 1100));
        }
        (by_timer, at_once)
    };
    let due = reports(0..0).0.into_iter().find(|&i| i > 1200).unwrap();
    assert_eq!(reports(due..due + 1).1, [0; 0], "an interval of just the length that was reported");
    // Events at seven and twelve more: X + 7, 5 and the tens weigh X + 52, where X and the tens weighed X + 50.
    assert_eq!(reports(due + 7..due + 13).1, [0; 0]);
    // At one and six more: X + 1 + 5 + 40.
    assert_eq!(reports(due + 1..due + 7).1, [due + 9]);
}

#[test]
fn receiver_reports_each_trip_and_loss_event() {
    let mut receiver = TfrcReceiver::new(&TfrcParams::rfc5348());
    let first =
        receiver.handle_data(at(50), TfrcData { round_trip_us: 0, event_us: 0, ..data(0, 0) }).unwrap();
    let zeros = TfrcReport { echo: at(0), delay_us: 0, receive_rate: 0.0, loss_event_rate: 0.0 };
    assert_eq!(first, zeros);
    let mut another = TfrcReceiver::new(&TfrcParams::rfc5348());
    assert!(another.handle_data(at(50), data(0, 0)).is_some(), "the first, with any content");
    // Ten a round trip.
    assert_eq!(receiver.handle_data(at(150), data(1, 100)), None);
    assert_eq!(receiver.poll_timeout(), at(250), "the timer goes on from the last report");
    for i in 1..10 {
        assert_eq!(receiver.handle_data(at(150 + 10 * i), data(1 + i as u32, 100 + 10 * i)), None);
    }
    assert_eq!(receiver.handle_timeout(at(249)), None);
    let report = receiver.handle_timeout(at(250)).unwrap();
    assert_eq!((report.echo, report.delay_us, report.loss_event_rate), (at(190), 10_000, 0.0));
    assert!((report.receive_rate - 100.0).abs() < 1e-3, "ten in the last 100 ms: {}", report.receive_rate);
    // Nothing new: no report, and the next packet's is due where the timer would have brought it.
    assert_eq!(receiver.poll_timeout(), at(350));
    assert_eq!(receiver.handle_timeout(at(350)), None);
    assert!(receiver.poll_timeout().is_never());
    assert_eq!(receiver.handle_data(at(475), data(11, 420)), None);
    assert_eq!(receiver.poll_timeout(), at(550));
    // 12 is lost: the third packet after it shows that.
    assert_eq!(receiver.handle_data(at(480), data(13, 430)), None);
    assert_eq!(receiver.handle_data(at(485), data(14, 435)), None);
    let loss = receiver.handle_data(at(490), data(15, 440)).unwrap();
    assert_eq!(receiver.loss_events(), 1);
    // Section 6.3.1: as if it had been losing at the rate at which the equation gives the greatest receive
    // rate, 100/s.
    let expected = TfrcParams::rfc5348().loss_event_rate_for(100.0, 0.1);
    assert!(
        (f64::from(loss.loss_event_rate) / expected - 1.0).abs() < 1e-5,
        "{} {expected}",
        loss.loss_event_rate
    );
}

#[test]
fn sender_without_reports_slows_to_one_a_minute() {
    let mut sender = TfrcSender::new(at(0), &TfrcParams::rfc5348(), Bytes::new(1000));
    let mut sent = Vec::new();
    while sender.poll_timeout() < at(1_000_000) {
        let now = sender.poll_timeout();
        sender.handle_timeout(now);
        sent.extend(sender.poll_transmit(now).map(|data| data.sent.since(Instant::ZERO).as_secs_f64()));
    }
    // One a second, for two; the interval doubles every two seconds of silence, and then every two packets, up to 64 s.
    assert_eq!(sent[..3], [0.0, 1.0, 3.0], "{sent:?}");
    let last = sent.len() - 1;
    assert!((sent[last] - sent[last - 1] - 64.0).abs() < 1e-6, "{sent:?}");
    assert!(sent.len() < 40, "{}", sent.len());
    assert!(sender.is_open());
    sender.close();
    assert!(!sender.is_open());
    assert!(sender.poll_timeout().is_never() && sender.poll_transmit(at(2_000_000)).is_none());
}

/// A path of half a round trip each way that loses data by lot.
struct Path {
    sender: TfrcSender,
    receiver: TfrcReceiver,
    now: Instant,
    there: VecDeque<(Instant, TfrcData)>,
    back: VecDeque<(Instant, TfrcReport)>,
    seed: u64,
    lost: u64,
}

impl Path {
    fn new(params: &TfrcParams, seed: u64) -> Self {
        Self {
            sender: TfrcSender::new(Instant::ZERO, params, Bytes::new(1000)),
            receiver: TfrcReceiver::new(params),
            now: Instant::ZERO,
            there: VecDeque::new(),
            back: VecDeque::new(),
            seed,
            lost: 0,
        }
    }

    /// Knuth's generator: bits enough for a lot.
    fn lot(&mut self) -> f64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn run(&mut self, until: Instant, loss: f64, mut sample: impl FnMut(&TfrcSender)) {
        loop {
            let next = [
                self.sender.poll_timeout(),
                self.receiver.poll_timeout(),
                self.there.front().map_or(Instant::NEVER, |(at, _)| *at),
                self.back.front().map_or(Instant::NEVER, |(at, _)| *at),
            ];
            let next = next.into_iter().min().unwrap();
            if next > until {
                self.now = until;
                return;
            }
            // Packets that the application produces late are due at once.
            let next = next.max(self.now);
            self.now = next;
            let mut report = self.receiver.handle_timeout(next);
            if self.there.front().is_some_and(|(at, _)| *at <= next) {
                let (_, data) = self.there.pop_front().unwrap();
                report = report.or(self.receiver.handle_data(next, data));
            }
            self.back.extend(report.map(|report| (next + R / 2, report)));
            if self.back.front().is_some_and(|(at, _)| *at <= next) {
                let (_, report) = self.back.pop_front().unwrap();
                // The delay is in whole microseconds.
                let round_trip = self.sender.handle_report(next, &report);
                assert!(round_trip >= R && round_trip < R + Duration::from_micros(1));
                sample(&self.sender);
            }
            self.sender.handle_timeout(next);
            if let Some(data) = self.sender.poll_transmit(next) {
                if self.lot() < loss {
                    self.lost += 1;
                } else {
                    self.there.push_back((next + R / 2, data));
                }
            }
        }
    }
}

/// RFC 5348's own claim: the throughput is the equation's at the loss-event rate that was measured. The mean
/// of a convex function of a noisy p lies above the function of the mean. With eight intervals of geometric
/// lengths (their weighted mean has a relative deviation of 0.4) that is up to some 10 %, so the tolerance is
/// 12 %.
#[test]
fn rate_over_random_loss_is_the_equations() {
    let params = TfrcParams::rfc5348();
    for loss in [0.005, 0.02, 0.08] {
        let mut path = Path::new(&params, 1);
        path.run(at(60_000), loss, |_| ());
        let (sent, events) = (path.sender.stats().sent, path.receiver.loss_events());
        path.lost = 0;
        path.run(at(1_560_000), loss, |_| ());
        let sent = (path.sender.stats().sent - sent) as f64;
        let events = (path.receiver.loss_events() - events) as f64;
        let (rate, p) = (sent / 1500.0, events / sent);
        let predicted = params.rate_at(p, 0.1);
        assert!((rate / predicted - 1.0).abs() < 0.12, "{loss}: {rate} {predicted}");
        // Losses of one round trip are one event.
        assert!(p < path.lost as f64 / sent && p > 0.4 * loss, "{loss}: {p}");
    }
}

/// One that stands for three has the rate of three, and each of the three the loss events of its own packets.
#[test]
fn one_worth_three_sends_as_three() {
    let params = TfrcParams::rfc5348();
    let run = |worth: f64, seed| {
        let mut path = Path::new(&params, seed);
        path.sender.set_worth(worth);
        path.run(at(1_000_000), 0.02, |_| ());
        path.sender.stats().sent as f64 / 1000.0
    };
    let single = (1..=3).map(|seed| run(1.0, seed)).sum::<f64>();
    assert!((run(3.0, 4) / single - 1.0).abs() < 0.06, "{} {single}", run(3.0, 4));
}

#[test]
fn rate_doubles_until_the_first_loss() {
    let mut path = Path::new(&TfrcParams::rfc5348(), 1);
    let mut rates = Vec::new();
    path.run(at(950), 0.0, |sender| rates.push(sender.rate()));
    // The first report after one round trip: 4/R. Packets received in the round trip before a report were
    // sent in the one before that, so that twice the receive rate is twice the rate of two round trips ago.
    for (rate, expected) in rates.iter().zip([40.0, 80.0, 80.0, 160.0, 160.0, 320.0, 320.0, 640.0]) {
        assert!((rate / expected - 1.0).abs() < 0.05, "{rates:?}");
    }
    assert_eq!(rates.len(), 8);
    let before = path.sender.rate();
    path.run(at(1_000), 0.2, |_| ());
    path.run(at(1_400), 0.0, |_| ());
    assert!(path.sender.loss_event_rate() > 0.0 && path.receiver.loss_events() >= 1);
    // Half of the greatest receive rate was that of a round trip before: about half of the rate.
    assert!((0.2..0.9).contains(&(path.sender.rate() / before)), "{} {before}", path.sender.rate());
}

/// RFC 5348 section 4.3: while the sender has nothing more to send, the low receive rate of those round trips
/// does not limit it; the greatest before does, twice. A sender that is kept busy with a slow receive rate is
/// limited to twice that rate.
#[test]
fn data_limited_sender_keeps_its_rate() {
    let mut path = Path::new(&TfrcParams::rfc5348(), 1);
    path.run(at(950), 0.0, |_| ());
    let before = path.sender.rate();
    assert!(before > 600.0);
    let sent = path.sender.stats().sent as u32;
    for round in 1..=8 {
        path.sender.supply(sent + round); // one packet a round trip
        path.run(at(950 + 100 * u64::from(round)), 0.0, |_| ());
    }
    assert!(path.sender.rate() >= before / 2.0, "{} {before}", path.sender.rate());
}

/// Section 4.2: the first nofeedback timer expires after two seconds.
#[test]
fn silence_of_two_seconds_is_a_timeout() {
    let mut sender = TfrcSender::new(at(0), &TfrcParams::rfc5348(), Bytes::new(1000));
    assert!((sender.worth() - 1.0).abs() < 1e-12, "one connection");
    sender.set_worth(2.5);
    assert!((sender.worth() - 2.5).abs() < 1e-12);
    sender.handle_timeout(at(1999));
    assert_eq!(sender.stats().timeouts, 0);
    sender.handle_timeout(at(2000));
    assert_eq!(sender.stats().timeouts, 1);
}

/// Section 4.2: `W_init` = min(4s, max(2s, 4380)) bytes, four packets of 1000 bytes in the first round trip that is known.
#[test]
fn window_is_the_rate_times_the_round_trip() {
    let mut sender = TfrcSender::new(at(0), &TfrcParams::rfc5348(), Bytes::new(1000));
    sender.poll_transmit(at(0)).unwrap();
    let report =
        |loss_event_rate| TfrcReport { echo: at(0), delay_us: 0, receive_rate: 0.0, loss_event_rate };
    assert_eq!(sender.smoothed_round_trip(), None);
    sender.handle_report(at(250), &report(0.0));
    assert_eq!(sender.smoothed_round_trip(), Some(Duration::from_millis(250)), "the first sample");
    assert!(
        (sender.window() - 4.0).abs() < 1e-9 && (sender.rate() - 16.0).abs() < 1e-9,
        "{}",
        sender.window()
    );
    assert!(sender.loss_event_rate().abs() < 1e-12);
    sender.handle_report(at(500), &report(0.25));
    assert!((sender.loss_event_rate() - 0.25).abs() < 1e-12);
}

#[test]
fn application_that_pauses_finds_its_rate_again() {
    let mut path = Path::new(&TfrcParams::rfc5348(), 3);
    path.sender.supply(600);
    path.run(at(60_000), 0.01, |_| ());
    let slowed = path.sender.rate();
    // Halved, but an idle sender that is slower than 4/R when its receive rate counts is left alone (section 4.4).
    assert!((40.0..80.0).contains(&slowed), "silence: {slowed}");
    path.sender.supply(u32::MAX);
    path.run(at(80_000), 0.01, |_| ());
    let sent = path.sender.stats().sent - 600;
    // The equation's 112/s at p = 1 % are a little more at the event rate.
    assert!((1500..3500).contains(&sent), "{sent}");
}

proptest! {
    /// For any arrivals in any order, p is a share, and a packet without loss makes it no greater.
    #[test]
    fn loss_event_rates_are_shares(
        steps in prop::collection::vec((0u64..500, 0u32..300, 1u32..400_000), 1..300),
        discounting in any::<bool>(),
    ) {
        let params = TfrcParams { discounting, ..TfrcParams::rfc5348() };
        let mut receiver = TfrcReceiver::new(&params);
        let mut ms = 0;
        let mut base = 0;
        for (gap, ahead, round_trip_us) in steps {
            ms += gap;
            let data = TfrcData { number: base + ahead, sent: at(ms), round_trip_us, event_us: round_trip_us };
            base += ahead / 50;
            let events = receiver.loss_events();
            let report = receiver.handle_timeout(at(ms)).into_iter().chain(receiver.handle_data(at(ms), data));
            for report in report {
                prop_assert!((0.0..=1.0).contains(&report.loss_event_rate));
                prop_assert!(report.receive_rate >= 0.0 && report.receive_rate.is_finite());
                prop_assert!(report.echo <= at(ms));
            }
            prop_assert!(receiver.loss_events() >= events);
            prop_assert!(receiver.poll_timeout() > at(ms));
        }
    }

    /// Packets without loss lengthen the interval: p never rises.
    #[test]
    fn without_loss_the_rate_of_events_falls(lengths in prop::collection::vec(1u32..2000, 2..12), more in 1u32..5000) {
        let mut intervals = LossIntervals::new(true);
        let (mut number, mut time) = (0, 0);
        for (index, packets) in lengths.into_iter().enumerate() {
            (number, time) = (number + packets, time + 1000);
            if intervals.lose(number, at(time), R) {
                assert_eq!(index, 0);
                intervals.seed(f64::from(packets));
            }
        }
        let mut last = 1.0;
        for end in number..number + more {
            let p = intervals.rate(end);
            prop_assert!(p <= last + 1e-12 && p > 0.0, "{end}: {p} after {last}");
            last = p;
        }
    }

    /// For any report at any time, the sender goes on and is never faster than a nanosecond allows.
    #[test]
    fn a_sender_survives_any_report(
        steps in prop::collection::vec((0u64..3000, 0u64..10_000, any::<u32>(), any::<f32>(), any::<f32>(), any::<bool>()), 1..100),
    ) {
        let mut sender = TfrcSender::new(at(0), &TfrcParams::rfc5348(), Bytes::new(1000));
        let mut ms = 0;
        for (gap, echo, delay_us, receive_rate, loss_event_rate, supplied) in steps {
            ms += gap;
            sender.supply(if supplied { u32::MAX } else { 10 });
            sender.handle_timeout(at(ms));
            let sent = sender.poll_transmit(at(ms));
            prop_assert!(sent.is_none_or(|data| data.sent == at(ms)));
            prop_assert!(sender.poll_transmit(at(ms)).is_none(), "one at a time");
            sender.handle_report(at(ms), &TfrcReport { echo: at(echo), delay_us, receive_rate, loss_event_rate });
            prop_assert!(sender.rate().is_finite() && sender.rate() >= 1.0 / 64.0);
            prop_assert!((0.0..=1.0).contains(&sender.loss_event_rate()));
            sender.handle_timeout(sender.poll_timeout().min(at(ms + 100_000)));
        }
    }
}

/// A packet after a long gap reveals several events at once: the interval before the first of them is the
/// oldest all the same.
#[test]
fn first_interval_is_oldest_wherever_learnt() {
    let mut intervals = LossIntervals::new(false);
    let round_trip = Duration::from_millis(100);
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    assert!(intervals.lose(1, at(0), round_trip));
    assert!(!intervals.lose(5, at(50), round_trip), "of the same event");
    assert!(!intervals.lose(10, at(120), round_trip));
    intervals.seed(100.0);
    // Closed are 9 and 100, open is 2.
    assert!((intervals.rate(12) - 2.0 / 109.0).abs() < 1e-12);
    assert_eq!(intervals.events(), 2);
}
