//! One cell of saturated stations in the packet world.

use evenair_netsim::Network;
use evenair_scenario::Scenario;
use std::fmt::Write;

/// The scenario of `stations` stations evenly on a circle of 50 m around their receiver.
pub fn scenario(stations: u32, changes: &[&str]) -> Scenario {
    let mut text = String::from(
        "[radio]\ntransmission_range = \"250 m\"\ncarrier_sense_range = \"550 m\"\n[[nodes]]\nid = \"ap\"\nat = [0, 0]\n",
    );
    for i in 0..stations {
        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(stations);
        let (x, y) = (50.0 * angle.cos(), 50.0 * angle.sin());
        let _ = write!(
            text,
            "[[nodes]]\nid = \"s{i}\"\nat = [{x}, {y}]\n[[flows]]\nid = \"{i}\"\nfrom = \"s{i}\"\nto = \"ap\"\ntraffic = \"saturated\"\nstart = \"0 s\"\n"
        );
    }
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Scenario::parse("cell", &text, &changes).expect("the scenario is right")
}

/// Its throughput \[packets/s\] over `seconds` after 2 s of warm-up.
pub fn throughput_pps(stations: u32, changes: &[&str], seconds: u32, seed: u64) -> f64 {
    let duration = format!("duration=\"{seconds} s\"");
    let mut all = vec!["warmup=\"2 s\"", &duration];
    all.extend(changes);
    let scenario = scenario(stations, &all);
    let result = Network::run(&scenario.network(), scenario.run_spec(seed));
    result.flows.iter().map(|f| f.goodput_pps).sum()
}
