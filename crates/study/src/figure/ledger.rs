//! Where senders' time goes.

use crate::chart::{Axis, Bar, Chart, Height, Key, Marks, Panel, Series, Ticks, distinct, wrapped};
use crate::outcome::VariantOutcome;
use evenair_netsim::{FlowResult, LinkResult};

/// More that block a sender than this are not told apart.
const BLOCKERS_MAX: usize = 8;
/// The name of the rest of them; it comes after all others in the order of names.
const OTHERS: &str = "blocked by others";

/// The shares of each sender's time, a panel per variant.
pub(super) fn ledger(variants: &[&VariantOutcome]) -> Chart {
    let of_variant = |variant: &VariantOutcome| -> Rows {
        let flows = &variant.runs[0].flows;
        // Means over seeds of the queues that carry the flows' data.
        let row = |flow: &FlowResult| {
            let links = variant.runs.iter().filter_map(|r| r.links.iter().find(|l| l.queue == flow.queue));
            (flow.flow.clone(), ledger_parts(&links.collect::<Vec<_>>(), flows, &flow.flow))
        };
        flows.iter().map(row).collect()
    };
    let mut all: Vec<_> = variants.iter().map(|v| (v.label.as_str(), of_variant(v))).collect();
    merge_blockers(&mut all);
    let names = all.iter().flat_map(|(_, rows)| rows).flat_map(|(_, parts)| parts).map(|(p, _)| p.as_str());
    let mut parts: Vec<String> = distinct(names).into_iter().map(String::from).collect();
    parts.sort_by_key(|part| part_rank(part));
    let colours = parts.iter().zip(part_colours(&parts));
    let colours = colours.map(|(part, colour)| Key { name: part.clone(), look: colour.into() }).collect();
    Chart {
        note: "Each bar: where the time of a flow's sender went, means over seeds.".into(),
        colours,
        panels: all.iter().map(|(label, rows)| panel(label, rows, &parts)).collect(),
        width: (300.0, 900.0),
        ..Chart::default()
    }
}

/// Flows and the parts of their senders' time.
type Rows = Vec<(String, Vec<(String, f64)>)>;

/// Takes those together that block least, where there are more than can be told apart.
fn merge_blockers(all: &mut [(&str, Rows)]) {
    let mut totals: Vec<(String, f64)> = Vec::new();
    let parts = || all.iter().flat_map(|(_, rows)| rows).flat_map(|(_, parts)| parts);
    for (part, share) in parts().filter(|(part, _)| !OWN_PARTS.contains(&part.as_str())) {
        match totals.iter_mut().find(|(name, _)| name == part) {
            Some((_, total)) => *total += share,
            None => totals.push((part.clone(), *share)),
        }
    }
    if totals.len() <= BLOCKERS_MAX {
        return;
    }
    totals.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let few: Vec<String> = totals.split_off(BLOCKERS_MAX - 1).into_iter().map(|(part, _)| part).collect();
    for (_, parts) in all.iter_mut().flat_map(|(_, rows)| rows) {
        let of_few = |(part, _): &(String, f64)| few.contains(part);
        let sum: f64 = parts.iter().filter(|part| of_few(part)).map(|(_, share)| share).sum();
        parts.retain(|part| !of_few(part));
        if sum > 0.0 {
            parts.push((OTHERS.into(), sum));
        }
    }
}

fn panel(label: &str, rows: &[(String, Vec<(String, f64)>)], parts: &[String]) -> Panel {
    let words = rows.iter().map(|(flow, _)| wrapped(flow, 24)).collect();
    let x = Axis::of("share of time", (0.0, 1.0), Ticks::Shares);
    let y = Axis::of_words("sender of flow", words).downwards();
    let mut panel = Panel::new(label, x, y, Height::Pixels(26.0 * rows.len() as f64));
    for part in parts {
        let mut bars = Vec::new();
        for (k, (flow, shares)) in rows.iter().enumerate() {
            let before = |(other, _): &&(String, f64)| part_rank(other) < part_rank(part);
            let from = shares.iter().filter(before).map(|(_, share)| share).sum::<f64>();
            let Some((_, share)) = shares.iter().find(|(other, share)| other == part && *share > 0.0) else {
                continue;
            };
            let sides = (k as f64 - 0.42, k as f64 + 0.42);
            bars.push(Bar { of: flow.clone(), sides, from, to: from + share, interval: None });
        }
        if !bars.is_empty() {
            panel.series.push(Series::coloured(part, part, Marks::Bars { bars, lying: true }));
        }
    }
    panel
}

/// Means over runs of the parts of the time of one flow's sender.
pub(crate) fn ledger_parts(links: &[&LinkResult], flows: &[FlowResult], own: &str) -> Vec<(String, f64)> {
    let mut parts: Vec<(String, f64)> = Vec::new();
    let mut add = |part: String, share: f64| match parts.iter_mut().find(|(p, _)| *p == part) {
        Some((_, sum)) => *sum += share,
        None => parts.push((part, share)),
    };
    let times: Vec<_> = links.iter().filter_map(|l| l.airtime.as_ref()).collect();
    for time in &times {
        let n = times.len() as f64;
        add("own exchanges".into(), time.own / n);
        add("failed exchanges".into(), time.collided / n);
        add("back-off".into(), time.backoff / n);
        add("inter-frame spaces".into(), time.interframe / n);
        add("nothing to send".into(), time.empty / n);
        for (by, share) in &time.blocked_by {
            add(blocker(by, flows, own), share / n);
        }
    }
    parts
}

/// The owner of a queue's exchange: its flow where the queue's node belongs to one flow only.
fn blocker(queue: &str, flows: &[FlowResult], own: &str) -> String {
    let node = queue.split('>').next().unwrap_or(queue);
    let mut users = flows.iter().filter(|f| f.from == node || f.to == node);
    match (users.next(), users.next()) {
        (Some(flow), None) if flow.flow == own => "own TCP acknowledgements".into(),
        (Some(flow), None) => format!("blocked by flow {}", flow.flow),
        _ => format!("blocked by {queue}"),
    }
}

/// Parts of a sender's time that are not another's doing, in the order in which they are drawn.
pub(crate) const OWN_PARTS: [&str; 6] = [
    "own exchanges",
    "failed exchanges",
    "own TCP acknowledgements",
    "back-off",
    "inter-frame spaces",
    "nothing to send",
];

fn part_rank(part: &str) -> (usize, String) {
    if part == OTHERS {
        return (OWN_PARTS.len() + 1, part.into());
    }
    (OWN_PARTS.iter().position(|p| *p == part).unwrap_or(OWN_PARTS.len()), part.into())
}

/// Colours of parts; those of others' exchanges are warm.
fn part_colours(parts: &[String]) -> Vec<&'static str> {
    const BLOCKED: [&str; 8] =
        ["#a0521d", "#d3761f", "#f0a04b", "#fdc784", "#7b52ab", "#a08bc9", "#c9bfe0", "#6b4a3a"];
    let mut blocked = BLOCKED.iter().cycle();
    let colour = |part: &String| match part_rank(part).0 {
        0 => "#009e73",
        1 => "#d62728",
        2 => "#66c2a4",
        3 => "#9ecae1",
        4 => "#c6dbef",
        5 => "#d0d4d8",
        7 => "#8c8c8c",
        _ => blocked.next().expect("it cycles"),
    };
    parts.iter().map(colour).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_blockers_are_summed() {
        let parts = (0..20).map(|k| (format!("blocked by flow {k}"), f64::from(k) / 400.0));
        let parts: Vec<_> = parts.chain([("back-off".to_string(), 0.1)]).collect();
        let sum = |parts: &[(String, f64)]| parts.iter().map(|(_, share)| share).sum::<f64>();
        let mut all = [("one", vec![("1".to_string(), parts.clone())])];
        merge_blockers(&mut all);
        let merged = &all[0].1[0].1;
        assert_eq!(merged.len(), BLOCKERS_MAX + 1);
        assert!((sum(merged) - sum(&parts)).abs() < 1e-12);
        let others = merged.iter().find(|(part, _)| part == OTHERS).unwrap();
        assert!((others.1 - (0..13).map(f64::from).sum::<f64>() / 400.0).abs() < 1e-12);
    }
}
