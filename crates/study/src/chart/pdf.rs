//! A page as PDF (ISO 32000-1), for papers and slides: lines stay lines, texts stay texts, and the font is part of the file.
//!
//! Everything is drawn in the page's own pixels, 96 to an inch, from its upper left corner; one matrix at the beginning makes
//! points of them, 72 to an inch, from the lower left.

use super::font;
use super::scene::{Anchor, Ground, INK, Item, Scene};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect, Ref, Str, TextStr};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

/// Points of an inch over pixels of an inch.
const POINTS_PER_PIXEL: f32 = 0.75;
/// How far the handles of four curves lie from their ends, over the radius, so that they make a circle: 4 (√2 − 1) / 3.
const CIRCLE: f64 = 0.552_284_75;
/// The font's name in the file, and the name by which the page's content has it.
const FONT: Name<'static> = Name(b"Arimo");
const FONT_HERE: Name<'static> = Name(b"F");
/// Glyphs are named by their numbers.
const GLYPHS: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The numbers of the file's objects; degrees of transparency have those that follow.
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const ABOUT: Ref = Ref::new(5);
const TEXT_FONT: Ref = Ref::new(6);
const GLYPH_FONT: Ref = Ref::new(7);
const DESCRIPTOR: Ref = Ref::new(8);
const FONT_FILE: Ref = Ref::new(9);
const LETTERS: Ref = Ref::new(10);
const FIRST_STATE: i32 = 11;

impl Scene {
    /// As PDF of one page. The same page is the same file: it has no time and no random name.
    pub(super) fn pdf(&self, ground: Ground, title: &str) -> Vec<u8> {
        let (colour, ink) = ground.colours();
        let mut page = Page::new(self.width, self.height, colour);
        self.items.iter().for_each(|item| page.draw(item, ink));
        let mut pdf = Pdf::new();
        pdf.catalog(CATALOG).pages(PAGES);
        pdf.pages(PAGES).kids([PAGE]).count(1);
        pdf.document_info(ABOUT).title(TextStr(title)).producer(TextStr("evenair"));
        let mut sheet = pdf.page(PAGE);
        let points = |length: f64| length as f32 * POINTS_PER_PIXEL;
        sheet.parent(PAGES).contents(CONTENT).media_box(Rect::new(
            0.0,
            0.0,
            points(self.width),
            points(self.height),
        ));
        let mut resources = sheet.resources();
        resources.fonts().pair(FONT_HERE, TEXT_FONT);
        let mut states = resources.ext_g_states();
        for (k, percent) in (FIRST_STATE..).zip(&page.degrees) {
            states.pair(Name(state_name(*percent).as_bytes()), Ref::new(k));
        }
        states.finish();
        resources.finish();
        sheet.finish();
        for (k, percent) in (FIRST_STATE..).zip(&page.degrees) {
            let opacity = f32::from(*percent) / 100.0;
            pdf.ext_graphics(Ref::new(k)).stroking_alpha(opacity).non_stroking_alpha(opacity);
        }
        write_font(&mut pdf, &page.letters);
        let content = packed(page.content.finish().as_slice());
        pdf.stream(CONTENT, &content).filter(Filter::FlateDecode);
        pdf.finish()
    }
}

/// A page as it is drawn, and the objects that it needs.
struct Page {
    content: Content,
    /// Glyphs that are drawn, with the letter that each stands for.
    letters: BTreeMap<u16, char>,
    /// Degrees of transparency [%].
    degrees: BTreeSet<u8>,
}

impl Page {
    fn new(width: f64, height: f64, ground: &str) -> Self {
        let mut page = Self { content: Content::new(), letters: BTreeMap::new(), degrees: BTreeSet::new() };
        let scale = POINTS_PER_PIXEL;
        page.content.transform([scale, 0.0, 0.0, -scale, 0.0, height as f32 * scale]);
        page.content.set_line_join(LineJoinStyle::RoundJoin);
        page.fill(ground);
        page.content.rect(0.0, 0.0, width as f32, height as f32).fill_nonzero();
        page
    }

    fn draw(&mut self, item: &Item, ink: &str) {
        let look = |colour: &str| if colour == INK { ink.to_string() } else { colour.to_string() };
        match item {
            Item::Open(_) | Item::Close => (),
            Item::Line { points, pen } => {
                let dashes = pen.dash.split(' ').filter_map(|length| length.parse::<f32>().ok());
                let [red, green, blue] = parts(&look(&pen.colour));
                self.be_opaque(pen.opacity);
                self.content.set_stroke_rgb(red, green, blue).set_line_width(near(pen.width));
                self.content.set_dash_pattern(dashes, 0.0);
                self.way(points);
                self.content.stroke();
            }
            Item::Area { points, colour, opacity } => {
                self.be_opaque(*opacity);
                self.fill(&look(colour));
                self.way(points);
                self.content.close_path().fill_nonzero();
            }
            Item::Dot { at, radius, colour } => {
                self.be_opaque(1.0);
                self.fill(&look(colour));
                self.circle(*at, *radius);
            }
            Item::Text { at, text, size, anchor, upwards, colour } => {
                self.be_opaque(1.0);
                self.fill(&look(colour));
                self.text(*at, text, *size, *anchor, *upwards);
            }
        }
    }

    fn fill(&mut self, colour: &str) {
        let [red, green, blue] = parts(colour);
        self.content.set_fill_rgb(red, green, blue);
    }

    /// Sets the opacity of the next items.
    fn be_opaque(&mut self, opacity: f64) {
        let percent = (opacity * 100.0).round() as u8;
        self.degrees.insert(percent);
        self.content.set_parameters(Name(state_name(percent).as_bytes()));
    }

    fn way(&mut self, points: &[[f64; 2]]) {
        for (k, [x, y]) in points.iter().enumerate() {
            let (x, y) = (near(*x), near(*y));
            if k == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    fn circle(&mut self, [x, y]: [f64; 2], radius: f64) {
        let handle = radius * CIRCLE;
        let mut ahead = [radius, 0.0];
        self.content.move_to(near(x + radius), near(y));
        for _ in 0..4 {
            // A quarter of the circle on: each end is the one before, turned.
            let [a, b] = ahead;
            let next = [-b, a];
            let along = |from: [f64; 2], towards: [f64; 2]| {
                let of = |k: usize| from[k] + towards[k] / radius * handle;
                [near(x + of(0)), near(y + of(1))]
            };
            let ([x1, y1], [x2, y2]) = (along(ahead, next), along(next, ahead));
            self.content.cubic_to(x1, y1, x2, y2, near(x + next[0]), near(y + next[1]));
            ahead = next;
        }
        self.content.close_path().fill_nonzero();
    }

    fn text(&mut self, [x, y]: [f64; 2], text: &str, size: f64, anchor: Anchor, upwards: bool) {
        let before = anchor.before(font::width(text, size));
        let (along, matrix) = if upwards {
            ([x, y + before], [0.0, -1.0, -1.0, 0.0])
        } else {
            ([x - before, y], [1.0, 0.0, 0.0, -1.0])
        };
        let [a, b, c, d] = matrix;
        self.content.begin_text().set_font(FONT_HERE, near(size));
        self.content.set_text_matrix([a, b, c, d, near(along[0]), near(along[1])]);
        let mut shown = self.content.show_positioned();
        let mut items = shown.items();
        for letter in text.chars() {
            if let Some(glyph) = font::glyph(letter) {
                self.letters.entry(glyph).or_insert(letter);
                items.show(Str(&glyph.to_be_bytes()));
            } else {
                items.adjust(-thousandths(font::advance(letter)));
            }
        }
        items.finish();
        shown.finish();
        self.content.end_text();
    }
}

/// Writes the font: its file, how wide its glyphs are, and which letters they are, so that texts can be searched and copied.
fn write_font(pdf: &mut Pdf, letters: &BTreeMap<u16, char>) {
    pdf.type0_font(TEXT_FONT)
        .base_font(FONT)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(GLYPH_FONT)
        .to_unicode(LETTERS);
    let mut glyphs = pdf.cid_font(GLYPH_FONT);
    glyphs.subtype(CidFontType::Type2).base_font(FONT).system_info(GLYPHS).font_descriptor(DESCRIPTOR);
    glyphs.cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = glyphs.widths();
    for (glyph, letter) in letters {
        widths.same(*glyph, *glyph, thousandths(font::advance(*letter)));
    }
    widths.finish();
    glyphs.finish();
    let font::Sizes { bounds: [left, bottom, right, top], ascent, descent, capitals } = font::sizes();
    pdf.font_descriptor(DESCRIPTOR)
        .name(FONT)
        .flags(FontFlags::SYMBOLIC)
        .bbox(Rect::new(thousandths(left), thousandths(bottom), thousandths(right), thousandths(top)))
        .italic_angle(0.0)
        .ascent(thousandths(ascent))
        .descent(thousandths(descent))
        .cap_height(thousandths(capitals))
        .stem_v(80.0) // the width of an upright stroke, for a reader that has to take another font
        .font_file2(FONT_FILE);
    pdf.stream(FONT_FILE, &packed(font::FILE))
        .filter(Filter::FlateDecode)
        .pair(Name(b"Length1"), i32::try_from(font::FILE.len()).expect("it has some kilobytes"));
    let mut map = UnicodeCmap::new(Name(b"Letters"), GLYPHS);
    letters.iter().for_each(|(glyph, letter)| map.pair(*glyph, *letter));
    pdf.cmap(LETTERS, map.finish().as_slice());
}

/// The name of a degree of transparency.
fn state_name(percent: u8) -> String {
    format!("T{percent}")
}

/// A hundredth of a pixel is enough.
fn near(x: f64) -> f32 {
    ((x * 100.0).round() / 100.0) as f32
}

/// A share of a font's size, in the thousandths that PDF counts in.
fn thousandths(of_size: f64) -> f32 {
    (of_size * 1000.0).round() as f32
}

/// The parts of a colour `#rrggbb`, each from 0 to 1.
fn parts(colour: &str) -> [f32; 3] {
    let part = |from: usize| {
        let byte = colour.get(from..from + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).unwrap_or(0);
        (f32::from(byte) / 255.0 * 1000.0).round() / 1000.0
    };
    [part(1), part(3), part(5)]
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contents of a file's stream number `k`, unpacked.
    fn stream(pdf: &[u8], k: usize) -> Vec<u8> {
        let find = |needle: &[u8], from: usize| {
            pdf[from..].windows(needle.len()).position(|part| part == needle).map(|at| at + from)
        };
        let mut from = 0;
        for _ in 0..k {
            from = find(b"endstream", from).unwrap() + 9;
        }
        let (start, end) = (find(b"stream\n", from).unwrap() + 7, find(b"endstream", from).unwrap());
        let mut unpacked = Vec::new();
        flate2::write::ZlibDecoder::new(&mut unpacked).write_all(&pdf[start..end - 1]).unwrap();
        unpacked
    }

    #[test]
    fn texts_stay_texts_and_the_font_is_there() {
        let text = |text: &str| Item::Text {
            at: [10.0, 20.0],
            text: text.into(),
            size: 12.0,
            anchor: Anchor::Start,
            upwards: false,
            colour: INK,
        };
        let scene = Scene { width: 96.0, height: 48.0, items: vec![text("aμ")] };
        let pdf = scene.pdf(Ground::Light, "Greek");
        assert!(pdf.starts_with(b"%PDF-1.7"));
        let words = String::from_utf8_lossy(&pdf);
        // An inch is 72 points.
        assert!(words.contains("/MediaBox [0 0 72 36]"), "{words}");
        assert_eq!(stream(&pdf, 0), font::FILE);
        // Glyph by glyph, the letters that a reader finds when it searches.
        for letter in ['a', 'μ'] {
            let pair = format!("<{:04X}> <{:04X}>", font::glyph(letter).unwrap(), u32::from(letter));
            assert!(words.contains(&pair), "{pair} is not in {words}");
        }
        let content = String::from_utf8(stream(&pdf, 2)).unwrap();
        assert!(content.contains("1 0 0 -1 10 20 Tm"), "{content}");
    }

    #[test]
    fn a_circle_is_one() {
        let mut page = Page::new(10.0, 10.0, "#ffffff");
        page.circle([5.0, 5.0], 2.0);
        let content = String::from_utf8(page.content.finish().as_slice().to_vec()).unwrap();
        let ends: Vec<&str> = content.lines().filter(|line| line.ends_with(" c")).collect();
        // A quarter at a time, through the four points that are two away.
        for (line, end) in ends.iter().zip(["5 7 c", "3 5 c", "5 3 c", "7 5 c"]) {
            assert!(line.ends_with(end), "{content}");
        }
        // 5 + 2 · 0.5523 = 6.10
        assert_eq!(ends[0], "7 6.1 6.1 7 5 7 c");
    }
}
