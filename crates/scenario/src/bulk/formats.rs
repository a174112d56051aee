//! The formats of files with nodes and links, by their endings: CSV, `GeoJSON`, `GraphML`.

use super::columns::{Columns, FLOWS, NODES};
use super::{geojson, graphml};
use crate::lists::{Row, rows, text};
use std::path::Path;

/// Whether the nodes of a file have places on the plane or on the globe. A file that is no CSV file may have links alone.
///
/// # Errors
/// Names the missing parts of a list of nodes.
pub fn nodes_have_places(path: &Path) -> Result<bool, String> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let rows = nodes(path.parent().unwrap_or(Path::new("")), &file)?;
    let head = rows.first().ok_or_else(|| format!("{file} is empty"))?;
    Ok(Columns::of(&file, head, NODES)?.place().is_some())
}

/// The rows of a list of nodes, a head among them.
pub(super) fn nodes(folder: &Path, file: &str) -> Result<Vec<Row>, String> {
    match Format::of(file) {
        Format::Csv => rows(folder, file),
        Format::GeoJson => geojson::nodes(file, &text(folder, file)?, NODES),
        Format::GraphMl => graphml::nodes(file, &text(folder, file)?, NODES),
    }
}

/// The rows of a list of links, a head among them unless they are of a CSV file.
pub(crate) fn links(folder: &Path, file: &str) -> Result<Vec<Row>, String> {
    match Format::of(file) {
        Format::Csv => rows(folder, file),
        Format::GeoJson => geojson::links(file, &text(folder, file)?, NODES, FLOWS),
        Format::GraphMl => graphml::links(file, &text(folder, file)?),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    GeoJson,
    GraphMl,
}

impl Format {
    pub(crate) fn of(file: &str) -> Self {
        let ending = Path::new(file).extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "geojson" | "json" => Self::GeoJson,
            "graphml" | "xml" => Self::GraphMl,
            _ => Self::Csv,
        }
    }
}
