//! Forms of numbers: as many digits as their precision justifies.

use std::fmt::Display;

/// An interval that is less than this is nothing, in every unit of a table: times are whole nanoseconds.
const LEAST: f64 = 1e-9;

/// A mean with half of its 95 % interval, to the digit that the interval justifies: 3.85 ± 0.51. Half of the interval has two
/// significant digits, the mean four at most, so that 418.07 ± 0.456 is 418.1 ± 0.5; an exact number, or one of a single seed,
/// has four.
pub fn measured(mean: f64, half_width: Option<f64>) -> String {
    let Some(half) = half_width.filter(|half| half.is_finite() && mean.is_finite()) else {
        return exact(mean);
    };
    // Differences in only the last bits of a sum count as none, also where the sum is zero: all samples agree, and there is no
    // interval to write.
    if half <= 1e-9 * mean.abs() || half < LEAST {
        return exact(mean);
    }
    let decimals = decimals(half, 2).min(decimals(mean, 4)).max(0);
    // Half of an interval so small that it would round to nothing is said with one digit of its own.
    let own = if half < 0.5 * 10f64.powi(-decimals) { decimals_of(half, 1) } else { decimals as usize };
    let decimals = decimals as usize;
    format!("{} ± {half:.own$}", fixed(mean, decimals))
}

/// A mean with a standard deviation, to the digits that the deviation justifies: 0.63 (0.21).
pub fn spread(mean: f64, deviation: Option<f64>) -> String {
    let text = measured(mean, deviation);
    match text.split_once(" ± ") {
        Some((mean, deviation)) => format!("{mean} ({deviation})"),
        None => text,
    }
}

/// A number that is exact or has no known interval: four significant digits, no zeros at the end.
pub fn exact(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let text = format!("{x:.*}", decimals_of(x, 4));
    let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    without_sign_of_zero(short.into())
}

/// A number with so many decimals; a zero has no sign.
pub fn fixed(x: f64, decimals: usize) -> String {
    without_sign_of_zero(format!("{x:.decimals$}"))
}

/// A difference with its sign and so many decimals; a zero has none: +1.2, 0.0, -0.3.
pub fn difference(x: f64, decimals: usize) -> String {
    let text = fixed(x, decimals);
    let is_zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if is_zero || text.starts_with('-') { text } else { format!("+{text}") }
}

/// A share as a percentage with one decimal: 12.5 %.
pub fn percent(share: f64) -> String {
    format!("{} %", fixed(100.0 * share, 1))
}

/// A count with its noun: `1 study`, `2 studies`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let word = if count == N::from(1) { one } else { many };
    format!("{count} {word}")
}

/// A number as it is printed in a paper.
pub fn printed(x: f64) -> String {
    x.to_string()
}

/// How many decimals show so many significant digits of a number; fewer than none for large ones.
fn decimals(x: f64, significant: i32) -> i32 {
    if x == 0.0 { i32::MAX } else { significant - 1 - x.abs().log10().floor() as i32 }
}

fn decimals_of(x: f64, significant: i32) -> usize {
    if x == 0.0 { 0 } else { decimals(x, significant).clamp(0, 12) as usize }
}

fn without_sign_of_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.into(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_says_how_many_digits() {
        let of = |mean, half| measured(mean, Some(half));
        assert_eq!(of(418.07, 0.456), "418.1 ± 0.5");
        assert_eq!(of(3.851, 0.5127), "3.85 ± 0.51");
        assert_eq!(of(302.2, 75.96), "302 ± 76");
        assert_eq!(of(33.58, 75.96), "34 ± 76");
        assert_eq!(of(889.1, 149.7), "889 ± 150");
        assert_eq!(of(0.02431, 0.003_237), "0.0243 ± 0.0032");
        assert_eq!(of(0.0, 0.0), "0");
        assert_eq!(of(1.0, 0.0), "1");
        assert_eq!(of(0.9866, 1e-15), "0.9866");
        assert_eq!(of(-0.04, 1.2), "0.0 ± 1.2");
        assert_eq!(of(0.0, 4e-16), "0");
        assert_eq!(of(1e-6, 3e-13), "0.000001");
        assert_eq!(of(12_345.6, 0.2), "12346 ± 0.2", "an interval is never nothing");
    }

    #[test]
    fn exact_number_has_four_digits() {
        assert_eq!(
            [354.17, 1.0, 0.98, 841.0, 0.0, 123_456.7, 0.000_123_456, -0.0].map(exact),
            ["354.2", "1", "0.98", "841", "0", "123457", "0.0001235", "0"]
        );
        assert_eq!(measured(f64::NAN, Some(1.0)), "–");
        assert_eq!(measured(2.5, None), "2.5");
        assert_eq!(printed(94.0), "94");
    }

    #[test]
    fn a_zero_has_no_sign() {
        assert_eq!([-0.0, -1e-17, -0.000_4, 0.0].map(percent), ["0.0 %"; 4]);
        assert_eq!([0.125, -0.125].map(percent), ["12.5 %", "-12.5 %"]);
        assert_eq!(
            [-0.04, 0.04, -0.0, -0.06, 0.06].map(|x| difference(x, 1)),
            ["0.0", "0.0", "0.0", "-0.1", "+0.1"]
        );
        assert_eq!([-0.4, -0.6].map(|x| fixed(x, 0)), ["0", "-1"]);
    }

    #[test]
    fn one_is_singular() {
        assert_eq!([0u8, 1, 2].map(|n| counted(n, "flow", "flows")), ["0 flows", "1 flow", "2 flows"]);
        assert_eq!(counted(1.0, "time", "times"), "1 time");
    }

    #[test]
    fn a_spread_has_the_digits_of_an_interval() {
        assert_eq!(spread(0.6252, Some(0.2058)), "0.63 (0.21)");
        assert_eq!(spread(3.6801, Some(2.294)), "3.7 (2.3)");
        assert_eq!(spread(3.6801, None), "3.68");
    }
}
