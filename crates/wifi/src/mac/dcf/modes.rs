//! Rate control: the mode of each frame, by a law for each contender and next hop.
//!
//! Before an exchange the law gives a chain of modes. Attempts go through it in order until one is acknowledged; then, or when no try is
//! left, the law learns how often the frame was sent in each mode, and how many of its packets were acknowledged. The frame is
//! composed again for each attempt. An RTS without an answer is no try: the mode of the DATA frame has no part in it. The
//! exchange that asks for a block acknowledgement is none either; where one follows a missing acknowledgement, the chain has
//! ended.

use super::shape::{Shape, Table};
use super::{Capture, DcfAir, Queue};
use crate::air::{BROADCAST, Contender, Head};
use crate::phy::Mode;
use evenair_laws::rates::{AnyRateControl, Chain, FrameStatus, FrameView, RateControl, Step, Tried};
use evenair_units::{Bytes, Dbm, Instant};

/// The MAC frame for which the best mode of a link is chosen: 1500 bytes and EDCA's header.
pub const FULL_PACKET: Bytes = Bytes::new(1_538);

/// The rate control of a contender's frames to one next hop.
#[derive(Clone, Debug)]
pub struct ControlledLink {
    /// The next hop.
    pub to: u32,
    /// The modes that frames may have, in the order in which the law knows them.
    pub modes: Vec<Mode>,
    /// The law.
    pub law: AnyRateControl,
    /// The greatest share of packets of 1500 bytes that the best mode may lose, where the law asks the medium. The best is the fastest
    /// such mode, or else the one that delivers most.
    pub loss_max: Option<f64>,
}

/// Counts of the frames to a next hop that rate control sent in one mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeCounters {
    /// DATA frames.
    pub frames: u64,
    /// Packets in them.
    pub packets: u64,
    /// Packets of them that were acknowledged.
    pub acknowledged: u64,
}

/// A contender's links under rate control.
#[derive(Clone, Debug, Default)]
pub(super) struct Modes {
    links: Vec<Link>,
    /// An RTS precedes the exchange that is planned.
    announces: bool,
    /// The exchange that is planned probes a mode, with one packet.
    probes: bool,
}

/// A link under rate control.
#[derive(Clone, Debug)]
struct Link {
    to: u32,
    modes: Vec<Mode>,
    law: AnyRateControl,
    loss_max: Option<f64>,
    counters: Vec<ModeCounters>,
    /// The mode of the frame that would be sent next, as far as is known.
    usual: Mode,
    /// The chain under way, if a frame of it has been sent, or is about to be.
    chain: Option<Chain>,
    /// The step of it that is next.
    step: usize,
    status: FrameStatus,
    /// The answer to the last question of the medium: the power and the best mode at it.
    best: Option<(f32, u16)>,
}

impl Link {
    /// The step that is next.
    fn step(&self) -> Option<Step> {
        self.chain.and_then(|chain| chain.steps().get(self.step).copied())
    }

    fn begin(&mut self, chain: Chain) {
        assert!(chain.is_within(self.modes.len()), "a law names modes that the link has: {chain:?}");
        if !chain.probe {
            self.usual = self.modes[usize::from(chain.steps()[0].mode)];
        }
        self.status = FrameStatus::default();
        for (tried, step) in self.status.tried.iter_mut().zip(chain.steps()) {
            tried.mode = step.mode;
        }
        (self.chain, self.step) = (Some(chain), 0);
    }

    /// A DATA frame of so many packets has been sent in the mode that is next. `ends` says that no step follows in any case.
    fn note(&mut self, now: Instant, packets: u16, acknowledged: Option<u16>, ends: bool) {
        let Some(step) = self.step() else { return };
        let counters = &mut self.counters[usize::from(step.mode)];
        counters.frames += 1;
        counters.packets += u64::from(packets);
        counters.acknowledged += u64::from(acknowledged.unwrap_or(0));
        let tried: &mut Tried = &mut self.status.tried[self.step];
        tried.tries += 1;
        tried.packets += u32::from(packets);
        self.status.packets = packets;
        self.status.acknowledged = acknowledged.unwrap_or(0);
        if tried.tries >= step.tries {
            self.step += 1;
        }
        if acknowledged.is_some() || ends || self.step().is_none() {
            self.end(now);
        }
    }

    /// The chain ends: the law gets its tries.
    fn end(&mut self, now: Instant) {
        if self.chain.take().is_some() && self.status.tried().next().is_some() {
            self.status.now = now;
            self.law.on_status(&self.status);
        }
    }
}

impl Modes {
    fn link(&mut self, to: u32) -> Option<&mut Link> {
        self.links.iter_mut().find(|link| link.to == to)
    }

    pub(super) const fn announces(&self) -> bool {
        self.announces
    }
}

impl Queue {
    /// The head in the mode that its next hop's law has used last.
    #[inline]
    pub(super) fn in_usual_mode(&mut self, head: Head) -> Head {
        if self.modes.is_some() { self.in_mode_of_law(head) } else { head }
    }

    #[inline(never)] // out of the way of contenders without rate control
    fn in_mode_of_law(&mut self, head: Head) -> Head {
        let Some(modes) = &mut self.modes else { return head };
        (modes.announces, modes.probes) = (false, false);
        modes.link(head.to).map_or(head, |link| Head { mode: link.usual, ..head })
    }

    /// The most packets of its next frame, beside other limits.
    pub(super) fn parts_max(&self, limit: u16) -> u16 {
        if self.modes.as_ref().is_some_and(|modes| modes.probes) { 1 } else { limit }
    }
}

impl<S: Shape> DcfAir<S> {
    /// See [`Air::control_modes`](crate::Air::control_modes).
    pub fn control_modes(&mut self, by: Contender, link: ControlledLink, own: Mode) {
        let ControlledLink { to, modes, law, loss_max } = link;
        let counters = vec![ModeCounters::default(); modes.len()];
        let status = FrameStatus::default();
        let (chain, step, best) = (None, 0, None);
        let link = Link { to, modes, law, loss_max, counters, usual: own, chain, step, status, best };
        self.queues[by as usize].modes.get_or_insert_default().links.push(link);
    }

    /// See [`Air::usual_mode`](crate::Air::usual_mode).
    pub fn usual_mode(&self, by: Contender, to: u32) -> Option<Mode> {
        let modes = self.queues[by as usize].modes.as_ref()?;
        modes.links.iter().find(|link| link.to == to).map(|link| link.usual)
    }

    /// See [`Air::mode_counters`](crate::Air::mode_counters).
    pub fn mode_counters(&self, of: Contender) -> impl Iterator<Item = (u32, Mode, ModeCounters)> {
        let links = self.queues[of as usize].modes.iter().flat_map(|modes| &modes.links);
        links.flat_map(|link| {
            link.modes.iter().zip(&link.counters).map(|(mode, counters)| (link.to, *mode, *counters))
        })
    }

    /// See [`Air::clear_mode_counters`](crate::Air::clear_mode_counters).
    pub fn clear_mode_counters(&mut self) {
        for c in 0..self.queues.all().len() {
            let links = self.queues[c].modes.iter_mut().flat_map(|modes| &mut modes.links);
            links.for_each(|link| link.counters.fill(ModeCounters::default()));
        }
    }

    /// The next exchange has the mode of its chain's next step, or of a new chain.
    #[inline(never)] // out of the way of contenders without rate control
    pub(super) fn choose_mode(&mut self, now: Instant, c: Contender) {
        let Some(head) = self.queues[c as usize].head.filter(|head| head.to != BROADCAST) else { return };
        let Some(mut modes) = self.queues[c as usize].modes.take() else { return };
        if let Some(link) = modes.link(head.to) {
            if link.step().is_none() {
                let best = link.law.asks_medium().then(|| self.best_mode(now, c, link));
                let chain = link.law.on_frame(&FrameView { now, best });
                link.begin(chain);
            }
            let (step, is_first) = (link.step().expect("it has begun"), link.step == 0);
            let mode = link.modes[usize::from(step.mode)];
            let probes = is_first && link.chain.is_some_and(|chain| chain.probe);
            (modes.announces, modes.probes) = (step.announced, probes);
            self.queues[c as usize].head = Some(Head { mode, ..head });
        } else {
            (modes.announces, modes.probes) = (false, false);
        }
        self.queues[c as usize].modes = Some(modes);
        if self.queues[c as usize].batch.is_none() {
            let head = self.queues[c as usize].head.expect("it was there");
            self.queues[c as usize].plan = self.plan(c, &head);
        }
    }

    /// The best mode at this instant, as a place among the link's. With an error model it has the greatest product of rate and
    /// share received, or is the fastest within the greatest loss. Without one it is the fastest that is received at all.
    fn best_mode(&mut self, now: Instant, c: Contender, link: &mut Link) -> u16 {
        let node = self.queues[c as usize].node as usize;
        let Capture::Errors(model) = self.rules.capture else { return self.fastest_mode(node, link) };
        let ear = self.ears_of(node, 0).map(|i| self.ears[i]).find(|ear| ear.node == link.to);
        let Some(ear) = ear.map(|ear| self.faded(node, &ear, now)) else { return 0 };
        if let Some((_, best)) = link.best.filter(|(power, _)| power.to_bits() == ear.power_mw.to_bits()) {
            return best;
        }
        let power = Dbm::new(10.0 * libm::log10(f64::from(ear.power_mw)));
        let (phy, modes) = (self.timing.phy, link.modes.iter().copied());
        let best = model.best(phy, modes, power, FULL_PACKET, link.loss_max);
        let place = link.modes.iter().position(|mode| Some(*mode) == best).unwrap_or(0) as u16;
        link.best = Some((ear.power_mw, place));
        place
    }

    fn fastest_mode(&self, node: usize, link: &Link) -> u16 {
        let is_received = |mode: Mode| {
            let class = if S::PLAIN || self.classes.is_empty() { 0 } else { self.class_among(mode) };
            let near = self.ears_of(node, class);
            let all = near.chain(if self.is_wide() { self.far_ears_of(node, class) } else { 0..0 });
            all.map(|i| &self.ears[i]).any(|ear| ear.node == link.to && ear.decodable)
        };
        let received = (0..).zip(&link.modes).filter(|(_, mode)| is_received(**mode));
        received.max_by_key(|(_, mode)| mode.rate()).map_or(0, |(place, _)| place)
    }

    /// The exchange under way has ended, with an acknowledgement or without one.
    #[inline(never)] // out of the way of contenders without rate control
    pub(super) fn note_exchange(&mut self, now: Instant, c: Contender, is_acknowledged: bool) {
        let queue = &mut self.queues[c as usize];
        let (has_sent, parts) = (queue.has_sent_data(), queue.plan.parts);
        let (Some(head), Some(modes)) = (queue.head, &mut queue.modes) else { return };
        let Some(link) = modes.link(head.to).filter(|_| has_sent) else { return };
        let acknowledged = is_acknowledged.then(|| queue.batch.as_ref().map_or(1, |batch| batch.received()));
        let asks = queue.batch.as_ref().is_some_and(|batch| batch.asks_after_missed());
        link.note(now, parts, acknowledged, asks && parts > 1);
    }

    /// The head is given up: its chain ends with it.
    pub(super) fn end_chain(&mut self, now: Instant, c: Contender) {
        let queue = &mut self.queues[c as usize];
        if let (Some(head), Some(modes)) = (queue.head, &mut queue.modes)
            && let Some(link) = modes.link(head.to)
        {
            link.end(now);
        }
    }
}
