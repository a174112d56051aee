//! The core of a network: events, the air, queues, wires, forwarding. It moves packets from where they are injected to where they
//! leave, and knows neither flows nor TCP.
//!
//! # Contract
//! Attachments talk to the core by data: [`News`] out, calls in. [`Core::advance`] goes on until there is a piece of news, and
//! returns it; the attachments answer it, by [`Core::inject`] and [`Core::call`], before it advances again. So the order of all
//! events at one instant is the order of these calls, for any driver of the loop.
//!
//! Wake instants are exact. Before [`Core::next_at`] nothing happens of itself, at it something may. A packet may be injected at any instant
//! between the last event and that one ([`Core::move_to`] asserts it); nothing is handled late.

mod ahead;
mod air;
mod backoff;
mod build;
mod forwarding;
mod motion;
mod pool;
mod room;
mod shaping;
mod staging;
mod trace;
mod wires;

pub(crate) use build::FlowHops;
pub(crate) use forwarding::{Forwarding, Hop, Passed};
pub use shaping::ClassRefused;
pub(crate) use trace::Traced;

use crate::packet::{Body, LossCause, Packet, Way, Whose};
use crate::queue::{Buffer, Mark, Outlet, Queued, Service, TransmitQueue};
use crate::spec::Staging;
use backoff::Round;
use evenair_des::{Phase, Place, Queue};
use evenair_units::{Duration, Instant, Probability, Volume};
use evenair_wifi::{Air, PacketId, Up};
use motion::Moving;
use pool::Pool;
use room::is_full;
use shaping::ShaperHost;
use staging::Staged;
use std::collections::VecDeque;
use trace::Trace;

/// The hop of a packet that is at the end of its way.
pub(crate) const END: u32 = u32::MAX;

/// The kinds of events that are not the air's.
#[derive(Clone, Copy, Debug)]
enum Event<T> {
    /// The last bit of a packet is on a wire.
    WireSent(u32),
    /// A packet reaches the end of a wire.
    WireArrival(u32),
    /// A queue has a packet to send that it kept back.
    Ready(u32),
    /// Back-off laws run.
    Backoff(u32),
    /// The rates of a shaper change.
    Shaping(u32),
    /// Nodes have moved.
    Move,
    /// A frame has ended after a move of its sender.
    Settle,
    /// A flow takes another path: which of the changes.
    Detour(u32),
    /// A call that an attachment asked for.
    Attached(T),
}

/// The next event, or packet between layers, beside the air.
#[derive(Clone, Copy, Debug)]
struct Beside {
    /// When; never, if nothing is.
    at: Instant,
    /// It is a packet between layers, and no event.
    is_between_layers: bool,
}

impl Beside {
    const NOTHING: Self = Self { at: Instant::NEVER, is_between_layers: false };

    /// Something new is due, after all else of its instant.
    #[inline]
    fn add(&mut self, at: Instant, is_between_layers: bool) {
        if at < self.at {
            *self = Self { at, is_between_layers };
        }
    }
}

/// Which way a packet goes between the network layer and a transmit queue.
#[derive(Clone, Copy, Debug)]
enum Direction {
    Down,
    Up,
}

/// News for the attachments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum News<T> {
    /// A packet has reached the end of its way, and has left the network.
    Arrived(Packet),
    /// A node has received a broadcast.
    Heard {
        /// Which node.
        at: u32,
        packet: Packet,
    },
    /// A broadcast from outside is over, with or without receivers.
    Over(Packet),
    /// A packet from outside was lost at a node.
    Lost { packet: Packet, at: u32, cause: LossCause },
    /// A packet of a way that is watched has left its first node, or was dropped there, and there is room for the next.
    Room(Way),
    /// An instant that was asked for has come.
    Due(T),
    /// Frames have ended, if they are recorded: [`Core::take_frames`].
    Frames,
}

/// The fates of the packets of one way: one line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Passage {
    pub(crate) originated: Volume,
    pub(crate) delivered: Volume,
    pub(crate) dropped: Volume,
    /// Probes among the packets dropped.
    pub(crate) probes_dropped: u64,
}

impl Passage {
    /// Packets of the flow's own that were dropped: probes are the host's.
    pub(crate) const fn lost(&self) -> u64 {
        self.dropped.packets - self.probes_dropped
    }
}

/// A network without its attachments. `T` is the data with which they are called back.
#[derive(Clone, Debug)]
pub(crate) struct Core<T> {
    now: Instant,
    events: Queue<Event<T>>,
    /// Of one instant its events come before all others.
    pub(crate) air: Air,
    /// The air's news, and how much of it has been handled.
    heard: Vec<Up>,
    handled: usize,
    news: VecDeque<News<T>>,
    /// The last two queues that the air has told of, the newer one first.
    upcoming: [u32; 2],
    /// The ways of packets that they have in service: the attachments may fetch state of their own.
    pub(crate) soon: Vec<Way>,
    pub(crate) queues: Vec<TransmitQueue>,
    /// How packets are staged for aggregates, if they are; and those that are, by queue.
    staging: Option<Staging>,
    staged: Vec<Staged>,
    buffers: Vec<Buffer>,
    pub(crate) hops: Forwarding,
    pool: Pool,
    /// By way; the last is that of all packets from outside.
    passages: Vec<Passage>,
    /// Packets between layers, by place. The delay is one for all, or twice that, so they are nearly in order and need no place in the event
    /// queue.
    between_layers: VecDeque<(Place, Direction, PacketId)>,
    layer_delay: Duration,
    beside: Beside,
    rounds: Vec<Round>,
    shapers: Vec<ShaperHost>,
    /// Packets that a discipline has just given up.
    culled: Vec<Queued>,
    trace: Option<Box<Trace>>,
    /// How nodes move, if they do.
    moving: Option<Box<Moving>>,
}

impl<T: Copy> Core<T> {
    /// The instant of the last event or injection.
    #[inline]
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// When something happens next, if nothing is injected before; never, if nothing will.
    pub(crate) fn next_at(&self) -> Instant {
        if !self.news.is_empty() || self.handled < self.heard.len() {
            return self.now;
        }
        self.air.next_at().min(self.beside.at)
    }

    /// Finds the next of the two, when one was taken.
    #[inline]
    fn find_beside(&mut self) {
        let event = self.events.next_place();
        self.beside = match self.between_layers.front() {
            Some(&(place, ..)) if event.is_none_or(|event| place < event) => {
                Beside { at: place.at(), is_between_layers: true }
            }
            _ => event.map_or(Beside::NOTHING, |event| Beside { at: event.at(), is_between_layers: false }),
        };
    }

    /// Goes on to the next piece of news, through all that happens at `until` and before; none, if there is none by then.
    pub(crate) fn advance(&mut self, until: Instant) -> Option<News<T>> {
        loop {
            if !self.news.is_empty() {
                return self.news.pop_front();
            }
            if let Some(&up) = self.heard.get(self.handled) {
                self.on_up(up);
                self.handled += 1;
                if self.handled == self.heard.len() {
                    self.heard.clear();
                    self.handled = 0;
                }
                continue;
            }
            if self.step_on_air(until.min(self.beside.at)) {
                continue;
            }
            let Beside { at, is_between_layers } = self.beside;
            if at > until || at.is_never() {
                return None;
            }
            self.turn_to(at);
            let news = if is_between_layers { self.step_between_layers() } else { self.step_event() };
            if news.is_some() {
                return news;
            }
        }
    }

    /// Goes on with the air through all that is due there at `until` and before, but only to its next news; tells whether there
    /// is some, or it may go on.
    #[expect(clippy::inline_always, reason = "a step of the loop")]
    #[inline(always)]
    fn step_on_air(&mut self, until: Instant) -> bool {
        let Some(now) = self.air.advance(until, &mut self.heard) else { return false };
        self.turn_to(now);
        if self.trace.is_some() {
            self.trace();
            return true;
        }
        !self.heard.is_empty() || self.fetch_ahead()
    }

    /// The next packet between layers comes to the layer that it goes to, or out of the network.
    #[inline]
    fn step_between_layers(&mut self) -> Option<News<T>> {
        let (_, direction, id) = self.between_layers.pop_front()?;
        self.find_beside();
        match direction {
            Direction::Down => self.enqueue(id),
            Direction::Up => return self.arrival(id),
        }
        None
    }

    /// Handles the next event, or hands up a call that an attachment asked for.
    #[inline]
    fn step_event(&mut self) -> Option<News<T>> {
        let (_, event) = self.events.pop()?;
        self.find_beside();
        if let Event::Attached(due) = event {
            return Some(News::Due(due));
        }
        self.handle(event);
        None
    }

    /// Handles an event of the network's own.
    #[inline(never)]
    fn handle(&mut self, event: Event<T>) {
        match event {
            Event::Attached(_) => unreachable!("an attachment's"),
            Event::WireSent(by) => self.on_wire_sent(by),
            Event::WireArrival(by) => self.on_wire_arrival(by),
            Event::Ready(by) => self.on_ready(by),
            Event::Backoff(round) => self.update_laws(round),
            Event::Shaping(host) => self.update_rates(host),
            Event::Move => self.on_move(),
            Event::Settle => self.settle(),
            Event::Detour(change) => self.take_detour(change),
        }
    }

    #[inline]
    fn turn_to(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time runs backwards");
        self.now = now;
    }

    /// It is later now, though nothing has happened.
    pub(crate) fn move_to(&mut self, now: Instant) {
        assert!(self.now <= now, "time runs backwards");
        assert!(now <= self.next_at(), "what was due before has not been handled");
        self.now = now;
    }

    /// Asks to be called at an instant, with these data.
    #[inline]
    pub(crate) fn call_at(&mut self, at: Instant, due: T) {
        self.call(at, Event::Attached(due));
    }

    #[inline]
    fn call(&mut self, at: Instant, event: Event<T>) {
        debug_assert!(at >= self.now, "an event in the past");
        self.events.push(at, Phase::Host, event);
        self.beside.add(at, false);
    }

    /// A new packet enters the network at the queue of this hop.
    #[inline]
    pub(crate) fn inject(&mut self, way: Way, hop: u32, size: u32, body: Body) {
        debug_assert!(hop != END, "a packet goes nowhere");
        // A flow's packet that comes in again is not one more of the flow's.
        let comes_again = matches!(&body, Body::Foreign(entered) if entered.at() < self.now);
        self.passage(if comes_again { Way::OUTSIDE } else { way }).originated.add(size.into());
        let entrance = self.entrance(hop);
        if entrance == END {
            let id = self.pool.insert(Packet { way, hop, size, body });
            return self.drop_without_route(id);
        }
        let id = self.pool.insert(Packet { way, hop: entrance, size, body });
        self.send_down(id);
    }

    /// Events handled.
    pub(crate) fn handled(&self) -> u64 {
        self.events.inserted() - self.events.len() as u64 + self.air.steps()
    }

    /// By way; the last is that of all packets from outside.
    pub(crate) fn passages(&self) -> &[Passage] {
        &self.passages
    }

    /// The packets that wait, or are in service, in the queue of a hop.
    pub(crate) fn backlog_at(&self, hop: u32) -> Volume {
        self.queues[self.hops.get(hop).queue as usize].backlog()
    }

    /// The same of all hops of a way together, which begins at this one.
    pub(crate) fn backlog_along(&self, first: u32) -> Volume {
        self.hops.chain(self.entrance(first)).fold(Volume::default(), |sum, hop| {
            let here = self.backlog_at(hop as u32);
            Volume { packets: sum.packets + here.packets, bytes: sum.bytes + here.bytes }
        })
    }

    /// Packets in the network.
    pub(crate) fn under_way(&self) -> u64 {
        self.pool.len() as u64
    }

    #[inline]
    fn passage(&mut self, way: Way) -> &mut Passage {
        let last = self.passages.len() - 1;
        &mut self.passages[(way.0 as usize).min(last)]
    }

    #[inline]
    fn send_down(&mut self, id: PacketId) {
        if self.layer_delay.is_zero() || !self.is_on_air(self.pool.get(id).hop) {
            self.enqueue(id);
        } else {
            self.delay(id, Direction::Down);
        }
    }

    fn is_on_air(&self, hop: u32) -> bool {
        let queue = &self.queues[self.hops.get(hop).queue as usize];
        matches!(queue.outlet, Outlet::Air)
    }

    #[inline]
    fn delay(&mut self, id: PacketId, direction: Direction) {
        let at = self.now.later(self.layer_delay);
        let place = self.events.place(at, Phase::Host);
        if self.between_layers.back().is_none_or(|last| last.0 < place) {
            self.between_layers.push_back((place, direction, id));
        } else {
            self.delay_before_others(place, direction, id);
        }
        self.beside.add(at, true);
    }

    /// A packet goes on between layers while others have twice the delay before them.
    #[cold]
    #[inline(never)]
    fn delay_before_others(&mut self, place: Place, direction: Direction, id: PacketId) {
        let index = self.between_layers.partition_point(|other| other.0 < place);
        self.between_layers.insert(index, (place, direction, id));
    }

    /// A packet that is forwarded comes to its network layer and to the next queue: one delay after the other, where nothing watches the
    /// network layer.
    #[inline]
    fn delay_twice(&mut self, id: PacketId) {
        let at = self.now.later(self.layer_delay).later(self.layer_delay);
        self.between_layers.push_back((self.events.place(at, Phase::Host), Direction::Down, id));
        self.beside.add(at, true);
    }

    /// A packet reaches a transmit queue, which may refuse it.
    fn enqueue(&mut self, id: PacketId) {
        let packet = self.pool.get(id);
        let &Hop { queue: by, to: next_hop, watched, .. } = self.hops.get(packet.hop);
        let queue = &mut self.queues[by as usize];
        if let Outlet::Within { answers } = queue.outlet
            && !packet.body.waits_for_tokens(answers)
        {
            return self.pass_by(id);
        }
        let (flow, size) = (packet.way.0, packet.size);
        let mark = if packet.body.may_be_marked() { Mark::Possible } else { Mark::Impossible };
        let arrival = Queued { packet: id, flow, size, next_hop, enqueued: self.now, mark };
        if queue.may_refuse() {
            return self.enqueue_by_laws(by, arrival, watched);
        }
        self.accept(by, arrival, watched);
    }

    /// A packet reaches a transmit queue with laws that may refuse it.
    #[inline(never)]
    fn enqueue_by_laws(&mut self, by: u32, arrival: Queued, watched: bool) {
        if let Some(arrival) = self.pass_laws(by, arrival) {
            self.accept(by, arrival, watched);
        }
    }

    /// A transmit queue takes a packet, if it has room.
    #[expect(clippy::inline_always, reason = "each packet passes here: six calls cost as much as their work")]
    #[inline(always)]
    fn accept(&mut self, by: u32, arrival: Queued, watched: bool) {
        let queue = &mut self.queues[by as usize];
        if is_full(queue, &self.buffers, &arrival) {
            return self.overflow(by, arrival);
        }
        self.buffers[queue.buffer as usize].waiting += 1;
        queue.accept(self.now, arrival);
        match queue.service {
            Service::Nothing => self.serve_next(by),
            Service::Staged { .. } => self.refill(by, arrival.next_hop),
            Service::Packet(..) | Service::Dummy => (),
        }
        if watched {
            self.came_in(by);
        }
    }

    /// Gives back an arrival, perhaps marked, that the laws of its queue let pass; the others are dropped.
    #[inline(never)]
    fn pass_laws(&mut self, by: u32, mut arrival: Queued) -> Option<Queued> {
        let queue = &mut self.queues[by as usize];
        let refusal = queue.refusal(self.now, &arrival);
        if refusal.value() > 0.0 && queue.stream.chance(refusal) {
            // RFC 3168 section 7: a packet refused without exception is dropped, markable or not.
            if refusal == Probability::ONE || self.is_full(by, &arrival) || !arrival.mark() {
                self.refuse(by, arrival);
                return None;
            }
            self.queues[by as usize].note_mark(self.now, &arrival);
        }
        Some(arrival)
    }

    /// A packet finds no room: it, or another in its place, is dropped.
    #[inline(never)]
    fn overflow(&mut self, by: u32, arrival: Queued) {
        let queue = &mut self.queues[by as usize];
        queue.dropped.queue_full += 1;
        let Some(evicted) = queue.evict(self.now, &arrival) else {
            return self.turn_away(by, arrival, LossCause::Overflow);
        };
        // Its place in the buffer is the arrival's.
        queue.accept(self.now, arrival);
        self.give_up(by, evicted, LossCause::Overflow);
    }

    /// A packet is dropped on its way, at this queue, which has counted it; gives the hop that it was to make.
    #[inline]
    fn lose(&mut self, id: PacketId, by: u32, cause: LossCause) -> u32 {
        let &Packet { way, hop, size, ref body } = self.pool.get(id);
        if matches!(body, Body::Probe { .. } | Body::Foreign(_)) {
            self.note_lost(id, by, cause);
        }
        self.pool.remove(id);
        self.passage(way).dropped.add(size.into());
        hop
    }

    /// A packet is lost that is no flow's own, or comes from outside.
    #[cold]
    #[inline(never)]
    fn note_lost(&mut self, id: PacketId, by: u32, cause: LossCause) {
        let packet = *self.pool.get(id);
        let mut is_probe = matches!(packet.body, Body::Probe { .. });
        if let Body::Foreign(entered) = packet.body {
            is_probe = matches!(entered.whose(), Whose::Probe { .. });
            let at = self.queues[by as usize].node;
            self.news.push_back(News::Lost { packet, at, cause });
        }
        self.passage(packet.way).probes_dropped += u64::from(is_probe);
    }

    /// Whether a packet from outside leaves at the node that it has come to, though its flow's way goes on.
    fn leaves_early(&self, packet: &Packet) -> bool {
        let Body::Foreign(entered) = &packet.body else { return false };
        entered.leaves_early()
            && self.queues[self.hops.get(packet.hop).queue as usize].node == entered.ends().1
    }

    /// A packet reaches the network layer of a node. Where it is handed up, the news come later.
    #[inline]
    fn arrive(&mut self, id: PacketId) {
        let news = self.arrival(id);
        self.news.extend(news);
    }

    /// A packet reaches the network layer of a node: forward it, or hand it up, which is news.
    #[inline(never)]
    fn arrival(&mut self, id: PacketId) -> Option<News<T>> {
        self.watch_arriving(id);
        let packet = self.pool.get(id);
        if packet.hop == END || self.leaves_early(packet) {
            return Some(self.leave(id));
        }
        self.send_down(id);
        None
    }

    /// A packet leaves the network at the end of its way, or early.
    fn leave(&mut self, id: PacketId) -> News<T> {
        let packet = self.pool.take(id);
        let way = if packet.hop == END { packet.way } else { Way::OUTSIDE };
        self.passage(way).delivered.add(packet.size.into());
        News::Arrived(packet)
    }
}
