//! Laws that are recorded in whole networks, and replayed: the run is the same, and so is every decision, bit for bit.

use super::gateway::shaped;
use super::*;
use evenair_laws::Family;
use evenair_laws::backoff::OwnBackoff;
use evenair_laws::connections::{ConnectionParams, ConnectionTold, OwnConnections};
use evenair_laws::gateway::{GatewayParams, OwnGateway};
use evenair_laws::marking::{MarkingParams, OwnMarking};
use evenair_laws::rate::{OwnRate, RateParams};
use evenair_laws::tape::{RecordOf, Recorder, Taped, first_difference};
use evenair_laws::window::{OwnWindow, WindowParams};

/// Runs a network with each law of a family, and again with a recorder in its place; gives how many records there are of each.
fn replays<P: Family + Taped>(
    boxed: impl Fn(Recorder<P, Track<RecordOf<P>>>) -> P,
    network: impl Fn(P) -> NetworkSpec,
) -> Vec<usize> {
    let records = |law: P| {
        let run = RunSpec { timeline: None, ..seconds(1, 1, 14) };
        let tapes = Tapes::default();
        let recorded = Network::run(&network(boxed(tapes.record(&law))), run);
        assert_eq!(
            recorded,
            Network::run(&network(law.clone()), run),
            "{law:?}: who listens changes nothing"
        );
        let tapes = tapes.take();
        for tape in &tapes {
            assert_eq!(first_difference(&law, tape), Ok(None), "{law:?}");
        }
        tapes.iter().map(Vec::len).sum()
    };
    P::laws().into_iter().map(records).collect()
}

/// Four links, a flow over TCP on each.
fn over_tcp(change: impl Fn(&mut TcpSpec)) -> NetworkSpec {
    let mut spec = four_links(false);
    for flow in &mut spec.flows {
        let mut tcp = tcp(None);
        change(&mut tcp);
        flow.traffic = Traffic::Tcp(tcp);
    }
    spec
}

fn all_above(least: usize, records: &[usize]) {
    assert!(!records.is_empty() && records.iter().all(|&count| count > least), "{records:?}");
}

#[test]
fn window_laws() {
    let network = |law: WindowParams| over_tcp(|tcp| tcp.window = law.clone());
    all_above(1000, &replays(|law| OwnWindow::new(law).into(), network));
}

#[test]
fn connection_laws() {
    let network = |law: ConnectionParams| over_tcp(|tcp| tcp.connections = Some(law.clone()));
    let records = replays(|law| OwnConnections::new(law).into(), network);
    // Four that begin; the fixed law is not asked within a minute, [CZ06]'s not within 20 s.
    all_above(3, &records);
    assert!(records.contains(&12), "{records:?}: what runs every 5 s, runs at 5 and 10 s");
}

#[test]
fn backoff_laws() {
    let network = |law: BackoffParams| NetworkSpec { backoff: law, ..over_tcp(|_| ()) };
    let records = replays(|law| OwnBackoff::new(law).into(), network);
    all_above(7, &records);
    assert!(records.iter().any(|&count| count > 1000), "{records:?}");
}

#[test]
fn marking_laws() {
    let network = |law: MarkingParams| {
        let queue = QueueSpec { marking: Some(law), ..QueueSpec::fifo(50) };
        NetworkSpec { queue, ..over_tcp(|_| ()) }
    };
    all_above(1000, &replays(|law| OwnMarking::new(law).into(), network));
}

#[test]
fn rate_laws() {
    let network = |law: RateParams| {
        let traffic =
            Traffic::Rated(RatedSpec { size: Bytes::new(1250), law, rate_max: Rate::from_kbps(10_000) });
        wired(1_000, 20, 1_000, traffic)
    };
    all_above(1000, &replays(|law| OwnRate::new(law).into(), network));
}

#[test]
fn gateway_laws() {
    let network = |law: GatewayParams| shaped(Shaping::PerClass, GatewayControl::Law(law));
    all_above(0, &replays(|law| OwnGateway::new(law).into(), network));
}

/// A tape tells a law from another one.
#[test]
fn another_law_is_found_out() {
    let law = WindowParams::from(RenoParams {});
    let tapes = Tapes::default();
    let own: WindowParams = OwnWindow::new(tapes.record(&law)).into();
    Network::run(&over_tcp(|tcp| tcp.window = own.clone()), seconds(1, 0, 5));
    let tapes = tapes.take();
    let vegas = WindowParams::laws().into_iter().find(|law| matches!(law, WindowParams::Vegas(_))).unwrap();
    assert_eq!(tapes.len(), 4, "one a connection");
    assert!(tapes.iter().all(|tape| first_difference(&law, tape) == Ok(None)));
    assert!(tapes.iter().all(|tape| first_difference(&vegas, tape).unwrap().is_some()));
}

/// The simulation knows all that a host may not know, and smooths round trips as endpoints do.
#[test]
fn view_has_signals_beyond_linux() {
    let params = RttProportionalParams { per_second: 40.0, ..RttProportionalParams::chen10() };
    let tapes = Tapes::default();
    let mut tcp = tcp(None);
    tcp.connections = Some(OwnConnections::new(tapes.record(&params.into())).into());
    (tcp.sender.timestamps, tcp.sender.rto) = (true, RtoParams::rfc6298());
    Network::run(&wired(10_000, 50, 1_000, Traffic::Tcp(tcp)), seconds(1, 0, 16));
    let tape = tapes.take().remove(0);
    let told = |record: &RecordOf<ConnectionParams>| match record.told {
        ConnectionTold::OnInterval { flow } => Some((flow, record.answer.on_interval.unwrap())),
        _ => None,
    };
    let told: Vec<_> = tape.iter().filter_map(told).collect();
    assert_eq!(told.len(), 3);
    for (flow, connections) in told {
        // Windows of 20 segments leave together; a few connections wait for each other: 50 ms each way and up to a window's time.
        let (mean, smoothed, least) =
            (flow.round_trip.unwrap(), flow.smoothed_round_trip.unwrap(), flow.least_round_trip.unwrap());
        assert!(least >= Duration::from_micros(100_800) && least <= mean && least <= smoothed, "{flow:?}");
        let ratio = smoothed.as_secs_f64() / mean.as_secs_f64();
        assert!((ratio - 1.0).abs() < 0.15, "{flow:?}");
        assert_eq!(connections, (40.0 * smoothed.as_secs_f64()) as u32);
        assert_eq!((flow.route_changed, flow.lost), (Some(false), Some(0)));
        assert!(flow.first_backlog.is_some() && flow.path_backlog.is_none(), "nobody needs the path's");
    }
}
