//! Random tapes: a law over a path with a queue for the excess of the window, with losses, time-outs, pauses,
//! and coarse clocks.

use evenair_laws::tape::{RecordOf, Recorder};
use evenair_laws::window::{Acked, Delivery, Loss, Repair, WindowLaw, WindowParams, WindowStart};
use evenair_units::{Duration, Instant};

/// Marsaglia's xorshift: the same tapes everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number from 0 to 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number below this.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        ((self.next() >> 32) * end) >> 32
    }

    fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// A path and its random events.
pub(super) struct Path {
    random: Random,
    base_us: f64,
    rate_pps: f64,
    loss: f64,
    timeout: f64,
}

impl Path {
    /// Returns a path with a round trip from 0.2 ms to 1 s, and a bandwidth-delay product from 2 to 2000
    /// packets.
    pub(super) fn random(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..8).for_each(|_| {
            random.next();
        });
        let base_us = 200.0 * 5000f64.powf(random.unit());
        let product = 2.0 * 1000f64.powf(random.unit());
        let loss = if random.happens(0.5) { 0.0 } else { 0.002 * random.unit() };
        Self { random, base_us, rate_pps: product / base_us * 1e6, loss, timeout: loss / 20.0 }
    }

    /// Returns the inputs and answers of a law over a number of acknowledgements.
    pub(super) fn tape(&mut self, params: &WindowParams, length: usize) -> Vec<RecordOf<WindowParams>> {
        let mut law = Recorder::new(params.clone(), Vec::new());
        law.begin(&WindowStart { initial_ssthresh: 100_000.0, ..WindowStart::default() });
        let (mut now_us, mut recovers) = (1e6, 0_u32);
        for _ in 0..length {
            let window = law.congestion_window();
            now_us += 1e6 / self.rate_pps.min(window / self.base_us * 1e6);
            let now = Instant::ZERO + Duration::from_micros(now_us as u64);
            let flight = window.max(1.0) as u32;
            if self.random.happens(self.loss) && recovers == 0 {
                law.on_loss(&Loss { now, flight: flight.into(), repeated: false });
                recovers = flight.min(50);
            } else if self.random.happens(self.timeout) {
                let repeated = self.random.happens(0.2);
                law.on_timeout(&Loss { now, flight: flight.into(), repeated });
                recovers = 0;
            }
            self.acknowledge(&mut law, now, flight, recovers > 0);
            recovers = recovers.saturating_sub(1);
        }
        law.into_tape()
    }

    fn acknowledge(&mut self, law: &mut impl WindowLaw, now: Instant, flight: u32, recovers: bool) {
        let waits = (f64::from(flight) - self.base_us * self.rate_pps / 1e6).max(0.0);
        let sample_us = (self.base_us + waits / self.rate_pps * 1e6) * (1.0 + 0.02 * self.random.unit());
        // The C implementation limits round trips to 33.5 s.
        let sample = Some(Duration::from_micros(sample_us.min(33.5e6) as u64));
        let is_duplicate = self.random.happens(0.01);
        let sample = sample.filter(|_| !is_duplicate && !self.random.happens(0.02));
        let in_slow_start = law.congestion_window() < law.slow_start_threshold();
        let segments = u32::from(!is_duplicate && (in_slow_start || self.random.happens(0.3)));
        let segments = if is_duplicate { 0 } else { 2 - segments };
        let segments = segments.min(flight);
        let repair = if recovers { Repair::Recovery } else { Repair::None };
        let after_idle = self.random.happens(0.0005);
        if law.sees_deliveries() {
            let flight = flight - segments;
            let round_trip = sample;
            law.on_delivery(&Delivery {
                now,
                segments,
                flight,
                repair,
                round_trip,
                after_idle,
                ..Delivery::default()
            });
        }
        law.on_ack(&Acked {
            now,
            segments,
            advances: !is_duplicate,
            in_recovery: recovers,
            window_limited: !self.random.happens(0.05),
            flight,
            sample,
            ..Acked::default()
        });
    }
}
