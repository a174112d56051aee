//! The metrics that can be measured, compared and drawn, each with its unit and meaning, stated once, here.

mod subject;

pub(crate) use subject::{Subject, flows_named};

use crate::experiment::with_the_words_of;
use evenair_results::ModelError;
use serde::Serialize;

/// A unit that may be missing.
macro_rules! unit {
    () => {
        None
    };
    ($unit:literal) => {
        Some($unit)
    };
}

/// The metrics: the meaning of each, its label, its unit if it has one, and its form for all flows together.
macro_rules! metrics {
    ($($(#[doc = $about:literal])+ $name:ident: $label:literal $([$unit:literal])?, $over:ident;)+) => {
        /// A metric of a variant, of one flow or of all together.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(remote = "Self", rename_all = "kebab-case")]
        pub enum Metric {
            $($(#[doc = $about])+ $(#[doc = concat!("\\[", $unit, "\\]")])? $name,)+
            /// An experiment's result.
            #[serde(skip)]
            Experiment(ModelError),
        }

        /// All that no experiment defines.
        const OWN: &[Metric] = &[$(Metric::$name),+];

        impl Metric {
            /// A label with its unit.
            pub const fn label(self) -> &'static str {
                match self {
                    $(Self::$name => concat!($label $(, " [", $unit, "]")?),)+
                    Self::Experiment(finding) => finding.label(),
                }
            }

            /// Its unit; none of a share, an index or a mere number.
            pub const fn unit(self) -> Option<&'static str> {
                match self {
                    $(Self::$name => unit!($($unit)?),)+
                    Self::Experiment(_) => None,
                }
            }

            /// Its meaning in a sentence or two.
            pub const fn about(self) -> &'static str {
                let about = match self {
                    $(Self::$name => concat!($($about),+),)+
                    Self::Experiment(finding) => finding.about(),
                };
                about.trim_ascii()
            }

            pub(crate) const fn over_flows(self) -> OverFlows {
                match self {
                    $(Self::$name => OverFlows::$over,)+
                    Self::Experiment(_) => OverFlows::Network,
                }
            }
        }
    };
}

metrics! {
    /// Data handed to the receiving application, in order and each once; of all flows, the sum.
    Goodput: "goodput" ["packets/s"], Total;
    /// A flow's part of all flows' goodput, in packets.
    Share: "share of all goodput", Total;
    /// Data handed to the receiving application, in order and each once; of all flows, the sum.
    GoodputKbps: "goodput" ["kb/s"], Total;
    /// Datagrams that the source handed down; TCP's sources have none.
    Offered: "offered" ["packets/s"], Total;
    /// Share of the packets with the flow's data, repetitions included, that were dropped on their way, of those that were dropped or
    /// arrived in the measured time (RFC 7680's loss ratio, for TCP and datagrams alike); `of = "acks"`: of its acknowledgements.
    Loss: "loss", Mean;
    /// One-way delay of data, from the sending application's hand-over to that to the receiving one, in order (RFC 7679 above the
    /// transport). A source of TCP that is never without data, or has all of a transfer at once, hands a segment over when it is sent for
    /// the first time. Percentiles are of every datagram or segment; of several flows, of all of theirs together.
    Delay: "one-way delay" ["s"], Mean;
    /// Jitter by RFC 3550 (section 6.4.1, A.8): the mean over all arrivals of its running estimate, which goes a sixteenth of the way to
    /// each difference between successive one-way delays; of TCP between successive segments as they are handed to the application.
    Jitter: "jitter" ["s"], Mean;
    /// Mean congestion window of all of a flow's connections together; of TFRC, its rate times its round-trip time.
    CongestionWindow: "congestion window" ["segments"], Mean;
    /// Jain's index of the goodputs: 1 where all are equal, 1/n where one flow of n has all.
    Jain: "Jain's index of goodput", Network;
    /// The fair optimum without entropy, which maximises `Σ −1/x`; of all flows, the sum.
    Optimum: "optimum" ["packets/s"], Total;
    /// The fixed point of the scenario's own laws, problem MP of [Chen10].
    FixedPoint: "fixed point" ["packets/s"], Total;
    /// The aggressiveness at that fixed point; of all flows, the greatest over the least.
    FixedPointAggressiveness: "fixed-point aggressiveness r", Spread;
    /// `Σ (U(x) − U(x*))` with `U = −1/x`, x in the study's unit and x* the fair optimum. A flow that got nothing
    /// counts as having got one packet.
    UtilityGap: "utility gap ΔU", Total;
    /// `Σ w log x`, w the flow's weight (1, if the scenario gives none) and x in the study's unit. A flow that got nothing counts
    /// as having got one packet.
    LogUtility: "utility Σ w log x", Total;
    /// Mean number of connections that a flow has open; of all flows, the mean.
    Connections: "connections n", Mean;
    /// Mean memory that its connections hold, [Chen10] eq. (5.45); of all flows, the sum.
    ConnectionMemory: "memory of connections" ["bytes"], Total;
    /// Share of the processor time that goes into data and not into opening and closing connections, [Chen10] eq. (5.50),
    /// over the measured time without connections that open or close at its ends; of all flows, the mean.
    Efficiency: "efficiency of processor time", Mean;
    /// Mean aggressiveness of the back-off law at the flow's source, the logarithm of the divisor of its mean back-off; of
    /// all flows, the greatest over the least.
    Aggressiveness: "aggressiveness r", Spread;
    /// Mean round-trip time, from sending a segment to its acknowledgement.
    RoundTrip: "round-trip time" ["s"], Mean;
    /// Mean time for which the flow's data waited in queues until they were served, all queues on the way together.
    QueueingDelay: "queueing delay" ["s"], Mean;
    /// Time for which packets waited in the queue at the flow's source until they were served, whosever they are. Percentiles are of every
    /// packet.
    Waiting: "waiting in the queue" ["s"], Mean;
    /// Mean number of packets at the flow's source, waiting or in service, at the sampling instants.
    Backlog: "backlog" ["packets"], Mean;
    /// Packets that the queue at the flow's source dropped, for any cause and of any flow.
    Drops: "drops" ["packets/s"], Total;
    /// Of those, the ones that a law dropped though there was room: the queue's marking, its discipline, or its back-off law.
    EarlyDrops: "early drops" ["packets/s"], Total;
    /// Of those, the ones for which there was no room.
    Overflows: "overflows" ["packets/s"], Total;
    /// The flow's own packets dropped anywhere on their way, for any cause.
    Lost: "lost" ["packets/s"], Total;
    /// Loss events that TFRC receivers measured, over packets sent (RFC 5348 section 5).
    LossEventRate: "loss events per packet", Mean;
    /// Data segments or datagrams sent, repetitions included.
    Sent: "sent" ["packets/s"], Total;
    /// Segments sent again, after a time-out or because later ones were acknowledged.
    Retransmissions: "sent again" ["segments/s"], Total;
    /// Retransmission time-outs.
    Timeouts: "time-outs" ["1/s"], Total;
    /// The longest time in which the flow delivered nothing; of all flows, the greatest.
    Silence: "longest silence" ["s"], Greatest;
    /// Mean round trip of the probes of the flow's path.
    ProbeRoundTrip: "round-trip time of probes" ["s"], Mean;
    /// Share of the bytes sent by the flow's source that probes are.
    ProbeShare: "share of probes in the bytes sent", Mean;
    /// Mean time that the flow's data waited at its receiver for earlier data of other connections.
    ResequencingDelay: "resequencing delay" ["s"], Mean;
    /// The longest such time; of all flows, the greatest.
    ResequencingDelayMax: "longest resequencing delay" ["s"], Greatest;
    /// Mean number of segments that waited there.
    ResequencingBuffer: "resequencing buffer" ["segments"], Mean;
    /// The most segments that waited there; of all flows, the greatest.
    ResequencingBufferMax: "most in the resequencing buffer" ["segments"], Greatest;
    /// Share of a web client's requests, made in the measured time, with a whole reply when it ended; for a flow of one transfer,
    /// 1 if it finished, else 0.
    Completed: "completed", Mean;
    /// How many they are; of all flows, the sum.
    Completions: "completions", Total;
    /// Time from such a request, or from the transfer's beginning, to the handing over of the last byte, of those that were whole.
    /// Percentiles are of every request or transfer; of several flows, of all of theirs together.
    CompletionTime: "time to completion" ["s"], Mean;
    /// Share of the frames sent by the flow's source that were lost.
    FrameLoss: "frames lost", Mean;
    /// Share of the data frames sent by the flow's source that collided: another frame, of a hidden terminal or in the same slot,
    /// overlapped them at the receiver, or the link's own errors spoilt them.
    FrameCollisions: "frames that collided", Mean;
    /// Jain's index of the goodputs, each over its optimum.
    Fairness: "Jain's index of goodput/optimum", Network;
    /// The flow's fair rate o: max-min over the collision domains, back-off and acknowledgements counted, as [Jam10]
    /// computes it (chapter 4, section 7.2.2); of all flows, the sum.
    FairRate: "fair rate" ["kb/s"], Total;
    /// The flow's goodput over its fair rate, r/o; of all flows, the mean.
    OverFair: "goodput/fair rate", Mean;
    /// Jain's index of all r/o ([Jam10] section 2.1.5, normalized).
    JainOverFair: "Jain's index of goodput/fair rate", Network;
    /// The least goodput over fair rate of all flows: [Jam10] prints it as "min. flow rate/fair rate".
    MinOverFair: "least goodput/fair rate", Network;
    /// The greatest goodput over fair rate of all flows.
    MaxOverFair: "greatest goodput/fair rate", Network;
    /// [Jam10]'s `U/U_opt`: `Σ r·l / Σ o·l`, l the hops of a flow over the air.
    Utilisation: "network utilisation U/U_opt", Network;
    /// The least ratio of a node's goodput to its fair rate, all of its flows together. A flow belongs to its end that is
    /// not the gateway, which is the node with the most flow ends.
    WorstNode: "worst node's goodput/fair rate", Network;
    /// Time from the beginning of its window (`from`; the warm-up's end) until a flow's goodput first settles. It settles at the
    /// end of the first bin of 5 s with a goodput within a fifth of its mean over the window's second half. Without such a bin it
    /// is the whole window, and nothing where that mean is zero. Of all flows, the greatest.
    ConvergenceTime: "convergence time" ["s"], Greatest;
    /// Standard deviation over mean of a flow's goodput in bins of 5 s of its window; of all flows, the mean.
    Oscillation: "oscillation (deviation/mean)", Mean;
    /// The worst residual of an optimum's conditions.
    Residual: "worst residual of the optimality conditions", Network;
    /// The greatest real part of a fluid model's eigenvalues at rest: below zero, it comes to rest.
    Eigenvalue: "greatest real part of the eigenvalues" ["1/s"], Network;
    /// The greatest growth of a fluid model's Lyapunov function between two samples, over its first value.
    LyapunovGrowth: "greatest growth of the Lyapunov function", Network;
    /// How far a fluid model's rates are from rest at the end, relatively.
    OffRest: "distance from rest", Network;
}

with_the_words_of!(Metric);

/// The content of the column for all flows together, by metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverFlows {
    /// The sum.
    Total,
    /// The mean.
    Mean,
    /// The greatest.
    Greatest,
    /// The greatest over the least.
    Spread,
    /// The metric is one of the network, not of its flows.
    Network,
}

impl OverFlows {
    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Mean => "mean",
            Self::Greatest => "greatest",
            Self::Spread => "greatest/least",
            Self::Network => "network",
        }
    }
}

impl Metric {
    /// All there are.
    pub fn all() -> impl Iterator<Item = Self> {
        OWN.iter().copied().chain(ModelError::ALL.map(Self::Experiment))
    }

    /// Its word in study files.
    pub fn name(self) -> String {
        let name = serde_json::to_value(self).expect("a metric has a name");
        name.as_str().unwrap_or_default().into()
    }

    /// The content of the column for all flows together; its name stands in the place of a flow's.
    pub fn over_flows_name(self) -> &'static str {
        self.over_flows().name()
    }

    /// Whether each flow has its own.
    pub fn is_of_flows(self) -> bool {
        self.over_flows() != OverFlows::Network
    }

    /// Whether runs keep its course over time.
    pub const fn has_series(self) -> bool {
        matches!(
            self,
            Self::Goodput
                | Self::GoodputKbps
                | Self::CongestionWindow
                | Self::Connections
                | Self::RoundTrip
                | Self::Aggressiveness
                | Self::Backlog
                | Self::Delay
                | Self::Loss
                | Self::QueueingDelay
                | Self::Waiting
        )
    }

    /// Whether it is one of times that are kept each, so that percentiles are of those.
    pub const fn has_times(self) -> bool {
        matches!(self, Self::Delay | Self::CompletionTime | Self::Waiting)
    }

    /// Whether it is known from the scenario alone, without chance.
    pub(crate) const fn is_exact(self) -> bool {
        matches!(self, Self::Optimum | Self::FixedPoint | Self::FixedPointAggressiveness | Self::FairRate)
    }

    /// Whether it is made of the fair optimum.
    pub(crate) const fn is_of_optimum(self) -> bool {
        matches!(self, Self::Optimum | Self::UtilityGap | Self::Fairness)
    }

    /// Whether it is made of the fixed point of the scenario's laws.
    pub(crate) const fn is_of_fixed_point(self) -> bool {
        matches!(self, Self::FixedPoint | Self::FixedPointAggressiveness)
    }

    /// Whether it is made of the fair rates.
    pub(crate) const fn is_of_fair(self) -> bool {
        matches!(
            self,
            Self::FairRate
                | Self::OverFair
                | Self::JainOverFair
                | Self::MinOverFair
                | Self::MaxOverFair
                | Self::Utilisation
                | Self::WorstNode
        )
    }

    /// Whether it says how rates move within a window of time.
    pub(crate) const fn is_of_window(self) -> bool {
        matches!(self, Self::ConvergenceTime | Self::Oscillation)
    }

    /// The least and the greatest that it can be.
    pub(crate) const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Share
            | Self::FrameCollisions
            | Self::FrameLoss
            | Self::Loss
            | Self::LossEventRate
            | Self::ProbeShare
            | Self::Completed
            | Self::Jain
            | Self::Fairness
            | Self::JainOverFair
            | Self::Efficiency => (0.0, 1.0),
            Self::UtilityGap | Self::LogUtility | Self::Eigenvalue | Self::Experiment(_) => {
                (f64::NEG_INFINITY, f64::INFINITY)
            }
            _ => (0.0, f64::INFINITY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_described_and_found() {
        let mut words = std::collections::BTreeSet::new();
        for metric in Metric::all() {
            let word = metric.name();
            assert!(metric.about().ends_with('.') && metric.about().len() > 20, "{word}: {}", metric.about());
            assert_eq!(serde_json::from_value::<Metric>(word.clone().into()).unwrap(), metric);
            assert!(words.insert(word), "two metrics of one word");
        }
        assert_eq!(Metric::Goodput.label(), "goodput [packets/s]");
        assert_eq!(Metric::Goodput.unit(), Some("packets/s"));
        assert_eq!((Metric::Jain.label(), Metric::Jain.unit()), ("Jain's index of goodput", None));
        assert!(Metric::Lost.about().starts_with("The flow's own packets dropped anywhere"));
    }
}
