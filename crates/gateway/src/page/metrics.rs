//! The status in Prometheus' text format 0.0.4. Names follow `node_exporter`: base units at the end,
//! and `_total` for sums that only grow. Rates are bytes per second; multiply by eight for bits.

use super::account::Account;
use crate::Side;
use crate::status::{ClassStatus, Status};
use evenair_service::metrics::Metrics;

const fn way(side: Side) -> &'static str {
    match side {
        Side::Down => "down",
        Side::Up => "up",
    }
}

pub(super) fn text(account: &Account) -> String {
    let mut text = Metrics::new("evenair_gateway_");
    text.family(("build_info", "gauge"), "The program's version.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let Some(status) = &account.status else { return text.into_text() };
    of_all(status, account, &mut text);
    of_each(status, account, &mut text);
    text.into_text()
}

/// Writes the samples of the whole gateway.
fn of_all(status: &Status, account: &Account, text: &mut Metrics) {
    let gauge = |name| (name, "gauge");
    text.family(gauge("mode_info"), "The daemon's mode, and the law that decides.")
        .sample(&[("law", &status.law), ("mode", status.mode.word())], 1);
    text.family(("epochs_total", "counter"), "Epochs that have passed.").sample(&[], status.epochs);
    text.family(gauge("epoch_seconds"), "Length of the last epoch.").sample(&[], status.epoch_s);
    text.family(gauge("status_timestamp_seconds"), "Time of this status, since 1970.")
        .sample(&[], status.at_ms as f64 / 1e3);
    let mut open = text.family(gauge("limits_open"), "Whether the limits are open, by reason.");
    open.sample(&[("reason", "paused")], u8::from(status.is_paused));
    open.sample(&[("reason", "nothing_read")], u8::from(status.is_blind));
    if let Some(total) = status.total_bps {
        text.family(gauge("total_limit_bytes_per_second"), "The rate of all together, both ways.")
            .sample(&[], total as f64 / 8.0);
    }
    if let Some(fairness) = status.fairness {
        text.family(gauge("fairness_ratio"), "Jain's index of backlogged subscribers.").sample(&[], fairness);
    }
    text.family(gauge("unknown_addresses"), "Addresses without a subscriber.").sample(&[], status.strangers);
    text.family(("troubles_total", "counter"), "Errors since the daemon began.")
        .sample(&[], account.troubles);
}

/// Writes one sample for each direction of each subscriber.
fn of_each(status: &Status, account: &Account, text: &mut Metrics) {
    let mut all = |name, help: &str, of: &dyn Fn(&ClassStatus) -> Option<f64>| {
        let mut family = text.family(name, help);
        for class in &status.classes {
            if let Some(value) = of(class) {
                family.sample(&[("subscriber", &class.id), ("direction", way(class.side))], value);
            }
        }
    };
    let past = |class: &ClassStatus| account.past.get(&(class.id.clone(), class.side));
    all(("class_sent_bytes_total", "counter"), "Bytes of a class that passed.", &|class| {
        Some(past(class)?.bytes.round())
    });
    all(
        ("class_dropped_packets_total", "counter"),
        "Packets dropped for lack of room in the class's queue.",
        &|class| Some(past(class)?.dropped as f64),
    );
    all(("class_rate_bytes_per_second", "gauge"), "Rate in the last epoch.", &|class| {
        Some(class.rate_bps? / 8.0)
    });
    all(
        ("class_limit_bytes_per_second", "gauge"),
        "Limit in the last epoch; none, if there is none.",
        &|class| Some(class.limit_bps? as f64 / 8.0),
    );
    all(("class_weight", "gauge"), "Weight in shares.", &|class| Some(class.weight));
    all(
        ("class_busy_ratio", "gauge"),
        "Share of the last epoch with data outstanding beyond the gateway.",
        &|class| class.busy,
    );
    all(
        ("class_waiting_ratio", "gauge"),
        "Share of samples in the last epoch with waiting packets.",
        &|class| Some(class.waits),
    );
    let mut bound =
        text.family(("class_bound", "gauge"), "The bound of a class's rate: 1, with the reason as a label.");
    for class in &status.classes {
        let labels =
            [("subscriber", class.id.as_str()), ("direction", way(class.side)), ("by", class.bound())];
        bound.sample(&labels, 1);
    }
}

#[cfg(test)]
mod tests;
