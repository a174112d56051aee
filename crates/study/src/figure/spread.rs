//! A metric of the whole, seed by seed.

use crate::chart::{Axis, Chart, Height, Key, Marks, Panel, Series, Span, Symbol, Ticks, printed, wrapped};
use crate::outcome::{Outcome, VariantOutcome};
use crate::quantity::Quantity;

const SEEDS: &str = "seeds";
const MEAN: &str = "mean";

/// A tick per seed, a dot at the mean, a cross at the paper's number, a diamond at another's: a row per variant.
pub(super) fn spread(outcome: &Outcome, variants: &[&VariantOutcome], quantity: Quantity) -> Chart {
    let [mut seeds, mut means, mut paper, mut reference] = [const { Vec::new() }; 4];
    for (k, variant) in variants.iter().enumerate() {
        let row = k as f64;
        for value in outcome.samples(&variant.id, quantity, None).unwrap_or_default() {
            seeds.push([value, row]);
        }
        if let Some(found) = outcome.row(&variant.id, None, quantity) {
            means.push([found.mean, row]);
            paper.extend(found.paper.map(|value| [value, row]));
            reference.extend(found.reference.as_ref().map(|other| [other.value, row]));
        }
    }
    let all = [&seeds, &means, &paper, &reference];
    let span = Span::of(all.into_iter().flatten().map(|[value, _]| *value));
    let words: Vec<String> = variants.iter().map(|v| wrapped(&label(v), 30)).collect();
    let lines = words.iter().map(|word| word.split('\n').count()).max().unwrap_or(1);
    let mut panel = Panel::new(
        "",
        Axis::of(quantity.label(), span.for_symbols(), Ticks::Numbers),
        Axis::of_words("", words).downwards(),
        Height::Pixels(variants.len() as f64 * (15.0 * lines as f64 + 12.0).max(34.0)),
    );
    let ticks = Marks::Symbols { symbol: Symbol::Tick, at: seeds };
    panel.series.push(Series::coloured(SEEDS, SEEDS, ticks));
    panel.series.push(Series::coloured(MEAN, MEAN, Marks::Symbols { symbol: Symbol::Dot, at: means }));
    let mut note = String::from("Ticks: seeds. Dots: their means.");
    if !paper.is_empty() {
        note += " Crosses: the paper's numbers.";
    }
    if !reference.is_empty() {
        note += " Diamonds: numbers of another origin.";
    }
    panel.series.extend(printed("paper", Symbol::Cross, paper.into_iter()));
    panel.series.extend(printed("another origin", Symbol::Diamond, reference.into_iter()));
    let key = |name: &str, look: &str| Key { name: name.into(), look: look.into() };
    Chart {
        note,
        colours: vec![key(SEEDS, "#0072b2"), key(MEAN, "#d55e00")],
        panels: vec![panel],
        width: (240.0, 900.0),
        ..Chart::default()
    }
}

/// The label of a variant in a list of all; with its group, if it has one.
fn label(variant: &VariantOutcome) -> String {
    let group = if variant.group.is_empty() { String::new() } else { format!("{}, ", variant.group) };
    let point = variant.point.as_ref().map(|p| format!(", {} {}", p.parameter, p.x)).unwrap_or_default();
    format!("{group}{}{point}", variant.label)
}
