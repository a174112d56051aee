//! The laws with a kernel implementation: their names, their objects, and their parameters in the objects'
//! encoding.

use evenair_laws::Parameters as _;
use evenair_laws::window::{FastParams, QuicTcpParams, VegasMeasure, VegasParams, WindowParams};
use evenair_units::{Duration, plain_message};
use sha2::{Digest, Sha256};
use std::fmt;

/// The compiler that made the objects.
pub const COMPILER: &str = include_str!("../objects/COMPILER");

/// A law with a kernel implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// QUIC-TCP ([QCSMA]), with ρ = 0, ½ or 1.
    QuicTcp,
    /// FAST TCP.
    Fast,
    /// TCP Vegas.
    Vegas,
}

/// The error of parameters that a law's object does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadSetting {
    /// The window law has no object.
    NoLaw(String),
    /// No such parameter, or a value of another kind.
    Unread(String),
    /// A value out of range.
    OutOfRange(String),
}

impl fmt::Display for BadSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLaw(name) => {
                let names = Law::ALL.map(Law::name).join(", ");
                write!(f, "{name} is none of the laws that the kernel can have: {names}")
            }
            Self::Unread(why) => write!(f, "{why}; evenair list laws window names the parameters"),
            Self::OutOfRange(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for BadSetting {}

/// A packet, and a gain of one, in the objects' encoding.
const PACKET: f64 = 65_536.0;
const GAIN: f64 = 4_294_967_296.0;
/// The largest parameter in packets.
const PACKETS_MAX: f64 = 1_048_576.0;
/// The smallest and largest gains that the objects can represent.
const GAIN_MIN: f64 = 1e-6;
const GAIN_MAX: f64 = 65_536.0;
/// An unlimited time.
const ENDLESS: u64 = u64::MAX;

impl Law {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::QuicTcp, Self::Fast, Self::Vegas];

    /// Returns its name in scenarios and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::QuicTcp => "quic-tcp",
            Self::Fast => "fast",
            Self::Vegas => "vegas",
        }
    }

    /// Returns its name among the kernel's congestion controls, of fifteen letters at most.
    pub const fn control(self) -> &'static str {
        match self {
            Self::QuicTcp => "evenair_quic",
            Self::Fast => "evenair_fast",
            Self::Vegas => "evenair_vegas",
        }
    }

    /// Returns the law of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|law| [law.name(), law.control()].contains(&name))
    }

    /// Returns the law of a congestion control of this name, which may have a mark after it.
    pub(crate) fn of_control(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|law| name.starts_with(law.control()))
    }

    /// Returns the law of these parameters, if it has a kernel implementation.
    pub const fn of(params: &WindowParams) -> Option<Self> {
        match params {
            WindowParams::QuicTcp(_) => Some(Self::QuicTcp),
            WindowParams::Fast(_) => Some(Self::Fast),
            WindowParams::Vegas(_) => Some(Self::Vegas),
            _ => None,
        }
    }

    /// Returns its object, as clang built it from `bpf/`.
    pub const fn object(self) -> &'static [u8] {
        match self {
            Self::QuicTcp => include_bytes!("../objects/quic_tcp.o"),
            Self::Fast => include_bytes!("../objects/fast.o"),
            Self::Vegas => include_bytes!("../objects/vegas.o"),
        }
    }

    /// Returns the digest of its object (SHA-256), which identifies it.
    pub fn digest(self) -> String {
        format!("{:x}", Sha256::digest(self.object()))
    }

    /// Returns the law's default parameters.
    pub fn defaults(self) -> WindowParams {
        match self {
            Self::QuicTcp => QuicTcpParams::default().into(),
            Self::Fast => FastParams::default().into(),
            Self::Vegas => VegasParams::default().into(),
        }
    }
}

/// Returns parameters with some of them replaced, as `name=value`; a time may be `none`.
///
/// # Errors
/// If one is unknown, or not of its kind.
pub fn with(params: &WindowParams, given: &[String]) -> Result<WindowParams, BadSetting> {
    let mut table = serde_json::to_value(params).map_err(|error| BadSetting::Unread(error.to_string()))?;
    let mut changed = params.clone();
    for setting in given {
        let (name, value) = setting
            .split_once('=')
            .ok_or_else(|| BadSetting::Unread(format!("{setting}: give NAME=VALUE")))?;
        let value = match serde_json::from_str(value) {
            Ok(number @ serde_json::Value::Number(_)) => number,
            _ if value == "none" => serde_json::Value::Null,
            _ => serde_json::Value::from(value),
        };
        table[name.trim()] = value;
        // One by one, so that an error names its setting.
        changed = WindowParams::deserialize(&table).map_err(|error| {
            BadSetting::Unread(format!("{setting}: {}", plain_message(&error.to_string())))
        })?;
    }
    Ok(changed)
}

/// Encodes the parameters for the law's object.
///
/// # Errors
/// If the law has no kernel implementation, or a parameter is out of the law's range or the object's.
pub fn encode(params: &WindowParams) -> Result<Vec<u64>, BadSetting> {
    let law = Law::of(params).ok_or_else(|| BadSetting::NoLaw(name_of(params)))?;
    let name = law.name();
    let out = |what: String| BadSetting::OutOfRange(format!("{name}: {what}"));
    let params = params.clone().validated().map_err(|bad| out(bad.to_string()))?;
    let packets = |key: &str, value: f64| {
        if (1.0 / PACKET..=PACKETS_MAX).contains(&value) {
            Ok((value * PACKET).round() as u64)
        } else {
            Err(out(format!("{key} = {value} packets: in the kernel from 0.00002 to {PACKETS_MAX}")))
        }
    };
    let gain = |key: &str, value: f64| {
        if (GAIN_MIN..=GAIN_MAX).contains(&value) {
            Ok((value * GAIN).round() as u64)
        } else {
            Err(out(format!("{key} = {value}: in the kernel from {GAIN_MIN} to {GAIN_MAX}")))
        }
    };
    match params {
        WindowParams::QuicTcp(QuicTcpParams { target, gain: kappa, shape, round_trip_holds }) => {
            let twice = (2.0 * shape).round();
            if (twice - 2.0 * shape).abs() > f64::EPSILON {
                return Err(out(format!("rho = {shape}: in the kernel 0, 0.5 or 1, for it has no powers")));
            }
            let holds = round_trip_holds.map_or(ENDLESS, |holds| holds.as_nanos() / 1000);
            Ok(vec![packets("p", target)?, gain("kappa", kappa)?, twice as u64, holds])
        }
        WindowParams::Fast(FastParams { alpha, gamma, rounds }) => {
            Ok(vec![packets("alpha", alpha)?, gain("gamma", gamma)?, rounds.into()])
        }
        WindowParams::Vegas(VegasParams { alpha, beta, gamma, measure }) => Ok(vec![
            packets("alpha", alpha)?,
            packets("beta", beta)?,
            packets("gamma", gamma)?,
            u64::from(measure == VegasMeasure::Linux),
        ]),
        other => Err(BadSetting::NoLaw(name_of(&other))),
    }
}

/// Decodes the parameters of an object.
pub fn decode(law: Law, numbers: &[u64]) -> Option<WindowParams> {
    let packets = |number: u64| number as f64 / PACKET;
    // Values given with few digits are returned with the same digits.
    let gain = |number: u64| (number as f64 / GAIN * 1e9).round() / 1e9;
    Some(match (law, numbers) {
        (Law::QuicTcp, &[target, kappa, shape, holds]) => QuicTcpParams {
            target: packets(target),
            gain: gain(kappa),
            shape: shape as f64 / 2.0,
            round_trip_holds: (holds != ENDLESS).then(|| Duration::from_micros(holds)),
        }
        .into(),
        (Law::Fast, &[alpha, gamma, rounds]) => {
            FastParams { alpha: packets(alpha), gamma: gain(gamma), rounds: rounds as u32 }.into()
        }
        (Law::Vegas, &[alpha, beta, gamma, measure]) => VegasParams {
            alpha: packets(alpha),
            beta: packets(beta),
            gamma: packets(gamma),
            measure: if measure == 1 { VegasMeasure::Linux } else { VegasMeasure::Waiting },
        }
        .into(),
        _ => return None,
    })
}

/// Returns a law's name in scenarios.
fn name_of(params: &WindowParams) -> String {
    let table = serde_json::to_value(params).unwrap_or_default();
    table["law"].as_str().unwrap_or("a law of one's own").to_owned()
}

/// Returns the parameters in one line, `p=20 kappa=0.5 rho=0.5`.
pub fn words(params: &WindowParams) -> String {
    settings(params).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// Returns the settings that turn one law's parameters into others: all of the wanted ones, and `none` for
/// those that they lack. Each is one word of a shell.
pub fn change(there: &WindowParams, wanted: &WindowParams) -> String {
    let mut told: Vec<_> = settings(wanted).collect();
    for (name, _) in settings(there) {
        if !told.iter().any(|(other, _)| *other == name) {
            told.push((name, "none".into()));
        }
    }
    let told = told.into_iter().map(|(name, value)| format!("{name}={}", value.replace(' ', "")));
    told.collect::<Vec<_>>().join(" ")
}

/// Returns the parameters by their names, sorted.
fn settings(params: &WindowParams) -> impl Iterator<Item = (String, String)> + use<> {
    let table = match serde_json::to_value(params) {
        Ok(serde_json::Value::Object(table)) => table,
        _ => serde_json::Map::new(),
    };
    table.into_iter().filter(|(name, _)| name != "law").map(|(name, value)| {
        let told = match value {
            serde_json::Value::String(text) => text,
            serde_json::Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                ((number * 1e4).round() / 1e4).to_string()
            }
            other => other.to_string(),
        };
        (name, told)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_reaches_wanted_value() {
        let there = with(&Law::QuicTcp.defaults(), &["p=10".into(), "round_trip_holds=10 s".into()]).unwrap();
        let wanted = with(&Law::QuicTcp.defaults(), &["p=20".into()]).unwrap();
        for (from, to) in [(&there, &wanted), (&wanted, &there)] {
            let words: Vec<String> = change(from, to).split(' ').map(ToString::to_string).collect();
            assert_eq!(with(from, &words).unwrap(), *to, "{words:?}");
        }
    }

    #[test]
    fn parameters_come_back_as_they_were_given() {
        for law in Law::ALL {
            let params = law.defaults();
            assert_eq!(decode(law, &encode(&params).unwrap()), Some(params));
        }
        let given = ["p=20".into(), "kappa=0.3".into(), "rho=1".into(), "round_trip_holds=10 s".into()];
        let params = with(&Law::QuicTcp.defaults(), &given).unwrap();
        assert_eq!(encode(&params).unwrap(), [20 << 16, 1_288_490_189, 2, 10_000_000]);
        assert_eq!(
            words(&decode(Law::QuicTcp, &encode(&params).unwrap()).unwrap()),
            "p=20 kappa=0.3 rho=1 round_trip_holds=10 s"
        );
    }

    #[test]
    fn unsupported_setting_is_refused_by_name() {
        let refused = |law: Law, given: &str| {
            let params = with(&law.defaults(), &[given.into()]);
            params.and_then(|params| encode(&params)).unwrap_err().to_string()
        };
        assert!(refused(Law::QuicTcp, "rho=0.3").contains("0, 0.5 or 1"));
        assert!(refused(Law::QuicTcp, "p=0").contains("p = 0 is not allowed: above 0"));
        assert!(refused(Law::QuicTcp, "p=2e6").contains("1048576"));
        assert!(refused(Law::QuicTcp, "kappa=1e-9").contains("kappa"));
        assert!(refused(Law::Fast, "gamma=2").contains("below 2"));
        assert!(refused(Law::Vegas, "beta=1").contains("alpha or more"));
        assert!(refused(Law::Vegas, "delta=1").contains("evenair list laws"));
        assert!(refused(Law::Vegas, "alpha").contains("NAME=VALUE"));
        for (law, setting, why) in [
            (Law::QuicTcp, "p=abc", "invalid type: string \"abc\", expected a number"),
            (Law::QuicTcp, "kappa=none", "invalid type: nothing, expected a number"),
            (Law::Fast, "rounds=1.5", "invalid type: number `1.5`, expected a whole number"),
            (Law::Fast, "rounds=x", "invalid type: string \"x\", expected a whole number"),
            (
                Law::Fast,
                "rounds=-1",
                "invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
            ),
        ] {
            let help = "; evenair list laws window names the parameters";
            assert_eq!(refused(law, setting), format!("{setting}: {why}{help}"));
        }
        assert!(refused(Law::QuicTcp, "round_trip_holds=5").contains("round_trip_holds=5: "));
        assert!(refused(Law::QuicTcp, "round_trip_holds=5").contains("a time needs a unit"));
        assert!(
            refused(Law::Vegas, "measure=x").contains("measure=x: unknown variant `x`, expected `waiting`")
        );
        // Of several settings the error names the wrong one.
        let two = with(&Law::QuicTcp.defaults(), &["p=5".into(), "kappa=much".into()]);
        assert!(two.unwrap_err().to_string().starts_with("kappa=much: "));
        let reno = WindowParams::from(evenair_laws::window::RenoParams {});
        assert!(encode(&reno).unwrap_err().to_string().starts_with("reno is none of"));
    }

    #[test]
    fn names_are_short_enough_for_the_kernel() {
        assert!(
            Law::ALL.iter().all(|law| law.control().len() <= 15 && law.control().starts_with("evenair_"))
        );
    }
}
