//! Checks every line of the text against Prometheus' rules, with the same reader as for the gateway's page.

use super::*;
use crate::control::{Source, Status as LawStatus};
use crate::status::{Direction, SCHEMA};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the samples of a text, by family, or the first breach of a rule of the format or of naming.
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
            if name.split('_').any(|word| units.contains(&word)) || !name.starts_with("evenair_multiconn_") {
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

/// Reads `name{label="value",…} number`; returns the part before the number, and the number.
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

/// Returns the status of a relay with two sessions of one key with an awkward name.
fn full() -> Status {
    let law = LawStatus {
        law: "guarded".into(),
        n: 2,
        exact: None,
        most: 16,
        round_trip_s: None,
        least_round_trip_s: None,
        source: Source::None,
        intervals: 1,
        held: 0,
        why: "n is 2".into(),
    };
    let connection = |id, active| Connection {
        id,
        peer: "192.0.2.1:4711".into(),
        active,
        stuck: !active,
        retires: false,
        round_trip_ms: Some(50.0),
        least_round_trip_ms: Some(40.0),
        congestion_control: Some("cubic".into()),
        congestion_window: Some(10),
        segment_bytes: Some(1448),
        retransmitted: Some(3),
        timeouts: active.then_some(1),
        delivery_rate_bytes_per_s: Some(125_000),
        sent_bytes: 2000,
        received_bytes: 70,
    };
    let session = |number| SessionStatus {
        peer: "an\"na\\\n".into(),
        number,
        sending: Direction { wanted: 2, law: Some(law.clone()), rate_most_bps: Some(8_000_000) },
        receiving: Direction { wanted: 1, law: None, rate_most_bps: None },
        streams: 5,
        streams_so_far: 9,
        sent_bytes: 1900,
        again_bytes: 100,
        received_bytes: 140,
        lost: 1,
        stuck: 2,
        connections: vec![connection(1, true), connection(2, false)],
    };
    let handshakes = Handshakes { open: 3, ended: [("accepted", 17), ("displaced", 4000)].into() };
    Status {
        schema: SCHEMA,
        role: "relay",
        sessions: vec![session(7), session(8)],
        trouble: None,
        handshakes: Some(handshakes),
    }
}

#[test]
fn the_text_keeps_prometheus_rules() {
    let text = text(&full());
    let families = families(&text).unwrap();
    assert!(families.len() >= 20 && families.values().all(|(_, samples)| *samples > 0), "{families:?}");
    // A line break in a name is written as an escape, and the label escapes its backslash.
    let own = "peer=\"an\\\"na\\\\\\\\n\",session=\"7\"";
    for line in [
        format!("session_connections_active{{{own}}} 1"),
        format!("session_connections_wanted{{{own},direction=\"sending\"}} 2"),
        format!("session_sent_again_bytes_total{{{own}}} 100"),
        format!("session_connections_lost_total{{{own}}} 1"),
        format!("connection_round_trip_seconds{{{own},connection=\"1\"}} 0.05"),
        format!("connection_congestion_window_bytes{{{own},connection=\"2\"}} 14480"),
        format!("connection_delivery_rate_bytes_per_second{{{own},connection=\"1\"}} 125000"),
        format!("session_rate_limit_bytes_per_second{{{own}}} 1000000"),
        "handshakes_open 3".into(),
        "handshakes_total{outcome=\"displaced\"} 4000".into(),
        "sessions 2".into(),
        "trouble 0".into(),
    ] {
        assert!(text.contains(&format!("\nevenair_multiconn_{line}\n")), "{line} in {text}");
    }
    let none = Status { sessions: Vec::new(), ..full() };
    assert!(self::families(&super::text(&none)).is_ok(), "and where there is no session");
}

#[test]
fn the_reader_of_the_format_finds_mistakes() {
    let good = "# HELP evenair_multiconn_x A thing.\n# TYPE evenair_multiconn_x gauge\nevenair_multiconn_x{a=\"b\"} 1\n";
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
        ("evenair_multiconn_x{", "evenair_multiconn_y{"),
        ("evenair_multiconn_x{a=\"b\"} 1\n", "evenair_multiconn_x 1\nevenair_multiconn_x 1\n"),
    ] {
        assert!(families(&good.replace(from, to)).is_err(), "{}", good.replace(from, to));
    }
}
