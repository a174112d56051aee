//! `evenair glossary`.

use crate::output::print;
use crate::{terminal, text};
use anyhow::{Result, ensure};
use clap::Args;
use evenair_study::Paper;
use evenair_study::document::{GlossaryDocument, document};
use evenair_study::glossary::{self, Entry};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair glossary\n  \
    evenair glossary r\n  \
    evenair glossary 'receiver busy'\n  \
    evenair glossary --json")]
pub(crate) struct GlossaryOptions {
    /// A word, or a part of what it means; all words, if none is given
    #[arg(value_name = "WORD")]
    word: Option<String>,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn glossary(options: &GlossaryOptions) -> Result<()> {
    let entries: Vec<&Entry> = match &options.word {
        Some(word) => glossary::look_up(word),
        None => glossary::entries().iter().collect(),
    };
    let word = options.word.as_deref().unwrap_or_default();
    ensure!(!entries.is_empty(), "the glossary does not have \"{word}\"; evenair glossary lists its words");
    if options.json {
        let content = GlossaryDocument { words: entries, papers: Paper::ALL.to_vec() };
        return print(&format!("{:#}\n", document("glossary", &content)));
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
    if options.word.is_none() {
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
