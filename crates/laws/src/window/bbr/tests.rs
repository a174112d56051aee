use super::*;

mod rules;

fn bbr() -> Bbr {
    let start = WindowStart {
        initial_window: 10.0,
        initial_ssthresh: 1e6,
        byte_counting: true,
        ..WindowStart::default()
    };
    BbrParams::linux().validated().unwrap().begin(&start)
}

/// A path with a rate in segments a second, a round trip without a queue and room for a backlog. Segments
/// leave as the law allows, and arrive when the path has served those before.
struct Network {
    law: Bbr,
    rate_pps: f64,
    empty_s: f64,
    room: u32,
    now_s: f64,
    next_s: f64,
    busy_until_s: f64,
    flying: std::collections::VecDeque<Flying>,
    total: u64,
    /// When the last one arrived.
    total_at_s: f64,
    lost: u64,
    lost_now: u32,
    /// The most segments under way since the last reading.
    most: usize,
}

/// A segment under way.
struct Flying {
    /// When its acknowledgement comes, and when it was sent.
    arrives_s: f64,
    sent_s: f64,
    /// The segments that had arrived then, and when the last of them had.
    before: u64,
    before_at_s: f64,
}

impl Network {
    fn new(rate_pps: f64, empty_s: f64, room: u32) -> Self {
        Self {
            law: bbr(),
            rate_pps,
            empty_s,
            room,
            now_s: 0.0,
            next_s: 0.0,
            busy_until_s: 0.0,
            flying: std::collections::VecDeque::new(),
            total: 0,
            total_at_s: 0.0,
            lost: 0,
            lost_now: 0,
            most: 0,
        }
    }

    fn send(&mut self) {
        let gap = self.law.pacing_gap().unwrap_or_default().as_secs_f64();
        self.next_s = self.now_s + gap;
        let waits = (self.busy_until_s - self.now_s).max(0.0) * self.rate_pps;
        if waits >= f64::from(self.room) {
            (self.lost, self.lost_now) = (self.lost + 1, self.lost_now + 1);
            return;
        }
        self.busy_until_s = self.busy_until_s.max(self.now_s) + 1.0 / self.rate_pps;
        if self.flying.is_empty() {
            self.total_at_s = self.now_s;
        }
        self.flying.push_back(Flying {
            arrives_s: self.busy_until_s + self.empty_s,
            sent_s: self.now_s,
            before: self.total,
            before_at_s: self.total_at_s,
        });
        self.most = self.most.max(self.flying.len());
    }

    fn receive(&mut self) {
        let flight_before = self.flying.len() as u32;
        let Flying { sent_s, before, before_at_s, .. } =
            self.flying.pop_front().expect("something is under way");
        (self.total, self.total_at_s) = (self.total + 1, self.now_s);
        let at = |s: f64| Instant::ZERO + Duration::from_secs_f64(s);
        let round_trip = Some(Duration::from_secs_f64(self.now_s - sent_s));
        let segments = self.total - before;
        let interval = Duration::from_secs_f64(self.now_s - before_at_s);
        self.law.on_delivery(&Delivery {
            now: at(self.now_s),
            segments: 1,
            total: self.total,
            lost: core::mem::take(&mut self.lost_now),
            lost_total: self.lost,
            flight_before,
            flight: flight_before - 1,
            repair: Repair::None,
            round_trip,
            smoothed: round_trip,
            after_idle: false,
            paced_until: at(self.next_s),
            rate: Some(RateSample { before, segments, interval, application_limited: false }),
        });
    }

    fn run(&mut self, seconds: f64) {
        let end_s = self.now_s + seconds;
        while self.now_s < end_s {
            let arrives = self.flying.front().map_or(f64::INFINITY, |segment| segment.arrives_s);
            // The sender counts lost segments as under way until the next acknowledgement.
            let under_way = self.flying.len() as f64 + f64::from(self.lost_now);
            let may_send = under_way < self.law.congestion_window();
            let leaves = if may_send { self.next_s.max(self.now_s) } else { f64::INFINITY };
            if leaves <= arrives {
                self.now_s = leaves;
                self.send();
            } else {
                self.now_s = arrives;
                self.receive();
            }
        }
    }
}

#[test]
fn startup_finds_rate_and_drain_empties_queue() {
    let mut path = Network::new(1000.0, 0.05, 1000);
    path.run(0.2);
    assert_eq!(path.law.mode, Mode::Startup);
    path.run(1.8);
    assert!(matches!(path.law.mode, Mode::ProbeBandwidth { .. }), "{:?}", path.law);
    assert!((path.law.rate_pps() - 1000.0).abs() < 20.0, "{}", path.law.rate_pps());
    // 51 ms with the segment's own time; two products of rate and round trip, six for bursts, and clumps of one.
    let window = path.law.congestion_window();
    assert!((104.0..=114.0).contains(&window), "{window}");
    path.most = 0;
    path.run(5.0);
    // A probe puts a quarter of 51 more into the network.
    assert!((55..=85).contains(&path.most), "{}", path.most);
}

#[test]
fn the_phases_pace_above_below_and_at_the_rate() {
    let mut path = Network::new(1000.0, 0.05, 1000);
    path.run(2.0);
    let mut gaps = std::collections::BTreeMap::new();
    for _ in 0..800 {
        path.run(0.001);
        if let Mode::ProbeBandwidth { phase, .. } = path.law.mode {
            *gaps.entry(phase).or_insert(0.0) = path.law.pace.unwrap() / path.law.rate_pps();
        }
    }
    let expected = GAINS.map(|gain| gain * 0.99);
    assert_eq!(gaps.len(), 8, "each phase lasts about a round trip: {gaps:?}");
    for (phase, pace) in gaps {
        assert!((pace - expected[usize::from(phase)]).abs() < 0.01, "{phase}: {pace}");
    }
}

#[test]
fn least_round_trip_is_probed_after_ten_seconds() {
    let mut path = Network::new(1000.0, 0.05, 1000);
    path.run(2.0);
    let least = path.law.least.unwrap();
    path.run(7.5);
    assert!(matches!(path.law.mode, Mode::ProbeBandwidth { .. }));
    let probes = |path: &Network| matches!(path.law.mode, Mode::ProbeRoundTrip { .. });
    while !(probes(&path) && path.flying.len() <= 4) {
        path.run(0.001);
    }
    let from_s = path.now_s;
    while probes(&path) {
        path.run(0.001);
    }
    let few_s = path.now_s - from_s;
    assert!((0.19..0.31).contains(&few_s), "200 ms, and until the round trip is over: {few_s}");
    assert!(path.law.least.unwrap() <= least + Duration::from_millis(1));
    assert!((path.law.rate_pps() - 1000.0).abs() < 20.0, "segments of that time give no rate");
}

#[test]
fn slower_route_counts_after_ten_rounds() {
    let mut path = Network::new(1000.0, 0.05, 1000);
    path.run(3.0);
    path.rate_pps = 500.0;
    path.run(10.0);
    assert!((path.law.rate_pps() - 500.0).abs() < 20.0, "{}", path.law.rate_pps());
    path.rate_pps = 2000.0;
    path.run(10.0);
    assert!((path.law.rate_pps() - 2000.0).abs() < 60.0, "{}", path.law.rate_pps());
}

#[test]
fn loss_conserves_packets_then_restores_window() {
    let mut path = Network::new(1000.0, 0.05, 1000);
    path.run(2.0);
    let (before, last) = (path.law.congestion_window(), path.law.path.last);
    let event = |repair, total, lost, flight| Delivery {
        now: last.at + Duration::from_millis(1),
        segments: 1,
        total: last.total + total,
        lost,
        lost_total: last.lost + 1,
        flight,
        repair,
        ..Delivery::default()
    };
    path.law.on_loss(&Loss::default());
    path.law.on_delivery(&event(Repair::Recovery, 1, 1, 48));
    assert!((path.law.congestion_window() - 49.0).abs() < 1e-12, "segments under way, and arrivals");
    path.law.on_delivery(&event(Repair::Recovery, 2, 0, 48));
    assert!((path.law.congestion_window() - 49.0).abs() < 1e-12);
    path.law.on_delivery(&event(Repair::None, 3, 0, 48));
    assert!((path.law.congestion_window() - before).abs() < 3.0, "{}", path.law.congestion_window());
    path.law.on_timeout(&Loss::default());
    assert!((path.law.congestion_window() - 1.0).abs() < 1e-12);
    path.law.on_delivery(&event(Repair::Timeout, 4, 0, 0));
    assert!((path.law.congestion_window() - WINDOW_MIN).abs() < 1e-12);
}

#[test]
fn shallow_buffer_does_not_keep_it_from_rate() {
    let mut path = Network::new(1000.0, 0.05, 5);
    path.run(20.0);
    let goodput = path.total as f64 / 20.0;
    assert!(goodput > 850.0, "{goodput}");
}

#[test]
fn entries_begin_with_all_phases_but_drain() {
    let mut law = bbr();
    let mut begun = std::collections::BTreeSet::new();
    for _ in 0..7 {
        law.begin_probing(Instant::ZERO);
        let Mode::ProbeBandwidth { phase, .. } = law.mode else { unreachable!() };
        begun.insert(phase);
    }
    assert_eq!(begun.into_iter().collect::<std::vec::Vec<_>>(), FIRST_PHASES);
    let bad = BbrParams { phase: 7, ..BbrParams::linux() };
    assert_eq!(bad.validated().unwrap_err().name, "phase");
}
