//! The ranges of laws' parameters, for their tests.

use crate::Parameters;
use core::fmt::Debug;

/// Asserts that parameters with a value of `good` are taken as they are, and that those with a value of `bad` are refused by
/// this key.
pub(crate) fn assert_range<T: Copy + Debug, P: Parameters + PartialEq + Debug>(
    key: &str,
    with: impl Fn(T) -> P,
    good: &[T],
    bad: &[T],
) {
    for &value in good {
        assert_eq!(with(value).validated(), Ok(with(value)), "{key} = {value:?}");
    }
    for &value in bad {
        assert_eq!(with(value).validated().map_err(|error| error.name), Err(key), "{key} = {value:?}");
    }
}

/// Values of a number that has to be above zero, and finite.
pub(crate) const POSITIVE: (&[f64], &[f64]) = (&[1e-9, 1e9], &[0.0, -1.0, f64::INFINITY, f64::NAN]);

/// Values of a number that has to be zero or more, and finite.
pub(crate) const NOT_NEGATIVE: (&[f64], &[f64]) = (&[0.0, 1e9], &[-1e-9, f64::INFINITY, f64::NAN]);
