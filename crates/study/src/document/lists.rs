//! Lists of scenarios, studies, laws and metrics.

use crate::glossary::Entry;
use crate::metric::Metric;
use crate::papers::Paper;
use evenair_scenario::ListedFamily;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One of the lists, under its name.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "its schema is what it is for: a list is printed under its name")]
pub(super) struct ListDocument {
    /// How many there are of each kind, where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, u64>>,
    /// Families of laws.
    #[serde(skip_serializing_if = "Option::is_none")]
    laws: Option<Vec<ListedFamily>>,
    /// The metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<ListedMetric>>,
    /// Studies.
    #[serde(skip_serializing_if = "Option::is_none")]
    studies: Option<Vec<ListedEntry>>,
    /// Scenarios.
    #[serde(skip_serializing_if = "Option::is_none")]
    scenarios: Option<Vec<ListedEntry>>,
}

/// Words and papers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GlossaryDocument<'a> {
    /// The words that were asked for; all, if none was.
    pub words: Vec<&'a Entry>,
    /// The papers' authors.
    pub papers: Vec<Paper>,
}

/// A study or a scenario.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedEntry {
    /// Its id; a file's name.
    pub id: String,
    /// Its description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Why that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The paper that it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paper: Option<&'static str>,
}

/// A metric.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ListedMetric {
    /// Its word in studies and sweeps.
    pub metric: String,
    /// Its unit; null of a share, an index or a mere number.
    pub unit: Option<&'static str>,
    /// Its description.
    pub about: &'static str,
    /// Whether each flow has its own.
    pub of_flows: bool,
    /// Its meaning for all flows together: total, mean, greatest, greatest/least, or network where it is not one of flows.
    pub of_all: &'static str,
    /// Whether its course over time is known, so that it has deviations and percentiles of that.
    pub over_time: bool,
    /// Whether it has percentiles of every segment, request or packet.
    pub percentiles: bool,
}

impl From<&Metric> for ListedMetric {
    fn from(metric: &Metric) -> Self {
        Self {
            metric: metric.name(),
            unit: metric.unit(),
            about: metric.about(),
            of_flows: metric.is_of_flows(),
            of_all: metric.over_flows_name(),
            over_time: metric.has_series(),
            percentiles: metric.has_times(),
        }
    }
}
