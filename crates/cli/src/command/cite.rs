//! `evenair cite`.

use super::completions;
use crate::output::print;
use anyhow::Result;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use evenair_study::{Paper, Study};
use std::path::Path;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair cite\n  \
    evenair cite chen10/fig-4-2 > papers.bib\n  \
    evenair cite Lee12 CZ06")]
pub(crate) struct CiteOptions {
    /// Studies or scenarios by their ids, studies of your own by their files, or papers by their tags such as Chen10; evenair alone, if
    /// none is named
    #[arg(value_name = "STUDY", add = ArgValueCompleter::new(completions::studies))]
    pub(crate) names: Vec<String>,
}

const TITLE: &str = "evenair: TCP over CSMA, from the optimum to the packet";
const AUTHORS: &str = "The evenair authors";
/// The year of this version.
const YEAR: u16 = 2026;

pub(crate) fn cite(options: &CiteOptions) -> Result<()> {
    let mut papers: Vec<Paper> = Vec::new();
    for name in &options.names {
        for paper in papers_of(name)? {
            if !papers.contains(&paper) {
                papers.push(paper);
            }
        }
    }
    let entries = papers.iter().map(Paper::bibtex).chain([own()]);
    print(&entries.collect::<Vec<_>>().join("\n"))
}

/// The papers of a study or a scenario, or the one of a tag.
fn papers_of(name: &str) -> Result<Vec<Paper>> {
    if let Some(paper) = Paper::named(name) {
        return Ok(vec![paper]);
    }
    if Path::new(name).is_file() {
        return Ok(Paper::cited(&Study::load(Path::new(name))?.source).collect());
    }
    if evenair_study::builtin_scenario(name).is_some() && evenair_study::study_text(name).is_none() {
        return Ok(Paper::of(name).into_iter().collect());
    }
    let cited = Paper::cited(&Study::builtin(name)?.source).collect::<Vec<_>>();
    Ok(Paper::of(name)
        .into_iter()
        .filter(|paper| !cited.contains(paper))
        .chain(cited.iter().copied())
        .collect())
}

/// Evenair itself, of the version that runs.
fn own() -> String {
    let (version, commit) = (env!("CARGO_PKG_VERSION"), evenair_results::commit());
    let commit = commit.map(|commit| format!("  note = {{commit {commit}}},\n")).unwrap_or_default();
    format!(
        "@software{{evenair,\n  author = {{{{{AUTHORS}}}}},\n  title = {{{{{TITLE}}}}},\n  version = {{{version}}},\n  year = {{{YEAR}}},\n{commit}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_citation_file_says_the_same() {
        let read = |file| std::fs::read_to_string(Path::new("../..").join(file)).unwrap();
        let text = read("CITATION.cff");
        for line in [
            format!("title: \"{TITLE}\""),
            format!("  - name: {AUTHORS}"),
            concat!("version: ", env!("CARGO_PKG_VERSION")).into(),
        ] {
            assert!(text.lines().any(|own| own == line), "{line}\n{text}");
        }
        assert!(read("LICENSE-MIT").contains(&format!("Copyright (c) {YEAR} ")));
    }
}
