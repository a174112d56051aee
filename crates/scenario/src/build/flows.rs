//! From the scenario's flows to those of the packet world.

use super::ends;
use super::names::Names;
use crate::error::Mistake;
use crate::language::{FlowTable, Preset, Scenario, TrafficKind};
use crate::law;
use crate::quantity::Size;
use crate::resolved::Wrong;
use evenair_laws::Parameters;
use evenair_laws::connections::ConnectionLaw;
use evenair_laws::flow::{FlowRole, Signal};
use evenair_laws::window::AirPath;
use evenair_netsim::{FlowSpec, LinkRate, Sampling, TcpSpec, TfrcSpec, Traffic, Wire};
use evenair_topology::{Position, Router};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::BROADCAST;

/// Headers of IP and UDP.
const UDP_HEADERS: Bytes = Bytes::new(28);
/// Headers of IP and UDP, and a report's four fields (RFC 5348 section 3.2.2), four bytes each.
const TFRC_REPORT: Bytes = Bytes::new(28 + 16);

/// The ground that flows go over, and the settings that they have where they say nothing of their own.
pub(super) struct Ground<'a> {
    pub(super) nodes: &'a Names,
    pub(super) router: &'a Router<'a>,
    pub(super) wires: &'a [Wire],
    pub(super) rates: &'a [LinkRate],
    /// Of links of the air that have none of their own.
    pub(super) data_rate: Rate,
    pub(super) tcp: &'a TcpSpec,
    pub(super) is_ideal: bool,
    /// Whether nodes are on several channels.
    pub(super) has_channels: bool,
    /// Where nodes stand.
    pub(super) places: &'a [Option<Position>],
    /// How far nodes are decoded, where that is a distance \[m\].
    pub(super) reach_m: Option<f64>,
    /// Walls, floors or shadowing change these distances.
    pub(super) is_obstructed: bool,
    /// Whether rates reach different distances.
    pub(super) has_rates: bool,
    /// Whether each link has the fastest rate that it can carry.
    pub(super) by_distance: bool,
    /// Where nodes move: the routes of all flows at some instants, in order.
    pub(super) later_routes: &'a [(Instant, Vec<Option<Vec<u32>>>)],
}

impl Scenario {
    /// Writes out the defaults of flows, and makes those of the packet world.
    pub(super) fn flow_specs(&mut self, ground: &Ground<'_>) -> Result<Vec<FlowSpec>, Mistake> {
        law::complete_any("rate_law", &mut self.rate_law)?;
        let rate_law = self.rate_law.take();
        let jitter = self.start_jitter.take();
        let mut flows = std::mem::take(&mut self.flows);
        let mut specs = Vec::new();
        for (index, flow) in flows.iter_mut().enumerate() {
            let wrong = |(key, why): Wrong| Mistake::entry("flows", index, key, why);
            flow.start_jitter = flow.start_jitter.or(jitter).filter(|jitter| !jitter.0.is_zero());
            flow.complete_laws(rate_law.as_ref()).map_err(|mistake| mistake.within("flows", index))?;
            flow.check_kind().and_then(|()| flow.check(ground.is_ideal)).map_err(wrong)?;
            let active = flow.activity(index).map_err(wrong)?;
            let path = ground.path(index, flow)?;
            specs.push(FlowSpec {
                name: flow.id.clone(),
                traffic: self.traffic(flow, ground, &path).map_err(wrong)?,
                path,
                active,
                start_jitter: flow.start_jitter.map_or(Duration::ZERO, |jitter| jitter.0),
                category: flow.access_category(),
                code_point: flow.code_point(),
                weight: flow.weight.unwrap_or(1.0),
                stack: flow.stack.map(Into::into),
            });
        }
        self.flows = flows;
        Ok(specs)
    }

    fn traffic(&self, flow: &mut FlowTable, ground: &Ground<'_>, path: &[u32]) -> Result<Traffic, Wrong> {
        let connections = flow.connections.as_ref().or(self.connections.as_ref());
        if flow.application_rate.is_some() && connections.is_some() {
            let why =
                "paces one connection, and has no rule by which several share their data: remove connections";
            return Err(("application_rate", why.into()));
        }
        if matches!(flow.traffic, TrafficKind::Tcp | TrafficKind::Web) {
            let is_web = flow.traffic == TrafficKind::Web;
            let connections = connections.filter(|_| !is_web).cloned();
            let role = FlowRole { payload: ground.tcp.payload };
            let needs = connections.as_ref().map(|law| law.begin(&role).needs()).unwrap_or_default();
            let of_windows = needs.contains(&Signal::RoundTripOfWindows);
            if needs.contains(&Signal::Marked) && !ground.tcp.sender.ecn {
                let why = "price = \"marks\": queues mark only if the ends use ECN; set tcp.ecn = true";
                return Err(("connections", why.into()));
            }
            let sampling = if of_windows { Sampling::OnePerWindow } else { Sampling::EverySegment };
            let source = flow.source(ground.tcp.payload)?;
            let resequence = flow.resequence;
            let mut tcp = self.tcp.of_flow(ground.tcp, flow, self.preset);
            tcp.sender.start.path = ground.air_path(path);
            let tcp = TcpSpec { source, connections, resequence, sampling, ..tcp };
            return Ok(if is_web {
                Traffic::Web(flow.web.get_or_insert_default().complete(tcp)?)
            } else {
                Traffic::Tcp(tcp)
            });
        }
        if self.preset == Preset::Ns3 && flow.is_plain() {
            flow.headers.get_or_insert(Size(UDP_HEADERS));
        }
        if let Some(mix) = flow.mix()? {
            return flow.datagrams(mix.mean(), Some(mix));
        }
        let size = flow.size.get_or_insert(Size(Bytes::new(1000))).0;
        if size.count() == 0 {
            return Err(("size", "must be at least 1 byte".into()));
        }
        if flow.traffic != TrafficKind::Tfrc {
            return flow.datagrams(size, None);
        }
        let role = FlowRole { payload: size };
        let needs = connections.map(|law| law.begin(&role).needs()).unwrap_or_default();
        if let Some(signal) = needs.iter().find(|s| matches!(s, Signal::LeastInInterval | Signal::Marked)) {
            let why = format!("the law needs {signal}, and TFRC's endpoints do not report it");
            return Err(("connections", why));
        }
        Ok(Traffic::Tfrc(TfrcSpec {
            params: self.tfrc.unwrap_or_default(),
            size,
            report: TFRC_REPORT,
            source: flow.source(size)?,
            connections: connections.cloned(),
            probes: ground.tcp.probes,
        }))
    }
}

impl Ground<'_> {
    /// The nodes on a flow's way.
    fn path(&self, index: usize, flow: &FlowTable) -> Result<Vec<u32>, Mistake> {
        let Self { nodes, router, .. } = *self;
        let wrong = |key: &str, why: String| Mistake::entry("flows", index, key, why);
        let number = |key: &str, id: &String| nodes.number(id).map_err(|why| wrong(key, why));
        if flow.to == "*" {
            return Ok(vec![number("from", &flow.from)?, BROADCAST]);
        }
        let (from, to) = ends("flows", index, &flow.from, &flow.to, nodes)?;
        let path = if let Some(via) = &flow.via {
            let mut path = vec![from];
            for id in via {
                path.push(number("via", id)?);
            }
            path.push(to);
            if let Some(hop) = path.windows(2).find(|hop| !router.adjacent(hop[0], hop[1])) {
                let (a, b) = (&nodes[hop[0] as usize], &nodes[hop[1] as usize]);
                return Err(wrong("via", format!("\"{a}\" and \"{b}\" are not one hop apart")));
            }
            path
        } else {
            let path_ends = [from, to];
            let later = || self.later_routes.iter().find_map(|(_, of_flows)| of_flows[index].clone());
            later().map_or_else(|| router.route(from, to), Ok).map_err(|_| {
                let (from, to) = (&flow.from, &flow.to);
                let channel = if self.has_channels { " and on one channel" } else { "" };
                let why = format!(
                    "there is no route from \"{from}\" to \"{to}\": no chain of nodes within transmission range{channel}{}",
                    self.how_far(path_ends)
                );
                wrong("to", why)
            })?
        };
        if path.len() > 200 {
            return Err(wrong("to", "the route has more than 200 hops".into()));
        }
        Ok(path)
    }

    /// How far two nodes are apart, and how far any goes, where that is known.
    fn how_far(&self, ends: [u32; 2]) -> String {
        let place = |end: u32| self.places.get(end as usize).copied().flatten();
        let (Some(reach_m), [Some(from), Some(to)]) = (self.reach_m, ends.map(place)) else {
            return String::new();
        };
        let at_rate = match (self.has_rates, self.by_distance) {
            (false, _) => "",
            (true, true) => " at the slowest rate",
            (true, false) => " at the slowest rate (mac.data_rate = \"by-distance\" takes it where it must)",
        };
        let open = if self.is_obstructed { " in the open" } else { "" };
        format!(
            "; they are {:.1} m apart, and the range{open} is {reach_m:.1} m{at_rate}",
            from.distance_m(to)
        )
    }

    /// The knowledge of a path that TCP's senders can have; nothing, if none of it is on the air.
    fn air_path(&self, path: &[u32]) -> Option<AirPath> {
        let acknowledgement = self.tcp.plain_headers();
        let data = self.tcp.payload + acknowledgement;
        let (mut hops, mut bit_s, mut wired) = (0, 0.0, Duration::ZERO);
        for hop in path.windows(2) {
            if let Some(wire) = self.wires.iter().find(|wire| [wire.from, wire.to] == hop) {
                wired += wire.delay * 2 + wire.rate.time_for(data) + wire.rate.time_for(acknowledgement);
                continue;
            }
            let own = self.rates.iter().find(|link| [link.from, link.to] == hop);
            hops += 1;
            bit_s += 1.0 / own.map_or(self.data_rate, |link| link.mode.rate()).as_bps() as f64;
        }
        let rate = Rate::from_bps((f64::from(hops) / bit_s).round() as u64);
        (hops > 0).then_some(AirPath { hops, data, acknowledgement, rate, wired })
    }
}
