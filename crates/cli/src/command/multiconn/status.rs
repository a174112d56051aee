//! `evenair multiconn status`.

use crate::text::columns;
use anyhow::{Context, Result};
use clap::Args;
use evenair_multiconn::run::status_socket;
use evenair_multiconn::status::{Question, ask};
use evenair_results::digits::counted;
use evenair_units::printable;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    /// The program's status socket, as the program printed it [default: the usual one]
    socket: Option<PathBuf>,
    /// The relay of this machine, not the client
    #[arg(long, conflicts_with = "socket")]
    relay: bool,
    /// Show it again each second, until Ctrl-C
    #[arg(long, conflicts_with = "json")]
    watch: bool,
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
    /// Print metrics as Prometheus reads them, for a collector of text files or your own scraper
    #[arg(long, conflicts_with_all = ["json", "watch"])]
    metrics: bool,
}

pub(super) fn status(arguments: &StatusArguments) -> Result<()> {
    let role = if arguments.relay { "relay" } else { "connect" };
    let socket = status_socket(arguments.socket.as_ref(), role);
    if arguments.metrics {
        let text = ask(&socket, Question::Metrics)?;
        anyhow::ensure!(
            text.starts_with('#'),
            "{}: no metrics from there: {}",
            socket.display(),
            text.trim()
        );
        text.lines().for_each(|line| anstream::println!("{}", printable(line, LINE_MAX)));
        return Ok(());
    }
    loop {
        let mut status: Value =
            serde_json::from_str(&ask(&socket, Question::Status)?).context("the answer is no JSON")?;
        make_printable(&mut status);
        if arguments.json {
            anstream::println!("{}", serde_json::to_string_pretty(&status)?);
        } else {
            let clear = if arguments.watch { "\x1b[H\x1b[2J" } else { "" };
            anstream::print!("{clear}{}", text(&status));
        }
        if !arguments.watch {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// The most characters of a line of metrics, and of a text in the status.
const LINE_MAX: usize = 1000;

/// Another program wrote the answer, and a peer or a tenant some of its texts.
fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(text, LINE_MAX),
        Value::Array(all) => all.iter_mut().for_each(make_printable),
        Value::Object(all) => {
            *all = std::mem::take(all)
                .into_iter()
                .map(|(key, value)| (printable(&key, LINE_MAX), value))
                .collect();
            all.values_mut().for_each(make_printable);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text of an answer, for people.
fn text(status: &Value) -> String {
    let mut text = String::new();
    if let Some(trouble) = status["trouble"].as_str() {
        let _ = writeln!(text, "trouble: {trouble}");
    }
    let none = Vec::new();
    let sessions = status["sessions"].as_array().unwrap_or(&none);
    if sessions.is_empty() {
        text += "no session\n";
    }
    if let Some(handshakes) = status["handshakes"].as_object() {
        let ended = handshakes["ended"].as_object().into_iter().flatten();
        let ended = ended.filter(|(outcome, count)| count.as_u64() != Some(0) || *outcome == "accepted");
        let ended: Vec<_> =
            ended.map(|(outcome, count)| format!("{count} {}", outcome.replace('_', " "))).collect();
        let _ = writeln!(text, "handshakes: {} open; {}", handshakes["open"], ended.join(", "));
    }
    for session in sessions {
        let number = |key: &str| session[key].as_u64().unwrap_or(0);
        let _ = writeln!(
            text,
            "{}: {} streams; {} sent, {} received",
            session["peer"].as_str().unwrap_or("?"),
            number("streams"),
            bytes(number("sent_bytes")),
            bytes(number("received_bytes"))
        );
        if let Some(why) = session["sending"]["law"]["why"].as_str() {
            let law = session["sending"]["law"]["law"].as_str().unwrap_or("?");
            let _ = writeln!(text, "  sending by {law}: {why}");
        }
        let _ = writeln!(text, "  receiving: the other side wants {}", session["receiving"]["wanted"]);
        if number("lost") + number("stuck") + number("again_bytes") > 0 {
            let _ = writeln!(
                text,
                "  {} broke, one was stuck {}, {} went out again",
                counted(number("lost"), "connection", "connections"),
                counted(number("stuck"), "time", "times"),
                bytes(number("again_bytes"))
            );
        }
        text += &connections(session["connections"].as_array().unwrap_or(&none));
    }
    text
}

fn connections(all: &[Value]) -> String {
    let head =
        ["  connection", "over", "round trip", "least", "window", "sent again", "sent", "received", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    for one in all {
        let ms = |key: &str| one[key].as_f64().map_or("-".into(), |ms| format!("{ms:.1} ms"));
        let count = |key: &str| one[key].as_u64().map_or("-".into(), |count| count.to_string());
        let marks = [("active", "sends"), ("stuck", "STUCK"), ("retires", "drains")];
        let marks = marks.iter().filter(|(key, _)| one[key].as_bool() == Some(true)).map(|(_, word)| *word);
        rows.push(vec![
            format!("  {}", one["id"]),
            one["congestion_control"].as_str().unwrap_or("-").into(),
            ms("round_trip_ms"),
            ms("least_round_trip_ms"),
            count("congestion_window"),
            count("retransmitted"),
            bytes(one["sent_bytes"].as_u64().unwrap_or(0)),
            bytes(one["received_bytes"].as_u64().unwrap_or(0)),
            marks.collect::<Vec<_>>().join(", "),
        ]);
    }
    columns(&rows)
}

/// "12.3 MB".
fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_are_told_where_there_is_no_session() {
        let ended = serde_json::json!({"accepted": 2, "displaced": 4000, "late": 0, "unknown_key": 3});
        let status = serde_json::json!({"sessions": [], "handshakes": {"open": 256, "ended": ended}});
        assert_eq!(
            text(&status),
            "no session\nhandshakes: 256 open; 2 accepted, 4000 displaced, 3 unknown key\n"
        );
    }

    #[test]
    fn escapes_of_others_reach_no_terminal() {
        let harmful = "a\u{1b}[2J\u{9b}\u{202e}b";
        let mut status = serde_json::json!({"trouble": harmful, "sessions": [{"peer": harmful, harmful: 1}]});
        make_printable(&mut status);
        for shown in [text(&status), status.to_string()] {
            assert!(shown.contains("\\u{202e}b") && shown.is_ascii(), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
    }

    #[test]
    fn the_reason_for_n_is_a_line() {
        let status = serde_json::json!({"sessions": [{
            "peer": "relay:7443", "streams": 2, "sent_bytes": 1_234_567, "received_bytes": 12, "lost": 1, "stuck": 0, "again_bytes": 5,
            "sending": {"wanted": 3, "law": {"law": "guarded", "why": "n is 3: a trial"}}, "receiving": {"wanted": 2, "law": null},
            "connections": [{"id": 1, "round_trip_ms": 50.0, "active": true, "stuck": false, "sent_bytes": 9}],
        }]});
        let text = text(&status);
        for words in [
            "relay:7443: 2 streams; 1.2 MB sent, 12 B received",
            "sending by guarded: n is 3: a trial",
            "wants 2",
            "1 connection broke",
            "50.0 ms",
            "sends",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
    }
}
