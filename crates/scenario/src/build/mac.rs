//! From the scenario's MAC and back-off law to those of the packet world.

use crate::error::Mistake;
use crate::language::{
    AckPriority, AckTimeout, BackoffLaw, BackoffUnitName, CategoryTable, HoldingLaw, Measure, PreambleKind,
    Preset,
};
use crate::quantity::{RateQuantity, Time};
use crate::resolved::{Distance, MacRules, Settings};
use evenair_laws::BadParameter;
use evenair_laws::backoff::{AdaptiveParams, BackoffUnit, DcfParams, QueueMeasure};
use evenair_netsim::{BackoffSpec, MacSpec, NetworkSpec};
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{Category, ControlRate, EdcaParams, Holding, MacTiming, PhyStandard, Preamble, Rules};

/// The greatest coverage class (IEEE 802.11-2016 clause 9.4.2.9).
pub(crate) const COVERAGE_CLASS_MAX: u8 = 31;

impl Settings {
    /// `longest` is the propagation over the longest hop in use.
    pub(super) fn mac_spec(&self, longest: Duration) -> Result<MacSpec, Mistake> {
        let control = |rate: Option<RateQuantity>| {
            rate.map_or(ControlRate::Mandatory, |rate| ControlRate::Fixed(rate.0))
        };
        let (timing, common) = match self.mac.rules {
            MacRules::Ideal { holding } => return Ok(self.ideal_spec(holding)),
            MacRules::B { preamble: PreambleKind::Long, basic_rate, common } => {
                (MacTiming::b(Preamble::Long, basic_rate.0), common)
            }
            MacRules::B { preamble: PreambleKind::Short, basic_rate, common } => {
                (MacTiming::b(Preamble::Short, basic_rate.0), common)
            }
            MacRules::A { basic_rate, common } => (MacTiming::a(control(basic_rate)), common),
            MacRules::G { basic_rate, common } => (MacTiming::g(control(basic_rate)), common),
        };
        let (timing, rules) = match common.distance {
            Some(distance) => (distance.lengthen(timing, longest)?, Rules::standard()),
            None => (timing.ns2(), Rules::ns2()),
        };
        let edca = matches!(self.backoff, BackoffLaw::Edca { .. });
        let timing = if edca { timing.qos() } else { timing };
        let timing = MacTiming { sensing_delay: common.sensing_delay.0, ..timing };
        let rules = Rules {
            rts_threshold: common.rts_threshold.map(|size| size.0),
            short_retry_limit: common.short_retry_limit,
            long_retry_limit: common.long_retry_limit,
            ..rules
        };
        Ok(MacSpec::Dcf { timing, rules: self.radio.map_or(rules, |radio| radio.capture(rules)) })
    }

    fn ideal_spec(&self, holding: HoldingLaw) -> MacSpec {
        let mean = self.mac.data_rate.0.time_for(self.packet_size());
        let holding = match holding {
            HoldingLaw::Packet => Holding::Packet,
            HoldingLaw::Exponential => Holding::Exponential(mean),
            HoldingLaw::Uniform => Holding::Uniform(mean),
        };
        MacSpec::Ideal { holding }
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
                if self.mac.is_ideal() || self.preset == Preset::Ns2 {
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
                    packet_bytes: self.tcp.payload.0,
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

impl Settings {
    fn backoff_unit(&self, unit: BackoffUnitName, mac: &MacSpec) -> BackoffUnit {
        let (size, rate) = (self.packet_size(), self.mac.data_rate.0);
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

impl Distance {
    /// The times of a network whose longest hop in use takes so long.
    fn lengthen(self, timing: MacTiming, longest: Duration) -> Result<MacTiming, Mistake> {
        let class = self.coverage_class;
        let Some(class) = u8::try_from(class).ok().filter(|&class| class <= COVERAGE_CLASS_MAX) else {
            let why = format!(
                "{class} must lie between 0 and {COVERAGE_CLASS_MAX}, which is for 13.9 km; beyond it mac.ack_timeout = \"distance\" lengthens the time-out alone"
            );
            return Err(Mistake::at("mac.coverage_class", why));
        };
        let timing = timing.with_coverage_class(class);
        match self.ack_timeout {
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
}

const RESOLVED: &str = "defaults are resolved when a scenario is read";

impl BackoffLaw {
    /// Writes out what depends on the physical layer.
    pub(crate) fn resolve(mut self, phy: Option<PhyStandard>) -> Self {
        match &mut self {
            Self::Dcf { window_min, window_max } => {
                let ofdm = matches!(phy, Some(PhyStandard::A | PhyStandard::G));
                let windows = if ofdm { DcfParams::ofdm() } else { DcfParams::dsss() };
                window_min.get_or_insert(windows.window_min);
                window_max.get_or_insert(windows.window_max);
            }
            Self::Edca { voice, video, best_effort, background } => {
                let phy = phy.unwrap_or(PhyStandard::B);
                voice.resolve(Category::Voice, phy);
                video.resolve(Category::Video, phy);
                best_effort.resolve(Category::BestEffort, phy);
                background.resolve(Category::Background, phy);
            }
            Self::Adaptive { beta, r_max, .. } => {
                // The thesis gives a bound only in chapter 4, where it is 8/beta.
                if *beta > 0.0 {
                    r_max.get_or_insert(8.0 / *beta);
                }
            }
        }
        self
    }
}

impl CategoryTable {
    fn resolve(&mut self, category: Category, phy: PhyStandard) {
        let standard = EdcaParams::standard(category, phy);
        self.window_min.get_or_insert(standard.window_min);
        self.window_max.get_or_insert(standard.window_max);
        self.aifsn.get_or_insert(standard.aifsn);
        self.txop.get_or_insert(Time(standard.txop_limit));
    }

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
