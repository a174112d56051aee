//! The gamma distribution's quantiles.

/// The logarithm of the quantile of the gamma distribution of this shape and mean 1 that is exceeded with probability e^−x.
///
/// Newton's method on the logarithm of the tail that is the smaller. `shape` is 1/2 to 100, `x` 1e-6 to 100.
pub(super) fn log_quantile(shape: f64, x: f64) -> f64 {
    let beyond = libm::exp(-x);
    let below = -libm::expm1(-x);
    let scale = libm::lgamma(shape);
    // The distribution is below^(1/shape) near 0; elsewhere its cube root is nearly normal (Wilson and Hilferty). Bisection
    // from bounds that hold for all of the range needs no such start.
    let (mut low, mut high) =
        ((libm::log(below) + scale) / shape - 10.0, libm::log(shape + 20.0 * x + 200.0));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let is_above = if below < 0.5 {
            lower(shape, libm::exp(middle), scale) > below
        } else {
            upper(shape, libm::exp(middle), scale) < beyond
        };
        if is_above { high = middle } else { low = middle }
    }
    0.5 * (low + high) - libm::log(shape)
}

/// The regularised incomplete gamma function P(a, x) (NIST DLMF 8.7.1, or 1 − Q).
fn lower(a: f64, x: f64, log_gamma: f64) -> f64 {
    if x < a + 1.0 { series(a, x, log_gamma) } else { 1.0 - fraction(a, x, log_gamma) }
}

/// Q(a, x) = 1 − P(a, x).
fn upper(a: f64, x: f64, log_gamma: f64) -> f64 {
    if x < a + 1.0 { 1.0 - series(a, x, log_gamma) } else { fraction(a, x, log_gamma) }
}

/// P(a, x) by its power series, for x below a + 1.
fn series(a: f64, x: f64, log_gamma: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
    while term > sum * 1e-15 {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    sum * libm::exp(a * libm::log(x) - x - log_gamma)
}

/// Q(a, x) by its continued fraction (NIST DLMF 8.9.2) from the front, for x from a + 1 on.
fn fraction(a: f64, x: f64, log_gamma: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1e300, 1.0 / b);
    let mut value = d;
    for i in 1..500 {
        let i = f64::from(i);
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / (an * d + b);
        c = b + an / c;
        let change = d * c;
        value *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value * libm::exp(a * libm::log(x) - x - log_gamma)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shape 1 is the exponential distribution: the quantile is x. Shape 1/2: half the square of a normal number, of which
    /// 1.959964 is exceeded by 5 % both ways. Shape 2: e^−2y·(1 + 2y).
    #[test]
    fn quantiles_invert_closed_forms() {
        for x in [1e-6, 0.01, 0.7, 3.0, 30.0] {
            let found = log_quantile(1.0, x);
            assert!((found - libm::log(x)).abs() < 1e-9, "{x}: {found}");
            let y = 2.0 * libm::exp(log_quantile(2.0, x));
            let beyond = libm::exp(-y) * (1.0 + y);
            assert!((beyond / libm::exp(-x) - 1.0).abs() < 1e-9, "{x}: {beyond}");
        }
        let found = libm::exp(log_quantile(0.5, -libm::log(0.05)));
        assert!((found - 1.959_964 * 1.959_964).abs() < 1e-5, "{found}");
    }
}
