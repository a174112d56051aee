//! Tables of a study: `table` has a row per variant, flow and metric, `claims` one per claim.

use crate::claim::ClaimResult;
use crate::document::{ClaimRow, TableRow};
use crate::outcome::{Outcome, VariantOutcome};
use evenair_results::manifest;
use evenair_results::tables::{Column, Group, Table, write, write_table};
use serde_json::{Map, Value};
use std::io;
use std::path::Path;

/// Writes a study's results: `table` and `claims`, beside the tables of its runs.
///
/// # Errors
/// If a file cannot be written.
pub fn write_study(folder: &Path, outcome: &Outcome) -> Result<(), io::Error> {
    write(folder, &outcome.groups())?;
    write_table(folder, "table", &summary(outcome))?;
    write_table(folder, "claims", &claims(&outcome.claims))
}

/// A row per claim of a study: those of its JSON.
pub fn claims(claims: &[ClaimResult]) -> Table {
    let rows: Vec<ClaimRow> = claims.iter().map(ClaimRow::from).collect();
    let text = |of: fn(&ClaimRow) -> Option<String>| {
        Column::Text(rows.iter().map(|row| of(row).unwrap_or_default()).collect())
    };
    let number = |of: fn(&ClaimRow) -> Option<f64>| Column::Optional(rows.iter().map(of).collect());
    vec![
        ("claim", text(|r| Some(r.claim.clone()))),
        ("where", text(|r| r.place.clone())),
        ("measured", number(|r| r.measured)),
        ("half_width_95", number(|r| r.half_width_95)),
        ("seeds", Column::Count(rows.iter().map(|r| (r.seeds as u64).cast_signed()).collect())),
        ("required", text(|r| Some(r.required.clone()))),
        ("paper", number(|r| r.paper)),
        ("reference", number(|r| r.reference)),
        ("reference_origin", text(|r| r.reference_origin.clone())),
        ("verdict", text(|r| Some(r.verdict.name().into()))),
        ("why", text(|r| r.why.clone())),
    ]
}

/// A row per variant, flow and metric of a study, means over seeds beside the paper's numbers: those of its JSON.
pub fn summary(outcome: &Outcome) -> Table {
    let rows = TableRow::all(outcome);
    let text = |of: fn(&TableRow) -> String| Column::Text(rows.iter().map(of).collect());
    let number = |of: fn(&TableRow) -> Option<f64>| Column::Optional(rows.iter().map(of).collect());
    vec![
        ("study", text(|r| r.study.clone())),
        ("variant", text(|r| r.variant.clone())),
        ("x", number(|r| r.x)),
        ("flow", text(|r| r.flow.clone())),
        ("metric", text(|r| r.metric.clone())),
        ("mean", Column::Number(rows.iter().map(|r| r.mean).collect())),
        ("half_width_95", number(|r| r.half_width_95)),
        ("difference", number(|r| r.difference)),
        ("difference_half_width_95", number(|r| r.difference_half_width_95)),
        ("paper", number(|r| r.paper)),
        ("reference", number(|r| r.reference)),
        ("reference_origin", text(|r| r.reference_origin.clone().unwrap_or_default())),
        ("seeds", Column::Count(rows.iter().map(|r| (r.seeds as u64).cast_signed()).collect())),
    ]
}

impl Outcome {
    /// The runs of each variant.
    pub fn groups<'a>(&'a self) -> Vec<Group<'a>> {
        let group =
            |v: &'a VariantOutcome| Group { variant: &v.id, x: v.point.as_ref().map(|p| p.x), runs: &v.runs };
        self.variants.iter().map(group).collect()
    }

    /// The origin of the results: command and program, and every run with the hash of its trajectory.
    pub fn manifest(&self, command_line: &str) -> Map<String, Value> {
        let mut manifest = manifest(command_line);
        manifest.insert("study".into(), self.study.id.clone().into());
        let of =
            |group: &Group<'_>| group.runs.iter().map(|run| group.manifest_entry(run)).collect::<Vec<_>>();
        manifest.insert("runs".into(), self.groups().iter().flat_map(of).collect());
        manifest
    }
}
