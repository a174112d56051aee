use super::*;
use evenair_laws::backoff::Category;
use evenair_netsim::pcap::internet_checksum;
use evenair_netsim::{FlowSpec, MacSpec, Pattern, RunResult, RunSpec, Traffic};
use evenair_topology::{Medium, Position, Propagation, ThresholdRadio};
use evenair_units::Rate;
use evenair_wifi::{MacTiming, Preamble, Rules};
use std::collections::VecDeque;

/// A written packet: its time and port.
type Written = (Instant, u32, Vec<u8>);

/// Ports in virtual time: packets arrive at given instants, and written ones are kept.
#[derive(Debug, Default)]
struct Scripted {
    now: Instant,
    come: VecDeque<(Instant, u32, Vec<u8>)>,
    written: Vec<Written>,
    /// A node with a forwarding kernel: packets for others return with a hop less, before all other packets.
    router: Option<(u32, [u8; 4])>,
    /// Ports that are not to be read.
    held: Vec<u32>,
}

impl Ports for Scripted {
    fn now(&self) -> Instant {
        self.now
    }
    fn wait(&mut self, until: Instant, ready: &mut Ready) {
        match self.come.front() {
            Some(&(at, port, _)) if at <= until && !self.held.contains(&port) => {
                self.now = self.now.max(at);
                ready.push(port);
            }
            _ => self.now = until,
        }
    }
    fn read(&mut self, port: u32, packet: &mut Vec<u8>) -> bool {
        let due = self.come.front().is_some_and(|&(at, to, _)| to == port && at <= self.now);
        if due {
            packet.extend(self.come.pop_front().expect("it is due").2);
        }
        due
    }
    fn hold(&mut self, port: u32, held: bool) {
        self.held.retain(|&other| other != port);
        self.held.extend(held.then_some(port));
    }
    fn write(&mut self, port: u32, packet: &[u8]) -> bool {
        self.written.push((self.now, port, packet.to_vec()));
        if let Some((router, address)) = self.router
            && router == port
            && packet[16..20] != address
        {
            let mut packet = packet.to_vec();
            packet::take_hops(&mut packet, 1);
            self.come.push_front((self.now, port, packet));
        }
        true
    }
}

/// Returns four nodes in a row, each in range of its neighbours, with routes between all of them and for
/// broadcasts.
fn row() -> NetworkSpec {
    let radio = ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    };
    let places = [0.0, 200.0, 400.0, 600.0].map(|x| Position::new(x, 0.0));
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let timing = MacTiming::b(Preamble::Long, Rate::from_kbps(1_000));
    let mac = MacSpec::Dcf { timing, rules: Rules::standard() };
    let medium = Medium::from_positions(&places, &radio);
    let mut routes = vec![vec![0, 1, 2, 3], vec![0, 1, 2], vec![1, 2, 3]];
    routes.extend((0..4).map(|node| vec![node, BROADCAST]));
    NetworkSpec { routes, ..NetworkSpec::new(names, medium, mac, Rate::from_kbps(11_000)) }
}

/// Returns a UDP packet of 100 bytes.
fn udp(from: [u8; 4], to: [u8; 4], hops: u8) -> Vec<u8> {
    let mut packet = vec![0x45, 2, 0, 100, 0, 0, 0, 0, hops, packet::UDP, 0, 0];
    packet.extend_from_slice(&from);
    packet.extend_from_slice(&to);
    let sum = internet_checksum(&[&packet]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(&[0, 1, 0, 2]);
    packet.resize(100, 7);
    packet
}

/// Returns the packets written if these packets arrive, each at its millisecond; and the stray ones.
fn written(come: &[(u64, u32, Vec<u8>)]) -> (Vec<Written>, Strays) {
    let (out, strays, _) = drive(&row(), come, None, false);
    (out, strays)
}

/// Returns the same in a network in which one node may be a router and nodes may hold packets back, with the
/// network's result.
fn drive(
    spec: &NetworkSpec,
    come: &[(u64, u32, Vec<u8>)],
    router: Option<(u32, [u8; 4])>,
    backpressure: bool,
) -> (Vec<Written>, Strays, RunResult) {
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    let run = RunSpec {
        seed: 1,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(1),
        sample_every: None,
        times: false,
        ledger: false,
        timeline: None,
    };
    let come = come.iter().map(|(ms, port, packet)| (at(*ms), *port, packet.clone())).collect();
    let ports = Scripted { come, router, ..Scripted::default() };
    let routers = router.iter().map(|router| router.0).collect();
    let route_state = (Routes::of(spec, &routers), Vec::new(), None);
    let board = Arc::new(Board::new(std::iter::empty()).unwrap());
    let mut drive = Drive::new(spec, Network::new(spec, run), route_state, ports, board);
    for (number, flow) in (0..).zip(&spec.flows) {
        drive.add_flow(2, RealFlow { number, way: flow.path.clone(), more: 0, is_probes: false });
    }
    if backpressure {
        drive.hold_back();
    }
    let ended = drive.run(at(1_000), &mut Watchers::default(), |_, _| false);
    assert_eq!(ended, at(1_000));
    assert_eq!(drive.clockwork.most(), Duration::ZERO, "virtual time is never late");
    assert_eq!(drive.free.len(), drive.kept.len(), "all that was kept is let go");
    let written = std::mem::take(&mut drive.ports.written);
    let (network, _, strays) = drive.finish();
    (written, strays, network.finish())
}

const A: [u8; 4] = [10, 0, 0, 1];
const D: [u8; 4] = [10, 0, 0, 4];

#[test]
fn packet_arrives_three_hops_on_two_hops_fewer() {
    let (out, strays) = written(&[(5, 0, udp(A, D, 64))]);
    let [(at, node, packet)] = &out[..] else { panic!("{out:?}") };
    assert_eq!((*node, strays), (3, Strays::default()));
    let took = at.since(Instant::ZERO + Duration::from_millis(5));
    assert!(took > Duration::from_millis(1) && took < Duration::from_millis(10), "{took:?}");
    assert_eq!(packet[8], 62);
    assert_eq!(internet_checksum(&[&packet[..20]]), 0);
    assert_eq!(packet[20..], udp(A, D, 64)[20..]);
}

#[test]
fn router_reports_used_up_hops() {
    for (hops, router) in [(1, 2), (2, 3)] {
        let (out, strays) = written(&[(0, 0, udp(A, D, hops))]);
        let [(_, node, answer)] = &out[..] else { panic!("{out:?}") };
        assert_eq!((*node, strays.hops_used_up), (0, 1));
        assert_eq!((&answer[12..16], &answer[16..20]), (&[10, 0, 0, router][..], &A[..]));
        assert_eq!((answer[20], answer[21]), (11, 0), "time exceeded in transit");
    }
    let (out, _) = written(&[(0, 0, udp(A, D, 3))]);
    assert_eq!((out[0].1, out[0].2[8]), (3, 1), "three hops are enough");
}

#[test]
fn broadcast_reaches_neighbours_only() {
    let (out, _) = written(&[(0, 1, udp([10, 0, 0, 2], [224, 0, 0, 251], 1))]);
    let heard: Vec<u32> = out.iter().map(|&(_, node, _)| node).collect();
    assert_eq!(heard, [0, 2]);
    assert_eq!(out[0].2[8], 1, "a neighbour is no router");
}

#[test]
fn strays_are_counted() {
    let (out, strays) = written(&[(1, 0, vec![0; 50]), (2, 0, udp([0; 4], [10, 0, 0, 9], 64))]);
    assert!(out.is_empty(), "nobody is told");
    assert_eq!((strays.no_route, strays.no_packet), (1, 1));
}

#[test]
fn missing_route_is_reported_in_bounds() {
    let come: Vec<_> = (0..100).map(|ms| (ms, 0, udp(A, [10, 0, 0, 9], 64))).collect();
    let (out, strays) = written(&come);
    assert_eq!((out.len() as u64, strays.no_route), (TOLD_AT_ONCE, 100));
    assert!(out.iter().all(|(_, node, answer)| *node == 0 && answer[20..22] == [3, 1]));
}

#[test]
fn router_packets_pass_kernel_once() {
    let mut spec = row();
    let pattern = Pattern::Saturated;
    let traffic = Traffic::Outside(Box::new(Traffic::Datagrams {
        size: Bytes::new(100),
        headers: Bytes::new(0),
        pattern,
    }));
    spec.flows.push(FlowSpec {
        stack: None,
        name: "1".into(),
        path: vec![0, 1, 2, 3],
        active: vec![(Instant::ZERO, Instant::NEVER)],
        start_jitter: Duration::ZERO,
        traffic,
        category: Category::BestEffort,
        code_point: 0,
        weight: 1.0,
    });
    let router = Some((2, [10, 0, 0, 3]));
    let (out, strays, result) = drive(&spec, &[(5, 0, udp(A, D, 64)), (50, 0, udp(A, D, 2))], router, false);
    assert_eq!(strays, Strays::default());
    let seen: Vec<(u32, u8)> = out.iter().map(|(_, node, packet)| (*node, packet[8])).collect();
    // The router gets the packet after the simulated node before it has decremented the hop limit, and its
    // kernel decrements it once more. The second packet's limit is used up; a real kernel's reaction is its
    // own: this one forwards, by address.
    assert_eq!(seen, [(2, 63), (3, 62), (2, 1), (3, 0)]);
    assert_eq!((result.flows[0].arrived, result.flows[0].sent), (2, 2), "each counts once");
    let took = out[1].0.since(Instant::ZERO + Duration::from_millis(5)).as_secs_f64();
    let mean_s = result.flows[0].delay.as_ref().unwrap().mean_s;
    assert!((mean_s / took - 1.0).abs() < 0.3, "from its source on: {mean_s} {took}");
    let (_, strays, _) = drive(&spec, &[(5, 0, udp(A, D, 1))], router, false);
    assert_eq!(strays.hops_used_up, 1, "at the node before it");
}

#[test]
fn as_many_come_out_and_are_lost_as_have_come() {
    let come: Vec<_> = (0..400).map(|ms| (ms / 2, (ms % 2) as u32 * 3, udp(A, D, 64))).collect();
    let come: Vec<_> = come.into_iter().filter(|(_, port, _)| *port == 0).collect();
    let (out, strays) = written(&come);
    assert_eq!(strays, Strays::default());
    assert!(out.len() > 100 && out.len() <= come.len(), "{} of {}", out.len(), come.len());
}

#[test]
fn packets_beyond_the_queue_are_lost_or_wait() {
    let mut spec = row();
    spec.queue.limit_packets = 5;
    let come: Vec<_> = (0..40).map(|_| (1, 0, udp(A, [10, 0, 0, 2], 64))).collect();
    let (out, _, _) = drive(&spec, &come, None, false);
    assert_eq!(out.len(), 6, "one in service, five behind it");
    let (out, strays, _) = drive(&spec, &come, None, true);
    assert_eq!((out.len(), strays), (40, Strays::default()));
}
