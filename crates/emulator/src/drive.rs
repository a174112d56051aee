//! The drive: a simulated network between ports that packets are read from and written to, along a clock.
//!
//! The clock is the ports': real time with TUN devices, virtual time in tests. The drive never lets the network run ahead of it.

use crate::address::Addresses;
use crate::lateness::Clockwork;
use crate::packet::{self, Head};
use crate::traffic::Gates;
use evenair_netsim::{Codepoint, Emerged, Fate, Foreign, Network, NetworkSpec, Watchers, Whose};
use evenair_results::Strays;
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::BROADCAST;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

/// Ports of a network's nodes, by their numbers, and the clock that they go by.
pub(crate) trait Ports {
    /// What time it is; the network begins at zero.
    fn now(&self) -> Instant;
    /// Waits until this instant, or until a port can be read; puts the ports that can into `ready`, which is empty.
    fn wait(&mut self, until: Instant, ready: &mut Ready);
    /// Reads one packet of a port into `packet`, which is empty; tells whether there was one.
    fn read(&mut self, port: u32, packet: &mut Vec<u8>) -> bool;
    /// Writes a packet to a port; tells whether it was taken.
    fn write(&mut self, port: u32, packet: &[u8]) -> bool;
}

/// Ports that can be read.
pub(crate) type Ready = Vec<u32>;

/// However little happens, it is asked this often whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Packets that a port gives at once, before others have their turn.
const TURN: usize = 64;

/// A flow of the network whose packets are real: told by the port of its destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealFlow {
    pub(crate) number: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Bytes by which the scenario's headers are larger than those of the packets.
    pub(crate) more: i32,
}

/// A packet while the network has its size alone.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    /// Routers that it passes.
    routers: u8,
    /// The last of them has to tell the sender that its hops were used up.
    expires: bool,
}

/// A network between ports.
pub(crate) struct Drive<P> {
    network: Network,
    ports: P,
    addresses: Addresses,
    /// The nodes on the way from one to another, both included.
    ways: BTreeMap<(u32, u32), Vec<u32>>,
    flows: BTreeMap<u16, RealFlow>,
    kept: Vec<Kept>,
    free: Vec<usize>,
    clockwork: Clockwork,
    strays: Strays,
    gates: Arc<Gates>,
}

impl<P: Ports> Drive<P> {
    /// A network at the beginning of its run, between these ports.
    pub(crate) fn new(spec: &NetworkSpec, network: Network, ports: P, gates: Arc<Gates>) -> Self {
        let mut ways = BTreeMap::new();
        for path in spec.flows.iter().map(|flow| &flow.path).chain(&spec.routes) {
            let back: Vec<u32> = path.iter().rev().copied().collect();
            for way in [path.clone(), back] {
                ways.entry((way[0], way[way.len() - 1])).or_insert(way);
            }
        }
        Self {
            network,
            ports,
            addresses: Addresses::of(spec.nodes.len() as u32),
            ways,
            flows: BTreeMap::new(),
            kept: Vec::new(),
            free: Vec::new(),
            clockwork: Clockwork::default(),
            strays: Strays::default(),
            gates,
        }
    }

    /// Packets to this port of its destination, and from it, belong to a flow.
    pub(crate) fn add_flow(&mut self, port: u16, flow: RealFlow) {
        self.flows.insert(port, flow);
    }

    /// Lets time pass until `end`, or until `stop` says so, which is asked often; gives the instant at which it ended.
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
            ready.clear();
            let look = now + LOOK_EVERY;
            self.ports.wait(self.network.next_at().min(end).min(look), &mut ready);
            for &port in &ready {
                for _ in 0..TURN {
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

    /// The network, how late its packets were, and what did not pass through it.
    pub(crate) fn finish(self) -> (Network, Clockwork, Strays) {
        (self.network, self.clockwork, self.strays)
    }

    /// All that happens in the network until now.
    fn catch_up(&mut self, now: Instant, watchers: &mut Watchers<'_>) {
        while let Some(emerged) = self.network.advance_watched(now, watchers) {
            self.leave(&emerged);
        }
        self.gates.tell(&self.network);
    }

    /// A packet that a node's kernel has sent enters the network, if it is one and there is a way.
    fn enter(&mut self, now: Instant, node: u32, bytes: Vec<u8>) {
        let Some(head) = packet::head(&bytes) else {
            self.strays.no_packet += 1;
            return;
        };
        let to = match head.to {
            IpAddr::V4(to) if to.is_multicast() || to.is_broadcast() => Some(BROADCAST),
            IpAddr::V6(to) if to.is_multicast() => Some(BROADCAST),
            to => self.addresses.node(to),
        };
        if to.filter(|&to| to != node).is_none_or(|to| !self.send(now, (node, to), &head, bytes)) {
            self.strays.no_route += 1;
        }
    }

    /// Puts a packet into the network; tells whether there is a way.
    fn send(&mut self, now: Instant, (from, to): (u32, u32), head: &Head, bytes: Vec<u8>) -> bool {
        let routers = self.ways.get(&(from, to)).map_or(0, |way| way.len().saturating_sub(2));
        let expires = usize::from(head.hops) <= routers && to != BROADCAST && routers > 0;
        let flow = self.flow_of(from, to, head).filter(|_| !expires);
        let last = if expires { self.ways[&(from, to)][usize::from(head.hops)] } else { to };
        if last == from {
            self.strays.hops_used_up += 1;
            return true;
        }
        let length = (bytes.len() as u32).saturating_add_signed(flow.map_or(0, |(flow, _)| flow.more));
        let whose = match flow {
            Some((flow, back)) => Whose::Flow { flow: flow.number, back },
            None => Whose::Nobody(turn(head)),
        };
        let content = self.free.pop().unwrap_or_else(|| {
            self.kept.push(Kept::default());
            self.kept.len() - 1
        });
        let size = Bytes::new(length.clamp(1, u16::MAX.into()));
        let packet = Foreign { from, to: last, size, whose, ecn: head.ecn, content: content as u64 };
        let entered = self.network.inject(now, packet).is_ok();
        if entered {
            self.kept[content] = Kept { bytes, routers: routers.min(255) as u8, expires };
        } else {
            self.free.push(content);
        }
        entered
    }

    /// The flow that a packet belongs to, and whether it goes back.
    fn flow_of(&self, from: u32, to: u32, head: &Head) -> Option<(RealFlow, bool)> {
        let (source, destination) = head.ports?;
        let there = self.flows.get(&destination).filter(|flow| (flow.from, flow.to) == (from, to));
        let back = self.flows.get(&source).filter(|flow| (flow.to, flow.from) == (from, to));
        there.map(|flow| (*flow, false)).or(back.map(|flow| (*flow, true)))
    }

    /// Something has become of a packet.
    fn leave(&mut self, emerged: &Emerged) {
        let content = emerged.packet.content as usize;
        let mut kept = std::mem::take(&mut self.kept[content]);
        let marked = emerged.packet.ecn == Codepoint::Marked;
        match emerged.fate {
            Fate::Heard { node } => {
                self.write(node, &kept.bytes, emerged.at);
                self.kept[content] = kept;
                return;
            }
            Fate::Arrived if kept.expires => self.tell_of_expiry(emerged, &kept.bytes),
            Fate::Arrived => {
                packet::take_hops(&mut kept.bytes, kept.routers);
                if marked {
                    packet::mark(&mut kept.bytes);
                }
                self.write(emerged.packet.to, &kept.bytes, emerged.at);
            }
            Fate::Over | Fate::Lost { .. } => (),
        }
        self.free.push(content);
    }

    fn write(&mut self, node: u32, bytes: &[u8], due: Instant) {
        let taken = self.ports.write(node, bytes);
        self.strays.refused += u64::from(!taken);
        self.clockwork.add(self.ports.now().since(due));
    }

    /// A packet whose hops are used up has come to the router that finds it so.
    fn tell_of_expiry(&mut self, emerged: &Emerged, bytes: &[u8]) {
        self.strays.hops_used_up += 1;
        let router = emerged.packet.to;
        let Some(answer) = packet::time_exceeded(bytes, self.addresses.ipv4(router)) else { return };
        let head = packet::head(&answer).expect("it was just made");
        // No way back is no more than a router has, either.
        self.send(emerged.at, (router, emerged.packet.from), &head, answer);
    }
}

/// The small number by which fair queues tell packets of no flow apart: a hash of ends, ports and protocol.
fn turn(head: &Head) -> u32 {
    let mut hasher = DefaultHasher::new();
    (head.from, head.to, head.ports, head.protocol).hash(&mut hasher);
    hasher.finish() as u32 & 1023
}

#[cfg(test)]
mod tests;
