//! Charts on a page, without a browser.

mod frame;
mod marks;

use super::scene::{Anchor, Ground, INK, Item, Pen, Scene};
use super::{Chart, Key, Panel, font};
use crate::markup::escape;
use frame::Frame;

/// The size of texts \[px\].
const TEXT: f64 = 12.0;
/// The size of panels' headlines \[px\].
const HEADLINE: f64 = 13.0;
/// From one line of text to the next \[px\].
const LINE: f64 = 15.0;
/// The margins around the page, and between its panels \[px\].
const BORDER: f64 = 10.0;
const GAP: f64 = 22.0;
/// A sample in a legend \[px\].
const SAMPLE: f64 = 24.0;
/// For how wide a place a page has a figure laid out, and for how wide another for a narrow window \[px\].
const PLACES: [(&str, f64); 2] = [("broad", 800.0), ("narrow", 440.0)];
/// The most columns of a legend.
const COLUMNS_MAX: f64 = 8.0;

/// Why a figure cannot be a PNG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("so many pixels do not fit into memory")
    }
}

impl std::error::Error for TooLarge {}

impl Chart {
    /// The figure as SVG, so wide \[px\]; the same text on every machine.
    pub fn svg(&self, width: f64, ground: Ground) -> String {
        self.scene(width).svg(ground, &self.title, &self.described())
    }

    /// The figure for a page: laid out for a wide and for a narrow place, of which the page shows the one that fits.
    pub(crate) fn svg_within(&self) -> String {
        PLACES.map(|(class, width)| self.svg_of_class(class, width)).concat()
    }

    /// The figure for a place within a text, laid out so wide \[px\] and as wide as its place: in the colour of the text around it.
    pub fn svg_in_text(&self, width: f64) -> String {
        self.svg_of_class("figure", width)
    }

    /// Laid out for a place so wide \[px\], of which it takes as large a share wherever it is shown.
    fn svg_of_class(&self, class: &str, width: f64) -> String {
        let scene = self.scene(width);
        scene.svg_within(class, scene.width / width, &self.title, &self.described())
    }

    /// The figure in words: of each panel its axes, and the names of its marks.
    fn described(&self) -> String {
        let panel = |panel: &Panel| {
            let axes = [&panel.y.title, &panel.x.title].map(String::as_str);
            let axes: Vec<&str> = axes.into_iter().filter(|title| !title.is_empty()).collect();
            let names: Vec<&str> = panel.series.iter().map(|series| series.name.as_str()).collect();
            let parts = [panel.title.clone(), axes.join(" over "), names.join(", ")];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ")
        };
        self.panels.iter().map(panel).collect::<Vec<_>>().join(". ")
    }

    /// The figure as PNG, so wide \[px\], with `scale` pixels for each of these; the same bytes on every machine.
    ///
    /// # Errors
    /// If so many pixels do not fit into memory.
    pub fn png(&self, width: f64, scale: f64, ground: Ground) -> Result<Vec<u8>, TooLarge> {
        self.scene(width).png(scale, ground).ok_or(TooLarge)
    }

    /// The figure as PDF, so wide \[px of 1/96 inch\]: its texts are texts, and their font is in the file. The same bytes on every machine.
    pub fn pdf(&self, width: f64, ground: Ground) -> Vec<u8> {
        self.scene(width).pdf(ground, &self.title)
    }

    fn scene(&self, page: f64) -> Scene {
        let mut scene = Scene { width: page, height: BORDER, items: Vec::new() };
        let legends = self.draw_legends(&mut scene);
        let margin = self.panels.iter().map(frame::left).fold(0.0, f64::max);
        let (least, most) = self.width;
        let room = page - 2.0 * BORDER;
        let columns =
            ((room + GAP) / (least + margin + GAP)).floor().clamp(1.0, self.panels.len().max(1) as f64);
        let width = ((room + GAP) / columns - GAP - margin).min(most).max(80.0).floor();
        for row in self.panels.chunks(columns as usize) {
            let above = row.iter().map(|p| frame::above(p, width)).fold(0.0, f64::max);
            let heights = row.iter().map(|p| p.height.of(width));
            let mut lowest = scene.height;
            for (column, (panel, height)) in row.iter().zip(heights).enumerate() {
                let left = BORDER + margin + column as f64 * (width + margin + GAP);
                let frame = Frame { left, top: scene.height + above, width, height, panel };
                let place =
                    [left, frame.top, width, height].map(|length| length.round().to_string()).join(" ");
                scene.items.push(group("panel", &[("frame", &place)]));
                frame.draw(&mut scene.items);
                marks::draw(self, &frame, &mut scene.items);
                scene.items.push(Item::Close);
                lowest = lowest.max(frame.top + height + frame.below());
            }
            scene.height = lowest + GAP / 2.0;
        }
        if width >= most {
            // Beside panels that are as wide as they may be nothing is left blank.
            let columns = columns.min(self.panels.len() as f64);
            let panels = 2.0 * BORDER + columns * (width + margin + GAP) - GAP;
            scene.width = page.min(panels.max(legends));
        }
        scene
    }

    /// Its legends: that of the colours, and that of the dashes, if it is another. Gives the width that they need \[px\].
    fn draw_legends(&self, scene: &mut Scene) -> f64 {
        let mut right: f64 = 0.0;
        let names = |keys: &'_ [Key]| keys.iter().map(|k| k.name.clone()).collect::<Vec<_>>();
        let merged = names(&self.colours) == names(&self.dashes);
        let of_lines = self.is_of_lines();
        let mut draw = |keys: &[Key], pen: &dyn Fn(usize) -> Pen| {
            if keys.len() < 2 {
                return;
            }
            // Names stand below each other, in as many columns as fit.
            let needs =
                keys.iter().map(|key| font::width(&key.name, TEXT)).fold(0.0, f64::max) + SAMPLE + 24.0;
            let columns =
                ((scene.width - 2.0 * BORDER + 18.0) / needs).floor().clamp(1.0, COLUMNS_MAX) as usize;
            let mut y = scene.height + TEXT;
            for (k, key) in keys.iter().enumerate() {
                if k > 0 && k % columns == 0 {
                    y += LINE + 2.0;
                }
                let x = BORDER + needs * (k % columns) as f64;
                right = right.max(x + SAMPLE + 6.0 + font::width(&key.name, TEXT) + BORDER);
                scene.items.extend([
                    group("key", &[("key", &key.name)]),
                    sample(x, y, pen(k), of_lines),
                    text([x + SAMPLE + 6.0, y], &key.name, Anchor::Start),
                    Item::Close,
                ]);
            }
            scene.height = y + 8.0;
        };
        let dash_of =
            |k: usize| self.dashes.get(k).filter(|_| merged).map(|d| d.look.clone()).unwrap_or_default();
        draw(&self.colours, &|k| Pen { dash: dash_of(k), ..Pen::new(&self.colours[k].look, 2.0) });
        if !merged {
            draw(&self.dashes, &|k| Pen { dash: self.dashes[k].look.clone(), ..Pen::new(INK, 1.6) });
        }
        if scene.height > BORDER {
            scene.height += 6.0;
        }
        right
    }
}

/// Opens a group of items of a class, with its data attributes.
fn group(class: &str, data: &[(&str, &str)]) -> Item {
    let data = data.iter().map(|(name, value)| format!(" data-{name}=\"{}\"", escape(value)));
    Item::Open(format!(" class=\"{class}\"{}", data.collect::<String>()))
}

/// A sample of a legend's entry.
fn sample(x: f64, y: f64, pen: Pen, of_lines: bool) -> Item {
    if of_lines {
        return Item::Line { points: vec![[x, y - 4.0], [x + SAMPLE, y - 4.0]], pen };
    }
    let points =
        vec![[x + 11.0, y - 10.0], [x + SAMPLE, y - 10.0], [x + SAMPLE, y + 1.0], [x + 11.0, y + 1.0]];
    Item::Area { points, colour: pen.colour, opacity: 1.0 }
}

fn text(at: [f64; 2], text: &str, anchor: Anchor) -> Item {
    Item::Text { at, text: text.into(), size: TEXT, anchor, upwards: false, colour: INK }
}

#[cfg(test)]
impl Chart {
    /// Which of its texts collide, or stand beyond a page so wide [px].
    pub(crate) fn illegible(&self, width: f64) -> Vec<String> {
        self.scene(width).illegible()
    }

    /// How wide it is on a page so wide, and how far its lines go beyond their panels [px].
    pub(crate) fn room(&self, page: f64) -> (f64, f64) {
        let scene = self.scene(page);
        let (mut frame, mut is_mark, mut beyond) = ([0.0; 4], false, 0.0_f64);
        for item in &scene.items {
            match item {
                Item::Open(of) => {
                    if let Some((_, place)) = of.split_once("data-frame=\"") {
                        let mut sides =
                            place.trim_end_matches('"').split(' ').map(|side| side.parse().unwrap());
                        frame = [0; 4].map(|_| sides.next().unwrap());
                    }
                    is_mark = of.contains("class=\"series\"");
                }
                Item::Close => is_mark = false,
                Item::Line { points, .. } if is_mark => {
                    let [left, top, width, height] = frame;
                    let far = |&[x, y]: &[f64; 2]| {
                        (left - x).max(x - left - width).max(top - y).max(y - top - height)
                    };
                    beyond = points.iter().map(far).fold(beyond, f64::max);
                }
                _ => (),
            }
        }
        (scene.width, beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::Ground;
    use crate::chart::{At, Axis, Chart, Height, Observation, Panel, Ticks, Titles, fills, wrapped};
    use std::collections::BTreeSet;

    fn fifteen() -> Chart {
        let rows: Vec<Observation> = (0..30)
            .map(|k| Observation {
                colour: format!("flow {}", k % 15),
                x: At::Number(f64::from(k / 15)),
                y: f64::from(k),
                interval: Some((f64::from(k) - 1.0, f64::from(k) + 1.0)),
                ..Observation::default()
            })
            .collect();
        Chart::lines(&Titles { name: "fifteen".into(), ..Titles::default() }, &rows)
    }

    #[test]
    fn fifteen_lines_differ_by_colour_and_dash() {
        let chart = fifteen();
        let looks: BTreeSet<_> =
            chart.colours.iter().zip(&chart.dashes).map(|(c, d)| (&c.look, &d.look)).collect();
        assert_eq!(looks.len(), 15);
        assert_eq!(chart.panels[0].series.len(), 15);
        // One legend says both.
        assert_eq!(chart.svg(720.0, Ground::Light).matches(">flow 3</text>").count(), 1);
    }

    #[test]
    fn page_has_wide_and_narrow_figures() {
        let chart = fifteen();
        let page = chart.svg_within();
        assert_eq!(
            (page.matches("<svg class=").count(), page.matches("currentColor").count() > 30),
            (2, true)
        );
        assert!(page.contains("class=\"broad\"") && page.contains("class=\"narrow\""));
        assert!(!page.contains(super::INK) && !page.contains("<title") && page.contains("<desc>"));
        // Every group ends; each name of the legend has its line.
        assert_eq!(page.matches("<g ").count(), page.matches("</g>").count());
        assert_eq!(page.matches("class=\"panel\" data-frame=\"").count(), 2 * chart.panels.len());
        for key in &chart.colours {
            assert_eq!(page.matches(&format!("data-key=\"{}\"", key.name)).count(), 2, "{}", key.name);
            assert_eq!(page.matches(&format!("data-colour=\"{}\"", key.name)).count(), 2, "{}", key.name);
        }
        let file = |ground| chart.svg(720.0, ground);
        assert!(
            file(Ground::Light).contains("<title></title>") && !file(Ground::Light).contains("currentColor")
        );
        assert!(!file(Ground::Dark).contains(super::INK) && !file(Ground::Dark).contains("#ffffff"));
    }

    #[test]
    fn figure_fits_its_page_and_is_same_each_time() {
        let (chart, again) = (fifteen(), fifteen());
        for width in [240.0, 720.0] {
            let scene = chart.scene(width);
            let beyond = scene.items.iter().filter(|item| match item {
                super::Item::Line { points, .. } | super::Item::Area { points, .. } => points
                    .iter()
                    .any(|[x, y]| !(0.0..=width).contains(x) || !(0.0..=scene.height).contains(y)),
                _ => false,
            });
            assert_eq!(beyond.count(), 0, "{width}");
        }
        let png = |chart: &Chart, ground| chart.png(300.0, 2.0, ground).unwrap();
        assert_eq!(png(&chart, Ground::Light), png(&again, Ground::Light));
        assert_ne!(png(&chart, Ground::Light), png(&chart, Ground::Dark));
    }

    /// Texts of all kinds of charts, as long as any that a study has.
    fn wordy() -> Vec<Chart> {
        let long = "goodput of the acknowledgements' queue, standard deviation over time [packets/s]";
        let label = |k: usize| format!("PFRC, our corrected form, today's hosts, number {k}");
        let rows = |words: bool| -> Vec<Observation> {
            let row = |k: usize| Observation {
                panel: label(k % 3),
                colour: format!("flow {}", k % 15),
                x: if words { At::Word(label(k / 15)) } else { At::Number(1e3 * (k / 15) as f64) },
                y: 1234.5 * k as f64,
                ..Observation::default()
            };
            (0..15 * 9).map(row).collect()
        };
        let titles = Titles { y: long.into(), x: long.into(), ..Titles::default() };
        let logarithmic = Titles { log_x: true, log_y: true, ..titles.clone() };
        let words: Vec<String> = (0..60).map(|k| wrapped(&format!("subscriber-{k}"), 24)).collect();
        let bars = Panel::new(
            &label(1),
            Axis::of(long, (-2e5, 1e6), Ticks::Numbers),
            Axis::of_words("flow", words).downwards(),
            Height::Pixels(60.0 * 15.0),
        );
        let names: Vec<String> = (0..9).map(label).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        vec![
            fifteen(),
            Chart::lines(&titles, &rows(false)),
            Chart::lines(&titles, &rows(true)),
            Chart::lines(&logarithmic, &rows(false)),
            Chart { colours: fills(&names), panels: vec![bars], width: (280.0, 900.0), ..Chart::default() },
        ]
    }

    #[test]
    fn no_two_texts_collide_and_none_leaves_the_page() {
        for (k, chart) in wordy().iter().enumerate() {
            for width in [480.0, 720.0, 1200.0] {
                assert_eq!(chart.scene(width).illegible(), [""; 0], "chart {k}, {width} px wide");
            }
        }
    }

    #[test]
    fn too_many_dashes_become_colours() {
        let rows: Vec<Observation> = (0..8)
            .map(|k| Observation {
                colour: "flow 1".into(),
                dash: format!("law {k}"),
                ..Observation::default()
            })
            .collect();
        let chart = Chart::lines(&Titles::default(), &rows);
        assert_eq!(chart.colours.len(), 8);
        assert_eq!(chart.colours[7].name, "law 7");
        assert!(chart.dashes.is_empty());
    }
}
