//! BBR: the sender models its path by the greatest recent delivery rate and the least round trip, paces at
//! that rate, and keeps about two products of both under way.
//!
//! # Law
//! *Startup* paces at `2/ln 2` times the greatest rate, until that has not grown by a quarter in three round
//! trips. *Drain* paces at `ln 2/2` times it until no more is under way than the path holds, `B·d`.
//! *Bandwidth probing* repeats eight phases of a least round trip each: the first at 5/4 of `B` (until 5/4 of
//! `B·d` are under way, or a segment is lost), the second at 3/4 (or until `B·d` are), six at `B`. Whenever
//! `d` has not been seen for 10 s, *round-trip probing* keeps four segments for 200 ms and a round trip. The
//! window is `2·B·d`, and a little for acknowledgements that come in clumps. A loss does not cut it: recovery
//! conserves packets for a round trip, then grows back.
//!
//! # Source
//! N. Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14(5), 2016;
//! draft-cardwell-iccrg-bbr-congestion-control-00; the form of Linux 6.18's `tcp_bbr` (version 1).
//!
//! # Symbols
//! `B` (`BtlBw`) → `bandwidth` \[segments/s\], the greatest of ten round trips; `d` (`RTprop`) → `least`, of ten seconds.
//!
//! # Signals
//! Deliveries: delivery-rate samples, segments under way, losses, round trips. It paces, and steers its
//! window in recovery.
//!
//! # Deviations
//! Linux draws the phase at which probing begins among seven (never the one at 3/4). Laws draw nothing: the
//! first entry begins at [`BbrParams::phase`], each later one three phases on, so that all seven come in
//! turn; flows that should not probe together are given different ones. Linux's room for bursts is the number
//! of bytes that leave in a millisecond; a segment counts as 1460 bytes there. Linux does not pace the first
//! ten segments, nor is there a rate to pace at before the first acknowledgement here. Undoing after a
//! spurious time-out is the endpoint's, which has none. A fluid drift of the window it has not: between its
//! phases the window follows the model at once.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::window::{BbrParams, Delivery, RateSample, WindowLaw, WindowStart};
//! use evenair_units::Duration;
//! let start = WindowStart { initial_window: 10.0, initial_ssthresh: 1e6, byte_counting: true, ..WindowStart::default() };
//! let mut law = BbrParams::linux().begin(&start);
//! // Ten segments arrived within a round trip of 20 ms: 500 a second, paced at 99 % of 2.885 times that.
//! let rate = RateSample { segments: 10, interval: Duration::from_millis(20), ..RateSample::default() };
//! let round_trip = Some(Duration::from_millis(20));
//! law.on_delivery(&Delivery {
//!     segments: 1, total: 10, round_trip, smoothed: round_trip, rate: Some(rate), ..Delivery::default()
//! });
//! assert_eq!(law.pacing_gap().unwrap().whole(Duration::from_micros(1)), 700);
//! ```

mod estimate;
mod policer;
#[cfg(test)]
mod tests;

use super::{Acked, Delivery, Loss, RateSample, Repair, WINDOW_MAX, WindowLaw, WindowStart};
use crate::{BadParameter, Parameters, check, check_time};
use alloc::boxed::Box;
use estimate::{Aggregation, GreatestLately};
use evenair_units::{Duration, Instant};
use policer::Policer;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BbrParams {
    /// Startup paces at so many times the greatest rate; drain at the inverse.
    pub startup_gain: f64,
    /// The window, in products of rate and round trip.
    pub window_gain: f64,
    /// How long a least round trip is valid.
    pub round_trip_holds: Duration,
    /// How long few segments are under way to measure it again.
    pub round_trip_probe: Duration,
    /// With which of the seven phases in which it may begin, 0 being the one that probes, bandwidth probing begins first.
    pub phase: u32,
}

impl BbrParams {
    /// Linux: 2/ln 2, 2, 10 s, 200 ms.
    pub const fn linux() -> Self {
        Self {
            startup_gain: 2.0 / core::f64::consts::LN_2,
            window_gain: 2.0,
            round_trip_holds: Duration::from_secs(10),
            round_trip_probe: Duration::from_millis(200),
            phase: 0,
        }
    }
}

impl Default for BbrParams {
    fn default() -> Self {
        Self::linux()
    }
}

impl Parameters for BbrParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = Bbr;

    fn validated(self) -> Result<Self, BadParameter> {
        let (startup, window) = (self.startup_gain, self.window_gain);
        check("startup_gain", startup, startup > 1.0 && startup <= 10.0, "above 1, up to 10")?;
        check("window_gain", window, (1.0..=10.0).contains(&window), "from 1 to 10")?;
        check_time("round_trip_holds", self.round_trip_holds)?;
        check_time("round_trip_probe", self.round_trip_probe)?;
        check("phase", f64::from(self.phase), (self.phase as usize) < FIRST_PHASES.len(), "from 0 to 6")?;
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> Bbr {
        Bbr::new(*self, start)
    }
}

/// Bandwidth probing's pace, phase by phase.
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Phases in which it may begin, and how many further along each later entry begins.
const FIRST_PHASES: [u8; 7] = [0, 2, 3, 4, 5, 6, 7];
const PHASES_ON: u32 = 3;
/// The greatest rate is that of so many round trips.
const BANDWIDTH_ROUNDS: u32 = 10;
/// Startup ends after so many round trips in which the greatest rate has not grown by so much.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// The least window: two pairs, so that delayed acknowledgements keep coming.
const WINDOW_MIN: f64 = 4.0;
/// Before a round trip is known: ten segments (RFC 6928), in a millisecond.
const INITIAL_WINDOW: f64 = 10.0;
const INITIAL_ROUND_TRIP: Duration = Duration::from_millis(1);
/// Paced so much below the rate, lest the queue never drain.
const PACING_MARGIN: f64 = 0.99;
/// The longest gap: the longest retransmission time-out.
const GAP_MAX_S: f64 = 60.0;
/// At 1.2 Mb/s and more two segments are sent at once, at most those of 64 KiB; of 1460 bytes.
const PAIRS_FROM_PPS: f64 = 1_200_000.0 / 8.0 / 1460.0;
const BURST_MAX: f64 = 44.0;

/// The phases of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Mode {
    Startup,
    Drain,
    /// One of eight phases, and since when.
    ProbeBandwidth {
        phase: u8,
        since: Instant,
    },
    /// Until when, once few enough are under way; and whether a round trip has passed since then.
    ProbeRoundTrip {
        until: Option<Instant>,
        round_over: bool,
    },
}

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bbr {
    params: BbrParams,
    window: f64,
    ssthresh: f64,
    mode: Mode,
    /// How often bandwidth probing has begun.
    entries: u32,
    path: Box<Path>,
    /// Round trips so far; one ends when a segment is acknowledged that was sent after the round trip began.
    rounds: u32,
    round_ends: u64,
    round_starts: bool,
    /// The least round trip, and when it was seen.
    least: Option<Duration>,
    least_at: Instant,
    /// The rate that startup has to beat, and how many round trips it has not; whether the pipe was full once.
    full_bandwidth: f64,
    full_rounds: u32,
    is_full: bool,
    /// The pace \[segments/s\].
    pace: Option<f64>,
    gap: Option<Duration>,
    /// The window before a recovery or a round-trip probe.
    prior_window: f64,
    /// As many segments are let out as arrive.
    conserves: bool,
    repair: Repair,
    after_idle: bool,
    /// While so many segments had arrived, few were sent by the law's own will: rates are too low then.
    held_back: Option<(u64, u64)>,
}

/// The account of the path's deliveries; apart, so that the law is no larger than others by much.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Path {
    /// The greatest rate of ten round trips \[segments/s\].
    bandwidth: GreatestLately,
    aggregation: Aggregation,
    policer: Policer,
    last: Delivered,
}

/// The segments delivered and lost in all at the last acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Delivered {
    at: Instant,
    total: u64,
    lost: u64,
}

impl Bbr {
    /// The state at the start of a connection.
    pub fn new(params: BbrParams, start: &WindowStart) -> Self {
        Self {
            params,
            window: start.initial_window,
            ssthresh: start.initial_ssthresh,
            mode: Mode::Startup,
            entries: 0,
            path: Box::default(),
            rounds: 0,
            round_ends: 0,
            round_starts: false,
            least: None,
            least_at: Instant::ZERO,
            full_bandwidth: 0.0,
            full_rounds: 0,
            is_full: false,
            pace: None,
            gap: None,
            prior_window: 0.0,
            conserves: false,
            repair: Repair::None,
            after_idle: false,
            held_back: None,
        }
    }

    /// The rate that the path delivers: a policer's rate, if one was found.
    fn rate_pps(&self) -> f64 {
        self.path.policer.rate_pps().unwrap_or_else(|| self.path.bandwidth.greatest())
    }

    /// Pace and window, in terms of the model.
    fn gains(&self) -> (f64, f64) {
        match self.mode {
            Mode::Startup => (self.params.startup_gain, self.params.startup_gain),
            Mode::Drain => (1.0 / self.params.startup_gain, self.params.startup_gain),
            Mode::ProbeBandwidth { phase, .. } => {
                let policed = self.path.policer.rate_pps().is_some();
                (if policed { 1.0 } else { GAINS[usize::from(phase)] }, self.params.window_gain)
            }
            Mode::ProbeRoundTrip { .. } => (1.0, 1.0),
        }
    }

    /// How many segments leave at once.
    fn burst(&self) -> f64 {
        let pace = self.pace.unwrap_or(0.0);
        let least = if pace < PAIRS_FROM_PPS { 1.0 } else { 2.0 };
        libm::floor(pace / 1024.0).clamp(least, BURST_MAX)
    }

    /// The path's capacity, times a gain \[segments\].
    fn product(&self, rate_pps: f64, gain: f64) -> f64 {
        match self.least {
            None => INITIAL_WINDOW,
            Some(least) => libm::ceil(rate_pps * least.as_secs_f64() * gain).min(WINDOW_MAX),
        }
    }

    /// The same with room for bursts at both ends, even, and for the probe to show in small windows.
    fn with_room(&self, segments: f64) -> f64 {
        let even = 2.0 * libm::ceil(0.5 * (segments + 3.0 * self.burst()));
        let probes = matches!(self.mode, Mode::ProbeBandwidth { phase: 0, .. });
        even + if probes { 2.0 } else { 0.0 }
    }

    /// Of so many under way, those that will be in the network when the next segment may leave.
    fn in_network(&self, under_way: u32, delivery: &Delivery, gain: f64) -> f64 {
        let ahead_s = delivery.paced_until.since(delivery.now).as_secs_f64();
        let leaves = if gain > 1.0 { self.burst() } else { 0.0 };
        (f64::from(under_way) + leaves - libm::floor(self.rate_pps() * ahead_s)).max(0.0)
    }

    /// The sample, marked where the law itself held the sender back.
    fn marked(&self, sample: RateSample) -> RateSample {
        let held = self.held_back.is_some_and(|(from, to)| (from..=to).contains(&sample.before));
        RateSample { application_limited: sample.application_limited || held, ..sample }
    }

    /// Rounds, the greatest rate, the policer, clumps of acknowledgements.
    fn learn_rate(&mut self, delivery: &Delivery, sample: Option<RateSample>) {
        self.round_starts = false;
        let Some(sample) = sample else { return };
        if sample.before >= self.round_ends {
            self.round_ends = delivery.total;
            self.rounds += 1;
            self.round_starts = true;
            self.conserves = false;
        }
        if self.path.policer.is_used() {
            let probes = matches!(self.mode, Mode::ProbeBandwidth { .. });
            if probes && self.round_starts && self.path.policer.is_stale() {
                self.path.policer = Policer::default();
                self.begin_probing(delivery.now);
            }
        } else {
            let limited = sample.application_limited;
            self.path.policer.learn(self.path.last, delivery.lost > 0, limited, self.round_starts);
        }
        let rate = sample.rate_pps();
        if !sample.application_limited || rate >= self.path.bandwidth.greatest() {
            self.path.bandwidth.add(self.rounds, BANDWIDTH_ROUNDS, rate);
        }
        if delivery.segments > 0 {
            if self.round_starts {
                self.path.aggregation.count_round();
            }
            self.path.aggregation.add(delivery.now, delivery.segments, self.rate_pps(), self.window);
        }
    }

    fn begin_probing(&mut self, now: Instant) {
        let place = self.params.phase.wrapping_add(self.entries.wrapping_mul(PHASES_ON)) as usize;
        let phase = FIRST_PHASES[place % FIRST_PHASES.len()];
        self.entries = self.entries.wrapping_add(1);
        self.mode = Mode::ProbeBandwidth { phase, since: now };
    }

    /// Moves to the next of the eight phases when this one has lasted long enough or has reached its aim.
    fn turn_phase(&mut self, delivery: &Delivery) {
        let Mode::ProbeBandwidth { phase, since } = self.mode else { return };
        let (gain, _) = self.gains();
        let lasted = self.least.is_some_and(|least| delivery.now.since(since) > least);
        let rate = self.path.bandwidth.greatest();
        let holds = |gain| self.with_room(self.product(rate, gain));
        let in_network = || self.in_network(delivery.flight_before, delivery, gain);
        let is_over = if gain > 1.0 {
            lasted && (delivery.lost > 0 || in_network() >= holds(gain))
        } else if gain < 1.0 {
            lasted || in_network() <= holds(1.0)
        } else {
            lasted
        };
        if is_over {
            self.mode = Mode::ProbeBandwidth { phase: (phase + 1) % 8, since: delivery.now };
        }
    }

    /// Startup ends when the pipe is full, and drain when no more is under way than it holds.
    fn fill_and_drain(&mut self, delivery: &Delivery, sample: Option<RateSample>) {
        let limited = sample.is_some_and(|sample| sample.application_limited);
        let greatest = self.path.bandwidth.greatest();
        if !self.is_full && self.round_starts && !limited {
            if greatest >= self.full_bandwidth * FULL_GROWTH {
                (self.full_bandwidth, self.full_rounds) = (greatest, 0);
            } else {
                self.full_rounds += 1;
                self.is_full = self.full_rounds >= FULL_ROUNDS;
            }
        }
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            self.ssthresh = self.with_room(self.product(greatest, 1.0)).max(2.0);
        }
        if self.mode == Mode::Drain {
            let in_network = self.in_network(delivery.flight, delivery, self.gains().0);
            if in_network <= self.with_room(self.product(greatest, 1.0)) {
                self.begin_probing(delivery.now);
            }
        }
    }

    /// The least round trip, and the probe for it.
    fn learn_round_trip(&mut self, delivery: &Delivery) {
        let expired = delivery.now > self.least_at + self.params.round_trip_holds;
        if let Some(round_trip) = delivery.round_trip
            && (expired || self.least.is_none_or(|least| round_trip < least))
        {
            // A round trip takes time: a nanosecond at least.
            self.least = Some(round_trip.max(Duration::from_nanos(1)));
            self.least_at = delivery.now;
        }
        if expired && !self.after_idle && !matches!(self.mode, Mode::ProbeRoundTrip { .. }) {
            self.save_window();
            self.held_back = None;
            self.mode = Mode::ProbeRoundTrip { until: None, round_over: false };
        }
        self.probe_round_trip(delivery);
        if delivery.segments > 0 {
            self.after_idle = false;
        }
    }

    fn probe_round_trip(&mut self, delivery: &Delivery) {
        let Mode::ProbeRoundTrip { until, round_over } = self.mode else { return };
        let from = self.held_back.map_or(delivery.total, |(from, _)| from);
        self.held_back = Some((from, delivery.total + u64::from(delivery.flight)));
        let Some(end) = until else {
            if f64::from(delivery.flight) <= WINDOW_MIN {
                self.round_ends = delivery.total;
                let until = Some(delivery.now + self.params.round_trip_probe);
                self.mode = Mode::ProbeRoundTrip { until, round_over: false };
            }
            return;
        };
        let round_over = round_over || self.round_starts;
        self.mode = Mode::ProbeRoundTrip { until, round_over };
        if round_over && delivery.now > end {
            self.least_at = delivery.now;
            self.window = self.window.max(self.prior_window);
            if self.is_full {
                self.begin_probing(delivery.now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// Saves the window, to restore it after a probe or a recovery.
    fn save_window(&mut self) {
        let probes = matches!(self.mode, Mode::ProbeRoundTrip { .. });
        let keeps = self.repair != Repair::None || probes;
        self.prior_window = if keeps { self.prior_window.max(self.window) } else { self.window };
    }

    fn set_pace(&mut self, delivery: &Delivery) {
        let (gain, _) = self.gains();
        let rate = self.rate_pps() * gain * PACING_MARGIN;
        let first = || {
            let round_trip = delivery.smoothed.unwrap_or(INITIAL_ROUND_TRIP).max(Duration::from_nanos(1));
            self.window / round_trip.as_secs_f64() * self.params.startup_gain * PACING_MARGIN
        };
        let before = self.pace.unwrap_or_else(first);
        let pace = if self.is_full || rate > before { rate } else { before };
        if self.pace != Some(pace) {
            let gap_s = (1.0 / pace).min(GAP_MAX_S); // no pace, no more than that either
            (self.pace, self.gap) = (Some(pace), Some(Duration::from_secs_f64(gap_s)));
        }
    }

    fn set_window(&mut self, delivery: &Delivery) {
        let acked = f64::from(delivery.segments);
        if delivery.segments > 0 && !self.recover_or_restore(delivery, acked) {
            let (_, gain) = self.gains();
            let rate = self.rate_pps();
            let clumps = if self.is_full { self.path.aggregation.room(rate) } else { 0.0 };
            let target = self.with_room(self.product(rate, gain) + clumps);
            if self.is_full {
                self.window = (self.window + acked).min(target);
            } else if self.window < target || (delivery.total as f64) < INITIAL_WINDOW {
                self.window += acked;
            }
            self.window = self.window.max(WINDOW_MIN);
        }
        if matches!(self.mode, Mode::ProbeRoundTrip { .. }) {
            self.window = self.window.min(WINDOW_MIN);
        }
        self.window = self.window.clamp(1.0, WINDOW_MAX);
    }

    /// A recovery first lets out as many segments as arrive, for a round trip; after it the window is
    /// restored. Returns whether packets are being conserved.
    fn recover_or_restore(&mut self, delivery: &Delivery, acked: f64) -> bool {
        self.window = (self.window - f64::from(delivery.lost)).max(1.0);
        let before = core::mem::replace(&mut self.repair, delivery.repair);
        let arrives = f64::from(delivery.flight) + acked;
        if delivery.repair == Repair::Recovery && before != Repair::Recovery {
            self.conserves = true;
            self.round_ends = delivery.total;
            self.window = arrives;
        } else if delivery.repair == Repair::None && before != Repair::None {
            self.window = self.window.max(self.prior_window);
            self.conserves = false;
        }
        if self.conserves {
            self.window = self.window.max(arrives);
        }
        self.conserves
    }
}

impl WindowLaw for Bbr {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(self.params, start);
    }

    fn sees_deliveries(&self) -> bool {
        true
    }

    fn steers_recovery(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        debug_assert!(delivery.total >= self.path.last.total, "arrivals do not decrease");
        let sample = delivery.rate.map(|sample| self.marked(sample));
        self.path.last = Delivered { at: delivery.now, total: delivery.total, lost: delivery.lost_total };
        if delivery.after_idle && sample.is_some_and(|sample| sample.application_limited) {
            self.after_idle = true;
            self.path.aggregation.restart(delivery.now);
        }
        self.learn_rate(delivery, sample);
        self.turn_phase(delivery);
        self.fill_and_drain(delivery, sample);
        self.learn_round_trip(delivery);
        self.set_pace(delivery);
        self.set_window(delivery);
    }

    /// All is done with deliveries.
    fn on_ack(&mut self, _: &Acked) {}

    fn on_loss(&mut self, _: &Loss) {
        self.save_window();
    }

    fn on_timeout(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.save_window();
        }
        self.repair = Repair::Timeout;
        self.window = 1.0;
        // A time-out ends a round trip, and startup must fill the pipe again.
        self.full_bandwidth = 0.0;
        self.round_starts = true;
        if !self.path.policer.is_used() {
            self.path.policer.learn(self.path.last, true, false, true);
        }
    }

    fn congestion_window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_gap(&self) -> Option<Duration> {
        self.gap
    }
}
