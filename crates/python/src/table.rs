//! Tables of columns, which Arrow's libraries take without a copy.

use arrow_array::builder::StringBuilder;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use evenair_results::tables::Column;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::sync::Arc;

/// A column's name, its type, and its values.
type Part<'py> = (String, &'static str, Bound<'py, PyAny>);

/// A table.
#[pyclass(frozen, module = "evenair._evenair")]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// The columns become Arrow's: numbers are taken as they lie, words are put together.
    pub(crate) fn new(columns: impl IntoIterator<Item = (impl Into<String>, Column)>) -> PyResult<Self> {
        let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
            .into_iter()
            .map(|(name, column)| {
                let nullable = matches!(column, Column::Optional(_));
                let array = array(column);
                (Field::new(name, array.data_type().clone(), nullable), array)
            })
            .unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(Self).map_err(arrow)
    }
}

fn array(column: Column) -> ArrayRef {
    match column {
        Column::Text(words) => {
            let bytes = words.iter().map(String::len).sum();
            let mut builder = StringBuilder::with_capacity(words.len(), bytes);
            words.iter().for_each(|word| builder.append_value(word));
            Arc::new(builder.finish())
        }
        Column::Number(values) => Arc::new(Float64Array::from(values)),
        Column::Optional(values) => Arc::new(Float64Array::from(values)),
        Column::Count(values) => Arc::new(Int64Array::from(values)),
    }
}

fn arrow(error: ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// The names of its columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// A column as a list; a missing value is None.
    #[pyo3(signature = (name) -> "list[str] | list[int] | list[float] | list[float | None]")]
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.0.column_by_name(name).ok_or_else(|| {
            PyKeyError::new_err(format!(
                "there is no column \"{name}\"; there are {}",
                self.column_names().join(", ")
            ))
        })?;
        let column = column.as_any();
        if let Some(words) = column.downcast_ref::<StringArray>() {
            PyList::new(py, words.iter())
        } else if let Some(counts) = column.downcast_ref::<Int64Array>() {
            PyList::new(py, counts.values())
        } else if let Some(numbers) = column.downcast_ref::<Float64Array>() {
            PyList::new(py, numbers.iter().collect::<Vec<_>>())
        } else {
            unreachable!("a table is made of words, counts and numbers")
        }
    }

    /// The arguments that `__reduce__` gave.
    #[staticmethod]
    fn _restored(columns: Vec<(String, String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let read = |kind: &str, values: &Bound<'_, PyAny>| -> PyResult<Column> {
            Ok(match kind {
                "text" => Column::Text(values.extract()?),
                "number" => Column::Number(values.extract()?),
                "count" => Column::Count(values.extract()?),
                _ => Column::Optional(values.extract()?),
            })
        };
        let columns = columns.iter().map(|(name, kind, values)| Ok((name.clone(), read(kind, values)?)));
        Self::new(columns.collect::<PyResult<Vec<_>>>()?)
    }

    /// Lets it cross to another process: its columns as lists.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Vec<Part<'py>>,))> {
        let (py, table) = (slf.py(), slf.get());
        let schema = table.0.schema();
        let part = |field: &Arc<Field>| {
            let kind = match field.data_type() {
                DataType::Utf8 => "text",
                DataType::Int64 => "count",
                _ if field.is_nullable() => "optional",
                _ => "number",
            };
            Ok((field.name().clone(), kind, table.column(py, field.name())?.into_any()))
        };
        let parts = schema.fields().iter().map(part).collect::<PyResult<_>>()?;
        Ok((slf.get_type().getattr("_restored")?, (parts,)))
    }

    /// Arrow's `PyCapsule` interface: one batch, handed over as it lies.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a producer may leave it alone
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// The schema alone.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(arrow)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}
