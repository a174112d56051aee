//! A table as CSV (RFC 4180): a missing value is empty.

use super::{Column, Table};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// A file that grows by rows.
pub(super) struct Writer(BufWriter<File>);

impl Writer {
    /// A file with the names of these columns.
    pub(super) fn create<Name: AsRef<str>>(path: &Path, columns: &Table<Name>) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        let names: Vec<Cow<'_, str>> = columns.iter().map(|(name, _)| quoted(name.as_ref())).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Self(out))
    }

    pub(super) fn append<Name: AsRef<str>>(&mut self, table: &Table<Name>) -> io::Result<()> {
        let rows = table.first().map_or(0, |(_, column)| column.rows());
        debug_assert!(table.iter().all(|(_, column)| column.rows() == rows), "columns of one length");
        for row in 0..rows {
            for (place, (_, column)) in table.iter().enumerate() {
                self.0.write_all(if place > 0 { b"," } else { b"" })?;
                column.write_cell(row, &mut self.0)?;
            }
            self.0.write_all(b"\n")?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Column {
    pub(super) fn rows(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Optional(values) => values.len(),
            Self::Count(values) => values.len(),
        }
    }

    fn write_cell(&self, row: usize, out: &mut impl io::Write) -> io::Result<()> {
        match self {
            Self::Text(values) => out.write_all(quoted(&values[row]).as_bytes()),
            Self::Number(values) => write!(out, "{}", values[row]),
            Self::Optional(values) => values[row].map_or(Ok(()), |x| write!(out, "{x}")),
            Self::Count(values) => write!(out, "{}", values[row]),
        }
    }
}

/// Text as CSV wants it.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
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
    fn cells_are_quoted_and_missing_empty() {
        let table: Table = vec![
            ("name", Column::Text(vec!["a".into(), "b, \"c\"".into()])),
            ("x", Column::Optional(vec![None, Some(0.5)])),
            ("n", Column::Count(vec![1, -2])),
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let mut writer = Writer::create(&path, &table).unwrap();
        writer.append(&table).unwrap();
        writer.finish().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "name,x,n\na,,1\n\"b, \"\"c\"\"\",0.5,-2\n");
    }
}
