//! Laws written in Python, behind the traits that built-in laws have.
//!
//! A law's object is copied (`copy.deepcopy`) wherever a law is: into a scenario, and for each queue, flow or sender that it is put
//! at. An exception in it ends the call that it is asked in, with its traceback.

mod backoff;
mod check;
mod connections;
mod marking;
pub(crate) mod own;
mod rate;
pub(crate) mod views;
mod window;

pub(crate) use backoff::Access;
pub(crate) use check::check_law;

use backoff::PythonBackoff;
use connections::PythonConnections;
use evenair_laws::backoff::OwnBackoff;
use evenair_laws::connections::OwnConnections;
use evenair_laws::marking::OwnMarking;
use evenair_laws::rate::OwnRate;
use evenair_laws::window::OwnWindow;
use evenair_scenario::{FlowTable, Scenario, Window};
use marking::PythonMarking;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rate::PythonRate;
use window::PythonWindow;

/// A law of any family.
enum Law {
    Backoff(OwnBackoff),
    Window(OwnWindow),
    Connections(OwnConnections),
    Rate(OwnRate),
    Marking(OwnMarking),
}

impl Law {
    /// The class that the object's class is derived from says which family it is of.
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let family = object.getattr("family").and_then(|f| f.extract::<String>()).map_err(|_| {
            PyTypeError::new_err(format!("{object} is no law: derive its class from one of evenair.laws"))
        })?;
        Ok(match family.as_str() {
            "backoff" => Self::Backoff(OwnBackoff::new(PythonBackoff::new(object)?)),
            "window" => Self::Window(OwnWindow::new(PythonWindow::new(object)?)),
            "connections" => Self::Connections(OwnConnections::new(PythonConnections::new(object)?)),
            "rate" => Self::Rate(OwnRate::new(PythonRate::new(object)?)),
            "marking" => Self::Marking(OwnMarking::new(PythonMarking::new(object)?)),
            other => return Err(PyTypeError::new_err(format!("there is no family of laws \"{other}\""))),
        })
    }

    const fn family(&self) -> &'static str {
        match self {
            Self::Backoff(_) => "back-off",
            Self::Window(_) => "window",
            Self::Connections(_) => "connection",
            Self::Rate(_) => "rate",
            Self::Marking(_) => "marking",
        }
    }
}

/// Laws and the keys of the scenario under which they stand.
pub(crate) struct Laws(Vec<(String, Law)>);

impl Laws {
    pub(crate) fn new(laws: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let laws = laws.into_iter().map(|(key, object)| Ok((key, Law::new(&object)?)));
        laws.collect::<PyResult<_>>().map(Self)
    }

    pub(crate) fn put_in(self, scenario: &mut Scenario) -> PyResult<()> {
        self.0.into_iter().try_for_each(|(key, law)| put(scenario, &key, law))
    }
}

fn put(scenario: &mut Scenario, key: &str, law: Law) -> PyResult<()> {
    let steps: Vec<&str> = key.split('.').collect();
    match (steps.as_slice(), law) {
        (["backoff"], Law::Backoff(law)) => scenario.backoff = law.into(),
        (["tcp", "window"], Law::Window(law)) => scenario.tcp.window = Some(Window::Law(law.into())),
        (["connections"], Law::Connections(law)) => scenario.connections = Some(law.into()),
        (["flows", flow, "connections"], Law::Connections(law)) => {
            flow_of(scenario, flow)?.connections = Some(law.into());
        }
        (["rate_law"], Law::Rate(law)) => {
            // Written out, each flow has a law of its own.
            for flow in scenario.flows.iter_mut().filter(|flow| flow.rate_law.is_some()) {
                flow.rate_law = Some(law.clone().into());
            }
        }
        (["flows", flow, "rate_law"], Law::Rate(law)) => {
            flow_of(scenario, flow)?.rate_law = Some(law.into());
        }
        (["drop"], Law::Marking(law)) => scenario.drop = Some(law.into()),
        (_, law) => {
            let places =
                "backoff, tcp.window, connections, rate_law, drop, flows.ID.connections, flows.ID.rate_law";
            let message =
                format!("{key}: no {} law has its place there; laws stand under {places}", law.family());
            return Err(PyValueError::new_err(message));
        }
    }
    Ok(())
}

/// A flow by its id or its number.
fn flow_of<'a>(scenario: &'a mut Scenario, name: &str) -> PyResult<&'a mut FlowTable> {
    let by_id = scenario.flows.iter().position(|flow| flow.id == name);
    by_id
        .or_else(|| name.parse().ok())
        .and_then(|index: usize| scenario.flows.get_mut(index))
        .ok_or_else(|| PyValueError::new_err(format!("flows.{name}: there is no such flow")))
}
