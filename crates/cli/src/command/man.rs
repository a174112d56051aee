//! `evenair man`.

use crate::arguments;
use crate::output::{Overwrite, print};
use anyhow::Result;
use clap::Args;
use evenair_results::digits::counted;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair man | man -l -\n  \
    evenair man ~/.local/share/man/man1")]
pub(crate) struct ManOptions {
    /// Write the page of each command there, evenair.1, evenair-run.1 and so on, instead of printing the first
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) overwrite: Overwrite,
}

pub(crate) fn man(options: &ManOptions) -> Result<()> {
    options.overwrite.check(options.folder.is_some(), "DIR")?;
    let command = arguments::command();
    let Some(folder) = &options.folder else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        return print(&String::from_utf8(page)?);
    };
    let mut command = command.disable_help_subcommand(true);
    command.build(); // so that each command knows what it is called
    let pages = std::iter::once(&command).chain(command.get_subcommands()).map(|command| {
        let (page, mut text) = (clap_mangen::Man::new(command.clone()), Vec::new());
        page.render(&mut text)?;
        Ok((folder.join(page.get_filename()), text))
    });
    let pages = pages.collect::<Result<Vec<_>>>()?;
    options.overwrite.write_all(&pages)?;
    print(&format!("{} in {}\n", counted(pages.len(), "page", "pages"), folder.display()))
}
