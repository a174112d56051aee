//! The letters of figures without a browser: Arimo, with the widths of Arial, Helvetica and Liberation Sans. So texts have the
//! same room in every viewer, and pixels are the same on every machine.

use std::sync::LazyLock;
use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// The font that an SVG asks for.
pub(super) const FAMILY: &str = "Arimo, Arial, Helvetica, 'Liberation Sans', sans-serif";

/// The font's file.
pub(super) const FILE: &[u8] = include_bytes!("../../assets/arimo.ttf");

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(FILE, 0).expect("the font is part of the program"));

/// Measures of the whole font, over its size.
pub(super) struct Sizes {
    /// All glyphs lie within: left, bottom, right, top.
    pub(super) bounds: [f64; 4],
    pub(super) ascent: f64,
    /// Below the base line, hence negative.
    pub(super) descent: f64,
    pub(super) capitals: f64,
}

pub(super) fn sizes() -> Sizes {
    let of_size = |units: i16| f64::from(units) / f64::from(FACE.units_per_em());
    let all = FACE.global_bounding_box();
    Sizes {
        bounds: [all.x_min, all.y_min, all.x_max, all.y_max].map(of_size),
        ascent: of_size(FACE.ascender()),
        descent: of_size(FACE.descender()),
        capitals: of_size(FACE.capital_height().unwrap_or(FACE.ascender())),
    }
}

/// The number of a letter's glyph; none, if the font lacks it.
pub(super) fn glyph(letter: char) -> Option<u16> {
    FACE.glyph_index(letter).map(|glyph| glyph.0)
}

/// How wide a text is \[px\].
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// How far a letter goes, over its size; a letter that the font lacks has the room of an n.
pub(super) fn advance(letter: char) -> f64 {
    let glyph = FACE.glyph_index(letter).or_else(|| FACE.glyph_index('n'));
    let units = glyph.and_then(|glyph| FACE.glyph_hor_advance(glyph)).unwrap_or_default();
    f64::from(units) / f64::from(FACE.units_per_em())
}

/// The outline of a text that begins at the origin, on its base line.
pub(super) fn outline(text: &str, size: f64) -> Option<Path> {
    let mut all = PathBuilder::new();
    let scale = (size / f64::from(FACE.units_per_em())) as f32;
    let mut at = 0.0;
    for letter in text.chars() {
        let mut glyph = Glyph(PathBuilder::new());
        if let Some(index) = FACE.glyph_index(letter) {
            FACE.outline_glyph(index, &mut glyph);
        }
        // The font's y axis points up.
        let place = Transform::from_row(scale, 0.0, 0.0, -scale, at as f32, 0.0);
        if let Some(path) = glyph.0.finish().and_then(|path| path.transform(place)) {
            all.push_path(&path);
        }
        at += advance(letter) * size;
    }
    all.finish()
}

struct Glyph(PathBuilder);

impl OutlineBuilder for Glyph {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}
