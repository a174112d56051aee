//! Weighted fair queueing: packets leave in the order in which they would have ended if all flows had been served at once, each
//! with its weight's share.
//!
//! # Law
//! Beside the queue runs a fluid reference (generalised processor sharing, GPS) that serves flows with a backlog in proportion
//! to their weights; its virtual time `V` grows by the work done over the sum of those weights. A packet of `L` bytes that comes to a flow of
//! weight `w` begins in it at `S = max(V, F)`, `F` the end of the flow's packet before, and ends at `S + L/w`. The packet that
//! ends first goes first. Flows of one group ([`Flows::grouped`]), as those of a subscriber, are as one flow.
//!
//! # Source
//! A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", 1989; A. Parekh, R. Gallager, "A
//! Generalized Processor Sharing Approach to Flow Control in Integrated Services Networks", 1993; [Jam10] section 6.2.1.
//!
//! # Deviations
//! The reference gets the service of the queue, so it needs no forecast of the rate: over the air a packet takes as long as it
//! takes. While one is in service the reference gets its bytes at the queue's rate, and the rest when it ends; on a wire this is
//! exact. Where the buffer is full the flow with the longest queue for its weight gives up its last packet.

use super::{Discipline, DisciplineRole, Flows, Queued};
use evenair_units::{Instant, Probability, Rate};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An instant of virtual time, in an order \[bytes per weight\].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Virtual(f64);

impl Eq for Virtual {}

impl Ord for Virtual {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Virtual {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Parameters of weighted fair queueing; weights are the flows' own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WeightedParams {
    /// Packets of one flow that wait at most; no bound of its own, if none.
    pub line_limit: Option<u32>,
}

/// One flow's line.
#[derive(Clone, Debug)]
struct Line {
    weight: f64,
    /// Packets, and when each ends in the reference.
    packets: VecDeque<(Queued, Virtual)>,
    bytes: u64,
    /// When the last that came ends there.
    end: Virtual,
}

/// The packet that is being sent.
#[derive(Clone, Copy, Debug)]
struct InService {
    since: Instant,
    bytes: f64,
    /// How much of it the reference has been served.
    served: f64,
}

/// Weighted fair queueing at work.
#[derive(Clone, Debug)]
pub struct Weighted {
    params: WeightedParams,
    flows: Flows,
    rate: Rate,
    lines: BTreeMap<u32, Line>,
    /// Lines in which packets wait, by the end of their first.
    heads: BTreeSet<(Virtual, u32)>,
    /// Lines that have a backlog in the reference, by the end of it, and their weights together.
    backlogged: BTreeSet<(Virtual, u32)>,
    weights: f64,
    now: Virtual,
    in_service: Option<InService>,
    packets: u32,
    bytes: u64,
}

impl Weighted {
    /// An empty one.
    pub fn new(params: WeightedParams, role: &DisciplineRole) -> Self {
        Self {
            params,
            flows: role.flows.clone(),
            rate: role.queue.rate,
            lines: BTreeMap::new(),
            heads: BTreeSet::new(),
            backlogged: BTreeSet::new(),
            weights: 0.0,
            now: Virtual(0.0),
            in_service: None,
            packets: 0,
            bytes: 0,
        }
    }

    /// Gives the reference the part of the packet in service that has been sent by this instant.
    fn advance(&mut self, now: Instant) {
        let Some(mut packet) = self.in_service else { return };
        let sent = self.rate.as_bps() as f64 / 8.0 * now.since(packet.since).as_secs_f64();
        let sent = sent.min(packet.bytes);
        self.serve(sent - packet.served);
        packet.served = sent;
        self.in_service = Some(packet);
    }

    /// The reference is served so many bytes.
    fn serve(&mut self, mut bytes: f64) {
        while let Some(&(end, flow)) = self.backlogged.first() {
            let needed = (end.0 - self.now.0) * self.weights;
            if needed > bytes {
                self.now.0 += bytes / self.weights;
                return;
            }
            bytes -= needed.max(0.0);
            self.now = end.max(self.now);
            self.backlogged.pop_first();
            self.weights -= self.lines[&flow].weight;
        }
        self.weights = 0.0;
    }

    /// Ends the service of the packet, if any; with nothing that waits virtual time restarts at zero.
    fn end_service(&mut self) {
        if let Some(packet) = self.in_service.take() {
            self.serve(packet.bytes - packet.served);
        }
        if self.packets == 0 {
            self.backlogged.clear();
            self.weights = 0.0;
            self.now = Virtual(0.0);
            self.lines.clear();
        }
    }

    /// The first packet of a line, which is no head any more, goes into service.
    fn serve_line(&mut self, now: Instant, flow: u32) -> Queued {
        let line = self.lines.get_mut(&flow).expect("its first packet was found");
        let (first, _) = line.packets.pop_front().expect("the same");
        line.bytes -= u64::from(first.size);
        if let Some(&(_, end)) = line.packets.front() {
            self.heads.insert((end, flow));
        }
        self.left(&first);
        self.in_service = Some(InService { since: now, bytes: f64::from(first.size), served: 0.0 });
        first
    }

    fn left(&mut self, packet: &Queued) {
        debug_assert!(self.packets > 0 && self.bytes >= u64::from(packet.size), "more leaves than came");
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
    }
}

impl Discipline for Weighted {
    fn refusal(&mut self, _: Instant, arrival: &Queued) -> Probability {
        let key = self.flows.key(arrival.flow);
        let full = |limit: u32| self.lines.get(&key).is_some_and(|line| line.packets.len() as u32 >= limit);
        if self.params.line_limit.is_some_and(full) { Probability::ONE } else { Probability::ZERO }
    }

    fn enqueue(&mut self, now: Instant, arrival: Queued) {
        self.advance(now);
        self.packets += 1;
        self.bytes += u64::from(arrival.size);
        let (key, weight) = (self.flows.key(arrival.flow), self.flows.get(arrival.flow).weight);
        let (none, begin) = (VecDeque::new(), self.now);
        let line = Line { weight, packets: none, bytes: 0, end: begin };
        let line = self.lines.entry(key).or_insert(line);
        let was_backlogged = self.backlogged.remove(&(line.end, key));
        if !was_backlogged {
            self.weights += line.weight;
        }
        line.end = Virtual(line.end.max(self.now).0 + f64::from(arrival.size) / line.weight);
        self.backlogged.insert((line.end, key));
        if line.packets.is_empty() {
            self.heads.insert((line.end, key));
        }
        line.packets.push_back((arrival, line.end));
        line.bytes += u64::from(arrival.size);
    }

    #[inline(never)] // out of the way of queues that are first in, first out
    fn dequeue(&mut self, now: Instant, _: &mut Vec<Queued>) -> Option<Queued> {
        self.end_service();
        let (_, flow) = self.heads.pop_first()?;
        Some(self.serve_line(now, flow))
    }

    fn dequeue_for(&mut self, now: Instant, next_hop: u32, _: &mut Vec<Queued>) -> Option<Queued> {
        let is_for = |(_, flow): &&(Virtual, u32)| {
            self.lines[flow].packets.front().is_some_and(|(first, _)| first.next_hop == next_hop)
        };
        let head = *self.heads.iter().find(is_for)?;
        self.end_service();
        self.heads.remove(&head);
        Some(self.serve_line(now, head.1))
    }

    fn evict(&mut self, arrival: &Queued) -> Option<Queued> {
        self.advance(arrival.enqueued);
        let share = |line: &Line| Virtual(line.bytes as f64 / line.weight);
        let (&flow, line) = self.lines.iter_mut().rev().max_by_key(|(_, line)| share(line))?;
        let (last, end) = line.packets.pop_back()?;
        line.bytes -= u64::from(last.size);
        if self.backlogged.remove(&(line.end, flow)) {
            self.weights -= line.weight;
        }
        if line.packets.is_empty() {
            self.heads.remove(&(end, flow));
        }
        // The packet before is the flow's last again.
        line.end = Virtual(end.0 - f64::from(last.size) / line.weight);
        if line.end > self.now {
            self.backlogged.insert((line.end, flow));
            self.weights += line.weight;
        }
        self.left(&last);
        Some(last)
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
