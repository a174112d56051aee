//! Reception limits of stations: the power that each rate needs, and the modulations that a station decodes.

use crate::phy::{Mode, Modulation, Phy, Width};
use evenair_topology::Hearing;
use evenair_units::{Dbm, Rate};

/// Receiver minimum input sensitivity of MCS 0 to 11 in 20 MHz \[dBm\] (IEEE 802.11-2016 clauses 19.3.19 and 21.3.18,
/// 802.11ax-2021 clause 27.3.20), and by how much each doubling of the width raises it \[dB\].
const MODULATED_DBM: [f64; 12] =
    [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0];
const WIDENING_DB: f64 = 3.0;

/// The power from which on a frame of each rate is decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    thresholds: Vec<(Rate, Dbm)>,
    /// Of modes of 802.11n, ac and ax, one for each index and width; streams and guard interval make no difference.
    of_modulations: Vec<(Mode, Dbm)>,
}

impl Sensitivity {
    /// Of a physical layer, where the thresholds of some of its rates are given. A rate without one goes as far as the next faster
    /// one of its modulation that has one, and is not received at all where there is none.
    pub fn new(phy: Phy, given: &[(Rate, Dbm)]) -> Self {
        let threshold = |rate: Rate| {
            let alike = given.iter().filter(|(other, _)| phy.is_dsss(*other) == phy.is_dsss(rate));
            alike.filter(|(other, _)| *other >= rate).min_by_key(|(other, _)| *other).map(|&(_, power)| power)
        };
        let thresholds = phy.rates().iter().filter_map(|&rate| Some((rate, threshold(rate)?)));
        Self { thresholds: thresholds.collect(), of_modulations: Vec::new() }
    }

    /// The standard's, with those of 802.11n, ac and ax in channels of these widths.
    pub fn of_widths(phy: Phy, widths: &[Width]) -> Self {
        let by_rate = Self::new(phy, &Self::standard(phy));
        let formats = phy.standard.format().into_iter();
        let all = formats.flat_map(|format| widths.iter().map(move |&width| (format, width)));
        let of_modulations = all.flat_map(|(format, width)| {
            let mode = move |mcs: usize| Modulation::any(format, mcs as u8, width);
            let each = MODULATED_DBM.into_iter().enumerate();
            each.filter_map(move |(mcs, dbm)| {
                Some((mode(mcs)?, Dbm::new(dbm + WIDENING_DB * f64::from(width as u8))))
            })
        });
        Self { of_modulations: of_modulations.collect(), ..by_rate }
    }

    /// Receiver minimum input sensitivity: of OFDM by IEEE 802.11-2016 table 17-18 at 20 MHz, of DSSS by clauses 15.4.6.2
    /// (2 Mb/s) and 16.3.8.2 (11 Mb/s), which say nothing of 1 and 5.5 Mb/s.
    pub fn standard(phy: Phy) -> Vec<(Rate, Dbm)> {
        const OFDM: [(u64, f64); 8] = [
            (6, -82.0),
            (9, -81.0),
            (12, -79.0),
            (18, -77.0),
            (24, -74.0),
            (36, -70.0),
            (48, -66.0),
            (54, -65.0),
        ];
        const DSSS: [(u64, f64); 2] = [(2, -80.0), (11, -76.0)];
        let known =
            OFDM.iter().chain(&DSSS).map(|&(mbps, dbm)| (Rate::from_kbps(mbps * 1000), Dbm::new(dbm)));
        known.filter(|(rate, _)| phy.rates().contains(rate)).collect()
    }

    /// The power that this mode needs; none, where it is not received at all.
    pub fn threshold(&self, mode: impl Into<Mode>) -> Option<Dbm> {
        let mode = mode.into();
        if let Some(modulation) = mode.modulation() {
            let mut all = self.of_modulations.iter();
            let found =
                all.find(|(other, _)| other.modulation().is_some_and(|own| own.is_received_as(modulation)));
            return found.map(|&(_, power)| power);
        }
        self.thresholds.iter().find(|(other, _)| Mode::at(*other) == mode).map(|&(_, power)| power)
    }

    /// The rates that are received at this power, with the power that each needs.
    pub fn at(&self, power: Dbm) -> impl Iterator<Item = (Rate, Dbm)> {
        self.thresholds.iter().copied().filter(move |&(_, least)| power >= least)
    }

    /// The least power of any rate, that of the rate with the longest range.
    pub fn least(&self) -> Option<Dbm> {
        self.thresholds.iter().map(|&(_, power)| power).min_by(|a, b| a.level().total_cmp(&b.level()))
    }
}

/// The reception limits of a network's stations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receivers {
    /// The power that each rate needs; without it all rates are decoded alike, where the medium says so.
    pub sensitivity: Option<Sensitivity>,
    /// The stations of 802.11b among those of 802.11g, in ascending order: OFDM is energy to them and nothing more.
    pub of_b: Vec<u32>,
    /// The stations of 802.11a or g among those of 802.11n, ac or ax, in ascending order: they decode the non-HT part of a preamble,
    /// which tells the frame's length (L-SIG, IEEE 802.11-2016 clause 19.3.9.3.5), and take the rest for an error.
    pub of_ofdm: Vec<u32>,
}

impl Receivers {
    /// Whether a node is a station of 802.11b among those of 802.11g.
    pub fn is_of_b(&self, node: u32) -> bool {
        self.of_b.binary_search(&node).is_ok()
    }

    /// Whether a node is a station of 802.11a or g among those of 802.11n, ac or ax.
    pub fn is_of_ofdm(&self, node: u32) -> bool {
        self.of_ofdm.binary_search(&node).is_ok()
    }

    /// Modes of one and the same hearers are one class: the class of each mode, and a mode of each class.
    pub(crate) fn classes(&self, phy: Phy) -> (Vec<(Mode, u8)>, Vec<Mode>) {
        let mut of_modes = Vec::new();
        let mut classes: Vec<Mode> = Vec::new();
        let kind = |mode: Mode| {
            let rate = mode.rate();
            let threshold = self.sensitivity.as_ref().map(|sensitivity| sensitivity.threshold(mode));
            let is_own = mode.modulation().is_some();
            (threshold, !self.of_b.is_empty() && phy.is_dsss(rate), !self.of_ofdm.is_empty() && is_own)
        };
        let given = self.sensitivity.iter().flat_map(|sensitivity| &sensitivity.of_modulations);
        let own = phy.own_mode().into_iter().chain(given.map(|&(mode, _)| mode));
        for mode in phy.rates().iter().copied().map(Mode::at).chain(own) {
            let class = classes.iter().position(|&other| kind(other) == kind(mode)).unwrap_or_else(|| {
                classes.push(mode);
                classes.len() - 1
            });
            of_modes.push((mode, class as u8));
        }
        (of_modes, classes)
    }

    /// How a frame of this mode is received by one of its hearers, if nothing overlaps it.
    pub(crate) fn of(&self, hearing: &Hearing, mode: Mode, phy: Phy) -> Decoding {
        let rate = mode.rate();
        if mode.modulation().is_some() && self.is_of_ofdm(hearing.node) {
            return if hearing.is_decodable() { Decoding::Header } else { Decoding::Weak };
        }
        if self.is_of_b(hearing.node) && !phy.is_dsss(rate) {
            return Decoding::Energy;
        }
        let Some(sensitivity) = &self.sensitivity else {
            return if hearing.is_decodable() { Decoding::Whole } else { Decoding::Weak };
        };
        let decodes = |mode| sensitivity.threshold(mode).is_some_and(|least| hearing.power >= least);
        // The header goes at the slowest rate of the modulation.
        let header = phy.rates().iter().copied().find(|&other| phy.is_dsss(other) == phy.is_dsss(rate));
        match (hearing.is_sensed(), decodes(mode), header.map(Mode::at).is_some_and(decodes)) {
            (true, true, _) => Decoding::Whole,
            (true, false, true) => Decoding::Header,
            _ => Decoding::Weak,
        }
    }
}

/// How much of a frame a receiver decodes where nothing overlaps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoding {
    /// All of it.
    Whole,
    /// Its header, by which the receiver locks to it; the rest is an error.
    Header,
    /// Nothing, as the signal is too weak.
    Weak,
    /// Nothing: it is of a modulation that the receiver does not know.
    Energy,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::{Format, Preamble};
    use evenair_topology::Reach;
    use evenair_units::Duration;

    const fn mbps(rate: u64) -> Rate {
        Rate::from_kbps(rate * 1000)
    }

    fn hearing(node: u32, dbm: f64) -> Hearing {
        Hearing { node, power: Dbm::new(dbm), reach: Reach::Decodable, delay: Duration::ZERO }
    }

    #[test]
    fn the_standards_sensitivities_of_each_layer() {
        // IEEE 802.11-2016 table 17-18: 6 Mb/s at -82 dBm, 54 at -65; clauses 15.4.6.2, 16.3.8.2: 2 Mb/s at -80, 11 at -76.
        let of = |phy: Phy| Sensitivity::new(phy, &Sensitivity::standard(phy));
        let power = |dbm: f64| Some(Dbm::new(dbm));
        let a = of(Phy::a());
        assert_eq!(
            (a.threshold(mbps(6)), a.threshold(mbps(24)), a.threshold(mbps(54))),
            (power(-82.0), power(-74.0), power(-65.0))
        );
        assert_eq!((a.threshold(mbps(11)), a.least()), (None, power(-82.0)));
        let b = of(Phy::b_long());
        assert_eq!((b.threshold(mbps(1)), b.threshold(mbps(2))), (power(-80.0), power(-80.0)));
        assert_eq!(
            (b.threshold(Rate::from_kbps(5_500)), b.threshold(mbps(11))),
            (power(-76.0), power(-76.0))
        );
        let rates: Vec<Rate> = a.at(Dbm::new(-74.0)).map(|(rate, _)| rate).collect();
        assert_eq!(rates, [6, 9, 12, 18, 24].map(mbps));
    }

    #[test]
    fn the_standards_sensitivities_of_802_11ac() {
        // IEEE 802.11-2016 table 21-25: MCS 0 and 9 at 20, 80 and 160 MHz.
        let of = Sensitivity::of_widths(Phy::ac(), &[Width::Mhz20, Width::Mhz80, Width::Mhz160]);
        let mode = |mcs, width, streams| {
            Mode::of(Modulation {
                streams,
                ..Modulation::any(Format::Vht, mcs, width).unwrap().modulation().unwrap()
            })
        };
        let needs = |mcs, width, streams| of.threshold(mode(mcs, width, streams).unwrap()).map(Dbm::level);
        assert_eq!(needs(0, Width::Mhz20, 1), Some(-82.0));
        assert_eq!(needs(9, Width::Mhz20, 3), Some(-57.0));
        assert_eq!(needs(9, Width::Mhz80, 2), Some(-51.0));
        assert_eq!((needs(0, Width::Mhz160, 1), needs(0, Width::Mhz40, 1)), (Some(-73.0), None));
        assert_eq!(of.threshold(mbps(6)), Some(Dbm::new(-82.0)));
    }

    #[test]
    fn rate_goes_as_far_as_next_faster_that_is_given() {
        let given = [(mbps(12), Dbm::new(-79.0)), (mbps(24), Dbm::new(-74.0))];
        let some = Sensitivity::new(Phy::g(), &given);
        let expected =
            [(6, Some(-79.0)), (12, Some(-79.0)), (18, Some(-74.0)), (24, Some(-74.0)), (36, None)];
        for (rate, dbm) in expected {
            assert_eq!(some.threshold(mbps(rate)), dbm.map(Dbm::new), "{rate} Mb/s");
        }
    }

    #[test]
    fn frame_too_fast_for_its_power_shows_its_header() {
        let (phy, mixed) = (Phy::a(), Phy::mixed(Preamble::Long));
        let sensitivity = Some(Sensitivity::new(phy, &Sensitivity::standard(phy)));
        let all = Receivers { sensitivity, ..Receivers::default() };
        assert_eq!(all.of(&hearing(1, -70.0), mbps(36).into(), phy), Decoding::Whole);
        assert_eq!(all.of(&hearing(1, -70.5), mbps(36).into(), phy), Decoding::Header);
        assert_eq!(all.of(&hearing(1, -82.5), mbps(36).into(), phy), Decoding::Weak);
        let some = Receivers { of_b: vec![1], ..Receivers::default() };
        assert_eq!(some.of(&hearing(1, -50.0), mbps(6).into(), mixed), Decoding::Energy);
        assert_eq!(some.of(&hearing(1, -50.0), mbps(11).into(), mixed), Decoding::Whole);
        assert_eq!(some.of(&hearing(2, -50.0), mbps(6).into(), mixed), Decoding::Whole);
        assert_eq!(some.classes(mixed).1, [mbps(1), mbps(6)].map(Mode::at));
        assert_eq!(Receivers::default().classes(mixed).1, [Mode::at(mbps(1))]);
    }
}
