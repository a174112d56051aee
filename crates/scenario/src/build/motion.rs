//! Scenes and routes of nodes that move.

use super::names::Names;
use super::rates;
use crate::error::Mistake;
use crate::language::{At, FlowTable, NodeTable, RouteMetric, Scenario};
use crate::read::Needs;
use crate::resolved::{Mac, Radio, Resolved};
use crate::{ScenarioError, read};
use evenair_netsim::{Detour, LinkRate, Motion, Scene, Wire};
use evenair_topology::{Position, Router, Track, light_travels_m};
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::{BROADCAST, Receivers};
use std::sync::Arc;

/// The size of the packet that prices a hop by its exchange.
const FULL_PACKET: Bytes = Bytes::new(1500);

/// The parts of a scenario that a scene depends on.
#[derive(Clone)]
pub(super) struct Stage {
    pub(super) scenario: Scenario,
    pub(super) names: Names,
    pub(super) radio: Option<Radio>,
    pub(super) mac: Mac,
    pub(super) receivers: Receivers,
    pub(super) moving: Vec<(usize, Track)>,
}

impl Scenario {
    /// The nodes' hearing of each other, and the links' rates, where the nodes stand.
    pub(super) fn scene(
        &self,
        names: &Names,
        radio: Option<&Radio>,
        mac: &Mac,
        receivers: &Receivers,
    ) -> Result<Scene, Mistake> {
        let medium = self.medium(names, radio)?;
        let errors = radio.and_then(Radio::errors);
        let rates = self.link_rates(names, mac, &medium, receivers, errors)?;
        let medium = rates::over(medium, &rates, mac, receivers);
        Ok(Scene { medium, rates })
    }

    /// The parts that scenes depend on, if nodes move. Hearers further than half a slot are refused, wherever a node stands.
    pub(super) fn stage(
        &self,
        names: &Names,
        radio: Option<&Radio>,
        mac: &Mac,
        receivers: &Receivers,
    ) -> Result<Option<Stage>, Mistake> {
        if self.mobility.is_none() {
            return Ok(None);
        }
        let stage = Stage {
            scenario: self.clone(),
            names: names.clone(),
            radio: radio.cloned(),
            mac: *mac,
            receivers: receivers.clone(),
            moving: self.moving()?,
        };
        stage.check_nearness()?;
        Ok(Some(stage))
    }
}

impl Stage {
    /// The same where they stand at an instant.
    fn scene_at(&self, now: Instant) -> Scene {
        let Self { names, radio, mac, receivers, .. } = self;
        let mut there = self.scenario.clone();
        for (node, track) in &self.moving {
            there.nodes[*node].at = Some(place(track.at(now)));
        }
        let scene = there.scene(names, radio.as_ref(), mac, receivers);
        scene.expect("only places differ from the scene of the beginning")
    }

    /// Refuses moving nodes with frames that travel longer than half a slot to a hearer. A radio that reaches less far needs no
    /// check.
    fn check_nearness(&self) -> Result<(), Mistake> {
        let (Some(radio), Some((timing, _))) = (&self.radio, &self.mac.ieee80211) else { return Ok(()) };
        let (near_m, reach) = (light_travels_m(timing.near()), &radio.reach);
        let own_db =
            |node: &NodeTable| node.transmit_power.map_or(0.0, |own| own.0 - reach.propagation.transmit);
        let loudest_db = self.scenario.nodes.iter().map(own_db).fold(0.0, f64::max);
        let gain_db = self.scenario.obstacles().most_gain_db() + loudest_db;
        let least = reach.propagation.received(reach.interference_range_m) + -gain_db;
        let reach_m =
            if gain_db > 0.0 { reach.propagation.range_m(least) } else { reach.interference_range_m };
        if reach_m <= near_m {
            return Ok(());
        }
        let why = format!(
            "nodes that move may hear each other over {near_m:.0} m at most, and this radio reaches {reach_m:.0} m"
        );
        Err(Mistake::at("mobility", why))
    }

    /// Whether any node is elsewhere than at an instant before.
    fn moves(&self, before: Instant, now: Instant) -> bool {
        self.moving.iter().any(|(_, track)| track.at(before) != track.at(now))
    }

    /// The last instant of a grid at which a node is elsewhere than at the one before.
    fn until(&self, every: Duration, end: Instant) -> Instant {
        let last = self.moving.iter().map(|(_, track)| track.end()).fold(Instant::ZERO, Instant::max);
        Instant::from_nanos(last.min(end).as_nanos().div_ceil(every.as_nanos()) * every.as_nanos())
    }

    /// The routes of flows that find their own, at each instant at which they are computed; of a flow that has none, nothing.
    pub(super) fn routes(&self, wires: &[Wire]) -> Vec<(Instant, Vec<Option<Vec<u32>>>)> {
        let table = self.scenario.mobility.expect("nodes move");
        let ends: Vec<(u32, u32)> = wires.iter().map(|wire| (wire.from, wire.to)).collect();
        let end = Instant::ZERO + self.scenario.warmup.0 + self.scenario.duration.0;
        let until = self.until(table.routes.0, end);
        let mut all: Vec<(Instant, Vec<Option<Vec<u32>>>)> = Vec::new();
        let (mut now, mut before) = (Instant::ZERO, None);
        while now <= until {
            if before.is_none_or(|before| self.moves(before, now)) {
                let scene = self.scene_at(now);
                let router = Router::with_wires(&scene.medium, &ends);
                let route = |flow: &FlowTable| self.route(flow, &router, &scene.rates, wires);
                all.push((now, self.scenario.flows.iter().map(route).collect()));
            }
            before = Some(now);
            now += table.routes.0;
        }
        all
    }

    fn route(
        &self,
        flow: &FlowTable,
        router: &Router<'_>,
        rates: &[LinkRate],
        wires: &[Wire],
    ) -> Option<Vec<u32>> {
        let number = |id: &str| self.names.number(id).ok();
        let (from, to) = (number(&flow.from)?, number(&flow.to)?);
        if self.scenario.mobility.is_some_and(|table| table.metric == RouteMetric::Hops) {
            return router.route(from, to).ok();
        }
        let cost = |from: u32, to: u32| {
            if let Some(wire) = wires.iter().find(|wire| (wire.from, wire.to) == (from, to)) {
                return (wire.rate.time_for(FULL_PACKET) + wire.delay).as_secs_f64().max(1e-9);
            }
            let place = rates.binary_search_by_key(&(from, to), |link| (link.from, link.to));
            let mode = place.map_or(self.mac.data_mode, |place| rates[place].mode);
            let exchange = self.mac.ieee80211.map(|(timing, _)| timing.exchange(FULL_PACKET, mode));
            exchange.unwrap_or_default().as_secs_f64().max(1e-9)
        };
        router.cheapest(from, to, cost).ok()
    }

    /// How the network changes; `routes` are those of [`Self::routes`].
    pub(super) fn motion(self, routes: &[(Instant, Vec<Option<Vec<u32>>>)]) -> Motion {
        let table = self.scenario.mobility.expect("nodes move");
        let every = table.every.0;
        let end = Instant::ZERO + self.scenario.warmup.0 + self.scenario.duration.0;
        let mut detours = Vec::new();
        for (flow, settings) in self.scenario.flows.iter().enumerate() {
            if settings.via.is_some() || settings.to == "*" {
                continue;
            }
            let mut path = routes.iter().find_map(|(_, of_flows)| of_flows[flow].as_ref());
            for (at, of_flows) in routes {
                if of_flows[flow].as_ref() != path {
                    path = of_flows[flow].as_ref();
                    detours.push(Detour { at: *at, flow, path: path.cloned() });
                }
            }
        }
        detours.sort_by_key(|detour| detour.at);
        let until = self.until(every, end);
        let scene = move |now: Instant| {
            let before = Instant::from_nanos(now.as_nanos().saturating_sub(every.as_nanos()));
            self.moves(before, now).then(|| self.scene_at(now))
        };
        Motion { every, until, scene: Arc::new(scene), detours }
    }
}

/// A place of the packet world as one of the language.
fn place(at: Position) -> At {
    At { up_m: (at.z_m != 0.0).then_some(at.z_m), ..At::ground(at.x_m, at.y_m) }
}

impl Resolved {
    /// Whether any node moves.
    pub fn moves(&self) -> bool {
        self.network.motion.is_some()
    }

    /// The network as it stands at so many instants, in the middle of equal parts of the time from the first to the second.
    ///
    /// # Errors
    /// As [`Self::at`].
    pub fn moments(
        &self,
        from: Instant,
        until: Instant,
        count: u32,
    ) -> Result<Vec<(Instant, Self)>, ScenarioError> {
        let part = until.since(from).as_secs_f64() / f64::from(count);
        let middle = |place: u32| from + Duration::from_secs_f64(part * (f64::from(place) + 0.5));
        (0..count).map(|place| Ok((middle(place), self.at(middle(place))?))).collect()
    }

    /// The network as it stands at an instant: nodes at their places of then, which move no more. Flows without a route are left out.
    ///
    /// # Errors
    /// As [`Resolved::load_network`].
    pub fn at(&self, now: Instant) -> Result<Self, ScenarioError> {
        let mut settings = self.written_out();
        for (node, track) in settings.moving().expect("they were resolved before") {
            settings.nodes[node].at = Some(place(track.at(now)));
        }
        settings.mobility = None;
        (settings.tracks, settings.walks) = (Vec::new(), Vec::new());
        let alone = Scenario { flows: Vec::new(), ..settings.clone() };
        let bare = read::resolved(alone, Needs::Nothing)?;
        let wires: Vec<(u32, u32)> = bare.network.wires.iter().map(|wire| (wire.from, wire.to)).collect();
        let router = Router::with_wires(&bare.network.medium, &wires);
        settings.flows.retain(|flow| {
            let way = flow.via.iter().flatten();
            let ids: Vec<&String> = [&flow.from].into_iter().chain(way).chain([&flow.to]).collect();
            let number = |id: &String| bare.node(id).unwrap_or(BROADCAST);
            ids.windows(2).all(|hop| {
                let (from, to) = (number(hop[0]), number(hop[1]));
                to == BROADCAST
                    || if flow.via.is_some() {
                        router.adjacent(from, to)
                    } else {
                        router.route(from, to).is_ok()
                    }
            })
        });
        read::resolved(settings, Needs::Nothing)
    }
}
