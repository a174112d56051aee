//! Fair queueing: deficit round robin, one turn for each flow; with flows that are sparse first and `CoDel` for each flow it is
//! `fq_codel`.
//!
//! # Law
//! Each flow has a line and a deficit. At its turn it sends while its deficit is above zero, each packet costing its bytes;
//! then it gets a quantum and goes to the end of the round. A flow that begins to send is served before the round until it has
//! used one quantum, if [`FairParams::sparse_first`]: one that never has more waiting than that is never kept by those that have.
//!
//! # Source
//! M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995; RFC 8290 sections 4.1 and 4.2.
//!
//! # Deviations
//! Flows are told apart by number, not by a hash of their headers: two never share a line. Where the buffer is full one packet
//! is dropped from the head of the longest line; Linux drops up to 64 at once, to save time that does not count here.

use super::{Discipline, Queued};
use evenair_laws::Parameters;
use evenair_laws::backoff::Volume;
use evenair_laws::marking::{
    AnyMarking, CodelParams, MarkingLaw, MarkingParams, QueueRole, QueueView, Verdict,
};
use evenair_units::{Bytes, Instant, Probability};
use std::collections::{BTreeMap, VecDeque};

/// Parameters of fair queueing.
#[derive(Clone, Debug, PartialEq)]
pub struct FairParams {
    /// What a flow may send in one turn.
    pub quantum: Bytes,
    /// Flows that begin to send come before the round.
    pub sparse_first: bool,
    /// A marking law for each flow's line.
    pub marking: Option<MarkingParams>,
}

impl FairParams {
    /// Deficit round robin with a quantum of one full packet: every flow can send in every turn.
    pub const fn round_robin() -> Self {
        Self { quantum: Bytes::new(1514), sparse_first: false, marking: None }
    }

    /// `fq_codel` with the defaults of RFC 8290 section 5.2.
    pub const fn fq_codel() -> Self {
        Self {
            quantum: Bytes::new(1514),
            sparse_first: true,
            marking: Some(MarkingParams::Codel(CodelParams::rfc8289())),
        }
    }
}

/// One flow's line.
#[derive(Clone, Debug)]
struct Line {
    packets: VecDeque<Queued>,
    bytes: u64,
    /// What it may still send in this turn \[bytes\].
    deficit: i64,
    /// It is in one of the rounds.
    in_round: bool,
    marking: Option<AnyMarking>,
}

/// Fair queueing at work.
#[derive(Clone, Debug)]
pub struct Fair {
    params: FairParams,
    role: QueueRole,
    lines: Vec<Line>,
    /// The line of each flow that was seen.
    of_flow: BTreeMap<u32, u32>,
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
    pub fn new(params: FairParams, role: &QueueRole) -> Self {
        assert!(params.quantum.count() > 0, "a quantum of zero");
        Self {
            params,
            role: *role,
            lines: Vec::new(),
            of_flow: BTreeMap::new(),
            sparse: VecDeque::new(),
            round: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    fn line_of(&mut self, flow: u32) -> u32 {
        let next = self.lines.len() as u32;
        let index = *self.of_flow.entry(flow).or_insert(next);
        if index == next {
            let marking = self.params.marking.as_ref().map(|marking| marking.begin(&self.role));
            self.lines.push(Line {
                packets: VecDeque::new(),
                bytes: 0,
                deficit: 0,
                in_round: false,
                marking,
            });
        }
        index
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
            line.deficit = i64::from(self.params.quantum.count());
            if self.params.sparse_first { &mut self.sparse } else { &mut self.round }.push_back(index);
        }
    }

    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued> {
        loop {
            let is_sparse = !self.sparse.is_empty();
            let turns = if is_sparse { &mut self.sparse } else { &mut self.round };
            let index = *turns.front()?;
            let line = &mut self.lines[index as usize];
            debug_assert!(line.in_round, "a line has a turn that is in no round");
            if line.deficit <= 0 {
                line.deficit += i64::from(self.params.quantum.count());
                turns.pop_front();
                self.round.push_back(index);
                continue;
            }
            let Some(first) = line.pop() else {
                turns.pop_front();
                // RFC 8290 section 4.2: once through the round before it counts as new again.
                if is_sparse && !self.round.is_empty() {
                    self.round.push_back(index);
                } else {
                    line.in_round = false;
                }
                continue;
            };
            let view = line.view(&first);
            let sojourn = now - first.enqueued;
            let verdict =
                line.marking.as_mut().map_or(Verdict::Send, |law| law.on_departure(now, sojourn, &view));
            if verdict == Verdict::Send {
                line.deficit -= i64::from(first.size);
                self.left(&first);
                return Some(first);
            }
            self.left(&first);
            dropped.push(first);
        }
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
