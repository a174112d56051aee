//! The page for people: rates, their bounds, and the last ten minutes or so. It has no script; its
//! colours follow the reader's settings.

use super::account::{Account, EPOCHS, Past};
use crate::config::Mode;
use crate::status::{ClassStatus, Standing, Status, rate};
use evenair_units::printable;
use std::fmt::Write as _;

/// The largest number of rows; the terminal shows all.
const ROWS: usize = 1000;

/// The longest text \[characters\].
const TEXT_MAX: usize = 4096;

pub(super) const STYLE: &str = include_str!("style.css");

/// Escapes a text for HTML and for quoted attribute values.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text, TEXT_MAX).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c => escaped.push(c),
        }
    }
    escaped
}

pub(super) fn page(account: &Account) -> String {
    let mut page = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"refresh\" content=\"5\">\n\
        <title>evenair gateway</title>\n<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n<main>\n<h1>Gateway</h1>\n",
    );
    match &account.status {
        None => page += "<p>No epoch has passed yet.</p>\n",
        Some(status) => told(status, account, &mut page),
    }
    page + "</main>\n</body>\n</html>\n"
}

fn told(status: &Status, account: &Account, page: &mut String) {
    let (is_calm, mode) = match status.mode {
        _ if status.is_paused => (false, "Paused: the limits are open"),
        _ if status.is_blind => (false, "Nothing is to be read: the limits are open"),
        Mode::Enforce => (true, "Holds everyone to a fair share"),
        _ => (true, "Observes without limits"),
    };
    let state = if is_calm { "calm" } else { "open" };
    let _ = writeln!(page, "<p class=\"state {state}\">{mode}.</p>");
    status.troubles.iter().for_each(|trouble| {
        let _ = writeln!(page, "<p class=\"trouble\">{}</p>", escaped(trouble));
    });
    facts(status, page);
    if status.classes.is_empty() {
        *page += "<p>No subscriber has been seen yet.</p>\n";
        return;
    }
    *page += "<table>\n<thead><tr><th scope=\"col\">Subscriber</th><th scope=\"col\">Way</th><th scope=\"col\">Rate</th>\
        <th scope=\"col\">Limit</th><th scope=\"col\">Bound by</th><th scope=\"col\">History</th><th scope=\"col\">Busy</th>\
        <th scope=\"col\">Waits</th><th scope=\"col\">Dropped</th></tr></thead>\n<tbody>\n";
    // Active subscribers first, then the idle ones; each subscriber's two directions stay together.
    let lively: std::collections::BTreeSet<&str> = status
        .classes
        .iter()
        .filter(|class| class.standing != Standing::Idle)
        .map(|class| class.id.as_str())
        .collect();
    let (first, then): (Vec<_>, Vec<_>) =
        status.classes.iter().partition(|class| lively.contains(class.id.as_str()));
    let ambiguous = status.ambiguous();
    for class in first.into_iter().chain(then).take(ROWS) {
        let is_ambiguous = ambiguous.contains(class.name.as_str());
        row(class, is_ambiguous, account.past.get(&(class.id.clone(), class.side)), page);
    }
    *page += "</tbody>\n</table>\n";
    if let Some(more) = status.classes.len().checked_sub(ROWS).filter(|more| *more > 0) {
        let _ = writeln!(page, "<p>And {more} rows more: evenair gateway status</p>");
    }
}

/// Writes the facts about the whole gateway.
fn facts(status: &Status, page: &mut String) {
    let mut fact = |name: &str, value: &str| {
        let _ = write!(page, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(value));
    };
    fact("Law", &status.law);
    fact("Decision", &status.decision);
    if let Some(total) = status.total_bps {
        fact("All together", &rate(total as f64));
    }
    if let Some(fairness) = status.fairness {
        fact("Jain's index", &format!("{fairness:.2}"));
    }
    fact("Unknown addresses", &status.strangers.to_string());
    let facts = page.rfind("<div><dt>Law").unwrap_or(page.len());
    page.insert_str(facts, "<dl>");
    *page += "</dl>\n";
}

fn row(class: &ClassStatus, is_ambiguous: bool, past: Option<&Past>, page: &mut String) {
    let got = class.rate_bps.unwrap_or_default();
    let limit = class.limit_bps.map_or("–".into(), |limit| rate(limit as f64));
    let bar = class
        .limit_bps
        .map(|limit| {
            format!("<meter max=\"{limit}\" value=\"{got:.0}\" aria-label=\"share of the limit\"></meter> ")
        })
        .unwrap_or_default();
    let busy = class.busy.map_or("–".into(), |busy| format!("{:.0} %", 100.0 * busy));
    let _ = writeln!(
        page,
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td>{}</td><td>{bar}{}</td><td>{limit}</td><td>{}</td><td>{}</td><td>{busy}</td>\
        <td>{:.0} %</td><td>{}</td></tr>",
        if class.standing == Standing::Idle { "idle" } else { "lively" },
        escaped(&class.called(is_ambiguous)),
        class.side,
        rate(got),
        class.bound(),
        past.map(history).unwrap_or_default(),
        100.0 * class.waits,
        class.dropped
    );
}

/// Returns the last epochs' rates as a line, from zero to the highest.
fn history(past: &Past) -> String {
    let highest = past.rates.iter().flatten().fold(0.0_f32, |highest, rate| highest.max(*rate));
    if highest <= 0.0 || past.rates.len() < 2 {
        return String::new();
    }
    let first = EPOCHS - past.rates.len();
    // An epoch with an unknown rate is a gap.
    let (mut lines, mut is_on) = (String::new(), false);
    for (i, known) in past.rates.iter().enumerate() {
        if let Some(rate) = known {
            let (x, y) = (2 * (first + i), 19.0 - 18.0 * rate / highest);
            let _ = write!(lines, "{}{x} {y:.1}", if is_on { 'L' } else { 'M' });
        }
        is_on = known.is_some();
    }
    format!(
        "<svg viewBox=\"0 0 {} 20\" role=\"img\" aria-label=\"{} epochs, up to {}\"><path d=\"{lines}\"/></svg>",
        2 * EPOCHS,
        past.rates.len(),
        rate(highest.into())
    )
}
