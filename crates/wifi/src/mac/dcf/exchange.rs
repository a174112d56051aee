//! The frames of an exchange: (RTS, CTS,) DATA, ACK; its end, and the effects of a failure.

use super::agenda::{Agenda as _, Due};
use super::reception::{FIRST, OTHER, Reception, STRONGEST};
use super::shape::Shape;
use super::signals::Heard;
use super::{Capture, DcfAir, Ear, Expecting, Plan, Reply, Sending, draw};
use crate::air::{BROADCAST, Contender, Outcome, Up};
use crate::ledger::Doing;
use crate::timeline::FrameKind;
use crate::timing::{ACK_BYTES, RTS_BYTES};
use evenair_laws::backoff::{Holding, OnFailure, When, dcf::doubled};
use evenair_units::{Duration, Instant};
use smallvec::SmallVec;

/// The kinds of frames that have a path of their own in a small network, along which the compiler knows the kind; and any.
const DATA: u8 = 0;
const ACK: u8 = 1;
const ANY: u8 = 2;

/// A frame's kind, which is known on a path of its own.
#[inline]
const fn kind_of<const KIND: u8>(kind: FrameKind) -> FrameKind {
    match KIND {
        DATA => FrameKind::Data,
        ACK => FrameKind::Ack,
        _ => kind,
    }
}

/// The end of a frame at its near hearers.
pub(super) struct End {
    /// Its addressee has decoded it, or some hearer of a broadcast has.
    pub(super) decoded: bool,
    /// The exchange goes on, or is complete.
    pub(super) answered: bool,
    /// An answer follows: most hearers let their countdowns stand still.
    pub(super) goes_on: bool,
    /// The least deadline of those with a countdown that goes on.
    pub(super) next: Instant,
}

impl<S: Shape> DcfAir<S> {
    /// Sends the first frame of the exchange for a contender's head.
    pub(super) fn begin_exchange(&mut self, now: Instant, c: Contender) {
        let queue = &mut self.queues[c as usize];
        let kind = queue.plan.first();
        match kind {
            FrameKind::Rts => {
                queue.announced = false;
                queue.counters.requests += 1;
            }
            FrameKind::Data => queue.note_attempt(),
            _ => (),
        }
        let head = queue.head.expect("an exchange without a head");
        let to = if kind == FrameKind::CtsToSelf { queue.node } else { head.to };
        let (node, mode) = (queue.node as usize, queue.plan.mode);
        let (airtime, reserves) = self.extent(kind, c);
        let frame = Reply { kind, to, by: c, airtime, reserves, mode };
        match kind {
            FrameKind::Data if S::PLAIN => self.start::<DATA>(now, node, frame),
            _ => self.start_frame(now, node, frame),
        }
    }

    /// Airtime of a frame that the exchange's first side sends, and how long it reserves the medium beyond its end (IEEE
    /// 802.11-2016 clause 9.2.5.2): until the end of the acknowledgement.
    pub(super) fn extent(&self, kind: FrameKind, c: Contender) -> (Duration, Duration) {
        self.extent_by(&self.queues[c as usize].plan, kind)
    }

    /// The same by a plan.
    pub(super) fn extent_by(&self, plan: &Plan, kind: FrameKind) -> (Duration, Duration) {
        let after_data = if plan.answer.is_zero() { Duration::ZERO } else { self.timing.sifs + plan.answer };
        let after_answer = self.timing.sifs + plan.data + after_data;
        match kind {
            FrameKind::Rts => {
                let request = plan.request.expect("an RTS was planned");
                (request, self.timing.sifs + plan.clearance + after_answer)
            }
            FrameKind::CtsToSelf => (plan.protection.expect("a CTS was planned"), after_answer),
            _ => (plan.data, after_data),
        }
    }

    /// The frame on the air that a node sends from now on.
    #[allow(clippy::inline_always, reason = "part of `start`")]
    #[inline(always)]
    fn sending(&self, now: Instant, node: usize, frame: &Reply) -> Sending {
        let &Reply { kind, to, by, reserves, mode, .. } = frame;
        let queue = &self.queues[by as usize];
        let (size, answer) = match kind {
            FrameKind::Data | FrameKind::BlockAckRequest => (queue.plan.size, queue.plan.answer),
            FrameKind::Rts => (RTS_BYTES, queue.plan.clearance),
            FrameKind::BlockAck => (self.block_ack_bytes(by), Duration::ZERO),
            FrameKind::Ack | FrameKind::Cts | FrameKind::CtsToSelf => (ACK_BYTES, Duration::ZERO),
        };
        Sending {
            kind,
            to,
            by,
            since: now,
            size,
            parts: if kind == FrameKind::Data { queue.plan.parts } else { 0 },
            retry: kind == FrameKind::Data && queue.sent,
            qos: kind == FrameKind::Data && queue.plan.qos,
            far: self.is_far(node, to),
            answer,
            class: self.class_of(kind, mode),
            reserves,
            mode,
            receiver_busy: false,
        }
    }

    #[inline(never)]
    fn start_frame(&mut self, now: Instant, node: usize, frame: Reply) {
        self.start::<ANY>(now, node, frame);
    }

    #[allow(clippy::inline_always, reason = "the kind of the frame is known where it is called")]
    #[inline(always)]
    fn start<const KIND: u8>(&mut self, now: Instant, node: usize, mut frame: Reply) {
        frame.kind = kind_of::<KIND>(frame.kind);
        let Reply { by, airtime, .. } = frame;
        let sending = self.sending(now, node, &frame);
        let class = sending.class;
        self.queues[by as usize].sent |= sending.kind == FrameKind::Data;
        let until = now.later(airtime);
        debug_assert!(self.stations[node].sending.is_none(), "node {node} starts a frame during another");
        self.stations[node].sending = Some(sending);
        self.engage(node, true);
        let sender = &mut self.nodes[node];
        sender.sending_until = until;
        sender.extended = false;
        let receiver_busy = if self.in_sets() {
            self.reach_all(now, node, &frame)
        } else {
            self.reach_each(now, node, class, &frame)
        };
        if receiver_busy {
            self.stations[node].sending.as_mut().expect("just set").receiver_busy = true;
        }
        self.agenda.add(until, Due::FrameEnd(node as u32));
        if self.is_wide() {
            self.launch(now, node, airtime);
        }
    }

    /// A frame's first energy reaches the near hearers of its sender, one by one; tells whether the addressee is itself transmitting
    /// then.
    fn reach_each(&mut self, now: Instant, node: usize, class: u8, frame: &Reply) -> bool {
        if !self.signals[node].is_silent() {
            self.talk_over(node);
        }
        if self.is_wide() {
            self.miss_flights(node);
        }
        let ears = std::mem::take(&mut self.ears);
        let hearers = &ears[self.ears_of(node, class)];
        let faded;
        let hearers: &[Ear] = if self.fades.is_some() {
            faded = self.fade(node, hearers, now);
            &faded
        } else {
            hearers
        };
        let receiver_busy = match self.reception_rules() {
            FIRST => self.reach_hearers::<FIRST>(now, node, frame, hearers),
            STRONGEST => self.reach_hearers::<STRONGEST>(now, node, frame, hearers),
            _ => self.reach_hearers::<OTHER>(now, node, frame, hearers),
        };
        self.ears = ears;
        receiver_busy
    }

    /// A frame's first energy reaches the near hearers of its sender; tells whether the addressee is itself transmitting then.
    #[inline]
    fn reach_hearers<const RULES: u8>(
        &mut self,
        now: Instant,
        node: usize,
        frame: &Reply,
        hearers: &[Ear],
    ) -> bool {
        let (until, mut receiver_busy) = (now + frame.airtime, false);
        if !S::SMALL && self.looks_ahead && frame.kind == FrameKind::Data {
            self.fetch_back_offs(hearers, false); // the hearers were fetched while the access was ahead
        }
        for ear in hearers {
            let (there, arrival) = (ear.node as usize, ear.after(now));
            if ear.sensed {
                self.stop_countdowns(there, arrival, frame.by);
            }
            if self.arrive::<RULES>(there, node, ear, arrival, ear.after(until)) {
                receiver_busy |= is_addressee(frame, ear);
            }
        }
        receiver_busy
    }

    /// A node begins to transmit while signals reach it: it misses them.
    #[inline(never)]
    fn talk_over(&mut self, node: usize) {
        let this = &mut self.signals[node];
        if self.rules.capture == Capture::First {
            // ns-2 marks the frame under reception as an error, and counts it as such if it ends after the transmission.
            this.spoil();
        } else {
            // A transmitter gives up the frame under reception; it has not seen its end, so it owes it no EIFS.
            this.unlock();
        }
        let heard: SmallVec<[u32; 8]> =
            self.signals[node].all(&self.stations[node]).map(Heard::from).collect();
        for from in heard {
            let frame = &mut self.stations[from as usize].sending;
            if let Some(frame) = frame.as_mut().filter(|f| f.to as usize == node) {
                frame.receiver_busy = true;
            }
        }
    }

    /// A frame ends. DATA frames and their acknowledgements are most: in a small network each kind has a path of its own, along which
    /// the compiler knows it.
    #[inline(never)]
    pub(super) fn on_frame_end(&mut self, now: Instant, node: usize, out: &mut Vec<Up>) {
        match self.stations[node].sending.as_ref().map(|sent| sent.kind) {
            Some(FrameKind::Data) if S::PLAIN => self.end_frame::<DATA>(now, node, out),
            Some(FrameKind::Ack) if S::PLAIN => self.end_frame::<ACK>(now, node, out),
            _ => self.end_any_frame(now, node, out),
        }
    }

    #[inline(never)]
    fn end_any_frame(&mut self, now: Instant, node: usize, out: &mut Vec<Up>) {
        self.end_frame::<ANY>(now, node, out);
    }

    #[allow(clippy::inline_always, reason = "the kind of the frame is known where it is called")]
    #[inline(always)]
    fn end_frame<const KIND: u8>(&mut self, now: Instant, node: usize, out: &mut Vec<Up>) {
        let mut sent = self.stations[node].sending.take().expect("a frame ends that nobody sent");
        sent.kind = kind_of::<KIND>(sent.kind);
        sent.far = !S::PLAIN && sent.far; // no change, but the compiler knows it
        let sent = &sent;
        self.nodes[node].idle_since = self.nodes[node].idle_since.max(now);
        self.expect_answer(now, node, sent);
        let End { decoded, answered, goes_on, mut next } = if self.in_sets() {
            self.end_for_all(now, node, sent, out)
        } else {
            self.end_for_each(now, node, sent, out)
        };
        if sent.to == BROADCAST {
            self.end_broadcast(now, node, sent, decoded, out);
        } else if !sent.far {
            // A CTS to its own sender has no other addressee.
            self.record(now, node, sent, decoded || sent.kind == FrameKind::CtsToSelf);
            if !answered && sent.kind != FrameKind::CtsToSelf {
                self.unanswered(now, node, sent, decoded);
            }
        }
        if sent.to == BROADCAST || matches!(sent.kind, FrameKind::Ack | FrameKind::Cts | FrameKind::BlockAck)
        {
            next = next.min(self.resume(node, now));
        }
        if S::SMALL || !goes_on {
            self.schedule_access(node, next);
        }
    }

    /// A frame's last energy has reached each of its near hearers, one by one.
    #[inline(never)]
    fn end_for_each(&mut self, now: Instant, node: usize, sent: &Sending, out: &mut Vec<Up>) -> End {
        let ears = std::mem::take(&mut self.ears);
        let hearers = &ears[self.ears_of(node, sent.class)];
        let (mut decoded, mut answered) = (false, false);
        // The addressee first, because the others depend on whether it will answer.
        if let Some(ear) = hearers.iter().find(|ear| ear.node == sent.to) {
            let (there, ended) = (ear.node as usize, ear.after(now));
            let reception = self.depart(there, node, ear, ended, sent);
            if self.timeline.is_some() {
                self.overhear(there, node, reception, sent);
            }
            decoded = reception == Reception::Decoded;
            answered = decoded && self.accept(there, node, sent, ended, out);
            if self.is_wide() {
                self.end_far_wait(there, reception, ended);
            }
        }
        let goes_on = goes_on_after(answered, sent);
        let is_plain = !self.is_wide() && self.timeline.is_none() && sent.to != BROADCAST;
        let (next, heard) = if is_plain {
            self.leave_hearers::<true>(now, node, sent, hearers, goes_on, out)
        } else {
            self.leave_hearers::<false>(now, node, sent, hearers, goes_on, out)
        };
        decoded |= heard;
        self.ears = ears;
        End { decoded, answered, goes_on, next }
    }

    /// A frame's last energy has reached its near hearers beside the addressee, and all with an idle medium go on. Gives the
    /// least of their deadlines, and whether a broadcast was heard. Where `PLAIN`, it is none, no hearer is far and nothing is
    /// recorded, which is then not asked at every hearer.
    #[inline(never)]
    fn leave_hearers<const PLAIN: bool>(
        &mut self,
        now: Instant,
        node: usize,
        sent: &Sending,
        hearers: &[Ear],
        goes_on: bool,
        out: &mut Vec<Up>,
    ) -> (Instant, bool) {
        let (mut next, mut heard) = (Instant::NEVER, false);
        for ear in hearers {
            let (there, ended) = (ear.node as usize, ear.after(now));
            if ear.node != sent.to {
                if PLAIN {
                    self.depart(there, node, ear, ended, sent);
                } else {
                    heard |= self.end_at(ended, node, ear, sent, out);
                }
            }
            if self.may_resume(there) && (!goes_on || self.is_watched(there)) {
                next = next.min(self.resume_hearer(ear, ended));
            }
        }
        (next, heard)
    }

    /// Lets the countdowns of a frame's hearer, which has an idle medium, run again; gives the least of their deadlines if the hearer is
    /// of the sender's neighbourhood, and asks for an access if not.
    #[inline]
    fn resume_hearer(&mut self, ear: &Ear, now: Instant) -> Instant {
        let next = self.resume_idle(ear.node as usize, now);
        if ear.sensed {
            return next;
        }
        self.schedule_access(ear.node as usize, next);
        Instant::NEVER
    }

    /// A frame's last energy has reached one of its near hearers, which is not its addressee; tells whether that has heard a
    /// broadcast.
    fn end_at(&mut self, ended: Instant, node: usize, ear: &Ear, sent: &Sending, out: &mut Vec<Up>) -> bool {
        let there = ear.node as usize;
        let reception = self.depart(there, node, ear, ended, sent);
        self.overhear(there, node, reception, sent);
        if self.is_wide() {
            self.end_far_wait(there, reception, ended);
        }
        let heard = reception == Reception::Decoded && sent.to == BROADCAST;
        if heard {
            let packet = self.queues[sent.by as usize].packet;
            out.push(Up::Received { from: sent.by, at: ear.node, packet });
        }
        heard
    }

    /// Whether a SIFS in which a node's countdowns stand still would show: in the ledger, or in a back-off of no slots with nothing to
    /// send, which ends as soon as it runs and is interrupted.
    #[inline]
    pub(super) fn is_watched(&self, node: usize) -> bool {
        self.ledger.is_some()
            || self.backing_off(node).any(|c| {
                let countdown = &self.countdowns[c as usize];
                countdown.left() == Some(Duration::ZERO) && !countdown.has_head
            })
    }

    /// The hearers of a frame that a node ended a SIFS ago go on, but for those that hear the answer, if there is one.
    fn resume_hearers(&mut self, now: Instant, node: usize) {
        let ears = std::mem::take(&mut self.ears);
        for ear in &ears[self.ears_of(node, 0)] {
            if self.may_resume(ear.node as usize) {
                self.resume_hearer(ear, now);
            }
        }
        self.ears = ears;
        self.schedule_least(node);
    }

    /// The same while the answer is on the air, which makes the medium of most of them busy.
    fn resume_beside(&mut self, now: Instant, node: usize, answerer: usize) {
        if self.in_sets() {
            self.resume_others(now, node, answerer);
        } else {
            self.resume_hearers(now, node);
        }
    }

    /// The sender of an RTS or a DATA frame waits for its answer.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    fn expect_answer(&mut self, now: Instant, node: usize, sent: &Sending) {
        let void_at = self.void_at(now, sent);
        let this = &mut self.stations[node];
        match sent.kind {
            FrameKind::Cts if self.rules.idle_handshake => {
                // ns-2 allows the DATA frame its airtime and twice 2 µs of propagation.
                let answer = now - sent.since; // of the ACK, which is as long as the CTS
                let data = sent.reserves - self.timing.sifs - answer;
                this.awaiting = Some((sent.by, Expecting::Data));
                this.overdue = now + data + Duration::from_micros(4);
                self.agenda.add(this.overdue, Due::Timeout(node as u32));
            }
            FrameKind::CtsToSelf => {
                this.awaiting = Some((sent.by, Expecting::Protected));
                self.agenda.add(now + self.timing.sifs, Due::Respond(node as u32));
            }
            FrameKind::Rts | FrameKind::Data | FrameKind::BlockAckRequest if sent.to != BROADCAST => {
                this.overdue = now.later(self.timing.answer_timeout_to(sent.kind, sent.mode));
                this.request_void_at = void_at;
                this.awaiting =
                    Some((sent.by, if sent.far { Expecting::FarAnswer } else { Expecting::Answer }));
                if sent.far {
                    // Before then it is unknown whether the answer comes.
                    self.agenda.add(this.overdue, Due::Timeout(node as u32));
                    self.agenda.add(this.request_void_at, Due::Unreserve(node as u32));
                }
            }
            _ => return self.note_engagement(node), // the others go on being engaged
        }
        debug_assert!(self.is_engaged(node), "a node sends and is not engaged");
    }

    /// When a reservation by a frame that ends at `at` may be dropped if nothing follows it (clause 10.3.2.4): of an RTS,
    /// 2 SIFS + CTS + aRxPHYStartDelay + 2 slots later.
    #[inline]
    pub(super) fn void_at(&self, at: Instant, sent: &Sending) -> Instant {
        if sent.kind == FrameKind::Rts { self.request_void_at(at, sent) } else { Instant::NEVER }
    }

    #[inline(never)]
    fn request_void_at(&self, at: Instant, sent: &Sending) -> Instant {
        if !self.rules.drops_unused_reservation {
            return Instant::NEVER;
        }
        let timing = &self.timing;
        let start_delay = timing.phy.start_delay().max(timing.phy.preamble_time(sent.mode));
        at + timing.sifs * 2 + sent.answer + start_delay + timing.slot * 2
    }

    /// The addressee has decoded a frame. Tells whether the exchange goes on, or is complete.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    pub(super) fn accept(
        &mut self,
        there: usize,
        from: usize,
        sent: &Sending,
        at: Instant,
        out: &mut Vec<Up>,
    ) -> bool {
        if sent.kind.is_acknowledgement() {
            return self.acknowledged(there, sent.by, at, out);
        }
        if self.stations[there].reply.is_some() {
            return false;
        }
        let Some(reply) = self.reply_to(there, from, sent, at) else { return false };
        self.stations[there].reply = Some(reply);
        self.agenda.add(at.later(self.timing.sifs), Due::Respond(there as u32));
        let queue = &mut self.queues[sent.by as usize];
        if let Some(batch) = &mut queue.batch {
            match sent.kind {
                FrameKind::Data => batch.receive(there as u32, out),
                FrameKind::BlockAckRequest => batch.receive_request(there as u32, out),
                _ => (),
            }
            if self.timeline.is_some() {
                batch.note_window();
            }
        } else if sent.kind == FrameKind::Data && !queue.received {
            queue.received = true;
            out.push(Up::Received { from: sent.by, at: there as u32, packet: queue.packet });
        }
        true
    }

    /// A node answers, a SIFS after a frame that it has decoded.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    fn reply_to(&mut self, there: usize, from: usize, sent: &Sending, at: Instant) -> Option<Reply> {
        let too_late = self.is_too_late(there, at);
        let this = &mut self.stations[there];
        let answer = |kind, reserves| Reply {
            kind,
            to: from as u32,
            by: sent.by,
            airtime: sent.answer,
            reserves, // what the frame that it answers reserved, less what has passed
            mode: sent.mode,
        };
        match sent.kind {
            FrameKind::Ack | FrameKind::BlockAck | FrameKind::CtsToSelf => None,
            FrameKind::BlockAckRequest => Some(answer(FrameKind::BlockAck, Duration::ZERO)),
            FrameKind::Cts if too_late => None,
            FrameKind::Cts => {
                // A CTS that comes when its RTS was given up means nothing, unless the next one waits: it names no sender.
                let by = this.awaited_answer()?;
                let queue = &mut self.queues[by as usize];
                if queue.announced || queue.plan.request.is_none() {
                    return None;
                }
                this.overdue = Instant::NEVER;
                this.request_void_at = Instant::NEVER;
                queue.short_failures = 0; // clause 10.3.4.4
                let (airtime, reserves) = self.extent(FrameKind::Data, by);
                let mode = self.queues[by as usize].plan.mode;
                Some(Reply { kind: FrameKind::Data, to: from as u32, by, airtime, reserves, mode })
            }
            FrameKind::Data => {
                if let Some((_, Expecting::Data)) = this.awaiting
                    && !too_late
                {
                    this.awaiting = None;
                    self.note_engagement(there);
                } else if self.rules.idle_handshake {
                    let queue = &self.queues[sent.by as usize];
                    if queue.announced && queue.plan.request.is_some() {
                        return None; // ns-2 has forgotten its CTS
                    }
                }
                let kind = if sent.parts > 1 { FrameKind::BlockAck } else { FrameKind::Ack };
                Some(answer(kind, Duration::ZERO))
            }
            FrameKind::Rts if self.rules.idle_handshake => {
                // The medium is looked at when the CTS is due.
                let reserves = sent.reserves - self.timing.sifs - sent.answer;
                this.awaiting.is_none().then(|| answer(FrameKind::Cts, reserves))
            }
            FrameKind::Rts => {
                // Clause 10.3.2.7: no CTS while the medium is reserved.
                let reserves = sent.reserves - self.timing.sifs - sent.answer;
                (self.nodes[there].reserved_until <= at).then(|| answer(FrameKind::Cts, reserves))
            }
        }
    }

    /// A SIFS has passed: the node answers, sends the DATA that its RTS announced, or goes on with its TXOP.
    #[inline(never)]
    pub(super) fn on_respond(&mut self, now: Instant, node: usize) {
        match self.stations[node].awaiting {
            Some((c, Expecting::Burst)) => return self.continue_burst(now, node, c),
            Some((c, Expecting::Protected)) => return self.send_protected(now, node, c),
            _ => (),
        }
        let reply = self.stations[node].reply.take().expect("a response without a reason");
        let (to, by) = (reply.to as usize, reply.by);
        let depends = self.rules.idle_handshake && matches!(reply.kind, FrameKind::Data | FrameKind::Cts);
        let is_refused = depends && !self.is_idle(node, now);
        if is_refused && reply.kind == FrameKind::Data {
            return self.announce_anew(now, node, by, to);
        }
        // It may have begun to transmit in between.
        if self.stations[node].sending.is_some() || is_refused {
            // No answer; the other side runs into its time-out.
            self.queues[by as usize].note_lost_answer(reply.kind);
            if !self.is_far(node, reply.to) {
                self.expect_no_answer(now, to);
            }
            return self.resume_hearers(now, to);
        }
        self.note_none_runs(node);
        for c in self.contenders(node) {
            self.interrupt(node, c, now, by);
        }
        if reply.kind == FrameKind::Data {
            let queue = &mut self.queues[by as usize];
            queue.announced = true;
            queue.note_attempt();
        }
        match reply.kind {
            FrameKind::Ack if S::PLAIN => self.start::<ACK>(now, node, reply),
            _ => self.start_frame(now, node, reply),
        }
        // Hearers of the frame before that do not hear this one count down beside it.
        self.resume_beside(now, to, node);
    }

    /// Whether a node's medium is neither reserved nor sensed busy.
    #[inline(never)]
    fn is_idle(&self, node: usize, now: Instant) -> bool {
        !self.senses_carrier(node) && self.nodes[node].reserved_until <= now
    }

    /// The DATA frame follows the CTS that its sender sent to itself, in any state of the medium (clause 10.3.2, NAV
    /// distribution).
    #[inline(never)]
    fn send_protected(&mut self, now: Instant, node: usize, c: Contender) {
        self.stations[node].awaiting = None;
        for other in self.rivals(node, c) {
            self.interrupt(node, other, now, c);
        }
        let queue = &mut self.queues[c as usize];
        queue.note_attempt();
        let (to, mode) = (queue.head.expect("an exchange without a head").to, queue.plan.mode);
        let (airtime, reserves) = self.extent(FrameKind::Data, c);
        self.start_frame(now, node, Reply { kind: FrameKind::Data, to, by: c, airtime, reserves, mode });
    }

    /// ns-2's DATA frame finds the medium busy after its CTS: another RTS, after a longer back-off.
    #[inline(never)]
    fn announce_anew(&mut self, now: Instant, node: usize, c: Contender, to: usize) {
        self.stations[node].awaiting = None;
        self.note_engagement(node);
        let queue = &mut self.queues[c as usize];
        queue.announced = false;
        if let OnFailure::Double { window_max } = queue.access.on_failure {
            queue.window = doubled(queue.window, window_max);
        }
        let left = self.timing.draw(queue);
        self.back_off(c, left);
        if let Some(ledger) = &mut self.ledger {
            ledger.failed(c, now, Doing::Nothing);
        }
        let next = self.resume(node, now);
        self.schedule_access(node, next);
        self.resume_hearers(now, to);
        self.book(c, now);
    }

    /// No answer to a frame will come, or it was lost.
    #[inline(never)]
    fn unanswered(&mut self, now: Instant, node: usize, sent: &Sending, decoded: bool) {
        let queue = &mut self.queues[sent.by as usize];
        let counters = &mut queue.counters;
        match sent.kind {
            FrameKind::Data => {
                counters.collided += u64::from(!decoded && !sent.receiver_busy);
                counters.receiver_busy += u64::from(!decoded && sent.receiver_busy);
                counters.ack_lost += u64::from(decoded);
                if let Some(batch) = queue.batch.as_mut().filter(|_| !decoded) {
                    batch.lose_frame(sent.parts);
                }
                self.expect_no_answer(now, node);
            }
            FrameKind::Rts | FrameKind::BlockAckRequest => self.expect_no_answer(now, node),
            FrameKind::CtsToSelf => (),
            FrameKind::Ack | FrameKind::Cts | FrameKind::BlockAck => {
                if !decoded {
                    queue.note_lost_answer(sent.kind);
                }
                // The other side noticed the answer begin; it concludes when that is over (clause 10.3.2.9).
                self.expect_no_answer(now, sent.to as usize);
            }
        }
    }

    /// No answer will reach this node: it notices when that is overdue, and not before now.
    fn expect_no_answer(&mut self, now: Instant, node: usize) {
        let this = &mut self.stations[node];
        this.overdue = this.overdue.max(now);
        self.agenda.add(this.overdue, Due::Timeout(node as u32));
        if !this.request_void_at.is_never() {
            self.agenda.add(this.request_void_at, Due::Unreserve(node as u32));
            this.request_void_at = Instant::NEVER;
        }
    }

    /// An acknowledgement of a frame of `by` was decoded: the exchange that the node awaits one for is complete.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    fn acknowledged(&mut self, node: usize, by: Contender, at: Instant, out: &mut Vec<Up>) -> bool {
        // An acknowledgement names no sender: after its frame was given up it means nothing, unless the next frame waits.
        let Some(c) = self.stations[node].awaited_answer() else {
            self.queues[by as usize].counters.ack_late += 1;
            return true;
        };
        if self.is_too_late(node, at) {
            self.queues[by as usize].counters.ack_late += 1;
            return false;
        }
        let queue = &self.queues[c as usize];
        if queue.plan.request.is_some() && !queue.announced {
            self.queues[by as usize].counters.ack_late += 1;
            return true;
        }
        self.report(at, c, true, out);
        self.stations[node].awaiting = None;
        if at.later(self.timing.sifs) < self.queues[c as usize].txop_until {
            self.stations[node].awaiting = Some((c, Expecting::Burst));
            self.agenda.add(at + self.timing.sifs, Due::Respond(node as u32));
        }
        self.note_engagement(node);
        if self.queues[c as usize].batch.is_some() {
            self.settle(c, at, out);
        } else {
            self.finish(c, at, Outcome::Delivered, out);
        }
        true
    }

    /// Whether ns-2's time-out, which leaves 4 µs for propagation there and back, has cut an answer.
    fn is_too_late(&self, node: usize, at: Instant) -> bool {
        !self.rules.hears_out_answers && at > self.stations[node].overdue
    }

    /// The holder of a TXOP sends its next packet, if there is one and its exchange fits; else the TXOP is over.
    #[inline(never)]
    fn continue_burst(&mut self, now: Instant, node: usize, c: Contender) {
        self.stations[node].awaiting = None;
        self.note_engagement(node);
        if self.queues[c as usize].head.is_some() && self.goes_on(now, c) {
            for other in self.contenders(node) {
                self.interrupt(node, other, now, c);
            }
            self.countdowns[c as usize].end();
            self.turn_to(c, now, Doing::Sending);
            return self.begin_exchange(now, c);
        }
        let (queue, countdown) = (&mut self.queues[c as usize], &self.countdowns[c as usize]);
        if countdown.has_head && !countdown.is_under_way {
            let left = self.timing.draw(queue); // a law that draws before each frame
            self.back_off(c, left);
        }
        let next = self.resume(node, now);
        self.schedule_access(node, next);
        self.book(c, now);
    }

    /// Whether the head's exchange still belongs to the TXOP under way.
    fn goes_on(&mut self, now: Instant, c: Contender) -> bool {
        if self.queues[c as usize].modes.is_some() {
            self.choose_mode(now, c);
        }
        if self.queues[c as usize].batch.is_some() {
            return self.compose_more(now, c);
        }
        let (airtime, reserves) = self.extent(self.queues[c as usize].plan.first(), c);
        let queue = &mut self.queues[c as usize];
        let (takes, left) = (airtime + reserves, queue.txop_until.since(now));
        let dithers = matches!(queue.access.holding, Holding::Span(_));
        takes <= left || (dithers && draw::goes_on(left, takes, &mut queue.stream))
    }

    /// The contender is done with its head.
    pub(super) fn finish(&mut self, c: Contender, at: Instant, outcome: Outcome, out: &mut Vec<Up>) {
        self.release_head(c);
        self.turn_to(c, at, Doing::Nothing);
        self.conclude(c, outcome, out);
    }

    /// The window is reset, and a back-off follows unless the law draws one before each frame.
    pub(super) fn release_head(&mut self, c: Contender) {
        let queue = &mut self.queues[c as usize];
        queue.short_failures = 0;
        queue.long_failures = 0;
        queue.head = None;
        queue.window = draw::first_window(queue.access.draw);
        let countdown = &mut self.countdowns[c as usize];
        countdown.has_head = false;
        countdown.end();
        if queue.access.when != When::BeforeFrame {
            let left = self.timing.draw(queue);
            self.back_off(c, left);
        }
    }

    #[inline(never)]
    pub(super) fn on_timeout(&mut self, now: Instant, node: usize, out: &mut Vec<Up>) {
        if self.stations[node].overdue != now {
            return;
        }
        let Some((c, expecting)) = self.stations[node].awaiting else { return };
        if matches!(expecting, Expecting::Burst | Expecting::Protected)
            || (expecting == Expecting::FarAnswer && self.hears_out(now, node))
        {
            return;
        }
        self.stations[node].awaiting = None;
        self.note_engagement(node);
        if self.rules.difs_after_timeout {
            self.nodes[node].idle_since = self.nodes[node].idle_since.max(now);
        }
        if expecting == Expecting::Data {
            let next = self.resume(node, now);
            return self.schedule_access(node, next);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.failed(c, now, Doing::Nothing);
        }
        self.report(now, c, false, out);
        // A DATA frame that was announced is a long one, for want of an acknowledgement; all else counts as short.
        let queue = &mut self.queues[c as usize];
        if let Some(batch) = queue.batch.as_mut().filter(|_| queue.plan.request.is_none() || queue.announced)
        {
            batch.miss(queue.plan.parts);
        }
        if queue.plan.request.is_some() && queue.announced {
            self.fail_long(now, c, out);
        } else {
            queue.counters.requests_failed += u64::from(queue.plan.request.is_some());
            self.fail_short(now, c, out);
        }
        let next = self.resume(node, now);
        self.schedule_access(node, next);
        self.book(c, now);
    }

    /// One more failure of an RTS, or of a DATA frame without one.
    pub(super) fn fail_short(&mut self, now: Instant, c: Contender, out: &mut Vec<Up>) {
        self.queues[c as usize].short_failures += 1;
        let last = self.queues[c as usize].short_failures >= self.rules.short_retry_limit;
        self.fail(now, c, last, out);
    }

    /// One more failure of a DATA frame that an RTS announced.
    fn fail_long(&mut self, now: Instant, c: Contender, out: &mut Vec<Up>) {
        self.queues[c as usize].long_failures += 1;
        let last = self.queues[c as usize].long_failures >= self.rules.long_retry_limit;
        self.fail(now, c, last, out);
    }

    /// A longer back-off, or the end of the packet.
    fn fail(&mut self, now: Instant, c: Contender, last: bool, out: &mut Vec<Up>) {
        let queue = &mut self.queues[c as usize];
        self.countdowns[c as usize].from = Instant::NEVER;
        self.deadlines[c as usize] = Instant::NEVER;
        if queue.batch.as_ref().is_some_and(|batch| batch.is_waiting()) {
            self.fail_batch(now, c, last, out);
        } else if last {
            queue.counters.dropped += 1;
            let outcome = if queue.received { Outcome::Unacknowledged } else { Outcome::Dropped };
            self.end_chain(now, c);
            self.release_head(c);
            self.conclude(c, outcome, out);
        } else {
            self.back_off_longer(c);
        }
        self.fingerprint.add(now, u64::from(c));
    }

    /// A longer back-off.
    pub(super) fn back_off_longer(&mut self, c: Contender) {
        let queue = &mut self.queues[c as usize];
        if let OnFailure::Double { window_max } = queue.access.on_failure {
            queue.window = doubled(queue.window, window_max);
        }
        let repeats = queue.access.on_failure == OnFailure::Repeat;
        let next = if repeats { queue.drawn } else { self.timing.draw(queue) };
        self.countdowns[c as usize].undrawn = false; // after a tie within the node
        self.back_off(c, next);
    }
}

/// Whether a hearer that transmits itself is the one that the frame is for.
#[cold]
#[inline(never)]
fn is_addressee(frame: &Reply, ear: &Ear) -> bool {
    frame.to == ear.node
}

/// Whether a frame of the exchange follows a SIFS later.
///
/// An answer from near by comes before any countdown can end. A hearer of the answer need not run a countdown for the SIFS between;
/// other hearers are let go on when the answer has begun (`on_respond`).
pub(super) const fn goes_on_after(answered: bool, sent: &Sending) -> bool {
    (answered && !sent.kind.is_acknowledgement()) || matches!(sent.kind, FrameKind::CtsToSelf)
}
