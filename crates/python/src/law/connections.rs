//! Connection laws.

use super::own::{Object, interval, needs};
use super::views::{FlowRole, FlowView};
use evenair_laws::OwnLaw;
use evenair_laws::connections::ConnectionLaw;
use evenair_laws::flow::{self, Signal};
use evenair_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// A connection law in Python.
#[derive(Clone, Debug)]
pub(super) struct PythonConnections {
    object: Object,
    interval: Duration,
    at_start: u32,
    needs: Vec<Signal>,
}

impl PythonConnections {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        let at_start = count(&law.getattr("at_start")?)?;
        Ok(Self { object: Object::new(law)?, interval: interval(law)?, at_start, needs: needs(law)? })
    }
}

/// A number of connections.
fn count(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    match value.extract::<u32>() {
        Ok(count) if count >= 1 => Ok(count),
        _ => Err(PyValueError::new_err(format!(
            "{value} connections: give a whole number, 1 at least, such as max(1, int(n))"
        ))),
    }
}

impl OwnLaw for PythonConnections {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl ConnectionLaw for PythonConnections {
    fn begin(&mut self, flow: &flow::FlowRole) {
        self.object
            .ask((), |law| law.call_method1(intern!(law.py(), "begin"), (FlowRole(*flow),)).map(|_| ()));
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn at_start(&self) -> u32 {
        self.at_start
    }

    fn needs(&self) -> Vec<Signal> {
        self.needs.clone()
    }

    fn on_interval(&mut self, flow: &flow::FlowView) -> u32 {
        self.object
            .ask(1, |law| count(&law.call_method1(intern!(law.py(), "on_interval"), (FlowView(*flow),))?))
    }
}
