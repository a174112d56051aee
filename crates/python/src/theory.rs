//! The theory's answers, as tables.

use crate::scenario::Scenario;
use crate::session::conduct;
use crate::table::Table;
use crate::utility::OwnUtility;
use evenair_scenario::{Objective, Question, Region, Resolved, Solver};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use std::collections::HashMap;

/// Tables by name.
pub(crate) type Tables = HashMap<&'static str, Table>;

/// A serialisable value as Python's dictionaries and lists.
pub(crate) fn dictionary<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.import("json")?.getattr("loads")?.call1((text,))
}

/// The theory has no answer: `evenair.TheoryError`.
fn failure(error: impl ToString) -> PyErr {
    let message = error.to_string();
    Python::attach(|py| {
        let make = || py.import("evenair._errors")?.getattr("TheoryError")?.call1((message,));
        make().map_or_else(|e| e, PyErr::from_value)
    })
}

fn unknown(what: &str, value: &str, known: &str) -> PyErr {
    PyValueError::new_err(format!("{what} = \"{value}\": there are {known}"))
}

fn objective_of(word: &str, alpha: Option<f64>) -> PyResult<Objective> {
    Ok(match word {
        "fair" => Objective::Fair,
        "fixed-point" => Objective::FixedPoint,
        "proportional" => Objective::Proportional,
        "alpha-fair" => Objective::AlphaFair(alpha.unwrap_or(2.0)),
        "utility" => Objective::Utility,
        "max-min" => Objective::MaxMin,
        other => {
            let known = "fair, fixed-point, proportional, alpha-fair, utility, max-min";
            return Err(unknown("objective", other, known));
        }
    })
}

fn region_of(word: &str) -> PyResult<Region> {
    Ok(match word {
        "exact" => Region::Exact,
        "cliques" => Region::Cliques,
        "collision-domains" => Region::CollisionDomains,
        other => return Err(unknown("region", other, "exact, cliques, collision-domains")),
    })
}

fn solver_of(word: &str) -> PyResult<Solver> {
    Ok(match word {
        "own" => Solver::Own,
        "clarabel" => Solver::Clarabel,
        other => return Err(unknown("solver", other, "own, clarabel")),
    })
}

/// The problem for the theory; without an objective the scenario's own.
#[derive(FromPyObject)]
pub(crate) struct Asked {
    #[pyo3(item)]
    objective: Option<String>,
    #[pyo3(item)]
    alpha: Option<f64>,
    #[pyo3(item)]
    region: String,
    #[pyo3(item)]
    solver: String,
    #[pyo3(item)]
    beta: Option<f64>,
}

impl Asked {
    fn question(&self, scenario: &Resolved) -> PyResult<Question> {
        if self.alpha.is_some() && self.objective.as_deref() != Some("alpha-fair") {
            let why = "alpha is for objective = \"alpha-fair\": name that, or leave alpha out";
            return Err(PyValueError::new_err(why));
        }
        let objective = self.objective.as_deref().map(|word| objective_of(word, self.alpha)).transpose()?;
        Ok(Question {
            objective: objective.unwrap_or_else(|| scenario.objective()),
            region: region_of(&self.region)?,
            solver: solver_of(&self.solver)?,
            beta: self.beta,
        })
    }
}

/// The best allocation: tables of flows, links and sets, and what is known of them. `utility` of a flow's name and a rate, and its
/// derivative, `marginal`, take the place of the objective.
#[pyfunction]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    asked: Asked,
    utility: Option<Py<PyAny>>,
    marginal: Option<Py<PyAny>>,
) -> PyResult<(Tables, Bound<'py, PyDict>)> {
    let question = asked.question(&scenario.resolved)?;
    let resolved = scenario.resolved.clone();
    let own = utility.map(|utility| OwnUtility::of(py, utility, marginal));
    let optimum = conduct(py, None, None, move |session| {
        match own {
            Some(own) => resolved.answer_of_ones_own(own, question, &session.stop),
            None => resolved.answer_unless(question, &session.stop),
        }
        .map_err(failure)
    })?;
    let facts = PyDict::new(py);
    facts.set_item("objective", optimum.value.map(|(value, _)| value))?;
    facts.set_item("bound", optimum.value.map(|(_, bound)| bound))?;
    facts.set_item("solver", if optimum.by_clarabel { "clarabel" } else { "own" })?;
    facts.set_item("residual", optimum.residuals.map(|r| r.worst()))?;
    Ok((tables(evenair_results::tables::optimum(&optimum))?, facts))
}

/// Tables as files have them.
fn tables(all: Vec<(&'static str, evenair_results::tables::Table<impl Into<String>>)>) -> PyResult<Tables> {
    all.into_iter().map(|(name, table)| Ok((name, Table::new(table)?))).collect()
}

/// The fluid model's trajectory and rest.
#[pyfunction]
pub(crate) fn fluid<'py>(py: Python<'py>, scenario: &Scenario) -> PyResult<(Tables, Bound<'py, PyDict>)> {
    let resolved = scenario.resolved.clone();
    let run = conduct(py, None, None, move |session| resolved.fluid_unless(&session.stop).map_err(failure))?;
    let facts = PyDict::new(py);
    facts.set_item("has_settled", run.has_settled)?;
    facts.set_item("warning", run.warning())?;
    facts.set_item("steps", run.steps)?;
    facts.set_item("corners", run.corners.len())?;
    let carried = run.overloaded.is_empty();
    facts.set_item("is_stable", run.rest.as_ref().map(|(rest, _)| carried && rest.is_stable()))?;
    facts.set_item("eigenvalues", run.rest.as_ref().map(|(rest, _)| rest.eigenvalues.clone()))?;
    Ok((tables(evenair_results::tables::fluid(&run))?, facts))
}

/// Each flow's rate in each world in turn.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    seeds: u32,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Tables, Bound<'py, PyDict>)> {
    let resolved = scenario.resolved.clone();
    let threads = scenario.calls_python.then_some(1);
    let comparison = conduct(py, threads, progress.as_ref(), move |session| {
        evenair_study::compare(&resolved, seeds, &session.stop, session).map_err(failure)
    })?;
    let facts = PyDict::new(py);
    facts.set_item("notes", &comparison.notes)?;
    facts.set_item("senders_time", comparison.senders_time.clone())?;
    Ok((tables(evenair_results::tables::comparison(&comparison))?, facts))
}
