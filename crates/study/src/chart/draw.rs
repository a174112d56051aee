//! Charts on a page, without a browser.

mod frame;
mod marks;

use super::scene::{Anchor, INK, Item, Pen, Scene};
use super::{Chart, Height, Key, font};
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
            let heights = row.iter().map(|p| match p.height {
                Height::Pixels(height) => height,
                Height::OfWidth(ratio) => (width * ratio).round(),
            });
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
            let (mut x, mut y) = (BORDER, scene.height + TEXT);
            for (k, key) in keys.iter().enumerate() {
                let needs = SAMPLE + 6.0 + font::width(&key.name, TEXT) + 18.0;
                if x > BORDER && x + needs - 18.0 > scene.width - BORDER {
                    (x, y) = (BORDER, y + LINE + 2.0);
                }
                scene.items.push(sample(x, y, pen(k), of_lines));
                scene.items.push(text([x + SAMPLE + 6.0, y], &key.name, Anchor::Start));
                x += needs;
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
mod tests {
    use crate::chart::{At, Chart, Observation, Titles};
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
