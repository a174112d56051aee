//! Countdowns: when they start, freeze, run on and end.

use super::{Countdown, DcfAir, Expecting, IDLE_COUNTDOWN, Plan, Queue};
use crate::air::{BROADCAST, Contender, Effects, Head, Wake};
use crate::ledger::Doing;
use evenair_laws::backoff::When;
use evenair_units::{Duration, Instant};

impl DcfAir {
    /// See [`Air::offer`](crate::Air::offer).
    pub fn offer(&mut self, now: Instant, by: Contender, head: Head, out: &mut Effects) {
        let plan = self.plan(by, &head);
        let queue = &mut self.queues[by as usize];
        assert!(queue.head.is_none(), "contender {by} is offered a head while it has one");
        let node = queue.node as usize;
        queue.head = Some(head);
        queue.packet = head.packet;
        self.countdowns[by as usize].has_head = true;
        queue.plan = plan;
        queue.received = false;
        queue.sent = false;
        queue.short_failures = 0;
        queue.long_failures = 0;
        if self.stations[node].awaiting == Some((by, Expecting::Burst)) {
            return self.book(by, now); // it holds the medium already
        }
        let busy = self.busy(node);
        if !busy {
            // Between a frame and its answer countdowns may stand still.
            let next = self.resume(node, now);
            self.schedule_access(node, next, out);
        }
        let ready = self.ready(node, &self.countdowns[by as usize]);
        let (queue, countdown) = (&mut self.queues[by as usize], &mut self.countdowns[by as usize]);
        if countdown.left.is_some_and(|left| !busy && countdown.from + left < now) {
            countdown.left = None; // a back-off after the last transmission that ended with nothing to send
        }
        if countdown.left.is_none() {
            // IEEE 802.11-2016 clause 10.3.4.2: at once on an idle medium, with a back-off on a busy one; a
            // reservation makes it busy too.
            let idle = !busy && self.nodes[node].reserved_until <= now;
            let at_once = idle && queue.access.when == When::AfterTransmission;
            countdown.left = Some(if at_once { Duration::ZERO } else { self.timing.draw(queue) });
            countdown.undrawn = at_once && !self.rules.idle_once_is_enough;
            countdown.from = match (busy, self.rules.own_difs && idle) {
                (true, _) => Instant::NEVER,
                (false, true) => now + countdown.space,
                (false, false) => ready.max(now),
            };
        }
        if !busy {
            let deadline = countdown.from + countdown.left.expect("just drawn");
            self.deadlines[by as usize] = deadline;
            self.schedule_access(node, deadline, out);
        }
        self.book(by, now);
    }

    /// How long the head's frames take.
    fn plan(&self, by: Contender, head: &Head) -> Plan {
        let Queue { node, plan: last, .. } = &self.queues[by as usize];
        let timing = &self.timing;
        let rate = head.mode.rate();
        let qos = self.is_qos(*node as usize, head.to);
        let size = head.size + timing.header(qos);
        let data = timing.phy.airtime(size, rate);
        if head.to == BROADCAST {
            return Plan { size, qos, rate, data, ..Plan::default() };
        }
        let long = self.rules.rts_threshold.is_some_and(|limit| size > limit);
        Plan {
            size,
            qos,
            rate,
            data,
            // As long as the last, at the same rate.
            answer: if last.rate == rate && !last.answer.is_zero() {
                last.answer
            } else {
                timing.answer(rate)
            },
            clearance: if long { timing.clearance(rate) } else { Duration::ZERO },
            request: long.then(|| timing.request(rate)),
            protection: timing.protection(rate).filter(|_| !long),
        }
    }

    /// Whether DATA frames to a node have EDCA's longer header: only where both ends know it.
    #[inline]
    fn is_qos(&self, node: usize, to: u32) -> bool {
        if self.is_part_edca {
            to != BROADCAST && self.knows_edca(node) && self.knows_edca(to as usize)
        } else {
            self.timing.is_qos()
        }
    }

    /// Whether a node contends by EDCA; one that never contends is taken to.
    fn knows_edca(&self, node: usize) -> bool {
        self.contenders(node).all(|c| self.countdowns[c as usize].at_boundary)
    }

    /// Every contender in the neighbourhood whose countdown has ended transmits.
    pub(super) fn on_access(&mut self, now: Instant, node: usize, out: &mut Effects) {
        if self.stations[node].next_access != now {
            return; // an earlier wake took its place
        }
        self.stations[node].next_access = Instant::NEVER;
        let (mut due, mut next) = (std::mem::take(&mut self.due), Instant::NEVER);
        for &c in self.around(node) {
            let deadline = self.deadlines[c as usize];
            if deadline == now {
                due.push(c);
            }
            next = next.min(deadline);
        }
        if due.is_empty() {
            // So it is at nearly every other wake: those for whom it was asked have been stopped since.
            self.due = due;
            return self.schedule_access(node, next, out);
        }
        for c in due.drain(..) {
            // Firing may have settled an internal tie against a later one.
            if self.deadlines[c as usize] == now {
                self.win(now, c, out);
            }
        }
        self.due = due;
        self.schedule_least(node, out);
    }

    /// A contender's countdown has ended: its exchange begins.
    fn win(&mut self, now: Instant, c: Contender, out: &mut Effects) {
        let queue = &mut self.queues[c as usize];
        let countdown = &mut self.countdowns[c as usize];
        countdown.left = None;
        countdown.undrawn = false;
        countdown.from = Instant::NEVER;
        queue.txop_until = now + queue.arbitration.txop_limit;
        self.deadlines[c as usize] = Instant::NEVER;
        let node = queue.node as usize;
        self.turn_to(c, now, Doing::Sending);
        self.settle_internal_ties(now, node, c, out);
        self.begin_exchange(now, c, out);
    }

    /// Other contenders of the node whose countdown ends at this very instant lose as if they had collided (IEEE
    /// 802.11-2016 clause 10.22.2.4).
    fn settle_internal_ties(&mut self, now: Instant, node: usize, winner: Contender, out: &mut Effects) {
        for c in self.contenders(node).filter(|&c| c != winner) {
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
    pub(super) fn interrupt(&mut self, node: usize, c: Contender, at: Instant, by: Contender) {
        self.freeze(node, c, at);
        if self.ledger.is_some() && matches!(self.doing(c), Doing::Waiting { .. }) {
            self.turn_to(c, at, Doing::Blocked { by });
        }
    }

    /// Takes the time that passed off a countdown: whole slots, or all of it where back-offs are continuous.
    ///
    /// A slot counts if nothing was known to be on the air by its end: a frame that arrives within the sensing delay
    /// before it is noticed in the next one.
    pub(super) fn freeze(&mut self, node: usize, c: Contender, at: Instant) {
        debug_assert_eq!(self.queues[c as usize].node as usize, node);
        let countdown = &mut self.countdowns[c as usize];
        let Some(left) = countdown.left else { return };
        let counted = if countdown.slotted {
            let noticed = at + self.timing.sensing_delay;
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
        countdown.left = if counted >= left && !countdown.has_head {
            None // ended with nothing to send
        } else if std::mem::take(&mut countdown.undrawn) {
            Some(self.timing.draw(&mut self.queues[c as usize])) // clause 10.3.4.2: idle, and no longer
        } else {
            Some(left.saturating_sub(counted))
        };
        countdown.from = Instant::NEVER;
        self.deadlines[c as usize] = Instant::NEVER;
    }

    /// Lets the countdowns of a node run again if its medium is idle; gives the least of their deadlines.
    #[allow(
        clippy::inline_always,
        reason = "half a hundredth of a run: asked at the end of every frame, of every hearer"
    )]
    #[inline(always)]
    pub(super) fn resume(&mut self, node: usize, now: Instant) -> Instant {
        // More than half of those who are asked are busy: that is answered where it is asked.
        if self.busy(node) { Instant::NEVER } else { self.resume_idle(node, now) }
    }

    /// The same of a node whose medium is idle.
    fn resume_idle(&mut self, node: usize, now: Instant) -> Instant {
        let mut next = Instant::NEVER;
        for c in self.contenders(node) {
            let countdown = &self.countdowns[c as usize];
            let Some(left) = countdown.left.filter(|_| countdown.from.is_never()) else { continue };
            let has_head = countdown.has_head;
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
            self.countdowns[c as usize].from = from;
            if !has_head {
                self.deadlines[c as usize] = IDLE_COUNTDOWN;
                continue;
            }
            self.deadlines[c as usize] = from + left;
            next = next.min(from + left);
            if self.ledger.is_some() {
                let since = self.nodes[node].idle_since;
                self.turn_to(c, since, Doing::Waiting { countdown_from: from });
            }
        }
        next
    }

    /// When a countdown may run: the medium has been idle for an inter-frame space and no reservation holds.
    #[inline]
    fn ready(&self, node: usize, countdown: &Countdown) -> Instant {
        let node = &self.nodes[node];
        // Clause 10.22.2.4: EIFS − DIFS + AIFS, which is EIFS for DCF.
        let longer = if node.extended { self.timing.eifs - self.timing.difs } else { Duration::ZERO };
        (node.idle_since + longer).max(node.reserved_until) + countdown.space
    }

    /// A SIFS and a CTS after an RTS whose exchange did not go on: hearers that reserved the medium for it and have heard
    /// nothing since may use it (IEEE 802.11-2016 clause 10.3.2.4).
    pub(super) fn on_unreserve(&mut self, now: Instant, node: usize, out: &mut Effects) {
        let mut next = Instant::NEVER;
        for i in self.ears_of(node, 0) {
            // Another RTS may be void at this instant too: its hearers that do not sense this one are left to its own wake,
            // since they are not of this neighbourhood.
            if self.ears[i].sensed {
                next = next.min(self.unreserve(self.ears[i].node as usize, now));
            }
        }
        if self.is_wide {
            next = next.min(self.unreserve(node, now)); // it has heard an RTS from afar
        }
        self.schedule_access(node, next, out);
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

    /// A frame's first energy is sensed: countdowns stop, but for those that end before anybody can know of it.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn stop_countdowns(&mut self, node: usize, arrival: Instant, by: Contender) {
        let stop = arrival + self.timing.sensing_delay;
        for c in self.contenders(node) {
            let deadline = self.deadlines[c as usize];
            if deadline > stop && !deadline.is_never() {
                self.interrupt(node, c, arrival, by);
            }
        }
    }

    /// Whether a node senses a carrier or is in an exchange of its own.
    #[inline]
    pub(super) fn busy(&self, node: usize) -> bool {
        let this = &self.nodes[node];
        debug_assert_eq!(this.engaged, self.stations[node].is_engaged());
        this.carriers > 0 || this.engaged
    }

    /// Asks for a wake at the least deadline of a neighbourhood.
    pub(super) fn schedule_least(&mut self, node: usize, out: &mut Effects) {
        let around = self.around(node).iter().map(|&c| self.deadlines[c as usize]);
        let next = around.fold(Instant::NEVER, Instant::min);
        self.schedule_access(node, next, out);
    }

    #[inline]
    pub(super) fn schedule_access(&mut self, node: usize, at: Instant, out: &mut Effects) {
        if at < self.stations[node].next_access && at < IDLE_COUNTDOWN {
            self.stations[node].next_access = at;
            out.wakes.push((at, Wake::Access(node as u32)));
        }
    }

    fn around(&self, node: usize) -> &[Contender] {
        let (start, end) = self.around_range[node];
        &self.around[start as usize..end as usize]
    }
}
