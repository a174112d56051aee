//! The theory's answers.

use crate::comparison::Comparison;
use crate::tables::row;
use evenair_scenario::{FluidRun, Optimum, Theory, TheoryFlow};
use schemars::JsonSchema;
use serde::Serialize;

/// A best allocation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SolveDocument {
    /// The scenario as it was named; `<stdin>` for standard input.
    pub scenario: String,
    /// Each flow's objective.
    pub flows: Vec<SolvedFlow>,
    /// The links that it takes.
    pub links: Vec<SolvedLink>,
    /// Pairs of links that may not transmit at once.
    pub conflicts: Vec<[String; 2]>,
    /// Links that transmit at once, and their share of time, where such sets are known.
    pub independent_sets: Vec<SetShare>,
    /// The objective's value; null for max-min fairness.
    pub objective: Option<f64>,
    /// No allocation has a value above it: equal to `objective` where the solution is exact.
    pub bound: Option<f64>,
    /// The solver: own or clarabel.
    pub solver: &'static str,
    /// How far the answer is from the optimality conditions.
    pub residuals: Option<ResidualsDocument>,
}

row! {
    /// A flow of an allocation.
    SolvedFlow {
        /// Its name.
        flow: String,
        /// The weight of its utility.
        weight: f64,
        /// The α of its utility; null where the objective is no sum of weight·x^(1−α)/(1−α), or the utility is a table.
        alpha: Option<f64>,
        /// Its rate \[packets/s\].
        rate_pps: f64,
        /// The same \[bit/s\], of payload.
        rate_bps: f64,
        /// Its rate alone \[packets/s\].
        capacity_pps: f64,
        ;
        /// The time that a packet of it takes of each link on its way.
        loads: Vec<Load>,
    }
}

/// The time that a packet takes of a link.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Load {
    /// The link.
    pub link: String,
    /// Airtime of a packet \[s\].
    pub airtime_s: f64,
}

row! {
    /// A link of an allocation.
    SolvedLink {
        /// Its name.
        link: String,
        /// Its price \[utility per share of time\]; null where the objective has none.
        price: Option<f64>,
        /// The share of time that its flows take.
        load: f64,
        /// The share of time that it has; null where the objective has none.
        airtime: Option<f64>,
    }
}

/// Links that transmit at once.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SetShare {
    /// The links.
    pub links: Vec<String>,
    /// Their share of time.
    pub share: f64,
}

/// The optimality conditions: each number is zero at the optimum, and relative.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct ResidualsDocument {
    /// By how much a link's load exceeds its airtime, or a wire's its capacity.
    pub primal: f64,
    /// By how much a price is negative, or out of the range of its wire.
    pub dual: f64,
    /// How far marginal utilities are from the prices of their ways.
    pub stationarity: f64,
    /// How far links with a price are from being full.
    pub complementarity: f64,
    /// How much better any allocation could be.
    pub gap: f64,
}

impl SolveDocument {
    /// The allocation of a scenario.
    pub fn of(scenario: &str, optimum: &Optimum) -> Self {
        let Theory { flows, links, conflicts, .. } = &optimum.theory;
        let name = |l: usize| links[l].clone();
        let flow = |(s, flow): (usize, &TheoryFlow)| SolvedFlow {
            flow: flow.name.clone(),
            weight: flow.weight,
            alpha: optimum.objective.alpha_of(flow),
            rate_pps: optimum.rates_pps[s],
            rate_bps: optimum.rates_pps[s] * flow.payload_bits,
            capacity_pps: optimum.capacity_pps[s],
            loads: flow.loads.iter().map(|&(l, airtime_s)| Load { link: name(l), airtime_s }).collect(),
        };
        let link = |(l, link): (usize, &String)| SolvedLink {
            link: link.clone(),
            price: optimum.prices.get(l).copied(),
            load: optimum.load[l],
            airtime: optimum.airtime.get(l).copied(),
        };
        let set = |(set, share): &(Vec<u32>, f64)| SetShare {
            links: set.iter().map(|&l| name(l as usize)).collect(),
            share: *share,
        };
        Self {
            scenario: scenario.into(),
            flows: flows.iter().enumerate().map(flow).collect(),
            links: links.iter().enumerate().map(link).collect(),
            conflicts: conflicts.edges().map(|(l, m)| [name(l), name(m)]).collect(),
            independent_sets: optimum.schedule.iter().map(set).collect(),
            objective: optimum.value.map(|(value, _)| value),
            bound: optimum.value.map(|(_, bound)| bound),
            solver: if optimum.by_clarabel { "clarabel" } else { "own" },
            residuals: optimum.residuals.map(|r| ResidualsDocument {
                primal: r.primal,
                dual: r.dual,
                stationarity: r.stationarity,
                complementarity: r.complementarity,
                gap: r.gap,
            }),
        }
    }
}

/// How ideal CSMA shares the air.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProductFormDocument {
    /// The scenario as it was named; `<stdin>` for standard input.
    pub scenario: String,
    /// The links.
    pub links: Vec<ProductFormLink>,
}

/// A link under ideal CSMA.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProductFormLink {
    /// Its name.
    pub link: String,
    /// Its exponent βr.
    pub exponent: f64,
    /// The share of time that it then has.
    pub airtime: f64,
}

/// Where a fluid model went.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FluidDocument {
    /// The scenario as it was named; `<stdin>` for standard input.
    pub scenario: String,
    /// The flows at the end.
    pub flows: Vec<FluidFlow>,
    /// The links at the end.
    pub links: Vec<FluidLink>,
    /// Whether it is at rest at the end.
    pub has_settled: bool,
    /// Why the rest means little.
    pub warning: Option<String>,
    /// The things of the scenario's MAC that the model lacks, in words; null, if it has all.
    pub lacks: Option<String>,
    /// Links that are asked for more than CSMA gives.
    pub overloaded: Vec<OverloadedLink>,
    /// Where it rests; null if there is no rest close to where it ended.
    pub rest: Option<FluidRest>,
    /// The variables of the state.
    pub components: Vec<String>,
    /// The way there.
    pub trajectory: Trajectory,
    /// How often a right-hand side had a corner on the way.
    pub corners: usize,
    /// Steps of the integration.
    pub steps: u64,
}

row! {
    /// A flow of a fluid model.
    FluidFlow {
        /// Its name.
        flow: String,
        /// Its rate \[packets/s\].
        rate_pps: f64,
        /// Its rate at rest \[packets/s\].
        rest_pps: Option<f64>,
        /// How many connections it has.
        connections: f64,
        /// The window of one \[segments\].
        window: f64,
        /// Its round-trip time \[s\].
        round_trip_s: f64,
    }
}

row! {
    /// A link of a fluid model.
    FluidLink {
        /// Its name.
        link: String,
        /// Its price; null where the model has none.
        price: Option<f64>,
        /// Its share of time; null where the model has none.
        airtime: Option<f64>,
    }
}

/// A link that is asked for more than CSMA gives.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OverloadedLink {
    /// Its name.
    pub link: String,
    /// The share of time that it is asked for.
    pub load: f64,
    /// The share of time that it has.
    pub airtime: f64,
}

/// Where a fluid model rests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FluidRest {
    /// The state, in the order of `components`.
    pub state: Vec<f64>,
    /// Eigenvalues of the linearisation there: pairs of real and imaginary part \[1/s\], the greatest real part first.
    pub eigenvalues: Vec<(f64, f64)>,
    /// Whether all real parts are below zero, and the demand can be carried.
    pub is_stable: bool,
    /// How far the right-hand side is from zero there.
    pub residual: f64,
}

/// A way through states.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Trajectory {
    /// When \[s\].
    pub time_s: Vec<f64>,
    /// The states, each in the order of `components`.
    pub states: Vec<Vec<f64>>,
    /// The Lyapunov function at each; empty where the model has none.
    pub lyapunov: Vec<f64>,
}

impl FluidDocument {
    /// Where the model of a scenario went.
    pub fn of(scenario: &str, run: &FluidRun) -> Self {
        let end = run.views.last().expect("a run has an end");
        let carried = run.overloaded.is_empty();
        let at_rest = |s: usize| run.rest.as_ref().filter(|_| carried).map(|(_, view)| view.rates[s]);
        let flow = |(s, flow): (usize, &TheoryFlow)| FluidFlow {
            flow: flow.name.clone(),
            rate_pps: end.rates[s],
            rest_pps: at_rest(s),
            connections: end.connections[s],
            window: end.windows[s],
            round_trip_s: end.round_trips_s[s],
        };
        let link = |(l, link): (usize, &String)| FluidLink {
            link: link.clone(),
            price: end.prices.get(l).copied(),
            airtime: end.airtime.get(l).copied(),
        };
        Self {
            scenario: scenario.into(),
            flows: run.theory.flows.iter().enumerate().map(flow).collect(),
            links: run.theory.links.iter().enumerate().map(link).collect(),
            has_settled: run.has_settled,
            warning: run.warning(),
            lacks: run.lacks.clone(),
            overloaded: run
                .overloaded
                .iter()
                .map(|o| OverloadedLink {
                    link: run.theory.links[o.link].clone(),
                    load: o.load,
                    airtime: o.airtime,
                })
                .collect(),
            rest: run.rest.as_ref().map(|(rest, _)| FluidRest {
                state: rest.state.clone(),
                eigenvalues: rest.eigenvalues.clone(),
                is_stable: carried && rest.is_stable(),
                residual: rest.residual,
            }),
            components: run.components.clone(),
            trajectory: Trajectory {
                time_s: run.times.clone(),
                states: run.states.clone(),
                lyapunov: run.lyapunov.clone(),
            },
            corners: run.corners.len(),
            steps: run.steps,
        }
    }
}

/// One scenario in one world after the other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompareDocument {
    /// The scenario as it was named; `<stdin>` for standard input.
    pub scenario: String,
    /// The worlds, in order: each has one idealisation less.
    pub stages: Vec<ComparedStage>,
    /// Pairs of a part and its share of the senders' time in the last world.
    pub senders_time: Vec<(&'static str, f64)>,
    /// Why a stage is missing; why one has more than the optimum.
    pub notes: Vec<String>,
}

/// One world.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ComparedStage {
    /// Its name.
    pub stage: &'static str,
    /// The additions of this world to the one before; for a simulated one also its measurements.
    pub gap: String,
    /// The flows in it.
    pub flows: Vec<ComparedFlow>,
}

row! {
    /// A flow in one world.
    ComparedFlow {
        /// Its name.
        flow: String,
        /// Its rate, in packets of the scenario's own air \[packets/s\].
        rate_pps: f64,
        /// The same as a share of its rate alone there.
        share: f64,
        /// The count \[packets/s\]; null in theory.
        counted_pps: Option<f64>,
    }
}

impl CompareDocument {
    /// A scenario's worlds.
    pub fn of(scenario: &str, found: &Comparison) -> Self {
        let stages = found.stages.iter().map(|stage| {
            let rates = stage.rates_pps(&found.capacity_pps);
            let flow = |(s, name): (usize, &String)| ComparedFlow {
                flow: name.clone(),
                rate_pps: rates[s],
                share: stage.shares[s],
                counted_pps: stage.counted_pps.as_ref().map(|counted| counted[s]),
            };
            let flows = found.flows.iter().enumerate().map(flow).collect();
            ComparedStage { stage: stage.name, gap: stage.gap.clone(), flows }
        });
        Self {
            scenario: scenario.into(),
            stages: stages.collect(),
            senders_time: found.senders_time.clone(),
            notes: found.notes.clone(),
        }
    }
}
