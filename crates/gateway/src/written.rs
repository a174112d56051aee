//! What the operator wrote, as texts: the file and the table that it names. What has worked is kept, so that a daemon that is begun again beside a mistake can go
//! on by it.

use crate::config::LastLeases;
use crate::mistake::read;
use crate::{Config, Mistake, Subscribers};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The operator's file, and the table of subscribers where it names one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    file: String,
    table: Option<String>,
}

/// What a text means: the configuration, and who subscribes, with what is to be told of it.
#[derive(Clone, Debug)]
pub struct Meaning {
    /// The configuration.
    pub config: Config,
    /// Who subscribes.
    pub subscribers: Subscribers,
    /// What keeps nobody from beginning.
    pub troubles: Vec<Mistake>,
}

impl Written {
    /// Reads both.
    ///
    /// # Errors
    /// Names the file that cannot be read, or the mistake that hides the table's name.
    pub fn read(path: &Path) -> Result<Self, Mistake> {
        let file = read(path)?;
        let config = Config::written(path, &file)?;
        let table = config.subscribers.as_deref().map(read).transpose()?;
        Ok(Self { file, table })
    }

    /// What it means, at a time \[s since 1970\].
    ///
    /// # Errors
    /// Names file, line and key of the first mistake.
    pub fn meaning(&self, path: &Path, now_s: u64, last: &mut LastLeases) -> Result<Meaning, Mistake> {
        let config = Config::written(path, &self.file)?;
        let (subscribers, troubles) = self.subscribers(&config, path, now_s, last)?;
        Ok(Meaning { config, subscribers, troubles })
    }

    /// Who subscribes by it and by the leases as they stand at a time \[s since 1970\].
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
