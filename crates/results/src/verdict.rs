//! Which flows starve in some runs of a scenario, why, and which settings to try: as data, and as sentences.
//!
//! [`Verdict::of`] needs the scenario and its records, and neither reads nor prints. The reasons come from the airtime ledger and from
//! the counts of frames and packets (`verdict/cause.rs`), the advice from the reasons (`verdict/remedy.rs`).

mod cause;
mod evidence;
mod records;
mod remedy;
#[cfg(test)]
mod tests;

pub use cause::Cause;
pub use evidence::{Evidence, Hop};
pub use remedy::Remedy;

use crate::digits::{self, counted, exact};
use crate::record::RunRecord;
use evenair_netsim::{FlowSpec, Pattern, Source, Traffic};
use evenair_scenario::{Objective, Resolved};
use evenair_units::{Duration, Instant};
use records::Records;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A flow starves below this share of its fair optimum, or of the best-served flow's rate where it is short of its optimum, too, or
/// that is not solved.
pub const STARVES_BELOW: f64 = 0.05;
/// A flow is short of its fair optimum below this share of it.
const SHORT_BELOW: f64 = 0.5;
/// A flow that gets this share of its source's offer has all it wants.
const ALL_OFFERED: f64 = 0.9;
/// The most flows that a headline names.
const NAMED: usize = 6;

/// Which flows starve in some runs of a scenario, why, and which settings to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunVerdict")]
pub struct Verdict {
    /// The verdict in one or two sentences.
    pub headline: String,
    /// How many flows starve: they get less than a twentieth of their fair optimum, or less than half of it and less than a twentieth of
    /// the best-served flow's rate.
    pub starving: usize,
    /// Why the fair optimum is missing; null where it is solved. Without it, flows are then compared with the best-served one.
    pub without_fair: Option<String>,
    /// Each flow, in the scenario's order.
    pub flows: Vec<FlowVerdict>,
    /// Settings to try, the most promising first.
    pub remedies: Vec<Remedy>,
}

/// One flow's share of its fair optimum, and the reason for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowVerdict {
    /// Its name.
    pub flow: String,
    /// How it fares.
    pub standing: Standing,
    /// Its goodput while it is active, the mean over seeds \[packets/s\]; of a finished transfer, its size over the time that it took.
    pub rate_pps: f64,
    /// Its rate in the fair optimum, which maximises Σ −1/rate \[packets/s\]; null where that is not solved.
    pub fair_pps: Option<f64>,
    /// `rate_pps` over `fair_pps`; null where that is not known.
    pub share: Option<f64>,
    /// The main reason of a flow that starves or is short.
    pub cause: Option<Cause>,
    /// The figures behind the reason.
    pub evidence: Option<Evidence>,
    /// The reason in a sentence; null where nothing is to be told.
    pub sentence: Option<String>,
}

/// How a flow fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It gets less than a twentieth of its fair optimum, or less than half of it and less than a twentieth of the best-served flow's
    /// rate.
    Starves,
    /// It gets less than half of its fair optimum.
    Short,
    /// It gets half of its fair optimum or more, or all that its source offers.
    Served,
    /// Its transfer is finished.
    Finished,
    /// It is not active in the measured time.
    Idle,
}

impl Standing {
    /// The word of it in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starves => "starves",
            Self::Short => "short",
            Self::Served => "",
            Self::Finished => "finished",
            Self::Idle => "idle",
        }
    }
}

/// The flows' rates in a scenario's fair optimum \[packets/s\], or why they are missing.
#[derive(Clone, Debug, PartialEq)]
pub struct FairRates(Result<Vec<f64>, String>);

impl FairRates {
    /// Solves for the fair optimum, unless the network has too many links for that to take a moment.
    ///
    /// Where nodes move they are means over the measured time: of `MOMENTS` networks that stand still, in which a flow without a route
    /// has none.
    pub fn of(scenario: &Resolved) -> Self {
        if scenario.moves() {
            let why = "nodes move, and there is an instant without an optimum that is known at once";
            return Self(mean_over_moments(scenario).ok_or_else(|| why.into()));
        }
        if let Some(optimum) = scenario.optimum_in_passing(Objective::Fair) {
            return Self(Ok(optimum.rates_pps));
        }
        let links = scenario.layout().links.len();
        let why = scenario.theory().err().map_or_else(
            || format!("with {} it takes long", counted(links as u64, "link", "links")),
            |failure| failure.to_string(),
        );
        Self(Err(why))
    }

    /// Rates that are known already, or why they are missing.
    pub const fn known(rates: Result<Vec<f64>, String>) -> Self {
        Self(rates)
    }

    /// Returns them, if they are known.
    pub fn rates(&self) -> Option<&[f64]> {
        self.0.as_deref().ok()
    }

    fn rate(&self, flow: usize) -> Option<f64> {
        self.0.as_ref().ok()?.get(flow).copied()
    }
}

/// Instants of the fair rates behind a mean, where nodes move.
const MOMENTS: u32 = 16;

/// Each flow's mean fair rate over the measured time of a network that moves \[packets/s\].
fn mean_over_moments(scenario: &Resolved) -> Option<Vec<f64>> {
    let flows = &scenario.network().flows;
    let run = scenario.run_spec(0);
    let start = Instant::ZERO + run.warmup;
    let mut sums = vec![0.0; flows.len()];
    for (_, then) in scenario.moments(start, start + run.duration, MOMENTS).ok()? {
        let there = &then.network().flows;
        if there.is_empty() {
            continue;
        }
        let rates = then.optimum_in_passing(Objective::Fair)?.rates_pps;
        for (flow, rate) in there.iter().zip(rates) {
            let place = flows.iter().position(|other| other.name == flow.name)?;
            sums[place] += rate / f64::from(MOMENTS);
        }
    }
    Some(sums)
}

impl Verdict {
    /// Judges the runs of a scenario, each of another seed.
    ///
    /// # Panics
    /// If there is no run.
    pub fn of(scenario: &Resolved, runs: &[RunRecord]) -> Self {
        Self::beside(scenario, &FairRates::of(scenario), runs)
    }

    /// The same beside fair rates that are known already.
    ///
    /// # Panics
    /// If there is no run.
    pub fn beside(scenario: &Resolved, fair: &FairRates, runs: &[RunRecord]) -> Self {
        assert!(!runs.is_empty(), "a verdict is of runs");
        // An emulation for programs alone has none of the scenario's flows.
        let specs = &scenario.network().flows[..runs[0].flows.len().min(scenario.network().flows.len())];
        let rates: Vec<Rate> =
            specs.iter().enumerate().map(|(f, spec)| Rate::of(scenario, spec, f, runs)).collect();
        let best = rates.iter().map(|rate| rate.pps).fold(0.0, f64::max);
        let records = Records::of(scenario, runs);
        let of_flow = |(f, rate): (usize, &Rate)| flow_verdict(&records, f, rate, fair.rate(f), best);
        let flows: Vec<FlowVerdict> = rates.iter().enumerate().map(of_flow).collect();
        let starving = flows.iter().filter(|flow| flow.standing == Standing::Starves).count();
        let without_fair = fair.0.as_ref().err().filter(|_| !flows.is_empty()).cloned();
        let headline = headline(&flows, without_fair.as_deref());
        let remedies = remedy::remedies(scenario, &flows);
        Self { headline, starving, without_fair, flows, remedies }
    }

    /// The flows of which there is something to tell: those that starve before those that are short, the worst first, then finished and
    /// idle ones.
    pub fn told(&self) -> Vec<&FlowVerdict> {
        let mut told: Vec<&FlowVerdict> = self.flows.iter().filter(|flow| flow.sentence.is_some()).collect();
        let rank = |flow: &FlowVerdict| match flow.standing {
            Standing::Starves => 0,
            Standing::Short | Standing::Served => 1,
            Standing::Finished => 2,
            Standing::Idle => 3,
        };
        let share = |flow: &FlowVerdict| flow.share.unwrap_or(flow.rate_pps);
        told.sort_by(|a, b| rank(a).cmp(&rank(b)).then(share(a).total_cmp(&share(b))));
        told
    }

    /// The commands to try, each with its reason; `run` is the command that made the runs, such as `evenair run chen10/a`.
    pub fn commands(&self, run: &str) -> Vec<(String, String)> {
        self.remedies.iter().map(|remedy| (remedy.command(run), remedy.why.clone())).collect()
    }
}

/// A flow's rate, and its activity.
struct Rate {
    /// While it is active \[packets/s\].
    pps: f64,
    /// Active time within the measured time, the mean over runs \[s\].
    active_s: f64,
    /// How long its one transfer took, the mean over runs, if it is finished in all of them \[s\].
    took_s: Option<f64>,
    /// Whether it gets all that its source offers.
    is_satisfied: bool,
}

impl Rate {
    fn of(scenario: &Resolved, spec: &FlowSpec, index: usize, runs: &[RunRecord]) -> Self {
        let count = runs.len() as f64;
        let flows = || runs.iter().map(|run| &run.flows[index]);
        let active_s = runs.iter().map(|run| active_s(scenario, spec, run)).sum::<f64>() / count;
        let carried = runs.iter().map(|run| run.flows[index].goodput_pps * run.measured_s).sum::<f64>();
        let mut pps = if active_s > 0.0 { carried / (count * active_s) } else { 0.0 };
        let segments = match spec.traffic.source() {
            Some(Source::Segments(segments)) => Some(f64::from(segments)),
            _ => None,
        };
        let took = |flow: &evenair_netsim::FlowResult| {
            let transfers =
                flow.transfers.as_ref().filter(|t| t.completed > 0 && t.completed == t.requests)?;
            Some(transfers.took.as_ref()?.mean_s)
        };
        let took: Option<Vec<f64>> = flows().map(took).collect();
        let took_s = segments.and(took).map(|all| all.iter().sum::<f64>() / count);
        if let (Some(segments), Some(took_s)) = (segments, took_s) {
            pps = segments / took_s;
        }
        let offered = flows().map(|flow| flow.offered_pps).sum::<Option<f64>>();
        let got = flows().map(|flow| flow.goodput_pps).sum::<f64>();
        let requests = |of: fn(&evenair_netsim::TransferResult) -> u64| {
            flows().filter_map(|flow| flow.transfers.as_ref()).map(of).sum::<u64>() as f64
        };
        let is_web = spec.traffic.web().is_some();
        // A saturated source offers as much as its queue takes, and has more.
        let is_saturated =
            matches!(spec.traffic.kind(), Traffic::Datagrams { pattern: Pattern::Saturated, .. });
        let has_offer = |offered: f64| !is_saturated && offered > 0.0 && got >= ALL_OFFERED * offered;
        let is_satisfied = offered.is_some_and(has_offer)
            || is_web && requests(|t| t.completed) >= ALL_OFFERED * requests(|t| t.requests);
        Self { pps, active_s, took_s, is_satisfied }
    }
}

/// How much of its measured time a flow is active in a run, which may have ended early \[s\].
fn active_s(scenario: &Resolved, spec: &FlowSpec, record: &RunRecord) -> f64 {
    let from = Instant::ZERO + scenario.run_spec(record.seed).warmup;
    let until = from + Duration::from_secs_f64(record.measured_s);
    let within = |(start, stop): (Instant, Instant)| {
        let (start, stop) = (start.max(from), stop.min(until));
        if start < stop { stop.since(start) } else { Duration::ZERO }
    };
    spec.active_in(record.seed).into_iter().map(within).sum::<Duration>().as_secs_f64()
}

fn flow_verdict(
    records: &Records<'_>,
    index: usize,
    rate: &Rate,
    fair_pps: Option<f64>,
    best_pps: f64,
) -> FlowVerdict {
    let name = records.runs[0].flows[index].flow.clone();
    let share = fair_pps.filter(|fair| *fair > 0.0).map(|fair| rate.pps / fair);
    // A flow that gets half of its fair optimum does not starve, however much another gets.
    let is_short = share.is_some_and(|share| share < SHORT_BELOW);
    let is_far_behind = rate.pps < STARVES_BELOW * best_pps && (is_short || share.is_none());
    let starves = share.is_some_and(|share| share < STARVES_BELOW) || is_far_behind;
    let standing = match rate {
        Rate { took_s: Some(_), .. } if !starves => Standing::Finished,
        Rate { active_s, took_s: None, .. } if *active_s <= 0.0 => Standing::Idle,
        Rate { is_satisfied: true, .. } => Standing::Served,
        _ if starves => Standing::Starves,
        _ if is_short => Standing::Short,
        _ => Standing::Served,
    };
    let mut verdict = FlowVerdict {
        flow: name,
        standing,
        rate_pps: rate.pps,
        fair_pps,
        share,
        cause: None,
        evidence: None,
        sentence: None,
    };
    match standing {
        Standing::Served => (),
        Standing::Idle => {
            verdict.sentence = Some(format!("Flow {} is not active in the measured time.", verdict.flow));
        }
        Standing::Finished => verdict.sentence = Some(finished(records.scenario, index, rate, &verdict)),
        Standing::Starves | Standing::Short => {
            let evidence = Evidence::of(records, index);
            let (cause, because) = cause::judge(&evidence);
            verdict.sentence = Some(format!("{}: {because}.", lead(&verdict, best_pps)));
            (verdict.cause, verdict.evidence) = (Some(cause), Some(evidence));
        }
    }
    verdict
}

/// The beginning of a sentence on a flow that starves or is short.
fn lead(flow: &FlowVerdict, best_pps: f64) -> String {
    let rate = exact(flow.rate_pps);
    match (flow.fair_pps, flow.share, flow.standing) {
        (Some(fair), _, Standing::Starves) => {
            format!("Flow {} starves at {rate} of {} packets/s", flow.flow, exact(fair))
        }
        (None, _, _) => format!(
            "Flow {} starves at {rate} packets/s, where the best-served flow has {}",
            flow.flow,
            exact(best_pps)
        ),
        (_, share, _) => {
            format!("Flow {} gets {} of its fair optimum", flow.flow, percent(share.unwrap_or(0.0)))
        }
    }
}

/// The sentence on a finished transfer.
fn finished(scenario: &Resolved, index: usize, rate: &Rate, flow: &FlowVerdict) -> String {
    let size =
        scenario.settings().flows[index].transfer.map(|size| format!(" of {size}")).unwrap_or_default();
    let took = rate.took_s.unwrap_or(0.0);
    let share =
        flow.share.map(|share| format!(", {} of its fair optimum", percent(share))).unwrap_or_default();
    format!(
        "Flow {} is finished: its transfer{size} took {} s, at {} packets/s{share}.",
        flow.flow,
        exact((took * 100.0).round() / 100.0),
        exact(rate.pps)
    )
}

/// A share in whole per cent; below one, with a decimal.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 {
        digits::percent(share)
    } else {
        format!("{} %", digits::fixed(share * 100.0, 0))
    }
}

/// The verdict in a sentence or two.
fn headline(flows: &[FlowVerdict], without_fair: Option<&str>) -> String {
    if flows.is_empty() {
        return "Nothing is sent: the scenario has no flow.".into();
    }
    let of = |standing: Standing| flows.iter().filter(move |flow| flow.standing == standing);
    let starving: Vec<&str> = of(Standing::Starves).map(|flow| flow.flow.as_str()).collect();
    let first = match (starving.as_slice(), flows.len()) {
        ([], 1) => "The flow does not starve".to_string(),
        ([], _) => "No flow starves".to_string(),
        ([one], 1) => format!("The flow starves: {one}"),
        ([one], all) => format!("1 of {all} flows starves: {one}"),
        (several, all) => format!("{} of {all} flows starve: {}", several.len(), listed(several)),
    };
    // The least share of those that do not starve says how fair the rest is.
    let rest = flows.iter().filter(|flow| !matches!(flow.standing, Standing::Starves | Standing::Idle));
    let least = rest.filter_map(|flow| Some((flow.share?, flow))).min_by(|a, b| a.0.total_cmp(&b.0));
    let second = match (least, without_fair) {
        (Some((share, flow)), _) if starving.is_empty() && flows.len() == 1 => {
            format!("; flow {} gets {} of its fair optimum.", flow.flow, percent(share))
        }
        (Some((share, _)), _) if starving.is_empty() && share >= 1.0 => {
            "; each gets its fair optimum or more.".into()
        }
        (Some((share, flow)), _) if starving.is_empty() => {
            format!("; flow {} gets the least of its fair optimum, {}.", flow.flow, percent(share))
        }
        (Some((share, _)), _) => {
            format!("; the others get {} of their fair optimum or more.", percent(share))
        }
        (None, Some(why)) => format!(". The fair optimum is not solved here: {why}."),
        (None, None) => ".".into(),
    };
    first + &second
}

/// Names with commas between; of many the first ones, and how many more there are.
fn listed(names: &[&str]) -> String {
    match names.len().checked_sub(NAMED) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}
