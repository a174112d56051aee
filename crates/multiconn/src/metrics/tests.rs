//! Checks every line of the text against Prometheus' rules.

use super::*;
use crate::control::{Source, Status as LawStatus};
use crate::status::{Direction, SCHEMA};
use evenair_service::metrics;

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
    let families = metrics::families(&text, "evenair_multiconn_").unwrap();
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
    assert!(
        metrics::families(&super::text(&none), "evenair_multiconn_").is_ok(),
        "and where there is no session"
    );
}
