//! A table as a Parquet file.

use super::{Column, Table};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

pub(super) fn write(path: &Path, table: &Table) -> Result<(), ParquetError> {
    let mut schema = String::from("message table {");
    for (name, column) in table {
        let kind = match column {
            Column::Text(_) => "required byte_array",
            Column::Number(_) => "required double",
            Column::Optional(_) => "optional double",
            Column::Count(_) => "required int64",
        };
        let text = if matches!(column, Column::Text(_)) { " (utf8)" } else { "" };
        let _ = write!(schema, " {kind} {name}{text};");
    }
    schema.push('}');
    let schema = Arc::new(parse_message_type(&schema)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(File::create(path)?, schema, Arc::new(properties))?;
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
    group.close()?;
    writer.close()?;
    Ok(())
}
