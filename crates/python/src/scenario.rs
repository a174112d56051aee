//! Scenarios: read, changed, laws of a user's own put in.

use crate::law::Laws;
use crate::session::guard;
use crate::theory::dictionary;
use evenair_scenario::{Resolved, ScenarioError};
use pyo3::prelude::*;
use std::path::Path;

/// A scenario with nothing left open.
#[pyclass(frozen, module = "evenair._evenair")]
pub(crate) struct Scenario {
    pub(crate) resolved: Resolved,
    /// Whether a law of it is called in Python.
    pub(crate) calls_python: bool,
}

#[pymethods]
impl Scenario {
    /// A scenario of its text, with `changes` of the form key=value applied, then `laws` put in their places; `file` names it in
    /// errors, and `has_lines` says whether its user knows its lines.
    #[new]
    fn new(
        py: Python<'_>,
        file: &str,
        text: &str,
        has_lines: bool,
        changes: Vec<String>,
        laws: Vec<(String, Bound<'_, PyAny>)>,
    ) -> PyResult<Self> {
        guard(|| {
            let resolved = Resolved::parse(file, text, &changes).map_err(|mut e| {
                // A change made here has no line in a file and is no option of a command.
                e.at = e.at.filter(|_| has_lines && e.change.is_none());
                (e.file, e.change) = (file.into(), None);
                raised(py, &e)
            })?;
            let calls_python = !laws.is_empty();
            if !calls_python {
                return Ok(Self { resolved, calls_python });
            }
            let mut scenario = resolved.written_out();
            let laws = Laws::new(laws)?;
            laws.put_in(&mut scenario)?;
            let resolved = scenario.resolve();
            let resolved = resolved.map_err(|e| raised(py, &ScenarioError { file: file.into(), ..e }))?;
            Ok(Self { resolved, calls_python })
        })
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.resolved.settings().name
    }

    /// Its description.
    #[getter]
    fn description(&self) -> &str {
        &self.resolved.settings().description
    }

    /// The seed that it begins with.
    #[getter]
    fn seed(&self) -> u64 {
        self.resolved.settings().seed
    }

    /// Every setting, by key.
    fn settings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dictionary(py, &self.resolved)
    }

    /// Every setting, as TOML.
    fn to_toml(&self) -> PyResult<String> {
        self.resolved.to_toml().map_err(|e| pyo3::exceptions::PyRuntimeError::new_err(e.to_string()))
    }

    /// The settings that are allowed and hardly meant.
    fn warnings(&self) -> Vec<String> {
        self.resolved.warnings()
    }

    /// The nodes with their positions [m], where they have any.
    fn nodes(&self) -> Vec<(String, Option<(f64, f64)>)> {
        let places = self.resolved.layout().positions.as_ref();
        let place = |i: usize| places.and_then(|places| places[i]).map(|p| (p.x_m, p.y_m));
        self.resolved.network().nodes.iter().enumerate().map(|(i, name)| (name.clone(), place(i))).collect()
    }

    /// Transmission and carrier-sense range [m], if ranges decide on reception.
    fn ranges_m(&self) -> Option<(f64, f64)> {
        self.resolved.layout().ranges_m
    }

    /// The links of the air that carry data: name, sender, receiver.
    fn links(&self) -> Vec<(String, String, String)> {
        let name = |node: u32| self.resolved.network().name(node).to_string();
        let links = self.resolved.layout().links.iter();
        links.map(|(id, link)| (id.clone(), name(link.from), name(link.to))).collect()
    }

    /// Pairs of links that may not transmit at once.
    fn conflicts(&self) -> Vec<(String, String)> {
        let layout = self.resolved.layout();
        let name = |l: usize| layout.links[l].0.clone();
        layout.conflicts.edges().map(|(l, m)| (name(l), name(m))).collect()
    }

    /// The flows with the nodes on their ways.
    fn flows(&self) -> Vec<(String, Vec<String>)> {
        let network = self.resolved.network();
        let way = |path: &[u32]| path.iter().map(|&n| network.name(n).to_string()).collect();
        network.flows.iter().map(|flow| (flow.name.clone(), way(&flow.path))).collect()
    }

    /// Its map for a notebook, or its conflict graph where nodes have no positions.
    fn map_svg(&self) -> String {
        evenair_study::figure::map(&self.resolved).svg_in_text(520.0)
    }

    /// Whether a law of it is called in Python.
    #[getter]
    fn calls_python(&self) -> bool {
        self.calls_python
    }
}

/// The text of a scenario and the name by which errors are to call it: a file's, or a built-in one's.
#[pyfunction]
pub(crate) fn scenario_text(py: Python<'_>, name: &str) -> PyResult<(String, String)> {
    let file = Path::new(name);
    if file.is_file() {
        return Ok((name.into(), std::fs::read_to_string(file)?));
    }
    if let Some(text) = evenair_study::builtin_scenario(name) {
        return Ok((format!("{name}.toml"), text.into()));
    }
    // Its message suggests a name.
    match evenair_study::scenario(name, Some(Path::new("")), &[]) {
        Err(error) => Err(raised(py, &error)),
        Ok(_) => unreachable!("neither a file nor built in"),
    }
}

/// The ids of the built-in scenarios, such as "chen10/a".
#[pyfunction]
pub(crate) fn scenario_ids() -> Vec<&'static str> {
    evenair_study::scenario_ids().collect()
}

/// The ids of the built-in studies, such as "chen10/table-6-1".
#[pyfunction]
pub(crate) fn study_ids() -> Vec<&'static str> {
    evenair_study::study_ids().collect()
}

/// The JSON Schema of a language, "scenario" or "study", or of output, "result"; of anything else a `ValueError`.
#[pyfunction]
#[pyo3(signature = (of = "scenario") -> "dict[str, Any]")]
pub(crate) fn schema<'py>(py: Python<'py>, of: &str) -> PyResult<Bound<'py, PyAny>> {
    let schema = match of {
        "scenario" => evenair_scenario::schema(),
        "study" => evenair_study::schema(),
        "result" => evenair_study::document::schema(),
        other => {
            let message = format!("of = \"{other}\": there are scenario, study, result");
            return Err(pyo3::exceptions::PyValueError::new_err(message));
        }
    };
    dictionary(py, &schema)
}

/// The exception of a scenario's mistake.
pub(crate) fn raised(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let (line, column) = error.at.unzip();
    let key = error.key.as_ref().map(ToString::to_string);
    let make = || {
        let class = py.import("evenair._errors")?.getattr("ScenarioError")?;
        class.call1((error.to_string(), &error.file, line, column, key, &error.message))
    };
    make().map_or_else(|e| e, PyErr::from_value)
}
