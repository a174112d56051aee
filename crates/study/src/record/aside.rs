//! What of runs is too long for memory, and goes elsewhere while they run.

use super::{Options, SeriesFile};
use evenair_netsim::FrameSink;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Where goes what of runs is too long for memory; nowhere, by default: then records keep what was asked for.
#[derive(Default)]
pub struct Aside<'a> {
    series: Option<PathBuf>,
    pub(super) frames: Option<Mutex<&'a mut (dyn FrameSink + Send)>>,
    files: Mutex<BTreeMap<u64, SeriesFile>>,
}

impl std::fmt::Debug for Aside<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { series, frames, files } = self;
        let frames = frames.is_some();
        f.debug_struct("Aside")
            .field("series", series)
            .field("frames", &frames)
            .field("files", files)
            .finish()
    }
}

impl<'a> Aside<'a> {
    /// Time series go into files without a name on the disk of `folder`; records have none then. `frames` sees every frame of
    /// the run with the scenario's own seed.
    pub fn new(folder: &Path, frames: Option<&'a mut (dyn FrameSink + Send)>) -> Self {
        Self { series: Some(folder.into()), frames: frames.map(Mutex::new), files: Mutex::default() }
    }

    /// A file for the time series of a run, if they are wanted and go aside.
    pub(super) fn file(&self, options: Options) -> Option<SeriesFile> {
        self.series.as_ref().filter(|_| options.series).map(|folder| SeriesFile::create(folder))
    }

    pub(super) fn keep(&self, seed: u64, file: SeriesFile) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, file);
    }

    /// The time series that went aside, by seed.
    pub fn into_series(self) -> Vec<SeriesFile> {
        self.files.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }
}
