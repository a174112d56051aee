//! The trajectory of every built-in scenario, hashed: a change here is a change of results.
//!
//! `EVENAIR_BLESS=1 cargo test -p evenair-agreement fingerprints` writes the table again; name the change in
//! CHANGELOG under "Changed results".

use evenair_netsim::Network;
use evenair_scenario::Resolved;
use evenair_study::{builtin_scenario, scenario_ids};
use std::fmt::Write;
use std::path::Path;

/// Overrides that between them take every MAC, law and transport of the packet world.
const WAYS: [(&str, &[&str]); 5] = [
    ("standard", &[]),
    ("ns2", &["preset=ns2"]),
    ("rts, sum", &["mac.rts_threshold=\"500 bytes\"", "radio.interference=sum"]),
    ("edca, cubic", &["backoff.law=edca", "tcp.window=cubic"]),
    ("adaptive", &["backoff.law=adaptive", "connections.k=10", "mac.queue=\"1000 packets\""]),
];

/// Links of 5 and 12 km, where frames are flights, beside one of 60 m; no built-in scenario has any. Answers, broadcasts and
/// another cell's frames travel that far, and so do RTS that stations overhear.
const FAR: &str = r#"
name = "Far links"
duration = "60 s"
warmup = "2 s"

[radio]
transmission_range = "30 km"
carrier_sense_range = "40 km"
propagation = "free-space"

[mac]
ack_timeout = "distance"

[[nodes]]
id = "hub"
at = [0, 0]

[[nodes]]
id = "near"
at = [60, 0]

[[nodes]]
id = "hill"
at = [5_000, 0]

[[nodes]]
id = "peak"
at = [-12_000, 0]

[[flows]]
id = "near"
from = "near"
to = "hub"
traffic = "saturated"

[[flows]]
id = "hill"
from = "hill"
to = "hub"
traffic = "tcp"

[[flows]]
id = "peak"
from = "peak"
to = "hub"
traffic = "saturated"

[[flows]]
id = "all"
from = "hub"
to = "*"
traffic = "cbr"
rate = "100 kbps"
"#;

fn line(id: &str, way: &str, changes: &[&str]) -> Option<String> {
    let mut all = vec!["duration=\"9 s\"".to_string(), "warmup=\"1 s\"".into()];
    all.extend(changes.iter().map(ToString::to_string));
    // Not every way fits every scenario: the ideal MAC has neither RTS nor categories.
    let text = if id == "far" { FAR } else { builtin_scenario(id)? };
    let scenario = Resolved::parse(id, text, &all).ok()?;
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    let goodputs: Vec<String> = result.flows.iter().map(|f| format!("{:.1}", f.goodput_pps)).collect();
    Some(format!("{id} ({way}): {} [{}]", result.fingerprint, goodputs.join(", ")))
}

#[test]
fn every_scenario_takes_the_path_it_took() {
    let mut table = String::new();
    for id in scenario_ids().chain(["far"]) {
        for (way, changes) in WAYS {
            if let Some(line) = line(id, way, changes) {
                writeln!(table, "{line}").expect("a string takes everything");
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/fingerprints.txt");
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        std::fs::write(&path, &table).expect("the table can be written");
    }
    let kept = std::fs::read_to_string(&path).expect("the table is part of the repository");
    let differences: Vec<String> = kept
        .lines()
        .filter(|line| !table.lines().any(|other| other == *line))
        .map(|line| format!("- {line}"))
        .chain(
            table
                .lines()
                .filter(|line| !kept.lines().any(|other| other == *line))
                .map(|line| format!("+ {line}")),
        )
        .collect();
    assert!(differences.is_empty(), "results have changed:\n{}", differences.join("\n"));
    assert!(table.lines().count() > 40);
}
