//! Rate laws.

use super::own::{Object, interval, needs};
use super::views::{FlowRole, FlowView};
use evenair_laws::OwnLaw;
use evenair_laws::flow::{self, Signal};
use evenair_laws::rate::RateLaw;
use evenair_units::{Duration, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// The greatest rate that a law may ask for [bit/s].
pub(super) const BPS_MAX: f64 = 1e15;

/// A rate law in Python.
#[derive(Clone, Debug)]
pub(super) struct PythonRate {
    object: Object,
    interval: Duration,
    needs: Vec<Signal>,
}

impl PythonRate {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { object: Object::new(law)?, interval: interval(law)?, needs: needs(law)? })
    }
}

impl OwnLaw for PythonRate {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl RateLaw for PythonRate {
    fn begin(&mut self, flow: &flow::FlowRole) {
        self.object
            .ask((), |law| law.call_method1(intern!(law.py(), "begin"), (FlowRole(*flow),)).map(|_| ()));
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn needs(&self) -> Vec<Signal> {
        self.needs.clone()
    }

    fn on_interval(&mut self, flow: &flow::FlowView) -> Rate {
        self.object.ask(Rate::from_bps(0), |law| {
            let answer = law.call_method1(intern!(law.py(), "on_interval"), (FlowView(*flow),))?;
            match answer.extract::<f64>() {
                Ok(bps) if (0.0..=BPS_MAX).contains(&bps) => Ok(Rate::from_bps(bps as u64)),
                _ => Err(PyValueError::new_err(format!(
                    "a rate of {answer}: give bit/s, from 0 to {BPS_MAX:.0e}"
                ))),
            }
        })
    }
}
