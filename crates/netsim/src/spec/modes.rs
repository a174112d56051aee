//! Rate control of links, and the modes that it chooses from.

use super::NetworkSpec;
use evenair_laws::rates::{RateControlParams, RateFormat, RateMode, RateRole};
use evenair_topology::{ConflictGraph, Link};
use evenair_units::{Dbm, Rate};
use evenair_wifi::{BROADCAST, Capture, FULL_PACKET, Format, GuardInterval, Mode, Modulation, Phy, Width};
use std::collections::BTreeSet;

/// The greatest share of packets that a link loses to others with which it does not conflict by the ratio of signal to noise.
const MOST_LOST: f64 = 0.1;

/// Rate control of the links of the air; where there is none, each link has one mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateControlSpec {
    /// That of links without one of their own.
    pub law: Option<RateControlParams>,
    /// Links with one of their own.
    pub links: Vec<LinkControl>,
}

/// The rate control of one directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkControl {
    /// The node that transmits.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// Its law.
    pub law: RateControlParams,
}

impl RateControlSpec {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.law.is_none() && self.links.is_empty()
    }

    /// The law of a link.
    pub fn of(&self, from: u32, to: u32) -> Option<&RateControlParams> {
        let own = self.links.iter().find(|link| (link.from, link.to) == (from, to));
        own.map(|link| &link.law).or(self.law.as_ref())
    }
}

impl NetworkSpec {
    /// The modes that rate control may choose on a link: the link's own, and those that are no faster in any respect. Of 802.11n and ac the
    /// indices, streams and widths up to its own, with the short guard interval where its own has it; of 802.11ax those with its own
    /// guard interval; of other kinds the rates up to its own. Slowest first.
    pub fn modes_of(&self, from: u32, to: u32) -> Vec<Mode> {
        let own = self.mode(from, to);
        let mut modes = match (own.modulation(), &self.mac) {
            (Some(modulation), _) => up_to(modulation),
            (None, super::MacSpec::Dcf { timing, .. }) => {
                let phy = timing.phy;
                let phy = if phy.is_dsss(own.rate()) { phy.of_b() } else { phy };
                let rates = phy.rates().iter().filter(|rate| **rate < own.rate());
                rates.copied().map(Mode::at).chain([own]).collect()
            }
            (None, super::MacSpec::Ideal) => vec![own],
        };
        modes.sort_by_key(|mode| mode.rate());
        modes
    }

    /// The fastest mode that a link sustains without interference, which theory reckons with: under rate control that with the greatest product
    /// of rate and share received, or the fastest that is received at all; the link's own without it.
    pub fn sustained_mode(&self, from: u32, to: u32) -> Mode {
        let own = self.mode(from, to);
        let (Some(law), Some(ear)) =
            (self.rate_control.of(from, to), self.medium.hearing(from as usize, to as usize))
        else {
            return own;
        };
        let modes = self.modes_of(from, to).into_iter();
        if let Some((model, timing)) = self.errors(from, to) {
            return model.best(timing.phy, modes, ear.power, FULL_PACKET, law.loss_max()).unwrap_or(own);
        }
        let Some(sensitivity) = &self.receivers.sensitivity else { return own };
        let received = |mode: &Mode| sensitivity.threshold(*mode).is_some_and(|least| ear.power >= least);
        modes.rev().find(received).unwrap_or(own)
    }

    /// Which of these links conflict by the ratio of signal to interference and noise: those of which one's frames, or the answers to them,
    /// spoil the other's. A link keeps its frames if it loses at most a tenth of its packets of 1500 bytes by the error model; where
    /// receivers have thresholds, if it is stronger by that of capture. None, over ideal CSMA.
    pub fn conflicts_by_ratio(&self, links: &[Link]) -> Option<ConflictGraph> {
        let super::MacSpec::Dcf { rules, .. } = &self.mac else { return None };
        let milliwatts = |power: Dbm| libm::pow(10.0, power.level() / 10.0);
        let noise_mw = if let Capture::Sinr { noise } = rules.capture { milliwatts(noise) } else { 0.0 };
        let ratio = milliwatts(Dbm::new(rules.capture_db));
        let survives = |l: usize, signal: Dbm, other: Dbm| {
            let Link { from, to } = links[l];
            if let Some((model, timing)) = self.errors(from, to) {
                let mode = self.sustained_mode(from, to);
                return model.survives(timing.phy, mode, FULL_PACKET, (signal, other), MOST_LOST);
            }
            milliwatts(signal) >= ratio * (milliwatts(other) + noise_mw)
        };
        Some(self.medium.spoiling(links, survives))
    }

    /// The place of a link's rate control: its modes, and a number for its draws.
    pub(crate) fn rate_role(&self, from: u32, to: u32, modes: &[Mode], seed: u64) -> RateRole {
        let phy = match &self.mac {
            super::MacSpec::Dcf { timing, .. } => Some(timing.phy),
            super::MacSpec::Ideal => None,
        };
        let own = self.mode(from, to);
        let own = modes.iter().position(|mode| *mode == own).expect("a link has its own mode") as u16;
        RateRole { modes: modes.iter().map(|mode| facts(*mode, phy)).collect(), own, seed }
    }

    /// The links of the air that packets may take.
    pub(crate) fn air_links(&self) -> BTreeSet<(u32, u32)> {
        let later =
            self.motion.iter().flat_map(|motion| &motion.detours).filter_map(|detour| detour.path.as_ref());
        let paths = self.flows.iter().map(|flow| &flow.path).chain(&self.routes).chain(later);
        let hops = paths.flat_map(|path| path.windows(2)).filter(|hop| hop[1] != BROADCAST);
        let both = hops.flat_map(|hop| [(hop[0], hop[1]), (hop[1], hop[0])]);
        both.filter(|ends| !self.wires.iter().any(|wire| (wire.from, wire.to) == *ends)).collect()
    }
}

/// The modes of 802.11n, ac or ax that are no faster than one in any respect.
fn up_to(own: Modulation) -> Vec<Mode> {
    let guards = match (own.format, own.guard_interval) {
        (Format::Ht | Format::Vht, GuardInterval::Ns400) => vec![GuardInterval::Ns800, GuardInterval::Ns400],
        (_, guard_interval) => vec![guard_interval],
    };
    let mut modes = Vec::new();
    for width in Width::ALL.into_iter().filter(|width| *width <= own.width) {
        for &guard_interval in &guards {
            for streams in 1..=own.streams {
                let all = (0..=own.mcs).map(|mcs| Modulation { mcs, streams, width, guard_interval, ..own });
                modes.extend(all.filter_map(|modulation| Mode::of(modulation).ok()));
            }
        }
    }
    modes
}

/// A mode as laws know it.
fn facts(mode: Mode, phy: Option<Phy>) -> RateMode {
    const DSSS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
    const OFDM: [u64; 8] = [6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];
    let rate = mode.rate();
    if let Some(Modulation { format, mcs, streams, width, guard_interval }) = mode.modulation() {
        let format = match format {
            Format::Ht => RateFormat::Ht,
            Format::Vht => RateFormat::Vht,
            Format::He => RateFormat::He,
        };
        let (width_mhz, guard_ns) = (width.as_mhz() as u16, guard_interval.as_nanos() as u16);
        return RateMode { format, index: mcs, streams, width_mhz, guard_ns, rate };
    }
    let is_dsss = phy.is_some_and(|phy| phy.is_dsss(rate));
    let among = |rates: &[u64]| rates.iter().filter(|kbps| Rate::from_kbps(**kbps) < rate).count() as u8;
    let (format, index) =
        if is_dsss { (RateFormat::Dsss, among(&DSSS)) } else { (RateFormat::Ofdm, among(&OFDM)) };
    RateMode { format, index, streams: 1, width_mhz: 20, guard_ns: 800, rate }
}
