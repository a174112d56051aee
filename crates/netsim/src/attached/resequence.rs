//! One stream over several connections: which segment of it each of theirs carries, and the order at the receiver.
//!
//! No scheduler distributes the stream: a connection takes the next segment when it can send one. A segment that arrives
//! in its connection's order waits here until all earlier ones of the stream have arrived.

use super::delay::OneWay;
use crate::measure::ResequencingResult;
use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// The order of one flow's stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resequencer {
    /// How many segments connections have taken.
    taken: u64,
    /// The segment that is handed over next.
    expected: u64,
    /// When each from that one on was handed over by the sending application, and came; none of those that have not.
    came: VecDeque<Option<(Instant, Instant)>>,
    waiting: u64,
    /// Since the warm-up: delays, and how many waited for how long.
    delays_s: f64,
    delay_max: Duration,
    handed_over: u64,
    waited_s: f64,
    waiting_max: u64,
    since: Instant,
    began: Instant,
}

impl Resequencer {
    /// A connection takes the next segment of the stream.
    pub(crate) const fn take(&mut self) -> u64 {
        self.taken += 1;
        self.taken - 1
    }

    /// Receives a segment of the stream, handed over at `handed`. Returns the number of segments that the application gets by it;
    /// their delays are noted.
    pub(crate) fn arrive(&mut self, now: Instant, number: u64, handed: Instant, one_way: &mut OneWay) -> u32 {
        debug_assert!(number >= self.expected && number < self.taken, "a segment came twice, or of itself");
        let place = (number - self.expected) as usize;
        if self.came.len() <= place {
            self.came.resize(place + 1, None);
        }
        debug_assert!(self.came[place].is_none(), "a segment came twice");
        self.came[place] = Some((handed, now));
        self.count(now);
        self.waiting += 1;
        let mut released = 0;
        while let Some(&Some((handed, came))) = self.came.front() {
            self.came.pop_front();
            one_way.add(now.since(handed));
            let delay = now.since(came.max(self.began));
            self.delays_s += delay.as_secs_f64();
            self.delay_max = self.delay_max.max(delay);
            released += 1;
        }
        self.expected += u64::from(released);
        self.handed_over += u64::from(released);
        self.waiting -= u64::from(released);
        self.waiting_max = self.waiting_max.max(self.waiting);
        released
    }

    /// The number that have waited since the last change.
    fn count(&mut self, now: Instant) {
        self.waited_s += self.waiting as f64 * now.since(self.since).as_secs_f64();
        self.since = now;
    }

    /// Everything before counts for nothing.
    pub(crate) const fn start_measuring(&mut self, now: Instant) {
        (self.delays_s, self.delay_max, self.handed_over) = (0.0, Duration::ZERO, 0);
        (self.waited_s, self.waiting_max) = (0.0, self.waiting);
        (self.since, self.began) = (now, now);
    }

    /// The measurement until now.
    pub(crate) fn result(&self, now: Instant) -> ResequencingResult {
        let waited_s = self.waited_s + self.waiting as f64 * now.since(self.since).as_secs_f64();
        ResequencingResult {
            delay_s: self.delays_s / (self.handed_over as f64).max(1.0),
            delay_s_max: self.delay_max.as_secs_f64(),
            buffer: waited_s / now.since(self.began).as_secs_f64().max(f64::MIN_POSITIVE),
            buffer_max: self.waiting_max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn early_segment_waits_for_earlier() {
        let (mut order, mut delays) = (Resequencer::default(), OneWay::default());
        (0..6).for_each(|number| assert_eq!(order.take(), number));
        // 0 at once; 2 and 3 wait 20 and 10 ms for 1; 5 waits for 4.
        let released = [(0, 0), (10, 2), (20, 3), (30, 1), (40, 5)]
            .map(|(ms, n)| order.arrive(at(ms), n, at(0), &mut delays));
        assert_eq!(released, [1, 0, 0, 3, 0]);
        let result = order.result(at(100));
        assert!((result.delay_s - 0.030 / 4.0).abs() < 1e-12, "{result:?}");
        assert!((result.delay_s_max - 0.020).abs() < 1e-12);
        assert_eq!(result.buffer_max, 2);
        // One for 10 ms, two for 10 ms, one for 60 ms.
        assert!((result.buffer - 0.9).abs() < 1e-9, "{result:?}");
        assert_eq!(order.arrive(at(110), 4, at(50), &mut delays), 2);
        // 0, 30 thrice; then 4 and 5, which was handed over first, at 110 ms.
        let delay = delays.result().unwrap();
        assert!((delay.mean_s - (3.0 * 0.030 + 0.060 + 0.110) / 6.0).abs() < 1e-12, "{delay:?}");
    }

    #[test]
    fn the_measured_time_begins_anew() {
        let (mut order, mut delays) = (Resequencer::default(), OneWay::default());
        (0..3).for_each(|number| assert_eq!(order.take(), number));
        order.arrive(at(0), 1, at(0), &mut delays);
        order.start_measuring(at(100));
        order.arrive(at(150), 0, at(0), &mut delays);
        order.arrive(at(150), 2, at(0), &mut delays);
        let result = order.result(at(200));
        // Segment 1 waited 50 ms of the measured time.
        assert!((result.delay_s - 0.050 / 3.0).abs() < 1e-12, "{result:?}");
        assert!((result.buffer - 0.5).abs() < 1e-9);
    }
}
