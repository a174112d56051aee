//! A gateway's record.

use crate::spec::{GatewayClass, Shares};
use evenair_laws::gateway::{ClassView, Decision};
use evenair_units::Instant;
use serde::{Deserialize, Serialize};

/// A gateway's result.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayResult {
    /// Its node's name.
    pub node: String,
    /// Its classes.
    pub classes: Vec<ClassResult>,
    /// Each of its looks.
    pub series: GatewaySeries,
}

impl GatewayResult {
    /// The gateway's record of a measured time, from one instant to another: that of a host outside of the network, which counts
    /// once an epoch. Epochs that end in the measured time belong to it.
    pub fn of(
        node: String,
        classes: &[GatewayClass],
        series: GatewaySeries,
        (from_s, until_s): (f64, f64),
    ) -> Self {
        let class = |(index, class): (usize, &GatewayClass)| {
            let looks = series.time_s.iter().zip(&series.classes[index].counts);
            let seen: Vec<&ClassView> =
                looks.filter(|(at, _)| **at > from_s && **at <= until_s).map(|(_, seen)| seen).collect();
            let sum = |of: fn(&ClassView) -> u64| seen.iter().map(|seen| of(seen)).sum::<u64>();
            let epochs_s: f64 = series
                .time_s
                .windows(2)
                .filter(|ends| ends[1] > from_s && ends[1] <= until_s)
                .map(|ends| ends[1] - ends[0])
                .sum();
            let bits = sum(|seen| seen.served.bytes) as f64 * 8.0;
            ClassResult {
                class: class.name.clone(),
                direction: class.role.direction.to_string(),
                weight: class.role.weight,
                allowed_bps: series.mean_allowed(index, from_s, until_s),
                served_bps: if epochs_s > 0.0 { bits / epochs_s } else { 0.0 },
                arrived_packets: sum(|seen| seen.arrived.packets),
                served_packets: sum(|seen| seen.served.packets),
                dropped_packets: sum(|seen| seen.dropped.packets),
                held_packets: sum(|seen| seen.held.unwrap_or_default()),
                busy: series.mean_busy(index, from_s, until_s),
            }
        };
        let classes = classes.iter().enumerate().map(class).collect();
        Self { node, classes, series }
    }
}

/// The result of one class, in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ClassResult {
    /// The subscriber's name: a node's, or a flow's.
    pub class: String,
    /// Which way its data go: up or down.
    pub direction: String,
    /// Its weight.
    pub weight: f64,
    /// Its allowance, the mean over time \[bit/s\]: of its own bucket, or its part by weight of the bucket of all.
    pub allowed_bps: f64,
    /// Its throughput \[bit/s\], network-layer sizes.
    pub served_bps: f64,
    /// Packets that came, refused ones too.
    pub arrived_packets: u64,
    /// Packets that were let through.
    pub served_packets: u64,
    /// Packets that were dropped.
    pub dropped_packets: u64,
    /// Packets that had to wait for tokens, or behind others that did.
    pub held_packets: u64,
    /// The share of the time for which it was busy, had data outstanding beyond the gateway; none, where its law is not told.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy: Option<f64>,
}

/// A gateway's observations and decisions, each time that it looked: the start, then every epoch, warm-up included; and each time that its
/// classes changed, when nothing is counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GatewaySeries {
    /// When \[s\].
    pub time_s: Vec<f64>,
    /// Its decision then.
    pub decisions: Vec<Decision>,
    /// The allowance of all together from then on \[bit/s\].
    pub total_bps: Vec<f64>,
    /// The classes.
    pub classes: Vec<ClassSeries>,
}

/// One class, each time that the gateway looked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClassSeries {
    /// Its allowance from then on \[bit/s\].
    pub allowed_bps: Vec<f64>,
    /// The counts since the time before, and the packets that wait.
    pub counts: Vec<ClassView>,
}

impl GatewaySeries {
    /// Nothing yet, of so many classes.
    pub(crate) fn new(classes: usize) -> Self {
        Self { classes: vec![ClassSeries::default(); classes], ..Self::default() }
    }

    /// The gateway has looked, and has seen this of each class; no shares, if they are as they were.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        decision: Decision,
        shares: Option<&Shares>,
        seen: impl Fn(u32) -> Option<ClassView>,
    ) {
        let last = |rates: &[f64]| rates.last().copied().unwrap_or_default();
        self.time_s.push(now.as_secs_f64());
        self.decisions.push(decision);
        let total = shares.map_or_else(|| last(&self.total_bps), |shares| shares.total.as_bps() as f64);
        self.total_bps.push(total);
        for (index, class) in (0..).zip(&mut self.classes) {
            let allowed = shares.map(|shares| shares.each[index as usize].as_bps() as f64);
            class.allowed_bps.push(allowed.unwrap_or_else(|| last(&class.allowed_bps)));
            class.counts.push(seen(index).unwrap_or_default());
        }
    }

    /// The share of the time for which a class was busy in the epochs from one instant to another; none, if none of them told.
    pub(crate) fn mean_busy(&self, class: usize, from_s: f64, until_s: f64) -> Option<f64> {
        let epochs = self.time_s.windows(2).zip(self.classes[class].counts.iter().skip(1));
        let (mut busy_s, mut told_s) = (0.0, 0.0);
        for (ends, seen) in epochs.filter(|(ends, _)| ends[0] >= from_s && ends[1] <= until_s) {
            let Some(busy) = seen.busy else { continue };
            busy_s += busy.as_secs_f64();
            told_s += ends[1] - ends[0];
        }
        (told_s > 0.0).then(|| busy_s / told_s)
    }

    /// A class's mean allowance from one instant to another \[bit/s\].
    pub(crate) fn mean_allowed(&self, class: usize, from_s: f64, until_s: f64) -> f64 {
        let ends = self.time_s.iter().skip(1).copied().chain([f64::INFINITY]);
        let spans = self.time_s.iter().zip(ends).map(|(&begin, end)| end.min(until_s) - begin.max(from_s));
        let allowed = &self.classes[class].allowed_bps;
        let sum: f64 = spans.zip(allowed).filter(|(span, _)| *span > 0.0).map(|(span, bps)| span * bps).sum();
        sum / (until_s - from_s)
    }
}
