//! A bar per flow and variant; or per variant, for a number of the whole network.

use crate::chart::{
    Axis, Bar, Chart, Height, Marks, Panel, Series, Span, Symbol, Ticks, distinct, fills, printed, wrapped,
};
use crate::metric::Metric;
use crate::outcome::{Outcome, VariantOutcome};
use crate::quantity::Quantity;

/// The widest that upright bars and their words may be \[px\]; where they need more, they lie.
const WIDEST: f64 = 560.0;
/// The narrowest panel \[px\].
const NARROWEST: f64 = 220.0;
/// How much of the room of one word its bars take.
const FILLED: f64 = 0.8;

/// One bar's values.
struct Known<'a> {
    group: &'a str,
    label: &'a str,
    /// The word at the axis: a flow, or the metric's subject where it is of a whole network.
    word: &'a str,
    mean: f64,
    interval: Option<(f64, f64)>,
    optimum: Option<f64>,
    paper: Option<f64>,
    reference: Option<f64>,
}

impl Known<'_> {
    fn values(&self) -> impl Iterator<Item = f64> {
        [Some(self.mean), self.optimum, self.paper, self.reference].into_iter().flatten()
    }
}

/// Bars of a quantity; of all flows together, where `total` says so or no flow has one of its own.
pub(super) fn bars(
    outcome: &Outcome,
    variants: &[&VariantOutcome],
    quantity: Quantity,
    total: bool,
) -> Chart {
    // The networks of a pool have no flows in common.
    let whole = total || !quantity.metric.is_of_flows() || variants.iter().all(|v| v.flow_names().is_empty());
    let known =
        if whole { of_networks(outcome, variants, quantity) } else { of_flows(outcome, variants, quantity) };
    let labels = distinct(known.iter().map(|k| k.label));
    let groups = distinct(known.iter().map(|k| k.group));
    // As wide as the panel with most bars needs.
    let need = |group: &&str| {
        let words = distinct(known.iter().filter(|k| k.group == *group).map(|k| k.word));
        let letters = words.iter().map(|f| f.chars().count()).max().unwrap_or(0) as f64;
        (words.len() as f64) * f64::max(7.0 * letters + 8.0, 7.0 * labels.len() as f64 + 6.0)
    };
    let need = groups.iter().map(need).fold(0.0, f64::max);
    let lying = need > WIDEST;
    let (span, cut) =
        Span::of(known.iter().flat_map(Known::values)).around(known.iter().filter_map(|k| k.interval));
    let ends = span.with_zero();
    let looks = Looks { title: if whole { "" } else { "flow" }, quantity, lying };
    let panel = |group: &&str| {
        let here: Vec<&Known> = known.iter().filter(|k| k.group == *group).collect();
        looks.panel(group, &here, ends)
    };
    Chart {
        note: note(&known, cut),
        colours: fills(&labels),
        panels: groups.iter().map(panel).collect(),
        width: (if lying { 280.0 } else { need.max(NARROWEST) }, 900.0),
        ..Chart::default()
    }
}

/// The legend of bars, strokes and symbols, as far as there are any.
fn note(known: &[Known], cut: bool) -> String {
    let any = |has: fn(&Known) -> bool| known.iter().any(has);
    let parts = [
        (any(|k| k.interval.is_some()), "Bars: means over seeds, with their 95 % intervals."),
        (cut, "Intervals that are much longer than the bars are cut."),
        (any(|k| k.optimum.is_some()), "Strokes across bars: the fair optimum."),
        (any(|k| k.paper.is_some()), "Crosses: the paper's numbers."),
        (any(|k| k.reference.is_some()), "Diamonds: numbers of another origin."),
    ];
    parts.iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect::<Vec<_>>().join(" ")
}

fn of_flows<'a>(outcome: &Outcome, variants: &[&'a VariantOutcome], quantity: Quantity) -> Vec<Known<'a>> {
    let with_optimum = quantity == Metric::Goodput.into();
    let mut known = Vec::new();
    for variant in variants {
        for flow in variant.flow_names() {
            let Some(bar) = bar(outcome, variant, quantity, Some(flow)) else { continue };
            let optimum = || outcome.estimate(&variant.id, Metric::Optimum, Some(flow)).map(|e| e.mean);
            known.push(Known { word: flow, optimum: with_optimum.then(optimum).flatten(), ..bar });
        }
    }
    known
}

/// A bar per variant: beside each other in groups, where there are groups, and else each with its name.
fn of_networks<'a>(outcome: &Outcome, variants: &[&'a VariantOutcome], quantity: Quantity) -> Vec<Known<'a>> {
    let grouped = distinct(variants.iter().map(|v| v.group.as_str())).len() > 1;
    let of = |variant: &&'a VariantOutcome| {
        let bar = bar(outcome, variant, quantity, None)?;
        let (word, label) =
            if grouped { (variant.group.as_str(), bar.label) } else { (variant.label.as_str(), "") };
        Some(Known { group: "", word, label, ..bar })
    };
    variants.iter().filter_map(of).collect()
}

fn bar<'a>(
    outcome: &Outcome,
    variant: &'a VariantOutcome,
    quantity: Quantity,
    flow: Option<&str>,
) -> Option<Known<'a>> {
    let estimate = outcome.estimate(&variant.id, quantity, flow).filter(|e| e.mean.is_finite())?;
    let row = outcome.row(&variant.id, flow, quantity);
    Some(Known {
        group: &variant.group,
        label: &variant.label,
        word: "",
        mean: estimate.mean,
        interval: super::interval(quantity, estimate.mean, estimate.half_width),
        optimum: None,
        paper: row.and_then(|row| row.paper),
        reference: row.and_then(|row| row.reference.as_ref()).map(|other| other.value),
    })
}

/// The settings that all panels share.
struct Looks {
    /// The subject of the words at the axis.
    title: &'static str,
    quantity: Quantity,
    lying: bool,
}

impl Looks {
    fn panel(&self, group: &str, here: &[&Known], ends: (f64, f64)) -> Panel {
        let lying = self.lying;
        let words = distinct(here.iter().map(|k| k.word));
        let labels = distinct(here.iter().map(|k| k.label));
        // Where a word lacks some of the bars, the others stand in its middle.
        let beside = |word: &str| -> Vec<&str> {
            let of_word = |label: &&&str| here.iter().any(|k| k.word == word && k.label == **label);
            labels.iter().filter(of_word).copied().collect()
        };
        let most = words.iter().map(|word| beside(word).len()).max().unwrap_or(1);
        let thick = FILLED / most as f64;
        let sides = |k: &Known| {
            let position = |all: &[&str], one: &str| all.iter().position(|o| *o == one).unwrap_or(0) as f64;
            let beside = beside(k.word);
            let first = position(&words, k.word) - thick * beside.len() as f64 / 2.0;
            let begin = first + thick * position(&beside, k.label);
            (begin, begin + thick)
        };
        let mut panel = self.empty(group, &words, most, ends);
        for label in &labels {
            let of_label = here.iter().filter(|k| k.label == *label);
            let bar = |k: &&Known| Bar {
                of: k.word.into(),
                sides: sides(k),
                from: 0.0,
                to: k.mean,
                interval: k.interval,
            };
            let bars = of_label.map(bar).collect();
            panel.series.push(Series::coloured(*label, *label, Marks::Bars { bars, lying }));
        }
        let stroke = |k: &&Known| {
            let ((a, b), at) = (sides(k), k.optimum?);
            Some(if lying { [at, a, at, b] } else { [a, at, b, at] })
        };
        let segments: Vec<[f64; 4]> = here.iter().filter_map(stroke).collect();
        if !segments.is_empty() {
            panel.series.push(Series::ink("fair optimum", Marks::Segments { segments, thick: 2.5 }));
        }
        let at = |k: &Known, value: Option<f64>| {
            let (a, b) = sides(k);
            let middle = f64::midpoint(a, b);
            value.map(|value| if lying { [value, middle] } else { [middle, value] })
        };
        let papers = here.iter().filter_map(|k| at(k, k.paper));
        panel.series.extend(printed("paper", Symbol::Cross, papers));
        let others = here.iter().filter_map(|k| at(k, k.reference));
        panel.series.extend(printed("another origin", Symbol::Diamond, others));
        panel
    }

    fn empty(&self, group: &str, words: &[&str], labels: usize, ends: (f64, f64)) -> Panel {
        let scale = Axis::of(self.quantity.label(), ends, Ticks::Numbers);
        let words: Vec<String> = words.iter().map(|word| wrapped(word, 24)).collect();
        let lines = words.iter().map(|word| word.split('\n').count()).max().unwrap_or(1);
        let count = words.len();
        let axis = Axis::of_words(self.title, words);
        if self.lying {
            let row = (labels as f64 * 8.0 + 5.0).max(14.0 * lines as f64 + 1.0);
            let height = count as f64 * row;
            return Panel::new(group, scale, axis.downwards(), Height::Pixels(height));
        }
        Panel::new(group, axis, scale, Height::Pixels(260.0))
    }
}
