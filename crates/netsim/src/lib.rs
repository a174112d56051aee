#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! Build a [`NetworkSpec`] (the scenario crate does it from a file), then [`Network::run`]. A run is a function of the
//! specification and the seed: it reads no clock, and two runs with one seed give one result, byte by byte. A network can
//! also be stepped from outside, and carry packets from there ([`Network::advance`], [`Network::inject`]).
//!
//! Read `core` for how packets move, `queue` for the parts of a transmit queue, `attached` for sources and TCP endpoints.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "a run reads no clock and no environment")]

mod attached;
mod core;
mod measure;
mod network;
mod options;
mod packet;
pub mod pcap;
mod queue;
mod spec;
mod tape;
mod times;
mod trace;

pub use crate::core::ClassRefused;
pub use attached::Prober;
pub use measure::{
    AggregateResult, AirtimeShares, ClassResult, ClassSeries, FlowResult, FlowSeries, GatewayResult,
    GatewaySeries, LinkResult, LinkSeries, ModeResult, OutsideResult, Packets, ProbeResult,
    ResequencingResult, RunResult, Series, TransferResult,
};
pub use network::{Emerged, Fate, FlowState, Network, NoRoute, OutsideEnds};
pub use packet::{Body, Codepoint, Entered, Foreign, LossCause, TcpPacket, Whose};
pub use queue::{
    AirtimeFair, AirtimeParams, Airtimes, AnyDiscipline, Discipline, DisciplineParams, DisciplineRole, Fair,
    FairParams, Fifo, FlowFacts, Flows, Hosts, Mark, OwnDiscipline, Queued, Shaper, TokenBucket, Weighted,
    WeightedParams,
};
pub use spec::{
    Arrivals, Clocks, Detour, FlowSpec, GatewayClass, GatewayControl, GatewaySpec, LinkControl, LinkLoss,
    LinkRate, MacSpec, Mix, Motion, NetworkSpec, NoTrace, Opportunities, Pattern, Per, ProbeSpec, QueueSpec,
    RateControlSpec, RatedSpec, RunSpec, Sampling, Scene, SceneAt, Shaping, Shares, Source, SourceLimit,
    Stack, Staging, TcpSpec, TfrcSpec, Traffic, WebConnection, WebRequest, WebSpec, Wire,
};
pub use tape::{Tapes, Track};
pub use times::{Histogram, Times};
pub use trace::{Agreed, FrameSink, Sent, Watchers};
