//! The columns of time series, by their names.

use evenair_netsim::{FlowSeries, LinkSeries};

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

/// The columns of a flow and their names.
pub(crate) fn flow_columns(flow: &FlowSeries) -> [(&'static str, Values<'_>); 7] {
    [
        ("goodput_pps", Values::All(&flow.goodput_pps)),
        ("congestion_window", Values::All(&flow.congestion_window)),
        ("round_trip_s", Values::All(&flow.round_trip_s)),
        ("connections", Values::All(&flow.connections)),
        ("delay_s", Values::Some(&flow.delay_s)),
        ("loss", Values::Some(&flow.loss)),
        ("queueing_delay_s", Values::Some(&flow.queueing_delay_s)),
    ]
}

/// The columns of a queue and their names.
pub(crate) fn link_columns(link: &LinkSeries) -> [(&'static str, Values<'_>); 3] {
    [
        ("backlog", Values::All(&link.backlog)),
        ("aggressiveness", Values::All(&link.aggressiveness)),
        ("waiting_s", Values::Some(&link.waiting_s)),
    ]
}
