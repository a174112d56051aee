//! One bucket for all classes, steered by delay alone, as today's routers at the edge of one link do.
//!
//! # Law
//! Let `Δ` be the mean over classes of delay above its baseline, and `τ' = τ + L/C`, which adds a full
//! packet's own time. Each epoch, if `Δ > τ'`, `C ← C·(1 − d)`, with `d` from 0.01 at `τ'` to `1 − β` at
//! `Δ ≥ Δ_bad + L/C`. Else, if classes got more than `ρC`, `C ← C·(1 + u)`, with `u` from `α − 1` at
//! `Δ ≤ Δ_good` to 0 at `τ'`. Else `C` goes back to its base by a hundredth a second. A class's baseline
//! follows a lower delay at once and a higher one slowly.
//!
//! # Source
//! Ours, after the published behaviour and the defaults of cake-autorate 3 (its `defaults.sh`), a relative of
//! `StormGuard`. It is here to compare ARC and PFRC with the tools that operators have.
//!
//! # Symbols
//! `C` → `rate` \[bit/s\]; `τ` → [`DelayCapParams::threshold`]; `Δ_good`, `Δ_bad` → [`DelayCapParams::good`], [`bad`](DelayCapParams::bad);
//! `α`, `β` → [`DelayCapParams::alpha`], [`beta`](DelayCapParams::beta); `ρ` → [`DelayCapParams::load`]; `L` → 1500 bytes.
//!
//! # Signals
//! Each class's [delay](super::ClassView::delay) beyond the gateway, and its service. Without the former it finds no reason for less.
//!
//! # Deviations
//! - It sends no probes to hosts beyond one link: delay is that of subscribers' own downloads, in the mean of
//!   an epoch, not in three of six probes. An epoch without a delay is not judged, and the cap stays.
//! - One cap for both directions together, as ARC's, not one for each.
//! - An operator configures bounds and base there. Here the default bounds are those of [Jam10] section
//!   7.5.2, and the default base is half way between.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::gateway::{ClassRole, DelayCapParams, GatewayLaw, GatewayRole};
//! use evenair_units::Rate;
//! let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
//! let law = DelayCapParams::default().begin(&GatewayRole { classes: [class; 3].into() });
//! // Half way between W/3 and W.
//! assert_eq!(law.at_start().total, Some(Rate::from_kbps(600)));
//! ```

use super::controller::{Verdict, allocation};
use super::members::Members;
use super::{
    Allocation, CapacityBounds, GatewayLaw, GatewayRole, GatewayView, NewClasses, Reason, Step, rate,
};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use core::cmp::Ordering;
use evenair_units::{Duration, Rate};

/// `L` \[bits\].
const PACKET: f64 = 12_000.0;
/// The decrease at the threshold.
const LEAST: f64 = 0.01;
/// How much of the way to its base an idle cap goes in a second.
const DECAY: f64 = 0.01;
/// How fast a baseline follows a higher delay and a lower one, each epoch.
const RISE: f64 = 0.001;
const FALL: f64 = 0.9;
/// A class without a packet for so many epochs is not active.
const IDLE_EPOCHS: u32 = 3;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DelayCapParams {
    /// How often the law runs.
    pub epoch: Duration,
    /// More delay than this above the baseline lowers the cap.
    pub threshold: Duration,
    /// Up to so much the cap rises by α.
    pub good: Duration,
    /// From so much on it falls by β.
    pub bad: Duration,
    /// The greatest factor by which the cap rises.
    pub alpha: f64,
    /// The least factor by which it falls.
    pub beta: f64,
    /// It rises only while classes get more than this share of it.
    pub load: f64,
    /// The least cap; a third of the slowest link, if it is not given.
    pub capacity_low: Option<Rate>,
    /// The greatest; the links' harmonic mean, if it is not given.
    pub capacity_high: Option<Rate>,
    /// The first cap, to which it returns under low demand; half way between the bounds by default.
    pub base: Option<Rate>,
}

impl Default for DelayCapParams {
    fn default() -> Self {
        Self {
            epoch: Duration::from_millis(300),
            threshold: Duration::from_millis(30),
            good: Duration::from_millis(10),
            bad: Duration::from_millis(60),
            alpha: 1.04,
            beta: 0.75,
            load: 0.75,
            capacity_low: None,
            capacity_high: None,
            base: None,
        }
    }
}

impl Parameters for DelayCapParams {
    type Surroundings = ();
    type Place = GatewayRole;
    type Law = DelayCap;

    fn validated(self) -> Result<Self, BadParameter> {
        check_interval("epoch", self.epoch)?;
        let ordered = self.good < self.threshold && self.threshold < self.bad;
        check("threshold", self.threshold.as_secs_f64(), ordered, "above good, below bad")?;
        check("alpha", self.alpha, self.alpha > 1.0 && self.alpha <= 10.0, "above 1, at most 10")?;
        check("beta", self.beta, self.beta > 0.0 && self.beta <= 1.0 - LEAST, "above 0, at most 0.99")?;
        check("load", self.load, self.load > 0.0 && self.load <= 1.0, "above 0, at most 1")?;
        let mut rates = self.capacity_low.into_iter().chain(self.capacity_high).chain(self.base);
        check("capacity_high", 0.0, rates.all(|rate| rate.as_bps() > 0), "above 0")?;
        if let Some((low, high)) = self.capacity_low.zip(self.capacity_high) {
            check("capacity_low", low.as_bps() as f64, low < high, "below capacity_high")?;
        }
        Ok(self)
    }

    fn begin(&self, role: &GatewayRole) -> DelayCap {
        let members = Members::new(role, IDLE_EPOCHS, false);
        let mut law = DelayCap { params: *self, members, baselines: Vec::new(), rate: None };
        law.baselines = alloc::vec![None; role.classes.len()];
        law.rate = law.bounds().map(|bounds| law.base(bounds));
        law
    }
}

/// The law's state at one gateway.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DelayCap {
    params: DelayCapParams,
    members: Members,
    /// Of each class \[s\].
    baselines: Vec<Option<f64>>,
    /// None without bounds \[bit/s\].
    rate: Option<f64>,
}

impl DelayCap {
    fn bounds(&self) -> Option<CapacityBounds> {
        self.members.bounds_between(self.params.capacity_low, self.params.capacity_high, 1.0)
    }

    fn base(&self, bounds: CapacityBounds) -> f64 {
        let base = self.params.base.map(|base| base.as_bps() as f64);
        base.unwrap_or(f64::midpoint(bounds.low, bounds.high)).clamp(bounds.low, bounds.high)
    }

    /// The mean over classes of the delays above their baselines \[s\]; none, where no delay is measured.
    fn excess(&mut self, view: &GatewayView) -> Option<f64> {
        let (mut sum, mut count) = (0.0, 0.0);
        for (class, baseline) in self.baselines.iter_mut().enumerate() {
            let Some(delay) = view.class(class).and_then(|seen| seen.delay) else { continue };
            let delay = delay.as_secs_f64();
            let was = baseline.unwrap_or(delay);
            let now = was + if delay < was { FALL } else { RISE } * (delay - was);
            *baseline = Some(now);
            sum += delay - now;
            count += 1.0;
        }
        (count > 0.0).then(|| sum / count)
    }

    /// The next cap, before its bounds \[bit/s\].
    fn judge(&mut self, view: &GatewayView, bounds: CapacityBounds, cap: f64) -> (f64, Reason) {
        let Self { params, .. } = *self;
        let packet = PACKET / cap;
        let threshold = params.threshold.as_secs_f64() + packet;
        let (good, bad) = (params.good.as_secs_f64(), params.bad.as_secs_f64() + packet);
        let got = self.members.measured(view);
        match self.excess(view) {
            Some(excess) if excess > threshold => {
                let far = ((excess - threshold) / (bad - threshold)).min(1.0);
                (cap * (1.0 - LEAST - far * (1.0 - LEAST - params.beta)), Reason::Starved)
            }
            Some(excess) if got > params.load * cap => {
                let far = ((threshold - excess) / (threshold - good)).min(1.0);
                (cap * (1.0 + far * (params.alpha - 1.0)), Reason::Satisfied)
            }
            None if got > params.load * cap => (cap, Reason::Unknown),
            _ => {
                let base = self.base(bounds);
                let change = (DECAY * view.interval.as_secs_f64()).min(1.0);
                (cap + change * (base - cap), Reason::Content)
            }
        }
    }

    fn allocation(&self, verdict: Verdict) -> Allocation {
        allocation(self.rate.map(rate), &[], verdict)
    }
}

impl GatewayLaw for DelayCap {
    fn interval(&self) -> Duration {
        self.params.epoch
    }

    fn at_start(&self) -> Allocation {
        let reason = if self.rate.is_some() { Reason::Configured } else { Reason::Unbounded };
        self.allocation((Step::Start, reason, None))
    }

    /// The cap stays, within the new bounds.
    fn on_classes(&mut self, classes: &NewClasses) -> Allocation {
        self.members.change(classes);
        self.baselines = classes.carry(&self.baselines, None);
        self.rate = self.bounds().map(|bounds| {
            self.rate.map_or_else(|| self.base(bounds), |cap| cap.clamp(bounds.low, bounds.high))
        });
        let reason = if self.rate.is_some() { Reason::Reconfigured } else { Reason::Unbounded };
        self.allocation((Step::Hold, reason, None))
    }

    fn on_epoch(&mut self, view: &GatewayView) -> Allocation {
        let verdict = match (self.rate, view.interval.is_zero(), self.members.unknown(view)) {
            (None, ..) => (Step::Hold, Reason::Unbounded, None),
            (_, true, _) => (Step::Hold, Reason::Idle, None),
            (_, _, Some(class)) => (Step::Hold, Reason::Unknown, Some(class)),
            (Some(cap), ..) => {
                self.members.observe(view);
                match self.bounds().filter(|_| self.members.any_active()) {
                    Some(bounds) => {
                        let (next, reason) = self.judge(view, bounds, cap);
                        let next = next.clamp(bounds.low, bounds.high);
                        self.rate = Some(next);
                        let step = match next.total_cmp(&cap) {
                            Ordering::Less => Step::Decrease,
                            Ordering::Equal => Step::Hold,
                            Ordering::Greater => Step::Increase,
                        };
                        (step, reason, None)
                    }
                    None => (Step::Hold, Reason::Idle, None),
                }
            }
        };
        self.allocation(verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::{ClassRole, ClassView};
    use evenair_units::{Instant, Volume};

    fn law() -> DelayCap {
        let link_rate = Some(Rate::from_kbps(1_200));
        let class = ClassRole { link_rate, ..ClassRole::default() };
        DelayCapParams::default().begin(&GatewayRole { classes: [class; 2].into() })
    }

    /// 300 ms in which each of two classes got half of so many kb/s, with such delays.
    fn view(kbps: u64, delays: [Option<u64>; 2]) -> GatewayView {
        let served = Volume { packets: 1, bytes: kbps * 300 / 16 };
        let seen = |delay: Option<u64>| {
            Some(ClassView { served, delay: delay.map(Duration::from_millis), ..ClassView::default() })
        };
        let interval = Duration::from_millis(300);
        GatewayView { now: Instant::ZERO, interval, classes: delays.map(seen).into() }
    }

    /// One such epoch.
    fn epoch(law: &mut DelayCap, kbps: u64, delays: [Option<u64>; 2]) -> (u64, Step) {
        let given = law.on_epoch(&view(kbps, delays));
        (given.total.expect("one bucket").as_bps(), given.decision.step)
    }

    /// Base 800 kb/s: W/3 = 400, W = 1200.
    #[test]
    fn the_cap_rises_under_load_and_falls_with_delay() {
        let mut law = law();
        assert_eq!(epoch(&mut law, 700, [Some(50), Some(20)]), (832_000, Step::Increase), "1.04·800");
        // Both 75 ms above their baselines (less the thousandth that these rise): more than 60 + 14.4 ms.
        assert_eq!(epoch(&mut law, 700, [Some(125), Some(95)]), (624_000, Step::Decrease), "0.75·832");
        // One 65 ms above, the other none: 32.5 ms in the mean, below 30 + 19.2 ms; the way from 49.2 to 10 is 0.43.
        let (cap, step) = epoch(&mut law, 600, [Some(115), Some(20)]);
        assert!(step == Step::Increase && (634_000..636_000).contains(&cap), "{cap}");
        assert_eq!(epoch(&mut law, 600, [None; 2]), (cap, Step::Hold), "no delay is known");
        for _ in 0..20 {
            epoch(&mut law, 400, [Some(500), Some(500)]);
        }
        let starved = epoch(&mut law, 400, [Some(500), Some(500)]);
        assert_eq!(starved, (400_000, Step::Hold), "no less than W/3");
    }

    /// Under low demand: by a hundredth of the way a second.
    #[test]
    fn an_idle_cap_goes_back_to_its_base() {
        let mut law = law();
        for _ in 0..20 {
            epoch(&mut law, 1_190, [Some(20), Some(20)]);
        }
        assert_eq!(epoch(&mut law, 1_190, [Some(20), Some(20)]), (1_200_000, Step::Hold), "no more than W");
        let (cap, step) = epoch(&mut law, 100, [Some(20), Some(20)]);
        assert_eq!((cap, step), (1_198_800, Step::Decrease));
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = DelayCapParams { load: 0.7, ..DelayCapParams::default() };
        let threshold = |ms| DelayCapParams { threshold: Duration::from_millis(ms), ..params };
        crate::ranges::assert_range("threshold", threshold, &[11, 59], &[10, 60, 9, 61]);
        let range = |key, with: &dyn Fn(f64) -> DelayCapParams, good: &[f64], bad: &[f64]| {
            crate::ranges::assert_range(key, with, good, bad);
        };
        range(
            "alpha",
            &|alpha| DelayCapParams { alpha, ..params },
            &[1.001, 10.0],
            &[1.0, 0.9, 10.1, f64::NAN],
        );
        range(
            "beta",
            &|beta| DelayCapParams { beta, ..params },
            &[1e-9, 0.99],
            &[0.0, -1.0, 0.991, f64::NAN],
        );
        range("load", &|load| DelayCapParams { load, ..params }, &[1e-9, 1.0], &[0.0, -1.0, 1.001, f64::NAN]);
        let kbps = |kbps: Option<u64>| kbps.map(Rate::from_kbps);
        let bounds =
            |(low, high)| DelayCapParams { capacity_low: kbps(low), capacity_high: kbps(high), ..params };
        crate::ranges::assert_range(
            "capacity_high",
            bounds,
            &[(None, Some(1))],
            &[(None, Some(0)), (Some(0), None)],
        );
        crate::ranges::assert_range(
            "capacity_low",
            bounds,
            &[(Some(1), Some(2))],
            &[(Some(2), Some(2)), (Some(3), Some(2))],
        );
    }

    #[test]
    fn gateway_is_open_until_links_are_known() {
        let mut law =
            DelayCapParams::default().begin(&GatewayRole { classes: [ClassRole::default()].into() });
        let at_start = law.at_start();
        assert_eq!((at_start.total, at_start.decision.reason), (None, Reason::Unbounded));
        let class = ClassRole { link_rate: Some(Rate::from_kbps(1_200)), ..ClassRole::default() };
        let classes = NewClasses { role: GatewayRole { classes: [class].into() }, was: [Some(0)].into() };
        let given = law.on_classes(&classes);
        assert_eq!(given.total, Some(Rate::from_kbps(800)), "half way from W/3 to W");
        assert_eq!((given.decision.step, given.decision.reason), (Step::Hold, Reason::Reconfigured));
        assert_eq!(law.at_start().decision.reason, Reason::Configured);
    }

    /// At 0.75 of a cap of 800 kb/s there is no load, and a cap that is already at its base stays.
    #[test]
    fn the_load_is_more_than_its_share_of_the_cap() {
        let with = |cap| DelayCap { rate: Some(cap), ..law() };
        // 400 + 0.003·(800 − 400), where a load would have given 1.04·400.
        for delays in [[None; 2], [Some(20); 2]] {
            assert_eq!(epoch(&mut with(400e3), 300, delays), (401_200, Step::Increase), "{delays:?}");
        }
        assert_eq!(epoch(&mut with(400e3), 301, [None; 2]), (400_000, Step::Hold), "no delay is known");
        assert_eq!(epoch(&mut law(), 100, [None; 2]), (800_000, Step::Hold));
        let mut low = with(500e3);
        // 0.01 of the way a second: 500 + 0.003·300.
        let (cap, step) = epoch(&mut low, 100, [None; 2]);
        assert!((500_899..=500_900).contains(&cap) && step == Step::Increase, "{cap}");
        assert_eq!(epoch(&mut law(), 100, [Some(20); 2]), (800_000, Step::Hold), "no delay, no load");
    }

    /// A packet of 12,000 bits has a second at 12 kb/s, so that the threshold is 0.998 s more than that: 1.998 s, as far as two seconds are
    /// above a baseline of none that rises by a thousandth of the way. Less would be taken off only above.
    #[test]
    fn delay_at_its_threshold_leaves_the_cap() {
        let threshold = Duration::from_millis(998);
        let params = DelayCapParams {
            threshold,
            bad: Duration::from_secs(1),
            capacity_low: Some(Rate::from_bps(6_000)),
            base: Some(Rate::from_bps(12_000)),
            ..DelayCapParams::default()
        };
        let class = ClassRole { link_rate: Some(Rate::from_kbps(1_200)), ..ClassRole::default() };
        let mut law = params.begin(&GatewayRole { classes: [class; 2].into() });
        law.baselines = alloc::vec![Some(0.0); 2];
        assert_eq!(law.clone().excess(&view(0, [Some(2_000); 2])), Some(threshold.as_secs_f64() + 1.0));
        assert_eq!(epoch(&mut law, 80, [Some(2_000); 2]), (12_000, Step::Hold));
    }

    /// Baselines fall by 0.9 and rise by 0.001 of the way.
    #[test]
    fn a_baseline_falls_fast_and_rises_slowly() {
        let mut law = law();
        let mut excess = |ms| {
            let class = ClassView { delay: Some(Duration::from_millis(ms)), ..ClassView::default() };
            let classes = [Some(class), None].into();
            let view = GatewayView { now: Instant::ZERO, interval: Duration::from_millis(300), classes };
            law.excess(&view).unwrap()
        };
        assert!(excess(100).abs() < 1e-12);
        // 100 → 10 ms at 0 ms, 1 ms being left of ten: −10; then 10 + 0.001·90 at 100.
        assert!((excess(0) + 0.010).abs() < 1e-12);
        assert!((excess(100) - (0.1 - 0.01009)).abs() < 1e-12);
    }

    /// Half-way from 30 ms to 60 ms, a packet's time more each, the cap falls by a hundredth and half of the rest to 0.75.
    #[test]
    fn cap_falls_further_the_longer_packets_wait() {
        let mut law = law();
        assert_eq!(epoch(&mut law, 700, [Some(50), Some(20)]).0, 832_000);
        let packet_ms = 12_000.0 / 832.0;
        let far = (60.0 * 0.999 - (30.0 + packet_ms)) / 30.0;
        let (cap, step) = epoch(&mut law, 700, [Some(110), Some(80)]);
        let expected = 832_000.0 * (0.99 - far * 0.24);
        assert!(step == Step::Decrease && (cap as f64 - expected).abs() < 2.0, "{cap} {expected}");
    }
}
