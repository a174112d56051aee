//! What is drawn of a sweep.

use super::{Axis, Vary, VaryError};
use crate::language::{Figure, FigureKind};
use crate::library::did_you_mean;
use crate::metric::{Metric, OverFlows};
use crate::quantity::{Of, Statistic};

/// A figure: a metric over a key, a colour for each flow or each value of another key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plot {
    /// The key along the axis; that with the most values, numbers first, if none is said.
    pub x: Option<String>,
    /// The metric; the first, if none is said.
    pub y: Option<Metric>,
    /// `flow`, or the key whose values have a colour each; flows, if nothing is said and the metric is one of flows.
    pub color: Option<String>,
}

/// What colours tell apart, where it is not a key.
const FLOW: &str = "flow";

impl Plot {
    /// Reads `x=KEY,y=METRIC,color=KEY`, each of which may be left out.
    ///
    /// # Errors
    /// Names what is not known, and what there is.
    pub fn parse(text: &str) -> Result<Self, VaryError> {
        let mut plot = Self::default();
        for part in text.split(',') {
            let form =
                || VaryError::of(part, "a figure is written as x=KEY,y=METRIC,color=KEY (or color=flow)");
            let (channel, what) = part.split_once('=').ok_or_else(form)?;
            let what = what.trim();
            match channel.trim() {
                "x" => plot.x = Some(what.into()),
                "y" => plot.y = Some(metric(what)?),
                "color" | "colour" => plot.color = Some(what.into()),
                _ => return Err(form()),
            }
        }
        Ok(plot)
    }

    /// Draws means over seeds: lines over numbers, bars over words.
    pub(super) fn figure(&self, axes: &[Axis]) -> Figure {
        let metric = self.y.unwrap_or(Metric::Goodput);
        let x = self.x.as_deref().unwrap_or_default();
        let numeric = axes.iter().any(|axis| axis.key == x && axis.is_numeric());
        Figure {
            kind: if numeric { FigureKind::Lines } else { FigureKind::Bars },
            title: format!("{} over {x}", metric.label()),
            variants: Vec::new(),
            metric: Some(metric),
            statistic: Statistic::Mean,
            of: Of::Data,
            against: None,
            total: self.color.as_deref() != Some(FLOW),
        }
    }
}

/// A metric by its word.
///
/// # Errors
/// If there is none.
pub fn metric(word: &str) -> Result<Metric, VaryError> {
    let found = Metric::all().find(|metric| metric.name() == word);
    found.ok_or_else(|| {
        let meant = did_you_mean(word, Metric::all().map(Metric::name));
        let meant = meant.unwrap_or_else(|| "`evenair list metrics` shows all".into());
        VaryError::of(word, format!("there is no such metric; {meant}"))
    })
}

impl Vary {
    /// The figures with nothing left open.
    pub(super) fn figures(&self) -> Result<Vec<Plot>, VaryError> {
        let of_metric = |&y: &Metric| Plot { y: Some(y), ..Plot::default() };
        let asked = if self.plots.is_empty() {
            self.metrics.iter().map(of_metric).collect()
        } else {
            self.plots.clone()
        };
        asked.into_iter().map(|plot| self.complete(plot)).collect()
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
        let y = plot.y.or(self.metrics.first().copied()).unwrap_or(Metric::Goodput);
        let of_flows = y.over_flows() != OverFlows::Network;
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
