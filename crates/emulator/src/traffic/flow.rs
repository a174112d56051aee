//! A real flow, and its counters.

use super::board::Saturated;
use super::probes::Probes;
use super::sockets::{Socket, congestion_control};
use super::web::Web;
use evenair_des::Stream;
use evenair_laws::Parameters;
use evenair_laws::connections::{AnyConnections, ConnectionLaw};
use evenair_laws::flow::FlowRole;
use evenair_linux::tcp::Info;
use evenair_multiconn::control::{Counts, Senders};
use evenair_netsim::{FlowSpec, OutsideEnds, Pattern, ProbeResult, Source, TcpSpec, Traffic, WebSpec};
use evenair_units::{Duration, Instant};
use std::io;

/// A flow that real sockets carry.
#[derive(Clone, Debug)]
pub(crate) struct RealSpec {
    pub(crate) name: String,
    /// Its number in the network.
    pub(crate) number: u32,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    /// The port of its destination.
    pub(crate) port: u16,
    /// Its traffic, as in the simulation.
    pub(crate) traffic: Traffic,
    /// The DSCP of its packets.
    pub(crate) code_point: u8,
    pub(crate) active: Vec<(Instant, Instant)>,
    /// The random stream of its application: as in a simulated run with the same seed.
    stream: Stream,
}

impl RealSpec {
    /// Returns a flow of a network, by its number there.
    pub(crate) fn new(flow: &FlowSpec, number: u32, port: u16, seed: u64) -> Self {
        Self {
            name: flow.name.clone(),
            number,
            source: flow.path[0],
            destination: flow.path[flow.path.len() - 1],
            port,
            traffic: flow.traffic.clone(),
            code_point: flow.code_point,
            active: flow.active_in(seed),
            stream: flow.stream(seed),
        }
    }

    /// Returns whether its source always has datagrams.
    pub(crate) const fn is_saturated(&self) -> bool {
        matches!(self.traffic, Traffic::Datagrams { pattern: Pattern::Saturated, .. })
    }

    /// Returns all that it has to send \[bytes\]; without end, if it is no transfer.
    fn whole(&self) -> u64 {
        match &self.traffic {
            Traffic::Tcp(tcp) => match tcp.source {
                Source::Segments(count) => u64::from(count) * u64::from(tcp.payload.count()),
                Source::Endless | Source::Paced(_) => u64::MAX,
            },
            _ => u64::MAX,
        }
    }
}

/// The traffic that Linux' sockets carry.
const CARRIED: &str = "real sockets carry TCP and the web under the window laws reno, cubic, bbr, vegas, quic-tcp and fast, and saturated, cbr, on-off and poisson datagrams";

/// Returns the reason why real sockets cannot carry a flow, if there is one.
pub(crate) fn why_simulated(traffic: &Traffic) -> Option<String> {
    let why = match traffic {
        Traffic::Tcp(TcpSpec { resequence: true, .. }) => {
            "Linux does not put the data of several connections into one order".into()
        }
        Traffic::Tcp(tcp) | Traffic::Web(WebSpec { tcp, .. }) => {
            congestion_control(&tcp.window).err()?.to_string()
        }
        Traffic::Datagrams { .. } => return None,
        Traffic::Rated(_) => "Linux has no laws of the rate of datagrams".into(),
        Traffic::Tfrc(_) => "Linux has no TFRC".into(),
        Traffic::Outside(_) => "its packets come from outside".into(),
    };
    Some(format!("{why}; {CARRIED}"))
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) spec: RealSpec,
    /// Counts its starts and stops: events scheduled before the last one are void.
    pub(super) run: u32,
    pub(super) began: Option<Instant>,
    /// The random stream of its application.
    pub(super) stream: Stream,
    /// The time of its application's next segment or datagram; events at other times are void.
    pub(super) due: Instant,
    /// Bytes that no connection has accepted yet; shared by all of them, `u64::MAX` without end.
    pub(super) remaining: u64,
    /// The counters of a saturated source.
    pub(super) saturated: Saturated,
    /// The probes of its path, if its law needs them.
    pub(super) probes: Option<Probes>,
    /// The state of a web client and its server.
    pub(super) web: Web,
    /// Bytes delivered to its sinks.
    pub(super) delivered: u64,
    /// The time of the last delivery, and the longest time without any, since the warm-up.
    last_delivery: Instant,
    silence: Duration,
    /// Requests since the warm-up, or its one transfer; and the durations of the complete ones.
    pub(super) requests: u64,
    pub(super) took: Vec<Duration>,
    /// The reason why some of its connections, or its source, could not be opened.
    pub(super) failed: Option<io::Error>,
    /// Datagrams sent.
    pub(super) datagrams: u64,
    /// The law of its connections, while it is active.
    pub(super) law: Option<AnyConnections>,
    /// The counters of its connections, as its law gets them.
    senders: Senders,
    /// The counts at the last observation.
    sent: Counts,
    /// The end of the warm-up, and the counts then.
    pub(super) warm_at: Instant,
    at_warmup: (u64, Counts, u64),
    /// Sums over observations since the warm-up: of the connections, of their windows together, and of their
    /// smoothed round trips [s].
    looks: u64,
    connections: u64,
    windows: u64,
    round_trips: (f64, u64),
    /// The state of its connections at the last observation.
    pub(super) ends: OutsideEnds,
}

/// The result of a flow in the measured time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) number: u32,
    /// Bytes delivered to its sinks.
    pub(crate) delivered_bytes: u64,
    /// Segments or datagrams sent, and retransmissions among them.
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    /// Retransmission time-outs, if the kernel counts them.
    pub(crate) timeouts: u64,
    /// The longest time without a delivery to its sinks.
    pub(crate) silence: Duration,
    /// Means over observations, and over the connections of each.
    pub(crate) connections: f64,
    pub(crate) congestion_window: f64,
    pub(crate) round_trip_s: Option<f64>,
    /// Requests, or whether the one transfer began, and the durations of the complete ones.
    pub(crate) requests: u64,
    pub(crate) took: Vec<Duration>,
    /// The result of the probes of its path, if there are any, and the number of them that reached its
    /// destination.
    pub(crate) probes: Option<(ProbeResult, u64)>,
    /// The reason why some of its connections, or its source, could not be opened.
    pub(crate) failed: Option<String>,
}

impl Flow {
    pub(super) fn new(spec: RealSpec, warm_at: Instant) -> Self {
        Self {
            run: 0,
            began: None,
            stream: spec.stream.clone(),
            due: Instant::NEVER,
            remaining: spec.whole(),
            probes: Probes::of(&spec.traffic),
            spec,
            saturated: Saturated::default(),
            web: Web::default(),
            delivered: 0,
            last_delivery: Instant::ZERO,
            silence: Duration::ZERO,
            requests: 0,
            took: Vec::new(),
            failed: None,
            datagrams: 0,
            law: None,
            senders: Senders::default(),
            sent: Counts::default(),
            warm_at,
            at_warmup: (0, Counts::default(), 0),
            looks: 0,
            connections: 0,
            windows: 0,
            round_trips: (0.0, 0),
            ends: OutsideEnds::default(),
        }
    }

    /// Keeps the counters of a closed connection.
    pub(super) fn take_leave(&mut self, socket: &Socket) {
        socket.info().iter().for_each(|last| self.senders.part(last));
    }

    /// Begins to send, with a new start of its law. `there` are connections of an earlier stretch of
    /// activity. Returns the number of connections to open.
    pub(super) fn begin(&mut self, now: Instant, there: &[Info]) -> u32 {
        let Traffic::Tcp(tcp) = &self.spec.traffic else { return 1 };
        if self.began.is_none() && self.remaining < u64::MAX {
            self.requests = 1;
        }
        self.began.get_or_insert(now);
        self.law = tcp.connections.as_ref().map(|law| law.begin(&FlowRole { payload: tcp.payload }));
        self.senders.begin(now, there);
        self.law.as_ref().map_or(1, ConnectionLaw::at_start)
    }

    /// Runs the law; returns the number of connections to have, given the open ones and those that only send
    /// their remaining data.
    pub(super) fn ask_law(&mut self, now: Instant, open: &[Info], draining: &[Info]) -> Option<u32> {
        let Traffic::Tcp(tcp) = &self.spec.traffic else { return None };
        let probes = self.probes.as_mut().and_then(Probes::take_mean);
        let view = self.senders.look(now, tcp.payload, (open, draining), probes);
        self.law.as_mut().map(|law| law.on_interval(&view))
    }

    /// Returns the segments sent so far, with those of open connections.
    pub(super) fn segments(&self, all: &[Info]) -> u64 {
        self.senders.total(all).segments
    }

    /// Records the state of its connections: the open ones, and those that only send their remaining data.
    pub(super) fn look(&mut self, open: &[Info], drained: &[Info]) {
        self.sent = self.senders.total(open.iter().chain(drained));
        let windows: u64 = open.iter().map(|info| u64::from(info.congestion_window)).sum();
        let smoothed = open.iter().filter_map(|info| Some(info.smoothed_round_trip?.as_secs_f64()));
        let (sum_s, count) = smoothed.fold((0.0, 0), |(sum_s, count), each_s| (sum_s + each_s, count + 1));
        self.looks += 1;
        self.connections += open.len() as u64;
        self.windows += windows;
        self.round_trips = (self.round_trips.0 + sum_s, self.round_trips.1 + count);
        self.ends = OutsideEnds {
            connections: open.len() as u32,
            congestion_window: windows as f64,
            round_trip: (count > 0).then(|| Duration::from_secs_f64(sum_s / count as f64)),
        };
    }

    /// Returns whether it is in a stretch of activity.
    pub(super) const fn is_active(&self) -> bool {
        self.run % 2 == 1
    }

    /// Returns whether its connections have accepted all its data.
    pub(super) const fn is_finished(&self) -> bool {
        self.remaining == 0
    }

    /// Counts a delivery to its sinks.
    pub(super) fn deliver(&mut self, now: Instant, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.delivered += bytes;
        self.silence = self.silence_until(now);
        self.last_delivery = now;
        if self.delivered == self.spec.whole() {
            self.took.extend(self.began.map(|began| now.since(began)));
        }
    }

    /// Returns the longest time without a delivery, if there is none until `now`.
    fn silence_until(&self, now: Instant) -> Duration {
        self.silence.max(now.since(self.last_delivery))
    }

    /// Begins to measure at the end of the warm-up.
    pub(super) fn start_measuring(&mut self) {
        (self.last_delivery, self.silence) = (self.warm_at, Duration::ZERO);
        self.probes.iter_mut().for_each(Probes::start_measuring);
        self.at_warmup = (self.delivered, self.sent, self.datagrams);
        (self.looks, self.connections, self.windows, self.round_trips) = (0, 0, 0, (0.0, 0));
    }

    pub(super) fn tally(self, now: Instant) -> Tally {
        let (delivered, sent, datagrams) = self.at_warmup;
        let segments = self.sent.segments - sent.segments;
        let mean = |sum: u64| sum as f64 / self.looks.max(1) as f64;
        let (sum_s, count) = self.round_trips;
        Tally {
            number: self.spec.number,
            delivered_bytes: self.delivered - delivered,
            sent: segments + self.datagrams - datagrams,
            retransmitted: self.sent.repeated - sent.repeated,
            timeouts: self.sent.timeouts - sent.timeouts,
            silence: self.silence_until(now),
            connections: mean(self.connections),
            congestion_window: mean(self.windows),
            round_trip_s: (count > 0).then(|| sum_s / count as f64),
            probes: self.probes.map(|probes| probes.result(segments, self.spec.traffic.size())),
            requests: self.requests,
            took: self.took,
            failed: self.failed.map(|error| error.to_string()),
        }
    }
}
