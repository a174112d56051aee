//! A panel's place on a page, its axes and their labels.

use super::super::scale::{step, title_lines, wrapped};
use super::super::scene::{Anchor, INK, Item, Pen};
use super::super::{Axis, Panel, Ticks, font};
use super::{HEADLINE, LINE, TEXT, text};

/// The room that a number at the x axis is given, and that at the y axis \[px\].
const ACROSS: f64 = 75.0;
const UPWARDS: f64 = 45.0;

/// Where a panel is \[px\].
pub(super) struct Frame<'a> {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) panel: &'a Panel,
}

/// The room left of a panel.
pub(super) fn left(panel: &Panel) -> f64 {
    if panel.y.ticks == Ticks::Hidden {
        return 4.0;
    }
    let height = panel.height.of(300.0);
    let widest = ticks(&panel.y, height, UPWARDS).iter().map(|(_, label)| widest(label)).fold(0.0, f64::max);
    let lines = if panel.y.title.is_empty() { 0 } else { title_lines(&panel.y.title, height).len() };
    widest + 13.0 + LINE * lines as f64
}

/// The room above a panel.
pub(super) fn above(panel: &Panel, width: f64) -> f64 {
    if panel.title.is_empty() { 4.0 } else { headline(panel, width).len() as f64 * (HEADLINE + 3.0) + 4.0 }
}

fn headline(panel: &Panel, width: f64) -> Vec<String> {
    let letters = (width / (HEADLINE * 0.52)) as usize;
    wrapped(&panel.title, letters.max(16)).split('\n').map(String::from).collect()
}

fn widest(label: &str) -> f64 {
    label.split('\n').map(|line| font::width(line, TEXT)).fold(0.0, f64::max)
}

impl Frame<'_> {
    /// The room below a panel.
    pub(super) fn below(&self) -> f64 {
        if self.panel.x.ticks == Ticks::Hidden {
            return 4.0;
        }
        let lines = title_lines(&self.panel.x.title, self.width).len() as f64;
        let title = if self.panel.x.title.is_empty() { 0.0 } else { LINE * lines + 3.0 };
        8.0 + self.labels_height() + title
    }

    /// Whether words at the x axis stand upright, because they would touch each other.
    fn stands(&self) -> bool {
        let Ticks::Words(words) = &self.panel.x.ticks else { return false };
        let room = self.width / words.len().max(1) as f64 - 5.0;
        words.iter().any(|word| widest(word) > room)
    }

    /// Height of the labels at the x axis.
    fn labels_height(&self) -> f64 {
        let labels = ticks(&self.panel.x, self.width, ACROSS);
        if self.stands() {
            return labels.iter().map(|(_, label)| widest(label)).fold(0.0, f64::max) + 4.0;
        }
        LINE * labels.iter().map(|(_, label)| label.split('\n').count()).max().unwrap_or(1) as f64
    }

    /// Where a place is on the page.
    pub(super) fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let (across, up) = (share(&self.panel.x, x), share(&self.panel.y, y));
        [self.left + across * self.width, self.top + (1.0 - up) * self.height]
    }

    /// The same, but no further than its border.
    pub(super) fn within(&self, x: f64, y: f64) -> [f64; 2] {
        let [across, down] = self.at(x, y);
        [across.clamp(self.left, self.left + self.width), down.clamp(self.top, self.top + self.height)]
    }

    /// The parts of a way on the page that are on the panel.
    pub(super) fn clipped(&self, way: &[[f64; 2]]) -> Vec<Vec<[f64; 2]>> {
        let mut parts: Vec<Vec<[f64; 2]>> = Vec::new();
        let mut goes_on = false;
        for pair in way.windows(2) {
            let Some((enters, leaves)) = self.crossed(pair[0], pair[1]) else {
                goes_on = false;
                continue;
            };
            let along = |share: f64| [0, 1].map(|k| pair[0][k] + share * (pair[1][k] - pair[0][k]));
            let end = if leaves < 1.0 { along(leaves) } else { pair[1] };
            match parts.last_mut().filter(|_| goes_on && enters <= 0.0) {
                Some(part) => part.push(end),
                None => parts.push(vec![along(enters), end]),
            }
            goes_on = leaves >= 1.0;
        }
        parts
    }

    /// From which to which share of a straight line it is on the panel (Liang and Barsky); its border is half a pixel thick.
    fn crossed(&self, [x, y]: [f64; 2], [x2, y2]: [f64; 2]) -> Option<(f64, f64)> {
        let (mut enters, mut leaves) = (0.0_f64, 1.0_f64);
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let sides =
            [(x - x2, x - self.left), (x2 - x, right - x), (y - y2, y - self.top), (y2 - y, bottom - y)];
        for (outwards, room) in sides.map(|(outwards, room)| (outwards, room + 0.5)) {
            if outwards > 0.0 {
                leaves = leaves.min(room / outwards);
            } else if outwards < 0.0 {
                enters = enters.max(room / outwards);
            } else if room < 0.0 {
                return None;
            }
        }
        (enters < leaves).then_some((enters, leaves))
    }

    pub(super) fn draw(&self, items: &mut Vec<Item>) {
        let (left, top, right, bottom) =
            (self.left, self.top, self.left + self.width, self.top + self.height);
        for (k, line) in headline(self.panel, self.width).iter().enumerate().filter(|(_, l)| !l.is_empty()) {
            let above = (headline(self.panel, self.width).len() - 1 - k) as f64 * (HEADLINE + 3.0);
            let at = [left, top - 7.0 - above];
            let (text, anchor) = (line.clone(), Anchor::Start);
            items.push(Item::Text { at, text, size: HEADLINE, anchor, upwards: false, colour: INK });
        }
        let border = vec![[left, top], [right, top], [right, bottom], [left, bottom], [left, top]];
        items.push(Item::Line { points: border, pen: Pen::new(INK, 1.0).faint(0.2) });
        self.draw_x(items, bottom);
        self.draw_y(items, left);
    }

    fn draw_x(&self, items: &mut Vec<Item>, bottom: f64) {
        let axis = &self.panel.x;
        if axis.ticks == Ticks::Hidden {
            return;
        }
        let stands = self.stands();
        let (mut free, page) = (f64::NEG_INFINITY, self.left + self.width + super::BORDER);
        for (value, label) in ticks(axis, self.width, ACROSS) {
            let x = self.at(value, self.panel.y.ends.0)[0];
            tick(items, axis, [[x, self.top], [x, bottom]], [[x, bottom], [x, bottom + 4.0]]);
            let lines: Vec<&str> = label.split('\n').collect();
            let half = if stands { LINE * lines.len() as f64 / 2.0 } else { widest(&label) / 2.0 };
            // A label that would touch the one before is left out; one at the right edge stays on the page.
            let middle = x.min(page - half);
            if middle - half < free {
                continue;
            }
            free = middle + half + 5.0;
            for (k, line) in lines.iter().enumerate() {
                let of_line = k as f64 - (lines.len() as f64 - 1.0) / 2.0;
                items.push(if stands {
                    let at = [x + 4.0 + LINE * of_line, bottom + 8.0];
                    let (text, anchor) = ((*line).into(), Anchor::End);
                    Item::Text { at, text, size: TEXT, anchor, upwards: true, colour: INK }
                } else {
                    text([middle, bottom + 16.0 + LINE * k as f64], line, Anchor::Middle)
                });
            }
        }
        items.push(Item::Line {
            points: vec![[self.left, bottom], [self.left + self.width, bottom]],
            pen: Pen::new(INK, 1.0),
        });
        let below = bottom + 16.0 + self.labels_height() + 3.0;
        let lines = title_lines(&axis.title, self.width);
        for (k, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            let at = [self.left + self.width / 2.0, below + LINE * k as f64];
            items.push(text(at, line, Anchor::Middle));
        }
    }

    fn draw_y(&self, items: &mut Vec<Item>, left: f64) {
        let axis = &self.panel.y;
        if axis.ticks == Ticks::Hidden {
            return;
        }
        let mut free = f64::INFINITY;
        let mut room: f64 = 0.0;
        let mut all = ticks(axis, self.height, UPWARDS);
        all.sort_by(|(a, _), (b, _)| share(axis, *a).total_cmp(&share(axis, *b)));
        for (value, label) in all {
            let y = self.at(self.panel.x.ends.0, value)[1];
            tick(items, axis, [[left, y], [left + self.width, y]], [[left - 4.0, y], [left, y]]);
            let lines: Vec<&str> = label.split('\n').collect();
            let half = 6.0 * lines.len() as f64;
            if y + half > free + 1.0 {
                continue;
            }
            free = y - half;
            room = room.max(widest(&label));
            for (k, line) in lines.iter().enumerate() {
                let down = (k as f64 - (lines.len() as f64 - 1.0) / 2.0) * 13.0;
                items.push(text([left - 7.0, y + 4.0 + down], line, Anchor::End));
            }
        }
        items.push(Item::Line {
            points: vec![[left, self.top], [left, self.top + self.height]],
            pen: Pen::new(INK, 1.0),
        });
        let lines = title_lines(&axis.title, self.height);
        for (k, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
            let before = (lines.len() - 1 - k) as f64 * LINE;
            let at = [left - 7.0 - room - 8.0 - before, self.top + self.height / 2.0];
            let (text, anchor) = (line.clone(), Anchor::Middle);
            items.push(Item::Text { at, text, size: TEXT, anchor, upwards: true, colour: INK });
        }
    }
}

/// A line across the panel and a stroke at its edge, but not where words are.
fn tick(items: &mut Vec<Item>, axis: &Axis, across: [[f64; 2]; 2], stroke: [[f64; 2]; 2]) {
    if !matches!(axis.ticks, Ticks::Words(_)) {
        items.push(Item::Line { points: across.to_vec(), pen: Pen::new(INK, 1.0).faint(0.12) });
        items.push(Item::Line { points: stroke.to_vec(), pen: Pen::new(INK, 1.0) });
    }
}

/// How far along an axis a value is, from 0 to 1.
fn share(axis: &Axis, value: f64) -> f64 {
    let (low, high) = axis.ends;
    if axis.ticks == Ticks::Powers {
        return (value.max(1e-300).log10() - low.log10()) / (high.log10() - low.log10());
    }
    (value - low) / (high - low)
}

/// Values of an axis and their labels.
fn ticks(axis: &Axis, length: f64, room: f64) -> Vec<(f64, String)> {
    let (low, high) = axis.ends;
    match &axis.ticks {
        Ticks::Hidden => Vec::new(),
        Ticks::Words(words) => words.iter().enumerate().map(|(k, word)| (k as f64, word.clone())).collect(),
        Ticks::Powers => {
            let (from, to) = (low.log10().round() as i32, high.log10().round() as i32);
            let every = f64::from(to - from) / (length / room).max(1.0);
            let powers = (from..=to).step_by(every.ceil().max(1.0) as usize);
            powers
                .map(|p| {
                    (
                        10f64.powi(p),
                        if (-4..6).contains(&p) { number(10f64.powi(p), p) } else { format!("1e{p}") },
                    )
                })
                .collect()
        }
        Ticks::Numbers | Ticks::Whole | Ticks::Shares => {
            let mut step = step(high - low, (length / room).max(2.0) as usize);
            if axis.ticks == Ticks::Whole {
                step = step.max(1.0);
            }
            let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
            let power = step.log10().floor() as i32;
            let label = |value: f64| match axis.ticks {
                Ticks::Shares => format!("{} %", number(100.0 * value, power + 2)),
                _ => number(value, power),
            };
            (first..=last).map(|k| (k as f64 * step, label(k as f64 * step))).collect()
        }
    }
}

/// A number down to a power of ten, in thousands.
fn number(value: f64, power: i32) -> String {
    let text = format!("{:.*}", (-power).max(0) as usize, value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (k, digit) in whole.chars().enumerate() {
        if k > 0 && (whole.len() - k) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let negative = value < 0.0 && text.chars().any(|c| c.is_ascii_digit() && c != '0');
    format!("{}{grouped}{rest}", if negative { "−" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_precise_as_their_steps() {
        assert_eq!(number(12345.0, 3), "12,345");
        assert_eq!(number(-0.25, -2), "−0.25");
        assert_eq!(number(-0.001, 0), "0");
    }

    #[test]
    fn ticks_lie_between_the_ends() {
        let axis = Axis::of("", (0.0, 1.0), Ticks::Shares);
        let labels: Vec<String> = ticks(&axis, 400.0, 75.0).into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]);
        let axis = Axis::of("", (0.01, 1e4), Ticks::Powers);
        let labels: Vec<String> = ticks(&axis, 600.0, 75.0).into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["0.01", "0.1", "1", "10", "100", "1,000", "10,000"]);
    }
}
