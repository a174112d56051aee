//! Countdowns: when they start, freeze, run on and end.

use super::agenda::{Agenda as _, Due};
use super::shape::{ColourSet as _, Shape};
use super::{Countdown, DcfAir, Expecting, IDLE_COUNTDOWN, Plan, Queue};
use crate::air::{BROADCAST, Contender, Head, Up};
use crate::ledger::Doing;
use evenair_laws::backoff::When;
use evenair_units::{Duration, Instant};
use smallvec::{SmallVec, smallvec};

impl<S: Shape> DcfAir<S> {
    /// See [`Air::offer`](crate::Air::offer).
    pub fn offer(&mut self, now: Instant, by: Contender, head: Head) {
        let head = self.queues[by as usize].in_usual_mode(head);
        if !self.is_planned(by, &head) {
            self.plan_anew(by, &head);
        }
        let queue = &mut self.queues[by as usize];
        assert!(queue.head.is_none(), "contender {by} is offered a head while it has one");
        let node = queue.node as usize;
        if let Some(batch) = queue.batch.as_mut().filter(|_| head.to != BROADCAST) {
            batch.push(now, &head, queue.plan.size);
        }
        queue.head = Some(head);
        queue.packet = head.packet;
        self.countdowns[by as usize].has_head = true;
        queue.received = false;
        queue.sent = false;
        queue.short_failures = 0;
        queue.long_failures = 0;
        if self.stations[node].awaiting == Some((by, Expecting::Burst)) {
            return self.book(by, now); // it holds the medium already
        }
        let busy = self.busy(node);
        if self.may_resume(node) {
            // Between a frame and its answer countdowns may stand still.
            let next = self.resume_idle(node, now);
            self.schedule_access(node, next);
        }
        let ready = if busy { Instant::NEVER } else { self.ready(node, &self.countdowns[by as usize]) };
        let (queue, countdown) = (&mut self.queues[by as usize], &mut self.countdowns[by as usize]);
        if countdown.left().is_some_and(|left| !busy && countdown.from + left < now) {
            countdown.end(); // a back-off after the last transmission that ended with nothing to send
        }
        if !countdown.is_under_way {
            // IEEE 802.11-2016 clause 10.3.4.2: at once on an idle medium, with a back-off on a busy one; a
            // reservation makes it busy too.
            let idle = !busy && self.nodes[node].reserved_until <= now;
            let at_once = idle && queue.access.when == When::AfterTransmission;
            let left = if at_once { Duration::ZERO } else { self.timing.draw(queue) };
            countdown.undrawn = at_once && !self.rules.idle_once_is_enough;
            countdown.from = match (busy, self.rules.own_difs && idle) {
                (true, _) => Instant::NEVER,
                (false, true) => now.later(countdown.space),
                (false, false) => ready.max(now),
            };
            countdown.begin(left);
        }
        if busy {
            self.note_standing(node);
        } else {
            let deadline = countdown.from + countdown.left().expect("just drawn");
            self.deadlines[by as usize] = deadline;
            self.note_running(node);
            self.schedule_access(node, deadline);
        }
        self.book(by, now);
    }

    /// Whether the head's frames take as long as those of the last, which was for one receiver too.
    #[inline]
    fn is_planned(&self, by: Contender, head: &Head) -> bool {
        let Queue { node, plan: last, .. } = &self.queues[by as usize];
        let qos = self.is_qos(*node as usize, head.to);
        let size = head.size + self.timing.header(qos);
        let is_alike = (last.size, last.parts, last.qos, last.mode) == (size, 1, qos, head.mode);
        is_alike && head.to != BROADCAST && !last.answer.is_zero()
    }

    /// Plans frames that take longer or shorter than the last. Where data and acknowledgements take turns, those before the last
    /// were as long.
    #[inline(never)]
    fn plan_anew(&mut self, by: Contender, head: &Head) {
        let queue = &mut self.queues[by as usize];
        std::mem::swap(&mut queue.plan, &mut queue.former);
        if queue.modes.is_some() || !self.is_planned(by, head) {
            self.queues[by as usize].plan = self.plan(by, head);
        }
    }

    /// How long the head's frames take.
    pub(super) fn plan(&self, by: Contender, head: &Head) -> Plan {
        let Queue { node, plan: last, .. } = &self.queues[by as usize];
        let timing = &self.timing;
        let mode = head.mode;
        let qos = self.is_qos(*node as usize, head.to);
        let size = head.size + timing.header(qos);
        let data = timing.mpdu(size, mode);
        if head.to == BROADCAST {
            return Plan { size, parts: 1, qos, mode, data, ..Plan::default() };
        }
        // As long as the last, at the same rate.
        let is_alike = (last.mode, last.parts) == (mode, 1) && !last.answer.is_zero();
        let answer = if is_alike { last.answer } else { timing.answer(mode) };
        self.announced(by, Plan { size, parts: 1, qos, mode, data, answer, ..Plan::default() })
    }

    /// The same exchange with the frames that announce it, where its DATA frame is long or rate control asks for them.
    pub(super) fn announced(&self, by: Contender, plan: Plan) -> Plan {
        let (timing, mode) = (&self.timing, plan.mode);
        let is_told = self.queues[by as usize].modes.as_ref().is_some_and(|modes| modes.announces());
        let long = is_told
            || self.rules.rts_threshold.is_some_and(|limit| plan.size > limit)
            || self.rules.rts_duration.is_some_and(|limit| plan.data > limit);
        Plan {
            clearance: if long { timing.clearance(mode) } else { Duration::ZERO },
            request: long.then(|| timing.request(mode)),
            protection: timing.protection(mode).filter(|_| !long),
            ..plan
        }
    }

    /// Whether DATA frames to a node have EDCA's longer header: only where both ends know it.
    #[inline]
    pub(super) fn is_qos(&self, node: usize, to: u32) -> bool {
        if self.is_part_qos {
            to != BROADCAST && self.knows_qos(node) && self.knows_qos(to as usize)
        } else {
            self.timing.is_qos()
        }
    }

    /// Whether a node knows EDCA's header: every one of 802.11n and later, and another that contends by EDCA or never contends.
    fn knows_qos(&self, node: usize) -> bool {
        if self.timing.phy.standard.format().is_some() {
            return self.of_ofdm.binary_search(&(node as u32)).is_err();
        }
        self.contenders(node).all(|c| self.countdowns[c as usize].at_boundary)
    }

    /// Every contender in the neighbourhood with an ended countdown transmits; in a small network, every one.
    #[inline]
    pub(super) fn on_access(&mut self, now: Instant, node: usize, out: &mut Vec<Up>) {
        if S::SMALL {
            return self.let_first_win(now, out);
        }
        if self.next_access[node] != now {
            return; // an earlier wake took its place
        }
        self.next_access[node] = Instant::NEVER;
        // At nearly every other wake none is due: the contenders that it was asked for have been stopped since.
        let next = self.least_deadline(node);
        if next > now {
            self.schedule_access(node, next);
        } else {
            self.let_win(now, node, out);
        }
    }

    /// The contenders of a neighbourhood with countdowns that end now transmit. If those of others end now, too, all do in the order of
    /// numbers.
    #[inline(never)]
    fn let_win(&mut self, now: Instant, node: usize, out: &mut Vec<Up>) {
        let mut nodes: SmallVec<[usize; 4]> = smallvec![node];
        while let Some(other) = self.agenda.take_access_at(now) {
            if self.next_access[other as usize] == now {
                self.next_access[other as usize] = Instant::NEVER;
                nodes.push(other as usize);
            }
        }
        let mut due: SmallVec<[Contender; 8]> = SmallVec::new();
        nodes.iter().for_each(|&node| self.add_due(now, node, &mut due));
        due.sort_unstable();
        for c in due {
            if self.deadlines[c as usize] == now {
                self.win(now, c, out); // which may stop others
            }
        }
        nodes.iter().for_each(|&node| self.schedule_least(node));
    }

    /// Adds the contenders of a neighbourhood with countdowns that end now.
    fn add_due(&self, now: Instant, node: usize, due: &mut SmallVec<[Contender; 8]>) {
        self.each_around(node, |c| {
            if self.deadlines[c as usize] == now {
                due.push(c);
            }
        });
    }

    /// The contenders of a small network with countdowns that end now transmit, in the order of numbers.
    #[inline(never)]
    fn let_first_win(&mut self, now: Instant, out: &mut Vec<Up>) {
        let (mut due, mut next) = (S::Set::NONE, Instant::NEVER);
        for there in self.sets.all(&self.sets.running) {
            let deadline = self.deadline_of(there);
            due.insert_if(deadline == now, there);
            next = next.min(deadline);
        }
        if !due.is_empty() {
            for there in due {
                if self.deadline_of(there) == now {
                    self.win(now, self.nodes[there].first, out); // which may stop others
                }
            }
            let running = self.sets.all(&self.sets.running);
            next = running.fold(Instant::NEVER, |next, there| next.min(self.deadline_of(there)));
        }
        self.schedule_access(0, next);
    }

    /// The deadline of a node's contender in a small network.
    #[inline]
    fn deadline_of(&self, node: usize) -> Instant {
        self.deadlines[self.nodes[node].first as usize]
    }

    /// A contender's countdown has ended: its exchange begins.
    #[inline]
    fn win(&mut self, now: Instant, c: Contender, out: &mut Vec<Up>) {
        let queue = &mut self.queues[c as usize];
        let countdown = &mut self.countdowns[c as usize];
        countdown.end();
        countdown.undrawn = false;
        countdown.from = Instant::NEVER;
        queue.txop_until = now + queue.arbitration.txop_limit;
        self.deadlines[c as usize] = Instant::NEVER;
        let node = queue.node as usize;
        self.turn_to(c, now, Doing::Sending);
        self.settle_internal_ties(now, node, c, out);
        self.note_none_runs(node);
        if self.queues[c as usize].modes.is_some() {
            self.choose_mode(now, c);
        }
        if self.queues[c as usize].batch.is_some() {
            self.compose(now, c);
        }
        self.begin_exchange(now, c);
    }

    /// Other contenders of the node with a countdown that ends at this very instant lose as if they had collided (IEEE
    /// 802.11-2016 clause 10.22.2.4).
    fn settle_internal_ties(&mut self, now: Instant, node: usize, winner: Contender, out: &mut Vec<Up>) {
        for c in self.rivals(node, winner) {
            if self.deadlines[c as usize] == now {
                self.queues[c as usize].counters.internal += 1;
                self.fail_short(now, c, out);
            } else {
                self.freeze(node, c, now);
            }
            if self.ledger.is_some() && self.queues[c as usize].head.is_some() {
                self.turn_to(c, now, Doing::Blocked { by: winner });
            }
        }
    }

    /// The medium becomes busy for a contender, with an exchange of `by`.
    #[inline]
    pub(super) fn interrupt(&mut self, node: usize, c: Contender, at: Instant, by: Contender) {
        self.freeze(node, c, at);
        if self.ledger.is_some() {
            self.book_interruption(c, at, by);
        }
    }

    #[cold]
    #[inline(never)]
    fn book_interruption(&mut self, c: Contender, at: Instant, by: Contender) {
        if self.is_waiting(c) {
            self.turn_to(c, at, Doing::Blocked { by });
        }
    }

    /// Takes the time that passed off a countdown, and draws one for a head that has none.
    #[inline]
    pub(super) fn freeze(&mut self, node: usize, c: Contender, at: Instant) {
        if self.suspend(node, c, at) {
            self.draw_late(c);
        }
    }

    /// Takes the time that passed off a countdown: whole slots, or all of it where back-offs are continuous. Tells whether
    /// none was drawn for its head, which is to be done.
    ///
    /// A slot counts if nothing was known to be on the air by its end: a frame that arrives within the sensing delay
    /// before it is noticed in the next one.
    #[allow(
        clippy::inline_always,
        reason = "a twentieth of a run in a cell: part of what stops at a frame's start"
    )]
    #[inline(always)]
    fn suspend(&mut self, node: usize, c: Contender, at: Instant) -> bool {
        debug_assert_eq!(self.queues[c as usize].node as usize, node);
        let countdown = &mut self.countdowns[c as usize];
        let Some(left) = countdown.left() else { return false };
        let counted = if countdown.slotted {
            let noticed = at.later(self.timing.sensing_delay);
            if noticed < countdown.from {
                Duration::ZERO // no slot has begun
            } else {
                // EDCA counts the slot that has begun (IEEE 802.11-2016 clause 10.22.2.4), DCF the slot that has ended.
                let ended = noticed.since(countdown.from).whole(self.timing.slot);
                self.timing.slot * (ended + u64::from(countdown.at_boundary))
            }
        } else {
            at.since(countdown.from)
        };
        countdown.from = Instant::NEVER;
        self.deadlines[c as usize] = Instant::NEVER;
        if counted >= left && !countdown.has_head {
            countdown.end(); // ended with nothing to send
            return false;
        }
        countdown.begin(left.saturating_sub(counted));
        let undrawn = std::mem::take(&mut countdown.undrawn);
        self.note_standing(node);
        undrawn
    }

    /// The medium does not remain idle for a head that found it so: a back-off after all (clause 10.3.4.2).
    #[cold]
    #[inline(never)]
    fn draw_late(&mut self, c: Contender) {
        self.countdowns[c as usize].begin(self.timing.draw(&mut self.queues[c as usize]));
    }

    /// Lets the countdowns of a node run again if its medium is idle; gives the least of their deadlines.
    #[inline]
    pub(super) fn resume(&mut self, node: usize, now: Instant) -> Instant {
        if self.may_resume(node) { self.resume_idle(node, now) } else { Instant::NEVER }
    }

    /// Whether a node's medium is idle while countdowns of it may stand still. Most of the nodes that a frame asks at its end are busy,
    /// or have none.
    #[inline]
    pub(super) fn may_resume(&self, node: usize) -> bool {
        !self.busy(node) && self.stands(node)
    }

    /// Lets the countdowns of a node with an idle medium run again; gives the least of their deadlines.
    pub(super) fn resume_idle(&mut self, node: usize, now: Instant) -> Instant {
        self.note_none_stands(node);
        let all = self.backing_off(node);
        all.fold(Instant::NEVER, |next, c| next.min(self.go_on(node, c, now)))
    }

    /// Lets a countdown run again, if it stands still; gives its deadline, if something is to be sent then.
    #[inline]
    fn go_on(&mut self, node: usize, c: Contender, now: Instant) -> Instant {
        let countdown = &self.countdowns[c as usize];
        let Some(left) = countdown.left().filter(|_| countdown.from.is_never()) else {
            return Instant::NEVER;
        };
        let ready = self.ready(node, countdown);
        // Where slots are already being counted, join at the next boundary.
        let from = if now <= ready {
            ready
        } else if countdown.slotted {
            let missed = now.since(ready).as_nanos().div_ceil(self.timing.slot.as_nanos());
            ready + self.timing.slot * missed
        } else {
            now
        };
        self.note_running(node);
        let countdown = &mut self.countdowns[c as usize];
        countdown.from = from;
        let (deadline, has_head) = (from.later(left), countdown.has_head);
        self.deadlines[c as usize] = if has_head { deadline } else { IDLE_COUNTDOWN };
        if has_head && self.ledger.is_some() {
            let since = self.nodes[node].idle_since;
            self.turn_to(c, since, Doing::Waiting { countdown_from: from });
        }
        if has_head { deadline } else { Instant::NEVER }
    }

    /// When a countdown may run: the medium has been idle for an inter-frame space and no reservation holds.
    #[inline]
    fn ready(&self, node: usize, countdown: &Countdown) -> Instant {
        let node = &self.nodes[node];
        // Clause 10.22.2.4: EIFS − DIFS + AIFS, which is EIFS for DCF.
        let longer = if node.extended { self.timing.eifs - self.timing.difs } else { Duration::ZERO };
        node.idle_since.later(longer).max(node.reserved_until).later(countdown.space)
    }

    /// A SIFS and a CTS after an RTS without a further exchange: hearers that reserved the medium for it and have heard
    /// nothing since may use it (IEEE 802.11-2016 clause 10.3.2.4).
    pub(super) fn on_unreserve(&mut self, now: Instant, node: usize) {
        let mut next = Instant::NEVER;
        for i in self.ears_of(node, 0) {
            // Another RTS may be void at this instant too: its hearers that do not sense this one are left to its own wake,
            // since they are not of this neighbourhood.
            if self.ears[i].sensed {
                next = next.min(self.unreserve(self.ears[i].node as usize, now));
            }
        }
        if self.is_wide() {
            next = next.min(self.unreserve(node, now)); // it has heard an RTS from afar
        }
        self.schedule_access(node, next);
    }

    /// Drops a node's reservation if this is the instant for it; gives the least of its deadlines.
    fn unreserve(&mut self, node: usize, now: Instant) -> Instant {
        let this = &mut self.nodes[node];
        if !this.unreserves(now, &self.stations[node]) {
            return Instant::NEVER;
        }
        this.keep_reservation();
        this.reserved_until = now;
        for c in self.contenders(node) {
            self.freeze(node, c, now); // its countdown waits for the end of the reservation; let it wait anew
        }
        self.resume(node, now)
    }

    /// A frame's first energy is sensed: countdowns stop, except for those that end before any station can know of it.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn stop_countdowns(&mut self, node: usize, arrival: Instant, by: Contender) {
        // Where none runs is told where it is asked.
        if self.runs(node) {
            self.stop_running(node, arrival, by);
        }
    }

    /// The same of a node with countdowns that run.
    #[inline(never)]
    fn stop_running(&mut self, node: usize, arrival: Instant, by: Contender) {
        self.stop_each(node, arrival, by);
    }

    /// The same, in place.
    #[allow(clippy::inline_always, reason = "a twentieth of a run: part of a frame's start")]
    #[inline(always)]
    pub(super) fn stop_each(&mut self, node: usize, arrival: Instant, by: Contender) {
        let stop = arrival.later(self.timing.sensing_delay);
        self.note_none_runs(node);
        for c in self.backing_off(node) {
            let deadline = self.deadlines[c as usize];
            if deadline <= stop {
                self.note_running(node);
            } else if !deadline.is_never() {
                let undrawn = self.suspend(node, c, arrival);
                if undrawn || self.ledger.is_some() {
                    self.note_stop(c, arrival, by, undrawn);
                }
            }
        }
    }

    /// Rare effects of a countdown's stop: a late draw, and an entry of the ledger.
    #[cold]
    #[inline(never)]
    fn note_stop(&mut self, c: Contender, at: Instant, by: Contender, undrawn: bool) {
        if undrawn {
            self.draw_late(c);
        }
        if self.ledger.is_some() {
            self.book_interruption(c, at, by);
        }
    }

    /// Whether a node senses a carrier or is in an exchange of its own.
    #[inline]
    pub(super) fn busy(&self, node: usize) -> bool {
        debug_assert_eq!(self.is_engaged(node), self.stations[node].is_engaged());
        if S::PLAIN {
            self.is_engaged(node) || self.senses_carrier(node)
        } else {
            self.signals[node].is_busy()
        }
    }

    /// Asks for a wake at the least deadline of a neighbourhood.
    pub(super) fn schedule_least(&mut self, node: usize) {
        self.schedule_access(node, self.least_deadline(node));
    }

    #[inline]
    fn least_deadline(&self, node: usize) -> Instant {
        let mut next = Instant::NEVER;
        self.each_around(node, |c| next = next.min(self.deadlines[c as usize]));
        next
    }

    /// The contenders of a neighbourhood; in sets, those of them with countdowns that may run.
    #[inline]
    pub(super) fn each_around(&self, node: usize, mut each: impl FnMut(Contender)) {
        if S::SMALL || self.in_sets() {
            self.running_around(node).for_each(|there| each(self.nodes[there].first));
        } else {
            self.around(node).iter().for_each(|&c| each(c));
        }
    }

    #[inline]
    pub(super) fn schedule_access(&mut self, node: usize, at: Instant) {
        if at >= IDLE_COUNTDOWN {
            return;
        }
        if S::SMALL {
            self.agenda.add(at, Due::Access(0));
        } else if at < self.next_access[node] {
            self.next_access[node] = at;
            self.agenda.add(at, Due::Access(node as u32));
        }
    }

    pub(super) fn around(&self, node: usize) -> &[Contender] {
        let (start, end) = self.around_range[node];
        &self.around[start as usize..end as usize]
    }
}
