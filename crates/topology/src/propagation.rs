//! How power falls with distance.

use crate::geometry::LIGHT_M_PER_S;
use core::f64::consts::PI;
use evenair_units::Dbm;

/// How power falls with distance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum PathLoss {
    /// Free space up to the cross-over distance, then the fourth power ([Jam10] section 2.2).
    TwoRayGround {
        /// Height of both antennas \[m\].
        antenna_height_m: f64,
    },
    /// The second power (Friis).
    FreeSpace,
    /// Free space up to the reference distance, then this power.
    LogDistance {
        /// The path-loss exponent: 2 in free space, 3 to 4 in cities, 1.6 to 1.8 down a corridor.
        exponent: f64,
        /// Where it takes over \[m\].
        reference_m: f64,
    },
    /// Rooms on one floor, 20·log₁₀ f/MHz + N·log₁₀ d/m − 28 dB from 1 m on (Recommendation ITU-R P.1238-8, eq. (1)); nearer, the
    /// second power.
    Indoor {
        /// N by ten: 2.8 in homes, 3 to 3.1 in offices, 2.2 in shops and halls.
        exponent: f64,
    },
}

/// By how much more amplitude is left over the first metre of [`PathLoss::Indoor`] than in free space: 28 dB less 20·log₁₀ c/(4π·1 MHz·1 m).
const INDOOR_GAIN: f64 = 25.118_864_315 * 4.0 * PI * 1e6 / LIGHT_M_PER_S;

/// A transmitter and the path loss of its signal; antenna gains are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagation {
    /// Transmit power.
    pub transmit: Dbm,
    /// Carrier frequency \[Hz\].
    pub frequency_hz: f64,
    /// How power falls with distance.
    pub loss: PathLoss,
}

impl Default for Propagation {
    /// 281.8 mW, 914 MHz, two rays, antennas 1.5 m high: the radio that the papers' simulators model.
    fn default() -> Self {
        Self {
            transmit: Dbm::new(24.5),
            frequency_hz: 914e6,
            loss: PathLoss::TwoRayGround { antenna_height_m: 1.5 },
        }
    }
}

/// Two nodes on one spot hear each other loudly, not infinitely so \[m\].
const NEAREST_M: f64 = 1e-3;

impl Propagation {
    /// Wavelength \[m\].
    pub fn wavelength_m(&self) -> f64 {
        LIGHT_M_PER_S / self.frequency_hz
    }

    /// Where free space ends \[m\]: 4πh²/λ for two rays.
    pub fn crossover_m(&self) -> f64 {
        match self.loss {
            PathLoss::TwoRayGround { antenna_height_m } => {
                4.0 * PI * antenna_height_m * antenna_height_m / self.wavelength_m()
            }
            PathLoss::FreeSpace => f64::INFINITY,
            PathLoss::LogDistance { reference_m, .. } => reference_m,
            PathLoss::Indoor { .. } => 1.0,
        }
    }

    /// The amplitude near by, over that in free space.
    const fn near_gain(&self) -> f64 {
        if matches!(self.loss, PathLoss::Indoor { .. }) { INDOOR_GAIN } else { 1.0 }
    }

    /// By how much the amplitude falls over a distance.
    fn gain(&self, distance_m: f64) -> f64 {
        let free_space = |metres: f64| self.near_gain() * (self.wavelength_m() / (4.0 * PI * metres));
        if distance_m < self.crossover_m() {
            return free_space(distance_m);
        }
        match self.loss {
            PathLoss::TwoRayGround { antenna_height_m } => {
                antenna_height_m * antenna_height_m / (distance_m * distance_m)
            }
            PathLoss::FreeSpace => free_space(distance_m),
            PathLoss::LogDistance { exponent, reference_m } => {
                free_space(reference_m) * libm::pow(reference_m / distance_m, exponent / 2.0)
            }
            PathLoss::Indoor { exponent } => free_space(1.0) * libm::pow(1.0 / distance_m, exponent / 2.0),
        }
    }

    /// Power received over `distance_m` metres.
    pub fn received(&self, distance_m: f64) -> Dbm {
        self.transmit + 20.0 * libm::log10(self.gain(distance_m.max(NEAREST_M)))
    }

    /// How far a signal is received at least this strongly \[m\]: the inverse of [`Self::received`].
    pub fn range_m(&self, threshold: Dbm) -> f64 {
        let gain = libm::pow(10.0, (threshold - self.transmit) / 20.0);
        let free_space_m = self.near_gain() * (self.wavelength_m() / (4.0 * PI * gain));
        if free_space_m < self.crossover_m() {
            return free_space_m;
        }
        match self.loss {
            PathLoss::TwoRayGround { antenna_height_m } => antenna_height_m / libm::sqrt(gain),
            PathLoss::FreeSpace => free_space_m,
            PathLoss::LogDistance { exponent, reference_m } => {
                reference_m * libm::pow(free_space_m / reference_m, 2.0 / exponent)
            }
            PathLoss::Indoor { exponent } => libm::pow(free_space_m, 2.0 / exponent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn each() -> [Propagation; 4] {
        let two_rays = Propagation::default();
        let log = PathLoss::LogDistance { exponent: 3.0, reference_m: 10.0 };
        [
            two_rays,
            Propagation { loss: PathLoss::FreeSpace, ..two_rays },
            Propagation { loss: log, ..two_rays },
            Propagation { loss: PathLoss::Indoor { exponent: 2.8 }, ..two_rays },
        ]
    }

    #[test]
    fn the_two_rays_meet_at_the_crossover() {
        let radio = Propagation::default();
        let d = radio.crossover_m();
        assert!((d - 86.2).abs() < 0.1, "crossover {d}");
        assert!((radio.received(d * 0.9999) - radio.received(d * 1.0001)).abs() < 0.01);
    }

    #[test]
    fn received_power_matches_the_ranges_of_jam10() {
        // [Jam10] section 3.1.2: -64.37 dBm is 250 m, -78 dBm is 550 m (24.5 dBm transmit power).
        let radio = Propagation::default();
        assert!((radio.received(250.0).level() + 64.37).abs() < 0.02);
        assert!((radio.received(550.0).level() + 78.07).abs() < 0.02);
    }

    #[test]
    fn doubling_distance_costs_3_db_per_power() {
        for (radio, decibels) in each().iter().zip([12.041, 6.021, 9.031, 8.429]) {
            let step = radio.received(200.0) - radio.received(400.0);
            assert!((step - decibels).abs() < 1e-3, "{radio:?}: {step}");
        }
    }

    /// 20·log₁₀ 2400 + 30·log₁₀ 10 − 28 = 69.60 dB.
    #[test]
    fn indoor_loss_is_that_of_the_recommendation() {
        let loss = PathLoss::Indoor { exponent: 3.0 };
        let radio = Propagation { transmit: Dbm::new(20.0), frequency_hz: 2.4e9, loss };
        assert!((radio.received(10.0).level() - (20.0 - 69.604)).abs() < 0.001);
        assert!((radio.received(0.999_999) - radio.received(1.000_001)).abs() < 0.001);
    }

    #[test]
    fn a_range_is_where_its_power_is_received() {
        for radio in each() {
            for metres in [5.0, 10.0, 80.0, 250.0, 800.0] {
                assert!((radio.range_m(radio.received(metres)) - metres).abs() < 1e-6 * metres, "{radio:?}");
            }
        }
    }
}
