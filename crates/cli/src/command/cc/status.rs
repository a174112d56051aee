//! The sockets that have a law, as a table.

use crate::text::columns;
use anyhow::Result;
use evenair_kernel::law;
use evenair_kernel::pins::Pinned;
use evenair_kernel::sockets::{Look, Seen};
use evenair_results::digits::counted;
use serde_json::json;
use std::time::Duration;

/// Between two looks of `--watch`.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) fn status(watch: bool, json: bool) -> Result<()> {
    let laws = Pinned::all()?;
    let look = Look::new()?;
    loop {
        let seen = look.take()?;
        if json {
            let laws = laws.iter().map(|pinned| {
                Ok(json!({
                    "law": pinned.law.name(),
                    "control": pinned.law.control(),
                    "parameters": pinned.params()?,
                    "for_everybody": pinned.is_for_everybody(),
                    "sockets": pinned.sockets()?,
                }))
            });
            let laws = laws.collect::<Result<Vec<_>>>()?;
            anstream::println!(
                "{}",
                serde_json::to_string_pretty(&json!({ "laws": laws, "sockets": seen }))?
            );
        } else {
            let clear = if watch { "\x1b[H\x1b[2J" } else { "" };
            anstream::print!("{clear}{}", text(&laws, &seen)?);
        }
        if !watch {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
}

fn text(laws: &[Pinned], seen: &[Seen]) -> Result<String> {
    let mut text = String::new();
    for pinned in laws {
        let (law, sockets) = (pinned.law, pinned.sockets()?);
        let all = counted(sockets, "socket", "sockets");
        text += &format!("{}: {}; {all}", law.control(), law::words(&pinned.params()?));
        let here = seen.iter().filter(|socket| socket.law == law.name()).count();
        if let Some(elsewhere) = (sockets as usize).checked_sub(here).filter(|elsewhere| *elsewhere > 0) {
            text += &format!(", {elsewhere} of them in other network namespaces");
        }
        text.push('\n');
    }
    if laws.is_empty() {
        text += &super::none_pinned()?;
    }
    if seen.is_empty() {
        return Ok(text);
    }
    let head =
        ["law", "from", "to", "window", "waiting", "base [ms]", "round trip [ms]", "threshold", "steps", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    let ms = |us: Option<f64>| us.map_or_else(|| "-".into(), |us| format!("{:.2}", us / 1e3));
    for socket in seen {
        let state = match socket {
            Seen { listens: true, .. } => "listens",
            Seen { repairs: true, .. } => "repairs",
            _ => "",
        };
        rows.push(vec![
            socket.law.into(),
            socket.from.to_string(),
            socket.to.to_string(),
            socket.window.to_string(),
            socket.waiting().map_or_else(|| "-".into(), |waiting| format!("{waiting:.1}")),
            ms(socket.base_us.map(f64::from)),
            ms(socket.round_trip_us),
            socket.threshold.map_or_else(|| "-".into(), |threshold| threshold.to_string()),
            socket.steps.to_string(),
            state.into(),
        ]);
    }
    Ok(text + &columns(&rows))
}
