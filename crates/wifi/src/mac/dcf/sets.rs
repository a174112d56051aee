//! The nodes of a plain network by the state that they are in, and the receptions of a frame at all of its hearers at once.
//!
//! Overlapping frames are compared pair by pair ([`Capture::First`], [`Capture::Strongest`]). A frame's beginning and end are then a few
//! operations on sets of its hearers: those that no other frame reaches, those that transmit themselves, those that receive it so much
//! stronger than another that it survives. One by one come the hearers with a countdown, and the inter-frame spaces that a
//! frame leaves behind. The rules are those of `reception`; `relations` tells which nodes hear which.
//!
//! Sums of powers depend on the order in which signals came to a node. Networks that need it keep the signals of each node in a list
//! ([`Signals`](super::signals::Signals)), and use of the sets only those of countdowns and engagements.

use super::exchange::{End, goes_on_after};
use super::reception::Reception;
use super::relations::{Network, Other, Others as _, Relations, Row as _};
use super::shape::{ColourSet, NodeSet as _, Shape, Table};
use super::signals::Heard;
use super::{Capture, DcfAir, Ear, Reply, Sending};
use crate::air::{BROADCAST, Contender, Up};
use crate::timeline::FrameKind;
use evenair_des::ahead::fetch;
use evenair_units::{Duration, Instant};
use smallvec::SmallVec;

type OthersOf<S> = <<S as Shape>::Relations as Relations<S>>::Others;

/// The nodes of a plain network by their state; empty of any other.
#[derive(Clone, Debug)]
pub(super) struct Sets<S: Shape> {
    /// They are drawn up, if the network is not small; there nodes move without them.
    are_drawn: bool,
    /// Receptions are kept here.
    in_use: bool,
    /// Those that send.
    active: S::Nodes,
    /// Those that send, or are in the middle of an exchange of their own.
    engaged: S::Nodes,
    /// Those with back-offs that may run, and with some that may stand still.
    pub(super) running: S::Nodes,
    standing: S::Nodes,
    /// Those with a last back-off of no slots: where nothing is to be sent it ends as soon as it runs and is interrupted.
    empty: S::Nodes,
    /// Those that may have a reservation by an RTS that can be dropped, and whether there ever was one.
    pub(super) requested: S::Nodes,
    requests: bool,
    /// By node.
    pub(super) of: S::Table<Reach<S>>,
    relations: S::Relations,
}

/// The hearers of a node, and the receptions of its frame.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Reach<S: Shape> {
    /// All that its frames reach.
    hearers: S::Set,
    /// Those with a medium that they make busy.
    pub(super) sensing: S::Set,
    /// Those that lock to them.
    noticing: S::Set,
    /// Those that could decode them, and that do where nothing overlaps.
    decodable: S::Set,
    clear: S::Set,
    /// Those that an error model keeps from decoding some.
    lossy: S::Set,
    /// The receivers that are locked to its frame, and those of them that will decode it, as far as is known.
    locked: S::Set,
    intact: S::Set,
}

impl<S: Shape> Sets<S> {
    pub(super) fn none(nodes: usize) -> Self {
        let nodes = if S::PLAIN { nodes } else { 0 };
        let none = || S::Nodes::of_none(nodes);
        Self {
            are_drawn: false,
            in_use: false,
            active: none(),
            engaged: none(),
            running: none(),
            standing: none(),
            empty: none(),
            requested: none(),
            requests: false,
            of: Table::new(vec![Reach::NONE; nodes]),
            relations: S::Relations::none(nodes),
        }
    }
}

impl<S: Shape> Sets<S> {
    /// The nodes of a set.
    #[inline]
    pub(super) fn all(&self, those: &S::Nodes) -> impl Iterator<Item = usize> {
        self.relations.nodes(those)
    }
}

/// State fetched into the cache: see `ahead`.
impl<S: Shape> Sets<S> {
    #[inline]
    pub(super) fn fetch_neighbourhood(&self, node: usize) {
        self.relations.fetch_neighbourhood(node);
    }

    #[inline]
    pub(super) fn fetch_node(&self, node: usize) {
        fetch(&self.of[node]);
        self.relations.fetch_node(node);
    }

    #[inline]
    pub(super) fn fetch_near(&self, node: usize) {
        self.relations.fetch_near(node);
    }

    #[inline]
    pub(super) fn fetch_pairs(&self, node: usize) {
        self.relations.fetch_pairs(node, &self.active);
    }
}

impl<S: Shape> Reach<S> {
    const NONE: Self = Self {
        hearers: S::Set::NONE,
        sensing: S::Set::NONE,
        noticing: S::Set::NONE,
        decodable: S::Set::NONE,
        clear: S::Set::NONE,
        lossy: S::Set::NONE,
        locked: S::Set::NONE,
        intact: S::Set::NONE,
    };

    /// These hearers, of a node with a frame on the air or without.
    fn take_hearers(&mut self, ears: &[Ear], relations: &S::Relations) {
        let those = |is: fn(&Ear) -> bool| {
            ears.iter().filter(|ear| is(ear)).map(|ear| relations.colour(ear.node as usize)).collect()
        };
        self.hearers = those(|_| true);
        self.sensing = those(|ear| ear.sensed);
        self.noticing = those(|ear| ear.noticed);
        self.decodable = those(|ear| ear.decodable);
        self.clear = those(|ear| ear.clear_alone);
        self.lossy = those(|ear| ear.lossy);
    }
}

impl<S: Shape> DcfAir<S> {
    /// Whether receptions are kept in sets.
    #[inline]
    pub(super) const fn in_sets(&self) -> bool {
        S::PLAIN && self.sets.in_use
    }

    /// Draws up the sets of all nodes from their hearers, before the first frame or after a move.
    pub(super) fn draw_sets(&mut self) {
        if !S::PLAIN {
            return;
        }
        if !S::SMALL && std::mem::replace(&mut self.sets.are_drawn, true) {
            return self.list_signals(); // to draw them up at each move would take longer than they save
        }
        let nodes = self.nodes.all().len();
        let capture_ratio = match self.rules.capture {
            Capture::First | Capture::Strongest => Some(self.capture_ratio),
            _ => None,
        };
        // Before the first frame both forms say the same.
        let may_begin = self.rules.compares_pairs() && self.sets.all(&self.sets.active).next().is_none();
        let rows = self.ear_range.all()[..nodes].iter();
        let network = Network {
            hearers: rows.map(|&(start, end)| &self.ears[start as usize..end as usize]).collect(),
            contends: self.nodes.all().iter().map(|node| node.count > 0).collect(),
            capture_ratio,
        };
        if !self.sets.relations.draw(&network) {
            return; // there are too few colours
        }
        (0..nodes).for_each(|node| self.take_hearers(node));
        let is_usual = self.sets.of.all().iter().all(|reach| (reach.noticing - reach.sensing).is_empty());
        if self.sets.in_use && !is_usual {
            self.list_signals();
        }
        self.sets.in_use |= may_begin && is_usual && self.fades.is_none();
    }

    /// Draws up the sets of a node's hearers, where there are any.
    pub(super) fn draw_hearers(&mut self, node: usize) {
        if S::SMALL || self.in_sets() {
            self.take_hearers(node);
        }
    }

    fn take_hearers(&mut self, node: usize) {
        let ears = &self.ears[self.ears_of(node, 0)];
        self.sets.of[node].take_hearers(ears, &self.sets.relations);
    }

    /// From now on the signals of each node are kept in the order in which they came.
    #[cold]
    pub(super) fn list_signals(&mut self) {
        if !self.in_sets() {
            return;
        }
        self.sets.in_use = false;
        let mut senders: Vec<usize> = self.sets.all(&self.sets.active).collect();
        senders.sort_by_key(|&from| self.stations[from].sending.map(|sent| sent.since));
        for from in senders {
            let Reach { locked, intact, .. } = self.sets.of[from];
            for ear in &self.ears[self.ears_of(from, 0)] {
                let (there, colour) = (ear.node as usize, self.sets.relations.colour(ear.node as usize));
                let signals = &mut self.signals[there];
                let heard = Heard::new(from as u32, ear.power_mw, ear.sensed);
                if signals.is_silent() {
                    signals.hear_first(heard);
                } else {
                    signals.hear_more(heard, &mut self.stations[there]);
                }
                if locked.has(colour) {
                    let until = ear.after(self.nodes[from].sending_until);
                    self.signals[there].lock(from as u32, until, intact.has(colour));
                }
            }
        }
    }

    /// The hearer of a node that has this colour.
    #[inline]
    fn hearer(&self, node: usize, colour: usize) -> usize {
        self.sets.relations.row(node).hearer(colour)
    }

    /// When energy that leaves a node at an instant gets to its hearer of this colour.
    #[inline]
    fn after(&self, node: usize, at: Instant, colour: usize) -> Instant {
        self.sets.relations.row(node).after(at, colour)
    }

    /// Records the receivers of a frame, its addressee first.
    #[cold]
    #[inline(never)]
    fn overhear_all(&mut self, node: usize, (received, addressee): (S::Set, S::Set), sent: Sending) {
        for some in [received & addressee, received - addressee] {
            for there in self.in_order(node, some) {
                self.overhear(there, node, Reception::Decoded, &sent);
            }
        }
    }

    /// A contender's broadcast was decoded by these hearers of its node.
    #[inline(never)]
    fn hear_broadcast(&self, node: usize, received: S::Set, from: Contender, out: &mut Vec<Up>) {
        let packet = self.queues[from as usize].packet;
        let heard = |there| Up::Received { from, at: there as u32, packet };
        out.extend(self.in_order(node, received).into_iter().map(heard));
    }

    /// Hearers of a node in ascending order.
    fn in_order(&self, node: usize, hearers: S::Set) -> SmallVec<[usize; 16]> {
        let mut all: SmallVec<_> = hearers.into_iter().map(|colour| self.hearer(node, colour)).collect();
        all.sort_unstable();
        all
    }

    /// A frame's first energy reaches all hearers of its sender; tells whether the addressee is itself transmitting then.
    #[allow(clippy::inline_always, reason = "part of `start`")]
    #[inline(always)]
    pub(super) fn reach_all(&mut self, now: Instant, node: usize, frame: &Reply) -> bool {
        let Reach { hearers, sensing, noticing, clear, .. } = self.sets.of[node];
        let relations = &self.sets.relations;
        let others = relations.others(node, &self.sets.active);
        let (mut reached, mut deaf, mut hears) = (S::Set::NONE, S::Set::NONE, false);
        for other in others.each() {
            hears |= relations.is_heard(node, other);
            reached = reached | relations.shared(node, other);
            let colour = relations.colour(other.node());
            if relations.hears(node, other)
                && self.nodes[other.node()].sending_until > self.after(node, now, colour)
            {
                deaf.insert(colour);
            }
        }
        if hears {
            self.talk_over_all(node, &others);
        }
        for colour in sensing & self.sets.relations.among(node, &self.sets.running) {
            self.stop_each(self.hearer(node, colour), self.after(node, now, colour), frame.by);
        }
        if S::SMALL || self.sets.requests {
            self.keep_reservations(node, sensing);
        }
        self.sets.relations.begin(node, sensing);
        let alone = hearers - reached;
        let first_wins = self.rules.capture == Capture::First;
        // ns-2 drops a signal that is not sensed before its MAC.
        let locked = if first_wins { alone & sensing } else { (alone & noticing) - deaf };
        let reach = &mut self.sets.of[node];
        (reach.locked, reach.intact) = (locked, (locked & clear) - deaf);
        let overlapped = hearers & reached;
        if !overlapped.is_empty() {
            self.overlap_all(node, &others, (overlapped, deaf), now + frame.airtime);
        }
        let place = self.place(node);
        self.sets.active.insert(place);
        frame.to != BROADCAST && deaf.meets(self.sets.relations.alone(node, frame.to))
    }

    /// Of these hearers of a node those with a reservation by an RTS that could be dropped keep it.
    #[allow(clippy::inline_always, reason = "part of `start`")]
    #[inline(always)]
    fn keep_reservations(&mut self, node: usize, sensing: S::Set) {
        for colour in sensing & self.sets.relations.among(node, &self.sets.requested) {
            let there = self.hearer(node, colour);
            self.nodes[there].keep_reservation();
            let place = self.place(there);
            self.sets.requested.remove(place);
        }
    }

    /// A node begins to transmit while frames of some of `others` reach it: it misses them.
    #[inline(never)]
    fn talk_over_all(&mut self, node: usize, others: &OthersOf<S>) {
        let colour = self.sets.relations.colour(node);
        for other in others.each() {
            if !self.sets.relations.is_heard(node, other) {
                continue;
            }
            let reach = &mut self.sets.of[other.node()];
            reach.intact.remove(colour);
            if self.rules.capture != Capture::First {
                reach.locked.remove(colour); // see `talk_over`
            }
            let frame = &mut self.stations[other.node()].sending;
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
        others: &OthersOf<S>,
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
        others: &OthersOf<S>,
        (overlapped, transmitting): (S::Set, S::Set),
        until: Instant,
    ) {
        let mut free = overlapped; // and not locked to any signal
        for other in others.each() {
            let relations = &self.sets.relations;
            let locked = overlapped & relations.shared_of(from, other, self.sets.of[other.node()].locked);
            free = free - locked;
            let spoilt = locked - relations.yields(from, other);
            for colour in locked - spoilt {
                let reserved_until = self.after(from, until, colour).later(self.timing.eifs);
                let this = &mut self.nodes[self.sets.relations.row(from).hearer(colour)];
                this.reserved_until = this.reserved_until.max(reserved_until);
            }
            let left = self.end_later(from, until, other.node(), spoilt);
            let reach = &mut self.sets.of[other.node()];
            reach.intact = reach.intact - spoilt;
            reach.locked = reach.locked - left;
            self.sets.of[from].locked = self.sets.of[from].locked | left;
        }
        let reach = &mut self.sets.of[from];
        reach.locked = reach.locked | free;
        reach.intact = reach.intact | ((free & reach.decodable) - transmitting);
    }

    /// The same of those that do not transmit, under all other rules: see
    /// [`Overlap::of_strongest`](super::reception::Overlap::of_strongest).
    fn overlap_strongest(&mut self, from: usize, others: &OthersOf<S>, overlapped: S::Set, until: Instant) {
        let (reach, relations) = (&self.sets.of[from], &self.sets.relations);
        let (noticed, mut clear) = (overlapped & reach.noticing, overlapped & reach.decodable);
        for other in others.each() {
            clear = clear - (relations.shared(from, other) - relations.prevails(from, other));
        }
        let mut free = overlapped; // and not locked to any signal
        let mut locked = S::Set::NONE; // to this one, from now on
        for other in others.each() {
            let (reach, relations) = (&self.sets.of[other.node()], &self.sets.relations);
            let rivals = overlapped & relations.shared_of(from, other, reach.locked);
            free = free - rivals;
            let spoilt = rivals - relations.yields(from, other);
            // Below 0 dB both could be decoded; the receiver stays with the first.
            let lost = spoilt | (rivals - reach.intact);
            let left = (lost & clear) | self.end_later(from, until, other.node(), lost & noticed);
            let reach = &mut self.sets.of[other.node()];
            reach.intact = reach.intact - spoilt;
            reach.locked = reach.locked - left;
            locked = locked | left;
        }
        locked = locked | (free & noticed);
        let reach = &mut self.sets.of[from];
        reach.locked = reach.locked | locked;
        reach.intact = reach.intact | (locked & clear);
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
        let ends_later =
            |&colour: &usize| self.after(from, until, colour) > self.after(other, other_until, colour);
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
        let addressee = self.sets.relations.alone(node, sent.to); // none of a broadcast
        let received = self.leave_all(now, node, sent, addressee);
        let to = sent.to as usize;
        let mut decoded = received.meets(addressee);
        if self.timeline.is_some() {
            self.overhear_all(node, (received, addressee), *sent);
        }
        let colour = if decoded { self.sets.relations.colour(to) } else { 0 };
        let ended = if decoded { self.after(node, now, colour) } else { now };
        let answered = decoded && self.accept(to, node, sent, ended, out);
        if sent.to == BROADCAST {
            self.hear_broadcast(node, received, sent.by, out);
            decoded = !received.is_empty();
        }
        let goes_on = goes_on_after(answered, sent);
        // Before an answer none but these can show that it ran.
        let (hearers, relations) = (self.sets.of[node].hearers, &self.sets.relations);
        let is_brief = goes_on && self.ledger.is_none();
        let among = if is_brief { hearers & relations.among(node, &self.sets.empty) } else { hearers };
        let mut next = Instant::NEVER;
        for colour in self.idle_standing(node, among) {
            if !goes_on || self.is_watched(self.hearer(node, colour)) {
                next = next.min(self.resume_of(node, colour, self.after(node, now, colour)));
            }
        }
        End { decoded, answered, goes_on, next }
    }

    /// Lets the countdowns of a node's hearer, which has an idle medium, run again; see [`resume_hearer`](Self::resume_hearer).
    #[inline]
    fn resume_of(&mut self, node: usize, colour: usize, now: Instant) -> Instant {
        let there = self.hearer(node, colour);
        let next = self.resume_idle(there, now);
        if S::SMALL || self.sets.of[node].sensing.has(colour) {
            return next;
        }
        self.schedule_access(there, next);
        Instant::NEVER
    }

    /// The hearers of a frame that a node ended a SIFS ago go on, but for those that hear the answer, which is on the air.
    #[inline]
    pub(super) fn resume_others(&mut self, now: Instant, node: usize, answerer: usize) {
        // In a small network they are told by the numbers of nodes; in others each is asked.
        let busy = if S::SMALL { self.sets.of[answerer].sensing } else { S::Set::NONE };
        let mut next = Instant::NEVER;
        for colour in self.idle_standing(node, self.sets.of[node].hearers - busy) {
            next = next.min(self.resume_of(node, colour, now));
        }
        if !S::SMALL && self.ledger.is_some() {
            self.schedule_least(node); // some have run since the frame's end
        } else {
            self.schedule_access(node, next);
        }
    }

    /// Applies the effects of a frame's end to its hearers; returns those that have decoded it.
    #[allow(clippy::inline_always, reason = "part of `end_frame`")]
    #[inline(always)]
    fn leave_all(&mut self, now: Instant, node: usize, sent: &Sending, addressee: S::Set) -> S::Set {
        let place = self.place(node);
        self.sets.active.remove(place);
        let reach = &mut self.sets.of[node];
        let Reach { sensing, lossy, locked, intact, .. } = *reach;
        (reach.locked, reach.intact) = (S::Set::NONE, S::Set::NONE);
        self.sets.relations.end(node, sensing);
        let mut received = locked;
        for colour in locked & self.sets.relations.among(node, &self.sets.active) {
            if self.nodes[self.hearer(node, colour)].sending_until > self.after(node, now, colour) {
                received.remove(colour);
            }
        }
        let mut decoded = received & intact;
        for colour in decoded & lossy {
            if self.spoils_at(now, node, self.hearer(node, colour), *sent) {
                decoded.remove(colour);
            }
        }
        if sent.kind == FrameKind::Rts {
            self.reserve_for_requests(now, node, decoded - addressee, *sent);
        }
        self.leave_behind_all(now, node, (sensing, decoded, received - decoded), (sent, addressee));
        if self.ledger.is_some() {
            self.pass_blame_by_all(now, node, sent.by);
        }
        decoded
    }

    /// Whether the link's error model spoils a frame that has ended.
    #[inline(never)]
    fn spoils_at(&mut self, now: Instant, node: usize, there: usize, sent: Sending) -> bool {
        let ears = &self.ears[self.ears_of(node, 0)];
        let place = ears.binary_search_by_key(&(there as u32), |ear| ear.node).expect("it hears the sender");
        let ear = ears[place];
        self.spoils(node, there, &ear, &sent, ear.after(now))
    }

    /// An exchange of `gone` is sensed no more: see [`pass_blame`](Self::pass_blame).
    #[inline(never)]
    fn pass_blame_by_all(&mut self, now: Instant, node: usize, gone: Contender) {
        let standing = self.sets.relations.among(node, &self.sets.standing);
        for colour in self.busy_among(node, self.sets.of[node].sensing & standing) {
            self.pass_blame(self.hearer(node, colour), gone, self.after(node, now, colour));
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
        (sent, addressee): (&Sending, S::Set),
    ) {
        let (reserved, row) = (decoded - addressee, self.sets.relations.row(node));
        for colour in sensing - reserved - missed {
            let ended = row.after(now, colour);
            let this = &mut self.nodes[row.hearer(colour)];
            this.idle_since = this.idle_since.max(ended);
        }
        for colour in reserved {
            let ended = row.after(now, colour);
            let this = &mut self.nodes[row.hearer(colour)];
            this.idle_since = this.idle_since.max(ended);
            this.reserved_until = this.reserved_until.max(ended.later(sent.reserves));
        }
        if self.rules.eifs_reserves {
            for colour in missed {
                let ended = row.after(now, colour);
                let this = &mut self.nodes[row.hearer(colour)];
                this.idle_since = this.idle_since.max(ended);
                this.reserved_until = this.reserved_until.max(ended.later(self.timing.eifs));
            }
            return;
        }
        for colour in missed {
            let ended = row.after(now, colour);
            let this = &mut self.nodes[row.hearer(colour)];
            this.idle_since = this.idle_since.max(ended);
            this.extended = true;
        }
        for colour in decoded {
            self.nodes[row.hearer(colour)].extended = false;
        }
    }

    /// Those that decode an RTS, and had no longer reservation, have one that may be void.
    #[cold]
    #[inline(never)]
    fn reserve_for_requests(&mut self, now: Instant, node: usize, decoded: S::Set, sent: Sending) {
        for colour in decoded {
            let (there, until) =
                (self.hearer(node, colour), self.after(node, now, colour).later(sent.reserves));
            if until > self.nodes[there].reserved_until {
                self.reserve_for_request(there, sent.by);
            }
        }
    }

    /// The nodes of a neighbourhood with countdowns that may run.
    #[inline]
    pub(super) fn running_around(&self, node: usize) -> impl Iterator<Item = usize> {
        self.sets.relations.neighbours_among(node, &self.sets.running)
    }

    /// Of these hearers of a node those with an idle medium while countdowns of them may stand still.
    fn idle_standing(&self, node: usize, among: S::Set) -> S::Set {
        if !S::SMALL && among.is_empty() {
            return among;
        }
        let standing = among & self.sets.relations.among_but(node, &self.sets.standing, &self.sets.engaged);
        if standing.is_empty() {
            return standing;
        }
        standing - self.busy_among(node, standing)
    }

    /// Of these hearers of a node those that sense a frame.
    #[inline]
    fn busy_among(&self, node: usize, among: S::Set) -> S::Set {
        let Sets { relations, active, .. } = &self.sets;
        if !S::SMALL {
            let senses_any = |colour: &usize| relations.senses_any(self.hearer(node, *colour), active);
            return among.into_iter().filter(senses_any).collect();
        }
        let others = relations.others(node, active);
        let sensing = |other: Other| self.sets.of[other.node()].sensing;
        among & others.each().fold(S::Set::NONE, |all, other| all | sensing(other))
    }
}

/// The states of single nodes.
impl<S: Shape> DcfAir<S> {
    /// The place of a node in sets of all nodes.
    #[inline]
    fn place(&self, node: usize) -> usize {
        self.sets.relations.place(node)
    }

    /// The senders that a node senses.
    #[inline]
    pub(super) fn senders_sensed(&self, node: usize) -> impl Iterator<Item = usize> {
        self.sets.relations.sensed_among(node, &self.sets.active)
    }

    /// Whether a node senses a carrier.
    #[inline]
    pub(super) fn senses_carrier(&self, node: usize) -> bool {
        if self.in_sets() {
            self.sets.relations.senses_any(node, &self.sets.active)
        } else {
            self.signals[node].carriers() > 0
        }
    }

    /// Whether a node sends, or is in the middle of an exchange of its own.
    #[inline]
    pub(super) fn is_engaged(&self, node: usize) -> bool {
        if S::PLAIN { self.sets.engaged.has(self.place(node)) } else { self.signals[node].is_engaged() }
    }

    #[inline]
    pub(super) fn engage(&mut self, node: usize, engaged: bool) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.engaged.put(place, engaged);
        } else {
            self.signals[node].engage(engaged);
        }
    }

    /// Whether back-offs of a node may run.
    #[inline]
    pub(super) fn runs(&self, node: usize) -> bool {
        if S::PLAIN { self.sets.running.has(self.place(node)) } else { self.signals[node].back_offs.run() }
    }

    /// Whether back-offs of a node may stand still.
    #[inline]
    pub(super) fn stands(&self, node: usize) -> bool {
        if S::PLAIN { self.sets.standing.has(self.place(node)) } else { self.signals[node].back_offs.stand() }
    }

    /// A back-off of a node runs.
    #[inline]
    pub(super) fn note_running(&mut self, node: usize) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.running.insert(place);
        } else {
            self.signals[node].back_offs.add_running();
        }
    }

    /// A back-off of a node stands still.
    #[inline]
    pub(super) fn note_standing(&mut self, node: usize) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.standing.insert(place);
        } else {
            self.signals[node].back_offs.add_standing();
        }
    }

    /// A back-off of a node is this long.
    #[inline]
    pub(super) fn note_length(&mut self, node: usize, length: Duration) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.empty.put(place, length.is_zero());
        }
    }

    /// A node may have a reservation by an RTS that can be dropped.
    #[inline]
    pub(super) fn note_request(&mut self, node: usize) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.requested.insert(place);
            self.sets.requests = true;
        }
    }

    /// No back-off of a node runs.
    #[inline]
    pub(super) fn note_none_runs(&mut self, node: usize) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.running.remove(place);
        } else {
            self.signals[node].back_offs.stop();
        }
    }

    /// No back-off of a node stands still.
    #[inline]
    pub(super) fn note_none_stands(&mut self, node: usize) {
        if S::PLAIN {
            let place = self.place(node);
            self.sets.standing.remove(place);
        } else {
            self.signals[node].back_offs.go_on();
        }
    }
}
