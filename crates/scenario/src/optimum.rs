//! The best allocation of a scenario.

mod overfull;
mod wants;

pub use overfull::Overfull;

use crate::resolved::Resolved;
use crate::theory::{Theory, TheoryFlow};
use evenair_laws::backoff::{AdaptiveParams, BackoffParams};
use evenair_laws::connections::ConnectionParams;
use evenair_optimum::max_min::{self, Fair, Proof};
use evenair_optimum::{Failure, Flow, Problem, ProductForm, Residuals, Solution, Utility, Watch, Wire};
use evenair_topology::{ConflictGraph, maximal_cliques};
use std::sync::atomic::AtomicBool;
use wants::Utilities;

/// The objective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// `Σ −1/x` without entropy: the fair optimum that the laws of [Chen10] aim at.
    Fair,
    /// Problems MP and EP with the scenario's own k and β: the fixed point that the laws of [Chen10] run into, entropy
    /// included, wires priced as DropTail queues are.
    FixedPoint,
    /// `Σ log x` without entropy: proportional fairness.
    Proportional,
    /// `Σ x^(1−α)/(1−α)` without entropy.
    AlphaFair(f64),
    /// The sum of the flows' own utilities, `weight·x^(1−α)/(1−α)` with the weight and the α of each, or its table, x counted as
    /// `[utility]` says, without entropy.
    Utility,
    /// Max-min fairness.
    MaxMin,
}

impl Objective {
    /// α of a flow's utility; none, where the objective is no sum of `weight·x^(1−α)/(1−α)`.
    pub fn alpha_of(self, flow: &TheoryFlow) -> Option<f64> {
        match self {
            Self::Fair => Some(2.0),
            Self::Proportional => Some(1.0),
            Self::AlphaFair(alpha) => Some(alpha),
            Self::Utility => flow.alpha,
            Self::FixedPoint | Self::MaxMin => None,
        }
    }
}

/// Which rates are held to be possible together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Region {
    /// The convex hull of the independent sets of the conflict graph.
    #[default]
    Exact,
    /// Each clique of the conflict graph is busy at most all of the time ([Jam10] eq. (4.4)); never less than the exact region.
    Cliques,
    /// Each collision domain is ([Jam10] eq. (4.6)): a link with all in transmission range of it or, where conflicts are given
    /// outright, with all in conflict with it. Carrier sense beyond transmission range is not counted.
    CollisionDomains,
}

/// The solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// evenair's own methods.
    #[default]
    Own,
    /// Clarabel, a conic interior-point solver: a second opinion, and the fallback where the own methods give up.
    Clarabel,
}

impl Solver {
    fn solve(self, problem: &Problem, watch: Watch<'_>) -> Result<Solution, Failure> {
        match self {
            Self::Own => problem.solve_unless(watch),
            Self::Clarabel => problem.solve_by_cones_unless(watch.stop),
        }
    }
}

/// The question: an objective, over a region, of a solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The objective.
    pub objective: Objective,
    /// Over which region.
    pub region: Region,
    /// The solver.
    pub solver: Solver,
    /// The entropy's weight is 1/β: CSMA of that β maximises it beside the utilities ([QCSMA] problem (2) has β = 1). None
    /// leaves it out; the fixed point has the scenario's own.
    pub beta: Option<f64>,
}

impl Question {
    /// An objective over the exact region, without entropy.
    pub fn new(objective: Objective) -> Self {
        Self { objective, region: Region::default(), solver: Solver::default(), beta: None }
    }
}

/// The best allocation, in the units of the packet world.
#[derive(Clone, Debug)]
pub struct Optimum {
    /// The objective.
    pub objective: Objective,
    /// Over which region.
    pub region: Region,
    /// The theory's view of the scenario.
    pub theory: Theory,
    /// Each flow's rate \[segments or datagrams per second\].
    pub rates_pps: Vec<f64>,
    /// Rate of a flow that has its way for itself, one link at a time \[1/s\]: `C`, acknowledgements and spaces counted,
    /// back-off not.
    pub capacity_pps: Vec<f64>,
    /// Each link's price in the units of the objective per share of its time; at the fixed point the transmission
    /// aggressiveness, and the loss rate of wires. None for max-min.
    pub prices: Vec<f64>,
    /// Share of time that each link is loaded.
    pub load: Vec<f64>,
    /// Share of time that each link of the air is given, over the exact region.
    pub airtime: Vec<f64>,
    /// Independent sets with their shares of time, where they are known.
    pub schedule: Vec<(Vec<u32>, f64)>,
    /// The objective, and its upper bound; equal where the solution is exact.
    pub value: Option<(f64, f64)>,
    /// The optimality conditions, checked; none for max-min over cliques or collision domains, which is filled in.
    pub residuals: Option<Residuals>,
    /// By which part of its rate each flow's best rate may be another, at most; empty, where vertices or closed forms give the rates.
    pub rates_within: Vec<f64>,
    /// Whether Clarabel found it: because it was asked, or because evenair's own method gave up.
    pub by_clarabel: bool,
}

/// The number of links that are solved within a second or two.
const LINKS_IN_PASSING: usize = 150;
/// The most cliques that are listed.
const CLIQUES_MAX: usize = 200_000;

impl Resolved {
    /// The objective where nothing else is asked: the flows' own utilities, if the scenario has any, else [`Objective::Fair`].
    pub fn objective(&self) -> Objective {
        let of_flow = |flow: &crate::FlowTable| flow.alpha.is_some() || flow.points.is_some();
        let own = self.settings.utility.is_some() || self.settings.flows.iter().any(of_flow);
        if own { Objective::Utility } else { Objective::Fair }
    }

    /// Solves for the best allocation over the exact region.
    ///
    /// The capacity `C` counts DIFS, DATA, SIFS and ACK of a segment and of its TCP acknowledgement, and no back-off:
    /// 514 segments/s for 1000 bytes at 11 Mb/s. The thesis does not give its own; 530 to 660 fit its tables.
    ///
    /// # Errors
    /// If [`Objective::FixedPoint`] is asked of a scenario without adaptive back-off and connections, a flow is a broadcast,
    /// or the solver fails.
    pub fn optimum(&self, objective: Objective) -> Result<Optimum, Failure> {
        self.answer(Question::new(objective))
    }

    /// The same, if it takes moments: for maps and tables, which do not wait for it.
    pub fn optimum_in_passing(&self, objective: Objective) -> Option<Optimum> {
        let links = self.layout().links.len();
        if links <= LINKS_IN_PASSING { self.optimum(objective).ok() } else { None }
    }

    /// Solves the question.
    ///
    /// # Errors
    /// As [`Self::optimum`]; if an entropy is asked of max-min fairness or of another region than the exact one; and Clarabel
    /// has neither prices of wires nor max-min.
    pub fn answer(&self, question: Question) -> Result<Optimum, Failure> {
        self.answer_unless(question, &AtomicBool::new(false))
    }

    /// The same, unless it is told to stop.
    ///
    /// # Errors
    /// As [`Self::answer`], and [`Failure::Stopped`].
    pub fn answer_unless<'a>(
        &self,
        question: Question,
        watch: impl Into<Watch<'a>>,
    ) -> Result<Optimum, Failure> {
        check(question)?;
        let watch = watch.into();
        let Question { objective, region, .. } = question;
        let theory = self.theory()?;
        let capacity_pps = capacity_pps(&theory);
        match objective {
            Objective::MaxMin => max_min_of(theory, region, capacity_pps, watch.stop),
            Objective::FixedPoint => self.fixed_point(theory, question, capacity_pps, watch),
            Objective::Fair => maximum(theory, question, capacity_pps, Utilities::alike(2.0), watch),
            Objective::Proportional => maximum(theory, question, capacity_pps, Utilities::alike(1.0), watch),
            Objective::AlphaFair(alpha) => {
                maximum(theory, question, capacity_pps, Utilities::alike(alpha), watch)
            }
            Objective::Utility => {
                let unit =
                    self.settings.utility.as_ref().and_then(|utility| utility.unit).unwrap_or_default();
                let utilities = Utilities { alpha: None, unit, given: &[] };
                maximum(theory, question, capacity_pps, utilities, watch)
            }
        }
    }

    /// The rates that [Jam10] calls fair: max-min over the collision domains (eq. (4.6), section 7.2.2), each flow with its
    /// weight and none above its demand. One hop has a lone hop's rate, back-off and TCP's acknowledgements counted (800 kb/s of
    /// TCP at 1 Mb/s with ns-2's headers, as the thesis says).
    ///
    /// # Errors
    /// If a flow is a broadcast, or there is none.
    pub fn fair_shares(&self) -> Result<Optimum, Failure> {
        let theory = self.theory_with_backoff()?;
        let capacity_pps = capacity_pps(&theory);
        max_min_of(theory, Region::CollisionDomains, capacity_pps, &AtomicBool::new(false))
    }

    /// How ideal CSMA shares the air where the links' exponents `βr` are given ([Chen10] eq. (3.2), (3.3)): each link's share of
    /// time, in the order of [`Theory::links`].
    ///
    /// # Errors
    /// If there is not one exponent per link of the air, or there are too many independent sets.
    pub fn shares_at(&self, exponents: &[f64]) -> Result<(Theory, Vec<f64>), Failure> {
        let theory = self.theory()?;
        if exponents.len() != theory.air() || exponents.iter().any(|z| !z.is_finite()) {
            let names = theory.links[..theory.air()].join(", ");
            return Err(Failure::Malformed(format!("give {} exponents, for {names}", theory.air())));
        }
        let shares = ProductForm::new(&theory.conflicts)?.shares(exponents).links;
        Ok((theory, shares))
    }

    /// The inverse: which exponents give the flows these rates \[packets/s\], each link just the share of time that it needs.
    ///
    /// # Errors
    /// If there is not one rate per flow, a link carries nothing, or the rates lie outside the capacity region or on its
    /// boundary.
    pub fn exponents_for(&self, rates_pps: &[f64]) -> Result<(Theory, Vec<f64>), Failure> {
        let theory = self.theory()?;
        if rates_pps.len() != theory.flows.len() {
            let names: Vec<&str> = theory.flows.iter().map(|f| f.name.as_str()).collect();
            return Err(Failure::Malformed(format!(
                "give {} rates, for flows {}",
                names.len(),
                names.join(", ")
            )));
        }
        let mut wanted = vec![0.0; theory.links.len()];
        for (flow, x) in theory.flows.iter().zip(rates_pps) {
            flow.loads.iter().for_each(|&(l, a)| wanted[l] += a * x);
        }
        let exponents = ProductForm::new(&theory.conflicts)?.exponents_for(&wanted[..theory.air()])?;
        Ok((theory, exponents))
    }

    fn fixed_point(
        &self,
        theory: Theory,
        question: Question,
        capacity_pps: Vec<f64>,
        watch: Watch<'_>,
    ) -> Result<Optimum, Failure> {
        let fail = |what: &str| Err(Failure::Malformed(what.into()));
        let (Some(connections), &BackoffParams::Adaptive(AdaptiveParams { beta, .. })) =
            (&self.settings.connections, &self.settings.backoff)
        else {
            return fail("the fixed point needs [connections] and an adaptive [backoff]");
        };
        self.one_backoff("the fixed point")?;
        let Some(wants) = Wants::of(connections) else {
            return fail(
                "the fixed point has the laws of connections rtt-proportional, utility and delay-price: choose one of them",
            );
        };
        if question.region != Region::Exact {
            return fail("the fixed point of the laws is one of the exact region");
        }
        if theory.flows.iter().any(|f| f.limit_pps.is_finite()) {
            return fail("the fixed point is one of flows without a limit of their own");
        }
        let air = theory.air();
        let on_air = |flow: &TheoryFlow| {
            flow.loads.iter().filter(|(l, _)| *l < air).map(|(_, a)| *a).collect::<Vec<f64>>()
        };
        let alike = |times: &[f64]| times.iter().all(|a| (a / times[0] - 1.0).abs() < 1e-9);
        if theory.flows.iter().any(|f| !alike(&on_air(f))) {
            return fail(
                "at the fixed point all links of a flow have one rate, but A-CSMA's aggressiveness ignores rates",
            );
        }
        // Rates are x̂ = x·cost, so that a price is one per share of time.
        let any = theory.flows.iter().find_map(|f| on_air(f).first().copied()).unwrap_or(1.0);
        let costs: Vec<f64> =
            theory.flows.iter().map(|f| on_air(f).first().copied().unwrap_or(any)).collect();
        if theory.links.len() > air && !alike(&costs) {
            return fail("beside wires the fixed point needs flows of one packet size");
        }
        let on_wire = |l: usize| {
            theory.flows.iter().flat_map(|f| &f.loads).find(|(m, _)| *m == l).map_or(1.0, |(_, a)| *a)
        };
        let wires = (air..theory.links.len()).map(|l| Wire::DropTail(any / on_wire(l))).collect();
        let flow = |(flow, cost): (&TheoryFlow, &f64)| Flow {
            utility: wants.utility(*cost),
            fixed_price: if wants.sees_loss { flow.loss } else { 0.0 },
            loads: flow.loads.iter().map(|&(l, _)| (l, 1.0)).collect(),
        };
        let flows = theory.flows.iter().zip(&costs).map(flow).collect();
        let problem =
            Problem { air: theory.conflicts.clone(), wires, flows, beta: Some(beta), background: Vec::new() };
        let solution = question.solver.solve(&problem, watch)?;
        let rates_pps: Vec<f64> = solution.rates.iter().zip(&costs).map(|(x, cost)| x / cost).collect();
        Ok(finished(
            Objective::FixedPoint,
            question.region,
            theory,
            capacity_pps,
            rates_pps,
            Some((solution, beta)),
        ))
    }
}

impl Resolved {
    /// Says that `what` knows one back-off law for all nodes, where some have another.
    pub(crate) fn one_backoff(&self, what: &str) -> Result<(), Failure> {
        if self.network().node_backoffs.is_empty() {
            return Ok(());
        }
        let why = format!(
            "{what} has one [backoff] for all nodes, and some of [[queues]] have their own: remove those"
        );
        Err(Failure::Malformed(why))
    }
}

/// Whether parts of a question go together.
fn check(Question { objective, region, solver, beta }: Question) -> Result<(), Failure> {
    let fail = |what: &str| Err(Failure::Malformed(what.into()));
    if objective == Objective::MaxMin && solver == Solver::Clarabel {
        return fail("max-min fairness is filled in; Clarabel has no part in it");
    }
    if beta.is_some() && (objective == Objective::MaxMin || region != Region::Exact) {
        return fail("an entropy is one of independent sets: give beta with a utility over the exact region");
    }
    if beta.is_some() && objective == Objective::FixedPoint {
        return fail("the fixed point has the scenario's own beta");
    }
    Ok(())
}

/// Each flow's rate if it has its way for itself, one link at a time.
fn capacity_pps(theory: &Theory) -> Vec<f64> {
    theory.flows.iter().map(|flow| 1.0 / flow.loads.iter().map(|&(_, a)| a).fold(0.0, f64::max)).collect()
}

/// The utility that a connection law stands for: at rest `k²·w·x^(−α)` is the price.
struct Wants {
    per_second: f64,
    weight: f64,
    fairness: f64,
    /// Whether channel losses are a part of the price.
    sees_loss: bool,
}

impl Wants {
    fn of(law: &ConnectionParams) -> Option<Self> {
        Some(match law {
            ConnectionParams::RttProportional(law) => {
                Self { per_second: law.per_second, weight: 2.0, fairness: 2.0, sees_loss: true }
            }
            ConnectionParams::Utility(law) => Self {
                per_second: law.per_second,
                weight: law.weight,
                fairness: law.fairness,
                sees_loss: true,
            },
            ConnectionParams::DelayPrice(law) => Self {
                per_second: law.per_second,
                weight: law.weight,
                fairness: law.fairness,
                sees_loss: false,
            },
            _ => return None,
        })
    }

    /// Of rates `x̂ = x·cost`: its derivative is `k²·w·x^(−α)`; with `2k²/x²`, [Chen10] eq. (5.21), it is `−2k²·cost²/x̂`.
    fn utility(&self, cost: f64) -> Utility {
        if (self.fairness - 2.0).abs() < f64::EPSILON {
            return Utility::inverse(self.weight * (self.per_second * cost) * (self.per_second * cost));
        }
        let weight = self.per_second * self.per_second * self.weight * cost.powf(self.fairness);
        Utility::AlphaFair { weight, alpha: self.fairness }
    }
}

/// Rates and prices together, with the loads that they make.
fn finished(
    objective: Objective,
    region: Region,
    theory: Theory,
    capacity_pps: Vec<f64>,
    rates_pps: Vec<f64>,
    solution: Option<(Solution, f64)>,
) -> Optimum {
    let mut load = vec![0.0; theory.links.len()];
    for (flow, x) in theory.flows.iter().zip(&rates_pps) {
        flow.loads.iter().for_each(|&(l, a)| load[l] += a * x);
    }
    let value = solution
        .as_ref()
        .map(|(s, beta)| (s.utility + if beta.is_finite() { s.entropy / beta } else { 0.0 }, s.bound));
    let residuals = solution.as_ref().map(|(s, _)| s.residuals);
    let by_clarabel = solution.as_ref().is_some_and(|(s, _)| s.by_clarabel);
    let rates_within = solution.as_ref().map_or_else(Vec::new, |(s, _)| s.rates_within.clone());
    let (prices, airtime, schedule) =
        solution.map_or_else(Default::default, |(s, _)| (s.prices, s.airtime, s.schedule));
    Optimum {
        objective,
        region,
        theory,
        rates_pps,
        capacity_pps,
        prices,
        load,
        airtime,
        schedule,
        value,
        residuals,
        rates_within,
        by_clarabel,
    }
}

/// Groups of links of which one at a time is busy, and the wires, each alone.
fn groups(theory: &Theory, region: Region) -> Result<Vec<Vec<u32>>, Failure> {
    let mut groups = match region {
        Region::Cliques => maximal_cliques(&theory.conflicts, CLIQUES_MAX)?,
        Region::CollisionDomains => max_min::domains(&theory.domains),
        Region::Exact => unreachable!("the exact region is no list of groups"),
    };
    groups.extend((theory.air()..theory.links.len()).map(|l| vec![l as u32]));
    Ok(groups)
}

/// Max-min fair rates over the collision domains \[packets/s\].
pub(crate) fn over_domains(theory: Theory) -> Result<Vec<f64>, Failure> {
    Ok(max_min_of(theory, Region::CollisionDomains, Vec::new(), &AtomicBool::new(false))?.rates_pps)
}

/// Equal are the flows' payloads per time and weight, not their packets: a call of small packets is due as much as a download.
fn max_min_of(
    theory: Theory,
    region: Region,
    capacity_pps: Vec<f64>,
    stop: &AtomicBool,
) -> Result<Optimum, Failure> {
    let mut demands = theory.demands();
    let largest = theory.flows.iter().fold(0.0, |largest: f64, flow| largest.max(flow.payload_bits));
    for (demand, flow) in demands.iter_mut().zip(&theory.flows) {
        debug_assert!(flow.payload_bits > 0.0, "a packet carries something");
        demand.weight *= largest / flow.payload_bits;
    }
    let Fair { rates, proof, .. } = if region == Region::Exact {
        let wires = vec![1.0; theory.links.len() - theory.air()];
        max_min::fill_exactly_unless(&theory.conflicts, &wires, &demands, stop)?
    } else {
        let groups = groups(&theory, region)?;
        max_min::fill(&max_min::grouped(&demands, &groups), &vec![1.0; groups.len()])?
    };
    let mut optimum = finished(Objective::MaxMin, region, theory, capacity_pps, rates, None);
    if let Some(Proof { airtime, schedule, residuals, .. }) = proof {
        (optimum.airtime, optimum.schedule, optimum.residuals) = (airtime, schedule, Some(residuals));
    }
    Ok(optimum)
}

fn maximum(
    theory: Theory,
    question: Question,
    capacity_pps: Vec<f64>,
    utilities: Utilities<'_>,
    watch: Watch<'_>,
) -> Result<Optimum, Failure> {
    let Question { objective, region, solver, beta } = question;
    let (air, mut wires, loads) = if region == Region::Exact {
        let wires = vec![Wire::Capacity(1.0); theory.links.len() - theory.air()];
        let loads: Vec<Vec<(usize, f64)>> = theory.flows.iter().map(|f| f.loads.clone()).collect();
        (theory.conflicts.clone(), wires, loads)
    } else {
        let groups = groups(&theory, region)?;
        let loads = max_min::grouped(&theory.demands(), &groups).into_iter().map(|d| d.loads).collect();
        (ConflictGraph::new(0), vec![Wire::Capacity(1.0); groups.len()], loads)
    };
    let (mut flows, mut more) = (Vec::new(), 0.0);
    for (s, (loads, seen)) in loads.into_iter().zip(&theory.flows).enumerate() {
        let (utility, rest) = utilities.of(s, seen)?;
        more += rest;
        flows.push(Flow { utility, fixed_price: 0.0, loads });
    }
    // A flow's demand is a wire of its own.
    for (flow, limit) in flows.iter_mut().zip(theory.flows.iter().map(|f| f.limit_pps)) {
        if limit.is_finite() {
            flow.loads.push((air.links() + wires.len(), 1.0 / limit));
            wires.push(Wire::Capacity(1.0));
        }
    }
    let problem = Problem { air, wires, flows, beta, background: Vec::new() };
    let mut solution = solver.solve(&problem, watch)?;
    let rates = solution.rates.clone();
    (solution.utility, solution.bound) = (solution.utility + more, solution.bound + more);
    // Prices of groups and of limits are not those of links.
    solution.prices.truncate(if region == Region::Exact { theory.links.len() } else { 0 });
    Ok(finished(
        objective,
        region,
        theory,
        capacity_pps,
        rates,
        Some((solution, beta.unwrap_or(f64::INFINITY))),
    ))
}
