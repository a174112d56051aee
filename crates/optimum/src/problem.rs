//! Network utility maximisation: the problem, and its answer.
//!
//! `max Σ_s U_s(x_s) − Σ_s d_s x_s − Σ_w cost_w(y_w) + (1/β) H(τ)` subject to `Σ_s a_ls x_s + e_l ≤ Σ_{i∋l} τ_i` for the
//! links of the air, `Σ τ_i = 1`, `y_w = Σ_s a_ws x_s ≤ C_w` for wires with a bound. `a` is the airtime (on wires: the
//! load) of a unit of rate, `H` the entropy, τ the shares of time of the independent sets.
//!
//! With these words: MP of [Chen10] (5.8), (5.9) and EP (5.35) to (5.38), problem (2) of [QCSMA] with `a = 1/b_l`, Kelly's
//! problem and (19) of [CZ06] without any air.

mod certificate;
#[cfg_attr(target_family = "wasm", path = "problem/without_conic.rs")]
mod conic;
mod entropic;
mod parts;
mod schedule;
mod steep;

pub(crate) use certificate::{Filled, max_min_residuals};
pub use entropic::Near;
pub(crate) use schedule::{Pricing, Sets, priced, side_by_side};

use crate::{Utility, Watch, Wire};
use evenair_topology::ConflictGraph;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flow.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its utility.
    pub utility: Utility,
    /// `d`: a price beside those of the links, such as a channel's losses ([CZ06] eq. (6)) or a fixed delay ([QCSMA] eq.
    /// (10)).
    pub fixed_price: f64,
    /// The links on its way, each with the load of a unit of its rate; wires are numbered after the links of the air.
    pub loads: Vec<(usize, f64)>,
}

impl Flow {
    /// A flow that loads each link on its way with one unit per unit of rate.
    pub fn over(utility: Utility, way: &[usize]) -> Self {
        Self { utility, fixed_price: 0.0, loads: way.iter().map(|&l| (l, 1.0)).collect() }
    }

    /// Its price, of these link prices.
    pub(crate) fn price(&self, prices: &[f64]) -> f64 {
        self.fixed_price + self.loads.iter().map(|&(l, a)| a * prices[l]).sum::<f64>()
    }
}

/// A utility maximisation.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// The links of the air that may not transmit at once.
    pub air: ConflictGraph,
    /// Links that conflict with none.
    pub wires: Vec<Wire>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// The entropy's weight is 1/β; none leaves the entropy out.
    pub beta: Option<f64>,
    /// `e`: the load that is on each link already; none, if empty.
    pub background: Vec<f64>,
}

/// How far a solution is from its optimality conditions; all relative to one, the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Residuals {
    /// The excess of a link's load over its airtime, or of a wire's over its capacity.
    pub primal: f64,
    /// The distance of a price below zero, or out of the range of its wire.
    pub dual: f64,
    /// `|x_s·(U'_s(x_s) − q_s)|` over the objective's scale, and each link's airtime against the product form.
    pub stationarity: f64,
    /// `r_l·(airtime − load)` over the objective's scale; for a priced wire, its price against that of its load.
    pub complementarity: f64,
    /// Dual less primal objective over the objective's scale: how much better any allocation could be.
    pub gap: f64,
}

impl Residuals {
    pub(crate) const NONE: Self =
        Self { primal: 0.0, dual: 0.0, stationarity: 0.0, complementarity: 0.0, gap: 0.0 };

    /// The worst of them; none is better than one that is no number.
    pub fn worst(&self) -> f64 {
        let all = [self.primal, self.dual, self.stationarity, self.complementarity, self.gap];
        if all.iter().any(|x| x.is_nan()) { f64::INFINITY } else { all.into_iter().fold(0.0, f64::max) }
    }

    /// Of each, the worse of two problems'.
    fn worse(self, other: Self) -> Self {
        Self {
            primal: self.primal.max(other.primal),
            dual: self.dual.max(other.dual),
            stationarity: self.stationarity.max(other.stationarity),
            complementarity: self.complementarity.max(other.complementarity),
            gap: self.gap.max(other.gap),
        }
    }
}

/// The best allocation, or the best that was found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// Each flow's rate.
    pub rates: Vec<f64>,
    /// Each link's price, wires after the air: the transmission aggressiveness `r`, the queueing delay `q`, the loss rate.
    pub prices: Vec<f64>,
    /// Share of time in which each link of the air transmits.
    pub airtime: Vec<f64>,
    /// Independent sets and their shares of time, without entropy; with it, all of them if there are at most
    /// [`Self::SETS_LISTED`], else none.
    pub schedule: Vec<(Vec<u32>, f64)>,
    /// `Σ U_s(x_s) − Σ d_s x_s − Σ cost_w`, the entropy left out.
    pub utility: f64,
    /// The entropy of the shares of time [nats], the logarithm of a number of sets.
    pub entropy: f64,
    /// No allocation has a greater objective than this.
    pub bound: f64,
    /// The optimality conditions, checked.
    pub residuals: Residuals,
    /// By which part of its rate at these prices each flow's best rate may be another, at most: the gap alone
    /// bounds it. Where some flow is worth little beside others, conditions that hold to many digits
    /// altogether may not determine its rate. Infinity, where nothing bounds it.
    pub rates_within: Vec<f64>,
    /// Newton steps taken.
    pub steps: u32,
    /// Whether Clarabel found it, by request or because our solver gave up.
    pub by_clarabel: bool,
}

impl Solution {
    /// The most independent sets that are listed with their shares.
    pub const SETS_LISTED: usize = 4096;
    /// A flow is not known if its best rate may be further from the found one than this.
    pub const KNOWN: f64 = 1e-2;
    /// Optimality conditions hold at least this well where a solution is exact.
    pub const TOLERANCE: f64 = 1e-6;

    /// Whether the optimality conditions hold; if not, the allocation is feasible and [`Self::bound`] bounds
    /// the gain of any better one.
    pub fn is_exact(&self) -> bool {
        self.residuals.worst() <= Self::TOLERANCE
    }
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Failure {
    /// The problem has this fault.
    Malformed(String),
    /// Nothing satisfies the constraints.
    Infeasible(String),
    /// Something can grow without end.
    Unbounded(String),
    /// Numbers differ by more than the arithmetic holds.
    BadlyScaled(String),
    /// There are too many independent sets to sum over.
    TooLarge(evenair_topology::TooLarge),
    /// The solver stopped before the optimality conditions held.
    NotConverged(Residuals),
    /// The caller stopped the solver.
    Stopped,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(what) => write!(f, "the problem is malformed: {what}"),
            Self::Infeasible(what) => write!(f, "the problem is infeasible: {what}"),
            Self::Unbounded(what) => write!(f, "the problem is unbounded: {what}"),
            Self::BadlyScaled(what) => write!(f, "the problem is badly scaled: {what}"),
            Self::TooLarge(what) => what.fmt(f),
            Self::NotConverged(residuals) if !residuals.worst().is_finite() => {
                f.write_str("the solver stopped where prices are beyond what the arithmetic holds: utilities are too steep for rates and weights that differ so much; max-min fairness is their limit")
            }
            Self::NotConverged(residuals) => {
                write!(f, "the solver stopped {:.1e} away from the optimality conditions", residuals.worst())
            }
            Self::Stopped => f.write_str("stopped; nothing is kept"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<evenair_topology::TooLarge> for Failure {
    fn from(what: evenair_topology::TooLarge) -> Self {
        Self::TooLarge(what)
    }
}

/// Solvers that the caller stops end at once, so their state then is no answer.
pub(crate) fn unless_stopped<T>(stop: &AtomicBool, done: Result<T, Failure>) -> Result<T, Failure> {
    if stop.load(Ordering::Relaxed) { Err(Failure::Stopped) } else { done }
}

/// Coefficients with a ratio beyond this leave no digits for the solution.
const SCALE_MAX: f64 = 1e12;

impl Problem {
    /// Solves the problem.
    ///
    /// The solution is exact, with optimality conditions within 1e-6, where that is possible. Where there are
    /// too many independent sets, it is feasible and its bound certified ([`Solution::is_exact`] is then
    /// false). Clarabel solves the problem where our solver stops short of that, and where a utility is a
    /// table of points; its solution is checked as ours is ([`Solution::by_clarabel`] marks it).
    ///
    /// # Errors
    /// If the problem is malformed, infeasible, unbounded or badly scaled, or the solver does not converge.
    pub fn solve(&self) -> Result<Solution, Failure> {
        self.solve_unless(&AtomicBool::new(false))
    }

    /// The same, unless the caller stops it: the solver at work ends within a step.
    ///
    /// # Errors
    /// As [`Self::solve`], and [`Failure::Stopped`].
    pub fn solve_unless<'a>(&self, watch: impl Into<Watch<'a>>) -> Result<Solution, Failure> {
        let watch = watch.into();
        let stop = watch.stop;
        if self.flows.iter().any(|flow| matches!(flow.utility, Utility::Points(_))) {
            return self.solve_by_cones_unless(stop);
        }
        self.check()?;
        let own = match self.beta {
            Some(_) => match entropic::solve(self, stop) {
                Err(Failure::TooLarge(_)) => schedule::solve(self, watch),
                done => done,
            },
            None => parts::solve(self, watch),
        };
        let done = match own {
            Err(Failure::NotConverged(residuals)) => {
                self.by_clarabel(stop).ok().filter(Solution::is_exact).ok_or(Failure::NotConverged(residuals))
            }
            done => done,
        };
        unless_stopped(stop, done)
    }

    /// How many links there are, wires included.
    pub fn links(&self) -> usize {
        self.air.links() + self.wires.len()
    }

    /// The load that is on a link already.
    pub(crate) fn background_of(&self, link: usize) -> f64 {
        self.background.get(link).copied().unwrap_or(0.0)
    }

    /// The load that these rates put on each link, the background not counted.
    pub(crate) fn loads(&self, rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.links()];
        for (flow, x) in self.flows.iter().zip(rates) {
            for &(l, a) in &flow.loads {
                loads[l] += a * x;
            }
        }
        loads
    }

    /// Rates at which each flow takes an equal share of the links that it crosses.
    pub(crate) fn even_rates(&self) -> Vec<f64> {
        let share = 1.0 / self.flows.len() as f64;
        let load = |flow: &Flow| flow.loads.iter().map(|&(l, a)| a / self.capacity(l)).sum::<f64>();
        self.flows.iter().map(|flow| share / load(flow).max(1e-300)).collect()
    }

    /// The scale of the objective: `Σ x U'(x)` where each flow has an equal share of the links that it crosses.
    pub(crate) fn worth(&self) -> f64 {
        let share = 1.0 / self.flows.len() as f64;
        let worth = self.flows.iter().map(|flow| {
            let load: f64 = flow.loads.iter().map(|&(l, a)| a / self.capacity(l)).sum();
            let rate = if load > 0.0 { share / load } else { flow.utility.rate(flow.fixed_price) };
            rate * flow.utility.price(rate)
        });
        worth.sum::<f64>().max(1e-300)
    }

    /// The most that a link carries: all of the time, or a wire's capacity.
    pub(crate) fn capacity(&self, link: usize) -> f64 {
        link.checked_sub(self.air.links()).map_or(1.0, |w| self.wires[w].capacity())
    }

    fn check(&self) -> Result<(), Failure> {
        let fail = |what: String| Err(Failure::Malformed(what));
        if self.flows.is_empty() {
            return fail("it has no flow".into());
        }
        if !self.background.is_empty() && self.background.len() != self.links() {
            return fail(format!(
                "the background has {} entries for {} links",
                self.background.len(),
                self.links()
            ));
        }
        if let Some(e) = self.background.iter().find(|e| !(**e >= 0.0 && e.is_finite())) {
            return fail(format!("a link's background load is {e}"));
        }
        for (w, wire) in self.wires.iter().enumerate() {
            if !(wire.capacity() > 0.0 && wire.capacity().is_finite()) {
                return fail(format!("wire {w} has the capacity {}; it must be above 0", wire.capacity()));
            }
        }
        if let Some(beta) = self.beta.filter(|beta| !(*beta > 0.0 && beta.is_finite())) {
            return fail(format!("beta = {beta}; it must be above 0"));
        }
        self.flows.iter().enumerate().try_for_each(|(s, flow)| self.check_flow(s, flow))?;
        self.check_scale()
    }

    fn check_flow(&self, s: usize, flow: &Flow) -> Result<(), Failure> {
        let fail = |what: String| Err(Failure::Malformed(what));
        if let Some(mistake) = flow.utility.mistake() {
            return fail(format!("flow {s}: {mistake}"));
        }
        if !(flow.fixed_price >= 0.0 && flow.fixed_price.is_finite()) {
            return fail(format!("flow {s} has the fixed price {}; it must be 0 or more", flow.fixed_price));
        }
        for &(l, a) in &flow.loads {
            if l >= self.links() {
                return fail(format!("flow {s} crosses link {l}; there are {} links", self.links()));
            }
            if !(a > 0.0 && a.is_finite()) {
                return fail(format!(
                    "flow {s} loads link {l} with {a} per unit of rate; it must be above 0"
                ));
            }
        }
        if flow.loads.is_empty() && flow.fixed_price == 0.0 {
            return Err(Failure::Unbounded(format!("flow {s} crosses no link, so nothing bounds its rate")));
        }
        Ok(())
    }

    fn check_scale(&self) -> Result<(), Failure> {
        let ratio = |numbers: &mut dyn Iterator<Item = f64>| {
            let (low, high) =
                numbers.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
            if low < f64::INFINITY { high / low } else { 1.0 }
        };
        let loads = ratio(&mut self.flows.iter().flat_map(|f| &f.loads).map(|&(_, a)| a));
        let weights = ratio(&mut self.flows.iter().filter_map(|f| match f.utility {
            Utility::AlphaFair { weight, .. } | Utility::LossyConnections { weight, .. } => Some(weight),
            Utility::Given(_) | Utility::Points(_) => None,
        }));
        for (what, ratio) in [("loads per unit of rate", loads), ("weights", weights)] {
            if ratio > SCALE_MAX {
                let what =
                    format!("the greatest and the least of the {what} differ by a factor of {ratio:.0e}");
                return Err(Failure::BadlyScaled(what));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
