//! One-way delays of a flow's data: from the hand-over by the sending application to that to the receiving one, in order
//! (RFC 7679's metric, above the transport).
//!
//! The hand-over by the sending application is known for datagrams, for an application with a rate of its own, and for the web's
//! messages. An application that always has data, or has all of a transfer at once, hands each segment over when TCP takes it for
//! its first transmission. Its delay then counts the network, repetitions and the wait for earlier segments. It does not count
//! the wait in an endless send buffer.
//!
//! Delays of datagrams cost next to nothing. For segments the hand-over of each must be kept, which happens only on request
//! ([`RunSpec::times`](crate::RunSpec::times)).

use crate::queue::Delays;
use crate::times::{Histogram, Times};
use evenair_units::{Duration, Instant};

/// The delays of one flow, and how they vary.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct OneWay {
    /// All so far.
    all: Delays,
    last: Duration,
    /// RFC 3550's estimate.
    jitter_s: f64,
    /// Its sum since the warm-up, over all arrivals but the first of the run.
    jitters_s: f64,
    /// Each since the warm-up, if they are kept.
    pub(crate) each: Option<Histogram>,
    /// All until the warm-up ended; until the last point of the time series.
    at_warmup: Delays,
    at_sample: Delays,
}

impl OneWay {
    /// Data of this delay are handed to the application.
    #[inline]
    pub(crate) fn add(&mut self, delay: Duration) {
        if self.all.count > 0 {
            // RFC 3550 section 6.4.1 and A.8: J += (|D| − J)/16, D the difference of two successive transit times.
            let difference = delay.as_nanos().wrapping_sub(self.last.as_nanos()).cast_signed() as f64 * 1e-9;
            self.jitter_s += (difference.abs() - self.jitter_s) * (1.0 / 16.0);
            self.jitters_s += self.jitter_s;
        }
        self.last = delay;
        self.all.add(delay);
        if let Some(each) = &mut self.each {
            each.add(delay);
        }
    }

    /// Fetches the place of the next delay into the cache.
    pub(crate) fn fetch(&self) {
        self.each.iter().for_each(Histogram::fetch);
    }

    /// Everything before counts for nothing.
    pub(crate) fn start_measuring(&mut self) {
        self.at_warmup = self.all;
        self.jitters_s = 0.0;
        self.each.iter_mut().for_each(Histogram::clear);
    }

    /// The mean of those since this was last asked \[s\].
    pub(crate) fn take_mean_s(&mut self) -> Option<f64> {
        self.all.since(std::mem::replace(&mut self.at_sample, self.all)).mean_s()
    }

    /// Delays since the warm-up.
    pub(crate) fn result(&self) -> Option<Times> {
        Times::of(self.all.since(self.at_warmup), self.each.as_ref())
    }

    /// The mean of RFC 3550's estimate, over the arrivals since the warm-up \[s\].
    pub(crate) fn jitter_s(&self) -> Option<f64> {
        let first = u64::from(self.at_warmup.count == 0);
        let arrivals = self.all.since(self.at_warmup).count.saturating_sub(first);
        (arrivals > 0).then(|| self.jitters_s / arrivals as f64)
    }
}

/// When an application produces the segment of this number, of those for a connection that was opened then.
pub(super) fn produced(opened: Instant, interval: Duration, number: u32) -> Instant {
    opened + Duration::from_nanos(interval.as_nanos() * u64::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        // Transit times 10, 14, 12, 12, 20 ms: |D| = 4, 2, 0, 8 ms, so that by hand
        // J = 4/16 = 0.25; 0.25 + 1.75/16 = 0.359375; 0.359375·15/16 = 0.3369140625; 0.8158569336 ms.
        let mut delays = OneWay { each: Some(Histogram::default()), ..OneWay::default() };
        assert_eq!(delays.jitter_s(), None);
        for ms in [10, 14, 12, 12, 20] {
            delays.add(Duration::from_millis(ms));
        }
        assert!((delays.jitter_s * 1e3 - 0.815_856_933_6).abs() < 1e-9, "{}", delays.jitter_s);
        let mean = (0.25 + 0.359_375 + 0.336_914_062_5 + 0.815_856_933_6) / 4.0;
        assert!((delays.jitter_s().unwrap() * 1e3 - mean).abs() < 1e-9);
        let times = delays.result().unwrap();
        assert!((times.mean_s - 0.0136).abs() < 1e-12 && times.count == 5, "{times:?}");
        assert!((times.p99_s.unwrap() / 0.020 - 1.0).abs() < 0.01 && times.histogram.count() == 5);
        // The estimate goes on through the warm-up's end; its mean starts again.
        delays.start_measuring();
        assert_eq!((delays.result(), delays.jitter_s()), (None, None));
        delays.add(Duration::from_millis(20));
        assert!((delays.jitter_s().unwrap() * 1e3 - 0.815_856_933_6 * 15.0 / 16.0).abs() < 1e-9);
    }
}
