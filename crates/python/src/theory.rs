//! The theory's answers, as tables.

use crate::scenario::Scenario;
use crate::session::conduct;
use crate::table::Table;
use crate::utility::OwnUtility;
use evenair_scenario::{Objective, Question, Region, Resolved, Solver};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

/// Tables with their names, in the order in which they are shown.
pub(crate) type Tables = Vec<(&'static str, Table)>;

/// The facts of a best allocation.
#[pyclass(frozen, get_all, module = "evenair._evenair")]
pub(crate) struct SolutionFacts {
    objective: Option<f64>,
    bound: Option<f64>,
    solver: &'static str,
    residual: Option<f64>,
}

/// The facts of a fluid model's run.
#[pyclass(frozen, get_all, module = "evenair._evenair")]
pub(crate) struct FluidFacts {
    has_settled: bool,
    warning: Option<String>,
    lacks: Option<String>,
    steps: u64,
    corners: usize,
    is_stable: Option<bool>,
    eigenvalues: Option<Vec<(f64, f64)>>,
}

/// The facts of a comparison.
#[pyclass(frozen, get_all, module = "evenair._evenair")]
pub(crate) struct ComparisonFacts {
    notes: Vec<String>,
    senders_time: Vec<(&'static str, f64)>,
}

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

/// The best allocation: tables of flows, links and sets, and its facts. `utility` of a flow's name and a rate, and its
/// derivative, `marginal`, take the place of the objective.
#[pyfunction]
pub(crate) fn solve(
    py: Python<'_>,
    scenario: &Scenario,
    asked: Asked,
    utility: Option<Py<PyAny>>,
    marginal: Option<Py<PyAny>>,
) -> PyResult<(Tables, SolutionFacts)> {
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
    let facts = SolutionFacts {
        objective: optimum.value.map(|(value, _)| value),
        bound: optimum.value.map(|(_, bound)| bound),
        solver: if optimum.by_clarabel { "clarabel" } else { "own" },
        residual: optimum.residuals.map(|r| r.worst()),
    };
    Ok((tables(evenair_results::tables::optimum(&optimum))?, facts))
}

/// Tables as files have them.
fn tables(all: Vec<(&'static str, evenair_results::tables::Table<impl Into<String>>)>) -> PyResult<Tables> {
    all.into_iter().map(|(name, table)| Ok((name, Table::new(table)?))).collect()
}

/// The fluid model's trajectory and rest.
#[pyfunction]
pub(crate) fn fluid(py: Python<'_>, scenario: &Scenario) -> PyResult<(Tables, FluidFacts)> {
    let resolved = scenario.resolved.clone();
    let run = conduct(py, None, None, move |session| resolved.fluid_unless(&session.stop).map_err(failure))?;
    let carried = run.overloaded.is_empty();
    let facts = FluidFacts {
        has_settled: run.has_settled,
        warning: run.warning(),
        lacks: run.lacks.clone(),
        steps: run.steps,
        corners: run.corners.len(),
        is_stable: run.rest.as_ref().map(|(rest, _)| carried && rest.is_stable()),
        eigenvalues: run.rest.as_ref().map(|(rest, _)| rest.eigenvalues.clone()),
    };
    Ok((tables(evenair_results::tables::fluid(&run))?, facts))
}

/// Each flow's rate in each world in turn.
#[pyfunction]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    seeds: u32,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Tables, ComparisonFacts)> {
    let resolved = scenario.resolved.clone();
    let threads = scenario.calls_python.then_some(1);
    let comparison = conduct(py, threads, progress.as_ref(), move |session| {
        evenair_study::compare(&resolved, seeds, None, &session.stop, session).map_err(failure)
    })?;
    let tables = tables(evenair_results::tables::comparison(&comparison))?;
    Ok((tables, ComparisonFacts { notes: comparison.notes, senders_time: comparison.senders_time }))
}
