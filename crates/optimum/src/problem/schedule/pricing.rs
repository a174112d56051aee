//! The heaviest independent sets of each component of the conflict graph.

use super::super::{Failure, Problem, unless_stopped};
use crate::{Done, ProductForm};
use evenair_topology::{ConflictGraph, maximal_cliques};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most values that the sums over a part of a component may need, where those over the whole are too many.
const PART_MAX: usize = 300_000;
/// Sweeps of a search nearby.
const SWEEPS_MAX: usize = 50;
/// Up to so many maximal independent sets a component's are listed at once.
const LISTED_MAX: usize = 256;

/// A component: its links, their conflicts, and how its heaviest sets are found or bounded.
struct Component {
    links: Vec<u32>,
    graph: ConflictGraph,
    /// Parts of the component, each with its links' places; one part if nothing was cut.
    parts: Vec<(Vec<u32>, ProductForm)>,
}

/// Cuts a graph until sums over the parts are small. Conflicts across a cut are given up: the parts together may do more
/// than the whole, which bounds it.
fn parts(graph: &ConflictGraph, stop: &AtomicBool) -> Result<Vec<(Vec<u32>, ProductForm)>, Failure> {
    // Breadth first from an end, so that a cut is a front.
    let end = *graph.breadth_first(0).last().expect("a component has a link");
    let mut whole = vec![graph.breadth_first(end)];
    let mut parts = Vec::new();
    while let Some(links) = whole.pop() {
        let most = if links.len() == graph.links() { ProductForm::SIZE_MAX } else { PART_MAX };
        let form = ProductForm::new_unless(&graph.restricted(&links), most, stop);
        if let Ok(form) = unless_stopped(stop, Ok(form))? {
            parts.push((links, form));
        } else {
            // The later half is looked at first, and stays behind the earlier one.
            let (left, right) = links.split_at(links.len() / 2);
            whole.extend([right.to_vec(), left.to_vec()]);
        }
    }
    Ok(parts)
}

/// A heavy set: the heaviest of every second part, then of the others among the links that these leave free.
fn part_by_part(
    graph: &ConflictGraph,
    parts: &[(Vec<u32>, ProductForm)],
    weights: &[f64],
    odd: usize,
) -> Vec<u32> {
    let mut weights = weights.to_vec();
    let mut set = Vec::new();
    for turn in [odd, 1 - odd] {
        for (order, form) in parts.iter().skip(turn).step_by(2) {
            let own: Vec<f64> = order.iter().map(|&i| weights[i as usize]).collect();
            for place in form.heaviest(&own).0 {
                let link = order[place as usize];
                set.push(link);
                graph.neighbours(link as usize).iter().for_each(|&m| weights[m as usize] = 0.0);
            }
        }
    }
    set
}

/// A heavy set that costs hardly any time: the best of two greedy ones, each improved until no link is worth more than those that it
/// would drive out.
fn found_nearby(graph: &ConflictGraph, weights: &[f64]) -> (Vec<u32>, f64) {
    let by_weight: fn(f64, usize) -> f64 = |weight, _| weight;
    let by_neighbour: fn(f64, usize) -> f64 = |weight, near| weight / (near + 1) as f64;
    let one = |worth: fn(f64, usize) -> f64| {
        let worth = |l: usize| worth(weights[l], graph.neighbours(l).len());
        let mut order: Vec<usize> = (0..weights.len()).filter(|&l| weights[l] > 0.0).collect();
        order.sort_by(|&l, &m| worth(m).total_cmp(&worth(l)).then(l.cmp(&m)));
        let mut is_in = vec![false; weights.len()];
        // What each link would drive out.
        let mut against = vec![0.0; weights.len()];
        let change = |is_in: &mut [bool], against: &mut [f64], l: usize, to: bool| {
            is_in[l] = to;
            let weight = if to { weights[l] } else { -weights[l] };
            graph.neighbours(l).iter().for_each(|&m| against[m as usize] += weight);
        };
        // Each change is worth a part of the whole, so that there are not many; rounding could have them go in circles.
        for _ in 0..SWEEPS_MAX {
            let mut has_changed = false;
            for &l in &order {
                if !is_in[l] && weights[l] > against[l] * (1.0 + 1e-9) + 1e-300 {
                    let out = graph.neighbours(l).iter().map(|&m| m as usize).filter(|&m| is_in[m]);
                    for m in out.collect::<Vec<usize>>() {
                        change(&mut is_in, &mut against, m, false);
                    }
                    change(&mut is_in, &mut against, l, true);
                    has_changed = true;
                }
            }
            if !has_changed {
                break;
            }
        }
        let set: Vec<u32> = (0..weights.len()).filter(|&l| is_in[l]).map(|l| l as u32).collect();
        let weight = set.iter().map(|&l| weights[l as usize]).sum::<f64>();
        (set, weight)
    };
    let [light, heavy] = [one(by_neighbour), one(by_weight)];
    if heavy.1 > light.1 { heavy } else { light }
}

/// Finds sets that are heavier than the master allows.
pub(crate) struct Pricing<'a> {
    problem: &'a Problem,
    /// Set by a caller that no longer wants an answer.
    stop: &'a AtomicBool,
    components: Vec<Component>,
    /// Where to tell how far the work is, and which stage of how many it is at.
    done: Option<&'a Done>,
    stage: Cell<(usize, usize)>,
}

impl<'a> Pricing<'a> {
    /// The preparation of searches; an error only if it is told to stop.
    pub(crate) fn new(problem: &'a Problem, stop: &'a AtomicBool) -> Result<Self, Failure> {
        // Links that nothing uses have no price and need no schedule.
        let mut used = vec![false; problem.links()];
        for &(l, _) in problem.flows.iter().flat_map(|f| &f.loads) {
            used[l] = true;
        }
        for (l, used) in used.iter_mut().enumerate() {
            *used |= problem.background_of(l) > 0.0;
        }
        let active: Vec<u32> = (0..problem.air.links() as u32).filter(|&l| used[l as usize]).collect();
        let graph = problem.air.restricted(&active);
        let component = |places: Vec<u32>| {
            let graph = graph.restricted(&places);
            let parts = parts(&graph, stop)?;
            Ok::<Component, Failure>(Component {
                links: places.iter().map(|&i| active[i as usize]).collect(),
                graph,
                parts,
            })
        };
        let components = graph.components().into_iter().map(component).collect::<Result<_, _>>()?;
        Ok(Self { problem, stop, components, done: None, stage: Cell::new((0, 1)) })
    }

    /// The same, telling an observer how far the work is.
    pub(crate) fn told_by(mut self, done: Option<&'a Done>) -> Self {
        self.done = done;
        self
    }

    /// So many of the problems on the way to the last are solved.
    pub(crate) fn stage(&self, number: usize, of: usize) {
        self.stage.set((number, of));
    }

    /// Tells how much of this stage is done.
    pub(crate) fn tell(&self, share: f64) {
        let ((number, of), share) = (self.stage.get(), if share > 0.0 { share.min(1.0) } else { 0.0 });
        self.done.iter().for_each(|done| done.reach((number as f64 + share) / of as f64));
    }

    /// The caller need not go on asking for sets.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The same for another problem on the way to this one.
    pub(crate) const fn stop(&self) -> &'a AtomicBool {
        self.stop
    }

    pub(crate) fn components(&self) -> usize {
        self.components.len()
    }

    /// The links of a component.
    pub(crate) fn links(&self, component: usize) -> &[u32] {
        &self.components[component].links
    }

    /// Whether the heaviest set is always found.
    pub(crate) fn is_exact(&self) -> bool {
        self.components.iter().all(|c| c.parts.len() == 1)
    }

    /// Sets to begin with: all maximal ones if they are few, else one through each link.
    pub(crate) fn first(&self, component: usize) -> Vec<Vec<u32>> {
        let Component { links, graph, .. } = &self.components[component];
        let name = |set: Vec<u32>| set.into_iter().map(|i| links[i as usize]).collect::<Vec<u32>>();
        if let Ok(sets) = maximal_cliques(&graph.complement(), LISTED_MAX) {
            return sets.into_iter().map(name).collect();
        }
        let mut sets: Vec<Vec<u32>> = Vec::new();
        let mut covered = vec![0u32; links.len()];
        for l in 0..links.len() {
            if covered[l] > 0 {
                continue;
            }
            // Around this link, those that are covered least.
            let mut set = vec![l as u32];
            let mut order: Vec<usize> = (0..links.len()).collect();
            order.sort_by_key(|&m| (covered[m], graph.neighbours(m).len(), m));
            for m in order {
                if m != l && set.iter().all(|&i| !graph.conflict(m, i as usize)) {
                    set.push(m as u32);
                }
            }
            set.iter().for_each(|&m| covered[m as usize] += 1);
            set.sort_unstable();
            sets.push(name(set));
        }
        sets
    }

    /// The heaviest set of a component under these prices, or a heavy one: where the heaviest is not known anyway, one that is quickly
    /// found is as good as long as it weighs more than `enough`.
    pub(crate) fn heaviest(&self, component: usize, prices: &[f64], enough: f64) -> Vec<u32> {
        let Component { links, graph, parts } = &self.components[component];
        let weights: Vec<f64> = links.iter().map(|&l| prices[l as usize]).collect();
        if parts.len() > 1 {
            let (set, weight) = found_nearby(graph, &weights);
            if weight > enough {
                return set.into_iter().map(|i| links[i as usize]).collect();
            }
        }
        let set: Vec<u32> = if let [(order, form)] = &parts[..] {
            let weights: Vec<f64> = order.iter().map(|&i| weights[i as usize]).collect();
            form.heaviest(&weights).0.into_iter().map(|i| order[i as usize]).collect()
        } else {
            let weight = |set: &Vec<u32>| set.iter().map(|&i| weights[i as usize]).sum::<f64>();
            let [even, odd] = [0, 1].map(|odd| part_by_part(graph, parts, &weights, odd));
            if weight(&odd) > weight(&even) { odd } else { even }
        };
        let mut set: Vec<u32> = set.into_iter().map(|i| links[i as usize]).collect();
        set.sort_unstable();
        set
    }

    /// No schedule of the air is worth more than this at these prices.
    pub(crate) fn bound(&self, prices: &[f64]) -> f64 {
        debug_assert_eq!(prices.len(), self.problem.links());
        let of = |Component { links, parts, .. }: &Component| {
            let part = |(order, form): &(Vec<u32>, ProductForm)| {
                let weights: Vec<f64> = order.iter().map(|&i| prices[links[i as usize] as usize]).collect();
                form.heaviest(&weights).1
            };
            parts.iter().map(part).sum::<f64>()
        };
        self.components.iter().map(of).sum()
    }
}
