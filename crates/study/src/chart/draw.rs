//! Charts on a page, without a browser.

mod frame;
mod marks;

use super::scene::{Anchor, INK, Item, Pen, Scene};
use super::{Chart, Key, font};
use frame::Frame;

/// The size of texts \[px\].
const TEXT: f64 = 12.0;
/// The size of panels' headlines \[px\].
const HEADLINE: f64 = 13.0;
/// From one line of text to the next \[px\].
const LINE: f64 = 15.0;
/// What lies around the page, and between its panels \[px\].
const BORDER: f64 = 10.0;
const GAP: f64 = 22.0;
/// A sample in a legend \[px\].
const SAMPLE: f64 = 24.0;
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
    pub fn svg(&self, width: f64) -> String {
        self.scene(width).svg(&self.title)
    }

    /// The figure as PNG, so wide \[px\], with `scale` pixels for each of these; the same bytes on every machine.
    ///
    /// # Errors
    /// If so many pixels do not fit into memory.
    pub fn png(&self, width: f64, scale: f64) -> Result<Vec<u8>, TooLarge> {
        self.scene(width).png(scale).ok_or(TooLarge)
    }

    fn scene(&self, page: f64) -> Scene {
        let mut scene = Scene { width: page, height: BORDER, items: Vec::new() };
        self.draw_legends(&mut scene);
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
                frame.draw(&mut scene.items);
                marks::draw(self, &frame, &mut scene.items);
                lowest = lowest.max(frame.top + height + frame.below());
            }
            scene.height = lowest + GAP / 2.0;
        }
        scene
    }

    /// Its legends: that of the colours, and that of the dashes, if it is another.
    fn draw_legends(&self, scene: &mut Scene) {
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
                scene.items.push(sample(x, y, pen(k), of_lines));
                scene.items.push(text([x + SAMPLE + 6.0, y], &key.name, Anchor::Start));
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
    }
}

/// A sample of what a name means.
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
}

#[cfg(test)]
mod tests {
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
    fn fifteen_lines_are_told_apart_by_colour_and_dash() {
        let chart = fifteen();
        let looks: BTreeSet<_> =
            chart.colours.iter().zip(&chart.dashes).map(|(c, d)| (&c.look, &d.look)).collect();
        assert_eq!(looks.len(), 15);
        assert_eq!(chart.panels[0].series.len(), 15);
        // One legend says both.
        assert_eq!(chart.svg(720.0).matches(">flow 3</text>").count(), 1);
    }

    #[test]
    fn a_figure_fits_its_page_and_is_the_same_each_time() {
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
        assert_eq!(chart.png(300.0, 2.0), again.png(300.0, 2.0));
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
    fn more_dashes_than_can_be_told_apart_become_colours() {
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
