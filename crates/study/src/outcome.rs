//! What a study found.

use crate::claim::{self, ClaimResult};
use crate::language::{Point, Study};
use crate::metric::{Metric, Subject};
use crate::record::RunRecord;
use crate::statistics::Estimate;
use crate::sweep::{Case, Sweep};
use evenair_scenario::{Objective, Optimum, Scenario};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Write;

/// One variant of a study with its runs and optima.
#[derive(Clone, Debug)]
pub(crate) struct VariantOutcome {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) group: String,
    pub(crate) point: Option<Point>,
    pub(crate) scenario: Scenario,
    pub(crate) optimum: Option<Optimum>,
    pub(crate) fixed_point: Option<Optimum>,
    pub(crate) runs: Vec<RunRecord>,
}

/// A row of a study's table: one variant, one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The variant.
    pub variant: String,
    /// The flow, or "total".
    pub flow: String,
    /// The metric.
    pub metric: Metric,
    /// Mean over seeds.
    pub mean: f64,
    /// Half of the 95 % interval.
    pub half_width: Option<f64>,
    /// Mean difference to the baseline, taken seed by seed, and half of its 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<Estimate>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// The parameter's value, of a swept variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
}

/// What a study found: runs, table, claims.
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
    /// Puts together what the runs of a study show.
    pub fn new(study: Study, sweep: &Sweep, runs: Vec<Vec<RunRecord>>) -> Self {
        let variants = study.variants.iter().zip(&sweep.cases).zip(runs);
        let variants = variants.map(|((variant, Case { scenario, .. }), runs)| VariantOutcome {
            id: variant.id.clone(),
            label: variant.label.clone(),
            group: variant.group.clone(),
            point: variant.point.clone(),
            optimum: scenario.optimum_in_passing(Objective::Fair),
            fixed_point: scenario.optimum_in_passing(Objective::FixedPoint),
            scenario: scenario.clone(),
            runs,
        });
        let variants = variants.collect();
        let mut outcome = Self { seeds: sweep.seeds, claims: Vec::new(), table: Vec::new(), variants, study };
        outcome.claims = outcome.study.claims.iter().map(|claim| claim::check(claim, &outcome)).collect();
        outcome.table = outcome.build_table();
        outcome
    }

    /// The metric of a variant, one value per seed.
    pub(crate) fn samples(&self, variant: &str, metric: Metric, flow: Option<&str>) -> Option<Vec<f64>> {
        let variant = self.variants.iter().find(|v| v.id == variant)?;
        let subject = |run| Subject {
            run,
            optimum: variant.optimum.as_ref(),
            fixed_point: variant.fixed_point.as_ref(),
            utility_unit: self.study.utility_unit,
        };
        variant.runs.iter().map(|run| subject(run).take(metric, flow)).collect()
    }

    pub(crate) fn estimate(&self, variant: &str, metric: Metric, flow: Option<&str>) -> Option<Estimate> {
        let samples = self.samples(variant, metric, flow)?;
        Some(match metric {
            Metric::Optimum | Metric::FixedPoint | Metric::FixedPointAggressiveness => {
                Estimate::exact(samples[0])
            }
            _ => Estimate::from_samples(&samples),
        })
    }

    /// By how much a variant differs from the study's baseline, seed by seed; with a sweep, from its point at the same
    /// value.
    fn difference(&self, variant: &VariantOutcome, metric: Metric, flow: Option<&str>) -> Option<Estimate> {
        let baseline = self.study.baseline.as_deref()?;
        let other = self.variants.iter().find(|v| match (&v.point, &variant.point) {
            (Some(a), Some(b)) => a.curve == baseline && a.x.total_cmp(&b.x).is_eq(),
            _ => v.id == baseline,
        })?;
        if other.id == variant.id {
            return None;
        }
        let (ours, theirs) =
            (self.samples(&variant.id, metric, flow)?, self.samples(&other.id, metric, flow)?);
        let differences: Vec<f64> = ours.iter().zip(&theirs).map(|(a, b)| a - b).collect();
        Some(Estimate::from_samples(&differences))
    }

    /// The metrics that the study is about: goodput and its optimum, and whatever claims, figures and published
    /// numbers name.
    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![Metric::Goodput, Metric::Optimum];
        metrics.extend(
            self.study
                .claims
                .iter()
                .flat_map(|c| {
                    let of = |v: &Option<crate::Value>| v.as_ref().map(|v| v.metric);
                    [Some(c.value.metric), of(&c.minus), of(&c.over)]
                })
                .flatten(),
        );
        metrics.extend(self.study.figures.iter().filter_map(|f| f.metric));
        metrics.extend(self.study.published.iter().map(|p| p.metric));
        metrics.sort_unstable();
        metrics.dedup();
        metrics
    }

    fn build_table(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for variant in &self.variants {
            let flows: Vec<Option<&str>> =
                variant.runs[0].flows.iter().map(|f| Some(f.flow.as_str())).chain([None]).collect();
            for metric in self.metrics() {
                for &flow in &flows {
                    let Some(estimate) = self.estimate(&variant.id, metric, flow) else { continue };
                    let paper =
                        self.study.published.iter().find(|p| {
                            p.metric == metric && p.variant == variant.id && p.flow.as_deref() == flow
                        });
                    rows.push(Row {
                        variant: variant.id.clone(),
                        flow: flow.unwrap_or("total").into(),
                        metric,
                        mean: estimate.mean,
                        half_width: estimate.half_width,
                        difference: self.difference(variant, metric, flow),
                        x: variant.point.as_ref().map(|p| p.x),
                        paper: paper.map(|p| p.value),
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

    /// The scenario of each variant, all defaults written out.
    pub fn scenarios(&self) -> impl Iterator<Item = (&str, &Scenario)> {
        self.variants.iter().map(|v| (v.id.as_str(), &v.scenario))
    }

    /// Ids of the variants and names of each one's flows, in order.
    pub fn shape(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.variants
            .iter()
            .map(|v| (v.id.as_str(), v.runs[0].flows.iter().map(|f| f.flow.as_str()).collect()))
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

    /// The row of one variant, flow ("total" for all) and metric.
    pub fn row(&self, variant: &str, flow: &str, metric: Metric) -> Option<&Row> {
        self.table.iter().find(|r| r.variant == variant && r.flow == flow && r.metric == metric)
    }

    /// The study's result as JSON: claims, table, and every parameter that made them.
    pub fn to_json(&self) -> Value {
        let scenarios: serde_json::Map<String, Value> = self
            .variants
            .iter()
            .map(|v| (v.id.clone(), serde_json::to_value(&v.scenario).expect("a scenario is plain data")))
            .collect();
        json!({
            "study": self.study.id,
            "claims": self.claims,
            "table": self.table,
            "seeds": self.seeds,
            "version": env!("CARGO_PKG_VERSION"),
            "scenarios": scenarios,
        })
    }

    /// The table as CSV, one row per variant, flow and metric.
    pub fn to_csv(&self) -> String {
        let mut text = String::from(
            "study,variant,x,flow,metric,mean,half_width_95,difference,difference_half_width_95,paper,seeds\n",
        );
        let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
        for row in &self.table {
            let metric = serde_json::to_value(row.metric).expect("a metric has a name");
            let metric = metric.as_str().unwrap_or_default();
            let Row { variant, flow, mean, half_width, paper, .. } = row;
            let (half_width, paper, x) = (number(*half_width), number(*paper), number(row.x));
            let difference = number(row.difference.map(|d| d.mean));
            let difference_half = number(row.difference.and_then(|d| d.half_width));
            let seeds =
                self.variants.iter().find(|v| &v.id == variant).map_or(self.seeds, |v| v.runs.len() as u32);
            writeln!(
                text,
                "{},{variant},{x},{flow},{metric},{mean},{half_width},{difference},{difference_half},{paper},{seeds}",
                self.study.id
            )
            .expect("a string takes everything");
        }
        text
    }
}
