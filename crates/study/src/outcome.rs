//! A study's result.

mod scenario;

use crate::claim::{self, ClaimResult, Tally, Verdict};
use crate::language::{Figure, Point, Published, Reference, Study, Summary, Value as Measured};
use crate::measure::Fair;
use crate::metric::{Metric, Subject};
use crate::quantity::Quantity;
use crate::statistics;
use crate::sweep::{Case, Sweep};
use evenair_results::digits::counted;
use evenair_results::verdict::{FairRates, Verdict as RunVerdict};
use evenair_results::{Estimate, LiveRecord, RunRecord};
use evenair_scenario::{Objective, Optimum, Resolved};

/// One scenario of a variant, and its optimum.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) scenario: Resolved,
    optimum: Option<Optimum>,
    fixed_point: Option<Optimum>,
    fair: Option<Fair>,
}

/// One variant of a study with its runs and scenarios.
#[derive(Clone, Debug)]
pub(crate) struct VariantOutcome {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) group: String,
    pub(crate) point: Option<Point>,
    /// Whether runs depend on their seed.
    pub(crate) is_random: bool,
    /// One, or those of its pool.
    pub(crate) places: Vec<Place>,
    pub(crate) runs: Vec<RunRecord>,
}

impl VariantOutcome {
    /// Where its runs of seed 1 were.
    pub(crate) fn scenario(&self) -> &Resolved {
        &self.places[0].scenario
    }

    /// Names of its flows; none of a pool, since its scenarios have none in common.
    pub(crate) fn flow_names(&self) -> Vec<&str> {
        let flows: &[_] = if self.places.len() == 1 { &self.runs[0].flows } else { &[] };
        flows.iter().map(|f| f.flow.as_str()).collect()
    }
}

/// A row of a study's table: one variant, one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// The flow. For all flows together, the kind of number: "total", "mean", "greatest", "greatest/least", "all" of a percentile
    /// over all flows, or "network" where the metric is not one of flows.
    pub flow: String,
    /// Whether it is of all flows together.
    pub of_all: bool,
    /// The metric measured.
    pub quantity: Quantity,
    /// Mean over seeds.
    pub mean: f64,
    /// Half of the 95 % interval.
    pub half_width: Option<f64>,
    /// Mean difference to the baseline, taken seed by seed, and half of its 95 % interval.
    pub difference: Option<Estimate>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<Reference>,
    /// The parameter's value, of a swept variant.
    pub x: Option<f64>,
}

/// A study's metrics: those asked for; else goodput, its optimum, and those of claims, figures and published numbers.
fn quantities(study: &Study) -> Vec<Quantity> {
    if let Some(asked) = &study.asked {
        return asked.clone();
    }
    let mut quantities: Vec<Quantity> = vec![Metric::Goodput.into(), Metric::Optimum.into()];
    quantities.extend(study.values().map(Measured::quantity));
    quantities.extend(study.figures.iter().filter(|f| f.metric.is_some()).map(Figure::quantity));
    quantities.extend(study.published.iter().map(Published::quantity));
    quantities.extend(study.tables.iter().flat_map(|t| &t.metrics));
    quantities.sort_unstable();
    quantities.dedup();
    quantities
}

/// A scenario and the optima that the asked metrics need. In each of a pool's many scenarios the optimum over the exact region
/// would take longer than all runs. Where nodes move, the fair rates are those of the verdict: means over the measured time.
fn place(scenario: &Resolved, pooled: bool, told: &[Quantity]) -> Place {
    let optimum = |objective, asked: fn(Metric) -> bool| {
        let asked = !pooled && told.iter().any(|q| asked(q.metric));
        asked.then(|| scenario.optimum_in_passing(objective)).flatten()
    };
    let fair = optimum(Objective::Fair, Metric::is_of_optimum).and_then(|optimum| {
        if !scenario.moves() {
            return Some(optimum);
        }
        Some(Optimum { rates_pps: FairRates::of(scenario).rates()?.to_vec(), ..optimum })
    });
    Place {
        optimum: fair,
        fixed_point: optimum(Objective::FixedPoint, Metric::is_of_fixed_point),
        fair: told.iter().any(|q| q.metric.is_of_fair()).then(|| Fair::of(scenario)).flatten(),
        scenario: scenario.clone(),
    }
}

/// A cell of a summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Mean over seeds.
    pub mean: f64,
    /// Standard deviation over seeds.
    pub deviation: Option<f64>,
    /// The paper's mean.
    pub paper: Option<f64>,
}

/// A study's result: runs, table, claims.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The study.
    pub study: Study,
    /// Seeds per variant.
    pub seeds: u32,
    /// The claims, checked.
    pub claims: Vec<ClaimResult>,
    /// The table, in long form.
    pub table: Vec<Row>,
    pub(crate) variants: Vec<VariantOutcome>,
}

impl Outcome {
    /// Puts the results of a study's runs together.
    pub fn new(study: Study, sweep: &Sweep, runs: Vec<Vec<RunRecord>>) -> Self {
        let variants = study.variants.iter().zip(&sweep.cases).zip(runs);
        let told = quantities(&study);
        let variants = variants.map(|((variant, Case { scenarios, world, .. }), runs)| VariantOutcome {
            is_random: world.is_random(),
            id: variant.id.clone(),
            label: variant.label.clone(),
            group: variant.group.clone(),
            point: variant.point.clone(),
            places: scenarios.iter().map(|scenario| place(scenario, variant.is_pooled(), &told)).collect(),
            runs,
        });
        let variants = variants.collect();
        let mut outcome = Self { seeds: sweep.seeds, claims: Vec::new(), table: Vec::new(), variants, study };
        outcome.conclude();
        outcome
    }

    /// How many runs were over real sockets, how many of them too late, and how far the latest is to be trusted; none if there are none.
    pub fn in_real_time(&self) -> Option<String> {
        let runs = self.variants.iter().flat_map(|variant| &variant.runs);
        let live: Vec<&LiveRecord> = runs.filter_map(|run| run.live.as_ref()).collect();
        let latest = live.iter().max_by(|a, b| a.lateness.beyond_1ms.total_cmp(&b.lateness.beyond_1ms))?;
        let (kernel, verdict) = (&latest.host.kernel, latest.lateness.verdict());
        if live.len() == 1 {
            return Some(format!("one run over sockets of Linux {kernel}; {verdict}"));
        }
        let late = live.iter().filter(|run| run.lateness.is_late()).count();
        Some(format!(
            "{} runs over sockets of Linux {kernel}, in {late} of them more than 0.1 % of packets later than 1 ms; the latest: {verdict}",
            live.len()
        ))
    }

    /// Adds more runs of each variant.
    pub fn add(&mut self, more: Vec<Vec<RunRecord>>) {
        for (variant, more) in self.variants.iter_mut().zip(more) {
            variant.runs.extend(more);
        }
        self.conclude();
    }

    fn conclude(&mut self) {
        self.claims = self.study.claims.iter().map(|claim| claim::check(claim, self)).collect();
        self.table = self.build_table();
    }

    /// How many claims hold, fail, and are undecided.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.claims)
    }

    /// The study's headline; with the count of claims that hold, where it asserts more than half of them bear out.
    pub fn headline(&self) -> String {
        let (title, tally) = (&self.study.title, self.tally());
        if tally.all() == 0 || 2 * tally.hold >= tally.all() || title.ends_with('?') {
            return title.clone();
        }
        let found = if tally.undecided >= tally.fail { "undecided" } else { "not borne out" };
        format!("{title} ({found} here: {} of {} hold)", tally.hold, counted(tally.all(), "claim", "claims"))
    }

    /// Why these runs cannot judge the claims, where they are a quick form of the study.
    pub fn cannot_judge(&self) -> Option<String> {
        let tally = self.tally();
        let is_quick = self.seeds < self.study.seeds && tally.fail + tally.undecided > 0;
        is_quick.then(|| {
            format!(
                "The quick form has {} of {} and cannot judge the claims: leave out --quick, or --seeds.",
                self.seeds,
                counted(self.study.seeds, "seed", "seeds")
            )
        })
    }

    /// How many runs each variant has.
    pub fn runs_of_each(&self) -> Vec<u32> {
        self.variants.iter().map(|v| v.runs.len() as u32).collect()
    }

    /// Seeds that each variant needs next to decide open claims: half as many again as it has, three at least, for the
    /// variants of those claims that more seeds may decide. None if there are no such claims, or the study allows no more.
    pub fn seeds_to_decide(&self) -> Option<Vec<u32>> {
        let most = self.study.seeds_max;
        let mut wanted = self.runs_of_each();
        let claims = self.study.claims.iter().zip(&self.claims);
        for (claim, _) in claims.filter(|(_, result)| result.verdict == Verdict::Undecided) {
            if !claim::more_seeds_help(claim, self) {
                continue;
            }
            let touched =
                |v: &VariantOutcome| v.is_random && claim.values().any(|value| value.variant == v.id);
            // Pairs need both: all variants of a claim go on to the same number.
            let touched: Vec<usize> = (0..wanted.len()).filter(|&v| touched(&self.variants[v])).collect();
            let fewest = touched.iter().map(|&v| self.variants[v].runs.len() as u32).min().unwrap_or(most);
            let next = (fewest + fewest.div_ceil(2)).max(3).min(most);
            for v in touched {
                wanted[v] = wanted[v].max(next);
            }
        }
        (wanted != self.runs_of_each()).then_some(wanted)
    }

    /// Whether chance has a part in a variant's quantity, or which of a pool's scenarios it is.
    pub(crate) fn is_random(&self, variant: &str, quantity: Quantity) -> bool {
        let varies = |v: &VariantOutcome| v.places.len() > 1 || v.is_random && !quantity.metric.is_exact();
        self.variants.iter().any(|v| v.id == variant && varies(v))
    }

    /// How many scenarios a variant has: one, or those of its pool.
    pub(crate) fn places(&self, variant: &str) -> usize {
        self.variants.iter().find(|v| v.id == variant).map_or(1, |v| v.places.len())
    }

    /// The quantity of a variant, one value per seed; none, if a seed has none.
    pub(crate) fn samples(
        &self,
        variant: &str,
        quantity: impl Into<Quantity>,
        flow: Option<&str>,
    ) -> Option<Vec<f64>> {
        self.values(variant, quantity, flow)?.into_iter().collect()
    }

    /// The same of those seeds that have one.
    pub(crate) fn values(
        &self,
        variant: &str,
        quantity: impl Into<Quantity>,
        flow: Option<&str>,
    ) -> Option<Vec<Option<f64>>> {
        let quantity = quantity.into();
        let variant = self.variants.iter().find(|v| v.id == variant)?;
        let subject = |run, place: &'_ Place| {
            Subject {
                run,
                optimum: place.optimum.as_ref(),
                fixed_point: place.fixed_point.as_ref(),
                fair: place.fair.as_ref(),
                utility_unit: self.study.utility_unit,
                settings: place.scenario.settings(),
            }
            .take(quantity, flow)
        };
        let runs = variant.runs.iter().zip(variant.places.iter().cycle());
        Some(runs.map(|(run, place)| subject(run, place)).collect())
    }

    pub(crate) fn estimate(
        &self,
        variant: &str,
        quantity: impl Into<Quantity>,
        flow: Option<&str>,
    ) -> Option<Estimate> {
        let quantity = quantity.into();
        let samples = self.samples(variant, quantity, flow)?;
        let one_place = self.variants.iter().any(|v| v.id == variant && v.places.len() == 1);
        Some(if quantity.metric.is_exact() && one_place {
            Estimate::exact(samples[0])
        } else {
            Estimate::from_samples(&samples)
        })
    }

    /// By how much a variant differs from the study's baseline, seed by seed; with a sweep, from its point at the same
    /// value.
    fn difference(
        &self,
        variant: &VariantOutcome,
        quantity: Quantity,
        flow: Option<&str>,
    ) -> Option<Estimate> {
        let baseline = self.study.baseline.as_deref()?;
        let other = self.variants.iter().find(|v| match (&v.point, &variant.point) {
            (Some(a), Some(b)) => a.curve == baseline && a.x.total_cmp(&b.x).is_eq(),
            _ => v.id == baseline,
        })?;
        if other.id == variant.id {
            return None;
        }
        let (ours, theirs) =
            (self.samples(&variant.id, quantity, flow)?, self.samples(&other.id, quantity, flow)?);
        let differences: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a - b).collect();
        Some(Estimate::from_samples(&differences))
    }

    fn build_table(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let quantities = quantities(&self.study);
        for variant in &self.variants {
            let flows: Vec<Option<&str>> = variant.flow_names().into_iter().map(Some).chain([None]).collect();
            for &quantity in &quantities {
                for &flow in &flows {
                    let Some(estimate) = self.estimate(&variant.id, quantity, flow) else { continue };
                    let of_this = |p: &&Published| {
                        p.quantity() == quantity && p.variant == variant.id && p.flow.as_deref() == flow
                    };
                    let mut published = self.study.published.iter().filter(of_this);
                    let paper = published.clone().find(|p| p.origin.is_none());
                    let reference = published
                        .find_map(|p| p.origin.clone().map(|origin| Reference { value: p.value, origin }));
                    rows.push(Row {
                        variant: variant.id.clone(),
                        flow: flow.unwrap_or(quantity.over_flows_name()).into(),
                        of_all: flow.is_none(),
                        quantity,
                        mean: estimate.mean,
                        half_width: estimate.half_width,
                        difference: self.difference(variant, quantity, flow),
                        x: variant.point.as_ref().map(|p| p.x),
                        paper: paper.map(|p| p.value),
                        reference,
                    });
                }
            }
        }
        rows
    }

    /// The label of a variant, with its group if there are several.
    pub fn label(&self, variant: &str) -> String {
        match self.variants.iter().find(|v| v.id == variant) {
            Some(v) => {
                let group = if v.group.is_empty() { String::new() } else { format!("{}, ", v.group) };
                let point =
                    v.point.as_ref().map(|p| format!(", {} {}", p.parameter, p.x)).unwrap_or_default();
                format!("{group}{}{point}", v.label)
            }
            None => String::new(),
        }
    }

    /// The scenario of each variant by the variant's id, all defaults written out; those of a pool are numbered from one.
    pub fn scenarios(&self) -> impl Iterator<Item = (String, &Resolved)> {
        self.variants.iter().flat_map(|v| {
            let name =
                |k: usize| if v.places.len() == 1 { v.id.clone() } else { format!("{}.{}", v.id, k + 1) };
            v.places.iter().enumerate().map(move |(k, place)| (name(k), &place.scenario))
        })
    }

    /// The table's rows, in its order.
    pub(crate) fn quantities(&self) -> Vec<Quantity> {
        quantities(&self.study)
    }

    /// Ids of the variants and names of each one's flows, in order.
    pub fn shape(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.variants.iter().map(|v| (v.id.as_str(), v.flow_names()))
    }

    /// Where the time of a flow's sender went: parts and their shares, means over seeds.
    pub fn ledger(&self, variant: &str, flow: &str) -> Vec<(String, f64)> {
        let Some(variant) = self.variants.iter().find(|v| v.id == variant) else { return Vec::new() };
        let links = variant.runs.iter().filter_map(|run| {
            let flow = run.flows.iter().find(|f| f.flow == flow)?;
            run.links.iter().find(|l| l.queue == flow.queue)
        });
        let flows = &variant.runs[0].flows;
        let parts = crate::figure::ledger_parts(&links.collect::<Vec<_>>(), flows, flow);
        let share = |name: &str| {
            parts.iter().filter(|(part, _)| part.starts_with(name)).fold(0.0, |sum, (_, share)| sum + share)
        };
        crate::figure::OWN_PARTS
            .iter()
            .chain(&["blocked"])
            .map(|name| ((*name).to_string(), share(name)))
            .collect()
    }

    /// Which flows of a variant starve, and why; none of a variant without packets, or of several scenarios.
    pub fn verdict(&self, variant: &str) -> Option<RunVerdict> {
        let has_packets = |id: &str| self.study.variants.iter().any(|v| v.id == id && v.world.has_packets());
        let variant = self.variants.iter().find(|v| v.id == variant && has_packets(&v.id))?;
        let [place] = variant.places.as_slice() else { return None };
        Some(RunVerdict::of(&place.scenario, &variant.runs))
    }

    /// A table's rows: the label of a variant, or of a variant in one scenario, and a cell per metric.
    pub fn summary(&self, table: &Summary) -> Vec<(String, Vec<Option<Cell>>)> {
        let named = |v: &&VariantOutcome| {
            let id = |id: &String| *id == v.id || v.point.as_ref().is_some_and(|p| p.curve == *id);
            table.variants.is_empty() || table.variants.iter().any(id)
        };
        let row = |v: &VariantOutcome, places: Vec<usize>, label: String| {
            (label, table.metrics.iter().map(|&quantity| self.cell(v, quantity, &places)).collect())
        };
        let rows = |v: &VariantOutcome| -> Vec<_> {
            let label = self.label(&v.id);
            if !table.by_scenario {
                return vec![row(v, (0..v.places.len()).collect(), label)];
            }
            let name = |k: usize| &v.places[k].scenario.settings().name;
            (0..v.places.len()).map(|k| row(v, vec![k], format!("{label}: {}", name(k)))).collect()
        };
        self.variants.iter().filter(named).flat_map(rows).collect()
    }

    /// A metric's value over the runs in some of a variant's scenarios; the paper's number is of all of them.
    fn cell(&self, variant: &VariantOutcome, quantity: Quantity, places: &[usize]) -> Option<Cell> {
        let samples = self.samples(&variant.id, quantity, None)?.into_iter().enumerate();
        let samples: Vec<f64> = samples
            .filter(|(run, _)| places.contains(&(run % variant.places.len())))
            .map(|(_, x)| x)
            .collect();
        let all = places.len() == variant.places.len();
        let paper = || self.row(&variant.id, None, quantity).and_then(|row| row.paper);
        (!samples.is_empty()).then(|| Cell {
            mean: Estimate::from_samples(&samples).mean,
            deviation: statistics::deviation(&samples).map(|(deviation, _)| deviation),
            paper: all.then(paper).flatten(),
        })
    }

    /// The row of one variant, one flow or all of them, and one quantity.
    pub fn row(&self, variant: &str, flow: Option<&str>, quantity: impl Into<Quantity>) -> Option<&Row> {
        let quantity = quantity.into();
        let of_flow = |r: &Row| if r.of_all { flow.is_none() } else { flow == Some(r.flow.as_str()) };
        self.table.iter().find(|r| r.variant == variant && r.quantity == quantity && of_flow(r))
    }
}
