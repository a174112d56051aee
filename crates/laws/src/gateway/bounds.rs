//! Bounds of a gateway's capacity, from the rates of its own links.
//!
//! # Law
//! `C_up = N/Σ 1/W_j`: all of the N active classes' routers are the gateway's neighbours and take turns with equal packets.
//! `C_low = W_1/3`: all are far away behind the slowest link, where two hops on either side of a transmission are silent.
//!
//! # Source
//! [Jam10] section 7.5.2 (J12).
//!
//! # Symbols
//! `W_j` → [`ClassRole::link_rate`](super::ClassRole::link_rate) \[bit/s\]; `C_low`, `C_up` → [`CapacityBounds`] \[bit/s\].
//!
//! # Signals
//! None but the link rates, and which classes are active.
//!
//! # Deviations
//! A gateway sees the rates of its own links only: `W_j` is that of the link by which class j leaves it or
//! comes in. A class without a known link counts like the mean of the others. If no link is known, only
//! configured bounds apply.

use evenair_units::Rate;

/// Lengths of link that a transmission silences, itself included: the divisor of `C_low`.
pub(super) const REUSE: f64 = 3.0;

/// The bounds between which the capacity is sought \[bit/s\].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CapacityBounds {
    /// `C_low`.
    pub low: f64,
    /// `C_up`.
    pub high: f64,
}

impl CapacityBounds {
    /// From the links of the active classes; none, where no link is known.
    pub fn of_links(links: impl Iterator<Item = Rate>) -> Option<Self> {
        let (mut count, mut inverses, mut slowest) = (0.0, 0.0, f64::INFINITY);
        for link in links.filter(|link| link.as_bps() > 0) {
            let link = link.as_bps() as f64;
            count += 1.0;
            inverses += 1.0 / link;
            slowest = slowest.min(link);
        }
        (count > 0.0).then(|| Self { low: slowest / REUSE, high: count / inverses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 7.5.2: equal links give W and W/3, unequal ones the harmonic mean and a third of the slowest.
    #[test]
    fn the_sections_own_cases() {
        let of = |kbps: &[u64]| CapacityBounds::of_links(kbps.iter().map(|&k| Rate::from_kbps(k))).unwrap();
        assert_eq!(of(&[900, 900, 900]), CapacityBounds { low: 300e3, high: 900e3 });
        // 2/(1/600 + 1/1200) = 800
        let unequal = of(&[1200, 600]);
        assert!((unequal.high - 800e3).abs() < 1e-6 && (unequal.low - 200e3).abs() < 1e-6, "{unequal:?}");
        assert_eq!(CapacityBounds::of_links([Rate::from_bps(0)].into_iter()), None);
    }
}
