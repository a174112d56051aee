//! The page that tells all verdicts.

use super::report::{CauseCount, CheckRow, Counts, StudyVerdicts, Tally, Verdicts};
use super::standing::{Origin, Standing};
use std::fmt::Write;

const HEAD: &str = "# Verdicts

Made by `evenair verdicts --markdown --stale` from `validation/verdicts/`, where `evenair study ID --record validation/verdicts` keeps the measurements of a full run. \
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

impl Verdicts {
    /// The page, as Markdown.
    pub fn page(&self) -> String {
        let (mut summary, mut chapters) = (String::new(), String::new());
        for chapter in &self.chapters {
            if chapter.counts_in_all {
                let _ = writeln!(summary, "| {} | {} |", chapter.name, cells(chapter.counts));
            }
            let rows: String = chapter.studies.iter().map(study_row).collect();
            let failures: String = chapter.studies.iter().map(failures).collect();
            let _ = write!(
                chapters,
                "\n## {}\n\n| study | headline | {COLUMNS} run |\n|---|---|{RULE}---|\n{rows}{failures}",
                chapter.name
            );
        }
        format!(
            "{HEAD}\n| paper | {COLUMNS}\n|---|{RULE}\n{summary}| all | {} |\n\n{}\n{}{chapters}",
            cells(self.all),
            self.share(),
            self.causes_table()
        )
    }

    fn causes_table(&self) -> String {
        if self.causes.is_empty() {
            return String::new();
        }
        let row = |cause: &CauseCount| {
            let text = cause.cause.as_deref().map_or_else(|| "none is named".into(), cell);
            let counts = [cause.in_substance, cause.by_tolerance, cause.words];
            format!("| {text} | {} |\n", numbers(&counts))
        };
        format!(
            "\n## Causes\n\nWhy the papers' claims fail, the most frequent cause first.\n\n| cause | in substance | by tolerance | words by our bounds |\n|---|---|---|---|\n{}",
            self.causes.iter().map(row).collect::<String>()
        )
    }
}

/// A text that stands in a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

/// The cells of the paper's own claims, and of those with a bound of ours, failed and not failed.
fn cells(tally: Tally) -> String {
    let Tally { paper, words, ours } = tally;
    let of_ours = |counts: Counts| numbers(&[counts.hold, counts.fail(), counts.undecided, counts.stale]);
    let of_paper =
        numbers(&[paper.hold, paper.by_tolerance, paper.in_substance, paper.undecided, paper.stale]);
    [of_paper, of_ours(words), of_ours(ours)].join(" | ")
}

fn numbers(counts: &[usize]) -> String {
    let cell = |count: &usize| if *count == 0 { "·".into() } else { count.to_string() };
    counts.iter().map(cell).collect::<Vec<_>>().join(" | ")
}

fn study_row(of: &StudyVerdicts) -> String {
    let run = of.run().unwrap_or_default();
    format!("| `{}` | {} | {} | {run} |\n", of.study, cell(&of.title), cells(of.counts))
}

/// A study's checks that fail, in substance, by tolerance and by our bounds; nothing if there are none.
fn failures(of: &StudyVerdicts) -> String {
    let mut failed: Vec<(usize, &str, &CheckRow)> = Vec::new();
    for check in of.checks.iter().filter(|check| check.standing.fails()) {
        let (rank, word) = match (check.origin, check.standing) {
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
    let why = of.why.as_ref().map(|why| format!("{why}\n\n")).unwrap_or_default();
    format!(
        "\n### {}\n\n{}.\n\n{why}| claim | of | fails by | needed | measured |\n|---|---|---|---|---|\n{rows}",
        of.study, of.title
    )
}

fn failure(check: &CheckRow, word: &str) -> String {
    let place = check.place.as_deref().unwrap_or("ours");
    let why = check.why.as_ref().map(|why| format!("<br>{}", cell(why))).unwrap_or_default();
    format!(
        "| {}{why} | {} | {word} | {} | {} |\n",
        cell(&check.claim),
        cell(place),
        check.required,
        check.measured.as_deref().unwrap_or("nothing")
    )
}
