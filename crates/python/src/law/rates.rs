//! Rate controls.

use super::own::{Object, overrides};
use super::views::{FrameStatus, FrameView, RateRole};
use evenair_laws::OwnLaw;
use evenair_laws::rates::{self, CHAIN_MAX, Chain, RateControl, Step, TRIES_MAX};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// A rate control in Python. It is told how frames end only if its class has the method for it.
#[derive(Clone, Debug)]
pub(super) struct PythonRates {
    object: Object,
    asks_medium: bool,
    is_told: bool,
    /// Modes of the link, and its own.
    modes: usize,
    own: u16,
}

impl PythonRates {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            asks_medium: law.getattr("asks_medium")?.is_truthy()?,
            is_told: overrides(law, "on_status")?,
            modes: 0,
            own: 0,
            object: Object::new(law)?,
        })
    }
}

/// A chain that a law gives: a mode, or a list of modes and tries, each with an RTS or without one.
fn chain(answer: &Bound<'_, PyAny>, modes: usize) -> PyResult<Chain> {
    let step = |(mode, tries, announced)| Step { mode, tries, announced };
    let steps: Option<Vec<Step>> = if let Ok(mode) = answer.extract::<u16>() {
        Some(vec![step((mode, 1, false))])
    } else if let Ok(pairs) = answer.extract::<Vec<(u16, u8)>>() {
        Some(pairs.into_iter().map(|(mode, tries)| step((mode, tries, false))).collect())
    } else {
        answer.extract::<Vec<(u16, u8, bool)>>().ok().map(|steps| steps.into_iter().map(step).collect())
    };
    let steps = steps.filter(|steps| (1..=CHAIN_MAX).contains(&steps.len()));
    steps.map(|steps| Chain::new(&steps)).filter(|chain| chain.is_within(modes)).ok_or_else(|| {
        PyValueError::new_err(format!(
            "modes of {answer}: give a mode from 0 to {}, or a list of 1 to {CHAIN_MAX} pairs of a mode and 1 to \
             {TRIES_MAX} tries",
            modes - 1
        ))
    })
}

impl OwnLaw for PythonRates {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl RateControl for PythonRates {
    fn begin(&mut self, link: &rates::RateRole) {
        (self.modes, self.own) = (link.modes.len(), link.own);
        let role = RateRole(link.clone());
        self.object.ask((), |law| law.call_method1(intern!(law.py(), "begin"), (role,)).map(|_| ()));
    }

    fn asks_medium(&self) -> bool {
        self.asks_medium
    }

    fn on_frame(&mut self, frame: &rates::FrameView) -> Chain {
        let modes = self.modes;
        self.object.ask(Chain::of(self.own, 1), |law| {
            chain(&law.call_method1(intern!(law.py(), "on_frame"), (FrameView(*frame),))?, modes)
        })
    }

    fn on_status(&mut self, status: &rates::FrameStatus) {
        if self.is_told {
            self.object.ask((), |law| {
                law.call_method1(intern!(law.py(), "on_status"), (FrameStatus(*status),)).map(|_| ())
            });
        }
    }
}
