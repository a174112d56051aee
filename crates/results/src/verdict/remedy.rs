//! Settings to try, judged by why flows get little. Each is resolved before it is named: a setting that the scenario cannot have is none.

use super::cause::most;
use super::{Cause, Evidence, FlowVerdict, Standing};
use evenair_laws::backoff::BackoffParams;
use evenair_netsim::MacSpec;
use evenair_scenario::Resolved;
use evenair_topology::Hearing;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The advised connections of a flow for a second of its round trip \[1/s\], as the settings below have it.
const CONNECTIONS_K: f64 = 10.0;

/// Settings to try, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The changes, as `--set` takes them.
    pub set: Vec<String>,
    /// The reason, a phrase.
    pub why: String,
}

impl Remedy {
    /// The command that runs a scenario with these changes; `run` is the command without them.
    pub fn command(&self, run: &str) -> String {
        let set = self.set.iter().map(|change| format!(" --set {}", quoted(change)));
        format!("{run}{}", set.collect::<String>())
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-=/:,%+".contains(c);
    if word.chars().all(is_plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The remedies of the found causes, those for most flows first.
pub(super) fn remedies(scenario: &Resolved, flows: &[FlowVerdict]) -> Vec<Remedy> {
    let with = |causes: &[Cause]| -> Vec<usize> {
        let is_of = |flow: &FlowVerdict| flow.cause.is_some_and(|cause| causes.contains(&cause));
        (0..flows.len()).filter(|&f| is_of(&flows[f])).collect()
    };
    let of_hidden = with(&[Cause::HiddenNodes]);
    let (silenced, deaf): (Vec<usize>, Vec<usize>) = of_hidden
        .into_iter()
        .partition(|&f| flows[f].evidence.as_ref().is_some_and(|e| is_silenced(scenario, e)));
    let held_back = [with(&[Cause::Deference]), deaf].concat();
    let candidates = [
        (relayed(scenario, flows), gateway(scenario)),
        (silenced, rts(scenario)),
        (held_back.clone(), law(scenario, round_trip(flows, &held_back))),
        (with(&[Cause::LateAcks]), Some(longer_time_out())),
        (with(&[Cause::LinkErrors]), connections(scenario)),
        (unmeasured(scenario, flows), Some(whole_transfers())),
    ];
    let mut found: Vec<(usize, Remedy)> = candidates
        .into_iter()
        .filter_map(|(concerned, remedy)| Some((concerned.len(), remedy?)).filter(|(count, _)| *count > 0))
        .filter(|(_, remedy)| is_possible(scenario, remedy))
        .collect();
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    found.into_iter().map(|(_, remedy)| remedy).collect()
}

/// Whether the scenario can have these settings.
fn is_possible(scenario: &Resolved, remedy: &Remedy) -> bool {
    scenario.with(&remedy.set).is_ok_and(|changed| changed != *scenario)
}

fn remedy(set: &[&str], why: &str) -> Remedy {
    Remedy { set: set.iter().map(ToString::to_string).collect(), why: why.into() }
}

/// RTS and CTS, where frames go without.
fn rts(scenario: &Resolved) -> Option<Remedy> {
    let settings = scenario.settings();
    let mac = &settings.mac;
    let has_none = mac.rts_threshold.is_none() && mac.rts_duration.is_none();
    let is_possible = scenario.network().mac != MacSpec::Ideal && has_none;
    let why = "the receiver's CTS silences nodes that do not sense the sender";
    is_possible.then(|| remedy(&["mac.rts_threshold=0 bytes"], why))
}

/// Whether the hidden nodes of the flow's worst hop decode its receiver's CTS.
fn is_silenced(scenario: &Resolved, evidence: &Evidence) -> bool {
    let medium = &scenario.network().medium;
    let decodes = |hidden: &str, receiver: &str| {
        let (Ok(hidden), Ok(receiver)) = (scenario.node(hidden), scenario.node(receiver)) else {
            return false;
        };
        medium.hearing(receiver as usize, hidden as usize).is_some_and(Hearing::is_decodable)
    };
    let worst = most(&evidence.hops, &|hop| hop.frames_lost.unwrap_or(0.0));
    worst.is_some_and(|hop| hop.hidden.iter().all(|hidden| decodes(hidden, &hop.to)))
}

/// The longest round trip of some flows over TCP \[s\].
fn round_trip(flows: &[FlowVerdict], some: &[usize]) -> f64 {
    let evidence = some.iter().filter_map(|&f| flows[f].evidence.as_ref()).filter(|evidence| evidence.is_tcp);
    evidence.filter_map(|evidence| evidence.round_trip_s).fold(0.0, f64::max)
}

/// A longer time-out of acknowledgements.
fn longer_time_out() -> Remedy {
    remedy(&["mac.ack_timeout=distance"], "senders then wait for the acknowledgement of the longest link")
}

/// A back-off law that presses harder where queues are long, with several connections where a round trip is long enough for two.
fn law(scenario: &Resolved, round_trip_s: f64) -> Option<Remedy> {
    let settings = scenario.settings();
    let is_plain = matches!(settings.backoff, BackoffParams::Dcf(_) | BackoffParams::Edca(_));
    let one_connection = settings.connections.is_none() && CONNECTIONS_K * round_trip_s >= 2.0;
    Some(match (is_plain, one_connection) {
        (true, true) => remedy(
            &["backoff.law=adaptive", "connections.k=10"],
            "a sender with a long queue gets more of the air, and several connections keep the queue long",
        ),
        (true, false) => remedy(&["backoff.law=adaptive"], "a sender with a long queue gets more of the air"),
        (false, true) => remedy(&["connections.k=10"], "several connections keep the sender's queue long"),
        (false, false) => return None,
    })
}

/// Several TCP connections, of which an error slows one.
fn connections(scenario: &Resolved) -> Option<Remedy> {
    let one = scenario.settings().connections.is_none();
    one.then(|| remedy(&["connections.k=10"], "an error slows one of several connections"))
}

/// Max-min rates at the node at which most relayed flows end or begin.
fn gateway(scenario: &Resolved) -> Option<Remedy> {
    let settings = scenario.settings();
    if settings.gateway.is_some() || settings.source_limit.is_some() {
        return None;
    }
    let node = scenario.network().name(common_end(scenario)?);
    let node = format!("gateway.node=\"{node}\"");
    let why = "a gateway that limits each flow to its max-min share leaves air to the relays";
    Some(remedy(&[&node, "gateway.rate=max-min"], why))
}

/// The node at which all flows end or begin, of which one is relayed at least.
fn common_end(scenario: &Resolved) -> Option<u32> {
    let flows = &scenario.network().flows;
    let mut count: BTreeMap<u32, usize> = BTreeMap::new();
    for node in flows.iter().flat_map(|flow| [flow.path.first(), flow.path.last()]).flatten() {
        *count.entry(*node).or_default() += 1;
    }
    let relayed = flows.iter().any(|flow| flow.path.len() > 2);
    let (&node, _) = count.iter().find(|(_, uses)| **uses == flows.len())?;
    (relayed && flows.len() > 1).then_some(node)
}

/// Relayed flows that get little while others get more than their fair rates.
fn relayed(scenario: &Resolved, flows: &[FlowVerdict]) -> Vec<usize> {
    let paths = &scenario.network().flows;
    let is_little = |f: &usize| matches!(flows[*f].standing, Standing::Starves | Standing::Short);
    let some_get_more = flows.iter().any(|flow| flow.share.is_none_or(|share| share > 1.0));
    let of_all = (0..flows.len()).filter(|&f| paths[f].path.len() > 2).filter(is_little);
    if some_get_more { of_all.collect() } else { Vec::new() }
}

/// Finished transfers that began in the warm-up.
fn unmeasured(scenario: &Resolved, flows: &[FlowVerdict]) -> Vec<usize> {
    let warmup = evenair_units::Instant::ZERO + scenario.settings().warmup.0;
    let began =
        |f: &usize| scenario.network().flows[*f].active.first().is_some_and(|(start, _)| *start < warmup);
    let is_finished = |f: &usize| flows[*f].standing == Standing::Finished;
    (0..flows.len()).filter(is_finished).filter(began).collect()
}

/// No warm-up.
fn whole_transfers() -> Remedy {
    remedy(&["warmup=0 s"], "a transfer is then measured from its first byte on")
}
