//! Durations of a repeated event: the mean exactly, percentiles from a histogram of bounded size.
//!
//! The histogram's bins are as wide as a 128th of the power of two below them. A bin keeps the count and the sum of its times,
//! and a percentile is the mean of its bin. So it is never outside the counted times, exact where the bin holds one, and else off
//! by less than 1 % (by 16 ns at most below 1 µs). Counts and sums are whole numbers: equal runs have equal ones on every
//! machine, and those of several flows, queues or seeds add up.
//!
//! Times wait one by one until there are 256, and then go into their bins together: bins of many histograms are in memory alone, and
//! each time on its own would wait for one. Large networks have thousands of histograms with few times each, and no bins. Bins are kept
//! from the first time that falls among their neighbours on, 16 together in 256 bytes; times within a factor of two take 2 KiB at most.

use crate::queue::Delays;
use evenair_des::ahead::fetch;
use evenair_units::Duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The least that is told apart: 2⁴ ns.
const GRAIN_BITS: u32 = 4;
/// Bins of one power of two: 2⁷.
const BIN_BITS: u32 = 7;

/// Bins that are kept together: 2⁴.
const CHUNK_BITS: u32 = 4;
const CHUNK: usize = 1 << CHUNK_BITS;
/// How many times wait for their bins.
const WAITING: usize = 256;

/// How often something took how long.
#[derive(Clone, Default)]
pub struct Histogram {
    /// Those that are in no bin yet.
    waiting: Vec<Duration>,
    /// All others, if there are any.
    bins: Option<Box<Bins>>,
}

/// Counts of times by their bins.
#[derive(Clone, Default)]
struct Bins {
    /// Of each chunk of bins its place among those that are kept, from one on; zero, if its bins are empty.
    places: Vec<u16>,
    kept: Vec<[Delays; CHUNK]>,
}

impl Bins {
    #[inline]
    fn add(&mut self, time: Duration) {
        let mut one = Delays::default();
        one.add(time);
        self.add_many(bin(time.as_nanos()), one);
    }

    #[inline]
    fn add_many(&mut self, bin: usize, more: Delays) {
        let place = self.places.get(bin >> CHUNK_BITS).map_or(0, |&place| usize::from(place));
        if let Some(chunk) = self.kept.get_mut(place.wrapping_sub(1)) {
            let counts = &mut chunk[bin % CHUNK];
            *counts = counts.plus(more);
        } else {
            self.keep(bin, more);
        }
    }

    /// The first times of a chunk.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, bin: usize, more: Delays) {
        let chunk = bin >> CHUNK_BITS;
        if self.places.len() <= chunk {
            self.places.resize(chunk + 1, 0);
        }
        let mut counts = [Delays::default(); CHUNK];
        counts[bin % CHUNK] = more;
        self.kept.push(counts);
        self.places[chunk] = self.kept.len() as u16; // of the 54 powers of two that there are
    }

    /// The bins that hold any, in order, each with its number.
    fn held(&self) -> impl Iterator<Item = (usize, Delays)> {
        let chunks = self.places.iter().enumerate().filter(|(_, place)| **place > 0);
        let all = chunks.flat_map(|(chunk, &place)| {
            let first = chunk << CHUNK_BITS;
            (first..).zip(self.kept[usize::from(place) - 1])
        });
        all.filter(|(_, counts)| counts.count > 0)
    }
}

impl Histogram {
    /// Fetches the place of the next time into the cache.
    pub(crate) fn fetch(&self) {
        self.waiting.last().into_iter().for_each(fetch);
    }

    /// One more.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        if self.waiting.len() == WAITING {
            self.sort_into_bins();
        }
        self.waiting.push(time);
    }

    /// None waits any more.
    #[inline(never)]
    fn sort_into_bins(&mut self) {
        let bins = self.bins.get_or_insert_default();
        self.waiting.drain(..).for_each(|time| bins.add(time));
    }

    /// The bins of all.
    fn binned(&self) -> Cow<'_, Bins> {
        match &self.bins {
            Some(bins) if self.waiting.is_empty() => Cow::Borrowed(bins),
            bins => {
                let mut bins = bins.as_deref().cloned().unwrap_or_default();
                self.waiting.iter().for_each(|&time| bins.add(time));
                Cow::Owned(bins)
            }
        }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Self) {
        other.waiting.iter().for_each(|&time| self.add(time));
        if let Some(others) = &other.bins {
            let bins = self.bins.get_or_insert_default();
            others.held().for_each(|(bin, more)| bins.add_many(bin, more));
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        let in_bins = self.bins.iter().flat_map(|bins| bins.kept.iter().flatten()).map(|counts| counts.count);
        self.waiting.len() as u64 + in_bins.sum::<u64>()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.bins.is_none()
    }

    /// The least time that this share of them does not exceed (the nearest rank) \[s\], within 1 %; none without any.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        self.quantiles_s([share])[0]
    }

    /// The same of several shares, the least first.
    fn quantiles_s<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        let (count, binned) = (self.count() as f64, self.binned());
        let mut bins = binned.held().map(|(_, counts)| counts);
        let (mut last, mut below) = (None, 0);
        shares.map(|share| {
            let rank = ((share * count).ceil() as u64).max(1);
            while below < rank {
                let bin = bins.next()?;
                (last, below) = (Some(bin), below + bin.count);
            }
            last.and_then(Delays::mean_s)
        })
    }

    /// The bins that are not empty: the mean of each \[s\], and how many it holds.
    pub fn bins(&self) -> Vec<(f64, u64)> {
        self.binned().held().filter_map(|(_, counts)| Some((counts.mean_s()?, counts.count))).collect()
    }
}

/// Whichever times came first.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.binned().held().eq(other.binned().held())
    }
}

impl Eq for Histogram {}

/// The bin of a time.
#[inline]
const fn bin(nanos: u64) -> usize {
    let grains = nanos >> GRAIN_BITS;
    // Below two powers of two bins are one grain wide; from there on each power of two has the same number.
    let shift = (grains | 1 << BIN_BITS).ilog2() - BIN_BITS;
    ((shift as usize) << BIN_BITS) + (grains >> shift) as usize
}

/// The bins that are not empty.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.bins()).finish()
    }
}

/// Written as pairs of a bin's mean \[s\] and its count, from which bins and their sums are found again (sums up to 2⁵⁰ ns exactly).
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.bins())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Self::default();
        for (mean_s, count) in Vec::<(f64, u64)>::deserialize(deserializer)? {
            if !(0.0..1e10).contains(&mean_s) {
                return Err(D::Error::custom(format!("{mean_s} s is no time of a histogram")));
            }
            if count == 0 {
                continue;
            }
            let sum_ns = (mean_s * 1e9 * count as f64).round() as u64;
            let bins = histogram.bins.get_or_insert_default();
            bins.add_many(bin((mean_s * 1e9).round() as u64), Delays { count, sum_ns });
        }
        Ok(histogram)
    }
}

/// How long something took, of all that it happened to in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Times {
    /// How often it happened.
    pub count: u64,
    /// The mean \[s\].
    pub mean_s: f64,
    /// The median \[s\], where each time was kept; as all percentiles within 1 %, and never outside the times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_s: Option<f64>,
    /// The time that 95 % did not exceed \[s\].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p95_s: Option<f64>,
    /// The time that 99 % did not exceed \[s\].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_s: Option<f64>,
    /// All of them, where each was kept.
    #[serde(skip_serializing_if = "Histogram::is_empty", default)]
    #[cfg_attr(feature = "schemars", schemars(skip))]
    pub histogram: Histogram,
}

impl Times {
    /// All of these; nothing, if there are none.
    pub fn of_each(times: &[Duration]) -> Option<Self> {
        let (mut all, mut each) = (Delays::default(), Histogram::default());
        for &time in times {
            all.add(time);
            each.add(time);
        }
        Self::of(all, Some(&each))
    }

    /// The times of so many; nothing, if there are none.
    pub(crate) fn of(delays: Delays, each: Option<&Histogram>) -> Option<Self> {
        let mean_s = delays.mean_s()?;
        let [p50_s, p95_s, p99_s] = each.map_or([None; 3], |each| each.quantiles_s([0.5, 0.95, 0.99]));
        Some(Self {
            count: delays.count,
            mean_s,
            p50_s,
            p95_s,
            p99_s,
            histogram: each.cloned().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_is_narrow_and_bins_are_in_order() {
        let (mut nanos, mut last) = (1_600, 0);
        while nanos < 1 << 62 {
            let place = bin(nanos);
            assert!(place >= last, "bins are in order");
            assert!(bin(nanos + nanos / 100) > place, "{nanos} ns: a bin is narrower than a hundredth");
            last = place;
            nanos += nanos / 97;
        }
        assert!((0..2_000).all(|nanos| bin(nanos + 16) > bin(nanos)), "and 16 ns at most");
    }

    fn of(times_ms: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        times_ms.iter().for_each(|&ms| histogram.add(Duration::from_millis(ms)));
        histogram
    }

    #[test]
    fn one_time_is_its_own_percentile() {
        for ms in [1, 7, 21_310, 86_400_000] {
            for share in [0.01, 0.5, 0.95, 1.0] {
                assert_eq!(of(&[ms]).quantile_s(share), Some(ms as f64 / 1e3), "{ms} ms");
            }
        }
    }

    /// A few times far apart: the nearest rank, which is one of them.
    #[test]
    fn percentiles_of_few_are_times_that_were() {
        let three = of(&[1_010, 2_030, 5_070]);
        let found = [0.33, 0.5, 0.95].map(|share| three.quantile_s(share));
        assert_eq!(found, [Some(1.01), Some(2.03), Some(5.07)]);
        let times = Times::of_each(&[Duration::from_millis(20_001); 3]).unwrap();
        assert_eq!((times.mean_s, times.p50_s, times.p95_s), (20.001, Some(20.001), Some(20.001)));
    }

    /// Times of one bin: percentiles are the mean, never below it and never outside the times.
    #[test]
    fn percentiles_lie_among_the_times() {
        for times_ms in [&[1_000, 1_001, 1_002][..], &[2_047, 2_048, 2_049], &[63, 64, 1_000, 1_007, 1_008]] {
            let each: Vec<Duration> = times_ms.iter().map(|&ms| Duration::from_millis(ms)).collect();
            let times = Times::of_each(&each).unwrap();
            let (least, most) = (times_ms[0] as f64 / 1e3, *times_ms.last().unwrap() as f64 / 1e3);
            for share in [times.p50_s, times.p95_s, times.p99_s].map(Option::unwrap) {
                assert!((least..=most).contains(&share), "{times_ms:?}: {share}");
            }
            assert!(times.p95_s.unwrap() >= times.mean_s, "{times:?}");
        }
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_s(0.5), None);
        (1..=1000).for_each(|ms| histogram.add(Duration::from_millis(ms)));
        for (share, exact) in [(0.001, 0.001), (0.5, 0.5), (0.9, 0.9), (0.95, 0.95), (0.99, 0.99), (1.0, 1.0)]
        {
            let told = histogram.quantile_s(share).unwrap();
            assert!((told / exact - 1.0).abs() < 0.01, "{share}: {told}");
        }
        assert_eq!(histogram.count(), 1000);
    }

    #[test]
    fn merged_times_equal_joint_times() {
        let of = |range: std::ops::Range<u64>| {
            let mut histogram = Histogram::default();
            range.for_each(|n| histogram.add(Duration::from_micros(n * n)));
            histogram
        };
        let mut merged = of(0..100);
        merged.merge(&of(100..3_000));
        assert_eq!(merged, of(0..3_000));
        let mut other = of(100..3_000);
        other.merge(&of(0..100));
        assert_eq!(merged, other);
    }

    #[test]
    fn text_reads_back() {
        let mut histogram = Histogram::default();
        (0..48).for_each(|power| histogram.add(Duration::from_nanos(3 << power)));
        (0..9_999).for_each(|n| histogram.add(Duration::from_nanos(123_456_789 + 1_001 * n)));
        let written = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&written).unwrap(), histogram);
        assert!(
            serde_json::from_str::<Histogram>("[[-1.0, 3]]").unwrap_err().to_string().contains("no time")
        );
    }
}
