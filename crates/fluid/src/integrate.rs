//! Integration through corners.
//!
//! A step that would pass a corner is shortened until it ends there: components stop at their bounds or leave them, switches
//! flip, and the next step begins in the next smooth piece. So the methods keep their order.

mod explicit;
mod implicit;

use crate::system::{Hold, Piece, System};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// How steps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Dormand and Prince's pair of orders 5 and 4.
    #[default]
    Explicit,
    /// A Rosenbrock method of order 4 (Hairer and Wanner's RODAS), for stiff systems: large β, links that react at very
    /// different speeds.
    Implicit,
}

/// How a system is integrated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How steps are taken.
    pub method: Method,
    /// Error of a step that is allowed, relative to the state.
    pub tolerance: f64,
    /// How many states are kept, the first and the last among them.
    pub samples: usize,
    /// How they are spread: the i-th of n lies at `(i/n)` to this power of the time. One is evenly; with more they crowd at the
    /// beginning, where a system moves fastest.
    pub crowding: f64,
    /// The same step always, instead of one by the error; for tests of order.
    pub fixed_step: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { method: Method::default(), tolerance: 1e-8, samples: 501, crowding: 1.0, fixed_step: None }
    }
}

/// The event at a corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corner {
    /// A component came to rest at a bound.
    Held(usize),
    /// A component left a bound.
    Released(usize),
    /// A switch changed its sign.
    Flipped(usize),
}

/// Where a system went.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// When \[s\].
    pub times: Vec<f64>,
    /// The state at each time.
    pub states: Vec<Vec<f64>>,
    /// The corners that were passed, and when.
    pub corners: Vec<(f64, Corner)>,
    /// Steps taken, those refused not counted.
    pub steps: u64,
    /// The sign of each switch at the end.
    pub switches: Vec<bool>,
}

impl Trajectory {
    /// The last state.
    pub fn last(&self) -> &[f64] {
        self.states.last().expect("the first state is kept")
    }
}

/// Why an integration stopped before its end.
#[derive(Clone, Debug, PartialEq)]
pub enum Stuck {
    /// Steps became too short at this time \[s\]: the system is too stiff for the explicit method, or leaves where it is
    /// defined.
    StepTooShort(f64),
    /// At this time \[s\] the system's drift is no number: the model has no rates there.
    Undefined(f64),
    /// Corners came without end before this time \[s\]: the system slides along one.
    TooManyCorners(f64),
    /// Steps came without end before this time \[s\]: they are as short as the fastest part of the system
    /// requires.
    TooManySteps(f64),
    /// The caller stopped it, at this time \[s\].
    Stopped(f64),
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepTooShort(time) => write!(
                f,
                "steps became too short at {time:.6} s: the system is stiff (try the implicit method) or leaves where it is \
                 defined"
            ),
            Self::Undefined(time) => write!(
                f,
                "at {time:.6} s the model has left where it is defined: its drift is no number there (a shorter duration, or parameters \
                 that keep it, are the remedy)"
            ),
            Self::TooManyCorners(time) => {
                write!(f, "corners follow each other without end at {time:.6} s: the system slides along one")
            }
            Self::TooManySteps(time) => write!(
                f,
                "steps are so short that it has come to {time:.6} s only: the system is too stiff (try the implicit method, a \
                 shorter time, or a smaller β)"
            ),
            Self::Stopped(time) => write!(f, "it was stopped at {time:.6} s"),
        }
    }
}

impl std::error::Error for Stuck {}

/// Corners after which an integration gives up.
const CORNERS_MAX: usize = 1_000_000;
/// Components times steps, refused ones counted, after which an integration gives up; but a system of many components has some
/// tens of thousands of steps all the same.
const WORK_MAX: usize = 4_000_000;
const STEPS_LEAST: usize = 20_000;
/// A switch that has flipped stays so for this part of the whole time. Where a system slides along a corner it would flip
/// without end; so it chatters this finely around the corner, as a bit that is measured now and then does.
const DWELL: f64 = 1e-5;
/// A corner is found to this part of its step.
const CORNER_TOLERANCE: f64 = 1e-12;

/// The number of places of a step that are searched for corners.
const LOOKS: u32 = 4;

/// A step: the state at its end, and an estimate of its error relative to the tolerance.
struct Attempt {
    state: Vec<f64>,
    error: f64,
}

/// Follows a system from a state at time 0 until `until` \[s\].
///
/// It is compiled once, with this crate's optimisation, for all systems.
///
/// # Errors
/// If steps become too short, or corners too many.
pub fn integrate(
    system: &dyn System,
    start: &[f64],
    until: f64,
    options: Options,
) -> Result<Trajectory, Stuck> {
    integrate_unless(system, start, until, options, &AtomicBool::new(false))
}

/// The same, unless the caller stops it: before the next step.
///
/// # Errors
/// As [`integrate()`], and [`Stuck::Stopped`].
pub fn integrate_unless(
    system: &dyn System,
    start: &[f64],
    until: f64,
    options: Options,
    stop: &AtomicBool,
) -> Result<Trajectory, Stuck> {
    let mut state = start.to_vec();
    let piece = Piece::new(system, &mut state);
    let switches = piece.switches.clone();
    let trajectory =
        Trajectory { times: vec![0.0], states: vec![state.clone()], corners: Vec::new(), steps: 0, switches };
    let flipped = vec![f64::NEG_INFINITY; piece.switches.len()];
    let mut run = Run { piece, time: 0.0, state, until, options, flipped, trajectory, stop };
    run.finish()?;
    Ok(run.trajectory)
}

struct Run<'a, S: ?Sized> {
    piece: Piece<'a, S>,
    time: f64,
    state: Vec<f64>,
    until: f64,
    options: Options,
    /// When each switch flipped last.
    flipped: Vec<f64>,
    trajectory: Trajectory,
    stop: &'a AtomicBool,
}

impl<S: System + ?Sized> Run<'_, S> {
    fn finish(&mut self) -> Result<(), Stuck> {
        let mut step = self.options.fixed_step.unwrap_or_else(|| self.first_step());
        let least = self.until * 1e-14;
        let mut attempts_left = (WORK_MAX / self.state.len().max(4)).max(STEPS_LEAST);
        while self.time < self.until - least {
            if attempts_left == 0 {
                return Err(Stuck::TooManySteps(self.time));
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Stuck::Stopped(self.time));
            }
            attempts_left -= 1;
            self.flip_due_switches()?;
            let h = step.min(self.until - self.time).min(self.longest());
            let attempt = self.attempt(h);
            let is_usable = attempt.state.iter().all(|x| x.is_finite());
            let refused = self.options.fixed_step.is_none() && (!is_usable || attempt.error > 1.0);
            if refused {
                step = h * if is_usable { growth(attempt.error).clamp(0.1, 0.9) } else { 0.1 };
                if step < least {
                    return Err(self.too_short());
                }
                continue;
            }
            if let Some((h, corners)) = self.first_corner(h, &attempt.state) {
                let state = if h > 0.0 { self.attempt(h).state } else { self.state.clone() };
                self.advance(h, state);
                self.turn(corners)?;
            } else {
                self.advance(h, attempt.state);
                if self.options.fixed_step.is_none() {
                    step = h * growth(attempt.error).clamp(0.2, 5.0);
                }
            }
        }
        self.sample(self.until, &[], 0.0);
        self.trajectory.switches.clone_from(&self.piece.switches);
        Ok(())
    }

    /// Why no step is short enough.
    fn too_short(&self) -> Stuck {
        let is_number = |drift: Vec<f64>| drift.iter().all(|d| d.is_finite());
        // The domain's edge is a little beyond the last state.
        let drift = self.piece.drift(&self.state);
        let nudged =
            self.state.iter().zip(&drift).map(|(x, d)| x + 1e-9 * x.abs() * d.signum()).collect::<Vec<f64>>();
        if is_number(drift) && is_number(self.piece.drift(&nudged)) {
            Stuck::StepTooShort(self.time)
        } else {
            Stuck::Undefined(self.time)
        }
    }

    fn dwells(&self, switch: usize) -> bool {
        self.time < self.flipped[switch] + DWELL * self.until * (1.0 - 1e-9)
    }

    /// Flips the switches that had to stay while their sign turned.
    fn flip_due_switches(&mut self) -> Result<(), Stuck> {
        let values = self.piece.system.switches(&self.state);
        let due = |s: &usize| {
            let wrong = if self.piece.switches[*s] { values[*s] < 0.0 } else { values[*s] > 0.0 };
            wrong && self.flipped[*s].is_finite() && !self.dwells(*s)
        };
        let due = (0..values.len()).filter(due).map(Corner::Flipped).collect();
        self.turn(due)
    }

    /// Where nothing moves steps would grow without end, past the corner that lets it move again.
    fn longest(&self) -> f64 {
        if self.options.fixed_step.is_some() {
            return f64::INFINITY;
        }
        let dwell = (0..self.flipped.len()).any(|s| self.dwells(s));
        self.until * if dwell { DWELL } else { 0.02 }
    }

    fn attempt(&self, h: f64) -> Attempt {
        match self.options.method {
            Method::Explicit => explicit::step(&self.piece, &self.state, h, self.options.tolerance),
            Method::Implicit => implicit::step(&self.piece, &self.state, h, self.options.tolerance),
        }
    }

    /// A step that moves the state by a hundredth of its size.
    fn first_step(&self) -> f64 {
        let drift = self.piece.drift(&self.state);
        let speed = drift.iter().zip(&self.state).enumerate();
        let speed =
            speed.map(|(i, (d, x))| d.abs() / x.abs().max(self.piece.system.scale(i))).fold(0.0, f64::max);
        (0.01 / speed.max(1e-300)).min(self.until / 100.0)
    }

    /// A function that keeps its sign while the piece is the same, and the corner where it does not.
    fn guards(&self, state: &[f64]) -> Vec<(f64, Corner)> {
        let mut guards = Vec::new();
        let raw = self.piece.held.iter().any(|h| *h != Hold::Free).then(|| self.piece.raw(state));
        for (i, held) in self.piece.held.iter().enumerate() {
            let (low, high) = self.piece.system.bounds(i);
            match held {
                Hold::Free => {
                    if low.is_finite() {
                        guards.push((state[i] - low, Corner::Held(i)));
                    }
                    if high.is_finite() {
                        guards.push((high - state[i], Corner::Held(i)));
                    }
                }
                Hold::Low => guards.push((-raw.as_ref().expect("something is held")[i], Corner::Released(i))),
                Hold::High => guards.push((raw.as_ref().expect("something is held")[i], Corner::Released(i))),
            }
        }
        for (s, value) in self.piece.system.switches(state).into_iter().enumerate() {
            if !self.dwells(s) {
                guards.push((if self.piece.switches[s] { value } else { -value }, Corner::Flipped(s)));
            }
        }
        guards
    }

    /// The first corner within a step to `end`: how far it is, and which ones are met there.
    fn first_corner(&self, h: f64, end: &[f64]) -> Option<(f64, Vec<Corner>)> {
        let broken = |state: &[f64]| -> Vec<Corner> {
            self.guards(state)
                .into_iter()
                .filter(|(value, _)| *value < 0.0)
                .map(|(_, corner)| corner)
                .collect()
        };
        // A guard that breaks and mends within one step would be missed at its end: the step is checked on
        // the way, too.
        let (from, to) = (self.piece.drift(&self.state), self.piece.drift(end));
        let on_the_way = (1..LOOKS).map(|i| {
            let t = f64::from(i) / f64::from(LOOKS);
            (t * h, hermite(&self.state, end, &from, &to, h, t))
        });
        let looks = on_the_way.chain([(h, end.to_vec())]);
        let (mut high, mut corners) =
            looks.map(|(at, state)| (at, broken(&state))).find(|(_, c)| !c.is_empty())?;
        let mut low = 0.0;
        while high - low > CORNER_TOLERANCE * h.max(self.time) {
            let middle = f64::midpoint(low, high);
            let found = broken(&self.attempt(middle).state);
            if found.is_empty() {
                low = middle;
            } else {
                (high, corners) = (middle, found);
            }
        }
        Some((high, corners))
    }

    /// Goes into the next piece.
    fn turn(&mut self, corners: Vec<Corner>) -> Result<(), Stuck> {
        for corner in corners {
            match corner {
                Corner::Held(i) => {
                    let (low, high) = self.piece.system.bounds(i);
                    let at_low = (self.state[i] - low).abs() < (self.state[i] - high).abs();
                    self.state[i] = if at_low { low } else { high };
                    self.piece.held[i] = if at_low { Hold::Low } else { Hold::High };
                }
                Corner::Released(i) => self.piece.held[i] = Hold::Free,
                Corner::Flipped(s) => {
                    self.piece.switches[s] = !self.piece.switches[s];
                    self.flipped[s] = self.time;
                }
            }
            self.trajectory.corners.push((self.time, corner));
        }
        if self.trajectory.corners.len() > CORNERS_MAX {
            return Err(Stuck::TooManyCorners(self.time));
        }
        Ok(())
    }

    fn advance(&mut self, h: f64, state: Vec<f64>) {
        let before = std::mem::replace(&mut self.state, state);
        self.time += h;
        self.trajectory.steps += 1;
        self.sample(self.time, &before, h);
    }

    /// Keeps the samples that lie within the last step, by the cubic through its ends and their drifts.
    fn sample(&mut self, until: f64, before: &[f64], h: f64) {
        let gaps = self.options.samples.max(2) - 1;
        while self.trajectory.times.len() <= gaps {
            let part = self.trajectory.times.len() as f64 / gaps as f64;
            let due = self.until * libm::pow(part, self.options.crowding);
            let is_last = self.trajectory.times.len() == gaps;
            if due > until || (is_last && h > 0.0) {
                break;
            }
            let state = if h > 0.0 {
                let (from, to) = (self.piece.drift(before), self.piece.drift(&self.state));
                let t = 1.0 - (until - due) / h;
                hermite(before, &self.state, &from, &to, h, t)
            } else {
                self.state.clone()
            };
            self.trajectory.times.push(due);
            self.trajectory.states.push(state);
        }
    }
}

/// By how much a step may grow after one with this error.
fn growth(error: f64) -> f64 {
    0.9 * libm::pow(error.max(1e-10), -0.2)
}

fn hermite(a: &[f64], b: &[f64], da: &[f64], db: &[f64], h: f64, t: f64) -> Vec<f64> {
    let (s, u) = (t * t * (3.0 - 2.0 * t), 1.0 - t);
    (0..a.len()).map(|i| a[i] + s * (b[i] - a[i]) + h * t * u * (u * da[i] - t * db[i])).collect()
}

/// The root mean square of errors relative to the tolerance.
fn norm<S: System + ?Sized>(
    piece: &Piece<'_, S>,
    errors: impl Iterator<Item = f64>,
    before: &[f64],
    after: &[f64],
    tolerance: f64,
) -> f64 {
    let mut sum = 0.0;
    for (i, error) in errors.enumerate() {
        let allowed = tolerance * before[i].abs().max(after[i].abs()).max(piece.system.scale(i));
        sum += (error / allowed) * (error / allowed);
    }
    (sum / before.len().max(1) as f64).sqrt()
}

#[cfg(test)]
mod tests;
