//! A page's lines, areas and texts in pixels, as SVG or as PNG; `pdf.rs` has them as PDF.

use super::font;
use crate::markup::escape;
use std::fmt::Write;
use tiny_skia::{
    FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Shader, Stroke, StrokeDash, Transform,
};

/// The colour of lines and letters; on a dark ground it is another.
pub(super) const INK: &str = "#1c2126";

/// The ground of a figure that is a file of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ground {
    /// White, with dark lines and letters.
    #[default]
    Light,
    /// Nearly black, with light lines and letters: for slides and dark pages.
    Dark,
}

impl Ground {
    /// The colour of the ground, and that of lines and letters on it.
    pub(super) const fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::Light => ("#ffffff", INK),
            Self::Dark => ("#171c21", "#e3e7eb"),
        }
    }
}

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
    /// A group begins in an SVG, up to [`Self::Close`], with the attributes that describe it.
    Open(String),
    /// The end of a group.
    Close,
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

impl Anchor {
    /// How much of a text so long lies before its place.
    pub(super) fn before(self, length: f64) -> f64 {
        match self {
            Self::Start => 0.0,
            Self::Middle => length / 2.0,
            Self::End => length,
        }
    }
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
    /// Returns an SVG file; screen readers read `title` and `about`.
    pub(super) fn svg(&self, ground: Ground, title: &str, about: &str) -> String {
        let (colour, ink) = ground.colours();
        let (w, h, title) = (short(self.width), short(self.height), escape(title));
        let size = format!("xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\"");
        let ground =
            format!("<title>{title}</title>\n<rect width=\"{w}\" height=\"{h}\" fill=\"{colour}\"/>");
        self.written(&size, &ground, about, ink)
    }

    /// As an SVG within a page, as wide as a share of its place and in the colour of the text around it, light or dark. It has no title
    /// element, which browsers would show under the pointer wherever it is; `class` tells layouts of one figure apart.
    pub(super) fn svg_within(&self, class: &str, share: f64, title: &str, about: &str) -> String {
        let (width, title) = (short(100.0 * share), escape(title));
        let named = format!("class=\"{class}\" style=\"width:{width}%\" role=\"img\" aria-label=\"{title}\"");
        self.written(&named, "", about, "currentColor")
    }

    /// As SVG: with these attributes, with something before all else, and in this ink.
    fn written(&self, attributes: &str, before: &str, about: &str, ink: &str) -> String {
        let (w, h, family) = (short(self.width), short(self.height), font::FAMILY);
        let mut svg = format!(
            "<svg {attributes} viewBox=\"0 0 {w} {h}\" font-family=\"{family}\" font-size=\"12\" fill=\"none\" stroke-linejoin=\"round\">\n{before}<desc>{}</desc>\n",
            escape(about)
        );
        self.items.iter().for_each(|item| write_item(&mut svg, item, ink));
        svg + "</svg>\n"
    }

    /// As PNG with so many pixels for each of the page's. None, if that is more than memory holds.
    pub(super) fn png(&self, scale: f64, ground: Ground) -> Option<Vec<u8>> {
        let (colour, ink) = ground.colours();
        let side = |length: f64| (length * scale).ceil().clamp(1.0, 30_000.0) as u32;
        let mut pixels = Pixmap::new(side(self.width), side(self.height))?;
        pixels.fill(rgb(colour, 1.0));
        let zoom = Transform::from_scale(scale as f32, scale as f32);
        for item in &self.items {
            paint_item(&mut pixels, item, zoom, ink);
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

/// A way through points as an SVG path has it: steps from one to the next, each a whole number of tenths of a pixel, so that the sum of
/// steps does not stray.
fn way(points: &[[f64; 2]]) -> String {
    let tenths = |c: f64| (c * 10.0).round();
    let told = |steps: f64| short(steps / 10.0);
    let mut way = String::new();
    let mut last = [0.0; 2];
    for (k, point) in points.iter().enumerate() {
        let now = point.map(tenths);
        let (across, down) = (told(now[0] - last[0]), told(now[1] - last[1]));
        way += &match (k, across.as_str(), down.as_str()) {
            (0, ..) => format!("M{across} {down}"),
            (_, "0", "0") => String::new(),
            (_, _, "0") => format!("h{across}"),
            (_, "0", _) => format!("v{down}"),
            _ => format!("l{across} {down}"),
        };
        last = now;
    }
    way
}

fn write_item(svg: &mut String, item: &Item, ink: &str) {
    let look = |colour: &'_ str| if colour == INK { ink.to_string() } else { colour.to_string() };
    let unless = |name: &str, value: &str, default: &str| {
        if value == default { String::new() } else { format!(" {name}=\"{value}\"") }
    };
    let faint = |name: &str, opacity: f64| unless(&format!("{name}-opacity"), &short(opacity), "1");
    let _ = match item {
        Item::Line { points, pen } => {
            let dash = unless("stroke-dasharray", &pen.dash, "");
            let width = unless("stroke-width", &short(pen.width), "1");
            let (way, faint) = (way(points), faint("stroke", pen.opacity));
            writeln!(svg, "<path d=\"{way}\" stroke=\"{}\"{width}{dash}{faint}/>", look(&pen.colour))
        }
        Item::Area { points, colour, opacity } => {
            let (way, faint) = (way(points), faint("fill", *opacity));
            writeln!(svg, "<path d=\"{way}z\" fill=\"{}\"{faint}/>", look(colour))
        }
        Item::Dot { at: [x, y], radius, colour } => {
            let (x, y, radius) = (short(*x), short(*y), short(*radius));
            writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{}\"/>", look(colour))
        }
        Item::Open(attributes) => writeln!(svg, "<g{attributes}>"),
        Item::Close => writeln!(svg, "</g>"),
        Item::Text { at: [x, y], text, size, anchor, upwards, colour } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let (x, y, colour) = (short(*x), short(*y), look(colour));
            let more = unless("font-size", &short(*size), "12") + &unless("text-anchor", anchor, "start");
            let turn = if *upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            let text = escape(text);
            writeln!(svg, "<text x=\"{x}\" y=\"{y}\"{more} fill=\"{colour}\"{turn}>{text}</text>")
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
fn rgb(colour: &str, opacity: f64) -> tiny_skia::Color {
    let part = |from: usize| {
        colour.get(from..from + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0)
    };
    tiny_skia::Color::from_rgba8(part(1), part(3), part(5), (opacity * 255.0).round() as u8)
}

fn paint_item(pixels: &mut Pixmap, item: &Item, zoom: Transform, ink: &str) {
    let paint = |colour: &str, opacity: f64| {
        let shader = Shader::SolidColor(rgb(if colour == INK { ink } else { colour }, opacity));
        Paint { shader, anti_alias: true, ..Paint::default() }
    };
    match item {
        Item::Open(_) | Item::Close => (),
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
            let before = anchor.before(font::width(text, *size));
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
    let before = anchor.before(length);
    // From the base line: capitals reach three quarters of the size up, descenders a fifth of it down.
    let (up, down) = (0.74 * size, 0.2 * size);
    Some(if *upwards {
        (text, [x - up, y - length + before, x + down, y + before])
    } else {
        (text, [x - before, y - up, x - before + length, y + down])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_along_a_way_do_not_stray() {
        assert_eq!(
            way(&[[1.0, 2.0], [4.0, 2.0], [4.0, 2.04], [4.0, 0.5], [3.26, 0.0]]),
            "M1 2h3v-1.5l-0.7 -0.5"
        );
        // A thousand steps of a third of a pixel end where they should, though no step is a third.
        let points: Vec<[f64; 2]> = (0..=1000).map(|k| [f64::from(k) / 3.0, 0.0]).collect();
        let steps = way(&points).split('h').skip(1).map(|step| step.parse::<f64>().unwrap()).sum::<f64>();
        assert!((steps - 1000.0 / 3.0).abs() < 0.06, "{steps}");
    }
}
