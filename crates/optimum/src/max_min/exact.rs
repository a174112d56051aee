//! Water-filling over the exact capacity region of CSMA.
//!
//! Each round is a linear programme: the level to which all growing rates can rise together, over shares of
//! time of the independent sets. Sets are priced: the programme has some, its multipliers are prices of the
//! links, and the heaviest set under these decides whether another would help. Prices also determine which
//! flows are held: they sum to one over the growing flows, and a flow with a price cannot have more unless
//! another that pays has less. So each round holds at least one flow, no round depends on how close the last
//! came to a corner, and the next goes on from the vertex where it ended. The prices are kept for the
//! certificate, which checks them.

use super::{Demand, Fair, Proof, check, chordal, interior};
use crate::problem::{
    Failure, Filled, Flow, Pricing, Problem, Solution, max_min_residuals, side_by_side, unless_stopped,
};
use crate::simplex::{Column, Simplex, Stop};
use crate::{Utility, Wire};
use evenair_topology::{ConflictGraph, TooLarge};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// A round is solved when no set could raise its level by more, relatively.
const GAP: f64 = 1e-13;
/// A flow with a greater share of the prices is held; the level's error over this is the error of its rate at
/// most.
const HELD: f64 = 1e-3;
/// How many sets one search brings at most, per component.
const FOUND_MAX: usize = 8;
const SEARCHES_MAX: u32 = 3_000;
/// Up to so many links the simplex method comes first, beyond it the interior-point method.
const LINKS_BY_VERTICES: usize = 80;
/// Pivots times rows squared, after which the simplex method gives up: a second or two.
const WORK_MAX: usize = 1_500_000_000;

/// Fills the exact capacity region: links of the air by their conflict graph, then wires.
///
/// # Errors
/// As [`super::fill`], and if the region has too many independent sets for an exact solution.
pub fn fill_exactly(air: &ConflictGraph, wires: &[f64], demands: &[Demand]) -> Result<Fair, Failure> {
    fill_exactly_unless(air, wires, demands, &AtomicBool::new(false))
}

/// The same, unless the caller stops it.
///
/// # Errors
/// As [`fill_exactly`], and [`Failure::Stopped`].
pub fn fill_exactly_unless(
    air: &ConflictGraph,
    wires: &[f64],
    demands: &[Demand],
    stop: &AtomicBool,
) -> Result<Fair, Failure> {
    check(demands, air.links() + wires.len())?;
    if let Some(c) = wires.iter().find(|c| !(**c > 0.0 && c.is_finite())) {
        return Err(Failure::Malformed(format!("a capacity is {c}; it must be above 0")));
    }
    // Its utilities are of no account: the pricing needs the flows of each link.
    let flow = |d: &Demand| Flow { utility: Utility::log(1.0), fixed_price: 0.0, loads: d.loads.clone() };
    let problem = Problem {
        air: air.clone(),
        wires: wires.iter().map(|&c| Wire::Capacity(c)).collect(),
        flows: demands.iter().map(flow).collect(),
        ..Problem::default()
    };
    let pricing = Pricing::new(&problem, stop)?;
    if !pricing.is_exact() {
        return Err(Failure::TooLarge(TooLarge { links: air.links(), limit: crate::ProductForm::SIZE_MAX }));
    }
    let by_vertices = || {
        let mut filling = Filling::new(&problem, &pricing, demands);
        filling.run()?;
        filling.finish()
    };
    if let Some(fair) = chordal::fill(&problem, &pricing, demands)? {
        return Ok(fair);
    }
    // Vertices are exact to the last digits at any rates; on large meshes there are many on the way.
    let filled = if air.links() <= LINKS_BY_VERTICES {
        by_vertices().or_else(|why| interior::fill(&problem, &pricing, demands).map_err(|_| why))
    } else {
        interior::fill(&problem, &pricing, demands).or_else(|_| by_vertices())
    };
    unless_stopped(stop, filled)
}

struct Filling<'a> {
    problem: &'a Problem,
    pricing: &'a Pricing<'a>,
    demands: &'a [Demand],
    /// Rows: links that carry anything, wires among them, then components of the air, then the least that a flow wants.
    active: Vec<usize>,
    /// The row of each link.
    row: Vec<usize>,
    programme: Simplex,
    /// Each known set with its column.
    known: BTreeSet<(usize, Vec<u32>)>,
    sets: Vec<(usize, usize, Vec<u32>)>,
    level: f64,
    rates: Vec<Option<f64>>,
    held_by: Vec<Option<usize>>,
    /// The prices of each round.
    prices: Vec<Vec<f64>>,
}

impl<'a> Filling<'a> {
    fn new(problem: &'a Problem, pricing: &'a Pricing<'a>, demands: &'a [Demand]) -> Self {
        let mut active: Vec<usize> =
            (0..pricing.components()).flat_map(|c| pricing.links(c)).map(|&l| l as usize).collect();
        active.sort_unstable();
        active.extend(problem.air.links()..problem.links());
        let mut row = vec![usize::MAX; problem.links()];
        active.iter().enumerate().for_each(|(i, &l)| row[l] = i);
        let mut filling = Self {
            problem,
            pricing,
            demands,
            programme: Simplex::new(Vec::new()),
            active,
            row,
            known: BTreeSet::new(),
            sets: Vec::new(),
            level: 0.0,
            rates: vec![None; demands.len()],
            held_by: vec![None; demands.len()],
            prices: Vec::new(),
        };
        filling.programme = Simplex::new(filling.right(f64::INFINITY));
        for component in 0..pricing.components() {
            for set in pricing.first(component) {
                filling.learn(component, set);
            }
        }
        filling
    }

    /// A new set; false if it is known.
    fn learn(&mut self, component: usize, set: Vec<u32>) -> bool {
        if !self.known.insert((component, set.clone())) {
            return false;
        }
        let mut column: Column = set.iter().map(|&l| (self.row[l as usize], -1.0)).collect();
        column.push((self.active.len() + component, 1.0));
        let at = self.programme.add(column);
        self.sets.push((at, component, set));
        true
    }

    fn rate(&self, s: usize) -> f64 {
        self.rates[s].unwrap_or(self.level * self.demands[s].weight)
    }

    /// The rest of each row at the present level.
    fn right(&self, until: f64) -> Vec<f64> {
        let mut right: Vec<f64> = self.active.iter().map(|&l| self.capacity(l)).collect();
        for (s, demand) in self.demands.iter().enumerate() {
            demand.loads.iter().for_each(|&(l, a)| right[self.row[l]] -= a * self.rate(s));
        }
        right.resize(self.active.len() + self.pricing.components(), 1.0);
        right.push(if until.is_finite() { until - self.level } else { 1.0 });
        right
    }

    /// A link's capacity without any set.
    fn capacity(&self, link: usize) -> f64 {
        if link < self.problem.air.links() { 0.0 } else { self.problem.capacity(link) }
    }

    fn run(&mut self) -> Result<(), Failure> {
        while self.rates.iter().any(Option::is_none) {
            let waiting: Vec<usize> = (0..self.demands.len()).filter(|&s| self.rates[s].is_none()).collect();
            let content = |s: usize| self.demands[s].limit / self.demands[s].weight;
            let until = waiting.iter().map(|&s| content(s)).fold(f64::INFINITY, f64::min);
            let (prices, last) = self.raise(&waiting, until)?;
            let pays = |s: usize| {
                self.demands[s].weight
                    * self.demands[s].loads.iter().map(|&(l, a)| a * prices[l]).sum::<f64>()
            };
            let shares: Vec<f64> = waiting.iter().map(|&s| pays(s)).collect();
            // The shares sum to one, with those of flows that have all they want.
            debug_assert!((shares.iter().sum::<f64>() + last - 1.0).abs() < 1e-3, "{shares:?} {last}");
            let held = HELD.min(0.5 * shares.iter().fold(last, |most, share| most.max(*share)));
            let mut is_stuck = true;
            for (&s, share) in waiting.iter().zip(&shares) {
                if last > held && content(s) <= until {
                    self.rates[s] = Some(self.demands[s].limit);
                    is_stuck = false;
                } else if *share > held {
                    self.rates[s] = Some(self.level * self.demands[s].weight);
                    self.held_by[s] = Some(self.prices.len());
                    is_stuck = false;
                }
            }
            if is_stuck {
                return Err(Failure::BadlyScaled("no flow is held where the level ends".into()));
            }
            self.prices.push(prices);
        }
        Ok(())
    }

    /// Raises the level as far as it goes, `until` at most; the links' prices, and the price of `until`, in units in which the
    /// growing flows' loads cost one.
    fn raise(&mut self, waiting: &[usize], until: f64) -> Result<(Vec<f64>, f64), Failure> {
        let mut growing = vec![0.0; self.problem.links()];
        for &s in waiting {
            let weight = self.demands[s].weight;
            self.demands[s].loads.iter().for_each(|&(l, a)| growing[l] += a * weight);
        }
        // In this unit the fullest link is full at a level of one.
        let fullest = (0..growing.len()).map(|l| growing[l] / self.problem.capacity(l)).fold(0.0, f64::max);
        if fullest == 0.0 {
            self.level = until;
            return Ok((vec![0.0; self.problem.links()], 1.0));
        }
        let unit = 1.0 / fullest;
        let mut goal: Column = self
            .active
            .iter()
            .enumerate()
            .map(|(i, &l)| (i, growing[l] * unit))
            .filter(|(_, a)| *a > 0.0)
            .collect();
        if until.is_finite() {
            goal.push((self.active.len() + self.pricing.components(), unit));
        }
        let lost = || Failure::BadlyScaled("the linear programme has lost its basis".into());
        let right = self.right(until);
        if !self.programme.begin(goal, right.clone()) {
            return Err(lost());
        }
        self.generate(&right, self.level * fullest).ok_or_else(lost)?;
        let of_rows: Vec<f64> = self.programme.prices().into_iter().map(|p| p.max(0.0) * unit).collect();
        let last =
            if until.is_finite() { *of_rows.last().expect("the last row is the limit's") } else { 0.0 };
        self.level = if last > HELD { until } else { self.level + self.programme.goal() * unit };
        let mut prices = vec![0.0; self.problem.links()];
        self.active.iter().zip(of_rows).for_each(|(&l, p)| prices[l] = p);
        Ok((prices, last))
    }

    /// Generates sets until none would raise the goal by more than a trifle of `level` and itself.
    fn generate(&mut self, right: &[f64], level: f64) -> Option<()> {
        let mut centre: Option<(f64, Vec<f64>)> = None;
        for _ in 0..SEARCHES_MAX {
            let tolerance = GAP * (level + self.programme.goal()).max(1e-9);
            let tolerance = tolerance.max(self.programme.rounding());
            let is_lost = self.programme.improve(tolerance) == Stop::Failed || self.pricing.is_stopped();
            if is_lost || self.programme.pivots() * right.len() * right.len() > WORK_MAX {
                return None;
            }
            let prices = self.programme.prices();
            // Prices of a vertex swing from one end to the other; sets are sought half-way to the best ones so far.
            let between = centre.as_ref().map(|(_, centre)| {
                centre.iter().zip(&prices).map(|(a, b)| f64::midpoint(*a, *b)).collect::<Vec<f64>>()
            });
            let mut found = 0;
            for at in between.iter().chain([&prices]) {
                let (new, bound) = self.search(at, &prices, right, tolerance);
                found += new;
                if centre.as_ref().is_none_or(|(best, _)| bound < *best) {
                    centre = Some((bound, at.clone()));
                }
                if new > 0 {
                    break;
                }
            }
            if found == 0 {
                return Some(());
            }
        }
        None
    }

    /// Looks for sets that are heavy `at` these prices and of use at the programme's; gives how many are new, and a bound of
    /// the goal.
    fn search(&mut self, at: &[f64], now: &[f64], right: &[f64], tolerance: f64) -> (usize, f64) {
        let rows = self.active.len();
        let mut weights = vec![0.0; self.problem.links()];
        self.active.iter().zip(at).for_each(|(&l, p)| weights[l] = p.max(0.0));
        let mut bound: f64 = (0..rows).chain([right.len() - 1]).map(|i| at[i].max(0.0) * right[i]).sum();
        let mut new = 0;
        for component in 0..self.pricing.components() {
            let mut discounted = weights.clone();
            for found in 0..FOUND_MAX {
                let set = self.pricing.heaviest(component, &discounted);
                if found == 0 {
                    bound += set.iter().map(|&l| weights[l as usize]).sum::<f64>();
                }
                let gain: f64 =
                    set.iter().map(|&l| now[self.row[l as usize]]).sum::<f64>() - now[rows + component];
                set.iter().for_each(|&l| discounted[l as usize] *= 0.7);
                if gain > tolerance && self.learn(component, set) {
                    new += 1;
                } else if found > 0 {
                    break;
                }
            }
        }
        (new, bound)
    }

    /// Shares of time, and the proof.
    fn finish(self) -> Result<Fair, Failure> {
        let rates: Vec<f64> = (0..self.demands.len()).map(|s| self.rate(s)).collect();
        let mut parts: Vec<Vec<(Vec<u32>, f64)>> = vec![Vec::new(); self.pricing.components()];
        for (column, component, set) in &self.sets {
            let share = self.programme.value(*column);
            if share > 0.0 {
                parts[*component].push((set.clone(), share));
            }
        }
        let mut airtime = vec![0.0; self.problem.air.links()];
        for (set, share) in parts.iter().flatten() {
            set.iter().for_each(|&l| airtime[l as usize] += share);
        }
        let mut schedule = vec![(Vec::new(), 1.0)];
        for part in parts {
            let idle = 1.0 - part.iter().map(|(_, share)| share).sum::<f64>();
            let idle = (idle > 1e-12).then(|| (Vec::new(), idle)); // less is rounding
            let part: Vec<(Vec<u32>, f64)> = part.into_iter().chain(idle).collect();
            schedule = side_by_side(schedule, &part);
        }
        schedule.iter_mut().for_each(|(set, _)| set.sort_unstable());
        let residuals = max_min_residuals(
            self.problem,
            self.pricing,
            self.demands,
            &Filled { rates: &rates, held_by: &self.held_by, airtime: &airtime, prices: &self.prices },
        );
        if residuals.worst() > Solution::TOLERANCE || !residuals.worst().is_finite() {
            return Err(Failure::NotConverged(residuals));
        }
        let proof = Proof { airtime, schedule, prices: self.prices, residuals };
        Ok(Fair { rates, held_by: self.held_by, proof: Some(proof) })
    }
}
