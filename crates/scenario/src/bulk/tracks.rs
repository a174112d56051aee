//! Tracks of nodes from a file: a point in each line.

use super::columns::{Columns, NODES, TRACKS};
use super::{coordinates, formats, number, parts, places, plane};
use crate::lists::{Row, rows};
use std::path::Path;
use toml_edit::{Array, InlineTable, Value};

/// Tracks in the order in which a file names their nodes; a node's lines are in the order of time. Degrees are projected on the plane
/// of the nodes; `nodes` is their file.
pub(super) fn tracks(folder: &Path, file: &str, nodes: Option<&str>) -> Result<Vec<InlineTable>, String> {
    let all = rows(folder, file)?;
    let (head, rows) = parts(file, &all)?;
    let columns = Columns::of(file, head, TRACKS)?;
    columns.need(file, &["node", "time"])?;
    let places = if columns.are_degrees() {
        on_ground_of(folder, nodes, file, rows, &columns)?
    } else {
        places(file, rows, &columns)?
    };
    by_node(file, rows, &columns, places)
}

/// Places in degrees on the plane of the nodes' own \[m\].
fn on_ground_of(
    folder: &Path,
    nodes: Option<&str>,
    file: &str,
    rows: &[Row],
    columns: &Columns<'_>,
) -> Result<Vec<[f64; 2]>, String> {
    let needed = || format!("{file} has degrees: give the nodes in a file with latitude and longitude too");
    let of_nodes = nodes.ok_or_else(needed)?;
    let all = formats::nodes(folder, of_nodes)?;
    let (head, others) = parts(of_nodes, &all)?;
    let known = Columns::of(of_nodes, head, NODES)?;
    if !known.are_degrees() {
        return Err(needed());
    }
    let ground = plane(of_nodes, others, &coordinates(of_nodes, others, &known)?)?;
    Ok(coordinates(file, rows, columns)?.into_iter().map(|place| ground.project(place)).collect())
}

fn by_node(
    file: &str,
    rows: &[Row],
    columns: &Columns<'_>,
    places: Vec<[f64; 2]>,
) -> Result<Vec<InlineTable>, String> {
    let mut nodes: Vec<(&str, f64, Array)> = Vec::new();
    for (row, [east, north]) in rows.iter().zip(places) {
        let (node, seconds) = (columns.text(file, row, "node")?, columns.number(file, row, "time")?);
        let place = nodes.iter().position(|(other, ..)| *other == node).unwrap_or_else(|| {
            nodes.push((node, f64::NEG_INFINITY, Array::new()));
            nodes.len() - 1
        });
        let (_, before, points) = &mut nodes[place];
        if seconds < 0.0 {
            return Err(format!("{file}, line {}: time is {seconds} s; a run begins at 0", row.line));
        }
        if seconds <= *before {
            return Err(format!(
                "{file}, line {}: {seconds} s of \"{node}\" comes after {before} s; sort the lines of each node by time",
                row.line
            ));
        }
        *before = seconds;
        let mut at = Array::from_iter([east, north]);
        if let Some(up) = columns.optional(row, "height") {
            at.push(number(file, row, "height", up)?);
        }
        let mut point = InlineTable::new();
        point.insert("time", format!("{seconds} s").into());
        point.insert("at", at.into());
        points.push(point);
    }
    let table = |(node, _, points): (&str, f64, Array)| {
        let mut table = InlineTable::new();
        table.insert("node", node.into());
        table.insert("points", Value::Array(points));
        table
    };
    Ok(nodes.into_iter().map(table).collect())
}
