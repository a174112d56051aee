//! What a network is built from.

use evenair_laws::backoff::{AdaptiveParams, DcfParams};
use evenair_laws::connections::RttProportionalParams;
use evenair_laws::marking::{DropTail, Proportional};
use evenair_tcp::{AckPolicy, SenderParams};
use evenair_topology::Medium;
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{Holding, MacTiming, Rules};

/// A network, whole: everything that a run depends on but its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSpec {
    /// Names of the nodes; random streams are named after them.
    pub nodes: Vec<String>,
    /// Who hears whom.
    pub medium: Medium,
    /// Which MAC.
    pub mac: MacSpec,
    /// The rate at which packets are sent.
    pub data_rate: Rate,
    /// How long transmitters back off.
    pub backoff: BackoffSpec,
    /// How many packets wait at a node, the one in the MAC not counted.
    pub buffer: DropTail,
    /// Dropping in proportion to the queue, beside what the back-off law drops.
    pub proportional: Option<Proportional>,
    /// How long a packet takes between the network layer and its queue, and as long on the way up.
    pub link_layer_delay: Duration,
    /// The flows.
    pub flows: Vec<FlowSpec>,
}

/// Which MAC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MacSpec {
    /// 802.11.
    Dcf {
        /// Slots, spaces, airtimes.
        timing: MacTiming,
        /// Where implementations differ.
        rules: Rules,
    },
    /// Ideal CSMA.
    Ideal {
        /// How long a link holds the medium.
        holding: Holding,
    },
}

/// How long transmitters back off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BackoffSpec {
    /// By DCF: one queue per node.
    Dcf(DcfParams),
    /// By A-CSMA: one queue per next hop, with a shared buffer.
    Adaptive {
        /// The law.
        params: AdaptiveParams,
        /// h-ACK ([Chen10] C8): queues that carry nothing but acknowledgements use `r_max`.
        prioritise_acks: bool,
    },
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Its name.
    pub name: String,
    /// The nodes on its way, source and destination included.
    pub path: Vec<u32>,
    /// When it starts.
    pub start: Instant,
    /// What it sends.
    pub traffic: Traffic,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Traffic {
    /// Endless data over TCP.
    Tcp(TcpSpec),
    /// Datagrams without end: the source's queue is never empty.
    Saturated {
        /// Network-layer size.
        size: Bytes,
    },
}

/// A bulk TCP flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpSpec {
    /// The sending endpoint.
    pub sender: SenderParams,
    /// The receiving endpoint.
    pub acknowledge: AckPolicy,
    /// Payload of a segment.
    pub payload: Bytes,
    /// IP and TCP headers; also the size of an acknowledgement.
    pub headers: Bytes,
    /// How many connections it keeps; one if there is no law.
    pub connections: Option<RttProportionalParams>,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSpec {
    /// Seed of all random streams.
    pub seed: u64,
    /// What happens before this counts for nothing.
    pub warmup: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// How often time series are sampled; not at all if none.
    pub sample_every: Option<Duration>,
    /// Keep the airtime ledger.
    pub ledger: bool,
    /// Record the frames of this window.
    pub timeline: Option<(Instant, Instant)>,
}
