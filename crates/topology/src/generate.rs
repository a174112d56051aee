//! Regular and random placements.

use crate::Position;
use core::f64::consts::PI;

/// `nodes` nodes on a line, `spacing_m` apart, from the origin eastwards.
pub fn chain(nodes: usize, spacing_m: f64) -> Vec<Position> {
    (0..nodes).map(|i| Position::new(i as f64 * spacing_m, 0.0)).collect()
}

/// A rectangle of nodes, row by row from the south-west corner.
pub fn grid(columns: usize, rows: usize, spacing_m: f64) -> Vec<Position> {
    let row = |y: usize| (0..columns).map(move |x| Position::new(x as f64 * spacing_m, y as f64 * spacing_m));
    (0..rows).flat_map(row).collect()
}

/// `nodes` nodes evenly on a circle around the origin, neighbours `spacing_m` apart.
pub fn ring(nodes: usize, spacing_m: f64) -> Vec<Position> {
    let step = 2.0 * PI / nodes.max(1) as f64;
    let radius_m = if nodes < 2 { 0.0 } else { spacing_m / (2.0 * libm::sin(step / 2.0)) };
    let place = |i: usize| {
        let angle = step * i as f64;
        Position::new(radius_m * libm::cos(angle), radius_m * libm::sin(angle))
    };
    (0..nodes).map(place).collect()
}

/// `nodes` nodes spread evenly at random over a rectangle; `unit` draws from \[0, 1).
pub fn random(nodes: usize, width_m: f64, height_m: f64, mut unit: impl FnMut() -> f64) -> Vec<Position> {
    (0..nodes)
        .map(|_| {
            let x_m = unit() * width_m;
            Position::new(x_m, unit() * height_m)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_stand_a_spacing_apart() {
        let line = chain(4, 200.0);
        assert!((line[2].distance_m(line[3]) - 200.0).abs() < 1e-9);
        let square = grid(3, 2, 100.0);
        assert_eq!(square.len(), 6);
        assert!(
            (square[0].distance_m(square[3]) - 100.0).abs() < 1e-9,
            "the second row begins with the fourth"
        );
        let circle = ring(7, 150.0);
        for i in 0..7 {
            assert!((circle[i].distance_m(circle[(i + 1) % 7]) - 150.0).abs() < 1e-9);
        }
    }

    #[test]
    fn random_nodes_stay_inside() {
        let mut state = 0.1;
        let nodes = random(50, 300.0, 100.0, || {
            state = (state * 7.31 + 0.17) % 1.0;
            state
        });
        assert!(nodes.iter().all(|p| (0.0..300.0).contains(&p.x_m) && (0.0..100.0).contains(&p.y_m)));
    }
}
