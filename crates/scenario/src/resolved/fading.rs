//! Small-scale fading.

use crate::error::Mistake;
use crate::language::{FadingName, FadingTable};
use crate::quantity::Doppler;
use evenair_topology::{Fading, FadingModel, Propagation};

/// The fastest Doppler shift \[Hz\]: 100 m/s at 6 GHz.
const DOPPLER_MAX_HZ: f64 = 2_000.0;

impl FadingTable {
    /// Checks the keys, writes the Doppler shift that a speed gives, and returns the model.
    pub(super) fn complete(&mut self, propagation: &Propagation) -> Result<Fading, Mistake> {
        let model = self.model()?;
        let hz = match (self.doppler, self.speed.take()) {
            (Some(doppler), None) => doppler.0,
            (None, Some(speed)) => speed.0 / propagation.wavelength_m(),
            (Some(_), Some(_)) => {
                return Err(wrong("speed", "doppler gives it already; keep one of them".into()));
            }
            (None, None) => {
                return Err(wrong(
                    "doppler",
                    "is not given; add doppler = \"5 Hz\" or speed = \"1 m/s\"".into(),
                ));
            }
        };
        if hz > DOPPLER_MAX_HZ {
            return Err(wrong("doppler", format!("{hz:.0} Hz is more than {DOPPLER_MAX_HZ} Hz")));
        }
        self.doppler = Some(Doppler(hz));
        Ok(Fading::new(model, hz))
    }

    fn model(&self) -> Result<FadingModel, Mistake> {
        let unused = [
            ("k", self.k.is_some() && self.model != FadingName::Rician),
            ("m", self.m.is_some() && self.model != FadingName::Nakagami),
        ];
        if let Some((key, _)) = unused.iter().find(|(_, unused)| *unused) {
            return Err(wrong(key, "has no meaning for this model; remove it".into()));
        }
        match self.model {
            FadingName::Rayleigh => Ok(FadingModel::Rayleigh),
            FadingName::Rician => match self.k {
                Some(k) if k.0 <= 60.0 => Ok(FadingModel::Rician { k_db: k.0 }),
                Some(k) => Err(wrong("k", format!("{} dB is above 60 dB", k.0))),
                None => Err(wrong("k", "is not given; add k = \"6 dB\"".into())),
            },
            FadingName::Nakagami => match self.m {
                Some(m) if (0.5..=100.0).contains(&m) => Ok(FadingModel::Nakagami { m }),
                Some(m) => Err(wrong("m", format!("{m} must lie between 0.5 and 100"))),
                None => Err(wrong("m", "is not given; add m = 2".into())),
            },
        }
    }
}

fn wrong(key: &str, why: String) -> Mistake {
    Mistake::at(&format!("radio.fading.{key}"), why)
}
