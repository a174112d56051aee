//! The main reason why a flow gets little, judged by its evidence, and the clause that says it.

use super::evidence::{Evidence, Hop};
use super::percent;
use crate::digits::exact;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From this share of lost frames on, losses explain more than waiting does: binary back-off and TCP's time-outs follow.
const MANY_LOST: f64 = 0.25;
/// The same where nodes are hidden: their frames overlap one attempt after the other, so that packets are given up.
const MANY_LOST_TO_HIDDEN: f64 = 0.1;
/// The same where the sender also waits for others.
const MOST_LOST: f64 = 0.5;
/// A sender that waits for others for this share of its time is held back by them.
const MUCH_BLOCKED: f64 = 0.4;
/// TCP halves its window for each loss: two drops in a hundred packets keep it small.
const MANY_DROPPED: f64 = 0.02;
/// Without a MAC's retries, TCP sees each error: one in a hundred packets keeps its window below 15 segments (1.22/√p, RFC 5348's simple form).
const MANY_ERRORS: f64 = 0.01;
/// A sender without packets for half of its time is not held back by the air.
const MOSTLY_EMPTY: f64 = 0.5;

/// The main reason why a flow gets little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Its frames collide with those of nodes that its sender does not sense.
    HiddenNodes,
    /// Its frames collide, with no hidden node in sight.
    Collisions,
    /// A link loses frames by its own errors.
    LinkErrors,
    /// Acknowledgements come after the sender's time-out: the link is too long for it.
    LateAcks,
    /// A sender on its way waits for transmissions that it senses.
    Deference,
    /// A queue on its way drops its packets.
    Drops,
    /// TCP waits for its time-outs.
    Timeouts,
    /// Its sender has nothing to send.
    NothingToSend,
    /// Its packets wait in a queue on their way.
    Queueing,
    /// The records do not tell.
    Unknown,
}

/// The main reason, and a clause that says it.
pub(super) fn judge(evidence: &Evidence) -> (Cause, String) {
    let Some(first) = evidence.hops.first() else { return unknown(evidence) };
    // Repeated frames add to all other reasons.
    if let Some(late) = most(&evidence.hops, &|hop| hop.acks_late).filter(|hop| hop.acks_late >= MANY_LOST) {
        let clause = format!(
            "{} of the frames that {} sends are repeated: their acknowledgements from {} come after its time-out",
            percent(late.acks_late),
            late.from,
            late.to
        );
        return (Cause::LateAcks, clause);
    }
    let lost = |hop: &Hop| hop.frames_lost.unwrap_or(0.0);
    let worst = most(&evidence.hops, &lost).unwrap_or(first);
    let many = match first.blocked.is_some_and(|blocked| blocked >= MUCH_BLOCKED) {
        true => MOST_LOST,
        false if !worst.hidden.is_empty() => MANY_LOST_TO_HIDDEN,
        false => MANY_LOST,
    };
    if lost(worst) >= many {
        return losses(worst, evidence);
    }
    if let Some(wire) =
        most(&evidence.hops, &|hop| hop.lost_on_wire).filter(|hop| hop.lost_on_wire >= MANY_ERRORS)
    {
        let lost = percent(wire.lost_on_wire);
        let clause =
            format!("the wire from {} to {} loses {lost} of the packets by errors", wire.from, wire.to);
        return (Cause::LinkErrors, clause);
    }
    if first.blocked.is_some_and(|blocked| blocked >= MUCH_BLOCKED) {
        return (Cause::Deference, deference(first, true, evidence));
    }
    if let Some(hop) = most(&evidence.hops, &Hop::dropped).filter(|hop| hop.dropped() >= MANY_DROPPED) {
        return (Cause::Drops, drops(hop));
    }
    let empty = first.empty.filter(|empty| *empty >= MOSTLY_EMPTY);
    if let Some(empty) = empty.filter(|_| evidence.timeouts_per_s > 0.0) {
        return (Cause::Timeouts, idle(evidence, empty));
    }
    let slowest = most(&evidence.hops, &|hop| hop.waits_s.unwrap_or(0.0)).filter(|hop| hop.waits_s.is_some());
    if let Some(hop) = slowest.filter(|hop| hop.blocked.is_some_and(|blocked| blocked >= MUCH_BLOCKED)) {
        return (Cause::Deference, deference(hop, hop.from == first.from, evidence));
    }
    match (slowest, empty) {
        (Some(hop), _) if evidence.is_tcp && evidence.hops.len() > 1 => {
            (Cause::Queueing, queueing(hop, evidence))
        }
        (_, Some(empty)) => {
            let clause =
                format!("its sender {} has nothing to send {} of the time", first.from, percent(empty));
            (Cause::NothingToSend, clause)
        }
        (Some(hop), None) => (Cause::Queueing, queueing(hop, evidence)),
        (None, None) => unknown(evidence),
    }
}

/// The hop of which there is most of something.
pub(super) fn most<'a>(hops: &'a [Hop], of: &dyn Fn(&Hop) -> f64) -> Option<&'a Hop> {
    hops.iter().reduce(|a, b| if of(b) > of(a) { b } else { a })
}

fn unknown(evidence: &Evidence) -> (Cause, String) {
    let clause = if evidence.timeouts_per_s > 0.0 {
        format!("TCP has {} time-outs a second", exact((evidence.timeouts_per_s * 1e3).round() / 1e3))
    } else {
        "the airtime ledger, which was not kept, would tell why".into()
    };
    (Cause::Unknown, clause)
}

/// Frames that are lost: by errors of the link, by hidden nodes, or by others. A queue's counts are of all that it sends.
fn losses(hop: &Hop, evidence: &Evidence) -> (Cause, String) {
    let (from, to, share) = (&hop.from, &hop.to, hop.frames_lost.unwrap_or(0.0));
    let lost = percent(share);
    let frames = if hop.lost_are_requests { "RTS frames" } else { "frames" };
    let (cause, mut clause) = if hop.link_loss >= share / 2.0 {
        let errors = percent(hop.link_loss);
        let clause = format!(
            "{lost} of the {frames} that {from} sends are lost, {errors} by errors of the link to {to}"
        );
        (Cause::LinkErrors, clause)
    } else if hop.hidden.is_empty() {
        (Cause::Collisions, format!("{lost} of the {frames} that {from} sends are lost in collisions"))
    } else {
        let nodes = if hop.hidden.len() == 1 { "node" } else { "nodes" };
        let hidden = together(&hop.hidden);
        let clause = format!(
            "{lost} of the {frames} that {from} sends are lost in collisions; it does not sense the hidden {nodes} {hidden}, which \
             {} its receiver {to}",
            if hop.hidden.len() == 1 { "reaches" } else { "reach" }
        );
        (Cause::HiddenNodes, clause)
    };
    let empty = evidence.hops[0].empty.filter(|empty| *empty >= MOSTLY_EMPTY);
    if let Some(empty) = empty.filter(|_| evidence.timeouts_per_s > 0.0) {
        clause += &format!("; {}", idle(evidence, empty));
    }
    (cause, clause)
}

/// A sender without packets, while TCP waits.
fn idle(evidence: &Evidence, empty: f64) -> String {
    format!(
        "its sender {} has nothing to send {} of the time, with {} time-outs a second",
        evidence.hops[0].from,
        percent(empty),
        exact((evidence.timeouts_per_s * 1e3).round() / 1e3)
    )
}

/// A sender that waits for others.
fn deference(hop: &Hop, is_source: bool, evidence: &Evidence) -> String {
    let node =
        if is_source { format!("its sender {}", hop.from) } else { format!("{} on its way", hop.from) };
    let by: Vec<String> =
        hop.blocked_by.iter().map(|(queue, share)| format!("{queue} {}", percent(*share))).collect();
    let by = if by.is_empty() { String::new() } else { format!(" ({})", by.join(", ")) };
    let timeouts = (evidence.timeouts_per_s >= 0.05).then(|| {
        format!(", with {} time-outs a second", exact((evidence.timeouts_per_s * 100.0).round() / 100.0))
    });
    format!(
        "{node} waits for other transmissions {} of the time{by}{}",
        percent(hop.blocked.unwrap_or(0.0)),
        timeouts.unwrap_or_default()
    )
}

/// A queue that drops packets.
fn drops(hop: &Hop) -> String {
    let ways = [
        (hop.dropped_full, "for want of room"),
        (hop.dropped_by_law, "by its queue's law"),
        (hop.dropped_retries, "after the last retry"),
    ];
    let (_, why) = ways.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a }).unwrap_or_default();
    format!("{} drops {} of its packets, most of them {why}", hop.from, percent(hop.dropped()))
}

/// A queue in which packets wait.
fn queueing(hop: &Hop, evidence: &Evidence) -> String {
    let waits = exact((hop.waits_s.unwrap_or(0.0) * 1e3).round());
    let trip = evidence.round_trip_s.filter(|_| evidence.is_tcp);
    let trip = trip.map(|s| format!("; a round trip takes {} s", exact((s * 100.0).round() / 100.0)));
    format!("its packets wait longest at {}, {waits} ms in the mean{}", hop.from, trip.unwrap_or_default())
}

/// "a", "a and b", "a, b and c".
fn together(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
