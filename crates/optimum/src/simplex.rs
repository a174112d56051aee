//! Linear programmes with columns generated on demand: the revised simplex method with an explicit inverse.
//!
//! The equations are `Σ_j A_j x_j = b`, `x ≥ 0`; one variable, the *goal*, is maximised. The method reads its
//! decisions off the equations afresh each time they are factored, so that a solution is a vertex to the last
//! digits. Rates a million times smaller than others are as exact as those, which no barrier method achieves.

use nalgebra::DMatrix;

/// A column: rows and coefficients.
pub(crate) type Column = Vec<(usize, f64)>;

/// A coefficient below this, in columns of order one, is rounding.
const PIVOT_MIN: f64 = 1e-10;
/// Values that differ by less are alike: rounding of a basis that is factored every few dozen pivots.
const ALIKE: f64 = 1e-12;
/// Gains are differences of prices; below this part of the greatest they are rounding.
const ROUNDING: f64 = 1e-14;
/// A value below this is zero.
const ZERO: f64 = 1e-14;

/// Why the method stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// No known column helps.
    Optimal,
    /// The goal grows without end, or the arithmetic has lost the basis.
    Failed,
}

/// A programme and a basis of it.
#[derive(Clone, Debug)]
pub(crate) struct Simplex {
    columns: Vec<Column>,
    /// The column that is basic in each row.
    basis: Vec<usize>,
    is_basic: Vec<bool>,
    inverse: DMatrix<f64>,
    /// The values of the basic columns.
    values: Vec<f64>,
    /// How they would change with right-hand sides shifted by a lot each and infinitely little. Vertices of many equal flows are
    /// full of ties, in which the method would turn in circles; the shifts decide them, and no two are alike.
    shifts: Vec<f64>,
    right: Vec<f64>,
    goal: usize,
    /// Pivots since the last factorisation, and all.
    fresh: u32,
    pivots: usize,
    lot: u64,
    /// How much each column would raise the goal, and how long its edge is, roughly (devex): the steepest is taken.
    gains: Vec<f64>,
    lengths: Vec<f64>,
    least_gain: f64,
}

impl Simplex {
    /// A slack per row, all of them basic, and a goal that is no part of anything yet.
    pub(crate) fn new(right: Vec<f64>) -> Self {
        let rows = right.len();
        debug_assert!(right.iter().all(|b| *b >= 0.0), "the slacks are a feasible basis");
        let mut columns: Vec<Column> = (0..rows).map(|i| vec![(i, 1.0)]).collect();
        columns.push(Column::new());
        let mut is_basic = vec![true; rows];
        is_basic.push(false);
        Self {
            columns,
            basis: (0..rows).collect(),
            is_basic,
            inverse: DMatrix::identity(rows, rows),
            values: right.clone(),
            shifts: Vec::new(),
            right,
            goal: rows,
            fresh: 0,
            pivots: 0,
            lot: 1,
            gains: Vec::new(),
            lengths: Vec::new(),
            least_gain: 0.0,
        }
    }

    /// Takes a column in.
    pub(crate) fn add(&mut self, column: Column) -> usize {
        self.columns.push(column);
        self.is_basic.push(false);
        self.columns.len() - 1
    }

    /// The value of a column.
    pub(crate) fn value(&self, column: usize) -> f64 {
        self.basis.iter().position(|&j| j == column).map_or(0.0, |i| self.values[i].max(0.0))
    }

    /// How many columns have entered so far.
    pub(crate) const fn pivots(&self) -> usize {
        self.pivots
    }

    /// The value of the goal.
    pub(crate) fn goal(&self) -> f64 {
        self.value(self.goal)
    }

    /// The prices: the worth of a unit of each row to the goal.
    pub(crate) fn prices(&self) -> Vec<f64> {
        match self.basis.iter().position(|&j| j == self.goal) {
            Some(row) => self.inverse.row(row).iter().copied().collect(),
            None => vec![0.0; self.basis.len()],
        }
    }

    /// A gain below this is rounding of the prices.
    pub(crate) fn rounding(&self) -> f64 {
        ROUNDING * self.prices().iter().fold(0.0, |most: f64, p| most.max(p.abs()))
    }

    /// Another goal and other right-hand sides, which the present basis must meet; the goal begins at zero.
    ///
    /// Where the goal was basic the slack of the dearest row takes its place, at zero: nothing else changes its value.
    pub(crate) fn begin(&mut self, goal: Column, right: Vec<f64>) -> bool {
        if let Some(row) = self.basis.iter().position(|&j| j == self.goal) {
            let dearest = (0..self.basis.len())
                .filter(|&l| !self.is_basic[l])
                .max_by(|&l, &m| self.inverse[(row, l)].abs().total_cmp(&self.inverse[(row, m)].abs()));
            let Some(slack) = dearest else { return false };
            self.is_basic[self.goal] = false;
            self.is_basic[slack] = true;
            self.basis[row] = slack;
        }
        self.columns[self.goal] = goal;
        self.right = right;
        self.shifts = (0..self.basis.len()).map(|_| self.draw()).collect();
        self.factor()
    }

    /// A number between one and two.
    fn draw(&mut self) -> f64 {
        self.lot = self.lot.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1.0 + (self.lot >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// Improves until no known column helps by more than `tolerance` per unit, or rounding is all that is left to gain.
    pub(crate) fn improve(&mut self, tolerance: f64) -> Stop {
        self.weigh();
        for _ in 0..20 * self.basis.len() + 1000 {
            let Some(entering) = self.entering(tolerance) else {
                // Gains were carried along from pivot to pivot: the last word has a fresh factor.
                if self.fresh == 0 {
                    return Stop::Optimal;
                }
                if !self.factor() {
                    return Stop::Failed;
                }
                self.weigh();
                continue;
            };
            let direction = self.direction(entering);
            let Some(row) = self.leaving(&direction) else { return Stop::Failed };
            let starts = entering == self.goal;
            self.turn(entering, row, direction[row]);
            self.pivot(entering, row, &direction);
            let stale = self.fresh as usize > 40.max(self.basis.len() / 4);
            if stale && !self.factor() {
                return Stop::Failed;
            }
            if stale || starts {
                self.weigh();
            }
        }
        if self.fresh == 0 || self.factor() { Stop::Optimal } else { Stop::Failed }
    }

    /// Each column's gain afresh; all edges count as one long.
    fn weigh(&mut self) {
        let prices = self.prices();
        let gain = |column: &Column| -column.iter().map(|&(i, a)| prices[i] * a).sum::<f64>();
        self.gains = self.columns.iter().map(gain).collect();
        self.lengths = vec![1.0; self.columns.len()];
        self.least_gain = self.rounding();
    }

    /// Carries gains and lengths over a pivot that is about to happen.
    fn turn(&mut self, entering: usize, row: usize, pivot: f64) {
        let of_row: Vec<f64> = self.inverse.row(row).iter().copied().collect();
        let (gain, length) = (self.gains[entering], self.lengths[entering]);
        for (j, column) in self.columns.iter().enumerate() {
            if self.is_basic[j] || j == entering {
                continue;
            }
            let share = column.iter().map(|&(i, a)| of_row[i] * a).sum::<f64>() / pivot;
            if share != 0.0 {
                self.gains[j] -= gain * share;
                self.lengths[j] = self.lengths[j].max(share * share * length);
            }
        }
        let leaving = self.basis[row];
        self.gains[leaving] = -gain / pivot;
        self.lengths[leaving] = (length / (pivot * pivot)).max(1.0);
    }

    /// Which column helps most per length of its edge.
    fn entering(&self, tolerance: f64) -> Option<usize> {
        if !self.is_basic[self.goal] {
            return Some(self.goal);
        }
        let least = tolerance.max(self.least_gain);
        let helps = (0..self.columns.len()).filter(|&j| !self.is_basic[j] && self.gains[j] > least);
        let worth = |j: usize| self.gains[j] * self.gains[j] / self.lengths[j];
        helps.max_by(|&j, &k| worth(j).total_cmp(&worth(k)))
    }

    /// By how much the basic columns shrink per unit of this one.
    fn direction(&self, column: usize) -> Vec<f64> {
        let mut direction = vec![0.0; self.basis.len()];
        for &(i, a) in &self.columns[column] {
            let part = self.inverse.column(i);
            direction.iter_mut().zip(part.iter()).for_each(|(d, x)| *d += a * x);
        }
        direction
    }

    /// The row that is empty first; among several, the row that the shifts would empty first.
    fn leaving(&self, direction: &[f64]) -> Option<usize> {
        let rows =
            || (0..direction.len()).filter(|&i| direction[i] > PIVOT_MIN && self.basis[i] != self.goal);
        let ratio = |i: usize| self.values[i].max(0.0) / direction[i];
        let least = rows().map(ratio).min_by(f64::total_cmp)?;
        let ties = || rows().filter(|&i| self.values[i] <= least * direction[i] + ALIKE);
        let firm = 1e-6 * ties().map(|i| direction[i]).fold(0.0, f64::max);
        let shift = |i: usize| self.shifts[i] / direction[i];
        ties().filter(|&i| direction[i] >= firm).min_by(|&i, &k| shift(i).total_cmp(&shift(k)))
    }

    fn pivot(&mut self, entering: usize, row: usize, direction: &[f64]) {
        debug_assert!(!self.is_basic[entering] && direction[row] > 0.0);
        self.values[row] = self.values[row].max(0.0);
        for values in [&mut self.values, &mut self.shifts] {
            let step = values[row] / direction[row];
            values.iter_mut().zip(direction).for_each(|(value, d)| *value -= step * d);
            values[row] = step;
        }
        // A rest of rounding is zero.
        self.values.iter_mut().filter(|x| x.abs() < ZERO).for_each(|x| *x = 0.0);
        let pivot = direction[row];
        for mut column in self.inverse.column_iter_mut() {
            let share = column[row] / pivot;
            if share != 0.0 {
                column.iter_mut().zip(direction).for_each(|(x, d)| *x -= share * d);
                column[row] = share;
            }
        }
        self.is_basic[self.basis[row]] = false;
        self.is_basic[entering] = true;
        self.basis[row] = entering;
        self.fresh += 1;
        self.pivots += 1;
    }

    /// Inverts the basis afresh; false if it has become singular.
    pub(crate) fn factor(&mut self) -> bool {
        let rows = self.basis.len();
        let mut matrix = DMatrix::zeros(rows, rows);
        for (k, &j) in self.basis.iter().enumerate() {
            self.columns[j].iter().for_each(|&(i, a)| matrix[(i, k)] += a);
        }
        let Some(inverse) = matrix.try_inverse() else { return false };
        self.inverse = inverse;
        let value = |k: usize| self.inverse.row(k).iter().zip(&self.right).map(|(x, b)| x * b).sum();
        self.values = (0..rows).map(value).collect();
        self.values.iter_mut().filter(|x| x.abs() < ZERO).for_each(|x| *x = 0.0);
        self.fresh = 0;
        self.inverse.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_programme_with_columns_that_come_later() {
        // max t: t ≤ x, t ≤ y, x/2 + y ≤ 1, and then a cheaper x: x/4.
        let mut programme = Simplex::new(vec![0.0, 0.0, 1.0]);
        let goal: Column = vec![(0, 1.0), (1, 1.0)];
        assert!(programme.begin(goal.clone(), vec![0.0, 0.0, 1.0]));
        let x = programme.add(vec![(0, -1.0), (2, 0.5)]);
        programme.add(vec![(1, -1.0), (2, 1.0)]);
        assert_eq!(programme.improve(1e-12), Stop::Optimal);
        assert!(
            (programme.goal() - 2.0 / 3.0).abs() < 1e-14 && (programme.value(x) - 2.0 / 3.0).abs() < 1e-14
        );
        programme.add(vec![(0, -1.0), (2, 0.25)]);
        assert_eq!(programme.improve(1e-12), Stop::Optimal);
        assert!((programme.goal() - 0.8).abs() < 1e-14);
        let prices = programme.prices();
        assert!((prices[0] - 0.2).abs() < 1e-14 && (prices[2] - 0.8).abs() < 1e-14);
        // From there on the first row alone shall grow: nothing is left for it.
        let used = 0.8;
        assert!(programme.begin(vec![(0, 1.0)], vec![-used, -used, 1.0]));
        assert_eq!(programme.improve(1e-12), Stop::Optimal);
        assert!(programme.goal() < 1e-14);
    }

    #[test]
    fn nothing_bounds_a_goal_without_rows() {
        let mut programme = Simplex::new(vec![1.0]);
        assert!(programme.begin(vec![], vec![1.0]));
        assert_eq!(programme.improve(1e-12), Stop::Failed);
    }
}
