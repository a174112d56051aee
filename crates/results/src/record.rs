//! What is kept of a run: the result as a serialisable table.

mod frames;
mod gateway;
mod series;
mod series_file;

pub use frames::FrameRow;
pub use gateway::{ClassColumns, GatewayColumns, GatewayRecord, Steps, is_limit, name as class_name};
pub(crate) use series::Values;
pub use series::{FlowColumns, LinkColumns, SeriesRecord};
pub use series_file::SeriesFile;

use evenair_netsim::{FlowResult, Histogram, RunResult, RunSpec, Times};
use evenair_scenario::Resolved;
use evenair_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is measured beside goodputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RecordOptions {
    /// Keep time series.
    pub series: bool,
    /// How often queues and windows are sampled, for series and means; every second, if it is not given.
    #[serde(serialize_with = "in_nanoseconds")]
    pub every: Option<Duration>,
    /// Keep the airtime ledger.
    pub ledger: bool,
    /// Measure how long each datagram, segment and packet in a queue took: the delays of what goes over TCP, and percentiles.
    pub times: bool,
    /// Keep how often what took how long, so that any percentile can be told, of several flows together, too; with `times`.
    pub histograms: bool,
    /// Record the frames of this window.
    #[serde(serialize_with = "window_in_nanoseconds")]
    pub timeline: Option<(Instant, Instant)>,
}

impl RecordOptions {
    /// What a run of a scenario has to measure.
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
    /// Per flow.
    pub flows: Vec<FlowResult>,
    /// Per transmit queue.
    pub links: Vec<LinkRecord>,
    /// What the gateway did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayRecord>,
    /// Time series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SeriesRecord>,
    /// Frames of the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameRow>,
    /// What the theory found beside rates, in its worlds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory: Option<TheoryRecord>,
    /// What an experiment found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<(ModelError, f64)>,
}

/// What the theory found beside rates.
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

/// What the experiment of [Jam10] section 4.1.4 finds: a model's share less the simulated fair-share point, over the point.
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

    /// What it is.
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

/// What one transmit queue did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRecord {
    /// Its name.
    pub queue: String,
    /// Mean backlog [packets].
    pub backlog: f64,
    /// Mean aggressiveness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggressiveness: Option<f64>,
    /// Packets whose service ended, well or not.
    #[serde(default)]
    pub served_packets: u64,
    /// Their bytes.
    #[serde(default)]
    pub served_bytes: u64,
    /// Times from a packet's coming into the queue to the beginning of its service.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting: Option<Times>,
    /// Mean time from a packet's coming into the queue to the end of its service [s].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sojourn_s: Option<f64>,
    /// Packets dropped for want of room: overflows.
    pub dropped_queue_full: u64,
    /// Packets dropped by a law though there was room: early drops.
    pub dropped_by_law: u64,
    /// Packets given up after the last retry.
    pub dropped_retries: u64,
    /// DATA frames sent.
    pub attempts: u64,
    /// DATA frames lost to an overlap at the receiver.
    pub collided: u64,
    /// DATA frames lost because the receiver was transmitting.
    pub receiver_busy: u64,
    /// Exchanges whose acknowledgement was lost.
    pub ack_lost: u64,
    /// RTS frames sent.
    pub requests: u64,
    /// RTS frames that brought no CTS.
    pub requests_failed: u64,
    /// Packets lost on the wire.
    pub lost_on_wire: u64,
    /// Where its time went, as shares: own, collided, back-off, inter-frame, empty, blocked by each other queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub airtime: Option<AirtimeRecord>,
}

/// Shares of time, adding up to one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AirtimeRecord {
    /// Own exchanges that succeeded.
    pub own: f64,
    /// Own exchanges that failed.
    pub collided: f64,
    /// Counting down.
    pub backoff: f64,
    /// Inter-frame spaces.
    pub interframe: f64,
    /// Nothing to send.
    pub empty: f64,
    /// The medium was busy with each queue that ever blocked this one.
    pub blocked_by: Vec<(String, f64)>,
}

impl RunRecord {
    /// Keeps of a run of a scenario what was asked for.
    pub fn new(scenario: &Resolved, result: RunResult, options: RecordOptions) -> Self {
        let warmup = scenario.run_spec(result.seed).warmup;
        let names: Vec<String> = result.links.iter().map(|l| l.name.clone()).collect();
        let links = result.links.iter().map(|link| link_record(link, &names)).collect();
        let frames = frames::rows(&scenario.network().mac, &result);
        let flows = result.flows.iter().map(|flow| flow.flow.as_str());
        let series = result.series.filter(|_| options.series);
        let series = series.map(|series| SeriesRecord::new(series, flows, names.iter().map(String::as_str)));
        let mut record = Self {
            scenario: scenario.settings().name.clone(),
            seed: result.seed,
            measured_s: result.measured_s,
            fingerprint: result.fingerprint.to_string(),
            events: result.events,
            flows: result.flows,
            links,
            gateway: result
                .gateway
                .map(|gateway| GatewayRecord::new(gateway, options.series, warmup.as_secs_f64())),
            series,
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
        flows.chain(self.links.iter_mut().filter_map(|link| link.waiting.as_mut()))
    }
}

fn link_record(link: &evenair_netsim::LinkResult, names: &[String]) -> LinkRecord {
    let frames = link.frames.unwrap_or_default();
    let airtime = link.airtime.as_ref().map(|time| {
        let total = time.total().as_secs_f64().max(1e-12);
        let share = |part: Duration| part.as_secs_f64() / total;
        let blocked = time.blocked_by.iter().zip(names).filter(|(part, _)| !part.is_zero());
        AirtimeRecord {
            own: share(time.own),
            collided: share(time.collided),
            backoff: share(time.backoff),
            interframe: share(time.interframe),
            empty: share(time.empty),
            blocked_by: blocked.map(|(&part, name)| (name.clone(), share(part))).collect(),
        }
    });
    LinkRecord {
        queue: link.name.clone(),
        backlog: link.backlog,
        aggressiveness: link.aggressiveness,
        served_packets: link.served_packets,
        served_bytes: link.served_bytes,
        waiting: link.waiting.clone(),
        sojourn_s: link.sojourn_s,
        dropped_queue_full: link.dropped_queue_full,
        dropped_by_law: link.dropped_by_law,
        dropped_retries: link.dropped_retries,
        attempts: frames.attempts,
        collided: frames.collided,
        receiver_busy: frames.receiver_busy,
        ack_lost: frames.ack_lost,
        requests: frames.requests,
        requests_failed: frames.requests_failed,
        lost_on_wire: link.lost_on_wire,
        airtime,
    }
}
