//! `evenair multiconn probe`.

use anyhow::{Result, bail};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ProbeArguments {
    /// The host to look at
    host: String,
}

pub(crate) fn probe(arguments: &ProbeArguments) -> Result<()> {
    bail!("{}: not built yet", arguments.host)
}
