//! Measurements of full runs, one file for each study, and the page with the verdicts on all claims.

mod digest;
mod page;
mod record;
mod report;
mod standing;
#[cfg(test)]
mod tests;

pub use digest::{Digest, digests};
pub use record::{Measurement, Record};
pub use report::{CauseCount, Chapter, CheckRow, Counts, StudyVerdicts, Tally, Verdicts};
pub use standing::{Origin, Standing};

use crate::library;
use std::collections::BTreeMap;

/// The records of the built-in studies, by their ids.
///
/// # Panics
/// Never: a test reads all of them.
pub fn recorded() -> BTreeMap<String, Record> {
    let read = |text: &str| -> Record { serde_json::from_str(text).expect("a test reads it") };
    library::RECORDS.iter().map(|(id, text)| ((*id).into(), read(text))).collect()
}
