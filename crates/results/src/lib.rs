//! The results of a run, an optimum, a trajectory: one type for each thing, serialised once, for the command line, studies, Python and live rooms.
//!
//! The parts:
//!
//! - a *record* keeps one run, as types: flows, queues, series, frames, a gateway ([`RunRecord`]).
//! - a *verdict* names the flows that starve in some runs, the causes, and settings to try ([`verdict`]).
//! - a *document* is a command's output on a result, as JSON with a schema ([`document`]).
//! - *tables* are records and answers in columns, as CSV and Parquet ([`tables`]).
//! - a *folder* receives documents and tables, all or none of them, with a manifest ([`OutputFolder`]).
//! - *digits* are the forms of numbers for people ([`digits`]).
//!
//! Nothing here runs or solves anything, and nothing knows studies.
#![forbid(unsafe_code)]

mod comparison;
pub mod digits;
pub mod document;
mod estimate;
mod file;
mod output;
mod program;
mod record;
pub mod tables;
pub mod verdict;

pub use comparison::{Comparison, Stage};
pub use estimate::Estimate;
pub use file::OutputFile;
pub use output::{OutputError, OutputFolder, SCHEMA_VERSION, file_name_fault};
pub use program::{commit, manifest, program_hash, program_is, version};
pub use record::{
    ClassColumns, FrameRow, GatewayColumns, GatewayRecord, HostReport, Lateness, LiveRecord, ModelError,
    RecordOptions, RunRecord, Scheduling, SeriesFile, Steps, Strays, TheoryRecord, class_name, is_limit,
};
