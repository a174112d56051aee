//! Study files.

use crate::causes;
use crate::each::Places;
use crate::metric::Metric;
use crate::quantity::{Of, Quantity, Statistic};
use crate::world::World;
use crate::written::Written;
use evenair_results::Estimate;
use evenair_scenario::{Time, exactly};
use evenair_service::Mistake as StudyError;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::path::PathBuf;

/// A study.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its id, `<paper tag>/<fig|table>-<number>`, which is the built-in file's name too; the name of a user's file, if none is given.
    #[serde(default)]
    pub id: String,
    /// A headline.
    pub title: String,
    /// The figure or table that it reproduces, with its paper.
    #[serde(default)]
    pub source: String,
    /// Its description in a few sentences.
    #[serde(default)]
    pub about: String,
    /// Its departures from the paper, and points that the paper leaves open.
    #[serde(default)]
    pub deviations: Vec<String>,
    /// Why claims do not hold, where that is known: told beside each that does not and has no `why` of its own.
    pub why: Option<String>,
    /// The named cause of the claims that do not hold, as [`crate::causes`] has it, where a claim names none of its own.
    pub cause: Option<String>,
    /// How many runs each printed number is the mean of: one, where the paper names no more. A printed number then holds if the
    /// mean of so many of our runs may well be it; without this key, if the mean over all seeds is.
    pub runs: Option<u32>,
    /// How many seeds; the fewest, if a precision is asked for.
    #[serde(default = "five")]
    pub seeds: u32,
    /// Go on with more seeds until each flow's goodput is known this well: half of its 95 % interval over the variant's
    /// largest goodput.
    pub precision: Option<f64>,
    /// The most seeds that a precision, or deciding the claims, may take.
    #[serde(default = "two_hundred")]
    pub seeds_max: u32,
    /// How often queues and windows are sampled, for series and means; every second, if it is not given.
    pub sample_every: Option<Time>,
    /// The variant that others are compared with, seed by seed.
    pub baseline: Option<String>,
    /// Overrides of every variant's scenario.
    #[serde(default)]
    pub set: Vec<String>,
    /// The changes that `--quick` makes.
    #[serde(default)]
    pub quick: Quick,
    /// The variants to compare.
    pub variants: Vec<Variant>,
    /// The claims that should hold.
    #[serde(default)]
    pub claims: Vec<Claim>,
    /// The paper's own numbers, and others with their origin.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The figures to draw. The first answers the study's question: in a report it stands before all text.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Tables with a row per variant and a column per metric.
    #[serde(default)]
    pub tables: Vec<Summary>,
    /// The unit of rates in the utility gap [packets/s]; see the metric.
    #[serde(default = "one")]
    pub utility_unit: f64,
    /// The only metrics reported for each variant. By default: goodput, its optimum, and the metrics that claims, figures
    /// and tables name.
    #[serde(skip)]
    pub(crate) asked: Option<Vec<Quantity>>,
    /// Overrides from the command line: they win over the study's and the variants' own.
    #[serde(skip)]
    pub(crate) changes: Vec<String>,
    /// The text that it was read from, and the folder in which its scenarios are looked for before the built-in ones.
    #[serde(skip)]
    pub(crate) origin: Origin,
}

impl Study {
    /// Whether a variant is in real time.
    pub fn is_live(&self) -> bool {
        self.variants.iter().any(|variant| variant.world == World::Linux)
    }

    /// The named cause of a claim that does not hold.
    pub(crate) fn cause_of<'a>(&'a self, claim: &'a Claim) -> Option<&'a str> {
        claim.cause.as_deref().or(self.cause.as_deref())
    }

    /// Why a claim does not hold: its own reason, the study's, or the named cause's.
    pub(crate) fn why_of<'a>(&'a self, claim: &'a Claim) -> Option<&'a str> {
        let named =
            |cause: &Option<String>| causes::look_up(cause.as_deref()?).map(|cause| cause.text.as_str());
        let of_claim = claim.why.as_deref().or_else(|| named(&claim.cause));
        of_claim.or(self.why.as_deref()).or_else(|| named(&self.cause))
    }

    /// Overrides keys of every variant's scenario; these win over the study and its variants.
    ///
    /// # Errors
    /// If a key is one that a sweep varies.
    pub fn change(&mut self, changes: impl IntoIterator<Item = String>) -> Result<(), StudyError> {
        let key = |change: &str| change.split('=').next().unwrap_or_default().trim().to_owned();
        for change in changes {
            let (of_change, below) = (key(&change), key(&change) + ".");
            let is_swept = |set: &String| key(set) == of_change || key(set).starts_with(&below);
            let swept = self.variants.iter().find(|v| v.point.iter().any(|p| p.set.iter().any(is_swept)));
            if let Some(Point { curve, parameter, .. }) = swept.and_then(|variant| variant.point.as_ref()) {
                let message = format!(
                    "{change}: variant \"{curve}\" sweeps this key ({parameter}); --variant leaves it out"
                );
                return Err(StudyError::of(&self.origin.file, message));
            }
            self.changes.push(change);
        }
        Ok(())
    }

    /// A study of nothing yet.
    pub(crate) fn blank(title: String) -> Self {
        Self {
            id: String::new(),
            title,
            source: String::new(),
            about: String::new(),
            deviations: Vec::new(),
            why: None,
            cause: None,
            runs: None,
            seeds: five(),
            precision: None,
            seeds_max: two_hundred(),
            sample_every: None,
            baseline: None,
            set: Vec::new(),
            quick: Quick::default(),
            variants: Vec::new(),
            claims: Vec::new(),
            published: Vec::new(),
            figures: Vec::new(),
            tables: Vec::new(),
            utility_unit: one(),
            asked: None,
            changes: Vec::new(),
            origin: Origin::default(),
        }
    }
}

/// Where a study comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The file, as it was named; a built-in one's id.
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) folder: Option<PathBuf>,
    /// Which entry of its list in the text each entry comes from.
    pub(crate) places: Places,
}

const fn one() -> f64 {
    1.0
}

const fn five() -> u32 {
    5
}

const fn two_hundred() -> u32 {
    200
}

/// The changes that `--quick` makes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// How many seeds.
    pub seeds: u32,
    /// More overrides.
    #[serde(default)]
    pub set: Vec<String>,
}

impl Default for Quick {
    fn default() -> Self {
        Self { seeds: 1, set: Vec::new() }
    }
}

/// One of the systems that are compared, on one scenario or on a pool of them.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its id, for claims and tables.
    pub id: String,
    /// Its label in figures.
    pub label: String,
    /// The scenario, by its id; or `scenarios`.
    #[serde(default)]
    pub scenario: String,
    /// A pool of scenarios: the run of seed s takes the one of number (s − 1) mod n, so that means and deviations are over
    /// topologies and seeds. Flows differ between them, so all that can be told is of all flows together.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Where its numbers come from.
    #[serde(default)]
    pub world: World,
    /// Overrides.
    #[serde(default)]
    pub set: Vec<String>,
    /// Its group: variants of one group share a panel.
    #[serde(default)]
    pub group: String,
    /// Values of a parameter to sweep; each makes a variant of its own, `id@value`.
    pub sweep: Option<ParameterSweep>,
    /// The parameter's value, of a variant that a sweep made.
    #[serde(skip)]
    pub point: Option<Point>,
    /// Its number in the study; that of the swept one, if a sweep made it.
    #[serde(skip)]
    pub(crate) number: usize,
}

/// Values of a parameter, and the overrides of each.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterSweep {
    /// The parameter that is swept, with its unit: the axis of figures.
    pub parameter: String,
    /// The values.
    pub values: Vec<f64>,
    /// Overrides with `{x}` in the place of the value, `{x+1}` for one more.
    pub set: Vec<String>,
}

/// Where a variant lies on a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The variant that was swept.
    pub curve: String,
    /// The parameter.
    pub parameter: String,
    /// Its value.
    pub x: f64,
    /// The overrides that give it.
    pub(crate) set: Vec<String>,
}

impl Variant {
    /// Its scenarios: one, or those of its pool.
    pub fn scenario_ids(&self) -> Vec<&str> {
        if self.scenarios.is_empty() {
            vec![&self.scenario]
        } else {
            self.scenarios.iter().map(String::as_str).collect()
        }
    }

    /// Whether it has a pool of scenarios.
    pub const fn is_pooled(&self) -> bool {
        !self.scenarios.is_empty()
    }

    /// Whether an id is this variant's, or that of the sweep that made it.
    pub(crate) fn is_named(&self, id: &str) -> bool {
        self.id == id || self.point.as_ref().is_some_and(|point| point.curve == id)
    }

    /// The variants that a sweep makes of this one; itself, without a sweep.
    pub(crate) fn expand(self) -> Vec<Self> {
        let Some(sweep) = &self.sweep else { return vec![self] };
        let at = |&x: &f64| {
            let fill =
                |text: &String| text.replace("{x}", &x.to_string()).replace("{x+1}", &(x + 1.0).to_string());
            let swept: Vec<String> = sweep.set.iter().map(fill).collect();
            Self {
                id: format!("{}@{x}", self.id),
                set: [&self.set[..], &swept].concat(),
                sweep: None,
                point: Some(Point {
                    curve: self.id.clone(),
                    parameter: sweep.parameter.clone(),
                    x,
                    set: swept,
                }),
                ..self.clone()
            }
        };
        sweep.values.iter().map(at).collect()
    }
}

/// A checkable sentence.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// Where the paper says so: section, figure or table, page; best with its words. A claim without it, or with "ours" at its
    /// beginning, is no paper's.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// The metric measured.
    pub value: Value,
    /// A metric subtracted from it, seed by seed.
    pub minus: Option<Value>,
    /// A metric that it is divided by, seed by seed.
    pub over: Option<Value>,
    /// The statistic of the seeds' values: their mean, or their standard deviation.
    #[serde(default)]
    pub over_seeds: OverSeeds,
    /// The number that is printed in the paper.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<Reference>,
    /// When the sentence holds.
    pub holds: Holds,
    /// The sentence of the paper that this claim checks, as a word. Claims of one paper with the same word count as one on the
    /// page of verdicts. Without it, all rows of an entry without a printed number count as one, and each printed number as one.
    pub sentence: Option<String>,
    /// Which of a sentence's checks must hold.
    #[serde(default)]
    pub needs: Needs,
    /// The origin of the bound.
    #[serde(default)]
    pub bound: Bound,
    /// Why it does not hold, where that is known: told beside it if it does not.
    pub why: Option<String>,
    /// The named cause, as [`crate::causes`] has it; the study's, if none is given.
    pub cause: Option<String>,
    /// How its numbers are written in the file.
    #[serde(skip)]
    pub(crate) written: Vec<Written>,
}

/// The number that a claim makes of the values of all seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverSeeds {
    /// Their mean.
    #[default]
    Mean,
    /// Their standard deviation.
    Deviation,
}

/// Which checks of a sentence must hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// All of them.
    #[default]
    All,
    /// One of them: they are readings of a point that the paper leaves open.
    One,
}

/// The origin of a claim's bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The paper: its number at the precision of its last digit, or an order that it names.
    #[default]
    Paper,
    /// Ours: the paper has a word ("almost the same", "starves", "stable") and no number.
    Ours,
}

impl Claim {
    /// Every value that it measures.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.value).chain(&self.minus).chain(&self.over)
    }

    /// The number of runs behind its printed mean; `of_study` is the study's default. None if the number is no such mean.
    pub(crate) fn runs(&self, of_study: Option<u32>) -> Option<u32> {
        let is_printed = self.paper.is_some() && matches!(self.holds, Holds::Within(_));
        of_study.filter(|_| is_printed && self.over_seeds == OverSeeds::Mean)
    }

    /// Whether no paper says so.
    pub(crate) fn is_ours(&self) -> bool {
        self.place.as_ref().is_none_or(|place| place.starts_with("ours"))
    }
}

/// A number that is not the paper's.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The number.
    pub value: f64,
    /// The flow or node that it is of.
    pub origin: String,
}

/// A measured value.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Which metric.
    pub metric: Metric,
    /// Of which variant.
    pub variant: String,
    /// Of which flow; the mean of several, "1..8" or "web-*"; of all together, if none.
    pub flow: Option<String>,
    /// The statistic that its course over time is reduced to.
    #[serde(default)]
    pub statistic: Statistic,
    /// Which of the flow's packets.
    #[serde(default)]
    pub of: Of,
    /// From when on, in simulated time; from the warm-up's end, if it is not given.
    pub from: Option<Time>,
    /// Until when; to the end, if it is not given.
    pub to: Option<Time>,
}

impl Value {
    /// A metric, of any flow or node.
    pub fn quantity(&self) -> Quantity {
        Quantity {
            statistic: self.statistic,
            of: self.of,
            from: self.from.map(|time| time.0),
            to: self.to.map(|time| time.0),
            ..self.metric.into()
        }
    }
}

/// When a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Holds {
    /// Below this.
    Below(f64),
    /// Above this.
    Above(f64),
    /// Between these.
    Within([f64; 2]),
    /// Like a mean over other places, such as the meshes of a paper.
    Like(Sampled),
}

/// A mean that is printed with the standard deviation of its sample. It agrees with ours, over a pool of scenarios, if the choice
/// of places on both sides explains the difference. The bound is the root of the sum of the squares of both halves of a 95 %
/// interval.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampled {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The number of places behind the mean; assumed where the source does not give it. Two at least.
    pub samples: u32,
}

impl Sampled {
    /// Half of the 95 % interval of the mean.
    pub(crate) fn half_width(self) -> f64 {
        let estimate = Estimate::from_deviation(self.mean, self.deviation, self.samples as usize);
        estimate.half_width.unwrap_or(f64::INFINITY)
    }

    /// Whether a mean of ours is like it.
    pub(crate) fn is_like(self, ours: Estimate) -> Option<bool> {
        ours.half_width.map(|half| (ours.mean - self.mean).abs() <= half.hypot(self.half_width()))
    }
}

impl<'de> Deserialize<'de> for Holds {
    /// Reads one of the three forms; the error names the form for two bounds.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Bounds {
            below: Option<f64>,
            above: Option<f64>,
            #[serde(default, deserialize_with = "exactly")]
            within: Option<[f64; 2]>,
            like: Option<Sampled>,
        }
        let Bounds { below, above, within, like } = Bounds::deserialize(deserializer)?;
        match (below, above, within, like) {
            (Some(limit), None, None, None) => Ok(Self::Below(limit)),
            (None, Some(limit), None, None) => Ok(Self::Above(limit)),
            (None, None, Some(ends), None) => Ok(Self::Within(ends)),
            (None, None, None, Some(sampled)) => Ok(Self::Like(sampled)),
            (Some(most), Some(least), None, None) => Err(D::Error::custom(format!(
                "between two bounds is written as within = [{least}, {most}], which holds at both ends, too"
            ))),
            _ => Err(D::Error::custom(
                "give one of below = 5, above = 2, within = [2, 5] and like = { mean = 3, deviation = 1, samples = 12 }",
            )),
        }
    }
}

impl Holds {
    /// Its bounds.
    pub(crate) fn bounds(self) -> Vec<f64> {
        match self {
            Self::Below(limit) | Self::Above(limit) => vec![limit],
            Self::Within(ends) => ends.to_vec(),
            Self::Like(Sampled { mean, deviation, .. }) => vec![mean, deviation],
        }
    }

    /// Whether it holds for every value of an interval, for none (`Some(false)`), or for some.
    pub fn check(self, [low, high]: [f64; 2]) -> Option<bool> {
        let (all, none) = match self {
            Self::Below(limit) => (high < limit, low >= limit),
            Self::Above(limit) => (low > limit, high <= limit),
            Self::Within([least, most]) => (least <= low && high <= most, high < least || most < low),
            Self::Like(sampled) => {
                let ours = Estimate { mean: f64::midpoint(low, high), half_width: Some((high - low) / 2.0) };
                return sampled.is_like(ours);
            }
        };
        (all || none).then_some(all)
    }
}

impl Holds {
    /// The bound that a value is nearest to.
    pub(crate) fn nearest_bound(self, value: f64) -> f64 {
        match self {
            Self::Below(limit) | Self::Above(limit) => limit,
            Self::Within([least, most]) if (value - least).abs() < (value - most).abs() => least,
            Self::Within([_, most]) => most,
            Self::Like(Sampled { mean, .. }) => mean,
        }
    }
}

/// A number of the paper; one of another origin, if it names any.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which metric.
    pub metric: Metric,
    /// Of which variant.
    pub variant: String,
    /// Of which flow; of all together, if none.
    pub flow: Option<String>,
    /// The statistic that its course over time is reduced to.
    #[serde(default)]
    pub statistic: Statistic,
    /// Which of the flow's packets.
    #[serde(default)]
    pub of: Of,
    /// From when on.
    pub from: Option<Time>,
    /// Until when.
    pub to: Option<Time>,
    /// The number.
    pub value: f64,
    /// The source of the number, if it is not the paper.
    pub origin: Option<String>,
}

impl Published {
    /// The metric that it is a number of, of any flow or node.
    pub fn quantity(&self) -> Quantity {
        Quantity {
            statistic: self.statistic,
            of: self.of,
            from: self.from.map(|time| time.0),
            to: self.to.map(|time| time.0),
            ..self.metric.into()
        }
    }
}

/// A figure of the report.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The kind of figure.
    pub kind: FigureKind,
    /// Its headline.
    pub title: String,
    /// Which variants; all, if none are named.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Which metric, for bars, series and lines.
    pub metric: Option<Metric>,
    /// The statistic that its course over time is reduced to, for bars and lines.
    #[serde(default)]
    pub statistic: Statistic,
    /// Which of the flows' packets.
    #[serde(default)]
    pub of: Of,
    /// The other axis of a phase portrait; the same metric of the second flow, if it is not given.
    pub against: Option<Metric>,
    /// Draw all flows together (their sum, mean or the metric's own total) instead of each, for bars and lines.
    #[serde(default)]
    pub total: bool,
    /// The flow that a window of the air shows being served, for timelines; a window after the warm-up, if none is named.
    pub around: Option<String>,
}

impl Figure {
    /// The metrics drawn; goodput, if none is named.
    pub fn quantity(&self) -> Quantity {
        Quantity { statistic: self.statistic, of: self.of, ..self.metric.unwrap_or(Metric::Goodput).into() }
    }
}

/// A table of the whole of each variant: a row per variant, a column per metric, means and standard deviations over seeds.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Its headline.
    pub title: String,
    /// Which variants, in their order; all, if none are named.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Which metrics, each in one word: "delay", "delay-p95", "ack-loss".
    pub metrics: Vec<Quantity>,
    /// A row for each scenario of a pool, not one for all.
    #[serde(default)]
    pub by_scenario: bool,
}

/// A kind of figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A bar per flow and variant, with its interval, and the optimum.
    Bars,
    /// A metric over time, of the first seed.
    Series,
    /// The conflict graph.
    ConflictGraph,
    /// Where each transmitter's time went.
    Ledger,
    /// The air's occupancy in a short window of the first seed.
    Timeline,
    /// A metric over a swept parameter, a line per variant and flow.
    Lines,
    /// A tick per seed of a metric of the whole, and their mean.
    Spread,
    /// A phase portrait: the metric over time of one flow against that of another, or against another metric of the same.
    Phase,
    /// The map of the first variant's network: nodes, ways of flows, ranges.
    Map,
    /// A gateway's grants to each subscriber, and their throughput, over time, of the first seed.
    Gateway,
}
