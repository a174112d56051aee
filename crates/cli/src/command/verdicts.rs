//! `evenair verdicts`.

use super::completions;
use crate::output::print;
use crate::{terminal, text};
use anyhow::{Context, Result, bail};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use evenair_results::document::written;
use evenair_study::verdicts::{
    Chapter, CheckRow, Counts, Origin, Standing, StudyVerdicts, Tally, Verdicts, digests, recorded,
};
use evenair_study::{Paper, Study, study_ids};
use std::fmt::Write;
use wildmatch::WildMatch;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    evenair verdicts\n  \
    evenair verdicts chen10\n  \
    evenair verdicts jam10/table-7-1\n  \
    evenair verdicts 'jam10/fig-*' --stale\n  \
    evenair verdicts --markdown > verdicts.md")]
pub(crate) struct VerdictsOptions {
    /// Papers by their tags such as Chen10, or studies by their ids or by patterns; all, if none is named
    #[arg(value_name = "STUDY", add = ArgValueCompleter::new(completions::studies))]
    names: Vec<String>,
    /// Simulate the first five seconds of each variant, to find the variants that run otherwise than recorded
    #[arg(long)]
    stale: bool,
    /// Print the whole page as Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn verdicts(options: &VerdictsOptions) -> Result<()> {
    let studies = named(&options.names)?;
    let now = if options.stale {
        let of = |study: &Study| Ok((study.id.clone(), digests(study)?));
        Some(studies.iter().map(of).collect::<Result<_>>()?)
    } else {
        None
    };
    let verdicts = Verdicts::of(&studies, &recorded(), now.as_ref());
    if options.json {
        return print(&written("verdicts", &verdicts));
    }
    if options.markdown {
        return print(&verdicts.page());
    }
    print(&match &studies[..] {
        [_] => one(&verdicts),
        _ if options.names.is_empty() => papers(&verdicts),
        _ => several(&verdicts),
    })
}

/// The studies of papers, ids and patterns.
fn named(names: &[String]) -> Result<Vec<Study>> {
    let mut ids: Vec<&str> = Vec::new();
    for name in names {
        let paper = Paper::named(name);
        let pattern =
            WildMatch::new(&paper.map_or_else(|| name.clone(), |paper| format!("{}/*", paper.folder)));
        let found: Vec<&str> = study_ids().filter(|id| pattern.matches(id)).collect();
        if found.is_empty() {
            Study::builtin(name)?; // an unknown one is told with those that it resembles
            bail!("{name}: no study is called so; evenair list studies lists them");
        }
        ids.extend(found);
    }
    let all = names.is_empty();
    study_ids()
        .filter(|id| all || ids.contains(id))
        .map(|id| Study::builtin(id).with_context(|| id.to_string()))
        .collect()
}

const HEAD: [&str; 7] = ["", "claims", "hold", "by tolerance", "in substance", "undecided", "not run"];

fn row(name: &str, counts: Counts) -> Vec<String> {
    let Counts { hold, by_tolerance, in_substance, undecided, stale } = counts;
    let cells =
        [counts.count(), hold, by_tolerance, in_substance, undecided, stale].map(|count| count.to_string());
    [vec![name.to_string()], cells.to_vec()].concat()
}

fn table(first: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut head = HEAD.map(String::from).to_vec();
    head[0] = first.into();
    text::columns(&[vec![head], rows.into_iter().collect()].concat())
}

/// How many causes are shown with the counts.
const MOST: usize = 6;

/// The counts of all papers, and the causes of most failures.
fn papers(verdicts: &Verdicts) -> String {
    let width = terminal::width();
    let mut out = text::wrapped("", &verdicts.share(), width) + "\n";
    let papers =
        verdicts.chapters.iter().filter(|chapter| chapter.counts_in_all && chapter.counts.paper.count() > 0);
    let papers = papers.map(|chapter| row(&chapter.name, chapter.counts.paper));
    let Tally { paper, words, ours } = verdicts.all;
    let all = [("all", paper), ("words, by our bounds", words), ("ours", ours)]
        .map(|(name, counts)| row(name, counts));
    out += &table("claims of", papers.chain(all));
    out += "\nWhy claims of the papers fail, and how many in substance\n";
    let causes = verdicts.causes.iter().filter(|cause| cause.in_substance > 0);
    for cause in causes.clone().take(MOST) {
        let words = cause.cause.as_deref().unwrap_or("No cause is named.");
        out += &text::wrapped(&format!("  {:3}  ", cause.in_substance), words, width);
    }
    let _ = writeln!(
        out,
        "\n{} more causes: evenair verdicts --markdown. A paper's studies: evenair verdicts chen10. Claim by claim: evenair verdicts chen10/table-6-3",
        causes.count().saturating_sub(MOST)
    );
    out
}

/// The counts of some studies.
fn several(verdicts: &Verdicts) -> String {
    let studies = verdicts.chapters.iter().flat_map(|chapter: &Chapter| &chapter.studies);
    let whole = |study: &StudyVerdicts| {
        let mut counts = study.counts.paper;
        counts += study.counts.words;
        counts += study.counts.ours;
        row(&study.study, counts)
    };
    let mut out = table("study", studies.clone().map(whole));
    let stale: Vec<&str> =
        studies.filter(|study| !study.stale.is_empty()).map(|study| &*study.study).collect();
    if !stale.is_empty() {
        let _ = write!(out, "\nRun otherwise by now: {}\n", stale.join(", "));
    }
    out
}

/// A study's claims, one by one.
fn one(verdicts: &Verdicts) -> String {
    let Some(study) = verdicts.chapters.iter().find_map(|chapter| chapter.studies.first()) else {
        return String::new();
    };
    let width = terminal::width();
    let mut out = text::wrapped("", &format!("{}: {}", study.study, study.title), width);
    let run = study.run().map_or_else(
        || "No full run is recorded.".into(),
        |run| format!("Recorded {}.", run.replace('`', "")),
    );
    out += &text::wrapped("", &run, width);
    for check in &study.checks {
        out += "\n";
        out += &text::wrapped(&format!("{:12}  ", word(check)), &check.claim, width);
        let origin = check.place.as_deref().unwrap_or("ours");
        let measured = check.measured.as_deref().unwrap_or("nothing");
        let found = format!("{origin}; needed {}; measured {measured}", check.required);
        out += &text::wrapped(&" ".repeat(14), &found, width);
    }
    for why in study.why.iter().chain(study.checks.iter().filter_map(|check| check.why.as_ref())) {
        out += "\n";
        out += &text::wrapped("", why, width);
    }
    let mut causes: Vec<&str> = study.checks.iter().filter_map(|check| check.cause.as_deref()).collect();
    causes.dedup();
    for cause in causes {
        out += "\n";
        out += &text::wrapped("Cause: ", cause, width);
    }
    out
}

/// How a claim stands, in a word or two.
const fn word(check: &CheckRow) -> &'static str {
    match (check.standing, check.origin) {
        (Standing::Holds, _) => "holds",
        (Standing::Undecided, _) => "undecided",
        (Standing::NotRun, _) => "not run",
        (Standing::FailsByTolerance, Origin::Paper) => "near",
        (Standing::FailsByTolerance | Standing::FailsInSubstance, _) => "fails",
    }
}
