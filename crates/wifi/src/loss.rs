//! Error models: which frames a link spoils that nothing else has spoilt.
//!
//! A model belongs to one directed link and draws from a stream of its own, once per frame that would have been
//! decoded. It can change over time: a schedule of models, each in force from its instant on.

use evenair_des::Stream;
use evenair_units::{Bytes, Duration, Instant, Probability};

/// How frames are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LossModel {
    /// Each frame with this probability, independently (Bernoulli).
    Frames(Probability),
    /// One frame in so many, counted: losses without chance, for models that suppose them.
    Every(u32),
    /// Each bit with this probability, independently: a frame of `n` bits survives with probability `(1 − p)^n`.
    Bits(f64),
    /// Two states in continuous time, each held for an exponential time, each with its own probability of losing a
    /// frame (Gilbert and Elliott).
    Bursts {
        /// Mean time in the good state.
        good: Duration,
        /// Mean time in the bad state.
        bad: Duration,
        /// Loss probability in the good state.
        loss_good: Probability,
        /// Loss probability in the bad state.
        loss_bad: Probability,
    },
}

impl LossModel {
    /// The long-run share of frames of this size that are lost.
    pub fn mean_loss(&self, size: Bytes) -> f64 {
        match *self {
            Self::Frames(p) => p.value(),
            Self::Every(n) => 1.0 / f64::from(n),
            Self::Bits(p) => 1.0 - libm::pow(1.0 - p, size.bits() as f64),
            Self::Bursts { good, bad, loss_good, loss_bad } => {
                let (good_s, bad_s) = (good.as_secs_f64(), bad.as_secs_f64());
                (good_s * loss_good.value() + bad_s * loss_bad.value()) / (good_s + bad_s)
            }
        }
    }
}

/// The error model of one link, at work.
#[derive(Clone, Debug)]
pub struct LossProcess {
    /// Each model with the instant from which it holds, in order.
    schedule: Vec<(Instant, LossModel)>,
    current: usize,
    /// State of a bursty model: whether it is bad, and as of when that is known.
    bad: Option<(bool, Instant)>,
    /// Frames since the last loss by count.
    passed: u32,
    stream: Stream,
}

impl LossProcess {
    /// A process that follows a schedule; before its first entry nothing is lost.
    pub fn new(mut schedule: Vec<(Instant, LossModel)>, stream: Stream) -> Self {
        schedule.sort_by_key(|&(from, _)| from);
        Self { schedule, current: 0, bad: None, passed: 0, stream }
    }

    /// Whether a frame of this size is lost at `now`. Time must not run backwards.
    pub fn loses(&mut self, now: Instant, size: Bytes) -> bool {
        while self.schedule.get(self.current + 1).is_some_and(|&(from, _)| from <= now) {
            self.current += 1;
            self.bad = None;
        }
        let Some(&(_, model)) = self.schedule.get(self.current).filter(|&&(from, _)| from <= now) else {
            return false;
        };
        let probability = match model {
            LossModel::Bursts { good, bad, loss_good, loss_bad } => {
                if self.is_bad(now, good, bad) {
                    loss_bad
                } else {
                    loss_good
                }
            }
            LossModel::Every(n) => {
                self.passed += 1;
                let lost = self.passed >= n;
                self.passed = if lost { 0 } else { self.passed };
                return lost;
            }
            LossModel::Frames(p) => p,
            LossModel::Bits(_) => Probability::clamped(model.mean_loss(size)),
        };
        self.stream.chance(probability)
    }

    /// The state at `now`, drawn from the last known state: over a time `t` the difference to the stationary distribution shrinks
    /// by `exp(−(λ+μ)t)`, with the rates `λ = 1/good` and `μ = 1/bad`.
    fn is_bad(&mut self, now: Instant, good: Duration, bad: Duration) -> bool {
        let (good_s, bad_s) = (good.as_secs_f64().max(1e-12), bad.as_secs_f64().max(1e-12));
        let stationary = bad_s / (good_s + bad_s);
        let probability = match self.bad {
            None => stationary,
            Some((was_bad, at)) => {
                let elapsed_s = now.since(at).as_secs_f64();
                let memory = libm::exp(-(1.0 / good_s + 1.0 / bad_s) * elapsed_s);
                stationary + (f64::from(u8::from(was_bad)) - stationary) * memory
            }
        };
        let is_bad = self.stream.chance(Probability::clamped(probability));
        self.bad = Some((is_bad, now));
        is_bad
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost_of(schedule: Vec<(Instant, LossModel)>, frames: u64, every: Duration) -> Vec<bool> {
        let mut process = LossProcess::new(schedule, Stream::named(5, "a>b", "loss"));
        (0..frames).map(|i| process.loses(Instant::ZERO + every * i, Bytes::new(1000))).collect()
    }

    fn share(lost: &[bool]) -> f64 {
        lost.iter().filter(|&&l| l).count() as f64 / lost.len() as f64
    }

    #[test]
    fn frames_and_bits_are_lost_at_the_set_rates() {
        let p = Probability::clamped(0.1);
        let frames = lost_of(vec![(Instant::ZERO, LossModel::Frames(p))], 100_000, Duration::from_millis(1));
        // standard error √(0.09/1e5) = 0.00095
        assert!((share(&frames) - 0.1).abs() < 0.004, "{}", share(&frames));
        let model = LossModel::Bits(2e-5);
        // 1 − (1 − 2e-5)^8000 = 0.1479
        assert!((model.mean_loss(Bytes::new(1000)) - 0.147_858).abs() < 1e-5);
        let bits = lost_of(vec![(Instant::ZERO, model)], 100_000, Duration::from_millis(1));
        assert!((share(&bits) - 0.1479).abs() < 0.0045, "{}", share(&bits));
    }

    #[test]
    fn bursts_have_their_share_and_their_length() {
        let model = LossModel::Bursts {
            good: Duration::from_millis(90),
            bad: Duration::from_millis(10),
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
        };
        let lost = lost_of(vec![(Instant::ZERO, model)], 400_000, Duration::from_millis(1));
        assert!((share(&lost) - 0.1).abs() < 0.006, "{}", share(&lost));
        // Given a loss, the next frame a millisecond on is lost with 0.1 + 0.9·exp(−(1/90 + 1/10)) = 0.9053.
        let pairs = lost.windows(2).filter(|w| w[0]).count() as f64;
        let both = lost.windows(2).filter(|w| w[0] && w[1]).count() as f64;
        assert!((both / pairs - 0.9053).abs() < 0.006, "{}", both / pairs);
    }

    #[test]
    fn mean_loss_of_bursts_is_weighted_by_time() {
        let model = LossModel::Bursts {
            good: Duration::from_secs(3),
            bad: Duration::from_secs(1),
            loss_good: Probability::clamped(0.1),
            loss_bad: Probability::clamped(0.5),
        };
        // (3·0.1 + 1·0.5)/4
        assert!((model.mean_loss(Bytes::new(1000)) - 0.2).abs() < 1e-12);
        assert!((LossModel::Every(8).mean_loss(Bytes::new(1000)) - 0.125).abs() < 1e-12);
    }

    #[test]
    fn one_in_so_many_is_counted() {
        let lost = lost_of(vec![(Instant::ZERO, LossModel::Every(7))], 70, Duration::from_millis(1));
        assert_eq!(lost.iter().filter(|&&l| l).count(), 10);
        assert!(lost[6] && lost[13]);
    }

    #[test]
    fn a_schedule_changes_the_model() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let schedule = vec![
            (at(100), LossModel::Frames(Probability::ONE)),
            (at(200), LossModel::Frames(Probability::ZERO)),
        ];
        let lost = lost_of(schedule, 300, Duration::from_millis(1));
        assert_eq!(lost.iter().position(|&l| l), Some(100));
        assert_eq!(lost.iter().filter(|&&l| l).count(), 100);
    }
}
