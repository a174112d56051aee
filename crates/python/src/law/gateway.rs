//! Laws of a gateway.

use super::own::{Object, interval};
use super::rate::BPS_MAX;
use super::views::{GatewayRole, GatewayView};
use evenair_laws::OwnLaw;
use evenair_laws::gateway::{self, Allocation, Decision, GatewayLaw, Reason, Step};
use evenair_units::{Duration, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// A gateway's law in Python.
#[derive(Clone, Debug)]
pub(super) struct PythonGateway {
    object: Object,
    interval: Duration,
    /// How many classes there are: where none is, there is nothing to ask.
    classes: usize,
    /// The rate that it let through last, all together \[bit/s\].
    before: u64,
}

impl PythonGateway {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { object: Object::new(law)?, interval: interval(law)?, classes: 0, before: 0 })
    }

    /// The answer to a question, as rates of buckets.
    fn ask(
        &self,
        question: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Allocation {
        if self.classes == 0 {
            return Allocation::default();
        }
        self.object.ask(Allocation::default(), |law| allocation(&question(law)?, self.classes))
    }
}

/// One rate for all, or one for each class, or none where there is no limit.
fn allocation(answer: &Bound<'_, PyAny>, classes: usize) -> PyResult<Allocation> {
    let rate = |bps: f64| {
        let why = format!("a rate of {bps}: give bit/s, from 1 to {BPS_MAX:.0e}");
        if (1.0..=BPS_MAX).contains(&bps) {
            Ok(Rate::from_bps(bps as u64))
        } else {
            Err(PyValueError::new_err(why))
        }
    };
    if answer.is_none() {
        return Ok(Allocation::default());
    }
    if let Ok(total) = answer.extract::<f64>() {
        return Ok(Allocation { total: Some(rate(total)?), ..Allocation::default() });
    }
    let each: Vec<f64> = answer.extract().map_err(|_| {
        let why = "give bit/s: one number for all classes, a list with one for each, or None where nothing is limited";
        PyValueError::new_err(format!("rates of {answer}: {why}"))
    })?;
    if each.len() != classes {
        let why =
            format!("rates of {answer}: there are {classes} classes, so give as many, or one number for all");
        return Err(PyValueError::new_err(why));
    }
    Ok(Allocation { each: each.into_iter().map(rate).collect::<PyResult<_>>()?, ..Allocation::default() })
}

/// The rate that all classes may send at together \[bit/s\].
fn sum(allocation: &Allocation) -> u64 {
    let each = allocation.each.iter().chain(&allocation.total);
    each.fold(0, |sum, rate| sum.saturating_add(rate.as_bps()))
}

/// Whether a law gives one rate for all, judged by one class, and not each class its own: its default shaper depends on
/// that.
#[pyfunction]
pub(crate) fn gives_one_rate(law: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = law.py();
    let law = Object::new(law)?;
    let anybody = GatewayRole(gateway::GatewayRole { classes: vec![gateway::ClassRole::default()] });
    // A law that knows its own gateway only may fail here; at that it is asked in earnest.
    let asked =
        law.of(py).call_method1("begin", (anybody,)).and_then(|_| law.of(py).call_method0("at_start"));
    Ok(asked.is_ok_and(|rates| rates.extract::<f64>().is_ok()))
}

impl OwnLaw for PythonGateway {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl GatewayLaw for PythonGateway {
    fn begin(&mut self, role: &gateway::GatewayRole) {
        self.classes = role.classes.len();
        if self.classes > 0 {
            let role = GatewayRole(role.clone());
            self.object.ask((), |law| law.call_method1(intern!(law.py(), "begin"), (role,)).map(|_| ()));
        }
        self.before = sum(&self.at_start());
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn at_start(&self) -> Allocation {
        self.ask(|law| law.call_method0(intern!(law.py(), "at_start")))
    }

    fn on_epoch(&mut self, view: &gateway::GatewayView) -> Allocation {
        let seen = GatewayView(view.clone());
        let rates = self.ask(|law| law.call_method1(intern!(law.py(), "on_epoch"), (seen,)));
        let (before, now) = (self.before, sum(&rates));
        self.before = now;
        let step = match now.cmp(&before) {
            std::cmp::Ordering::Less => Step::Decrease,
            std::cmp::Ordering::Equal => Step::Hold,
            std::cmp::Ordering::Greater => Step::Increase,
        };
        Allocation { decision: Decision { step, reason: Reason::Configured, class: None }, ..rates }
    }
}
