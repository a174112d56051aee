//! A run's result as a serialisable table.

mod frames;
mod gateway;
mod live;
mod series;
mod series_file;

pub use frames::FrameRow;
pub use gateway::{ClassColumns, GatewayColumns, GatewayRecord, Steps, is_limit, name as class_name};
pub use live::{HostReport, Lateness, LiveRecord, Scheduling, Strays};
pub(crate) use series::{Values, flow_columns, link_columns};
pub use series_file::SeriesFile;

use crate::verdict::Verdict;
use evenair_netsim::{FlowResult, Histogram, LinkResult, OutsideResult, RunResult, RunSpec, Series, Times};
use evenair_scenario::Resolved;
use evenair_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measures beside goodputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordOptions {
    /// Keep time series.
    pub series: bool,
    /// How often queues and windows are sampled, for series and means; every second, if it is not given.
    #[serde(serialize_with = "in_nanoseconds")]
    pub every: Option<Duration>,
    /// Keep the airtime ledger.
    pub ledger: bool,
    /// Measure the time of each datagram, segment and packet in a queue: delays of data over TCP, and percentiles.
    pub times: bool,
    /// Keep histograms of the times, so that any percentile can be computed, also over several flows; with `times`.
    pub histograms: bool,
    /// Record the frames of this window.
    #[serde(serialize_with = "window_in_nanoseconds")]
    pub timeline: Option<(Instant, Instant)>,
}

impl RecordOptions {
    /// The measures that a run of a scenario takes.
    pub fn run_spec(&self, scenario: &Resolved, seed: u64) -> RunSpec {
        RunSpec {
            sample_every: Some(self.every.unwrap_or(Duration::from_secs(1))),
            times: self.times,
            ledger: self.ledger,
            timeline: self.timeline,
            ..scenario.run_spec(seed)
        }
    }
}

#[allow(clippy::ref_option, reason = "serde passes a reference to the field")]
fn in_nanoseconds<S: serde::Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Duration::as_nanos).serialize(serializer)
}

#[allow(clippy::ref_option, reason = "serde passes a reference to the field")]
fn window_in_nanoseconds<S: serde::Serializer>(
    window: &Option<(Instant, Instant)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    window.map(|(from, to)| (from.as_nanos(), to.as_nanos())).serialize(serializer)
}

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// The scenario's name.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Measured time [s].
    pub measured_s: f64,
    /// Hash of the trajectory.
    pub fingerprint: String,
    /// Events handled.
    pub events: u64,
    /// Which flows starve, why, and which settings to try; a study's kept runs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Per flow.
    pub flows: Vec<FlowResult>,
    /// Per transmit queue.
    pub links: Vec<LinkResult>,
    /// Packets from outside that belonged to no flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideResult>,
    /// The gateway's record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayRecord>,
    /// Of a run in real time: its accuracy, and the machine that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveRecord>,
    /// Time series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Frames of the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameRow>,
    /// The theory's findings beside rates, in its worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<TheoryRecord>,
    /// An experiment's result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<(ModelError, f64)>,
}

/// The theory's findings beside rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TheoryRecord {
    /// The worst residual of an optimum's conditions.
    pub residual: Option<f64>,
    /// The greatest real part of the eigenvalues at rest [1/s].
    pub eigenvalue_per_s: Option<f64>,
    /// The greatest growth of a Lyapunov function between two samples, over its first value.
    pub lyapunov_growth: Option<f64>,
    /// How far rates are from rest at the end, relatively.
    pub off_rest: Option<f64>,
}

/// The result of [Jam10] section 4.1.4's experiment: a model's share less the simulated fair-share point, over the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelError {
    /// The clique model's.
    CliqueError,
    /// The collision-domain model's.
    DomainError,
}

impl ModelError {
    /// All there are.
    pub const ALL: [Self; 2] = [Self::CliqueError, Self::DomainError];

    /// Its kind.
    pub const fn about(self) -> &'static str {
        match self {
            Self::CliqueError => {
                "The clique model's share less the simulated fair-share point, over the point ([Jam10] section 4.1.4)."
            }
            Self::DomainError => {
                "The collision-domain model's share less the simulated fair-share point, over the point ([Jam10] section 4.1.4)."
            }
        }
    }

    /// A label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::CliqueError => "clique model's error",
            Self::DomainError => "collision-domain model's error",
        }
    }
}

impl RunRecord {
    /// Keeps the requested results of a scenario's run.
    pub fn new(scenario: &Resolved, result: RunResult, options: RecordOptions) -> Self {
        let warmup = scenario.run_spec(result.seed).warmup;
        let frames = frames::rows(&result);
        let mut record = Self {
            scenario: scenario.settings().name.clone(),
            seed: result.seed,
            measured_s: result.measured_s,
            fingerprint: result.fingerprint.to_string(),
            events: result.events,
            verdict: None,
            flows: result.flows,
            links: result.links,
            outside: result.outside,
            gateway: result
                .gateway
                .map(|gateway| GatewayRecord::new(gateway, options.series, warmup.as_secs_f64())),
            live: None,
            series: result.series.filter(|_| options.series),
            frames,
            theory: None,
            findings: Vec::new(),
        };
        if !options.histograms {
            record.times_mut().for_each(|times| times.histogram = Histogram::default());
        }
        record
    }

    /// All times that are told of.
    fn times_mut(&mut self) -> impl Iterator<Item = &mut Times> {
        let flows = self.flows.iter_mut().flat_map(|flow| {
            flow.delay.iter_mut().chain(flow.transfers.iter_mut().filter_map(|t| t.took.as_mut()))
        });
        let outside = self.outside.iter_mut().filter_map(|pair| pair.delay.as_mut());
        flows.chain(outside).chain(self.links.iter_mut().filter_map(|link| link.waiting.as_mut()))
    }
}
