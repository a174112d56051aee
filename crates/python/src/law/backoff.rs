//! Back-off laws, and the answer that they give to the MAC.

use super::marking::probability;
use super::own::{Object, interval, overrides, seconds};
use super::views::{LinkRole, LinkView};
use evenair_laws::OwnLaw;
use evenair_laws::backoff::{self, BackoffLaw, Draw, Holding, OnFailure, Scope, When};
use evenair_units::{Bytes, Duration, Probability};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;

/// A back-off law in Python. The host asks for access more often than it changes: answers are read once after each update.
#[derive(Clone, Debug)]
pub(super) struct PythonBackoff {
    object: Object,
    scope: Scope,
    interval: Option<Duration>,
    drops: bool,
    sends_dummies: bool,
    is_aggressive: bool,
    answer: Answer,
}

/// A law's answer.
#[derive(Clone, Copy, Debug)]
struct Answer {
    access: backoff::Access,
    drop: Option<Probability>,
    dummy: Option<Bytes>,
    aggressiveness: Option<f64>,
}

impl Default for Answer {
    /// Not read before the law has answered.
    fn default() -> Self {
        let access = backoff::Access {
            draw: Draw::Slots { window: 31, end_included: true },
            on_failure: OnFailure::Redraw,
            when: When::BeforeFrame,
            holding: Holding::Packet,
        };
        Self { access, drop: None, dummy: None, aggressiveness: None }
    }
}

impl PythonBackoff {
    pub(super) fn new(law: &Bound<'_, PyAny>) -> PyResult<Self> {
        let scope: String = law.getattr("scope")?.extract()?;
        let scope = match scope.as_str() {
            "node" => Scope::Node,
            "category" => Scope::Category,
            "next-hop" => Scope::NextHop,
            other => {
                let message = format!("scope = \"{other}\": there are node, category, next-hop");
                return Err(PyValueError::new_err(message));
            }
        };
        let looks = !law.getattr("interval")?.is_none();
        Ok(Self {
            scope,
            interval: if looks { Some(interval(law)?) } else { None },
            drops: overrides(law, "drop_probability")?,
            sends_dummies: overrides(law, "dummy_packet")?,
            is_aggressive: overrides(law, "aggressiveness")?,
            object: Object::new(law)?,
            answer: Answer::default(),
        })
    }

    /// Tells the law of an event and asks it for its answers.
    #[inline]
    fn tell(&mut self, event: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        let (before, drops, dummies, aggressive) =
            (self.answer, self.drops, self.sends_dummies, self.is_aggressive);
        self.answer = self.object.ask(before, |law| {
            let py = law.py();
            event(law)?;
            let access = law.call_method0(intern!(py, "access"))?;
            let access = access.cast::<Access>().map_err(|_| {
                PyValueError::new_err(format!("access() gave {access}: give an evenair.Access"))
            })?;
            let drop = drops
                .then(|| probability(&law.call_method0(intern!(py, "drop_probability"))?))
                .transpose()?;
            let dummy = dummies
                .then(|| law.call_method0(intern!(py, "dummy_packet"))?.extract::<Option<u32>>())
                .transpose()?;
            let aggressiveness = aggressive
                .then(|| law.call_method0(intern!(py, "aggressiveness"))?.extract::<f64>())
                .transpose()?;
            Ok(Answer {
                access: access.get().0,
                drop,
                dummy: dummy.flatten().map(Bytes::new),
                aggressiveness,
            })
        });
    }
}

impl OwnLaw for PythonBackoff {
    fn identity(&self) -> String {
        self.object.identity()
    }
}

impl BackoffLaw for PythonBackoff {
    fn begin(&mut self, role: &backoff::LinkRole) {
        let role = LinkRole(*role);
        self.tell(|law| law.call_method1(intern!(law.py(), "begin"), (role,)).map(|_| ()));
    }

    fn scope(&self) -> Scope {
        self.scope
    }

    fn update_interval(&self) -> Option<Duration> {
        self.interval
    }

    fn on_update(&mut self, link: &backoff::LinkView) {
        let link = LinkView(*link);
        self.tell(|law| law.call_method1(intern!(law.py(), "on_update"), (link,)).map(|_| ()));
    }

    fn access(&self) -> backoff::Access {
        self.answer.access
    }

    fn drop_probability(&self) -> Option<Probability> {
        self.answer.drop
    }

    fn dummy_packet(&self) -> Option<Bytes> {
        self.answer.dummy
    }

    fn aggressiveness(&self) -> Option<f64> {
        self.answer.aggressiveness
    }
}

/// An answer taken apart.
type Parts = (&'static str, f64, bool, Option<u32>, &'static str, Option<f64>, Option<f64>);

/// A back-off law's answer, as data: which time is drawn and when, the effect of a failure, how long the medium is
/// held.
///
/// `when` is "before-frame", "after-transmission" or "after-transmission-and-before-frame". The medium is held for a
/// packet, for as many as fit into `burst_s` \[s\], or for `span_s` \[s\] in the mean. A value out of range raises a
/// `ValueError`.
#[pyclass(frozen, module = "evenair")]
pub(crate) struct Access(backoff::Access);

impl Access {
    fn of(
        draw: Draw,
        when: &str,
        on_failure: OnFailure,
        burst_s: Option<f64>,
        span_s: Option<f64>,
    ) -> PyResult<Self> {
        let when = match when {
            "before-frame" => When::BeforeFrame,
            "after-transmission" => When::AfterTransmission,
            "after-transmission-and-before-frame" => When::AfterTransmissionAndBeforeFrame,
            other => {
                let known = "before-frame, after-transmission, after-transmission-and-before-frame";
                return Err(PyValueError::new_err(format!("when = \"{other}\": there are {known}")));
            }
        };
        let holding = match (burst_s, span_s) {
            (None, None) => Holding::Packet,
            (Some(s), None) => Holding::Burst(seconds(s)?),
            (None, Some(s)) => Holding::Span(seconds(s)?),
            (Some(_), Some(_)) => return Err(PyValueError::new_err("give one of burst_s and span_s")),
        };
        Ok(Self(backoff::Access { draw, on_failure, when, holding }))
    }

    /// Its arguments.
    fn parts(&self) -> Parts {
        let backoff::Access { draw, on_failure, when, holding } = self.0;
        let (draw, value, slotted) = match draw {
            Draw::Slots { window, .. } => ("slots", f64::from(window), true),
            Draw::ExponentialOfFrame { factor, slotted } => ("frame", factor, slotted),
            Draw::ExponentialOfPacket { factor, slotted } => ("packet", factor, slotted),
            Draw::Exponential { mean, slotted } => ("second", mean.as_secs_f64(), slotted),
            Draw::Uniform { mean } => ("uniform", mean.as_secs_f64(), false),
            Draw::Fixed { mean } => ("fixed", mean.as_secs_f64(), false),
        };
        let window_max = match on_failure {
            OnFailure::Double { window_max } => Some(window_max),
            OnFailure::Redraw | OnFailure::Repeat => None,
        };
        let when = match when {
            When::BeforeFrame => "before-frame",
            When::AfterTransmission => "after-transmission",
            When::AfterTransmissionAndBeforeFrame => "after-transmission-and-before-frame",
        };
        let (burst, span) = match holding {
            Holding::Burst(time) => (Some(time.as_secs_f64()), None),
            Holding::Span(time) => (None, Some(time.as_secs_f64())),
            _ => (None, None),
        };
        (draw, value, slotted, window_max, when, burst, span)
    }

    /// A mean in airtimes.
    fn factor(factor: f64) -> PyResult<f64> {
        if (0.0..=1e12).contains(&factor) {
            Ok(factor)
        } else {
            Err(PyValueError::new_err(format!("a mean of {factor} airtimes: give a number, 0 or more")))
        }
    }
}

#[pymethods]
impl Access {
    /// A whole number of slots, uniform from 0 to `window` [slots], which doubles at each failure up to `window_max` [slots], if that is
    /// given.
    #[staticmethod]
    #[pyo3(signature = (window, window_max=None, *, when="before-frame", burst_s=None, span_s=None))]
    fn slots(
        window: u32,
        window_max: Option<u32>,
        when: &str,
        burst_s: Option<f64>,
        span_s: Option<f64>,
    ) -> PyResult<Self> {
        if window > 65_535 || window_max.is_some_and(|most| !(window..=65_535).contains(&most)) {
            let message = "window <= window_max <= 65535 has to hold [slots]";
            return Err(PyValueError::new_err(format!("{window}, {window_max:?}: {message}")));
        }
        let on_failure = window_max.map_or(OnFailure::Redraw, |window_max| OnFailure::Double { window_max });
        Self::of(Draw::Slots { window, end_included: true }, when, on_failure, burst_s, span_s)
    }

    /// Exponential with this mean, in the unit `of`: "second"; "frame", the airtime of the waiting frame; "packet", the
    /// bits of the waiting packet over its rate. In whole slots, if it is `slotted`.
    #[staticmethod]
    #[pyo3(signature = (mean, of="second", *, slotted=false, when="before-frame", burst_s=None, span_s=None))]
    fn exponential(
        mean: f64,
        of: &str,
        slotted: bool,
        when: &str,
        burst_s: Option<f64>,
        span_s: Option<f64>,
    ) -> PyResult<Self> {
        let draw = match of {
            "second" => Draw::Exponential { mean: seconds(mean)?, slotted },
            "frame" => Draw::ExponentialOfFrame { factor: Self::factor(mean)?, slotted },
            "packet" => Draw::ExponentialOfPacket { factor: Self::factor(mean)?, slotted },
            other => {
                return Err(PyValueError::new_err(format!(
                    "of = \"{other}\": there are second, frame, packet"
                )));
            }
        };
        Self::of(draw, when, OnFailure::Redraw, burst_s, span_s)
    }

    /// Uniform between zero and twice the mean, `mean_s` [s].
    #[staticmethod]
    #[pyo3(signature = (mean_s, *, when="before-frame", burst_s=None, span_s=None))]
    fn uniform(mean_s: f64, when: &str, burst_s: Option<f64>, span_s: Option<f64>) -> PyResult<Self> {
        Self::of(Draw::Uniform { mean: seconds(mean_s)? }, when, OnFailure::Redraw, burst_s, span_s)
    }

    /// Always the same, `mean_s` [s].
    #[staticmethod]
    #[pyo3(signature = (mean_s, *, when="before-frame", burst_s=None, span_s=None))]
    fn fixed(mean_s: f64, when: &str, burst_s: Option<f64>, span_s: Option<f64>) -> PyResult<Self> {
        Self::of(Draw::Fixed { mean: seconds(mean_s)? }, when, OnFailure::Redraw, burst_s, span_s)
    }

    /// The arguments that `__reduce__` gave.
    #[staticmethod]
    fn _restored(
        draw: &str,
        value: f64,
        slotted: bool,
        window_max: Option<u32>,
        when: &str,
        burst_s: Option<f64>,
        span_s: Option<f64>,
    ) -> PyResult<Self> {
        match draw {
            "slots" => Self::slots(value as u32, window_max, when, burst_s, span_s),
            "uniform" => Self::uniform(value, when, burst_s, span_s),
            "fixed" => Self::fixed(value, when, burst_s, span_s),
            of => Self::exponential(value, of, slotted, when, burst_s, span_s),
        }
    }

    /// Lets it cross to another process.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts)> {
        Ok((slf.get_type().getattr("_restored")?, slf.get().parts()))
    }

    /// It never changes: a copy is itself.
    fn __deepcopy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf.clone()
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }
}
