//! Nodes that move: scenes at regular instants, and flows with paths that change.
//!
//! A scene changes the hearers of nodes and the modes of links. Frames on the air keep their hearers
//! ([`Air::set_medium`](evenair_wifi::Air::set_medium)), and packets in service their mode. A flow's packets enter at the first
//! hop of its path of the moment; those under way go on along the path that they began with.

use super::build::FlowHops;
use super::{Core, END, Event, Hop};
use crate::packet::{LossCause, Packet};
use crate::queue::{Mark, Outlet, Queued};
use crate::spec::{MacSpec, Motion, NetworkSpec, Scene};
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::{Mode, PacketId, Receivers};
use std::collections::BTreeMap;

/// How the nodes of a network move.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    motion: Motion,
    mac: MacSpec,
    receivers: Receivers,
    scene: Scene,
    /// Nodes with the hearers of an earlier scene, as they are sending.
    stale: Vec<u32>,
    /// By the first hop of a flow's original path, or of its way back: that of its path now, or [`END`].
    entrances: BTreeMap<u32, u32>,
    /// Changes of entrances, in the order of time: from which first hop to which.
    changes: Vec<(Instant, Vec<(u32, u32)>)>,
}

impl FlowHops {
    const NOWHERE: Self = Self { forward: END, backward: END, replies: END, reply_acks: END };

    /// The first hops of a path, each beside that of another path.
    fn beside(self, other: Self) -> Vec<(u32, u32)> {
        let all = [
            (self.forward, other.forward),
            (self.backward, other.backward),
            (self.replies, other.replies),
            (self.reply_acks, other.reply_acks),
        ];
        all.into_iter().filter(|&(first, _)| first != END).collect()
    }
}

impl Moving {
    /// How nodes move by a specification, if they do; `original` has the first hops of each flow, and `add` adds those of another
    /// path of a flow.
    pub(super) fn new(
        spec: &NetworkSpec,
        original: &[FlowHops],
        mut add: impl FnMut(usize, &[u32]) -> FlowHops,
    ) -> Option<Box<Self>> {
        let motion = spec.motion.clone()?;
        let mut known: BTreeMap<(usize, &[u32]), FlowHops> = BTreeMap::new();
        for (flow, hops) in original.iter().enumerate() {
            known.insert((flow, &spec.flows[flow].path), *hops);
        }
        let spec_motion = spec.motion.as_ref()?;
        let changes = spec_motion.detours.iter().map(|detour| {
            let hops = match &detour.path {
                Some(path) => *known.entry((detour.flow, path)).or_insert_with(|| add(detour.flow, path)),
                None => FlowHops::NOWHERE,
            };
            (detour.at, original[detour.flow].beside(hops))
        });
        let changes = changes.collect();
        let scene = Scene { medium: spec.medium.clone(), rates: spec.rates.clone() };
        let (receivers, stale) = (spec.receivers.clone(), Vec::new());
        Some(Box::new(Self {
            motion,
            mac: spec.mac,
            receivers,
            scene,
            stale,
            entrances: BTreeMap::new(),
            changes,
        }))
    }

    /// Where a packet enters now that would have entered at this hop; [`END`] if no route leads to its destination.
    fn entrance(&self, hop: u32) -> u32 {
        self.entrances.get(&hop).copied().unwrap_or(hop)
    }

    /// The mode of a link now, if it has one of its own.
    fn mode(&self, from: u32, to: u32) -> Option<Mode> {
        let rates = &self.scene.rates;
        let place = rates.binary_search_by_key(&(from, to), |link| (link.from, link.to));
        place.ok().map(|place| rates[place].mode)
    }
}

impl<T: Copy> Core<T> {
    /// Nodes begin to move, and paths to change.
    pub(crate) fn start_moving(&mut self) {
        let Some(moving) = &self.moving else { return };
        let first = Instant::ZERO + moving.motion.every;
        let moves = first <= moving.motion.until;
        let instants: Vec<Instant> = moving.changes.iter().map(|&(at, _)| at).collect();
        if moves {
            self.call(first, Event::Move);
        }
        for (change, at) in instants.into_iter().enumerate() {
            if at > self.now {
                self.call(at, Event::Detour(change as u32));
            } else {
                self.take_detour(change as u32);
            }
        }
    }

    /// Another scene.
    pub(super) fn on_move(&mut self) {
        let moving = self.moving.as_mut().expect("nodes move");
        let next = self.now + moving.motion.every;
        let is_last = next > moving.motion.until;
        if let Some(scene) = (moving.motion.scene)(self.now) {
            moving.scene = scene;
            moving.stale = (0..moving.scene.medium.nodes() as u32).collect();
            self.set_modes();
            self.settle();
        }
        if !is_last {
            self.call(next, Event::Move);
        }
    }

    /// The air takes the scene, all but senders, and those when their frames have ended.
    pub(super) fn settle(&mut self) {
        let Moving { scene, receivers, stale, .. } = &mut **self.moving.as_mut().expect("nodes move");
        let again = self.air.set_medium(self.now, &scene.medium, receivers, stale);
        if !again.is_never() {
            self.call(again, Event::Settle);
        }
    }

    /// Links have the modes of the scene.
    fn set_modes(&mut self) {
        let moving = self.moving.as_ref().expect("nodes move");
        let queues = &self.queues;
        self.hops.each(|hop: &mut Hop| {
            let queue = &queues[hop.queue as usize];
            if matches!(queue.outlet, Outlet::Air)
                && let Some(mode) = moving.mode(queue.node, hop.to)
            {
                hop.mode = mode;
            }
        });
    }

    /// A flow takes another path.
    pub(super) fn take_detour(&mut self, change: u32) {
        let moving = self.moving.as_mut().expect("nodes move");
        let (_, entrances) = &moving.changes[change as usize];
        moving.entrances.extend(entrances.iter().copied());
    }

    /// The next hop of a packet in service and the time of its exchange at the rate of now, where nodes move.
    pub(super) fn exchange_of_now(&self, served: &Queued, hop: u32) -> Option<(u32, Duration)> {
        let moving = self.moving.as_ref()?;
        let &Hop { to, mode, .. } = self.hops.get(hop);
        match moving.mac {
            MacSpec::Dcf { timing, .. } => Some((to, timing.exchange(Bytes::new(served.size), mode))),
            MacSpec::Ideal => None,
        }
    }

    /// Where a packet enters now that would have entered at this hop; [`END`] if no route leads to its destination.
    #[inline]
    pub(super) fn entrance(&self, hop: u32) -> u32 {
        self.moving.as_ref().map_or(hop, |moving| moving.entrance(hop))
    }

    /// First hops of other paths of the flow that enters at this hop.
    pub(super) fn other_entrances(&self, hop: u32) -> Vec<u32> {
        let changes = self.moving.iter().flat_map(|moving| &moving.changes);
        let entrances = changes.flat_map(|(_, entrances)| entrances);
        let others = entrances.filter(|&&(from, to)| from == hop && to != hop && to != END);
        others.map(|&(_, to)| to).collect()
    }

    /// A packet has no route: it is dropped at the queue where its flow's packets usually enter.
    #[cold]
    pub(super) fn drop_without_route(&mut self, id: PacketId) {
        let &Packet { way, hop, size, .. } = self.pool.get(id);
        let &Hop { queue, to, .. } = self.hops.get(hop);
        let (flow, enqueued) = (way.0, self.now);
        self.queues[queue as usize].dropped.no_route += 1;
        let arrival = Queued { packet: id, flow, size, next_hop: to, enqueued, mark: Mark::Impossible };
        self.turn_away(queue, arrival, LossCause::NoRoute);
    }
}
