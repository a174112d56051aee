//! What can be measured, compared and drawn.

use crate::record::{LinkRecord, RunRecord};
use evenair_netsim::FlowResult;
use evenair_scenario::Optimum;
use serde::{Deserialize, Serialize};

/// A metric of a variant, of one flow or of all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Data handed to the application [packets/s]; of all flows, the sum.
    Goodput,
    /// The same [kb/s].
    GoodputKbps,
    /// Datagrams that the source handed down [packets/s].
    Offered,
    /// Share of the datagrams, or of the TCP segments, that were lost or sent again.
    Loss,
    /// Mean one-way delay of datagrams [s].
    Delay,
    /// Mean congestion window of all connections together [segments].
    CongestionWindow,
    /// Jain's index of the goodputs; of all flows only.
    Jain,
    /// The fair optimum without entropy [packets/s]; of all flows, the sum.
    Optimum,
    /// The fixed point of the scenario's own laws, problem MP [packets/s].
    FixedPoint,
    /// The aggressiveness at that fixed point.
    FixedPointAggressiveness,
    /// `Σ (U(x) − U(x*))` with `U = −1/x`, x in the study's unit and x* the fair optimum. A flow that got nothing
    /// counts as having got one packet.
    UtilityGap,
    /// Mean number of connections; of all flows, the mean.
    Connections,
    /// Mean aggressiveness at the flow's source; of all flows, the greatest over the least.
    Aggressiveness,
    /// Mean round-trip time [s].
    RoundTrip,
    /// Mean backlog at the flow's source [packets].
    Backlog,
    /// Packets dropped at the flow's source, by whatever cause, per second of the whole run.
    Drops,
    /// Share of the frames sent by the flow's source that were lost.
    FrameLoss,
    /// Jain's index of the goodputs over the optimum; of all flows only.
    Fairness,
    /// The worst residual of an optimum's conditions; of all flows only, as all that follow.
    Residual,
    /// The greatest real part of the eigenvalues at rest [1/s].
    Eigenvalue,
    /// The greatest growth of a Lyapunov function, over its first value.
    LyapunovGrowth,
    /// How far a fluid model's rates are from rest at the end, relatively.
    OffRest,
    /// The clique model's share less the simulated fair-share point, over the point.
    CliqueError,
    /// The same of the collision-domain model.
    DomainError,
}

impl Metric {
    /// A label with its unit.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Goodput => "goodput [packets/s]",
            Self::GoodputKbps => "goodput [kb/s]",
            Self::Offered => "offered [packets/s]",
            Self::Loss => "lost or sent again",
            Self::Delay => "one-way delay [s]",
            Self::CongestionWindow => "congestion window [segments]",
            Self::Jain => "Jain's index of goodput",
            Self::Optimum => "optimum [packets/s]",
            Self::FixedPoint => "fixed point [packets/s]",
            Self::FixedPointAggressiveness => "fixed-point aggressiveness r",
            Self::UtilityGap => "utility gap ΔU",
            Self::Connections => "connections n",
            Self::Aggressiveness => "aggressiveness r",
            Self::RoundTrip => "round-trip time [s]",
            Self::Backlog => "backlog [packets]",
            Self::Drops => "drops [packets/s]",
            Self::FrameLoss => "frames lost",
            Self::Fairness => "Jain's index of goodput/optimum",
            Self::Residual => "worst residual of the optimality conditions",
            Self::Eigenvalue => "greatest real part of the eigenvalues [1/s]",
            Self::LyapunovGrowth => "greatest growth of the Lyapunov function",
            Self::OffRest => "distance from rest",
            Self::CliqueError => "clique model's error",
            Self::DomainError => "collision-domain model's error",
        }
    }
}

/// What a metric is taken from: one run, and the optima of its scenario.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) optimum: Option<&'a Optimum>,
    pub(crate) fixed_point: Option<&'a Optimum>,
    pub(crate) utility_unit: f64,
}

impl Subject<'_> {
    /// The metric of one flow, or of all; none where it has no meaning.
    pub(crate) fn take(&self, metric: Metric, flow: Option<&str>) -> Option<f64> {
        let Some(flow) = flow else { return self.of_all(metric) };
        let index = self.run.flows.iter().position(|f| f.flow == flow)?;
        self.of_flow(metric, index)
    }

    fn of_flow(&self, metric: Metric, index: usize) -> Option<f64> {
        let flow = &self.run.flows[index];
        match metric {
            Metric::Goodput => Some(flow.goodput_pps),
            Metric::GoodputKbps => Some(flow.goodput_bps / 1e3),
            Metric::Offered => flow.offered_pps,
            Metric::Loss => match flow.offered_pps {
                Some(offered) => Some(1.0 - flow.goodput_pps / offered.max(1e-12)),
                None => Some(flow.retransmitted as f64 / (flow.sent as f64).max(1.0)),
            },
            Metric::Delay => flow.delay_s,
            Metric::CongestionWindow => Some(flow.congestion_window),
            Metric::Optimum => Some(self.optimum?.rates_pps[index]),
            Metric::FixedPoint => Some(self.fixed_point?.rates_pps[index]),
            Metric::FixedPointAggressiveness => self.fixed_point?.prices.get(index).copied(),
            Metric::UtilityGap => {
                Some(self.utility(flow.goodput_pps) - self.utility(self.optimum?.rates_pps[index]))
            }
            Metric::Connections => Some(flow.connections),
            Metric::Aggressiveness => self.source(flow)?.aggressiveness,
            Metric::RoundTrip => flow.round_trip_s,
            Metric::Backlog => Some(self.source(flow)?.backlog),
            Metric::Drops => {
                let link = self.source(flow)?;
                let drops = link.dropped_queue_full + link.dropped_by_law + link.dropped_retries;
                Some(drops as f64 / self.run.measured_s)
            }
            Metric::FrameLoss => {
                let link = self.source(flow)?;
                let lost = link.collided + link.receiver_busy + link.ack_lost;
                Some(lost as f64 / (link.attempts as f64).max(1.0))
            }
            Metric::Fairness
            | Metric::Jain
            | Metric::Residual
            | Metric::Eigenvalue
            | Metric::LyapunovGrowth
            | Metric::OffRest
            | Metric::CliqueError
            | Metric::DomainError => None,
        }
    }

    fn of_theory(&self, metric: Metric) -> Option<f64> {
        let theory = self.run.theory?;
        match metric {
            Metric::Residual => theory.residual,
            Metric::Eigenvalue => theory.eigenvalue_per_s,
            Metric::LyapunovGrowth => theory.lyapunov_growth,
            Metric::OffRest => theory.off_rest,
            Metric::CliqueError => theory.clique_error,
            Metric::DomainError => theory.domain_error,
            _ => None,
        }
    }

    fn of_all(&self, metric: Metric) -> Option<f64> {
        if let Some(value) = self.of_theory(metric) {
            return Some(value);
        }
        let each: Vec<f64> = match metric {
            Metric::Jain => {
                let goodputs: Vec<f64> = self.run.flows.iter().map(|f| f.goodput_pps).collect();
                return evenair_topology::jain_index(&goodputs);
            }
            Metric::Fairness => {
                let optimum = self.optimum?;
                let shares = self.run.flows.iter().zip(&optimum.rates_pps).map(|(f, x)| f.goodput_pps / x);
                return evenair_topology::jain_index(&shares.collect::<Vec<_>>());
            }
            _ => (0..self.run.flows.len()).map(|i| self.of_flow(metric, i)).collect::<Option<_>>()?,
        };
        let sum: f64 = each.iter().sum();
        Some(match metric {
            Metric::Goodput
            | Metric::GoodputKbps
            | Metric::Offered
            | Metric::Optimum
            | Metric::FixedPoint
            | Metric::UtilityGap
            | Metric::Drops => sum,
            Metric::Aggressiveness => {
                let least = each.iter().copied().fold(f64::INFINITY, f64::min);
                each.iter().copied().fold(0.0, f64::max) / least
            }
            _ => sum / each.len() as f64,
        })
    }

    fn utility(&self, rate_pps: f64) -> f64 {
        let least = 1.0 / self.run.measured_s;
        -self.utility_unit / rate_pps.max(least)
    }

    fn source(&self, flow: &FlowResult) -> Option<&LinkRecord> {
        self.run.links.iter().find(|l| l.queue == flow.queue)
    }
}
