//! How all claims stand, as data: `evenair verdicts` and its page show it.

use super::digest::Digest;
use super::record::Record;
use super::standing::{Check, Entry, Origin, Standing, Statement, statements};
use crate::causes;
use crate::language::Study;
use crate::papers::Paper;
use evenair_results::digits;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// How the claims of studies stand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// The papers, then those of no paper, then those over real sockets.
    pub chapters: Vec<Chapter>,
    /// All claims but those over real sockets.
    pub all: Tally,
    /// Why claims of the papers fail, the most frequent cause first.
    pub causes: Vec<CauseCount>,
}

/// The studies of a paper.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Chapter {
    /// "\[Chen10\]", or the kind of its studies.
    pub name: String,
    /// Its claims count in those of all: real sockets repeat claims of the papers.
    pub counts_in_all: bool,
    /// Its claims, counted.
    pub counts: Tally,
    /// Its studies.
    pub studies: Vec<StudyVerdicts>,
}

/// A study, and the measurements of its last full run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StudyVerdicts {
    /// Its id.
    pub study: String,
    /// Its headline.
    pub title: String,
    /// Why claims fail, in its own words.
    pub why: Option<String>,
    /// Its claims, counted.
    pub counts: Tally,
    /// The day of the full run, as 2010-08-31; null if none is recorded.
    pub date: Option<String>,
    /// The commit of that run's program.
    pub commit: Option<String>,
    /// The variants that run otherwise than recorded, where that was looked at.
    pub stale: Vec<String>,
    /// Its claims, one by one.
    pub checks: Vec<CheckRow>,
}

/// A claim, and its measurement in the last full run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CheckRow {
    /// Its origin.
    pub origin: Origin,
    /// How it stands.
    pub standing: Standing,
    /// The sentence.
    pub claim: String,
    /// Where the paper says so; null for a claim of ours.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// The condition under which it holds.
    pub required: String,
    /// The measured value with half of its 95 % interval; null if nothing was measured.
    pub measured: Option<String>,
    /// Why it fails, in its own words.
    pub why: Option<String>,
    /// The named cause of its failure.
    pub cause: Option<String>,
}

/// A cause, and how many of the papers' claims fail by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CauseCount {
    /// The cause; null where none is named.
    pub cause: Option<String>,
    /// Claims that fail in substance.
    pub in_substance: usize,
    /// Claims that fail by tolerance.
    pub by_tolerance: usize,
    /// Words that fail by a bound of ours.
    pub words: usize,
}

/// Claims counted by origin. A sentence counts once, however many checks it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// The paper's numbers and orders.
    pub paper: Counts,
    /// The paper's words, by bounds of ours.
    pub words: Counts,
    /// Ours.
    pub ours: Counts,
}

/// Claims counted by how they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// They hold.
    pub hold: usize,
    /// They fail, near the paper's number.
    pub by_tolerance: usize,
    /// They fail.
    pub in_substance: usize,
    /// The interval lies on both sides of a bound.
    pub undecided: usize,
    /// No recorded full run matches the present program.
    pub stale: usize,
}

impl Counts {
    fn of<'a>(statements: impl Iterator<Item = &'a Statement<'a>>, origin: Origin) -> Self {
        let mut counts = Self::default();
        for statement in statements.filter(|s| s.origin == origin) {
            *match statement.standing {
                Standing::Holds => &mut counts.hold,
                Standing::FailsByTolerance => &mut counts.by_tolerance,
                Standing::FailsInSubstance => &mut counts.in_substance,
                Standing::Undecided => &mut counts.undecided,
                Standing::NotRun => &mut counts.stale,
            } += 1;
        }
        counts
    }

    /// How many they are.
    pub const fn count(self) -> usize {
        self.hold + self.fail() + self.undecided + self.stale
    }

    /// How many of them fail.
    pub const fn fail(self) -> usize {
        self.by_tolerance + self.in_substance
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.hold += other.hold;
        self.by_tolerance += other.by_tolerance;
        self.in_substance += other.in_substance;
        self.undecided += other.undecided;
        self.stale += other.stale;
    }
}

impl Tally {
    fn of(study: &Study, statements: &[Statement<'_>]) -> Self {
        let of = |origin| Counts::of(statements.iter().filter(|s| s.study == study.id), origin);
        Self { paper: of(Origin::Paper), words: of(Origin::Word), ours: of(Origin::Ours) }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.paper += other.paper;
        self.words += other.words;
        self.ours += other.ours;
    }
}

impl Verdicts {
    /// The studies beside their records. `now` has the present digests; without them every record counts as up to date.
    pub fn of(
        studies: &[Study],
        records: &BTreeMap<String, Record>,
        now: Option<&BTreeMap<String, BTreeMap<String, Digest>>>,
    ) -> Self {
        let nothing = BTreeMap::new();
        let entries: Vec<Entry<'_>> = studies
            .iter()
            .map(|study| Entry {
                study,
                record: records.get(&study.id),
                now: now.map(|now| now.get(&study.id).unwrap_or(&nothing)),
            })
            .collect();
        let statements = statements(&entries);
        let papers = Paper::ALL.map(|paper| (format!("[{}]", paper.tag), Some(paper)));
        let of_packets = papers.into_iter().chain([("No paper's".into(), None)]);
        let mut chapters: Vec<Chapter> = of_packets
            .map(|(name, paper)| {
                let is_here = |study: &Study| !study.is_live() && Paper::of(&study.id) == paper;
                Chapter::of(name, true, entries.iter().filter(|entry| is_here(entry.study)), &statements)
            })
            .collect();
        let mut all = Tally::default();
        chapters.iter().for_each(|chapter| all += chapter.counts);
        let live = entries.iter().filter(|entry| entry.study.is_live());
        chapters.push(Chapter::of("Over real sockets".into(), false, live, &statements));
        Self { chapters, all, causes: causes_of(&statements, studies) }
    }

    /// The share of the papers' claims that fail in substance, in two sentences.
    pub fn share(&self) -> String {
        let Tally { paper, words, .. } = self.all;
        let percent = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
        let (count, failed) = (paper.count(), paper.in_substance);
        let (with_words, failed_words) = (count + words.count(), failed + words.fail());
        format!(
            "Of {count} claims of the papers {failed} fail in substance: {:.1} %. With words judged by our bounds: {failed_words} of {with_words}, {:.1} %.",
            percent(failed, count),
            percent(failed_words, with_words)
        )
    }
}

impl Chapter {
    fn of<'a>(
        name: String,
        counts_in_all: bool,
        entries: impl Iterator<Item = &'a Entry<'a>>,
        statements: &[Statement<'_>],
    ) -> Self {
        let studies: Vec<StudyVerdicts> = entries.map(|entry| StudyVerdicts::of(entry, statements)).collect();
        let mut counts = Tally::default();
        studies.iter().for_each(|study| counts += study.counts);
        Self { name, counts_in_all, counts, studies }
    }
}

impl StudyVerdicts {
    fn of(entry: &Entry<'_>, statements: &[Statement<'_>]) -> Self {
        let Entry { study, record, now } = *entry;
        let stale = record.zip(now).map(|(record, now)| record.stale(now).map(Into::into).collect());
        Self {
            study: study.id.clone(),
            title: study.title.clone(),
            why: study.why.clone(),
            counts: Tally::of(study, statements),
            date: record.map(|record| record.date.clone()),
            commit: record.map(|record| record.commit.clone()),
            stale: stale.unwrap_or_default(),
            checks: entry.checks().map(|check| CheckRow::of(&check)).collect(),
        }
    }

    /// The day and commit of the full run, and its stale variants; nothing, if none is recorded.
    pub fn run(&self) -> Option<String> {
        let (date, commit) = (self.date.as_ref()?, self.commit.as_ref()?);
        let stale = match &self.stale[..] {
            [] => String::new(),
            some => format!("; stale: `{}`", some.join("`, `")),
        };
        Some(format!("{date}, `{}`{stale}", commit.get(..12).unwrap_or(commit)))
    }
}

impl CheckRow {
    fn of(check: &Check<'_>) -> Self {
        let Check { study, claim, measured, standing } = *check;
        let cause = study.cause_of(claim).filter(|_| standing.fails()).and_then(causes::look_up);
        Self {
            origin: Origin::of(claim),
            standing,
            claim: claim.text.clone(),
            place: claim.place.clone(),
            required: claim.required(study.runs),
            measured: measured.and_then(|one| Some(digits::measured(one.value?, one.half_width_95))),
            why: claim.why.clone(),
            cause: cause.map(|cause| cause.text.clone()),
        }
    }
}

/// Each cause and how many of the papers' claims fail by it, the most frequent first.
fn causes_of(statements: &[Statement<'_>], studies: &[Study]) -> Vec<CauseCount> {
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
    let mut rows: Vec<(Option<&str>, [usize; 3])> = counts.into_iter().collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(*counts));
    let row = |(cause, [in_substance, by_tolerance, words]): (Option<&str>, [usize; 3])| {
        let cause = cause.and_then(causes::look_up).map(|cause| cause.text.clone());
        CauseCount { cause, in_substance, by_tolerance, words }
    };
    rows.into_iter().map(row).collect()
}
