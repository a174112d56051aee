//! Time series of a run, in columns.

use evenair_netsim::{FlowSeries, LinkSeries, Series};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time series in columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesRecord {
    /// When \[s\].
    pub time_s: Vec<f64>,
    /// The flows; a value is missing where there was nothing to measure since the point before.
    pub flows: Vec<FlowColumns>,
    /// The transmit queues.
    pub links: Vec<LinkColumns>,
}

/// The columns of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowColumns {
    /// The flow.
    pub flow: String,
    /// Goodput since the point before \[packets/s\].
    pub goodput_pps: Vec<f64>,
    /// Congestion window, all connections together \[segments\].
    pub congestion_window: Vec<f64>,
    /// Smoothed round-trip time \[s\].
    pub round_trip_s: Vec<f64>,
    /// Open connections.
    pub connections: Vec<f64>,
    /// Mean one-way delay of what arrived since the point before \[s\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_s: Vec<Option<f64>>,
    /// Share of what was dropped or arrived since the point before that was dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loss: Vec<Option<f64>>,
    /// Mean time in queues of what arrived since the point before \[s\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queueing_delay_s: Vec<Option<f64>>,
}

/// The columns of one queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkColumns {
    /// The queue.
    pub queue: String,
    /// What waits, or is in service \[packets\].
    pub backlog: Vec<f64>,
    /// Its back-off law's aggressiveness, the logarithm of what divides its mean back-off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggressiveness: Vec<f64>,
    /// For how long what was served since the point before had waited, in the mean \[s\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_s: Vec<Option<f64>>,
}

/// The values of one column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    /// One at each point; none at all where the column is empty.
    All(&'a [f64]),
    /// One where there was anything to measure.
    Some(&'a [Option<f64>]),
}

impl Values<'_> {
    pub(crate) const fn is_empty(&self) -> bool {
        match self {
            Self::All(values) => values.is_empty(),
            Self::Some(values) => values.is_empty(),
        }
    }

    /// That at a point.
    pub(crate) fn at(&self, point: usize) -> Option<f64> {
        match self {
            Self::All(values) => values.get(point).copied(),
            Self::Some(values) => values.get(point).copied().flatten(),
        }
    }
}

impl FlowColumns {
    /// Its columns and their names.
    pub(crate) fn columns(&self) -> [(&'static str, Values<'_>); 7] {
        [
            ("goodput_pps", Values::All(&self.goodput_pps)),
            ("congestion_window", Values::All(&self.congestion_window)),
            ("round_trip_s", Values::All(&self.round_trip_s)),
            ("connections", Values::All(&self.connections)),
            ("delay_s", Values::Some(&self.delay_s)),
            ("loss", Values::Some(&self.loss)),
            ("queueing_delay_s", Values::Some(&self.queueing_delay_s)),
        ]
    }
}

impl LinkColumns {
    /// Its columns and their names.
    pub(crate) fn columns(&self) -> [(&'static str, Values<'_>); 3] {
        [
            ("backlog", Values::All(&self.backlog)),
            ("aggressiveness", Values::All(&self.aggressiveness)),
            ("waiting_s", Values::Some(&self.waiting_s)),
        ]
    }
}

impl SeriesRecord {
    pub(super) fn new<'a>(
        series: Series,
        flows: impl Iterator<Item = &'a str>,
        links: impl Iterator<Item = &'a str>,
    ) -> Self {
        let flow = |(columns, flow): (FlowSeries, &str)| FlowColumns {
            flow: flow.into(),
            goodput_pps: columns.goodput_pps,
            congestion_window: columns.congestion_window,
            round_trip_s: columns.round_trip_s,
            connections: columns.connections,
            delay_s: columns.delay_s,
            loss: columns.loss,
            queueing_delay_s: columns.queueing_delay_s,
        };
        let link = |(columns, queue): (LinkSeries, &str)| LinkColumns {
            queue: queue.into(),
            backlog: columns.backlog,
            aggressiveness: columns.aggressiveness,
            waiting_s: columns.waiting_s,
        };
        Self {
            time_s: series.time_s,
            flows: series.flows.into_iter().zip(flows).map(flow).collect(),
            links: series.links.into_iter().zip(links).map(link).collect(),
        }
    }
}
