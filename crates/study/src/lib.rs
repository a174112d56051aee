//! Studies: variants and seeds over all cores, claims, tables and a report.
//!
//! A study file names a scenario, the variants to compare, the published numbers and the claims to check. [`Study`]
//! reads it, [`Sweep`] runs the missing runs (finished ones are kept on disk), [`Outcome`] holds the statistics, the
//! claims and the figures, and [`html::report`] draws them into one file that works offline.
#![forbid(unsafe_code)]

pub mod causes;
pub mod chart;
mod check;
mod claim;
mod compare;
pub mod document;
mod each;
mod experiment;
pub mod figure;
pub mod glossary;
pub mod html;
mod language;
mod library;
mod live;
mod markup;
mod measure;
mod metric;
mod outcome;
mod papers;
mod quantity;
mod read;
mod run;
mod schema;
mod statistics;
mod sweep;
pub mod tables;
#[cfg(test)]
mod tests;
mod vary;
pub mod verdicts;
mod watch;
mod words;
mod world;
mod written;

pub use claim::{ClaimResult, Tally, Verdict};
pub use compare::compare;
pub use evenair_service::Mistake as StudyError;
pub use experiment::FairShare;
pub use language::{
    Bound, Claim, Figure, FigureKind, Holds, Needs, OverSeeds, ParameterSweep, Point, Published, Quick,
    Reference, Sampled, Study, Summary, Value, Variant,
};
pub use library::{builtin_scenario, network, scenario, scenario_ids, study_ids, study_text};
pub use live::Live;
pub use metric::Metric;
pub use outcome::{Cell, Outcome, Row};
pub use papers::Paper;
pub use quantity::{Of, Percent, Quantity, Statistic};
pub use run::Aside;
pub use schema::schema;
pub use sweep::{Case, SEEDS_MAX, Shard, Sweep, SweepError};
pub use vary::{Axis, Level, Measured, Plan, Plot, Swept, SweptRow, Vary, VaryError};
pub use watch::Progress;
pub use world::World;
