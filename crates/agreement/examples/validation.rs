//! Prints tables of docs/notes (single-cell, theory, ns-2, tcp, vegas-fast-bbr):
//! `cargo run --release -p evenair-agreement --example validation`.
#![allow(clippy::print_stdout, reason = "printing is its purpose")]

use evenair_agreement::cell::Exchange;
use evenair_agreement::ideal::Shape;
use evenair_agreement::vegas::Rest;
use evenair_agreement::{bianchi, cell, ideal, kernel, ns2, slots};
use evenair_netsim::Network;
use evenair_optimum::ProductForm;
use evenair_scenario::Resolved;
use evenair_topology::ConflictGraph;
use evenair_units::{Bytes, Duration, Rate};

fn main() {
    // One table only where the first argument names it.
    if std::env::args().nth(1).is_some_and(|table| table == "lossy") {
        return lossy_paths_against_linux();
    }
    one_cell();
    product_form();
    four_links();
    cells_against_ns2();
    lossy_paths_against_linux();
}

fn lossy_paths_against_linux() {
    println!(
        "\n| Mb/s, ms | queue | law | TLP | lottery | Linux 6.18 [kb/s] | lost | RTT [ms] | evenair | lost | RTT | difference |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for recorded in kernel::recorded() {
        lossy_row(&recorded, &kernel::simulated(&recorded, 1000, 4));
    }
    println!(
        "\n| Mb/s, ms | Vegas | ns-2: window | evenair | goodput [kb/s] | evenair |\n|---|---|---|---|---|---|"
    );
    for theirs in kernel::Vegas::recorded() {
        let ours = theirs.simulated();
        println!(
            "| {}, {} | {}, {} | {:.1} | {:.1} | {:.0} | {:.0} |",
            theirs.rate_bps / 1e6,
            theirs.round_trip_ms,
            theirs.alpha,
            theirs.beta,
            theirs.window,
            ours.window,
            theirs.goodput_kbps,
            ours.goodput_kbps
        );
    }
    println!(
        "\n| Vegas | wire [ms] | the band | Linux 6.1: window | evenair | packets/s | evenair |\n|---|---|---|---|---|---|---|"
    );
    for theirs in Rest::recorded() {
        let (ours, band) = (theirs.simulated(), theirs.band());
        println!(
            "| {}, {} | {} | {:.1} to {:.1} | {:.2} | {:.2} | {:.1} | {:.1} |",
            theirs.alpha,
            theirs.beta,
            theirs.wire_ms,
            band.0,
            band.1,
            theirs.window,
            ours.window,
            theirs.rate_pps,
            ours.rate_pps
        );
    }
}

fn lossy_row(recorded: &kernel::Recorded, ours: &kernel::Outcome) {
    let (case, theirs) = (&recorded.case, recorded.outcome);
    println!(
        "| {}, {} | {} | {} | {} | {} % | {:.0} ± {:.0} | {:.1} % | {:.0} | {:.0} ± {:.0} | {:.1} % | {:.0} | {:+.0} % |",
        case.rate_bps / 1e6,
        case.round_trip_ms,
        case.queue_packets,
        case.law,
        if case.probes { "on" } else { "off" },
        case.lottery_percent,
        theirs.goodput_kbps,
        theirs.error_kbps,
        theirs.lost_percent,
        theirs.round_trip_ms,
        ours.goodput_kbps,
        ours.error_kbps,
        ours.lost_percent,
        ours.round_trip_ms,
        100.0 * (ours.goodput_kbps / theirs.goodput_kbps - 1.0)
    );
}

fn one_cell() {
    println!(
        "\n| exchange | stations | evenair | slot-level reference | difference | Bianchi | difference | at no sensing delay | difference |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, exchange) in exchanges() {
        for n in [1, 2, 3, 5, 10, 20, 30, 50] {
            // So that every row counts about 200 000 packets.
            let seconds = (100_000.0 / bianchi::throughput_pps(&exchange, n)) as u32 + 1;
            let run = |more: &[&str], seed| cell::exchange_throughput_pps(&exchange, n, more, seconds, seed);
            let ours = f64::midpoint(run(&[], 1), run(&[], 2));
            let reference = slots::throughput_pps(&exchange, n, 1_000_000, 1);
            let model = bianchi::throughput_pps(&exchange, n);
            let percent = |x: f64| format!("{:+.2} %", 100.0 * (ours / x - 1.0));
            let none = "mac.sensing_delay=\"0 us\"";
            let sharp = f64::midpoint(run(&[none], 1), run(&[none], 2));
            println!(
                "| {name} | {n} | {ours:.2} | {reference:.2} | {} | {model:.2} | {} | {sharp:.2} | {:+.2} % |",
                percent(reference),
                percent(model),
                100.0 * (sharp / model - 1.0)
            );
        }
    }
    println!("\n| sensing delay | 2 stations | 10 | 50 | (packets/s at 11 Mb/s) |\n|---|---|---|---|---|");
    for us in [0, 4, 10, 15, 19] {
        let change = format!("mac.sensing_delay=\"{us} us\"");
        let rate = |n| cell::throughput_pps(n, &[&change], 300, 1);
        println!("| {us} µs | {:.1} | {:.1} | {:.1} | |", rate(2), rate(10), rate(50));
    }
}

/// Every exchange of the table, named.
fn exchanges() -> Vec<(String, Exchange)> {
    let mut all = Vec::new();
    for protected in [false, true] {
        let with = if protected { ", RTS/CTS" } else { "" };
        for mbps in [11, 1] {
            let exchange = Exchange::b(Bytes::new(1000), Rate::from_kbps(mbps * 1000), protected);
            all.push((format!("802.11b, {mbps} Mb/s{with}"), exchange));
        }
        for mbps in [6, 54] {
            let exchange = Exchange::a(Bytes::new(1500), Rate::from_kbps(mbps * 1000), protected);
            all.push((format!("802.11a, {mbps} Mb/s{with}"), exchange));
        }
    }
    all
}

fn product_form() {
    println!(
        "\n| graph | back-off | holding | greatest error of a share | in standard errors |\n|---|---|---|---|---|"
    );
    let star = [(0, 1), (0, 2), (0, 3)];
    let a = [(0, 1), (1, 2), (1, 3), (2, 3)];
    let c = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)];
    for (name, edges) in [("a", &a[..]), ("b", &star[..]), ("c", &c[..])] {
        let graph = ConflictGraph::from_edges(4, edges);
        let exponents = [0.8, 1.6, 1.0, 1.2];
        let form = ProductForm::new(&graph).expect("small").shares(&exponents);
        for (backoff, holding) in [
            (Shape::Exponential, Shape::Exponential),
            (Shape::Exponential, Shape::Fixed),
            (Shape::Uniform, Shape::Uniform),
            (Shape::Fixed, Shape::Exponential),
        ] {
            let seed = |seed| {
                ideal::shares(&graph, &exponents, backoff, holding, 100, Duration::from_secs(50), seed)
            };
            let rows: Vec<Vec<f64>> = (1..=4).flat_map(seed).collect();
            let (mut worst, mut worst_sigma) = (0.0f64, 0.0f64);
            for l in 0..4 {
                let column: Vec<f64> = rows.iter().map(|r| r[l]).collect();
                let mean = column.iter().sum::<f64>() / column.len() as f64;
                let variance =
                    column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (column.len() - 1) as f64;
                let error = (mean - form.links[l]).abs();
                worst = worst.max(error);
                worst_sigma = worst_sigma.max(error / (variance / column.len() as f64).sqrt());
            }
            println!("| {name} | {backoff:?} | {holding:?} | {worst:.5} | {worst_sigma:.1} |");
        }
    }
}

fn four_links() {
    println!(
        "\n| topology | ns-2 2.35, by link | total | evenair, ns2 preset | total | difference | standard | total |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (topology, theirs) in ns2::four_links() {
        let Some(text) = evenair_study::builtin_scenario(&format!("chen10/{topology}")) else { continue };
        let run = |changes: &[&str]| -> Vec<f64> {
            let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
            let scenario = Resolved::parse(&topology, text, &changes).expect("built in");
            let mut sums = vec![0.0; 4];
            for seed in 1..=5 {
                let result = Network::run(scenario.network(), scenario.run_spec(seed));
                for (sum, flow) in sums.iter_mut().zip(&result.flows) {
                    *sum += flow.goodput_pps / 5.0;
                }
            }
            sums
        };
        let ours = run(&["preset=ns2"]);
        let standard = run(&["tcp.receiver_window=\"20 packets\""]);
        let list = |x: &[f64]| x.iter().map(|x| format!("{x:.1}")).collect::<Vec<_>>().join(", ");
        let total = |x: &[f64]| x.iter().sum::<f64>();
        println!(
            "| {topology} | {} | {:.0} | {} | {:.0} | {:+.1} % | {} | {:.0} |",
            list(&theirs),
            total(&theirs),
            list(&ours),
            total(&ours),
            100.0 * (total(&ours) / total(&theirs) - 1.0),
            list(&standard),
            total(&standard)
        );
    }
}

fn cells_against_ns2() {
    println!(
        "\n| stations | ns-2 2.35 | evenair, ns2 preset | difference | standard |\n|---|---|---|---|---|"
    );
    for (n, theirs) in ns2::cells(false) {
        let ours = (1..=3).map(|s| cell::throughput_pps(n, &["preset=ns2"], 200, s)).sum::<f64>() / 3.0;
        let standard = cell::throughput_pps(n, &[], 200, 1);
        println!(
            "| {n} | {theirs:.1} | {ours:.1} | {:+.2} % | {standard:.1} |",
            100.0 * (ours / theirs - 1.0)
        );
    }
}
