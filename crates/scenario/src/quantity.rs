//! Quantities as scenario files write them: a number and a unit in one string.

use evenair_units::{Bytes, Dbm, Duration, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A unit and how many base units it is.
type Unit = (&'static str, f64);

/// Parses "11 Mbps" against a table of units; gives the number of base units.
fn parse(text: &str, units: &[Unit], example: &str) -> Result<f64, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    // An exponent's "e" belongs to the number: "1e3 s".
    let split = match text[split..].strip_prefix(['e', 'E']) {
        Some(rest) if split > 0 && rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => {
            let after = rest.find(|c: char| c.is_alphabetic()).unwrap_or(rest.len());
            split + 1 + after
        }
        _ => split,
    };
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    let allowed = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let value: f64 =
        number.parse().map_err(|_| format!("\"{text}\" has no number; write it as \"{example}\""))?;
    if unit.is_empty() {
        return Err(format!("\"{text}\" has no unit; write it as \"{example}\" (units: {})", allowed()));
    }
    let Some(&(_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        return Err(format!("\"{text}\" has the unknown unit \"{unit}\"; allowed are {}", allowed()));
    };
    if !value.is_finite() {
        return Err(format!("\"{text}\" is not a finite number"));
    }
    Ok(value * factor)
}

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $what:literal, $example:literal, [$($unit:literal = $factor:expr),+],
     $from:expr, $print:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub $inner);

        impl $name {
            const UNITS: &'static [Unit] = &[$(($unit, $factor)),+];
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let base = parse(text, Self::UNITS, $example)?;
                let from: fn(f64) -> Result<$inner, &'static str> = $from;
                from(base).map(Self).map_err(|why| format!("\"{text}\" {why}"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let print: fn(&$inner, &mut fmt::Formatter<'_>) -> fmt::Result = $print;
                print(&self.0, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " such as \"", $example, "\""))
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_f64<E: Error>(self, value: f64) -> Result<$name, E> {
                        Err(E::invalid_type(Unexpected::Float(value), &self))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let units = Self::UNITS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("|");
                json_schema!({
                    "type": "string",
                    "description": concat!($what, ", e.g. \"", $example, "\""),
                    "pattern": format!(r"^\s*[-+0-9.eE]+\s*({units})\s*$"),
                    "examples": [$example],
                })
            }
        }
    };
}

fn at_least_zero(value: f64) -> Result<f64, &'static str> {
    if value >= 0.0 { Ok(value) } else { Err("is negative") }
}

fn whole(value: f64) -> Result<u32, &'static str> {
    let value = at_least_zero(value)?;
    if value.fract() != 0.0 {
        return Err("is not a whole number");
    }
    if value > f64::from(u32::MAX) {
        return Err("is too many");
    }
    Ok(value as u32)
}

quantity!(
    /// A length of time.
    Time(Duration), "a time", "50 us",
    ["ns" = 1e-9, "us" = 1e-6, "ms" = 1e-3, "s" = 1.0, "min" = 60.0, "h" = 3600.0],
    |s| {
        // Ten years: beyond it nanoseconds no longer fit.
        let s = at_least_zero(s)?;
        if s > 3.2e8 { Err("is longer than ten years") } else { Ok(Duration::from_secs_f64(s)) }
    },
    |d, f| d.fmt(f)
);

quantity!(
    /// A bit rate.
    RateQuantity(Rate), "a rate", "11 Mbps",
    ["bps" = 1.0, "kbps" = 1e3, "Mbps" = 1e6, "Gbps" = 1e9],
    |bps| {
        let bps = at_least_zero(bps)?;
        if bps < 1.0 { Err("is zero; a rate must be above it") } else if bps > 1e15 { Err("is too fast") } else { Ok(Rate::from_bps(bps as u64)) }
    },
    |r, f| r.fmt(f)
);

quantity!(
    /// A size.
    Size(Bytes), "a size", "1000 bytes",
    ["bytes" = 1.0, "byte" = 1.0, "B" = 1.0, "kB" = 1e3],
    |bytes| {
        let bytes = whole(bytes)?;
        if bytes > 60_000 { Err("is more than a packet holds, 60000 bytes") } else { Ok(Bytes::new(bytes)) }
    },
    |b, f| b.fmt(f)
);

quantity!(
    /// A number of packets.
    PacketCount(u32), "a number of packets", "50 packets",
    ["packets" = 1.0, "packet" = 1.0, "segments" = 1.0, "segment" = 1.0],
    whole,
    |n, f| write!(f, "{n} packets")
);

quantity!(
    /// A frequency \[Hz\].
    Frequency(f64), "a frequency", "914 MHz",
    ["Hz" = 1.0, "kHz" = 1e3, "MHz" = 1e6, "GHz" = 1e9],
    |hz| if hz >= 1e3 { Ok(hz) } else { Err("is below 1 kHz") },
    |hz, f| write!(f, "{} MHz", hz / 1e6)
);

quantity!(
    /// A distance \[m\].
    Length(f64), "a distance", "250 m",
    ["m" = 1.0, "km" = 1e3],
    |m| if m > 0.0 { Ok(m) } else { Err("is not above zero") },
    |m, f| write!(f, "{m} m")
);

quantity!(
    /// A power level.
    Power(Dbm), "a power", "-64 dBm",
    ["dBm" = 1.0],
    |dbm| if (-200.0..=100.0).contains(&dbm) { Ok(Dbm::new(dbm)) } else { Err("lies outside -200 to 100 dBm") },
    |dbm, f| dbm.fmt(f)
);

quantity!(
    /// A ratio of powers \[dB\].
    Decibels(f64), "a ratio", "10 dB",
    ["dB" = 1.0],
    |db| if (-200.0..=200.0).contains(&db) { Ok(db) } else { Err("lies outside -200 to 200 dB") },
    |db, f| write!(f, "{db} dB")
);

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Result<Duration, String> {
        text.parse::<Time>().map(|t| t.0)
    }

    #[test]
    fn numbers_carry_units() {
        assert_eq!(time("50 us"), Ok(Duration::from_micros(50)));
        assert_eq!(time("0.2s"), Ok(Duration::from_millis(200)));
        assert_eq!(time("1e3 ms"), Ok(Duration::from_secs(1)));
        assert_eq!("5.5 Mbps".parse::<RateQuantity>().unwrap().0, Rate::from_kbps(5_500));
        assert_eq!("50 packets".parse::<PacketCount>().unwrap().0, 50);
        assert_eq!("-64 dBm".parse::<Power>().unwrap().to_string(), "-64 dBm");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(time("50").unwrap_err().contains("no unit"));
        assert!(time("50 parsecs").unwrap_err().contains("unknown unit \"parsecs\"; allowed are ns, us, ms"));
        assert!(time("-1 s").unwrap_err().contains("negative"));
        assert!(time("nan s").unwrap_err().contains("no number"));
        assert!(time("1e999 s").unwrap_err().contains("finite"));
        assert!("0 Mbps".parse::<RateQuantity>().unwrap_err().contains("zero"));
        assert!("1.5 packets".parse::<PacketCount>().unwrap_err().contains("whole"));
        assert!("".parse::<Time>().is_err());
    }

    #[test]
    fn what_is_printed_reads_back() {
        for text in ["20 us", "1.5 s", "200 ms", "7 ns"] {
            let time: Time = text.parse().unwrap();
            assert_eq!(time.to_string(), text);
        }
    }
}
