//! A sweep's result.

use crate::vary::{Axis, Swept};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A sweep's result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SweepDocument {
    /// The scenario as it was named.
    pub scenario: String,
    /// The keys that were varied, with their units.
    pub vary: Vec<String>,
    /// The metrics measured; `evenair list metrics` tells their meaning.
    pub metrics: Vec<String>,
    /// A row per point and flow: the value of each key of `vary`, and `flow`, which is "all" for all flows together. Each of
    /// `metrics` is an object with `mean`, `low` and `high` (the ends of its 95 % interval, null for a single seed) and `n`
    /// (seeds). It is null where the metric has no meaning.
    pub table: Vec<Map<String, Value>>,
    /// A row per point that was simulated: the value of each key of `vary`, and its `verdict`: which flows starve and why.
    pub verdicts: Vec<Map<String, Value>>,
}

impl SweepDocument {
    /// The result of a sweep of a scenario.
    pub fn of(scenario: &str, swept: &Swept) -> Self {
        Self {
            scenario: scenario.into(),
            vary: swept.axes.iter().map(Axis::title).collect(),
            metrics: swept.metrics.iter().map(ToString::to_string).collect(),
            table: swept.to_json(),
            verdicts: swept.verdicts_json(),
        }
    }
}
