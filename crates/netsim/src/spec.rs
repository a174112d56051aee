//! The description that a network is built from.

use crate::options::Options;
use crate::queue::DisciplineParams;
use crate::trace::Agreed;
use evenair_des::Stream;
use evenair_laws::Parameters;
use evenair_laws::backoff::{
    BackoffLaw, BackoffParams, Category, DcfParams, FullPacket, LinkRole, Space, Surroundings,
};
use evenair_laws::connections::ConnectionParams;
use evenair_laws::flow::Signal;
use evenair_laws::marking::MarkingParams;
use evenair_laws::rate::RateParams;
use evenair_laws::rate::tfrc::TfrcParams;
use evenair_laws::window::WindowParams;
use evenair_tcp::{AckPolicy, Recovery, Segment, SegmentKind, SenderParams};
use evenair_topology::{Fading, Medium};
use evenair_units::{Bytes, Duration, Instant, Rate};
use evenair_wifi::{
    Aggregation, BROADCAST, Capture, ErrorModel, LossModel, MacTiming, Mode, Receivers, Rules,
};

mod gateway;
mod mix;
mod modes;
mod motion;
mod opportunities;
mod web;

pub use gateway::{GatewayClass, GatewayControl, GatewaySpec, Shaping, Shares, SourceLimit};
pub use mix::Mix;
pub use modes::{LinkControl, RateControlSpec};
pub use motion::{Detour, Motion, Scene, SceneAt};
pub(crate) use opportunities::Pacer;
pub use opportunities::{NoTrace, Opportunities};
pub use web::{Arrivals, WebConnection, WebRequest, WebSpec};

/// A network, whole: everything that a run depends on but its seed.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSpec {
    /// Names of the nodes; random streams are named after them.
    pub nodes: Vec<String>,
    /// The nodes' hearing of each other.
    pub medium: Medium,
    /// Which MAC.
    pub mac: MacSpec,
    /// The modulation of packets over the air; broadcasts have 802.11's basic rate.
    pub data_mode: Mode,
    /// The reception limits of the stations.
    pub receivers: Receivers,
    /// How nodes move, if they do: only under 802.11, and no hearer further than half a slot.
    pub motion: Option<Motion>,
    /// The fading of links of the air, if any: each pair by its [`FadedLink`](evenair_topology::FadedLink), with a stream
    /// named (seed of the run, [`Fading::entity`] of the nodes' names, "fading").
    pub fading: Option<Fading>,
    /// Links with a mode of their own.
    pub rates: Vec<LinkRate>,
    /// Rate control of links; the mode of a link is then its fastest.
    pub rate_control: RateControlSpec,
    /// Links with extra random loss, on the air or on a wire.
    pub losses: Vec<LinkLoss>,
    /// Wired links.
    pub wires: Vec<Wire>,
    /// How long transmitters back off.
    pub backoff: BackoffParams,
    /// The surroundings that it depends on beside its parameters.
    pub surroundings: Surroundings,
    /// How packets share frames of 802.11n, ac and ax; each has a frame of its own, if they do not.
    pub aggregation: Option<Staging>,
    /// The transmit queues of the air; those of one node share their buffer.
    pub queue: QueueSpec,
    /// Nodes with queues of the air of their own, each at most once.
    pub node_queues: Vec<(u32, QueueSpec)>,
    /// Nodes that back off by another law, each at most once.
    pub node_backoffs: Vec<(u32, BackoffParams)>,
    /// The clocks by which back-off laws of an interval are updated.
    pub clocks: Clocks,
    /// How long a packet takes between the network layer and its queue, and as long on the way up.
    pub link_layer_delay: Duration,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Paths of nodes that packets from outside ([`Network::inject`](crate::Network::inject)) may take that belong to no flow, both
    /// ways. Where a node is on several towards one destination, the first holds.
    pub routes: Vec<Vec<u32>>,
    /// A gateway that shapes passing packets.
    pub gateway: Option<GatewaySpec>,
    /// Flows that are held back at their sources.
    pub source_limits: Vec<SourceLimit>,
}

impl NetworkSpec {
    /// Nodes on the air that contend by 802.11's back-off and have queues of fifty packets each; nothing flows yet.
    pub fn new(nodes: Vec<String>, medium: Medium, mac: MacSpec, data: impl Into<Mode>) -> Self {
        Self {
            nodes,
            medium,
            mac,
            data_mode: data.into(),
            motion: None,
            fading: None,
            rates: Vec::new(),
            rate_control: RateControlSpec::default(),
            losses: Vec::new(),
            wires: Vec::new(),
            backoff: DcfParams::default().into(),
            surroundings: Surroundings::default(),
            receivers: Receivers::default(),
            aggregation: None,
            queue: QueueSpec::fifo(50),
            node_queues: Vec::new(),
            node_backoffs: Vec::new(),
            clocks: Clocks::default(),
            link_layer_delay: Duration::ZERO,
            flows: Vec::new(),
            routes: Vec::new(),
            gateway: None,
            source_limits: Vec::new(),
        }
    }

    /// A node's name; "*" for a broadcast.
    pub fn name(&self, node: u32) -> &str {
        name(&self.nodes, node)
    }

    /// The rate of DATA frames from one node of the air to another, or to [`BROADCAST`].
    pub fn rate(&self, from: u32, to: u32) -> Rate {
        self.mode(from, to).rate()
    }

    /// The mode of DATA frames from one node of the air to another, or to [`BROADCAST`].
    pub fn mode(&self, from: u32, to: u32) -> Mode {
        let own = self.rates.iter().find(|link| (link.from, link.to) == (from, to));
        self.mode_by(to, own.map(|link| link.mode))
    }

    /// The same, where the link's own mode has been looked up.
    pub(crate) fn mode_by(&self, to: u32, own: Option<Mode>) -> Mode {
        match &self.mac {
            MacSpec::Dcf { timing, .. } if to == BROADCAST => Mode::at(timing.group_rate()),
            _ => own.unwrap_or(self.data_mode),
        }
    }

    /// Medium access between two nodes, or to [`BROADCAST`]: frames have EDCA's longer header only where both ends know it.
    pub fn mac_between(&self, from: u32, to: u32) -> MacSpec {
        match self.mac {
            MacSpec::Dcf { timing, rules } if timing.phy.standard.format().is_some() => {
                let of_ofdm = &self.receivers.of_ofdm;
                let is_known = |node| of_ofdm.is_empty() || node != BROADCAST && !of_ofdm.contains(&node);
                MacSpec::Dcf { timing: timing.with_qos(is_known(from) && is_known(to)), rules }
            }
            MacSpec::Dcf { timing, rules } if !self.node_backoffs.is_empty() => {
                let nodes = self.nodes.len() as u32;
                let qos = if to == BROADCAST {
                    (0..nodes).all(|node| self.knows_edca(node))
                } else {
                    self.knows_edca(from) && self.knows_edca(to)
                };
                MacSpec::Dcf { timing: timing.with_qos(qos), rules }
            }
            mac => mac,
        }
    }

    /// The probability that noise fails one attempt to send a packet of `size` network-layer bytes over a link, in the mode that it
    /// sustains and without interference. None where errors do not follow from the signal-to-noise ratio, or the link is not of the
    /// air.
    pub fn noise_loss(&self, from: u32, to: u32, size: Bytes) -> Option<f64> {
        let (model, timing) = self.errors(from, to)?;
        let power = self.medium.hearing(from as usize, to as usize)?.power;
        Some(model.loss(timing.phy, self.sustained_mode(from, to), power, size + timing.overhead))
    }

    /// The signal-to-noise ratio of a link, in the mode that it sustains and without interference \[dB\]; none, as for [`Self::noise_loss`].
    pub fn noise_ratio_db(&self, from: u32, to: u32) -> Option<f64> {
        let (model, timing) = self.errors(from, to)?;
        let power = self.medium.hearing(from as usize, to as usize)?.power;
        Some(model.ratio_db(timing.phy, self.sustained_mode(from, to), power))
    }

    fn errors(&self, from: u32, to: u32) -> Option<(ErrorModel, MacTiming)> {
        match self.mac_between(from, to) {
            MacSpec::Dcf { timing, rules: Rules { capture: Capture::Errors(model), .. } } => {
                Some((model, timing))
            }
            _ => None,
        }
    }

    /// Whether a node contends by EDCA.
    fn knows_edca(&self, node: u32) -> bool {
        let law = self.backoff_of(node).begin(&LinkRole::data(self.surroundings));
        matches!(law.space(), Space::Aifs { .. })
    }

    /// The queues of the air of a node.
    pub fn queue_of(&self, node: u32) -> &QueueSpec {
        self.node_queues.iter().find(|(of, _)| *of == node).map_or(&self.queue, |(_, queue)| queue)
    }

    /// The back-off law of a node.
    pub fn backoff_of(&self, node: u32) -> &BackoffParams {
        self.node_backoffs.iter().find(|(of, _)| *of == node).map_or(&self.backoff, |(_, law)| law)
    }
}

/// The same, where there are nothing but the names.
pub(crate) fn name(nodes: &[String], node: u32) -> &str {
    nodes.get(node as usize).map_or("*", String::as_str)
}

/// The clocks by which nodes update back-off laws of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// One for all: laws of one interval are updated at one instant everywhere.
    #[default]
    Common,
    /// Each node its own: the run's seed decides its phase, and its drift up to [`Clocks::DRIFT_MAX`].
    Own,
}

impl Clocks {
    /// The most by which a node's own interval is longer or shorter than its law's. Ours: timers of programs are late by that much,
    /// crystals (100 ppm) are not; so much lets phases pass through each other several times in a run of minutes.
    pub const DRIFT_MAX: f64 = 0.07;
}

/// How the packets of a queue of the air are staged, so that several share a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staging {
    /// The limits of aggregates.
    pub limits: Aggregation,
    /// How much may be staged in a queue, as the time that its bytes take at the next hop's rate; one aggregate, if there is no such limit.
    pub airtime: Option<Duration>,
}

impl Staging {
    /// As much as mac80211 hands to a driver when stations are few: two aggregates of 4 ms.
    pub const AIRTIME: Duration = Duration::from_millis(8);
}

/// The mode of one directed link of the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkRate {
    /// The node that transmits.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// How its DATA frames are modulated.
    pub mode: Mode,
}

/// The error model of one directed link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkLoss {
    /// The node that transmits.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// Which model holds from when on.
    pub schedule: Vec<(Instant, LossModel)>,
}

/// A directed wired link: a queue, a rate, a delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// The node that transmits.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// How fast packets are put on it; the mean rate, where a trace says when.
    pub rate: Rate,
    /// When packets are put on it, where that is recorded.
    pub trace: Option<Opportunities>,
    /// How long they are under way.
    pub delay: Duration,
    /// From when on that is another, in order: the route below has changed. Packets stay in order all the same.
    pub delay_changes: Vec<(Instant, Duration)>,
    /// Its queue.
    pub queue: QueueSpec,
}

/// A transmit queue, part by part; its outlet is the air or the wire that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueSpec {
    /// How many packets wait, the one in service not counted; the queues of a node's air share it.
    pub limit_packets: u32,
    /// In which order they leave.
    pub discipline: DisciplineParams,
    /// Which packets are given up before the buffer is full; of arrivals the back-off law says, if it drops any.
    pub marking: Option<MarkingParams>,
    /// The flows that discipline and marking tell apart.
    pub per: Per,
}

/// The owners of a turn, a share or a count in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// Each flow in each direction.
    #[default]
    Flow,
    /// Each subscriber, with all its flows and their acknowledgements (`NetworkSpec::subscriber_at`). CAKE's hosts, next hops
    /// and a discipline of a user's own are told apart as ever.
    Subscriber,
}

impl QueueSpec {
    /// First in, first out, and refuse packets that find the buffer full.
    pub const fn fifo(limit_packets: u32) -> Self {
        Self { limit_packets, discipline: DisciplineParams::Fifo, marking: None, per: Per::Flow }
    }
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
    Ideal,
}

impl MacSpec {
    /// A packet of this size as back-off laws know it, sent in this mode. Where packets share frames, its frame is the whole
    /// aggregate, and its exchange its part of the aggregate's.
    pub fn packet(
        &self,
        payload: Bytes,
        size: Bytes,
        mode: impl Into<Mode>,
        aggregation: Option<&Aggregation>,
    ) -> FullPacket {
        let mode = mode.into();
        let bits = mode.rate().time_for(size);
        let (frame, exchange) = match self {
            Self::Dcf { timing, .. } => match aggregation.filter(|_| mode.modulation().is_some()) {
                Some(limits) => {
                    let full = limits.full(timing, size, mode);
                    (full.frame, full.exchange / u64::from(full.packets))
                }
                None => (timing.data(size, mode), timing.exchange(size, mode)),
            },
            Self::Ideal => (bits, bits),
        };
        FullPacket { payload, size, frame, bits, exchange }
    }
}

/// A flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowSpec {
    /// Its name.
    pub name: String,
    /// The nodes on its way, source and destination included; a source and
    /// [`BROADCAST`] for all nodes in range.
    pub path: Vec<u32>,
    /// When it sends: from, until; in order, without overlap.
    pub active: Vec<(Instant, Instant)>,
    /// The first of these begins later, by a time that each run draws evenly between zero and this.
    pub start_jitter: Duration,
    /// Its traffic.
    pub traffic: Traffic,
    /// Its access category, where the MAC knows any.
    pub category: Category,
    /// The DSCP that real sockets write into its packets; simulated ones have the category alone.
    pub code_point: u8,
    /// Its share of queues that know weights, against that of others.
    pub weight: f64,
    /// The endpoints that it wants, where there is a choice: in a run all are simulated, and it has no effect.
    pub stack: Option<Stack>,
}

/// The endpoints that carry a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// Real sockets of this machine's Linux.
    Linux,
    /// The simulator's own.
    Simulated,
}

impl FlowSpec {
    /// The way of most of its data: a web flow's are the replies, from its destination to its source.
    pub fn data_path(&self) -> Vec<u32> {
        let mut path = self.path.clone();
        if self.traffic.has_replies() {
            path.reverse();
        }
        path
    }

    /// The random stream of its source in the run with this seed.
    pub fn stream(&self, seed: u64) -> Stream {
        Stream::named(seed, &self.name, if self.traffic.web().is_some() { "web" } else { "traffic" })
    }

    /// When it is active in the run with this seed.
    pub fn active_in(&self, seed: u64) -> Vec<(Instant, Instant)> {
        let mut active = self.active.clone();
        if let Some((from, until)) = active.first_mut().filter(|_| !self.start_jitter.is_zero()) {
            *from += self.start_jitter.mul_f64(Stream::named(seed, &self.name, "start").unit());
            debug_assert!(from <= until, "a flow that stops before it starts");
        }
        active
    }
}

/// A flow's traffic.
#[allow(clippy::large_enum_variant, reason = "there is one a flow, and most are TCP's")]
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// Data over TCP.
    Tcp(TcpSpec),
    /// Datagrams, not acknowledged.
    Datagrams {
        /// Network-layer size; the mean, where sizes are drawn.
        size: Bytes,
        /// Headers within each, which are no goodput.
        headers: Bytes,
        /// When they are sent.
        pattern: Pattern,
    },
    /// Datagrams at a rate that a law gives, evenly spaced.
    Rated(RatedSpec),
    /// Datagrams over TFRC, with reports by the receiver.
    Tfrc(TfrcSpec),
    /// Requests over TCP, which are answered over TCP.
    Web(WebSpec),
    /// Packets that are injected from outside ([`Network::inject`](crate::Network::inject)), both ways, of the kind that this
    /// traffic has.
    Outside(Box<Self>),
}

impl Traffic {
    /// A packet with a full load of data, network-layer size; the mean, where sizes are drawn.
    pub fn size(&self) -> Bytes {
        match self {
            Self::Tcp(tcp) | Self::Web(WebSpec { tcp, .. }) => tcp.payload + tcp.plain_headers(),
            Self::Datagrams { size, .. }
            | Self::Rated(RatedSpec { size, .. })
            | Self::Tfrc(TfrcSpec { size, .. }) => *size,
            Self::Outside(like) => like.size(),
        }
    }

    /// The sizes of its packets with data, where they are drawn; each is as likely as any other.
    pub fn mix(&self) -> Option<Mix> {
        match self {
            Self::Datagrams { pattern: Pattern::Poisson { sizes, .. }, .. } => *sizes,
            Self::Outside(like) => like.mix(),
            _ => None,
        }
    }

    /// The largest of its packets, network-layer size.
    pub fn largest(&self) -> Bytes {
        self.mix().map_or_else(|| self.size(), |mix| mix.largest())
    }

    /// The size of the next datagram, network-layer size.
    pub fn next_size(&self, stream: &mut Stream) -> Bytes {
        self.mix().map_or_else(|| self.size(), |mix| mix.draw(stream))
    }

    /// The application's part of it: of a datagram all but its headers.
    pub fn payload(&self) -> Bytes {
        let of_datagram = || Bytes::new(self.size().count().saturating_sub(self.headers().count()));
        self.tcp().map_or_else(of_datagram, |tcp| tcp.payload)
    }

    /// Headers within each datagram.
    pub fn headers(&self) -> Bytes {
        if let Self::Datagrams { headers, .. } = self.kind() { *headers } else { Bytes::new(0) }
    }

    /// The endpoints of its TCP connections.
    pub const fn tcp(&self) -> Option<&TcpSpec> {
        match self {
            Self::Tcp(tcp) | Self::Web(WebSpec { tcp, .. }) => Some(tcp),
            Self::Datagrams { .. } | Self::Rated(_) | Self::Tfrc(_) | Self::Outside(_) => None,
        }
    }

    /// Of web traffic.
    pub const fn web(&self) -> Option<&WebSpec> {
        if let Self::Web(web) = self { Some(web) } else { None }
    }

    /// Whether most of its data go back, from its destination to its source.
    pub fn has_replies(&self) -> bool {
        matches!(self.kind(), Self::Web(_))
    }

    /// Whether its packets come from outside.
    pub const fn is_outside(&self) -> bool {
        matches!(self, Self::Outside(_))
    }

    /// The kind of its packets, from wherever they come.
    pub fn kind(&self) -> &Self {
        if let Self::Outside(like) = self { like.kind() } else { self }
    }

    /// The amount of data to send, for traffic with lasting connections.
    pub const fn source(&self) -> Option<Source> {
        match self {
            Self::Tcp(TcpSpec { source, .. }) | Self::Tfrc(TfrcSpec { source, .. }) => Some(*source),
            Self::Datagrams { .. } | Self::Rated(_) | Self::Web(_) | Self::Outside(_) => None,
        }
    }

    /// The law of its connections, if it has one.
    pub const fn connections(&self) -> Option<&ConnectionParams> {
        match self {
            Self::Tcp(TcpSpec { connections, .. }) | Self::Tfrc(TfrcSpec { connections, .. }) => {
                connections.as_ref()
            }
            Self::Datagrams { .. } | Self::Rated(_) | Self::Web(_) | Self::Outside(_) => None,
        }
    }

    /// The probes of its path, for traffic with connections.
    pub const fn probes(&self) -> Option<ProbeSpec> {
        match self {
            Self::Tcp(TcpSpec { probes, .. }) | Self::Tfrc(TfrcSpec { probes, .. }) => Some(*probes),
            Self::Datagrams { .. } | Self::Rated(_) | Self::Web(_) | Self::Outside(_) => None,
        }
    }
}

/// A flow over TFRC.
#[derive(Clone, Debug, PartialEq)]
pub struct TfrcSpec {
    /// The parameters that its endpoints decide by.
    pub params: TfrcParams,
    /// Network-layer size of a data packet: all of it counts as data.
    pub size: Bytes,
    /// Network-layer size of a report.
    pub report: Bytes,
    /// How much there is to send; nothing is repeated, so that it is never a transfer.
    pub source: Source,
    /// How many connections it keeps, or how many its one connection is worth; one if there is no law.
    pub connections: Option<ConnectionParams>,
    /// How its path is probed, where that law wants to know.
    pub probes: ProbeSpec,
}

/// A flow with a law for its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct RatedSpec {
    /// Network-layer size of a datagram: all of it is the payload that the law means.
    pub size: Bytes,
    /// The law.
    pub law: RateParams,
    /// The source's own limit: never faster, at any rate of the law.
    pub rate_max: Rate,
}

impl RatedSpec {
    /// Why its law cannot be told something here, if it cannot ([`check_needs`](evenair_laws::flow::check_needs)).
    pub const fn cannot_tell(signal: Signal) -> Option<&'static str> {
        match signal {
            Signal::RoundTrip
            | Signal::RoundTripOfWindows
            | Signal::RoundTripOfProbes
            | Signal::SmoothedRoundTrip
            | Signal::LeastRoundTrip
            | Signal::LeastInInterval
            | Signal::Marked => Some("nobody acknowledges datagrams"),
            Signal::RouteChanged | Signal::Lost | Signal::FirstBacklog | Signal::PathBacklog => None,
        }
    }
}

/// When datagrams are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// As fast as the queue takes them: it is never empty.
    Saturated,
    /// One per interval.
    Constant {
        /// The mean interval.
        interval: Duration,
        /// Each interval is drawn evenly from this share around its mean: 0 is exact, 1 is zero to twice the mean.
        jitter: f64,
    },
    /// Constant while on; on and off for exponential times.
    OnOff {
        /// The interval while on.
        interval: Duration,
        /// Mean time on.
        on: Duration,
        /// Mean time off.
        off: Duration,
    },
    /// A Poisson process: exponential times between datagrams, independent of each other.
    Poisson {
        /// The mean interval.
        interval: Duration,
        /// The sizes that are drawn; all are of the flow's size, if there are none.
        sizes: Option<Mix>,
    },
}

impl Pattern {
    /// The time after a datagram until the next one is due, while the source is on; none for a source that asks the
    /// queue.
    #[inline]
    pub fn next_in(&self, stream: &mut Stream) -> Option<Duration> {
        match *self {
            Self::Saturated => None,
            Self::Constant { interval, jitter } if jitter > 0.0 => {
                Some(interval.mul_f64(1.0 + jitter * (2.0 * stream.unit() - 1.0)))
            }
            Self::Constant { interval, .. } | Self::OnOff { interval, .. } => Some(interval),
            Self::Poisson { interval, .. } => Some(stream.exponential(interval)),
        }
    }

    /// Whether the first datagram is sent at the start; a Poisson process waits for its first event.
    pub const fn begins_at_once(&self) -> bool {
        !matches!(self, Self::Poisson { .. })
    }
}

/// How much a TCP flow has to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Without end.
    Endless,
    /// A number of segments in all, shared by the flow's connections; then they close.
    Segments(u32),
    /// One segment per interval: an application that produces no faster.
    Paced(Duration),
}

/// A TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpSpec {
    /// The sending endpoint.
    pub sender: SenderParams,
    /// Its window law.
    pub window: WindowParams,
    /// The receiving endpoint.
    pub acknowledge: AckPolicy,
    /// Payload of a segment.
    pub payload: Bytes,
    /// IP and TCP headers; also the size of an acknowledgement.
    pub headers: Bytes,
    /// Whether TCP's options come on top of these, as a kernel sends them.
    pub options: bool,
    /// How much there is to send.
    pub source: Source,
    /// How many connections it keeps; one if there is no law.
    pub connections: Option<ConnectionParams>,
    /// How its path is probed, where that law wants to know.
    pub probes: ProbeSpec,
    /// The receiver hands over in the order of the one stream that the connections share, and not of each connection.
    pub resequence: bool,
    /// Which round trips are its measured ones.
    pub sampling: Sampling,
}

impl TcpSpec {
    /// The headers of a segment, and the size of an acknowledgement, while nothing is lost: with timestamps, where options come on top.
    pub fn plain_headers(&self) -> Bytes {
        self.headers + self.options_of(&Segment::plain(SegmentKind::Data, 0))
    }

    /// The bytes by which its options lengthen a segment.
    pub(crate) fn options_of(&self, segment: &Segment) -> Bytes {
        Bytes::new(if self.options { Options::length(segment, &self.agreed()) } else { 0 })
    }

    /// The agreement of a connection's ends.
    pub(crate) fn agreed(&self) -> Agreed {
        Agreed {
            headers: self.headers.count() as u16,
            options: self.options,
            window: self.sender.receiver_window,
            handshake: self.sender.handshake,
            sack: self.sender.recovery == Recovery::Sack,
            timestamps: self.sender.timestamps,
        }
    }
}

/// Probes of a path ([CZ06] section IV-A): as many as data packets were sent in the last round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeSpec {
    /// Network-layer size, both ways.
    pub size: Bytes,
    /// No more than so many a second, on average over a round trip; as many as there are data packets, if none.
    pub most_per_second: Option<f64>,
}

impl Default for ProbeSpec {
    /// IP and UDP headers.
    fn default() -> Self {
        Self { size: Bytes::new(28), most_per_second: None }
    }
}

/// Which round trips a flow is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// That of every segment, from its departure to the arrival of the acknowledgement that it brought about, which may
    /// acknowledge any segments. Each repetition has a departure of its own, so that nothing is ambiguous. Where the
    /// receiver delays acknowledgements it is that of the last segment that one covers, with the delay only where
    /// nothing came to end it.
    #[default]
    EverySegment,
    /// The retransmission timer's samples: one segment a window (RFC 6298 section 3), none that was repeated.
    OnePerWindow,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSpec {
    /// Seed of all random streams.
    pub seed: u64,
    /// The warm-up, which counts for nothing.
    pub warmup: Duration,
    /// How long is measured.
    pub duration: Duration,
    /// How often time series are sampled; not at all if none.
    pub sample_every: Option<Duration>,
    /// Keep the time of each datagram, segment and packet in a queue: delays of data over TCP, and percentiles.
    pub times: bool,
    /// Keep the airtime ledger.
    pub ledger: bool,
    /// Record the frames of this window.
    pub timeline: Option<(Instant, Instant)>,
}
