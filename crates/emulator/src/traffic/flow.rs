//! A real flow, and what is counted of it.

use super::sockets::Socket;
use evenair_linux::tcp::Info;
use evenair_netsim::Traffic;
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
    /// What it sends, as the simulation would.
    pub(crate) traffic: Traffic,
    pub(crate) active: Vec<(Instant, Instant)>,
}

/// What senders have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) segments: u64,
    pub(super) repeated: u64,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) spec: RealSpec,
    /// Counts its starts and stops: what an earlier time left to do is void.
    pub(super) run: u32,
    pub(super) began: Option<Instant>,
    /// Bytes that its sinks have been handed.
    pub(super) delivered: u64,
    /// How long its one transfer took, once it has ended.
    pub(super) took: Option<Duration>,
    /// Why it could not begin.
    pub(super) failed: Option<io::Error>,
    /// Datagrams handed down.
    pub(super) datagrams: u64,
    /// Of connections that are over.
    finished: Sent,
    /// Of those and all that are open.
    sent: Sent,
    at_warmup: (u64, Sent, u64),
    /// Since the warm-up, of each look: how many connections, their windows together, and their smoothed round trips [s].
    looks: u64,
    connections: u64,
    windows: u64,
    round_trips: (f64, u64),
}

/// What came of a flow in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) number: u32,
    /// Bytes handed to its sinks.
    pub(crate) delivered_bytes: u64,
    /// Segments or datagrams sent, and repetitions among them.
    pub(crate) sent: u64,
    pub(crate) retransmitted: u64,
    /// Mean over looks, and over connections of each.
    pub(crate) connections: f64,
    pub(crate) congestion_window: f64,
    pub(crate) round_trip_s: Option<f64>,
    /// How long its one transfer took, from the run's beginning on.
    pub(crate) took: Option<Duration>,
}

impl Flow {
    pub(super) fn new(spec: RealSpec) -> Self {
        Self {
            spec,
            run: 0,
            began: None,
            delivered: 0,
            took: None,
            failed: None,
            datagrams: 0,
            finished: Sent::default(),
            sent: Sent::default(),
            at_warmup: (0, Sent::default(), 0),
            looks: 0,
            connections: 0,
            windows: 0,
            round_trips: (0.0, 0),
        }
    }

    /// A connection is closed: what it counted is kept.
    pub(super) fn take_leave(&mut self, socket: &Socket) {
        let Some(info) = socket.info() else { return };
        self.finished.segments += info.sent_segments;
        self.finished.repeated += info.retransmitted;
    }

    /// How its open connections are.
    pub(super) fn look(&mut self, connections: impl Iterator<Item = Info>) {
        self.looks += 1;
        self.sent = self.finished;
        for info in connections {
            self.sent.segments += info.sent_segments;
            self.sent.repeated += info.retransmitted;
            self.connections += 1;
            self.windows += u64::from(info.congestion_window);
            if let Some(round_trip) = info.smoothed_round_trip {
                self.round_trips.0 += round_trip.as_secs_f64();
                self.round_trips.1 += 1;
            }
        }
    }

    /// The warm-up is over.
    pub(super) fn start_measuring(&mut self) {
        self.at_warmup = (self.delivered, self.sent, self.datagrams);
        (self.looks, self.connections, self.windows, self.round_trips) = (0, 0, 0, (0.0, 0));
    }

    pub(super) fn tally(self) -> Tally {
        let (delivered, sent, datagrams) = self.at_warmup;
        let mean = |sum: u64| sum as f64 / self.looks.max(1) as f64;
        let (sum_s, count) = self.round_trips;
        Tally {
            number: self.spec.number,
            delivered_bytes: self.delivered - delivered,
            sent: self.sent.segments - sent.segments + self.datagrams - datagrams,
            retransmitted: self.sent.repeated - sent.repeated,
            connections: mean(self.connections),
            congestion_window: mean(self.windows),
            round_trip_s: (count > 0).then(|| sum_s / count as f64),
            took: self.took,
        }
    }
}
