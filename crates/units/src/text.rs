//! Quantities as text: a number and a unit in one string, "50 us", "11 Mbps".
//!
//! Every quantity parses and prints this form ([`FromStr`](core::str::FromStr), `Display`). With the
//! features `serde` and `schemars`, files and their schema use it too.

use crate::{Bytes, Dbm, Duration, Rate};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A unit's name and its number of base units.
type Unit = (&'static str, f64);

/// Parses "11 Mbps" with a table of units; returns the number of base units.
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
    let value: f64 = number.parse().map_err(|_| not_a_number(text, number, unit, example))?;
    if unit.is_empty() {
        let unit = usual_unit(example);
        return Err(format!(
            "\"{text}\" has no unit; write it as \"{number} {unit}\" (units: {})",
            allowed()
        ));
    }
    let Some(&(_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let meant = meant(value, unit, units);
        return Err(format!("\"{text}\" has the unknown unit \"{unit}\"; {meant}allowed are {}", allowed()));
    };
    if !value.is_finite() {
        return Err(format!("\"{text}\" is not a finite number"));
    }
    Ok(value * factor)
}

/// Returns the message of a text without a number.
fn not_a_number(text: &str, number: &str, unit: &str, example: &str) -> String {
    let with_point = number.replacen(',', ".", 1);
    if with_point != number && with_point.parse::<f64>().is_ok() {
        return format!(
            "\"{text}\" has a decimal comma; write \"{}\"",
            format!("{with_point} {unit}").trim()
        );
    }
    format!("\"{text}\" has no number; write it as \"{example}\"")
}

/// Returns the unit to suggest for a number without one: that of the example, and the second for times.
fn usual_unit(example: &str) -> &str {
    match example.split_once(' ').map_or("", |(_, unit)| unit) {
        "us" => "s",
        unit => unit,
    }
}

/// Returns the message of a number without a unit.
#[cfg(feature = "serde")]
fn without_unit(number: impl fmt::Display, what: &str, example: &str) -> String {
    format!("{what} needs a unit; write it as \"{number} {}\"", usual_unit(example))
}

/// Names of units that are written otherwise here.
const OTHERWISE: [(&str, &str); 15] = [
    ("m", "min"),
    ("sec", "s"),
    ("secs", "s"),
    ("second", "s"),
    ("seconds", "s"),
    ("minute", "min"),
    ("minutes", "min"),
    ("msec", "ms"),
    ("usec", "us"),
    ("meter", "m"),
    ("meters", "m"),
    ("bit", "bit/s"),
    ("kbit", "kbit/s"),
    ("mbit", "Mbit/s"),
    ("gbit", "Gbit/s"),
];

/// Returns a question that suggests a unit with a similar spelling, or an empty text if there is none.
fn meant(value: f64, unit: &str, units: &[Unit]) -> String {
    // "kilobytes/s", "MByte/s" and "KBps" count bytes, as "kB/s" does.
    let lower = unit.to_lowercase();
    let short = ["bytes", "byte"].iter().fold(String::from(unit), |unit, word| match lower.find(word) {
        Some(at) if unit.len() == lower.len() && unit.is_ascii() => {
            format!("{}B{}", &unit[..at], &unit[at + word.len()..])
        }
        _ => unit,
    });
    let is_there = |name: &str| units.iter().any(|(unit, _)| *unit == name);
    if let Some((_, name)) = OTHERWISE.iter().find(|(other, name)| *other == lower && is_there(name)) {
        return format!("did you mean \"{name}\"? ");
    }
    let Some((name, _)) = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(&short)) else {
        return String::new();
    };
    // "B" is a byte and "b" a bit, except in "bit" and "dBm".
    let counts_bytes = |unit: &str| {
        unit.contains('B') && !["bit", "dbm"].iter().any(|other| unit.to_lowercase().contains(other))
    };
    let factor = match (counts_bytes(&short), counts_bytes(name)) {
        (true, false) => 8.0,
        (false, true) if !name.contains("byte") => 0.125,
        _ => return format!("did you mean \"{name}\"? "),
    };
    format!("a B is a byte, of 8 bits, and a b is a bit: did you mean \"{} {name}\"? ", value * factor)
}

/// Implements serialization of a quantity as text, and its schema.
macro_rules! written {
    ($Quantity:ty, $schema:literal, $what:literal, $example:literal, [$($unit:literal),+]) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $Quantity {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $Quantity {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $Quantity;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!($what, " such as \"", $example, "\""))
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$Quantity, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<$Quantity, E> {
                        Err(E::custom(without_unit(value, $what, $example)))
                    }
                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$Quantity, E> {
                        Err(E::custom(without_unit(value, $what, $example)))
                    }
                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$Quantity, E> {
                        Err(E::custom(without_unit(value, $what, $example)))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $Quantity {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                $schema.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let units = [$($unit),+].join("|");
                schemars::json_schema!({
                    "type": "string",
                    "description": concat!($what, ", e.g. \"", $example, "\""),
                    "pattern": format!(r"^\s*[-+0-9.eE]+\s*({units})\s*$"),
                    "examples": [$example],
                })
            }
        }
    };
}

/// Implements parsing of a quantity: its name, an example, its units, and the conversion from base
/// units.
macro_rules! text {
    ($Quantity:ty, $schema:literal, $what:literal, $example:literal, [$($unit:literal = $factor:expr),+], $from:expr) => {
        impl core::str::FromStr for $Quantity {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let base = parse(text, &[$(($unit, $factor)),+], $example)?;
                let from: fn(f64) -> Result<Self, &'static str> = $from;
                from(base).map_err(|why| format!("\"{text}\" {why}"))
            }
        }

        written!($Quantity, $schema, $what, $example, [$($unit),+]);
    };
}

fn at_least_zero(value: f64) -> Result<f64, &'static str> {
    if value >= 0.0 { Ok(value) } else { Err("is negative") }
}

fn whole(value: f64) -> Result<u32, &'static str> {
    let value = at_least_zero(value)?;
    if value > f64::from(u32::MAX) {
        return Err("is too many");
    }
    let count = value as u32;
    if value > f64::from(count) { Err("is not a whole number") } else { Ok(count) }
}

text!(
    Duration,
    "Time",
    "a time",
    "50 us",
    ["ns" = 1e-9, "us" = 1e-6, "ms" = 1e-3, "s" = 1.0, "min" = 60.0, "h" = 3600.0, "µs" = 1e-6, "μs" = 1e-6],
    |s| {
        // Ten years: beyond that nanoseconds do not fit.
        let s = at_least_zero(s)?;
        if s > 3.2e8 { Err("is longer than ten years") } else { Ok(Duration::from_secs_f64(s)) }
    }
);

text!(
    Rate,
    "Rate",
    "a rate",
    "11 Mbps",
    [
        "bps" = 1.0,
        "kbps" = 1e3,
        "Mbps" = 1e6,
        "Gbps" = 1e9,
        "bit/s" = 1.0,
        "kbit/s" = 1e3,
        "Mbit/s" = 1e6,
        "Gbit/s" = 1e9,
        "b/s" = 1.0,
        "kb/s" = 1e3,
        "Mb/s" = 1e6,
        "Gb/s" = 1e9
    ],
    |bps| match at_least_zero(bps)? {
        bps if bps < 1.0 => Err("is zero; a rate must be above it"),
        bps if bps > 1e15 => Err("is too fast"),
        bps => Ok(Rate::from_bps((bps + 0.5) as u64)), // 1.001 Mbps is 1000999.9999999999 in binary
    }
);

text!(Bytes, "Size", "a size", "1000 bytes", ["bytes" = 1.0, "byte" = 1.0, "B" = 1.0, "kB" = 1e3], |bytes| {
    match whole(bytes)? {
        60_001.. => Err("is more than a packet holds, 60000 bytes"),
        bytes => Ok(Bytes::new(bytes)),
    }
});

text!(Dbm, "Power", "a power", "-64 dBm", ["dBm" = 1.0], |level| {
    if (-200.0..=100.0).contains(&level) { Ok(Dbm::new(level)) } else { Err("lies outside -200 to 100 dBm") }
});

/// A number of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketCount(pub u32);

impl fmt::Display for PacketCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packet{}", self.0, if self.0 == 1 { "" } else { "s" })
    }
}

text!(
    PacketCount,
    "PacketCount",
    "a number of packets",
    "50 packets",
    ["packets" = 1.0, "packet" = 1.0, "segments" = 1.0, "segment" = 1.0],
    |count| whole(count).map(PacketCount)
);

/// An amount of data: a number of packets, or of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// A number of packets.
    Packets(PacketCount),
    /// A number of bytes.
    Bytes(u64),
}

impl Amount {
    /// Returns the number of packets with `payload` bytes each; the last one may be shorter.
    pub const fn packets_of(self, payload: Bytes) -> u64 {
        match self {
            Self::Packets(packets) => packets.0 as u64,
            Self::Bytes(bytes) => bytes.div_ceil(payload.count() as u64),
        }
    }
}

/// The units of [`Amount`] that are bytes; all others are packets.
const BYTES: [Unit; 8] = [
    ("bytes", 1.0),
    ("byte", 1.0),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
];
const PACKETS: [Unit; 4] = [("packets", 1.0), ("packet", 1.0), ("segments", 1.0), ("segment", 1.0)];

impl core::str::FromStr for Amount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if PACKETS.iter().any(|(unit, _)| text.trim_end().ends_with(unit)) {
            return text.parse().map(Self::Packets);
        }
        let units: Vec<Unit> = BYTES.into_iter().chain(PACKETS).collect();
        let bytes = parse(text, &units, "5 MB")?;
        if (0.0..=1e15).contains(&bytes) {
            Ok(Self::Bytes((bytes + 0.5) as u64))
        } else {
            Err(format!("\"{text}\" lies outside 0 to 1000000 GB"))
        }
    }
}

/// Prints the largest decimal unit with a whole number.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = match *self {
            Self::Packets(packets) => return packets.fmt(f),
            Self::Bytes(bytes) => bytes,
        };
        let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
        match units.into_iter().find(|(unit, _)| bytes > 0 && bytes % unit == 0) {
            Some((unit, name)) => write!(f, "{} {name}", bytes / unit),
            None => write!(f, "{bytes} bytes"),
        }
    }
}

written!(
    Amount,
    "Amount",
    "a size or a number of packets",
    "5 MB",
    ["bytes", "byte", "B", "kB", "MB", "GB", "KiB", "MiB", "packets", "packet", "segments", "segment"]
);

/// A frequency \[Hz\].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Frequency(pub f64);

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.0 / 1e6)
    }
}

text!(
    Frequency,
    "Frequency",
    "a frequency",
    "914 MHz",
    ["Hz" = 1.0, "kHz" = 1e3, "MHz" = 1e6, "GHz" = 1e9],
    |hz| if hz >= 1e3 { Ok(Frequency(hz)) } else { Err("is below 1 kHz") }
);

/// A distance \[m\].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Length(pub f64);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m", self.0)
    }
}

text!(Length, "Length", "a distance", "250 m", ["m" = 1.0, "km" = 1e3], |m| {
    if m > 0.0 { Ok(Length(m)) } else { Err("is not above zero") }
});

/// A speed \[m/s\].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Speed(pub f64);

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} m/s", self.0)
    }
}

text!(Speed, "Speed", "a speed", "1.5 m/s", ["m/s" = 1.0, "km/h" = 1.0 / 3.6], |speed| {
    at_least_zero(speed).map(Speed)
});

/// A Doppler shift \[Hz\], from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Doppler(pub f64);

impl fmt::Display for Doppler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Hz", self.0)
    }
}

text!(Doppler, "Doppler", "a Doppler shift", "5 Hz", ["Hz" = 1.0, "kHz" = 1e3], |hz| {
    at_least_zero(hz).map(Doppler)
});

/// A ratio of powers \[dB\].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Decibels(pub f64);

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dB", self.0)
    }
}

text!(Decibels, "Decibels", "a ratio", "10 dB", ["dB" = 1.0], |db| {
    if (-200.0..=200.0).contains(&db) { Ok(Decibels(db)) } else { Err("lies outside -200 to 200 dB") }
});

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    fn time(text: &str) -> Result<Duration, String> {
        text.parse()
    }

    #[test]
    fn numbers_carry_units() {
        assert_eq!(time("50 us"), Ok(Duration::from_micros(50)));
        assert_eq!(time("0.2s"), Ok(Duration::from_millis(200)));
        assert_eq!(time("1e3 ms"), Ok(Duration::from_secs(1)));
        assert_eq!("5.5 Mbps".parse(), Ok(Rate::from_kbps(5_500)));
        assert_eq!("1.001 Mbps".parse(), Ok(Rate::from_kbps(1_001)));
        assert_eq!("50 packets".parse(), Ok(PacketCount(50)));
        assert_eq!("-64 dBm".parse::<Dbm>().unwrap().to_string(), "-64 dBm");
    }

    #[test]
    fn usual_foreign_units_are_read_or_queried() {
        assert_eq!(time("50 µs"), Ok(Duration::from_micros(50)));
        assert_eq!(time("50\u{3bc}s"), Ok(Duration::from_micros(50)), "the Greek letter");
        for text in ["1.5 Mbit/s", "1.5Mb/s", "1500 kbit/s"] {
            assert_eq!(text.parse(), Ok(Rate::from_kbps(1_500)), "{text}");
        }
        assert_eq!("2km".parse(), Ok(Length(2_000.0)));
        assert_eq!("10 kB".parse(), Ok(Bytes::new(10_000)));
        assert!("11 mbps".parse::<Rate>().unwrap_err().contains("did you mean \"Mbps\"?"));
    }

    /// A byte has 8 bits (IEC 80000-13): a rate in bytes is eight times as many bits.
    #[test]
    fn bytes_are_not_taken_for_bits() {
        let refused = |text: &str| text.parse::<Rate>().unwrap_err();
        for (text, meant) in [
            ("5 kB/s", "40 kb/s"),
            ("1 MB/s", "8 Mb/s"),
            ("1.5 GB/s", "12 Gb/s"),
            ("5 KB/s", "40 kb/s"),
            ("5 kBps", "40 kbps"),
            ("5 MBps", "40 Mbps"),
            ("100 B/s", "800 b/s"),
            ("5 kbyte/s", "40 kb/s"),
            ("5 MByte/s", "40 Mb/s"),
            ("300 bytes/s", "2400 b/s"),
        ] {
            let said = refused(text);
            assert!(
                said.contains(&format!(
                    "a B is a byte, of 8 bits, and a b is a bit: did you mean \"{meant}\"?"
                )),
                "{said}"
            );
        }
        for (text, meant) in
            [("5 kBit/s", "kbit/s"), ("5 MBIT/S", "Mbit/s"), ("5 KBPS", "40 kbps"), ("5 Kb/s", "kb/s")]
        {
            assert!(refused(text).contains(&format!("did you mean \"{meant}\"?")), "{}", refused(text));
        }
        assert!("8 kb".parse::<Bytes>().unwrap_err().contains("did you mean \"1 kB\"?"));
    }

    #[test]
    fn amounts_are_bytes_or_packets() {
        for (text, amount, again) in [
            ("5 MB", Amount::Bytes(5_000_000), "5 MB"),
            ("2.5 kB", Amount::Bytes(2_500), "2500 bytes"),
            ("1 MiB", Amount::Bytes(1_048_576), "1048576 bytes"),
            ("20 segments", Amount::Packets(PacketCount(20)), "20 packets"),
        ] {
            assert_eq!(text.parse(), Ok(amount), "{text}");
            assert_eq!(amount.to_string(), again);
            assert_eq!(again.parse(), Ok(amount));
        }
        assert_eq!(Amount::Bytes(5_000_001).packets_of(Bytes::new(1_000)), 5_001);
        assert_eq!(Amount::Packets(PacketCount(7)).packets_of(Bytes::new(1_000)), 7);
        let refused = |text: &str| text.parse::<Amount>().unwrap_err();
        assert!(
            refused("5 Mb").contains("did you mean \"0.625 MB\"? allowed are bytes"),
            "{}",
            refused("5 Mb")
        );
        assert!(refused("5").contains("write it as \"5 MB\""));
        assert!(refused("1.5 packets").contains("whole"));
        assert!(refused("-1 MB").contains("outside"));
    }

    #[test]
    fn fault_is_named() {
        assert!(time("50").unwrap_err().contains("no unit"));
        assert!(time("50 parsecs").unwrap_err().contains("unknown unit \"parsecs\"; allowed are ns, us, ms"));
        assert!(time("-1 s").unwrap_err().contains("negative"));
        assert!(time("nan s").unwrap_err().contains("no number"));
        assert!(time("1e999 s").unwrap_err().contains("finite"));
        assert!(time("11 h 3").is_err());
        assert!("0 Mbps".parse::<Rate>().unwrap_err().contains("zero"));
        assert!("1.5 packets".parse::<PacketCount>().unwrap_err().contains("whole"));
        assert!("60001 bytes".parse::<Bytes>().unwrap_err().contains("60000"));
        assert!("".parse::<Duration>().is_err());
    }

    #[test]
    fn printed_text_reads_back() {
        for text in ["20 us", "1.5 s", "200 ms", "7 ns"] {
            assert_eq!(time(text).unwrap().to_string(), text);
        }
        // Samples of a day in nanoseconds: a saved state keeps every digit.
        for ns in (0..86_400_000_000_000).step_by(7_777_777_777).chain([1, 999_999_999, 86_399_999_999_999]) {
            let length = Duration::from_nanos(ns);
            assert_eq!(time(&length.to_string()), Ok(length));
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn files_keep_the_text() {
        let kept = serde_json::to_string(&Rate::from_kbps(11_000)).unwrap();
        assert_eq!(kept, "\"11 Mbps\"");
        assert_eq!(serde_json::from_str::<Rate>(&kept).unwrap(), Rate::from_kbps(11_000));
        let refused = serde_json::from_str::<Duration>("5.5").unwrap_err().to_string();
        assert!(refused.contains("a time needs a unit; write it as \"5.5 s\""), "{refused}");
    }
}
