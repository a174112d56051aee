//! From the scenario's MAC and back-off law to those of the packet world.

use super::RESOLVED;
use crate::error::Mistake;
use crate::language::{
    AckPriority, AckTimeout, BackoffLaw, BackoffUnitName, CategoryTable, HoldingLaw, InterferenceRule,
    MacKind, Measure, PreambleKind, Preset, Scenario, WeakSignals,
};
use crate::quantity::Time;
use evenair_laws::BadParameter;
use evenair_laws::backoff::{AdaptiveParams, BackoffUnit, DcfParams, QueueMeasure};
use evenair_netsim::{BackoffSpec, MacSpec, NetworkSpec};
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{Capture, ControlRate, EdcaParams, Holding, MacTiming, Phy, PhyStandard, Preamble, Rules};

/// The greatest coverage class (IEEE 802.11-2016 clause 9.4.2.9).
pub(crate) const COVERAGE_CLASS_MAX: u8 = 31;
const NS2_HAS_NONE: &str = "is for the standard preset: ns-2's slot and time-out are fixed, and cover 600 m";

impl Scenario {
    /// The physical layer; none, if the MAC is ideal.
    pub(super) fn phy(&self) -> Option<Phy> {
        let preamble = match self.mac.preamble {
            Some(PreambleKind::Short) => Preamble::Short,
            Some(PreambleKind::Long) | None => Preamble::Long,
        };
        Some(match self.mac.kind.phy()? {
            PhyStandard::B => Phy::b(preamble),
            PhyStandard::A => Phy::a(),
            PhyStandard::G => Phy::g(),
        })
    }

    /// `longest` is the propagation over the longest hop in use.
    pub(super) fn mac_spec(&self, longest: Duration) -> Result<MacSpec, Mistake> {
        let Some(phy) = self.phy() else { return self.ideal_spec() };
        let mac = &self.mac;
        if mac.holding.is_some() {
            return Err(Mistake::at("mac.holding", "is for the ideal MAC; 802.11 holds a packet's airtime"));
        }
        if mac.preamble.is_some() && phy.standard != PhyStandard::B {
            return Err(Mistake::at("mac.preamble", "is for 802.11b"));
        }
        for (key, rate) in [("mac.data_rate", mac.data_rate), ("mac.basic_rate", mac.basic_rate)] {
            if let Some(rate) = rate {
                phy.checked(rate.0).map_err(|e| Mistake::at(key, e.to_string()))?;
            }
        }
        let control = mac.basic_rate.map_or(ControlRate::Mandatory, |rate| ControlRate::Fixed(rate.0));
        let timing = match phy.standard {
            PhyStandard::B => MacTiming::b(phy.preamble, mac.basic_rate.expect(RESOLVED).0),
            PhyStandard::A => MacTiming::a(control),
            PhyStandard::G => MacTiming::g(control),
        };
        let (timing, rules) = match self.preset {
            Preset::Standard => (self.over_distance(timing, longest)?, Rules::standard()),
            Preset::Ns2 if mac.coverage_class.is_some() => {
                return Err(Mistake::at("mac.coverage_class", NS2_HAS_NONE));
            }
            Preset::Ns2 if mac.ack_timeout.is_some() => {
                return Err(Mistake::at("mac.ack_timeout", NS2_HAS_NONE));
            }
            Preset::Ns2 if phy.standard == PhyStandard::B => (timing.ns2(), Rules::ns2()),
            Preset::Ns2 => return Err(Mistake::at("preset", "ns-2's 802.11 is 802.11b")),
        };
        let edca = matches!(self.backoff, BackoffLaw::Edca { .. });
        let timing = if edca { timing.qos() } else { timing };
        let timing = MacTiming { sensing_delay: mac.sensing_delay.expect(RESOLVED).0, ..timing };
        let rules = Rules {
            rts_threshold: mac.rts_threshold.map(|size| size.0),
            short_retry_limit: mac.short_retry_limit.expect(RESOLVED),
            long_retry_limit: mac.long_retry_limit.expect(RESOLVED),
            ..rules
        };
        Ok(MacSpec::Dcf { timing, rules: self.capture(rules) })
    }

    /// What the operator has set for long links.
    fn over_distance(&self, timing: MacTiming, longest: Duration) -> Result<MacTiming, Mistake> {
        let class = self.mac.coverage_class.expect(RESOLVED);
        let Some(class) = u8::try_from(class).ok().filter(|&class| class <= COVERAGE_CLASS_MAX) else {
            let why = format!(
                "{class} must lie between 0 and {COVERAGE_CLASS_MAX}, which is for 13.9 km; beyond it mac.ack_timeout = \"distance\" lengthens the time-out alone"
            );
            return Err(Mistake::at("mac.coverage_class", why));
        };
        let timing = timing.with_coverage_class(class);
        match self.mac.ack_timeout.expect(RESOLVED) {
            AckTimeout::Standard => Ok(timing),
            AckTimeout::Distance => Ok(timing.with_round_trip(longest * 2)),
            AckTimeout::After(time) if time.0 < timing.answer_timeout => {
                let least = Time(timing.answer_timeout);
                let why =
                    format!("{time} is less than {least}, the standard's, which is for no distance at all");
                Err(Mistake::at("mac.ack_timeout", why))
            }
            AckTimeout::After(time) => Ok(timing.with_round_trip(time.0 - timing.answer_timeout)),
        }
    }

    fn capture(&self, rules: Rules) -> Rules {
        let Some(radio) = &self.radio else { return rules };
        let capture = match radio.interference.expect(RESOLVED) {
            InterferenceRule::Strongest => Capture::Strongest,
            InterferenceRule::First => Capture::First,
            InterferenceRule::Sum => Capture::Sinr { noise: radio.noise.expect(RESOLVED).0 },
        };
        let weak_is_error = radio.weak_signals.expect(RESOLVED) == WeakSignals::Errors;
        Rules { capture, capture_db: radio.capture.expect(RESOLVED).0, weak_is_error, ..rules }
    }

    fn ideal_spec(&self) -> Result<MacSpec, Mistake> {
        let mac = &self.mac;
        let unused = [
            ("basic_rate", mac.basic_rate.is_some()),
            ("preamble", mac.preamble.is_some()),
            ("short_retry_limit", mac.short_retry_limit.is_some()),
            ("long_retry_limit", mac.long_retry_limit.is_some()),
            ("rts_threshold", mac.rts_threshold.is_some()),
            ("sensing_delay", mac.sensing_delay.is_some()),
            ("coverage_class", mac.coverage_class.is_some()),
            ("ack_timeout", mac.ack_timeout.is_some()),
        ];
        if let Some((key, _)) = unused.iter().find(|(_, given)| *given) {
            return Err(Mistake::at(&format!("mac.{key}"), "has no meaning for the ideal MAC"));
        }
        let mean = mac.data_rate.expect(RESOLVED).0.time_for(self.packet_size());
        let holding = match mac.holding.expect(RESOLVED) {
            HoldingLaw::Packet => Holding::Packet,
            HoldingLaw::Exponential => Holding::Exponential(mean),
            HoldingLaw::Uniform => Holding::Uniform(mean),
        };
        Ok(MacSpec::Ideal { holding })
    }

    pub(super) fn backoff_spec(&self, mac: &MacSpec) -> Result<BackoffSpec, Mistake> {
        match self.backoff {
            BackoffLaw::Dcf { window_min, window_max } => {
                let params = DcfParams {
                    window_min: window_min.expect(RESOLVED),
                    window_max: window_max.expect(RESOLVED),
                    ..DcfParams::dsss()
                };
                let params = if self.preset == Preset::Ns2 { params.ns2() } else { params };
                params.validated().map(BackoffSpec::Dcf).map_err(|e| law_mistake("backoff", e))
            }
            BackoffLaw::Edca { voice, video, best_effort, background } => {
                if self.mac.kind == MacKind::Ideal || self.preset == Preset::Ns2 {
                    return Err(Mistake::at("backoff.law", "edca needs 802.11 by the standard"));
                }
                let names = ["voice", "video", "best_effort", "background"];
                let categories = [voice, video, best_effort, background].map(CategoryTable::params);
                for (category, name) in categories.iter().zip(names) {
                    let table = format!("backoff.{name}");
                    category.backoff().validated().map_err(|e| law_mistake(&table, e))?;
                    if !(1..=15).contains(&category.aifsn) {
                        return Err(Mistake::at(&format!("{table}.aifsn"), "must lie between 1 and 15"));
                    }
                }
                Ok(BackoffSpec::Edca { categories })
            }
            BackoffLaw::Adaptive {
                alpha,
                beta,
                r_max,
                interval,
                measure,
                unit,
                acks,
                drop,
                dummies,
                slotted,
                redraw,
            } => {
                let params = AdaptiveParams {
                    unit: self.backoff_unit(unit, mac),
                    step: alpha,
                    beta,
                    aggressiveness_max: r_max.unwrap_or(f64::INFINITY),
                    update_interval: interval.0,
                    measure: match measure {
                        Measure::Packets => QueueMeasure::Packets,
                        Measure::Bytes => QueueMeasure::Bytes,
                    },
                    packet_bytes: self.tcp.payload.expect(RESOLVED).0,
                    slotted,
                    redraws: redraw,
                    dummy_packets: dummies,
                    drops: drop,
                    pinned_at_max: false,
                };
                let prioritise_acks = acks == AckPriority::High;
                // What will be pinned must have a bound.
                AdaptiveParams { pinned_at_max: prioritise_acks, ..params }
                    .validated()
                    .map_err(|e| law_mistake("backoff", e))?;
                Ok(BackoffSpec::Adaptive { params, prioritise_acks })
            }
        }
    }
}

impl Scenario {
    fn backoff_unit(&self, unit: BackoffUnitName, mac: &MacSpec) -> BackoffUnit {
        let (size, rate) = (self.packet_size(), self.mac.data_rate.expect(RESOLVED).0);
        match (unit, mac) {
            (BackoffUnitName::OwnPacket, _) => BackoffUnit::Frame,
            (BackoffUnitName::OwnBits, _) => BackoffUnit::Packet,
            (BackoffUnitName::DataPacket, MacSpec::Dcf { timing, .. }) => {
                BackoffUnit::Common(timing.data(size, rate))
            }
            (BackoffUnitName::DataPacket, MacSpec::Ideal { .. }) | (BackoffUnitName::DataBits, _) => {
                BackoffUnit::Common(rate.time_for(size))
            }
        }
    }
}

impl CategoryTable {
    fn params(self) -> EdcaParams {
        EdcaParams {
            window_min: self.window_min.expect(RESOLVED),
            window_max: self.window_max.expect(RESOLVED),
            aifsn: self.aifsn.expect(RESOLVED),
            txop_limit: self.txop.expect(RESOLVED).0,
        }
    }
}

pub(super) fn law_mistake(table: &str, error: BadParameter) -> Mistake {
    let key = if error.name == "update_interval" { "interval" } else { error.name };
    Mistake::at(&format!("{table}.{key}"), format!("{} is not allowed: {}", error.value, error.allowed))
}

/// Airtime of one packet and its link-layer acknowledgement at a rate, inter-frame spaces counted, back-off not.
pub(crate) fn airtime(network: &NetworkSpec, size: Bytes, rate: Rate) -> Duration {
    match network.mac {
        MacSpec::Dcf { timing, .. } => timing.exchange(size, rate),
        MacSpec::Ideal { .. } => rate.time_for(size),
    }
}
