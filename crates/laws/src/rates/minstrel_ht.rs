//! Minstrel-HT: modes sorted by their measured throughput, with probes of others, as in Linux.
//!
//! # Law
//! Each mode has a probability of success, filtered over intervals of 50 ms. A mode's throughput is that probability over the time of a
//! packet in an aggregate of the mean length. A frame is tried in the best mode, the second and third best, and the most
//! robust one; RTS precedes all but the first. At most every 20 ms a frame of one packet probes another mode: the next faster
//! of each group, a random faster one, or a random one between the fastest and the slowest in use. If more than 30
//! packets of an interval are lost in the best mode but for a quarter, a group with no more streams takes its place at once.
//!
//! # Source
//! Linux 6.1, `net/mac80211/rc80211_minstrel_ht.c`: its rules as facts; none of its code is here.
//!
//! # Symbols
//! The interval → [`MinstrelHtParams::interval`]; the time between probes → [`MinstrelHtParams::probe_interval`]; the time of a
//! step's tries → [`MinstrelHtParams::segment`].
//!
//! # Signals
//! How often each frame was tried in each mode, and how many of its packets were acknowledged.
//!
//! # Deviations
//! Time is exact, where Linux counts jiffies. The groups of 802.11ax and of 160 MHz are ours: Linux leaves both to drivers. The
//! random order of probes follows from the host's number for the link; Linux has one for all. Rates of 802.11b have long
//! preambles here. Sizes of A-MSDUs are not set.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rates::{FrameStatus, FrameView, MinstrelHtParams, RateControl, RateFormat, RateMode, RateRole, Tried};
//! use evenair_units::{Duration, Instant, Rate};
//! let mode = |index: u8, kbps| RateMode {
//!     format: RateFormat::Ht, index, streams: 1, width_mhz: 20, guard_ns: 800, rate: Rate::from_kbps(kbps),
//! };
//! let link = RateRole { modes: vec![mode(0, 6_500), mode(1, 13_000)], own: 1, seed: 1 };
//! let mut law = MinstrelHtParams::default().begin(&link);
//! let mut now = Instant::ZERO;
//! for _ in 0..100 {
//!     now = now + Duration::from_millis(3);
//!     let mode = law.on_frame(&FrameView { now, best: None }).steps()[0].mode;
//!     let tried = [Tried { mode, tries: 1, packets: 1 }, Tried::default(), Tried::default(), Tried::default()];
//!     law.on_status(&FrameStatus { now, tried, packets: 1, acknowledged: 1 });
//! }
//! let chain = law.on_frame(&FrameView { now, best: None });
//! assert_eq!(chain.steps()[1].mode, 0, "the second best");
//! ```

mod groups;
mod probing;
mod ranking;
#[cfg(test)]
mod tests;

use super::{CHAIN_MAX, Chain, FrameStatus, FrameView, RateControl, RateRole, Step, TRIES_MAX};
use crate::{BadParameter, Parameters, check, check_interval, check_time};
use alloc::vec::Vec;
use evenair_units::{Duration, Instant};
use groups::{Group, Overhead, Place};
use probing::{Candidates, Probing};

/// A probability of one, in fixed point.
const ONE: u32 = 1 << 12;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MinstrelHtParams {
    /// How often the modes are sorted.
    pub interval: Duration,
    /// The least time between two probes.
    pub probe_interval: Duration,
    /// Other modes are probed.
    pub probes: bool,
    /// Steps of a chain, 1 to 4, as many as the hardware has.
    pub steps: u32,
    /// The most tries of a step, 2 to 31.
    pub tries_max: u32,
    /// The time that the tries of a step have room in.
    pub segment: Duration,
    /// RTS precedes all steps but the first.
    pub rts: bool,
}

impl Default for MinstrelHtParams {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(50),
            probe_interval: Duration::from_millis(20),
            probes: true,
            steps: CHAIN_MAX as u32,
            tries_max: 7,
            segment: Duration::from_millis(6),
            rts: true,
        }
    }
}

impl Parameters for MinstrelHtParams {
    type Surroundings = ();
    type Place = RateRole;
    type Law = MinstrelHt;

    fn validated(self) -> Result<Self, BadParameter> {
        check_interval("interval", self.interval)?;
        check_interval("probe_interval", self.probe_interval)?;
        check("steps", self.steps.into(), (1..=CHAIN_MAX as u32).contains(&self.steps), "1 to 4")?;
        let tries = 2..=u32::from(TRIES_MAX);
        check("tries_max", self.tries_max.into(), tries.contains(&self.tries_max), "2 to 31")?;
        check_time("segment", self.segment)?;
        Ok(self)
    }

    fn begin(&self, link: &RateRole) -> MinstrelHt {
        MinstrelHt::new(*self, link)
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MinstrelHt {
    params: MinstrelHtParams,
    groups: Vec<Group>,
    overhead: Overhead,
    /// Mean packets of a frame, times [`ONE`].
    length: u32,
    /// Frames in this interval, and packets in them.
    frames: u32,
    packets: u32,
    /// The modes with the greatest throughput, in order.
    best: [Place; CHAIN_MAX],
    /// The most robust mode.
    robust: Place,
    sorted_at: Instant,
    probing: Probing,
    /// The chain of frames that probe nothing.
    chain: Chain,
}

impl MinstrelHt {
    fn new(params: MinstrelHtParams, link: &RateRole) -> Self {
        let groups = groups::of(&link.modes);
        let probing = Probing::new(&groups, link.seed);
        let mut law = Self {
            params,
            overhead: Overhead::of(&link.modes),
            length: ONE,
            frames: 0,
            packets: 0,
            best: [Place::default(); CHAIN_MAX],
            robust: Place::default(),
            sorted_at: Instant::ZERO,
            probing,
            chain: Chain::of(0, 1),
            groups,
        };
        law.sort(Instant::ZERO);
        law.chain = law.chain_now();
        law
    }

    /// The modes that the law has sorted, as places in the link's list: the best four, and the most robust.
    pub fn sorted(&self) -> [u16; CHAIN_MAX + 1] {
        let [first, second, third, fourth] = self.best;
        [first, second, third, fourth, self.robust].map(|place| self.mode(place))
    }

    fn mode(&self, place: Place) -> u16 {
        self.groups[place.group()].modes[place.index()].expect("a mode that the link has")
    }

    /// The chain of the modes as they are sorted.
    fn chain_now(&self) -> Chain {
        let count = self.params.steps as usize;
        let mut steps = [Step::default(); CHAIN_MAX];
        for (at, step) in steps[..count].iter_mut().enumerate() {
            let place = if at > 0 && at + 1 == count { self.robust } else { self.best[at] };
            let announced = at > 0 && self.params.rts;
            *step = Step { mode: self.mode(place), tries: self.tries(place, announced), announced };
        }
        Chain::new(&steps[..count])
    }

    /// How often a frame is sent in a mode: twice, or as often as the segment has room for, with growing contention windows.
    fn tries(&self, place: Place, is_announced: bool) -> u8 {
        let group = &self.groups[place.group()];
        if u32::from(group.stats[place.index()].average) < ONE / 5 {
            return 2;
        }
        let overhead = self.overhead.of_frame(group.is_legacy(), is_announced);
        let data = (u64::from(group.durations[place.index()]) * u64::from(self.length()) / 1000) as u32;
        let segment = (self.params.segment.as_nanos() / 1000).min(u32::MAX.into()) as u32;
        let mut window = 15u32;
        let mut contention = || {
            let time = 9 * window / 2;
            window = (window << 1 | 1).min(1023);
            time
        };
        let mut time = contention() + contention() + 2 * (overhead + data);
        let (mut tries, tries_max) = (2, self.params.tries_max);
        while tries < tries_max {
            time = time.saturating_add(contention() + overhead + data);
            if time >= segment {
                break;
            }
            tries += 1;
        }
        tries as u8
    }

    /// Mean packets of a frame, rounded down.
    const fn length(&self) -> u32 {
        self.length >> 12
    }

    /// Fewer streams, where many streams have died suddenly; tells whether a mode has changed.
    fn turn_from_the_dead(&mut self) -> bool {
        let mut changes = false;
        for at in 0..2 {
            let place = self.best[at];
            let stats = &self.groups[place.group()].stats[place.index()];
            if stats.attempts <= 30 || stats.successes >= stats.attempts / 4 {
                continue;
            }
            changes = true;
            let streams = self.groups[place.group()].streams;
            let other = (0..place.group()).rev().find(|&other| self.groups[other].streams <= streams);
            if let Some(other) = other {
                self.best[at] = Place::new(other, self.groups[other].best[at].into());
            }
        }
        changes
    }
}

impl RateControl for MinstrelHt {
    fn on_frame(&mut self, frame: &FrameView) -> Chain {
        if !self.params.probes || frame.now < self.probing.due {
            return self.chain;
        }
        self.probing.due = frame.now + self.params.probe_interval;
        let one = (self.params.steps == 1).then_some(Candidates::NEXT);
        match self.probing.take(one) {
            Some(place) => self.chain.probing(self.mode(place)),
            None => self.chain,
        }
    }

    fn on_status(&mut self, status: &FrameStatus) {
        self.frames = self.frames.saturating_add(1);
        self.packets = self.packets.saturating_add(status.packets.max(1).into());
        let mut last = None;
        for tried in status.tried() {
            let Some(place) = groups::place_of(&self.groups, tried.mode) else { continue };
            let stats = &mut self.groups[place.group()].stats[place.index()];
            stats.attempts = stats.attempts.saturating_add(tried.packets);
            last = Some(place);
        }
        if let Some(place) = last {
            let stats = &mut self.groups[place.group()].stats[place.index()];
            stats.successes = stats.successes.saturating_add(status.acknowledged.into());
        }
        let mut changes = self.params.steps > 1 && self.turn_from_the_dead();
        if status.now.since(self.sorted_at) > self.params.interval {
            self.sort(status.now);
            changes = true;
        }
        if changes {
            self.chain = self.chain_now();
        }
    }
}
