//! From the scenario's flows to those of the packet world.

use super::{RESOLVED, no_node};
use crate::error::Mistake;
use crate::language::{
    CategoryName, Flow, Preset, RoundTripSamples, Scenario, TrafficKind, UnsampledRule, WindowName,
};
use evenair_laws::Parameters;
use evenair_laws::backoff::Category;
use evenair_laws::connections::{self, ConnectionParams, RttProportionalParams, Unsampled};
use evenair_laws::window::{CubicParams, RenoParams, WindowStart};
use evenair_netsim::{FlowSpec, Pattern, Sampling, Source, TcpSpec, Traffic};
use evenair_tcp::{AckPolicy, LossMeasure, Recovery, RtoParams, SenderParams};
use evenair_topology::{Medium, Router};
use evenair_units::Bytes;
use evenair_wifi::BROADCAST;

impl Scenario {
    pub(super) fn flow_specs(&self, nodes: &[String], medium: &Medium) -> Result<Vec<FlowSpec>, Mistake> {
        let number = |id: &String| nodes.iter().position(|n| n == id).map(|i| i as u32);
        let wires: Vec<(u32, u32)> =
            self.wires.iter().filter_map(|w| Some((number(&w.from)?, number(&w.to)?))).collect();
        let router = Router::with_wires(medium, &wires);
        let mut specs = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            let path = Self::path(index, flow, nodes, &router)?;
            specs.push(FlowSpec {
                name: flow.id.clone(),
                path,
                active: flow.stretches(),
                traffic: self.traffic(flow)?,
                category: flow.category.map_or(Category::BestEffort, CategoryName::category),
            });
        }
        Ok(specs)
    }

    /// The nodes on a flow's way.
    fn path(index: usize, flow: &Flow, nodes: &[String], router: &Router<'_>) -> Result<Vec<u32>, Mistake> {
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

    fn traffic(&self, flow: &Flow) -> Result<Traffic, Mistake> {
        if flow.traffic == TrafficKind::Tcp {
            let spec = self.tcp_spec()?;
            let source = match (flow.transfer, flow.application_rate) {
                (Some(segments), _) => Source::Segments(segments.0),
                (None, Some(rate)) => Source::Paced(rate.0.time_for(spec.payload)),
                (None, None) => Source::Endless,
            };
            return Ok(Traffic::Tcp(TcpSpec { source, ..spec }));
        }
        let size = flow.size.expect(RESOLVED).0;
        let interval = || match (flow.interval, flow.rate) {
            (Some(interval), _) => interval.0,
            (None, rate) => rate.expect("checked").0.time_for(size),
        };
        let pattern = match flow.traffic {
            TrafficKind::Saturated | TrafficKind::Tcp => Pattern::Saturated,
            TrafficKind::Cbr => {
                Pattern::Constant { interval: interval(), jitter: flow.jitter.unwrap_or(0.0) }
            }
            TrafficKind::OnOff => Pattern::OnOff {
                interval: interval(),
                on: flow.on.expect("checked").0,
                off: flow.off.expect("checked").0,
            },
        };
        Ok(Traffic::Datagrams { size, pattern })
    }

    fn tcp_spec(&self) -> Result<TcpSpec, Mistake> {
        let tcp = &self.tcp;
        let segments = |count: Option<crate::PacketCount>| f64::from(count.expect(RESOLVED).0);
        let sender = SenderParams {
            recovery: match (tcp.sack.expect(RESOLVED), tcp.window.expect(RESOLVED)) {
                (true, _) => Recovery::Sack,
                (false, WindowName::Reno) => Recovery::Reno,
                (false, WindowName::Newreno | WindowName::Cubic) => Recovery::NewReno,
            },
            start: WindowStart {
                initial_window: segments(tcp.initial_window),
                initial_ssthresh: segments(tcp.initial_ssthresh),
                byte_counting: self.preset == Preset::Standard,
            },
            receiver_window: tcp.receiver_window.expect(RESOLVED).0,
            rto: RtoParams {
                initial: tcp.initial_rto.expect(RESOLVED).0,
                min: tcp.min_rto.expect(RESOLVED).0,
                granularity: tcp.clock.expect(RESOLVED).0,
                ..RtoParams::rfc6298()
            },
            limited_transmit: tcp.limited_transmit.expect(RESOLVED),
            rack: tcp.rack.expect(RESOLVED),
            tail_loss_probe: tcp.tail_loss_probe.expect(RESOLVED),
            loss_measure: match self.preset {
                Preset::Standard => LossMeasure::Outstanding,
                Preset::Ns2 => LossMeasure::Window,
            },
            grows_unused: self.preset == Preset::Ns2,
            handshake: tcp.handshake.expect(RESOLVED),
            timestamps: tcp.timestamps.expect(RESOLVED),
        };
        let delay = tcp.delayed_ack.expect(RESOLVED).0;
        Ok(TcpSpec {
            sender,
            window: match tcp.window.expect(RESOLVED) {
                WindowName::Reno | WindowName::Newreno => RenoParams {}.into(),
                WindowName::Cubic => CubicParams::rfc9438().into(),
            },
            acknowledge: if delay.is_zero() {
                AckPolicy::EachSegment
            } else {
                AckPolicy::Delayed { delay, quick: tcp.quick_acks.expect(RESOLVED).0 }
            },
            payload: tcp.payload.expect(RESOLVED).0,
            headers: tcp.headers.expect(RESOLVED).0,
            source: Source::Endless,
            connections: self.connection_params()?,
            sampling: match self.connections.map(|c| c.samples).unwrap_or_default() {
                RoundTripSamples::Segments => Sampling::EverySegment,
                RoundTripSamples::Windows => Sampling::OnePerWindow,
            },
        })
    }

    fn connection_params(&self) -> Result<Option<ConnectionParams>, Mistake> {
        let params = self.connections.map(|c| {
            let params = RttProportionalParams {
                per_second: c.k,
                interval: c.interval.0,
                hysteresis: c.hysteresis,
                smoothed: c.smoothed,
                connections_max: c.max,
                samples: match c.samples {
                    RoundTripSamples::Segments => connections::RoundTripSamples::Segments,
                    RoundTripSamples::Windows => connections::RoundTripSamples::Windows,
                },
                unsampled: match c.unsampled {
                    UnsampledRule::Hold => Unsampled::Hold,
                    UnsampledRule::Halve => Unsampled::Halve,
                    UnsampledRule::Grow => Unsampled::Grow,
                },
            };
            params.validated().map(Into::into).map_err(|e| super::mac::law_mistake("connections", e))
        });
        params.transpose()
    }

    /// A full data packet, network-layer size: the largest that any flow sends.
    pub(crate) fn packet_size(&self) -> Bytes {
        let of = |flow: &Flow| match flow.traffic {
            TrafficKind::Tcp => self.tcp.payload.expect(RESOLVED).0 + self.tcp.headers.expect(RESOLVED).0,
            TrafficKind::Saturated | TrafficKind::Cbr | TrafficKind::OnOff => flow.size.expect(RESOLVED).0,
        };
        self.flows.iter().map(of).max().expect("there is a flow")
    }
}

impl CategoryName {
    pub(super) const fn category(self) -> Category {
        match self {
            Self::Voice => Category::Voice,
            Self::Video => Category::Video,
            Self::BestEffort => Category::BestEffort,
            Self::Background => Category::Background,
        }
    }
}
