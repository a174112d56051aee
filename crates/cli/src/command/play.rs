//! `evenair play`: the playground in this machine's browser.

#[cfg(has_playground)]
mod files;
#[cfg(has_playground)]
mod server;

use anyhow::Result;
use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "The page is part of this program and simulates in the browser. It is served to this machine alone, and sends nothing.\n\n\
    Examples:\n  \
    evenair play\n  \
    evenair play jam10/grid\n  \
    evenair play my.toml --no-open"
)]
#[cfg_attr(not(has_playground), allow(dead_code, reason = "options of a command that this build lacks"))]
pub(crate) struct PlayOptions {
    /// The scenario to begin with: a file, or the id of a built-in one
    #[arg(value_name = "SCENARIO", add = clap_complete::engine::ArgValueCompleter::new(super::completions::scenarios))]
    scenario: Option<String>,
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
}

#[cfg(not(has_playground))]
pub(crate) fn play(_: &PlayOptions) -> Result<()> {
    anyhow::bail!(
        "cannot open the playground: this build lacks it; in a clone run cargo xtask play, then cargo install --path crates/cli --features play"
    )
}

#[cfg(has_playground)]
pub(crate) fn play(options: &PlayOptions) -> Result<()> {
    use crate::output::print;
    use anyhow::Context;

    let (scenario, fragment) = match &options.scenario {
        None => (None, String::new()),
        Some(name) => begin_with(name)?,
    };
    let server = server::Server::bind(scenario).context("cannot listen on 127.0.0.1")?;
    let address = format!("http://{}/{fragment}", server.address());
    print(&format!("The playground: {address}\nCtrl-C ends it.\n"))?;
    if !options.no_open {
        open(&address);
    }
    server.serve();
    Ok(())
}

/// A file's text for the page to fetch, and the fragment that names it, or that of a built-in scenario.
#[cfg(has_playground)]
fn begin_with(name: &str) -> Result<(Option<String>, String)> {
    // Mistakes are reported here, where the file's own name is known.
    let network = evenair_study::network(name, Some(std::path::Path::new("")), &[])?;
    if evenair_study::builtin_scenario(name).is_some() && !std::path::Path::new(name).exists() {
        return Ok((None, format!("#i={name}")));
    }
    let path =
        [name.to_string(), format!("{name}.toml")].into_iter().find(|path| std::fs::metadata(path).is_ok());
    let text = std::fs::read_to_string(path.as_deref().unwrap_or(name))?;
    // The page has no files beside it: a scenario with lists in files is written out.
    let names_file = |line: &str| !line.trim_start().starts_with('#') && line.contains("file");
    let text = if text.lines().any(names_file) { network.to_toml()? } else { text };
    Ok((Some(text), "#f=scenario.toml".into()))
}

/// Opens the browser, if this machine has one; the address is printed in any case.
#[cfg(has_playground)]
fn open(address: &str) {
    use std::process::{Command, Stdio};
    let mut opener = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(target_os = "windows") {
        Command::new("explorer")
    } else {
        Command::new("xdg-open")
    };
    let _ = opener.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
