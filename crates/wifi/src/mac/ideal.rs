//! Ideal CSMA: continuous time, zero sensing time, no collisions ([Chen10] C1, [Lee12] L1, [QCSMA] eq. (1)).
//!
//! A link counts down while no conflicting link transmits, then holds the medium for its packet's airtime or for a
//! time drawn from a law's holding distribution. There is no acknowledgement and no inter-frame space. For any
//! distributions, the shares of time follow the product form [Chen10] eq. (3.2), given the ratio of their means.
//!
//! Countdowns of conflicting links that end at one instant are settled by lot; with continuous distributions that has
//! no weight. Where both distributions are deterministic the product form does not hold.
//!
//! A holding that spans several packets ([Lee12] L1) sends them back to back: conflicting links stay blocked, and when its time
//! is over, or the host offers nothing more, the medium is free and the next back-off is drawn.

use super::draw;
use crate::air::{Contender, Head, Outcome, PacketId, Up};
use crate::ledger::{Doing, Ledger};
use crate::timeline::{FrameKind, FrameRecord, Timeline, Window};
use evenair_des::{Phase, Queue, Stream};
use evenair_laws::backoff::{Access, Holding};
use evenair_topology::ConflictGraph;
use evenair_units::{Duration, Instant};

#[derive(Clone, Debug)]
struct Link {
    access: Access,
    head: Option<Head>,
    airtime: Duration,
    /// How many conflicting links transmit.
    blockers: u32,
    left: Option<Duration>,
    from: Instant,
    /// Tells a valid wake from one of a frozen countdown.
    generation: u32,
    transmitting_since: Option<Instant>,
    /// Until when it may go on with packets that follow.
    held_until: Instant,
    /// It holds the medium between two packets, of one instant.
    pausing: bool,
    stream: Stream,
}

impl Link {
    /// Whether the head still belongs to the holding under way.
    fn goes_on(&mut self, now: Instant) -> bool {
        let (end, left) = (now + self.airtime, self.held_until.since(now));
        let dithers = matches!(self.access.holding, Holding::Span(_));
        end <= self.held_until || (dithers && draw::goes_on(left, self.airtime, &mut self.stream))
    }
}

/// Something that is due.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// A countdown reaches zero, unless it was frozen since.
    Access(Contender, u32),
    /// A link ends its transmission.
    End(Contender),
    /// A link that could have gone on with its holding ends it, unless another packet has followed.
    Pause(Contender),
}

/// Ideal CSMA for all links of a network: each contender is a link of the conflict graph.
#[derive(Clone, Debug)]
pub struct IdealAir {
    conflicts: ConflictGraph,
    links: Vec<Link>,
    agenda: Queue<Due>,
    /// Sender of each link, for the timeline.
    senders: Vec<u32>,
    pub(crate) ledger: Option<Box<Ledger>>,
    pub(crate) timeline: Option<Box<Timeline>>,
}

impl IdealAir {
    /// An idle medium. `links` gives each link's sender, its law's answer, and its stream.
    pub fn new(conflicts: ConflictGraph, links: Vec<(u32, Access, Stream)>) -> Self {
        assert_eq!(conflicts.links(), links.len(), "the conflict graph is of other links");
        let senders = links.iter().map(|&(sender, ..)| sender).collect();
        let links = links.into_iter().map(|(_, access, stream)| Link {
            access,
            head: None,
            airtime: Duration::ZERO,
            blockers: 0,
            left: None,
            from: Instant::NEVER,
            generation: 0,
            transmitting_since: None,
            held_until: Instant::ZERO,
            pausing: false,
            stream,
        });
        Self {
            conflicts,
            links: links.collect(),
            agenda: Queue::new(),
            senders,
            ledger: None,
            timeline: None,
        }
    }

    /// See [`Air::set_access`](crate::Air::set_access).
    pub fn set_access(&mut self, by: Contender, access: Access) {
        self.links[by as usize].access = access;
    }

    pub(crate) fn start_ledger(&mut self, now: Instant) {
        self.ledger = Some(Box::new(Ledger::new(self.links.len(), now)));
        for l in 0..self.links.len() as u32 {
            self.book(l, now);
        }
    }

    /// See [`Air::offer`](crate::Air::offer).
    pub fn offer(&mut self, now: Instant, by: Contender, head: Head) {
        let link = &mut self.links[by as usize];
        assert!(link.head.is_none(), "link {by} is offered a head while it has one");
        link.head = Some(head);
        link.airtime = head.mode.rate().time_for(head.size);
        if link.pausing && link.goes_on(now) {
            link.pausing = false;
            link.transmitting_since = Some(now);
            self.agenda.push(now + link.airtime, Phase::Reception, Due::End(by));
            return self.book(by, now);
        }
        let link = &mut self.links[by as usize];
        let window = draw::first_window(link.access.draw);
        // There is no slot in continuous time; laws that count in slots get 802.11b's.
        let slot = Duration::from_micros(20);
        let airtimes = draw::Airtimes { frame: link.airtime, packet: link.airtime };
        link.left = Some(draw::backoff(link.access.draw, window, slot, airtimes, &mut link.stream));
        self.resume(by, now);
        self.book(by, now);
    }

    /// See [`Air::next_at`](crate::Air::next_at).
    pub fn next_at(&self) -> Instant {
        self.agenda.next_at().unwrap_or(Instant::NEVER)
    }

    /// See [`Air::advance`](crate::Air::advance).
    pub fn advance(&mut self, until: Instant, out: &mut Vec<Up>) -> Option<Instant> {
        let mut last = None;
        while let Some((now, due)) = self.agenda.pop_until(until) {
            last = Some(now);
            match due {
                Due::Access(l, generation) if self.links[l as usize].generation == generation => {
                    let winner = self.draw_lots(l, now);
                    self.start(winner, now);
                }
                Due::End(l) => self.end(l, now, out),
                Due::Pause(l) if self.links[l as usize].pausing => {
                    self.links[l as usize].pausing = false;
                    self.release(l, now);
                }
                // Frozen since; or another packet has followed.
                Due::Access(..) | Due::Pause(_) => (),
            }
            if !out.is_empty() || self.timeline.is_some() {
                break;
            }
        }
        last
    }

    /// See [`Air::steps`](crate::Air::steps).
    pub fn steps(&self) -> u64 {
        self.agenda.inserted() - self.agenda.len() as u64
    }

    /// Draws the winner among `l` and the conflicting links with countdowns that end at this instant too.
    fn draw_lots(&mut self, l: Contender, now: Instant) -> Contender {
        let due = |m: &Contender| {
            let link = &self.links[*m as usize];
            link.left.is_some_and(|left| link.from + left == now)
        };
        let rivals: Vec<Contender> =
            self.conflicts.neighbours(l as usize).iter().copied().filter(due).collect();
        if rivals.is_empty() {
            return l;
        }
        let lot = self.links[l as usize].stream.up_to(rivals.len() as u32);
        rivals.get(lot as usize).copied().unwrap_or(l)
    }

    fn start(&mut self, l: Contender, now: Instant) {
        let link = &mut self.links[l as usize];
        debug_assert_eq!(link.blockers, 0, "link {l} transmits beside a conflicting one");
        link.left = None;
        link.from = Instant::NEVER;
        link.generation = link.generation.wrapping_add(1); // its own wake may still come, after a lot
        link.transmitting_since = Some(now);
        link.held_until = match link.access.holding {
            Holding::Burst(time) | Holding::Span(time) => now + time,
            _ => now,
        };
        let held = match link.access.holding {
            Holding::Packet | Holding::Burst(_) | Holding::Span(_) => link.airtime,
            Holding::Exponential(mean) => link.stream.exponential(mean),
            Holding::Uniform(mean) => link.stream.uniform(mean),
            Holding::Fixed(mean) => mean,
        };
        self.agenda.push(now + held, Phase::Reception, Due::End(l));
        self.book(l, now);
        for i in 0..self.conflicts.neighbours(l as usize).len() {
            let m = self.conflicts.neighbours(l as usize)[i];
            let other = &mut self.links[m as usize];
            other.blockers += 1;
            if other.blockers == 1 {
                other.left = other.left.map(|left| left.saturating_sub(now.since(other.from)));
                other.from = Instant::NEVER;
                other.generation = other.generation.wrapping_add(1);
                if self.links[m as usize].head.is_some()
                    && let Some(ledger) = &mut self.ledger
                {
                    ledger.turn_to(m, now, Doing::Blocked { by: l });
                }
            }
        }
    }

    fn end(&mut self, l: Contender, now: Instant, out: &mut Vec<Up>) {
        let link = &mut self.links[l as usize];
        let since = link.transmitting_since.take().expect("a link ends that was not transmitting");
        let head = link.head.take().expect("a transmission without a head");
        if let Some(timeline) = &mut self.timeline {
            let from = self.senders[l as usize];
            let kind = FrameKind::Data;
            timeline.add(FrameRecord {
                start: since,
                end: now,
                from,
                to: head.to,
                kind,
                size: head.size,
                mode: head.mode,
                by: l,
                decoded: true,
                retry: false,
                qos: false,
                reserves_us: 0,
                packet: PacketId::NONE,
                part: None,
                window: Window::default(),
            });
        }
        self.book(l, now);
        let link = &mut self.links[l as usize];
        link.pausing = now < link.held_until;
        if link.pausing {
            self.agenda.push(now, Phase::Reception, Due::Pause(l));
        } else {
            self.release(l, now);
        }
        out.push(Up::Received { from: l, at: head.to, packet: head.packet });
        out.push(Up::Done { by: l, packet: head.packet, outcome: Outcome::Delivered });
    }

    /// The holding is over: conflicting links count down again.
    fn release(&mut self, l: Contender, now: Instant) {
        debug_assert!(self.links[l as usize].transmitting_since.is_none(), "link {l} still transmits");
        for i in 0..self.conflicts.neighbours(l as usize).len() {
            let m = self.conflicts.neighbours(l as usize)[i];
            debug_assert!(self.links[m as usize].blockers > 0, "link {m} was not blocked");
            self.links[m as usize].blockers -= 1;
            self.resume(m, now);
            self.book(m, now);
        }
    }

    fn resume(&mut self, l: Contender, now: Instant) {
        let link = &mut self.links[l as usize];
        if let (0, Some(left), None) = (link.blockers, link.left, link.transmitting_since) {
            link.from = now;
            link.generation = link.generation.wrapping_add(1);
            self.agenda.push(now + left, Phase::Access, Due::Access(l, link.generation));
        }
    }

    fn book(&mut self, l: Contender, now: Instant) {
        if self.ledger.is_none() {
            return;
        }
        let link = &self.links[l as usize];
        let blocker = || {
            let around = self.conflicts.neighbours(l as usize);
            around.iter().copied().find(|&m| self.links[m as usize].transmitting_since.is_some())
        };
        let doing = match (link.head, link.transmitting_since) {
            (None, _) => Doing::Nothing,
            (Some(_), Some(_)) => Doing::Sending,
            (Some(_), None) => match blocker() {
                Some(by) => Doing::Blocked { by },
                None => Doing::Waiting { countdown_from: now },
            },
        };
        if let Some(ledger) = &mut self.ledger {
            ledger.turn_to(l, now, doing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mode, PacketId};
    use evenair_laws::backoff::{Draw, OnFailure, When};
    use evenair_units::{Bytes, Rate};

    /// A packet at a time, after a back-off of so many microseconds.
    fn fixed(us: u64) -> Access {
        Access {
            draw: Draw::Fixed { mean: Duration::from_micros(us) },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Packet,
        }
    }

    /// Links that conflict so, each with its access.
    fn air(graph: &[(usize, usize)], access: &[Access]) -> IdealAir {
        let links = (0..).zip(access).map(|(l, &access)| (l, access, stream(l))).collect();
        let mut air = IdealAir::new(ConflictGraph::from_edges(access.len(), graph), links);
        air.timeline = Some(Box::new(Timeline::new(Instant::ZERO, Instant::NEVER)));
        air
    }

    fn stream(l: u32) -> Stream {
        Stream::named(1, &l.to_string(), "backoff")
    }

    /// A packet of 100 µs.
    fn head() -> Head {
        let mode = Mode::at(Rate::from_kbps(8_000));
        Head { to: 9, size: Bytes::new(100), mode, packet: PacketId(1) }
    }

    /// Sends one packet of each link.
    fn send_one_each(air: &mut IdealAir, links: u32) {
        (0..links).for_each(|l| air.offer(Instant::ZERO, l, head()));
        while air.advance(Instant::NEVER, &mut Vec::new()).is_some() {}
    }

    /// Two conflicting links with countdowns that always end together share the medium by lot.
    #[test]
    fn ties_are_settled_by_lot() {
        let mut air = air(&[(0, 1)], &[fixed(10); 2]);
        let (mut out, mut wins) = (Vec::new(), [0u32; 2]);
        for round in 0..400u64 {
            let start = Instant::from_nanos(round * 10_000_000);
            for l in 0..2 {
                air.offer(start, l, head());
            }
            let mut first = None;
            while air.advance(Instant::NEVER, &mut out).is_some() {
                for up in out.drain(..) {
                    if let Up::Done { by, .. } = up {
                        first.get_or_insert(by);
                    }
                }
            }
            wins[first.expect("both transmit") as usize] += 1;
        }
        // 200 ± 10: five standard deviations
        assert!(wins[0].abs_diff(200) < 50, "{wins:?}");
    }

    #[test]
    fn new_law_holds_from_the_next_draw_on() {
        let mut air = crate::Air::Ideal(Box::new(air(&[], &[fixed(10)])));
        air.set_access(0, fixed(50));
        air.offer(Instant::ZERO, 0, head());
        assert_eq!(air.next_at(), Instant::ZERO + Duration::from_micros(50));
    }

    /// Links that always have a packet of 100 µs to send, over so long.
    fn saturated(graph: &[(usize, usize)], access: &[Access], until: Instant) -> Vec<FrameRecord> {
        let mut air = air(graph, access);
        let mut out = Vec::new();
        (0..access.len() as u32).for_each(|l| air.offer(Instant::ZERO, l, head()));
        while let Some(now) = air.advance(until, &mut out) {
            for up in std::mem::take(&mut out) {
                if let Up::Done { by, .. } = up {
                    air.offer(now, by, head());
                }
            }
        }
        air.timeline.expect("asked for").frames().to_vec()
    }

    /// [Lee12] L1: a holding spans packets back to back, in the mean as long as it should, and then truly ends.
    #[test]
    fn a_span_is_met_in_the_mean_and_ends() {
        let access = Access {
            draw: Draw::Exponential { mean: Duration::from_micros(10), slotted: false },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Span(Duration::from_micros(250)),
        };
        let frames = saturated(&[(0, 1)], &[access; 2], Instant::from_nanos(1_000_000_000));
        let goes_on = |pair: &&[FrameRecord]| pair[0].end == pair[1].start;
        let together = frames.windows(2).filter(goes_on).count();
        assert!(frames.windows(2).filter(goes_on).all(|pair| pair[0].by == pair[1].by));
        let spans = frames.len() - together;
        let packets = frames.len() as f64 / spans as f64;
        // Some 3800 spans: four standard errors of a fair coin are 0.03.
        assert!((packets - 2.5).abs() < 0.03, "{packets}");
        let first = frames.iter().filter(|frame| frame.by == 0).count();
        assert!((first as f64 / frames.len() as f64 - 0.5).abs() < 0.05, "{first} of {}", frames.len());
    }

    /// As many as fit whole, as a TXOP has it.
    #[test]
    fn a_burst_holds_whole_packets() {
        let access = Access { holding: Holding::Burst(Duration::from_micros(399)), ..fixed(10) };
        let frames = saturated(&[], &[access], Instant::from_nanos(10_000_000));
        let gaps: Vec<u64> =
            frames.windows(2).map(|w| w[1].start.since(w[0].end).as_nanos() / 1000).collect();
        assert_eq!(gaps[..6], [0, 0, 10, 0, 0, 10]);
    }

    /// Two conflicting links with one packet of 100 µs each and back-offs of 10 and 30 µs: the second waits 10 µs, is blocked
    /// for 100, waits the other 20 and sends.
    #[test]
    fn ledger_books_waiting_blocking_and_sending() {
        let mut air = air(&[(0, 1)], &[fixed(10), fixed(30)]);
        air.start_ledger(Instant::ZERO);
        send_one_each(&mut air, 2);
        let ledger = air.ledger.as_mut().unwrap();
        ledger.close(Instant::from_nanos(300_000));
        let us = |time: Duration| time.as_nanos() / 1000;
        let parts = [0, 1].map(|l| {
            let time = ledger.airtime(l);
            [us(time.backoff), us(time.blocked()), us(time.own), us(time.empty), us(time.interframe)]
        });
        assert_eq!(parts, [[10, 0, 100, 190, 0], [30, 100, 100, 70, 0]]);
    }

    /// A span of a link with nothing more to send is over at once.
    #[test]
    fn a_span_ends_with_its_queue() {
        let access =
            [10, 30].map(|us| Access { holding: Holding::Span(Duration::from_micros(1_000)), ..fixed(us) });
        let mut air = air(&[(0, 1)], &access);
        send_one_each(&mut air, 2);
        let timeline = air.timeline.expect("asked for");
        let starts: Vec<u64> = timeline.frames().iter().map(|frame| frame.start.as_nanos() / 1000).collect();
        // 10 µs passed off both; 20 of the second are left at 110.
        assert_eq!(starts, [10, 130]);
    }
}
