//! State that the next events will touch, fetched into the cache before they come.
//!
//! In a network of thousands of nodes nearly all that an event touches is in memory alone: the states of a frame's hearers, of its
//! contender, of its addressee. An event would wait for one after another, which is most of a run. So the events behind the next one
//! fetch their lines of the cache, in stages: each stage reads only lines that the stage before has fetched. Nothing but time depends
//! on it.

use super::agenda::{Agenda as _, Due};
use super::shape::{Shape, Table};
use super::{DcfAir, Ear, Station};
use crate::air::Contender;
use evenair_des::ahead::{fetch, fetch_all};
use evenair_units::Instant;

/// From so many nodes on their state and countdowns fill most of a usual second-level cache of half a megabyte.
const LARGE: usize = 4096;

/// The stages in which state is fetched, and how many events apart they are; the last is that of the next event.
const STAGES: usize = 4;
const APART: usize = 3;

/// An event in the stages.
#[derive(Clone, Copy, Debug)]
enum Upcoming {
    /// None that needs much.
    None,
    /// A countdown in a node's neighbourhood may end at an instant.
    Access(Instant, u32),
    /// That of this contender ends.
    Win(Contender),
    /// So this node's frame begins.
    Start(u32),
    /// A node's frame ends.
    End(u32),
    /// A node's answer begins.
    Answer(u32),
}

/// The events in the stages, and the place of the one that was added last.
#[derive(Clone, Debug)]
pub(super) struct Line {
    events: [Upcoming; Self::PLACES],
    last: usize,
}

impl Line {
    const PLACES: usize = (APART * (STAGES - 1) + 1).next_power_of_two();

    pub(super) const fn new() -> Self {
        Self { events: [Upcoming::None; Self::PLACES], last: 0 }
    }

    #[inline]
    const fn add(&mut self, event: Upcoming) {
        self.last = (self.last + 1) % Self::PLACES;
        self.events[self.last] = event;
    }

    /// The event that is in a stage.
    #[inline]
    const fn at(&mut self, stage: usize) -> &mut Upcoming {
        &mut self.events[(self.last + Self::PLACES - APART * stage) % Self::PLACES]
    }
}

impl<S: Shape> DcfAir<S> {
    /// See [`Air::look_ahead`](crate::Air::look_ahead).
    pub fn look_ahead(&mut self, wanted: bool) {
        self.looks_ahead = wanted && !S::SMALL;
        self.agenda.keep_in_order(if self.looks_ahead { APART * (STAGES - 1) + 1 } else { 0 });
    }

    /// Looks ahead in a large network.
    pub(super) fn look_ahead_if_large(&mut self) {
        self.look_ahead(self.nodes.all().len() >= LARGE);
    }

    /// Fetches the state that the next events will touch, one stage of each. Called once an event.
    #[inline(never)]
    pub(super) fn fetch_ahead(&mut self) {
        self.fetch_first();
        self.fetch_second();
        self.fetch_third();
        self.fetch_last();
    }

    /// An event comes in: the state of its node, or the contenders around it, found by a table of eight bytes a node that stays in the
    /// cache.
    #[inline]
    fn fetch_first(&mut self) {
        let next = match self.agenda.soon(APART * (STAGES - 1)) {
            Some((at, Due::Access(node))) => {
                self.fetch_neighbourhood(node as usize);
                Upcoming::Access(at, node)
            }
            Some((_, Due::FrameEnd(node))) => {
                self.fetch_own(node as usize);
                Upcoming::End(node)
            }
            Some((_, Due::Respond(node))) => {
                self.fetch_beginning(node as usize);
                Upcoming::Answer(node)
            }
            _ => Upcoming::None,
        };
        self.line.add(next);
    }

    /// The places of a frame's hearers, its contender and its other side; the contender that wins an access.
    #[inline]
    fn fetch_second(&mut self) {
        match *self.line.at(1) {
            Upcoming::End(node) | Upcoming::Answer(node) => {
                if !self.in_sets() {
                    fetch_all(self.hearers(node as usize));
                }
                self.fetch_sides(node as usize);
            }
            Upcoming::Access(at, node) => *self.line.at(1) = self.fetch_winner(at, node as usize),
            _ => (),
        }
    }

    /// The hearers of a frame that is on the air or planned; the places of those of a frame that begins.
    #[inline]
    fn fetch_third(&mut self) {
        let (next, in_sets) = (*self.line.at(2), self.in_sets());
        match next {
            // In sets, the hearers of a frame that its answer follows.
            Upcoming::Answer(node) if in_sets => {
                if let Some(reply) = &self.stations[node as usize].reply {
                    self.sets.fetch_node(reply.to as usize);
                }
            }
            Upcoming::End(_) if in_sets => (),
            Upcoming::End(node) | Upcoming::Answer(node) => self.fetch_nodes(node as usize),
            Upcoming::Win(c) => {
                let node = self.queues[c as usize].node;
                self.fetch_beginning(node as usize);
                if !self.in_sets() {
                    fetch_all(self.hearers(node as usize));
                }
                *self.line.at(2) = Upcoming::Start(node);
            }
            _ => (),
        }
    }

    /// The state that the next event needs of the hearers; the hearers of a frame that begins; their back-offs follow when it does.
    #[inline]
    fn fetch_last(&mut self) {
        let (next, in_sets) = (*self.line.at(3), self.in_sets());
        match next {
            Upcoming::Answer(node) | Upcoming::Start(node) if in_sets => self.sets.fetch_pairs(node as usize),
            Upcoming::End(_) if in_sets => (),
            Upcoming::End(node) => self.fetch_back_offs(self.hearers(node as usize), true),
            Upcoming::Answer(node) => self.fetch_back_offs(self.hearers(node as usize), false),
            Upcoming::Start(node) => self.fetch_nodes(node as usize),
            _ => (),
        }
    }

    /// The contender with the exchange that a node is in, which is told, and the other side.
    fn fetch_sides(&mut self, node: usize) {
        let Station { sending, reply, .. } = &self.stations[node];
        if let Some(sent) = sending {
            self.upcoming = Some(sent.by);
        }
        let sent = sending.as_ref().map(|sent| (sent.to, sent.by));
        if let Some((to, by)) = sent.or_else(|| reply.as_ref().map(|reply| (reply.to, reply.by))) {
            self.fetch_contender(by);
            self.stations.all().get(to as usize).into_iter().for_each(fetch_station);
        }
    }

    /// The contender of a neighbourhood with a countdown that ends at an instant, if there is one.
    #[inline]
    fn fetch_winner(&self, at: Instant, node: usize) -> Upcoming {
        let mut winner = None;
        self.each_around(node, |c| {
            if self.deadlines[c as usize] == at {
                winner = Some(c);
            }
        });
        match winner {
            Some(c) => {
                self.fetch_contender(c);
                Upcoming::Win(c)
            }
            None => Upcoming::None,
        }
    }

    /// A node's own state, and the places of its hearers.
    #[inline]
    fn fetch_own(&self, node: usize) {
        fetch_station(&self.stations[node]);
        if self.in_sets() {
            return self.sets.fetch_node(node);
        }
        fetch(&self.nodes[node]);
        fetch(&self.signals[node]);
        fetch(&self.ear_range[node]);
    }

    /// The same of a node that begins a frame, and the senders near it.
    #[inline]
    fn fetch_beginning(&self, node: usize) {
        self.fetch_own(node);
        if self.in_sets() {
            self.sets.fetch_near(node);
        }
    }

    #[inline]
    fn fetch_contender(&self, c: Contender) {
        fetch(&self.countdowns[c as usize]);
        self.queues[c as usize].fetch();
    }

    /// The states of a node's hearers.
    #[inline]
    fn fetch_nodes(&self, node: usize) {
        for ear in self.hearers(node) {
            fetch(&self.nodes[ear.node as usize]);
            fetch(&self.signals[ear.node as usize]);
        }
    }

    /// The back-offs of a node's hearers, and the signals that overlap there. Of a hearer without them those of the first place, which
    /// are in the cache: no branch depends on the hearer.
    #[inline]
    pub(super) fn fetch_back_offs(&self, hearers: &[Ear], ends: bool) {
        let (countdowns, stations) = (self.countdowns.all(), self.stations.all());
        for ear in hearers {
            let there = &self.signals[ear.node as usize];
            let c = self.nodes[ear.node as usize].first as usize * usize::from(there.back_offs.any());
            let crowded = ear.node as usize * usize::from(there.may_keep_more(ends));
            fetch(&countdowns[c]);
            fetch(&stations[crowded].more);
        }
    }

    /// That which tells the contenders of a neighbourhood.
    #[inline]
    fn fetch_neighbourhood(&self, node: usize) {
        if self.in_sets() {
            self.sets.fetch_neighbourhood(node);
        } else {
            fetch_all(self.around(node));
        }
    }

    #[inline]
    fn hearers(&self, node: usize) -> &[Ear] {
        &self.ears[self.ears_of(node, 0)]
    }
}

#[inline]
fn fetch_station(station: &Station) {
    fetch(&station.sending);
    fetch(&station.reply);
}

impl super::Queue {
    #[inline]
    fn fetch(&self) {
        fetch(&self.head);
        fetch(&self.plan);
        fetch(&self.access);
        fetch(&self.stream);
        fetch(&self.counters);
        fetch(&self.window);
    }
}
