//! Back-off laws: each sees its queue once in its interval, by its node's clock.

use super::{Core, Event};
use crate::spec::{Clocks, NetworkSpec};
use evenair_des::Stream;
use evenair_laws::backoff::BackoffLaw;
use evenair_units::{Duration, Instant};

/// The queues with laws that are updated together: those of one interval by one clock.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// The interval as the laws know it, and the node with the clock that counts it; none for the common clock.
    key: (Duration, Option<u32>),
    /// The interval as that clock counts it.
    interval: Duration,
    queues: Vec<u32>,
}

impl<T: Copy> Core<T> {
    /// The laws begin.
    pub(crate) fn start_laws(&mut self, spec: &NetworkSpec, seed: u64) {
        debug_assert!(self.rounds.is_empty(), "the laws have begun before");
        for (by, queue) in (0..).zip(&self.queues) {
            let Some(interval) = queue.law.as_ref().and_then(|host| host.law.update_interval()) else {
                continue;
            };
            let key = (interval, (spec.clocks == Clocks::Own).then_some(queue.node));
            match self.rounds.iter_mut().find(|round| round.key == key) {
                Some(round) => round.queues.push(by),
                None => self.rounds.push(Round { key, interval, queues: vec![by] }),
            }
        }
        for index in 0..self.rounds.len() as u32 {
            let round = &mut self.rounds[index as usize];
            let first = match round.key.1 {
                None => round.interval,
                Some(node) => {
                    let (phase, drift) = clock(spec, node, seed);
                    round.interval = round.interval.mul_f64(1.0 + drift);
                    round.interval.mul_f64(phase)
                }
            };
            self.call(Instant::ZERO + first, Event::Backoff(index));
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

/// A node's clock: when within an interval it begins, above 0 and up to 1, and by how much its seconds are too long.
fn clock(spec: &NetworkSpec, node: u32, seed: u64) -> (f64, f64) {
    let mut stream = Stream::named(seed, spec.name(node), "clock");
    let phase = 1.0 - stream.unit();
    (phase, Clocks::DRIFT_MAX * (2.0 * stream.unit() - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::MacSpec;
    use evenair_topology::Medium;
    use evenair_units::{Dbm, Rate};

    #[test]
    fn a_clock_is_its_node_s_and_its_seed_s() {
        let nodes: Vec<String> = (0..50).map(|i| format!("n{i}")).collect();
        let spec = NetworkSpec::new(
            nodes,
            Medium::from_signals(50, &[], Dbm::new(0.0), Dbm::new(0.0)),
            MacSpec::Ideal,
            Rate::from_kbps(1_000),
        );
        let clocks: Vec<(f64, f64)> = (0..50).map(|node| clock(&spec, node, 1)).collect();
        for (node, &(phase, drift)) in (0..).zip(&clocks) {
            assert!(phase > 0.0 && phase <= 1.0 && drift.abs() <= Clocks::DRIFT_MAX);
            assert_ne!(clock(&spec, node, 2), (phase, drift), "another seed, another clock");
            assert!(!clocks[..node as usize].contains(&(phase, drift)), "two nodes share a clock");
        }
    }
}
