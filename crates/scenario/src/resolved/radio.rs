//! The radio.

use super::Mac;
use crate::error::Mistake;
use crate::language::{
    InterferenceRule, PerRate, Preset, PropagationName, RadioTable, Threshold, WeakSignals,
};
use crate::quantity::{Decibels, Frequency, Length, Power, RateQuantity};
use evenair_topology::{Fading, PathLoss, Propagation, ThresholdRadio};
use evenair_units::{Dbm, Rate};
use evenair_wifi::{Band, Capture, ErrorModel, Phy, Rules, Sensitivity, Width};

/// The power of energy detection in 20 MHz \[dBm\] (IEEE 802.11-2016 clause 17.3.10.6).
const ENERGY_DBM: f64 = -62.0;

/// A radio, as the packet world knows it.
#[derive(Clone, Debug)]
pub(crate) struct Radio {
    /// How far it reaches; of rates that reach different distances, the slowest.
    pub(crate) reach: ThresholdRadio,
    /// The power that each rate needs, where they differ.
    pub(crate) sensitivity: Option<Sensitivity>,
    /// How links fade, if they do.
    pub(crate) fading: Option<Fading>,
    capture: Capture,
    capture_db: f64,
    /// The ratio from which on preambles are detected, where there is an error model.
    detection_db: Option<f64>,
    weak_is_error: bool,
    /// The sum of signals that makes the medium busy.
    energy: Option<Dbm>,
}

impl Radio {
    /// The error model by the signal-to-noise ratio, if receivers have it.
    pub(crate) const fn errors(&self) -> Option<ErrorModel> {
        if let Capture::Errors(model) = self.capture { Some(model) } else { None }
    }

    /// How receivers decide: the rules with those of this radio in them.
    pub(crate) const fn rules(&self, rules: Rules) -> Rules {
        let Self { capture, capture_db, weak_is_error, .. } = *self;
        let detection_db = if self.detection_db.is_some() { self.detection_db } else { rules.detection_db };
        Rules { capture, capture_db, weak_is_error, detection_db, energy: self.energy, ..rules }
    }
}

impl RadioTable {
    /// Writes its defaults out. `widths` are those of the channels in use.
    pub(crate) fn complete(&mut self, preset: Preset, mac: &Mac, widths: &[Width]) -> Result<Radio, Mistake> {
        let phy = mac.phy();
        let errors = self.complete_errors(preset, mac)?;
        let default = Propagation::default();
        let transmit = self.transmit_power.get_or_insert(Power(default.transmit)).0;
        let is_indoor = self.propagation.is_some_and(PropagationName::is_indoor);
        let usual_hz = if is_indoor { band_hz(phy) } else { default.frequency_hz };
        let frequency_hz = self.frequency.get_or_insert(Frequency(usual_hz)).0;
        let loss = self.path_loss(frequency_hz)?;
        let propagation = Propagation { transmit, frequency_hz, loss };
        self.check_obstacles()?;
        let fading = self.fading.as_mut().map(|table| table.complete(&propagation)).transpose()?;
        let capture = match errors {
            Some(model) => Capture::Errors(model),
            None => self.capture(preset)?,
        };
        let sensitivity = self.sensitivity(&propagation, phy, preset, widths)?;
        let furthest = sensitivity.as_ref().and_then(Sensitivity::least);
        let (transmission_range_m, carrier_sense_range_m) = self.ranges_m(&propagation, furthest)?;
        let energy = self.energy(preset, mac, propagation.received(carrier_sense_range_m))?;
        let interference_range_m =
            self.interference_threshold.map_or(0.0, |least| propagation.range_m(least.0));
        Ok(Radio {
            reach: ThresholdRadio {
                transmission_range_m,
                carrier_sense_range_m,
                interference_range_m: interference_range_m.max(carrier_sense_range_m),
                propagation,
            },
            sensitivity,
            fading,
            capture,
            capture_db: self.capture.get_or_insert(Decibels(Rules::standard().capture_db)).0,
            detection_db: self.errors.and_then(|errors| errors.preamble_detection).map(|least| least.0),
            weak_is_error: errors.is_none() && self.weak_is_error(preset),
            energy,
        })
    }

    /// The sum of signals from which on the medium is busy. Signals to 10 dB below it count.
    fn energy(&mut self, preset: Preset, mac: &Mac, sensed: Dbm) -> Result<Option<Dbm>, Mistake> {
        let sensed = self.carrier_sense_threshold.map_or(sensed, |power| power.0);
        if self.errors.is_some() && preset == Preset::Ns3 {
            self.energy_detection.get_or_insert(Threshold::Power(Power(sensed)));
        }
        let Some(given) = self.energy_detection else { return Ok(None) };
        let wrong = |why: String| Err(Mistake::at("radio.energy_detection", why));
        if mac.is_ideal() || preset == Preset::Ns2 {
            return wrong(
                "is for 802.11 by the other presets: remove it, or change mac.kind or preset".into(),
            );
        }
        let energy = match given {
            Threshold::Power(power) => power.0,
            Threshold::Standard => {
                let width = mac.modulation().map_or(Width::Mhz20, |modulation| modulation.width);
                Dbm::new(ENERGY_DBM + 3.0 * f64::from(width as u8))
            }
        };
        if energy < sensed {
            return wrong(format!(
                "{energy} lies below the power of carrier sense, {sensed}; give that or more"
            ));
        }
        self.interference_threshold.get_or_insert(Power(energy + -10.0));
        Ok(Some(energy))
    }

    /// Whether a signal that is too weak to be decoded is an error.
    fn weak_is_error(&mut self, preset: Preset) -> bool {
        let default = match preset {
            Preset::Standard | Preset::Ns2 => WeakSignals::Errors,
            Preset::Ns3 => WeakSignals::Energy,
        };
        *self.weak_signals.get_or_insert(default) == WeakSignals::Errors
    }

    /// Makes all rates decoded alike, as far as the slowest is, which needs this power.
    pub(crate) fn decode_alike(&mut self, least: Dbm) {
        let senses = self.carrier_sense_range.is_some() || self.carrier_sense_threshold.is_some();
        if let Some(furthest) = self.furthest() {
            self.transmission_range = Some(PerRate::All(furthest));
            self.carrier_sense_range = if senses { self.carrier_sense_range } else { Some(furthest) };
        } else {
            self.receive_threshold = Some(PerRate::All(Threshold::Power(Power(least))));
            self.carrier_sense_threshold =
                if senses { self.carrier_sense_threshold } else { Some(Power(least)) };
        }
    }

    /// The greatest of the ranges that are given.
    fn furthest(&self) -> Option<Length> {
        match &self.transmission_range {
            Some(PerRate::All(range)) => Some(*range),
            Some(PerRate::Each(ranges)) => {
                ranges.iter().map(|&(_, range)| range).max_by(|a, b| a.0.total_cmp(&b.0))
            }
            None => None,
        }
    }

    fn path_loss(&mut self, frequency_hz: f64) -> Result<PathLoss, Mistake> {
        let name = *self.propagation.get_or_insert(PropagationName::TwoRayGround);
        let given = [
            ("antenna_height", self.antenna_height.is_some(), name == PropagationName::TwoRayGround),
            ("exponent", self.exponent.is_some(), name == PropagationName::LogDistance),
            ("reference_distance", self.reference_distance.is_some(), name == PropagationName::LogDistance),
        ];
        if let Some((key, ..)) = given.iter().find(|(_, given, used)| *given && !used) {
            return Err(Mistake::at(&format!("radio.{key}"), "has no meaning for this propagation"));
        }
        if let Some(reference_m) = name.break_point_m() {
            return Ok(PathLoss::LogDistance { exponent: 3.5, reference_m });
        }
        Ok(match name {
            PropagationName::TwoRayGround => {
                PathLoss::TwoRayGround { antenna_height_m: self.antenna_height.get_or_insert(Length(1.5)).0 }
            }
            PropagationName::FreeSpace => PathLoss::FreeSpace,
            // Recommendation ITU-R P.1238-8, table 2.
            PropagationName::ItuResidential => PathLoss::Indoor { exponent: 2.8 },
            PropagationName::ItuOffice if frequency_hz < 5e9 => PathLoss::Indoor { exponent: 3.0 },
            PropagationName::ItuOffice => PathLoss::Indoor { exponent: 3.1 },
            PropagationName::ItuCommercial => PathLoss::Indoor { exponent: 2.2 },
            _ => {
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

    fn check_obstacles(&self) -> Result<(), Mistake> {
        if self.storey.is_some_and(|height| height.0 <= 0.0) {
            return Err(Mistake::at("radio.storey", "must be above 0 m, such as \"3 m\""));
        }
        let Some(shadowing) = &self.shadowing else { return Ok(()) };
        if !(0.0..=20.0).contains(&shadowing.deviation.0) {
            let why = format!("{} dB must lie between 0 and 20", shadowing.deviation.0);
            return Err(Mistake::at("radio.shadowing.deviation", why));
        }
        if shadowing.distance.0 <= 0.0 {
            return Err(Mistake::at("radio.shadowing.distance", "must be above 0 m, such as \"5 m\""));
        }
        Ok(())
    }

    /// The threshold of a frame's capture; where that is a sum, signals count from the noise on.
    fn capture(&mut self, preset: Preset) -> Result<Capture, Mistake> {
        let rule = *self.interference.get_or_insert(match preset {
            Preset::Standard | Preset::Ns3 => InterferenceRule::Strongest,
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

    /// The power that each rate needs, where they are given one by one.
    fn sensitivity(
        &self,
        propagation: &Propagation,
        phy: Option<Phy>,
        preset: Preset,
        widths: &[Width],
    ) -> Result<Option<Sensitivity>, Mistake> {
        let Some((key, given)) = self.thresholds(propagation, phy)? else { return Ok(None) };
        let wrong = |why: String| Err(Mistake::at(key, why));
        let Some(phy) = phy else {
            return wrong(
                "has no meaning for the ideal MAC, which decodes all rates alike; give one value".into(),
            );
        };
        if preset == Preset::Ns2 {
            return wrong("is one for all rates in ns-2; give one value, or the standard preset".into());
        }
        if phy.standard.format().is_some() {
            if self.receive_threshold != Some(PerRate::All(Threshold::Standard)) {
                let why = "by rate is for 802.11a, b and g; give \"standard\", or one value for all";
                return wrong(why.into());
            }
            return Ok(Some(Sensitivity::of_widths(phy, widths)));
        }
        if given.is_empty() {
            return wrong("is an empty table; give a value for each rate, or one for all".into());
        }
        let standard = Sensitivity::new(phy, &Sensitivity::standard(phy));
        let mut powers: Vec<(Rate, Dbm)> = Vec::new();
        for (rate, threshold) in given {
            let rate = phy.checked(rate.0).map_err(|e| Mistake::at(key, e.to_string()))?;
            if powers.iter().any(|(other, _)| *other == rate) {
                return wrong(format!("{rate} is there twice"));
            }
            let power = match threshold {
                Threshold::Power(power) => power.0,
                Threshold::Standard => standard.threshold(rate).expect("the standard has all rates"),
            };
            powers.push((rate, power));
        }
        powers.sort_by_key(|&(rate, _)| (phy.is_dsss(rate), rate));
        let alike = |pair: &&[(Rate, Dbm)]| phy.is_dsss(pair[0].0) == phy.is_dsss(pair[1].0);
        if let Some(pair) = powers.windows(2).filter(alike).find(|pair| pair[1].1 < pair[0].1) {
            return wrong(format!("{} would reach further than {}", pair[1].0, pair[0].0));
        }
        Ok(Some(Sensitivity::new(phy, &powers)))
    }

    /// The thresholds that are given one by one, as powers, and the key that has them.
    #[allow(clippy::type_complexity, reason = "a key and a table, taken apart at once")]
    fn thresholds(
        &self,
        propagation: &Propagation,
        phy: Option<Phy>,
    ) -> Result<Option<(&'static str, Vec<(RateQuantity, Threshold)>)>, Mistake> {
        let power = |range: Length| Threshold::Power(Power(propagation.received(range.0)));
        Ok(match (&self.transmission_range, &self.receive_threshold) {
            (Some(_), Some(_)) => {
                let why = "gives the transmission range twice; keep transmission_range or receive_threshold";
                return Err(Mistake::at("radio", why));
            }
            (Some(PerRate::Each(ranges)), None) => {
                let powers = ranges.iter().map(|&(rate, range)| (rate, power(range)));
                Some(("radio.transmission_range", powers.collect()))
            }
            (None, Some(PerRate::Each(powers))) => Some(("radio.receive_threshold", powers.clone())),
            (None, Some(PerRate::All(Threshold::Standard))) => {
                let rates = phy.iter().flat_map(Phy::rates);
                let all = rates.map(|&rate| (RateQuantity(rate), Threshold::Standard));
                Some(("radio.receive_threshold", all.collect()))
            }
            _ => None,
        })
    }

    /// Transmission and carrier-sense range \[m\], whichever way they are given; `furthest` is the power that the slowest rate needs,
    /// where rates differ.
    fn ranges_m(&self, propagation: &Propagation, furthest: Option<Dbm>) -> Result<(f64, f64), Mistake> {
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
        let threshold = match &self.receive_threshold {
            Some(PerRate::All(Threshold::Power(power))) => Some(*power),
            Some(_) => furthest.map(Power),
            None => None,
        };
        let transmission_m = one(
            "transmission range",
            self.furthest(),
            threshold,
            "transmission_range = \"250 m\" or receive_threshold = \"-64 dBm\"",
        )?;
        let own_sense = self.carrier_sense_range.is_some() || self.carrier_sense_threshold.is_some();
        if furthest.is_some() && !own_sense {
            return Ok((transmission_m, transmission_m));
        }
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

/// A frequency of a physical layer's band \[Hz\], for models of rooms: channels 6 (2.4 GHz), 50 (5 GHz) and 47 (6 GHz).
fn band_hz(phy: Option<Phy>) -> f64 {
    match phy.map_or(Band::Ghz2, |phy| phy.band) {
        Band::Ghz2 => 2.437e9,
        Band::Ghz5 => 5.25e9,
        Band::Ghz6 => 6.185e9,
    }
}

impl PropagationName {
    /// Whether it is a model of rooms.
    const fn is_indoor(self) -> bool {
        !matches!(self, Self::TwoRayGround | Self::FreeSpace | Self::LogDistance)
    }

    /// Where the exponent of 3.5 takes over from free space in TGn's (IEEE 802.11-03/940) and TGax's (802.11-14/980) models \[m\].
    const fn break_point_m(self) -> Option<f64> {
        match self {
            Self::TwoRayGround
            | Self::FreeSpace
            | Self::LogDistance
            | Self::ItuResidential
            | Self::ItuOffice
            | Self::ItuCommercial => None,
            Self::TgnA | Self::TgnB | Self::TgnC | Self::TgaxResidential => Some(5.0),
            Self::TgnD | Self::TgaxEnterprise => Some(10.0),
            Self::TgnE => Some(20.0),
            Self::TgnF => Some(30.0),
        }
    }
}
