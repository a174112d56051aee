//! A gateway's plan and record, as text.

use crate::text::{columns, number};
use evenair_netsim::{GatewayControl, GatewaySpec, Shaping, Shares};
use evenair_results::{GatewayRecord, RunRecord, class_name};
use evenair_scenario::{GatewayTable, PacketCount, Resolved};
use evenair_units::Rate;

/// A scenario's gateway and the limits of its sources; nothing without either.
pub(crate) fn described(scenario: &Resolved) -> String {
    let (network, settings) = (scenario.network(), scenario.settings());
    let mut text = String::new();
    if let (Some(spec), Some(given)) = (&network.gateway, &settings.gateway) {
        text = head(spec, given) + &columns(&class_rows(spec));
        let classes = spec.of_flow.iter().zip(&spec.of_replies);
        let without =
            network.flows.iter().zip(classes).filter(|(_, (data, replies))| data.or(**replies).is_none());
        let past: Vec<&str> = without.map(|(flow, _)| flow.name.as_str()).collect();
        if !past.is_empty() {
            text += &format!("  not shaped: {}\n", past.join(", "));
        }
    }
    if let (Some(given), [spec, ..]) = (&settings.source_limit, &network.source_limits[..]) {
        let (rate, line, bucket) = (given.rate, PacketCount(spec.queue.limit_packets), spec.burst);
        text += &format!("\nsources: {rate} for each flow, a line of {line}, a bucket of {bucket}\n");
    }
    text
}

/// Its links and buckets, and the law that sets its rates.
fn head(spec: &GatewaySpec, given: &GatewayTable) -> String {
    let lines = match spec.shaper {
        Shaping::Aggregate => "one token bucket, one line",
        Shaping::AggregateFair => "one token bucket, a line for each class, in turns",
        Shaping::PerClass => "a token bucket and a line for each class",
    };
    let (node, limit, burst) = (&given.node, PacketCount(spec.queue.limit_packets), spec.burst);
    let rates = match &spec.control {
        GatewayControl::Plan(plan) => {
            let rate = given.rate.map(|rate| rate.to_string()).unwrap_or_default();
            match plan.len() - 1 {
                0 => format!("rate {rate}"),
                1 => format!("rate {rate}, which changes once as flows come and go"),
                n => format!("rate {rate}, which changes {n} times as flows come and go"),
            }
        }
        GatewayControl::Law(law) => {
            let written = serde_json::to_value(law).unwrap_or_default();
            let law = written["law"].as_str().unwrap_or("a law of the user's own");
            match spec.at_start().total.as_bps() {
                u64::MAX => format!("rates by {law}, at the start without a limit"),
                total => format!("rates by {law}, at the start {} kb/s together", number(total as f64 / 1e3)),
            }
        }
    };
    format!("\ngateway {node}: {lines}; room for {limit}, buckets of {burst}\n  {rates}\n")
}

fn class_rows(spec: &GatewaySpec) -> Vec<Vec<String>> {
    let kbps =
        |rate: Option<Rate>| rate.map_or_else(|| "–".into(), |rate| number(rate.as_bps() as f64 / 1e3));
    let mut rows =
        vec![["class", "weight", "own link [kb/s]", "rate at the start [kb/s]"].map(String::from).to_vec()];
    let Shares { total, each } = spec.at_start();
    for (class, rate) in spec.classes.iter().zip(each) {
        let first = (total.as_bps() < u64::MAX).then_some(rate);
        let name = format!("{} {}", class.name, class.role.direction);
        rows.push(vec![name, number(class.role.weight), kbps(class.role.link_rate), kbps(first)]);
    }
    rows
}

/// The gateway's record over some runs, means over seeds; nothing without a gateway.
pub(crate) fn did(runs: &[RunRecord]) -> String {
    let all: Vec<&GatewayRecord> = runs.iter().filter_map(|run| run.gateway.as_ref()).collect();
    let Some(first) = all.first() else { return String::new() };
    let mean = |of: &dyn Fn(&GatewayRecord) -> f64| all.iter().map(|g| of(g)).sum::<f64>() / all.len() as f64;
    let mut rows = vec![
        ["gateway ", "weight", "allowed [kb/s]", "passed [kb/s]", "packets came", "had to wait", "dropped"]
            .map(String::from)
            .to_vec(),
    ];
    let tells = first.classes.iter().any(|class| class.busy.is_some());
    rows[0].extend(tells.then(|| "busy [%]".into()));
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
        let row = rows.last_mut().expect("it was put there");
        row.extend(tells.then(|| number(mean(&|g| 100.0 * g.classes[i].busy.unwrap_or(f64::NAN)))));
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
