//! The program that records senders of Linux over lossy paths, on the running kernel.
#![cfg(target_os = "linux")]

use evenair_needs::{Missing, find};
use rustix::process::geteuid;
use std::path::Path;
use std::process::Command;

/// The kernel of this machine, for ten seconds: the program of the record still runs, repeats the randomly
/// lost segments, and gets the record's goodput within a quarter. Needs root, TUN devices and Python.
#[test]
fn the_path_program_runs_where_it_may() {
    if let Some(missing) = missing() {
        return missing.skip();
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/linux/lossy.py");
    let words =
        ["--trace", "cubic", "--rate", "1000000", "--round-trip", "20", "--loss", "4", "--seconds", "10"];
    let output = Command::new("python3").arg(program).args(words).output().expect("Python is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let count = |word: &str| text.lines().filter(|line| line.contains(word)).count();
    let (lost, again) = (count(" LOST"), count(" again "));
    assert!(lost > 5 && again.abs_diff(lost) <= 5, "{lost} lost, {again} sent again");
    let goodput = text.split("'goodput_kbps': ").nth(1).and_then(|rest| rest.split(',').next());
    let goodput: f64 = goodput.and_then(|number| number.parse().ok()).expect("the last line has it");
    let recorded = recorded();
    assert!((goodput / recorded - 1.0).abs() < 0.25, "{goodput} kb/s, the record has {recorded}");
}

/// The requirements of the path program that are missing here.
fn missing() -> Option<Missing> {
    let lacks = |need: &'static str| Missing::new(need, "validation/linux/lossy.py cannot run");
    let tun = Path::new("/dev/net/tun").exists();
    let needs = [(geteuid().is_root(), "root"), (tun, "TUN devices"), (find("python3").is_some(), "python3")];
    needs.iter().find(|(here, _)| !here).map(|(_, need)| lacks(need))
}

/// The mean goodput of the record's runs of CUBIC at 1 Mb/s, 20 ms and 4 % \[kb/s\].
fn recorded() -> f64 {
    let text = include_str!("../../../validation/linux/lossy.csv");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let place = lines[0].split(',').position(|name| name == "goodput_kbps").expect("a column");
    let runs = lines.iter().filter(|line| line.starts_with("cubic,1,1000000,20,4.0,"));
    let goodput = |line: &&str| line.split(',').nth(place)?.parse::<f64>().ok();
    let runs: Vec<f64> = runs.filter_map(goodput).collect();
    assert!(runs.len() > 1, "{runs:?}");
    runs.iter().sum::<f64>() / runs.len() as f64
}
