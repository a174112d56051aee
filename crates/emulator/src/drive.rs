//! The drive: a simulated network between ports from which packets are read and to which they are written,
//! along a clock.
//!
//! The clock is that of the ports: real time with TUN devices, virtual time in tests. The drive never lets
//! the network run ahead of it.

use crate::address::Addresses;
use crate::capture::RealBytes;
use crate::lateness::Clockwork;
use crate::packet::{self, Head, Trouble};
use crate::routes::{RoutePart, Routes};
use crate::traffic::Board;
use evenair_laws::backoff::Category;
use evenair_netsim::{Codepoint, Emerged, Fate, Foreign, Network, NetworkSpec, Watchers, Whose};
use evenair_results::Strays;
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::BROADCAST;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

/// The ports of a network's nodes, and their clock. A node has the port of its number; a router has one more
/// for each of its wires.
pub(crate) trait Ports {
    /// Returns the time; the network begins at zero.
    fn now(&self) -> Instant;
    /// Waits until this instant, or until a port can be read; adds the readable ports to `ready`, which is
    /// empty.
    fn wait(&mut self, until: Instant, ready: &mut Ready);
    /// Reads one packet of a port into `packet`, which is empty; returns whether there was one.
    fn read(&mut self, port: u32, packet: &mut Vec<u8>) -> bool;
    /// Makes packets of a port stay with their kernel, or be read again.
    fn hold(&mut self, port: u32, held: bool);
    /// Writes a packet to a port; returns whether it was accepted.
    fn write(&mut self, port: u32, packet: &[u8]) -> bool;
}

/// Ports that can be read.
pub(crate) type Ready = Vec<u32>;

/// The longest time between two checks of the stop flag.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The most packets read from a port before others have their turn.
const TURN: usize = 64;

/// The error messages that a router sends one sender at once, and the time until each further one, as in
/// Linux (`icmp_ratelimit`).
const TOLD_AT_ONCE: u64 = 6;
const TELL_EVERY: Duration = Duration::from_secs(1);

/// The most packets in routers' kernels; with more, the kernels have dropped many.
const PASSING_MAX: usize = 1 << 16;

/// A flow of the network with real packets, identified by the port of its destination.
#[derive(Clone, Debug)]
pub(crate) struct RealFlow {
    pub(crate) number: u32,
    /// The nodes on its path, both ends included.
    pub(crate) way: Vec<u32>,
    /// Bytes by which the scenario's headers are larger than those of the packets.
    pub(crate) more: i32,
    /// Whether its packets are probes of its path.
    pub(crate) is_probes: bool,
}

/// A packet's bytes, while the network has only its size.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) bytes: Vec<u8>,
    part: Option<RoutePart>,
    /// The number of uses of its place: a frame may repeat a packet that is gone.
    uses: u32,
}

impl Kept {
    /// Returns the number of a place, which the network has as its packet's content.
    fn number(&self, place: usize) -> u64 {
        u64::from(self.uses) << u32::BITS | place as u64
    }

    fn place(number: u64) -> usize {
        number as u32 as usize
    }

    /// Returns a packet, unless its place has been reused.
    pub(crate) fn of(all: &[Self], number: u64) -> Option<&Self> {
        all.get(Self::place(number)).filter(|kept| kept.number(Self::place(number)) == number)
    }
}

/// The holding back of packets without room.
#[derive(Debug)]
struct Backpressure {
    /// The queues that packets of each port may enter.
    queues: Vec<Vec<u32>>,
    /// Ports that are not read.
    held: Vec<u32>,
}

/// A network between ports.
pub(crate) struct Drive<P> {
    network: Network,
    ports: P,
    addresses: Addresses,
    routes: Routes,
    /// Ports of routers' wires: the router, and the node at the other end.
    sides: Vec<(u32, u32)>,
    /// The node that receives packets to addresses outside of the network.
    uplink: Option<u32>,
    /// The time of first entry of packets that are in routers' kernels.
    passing: HashMap<u64, Instant>,
    /// The time up to which a router's messages to a sender use up its rate limit.
    told: BTreeMap<(u32, u32), Instant>,
    flows: BTreeMap<u16, RealFlow>,
    kept: Vec<Kept>,
    /// The free places, in the order of becoming free.
    free: VecDeque<usize>,
    clockwork: Clockwork,
    strays: Strays,
    board: Arc<Board>,
    backpressure: Option<Backpressure>,
}

impl<P: Ports> Drive<P> {
    /// Returns a network at the beginning of its run, between these ports; those of `sides` follow the
    /// nodes'. One node may be the uplink.
    pub(crate) fn new(
        spec: &NetworkSpec,
        network: Network,
        (routes, sides, uplink): (Routes, Vec<(u32, u32)>, Option<u32>),
        ports: P,
        board: Arc<Board>,
    ) -> Self {
        Self {
            network,
            ports,
            addresses: Addresses::of(spec.nodes.len() as u32),
            routes,
            sides,
            uplink,
            passing: HashMap::new(),
            told: BTreeMap::new(),
            flows: BTreeMap::new(),
            kept: Vec::new(),
            free: VecDeque::new(),
            clockwork: Clockwork::default(),
            strays: Strays::default(),
            board,
            backpressure: None,
        }
    }

    /// Assigns packets to this port of its destination, and from it, to a flow.
    pub(crate) fn add_flow(&mut self, port: u16, flow: RealFlow) {
        self.flows.insert(port, flow);
    }

    /// Makes packets without room at their node stay with their kernel, as behind a radio's driver. Otherwise
    /// they are lost at the node, as a simulated flow's are.
    pub(crate) fn hold_back(&mut self) {
        let queues = |port: u32| {
            let node = self.node_of(port);
            let wire = |&(_, end): &(u32, Option<u32>)| end.is_none_or(|end| self.port_of(node, end) == port);
            self.network.queues_of(node).into_iter().filter(wire).map(|(queue, _)| queue).collect()
        };
        let ports = self.addresses.nodes() + self.sides.len() as u32;
        self.backpressure = Some(Backpressure { queues: (0..ports).map(queues).collect(), held: Vec::new() });
    }

    /// Returns whether a port's packets are to stay in their kernel; it is checked again when there is room.
    fn holds_back(&mut self, port: u32) -> bool {
        let Some(Backpressure { queues, held }) = &mut self.backpressure else { return false };
        let is_held = queues[port as usize].iter().any(|&queue| !self.network.has_room(queue));
        if is_held {
            held.push(port);
            self.ports.hold(port, true);
        }
        is_held
    }

    /// Reads ports again once their nodes have room.
    fn let_go(&mut self) {
        let Some(Backpressure { queues, held }) = &mut self.backpressure else { return };
        let (network, ports) = (&self.network, &mut self.ports);
        held.retain(|&port| {
            let stays = queues[port as usize].iter().any(|&queue| !network.has_room(queue));
            if !stays {
                ports.hold(port, false);
            }
            stays
        });
    }

    /// Runs until `end`, or until `stop` returns true, which is called often; returns the instant at which it
    /// ended.
    pub(crate) fn run(
        &mut self,
        end: Instant,
        watchers: &mut Watchers<'_>,
        mut stop: impl FnMut(Instant, &Clockwork) -> bool,
    ) -> Instant {
        let (mut ready, mut packet) = (Ready::new(), Vec::new());
        loop {
            let now = self.ports.now().min(end);
            self.catch_up(now, watchers);
            if now == end || stop(now, &self.clockwork) {
                return now;
            }
            self.let_go();
            ready.clear();
            let look = now + LOOK_EVERY;
            self.ports.wait(self.network.next_at().min(end).min(look), &mut ready);
            for &port in &ready {
                for _ in 0..TURN {
                    if self.holds_back(port) {
                        break;
                    }
                    packet.clear();
                    if !self.ports.read(port, &mut packet) {
                        break;
                    }
                    let now = self.ports.now().min(end);
                    self.catch_up(now, watchers);
                    self.enter(now, port, std::mem::take(&mut packet));
                }
            }
        }
    }

    /// Returns the network, the lateness of its packets, and the packets that did not pass through it.
    pub(crate) fn finish(self) -> (Network, Clockwork, Strays) {
        (self.network, self.clockwork, self.strays)
    }

    /// Processes all that happens in the network until now.
    fn catch_up(&mut self, now: Instant, watchers: &mut Watchers<'_>) {
        while let Some(emerged) = self.advance(now, watchers) {
            self.leave(&emerged);
        }
        self.board.tell(&self.network);
        self.board.read(&mut self.network);
    }

    fn advance(&mut self, now: Instant, watchers: &mut Watchers<'_>) -> Option<Emerged> {
        let Some(sink) = watchers.frames.as_deref_mut() else {
            return self.network.advance_watched(now, watchers);
        };
        let mut real = RealBytes { sink, kept: &self.kept, bytes: Vec::new() };
        let series = watchers.series.as_mut().map(|see| &mut **see as &mut dyn FnMut(&_));
        let mut watchers = Watchers { frames: Some(&mut real), series, progress: None };
        self.network.advance_watched(now, &mut watchers)
    }

    /// Puts a packet that a node's kernel has sent into the network, if it is valid and there is a route.
    fn enter(&mut self, now: Instant, port: u32, bytes: Vec<u8>) {
        let Some(head) = packet::head(&bytes) else {
            self.strays.no_packet += 1;
            return;
        };
        let node = self.node_of(port);
        if self.routes.is_router(node) && packet::is_redirect(&bytes) {
            return; // a packet that leaves by the device of its arrival takes no detour: the air is one device
        }
        let is_passing = self.routes.is_router(node) && self.addresses.node(head.from) != Some(node);
        let since = if is_passing { self.passing.remove(&packet::identity(&bytes)) } else { None };
        let to = match head.to {
            IpAddr::V4(to) if to.is_multicast() || to.is_broadcast() => Some(BROADCAST),
            IpAddr::V6(to) if to.is_multicast() => Some(BROADCAST),
            to => self.addresses.node(to).or(self.uplink.filter(|_| !Addresses::is_inside(to))),
        };
        let refused = match to.filter(|&to| to != node) {
            Some(to) => self.send(now, (node, to), since, &head, bytes),
            None => Some(bytes),
        };
        if let Some(bytes) = refused {
            self.strays.no_route += 1;
            self.tell(now, node, Trouble::NoRoute, &bytes);
        }
    }

    fn node_of(&self, port: u32) -> u32 {
        let nodes = self.addresses.nodes();
        port.checked_sub(nodes).map_or(port, |side| self.sides[side as usize].0)
    }

    /// Returns the port at which a packet from this neighbour reaches a node.
    fn port_of(&self, node: u32, neighbour: u32) -> u32 {
        let side = self.sides.iter().position(|&side| side == (node, neighbour));
        side.map_or(node, |side| self.addresses.nodes() + side as u32)
    }

    /// Puts a packet into the network; returns it if there is no route.
    fn send(
        &mut self,
        now: Instant,
        (from, to): (u32, u32),
        since: Option<Instant>,
        head: &Head,
        bytes: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let flow = self.flow_of(from, to, head);
        let part = match flow {
            Some((flow, back)) => self.routes.along(from, flow.after(from, back), to, head.hops),
            None => self.routes.first_part(from, to, head.hops),
        };
        let Some(part) = part else { return Some(bytes) };
        let (whose, more) = match flow.filter(|_| !part.expires) {
            Some((&RealFlow { number: flow, is_probes, more, .. }, back)) => {
                (if is_probes { Whose::Probe { flow, back } } else { Whose::Flow { flow, back } }, more)
            }
            None => (Whose::Nobody(turn(head)), 0),
        };
        let length = (bytes.len() as u32).saturating_add_signed(more);
        let place = self.free.pop_front().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            self.kept.len() - 1
        });
        let kept = &mut self.kept[place];
        kept.uses = kept.uses.wrapping_add(1);
        let content = kept.number(place);
        let size = Bytes::new(length.clamp(1, u16::MAX.into()));
        let category = Category::of_dscp(head.dscp);
        let (to, ecn) = (part.to, head.ecn);
        (kept.bytes, kept.part) = (bytes, Some(part));
        let packet = Foreign { from, to, size, whose, since, category, ecn, content };
        if self.network.inject(now, packet).is_err() {
            self.free.push_back(place);
            return Some(std::mem::take(&mut self.kept[place].bytes));
        }
        None
    }

    /// Returns the flow of a packet between these nodes, and whether it goes back. A packet that a router
    /// forwards comes from the address in its header.
    fn flow_of(&self, from: u32, to: u32, head: &Head) -> Option<(&RealFlow, bool)> {
        let (source, destination) = head.ports?;
        let origin = self.addresses.node(head.from)?;
        if origin != from && !self.routes.is_router(from) {
            return None;
        }
        let there = self.flows.get(&destination).filter(|flow| flow.ends() == (origin, to));
        let back = self.flows.get(&source).filter(|flow| flow.ends() == (to, origin));
        let flow = there.map(|flow| (flow, false)).or(back.map(|flow| (flow, true)));
        flow.filter(|(flow, _)| flow.way.contains(&from))
    }

    /// Processes a packet that leaves the network.
    fn leave(&mut self, emerged: &Emerged) {
        let place = Kept::place(emerged.packet.content);
        let mut kept = std::mem::take(&mut self.kept[place]);
        let marked = emerged.packet.ecn == Codepoint::Marked;
        match emerged.fate {
            Fate::Heard { node } => {
                let port = self.port_of(node, emerged.packet.from);
                self.write(port, &kept.bytes, emerged.at);
                self.kept[place] = kept;
                return;
            }
            Fate::Arrived => {
                let part = kept.part.expect("it was sent");
                packet::take_hops(&mut kept.bytes, part.passed);
                if marked {
                    packet::mark(&mut kept.bytes);
                }
                if part.expires {
                    self.strays.hops_used_up += 1;
                    self.tell(emerged.at, part.to, Trouble::HopsUsedUp, &kept.bytes);
                } else {
                    self.remember(emerged, &kept.bytes);
                    self.write(self.port_of(part.to, part.before), &kept.bytes, emerged.at);
                }
            }
            Fate::Over | Fate::Lost { .. } => (),
        }
        self.kept[place] = kept;
        self.free.push_back(place);
    }

    /// Stores the time of entry of a packet that a router receives for others.
    fn remember(&mut self, emerged: &Emerged, bytes: &[u8]) {
        let router = emerged.packet.to;
        let is_for =
            |node| packet::head(bytes).is_some_and(|head| self.addresses.node(head.to) == Some(node));
        if self.routes.is_router(router)
            && !is_for(router)
            && let Some(since) = emerged.packet.since
        {
            if self.passing.len() == PASSING_MAX {
                self.passing.clear();
            }
            self.passing.insert(packet::identity(bytes), since);
        }
    }

    fn write(&mut self, port: u32, bytes: &[u8], due: Instant) {
        let taken = self.ports.write(port, bytes);
        self.strays.refused += u64::from(!taken);
        self.clockwork.add(self.ports.now().since(due));
    }

    /// Sends a packet's sender a router's error message.
    fn tell(&mut self, now: Instant, router: u32, trouble: Trouble, bytes: &[u8]) {
        let addresses = (self.addresses.ipv4(router), self.addresses.ipv6(router));
        let Some(answer) = packet::tell(trouble, bytes, addresses) else { return };
        let head = packet::head(&answer).expect("it was just made");
        let Some(sender) = self.addresses.node(head.to) else { return };
        let spoken_for = self.told.entry((router, sender)).or_insert(now);
        *spoken_for = now.max(*spoken_for);
        if spoken_for.since(now) > TELL_EVERY * (TOLD_AT_ONCE - 1) {
            return;
        }
        *spoken_for += TELL_EVERY;
        if sender == router {
            self.write(router, &answer, now);
        } else {
            // Without a route back the message is lost, as at a real router.
            self.send(now, (router, sender), None, &head, answer);
        }
    }
}

impl RealFlow {
    /// Returns its source and its destination.
    fn ends(&self) -> (u32, u32) {
        (self.way[0], self.way[self.way.len() - 1])
    }

    /// Iterates over the nodes that follow one on its path, or on the way back.
    fn after(&self, node: u32, back: bool) -> impl Iterator<Item = u32> {
        let count = self.way.len();
        let place = self.way.iter().position(|&other| other == node).unwrap_or(count);
        (1..count).map_while(move |step| {
            let next = if back { place.checked_sub(step) } else { place.checked_add(step) };
            self.way.get(next?).copied()
        })
    }
}

/// Returns the small number by which fair queues distinguish packets of no flow: a hash of ends, ports and
/// protocol.
fn turn(head: &Head) -> u32 {
    let mut hasher = DefaultHasher::new();
    (head.from, head.to, head.ports, head.protocol).hash(&mut hasher);
    hasher.finish() as u32 & 1023
}

#[cfg(test)]
mod tests;
