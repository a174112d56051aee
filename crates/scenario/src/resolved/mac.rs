//! Medium access, complete.

use crate::error::Mistake;
use crate::language::{AckTimeout, HoldingLaw, MacKind, MacTable, PreambleKind, Preset};
use crate::quantity::{PacketCount, RateQuantity, Size, Time};
use evenair_units::{Duration, Rate};
use evenair_wifi::{Phy, PhyStandard, Preamble, Rules};
use serde::Serialize;

const NS2_HAS_NONE: &str = "is for the standard preset: ns-2's slot and time-out are fixed, and cover 600 m";

/// Medium access.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResolvedMac {
    /// Which MAC, and what it alone knows.
    #[serde(flatten)]
    pub rules: MacRules,
    /// Rate of data frames.
    pub data_rate: RateQuantity,
    /// Packets that wait at a node, the one in the MAC not counted.
    pub queue: PacketCount,
    /// How long a packet takes between the network layer and its queue, each way.
    pub link_layer_delay: Time,
}

/// Which MAC, and what it alone knows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind")]
pub enum MacRules {
    /// 802.11b.
    #[serde(rename = "802.11b")]
    B {
        /// Preamble.
        preamble: PreambleKind,
        /// Rate of control frames.
        basic_rate: RateQuantity,
        /// What all of 802.11 has.
        #[serde(flatten)]
        common: Ieee80211,
    },
    /// 802.11a.
    #[serde(rename = "802.11a")]
    A {
        /// Rate of control frames; if none, the fastest mandatory one that is not above the data's.
        #[serde(skip_serializing_if = "Option::is_none")]
        basic_rate: Option<RateQuantity>,
        /// What all of 802.11 has.
        #[serde(flatten)]
        common: Ieee80211,
    },
    /// 802.11g without stations of 802.11b.
    #[serde(rename = "802.11g")]
    G {
        /// Rate of control frames; if none, the fastest mandatory one that is not above the data's.
        #[serde(skip_serializing_if = "Option::is_none")]
        basic_rate: Option<RateQuantity>,
        /// What all of 802.11 has.
        #[serde(flatten)]
        common: Ieee80211,
    },
    /// Ideal CSMA.
    #[serde(rename = "ideal")]
    Ideal {
        /// How long a link holds the medium.
        holding: HoldingLaw,
    },
}

/// What all of 802.11 has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ieee80211 {
    /// Packets whose DATA frame is larger than this are preceded by RTS and CTS; none, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rts_threshold: Option<Size>,
    /// How often an RTS, or a DATA frame without one, is sent before its packet is given up.
    pub short_retry_limit: u32,
    /// How often a DATA frame that an RTS precedes is sent.
    pub long_retry_limit: u32,
    /// How long after a frame's arrival a station can still begin to transmit.
    pub sensing_delay: Time,
    /// What the operator has set for long links; none under ns-2's preset, which has fixed times.
    #[serde(flatten)]
    pub distance: Option<Distance>,
}

/// What an operator sets for long links.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Distance {
    /// IEEE 802.11's coverage class.
    pub coverage_class: u32,
    /// How long an ACK or a CTS is waited for.
    pub ack_timeout: AckTimeout,
}

impl MacTable {
    pub(crate) fn resolve(self, preset: Preset) -> Result<ResolvedMac, Mistake> {
        let phy = self.kind.phy();
        let rules = phy.map_or_else(|| self.ideal(), |phy| self.ieee80211(phy, preset))?;
        let fastest = match phy {
            None | Some(PhyStandard::B) => 11_000,
            Some(PhyStandard::A | PhyStandard::G) => 54_000,
        };
        let link_layer_us = if preset == Preset::Ns2 { 25 } else { 0 };
        let mac = ResolvedMac {
            rules,
            data_rate: self.data_rate.unwrap_or(RateQuantity(Rate::from_kbps(fastest))),
            queue: self.queue.unwrap_or(PacketCount(50)),
            link_layer_delay: self.link_layer_delay.unwrap_or(Time(Duration::from_micros(link_layer_us))),
        };
        if mac.queue.0 == 0 {
            return Err(Mistake::at("mac.queue", "must hold at least 1 packet"));
        }
        // ns-2 knows no list of rates: its frames of 802.11b are sent at whatever rate it is told.
        let any = preset == Preset::Ns2 && phy == Some(PhyStandard::B);
        if let Some(phy) = mac.phy().filter(|_| !any) {
            for (key, rate) in [("mac.data_rate", Some(mac.data_rate)), ("mac.basic_rate", mac.basic_rate())]
            {
                if let Some(rate) = rate {
                    phy.checked(rate.0).map_err(|e| Mistake::at(key, e.to_string()))?;
                }
            }
        }
        Ok(mac)
    }

    fn ideal(&self) -> Result<MacRules, Mistake> {
        let unused = [
            ("basic_rate", self.basic_rate.is_some()),
            ("preamble", self.preamble.is_some()),
            ("short_retry_limit", self.short_retry_limit.is_some()),
            ("long_retry_limit", self.long_retry_limit.is_some()),
            ("rts_threshold", self.rts_threshold.is_some()),
            ("sensing_delay", self.sensing_delay.is_some()),
            ("coverage_class", self.coverage_class.is_some()),
            ("ack_timeout", self.ack_timeout.is_some()),
        ];
        if let Some((key, _)) = unused.iter().find(|(_, given)| *given) {
            return Err(Mistake::at(&format!("mac.{key}"), "has no meaning for the ideal MAC"));
        }
        Ok(MacRules::Ideal { holding: self.holding.unwrap_or(HoldingLaw::Packet) })
    }

    fn ieee80211(&self, phy: PhyStandard, preset: Preset) -> Result<MacRules, Mistake> {
        if self.holding.is_some() {
            return Err(Mistake::at("mac.holding", "is for the ideal MAC; 802.11 holds a packet's airtime"));
        }
        if self.preamble.is_some() && phy != PhyStandard::B {
            return Err(Mistake::at("mac.preamble", "is for 802.11b"));
        }
        if preset == Preset::Ns2 && phy != PhyStandard::B {
            return Err(Mistake::at("preset", "ns-2's 802.11 is 802.11b"));
        }
        let common = self.common(phy, preset)?;
        let basic_rate = self.basic_rate;
        Ok(match phy {
            PhyStandard::A => MacRules::A { basic_rate, common },
            PhyStandard::G => MacRules::G { basic_rate, common },
            PhyStandard::B => {
                let preamble = self.preamble.unwrap_or(PreambleKind::Long);
                // The lowest rate that the preamble has.
                let lowest = if preamble == PreambleKind::Long { 1_000 } else { 2_000 };
                let basic_rate = basic_rate.unwrap_or(RateQuantity(Rate::from_kbps(lowest)));
                MacRules::B { preamble, basic_rate, common }
            }
        })
    }

    fn common(&self, phy: PhyStandard, preset: Preset) -> Result<Ieee80211, Mistake> {
        let sensing_us = match (preset, phy) {
            (Preset::Ns2, _) => 0,
            (Preset::Standard, PhyStandard::B) => 15,
            (Preset::Standard, PhyStandard::A | PhyStandard::G) => 4,
        };
        let rules = Rules::standard();
        let limit = |key: &str, given: Option<u32>, default: u32| match given {
            Some(0) => Err(Mistake::at(&format!("mac.{key}"), "must be at least 1")),
            given => Ok(given.unwrap_or(default)),
        };
        Ok(Ieee80211 {
            rts_threshold: self.rts_threshold,
            short_retry_limit: limit("short_retry_limit", self.short_retry_limit, rules.short_retry_limit)?,
            long_retry_limit: limit("long_retry_limit", self.long_retry_limit, rules.long_retry_limit)?,
            sensing_delay: self.sensing_delay.unwrap_or(Time(Duration::from_micros(sensing_us))),
            distance: self.distance(preset)?,
        })
    }

    fn distance(&self, preset: Preset) -> Result<Option<Distance>, Mistake> {
        match preset {
            Preset::Standard => Ok(Some(Distance {
                coverage_class: self.coverage_class.unwrap_or(0),
                ack_timeout: self.ack_timeout.unwrap_or(AckTimeout::Standard),
            })),
            Preset::Ns2 if self.coverage_class.is_some() => {
                Err(Mistake::at("mac.coverage_class", NS2_HAS_NONE))
            }
            Preset::Ns2 if self.ack_timeout.is_some() => Err(Mistake::at("mac.ack_timeout", NS2_HAS_NONE)),
            Preset::Ns2 => Ok(None),
        }
    }
}

impl MacKind {
    /// Its physical layer; none, if it is ideal.
    const fn phy(self) -> Option<PhyStandard> {
        match self {
            Self::Ieee80211b => Some(PhyStandard::B),
            Self::Ieee80211a => Some(PhyStandard::A),
            Self::Ieee80211g => Some(PhyStandard::G),
            Self::Ideal => None,
        }
    }
}

impl ResolvedMac {
    /// Whether it is ideal CSMA.
    pub const fn is_ideal(&self) -> bool {
        matches!(self.rules, MacRules::Ideal { .. })
    }

    /// The physical layer; none, if the MAC is ideal.
    pub(crate) fn phy(&self) -> Option<Phy> {
        Some(match self.rules {
            MacRules::B { preamble: PreambleKind::Short, .. } => Phy::b(Preamble::Short),
            MacRules::B { preamble: PreambleKind::Long, .. } => Phy::b(Preamble::Long),
            MacRules::A { .. } => Phy::a(),
            MacRules::G { .. } => Phy::g(),
            MacRules::Ideal { .. } => return None,
        })
    }

    fn basic_rate(&self) -> Option<RateQuantity> {
        match self.rules {
            MacRules::B { basic_rate, .. } => Some(basic_rate),
            MacRules::A { basic_rate, .. } | MacRules::G { basic_rate, .. } => basic_rate,
            MacRules::Ideal { .. } => None,
        }
    }
}
