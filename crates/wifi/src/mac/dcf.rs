//! 802.11 channel access for all nodes at once.
//!
//! Before touching this file read IEEE 802.11-2016 clauses 10.3.2 to 10.3.4, and [Jam10] section 2.3.2.
//!
//! Each contender (a queue) has at most one head and at most one back-off. While its node senses an idle medium the
//! back-off has a deadline; when a frame reaches the node the slots that passed are taken off and the deadline goes.
//! Deadlines are not queued one by one: per neighbourhood one [`Wake::Access`] waits at the least of them, and when it
//! is due everybody whose deadline has come transmits. Propagation is an offset that is added where a frame's start
//! and end are spread to its hearers, never an event: a frame costs its neighbourhood, an exchange four wakes.
//!
//! A frame starting at `t` stops a hearer's countdown only if that expires after `t + propagation + sensing delay`;
//! otherwise both transmit.

mod reception;
#[cfg(test)]
mod tests;

use super::draw;
use crate::air::{Contender, Effects, Head, Outcome, Up, Wake};
use crate::ledger::{Doing, Ledger};
use crate::timeline::{FrameKind, FrameRecord, Timeline};
use crate::timing::MacTiming;
use evenair_des::{Fingerprint, Stream};
use evenair_laws::backoff::{Access, OnFailure, When, dcf::doubled};
use evenair_topology::Medium;
use evenair_units::{Duration, Instant};
use reception::{Heard, Locked, Reception};

/// Which of two overlapping frames survives at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capture {
    /// A frame survives if it is stronger by the threshold than every frame that overlaps it, whichever came first.
    Strongest,
    /// Only the frame that came first can survive; the receiver stays with it even if it cannot be decoded. What
    /// ns-2 does.
    First,
}

/// Where implementations of 802.11 differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Which of two overlapping frames survives.
    pub capture: Capture,
    /// By how much a frame must be stronger to survive an overlap \[dB\].
    pub capture_db: f64,
    /// The extended inter-frame space is a reservation: a DIFS follows it and no good frame cancels it. What ns-2
    /// does; by the standard it replaces the DIFS until a frame is received correctly (clause 10.3.2.3.7).
    pub eifs_reserves: bool,
    /// A packet that arrives on an idle medium waits a whole DIFS of its own, however long the medium was idle. What
    /// ns-2 does.
    pub own_difs: bool,
    /// A failed exchange counts as activity until its time-out: a DIFS follows. What ns-2 does; by the standard slots
    /// go on being counted from the end of the medium's last activity.
    pub difs_after_timeout: bool,
    /// How often a frame is sent before it is given up (dot11ShortRetryLimit).
    pub attempts: u32,
}

impl Rules {
    /// IEEE 802.11-2016, with pairwise capture at 10 dB.
    pub const fn standard() -> Self {
        Self {
            capture: Capture::Strongest,
            capture_db: 10.0,
            eifs_reserves: false,
            own_difs: false,
            difs_after_timeout: false,
            attempts: 7,
        }
    }

    /// ns-2 2.35.
    pub const fn ns2() -> Self {
        Self {
            capture: Capture::First,
            capture_db: 10.0,
            eifs_reserves: true,
            own_difs: true,
            difs_after_timeout: true,
            attempts: 7,
        }
    }
}

/// What happened to a contender's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// DATA frames sent.
    pub attempts: u64,
    /// DATA frames lost to a frame that overlapped them at the receiver.
    pub collided: u64,
    /// DATA frames that reached a receiver while it was transmitting.
    pub receiver_busy: u64,
    /// DATA frames decoded whose acknowledgement was lost or not sent.
    pub ack_lost: u64,
    /// Packets given up after the last attempt.
    pub dropped: u64,
    /// Times that another queue of the same node won the tie.
    pub internal: u64,
}

/// One hearer of a node, 16 bytes.
#[derive(Clone, Copy, Debug)]
struct Ear {
    node: u32,
    delay_ns: u32,
    power_db: f32,
    decodable: bool,
}

/// A frame that a node sends.
#[derive(Clone, Copy, Debug)]
struct Sending {
    kind: FrameKind,
    to: u32,
    by: Contender,
    since: Instant,
    /// The receiver was itself transmitting when the frame arrived: why it was lost, if it was.
    receiver_busy: bool,
}

#[derive(Clone, Debug)]
struct Node {
    first: u32,
    count: u32,
    heard: Vec<Heard>,
    locked: Option<Locked>,
    sending: Option<Sending>,
    /// End of the last frame that it sent.
    sending_until: Instant,
    /// The contender whose acknowledgement it awaits.
    awaiting: Option<Contender>,
    /// When that is overdue.
    overdue: Instant,
    /// Whom to answer, and in whose exchange.
    reply: Option<(u32, Contender)>,
    /// Network allocation vector: the medium is reserved until then.
    reserved_until: Instant,
    /// Since when the medium is physically idle.
    idle_since: Instant,
    /// The last frame was not decoded: wait an EIFS.
    extended: bool,
    /// The wake at the least deadline of this neighbourhood.
    next_access: Instant,
}

#[derive(Clone, Debug)]
struct Queue {
    node: u32,
    access: Access,
    slotted: bool,
    window: u32,
    head: Option<Head>,
    /// Airtime of the head's DATA frame.
    airtime: Duration,
    /// The head has reached its receiver before: a repetition is acknowledged, not delivered again.
    received: bool,
    failures: u32,
    /// What is left of the back-off; none if none is under way.
    left: Option<Duration>,
    /// From when on it runs; never, while the medium is busy.
    from: Instant,
    stream: Stream,
    counters: Counters,
}

/// 802.11 for all nodes of a network.
#[derive(Clone, Debug)]
pub struct DcfAir {
    timing: MacTiming,
    rules: Rules,
    ears: Vec<Ear>,
    ear_range: Vec<(u32, u32)>,
    /// The contenders of each node and of all that hear it.
    around: Vec<Contender>,
    around_range: Vec<(u32, u32)>,
    nodes: Vec<Node>,
    queues: Vec<Queue>,
    /// When each contender's countdown ends with a frame; never, while it does not run. Apart from the queues because
    /// every wake reads a neighbourhood of them.
    deadlines: Vec<Instant>,
    due: Vec<Contender>,
    fingerprint: Fingerprint,
    pub(crate) ledger: Option<Box<Ledger>>,
    pub(crate) timeline: Option<Box<Timeline>>,
}

impl Node {
    /// A node that hears nothing and sends nothing, with these contenders.
    fn idle(first: u32, count: u32) -> Self {
        Self {
            first,
            count,
            heard: Vec::new(),
            locked: None,
            sending: None,
            sending_until: Instant::ZERO,
            awaiting: None,
            overdue: Instant::ZERO,
            reply: None,
            reserved_until: Instant::ZERO,
            idle_since: Instant::ZERO,
            extended: false,
            next_access: Instant::NEVER,
        }
    }
}

impl Queue {
    /// A contender without a head.
    fn empty(node: u32, access: Access, stream: Stream) -> Self {
        Self {
            node,
            access,
            slotted: draw::slotted(access.draw),
            window: draw::first_window(access.draw),
            head: None,
            airtime: Duration::ZERO,
            received: false,
            failures: 0,
            left: None,
            from: Instant::NEVER,
            stream,
            counters: Counters::default(),
        }
    }
}

impl DcfAir {
    /// An idle medium. `contenders` gives each contender's node, in ascending order of nodes, its law's answer, and
    /// the stream that its back-offs are drawn from.
    pub fn new(
        medium: &Medium,
        contenders: Vec<(u32, Access, Stream)>,
        timing: MacTiming,
        rules: Rules,
    ) -> Self {
        assert!(contenders.is_sorted_by_key(|&(node, ..)| node), "contenders are not sorted by node");
        let mut ears = Vec::new();
        let mut ear_range = Vec::new();
        let mut nodes = Vec::new();
        for node in 0..medium.nodes() {
            let start = ears.len() as u32;
            ears.extend(medium.hearers(node).iter().map(|ear| Ear {
                node: ear.node,
                delay_ns: ear.delay.as_nanos() as u32,
                power_db: ear.power.level() as f32,
                decodable: ear.decodable,
            }));
            ear_range.push((start, ears.len() as u32));
            let first = contenders.partition_point(|&(at, ..)| (at as usize) < node) as u32;
            let end = contenders.partition_point(|&(at, ..)| at as usize <= node) as u32;
            nodes.push(Node::idle(first, end - first));
        }
        let (mut around, mut around_range) = (Vec::new(), Vec::new());
        for node in 0..medium.nodes() {
            let start = around.len() as u32;
            let hearers = medium.hearers(node).iter().map(|ear| ear.node as usize);
            for n in std::iter::once(node).chain(hearers) {
                around.extend(nodes[n].first..nodes[n].first + nodes[n].count);
            }
            around_range.push((start, around.len() as u32));
        }
        let queues: Vec<Queue> =
            contenders.into_iter().map(|(node, access, stream)| Queue::empty(node, access, stream)).collect();
        Self {
            timing,
            rules,
            ears,
            ear_range,
            around,
            around_range,
            nodes,
            deadlines: vec![Instant::NEVER; queues.len()],
            queues,
            due: Vec::new(),
            fingerprint: Fingerprint::default(),
            ledger: None,
            timeline: None,
        }
    }

    /// What happened to this contender's frames so far.
    pub fn counters(&self, contender: Contender) -> &Counters {
        &self.queues[contender as usize].counters
    }

    /// Whether the head of this contender has reached its receiver while the acknowledgement is still to come.
    pub fn head_received(&self, contender: Contender) -> bool {
        let queue = &self.queues[contender as usize];
        queue.head.is_some() && queue.received
    }

    /// A hash of all frames so far.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    pub(crate) fn start_ledger(&mut self, now: Instant) {
        let mut ledger = Ledger::new(self.queues.len(), now);
        for c in 0..self.queues.len() as u32 {
            let doing = self.doing(c);
            ledger.turn_to(c, now, doing);
        }
        self.ledger = Some(Box::new(ledger));
    }

    /// See [`Air::set_access`](crate::Air::set_access).
    pub fn set_access(&mut self, by: Contender, access: Access) {
        let queue = &mut self.queues[by as usize];
        queue.slotted = draw::slotted(access.draw);
        if queue.failures == 0 {
            queue.window = draw::first_window(access.draw);
        }
        queue.access = access;
    }

    /// See [`Air::offer`](crate::Air::offer).
    pub fn offer(&mut self, now: Instant, by: Contender, head: Head, out: &mut Effects) {
        let airtime = self.timing.data(head.size, head.rate);
        let queue = &mut self.queues[by as usize];
        assert!(queue.head.is_none(), "contender {by} is offered a head while it has one");
        let node = queue.node as usize;
        queue.head = Some(head);
        queue.airtime = airtime;
        queue.received = false;
        queue.failures = 0;
        let busy = self.busy(node);
        let ready = self.ready(node);
        let queue = &mut self.queues[by as usize];
        if queue.left.is_some_and(|left| !busy && queue.from + left < now) {
            queue.left = None; // a back-off after the last transmission that ended with nothing to send
        }
        if queue.left.is_none() {
            // IEEE 802.11-2016 clause 10.3.4.2: at once on an idle medium, with a back-off on a busy one; a
            // reservation makes it busy too.
            let idle = !busy && self.nodes[node].reserved_until <= now;
            let at_once = idle && queue.access.when == When::AfterTransmission;
            queue.left = Some(if at_once { Duration::ZERO } else { self.timing.draw(queue) });
            queue.from = match (busy, self.rules.own_difs && idle) {
                (true, _) => Instant::NEVER,
                (false, true) => now + self.timing.difs,
                (false, false) => ready.max(now),
            };
        }
        if !busy {
            let queue = &mut self.queues[by as usize];
            let deadline = queue.from + queue.left.expect("just drawn");
            self.deadlines[by as usize] = deadline;
            self.schedule_access(node, deadline, out);
        }
        self.book(by, now);
    }

    /// See [`Air::wake`](crate::Air::wake).
    pub fn wake(&mut self, now: Instant, wake: Wake, out: &mut Effects) {
        match wake {
            Wake::Access(node) => self.on_access(now, node as usize, out),
            Wake::FrameEnd(node) => self.on_frame_end(now, node as usize, out),
            Wake::Respond(node) => self.on_respond(now, node as usize, out),
            Wake::Timeout(node) => self.on_timeout(now, node as usize, out),
            Wake::IdealAccess(..) | Wake::IdealEnd(_) => unreachable!("a wake of the other MAC"),
        }
    }

    /// Everybody in the neighbourhood whose countdown has ended transmits.
    fn on_access(&mut self, now: Instant, node: usize, out: &mut Effects) {
        if self.nodes[node].next_access != now {
            return; // an earlier wake took its place
        }
        self.nodes[node].next_access = Instant::NEVER;
        let mut due = std::mem::take(&mut self.due);
        due.extend(self.around(node).iter().filter(|&&c| self.deadlines[c as usize] == now));
        for c in due.drain(..) {
            // Firing may have settled an internal tie against a later one.
            if self.deadlines[c as usize] == now {
                self.send_data(now, c, out);
            }
        }
        self.due = due;
        self.schedule_least(node, out);
    }

    /// Asks for a wake at the least deadline of a neighbourhood.
    fn schedule_least(&mut self, node: usize, out: &mut Effects) {
        let around = self.around(node).iter().map(|&c| self.deadlines[c as usize]);
        let next = around.fold(Instant::NEVER, Instant::min);
        self.schedule_access(node, next, out);
    }

    fn send_data(&mut self, now: Instant, c: Contender, out: &mut Effects) {
        let queue = &mut self.queues[c as usize];
        let head = queue.head.expect("a deadline without a head");
        queue.left = None;
        queue.from = Instant::NEVER;
        queue.counters.attempts += 1;
        self.deadlines[c as usize] = Instant::NEVER;
        let (node, airtime) = (queue.node as usize, queue.airtime);
        self.turn_to(c, now, Doing::Sending);
        self.settle_internal_ties(now, node, c, out);
        self.start_frame(now, node, FrameKind::Data, head.to, c, airtime, out);
    }

    /// Other contenders of the node whose countdown ends at this very instant lose as if they had collided (IEEE
    /// 802.11-2016 clause 10.22.2.4).
    fn settle_internal_ties(&mut self, now: Instant, node: usize, winner: Contender, out: &mut Effects) {
        for c in self.contenders(node).filter(|&c| c != winner) {
            if self.deadlines[c as usize] == now {
                self.queues[c as usize].counters.internal += 1;
                self.fail(now, c, out);
            } else {
                self.freeze(node, c, now);
            }
            if self.ledger.is_some() && self.queues[c as usize].head.is_some() {
                self.turn_to(c, now, Doing::Blocked { by: winner });
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a frame has this many facts; it is called from two places")]
    fn start_frame(
        &mut self,
        now: Instant,
        node: usize,
        kind: FrameKind,
        to: u32,
        by: Contender,
        airtime: Duration,
        out: &mut Effects,
    ) {
        let until = now + airtime;
        let sender = &mut self.nodes[node];
        debug_assert!(sender.sending.is_none(), "node {node} starts a frame during another");
        sender.sending = Some(Sending { kind, to, by, since: now, receiver_busy: false });
        sender.sending_until = until;
        sender.extended = false;
        match (self.rules.capture, &mut sender.locked) {
            // A transmitter gives up what it was receiving; it has not seen it end, so it owes it no EIFS.
            (Capture::Strongest, locked) => *locked = None,
            // ns-2 marks it as an error, and counts it as one if it ends after the transmission.
            (Capture::First, Some(locked)) => locked.intact = false,
            (Capture::First, None) => (),
        }
        for i in 0..self.nodes[node].heard.len() {
            let other = self.nodes[node].heard[i].from as usize;
            if let Some(frame) = self.nodes[other].sending.as_mut().filter(|f| f.to as usize == node) {
                frame.receiver_busy = true;
            }
        }
        let (start, end) = self.ear_range[node];
        for i in start as usize..end as usize {
            let ear = self.ears[i];
            let arrival = now + Duration::from_nanos(u64::from(ear.delay_ns));
            let there = ear.node as usize;
            let stop = arrival + self.timing.sensing_delay;
            for c in self.contenders(there) {
                if self.deadlines[c as usize] > stop {
                    self.interrupt(there, c, arrival, by);
                }
            }
            if to == ear.node && self.nodes[there].sending_until > arrival {
                self.nodes[node].sending.as_mut().expect("just set").receiver_busy = true;
            }
            self.arrive(there, node, ear, arrival, arrival + airtime);
        }
        out.wakes.push((until, Wake::FrameEnd(node as u32)));
    }

    fn on_frame_end(&mut self, now: Instant, node: usize, out: &mut Effects) {
        let sent = self.nodes[node].sending.take().expect("a frame ends that nobody sent");
        self.nodes[node].idle_since = self.nodes[node].idle_since.max(now);
        if sent.kind == FrameKind::Data {
            self.nodes[node].awaiting = Some(sent.by);
            self.nodes[node].overdue = now + self.timing.ack_timeout;
        }
        let mut next = Instant::NEVER;
        let (mut decoded, mut answered) = (false, false);
        let (start, end) = self.ear_range[node];
        for i in start as usize..end as usize {
            let ear = self.ears[i];
            let there = ear.node as usize;
            let ended = now + Duration::from_nanos(u64::from(ear.delay_ns));
            let reception = self.depart(there, node, ended);
            self.after_reception(there, reception, &sent, ended);
            if reception == Reception::Decoded && ear.node == sent.to {
                decoded = true;
                match sent.kind {
                    FrameKind::Data => answered = self.accept(there, node as u32, sent.by, ended, out),
                    FrameKind::Ack => self.acknowledged(there, ended, out),
                }
            }
            next = next.min(self.resume(there, ended));
        }
        match sent.kind {
            FrameKind::Data => {
                let counters = &mut self.queues[sent.by as usize].counters;
                counters.collided += u64::from(!decoded && !sent.receiver_busy);
                counters.receiver_busy += u64::from(!decoded && sent.receiver_busy);
                counters.ack_lost += u64::from(decoded && !answered);
                if !answered {
                    self.expect_no_answer(now, node as u32, out);
                }
            }
            FrameKind::Ack => {
                if !decoded {
                    self.queues[sent.by as usize].counters.ack_lost += 1;
                    // The sender noticed the answer begin; it concludes when that is over (clause 10.3.2.9).
                    self.expect_no_answer(now, sent.to, out);
                }
                next = next.min(self.resume(node, now));
            }
        }
        self.record(now, node, &sent, decoded);
        if !answered {
            self.schedule_access(node, next, out);
        } // else the answer comes before any countdown can end, and `on_respond` looks who is left
    }

    /// The addressee of a DATA frame delivers it, unless it did so before, and will answer after a SIFS. Tells whether
    /// it will.
    fn accept(&mut self, node: usize, from: u32, by: Contender, at: Instant, out: &mut Effects) -> bool {
        if self.nodes[node].reply.is_some() {
            return false;
        }
        self.nodes[node].reply = Some((from, by));
        out.wakes.push((at + self.timing.sifs, Wake::Respond(node as u32)));
        let queue = &mut self.queues[by as usize];
        if !queue.received {
            queue.received = true;
            out.up.push(Up::Received { from: by });
        }
        true
    }

    fn on_respond(&mut self, now: Instant, node: usize, out: &mut Effects) {
        let (to, by) = self.nodes[node].reply.take().expect("a response without a reason");
        if self.nodes[node].sending.is_some() {
            // It has begun to transmit in between: no answer, the other side runs into its time-out.
            self.queues[by as usize].counters.ack_lost += 1;
            self.expect_no_answer(now, to, out);
            return self.schedule_least(to as usize, out);
        }
        for c in self.contenders(node) {
            self.interrupt(node, c, now, by);
        }
        self.start_frame(now, node, FrameKind::Ack, to, by, self.timing.ack, out);
        // Hearers of the DATA frame that do not hear the answer count down beside it.
        self.schedule_least(to as usize, out);
    }

    /// No acknowledgement will reach this node: it notices when that is overdue, and not before now.
    fn expect_no_answer(&mut self, now: Instant, node: u32, out: &mut Effects) {
        let overdue = &mut self.nodes[node as usize].overdue;
        *overdue = (*overdue).max(now);
        out.wakes.push((*overdue, Wake::Timeout(node)));
    }

    /// The awaited acknowledgement was decoded: the exchange is complete.
    fn acknowledged(&mut self, node: usize, at: Instant, out: &mut Effects) {
        let Some(c) = self.nodes[node].awaiting.take() else { return };
        self.release_head(c);
        self.turn_to(c, at, Doing::Nothing);
        out.up.push(Up::Done { by: c, outcome: Outcome::Delivered });
    }

    /// The contender is done with its head: the window is reset, and a back-off follows unless the law draws one
    /// before each frame.
    fn release_head(&mut self, c: Contender) {
        let queue = &mut self.queues[c as usize];
        queue.failures = 0;
        queue.head = None;
        queue.window = draw::first_window(queue.access.draw);
        queue.left = (queue.access.when != When::BeforeFrame).then(|| self.timing.draw(queue));
    }

    fn on_timeout(&mut self, now: Instant, node: usize, out: &mut Effects) {
        if self.nodes[node].overdue != now {
            return;
        }
        let Some(c) = self.nodes[node].awaiting.take() else { return };
        if self.rules.difs_after_timeout {
            self.nodes[node].idle_since = self.nodes[node].idle_since.max(now);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.failed(c, now, Doing::Nothing);
        }
        self.fail(now, c, out);
        let next = self.resume(node, now);
        self.schedule_access(node, next, out);
        self.book(c, now);
    }

    /// One more failure of this contender's head: a longer back-off, or the end of it.
    fn fail(&mut self, now: Instant, c: Contender, out: &mut Effects) {
        let queue = &mut self.queues[c as usize];
        queue.failures += 1;
        queue.from = Instant::NEVER;
        self.deadlines[c as usize] = Instant::NEVER;
        if queue.failures >= self.rules.attempts {
            queue.counters.dropped += 1;
            let outcome = if queue.received { Outcome::Unacknowledged } else { Outcome::Dropped };
            self.release_head(c);
            out.up.push(Up::Done { by: c, outcome });
        } else {
            if let OnFailure::Double { window_max } = queue.access.on_failure {
                queue.window = doubled(queue.window, window_max);
            }
            queue.left = Some(self.timing.draw(queue));
        }
        self.fingerprint.add(now, u64::from(c));
    }

    /// The medium becomes busy for a contender, with an exchange of `by`.
    fn interrupt(&mut self, node: usize, c: Contender, at: Instant, by: Contender) {
        self.freeze(node, c, at);
        if self.ledger.is_some() && matches!(self.doing(c), Doing::Waiting { .. }) {
            self.turn_to(c, at, Doing::Blocked { by });
        }
    }

    /// Takes the time that passed off a countdown: whole slots, or all of it where back-offs are continuous.
    fn freeze(&mut self, node: usize, c: Contender, at: Instant) {
        let queue = &mut self.queues[c as usize];
        debug_assert_eq!(queue.node as usize, node);
        let Some(left) = queue.left else { return };
        let elapsed = at.since(queue.from);
        let counted =
            if queue.slotted { self.timing.slot * elapsed.whole(self.timing.slot) } else { elapsed };
        queue.left = if counted >= left && queue.head.is_none() {
            None // ended with nothing to send
        } else {
            Some(left.saturating_sub(counted))
        };
        queue.from = Instant::NEVER;
        self.deadlines[c as usize] = Instant::NEVER;
    }

    /// Lets the countdowns of a node run again if its medium is idle; gives the least of their deadlines.
    fn resume(&mut self, node: usize, now: Instant) -> Instant {
        if self.busy(node) {
            return Instant::NEVER;
        }
        let ready = self.ready(node);
        let mut next = Instant::NEVER;
        for c in self.contenders(node) {
            let queue = &mut self.queues[c as usize];
            if let Some(left) = queue.left
                && queue.from.is_never()
            {
                // Where slots are already being counted, join at the next boundary.
                let missed = now.since(ready).as_nanos().div_ceil(self.timing.slot.as_nanos());
                queue.from = if queue.slotted { ready + self.timing.slot * missed } else { ready.max(now) };
                if queue.head.is_some() {
                    let deadline = queue.from + left;
                    self.deadlines[c as usize] = deadline;
                    next = next.min(deadline);
                }
                let from = queue.from;
                if self.ledger.is_some() && self.queues[c as usize].head.is_some() {
                    let since = self.nodes[node].idle_since;
                    self.turn_to(c, since, Doing::Waiting { countdown_from: from });
                }
            }
        }
        next
    }

    /// When countdowns may run: the medium has been idle for an inter-frame space and no reservation holds.
    fn ready(&self, node: usize) -> Instant {
        let node = &self.nodes[node];
        if self.rules.eifs_reserves {
            node.idle_since.max(node.reserved_until) + self.timing.difs
        } else {
            let space = if node.extended { self.timing.eifs } else { self.timing.difs };
            let after_reservation = if node.reserved_until > node.idle_since {
                node.reserved_until + self.timing.difs
            } else {
                Instant::ZERO
            };
            (node.idle_since + space).max(after_reservation)
        }
    }

    /// Whether a node senses a carrier or is in an exchange of its own.
    fn busy(&self, node: usize) -> bool {
        let node = &self.nodes[node];
        !node.heard.is_empty() || node.sending.is_some() || node.awaiting.is_some()
    }

    fn schedule_access(&mut self, node: usize, at: Instant, out: &mut Effects) {
        if at < self.nodes[node].next_access {
            self.nodes[node].next_access = at;
            out.wakes.push((at, Wake::Access(node as u32)));
        }
    }

    fn contenders(&self, node: usize) -> std::ops::Range<Contender> {
        let node = &self.nodes[node];
        node.first..node.first + node.count
    }

    fn around(&self, node: usize) -> &[Contender] {
        let (start, end) = self.around_range[node];
        &self.around[start as usize..end as usize]
    }

    fn record(&mut self, now: Instant, node: usize, sent: &Sending, decoded: bool) {
        let kind = match sent.kind {
            FrameKind::Data => 0u64,
            FrameKind::Ack => 1,
        };
        self.fingerprint.add(now, (node as u64) << 2 | kind << 1 | u64::from(decoded));
        if let Some(timeline) = &mut self.timeline {
            timeline.add(FrameRecord {
                start: sent.since,
                end: now,
                from: node as u32,
                to: sent.to,
                kind: sent.kind,
                by: sent.by,
                decoded,
            });
        }
    }

    /// What a contender is doing, for the ledger.
    fn doing(&self, c: Contender) -> Doing {
        let queue = &self.queues[c as usize];
        let node = &self.nodes[queue.node as usize];
        if let Some(sending) = node.sending {
            if sending.by == c {
                return Doing::Sending;
            }
            return if queue.head.is_some() { Doing::Blocked { by: sending.by } } else { Doing::Nothing };
        }
        match (queue.head, node.awaiting) {
            (None, _) => Doing::Nothing,
            (Some(_), Some(by)) if by == c => Doing::Sending,
            (Some(_), Some(by)) => Doing::Blocked { by },
            (Some(_), None) if !queue.from.is_never() => Doing::Waiting { countdown_from: queue.from },
            (Some(_), None) => match node.heard.first() {
                Some(heard) => Doing::Blocked { by: heard.by },
                None => Doing::Waiting { countdown_from: Instant::NEVER },
            },
        }
    }

    /// Books a contender's present activity from `now` on.
    fn book(&mut self, c: Contender, now: Instant) {
        if self.ledger.is_some() {
            let doing = self.doing(c);
            self.turn_to(c, now, doing);
        }
    }

    fn turn_to(&mut self, c: Contender, now: Instant, doing: Doing) {
        if let Some(ledger) = &mut self.ledger {
            ledger.turn_to(c, now, doing);
        }
    }
}

impl MacTiming {
    fn draw(&self, queue: &mut Queue) -> Duration {
        draw::backoff(queue.access.draw, queue.window, self.slot, queue.airtime, &mut queue.stream)
    }
}
