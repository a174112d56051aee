//! Rates of links, and what each station decodes.

use super::ends;
use crate::error::Mistake;
use crate::language::{MacKind, NodeMac, Scenario};
use crate::resolved::{Mac, Radio};
use evenair_netsim::LinkRate;
use evenair_topology::{Hearing, Link, Medium};
use evenair_units::Rate;
use evenair_wifi::{Phy, Receivers};
use std::collections::BTreeMap;

impl Scenario {
    /// Whether there are stations of 802.11b among those of 802.11g.
    ///
    /// # Errors
    /// If the MAC of all is another.
    pub(crate) fn has_stations_of_b(&self) -> Result<bool, Mistake> {
        let Some(index) = self.nodes.iter().position(|node| node.mac.is_some()) else { return Ok(false) };
        if self.mac.kind != MacKind::Ieee80211g {
            let why = "is for a station of 802.11b beside 802.11g: set mac.kind = \"802.11g\"";
            return Err(Mistake::entry("nodes", index, "mac", why));
        }
        Ok(true)
    }

    /// What stations decode.
    pub(super) fn receivers(&self, radio: Option<&Radio>) -> Receivers {
        let of_b = (0..).zip(&self.nodes).filter(|(_, node)| node.mac == Some(NodeMac::Ieee80211b));
        Receivers {
            sensitivity: radio.and_then(|radio| radio.sensitivity.clone()),
            of_b: of_b.map(|(number, _)| number).collect(),
        }
    }

    /// The links with a rate of their own: those of `rates`, all with a station of 802.11b beside 802.11g at one end, and all, if
    /// each has the fastest rate that it can carry.
    pub(super) fn link_rates(
        &self,
        names: &[String],
        mac: &Mac,
        medium: &Medium,
        receivers: &Receivers,
    ) -> Result<Vec<LinkRate>, Mistake> {
        let mut rates: BTreeMap<(u32, u32), Rate> = BTreeMap::new();
        if let Some(phy) = mac.phy() {
            if mac.by_distance && receivers.sensitivity.is_none() {
                let why = "\"by-distance\" needs a range or a threshold for each rate: set radio.receive_threshold = \"standard\", or give a table";
                return Err(Mistake::at("mac.data_rate", why));
            }
            rates.extend(implied(mac, &phy, medium, receivers));
        } else if mac.by_distance {
            let why = "\"by-distance\" has no meaning for the ideal MAC, which decodes all rates alike";
            return Err(Mistake::at("mac.data_rate", why));
        }
        for (index, entry) in self.rates.iter().enumerate() {
            let wrong = |why: String| Mistake::entry("rates", index, "rate", why);
            let (from, to) = ends("rates", index, &entry.from, &entry.to, names)?;
            if let Some(phy) = mac.phy() {
                let with_b = receivers.is_of_b(from) || receivers.is_of_b(to);
                let phy = if with_b { phy.of_b() } else { phy };
                phy.checked(entry.rate.0).map_err(|e| wrong(e.to_string()))?;
            }
            rates.insert((from, to), entry.rate.0);
            if !entry.one_way {
                rates.insert((to, from), entry.rate.0);
            }
        }
        Ok(rates.into_iter().map(|((from, to), rate)| LinkRate { from, to, rate }).collect())
    }
}

/// The links whose rate follows from their ends.
fn implied<'a>(
    mac: &'a Mac,
    phy: &'a Phy,
    medium: &'a Medium,
    receivers: &'a Receivers,
) -> impl Iterator<Item = ((u32, u32), Rate)> + 'a {
    let of_dsss = phy.of_b().rates();
    let rate = move |from: u32, ear: &Hearing| {
        let with_b = receivers.is_of_b(from) || receivers.is_of_b(ear.node);
        let rates = if with_b { of_dsss } else { phy.rates() };
        let fastest = || {
            let received = receivers.sensitivity.iter().flat_map(|sensitivity| sensitivity.at(ear.power));
            received.map(|(rate, _)| rate).filter(|rate| rates.contains(rate)).max()
        };
        match (mac.by_distance, with_b) {
            (true, _) => fastest(),
            (false, true) => of_dsss.last().copied(),
            (false, false) => None,
        }
    };
    let nodes = 0..medium.nodes() as u32;
    nodes.flat_map(move |from| {
        let ears = medium.hearers(from as usize).iter();
        ears.filter_map(move |ear| Some(((from, ear.node), rate(from, ear)?)))
    })
}

/// The medium on which a frame is decodable if it is at its link's own rate.
pub(super) fn over(medium: Medium, rates: &[LinkRate], mac: &Mac, receivers: &Receivers) -> Medium {
    let Some(sensitivity) = &receivers.sensitivity else { return medium };
    let own: BTreeMap<(u32, u32), Rate> =
        rates.iter().map(|link| ((link.from, link.to), link.rate)).collect();
    medium.decodable_where(|from, ear| {
        let rate = own.get(&(from, ear.node)).copied().or((!mac.by_distance).then_some(mac.data_rate));
        rate.and_then(|rate| sensitivity.threshold(rate)).is_some_and(|least| ear.power >= least)
    })
}

/// The rate that back-off laws take for that of all links: `mac.data_rate`, or the fastest in use where each link has its own.
pub(super) fn nominal(mac: &Mac, rates: &[LinkRate], in_use: &[Link]) -> Rate {
    if !mac.by_distance {
        return mac.data_rate;
    }
    let used = rates.iter().filter(|rate| in_use.contains(&Link { from: rate.from, to: rate.to }));
    used.map(|link| link.rate).max().unwrap_or(mac.data_rate)
}
