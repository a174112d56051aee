//! `evenair man`.

use crate::arguments::Arguments;
use crate::output::{counted, print};
use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair man | man -l -\n  \
    evenair man ~/.local/share/man/man1")]
pub(crate) struct ManOptions {
    /// Write the page of each command there, evenair.1, evenair-run.1 and so on, instead of printing the first
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

pub(crate) fn man(options: &ManOptions) -> Result<()> {
    let command = Arguments::command();
    let Some(folder) = &options.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return print(&String::from_utf8(page)?);
    };
    let cannot = || format!("cannot write {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    let pages = command.get_subcommands().count() + 1; // all but the one called help
    clap_mangen::generate_to(command.disable_help_subcommand(true), folder).with_context(cannot)?;
    print(&format!("{} in {}\n", counted(pages, "page", "pages"), folder.display()))
}
