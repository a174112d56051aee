//! A table as CSV (RFC 4180): what is missing is empty.

use super::{Column, Table};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

pub(super) fn write<Name: AsRef<str>>(path: &Path, table: &Table<Name>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let rows = table.first().map_or(0, |(_, column)| column.rows());
    debug_assert!(table.iter().all(|(_, column)| column.rows() == rows), "columns of one length");
    let names: Vec<Cow<'_, str>> = table.iter().map(|(name, _)| quoted(name.as_ref())).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in 0..rows {
        let cells: Vec<Cow<'_, str>> = table.iter().map(|(_, column)| column.cell(row)).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    out.flush()
}

impl Column {
    fn rows(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Optional(values) => values.len(),
            Self::Count(values) => values.len(),
        }
    }

    fn cell(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Text(values) => quoted(&values[row]),
            Self::Number(values) => values[row].to_string().into(),
            Self::Optional(values) => values[row].map(|x| x.to_string()).unwrap_or_default().into(),
            Self::Count(values) => values[row].to_string().into(),
        }
    }
}

/// Text as CSV wants it.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_quotes_has_them_and_what_is_missing_is_empty() {
        let table: Table = vec![
            ("name", Column::Text(vec!["a".into(), "b, \"c\"".into()])),
            ("x", Column::Optional(vec![None, Some(0.5)])),
            ("n", Column::Count(vec![1, -2])),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        write(&path, &table).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "name,x,n\na,,1\n\"b, \"\"c\"\"\",0.5,-2\n");
    }
}
