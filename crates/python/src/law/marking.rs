//! Marking laws.

use super::own::{Object, overrides};
use super::views::{QueueRole, QueueView};
use evenair_laws::OwnLaw;
use evenair_laws::marking::{self, MarkingLaw, Verdict};
use evenair_units::{Duration, Instant, Probability};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// A marking law in Python. Methods that its class leaves alone are never called.
#[derive(Clone, Debug)]
pub(super) struct PythonMarking {
    object: Object,
    arrives: bool,
    has_arrived: bool,
    departs: bool,
    is_removed: bool,
}

impl PythonMarking {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            arrives: overrides(law, "on_arrival")?,
            has_arrived: overrides(law, "after_arrival")?,
            departs: overrides(law, "on_departure")?,
            is_removed: overrides(law, "on_removal")?,
            object: Object::new(law)?,
        })
    }
}

/// A probability that a law gives.
pub(super) fn probability(value: &Bound<'_, PyAny>) -> PyResult<Probability> {
    value
        .extract()
        .ok()
        .and_then(|p| Probability::new(p).ok())
        .ok_or_else(|| PyValueError::new_err(format!("a probability of {value}: give a number from 0 to 1")))
}

fn seconds(now: Instant) -> f64 {
    now.as_secs_f64()
}

impl OwnLaw for PythonMarking {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl MarkingLaw for PythonMarking {
    fn begin(&mut self, queue: &marking::QueueRole) {
        self.object
            .ask((), |law| law.call_method1(intern!(law.py(), "begin"), (QueueRole(*queue),)).map(|_| ()));
    }

    fn on_arrival(&mut self, now: Instant, queue: &marking::QueueView) -> Probability {
        if !self.arrives {
            return Probability::ZERO;
        }
        self.object.ask(Probability::ZERO, |law| {
            let arguments = (seconds(now), QueueView(*queue));
            probability(&law.call_method1(intern!(law.py(), "on_arrival"), arguments)?)
        })
    }

    fn after_arrival(&mut self, now: Instant, queue: &marking::QueueView, accepted: bool) {
        if self.has_arrived {
            self.object.ask((), |law| {
                let arguments = (seconds(now), QueueView(*queue), accepted);
                law.call_method1(intern!(law.py(), "after_arrival"), arguments).map(|_| ())
            });
        }
    }

    fn on_departure(&mut self, now: Instant, sojourn: Duration, queue: &marking::QueueView) -> Verdict {
        if !self.departs {
            return Verdict::Send;
        }
        self.object.ask(Verdict::Send, |law| {
            let arguments = (seconds(now), sojourn.as_secs_f64(), QueueView(*queue));
            let drops = law.call_method1(intern!(law.py(), "on_departure"), arguments)?.is_truthy()?;
            Ok(if drops { Verdict::Drop } else { Verdict::Send })
        })
    }

    fn on_removal(&mut self, now: Instant, queue: &marking::QueueView) {
        if self.is_removed {
            self.object.ask((), |law| {
                let arguments = (seconds(now), QueueView(*queue));
                law.call_method1(intern!(law.py(), "on_removal"), arguments).map(|_| ())
            });
        }
    }
}
