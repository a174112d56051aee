//! `evenair._evenair`: the core of the Python package. `python/evenair` is its users' interface.
//!
//! The package reads Python's objects and draws; scenarios, runs, theory and laws are here, as few plain functions and classes.
#![cfg(feature = "module")]
#![allow(clippy::needless_pass_by_value, reason = "what Python hands over is owned")]

mod environment;
mod law;
mod run;
mod scenario;
mod session;
mod table;
mod theory;
mod utility;

use pyo3::prelude::*;

#[pymodule]
mod _evenair {
    #[pymodule_export]
    use crate::environment::Environment;
    #[pymodule_export]
    use crate::law::views::{
        Acked, ClassRole, ClassView, Delivery, FlowRole, FlowView, FrameStatus, FrameView, GatewayRole,
        GatewayView, LinkRole, LinkView, Loss, QueueRole, QueueView, RateRole, WindowStart,
    };
    #[pymodule_export]
    use crate::law::{Access, check_law, gives_one_rate};
    #[pymodule_export]
    use crate::run::{Records, StudyFacts, run, study, sweep, tables, verdict};
    #[pymodule_export]
    use crate::scenario::{Scenario, scenario_ids, scenario_text, schema, study_ids};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::theory::{ComparisonFacts, FluidFacts, SolutionFacts, compare, fluid, solve};

    use super::{Bound, PyAny, PyResult, pyfunction};
    use crate::law::own;

    /// Half of the 95 % interval of the mean of values, by Student's t as reports have it; None of a single value.
    #[pyfunction]
    fn half_width(values: Vec<f64>) -> Option<f64> {
        evenair_results::Estimate::from_samples(&values).half_width
    }

    /// Names the file that holds this module: it is part of the key of stored runs.
    #[pyfunction]
    fn program_is(file: std::path::PathBuf) {
        evenair_results::program_is(Some(env!("EVENAIR_COMMIT")), Some(file));
    }

    /// The version of evenair.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }

    /// A time in words, such as "10 ms", in seconds.
    #[pyfunction]
    fn seconds(words: &Bound<'_, PyAny>) -> PyResult<f64> {
        own::time(words).map(evenair_units::Duration::as_secs_f64)
    }
}
