//! Instants and durations in integer nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time \[ns since the start of the run\].
///
/// Saved states (feature `serde`) have this number: people write no instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Instant(u64);

/// A length of time \[ns\].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every instant of a run: a deadline that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the instant `ns` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns the nanoseconds since the start.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start, for results and figures.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9 // not times 1e-9: whole seconds stay whole
    }

    /// Returns the time from `earlier` to here, zero if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Returns the instant that is `length` later, for a caller that knows it to lie within the 584 years that there are: beyond them it
    /// wraps. `+` stays at [`Self::NEVER`] instead, for two instructions more.
    #[inline]
    pub const fn later(self, length: Duration) -> Self {
        debug_assert!(self.0.checked_add(length.0).is_some(), "beyond the end of time");
        Self(self.0.wrapping_add(length.0))
    }

    /// Returns whether this deadline never comes.
    #[inline]
    pub const fn is_never(self) -> bool {
        self.0 == u64::MAX
    }
}

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration, longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns a duration of `ns` nanoseconds.
    #[inline]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Returns a duration of `us` microseconds.
    #[inline]
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// Returns a duration of `ms` milliseconds.
    #[inline]
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Returns a duration of `s` seconds.
    #[inline]
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// Returns a duration of `s` seconds, rounded to the nearest nanosecond. Negative numbers and NaN
    /// become zero, and too long a time becomes [`Duration::MAX`].
    #[inline]
    pub fn from_secs_f64(s: f64) -> Self {
        // The cast saturates at both ends and maps NaN to zero.
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Returns the nanoseconds.
    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9 // not times 1e-9: whole seconds stay whole
    }

    /// Returns `self - other`, or zero if `other` is longer.
    #[inline]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the number of whole `other` in it; `other` must not be zero.
    #[inline]
    pub const fn whole(self, other: Self) -> u64 {
        self.0 / other.0
    }

    /// Returns the duration times a non-negative factor, rounded to the nearest nanosecond.
    #[inline]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor + 0.5) as u64)
    }

    /// Returns whether it is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, length: Duration) -> Self {
        // Saturates so that NEVER stays NEVER.
        Self(self.0.saturating_add(length.0))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, length: Duration) {
        *self = *self + length;
    }
}

impl Sub<Self> for Instant {
    type Output = Duration;
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        debug_assert!(self >= earlier, "an interval ends before it begins");
        self.since(earlier)
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        debug_assert!(self >= other, "a duration became negative");
        self.saturating_sub(other)
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    #[inline]
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl core::iter::Sum for Duration {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_never() { f.write_str("never") } else { write!(f, "{:.9} s", self.as_secs_f64()) }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns if ns >= 1_000_000_000 => write!(f, "{} s", self.as_secs_f64()),
            ns if ns >= 1_000_000 => write!(f, "{} ms", ns as f64 / 1e6),
            ns if ns >= 1_000 => write!(f, "{} us", ns as f64 / 1e3),
            ns => write!(f, "{ns} ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    #[test]
    fn seconds_round_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(1e-9 * 1.4).as_nanos(), 1);
        assert_eq!(Duration::from_secs_f64(-3.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::INFINITY), Duration::MAX);
    }

    #[test]
    fn never_stays_never() {
        assert!((Instant::NEVER + Duration::from_secs(1)).is_never());
    }

    #[test]
    fn durations_print_in_their_own_unit() {
        assert_eq!(Duration::from_micros(50).to_string(), "50 us");
        assert_eq!(Duration::from_millis(1500).to_string(), "1.5 s");
        assert_eq!(Duration::from_nanos(7).to_string(), "7 ns");
        assert_eq!(Duration::from_secs(60).to_string(), "60 s");
    }
}
