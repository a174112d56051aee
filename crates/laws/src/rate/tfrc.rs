//! TFRC: the rate that TCP would have at the loss-event rate and the round-trip time that the receiver reports.
//!
//! It is the sending half of a protocol, not a law of an interval: reports come once a round trip, and a
//! missing report is a signal too. The endpoints are `evenair-tcp`'s (`tfrc`); they decide by this machine.
//!
//! # Law
//! `X = 1/(R·√(2bp/3) + t_RTO·3·√(3bp/8)·p·(1 + 32p²))` packets per second, at most twice the recent receive
//! rate; before the first loss twice as fast every round trip.
//!
//! # Source
//! RFC 5348 section 3.1 (equation), 4.2 to 4.5 (sender), 6.3.1 (the equation's inverse). [CZ06] section IV lets n of them run
//! (Z6, Z7); [CZ06] reference 14 makes one of n.
//!
//! # Symbols
//! `X` → `rate` \[packets/s\]; `p` → `loss_event_rate`; `R` → `round_trip` \[s\]; `t_RTO` → [`TfrcParams::timeout`]; `b` →
//! [`TfrcParams::packets_per_ack`]; `q` → [`TfrcParams::round_trip_memory`]; `t_mbi` → [`TfrcParams::interval_max`]; `tld` →
//! `doubled`; `X_recv_set` → `received`; `W_init` → [`TfrcParams::initial_window`] \[packets\].
//!
//! # Signals
//! [`Report`]: a sample of the round-trip time, the receiver's loss-event rate and receive rate.
//!
//! # Deviations
//! Rates are packets per second, one size of packet being all that a flow has: `s` cancels but in `W_init`. A
//! round trip counts as a microsecond at least. The set of receive rates holds the last eight, which no
//! receiver that reports by the RFC fills. AIO-TFRC's paper is not at hand. Here `worth` n multiplies the
//! equation, the initial window and the least rate. The receiver counts losses within R/n as one event, so
//! that each n-th of the flow sees the loss events that a flow of its rate would.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::flow::FlowRole;
//! use evenair_laws::rate::tfrc::{Report, TfrcParams, throughput};
//! use evenair_units::{Bytes, Duration, Instant};
//! let mut law = TfrcParams::rfc5348().begin(&FlowRole { payload: Bytes::new(1460) });
//! assert_eq!(law.rate(), 1.0);
//! let ms = Duration::from_millis;
//! let report = |at, received, p| Report {
//!     now: Instant::ZERO + ms(at), round_trip: ms(100), receive_rate: received, loss_event_rate: p, data_limited: false,
//! };
//! // The first report: W_init = min(4, max(2, 4380/1460)) = 3 packets a round trip.
//! law.on_report(&report(100, 0.0, 0.0));
//! assert!((law.rate() - 30.0).abs() < 1e-9);
//! // Nothing is lost: twice as fast, round trip by round trip.
//! law.on_report(&report(200, 30.0, 0.0));
//! assert!((law.rate() - 60.0).abs() < 1e-9);
//! // At one event in a hundred packets it is the equation's rate, 112 packets/s, once twice the receive rate allows it.
//! law.on_report(&report(300, 60.0, 0.01));
//! assert!((law.rate() - throughput(0.01, 0.1, 0.4, 1.0)).abs() < 1e-9);
//! ```

use crate::flow::FlowRole;
use crate::{BadParameter, Parameters, check, check_time};
use evenair_units::{Bytes, Duration, Instant};

/// More than any receive rate: the set's entry before the first report \[packets/s\].
const UNLIMITED: f64 = f64::MAX;
/// Round trips in the equation's RTO (RFC 5348 section 3.1).
const RTO_ROUND_TRIPS: f64 = 4.0;
/// Of the receive rate, when a loss is reported of data-limited time (section 4.3).
const DATA_LIMITED_SHARE: f64 = 0.85;
/// RFC 5348 section 4.2, as RFC 3390 has it \[bytes\].
const INITIAL_BYTES: f64 = 4380.0;
/// Bounds of the inverse: a loss-event rate below is none that a run measures.
const LEAST_RATE_OF_EVENTS: f64 = 1e-10;
/// Shorter round trips count as this \[s\].
const ROUND_TRIP_MIN_S: f64 = 1e-6;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TfrcParams {
    /// q: how much of the smoothed round-trip time is its past.
    pub round_trip_memory: f64,
    /// b: packets that TCP acknowledges at once, in the equation.
    pub packets_per_ack: f64,
    /// The least RTO that the equation counts with; zero leaves it at four round trips.
    pub rto_min: Duration,
    /// `t_mbi`: the longest time between two packets.
    pub interval_max: Duration,
    /// Whether the rate follows the last round trip's square root over the mean one (RFC 5348 section 4.5).
    pub reduce_oscillations: bool,
    /// Whether a long time without loss makes earlier loss intervals count less (section 5.5).
    pub discounting: bool,
    /// Whether one connection gets the worth of the connection law's number, instead of that many connections
    /// (AIO-TFRC).
    pub aggregate: bool,
}

impl TfrcParams {
    /// RFC 5348: q = 0.9, b = 1, `t_RTO` = 4R, `t_mbi` = 64 s, history discounting.
    pub const fn rfc5348() -> Self {
        Self {
            round_trip_memory: 0.9,
            packets_per_ack: 1.0,
            rto_min: Duration::ZERO,
            interval_max: Duration::from_secs(64),
            reduce_oscillations: false,
            discounting: true,
            aggregate: false,
        }
    }

    /// `t_RTO` of the equation \[s\]: four round trips (RFC 5348 section 3.1).
    pub fn timeout(&self, round_trip_s: f64) -> f64 {
        (RTO_ROUND_TRIPS * round_trip_s).max(self.rto_min.as_secs_f64())
    }

    /// RFC 5348 section 4.2: `min(4s, max(2s, 4380))` \[packets\].
    pub fn initial_window(payload: Bytes) -> f64 {
        (INITIAL_BYTES / f64::from(payload.count().max(1))).clamp(2.0, 4.0)
    }

    /// The rate of one connection at a loss-event rate \[packets/s\]: the law's fluid face.
    pub fn rate_at(&self, loss_event_rate: f64, round_trip_s: f64) -> f64 {
        throughput(loss_event_rate, round_trip_s, self.timeout(round_trip_s), self.packets_per_ack)
    }

    /// Its inverse: the loss-event rate at which one connection has this rate.
    pub fn loss_event_rate_for(&self, rate: f64, round_trip_s: f64) -> f64 {
        let (mut low, mut high) = (libm::log(LEAST_RATE_OF_EVENTS), 0.0);
        // The rate falls with p: sixty halvings of 23 leave nothing.
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.rate_at(libm::exp(middle), round_trip_s) > rate {
                low = middle;
            } else {
                high = middle;
            }
        }
        libm::exp(f64::midpoint(low, high)).min(1.0)
    }
}

/// RFC 5348 section 3.1, the TCP throughput equation \[packets/s\].
pub fn throughput(loss_event_rate: f64, round_trip_s: f64, timeout_s: f64, packets_per_ack: f64) -> f64 {
    let (p, b) = (loss_event_rate, packets_per_ack);
    let root = round_trip_s * libm::sqrt(2.0 * b * p / 3.0);
    let timeouts = timeout_s * 3.0 * libm::sqrt(3.0 * b * p / 8.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (root + timeouts)
}

impl Default for TfrcParams {
    fn default() -> Self {
        Self::rfc5348()
    }
}

impl Parameters for TfrcParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = Tfrc;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { round_trip_memory: q, packets_per_ack: b, .. } = self;
        check("round_trip_memory", q, (0.0..1.0).contains(&q), "0 or more, and below 1")?;
        check("packets_per_ack", b, (1.0..=100.0).contains(&b), "1 to 100")?;
        check_time("interval_max", self.interval_max)?;
        Ok(self)
    }

    /// One packet a second, until a report has the round-trip time (RFC 5348 section 4.2).
    fn begin(&self, flow: &FlowRole) -> Tfrc {
        Tfrc {
            params: *self,
            initial_window: Self::initial_window(flow.payload),
            worth: 1.0,
            rate: 1.0,
            round_trip_s: None,
            root_mean: 0.0,
            last_sample_s: 0.0,
            loss_event_rate: 0.0,
            doubled: Instant::ZERO,
            received: ReceiveRates::unlimited(),
        }
    }
}

/// The receiver's report to the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// When it came.
    pub now: Instant,
    /// The round trip of the packet that it answers, the receiver's delay taken off.
    pub round_trip: Duration,
    /// `X_recv`: the receive rate of the last round trip \[packets/s\].
    pub receive_rate: f64,
    /// p: the receiver's loss-event rate.
    pub loss_event_rate: f64,
    /// Whether the sender had less to send than it was allowed, all the time that the report is about.
    pub data_limited: bool,
}

/// The law's state at one connection.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tfrc {
    params: TfrcParams,
    initial_window: f64,
    /// How many connections it stands for.
    worth: f64,
    rate: f64,
    round_trip_s: Option<f64>,
    /// `R_sqmean`: the smoothed square root of the round trip.
    root_mean: f64,
    last_sample_s: f64,
    loss_event_rate: f64,
    /// When the rate was doubled last.
    doubled: Instant,
    received: ReceiveRates,
}

impl Tfrc {
    /// X: the allowed rate \[packets/s\].
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// `X_inst`, the current rate \[packets/s\]: X, or the rate that reduces oscillations (RFC 5348 section
    /// 4.5).
    pub fn rate_now(&self) -> f64 {
        if self.params.reduce_oscillations && self.last_sample_s > 0.0 {
            (self.rate * self.root_mean / libm::sqrt(self.last_sample_s)).max(self.least())
        } else {
            self.rate
        }
    }

    /// R, the smoothed round-trip time, once there is one.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip_s.map(Duration::from_secs_f64)
    }

    /// p, as reported last.
    pub fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// How many connections it stands for.
    pub fn worth(&self) -> f64 {
        self.worth
    }

    /// It stands for so many connections from here on, one at least.
    pub fn set_worth(&mut self, worth: f64) {
        self.worth = if worth > 1.0 { worth.min(1e6) } else { 1.0 };
    }

    /// How long without a report until [`Self::on_silence`]: 2 s at first (RFC 5348 section 4.2), then step 3 of section 4.3.
    pub fn patience(&self) -> Duration {
        match self.round_trip_s {
            None => Duration::from_secs(2),
            Some(round_trip_s) => {
                Duration::from_secs_f64((RTO_ROUND_TRIPS * round_trip_s).max(2.0 / self.rate))
            }
        }
    }

    /// A packet per `t_mbi`.
    fn least(&self) -> f64 {
        self.worth / self.params.interval_max.as_secs_f64()
    }

    /// `W_init/R`.
    fn initial_rate(&self, round_trip_s: f64) -> f64 {
        self.worth * self.initial_window / round_trip_s
    }

    /// RFC 5348 section 4.3.
    pub fn on_report(&mut self, report: &Report) {
        debug_assert!(report.receive_rate >= 0.0, "a receive rate below nothing");
        debug_assert!((0.0..=1.0).contains(&report.loss_event_rate), "more events than packets");
        let sample_s = report.round_trip.as_secs_f64().max(ROUND_TRIP_MIN_S);
        let q = self.params.round_trip_memory;
        // Steps 1 and 2, and section 4.5's mean of roots; its memory q₂ is 0.9 as well.
        let (round_trip_s, root_mean) = match self.round_trip_s {
            None => (sample_s, libm::sqrt(sample_s)),
            Some(mean) => {
                (q * mean + (1.0 - q) * sample_s, 0.9 * self.root_mean + 0.1 * libm::sqrt(sample_s))
            }
        };
        (self.round_trip_s, self.root_mean, self.last_sample_s) = (Some(round_trip_s), root_mean, sample_s);
        let worse = report.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = report.loss_event_rate;
        // Step 4.
        let limit = match (report.data_limited, worse) {
            (true, true) => {
                self.received.halve();
                self.received.maximize(report.now, DATA_LIMITED_SHARE * report.receive_rate);
                self.received.greatest()
            }
            (true, false) => {
                self.received.maximize(report.now, report.receive_rate);
                2.0 * self.received.greatest()
            }
            (false, _) => {
                self.received.update(report.now, report.receive_rate, round_trip_s);
                2.0 * self.received.greatest()
            }
        };
        self.follow(report.now, round_trip_s, limit);
    }

    /// The second half of step 4: the rate by the equation, or by slow start.
    fn follow(&mut self, now: Instant, round_trip_s: f64, limit: f64) {
        if self.loss_event_rate > 0.0 {
            let wanted = self.worth * self.params.rate_at(self.loss_event_rate, round_trip_s);
            self.rate = wanted.min(limit).max(self.least());
        } else if now.since(self.doubled).as_secs_f64() >= round_trip_s {
            self.rate = (2.0 * self.rate).min(limit).max(self.initial_rate(round_trip_s));
            self.doubled = now;
        }
    }

    /// No report for as long as [`Self::patience`] (RFC 5348 section 4.4); `idle` if nothing was sent in that
    /// time.
    pub fn on_silence(&mut self, now: Instant, idle: bool) {
        let halved = (self.rate / 2.0).max(self.least());
        let Some(round_trip_s) = self.round_trip_s else {
            if !idle {
                self.rate = halved;
            }
            return;
        };
        let (received, recover) = (self.received.greatest(), self.initial_rate(round_trip_s));
        let lossless = self.loss_event_rate <= 0.0;
        let is_slow = if lossless { self.rate < 2.0 * recover } else { received < recover };
        if idle && is_slow {
            return; // so slow that an idle time costs it nothing
        }
        if lossless {
            self.rate = halved;
            return;
        }
        let wanted = self.worth * self.params.rate_at(self.loss_event_rate, round_trip_s);
        // The limit of the rate is halved: twice the receive rate, or the equation.
        let limit = if wanted > 2.0 * received { received } else { wanted / 2.0 };
        let limit = limit.max(self.least());
        self.received = ReceiveRates::only(now, limit / 2.0);
        self.follow(now, round_trip_s, limit);
    }
}

/// `X_recv_set`: the receive rates of the last two round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct ReceiveRates {
    /// The time and value of each report \[packets/s\]; the first `count` are valid.
    rates: [(Instant, f64); 8],
    count: usize,
}

impl ReceiveRates {
    const fn unlimited() -> Self {
        Self::only(Instant::ZERO, UNLIMITED)
    }

    const fn only(now: Instant, rate: f64) -> Self {
        Self { rates: [(now, rate); 8], count: 1 }
    }

    fn entries(&self) -> &[(Instant, f64)] {
        &self.rates[..self.count]
    }

    fn greatest(&self) -> f64 {
        self.entries().iter().fold(0.0, |most, &(_, rate)| rate.max(most))
    }

    fn halve(&mut self) {
        for (_, rate) in &mut self.rates {
            if *rate < UNLIMITED {
                *rate /= 2.0;
            }
        }
    }

    /// The greatest of all, from now on; the beginning's infinity is none of them.
    fn maximize(&mut self, now: Instant, rate: f64) {
        let known = self.entries().iter().map(|&(_, rate)| rate).filter(|&rate| rate < UNLIMITED);
        *self = Self::only(now, known.fold(rate, f64::max));
    }

    fn update(&mut self, now: Instant, rate: f64, round_trip_s: f64) {
        let mut kept = Self { count: 0, ..*self };
        // With room for one more; the oldest goes first.
        for &(at, rate) in &self.entries()[self.count.saturating_sub(7)..] {
            if now.since(at).as_secs_f64() <= 2.0 * round_trip_s {
                kept.rates[kept.count] = (at, rate);
                kept.count += 1;
            }
        }
        kept.rates[kept.count] = (now, rate);
        kept.count += 1;
        *self = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn each_parameter_has_its_range() {
        let params = TfrcParams::rfc5348();
        let memory = |round_trip_memory| TfrcParams { round_trip_memory, ..params };
        crate::ranges::assert_range("round_trip_memory", memory, &[0.0, 0.5], &[-0.1, 1.0, f64::NAN]);
        let b = |packets_per_ack| TfrcParams { packets_per_ack, ..params };
        crate::ranges::assert_range("packets_per_ack", b, &[1.0, 2.0, 100.0], &[0.9, 100.1, f64::NAN]);
    }

    /// RFC 5348 section 3.1: `t_RTO` = 4·R. Section 4.3: no fewer than a packet in 64 s.
    #[test]
    fn report_updates_the_sender() {
        assert!((TfrcParams::rfc5348().timeout(0.1) - 0.4).abs() < 1e-12);
        let mut law = law();
        assert_eq!((law.round_trip(), law.loss_event_rate()), (None, 0.0));
        law.on_report(&report(10_000, 0.0, 0.5));
        assert_eq!((law.round_trip(), law.loss_event_rate()), (Some(MS * 100), 0.5));
        assert!((law.rate() - 1.0 / 64.0).abs() < 1e-15);
    }

    /// RFC 5348 section 4.5: `X_inst = X·R_sqmean/√R_sample`.
    #[test]
    fn only_damped_law_departs_from_its_rate() {
        let now = |reduce_oscillations, last_sample_s| {
            let law = Tfrc { rate: 30.0, root_mean: 0.5, last_sample_s, ..law() };
            Tfrc { params: TfrcParams { reduce_oscillations, ..law.params }, ..law }.rate_now()
        };
        assert!((now(true, 0.16) - 30.0 * 0.5 / 0.4).abs() < 1e-12);
        assert!((now(false, 0.16) - 30.0).abs() < 1e-12);
        assert!((now(true, 0.0) - 30.0).abs() < 1e-12, "there is no sample");
    }

    /// RFC 5348 section 4.4: while it is idle a rate below twice `W_init/R` is left, here 2·4/0.1 s = 80/s; with losses, a
    /// receive rate below `W_init/R`.
    #[test]
    fn idle_sender_keeps_its_initial_rate() {
        let after = |rate, loss_event_rate, received| {
            let received = ReceiveRates::only(Instant::ZERO, received);
            let mut law = Tfrc { rate, loss_event_rate, received, round_trip_s: Some(0.1), ..law() };
            law.on_silence(Instant::ZERO + MS * 400, true);
            law.rate
        };
        for (rate, left) in [(79.0, 79.0), (80.0, 40.0), (90.0, 45.0)] {
            assert!((after(rate, 0.0, 1e3) - left).abs() < 1e-12, "{rate}");
        }
        assert!((after(50.0, 0.01, 39.0) - 50.0).abs() < 1e-12);
        assert!(after(50.0, 0.01, 40.0) < 50.0);
    }

    /// RFC 5348 section 4.4: above twice the receive rate the limit is that, else half of the equation's
    /// rate.
    #[test]
    fn silence_halves_the_limit_of_the_rate() {
        let after = |wanted| {
            let received = ReceiveRates::only(Instant::ZERO, 10.0);
            let mut law = Tfrc { rate: 15.0, received, round_trip_s: Some(0.1), ..law() };
            law.loss_event_rate = law.params.loss_event_rate_for(wanted, 0.1);
            law.on_silence(Instant::ZERO + MS * 400, false);
            law.rate
        };
        assert!((after(15.0) - 7.5).abs() < 1e-6 && (after(25.0) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn half_of_no_limit_is_none() {
        let mut rates = ReceiveRates::unlimited();
        rates.halve();
        assert_eq!(rates.greatest().to_bits(), UNLIMITED.to_bits());
        let mut rates = ReceiveRates::only(Instant::ZERO, 5.0);
        rates.halve();
        assert!((rates.greatest() - 2.5).abs() < 1e-12);
    }

    fn law() -> Tfrc {
        TfrcParams::rfc5348().begin(&FlowRole { payload: Bytes::new(1000) })
    }

    fn report(at_ms: u64, receive_rate: f64, loss_event_rate: f64) -> Report {
        Report {
            now: Instant::ZERO + MS * at_ms,
            round_trip: MS * 100,
            receive_rate,
            loss_event_rate,
            data_limited: false,
        }
    }

    fn near(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    /// RFC 5348 section 3.1: p = 1 %, R = 100 ms, `t_RTO` = 400 ms. R·√(0.02/3) = 8.165 ms; 0.4·3·√0.00375·0.01·1.0032 =
    /// 0.737 ms; 1/8.902 ms = 112.3/s.
    #[test]
    fn the_equations_arithmetic() {
        assert!(
            (throughput(0.01, 0.1, 0.4, 1.0) - 112.33).abs() < 0.01,
            "{}",
            throughput(0.01, 0.1, 0.4, 1.0)
        );
        // At p = 10 %: 25.82 ms and 0.4·3·√0.0375·0.1·1.32 = 30.67 ms: 17.70/s.
        assert!((throughput(0.1, 0.1, 0.4, 1.0) - 17.70).abs() < 0.01, "{}", throughput(0.1, 0.1, 0.4, 1.0));
        // b = 2: both roots grow by √2.
        assert!(near(throughput(0.01, 0.1, 0.4, 2.0) * libm::sqrt(2.0), throughput(0.01, 0.1, 0.4, 1.0)));
        // Few losses: 1/(R·√(2p/3)), 1.22/(R·√p).
        assert!((throughput(1e-6, 0.1, 0.4, 1.0) * 0.1 * 1e-3 - libm::sqrt(1.5)).abs() < 1e-3);
        let floored = TfrcParams { rto_min: Duration::from_secs(1), ..TfrcParams::rfc5348() };
        assert!(near(floored.rate_at(0.01, 0.1), throughput(0.01, 0.1, 1.0, 1.0)));
    }

    /// RFC 5348 section 4.2: four packets of up to 1095 bytes, two of 2190 and more.
    #[test]
    fn the_initial_window() {
        for (bytes, packets) in [(536, 4.0), (1000, 4.0), (1095, 4.0), (1460, 3.0), (2190, 2.0), (9000, 2.0)]
        {
            assert!((TfrcParams::initial_window(Bytes::new(bytes)) - packets).abs() < 1e-12, "{bytes}");
        }
    }

    /// With a constant loss-event rate and its own rate as reports, the machine rests where the fluid law
    /// does.
    #[test]
    fn the_machine_rests_at_the_equations_rate() {
        for p in [0.005, 0.02, 0.08] {
            let mut law = law();
            for step in 1..40 {
                let received = law.rate();
                law.on_report(&report(100 * step, received, p));
            }
            assert!(near(law.rate(), TfrcParams::rfc5348().rate_at(p, 0.1)), "{p}");
        }
    }

    #[test]
    fn rate_is_at_most_twice_the_receive_rate() {
        let mut law = law();
        law.on_report(&report(100, 0.0, 0.0));
        law.on_report(&report(200, 25.0, 0.0));
        assert!(near(law.rate(), 80.0), "infinity is two round trips old only at the next: {}", law.rate());
        law.on_report(&report(350, 30.0, 0.0));
        assert!(near(law.rate(), 60.0), "{}", law.rate());
        law.on_report(&report(450, 10.0, 0.001));
        assert!(near(law.rate(), 60.0), "twice the greatest of two round trips: {}", law.rate());
    }

    /// RFC 5348 section 4.3: reports of data-limited time bound the rate by the greatest so far, not by the
    /// last.
    #[test]
    fn application_that_sends_little_keeps_its_rate() {
        let limited = |at, received, p| Report { data_limited: true, ..report(at, received, p) };
        let mut law = law();
        law.on_report(&report(100, 0.0, 0.0));
        law.on_report(&limited(400, 40.0, 0.0));
        assert!(near(law.rate(), 80.0), "{}", law.rate());
        law.on_report(&limited(800, 2.0, 0.0));
        assert!(near(law.rate(), 80.0), "held, not doubled: {}", law.rate());
        // A loss: the greatest of 40/2 and 0.85·30.
        law.on_report(&limited(1200, 30.0, 0.0001));
        assert!(near(law.rate(), 25.5), "{}", law.rate());
    }

    /// RFC 5348 section 4.4.
    #[test]
    fn silence_halves_the_rate_under_any_limit() {
        let mut fresh = law();
        assert_eq!(fresh.patience(), Duration::from_secs(2));
        fresh.on_silence(Instant::ZERO + MS * 2000, false);
        assert!(near(fresh.rate(), 0.5));
        let mut lossless = law();
        lossless.on_report(&report(100, 0.0, 0.0));
        assert_eq!(lossless.patience(), MS * 400, "4R");
        lossless.on_silence(Instant::ZERO + MS * 500, false);
        assert!(near(lossless.rate(), 20.0));
        assert!(near(lossless.rate(), 40.0 / 2.0));
        for (received, p) in [(20.0, 0.01), (500.0, 0.01)] {
            let mut law = law();
            (1..10).for_each(|i| law.on_report(&report(100 * i, received, p)));
            let before = law.rate();
            assert!(near(before, (2.0 * received).min(law.params.rate_at(p, 0.1))));
            for _ in 0..3 {
                let before = law.rate();
                law.on_silence(Instant::ZERO + MS * 2000, false);
                assert!(near(law.rate(), before / 2.0), "{received} {before} {}", law.rate());
            }
        }
        // Idle and slower than the recovery rate of 40/s: an idle time costs nothing.
        let mut slow = law();
        (1..10).for_each(|i| slow.on_report(&report(100 * i, 20.0, 0.01)));
        let before = slow.rate();
        slow.on_silence(Instant::ZERO + MS * 2000, true);
        assert!(near(slow.rate(), before));
    }

    /// RFC 5348 section 4.5: a round trip that doubles slows the rate of the moment by nearly √2.
    #[test]
    fn long_round_trip_slows_rate_of_moment() {
        let params = TfrcParams { reduce_oscillations: true, ..TfrcParams::rfc5348() };
        let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
        (1..20).for_each(|i| law.on_report(&report(100 * i, 100.0, 0.01)));
        assert!(near(law.rate_now(), law.rate()));
        law.on_report(&Report { round_trip: MS * 200, ..report(2000, 100.0, 0.01) });
        // R_sqmean = 0.9·√0.1 + 0.1·√0.2; over √0.2: 0.9/√2 + 0.1.
        assert!(near(law.rate_now(), law.rate() * (0.9 / libm::sqrt(2.0) + 0.1)));
    }

    #[test]
    fn one_worth_several_has_their_rate() {
        let mut one = law();
        one.set_worth(2.5);
        (1..20).for_each(|i| one.on_report(&report(100 * i, 1e4, 0.01)));
        assert!(near(one.rate(), 2.5 * TfrcParams::rfc5348().rate_at(0.01, 0.1)));
        one.set_worth(f64::NAN);
        assert!(near(one.worth(), 1.0));
    }

    proptest! {
        /// The inverse of the equation, to twelve places.
        #[test]
        fn the_inverse_inverts(log_p in -14.0..0.0f64, round_trip_s in 1e-3..5.0) {
            let (params, p) = (TfrcParams::rfc5348(), libm::exp(log_p));
            let back = params.loss_event_rate_for(params.rate_at(p, round_trip_s), round_trip_s);
            prop_assert!((back / p - 1.0).abs() < 1e-9, "{p} {back}");
        }

        /// For any report, the rate is a number, at least a packet per t_mbi, at most the equation's or twice
        /// the receive rate.
        #[test]
        fn the_rate_is_bounded(
            steps in prop::collection::vec((0u64..10_000_000_000, 0u64..10_000_000_000, 0.0..1e9f64, 0.0..=1.0f64, 0u8..6), 1..60),
            oscillations in any::<bool>(),
            worth in 0.0..20.0f64,
        ) {
            let params = TfrcParams { reduce_oscillations: oscillations, ..TfrcParams::rfc5348() };
            let mut law = params.begin(&FlowRole { payload: Bytes::new(1000) });
            law.set_worth(worth);
            let mut now = Instant::ZERO;
            let mut most: f64 = 1.0;
            for (gap, round_trip, received, p, kind) in steps {
                now += Duration::from_nanos(gap);
                if kind == 0 { law.on_silence(now, gap % 2 == 0) } else {
                    let loss_event_rate = if kind == 1 { 0.0 } else { p };
                    let round_trip = Duration::from_nanos(round_trip);
                    let data_limited = kind == 2;
                    law.on_report(&Report { now, round_trip, receive_rate: received, loss_event_rate, data_limited });
                    most = most.max(received);
                    if loss_event_rate > 0.0 {
                        let equation = law.worth() * params.rate_at(loss_event_rate, law.round_trip_s.unwrap());
                        prop_assert!(law.rate() <= equation.max(law.least()) * (1.0 + 1e-12));
                    }
                }
                prop_assert!(law.rate().is_finite() && law.rate() >= law.least().min(1.0));
                // Two round trips of a microsecond and four packets each are the fastest start.
                prop_assert!(law.rate() <= 2.0 * most.max(8e6 * law.worth()) * f64::from(1 << 20));
                prop_assert!(law.rate_now() > 0.0 && !law.patience().is_zero());
            }
        }
    }
}
