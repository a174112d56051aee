//! The gateway's section of a page.

use super::Page;
use super::tables::Table;
use super::words::{escape, explained};
use crate::outcome::Outcome;
use evenair_netsim::ClassResult;
use evenair_results::Estimate;
use evenair_results::digits;
use evenair_results::{GatewayRecord, class_name, is_limit};

type Column = (&'static str, fn(&ClassResult) -> f64);

const COLUMNS: [Column; 7] = [
    ("weight", |class| class.weight),
    (
        "allowed [kb/s]",
        |class| if is_limit(class.allowed_bps) { class.allowed_bps / 1e3 } else { f64::INFINITY },
    ),
    ("passed [kb/s]", |class| class.served_bps / 1e3),
    ("packets that came", |class| class.arrived_packets as f64),
    ("had to wait", |class| class.held_packets as f64),
    ("dropped", |class| class.dropped_packets as f64),
    ("busy [% of the time]", |class| 100.0 * class.busy.unwrap_or(f64::NAN)),
];

/// A row per subscriber and direction of each gateway, and the gateway's decisions.
pub(super) fn gateway(page: &mut Page, outcome: &Outcome) {
    for group in outcome.groups() {
        let all: Vec<&GatewayRecord> = group.runs.iter().filter_map(|run| run.gateway.as_ref()).collect();
        let Some(first) = all.first() else { continue };
        let cell = |class: usize, of: fn(&ClassResult) -> f64| {
            let values: Vec<f64> = all.iter().map(|gateway| of(&gateway.classes[class])).collect();
            if values.iter().any(|value| value.is_infinite()) {
                return "no limit".into();
            }
            if values.iter().any(|value| value.is_nan()) {
                return "none".into();
            }
            let Estimate { mean, half_width } = Estimate::from_samples(&values);
            digits::measured(mean, half_width.filter(|half| *half > 0.0))
        };
        let row = |(index, class): (usize, &ClassResult)| {
            let cells = COLUMNS.iter().map(|(_, of)| cell(index, *of)).collect();
            (escape(&class_name(class)), cells)
        };
        page.section("gateway", "The gateway's decisions");
        let table = Table {
            title: format!("Gateway {}", first.node),
            note: escape(&decided(&all)),
            first: "subscriber".into(),
            heads: COLUMNS.iter().map(|(name, _)| explained(name)).collect(),
            rows: first.classes.iter().enumerate().map(row).collect(),
        };
        table.put(page);
    }
}

/// Counts of each decision, on average over seeds.
fn decided(all: &[&GatewayRecord]) -> String {
    let mean = |of: fn(&GatewayRecord) -> u32| {
        let times = all.iter().map(|gateway| f64::from(of(gateway))).sum::<f64>() / all.len() as f64;
        let times = digits::exact(times);
        if times == "1" { "once".to_owned() } else { format!("{times} times") }
    };
    let steps = |gateway: &&GatewayRecord| gateway.steps.increase + gateway.steps.decrease;
    if all.iter().map(steps).sum::<u32>() == 0 {
        return "Rates are those of the scenario.".into();
    }
    format!(
        "It decided {} to allow more, {} to allow less, and {} to wait.",
        mean(|gateway| gateway.steps.increase),
        mean(|gateway| gateway.steps.decrease),
        mean(|gateway| gateway.steps.hold),
    )
}
