//! Utilities written in Python.

use crate::session;
use evenair_scenario::Concave;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::Arc;

/// A function of a flow's name and its rate, and its derivative, where that is given.
#[derive(Debug)]
pub(crate) struct OwnUtility {
    flow: String,
    utility: Py<PyAny>,
    marginal: Option<Py<PyAny>>,
}

/// The relative distance of the rates from which the derivative of the utility is computed. The formula's error, its
/// fourth power, is then as small as that of a double's digits over it.
const STEP: f64 = 1e-3;

impl OwnUtility {
    /// The function that gives each flow its own.
    pub(crate) fn of(
        py: Python<'_>,
        utility: Py<PyAny>,
        marginal: Option<Py<PyAny>>,
    ) -> impl Fn(&str) -> Arc<dyn Concave> + Send + 'static {
        let functions = (utility.clone_ref(py), marginal.map(|marginal| marginal.clone_ref(py)));
        move |flow| {
            Python::attach(|py| {
                let (utility, marginal) = &functions;
                let marginal = marginal.as_ref().map(|marginal| marginal.clone_ref(py));
                Arc::new(Self { flow: flow.into(), utility: utility.clone_ref(py), marginal })
            })
        }
    }

    /// Where the function raises an exception, the call ends that this thread works for; until it has, the answer is `otherwise`.
    fn call(&self, function: &Py<PyAny>, rate: f64, otherwise: f64) -> f64 {
        if session::is_ending() {
            return otherwise;
        }
        Python::attach(|py| {
            let answer = function.bind(py).call1((&self.flow, rate)).and_then(|answer| {
                answer.extract().map_err(|_| {
                    let message = format!(
                        "of flow {} and a rate of {rate:e} it gave {answer:?}: give a number",
                        self.flow
                    );
                    PyTypeError::new_err(format!("{function}: {message}"))
                })
            });
            answer.unwrap_or_else(|error| {
                session::fail(py, error);
                otherwise
            })
        })
    }
}

impl Concave for OwnUtility {
    fn of(&self, rate: f64) -> f64 {
        self.call(&self.utility, rate, rate.ln())
    }

    fn price(&self, rate: f64) -> f64 {
        if let Some(marginal) = &self.marginal {
            return self.call(marginal, rate, 1.0 / rate);
        }
        let at = |steps: f64| self.of(rate * (1.0 + steps * STEP));
        (at(-2.0) - 8.0 * at(-1.0) + 8.0 * at(1.0) - at(2.0)) / (12.0 * STEP * rate)
    }
}
