//! Delays, their percentiles, losses and completion times against closed forms.

use super::*;

/// Datagrams of 10 ms at 1 Mb/s that come as good as by chance: one at the beginning of each of many short bursts.
fn poisson(mean: Duration) -> Traffic {
    let on = Duration::from_nanos(100);
    datagrams(Pattern::OnOff { interval: Duration::from_secs(1), on, off: mean - on })
}

/// The share of arrivals at an M/D/1 queue that wait so long at most (Erlang's formula): λ = `rate`, a service takes `service`.
fn waits_within(rate: f64, service: f64, wait: f64) -> f64 {
    let mut sum = 0.0;
    for k in 0..=(wait / service).floor() as u32 {
        let left = rate * (wait - f64::from(k) * service);
        let term = (1..=k).fold(libm::exp(left), |term, i| term * -left / f64::from(i));
        sum += term;
    }
    (1.0 - rate * service) * sum
}

/// Its inverse.
fn wait_of(rate: f64, service: f64, share: f64) -> f64 {
    let (mut low, mut high) = (0.0, 50.0 * service);
    while high - low > 1e-9 {
        let middle = 0.5 * (low + high);
        if waits_within(rate, service, middle) < share { low = middle } else { high = middle }
    }
    high
}

#[test]
fn a_wire_is_pollaczeks_and_khinchines_queue() {
    let (service, rate) = (0.010, 70.0);
    let spec = wired(1_000, 20, 100_000, poisson(Duration::from_secs_f64(1.0 / rate)));
    let result = Network::run(&spec, seconds(1, 20, 10_000));
    let waiting = result.links[0].waiting.as_ref().unwrap();
    // W = ρ D/2 (1 − ρ): 11.67 ms; 700000 arrivals, some 40000 of them independent.
    let mean = rate * service * service / 2.0 / (1.0 - rate * service);
    assert!((waiting.mean_s / mean - 1.0).abs() < 0.02, "{waiting:?}, not {mean}");
    let delay = result.flows[0].delay.as_ref().unwrap();
    assert!((delay.mean_s - waiting.mean_s - 0.030).abs() < 1e-5, "{delay:?}");
    for (share, waited, took) in [
        (0.5, waiting.p50_s.unwrap(), delay.p50_s.unwrap()),
        (0.95, waiting.p95_s.unwrap(), delay.p95_s.unwrap()),
        (0.99, waiting.p99_s.unwrap(), delay.p99_s.unwrap()),
    ] {
        let exact = wait_of(rate, service, share);
        assert!((waited / exact - 1.0).abs() < 0.03, "{share}: {waited}, not {exact}");
        assert!((took / (exact + 0.030) - 1.0).abs() < 0.02, "{share}: {took}, not {}", exact + 0.030);
    }
    assert!((waits_within(rate, service, 0.0) - 0.3).abs() < 1e-12, "nobody is there with 1 − ρ");
}

/// A transfer of so many segments over 10 Mb/s with 50 ms of delay.
fn transfer(segments: u32) -> FlowResult {
    let tcp = TcpSpec { source: Source::Segments(segments), ..tcp(None) };
    let mut result = Network::run(&wired(10_000, 50, 100, Traffic::Tcp(tcp)), seconds(1, 0, 10));
    result.flows.remove(0)
}

#[test]
fn a_transfer_takes_its_rounds_of_slow_start() {
    // A segment of 1040 bytes takes S = 0.832 ms, an acknowledgement of 40 0.032 ms: a round trip is 100.864 ms. The window begins with
    // two segments and doubles, each acknowledgement sets two free.
    let (segment_ms, round_trip_ms, delay_ms) = (0.832, 100.864, 50.0);
    for (segments, rounds, in_last) in [(2, 0.0, 2.0), (6, 1.0, 4.0), (14, 2.0, 8.0)] {
        let flow = transfer(segments);
        let transfers = flow.transfers.unwrap();
        assert_eq!((transfers.requests, transfers.completed), (1, 1));
        let took_ms = transfers.took.unwrap().mean_s * 1e3;
        let expected_ms = rounds * round_trip_ms + in_last * segment_ms + delay_ms;
        assert!((took_ms - expected_ms).abs() < 1e-6, "{segments} segments: {took_ms} ms, not {expected_ms}");
    }
    // Segments wait behind those that were set free with them and before: 1 and 2 S; 1, 2, 2 and 3; 1, 2, 2, 3, 3, 4, 4 and 5: 35 S in all.
    let delay = transfer(14).delay.unwrap();
    assert!((delay.mean_s * 1e3 - (35.0 / 14.0 * segment_ms + delay_ms)).abs() < 1e-6, "{delay:?}");
    assert_eq!(delay.count, 14);
}

#[test]
fn a_transfer_that_is_not_whole_took_no_time_yet() {
    let flow = transfer(1_000_000);
    let transfers = flow.transfers.unwrap();
    assert_eq!((transfers.requests, transfers.completed, transfers.took), (1, 0, None));
}

#[test]
fn application_waits_for_tcp_saturation_not() {
    // 1040 bytes at 1 Mb/s are 8.32 ms; with 20 ms of delay a segment takes 28.32 ms.
    let over_tcp = |source| {
        let run = Network::run(
            &wired(1_000, 20, 100, Traffic::Tcp(TcpSpec { source, ..tcp(None) })),
            seconds(1, 0, 10),
        );
        (run.flows[0].delay.clone().unwrap(), run.series.unwrap().flows.remove(0))
    };
    let (calm, _) = over_tcp(Source::Paced(Duration::from_millis(100)));
    assert!((calm.mean_s - 0.028_32).abs() < 1e-9 && calm.count == 100, "{calm:?}");
    // Two hundred segments a second, of which 120.2 go: a segment delivered at t was produced 0.601 t after the
    // beginning.
    let (late, series) = over_tcp(Source::Paced(Duration::from_millis(5)));
    assert!((late.p99_s.unwrap() / (0.399 * 9.9) - 1.0).abs() < 0.02, "{late:?}");
    let fifth_second = series.delay_s[4].unwrap();
    assert!((fifth_second / (0.399 * 4.5) - 1.0).abs() < 0.03, "{fifth_second}");
    // The window of 20 segments is full: each waits for the 19 before it, 20 × 8.32 ms, less the time of the way back.
    let (saturated, series) = over_tcp(Source::Endless);
    let full_ms = 20.0 * 8.32 - 20.0 - 0.32;
    assert!((saturated.p50_s.unwrap() * 1e3 / full_ms - 1.0).abs() < 0.01, "{saturated:?}, not {full_ms} ms");
    assert!(series.queueing_delay_s[9].unwrap() > 0.1 && series.loss[9] == Some(0.0));
}

#[test]
fn loss_is_dropped_share_of_sent() {
    let lossy = |traffic| {
        let mut spec = wired(1_000, 1, 50, traffic);
        let schedule = vec![(Instant::ZERO, LossModel::Frames(Probability::clamped(0.1)))];
        spec.losses = vec![LinkLoss { from: 0, to: 1, schedule }];
        let result = Network::run(&spec, seconds(1, 1, 1_000));
        (result.flows[0].loss().unwrap(), result)
    };
    let every = Pattern::Constant { interval: Duration::from_millis(20), jitter: 0.0 };
    // 50000 datagrams: a standard error is 0.0013.
    let (of_datagrams, _) = lossy(datagrams(every));
    assert!((of_datagrams - 0.1).abs() < 0.006, "{of_datagrams}");
    let (of_segments, result) = lossy(Traffic::Tcp(tcp(None)));
    assert!((of_segments - 0.1).abs() < 0.01, "{of_segments}");
    let flow = &result.flows[0];
    assert!(
        flow.delay.as_ref().unwrap().p95_s.unwrap() > 0.1,
        "repetitions and what waits for them: {:?}",
        flow.delay
    );
    // A flow that is silent has neither delay nor loss.
    let mut silent = wired(1_000, 1, 50, datagrams(every));
    silent.flows[0].active = vec![(Instant::ZERO + Duration::from_secs(100), Instant::NEVER)];
    let result = Network::run(&silent, seconds(1, 0, 10));
    let (flow, series) = (&result.flows[0], &result.series.unwrap().flows[0]);
    assert_eq!((&flow.delay, flow.jitter_s, flow.loss()), (&None, None, None));
    assert!(series.delay_s.iter().chain(&series.loss).chain(&series.queueing_delay_s).all(Option::is_none));
}

#[test]
fn a_drop_is_early_where_there_was_room() {
    let dropped = |limit_packets, buffer| {
        let every = Pattern::Constant { interval: Duration::from_millis(5), jitter: 0.0 };
        let mut spec = wired(1_000, 20, buffer, datagrams(every));
        let marking = evenair_laws::marking::DropTail::packets(limit_packets);
        spec.wires[0].queue.marking = Some(marking.into());
        let link = Network::run(&spec, seconds(1, 1, 10)).links.remove(0);
        (link.dropped_by_law > 900, link.dropped_queue_full > 900)
    };
    assert_eq!(dropped(5, 10), (true, false), "the law's limit is reached before the buffer's");
    assert_eq!(dropped(10, 10), (false, true), "both at once: it overflows");
}
