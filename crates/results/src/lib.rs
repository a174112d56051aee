//! The results of a run, an optimum, a trajectory: one type for each thing, serialised once, for the command line, studies, Python and live rooms.
//!
//! Each room, and what belongs there:
//!
//! - a *record* is what is kept of one run, as types: flows, queues, series, frames, a gateway ([`RunRecord`]);
//! - a *verdict* is which flows starve in some runs, why, and which settings to try ([`verdict`]);
//! - a *document* is what a command says of a result, as JSON with a schema ([`document`]);
//! - *tables* are records and answers in columns, as CSV and Parquet ([`tables`]);
//! - a *folder* is where documents and tables go, all or none of them, with a manifest ([`OutputFolder`]);
//! - *digits* are how a number is written for people ([`digits`]).
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
