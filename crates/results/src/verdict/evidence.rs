//! The records of a flow's way: the hops of its data, each with its queue's time, frames and drops.

use super::records::Records;
use evenair_netsim::LinkResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most nodes and queues that are named.
const NAMED: usize = 3;

/// The records of a flow: means over seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The hops of its data, from the source on.
    pub hops: Vec<Hop>,
    /// Retransmission time-outs \[1/s\].
    pub timeouts_per_s: f64,
    /// Mean round trip \[s\]; null where there is none.
    pub round_trip_s: Option<f64>,
    /// Whether its data go over TCP.
    pub is_tcp: bool,
}

/// One hop of a flow, and the queue that serves it, which may serve other flows, too.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hop {
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Share of the sender's time in which it waits for transmissions of others; null without the ledger.
    pub blocked: Option<f64>,
    /// The queues for which it waits longest, and their shares of its time.
    pub blocked_by: Vec<(String, f64)>,
    /// Share of its time in which it has nothing to send; null without the ledger.
    pub empty: Option<f64>,
    /// Share of its frames that are lost, or of its RTS frames where more of those are; null where it sent none.
    pub frames_lost: Option<f64>,
    /// Whether these are RTS frames.
    pub lost_are_requests: bool,
    /// Share of its frames that are decoded while the acknowledgement comes after the sender's time-out.
    pub acks_late: f64,
    /// Nodes that transmit, reach the receiver, and are not sensed by the sender: those that send most frames.
    pub hidden: Vec<String>,
    /// Loss probability of the link by its own errors.
    pub link_loss: f64,
    /// Share of its packets that are lost on the wire that it is.
    pub lost_on_wire: f64,
    /// Share of its packets that are dropped for want of room.
    pub dropped_full: f64,
    /// Share of its packets that a law drops.
    pub dropped_by_law: f64,
    /// Share of its packets that are given up after the last retry.
    pub dropped_retries: f64,
    /// Mean time that packets wait in the queue \[s\]; null without any.
    pub waits_s: Option<f64>,
}

impl Evidence {
    /// The records of the flow with this number.
    pub(super) fn of(records: &Records<'_>, index: usize) -> Self {
        let runs = records.runs;
        let spec = &records.scenario.network().flows[index];
        let path = spec.data_path();
        let hops = path.windows(2).map(|hop| Hop::of(records, index, hop[0], hop[1], hop[0] == path[0]));
        let seconds: f64 = runs.iter().map(|run| run.measured_s).sum();
        let flows = || runs.iter().map(|run| &run.flows[index]);
        let trips: Vec<f64> = flows().filter_map(|flow| flow.round_trip_s).collect();
        Self {
            hops: hops.collect(),
            timeouts_per_s: flows().map(|flow| flow.timeouts).sum::<u64>() as f64 / seconds.max(1e-9),
            round_trip_s: mean(&trips),
            is_tcp: spec.traffic.tcp().is_some(),
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Hop {
    fn of(records: &Records<'_>, index: usize, from: u32, to: u32, is_first: bool) -> Self {
        let network = records.scenario.network();
        let (from_name, to_name) = (network.name(from), network.name(to));
        let own = is_first.then(|| records.runs[0].flows[index].queue.as_str());
        let links = records.queues_of(own, from_name, to_name);
        let sum = |of: &dyn Fn(&LinkResult) -> u64| links.iter().map(|link| of(link)).sum::<u64>() as f64;
        let (frames, requests) = (sum(&|l| l.attempts), sum(&|l| l.requests));
        let lost = sum(&|l| l.collided + l.receiver_busy + l.ack_lost) / frames;
        let unanswered = sum(&|l| l.requests_failed) / requests;
        let packets = sum(&|l| l.served_packets + l.dropped_queue_full + l.dropped_by_law).max(1.0);
        let airtimes = || links.iter().filter_map(|link| link.airtime.as_ref());
        let share = |of: &dyn Fn(&evenair_netsim::AirtimeShares) -> f64| {
            mean(&airtimes().map(of).collect::<Vec<_>>())
        };
        let waits: Vec<f64> = links.iter().filter_map(|l| Some(l.waiting.as_ref()?.mean_s)).collect();
        let size = network.flows[index].traffic.size();
        let loss = network.losses.iter().find(|loss| (loss.from, loss.to) == (from, to));
        Self {
            from: from_name.into(),
            to: to_name.into(),
            blocked: share(&|time| time.blocked()),
            blocked_by: blockers(&links),
            empty: share(&|time| time.empty),
            frames_lost: [lost, unanswered].into_iter().filter(|x| x.is_finite()).reduce(f64::max),
            lost_are_requests: unanswered > lost || lost.is_nan() && unanswered.is_finite(),
            acks_late: sum(&|l| l.ack_late) / frames.max(1.0),
            hidden: records.hidden(from, to, NAMED),
            link_loss: loss
                .map_or(0.0, |loss| loss.schedule.iter().map(|(_, m)| m.mean_loss(size)).fold(0.0, f64::max)),
            lost_on_wire: sum(&|l| l.lost_on_wire) / packets,
            dropped_full: sum(&|l| l.dropped_queue_full) / packets,
            dropped_by_law: sum(&|l| l.dropped_by_law) / packets,
            dropped_retries: sum(&|l| l.dropped_retries - l.received_despite) / packets,
            waits_s: mean(&waits),
        }
    }

    /// Share of its packets that it drops, for any cause.
    pub(super) fn dropped(&self) -> f64 {
        self.dropped_full + self.dropped_by_law + self.dropped_retries
    }
}

/// The queues that block a sender longest, the mean over runs.
fn blockers(links: &[&LinkResult]) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = Vec::new();
    for (queue, share) in
        links.iter().filter_map(|link| link.airtime.as_ref()).flat_map(|time| &time.blocked_by)
    {
        let share = share / links.len() as f64;
        match all.iter_mut().find(|(name, _)| name == queue) {
            Some((_, sum)) => *sum += share,
            None => all.push((queue.clone(), share)),
        }
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(NAMED);
    all
}
