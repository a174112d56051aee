//! From a specification to a network at its start.

use super::motion::Moving;
use super::shaping::Within;
use super::staging::Staged;
use super::{Beside, Core, Forwarding, Passage};
use crate::queue::{
    Airtimes, BackoffHost, Buffer, DisciplineRole, Dropped, Flows, Outlet, Service, TransmitQueue, WireEnd,
};
use crate::spec::{FlowSpec, MacSpec, NetworkSpec, Pacer, QueueSpec, Traffic, WebSpec, Wire};
use evenair_des::{Queue, Stream};
use evenair_laws::Parameters;
use evenair_laws::backoff::{self, AnyBackoff, BackoffLaw, Category, FullPacket, LinkRole};
use evenair_laws::marking::QueueRole;
use evenair_topology::{ConflictGraph, FadedLink, Fading, Link};
use evenair_units::{Bytes, Instant, Volume};
use evenair_wifi::{
    Air, Arbitration, BROADCAST, Capture, Contention, ControlledLink, IdealAir, LossProcess, Mode, Receivers,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The key by which queues of one node are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// One for all.
    Node,
    /// One per access category, the most urgent first.
    Category(Category),
    /// One per next hop.
    NextHop(u32),
}

/// A queue's key.
type Key = (u32, Scope);

/// The key of queues of one node, by MAC and law.
fn scope(spec: &NetworkSpec, node: u32, category: Category, next_hop: u32) -> Scope {
    let law = spec.backoff_of(node).begin(&LinkRole::data(spec.surroundings));
    match (spec.mac, law.scope()) {
        (MacSpec::Ideal, _) | (_, backoff::Scope::NextHop) => Scope::NextHop(next_hop),
        (_, backoff::Scope::Category) => Scope::Category(category),
        (_, backoff::Scope::Node) => Scope::Node,
    }
}

/// The categories that some node tells apart.
fn categories(spec: &NetworkSpec) -> &'static [Category] {
    let mut nodes = 0..spec.nodes.len() as u32;
    let tells = |node| matches!(scope(spec, node, Category::BestEffort, node), Scope::Category(_));
    if nodes.any(tells) { &Category::ALL } else { &[Category::BestEffort] }
}

/// Where the packets of a flow enter the network: its first hop there, and back; [`END`](super::END) if nothing goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHops {
    pub(crate) forward: u32,
    pub(crate) backward: u32,
    /// Of web traffic: the first hop of the replies' data, and of their acknowledgements.
    pub(crate) replies: u32,
    pub(crate) reply_acks: u32,
}

impl<T: Copy> Core<T> {
    /// A network at its start, and where each flow enters it.
    pub(crate) fn new(spec: &NetworkSpec, seed: u64) -> (Self, Vec<FlowHops>) {
        let wires: BTreeMap<(u32, u32), &Wire> = spec.wires.iter().map(|w| ((w.from, w.to), w)).collect();
        let modes: BTreeMap<(u32, u32), Mode> = spec.rates.iter().map(|r| ((r.from, r.to), r.mode)).collect();
        let keys = queue_keys(spec, &wires);
        let index: BTreeMap<Key, u32> = (0..).zip(&keys).map(|(i, (&key, _))| (key, i)).collect();
        let wire_index: BTreeMap<(u32, u32), u32> =
            (keys.len() as u32..).zip(wires.keys()).map(|(i, &ends)| (ends, i)).collect();
        let mode = |from: u32, to: u32| spec.mode_by(to, modes.get(&(from, to)).copied());
        let full = full_packet(spec);
        let flows_known = Flows::of(&spec.flows);
        let mut queues: Vec<TransmitQueue> = keys
            .iter()
            .map(|(&key, &carries)| {
                let mode = mode(key.0, carries.next_hop);
                let queue = QueueRole { rate: mode.rate(), ..full };
                let airtimes = Airtimes::of_node(spec, key.0);
                let flows = flows_known.at(spec, key.0, spec.queue_of(key.0).per);
                let role = DisciplineRole { queue, flows, airtimes };
                transmit_queue(spec, seed, key, carries, mode, &role)
            })
            .collect();
        let mut air = air(spec, seed, &queues);
        for (by, queue) in (0..).zip(&queues) {
            air.report_attempts(by, queue.discipline.wants_attempts());
            let Receivers { of_ofdm, of_b, .. } = &spec.receivers;
            let is_older = of_ofdm.contains(&queue.node) || of_b.contains(&queue.node);
            if let Some(staging) = spec.aggregation.filter(|_| !is_older) {
                air.aggregate(by, staging.limits);
            }
        }
        control_modes(spec, seed, &queues, &mut air);
        // Each node has a buffer, then each wire.
        let room = |limit| Buffer { waiting: 0, limit };
        let nodes = 0..spec.nodes.len() as u32;
        let mut buffers: Vec<Buffer> = nodes.map(|node| room(spec.queue_of(node).limit_packets)).collect();
        for wire in wires.values() {
            let queue = QueueRole { rate: wire.rate, ..full };
            let airtimes = Airtimes::of_wire(wire.rate);
            let flows = flows_known.at(spec, wire.from, wire.queue.per);
            let role = DisciplineRole { queue, flows, airtimes };
            queues.push(wire_queue(spec, seed, wire, &role, buffers.len() as u32));
            buffers.push(room(wire.queue.limit_packets));
        }
        let hop = |category: Category, from: u32, to: u32| match wire_index.get(&(from, to)) {
            Some(&queue) => (queue, to, Mode::at(wires[&(from, to)].rate)),
            None => (index[&(from, scope(spec, from, category, to))], to, mode(from, to)),
        };
        let inside = DisciplineRole { flows: flows_known, ..full.into() };
        let within = Within::build(spec, seed, &inside, &mut queues, &mut buffers);
        let mut hops = Forwarding::default();
        let mut flow_hops = |index: usize, path: &[u32]| {
            let flow = &spec.flows[index];
            let replies = !path.contains(&BROADCAST);
            let there: Vec<_> = path.windows(2).map(|w| hop(flow.category, w[0], w[1])).collect();
            let back = path.windows(2).rev().filter(|_| replies);
            let back: Vec<_> = back.map(|w| hop(flow.category, w[1], w[0])).collect();
            let (mut replies, mut reply_acks) = (super::END, super::END);
            if flow.traffic.web().is_some() {
                replies = hops.add_chain(within.replies(spec, index, back.clone()));
                reply_acks = hops.add_chain(there.iter().copied());
            }
            let forward = hops.add_chain(within.there(spec, index, there));
            let backward = hops.add_chain(within.back(spec, index, back));
            FlowHops { forward, backward, replies, reply_acks }
        };
        let flows: Vec<FlowHops> =
            spec.flows.iter().enumerate().map(|(index, flow)| flow_hops(index, &flow.path)).collect();
        let moving = Moving::new(spec, &flows, flow_hops);
        let categories = categories(spec);
        for path in &spec.routes {
            let back: Vec<u32> = path.iter().rev().copied().collect();
            let ways = if path.contains(&BROADCAST) { 1 } else { 2 }; // nothing comes back from everybody
            for path in [path, &back].into_iter().take(ways) {
                for &category in categories {
                    hops.add_path(path, category, |from, to| hop(category, from, to));
                }
            }
        }
        let shared = hops.shared();
        let staged = (0..queues.len() as u32).filter(|_| spec.aggregation.is_some());
        let staged = staged.map(|by| Staged::none(shared.contains(&by))).collect();
        let core = Self {
            staging: spec.aggregation,
            staged,
            now: Instant::ZERO,
            events: Queue::new(),
            air,
            heard: Vec::new(),
            handled: 0,
            news: VecDeque::new(),
            queues,
            upcoming: [0; 2],
            soon: Vec::new(),
            buffers,
            hops,
            pool: super::Pool::default(),
            passages: vec![Passage::default(); 2 * spec.flows.len() + 1],
            between_layers: VecDeque::new(),
            layer_delay: spec.link_layer_delay,
            beside: Beside::NOTHING,
            rounds: Vec::new(),
            shapers: within.hosts,
            culled: Vec::new(),
            trace: None,
            moving,
        };
        (core, flows)
    }

    /// Dummy packets flow from the start.
    pub(crate) fn start_dummies(&mut self) {
        for by in 0..self.queues.len() as u32 {
            self.serve(by);
        }
    }
}

/// Puts the links of queues of the air under rate control.
fn control_modes(spec: &NetworkSpec, seed: u64, queues: &[TransmitQueue], air: &mut Air) {
    if spec.rate_control.is_empty() {
        return;
    }
    for (from, to) in spec.air_links() {
        let Some(params) = spec.rate_control.of(from, to) else { continue };
        let modes = spec.modes_of(from, to);
        for (by, queue) in (0..).zip(queues).filter(|(_, queue)| queue.node == from) {
            let name = format!("{} to {}", queue.name, spec.nodes[to as usize]);
            let draws = Stream::named(seed, &name, "rate").bits();
            let law = params.begin(&spec.rate_role(from, to, &modes, draws));
            let link = ControlledLink { to, modes: modes.clone(), law, loss_max: params.loss_max() };
            air.control_modes(by, link, spec.mode(from, to));
        }
    }
}

/// A queue's load: its next hop (of several the first that is one node), and whether any of it is data, and TCP's.
#[derive(Clone, Copy, Debug)]
struct Carries {
    next_hop: u32,
    data: bool,
    tcp: bool,
}

/// The queues of the air that the flows need.
fn queue_keys(spec: &NetworkSpec, wires: &BTreeMap<(u32, u32), &Wire>) -> BTreeMap<Key, Carries> {
    let mut keys: BTreeMap<Key, Carries> = BTreeMap::new();
    let way = |flow, path| {
        let &FlowSpec { ref traffic, category, .. } = flow;
        (path, category, traffic.kind().tcp().is_some(), traffic.kind().has_replies())
    };
    let detours = spec.motion.iter().flat_map(|motion| &motion.detours);
    let detours = detours.filter_map(|detour| Some(way(&spec.flows[detour.flow], detour.path.as_ref()?)));
    let flows = spec.flows.iter().map(|flow| way(flow, &flow.path)).chain(detours);
    // Packets from outside without a flow may be TCP, and may be data both ways.
    let (routes, categories) = (spec.routes.iter(), categories(spec));
    let routes = routes.flat_map(|path| categories.iter().map(move |&category| (path, category, true, true)));
    for (path, category, tcp, both) in flows.chain(routes) {
        for hop in path.windows(2) {
            for (from, to, data) in [(hop[0], hop[1], true), (hop[1], hop[0], both)] {
                if wires.contains_key(&(from, to)) || from == BROADCAST {
                    continue;
                }
                let key = (from, scope(spec, from, category, to));
                let carries = keys.entry(key).or_insert(Carries { next_hop: to, data: false, tcp: false });
                if carries.next_hop == BROADCAST {
                    carries.next_hop = to;
                }
                carries.data |= data;
                carries.tcp |= tcp;
            }
        }
    }
    keys
}

fn transmit_queue(
    spec: &NetworkSpec,
    seed: u64,
    (node, scope): Key,
    carries: Carries,
    mode: Mode,
    place: &DisciplineRole,
) -> TransmitQueue {
    let node_name = &spec.nodes[node as usize];
    let name = match scope {
        Scope::Node => node_name.clone(),
        Scope::Category(category) => format!("{node_name}/{}", category.name()),
        Scope::NextHop(BROADCAST) => format!("{node_name}>*"),
        Scope::NextHop(next) => format!("{node_name}>{}", spec.nodes[next as usize]),
    };
    let category = if let Scope::Category(category) = scope { category } else { Category::BestEffort };
    let packet = largest_packet(spec, node, carries, mode);
    let surroundings = spec.surroundings;
    let role = LinkRole {
        surroundings,
        category,
        acknowledgements_only: !carries.data,
        packet,
        carries_tcp: carries.tcp,
    };
    let mut queue = TransmitQueue {
        mode,
        law: Some(BackoffHost::new(spec.backoff_of(node).begin(&role))),
        ..bare_queue(spec.queue_of(node), place, seed, name)
    };
    (queue.node, queue.buffer, queue.next_hop) = (node, node, carries.next_hop);
    queue.ask_law();
    queue
}

/// The largest packet that a queue of the air carries, in its mode.
fn largest_packet(spec: &NetworkSpec, node: u32, carries: Carries, mode: Mode) -> FullPacket {
    let mac = spec.mac_between(node, carries.next_hop);
    let limits = spec.aggregation.as_ref().map(|staging| &staging.limits);
    let FullPacket { payload, size, .. } = spec.surroundings.packet;
    let answer = |flow: &FlowSpec| match flow.traffic.kind() {
        Traffic::Tcp(tcp) | Traffic::Web(WebSpec { tcp, .. }) => Some(tcp.plain_headers()),
        Traffic::Tfrc(tfrc) => Some(tfrc.report),
        Traffic::Datagrams { .. } | Traffic::Rated(_) | Traffic::Outside(_) => None,
    };
    let answers = || spec.flows.iter().filter_map(answer).max();
    match (!carries.data).then(answers).flatten() {
        Some(headers) => mac.packet(Bytes::new(0), headers, mode, limits),
        None => mac.packet(payload, size, mode, limits),
    }
}

fn wire_queue(
    spec: &NetworkSpec,
    seed: u64,
    wire: &Wire,
    place: &DisciplineRole,
    buffer: u32,
) -> TransmitQueue {
    let name = format!("{}-{}", spec.nodes[wire.from as usize], spec.nodes[wire.to as usize]);
    let loss = spec.losses.iter().find(|l| (l.from, l.to) == (wire.from, wire.to));
    let loss = loss.map(|l| LossProcess::new(l.schedule.clone(), Stream::named(seed, &name, "loss")));
    let changes = wire.delay_changes.iter().copied().collect();
    let (last_arrival, in_flight) = (Instant::ZERO, VecDeque::new());
    let trace = wire.trace.clone().map(Pacer::new);
    let end = WireEnd { delay: wire.delay, changes, last_arrival, loss, trace, in_flight };
    TransmitQueue {
        outlet: Outlet::Wire(Box::new(end)),
        node: wire.from,
        buffer,
        next_hop: wire.to,
        ..bare_queue(&wire.queue, place, seed, name)
    }
}

/// The parts of a queue that do not depend on its outlet.
pub(super) fn bare_queue(
    parts: &QueueSpec,
    place: &DisciplineRole,
    seed: u64,
    name: String,
) -> TransmitQueue {
    TransmitQueue {
        service: Service::Nothing,
        discipline: parts.discipline.begin_at(place),
        outlet: Outlet::Air,
        buffer: 0,
        marking: parts.marking.as_ref().map(|marking| Box::new(marking.begin(&place.queue))),
        flows: place.flows.clone(),
        law_drops: None,
        dummy: None,
        arrived: Volume::default(),
        given_up: Volume::default(),
        dropped: Dropped::default(),
        marked: 0,
        waits: None,
        ready_at: Instant::NEVER,
        without_room: VecDeque::new(),
        stream: Stream::named(seed, &name, "drop"),
        law: None,
        name,
        node: 0,
        next_hop: 0,
        mode: Mode::at(place.queue.rate),
    }
}

/// The largest packet of the network's own, at its rate; an Ethernet's, where there is none.
fn full_packet(spec: &NetworkSpec) -> QueueRole {
    let size = |flow: &FlowSpec| flow.traffic.size();
    let full_packet = spec.flows.iter().map(size).max().unwrap_or(Bytes::new(1500));
    QueueRole { full_packet, rate: spec.data_mode.rate() }
}

/// The pairs of nodes that hear each other, the one with the lower number first, and their waves.
fn faded_links(
    spec: &NetworkSpec,
    seed: u64,
    fading: &Fading,
) -> impl Iterator<Item = ((u32, u32), FadedLink)> {
    let hears = |from: u32| spec.medium.hearers(from as usize).iter().map(move |ear| ear.node);
    let pairs =
        (0..spec.nodes.len() as u32).flat_map(|from| hears(from).map(move |to| (from.min(to), from.max(to))));
    let mut pairs: BTreeSet<(u32, u32)> = pairs.collect();
    if spec.motion.is_some() {
        // Any two nodes may hear each other some time.
        let nodes = spec.nodes.len() as u32;
        pairs = (0..nodes).flat_map(|one| (one + 1..nodes).map(move |other| (one, other))).collect();
    }
    pairs.into_iter().map(move |(one, other)| {
        let name = Fading::entity(&spec.nodes[one as usize], &spec.nodes[other as usize]);
        let mut stream = Stream::named(seed, &name, "fading");
        ((one, other), fading.link(|| stream.unit()))
    })
}

fn air(spec: &NetworkSpec, seed: u64, queues: &[TransmitQueue]) -> Air {
    fn law(queue: &TransmitQueue) -> &AnyBackoff {
        &queue.law.as_ref().expect("queues of the air have one").law
    }
    let stream = |queue: &TransmitQueue| Stream::named(seed, &queue.name, "backoff");
    match spec.mac {
        MacSpec::Dcf { timing, rules } => {
            let contenders = queues.iter().map(|queue| {
                let (law, stream) = (law(queue), stream(queue));
                let access = law.access();
                let arbitration = Arbitration::of(law.space(), access.holding, &timing);
                Contention { node: queue.node, access, arbitration, stream }
            });
            let contenders = contenders.collect();
            let mut air = Air::dcf(&spec.medium, contenders, timing, rules, &spec.receivers);
            for loss in &spec.losses {
                let name = format!("{}>{}", spec.nodes[loss.from as usize], spec.nodes[loss.to as usize]);
                let stream = Stream::named(seed, &name, "loss");
                air.set_loss(loss.from, loss.to, &LossProcess::new(loss.schedule.clone(), stream));
            }
            if let Capture::Errors(_) = rules.capture {
                let key = |name: &String| Stream::named(seed, name, "reception").bits();
                air.set_draw_keys(spec.nodes.iter().map(key).collect());
                if let Some(fading) = &spec.fading {
                    air.set_fading(fading.clone(), faded_links(spec, seed, fading));
                }
            }
            air
        }
        MacSpec::Ideal => {
            let bare: Vec<Link> = queues.iter().map(|q| Link { from: q.node, to: q.next_hop }).collect();
            let conflicts: ConflictGraph = spec.medium.conflicts(&bare);
            let links = queues.iter().map(|queue| (queue.node, law(queue).access(), stream(queue)));
            Air::Ideal(Box::new(IdealAir::new(conflicts, links.collect())))
        }
    }
}
