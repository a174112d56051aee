//! Statistics of samples beside their mean.

/// The standard deviation of some samples and its 95 % interval, as if they were normal; none for fewer than two.
pub(crate) fn deviation(samples: &[f64]) -> Option<(f64, [f64; 2])> {
    let degrees = samples.len().checked_sub(1).filter(|d| *d > 0)? as f64;
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let squares: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    let bound = |z: f64| (squares / chi_squared(degrees, z)).sqrt();
    Some(((squares / degrees).sqrt(), [bound(1.96), bound(-1.96)]))
}

/// A quantile of the χ² distribution, by the normal one's (Wilson and Hilferty).
fn chi_squared(degrees: f64, z: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    let root = 1.0 - part + z * part.sqrt();
    degrees * (root * root * root).max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviations_interval_is_that_of_chi_squared() {
        // 50 samples of deviation 1: χ² with 49 degrees has the quantiles 31.555 and 70.222.
        let samples: Vec<f64> =
            (0..50).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 } * (49.0f64 / 50.0).sqrt()).collect();
        let (s, [low, high]) = deviation(&samples).unwrap();
        assert!((s - 1.0).abs() < 1e-12);
        assert!((low - (49.0f64 / 70.222).sqrt()).abs() < 1e-3, "{low}");
        assert!((high - (49.0f64 / 31.555).sqrt()).abs() < 1e-3, "{high}");
        assert_eq!(deviation(&[1.0]), None);
    }
}
