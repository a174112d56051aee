//! The scenario language: one TOML file says what there is, and any world is built from it.
//!
//! [`Scenario::load`] reads a file with its overrides, checks everything (unknown keys are errors, each error names
//! file, line, key and what is allowed) and resolves all defaults, so that what runs is written out in full. Then
//! [`Scenario::network`] builds the packet world and [`Scenario::optimum`] the problem of its best allocation.
#![forbid(unsafe_code)]

mod build;
mod check;
mod error;
mod fluid;
mod generate;
mod language;
mod optimum;
mod quantity;
mod read;
mod resolve;
#[cfg(test)]
mod tests;
mod theory;
mod warn;

pub use build::World;
pub use error::{KeyPath, ScenarioError};
pub use evenair_fluid::View as FluidView;
pub use fluid::{FluidRun, Overload};
pub use language::{
    AckPriority, AckTimeout, AqmLaw, BackoffLaw, BackoffUnitName, CategoryName, CategoryTable, Connections,
    Drop, Flow, FlowPattern, Fluid, FluidModel, Generate, GeneratedFlows, HoldingLaw, InterferenceRule, Link,
    LinkLoss, LinkRate, Mac, MacKind, Measure, Node, PreambleKind, Preset, PropagationName, QueueKind, Radio,
    RoundTripKind, RoundTripSamples, Scenario, Signal, Tcp, TrafficKind, UnsampledRule, WeakSignals,
    WindowName, Wire,
};
pub use optimum::{Objective, Optimum, Question, Region, Solver};
pub use quantity::{Decibels, Frequency, Length, PacketCount, Power, RateQuantity, Size, Time};
pub use theory::{Theory, TheoryFlow};

/// The JSON Schema of the scenario language, for editors.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Scenario).to_value()
}
