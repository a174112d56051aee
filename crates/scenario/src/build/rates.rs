//! Rates of links, and the modes that each station decodes.

use super::ends;
use super::names::Names;
use crate::error::Mistake;
use crate::language::{BandName, MacKind, NodeMac, Preset, RateTable, Scenario};
use crate::law;
use crate::quantity::RateQuantity;
use crate::resolved::{Mac, Radio};
use evenair_laws::rates::RateControlParams;
use evenair_netsim::{LinkControl, LinkRate, RateControlSpec};
use evenair_topology::{Hearing, Link, Medium};
use evenair_wifi::{Band, ErrorModel, FULL_PACKET, Mode, Modulation, Phy, Receivers, Width};
use std::collections::{BTreeMap, BTreeSet};

impl Scenario {
    /// Rate control of links, its laws complete and checked.
    ///
    /// # Errors
    /// A parameter is outside its range, or the MAC is ideal.
    pub(super) fn rate_control(&mut self, names: &Names, mac: &Mac) -> Result<RateControlSpec, Mistake> {
        const WHY: &str = "has no meaning for the ideal MAC, which decodes all rates alike";
        let preset = self.preset;
        follow_ns3(preset, &mut self.mac.rate_control);
        law::complete_any("mac.rate_control", &mut self.mac.rate_control)?;
        if mac.is_ideal() && self.mac.rate_control.is_some() {
            return Err(Mistake::at("mac.rate_control", WHY));
        }
        let mut links = Vec::new();
        for (index, entry) in self.rates.iter_mut().enumerate() {
            follow_ns3(preset, &mut entry.rate_control);
            law::complete_any("rate_control", &mut entry.rate_control)
                .map_err(|mistake| mistake.within("rates", index))?;
            let Some(law) = entry.rate_control.clone() else { continue };
            if mac.is_ideal() {
                return Err(Mistake::entry("rates", index, "rate_control", WHY));
            }
            let (from, to) = ends("rates", index, &entry.from, &entry.to, names)?;
            let back = (!entry.one_way).then(|| LinkControl { from: to, to: from, law: law.clone() });
            links.extend([LinkControl { from, to, law }].into_iter().chain(back));
        }
        Ok(RateControlSpec { law: self.mac.rate_control.clone(), links })
    }

    /// Whether there are older stations: those of 802.11b among those of 802.11g, and those of 802.11a or g among those of 802.11n,
    /// ac or ax.
    ///
    /// # Errors
    /// If the MAC of all is another.
    pub(crate) fn has_older_stations(&self) -> Result<bool, Mistake> {
        let (kind, band) = (self.mac.kind, self.mac.band.unwrap_or(BandName::Ghz5));
        for (index, node) in self.nodes.iter().enumerate() {
            let why = match (node.mac, kind.format(), band) {
                (None, ..)
                | (Some(NodeMac::Ieee80211a), Some(_), BandName::Ghz5)
                | (Some(NodeMac::Ieee80211g), Some(_), BandName::Ghz2) => continue,
                (Some(NodeMac::Ieee80211b), ..) if kind == MacKind::Ieee80211g => continue,
                (Some(NodeMac::Ieee80211b), ..) => {
                    "is for a station of 802.11b beside 802.11g: set mac.kind = \"802.11g\""
                }
                (Some(NodeMac::Ieee80211a), ..) => {
                    "is for a station of 802.11a beside 802.11n, ac or ax at 5 GHz: set mac.kind and mac.band"
                }
                (Some(NodeMac::Ieee80211g), ..) => {
                    "is for a station of 802.11g beside 802.11n or ax at 2.4 GHz: set mac.kind and mac.band"
                }
            };
            return Err(Mistake::entry("nodes", index, "mac", why));
        }
        Ok(self.nodes.iter().any(|node| node.mac.is_some()))
    }

    /// The widths of the channels of 802.11n, ac and ax: that of all links, and those of single ones.
    pub(crate) fn widths(&self, mac: &Mac) -> Vec<Width> {
        let Some(of_all) = mac.modulation() else { return Vec::new() };
        let band = mac.phy().map_or(Band::Ghz5, |phy| phy.band);
        let own = self.rates.iter().filter_map(|entry| entry.mode_keys().over(band, of_all).ok());
        let widths: BTreeSet<Width> = own.map(|modulation| modulation.width).chain([of_all.width]).collect();
        widths.into_iter().collect()
    }

    /// The reception limits of the stations.
    pub(super) fn receivers(&self, radio: Option<&Radio>) -> Receivers {
        let of = |wanted: &[NodeMac]| {
            let is_wanted = |mac: Option<NodeMac>| mac.is_some_and(|mac| wanted.contains(&mac));
            let nodes = (0..).zip(&self.nodes).filter(|(_, node)| is_wanted(node.mac));
            nodes.map(|(number, _)| number).collect()
        };
        Receivers {
            sensitivity: radio.and_then(|radio| radio.sensitivity.clone()),
            of_b: of(&[NodeMac::Ieee80211b]),
            of_ofdm: of(&[NodeMac::Ieee80211a, NodeMac::Ieee80211g]),
        }
    }

    /// The links with a mode of their own: those of `rates`, all with an older station at one end, and all, if each has the fastest rate that it can carry.
    pub(super) fn link_rates(
        &self,
        names: &Names,
        mac: &Mac,
        medium: &Medium,
        receivers: &Receivers,
        errors: Option<ErrorModel>,
    ) -> Result<Vec<LinkRate>, Mistake> {
        let mut modes: BTreeMap<(u32, u32), Mode> = BTreeMap::new();
        if let Some(phy) = mac.phy() {
            if mac.by_distance && receivers.sensitivity.is_none() && errors.is_none() {
                let why = "\"by-distance\" needs a range or a threshold for each rate: set radio.receive_threshold = \"standard\", or give a table, or radio.errors";
                return Err(Mistake::at("mac.data_rate", why));
            }
            modes.extend(implied(mac, &phy, medium, receivers, errors));
        } else if mac.by_distance {
            let why = "\"by-distance\" has no meaning for the ideal MAC, which decodes all rates alike";
            return Err(Mistake::at("mac.data_rate", why));
        }
        for (index, entry) in self.rates.iter().enumerate() {
            let (from, to) = ends("rates", index, &entry.from, &entry.to, names)?;
            let mode = entry.mode(mac, receivers, [from, to]);
            let mode = mode.map_err(|(key, why)| Mistake::entry("rates", index, key, why))?;
            modes.insert((from, to), mode);
            if !entry.one_way {
                modes.insert((to, from), mode);
            }
        }
        Ok(modes.into_iter().map(|((from, to), mode)| LinkRate { from, to, mode }).collect())
    }
}

impl RateTable {
    /// The mode of the link between these nodes; else a key and its mistake.
    fn mode(&self, mac: &Mac, receivers: &Receivers, ends: [u32; 2]) -> Result<Mode, (&'static str, String)> {
        let keys = self.mode_keys();
        let is_older = ends.iter().any(|&node| receivers.is_of_ofdm(node));
        if let (Some(modulation), Some(phy), false) = (mac.modulation(), mac.phy(), is_older) {
            if self.rate.is_some() {
                return Err((
                    "rate",
                    "is for 802.11a, b and g: give mcs, streams, width or guard_interval".into(),
                ));
            }
            let modulation = keys.over(phy.band, modulation)?;
            return Mode::of(modulation).map_err(|e| ("mcs", e.to_string()));
        }
        if let Some(key) = keys.given() {
            let why = if is_older {
                "is not for a station of 802.11a or g: give rate"
            } else {
                "is for 802.11n, ac and ax"
            };
            return Err((key, why.into()));
        }
        let of_all = self.rate_control.is_some().then_some(RateQuantity(mac.data_mode.rate()));
        let Some(rate) = self.rate.or(of_all) else {
            return Err(("rate", "is missing: give the link's rate, such as rate = \"11 Mbps\"".into()));
        };
        if let Some(phy) = mac.phy() {
            let with_b = ends.iter().any(|&node| receivers.is_of_b(node));
            let phy = if with_b { phy.of_b() } else { phy };
            phy.checked(rate.0).map_err(|e| ("rate", e.to_string()))?;
        }
        Ok(Mode::at(rate.0))
    }
}

/// The law `ideal` as ns-3 has it, under its preset: see [`evenair_laws::rates::ideal`].
fn follow_ns3(preset: Preset, law: &mut Option<RateControlParams>) {
    if let (Preset::Ns3, Some(RateControlParams::Ideal(ideal))) = (preset, law) {
        ideal.loss.get_or_insert(0.016);
    }
}

/// The links with a rate that follows from their ends.
fn implied<'a>(
    mac: &'a Mac,
    phy: &'a Phy,
    medium: &'a Medium,
    receivers: &'a Receivers,
    errors: Option<ErrorModel>,
) -> impl Iterator<Item = ((u32, u32), Mode)> + 'a {
    let of_dsss = phy.of_b().rates();
    let fastest = move |modes: &mut dyn Iterator<Item = Mode>, ear: &Hearing| {
        if let Some(model) = errors {
            return model.best(*phy, modes, ear.power, FULL_PACKET, None);
        }
        let sensitivity = receivers.sensitivity.as_ref()?;
        let is_received = |mode: &Mode| sensitivity.threshold(*mode).is_some_and(|least| ear.power >= least);
        modes.filter(is_received).max_by_key(|mode| mode.rate())
    };
    let mode = move |from: u32, ear: &Hearing| {
        let is_older = receivers.is_of_ofdm(from) || receivers.is_of_ofdm(ear.node);
        let with_b = receivers.is_of_b(from) || receivers.is_of_b(ear.node);
        let rates = if with_b { of_dsss } else { phy.rates() };
        match (mac.by_distance, mac.modulation()) {
            (true, Some(modulation)) if !is_older => fastest(&mut alike(modulation), ear),
            (true, _) => fastest(&mut rates.iter().copied().map(Mode::at), ear),
            (false, _) if is_older || with_b => rates.last().copied().map(Mode::at),
            (false, _) => None,
        }
    };
    let nodes = 0..medium.nodes() as u32;
    nodes.flat_map(move |from| {
        let ears = medium.hearers(from as usize).iter();
        ears.filter_map(move |ear| Some(((from, ear.node), mode(from, ear)?)))
    })
}

/// The modes that differ from one in the index alone.
fn alike(modulation: Modulation) -> impl Iterator<Item = Mode> {
    let indices = 0..=modulation.format.mcs_max();
    indices.filter_map(move |mcs| Mode::of(Modulation { mcs, ..modulation }).ok())
}

/// The medium on which a frame is decodable if it is at its link's own rate.
pub(super) fn over(medium: Medium, rates: &[LinkRate], mac: &Mac, receivers: &Receivers) -> Medium {
    let Some(sensitivity) = &receivers.sensitivity else { return medium };
    let own: BTreeMap<(u32, u32), Mode> =
        rates.iter().map(|link| ((link.from, link.to), link.mode)).collect();
    medium.decodable_where(|from, ear| {
        let mode = own.get(&(from, ear.node)).copied().or((!mac.by_distance).then_some(mac.data_mode));
        mode.and_then(|mode| sensitivity.threshold(mode)).is_some_and(|least| ear.power >= least)
    })
}

/// The mode that back-off laws take for that of all links: that of `mac`, or the fastest in use where each link has its own.
pub(super) fn nominal(mac: &Mac, rates: &[LinkRate], in_use: &[Link]) -> Mode {
    if !mac.by_distance {
        return mac.data_mode;
    }
    let used = rates.iter().filter(|rate| in_use.contains(&Link { from: rate.from, to: rate.to }));
    used.map(|link| link.mode).max_by_key(|mode| mode.rate()).unwrap_or(mac.data_mode)
}
