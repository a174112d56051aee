//! Lines over a parameter, from a table.

use super::palette::{self, DASHES_MAX};
use super::scale::{Span, wrapped};
use super::{Axis, Chart, Height, Key, Marks, Panel, Point, Series, Symbol, Ticks};

/// A row of a table that is drawn as lines: rows of one panel, colour and dash are the points of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Which panel it is in.
    pub panel: String,
    /// Whose colour it has, such as a flow's name.
    pub colour: String,
    /// Whose dashes it has, such as a law's name; empty, if there are none to tell apart.
    pub dash: String,
    /// Where it is.
    pub x: At,
    /// Its value.
    pub y: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// The paper's number.
    pub paper: Option<f64>,
    /// A number of another origin.
    pub reference: Option<f64>,
}

/// A place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum At {
    /// A number.
    Number(f64),
    /// A word; words stand in the order in which they first come.
    Word(String),
}

impl Default for At {
    fn default() -> Self {
        Self::Number(0.0)
    }
}

/// What a figure and its axes are called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Titles {
    /// In the names of files.
    pub name: String,
    /// The headline.
    pub title: String,
    /// The x axis, with its unit.
    pub x: String,
    /// The y axis, with its unit.
    pub y: String,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    pub log_y: bool,
}

impl Chart {
    /// Lines over a parameter: one per panel, colour and dash, with the interval as a band, the paper's numbers as crosses and
    /// others as diamonds.
    pub fn lines(titles: &Titles, rows: &[Observation]) -> Self {
        let rows = &told_apart(rows);
        let words = words(rows);
        let place = |row: &Observation| match &row.x {
            At::Number(x) => *x,
            At::Word(word) => words.iter().position(|w| w == word).unwrap_or(0) as f64,
        };
        let (x, y) = (x_axis(titles, rows, &words), y_axis(titles, rows));
        let (colours, dashes) = keys(rows);
        let told = distinct(rows.iter().map(|r| r.dash.as_str())).len() > 1;
        let mut panels = Vec::new();
        for title in distinct(rows.iter().map(|r| r.panel.as_str())) {
            let mut panel = Panel::new(title, x.clone(), y.clone(), Height::Pixels(280.0));
            let here: Vec<&Observation> = rows.iter().filter(|r| r.panel == title).collect();
            let mut curves: Vec<(&str, &str)> = Vec::new();
            for row in &here {
                let curve = (row.colour.as_str(), row.dash.as_str());
                if !curves.contains(&curve) {
                    curves.push(curve);
                }
            }
            for (colour, dash) in curves {
                let of = |r: &&&Observation| r.colour == colour && r.dash == dash;
                let point = |r: &&Observation| Point { x: place(r), y: r.y, interval: r.interval };
                panel.series.push(Series {
                    name: [colour, dash]
                        .iter()
                        .filter(|n| !n.is_empty())
                        .copied()
                        .collect::<Vec<_>>()
                        .join(", "),
                    colour: Some(colour.into()),
                    dash: (!dashes.is_empty()).then(|| if told { dash } else { colour }.into()),
                    marks: Marks::Line {
                        points: here.iter().filter(of).map(point).collect(),
                        stepped: false,
                        dotted: true,
                    },
                });
            }
            panel.series.extend(printed(
                "paper",
                Symbol::Cross,
                here.iter().filter_map(|r| Some([place(r), r.paper?])),
            ));
            let others = here.iter().filter_map(|r| Some([place(r), r.reference?]));
            panel.series.extend(printed("another origin", Symbol::Diamond, others));
            panels.push(panel);
        }
        let width = (if panels.len() > 1 { 250.0 } else { 280.0 }, 900.0);
        let note = note(&panels);
        Self { name: titles.name.clone(), title: titles.title.clone(), note, colours, dashes, panels, width }
    }
}

/// What lines, bands and symbols mean, as far as there are any.
fn note(panels: &[Panel]) -> String {
    let series = || panels.iter().flat_map(|p| &p.series);
    let bands = series().any(
        |s| matches!(&s.marks, Marks::Line { points, .. } if points.iter().any(|p| p.interval.is_some())),
    );
    let any = |symbol: Symbol| {
        series().any(|s| matches!(s.marks, Marks::Symbols { symbol: of, .. } if of == symbol))
    };
    let mut note = String::new();
    if bands {
        note += "Lines: means over seeds, bands their 95 % intervals.";
    }
    if any(Symbol::Cross) {
        note += " Crosses: the paper's numbers.";
    }
    if any(Symbol::Diamond) {
        note += " Diamonds: numbers of another origin.";
    }
    note.trim_start().into()
}

/// Numbers that are not ours.
pub(crate) fn printed(name: &str, symbol: Symbol, at: impl Iterator<Item = [f64; 2]>) -> Option<Series> {
    let at: Vec<_> = at.collect();
    (!at.is_empty()).then(|| Series::ink(name, Marks::Symbols { symbol, at }))
}

fn words(rows: &[Observation]) -> Vec<String> {
    let word = |row: &'_ Observation| if let At::Word(word) = &row.x { Some(word.clone()) } else { None };
    let mut words = Vec::new();
    for word in rows.iter().filter_map(word) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn x_axis(titles: &Titles, rows: &[Observation], words: &[String]) -> Axis {
    if !words.is_empty() {
        let words = words.iter().map(|word| wrapped(word, 14)).collect();
        return Axis::of_words(&titles.x, words);
    }
    let values: Vec<f64> =
        rows.iter().filter_map(|r| if let At::Number(x) = r.x { Some(x) } else { None }).collect();
    let span = Span::of(values.iter().copied());
    if titles.log_x {
        return Axis::of(&titles.x, span.powers(), Ticks::Powers);
    }
    let whole = values.iter().all(|x| x.fract() == 0.0);
    Axis::of(&titles.x, span.with_margin(), if whole { Ticks::Whole } else { Ticks::Numbers })
}

fn y_axis(titles: &Titles, rows: &[Observation]) -> Axis {
    let ends = |r: &Observation| r.interval.map_or([r.y, r.y], |(low, high)| [low, high]);
    let values = rows.iter().flat_map(|r| ends(r).into_iter().chain([r.y]).chain(r.paper).chain(r.reference));
    let span = Span::of(values);
    if titles.log_y {
        return Axis::of(&titles.y, span.powers(), Ticks::Powers);
    }
    Axis::of(&titles.y, span.near_zero(), Ticks::Numbers)
}

/// The same rows with the more numerous of two distinctions as colours, and with both in one where there are too many dashes.
fn told_apart(rows: &[Observation]) -> Vec<Observation> {
    let colours = distinct(rows.iter().map(|r| r.colour.as_str())).len();
    let dashes = distinct(rows.iter().map(|r| r.dash.as_str())).len();
    let turned = |row: &Observation| match (dashes > colours, colours.min(dashes) > DASHES_MAX) {
        (_, true) => Observation {
            colour: format!("{}, {}", row.colour, row.dash),
            dash: String::new(),
            ..row.clone()
        },
        (true, false) => Observation { colour: row.dash.clone(), dash: row.colour.clone(), ..row.clone() },
        (false, false) => row.clone(),
    };
    rows.iter().map(turned).collect()
}

/// Where two things are told apart, one has colours and the other dashes; else each line has its colour, and dashes where there are
/// more lines than colours.
fn keys(rows: &[Observation]) -> (Vec<Key>, Vec<Key>) {
    let dashes = distinct(rows.iter().map(|r| r.dash.as_str()));
    let (colours, same) = palette::strokes(&distinct(rows.iter().map(|r| r.colour.as_str())));
    if dashes.len() > 1 {
        return (colours, palette::dashes(&dashes));
    }
    let broken = same.iter().any(|key| !key.look.is_empty());
    (colours, if broken { same } else { Vec::new() })
}

/// Each item once, in the order of first coming.
pub(crate) fn distinct<'a>(items: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}
