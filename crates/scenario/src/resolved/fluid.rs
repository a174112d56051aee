//! The fluid model.

use crate::error::Mistake;
use crate::language::{FluidModel, FluidTable};
use crate::law;
use evenair_laws::Parameters;
use evenair_service::document::to_blame;
use evenair_units::plain_message;
use serde::Deserialize as _;

impl FluidTable {
    /// Which model, if the scenario names one or its laws have one; and the error of a step that is allowed, relative to the state.
    /// `adaptive`: whether the back-off law is that of the model reno-csma.
    pub(crate) fn complete(&mut self, adaptive: bool) -> Result<(Option<FluidModel>, f64), Mistake> {
        let tolerance = *self.tolerance.get_or_insert(1e-8);
        positive("tolerance", self.tolerance)?;
        positive("duration", self.duration.map(|d| d.0.as_secs_f64()))?;
        if !self.model.contains_key("model") {
            if adaptive {
                self.model.insert("model".into(), "reno-csma".into());
            } else if let Some(key) = self.model.keys().next() {
                let why = "the scenario's laws have no fluid model: name one in fluid.model";
                return Err(Mistake::at(&format!("fluid.{key}"), why));
            } else {
                return Ok((None, tolerance));
            }
        }
        let model = read(&self.model)?;
        self.model = toml::Table::try_from(&model).expect("every model can be written");
        Ok((Some(model), tolerance))
    }
}

/// The model that the keys describe.
fn read(keys: &toml::Table) -> Result<FluidModel, Mistake> {
    let model = |keys: toml::Table| {
        FluidModel::deserialize(toml::Value::Table(keys)).map_err(|error| plain_message(error.message()))
    };
    let model = model(keys.clone()).map_err(|message| {
        let without = |name: &str| {
            let mut keys = keys.clone();
            keys.remove(name);
            model(keys).err()
        };
        let names = || keys.keys().map(String::as_str);
        // The first word of a message is the refused one; the allowed ones follow.
        let named = names().filter_map(|name| Some((message.find(&format!("`{name}`"))?, name))).min();
        let named = named.map(|(_, name)| name);
        let key = named.or_else(|| to_blame(names(), &message, without));
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
                let why = "the model has the path's round trip and measures none: remove it";
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
