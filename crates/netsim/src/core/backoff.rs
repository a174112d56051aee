//! Back-off laws: each sees its queue once in its interval.

use super::{Core, Event};
use evenair_laws::backoff::BackoffLaw;
use evenair_units::Duration;

/// The queues whose laws are updated together.
#[derive(Clone, Debug)]
pub(super) struct Round {
    interval: Duration,
    queues: Vec<u32>,
}

impl<T: Copy> Core<T> {
    /// The laws begin: those with one interval take one turn.
    pub(crate) fn start_laws(&mut self) {
        debug_assert!(self.rounds.is_empty(), "the laws have begun before");
        for (by, queue) in (0..).zip(&self.queues) {
            let Some(interval) = queue.law.as_ref().and_then(|host| host.law.update_interval()) else {
                continue;
            };
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
        let interval = self.rounds[round as usize].interval;
        for i in 0..self.rounds[round as usize].queues.len() {
            let by = self.rounds[round as usize].queues[i];
            let access = self.queues[by as usize].update(self.now);
            self.air.set_access(by, access.expect("only queues with a law take a turn"));
            if self.queues[by as usize].dummy.is_some() {
                self.serve(by); // it may be the first that the law wants sent
            }
        }
        self.call(self.now + interval, Event::Backoff(round));
    }
}
