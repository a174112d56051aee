//! All that weakens a signal beside its distance.

use crate::{Position, Shadowing, Wall};

/// Obstacles between nodes: walls of the plan, floors of a house, and shadowing by all that no plan shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Obstacles {
    /// Walls, seen from above.
    pub walls: Vec<Wall>,
    /// The height of a storey \[m\], where nodes stand in a house.
    pub storey_m: Option<f64>,
    /// Log-normal shadowing.
    pub shadowing: Option<Shadowing>,
}

impl Obstacles {
    /// By how much they weaken a signal; below 0 they strengthen it \[dB\].
    pub fn loss_db(&self, from: Position, to: Position) -> f64 {
        let walls: f64 =
            self.walls.iter().filter(|wall| wall.is_between(from, to)).map(|wall| wall.loss_db).sum();
        let floors = self.storey_m.map_or(0.0, |height_m| floors_db(from, to, height_m));
        let shadow = self.shadowing.as_ref().map_or(0.0, |shadowing| shadowing.gain_db(from, to));
        walls + floors - shadow
    }

    /// The most by which they strengthen a signal \[dB\].
    pub fn most_gain_db(&self) -> f64 {
        self.shadowing.as_ref().map_or(0.0, Shadowing::most_db)
    }
}

/// The loss through the floors between two heights \[dB\]: 18.3·F^((F + 2)/(F + 1) − 0.46) for F floors (IEEE 802.11-14/0980,
/// the simulation scenarios of TGax, residential).
fn floors_db(from: Position, to: Position, height_m: f64) -> f64 {
    let storey = |at: Position| libm::floor(at.z_m / height_m);
    let floors = (storey(from) - storey(to)).abs();
    if floors == 0.0 {
        return 0.0;
    }
    18.3 * libm::pow(floors, (floors + 2.0) / (floors + 1.0) - 0.46)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_weaken_less_the_more_they_are() {
        let up = |storeys: f64| Position::new(3.0, 4.0).up(3.0 * storeys + 1.5);
        // By hand: 18.3·1 = 18.3; 18.3·2^(4/3 − 0.46) = 33.52; 18.3·3^(5/4 − 0.46) = 43.59.
        for (floors, expected) in [(0.0, 0.0), (1.0, 18.3), (2.0, 33.52), (3.0, 43.59)] {
            let loss = floors_db(up(0.0), up(floors), 3.0);
            assert!((loss - expected).abs() < 0.01, "{floors} floors: {loss}");
            assert!((floors_db(up(floors), up(0.0), 3.0) - loss).abs() < 1e-12);
        }
    }

    #[test]
    fn losses_add_up() {
        let wall = Wall { from: Position::new(5.0, -9.0), to: Position::new(5.0, 9.0), loss_db: 5.0 };
        let obstacles = Obstacles { walls: vec![wall], storey_m: Some(3.0), shadowing: None };
        let (from, to) = (Position::new(0.0, 0.0).up(1.0), Position::new(10.0, 0.0).up(4.0));
        assert!((obstacles.loss_db(from, to) - 23.3).abs() < 1e-9);
    }
}
