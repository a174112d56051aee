//! Nodes, flows, signals and walls that a scenario has in files: `nodes = { file = "nodes.csv" }`.
//!
//! Each file becomes the list that it stands for, in the place of the table that names it, before anything else is read: overrides,
//! checks and everything after them see a list. The first line names the columns, by the words that people use for them.

mod columns;
mod formats;
mod geojson;
mod globe;
mod graphml;
#[cfg(test)]
mod tests;
mod tracks;

use crate::error::Mistake;
use crate::lists::{Row, rows};
pub use formats::nodes_have_places;
pub(crate) use formats::{Format, links as link_rows};

use columns::{Columns, FLOWS, NODES, SIGNALS, WALLS, Word};
use globe::Plane;
use std::borrow::Cow;
use std::path::Path;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Value};

/// The list that a row of a file becomes an entry of.
type Entries = fn(&str, &[Row], &Columns<'_>) -> Result<Vec<InlineTable>, String>;

/// The lists that may stand in files, with the words of their columns.
const LISTS: [(&str, &[Word], Entries); 4] = [
    ("nodes", NODES, nodes),
    ("flows", FLOWS, flows),
    ("signals", SIGNALS, signals),
    ("walls", WALLS, walls),
];

/// A scenario's text with the lists that stand in files, which are looked for in `folder`.
pub(crate) fn inlined<'a>(text: &'a str, folder: &Path) -> Result<Cow<'a, str>, Mistake> {
    if !text.contains("file") {
        return Ok(text.into());
    }
    let Ok(mut document) = text.parse::<DocumentMut>() else { return Ok(text.into()) };
    let file_of = |document: &DocumentMut, list: &str| {
        let file = document.get(list)?.as_table_like()?.get("file")?.as_str()?;
        Some(file.to_string())
    };
    let nodes = file_of(&document, "nodes");
    let mut any = false;
    let mut put = |document: &mut DocumentMut, list: &str, found: Result<Vec<InlineTable>, String>| {
        let found = found.map_err(|why| Mistake::at(&format!("{list}.file"), why))?;
        document[list] = Item::Value(Value::Array(found.into_iter().collect()));
        any = true;
        Ok(())
    };
    for (list, words, entries) in LISTS {
        if let Some(file) = file_of(&document, list) {
            put(&mut document, list, read(folder, &file, words, entries))?;
        }
    }
    if let Some(file) = file_of(&document, "tracks") {
        put(&mut document, "tracks", tracks::tracks(folder, &file, nodes.as_deref()))?;
    }
    Ok(if any { document.to_string().into() } else { text.into() })
}

fn read(folder: &Path, file: &str, words: &[Word], entries: Entries) -> Result<Vec<InlineTable>, String> {
    let rows = if words == NODES { formats::nodes(folder, file)? } else { rows(folder, file)? };
    let (head, rows) = parts(file, &rows)?;
    entries(file, rows, &Columns::of(file, head, words)?)
}

/// The first line, and the others.
fn parts<'a>(file: &str, rows: &'a [Row]) -> Result<(&'a Row, &'a [Row]), String> {
    let parts = rows.split_first().filter(|(_, rows)| !rows.is_empty());
    parts
        .ok_or_else(|| format!("{file} needs a first line that names its columns, and a line for each entry"))
}

/// Nodes: an id and a place, in metres or in degrees; height, channel and transmission power, where there are such columns.
fn nodes(file: &str, rows: &[Row], columns: &Columns<'_>) -> Result<Vec<InlineTable>, String> {
    columns.need(file, &["id"])?;
    let places = places(file, rows, columns)?;
    let node = |(row, [east, north]): (&Row, [f64; 2])| {
        let mut node = InlineTable::new();
        node.insert("id", columns.text(file, row, "id")?.into());
        let mut at = Array::from_iter([east, north]);
        if let Some(up) = columns.optional(row, "height") {
            at.push(number(file, row, "height", up)?);
        }
        node.insert("at", at.into());
        if let Some(channel) = columns.optional(row, "channel") {
            node.insert("channel", (number(file, row, "channel", channel)? as i64).into());
        }
        if let Some(power) = columns.optional(row, "transmit_power") {
            node.insert("transmit_power", with_unit(power, "dBm").into());
        }
        Ok(node)
    };
    rows.iter().zip(places).map(node).collect()
}

/// East and north of each row \[m\]: given in metres, or in degrees and projected on a plane around their middle.
fn places(file: &str, rows: &[Row], columns: &Columns<'_>) -> Result<Vec<[f64; 2]>, String> {
    let mut places = coordinates(file, rows, columns)?;
    if columns.are_degrees() {
        let plane = plane(file, rows, &places)?;
        places.iter_mut().for_each(|place| *place = plane.project(*place));
    }
    Ok(places)
}

/// The plane around places in degrees.
fn plane(file: &str, rows: &[Row], places: &[[f64; 2]]) -> Result<Plane, String> {
    Plane::around(places).map_err(|(place, why)| format!("{}: {why}", rows[place].of(file)))
}

/// The coordinates of each row, as they stand there: metres to the east and north, or degrees of longitude and latitude.
fn coordinates(file: &str, rows: &[Row], columns: &Columns<'_>) -> Result<Vec<[f64; 2]>, String> {
    let (first, second) = columns.place().ok_or_else(|| {
        format!("{file} has no places: columns are id, x and y in metres, or id, latitude and longitude")
    })?;
    let places =
        rows.iter().map(|row| Ok([columns.number(file, row, first)?, columns.number(file, row, second)?]));
    places.collect()
}

/// Flows: their ends, an id (by default their number), and any other key of a flow that has a column.
fn flows(file: &str, rows: &[Row], columns: &Columns<'_>) -> Result<Vec<InlineTable>, String> {
    columns.need(file, &["from", "to"])?;
    let flow = |(index, row): (usize, &Row)| {
        let mut flow = InlineTable::new();
        let id = columns.optional(row, "id").map_or_else(|| (index + 1).to_string(), String::from);
        flow.insert("id", id.into());
        for key in ["from", "to"] {
            flow.insert(key, columns.text(file, row, key)?.into());
        }
        for key in
            ["traffic", "rate", "size", "transfer", "start", "stop", "window", "application_rate", "interval"]
        {
            if let Some(cell) = columns.optional(row, key) {
                flow.insert(key, cell.into());
            }
        }
        if let Some(weight) = columns.optional(row, "weight") {
            flow.insert("weight", number(file, row, "weight", weight)?.into());
        }
        Ok(flow)
    };
    rows.iter().enumerate().map(flow).collect()
}

/// Signals: both ends and the power at which one receives the other.
fn signals(file: &str, rows: &[Row], columns: &Columns<'_>) -> Result<Vec<InlineTable>, String> {
    columns.need(file, &["from", "to", "power"])?;
    let signal = |row: &Row| {
        let mut signal = InlineTable::new();
        for key in ["from", "to"] {
            signal.insert(key, columns.text(file, row, key)?.into());
        }
        signal.insert("power", with_unit(columns.text(file, row, "power")?, "dBm").into());
        if let Some(one_way) = columns.optional(row, "one_way") {
            signal.insert("one_way", ["true", "yes", "1"].contains(&one_way.to_lowercase().as_str()).into());
        }
        Ok(signal)
    };
    rows.iter().map(signal).collect()
}

/// Walls: both ends in metres, and the loss of a signal behind it.
fn walls(file: &str, rows: &[Row], columns: &Columns<'_>) -> Result<Vec<InlineTable>, String> {
    columns.need(file, &["x1", "y1", "x2", "y2", "loss"])?;
    let wall = |row: &Row| {
        let end = |x: &str, y: &str| -> Result<Value, String> {
            Ok(Array::from_iter([columns.number(file, row, x)?, columns.number(file, row, y)?]).into())
        };
        let mut wall = InlineTable::new();
        wall.insert("from", end("x1", "y1")?);
        wall.insert("to", end("x2", "y2")?);
        wall.insert("loss", with_unit(columns.text(file, row, "loss")?, "dB").into());
        Ok(wall)
    };
    rows.iter().map(wall).collect()
}

/// A cell that is a number; spreadsheets of some languages write a decimal comma.
fn number(file: &str, row: &Row, column: &str, cell: &str) -> Result<f64, String> {
    let found = cell.parse::<f64>().or_else(|_| cell.replacen(',', ".", 1).parse());
    let found = found.ok().filter(|x| x.is_finite());
    found.ok_or_else(|| format!("{}: {column} is \"{cell}\", which is no number", row.of(file)))
}

/// A quantity with its unit; the usual one, where a cell is a bare number.
fn with_unit(cell: &str, unit: &str) -> String {
    if cell.parse::<f64>().is_ok() { format!("{cell} {unit}") } else { cell.into() }
}
