//! Nodes that move: tracks, walks, scenes, routes, and refusals.

use super::*;
use evenair_netsim::Network;
use evenair_units::{Duration, Instant};

/// An access point and a station of 802.11a that walks away from 10 m at 10 m/s for 90 s, comes back and stays.
const WALK: &str = "duration = '200 s'
    warmup = '0 s'
    radio = { receive_threshold = 'standard', transmit_power = '20 dBm', propagation = 'free-space', frequency = '5.18 GHz' }
    mac = { kind = '802.11a', data_rate = 'by-distance' }
    nodes = [{ id = 'ap', at = [0, 0] }, { id = 'phone' }]
    tracks = [{ node = 'phone', points = [{ time = '0 s', at = [10, 0] }, { time = '90 s', at = [910, 0] }, { time = '180 s', at = [10, 0] }] }]
    flows = [{ id = 'f', from = 'phone', to = 'ap', traffic = 'saturated', size = '1500 bytes' }]";

fn at(s: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(s)
}

/// 54 Mb/s reach 81.9 m and 6 Mb/s 579.8 m (as in `rates`): 7.19 s and 56.98 s at 10 m/s. Routes are computed each second.
#[test]
fn scenes_and_routes_follow_the_track() {
    let scenario = parse(WALK).unwrap();
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    let motion = scenario.network().motion.as_ref().expect("a node moves");
    assert_eq!((motion.every, motion.until), (Duration::from_millis(100), at(180.0)));
    let rate = |s: f64| {
        let scene = (motion.scene)(at(s)).expect("it moves");
        scene.rates.iter().find(|link| link.from == 1).map(|link| link.mode.rate().as_bps() / 1_000_000)
    };
    assert_eq!([7.1, 7.2, 56.9, 57.0].map(rate), [Some(54), Some(48), Some(6), None]);
    assert!((motion.scene)(at(180.1)).is_none(), "it stands still");
    let detours: Vec<_> = motion.detours.iter().map(|d| (d.at.as_secs_f64(), d.path.clone())).collect();
    // It is out of reach until 180 - 56.98 = 123.02 s.
    assert_eq!(detours, [(57.0, None), (124.0, Some(vec![1, 0]))]);
}

/// The network at an instant is that of a file with the places of then; a flow out of reach is left out.
#[test]
fn network_at_an_instant_is_a_still_one() {
    let scenario = parse(WALK).unwrap();
    let then = scenario.at(at(12.0)).unwrap();
    let by_hand = WALK.lines().filter(|line| !line.contains("tracks")).collect::<Vec<_>>().join("\n");
    let by_hand = by_hand.replace("{ id = 'phone' }", "{ id = 'phone', at = [130, 0] }");
    assert_eq!(then, parse(&by_hand).unwrap());
    assert_eq!(scenario.at(at(90.0)).unwrap().network().flows.len(), 0);
}

/// A walk of 20 s at 10 m/s beside runs of still stations at each second's middle: the same goodput within 2 %.
#[test]
fn walk_carries_what_still_stations_carry() {
    let scenario = parse(&WALK.replace("'200 s'", "'20 s'")).unwrap();
    let goodput = |scenario: &Resolved, s: f64| {
        let run = evenair_netsim::RunSpec { duration: Duration::from_secs_f64(s), ..scenario.run_spec(1) };
        Network::run(scenario.network(), run).flows[0].goodput_bps
    };
    let still = |i: u32| goodput(&scenario.at(at(f64::from(i) + 0.5)).unwrap(), 0.25);
    let mean = (0..20).map(still).sum::<f64>() / 20.0;
    let walked = goodput(&scenario, 20.0);
    assert!((walked / mean - 1.0).abs() < 0.02, "{walked} beside {mean}");
}

/// Three nodes in a line; the fourth walks past them. By hops it takes the longest hop that it can, by time the fastest links.
#[test]
fn routes_are_of_the_metric() {
    let text = |metric: &str| {
        let text = WALK.replace("{ id = 'phone' }", "{ id = 'relay', at = [60, 1] }, { id = 'phone' }");
        parse(&format!("{text}\n[mobility]\nmetric = '{metric}'")).unwrap()
    };
    let path = |metric: &str, s: f64| {
        let scenario = text(metric);
        let motion = scenario.network().motion.as_ref().unwrap();
        let last = motion.detours.iter().rfind(|detour| detour.at <= at(s)).cloned();
        last.map_or_else(|| Some(scenario.network().flows[0].path.clone()), |detour| detour.path)
    };
    assert_eq!(path("hops", 12.0), Some(vec![2, 0]));
    assert_eq!(path("hops", 58.0), Some(vec![2, 1, 0]), "590 m from the access point, 530 from the relay");
    // At 480 m links have 9 Mb/s (-81 dBm reach 516.8 m); by the relay 9 Mb/s over 420 m (12 reach 410.5) and 54.
    assert_eq!(path("transmission-time", 47.0), Some(vec![2, 0]));
    // At 240 m 18 Mb/s (to 326.1 m); by the relay, 180 m away, 24 (to 230.8) and 54 Mb/s: 24 and 54 together are slower.
    assert_eq!(path("transmission-time", 23.0), Some(vec![2, 0]));
    // At 570 m 6 Mb/s; by the relay, 510 m away, 9 and 54 Mb/s: 1500 bytes take 0.66 ms less there and 0.4 more.
    assert_eq!(path("transmission-time", 56.0), Some(vec![2, 1, 0]));
}

#[test]
fn walks_repeat_in_runs_and_when_written() {
    let text = WALK.replace("tracks = [{", "walks = [{ nodes = ['phone'], area = [[0, 0], [100, 50]], speed = ['1 m/s', '2 m/s'], pause = '3 s' }]\nignored = [{");
    let text: String =
        text.lines().filter(|line| !line.starts_with("ignored")).collect::<Vec<_>>().join("\n");
    let scenario = parse(&text).unwrap();
    let again = parse(&scenario.to_toml().unwrap()).unwrap();
    let place = |scenario: &Resolved, s| scenario.at(at(s)).unwrap().layout().positions.clone().unwrap()[1];
    for s in [0.0, 10.0, 150.0] {
        assert_eq!(place(&scenario, s), place(&again, s));
    }
    assert_ne!(place(&scenario, 10.0), place(&scenario, 20.0));
    let other = parse(&text.replace("pause", "seed = 2, pause")).unwrap();
    assert_ne!(place(&scenario, 10.0), place(&other, 10.0));
}

#[test]
fn mistakes_of_motion_are_named() {
    for (from, to, why) in [
        ("node = 'phone'", "node = 'phon'", "tracks[0].node: there is no node \"phon\"; did you mean phone?"),
        (
            "time = '90 s'",
            "time = '190 s'",
            "tracks[0].points: 180 s follows 190 s: points must be in the order",
        ),
        ("time = '90 s'", "time = '1 s'", "goes at 900 m/s to its point of 1 s; at most 350 m/s"),
        (
            "kind = '802.11a', data_rate = 'by-distance'",
            "kind = 'ideal', data_rate = '6 Mbps'",
            "mobility: is not built for ideal CSMA",
        ),
        ("flows =", "mobility = { every = '0.1 ms' }\nflows =", "mobility.every: must be at least 1 ms"),
        ("flows =", "mobility = { routes = '250 ms' }\nflows =", "mobility.routes: must be a multiple"),
        (
            "flows =",
            "walks = [{ nodes = ['phone'], area = [[0, 0], [9, 9]], speed = ['1 m/s', '2 m/s'] }]\nflows =",
            "walks[0].nodes: \"phone\" moves already",
        ),
        (
            "flows =",
            "walks = [{ nodes = ['ap'], area = [[0, 0], [9, 9]], speed = ['0 m/s', '2 m/s'] }]\nflows =",
            "walks[0].speed: from 0 to 2 m/s must ascend",
        ),
        (
            "transmit_power = '20 dBm'",
            "transmit_power = '30 dBm'",
            "nodes that move may hear each other over 1349 m at most",
        ),
    ] {
        let text = WALK.replace(
            "receive_threshold = 'standard'",
            if why.contains("1349") || why.contains("ideal") {
                "receive_threshold = '-82 dBm', carrier_sense_threshold = '-85 dBm'"
            } else {
                "receive_threshold = 'standard'"
            },
        );
        let text = if why.contains("1349") {
            text.replace("data_rate = 'by-distance'", "data_rate = '6 Mbps'")
        } else {
            text
        };
        let text = text.replacen(from, to, 1);
        let error = parse(&text).expect_err(why).to_string();
        assert!(error.contains(why), "{error}");
    }
    let late = parse(
        &WALK.replace("duration = '200 s'", "duration = '9 s'").replace("time = '0 s'", "time = '10 s'"),
    );
    let warnings = late.unwrap().warnings();
    assert!(
        warnings.iter().any(|w| w.contains("node \"phone\" never moves: its track begins at 10 s")),
        "{warnings:?}"
    );
    let still = WALK.lines().filter(|line| !line.contains("tracks")).collect::<Vec<_>>().join("\n");
    let still =
        format!("{}\nmobility = {{}}", still.replace("{ id = 'phone' }", "{ id = 'phone', at = [1, 0] }"));
    assert!(message(&still).contains("mobility: no node moves"), "{}", message(&still));
}

/// ns-3's `WaypointMobilityModel` (validation/ns3/walk.txt): a station of 6 Mb/s walks out of its range of 300 m after 5 s and is back
/// after 15 s. The packets that arrive are as many within 1 %, and the silence is as long within the time between two scenes.
#[test]
fn walk_out_of_range_is_that_of_ns3() {
    let recorded = include_str!("../../../../validation/ns3/walk.txt");
    let rows: Vec<Vec<f64>> =
        recorded.lines().map(|line| line.split(' ').map(|cell| cell.parse().unwrap()).collect()).collect();
    let (seconds, silence) = rows.split_at(20);
    let expected: f64 = seconds.iter().map(|row| row[1]).sum();
    let scenario = parse(
        "duration = '20 s'
        warmup = '0 s'
        preset = 'ns3'
        radio = { transmission_range = '300 m', carrier_sense_range = '300 m' }
        mac = { kind = '802.11a', data_rate = '6 Mbps' }
        mobility = { every = '10 ms' }
        nodes = [{ id = 'sink', at = [0, 0] }, { id = 'walker' }]
        tracks = [{ node = 'walker', points = [{ time = '0 s', at = [250, 0] }, { time = '10 s', at = [350, 0] }, { time = '20 s', at = [250, 0] }] }]
        flows = [{ id = 'f', from = 'walker', to = 'sink', traffic = 'saturated', size = '1500 bytes' }]",
    );
    let scenario = scenario.unwrap();
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    let found = result.flows[0].goodput_pps * result.measured_s;
    assert!((found / expected - 1.0).abs() < 0.01, "{found} packets for {expected}");
    let long = silence[0][1] - silence[0][0];
    // Routes are back at whole seconds, and packets that met none come after the next one.
    assert!((result.flows[0].silence_s - long).abs() < 0.05, "{} s for {long} s", result.flows[0].silence_s);
}
