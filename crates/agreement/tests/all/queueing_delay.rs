//! [QCSMA] in the packet world against problem (2): windows of hundreds of packets over ideal CSMA are fluid enough for
//! Theorems 1 and 2, as long as the weights let the chain of independent sets mix. The scale on ρ makes a queue of 200 packets
//! a price of weight 2 (`crates/laws/src/backoff/queueing_delay.rs`).

use evenair_netsim::Network;
use evenair_scenario::{Objective, Question, Resolved};

/// How far a rate may be from the solver's. Measured: 2 % at worst.
const TOLERANCE: f64 = 0.05;

/// Two hops, the second at half the rate, beside two flows of one hop, all in one neighbourhood.
const PARKING_LOT: &str = r#"
    radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
    mac = { kind = "ideal", data_rate = "8 Mbps", queue = "5000 packets" }
    backoff = { law = "queueing-delay", scale = 0.01, memory = 0.99, interval = "50 ms" }
    duration = "200 s"
    warmup = "300 s"
    rates = [{ from = "1", to = "2", rate = "4 Mbps" }]
    nodes = [
        { id = "0", at = [0, 0] }, { id = "1", at = [200, 0] }, { id = "2", at = [400, 0] }, { id = "3", at = [600, 0] },
        { id = "4", at = [800, 0] }, { id = "5", at = [800, 100] }, { id = "h1" }, { id = "h2" }, { id = "h3" },
    ]
    wires = [
        { from = "h1", to = "0", rate = "1 Gbps", delay = "10 ms", queue = "5000 packets" },
        { from = "h2", to = "2", rate = "1 Gbps", delay = "50 ms", queue = "5000 packets" },
        { from = "h3", to = "4", rate = "1 Gbps", delay = "100 ms", queue = "5000 packets" },
    ]
    flows = [
        { id = "long", from = "h1", to = "2", weight = 2.0 },
        { id = "2", from = "h2", to = "3", weight = 2.0 },
        { id = "3", from = "h3", to = "5", weight = 2.0 },
    ]
    [tcp]
    payload = "999 bytes"
    headers = "1 bytes"
    receiver_window = "20000 packets"
    initial_ssthresh = "150 packets"
    timestamps = true
    clock = "0 s"
    min_rto = "5 s"
"#;

/// ρ and the κ that steps about as far at a window of 250 packets.
const SHAPES: [&str; 3] = [
    "{ law = 'quic-tcp', p = 200.0, kappa = 0.004, rho = 0.0 }",
    "{ law = 'quic-tcp', p = 200.0, kappa = 1.0, rho = 0.5 }",
    "{ law = 'quic-tcp', p = 200.0, kappa = 50.0, rho = 1.0 }",
];

fn scenario(text: &str, changes: &[&str]) -> Resolved {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Resolved::parse("test", text, &changes).expect("it is right")
}

fn middle() -> &'static str {
    evenair_study::builtin_scenario("qcsma/middle").expect("built in")
}

/// The goodputs of one run are the solution of problem (2), flow by flow.
fn reaches_the_optimum(scenario: &Resolved) {
    let question = Question { beta: Some(1.0), ..Question::new(Objective::Proportional) };
    let best = scenario.answer(question).expect("solved").rates_pps;
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    let ours: Vec<f64> = result.flows.iter().map(|flow| flow.goodput_pps).collect();
    for (x, best_x) in ours.iter().zip(&best) {
        assert!((x / best_x - 1.0).abs() < TOLERANCE, "{ours:?} against {best:?}");
    }
}

#[test]
fn quic_tcp_solves_problem_2_with_unequal_delays() {
    for window in SHAPES {
        // ρ = 1 moves most slowly where windows are large.
        reaches_the_optimum(&scenario(middle(), &[&format!("tcp.window={window}"), "warmup=\"600 s\""]));
    }
}

#[test]
fn so_it_does_where_a_wire_is_the_bottleneck() {
    // 300 packets/s; the first link's price is next to nothing then, and it contends as the theory has it: always.
    let slow = middle().replacen("1 Gbps", "2400 kbps", 1);
    for window in SHAPES {
        let window = format!("tcp.window={window}");
        reaches_the_optimum(&scenario(&slow, &[&window, "backoff.dummies=true", "warmup=\"600 s\""]));
    }
}

#[test]
fn so_it_does_over_several_hops_and_rates() {
    for window in SHAPES {
        reaches_the_optimum(&scenario(PARKING_LOT, &[&format!("tcp.window={window}"), "warmup=\"600 s\""]));
    }
}

/// The classic scheme, [QCSMA] eq. (8), (9): sources at `p/(ε ΣQ)` that know their way's queues, links of `ρ = ε·b·Q`; p = 2,
/// ε = 20 µs.
#[test]
fn message_passing_solves_problem_2() {
    let law = "rate_law={ law = 'utility-based', v = 1000.0, interval = '10 ms', queue = 'path-sum' }";
    let mut changes = vec!["backoff={ law = 'queue-length', epsilon = 2e-5 }".to_string(), law.into()];
    for flow in ["1", "2", "3"] {
        changes.push(format!("flows.{flow}.traffic=rated"));
        changes.push(format!("flows.{flow}.size=\"1000 bytes\""));
    }
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    reaches_the_optimum(&scenario(middle(), &changes));
}
