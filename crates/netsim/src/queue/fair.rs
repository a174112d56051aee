//! Fair queueing: deficit round robin, one turn for each flow; with flows that are sparse first and `CoDel` for each flow it is
//! `fq_codel`, and with turns that are shorter the more flows a host has it is like CAKE.
//!
//! # Law
//! Each flow has a queue and a deficit. At its turn it sends while its deficit is above zero, each packet costing its bytes; then
//! it gets a quantum and goes to the end of the round. With [`FairParams::weighted`] a flow's quantum is that times its weight,
//! so flows with a steady backlog get bytes in proportion to their weights. A flow that begins to send is served before the round
//! until it has used one quantum, if [`FairParams::sparse_first`]. A flow that never has more waiting than that never waits
//! for backlogged flows. With [`FairParams::hosts`] a flow's quantum is divided by the number of flows in the round that its
//! host has, so that hosts share alike, and the flows of a host share its part. Where flows are grouped
//! ([`Flows::grouped`]), as those of a subscriber, a group has one queue, in which its flows are first in, first out; with
//! hosts each flow has its own all the same.
//!
//! # Source
//! M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995; RFC 8290 sections 4.1 and 4.2; for
//! hosts T. Høiland-Jørgensen, D. Täht, J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways",
//! 2018, section III-B.
//!
//! # Deviations
//! Of CAKE it has the isolation of flows and hosts, sparse flows first, and `CoDel` for each flow. It has no BLUE part in its
//! AQM, no tins by DSCP, no filter of acknowledgements, no set-associative hash and no compensation of overhead. Its shaper is
//! another part, in front of any discipline. Where it rounds a host's share at random, shares are rounded up. Flows are told
//! apart by number, not by a hash of their headers: two never share a queue. Where the buffer is full one packet is dropped
//! from the head of the longest queue; Linux drops up to 64 at once, to save time that does not count here.

use super::{Discipline, DisciplineRole, FlowFacts, Flows, Queued};
use evenair_laws::Parameters;
use evenair_laws::marking::{
    AnyMarking, CodelParams, MarkingLaw, MarkingParams, QueueRole, QueueView, Verdict,
};
use evenair_units::{Bytes, Instant, Probability, Volume};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of fair queueing.
#[derive(Clone, Debug, PartialEq)]
pub struct FairParams {
    /// The bytes that a flow may send in one turn.
    pub quantum: Bytes,
    /// Flows that begin to send come before the round.
    pub sparse_first: bool,
    /// A marking law for each flow's line.
    pub marking: Option<MarkingParams>,
    /// Hosts have turns, which their flows share.
    pub hosts: Option<Hosts>,
    /// A flow's quantum is in proportion to its weight.
    pub weighted: bool,
}

/// Which end of a flow is the host that has a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hosts {
    /// Where its packets come from.
    Source,
    /// Where they go.
    Destination,
    /// The one that has more flows (CAKE's triple isolation).
    Both,
}

impl FairParams {
    /// Deficit round robin with a quantum of one full packet for a weight of one: every such flow can send in every turn.
    pub const fn round_robin() -> Self {
        Self { quantum: Bytes::new(1514), sparse_first: false, marking: None, hosts: None, weighted: true }
    }

    /// `fq_codel` with the defaults of RFC 8290 section 5.2.
    pub const fn fq_codel() -> Self {
        Self {
            quantum: Bytes::new(1514),
            sparse_first: true,
            marking: Some(MarkingParams::Codel(CodelParams::rfc8289())),
            hosts: None,
            weighted: false,
        }
    }

    /// Like CAKE: `fq_codel` for hosts.
    pub fn cake(hosts: Hosts) -> Self {
        Self { hosts: Some(hosts), ..Self::fq_codel() }
    }
}

/// One flow's line.
#[derive(Clone, Debug)]
struct Line {
    packets: VecDeque<Queued>,
    bytes: u64,
    /// The rest of its turn \[bytes\].
    deficit: i64,
    /// It is in one of the rounds.
    in_round: bool,
    /// The hosts at both ends, where they count, while they count it among their flows in the round.
    from: u32,
    to: u32,
    is_counted: bool,
    /// Its flow's weight.
    weight: f64,
    marking: Option<AnyMarking>,
}

/// How many flows in the round hosts have.
#[derive(Clone, Debug)]
struct HostLoads {
    hosts: Hosts,
    sources: BTreeMap<u32, u32>,
    destinations: BTreeMap<u32, u32>,
}

impl HostLoads {
    /// A line comes into the round.
    fn join(&mut self, line: &mut Line) {
        if !std::mem::replace(&mut line.is_counted, true) {
            *self.sources.entry(line.from).or_default() += 1;
            *self.destinations.entry(line.to).or_default() += 1;
        }
    }

    /// A line leaves the round.
    fn leave(&mut self, line: &mut Line) {
        if std::mem::replace(&mut line.is_counted, false) {
            for (loads, host) in [(&mut self.sources, line.from), (&mut self.destinations, line.to)] {
                let load = loads.get_mut(&host).expect("it was counted");
                *load -= 1;
                if *load == 0 {
                    loads.remove(&host);
                }
            }
        }
    }

    /// Flows that share a line's turn.
    fn sharing(&self, line: &Line) -> u32 {
        let of = |loads: &BTreeMap<u32, u32>, host: u32| loads.get(&host).copied().unwrap_or(0);
        let (source, destination) = (of(&self.sources, line.from), of(&self.destinations, line.to));
        let load = match self.hosts {
            Hosts::Source => source,
            Hosts::Destination => destination,
            Hosts::Both => source.max(destination),
        };
        load.max(1)
    }
}

/// Fair queueing at work.
#[derive(Clone, Debug)]
pub struct Fair {
    params: FairParams,
    role: QueueRole,
    flows: Flows,
    loads: Option<HostLoads>,
    lines: Vec<Line>,
    /// The line of each flow that was seen, or group of flows.
    of_key: BTreeMap<u32, u32>,
    /// Lines that have just begun to send, and all others that send.
    sparse: VecDeque<u32>,
    round: VecDeque<u32>,
    packets: u32,
    bytes: u64,
}

impl Fair {
    /// An empty one.
    ///
    /// # Panics
    /// If the quantum is zero: no flow would ever send.
    pub fn new(params: FairParams, role: &DisciplineRole) -> Self {
        assert!(params.quantum.count() > 0, "a quantum of zero");
        let loads = |hosts| HostLoads { hosts, sources: BTreeMap::new(), destinations: BTreeMap::new() };
        Self {
            loads: params.hosts.map(loads),
            role: role.queue,
            flows: if params.hosts.is_some() { role.flows.apart() } else { role.flows.clone() },
            params,
            lines: Vec::new(),
            of_key: BTreeMap::new(),
            sparse: VecDeque::new(),
            round: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    fn line_of(&mut self, flow: u32) -> u32 {
        let next = self.lines.len() as u32;
        let index = *self.of_key.entry(self.flows.key(flow)).or_insert(next);
        if index == next {
            let marking = self.params.marking.as_ref().map(|marking| marking.begin(&self.role));
            let FlowFacts { from, to, weight } = self.flows.get(flow);
            self.lines.push(Line {
                packets: VecDeque::new(),
                bytes: 0,
                deficit: 0,
                in_round: false,
                from,
                to,
                is_counted: false,
                weight,
                marking,
            });
        }
        index
    }

    /// The bytes that a line may send in a turn.
    fn quantum(&self, line: &Line) -> i64 {
        let quantum = self.params.quantum.count();
        if self.params.weighted {
            // A flow of hardly any weight has its turn, too.
            return (f64::from(quantum) * line.weight).round().max(1.0) as i64;
        }
        let sharing = self.loads.as_ref().map_or(1, |loads| loads.sharing(line));
        quantum.div_ceil(sharing).into()
    }

    /// A line goes to the end of the round.
    fn join_round(&mut self, index: u32) {
        self.round.push_back(index);
        if let Some(loads) = &mut self.loads {
            loads.join(&mut self.lines[index as usize]);
        }
    }

    /// The next packet, to a next hop if one is given.
    fn take(&mut self, now: Instant, next_hop: Option<u32>, dropped: &mut Vec<Queued>) -> Option<Queued> {
        loop {
            let (is_sparse, place) = self.turn(next_hop)?;
            let turns = if is_sparse { &mut self.sparse } else { &mut self.round };
            let index = turns[place];
            let line = &mut self.lines[index as usize];
            debug_assert!(line.in_round, "a line has a turn that is in no round");
            if line.deficit <= 0 {
                turns.remove(place);
                self.join_round(index);
                self.lines[index as usize].deficit += self.quantum(&self.lines[index as usize]);
                continue;
            }
            let Some(mut first) = line.pop() else {
                turns.remove(place);
                // RFC 8290 section 4.2: once through the round before it counts as new again.
                if is_sparse && !self.round.is_empty() {
                    self.join_round(index);
                } else {
                    line.in_round = false;
                    if let Some(loads) = &mut self.loads {
                        loads.leave(line);
                    }
                }
                continue;
            };
            let view = line.view(&first);
            let sojourn = now - first.enqueued;
            let verdict =
                line.marking.as_mut().map_or(Verdict::Send, |law| law.on_departure(now, sojourn, &view));
            if verdict == Verdict::Send || first.mark() {
                line.deficit -= i64::from(first.size);
                self.left(&first);
                return Some(first);
            }
            self.left(&first);
            dropped.push(first);
        }
    }

    /// The line that has its turn: whether it is a sparse one, and its place there.
    #[inline]
    fn turn(&self, next_hop: Option<u32>) -> Option<(bool, usize)> {
        let Some(next_hop) = next_hop else {
            let is_sparse = !self.sparse.is_empty();
            return (is_sparse || !self.round.is_empty()).then_some((is_sparse, 0));
        };
        let is_for = |&index: &u32| {
            // A line without packets has its turn too, which ends it.
            let first = self.lines[index as usize].packets.front();
            first.is_none_or(|first| first.next_hop == next_hop)
        };
        let sparse = self.sparse.iter().position(is_for).map(|place| (true, place));
        sparse.or_else(|| self.round.iter().position(is_for).map(|place| (false, place)))
    }

    /// The bytes of the longest line.
    pub(crate) fn longest(&self) -> u64 {
        self.lines.iter().map(|line| line.bytes).max().unwrap_or(0)
    }

    fn left(&mut self, packet: &Queued) {
        debug_assert!(self.packets > 0 && self.bytes >= u64::from(packet.size), "more leaves than came");
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
    }
}

impl Line {
    fn pop(&mut self) -> Option<Queued> {
        let first = self.packets.pop_front()?;
        self.bytes -= u64::from(first.size);
        Some(first)
    }

    fn view(&self, packet: &Queued) -> QueueView {
        let waiting = Volume { packets: self.packets.len() as u64, bytes: self.bytes };
        QueueView { waiting, flow: packet.flow, size: Bytes::new(packet.size) }
    }

    /// Tells its marking law, if it has one.
    fn tell(&mut self, packet: &Queued, what: impl FnOnce(&mut AnyMarking, &QueueView)) {
        let view = self.view(packet);
        if let Some(law) = &mut self.marking {
            what(law, &view);
        }
    }
}

impl Discipline for Fair {
    fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        let index = self.line_of(arrival.flow);
        let line = &mut self.lines[index as usize];
        let view = line.view(arrival);
        line.marking.as_mut().map_or(Probability::ZERO, |marking| marking.on_arrival(now, &view))
    }

    fn refused(&mut self, arrival: &Queued) {
        let (now, index) = (arrival.enqueued, self.line_of(arrival.flow));
        self.lines[index as usize].tell(arrival, |law, view| law.after_arrival(now, view, false));
    }

    fn enqueue(&mut self, now: Instant, arrival: Queued) {
        self.packets += 1;
        self.bytes += u64::from(arrival.size);
        let index = self.line_of(arrival.flow);
        let line = &mut self.lines[index as usize];
        line.tell(&arrival, |law, view| law.after_arrival(now, view, true));
        line.bytes += u64::from(arrival.size);
        line.packets.push_back(arrival);
        if !line.in_round {
            line.in_round = true;
            self.lines[index as usize].deficit = self.quantum(&self.lines[index as usize]);
            if self.params.sparse_first {
                self.sparse.push_back(index);
            } else {
                self.join_round(index);
            }
        }
    }

    #[inline(never)] // out of the way of queues that are first in, first out
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued> {
        self.take(now, None, dropped)
    }

    /// Goes on with the round over the lines with a first packet for the next hop.
    fn dequeue_for(&mut self, now: Instant, next_hop: u32, dropped: &mut Vec<Queued>) -> Option<Queued> {
        self.take(now, Some(next_hop), dropped)
    }

    fn evict(&mut self, arrival: &Queued) -> Option<Queued> {
        let longest = self.lines.iter_mut().rev().max_by_key(|line| line.bytes)?;
        let evicted = longest.pop()?;
        longest.tell(&evicted, |law, view| law.on_removal(arrival.enqueued, view));
        self.left(&evicted);
        Some(evicted)
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
