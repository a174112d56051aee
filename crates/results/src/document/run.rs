//! Runs of several seeds.

use crate::estimate::Estimate;
use crate::output::SCHEMA_VERSION;
use crate::record::RunRecord;
use crate::record::SeriesFile;
use crate::verdict::Verdict;
use evenair_netsim::FlowResult;
use evenair_topology::jain_index;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Writes a run as `--json` prints it: one document in one line. Time series that lie in a file are written as they are read.
///
/// # Errors
/// If `out` or the file fails.
pub fn write_line(
    mut out: impl Write,
    command: &str,
    run: &RunRecord,
    series: Option<&SeriesFile>,
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Line<'a> {
        schema_version: u32,
        command: &'a str,
        #[serde(flatten)]
        run: &'a RunRecord,
        #[serde(skip_serializing_if = "Option::is_none")]
        series: Option<&'a SeriesFile>,
    }
    let line = Line { schema_version: SCHEMA_VERSION, command, run, series };
    serde_json::to_writer(&mut out, &line)?;
    out.write_all(b"\n")
}

/// Means over seeds with their intervals, and each seed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunMeans {
    /// The scenario as it was named; `<stdin>` for standard input.
    pub scenario: String,
    /// Measured time of each seed \[s\]: without the warm-up.
    pub measured_s: f64,
    /// Which flows starve, why, and which settings to try, over all seeds.
    pub verdict: Verdict,
    /// The flows.
    pub flows: Vec<FlowMeans>,
    /// Goodput of all flows together \[packets/s\].
    pub goodput_pps: Estimate,
    /// The same \[bit/s\].
    pub goodput_bps: Estimate,
    /// Jain's index of the flows' goodputs.
    pub jain: Estimate,
    /// Each seed.
    pub seeds: Vec<SeedTotals>,
}

/// One flow's means over seeds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FlowMeans {
    /// Its name.
    pub flow: String,
    /// Data handed to the application \[packets/s\].
    pub goodput_pps: Estimate,
    /// The same \[bit/s\].
    pub goodput_bps: Estimate,
    /// Mean round trip \[s\]; null where there is none.
    pub round_trip_s: Option<Estimate>,
    /// Mean number of connections.
    pub connections: Estimate,
    /// Mean congestion window, all connections together \[segments\].
    pub congestion_window: Estimate,
    /// Segments sent again.
    pub retransmitted: Estimate,
    /// Retransmission time-outs.
    pub timeouts: Estimate,
}

/// All flows together, of one seed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeedTotals {
    /// The seed.
    pub seed: u64,
    /// A hash of the trajectory.
    pub fingerprint: String,
    /// Goodput of all flows together \[packets/s\].
    pub goodput_pps: f64,
    /// Jain's index of the flows' goodputs; 0 where nothing was delivered.
    pub jain: f64,
    /// Each flow's goodput, in the order of `flows` \[packets/s\].
    pub flows_pps: Vec<f64>,
}

impl From<&RunRecord> for SeedTotals {
    fn from(run: &RunRecord) -> Self {
        let flows_pps: Vec<f64> = run.flows.iter().map(|flow| flow.goodput_pps).collect();
        Self {
            seed: run.seed,
            fingerprint: run.fingerprint.clone(),
            goodput_pps: flows_pps.iter().sum(),
            jain: jain_index(&flows_pps).unwrap_or(0.0),
            flows_pps,
        }
    }
}

impl RunMeans {
    /// The mean of the runs of one scenario, and the verdict on them.
    pub fn of(scenario: &str, verdict: Verdict, runs: &[RunRecord]) -> Self {
        let seeds: Vec<SeedTotals> = runs.iter().map(SeedTotals::from).collect();
        let flows = runs[0].flows.iter().enumerate().map(|(f, flow)| {
            let of = |of: fn(&FlowResult) -> f64| estimate(runs, |run| of(&run.flows[f]));
            FlowMeans {
                flow: flow.flow.clone(),
                goodput_pps: of(|flow| flow.goodput_pps),
                goodput_bps: of(|flow| flow.goodput_bps),
                round_trip_s: flow.round_trip_s.map(|_| of(|flow| flow.round_trip_s.unwrap_or(0.0))),
                connections: of(|flow| flow.connections),
                congestion_window: of(|flow| flow.congestion_window),
                retransmitted: of(|flow| flow.retransmitted as f64),
                timeouts: of(|flow| flow.timeouts as f64),
            }
        });
        Self {
            scenario: scenario.into(),
            measured_s: runs[0].measured_s,
            verdict,
            flows: flows.collect(),
            goodput_pps: estimate(&seeds, |seed| seed.goodput_pps),
            goodput_bps: estimate(runs, |run| run.flows.iter().map(|flow| flow.goodput_bps).sum()),
            jain: estimate(&seeds, |seed| seed.jain),
            seeds,
        }
    }
}

fn estimate<T>(all: &[T], of: impl Fn(&T) -> f64) -> Estimate {
    Estimate::from_samples(&all.iter().map(of).collect::<Vec<_>>())
}
