//! Relays: each next hop has a queue and a law of its own, and ties between them are settled as EDCA's.

use super::*;
use evenair_laws::backoff::{Execution, Intensity, Links, OptimalParams, VirtualQueueParams};

/// 802.11a, nodes a, b and c in one room; flows by their paths.
fn room(backoff: impl Into<BackoffParams>, flows: &[(&[u32], Pattern)]) -> NetworkSpec {
    let at = [0.0, 100.0, 200.0].map(|x| Position::new(x, 0.0));
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    let mut spec = four_links(false);
    spec.nodes = ["a", "b", "c"].map(Into::into).to_vec();
    spec.medium = Medium::from_positions(&at, &radio);
    let timing = MacTiming::a(ControlRate::Mandatory).qos();
    spec.mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    spec.surroundings = Surroundings {
        physical_layer: PhysicalLayer::Ofdm,
        slot: timing.slot,
        packet: spec.mac.packet(Bytes::new(1000), Bytes::new(1000), Rate::from_kbps(6_000), None),
        ..spec.surroundings
    };
    spec.data_mode = Rate::from_kbps(6_000).into();
    spec.backoff = backoff.into();
    let first = spec.flows[0].clone();
    spec.flows = flows
        .iter()
        .map(|&(path, pattern)| FlowSpec {
            name: format!("{path:?}"),
            path: path.to_vec(),
            traffic: datagrams(pattern),
            ..first.clone()
        })
        .collect();
    spec
}

fn hardware() -> Intensity {
    Intensity { execution: Execution::Hardware, ..Intensity::lee12() }
}

fn aggressiveness(result: &RunResult, queue: &str) -> f64 {
    let link = result.links.iter().find(|link| link.queue == queue).expect("it has this queue");
    link.aggressiveness.expect("the law has one")
}

#[test]
fn full_queue_to_one_hop_spares_the_other() {
    let law = OptimalParams { weight: 0.05, intensity: hardware(), ..OptimalParams::lee12() };
    let now_and_then = Pattern::Constant { interval: Duration::from_millis(100), jitter: 0.0 };
    let fast = Pattern::Constant { interval: Duration::from_millis(2), jitter: 0.5 };
    let mut spec = room(law, &[(&[0, 1, 2], fast), (&[1, 0], now_and_then)]);
    spec.queue = QueueSpec::fifo(200);
    let result = Network::run(&spec, seconds(1, 5, 20));
    // 500 packets/s over two hops are more than 6 Mb/s carry: queues are long, and the relay's grows until it is served.
    let (first, second, other) =
        (aggressiveness(&result, "a>b"), aggressiveness(&result, "b>c"), aggressiveness(&result, "b>a"));
    // By how much depends on how the relay shares its time: the law promises "several times".
    assert!(first > 4.0 * other && second > 4.0 * other, "{first} {second} {other}");
    let got = goodputs(&result);
    assert!(got[0] > 200.0 && (got[1] - 10.0).abs() < 0.5, "{got:?}");
    assert_conserved(&result);
}

#[test]
fn two_next_hops_share_and_settle_their_ties() {
    let laws: [BackoffParams; 3] = [
        OptimalParams { intensity: hardware(), ..OptimalParams::lee12() }.into(),
        OptimalParams::lee12().into(),
        VirtualQueueParams { links: Links::All, intensity: hardware(), ..VirtualQueueParams::lee12() }.into(),
    ];
    for law in laws {
        let spec = room(law.clone(), &[(&[1, 0], Pattern::Saturated), (&[1, 2], Pattern::Saturated)]);
        let result = Network::run(&spec, seconds(1, 5, 40));
        let got = goodputs(&result);
        assert!((got[0] / got[1] - 1.0).abs() < 0.1, "{law:?}: {got:?}");
        let ties: u64 = result.links.iter().map(|link| link.internal).sum();
        // Back-offs in slots meet, continuous ones do not.
        let slotted = law != OptimalParams::lee12().into();
        assert_eq!(ties > 0, slotted, "{law:?}: {ties}");
        let collided: u64 = result.links.iter().map(|link| link.collided).sum();
        assert_eq!(collided, 0, "nobody else sends");
        assert_conserved(&result);
    }
}

#[test]
fn dummies_begin_after_a_packet_and_are_service() {
    let law = VirtualQueueParams {
        links: Links::All,
        dummies: true,
        intensity: hardware(),
        ..VirtualQueueParams::lee12()
    };
    let slow = Pattern::Constant { interval: Duration::from_secs(1), jitter: 0.0 };
    let mut spec = room(law, &[(&[0, 1], slow)]);
    spec.flows[0].active = vec![(Instant::ZERO + Duration::from_secs(10), Instant::NEVER)];
    let frames = |warmup: u64, duration: u64| {
        let result = Network::run(&spec, seconds(1, warmup, duration));
        let link = result.links.iter().find(|link| link.queue == "a>b").unwrap();
        (link.attempts, link.aggressiveness.unwrap())
    };
    assert_eq!(frames(0, 9).0, 0, "no packet yet");
    // Twenty seconds of dummies, all but twenty frames of them: the virtual queue rests where V/vq equals the service of 10
    // ms.
    let (attempts, aggressiveness) = frames(20, 20);
    let served = attempts as f64 / 2_000.0;
    assert!(served > 4.0, "{attempts}");
    assert!((aggressiveness / (0.01 * 500.0 / served) - 1.0).abs() < 0.02, "{aggressiveness} {served}");
}

#[test]
fn buffer_stays_within_limit_with_dummies() {
    // The most that waits in the queues of node 0.
    let most = |spec: &NetworkSpec| {
        let mut network = Network::new(spec, seconds(1, 0, 5));
        let mut most = 0;
        while network.next_at() < network.end() {
            assert!(network.advance(network.next_at()).is_none());
            let own = network.core.queues.iter().filter(|queue| queue.node == 0);
            most = most.max(own.map(|queue| queue.discipline.packets()).sum());
        }
        assert_conserved(&network.finish());
        most
    };
    let law = VirtualQueueParams {
        links: Links::All,
        dummies: true,
        intensity: hardware(),
        ..VirtualQueueParams::lee12()
    };
    // Bursts of hundreds of packets, most of which begin while a dummy is sent.
    let bursts = Pattern::OnOff {
        interval: Duration::from_micros(10),
        on: Duration::from_millis(3),
        off: Duration::from_millis(100),
    };
    let mut dummies = room(law, &[(&[0, 1], bursts), (&[0, 2], bursts)]);
    dummies.queue = QueueSpec::fifo(4);
    assert_eq!(most(&dummies), 4);
    let mut kept_back = wired(10_000, 1, 4, datagrams(bursts));
    kept_back.wires[0].queue.discipline = queue::tests::every_discipline().pop().unwrap();
    assert_eq!(most(&kept_back), 4);
}
