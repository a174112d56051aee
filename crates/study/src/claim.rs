//! Claims, checked: their measured values, and whether these decide them.

use crate::language::{Claim, Holds, OverSeeds, Reference, Value};
use crate::outcome::Outcome;
use crate::statistics::deviation;
use evenair_results::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The runs' verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All of the 95 % interval is as the claim says.
    Holds,
    /// None of it is.
    Fails,
    /// Some of it is; or nothing is known of the interval.
    Undecided,
}

impl Verdict {
    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
        }
    }
}

/// A claim and its measured value.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimResult {
    /// The sentence.
    pub claim: String,
    /// Where the paper says so.
    pub place: Option<String>,
    /// The measured value; none if there is nothing to measure, or no finite number.
    pub measured: Option<f64>,
    /// Half of the 95 % interval; none where there is no chance, or a single seed.
    pub half_width: Option<f64>,
    /// The 95 % interval as far as the quantity can be there at all; the value itself where there is no chance.
    pub interval: Option<[f64; 2]>,
    /// How many values it is the mean of.
    pub seeds: usize,
    /// The paper's number.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<Reference>,
    /// The condition under which the claim holds.
    pub required: String,
    /// The runs' verdict.
    pub verdict: Verdict,
    /// Why it does not, where it does not and the study knows.
    pub why: Option<String>,
}

/// How many claims hold, fail, and are undecided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// They hold.
    pub hold: usize,
    /// They fail.
    pub fail: usize,
    /// They are undecided.
    pub undecided: usize,
}

impl Tally {
    /// Counts claims.
    pub fn of(claims: &[ClaimResult]) -> Self {
        let count = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
        Self {
            hold: count(Verdict::Holds),
            fail: count(Verdict::Fails),
            undecided: count(Verdict::Undecided),
        }
    }

    /// How many there are.
    pub const fn all(&self) -> usize {
        self.hold + self.fail + self.undecided
    }

    /// Adds another study's.
    pub fn add(&mut self, other: Self) {
        self.hold += other.hold;
        self.fail += other.fail;
        self.undecided += other.undecided;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} hold, {} do not, {} undecided", self.hold, self.fail, self.undecided)
    }
}

/// A claim's measured values: one per seed, and the bounds of possible values.
#[derive(Clone, Debug)]
struct Sample {
    values: Vec<f64>,
    /// Whether seeds differ: a world without chance has one value for all of them.
    random: bool,
    bounds: (f64, f64),
    /// How many scenarios take turns: one, or those of a pool.
    places: usize,
}

impl Sample {
    fn of(value: &Value, outcome: &Outcome) -> Option<Self> {
        let quantity = value.quantity();
        let values = outcome.samples(&value.variant, quantity, value.flow.as_deref())?;
        let random = outcome.is_random(&value.variant, quantity);
        let places = outcome.places(&value.variant);
        Some(Self { values, random, bounds: quantity.bounds(), places })
    }

    /// The mean of each scenario's values, as far as there are any.
    fn by_place(self) -> Self {
        let of_place = |place: usize| {
            let values: Vec<f64> = self.values.iter().skip(place).step_by(self.places).copied().collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        Self { values: (0..self.places.min(self.values.len())).map(of_place).collect(), ..self }
    }

    /// Seed by seed: the variants share their random streams.
    fn paired(&self, other: &Self, of: fn(f64, f64) -> f64) -> Vec<f64> {
        let at = |sample: &Self, seed: usize| sample.values[if sample.random { seed } else { 0 }];
        let seeds = |sample: &Self| if sample.random { sample.values.len() } else { usize::MAX };
        let count = match seeds(self).min(seeds(other)) {
            usize::MAX => 1,
            count => count,
        };
        (0..count).map(|seed| of(at(self, seed), at(other, seed))).collect()
    }

    fn minus(&self, other: &Self) -> Self {
        let bounds = (self.bounds.0 - other.bounds.1, self.bounds.1 - other.bounds.0);
        self.with(other, |a, b| a - b, bounds)
    }

    fn over(&self, other: &Self) -> Self {
        let positive = self.bounds.0 >= 0.0 && other.bounds.0 >= 0.0;
        let bounds = (if positive { 0.0 } else { f64::NEG_INFINITY }, f64::INFINITY);
        self.with(other, |a, b| a / b, bounds)
    }

    fn with(&self, other: &Self, of: fn(f64, f64) -> f64, bounds: (f64, f64)) -> Self {
        let (random, places) = (self.random || other.random, self.places.max(other.places));
        Self { values: self.paired(other, of), random, bounds, places }
    }

    /// The measured value, and its 95 % interval as far as it can be at all: goodputs are not negative, however few the seeds.
    fn estimate(&self, over_seeds: OverSeeds) -> (Option<f64>, Option<[f64; 2]>) {
        // A ratio to nothing says nothing of the others' mean.
        if self.values.is_empty() || self.values.iter().any(|x| !x.is_finite()) {
            return (None, None);
        }
        match over_seeds {
            OverSeeds::Mean => {
                let Estimate { mean, half_width } = Estimate::from_samples(&self.values);
                let half = if self.random { half_width } else { Some(0.0) };
                let (least, most) = self.bounds;
                let clipped =
                    |half: f64| [(mean - half).max(least.min(mean)), (mean + half).min(most.max(mean))];
                (Some(mean), half.map(clipped))
            }
            OverSeeds::Deviation if self.random => deviation(&self.values).unzip(),
            OverSeeds::Deviation => (Some(0.0), Some([0.0; 2])),
        }
    }
}

/// The measured value of a claim.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) measured: Option<f64>,
    /// The 95 % interval; the value itself where there is no chance, none for a single seed.
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) seeds: usize,
}

impl Found {
    /// Returns the verdict; `runs` is the number of runs behind the claim's printed mean.
    pub(crate) fn verdict(self, claim: &Claim, runs: Option<u32>) -> Verdict {
        let holds = match claim.runs(runs) {
            Some(runs) => self.is_explained(claim, runs),
            None => self.interval.and_then(|interval| claim.holds.check(interval)),
        };
        match holds {
            Some(true) => Verdict::Holds,
            Some(false) => Verdict::Fails,
            None => Verdict::Undecided,
        }
    }

    /// Whether the printed mean of so many runs lies where the mean of as many of ours may: n seeds with an interval of ±h leave
    /// it ±h·√(1 + n/runs). Undecided where that reaches further than half of the number, which then says nothing.
    fn is_explained(self, claim: &Claim, runs: u32) -> Option<bool> {
        let (Some([low, high]), Some(mean)) = (self.interval, self.measured) else { return None };
        let wider = (1.0 + self.seeds as f64 / f64::from(runs)).sqrt();
        let (below, above) = ((mean - low) * wider, (high - mean) * wider);
        let fails = claim.holds.check([mean - below, mean + above]) == Some(false);
        let says_nothing = claim.paper.is_some_and(|paper| below.max(above) > 0.5 * paper.abs());
        if fails { Some(false) } else { (!says_nothing).then_some(true) }
    }
}

fn sample(claim: &Claim, outcome: &Outcome) -> Option<Sample> {
    let mut sample = Sample::of(&claim.value, outcome)?;
    if let Some(minus) = &claim.minus {
        sample = sample.minus(&Sample::of(minus, outcome)?);
    }
    if let Some(over) = &claim.over {
        sample = sample.over(&Sample::of(over, outcome)?);
    }
    // Seeds of one scenario say nothing of another.
    Some(if matches!(claim.holds, Holds::Like(_)) { sample.by_place() } else { sample })
}

pub(crate) fn check(claim: &Claim, outcome: &Outcome) -> ClaimResult {
    let sample = sample(claim, outcome);
    let (measured, interval) = sample.as_ref().map_or((None, None), |s| s.estimate(claim.over_seeds));
    let half_width = sample.as_ref().filter(|s| s.random).and_then(|s| match claim.over_seeds {
        OverSeeds::Mean => Estimate::from_samples(&s.values).half_width,
        OverSeeds::Deviation => interval.map(|[low, high]| (high - low) / 2.0),
    });
    let seeds = sample.map_or(0, |s| s.values.len());
    let found = Found { measured, interval, seeds };
    let verdict = found.verdict(claim, outcome.study.runs);
    ClaimResult {
        claim: claim.text.clone(),
        place: claim.place.clone(),
        measured,
        half_width: half_width.filter(|half| measured.is_some() && half.is_finite()),
        interval,
        seeds,
        paper: claim.paper,
        reference: claim.reference.clone(),
        required: claim.required(outcome.study.runs),
        verdict,
        why: match verdict {
            Verdict::Holds => None,
            Verdict::Fails => outcome.study.why_of(claim).map(Into::into),
            Verdict::Undecided => claim.why.clone(),
        },
    }
}

/// Whether more seeds may decide a claim that is undecided: it measures something finite that chance moves.
pub(crate) fn more_seeds_help(claim: &Claim, outcome: &Outcome) -> bool {
    sample(claim, outcome).is_some_and(|s| s.random && s.values.iter().all(|x| x.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Sampled;

    fn random(values: &[f64], bounds: (f64, f64)) -> Sample {
        Sample { values: values.to_vec(), random: true, bounds, places: 1 }
    }

    const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
    const POSITIVE: (f64, f64) = (0.0, f64::INFINITY);

    fn verdict(sample: &Sample, holds: Holds) -> Option<bool> {
        sample.estimate(OverSeeds::Mean).1.and_then(|interval| holds.check(interval))
    }

    #[test]
    fn five_plus_minus_three_is_undecided_at_six() {
        // mean 3, half of the interval 1.963: see the estimate's own test
        let sample = random(&[1.0, 2.0, 3.0, 4.0, 5.0], FREE);
        assert_eq!(verdict(&sample, Holds::Below(5.0)), Some(true));
        assert_eq!(verdict(&sample, Holds::Below(4.9)), None);
        assert_eq!(verdict(&sample, Holds::Below(1.0)), Some(false));
        assert_eq!(verdict(&sample, Holds::Above(1.0)), Some(true));
        assert_eq!(verdict(&sample, Holds::Above(2.0)), None);
        assert_eq!(verdict(&sample, Holds::Above(5.0)), Some(false));
        assert_eq!(verdict(&sample, Holds::Within([1.0, 5.0])), Some(true));
        assert_eq!(verdict(&sample, Holds::Within([2.9, 3.1])), None, "a band narrower than the interval");
        assert_eq!(verdict(&sample, Holds::Within([5.0, 9.0])), Some(false));
    }

    #[test]
    fn one_seed_decides_only_without_chance() {
        let seed = random(&[4.0], FREE);
        assert_eq!(verdict(&seed, Holds::Below(100.0)), None);
        let sure = Sample { random: false, ..seed };
        assert_eq!(verdict(&sure, Holds::Below(100.0)), Some(true));
        assert_eq!(verdict(&sure, Holds::Below(4.0)), Some(false), "below is not at");
    }

    #[test]
    fn an_interval_ends_where_the_metric_does() {
        // mean 1/3, half 1.43
        let rare = random(&[0.0, 0.0, 1.0], POSITIVE);
        assert_eq!(verdict(&rare, Holds::Within([0.0, 2.0])), Some(true), "nothing is below 0");
        assert_eq!(verdict(&rare, Holds::Below(1.0)), None, "the other end is open");
        assert_eq!(verdict(&random(&[0.0; 3], POSITIVE), Holds::Above(0.0)), Some(false));
        assert_eq!(verdict(&random(&[0.99, 0.999], (0.0, 1.0)), Holds::Within([0.5, 1.0])), Some(true));
        // A loss may come out below its lower bound; the interval keeps its own mean inside.
        assert_eq!(verdict(&random(&[-0.1, -0.1], POSITIVE), Holds::Below(0.0)), Some(true));
    }

    /// Two meshes with three seeds each are two values, 1 and 3: their mean is 2 ± 12.7·√2/√2.
    #[test]
    fn mesh_means_agree_within_spread() {
        let pool = Sample { places: 2, ..random(&[0.9, 3.0, 1.0, 3.1, 1.1, 2.9], FREE) }.by_place();
        assert!(pool.values.iter().zip([1.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", pool.values);
        // Five of ours: 3 ± 1.963; twelve of theirs with a deviation of 1: ± 2.201/√12 = 0.635. √(1.963² + 0.635²) = 2.063.
        let five = random(&[1.0, 2.0, 3.0, 4.0, 5.0], FREE);
        let like = |mean| Holds::Like(Sampled { mean, deviation: 1.0, samples: 12 });
        assert_eq!(verdict(&five, like(5.06)), Some(true));
        assert_eq!(verdict(&five, like(5.07)), Some(false));
        assert_eq!(verdict(&random(&[3.0], FREE), like(3.0)), None, "one mesh is no sample");
    }

    #[test]
    fn a_ratio_to_nothing_decides_nothing() {
        let (one, none) = (random(&[1.0, 2.0], POSITIVE), random(&[1.0, 0.0], POSITIVE));
        assert_eq!(verdict(&one.over(&none), Holds::Above(0.0)), None);
        assert_eq!(verdict(&none.over(&one), Holds::Below(100.0)), Some(true));
    }

    #[test]
    fn a_claim_may_be_about_the_spread_over_seeds() {
        let seeds = random(&[1.0, 2.0, 3.0, 4.0, 5.0], POSITIVE);
        let (measured, interval) = seeds.estimate(OverSeeds::Deviation);
        assert!((measured.unwrap() - 2.5f64.sqrt()).abs() < 1e-12);
        // χ² with 4 degrees: 0.484 and 11.143; Wilson and Hilferty are within 5 % there.
        let [low, high] = interval.unwrap();
        assert!((low - 0.947).abs() < 0.01 && (high / 4.544 - 1.0).abs() < 0.05, "{low} {high}");
        assert_eq!(random(&[1.0], POSITIVE).estimate(OverSeeds::Deviation), (None, None));
    }

    #[test]
    fn exact_worlds_pair_with_every_seed() {
        let sure = Sample { values: vec![10.0], random: false, bounds: POSITIVE, places: 1 };
        let seeds = random(&[1.0, 2.0, 3.0], POSITIVE);
        assert_eq!(seeds.minus(&sure).values, [-9.0, -8.0, -7.0]);
        assert_eq!(sure.over(&seeds).values, [10.0, 5.0, 10.0 / 3.0]);
        assert_eq!(sure.minus(&sure).values, [0.0]);
        let first = random(&[5.0], POSITIVE);
        assert_eq!(seeds.minus(&first).values, [-4.0], "the other has no second seed");
    }
}
