//! Where a moving node is at an instant.

use crate::Position;
use evenair_units::{Duration, Instant};

/// The way of a node: points with the instants at which it is there, and straight ways at constant speed between them.
///
/// Before the first instant it stands at the first point, after the last one at the last point.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    points: Vec<(Instant, Position)>,
}

/// Random waypoints in a rectangle. A node goes straight to a point that is uniform in it, at a speed that is uniform between two
/// bounds, rests, and goes on (Johnson and Maltz, Dynamic source routing in ad hoc wireless networks, 1996).
///
/// Slow ways last longer, so the mean speed of a node over time is below the mean of the bounds:
/// (b − a)/ln(b/a) for speeds from a to b without rests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomWaypoint {
    /// Two opposite corners; its height is the first one's.
    pub area: [Position; 2],
    /// The least and the greatest speed \[m/s\]; above 0.
    pub speed_m_per_s: [f64; 2],
    /// How long it rests at each point.
    pub pause: Duration,
}

impl Track {
    /// A track through these points; the instants must ascend.
    ///
    /// # Panics
    /// If there is no point, or the instants do not ascend.
    pub fn new(points: Vec<(Instant, Position)>) -> Self {
        assert!(!points.is_empty() && points.is_sorted_by(|a, b| a.0 < b.0), "points in the order of time");
        Self { points }
    }

    /// The place at an instant.
    pub fn at(&self, now: Instant) -> Position {
        let next = self.points.partition_point(|&(at, _)| at <= now);
        let Some(&(end, there)) = self.points.get(next) else { return self.points[next - 1].1 };
        let Some(&(start, here)) = next.checked_sub(1).map(|before| &self.points[before]) else {
            return there;
        };
        let share = now.since(start).as_secs_f64() / end.since(start).as_secs_f64();
        let between = |a: f64, b: f64| a + (b - a) * share;
        Position::new(between(here.x_m, there.x_m), between(here.y_m, there.y_m))
            .up(between(here.z_m, there.z_m))
    }

    /// The instant from which on it stands still.
    pub fn end(&self) -> Instant {
        self.points[self.points.len() - 1].0
    }

    /// The fastest way between two points: the number of the second and the speed \[m/s\].
    pub fn fastest(&self) -> Option<(usize, f64)> {
        let speed = |pair: &[(Instant, Position)]| {
            pair[0].1.distance_m(pair[1].1) / pair[1].0.since(pair[0].0).as_secs_f64()
        };
        let speeds = self.points.windows(2).map(speed).enumerate().map(|(place, speed)| (place + 1, speed));
        speeds.max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

impl RandomWaypoint {
    /// A point of the rectangle; `unit` draws uniform numbers in [0, 1).
    pub fn point(&self, mut unit: impl FnMut() -> f64) -> Position {
        let [one, other] = self.area;
        let mut between = |a: f64, b: f64| a + (b - a) * unit();
        Position::new(between(one.x_m, other.x_m), between(one.y_m, other.y_m)).up(one.z_m)
    }

    /// A walk from a place until an instant; `unit` draws uniform numbers in [0, 1).
    pub fn walk(&self, from: Position, until: Instant, mut unit: impl FnMut() -> f64) -> Track {
        let [slowest, fastest] = self.speed_m_per_s;
        let (mut now, mut place) = (Instant::ZERO, from);
        let mut points = vec![(now, place)];
        while now < until {
            let next = self.point(&mut unit);
            let speed = slowest + (fastest - slowest) * unit();
            let takes = Duration::from_secs_f64(place.distance_m(next) / speed);
            if takes.is_zero() {
                continue;
            }
            (now, place) = (now + takes, next);
            points.push((now, place));
            if !self.pause.is_zero() {
                now += self.pause;
                points.push((now, place));
            }
        }
        Track::new(points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(s)
    }

    #[test]
    fn node_goes_straight_between_points() {
        let track = Track::new(vec![
            (at(1.0), Position::new(0.0, 0.0)),
            (at(3.0), Position::new(6.0, 8.0).up(2.0)),
            (at(4.0), Position::new(6.0, 8.0).up(2.0)),
        ]);
        assert_eq!(track.at(at(0.5)), Position::new(0.0, 0.0));
        assert_eq!(track.at(at(1.5)), Position::new(1.5, 2.0).up(0.5));
        assert_eq!(track.at(at(99.0)), Position::new(6.0, 8.0).up(2.0));
        assert_eq!(track.end(), at(4.0));
        // √(100 + 4) m in 2 s.
        let (place, speed) = track.fastest().unwrap();
        assert!(place == 1 && (speed - 104f64.sqrt() / 2.0).abs() < 1e-12, "{speed}");
    }

    /// The mean speed over time is (b − a)/ln(b/a): 0.910 m/s between 0.5 and 1.5. Two points of a unit square are 0.5214 apart in
    /// the mean.
    #[test]
    fn walk_has_the_known_means() {
        let mut state = 7u64;
        let unit = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let walk = RandomWaypoint {
            area: [Position::new(-50.0, 0.0), Position::new(50.0, 100.0)],
            speed_m_per_s: [0.5, 1.5],
            pause: Duration::ZERO,
        };
        let track = walk.walk(walk.point(|| 0.5), at(1e6), unit);
        let legs = track.points.windows(2).map(|pair| pair[0].1.distance_m(pair[1].1));
        let way = legs.clone().sum::<f64>();
        let (mean_leg, speed) = (way / legs.count() as f64, way / track.end().as_secs_f64());
        assert!((mean_leg / 52.14 - 1.0).abs() < 0.02, "{mean_leg}");
        assert!((speed / (1.0 / libm::log(3.0)) - 1.0).abs() < 0.02, "{speed}");
        let inside = |p: &Position| (-50.0..=50.0).contains(&p.x_m) && (0.0..=100.0).contains(&p.y_m);
        assert!(track.points.iter().all(|(_, place)| inside(place)));
    }
}
