//! TCP with adaptive pacing, TCP-AP: Reno's window, and segments that leave no closer than the path's hops can carry them.
//!
//! # Law
//! A hop of the path takes `d = q + s/B`, of which `q = ½(T/h − (s + s_a)/B)` is waiting: a round trip `T` is `h` hops of
//! data and `h` of acknowledgements that wait alike. Four hops further on a transmission does not disturb this one, so that
//! a segment may follow after `4d`; over fewer than four hops the authors' programme lets it follow after `d`. The gap is
//! `D·(1 + 2·δ)`: `D` averages that spacing, `D ← 0.7·D + 0.3·4d`, and `δ` is the mean absolute deviation of its last fifty
//! samples over their mean, which grows when congestion begins.
//!
//! # Source
//! S. ElRakabawy, A. Klemm and C. Lindemann, "TCP with adaptive pacing for multihop wireless networks", MobiHoc 2005, in
//! the form of the authors' ns-2 programme, which [Jam10] section 7.6.1 runs; [Jam10] section 5.2.1 (J14) describes it in
//! words.
//!
//! # Symbols
//! `h`, `s`, `s_a`, `B` → [`AirPath`]; `D` → `spacing_s` \[s\]; `δ` → `deviation`; four → [`AdaptivePacingParams::hops`];
//! 0.7 → `memory`; 50 → `samples`; 2 → `caution`.
//!
//! # Signals
//! Deliveries: the round trip of each acknowledgement. Of the path: its hops on the air, their rate, sizes; without them
//! the law is Reno's window and does not pace. Losses and time-outs as Reno.
//!
//! # Deviations
//! With long round trips a gap of `4d` is `2T/h`: the law lets out `h/2` segments a round trip, and the
//! window hardly matters. On paths of one, two or three hops it lets out `2h`, up to six, while four hops
//! have two. [`ShortPaths::AllHops`] takes `h·d` there, in which the hops of a short path, which exclude each
//! other, have their turn. Samples from `delay_max` on are ignored, as in the programme: if four hops take
//! longer than that, the pace stays the same. One rate stands for the path. For unequal links it is the
//! harmonic mean, with which `h` hops take their true total time. The unloaded time of the path's wires is
//! subtracted from the round trip first (the authors' gateway paces there, on the wireless part alone). A
//! round trip that a delayed acknowledgement lengthens is counted as it is. Repetitions are paced like
//! others, where the programme lets a fast retransmission out at once; it also lets its time-outs not double,
//! which is the endpoint's here and doubles. A segment that comes after the gap leaves at once, where the
//! programme's clock goes on ticking. It has no fluid drift but Reno's.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::window::{AdaptivePacingParams, AirPath, Delivery, WindowLaw, WindowStart};
//! use evenair_units::{Bytes, Duration, Rate};
//! let (data, acknowledgement, rate) = (Bytes::new(1500), Bytes::new(40), Rate::from_kbps(1000));
//! let path = AirPath { hops: 4, data, acknowledgement, rate, wired: Duration::ZERO };
//! let mut law = AdaptivePacingParams::published().begin(&WindowStart { path: Some(path), ..WindowStart::default() });
//! // With their frames 1572 and 112 bytes take 12.576 and 0.896 ms; of 100 ms a hop has 25, and waits 5.764 each way.
//! law.on_delivery(&Delivery { round_trip: Some(Duration::from_millis(100)), ..Delivery::default() });
//! assert_eq!(law.pacing_gap().unwrap().whole(Duration::from_micros(1)), 73_360);
//! ```

use super::{Acked, AirPath, Delivery, Loss, Reno, WindowLaw, WindowStart};
use crate::{BadParameter, Parameters, check, check_time};
use alloc::vec::Vec;
use evenair_units::{Bytes, Duration};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AdaptivePacingParams {
    /// A transmission this many hops further on does not disturb this one.
    pub hops: u32,
    /// The rule over fewer hops.
    pub short_paths: ShortPaths,
    /// How much of the spacing's average each sample leaves: 0 to below 1.
    pub memory: f64,
    /// The deviation is that of the last so many samples.
    pub samples: u32,
    /// The deviation counts so many times.
    pub caution: f64,
    /// A hop's waiting is averaged with this memory, to stand in for samples longer than `delay_max`.
    pub queueing_memory: f64,
    /// Spacings of this and more, and longer waiting at one hop, are ignored.
    pub delay_max: Duration,
    /// The gap before the first sample.
    pub first_gap: Duration,
    /// The bytes that frames add to a packet on the air, in both directions.
    pub overhead: u32,
}

/// How soon a segment may follow another over fewer hops than a transmission disturbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum ShortPaths {
    /// After the delay of one hop: the authors' programme.
    #[default]
    OneHop,
    /// After that of all hops.
    AllHops,
}

impl AdaptivePacingParams {
    /// The authors' ns-2 programme: 112 bytes of headers of which TCP and IP have 40.
    pub const fn published() -> Self {
        Self {
            hops: 4,
            short_paths: ShortPaths::OneHop,
            memory: 0.7,
            samples: 50,
            caution: 2.0,
            queueing_memory: 0.5,
            delay_max: Duration::from_millis(500),
            first_gap: Duration::from_millis(50),
            overhead: 72,
        }
    }
}

impl Default for AdaptivePacingParams {
    fn default() -> Self {
        Self::published()
    }
}

/// The most samples that a sender keeps.
const SAMPLES_MAX: u32 = 1000;
/// The longest gap: the longest retransmission time-out.
const GAP_MAX_S: f64 = 60.0;

impl Parameters for AdaptivePacingParams {
    type Surroundings = ();
    type Place = WindowStart;
    type Law = AdaptivePacing;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { memory, caution, queueing_memory, .. } = self;
        check("hops", f64::from(self.hops), self.hops > 0, "1 or more")?;
        check("memory", memory, (0.0..1.0).contains(&memory), "from 0 to below 1")?;
        let samples = f64::from(self.samples);
        check("samples", samples, (1..=SAMPLES_MAX).contains(&self.samples), "from 1 to 1000")?;
        check("caution", caution, (0.0..=100.0).contains(&caution), "from 0 to 100")?;
        let between = (0.0..1.0).contains(&queueing_memory);
        check("queueing_memory", queueing_memory, between, "from 0 to below 1")?;
        check_time("delay_max", self.delay_max)?;
        check_time("first_gap", self.first_gap)?;
        check("overhead", f64::from(self.overhead), self.overhead <= 10_000, "10000 bytes at most")?;
        Ok(self)
    }

    fn begin(&self, start: &WindowStart) -> AdaptivePacing {
        AdaptivePacing::new(*self, start)
    }
}

/// The state of one sender.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AdaptivePacing {
    params: AdaptivePacingParams,
    /// The window, and its reaction to losses.
    reno: Reno,
    path: Option<Hops>,
    /// A hop's mean waiting, of the samples that were not ignored \[s\].
    waiting_s: f64,
    /// `D`.
    spacing_s: Option<f64>,
    /// The last samples of it, and which is the oldest, once there are as many as are kept.
    samples: Vec<f64>,
    oldest: u32,
    gap: Option<Duration>,
}

/// The law's knowledge of its path: hops, the time of one for a segment and for an acknowledgement, and the time of wires.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Hops {
    count: u32,
    data_s: f64,
    acknowledgement_s: f64,
    wired: Duration,
}

impl AdaptivePacing {
    /// The state at the start of a connection.
    pub fn new(params: AdaptivePacingParams, start: &WindowStart) -> Self {
        let path = start.path.as_ref().map(|path| Hops::new(path, params.overhead));
        Self {
            params,
            reno: Reno::new(start),
            path,
            waiting_s: 0.0,
            spacing_s: None,
            samples: Vec::new(),
            oldest: 0,
            gap: path.map(|_| params.first_gap),
        }
    }

    /// How soon a segment may follow another, by one round trip \[s\].
    fn sample_s(&mut self, path: Hops, round_trip: Duration) -> f64 {
        let params = self.params;
        let per_hop_s = round_trip.saturating_sub(path.wired).as_secs_f64() / f64::from(path.count);
        let mut waiting_s = 0.5 * (per_hop_s - (path.data_s + path.acknowledgement_s));
        if waiting_s > params.delay_max.as_secs_f64() {
            waiting_s = self.waiting_s;
        }
        self.waiting_s = params.queueing_memory * self.waiting_s + (1.0 - params.queueing_memory) * waiting_s;
        let hop_s = waiting_s + path.data_s;
        let hops = match params.short_paths {
            _ if path.count >= params.hops => params.hops,
            ShortPaths::OneHop => 1,
            ShortPaths::AllHops => path.count,
        };
        hop_s * f64::from(hops)
    }

    /// The mean absolute deviation of the samples over their mean.
    fn deviation(&self) -> f64 {
        let count = self.samples.len() as f64;
        let mean_s = self.samples.iter().sum::<f64>() / count;
        let deviations = self.samples.iter().map(|sample| (sample - mean_s).abs());
        deviations.sum::<f64>() / count / mean_s
    }

    fn learn(&mut self, path: Hops, round_trip: Duration) {
        let sample_s = self.sample_s(path, round_trip);
        if sample_s <= 0.0 || sample_s >= self.params.delay_max.as_secs_f64() {
            return;
        }
        let memory = self.params.memory;
        let spacing_s = self.spacing_s.map_or(sample_s, |before| memory * before + (1.0 - memory) * sample_s);
        self.spacing_s = Some(spacing_s);
        if self.samples.len() < self.params.samples as usize {
            self.samples.push(sample_s);
        } else {
            self.samples[self.oldest as usize] = sample_s;
            self.oldest = (self.oldest + 1) % self.params.samples;
        }
        let deviation = self.deviation();
        // Deviations of positive samples from their mean are on average below twice it.
        debug_assert!((0.0..2.0).contains(&deviation), "a deviation of {deviation}");
        let gap_s = spacing_s * (1.0 + self.params.caution * deviation);
        self.gap = Some(Duration::from_secs_f64(gap_s.min(GAP_MAX_S)));
    }
}

impl Hops {
    fn new(path: &AirPath, overhead: u32) -> Self {
        let time_s = |size: Bytes| path.rate.time_for(size + Bytes::new(overhead)).as_secs_f64();
        let (data_s, acknowledgement_s) = (time_s(path.data), time_s(path.acknowledgement));
        Self { count: path.hops.max(1), data_s, acknowledgement_s, wired: path.wired }
    }
}

impl WindowLaw for AdaptivePacing {
    fn begin(&mut self, start: &WindowStart) {
        *self = Self::new(self.params, start);
    }

    fn sees_deliveries(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if let (Some(path), Some(round_trip)) = (self.path, delivery.round_trip) {
            self.learn(path, round_trip);
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        self.reno.on_ack(acked);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.reno.on_loss(loss);
    }

    fn on_timeout(&mut self, loss: &Loss) {
        self.reno.on_timeout(loss);
    }

    fn deflate(&mut self, segments: f64) {
        self.reno.deflate(segments);
    }

    fn congestion_window(&self) -> f64 {
        self.reno.congestion_window()
    }

    fn slow_start_threshold(&self) -> f64 {
        self.reno.slow_start_threshold()
    }

    fn pacing_gap(&self) -> Option<Duration> {
        self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_units::Rate;

    /// 1460 bytes of payload at 1 Mb/s: with the programme's 112 bytes 12.576 ms, and 0.896 ms for an acknowledgement.
    fn law(hops: u32, short_paths: ShortPaths) -> AdaptivePacing {
        let path = AirPath {
            hops,
            data: Bytes::new(1500),
            acknowledgement: Bytes::new(40),
            rate: Rate::from_kbps(1000),
            wired: Duration::ZERO,
        };
        let params = AdaptivePacingParams { short_paths, ..AdaptivePacingParams::published() };
        params.begin(&WindowStart { path: Some(path), ..WindowStart::default() })
    }

    fn told(law: &mut AdaptivePacing, round_trip_ms: f64) -> f64 {
        let round_trip = Some(Duration::from_secs_f64(round_trip_ms / 1e3));
        law.on_delivery(&Delivery { round_trip, ..Delivery::default() });
        law.pacing_gap().expect("it paces").as_secs_f64() * 1e3
    }

    fn near(measured: f64, expected: f64) {
        assert!((measured - expected).abs() < 1e-5, "{measured}, not {expected}");
    }

    #[test]
    fn idle_round_trip_is_paced_at_four_hops() {
        let mut law = law(5, ShortPaths::OneHop);
        near(told(&mut law, 5.0 * (12.576 + 0.896)), 4.0 * 12.576);
    }

    #[test]
    fn waiting_is_half_of_the_hops_excess() {
        // q = ½(100/5 − 13.472) = 3.264 ms; d = 15.84 ms.
        near(told(&mut law(5, ShortPaths::OneHop), 100.0), 63.36);
    }

    #[test]
    fn short_paths_are_paced_by_one_hop_or_all() {
        // q = ½(60/3 − 13.472) = 3.264 ms; d = 15.84 ms.
        near(told(&mut law(3, ShortPaths::OneHop), 60.0), 15.84);
        near(told(&mut law(3, ShortPaths::AllHops), 60.0), 3.0 * 15.84);
        near(told(&mut law(4, ShortPaths::AllHops), 80.0), 4.0 * 15.84);
        near(told(&mut law(9, ShortPaths::AllHops), 180.0), 4.0 * 15.84);
    }

    #[test]
    fn spacing_is_average_and_deviation_widens_it() {
        let mut law = law(5, ShortPaths::OneHop);
        told(&mut law, 100.0);
        // 4d of 120 ms: q = 5.264, d = 17.84, 71.36 ms. D = 0.7·63.36 + 0.3·71.36 = 65.76; mean 67.36, both 4 off it.
        near(told(&mut law, 120.0), 65.76 * (1.0 + 2.0 * 4.0 / 67.36));
        // And one more like it: D = 67.44; mean 68.6933, off it 5.3333, 2.6667, 2.6667.
        near(told(&mut law, 120.0), 67.44 * (1.0 + 2.0 * (32.0 / 9.0) / 68.693_333_333));
    }

    #[test]
    fn fifty_samples_on_the_first_is_forgotten() {
        let mut law = law(5, ShortPaths::OneHop);
        told(&mut law, 300.0);
        for _ in 0..49 {
            assert!(told(&mut law, 100.0) > 63.36 + 1e-3);
        }
        near(told(&mut law, 100.0), 63.36);
    }

    #[test]
    fn too_long_sample_is_ignored() {
        let mut law = law(4, ShortPaths::OneHop);
        let gap = told(&mut law, 100.0); // q = 5.764 ms
        near(law.waiting_s * 1e3, 2.882);
        near(told(&mut law, 1100.0), gap); // q = 130.764 ms, 4d = 573.36 ms
        near(law.waiting_s * 1e3, 66.823);
        // Of 5 s a hop would have waited 618 ms: the average stands in, 4d = 317.596 ms.
        near(told(&mut law, 5000.0), 329.835_662);
        near(law.waiting_s * 1e3, 66.823);
    }

    /// On a path of one hop and packets of zero airtime, a packet waits for half of the round trip.
    #[test]
    fn longest_wait_still_counts() {
        let params = AdaptivePacingParams::published();
        let path = Hops { count: 1, data_s: 0.0, acknowledgement_s: 0.0, wired: Duration::ZERO };
        let waited = |round_trip| {
            let mut law = params.begin(&WindowStart::default());
            law.sample_s(path, round_trip);
            law.waiting_s
        };
        let longest = params.delay_max * 2;
        assert!(
            (waited(longest) - (1.0 - params.queueing_memory) * params.delay_max.as_secs_f64()).abs() < 1e-12
        );
        assert!(waited(longest + Duration::from_micros(1)).abs() < 1e-12);
    }

    #[test]
    fn sender_without_a_path_is_reno() {
        let mut law = AdaptivePacingParams::published().begin(&WindowStart::default());
        let round_trip = Some(Duration::from_millis(100));
        law.on_delivery(&Delivery { round_trip, ..Delivery::default() });
        assert_eq!(law.pacing_gap(), None);
        law.on_loss(&Loss { flight: 20.0, ..Loss::default() });
        assert!((law.congestion_window() - 10.0).abs() < 1e-12);
    }

    #[test]
    fn time_on_wires_is_not_the_airs() {
        let mut near_by = law(5, ShortPaths::OneHop);
        let mut far = law(5, ShortPaths::OneHop);
        far.path.as_mut().expect("its path is known").wired = Duration::from_millis(40);
        near(told(&mut near_by, 100.0), told(&mut far, 140.0));
        near(law(5, ShortPaths::OneHop).pacing_gap().unwrap().as_secs_f64() * 1e3, 50.0);
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = AdaptivePacingParams::default();
        crate::ranges::assert_range("hops", |hops| AdaptivePacingParams { hops, ..params }, &[1, 9], &[0]);
        let overhead = |overhead| AdaptivePacingParams { overhead, ..params };
        crate::ranges::assert_range("overhead", overhead, &[0, 10_000], &[10_001]);
    }

    /// Three samples are kept: the fourth takes the first's place, the fifth the second's, the sixth the third's.
    #[test]
    fn the_oldest_sample_makes_room() {
        let params = AdaptivePacingParams { samples: 3, ..AdaptivePacingParams::default() };
        let path = Hops { count: 4, data_s: 1e-3, acknowledgement_s: 0.0, wired: Duration::ZERO };
        let mut law = params.begin(&WindowStart::default());
        let oldest = [8, 9, 10, 11, 12, 13].map(|ms| {
            law.learn(path, Duration::from_millis(ms));
            law.oldest
        });
        assert_eq!(oldest, [0, 0, 0, 1, 2, 0]);
        assert_eq!(law.samples.len(), 3);
        assert!(law.samples.is_sorted(), "11, 12 and 13 ms: {:?}", law.samples);
    }
}
