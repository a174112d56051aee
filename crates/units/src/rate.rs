//! Rates and sizes, and the time that a size takes at a rate.

use crate::Duration;
use core::fmt;

/// A bit rate \[bit/s\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// A size \[bytes\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u32);

/// An amount of traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Volume {
    /// Number of packets.
    pub packets: u64,
    /// Sum of network-layer sizes \[bytes\].
    pub bytes: u64,
}

impl Volume {
    /// Adds a packet of a size.
    pub const fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

impl Rate {
    /// Returns a rate of `bps` bits per second.
    #[inline]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Returns a rate of `kbps` thousand bits per second.
    #[inline]
    pub const fn from_kbps(kbps: u64) -> Self {
        Self(kbps * 1_000)
    }

    /// Returns the rate \[bit/s\].
    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Returns the time for `size`, rounded to the nearest nanosecond; [`Duration::MAX`] for a rate of
    /// zero.
    #[inline]
    pub const fn time_for(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bit_ns = size.bits() * 1_000_000_000;
        Duration::from_nanos((bit_ns + self.0 / 2) / self.0)
    }

    /// Returns the time for `size`, rounded up to a whole microsecond, as the LENGTH field of 802.11b
    /// counts it (IEEE 802.11-2016 clause 16.2.3.5).
    #[inline]
    pub const fn whole_micros_for(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        Duration::from_micros((size.bits() * 1_000_000).div_ceil(self.0))
    }
}

impl Bytes {
    /// Returns a size of `count` bytes.
    #[inline]
    pub const fn new(count: u32) -> Self {
        Self(count)
    }

    /// Returns the number of bytes.
    #[inline]
    pub const fn count(self) -> u32 {
        self.0
    }

    /// Returns the number of bits.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0 as u64 * 8
    }
}

impl core::ops::Add for Bytes {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bps if bps >= 1_000_000 => write!(f, "{} Mbps", bps as f64 / 1e6),
            bps if bps >= 1_000 => write!(f, "{} kbps", bps as f64 / 1e3),
            bps => write!(f, "{bps} bps"),
        }
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} byte{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_bytes_at_eleven_megabits() {
        let rate = Rate::from_kbps(11_000);
        // 8000 bits / 11 Mb/s = 727.272… µs
        assert_eq!(rate.time_for(Bytes::new(1000)).as_nanos(), 727_273);
        assert_eq!(rate.whole_micros_for(Bytes::new(1000)), Duration::from_micros(728));
    }

    #[test]
    fn a_rate_of_zero_takes_forever() {
        assert_eq!(Rate::from_bps(0).time_for(Bytes::new(1)), Duration::MAX);
    }
}
