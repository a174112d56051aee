//! The nodes of a small network by the state that they are in, and the receptions of a frame at all of its hearers at once.
//!
//! Overlapping frames are compared pair by pair ([`Capture::First`], [`Capture::Strongest`]). A frame's beginning and end are then a few
//! operations on sets of its hearers: those that no other frame reaches, those that transmit themselves, those that receive it so much
//! stronger than another that it survives. One by one come the hearers with a countdown, and the inter-frame spaces that a
//! frame leaves behind. The rules are those of `reception`.
//!
//! Sums of powers depend on the order in which signals came to a node. Networks that need it keep the signals of each node in a list
//! ([`Node`](super::node::Node)), and use of the sets only those of countdowns and engagements.

use super::exchange::{End, goes_on_after};
use super::node::Heard;
use super::reception::{Reception, prevails};
use super::shape::{NodeSet as _, Shape, Table};
use super::{Capture, DcfAir, Ear, Reply, Sending};
use crate::air::{BROADCAST, Contender, Up};
use crate::timeline::FrameKind;
use evenair_units::{Duration, Instant};

/// The nodes of a small network by their state; empty of any other.
#[derive(Clone, Debug)]
pub(super) struct Sets<S: Shape> {
    /// Receptions are kept here.
    in_use: bool,
    /// Those that send.
    active: S::Set,
    /// Those that send, or are in the middle of an exchange of their own.
    engaged: S::Set,
    /// Those with back-offs that may run, and with some that may stand still.
    pub(super) running: S::Set,
    pub(super) standing: S::Set,
    /// Those with a last back-off of no slots: where nothing is to be sent it ends as soon as it runs and is interrupted.
    empty: S::Set,
    /// Those that may have a reservation by an RTS that can be dropped.
    pub(super) requested: S::Set,
    /// By node.
    pub(super) of: S::Table<Surroundings<S>>,
}

/// The surroundings of a node, and the receptions of its frame.
#[derive(Clone, Debug)]
pub(super) struct Surroundings<S: Shape> {
    /// All that its frames reach.
    pub(super) hearers: S::Set,
    /// Those with a medium that they make busy.
    pub(super) sensing: S::Set,
    /// Those that lock to them.
    noticing: S::Set,
    /// Those that could decode them, and that do where nothing overlaps.
    decodable: S::Set,
    clear: S::Set,
    /// Those that an error model keeps from decoding some.
    lossy: S::Set,
    /// The nodes with frames that reach it, and that make its medium busy.
    heard: S::Set,
    sensed: S::Set,
    /// The receivers that are locked to its frame, and those of them that will decode it, as far as is known.
    locked: S::Set,
    intact: S::Set,
    /// Itself and those that sense it, as far as they contend: the node's neighbourhood.
    neighbours: S::Set,
    /// Those with frames that can overlap its own somewhere: that hear it, that it hears, and that share a hearer with it.
    near: S::Set,
    /// Of each other sender the hearers that receive its own frames so much stronger that they survive.
    prevails: Box<S::Table<S::Set>>,
    /// How long its frames travel to each of them \[ns\].
    delays_ns: S::Table<u32>,
    ears: Box<S::Table<Ear>>,
}

impl<S: Shape> Sets<S> {
    pub(super) fn none(nodes: usize) -> Self {
        let none = Surroundings {
            hearers: S::Set::NONE,
            sensing: S::Set::NONE,
            noticing: S::Set::NONE,
            decodable: S::Set::NONE,
            clear: S::Set::NONE,
            lossy: S::Set::NONE,
            heard: S::Set::NONE,
            sensed: S::Set::NONE,
            locked: S::Set::NONE,
            intact: S::Set::NONE,
            neighbours: S::Set::NONE,
            near: S::Set::NONE,
            prevails: Box::new(Table::new(vec![S::Set::NONE; nodes])),
            delays_ns: Table::new(vec![0; nodes]),
            ears: Box::new(Table::new(vec![Ear::NONE; nodes])),
        };
        Self {
            in_use: false,
            active: S::Set::NONE,
            engaged: S::Set::NONE,
            running: S::Set::NONE,
            standing: S::Set::NONE,
            empty: S::Set::NONE,
            requested: S::Set::NONE,
            of: Table::new(if S::SMALL { vec![none; nodes] } else { Vec::new() }),
        }
    }
}

impl<S: Shape> Surroundings<S> {
    /// These hearers, of a node with a frame on the air or without.
    fn take_hearers(&mut self, ears: &[Ear]) {
        let those =
            |is: fn(&Ear) -> bool| ears.iter().filter(|ear| is(ear)).map(|ear| ear.node as usize).collect();
        self.hearers = those(|_| true);
        self.sensing = those(|ear| ear.sensed);
        self.noticing = those(|ear| ear.noticed);
        self.decodable = those(|ear| ear.decodable);
        self.clear = those(|ear| ear.clear_alone);
        self.lossy = those(|ear| ear.lossy);
        for ear in ears {
            self.ears[ear.node as usize] = *ear;
            self.delays_ns[ear.node as usize] = ear.delay_ns;
        }
    }

    /// When energy that leaves the node at an instant gets to one of its hearers.
    #[inline]
    fn after(&self, at: Instant, hearer: usize) -> Instant {
        Instant::from_nanos(at.as_nanos() + u64::from(self.delays_ns[hearer]))
    }

    #[inline]
    fn ear(&self, node: usize) -> &Ear {
        &self.ears[node]
    }
}

impl<S: Shape> DcfAir<S> {
    /// Whether receptions are kept in sets.
    #[inline]
    pub(super) const fn in_sets(&self) -> bool {
        S::SMALL && self.sets.in_use
    }

    /// Draws up the sets of all nodes from their hearers, before the first frame or after a move.
    pub(super) fn draw_sets(&mut self) {
        if !S::SMALL {
            return;
        }
        let nodes = self.nodes.all().len();
        for node in 0..nodes {
            self.draw_hearers(node);
            let around = &mut self.sets.of[node];
            (around.heard, around.sensed) = (S::Set::NONE, S::Set::NONE);
        }
        let mut is_usual = true;
        for node in 0..nodes {
            let Surroundings { hearers, sensing, noticing, .. } = self.sets.of[node];
            hearers.into_iter().for_each(|there| self.sets.of[there].heard.insert(node));
            sensing.into_iter().for_each(|there| self.sets.of[there].sensed.insert(node));
            is_usual &= (noticing - sensing).is_empty();
            let contenders = self.around(node).iter().map(|&c| self.queues[c as usize].node as usize);
            self.sets.of[node].neighbours = contenders.collect();
        }
        let pairwise = matches!(self.rules.capture, Capture::First | Capture::Strongest);
        if pairwise {
            self.compare_powers();
        }
        // Before the first frame both forms say the same.
        let may_begin = pairwise && self.detection_ratio == 0.0 && self.sets.active.is_empty();
        if self.sets.in_use && !is_usual {
            self.list_signals();
        }
        self.sets.in_use |= may_begin && is_usual && self.fades.is_none();
    }

    /// Draws up the sets of a node's hearers, if the network is small.
    pub(super) fn draw_hearers(&mut self, node: usize) {
        if S::SMALL {
            let hearers = self.ears_of(node, 0);
            self.sets.of[node].take_hearers(&self.ears[hearers]);
        }
    }

    /// Compares any two senders at each node that hears both.
    fn compare_powers(&mut self) {
        let nodes = self.nodes.all().len();
        for node in 0..nodes {
            let around = &mut self.sets.of[node];
            around.near.into_iter().for_each(|other| around.prevails[other] = S::Set::NONE);
            around.near = around.hearers | around.heard;
        }
        let mut signals: Vec<(usize, f32)> = Vec::new();
        for there in 0..nodes {
            let heard = self.sets.of[there].heard;
            signals.clear();
            signals.extend(heard.into_iter().map(|from| (from, self.sets.of[from].ear(there).power_mw)));
            for &(from, power_mw) in &signals {
                let around = &mut self.sets.of[from];
                around.near = around.near | heard;
                for &(other, other_mw) in &signals {
                    if prevails(power_mw, other_mw, self.capture_ratio) {
                        around.prevails[other].insert(there);
                    }
                }
            }
        }
        (0..nodes).for_each(|node| self.sets.of[node].near.remove(node));
    }

    /// From now on the signals of each node are kept in the order in which they came.
    #[cold]
    pub(super) fn list_signals(&mut self) {
        if !self.in_sets() {
            return;
        }
        self.sets.in_use = false;
        let mut senders: Vec<usize> = self.sets.active.into_iter().collect();
        senders.sort_by_key(|&from| self.stations[from].sending.map(|sent| sent.since));
        for from in senders {
            let around = &self.sets.of[from];
            for there in around.hearers {
                let (ear, node) = (around.ear(there), &mut self.nodes[there]);
                let heard = Heard::new(from as u32, ear.power_mw, ear.sensed);
                if node.is_silent() {
                    node.hear_first(heard);
                } else {
                    node.hear_more(heard, &mut self.stations[there]);
                }
                if around.locked.has(there) {
                    let until = ear.after(self.nodes[from].sending_until);
                    self.nodes[there].lock(from as u32, until, around.intact.has(there));
                }
            }
        }
    }

    /// A frame's first energy reaches all hearers of its sender; tells whether the addressee is itself transmitting then.
    #[allow(clippy::inline_always, reason = "part of `start`")]
    #[inline(always)]
    pub(super) fn reach_all(&mut self, now: Instant, node: usize, frame: &Reply) -> bool {
        let Surroundings { hearers, sensing, noticing, clear, heard, near, .. } = self.sets.of[node];
        let (others, first_wins) = (self.sets.active & near, self.rules.capture == Capture::First);
        if others.meets(heard) {
            self.talk_over_all(node, others & heard);
        }
        let (mut reached, mut deaf) = (S::Set::NONE, S::Set::NONE);
        for other in others {
            reached = reached | self.sets.of[other].hearers;
            if hearers.has(other) && self.nodes[other].sending_until > self.sets.of[node].after(now, other) {
                deaf.insert(other);
            }
        }
        for there in sensing & self.sets.running {
            let arrival = self.sets.of[node].after(now, there);
            self.stop_each(there, arrival, frame.by);
        }
        for there in sensing & self.sets.requested {
            self.nodes[there].keep_reservation();
            self.sets.requested.remove(there);
        }
        let alone = hearers - reached;
        // ns-2 drops a signal that is not sensed before its MAC.
        let locked = if first_wins { alone & sensing } else { (alone & noticing) - deaf };
        let around = &mut self.sets.of[node];
        (around.locked, around.intact) = (locked, (locked & clear) - deaf);
        let overlapped = hearers & reached;
        if !overlapped.is_empty() {
            self.overlap_all(node, others, (overlapped, deaf), now + frame.airtime);
        }
        self.sets.active.insert(node);
        frame.to != BROADCAST && deaf.has(frame.to as usize)
    }

    /// A node begins to transmit while frames of `others` reach it: it misses them.
    #[inline(never)]
    fn talk_over_all(&mut self, node: usize, others: S::Set) {
        for other in others {
            let around = &mut self.sets.of[other];
            around.intact.remove(node);
            if self.rules.capture != Capture::First {
                around.locked.remove(node); // see `talk_over`
            }
            let frame = &mut self.stations[other].sending;
            if let Some(frame) = frame.as_mut().filter(|f| f.to as usize == node) {
                frame.receiver_busy = true;
            }
        }
    }

    /// A frame's first energy reaches nodes that other signals reach, of which some transmit themselves.
    #[inline(never)]
    fn overlap_all(
        &mut self,
        from: usize,
        others: S::Set,
        (overlapped, transmitting): (S::Set, S::Set),
        until: Instant,
    ) {
        if self.rules.capture == Capture::First {
            // ns-2 drops a signal that is not sensed before its MAC.
            let overlapped = overlapped & self.sets.of[from].sensing;
            self.overlap_first(from, others, (overlapped, transmitting), until);
        } else {
            self.overlap_strongest(from, others, overlapped - transmitting, until);
        }
    }

    /// The same of those that sense it, under [`Capture::First`]: see [`Overlap::of_first`](super::reception::Overlap::of_first).
    fn overlap_first(
        &mut self,
        from: usize,
        others: S::Set,
        (overlapped, transmitting): (S::Set, S::Set),
        until: Instant,
    ) {
        let mut free = overlapped; // and not locked to any signal
        for other in others {
            let locked = overlapped & self.sets.of[other].locked;
            free = free - locked;
            let spoilt = locked - self.sets.of[other].prevails[from];
            for there in locked - spoilt {
                let reserved_until = self.sets.of[from].after(until, there).later(self.timing.eifs);
                let this = &mut self.nodes[there];
                this.reserved_until = this.reserved_until.max(reserved_until);
            }
            let left = self.end_later(from, until, other, spoilt);
            let around = &mut self.sets.of[other];
            around.intact = around.intact - spoilt;
            around.locked = around.locked - left;
            self.sets.of[from].locked = self.sets.of[from].locked | left;
        }
        let around = &mut self.sets.of[from];
        around.locked = around.locked | free;
        around.intact = around.intact | ((free & around.decodable) - transmitting);
    }

    /// The same of those that do not transmit, under all other rules: see
    /// [`Overlap::of_strongest`](super::reception::Overlap::of_strongest).
    fn overlap_strongest(&mut self, from: usize, others: S::Set, overlapped: S::Set, until: Instant) {
        let around = &self.sets.of[from];
        let (noticed, mut clear) = (overlapped & around.noticing, overlapped & around.decodable);
        for other in others {
            clear = clear - (self.sets.of[other].hearers - around.prevails[other]);
        }
        let mut free = overlapped; // and not locked to any signal
        let mut locked = S::Set::NONE; // to this one, from now on
        for other in others {
            let around = &self.sets.of[other];
            let rivals = overlapped & around.locked;
            free = free - rivals;
            let spoilt = rivals - around.prevails[from];
            // Below 0 dB both could be decoded; the receiver stays with the first.
            let lost = spoilt | (rivals - around.intact);
            let left = (lost & clear) | self.end_later(from, until, other, lost & noticed);
            let around = &mut self.sets.of[other];
            around.intact = around.intact - spoilt;
            around.locked = around.locked - left;
            locked = locked | left;
        }
        locked = locked | (free & noticed);
        let around = &mut self.sets.of[from];
        around.locked = around.locked | locked;
        around.intact = around.intact | (locked & clear);
    }

    /// Of these hearers of two frames those at which the one, which ends at `until`, ends later than the other.
    #[inline]
    fn end_later(&self, from: usize, until: Instant, other: usize, among: S::Set) -> S::Set {
        let other_until = self.nodes[other].sending_until;
        let farthest = self.timing.near();
        if until > other_until.later(farthest) {
            return among;
        }
        if until.later(farthest) <= other_until {
            return S::Set::NONE;
        }
        let ends_later = |there: &usize| {
            self.sets.of[from].after(until, *there) > self.sets.of[other].after(other_until, *there)
        };
        among.into_iter().filter(ends_later).collect()
    }

    /// A frame's last energy has reached all hearers of its sender.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    pub(super) fn end_for_all(
        &mut self,
        now: Instant,
        node: usize,
        sent: &Sending,
        out: &mut Vec<Up>,
    ) -> End {
        let received = self.leave_all(now, node, sent);
        let to = sent.to as usize;
        if self.timeline.is_some() {
            let addressee = (sent.to != BROADCAST && received.has(to)).then_some(to);
            let others = received.into_iter().filter(|&there| there != to);
            let all = addressee.into_iter().chain(others);
            all.for_each(|there| self.overhear(there, node, Reception::Decoded, sent));
        }
        let mut decoded = sent.to != BROADCAST && received.has(to);
        let ended = if decoded { self.sets.of[node].after(now, to) } else { now };
        let answered = decoded && self.accept(to, node, sent, ended, out);
        if sent.to == BROADCAST {
            let packet = self.queues[sent.by as usize].packet;
            let heard = |there| Up::Received { from: sent.by, at: there as u32, packet };
            out.extend(received.into_iter().map(heard));
            decoded = !received.is_empty();
        }
        let goes_on = goes_on_after(answered, sent);
        let mut next = Instant::NEVER;
        let hearers = self.sets.of[node].hearers;
        // Before an answer none but these can show that it ran.
        let among = if goes_on && self.ledger.is_none() { hearers & self.sets.empty } else { hearers };
        for there in self.idle_standing(node, among) {
            if !goes_on || self.is_watched(there) {
                let ended = self.sets.of[node].after(now, there);
                next = next.min(self.resume_idle(there, ended));
            }
        }
        End { decoded, answered, goes_on, next }
    }

    /// Applies the effects of a frame's end to its hearers; returns those that have decoded it.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    fn leave_all(&mut self, now: Instant, node: usize, sent: &Sending) -> S::Set {
        self.sets.active.remove(node);
        let around = &mut self.sets.of[node];
        let Surroundings { sensing, lossy, locked, intact, .. } = *around;
        (around.locked, around.intact) = (S::Set::NONE, S::Set::NONE);
        let mut received = locked;
        for other in locked & self.sets.active {
            if self.nodes[other].sending_until > self.sets.of[node].after(now, other) {
                received.remove(other);
            }
        }
        let mut decoded = received & intact;
        for there in decoded & lossy {
            let ear = *self.sets.of[node].ear(there);
            if self.spoils(node, there, &ear, sent, ear.after(now)) {
                decoded.remove(there);
            }
        }
        if sent.kind == FrameKind::Rts {
            self.reserve_for_requests(now, node, decoded, sent);
        }
        self.leave_behind_all(now, node, (sensing, decoded, received - decoded), sent);
        if self.ledger.is_some() {
            self.pass_blame_by_all(now, node, sent.by);
        }
        decoded
    }

    /// An exchange of `gone` is sensed no more: see [`pass_blame`](Self::pass_blame).
    #[inline(never)]
    fn pass_blame_by_all(&mut self, now: Instant, node: usize, gone: Contender) {
        for there in self.sets.of[node].sensing & self.sets.standing & self.sensing_near(node) {
            self.pass_blame(there, gone, self.sets.of[node].after(now, there));
        }
    }

    /// The inter-frame spaces and reservations that a frame leaves behind at those that sense it, of which some have decoded it and
    /// some have not, though their receivers were locked to it. See [`leave_behind`](Self::leave_behind). No processor could foretell
    /// the kind of each, so that each kind has a loop of its own.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    fn leave_behind_all(
        &mut self,
        now: Instant,
        node: usize,
        (sensing, decoded, missed): (S::Set, S::Set, S::Set),
        sent: &Sending,
    ) {
        let reserved = decoded - S::Set::of(sent.to);
        let around = &self.sets.of[node];
        for there in sensing - reserved - missed {
            let this = &mut self.nodes[there];
            this.idle_since = this.idle_since.max(around.after(now, there));
        }
        for there in reserved {
            let (this, ended) = (&mut self.nodes[there], around.after(now, there));
            this.idle_since = this.idle_since.max(ended);
            this.reserved_until = this.reserved_until.max(ended.later(sent.reserves));
        }
        if self.rules.eifs_reserves {
            for there in missed {
                let (this, ended) = (&mut self.nodes[there], around.after(now, there));
                this.idle_since = this.idle_since.max(ended);
                this.reserved_until = this.reserved_until.max(ended.later(self.timing.eifs));
            }
            return;
        }
        for there in missed {
            let (this, ended) = (&mut self.nodes[there], around.after(now, there));
            this.idle_since = this.idle_since.max(ended);
            this.extended = true;
        }
        decoded.into_iter().for_each(|there| self.nodes[there].extended = false);
    }

    /// Those that decode an RTS, and had no longer reservation, have one that may be void.
    #[cold]
    #[inline(never)]
    fn reserve_for_requests(&mut self, now: Instant, node: usize, decoded: S::Set, sent: &Sending) {
        for there in decoded - S::Set::of(sent.to) {
            let until = self.sets.of[node].after(now, there).later(sent.reserves);
            if until > self.nodes[there].reserved_until {
                self.reserve_for_request(there, sent.by);
            }
        }
    }

    /// The nodes of a neighbourhood with countdowns that may run.
    #[inline]
    pub(super) fn running_around(&self, node: usize) -> S::Set {
        self.sets.of[node].neighbours & self.sets.running
    }

    /// Of these hearers of a node those with an idle medium while countdowns of them may stand still.
    fn idle_standing(&self, node: usize, among: S::Set) -> S::Set {
        let standing = (among & self.sets.standing) - self.sets.engaged;
        if standing.is_empty() {
            return standing;
        }
        standing - self.sensing_near(node)
    }

    /// Those that sense a frame of a sender near a node.
    #[inline]
    fn sensing_near(&self, node: usize) -> S::Set {
        let senders = (self.sets.active & self.sets.of[node].near).into_iter();
        senders.fold(S::Set::NONE, |all, sender| all | self.sets.of[sender].sensing)
    }
}

/// The states of single nodes.
impl<S: Shape> DcfAir<S> {
    /// The senders that a node senses.
    #[inline]
    pub(super) fn senders_sensed(&self, node: usize) -> S::Set {
        self.sets.active & self.sets.of[node].sensed
    }

    /// Whether a node senses a carrier.
    #[inline]
    pub(super) fn senses_carrier(&self, node: usize) -> bool {
        if self.in_sets() { !self.senders_sensed(node).is_empty() } else { self.nodes[node].carriers() > 0 }
    }

    /// Whether a node sends, or is in the middle of an exchange of its own.
    #[inline]
    pub(super) fn is_engaged(&self, node: usize) -> bool {
        if S::SMALL { self.sets.engaged.has(node) } else { self.nodes[node].is_engaged() }
    }

    #[inline]
    pub(super) fn engage(&mut self, node: usize, engaged: bool) {
        if S::SMALL {
            self.sets.engaged.put(node, engaged);
        } else {
            self.nodes[node].engage(engaged);
        }
    }

    /// Whether back-offs of a node may run.
    #[inline]
    pub(super) fn runs(&self, node: usize) -> bool {
        if S::SMALL { self.sets.running.has(node) } else { self.nodes[node].back_offs.run() }
    }

    /// Whether back-offs of a node may stand still.
    #[inline]
    pub(super) fn stands(&self, node: usize) -> bool {
        if S::SMALL { self.sets.standing.has(node) } else { self.nodes[node].back_offs.stand() }
    }

    /// A back-off of a node runs.
    #[inline]
    pub(super) fn note_running(&mut self, node: usize) {
        if S::SMALL { self.sets.running.insert(node) } else { self.nodes[node].back_offs.add_running() }
    }

    /// A back-off of a node stands still.
    #[inline]
    pub(super) fn note_standing(&mut self, node: usize) {
        if S::SMALL { self.sets.standing.insert(node) } else { self.nodes[node].back_offs.add_standing() }
    }

    /// A back-off of a node is this long.
    #[inline]
    pub(super) fn note_length(&mut self, node: usize, length: Duration) {
        if S::SMALL {
            self.sets.empty.put(node, length.is_zero());
        }
    }

    /// No back-off of a node runs.
    #[inline]
    pub(super) fn note_none_runs(&mut self, node: usize) {
        if S::SMALL { self.sets.running.remove(node) } else { self.nodes[node].back_offs.stop() }
    }

    /// No back-off of a node stands still.
    #[inline]
    pub(super) fn note_none_stands(&mut self, node: usize) {
        if S::SMALL { self.sets.standing.remove(node) } else { self.nodes[node].back_offs.go_on() }
    }
}
