//! Means and their intervals.

use schemars::JsonSchema;
use serde::Serialize;

/// A mean over seeds with its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width; null for a single seed.
    #[serde(rename = "half_width_95")]
    pub half_width: Option<f64>,
}

impl Estimate {
    /// The estimate from one value per seed.
    pub fn from_samples(samples: &[f64]) -> Self {
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let half_width = (samples.len() > 1).then(|| {
            let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
            half_width(variance, samples.len())
        });
        Self { mean, half_width }
    }

    /// The estimate from the mean of so many samples, two at least, and their standard deviation.
    pub fn from_deviation(mean: f64, deviation: f64, samples: usize) -> Self {
        Self { mean, half_width: (samples > 1).then(|| half_width(deviation * deviation, samples)) }
    }

    /// A value without spread.
    pub const fn exact(value: f64) -> Self {
        Self { mean: value, half_width: None }
    }
}

/// Half of the 95 % interval of the mean of so many samples with this variance.
fn half_width(variance: f64, samples: usize) -> f64 {
    student_975(samples - 1) * (variance / samples as f64).sqrt()
}

/// The 97.5 % quantile of Student's t distribution.
fn student_975(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    // Beyond the table, the first terms of its expansion in 1/degrees: 1.96 + 2.37/ν, within 0.001.
    TABLE.get(degrees.wrapping_sub(1)).copied().unwrap_or(1.96 + 2.37 / degrees as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_seeds_by_hand() {
        // mean 3, s² = 2.5, 2.776·√(2.5/5) = 1.963
        let estimate = Estimate::from_samples(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((estimate.mean - 3.0).abs() < 1e-12);
        assert!((estimate.half_width.unwrap() - 1.963).abs() < 1e-3);
    }

    #[test]
    fn one_seed_has_no_interval() {
        assert_eq!(Estimate::from_samples(&[7.0]).half_width, None);
    }

    #[test]
    fn the_quantile_falls_towards_the_normal() {
        assert!((student_975(40) - 2.021).abs() < 2e-3);
        assert!((student_975(120) - 1.980).abs() < 1e-3);
    }
}
