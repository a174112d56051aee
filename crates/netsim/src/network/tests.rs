//! Whole networks: conservation, determinism, and what the four-link topologies of [Chen10] are known for.

use crate::*;
use evenair_laws::backoff::{AdaptiveParams, DcfParams};
use evenair_laws::connections::RttProportionalParams;
use evenair_laws::marking::DropTail;
use evenair_laws::window::WindowParams;
use evenair_tcp::{AckPolicy, LossMeasure, RtoParams, SenderParams, WindowKind};
use evenair_topology::{Medium, Position, ThresholdRadio, TwoRayGround};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{Holding, MacTiming, Preamble, Rules};
use proptest::prelude::*;

const A: [[f64; 4]; 4] = [
    [-600.0, 0.0, -600.0, 100.0],
    [0.0, 0.0, 0.0, 100.0],
    [600.0, 100.0, 600.0, 200.0],
    [600.0, -100.0, 600.0, -200.0],
];

fn medium(ends: &[[f64; 4]]) -> Medium {
    let at: Vec<Position> =
        ends.iter().flat_map(|&[x, y, u, v]| [Position::new(x, y), Position::new(u, v)]).collect();
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 800.0,
        propagation: TwoRayGround::default(),
    };
    Medium::from_positions(&at, &radio)
}

fn tcp(connections: Option<RttProportionalParams>) -> TcpSpec {
    TcpSpec {
        sender: SenderParams {
            window: WindowKind::Reno,
            start: WindowParams { initial_window: 2.0, initial_ssthresh: 20.0 },
            receiver_window: 20,
            rto: RtoParams::ns2(),
            limited_transmit: true,
            loss_measure: LossMeasure::Window,
            handshake: connections.is_some(),
        },
        acknowledge: AckPolicy::EachSegment,
        payload: Bytes::new(1000),
        headers: Bytes::new(40),
        connections,
    }
}

fn four_links(ns2: bool) -> NetworkSpec {
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let (timing, rules, dcf) = if ns2 {
        (timing.ns2(), Rules::ns2(), DcfParams::dsss().ns2())
    } else {
        (timing, Rules::standard(), DcfParams::dsss())
    };
    NetworkSpec {
        nodes: (1..=4).flat_map(|l| [format!("s{l}"), format!("r{l}")]).collect(),
        medium: medium(&A),
        mac: MacSpec::Dcf { timing, rules },
        data_rate: Rate::from_kbps(11_000),
        backoff: BackoffSpec::Dcf(dcf),
        buffer: DropTail { limit_packets: 50 },
        proportional: None,
        link_layer_delay: if ns2 { Duration::from_micros(25) } else { Duration::ZERO },
        flows: (0..4)
            .map(|l| FlowSpec {
                name: format!("{}", l + 1),
                path: vec![2 * l, 2 * l + 1],
                start: Instant::ZERO + Duration::from_millis(100) * u64::from(l + 1),
                traffic: Traffic::Tcp(tcp(None)),
            })
            .collect(),
    }
}

fn adaptive() -> NetworkSpec {
    let mut spec = four_links(false);
    spec.backoff = BackoffSpec::Adaptive { params: AdaptiveParams::chen10(), prioritise_acks: false };
    spec.buffer = DropTail { limit_packets: 1000 };
    for flow in &mut spec.flows {
        flow.traffic = Traffic::Tcp(tcp(Some(RttProportionalParams::chen10())));
    }
    spec
}

fn seconds(seed: u64, warmup: u64, duration: u64) -> RunSpec {
    RunSpec {
        seed,
        warmup: Duration::from_secs(warmup),
        duration: Duration::from_secs(duration),
        sample_every: Some(Duration::from_secs(1)),
        ledger: true,
        timeline: None,
    }
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|f| f.goodput_pps).collect()
}

fn assert_conserved(result: &RunResult) {
    let p = result.packets;
    assert_eq!(p.originated, p.delivered + p.dropped + p.under_way, "{p:?}");
}

#[test]
fn scratch() {
    for ns2 in [true, false] {
        for seed in 1..4 {
            let r = Network::run(&four_links(ns2), seconds(seed, 20, 200));
            println!("{ns2} {seed} {:?} {} ev {}", goodputs(&r), goodputs(&r).iter().sum::<f64>(), r.events);
        }
    }
    for seed in 1..3 {
        let r = Network::run(&adaptive(), seconds(seed, 100, 200));
        println!("ad {seed} {:?} {} ev {}", goodputs(&r), goodputs(&r).iter().sum::<f64>(), r.events);
        for f in &r.flows {
            println!("{f:?}");
        }
        for f in &r.links {
            println!("{} {} {:?} {:?} {:?}", f.name, f.backlog, f.aggressiveness, f.frames, f.dropped_by_law);
        }
    }
}
#[test]
fn scratch2() {
    for n in [1usize, 2, 5, 10, 20, 50] {
        for ns2 in [true, false] {
            let mut spec = four_links(ns2);
            let mut at = vec![Position::new(0.0, 0.0)];
            for i in 0..n {
                let a = 2.0 * std::f64::consts::PI * i as f64 / n as f64;
                at.push(Position::new(50.0 * a.cos(), 50.0 * a.sin()));
            }
            let radio = ThresholdRadio {
                transmission_range_m: 250.0,
                carrier_sense_range_m: 550.0,
                propagation: TwoRayGround::default(),
            };
            spec.medium = Medium::from_positions(&at, &radio);
            spec.nodes = (0..=n).map(|i| format!("n{i}")).collect();
            spec.flows = (1..=n as u32)
                .map(|l| FlowSpec {
                    name: format!("{l}"),
                    path: vec![l, 0],
                    start: Instant::ZERO,
                    traffic: Traffic::Saturated { size: Bytes::new(1000) },
                })
                .collect();
            let t = std::time::Instant::now();
            let mut run = seconds(1, 5, 60);
            run.ledger = false;
            run.sample_every = None;
            let r = Network::run(&spec, run);
            println!("{n} {ns2} {:.2} {:?}", goodputs(&r).iter().sum::<f64>(), t.elapsed());
        }
    }
    let mut run = seconds(1, 20, 200);
    run.ledger = false;
    run.sample_every = None;
    let t = std::time::Instant::now();
    let r = Network::run(&four_links(true), run);
    println!("{:?} {}", t.elapsed(), r.events);
}
