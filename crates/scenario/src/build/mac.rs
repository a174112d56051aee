//! From the scenario's MAC and back-off law to those of the packet world.

use super::RESOLVED;
use crate::error::Mistake;
use crate::language::{
    AckPriority, AckTimeout, BackoffLaw, BackoffUnitName, CategoryTable, HoldingLaw, InterferenceRule,
    MacKind, Measure, PreambleKind, Preset, Scenario, WeakSignals,
};
use crate::quantity::Time;
use evenair_laws::BadParameter;
use evenair_laws::Parameters;
use evenair_laws::backoff::{
    self, AdaptiveParams, BackoffParams, BackoffUnit, CategoryParams, DcfParams, EdcaParams, FullPacket,
    Holding, PhysicalLayer, QueueMeasure, Rendering, Surroundings,
};
use evenair_netsim::{MacSpec, NetworkSpec};
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{Capture, ControlRate, MacTiming, Phy, PhyStandard, Preamble, Rules};

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
        Ok(MacSpec::Ideal)
    }

    /// What a back-off law may depend on.
    pub(super) fn surroundings(&self, mac: &MacSpec) -> Surroundings {
        let (size, rate) = (self.packet_size(), self.mac.data_rate.expect(RESOLVED).0);
        let bits = rate.time_for(size);
        let (frame, slot) = match mac {
            MacSpec::Dcf { timing, .. } => (timing.data(size, rate), timing.slot),
            MacSpec::Ideal => (bits, Surroundings::default().slot),
        };
        let holding = match self.mac.holding {
            None | Some(HoldingLaw::Packet) => Holding::Packet,
            Some(HoldingLaw::Exponential) => Holding::Exponential(bits),
            Some(HoldingLaw::Uniform) => Holding::Uniform(bits),
        };
        Surroundings {
            physical_layer: self.mac.kind.phy().map_or(PhysicalLayer::Dsss, PhyStandard::layer),
            rendering: match self.preset {
                Preset::Standard => Rendering::Standard,
                Preset::Ns2 => Rendering::Ns2,
            },
            slot,
            packet: FullPacket { payload: self.tcp.payload.expect(RESOLVED).0, frame, bits },
            holding,
        }
    }

    pub(super) fn backoff_spec(&self) -> Result<BackoffParams, Mistake> {
        let params: BackoffParams = match self.backoff {
            BackoffLaw::Dcf { window_min, window_max } => {
                if self.preset == Preset::Ns2 && window_min == Some(0) {
                    let why =
                        "0 is not allowed: at least 1 slot, since ns-2's draw excludes the window's end";
                    return Err(Mistake::at("backoff.window_min", why));
                }
                DcfParams { window_min, window_max }.into()
            }
            BackoffLaw::Edca { voice, video, best_effort, background } => {
                if self.mac.kind == MacKind::Ideal || self.preset == Preset::Ns2 {
                    return Err(Mistake::at("backoff.law", "edca needs 802.11 by the standard"));
                }
                EdcaParams {
                    voice: voice.params(),
                    video: video.params(),
                    best_effort: best_effort.params(),
                    background: background.params(),
                }
                .into()
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
            } => AdaptiveParams {
                alpha,
                beta,
                r_max,
                interval: interval.0,
                measure: match measure {
                    Measure::Packets => QueueMeasure::Packets,
                    Measure::Bytes => QueueMeasure::Bytes,
                },
                unit: match unit {
                    BackoffUnitName::OwnPacket => BackoffUnit::OwnPacket,
                    BackoffUnitName::DataPacket => BackoffUnit::DataPacket,
                    BackoffUnitName::OwnBits => BackoffUnit::OwnBits,
                    BackoffUnitName::DataBits => BackoffUnit::DataBits,
                },
                acks: match acks {
                    AckPriority::Normal => backoff::AckPriority::Normal,
                    AckPriority::High => backoff::AckPriority::High,
                },
                drop,
                dummies,
                slotted,
                redraw,
            }
            .into(),
        };
        params.validated().map_err(|e| law_mistake("backoff", e))
    }
}

impl CategoryTable {
    fn params(self) -> CategoryParams {
        let Self { window_min, window_max, aifsn, txop } = self;
        CategoryParams { window_min, window_max, aifsn, txop: txop.map(|txop| txop.0) }
    }
}

pub(super) fn law_mistake(table: &str, error: BadParameter) -> Mistake {
    Mistake::at(
        &format!("{table}.{}", error.name),
        format!("{} is not allowed: {}", error.value, error.allowed),
    )
}

/// Airtime of one packet and its link-layer acknowledgement at a rate, inter-frame spaces counted, back-off not.
pub(crate) fn airtime(network: &NetworkSpec, size: Bytes, rate: Rate) -> Duration {
    match network.mac {
        MacSpec::Dcf { timing, .. } => timing.exchange(size, rate),
        MacSpec::Ideal => rate.time_for(size),
    }
}
