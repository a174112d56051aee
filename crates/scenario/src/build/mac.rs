//! From the scenario's MAC and back-off law to those of the packet world.

use super::packet_size;
use crate::error::Mistake;
use crate::language::{AckTimeout, HoldingLaw, PreambleKind, Preset};
use crate::law;
use crate::quantity::{RateQuantity, Time};
use crate::resolved::{Distance, MacRules, Settings};
use evenair_laws::Parameters;
use evenair_laws::backoff::{
    BackoffLaw, BackoffParams, DcfParams, FullPacket, Holding, LinkRole, PhysicalLayer, Rendering, Scope,
    Space, Surroundings,
};
use evenair_netsim::{MacSpec, NetworkSpec};
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::{ControlRate, MacTiming, Preamble, Rules};

/// The greatest coverage class (IEEE 802.11-2016 clause 9.4.2.9).
pub(crate) const COVERAGE_CLASS_MAX: u8 = 31;

impl Settings {
    /// `longest` is the propagation over the longest hop in use.
    pub(super) fn mac_spec(&self, longest: Duration) -> Result<MacSpec, Mistake> {
        let control = |rate: Option<RateQuantity>| {
            rate.map_or(ControlRate::Mandatory, |rate| ControlRate::Fixed(rate.0))
        };
        let (timing, common) = match self.mac.rules {
            MacRules::Ideal { .. } => return Ok(MacSpec::Ideal),
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
        let timing = if is_qos(&self.backoff) { timing.qos() } else { timing };
        let timing = MacTiming { sensing_delay: common.sensing_delay.0, ..timing };
        let rules = Rules {
            rts_threshold: common.rts_threshold.map(|size| size.0),
            short_retry_limit: common.short_retry_limit,
            long_retry_limit: common.long_retry_limit,
            ..rules
        };
        Ok(MacSpec::Dcf { timing, rules: self.radio.map_or(rules, |radio| radio.capture(rules)) })
    }

    /// What a back-off law may depend on.
    pub(super) fn surroundings(&self, mac: &MacSpec) -> Surroundings {
        let packet =
            mac.packet(self.tcp.payload.0, packet_size(&self.tcp, &self.flows), self.mac.data_rate.0);
        let FullPacket { bits, .. } = packet;
        let slot = match mac {
            MacSpec::Dcf { timing, .. } => timing.slot,
            MacSpec::Ideal => Surroundings::default().slot,
        };
        let holding = match self.mac.rules {
            MacRules::Ideal { holding: HoldingLaw::Exponential } => Holding::Exponential(bits),
            MacRules::Ideal { holding: HoldingLaw::Uniform } => Holding::Uniform(bits),
            _ => Holding::Packet,
        };
        Surroundings {
            physical_layer: self.mac.phy().map_or(PhysicalLayer::Dsss, |phy| phy.standard.layer()),
            rendering: match self.preset {
                Preset::Standard => Rendering::Standard,
                Preset::Ns2 => Rendering::Ns2,
            },
            is_ideal: *mac == MacSpec::Ideal,
            slot,
            packet,
            holding,
        }
    }

    /// Completes the back-off laws: that of all nodes, and those of some.
    pub(super) fn complete_backoffs(&mut self, surroundings: &Surroundings) -> Result<(), Mistake> {
        self.backoff = self.complete_backoff("backoff", &self.backoff, surroundings)?;
        for index in 0..self.queues.len() {
            let Some(law) = &self.queues[index].backoff else { continue };
            let complete = self.complete_backoff("backoff", law, surroundings).and_then(|law| {
                let why = "802.11e's spaces and TXOPs are those of all nodes or of none: [backoff] has them where this law has not, or the other way round";
                let agree = is_qos(&law) == is_qos(&self.backoff);
                if agree { Ok(law) } else { Err(Mistake::at("backoff", why)) }
            });
            self.queues[index].backoff = Some(complete.map_err(|mistake| mistake.within("queues", index))?);
        }
        Ok(())
    }

    /// A back-off law, complete, where its MAC is; `table` is where it stands.
    fn complete_backoff(
        &self,
        table: &str,
        law: &BackoffParams,
        surroundings: &Surroundings,
    ) -> Result<BackoffParams, Mistake> {
        if is_qos(law) && (self.mac.is_ideal() || self.preset == Preset::Ns2) {
            let key = if contends_by_category(law) { "law" } else { "execution" };
            let why = "categories and TXOPs need 802.11 by the standard";
            return Err(Mistake::at(&format!("{table}.{key}"), why));
        }
        if let BackoffParams::Dcf(DcfParams { window_min: Some(0), .. }) = law
            && self.preset == Preset::Ns2
        {
            let why = "0 is not allowed: at least 1 slot, since ns-2's draw excludes the window's end";
            return Err(Mistake::at(&format!("{table}.window_min"), why));
        }
        law::complete(table, law.clone(), surroundings)
    }
}

/// Whether a back-off law has a queue per access category.
fn contends_by_category(law: &BackoffParams) -> bool {
    law.begin(&LinkRole::data(Surroundings::default())).scope() == Scope::Category
}

/// Whether a back-off law has the spaces and TXOPs of 802.11e.
fn is_qos(law: &BackoffParams) -> bool {
    matches!(law.begin(&LinkRole::data(Surroundings::default())).space(), Space::Aifs { .. })
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

/// Airtime of one packet and its link-layer acknowledgement at a rate, inter-frame spaces counted, back-off not.
pub(crate) fn airtime(network: &NetworkSpec, size: Bytes, rate: Rate) -> Duration {
    network.mac.packet(size, size, rate).exchange
}
