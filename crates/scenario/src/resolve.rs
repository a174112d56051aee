//! Defaults by preset, and checks that look at more than one key.

use crate::error::Mistake;
use crate::language::{
    BackoffLaw, HoldingLaw, MacKind, PreambleKind, Preset, Radio, Scenario, TrafficKind, WindowName,
};
use crate::quantity::{Decibels, Length, PacketCount, Power, RateQuantity, Size, Time};
use evenair_tcp::RtoParams;
use evenair_topology::TwoRayGround;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::Rules;
use std::collections::BTreeSet;

impl Scenario {
    /// Writes every default out, so that the scenario says all that it depends on.
    pub(crate) fn resolve(&mut self) {
        let ns2 = self.preset == Preset::Ns2;
        if let Some(radio) = &mut self.radio {
            radio.capture.get_or_insert(Decibels(Rules::standard().capture_db));
            radio.transmit_power.get_or_insert(Power(TwoRayGround::default().transmit));
        }
        let mac = &mut self.mac;
        mac.data_rate.get_or_insert(RateQuantity(Rate::from_kbps(11_000)));
        mac.queue.get_or_insert(PacketCount(50));
        match mac.kind {
            MacKind::Ieee80211b => {
                let preamble = *mac.preamble.get_or_insert(PreambleKind::Long);
                // The lowest rate that the preamble has.
                let basic = if preamble == PreambleKind::Long { 1_000 } else { 2_000 };
                mac.basic_rate.get_or_insert(RateQuantity(Rate::from_kbps(basic)));
                mac.attempts.get_or_insert(Rules::standard().attempts);
                let sensing_us = if ns2 { 0 } else { 15 };
                mac.sensing_delay.get_or_insert(Time(Duration::from_micros(sensing_us)));
            }
            MacKind::Ideal => {
                mac.holding.get_or_insert(HoldingLaw::Packet);
            }
        }
        let link_layer_us = if ns2 { 25 } else { 0 };
        mac.link_layer_delay.get_or_insert(Time(Duration::from_micros(link_layer_us)));
        match &mut self.backoff {
            BackoffLaw::Dcf { window_min, window_max } => {
                window_min.get_or_insert(31);
                window_max.get_or_insert(1023);
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
            flow.start.get_or_insert(Time(Duration::from_millis(100) * index as u64));
            if flow.traffic == TrafficKind::Saturated {
                flow.size.get_or_insert(Size(Bytes::new(1000)));
            }
        }
    }

    fn resolve_tcp(&mut self, ns2: bool) {
        let rto = if ns2 { RtoParams::ns2() } else { RtoParams::rfc6298() };
        let tcp = &mut self.tcp;
        tcp.window.get_or_insert(WindowName::Reno);
        tcp.payload.get_or_insert(Size(Bytes::new(1000)));
        tcp.headers.get_or_insert(Size(Bytes::new(40)));
        let receiver_window = *tcp.receiver_window.get_or_insert(PacketCount(if ns2 { 20 } else { 64 }));
        // RFC 6928 allows ten segments; ns-2 begins with two, and with a threshold of the receiver's window.
        tcp.initial_window.get_or_insert(PacketCount(if ns2 { 2 } else { 10 }));
        let unbounded = PacketCount(1_000_000);
        tcp.initial_ssthresh.get_or_insert(if ns2 { receiver_window } else { unbounded });
        tcp.min_rto.get_or_insert(Time(rto.min));
        tcp.initial_rto.get_or_insert(Time(rto.initial));
        tcp.clock.get_or_insert(Time(rto.granularity));
        tcp.limited_transmit.get_or_insert(true);
        tcp.delayed_ack.get_or_insert(Time(Duration::ZERO));
        // Connections that come and go are opened and closed for real.
        tcp.handshake.get_or_insert(!ns2 || self.connections.is_some());
    }

    /// Checks what the types cannot.
    pub(crate) fn check(&self) -> Result<(), Mistake> {
        self.check_shape()?;
        self.check_names()?;
        self.check_values()?;
        self.world()?;
        Ok(())
    }

    fn check_shape(&self) -> Result<(), Mistake> {
        if self.duration.0.is_zero() {
            return Err(Mistake::at("duration", "must be longer than no time"));
        }
        if self.flows.is_empty() {
            return Err(Mistake::at("flows", "there is no flow; add a [[flows]] table with id, from and to"));
        }
        match (self.nodes.is_empty(), self.links.is_empty()) {
            (true, true) => {
                Err(Mistake::at("nodes", "there is no network; add [[nodes]] with positions, or [[links]]"))
            }
            (false, false) => {
                Err(Mistake::at("links", "give either nodes with positions or links and conflicts, not both"))
            }
            (false, true) if self.radio.is_none() => Err(Mistake::at(
                "radio",
                "nodes with positions need a [radio] with transmission_range and carrier_sense_range, or receive_threshold and carrier_sense_threshold",
            )),
            (true, false) if self.radio.is_some() => {
                Err(Mistake::at("radio", "has no meaning where links and conflicts are given outright"))
            }
            (false, true) if !self.conflicts.is_empty() => {
                Err(Mistake::at("conflicts", "follow from the positions; they are given only with [[links]]"))
            }
            _ => Ok(()),
        }
    }

    fn check_names(&self) -> Result<(), Mistake> {
        fn unique<'a>(
            table: &str,
            ids: impl Iterator<Item = &'a String>,
        ) -> Result<BTreeSet<&'a str>, Mistake> {
            let mut seen = BTreeSet::new();
            for (index, id) in ids.enumerate() {
                if id.is_empty() || id.contains('>') {
                    return Err(Mistake::entry(
                        table,
                        index,
                        "id",
                        format!("\"{id}\" is not a name: it is empty or has a \">\""),
                    ));
                }
                if !seen.insert(id.as_str()) {
                    return Err(Mistake::entry(
                        table,
                        index,
                        "id",
                        format!("\"{id}\" is there already; ids must differ"),
                    ));
                }
            }
            Ok(seen)
        }
        unique("nodes", self.nodes.iter().map(|n| &n.id))?;
        unique("flows", self.flows.iter().map(|f| &f.id))?;
        let links = unique("links", self.links.iter().map(|l| &l.id))?;
        for (index, pair) in self.conflicts.iter().enumerate() {
            for id in pair {
                if !links.contains(id.as_str()) {
                    let known = links.iter().copied().collect::<Vec<_>>().join(", ");
                    let message = format!("entry {index}: there is no link \"{id}\"; links are {known}");
                    return Err(Mistake::at("conflicts", message));
                }
            }
        }
        for (index, link) in self.links.iter().enumerate() {
            if link.from == link.to {
                return Err(Mistake::entry(
                    "links",
                    index,
                    "to",
                    "a link ends at another node than it begins",
                ));
            }
        }
        Ok(())
    }

    fn check_values(&self) -> Result<(), Mistake> {
        for (index, node) in self.nodes.iter().enumerate() {
            if !node.at.iter().all(|x| x.is_finite() && x.abs() < 1e9) {
                return Err(Mistake::entry("nodes", index, "at", "coordinates are finite numbers of metres"));
            }
        }
        if let Some(radio) = &self.radio {
            let (transmission_m, sense_m) = radio.ranges_m()?;
            if sense_m < transmission_m {
                return Err(Mistake::at(
                    "radio",
                    format!(
                        "carrier is sensed to {sense_m:.1} m, which is below the transmission range of {transmission_m:.1} m"
                    ),
                ));
            }
        }
        let zero = |count: Option<PacketCount>| count == Some(PacketCount(0));
        if zero(self.mac.queue) {
            return Err(Mistake::at("mac.queue", "must hold at least 1 packet"));
        }
        if self.mac.attempts == Some(0) {
            return Err(Mistake::at("mac.attempts", "must be at least 1"));
        }
        if zero(self.tcp.receiver_window) || zero(self.tcp.initial_window) {
            return Err(Mistake::at("tcp", "windows must hold at least 1 segment"));
        }
        for (key, size) in [("tcp.payload", self.tcp.payload), ("tcp.headers", self.tcp.headers)] {
            if size.is_some_and(|s| s.0.count() == 0) {
                return Err(Mistake::at(key, "must be at least 1 byte"));
            }
        }
        if let Some(drop) = &self.drop
            && !(0.0..=1.0).contains(&drop.per_packet)
        {
            return Err(Mistake::at(
                "drop.per_packet",
                format!("{} must lie between 0 and 1", drop.per_packet),
            ));
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.size.is_some() && flow.traffic == TrafficKind::Tcp {
                return Err(Mistake::entry(
                    "flows",
                    index,
                    "size",
                    "is for saturated traffic; TCP has tcp.payload",
                ));
            }
            if flow.size.is_some_and(|s| s.0.count() == 0) {
                return Err(Mistake::entry("flows", index, "size", "must be at least 1 byte"));
            }
        }
        Ok(())
    }
}

impl Radio {
    /// Power falls with distance as two rays do.
    pub fn propagation(&self) -> TwoRayGround {
        let default = TwoRayGround::default();
        TwoRayGround { transmit: self.transmit_power.map_or(default.transmit, |p| p.0), ..default }
    }

    /// Transmission and carrier-sense range [m], whichever way they are given.
    pub(crate) fn ranges_m(&self) -> Result<(f64, f64), Mistake> {
        let one = |what: &str, range: Option<Length>, threshold: Option<Power>, keys: &str| match (
            range, threshold,
        ) {
            (Some(range), None) => Ok(range.0),
            (None, Some(threshold)) => Ok(self.propagation().range_m(threshold.0)),
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
