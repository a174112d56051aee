//! Time series that are too long for memory, on disk.
//!
//! The file has no name, so the kernel removes it when the program ends in any way. It holds portions of points, each column by
//! column: a reader of rows reads portion after portion, a reader of columns a piece of each.

use super::{Values, flow_columns, link_columns};
use evenair_netsim::{FlowSeries, LinkSeries, RunResult, Series};
use serde::ser::{Error as _, SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes of a value.
const VALUE: usize = size_of::<f64>();

/// The time series of one run, on disk. A full disk does not end the run: reading such a file returns the failure.
#[derive(Debug)]
pub struct SeriesFile {
    file: io::Result<File>,
    /// Where each portion begins, and how many points it has.
    portions: Vec<(u64, usize)>,
    end: u64,
    /// Whether a column is empty: its quantity has no meaning there.
    is_empty: Vec<bool>,
    flows: Vec<String>,
    links: Vec<String>,
}

impl SeriesFile {
    /// A file on the disk of this folder.
    pub fn create(folder: &Path) -> Self {
        let file = tempfile::tempfile_in(folder);
        Self {
            file,
            portions: Vec::new(),
            end: 0,
            is_empty: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
        }
    }

    /// Adds points behind the last.
    pub fn append(&mut self, portion: &Series) {
        let Ok(file) = &mut self.file else { return };
        let points = portion.time_s.len();
        let columns = columns(portion);
        let mut bytes = Vec::with_capacity(columns.len() * points * VALUE);
        for column in &columns {
            let values = (0..points).map(|point| column.at(point).unwrap_or(f64::NAN));
            values.for_each(|value| bytes.extend(value.to_le_bytes()));
        }
        self.is_empty = columns.iter().map(Values::is_empty).collect();
        if let Err(error) = file.write_all(&bytes) {
            self.file = Err(error);
            return;
        }
        self.portions.push((self.end, points));
        self.end += bytes.len() as u64;
    }

    /// Names the columns.
    pub fn name(&mut self, result: &RunResult) {
        self.flows = result.flows.iter().map(|flow| flow.flow.clone()).collect();
        self.links = result.links.iter().map(|link| link.queue.clone()).collect();
    }

    /// All points, some hundred at a time.
    pub fn portions(&self) -> impl Iterator<Item = io::Result<Series>> {
        let whole = |portion| self.record(|column| self.piece(portion, column));
        (0..self.portions.len()).map(whole).chain(self.failure().map(Err))
    }

    /// So many points at most, each the mean of as many that follow each other, at the time of the last of them: the resolution
    /// of a figure.
    ///
    /// # Errors
    /// If the disk was full, or fails.
    pub fn thinned(&self, points_max: usize) -> io::Result<Series> {
        let points: usize = self.portions.iter().map(|(_, points)| points).sum();
        let together = points.div_ceil(points_max.max(1)).max(1);
        self.record(|column| {
            let mut means = Vec::with_capacity(points.div_ceil(together));
            let mut group = Vec::with_capacity(together);
            let mut put = |group: &mut Vec<Option<f64>>| {
                let present = group.iter().flatten();
                let count = present.clone().count();
                let mean = (count > 0).then(|| present.sum::<f64>() / count as f64);
                means.push(if column == 0 { group.last().copied().flatten() } else { mean });
                group.clear();
            };
            for portion in 0..self.portions.len() {
                for value in self.piece(portion, column)? {
                    group.push(value);
                    if group.len() == together {
                        put(&mut group);
                    }
                }
            }
            if !group.is_empty() {
                put(&mut group);
            }
            Ok(means)
        })
    }

    /// A record of the columns that `read` returns.
    fn record(&self, mut read: impl FnMut(usize) -> io::Result<Vec<Option<f64>>>) -> io::Result<Series> {
        if let Some(failure) = self.failure() {
            return Err(failure);
        }
        let mut column = 0..;
        let mut next = || {
            let column = column.next().expect("it has no end");
            if self.is_empty.get(column).is_none_or(|empty| *empty) { Ok(Vec::new()) } else { read(column) }
        };
        let all = |values: Vec<Option<f64>>| values.into_iter().flatten().collect();
        let mut record = Series { time_s: all(next()?), ..Series::default() };
        for flow in &self.flows {
            record.flows.push(FlowSeries {
                flow: flow.clone(),
                goodput_pps: all(next()?),
                congestion_window: all(next()?),
                round_trip_s: all(next()?),
                connections: all(next()?),
                delay_s: next()?,
                loss: next()?,
                queueing_delay_s: next()?,
            });
        }
        for queue in &self.links {
            record.links.push(LinkSeries {
                queue: queue.clone(),
                backlog: all(next()?),
                aggressiveness: all(next()?),
                waiting_s: next()?,
            });
        }
        Ok(record)
    }

    /// One portion's piece of a column.
    fn piece(&self, portion: usize, column: usize) -> io::Result<Vec<Option<f64>>> {
        let (begin, points) = self.portions[portion];
        let mut file = self.file.as_ref().map_err(again)?;
        file.seek(SeekFrom::Start(begin + (column * points * VALUE) as u64))?;
        let mut bytes = vec![0; points * VALUE];
        file.read_exact(&mut bytes)?;
        let (values, _) = bytes.as_chunks::<VALUE>();
        let value = |bytes: &[u8; VALUE]| Some(f64::from_le_bytes(*bytes)).filter(|value| !value.is_nan());
        Ok(values.iter().map(value).collect())
    }

    fn failure(&self) -> Option<io::Error> {
        self.file.as_ref().err().map(again)
    }
}

/// An error once more, for each caller.
fn again(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

/// All columns, that of times first.
fn columns(record: &Series) -> Vec<Values<'_>> {
    let mut columns = vec![Values::All(&record.time_s)];
    for flow in &record.flows {
        columns.extend(flow_columns(flow).map(|(_, values)| values));
    }
    for link in &record.links {
        columns.extend(link_columns(link).map(|(_, values)| values));
    }
    columns
}

/// As a [`Series`] is written, without ever being one.
impl Serialize for SeriesFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(failure) = self.failure() {
            return Err(S::Error::custom(failure));
        }
        let flow = flow_columns(&FlowSeries::default()).map(|(metric, _)| metric);
        let link = link_columns(&LinkSeries::default()).map(|(metric, _)| metric);
        let mut record = serializer.serialize_struct("Series", 3)?;
        record.serialize_field("time_s", &ColumnOf { file: self, column: 0 })?;
        let flows = Objects { file: self, first: 1, key: "flow", names: &self.flows, metrics: &flow };
        record.serialize_field("flows", &flows)?;
        let first = 1 + flow.len() * self.flows.len();
        record.serialize_field(
            "links",
            &Objects { file: self, first, key: "queue", names: &self.links, metrics: &link },
        )?;
        record.end()
    }
}

/// Flows or queues, each with its columns; `first` is the first one's first.
struct Objects<'a> {
    file: &'a SeriesFile,
    first: usize,
    key: &'static str,
    names: &'a [String],
    metrics: &'a [&'static str],
}

impl Serialize for Objects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let objects = self.names.iter().enumerate().map(|(index, name)| Object { of: self, index, name });
        serializer.collect_seq(objects)
    }
}

struct Object<'a> {
    of: &'a Objects<'a>,
    index: usize,
    name: &'a str,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Objects { file, first, key, metrics, .. } = self.of;
        let mut object = serializer.serialize_struct("Columns", 1 + metrics.len())?;
        object.serialize_field(key, self.name)?;
        let begin = first + self.index * metrics.len();
        for (column, metric) in (begin..).zip(*metrics) {
            if file.is_empty.get(column).is_none_or(|empty| *empty) {
                object.skip_field(metric)?;
            } else {
                object.serialize_field(metric, &ColumnOf { file, column })?;
            }
        }
        object.end()
    }
}

/// One column, read piece by piece.
struct ColumnOf<'a> {
    file: &'a SeriesFile,
    column: usize,
}

impl Serialize for ColumnOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = serializer.serialize_seq(None)?;
        for portion in 0..self.file.portions.len() {
            for value in self.file.piece(portion, self.column).map_err(S::Error::custom)? {
                values.serialize_element(&value)?;
            }
        }
        values.end()
    }
}
