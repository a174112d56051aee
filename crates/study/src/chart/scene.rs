//! What is on a page: lines, areas and texts in pixels, as SVG or as PNG.

use super::font;
use crate::markup::escape;
use std::fmt::Write;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Shader, Stroke, StrokeDash, Transform,
};

/// The colour of lines and letters.
pub(super) const INK: &str = "#1c2126";

/// A page.
#[derive(Clone, Debug, Default)]
pub(super) struct Scene {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) items: Vec<Item>,
}

/// Something on a page.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A line through points.
    Line { points: Vec<[f64; 2]>, pen: Pen },
    /// An area between points.
    Area { points: Vec<[f64; 2]>, colour: String, opacity: f64 },
    /// A filled circle.
    Dot { at: [f64; 2], radius: f64, colour: String },
    /// A text.
    Text { at: [f64; 2], text: String, size: f64, anchor: Anchor, upwards: bool, colour: &'static str },
}

/// How a line is drawn.
#[derive(Clone, Debug)]
pub(super) struct Pen {
    pub(super) colour: String,
    pub(super) width: f64,
    /// Lengths of dashes and gaps, such as "6 3".
    pub(super) dash: String,
    pub(super) opacity: f64,
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Pen {
    pub(super) fn new(colour: &str, width: f64) -> Self {
        Self { colour: colour.into(), width, dash: String::new(), opacity: 1.0 }
    }

    pub(super) fn faint(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }
}

impl Scene {
    /// As SVG; `title` is what a reader without eyes hears.
    pub(super) fn svg(&self, title: &str) -> String {
        let (w, h) = (short(self.width), short(self.height));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" font-family=\"{}\">\n<title>{}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n",
            font::FAMILY,
            escape(title)
        );
        for item in &self.items {
            write_item(&mut svg, item);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// As PNG with so many pixels for each of the page's. None, if that is more than memory holds.
    pub(super) fn png(&self, scale: f64) -> Option<Vec<u8>> {
        let side = |length: f64| (length * scale).ceil().clamp(1.0, 30_000.0) as u32;
        let mut pixels = Pixmap::new(side(self.width), side(self.height))?;
        pixels.fill(tiny_skia::Color::WHITE);
        let zoom = Transform::from_scale(scale as f32, scale as f32);
        for item in &self.items {
            paint_item(&mut pixels, item, zoom);
        }
        pixels.encode_png().ok()
    }
}

/// A hundredth of a pixel is enough.
fn short(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

fn corners(points: &[[f64; 2]]) -> String {
    points.iter().map(|[x, y]| format!("{},{}", short(*x), short(*y))).collect::<Vec<_>>().join(" ")
}

fn write_item(svg: &mut String, item: &Item) {
    let faint = |name: &str, opacity: f64| {
        if opacity < 1.0 { format!(" {name}-opacity=\"{}\"", short(opacity)) } else { String::new() }
    };
    let _ = match item {
        Item::Line { points, pen } => {
            let dash = if pen.dash.is_empty() {
                String::new()
            } else {
                format!(" stroke-dasharray=\"{}\"", pen.dash)
            };
            writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{dash}{} stroke-linejoin=\"round\"/>",
                corners(points),
                pen.colour,
                short(pen.width),
                faint("stroke", pen.opacity)
            )
        }
        Item::Area { points, colour, opacity } => {
            writeln!(
                svg,
                "<polygon points=\"{}\" fill=\"{colour}\"{}/>",
                corners(points),
                faint("fill", *opacity)
            )
        }
        Item::Dot { at: [x, y], radius, colour } => {
            writeln!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{colour}\"/>",
                short(*x),
                short(*y),
                short(*radius)
            )
        }
        Item::Text { at: [x, y], text, size, anchor, upwards, colour } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y) = (short(*x), short(*y));
            let turn = if *upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{colour}\"{turn}>{}</text>",
                short(*size),
                escape(text)
            )
        }
    };
}

fn path(points: &[[f64; 2]], closed: bool) -> Option<tiny_skia::Path> {
    let mut path = PathBuilder::new();
    for (k, [x, y]) in points.iter().enumerate() {
        if k == 0 { path.move_to(*x as f32, *y as f32) } else { path.line_to(*x as f32, *y as f32) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

/// A colour as `#rrggbb`.
fn paint(colour: &str, opacity: f64) -> Paint<'static> {
    let part = |from: usize| {
        colour.get(from..from + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0)
    };
    let colour = tiny_skia::Color::from_rgba8(part(1), part(3), part(5), (opacity * 255.0).round() as u8);
    Paint { shader: Shader::SolidColor(colour), anti_alias: true, ..Paint::default() }
}

fn paint_item(pixels: &mut Pixmap, item: &Item, zoom: Transform) {
    match item {
        Item::Line { points, pen } => {
            let lengths: Vec<f32> = pen.dash.split(' ').filter_map(|n| n.parse().ok()).collect();
            let stroke = Stroke {
                width: pen.width as f32,
                dash: StrokeDash::new(lengths, 0.0),
                line_join: LineJoin::Round,
                line_cap: LineCap::Butt,
                ..Stroke::default()
            };
            if let Some(path) = path(points, false) {
                pixels.stroke_path(&path, &paint(&pen.colour, pen.opacity), &stroke, zoom, None);
            }
        }
        Item::Area { points, colour, opacity } => {
            if let Some(path) = path(points, true) {
                pixels.fill_path(&path, &paint(colour, *opacity), FillRule::Winding, zoom, None);
            }
        }
        Item::Dot { at: [x, y], radius, colour } => {
            if let Some(path) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                pixels.fill_path(&path, &paint(colour, 1.0), FillRule::Winding, zoom, None);
            }
        }
        Item::Text { at: [x, y], text, size, anchor, upwards, colour } => {
            let before = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => font::width(text, *size) / 2.0,
                Anchor::End => font::width(text, *size),
            };
            let turn = if *upwards { -90.0 } else { 0.0 };
            let place =
                zoom.pre_translate(*x as f32, *y as f32).pre_rotate(turn).pre_translate(-before as f32, 0.0);
            if let Some(path) = font::outline(text, *size) {
                pixels.fill_path(&path, &paint(colour, 1.0), FillRule::Winding, place, None);
            }
        }
    }
}

#[cfg(test)]
impl Scene {
    /// Says which texts collide, or stand beyond the page.
    pub(super) fn illegible(&self) -> Vec<String> {
        let boxes: Vec<(&str, [f64; 4])> = self.items.iter().filter_map(letters).collect();
        let mut found = Vec::new();
        for (k, (text, [left, top, right, bottom])) in boxes.iter().enumerate() {
            if *left < 0.0 || *top < 0.0 || *right > self.width || *bottom > self.height {
                found.push(format!("{text}: beyond the page"));
            }
            for (other, [left2, top2, right2, bottom2]) in &boxes[k + 1..] {
                let across = right.min(*right2) - left.max(*left2);
                let down = bottom.min(*bottom2) - top.max(*top2);
                if across > 0.5 && down > 0.5 {
                    found.push(format!("{text} / {other}: {across:.0} x {down:.0} px"));
                }
            }
        }
        found
    }
}

/// A text and where its letters are: left, top, right, bottom.
#[cfg(test)]
fn letters(item: &Item) -> Option<(&str, [f64; 4])> {
    let Item::Text { at: [x, y], text, size, anchor, upwards, .. } = item else { return None };
    let length = font::width(text, *size);
    let before = match anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => length / 2.0,
        Anchor::End => length,
    };
    // From the base line: capitals reach three quarters of the size up, descenders a fifth of it down.
    let (up, down) = (0.74 * size, 0.2 * size);
    Some(if *upwards {
        (text, [x - up, y - length + before, x + down, y + before])
    } else {
        (text, [x - before, y - up, x - before + length, y + down])
    })
}
