//! Where nodes stand.

use evenair_units::Duration;

/// A point on the plane \[m\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East \[m\].
    pub x_m: f64,
    /// North \[m\].
    pub y_m: f64,
}

/// Speed of light in vacuum \[m/s\].
pub(crate) const LIGHT_M_PER_S: f64 = 299_792_458.0;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_takes_two_microseconds_for_600_m() {
        let delay = Position::new(0.0, 0.0).propagation(Position::new(600.0, 0.0));
        assert_eq!(delay.as_nanos(), 2001);
    }
}
