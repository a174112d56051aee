//! The radio, complete.

use crate::error::Mistake;
use crate::language::{InterferenceRule, Preset, PropagationName, RadioTable, WeakSignals};
use crate::quantity::{Decibels, Frequency, Length, Power};
use evenair_topology::{PathLoss, Propagation};
use evenair_units::Dbm;
use evenair_wifi::{Capture, Rules};
use serde::Serialize;

/// A radio. Of each threshold there is the range or the power, as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ResolvedRadio {
    /// Frames from nearer than this are decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission_range: Option<Length>,
    /// Frames stronger than this are decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_threshold: Option<Power>,
    /// Frames from nearer than this make the medium busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_range: Option<Length>,
    /// Frames stronger than this make the medium busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier_sense_threshold: Option<Power>,
    /// What every node transmits with.
    pub transmit_power: Power,
    /// How power falls with distance.
    #[serde(flatten)]
    pub propagation: PropagationLaw,
    /// Carrier frequency.
    pub frequency: Frequency,
    /// How much stronger a frame must be to survive an overlap.
    pub capture: Decibels,
    /// What it must be stronger than.
    #[serde(flatten)]
    pub interference: Interference,
    /// What a signal is that is sensed and too weak to be decoded.
    pub weak_signals: WeakSignals,
    /// Signals weaker than this do not count as interference; by default those that are not sensed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference_threshold: Option<Power>,
}

/// How power falls with distance, with what the law wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "propagation", rename_all = "kebab-case")]
pub enum PropagationLaw {
    /// Free space up to the cross-over distance, then the fourth power.
    TwoRayGround {
        /// Height of all antennas.
        antenna_height: Length,
    },
    /// The second power.
    FreeSpace,
    /// Free space up to a reference distance, then any power.
    LogDistance {
        /// Path-loss exponent.
        exponent: f64,
        /// Where the exponent takes over from free space.
        reference_distance: Length,
    },
}

/// What a frame must be stronger than.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "interference", rename_all = "kebab-case")]
pub enum Interference {
    /// Each frame that overlaps it, whichever came first.
    Strongest,
    /// Each frame that overlaps it, and only if it came first: ns-2.
    First,
    /// Noise and all frames that overlap it, added up, at any moment.
    Sum {
        /// The receivers' noise.
        noise: Power,
    },
}

impl RadioTable {
    pub(crate) fn resolve(self, preset: Preset) -> Result<ResolvedRadio, Mistake> {
        let default = Propagation::default();
        let (interference, interference_threshold) = self.interference(preset)?;
        Ok(ResolvedRadio {
            transmission_range: self.transmission_range,
            receive_threshold: self.receive_threshold,
            carrier_sense_range: self.carrier_sense_range,
            carrier_sense_threshold: self.carrier_sense_threshold,
            transmit_power: self.transmit_power.unwrap_or(Power(default.transmit)),
            propagation: self.propagation()?,
            frequency: self.frequency.unwrap_or(Frequency(default.frequency_hz)),
            capture: self.capture.unwrap_or(Decibels(Rules::standard().capture_db)),
            interference,
            weak_signals: self.weak_signals.unwrap_or(WeakSignals::Errors),
            interference_threshold,
        })
    }

    fn propagation(&self) -> Result<PropagationLaw, Mistake> {
        let name = self.propagation.unwrap_or(PropagationName::TwoRayGround);
        let given = [
            ("antenna_height", self.antenna_height.is_some(), name == PropagationName::TwoRayGround),
            ("exponent", self.exponent.is_some(), name == PropagationName::LogDistance),
            ("reference_distance", self.reference_distance.is_some(), name == PropagationName::LogDistance),
        ];
        if let Some((key, ..)) = given.iter().find(|(_, given, used)| *given && !used) {
            return Err(Mistake::at(&format!("radio.{key}"), "has no meaning for this propagation"));
        }
        let exponent = self.exponent.unwrap_or(3.0);
        if !(1.0..=10.0).contains(&exponent) {
            return Err(Mistake::at("radio.exponent", format!("{exponent} must lie between 1 and 10")));
        }
        Ok(match name {
            PropagationName::TwoRayGround => {
                PropagationLaw::TwoRayGround { antenna_height: self.antenna_height.unwrap_or(Length(1.5)) }
            }
            PropagationName::FreeSpace => PropagationLaw::FreeSpace,
            PropagationName::LogDistance => PropagationLaw::LogDistance {
                exponent,
                reference_distance: self.reference_distance.unwrap_or(Length(1.0)),
            },
        })
    }

    /// What a frame must be stronger than, and from where on signals count.
    fn interference(&self, preset: Preset) -> Result<(Interference, Option<Power>), Mistake> {
        let default = match preset {
            Preset::Standard => InterferenceRule::Strongest,
            Preset::Ns2 => InterferenceRule::First,
        };
        let rule = self.interference.unwrap_or(default);
        if self.noise.is_some() && rule != InterferenceRule::Sum {
            let why = "has a meaning only where interference is summed: set radio.interference = \"sum\"";
            return Err(Mistake::at("radio.noise", why));
        }
        Ok(match rule {
            InterferenceRule::Strongest => (Interference::Strongest, self.interference_threshold),
            InterferenceRule::First => (Interference::First, self.interference_threshold),
            InterferenceRule::Sum => {
                // kTB of 20 MHz is -101 dBm; a receiver adds 7 dB.
                let noise = self.noise.unwrap_or(Power(Dbm::new(-94.0)));
                (Interference::Sum { noise }, Some(self.interference_threshold.unwrap_or(noise)))
            }
        })
    }
}

impl ResolvedRadio {
    /// How power falls with distance.
    pub(crate) fn propagation(&self) -> Propagation {
        Propagation {
            transmit: self.transmit_power.0,
            frequency_hz: self.frequency.0,
            loss: match self.propagation {
                PropagationLaw::TwoRayGround { antenna_height } => {
                    PathLoss::TwoRayGround { antenna_height_m: antenna_height.0 }
                }
                PropagationLaw::FreeSpace => PathLoss::FreeSpace,
                PropagationLaw::LogDistance { exponent, reference_distance } => {
                    PathLoss::LogDistance { exponent, reference_m: reference_distance.0 }
                }
            },
        }
    }

    /// Transmission and carrier-sense range \[m\], whichever way they are given.
    pub(crate) fn ranges_m(&self) -> Result<(f64, f64), Mistake> {
        let one = |what: &str, range: Option<Length>, threshold: Option<Power>, keys: &str| match (
            range, threshold,
        ) {
            (Some(range), None) => Ok(range.0),
            (None, Some(threshold)) => Ok(self.propagation().range_m(threshold.0)),
            (Some(_), Some(_)) => {
                Err(Mistake::at("radio", format!("gives the {what} twice; keep one of {keys}")))
            }
            (None, None) => Err(Mistake::at("radio", format!("does not give the {what}; add {keys}"))),
        };
        let transmission_m = one(
            "transmission range",
            self.transmission_range,
            self.receive_threshold,
            "transmission_range = \"250 m\" or receive_threshold = \"-64 dBm\"",
        )?;
        let sense_m = one(
            "carrier-sense range",
            self.carrier_sense_range,
            self.carrier_sense_threshold,
            "carrier_sense_range = \"550 m\" or carrier_sense_threshold = \"-78 dBm\"",
        )?;
        if sense_m < transmission_m {
            let why = format!(
                "carrier is sensed to {sense_m:.1} m, which is below the transmission range of {transmission_m:.1} m"
            );
            return Err(Mistake::at("radio", why));
        }
        Ok((transmission_m, sense_m))
    }

    /// How receivers decide: the rules with those of this radio in them.
    pub(crate) fn capture(&self, rules: Rules) -> Rules {
        let capture = match self.interference {
            Interference::Strongest => Capture::Strongest,
            Interference::First => Capture::First,
            Interference::Sum { noise } => Capture::Sinr { noise: noise.0 },
        };
        let weak_is_error = self.weak_signals == WeakSignals::Errors;
        Rules { capture, capture_db: self.capture.0, weak_is_error, ..rules }
    }
}
