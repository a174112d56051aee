//! Measures of fairness ([Jam10] section 2.1).

/// Jain's index of non-negative rates, `(Σx)² / (n Σx²)`: 1 when all are equal, 1/n when one has everything.
/// `None` when there are no rates or all are zero.
pub fn jain_index(rates: &[f64]) -> Option<f64> {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

/// The least of `rates` over `fair`, entry by entry; `None` when there is no entry with a positive fair rate.
pub fn min_over_fair(rates: &[f64], fair: &[f64]) -> Option<f64> {
    rates.iter().zip(fair).filter(|&(_, &f)| f > 0.0).map(|(x, f)| x / f).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_lies_between_one_over_n_and_one() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[]), None);
        assert_eq!(jain_index(&[0.0]), None);
    }

    #[test]
    fn the_worst_off_is_found() {
        assert_eq!(min_over_fair(&[1.0, 4.0], &[2.0, 2.0]), Some(0.5));
        assert_eq!(min_over_fair(&[1.0], &[0.0]), None);
    }
}
