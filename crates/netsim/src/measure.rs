//! The result of a run.

use crate::core::Passed;
use crate::queue::{ClassCounts, Delays, Dropped};
use crate::times::Times;
use crate::trace::Sent;

mod gateway;

pub use gateway::{ClassResult, ClassSeries, GatewayResult, GatewaySeries};

use evenair_des::Fingerprint;
use evenair_units::Duration;
use evenair_wifi::{AggregateCounters, Airtime, Counters, FrameRecord};
use serde::{Deserialize, Serialize};

/// The result of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The seed.
    pub seed: u64,
    /// Measured time \[s\].
    pub measured_s: f64,
    /// Per flow, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// Per transmit queue.
    pub links: Vec<LinkResult>,
    /// The gateway's record, if there is one.
    pub gateway: Option<GatewayResult>,
    /// Time series, if they were asked for.
    pub series: Option<Series>,
    /// Frames of the window, if one was asked for, each with its exchange's packet; none of a dummy packet.
    pub timeline: Vec<(FrameRecord, Option<Sent>)>,
    /// Names of the nodes, for the timeline.
    pub nodes: Vec<String>,
    /// Packets from outside that belonged to no flow, per pair of nodes that had any.
    pub outside: Vec<OutsideResult>,
    /// Where every packet went.
    pub packets: Packets,
    /// Hash of the trajectory.
    pub fingerprint: Fingerprint,
    /// Events handled.
    pub events: u64,
}

/// The result of one flow, in the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Its name.
    pub flow: String,
    /// Where its data come from.
    pub from: String,
    /// The destination; of web traffic the server, since its replies are the data.
    pub to: String,
    /// The queue at the source that carries its data; of web traffic that at the server.
    pub queue: String,
    /// The queue at the destination that carries its acknowledgements; none where nothing comes back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ack_queue: Option<String>,
    /// Data handed to the application \[bit/s\].
    pub goodput_bps: f64,
    /// The same in segments or datagrams \[1/s\].
    pub goodput_pps: f64,
    /// Bytes of one segment's or datagram's data.
    pub unit_bytes: u32,
    /// Mean round trip of the segments that were acknowledged \[s\].
    pub round_trip_s: Option<f64>,
    /// Mean number of connections.
    pub connections: f64,
    /// Mean congestion window, all connections together \[segments\]; of TFRC, its rate times its round-trip time.
    pub congestion_window: f64,
    /// Datagrams that the source handed down \[1/s\]; none for TCP.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub offered_pps: Option<f64>,
    /// One-way delays of its data, from hand-over to hand-over of the applications, in order (RFC 7679 above the transport). For
    /// datagrams they begin when the source hands them down. For TCP and TFRC they begin when the application has a segment to
    /// send: at its first transmission where the application always has data.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay: Option<Times>,
    /// Mean of the estimate of RFC 3550 (section 6.4.1, A.8), over the measured time's arrivals: of datagrams as they arrive, of TCP's
    /// segments as they are handed to the application \[s\].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jitter_s: Option<f64>,
    /// Data segments or datagrams sent.
    pub sent: u64,
    /// Repetitions among them.
    pub retransmitted: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Packets with its data that were dropped anywhere on their way, for any cause.
    pub lost: u64,
    /// Packets with its data that went the whole way, repetitions included.
    #[serde(default)]
    pub arrived: u64,
    /// The same of its acknowledgements.
    pub acks_lost: u64,
    /// Packets that went the whole way back: acknowledgements, and probes' answers.
    #[serde(default)]
    pub acks: u64,
    /// Mean time for which its data waited until they were served, all queues on the way together \[s\].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queueing_delay_s: Option<f64>,
    /// The same for packets in the other direction.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ack_queueing_delay_s: Option<f64>,
    /// The longest time in which it handed nothing to the application \[s\]; the measured time's ends bound it.
    pub silence_s: f64,
    /// Loss events that its TFRC receivers measured, over packets sent; none without TFRC.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_event_rate: Option<f64>,
    /// The result of its probes, where its path is probed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub probes: Option<ProbeResult>,
    /// The cost of putting its connections' data into one order, where that is done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub resequencing: Option<ResequencingResult>,
    /// The outcome of a web client's requests, or of the one transfer that a flow is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub transfers: Option<TransferResult>,
}

impl FlowResult {
    /// Share of the packets with its data that were dropped, of those that were dropped or arrived (RFC 7680's loss ratio); none without
    /// any.
    pub fn loss(&self) -> Option<f64> {
        let known = self.arrived + self.lost;
        (known > 0).then(|| self.lost as f64 / known as f64)
    }
}

/// Packets from outside that entered at one node for another and belonged to no flow, in the measured time. Sizes are those of
/// the network layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OutsideResult {
    /// Where they entered.
    pub from: String,
    /// Where they leave; `*` for broadcasts.
    pub to: String,
    /// Packets that entered.
    pub entered_packets: u64,
    /// Their bytes.
    pub entered_bytes: u64,
    /// Packets that came to their node; of a broadcast, once for each that heard it.
    pub arrived_packets: u64,
    /// Their bytes.
    pub arrived_bytes: u64,
    /// Packets that were lost, for any cause.
    pub lost_packets: u64,
    /// Their bytes.
    pub lost_bytes: u64,
    /// Times from entering to arriving.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delay: Option<Times>,
}

/// The outcome of a web client's requests in the measured time; or of a flow's one transfer at any time, since a warm-up is for
/// flows that go on for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TransferResult {
    /// Requests made; of a transfer, whether it began: 1, or 0.
    pub requests: u64,
    /// The number of them that were whole when the run ended.
    pub completed: u64,
    /// Times from a request, or from the transfer's beginning, to the handing over of the last byte, of those that are complete.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub took: Option<Times>,
}

/// The result of the probes of one flow's path, in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ProbeResult {
    /// Probes sent.
    pub sent: u64,
    /// Their share of the bytes that the flow's source sent, network-layer sizes.
    pub share: f64,
    /// Mean round trip \[s\].
    pub round_trip_s: Option<f64>,
}

/// The cost of putting the data of one flow's connections into the order of the stream, in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ResequencingResult {
    /// Mean time from a segment's coming, in the order of its connection, to its being handed over \[s\].
    pub delay_s: f64,
    /// The longest \[s\].
    pub delay_s_max: f64,
    /// Mean number of segments that wait.
    pub buffer: f64,
    /// The most.
    pub buffer_max: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_none_of_it(share: &f64) -> bool {
    *share == 0.0
}

/// The result of one transmit queue, in the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LinkResult {
    /// Its name: the node, and the next hop where queues are per next hop.
    pub queue: String,
    /// Mean backlog at the sampling instants \[packets\].
    pub backlog: f64,
    /// Mean transmission aggressiveness, where the law has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub aggressiveness: Option<f64>,
    /// Packets that ended their service, well or not.
    #[serde(default)]
    pub served_packets: u64,
    /// Their bytes, network-layer sizes.
    #[serde(default)]
    pub served_bytes: u64,
    /// Times from a packet's coming into the queue to the beginning of its service.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waiting: Option<Times>,
    /// Mean time from a packet's coming into the queue to the end of its service \[s\].
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sojourn_s: Option<f64>,
    /// Packets dropped for want of room: overflows.
    pub dropped_queue_full: u64,
    /// Packets dropped by a law, the queue's marking, its discipline or its back-off law, though there was room: early drops.
    pub dropped_by_law: u64,
    /// Packets that a law would have dropped and that left with a mark instead (RFC 3168).
    #[serde(skip_serializing_if = "is_zero", default)]
    pub marked: u64,
    /// Packets given up after the last retry, whether or not the receiver has them.
    pub dropped_retries: u64,
    /// Of `dropped_retries`, the packets that the receiver has: they are not lost, and only their acknowledgements failed.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub received_despite: u64,
    /// DATA frames sent; ideal CSMA and wires have none.
    pub attempts: u64,
    /// DATA frames lost to a frame that overlapped them at the receiver, or to the link's error model.
    pub collided: u64,
    /// DATA frames that reached a receiver while it was transmitting.
    pub receiver_busy: u64,
    /// DATA frames that were decoded while the acknowledgement was lost or not sent.
    pub ack_lost: u64,
    /// DATA frames that were decoded while the acknowledgement came too late for its sender.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub ack_late: u64,
    /// RTS frames sent.
    pub requests: u64,
    /// RTS frames that brought no CTS.
    pub requests_failed: u64,
    /// Times that another queue of the same node won the tie.
    #[serde(skip)]
    pub internal: u64,
    /// Packets lost on the wire.
    pub lost_on_wire: u64,
    /// Packets dropped where they entered, as nodes had moved and no route led to their destination.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub dropped_no_route: u64,
    /// Of 802.11n, ac and ax: packets that share frames.
    #[serde(flatten, default)]
    pub aggregates: Option<AggregateResult>,
    /// The modes of its DATA frames under rate control, those that were sent, slowest first for each next hop.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub modes: Vec<ModeResult>,
    /// Where its time went, as shares of it, if the ledger was kept.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub airtime: Option<AirtimeShares>,
}

/// The frames to a next hop in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ModeResult {
    /// The next hop.
    pub to: String,
    /// The mode.
    pub mode: String,
    /// Its rate [bit/s].
    pub rate_bps: u64,
    /// DATA frames.
    pub frames: u64,
    /// Packets in them; repetitions count.
    pub packets: u64,
    /// Packets of them that were acknowledged.
    pub acknowledged: u64,
}

impl LinkResult {
    /// Returns the mean rate of DATA frames under rate control [bit/s]; none, without any.
    pub fn mean_rate_bps(&self) -> Option<f64> {
        let frames: u64 = self.modes.iter().map(|mode| mode.frames).sum();
        let sum: f64 = self.modes.iter().map(|mode| mode.frames as f64 * mode.rate_bps as f64).sum();
        (frames > 0).then(|| sum / frames as f64)
    }
}

/// Frames that carry several packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AggregateResult {
    /// Packets in all DATA frames sent; repetitions count.
    pub mpdus: u64,
    /// Of these, those that their receiver did not decode.
    pub mpdus_lost: u64,
    /// DATA frames of more than one packet.
    pub aggregates: u64,
    /// Packets of a DATA frame, in the mean.
    pub mean_aggregate: f64,
    /// Aggregates and block ack requests that brought no block acknowledgement.
    pub block_acks_missing: u64,
    /// Block ack requests sent.
    pub bars: u64,
    /// Packets given up by `aggregation.retries` or `aggregation.lifetime`.
    pub given_up: u64,
}

impl AggregateResult {
    pub(crate) fn of(counters: AggregateCounters, frames: u64) -> Self {
        Self {
            mpdus: counters.mpdus,
            mpdus_lost: counters.mpdus_lost,
            aggregates: counters.aggregates,
            mean_aggregate: counters.mpdus as f64 / frames.max(1) as f64,
            block_acks_missing: counters.block_acks_missing,
            bars: counters.requests,
            given_up: counters.given_up,
        }
    }
}

/// Where the time of a queue went: shares that add up to one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AirtimeShares {
    /// Own exchanges that succeeded.
    pub own: f64,
    /// Of these, the part of aggregates' packets that the receiver did not decode.
    #[serde(skip_serializing_if = "is_none_of_it", default)]
    pub partly: f64,
    /// Own exchanges that failed.
    pub collided: f64,
    /// Counting down.
    pub backoff: f64,
    /// Inter-frame spaces.
    pub interframe: f64,
    /// Nothing to send.
    pub empty: f64,
    /// The medium was busy with each queue that ever blocked this one.
    pub blocked_by: Vec<(String, f64)>,
}

impl AirtimeShares {
    /// The shares of some time; other queues by their names, in the order of their numbers.
    pub(crate) fn of<'a>(time: &Airtime, names: impl Iterator<Item = &'a str>) -> Self {
        let total = time.total().as_secs_f64().max(1e-12);
        let share = |part: Duration| part.as_secs_f64() / total;
        let blocked = time.blocked_by.iter().zip(names).filter(|(part, _)| !part.is_zero());
        Self {
            own: share(time.own),
            partly: share(time.partly),
            collided: share(time.collided),
            backoff: share(time.backoff),
            interframe: share(time.interframe),
            empty: share(time.empty),
            blocked_by: blocked.map(|(&part, name)| (name.into(), share(part))).collect(),
        }
    }

    /// The share in which the medium was busy with others.
    pub fn blocked(&self) -> f64 {
        self.blocked_by.iter().map(|(_, share)| share).sum()
    }
}

/// Where every packet of a run went: originated = delivered + dropped + under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packets {
    /// Handed to the network by a source or a receiver.
    pub originated: u64,
    /// Arrived at the end of its way.
    pub delivered: u64,
    /// Dropped by a queue or after the last retry.
    pub dropped: u64,
    /// In a queue or between layers when the run ended.
    pub under_way: u64,
}

/// Time series of a run in columns, sampled at equal intervals, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Series {
    /// When \[s\].
    pub time_s: Vec<f64>,
    /// The flows; a value is missing where there was nothing to measure since the point before.
    pub flows: Vec<FlowSeries>,
    /// The transmit queues.
    pub links: Vec<LinkSeries>,
}

impl Series {
    /// Forgets all points.
    pub(crate) fn clear(&mut self) {
        self.time_s.clear();
        for flow in &mut self.flows {
            let FlowSeries { goodput_pps, congestion_window, round_trip_s, connections, .. } = flow;
            for column in [goodput_pps, congestion_window, round_trip_s, connections] {
                column.clear();
            }
            let FlowSeries { delay_s, loss, queueing_delay_s, .. } = flow;
            for column in [delay_s, loss, queueing_delay_s] {
                column.clear();
            }
        }
        for LinkSeries { backlog, aggressiveness, waiting_s, .. } in &mut self.links {
            backlog.clear();
            aggressiveness.clear();
            waiting_s.clear();
        }
    }
}

/// Time series of one flow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FlowSeries {
    /// The flow.
    pub flow: String,
    /// Goodput since the last point \[segments or datagrams per second\].
    pub goodput_pps: Vec<f64>,
    /// Congestion windows, added up \[segments\].
    pub congestion_window: Vec<f64>,
    /// Mean of the samples since the last point; the point before it, if there were none \[s\].
    pub round_trip_s: Vec<f64>,
    /// Connections.
    pub connections: Vec<f64>,
    /// Mean one-way delay of the data handed over since the last point, if any were \[s\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_s: Vec<Option<f64>>,
    /// Share of the packets with its data that were dropped, of those that were dropped or arrived since the last point, if any were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loss: Vec<Option<f64>>,
    /// Mean time of its data in queues, all on the path together, over data served since the last point; none where there was no
    /// data on one of them \[s\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queueing_delay_s: Vec<Option<f64>>,
}

/// Time series of one transmit queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LinkSeries {
    /// The queue.
    pub queue: String,
    /// Backlog \[packets\].
    pub backlog: Vec<f64>,
    /// Transmission aggressiveness; empty where the law has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aggressiveness: Vec<f64>,
    /// Mean wait of packets that began their service since the last point, if any did \[s\].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_s: Vec<Option<f64>>,
}

/// All counts of a run since its start, at one instant. Reports have the difference over the measured time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) flows: Vec<FlowCounts>,
    pub(crate) queues: Vec<QueueCounts>,
}

/// The counts of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCounts {
    pub(crate) delivered: u64,
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
    pub(crate) lost: u64,
    pub(crate) arrived: u64,
    /// Bytes of the packets that arrived, network-layer sizes.
    pub(crate) arrived_bytes: u64,
    pub(crate) acks_lost: u64,
    pub(crate) acks: u64,
    pub(crate) probes: u64,
    pub(crate) loss_events: u64,
}

/// The counts of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueCounts {
    pub(crate) dropped: Dropped,
    pub(crate) marked: u64,
    pub(crate) frames: Option<Counters>,
    pub(crate) aggregates: Option<AggregateCounters>,
}

impl Counts {
    pub(crate) fn new(flows: usize, queues: usize) -> Self {
        Self { flows: vec![FlowCounts::default(); flows], queues: vec![QueueCounts::default(); queues] }
    }

    /// The increase since an earlier instant.
    pub(crate) fn since(&self, then: &Self) -> Self {
        let flows = self.flows.iter().zip(&then.flows).map(|(now, then)| now.since(*then));
        let queues = self.queues.iter().zip(&then.queues).map(|(now, then)| now.since(*then));
        Self { flows: flows.collect(), queues: queues.collect() }
    }
}

impl FlowCounts {
    /// Share of the packets with its data that were dropped, of those of which it is known (RFC 7680's loss ratio); none without any.
    pub(crate) fn loss(&self) -> Option<f64> {
        let known = self.arrived + self.lost;
        (known > 0).then(|| self.lost as f64 / known as f64)
    }

    pub(crate) fn since(self, then: Self) -> Self {
        Self {
            delivered: self.delivered - then.delivered,
            sent: self.sent - then.sent,
            retransmitted: self.retransmitted - then.retransmitted,
            timeouts: self.timeouts - then.timeouts,
            lost: self.lost - then.lost,
            arrived: self.arrived - then.arrived,
            arrived_bytes: self.arrived_bytes - then.arrived_bytes,
            acks_lost: self.acks_lost - then.acks_lost,
            acks: self.acks - then.acks,
            probes: self.probes - then.probes,
            loss_events: self.loss_events - then.loss_events,
        }
    }
}

impl QueueCounts {
    fn since(self, then: Self) -> Self {
        let (now, was) = (self.dropped, then.dropped);
        let frames = |now: Counters, then: Counters| Counters {
            attempts: now.attempts - then.attempts,
            collided: now.collided - then.collided,
            receiver_busy: now.receiver_busy - then.receiver_busy,
            ack_lost: now.ack_lost - then.ack_lost,
            ack_late: now.ack_late - then.ack_late,
            dropped: now.dropped - then.dropped,
            internal: now.internal - then.internal,
            requests: now.requests - then.requests,
            requests_failed: now.requests_failed - then.requests_failed,
        };
        Self {
            dropped: Dropped {
                queue_full: now.queue_full - was.queue_full,
                by_law: now.by_law - was.by_law,
                retries: now.retries - was.retries,
                no_route: now.no_route - was.no_route,
                received: now.received - was.received,
                on_wire: now.on_wire - was.on_wire,
            },
            marked: self.marked - then.marked,
            frames: self.frames.map(|now| frames(now, then.frames.unwrap_or_default())),
            aggregates: self.aggregates.map(|now| now.since(then.aggregates.unwrap_or_default())),
        }
    }
}

/// Sums over the sampling instants after the warm-up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means {
    pub(crate) points: u32,
    pub(crate) connections: Vec<f64>,
    pub(crate) congestion_window: Vec<f64>,
    pub(crate) backlog: Vec<f64>,
    pub(crate) aggressiveness: Vec<f64>,
}

impl Means {
    pub(crate) fn new(flows: usize, links: usize) -> Self {
        Self {
            points: 0,
            connections: vec![0.0; flows],
            congestion_window: vec![0.0; flows],
            backlog: vec![0.0; links],
            aggressiveness: vec![0.0; links],
        }
    }

    pub(crate) fn of(&self, sums: &[f64], index: usize) -> f64 {
        sums[index] / f64::from(self.points.max(1))
    }
}

/// The measurement of a run in progress.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// The counts when the warm-up ended.
    pub(crate) at_warmup: Counts,
    /// The same of each hop.
    pub(crate) passed_at_warmup: Vec<Passed>,
    /// The same of the gateway's classes.
    pub(crate) classes_at_warmup: Vec<ClassCounts>,
    /// The counts at the last point of the time series.
    pub(crate) at_sample: Vec<FlowCounts>,
    pub(crate) waiting_at_sample: Vec<Delays>,
    pub(crate) means: Means,
    /// The mean round trip of each flow as it was at the last point that had one \[s\].
    pub(crate) last_round_trip_s: Vec<f64>,
    pub(crate) series: Series,
}
