//! The page that tells all verdicts.

use super::digest::Digest;
use super::record::Record;
use super::standing::{Check, Entry, Origin, Standing, Statement, statements};
use crate::causes;
use crate::language::Study;
use crate::papers::Paper;
use evenair_results::digits;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::AddAssign;

/// How many sentences stand how, in the order of [`Standing`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts([usize; 5]);

impl Counts {
    fn of<'a>(statements: impl Iterator<Item = &'a Statement<'a>>, origin: Origin) -> Self {
        let mut counts = Self::default();
        statements.filter(|s| s.origin == origin).for_each(|s| counts.0[s.standing as usize] += 1);
        counts
    }

    /// The cells of the paper's own.
    fn cells(self) -> String {
        cells(&self.0)
    }

    /// The cells of what depends on a bound of ours, which fails or does not.
    fn cells_of_ours(self) -> String {
        let [hold, near, far, undecided, not_run] = self.0;
        cells(&[hold, near + far, undecided, not_run])
    }
}

fn cells(counts: &[usize]) -> String {
    let cell = |count: &usize| if *count == 0 { "·".into() } else { count.to_string() };
    counts.iter().map(cell).collect::<Vec<_>>().join(" | ")
}

/// The counts of a row: the papers' own, their words by our bounds, and ours.
#[derive(Clone, Copy, Debug, Default)]
struct Row([Counts; 3]);

impl Row {
    fn of(study: &Study, statements: &[Statement<'_>]) -> Self {
        let here = || statements.iter().filter(|s| s.study == study.id);
        Self([Origin::Paper, Origin::Word, Origin::Ours].map(|origin| Counts::of(here(), origin)))
    }

    fn cells(self) -> String {
        let [paper, word, ours] = self.0;
        [paper.cells(), word.cells_of_ours(), ours.cells_of_ours()].join(" | ")
    }
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        let counts = self.0.iter_mut().zip(other.0);
        counts.for_each(|(counts, more)| counts.0.iter_mut().zip(more.0).for_each(|(c, m)| *c += m));
    }
}

/// A text that stands in a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

const HEAD: &str = "# Verdicts

Made by `EVENAIR_BLESS=1 cargo test -p evenair-cli verdicts` from `validation/verdicts/`, where `evenair study ID --record validation/verdicts` keeps what a full run measured. \
Each study is run with all of its seeds, or until its claims are decided (`--decide`). `evenair study --all --due --record validation/verdicts` runs again what is stale.

A paper's claim is a number that it prints, at the precision of its last digit, or a sentence. A sentence counts once, however many checks it has; all of them must hold. \
A number that the paper has of one run, or of a mean of several, holds where the mean of as many of our runs may well be it (95 %). \
A word without a number (\"almost the same\") is checked by a bound of ours, and counts apart. \
Studies over real sockets repeat the same claims; they have a table of their own and no second count. Claims without a place in a paper are ours.

| word | of a claim |
|---|---|
| holds | all of the 95 % interval of what we measure is as the claim says; a number of single runs: a run of ours may give it |
| by tolerance | it fails, has a number of the paper, and the interval lies off its bounds by no more than a tenth of that number, or than the width between the bounds: the paper's behaviour with a somewhat other number |
| in substance | every other failure: a number that is further off, or an order or a tendency that is not there |
| undecided | the interval lies on both sides of a bound, or runs differ by more than half of the number |
| stale | no full run is recorded of what is measured as it is run now: scenario, changes and the first five simulated seconds |
";

const COLUMNS: &str = "hold | by tolerance | in substance | undecided | stale | words by our bounds: hold | fail | undecided | stale | ours: hold | fail | undecided | stale |";
const RULE: &str = "---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// The page of all built-in studies, beside what was recorded of each, and what each would run now.
pub fn page(
    studies: &[Study],
    records: &BTreeMap<String, Record>,
    now: &BTreeMap<String, BTreeMap<String, Digest>>,
) -> String {
    let nothing = BTreeMap::new();
    let entries: Vec<Entry<'_>> = studies
        .iter()
        .map(|study| Entry {
            study,
            record: records.get(&study.id),
            now: now.get(&study.id).unwrap_or(&nothing),
        })
        .collect();
    let statements = statements(&entries);
    let papers = Paper::ALL.map(|paper| (format!("[{}]", paper.tag), Some(paper)));
    let chapters = papers.into_iter().chain([("No paper's".into(), None)]);
    let chapters =
        chapters.map(|(name, paper)| (name, false, paper)).chain([("Over real sockets".into(), true, None)]);
    let (mut summary, mut text, mut all) = (String::new(), String::new(), Row::default());
    for (name, live, paper) in chapters {
        let is_here = |study: &Study| study.is_live() == live && (live || Paper::of(&study.id) == paper);
        let here: Vec<&Entry<'_>> = entries.iter().filter(|entry| is_here(entry.study)).collect();
        let row_of = |entry: &Entry<'_>| Row::of(entry.study, &statements);
        let mut row = Row::default();
        here.iter().for_each(|entry| row += row_of(entry));
        if !live {
            all += row;
            let _ = writeln!(summary, "| {name} | {} |", row.cells());
        }
        let rows: String = here.iter().map(|entry| study_row(entry, row_of(entry))).collect();
        let failures: String = here.iter().map(|entry| failures(entry)).collect();
        let _ = write!(
            text,
            "\n## {name}\n\n| study | headline | {COLUMNS} run |\n|---|---|{RULE}---|\n{rows}{failures}"
        );
    }
    let causes = causes_of(&statements, studies);
    format!(
        "{HEAD}\n| paper | {COLUMNS}\n|---|{RULE}\n{summary}| all | {} |\n\n{}{causes}{text}",
        all.cells(),
        share(all)
    )
}

/// The share of the papers' claims that fail in substance.
fn share(all: Row) -> String {
    let [paper, word, _] = all.0;
    let (count, failed) = (paper.0.iter().sum::<usize>(), paper.0[Standing::FailsInSubstance as usize]);
    let (with_words, failed_words) = (count + word.0.iter().sum::<usize>(), failed + word.0[2] + word.0[1]);
    let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    format!(
        "Of {count} claims of the papers {failed} fail in substance: {:.1} %. With words judged by our bounds: {failed_words} of {with_words}, {:.1} %.\n",
        percent(failed, count),
        percent(failed_words, with_words)
    )
}

/// Each cause and how many of the papers' claims fail by it, the most frequent first.
fn causes_of(statements: &[Statement<'_>], studies: &[Study]) -> String {
    let is_live = |id: &str| studies.iter().any(|study| study.id == id && study.is_live());
    let mut counts: BTreeMap<Option<&str>, [usize; 3]> = BTreeMap::new();
    for statement in
        statements.iter().filter(|s| s.standing.fails() && s.origin != Origin::Ours && !is_live(s.study))
    {
        let column = match (statement.origin, statement.standing) {
            (Origin::Word, _) => 2,
            (_, Standing::FailsByTolerance) => 1,
            _ => 0,
        };
        counts.entry(statement.cause).or_default()[column] += 1;
    }
    if counts.is_empty() {
        return String::new();
    }
    let mut rows: Vec<(Option<&str>, [usize; 3])> = counts.into_iter().collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(*counts));
    let rows = rows.into_iter().map(|(cause, counts)| {
        let text = cause.and_then(causes::look_up).map_or("none is named", |cause| &cause.text);
        format!("| {} | {} |\n", cell(text), cells(&counts))
    });
    format!(
        "\n## Causes\n\nWhy the papers' claims fail, the most frequent cause first.\n\n| cause | in substance | by tolerance | words by our bounds |\n|---|---|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn study_row(entry: &Entry<'_>, row: Row) -> String {
    let run = entry.record.map_or_else(String::new, |record| {
        let commit = record.commit.get(..12).unwrap_or(&record.commit);
        let stale: Vec<String> = record.stale(entry.now).map(|variant| format!("`{variant}`")).collect();
        let stale = match stale.len() {
            0 => String::new(),
            _ if stale.len() == entry.now.len() => "; stale".into(),
            _ => format!("; stale: {}", stale.join(", ")),
        };
        format!("{}, `{commit}`{stale}", record.date)
    });
    let Study { id, title, .. } = entry.study;
    format!("| `{id}` | {} | {} | {run} |\n", cell(title), row.cells())
}

/// A study's checks that fail, in substance, by tolerance and by our bounds; nothing if there are none.
fn failures(entry: &Entry<'_>) -> String {
    let mut failed: Vec<(usize, &str, Check<'_>)> = Vec::new();
    for check in entry.checks().filter(|check| check.standing.fails()) {
        let (rank, word) = match (Origin::of(check.claim), check.standing) {
            (Origin::Paper, Standing::FailsByTolerance) => (1, "tolerance"),
            (Origin::Paper, _) => (0, "substance"),
            (Origin::Word, _) => (2, "our bound"),
            (Origin::Ours, _) => (3, "ours"),
        };
        failed.push((rank, word, check));
    }
    if failed.is_empty() {
        return String::new();
    }
    failed.sort_by_key(|(rank, ..)| *rank);
    let rows: String = failed.iter().map(|(_, word, check)| failure(check, word)).collect();
    let Study { id, title, why, .. } = entry.study;
    let why = why.as_ref().map(|why| format!("{why}\n\n")).unwrap_or_default();
    format!(
        "\n### {id}\n\n{title}.\n\n{why}| claim | of | fails by | needed | measured |\n|---|---|---|---|---|\n{rows}"
    )
}

fn failure(check: &Check<'_>, word: &str) -> String {
    let Check { study, claim, measured, .. } = check;
    let place = claim.place.as_deref().unwrap_or("ours");
    let why = claim.why.as_ref().map(|why| format!("<br>{}", cell(why))).unwrap_or_default();
    let measured = measured.and_then(|one| Some(digits::measured(one.value?, one.half_width_95)));
    format!(
        "| {}{why} | {} | {word} | {} | {} |\n",
        cell(&claim.text),
        cell(place),
        claim.required(study.runs),
        measured.unwrap_or_else(|| "nothing".into())
    )
}
