//! The heaviest independent sets of each component of the conflict graph.

use super::super::{Failure, Problem, unless_stopped};
use super::branching::{Heavier, heavier};
use super::nearby::heavy_sets;
use crate::{Done, ProductForm};
use evenair_topology::{ConflictGraph, maximal_cliques};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most values that the sums over a part of a component may need, where those over the whole are too many.
const PART_MAX: usize = 300_000;
/// Words that a search by branches may visit, and those of a proof at the end: a tenth of a second, and a
/// second.
const WORK_MAX: u64 = 100_000_000;
const PROOF_MAX: u64 = 1_000_000_000;
/// Sets that are heavier than known ones by a smaller part need a more careful search.
const WORTHWHILE: f64 = 1e-3;
/// A proof shows that no set is heavier than known ones by more than this part; where it takes too long, by
/// ever greater parts.
const CLOSE: f64 = 1e-9;
const HALVINGS_MAX: u32 = 6;
/// Up to so many maximal independent sets a component's are listed at once.
const LISTED_MAX: usize = 256;

/// A component: its links, their conflicts, and how its heaviest sets are found or bounded.
struct Component {
    links: Vec<u32>,
    graph: ConflictGraph,
    /// Parts of the component, each with its links' places; one part if nothing was cut.
    parts: Vec<(Vec<u32>, ProductForm)>,
}

impl Component {
    /// The prices of its links.
    fn weights(&self, prices: &[f64]) -> Vec<f64> {
        self.links.iter().map(|&l| prices[l as usize]).collect()
    }

    /// A set of its links' places as one of links, ascending.
    fn named(&self, set: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut set: Vec<u32> = set.map(|i| self.links[i as usize]).collect();
        set.sort_unstable();
        set
    }
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
            // The later half comes first, and stays behind the earlier one.
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

/// Finds sets that are heavier than the master allows.
pub(crate) struct Pricing<'a> {
    problem: &'a Problem,
    /// Set by a caller that no longer wants an answer.
    stop: &'a AtomicBool,
    components: Rc<[Component]>,
    /// The place to report progress to, and the number of this stage and of all.
    done: Option<&'a Done>,
    stage: Cell<(usize, usize)>,
}

impl<'a> Pricing<'a> {
    /// The preparation of searches; an error only if the caller stops it.
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

    /// The same for another problem over the same air; its flows and background must use the same links of
    /// it.
    pub(crate) fn of<'b>(&self, problem: &'b Problem) -> Pricing<'b>
    where
        'a: 'b,
    {
        debug_assert_eq!(problem.air.links(), self.problem.air.links());
        let components = Rc::clone(&self.components);
        Pricing { problem, stop: self.stop, components, done: None, stage: Cell::new((0, 1)) }
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

    /// Reports the last round's distance from the best, unless the problem is only a stage on the way to
    /// another.
    pub(crate) fn tell_gap(&self, gap: f64) {
        self.done.iter().filter(|_| self.stage.get().1 == 1).for_each(|done| done.come_within(gap));
    }

    /// The caller need not go on asking for sets.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Set when no answer is wanted any more.
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

    /// The heaviest set of a component under these prices, or a heavy one where that is not known.
    pub(crate) fn heaviest(&self, component: usize, prices: &[f64]) -> Vec<u32> {
        let of = &self.components[component];
        if let [(order, form)] = &of.parts[..] {
            let weights = of.weights(prices);
            let weights: Vec<f64> = order.iter().map(|&i| weights[i as usize]).collect();
            return of.named(form.heaviest(&weights).0.into_iter().map(|i| order[i as usize]));
        }
        self.heavy(component, prices, f64::INFINITY, 1).swap_remove(0)
    }

    /// Up to so many sets of a component that are heavier than this under these prices, the heaviest first; where there is none, a heavy one.
    ///
    /// Where sums over all sets are few, links of sets just found count for less, so that one search brings many sets that differ. Else sets
    /// are sought nearby, then by branches, then part by part.
    pub(crate) fn heavy(&self, component: usize, prices: &[f64], than: f64, most: usize) -> Vec<Vec<u32>> {
        if self.components[component].parts.len() > 1 {
            return self.heavy_by_search(&self.components[component], prices, than, most);
        }
        let mut discounted = prices.to_vec();
        let mut sets: Vec<Vec<u32>> = Vec::new();
        while sets.len() < most && !self.is_stopped() {
            let set = self.heaviest(component, &discounted);
            let weight: f64 = set.iter().map(|&l| prices[l as usize]).sum();
            if !sets.is_empty() && (weight <= than || sets.contains(&set)) {
                break;
            }
            set.iter().for_each(|&l| discounted[l as usize] *= 0.7);
            sets.push(set);
        }
        sets
    }

    fn heavy_by_search(&self, of: &Component, prices: &[f64], than: f64, most: usize) -> Vec<Vec<u32>> {
        let weights = of.weights(prices);
        let near = heavy_sets(&of.graph, &weights, than * (1.0 + WORTHWHILE), most);
        let heaviest = near[0].1;
        if heaviest > than * (1.0 + WORTHWHILE) {
            return near.into_iter().map(|(set, _)| of.named(set.into_iter())).collect();
        }
        let least = if than.is_finite() { heaviest.max(than * (1.0 + CLOSE)) } else { heaviest };
        let set = match heavier(&of.graph, &weights, least, WORK_MAX, self.stop) {
            Heavier::Set(set) => set,
            Heavier::None => near[0].0.clone(),
            Heavier::Unknown => {
                let weight = |set: &Vec<u32>| set.iter().map(|&i| weights[i as usize]).sum::<f64>();
                let by_parts = [0, 1].map(|odd| part_by_part(&of.graph, &of.parts, &weights, odd));
                let all = by_parts.into_iter().chain([near[0].0.clone()]);
                all.max_by(|a, b| weight(a).total_cmp(&weight(b))).unwrap_or_default()
            }
        };
        vec![of.named(set.into_iter())]
    }

    /// No schedule of the air is worth more than this at these prices.
    pub(crate) fn bound(&self, prices: &[f64]) -> f64 {
        debug_assert_eq!(prices.len(), self.problem.links());
        let of = |component: &Component| {
            let Component { links, parts, .. } = component;
            let part = |(order, form): &(Vec<u32>, ProductForm)| {
                let weights: Vec<f64> = order.iter().map(|&i| prices[links[i as usize] as usize]).collect();
                form.heaviest(&weights).1
            };
            let bound = parts.iter().map(part).sum::<f64>();
            if parts.len() == 1 { bound } else { self.proven(component, &component.weights(prices), bound) }
        };
        self.components.iter().map(of).sum()
    }

    /// No set of a component is heavier than this; `most` is known to be such a bound.
    fn proven(&self, of: &Component, weights: &[f64], mut most: f64) -> f64 {
        let mut least = heavy_sets(&of.graph, weights, f64::INFINITY, 1)[0].1;
        let mut level = least * (1.0 + CLOSE);
        for _ in 0..HALVINGS_MAX {
            if level >= most {
                break;
            }
            match heavier(&of.graph, weights, level, PROOF_MAX, self.stop) {
                Heavier::Set(set) => least = set.iter().map(|&i| weights[i as usize]).sum(),
                Heavier::None => most = level,
                Heavier::Unknown => least = level,
            }
            level = if most < least * (1.0 + 2.0 * CLOSE) { most } else { (least * most).sqrt() };
        }
        most
    }
}
