//! Log-normal shadowing, correlated in space.

use crate::Position;
use core::f64::consts::SQRT_2;

/// How much stronger or weaker a signal is than its distance alone says, by obstacles that no plan shows.
///
/// The excess in decibels is a Gaussian field over the places of both ends. Its correlation falls by a factor e for each
/// correlation distance that one end moves (Gudmundson, Electronics Letters 27(23), 1991), so that neighbours are behind the
/// same obstacles. It is the same in both directions. It is a sum of plane waves and a pure function of the two places:
/// another node, or the order of questions, changes no link.
#[derive(Clone, Debug, PartialEq)]
pub struct Shadowing {
    deviation_db: f64,
    distance_m: f64,
    waves: Vec<Wave>,
}

/// A wave over the places of two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wave {
    /// Radians per metre at either end, by axis.
    ends: [[f64; 3]; 2],
    phase: f64,
}

/// How many waves the field is the sum of.
const WAVES: usize = 64;
/// The excess is cut off at so many standard deviations: one link in 16 000 has more.
const MOST_DEVIATIONS: f64 = 4.0;

impl Shadowing {
    /// A field of this standard deviation \[dB\] and correlation distance \[m\]; `normal` draws from the standard normal distribution.
    ///
    /// # Panics
    /// If the deviation is negative or the distance is not above 0.
    pub fn new(deviation_db: f64, distance_m: f64, mut normal: impl FnMut() -> f64) -> Self {
        assert!(deviation_db >= 0.0 && distance_m > 0.0, "a deviation and a distance");
        // exp(-r/d) is the characteristic function of the Cauchy distribution of scale 1/d in any number of dimensions, which is that of a
        // normal vector over the size of another normal number.
        let mut number = || {
            let scale = 1.0 / (distance_m * normal().abs().max(f64::MIN_POSITIVE));
            [normal() * scale, normal() * scale, normal() * scale]
        };
        let mut waves: Vec<Wave> =
            (0..WAVES).map(|_| Wave { ends: [number(), number()], phase: 0.0 }).collect();
        for wave in &mut waves {
            wave.phase = libm::atan2(normal(), normal());
        }
        Self { deviation_db, distance_m, waves }
    }

    /// The most by which a signal is stronger or weaker \[dB\].
    pub fn most_db(&self) -> f64 {
        MOST_DEVIATIONS * self.deviation_db
    }

    /// By how much a signal between two places is stronger than by its distance; below 0, weaker \[dB\].
    pub fn gain_db(&self, one: Position, other: Position) -> f64 {
        let sum = self.one_way(one, other) + self.one_way(other, one);
        // The two ways' fields are the more alike the nearer the ends are.
        let alike = libm::exp(-2.0 * one.distance_m(other) / self.distance_m);
        let gain_db = self.deviation_db * sum / libm::sqrt(2.0 * (1.0 + alike));
        gain_db.clamp(-self.most_db(), self.most_db())
    }

    /// A field of variance 1 over two ends in order.
    fn one_way(&self, from: Position, to: Position) -> f64 {
        let along = |k: [f64; 3], at: Position| k[0] * at.x_m + k[1] * at.y_m + k[2] * at.z_m;
        let wave = |wave: &Wave| libm::cos(along(wave.ends[0], from) + along(wave.ends[1], to) + wave.phase);
        self.waves.iter().map(wave).sum::<f64>() * SQRT_2 / libm::sqrt(self.waves.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::PI;

    /// Normal numbers from a multiplicative generator, by Box and Muller.
    fn normals(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut unit = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        move || libm::sqrt(-2.0 * libm::log(unit())) * (2.0 * PI * unit()).cos()
    }

    /// The mean of products of two links' gains over many fields.
    fn covariance(one: [Position; 2], other: [Position; 2]) -> f64 {
        let fields = 4_000;
        let product = |seed| {
            let field = Shadowing::new(5.0, 10.0, normals(seed));
            field.gain_db(one[0], one[1]) * field.gain_db(other[0], other[1])
        };
        (1..=fields).map(product).sum::<f64>() / f64::from(fields as u32)
    }

    fn at(x_m: f64, y_m: f64) -> Position {
        Position::new(x_m, y_m)
    }

    #[test]
    fn link_has_deviation_and_neighbours_correlation() {
        let link = [at(0.0, 0.0), at(80.0, 0.0)];
        // 25 dB² with a standard error of 25·√(2/4000) = 0.56; the next by exp(-r/d).
        let expected =
            [(0.0, 25.0), (5.0, 25.0 * libm::exp(-0.5)), (10.0, 25.0 * libm::exp(-1.0)), (60.0, 0.06)];
        for (moved, expected) in expected {
            let found = covariance(link, [link[0], at(80.0, moved)]);
            assert!((found - expected).abs() < 1.9, "{moved} m: {found} for {expected}");
        }
        let both = covariance(link, [at(0.0, 5.0), at(80.0, 5.0)]);
        assert!((both - 25.0 * libm::exp(-1.0)).abs() < 1.9, "both ends moved: {both}");
        let near = [at(0.0, 0.0), at(2.0, 0.0)];
        let found = covariance(near, near);
        assert!((found - 25.0).abs() < 1.9, "ends within the distance: {found}");
    }

    #[test]
    fn it_is_the_same_in_both_directions_and_bounded() {
        let field = Shadowing::new(6.0, 5.0, normals(7));
        let mut most: f64 = 0.0;
        for i in 0..2_000 {
            let (a, b) = (at(f64::from(i), 0.3 * f64::from(i)), at(-1.7 * f64::from(i), 40.0));
            assert!((field.gain_db(a, b) - field.gain_db(b, a)).abs() < 1e-12);
            most = most.max(field.gain_db(a, b).abs());
        }
        assert!(most > 12.0 && most <= field.most_db(), "{most}");
        let none = Shadowing::new(0.0, 5.0, normals(7)).gain_db(at(0.0, 0.0), at(9.0, 0.0));
        assert!(none.abs() < 1e-12, "{none}");
    }

    /// Over many links of one field: mean 0, the deviation, and the tails of the normal distribution.
    #[test]
    fn links_of_one_network_are_log_normal() {
        let field = Shadowing::new(1.0, 5.0, normals(3));
        let gains: Vec<f64> = (0..100)
            .flat_map(|i| (0..100).map(move |j| (i, j)))
            .map(|(i, j)| field.gain_db(at(50.0 * f64::from(i), 0.0), at(50.0 * f64::from(j), 400.0)))
            .collect();
        let count = gains.len() as f64;
        let mean = gains.iter().sum::<f64>() / count;
        let deviation = (gains.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>() / count).sqrt();
        let beyond = |k: f64| gains.iter().filter(|g| g.abs() > k).count() as f64 / count;
        assert!(mean.abs() < 0.05 && (deviation - 1.0).abs() < 0.05, "{mean} ± {deviation}");
        // 31.7 % beyond one deviation, 4.6 % beyond two.
        assert!((beyond(1.0) - 0.317).abs() < 0.03 && (beyond(2.0) - 0.046).abs() < 0.012);
    }
}
