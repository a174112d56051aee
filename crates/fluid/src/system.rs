//! The systems that are integrated.

/// A differential equation with corners.
///
/// Between corners its drift is smooth. A component stays at a bound while the drift pushes outwards, and leaves it when the
/// drift turns: the projection `[·]⁺` of the papers. A switch has a sign; where the sign changes the drift may jump.
pub trait System {
    /// How many components the state has.
    fn dimension(&self) -> usize;

    /// The drift of a state \[per second\], before projection. `switches` holds the sign of each switch, true if positive.
    fn drift(&self, state: &[f64], switches: &[bool], drift: &mut [f64]);

    /// The bounds of a component.
    fn bounds(&self, component: usize) -> (f64, f64) {
        let _ = component;
        (f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The values of the switches in a state.
    fn switches(&self, state: &[f64]) -> Vec<f64> {
        let _ = state;
        Vec::new()
    }

    /// A size of each component below which errors do not matter.
    fn scale(&self, component: usize) -> f64 {
        let _ = component;
        1.0
    }
}

/// Where a component is with respect to its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    Free,
    Low,
    High,
}

/// A system in one of its smooth pieces.
pub(crate) struct Piece<'a, S: ?Sized> {
    pub(crate) system: &'a S,
    pub(crate) held: Vec<Hold>,
    pub(crate) switches: Vec<bool>,
}

impl<'a, S: System + ?Sized> Piece<'a, S> {
    /// The piece that a state lies in; components beyond a bound are put onto it.
    pub(crate) fn new(system: &'a S, state: &mut [f64]) -> Self {
        for (i, x) in state.iter_mut().enumerate() {
            let (low, high) = system.bounds(i);
            *x = x.clamp(low, high);
        }
        let switches = system.switches(state).iter().map(|s| *s > 0.0).collect();
        let mut piece = Self { system, held: vec![Hold::Free; state.len()], switches };
        let raw = piece.raw(state);
        for (i, &x) in state.iter().enumerate() {
            let (low, high) = system.bounds(i);
            if x <= low && raw[i] <= 0.0 {
                piece.held[i] = Hold::Low;
            } else if x >= high && raw[i] >= 0.0 {
                piece.held[i] = Hold::High;
            }
        }
        piece
    }

    /// The drift before projection.
    pub(crate) fn raw(&self, state: &[f64]) -> Vec<f64> {
        let mut drift = vec![0.0; state.len()];
        self.system.drift(state, &self.switches, &mut drift);
        drift
    }

    /// The drift, held components at rest.
    pub(crate) fn drift(&self, state: &[f64]) -> Vec<f64> {
        let mut drift = self.raw(state);
        for (d, held) in drift.iter_mut().zip(&self.held) {
            if *held != Hold::Free {
                *d = 0.0;
            }
        }
        drift
    }
}
