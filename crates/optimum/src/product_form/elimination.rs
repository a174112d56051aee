//! The order in which links are eliminated, and the values that each leaves behind.

use evenair_topology::{ConflictGraph, TooLarge};
use fixedbitset::FixedBitSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// The rest of one eliminated link: a value for each configuration of its separator, the later links that it
/// meets in its own conflicts and in those of the links eliminated into it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bag {
    /// The link.
    pub(super) link: usize,
    /// The place of the first configuration's value among all values.
    pub(super) first: usize,
    /// The bag that this one is eliminated into; none for the last of a component.
    pub(super) parent: Option<usize>,
    /// How many bags are eliminated into this one.
    children: usize,
    /// For each configuration, whether the link may transmit beside it.
    may_transmit: Vec<bool>,
    /// For each configuration: the place of each child's value while the link is silent, then while it transmits.
    places: Vec<u32>,
}

/// One configuration of a separator.
pub(super) struct Entry<'a> {
    /// The place of its value.
    pub(super) place: usize,
    /// Whether the bag's link may transmit beside it.
    pub(super) may_transmit: bool,
    /// Places of the children's values while the bag's link is silent, and while it transmits.
    pub(super) silent: &'a [u32],
    pub(super) transmitting: &'a [u32],
}

impl Bag {
    /// Whether it leaves nothing behind, as the last link of its component.
    pub(super) const fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.may_transmit.iter().enumerate().map(|(c, &may_transmit)| {
            let (silent, transmitting) =
                self.places[2 * c * self.children..2 * (c + 1) * self.children].split_at(self.children);
            let transmitting = if may_transmit { transmitting } else { &[] };
            Entry { place: self.first + c, may_transmit, silent, transmitting }
        })
    }
}

/// An elimination of so few values is good enough.
const SMALL: usize = 20_000;

/// All bags in the order of elimination.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Elimination {
    pub(super) bags: Vec<Bag>,
    pub(super) size: usize,
}

impl Elimination {
    /// Eliminates in the better of two orders: of few new pairs, and of few configurations. Told to stop it gives up as where there
    /// are too many.
    pub(super) fn new(graph: &ConflictGraph, size_max: usize, stop: &AtomicBool) -> Result<Self, TooLarge> {
        let conflicts = graph.rows();
        let fewest_pairs = Self::in_order(graph, fill, size_max, stop);
        let smaller = fewest_pairs.as_ref().map_or(size_max, |found| found.size);
        // Where the first order is small a second is not worth its time.
        if smaller < SMALL {
            return fewest_pairs;
        }
        let fewest_sets =
            Self::in_order(graph, |near, l| log_configurations(&conflicts, &near[l]), smaller, stop);
        fewest_sets.or(fewest_pairs)
    }

    fn in_order(
        graph: &ConflictGraph,
        cost: impl Fn(&[FixedBitSet], usize) -> f64,
        size_max: usize,
        stop: &AtomicBool,
    ) -> Result<Self, TooLarge> {
        let links = graph.links();
        let too_large = TooLarge { links, limit: size_max };
        let (order, separators) = greedy(graph, cost, stop).ok_or(too_large)?;
        // Counted before the bags are made: to find the places in these takes far longer.
        separators
            .iter()
            .try_fold(0, |sum, s| Some(sum + count(graph, s, size_max - sum)?))
            .ok_or(too_large)?;
        let mut rank = vec![0; links];
        for (i, &l) in order.iter().enumerate() {
            rank[l] = i;
        }
        let mut bags: Vec<Bag> = Vec::with_capacity(links);
        let mut configurations: Vec<Configurations> = Vec::with_capacity(links);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); links];
        let mut size = 0;
        for (i, (&link, separator)) in order.iter().zip(separators).enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Err(too_large);
            }
            let mut separator: Vec<u32> = separator.ones().map(|l| l as u32).collect();
            separator.sort_unstable_by_key(|&l| rank[l as usize]);
            let own = Configurations::new(graph, &separator);
            let mut bag = Bag {
                link,
                first: size,
                parent: separator.first().map(|&l| rank[l as usize]),
                children: children[i].len(),
                may_transmit: Vec::with_capacity(own.len()),
                places: Vec::with_capacity(2 * own.len() * children[i].len()),
            };
            for configuration in own.iter() {
                let free = configuration.iter().all(|&m| !graph.conflict(link, m as usize));
                bag.may_transmit.push(free);
                let with: Vec<u32> =
                    std::iter::once(link as u32).chain(configuration.iter().copied()).collect();
                for (members, allowed) in [(configuration, true), (&with[..], free)] {
                    for &child in &children[i] {
                        // Where the link may not transmit the second is never read.
                        let place = if allowed { configurations[child].place(members) } else { 0 };
                        bag.places.push((bags[child].first + place) as u32);
                    }
                }
            }
            size += own.len();
            if let Some(parent) = bag.parent {
                children[parent].push(i);
            }
            bags.push(bag);
            configurations.push(own);
        }
        Ok(Self { bags, size })
    }
}

/// The independent sets among the links of a separator, in lexicographic order of their ranks.
struct Configurations {
    inside: FixedBitSet,
    members: Vec<u32>,
    starts: Vec<usize>,
    /// Places in the separator, of its links.
    rank: Vec<u32>,
}

impl Configurations {
    /// Lists them.
    fn new(graph: &ConflictGraph, separator: &[u32]) -> Self {
        let mut inside = FixedBitSet::with_capacity(graph.links());
        inside.extend(separator.iter().map(|&l| l as usize));
        let mut rank = vec![0; graph.links()];
        for (i, &l) in separator.iter().enumerate() {
            rank[l as usize] = i as u32;
        }
        let mut all = Self { inside, members: Vec::new(), starts: vec![0], rank };
        all.list(graph, separator, &mut Vec::new());
        all
    }

    fn list(&mut self, graph: &ConflictGraph, rest: &[u32], chosen: &mut Vec<u32>) {
        self.members.extend_from_slice(chosen);
        self.starts.push(self.members.len());
        for (i, &l) in rest.iter().enumerate() {
            if chosen.iter().all(|&m| !graph.conflict(l as usize, m as usize)) {
                chosen.push(l);
                self.list(graph, &rest[i + 1..], chosen);
                chosen.pop();
            }
        }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn get(&self, i: usize) -> &[u32] {
        &self.members[self.starts[i]..self.starts[i + 1]]
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// The place of a configuration of the parent's bag, restricted to this separator.
    fn place(&self, members: &[u32]) -> usize {
        let key = |l: &u32| self.rank[*l as usize];
        let wanted = || members.iter().filter(|&&l| self.inside.contains(l as usize)).map(key);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.get(middle).iter().map(key).lt(wanted()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// The number of independent sets among some links, or `None` above a limit.
fn count(graph: &ConflictGraph, among: &FixedBitSet, limit: usize) -> Option<usize> {
    let mut free: Vec<usize> = Vec::new();
    for l in among.ones() {
        if free.iter().all(|&m| !graph.conflict(l, m)) {
            free.push(l);
        }
    }
    // All subsets of one set are independent.
    if free.len() >= usize::BITS as usize - 1 || 1 << free.len() > limit {
        return None;
    }
    let links: Vec<usize> = among.ones().collect();
    let mut counted = 0;
    count_from(graph, &links, limit, &mut counted).then_some(counted)
}

/// Counts the independent sets among some links, and returns whether they are at most `limit`.
fn count_from(graph: &ConflictGraph, among: &[usize], limit: usize, counted: &mut usize) -> bool {
    *counted += 1; // the empty one
    *counted <= limit
        && among.iter().enumerate().all(|(i, &l)| {
            let beside: Vec<usize> =
                among[i + 1..].iter().copied().filter(|&m| !graph.conflict(l, m)).collect();
            count_from(graph, &beside, limit, counted)
        })
}

/// The order in which the link of least cost goes next, and the later links that each meets; none if the
/// caller stops it.
fn greedy(
    graph: &ConflictGraph,
    cost: impl Fn(&[FixedBitSet], usize) -> f64,
    stop: &AtomicBool,
) -> Option<(Vec<usize>, Vec<FixedBitSet>)> {
    let links = graph.links();
    let mut near = graph.rows();
    let mut left = FixedBitSet::with_capacity(links);
    left.insert_range(..);
    let mut costs: Vec<f64> = (0..links).map(|l| cost(&near, l)).collect();
    let (mut order, mut separators) = (Vec::with_capacity(links), Vec::with_capacity(links));
    while let Some(l) = left.ones().min_by(|&l, &m| costs[l].total_cmp(&costs[m])) {
        left.remove(l);
        let separator = near[l].clone();
        let mut touched = separator.clone();
        for m in separator.ones() {
            near[m].union_with(&separator);
            near[m].remove(m);
            near[m].remove(l);
            touched.union_with(&near[m]);
        }
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        for m in touched.ones() {
            costs[m] = cost(&near, m);
        }
        order.push(l);
        separators.push(separator);
    }
    Some((order, separators))
}

/// How many pairs of its neighbours a link's elimination joins that were not joined before.
fn fill(near: &[FixedBitSet], l: usize) -> f64 {
    // Word by word: the count runs for all near links after every elimination.
    let own = near[l].as_slice();
    let (mut degree, mut joined) = (0_usize, 0);
    for m in near[l].ones() {
        degree += 1;
        joined +=
            near[m].as_slice().iter().zip(own).map(|(a, b)| (a & b).count_ones() as usize).sum::<usize>();
    }
    (degree * degree.saturating_sub(1) - joined) as f64
}

/// A bound on the logarithm of the number of independent sets among some links: of each clique that covers them at most one
/// transmits.
fn log_configurations(conflicts: &[FixedBitSet], among: &FixedBitSet) -> f64 {
    let mut rest = among.clone();
    let mut log = 0.0;
    while let Some(first) = rest.minimum() {
        let mut fits = &conflicts[first] & &rest;
        rest.remove(first);
        let mut size = 1.0;
        while let Some(next) = fits.minimum() {
            size += 1.0;
            rest.remove(next);
            fits.intersect_with(&conflicts[next]);
        }
        log += libm::log1p(size);
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cycle of n links has Lucas' L(n) independent sets, a path Fibonacci's F(n + 2).
    #[test]
    fn independent_sets_are_counted() {
        let mut all = FixedBitSet::with_capacity(12);
        all.insert_range(..);
        let path: Vec<(usize, usize)> = (1..12).map(|l| (l - 1, l)).collect();
        let cycle = [&path[..], &[(11, 0)]].concat();
        for (edges, sets) in [(path, 377), (cycle, 322), (Vec::new(), 1 << 12)] {
            let graph = ConflictGraph::from_edges(12, &edges);
            assert_eq!(count(&graph, &all, sets), Some(sets));
            assert_eq!(count(&graph, &all, sets - 1), None);
        }
    }
}
