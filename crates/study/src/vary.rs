//! A scenario with some keys varied: a study built from them, so that it runs, resumes and is shared among machines as every
//! study.
//!
//! [`Vary`] has the request, [`Vary::plan`] resolves every point before anything runs, [`Plan::conclude`] lays the runs' metrics
//! out, a row per point and flow.

mod plot;
mod table;
mod values;

pub use plot::Plot;
pub use table::{Measured, Swept, SweptRow};
pub use values::{Axis, Level};

use crate::language::{Point, Quick, Study, Variant};
use crate::metric::Metric;
use crate::outcome::Outcome;
use crate::quantity::Quantity;
use crate::sweep::{Case, SEEDS_MAX, Sweep};
use crate::world::World;
use evenair_results::RunRecord;
use evenair_scenario::{Resolved, ScenarioError};
use std::collections::HashMap;
use std::fmt;
use std::path::Path;

/// A mistake in the keys to vary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaryError {
    /// The key and its value, where one is to blame.
    pub what: String,
    /// The mistake and its remedy.
    pub message: String,
}

impl VaryError {
    pub(crate) fn of(what: impl Into<String>, message: impl Into<String>) -> Self {
        Self { what: what.into(), message: message.into() }
    }
}

impl fmt::Display for VaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.what.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.what, self.message)
        }
    }
}

impl std::error::Error for VaryError {}

/// The keys to vary of a scenario, and the metrics to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    /// The scenario's file, or the id of a built-in one; only its name, if its text is given.
    pub scenario: String,
    /// Its text, where it is not to be looked for.
    pub text: Option<String>,
    /// Changes at every point, as `--set` has them.
    pub set: Vec<String>,
    /// The keys to vary.
    pub axes: Vec<Axis>,
    /// Pair the keys' values, the first with the first, instead of combining each with each.
    pub paired: bool,
    /// Where the numbers come from.
    pub world: World,
    /// How many seeds each point has.
    pub seeds: u32,
    /// Go on with more seeds until each flow's goodput is known this well, as a study's `precision`.
    pub precision: Option<f64>,
    /// The most seeds that this may take.
    pub seeds_max: u32,
    /// The metrics to measure.
    pub metrics: Vec<Quantity>,
    /// The figures to draw; a figure of each metric, if none is named.
    pub plots: Vec<Plot>,
}

impl Vary {
    /// A scenario of which nothing is varied yet, with five seeds; goodput and Jain's index are measured.
    pub fn new(scenario: &str) -> Self {
        Self {
            scenario: scenario.into(),
            text: None,
            set: Vec::new(),
            axes: Vec::new(),
            paired: false,
            world: World::Packets,
            seeds: 5,
            precision: None,
            seeds_max: SEEDS_MAX,
            metrics: vec![Metric::Goodput.into(), Metric::Jain.into()],
            plots: Vec::new(),
        }
    }

    /// Puts the study together and resolves the scenario at every point; a file is looked for in `folder`.
    ///
    /// # Errors
    /// If a key or a value is not right at some point, two points are the same, or a figure is of a key or metric that
    /// is not varied.
    pub fn plan(&self, folder: Option<&Path>) -> Result<Plan, VaryError> {
        let points = self.points()?;
        let base = self.resolve(folder, &self.set).map_err(|e| VaryError::of("", e.to_string()))?;
        let resolve = |point: &Vec<usize>| {
            let changes = self.changes(&self.chosen(point));
            self.resolve(folder, &changes).map_err(|error| self.blamed(folder, point, &error))
        };
        let scenarios = points.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        self.different(&points, &scenarios)?;
        let study = self.study(&points, &self.figures()?);
        for quantity in study.asked.iter().flatten() {
            let timed = (quantity.from.is_some() || quantity.to.is_some())
                .then(|| "a sweep is of all of the measured time".into());
            // All flows together are left out where it is of one.
            if let Some(mistake) = quantity.mistake(Some("")).or(timed) {
                return Err(VaryError::of(quantity.to_string(), mistake));
            }
        }
        let cases = study.variants.iter().zip(scenarios).map(|(variant, scenario)| Case {
            variant: variant.id.clone(),
            scenarios: vec![scenario],
            world: self.world,
            every_series: study.needs_series(variant),
        });
        let sweep = Sweep::of_cases(&study, cases.collect(), false);
        Ok(Plan { axes: self.axes.clone(), points, base, study, sweep })
    }

    /// Every combination of values, the last key's changing fastest; or the pairs.
    fn points(&self) -> Result<Vec<Vec<usize>>, VaryError> {
        let Some(first) = self.axes.first() else {
            return Err(VaryError::of("", "nothing is varied: name a key and its values"));
        };
        for (i, axis) in self.axes.iter().enumerate() {
            let key = &axis.key;
            if self.axes[..i].iter().any(|other| other.key == *key) {
                return Err(VaryError::of(key, "is varied twice; give all of its values at once"));
            }
            if self.set.iter().any(|change| change.split('=').next().map(str::trim) == Some(key)) {
                return Err(VaryError::of(key, "is set and varied; leave one of them out"));
            }
        }
        let count = |axis: &Axis| axis.levels.len();
        if self.paired {
            if let Some(other) = self.axes.iter().find(|axis| count(axis) != count(first)) {
                let (one, two) = (count(first), count(other));
                let why = format!("has {two} values and {} has {one}; pairs need as many of each", first.key);
                return Err(VaryError::of(&other.key, why));
            }
            return Ok((0..count(first)).map(|i| vec![i; self.axes.len()]).collect());
        }
        let all = self.axes.iter().map(count).try_fold(1, usize::checked_mul).unwrap_or(usize::MAX);
        if all > values::MOST {
            let why = format!("there would be {all} points, more than the {} that are taken", values::MOST);
            return Err(VaryError::of("", why));
        }
        let more = |points: Vec<Vec<usize>>, axis: &Axis| {
            let with = |point: &Vec<usize>, level| point.iter().copied().chain([level]).collect();
            points.iter().flat_map(|point| (0..count(axis)).map(move |level| with(point, level))).collect()
        };
        Ok(self.axes.iter().fold(vec![Vec::new()], more))
    }

    /// The keys and values of a point.
    fn chosen(&self, point: &[usize]) -> Vec<(&Axis, &Level)> {
        self.axes.iter().zip(point).map(|(axis, &level)| (axis, &axis.levels[level])).collect()
    }

    /// All changes that make a point. A change of a table, or of the law in it, comes before changes inside the table.
    fn changes(&self, chosen: &[(&Axis, &Level)]) -> Vec<String> {
        let varied = chosen.iter().map(|(axis, level)| format!("{}={}", axis.key, level.text));
        let mut changes: Vec<String> = self.set.iter().cloned().chain(varied).collect();
        changes.sort_by_key(|change| {
            let key = change.split('=').next().unwrap_or_default().trim();
            key.strip_suffix(".law").unwrap_or(key).matches('.').count()
        });
        changes
    }

    fn resolve(&self, folder: Option<&Path>, changes: &[String]) -> Result<Resolved, ScenarioError> {
        match &self.text {
            Some(text) => Resolved::parse(&self.scenario, text, changes),
            None => crate::scenario(&self.scenario, folder, changes),
        }
    }

    /// An error of a point, with the keys without which there is none.
    fn blamed(&self, folder: Option<&Path>, point: &[usize], error: &ScenarioError) -> VaryError {
        let chosen = self.chosen(point);
        let without = |i: usize| {
            let mut others = chosen.clone();
            others.remove(i);
            self.changes(&others)
        };
        let guilty = |&i: &usize| self.resolve(folder, &without(i)).is_ok();
        let guilty: Vec<usize> = (0..chosen.len()).filter(guilty).collect();
        let named = if guilty.is_empty() { (0..chosen.len()).collect() } else { guilty };
        let named: Vec<String> =
            named.iter().map(|&i| format!("{}={}", chosen[i].0.key, chosen[i].1)).collect();
        // The lines are those of a generated text without a file.
        let key = error.key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
        let what = named.join(" with ");
        let key = if what.starts_with(key.trim_end_matches(": ")) { "" } else { &key };
        VaryError::of(what, format!("{key}{}", error.message))
    }

    /// Two points that are one scenario would be two names of one result.
    fn different(&self, points: &[Vec<usize>], scenarios: &[Resolved]) -> Result<(), VaryError> {
        let mut seen: HashMap<String, &Vec<usize>> = HashMap::new();
        for (point, scenario) in points.iter().zip(scenarios) {
            let written = serde_json::to_string(scenario).expect("a scenario is plain data");
            if let Some(other) = seen.insert(written, point) {
                let why = format!("is the same scenario as {}: leave one out", self.name(other));
                return Err(VaryError::of(self.name(point), why));
            }
        }
        Ok(())
    }

    /// A point's name: `connections.k=5, backoff.law=dcf`.
    fn name(&self, point: &[usize]) -> String {
        let chosen = self.chosen(point);
        chosen.iter().map(|(axis, level)| format!("{}={level}", axis.key)).collect::<Vec<_>>().join(", ")
    }

    fn study(&self, points: &[Vec<usize>], plots: &[Plot]) -> Study {
        // Drawn metrics are measured too.
        let mut metrics = self.metrics.clone();
        metrics.extend(plots.iter().filter_map(|plot| plot.y).filter(|y| !self.metrics.contains(y)));
        let keys: Vec<&str> = self.axes.iter().map(|axis| axis.key.as_str()).collect();
        let first = &plots[0];
        let variants = points.iter().map(|point| self.variant(point, first)).collect();
        let figures = plots.iter().map(|plot| plot.figure(&self.axes)).collect();
        let title = format!("{} over {}", self.scenario, keys.join(" and "));
        Study {
            id: format!("sweep of {}", self.scenario),
            seeds: self.seeds,
            precision: self.precision,
            seeds_max: self.seeds_max,
            set: self.set.clone(),
            quick: Quick::default(),
            variants,
            figures,
            asked: Some(metrics),
            ..Study::blank(title)
        }
    }

    /// The variant of a point: the key on the axis is its parameter, the others are its label.
    fn variant(&self, point: &[usize], plot: &Plot) -> Variant {
        let chosen = self.chosen(point);
        let on_axis = chosen.iter().find(|(axis, _)| Some(&axis.key) == plot.x.as_ref());
        let on_axis = on_axis.filter(|(axis, _)| axis.is_numeric());
        let others =
            chosen.iter().filter(|(axis, _)| on_axis.is_none_or(|(on_axis, _)| axis.key != on_axis.key));
        let others: Vec<String> = others.map(|(axis, level)| format!("{} {level}", axis.key)).collect();
        let label = if others.is_empty() { self.scenario.clone() } else { others.join(", ") };
        Variant {
            id: self.name(point),
            scenario: self.scenario.clone(),
            scenarios: Vec::new(),
            world: self.world,
            set: self.changes(&chosen),
            group: String::new(),
            number: 0,
            sweep: None,
            point: on_axis.and_then(|(axis, level)| {
                Some(Point {
                    curve: label.clone(),
                    parameter: axis.title(),
                    x: level.number?,
                    set: Vec::new(),
                })
            }),
            label,
        }
    }
}

/// A sweep that can run: every point is resolved.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The keys to vary.
    pub axes: Vec<Axis>,
    /// The scenario of which it is, before anything is varied.
    pub base: Resolved,
    /// The study that it is.
    pub study: Study,
    /// Its runs.
    pub sweep: Sweep,
    /// The number of each key's value, by point.
    points: Vec<Vec<usize>>,
}

impl Plan {
    /// How many points there are.
    pub fn count(&self) -> usize {
        self.points.len()
    }

    /// The results of the runs of all points.
    pub fn conclude(self, runs: Vec<Vec<RunRecord>>) -> Swept {
        let outcome = Outcome::new(self.study, &self.sweep, runs);
        Swept::new(self.axes, &self.points, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vary(axes: &[&str]) -> Vary {
        let axes = axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect();
        Vary { axes, ..Vary::new("chen10/a") }
    }

    fn ids(vary: &Vary) -> Vec<String> {
        vary.plan(None).unwrap().study.variants.into_iter().map(|variant| variant.id).collect()
    }

    fn wrong(vary: &Vary) -> String {
        vary.plan(None).unwrap_err().to_string()
    }

    #[test]
    fn values_are_combined_or_paired() {
        let mut vary = vary(&["connections.k=1,2", "tcp.window=reno,cubic"]);
        let all = [
            "connections.k=1, tcp.window=reno",
            "connections.k=1, tcp.window=cubic",
            "connections.k=2, tcp.window=reno",
            "connections.k=2, tcp.window=cubic",
        ];
        assert_eq!(ids(&vary), all);
        vary.paired = true;
        assert_eq!(ids(&vary), [all[0], all[3]]);
        vary.axes[0] = Axis::parse("connections.k=1..3").unwrap();
        assert!(
            wrong(&vary).contains("tcp.window: has 2 values and connections.k has 3"),
            "{}",
            wrong(&vary)
        );
    }

    /// A law's name replaces its table: its parameters come after it, in any order of the varied keys.
    #[test]
    fn a_law_comes_before_its_parameters() {
        let mut vary = vary(&["connections.max=20,30", "connections.law=rtt-proportional,iimd"]);
        vary.set = vec!["connections.interval=2 s".into()];
        let plan = vary.plan(None).unwrap();
        let written = plan.sweep.cases[3].scenarios[0].to_toml().unwrap();
        for words in ["law = \"iimd\"", "max = 30", "interval = \"2 s\""] {
            assert!(written.contains(words), "{words}: {written}");
        }
    }

    #[test]
    fn every_point_is_right_before_anything_runs() {
        let unknown = wrong(&vary(&["connections.k=1,2", "connections.kk=5..7"]));
        assert!(
            unknown.starts_with("connections.kk=5: unknown field `kk`, expected one of `k`"),
            "{unknown}"
        );
        let value = wrong(&vary(&["connections.k=1,-1", "tcp.window=reno,cubic"]));
        assert_eq!(value, "connections.k=-1: -1 is not allowed: above 0, and finite");
        // Neither is wrong without the other.
        let together = wrong(&vary(&["connections.law=rtt-proportional,iimd", "connections.k=1,2"]));
        assert!(
            together.starts_with("connections.law=iimd with connections.k=1: unknown field `k`"),
            "{together}"
        );
        let same = wrong(&vary(&["duration='1 s','1000 ms'"]));
        assert_eq!(same, "duration=1000 ms: is the same scenario as duration=1 s: leave one out");
        let twice = Vary { set: vec!["connections.k = 3".into()], ..vary(&["connections.k=1,2"]) };
        assert!(wrong(&twice).contains("connections.k: is set and varied"));
        assert!(
            wrong(&vary(&["tcp.window=reno", "tcp.window=cubic"])).contains("tcp.window: is varied twice")
        );
        assert!(
            wrong(&vary(&["connections.k=1..1000", "connections.max=1..1000"])).contains("1000000 points")
        );
        assert!(wrong(&vary(&[])).contains("nothing is varied"));
        let base = Vary { set: vec!["nonsense=1".into()], ..vary(&["connections.k=1,2"]) };
        assert!(wrong(&base).contains("unknown field `nonsense`") && wrong(&base).contains("--set"));
    }

    #[test]
    fn a_scenarios_text_may_be_given() {
        let text = crate::builtin_scenario("chen10/a").unwrap().to_string();
        let given = Vary { text: Some(text), scenario: "mine".into(), ..vary(&["connections.k=1,2"]) };
        let plan = given.plan(None).unwrap();
        assert_eq!((plan.count(), plan.study.title.as_str()), (2, "mine over connections.k"));
    }
}
