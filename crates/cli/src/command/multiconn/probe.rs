//! `evenair multiconn probe`.

mod picture;

use crate::terminal;
use anyhow::Result;
use clap::Args;
use evenair_multiconn::config::{Config, ConnectConfig};
use evenair_multiconn::keys::PublicKey;
use evenair_multiconn::probe::carrier::OverRelay;
use evenair_multiconn::probe::diagnosis::diagnose;
use evenair_multiconn::probe::survey::survey;
use std::path::PathBuf;

/// The form of `--json`.
const SCHEMA: u32 = 1;

#[derive(Debug, Args)]
#[command(
    after_help = "Takes half a minute: the path at rest, then with one, four and eight connections, and one of BBR, as fast as they go; the relay discards \
their data.\n\n\
    Examples:\n  \
    evenair multiconn probe relay.example.org --relay-keys ed25519:… --key me.key\n  \
    evenair multiconn probe --config multiconn.toml --json"
)]
pub(crate) struct ProbeArguments {
    /// The relay at the path's other end, and its port [default: 7443]
    host: Option<String>,
    /// A file with a table `[connect]`; options given here override it
    #[arg(long)]
    config: Option<PathBuf>,
    /// The relay's public key; may be given twice while keys are rotated
    #[arg(long, value_name = "KEY")]
    relay_keys: Vec<PublicKey>,
    /// Your private key's file
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print all measurements, and their interpretation, as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn probe(arguments: &ProbeArguments) -> Result<()> {
    let file = arguments.config.as_deref().map(Config::load).transpose()?;
    let mut config: ConnectConfig = file.and_then(|file| file.connect).unwrap_or_default();
    if let Some(host) = &arguments.host {
        config.relay.clone_from(host);
    }
    if !arguments.relay_keys.is_empty() {
        config.relay_keys.clone_from(&arguments.relay_keys);
    }
    config.key = arguments.key.clone().or(config.key);
    let mut carrier = OverRelay::new(config.options(&super::place(arguments.config.as_ref()))?)?;
    let quiet = arguments.json || terminal::is_quiet();
    let stretches = survey(&mut carrier, |load, seen| {
        if !quiet && seen.is_none() {
            anstream::eprintln!("{load} …");
        }
    })?;
    let diagnosis = diagnose(&stretches);
    if arguments.json {
        let document =
            serde_json::json!({ "schema_version": SCHEMA, "stretches": stretches, "diagnosis": diagnosis });
        anstream::println!("{document}");
    } else {
        anstream::print!("{}", picture::picture(&stretches, &diagnosis, terminal::width()));
    }
    Ok(())
}
