//! Defaults by preset.

use crate::error::Mistake;
use crate::language::{
    AckTimeout, BackoffLaw, CategoryTable, HoldingLaw, InterferenceRule, Mac, MacKind, PreambleKind, Preset,
    PropagationName, Radio, Scenario, TrafficKind, WeakSignals, WindowName,
};
use crate::quantity::{Decibels, Frequency, Length, PacketCount, Power, RateQuantity, Size, Time};
use evenair_laws::backoff::{Category, Dcf, Edca, PhysicalLayer};
use evenair_tcp::RtoParams;
use evenair_topology::{PathLoss, Propagation};
use evenair_units::{Bytes, Dbm, Duration, Rate};
use evenair_wifi::{PhyStandard, Rules};

impl Scenario {
    /// Writes every default out, so that the scenario says all that it depends on.
    pub(crate) fn resolve(&mut self) {
        let ns2 = self.preset == Preset::Ns2;
        if let Some(radio) = &mut self.radio {
            radio.resolve(ns2);
        }
        self.mac.resolve(ns2);
        let phy = self.mac.kind.phy();
        match &mut self.backoff {
            BackoffLaw::Dcf { window_min, window_max } => {
                let windows = Dcf::of(phy.map_or(PhysicalLayer::Dsss, PhyStandard::layer));
                window_min.get_or_insert(windows.window_min);
                window_max.get_or_insert(windows.window_max);
            }
            BackoffLaw::Edca { voice, video, best_effort, background } => {
                let phy = phy.map_or(PhysicalLayer::Dsss, PhyStandard::layer);
                voice.resolve(Category::Voice, phy);
                video.resolve(Category::Video, phy);
                best_effort.resolve(Category::BestEffort, phy);
                background.resolve(Category::Background, phy);
            }
            BackoffLaw::Adaptive { beta, r_max, .. } => {
                // The thesis gives a bound only in chapter 4, where it is 8/beta.
                if *beta > 0.0 {
                    r_max.get_or_insert(8.0 / *beta);
                }
            }
        }
        self.resolve_tcp(ns2);
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if flow.active.is_empty() {
                flow.start.get_or_insert(Time(Duration::from_millis(100) * index as u64));
            }
            if flow.traffic != TrafficKind::Tcp {
                flow.size.get_or_insert(Size(Bytes::new(1000)));
            }
        }
    }

    fn resolve_tcp(&mut self, ns2: bool) {
        let rto = if ns2 { RtoParams::ns2() } else { RtoParams::rfc6298() };
        let tcp = &mut self.tcp;
        // Today's endpoints are CUBIC's; who asks for Reno or NewReno means those of the papers, whose acknowledgements
        // are neither selective nor delayed.
        let default = if ns2 { WindowName::Reno } else { WindowName::Cubic };
        let today = *tcp.window.get_or_insert(default) == WindowName::Cubic;
        let sack = *tcp.sack.get_or_insert(today);
        let rack = *tcp.rack.get_or_insert(sack && !ns2);
        tcp.tail_loss_probe.get_or_insert(rack);
        tcp.timestamps.get_or_insert(false);
        tcp.payload.get_or_insert(Size(Bytes::new(1000)));
        tcp.headers.get_or_insert(Size(Bytes::new(40)));
        tcp.receiver_window.get_or_insert(PacketCount(if ns2 { 20 } else { 64 }));
        // RFC 6928 allows ten segments; ns-2 begins with two, and with a threshold of 20: an agent takes its class's
        // `window_` for `ssthresh_` when it is made, before a script gives it another one.
        tcp.initial_window.get_or_insert(PacketCount(if ns2 { 2 } else { 10 }));
        tcp.initial_ssthresh.get_or_insert(PacketCount(if ns2 { 20 } else { 1_000_000 }));
        tcp.min_rto.get_or_insert(Time(rto.min));
        tcp.initial_rto.get_or_insert(Time(rto.initial));
        tcp.clock.get_or_insert(Time(rto.granularity));
        tcp.limited_transmit.get_or_insert(true);
        tcp.delayed_ack.get_or_insert(Time(Duration::from_millis(if today { 40 } else { 0 })));
        tcp.quick_acks.get_or_insert(PacketCount(if ns2 { 0 } else { 16 }));
        // Connections that come and go are opened and closed for real.
        tcp.handshake.get_or_insert(!ns2 || self.connections.is_some());
    }
}

impl Radio {
    fn resolve(&mut self, ns2: bool) {
        let default = Propagation::default();
        self.capture.get_or_insert(Decibels(Rules::standard().capture_db));
        self.transmit_power.get_or_insert(Power(default.transmit));
        self.frequency.get_or_insert(Frequency(default.frequency_hz));
        match *self.propagation.get_or_insert(PropagationName::TwoRayGround) {
            PropagationName::TwoRayGround => {
                self.antenna_height.get_or_insert(Length(1.5));
            }
            PropagationName::FreeSpace => (),
            PropagationName::LogDistance => {
                self.exponent.get_or_insert(3.0);
                self.reference_distance.get_or_insert(Length(1.0));
            }
        }
        self.weak_signals.get_or_insert(WeakSignals::Errors);
        let rule = if ns2 { InterferenceRule::First } else { InterferenceRule::Strongest };
        if *self.interference.get_or_insert(rule) == InterferenceRule::Sum {
            // kTB of 20 MHz is -101 dBm; a receiver adds 7 dB.
            let noise = *self.noise.get_or_insert(Power(Dbm::new(-94.0)));
            self.interference_threshold.get_or_insert(noise);
        }
    }

    /// How power falls with distance.
    pub(crate) fn propagation(&self) -> Result<Propagation, Mistake> {
        let default = Propagation::default();
        let name = self.propagation.unwrap_or(PropagationName::TwoRayGround);
        let given = [
            ("antenna_height", self.antenna_height.is_some(), name == PropagationName::TwoRayGround),
            ("exponent", self.exponent.is_some(), name == PropagationName::LogDistance),
            ("reference_distance", self.reference_distance.is_some(), name == PropagationName::LogDistance),
        ];
        if let Some((key, ..)) = given.iter().find(|(_, given, used)| *given && !used) {
            return Err(Mistake::at(&format!("radio.{key}"), "has no meaning for this propagation"));
        }
        let exponent = self.exponent.unwrap_or(3.0);
        if !(1.0..=10.0).contains(&exponent) {
            return Err(Mistake::at("radio.exponent", format!("{exponent} must lie between 1 and 10")));
        }
        Ok(Propagation {
            transmit: self.transmit_power.map_or(default.transmit, |p| p.0),
            frequency_hz: self.frequency.map_or(default.frequency_hz, |f| f.0),
            loss: match name {
                PropagationName::TwoRayGround => {
                    PathLoss::TwoRayGround { antenna_height_m: self.antenna_height.map_or(1.5, |h| h.0) }
                }
                PropagationName::FreeSpace => PathLoss::FreeSpace,
                PropagationName::LogDistance => PathLoss::LogDistance {
                    exponent,
                    reference_m: self.reference_distance.map_or(1.0, |d| d.0),
                },
            },
        })
    }

    /// Transmission and carrier-sense range [m], whichever way they are given.
    pub(crate) fn ranges_m(&self) -> Result<(f64, f64), Mistake> {
        let one = |what: &str, range: Option<Length>, threshold: Option<Power>, keys: &str| match (
            range, threshold,
        ) {
            (Some(range), None) => Ok(range.0),
            (None, Some(threshold)) => Ok(self.propagation()?.range_m(threshold.0)),
            (Some(_), Some(_)) => {
                Err(Mistake::at("radio", format!("gives the {what} twice; keep one of {keys}")))
            }
            (None, None) => Err(Mistake::at("radio", format!("does not give the {what}; add {keys}"))),
        };
        Ok((
            one(
                "transmission range",
                self.transmission_range,
                self.receive_threshold,
                "transmission_range = \"250 m\" or receive_threshold = \"-64 dBm\"",
            )?,
            one(
                "carrier-sense range",
                self.carrier_sense_range,
                self.carrier_sense_threshold,
                "carrier_sense_range = \"550 m\" or carrier_sense_threshold = \"-78 dBm\"",
            )?,
        ))
    }
}

impl MacKind {
    /// Its physical layer; none, if it is ideal.
    pub(crate) const fn phy(self) -> Option<PhyStandard> {
        match self {
            Self::Ieee80211b => Some(PhyStandard::B),
            Self::Ieee80211a => Some(PhyStandard::A),
            Self::Ieee80211g => Some(PhyStandard::G),
            Self::Ideal => None,
        }
    }
}

impl Mac {
    fn resolve(&mut self, ns2: bool) {
        self.queue.get_or_insert(PacketCount(50));
        let link_layer_us = if ns2 { 25 } else { 0 };
        self.link_layer_delay.get_or_insert(Time(Duration::from_micros(link_layer_us)));
        let Some(phy) = self.kind.phy() else {
            self.data_rate.get_or_insert(RateQuantity(Rate::from_kbps(11_000)));
            self.holding.get_or_insert(HoldingLaw::Packet);
            return;
        };
        let (fastest, sensing_us) = match phy {
            PhyStandard::B => (11_000, 15),
            PhyStandard::A | PhyStandard::G => (54_000, 4),
        };
        self.data_rate.get_or_insert(RateQuantity(Rate::from_kbps(fastest)));
        let sensing_us = if ns2 { 0 } else { sensing_us };
        self.sensing_delay.get_or_insert(Time(Duration::from_micros(sensing_us)));
        self.short_retry_limit.get_or_insert(Rules::standard().short_retry_limit);
        self.long_retry_limit.get_or_insert(Rules::standard().long_retry_limit);
        if !ns2 {
            self.coverage_class.get_or_insert(0);
            self.ack_timeout.get_or_insert(AckTimeout::Standard);
        }
        if phy == PhyStandard::B {
            let preamble = *self.preamble.get_or_insert(PreambleKind::Long);
            // The lowest rate that the preamble has.
            let basic = if preamble == PreambleKind::Long { 1_000 } else { 2_000 };
            self.basic_rate.get_or_insert(RateQuantity(Rate::from_kbps(basic)));
        }
    }
}

impl CategoryTable {
    fn resolve(&mut self, category: Category, layer: PhysicalLayer) {
        let standard = Edca::standard(category, layer);
        self.window_min.get_or_insert(standard.window_min);
        self.window_max.get_or_insert(standard.window_max);
        self.aifsn.get_or_insert(standard.aifsn);
        self.txop.get_or_insert(Time(standard.txop_limit));
    }
}
