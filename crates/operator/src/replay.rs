//! Replays of a record.

use crate::Program;
use anyhow::{Error, Result, bail};
use clap::Args;
use evenair_gateway::replay::{Answer, Replay};
use evenair_laws::Parameters;
use evenair_laws::gateway::{Allocation, GatewayParams};
use evenair_service::law::named;
use evenair_service::meant::explained;
use evenair_units::{Rate, plain_message};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(super) struct ReplayArguments {
    /// A file of the record, or its folder
    record: PathBuf,
    /// Another law: its name, or its name and parameters as JSON
    #[arg(long)]
    law: Option<String>,
    /// Print every decision, not only the totals
    #[arg(long)]
    all: bool,
}

pub(super) fn replay(arguments: &ReplayArguments, program: &Program) -> Result<()> {
    let other = arguments.law.as_deref().map(law).transpose()?;
    let is_other = other.is_some();
    let mut replay = Replay::new(other);
    let (mut rows, mut count, mut differing) =
        (vec![row(["time [s]", "on record", "", "replayed", ""])], 0, 0);
    let mut first = None;
    // For a changed record, the message has the record's line, not a place in the law's source.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    let read = evenair_gateway::log::read(&arguments.record, |line| {
        let Some(answer) = replay.hear(line)? else { return Ok(()) };
        count += 1;
        differing += usize::from(!answer.is_same);
        let begun = *first.get_or_insert(answer.at_ms);
        if arguments.all || (is_other && !answer.is_same) {
            rows.push(told(&answer, begun));
        }
        Ok(())
    });
    std::panic::set_hook(usual);
    read.map_err(Error::msg)?;
    if rows.len() > 1 {
        anstream::print!("{}", crate::lines(&(program.columns)(&rows)));
    }
    say!("{count} answers, {differing} differ");
    if differing > 0 && !is_other {
        bail!(
            "the law on record gives other answers in this program: it is of another version, or the record was changed"
        );
    }
    Ok(())
}

/// Parses a law's name, or its name and parameters.
fn law(text: &str) -> Result<GatewayParams> {
    let law: std::result::Result<GatewayParams, String> = if text.starts_with('{') {
        serde_json::from_str(text).map_err(|error| explained(plain_message(&error.to_string())))
    } else {
        named(text)
    };
    law.map_err(|why| Error::msg(format!("--law: {why}")))?
        .validated()
        .map_err(|bad| Error::msg(format!("--law: {bad}")))
}

fn row(words: [&str; 5]) -> Vec<String> {
    words.map(String::from).to_vec()
}

fn told(answer: &Answer, begun: u64) -> Vec<String> {
    let Answer { at_ms, recorded, replayed, .. } = answer;
    let time = format!("{:.1}", at_ms.saturating_sub(begun) as f64 / 1e3);
    let words = [recorded, replayed].map(|allocation| allocation.decision.to_string());
    row([&time, &given(recorded), &words[0], &given(replayed), &words[1]])
}

/// Formats the rates of an allocation: the total, or the range from the least to the most.
fn given(allocation: &Allocation) -> String {
    let kbps = |rate: Rate| (rate.as_bps() as f64 / 1e3).round().to_string();
    match (allocation.total, allocation.each.iter().min(), allocation.each.iter().max()) {
        (Some(total), ..) => format!("{} kb/s for all", kbps(total)),
        (None, Some(least), Some(most)) => format!("{} to {} kb/s each", kbps(*least), kbps(*most)),
        _ => "open".into(),
    }
}
