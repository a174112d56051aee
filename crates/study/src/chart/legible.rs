//! Panels beside each other that can all be read.

use super::{Axis, Chart, Marks, Panel, Series, Span, Ticks};

/// A panel that reaches less of the panels' common scale than this cannot be read on it.
const LEGIBLE: f64 = 0.2;
/// The words in the headline of a panel with another scale.
const OWN: &str = "(scale of its own)";

impl Chart {
    /// The same with panels of one scale, but for those that could not be read on it: these have their own, and say so.
    pub(crate) fn legible(mut self) -> Self {
        let reach = self.panels.iter().map(|panel| panel.values().reach()).fold(0.0, f64::max);
        for panel in &mut self.panels {
            let values = panel.values();
            if values.reach() > 0.0
                && values.reach() < LEGIBLE * reach
                && panel.scale().ticks != Ticks::Powers
            {
                let has_bars = panel.series.iter().any(|series| matches!(series.marks, Marks::Bars { .. }));
                panel.scale().ends = if has_bars { values.with_zero() } else { values.near_zero() };
                panel.title = format!("{} {OWN}", panel.title).trim_start().into();
            }
        }
        self
    }
}

impl Panel {
    /// Whether values are on the x axis.
    fn lies(&self) -> bool {
        self.series.iter().any(|series| matches!(series.marks, Marks::Bars { lying: true, .. }))
    }

    /// The axis of values.
    fn scale(&mut self) -> &mut Axis {
        if self.lies() { &mut self.x } else { &mut self.y }
    }

    /// The range of its values, with as much of their intervals as leaves them readable.
    fn values(&self) -> Span {
        let along = usize::from(!self.lies());
        let values = self.series.iter().flat_map(|series| series.values(along));
        Span::of(values).around(self.series.iter().flat_map(Series::intervals)).0
    }
}

impl Series {
    /// The values of its marks, which for all but lines and bars are on the x axis (0) or on the y axis (1).
    fn values(&self, along: usize) -> Vec<f64> {
        match &self.marks {
            Marks::Line { points, .. } => points.iter().map(|point| point.y).collect(),
            Marks::Bars { bars, .. } => bars.iter().flat_map(|bar| [bar.from, bar.to]).collect(),
            Marks::Segments { segments, .. } => {
                segments.iter().flat_map(|s| [s[along], s[along + 2]]).collect()
            }
            Marks::Symbols { at, .. } => at.iter().map(|place| place[along]).collect(),
            Marks::Labels { .. } => Vec::new(),
        }
    }

    fn intervals(&self) -> Vec<(f64, f64)> {
        match &self.marks {
            Marks::Line { points, .. } => points.iter().filter_map(|point| point.interval).collect(),
            Marks::Bars { bars, .. } => bars.iter().filter_map(|bar| bar.interval).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Height, Point};
    use super::*;

    #[test]
    fn flat_panel_has_its_own_scale_and_reports_it() {
        let panel = |title: &str, values: &[f64]| {
            let axis = Axis::of("", (0.0, 500.0), Ticks::Numbers);
            let points = values.iter().map(|&y| Point { x: 0.0, y, interval: None }).collect();
            let mut panel = Panel::new(title, Axis::default(), axis, Height::default());
            panel.series.push(Series::ink("line", Marks::Line { points, stepped: false, dotted: false }));
            panel
        };
        let panels = vec![
            panel("k = 10", &[1.0, 61.0]),
            panel("k = 15", &[2.0, 120.0]),
            panel("k = 20", &[3.0, 455.0]),
        ];
        let chart = Chart { panels, ..Chart::default() }.legible();
        let seen: Vec<_> = chart.panels.iter().map(|panel| (panel.title.as_str(), panel.y.ends.1)).collect();
        assert_eq!(seen, [("k = 10 (scale of its own)", 70.0), ("k = 15", 500.0), ("k = 20", 500.0)]);
    }
}
