//! Back-off laws: each sees its queue once in its interval.

use super::{Core, Event};
use crate::spec::BackoffSpec;
use evenair_units::Duration;

/// The queues whose laws are updated together.
#[derive(Clone, Debug)]
pub(super) struct Round {
    interval: Duration,
    queues: Vec<u32>,
}

impl<T: Copy> Core<T> {
    /// The laws begin: those with one interval take one turn.
    pub(crate) fn start_laws(&mut self, spec: &BackoffSpec) {
        debug_assert!(self.rounds.is_empty(), "the laws have begun before");
        if let BackoffSpec::Adaptive { params, .. } = spec {
            self.rounds.push(Round { interval: params.update_interval, queues: Vec::new() });
        }
        for (by, queue) in (0..).zip(&self.queues) {
            let Some(interval) = queue.law.as_ref().map(|law| law.params().update_interval) else { continue };
            match self.rounds.iter_mut().find(|round| round.interval == interval) {
                Some(round) => round.queues.push(by),
                None => self.rounds.push(Round { interval, queues: vec![by] }),
            }
        }
        for round in 0..self.rounds.len() as u32 {
            self.call(self.now + self.rounds[round as usize].interval, Event::Backoff(round));
        }
    }

    /// Laws see their queues.
    pub(super) fn update_laws(&mut self, round: u32) {
        let Round { interval, queues } = &self.rounds[round as usize];
        if queues.is_empty() {
            return; // the network has no queue of the air
        }
        for &by in queues {
            let queue = &mut self.queues[by as usize];
            let view = queue.view();
            let law = queue.law.as_mut().expect("only queues with a law take a turn");
            law.on_update(&view);
            queue.law_drops = law.drop_probability();
            self.air.set_access(by, law.access());
        }
        self.call(self.now + *interval, Event::Backoff(round));
    }
}
