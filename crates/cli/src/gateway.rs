//! What a gateway does, and did, as text.

use crate::text::{columns, number};
use evenair_netsim::{GatewayControl, Shaping};
use evenair_scenario::Resolved;
use evenair_study::{GatewayRecord, RunRecord, class_name};

/// What a scenario's gateway lets through, and limits of its sources; nothing without either.
pub(crate) fn described(scenario: &Resolved) -> String {
    let network = scenario.network();
    let mut text = String::new();
    if let (Some(gateway), Some(settings)) = (&network.gateway, &scenario.settings().gateway) {
        let lines = match gateway.shaper {
            Shaping::Aggregate => "one token bucket, one line",
            Shaping::AggregateFair => "one token bucket, a line for each class, in turns",
            Shaping::PerClass => "a token bucket and a line for each class",
        };
        text += &format!(
            "\ngateway {}: {lines} of {}, buckets of {}\n",
            settings.node, settings.queue.limit, settings.burst
        );
        let first = match &gateway.control {
            GatewayControl::Plan(plan) => {
                let changes = plan.len() - 1;
                let rate = settings.rate.map(|rate| rate.to_string()).unwrap_or_default();
                text += &match changes {
                    0 => format!("  rate {rate}, from the start\n"),
                    1 => format!("  rate {rate}, which changes once\n"),
                    n => format!("  rate {rate}, which changes {n} times as flows come and go\n"),
                };
                Some(&plan[0].1)
            }
            GatewayControl::Law(_) => {
                let law = settings.law.as_ref().map(|law| serde_json::to_value(law).unwrap_or_default());
                let name =
                    law.as_ref().and_then(|law| law["law"].as_str()).unwrap_or("a law of the user's own");
                text += &format!("  rates by {name}\n");
                None
            }
        };
        let mut rows = vec![
            ["class", "weight", "own link [kb/s]", "rate at the start [kb/s]"].map(String::from).to_vec(),
        ];
        for (index, class) in gateway.classes.iter().enumerate() {
            let link =
                class.role.link_rate.map_or_else(|| "–".into(), |rate| number(rate.as_bps() as f64 / 1e3));
            let rate =
                first.map_or_else(|| "–".into(), |first| number(first.each[index].as_bps() as f64 / 1e3));
            rows.push(vec![
                format!("{} {}", class.name, class.role.direction),
                number(class.role.weight),
                link,
                rate,
            ]);
        }
        text += &columns(&rows);
        let past: Vec<&str> = network
            .flows
            .iter()
            .zip(gateway.of_flow.iter().zip(&gateway.of_replies))
            .filter(|(_, (data, replies))| data.is_none() && replies.is_none())
            .map(|(flow, _)| flow.name.as_str())
            .collect();
        if !past.is_empty() {
            text += &format!("  not shaped: {}\n", past.join(", "));
        }
    }
    if let Some(limit) = &scenario.settings().source_limit {
        text += &format!(
            "\nsources: each flow at {}, {} of {}, buckets of {}\n",
            limit.rate, "a line", limit.queue.limit, limit.burst
        );
    }
    text
}

/// What the gateway of some runs did, means over seeds; nothing without one.
pub(crate) fn did(runs: &[RunRecord]) -> String {
    let all: Vec<&GatewayRecord> = runs.iter().filter_map(|run| run.gateway.as_ref()).collect();
    let Some(first) = all.first() else { return String::new() };
    let mean = |of: &dyn Fn(&GatewayRecord) -> f64| all.iter().map(|g| of(g)).sum::<f64>() / all.len() as f64;
    let mut rows = vec![
        ["gateway ", "weight", "allowed [kb/s]", "passed [kb/s]", "packets came", "had to wait", "dropped"]
            .map(String::from)
            .to_vec(),
    ];
    rows[0][0] += &first.node;
    for (i, class) in first.classes.iter().enumerate() {
        rows.push(vec![
            class_name(class),
            number(class.weight),
            number(mean(&|g| g.classes[i].allowed_bps / 1e3)),
            number(mean(&|g| g.classes[i].served_bps / 1e3)),
            number(mean(&|g| g.classes[i].arrived_packets as f64)),
            number(mean(&|g| g.classes[i].held_packets as f64)),
            number(mean(&|g| g.classes[i].dropped_packets as f64)),
        ]);
    }
    let mut text = format!("\n{}", columns(&rows));
    let (more, less, same) = (
        mean(&|g| f64::from(g.steps.increase)),
        mean(&|g| f64::from(g.steps.decrease)),
        mean(&|g| f64::from(g.steps.hold)),
    );
    if more + less > 0.0 {
        text += &format!(
            "  decisions: {} for more, {} for less, {} to wait\n",
            number(more),
            number(less),
            number(same)
        );
    }
    text
}
