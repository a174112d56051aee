//! Study files.

use crate::each;
use crate::metric::Metric;
use crate::quantity::{Of, Quantity, Statistic};
use crate::world::World;
use evenair_scenario::Time;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A study.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Its id, `<paper tag>/<fig|table>-<number>`; it is the file's name too.
    pub id: String,
    /// A headline.
    pub title: String,
    /// Which figure or table of which paper.
    pub source: String,
    /// What it shows, in a few sentences.
    pub about: String,
    /// Where it departs from the paper, and what the paper does not say.
    #[serde(default)]
    pub deviations: Vec<String>,
    /// How many seeds; the fewest, if a precision is asked for.
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
    /// What `--quick` changes.
    pub quick: Quick,
    /// What is compared.
    pub variants: Vec<Variant>,
    /// What should hold.
    pub claims: Vec<Claim>,
    /// The paper's own numbers, and others with their origin.
    #[serde(default)]
    pub published: Vec<Published>,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// Tables with a row per variant and a column per metric.
    #[serde(default)]
    pub tables: Vec<Summary>,
    /// The unit of rates in the utility gap [packets/s]; see the metric.
    #[serde(default = "one")]
    pub utility_unit: f64,
}

const fn one() -> f64 {
    1.0
}

const fn two_hundred() -> u32 {
    200
}

/// What `--quick` changes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quick {
    /// How many seeds.
    pub seeds: u32,
    /// More overrides.
    #[serde(default)]
    pub set: Vec<String>,
}

/// One of the systems that are compared, on one scenario or on a pool of them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
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
    /// What it is drawn together with: variants of one group share a panel.
    #[serde(default)]
    pub group: String,
    /// Values of a parameter to sweep; each makes a variant of its own, `id@value`.
    pub sweep: Option<ParameterSweep>,
    /// The parameter's value, of a variant that a sweep made.
    #[serde(skip)]
    pub point: Option<Point>,
}

/// Values of a parameter, and what each overrides.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParameterSweep {
    /// What is swept, with its unit: the axis of figures.
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

    /// The variants that a sweep makes of this one; itself, without a sweep.
    fn expand(self) -> Vec<Self> {
        let Some(sweep) = &self.sweep else { return vec![self] };
        let at = |&x: &f64| {
            let fill =
                |text: &String| text.replace("{x}", &x.to_string()).replace("{x+1}", &(x + 1.0).to_string());
            Self {
                id: format!("{}@{x}", self.id),
                set: self.set.iter().cloned().chain(sweep.set.iter().map(fill)).collect(),
                sweep: None,
                point: Some(Point { curve: self.id.clone(), parameter: sweep.parameter.clone(), x }),
                ..self.clone()
            }
        };
        sweep.values.iter().map(at).collect()
    }
}

/// A checkable sentence.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// Where the paper says so: section, figure or table, page; best with its words.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// What is measured.
    pub value: Value,
    /// What is taken off it, seed by seed.
    pub minus: Option<Value>,
    /// What it is divided by, seed by seed.
    pub over: Option<Value>,
    /// What is made of the seeds' values: their mean, or their standard deviation.
    #[serde(default)]
    pub over_seeds: OverSeeds,
    /// The number that is printed in the paper.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<Reference>,
    /// When the sentence holds.
    pub holds: Holds,
}

/// What a claim makes of the values of all seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverSeeds {
    /// Their mean.
    #[default]
    Mean,
    /// Their standard deviation.
    Deviation,
}

impl Claim {
    /// Every value that it measures.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        std::iter::once(&self.value).chain(&self.minus).chain(&self.over)
    }
}

/// A number that is not the paper's.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// The number.
    pub value: f64,
    /// Whose it is.
    pub origin: String,
}

/// A measured value.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Which metric.
    pub metric: Metric,
    /// Of which variant.
    pub variant: String,
    /// Of which flow; the mean of several, "1..8" or "web-*"; of all together, if none.
    pub flow: Option<String>,
    /// What is made of its course over time.
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
    /// What is measured, whosever it is.
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
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Holds {
    /// Below this.
    Below(f64),
    /// Above this.
    Above(f64),
    /// Between these.
    Within([f64; 2]),
}

impl Holds {
    /// Whether it holds for every value of an interval, for none (`Some(false)`), or for some.
    pub fn check(self, [low, high]: [f64; 2]) -> Option<bool> {
        let (all, none) = match self {
            Self::Below(limit) => (high < limit, low >= limit),
            Self::Above(limit) => (low > limit, high <= limit),
            Self::Within([least, most]) => (least <= low && high <= most, high < least || most < low),
        };
        (all || none).then_some(all)
    }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(limit) => write!(f, "below {limit}"),
            Self::Above(limit) => write!(f, "above {limit}"),
            Self::Within([low, high]) => write!(f, "{low} to {high}"),
        }
    }
}

/// A number of the paper; one of another origin, if it names any.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which metric.
    pub metric: Metric,
    /// Of which variant.
    pub variant: String,
    /// Of which flow; of all together, if none.
    pub flow: Option<String>,
    /// What is made of its course over time.
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
    /// Whose it is, if it is not the paper's.
    pub origin: Option<String>,
}

impl Published {
    /// What it is a number of, whosever it is.
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
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What is drawn.
    pub kind: FigureKind,
    /// Its headline.
    pub title: String,
    /// Which variants; all, if none are named.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Which metric, for bars, series and lines.
    pub metric: Option<Metric>,
    /// What is made of its course over time, for bars and lines.
    #[serde(default)]
    pub statistic: Statistic,
    /// Which of the flows' packets.
    #[serde(default)]
    pub of: Of,
    /// What the metric is drawn against, in a phase portrait; the same of the second flow, if it is not given.
    pub against: Option<Metric>,
    /// Draw the sum over flows instead of each, for lines.
    #[serde(default)]
    pub total: bool,
}

impl Figure {
    /// What is drawn; goodput, if nothing is named.
    pub fn quantity(&self) -> Quantity {
        Quantity { statistic: self.statistic, of: self.of, ..self.metric.unwrap_or(Metric::Goodput).into() }
    }
}

/// A table of the whole of each variant: a row per variant, a column per metric, means and standard deviations over seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Its headline.
    pub title: String,
    /// Which variants, in their order; all, if none are named.
    #[serde(default)]
    pub variants: Vec<String>,
    /// Which metrics.
    pub metrics: Vec<Metric>,
    /// A row for each scenario of a pool, not one for all.
    #[serde(default)]
    pub by_scenario: bool,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
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
    /// Who held the air, in a short window of the first seed.
    Timeline,
    /// A metric over a swept parameter, a line per variant and flow.
    Lines,
    /// A tick per seed of a metric of the whole, and their mean.
    Spread,
    /// A phase portrait: the metric over time of one flow against that of another, or against another metric of the same.
    Phase,
}

/// What is wrong with a study file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyError {
    /// The study.
    pub id: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "study {}: {}", self.id, self.message)
    }
}

impl std::error::Error for StudyError {}

impl Study {
    /// Reads a study from its text.
    ///
    /// # Errors
    /// Names the line, or the variant that a claim or figure refers to and that is not there.
    pub fn parse(id: &str, text: &str) -> Result<Self, StudyError> {
        let fail = |message: String| StudyError { id: id.into(), message };
        let mut study = Self::read(text).map_err(fail)?;
        study.variants = study.variants.into_iter().flat_map(Variant::expand).collect();
        // Figures and the baseline may name all points of a sweep by its id.
        let curve = |v: &Variant, id: &str| v.point.as_ref().is_some_and(|p| p.curve == id);
        let known = |variant: &str| study.variants.iter().any(|v| v.id == variant || curve(v, variant));
        let named = study
            .values()
            .map(|v| &v.variant)
            .chain(study.published.iter().map(|p| &p.variant))
            .chain(study.figures.iter().flat_map(|f| &f.variants))
            .chain(study.tables.iter().flat_map(|t| &t.variants))
            .chain(&study.baseline);
        for variant in named {
            if !known(variant) {
                return Err(fail(format!("there is no variant \"{variant}\"")));
            }
        }
        let of_values = study.values().map(|v| (v.quantity(), v.flow.as_deref()));
        let of_published = study.published.iter().map(|p| (p.quantity(), p.flow.as_deref()));
        let of_figures = study.figures.iter().map(|f| (f.quantity(), Some("")));
        if let Some(mistake) = of_values
            .chain(of_published)
            .chain(of_figures)
            .find_map(|(quantity, flow)| quantity.mistake(flow))
        {
            return Err(fail(mistake));
        }
        study.check_pools().map_err(fail)?;
        if study.id != id {
            return Err(fail(format!("the file calls itself {}", study.id)));
        }
        if study.seeds == 0 || study.quick.seeds == 0 || study.variants.is_empty() {
            return Err(fail("needs at least one seed and one variant".into()));
        }
        Ok(study)
    }

    fn check_pools(&self) -> Result<(), String> {
        let pooled = |id: &str| self.variants.iter().any(|v| v.id == id && v.is_pooled());
        if let Some(variant) = self.variants.iter().find(|v| v.scenario.is_empty() != v.is_pooled()) {
            return Err(format!("variant {}: give one of scenario and scenarios", variant.id));
        }
        let of_values = self.values().filter(|v| v.flow.is_some()).map(|v| &v.variant);
        let of_published = self.published.iter().filter(|p| p.flow.is_some()).map(|p| &p.variant);
        if let Some(id) = of_values.chain(of_published).find(|id| pooled(id)) {
            return Err(format!("variant {id} has a pool of scenarios, and no flow is in all of them"));
        }
        if self.precision.is_some() && self.variants.iter().any(Variant::is_pooled) {
            return Err("a precision is one of flows, and pools of scenarios have none in common".into());
        }
        Ok(())
    }

    fn read(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        if !each::repeats(&table) {
            // Read once more from the text, because then a mistake's line is known.
            return toml::from_str(text).map_err(|e| e.to_string());
        }
        Self::deserialize(each::written_out(table)?).map_err(|e| e.to_string())
    }

    /// Every value that a claim measures.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.claims.iter().flat_map(Claim::values)
    }

    /// Whether anything that the study tells of a variant is taken from time series.
    pub(crate) fn needs_series(&self, variant: &Variant) -> bool {
        let named = |id: &String| *id == variant.id || variant.point.as_ref().is_some_and(|p| p.curve == *id);
        let of_values = self.values().filter(|v| named(&v.variant)).map(Value::quantity);
        let of_published = self.published.iter().filter(|p| named(&p.variant)).map(Published::quantity);
        let of_figures =
            self.figures.iter().filter(|f| f.variants.is_empty() || f.variants.iter().any(named));
        let of_tables = self.tables.iter().filter(|t| t.variants.is_empty() || t.variants.iter().any(named));
        of_values
            .chain(of_published)
            .chain(of_figures.map(Figure::quantity))
            .chain(of_tables.flat_map(|t| t.metrics.iter().map(|&m| m.into())))
            .any(|q: Quantity| q.needs_series())
    }

    /// The label of a variant or of a sweep.
    pub(crate) fn label_of(&self, id: &str) -> String {
        let names = |v: &&Variant| v.id == id || v.point.as_ref().is_some_and(|p| p.curve == id);
        self.variants.iter().find(names).map_or_else(|| id.into(), |v| v.label.clone())
    }

    /// A study that comes with evenair.
    ///
    /// # Errors
    /// If there is none with this id; the message lists those that there are.
    pub fn builtin(id: &str) -> Result<Self, StudyError> {
        let Some(text) = crate::study_text(id) else {
            let known = crate::study_ids().collect::<Vec<_>>().join(", ");
            return Err(StudyError {
                id: id.into(),
                message: format!("there is no such study; there are {known}"),
            });
        };
        Self::parse(id, text)
    }
}
