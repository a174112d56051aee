//! Figures as data, independent of a drawing format.
//!
//! A [`Chart`] is made once, from an outcome, from a scenario or from a table of one's own, and drawn in one way: as an SVG in a report, as an
//! SVG ([`Chart::svg`]) or a PNG ([`Chart::png`]) by `evenair plot`. Positions are numbers on both axes; where an axis has words, word k stands at k.

mod document;
mod draw;
mod font;
mod legible;
mod lines;
mod palette;
mod pdf;
mod scale;
mod scene;

pub use document::{FILE, Figures};
pub use draw::TooLarge;
pub use lines::{At, Observation, Titles};
pub(crate) use lines::{distinct, printed};
pub(crate) use palette::{STROKES, dashes, fills, strokes};
pub(crate) use scale::{Span, wrapped};
pub use scene::Ground;

use serde::{Deserialize, Serialize};

/// How wide a text of twelve pixels' height is \[px\].
pub(crate) fn text_width(text: &str) -> f64 {
    font::width(text, 12.0)
}

/// A figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Its name in file names: `goodput`.
    pub name: String,
    /// Its headline.
    pub title: String,
    /// The meaning of its marks, for a caption.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The meaning of colours; told in a legend, if there are several.
    pub colours: Vec<Key>,
    /// The meaning of dashes. The same names as those of the colours make one legend of both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dashes: Vec<Key>,
    /// Its panels.
    pub panels: Vec<Panel>,
    /// Its panels at other instants, in the order of time: of a map with moving nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// The least and the greatest width of a panel \[px\]. Panels stand side by side where there is room for the least.
    pub width: (f64, f64),
}

/// A figure's panels at an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The instant \[s\].
    pub time_s: f64,
    /// The panels of then.
    pub panels: Vec<Panel>,
}

/// A name in a legend with its mark: a colour as `#rrggbb`, or dash and gap lengths, such as `6 3`; no mark means an unbroken
/// line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The name.
    pub name: String,
    /// Its shape and size.
    pub look: String,
}

/// One pair of axes and its contents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// Its headline; none, if it is empty.
    pub title: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// How high it is.
    pub height: Height,
    /// The marks drawn.
    pub series: Vec<Series>,
}

/// How high a panel is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Height {
    /// A number of pixels.
    Pixels(f64),
    /// A multiple of its width.
    OfWidth(f64),
}

impl Height {
    /// How high a panel of such a width is \[px\].
    pub(crate) fn of(self, width: f64) -> f64 {
        match self {
            Self::Pixels(height) => height,
            Self::OfWidth(ratio) => (width * ratio).round(),
        }
    }
}

impl Default for Height {
    fn default() -> Self {
        Self::Pixels(240.0)
    }
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// Its title, with its unit.
    pub title: String,
    /// The values at its left or lower end, and at the other.
    pub ends: (f64, f64),
    /// The labels at it.
    pub ticks: Ticks,
}

/// The labels of an axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ticks {
    /// Numbers.
    #[default]
    Numbers,
    /// Whole numbers alone.
    Whole,
    /// Powers of ten: the axis is logarithmic.
    Powers,
    /// Shares, in per cent.
    Shares,
    /// Word k at k; a line break in a word is one in its label.
    Words(Vec<String>),
    /// Nothing: the axis is not drawn.
    Hidden,
}

/// Marks that look the same and are of one thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The subject that it is of.
    pub name: String,
    /// The name of its colour; that of the text, if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<String>,
    /// The name of its dashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dash: Option<String>,
    /// Its marks.
    #[serde(flatten)]
    pub marks: Marks,
}

/// Marks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "marks")]
pub enum Marks {
    /// A line through points, with the interval of each as a band.
    Line {
        /// The points.
        points: Vec<Point>,
        /// Whether a value lasts until the next.
        stepped: bool,
        /// Whether each point has a dot.
        dotted: bool,
    },
    /// Bars from one value to another, with their intervals.
    Bars {
        /// The bars.
        bars: Vec<Bar>,
        /// Whether they lie: values are on the x axis.
        lying: bool,
    },
    /// Straight lines from (x, y) to (x, y).
    Segments {
        /// The lines.
        segments: Vec<[f64; 4]>,
        /// How thick they are \[px\].
        thick: f64,
    },
    /// A symbol at each (x, y).
    Symbols {
        /// Which one.
        symbol: Symbol,
        /// Where.
        at: Vec<[f64; 2]>,
    },
    /// Texts.
    Labels {
        /// The texts.
        labels: Vec<Label>,
    },
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where it is on the x axis.
    pub x: f64,
    /// Its value; null in JSON where there is none, which breaks the line.
    #[serde(deserialize_with = "number_or_none")]
    pub y: f64,
    /// The lower and the upper end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

fn number_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// A bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// The subject that it is of: a flow, a node.
    pub of: String,
    /// Where its sides are.
    pub sides: (f64, f64),
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// The interval of its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// A symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symbol {
    /// A filled dot.
    Dot,
    /// A small dot, such as a node of a map.
    Node,
    /// A large dot that has room for a word.
    Disc,
    /// The paper's numbers.
    Cross,
    /// Numbers of another origin.
    Diamond,
    /// A thin upright line: one seed.
    Tick,
}

/// A text at a place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Label {
    /// Where it is on the x axis.
    pub x: f64,
    /// Where it is on the y axis.
    pub y: f64,
    /// The text itself.
    pub text: String,
    /// On which side of the place it stands.
    pub side: Side,
}

/// On which side of its place a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// On it, in white: inside a disc.
    Within,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Above it.
    Above,
    /// Below it.
    Below,
}

impl Chart {
    /// How opaque lines in the colour of the text are: thin ones are many, and thick ones say something.
    pub(crate) fn opacity(thick: f64) -> f64 {
        match thick {
            ..1.0 => 0.12,
            ..2.0 => 0.45,
            _ => 1.0,
        }
    }

    /// Whether a legend tells of lines rather than of areas.
    pub(crate) fn is_of_lines(&self) -> bool {
        let is_line = |s: &Series| matches!(s.marks, Marks::Line { .. } | Marks::Segments { .. });
        let line = |s: &Series| s.colour.is_some() && is_line(s);
        self.panels.iter().flat_map(|p| &p.series).any(line)
    }
}

impl Panel {
    /// A panel with two axes.
    pub(crate) fn new(title: &str, x: Axis, y: Axis, height: Height) -> Self {
        Self { title: title.into(), x, y, height, series: Vec::new() }
    }
}

impl Axis {
    /// An axis of numbers.
    pub(crate) fn of(title: impl Into<String>, ends: (f64, f64), ticks: Ticks) -> Self {
        Self { title: title.into(), ends, ticks }
    }

    /// An axis with a word in the middle of each of its steps.
    pub(crate) fn of_words(title: impl Into<String>, words: Vec<String>) -> Self {
        Self { title: title.into(), ends: (-0.5, words.len() as f64 - 0.5), ticks: Ticks::Words(words) }
    }

    /// The same with its ends changed: the first word of an upright axis is at the top.
    pub(crate) fn downwards(mut self) -> Self {
        self.ends = (self.ends.1, self.ends.0);
        self
    }

    /// An axis without ticks, which only fixes positions.
    pub(crate) fn hidden(ends: (f64, f64)) -> Self {
        Self { title: String::new(), ends, ticks: Ticks::Hidden }
    }
}

impl Series {
    /// Marks in the colour of the text.
    pub(crate) fn ink(name: impl Into<String>, marks: Marks) -> Self {
        Self { name: name.into(), colour: None, dash: None, marks }
    }

    /// Marks in a colour of the legend's.
    pub(crate) fn coloured(name: impl Into<String>, colour: impl Into<String>, marks: Marks) -> Self {
        Self { name: name.into(), colour: Some(colour.into()), dash: None, marks }
    }
}
