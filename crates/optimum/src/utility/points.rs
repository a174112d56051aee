//! Utilities as a table of points.

use std::fmt::Write;
use std::sync::Arc;

/// A concave utility that is a straight line between the points of a table. The flow wants no more than the last rate.
///
/// It is not strictly concave, so that the best rates need not be the only ones: a linear programme finds some.
#[derive(Clone, Debug, PartialEq)]
pub struct Points(Arc<[(f64, f64)]>);

/// Slopes that differ by less than this, relative to the first, are one.
const ALIKE: f64 = 1e-12;

impl Points {
    /// Rates and their utilities, from a rate of zero on.
    ///
    /// # Errors
    /// Says where the table is none of a utility that rises ever less steeply.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Result<Self, String> {
        let points: Arc<[(f64, f64)]> = points.into_iter().collect();
        if points.len() < 2 {
            return Err("give two points at least, such as [[0, 0], [100, 1]]".into());
        }
        if let Some((x, u)) = points.iter().find(|(x, u)| !(x.is_finite() && u.is_finite())) {
            return Err(format!("{x}, {u}: rates and utilities must be finite"));
        }
        if points[0].0 != 0.0 {
            return Err(format!(
                "begins at a rate of {}: give the utility of a rate of 0 first",
                points[0].0
            ));
        }
        let table = Self(points);
        let mut before = f64::INFINITY;
        for pair in table.0.windows(2) {
            let [(a, from), (b, to)] = [pair[0], pair[1]];
            let mut why = format!("from {a} to {b} ");
            let slope = (to - from) / (b - a);
            if b <= a {
                why += "the rates must grow";
            } else if slope <= 0.0 {
                let _ = write!(
                    why,
                    "it goes from {from} to {to}: a utility must rise; end the table where more is not wanted"
                );
            } else if slope > before * (1.0 + ALIKE) {
                let _ = write!(
                    why,
                    "it rises by {slope:.3e} per unit of rate, by {before:.3e} before: it must rise ever less steeply (be concave)"
                );
            } else {
                before = slope;
                continue;
            }
            return Err(why);
        }
        Ok(table)
    }

    /// Each straight piece's slope, and its value if continued to a rate of zero.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (f64, f64)> {
        self.0.windows(2).map(|pair| {
            let slope = (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
            (slope, pair[0].1 - slope * pair[0].0)
        })
    }

    /// The greatest rate that is wanted.
    pub(crate) fn most(&self) -> f64 {
        self.0[self.0.len() - 1].0
    }

    /// The utility of a rate.
    pub(crate) fn of(&self, rate: f64) -> f64 {
        let rate = rate.min(self.most());
        self.pieces().map(|(slope, at_zero)| at_zero + slope * rate).fold(f64::INFINITY, f64::min)
    }

    /// The worth of the last bit of a rate: the slope below it, or that below the last point.
    pub(crate) fn price(&self, rate: f64) -> f64 {
        let rate = rate.min(self.most());
        let below = self.0.windows(2).zip(self.pieces()).find(|(pair, _)| rate <= pair[1].0);
        below.map_or(f64::NAN, |(_, (slope, _))| slope)
    }

    /// The rate wanted at a price, the least of them.
    pub(crate) fn rate(&self, price: f64) -> f64 {
        let wanted = self.0.windows(2).zip(self.pieces()).filter(|(_, (slope, _))| *slope > price);
        wanted.last().map_or(0.0, |(pair, _)| pair[1].0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_line_between_its_points() {
        let table = Points::new([(0.0, 1.0), (2.0, 5.0), (4.0, 6.0)]).unwrap();
        for (rate, worth, price) in
            [(0.0, 1.0, 2.0), (1.0, 3.0, 2.0), (2.0, 5.0, 2.0), (3.0, 5.5, 0.5), (9.0, 6.0, 0.5)]
        {
            assert!((table.of(rate) - worth).abs() < 1e-12, "{rate}");
            assert!((table.price(rate) - price).abs() < 1e-12, "{rate}");
        }
        for (price, rate) in [(3.0, 0.0), (1.0, 2.0), (0.1, 4.0), (0.0, 4.0)] {
            assert!((table.rate(price) - rate).abs() < 1e-12, "{price}");
        }
    }

    #[test]
    fn invalid_utility_is_rejected() {
        let wrong = |points: &[(f64, f64)]| Points::new(points.iter().copied()).unwrap_err();
        assert!(wrong(&[(0.0, 1.0)]).contains("two points at least"));
        assert!(wrong(&[(1.0, 1.0), (2.0, 2.0)]).contains("utility of a rate of 0"));
        assert!(wrong(&[(0.0, 1.0), (2.0, 2.0), (2.0, 3.0)]).contains("from 2 to 2 the rates must grow"));
        assert!(wrong(&[(0.0, 1.0), (2.0, 2.0), (3.0, 2.0)]).contains("end the table where"));
        assert!(
            wrong(&[(0.0, 1.0), (2.0, 2.0), (3.0, 9.0)]).contains("by 7.000e0 per unit of rate, by 5.000e-1")
        );
        assert!(wrong(&[(0.0, 1.0), (2.0, f64::NAN)]).contains("must be finite"));
    }
}
