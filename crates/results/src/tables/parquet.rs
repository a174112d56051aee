//! A table as a Parquet file.

use super::{Column, Table};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as PhysicalType};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// A file that grows by groups of rows.
pub(super) struct Writer(SerializedFileWriter<File>);

impl Writer {
    /// A file with these columns.
    pub(super) fn create<Name: AsRef<str>>(path: &Path, columns: &Table<Name>) -> Result<Self, ParquetError> {
        let fields = columns.iter().map(|(name, column)| field(name.as_ref(), column));
        let schema =
            Type::group_type_builder("table").with_fields(fields.collect::<Result<_, _>>()?).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        SerializedFileWriter::new(File::create(path)?, Arc::new(schema), Arc::new(properties)).map(Self)
    }

    pub(super) fn append<Name: AsRef<str>>(&mut self, table: &Table<Name>) -> Result<(), ParquetError> {
        write_group(&mut self.0, table)
    }

    pub(super) fn finish(self) -> Result<(), ParquetError> {
        self.0.close().map(drop)
    }
}

fn write_group<Name: AsRef<str>>(
    writer: &mut SerializedFileWriter<File>,
    table: &Table<Name>,
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (_, column) in table {
        let Some(mut place) = group.next_column()? else { break };
        match (place.untyped(), column) {
            (ColumnWriter::ByteArrayColumnWriter(out), Column::Text(values)) => {
                let bytes: Vec<ByteArray> = values.iter().map(|v| v.as_str().into()).collect();
                out.write_batch(&bytes, None, None)?;
            }
            (ColumnWriter::DoubleColumnWriter(out), Column::Number(values)) => {
                out.write_batch(values, None, None)?;
            }
            (ColumnWriter::DoubleColumnWriter(out), Column::Optional(values)) => {
                let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                let present: Vec<f64> = values.iter().flatten().copied().collect();
                out.write_batch(&present, Some(&levels), None)?;
            }
            (ColumnWriter::Int64ColumnWriter(out), Column::Count(values)) => {
                out.write_batch(values, None, None)?;
            }
            _ => unreachable!("the schema was made from the columns"),
        }
        place.close()?;
    }
    group.close().map(drop)
}

fn field(name: &str, column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, repetition, converted) = match column {
        Column::Text(_) => (PhysicalType::BYTE_ARRAY, Repetition::REQUIRED, ConvertedType::UTF8),
        Column::Number(_) => (PhysicalType::DOUBLE, Repetition::REQUIRED, ConvertedType::NONE),
        Column::Optional(_) => (PhysicalType::DOUBLE, Repetition::OPTIONAL, ConvertedType::NONE),
        Column::Count(_) => (PhysicalType::INT64, Repetition::REQUIRED, ConvertedType::NONE),
    };
    let builder = Type::primitive_type_builder(name, physical);
    builder.with_repetition(repetition).with_converted_type(converted).build().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::super::{Group, all, csv, write_table};
    use crate::record::{RecordOptions, RunRecord};
    use evenair_netsim::Network;
    use evenair_scenario::Resolved;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::fs::File;

    /// A value as CSV has it.
    fn cell(field: &Field) -> String {
        match field {
            Field::Null => String::new(),
            Field::Str(text) => csv::quoted(text).into_owned(),
            Field::Double(number) => number.to_string(),
            Field::Long(number) => number.to_string(),
            other => panic!("no table has {other:?}"),
        }
    }

    #[test]
    fn parquet_equals_csv() {
        let text = include_str!("../../../../scenarios/chen10/a.toml");
        let short = ["duration=2 s".to_string(), "warmup=1 s".to_string()];
        let scenario = Resolved::parse("a.toml", text, &short).unwrap();
        let options = RecordOptions { series: true, times: true, ..RecordOptions::default() };
        let result = Network::run(scenario.network(), options.run_spec(&scenario, 1));
        let runs = [RunRecord::new(&scenario, result, options)];
        let folder = tempfile::tempdir().unwrap();
        for (name, table) in all(&[Group { variant: "a, \"b\"", x: None, runs: &runs }]) {
            let path = folder.path().join(name);
            write_table(folder.path(), name, &table).unwrap();
            let as_csv = std::fs::read_to_string(path.with_extension("csv")).unwrap();
            let reader = SerializedFileReader::new(File::open(path.with_extension("parquet")).unwrap());
            let reader = reader.unwrap();
            let schema = reader.metadata().file_metadata().schema();
            let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
            let rows = reader.get_row_iter(None).unwrap().map(|row| {
                let row = row.unwrap();
                row.get_column_iter().map(|(_, field)| cell(field)).collect::<Vec<_>>().join(",")
            });
            let lines: Vec<String> = std::iter::once(names.join(",")).chain(rows).collect();
            assert!(lines.len() > 1 && as_csv == lines.join("\n") + "\n", "{name}");
        }
    }
}
