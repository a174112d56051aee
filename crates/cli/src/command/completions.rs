//! `evenair completions`: answers to a shell when Tab is pressed.

use crate::arguments;
use crate::output::print;
use anyhow::{Context, Result};
use clap::Args;
use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter};
use clap_complete::env::Shells;
use std::ffi::OsStr;

#[derive(Debug, Args)]
#[command(
    after_help = "The script asks evenair itself, so that it stays right when evenair is updated. To have it in every shell:\n  \
    bash        echo 'source <(evenair completions bash)' >> ~/.bashrc\n  \
    zsh         echo 'source <(evenair completions zsh)' >> ~/.zshrc\n  \
    fish        evenair completions fish > ~/.config/fish/completions/evenair.fish\n  \
    elvish      echo 'eval (evenair completions elvish | slurp)' >> ~/.elvish/rc.elv\n  \
    PowerShell  evenair completions powershell >> $PROFILE\n\n\
    Examples:\n  \
    evenair completions bash\n  \
    evenair completions fish"
)]
pub(crate) struct CompletionsOptions {
    /// The shell
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(Shells::builtins().names()))]
    pub(crate) shell: String,
}

pub(crate) fn completions(options: &CompletionsOptions) -> Result<()> {
    let shells = Shells::builtins();
    let shell = shells.completer(&options.shell).context("there is no such shell")?;
    let name = arguments::command().get_name().to_string();
    let mut script = Vec::new();
    shell.write_registration("COMPLETE", &name, &name, &name, &mut script)?;
    print(&String::from_utf8(script)?)
}

/// Scenarios that begin so: files, and those that are built in.
pub(crate) fn scenarios(begun: &OsStr) -> Vec<CompletionCandidate> {
    ids_and_files(begun, evenair_study::scenario_ids())
}

/// Studies that begin so.
pub(crate) fn studies(begun: &OsStr) -> Vec<CompletionCandidate> {
    ids_and_files(begun, evenair_study::study_ids())
}

fn ids_and_files(begun: &OsStr, ids: impl Iterator<Item = &'static str>) -> Vec<CompletionCandidate> {
    let start = begun.to_string_lossy();
    let ids = ids.filter(|id| id.starts_with(&*start)).map(CompletionCandidate::new);
    let is_toml = |path: &std::path::Path| path.extension().is_some_and(|ending| ending == "toml");
    ids.chain(PathCompleter::any().filter(is_toml).complete(begun)).collect()
}
