//! How a law looks for the capacity: Alg. 2, 3, 5 and 6 of [Jam10], which differ in what is shared afterwards only.

use super::{CapacityBounds, ClassRole, GatewayView};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

/// What an epoch's rate is at least \[bits per epoch\]: a full packet, or a class could never be seen again.
const PACKET_BITS: f64 = 12_000.0;

/// How the capacity is sought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum SearchMethod {
    /// Half way to a bound, which what was measured takes the place of.
    #[default]
    Binary,
    /// In proportion to what was measured: alpha times, or beta times.
    Exponential,
}

/// What the thesis's form does when the set of active classes changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum OnChange {
    /// The bounds are those of the classes that are active now, and the search begins anew.
    #[default]
    Restart,
    /// The bounds stay; PFRC decreases for a class that comes and increases for one that goes, ARC forgets the greatest rates.
    Step,
}

/// The estimate and the bounds that the search has left itself \[bit/s\].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Search {
    pub(super) method: SearchMethod,
    pub(super) alpha: f64,
    pub(super) beta: f64,
    pub(super) bounds: CapacityBounds,
    /// `C_est`
    pub(super) estimate: f64,
    least: f64,
}

impl Search {
    /// Half way between the bounds.
    pub(super) fn new(
        method: SearchMethod,
        (alpha, beta): (f64, f64),
        epoch: Duration,
        bounds: CapacityBounds,
    ) -> Self {
        let mut search =
            Self { method, alpha, beta, bounds, estimate: 0.0, least: PACKET_BITS / epoch.as_secs_f64() };
        search.restart(bounds);
        search
    }

    pub(super) fn restart(&mut self, bounds: CapacityBounds) {
        self.bounds = bounds;
        self.set(f64::midpoint(bounds.low, bounds.high));
    }

    /// [Jam10] Alg. 2, 3, 5, 6: `inc`; `measured` is `M`.
    pub(super) fn increase(&mut self, measured: f64) {
        match self.method {
            SearchMethod::Exponential => self.set(self.alpha * measured),
            SearchMethod::Binary => {
                self.bounds.low = measured;
                self.set(f64::midpoint(measured, self.bounds.high));
            }
        }
    }

    /// [Jam10] Alg. 2, 3, 5, 6: `dec`.
    pub(super) fn decrease(&mut self, measured: f64) {
        match self.method {
            SearchMethod::Exponential => self.set(self.beta * measured),
            SearchMethod::Binary => {
                self.bounds.high = measured;
                self.set(f64::midpoint(self.bounds.low, measured));
            }
        }
    }

    fn set(&mut self, estimate: f64) {
        self.estimate = estimate.max(self.least);
        debug_assert!(self.estimate.is_finite(), "an estimate without bound");
    }
}

/// The bounds of some classes: as configured, else from their links; none where neither is known.
pub(super) fn bounds_of<'a>(
    classes: impl Iterator<Item = &'a ClassRole>,
    low: Option<Rate>,
    high: Option<Rate>,
) -> Option<CapacityBounds> {
    let links = CapacityBounds::of_links(classes.filter_map(|class| class.link_rate));
    let bps = |rate: Rate| rate.as_bps() as f64;
    let high = high.map(bps).or(links.map(|links| links.high)).or(low.map(|low| 3.0 * bps(low)))?;
    let low = low.map(bps).or(links.map(|links| links.low)).unwrap_or(high / 3.0);
    Some(CapacityBounds { low: low.min(high), high })
}

/// Which classes are active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Activity {
    /// Epochs without a packet, per class; none, if nothing was ever seen of it.
    silent: Vec<Option<u32>>,
    /// After so many a class is not active.
    patience: u32,
}

/// What an epoch changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) joined: Option<u32>,
    pub(super) left: Option<u32>,
}

impl Activity {
    pub(super) fn new(classes: usize, patience: u32) -> Self {
        Self { silent: alloc::vec![None; classes], patience }
    }

    pub(super) fn is_active(&self, class: usize) -> bool {
        self.silent[class].is_some_and(|epochs| epochs < self.patience)
    }

    pub(super) fn any(&self) -> bool {
        (0..self.silent.len()).any(|class| self.is_active(class))
    }

    /// One more epoch; the first class of those that came, and of those that went.
    pub(super) fn observe(&mut self, view: &GatewayView<'_>) -> Change {
        let mut change = Change::default();
        for class in 0..self.silent.len() {
            let before = self.is_active(class);
            let seen = view.classes.get(class).is_some_and(super::ClassView::is_seen);
            let silent = &mut self.silent[class];
            *silent = if seen { Some(0) } else { silent.map(|epochs| epochs.saturating_add(1)) };
            match (before, self.is_active(class)) {
                (false, true) => change.joined = change.joined.or(Some(class as u32)),
                (true, false) => change.left = change.left.or(Some(class as u32)),
                _ => (),
            }
        }
        change
    }
}
