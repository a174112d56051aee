//! The operator's files as texts: the configuration and the table of subscribers that it names. Texts
//! that have worked are saved, so that a restarted daemon can use them if the present file has a
//! mistake.

use crate::config::LastLeases;
use crate::{Config, Mistake, Subscribers};
use evenair_service::file::text;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The operator's file, and the table of subscribers if it names one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorFiles {
    file: String,
    table: Option<String>,
}

/// The parsed content: the configuration, the subscribers and warnings.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The configuration.
    pub config: Config,
    /// The subscribers.
    pub subscribers: Subscribers,
    /// Mistakes that do not prevent a start.
    pub troubles: Vec<Mistake>,
}

impl OperatorFiles {
    /// Reads both files.
    ///
    /// # Errors
    /// Names the file that cannot be read, or the mistake that hides the table's name.
    pub fn read(path: &Path) -> Result<Self, Mistake> {
        let file = text(path)?;
        let config = Config::from_text(path, &file)?;
        let table = config.subscribers.as_deref().map(text).transpose()?;
        Ok(Self { file, table })
    }

    /// Parses the content, at a time \[s since 1970\].
    ///
    /// # Errors
    /// Names file, line and key of the first mistake.
    pub fn meaning(&self, path: &Path, now_s: u64, last: &mut LastLeases) -> Result<Meaning, Mistake> {
        let config = Config::from_text(path, &self.file)?;
        let (subscribers, troubles) = self.subscribers(&config, path, now_s, last)?;
        Ok(Meaning { config, subscribers, troubles })
    }

    /// Returns the subscribers of the files and of the leases at a time \[s since 1970\].
    ///
    /// # Errors
    /// As [`meaning`](Self::meaning).
    pub fn subscribers(
        &self,
        config: &Config,
        path: &Path,
        now_s: u64,
        last: &mut LastLeases,
    ) -> Result<(Subscribers, Vec<Mistake>), Mistake> {
        config.subscribers_of((&path.display().to_string(), &self.file), self.table.as_deref(), now_s, last)
    }
}
