//! The parser of evenair-service checks the text against Prometheus' rules, and the dashboard in `packaging`
//! against the text.

use super::super::tests::account;
use super::*;
use evenair_service::metrics;
use std::collections::BTreeSet;

fn full() -> String {
    let mut account = account();
    let status = account.status.as_mut().unwrap();
    status.total_bps = Some(8_000_000);
    text(&account)
}

#[test]
fn the_text_keeps_prometheus_rules() {
    let text = full();
    let families = metrics::families(&text, "evenair_gateway_").unwrap();
    assert!(families.len() >= 18 && families.values().all(|(_, samples)| *samples > 0), "{families:?}");
    // A line break is printed as a backslash and an n, and the format doubles each backslash.
    let own = "{subscriber=\"a\\\"}\\\\n\\\\\",direction=\"down\"}";
    for line in [
        format!("evenair_gateway_class_rate_bytes_per_second{own} 50000"),
        // Two epochs of 10 s.
        format!("evenair_gateway_class_sent_bytes_total{own} 1000000"),
        format!("evenair_gateway_class_dropped_packets_total{own} 6"),
        "evenair_gateway_unknown_addresses 2".into(),
        "evenair_gateway_mode_info{law=\"pfrc\",mode=\"enforce\"} 1".into(),
        "evenair_gateway_limits_open{reason=\"paused\"} 0".into(),
        "evenair_gateway_total_limit_bytes_per_second 1000000".into(),
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line} in {text}");
    }
    assert_eq!(metrics::families(&super::text(&Account::default()), "evenair_gateway_").unwrap().len(), 1);
}

/// Every metric of the dashboard exists.
#[test]
fn dashboard_queries_existing_metrics() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana/evenair-gateway.json");
    let board: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let families = metrics::families(&full(), "evenair_gateway_").unwrap();
    let mut asked = BTreeSet::new();
    let mut expressions = 0;
    let panels = board["panels"].as_array().unwrap();
    for panel in panels {
        assert!(panel["title"].is_string() && panel["gridPos"].is_object(), "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            expressions += 1;
            let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            for name in words.filter(|word| word.starts_with("evenair_")) {
                let (kind, _) =
                    families.get(name).unwrap_or_else(|| panic!("{name} is no metric: {expression}"));
                // Counters are read by their growth.
                let grows = expression.contains(&format!("rate({name}"))
                    || expression.contains(&format!("increase({name}"));
                assert_eq!(kind == "counter", grows, "{expression}");
                asked.insert(name.to_string());
            }
        }
    }
    assert!(expressions >= 10 && asked.len() >= 10, "{asked:?}");
    let mut ids: Vec<_> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
}
