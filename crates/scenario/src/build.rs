//! From a scenario's settings to the packet world.

mod flows;
mod gateway;
mod mac;
mod motion;
mod names;
mod rates;

pub(crate) use mac::airtime;
pub(crate) use names::node_number;

use self::flows::Ground;
use self::names::Names;
use crate::error::Mistake;
use crate::language::{
    ConflictRule, LinkTable, LossTable, PerRate, QueueTable, RadioTable, Scenario, Threshold, WallTable,
    WireQueue,
};
use crate::resolved::{Mac, Parts, Radio, Resolved, position};
use evenair_des::Stream;
use evenair_netsim::{FlowSpec, LinkLoss, MacSpec, NetworkSpec, QueueSpec, Scene, Wire};
use evenair_topology::{ConflictGraph, Hearing, Link, Medium, Obstacles, Position, Router, Shadowing, Wall};
use evenair_units::{Dbm, Instant, Probability};
use evenair_wifi::{BROADCAST, LossModel, Sensitivity};
use std::collections::{BTreeMap, BTreeSet};

/// Aggregates are for hearers that answer before any countdown can end.
fn check_nearness(spec: &MacSpec, medium: &Medium, nodes: &[String]) -> Result<(), Mistake> {
    let MacSpec::Dcf { timing, .. } = spec else { return Ok(()) };
    for node in 0..medium.nodes() {
        if let Some(far) = medium.hearers(node).iter().find(|ear| ear.delay > timing.near()) {
            let (from, to) = (&nodes[node], &nodes[far.node as usize]);
            let why = format!(
                "{to} hears {from} from more than 1.35 km, where aggregates are not built: set aggregation.packets = 1"
            );
            return Err(Mistake::at("aggregation", why));
        }
    }
    Ok(())
}

/// The places of a scenario's nodes, the links with data, and the conflicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Positions, where any were given; of some nodes there may be none.
    pub positions: Option<Vec<Option<Position>>>,
    /// Transmission and carrier-sense range [m], where there is a radio.
    pub ranges_m: Option<(f64, f64)>,
    /// The links with data, in the order of the flows, and their names. Without flows, those on the ways between nodes that are
    /// attached to the outside. Without either, the links that the scenario gives, or one for each two nodes that decode each
    /// other, [`Self::LINKS_MAX`] at most.
    pub links: Vec<(String, Link)>,
    /// Which of those conflict.
    pub conflicts: ConflictGraph,
}

/// The greatest number of a channel.
const CHANNEL_MAX: u32 = 255;

impl Layout {
    /// The most links of a network without flows: beyond it there are none, as their conflicts grow with the square of neighbourhoods.
    pub const LINKS_MAX: usize = 2_000;
}

impl Scenario {
    /// Builds all that the scenario describes.
    pub(crate) fn build(mut self, parts: Parts) -> Result<Resolved, Mistake> {
        let Parts { radio, mac, aggregation, queue, tcp } = parts;
        let nodes = Names::of(self.node_names());
        let receivers = self.receivers(radio.as_ref());
        self.separate_older_stations();
        let Scene { medium, rates } = self.scene(&nodes, radio.as_ref(), &mac, &receivers)?;
        let wires = self.wire_specs(&nodes)?;
        let stage = self.stage(&nodes, radio.as_ref(), &mac, &receivers)?;
        let later_routes = stage.as_ref().map(|stage| stage.routes(&wires)).unwrap_or_default();
        let errors = radio.as_ref().and_then(Radio::errors);
        let rate_control = self.rate_control(&nodes, &mac)?;
        let ends: Vec<(u32, u32)> = wires.iter().map(|wire| (wire.from, wire.to)).collect();
        let router = Router::with_wires(&medium, &ends);
        let is_ideal = mac.is_ideal();
        let places = self.places();
        let reach =
            radio.as_ref().map(|radio| (radio.reach.transmission_range_m, radio.reach.carrier_sense_range_m));
        let ranges_m = reach.filter(|_| self.signals.is_empty());
        let ground = Ground {
            nodes: &nodes,
            router: &router,
            wires: &wires,
            rates: &rates,
            data_rate: mac.data_mode.rate(),
            tcp: &tcp,
            is_ideal,
            has_channels: self.nodes.iter().any(|node| node.channel.is_some()),
            places: &places,
            reach_m: ranges_m.map(|(decoded_m, _)| decoded_m),
            is_obstructed: self.is_obstructed(),
            has_rates: receivers.sensitivity.is_some(),
            by_distance: mac.by_distance,
            later_routes: &later_routes,
        };
        let flows = self.flow_specs(&ground)?;
        let routes = self.routes(&nodes, &router)?;
        let node_queues = self.node_queues(&nodes)?;
        let of_flows = links_in_use(&nodes, &medium, flows.iter().map(FlowSpec::data_path));
        let reversed = |route: &Vec<u32>| route.iter().rev().copied().collect();
        let from_outside = routes.iter().flat_map(|route| [route.clone(), reversed(route)]);
        let from_outside = links_in_use(&nodes, &medium, from_outside);
        let delay = |(_, link): &(String, Link)| medium.hearing(link.from as usize, link.to as usize);
        let all = of_flows.iter().chain(&from_outside);
        let longest = all.filter_map(delay).map(|ear| ear.delay).max().unwrap_or_default();
        let links = match (flows.is_empty(), routes.is_empty()) {
            (false, _) => of_flows,
            (true, false) => from_outside,
            (true, true) => self.links_in_range(&nodes, &medium),
        };
        let bare: Vec<Link> = links.iter().map(|&(_, link)| link).collect();
        let mac = Mac { data_mode: rates::nominal(&mac, &rates, &bare), ..mac };
        let spec = self.mac_spec(&mac, radio.as_ref(), longest)?;
        let largest = flows
            .iter()
            .map(|flow| flow.traffic.largest())
            .max()
            .unwrap_or(tcp.payload + tcp.plain_headers());
        if aggregation.is_some() {
            check_nearness(&spec, &medium, &nodes)?;
        }
        let limits = aggregation.as_ref().map(|staging| &staging.limits);
        let surroundings = self.surroundings(&mac, &spec, [tcp.payload, largest], limits);
        self.complete_backoffs(&surroundings)?;
        let node_backoffs = self.node_backoffs(&nodes);
        let clocks = self.clocks();
        let fading = radio.as_ref().and_then(|radio| radio.fading.clone());
        if fading.is_some() && errors.is_none() {
            let why = "is for receivers with an error model, because a threshold would remove whole links; set radio.errors.model = \"by-snr\"";
            return Err(Mistake::at("radio.fading", why));
        }
        let network = NetworkSpec {
            motion: stage.map(|stage| stage.motion(&later_routes)),
            fading,
            rates,
            rate_control,
            losses: self.link_losses(&nodes, is_ideal)?,
            wires,
            nodes: nodes.into_vec(),
            medium,
            mac: spec,
            aggregation,
            receivers,
            data_mode: mac.data_mode,
            backoff: self.backoff.clone(),
            surroundings,
            queue,
            node_queues,
            node_backoffs,
            clocks,
            link_layer_delay: mac.link_layer_delay,
            flows,
            routes,
            gateway: None,
            source_limits: Vec::new(),
        };
        let positions = places.iter().any(Option::is_some).then_some(places);
        let conflicts = self.conflicts_of(&network, &bare)?;
        let layout = Layout { positions, ranges_m, links, conflicts };
        let mut resolved = Resolved { settings: self, layout, network, unused: Vec::new() };
        resolved.add_shapers()?;
        Ok(resolved)
    }

    /// Which links conflict, by the rule that is asked for.
    fn conflicts_of(&self, network: &NetworkSpec, links: &[Link]) -> Result<ConflictGraph, Mistake> {
        let rule = self.radio.as_ref().and_then(|radio| radio.conflicts);
        if rule != Some(ConflictRule::Sinr) {
            return Ok(network.medium.conflicts(links));
        }
        let why = "\"sinr\" is for 802.11: links of the ideal MAC conflict by carrier sense; remove it";
        network.conflicts_by_ratio(links).ok_or_else(|| Mistake::at("radio.conflicts", why))
    }

    /// The links that a network without traffic could use.
    fn links_in_range(&self, nodes: &[String], medium: &Medium) -> Vec<(String, Link)> {
        if !self.links.is_empty() {
            let number: BTreeMap<&String, u32> = nodes.iter().zip(0..).collect();
            let link = |l: &LinkTable| {
                (format!("{}>{}", l.from, l.to), Link { from: number[&l.from], to: number[&l.to] })
            };
            return self.links.here().iter().map(link).collect();
        }
        let decodes = |from: usize, to: usize| medium.hearing(from, to).is_some_and(Hearing::is_decodable);
        let pairs = (0..nodes.len()).flat_map(|from| {
            let ears = medium.hearers(from).iter().map(|ear| ear.node as usize);
            ears.filter(move |&to| from < to && decodes(from, to) && decodes(to, from))
                .map(move |to| (from, to))
        });
        let link = |(from, to): (usize, usize)| {
            (format!("{}>{}", nodes[from], nodes[to]), Link { from: from as u32, to: to as u32 })
        };
        let links: Vec<(String, Link)> = pairs.take(Layout::LINKS_MAX + 1).map(link).collect();
        if links.len() > Layout::LINKS_MAX { Vec::new() } else { links }
    }

    /// The ways between nodes that are attached to the outside.
    fn routes(&self, nodes: &Names, router: &Router<'_>) -> Result<Vec<Vec<u32>>, Mistake> {
        let wrong = |why: String| Mistake::at("outside", why);
        let mut attached = Vec::new();
        for id in &self.outside {
            let node = nodes.number(id).map_err(wrong)?;
            if attached.contains(&node) {
                return Err(wrong(format!("\"{id}\" is there already")));
            }
            attached.push(node);
        }
        if attached.len() == 1 {
            return Err(wrong("needs two nodes at least: packets go from one node to another".into()));
        }
        let mut routes = Vec::new();
        for (place, &from) in attached.iter().enumerate() {
            for &to in &attached[place + 1..] {
                let route = router.route(from, to).map_err(|_| {
                    let (from, to) = (&nodes[from as usize], &nodes[to as usize]);
                    wrong(format!("there is no route from \"{from}\" to \"{to}\""))
                })?;
                routes.push(route);
            }
        }
        Ok(routes)
    }

    fn node_names(&self) -> Vec<String> {
        if !self.nodes.is_empty() {
            return self.nodes.iter().map(|n| n.id.clone()).collect();
        }
        let mut names: Vec<String> = Vec::new();
        let of_wires = self.wires.iter().flat_map(|w| [&w.from, &w.to]);
        for end in self.links.here().iter().flat_map(|l| [&l.from, &l.to]).chain(of_wires) {
            if !names.contains(end) {
                names.push(end.clone());
            }
        }
        names
    }

    fn places(&self) -> Vec<Option<Position>> {
        self.nodes.iter().map(|node| node.at.map(position)).collect()
    }

    /// Whether anything beside distance weakens signals.
    fn is_obstructed(&self) -> bool {
        let of_radio = |radio: &RadioTable| radio.storey.is_some() || radio.shadowing.is_some();
        !self.walls.is_empty() || self.radio.as_ref().is_some_and(of_radio)
    }

    fn obstacles(&self) -> Obstacles {
        let at = |[x_m, y_m]: [f64; 2]| Position::new(x_m, y_m);
        let wall = |w: &WallTable| Wall { from: at(w.from), to: at(w.to), loss_db: w.loss.0 };
        let radio = self.radio.as_ref();
        let shadowing = radio.and_then(|radio| radio.shadowing.as_ref()).map(|table| {
            let mut stream = Stream::named(table.seed, "radio", "shadowing");
            Shadowing::new(table.deviation.0, table.distance.0, || stream.normal())
        });
        Obstacles {
            walls: self.walls.iter().map(wall).collect(),
            storey_m: radio.and_then(|radio| radio.storey).map(|height| height.0),
            shadowing,
        }
    }

    fn medium(&self, names: &Names, radio: Option<&Radio>) -> Result<Medium, Mistake> {
        if !self.links.is_empty() {
            return Ok(self.medium_of_links(names));
        }
        self.check_powers()?;
        let medium = match (&self.radio, radio) {
            (Some(table), Some(radio)) if !self.signals.is_empty() => {
                self.medium_of_signals(names, table, radio)?
            }
            (_, Some(radio)) => {
                let own = |node: usize| self.nodes[node].transmit_power.map(|power| power.0);
                Medium::from_transmitters(&self.places(), &self.obstacles(), &radio.reach, own)
            }
            _ => Medium::from_signals(names.len(), &[], Dbm::new(0.0), Dbm::new(0.0)), // wires alone
        };
        Ok(match self.channels()? {
            Some(channels) => medium.on_channels(&channels),
            None => medium,
        })
    }

    /// A power of a node's own decides nothing where the thresholds are ranges, or there are no positions.
    fn check_powers(&self) -> Result<(), Mistake> {
        let Some(index) = self.nodes.iter().position(|node| node.transmit_power.is_some()) else {
            return Ok(());
        };
        let wrong = |why: &str| Err(Mistake::entry("nodes", index, "transmit_power", why));
        let Some(radio) = self.radio.as_ref().filter(|_| self.signals.is_empty()) else {
            return wrong(
                "needs positions and a [radio]; where powers are given by [[signals]], change those",
            );
        };
        let sense_is_range = radio.carrier_sense_range.is_some();
        if radio.receive_threshold.is_none() || sense_is_range {
            return wrong(
                "needs thresholds that are powers: give radio.receive_threshold and radio.carrier_sense_threshold instead of ranges",
            );
        }
        Ok(())
    }

    /// Each node's channel, if any is given.
    fn channels(&self) -> Result<Option<Vec<u32>>, Mistake> {
        let is_wrong = |channel: &u32| !(1..=CHANNEL_MAX).contains(channel);
        let why = |channel: u32| format!("{channel} is no channel; give a number from 1 to {CHANNEL_MAX}");
        if let Some(channel) = self.mac.channel.filter(is_wrong) {
            return Err(Mistake::at("mac.channel", why(channel)));
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(channel) = node.channel.filter(is_wrong) {
                return Err(Mistake::entry("nodes", index, "channel", why(channel)));
            }
        }
        let all = self.mac.channel.unwrap_or(1);
        let some = self.nodes.iter().any(|node| node.channel.is_some());
        Ok(some.then(|| self.nodes.iter().map(|node| node.channel.unwrap_or(all)).collect()))
    }

    fn medium_of_links(&self, names: &[String]) -> Medium {
        let index: BTreeMap<&String, u32> = names.iter().zip(0..).collect();
        let here = self.links.here();
        let links: Vec<Link> = here.iter().map(|l| Link { from: index[&l.from], to: index[&l.to] }).collect();
        let place: BTreeMap<&String, usize> = here.iter().map(|l| &l.id).zip(0..).collect();
        let edges: Vec<(usize, usize)> =
            self.conflicts.here().iter().map(|[a, b]| (place[a], place[b])).collect();
        Medium::from_conflicts(names.len(), &links, &ConflictGraph::from_edges(links.len(), &edges))
    }

    fn medium_of_signals(&self, names: &Names, table: &RadioTable, radio: &Radio) -> Result<Medium, Mistake> {
        let receive = match &table.receive_threshold {
            Some(PerRate::All(Threshold::Power(power))) => Some(power.0),
            Some(_) => radio.sensitivity.as_ref().and_then(Sensitivity::least),
            None => None,
        };
        // Where rates differ, all that the slowest reaches is sensed.
        let by_default =
            receive.filter(|_| radio.sensitivity.is_some() && table.carrier_sense_range.is_none());
        let sense = table.carrier_sense_threshold.map(|power| power.0).or(by_default);
        let (Some(receive), Some(sense)) = (receive, sense) else {
            let why = "signals are powers: give receive_threshold and carrier_sense_threshold";
            return Err(Mistake::at("radio", why));
        };
        let mut signals = Vec::new();
        for (index, signal) in self.signals.iter().enumerate() {
            let (from, to) = ends("signals", index, &signal.from, &signal.to, names)?;
            signals.push(evenair_topology::Signal { from, to, power: signal.power.0 });
            if !signal.one_way {
                signals.push(evenair_topology::Signal { from: to, to: from, power: signal.power.0 });
            }
        }
        Ok(Medium::from_signals(names.len(), &signals, receive, sense))
    }

    fn wire_specs(&mut self, names: &Names) -> Result<Vec<Wire>, Mistake> {
        let mut wires = Vec::new();
        for (index, wire) in self.wires.iter_mut().enumerate() {
            let (a, b) = ends("wires", index, &wire.from, &wire.to, names)?;
            let queue = wire.queue.complete(&mut wire.drop, self.drop.as_ref());
            let queue = queue.map_err(|mistake| mistake.within("wires", index))?;
            if !wire.delay_changes.iter().map(|[at, _]| at.0).is_sorted() {
                return Err(Mistake::entry("wires", index, "delay_changes", "must be in the order of time"));
            }
            let rate = wire.rate().map_err(|(key, why)| Mistake::entry("wires", index, key, why))?;
            for (from, to) in [(a, b), (b, a)] {
                let queue = queue.clone();
                let (rate, trace) = rate.clone();
                let delay = wire.delay.0;
                let delay_changes =
                    wire.delay_changes.iter().map(|[at, delay]| (Instant::ZERO + at.0, delay.0)).collect();
                wires.push(Wire { from, to, rate, trace, delay, delay_changes, queue });
            }
        }
        Ok(wires)
    }

    fn node_queues(&mut self, names: &Names) -> Result<Vec<(u32, QueueSpec)>, Mistake> {
        let of_all = QueueTable { limit: self.mac.queue, ..self.queue.unwrap_or_default() };
        let mut queues: Vec<(u32, QueueSpec)> = Vec::new();
        for (index, table) in self.queues.iter_mut().enumerate() {
            let wrong = |why: String| Mistake::entry("queues", index, "nodes", why);
            let mut own = table.queue.unwrap_or(WireQueue::Table(of_all));
            let queue = own.complete(&mut table.drop, self.drop.as_ref());
            let queue = queue.map_err(|mistake| mistake.within("queues", index))?;
            table.queue = table.queue.map(|_| own);
            for id in &table.nodes {
                let node = names.number(id).map_err(wrong)?;
                if queues.iter().any(|&(other, _)| other == node) {
                    return Err(wrong(format!("node \"{id}\" has its queues from another entry")));
                }
                queues.push((node, queue.clone()));
            }
        }
        Ok(queues)
    }

    fn link_losses(&self, names: &Names, is_ideal: bool) -> Result<Vec<LinkLoss>, Mistake> {
        let mut losses: BTreeMap<(u32, u32), LinkLoss> = BTreeMap::new();
        for (index, entry) in self.losses.iter().enumerate() {
            let (a, b) = ends("losses", index, &entry.from, &entry.to, names)?;
            for (from, to) in [(a, b), (b, a)].into_iter().take(if entry.one_way { 1 } else { 2 }) {
                let link = losses.entry((from, to)).or_insert(LinkLoss { from, to, schedule: Vec::new() });
                let model = entry.model().map_err(|(key, why)| Mistake::entry("losses", index, key, why))?;
                link.schedule.push((Instant::ZERO + entry.start.0, model));
            }
        }
        let on_air = |loss: &LinkLoss| {
            !self.wires.iter().any(|w| {
                let ends = [&w.from, &w.to];
                ends.contains(&&names[loss.from as usize]) && ends.contains(&&names[loss.to as usize])
            })
        };
        if is_ideal && losses.values().any(on_air) {
            return Err(Mistake::at("losses", "has no meaning for the ideal MAC, which loses no frames"));
        }
        Ok(losses.into_values().collect())
    }
}

/// The numbers of two nodes that an entry of a table names.
fn ends(table: &str, index: usize, from: &String, to: &String, names: &Names) -> Result<(u32, u32), Mistake> {
    let node =
        |key: &str, id: &String| names.number(id).map_err(|why| Mistake::entry(table, index, key, why));
    let (from, to) = (node("from", from)?, node("to", to)?);
    if from == to {
        let what = if table == "flows" {
            "a flow ends at another node than it begins"
        } else {
            "both ends are one node"
        };
        return Err(Mistake::entry(table, index, "to", what));
    }
    Ok((from, to))
}

/// The links of the air that flows take, in the order in which they take them, and their names.
fn links_in_use(
    nodes: &[String],
    medium: &Medium,
    paths: impl Iterator<Item = Vec<u32>>,
) -> Vec<(String, Link)> {
    let mut links: Vec<(String, Link)> = Vec::new();
    let mut seen = BTreeSet::new();
    let paths: Vec<Vec<u32>> = paths.collect();
    for hop in paths.iter().flat_map(|path| path.windows(2)) {
        let link = Link { from: hop[0], to: hop[1] };
        let on_air = hop[1] != BROADCAST && medium.hearing(hop[0] as usize, hop[1] as usize).is_some();
        if on_air && seen.insert(link) {
            links.push((format!("{}>{}", nodes[hop[0] as usize], nodes[hop[1] as usize]), link));
        }
    }
    links
}

impl LossTable {
    /// The model that the keys describe; else a key and its mistake.
    fn model(&self) -> Result<LossModel, (&'static str, String)> {
        let Self { loss, loss_bad, .. } = *self;
        let bursts = match (loss_bad, self.good, self.bad) {
            (None, None, None) => None,
            (Some(_), Some(good), Some(bad)) if good.0.is_zero() || bad.0.is_zero() => {
                return Err(("good", "good and bad must be above 0 s".into()));
            }
            (Some(loss_bad), Some(good), Some(bad)) => Some(LossModel::Bursts {
                good: good.0,
                bad: bad.0,
                loss_good: loss.unwrap_or(Probability::ZERO),
                loss_bad,
            }),
            _ => {
                let why = "a bursty link needs loss_bad, good and bad, and may have loss";
                return Err(("loss_bad", why.into()));
            }
        };
        if self.every == Some(0) {
            return Err(("every", "must be at least 1".into()));
        }
        let plain = loss.filter(|_| bursts.is_none()).map(LossModel::Frames);
        let given = [
            plain,
            bursts,
            self.every.map(LossModel::Every),
            self.bit_error_rate.map(|rate| LossModel::Bits(rate.value())),
        ];
        match given.into_iter().flatten().collect::<Vec<_>>()[..] {
            [model] => Ok(model),
            _ => {
                Err(("loss", "give one of loss, every, bit_error_rate, and the keys of a bursty link".into()))
            }
        }
    }
}
