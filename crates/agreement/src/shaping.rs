//! Linux' shapers, recorded by `validation/linux/shaping.py`, and evenair's with the same datagrams.

use evenair_netsim::Network;
use evenair_scenario::Resolved;
use std::fmt::Write as _;

/// A discipline and its traffic; every flow alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// `tbf`, `tbf-burst`, `htb-each` or `htb-shared`.
    pub name: String,
    /// The depth of each bucket \[bytes\].
    pub burst_bytes: u32,
    /// Room in each line.
    pub line_packets: u32,
    /// Size of a datagram, headers and all \[bytes\].
    pub size_bytes: u32,
    /// Between two of a flow \[µs\].
    pub interval_us: u32,
    /// How long they were sent \[s\].
    pub seconds: f64,
    /// Each flow's bucket, or that of all \[b/s\].
    pub rates_bps: Vec<f64>,
}

/// The packets of one flow that came through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// Datagrams.
    pub received: f64,
    /// Their mean time in the discipline \[ms\].
    pub stay_ms: f64,
}

/// Every run of the record: its case, and its flows.
pub fn recorded() -> Vec<(Case, Vec<Passed>)> {
    let text = include_str!("../../../validation/linux/shaping.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let mut runs: Vec<(String, Case, Vec<Passed>)> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let word = |name: &str| cells[names.iter().position(|n| *n == name).expect("a column")];
        let number = |name: &str| word(name).parse::<f64>().expect("a number");
        let run = format!("{} {}", word("case"), word("run"));
        let passed = Passed { received: number("received"), stay_ms: number("stay_ms") };
        if let Some((_, case, flows)) = runs.iter_mut().find(|(known, ..)| *known == run) {
            case.rates_bps.push(number("rate_bps"));
            flows.push(passed);
            continue;
        }
        let case = Case {
            name: word("case").into(),
            burst_bytes: number("burst_bytes") as u32,
            line_packets: number("line_packets") as u32,
            size_bytes: number("size_bytes") as u32,
            interval_us: number("interval_us") as u32,
            seconds: number("seconds"),
            rates_bps: vec![number("rate_bps")],
        };
        runs.push((run, case, vec![passed]));
    }
    runs.into_iter().map(|(_, case, flows)| (case, flows)).collect()
}

/// The same in evenair: a source that holds its data back for tbf, a gateway's shaper for HTB.
pub fn simulated(case: &Case) -> Vec<Passed> {
    let scenario = Resolved::parse("shaping.toml", &scenario(case), &[]).expect("a right scenario");
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    let passed = |flow: &evenair_netsim::FlowResult| Passed {
        received: (flow.goodput_pps * scenario.settings().duration.0.as_secs_f64()).round(),
        stay_ms: flow.delay.as_ref().map_or(0.0, |delay| delay.mean_s) * 1e3,
    };
    result.flows.iter().map(passed).collect()
}

fn scenario(case: &Case) -> String {
    let Case { burst_bytes, line_packets, size_bytes, interval_us, seconds, .. } = case;
    let flows = case.rates_bps.len();
    let names: Vec<String> = (0..flows).map(|flow| format!("\"n{flow}\"")).collect();
    let nodes: Vec<String> = names.iter().map(|name| format!("{{ id = {name} }}")).collect();
    let mut text = format!(
        "duration = \"{} s\"\nwarmup = \"0 s\"\nnodes = [{{ id = \"g\" }}, {}]\n",
        seconds + 1.0,
        nodes.join(", ")
    );
    let (shaper, rate) = match case.name.as_str() {
        "htb-each" => ("per-subscriber", case.rates_bps.iter().sum()),
        "htb-shared" => ("aggregate-fair", case.rates_bps[0]),
        _ => ("", case.rates_bps[0]),
    };
    let head = match shaper {
        "" => "[source_limit]\n".into(),
        shaper => format!("[gateway]\nnode = \"g\"\nshaper = \"{shaper}\"\n"),
    };
    let _ = write!(
        text,
        "{head}rate = \"{rate} bps\"\nburst = \"{burst_bytes} bytes\"\nqueue = {{ limit = \"{line_packets} packets\" }}\n"
    );
    for (flow, name) in names.iter().enumerate() {
        let start_us = flow * *interval_us as usize / flows;
        let weight = flow + 1;
        // A wire that takes no time to speak of.
        let _ = write!(
            text,
            "[[wires]]\nfrom = \"g\"\nto = {name}\nrate = \"10000 Mbps\"\ndelay = \"0 ms\"\n\
             [[flows]]\nid = \"{flow}\"\nfrom = \"g\"\nto = {name}\ntraffic = \"cbr\"\nsize = \"{size_bytes} bytes\"\n\
             interval = \"{interval_us} us\"\nstart = \"{start_us} us\"\nstop = \"{} us\"\nweight = {weight}.0\n",
            seconds * 1e6,
        );
    }
    text
}
