//! The worlds that a variant can live in, and a run in each.

use crate::experiment::{FairShare, sawtooth, with_the_words_of};
use crate::live::Live;
use crate::run::{Aside, run};
use crate::watch::{NoRecord, Watched};
use evenair_netsim::{FlowResult, FlowSeries, LinkResult, LinkSeries, Series};
use evenair_results::{RecordOptions, RunRecord, TheoryRecord};
use evenair_scenario::{FluidRun, Objective, Optimum, Question, Region, Resolved, Theory};
use serde::Serialize;

/// Where a variant's numbers come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum World {
    /// The packet world, once per seed.
    #[default]
    Packets,
    /// This machine's kernel over the scenario's air, in real time, once per seed.
    Linux,
    /// The scenario's fluid model.
    Fluid,
    /// The fair optimum, `Σ −1/x` without entropy.
    Fair,
    /// The fixed point of the scenario's laws, problems MP and EP.
    FixedPoint,
    /// Proportional fairness.
    Proportional,
    /// The greatest sum of the flows' own utilities, `[utility]` of the scenario.
    Utility,
    /// Proportional fairness with CSMA's entropy beside it: problem (2) of [QCSMA], each flow of its weight.
    Entropic,
    /// Max-min fairness over the exact region.
    MaxMin,
    /// Max-min fairness over the cliques of the conflict graph.
    MaxMinCliques,
    /// Max-min fairness over the collision domains.
    MaxMinCollisionDomains,
    /// The same with back-off counted: the rates that the measures of [Jam10] call fair.
    FairShares,
    /// E-MULTCP on a path of its own in closed form ([CZ06] section IV-C).
    Sawtooth,
    /// The experiment of [Jam10] section 4.1.4.
    #[serde(skip)]
    Experiment(FairShare),
}

with_the_words_of!(World);

impl World {
    /// All there are.
    pub const ALL: [Self; 15] = [
        Self::Packets,
        Self::Fluid,
        Self::Fair,
        Self::FixedPoint,
        Self::Proportional,
        Self::Utility,
        Self::Entropic,
        Self::MaxMin,
        Self::MaxMinCliques,
        Self::MaxMinCollisionDomains,
        Self::FairShares,
        Self::Sawtooth,
        Self::Experiment(FairShare::RandomPlacement),
        Self::Experiment(FairShare::OwnPlacement),
        Self::Linux,
    ];

    /// Its word in study files.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a world has a name");
        name.as_str().unwrap_or_default().into()
    }

    /// Its description in a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Packets => "The packet world, once per seed.",
            Self::Linux => {
                "Real sockets of this machine's kernel over the scenario's air, in real time, once per seed."
            }
            Self::Fluid => "The scenario's fluid model.",
            Self::Fair => "The fair optimum, Σ −1/x without entropy.",
            Self::FixedPoint => "The fixed point of the scenario's laws, problems MP and EP of [Chen10].",
            Self::Proportional => "Proportional fairness.",
            Self::Utility => "The greatest sum of the flows' own utilities, [utility] of the scenario.",
            Self::Entropic => "Proportional fairness with CSMA's entropy beside it, problem (2) of [QCSMA].",
            Self::MaxMin => "Max-min fairness over the exact region.",
            Self::MaxMinCliques => "Max-min fairness over the cliques of the conflict graph.",
            Self::MaxMinCollisionDomains => "Max-min fairness over the collision domains.",
            Self::FairShares => {
                "The same with back-off counted: the rates that the measures of [Jam10] call fair."
            }
            Self::Sawtooth => "E-MULTCP on a path of its own in closed form ([CZ06] section IV-C).",
            Self::Experiment(FairShare::RandomPlacement) => {
                "The experiment of [Jam10] section 4.1.4 on a random placement of the scenario's nodes, drawn with the seed."
            }
            Self::Experiment(FairShare::OwnPlacement) => "The same on the scenario's own placement.",
        }
    }

    /// Whether a run depends on its seed.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Packets | Self::Linux | Self::Experiment(_))
    }

    /// Whether packets go over a simulated network.
    pub(crate) const fn has_packets(self) -> bool {
        matches!(self, Self::Packets | Self::Linux)
    }

    /// A run's cost beside others': simulated seconds times flows; a second of real time is some thousand of those. Anything that is
    /// not simulated is quick.
    pub(crate) fn work(self, scenario: &Resolved) -> f64 {
        let settings = scenario.settings();
        let seconds = (settings.warmup.0 + settings.duration.0).as_secs_f64();
        let simulated = seconds * scenario.network().flows.len() as f64;
        match self {
            Self::Packets => simulated,
            Self::Linux => 3000.0 * seconds,
            Self::Experiment(_) => simulated * FairShare::RUNS as f64,
            _ => 1.0,
        }
    }

    fn question(self) -> Option<Question> {
        let over = |region| Question { region, ..Question::new(Objective::MaxMin) };
        Some(match self {
            Self::Fair => Question::new(Objective::Fair),
            Self::FixedPoint => Question::new(Objective::FixedPoint),
            Self::Proportional => Question::new(Objective::Proportional),
            Self::Utility => Question::new(Objective::Utility),
            Self::Entropic => Question { beta: Some(1.0), ..Question::new(Objective::Proportional) },
            Self::MaxMin => over(Region::Exact),
            Self::MaxMinCliques => over(Region::Cliques),
            Self::MaxMinCollisionDomains => over(Region::CollisionDomains),
            Self::Packets
            | Self::Linux
            | Self::Fluid
            | Self::FairShares
            | Self::Sawtooth
            | Self::Experiment(_) => return None,
        })
    }

    /// One run of a scenario in this world; `aside` is where its packets' series and frames go.
    ///
    /// # Errors
    /// If the scenario has no such world: the theory's message; if there is no live runner; if it is told to stop.
    pub(crate) fn run(
        self,
        scenario: &Resolved,
        seed: u64,
        options: RecordOptions,
        aside: &Aside<'_>,
        live: Option<&dyn Live>,
        watched: &mut Watched<'_>,
    ) -> Result<RunRecord, NoRecord> {
        if let Some(question) = self.question() {
            return Ok(of_optimum(scenario, &scenario.answer_unless(question, watched.stop())?));
        }
        match self {
            Self::Fluid => Ok(of_fluid(scenario, &scenario.fluid_unless(watched.stop())?, options)),
            Self::FairShares => Ok(of_optimum(scenario, &scenario.fair_shares()?)),
            Self::Sawtooth => Ok(sawtooth::run(scenario, options)?),
            Self::Experiment(experiment) => experiment.run(scenario, seed, watched),
            Self::Linux => {
                let live = live.ok_or_else(|| String::from(NOBODY))?;
                run(scenario, seed, options, aside, Some(live), watched)
            }
            _ => run(scenario, seed, options, aside, None, watched),
        }
    }
}

/// The error of a world that a program has not.
const NOBODY: &str = "world = \"linux\" is real time over this machine's kernel, which only the command does: evenair study, in a build with --features live";

/// A record with only the names of flows and links.
pub(crate) fn blank(scenario: &Resolved, theory: &Theory) -> RunRecord {
    let network = scenario.network();
    let flows = network.flows.iter().zip(&theory.flows).map(|(flow, seen)| FlowResult {
        flow: flow.name.clone(),
        from: network.name(flow.path[0]).into(),
        to: network.name(*flow.path.last().expect("a path has an end")).into(),
        ack_queue: None,
        queue: seen.loads.first().map(|&(l, _)| theory.links[l].clone()).unwrap_or_default(),
        goodput_bps: 0.0,
        goodput_pps: 0.0,
        unit_bytes: (seen.payload_bits / 8.0).round() as u32,
        round_trip_s: None,
        connections: 1.0,
        congestion_window: 0.0,
        offered_pps: None,
        delay: None,
        jitter_s: None,
        sent: 0,
        retransmitted: 0,
        timeouts: 0,
        lost: 0,
        arrived: 0,
        acks_lost: 0,
        acks: 0,
        queueing_delay_s: None,
        ack_queueing_delay_s: None,
        silence_s: 0.0,
        loss_event_rate: None,
        probes: None,
        resequencing: None,
        transfers: None,
    });
    RunRecord {
        scenario: scenario.settings().name.clone(),
        seed: scenario.settings().seed,
        measured_s: scenario.settings().duration.0.as_secs_f64(),
        fingerprint: String::new(),
        events: 0,
        verdict: None,
        flows: flows.collect(),
        links: theory
            .links
            .iter()
            .map(|name| LinkResult { queue: name.clone(), ..LinkResult::default() })
            .collect(),
        outside: Vec::new(),
        gateway: None,
        live: None,
        series: None,
        frames: Vec::new(),
        theory: None,
        findings: Vec::new(),
    }
}

pub(crate) fn set_rates(record: &mut RunRecord, theory: &Theory, rates: &[f64]) {
    for ((flow, seen), &x) in record.flows.iter_mut().zip(&theory.flows).zip(rates) {
        flow.goodput_pps = x;
        flow.goodput_bps = x * seen.payload_bits;
    }
}

pub(crate) fn of_optimum(scenario: &Resolved, optimum: &Optimum) -> RunRecord {
    let mut record = blank(scenario, &optimum.theory);
    set_rates(&mut record, &optimum.theory, &optimum.rates_pps);
    for (link, price) in record.links.iter_mut().zip(&optimum.prices) {
        link.aggressiveness = Some(*price);
    }
    let residual = optimum.residuals.map(|r| r.worst());
    record.theory = Some(TheoryRecord { residual, ..TheoryRecord::default() });
    record
}

pub(crate) fn of_fluid(scenario: &Resolved, run: &FluidRun, options: RecordOptions) -> RunRecord {
    let mut record = blank(scenario, &run.theory);
    let end = run.views.last().expect("a run has an end");
    set_rates(&mut record, &run.theory, &end.rates);
    record.measured_s = *run.times.last().expect("a run has an end");
    for (s, flow) in record.flows.iter_mut().enumerate() {
        flow.round_trip_s = Some(end.round_trips_s[s]);
        flow.connections = end.connections[s];
        flow.congestion_window = end.windows[s];
    }
    for (link, price) in record.links.iter_mut().zip(&end.prices) {
        link.aggressiveness = Some(*price);
    }
    let first = run.lyapunov.first().copied().unwrap_or(0.0);
    let growth = run.lyapunov.windows(2).map(|pair| (pair[1] - pair[0]) / first).fold(0.0, f64::max);
    let off = |view: &evenair_scenario::FluidView| {
        let far = |(a, b): (&f64, &f64)| (a - b).abs() / b.abs().max(1e-9);
        end.rates.iter().zip(&view.rates).map(far).fold(0.0, f64::max)
    };
    record.theory = Some(TheoryRecord {
        eigenvalue_per_s: run.rest.as_ref().and_then(|(rest, _)| rest.eigenvalues.first()).map(|(re, _)| *re),
        lyapunov_growth: (!run.lyapunov.is_empty()).then_some(growth),
        off_rest: run.rest.as_ref().map(|(_, view)| off(view)),
        ..TheoryRecord::default()
    });
    record.series = options.series.then(|| series(run));
    record
}

fn series(run: &FluidRun) -> Series {
    let flow = |s: usize| FlowSeries {
        flow: run.theory.flows[s].name.clone(),
        goodput_pps: run.views.iter().map(|v| v.rates[s]).collect(),
        congestion_window: run.views.iter().map(|v| v.windows[s]).collect(),
        round_trip_s: run.views.iter().map(|v| v.round_trips_s[s]).collect(),
        connections: run.views.iter().map(|v| v.connections[s]).collect(),
        ..FlowSeries::default()
    };
    let link = |l: usize| LinkSeries {
        queue: run.theory.links[l].clone(),
        backlog: Vec::new(),
        aggressiveness: run.views.iter().map(|v| v.prices.get(l).copied().unwrap_or(0.0)).collect(),
        ..LinkSeries::default()
    };
    Series {
        time_s: run.times.clone(),
        flows: (0..run.theory.flows.len()).map(flow).collect(),
        links: (0..run.theory.links.len()).map(link).collect(),
    }
}
