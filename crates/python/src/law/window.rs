//! Window laws.

use super::own::{Object, overrides, time};
use super::views::{Acked, Delivery, Loss, WindowStart};
use evenair_laws::OwnLaw;
use evenair_laws::window::{self, WINDOW_MAX, WindowLaw};
use evenair_units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// A window law in Python. Its answers are read from its attributes after each event: the endpoint reads them more
/// often than they change.
#[derive(Clone, Debug)]
pub(super) struct PythonWindow {
    object: Object,
    sees_deliveries: bool,
    deflates: bool,
    steers_recovery: bool,
    window: f64,
    threshold: f64,
    gap: Option<Duration>,
}

/// A law's answer.
type Answer = (f64, f64, Option<Duration>);

impl PythonWindow {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            sees_deliveries: overrides(law, "on_delivery")?,
            deflates: overrides(law, "deflate")?,
            steers_recovery: law.getattr("steers_recovery")?.extract()?,
            object: Object::new(law)?,
            window: 1.0,
            threshold: 1.0,
            gap: None,
        })
    }

    /// Tells the law of an event and reads its answer.
    #[inline]
    fn tell(&mut self, event: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let before = (self.window, self.threshold, self.gap);
        (self.window, self.threshold, self.gap) = self.object.ask(before, |law| {
            event(law)?;
            answer(law)
        });
    }
}

fn answer(law: &Bound<'_, PyAny>) -> PyResult<Answer> {
    let py = law.py();
    let window = law.getattr(intern!(py, "window"))?;
    let window = match window.extract::<f64>() {
        Ok(packets) if (1.0..=WINDOW_MAX).contains(&packets) => packets,
        _ => {
            let message = format!("a window of {window}: give segments, from 1 to {WINDOW_MAX}");
            return Err(PyValueError::new_err(message));
        }
    };
    let threshold = law.getattr(intern!(py, "threshold"))?;
    let threshold = match threshold.extract::<f64>() {
        Ok(packets) if packets >= 1.0 => packets,
        _ => {
            let message = format!("a slow-start threshold of {threshold}: give segments, 1 at least");
            return Err(PyValueError::new_err(message));
        }
    };
    let gap = law.getattr(intern!(py, "pacing_gap"))?;
    let gap = if gap.is_none() { None } else { Some(time(&gap)?) };
    Ok((window, threshold, gap))
}

impl OwnLaw for PythonWindow {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl WindowLaw for PythonWindow {
    fn begin(&mut self, start: &window::WindowStart) {
        let start = WindowStart(*start);
        self.tell(|law| law.call_method1(intern!(law.py(), "begin"), (start,)).map(|_| ()));
    }

    fn sees_deliveries(&self) -> bool {
        self.sees_deliveries
    }

    fn on_delivery(&mut self, delivery: &window::Delivery) {
        let delivery = Delivery(*delivery);
        self.tell(|law| law.call_method1(intern!(law.py(), "on_delivery"), (delivery,)).map(|_| ()));
    }

    fn on_ack(&mut self, acked: &window::Acked) {
        let acked = Acked(*acked);
        self.tell(|law| law.call_method1(intern!(law.py(), "on_ack"), (acked,)).map(|_| ()));
    }

    fn on_loss(&mut self, loss: &window::Loss) {
        let loss = Loss(*loss);
        self.tell(|law| law.call_method1(intern!(law.py(), "on_loss"), (loss,)).map(|_| ()));
    }

    fn on_timeout(&mut self, loss: &window::Loss) {
        let loss = Loss(*loss);
        self.tell(|law| law.call_method1(intern!(law.py(), "on_timeout"), (loss,)).map(|_| ()));
    }

    fn deflate(&mut self, segments: f64) {
        if self.deflates {
            self.tell(|law| law.call_method1(intern!(law.py(), "deflate"), (segments,)).map(|_| ()));
        }
    }

    fn steers_recovery(&self) -> bool {
        self.steers_recovery
    }

    fn congestion_window(&self) -> f64 {
        self.window
    }

    fn slow_start_threshold(&self) -> f64 {
        self.threshold
    }

    fn pacing_gap(&self) -> Option<Duration> {
        self.gap
    }
}
