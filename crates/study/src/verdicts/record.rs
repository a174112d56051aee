//! The measurements of a full run of a study, kept as a file.
//!
//! A record keeps measurements. The study's text has the claims and their bounds: a sentence or a bound that is mended later is
//! judged by the same run.

use super::digest::Digest;
use crate::claim::Found;
use crate::language::{Claim, Holds, OverSeeds, Study, Value};
use crate::outcome::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The measurements of a full run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The study's id.
    pub study: String,
    /// The command that ran it.
    pub command: String,
    /// The commit that the program was built from.
    pub commit: String,
    /// The day of the run, as 2010-08-31.
    pub date: String,
    /// How long the run took [s]; null where runs kept from before were used.
    pub seconds: Option<f64>,
    /// The digests of the runs, by variant.
    pub variants: BTreeMap<String, Digest>,
    /// The measurements, in the order of the claims.
    pub measured: Vec<Measurement>,
}

/// A measured quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// The quantity; see [`Claim::measures`].
    pub of: String,
    /// Its value; null if there is nothing to measure.
    pub value: Option<f64>,
    /// Half of its 95 % interval; null where there is no chance.
    pub half_width_95: Option<f64>,
    /// The 95 % interval as far as the quantity can be there at all; the value itself where there is no chance, null for a single seed.
    pub interval_95: Option<[f64; 2]>,
    /// How many values it is the mean of.
    pub seeds: usize,
}

impl Measurement {
    pub(super) const fn found(&self) -> Found {
        Found { measured: self.value, interval: self.interval_95, seeds: self.seeds }
    }
}

impl Record {
    /// The measurements of a study's runs.
    pub fn of(
        outcome: &Outcome,
        variants: BTreeMap<String, Digest>,
        [command, commit, date]: [&str; 3],
        seconds: Option<f64>,
    ) -> Self {
        let mut measured: Vec<Measurement> = Vec::new();
        for (claim, result) in outcome.study.claims.iter().zip(&outcome.claims) {
            let of = claim.measures();
            if measured.iter().any(|other| other.of == of) {
                continue;
            }
            let (value, half_width_95) = (result.measured, result.half_width);
            measured.push(Measurement {
                of,
                value,
                half_width_95,
                interval_95: result.interval,
                seeds: result.seeds,
            });
        }
        Self {
            study: outcome.study.id.clone(),
            command: command.into(),
            commit: commit.into(),
            date: date.into(),
            seconds,
            variants,
            measured,
        }
    }

    /// Its text, a line for each variant and each measurement.
    pub fn to_json(&self) -> String {
        let Self { study, command, commit, date, seconds, variants, measured } = self;
        let keys = [("study", study), ("command", command), ("commit", commit), ("date", date)];
        let keys = keys.map(|(key, word)| format!("  \"{key}\": {},\n", json(word))).concat();
        let variants = variants.iter().map(|(id, digest)| format!("    {}: {}", json(id), json(digest)));
        let variants = variants.collect::<Vec<_>>().join(",\n");
        let measured =
            measured.iter().map(|one| format!("    {}", json(one))).collect::<Vec<_>>().join(",\n");
        format!(
            "{{\n{keys}  \"seconds\": {},\n  \"variants\": {{\n{variants}\n  }},\n  \"measured\": [\n{measured}\n  ]\n}}\n",
            json(seconds)
        )
    }

    /// The measurement of a claim, if all of its variants are run as they were then, or `now` is not given.
    pub(super) fn measurement(
        &self,
        claim: &Claim,
        now: Option<&BTreeMap<String, Digest>>,
    ) -> Option<&Measurement> {
        let is_fresh = |value: &Value| now.is_none_or(|now| self.is_fresh(&value.variant, now));
        let of = claim.measures();
        self.measured.iter().find(|one| one.of == of).filter(|_| claim.values().all(is_fresh))
    }

    /// Whether anything that a study claims was not measured, or would be run otherwise now.
    pub fn is_due(&self, study: &Study, now: &BTreeMap<String, Digest>) -> bool {
        study.claims.iter().any(|claim| self.measurement(claim, Some(now)).is_none())
    }

    /// Whether a variant is run as it was then.
    fn is_fresh(&self, variant: &str, now: &BTreeMap<String, Digest>) -> bool {
        self.variants.get(variant).is_some_and(|then| now.get(variant) == Some(then))
    }

    /// The variants that are run otherwise by now.
    pub fn stale<'a>(&'a self, now: &'a BTreeMap<String, Digest>) -> impl Iterator<Item = &'a str> {
        now.keys().map(String::as_str).filter(|variant| !self.is_fresh(variant, now))
    }
}

fn json(plain: &impl Serialize) -> String {
    serde_json::to_string(plain).expect("a record is plain data")
}

impl Claim {
    /// The quantity that it measures, in words: `goodput of l-csma, flow 2 / goodput of l-csma, flow 1`. Claims with the same words
    /// are about the same measurement.
    pub fn measures(&self) -> String {
        let part = |value: &Value| {
            let flow = value.flow.as_ref().map(|flow| format!(", flow {flow}")).unwrap_or_default();
            format!("{} of {}{flow}", value.quantity(), value.variant)
        };
        let mut words = part(&self.value);
        if let Some(minus) = &self.minus {
            words += &format!(" - {}", part(minus));
        }
        if let Some(over) = &self.over {
            words = if self.minus.is_some() { format!("({words})") } else { words };
            words += &format!(" / {}", part(over));
        }
        if self.over_seeds == OverSeeds::Deviation {
            words += ", standard deviation over seeds";
        }
        if matches!(self.holds, Holds::Like(_)) {
            words += ", by scenario";
        }
        words
    }
}
