//! The fluid model, complete.

use crate::error::Mistake;
use crate::language::{FluidModel, FluidTable, RenoCsmaKeys};
use crate::law;
use crate::quantity::Time;
use evenair_laws::Parameters;
use serde::{Deserialize, Serialize};

/// The fluid model of a scenario, and how it is followed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedFluid {
    /// How long it is followed; until it should have settled, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Time>,
    /// The state to start from; the model's own, if it is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<f64>,
    /// An implicit method, for stiff systems.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub implicit: bool,
    /// Error of a step that is allowed, relative to the state.
    pub tolerance: f64,
    /// Which model; none, where the laws have none and the scenario names none.
    #[serde(flatten)]
    pub model: Option<FluidModel>,
}

impl FluidTable {
    /// `adaptive`: whether the back-off law is that of the model reno-csma.
    pub(crate) fn resolve(mut self, adaptive: bool) -> Result<ResolvedFluid, Mistake> {
        let model = if self.model.contains_key("model") {
            Some(read(self.model)?)
        } else if adaptive {
            self.model.insert("model".into(), "reno-csma".into());
            Some(read(self.model)?)
        } else if let Some(key) = self.model.keys().next() {
            let why = "the scenario's laws have no fluid model: say which in fluid.model";
            return Err(Mistake::at(&format!("fluid.{key}"), why));
        } else {
            None
        };
        let tolerance = self.tolerance.unwrap_or(1e-8);
        positive("tolerance", Some(tolerance))?;
        positive("duration", self.duration.map(|d| d.0.as_secs_f64()))?;
        let Self { duration, start, implicit, .. } = self;
        Ok(ResolvedFluid { duration, start, implicit, tolerance, model })
    }
}

impl ResolvedFluid {
    /// What is followed where nothing is said about it.
    pub(crate) fn of_laws(adaptive: bool) -> Self {
        let model = adaptive.then(|| FluidModel::RenoCsma(RenoCsmaKeys::default()));
        Self { duration: None, start: Vec::new(), implicit: false, tolerance: 1e-8, model }
    }
}

/// The model that the keys describe.
fn read(keys: toml::Table) -> Result<FluidModel, Mistake> {
    let names: Vec<String> = keys.keys().cloned().collect();
    let model = FluidModel::deserialize(toml::Value::Table(keys)).map_err(|error| {
        let message = error.message().trim().replace('\n', "; ");
        let key = names.iter().find(|name| message.contains(&format!("`{name}`")));
        Mistake::at(&key.map_or("fluid".into(), |key| format!("fluid.{key}")), message)
    })?;
    match &model {
        FluidModel::RenoCsma(_) => (),
        FluidModel::EMultcp(keys) | FluidModel::EMultcpReduced(keys) => {
            positive("smoothing", keys.smoothing)?;
            positive("connections", Some(keys.connections))?;
            if !(keys.gain >= 0.0 && keys.gain.is_finite()) {
                return Err(Mistake::at("fluid.gain", format!("{} must be 0 or more", keys.gain)));
            }
        }
        FluidModel::QuicTcp(law) => {
            law.validated().map_err(|error| law::mistake("fluid", error))?;
            if law.round_trip_holds.is_some() {
                let why = "the model knows the path's round trip, and measures none";
                return Err(Mistake::at("fluid.round_trip_holds", why));
            }
        }
        FluidModel::DualDescent(keys) => {
            positive("p", Some(keys.p))?;
            positive("step", Some(keys.step))?;
        }
        FluidModel::OptimalCsma(keys) => {
            keys.law.validated().map_err(|error| law::mistake("fluid", error))?;
            positive("capacity", Some(keys.capacity))?;
        }
    }
    Ok(model)
}

fn positive(key: &str, value: Option<f64>) -> Result<(), Mistake> {
    match value {
        Some(x) if !(x > 0.0 && x.is_finite()) => {
            Err(Mistake::at(&format!("fluid.{key}"), format!("{x} must be above 0")))
        }
        _ => Ok(()),
    }
}
