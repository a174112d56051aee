//! Exchanges of a batch: the packets of a frame, and the effects of its end.

use super::super::shape::Shape;
use super::super::{DcfAir, Expecting, Plan, Sending, draw};
use super::{BLOCK_ACK_REQUEST_BYTES, Batch, Fit, State, with_part};
use crate::air::{Contender, Head, Up};
use crate::ledger::Doing;
use crate::phy::Mode;
use evenair_laws::backoff::{Draw, Holding};
use evenair_units::{Bytes, Duration, Instant};

/// A packet of an aggregate, as its receiver meets it.
pub(in crate::mac::dcf) struct Part {
    /// Its place in the frame.
    pub(in crate::mac::dcf) number: u64,
    pub(in crate::mac::dcf) begin: Instant,
    pub(in crate::mac::dcf) end: Instant,
    pub(in crate::mac::dcf) size: Bytes,
}

impl Batch {
    /// A DATA frame of so many packets is sent.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn note_attempt(&mut self, parts: u16) {
        self.counters.mpdus += u64::from(parts);
        self.counters.aggregates += u64::from(parts > 1);
        for mpdu in self.in_frame() {
            let is_repeated = mpdu.state.is(State::SENT);
            mpdu.state.set(if is_repeated { State::REPEATED } else { State::SENT });
        }
    }

    /// Asks of each packet of a frame that ends at `at` whether it is lost, and tells whether all are. Packets are marked for the
    /// addressee only.
    pub(in crate::mac::dcf) fn spoil(
        &mut self,
        sent: &Sending,
        at: Instant,
        is_addressee: bool,
        mut is_lost: impl FnMut(&Part) -> bool,
    ) -> bool {
        let before_end = |bytes: u32| {
            let after = sent.mode.rate().time_for(Bytes::new(sent.size.count() - bytes));
            Instant::from_nanos(at.as_nanos() - after.as_nanos())
        };
        let (mut bytes, mut begin, mut all) = (0u32, before_end(0), true);
        for (number, mpdu) in self.in_frame().enumerate() {
            bytes = with_part(bytes, mpdu.size.into());
            let part = Part {
                number: number as u64,
                begin,
                end: before_end(bytes),
                size: Bytes::new(mpdu.size.into()),
            };
            begin = part.end;
            let is_spoilt = is_lost(&part);
            all &= is_spoilt;
            if is_spoilt && is_addressee {
                mpdu.state.set(State::SPOILT);
            }
        }
        all
    }

    /// The frame under way, of so many packets, is lost.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn lose_frame(&mut self, parts: u16) {
        self.counters.mpdus_lost += u64::from(parts);
    }
}

impl<S: Shape> DcfAir<S> {
    /// See [`Air::stage`](crate::Air::stage).
    pub fn stage(&mut self, now: Instant, by: Contender, head: Head) {
        let queue = &self.queues[by as usize];
        if queue.head.is_none() {
            return self.offer(now, by, head);
        }
        let size = head.size + self.timing.header(self.is_qos(queue.node as usize, head.to));
        let batch = self.queues[by as usize].batch.as_mut().expect("a contender that aggregates");
        batch.push(now, &head, size);
    }

    /// See [`Air::room`](crate::Air::room).
    pub fn room(&self, by: Contender) -> u16 {
        let queue = &self.queues[by as usize];
        match &queue.batch {
            Some(batch) if queue.head.is_none() || batch.is_waiting() => batch.room(),
            Some(_) | None => 0, // a broadcast is alone
        }
    }

    /// Size of the block acknowledgements of a contender's frames.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn block_ack_bytes(&self, c: Contender) -> Bytes {
        let batch = self.queues[c as usize].batch.as_ref();
        batch.expect("a contender that aggregates").limits.block_ack_bytes()
    }

    /// Plans the exchange of a contender that has won the medium: as many packets as fit into its time, one packet
    /// at least.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn compose(&mut self, now: Instant, c: Contender) {
        let queue = &self.queues[c as usize];
        if !queue.batch.as_ref().is_some_and(|batch| batch.is_waiting()) {
            return; // a broadcast
        }
        let limit = queue.arbitration.txop_limit;
        let left = if limit.is_zero() { Duration::MAX } else { limit };
        let plan = self.plan_within(now, c, left);
        self.take_up(c, plan);
    }

    /// Plans the next exchange of a contender that keeps the medium, if one still belongs to its TXOP; tells whether it does.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn compose_more(&mut self, now: Instant, c: Contender) -> bool {
        let left = self.queues[c as usize].txop_until.since(now);
        let plan = self.plan_within(now, c, left);
        let takes = self.takes(&plan);
        let queue = &mut self.queues[c as usize];
        let dithers = matches!(queue.access.holding, Holding::Span(_)) && plan.parts > 0;
        // Several packets that exceed the rest of a span have been drawn already.
        let goes_on =
            takes <= left || plan.parts > 1 || (dithers && draw::goes_on(left, takes, &mut queue.stream));
        if goes_on {
            self.take_up(c, plan);
        }
        goes_on
    }

    /// The exchange that is planned is the next one.
    fn take_up(&mut self, c: Contender, plan: Plan) {
        let queue = &mut self.queues[c as usize];
        let batch = queue.batch.as_mut().expect("a contender that aggregates");
        batch.composed = queue.packet;
        if plan.parts > 0 {
            batch.mark(plan.parts);
        } else {
            batch.counters.requests += 1;
        }
        queue.plan = plan;
    }

    /// The exchange of as many packets as the time that is left has room for, one at least. The last packet of a span is drawn for, as
    /// the last frame is: with the probability of the part of it that fits; then the span is over.
    fn plan_within(&mut self, now: Instant, c: Contender, left: Duration) -> Plan {
        let batch = self.queues[c as usize].batch.as_ref().expect("a contender that aggregates");
        if batch.request_due {
            return self.plan_request(c);
        }
        let packets = self.queues[c as usize].parts_max(batch.limits.packets);
        let whole = self.plan_parts(c, packets, left);
        if whole.parts == 1 || self.takes(&whole) <= left {
            return whole;
        }
        let around = self.takes(&whole) - whole.data;
        let mut fitting = self.plan_parts(c, packets, left.saturating_sub(around));
        let takes = self.takes(&fitting);
        let is_span = matches!(self.queues[c as usize].access.holding, Holding::Span(_));
        if takes > left || !is_span && takes - fitting.data == around {
            return fitting; // announced and answered as the whole frame is, no longer one fits
        }
        // A shorter frame may need no RTS, and has room for more packets then. The whole frame, which does not fit, ends the search.
        let longer = loop {
            let longer = self.plan_parts(c, fitting.parts + 1, Duration::MAX);
            if self.takes(&longer) > left {
                break longer;
            }
            fitting = longer;
        };
        if !is_span {
            return fitting;
        }
        let takes = self.takes(&fitting);
        let more = self.takes(&longer) - takes;
        let queue = &mut self.queues[c as usize];
        queue.txop_until = now;
        if draw::goes_on(left - takes, more, &mut queue.stream) { longer } else { fitting }
    }

    /// How long an exchange takes, up to the end of its answer.
    fn takes(&self, plan: &Plan) -> Duration {
        let (airtime, reserves) = self.extent_by(plan, plan.first());
        airtime + reserves
    }

    /// The exchange of the first packets that wait, so many at most, as the limits of the batch and a DATA frame of this time have
    /// room for; one at least.
    fn plan_parts(&self, c: Contender, parts_max: u16, time: Duration) -> Plan {
        let queue = &self.queues[c as usize];
        let (batch, head) = (queue.batch.as_ref(), queue.head.expect("an exchange without a head"));
        let batch = batch.expect("a contender that aggregates");
        let (mode, time) = (head.mode, time.min(batch.limits.airtime));
        let mut fit = batch.fit(parts_max.min(batch.limits.packets), batch.limits.bytes);
        if fit.parts > 1 && self.timing.phy.airtime(Bytes::new(fit.bytes), mode) > time {
            fit = batch.fit(fit.parts, self.bytes_within(time, mode, fit.bytes));
        }
        if fit.parts == 1 { self.plan(c, &head) } else { self.plan_aggregate(c, &head, fit) }
    }

    fn plan_aggregate(&self, c: Contender, head: &Head, fit: Fit) -> Plan {
        let (timing, mode) = (&self.timing, head.mode);
        let qos = self.is_qos(self.queues[c as usize].node as usize, head.to);
        let (size, answer) = (Bytes::new(fit.bytes), timing.control_frame(self.block_ack_bytes(c), mode));
        let data = timing.phy.airtime(size, mode);
        self.announced(c, Plan { size, parts: fit.parts, qos, mode, data, answer, ..Plan::default() })
    }

    /// The exchange of a block ack request.
    fn plan_request(&self, c: Contender) -> Plan {
        let head = self.queues[c as usize].head.expect("an exchange without a head");
        let (size, mode) = (BLOCK_ACK_REQUEST_BYTES, head.mode);
        let answer = self.timing.control_frame(self.block_ack_bytes(c), mode);
        Plan { size, mode, data: self.timing.control_frame(size, mode), answer, ..Plan::default() }
    }

    /// The largest size below this one of which a frame takes no longer than a time.
    fn bytes_within(&self, time: Duration, mode: Mode, below: u32) -> u32 {
        let (mut fits, mut exceeds) = (0, below);
        while exceeds - fits > 1 {
            let middle = fits.midpoint(exceeds);
            if self.timing.phy.airtime(Bytes::new(middle), mode) <= time {
                fits = middle;
            } else {
                exceeds = middle;
            }
        }
        fits
    }

    /// An acknowledgement of the exchange under way was decoded: packets that were received are done; the window is reset, and a
    /// back-off follows.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn settle(&mut self, c: Contender, at: Instant, out: &mut Vec<Up>) {
        let queue = &mut self.queues[c as usize];
        let head = queue.head;
        let batch = queue.batch.as_mut().expect("a contender that aggregates");
        if let Some(ledger) = &mut self.ledger
            && queue.plan.parts > 1
        {
            let lost = batch.in_frame().filter(|mpdu| mpdu.state.is(State::SPOILT)).count() as u64;
            ledger.succeeded_partly(c, at, (lost, queue.plan.parts.into()));
        }
        queue.counters.dropped += batch.acknowledge(at, queue.plan.parts, out);
        self.release_head(c);
        self.turn_to(c, at, Doing::Nothing);
        self.take_next(c, head);
        self.book(c, at);
    }

    /// An exchange was in vain: packets without tries are given up, and a longer back-off follows. `last` says that the window has
    /// been doubled as often as it may be, and is reset.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn fail_batch(
        &mut self,
        now: Instant,
        c: Contender,
        last: bool,
        out: &mut Vec<Up>,
    ) {
        let queue = &mut self.queues[c as usize];
        let head = queue.head;
        let batch = queue.batch.as_mut().expect("a contender that aggregates");
        queue.counters.dropped += batch.fail(now, out);
        let is_empty = !batch.is_waiting();
        if is_empty {
            self.end_chain(now, c);
        }
        if last || is_empty {
            self.release_head(c);
            return self.take_next(c, head);
        }
        self.take_head(c, head);
        self.back_off_longer(c);
    }

    /// After the end of an exchange: the next packet that waits is the head, and has a back-off.
    fn take_next(&mut self, c: Contender, before: Option<Head>) {
        if !self.take_head(c, before) {
            return;
        }
        self.countdowns[c as usize].has_head = true;
        let node = self.queues[c as usize].node as usize;
        let holds = self.stations[node].awaiting == Some((c, Expecting::Burst));
        if !self.countdowns[c as usize].is_under_way && !holds {
            let left = self.timing.draw(&mut self.queues[c as usize]); // a law that draws before each frame
            self.back_off(c, left);
        }
    }

    /// The first packet that waits is the head; tells whether there is one.
    fn take_head(&mut self, c: Contender, before: Option<Head>) -> bool {
        let queue = &self.queues[c as usize];
        let first = queue.batch.as_ref().and_then(|batch| batch.first());
        let (Some(&first), Some(before)) = (first, before) else { return false };
        let header = self.timing.header(self.is_qos(queue.node as usize, before.to));
        let size = Bytes::new(u32::from(first.size) - header.count());
        let queue = &mut self.queues[c as usize];
        queue.head = Some(queue.in_usual_mode(Head { packet: first.packet, size, ..before }));
        queue.packet = first.packet;
        queue.sent = first.state.is(State::SENT);
        if matches!(queue.access.draw, Draw::ExponentialOfFrame { .. }) {
            // Its factor is of the frame that would be sent now.
            let limit = queue.arbitration.txop_limit;
            let time = if limit.is_zero() { Duration::MAX } else { limit };
            let plan = self.plan_parts(c, u16::MAX, time);
            self.queues[c as usize].plan = plan;
        }
        true
    }

    /// Whether the link's error model spoils all packets of an aggregate, each of which it meets at its own end.
    pub(in crate::mac::dcf) fn spoils_parts(
        &mut self,
        (from, to): (u32, u32),
        sent: &Sending,
        at: Instant,
    ) -> bool {
        let process = self.losses.get_mut(&(from, to)).expect("lossy ears have a model");
        let batch = self.queues[sent.by as usize].batch.as_mut().expect("a contender that aggregates");
        batch.spoil(sent, at, to == sent.to, |part| process.loses(part.end, part.size))
    }
}
