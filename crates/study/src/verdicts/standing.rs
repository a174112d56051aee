//! How claims stand, check by check, and as sentences that count once.

use super::digest::Digest;
use super::record::{Measurement, Record};
use crate::claim::Verdict;
use crate::language::{Bound, Claim, Holds, Needs, Study};
use crate::papers::Paper;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a check or a sentence stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It holds.
    Holds,
    /// It fails, near the paper's number.
    FailsByTolerance,
    /// It fails.
    FailsInSubstance,
    /// The interval lies on both sides of a bound.
    Undecided,
    /// No recorded full run matches the present program.
    NotRun,
}

impl Standing {
    /// From the best to the worst of a sentence of which all checks must hold.
    const RANKS: [Self; 5] =
        [Self::Holds, Self::Undecided, Self::NotRun, Self::FailsByTolerance, Self::FailsInSubstance];

    /// Whether it fails.
    pub const fn fails(self) -> bool {
        matches!(self, Self::FailsByTolerance | Self::FailsInSubstance)
    }

    fn rank(self) -> usize {
        Self::RANKS.iter().position(|other| *other == self).unwrap_or_default()
    }

    pub(super) fn of(claim: &Claim, runs: Option<u32>, measured: Option<&Measurement>) -> Self {
        let Some(measured) = measured else { return Self::NotRun };
        match measured.found().verdict(claim, runs) {
            Verdict::Holds => Self::Holds,
            Verdict::Undecided => Self::Undecided,
            Verdict::Fails if is_near(claim, measured) => Self::FailsByTolerance,
            Verdict::Fails => Self::FailsInSubstance,
        }
    }
}

/// A failed claim's number is near the printed one within so much of it.
const NEAR: f64 = 0.1;

/// Whether a measurement is near its claim: its 95 % interval lies off the claim's bounds by no more than a tenth of the paper's
/// number, or by no more than the bounds lie apart. That is a unit of the last digit that the paper prints.
fn is_near(claim: &Claim, measured: &Measurement) -> bool {
    let (Some(paper), Some(value)) = (claim.paper, measured.value) else { return false };
    let width = match claim.holds {
        Holds::Within([low, high]) => high - low,
        Holds::Below(_) | Holds::Above(_) | Holds::Like(_) => 0.0,
    };
    let off = (value - claim.holds.nearest_bound(value)).abs() - measured.half_width_95.unwrap_or(0.0);
    off <= width.max(NEAR * paper.abs())
}

/// The origin of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The paper's, with its number or its order.
    Paper,
    /// The paper's word, with a bound of ours.
    Word,
    /// Ours.
    Ours,
}

impl Origin {
    pub(super) fn of(claim: &Claim) -> Self {
        match claim.bound {
            _ if claim.is_ours() => Self::Ours,
            Bound::Ours => Self::Word,
            Bound::Paper => Self::Paper,
        }
    }
}

/// A claim beside its measurement.
pub(super) struct Check<'a> {
    pub(super) study: &'a Study,
    pub(super) claim: &'a Claim,
    pub(super) measured: Option<&'a Measurement>,
    pub(super) standing: Standing,
}

/// A study beside its record.
pub(super) struct Entry<'a> {
    pub(super) study: &'a Study,
    pub(super) record: Option<&'a Record>,
    /// The present digests, where they are to be compared.
    pub(super) now: Option<&'a BTreeMap<String, Digest>>,
}

impl<'a> Entry<'a> {
    pub(super) fn checks(&self) -> impl Iterator<Item = Check<'a>> {
        let Self { study, record, now } = *self;
        study.claims.iter().map(move |claim| {
            let measured = record.and_then(|record| record.measurement(claim, now));
            Check { study, claim, measured, standing: Standing::of(claim, study.runs, measured) }
        })
    }

    /// The checks, by the sentence that each is of.
    fn by_sentence(&self) -> impl Iterator<Item = (Key, Check<'a>)> {
        let study = self.study;
        self.checks().enumerate().map(move |(index, check)| {
            let entry = || study.origin.places.get("claims").and_then(|from| from.get(index)).copied();
            let sentence = match &check.claim.sentence {
                Some(word) => {
                    Sentence::Named(Paper::of(&study.id).map_or("", |p| p.folder).into(), word.clone())
                }
                None if check.claim.paper.is_some() => Sentence::Row(study.id.clone(), index),
                None => Sentence::Entry(study.id.clone(), entry().unwrap_or(index)),
            };
            ((study.is_live(), Origin::of(check.claim), sentence), check)
        })
    }
}

/// Checks over real sockets, those that depend on a bound of ours, and the rest of one sentence are counted apart.
type Key = (bool, Origin, Sentence);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sentence {
    /// Named, in all studies of a paper.
    Named(String, String),
    /// The rows of an entry without printed numbers.
    Entry(String, usize),
    /// A row with a printed number.
    Row(String, usize),
}

/// A sentence or a number, however many checks it has.
pub(super) struct Statement<'a> {
    pub(super) origin: Origin,
    pub(super) standing: Standing,
    /// The study that it is counted in: the first that checks it.
    pub(super) study: &'a str,
    /// The cause of its failure, of those of its checks that fail worst.
    pub(super) cause: Option<&'a str>,
}

/// The sentences and numbers of some studies, each once.
pub(super) fn statements<'a>(entries: &[Entry<'a>]) -> Vec<Statement<'a>> {
    let mut all: BTreeMap<Key, Vec<Check<'a>>> = BTreeMap::new();
    for (key, check) in entries.iter().flat_map(Entry::by_sentence) {
        all.entry(key).or_default().push(check);
    }
    all.into_iter().map(|((_, origin, _), checks)| statement(origin, &checks)).collect()
}

fn statement<'a>(origin: Origin, checks: &[Check<'a>]) -> Statement<'a> {
    let needs_one = checks.iter().any(|check| check.claim.needs == Needs::One);
    let rank = |check: &&Check<'_>| check.standing.rank();
    let decides = if needs_one { checks.iter().min_by_key(rank) } else { checks.iter().max_by_key(rank) };
    let standing = decides.map_or(Standing::NotRun, |check| check.standing);
    let cause = decides.filter(|_| standing.fails()).and_then(|check| check.study.cause_of(check.claim));
    Statement { origin, standing, study: checks.first().map_or("", |check| &check.study.id), cause }
}
