//! The number that a metric's course over time, or each of the times that it counts, is reduced to.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// The number that a metric is reduced to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Statistic {
    /// Its mean.
    #[default]
    Mean,
    /// Its standard deviation over time.
    Deviation,
    /// Its least sample.
    Least,
    /// Its greatest sample.
    Greatest,
    /// The standard deviation of several flows' means from each other, of one degree of freedom less than there are flows.
    Spread,
    /// A percentile: of delays and other times, over each time in the measured time; else over time, of its samples.
    Percentile(Percent),
}

/// Hundredths of a per cent, between nothing and all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percent(u16);

impl Percent {
    /// The same as a share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e4
    }
}

/// 95, 99.9.
impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 100.0)
    }
}

impl FromStr for Percent {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits =
            |text: &str| !text.is_empty() && text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(part) {
            return Err(());
        }
        let number = |text: &str| text.parse::<u16>().map_err(|_| ());
        let hundredths = number(whole)? * 100 + number(&format!("{part:0<2}"))?;
        if hundredths > 0 { Ok(Self(hundredths)) } else { Err(()) }
    }
}

/// The words of study files: mean, deviation, least, greatest, spread, p95, p99.9.
impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Deviation => f.write_str("deviation"),
            Self::Least => f.write_str("least"),
            Self::Greatest => f.write_str("greatest"),
            Self::Spread => f.write_str("spread"),
            Self::Percentile(percent) => write!(f, "p{percent}"),
        }
    }
}

impl FromStr for Statistic {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let percentile = |percent: &str| percent.parse().ok().map(Self::Percentile);
        let known = match word {
            "mean" => Some(Self::Mean),
            "deviation" => Some(Self::Deviation),
            "least" => Some(Self::Least),
            "greatest" => Some(Self::Greatest),
            "spread" => Some(Self::Spread),
            _ => word.strip_prefix('p').and_then(percentile),
        };
        known.ok_or_else(|| {
            format!("\"{word}\" is no statistic; write mean, deviation, least, greatest, spread, or a percentile such as p95 or p99.9")
        })
    }
}

impl<'de> Deserialize<'de> for Statistic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
