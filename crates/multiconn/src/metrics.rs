//! The status in Prometheus' text format 0.0.4, with names like those of `node_exporter` and of the gateway's
//! page. Names end in base units, and those of sums that only grow in `_total`. Rates are bytes per second.

use crate::status::{Connection, Handshakes, SessionStatus, Status};
use evenair_service::metrics::Metrics;

/// Returns a status as text.
pub fn text(status: &Status) -> String {
    let mut text = Metrics::new("evenair_multiconn_");
    text.family(("build_info", "gauge"), "The program's version, and which end it is.")
        .sample(&[("version", env!("CARGO_PKG_VERSION")), ("role", status.role)], 1);
    text.family(("trouble", "gauge"), "Whether something is wrong; status names it.")
        .sample(&[], u8::from(status.trouble.is_some()));
    text.family(("sessions", "gauge"), "Sessions that there are.").sample(&[], status.sessions.len());
    status.handshakes.iter().for_each(|all| handshakes(all, &mut text));
    directions(status, &mut text);
    sessions(status, &mut text);
    connections(status, &mut text);
    text.into_text()
}

/// Writes the samples of incoming connections.
fn handshakes(all: &Handshakes, text: &mut Metrics) {
    text.family(("handshakes_open", "gauge"), "Connections that have not finished their handshake.")
        .sample(&[], all.open);
    let mut ended = text.family(("handshakes_total", "counter"), "Handshakes that ended, by their outcome.");
    for (outcome, count) in &all.ended {
        ended.sample(&[("outcome", outcome)], count);
    }
}

/// Writes the numbers of connections that the laws of both directions want.
fn directions(status: &Status, text: &mut Metrics) {
    let mut wanted =
        text.family(("session_connections_wanted", "gauge"), "Connections that the law of a direction sets.");
    for session in &status.sessions {
        let number = session.number.to_string();
        for (way, direction) in [("sending", &session.sending), ("receiving", &session.receiving)] {
            let labels = [("peer", &*session.peer), ("session", &*number), ("direction", way)];
            wanted.sample(&labels, direction.wanted);
        }
    }
    let mut rate = text.family(
        ("session_rate_limit_bytes_per_second", "gauge"),
        "The most that this side may send of streams; none, if there is no bound.",
    );
    for session in &status.sessions {
        let number = session.number.to_string();
        if let Some(bps) = session.sending.rate_most_bps {
            rate.sample(&[("peer", &*session.peer), ("session", &*number)], bps as f64 / 8.0);
        }
    }
    let mut law = text.family(("session_law_info", "gauge"), "The law of this side's data.");
    for session in &status.sessions {
        let number = session.number.to_string();
        if let Some(own) = &session.sending.law {
            law.sample(&[("peer", &*session.peer), ("session", &*number), ("law", &*own.law)], 1);
        }
    }
}

/// Writes one sample for each session.
fn sessions(status: &Status, text: &mut Metrics) {
    let mut all = |name, help: &str, of: &dyn Fn(&SessionStatus) -> u64| {
        let mut family = text.family(name, help);
        for session in &status.sessions {
            let number = session.number.to_string();
            family.sample(&[("peer", &*session.peer), ("session", &*number)], of(session));
        }
    };
    let gauge = |name| (name, "gauge");
    let counter = |name| (name, "counter");
    let count = |session: &SessionStatus, of: fn(&&Connection) -> bool| {
        session.connections.iter().filter(of).count() as u64
    };
    all(gauge("session_connections"), "Connections that there are.", &|session| count(session, |_| true));
    all(gauge("session_connections_active"), "Connections that this side sends on.", &|session| {
        count(session, |one| one.active)
    });
    all(gauge("session_connections_stuck"), "Connections that do not get on now.", &|session| {
        count(session, |one| one.stuck)
    });
    all(gauge("session_streams"), "Streams that are open.", &|session| session.streams.into());
    all(counter("session_streams_total"), "Streams so far.", &|session| session.streams_so_far);
    all(counter("session_sent_bytes_total"), "Bytes of streams sent, each once.", &|session| {
        session.sent_bytes
    });
    all(
        counter("session_sent_again_bytes_total"),
        "Bytes of streams sent again on another connection.",
        &|session| session.again_bytes,
    );
    all(
        counter("session_received_bytes_total"),
        "Bytes of streams received, repetitions included.",
        &|session| session.received_bytes,
    );
    all(counter("session_connections_lost_total"), "Connections that broke.", &|session| session.lost);
    all(
        counter("session_connections_stuck_total"),
        "How often a connection was found not to get on.",
        &|session| session.stuck,
    );
}

/// Writes one sample for each connection with the value.
fn connections(status: &Status, text: &mut Metrics) {
    let mut all = |name, help: &str, of: &dyn Fn(&Connection) -> Option<f64>| {
        let mut family = text.family(name, help);
        for session in &status.sessions {
            let number = session.number.to_string();
            for one in &session.connections {
                let Some(value) = of(one) else { continue };
                let id = one.id.to_string();
                let own = [("peer", &*session.peer), ("session", &*number), ("connection", &*id)];
                family.sample(&own, value);
            }
        }
    };
    let gauge = |name| (name, "gauge");
    let counter = |name| (name, "counter");
    let seconds = |ms: Option<f64>| ms.map(|ms| ms / 1e3);
    let count = |count: u64| Some(count as f64);
    all(gauge("connection_active"), "Whether this side sends on it.", &|one| Some(one.active.into()));
    all(gauge("connection_round_trip_seconds"), "Smoothed round trip.", &|one| seconds(one.round_trip_ms));
    all(gauge("connection_least_round_trip_seconds"), "The least round trip of the last minutes.", &|one| {
        seconds(one.least_round_trip_ms)
    });
    all(gauge("connection_congestion_window_bytes"), "Congestion window.", &|one| {
        Some(f64::from(one.congestion_window?) * f64::from(one.segment_bytes?))
    });
    all(
        gauge("connection_delivery_rate_bytes_per_second"),
        "The rate at which the other side got data when it was measured last.",
        &|one| count(one.delivery_rate_bytes_per_s?),
    );
    all(counter("connection_retransmitted_segments_total"), "Segments sent again by TCP.", &|one| {
        count(one.retransmitted?)
    });
    all(counter("connection_timeouts_total"), "Retransmission time-outs.", &|one| count(one.timeouts?));
    all(counter("connection_sent_bytes_total"), "Bytes sent, frames included.", &|one| count(one.sent_bytes));
    all(counter("connection_received_bytes_total"), "Bytes of streams received.", &|one| {
        count(one.received_bytes)
    });
}

#[cfg(test)]
mod tests;
