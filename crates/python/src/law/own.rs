//! A law's object, and how it is asked.

use crate::session;
use evenair_laws::flow::Signal;
use evenair_scenario::Time;
use evenair_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use std::fmt;
use std::sync::Arc;

/// A law's object. A copy of it is a deep copy.
pub(super) struct Object {
    law: Py<PyAny>,
    identity: Arc<str>,
}

impl Object {
    /// A copy of a user's object: later changes of the user's own do not affect runs.
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        let identity: String = law.call_method0("identity")?.extract()?;
        Ok(Self { law: deep_copy(law)?.unbind(), identity: identity.into() })
    }

    pub(super) fn identity(&self) -> String {
        self.identity.to_string()
    }

    /// The object itself, outside of any run.
    pub(super) fn of<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.law.bind(py)
    }

    /// Asks the law. Where it raises an exception, the call ends that this thread works for; until it has, and ever after, the
    /// answer is `otherwise`.
    #[inline]
    pub(super) fn ask<T>(&self, otherwise: T, question: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> T {
        if session::is_ending() {
            return otherwise;
        }
        Python::attach(|py| {
            question(self.law.bind(py)).unwrap_or_else(|error| {
                session::fail(py, error);
                otherwise
            })
        })
    }
}

fn deep_copy<'py>(law: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    COPY.import(law.py(), "copy", "deepcopy")?.call1((law,))
}

impl Clone for Object {
    fn clone(&self) -> Self {
        let law = Python::attach(|py| {
            let law = self.law.bind(py);
            deep_copy(law)
                .unwrap_or_else(|error| {
                    session::fail(py, error);
                    law.clone()
                })
                .unbind()
        });
        Self { law, identity: Arc::clone(&self.identity) }
    }
}

/// By its state: two copies of one state print alike.
impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = Python::attach(|py| {
            let state = self.law.bind(py).call_method0("_state").and_then(|s| s.extract::<String>());
            state.unwrap_or_else(|error| {
                session::fail(py, error);
                "unknown".into()
            })
        });
        f.write_str(&state)
    }
}

/// A length of time as laws write it: seconds, or words such as "100 ms".
pub(crate) fn time(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    if let Ok(words) = value.extract::<String>() {
        return words.parse::<Time>().map(|time| time.0).map_err(PyValueError::new_err);
    }
    seconds(value.extract()?)
}

/// A number of seconds.
pub(super) fn seconds(s: f64) -> PyResult<Duration> {
    if (0.0..=1e9).contains(&s) {
        Ok(Duration::from_secs_f64(s))
    } else {
        Err(PyValueError::new_err(format!("{s} s is no length of time: give seconds, 0 or more")))
    }
}

/// The interval of a law that has one.
pub(super) fn interval(law: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let interval = time(&law.getattr("interval")?)?;
    if interval.is_zero() {
        return Err(PyValueError::new_err("interval: give more than no time"));
    }
    Ok(interval)
}

/// The signals that a law of a flow needs.
pub(super) fn needs(law: &Bound<'_, PyAny>) -> PyResult<Vec<Signal>> {
    let words: Vec<String> = law.getattr("needs")?.extract()?;
    let signal = |word: &String| {
        Signal::deserialize(StrDeserializer::<serde::de::value::Error>::new(word))
            .map_err(|error| PyValueError::new_err(format!("needs: {error}")))
    };
    words.iter().map(signal).collect()
}

/// Whether the law's class has a method of its own in the place of the one that it would inherit.
pub(super) fn overrides(law: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    let base = law.getattr("_base")?;
    Ok(!law.get_type().getattr(method)?.is(&base.getattr(method)?))
}
