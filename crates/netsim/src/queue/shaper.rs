//! The shaper of a gateway, or of a source: queues of packets, released by tokens.
//!
//! # Law
//! Packets are told apart by class. Either all classes share one line, or each has its own; a line is a queueing discipline with
//! room for so many packets. A shared discipline tells classes apart, that of one class its flows; with CAKE's hosts both tell
//! flows and hosts apart. A line may have a token bucket, and all lines together may have one. Where several lines
//! may send they take turns (deficit round robin), with turns in proportion to the classes' weights. Three forms
//! result:
//! - one bucket over one line: an aggregate limit ([Jam10] Fig 6.1a).
//! - one bucket over a line for each class: an aggregate limit with fair queueing (Fig 6.1b).
//! - a bucket for each class's line: limits for each (Fig 6.1c).
//!
//! # Source
//! [Jam10] section 6.2.3.
//!
//! # Deviations
//! A packet that waits for tokens has left its discipline: an AQM by waiting time sees it no more, as under Linux'
//! tc-tbf(8).

use super::{AnyDiscipline, Discipline, Queued, TokenBucket};
use evenair_laws::gateway::{ClassCounters, ClassView, Count, Counted};
use evenair_units::{Bytes, Instant, Probability, Rate, Volume};
use std::collections::VecDeque;

/// The class of packets that do not belong here.
pub(crate) const NO_CLASS: u32 = u32::MAX;

/// The counts of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassCounts {
    /// Packets that came, refused or not.
    pub(crate) arrived: Volume,
    pub(crate) served: Volume,
    /// Packets that were refused, or given up later.
    pub(crate) dropped: Volume,
    /// Packets that were not let through at once when they came.
    pub(crate) held: u64,
}

impl ClassCounts {
    /// Packets that wait.
    pub(crate) fn backlog(&self) -> Volume {
        let left = |arrived: u64, served: u64, dropped: u64| arrived - served - dropped;
        Volume {
            packets: left(self.arrived.packets, self.served.packets, self.dropped.packets),
            bytes: left(self.arrived.bytes, self.served.bytes, self.dropped.bytes),
        }
    }

    /// The increase since an earlier instant, and the packets that wait.
    pub(crate) fn since(&self, then: &Self) -> ClassView {
        self.counters().since(&then.counters()).expect("what is counted here never begins again")
    }

    /// As the host of a gateway's law reads them.
    pub(crate) fn counters(&self) -> ClassCounters {
        ClassCounters {
            served: Counted::wide(self.served),
            dropped: Count::Wide(self.dropped.packets),
            dropped_bytes: Some(Count::Wide(self.dropped.bytes)),
            arrived: Some(Counted::wide(self.arrived)),
            backlog: self.backlog(),
            held: Some(Count::Wide(self.held)),
            ..ClassCounters::default()
        }
    }
}

/// Packets in one line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    queue: AnyDiscipline,
    limit: u32,
    bucket: Option<TokenBucket>,
    /// The packet that is next, and from when on the line's own bucket lets it pass.
    head: Option<(Queued, Instant)>,
    /// The bytes of its turn, and those that are left of it.
    quantum: u32,
    deficit: i64,
    in_round: bool,
}

impl Line {
    /// An empty line with room for so many packets, and its quantum for a turn.
    pub(crate) fn new(queue: AnyDiscipline, limit: u32, bucket: Option<TokenBucket>, quantum: Bytes) -> Self {
        debug_assert!(limit > 0 && quantum.count() > 0, "a line through which nothing passes");
        let quantum = quantum.count();
        Self { queue, limit, bucket, head: None, quantum, deficit: 0, in_round: false }
    }

    fn packets(&self) -> u32 {
        self.queue.packets() + u32::from(self.head.is_some())
    }

    /// From when on its bucket lets a packet pass.
    fn ready_at(&self, size: u32) -> Instant {
        self.bucket.as_ref().map_or(Instant::ZERO, |bucket| bucket.ready_at(Bytes::new(size)))
    }
}

/// A shaper at work.
#[derive(Clone, Debug)]
pub struct Shaper {
    /// By way.
    class_of: Vec<u32>,
    /// One for all classes, or one for each.
    lines: Vec<Line>,
    bucket: Option<TokenBucket>,
    /// Lines in which packets wait, in their order.
    round: VecDeque<u32>,
    counts: Vec<ClassCounts>,
    packets: u32,
    bytes: u64,
}

impl Shaper {
    /// An empty one: the class of each way, how many classes there are, one line for all or one for each, a bucket for all.
    pub(crate) fn new(
        class_of: Vec<u32>,
        classes: usize,
        lines: Vec<Line>,
        bucket: Option<TokenBucket>,
    ) -> Self {
        debug_assert!(lines.len() == 1 || lines.len() == classes, "lines are shared by all or by none");
        let counts = vec![ClassCounts::default(); classes];
        Self { class_of, lines, bucket, round: VecDeque::new(), counts, packets: 0, bytes: 0 }
    }

    /// The counts of each class.
    pub(crate) fn counts(&self) -> &[ClassCounts] {
        &self.counts
    }

    /// From now on tokens come at these rates: for all, where there is a bucket for all; for each line that has one.
    pub(crate) fn set_rates(&mut self, now: Instant, total: Rate, each: &[Rate]) {
        if let Some(bucket) = &mut self.bucket {
            bucket.set_rate(now, total);
        }
        for (line, &rate) in self.lines.iter_mut().zip(each) {
            let Some(bucket) = &mut line.bucket else { continue };
            bucket.set_rate(now, rate);
            if let Some((head, ready)) = &mut line.head {
                *ready = bucket.ready_at(Bytes::new(head.size));
            }
        }
    }

    /// From its next turn on each class may send so much in it; one line that all share has no turns.
    pub(crate) fn set_turns(&mut self, turns: &[Bytes]) {
        if !self.is_shared() {
            for (line, turn) in self.lines.iter_mut().zip(turns) {
                line.quantum = turn.count();
            }
        }
    }

    /// The class of a way's packets.
    pub(crate) fn class_of(&self, way: u32) -> u32 {
        let class = self.class_of.get(way as usize).copied().unwrap_or(NO_CLASS);
        debug_assert_ne!(class, NO_CLASS, "a packet came to a shaper that it has no class at");
        class
    }

    fn is_shared(&self) -> bool {
        self.lines.len() < self.counts.len()
    }

    /// The class of a packet of this way, and its line.
    fn place_of(&self, way: u32) -> (u32, usize) {
        let class = self.class_of(way);
        (class, if self.is_shared() { 0 } else { class as usize })
    }

    /// A packet that waited here has left, or was given up.
    fn left(&mut self, size: u32) {
        debug_assert!(self.packets > 0 && self.bytes >= u64::from(size), "more leaves than came");
        self.packets -= 1;
        self.bytes -= u64::from(size);
    }

    /// Has the next packet of a line stand at its head, if it gives one.
    fn draw(&mut self, index: u32, now: Instant, dropped: &mut Vec<Queued>) {
        let line = &mut self.lines[index as usize];
        if line.head.is_some() {
            return;
        }
        let before = dropped.len();
        if let Some(next) = line.queue.dequeue(now, dropped) {
            line.head = Some((next, line.ready_at(next.size)));
        }
        for gone in &dropped[before..] {
            let class = self.class_of(gone.flow);
            self.counts[class as usize].dropped.add(gone.size.into());
            self.left(gone.size);
        }
    }

    /// The head of a line passes.
    fn pass(&mut self, now: Instant, index: u32) -> Queued {
        let line = &mut self.lines[index as usize];
        let (head, _) = line.head.take().expect("a line at its turn has one");
        let size = Bytes::new(head.size);
        line.deficit -= i64::from(head.size);
        for bucket in [&mut line.bucket, &mut self.bucket].into_iter().flatten() {
            bucket.take(now, size);
        }
        let class = self.class_of(head.flow);
        debug_assert!(self.is_shared() || class == index, "a packet waited in another class's line");
        self.counts[class as usize].served.add(head.size.into());
        self.left(head.size);
        head
    }
}

impl Discipline for Shaper {
    fn refusal(&mut self, now: Instant, arrival: &Queued) -> Probability {
        let (_, line) = self.place_of(arrival.flow);
        self.lines[line].queue.refusal(now, arrival)
    }

    fn is_full(&self, arrival: &Queued) -> bool {
        let (_, line) = self.place_of(arrival.flow);
        let line = &self.lines[line];
        line.packets() >= line.limit || line.queue.is_full(arrival)
    }

    fn refused(&mut self, arrival: &Queued) {
        let (class, line) = self.place_of(arrival.flow);
        self.lines[line].queue.refused(arrival);
        let counts = &mut self.counts[class as usize];
        counts.arrived.add(arrival.size.into());
        counts.dropped.add(arrival.size.into());
    }

    fn enqueue(&mut self, now: Instant, arrival: Queued) {
        let (class, index) = self.place_of(arrival.flow);
        let size = Bytes::new(arrival.size);
        let line = &mut self.lines[index];
        let behind = line.packets() > 0 || self.bucket.is_some() && self.packets > 0;
        let waits =
            || [&line.bucket, &self.bucket].into_iter().flatten().any(|bucket| bucket.ready_at(size) > now);
        let counts = &mut self.counts[class as usize];
        counts.held += u64::from(behind || waits());
        counts.arrived.add(arrival.size.into());
        self.packets += 1;
        self.bytes += u64::from(arrival.size);
        line.queue.enqueue(now, arrival);
        if !line.in_round {
            (line.in_round, line.deficit) = (true, i64::from(line.quantum));
            self.round.push_back(index as u32);
        }
    }

    #[inline(never)] // out of the way of queues that are first in, first out
    fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Queued>) -> Option<Queued> {
        // Lines in succession that may not send.
        let mut in_vain = 0;
        while in_vain < self.round.len() {
            let index = *self.round.front()?;
            self.draw(index, now, dropped);
            let line = &mut self.lines[index as usize];
            debug_assert!(line.in_round, "a line has a turn that is in no round");
            match line.head {
                None if line.queue.packets() == 0 => {
                    line.in_round = false;
                    self.round.pop_front();
                    continue;
                }
                Some((head, ready)) if ready <= now => {
                    if line.deficit >= i64::from(head.size) {
                        let room = |bucket: &TokenBucket| bucket.ready_at(Bytes::new(head.size)) <= now;
                        return self.bucket.as_ref().is_none_or(room).then(|| self.pass(now, index));
                    }
                    line.deficit += i64::from(line.quantum);
                    in_vain = 0;
                }
                None | Some(_) => in_vain += 1,
            }
            self.round.rotate_left(1);
        }
        None
    }

    fn next_ready(&self, now: Instant) -> Instant {
        let Some(&first) = self.round.front() else { return Instant::NEVER };
        // The line at its turn waits for all lines' bucket.
        let line = &self.lines[first as usize];
        if let (Some((head, ready)), Some(bucket)) = (line.head, &self.bucket)
            && ready <= now
            && line.deficit >= i64::from(head.size)
        {
            return bucket.ready_at(Bytes::new(head.size)).max(now);
        }
        let ready = |&index: &u32| {
            let line = &self.lines[index as usize];
            line.head.map_or_else(|| line.queue.next_ready(now), |(_, ready)| ready.max(now))
        };
        self.round.iter().map(ready).fold(Instant::NEVER, Instant::min)
    }

    fn evict(&mut self, arrival: &Queued) -> Option<Queued> {
        let (_, line) = self.place_of(arrival.flow);
        let evicted = self.lines[line].queue.evict(arrival)?;
        let class = self.class_of(evicted.flow);
        self.counts[class as usize].dropped.add(evicted.size.into());
        self.left(evicted.size);
        Some(evicted)
    }

    fn packets(&self) -> u32 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}
