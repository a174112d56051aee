//! `evenair glossary`.

use crate::output::print;
use crate::{terminal, text};
use anyhow::{Result, bail};
use clap::Args;
use evenair_results::document::written;
use evenair_service::meant::did_you_mean;
use evenair_study::Paper;
use evenair_study::document::GlossaryDocument;
use evenair_study::glossary::{self, Entry};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair glossary\n  \
    evenair glossary r\n  \
    evenair glossary receiver busy\n  \
    evenair glossary --json")]
pub(crate) struct GlossaryOptions {
    /// A word, or a part of a word or of its explanation; by default all words
    #[arg(value_name = "WORD")]
    word: Vec<String>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn glossary(options: &GlossaryOptions) -> Result<()> {
    let word = options.word.join(" ");
    let entries: Vec<&Entry> =
        if word.is_empty() { glossary::entries().iter().collect() } else { glossary::look_up(&word) };
    if entries.is_empty() {
        let meant = did_you_mean(&word, glossary::entries().iter().map(|entry| &entry.word));
        let meant = meant.unwrap_or_else(|| "evenair glossary lists its words".into());
        bail!("the glossary does not have \"{word}\"; {meant}");
    }
    if options.json {
        let content = GlossaryDocument { words: entries, papers: Paper::ALL.to_vec() };
        return print(&written("glossary", &content));
    }
    let mut out = String::new();
    let mut topic = "";
    for entry in &entries {
        if entry.topic != topic {
            topic = &entry.topic;
            out += &format!("{}{topic}\n", if out.is_empty() { "" } else { "\n" });
        }
        out += &text::wrapped(&format!("  {:24}  ", names(entry)), &entry.means, terminal::width());
    }
    if word.is_empty() {
        out += "\nThe papers\n";
        for paper in Paper::ALL {
            out += &text::wrapped("  ", &format!("{paper}. {}", paper.about), terminal::width());
        }
    }
    print(&out)
}

/// The word, and the form in which it looks otherwise.
fn names(entry: &Entry) -> String {
    let other = entry.forms.iter().find(|form| !form.starts_with(&entry.word[..2]) && form.len() < 12);
    match other {
        Some(form) => format!("{}, {form}", entry.word),
        None => entry.word.clone(),
    }
}
