//! Medium access.

use crate::error::Mistake;
use crate::language::{
    AckTimeout, DataRate, HoldingLaw, InterruptedDifs, MacKind, MacTable, PreambleKind, Preset, Protection,
};
use crate::quantity::{RateQuantity, Time};
use evenair_units::{Duration, Rate};
use evenair_wifi::{ControlRate, Format, MacTiming, Mode, Modulation, Phy, Preamble, Rules};

/// The greatest coverage class (IEEE 802.11-2016 clause 9.4.2.9).
pub(crate) const COVERAGE_CLASS_MAX: u8 = 31;

const NS2_HAS_NONE: &str = "is for the standard preset: ns-2's slot and time-out are fixed, and cover 600 m";

const NS2_WAITS_ANYWAY: &str =
    "is for the standard preset: in ns-2 each packet waits a DIFS of its own, and draws before it";

/// Medium access, before the lengths of links and the back-off law's needs are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mac {
    /// Times and rules of 802.11; none, if the MAC is ideal.
    pub(crate) ieee80211: Option<(MacTiming, Rules)>,
    /// The mode of links that have none of their own; of none, if each has the fastest that it can carry.
    pub(crate) data_mode: Mode,
    /// Each link has the fastest rate that it can carry.
    pub(crate) by_distance: bool,
    pub(crate) link_layer_delay: Duration,
}

impl Mac {
    pub(crate) const fn is_ideal(&self) -> bool {
        self.ieee80211.is_none()
    }

    /// The mode of links of 802.11n, ac or ax that have none of their own; none, of another MAC.
    pub(crate) const fn modulation(&self) -> Option<Modulation> {
        self.data_mode.modulation()
    }

    /// The physical layer; none, if the MAC is ideal.
    pub(crate) fn phy(&self) -> Option<Phy> {
        self.ieee80211.map(|(timing, _)| timing.phy)
    }
}

impl MacTable {
    /// `is_beside`: there are older stations among those of this kind.
    pub(crate) fn complete(&mut self, preset: Preset, is_beside: bool) -> Result<Mac, Mistake> {
        let ns2 = preset == Preset::Ns2;
        if let Some(format) = self.kind.format() {
            return self.complete_modulated(preset, format, is_beside);
        }
        let beside_b = is_beside;
        self.check_unmodulated()?;
        let ieee80211 = self.ieee80211(preset, beside_b)?;
        let fastest =
            if matches!(self.kind, MacKind::Ieee80211a | MacKind::Ieee80211g) { 54_000 } else { 11_000 };
        let link_layer = Duration::from_micros(if ns2 { 25 } else { 0 });
        let fastest = RateQuantity(Rate::from_kbps(fastest));
        let data_rate = *self.data_rate.get_or_insert(DataRate::Fixed(fastest));
        let by_distance = data_rate == DataRate::ByDistance;
        let data_rate = if let DataRate::Fixed(rate) = data_rate { rate } else { fastest };
        let mac = Mac {
            ieee80211,
            data_mode: Mode::at(data_rate.0),
            by_distance,
            link_layer_delay: self.link_layer_delay.get_or_insert(Time(link_layer)).0,
        };
        // ns-2 has no list of rates: its frames of 802.11b are sent at any given rate.
        if let Some(phy) = mac.phy().filter(|_| !ns2) {
            if let Some(basic) = self.basic_rate.filter(|rate| beside_b && !phy.is_dsss(rate.0)) {
                let why = format!("{basic} is not a rate of 802.11b, and stations of 802.11b must decode it");
                return Err(Mistake::at("mac.basic_rate", why));
            }
            let rates = [("mac.data_rate", Some(data_rate)), ("mac.basic_rate", self.basic_rate)];
            for (key, rate) in rates.into_iter().filter_map(|(key, rate)| Some((key, rate?))) {
                phy.checked(rate.0).map_err(|e| Mistake::at(key, e.to_string()))?;
            }
        }
        Ok(mac)
    }

    /// 802.11n, ac or ax.
    fn complete_modulated(
        &mut self,
        preset: Preset,
        format: Format,
        is_beside: bool,
    ) -> Result<Mac, Mistake> {
        self.check(preset, is_beside)?;
        let by_distance = self.data_rate == Some(DataRate::ByDistance);
        if self.data_rate.is_some() && !by_distance {
            let why = "is for 802.11a, b and g: 802.11n, ac and ax have mcs, streams, width and guard_interval, or \"by-distance\"";
            return Err(Mistake::at("mac.data_rate", why));
        }
        if by_distance && self.mcs.is_some() {
            let why =
                "contradicts mac.data_rate = \"by-distance\", which sets each link's own; remove one of them";
            return Err(Mistake::at("mac.mcs", why));
        }
        let (phy, modulation) = self.modulation(format)?;
        let phy = if preset == Preset::Ns3 { phy.ns3() } else { phy };
        if let Some(basic) = self.basic_rate {
            phy.checked(basic.0).map_err(|e| Mistake::at("mac.basic_rate", e.to_string()))?;
        }
        let protects = is_beside && *self.protection.get_or_insert(Protection::CtsToSelf) != Protection::None;
        let timing = MacTiming::high_throughput(phy, control(self.basic_rate));
        Ok(Mac {
            ieee80211: Some(self.timing_and_rules(preset, MacTiming { protects, ..timing })?),
            data_mode: Mode::of(modulation).expect("it has been checked"),
            by_distance,
            link_layer_delay: self.link_layer_delay.get_or_insert(Time(Duration::ZERO)).0,
        })
    }

    /// The keys of 802.11n, ac and ax, which no other kind knows.
    fn check_unmodulated(&self) -> Result<(), Mistake> {
        let key = self.mode_keys().given().or(self.band.map(|_| "band"));
        let why = if self.kind == MacKind::Ideal {
            "has no meaning for the ideal MAC"
        } else {
            "is for 802.11n, ac and ax"
        };
        key.map_or(Ok(()), |key| Err(Mistake::at(&format!("mac.{key}"), why)))
    }

    /// Times and rules of 802.11; none, if the MAC is ideal.
    fn ieee80211(&mut self, preset: Preset, beside_b: bool) -> Result<Option<(MacTiming, Rules)>, Mistake> {
        if self.kind != MacKind::Ideal {
            self.check(preset, beside_b)?;
        }
        let timing = match self.kind {
            MacKind::Ideal => return self.ideal().map(|()| None),
            MacKind::Ieee80211a => MacTiming::a(control(self.basic_rate)),
            MacKind::Ieee80211g if beside_b => {
                let (preamble, basic_rate) = self.dsss();
                let protects = *self.protection.get_or_insert(Protection::CtsToSelf) != Protection::None;
                MacTiming::mixed(preamble, basic_rate, protects)
            }
            MacKind::Ieee80211g => MacTiming::g(control(self.basic_rate)),
            MacKind::Ieee80211b => {
                let (preamble, basic_rate) = self.dsss();
                MacTiming::b(preamble, basic_rate)
            }
            MacKind::Ieee80211n | MacKind::Ieee80211ac | MacKind::Ieee80211ax => {
                unreachable!("a kind with a format of its own")
            }
        };
        self.timing_and_rules(preset, timing).map(Some)
    }

    /// The times that the preset makes of the standard's, and its rules.
    fn timing_and_rules(&mut self, preset: Preset, timing: MacTiming) -> Result<(MacTiming, Rules), Mistake> {
        let (timing, rules) = match preset {
            Preset::Standard => (self.lengthened(timing)?, Rules::standard()),
            Preset::Ns3 => {
                self.interrupted_difs.get_or_insert(InterruptedDifs::Waive);
                // ThresholdPreambleDetectionModel's default.
                (self.lengthened(timing)?, Rules { detection_db: Some(4.0), ..Rules::standard() })
            }
            Preset::Ns2 => (timing.ns2(), Rules::ns2()),
        };
        let limit = |key: &str, given: &mut Option<u32>, default: u32| match *given.get_or_insert(default) {
            0 => Err(Mistake::at(&format!("mac.{key}"), "must be at least 1")),
            limit => Ok(limit),
        };
        let standard = Rules::standard();
        let rules = Rules {
            idle_once_is_enough: rules.idle_once_is_enough
                || *self.interrupted_difs.get_or_insert(InterruptedDifs::Draw) == InterruptedDifs::Waive,
            rts_threshold: self.rts_threshold.map(|size| size.0),
            rts_duration: self.rts_duration.map(|time| time.0),
            short_retry_limit: limit(
                "short_retry_limit",
                &mut self.short_retry_limit,
                standard.short_retry_limit,
            )?,
            long_retry_limit: limit(
                "long_retry_limit",
                &mut self.long_retry_limit,
                standard.long_retry_limit,
            )?,
            ..rules
        };
        let sensing_delay = self.sensing_delay.get_or_insert(Time(timing.sensing_delay)).0;
        Ok((MacTiming { sensing_delay, ..timing }, rules))
    }

    /// The preamble and the basic rate of 802.11b: the lowest rate that the preamble has.
    fn dsss(&mut self) -> (Preamble, Rate) {
        let (preamble, lowest) = match *self.preamble.get_or_insert(PreambleKind::Long) {
            PreambleKind::Long => (Preamble::Long, 1_000),
            PreambleKind::Short => (Preamble::Short, 2_000),
        };
        (preamble, self.basic_rate.get_or_insert(RateQuantity(Rate::from_kbps(lowest))).0)
    }

    /// The keys that the ideal MAC does not know.
    fn ideal(&mut self) -> Result<(), Mistake> {
        let unused = [
            ("basic_rate", self.basic_rate.is_some()),
            ("preamble", self.preamble.is_some()),
            ("protection", self.protection.is_some()),
            ("short_retry_limit", self.short_retry_limit.is_some()),
            ("long_retry_limit", self.long_retry_limit.is_some()),
            ("rts_threshold", self.rts_threshold.is_some()),
            ("rts_duration", self.rts_duration.is_some()),
            ("sensing_delay", self.sensing_delay.is_some()),
            ("coverage_class", self.coverage_class.is_some()),
            ("ack_timeout", self.ack_timeout.is_some()),
            ("interrupted_difs", self.interrupted_difs.is_some()),
        ];
        if let Some((key, _)) = unused.iter().find(|(_, given)| *given) {
            return Err(Mistake::at(&format!("mac.{key}"), "has no meaning for the ideal MAC"));
        }
        self.holding.get_or_insert(HoldingLaw::Packet);
        Ok(())
    }

    /// The keys that 802.11 does not know, or not all of.
    fn check(&self, preset: Preset, is_beside: bool) -> Result<(), Mistake> {
        let beside_b = is_beside && self.kind == MacKind::Ieee80211g;
        let (is_b, ns2) = (self.kind == MacKind::Ieee80211b, preset == Preset::Ns2);
        let wrong = [
            (self.holding.is_some(), "mac.holding", "is for the ideal MAC; 802.11 holds a packet's airtime"),
            (self.preamble.is_some() && !is_b && !beside_b, "mac.preamble", "is for 802.11b"),
            (
                self.protection.is_some() && !is_beside,
                "mac.protection",
                "is for stations beside older ones, such as 802.11g beside 802.11b: give one nodes.X.mac = \"802.11b\"",
            ),
            (ns2 && !is_b, "preset", "ns-2's 802.11 is 802.11b"),
            (ns2 && self.coverage_class.is_some(), "mac.coverage_class", NS2_HAS_NONE),
            (ns2 && self.ack_timeout.is_some(), "mac.ack_timeout", NS2_HAS_NONE),
            (ns2 && self.interrupted_difs.is_some(), "mac.interrupted_difs", NS2_WAITS_ANYWAY),
        ];
        wrong.iter().find(|(is, ..)| *is).map_or(Ok(()), |(_, key, why)| Err(Mistake::at(key, *why)))
    }

    /// The times of the coverage class that an operator has set.
    fn lengthened(&mut self, timing: MacTiming) -> Result<MacTiming, Mistake> {
        self.ack_timeout.get_or_insert(AckTimeout::Standard);
        let class = *self.coverage_class.get_or_insert(0);
        let Some(class) = u8::try_from(class).ok().filter(|&class| class <= COVERAGE_CLASS_MAX) else {
            let why = format!(
                "{class} must lie between 0 and {COVERAGE_CLASS_MAX}, which is for 13.9 km; beyond it mac.ack_timeout = \"distance\" lengthens the time-out alone"
            );
            return Err(Mistake::at("mac.coverage_class", why));
        };
        Ok(timing.with_coverage_class(class))
    }

    /// The times of a network with this propagation over its longest hop in use.
    pub(crate) fn over(&self, timing: MacTiming, longest: Duration) -> Result<MacTiming, Mistake> {
        match self.ack_timeout {
            None | Some(AckTimeout::Standard) => Ok(timing),
            Some(AckTimeout::Distance) => Ok(timing.with_round_trip(longest * 2)),
            Some(AckTimeout::After(time)) if time.0 < timing.answer_timeout => {
                let least = Time(timing.answer_timeout);
                let why =
                    format!("{time} is less than {least}, the standard's, which is for a distance of 0 m");
                Err(Mistake::at("mac.ack_timeout", why))
            }
            Some(AckTimeout::After(time)) => Ok(timing.with_round_trip(time.0 - timing.answer_timeout)),
        }
    }
}

/// The rule by which control frames have their rates.
fn control(basic_rate: Option<RateQuantity>) -> ControlRate {
    basic_rate.map_or(ControlRate::Mandatory, |rate| ControlRate::Basic(rate.0))
}

impl MacKind {
    /// The format of the frames of 802.11n, ac or ax.
    pub(crate) const fn format(self) -> Option<Format> {
        match self {
            Self::Ieee80211n => Some(Format::Ht),
            Self::Ieee80211ac => Some(Format::Vht),
            Self::Ieee80211ax => Some(Format::He),
            Self::Ieee80211b | Self::Ieee80211a | Self::Ieee80211g | Self::Ideal => None,
        }
    }
}
