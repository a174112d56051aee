//! A study's result. Its rows are those of the tables, in JSON as in CSV and Parquet.

use crate::claim::{ClaimResult, Verdict};
use crate::outcome::Outcome;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A study's result.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StudyDocument {
    /// Its id, or a file's name.
    pub study: String,
    /// Its claims: rows of claims.csv.
    pub claims: Vec<ClaimRow>,
    /// Its table: rows of table.csv.
    pub table: Vec<TableRow>,
    /// How many claims hold, fail and are undecided.
    pub tally: TallyDocument,
    /// Seeds of a variant, at least.
    pub seeds: u32,
    /// Evenair's version.
    pub version: String,
    /// The commit that it was built from, with `-dirty` behind it where files were changed since; null if it was not built from a clone.
    pub commit: Option<String>,
    /// Every scenario, overrides applied and all defaults written out, by the name of its variant; `evenair schema` tells their keys.
    pub scenarios: Map<String, Value>,
}

/// Claims, counted.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct TallyDocument {
    /// They hold.
    pub hold: usize,
    /// They fail.
    pub fail: usize,
    /// Their interval lies on both sides of a bound.
    pub undecided: usize,
}

/// A claim and its measured value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimRow {
    /// The sentence.
    pub claim: String,
    /// Where the paper says so.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// The measured value; null if there is nothing to measure, or no finite number.
    pub measured: Option<f64>,
    /// Half of its 95 % interval; null where there is no chance, or a single seed.
    pub half_width_95: Option<f64>,
    /// How many values it is the mean of.
    pub seeds: usize,
    /// The condition under which the claim holds.
    pub required: String,
    /// The paper's number.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<f64>,
    /// The flow or node that it is of.
    pub reference_origin: Option<String>,
    /// The verdict of the runs.
    pub verdict: Verdict,
    /// Why it does not hold, where it does not and the study knows.
    pub why: Option<String>,
}

impl From<&ClaimResult> for ClaimRow {
    fn from(found: &ClaimResult) -> Self {
        Self {
            claim: found.claim.clone(),
            place: found.place.clone(),
            measured: found.measured,
            half_width_95: found.half_width,
            seeds: found.seeds,
            required: found.required.clone(),
            paper: found.paper,
            reference: found.reference.as_ref().map(|reference| reference.value),
            reference_origin: found.reference.as_ref().map(|reference| reference.origin.clone()),
            verdict: found.verdict,
            why: found.why.clone(),
        }
    }
}

/// One variant, one flow, one metric.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TableRow {
    /// The study.
    pub study: String,
    /// The variant.
    pub variant: String,
    /// The parameter's value, of a swept variant.
    pub x: Option<f64>,
    /// The flow. For all flows together, the kind of number: total, mean, greatest, greatest/least, all (a percentile over all
    /// flows), or network where the metric is not one of flows.
    pub flow: String,
    /// The metric measured; `evenair list metrics` tells its meaning.
    pub metric: String,
    /// The mean over seeds.
    pub mean: f64,
    /// Half of its 95 % interval; null where there is no chance, or a single seed.
    pub half_width_95: Option<f64>,
    /// Mean difference to the study's baseline, taken seed by seed.
    pub difference: Option<f64>,
    /// Half of its 95 % interval.
    pub difference_half_width_95: Option<f64>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<f64>,
    /// The flow or node that it is of.
    pub reference_origin: Option<String>,
    /// How many seeds the variant has.
    pub seeds: usize,
}

impl TableRow {
    /// All rows of a study's table.
    pub(crate) fn all(outcome: &Outcome) -> Vec<Self> {
        let row = |row: &crate::Row| Self {
            study: outcome.study.id.clone(),
            variant: row.variant.clone(),
            x: row.x,
            flow: row.flow.clone(),
            metric: row.quantity.to_string(),
            mean: row.mean,
            half_width_95: row.half_width,
            difference: row.difference.map(|difference| difference.mean),
            difference_half_width_95: row.difference.and_then(|difference| difference.half_width),
            paper: row.paper,
            reference: row.reference.as_ref().map(|reference| reference.value),
            reference_origin: row.reference.as_ref().map(|reference| reference.origin.clone()),
            seeds: outcome.variants.iter().find(|v| v.id == row.variant).map_or(0, |v| v.runs.len()),
        };
        outcome.table.iter().map(row).collect()
    }
}

impl StudyDocument {
    /// A study's result: claims, table, and every parameter that made them.
    pub fn of(outcome: &Outcome) -> Self {
        let tally = outcome.tally();
        let scenario =
            |(name, scenario)| (name, serde_json::to_value(scenario).expect("a scenario is plain data"));
        Self {
            study: outcome.study.id.clone(),
            claims: outcome.claims.iter().map(ClaimRow::from).collect(),
            table: TableRow::all(outcome),
            tally: TallyDocument { hold: tally.hold, fail: tally.fail, undecided: tally.undecided },
            seeds: outcome.seeds,
            version: env!("CARGO_PKG_VERSION").into(),
            commit: evenair_results::commit().map(Into::into),
            scenarios: outcome.scenarios().map(scenario).collect(),
        }
    }
}
