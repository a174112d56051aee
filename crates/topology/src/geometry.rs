//! Where nodes stand and how power falls with distance.

use evenair_units::{Dbm, Duration};

/// A point on the plane \[m\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East \[m\].
    pub x_m: f64,
    /// North \[m\].
    pub y_m: f64,
}

/// Speed of light in vacuum \[m/s\].
const LIGHT_M_PER_S: f64 = 299_792_458.0;

impl Position {
    /// The point (x, y) \[m\].
    pub const fn new(x_m: f64, y_m: f64) -> Self {
        Self { x_m, y_m }
    }

    /// Distance to `other` \[m\].
    pub fn distance_m(self, other: Self) -> f64 {
        libm::hypot(self.x_m - other.x_m, self.y_m - other.y_m)
    }

    /// How long light takes to `other`.
    pub fn propagation(self, other: Self) -> Duration {
        Duration::from_secs_f64(self.distance_m(other) / LIGHT_M_PER_S)
    }
}

/// Two-ray ground propagation ([Jam10] section 2.2): free space up to the cross-over distance, then the fourth power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRayGround {
    /// Transmit power.
    pub transmit: Dbm,
    /// Carrier frequency \[Hz\].
    pub frequency_hz: f64,
    /// Height of both antennas \[m\].
    pub antenna_height_m: f64,
}

impl Default for TwoRayGround {
    /// 281.8 mW, 914 MHz, antennas 1.5 m high: the radio that the papers' simulators model.
    fn default() -> Self {
        Self { transmit: Dbm::new(24.5), frequency_hz: 914e6, antenna_height_m: 1.5 }
    }
}

impl TwoRayGround {
    /// Where the fourth power takes over, 4πh²/λ \[m\].
    pub fn crossover_m(&self) -> f64 {
        let wavelength_m = LIGHT_M_PER_S / self.frequency_hz;
        4.0 * core::f64::consts::PI * self.antenna_height_m * self.antenna_height_m / wavelength_m
    }

    /// How far a signal is received at least this strongly \[m\]: the inverse of [`Self::received`].
    pub fn range_m(&self, threshold: Dbm) -> f64 {
        let gain = libm::pow(10.0, (threshold - self.transmit) / 20.0);
        let wavelength_m = LIGHT_M_PER_S / self.frequency_hz;
        let free_space_m = wavelength_m / (4.0 * core::f64::consts::PI * gain);
        if free_space_m < self.crossover_m() {
            free_space_m
        } else {
            self.antenna_height_m / libm::sqrt(gain)
        }
    }

    /// Power received over `distance_m` metres, antenna gains of one.
    pub fn received(&self, distance_m: f64) -> Dbm {
        let distance_m = distance_m.max(1e-3); // two nodes on one spot hear each other loudly, not infinitely so
        let gain = if distance_m < self.crossover_m() {
            let wavelength_m = LIGHT_M_PER_S / self.frequency_hz;
            wavelength_m / (4.0 * core::f64::consts::PI * distance_m)
        } else {
            self.antenna_height_m * self.antenna_height_m / (distance_m * distance_m)
        };
        self.transmit + 20.0 * libm::log10(gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_rays_meet_at_the_crossover() {
        let radio = TwoRayGround::default();
        let d = radio.crossover_m();
        assert!((d - 86.2).abs() < 0.1, "crossover {d}");
        assert!((radio.received(d * 0.9999) - radio.received(d * 1.0001)).abs() < 0.01);
    }

    #[test]
    fn received_power_matches_the_ranges_of_jam10() {
        // [Jam10] section 3.1.2: -64.37 dBm is 250 m, -78 dBm is 550 m (24.5 dBm transmit power).
        let radio = TwoRayGround::default();
        assert!((radio.received(250.0).level() + 64.37).abs() < 0.02);
        assert!((radio.received(550.0).level() + 78.07).abs() < 0.02);
    }

    #[test]
    fn a_range_is_where_its_power_is_received() {
        let radio = TwoRayGround::default();
        for metres in [10.0, 80.0, 250.0, 800.0] {
            assert!((radio.range_m(radio.received(metres)) - metres).abs() < 1e-6 * metres);
        }
    }

    #[test]
    fn light_takes_two_microseconds_for_600_m() {
        let delay = Position::new(0.0, 0.0).propagation(Position::new(600.0, 0.0));
        assert_eq!(delay.as_nanos(), 2001);
    }
}
