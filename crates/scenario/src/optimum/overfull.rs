//! Rates of a model that the conflict graph does not allow.

use super::{CLIQUES_MAX, Optimum};
use evenair_topology::maximal_cliques;

/// Loads add up with rounding.
const FULL: f64 = 1.0 + 1e-6;

/// Links that conflict with each other and together need more than all of the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Overfull {
    /// Their places in [`Theory::links`](crate::Theory::links).
    pub links: Vec<u32>,
    /// The sum of their loads; 1 is all of the time.
    pub load: f64,
}

impl Optimum {
    /// Returns the clique of the conflict graph that the rates load most, if that is above 1: no schedule carries these rates. The
    /// collision domains of [Jam10] section 4.1.2 allow such rates, as they count transmission range and no carrier sense. `None`
    /// also where there are too many cliques to list.
    pub fn overfull(&self) -> Option<Overfull> {
        let cliques = maximal_cliques(&self.theory.conflicts, CLIQUES_MAX).ok()?;
        let loaded = cliques.into_iter().map(|links| {
            let load = links.iter().map(|&l| self.load[l as usize]).sum();
            Overfull { links, load }
        });
        loaded.max_by(|a, b| a.load.total_cmp(&b.load)).filter(|worst| worst.load > FULL)
    }
}
