//! Where nodes stand.

use evenair_units::Duration;

/// A point on the plane \[m\].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East \[m\].
    pub x_m: f64,
    /// North \[m\].
    pub y_m: f64,
    /// Up \[m\].
    pub z_m: f64,
}

/// Speed of light in vacuum \[m/s\].
pub(crate) const LIGHT_M_PER_S: f64 = 299_792_458.0;

/// How far light comes in a time \[m\].
pub fn light_travels_m(time: Duration) -> f64 {
    time.as_secs_f64() * LIGHT_M_PER_S
}

impl Position {
    /// The point (x, y) on the ground \[m\].
    pub const fn new(x_m: f64, y_m: f64) -> Self {
        Self { x_m, y_m, z_m: 0.0 }
    }

    /// The same point, this far up \[m\].
    #[must_use]
    pub const fn up(self, z_m: f64) -> Self {
        Self { z_m, ..self }
    }

    /// Distance to `other` \[m\].
    pub fn distance_m(self, other: Self) -> f64 {
        let along = libm::hypot(self.x_m - other.x_m, self.y_m - other.y_m);
        let up = self.z_m - other.z_m;
        if up == 0.0 { along } else { libm::hypot(along, up) }
    }

    /// How long light takes to `other`.
    pub fn propagation(self, other: Self) -> Duration {
        Duration::from_secs_f64(self.distance_m(other) / LIGHT_M_PER_S)
    }
}

/// A wall, seen from above: it weakens signals with a straight path across it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wall {
    /// One end.
    pub from: Position,
    /// The other end.
    pub to: Position,
    /// By how much it weakens a signal, above 0 \[dB\].
    pub loss_db: f64,
}

impl Wall {
    /// Whether it stands between two points. A point on its line is on neither side.
    pub fn is_between(&self, one: Position, other: Position) -> bool {
        // On which side of the way from a to b a point lies.
        let side = |a: Position, b: Position, p: Position| {
            (b.x_m - a.x_m) * (p.y_m - a.y_m) - (b.y_m - a.y_m) * (p.x_m - a.x_m)
        };
        side(self.from, self.to, one) * side(self.from, self.to, other) < 0.0
            && side(one, other, self.from) * side(one, other, self.to) <= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_is_between_points_on_both_sides() {
        let at = Position::new;
        let wall = Wall { from: at(0.0, -5.0), to: at(0.0, 5.0), loss_db: 10.0 };
        assert!(wall.is_between(at(-3.0, 0.0), at(4.0, 1.0)) && wall.is_between(at(4.0, 1.0), at(-3.0, 0.0)));
        assert!(wall.is_between(at(-1.0, 5.0), at(1.0, 5.0)), "over its end");
        assert!(!wall.is_between(at(1.0, 0.0), at(4.0, 1.0)), "both on one side");
        assert!(!wall.is_between(at(-1.0, 9.0), at(1.0, 9.0)), "past its end");
        assert!(!wall.is_between(at(0.0, 1.0), at(4.0, 1.0)), "one stands in it");
        assert!(!wall.is_between(at(0.0, 7.0), at(0.0, 9.0)), "along its line");
    }

    #[test]
    fn light_takes_two_microseconds_for_600_m() {
        let delay = Position::new(0.0, 0.0).propagation(Position::new(600.0, 0.0));
        assert_eq!(delay.as_nanos(), 2001);
    }
}
