//! Laws written in Python, behind the traits that built-in laws have.
//!
//! A law's object is copied (`copy.deepcopy`) wherever a law is: into a scenario, and for each queue, flow or sender that it is put
//! at. An exception in it ends the call that it is asked in, with its traceback.

mod backoff;
mod check;
mod connections;
mod gateway;
mod marking;
pub(crate) mod own;
mod rate;
mod rates;
pub(crate) mod views;
mod window;

pub(crate) use backoff::Access;
pub(crate) use check::check_law;

use backoff::PythonBackoff;
use connections::PythonConnections;
use evenair_laws::backoff::OwnBackoff;
use evenair_laws::connections::OwnConnections;
use evenair_laws::gateway::OwnGateway;
use evenair_laws::marking::OwnMarking;
use evenair_laws::rate::OwnRate;
use evenair_laws::rates::OwnRateControl;
use evenair_laws::window::OwnWindow;
use evenair_scenario::{FlowTable, Scenario, Window};
use gateway::PythonGateway;
pub(crate) use gateway::gives_one_rate;
use marking::PythonMarking;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use rate::PythonRate;
use rates::PythonRates;
use window::PythonWindow;

/// A law of any family.
enum Law {
    Backoff(OwnBackoff),
    Window(OwnWindow),
    Connections(OwnConnections),
    Rate(OwnRate),
    Rates(OwnRateControl),
    Gateway(OwnGateway),
    Marking(OwnMarking),
}

impl Law {
    /// The class that the object's class is derived from says which family it is of.
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyType>() {
            let why = format!("{object} is a class: give a law of it, with its parameters in parentheses");
            return Err(PyTypeError::new_err(why));
        }
        let family = object.getattr("family").and_then(|f| f.extract::<String>()).map_err(|_| {
            PyTypeError::new_err(format!("{object} is no law: derive its class from one of evenair.laws"))
        })?;
        Ok(match family.as_str() {
            "backoff" => Self::Backoff(OwnBackoff::new(PythonBackoff::new(object)?)),
            "window" => Self::Window(OwnWindow::new(PythonWindow::new(object)?)),
            "connections" => Self::Connections(OwnConnections::new(PythonConnections::new(object)?)),
            "rate" => Self::Rate(OwnRate::new(PythonRate::new(object)?)),
            "rates" => Self::Rates(OwnRateControl::new(PythonRates::new(object)?)),
            "gateway" => Self::Gateway(OwnGateway::new(PythonGateway::new(object)?)),
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
            Self::Rates(_) => "rate control",
            Self::Gateway(_) => "gateway",
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

/// The keys that take laws, for the error of another key.
const PLACES: &str = "backoff, tcp.window, connections, rate_law, mac.rate_control, drop, gateway.law; for one flow under flows.ID.window, \
flows.ID.connections, flows.ID.rate_law; for some queues under queues.N.backoff, queues.N.drop, wires.N.drop; for one link under rates.N.rate_control";

/// Puts a law under a key such as `flows[2].window`: entries of lists go by their number, not by their ids.
fn put(scenario: &mut Scenario, key: &str, law: Law) -> PyResult<()> {
    let (list, rest) = key.split_once('[').unwrap_or((key, ""));
    let (index, rest) = rest.split_once("].").unwrap_or(("", ""));
    match (list, rest, law) {
        ("backoff", "", Law::Backoff(law)) => scenario.backoff = law.into(),
        ("tcp.window", "", Law::Window(law)) => scenario.tcp.window = Some(Window::Law(law.into())),
        ("connections", "", Law::Connections(law)) => scenario.connections = Some(law.into()),
        ("rate_law", "", Law::Rate(law)) => {
            // Written out, each flow has a law of its own.
            for flow in scenario.flows.iter_mut().filter(|flow| flow.rate_law.is_some()) {
                flow.rate_law = Some(law.clone().into());
            }
        }
        ("mac.rate_control", "", Law::Rates(law)) => scenario.mac.rate_control = Some(law.into()),
        ("rates", "rate_control", Law::Rates(law)) => {
            entry(&mut scenario.rates, key, index)?.rate_control = Some(law.into());
        }
        ("drop", "", Law::Marking(law)) => scenario.drop = Some(law.into()),
        ("gateway.law", "", Law::Gateway(law)) => {
            scenario.gateway.as_mut().ok_or_else(|| missing(key))?.law = Some(law.into());
        }
        ("flows", place, law) => put_at_flow(entry(&mut scenario.flows, key, index)?, place, law)?,
        ("queues", "backoff", Law::Backoff(law)) => {
            entry(&mut scenario.queues, key, index)?.backoff = Some(law.into());
        }
        ("queues", "drop", Law::Marking(law)) => {
            entry(&mut scenario.queues, key, index)?.drop = Some(law.into());
        }
        ("wires", "drop", Law::Marking(law)) => {
            entry(&mut scenario.wires, key, index)?.drop = Some(law.into());
        }
        (_, _, law) => return Err(misplaced(key, &law)),
    }
    Ok(())
}

fn put_at_flow(flow: &mut FlowTable, key: &str, law: Law) -> PyResult<()> {
    match (key, law) {
        ("window", Law::Window(law)) => flow.window = Some(Window::Law(law.into())),
        ("connections", Law::Connections(law)) => flow.connections = Some(law.into()),
        ("rate_law", Law::Rate(law)) => flow.rate_law = Some(law.into()),
        (key, law) => return Err(misplaced(&format!("flows.{}.{key}", flow.id), &law)),
    }
    Ok(())
}

fn misplaced(key: &str, law: &Law) -> PyErr {
    PyValueError::new_err(format!(
        "{key}: no {} law has its place there; laws stand under {PLACES}",
        law.family()
    ))
}

fn missing(key: &str) -> PyErr {
    PyValueError::new_err(format!("{key}: there is no such table in the scenario"))
}

/// An entry of a list of tables.
fn entry<'a, T>(list: &'a mut [T], key: &str, index: &str) -> PyResult<&'a mut T> {
    index.parse().ok().and_then(|i: usize| list.get_mut(i)).ok_or_else(|| missing(key))
}
