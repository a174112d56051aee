//! Claims, checked.

use crate::language::{Claim, Value};
use crate::outcome::Outcome;
use crate::statistics::Estimate;
use serde::Serialize;

/// A claim and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimResult {
    /// The sentence.
    pub claim: String,
    /// What was measured; none if the metric has no value here.
    pub measured: Option<f64>,
    /// Half of the 95 % interval.
    pub half_width: Option<f64>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// What it must be for the claim to hold.
    pub required: String,
    /// Whether it holds.
    pub holds: bool,
}

pub(crate) fn check(claim: &Claim, outcome: &Outcome) -> ClaimResult {
    let samples = |value: &Value| outcome.samples(&value.variant, value.metric, value.flow.as_deref());
    // Seed by seed: the variants share their random streams.
    let paired = |values: Option<Vec<f64>>, other: Option<&Value>, of: fn(f64, f64) -> f64| match other {
        None => values,
        Some(other) => {
            let (values, other) = (values?, samples(other)?);
            // What knows no chance has one value for all seeds.
            let count = values.len().max(other.len());
            let at = |of: &[f64], i: usize| if of.len() == 1 { of[0] } else { of[i] };
            let both = values.len().min(other.len());
            let count = if both == 1 { count } else { both };
            Some((0..count).map(|i| of(at(&values, i), at(&other, i))).collect())
        }
    };
    let difference = paired(samples(&claim.value), claim.minus.as_ref(), |a, b| a - b);
    let values = paired(difference, claim.over.as_ref(), |a, b| a / b);
    let estimate = values.as_deref().map(Estimate::from_samples);
    ClaimResult {
        claim: claim.text.clone(),
        measured: estimate.map(|e| e.mean),
        half_width: estimate.and_then(|e| e.half_width),
        paper: claim.paper,
        required: claim.holds.to_string(),
        holds: estimate.is_some_and(|e| claim.holds.check(e.mean)),
    }
}
