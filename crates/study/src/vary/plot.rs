//! A sweep's figures.

use super::{Axis, Vary, VaryError};
use crate::language::{Figure, FigureKind};
use crate::metric::Metric;
use crate::quantity::Quantity;

/// A figure: a metric over a key, a colour for each flow or each value of another key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plot {
    /// The key along the axis; that with the most values, numbers first, if none is said.
    pub x: Option<String>,
    /// The metric; the first, if none is said.
    pub y: Option<Quantity>,
    /// `flow`, or the key with a colour per value; by default flows, where the metric is one of flows.
    pub color: Option<String>,
}

/// The subject that colours tell apart, where it is not a key.
const FLOW: &str = "flow";

impl Plot {
    /// Reads `x=KEY,y=METRIC,color=KEY`, each of which may be left out.
    ///
    /// # Errors
    /// Names the unknown word and the known ones.
    pub fn parse(text: &str) -> Result<Self, VaryError> {
        let mut plot = Self::default();
        for part in text.split(',') {
            let form =
                || VaryError::of(part, "a figure is written as x=KEY,y=METRIC,color=KEY (or color=flow)");
            let (channel, what) = part.split_once('=').ok_or_else(form)?;
            let what = what.trim();
            match channel.trim() {
                "x" => plot.x = Some(what.into()),
                "y" => plot.y = Some(what.parse().map_err(|why: String| VaryError::of(part, why))?),
                "color" | "colour" => plot.color = Some(what.into()),
                _ => return Err(form()),
            }
        }
        Ok(plot)
    }

    /// Lines over numbers; over words bars of flows, or seeds and their mean of all flows together.
    pub(super) fn figure(&self, axes: &[Axis]) -> Figure {
        let Quantity { metric, statistic, of, .. } = self.y.unwrap_or(Metric::Goodput.into());
        let x = self.x.as_deref().unwrap_or_default();
        let numeric = axes.iter().any(|axis| axis.key == x && axis.is_numeric());
        let of_flows = self.color.as_deref() == Some(FLOW);
        Figure {
            kind: match (numeric, of_flows) {
                (true, _) => FigureKind::Lines,
                (false, true) => FigureKind::Bars,
                (false, false) => FigureKind::Spread,
            },
            title: format!("{} over {x}", Quantity { statistic, of, ..metric.into() }.label()),
            variants: Vec::new(),
            metric: Some(metric),
            statistic,
            of,
            against: None,
            total: !of_flows,
            around: None,
        }
    }
}

impl Vary {
    /// The figures with nothing left open.
    pub(super) fn figures(&self) -> Result<Vec<Plot>, VaryError> {
        let of_metric = |&y: &Quantity| Plot { y: Some(y), ..Plot::default() };
        let asked = if self.plots.is_empty() {
            self.metrics.iter().map(of_metric).collect()
        } else {
            self.plots.clone()
        };
        let plots = asked.into_iter().map(|plot| self.complete(plot)).collect::<Result<Vec<_>, _>>()?;
        match plots.iter().find(|plot| plot.x != plots[0].x) {
            Some(Plot { x: Some(x), .. }) => {
                Err(VaryError::of(format!("x={x}"), "all figures of a sweep have one x"))
            }
            _ => Ok(plots),
        }
    }

    fn complete(&self, plot: Plot) -> Result<Plot, VaryError> {
        let keys: Vec<&str> = self.axes.iter().map(|axis| axis.key.as_str()).collect();
        let known = |key: &String, others: &str| {
            let why = || format!("is not varied; there {}{others}", listed(&keys));
            if keys.contains(&key.as_str()) { Ok(()) } else { Err(VaryError::of(key, why())) }
        };
        let longest = self.axes.iter().rev().max_by_key(|axis| (axis.is_numeric(), axis.levels.len()));
        let x = plot.x.or_else(|| longest.map(|axis| axis.key.clone())).unwrap_or_default();
        known(&x, "")?;
        let y = plot.y.or(self.metrics.first().copied()).unwrap_or(Metric::Goodput.into());
        let of_flows = y.metric.is_of_flows();
        let color = match plot.color {
            Some(color) if color == FLOW && !of_flows => {
                return Err(VaryError::of("color=flow", format!("{} is of all flows together", y.label())));
            }
            Some(color) if color == FLOW => Some(color),
            Some(color) => known(&color, ", and flow").map(|()| Some(color))?,
            None if of_flows => Some(FLOW.into()),
            None => keys.iter().find(|key| **key != x).map(|key| (*key).into()),
        };
        Ok(Plot { x: Some(x), y: Some(y), color })
    }
}

fn listed(keys: &[&str]) -> String {
    format!("{} {}", if keys.len() == 1 { "is" } else { "are" }, keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vary(axes: &[&str]) -> Vary {
        let axes = axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect();
        Vary { axes, ..Vary::new("chen10/a") }
    }

    #[test]
    fn plot_has_defaults() {
        let vary = vary(&["backoff.law=dcf,adaptive,optimal", "connections.k=1,2"]);
        let [goodput, jain] = &vary.figures().unwrap()[..] else { panic!("a figure of each metric") };
        let x = || Some("connections.k".to_string());
        assert_eq!(*goodput, Plot { x: x(), y: Some(Metric::Goodput.into()), color: Some(FLOW.into()) });
        assert_eq!(*jain, Plot { x: x(), y: Some(Metric::Jain.into()), color: Some("backoff.law".into()) });
        assert_eq!(
            (goodput.figure(&vary.axes).kind, goodput.figure(&vary.axes).total),
            (FigureKind::Lines, false)
        );
        assert!(jain.figure(&vary.axes).total);
        let words = self::vary(&["backoff.law=dcf,adaptive"]);
        let kinds: Vec<_> =
            words.figures().unwrap().iter().map(|plot| plot.figure(&words.axes).kind).collect();
        assert_eq!(kinds, [FigureKind::Bars, FigureKind::Spread]);
    }

    #[test]
    fn mistakes_list_known_words() {
        let wrong = |text: &str| {
            let plots = vec![Plot::parse(text)?];
            Vary { plots, ..vary(&["connections.k=1,2"]) }.figures().map(|_| String::new())
        };
        for (text, words) in [
            ("connections.k", "a figure is written as x=KEY"),
            ("z=connections.k", "a figure is written as x=KEY"),
            ("x=conections.k", "conections.k: is not varied; there is connections.k"),
            ("y=gooodput", "did you mean goodput"),
            ("y=jain,color=flow", "color=flow: Jain's index of goodput is of all flows together"),
            ("color=backoff.law", "backoff.law: is not varied; there is connections.k, and flow"),
        ] {
            let error = wrong(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
