//! The radio.

use crate::error::Mistake;
use crate::language::{InterferenceRule, Preset, PropagationName, RadioTable, WeakSignals};
use crate::quantity::{Decibels, Frequency, Length, Power};
use evenair_topology::{PathLoss, Propagation, ThresholdRadio};
use evenair_units::Dbm;
use evenair_wifi::{Capture, Rules};

/// A radio, as the packet world knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Radio {
    /// How far it reaches.
    pub(crate) reach: ThresholdRadio,
    capture: Capture,
    capture_db: f64,
    weak_is_error: bool,
}

impl Radio {
    /// How receivers decide: the rules with those of this radio in them.
    pub(crate) const fn rules(&self, rules: Rules) -> Rules {
        let Self { capture, capture_db, weak_is_error, .. } = *self;
        Rules { capture, capture_db, weak_is_error, ..rules }
    }
}

impl RadioTable {
    pub(crate) fn complete(&mut self, preset: Preset) -> Result<Radio, Mistake> {
        let default = Propagation::default();
        let propagation = Propagation {
            transmit: self.transmit_power.get_or_insert(Power(default.transmit)).0,
            frequency_hz: self.frequency.get_or_insert(Frequency(default.frequency_hz)).0,
            loss: self.path_loss()?,
        };
        let capture = self.capture(preset)?;
        let (transmission_range_m, carrier_sense_range_m) = self.ranges_m(&propagation)?;
        let interference_range_m =
            self.interference_threshold.map_or(0.0, |least| propagation.range_m(least.0));
        Ok(Radio {
            reach: ThresholdRadio {
                transmission_range_m,
                carrier_sense_range_m,
                interference_range_m: interference_range_m.max(carrier_sense_range_m),
                propagation,
            },
            capture,
            capture_db: self.capture.get_or_insert(Decibels(Rules::standard().capture_db)).0,
            weak_is_error: *self.weak_signals.get_or_insert(WeakSignals::Errors) == WeakSignals::Errors,
        })
    }

    fn path_loss(&mut self) -> Result<PathLoss, Mistake> {
        let name = *self.propagation.get_or_insert(PropagationName::TwoRayGround);
        let given = [
            ("antenna_height", self.antenna_height.is_some(), name == PropagationName::TwoRayGround),
            ("exponent", self.exponent.is_some(), name == PropagationName::LogDistance),
            ("reference_distance", self.reference_distance.is_some(), name == PropagationName::LogDistance),
        ];
        if let Some((key, ..)) = given.iter().find(|(_, given, used)| *given && !used) {
            return Err(Mistake::at(&format!("radio.{key}"), "has no meaning for this propagation"));
        }
        Ok(match name {
            PropagationName::TwoRayGround => {
                PathLoss::TwoRayGround { antenna_height_m: self.antenna_height.get_or_insert(Length(1.5)).0 }
            }
            PropagationName::FreeSpace => PathLoss::FreeSpace,
            PropagationName::LogDistance => {
                let exponent = *self.exponent.get_or_insert(3.0);
                if !(1.0..=10.0).contains(&exponent) {
                    let why = format!("{exponent} must lie between 1 and 10");
                    return Err(Mistake::at("radio.exponent", why));
                }
                let reference_m = self.reference_distance.get_or_insert(Length(1.0)).0;
                PathLoss::LogDistance { exponent, reference_m }
            }
        })
    }

    /// What a frame must be stronger than; where that is a sum, signals count from the noise on.
    fn capture(&mut self, preset: Preset) -> Result<Capture, Mistake> {
        let rule = *self.interference.get_or_insert(match preset {
            Preset::Standard => InterferenceRule::Strongest,
            Preset::Ns2 => InterferenceRule::First,
        });
        if self.noise.is_some() && rule != InterferenceRule::Sum {
            let why = "has a meaning only where interference is summed: set radio.interference = \"sum\"";
            return Err(Mistake::at("radio.noise", why));
        }
        Ok(match rule {
            InterferenceRule::Strongest => Capture::Strongest,
            InterferenceRule::First => Capture::First,
            InterferenceRule::Sum => {
                // kTB of 20 MHz is -101 dBm; a receiver adds 7 dB.
                let noise = *self.noise.get_or_insert(Power(Dbm::new(-94.0)));
                self.interference_threshold.get_or_insert(noise);
                Capture::Sinr { noise: noise.0 }
            }
        })
    }

    /// Transmission and carrier-sense range \[m\], whichever way they are given.
    fn ranges_m(&self, propagation: &Propagation) -> Result<(f64, f64), Mistake> {
        let one = |what: &str, range: Option<Length>, threshold: Option<Power>, keys: &str| match (
            range, threshold,
        ) {
            (Some(range), None) => Ok(range.0),
            (None, Some(threshold)) => Ok(propagation.range_m(threshold.0)),
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
}
