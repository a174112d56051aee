//! `evenair multiconn`.

mod probe;

use anyhow::Result;
use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct MulticonnOptions {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Look at a path: is its loss random or congestion, and which law would help
    Probe(probe::ProbeArguments),
}

pub(crate) fn multiconn(options: &MulticonnOptions) -> Result<()> {
    match &options.verb {
        Verb::Probe(arguments) => probe::probe(arguments),
    }
}
