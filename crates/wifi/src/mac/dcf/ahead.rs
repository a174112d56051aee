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

    /// Fetches the state that the next events will touch, one stage of each.
    #[inline(never)]
    pub(super) fn fetch_ahead(&mut self) {
        for stage in 0..STAGES {
            match self.agenda.soon(APART * (STAGES - 1 - stage)) {
                Some((at, Due::Access(node))) => self.fetch_for_access(stage, at, node as usize),
                Some((_, Due::FrameEnd(node))) => self.fetch_for_frame(stage, node as usize, true),
                Some((_, Due::Respond(node))) => self.fetch_for_frame(stage, node as usize, false),
                _ => (),
            }
        }
    }

    /// The state for the end of a node's frame, or for the beginning of its answer.
    fn fetch_for_frame(&mut self, stage: usize, node: usize, ends: bool) {
        match stage {
            0 => self.fetch_own(node),
            1 => {
                fetch_all(self.hearers(node));
                self.fetch_sides(node);
            }
            2 => self.fetch_nodes(node),
            _ => self.fetch_back_offs(node, ends),
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

    /// The state for an access: the deadlines of a neighbourhood, and the contenders that are due.
    fn fetch_for_access(&self, stage: usize, at: Instant, node: usize) {
        match stage {
            0 => fetch(&self.around_range[node]),
            1 => fetch_all(self.around(node)),
            2 => {
                for &c in self.around(node) {
                    if self.deadlines[c as usize] == at {
                        self.fetch_contender(c);
                    }
                }
            }
            _ => (),
        }
    }

    /// Reads the state of all hearers ahead of the loop over them, which branches by it and would wait for one after another.
    #[inline]
    pub(super) fn read_hearers(&self, hearers: &[Ear]) {
        if S::SMALL || !self.looks_ahead {
            return;
        }
        let (mut contenders, mut times) = (0, 0);
        for ear in hearers {
            let this = &self.nodes[ear.node as usize];
            // Of a node without a back-off, the same one each time.
            let c = if this.back_offs.any() { this.first } else { 0 };
            contenders |= c;
            times |= self.countdowns.all().get(c as usize).map_or(0, |countdown| countdown.from.as_nanos());
        }
        std::hint::black_box((contenders, times));
    }

    /// A node's own state, and the places of its hearers.
    #[inline]
    fn fetch_own(&self, node: usize) {
        fetch(&self.nodes[node]);
        fetch(&self.ear_range[node]);
        fetch_station(&self.stations[node]);
    }

    #[inline]
    fn fetch_contender(&self, c: Contender) {
        fetch(&self.countdowns[c as usize]);
        self.queues[c as usize].fetch();
    }

    /// The states of a node's hearers.
    #[inline]
    fn fetch_nodes(&self, node: usize) {
        self.hearers(node).iter().for_each(|ear| fetch(&self.nodes[ear.node as usize]));
    }

    /// The back-offs of a node's hearers, and the signals that overlap there.
    #[inline]
    fn fetch_back_offs(&self, node: usize, ends: bool) {
        for ear in self.hearers(node) {
            let there = &self.nodes[ear.node as usize];
            if there.back_offs.any() {
                fetch(&self.countdowns[there.first as usize]);
            }
            if there.may_keep_more(ends) {
                fetch(&self.stations[ear.node as usize].more);
            }
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
