//! The trajectory of every built-in scenario, hashed: a change here is a change of results.
//!
//! `EVENAIR_BLESS=1 cargo test -p evenair-agreement fingerprints` writes the table again; name the change in
//! CHANGELOG under "Changed results".

use evenair_netsim::Network;
use evenair_scenario::Resolved;
use evenair_study::{builtin_scenario, scenario_ids};
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

/// The parts of the table, each a test, so that processors share them.
const PARTS: usize = 4;

/// All scenarios, in the order of the table.
fn ids() -> impl Iterator<Item = &'static str> {
    scenario_ids().chain(["far"])
}

/// The part of a scenario: in turns, since those of one paper take about as long. The first one has those that are gone.
fn part_of(id: &str) -> usize {
    ids().position(|known| known == id).unwrap_or(0) % PARTS
}

/// The lines of these scenarios, as they run now.
fn lines(is_in: impl Fn(&str) -> bool) -> Vec<String> {
    let ids = ids().filter(|id| is_in(id));
    ids.flat_map(|id| WAYS.into_iter().filter_map(move |(way, changes)| line(id, way, changes))).collect()
}

/// Compares a part of the table with the recorded one. Where the table is to be written again, the first part writes
/// all of it, since parts may run at once.
fn takes_its_path(part: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/fingerprints.txt");
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        if part == 0 {
            let table = lines(|_| true).join("\n") + "\n";
            std::fs::write(&path, table).expect("the table can be written");
        }
        return;
    }
    let now = lines(|id| part_of(id) == part);
    let kept = std::fs::read_to_string(&path).expect("the table is part of the repository");
    let kept: Vec<&str> =
        kept.lines().filter(|line| line.split(" (").next().map_or(0, part_of) == part).collect();
    let gone = kept.iter().filter(|line| !now.iter().any(|other| other == *line));
    let new = now.iter().filter(|line| !kept.contains(&line.as_str()));
    let differences: Vec<String> =
        gone.map(|line| format!("- {line}")).chain(new.map(|line| format!("+ {line}"))).collect();
    assert!(differences.is_empty(), "results have changed:\n{}", differences.join("\n"));
    assert!(now.len() > 40, "{} lines", now.len());
}

#[test]
fn first_part_takes_the_path_it_took() {
    takes_its_path(0);
}

#[test]
fn second_part_takes_the_path_it_took() {
    takes_its_path(1);
}

#[test]
fn third_part_takes_the_path_it_took() {
    takes_its_path(2);
}

#[test]
fn fourth_part_takes_the_path_it_took() {
    takes_its_path(3);
}
