//! Marks on a panel.

use super::super::scene::{Anchor, INK, Item, Pen};
use super::super::{Bar, Chart, Marks, Point, Series, Side, Symbol};
use super::frame::Frame;
use super::{TEXT, group, text};

/// Draws coloured marks first, then marks in the text's colour; symbols above lines, texts above all.
pub(super) fn draw(chart: &Chart, frame: &Frame, items: &mut Vec<Item>) {
    let rank = |series: &Series| match &series.marks {
        Marks::Bars { .. } => 0,
        Marks::Line { .. } => 1,
        Marks::Segments { .. } => 2,
        Marks::Symbols { .. } => 4,
        Marks::Labels { .. } => 6,
    } + i32::from(series.colour.is_none() && !matches!(series.marks, Marks::Segments { .. }));
    let mut all: Vec<&Series> = frame.panel.series.iter().collect();
    all.sort_by_key(|series| rank(series));
    for series in all {
        let look = |name: &Option<String>, keys: &[super::Key]| {
            let key = name.as_ref().and_then(|name| keys.iter().find(|key| key.name == *name));
            key.map(|key| key.look.clone())
        };
        let colour = look(&series.colour, &chart.colours).unwrap_or_else(|| INK.into());
        let dash = look(&series.dash, &chart.dashes).unwrap_or_default();
        let pen = |width: f64| Pen { dash: dash.clone(), ..Pen::new(&colour, width) };
        let named = [("colour", &series.colour), ("dash", &series.dash)];
        let named = named.iter().filter_map(|(kind, name)| Some((*kind, name.as_deref()?)));
        items.push(group("series", &named.collect::<Vec<_>>()));
        match &series.marks {
            Marks::Line { points, stepped, dotted } => {
                line(frame, points, *stepped, *dotted, &pen(1.7), items);
            }
            Marks::Bars { bars, lying } => {
                bars.iter().for_each(|bar| draw_bar(frame, bar, *lying, &colour, items));
            }
            Marks::Segments { segments, thick } => {
                let faint = if series.colour.is_none() { Chart::opacity(*thick) } else { 1.0 };
                for [x, y, x2, y2] in segments {
                    let points = vec![frame.at(*x, *y), frame.at(*x2, *y2)];
                    items.push(Item::Line { points, pen: pen(*thick).faint(faint) });
                }
            }
            Marks::Symbols { symbol, at } => {
                at.iter().for_each(|[x, y]| draw_symbol(*symbol, frame.at(*x, *y), &colour, items));
            }
            Marks::Labels { labels } => {
                for label in labels {
                    let [x, y] = frame.at(label.x, label.y);
                    let (at, anchor) = match label.side {
                        Side::Within => ([x, y + 4.0], Anchor::Middle),
                        Side::Left => ([x - 7.0, y + 4.0], Anchor::End),
                        Side::Right => ([x + 7.0, y + 4.0], Anchor::Start),
                        Side::Above => ([x, y - 7.0], Anchor::Middle),
                        Side::Below => ([x, y + 17.0], Anchor::Middle),
                    };
                    let mut label_item = text(at, &label.text, anchor);
                    if let (Item::Text { colour, .. }, Side::Within) = (&mut label_item, label.side) {
                        *colour = "#ffffff";
                    }
                    items.push(label_item);
                }
            }
        }
        items.push(Item::Close);
    }
}

/// A line, its dots, and the band of its intervals.
fn line(frame: &Frame, points: &[Point], stepped: bool, dotted: bool, pen: &Pen, items: &mut Vec<Item>) {
    let ends = |upper: bool| {
        let end = move |p: &Point| {
            let (low, high) = p.interval.unwrap_or((p.y, p.y));
            frame.within(p.x, if upper { high } else { low })
        };
        points.iter().map(end)
    };
    if points.iter().any(|p| p.interval.is_some()) {
        let band = ends(true).chain(ends(false).rev()).collect();
        items.push(Item::Area { points: band, colour: pen.colour.clone(), opacity: 0.15 });
    }
    if dotted {
        for [x, y] in points.iter().map(|p| frame.at(p.x, p.y)) {
            items.push(Item::Dot { at: [x, y], radius: 2.6, colour: pen.colour.clone() });
        }
    }
    // A value that is no number breaks the line.
    for part in points.split(|p| !p.y.is_finite()) {
        let mut path: Vec<[f64; 2]> = Vec::with_capacity(part.len());
        for [x, y] in part.iter().map(|p| frame.at(p.x, p.y)) {
            if let Some(&[_, before]) = path.last().filter(|_| stepped) {
                path.push([x, before]);
            }
            path.push([x, y]);
        }
        items.extend(frame.clipped(&path).into_iter().map(|points| Item::Line { points, pen: pen.clone() }));
    }
}

/// A bar and its interval.
fn draw_bar(frame: &Frame, bar: &Bar, lying: bool, colour: &str, items: &mut Vec<Item>) {
    let at = |along: f64, side: f64| if lying { frame.at(along, side) } else { frame.at(side, along) };
    let (a, b) = bar.sides;
    let points = vec![at(bar.from, a), at(bar.to, a), at(bar.to, b), at(bar.from, b)];
    items.push(Item::Area { points, colour: colour.into(), opacity: 1.0 });
    if let Some((low, high)) = bar.interval {
        let middle = f64::midpoint(a, b);
        let end = |along: f64| if lying { frame.within(along, middle) } else { frame.within(middle, along) };
        let points = vec![end(low), end(high)];
        items.push(Item::Line { points, pen: Pen::new(INK, 1.2) });
    }
}

fn draw_symbol(symbol: Symbol, [x, y]: [f64; 2], colour: &str, items: &mut Vec<Item>) {
    let mut line = |points: Vec<[f64; 2]>, width: f64, opacity: f64| {
        items.push(Item::Line { points, pen: Pen::new(colour, width).faint(opacity) });
    };
    let half = TEXT / 2.0 - 1.0;
    match symbol {
        Symbol::Tick => line(vec![[x, y - 9.0], [x, y + 9.0]], 1.5, 0.65),
        Symbol::Cross => {
            line(vec![[x - half, y - half], [x + half, y + half]], 1.5, 1.0);
            line(vec![[x - half, y + half], [x + half, y - half]], 1.5, 1.0);
        }
        Symbol::Diamond => {
            line(vec![[x, y - half], [x + half, y], [x, y + half], [x - half, y], [x, y - half]], 1.5, 1.0);
        }
        Symbol::Dot | Symbol::Node | Symbol::Disc => {
            let radius = match symbol {
                Symbol::Disc => 17.0,
                Symbol::Dot => 5.0,
                _ => 4.0,
            };
            items.push(Item::Dot { at: [x, y], radius, colour: colour.into() });
        }
    }
}
