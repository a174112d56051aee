//! Time series in long form: a row per instant, object and metric. A missing value has no row.

use super::{Column, Group, Table, TableWriter};
use crate::record::{Values, flow_columns, link_columns};
use evenair_netsim::Series;
use std::borrow::Cow;
use std::io;
use std::path::Path;

/// Rows that are held in memory before they are written: a group of rows in Parquet.
const ROWS_HELD: usize = 50_000;

/// Some points of one run: the variant, the seed, and the points.
type Part<'a> = (&'a str, u64, Cow<'a, Series>);

/// The series of all runs that have them.
pub(super) fn parts<'a>(groups: &'a [Group<'_>]) -> impl Iterator<Item = Part<'a>> {
    let of_group = |group: &'a Group<'_>| {
        let of_run = |run: &'a crate::RunRecord| run.series.as_ref().map(|series| (run.seed, series));
        group
            .runs
            .iter()
            .filter_map(of_run)
            .map(|(seed, series)| (group.variant, seed, Cow::Borrowed(series)))
    };
    groups.iter().flat_map(of_group)
}

pub(super) fn series(groups: &[Group<'_>]) -> Table {
    let mut rows = Rows::default();
    for (variant, seed, part) in parts(groups) {
        rows.add(variant, seed, &part, |_| Ok::<_, io::Error>(())).expect("memory takes it");
    }
    rows.into_table()
}

/// Writes `series` into a folder, part by part: of each the variant, the seed, and some points, the next in order.
///
/// # Errors
/// If a part cannot be had, or the file not be written.
pub fn write_series<'a>(
    folder: &Path,
    parts: impl IntoIterator<Item = io::Result<(&'a str, u64, Cow<'a, Series>)>>,
) -> io::Result<()> {
    let mut rows = Rows::default();
    let mut writer = TableWriter::create(folder, "series", &Rows::default().into_table())?;
    let mut spill = |rows: &mut Rows| writer.append(&std::mem::take(rows).into_table());
    for part in parts {
        let (variant, seed, points) = part?;
        rows.add(
            variant,
            seed,
            &points,
            |rows| {
                if rows.value.len() < ROWS_HELD { Ok(()) } else { spill(rows) }
            },
        )?;
    }
    spill(&mut rows)?;
    writer.finish()
}

#[derive(Default)]
struct Rows {
    variant: Vec<String>,
    seed: Vec<i64>,
    time_s: Vec<f64>,
    object: Vec<String>,
    metric: Vec<String>,
    value: Vec<f64>,
}

impl Rows {
    /// Adds the rows of some points; after each point `at_point` may take the rows so far.
    fn add<E>(
        &mut self,
        variant: &str,
        seed: u64,
        points: &Series,
        mut at_point: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let flows =
            points.flows.iter().map(|flow| (format!("flow {}", flow.flow), flow_columns(flow).to_vec()));
        let links =
            points.links.iter().map(|link| (format!("queue {}", link.queue), link_columns(link).to_vec()));
        let objects: Vec<(String, Vec<(&str, Values<'_>)>)> = flows.chain(links).collect();
        for (point, &time_s) in points.time_s.iter().enumerate() {
            for (object, columns) in &objects {
                for (metric, values) in columns {
                    let Some(value) = values.at(point) else { continue };
                    self.variant.push(variant.into());
                    self.seed.push(seed.cast_signed());
                    self.time_s.push(time_s);
                    self.object.push(object.clone());
                    self.metric.push((*metric).into());
                    self.value.push(value);
                }
            }
            at_point(self)?;
        }
        Ok(())
    }

    fn into_table(self) -> Table {
        vec![
            ("variant", Column::Text(self.variant)),
            ("seed", Column::Count(self.seed)),
            ("time_s", Column::Number(self.time_s)),
            ("object", Column::Text(self.object)),
            ("metric", Column::Text(self.metric)),
            ("value", Column::Number(self.value)),
        ]
    }
}
