//! Tables of runs for pandas, polars and the rest.
//!
//! `flows` has a row per variant, seed and flow; `links` one per transmit queue; `seeds` one per variant and seed. `series`, in
//! long form, has one per instant, object and metric; `classes` one per class of a gateway, and `gateway` one per sample of it
//! and class; `frames` one per frame of a requested window. Each is written as CSV and, where the program was built with the
//! feature `parquet`, as Parquet with the same columns.

mod csv;
mod frames;
mod gateway;
#[cfg(feature = "parquet")]
mod parquet;
mod series;
mod theory;

pub use series::write_series;
pub use theory::{comparison, fluid, optimum};

use crate::record::RunRecord;
use evenair_netsim::{AggregateResult, AirtimeShares, FlowResult, LinkResult, Times};
use evenair_topology::jain_index;
use serde_json::{Value, json};
use std::io;
use std::path::Path;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Words.
    Text(Vec<String>),
    /// Numbers.
    Number(Vec<f64>),
    /// Numbers of which some are missing.
    Optional(Vec<Option<f64>>),
    /// Whole numbers.
    Count(Vec<i64>),
}

impl Column {
    pub(crate) fn of<C: Cell>(cells: impl Iterator<Item = C>) -> Self {
        C::column(cells)
    }
}

/// A column's value in a row.
pub(crate) trait Cell: Sized {
    fn column(cells: impl Iterator<Item = Self>) -> Column;
}

impl Cell for String {
    fn column(cells: impl Iterator<Item = Self>) -> Column {
        Column::Text(cells.collect())
    }
}

impl Cell for f64 {
    fn column(cells: impl Iterator<Item = Self>) -> Column {
        Column::Number(cells.collect())
    }
}

impl Cell for Option<f64> {
    fn column(cells: impl Iterator<Item = Self>) -> Column {
        Column::Optional(cells.collect())
    }
}

/// A part of a document that is a row of a table, too: its keys are the columns, but for those after a semicolon.
macro_rules! row {
    (
        $(#[$doc:meta])*
        $row:ident {
            $($(#[$column_doc:meta])* $column:ident: $cell:ty,)*
            $(; $($(#[$nested_doc:meta])* $nested:ident: $many:ty,)*)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, JsonSchema)]
        pub struct $row {
            $($(#[$column_doc])* pub $column: $cell,)*
            $($($(#[$nested_doc])* pub $nested: $many,)*)?
        }

        impl $row {
            pub(crate) fn table(rows: impl IntoIterator<Item = Self>) -> $crate::tables::Table {
                let rows: Vec<Self> = rows.into_iter().collect();
                vec![$((stringify!($column), $crate::tables::Column::of(rows.iter().map(|row| row.$column.clone()))),)*]
            }
        }
    };
}
pub(crate) use row;

/// A table: columns of one length, by name.
pub type Table<Name = &'static str> = Vec<(Name, Column)>;

/// Runs of one variant of a study; its id and its point on a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The variant's id.
    pub variant: &'a str,
    /// The parameter's value, if it is swept.
    pub x: Option<f64>,
    /// Its runs.
    pub runs: &'a [RunRecord],
}

/// The files in which [`write()`] puts the tables of runs.
pub const OF_RUNS: [&str; 7] =
    ["flows.csv", "links.csv", "seeds.csv", "series.csv", "classes.csv", "gateway.csv", "frames.csv"];

/// The tables by name: `flows`, `links`, `seeds` and, where any run has them, `series`, `classes` and `gateway`.
pub fn all(groups: &[Group<'_>]) -> Vec<(&'static str, Table)> {
    let mut tables = all_but_series(groups);
    if has_series(groups) {
        tables.push(("series", series::series(groups)));
    }
    tables
}

fn has_series(groups: &[Group<'_>]) -> bool {
    groups.iter().flat_map(|g| g.runs).any(|run| run.series.is_some())
}

fn all_but_series(groups: &[Group<'_>]) -> Vec<(&'static str, Table)> {
    let mut tables = vec![("flows", flows(groups)), ("links", links(groups)), ("seeds", seeds(groups))];
    let mut gateways = groups.iter().flat_map(|g| g.runs).filter_map(|run| run.gateway.as_ref()).peekable();
    if gateways.peek().is_some() {
        tables.push(("classes", gateway::classes(groups)));
    }
    if gateways.any(|gateway| gateway.series.is_some()) {
        tables.push(("gateway", gateway::looks(groups)));
    }
    if groups.iter().flat_map(|g| g.runs).any(|run| !run.frames.is_empty()) {
        tables.push(("frames", frames::frames(groups)));
    }
    tables
}

/// Writes [`all`] tables into a folder.
///
/// # Errors
/// If a file cannot be written.
pub fn write(folder: &Path, groups: &[Group<'_>]) -> Result<(), io::Error> {
    write_all(folder, &all_but_series(groups))?;
    if has_series(groups) {
        write_series(folder, series::parts(groups).map(Ok))?;
    }
    Ok(())
}

/// Writes tables into a folder, each by its name.
///
/// # Errors
/// If a file cannot be written.
pub fn write_all<Name: AsRef<str>>(folder: &Path, tables: &[(&str, Table<Name>)]) -> Result<(), io::Error> {
    tables.iter().try_for_each(|(name, table)| write_table(folder, name, table))
}

/// Writes a table in every form that there is, into a folder of drafts, so a half-written file never appears.
///
/// # Errors
/// If a file cannot be written.
pub fn write_table<Name: AsRef<str>>(folder: &Path, name: &str, table: &Table<Name>) -> io::Result<()> {
    let mut writer = TableWriter::create(folder, name, table)?;
    writer.append(table)?;
    writer.finish()
}

/// A table that is written part by part, in every form that there is.
struct TableWriter {
    csv: csv::Writer,
    #[cfg(feature = "parquet")]
    parquet: parquet::Writer,
}

impl TableWriter {
    /// A table with these columns, and no rows yet.
    fn create<Name: AsRef<str>>(folder: &Path, name: &str, columns: &Table<Name>) -> io::Result<Self> {
        Ok(Self {
            csv: csv::Writer::create(&folder.join(format!("{name}.csv")), columns)?,
            #[cfg(feature = "parquet")]
            parquet: parquet::Writer::create(&folder.join(format!("{name}.parquet")), columns)
                .map_err(io::Error::other)?,
        })
    }

    /// Adds rows.
    fn append<Name: AsRef<str>>(&mut self, rows: &Table<Name>) -> io::Result<()> {
        self.csv.append(rows)?;
        #[cfg(feature = "parquet")]
        self.parquet.append(rows).map_err(io::Error::other)?;
        Ok(())
    }

    fn finish(self) -> io::Result<()> {
        self.csv.finish()?;
        #[cfg(feature = "parquet")]
        self.parquet.finish().map_err(io::Error::other)?;
        Ok(())
    }
}

impl Group<'_> {
    /// A manifest's account of a run.
    pub fn manifest_entry(&self, run: &RunRecord) -> Value {
        let mut entry = json!({"variant": self.variant, "seed": run.seed, "fingerprint": run.fingerprint, "events": run.events});
        if let Some(live) = &run.live {
            entry["live"] = json!(live);
        }
        entry
    }
}

/// A column with one value per run and row.
fn text(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> String) -> Column {
    Column::Text(rows.iter().map(of).collect())
}

fn number(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> f64) -> Column {
    Column::Number(rows.iter().map(of).collect())
}

fn optional(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> Option<f64>) -> Column {
    Column::Optional(rows.iter().map(of).collect())
}

fn count(rows: &[Row<'_>], of: impl Fn(&Row<'_>) -> u64) -> Column {
    Column::Count(rows.iter().map(|row| of(row).cast_signed()).collect())
}

/// One row: a run, and the number of a flow or link in it.
struct Row<'a> {
    group: Group<'a>,
    run: &'a RunRecord,
    index: usize,
}

impl<'a> Row<'a> {
    fn flow(&self) -> &'a FlowResult {
        &self.run.flows[self.index]
    }

    fn link(&self) -> &'a LinkResult {
        &self.run.links[self.index]
    }
}

fn rows<'a>(groups: &[Group<'a>], many: impl Fn(&RunRecord) -> usize) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for &group in groups {
        for run in group.runs {
            rows.extend((0..many(run)).map(|index| Row { group, run, index }));
        }
    }
    rows
}

/// The mean of some times.
const MEAN: fn(&Times) -> Option<f64> = |times| Some(times.mean_s);

/// One number of a row's times.
fn times(
    rows: &[Row<'_>],
    of: for<'a> fn(&Row<'a>) -> Option<&'a Times>,
    number: fn(&Times) -> Option<f64>,
) -> Column {
    optional(rows, |row| of(row).and_then(number))
}

fn flows(groups: &[Group<'_>]) -> Table {
    fn delay<'a>(row: &Row<'a>) -> Option<&'a Times> {
        row.flow().delay.as_ref()
    }
    fn took<'a>(row: &Row<'a>) -> Option<&'a Times> {
        row.flow().transfers.as_ref()?.took.as_ref()
    }
    let rows = rows(groups, |run| run.flows.len());
    vec![
        ("variant", text(&rows, |r| r.group.variant.into())),
        ("x", optional(&rows, |r| r.group.x)),
        ("seed", count(&rows, |r| r.run.seed)),
        ("flow", text(&rows, |r| r.flow().flow.clone())),
        ("from", text(&rows, |r| r.flow().from.clone())),
        ("to", text(&rows, |r| r.flow().to.clone())),
        ("goodput_bps", number(&rows, |r| r.flow().goodput_bps)),
        ("goodput_pps", number(&rows, |r| r.flow().goodput_pps)),
        ("offered_pps", optional(&rows, |r| r.flow().offered_pps)),
        ("loss", optional(&rows, |r| r.flow().loss())),
        ("delay_s", times(&rows, delay, MEAN)),
        ("delay_s_50", times(&rows, delay, |t| t.p50_s)),
        ("delay_s_95", times(&rows, delay, |t| t.p95_s)),
        ("delay_s_99", times(&rows, delay, |t| t.p99_s)),
        ("jitter_s", optional(&rows, |r| r.flow().jitter_s)),
        ("round_trip_s", optional(&rows, |r| r.flow().round_trip_s)),
        ("connections", number(&rows, |r| r.flow().connections)),
        ("congestion_window", number(&rows, |r| r.flow().congestion_window)),
        ("sent", count(&rows, |r| r.flow().sent)),
        ("retransmitted", count(&rows, |r| r.flow().retransmitted)),
        ("timeouts", count(&rows, |r| r.flow().timeouts)),
        ("lost", count(&rows, |r| r.flow().lost)),
        ("acks_lost", count(&rows, |r| r.flow().acks_lost)),
        ("acks", count(&rows, |r| r.flow().acks)),
        ("queueing_delay_s", optional(&rows, |r| r.flow().queueing_delay_s)),
        ("ack_queueing_delay_s", optional(&rows, |r| r.flow().ack_queueing_delay_s)),
        ("silence_s", number(&rows, |r| r.flow().silence_s)),
        ("loss_event_rate", optional(&rows, |r| r.flow().loss_event_rate)),
        ("probes_sent", optional(&rows, |r| r.flow().probes.map(|p| p.sent as f64))),
        ("probe_share", optional(&rows, |r| r.flow().probes.map(|p| p.share))),
        ("probe_round_trip_s", optional(&rows, |r| r.flow().probes.and_then(|p| p.round_trip_s))),
        ("resequencing_delay_s", optional(&rows, |r| r.flow().resequencing.map(|q| q.delay_s))),
        ("resequencing_delay_s_max", optional(&rows, |r| r.flow().resequencing.map(|q| q.delay_s_max))),
        ("resequencing_buffer", optional(&rows, |r| r.flow().resequencing.map(|q| q.buffer))),
        ("resequencing_buffer_max", optional(&rows, |r| r.flow().resequencing.map(|q| q.buffer_max as f64))),
        ("requests", optional(&rows, |r| r.flow().transfers.as_ref().map(|t| t.requests as f64))),
        ("completed", optional(&rows, |r| r.flow().transfers.as_ref().map(|t| t.completed as f64))),
        ("completion_s", times(&rows, took, MEAN)),
        ("completion_s_50", times(&rows, took, |t| t.p50_s)),
        ("completion_s_95", times(&rows, took, |t| t.p95_s)),
        ("completion_s_99", times(&rows, took, |t| t.p99_s)),
        ("measured_s", number(&rows, |r| r.run.measured_s)),
    ]
}

fn links(groups: &[Group<'_>]) -> Table {
    fn waiting<'a>(row: &Row<'a>) -> Option<&'a Times> {
        row.link().waiting.as_ref()
    }
    let rows = rows(groups, |run| run.links.len());
    let aggregates =
        |of: fn(&AggregateResult) -> f64| optional(&rows, |r| r.link().aggregates.as_ref().map(of));
    let share = |of: fn(&AirtimeShares) -> f64| optional(&rows, |r| r.link().airtime.as_ref().map(of));
    vec![
        ("variant", text(&rows, |r| r.group.variant.into())),
        ("x", optional(&rows, |r| r.group.x)),
        ("seed", count(&rows, |r| r.run.seed)),
        ("queue", text(&rows, |r| r.link().queue.clone())),
        ("backlog", number(&rows, |r| r.link().backlog)),
        ("aggressiveness", optional(&rows, |r| r.link().aggressiveness)),
        ("served_packets", count(&rows, |r| r.link().served_packets)),
        ("served_bytes", count(&rows, |r| r.link().served_bytes)),
        ("waiting_s", times(&rows, waiting, MEAN)),
        ("waiting_s_50", times(&rows, waiting, |t| t.p50_s)),
        ("waiting_s_95", times(&rows, waiting, |t| t.p95_s)),
        ("waiting_s_99", times(&rows, waiting, |t| t.p99_s)),
        ("sojourn_s", optional(&rows, |r| r.link().sojourn_s)),
        ("dropped_queue_full", count(&rows, |r| r.link().dropped_queue_full)),
        ("dropped_by_law", count(&rows, |r| r.link().dropped_by_law)),
        ("marked", count(&rows, |r| r.link().marked)),
        ("dropped_retries", count(&rows, |r| r.link().dropped_retries)),
        ("received_despite", count(&rows, |r| r.link().received_despite)),
        ("lost_on_wire", count(&rows, |r| r.link().lost_on_wire)),
        ("dropped_no_route", count(&rows, |r| r.link().dropped_no_route)),
        ("attempts", count(&rows, |r| r.link().attempts)),
        ("collided", count(&rows, |r| r.link().collided)),
        ("receiver_busy", count(&rows, |r| r.link().receiver_busy)),
        ("ack_lost", count(&rows, |r| r.link().ack_lost)),
        ("ack_late", count(&rows, |r| r.link().ack_late)),
        ("requests", count(&rows, |r| r.link().requests)),
        ("requests_failed", count(&rows, |r| r.link().requests_failed)),
        ("mpdus", aggregates(|a| a.mpdus as f64)),
        ("mpdus_lost", aggregates(|a| a.mpdus_lost as f64)),
        ("aggregates", aggregates(|a| a.aggregates as f64)),
        ("mean_aggregate", aggregates(|a| a.mean_aggregate)),
        ("block_acks_missing", aggregates(|a| a.block_acks_missing as f64)),
        ("bars", aggregates(|a| a.bars as f64)),
        ("given_up", aggregates(|a| a.given_up as f64)),
        ("mean_rate_bps", optional(&rows, |r| r.link().mean_rate_bps())),
        ("airtime_own", share(|a| a.own)),
        ("airtime_partly", share(|a| a.partly)),
        ("airtime_collided", share(|a| a.collided)),
        ("airtime_backoff", share(|a| a.backoff)),
        ("airtime_interframe", share(|a| a.interframe)),
        ("airtime_empty", share(|a| a.empty)),
        ("airtime_blocked", share(AirtimeShares::blocked)),
    ]
}

fn seeds(groups: &[Group<'_>]) -> Table {
    let rows = rows(groups, |_| 1);
    let sum = |of: fn(&FlowResult) -> f64| number(&rows, move |r| r.run.flows.iter().map(of).sum());
    let jain = |run: &RunRecord| {
        jain_index(&run.flows.iter().map(|flow| flow.goodput_pps).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    vec![
        ("variant", text(&rows, |r| r.group.variant.into())),
        ("x", optional(&rows, |r| r.group.x)),
        ("seed", count(&rows, |r| r.run.seed)),
        ("goodput_pps", sum(|f| f.goodput_pps)),
        ("goodput_bps", sum(|f| f.goodput_bps)),
        ("jain", number(&rows, |r| jain(r.run))),
        ("measured_s", number(&rows, |r| r.run.measured_s)),
        ("fingerprint", text(&rows, |r| r.run.fingerprint.clone())),
    ]
}
