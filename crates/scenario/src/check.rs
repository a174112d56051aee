//! Checks that look at more than one key.

use crate::error::Mistake;
use crate::language::{Flow, LinkLoss, MacKind, Scenario, TrafficKind};
use crate::quantity::PacketCount;
use evenair_units::{Instant, Probability};
use std::collections::BTreeSet;

/// The largest IP packet (RFC 791: the total length has 16 bits) \[bytes\].
const PACKET_BYTES_MAX: u32 = 65_535;

impl Scenario {
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
        let placed = self.nodes.iter().any(|node| node.at.is_some());
        if !self.signals.is_empty() && placed {
            return Err(Mistake::at("signals", "give either signals or positions, not both"));
        }
        let on_air = placed || !self.signals.is_empty();
        match (self.nodes.is_empty(), self.links.is_empty()) {
            (true, true) => {
                Err(Mistake::at("nodes", "there is no network; add [[nodes]] with positions, or [[links]]"))
            }
            (false, false) => {
                Err(Mistake::at("links", "give either nodes with positions or links and conflicts, not both"))
            }
            (false, true) if self.radio.is_none() && on_air => Err(Mistake::at(
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

    fn check_tcp(&self) -> Result<(), Mistake> {
        let tcp = &self.tcp;
        let zero = |count: Option<PacketCount>| count == Some(PacketCount(0));
        for (key, on, needed, needs) in [
            ("tcp.rack", tcp.rack, tcp.sack, "tcp.sack"),
            ("tcp.tail_loss_probe", tcp.tail_loss_probe, tcp.rack, "tcp.rack"),
        ] {
            if on == Some(true) && needed == Some(false) {
                return Err(Mistake::at(key, format!("needs {needs}: set {needs} = true")));
            }
        }
        if zero(tcp.receiver_window) || zero(tcp.initial_window) {
            return Err(Mistake::at("tcp", "windows must hold at least 1 segment"));
        }
        for (key, size) in [("tcp.payload", tcp.payload), ("tcp.headers", tcp.headers)] {
            if size.is_some_and(|s| s.0.count() == 0) {
                return Err(Mistake::at(key, "must be at least 1 byte"));
            }
        }
        if let (Some(payload), Some(headers)) = (tcp.payload, tcp.headers) {
            let whole = payload.0 + headers.0;
            if whole.count() > PACKET_BYTES_MAX {
                let most = PACKET_BYTES_MAX.saturating_sub(headers.0.count());
                let why = format!(
                    "{payload} and {headers} of headers are {whole}, more than the {PACKET_BYTES_MAX} of an IP packet; make it at most {most} bytes"
                );
                return Err(Mistake::at("tcp.payload", why));
            }
        }
        Ok(())
    }

    fn check_values(&self) -> Result<(), Mistake> {
        for (index, node) in self.nodes.iter().enumerate() {
            if !node.at.iter().flatten().all(|x| x.is_finite() && x.abs() < 1e9) {
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
        let limits = [
            ("short_retry_limit", self.mac.short_retry_limit),
            ("long_retry_limit", self.mac.long_retry_limit),
        ];
        if let Some((key, _)) = limits.iter().find(|(_, limit)| *limit == Some(0)) {
            return Err(Mistake::at(&format!("mac.{key}"), "must be at least 1"));
        }
        self.check_tcp()?;
        if let Some(drop) = &self.drop
            && !(0.0..=1.0).contains(&drop.per_packet)
        {
            return Err(Mistake::at(
                "drop.per_packet",
                format!("{} must lie between 0 and 1", drop.per_packet),
            ));
        }
        for (index, flow) in self.flows.iter().enumerate() {
            flow.check(self.mac.kind).map_err(|(key, why)| Mistake::entry("flows", index, key, why))?;
            if flow.application_rate.is_some() && self.connections.is_some() {
                let why = "paces one connection; several share their data in no way that is defined here";
                return Err(Mistake::entry("flows", index, "application_rate", why));
            }
        }
        for (index, loss) in self.losses.iter().enumerate() {
            loss.check().map_err(|(key, why)| Mistake::entry("losses", index, key, why))?;
        }
        Ok(())
    }
}

/// A key and what is wrong with it.
type Wrong = (&'static str, String);

impl Flow {
    fn check(&self, mac: MacKind) -> Result<(), Wrong> {
        let tcp = self.traffic == TrafficKind::Tcp;
        let paced = matches!(self.traffic, TrafficKind::Cbr | TrafficKind::OnOff);
        let on_off = self.traffic == TrafficKind::OnOff;
        let given = [
            ("size", self.size.is_some(), !tcp, "is for datagrams; TCP has tcp.payload"),
            ("rate", self.rate.is_some(), paced, "is for cbr and on-off traffic"),
            ("interval", self.interval.is_some(), paced, "is for cbr and on-off traffic"),
            ("jitter", self.jitter.is_some(), self.traffic == TrafficKind::Cbr, "is for cbr traffic"),
            ("on", self.on.is_some(), on_off, "is for on-off traffic"),
            ("off", self.off.is_some(), on_off, "is for on-off traffic"),
            ("transfer", self.transfer.is_some(), tcp, "is for TCP"),
            ("application_rate", self.application_rate.is_some(), tcp, "is for TCP"),
        ];
        if let Some((key, .., why)) = given.iter().find(|(_, given, fits, _)| *given && !fits) {
            return Err((key, (*why).into()));
        }
        if self.size.is_some_and(|s| s.0.count() == 0) {
            return Err(("size", "must be at least 1 byte".into()));
        }
        if paced && (self.rate.is_some() == self.interval.is_some()) {
            let message = "cbr and on-off traffic need one of rate = \"500 kbps\" and interval = \"5 ms\"";
            return Err(("traffic", message.into()));
        }
        if let Some(weight) = self.weight.filter(|w| !(*w > 0.0 && w.is_finite())) {
            return Err(("weight", format!("{weight} must be above 0")));
        }
        let zero = |time: Option<crate::Time>| time.is_some_and(|t| t.0.is_zero());
        if zero(self.interval) || zero(self.on) || zero(self.off) {
            return Err(("interval", "interval, on and off must be longer than no time".into()));
        }
        if on_off && (self.on.is_none() || self.off.is_none()) {
            return Err(("traffic", "on-off traffic needs its mean times, on and off".into()));
        }
        if self.jitter.is_some_and(|j| !(0.0..=1.0).contains(&j)) {
            return Err(("jitter", "must lie between 0 and 1".into()));
        }
        if self.transfer.is_some() && self.application_rate.is_some() || self.transfer == Some(PacketCount(0))
        {
            return Err(("transfer", "must be at least 1 segment, and excludes application_rate".into()));
        }
        if self.to == "*" && (tcp || mac == MacKind::Ideal) {
            return Err(("to", "a broadcast needs datagrams and an 802.11 MAC".into()));
        }
        self.check_times()
    }

    fn check_times(&self) -> Result<(), Wrong> {
        if !self.active.is_empty() && (self.start.is_some() || self.stop.is_some()) {
            return Err(("active", "says when the flow starts and stops; leave start and stop out".into()));
        }
        let order: Vec<Instant> = self.stretches().into_iter().flat_map(|(from, to)| [from, to]).collect();
        if !order.is_sorted() || self.stretches().iter().any(|(from, to)| from == to) {
            let key = if self.active.is_empty() { "stop" } else { "active" };
            return Err((key, "a stretch must end after it begins, and before the next begins".into()));
        }
        Ok(())
    }

    /// When the flow is active.
    pub(crate) fn stretches(&self) -> Vec<(Instant, Instant)> {
        if self.active.is_empty() {
            let start = self.start.map_or(Instant::ZERO, |t| Instant::ZERO + t.0);
            return vec![(start, self.stop.map_or(Instant::NEVER, |t| Instant::ZERO + t.0))];
        }
        self.active.iter().map(|[from, to]| (Instant::ZERO + from.0, Instant::ZERO + to.0)).collect()
    }
}

impl LinkLoss {
    fn check(&self) -> Result<(), Wrong> {
        for (key, value) in
            [("loss", self.loss), ("loss_bad", self.loss_bad), ("bit_error_rate", self.bit_error_rate)]
        {
            if let Some(Err(error)) = value.map(Probability::new) {
                return Err((key, error.to_string()));
            }
        }
        let bursty = [self.loss_bad.is_some(), self.good.is_some(), self.bad.is_some()];
        if bursty.contains(&true) && bursty.contains(&false) {
            return Err(("loss_bad", "a bursty link needs loss_bad, good and bad, and may have loss".into()));
        }
        if self.good.is_some_and(|t| t.0.is_zero()) || self.bad.is_some_and(|t| t.0.is_zero()) {
            return Err(("good", "good and bad must be longer than no time".into()));
        }
        let plain = self.loss.is_some() && !bursty[0];
        if self.every == Some(0) {
            return Err(("every", "must be at least 1".into()));
        }
        if [plain, self.every.is_some(), self.bit_error_rate.is_some(), bursty[0]]
            .iter()
            .filter(|&&given| given)
            .count()
            != 1
        {
            let why = "give one of loss, every, bit_error_rate, and the keys of a bursty link";
            return Err(("loss", why.into()));
        }
        Ok(())
    }
}
