//! The stationary distribution of ideal CSMA.

use evenair_topology::IndependentSets;

/// How ideal CSMA shares time, given each link's exponent `βr`, the logarithm of holding over back-off time.
///
/// [Chen10] eq. (3.2), (3.3), (5.4); [QCSMA] eq. (1); [Lee12] through `p·μ = exp(b·q)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductForm {
    /// Share of time of each independent set, in the order of the sets.
    pub sets: Vec<f64>,
    /// Share of time in which each link transmits.
    pub links: Vec<f64>,
    /// Logarithm of the normalisation, the partition function Z.
    pub log_partition: f64,
}

impl ProductForm {
    /// The distribution for these exponents, one per link.
    pub fn new(sets: &IndependentSets, exponents: &[f64]) -> Self {
        assert_eq!(sets.links(), exponents.len(), "one exponent per link");
        let weight = |&mask: &u64| IndependentSets::members(mask).map(|l| exponents[l]).sum::<f64>();
        let mut shares: Vec<f64> = sets.masks().iter().map(weight).collect();
        // The greatest exponent is taken out, so that nothing overflows.
        let greatest = shares.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut partition = 0.0;
        for share in &mut shares {
            *share = libm::exp(*share - greatest);
            partition += *share;
        }
        let mut links = vec![0.0; sets.links()];
        for (share, &mask) in shares.iter_mut().zip(sets.masks()) {
            *share /= partition;
            for l in IndependentSets::members(mask) {
                links[l] += *share;
            }
        }
        Self { sets: shares, links, log_partition: greatest + libm::log(partition) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_topology::ConflictGraph;

    #[test]
    fn link_2_of_topology_a_at_equal_aggressiveness() {
        // [Chen10] eq. (4.2): y₂ = ρ/(2ρ² + 4ρ + 1), about 0.11 at ρ = 2.24
        let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
        let rho = 2.24;
        let form = ProductForm::new(&IndependentSets::of(&graph).unwrap(), &[libm::log(rho); 4]);
        let expected = rho / (2.0 * rho * rho + 4.0 * rho + 1.0);
        assert!((form.links[1] - expected).abs() < 1e-14);
        assert!((form.links[1] - 0.11).abs() < 0.005);
    }

    #[test]
    fn huge_exponents_do_not_overflow() {
        let graph = ConflictGraph::from_edges(2, &[(0, 1)]);
        let form = ProductForm::new(&IndependentSets::of(&graph).unwrap(), &[5000.0, 4999.0]);
        assert!((form.links[0] + form.links[1] - 1.0).abs() < 1e-12);
        assert!((form.links[0] / form.links[1] - libm::exp(1.0)).abs() < 1e-9);
    }
}
