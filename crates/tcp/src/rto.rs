//! The retransmission time-out (RFC 6298).

use evenair_units::Duration;

/// Parameters of the estimator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoParams {
    /// Before the first sample (RFC 6298 section 2.1).
    pub initial: Duration,
    /// Never less than this (section 2.4).
    pub min: Duration,
    /// Never more than this (section 2.5).
    pub max: Duration,
    /// Samples are rounded to whole ticks of this clock; zero is exact.
    pub granularity: Duration,
}

impl RtoParams {
    /// RFC 6298: 1 s at first, at least 1 s, at most 60 s, a fine clock.
    pub const fn rfc6298() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            granularity: Duration::ZERO,
        }
    }

    /// ns-2 2.35: 3 s at first, at least 0.2 s, ticks of 10 ms.
    pub const fn ns2() -> Self {
        Self {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            granularity: Duration::from_millis(10),
        }
    }
}

/// Smoothed round-trip time, its variation, and the back-off of the timer.
#[derive(Clone, Debug, PartialEq)]
pub struct RtoEstimator {
    params: RtoParams,
    /// SRTT and RTTVAR \[s\]; none before the first sample.
    smoothed: Option<(f64, f64)>,
    /// SRTT, and the time-out without back-off, by the last sample: they are asked for at each acknowledgement.
    srtt: Option<Duration>,
    base: Duration,
    doublings: u32,
}

impl RtoEstimator {
    /// No sample yet.
    pub const fn new(params: RtoParams) -> Self {
        Self { params, smoothed: None, srtt: None, base: params.initial, doublings: 0 }
    }

    /// Takes a sample of a segment that was sent once only (Karn's rule), where a round trip is expected to
    /// bring `of` samples. Each counts for so much less, or the variation of a round trip ago would be
    /// forgotten (RFC 7323 section 4.2). It also ends the back-off of the timer.
    pub fn sample(&mut self, of: u32, round_trip: Duration) {
        let tick = self.params.granularity;
        let measured = if tick.is_zero() {
            round_trip
        } else {
            // Rounded to the nearest tick, and never none.
            tick * ((round_trip + tick / 2).whole(tick)).max(1)
        };
        let r = measured.as_secs_f64();
        let (srtt, rttvar) = match self.smoothed {
            None => (r, r / 2.0), // RFC 6298 section 2.2
            Some((srtt, rttvar)) => {
                // Section 2.3, α = 1/8, β = 1/4, the variation first.
                let of = f64::from(of.max(1));
                let (alpha, beta) = (0.125 / of, 0.25 / of);
                ((1.0 - alpha) * srtt + alpha * r, (1.0 - beta) * rttvar + beta * (srtt - r).abs())
            }
        };
        self.smoothed = Some((srtt, rttvar));
        self.srtt = Some(Duration::from_secs_f64(srtt));
        // Section 2.2 and 2.3: RTO = SRTT + max(G, 4 RTTVAR).
        let spread = (4.0 * rttvar).max(self.params.granularity.as_secs_f64());
        self.base = Duration::from_secs_f64(srtt + spread);
        self.doublings = 0;
    }

    /// The timer expired: it backs off (section 5.5).
    pub fn back_off(&mut self) {
        self.doublings = (self.doublings + 1).min(6);
    }

    /// The handshake needed the timer: without a sample it starts again from three seconds (section 5.7).
    pub const fn fall_back(&mut self) {
        if self.smoothed.is_none() {
            self.base = Duration::from_secs(3);
        }
        self.doublings = 0;
    }

    /// The time-out in force.
    #[inline]
    pub fn timeout(&self) -> Duration {
        (self.base.max(self.params.min) * (1 << self.doublings)).min(self.params.max)
    }

    /// The smoothed round-trip time, once there is one.
    #[inline]
    pub const fn smoothed(&self) -> Option<Duration> {
        self.srtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arithmetic_of_rfc_6298() {
        let params = RtoParams { min: Duration::ZERO, ..RtoParams::rfc6298() };
        let mut rto = RtoEstimator::new(params);
        assert_eq!(rto.timeout(), Duration::from_secs(1));
        rto.sample(1, Duration::from_millis(100));
        // SRTT = 100, RTTVAR = 50: 100 + 4·50 = 300 ms
        assert_eq!(rto.timeout(), Duration::from_millis(300));
        rto.sample(1, Duration::from_millis(200));
        // RTTVAR = ¾·50 + ¼·100 = 62.5, SRTT = ⅞·100 + ⅛·200 = 112.5: 362.5 ms
        assert_eq!(rto.timeout(), Duration::from_micros(362_500));
    }

    /// Over a round trip a swing weighs as much as one sample's would, for any number of samples.
    #[test]
    fn many_samples_a_round_trip_forget_no_sooner() {
        let params = RtoParams { min: Duration::ZERO, ..RtoParams::rfc6298() };
        let after = |samples: u32, of: u32| {
            let mut rto = RtoEstimator::new(params);
            for millis in [100, 400, 100, 400, 100, 100] {
                (0..samples).for_each(|_| rto.sample(of, Duration::from_millis(millis)));
            }
            rto.timeout().as_secs_f64()
        };
        let (one, shared, all_alike) = (after(1, 1), after(50, 50), after(50, 1));
        assert!((shared / one - 1.0).abs() < 0.1, "{shared} {one}");
        assert!(all_alike < 0.5 * shared, "{all_alike} {shared}");
    }

    #[test]
    fn the_timer_backs_off_until_a_sample() {
        let mut rto = RtoEstimator::new(RtoParams::rfc6298());
        rto.sample(1, Duration::from_millis(10));
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(rto.timeout(), Duration::from_secs(expected));
            rto.back_off();
        }
        rto.sample(1, Duration::from_millis(10));
        assert_eq!(rto.timeout(), Duration::from_secs(1));
    }

    #[test]
    fn a_coarse_clock_counts_ticks() {
        let mut rto = RtoEstimator::new(RtoParams { min: Duration::ZERO, ..RtoParams::ns2() });
        rto.sample(1, Duration::from_millis(2)); // less than a tick counts as one
        assert_eq!(rto.smoothed(), Some(Duration::from_millis(10)));
        let mut rto = RtoEstimator::new(RtoParams { min: Duration::ZERO, ..RtoParams::ns2() });
        rto.sample(1, Duration::from_millis(26)); // the nearest: three
        assert_eq!(rto.smoothed(), Some(Duration::from_millis(30)));
    }
}
