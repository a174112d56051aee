//! The scenario language: one TOML file describes a network and its traffic, and any world is built from it.
//!
//! A [`Scenario`] is the file as written, a [`Resolved`] its meaning: [`Resolved::load`] reads a file with its
//! overrides, checks everything and writes all defaults out. Unknown keys are errors; each error names file, line, key
//! and allowed values. It has the packet world ([`Resolved::network`]), computes the best allocation
//! ([`Resolved::optimum`]) and follows the fluid model ([`Resolved::fluid`]).
#![forbid(unsafe_code)]

mod build;
mod bulk;
mod catalogue;
mod check;
mod error;
mod fluid;
mod generate;
mod hidden;
mod language;
mod law;
mod lists;
mod meant;
mod optimum;
mod quantity;
mod read;
mod resolved;
#[cfg(test)]
mod tests;
mod theory;
mod unused;
mod warn;

pub use build::Layout;
pub use bulk::nodes_have_places;
pub use catalogue::{ListedFamily, ListedLaw, ListedParameter, laws};
pub use error::ScenarioError;
pub use evenair_fluid::View as FluidView;
pub use evenair_optimum::{Concave, Done, Failure, Solution, Watch};
pub use fluid::{FluidRun, Overload};
pub use language::{
    AckTimeout, AfterMissedBlockAck, AggregationTable, ArrivalsName, At, BandName, ClockKind, CodePoint,
    CodingName, ConflictRule, ConnectionName, DataRate, Directions, DisciplineName, DualDescentKeys,
    ErrorModelName, ErrorsTable, Exactly, FadingName, FadingTable, FlowPattern, FlowTable, FluidModel,
    FluidTable, GatewayTable, Generate, GeneratedFlows, HoldingLaw, HostsName, InterferenceRule,
    InterruptedDifs, LimitRate, LinkTable, Listed, LossTable, LossyPathKeys, MacKind, MacTable,
    MobilityTable, Never, NodeMac, NodeQueuesTable, NodeTable, OfRate, OptimalCsmaKeys, Per, PerRate,
    PointTable, PreambleKind, Preset, ProbesTable, PropagationName, Protection, QueueKind, QueueTable,
    RadioTable, RateTable, RateUnit, RenoCsmaKeys, Retries, RoundTripKind, RouteMetric, Scenario,
    ShadowingTable, ShaperName, SignalTable, SourceLimitTable, StackName, StagedAirtime, TcpTable, Threshold,
    TrackTable, TrafficKind, UtilityTable, WalkTable, WallTable, WeakSignals, WebTable, Window, WireQueue,
    WireTable, exactly,
};
pub use meant::explained;
pub use optimum::{Objective, Optimum, Overfull, Question, Region, Solver};
pub use quantity::{
    Amount, Decibels, Doppler, Frequency, Length, PacketCount, Power, Probability, RateQuantity, Size, Speed,
    Time,
};
pub use resolved::Resolved;
pub use theory::{Theory, TheoryFlow};

/// The JSON Schema of the scenario language, for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Scenario).to_value()
}
