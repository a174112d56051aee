//! [Lee12] in packets against its theory: on ideal CSMA optimal CSMA and its virtual queues come to the exact proportionally fair
//! point, entropy included, and to their fluid models' rest.
//!
//! A frame is a packet's airtime, so that a link's service in one is at most 1 (`C_f`) and the maximised
//! objective is `(b·V)·Σ log x` and the entropy. Queues are made long and their weight small, which separates
//! the time scales of queues and of the air as the theory wants them; only the product `b·V` matters to the
//! rest.

use evenair_netsim::Network;
use evenair_scenario::{Objective, Question, Resolved};

/// A packet of 1064 bytes at 6 Mb/s [ns].
const FRAME_NS: u64 = 1_418_667;
/// `b`, where back-offs are long enough for the air to mix within a second.
const WEIGHT: f64 = 1e-3;

/// A scenario of the letter on ideal CSMA, with these changes, at this `b·V`.
fn scenario(id: &str, law: &str, product: f64, changes: &[&str]) -> Resolved {
    slow_scenario(id, law, product, WEIGHT, changes)
}

/// The same with this `b`.
fn slow_scenario(id: &str, law: &str, product: f64, weight: f64, changes: &[&str]) -> Resolved {
    let utility = product / weight;
    let mut all = vec![
        format!("backoff.law={law}"),
        format!("backoff.b={weight}"),
        format!("backoff.interval=\"{FRAME_NS} ns\""),
        "mac.queue=\"10000000 packets\"".into(),
        "warmup=\"300 s\"".into(),
        "duration=\"1000 s\"".into(),
    ];
    if law == "virtual-queue" {
        all.extend([format!("backoff.v={utility}"), "backoff.links=all".into()]);
    } else {
        all.extend([format!("rate_law.v={utility}"), format!("rate_law.interval=\"{FRAME_NS} ns\"")]);
    }
    let flows: &[&str] = if id.contains("fim") { &["1", "2", "3"] } else { &["2-hop", "1-hop"] };
    for flow in flows {
        let traffic = if law == "virtual-queue" { "saturated" } else { "rated" };
        all.extend([format!("flows.{flow}.traffic={traffic}"), format!("flows.{flow}.size=\"1064 bytes\"")]);
    }
    all.extend(changes.iter().map(ToString::to_string));
    let text = evenair_study::builtin_scenario(id).expect("built in");
    Resolved::parse(id, text, &all).expect("it is right")
}

/// Each flow's rate, in packets a frame.
fn per_frame(rates_pps: impl IntoIterator<Item = f64>) -> Vec<f64> {
    rates_pps.into_iter().map(|x| x * FRAME_NS as f64 / 1e9).collect()
}

fn in_packets(scenario: &Resolved) -> Vec<f64> {
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    per_frame(result.flows.iter().map(|flow| flow.goodput_pps))
}

/// The point that maximises `(b·V)·Σ log x` and the entropy.
fn optimum(scenario: &Resolved, product: f64) -> Vec<f64> {
    let question = Question { beta: Some(product), ..Question::new(Objective::Proportional) };
    per_frame(scenario.answer(question).expect("solvable").rates_pps)
}

#[track_caller]
fn assert_near(ours: &[f64], theirs: &[f64], tolerance: f64) {
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() < tolerance, "{ours:?} against {theirs:?}");
    }
}

/// How far rates are from those of proportional fairness without entropy.
fn distance(rates: &[f64], fair: &[f64]) -> f64 {
    rates.iter().zip(fair).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The letter's two systems, real queues with utility-based sources and virtual ones with sources that always have something: the
/// exact point at each `V`, the closer to 2/3, 1/3, 2/3 the larger it is.
#[test]
fn queues_reach_proportional_fairness_with_v() {
    for law in ["optimal", "virtual-queue"] {
        let mut before = f64::INFINITY;
        for product in [0.5, 1.5, 3.0] {
            let scenario = scenario("lee12/fim-graph", law, product, &[]);
            let ours = in_packets(&scenario);
            assert_near(&ours, &optimum(&scenario, product), 0.01);
            let distance = distance(&ours, &[2.0 / 3.0, 1.0 / 3.0, 2.0 / 3.0]);
            assert!(distance < before, "{law}, {product}: {ours:?}");
            before = distance;
        }
        assert!(before < 0.03, "{law}: {before}");
    }
}

/// At `bV/C_f` = 5 the exact point is .66, .34, .66, at 0.5 it is .51, .29, .51. At 5 the air takes a second to mix, in which a `b` of
/// 10⁻³ lets the middle link's exponent run off by a half; a tenth of it comes to the point.
#[test]
fn where_air_mixes_slowly_queues_must_be_slower() {
    let changes = ["backoff.vq_start=75000", "warmup=\"600 s\"", "duration=\"5000 s\""];
    let scenario = slow_scenario("lee12/fim-graph", "virtual-queue", 5.0, 1e-4, &changes);
    let exact = optimum(&scenario, 5.0);
    assert_near(&exact, &[0.66, 0.34, 0.66], 0.005);
    assert_near(&optimum(&scenario, 0.5), &[0.51, 0.29, 0.51], 0.005);
    assert_near(&in_packets(&scenario), &exact, 0.012);
}

/// Two hops beside one: towards 1/4 and 1/2 where the source sees its way's queues, 1/3 and 1/3 where it sees the first.
#[test]
fn two_hops_reach_fairness_by_sum_of_queues() {
    let mut before = f64::INFINITY;
    for product in [0.5, 1.5, 3.0] {
        let sum = scenario("lee12/multi-hop-graph", "optimal", product, &["rate_law.queue=path-sum"]);
        let ours = in_packets(&sum);
        assert_near(&ours, &optimum(&sum, product), 0.01);
        let distance = distance(&ours, &[0.25, 0.5]);
        assert!(distance < before, "{product}: {ours:?}");
        before = distance;
    }
    assert!(before < 0.025, "{before}");
    let first = scenario("lee12/multi-hop-graph", "optimal", 3.0, &["rate_law.queue=first-link"]);
    assert_near(&in_packets(&first), &[1.0 / 3.0, 1.0 / 3.0], 0.03);
}

/// The machine in packets against the fluid face of its law: one rest.
#[test]
fn packets_come_to_the_rest_of_the_fluid_model() {
    for (id, law, queue, seen) in [
        ("lee12/fim-graph", "virtual-queue", "virtual", None),
        ("lee12/fim-graph", "optimal", "first-link", None),
        ("lee12/multi-hop-graph", "optimal", "first-link", Some("rate_law.queue=first-link")),
        ("lee12/multi-hop-graph", "optimal", "path-sum", Some("rate_law.queue=path-sum")),
    ] {
        let fluid = format!("fluid={{ model = \"optimal-csma\", queue = \"{queue}\", implicit = true }}");
        let keys = [fluid, format!("fluid.b={WEIGHT}"), format!("fluid.v={}", 1.5 / WEIGHT)];
        let changes: Vec<&str> = keys.iter().map(String::as_str).chain(seen).collect();
        let scenario = scenario(id, law, 1.5, &changes);
        let (_, rest) = scenario.fluid().expect("it has a model").rest.expect("it rests");
        assert_near(&in_packets(&scenario), &rest.rates, 0.01);
    }
}

/// It is the product of back-off and holding time that counts: with back-offs that stay and holding times of many packets the rest
/// is the same.
#[test]
fn adapting_back_off_or_holding_gives_one_rest() {
    for law in ["optimal", "virtual-queue"] {
        let changes = ["backoff.adapts=holding", "backoff.holding_max=\"2 s\""];
        let scenario = scenario("lee12/fim-graph", law, 1.5, &changes);
        assert_near(&in_packets(&scenario), &optimum(&scenario, 1.5), 0.01);
    }
}
