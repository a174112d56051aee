//! The quick form of every check against something that evenair did not write. The long form is
//! `examples/validation.rs`, its figures are in docs/notes; docs/validation.md has the summary.

use evenair_agreement::cell::Exchange;
use evenair_agreement::ideal::Shape;
use evenair_agreement::recorded::mean_and_error;
use evenair_agreement::{bianchi, cell, ideal, ns2, ns3, slots, tcp};
use evenair_netsim::{Network, RunResult};
use evenair_optimum::ProductForm;
use evenair_scenario::{Objective, Resolved};
use evenair_topology::ConflictGraph;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{MacTiming, Preamble};
use proptest::prelude::*;

fn builtin(id: &str, changes: &[&str]) -> Resolved {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Resolved::parse(id, evenair_study::builtin_scenario(id).expect("built in"), &changes)
        .expect("it is right")
}

fn run(scenario: &Resolved, seed: u64) -> RunResult {
    Network::run(scenario.network(), scenario.run_spec(seed))
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|f| f.goodput_pps).collect()
}

/// One frame exchange after the other, alone: every rate and preamble, exact to the nanosecond.
#[test]
fn one_exchange_is_the_formula_of_the_standard() {
    for preamble in ["long", "short"] {
        for (rate, bits_per_us) in [("1 Mbps", 1.0), ("2 Mbps", 2.0), ("5.5 Mbps", 5.5), ("11 Mbps", 11.0)] {
            if (preamble, rate) == ("short", "1 Mbps") {
                continue; // there is no such frame
            }
            let (head, basic) = if preamble == "long" { (192.0, 1.0) } else { (96.0, 2.0) };
            let changes = [
                format!("mac.preamble={preamble}"),
                format!("mac.data_rate=\"{rate}\""),
                "backoff.law=dcf".into(),
                "backoff.window_min=0".into(),
                "backoff.window_max=0".into(),
                "nodes.s0.at=[0, 0]".into(), // on one spot: no propagation
                "duration=\"1 s\"".into(),
                "warmup=\"0 s\"".into(),
            ];
            let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
            let scenario = cell::scenario(1, &changes);
            let payload = f64::ceil((1000.0 + 36.0) * 8.0 / bits_per_us);
            let ack = f64::ceil(14.0 * 8.0 / basic);
            // DIFS, DATA, SIFS, ACK [µs]; no back-off, because the window is zero.
            let exchange = 50.0 + head + payload + 10.0 + head + ack;
            let spec = evenair_netsim::RunSpec {
                timeline: Some((evenair_units::Instant::ZERO, evenair_units::Instant::NEVER)),
                ..scenario.run_spec(1)
            };
            let result = Network::run(scenario.network(), spec);
            let starts: Vec<u64> = result
                .timeline
                .iter()
                .filter(|(frame, _)| frame.kind == evenair_wifi::FrameKind::Data)
                .map(|(frame, _)| frame.start.as_nanos())
                .collect();
            assert!(starts.len() > 90, "{preamble} {rate}");
            for pair in starts.windows(2) {
                assert_eq!(pair[1] - pair[0], (exchange * 1000.0) as u64, "{preamble} {rate}");
            }
        }
    }
}

/// 802.11b at 11 and 1 Mb/s with 1000-byte packets, 802.11a at 6 and 54 Mb/s with 1500-byte packets, with and without
/// RTS/CTS.
fn exchanges() -> Vec<Exchange> {
    let mut all = Vec::new();
    for protected in [false, true] {
        for mbps in [11, 1] {
            all.push(Exchange::b(Bytes::new(1000), Rate::from_kbps(mbps * 1000), protected));
        }
        for mbps in [6, 54] {
            all.push(Exchange::a(Bytes::new(1500), Rate::from_kbps(mbps * 1000), protected));
        }
    }
    all
}

#[test]
fn saturated_cell_agrees_with_slot_level_dcf() {
    for exchange in exchanges() {
        for n in [1, 2, 10, 50] {
            // About 60 000 packets; two times the sampling error of both is then 0.3 %.
            let seconds = (60_000.0 / bianchi::throughput_pps(&exchange, n)) as u32 + 1;
            let ours = cell::exchange_throughput_pps(&exchange, n, &[], seconds, 1);
            let reference = slots::throughput_pps(&exchange, n, 200_000, 1);
            assert!((ours / reference - 1.0).abs() < 0.004, "{n} stations, {exchange:?}: {ours} {reference}");
        }
    }
}

/// Bianchi's model has no sensing delay: under its assumption we are within 1 % up to ten stations over
/// 802.11b, and over 802.11a as far as docs/notes/single-cell.md states.
#[test]
fn a_saturated_cell_agrees_with_bianchi() {
    for exchange in exchanges() {
        let limit = if exchange.timing.is_ofdm() { 0.02 } else { 0.01 };
        for n in [1, 2, 3, 5, 10] {
            let ours = cell::exchange_throughput_pps(&exchange, n, &["mac.sensing_delay=\"0 us\""], 100, 1);
            let model = bianchi::throughput_pps(&exchange, n);
            assert!((ours / model - 1.0).abs() < limit, "{n} stations, {exchange:?}: {ours} {model}");
        }
    }
}

/// Every share within four standard errors, estimated from 40 batches: one false alarm in 16 000 shares.
fn assert_product_form(graph: &ConflictGraph, exponents: &[f64], backoff: Shape, holding: Shape, seed: u64) {
    let form = ProductForm::new(graph).expect("small").shares(exponents);
    let rows = ideal::shares(graph, exponents, backoff, holding, 40, Duration::from_secs(10), seed);
    for l in 0..exponents.len() {
        let n = rows.len() as f64;
        let mean = rows.iter().map(|r| r[l]).sum::<f64>() / n;
        let variance = rows.iter().map(|r| (r[l] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let error = (variance / n).sqrt();
        assert!(
            (mean - form.links[l]).abs() < 4.0 * error + 1e-9,
            "link {l}, {backoff:?} and {holding:?}: {mean} against {} ± {error}",
            form.links[l]
        );
    }
}

const SHAPES: [(Shape, Shape); 7] = [
    (Shape::Exponential, Shape::Exponential),
    (Shape::Exponential, Shape::Fixed),
    (Shape::Fixed, Shape::Exponential),
    (Shape::Uniform, Shape::Exponential),
    (Shape::Uniform, Shape::Uniform),
    (Shape::Exponential, Shape::Span),
    (Shape::Uniform, Shape::Span),
];

#[test]
fn ideal_csma_follows_product_form_of_chen10() {
    for id in ["chen10/a-graph", "chen10/b-graph", "chen10/c-graph"] {
        let graph = builtin(id, &[]).layout().conflicts.clone();
        for (backoff, holding) in SHAPES {
            assert_product_form(&graph, &[0.5, 1.5, 1.0, 0.8], backoff, holding, 1);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn ideal_csma_follows_product_form_of_random(
        edges in prop::collection::vec((0usize..7, 0usize..7), 0..14),
        exponents in prop::collection::vec(-0.9f64..2.0, 7),
        shape in 0usize..7,
    ) {
        let graph = ConflictGraph::from_edges(7, &edges);
        assert_product_form(&graph, &exponents, SHAPES[shape].0, SHAPES[shape].1, 1);
    }
}

/// Positions and conflict graph of each topology agree.
#[test]
fn both_forms_of_topology_have_one_graph() {
    for id in ["chen10/a", "chen10/b", "chen10/c"] {
        let (geometry, graph) = (builtin(id, &[]), builtin(&format!("{id}-graph"), &[]));
        assert_eq!(geometry.layout().conflicts, graph.layout().conflicts, "{id}");
    }
}

/// ns-2 2.35, recorded: totals within 5 % (1 % on the code as it is), the starved links starved.
#[test]
fn ns2_preset_agrees_on_four_link_topologies() {
    let mut compared = 0;
    for (topology, theirs) in ns2::four_links() {
        if topology == "1" {
            continue; // one link alone, kept for the record
        }
        let result = run(&builtin(&format!("chen10/{topology}"), &["preset=ns2"]), 1);
        let ours = goodputs(&result);
        let total = |x: &[f64]| x.iter().sum::<f64>();
        assert!((total(&ours) / total(&theirs) - 1.0).abs() < 0.05, "{topology}: {ours:?} {theirs:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            if *theirs < 10.0 {
                assert!(*ours < 15.0, "{topology}: a link that starves in ns-2 gets {ours}");
            } else {
                assert!((ours / theirs - 1.0).abs() < 0.05, "{topology}: {ours} {theirs}");
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 3);
}

#[test]
fn the_ns2_preset_agrees_with_ns2_in_one_cell() {
    for (protected, change) in [(false, "preset=ns2"), (true, "mac.rts_threshold=\"0 bytes\"")] {
        for (n, theirs) in ns2::cells(protected) {
            let ours = cell::throughput_pps(n, &["preset=ns2", change], 60, 1);
            assert!((ours / theirs - 1.0).abs() < 0.01, "{n} stations, RTS {protected}: {ours} {theirs}");
        }
    }
}

fn mean_kbps(scenario: &Resolved, seeds: u64) -> Vec<f64> {
    let mut sums = vec![0.0; scenario.network().flows.len()];
    for seed in 1..=seeds {
        for (sum, flow) in sums.iter_mut().zip(run(scenario, seed).flows) {
            *sum += flow.goodput_bps / 1e3 / seeds as f64;
        }
    }
    sums
}

/// 5 % is the limit; on the code as it is the greatest difference is 0.6 %.
#[test]
fn ns2_preset_agrees_over_one_to_ten_hops() {
    for (hops, theirs) in (1..).zip(ns2::HOPS_KBPS) {
        let (nodes, from) = (format!("generate.nodes={}", hops + 1), format!("flows.1.from=\"{hops}\""));
        let ours = mean_kbps(&builtin("jam10/hops", &["preset=ns2", &nodes, &from]), 2)[0];
        assert!((ours / theirs - 1.0).abs() < 0.05, "{hops} hops: {ours} {theirs}");
    }
}

/// Each flow within 5 % or two standard errors of ns-2's mean, and of ours, over five seeds.
#[test]
fn ns2_preset_agrees_on_chain_with_three_flows() {
    let ours = mean_kbps(&builtin("jam10/chain", &["preset=ns2"]), 10);
    for (ours, (theirs, error)) in ours.iter().zip(ns2::CHAIN_KBPS) {
        let limit = (0.05 * theirs).max(2.0 * error);
        assert!((ours - theirs).abs() < limit, "{ours} {theirs} ± {error}");
    }
}

/// [Jam10] Fig 6.2: the third flow starves over a shared FIFO, and how much differs from seed to seed: three standard errors of
/// the difference. ns-2's routing adds 20 bytes.
#[test]
fn ns2_preset_agrees_on_chain_downstream() {
    let changes = ["preset=ns2", "tcp.headers=\"60 bytes\"", "duration=\"300 s\"", "warmup=\"20 s\""];
    let end = |flow: u32| [format!("flows.{flow}.from=\"0\""), format!("flows.{flow}.to=\"{flow}\"")];
    let ends: Vec<String> = (1..=3).flat_map(end).collect();
    let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
    let scenario = builtin("jam10/chain", &[&changes[..], &ends[..]].concat());
    let seed = |seed| run(&scenario, seed).flows.iter().map(|f| f.goodput_bps / 1e3).collect();
    let ours: Vec<Vec<f64>> = (1..=25).map(seed).collect();
    let theirs = mean_and_error(&ns2::downstream());
    for (flow, (&(ours, our_error), &(theirs, error))) in
        mean_and_error(&ours).iter().zip(&theirs).enumerate()
    {
        let limit = 3.0 * our_error.hypot(error);
        assert!((ours - theirs).abs() < limit, "flow {flow}: {ours} {theirs} ± {limit}");
    }
}

/// A receiver's window of 1000 segments, so that queues overflow and NewReno recovers; the first threshold that of ns-2's
/// agents (20), and one that makes slow start lose a hundred segments at once. ns-2's routing adds 20 bytes.
fn with_a_wide_window(id: &str, first: u32, changes: &[&str]) -> Resolved {
    let first = format!("tcp.initial_ssthresh=\"{first} packets\"");
    let window = "tcp.receiver_window=\"1000 packets\"";
    let common =
        ["preset=ns2", window, "tcp.headers=\"60 bytes\"", "duration=\"200 s\"", "warmup=\"20 s\"", &first];
    builtin(id, &[&common, changes].concat())
}

#[test]
fn wide_newreno_agrees_with_ns2_over_few_hops() {
    for first in [20, 1000] {
        for hops in [2, 3] {
            let (nodes, from) = (format!("generate.nodes={}", hops + 1), format!("flows.1.from=\"{hops}\""));
            let ours = mean_kbps(&with_a_wide_window("jam10/hops", first, &[&nodes, &from]), 5)[0];
            let (theirs, _) = mean_and_error(&ns2::wide_window(&format!("hops-{hops}"), first))[0];
            assert!((ours / theirs - 1.0).abs() < 0.01, "{hops} hops, threshold {first}: {ours} {theirs}");
        }
    }
}

/// Three flows that share the chain differ by a tenth from seed to seed: three standard errors of the difference.
#[test]
fn wide_newreno_agrees_with_ns2_on_three_flows() {
    for first in [20, 1000] {
        let scenario = with_a_wide_window("jam10/chain", first, &[]);
        let seed = |seed| run(&scenario, seed).flows.iter().map(|f| f.goodput_bps / 1e3).collect();
        let ours: Vec<Vec<f64>> = (1..=20).map(seed).collect();
        let theirs = mean_and_error(&ns2::wide_window("chain", first));
        for (flow, (&(ours, our_error), &(theirs, error))) in
            mean_and_error(&ours).iter().zip(&theirs).enumerate()
        {
            let limit = 3.0 * our_error.hypot(error);
            assert!(
                (ours - theirs).abs() < limit,
                "flow {flow}, threshold {first}: {ours} {theirs} ± {limit}"
            );
        }
    }
}

/// Information asymmetry on both sides of the capture threshold, and the flow in the middle.
#[test]
fn ns2_preset_agrees_on_hidden_terminals() {
    // ns-2's routing adds an IP header of 20 bytes that counts on the air and not as data.
    let mut compared = 0;
    for (name, theirs) in ns2::single_hops() {
        let mut changes: Vec<String> = vec!["preset=ns2".into(), "duration=\"60 s\"".into()];
        changes.extend((1..=theirs.len()).map(|f| format!("flows.{f}.size=\"1520 bytes\"")));
        let id = match name.split_once('-') {
            Some((_, metres)) => {
                changes.push(format!("nodes.R1.at=[{metres}, 0]"));
                "jam10/information-asymmetry"
            }
            None => "jam10/flow-in-the-middle",
        };
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let ours = mean_kbps(&builtin(id, &changes), 3);
        for (ours, theirs) in ours.iter().map(|x| x * 1500.0 / 1520.0).zip(&theirs) {
            let limit = (0.01 * theirs).max(8.0); // a flow that starves gets 1 to 6 kb/s, by seed
            assert!((ours - theirs).abs() < limit, "{name}: {ours} {theirs}");
        }
        compared += 1;
    }
    assert_eq!(compared, 5);
}

/// The nodes, flows and radio of a case of validation/ns2/rts.sh.
fn handshake(name: &str) -> Resolved {
    let (places, flows): (Vec<String>, &[(u32, u32)]) = match name.rsplit_once('-') {
        Some(("rts-asymmetry", metres)) => (
            ["0, 0", &format!("{metres}, 0"), "560, 0", "760, 0"].map(String::from).into(),
            &[(0, 1), (2, 3)],
        ),
        Some(("far", metres)) => (["0, 0", &format!("{metres}, 0")].map(String::from).into(), &[(0, 1)]),
        _ if name == "rts-middle" => (
            ["0, 0", "0, 200", "500, 0", "500, 200", "1000, 0", "1000, 200"].map(String::from).into(),
            &[(0, 1), (2, 3), (4, 5)],
        ),
        _ if name.starts_with("rts-receiver") => {
            (["0, 0", "200, 0", "600, 0", "800, 0"].map(String::from).into(), &[(0, 1), (2, 3)])
        }
        _ => (
            ["0, 0", "200, 0", "400, 0", "600, 0"].map(String::from).into(),
            if name == "rts-chain-tcp" { &[(1, 0), (2, 0), (3, 0)] } else { &[(3, 0)] },
        ),
    };
    let far = name.starts_with("far");
    let (range, protected) = if far { ("5 km", "") } else { ("250 m", "rts_threshold = \"0 bytes\"") };
    let sense = if far { "5 km" } else { "550 m" };
    // ns-2's routing adds an IP header of 20 bytes that counts on the air and not as data.
    let mut text = format!(
        "preset = \"ns2\"\nduration = \"100 s\"\nwarmup = \"20 s\"\n\
         [radio]\ntransmission_range = \"{range}\"\ncarrier_sense_range = \"{sense}\"\n\
         [mac]\ndata_rate = \"1 Mbps\"\nbasic_rate = \"1 Mbps\"\n{protected}\n\
         [tcp]\nwindow = \"newreno\"\npayload = \"1460 bytes\"\nheaders = \"60 bytes\"\n"
    );
    for (node, at) in places.iter().enumerate() {
        text += &format!("[[nodes]]\nid = \"{node}\"\nat = [{at}]\n");
    }
    let traffic = if name.ends_with("tcp") { "" } else { "traffic = \"saturated\"\nsize = \"1520 bytes\"\n" };
    for (flow, (from, to)) in flows.iter().enumerate() {
        text += &format!("[[flows]]\nid = \"{flow}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{traffic}");
    }
    Resolved::parse(name, &text, &[]).expect("the scenario is right")
}

/// RTS and CTS where terminals are hidden and over three hops: each flow within 1 % or, as most starve or
/// share by chance, three standard errors of both. A CTS sent regardless of carrier sense would give the
/// first flow of `rts-receiver` 870 instead of 57 kb/s. Without RTS, a hop that is too long for ns-2's
/// time-out: every packet is sent seven times.
#[test]
fn ns2_preset_agrees_on_handshakes_and_time_outs() {
    let mut compared = 0;
    for (name, theirs) in ns2::handshakes() {
        let scenario = handshake(&name);
        let seeds = 6u32;
        let runs: Vec<RunResult> = (1..=u64::from(seeds)).map(|seed| run(&scenario, seed)).collect();
        for (flow, (their_mean, their_error)) in theirs.iter().enumerate() {
            let of_payload = if name.ends_with("tcp") { 1.0 } else { 1500.0 / 1520.0 };
            let ours: Vec<f64> =
                runs.iter().map(|run| run.flows[flow].goodput_bps / 1e3 * of_payload).collect();
            let mean = ours.iter().sum::<f64>() / f64::from(seeds);
            let variance = ours.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(seeds - 1);
            let error = (variance / f64::from(seeds) + their_error * their_error).sqrt();
            let limit = (0.01 * their_mean).max(3.0 * error).max(1.0);
            assert!(
                (mean - their_mean).abs() < limit,
                "{name}, flow {flow}: {mean:.1} against {their_mean:.1}, within {limit:.1}"
            );
        }
        compared += 1;
    }
    assert_eq!(compared, 10);
}

/// ns-3 differs in three rules. Its error model decodes 1 Mb/s down to 2.3 dB below the interference (DBPSK
/// with a spreading gain of 13.4 dB). Its receiver takes a frame that it cannot lock to for energy. A relay
/// forwards a packet received at the end of a frame a DIFS after its ACK without a back-off. With these three
/// we agree within 3 %. With ours, capture at 10 dB and an EIFS after such frames, it is a quarter apart from
/// three hops on (docs/notes/ns-3.md).
#[test]
fn chains_agree_with_ns3_under_its_error_model() {
    let rules = [
        "radio.weak_signals=energy",
        "radio.interference=sum",
        "radio.capture=\"-2.3 dB\"",
        "mac.interrupted_difs=waive",
        "duration=\"100 s\"",
    ];
    for (hops, theirs) in ns3::hops() {
        let (nodes, from) = (format!("generate.nodes={}", hops + 1), format!("flows.1.from=\"{hops}\""));
        let changes = [&rules[..], &[&nodes, &from]].concat();
        let ours = mean_kbps(&builtin("jam10/hops", &changes), 3)[0];
        assert!((ours / theirs - 1.0).abs() < 0.03, "{hops} hops: {ours} {theirs}");
    }
}

/// Four links with TCP: where weak signals are energy, as in ns-3, flows agree within 3 %; the starved one of topology b, at 2
/// to 7 % of the others, within 25 packets/s.
#[test]
fn four_links_agree_with_ns3_on_weak_signals() {
    let rules = [
        "radio.weak_signals=energy",
        "mac.interrupted_difs=waive",
        "mac.basic_rate=\"11 Mbps\"", // every rate of 802.11b is basic in ns-3
        "tcp.window=newreno",
        "tcp.receiver_window=\"20 packets\"",
        "duration=\"60 s\"",
    ];
    for (topology, theirs) in ns3::four_links() {
        let ours = mean_kbps(&builtin(&format!("chen10/{topology}"), &rules), 3);
        for (ours, theirs) in ours.iter().map(|kbps| kbps / 8.0).zip(&theirs) {
            let limit = if *theirs < 100.0 { 25.0 } else { 0.04 * theirs };
            assert!((ours - theirs).abs() < limit, "{topology}: {ours} {theirs}");
        }
    }
}

/// One cell: within 1 % for one and two stations. With more, ns-3 is up to 6 % above: it detects no preamble
/// of frames that start together, so that no station waits an EIFS after a collision. Bianchi's model with a
/// DIFS in its place agrees.
#[test]
fn cell_agrees_with_ns3_but_for_the_eifs() {
    let rate = Rate::from_kbps(11_000);
    let timing = MacTiming::b(Preamble::Long, rate); // every rate of 802.11b is basic in ns-3
    let size = Bytes::new(1000);
    let without = MacTiming { eifs: timing.difs, ..timing };
    let model = |timing| Exchange { timing, size, rate, protected: false, window_min: 31 };
    for (n, theirs) in ns3::cells() {
        let ours = cell::throughput_pps(n, &["mac.basic_rate=\"11 Mbps\""], 60, 1);
        let without_eifs = bianchi::throughput_pps(&model(without), n);
        let limit = if n <= 2 { 0.01 } else { 0.06 };
        assert!((ours / theirs - 1.0).abs() < limit, "{n} stations: {ours} {theirs}");
        assert!((without_eifs / theirs - 1.0).abs() < 0.02, "{n} stations: {without_eifs} {theirs}");
    }
}

/// Stations of DCF and of EDCA's best effort in one cell, slot by slot: each within 2 % (standard errors of 0.5 %).
#[test]
fn cell_of_dcf_and_edca_agrees_slot_by_slot() {
    let timing = MacTiming::a(evenair_wifi::ControlRate::Mandatory);
    let (size, rate) = (Bytes::new(1000), Rate::from_kbps(54_000));
    // Headers are plain where an end of the frame does not know EDCA: here the receiver.
    let exchange = Exchange { timing, size, rate, protected: false, window_min: 15 };
    for (of_edca, of_dcf) in [(1, 1), (2, 3)] {
        let kind = |aifsn| slots::Kind { exchange: &exchange, aifsn };
        let kinds = [vec![kind(Some(3)); of_edca], vec![kind(None); of_dcf]].concat();
        let reference = slots::rates_pps(&kinds, 200_000, 1);
        let nodes: Vec<String> = (0..of_edca).map(|i| format!("'s{i}'")).collect();
        let queues = format!("queues=[{{ nodes = [{}], backoff = 'edca' }}]", nodes.join(", "));
        let mut changes = exchange.changes();
        changes.extend([queues, "warmup=2 s".into(), "duration=60 s".into()]);
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        let scenario = cell::scenario((of_edca + of_dcf) as u32, &changes);
        let ours = Network::run(scenario.network(), scenario.run_spec(1));
        let mean = |rates: &[f64], of: std::ops::Range<usize>| {
            rates[of.clone()].iter().sum::<f64>() / of.len() as f64
        };
        let ours: Vec<f64> = ours.flows.iter().map(|flow| flow.goodput_pps).collect();
        for of in [0..of_edca, of_edca..of_edca + of_dcf] {
            let (ours, theirs) = (mean(&ours, of.clone()), mean(&reference, of));
            assert!((ours / theirs - 1.0).abs() < 0.02, "{of_edca}+{of_dcf}: {ours} {theirs}");
        }
    }
}

/// Stations of 802.11g and 802.11b in one cell, without protection: one of each within 3 % (ns-3's beacons
/// take 0.7). With more, as in a cell of one kind, an EIFS after collisions is the difference: with a DIFS in
/// its place every station is within 6 % of ns-3's.
#[test]
fn mixed_cell_agrees_with_ns3_but_for_the_eifs() {
    for (stations, theirs) in ns3::mixed_cells() {
        let (of_g, of_b) = stations.split_once('+').unwrap();
        let (of_g, of_b): (usize, usize) = (of_g.parse().unwrap(), of_b.parse().unwrap());
        let agree = |without_eifs: bool, limit: f64| {
            let ours = cell::mixed_pps(of_g, of_b, without_eifs, 1);
            for (ours, theirs) in ours.iter().zip(&theirs) {
                assert!((ours / theirs - 1.0).abs() < limit, "{stations}: {ours} {theirs}");
            }
        };
        agree(true, 0.06);
        if stations == "1+1" {
            agree(false, 0.03);
        }
    }
}

/// The square-root law within 5 % for p ≤ 10⁻³, each form with the losses that it supposes; PFTK within 20 % for p ≤ 0.03.
#[test]
fn tcp_over_lossy_wire_follows_square_root_law() {
    for sack in [false, true] {
        for (loss, seconds) in [(1e-4, 4000), (3e-4, 2000), (1e-3, 1500)] {
            // Regular losses repeat themselves: at the least, each 8 s.
            let regular = tcp::over_a_lossy_wire(&format!("every={:.0}", 1.0 / loss), sack, seconds / 8, 1);
            let random = tcp::over_a_lossy_wire(&format!("loss={loss}"), sack, seconds, 1);
            let law = tcp::square_root_law_pps(regular.round_trip_s.unwrap(), loss, 1.0);
            assert!(
                (regular.goodput_pps / law - 1.0).abs() < 0.05,
                "{loss} {sack}: {} {law}",
                regular.goodput_pps
            );
            let law = tcp::random_loss_law_pps(random.round_trip_s.unwrap(), loss);
            assert!(
                (random.goodput_pps / law - 1.0).abs() < 0.05,
                "{loss} {sack}: {} {law}",
                random.goodput_pps
            );
        }
        for loss in [1e-3, 3e-3, 1e-2, 3e-2] {
            let flow = tcp::over_a_lossy_wire(&format!("loss={loss}"), sack, 500, 1);
            // The time-out is the least one, 0.2 s.
            let model = tcp::pftk_pps(flow.round_trip_s.unwrap(), 0.2, loss, 1.0);
            assert!(
                (flow.goodput_pps / model - 1.0).abs() < 0.2,
                "{loss} {sack}: {} {model}",
                flow.goodput_pps
            );
        }
    }
}

/// Over a wire that loses 0.5 to 8 % both agents send within 8 % of each other and count loss events within 8 %, where each
/// mean is of three runs of a thousand seconds: a standard error of 1 to 2 %. ns-2's is RFC 3448's, with an RTO of its own.
#[test]
fn tfrc_agrees_with_ns2_over_a_wire_that_loses() {
    for (loss, round_trip_ms, theirs_pps, their_events) in ns2::tfrc() {
        let runs: Vec<_> =
            (1..=3).map(|seed| tcp::tfrc_over_a_lossy_wire(loss, round_trip_ms, seed)).collect();
        let ours_pps = runs.iter().map(|flow| flow.offered_pps.unwrap()).sum::<f64>() / 3.0;
        let our_events = runs.iter().map(|flow| flow.loss_event_rate.unwrap()).sum::<f64>() / 3.0;
        let place = format!("{loss} {round_trip_ms} ms");
        assert!((ours_pps / theirs_pps - 1.0).abs() < 0.08, "{place}: {ours_pps} {theirs_pps}");
        assert!((our_events / their_events - 1.0).abs() < 0.08, "{place}: {our_events} {their_events}");
    }
}

/// Sawtooth period and peak within 5 % of a Linux kernel's, recorded by validation/linux/window.py.
#[test]
fn window_traces_agree_with_a_linux_kernel() {
    for law in ["reno", "cubic"] {
        let (period, peak) = tcp::sawtooth(&tcp::simulated_trace(law));
        let (kernel_period, kernel_peak) = tcp::sawtooth(&tcp::kernel_trace(law));
        assert!((period / kernel_period - 1.0).abs() < 0.05, "{law}: {period} {kernel_period}");
        assert!((peak / kernel_peak - 1.0).abs() < 0.05, "{law}: {peak} {kernel_peak}");
    }
}

/// BBR's window is the kernel's within 5 % on average, and it probes for the least round trip as often,
/// within 2 %: ten seconds, 200 ms, and a round trip or two.
#[test]
fn bbr_matches_the_kernels_window_and_probes() {
    let (ours, window) = tcp::probes_and_mean(&tcp::simulated_trace("bbr"));
    let (theirs, kernel_window) = tcp::probes_and_mean(&tcp::kernel_trace("bbr"));
    let spacing = |probes: &[f64]| (probes[probes.len() - 1] - probes[0]) / (probes.len() - 1) as f64;
    assert_eq!((ours.len(), theirs.len()), (4, 4), "{ours:?} {theirs:?}");
    assert!((spacing(&ours) / spacing(&theirs) - 1.0).abs() < 0.02, "{ours:?} {theirs:?}");
    assert!((window / kernel_window - 1.0).abs() < 0.05, "{window} {kernel_window}");
}

/// A transfer is the flow's, however many connections n = kT opens: each of the four links delivers its thousand segments.
#[test]
fn transfer_over_many_connections_is_whole() {
    let transfers: Vec<String> = (1..=4).map(|f| format!("flows.{f}.transfer=\"1000 packets\"")).collect();
    let mut changes =
        vec!["connections.k=10", "backoff.law=adaptive", "warmup=\"0 s\"", "duration=\"100 s\""];
    changes.extend(transfers.iter().map(String::as_str));
    let result = run(&builtin("chen10/a", &changes), 1);
    for segments in goodputs(&result).iter().map(|pps| pps * 100.0) {
        assert!((segments - 1000.0).abs() < 1e-6, "{segments}");
    }
    assert_eq!(result.packets.under_way, 0, "every flow has ended");
}

/// The same laws in two worlds: the packet simulation of ideal CSMA settles near the solver's fixed point.
#[test]
fn connections_over_ideal_csma_reach_fixed_point() {
    let scenario = builtin(
        "chen10/a-graph",
        &[
            "backoff.law=adaptive",
            "backoff.acks=high",
            "connections.k=20",
            "mac.queue=\"2000 packets\"",
            "tcp.receiver_window=\"200 packets\"",
            "tcp.initial_ssthresh=\"20 packets\"",
            "duration=\"400 s\"",
            "warmup=\"100 s\"",
        ],
    );
    let ours = goodputs(&run(&scenario, 1));
    let theory = scenario.optimum(Objective::FixedPoint).expect("solved");
    for (x, expected) in ours.iter().zip(&theory.rates_pps) {
        // The theory has no time-outs, no whole numbers of connections, no overshoot of slow start, and drops
        // without airtime; together these make a quarter here.
        assert!((x / expected - 1.0).abs() < 0.25, "{ours:?} {:?}", theory.rates_pps);
    }
}
