//! Groups of modes, and the time that a packet takes in each.
//!
//! A group has the modes that differ in their index alone. Groups are in Linux' order: HT by width, guard interval and streams; DSSS;
//! OFDM; VHT as HT. HE, which is ours, comes last, in the same order.

use super::super::{RateFormat, RateMode};
use alloc::vec::Vec;
use evenair_units::Rate;

/// The most modes of a group: HE has so many.
pub(super) const MODES_MAX: usize = 12;

/// Data bits of a subcarrier and symbol, as a fraction, by index (IEEE 802.11-2016 clauses 19.5 and 21.5).
const BITS: [(u32, u32); MODES_MAX] =
    [(1, 2), (1, 1), (3, 2), (2, 1), (3, 1), (4, 1), (9, 2), (5, 1), (6, 1), (20, 3), (15, 2), (25, 3)];

/// An average packet \[bytes\], and the packets of the aggregate that it is in.
const PACKET: u32 = 1200;
const AGGREGATE: u32 = 16;

/// A mode: its group, and its index there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Place {
    group: u8,
    index: u8,
}

impl Place {
    pub(super) const fn new(group: usize, index: usize) -> Self {
        Self { group: group as u8, index: index as u8 }
    }

    pub(super) const fn group(self) -> usize {
        self.group as usize
    }

    pub(super) const fn index(self) -> usize {
        self.index as usize
    }
}

/// The counts of a mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Stats {
    /// Packets sent in this interval, and those of them that were acknowledged.
    pub(super) attempts: u32,
    pub(super) successes: u32,
    /// It was ever tried.
    pub(super) is_known: bool,
    /// The filtered probability of success, times [`ONE`](super::ONE), and the one before it.
    pub(super) average: u16,
    pub(super) average_before: u16,
}

/// Modes that differ in their index alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Group {
    pub(super) format: RateFormat,
    pub(super) streams: u8,
    /// Those that the link has, by index: their places in its list.
    pub(super) modes: [Option<u16>; MODES_MAX],
    /// The time of an average packet in each \[ns\].
    pub(super) durations: [u32; MODES_MAX],
    pub(super) stats: [Stats; MODES_MAX],
    /// The two with the greatest throughput.
    pub(super) best: [u8; 2],
    /// The most robust.
    pub(super) robust: u8,
    /// Where its random order of probes goes on: which order, and which place in it.
    pub(super) order: u8,
    pub(super) next: u8,
    /// Its slowest mode is never probed: Linux numbers it zero, which stands for none.
    pub(super) is_first: bool,
}

impl Group {
    /// Whether its frames have one packet.
    pub(super) const fn is_legacy(&self) -> bool {
        matches!(self.format, RateFormat::Dsss | RateFormat::Ofdm)
    }

    /// The indices of the modes that the link has.
    pub(super) fn indices(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let modes = self.modes;
        (0..MODES_MAX).filter(move |&index| modes[index].is_some())
    }

    /// The slowest mode.
    pub(super) fn slowest(&self) -> usize {
        self.indices().next().expect("a group has a mode")
    }
}

/// The groups of some modes, in order.
pub(super) fn of(modes: &[RateMode]) -> Vec<Group> {
    let key = |mode: &RateMode| (mode.format, mode.width_mhz, u16::MAX - mode.guard_ns, mode.streams);
    let mut keys: Vec<_> = modes.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    let group = |of| {
        let members = (0..).zip(modes).filter(move |(_, mode)| key(mode) == of);
        let first = modes.iter().find(|mode| key(mode) == of).expect("a key of a mode");
        let is_first = first.format == RateFormat::Ht
            && (first.width_mhz, first.guard_ns, first.streams) == (20, 800, 1);
        let mut group = Group {
            format: first.format,
            streams: first.streams,
            modes: [None; MODES_MAX],
            durations: [0; MODES_MAX],
            stats: [Stats::default(); MODES_MAX],
            best: [0; 2],
            robust: 0,
            order: 0,
            next: 0,
            is_first,
        };
        for (place, mode) in members {
            let index = usize::from(mode.index).min(MODES_MAX - 1);
            group.modes[index] = Some(place);
            group.durations[index] = duration(mode);
        }
        let slowest = group.slowest();
        // Linux keeps them in 16 bits, with one shift for each group.
        let shift = 16u32.saturating_sub(group.durations[slowest].leading_zeros());
        group.durations = group.durations.map(|time| time >> shift << shift);
        (group.best, group.robust) = ([slowest as u8; 2], slowest as u8);
        group
    };
    keys.into_iter().map(group).collect()
}

/// The mode that has a place in the link's list.
pub(super) fn place_of(groups: &[Group], mode: u16) -> Option<Place> {
    groups.iter().enumerate().find_map(|(group, this)| {
        this.indices().find(|&index| this.modes[index] == Some(mode)).map(|index| Place::new(group, index))
    })
}

/// The time of an average packet in an average aggregate \[ns\]; in one of its own, where there are no aggregates.
fn duration(mode: &RateMode) -> u32 {
    let rate = rate_of(mode.rate);
    match mode.format {
        RateFormat::Dsss => 1000 * (10 + 144 + 48 + 8 * (PACKET + 4) * 10 / rate),
        RateFormat::Ofdm => 1000 * (16 + 16 + 4 + 4 * ((16 + 80 * (PACKET + 4) + 6) / (rate * 4))),
        RateFormat::Ht | RateFormat::Vht | RateFormat::He => {
            let (bits, of) = BITS[usize::from(mode.index).min(MODES_MAX - 1)];
            let per_symbol = subcarriers(mode) * bits / of * u32::from(mode.streams);
            let symbols = (PACKET * AGGREGATE * 8).div_ceil(per_symbol.max(1));
            let time = match (mode.format, mode.guard_ns) {
                (RateFormat::He, guard) => symbols * (12_800 + u32::from(guard)),
                (_, 400) => (symbols * 18_000 + 4_000) / 5,
                _ => symbols * 4_000,
            };
            time / AGGREGATE
        }
    }
}

/// Data subcarriers (IEEE 802.11-2016 tables 19-6 and 21-5; IEEE 802.11ax-2021 table 27-15).
const fn subcarriers(mode: &RateMode) -> u32 {
    let is_he = matches!(mode.format, RateFormat::He);
    match (is_he, mode.width_mhz) {
        (false, 40) => 108,
        (false, 80) => 234,
        (false, 160) | (true, 40) => 468,
        (false, _) => 52,
        (true, 80) => 980,
        (true, 160) => 1960,
        (true, _) => 234,
    }
}

/// The time that a frame takes beside its packets \[µs\].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Overhead {
    /// An empty frame and its acknowledgement at 6 Mb/s.
    pub(super) plain: u32,
    /// The acknowledgement, at the slowest rate of frames without aggregates.
    pub(super) legacy: u32,
    /// The acknowledgement of the first.
    answer: u32,
}

impl Overhead {
    pub(super) fn of(modes: &[RateMode]) -> Self {
        let slowest = modes.iter().filter(|mode| matches!(mode.format, RateFormat::Dsss | RateFormat::Ofdm));
        let slowest = slowest.min_by_key(|mode| mode.rate.as_bps());
        let answer = ofdm(10, 60);
        let legacy = slowest.map_or(answer, |mode| match (mode.format, rate_of(mode.rate)) {
            // Linux takes a short preamble here.
            (RateFormat::Dsss, rate) => 10 + 72 + 24 + (8u32 * 14 * 10).div_ceil(rate),
            (_, rate) => ofdm(10, rate),
        });
        Self { plain: ofdm(0, 60) + answer, legacy, answer }
    }

    /// Of one try, which RTS and CTS may precede.
    pub(super) const fn of_frame(&self, is_legacy: bool, is_announced: bool) -> u32 {
        match (is_legacy, is_announced) {
            (false, false) => self.plain,
            (false, true) => self.plain + 2 * self.answer,
            (true, false) => self.legacy,
            (true, true) => 3 * self.legacy,
        }
    }
}

/// A rate in units of 100 kb/s.
fn rate_of(rate: Rate) -> u32 {
    (rate.as_bps() / 100_000).max(1) as u32
}

/// A frame of OFDM, its inter-frame space included \[µs\].
const fn ofdm(bytes: u32, rate: u32) -> u32 {
    16 + 16 + 4 + 4 * ((16 + 8 * (bytes + 4) + 6) * 10).div_ceil(4 * rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates \[Mb/s\] that the standards print, to a tenth (IEEE 802.11-2016 clauses 19.5 and 21.5; IEEE 802.11ax-2021 clause
    /// 27.5): width, guard interval, streams and index.
    const PRINTED: [(RateFormat, u16, u16, u8, u8, f64); 19] = {
        use RateFormat::{He, Ht, Vht};
        [
            (Ht, 20, 800, 1, 0, 6.5),
            (Ht, 20, 400, 1, 7, 72.2),
            (Ht, 40, 800, 2, 4, 162.0),
            (Ht, 40, 400, 4, 7, 600.0),
            (Vht, 20, 800, 1, 8, 78.0),
            (Vht, 40, 400, 1, 9, 200.0),
            (Vht, 80, 800, 1, 0, 29.3),
            (Vht, 80, 400, 3, 9, 1300.0),
            (Vht, 160, 800, 1, 9, 780.0),
            (Vht, 160, 400, 1, 0, 65.0),
            (He, 20, 800, 1, 0, 8.6),
            (He, 20, 1600, 1, 0, 8.1),
            (He, 20, 3200, 1, 0, 7.3),
            (He, 20, 800, 1, 11, 143.4),
            (He, 40, 1600, 1, 2, 48.8),
            (He, 40, 800, 1, 10, 258.1),
            (He, 80, 800, 2, 9, 960.8),
            (He, 160, 3200, 1, 0, 61.3),
            (He, 160, 800, 1, 11, 1201.0),
        ]
    };

    /// A packet's 9600 bits last so long at that rate, and a sixteenth of the aggregate's last symbol, which is not full.
    #[test]
    fn durations_are_those_of_printed_rates() {
        for mode in PRINTED {
            let (format, width_mhz, guard_ns, streams, index, mbps) = mode;
            let rate = Rate::from_kbps((mbps * 1e3) as u64);
            let time = f64::from(duration(&RateMode { format, index, streams, width_mhz, guard_ns, rate }));
            let symbol = if format == RateFormat::He { 12_800.0 } else { 3_200.0 } + f64::from(guard_ns);
            let (least, most) = (9_600e3 / (mbps + 0.05), 9_600e3 / (mbps - 0.05) + symbol / 16.0 + 50.0);
            assert!((least - 1.0..=most).contains(&time), "{mode:?}: {time} ns");
        }
    }

    fn mode(format: RateFormat, index: u8, kbps: u64) -> RateMode {
        RateMode { format, index, streams: 1, width_mhz: 20, guard_ns: 0, rate: Rate::from_kbps(kbps) }
    }

    /// DSSS has no guard interval. An index beyond the last one is taken for the last.
    #[test]
    fn modes_without_guard_interval_are_a_group() {
        let groups = of(&[mode(RateFormat::Dsss, 0, 1_000), mode(RateFormat::Dsss, 13, 11_000)]);
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].indices().collect::<Vec<_>>(), [0, 11]);
        let [last, beyond] = [11, 13].map(|index| duration(&mode(RateFormat::He, index, 0)));
        assert_eq!(last, beyond);
    }

    /// 1200 bytes and a checksum of 4 are 9632 bits. DSSS: 10 us of SIFS, 192 us of preamble and header. OFDM: 16 us each of SIFS and
    /// preamble, 4 us of header, symbols of 4 us; Linux counts full symbols alone, 44 of 216 bits.
    #[test]
    fn durations_without_aggregates_are_of_linux() {
        for (format, kbps, us) in [
            (RateFormat::Dsss, 1_000, 9_834),
            (RateFormat::Dsss, 11_000, 1_077),
            (RateFormat::Ofdm, 54_000, 212),
        ] {
            assert_eq!(duration(&mode(format, 0, kbps)), us * 1000, "{format:?} {kbps} kb/s");
        }
    }
}
