use super::*;
use evenair_laws::connections::{DelayPriceParams, FixedParams, GuardedParams, IimdParams};

const PAYLOAD: Bytes = Bytes::new(1000);

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn controller(law: impl Into<ConnectionParams>, can_probe: bool) -> Result<Controller, Refused> {
    Controller::new(law.into(), Caps::default(), can_probe, PAYLOAD, at(0))
}

/// Connections with growing counters, on a path with random loss and equal shares.
#[derive(Default)]
struct Path {
    subflows: Vec<Subflow>,
    next: u64,
}

impl Path {
    /// Keeps this many connections, of which the youngest come and go, for a second.
    fn pass(&mut self, count: u32, smoothed: Duration) -> &[Subflow] {
        self.subflows.truncate(count as usize);
        while self.subflows.len() < count as usize {
            let info = Info {
                smoothed_round_trip: None,
                least_round_trip: None,
                retransmitted: 0,
                congestion_window: 10,
                segment: Bytes::new(1448),
                acknowledged_bytes: 0,
                sent_segments: 0,
                unacknowledged: 0,
                delivery_rate: None,
                timeouts: None,
            };
            self.subflows.push(Subflow { id: self.next, info });
            self.next += 1;
        }
        for subflow in &mut self.subflows {
            subflow.info.acknowledged_bytes += 100_000;
            subflow.info.sent_segments += 102;
            subflow.info.retransmitted += 2;
            subflow.info.smoothed_round_trip = Some(smoothed);
            subflow.info.least_round_trip = Some(ms(50));
        }
        &self.subflows
    }
}

fn guarded(samples: RoundTripSamples) -> GuardedParams {
    GuardedParams { interval: Duration::from_secs(1), samples, ..GuardedParams::default() }
}

#[test]
fn random_loss_adds_connections_up_to_the_cap() {
    for can_probe in [true, false] {
        let caps = Caps { most: 4 };
        let law = guarded(RoundTripSamples::Probes).into();
        let mut controller = Controller::new(law, caps, can_probe, PAYLOAD, at(0)).unwrap();
        let (mut path, mut open, mut most) = (Path::default(), controller.decision().wanted, 0);
        assert_eq!(open, 1);
        for second in 1..200 {
            assert_eq!(controller.next_at(), at(second));
            let probes: &[Duration] = if can_probe { &[ms(50), ms(54)] } else { &[] };
            let decision = controller.observe(at(second), path.pass(open, ms(52)), probes, true).unwrap();
            assert!(decision.wanted <= open + 1, "{decision:?}");
            open = decision.wanted;
            most = most.max(open);
        }
        assert_eq!(most, 4);
        let status = controller.status();
        let source = if can_probe { Source::Probes } else { Source::TcpInfoForProbes };
        assert_eq!((status.source, status.law.as_str(), status.intervals), (source, "guarded", 199));
        assert!((status.round_trip_s.unwrap() - 0.052).abs() < 1e-9, "{status:?}");
        assert!(status.why.starts_with("n is 4: "), "{}", status.why);
        let least = if can_probe { 52 } else { 50 };
        let seen = format!(" (round trip 52 ms, {least} at least, by ");
        assert!(status.why.contains(&seen), "{}", status.why);
    }
}

#[test]
fn idle_interval_holds_and_is_silent() {
    let mut controller = controller(IimdParams { interval: ms(1000), ..IimdParams::cz06() }, true).unwrap();
    let mut path = Path::default();
    for second in 1..100 {
        assert_eq!(controller.observe(at(second), path.pass(1, ms(52)), &[ms(52)], false), None);
    }
    let status = controller.status();
    assert_eq!((status.n, status.held, status.intervals), (1, 99, 0));
    assert!(status.why.contains("not always something to send"), "{}", status.why);
    // Data sent between the intervals is not part of the next one.
    controller.record(at(99));
    controller.observe(at(100), path.pass(1, ms(52)), &[ms(52)], true);
    let record = controller.take_record();
    let What::Heard { told: ConnectionTold::OnInterval { flow }, .. } = &record[1].what else { panic!() };
    assert_eq!((flow.sent, flow.interval), (102, Duration::from_secs(1)));
}

#[test]
fn a_law_that_jumps_is_followed_one_by_one() {
    let law = FixedParams { connections: 40 };
    let mut controller = Controller::new(law.into(), Caps { most: 8 }, true, PAYLOAD, at(0)).unwrap();
    assert_eq!(controller.decision().wanted, 8, "it begins with all that are allowed");
    let mut path = Path::default();
    let decision = controller.observe(at(60), path.pass(8, ms(50)), &[], true).unwrap();
    assert_eq!(decision, Decision { wanted: 8, why: Why::Capped });
    // Five of them are lost.
    let decision = controller.observe(at(120), path.pass(3, ms(50)), &[], true).unwrap();
    assert_eq!(decision, Decision { wanted: 4, why: Why::OneByOne });
    // Open connections without new data carry data again at once.
    for (spare, wanted) in [(1, 4), (3, 6), (4, 7), (5, 8)] {
        let subflows = path.pass(3, ms(50)).to_vec();
        let decision =
            controller.observe_with_others(at(180 + 60 * spare), &subflows, (&[], spare as u32), &[], true);
        assert_eq!(decision.unwrap().wanted, wanted, "{spare}");
    }
}

#[test]
fn lost_probes_fall_back_to_tcp_info() {
    let mut controller = controller(guarded(RoundTripSamples::Probes), true).unwrap();
    let mut path = Path::default();
    assert_eq!(controller.wants_probes(), Some(ms(100)));
    for second in 1..=2 {
        controller.observe(at(second), path.pass(1, ms(52)), &[], true);
        assert_eq!(controller.status().source, Source::Probes);
    }
    // 102 segments a second, and a probe for twenty of them.
    assert_eq!(controller.wants_probes(), Some(Duration::from_secs_f64(20.0 / 102.0)));
    // An idle direction shows nothing about probes.
    controller.observe(at(3), path.pass(1, ms(52)), &[], false);
    assert_eq!(controller.status().source, Source::Probes);
    // Five seconds in all: an address may have changed.
    for second in 4..=6 {
        assert_eq!(controller.status().source, Source::Probes);
        controller.observe(at(second), path.pass(1, ms(52)), &[], true);
    }
    assert_eq!((controller.status().source, controller.wants_probes()), (Source::TcpInfoForProbes, None));
    let grown =
        (7..60).map(|second| controller.observe(at(second), path.pass(1, ms(52)), &[], true).unwrap());
    assert!(grown.map(|decision| decision.wanted).max() > Some(1));
}

#[test]
fn three_intervals_without_probe_are_waited_for() {
    // Two of ten seconds each are longer than the minimum of five.
    let law = GuardedParams { interval: ms(10_000), ..guarded(RoundTripSamples::Probes) };
    let mut controller = controller(law, true).unwrap();
    let mut path = Path::default();
    for (second, source) in [(10, Source::Probes), (20, Source::Probes), (30, Source::TcpInfoForProbes)] {
        controller.observe(at(second), path.pass(1, ms(52)), &[], true);
        assert_eq!(controller.status().source, source, "{second}");
    }
}

#[test]
fn probes_follow_data_and_stop_at_rest() {
    let mut controller = controller(guarded(RoundTripSamples::Probes), true).unwrap();
    let mut path = Path::default();
    // Many connections: fifty probes a second at most.
    controller.observe(at(1), path.pass(16, ms(52)), &[ms(52)], true);
    assert_eq!(controller.wants_probes(), Some(ms(20)));
    // Nothing is sent any more: a few probes for a while, in case traffic resumes, and then none.
    let subflows = path.subflows.clone();
    for second in 2..=10 {
        controller.observe(at(second), &subflows, &[ms(52)], false);
        assert_eq!(controller.wants_probes(), Some(ms(500)), "{second}");
    }
    for second in 11..=100 {
        controller.observe(at(second), &subflows, &[], false);
        assert_eq!(controller.wants_probes(), None, "{second}");
    }
    assert_eq!(controller.status().source, Source::Probes, "they were not asked for");
    // Traffic resumes, with pauses.
    controller.observe(at(101), path.pass(16, ms(52)), &[], false);
    assert_eq!(controller.wants_probes(), Some(ms(20)));
}

#[test]
fn initial_count_is_judged_once_open() {
    let begins = with_start(guarded(RoundTripSamples::Probes).into(), 8);
    let mut controller = controller(begins.clone(), true).unwrap();
    let mut path = Path::default();
    for (second, there) in [(1, 1), (2, 4), (3, 7)] {
        assert_eq!(controller.observe(at(second), path.pass(there, ms(52)), &[ms(52)], true), None);
    }
    assert!(controller.status().why.contains("not all of them are there yet"), "{}", controller.status().why);
    let wanted: Vec<u32> = (4..12)
        .map(|second| {
            let there = controller.decision().wanted;
            controller.observe(at(second), path.pass(there, ms(52)), &[ms(52)], true).unwrap().wanted
        })
        .collect();
    assert_eq!(wanted[..6], [8, 8, 4, 4, 4, 5], "tried with half, and one opened an interval: {wanted:?}");
    // The wait for connections that never open is bounded.
    let mut controller = self::controller(begins, true).unwrap();
    let mut path = Path::default();
    let told =
        (1..40).filter_map(|second| controller.observe(at(second), path.pass(2, ms(52)), &[ms(52)], true));
    assert_eq!(told.count(), 19);
}

#[test]
fn unsupported_signals_refuse_law() {
    let said = |law: ConnectionParams| controller(law, true).unwrap_err().to_string();
    let segments = said(guarded(RoundTripSamples::Segments).into());
    assert!(
        segments.starts_with("law guarded: ") && segments.contains("samples = \"smoothed\""),
        "{segments}"
    );
    let drains = DelayPriceParams {
        round_trip_holds: Some(ms(30_000)),
        samples: RoundTripSamples::Smoothed,
        ..DelayPriceParams::chen10()
    };
    assert!(said(drains.into()).contains("leave round_trip_holds out"));
    let wrong = GuardedParams { decrease: 2.0, ..guarded(RoundTripSamples::Probes) };
    assert!(said(wrong.into()).contains("beta"));
    let most = Caps { most: 65 };
    let refused = Controller::new(FixedParams::default().into(), most, true, PAYLOAD, at(0)).unwrap_err();
    assert!(refused.to_string().contains("from 1 to 64"));
}

#[test]
fn record_replays_exactly_and_by_another_law() {
    let mut controller = controller(guarded(RoundTripSamples::Probes), true).unwrap();
    controller.record(at(0));
    let (mut path, mut open, mut lines, mut decisions) = (Path::default(), 1, Vec::new(), Vec::new());
    for second in 1..300u64 {
        // Probes that are sometimes delayed, that fail for a while, and intervals that are idle for a part.
        let probe = 50 + (second * 7919 % 23) * u64::from(second % 11 == 0);
        let probes = [ms(probe), ms(probe + 1)];
        let probes = if (200..208).contains(&second) { &[][..] } else { &probes };
        let decided = controller.observe(at(second), path.pass(open, ms(60)), probes, second % 7 != 0);
        open = decided.map_or(open, |decision| decision.wanted);
        decisions.extend(decided);
        lines.extend(controller.take_record());
    }
    assert_eq!(controller.status().source, Source::TcpInfoForProbes);
    assert!(decisions.iter().map(|decision| decision.wanted).max() > Some(2));
    // As written to a file of lines.
    let text: Vec<String> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    let read: Vec<Line> = text.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut replay = Replay::new(None);
    let again: Vec<Again> = read.iter().filter_map(|line| replay.hear(line).unwrap()).collect();
    assert!(again.len() > 200 && again.iter().all(|each| each.is_same && each.recorded == each.replayed));
    let mut other = Replay::new(Some(FixedParams { connections: 3 }.into()));
    let others: Vec<Again> = read.iter().filter_map(|line| other.hear(line).unwrap()).collect();
    assert!(others.iter().any(|each| !each.is_same && each.recorded != each.replayed));
    assert!(Replay::new(None).hear(&read[1]).is_err(), "it does not begin with its law");
}

#[test]
fn usual_guarded_law_runs_every_ten_round_trips() {
    for (round_trip_ms, interval_ms) in [(20, 500), (50, 500), (200, 2000), (3000, 20_000)] {
        let mut controller = controller(law("guarded").unwrap(), true).unwrap();
        let mut path = Path::default();
        assert_eq!(controller.next_at(), at(0) + ms(500));
        let first = at(0) + ms(500);
        controller.observe(first, path.pass(1, ms(round_trip_ms)), &[ms(round_trip_ms)], true);
        assert_eq!(controller.next_at(), first + ms(interval_ms), "{round_trip_ms} ms");
    }
    // A configured interval is kept.
    let set = law_with("guarded", &"interval = '1 s'".parse().unwrap()).unwrap();
    let mut controller = controller(set, true).unwrap();
    controller.observe(at(1), Path::default().pass(1, ms(200)), &[ms(200)], true);
    assert_eq!(controller.next_at(), at(2));
}
