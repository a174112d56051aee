//! A separate parser checks the text against Prometheus' rules, and the dashboard in `packaging`
//! against the text.

use super::super::tests::account;
use super::*;
use std::collections::{BTreeMap, BTreeSet};

/// Returns type and number of samples of each family.
///
/// # Errors
/// If the text breaks a rule of the format or of naming.
fn families(text: &str) -> Result<BTreeMap<String, (String, usize)>, String> {
    let mut families: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let (mut helped, mut current, mut seen) = (String::new(), String::new(), BTreeSet::new());
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    for line in text.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(help) = line.strip_prefix("# HELP ") {
            let Some((name, words)) = help.split_once(' ') else { return wrong("no help") };
            if !words.ends_with('.') || words.contains('\\') {
                return wrong("help is a sentence");
            }
            helped = name.into();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = kind.split_once(' ') else { return wrong("no type") };
            if name != helped || families.contains_key(name) {
                return wrong("a type stands once, behind its help");
            }
            if (kind == "counter") != name.ends_with("_total") || !matches!(kind, "counter" | "gauge") {
                return wrong("counters, and they alone, end in _total");
            }
            let units = ["bits", "kilobytes", "milliseconds", "percent", "minutes"];
            if name.split('_').any(|word| units.contains(&word)) || !name.starts_with("evenair_gateway_") {
                return wrong("base units, and the program's own prefix");
            }
            current = name.into();
            families.insert(current.clone(), (kind.into(), 0));
        } else {
            let (series, value) = sample(line)?;
            let name = series.split('{').next().unwrap_or_default();
            if name != current || !seen.insert(series.clone()) {
                return wrong("a family's samples stand together, each once");
            }
            if families[name].0 == "counter" && value < 0.0 {
                return wrong("a counter below zero");
            }
            families.entry(name.into()).and_modify(|family| family.1 += 1);
        }
    }
    Ok(families)
}

/// Parses `name{label="value",…} number`; returns the text before the number, and the number.
fn sample(line: &str) -> Result<(String, f64), String> {
    let wrong = |why: &str| format!("{why}: {line}");
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let end = line.find(['{', ' ']).ok_or_else(|| wrong("no value"))?;
    if !is_name(&line[..end]) {
        return Err(wrong("no name"));
    }
    let mut rest = &line[end..];
    if let Some(mut labels) = rest.strip_prefix('{') {
        loop {
            let (name, after) = labels.split_once("=\"").ok_or_else(|| wrong("no label"))?;
            if !is_name(name) {
                return Err(wrong("no label's name"));
            }
            let (mut escapes, mut close) = (false, None);
            for (i, c) in after.char_indices() {
                match c {
                    _ if escapes && !matches!(c, '\\' | '"' | 'n') => return Err(wrong("no such escape")),
                    _ if escapes => escapes = false,
                    '\\' => escapes = true,
                    '"' => {
                        close = Some(i);
                        break;
                    }
                    _ => (),
                }
            }
            labels = &after[close.ok_or_else(|| wrong("a value without end"))? + 1..];
            match labels.strip_prefix(',') {
                Some(next) => labels = next,
                None => break,
            }
        }
        rest = labels.strip_prefix('}').ok_or_else(|| wrong("labels without end"))?;
    }
    let value = rest.strip_prefix(' ').ok_or_else(|| wrong("no value"))?;
    let number = value.parse().map_err(|_| wrong("no number"))?;
    Ok((line[..line.len() - value.len() - 1].into(), number))
}

fn full() -> String {
    let mut account = account();
    let status = account.status.as_mut().unwrap();
    status.total_bps = Some(8_000_000);
    text(&account)
}

#[test]
fn the_text_keeps_prometheus_rules() {
    let text = full();
    let families = families(&text).unwrap();
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
    assert_eq!(self::families(&super::text(&Account::default())).unwrap().len(), 1);
}

#[test]
fn the_reader_of_the_format_finds_mistakes() {
    let good =
        "# HELP evenair_gateway_x A thing.\n# TYPE evenair_gateway_x gauge\nevenair_gateway_x{a=\"b\"} 1\n";
    assert!(families(good).is_ok());
    for (from, to) in [
        (" 1\n", " one\n"),
        (" 1\n", " 1"),
        ("{a=\"b\"}", "{a=\"b}"),
        ("{a=\"b\"}", "{a=\"\\x\"}"),
        ("{a=\"b\"}", "{A=\"b\"}"),
        (" gauge", " counter"),
        (" gauge", " thing"),
        ("_x", "_x_bits"),
        ("# TYPE", "# KIND"),
        ("evenair_gateway_x{", "evenair_gateway_y{"),
        ("evenair_gateway_x{a=\"b\"} 1\n", "evenair_gateway_x 1\nevenair_gateway_x 1\n"),
    ] {
        assert!(families(&good.replace(from, to)).is_err(), "{}", good.replace(from, to));
    }
}

/// Every metric of the dashboard exists.
#[test]
fn dashboard_queries_existing_metrics() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/grafana/evenair-gateway.json");
    let board: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let families = families(&full()).unwrap();
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
