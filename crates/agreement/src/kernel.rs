//! Linux senders over a path that loses packets, recorded by `validation/linux/lossy.py`, and the same path in evenair.

use crate::recorded::mean_and_error;
use evenair_netsim::{Network, RunResult, RunSpec};
use evenair_scenario::Resolved;
use evenair_units::Duration;

/// One path and the sender over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// `reno`, `cubic` or `bbr`.
    pub law: String,
    /// Whether Linux was left as it comes; with RACK-TLP switched off, 6.18 still runs RACK and only leaves TLP away.
    pub probes: bool,
    /// The link's rate \[b/s\].
    pub rate_bps: f64,
    /// The time that a full segment and its acknowledgement need without a queue \[ms\].
    pub round_trip_ms: f64,
    /// How many of a hundred data segments the lottery loses; full queues lose more.
    pub lottery_percent: f64,
    /// Room in the queue, the one being sent among them.
    pub queue_packets: u32,
}

/// A sender's result.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Data at the receiver, mean over seeds \[kb/s\].
    pub goodput_kbps: f64,
    /// Its standard error.
    pub error_kbps: f64,
    /// Segments lost of a hundred sent, by lottery and queue.
    pub lost_percent: f64,
    /// The path's round trip: from a segment's start to the arrival of the acknowledgement that it evokes, without its wait
    /// for a second segment \[ms\].
    pub round_trip_ms: f64,
}

impl Outcome {
    /// Of rows of goodput, loss and round trip, one a seed.
    fn of(rows: &[Vec<f64>]) -> Self {
        let columns = mean_and_error(rows);
        let ((goodput_kbps, error_kbps), lost_percent, round_trip_ms) =
            (columns[0], columns[1].0, columns[2].0);
        Self { goodput_kbps, error_kbps, lost_percent, round_trip_ms }
    }
}

/// A case of the record.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Which.
    pub case: Case,
    /// The share of segments that the lottery did lose, of those that it drew for.
    pub lottery: f64,
    /// The kernel's result.
    pub outcome: Outcome,
}

/// Vegas of Linux 2.6.22 alone over a bottleneck without loss, under ns-2's TCP-Linux agent, by validation/ns2/vegas.sh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vegas {
    /// The link's rate \[b/s\].
    pub rate_bps: f64,
    /// The round trip without a queue \[ms\].
    pub round_trip_ms: f64,
    /// The thresholds \[packets\].
    pub alpha: f64,
    /// See there.
    pub beta: f64,
    /// Its goodput \[kb/s\].
    pub goodput_kbps: f64,
    /// Its mean window \[packets\].
    pub window: f64,
}

impl Vegas {
    /// The record.
    pub fn recorded() -> Vec<Self> {
        let text = include_str!("../../../validation/ns2/vegas.txt");
        text.lines().map(Self::of).collect()
    }

    fn of(line: &str) -> Self {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [rate_mbps, round_trip_ms, alpha, beta, goodput_kbps, window, _waiting] = numbers[..] else {
            unreachable!("seven numbers a line")
        };
        Self { rate_bps: rate_mbps * 1e6, round_trip_ms, alpha, beta, goodput_kbps, window }
    }

    /// The same in evenair; its receiver acknowledges each segment, as that of the record.
    pub fn simulated(&self) -> Self {
        let case = Case {
            law: "vegas".into(),
            probes: true,
            rate_bps: self.rate_bps,
            round_trip_ms: self.round_trip_ms,
            lottery_percent: 0.0,
            queue_packets: 1000,
        };
        let law = format!("tcp.window={{law=\"vegas\",alpha={},beta={}}}", self.alpha, self.beta);
        // The excess of slow start decays by a segment a round trip.
        let changes = [law, "tcp.delayed_ack=\"0 s\"".into(), "warmup=\"120 s\"".into()];
        let scenario = scenario(&case, 0.0, 100, &changes);
        let run = RunSpec { sample_every: Some(Duration::from_millis(100)), ..scenario.run_spec(1) };
        let flow = &Network::run(scenario.network(), run).flows[0];
        Self { goodput_kbps: flow.goodput_bps / 1e3, window: flow.congestion_window, ..*self }
    }
}

/// Every case, in the order of the record.
pub fn recorded() -> Vec<Recorded> {
    let text = include_str!("../../../validation/linux/lossy.csv");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let mut groups: Vec<(Case, Vec<Vec<f64>>)> = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let word = |name: &str| cells[names.iter().position(|n| *n == name).expect("a column")];
        let number = |name: &str| word(name).parse::<f64>().expect("a number");
        let case = Case {
            law: word("law").into(),
            probes: word("rack") == "1",
            rate_bps: number("rate_bps"),
            round_trip_ms: number("round_trip_ms"),
            lottery_percent: number("lottery_percent"),
            queue_packets: number("queue_packets") as u32,
        };
        let drawn = number("sent") - number("dropped");
        let seen = ["goodput_kbps", "lost_percent", "path_round_trip_ms", "lost"].map(number);
        let row = [&seen[..], &[drawn]].concat();
        match groups.iter_mut().find(|(known, _)| *known == case) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((case, vec![row])),
        }
    }
    let sum = |rows: &[Vec<f64>], column: usize| rows.iter().map(|row| row[column]).sum::<f64>();
    let group = |(case, rows): (Case, Vec<Vec<f64>>)| Recorded {
        case,
        lottery: sum(&rows, 3) / sum(&rows, 4),
        outcome: Outcome::of(&rows),
    };
    groups.into_iter().map(group).collect()
}

/// The same path and sender in evenair: the standard preset with SACK, delayed acknowledgements of 40 ms and a window that
/// the receiver never limits, and as many segments lost by lottery as in the record.
pub fn simulated(recorded: &Recorded, seconds: u32, seeds: u64) -> Outcome {
    let scenario = scenario(&recorded.case, recorded.lottery, seconds, &[]);
    let row = |seed| seen(&Network::run(scenario.network(), scenario.run_spec(seed)));
    Outcome::of(&(1..=seeds).map(row).collect::<Vec<_>>())
}

fn scenario(case: &Case, lottery: f64, seconds: u32, changes: &[String]) -> Resolved {
    let full = 1500.0 * 8.0 / case.rate_bps * 1e3;
    let delay_ms = (case.round_trip_ms - full) / 2.0;
    let law = if case.law == "reno" { "newreno" } else { &case.law };
    let losses = match lottery {
        0.0 => String::new(),
        share => format!("losses = [{{ from = \"a\", to = \"b\", one_way = true, loss = {share} }}]"),
    };
    // Linux waits SRTT + max(1 s, 4 RTTVAR) where RFC 6298 has max(1 s, SRTT + 4 RTTVAR).
    let text = format!(
        "
        duration = \"{seconds} s\"
        warmup = \"20 s\"
        nodes = [{{ id = \"a\" }}, {{ id = \"b\" }}]
        wires = [{{ from = \"a\", to = \"b\", rate = \"{} bps\", delay = \"{delay_ms} ms\", queue = \"{} packets\" }}]
        {losses}
        flows = [{{ id = \"1\", from = \"a\", to = \"b\" }}]
        [tcp]
        window = \"{law}\"
        sack = true
        rack = true
        tail_loss_probe = {}
        delayed_ack = \"40 ms\"
        payload = \"1460 bytes\"
        headers = \"40 bytes\"
        receiver_window = \"1000 packets\"
        min_rto = \"{} ms\"
        ",
        case.rate_bps,
        case.queue_packets,
        case.probes,
        1000.0 + case.round_trip_ms,
    );
    Resolved::parse("lossy", &text, changes).expect("the scenario is right")
}

fn seen(result: &RunResult) -> Vec<f64> {
    let flow = &result.flows[0];
    let queue = result.links.iter().find(|link| link.queue == flow.queue).expect("the flow's own");
    let lost = queue.lost_on_wire + queue.dropped_queue_full;
    let round_trip = flow.round_trip_s.expect("it has sent something");
    vec![flow.goodput_bps / 1e3, 100.0 * lost as f64 / flow.sent as f64, round_trip * 1e3]
}
