//! Verdicts of full runs as they were recorded, one file for each study, and the page that tells all of them.
//!
//! A record keeps what was measured; what is claimed, and why it does not hold, is the study's own text. A claim that has been
//! changed since its record counts as not run.

use crate::claim::Verdict;
use crate::language::{Claim, Holds, Study};
use crate::outcome::Outcome;
use crate::papers::Paper;
use evenair_results::digits;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::AddAssign;

/// What a full run of a study gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The study's id.
    pub study: String,
    /// The command that ran it.
    pub command: String,
    /// The commit that the program was built from.
    pub commit: String,
    /// The day of the run, as 2010-08-31.
    pub date: String,
    /// Its claims, in their order.
    pub claims: Vec<RecordedClaim>,
}

/// A claim, and what a run said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedClaim {
    /// The sentence.
    pub claim: String,
    /// The condition under which it holds.
    pub required: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The measured value; null if there is nothing to measure.
    pub measured: Option<f64>,
    /// Half of its 95 % interval; null where there is no chance.
    pub half_width_95: Option<f64>,
    /// How many values it is the mean of.
    pub seeds: usize,
}

impl Record {
    /// The verdicts of a study's runs, of a commit and a day.
    pub fn of(outcome: &Outcome, command: &str, commit: &str, date: &str) -> Self {
        let claims = outcome.claims.iter().map(|found| RecordedClaim {
            claim: found.claim.clone(),
            required: found.required.clone(),
            verdict: found.verdict,
            measured: found.measured,
            half_width_95: found.half_width,
            seeds: found.seeds,
        });
        Self {
            study: outcome.study.id.clone(),
            command: command.into(),
            commit: commit.into(),
            date: date.into(),
            claims: claims.collect(),
        }
    }

    /// Its text, a line for each claim.
    pub fn to_json(&self) -> String {
        let Self { study, command, commit, date, claims } = self;
        let keys = [("study", study), ("command", command), ("commit", commit), ("date", date)];
        let keys = keys.iter().map(|(key, word)| ["  \"", key, "\": ", &json(word), ",\n"].concat());
        let keys: String = keys.collect();
        let claims: Vec<String> = claims.iter().map(|claim| format!("    {}", json(claim))).collect();
        format!("{{\n{keys}  \"claims\": [\n{}\n  ]\n}}\n", claims.join(",\n"))
    }
}

fn json(plain: &impl Serialize) -> String {
    serde_json::to_string(plain).expect("a record is plain data")
}

/// How a claim stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Holds,
    FailsByTolerance,
    FailsInSubstance,
    Undecided,
    NotRun,
}

/// A failed claim's number is near the printed one within so much of it.
const NEAR: f64 = 0.1;

impl Standing {
    fn of(claim: &Claim, recorded: Option<&RecordedClaim>) -> Self {
        match recorded.map(|recorded| (recorded.verdict, recorded)) {
            None => Self::NotRun,
            Some((Verdict::Holds, _)) => Self::Holds,
            Some((Verdict::Undecided, _)) => Self::Undecided,
            Some((Verdict::Fails, recorded)) if is_near(claim, recorded) => Self::FailsByTolerance,
            Some((Verdict::Fails, _)) => Self::FailsInSubstance,
        }
    }
}

/// Whether what was measured comes near to what is claimed: its 95 % interval lies off the claim's bounds by no more than a tenth of
/// the paper's number, or by no more than the bounds lie apart, which is a unit of the last digit that the paper prints.
fn is_near(claim: &Claim, recorded: &RecordedClaim) -> bool {
    let (Some(paper), Some(measured)) = (claim.paper, recorded.measured) else { return false };
    let width = match claim.holds {
        Holds::Within([low, high]) => high - low,
        Holds::Below(_) | Holds::Above(_) | Holds::Like(_) => 0.0,
    };
    let off = (measured - claim.holds.nearest_bound(measured)).abs() - recorded.half_width_95.unwrap_or(0.0);
    off <= width.max(NEAR * paper.abs())
}

/// How many claims stand how, in the order of the table's columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts([usize; 5]);

impl Counts {
    fn add(&mut self, standing: Standing) {
        self.0[standing as usize] += 1;
    }

    /// The cells of the paper's claims.
    fn cells(self) -> String {
        self.0.map(|count| if count == 0 { "·".into() } else { count.to_string() }).join(" | ")
    }

    /// The cells of our own, which fail or do not.
    fn cells_of_ours(self) -> String {
        let [hold, near, far, undecided, not_run] = self.0;
        Self([hold, near + far, undecided, not_run, 0])
            .cells()
            .rsplit_once(" | ")
            .map_or_else(String::new, |(four, _)| four.into())
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(count, more)| *count += more);
    }
}

/// A study beside its record.
struct Entry<'a> {
    study: &'a Study,
    record: Option<&'a Record>,
    papers: Counts,
    ours: Counts,
}

impl<'a> Entry<'a> {
    fn new(study: &'a Study, record: Option<&'a Record>) -> Self {
        let mut entry = Self { study, record, papers: Counts::default(), ours: Counts::default() };
        for (claim, _, standing) in entry.claims().collect::<Vec<_>>() {
            if claim.is_ours() { &mut entry.ours } else { &mut entry.papers }.add(standing);
        }
        entry
    }

    /// Each claim, what was measured, and how it stands.
    fn claims(&self) -> impl Iterator<Item = (&'a Claim, Option<&'a RecordedClaim>, Standing)> {
        let record = self.record;
        self.study.claims.iter().map(move |claim| {
            let same = |of: &&RecordedClaim| {
                of.claim == claim.text && of.required == claim.required(self.study.runs)
            };
            let recorded = record.and_then(|record| record.claims.iter().find(same));
            (claim, recorded, Standing::of(claim, recorded))
        })
    }

    fn row(&self) -> String {
        let run = self.record.map_or_else(String::new, |record| {
            let commit = record.commit.get(..12).unwrap_or(&record.commit);
            format!("{}, `{commit}`", record.date)
        });
        let Study { id, title, .. } = self.study;
        let (papers, ours) = (self.papers.cells(), self.ours.cells_of_ours());
        format!("| `{id}` | {} | {papers} | {ours} | {run} |\n", cell(title))
    }

    /// Its claims that fail, in substance and by tolerance; nothing if there are none.
    fn failures(&self) -> String {
        let failed = [(Standing::FailsInSubstance, "substance"), (Standing::FailsByTolerance, "tolerance")];
        let rows = failed.iter().flat_map(|&(kind, word)| {
            let of_kind = self.claims().filter(move |(.., standing)| *standing == kind);
            of_kind.filter_map(move |(claim, recorded, _)| Some(failure(claim, recorded?, word)))
        });
        let rows: String = rows.collect();
        if rows.is_empty() {
            return rows;
        }
        let Study { id, title, why, .. } = self.study;
        let why = why.as_ref().map(|why| format!("{why}\n\n")).unwrap_or_default();
        format!(
            "\n### {id}\n\n{title}.\n\n{why}| claim | of | fails by | needed | measured |\n|---|---|---|---|---|\n{rows}"
        )
    }
}

fn failure(claim: &Claim, recorded: &RecordedClaim, word: &str) -> String {
    let place = claim.place.as_deref().unwrap_or("ours");
    let why = claim.why.as_ref().map(|why| format!("<br>{}", cell(why))).unwrap_or_default();
    let measured =
        recorded.measured.map_or("nothing".into(), |x| digits::measured(x, recorded.half_width_95));
    format!(
        "| {}{why} | {} | {word} | {} | {measured} |\n",
        cell(&claim.text),
        cell(place),
        recorded.required
    )
}

/// A text that stands in a cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}

const HEAD: &str = "# Verdicts

Made by `EVENAIR_BLESS=1 cargo test -p evenair-cli verdicts` from `validation/verdicts/`, where `evenair study ID --record validation/verdicts` keeps the verdicts of a full run. \
Each study is run with all of its seeds, or until its claims are decided (`--decide`).

A claim of the paper is a sentence or a number that it prints, with bounds on both sides at the precision of its last digit. Claims without a place in the paper are ours.

| word | of a claim |
|---|---|
| holds | all of the 95 % interval of what we measure is as the claim says |
| fails by tolerance | it has a number of the paper, and the interval lies off its bounds by no more than a tenth of that number, or than the width between the bounds (one more unit of the last printed digit): the paper's behaviour with a somewhat other number |
| fails in substance | every other claim that fails: a number that is further off, or an order or a tendency that is not there |
| undecided | the interval lies on both sides of a bound |
| not run | no full run is recorded since the claim took its present form |
";

const COLUMNS: &str =
    "hold | by tolerance | in substance | undecided | not run | ours: hold | fail | undecided | not run |";

/// The page of all built-in studies, beside what was recorded of each.
pub fn page(studies: &[Study], records: &BTreeMap<String, Record>) -> String {
    let entries: Vec<Entry<'_>> =
        studies.iter().map(|study| Entry::new(study, records.get(&study.id))).collect();
    let papers = Paper::ALL.map(|paper| (format!("[{}]", paper.tag), Some(paper)));
    let chapters = papers.into_iter().chain([("No paper's".into(), None)]);
    let (mut summary, mut chapters_text) = (String::new(), String::new());
    let (mut all, mut all_of_ours) = (Counts::default(), Counts::default());
    for (name, paper) in chapters {
        let of_paper = || entries.iter().filter(|entry| Paper::of(&entry.study.id) == paper);
        let (mut papers, mut ours) = (Counts::default(), Counts::default());
        for entry in of_paper() {
            papers += entry.papers;
            ours += entry.ours;
        }
        all += papers;
        all_of_ours += ours;
        let _ = writeln!(summary, "| {name} | {} | {} |", papers.cells(), ours.cells_of_ours());
        let rows: String = of_paper().map(Entry::row).collect();
        let failures: String = of_paper().map(Entry::failures).collect();
        let heads = format!("| study | headline | {COLUMNS} run |\n|---|---|{}---|\n", "---|".repeat(9));
        let _ = write!(chapters_text, "\n## {name}\n\n{heads}{rows}{failures}");
    }
    let total = format!("| all | {} | {} |\n", all.cells(), all_of_ours.cells_of_ours());
    format!("{HEAD}\n| paper | {COLUMNS}\n|---|{}\n{summary}{total}{chapters_text}", "---|".repeat(9))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = r#"
title = "Three numbers"
id = "jam10/three"
why = "the meshes are ours"
variants = [{ id = "one", label = "One", scenario = "chen10/a" }]
[[claims]]
each = [{ name = "a", paper = 0.41, low = 0.405, high = 0.415 }, { name = "b", paper = 0.03, low = 0.025, high = 0.035 }]
text = "{name} is {paper}"
where = "Table 1"
value = { metric = "goodput", variant = "one" }
paper = "{paper}"
holds = { within = ["{low}", "{high}"] }
[[claims]]
text = "c is more than nothing"
where = "Table 1"
value = { metric = "goodput", variant = "one" }
holds = { above = 0.0 }
[[claims]]
text = "d, too"
where = "ours: for comparison"
value = { metric = "goodput", variant = "one" }
holds = { above = 0.0 }
"#;

    fn recorded(claim: &Claim, verdict: Verdict, measured: f64, half: f64) -> RecordedClaim {
        let (claim, required) = (claim.text.clone(), claim.required(None));
        RecordedClaim {
            claim,
            required,
            verdict,
            measured: Some(measured),
            half_width_95: Some(half),
            seeds: 5,
        }
    }

    fn standing(claim: &Claim, measured: f64, half: f64) -> Standing {
        Standing::of(claim, Some(&recorded(claim, Verdict::Fails, measured, half)))
    }

    #[test]
    fn a_number_is_near_within_a_tenth_or_a_unit_of_its_last_digit() {
        let study = Study::parse("jam10/three", STUDY).unwrap();
        let [a, b, c, _] = &study.claims[..] else { panic!("four claims") };
        // From 0.405 down a tenth of 0.41 is 0.364, and an interval that reaches there is near.
        assert_eq!(standing(a, 0.365, 0.0), Standing::FailsByTolerance);
        assert_eq!(standing(a, 0.355, 0.0), Standing::FailsInSubstance);
        assert_eq!(standing(a, 0.355, 0.01), Standing::FailsByTolerance);
        // A unit of the last digit of 0.03 is 0.01, more than a tenth of it.
        assert_eq!(standing(b, 0.044, 0.0), Standing::FailsByTolerance);
        assert_eq!(standing(b, 0.046, 0.0), Standing::FailsInSubstance);
        assert_eq!(standing(c, -0.001, 0.0), Standing::FailsInSubstance, "an order that is not there");
        assert_eq!(Standing::of(a, None), Standing::NotRun);
    }

    #[test]
    fn the_page_counts_the_papers_claims_and_ours_apart_and_forgets_what_was_claimed_otherwise() {
        let study = Study::parse("jam10/three", STUDY).unwrap();
        let mut claims: Vec<_> =
            study.claims.iter().map(|claim| recorded(claim, Verdict::Holds, 1.0, 0.1)).collect();
        claims[0] = recorded(&study.claims[0], Verdict::Fails, 0.2, 0.1);
        claims[1].required = "0 to 1".into();
        let [command, commit, date] =
            ["evenair study jam10/three", "0123456789abcdef", "2010-08-31"].map(String::from);
        let record = Record { study: study.id.clone(), command, commit, date, claims };
        assert_eq!(serde_json::from_str::<Record>(&record.to_json()).unwrap(), record);
        let page = page(&[study], &BTreeMap::from([(record.study.clone(), record)]));
        let row = "| `jam10/three` | Three numbers | 1 | · | 1 | · | 1 | 1 | · | · | · | 2010-08-31, `0123456789ab` |";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("| all | 1 | · | 1 | · | 1 | 1 | · | · | · |"), "{page}");
        assert!(
            page.contains("the meshes are ours")
                && page.contains("| a is 0.41 | Table 1 | substance | 0.405 to 0.415 | 0.20 ± 0.10 |"),
            "{page}"
        );
    }
}
