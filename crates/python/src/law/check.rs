//! The conformance suites of the laws, over laws in Python.

use super::Law;
use crate::session::guard;
use evenair_laws::backoff::AnyBackoff;
use evenair_laws::conformance;
use evenair_laws::connections::AnyConnections;
use evenair_laws::gateway::AnyGateway;
use evenair_laws::marking::AnyMarking;
use evenair_laws::rate::AnyRate;
use evenair_laws::rates::AnyRateControl;
use evenair_laws::window::AnyWindow;
use pyo3::exceptions::PyAssertionError;
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};

/// Drives a law through the suite of its family, which raises `AssertionError` where the law does not conform.
#[pyfunction]
pub(crate) fn check_law(law: &Bound<'_, PyAny>, seeds: u64) -> PyResult<()> {
    guard(|| {
        let law = Law::new(law)?;
        // The suite panics, as tests do; only the exception shows its message.
        let hook = take_hook();
        set_hook(Box::new(|_| ()));
        let result = catch_unwind(AssertUnwindSafe(|| (0..seeds).for_each(|seed| drive(&law, seed))));
        set_hook(hook);
        result.map_err(|panic| PyAssertionError::new_err(words(&*panic)))
    })
}

fn drive(law: &Law, seed: u64) {
    match law {
        Law::Backoff(law) => conformance::backoff(&law.clone().into(), AnyBackoff::clone, seed),
        Law::Window(law) => conformance::window(&law.clone().into(), AnyWindow::clone, seed),
        Law::Connections(law) => conformance::connections(&law.clone().into(), AnyConnections::clone, seed),
        Law::Rate(law) => conformance::rate(&law.clone().into(), AnyRate::clone, seed),
        Law::Rates(law) => conformance::rates(&law.clone().into(), AnyRateControl::clone, seed),
        Law::Gateway(law) => conformance::gateway(&law.clone().into(), AnyGateway::clone, seed),
        Law::Marking(law) => conformance::marking(&law.clone().into(), AnyMarking::clone, seed),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("the law does not conform").into()
}
