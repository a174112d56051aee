//! Conflict graphs between links ([Chen10] section 3.2).

use fixedbitset::FixedBitSet;

/// An undirected graph with links as vertices; an edge means that the two may not transmit at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConflictGraph {
    neighbours: Vec<Vec<u32>>,
}

impl ConflictGraph {
    /// `links` links without a conflict.
    pub fn new(links: usize) -> Self {
        Self { neighbours: vec![Vec::new(); links] }
    }

    /// A graph from pairs of links.
    pub fn from_edges(links: usize, edges: &[(usize, usize)]) -> Self {
        let mut graph = Self::new(links);
        for &(l, m) in edges {
            graph.add(l, m);
        }
        graph
    }

    /// Adds a conflict; a known conflict, or that of a link with itself, changes nothing.
    pub fn add(&mut self, l: usize, m: usize) {
        if l == m {
            return;
        }
        for (a, b) in [(l, m), (m, l)] {
            if let Err(at) = self.neighbours[a].binary_search(&(b as u32)) {
                self.neighbours[a].insert(at, b as u32);
            }
        }
    }

    /// How many links there are.
    pub fn links(&self) -> usize {
        self.neighbours.len()
    }

    /// The links that conflict with `l`, in order.
    pub fn neighbours(&self, l: usize) -> &[u32] {
        &self.neighbours[l]
    }

    /// Whether two links conflict.
    pub fn conflict(&self, l: usize, m: usize) -> bool {
        self.neighbours[l].binary_search(&(m as u32)).is_ok()
    }

    /// The parts of the graph that no conflict joins, each in ascending order.
    pub fn components(&self) -> Vec<Vec<u32>> {
        let mut seen = vec![false; self.links()];
        let mut components = Vec::new();
        for first in 0..self.links() {
            if seen[first] {
                continue;
            }
            let mut component = self.breadth_first(first as u32);
            component.iter().for_each(|&l| seen[l as usize] = true);
            component.sort_unstable();
            components.push(component);
        }
        components
    }

    /// The links of one component, the nearer ones first.
    pub fn breadth_first(&self, from: u32) -> Vec<u32> {
        let mut seen = vec![false; self.links()];
        seen[from as usize] = true;
        let mut order = vec![from];
        let mut next = 0;
        while let Some(&l) = order.get(next) {
            next += 1;
            for &m in self.neighbours(l as usize) {
                if !std::mem::replace(&mut seen[m as usize], true) {
                    order.push(m);
                }
            }
        }
        order
    }

    /// The graph between some of the links, numbered by their places in the list.
    #[must_use]
    pub fn restricted(&self, links: &[u32]) -> Self {
        let mut place = vec![None; self.links()];
        for (i, &l) in links.iter().enumerate() {
            place[l as usize] = Some(i as u32);
        }
        let row = |&l: &u32| {
            let mut row: Vec<u32> =
                self.neighbours(l as usize).iter().filter_map(|&m| place[m as usize]).collect();
            row.sort_unstable();
            row
        };
        Self { neighbours: links.iter().map(row).collect() }
    }

    /// The graph with edges between links that do not conflict.
    #[must_use]
    pub fn complement(&self) -> Self {
        let row = |l: usize| {
            (0..self.links()).filter(|&m| m != l && !self.conflict(l, m)).map(|m| m as u32).collect()
        };
        Self { neighbours: (0..self.links()).map(row).collect() }
    }

    /// The neighbours of each link as a set of bits.
    pub fn rows(&self) -> Vec<FixedBitSet> {
        let row = |neighbours: &Vec<u32>| {
            let mut row = FixedBitSet::with_capacity(self.links());
            row.extend(neighbours.iter().map(|&m| m as usize));
            row
        };
        self.neighbours.iter().map(row).collect()
    }

    /// All conflicts, each once, the smaller link first.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.neighbours
            .iter()
            .enumerate()
            .flat_map(|(l, row)| row.iter().map(|&m| m as usize).filter(move |&m| l < m).map(move |m| (l, m)))
    }
}
