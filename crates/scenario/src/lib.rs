//! The scenario language: one TOML file says what there is, and any world is built from it.
//!
//! A [`Scenario`] is what is written, a [`Resolved`] what is meant: [`Resolved::load`] reads a file with its overrides,
//! checks everything (unknown keys are errors, each error names file, line, key and what is allowed) and writes all
//! defaults out. It has the packet world ([`Resolved::network`]), answers what the best allocation is
//! ([`Resolved::optimum`]) and where the fluid model goes ([`Resolved::fluid`]).
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
pub use catalogue::{ListedFamily, ListedLaw, ListedParameter, laws};
pub use error::ScenarioError;
pub use evenair_fluid::View as FluidView;
pub use evenair_optimum::{Concave, Done, Failure, Solution, Watch};
pub use fluid::{FluidRun, Overload};
pub use language::{
    AckTimeout, AfterMissedBlockAck, AggregationTable, ArrivalsName, At, BandName, ClockKind, CodePoint,
    CodingName, ConnectionName, DataRate, Directions, DisciplineName, DualDescentKeys, ErrorModelName,
    ErrorsTable, Exactly, FadingName, FadingTable, FlowPattern, FlowTable, FluidModel, FluidTable,
    GatewayTable, Generate, GeneratedFlows, HoldingLaw, HostsName, InterferenceRule, InterruptedDifs,
    LimitRate, LinkTable, Listed, LossTable, LossyPathKeys, MacKind, MacTable, Never, NodeMac,
    NodeQueuesTable, NodeTable, OfRate, OptimalCsmaKeys, Per, PerRate, PreambleKind, Preset, ProbesTable,
    PropagationName, Protection, QueueKind, QueueTable, RadioTable, RateTable, RateUnit, RenoCsmaKeys,
    Retries, RoundTripKind, Scenario, ShadowingTable, ShaperName, SignalTable, SourceLimitTable, StackName,
    StagedAirtime, TcpTable, Threshold, TrafficKind, UtilityTable, WallTable, WeakSignals, WebTable, Window,
    WireQueue, WireTable, exactly,
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
