//! `evenair multiconn probe`.

mod picture;

use crate::terminal;
use anyhow::{Context, Result};
use clap::Args;
use evenair_multiconn::config::{Config, with_port};
use evenair_multiconn::probe::carrier::OverRelay;
use evenair_multiconn::probe::diagnosis::diagnose;
use evenair_multiconn::probe::survey::survey;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(
    after_help = "Takes half a minute, in which the path is at rest, and then has one, four and eight connections, and one of BBR.\n\n\
    Examples:\n  \
    evenair multiconn probe\n  \
    evenair multiconn probe relay.example.org --config connect.toml --json"
)]
pub(crate) struct ProbeArguments {
    /// The relay to look at, with its port if that is not the usual one: the file's, if none is named
    host: Option<String>,
    /// The client's file, which has the keys
    #[arg(long, value_name = "FILE", default_value = "/etc/evenair/multiconn.toml")]
    config: PathBuf,
    /// Print all that was seen, and what it says, as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn probe(arguments: &ProbeArguments) -> Result<()> {
    let config = Config::load(&arguments.config)?;
    let connect = config
        .connect
        .with_context(|| format!("{}: it has no table [connect]", arguments.config.display()))?;
    let mut options = connect.options(&arguments.config.display().to_string())?;
    if let Some(host) = &arguments.host {
        options.relay = with_port(host);
    }
    let mut carrier = OverRelay::new(options)?;
    let quiet = arguments.json || terminal::is_quiet();
    let stretches = survey(&mut carrier, |load, seen| {
        if !quiet && seen.is_none() {
            anstream::eprintln!("{load} …");
        }
    })?;
    let diagnosis = diagnose(&stretches);
    if arguments.json {
        let document =
            serde_json::json!({ "schema_version": 1, "stretches": stretches, "diagnosis": diagnosis });
        anstream::println!("{document}");
    } else {
        anstream::print!("{}", picture::picture(&stretches, &diagnosis, terminal::width()));
    }
    Ok(())
}
