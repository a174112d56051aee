//! How long something takes, of all that it happens to: the mean exactly, percentiles from a histogram of bounded size.
//!
//! The histogram's bins are as wide as a 64th of the power of two below them, and a percentile is told as the middle of its bin: off
//! by less than 1 % (by 8 ns at most below 1 µs), whatever the times are. It is counts and nothing else: equal runs have equal ones on
//! every machine, those of several flows, queues or seeds add up, and it grows with the logarithm of the longest time, by 256 bytes
//! for each doubling.

use crate::queue::Delays;
use evenair_units::Duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The least that is told apart: 2⁴ ns.
const GRAIN_BITS: u32 = 4;
/// Bins of one power of two: 2⁶.
const BIN_BITS: u32 = 6;

/// How often something took how long.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    /// One more.
    #[inline]
    pub fn add(&mut self, time: Duration) {
        self.add_many(bin(time.as_nanos()), 1);
    }

    #[inline]
    fn add_many(&mut self, bin: usize, count: u32) {
        if let Some(place) = self.counts.get_mut(bin) {
            *place = place.saturating_add(count);
        } else {
            self.grow(bin, count);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, bin: usize, count: u32) {
        // To the end of its power of two.
        self.counts.resize((bin | ((1 << BIN_BITS) - 1)) + 1, 0);
        self.counts[bin] = count;
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.counts.clear();
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (bin, &count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add_many(bin, count);
        }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|&count| count == 0)
    }

    /// The least time that this share of them does not exceed (the nearest rank) \[s\], within 1 %; none without any.
    pub fn quantile_s(&self, share: f64) -> Option<f64> {
        self.quantiles_s([share])[0]
    }

    /// The same of several shares, the least first.
    fn quantiles_s<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        let count = self.count() as f64;
        let mut bins = self.counts.iter().enumerate();
        let (mut last, mut below) = (None, 0);
        shares.map(|share| {
            let rank = ((share * count).ceil() as u64).max(1);
            while below < rank {
                let (bin, &more) = bins.next()?;
                (last, below) = (Some(bin), below + u64::from(more));
            }
            last.map(middle_s)
        })
    }

    /// The bins that are not empty: the middle of each \[s\], and how many it holds.
    pub fn bins(&self) -> impl Iterator<Item = (f64, u32)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bin, &count)| (middle_s(bin), count))
    }
}

/// The bin of a time.
#[inline]
const fn bin(nanos: u64) -> usize {
    let grains = nanos >> GRAIN_BITS;
    // Below two powers of two bins are one grain wide; from there on each power of two has the same number.
    let shift = (grains | 1 << BIN_BITS).ilog2() - BIN_BITS;
    ((shift as usize) << BIN_BITS) + (grains >> shift) as usize
}

/// The middle of a bin \[s\].
fn middle_s(bin: usize) -> f64 {
    let shift = (bin >> BIN_BITS).saturating_sub(1) as u32;
    let first = (bin - ((shift as usize) << BIN_BITS)) as f64;
    let grain_ns = f64::from(1u32 << GRAIN_BITS) * 2f64.powi(shift.cast_signed());
    (first + 0.5) * grain_ns / 1e9
}

/// The bins that are not empty.
impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.bins()).finish()
    }
}

/// Written as pairs of a bin's middle \[s\] and its count, from which bins are found again.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.bins())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut histogram = Self::default();
        for (time_s, count) in Vec::<(f64, u32)>::deserialize(deserializer)? {
            if !(0.0..1e10).contains(&time_s) {
                return Err(D::Error::custom(format!("{time_s} s is no time of a histogram")));
            }
            histogram.add_many(bin((time_s * 1e9) as u64), count);
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
    /// The median \[s\], where each time was kept; as all percentiles within 1 %.
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
    fn a_bin_is_within_a_hundredth_of_what_falls_into_it() {
        let mut nanos = 1_000;
        let mut last = 0;
        while nanos < 1 << 62 {
            let place = bin(nanos);
            assert!(place >= last, "bins are in order");
            last = place;
            let off = middle_s(place) * 1e9 / nanos as f64 - 1.0;
            assert!(off.abs() < 0.01, "{nanos} ns: {off}");
            nanos += nanos / 97;
        }
        for nanos in 0..2_000 {
            let off = (middle_s(bin(nanos)) * 1e9 - nanos as f64).abs();
            assert!(off < 8.001, "{nanos} ns: {off}");
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
    fn what_is_merged_is_as_if_it_had_been_one() {
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
    fn what_is_written_is_read_again() {
        let mut histogram = Histogram::default();
        (0..60).for_each(|power| histogram.add(Duration::from_nanos(3 << power)));
        let written = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&written).unwrap(), histogram);
        assert!(
            serde_json::from_str::<Histogram>("[[-1.0, 3]]").unwrap_err().to_string().contains("no time")
        );
    }
}
