//! A daemon's status in Prometheus' text format 0.0.4, for a collector of text files.

use crate::Mode;
use crate::status::Status;
use evenair_laws::backoff::Registers;
use evenair_service::metrics::Metrics;

/// Returns the status of a daemon as metrics. Registers have their own units: slots, and 32 us of the TXOP limit in seconds.
pub fn text(status: &Status) -> String {
    let mut text = Metrics::new("evenair_backoff_");
    let own = [("interface", status.interface.as_str())];
    let mode = if status.mode == Mode::Enforce { "enforce" } else { "observe" };
    text.family(("law_info", "gauge"), "The law, and whether registers are set.")
        .sample(&[own[0], ("law", &status.law), ("mode", mode)], 1);
    text.family(("waits", "gauge"), "Whether the law does not act.")
        .sample(&own, u8::from(status.waits.is_some()));
    if let Some(value) = status.aggressiveness {
        text.family(("aggressiveness", "gauge"), "Logarithm of the divisor of the mean back-off.")
            .sample(&own, value);
    }
    text.family(("backlog_packets", "gauge"), "Packets that wait.").sample(&own, status.backlog_packets);
    text.family(("rate_bytes_per_second", "gauge"), "Rate of the last packets.")
        .sample(&own, status.rate_bps as f64 / 8.0);
    for (name, help, value) in [
        ("updates_total", "Updates of the law.", status.updates),
        ("sets_total", "Requests that the kernel accepted.", status.sets),
        ("cuts_total", "Updates at which limits cut the law's registers.", status.cuts),
        ("looks_total", "Looks at the interface because of the kernel's messages.", status.looks),
    ] {
        text.family((name, "counter"), help).sample(&own, value);
    }
    let both = [("wanted", status.wanted), ("accepted", status.accepted)];
    registers(&mut text, own[0], &both);
    text.into_text()
}

/// A register's name, its help, and its value.
type Register = (&'static str, &'static str, fn(Registers) -> f64);

/// Writes the registers that the law wants, and those that the kernel accepted.
fn registers(text: &mut Metrics, own: (&str, &str), both: &[(&str, Option<Registers>)]) {
    let all: [Register; 4] = [
        ("window_min_slots", "CWmin.", |of| of.window_min.into()),
        ("window_max_slots", "CWmax.", |of| of.window_max.into()),
        ("aifsn_slots", "AIFSN.", |of| of.aifsn.into()),
        ("txop_seconds", "The TXOP limit.", |of| of.txop().as_secs_f64()),
    ];
    for (name, help, of) in all {
        let mut family = text.family((name, "gauge"), help);
        for &(kind, registers) in both {
            if let Some(registers) = registers {
                family.sample(&[own, ("of", kind)], of(registers));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::restore;
    use evenair_laws::backoff::{Category, RegisterLimits};

    #[test]
    fn status_becomes_metrics() {
        let category = Category::Video;
        let status = Status {
            interface: "wlan0".into(),
            mode: Mode::Enforce,
            category,
            law: "optimal".into(),
            waits: None,
            aggressiveness: Some(2.5),
            backlog_packets: 3,
            rate_bps: 54_000_000,
            wanted: Some(restore::default(category)),
            limits: RegisterLimits::VALID,
            accepted: None,
            restore: restore::default(category),
            updates: 7,
            looks: 2,
            sets: 1,
            cuts: 0,
            aggregates: false,
        };
        let text = text(&status);
        for line in [
            "evenair_backoff_law_info{interface=\"wlan0\",law=\"optimal\",mode=\"enforce\"} 1",
            "evenair_backoff_aggressiveness{interface=\"wlan0\"} 2.5",
            "evenair_backoff_rate_bytes_per_second{interface=\"wlan0\"} 6750000",
            "evenair_backoff_window_min_slots{interface=\"wlan0\",of=\"wanted\"} 7",
            // 94 units of 32 us.
            "evenair_backoff_txop_seconds{interface=\"wlan0\",of=\"wanted\"} 0.003008",
            "# TYPE evenair_backoff_looks_total counter",
        ] {
            assert!(text.lines().any(|own| own == line), "{line} in\n{text}");
        }
        assert!(!text.contains("of=\"accepted\""));
    }
}
