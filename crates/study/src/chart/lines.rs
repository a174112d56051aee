//! Lines over a parameter, from a table.

use super::palette::{self, DASHES_MAX};
use super::scale::{Span, wrapped};
use super::{Axis, Chart, Height, Key, Marks, Panel, Point, Series, Symbol, Ticks};

/// A row of a table that is drawn as lines: rows of one panel, colour and dash are the points of a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Which panel it is in.
    pub panel: String,
    /// The name that decides its colour, such as a flow's.
    pub colour: String,
    /// The name that decides its dashes, such as a law's; empty, if there are none to tell apart.
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

/// The titles of a figure and its axes.
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

/// More bands than this in one panel hide each other, and the lines.
const BANDS_MAX: usize = 8;

impl Chart {
    /// Lines over a parameter: one per panel, colour and dash, with the interval as a band, the paper's numbers as crosses and
    /// others as diamonds, in their line's colour. Of very many lines there are no bands.
    pub fn lines(titles: &Titles, rows: &[Observation]) -> Self {
        let mut rows = told_apart(rows);
        let crowded = distinct(rows.iter().map(|r| r.panel.as_str()))
            .iter()
            .any(|panel| curves(rows.iter().filter(|r| r.panel == *panel)).len() > BANDS_MAX);
        let hidden = crowded && rows.iter().any(|r| r.interval.is_some());
        if hidden {
            rows.iter_mut().for_each(|row| row.interval = None);
        }
        let words = words(&rows);
        let (x, (y, cut)) = (x_axis(titles, &rows, &words), y_axis(titles, &rows));
        let (colours, dashes) = keys(&rows);
        let told = distinct(rows.iter().map(|r| r.dash.as_str())).len() > 1;
        let dash_of = |(colour, dash): (&str, &str)| {
            (!dashes.is_empty()).then(|| if told { dash } else { colour }.into())
        };
        let panel = |title: &&str| {
            let here: Vec<&Observation> = rows.iter().filter(|r| r.panel == *title).collect();
            let mut panel = Panel::new(title, x.clone(), y.clone(), Height::Pixels(280.0));
            let mut foreign = Vec::new();
            for curve in curves(here.iter().copied()) {
                let of: Vec<_> = here.iter().copied().filter(|r| curve_of(r) == curve).collect();
                let (line, printed) = line(curve, &of, &words);
                panel.series.push(Series { dash: dash_of(curve), ..line });
                foreign.extend(printed);
            }
            panel.series.extend(foreign);
            panel
        };
        let panels: Vec<Panel> = distinct(rows.iter().map(|r| r.panel.as_str())).iter().map(panel).collect();
        let width = (if panels.len() > 1 { 230.0 } else { 280.0 }, 900.0);
        let note = note(&panels, cut, hidden);
        Self {
            name: titles.name.clone(),
            title: titles.title.clone(),
            note,
            colours,
            dashes,
            panels,
            width,
            moments: Vec::new(),
        }
        .legible()
    }
}

/// A line through its rows, and symbols in its colour at numbers that are not ours.
fn line((colour, dash): (&str, &str), rows: &[&Observation], words: &[String]) -> (Series, Vec<Series>) {
    let place = |row: &Observation| match &row.x {
        At::Number(x) => *x,
        At::Word(word) => words.iter().position(|w| w == word).unwrap_or(0) as f64,
    };
    let name = [colour, dash].iter().filter(|n| !n.is_empty()).copied().collect::<Vec<_>>().join(", ");
    let points = rows.iter().map(|r| Point { x: place(r), y: r.y, interval: r.interval }).collect();
    let papers = rows.iter().filter_map(|r| Some([place(r), r.paper?]));
    let others = rows.iter().filter_map(|r| Some([place(r), r.reference?]));
    let foreign = [
        printed(&format!("paper: {name}"), Symbol::Cross, papers),
        printed(&format!("another origin: {name}"), Symbol::Diamond, others),
    ];
    let coloured = |series: Series| Series { colour: Some(colour.into()), ..series };
    let foreign = foreign.into_iter().flatten().map(coloured).collect();
    (Series::coloured(name, colour, Marks::Line { points, stepped: false, dotted: true }), foreign)
}

/// The legend of lines, bands and symbols, as far as there are any.
fn note(panels: &[Panel], cut: bool, hidden: bool) -> String {
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
    if cut {
        note += " Intervals that are much longer than the lines are high are cut.";
    }
    if hidden {
        note += " So many lines are drawn without their intervals, which are in the tables.";
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

/// Which line a row is of: its colour and its dashes.
fn curve_of(row: &Observation) -> (&str, &str) {
    (&row.colour, &row.dash)
}

/// Colours and dashes of lines, in the order of first coming.
fn curves<'a>(rows: impl Iterator<Item = &'a Observation>) -> Vec<(&'a str, &'a str)> {
    let mut curves: Vec<(&str, &str)> = Vec::new();
    for curve in rows.map(curve_of) {
        if !curves.contains(&curve) {
            curves.push(curve);
        }
    }
    curves
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

/// The axis, and whether an interval goes beyond it.
fn y_axis(titles: &Titles, rows: &[Observation]) -> (Axis, bool) {
    let values = rows.iter().flat_map(|r| [Some(r.y), r.paper, r.reference].into_iter().flatten());
    let intervals = rows.iter().filter_map(|r| r.interval);
    if titles.log_y {
        let ends = intervals.flat_map(|(low, high)| [low, high]);
        return (Axis::of(&titles.y, Span::of(values.chain(ends)).powers(), Ticks::Powers), false);
    }
    let (span, cut) = Span::of(values).around(intervals);
    (Axis::of(&titles.y, span.near_zero(), Ticks::Numbers), cut)
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
