//! The table of a comparison of worlds.

use super::{Column, Table, write_table};
use crate::compare::{Comparison, Stage};
use std::io;
use std::path::Path;

/// Writes [`comparison`] into a folder, as `stages`.
///
/// # Errors
/// If a file cannot be written.
pub fn write_comparison(folder: &Path, found: &Comparison) -> Result<(), io::Error> {
    write_table(folder, "stages", &comparison(found))
}

/// A row per world and flow, in the order of the worlds.
pub fn comparison(found: &Comparison) -> Table {
    let rows = || found.stages.iter().flat_map(|stage| (0..found.flows.len()).map(move |flow| (stage, flow)));
    let text = |of: &dyn Fn(&Stage, usize) -> String| Column::Text(rows().map(|(s, f)| of(s, f)).collect());
    let rates: Vec<f64> =
        found.stages.iter().flat_map(|stage| stage.rates_pps(&found.capacity_pps)).collect();
    vec![
        ("stage", text(&|stage, _| stage.name.into())),
        ("gap", text(&|stage, _| stage.gap.into())),
        ("flow", text(&|_, flow| found.flows[flow].clone())),
        ("rate_pps", Column::Number(rates)),
        ("share", Column::Number(rows().map(|(stage, flow)| stage.shares[flow]).collect())),
        (
            "counted_pps",
            Column::Optional(
                rows().map(|(stage, flow)| stage.counted_pps.as_ref().map(|counted| counted[flow])).collect(),
            ),
        ),
    ]
}
