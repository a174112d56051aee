//! Conflict graphs between links ([Chen10] section 3.2).

/// An undirected graph whose vertices are links; an edge means that the two may not transmit at once.
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

    /// Adds a conflict; one that is there already, or of a link with itself, changes nothing.
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

    /// All conflicts, each once, the smaller link first.
    pub fn edges(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.neighbours
            .iter()
            .enumerate()
            .flat_map(|(l, row)| row.iter().map(|&m| m as usize).filter(move |&m| l < m).map(move |m| (l, m)))
    }
}
