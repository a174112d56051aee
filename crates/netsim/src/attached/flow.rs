//! Flows and their connections.

use super::delay::OneWay;
use super::probes::Prober;
use super::rated::Paced;
use super::resequence::Resequencer;
use super::web::{Half, Web};
use super::{Attached, Due};
use crate::core::{Core, FlowHops};
use crate::network::OutsideEnds;
use crate::packet::Way;
use crate::queue::Delays;
use crate::spec::{FlowSpec, Source, TcpSpec, TfrcSpec, Traffic};
use crate::times::Histogram;
use evenair_des::Stream;
use evenair_des::ahead::fetch;
use evenair_laws::Parameters;
use evenair_laws::backoff::Category;
use evenair_laws::connections::{AnyConnections, ConnectionLaw};
use evenair_laws::flow::{FlowRole, FlowView, Signal};
use evenair_laws::window::WindowLaw;
use evenair_tcp::{Receiver, Sender, SenderStats};
use evenair_units::{Duration, Instant, Volume};
use std::collections::VecDeque;

/// Times measured over an interval: round trips, or delays.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Samples {
    sum_s: f64,
    count: u32,
}

impl Samples {
    pub(crate) fn add(&mut self, time: Duration) {
        self.sum_s += time.as_secs_f64();
        self.count += 1;
    }

    /// All together [s].
    pub(crate) const fn sum_s(&self) -> f64 {
        self.sum_s
    }

    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    pub(crate) fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| Duration::from_secs_f64(self.sum_s / f64::from(self.count)))
    }
}

/// The counts between two looks of the law of a flow's connections, or of its rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interval {
    pub(crate) began: Instant,
    /// Round trips of all segments, and of those that the retransmission timer samples.
    of_segments: Samples,
    of_windows: Samples,
    /// The least of the former so far, and in the interval.
    least: Option<Duration>,
    least_in_it: Option<Duration>,
    /// The flow's counts when it began.
    delivered: u64,
    sent: u64,
    retransmitted: u64,
    marked: u64,
    lost: u64,
}

impl Interval {
    /// Adds an acknowledgement of a connection that stays open: a draining connection gives the law no sample.
    pub(crate) fn add(&mut self, round_trip: Duration, of_window: Option<Duration>) {
        self.of_segments.add(round_trip);
        for least in [&mut self.least, &mut self.least_in_it] {
            *least = Some(least.map_or(round_trip, |least| least.min(round_trip)));
        }
        if let Some(round_trip) = of_window {
            self.of_windows.add(round_trip);
        }
    }
}

/// A flow. The fields that a datagram touches stand first, in a few lines of the cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    /// One-way delays of its data.
    pub(crate) delay: OneWay,
    /// Segments or datagrams handed to the application.
    pub(crate) delivered: u64,
    /// When the last of them was; the warm-up's end, if none was since.
    pub(crate) last_delivery: Instant,
    /// The longest time without any, since the warm-up.
    pub(crate) silence: Duration,
    /// The number of segments of its one transfer.
    whole: u64,
    /// Its access category.
    pub(crate) category: Category,
    /// Where its data and its acknowledgements enter the network.
    pub(crate) hops: FlowHops,
    /// Datagrams handed down.
    pub(crate) next_datagram: u32,
    pub(crate) is_active: bool,
    /// Of a flow with a law for its rate.
    pub(crate) paced: Option<Box<Paced>>,
    /// When it first began to send.
    pub(crate) began: Option<Instant>,
    pub(crate) traffic: Traffic,
    pub(crate) name: String,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    /// Of a flow from outside with watched departures: the packets that have left its first node, or were dropped there.
    pub(crate) departed: u64,
    /// Counts its stretches of sending, so that events of earlier stretches in the event queue are recognised.
    pub(crate) run: u32,
    /// When the next datagram is due; events for other instants in the event queue are void.
    pub(crate) datagram_due: Instant,
    /// When the next active stretch begins and ends.
    pub(crate) active: VecDeque<(Instant, Instant)>,
    /// Gaps between datagrams.
    pub(crate) stream: Stream,
    /// Its connections, drained ones left out.
    pub(crate) connections: Vec<u32>,
    pub(crate) law: Option<AnyConnections>,
    /// It keeps one connection, which is worth several.
    is_aggregate: bool,
    /// How many that is worth.
    pub(crate) worth: f64,
    /// Its law needs the backlog of its whole path.
    needs_path: bool,
    /// Probes its path, where the law needs that.
    pub(crate) prober: Option<Box<Prober>>,
    /// Puts its connections' data into one order, where that is asked for.
    pub(crate) resequencer: Option<Box<Resequencer>>,
    /// The counts of a web client.
    pub(crate) web: Option<Box<Web>>,
    /// When its path becomes another one, in order.
    pub(crate) route_changes: Vec<Instant>,
    /// The counts since the law of its connections, or of its rate, last ran.
    pub(crate) interval: Interval,
    /// Samples since the warm-up.
    pub(crate) measured: Samples,
    /// Samples since the last point of the time series.
    pub(crate) sampled: Samples,
    /// Durations of its requests: replies of the web since the warm-up, or its one transfer.
    pub(crate) took: (Delays, Histogram),
    /// It is known of each segment of its connections when it was handed over, and which one of the stream it is.
    pub(crate) follows_segments: bool,
    /// Segments that its application has produced.
    pub(crate) produced: u32,
    /// Of a transfer: segments that no connection has taken yet; shared by all of them.
    pub(crate) remaining: Option<u32>,
    /// The counts of its connections that are over.
    pub(crate) finished: SenderStats,
    /// Loss events that the receivers of those counted that were TFRC's.
    pub(crate) finished_events: u64,
    /// Of a flow from outside: how its host has said that its ends are.
    pub(crate) ends: OutsideEnds,
}

impl Flow {
    pub(crate) fn new(spec: &FlowSpec, seed: u64, hops: FlowHops) -> Self {
        let role = FlowRole { payload: spec.traffic.payload() };
        let law = spec.traffic.connections().map(|params| params.begin(&role));
        let paced = match &spec.traffic {
            Traffic::Rated(rated) => Some(Box::new(Paced::new(rated))),
            _ => None,
        };
        let needs =
            law.as_ref().map(ConnectionLaw::needs).or_else(|| paced.as_ref().map(|paced| paced.needs()));
        let needs = |signal| needs.as_ref().is_some_and(|needs| needs.contains(&signal));
        Self {
            name: spec.name.clone(),
            traffic: spec.traffic.clone(),
            source: spec.path[0],
            destination: spec.path[spec.path.len() - 1],
            category: spec.category,
            departed: 0,
            run: 0,
            is_active: false,
            datagram_due: Instant::NEVER,
            active: spec.active_in(seed).into(),
            stream: spec.stream(seed),
            hops,
            connections: Vec::new(),
            is_aggregate: match &spec.traffic {
                Traffic::Tcp(tcp) => {
                    law.is_some() && tcp.window.begin(&tcp.sender.start).can_be_worth_several()
                }
                Traffic::Tfrc(tfrc) => tfrc.params.aggregate,
                _ => false,
            },
            worth: 1.0,
            needs_path: needs(Signal::PathBacklog),
            prober: needs(Signal::RoundTripOfProbes).then(Box::default),
            resequencer: match &spec.traffic {
                Traffic::Tcp(TcpSpec { resequence: true, .. }) => Some(Box::default()),
                _ => None,
            },
            web: spec.traffic.web().map(|_| Box::new(Web::new(spec.stream(seed)))),
            route_changes: Vec::new(),
            law,
            paced,
            interval: Interval::default(),
            measured: Samples::default(),
            sampled: Samples::default(),
            delivered: 0,
            last_delivery: Instant::ZERO,
            silence: Duration::ZERO,
            next_datagram: 0,
            delay: OneWay::default(),
            took: <(Delays, Histogram)>::default(),
            follows_segments: matches!(&spec.traffic, Traffic::Tcp(TcpSpec { resequence: true, .. })),
            whole: match &spec.traffic {
                Traffic::Tcp(TcpSpec { source: Source::Segments(count), .. }) => (*count).into(),
                _ => u64::MAX,
            },
            began: None,
            produced: 0,
            remaining: match &spec.traffic {
                Traffic::Tcp(TcpSpec { source: Source::Segments(count), .. }) => Some(*count),
                _ => None,
            },
            finished: SenderStats::default(),
            finished_events: 0,
            ends: OutsideEnds::default(),
        }
    }

    /// Fetches what a datagram touches into the cache.
    pub(crate) fn fetch(&self) {
        fetch(&self.delay);
        fetch(&self.delay.each);
        fetch(&self.delivered);
        fetch(&self.next_datagram);
        fetch(&self.traffic);
        fetch(&self.stream);
    }

    pub(crate) const fn tcp(&self) -> Option<&TcpSpec> {
        self.traffic.tcp()
    }

    pub(crate) const fn tfrc(&self) -> Option<&TfrcSpec> {
        if let Traffic::Tfrc(spec) = &self.traffic { Some(spec) } else { None }
    }

    /// Whether its connections are TFRC's.
    pub(crate) const fn is_tfrc(&self) -> bool {
        self.tfrc().is_some()
    }

    /// Whether it has one connection that is worth several.
    pub(crate) const fn is_aggregate(&self) -> bool {
        self.is_aggregate
    }

    /// Bytes of one delivered unit.
    pub(crate) fn unit_bytes(&self) -> u32 {
        self.traffic.payload().count()
    }

    /// Whether a transfer is complete, with all its connections closed.
    pub(crate) fn is_finished(&self) -> bool {
        self.remaining == Some(0) && self.connections.is_empty()
    }

    /// Segments or datagrams are handed to the application.
    pub(crate) fn hand_over(&mut self, now: Instant, count: u32) {
        if count > 0 {
            self.delivered += u64::from(count);
            self.silence = self.silence_until(now);
            self.last_delivery = now;
            if self.delivered == self.whole {
                self.complete(now.since(self.began.expect("what is delivered was sent")));
            }
        }
    }

    /// Its request, or its transfer, is whole, after so long.
    pub(crate) fn complete(&mut self, took: Duration) {
        self.took.0.add(took);
        self.took.1.add(took);
    }

    /// The longest time without a delivery, if there is none until `now`.
    pub(crate) fn silence_until(&self, now: Instant) -> Duration {
        self.silence.max(now.since(self.last_delivery))
    }

    /// One more packet was acknowledged.
    pub(crate) fn add_round_trip(&mut self, round_trip: Duration, warm: bool) {
        self.sampled.add(round_trip);
        if warm {
            self.measured.add(round_trip);
        }
    }

    /// The view of the interval that ends now, and the next begins; `stats` and `lost` are the flow's counts so far.
    fn take_interval(&mut self, now: Instant, stats: SenderStats, lost: u64) -> FlowView {
        let SenderStats { sent, retransmitted, marked, .. } = stats;
        let (least, delivered) = (self.interval.least, self.delivered);
        let begun = Interval {
            began: now,
            least,
            delivered,
            sent,
            retransmitted,
            marked,
            lost,
            ..Interval::default()
        };
        let past = std::mem::replace(&mut self.interval, begun);
        let packets = delivered - past.delivered;
        FlowView {
            now,
            interval: now.since(past.began),
            round_trip: past.of_segments.mean(),
            round_trip_of_windows: past.of_windows.mean(),
            round_trip_of_probes: self.prober.as_mut().and_then(|prober| prober.take_mean()),
            least_round_trip: past.least,
            least_in_interval: past.least_in_it,
            marked: self.tcp().is_some_and(|tcp| tcp.sender.ecn).then(|| marked - past.marked),
            route_changed: Some(self.route_changes.iter().any(|&at| past.began < at && at <= now)),
            delivered: Volume { packets, bytes: packets * u64::from(self.unit_bytes()) },
            sent: sent - past.sent,
            retransmitted: retransmitted - past.retransmitted,
            lost: Some(lost - past.lost),
            ..FlowView::default()
        }
    }
}

impl Attached {
    /// The view for the law of a flow's connections, or of its rate; its next interval begins.
    pub(super) fn look(&mut self, core: &Core<Due>, flow: u32) -> FlowView {
        let stats = SenderStats { sent: self.sent(core, flow), ..self.stats(flow) };
        let lost = core.passages()[Way::forward(flow).0 as usize].lost();
        let smoothed = self.smoothed_round_trip(flow);
        let outstanding = self.outstanding(flow);
        let state = &mut self.flows[flow as usize];
        let first = state.hops.forward;
        let seen = state.take_interval(core.now(), stats, lost);
        FlowView {
            smoothed_round_trip: smoothed.filter(|_| seen.round_trip.is_some()),
            outstanding,
            first_backlog: Some(core.backlog_at(first)),
            path_backlog: state.needs_path.then(|| core.backlog_along(first)),
            ..seen
        }
    }

    /// Segments or datagrams of a flow that were sent so far, repetitions included.
    pub(crate) fn sent(&self, core: &Core<Due>, flow: u32) -> u64 {
        let state = &self.flows[flow as usize];
        if state.traffic.is_outside() {
            core.passages()[Way::forward(flow).0 as usize].originated.packets
        } else {
            self.stats(flow).sent + u64::from(state.next_datagram)
        }
    }

    /// Segments of its open connections that are not acknowledged; none, if it is of no TCP.
    fn outstanding(&self, flow: u32) -> Option<u64> {
        let flow = &self.flows[flow as usize];
        let senders = flow.connections.iter().map(|&id| &self.connections[id as usize].sender);
        let open = |sender: &&Sender| sender.is_open();
        (!flow.is_tfrc()).then(|| senders.filter(open).map(|sender| u64::from(sender.outstanding())).sum())
    }

    /// The mean smoothed round trip of its open connections, if any has one.
    fn smoothed_round_trip(&self, flow: u32) -> Option<Duration> {
        let flow = &self.flows[flow as usize];
        let of_each = flow.connections.iter().filter_map(|&id| {
            if flow.is_tfrc() {
                return self.tfrc[id as usize].smoothed_round_trip();
            }
            let sender = &self.connections[id as usize].sender;
            sender.smoothed_round_trip().filter(|_| sender.is_open())
        });
        let mut samples = Samples::default();
        of_each.for_each(|round_trip| samples.add(round_trip));
        samples.mean()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) flow: u32,
    /// Counts the connections that have used this place; packets of earlier ones are recognised by it.
    pub(crate) epoch: u32,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Of a web connection: which half, and its messages.
    pub(crate) half: Option<Box<Half>>,
    /// Which segments of the stream those are that it carries and has not delivered; kept where the flow puts them in order.
    pub(crate) carries: VecDeque<u64>,
    /// When it was opened.
    pub(crate) opened: Instant,
    /// When those segments were handed over by the sending application that it has sent and not delivered.
    pub(crate) handed: VecDeque<Instant>,
    /// When the segment that came last was sent: its stamp.
    pub(crate) arrived: u32,
    /// The instant of this connection's retransmission entry in the event queue: it has one at most.
    pub(crate) timer_queued: Instant,
    pub(crate) ack_timer_queued: Instant,
}
