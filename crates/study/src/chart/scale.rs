//! Ends of axes, steps between their ticks, and labels that fit.

/// The range that values span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    low: f64,
    high: f64,
}

impl Span {
    /// The span of values; of none it is that from 0 to 1.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut span = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        for value in values.into_iter().filter(|v| v.is_finite()) {
            span = Self { low: span.low.min(value), high: span.high.max(value) };
        }
        if span.low > span.high { Self { low: 0.0, high: 1.0 } } else { span }
    }

    /// The same with intervals around the values, of which no more is shown than leaves the values readable: beyond them as far as they
    /// and zero span, on either side. Says whether that cuts an interval.
    pub(crate) fn around(self, intervals: impl IntoIterator<Item = (f64, f64)>) -> (Self, bool) {
        let all = intervals.into_iter().fold(self, |span, (low, high)| Self {
            low: if low.is_finite() { span.low.min(low) } else { span.low },
            high: if high.is_finite() { span.high.max(high) } else { span.high },
        });
        let width = self.high.max(0.0) - self.low.min(0.0);
        if width <= 0.0 {
            return (all, false);
        }
        let kept = Self { low: all.low.max(self.low - width), high: all.high.min(self.high + width) };
        (kept, kept.low > all.low || kept.high < all.high)
    }

    /// The least and the greatest value.
    pub(crate) fn ends(self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The greatest distance from zero.
    pub(crate) fn reach(self) -> f64 {
        self.high.abs().max(self.low.abs())
    }

    /// Ends for bars: from zero, to a round number.
    pub(crate) fn with_zero(self) -> (f64, f64) {
        Self { low: self.low.min(0.0), high: self.high.max(0.0) }.rounded()
    }

    /// Ends for lines: from zero, unless all values lie far from it.
    pub(crate) fn near_zero(self) -> (f64, f64) {
        let far = self.low > 0.6 * self.high && self.low > 0.0;
        if far { self.rounded() } else { self.with_zero() }
    }

    /// Ends a little beyond the values.
    pub(crate) fn with_margin(self) -> (f64, f64) {
        let width = if self.high > self.low { self.high - self.low } else { self.high.abs().max(1.0) };
        (self.low - 0.025 * width, self.high + 0.025 * width)
    }

    /// Round ends for symbols, with room for one that would stand on an end.
    pub(crate) fn for_symbols(self) -> (f64, f64) {
        let (low, high) = self.near_zero();
        let room = 0.03 * (high - low);
        let touches = |value: f64, end: f64| (value - end).abs() < 0.6 * room;
        (
            if touches(self.low, low) && low != 0.0 { low - room } else { low },
            if touches(self.high, high) { high + room } else { high },
        )
    }

    /// The values' own ends.
    pub(crate) fn tight(self) -> (f64, f64) {
        if self.high > self.low { (self.low, self.high) } else { self.with_margin() }
    }

    /// Ends of a logarithmic axis: powers of ten, where values are less than a power of ten apart from one.
    pub(crate) fn powers(self) -> (f64, f64) {
        let low = if self.low > 0.0 { self.low } else { self.high.max(1e-9) / 1e3 };
        (10f64.powf(low.log10().floor()), 10f64.powf(self.high.max(low * 1.01).log10().ceil()))
    }

    /// Round ends.
    pub(crate) fn rounded(self) -> (f64, f64) {
        if self.high <= self.low {
            return if self.low.abs() < 1e-300 { (0.0, 1.0) } else { self.with_margin() };
        }
        let step = step(self.high - self.low, 5);
        // A value on a tick needs no further one, even if its last bits differ.
        ((self.low / step + 1e-9).floor() * step, (self.high / step - 1e-9).ceil() * step)
    }
}

/// A round step, 1, 2 or 5 times a power of ten, that makes about so many of a width.
pub(super) fn step(width: f64, count: usize) -> f64 {
    let rough = width / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let mantissa = rough / power;
    power
        * if mantissa < 1.5 {
            1.0
        } else if mantissa < 3.5 {
            2.0
        } else if mantissa < 7.5 {
            5.0
        } else {
            10.0
        }
}

/// The title of an axis so long \[px\], in lines that are no longer.
pub(super) fn title_lines(title: &str, length: f64) -> Vec<String> {
    let letters = (length / 6.4).max(16.0) as usize;
    wrapped(title, letters).split('\n').map(String::from).collect()
}

/// A text in lines of so many letters at most, where words allow.
pub(crate) fn wrapped(text: &str, letters: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= letters {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_round_and_hold_the_values() {
        assert_eq!(Span::of([3.0, 97.0]).with_zero(), (0.0, 100.0));
        assert_eq!(Span::of([0.93, 0.99]).near_zero(), (0.93, 0.99));
        assert_eq!(Span::of([-12.0, 30.0]).with_zero(), (-20.0, 30.0));
        assert_eq!(Span::of([3.0, 4000.0]).powers(), (1.0, 1e4));
        assert_eq!(Span::of([]).with_zero(), (0.0, 1.0));
        assert_eq!(Span::of([0.0, 0.0]).with_zero(), (0.0, 1.0));
    }

    #[test]
    fn interval_of_two_seeds_does_not_hide_means() {
        let (span, cut) = Span::of([-0.4, -0.1]).around([(-6.0, 5.2), (-0.3, 0.1)]);
        assert!((span.low + 0.8).abs() < 1e-12 && (span.high - 0.3).abs() < 1e-12 && cut);
        let (span, cut) = Span::of([0.9, 1.1]).around([(0.5, 1.3)]);
        assert_eq!((span.low, span.high, cut), (0.5, 1.3, false));
    }

    #[test]
    fn symbol_does_not_stand_on_words_beside_axis() {
        let (low, high) = Span::of([0.9, 1.04]).for_symbols();
        assert!(low < 0.9 && high > 1.04, "{low} {high}");
        let (low, high) = Span::of([0.0, 0.6]).for_symbols();
        assert!(low.abs() < 1e-12 && high > 0.6, "{low} {high}");
    }

    #[test]
    fn steps_are_one_two_or_five() {
        for (width, expected) in [(10.0, 2.0), (1.0, 0.2), (23.0, 5.0), (0.07, 0.01)] {
            assert!((step(width, 5) / expected - 1.0).abs() < 1e-12, "{width}");
        }
    }

    #[test]
    fn texts_wrap_between_words() {
        assert_eq!(wrapped("standard TCP over 802.11", 14), "standard TCP\nover 802.11");
    }
}
