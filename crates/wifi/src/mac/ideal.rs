//! Ideal CSMA: continuous time, zero sensing time, no collisions ([Chen10] C1, [Lee12] L1, [QCSMA] eq. (1)).
//!
//! A link counts down while no conflicting link transmits, then holds the medium for its packet's airtime or for a
//! time drawn from a law's holding distribution. There is no acknowledgement and no inter-frame space. Whatever the
//! distributions, the shares of time follow the product form [Chen10] eq. (3.2), given the ratio of their means.
//!
//! Countdowns of conflicting links that end at one instant are settled by lot; with continuous distributions that has
//! no weight. Where both distributions are deterministic the product form does not hold.

use super::draw;
use crate::air::{Contender, Effects, Head, Outcome, Up, Wake};
use crate::ledger::{Doing, Ledger};
use crate::timeline::{FrameKind, FrameRecord, Timeline};
use evenair_des::Stream;
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
    /// Tells a wake that is still meant from one whose countdown was frozen.
    generation: u32,
    transmitting_since: Option<Instant>,
    stream: Stream,
}

/// Ideal CSMA for all links of a network: each contender is a link of the conflict graph.
#[derive(Clone, Debug)]
pub struct IdealAir {
    conflicts: ConflictGraph,
    links: Vec<Link>,
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
            stream,
        });
        Self { conflicts, links: links.collect(), senders, ledger: None, timeline: None }
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
    pub fn offer(&mut self, now: Instant, by: Contender, head: Head, out: &mut Effects) {
        let link = &mut self.links[by as usize];
        assert!(link.head.is_none(), "link {by} is offered a head while it has one");
        link.head = Some(head);
        link.airtime = head.mode.rate().time_for(head.size);
        let window = draw::first_window(link.access.draw);
        // There is no slot in continuous time; laws that count in slots get the one of 802.11b.
        let slot = Duration::from_micros(20);
        let airtimes = draw::Airtimes { frame: link.airtime, packet: link.airtime };
        link.left = Some(draw::backoff(link.access.draw, window, slot, airtimes, &mut link.stream));
        self.resume(by, now, out);
        self.book(by, now);
    }

    /// See [`Air::wake`](crate::Air::wake).
    pub fn wake(&mut self, now: Instant, wake: Wake, out: &mut Effects) {
        match wake {
            Wake::IdealAccess(l, generation) if self.links[l as usize].generation == generation => {
                let winner = self.draw_lots(l, now);
                self.start(winner, now, out);
            }
            Wake::IdealAccess(..) => (), // frozen since
            Wake::IdealEnd(l) => self.end(l, now, out),
            _ => unreachable!("a wake of the other MAC"),
        }
    }

    /// Whose turn it is among `l` and the conflicting links whose countdowns end at this instant too.
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

    fn start(&mut self, l: Contender, now: Instant, out: &mut Effects) {
        let link = &mut self.links[l as usize];
        debug_assert_eq!(link.blockers, 0, "link {l} transmits beside a conflicting one");
        link.left = None;
        link.from = Instant::NEVER;
        link.generation = link.generation.wrapping_add(1); // its own wake may still come, after a lot
        link.transmitting_since = Some(now);
        let held = match link.access.holding {
            // Its packets are offered one by one, each after a back-off of its own.
            Holding::Packet | Holding::Burst(_) => link.airtime,
            Holding::Exponential(mean) => link.stream.exponential(mean),
            Holding::Uniform(mean) => link.stream.uniform(mean),
            Holding::Fixed(mean) => mean,
        };
        out.wakes.push((now + held, Wake::IdealEnd(l)));
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

    fn end(&mut self, l: Contender, now: Instant, out: &mut Effects) {
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
                by: l,
                decoded: true,
                retry: false,
                reserves_us: 0,
            });
        }
        self.book(l, now);
        for i in 0..self.conflicts.neighbours(l as usize).len() {
            let m = self.conflicts.neighbours(l as usize)[i];
            self.links[m as usize].blockers -= 1;
            self.resume(m, now, out);
            self.book(m, now);
        }
        out.up.push(Up::Received { from: l, at: head.to, packet: head.packet });
        out.up.push(Up::Done { by: l, packet: head.packet, outcome: Outcome::Delivered });
    }

    fn resume(&mut self, l: Contender, now: Instant, out: &mut Effects) {
        let link = &mut self.links[l as usize];
        if let (0, Some(left), None) = (link.blockers, link.left, link.transmitting_since) {
            link.from = now;
            link.generation = link.generation.wrapping_add(1);
            out.wakes.push((now + left, Wake::IdealAccess(l, link.generation)));
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
    use evenair_des::Queue;
    use evenair_laws::backoff::{Draw, OnFailure, When};
    use evenair_units::{Bytes, Rate};

    /// Two conflicting links whose countdowns always end together share the medium by lot.
    #[test]
    fn ties_are_settled_by_lot() {
        let access = Access {
            draw: Draw::Fixed { mean: Duration::from_micros(10) },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Packet,
        };
        let link = |l: u32| (l, access, Stream::named(1, &l.to_string(), "backoff"));
        let mut air = IdealAir::new(ConflictGraph::from_edges(2, &[(0, 1)]), vec![link(0), link(1)]);
        let head = Head {
            to: 9,
            size: Bytes::new(100),
            mode: Mode::at(Rate::from_kbps(8_000)),
            packet: PacketId(1),
        };
        let (mut queue, mut out, mut wins) = (Queue::new(), Effects::default(), [0u32; 2]);
        for round in 0..400u64 {
            let start = Instant::from_nanos(round * 10_000_000);
            for l in 0..2 {
                air.offer(start, l, head, &mut out);
            }
            let mut first = None;
            loop {
                for (at, wake) in out.wakes.drain(..) {
                    queue.push(at, wake.phase(), wake);
                }
                let Some((now, wake)) = queue.pop() else { break };
                air.wake(now, wake, &mut out);
                for up in out.up.drain(..) {
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
}
