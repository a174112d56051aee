//! Nodes that move: hearers, modes and paths that change.

use super::*;
use std::sync::Arc;

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A motion by this function, asked every so many milliseconds until some instant.
fn motion(
    every_ms: u64,
    until_ms: u64,
    scene: impl Fn(Instant) -> Option<Scene> + Send + Sync + 'static,
) -> Motion {
    Motion {
        every: Duration::from_millis(every_ms),
        until: at(until_ms),
        scene: Arc::new(scene),
        detours: Vec::new(),
    }
}

/// The medium of two nodes on a line, and of one more where it is given.
fn on_line(places_m: &[f64]) -> Medium {
    let places: Vec<Position> = places_m.iter().map(|&x| Position::new(x, 0.0)).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    Medium::from_positions(&places, &radio)
}

fn line(places_m: &[f64], paths: &[&[u32]], traffic: &Traffic) -> NetworkSpec {
    let mut spec = four_links(false);
    spec.nodes = (0..places_m.len()).map(|i| format!("n{i}")).collect();
    spec.medium = on_line(places_m);
    let flow = |(i, path): (usize, &&[u32])| FlowSpec {
        name: i.to_string(),
        path: path.to_vec(),
        active: vec![(Instant::ZERO, Instant::NEVER)],
        traffic: traffic.clone(),
        ..spec.flows[0].clone()
    };
    spec.flows = paths.iter().enumerate().map(flow).collect();
    spec
}

fn saturated() -> Traffic {
    Traffic::Datagrams { size: Bytes::new(1_000), headers: Bytes::new(0), pattern: Pattern::Saturated }
}

/// Scenes that are all the same, every 3 ms and thus during frames, answers and countdowns, change no frame of any run.
#[test]
fn scene_without_motion_changes_nothing() {
    for (ns2, traffic) in [(false, Traffic::Tcp(tcp(None))), (false, saturated()), (true, saturated())] {
        let mut spec = four_links(ns2);
        spec.flows.iter_mut().for_each(|flow| flow.traffic = traffic.clone());
        spec.losses = vec![LinkLoss { from: 0, to: 1, schedule: vec![(at(0), LossModel::Every(7))] }];
        let still = Network::run(&spec, seconds(1, 0, 2));
        let scene = Scene { medium: spec.medium.clone(), rates: Vec::new() };
        spec.motion = Some(motion(3, 2_000, move |_| Some(scene.clone())));
        let moved = Network::run(&spec, seconds(1, 0, 2));
        assert_eq!((&still.flows, &still.packets), (&moved.flows, &moved.packets));
        assert_conserved(&moved);
    }
}

/// A station leaves at 100 m/s from 200 m: decoded to 250 m, so until 0.5 s, and again from 1.5 s on its way back. The last frame
/// from before is 10 ms old at most when the range ends.
#[test]
fn link_ends_and_returns_where_geometry_says() {
    let place = |now: Instant| 300.0 - 100.0 * (now.as_secs_f64() - 1.0).abs();
    let mut spec = line(&[0.0, 200.0], &[&[1, 0]], &saturated());
    spec.motion = Some(motion(10, 2_000, move |now| {
        Some(Scene { medium: on_line(&[0.0, place(now)]), rates: Vec::new() })
    }));
    let run = RunSpec { timeline: Some((Instant::ZERO, Instant::NEVER)), ..seconds(1, 0, 2) };
    let result = Network::run(&spec, run);
    let ends: Vec<f64> = result
        .timeline
        .iter()
        .filter(|(frame, _)| frame.kind == FrameKind::Ack)
        .map(|(frame, _)| frame.end.as_secs_f64())
        .collect();
    let silence = ends.windows(2).max_by(|a, b| (a[1] - a[0]).total_cmp(&(b[1] - b[0]))).unwrap();
    assert!((silence[0] - 0.51).abs() < 0.012, "the last acknowledgement is at {}", silence[0]);
    // A frame may be in its back-off of up to 1023 slots of 20 µs when the receiver is back.
    assert!((1.49..1.53).contains(&silence[1]), "the next one at {}", silence[1]);
    assert!(result.links.iter().any(|link| link.dropped_retries > 0));
    assert_conserved(&result);
}

/// The modes of links follow the scene: 11 Mb/s for a second, then 1 Mb/s: as much as two runs of a second at each.
#[test]
fn mode_follows_the_scene() {
    let rate = |kbps| LinkRate { from: 1, to: 0, mode: Rate::from_kbps(kbps).into() };
    let of = |kbps| {
        let mut spec = line(&[0.0, 100.0], &[&[1, 0]], &saturated());
        spec.rates = vec![rate(kbps)];
        spec
    };
    let alone = |kbps| Network::run(&of(kbps), seconds(1, 0, 1)).flows[0].goodput_bps;
    let mut spec = of(11_000);
    spec.motion = Some(motion(1_000, 1_000, move |_| {
        Some(Scene { medium: on_line(&[0.0, 100.0]), rates: vec![rate(1_000)] })
    }));
    let both = Network::run(&spec, seconds(1, 0, 2)).flows[0].goodput_bps;
    let expected = f64::midpoint(alone(11_000), alone(1_000));
    assert!((both / expected - 1.0).abs() < 0.01, "{both} for {expected}");
}

/// A flow without a route drops its packets where they enter, and goes on when it has one: by another node.
#[test]
fn flow_waits_for_its_route_and_takes_it() {
    for traffic in [saturated(), Traffic::Tcp(tcp(None))] {
        let mut spec = line(&[0.0, 200.0, 400.0], &[&[0, 1]], &traffic);
        let near = on_line(&[0.0, 200.0, 400.0]);
        let far = on_line(&[0.0, 400.0, 200.0]);
        let mut moving = motion(500, 1_000, move |now| {
            let medium = if now < at(1_000) { far.clone() } else { near.clone() };
            Some(Scene { medium, rates: Vec::new() })
        });
        moving.detours = vec![
            Detour { at: at(500), flow: 0, path: None },
            Detour { at: at(600), flow: 0, path: Some(vec![0, 2, 1]) },
            Detour { at: at(1_000), flow: 0, path: Some(vec![0, 1]) },
        ];
        spec.motion = Some(moving);
        let run = RunSpec { timeline: Some((Instant::ZERO, Instant::NEVER)), ..seconds(1, 0, 4) };
        let result = Network::run(&spec, run);
        let delivered = |from: Instant, until: Instant, by: u32| {
            let of = |frame: &&FrameRecord| {
                frame.kind == FrameKind::Data && frame.from == by && frame.to == 1 && frame.start >= from
            };
            result.timeline.iter().map(|(frame, _)| frame).filter(of).filter(|f| f.end <= until).count()
        };
        assert!(delivered(at(0), at(500), 0) > 50);
        assert!(delivered(at(2_000), at(4_000), 0) > 50, "it takes the direct way again");
        assert_eq!(delivered(at(2_000), at(4_000), 2), 0);
        if matches!(traffic, Traffic::Datagrams { .. }) {
            let dropped: u64 = result.links.iter().map(|link| link.dropped_no_route).sum();
            assert!(dropped > 0, "a source without a route sends into nothing");
            assert!(delivered(at(600), at(1_000), 2) > 20, "it goes by the node between");
        }
        assert_conserved(&result);
    }
}
