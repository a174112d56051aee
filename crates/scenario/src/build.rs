//! From a resolved scenario to the packet world.

use crate::error::Mistake;
use crate::language::{
    AckPriority, BackoffLaw, BackoffUnit, HoldingLaw, MacKind, Measure, PreambleKind, Preset, Scenario,
    TrafficKind, WindowName,
};
use evenair_laws::BadParameter;
use evenair_laws::backoff::{AdaptiveParams, DcfParams, QueueMeasure};
use evenair_laws::connections::RttProportionalParams;
use evenair_laws::marking::{DropTail, Proportional};
use evenair_laws::window::WindowParams;
use evenair_netsim::{BackoffSpec, FlowSpec, MacSpec, NetworkSpec, RunSpec, TcpSpec, Traffic};
use evenair_tcp::{AckPolicy, LossMeasure, RtoParams, SenderParams, WindowKind};
use evenair_topology::{ConflictGraph, Link, Medium, Position, Router, ThresholdRadio};
use evenair_units::{Bytes, Duration, Instant};
use evenair_wifi::{Capture, Holding, MacTiming, Phy, Preamble, Rules};

/// What a scenario describes, ready to run: nodes, who hears whom, and the network of the packet world.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// Positions, where they were given.
    pub positions: Option<Vec<Position>>,
    /// Transmission and carrier-sense range [m], where there is a radio.
    pub ranges_m: Option<(f64, f64)>,
    /// The links that carry data, in the order of the flows, and their names.
    pub links: Vec<(String, Link)>,
    /// Which of those conflict.
    pub conflicts: ConflictGraph,
    /// The packet world.
    pub network: NetworkSpec,
}

/// Everything in the scenario is resolved before a world is built.
const RESOLVED: &str = "defaults are resolved when a scenario is read";

impl Scenario {
    /// Builds the packet world.
    pub fn network(&self) -> NetworkSpec {
        self.world().expect("a scenario that was read is consistent").network
    }

    /// One run of it, without any measurement that costs.
    pub fn run_spec(&self, seed: u64) -> RunSpec {
        RunSpec {
            seed,
            warmup: self.warmup.0,
            duration: self.duration.0,
            sample_every: None,
            ledger: false,
            timeline: None,
        }
    }

    /// Builds all that the scenario describes.
    pub(crate) fn world(&self) -> Result<World, Mistake> {
        let nodes = self.node_names();
        let medium = self.medium(&nodes)?;
        let flows = self.flow_specs(&nodes, &medium)?;
        let mut links: Vec<(String, Link)> = Vec::new();
        for flow in &flows {
            for hop in flow.path.windows(2) {
                let link = Link { from: hop[0], to: hop[1] };
                if !links.iter().any(|&(_, l)| l == link) {
                    links.push((format!("{}>{}", nodes[hop[0] as usize], nodes[hop[1] as usize]), link));
                }
            }
        }
        let bare: Vec<Link> = links.iter().map(|&(_, link)| link).collect();
        let conflicts = medium.conflicts(&bare);
        let mac = self.mac_spec()?;
        let backoff = self.backoff_spec(&mac)?;
        let network = NetworkSpec {
            nodes,
            medium,
            mac,
            data_rate: self.mac.data_rate.expect(RESOLVED).0,
            backoff,
            buffer: DropTail { limit_packets: self.mac.queue.expect(RESOLVED).0 },
            proportional: self.drop.map(|drop| Proportional { per_packet: drop.per_packet }),
            link_layer_delay: self.mac.link_layer_delay.expect(RESOLVED).0,
            flows,
        };
        let ranges_m = self.radio.map(|radio| radio.ranges_m()).transpose()?;
        Ok(World { positions: self.positions(), ranges_m, links, conflicts, network })
    }

    /// All that the scenario describes, for maps and reports.
    pub fn describe(&self) -> World {
        self.world().expect("a scenario that was read is consistent")
    }

    fn node_names(&self) -> Vec<String> {
        if !self.nodes.is_empty() {
            return self.nodes.iter().map(|n| n.id.clone()).collect();
        }
        let mut names: Vec<String> = Vec::new();
        for end in self.links.iter().flat_map(|l| [&l.from, &l.to]) {
            if !names.contains(end) {
                names.push(end.clone());
            }
        }
        names
    }

    fn positions(&self) -> Option<Vec<Position>> {
        (!self.nodes.is_empty()).then(|| self.nodes.iter().map(|n| Position::new(n.at[0], n.at[1])).collect())
    }

    fn medium(&self, names: &[String]) -> Result<Medium, Mistake> {
        if let Some(positions) = self.positions() {
            let radio =
                self.radio.ok_or_else(|| Mistake::at("radio", "nodes with positions need a [radio]"))?;
            let (transmission_range_m, carrier_sense_range_m) = radio.ranges_m()?;
            let radio = ThresholdRadio {
                transmission_range_m,
                carrier_sense_range_m,
                propagation: radio.propagation(),
            };
            return Ok(Medium::from_positions(&positions, &radio));
        }
        let node =
            |name: &String| names.iter().position(|n| n == name).expect("names come from the links") as u32;
        let links: Vec<Link> =
            self.links.iter().map(|l| Link { from: node(&l.from), to: node(&l.to) }).collect();
        let link = |id: &String| self.links.iter().position(|l| &l.id == id).expect("checked");
        let edges: Vec<(usize, usize)> = self.conflicts.iter().map(|[a, b]| (link(a), link(b))).collect();
        Ok(Medium::from_conflicts(names.len(), &links, &ConflictGraph::from_edges(links.len(), &edges)))
    }

    fn flow_specs(&self, nodes: &[String], medium: &Medium) -> Result<Vec<FlowSpec>, Mistake> {
        let router = Router::new(medium);
        let mut specs = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let node = |key: &str, id: &String| {
                nodes.iter().position(|n| n == id).map(|i| i as u32).ok_or_else(|| {
                    let known = nodes.join(", ");
                    Mistake::entry(
                        "flows",
                        index,
                        key,
                        format!("there is no node \"{id}\"; nodes are {known}"),
                    )
                })
            };
            let (from, to) = (node("from", &flow.from)?, node("to", &flow.to)?);
            if from == to {
                return Err(Mistake::entry(
                    "flows",
                    index,
                    "to",
                    "a flow ends at another node than it begins",
                ));
            }
            let path = router.route(from, to).map_err(|_| {
                let message = format!(
                    "there is no route from \"{}\" to \"{}\": no chain of nodes within transmission range",
                    flow.from, flow.to
                );
                Mistake::entry("flows", index, "to", message)
            })?;
            if path.len() > 200 {
                return Err(Mistake::entry("flows", index, "to", "the route has more than 200 hops"));
            }
            let traffic = match flow.traffic {
                TrafficKind::Tcp => Traffic::Tcp(self.tcp_spec()?),
                TrafficKind::Saturated => Traffic::Saturated { size: flow.size.expect(RESOLVED).0 },
            };
            let start = Instant::ZERO + flow.start.expect(RESOLVED).0;
            specs.push(FlowSpec { name: flow.id.clone(), path, start, traffic });
        }
        Ok(specs)
    }

    fn tcp_spec(&self) -> Result<TcpSpec, Mistake> {
        let tcp = &self.tcp;
        let segments = |count: Option<crate::PacketCount>| f64::from(count.expect(RESOLVED).0);
        let sender = SenderParams {
            window: match tcp.window.expect(RESOLVED) {
                WindowName::Reno => WindowKind::Reno,
                WindowName::Newreno => WindowKind::NewReno,
            },
            start: WindowParams {
                initial_window: segments(tcp.initial_window),
                initial_ssthresh: segments(tcp.initial_ssthresh),
            },
            receiver_window: tcp.receiver_window.expect(RESOLVED).0,
            rto: RtoParams {
                initial: tcp.initial_rto.expect(RESOLVED).0,
                min: tcp.min_rto.expect(RESOLVED).0,
                granularity: tcp.clock.expect(RESOLVED).0,
                ..RtoParams::rfc6298()
            },
            limited_transmit: tcp.limited_transmit.expect(RESOLVED),
            loss_measure: match self.preset {
                Preset::Standard => LossMeasure::Outstanding,
                Preset::Ns2 => LossMeasure::Window,
            },
            grows_unused: self.preset == Preset::Ns2,
            handshake: tcp.handshake.expect(RESOLVED),
        };
        let delay = tcp.delayed_ack.expect(RESOLVED).0;
        let connections = self.connections.map(|c| {
            let params = RttProportionalParams {
                per_second: c.k,
                interval: c.interval.0,
                hysteresis: c.hysteresis,
                smoothed: c.smoothed,
                connections_max: c.max,
            };
            params.validated().map_err(|e| law_mistake("connections", e))
        });
        Ok(TcpSpec {
            sender,
            acknowledge: if delay.is_zero() { AckPolicy::EachSegment } else { AckPolicy::Delayed(delay) },
            payload: tcp.payload.expect(RESOLVED).0,
            headers: tcp.headers.expect(RESOLVED).0,
            connections: connections.transpose()?,
        })
    }

    fn mac_spec(&self) -> Result<MacSpec, Mistake> {
        let mac = &self.mac;
        match mac.kind {
            MacKind::Ieee80211b => {
                if mac.holding.is_some() {
                    return Err(Mistake::at(
                        "mac.holding",
                        "is for the ideal MAC; 802.11 holds a packet's airtime",
                    ));
                }
                let preamble = match mac.preamble.expect(RESOLVED) {
                    PreambleKind::Long => Preamble::Long,
                    PreambleKind::Short => Preamble::Short,
                };
                let phy = Phy { preamble, ..Phy::b_long() };
                for (key, rate) in [("mac.data_rate", mac.data_rate), ("mac.basic_rate", mac.basic_rate)] {
                    phy.checked(rate.expect(RESOLVED).0).map_err(|e| Mistake::at(key, e.to_string()))?;
                }
                let timing = MacTiming::b(preamble, mac.basic_rate.expect(RESOLVED).0);
                let (timing, rules) = match self.preset {
                    Preset::Standard => (timing, Rules::standard()),
                    Preset::Ns2 => (timing.ns2(), Rules::ns2()),
                };
                let timing = MacTiming { sensing_delay: mac.sensing_delay.expect(RESOLVED).0, ..timing };
                let capture_db = self.radio.map_or(rules.capture_db, |r| r.capture.expect(RESOLVED).0);
                let attempts = mac.attempts.expect(RESOLVED);
                let capture: Capture = rules.capture;
                Ok(MacSpec::Dcf { timing, rules: Rules { capture, capture_db, attempts, ..rules } })
            }
            MacKind::Ideal => {
                let unused = [
                    ("basic_rate", mac.basic_rate.is_some()),
                    ("preamble", mac.preamble.is_some()),
                    ("attempts", mac.attempts.is_some()),
                    ("sensing_delay", mac.sensing_delay.is_some()),
                ];
                if let Some((key, _)) = unused.iter().find(|(_, given)| *given) {
                    return Err(Mistake::at(&format!("mac.{key}"), "has no meaning for the ideal MAC"));
                }
                let mean = self.mac.data_rate.expect(RESOLVED).0.time_for(self.packet_size());
                let holding = match mac.holding.expect(RESOLVED) {
                    HoldingLaw::Packet => Holding::Packet,
                    HoldingLaw::Exponential => Holding::Exponential(mean),
                    HoldingLaw::Uniform => Holding::Uniform(mean),
                };
                Ok(MacSpec::Ideal { holding })
            }
        }
    }

    /// A full data packet, network-layer size.
    pub(crate) fn packet_size(&self) -> Bytes {
        match self.flows.iter().find(|f| f.traffic == TrafficKind::Saturated) {
            Some(flow) => flow.size.expect(RESOLVED).0,
            None => self.tcp.payload.expect(RESOLVED).0 + self.tcp.headers.expect(RESOLVED).0,
        }
    }

    fn backoff_spec(&self, mac: &MacSpec) -> Result<BackoffSpec, Mistake> {
        match self.backoff {
            BackoffLaw::Dcf { window_min, window_max } => {
                let params = DcfParams {
                    window_min: window_min.expect(RESOLVED),
                    window_max: window_max.expect(RESOLVED),
                    ..DcfParams::dsss()
                };
                let params = if self.preset == Preset::Ns2 { params.ns2() } else { params };
                params.validated().map(BackoffSpec::Dcf).map_err(|e| law_mistake("backoff", e))
            }
            BackoffLaw::Adaptive {
                alpha,
                beta,
                r_max,
                interval,
                measure,
                unit,
                acks,
                drop,
                dummies,
                slotted,
            } => {
                let (size, rate) = (self.packet_size(), self.mac.data_rate.expect(RESOLVED).0);
                let packet_airtime = match mac {
                    MacSpec::Dcf { timing, .. } => timing.data(size, rate),
                    MacSpec::Ideal { .. } => rate.time_for(size),
                };
                let params = AdaptiveParams {
                    packet_airtime: (unit == BackoffUnit::DataPacket).then_some(packet_airtime),
                    step: alpha,
                    beta,
                    aggressiveness_max: r_max.unwrap_or(f64::INFINITY),
                    update_interval: interval.0,
                    measure: match measure {
                        Measure::Packets => QueueMeasure::Packets,
                        Measure::Bytes => QueueMeasure::Bytes,
                    },
                    packet_bytes: self.tcp.payload.expect(RESOLVED).0,
                    slotted,
                    dummy_packets: dummies,
                    drops: drop,
                    pinned_at_max: false,
                };
                let prioritise_acks = acks == AckPriority::High;
                // What will be pinned must have a bound.
                AdaptiveParams { pinned_at_max: prioritise_acks, ..params }
                    .validated()
                    .map_err(|e| law_mistake("backoff", e))?;
                Ok(BackoffSpec::Adaptive { params, prioritise_acks })
            }
        }
    }
}

fn law_mistake(table: &str, error: BadParameter) -> Mistake {
    let key = if error.name == "update_interval" { "interval" } else { error.name };
    Mistake::at(&format!("{table}.{key}"), format!("{} is not allowed: {}", error.value, error.allowed))
}

/// Airtime that one segment of data costs on each hop, its acknowledgement included: what bounds rates in the theory.
pub(crate) fn airtime_per_unit(network: &NetworkSpec, traffic: &Traffic) -> Duration {
    let (data, reply) = match traffic {
        Traffic::Tcp(tcp) => (tcp.payload + tcp.headers, Some(tcp.headers)),
        Traffic::Saturated { size } => (*size, None),
    };
    let cost = |size: Bytes| match network.mac {
        MacSpec::Dcf { timing, .. } => timing.exchange(size, network.data_rate),
        MacSpec::Ideal { .. } => network.data_rate.time_for(size),
    };
    cost(data) + reply.map_or(Duration::ZERO, cost)
}
