//! A gateway's record.

use evenair_laws::gateway::{Decision, Step};
use evenair_netsim::{ClassResult, ClassSeries, GatewayResult, GatewaySeries};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A gateway's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayRecord {
    /// Its node's name.
    pub node: String,
    /// Its classes, in the measured time.
    pub classes: Vec<ClassResult>,
    /// How often it allowed more, less, and as much as before, in the measured time.
    pub steps: Steps,
    /// Each of its looks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub series: Option<GatewayColumns>,
}

/// Decisions, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steps {
    /// More.
    pub increase: u32,
    /// Less.
    pub decrease: u32,
    /// As much as before.
    pub hold: u32,
}

/// A gateway's observations and decisions, in columns: a value for each time that it looked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayColumns {
    /// When [s].
    pub time_s: Vec<f64>,
    /// The decision, and its reason.
    pub decision: Vec<String>,
    /// The grant of all classes together from then on [bit/s].
    pub total_bps: Vec<f64>,
    /// The classes.
    pub classes: Vec<ClassColumns>,
}

/// The columns of one class: its allowed rate from each instant on, and its counts since the instant before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClassColumns {
    /// The class: its subscriber and direction.
    pub class: String,
    /// Its grant from then on \[bit/s\].
    pub allowed_bps: Vec<f64>,
    /// Packets that came, refused ones too.
    pub arrived_packets: Vec<u64>,
    /// Packets that were let through.
    pub served_packets: Vec<u64>,
    /// Their bytes.
    pub served_bytes: Vec<u64>,
    /// Packets that were dropped.
    pub dropped_packets: Vec<u64>,
    /// Packets that had to wait for tokens, or behind others that did.
    pub held_packets: Vec<u64>,
    /// Packets that waited at that time.
    pub backlog_packets: Vec<u64>,
    /// For how long it had data outstanding beyond the gateway \[s\]; null where that is not told.
    pub busy_s: Vec<Option<f64>>,
}

impl GatewayRecord {
    /// Keeps the requested results.
    pub(super) fn new(result: GatewayResult, series: bool, warm_s: f64) -> Self {
        let GatewayResult { node, classes, series: all } = result;
        let measured = all.time_s.iter().zip(&all.decisions).filter(|(at, _)| **at > warm_s);
        let count =
            |step: Step| measured.clone().filter(|(_, decision)| decision.step == step).count() as u32;
        let steps = Steps {
            increase: count(Step::Increase),
            decrease: count(Step::Decrease),
            hold: count(Step::Hold),
        };
        let names: Vec<String> = classes.iter().map(name).collect();
        Self { node, classes, steps, series: series.then(|| columns(all, &names)) }
    }
}

/// Whether an allowed rate \[bit/s\] is a limit: a gateway without limits yet allows the greatest rate that there is.
pub fn is_limit(allowed_bps: f64) -> bool {
    allowed_bps <= 1e15
}

/// A class in words: its subscriber and direction.
pub fn name(class: &ClassResult) -> String {
    format!("{} {}", class.class, class.direction)
}

fn columns(series: GatewaySeries, names: &[String]) -> GatewayColumns {
    let say = |decision: &Decision| {
        let class = decision.class.and_then(|class| names.get(class as usize));
        let what = Decision { class: None, ..*decision };
        class.map_or_else(|| what.to_string(), |class| format!("{what} ({class})"))
    };
    let class = |(class, name): (ClassSeries, &String)| {
        let all = |of: fn(&evenair_laws::gateway::ClassView) -> u64| class.counts.iter().map(of).collect();
        ClassColumns {
            class: name.clone(),
            arrived_packets: all(|view| view.arrived.packets),
            served_packets: all(|view| view.served.packets),
            served_bytes: all(|view| view.served.bytes),
            dropped_packets: all(|view| view.dropped.packets),
            held_packets: all(|view| view.held.unwrap_or_default()),
            backlog_packets: all(|view| view.backlog.packets),
            busy_s: class.counts.iter().map(|view| Some(view.busy?.as_secs_f64())).collect(),
            allowed_bps: class.allowed_bps,
        }
    };
    GatewayColumns {
        decision: series.decisions.iter().map(say).collect(),
        time_s: series.time_s,
        total_bps: series.total_bps,
        classes: series.classes.into_iter().zip(names).map(class).collect(),
    }
}
