//! Runs and studies.

use crate::scenario::Scenario;
use crate::session::conduct;
use crate::table::Table;
use crate::theory::{Tables, dictionary};
use evenair_results::tables::{Column, Group};
use evenair_results::verdict::Verdict;
use evenair_results::{RecordOptions, RunRecord};
use evenair_study::chart::Figures;
use evenair_study::{Aside, Outcome, SEEDS_MAX, Study, StudyError, Sweep, SweepError, html};
use evenair_units::{Duration, Instant, plain_message};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::path::PathBuf;

/// The results kept of some runs of one scenario.
#[pyclass(frozen, module = "evenair._evenair")]
pub(crate) struct Records(Vec<RunRecord>);

#[pymethods]
impl Records {
    /// The bytes that `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        serde_json::from_slice(bytes)
            .map(Self)
            .map_err(|e| PyValueError::new_err(plain_message(&e.to_string())))
    }

    /// All of it, exactly: to be sent to another process, or kept.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let text = serde_json::to_vec(&self.0).map_err(|e| PyValueError::new_err(e.to_string()))?;
        Ok(PyBytes::new(py, &text))
    }

    /// The same as dictionaries and lists, one of them per run.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.0)
    }

    /// The seeds, in order.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.iter().map(|run| run.seed).collect()
    }

    /// How many events were handled in all.
    #[getter]
    fn events(&self) -> u64 {
        self.0.iter().map(|run| run.events).sum()
    }

    /// These and others.
    fn with_more(&self, more: &Self) -> Self {
        Self(self.0.iter().chain(&more.0).cloned().collect())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let py = slf.py();
        Ok((slf.get_type().getattr("from_bytes")?, (slf.get().to_bytes(py)?,)))
    }
}

/// Runs a scenario with seeds from the scenario's own on, or from `seed` on.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the package names them for the user")]
pub(crate) fn run<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    seed: Option<u64>,
    seeds: u32,
    precision: Option<f64>,
    series: bool,
    every_s: f64,
    ledger: bool,
    timeline_s: Option<(f64, f64)>,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Records> {
    let options = options(series, every_s, ledger, timeline_s)?;
    let mut resolved = scenario.resolved.clone();
    if let Some(seed) = seed {
        let mut other = resolved.written_out();
        other.seed = seed;
        resolved = other.resolve().map_err(|e| crate::scenario::raised(py, &e))?;
    }
    let sweep = prepared(Sweep::of_scenario(resolved, seeds, options), precision)?;
    let threads = threads.or(scenario.calls_python.then_some(1));
    conduct(py, threads, progress.as_ref(), move |session| {
        sweep.run_in_memory(&Aside::default(), &session.stop, session).map(Records).map_err(failed)
    })
}

/// The results kept of runs.
fn options(
    series: bool,
    every_s: f64,
    ledger: bool,
    timeline_s: Option<(f64, f64)>,
) -> PyResult<RecordOptions> {
    if !(every_s >= 1e-6 && every_s.is_finite()) {
        return Err(PyValueError::new_err(format!("every = {every_s} s: sample at most once a microsecond")));
    }
    let at = |s: f64| Instant::ZERO + Duration::from_secs_f64(s);
    Ok(RecordOptions {
        series,
        every: Some(Duration::from_secs_f64(every_s)),
        ledger,
        times: true,
        histograms: true,
        timeline: timeline_s.map(|(from, to)| (at(from), at(to))),
    })
}

/// The seeds and the precision that a sweep is asked for.
fn prepared(mut sweep: Sweep, precision: Option<f64>) -> PyResult<Sweep> {
    if sweep.seeds == 0 {
        return Err(PyValueError::new_err("seeds = 0: give 1 at least"));
    }
    if let Some(precision) = precision {
        if !(precision > 0.0 && precision < 1.0) {
            return Err(PyValueError::new_err(format!("precision = {precision}: give a share below 1")));
        }
        sweep.set_precision(precision, SEEDS_MAX);
    }
    Ok(sweep)
}

/// Runs several scenarios, each with a name, with several seeds, and keeps finished runs in a folder.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the package names them for the user")]
pub(crate) fn sweep<'py>(
    py: Python<'py>,
    points: Vec<(String, PyRef<'_, Scenario>)>,
    seeds: u32,
    precision: Option<f64>,
    series: bool,
    every_s: f64,
    ledger: bool,
    timeline_s: Option<(f64, f64)>,
    folder: PathBuf,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Vec<Records>> {
    let threads = threads.or(points.iter().any(|(_, point)| point.calls_python).then_some(1));
    let scenarios = points.iter().map(|(name, point)| (name.clone(), point.resolved.clone()));
    let sweep = Sweep::of_scenarios(scenarios, seeds, options(series, every_s, ledger, timeline_s)?);
    let sweep = prepared(sweep, precision)?;
    conduct(py, threads, progress.as_ref(), move |session| {
        let runs = sweep.run(&folder, &session.stop, session).map_err(failed)?;
        Ok(runs.into_iter().map(Records).collect())
    })
}

/// Which flows of a scenario's runs starve, why, and which settings to try: as `evenair run --json` has it.
#[pyfunction]
pub(crate) fn verdict<'py>(
    py: Python<'py>,
    scenario: &Scenario,
    records: &Records,
) -> PyResult<Bound<'py, PyAny>> {
    dictionary(py, &Verdict::of(&scenario.resolved, &records.0))
}

/// A column of the variants: its name, and by variant its value, in words and as a number.
type Key = (String, Vec<(String, (String, Option<f64>))>);

/// The tables of groups of runs: id of the variant, its value of a parameter, its runs; `keys` become columns after the variant.
#[pyfunction]
pub(crate) fn tables(
    groups: Vec<(String, Option<f64>, PyRef<'_, Records>)>,
    keys: Vec<Key>,
) -> PyResult<Tables> {
    let groups: Vec<Group<'_>> =
        groups.iter().map(|(variant, x, records)| Group { variant, x: *x, runs: &records.0 }).collect();
    let tables = evenair_results::tables::all(&groups).into_iter();
    tables.map(|(name, table)| Ok((name, Table::new(with_keys(table, &keys))?))).collect()
}

/// A table with a column for each key, numbers where all of it are.
fn with_keys(table: evenair_results::tables::Table, keys: &[Key]) -> Vec<(String, Column)> {
    let variants = match table.first() {
        Some(("variant", Column::Text(variants))) => variants.clone(),
        _ => Vec::new(),
    };
    let column = |(name, values): &Key| {
        let values: HashMap<&String, &(String, Option<f64>)> =
            values.iter().map(|(of, value)| (of, value)).collect();
        let of = |variant: &String| values.get(variant).copied().cloned().unwrap_or_default();
        let column = if values.values().all(|(_, number)| number.is_some()) {
            Column::Optional(variants.iter().map(|variant| of(variant).1).collect())
        } else {
            Column::Text(variants.iter().map(|variant| of(variant).0).collect())
        };
        (name.clone(), column)
    };
    let mut columns: Vec<(String, Column)> =
        table.into_iter().map(|(name, column)| (name.to_string(), column)).collect();
    if !columns.is_empty() {
        columns.splice(1..1, keys.iter().map(column));
    }
    columns
}

/// A study's metadata and findings.
#[pyclass(frozen, get_all, module = "evenair._evenair")]
pub(crate) struct StudyFacts {
    id: String,
    title: String,
    source: String,
    about: String,
    labels: Vec<(String, String)>,
    result: Py<PyAny>,
    report: String,
}

/// Conducts a study and keeps finished runs in a folder: tables, findings, and its report.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the package names them for the user")]
pub(crate) fn study<'py>(
    py: Python<'py>,
    name: String,
    folder: PathBuf,
    quick: bool,
    changes: Vec<String>,
    seeds: Option<u32>,
    variants: Vec<String>,
    precision: Option<f64>,
    threads: Option<usize>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Tables, StudyFacts)> {
    let path = PathBuf::from(&name);
    let study = if path.is_file() { Study::load(&path) } else { Study::builtin(&name) };
    let mut study = study.map_err(|e| misread(py, &e))?;
    if let Some(seeds) = seeds {
        (study.seeds, study.quick.seeds) = (seeds, seeds);
    }
    if !variants.is_empty() {
        study.keep(&variants).map_err(|e| misread(py, &e))?;
    }
    study.change(changes).map_err(|e| misread(py, &e))?;
    let mut sweep = Sweep::new(&study, quick).map_err(failed)?;
    if let Some(precision) = precision {
        sweep.set_precision(precision, study.seeds_max);
    }
    let outcome = conduct(py, threads, progress.as_ref(), move |session| {
        let runs = sweep.run(&folder, &session.stop, session).map_err(failed)?;
        Ok(Outcome::new(study, &sweep, runs))
    })?;
    let mut tables = evenair_results::tables::all(&outcome.groups());
    tables.push(("claims", evenair_study::tables::claims(&outcome.claims)));
    tables.push(("table", evenair_study::tables::summary(&outcome)));
    let tables = tables.into_iter().map(|(name, table)| Ok((name, Table::new(table)?)));
    let facts = StudyFacts {
        id: outcome.study.id.clone(),
        title: outcome.study.title.clone(),
        source: outcome.study.source.clone(),
        about: outcome.study.about.clone(),
        labels: outcome.shape().map(|(v, _)| (v.to_string(), outcome.label(v))).collect(),
        result: dictionary(py, &evenair_study::document::StudyDocument::of(&outcome))?.unbind(),
        report: html::report(&outcome, &Figures::of(&outcome), &format!("evenair.study({name:?})")),
    };
    Ok((tables.collect::<PyResult<_>>()?, facts))
}

fn misread(py: Python<'_>, error: &StudyError) -> PyErr {
    let make = || py.import("evenair._errors")?.getattr("StudyError")?.call1((error.to_string(),));
    make().map_or_else(|e| e, PyErr::from_value)
}

/// The exception of a sweep that ended early.
fn failed(error: SweepError) -> PyErr {
    let message = error.to_string();
    match error {
        SweepError::Stopped { .. } => PyKeyboardInterrupt::new_err(message),
        SweepError::Scenario(_) => PyValueError::new_err(message),
        SweepError::Io(..) => PyOSError::new_err(message),
    }
}
