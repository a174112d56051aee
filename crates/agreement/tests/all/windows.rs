//! Window laws that watch delays and rates, over one bottleneck of 10 Mb/s: their backlog, and how they
//! share.

use evenair_laws::window::{BbrParams, CubicParams, WindowParams};
use evenair_netsim::{FlowResult, Network, Traffic};
use evenair_scenario::Resolved;

/// Flows over the bottleneck, from hosts at different distances.
fn shared(access_ms: &[u32], room: u32, changes: &[&str]) -> Vec<FlowResult> {
    let scenario = scenario(access_ms, room, changes);
    Network::run(scenario.network(), scenario.run_spec(1)).flows
}

fn scenario(access_ms: &[u32], room: u32, changes: &[&str]) -> Resolved {
    let mut text = format!(
        "
        duration = \"120 s\"
        warmup = \"60 s\"
        nodes = [{{ id = \"r\" }}, {{ id = \"d\" }}{}]
        tcp = {{ sack = true, rack = true, receiver_window = \"10000 packets\" }}
        [[wires]]
        from = \"r\"
        to = \"d\"
        rate = \"10 Mbps\"
        delay = \"10 ms\"
        queue = \"{room} packets\"
        ",
        (0..access_ms.len()).fold(String::new(), |nodes, n| nodes + &format!(", {{ id = \"s{n}\" }}"))
    );
    for (n, ms) in access_ms.iter().enumerate() {
        text += &format!(
            "
            [[wires]]
            from = \"s{n}\"
            to = \"r\"
            rate = \"1 Gbps\"
            delay = \"{ms} ms\"
            queue = \"10000 packets\"
            [[flows]]
            id = \"{n}\"
            from = \"s{n}\"
            to = \"d\"
            "
        );
    }
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Resolved::parse("shared", &text, &changes).expect("the scenario is right")
}

/// The round trip without a queue \[s\]: 1040 bytes there, 40 bytes back, over both wires.
fn empty_s(access_ms: u32) -> f64 {
    2.0 * (f64::from(access_ms) + 10.0) / 1e3 + 1080.0 * 8.0 * (1.0 / 10e6 + 1.0 / 1e9)
}

/// The bottleneck's capacity for 1000 bytes in packets of 1040 \[b/s\].
const FULL_BPS: f64 = 10e6 / 1.04;

/// How many of a flow's segments wait, by Little's law.
fn waiting(flow: &FlowResult, access_ms: u32) -> f64 {
    flow.goodput_pps * (flow.round_trip_s.expect("it has sent something") - empty_s(access_ms))
}

/// Windows begin at one segment and without doubling. A flow that starts while others' packets wait takes
/// their queue for the path's delay, and QUIC-TCP's slow start, which is standard TCP's, ends at the
/// threshold or with a loss.
const SLOWLY: [&str; 2] = ["tcp.initial_window=\"1 packets\"", "tcp.initial_ssthresh=\"2 packets\""];

/// A flow alone keeps α to β (Vegas), α (FAST) or p (QUIC-TCP) packets waiting, to one packet: windows are whole.
#[test]
fn as_many_packets_wait_as_the_law_wants() {
    for (law, from, to) in [
        ("{law=\"vegas\",alpha=2,beta=4}", 2.0, 4.0),
        ("{law=\"vegas\",alpha=20,beta=23}", 20.0, 23.0),
        ("{law=\"fast\",alpha=20}", 20.0, 20.0),
        ("{law=\"fast\",alpha=20,gamma=1.5,rounds=2}", 20.0, 20.0),
        ("{law=\"quic-tcp\",p=20,kappa=0.5,rho=0.5}", 20.0, 20.0),
    ] {
        for access_ms in [0, 40] {
            let window = format!("tcp.window={law}");
            let flow = &shared(&[access_ms], 1000, &[&window, SLOWLY[0], SLOWLY[1]])[0];
            let waits = waiting(flow, access_ms);
            assert!((from - 1.0..=to + 1.0).contains(&waits), "{law}, {access_ms} ms: {waits}");
            assert!(flow.goodput_bps > 0.99 * FULL_BPS, "{law}, {access_ms} ms: {}", flow.goodput_bps);
            assert_eq!(flow.lost, 0, "{law}");
        }
    }
}

/// Three flows share by their backlogs, not by the inverse of the round trip. Vegas's run at 21, 61 and 121
/// ms, and begin gently enough to see the path's delay; FAST's and QUIC-TCP's run at 41 ms.
#[test]
fn flows_share_by_backlog() {
    let (apart, alike) = ([0, 20, 50], [10, 10, 10]);
    for (law, access) in [
        ("{law=\"vegas\",alpha=20,beta=23}", apart),
        ("{law=\"fast\",alpha=20}", alike),
        ("{law=\"quic-tcp\",p=20,kappa=0.5,rho=1.0}", alike),
    ] {
        let window = format!("tcp.window={law}");
        let flows = shared(&access, 1000, &[&window, SLOWLY[0], SLOWLY[1]]);
        let total: f64 = flows.iter().map(|flow| flow.goodput_pps).sum();
        for (flow, ms) in flows.iter().zip(access) {
            let (share, waits) = (flow.goodput_pps / total, waiting(flow, ms));
            assert!((0.31..0.36).contains(&share), "{law}: {share} of flow {}", flow.flow);
            assert!((19.0..24.0).contains(&waits), "{law}: {waits} of flow {} wait", flow.flow);
        }
    }
}

/// Alone BBR fills the pipe with a bounded queue; two share.
#[test]
fn bbr_fills_the_pipe_and_leaves_room() {
    let full = FULL_BPS;
    let alone = &shared(&[10], 500, &["tcp.window=\"bbr\""])[0];
    assert!(alone.goodput_bps > 0.93 * full, "{}", alone.goodput_bps);
    assert!(alone.round_trip_s.unwrap() < 1.5 * empty_s(10), "{:?}", alone.round_trip_s);
    let two = shared(&[10, 10], 500, &["tcp.window=\"bbr\""]);
    let rates: Vec<f64> = two.iter().map(|flow| flow.goodput_bps).collect();
    assert!(rates[0] + rates[1] > 0.93 * full, "{rates:?}");
    assert!(rates.iter().all(|rate| *rate > 0.3 * full), "{rates:?}");
    assert!(two.iter().all(|flow| flow.round_trip_s.unwrap() < 2.6 * empty_s(10)), "{two:?}");
}

/// Beside CUBIC, with room for two products of rate and delay, neither starves.
#[test]
fn bbr_and_cubic_live_beside_each_other() {
    let scenario = scenario(&[10, 10], 100, &["tcp.window=\"cubic\""]);
    let mut network = scenario.network().clone();
    let laws: [WindowParams; 2] = [BbrParams::linux().into(), CubicParams::rfc9438().into()];
    for (flow, law) in network.flows.iter_mut().zip(laws) {
        let Traffic::Tcp(tcp) = &mut flow.traffic else { unreachable!("flows are TCP's") };
        tcp.window = law;
    }
    let flows = Network::run(&network, scenario.run_spec(1)).flows;
    let rates: Vec<f64> = flows.iter().map(|flow| flow.goodput_bps / FULL_BPS).collect();
    assert!(rates.iter().all(|rate| *rate > 0.15), "{rates:?}");
    assert!(rates[0] + rates[1] > 0.95, "{rates:?}");
}

/// A shallow buffer, as a policer's: BBR keeps 95 % of the rate, CUBIC 90 %.
#[test]
fn five_packets_of_room_are_enough_for_bbr() {
    let rate = |law: &str| shared(&[40], 5, &[&format!("tcp.window=\"{law}\"")])[0].goodput_bps / FULL_BPS;
    let (bbr, cubic) = (rate("bbr"), rate("cubic"));
    assert!(bbr > 0.93 && bbr > cubic, "{bbr} {cubic}");
}
