//! From the scenario's flows to those of the packet world.

use super::no_node;
use crate::error::Mistake;
use crate::language::{Preset, ResolvedTcp};
use crate::quantity::{Probability, RateQuantity};
use crate::resolved::{ResolvedFlow, Sends, Settings};
use evenair_laws::Parameters;
use evenair_laws::connections::{ConnectionLaw, ConnectionParams};
use evenair_laws::flow::FlowRole;
use evenair_laws::flow::Signal;
use evenair_laws::window::{AirPath, WindowStart};
use evenair_netsim::{
    FlowSpec, LinkRate, Pattern, ProbeSpec, RatedSpec, Sampling, Source, TcpSpec, TfrcSpec, Traffic, Wire,
};
use evenair_tcp::{AckPolicy, LossMeasure, RtoParams, SenderParams};
use evenair_topology::{Medium, Router};
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::BROADCAST;

/// Headers of IP and UDP, and a report's four fields (RFC 5348 section 3.2.2), four bytes each.
const TFRC_REPORT: Bytes = Bytes::new(28 + 16);

impl Settings {
    pub(super) fn flow_specs(
        &self,
        nodes: &[String],
        medium: &Medium,
        wires: &[Wire],
        rates: &[LinkRate],
    ) -> Result<Vec<FlowSpec>, Mistake> {
        let ends: Vec<(u32, u32)> = wires.iter().map(|wire| (wire.from, wire.to)).collect();
        let router = Router::with_wires(medium, &ends);
        let mut specs = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let path = Self::path(index, flow, nodes, &router)?;
            let traffic = self.traffic(flow, self.air_path(&path, wires, rates));
            specs.push(FlowSpec {
                name: flow.id.clone(),
                path,
                traffic,
                active: flow.activity.stretches(),
                start_jitter: flow.start_jitter.map_or(Duration::ZERO, |jitter| jitter.0),
                category: flow.category.unwrap_or_default(),
                weight: flow.weight.unwrap_or(1.0),
            });
        }
        Ok(specs)
    }

    /// The nodes on a flow's way.
    fn path(
        index: usize,
        flow: &ResolvedFlow,
        nodes: &[String],
        router: &Router<'_>,
    ) -> Result<Vec<u32>, Mistake> {
        let wrong = |key: &str, why: String| Mistake::entry("flows", index, key, why);
        let number = |key: &str, id: &String| {
            let place = nodes.iter().position(|n| n == id).map(|i| i as u32);
            place.ok_or_else(|| wrong(key, no_node(id, nodes)))
        };
        if flow.to == "*" {
            return Ok(vec![number("from", &flow.from)?, BROADCAST]);
        }
        let (from, to) = Self::ends("flows", index, &flow.from, &flow.to, nodes)?;
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
            router.route(from, to).map_err(|_| {
                let (from, to) = (&flow.from, &flow.to);
                wrong(
                    "to",
                    format!(
                        "there is no route from \"{from}\" to \"{to}\": no chain of nodes within transmission range"
                    ),
                )
            })?
        };
        if path.len() > 200 {
            return Err(wrong("to", "the route has more than 200 hops".into()));
        }
        Ok(path)
    }

    /// What TCP's senders can know of a path; nothing, if none of it is on the air.
    fn air_path(&self, path: &[u32], wires: &[Wire], rates: &[LinkRate]) -> Option<AirPath> {
        let (data, acknowledgement) = (self.tcp.segment(), self.tcp.headers.0);
        let (mut hops, mut bit_s, mut wired) = (0, 0.0, Duration::ZERO);
        for hop in path.windows(2) {
            if let Some(wire) = wires.iter().find(|wire| [wire.from, wire.to] == hop) {
                wired += wire.delay * 2 + wire.rate.time_for(data) + wire.rate.time_for(acknowledgement);
                continue;
            }
            let own = rates.iter().find(|link| [link.from, link.to] == hop);
            hops += 1;
            bit_s += 1.0 / own.map_or(self.mac.data_rate.0, |link| link.rate).as_bps() as f64;
        }
        let rate = Rate::from_bps((f64::from(hops) / bit_s).round() as u64);
        (hops > 0).then_some(AirPath { hops, data, acknowledgement, rate, wired })
    }

    fn traffic(&self, flow: &ResolvedFlow, path: Option<AirPath>) -> Traffic {
        let (size, pattern) = match flow.sends {
            Sends::Tfrc { size, application_rate } => {
                return Traffic::Tfrc(self.tfrc_spec(flow, size.0, application_rate));
            }
            Sends::Tcp { transfer, application_rate } => {
                let spec = self.tcp_spec(flow, path);
                let source = match (transfer, application_rate) {
                    (Some(amount), _) => Source::Segments(amount.packets_of(spec.payload) as u32),
                    (None, Some(rate)) => Source::Paced(rate.0.time_for(spec.payload)),
                    (None, None) => Source::Endless,
                };
                return Traffic::Tcp(TcpSpec { source, ..spec });
            }
            Sends::Web { web } => return Traffic::Web(web.spec(self.tcp_spec(flow, path))),
            Sends::Saturated { size } => (size, Pattern::Saturated),
            Sends::Cbr { size, pace, jitter } => {
                let interval = pace.interval(size);
                (size, Pattern::Constant { interval, jitter: jitter.map_or(0.0, Probability::value) })
            }
            Sends::OnOff { size, pace, on, off } => {
                (size, Pattern::OnOff { interval: pace.interval(size), on: on.0, off: off.0 })
            }
            Sends::Rated { size, ref rate_law, rate_max } => {
                let law = rate_law.clone();
                return Traffic::Rated(RatedSpec { size: size.0, law, rate_max: rate_max.0 });
            }
        };
        Traffic::Datagrams { size: size.0, pattern }
    }

    fn tcp_spec(&self, flow: &ResolvedFlow, path: Option<AirPath>) -> TcpSpec {
        let tcp = &self.tcp;
        let window = flow.window.as_ref().unwrap_or(&tcp.window);
        let sender = SenderParams {
            recovery: tcp.recovery(window),
            start: WindowStart {
                initial_window: f64::from(tcp.initial_window.0),
                initial_ssthresh: f64::from(tcp.initial_ssthresh.0),
                byte_counting: self.preset == Preset::Standard,
                path,
            },
            receiver_window: tcp.receiver_window.0,
            rto: RtoParams {
                initial: tcp.initial_rto.0,
                min: tcp.min_rto.0,
                granularity: tcp.clock.0,
                ..RtoParams::rfc6298()
            },
            limited_transmit: tcp.limited_transmit,
            rack: tcp.rack,
            tail_loss_probe: tcp.tail_loss_probe,
            loss_measure: match self.preset {
                Preset::Standard => LossMeasure::Outstanding,
                Preset::Ns2 => LossMeasure::Window,
            },
            grows_unused: self.preset == Preset::Ns2,
            handshake: tcp.handshake,
            timestamps: tcp.timestamps,
            ecn: tcp.ecn,
        };
        let delay = tcp.delayed_ack.0;
        let is_web = matches!(flow.sends, Sends::Web { .. });
        let connections = self.connections_of(flow).filter(|_| !is_web);
        let role = FlowRole { payload: tcp.payload.0 };
        let needs = connections.as_ref().map(|law| law.begin(&role).needs()).unwrap_or_default();
        TcpSpec {
            sender,
            window: window.law(),
            acknowledge: if delay.is_zero() {
                AckPolicy::EachSegment
            } else {
                AckPolicy::Delayed { delay, quick: tcp.quick_acks.0 }
            },
            payload: tcp.payload.0,
            headers: tcp.headers.0,
            source: Source::Endless,
            connections,
            probes: self.probe_spec(),
            resequence: flow.resequence,
            sampling: if needs.contains(&Signal::RoundTripOfWindows) {
                Sampling::OnePerWindow
            } else {
                Sampling::EverySegment
            },
        }
    }

    fn tfrc_spec(
        &self,
        flow: &ResolvedFlow,
        size: Bytes,
        application_rate: Option<RateQuantity>,
    ) -> TfrcSpec {
        let paced = |rate: RateQuantity| Source::Paced(rate.0.time_for(size));
        TfrcSpec {
            params: self.tfrc.unwrap_or_default(),
            size,
            report: TFRC_REPORT,
            source: application_rate.map_or(Source::Endless, paced),
            connections: self.connections_of(flow),
            probes: self.probe_spec(),
        }
    }

    fn connections_of(&self, flow: &ResolvedFlow) -> Option<ConnectionParams> {
        flow.connections.clone().or_else(|| self.connections.clone())
    }

    fn probe_spec(&self) -> ProbeSpec {
        let probes = self.probes.unwrap_or_default();
        let size = probes.size.map_or(ProbeSpec::default().size, |size| size.0);
        ProbeSpec { size, most_per_second: probes.most_per_second }
    }
}

/// A full data packet, network-layer size: the largest that any flow sends; a segment of [tcp], where all packets come from outside.
pub(crate) fn packet_size(tcp: &ResolvedTcp, flows: &[ResolvedFlow]) -> Bytes {
    let of = |flow: &ResolvedFlow| match flow.sends {
        Sends::Tcp { .. } | Sends::Web { .. } => tcp.segment(),
        Sends::Saturated { size }
        | Sends::Cbr { size, .. }
        | Sends::OnOff { size, .. }
        | Sends::Rated { size, .. }
        | Sends::Tfrc { size, .. } => size.0,
    };
    flows.iter().map(of).max().unwrap_or(tcp.segment())
}
