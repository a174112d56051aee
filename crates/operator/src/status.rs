//! The gateway's status, as a table and in words.

use crate::Program;
use anyhow::{Result, bail};
use evenair_gateway::config::Mode;
use evenair_gateway::control::{Answer, Request, ask};
use evenair_gateway::run::wall_ms;
use evenair_gateway::status::{Status, rate};
use evenair_units::printable;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A gateway hangs if its loop has not run for `HANGS_EPOCHS` epochs; an epoch counts as
/// `HANGS_LEAST_S` at least \[s\].
const HANGS_EPOCHS: f64 = 3.0;
const HANGS_LEAST_S: f64 = 4.0;

/// Largest number of printed characters of a decision or a trouble.
const TEXT_MAX: usize = 4096;

pub(super) fn status(file: &Path, (watch, json): (bool, bool), program: &Program) -> Result<()> {
    let socket = crate::socket(file);
    loop {
        let status = asked(&socket)?;
        if json {
            say!("{}", serde_json::to_string_pretty(&status)?);
        } else {
            let clear = if watch { "\x1b[H\x1b[2J" } else { "" };
            anstream::print!("{clear}{}", crate::lines(&text(&status, program)));
        }
        if !watch {
            return Ok(());
        }
        std::thread::sleep(Duration::from_secs(1));
    }
}

pub(super) fn why(words: &[String]) -> Result<()> {
    let (file, name) = match words {
        [name] => (PathBuf::from("/etc/evenair/gateway.toml"), name),
        [file, name, ..] => (PathBuf::from(file), name),
        [] => bail!("name a subscriber"),
    };
    let status = asked(&crate::socket(&file))?;
    match status.why(name) {
        Some(text) => anstream::print!("{}", crate::lines(&text)),
        None if status.classes.is_empty() => bail!("no epoch has passed yet: ask again in a moment"),
        None => {
            bail!("no subscriber with the id or name \"{name}\" has a class; see: evenair gateway status")
        }
    }
    Ok(())
}

fn asked(socket: &Path) -> Result<Status> {
    match ask(socket, &Request::Status)? {
        Answer::Status(status) => Ok(*status),
        Answer::Done(words) | Answer::Refused(words) => bail!("{words}"),
    }
}

fn text(status: &Status, program: &Program) -> String {
    let mode = match status.mode {
        _ if status.is_paused => "paused: the limits are open",
        _ if status.is_blind => "nothing is to be read: the limits are open",
        Mode::Observe => "observes: nothing is limited",
        Mode::DryRun => "dry run: nothing is limited",
        Mode::Enforce => "enforces",
    };
    let mut text = format!("{} {mode}; {}", status.law, printable(&status.decision, TEXT_MAX));
    let silent_s = wall_ms().saturating_sub(status.at_ms) as f64 / 1e3;
    if silent_s > HANGS_EPOCHS * status.epoch_s.max(HANGS_LEAST_S) {
        text += &format!("; the gateway has not run for {silent_s:.0} s");
    }
    if let Some(total) = status.total_bps {
        text += &format!("; all together {}", rate(total as f64));
    }
    if let Some(fairness) = status.fairness {
        text += &format!("; Jain's index {fairness:.2}");
    }
    text += &format!("\nunknown addresses: {}\n", status.strangers);
    if status.confirm_by_ms.is_some() {
        text += "on trial: confirm by evenair gateway confirm\n";
    }
    let head =
        ["subscriber", "way", "weight", "rate", "limit", "busy [%]", "waits [%]", "dropped", "bound by"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let ambiguous = status.ambiguous();
    for class in &status.classes {
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        rows.push(vec![
            class.called(ambiguous.contains(class.name.as_str())),
            class.side.to_string(),
            class.weight.to_string(),
            class.rate_bps.map_or_else(|| "–".into(), rate),
            class.limit_bps.map_or_else(|| "–".into(), |limit| rate(limit as f64)),
            class.busy.map_or_else(|| "–".into(), percent),
            percent(class.waits),
            class.dropped.to_string(),
            class.bound().into(),
        ]);
    }
    text += &(program.columns)(&rows);
    for trouble in &status.troubles {
        text += &format!("trouble: {}\n", printable(trouble, TEXT_MAX));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_gateway::Side;
    use evenair_gateway::status::{ClassStatus, Standing};

    fn columns(rows: &[Vec<String>]) -> String {
        rows.iter().map(|row| row.join(" ") + "\n").collect()
    }

    /// Escape sequences of ECMA-48, a line break and a bidirectional mark in all foreign texts.
    #[test]
    fn names_of_others_are_printed_harmlessly() {
        let evil = "a\u{1b}[2J\nb\u{9b}31m\u{202e}c";
        let class = ClassStatus {
            id: evil.into(),
            name: evil.into(),
            side: Side::Down,
            minor: 16,
            weight: 1.0,
            rate_bps: None,
            limit_bps: None,
            cap_bps: None,
            dropped: 0,
            waits: 0.0,
            busy: None,
            standing: Standing::Idle,
            ignores_losses: false,
        };
        let status = Status {
            schema: 1,
            at_ms: wall_ms(),
            epochs: 1,
            epoch_s: 1.0,
            mode: Mode::Enforce,
            is_paused: false,
            is_blind: false,
            confirm_by_ms: None,
            law: "pfrc".into(),
            decision: format!("hold: starved ({evil} down)"),
            total_bps: None,
            fairness: None,
            strangers: 0,
            troubles: vec![format!("packets of {evil} do not come to their classes")],
            classes: vec![class],
        };
        let shown = crate::lines(&text(&status, &Program { version: "1", columns }));
        let why = crate::lines(&status.why(evil).unwrap());
        for text in [&shown, &why] {
            let harms = |c: &char| (c.is_control() && *c != '\n') || *c == '\u{202e}';
            assert_eq!(text.chars().find(harms), None, "{text:?}");
        }
        assert_eq!(shown.matches("a\\u{1b}[2J\\nb\\u{9b}31m\\u{202e}c").count(), 3, "{shown}");
        assert_eq!(shown.lines().count(), 5, "no line is another's: {shown}");
    }
}
