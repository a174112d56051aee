//! The frames of an exchange: (RTS, CTS,) DATA, ACK; what ends it, and what a failure does.

use super::{Capture, DcfAir, Expecting, Reply, Sending, draw, reception::Reception};
use crate::air::{BROADCAST, Contender, Effects, Outcome, Up, Wake};
use crate::ledger::Doing;
use crate::timeline::FrameKind;
use evenair_laws::backoff::{OnFailure, When, dcf::doubled};
use evenair_units::{Duration, Instant};

impl DcfAir {
    /// Sends the first frame of the exchange for a contender's head.
    pub(super) fn begin_exchange(&mut self, now: Instant, c: Contender, out: &mut Effects) {
        let queue = &mut self.queues[c as usize];
        let kind = queue.plan.first();
        if kind == FrameKind::Rts {
            queue.announced = false;
            queue.counters.requests += 1;
        } else {
            queue.counters.attempts += 1;
        }
        let to = queue.head.expect("an exchange without a head").to;
        let node = queue.node as usize;
        self.start_frame(now, node, Reply { kind, to, by: c }, out);
    }

    /// Airtime of a frame of this exchange, and how long it reserves the medium beyond its end (IEEE 802.11-2016 clause
    /// 9.2.5.2): until the end of the acknowledgement.
    fn extent(&self, kind: FrameKind, c: Contender) -> (Duration, Duration) {
        let plan = &self.queues[c as usize].plan;
        let after_data = if plan.answer.is_zero() { Duration::ZERO } else { self.timing.sifs + plan.answer };
        let after_answer = self.timing.sifs + plan.data + after_data;
        match kind {
            FrameKind::Data => (plan.data, after_data),
            FrameKind::Ack => (plan.answer, Duration::ZERO),
            FrameKind::Cts => (plan.answer, after_answer),
            FrameKind::Rts => {
                let request = plan.request.expect("an RTS was planned");
                (request, self.timing.sifs + plan.answer + after_answer)
            }
        }
    }

    fn start_frame(&mut self, now: Instant, node: usize, frame: Reply, out: &mut Effects) {
        let Reply { kind, to, by } = frame;
        let (airtime, reserves) = self.extent(kind, by);
        let until = now + airtime;
        let sender = &mut self.nodes[node];
        debug_assert!(sender.sending.is_none(), "node {node} starts a frame during another");
        sender.sending = Some(Sending { kind, to, by, since: now, reserves, receiver_busy: false });
        sender.note_engagement();
        sender.sending_until = until;
        sender.extended = false;
        match (self.rules.capture, &mut sender.locked) {
            // ns-2 marks what it was receiving as an error, and counts it as one if it ends after the transmission.
            (Capture::First, Some(locked)) => locked.intact = false,
            (Capture::First, None) => (),
            // A transmitter gives up what it was receiving; it has not seen it end, so it owes it no EIFS.
            (_, locked) => *locked = None,
        }
        for i in 0..self.nodes[node].heard.len() {
            let other = self.nodes[node].heard[i].from as usize;
            if let Some(frame) = self.nodes[other].sending.as_mut().filter(|f| f.to as usize == node) {
                frame.receiver_busy = true;
            }
        }
        for i in self.ears_of(node) {
            let ear = self.ears[i];
            let arrival = now + Duration::from_nanos(u64::from(ear.delay_ns));
            let there = ear.node as usize;
            if ear.sensed {
                let stop = arrival + self.timing.sensing_delay;
                for c in self.contenders(there) {
                    let deadline = self.deadlines[c as usize];
                    if deadline > stop && !deadline.is_never() {
                        self.interrupt(there, c, arrival, by);
                    }
                }
            }
            if to == ear.node && self.nodes[there].sending_until > arrival {
                self.nodes[node].sending.as_mut().expect("just set").receiver_busy = true;
            }
            self.arrive(there, (node, by), ear, arrival, arrival + airtime);
        }
        out.wakes.push((until, Wake::FrameEnd(node as u32)));
    }

    pub(super) fn on_frame_end(&mut self, now: Instant, node: usize, out: &mut Effects) {
        let sent = self.nodes[node].sending.take().expect("a frame ends that nobody sent");
        self.nodes[node].idle_since = self.nodes[node].idle_since.max(now);
        self.expect_answer(now, node, &sent);
        self.nodes[node].note_engagement();
        let mut next = Instant::NEVER;
        let (mut decoded, mut answered) = (false, false);
        for i in self.ears_of(node) {
            let ear = self.ears[i];
            let there = ear.node as usize;
            let ended = now + Duration::from_nanos(u64::from(ear.delay_ns));
            let reception = self.depart(there, node, ear, ended, &sent);
            self.after_reception(there, reception, &sent, ended);
            if reception == Reception::Decoded {
                if ear.node == sent.to {
                    decoded = true;
                    answered = self.accept(there, node, &sent, ended, out);
                } else if sent.to == BROADCAST {
                    decoded = true;
                    out.up.push(Up::Received { from: sent.by, at: ear.node });
                }
            }
            next = next.min(self.resume(there, ended));
        }
        self.record(now, node, &sent, decoded);
        if sent.to == BROADCAST {
            self.finish(sent.by, now, if decoded { Outcome::Delivered } else { Outcome::Dropped }, out);
        } else if !answered {
            self.unanswered(now, node, &sent, decoded, out);
        }
        if sent.to == BROADCAST || matches!(sent.kind, FrameKind::Ack | FrameKind::Cts) {
            next = next.min(self.resume(node, now));
        }
        if !answered || sent.kind == FrameKind::Ack {
            self.schedule_access(node, next, out);
        } // else the reply comes before any countdown can end, and `on_respond` looks who is left
    }

    /// The sender of an RTS or a DATA frame waits for its answer.
    fn expect_answer(&mut self, now: Instant, node: usize, sent: &Sending) {
        if sent.to == BROADCAST || matches!(sent.kind, FrameKind::Ack | FrameKind::Cts) {
            return;
        }
        let timing = &self.timing;
        let this = &mut self.nodes[node];
        this.awaiting = Some((sent.by, Expecting::Answer));
        this.overdue = now + timing.answer_timeout;
        if sent.kind == FrameKind::Rts && self.rules.drops_unused_reservation {
            // Clause 10.3.2.4: 2 SIFS + CTS + aRxPHYStartDelay + 2 slots.
            let answer = self.queues[sent.by as usize].plan.answer;
            this.request_void_at =
                now + timing.sifs * 2 + answer + timing.phy.start_delay() + timing.slot * 2;
        }
    }

    /// The addressee has decoded a frame. Tells whether the exchange goes on, or is complete.
    fn accept(&mut self, there: usize, from: usize, sent: &Sending, at: Instant, out: &mut Effects) -> bool {
        let by = sent.by;
        let kind = match sent.kind {
            FrameKind::Ack => return self.acknowledged(there, at, out),
            FrameKind::Cts => {
                // A CTS that comes when its RTS was given up means nothing.
                let this = &mut self.nodes[there];
                if this.awaiting != Some((by, Expecting::Answer)) {
                    return false;
                }
                this.overdue = Instant::NEVER;
                this.request_void_at = Instant::NEVER;
                self.queues[by as usize].short_failures = 0; // clause 10.3.4.4
                FrameKind::Data
            }
            FrameKind::Data => FrameKind::Ack,
            FrameKind::Rts => {
                // Clause 10.3.2.7: no CTS while the medium is reserved.
                if self.nodes[there].reserved_until > at && !self.rules.cts_when_reserved {
                    return false;
                }
                FrameKind::Cts
            }
        };
        if self.nodes[there].reply.is_some() {
            return false;
        }
        self.nodes[there].reply = Some(Reply { kind, to: from as u32, by });
        out.wakes.push((at + self.timing.sifs, Wake::Respond(there as u32)));
        let queue = &mut self.queues[by as usize];
        if sent.kind == FrameKind::Data && !queue.received {
            queue.received = true;
            out.up.push(Up::Received { from: by, at: there as u32 });
        }
        true
    }

    /// A SIFS has passed: the node answers, sends the DATA that its RTS announced, or goes on with its TXOP.
    pub(super) fn on_respond(&mut self, now: Instant, node: usize, out: &mut Effects) {
        if let Some((c, Expecting::Burst)) = self.nodes[node].awaiting {
            return self.continue_burst(now, node, c, out);
        }
        let reply = self.nodes[node].reply.take().expect("a response without a reason");
        let (to, by) = (reply.to as usize, reply.by);
        if self.nodes[node].sending.is_some() {
            // It has begun to transmit in between: no answer, the other side runs into its time-out.
            self.queues[by as usize].counters.ack_lost += u64::from(reply.kind == FrameKind::Ack);
            self.expect_no_answer(now, to, out);
            return self.schedule_least(to, out);
        }
        for c in self.contenders(node) {
            self.interrupt(node, c, now, by);
        }
        if reply.kind == FrameKind::Data {
            let queue = &mut self.queues[by as usize];
            queue.announced = true;
            queue.counters.attempts += 1;
        }
        self.start_frame(now, node, reply, out);
        // Hearers of the frame before that do not hear this one count down beside it.
        self.schedule_least(to, out);
    }

    /// No answer to a frame will come, or it was lost.
    fn unanswered(&mut self, now: Instant, node: usize, sent: &Sending, decoded: bool, out: &mut Effects) {
        let counters = &mut self.queues[sent.by as usize].counters;
        match sent.kind {
            FrameKind::Data => {
                counters.collided += u64::from(!decoded && !sent.receiver_busy);
                counters.receiver_busy += u64::from(!decoded && sent.receiver_busy);
                counters.ack_lost += u64::from(decoded);
                self.expect_no_answer(now, node, out);
            }
            FrameKind::Rts => self.expect_no_answer(now, node, out),
            FrameKind::Ack | FrameKind::Cts => {
                counters.ack_lost += u64::from(sent.kind == FrameKind::Ack);
                // The other side noticed the answer begin; it concludes when that is over (clause 10.3.2.9).
                self.expect_no_answer(now, sent.to as usize, out);
            }
        }
    }

    /// No answer will reach this node: it notices when that is overdue, and not before now.
    fn expect_no_answer(&mut self, now: Instant, node: usize, out: &mut Effects) {
        let this = &mut self.nodes[node];
        this.overdue = this.overdue.max(now);
        out.wakes.push((this.overdue, Wake::Timeout(node as u32)));
        if !this.request_void_at.is_never() {
            out.wakes.push((this.request_void_at, Wake::Unreserve(node as u32)));
            this.request_void_at = Instant::NEVER;
        }
    }

    /// The awaited acknowledgement was decoded: the exchange is complete.
    fn acknowledged(&mut self, node: usize, at: Instant, out: &mut Effects) -> bool {
        let Some((c, Expecting::Answer)) = self.nodes[node].awaiting.take() else { return true };
        if at + self.timing.sifs < self.queues[c as usize].txop_until {
            self.nodes[node].awaiting = Some((c, Expecting::Burst));
            out.wakes.push((at + self.timing.sifs, Wake::Respond(node as u32)));
        }
        self.nodes[node].note_engagement();
        self.finish(c, at, Outcome::Delivered, out);
        true
    }

    /// The holder of a TXOP sends its next packet, if there is one and its exchange fits; else the TXOP is over.
    fn continue_burst(&mut self, now: Instant, node: usize, c: Contender, out: &mut Effects) {
        self.nodes[node].awaiting = None;
        self.nodes[node].note_engagement();
        let queue = &self.queues[c as usize];
        let (airtime, reserves) = self.extent(queue.plan.first(), c);
        if queue.head.is_some() && now + airtime + reserves <= queue.txop_until {
            for other in self.contenders(node) {
                self.interrupt(node, other, now, c);
            }
            self.countdowns[c as usize].left = None;
            self.turn_to(c, now, Doing::Sending);
            return self.begin_exchange(now, c, out);
        }
        let (queue, countdown) = (&mut self.queues[c as usize], &mut self.countdowns[c as usize]);
        if countdown.has_head && countdown.left.is_none() {
            countdown.left = Some(self.timing.draw(queue)); // a law that draws before each frame
        }
        let next = self.resume(node, now);
        self.schedule_access(node, next, out);
        self.book(c, now);
    }

    /// The contender is done with its head.
    fn finish(&mut self, c: Contender, at: Instant, outcome: Outcome, out: &mut Effects) {
        self.release_head(c);
        self.turn_to(c, at, Doing::Nothing);
        out.up.push(Up::Done { by: c, outcome });
    }

    /// The window is reset, and a back-off follows unless the law draws one before each frame.
    fn release_head(&mut self, c: Contender) {
        let queue = &mut self.queues[c as usize];
        queue.short_failures = 0;
        queue.long_failures = 0;
        queue.head = None;
        queue.window = draw::first_window(queue.access.draw);
        let countdown = &mut self.countdowns[c as usize];
        countdown.has_head = false;
        countdown.left = (queue.access.when != When::BeforeFrame).then(|| self.timing.draw(queue));
    }

    pub(super) fn on_timeout(&mut self, now: Instant, node: usize, out: &mut Effects) {
        if self.nodes[node].overdue != now {
            return;
        }
        let Some((c, Expecting::Answer)) = self.nodes[node].awaiting else { return };
        self.nodes[node].awaiting = None;
        self.nodes[node].note_engagement();
        if self.rules.difs_after_timeout {
            self.nodes[node].idle_since = self.nodes[node].idle_since.max(now);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.failed(c, now, Doing::Nothing);
        }
        // A DATA frame that was announced is a long one, for want of an acknowledgement; all else counts as short.
        let queue = &mut self.queues[c as usize];
        if queue.plan.request.is_some() && queue.announced {
            self.fail_long(now, c, out);
        } else {
            queue.counters.requests_failed += u64::from(queue.plan.request.is_some());
            self.fail_short(now, c, out);
        }
        let next = self.resume(node, now);
        self.schedule_access(node, next, out);
        self.book(c, now);
    }

    /// One more failure of an RTS, or of a DATA frame without one.
    pub(super) fn fail_short(&mut self, now: Instant, c: Contender, out: &mut Effects) {
        self.queues[c as usize].short_failures += 1;
        let last = self.queues[c as usize].short_failures >= self.rules.short_retry_limit;
        self.fail(now, c, last, out);
    }

    /// One more failure of a DATA frame that an RTS announced.
    fn fail_long(&mut self, now: Instant, c: Contender, out: &mut Effects) {
        self.queues[c as usize].long_failures += 1;
        let last = self.queues[c as usize].long_failures >= self.rules.long_retry_limit;
        self.fail(now, c, last, out);
    }

    /// A longer back-off, or the end of the packet.
    fn fail(&mut self, now: Instant, c: Contender, last: bool, out: &mut Effects) {
        let queue = &mut self.queues[c as usize];
        self.countdowns[c as usize].from = Instant::NEVER;
        self.deadlines[c as usize] = Instant::NEVER;
        if last {
            queue.counters.dropped += 1;
            let outcome = if queue.received { Outcome::Unacknowledged } else { Outcome::Dropped };
            self.release_head(c);
            out.up.push(Up::Done { by: c, outcome });
        } else {
            if let OnFailure::Double { window_max } = queue.access.on_failure {
                queue.window = doubled(queue.window, window_max);
            }
            let repeats = queue.access.on_failure == OnFailure::Repeat;
            let next = if repeats { queue.drawn } else { self.timing.draw(queue) };
            self.countdowns[c as usize].left = Some(next);
        }
        self.fingerprint.add(now, u64::from(c));
    }
}
