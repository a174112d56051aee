//! Requests and their answers.

use crate::describe::Description;
use crate::edit::{self, Edit};
use crate::library;
use crate::running::Running;
use evenair_results::verdict::FairRates;
use evenair_scenario::{Objective, Resolved, ScenarioError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request: a JSON object whose `do` names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Request {
    /// Lists the scenarios to begin with, all that are built in, and the laws.
    Library,
    /// Returns the text of a scenario by its id.
    Scenario {
        /// The id, such as `chen10/a`.
        id: String,
    },
    /// Reads a scenario, and describes it; later requests are about it, if it can be read.
    Open {
        /// Its name in results and errors.
        name: String,
        /// Its text.
        text: String,
    },
    /// Writes changes into a scenario's text.
    Edit {
        /// The text.
        text: String,
        /// The changes, one after the other.
        edits: Vec<Edit>,
    },
    /// Returns the open scenario with every default written out.
    WriteOut,
    /// Solves for the open scenario's best allocation.
    Optimum,
    /// Starts a run of the open scenario.
    Start {
        /// The seed; the scenario's own, if none is given.
        seed: Option<u64>,
        /// Whether frames are kept for the timeline.
        frames: bool,
    },
    /// Goes on with the run to an instant of simulated time, its end at most.
    Advance {
        /// The instant \[ns\].
        until_ns: u64,
    },
    /// Returns the present state of the run, with the newest frames since it was last asked for.
    Live {
        /// How many frames at most.
        frames: usize,
    },
    /// Returns the results so far, as a document has them, and, beside the fair rates, the verdict on them.
    SoFar {
        /// The flows' rates in the fair optimum, if they are known \[packets/s\].
        fair: Option<Vec<f64>>,
        /// Why they are missing, if they are not awaited.
        without_fair: Option<String>,
    },
    /// Returns the document of the finished run, byte by byte that of `evenair run --json`.
    Result,
}

/// A request that could not be answered.
#[derive(Debug, Serialize)]
pub(crate) struct Refusal {
    /// The cause and the remedy.
    message: String,
    /// Line and column in the scenario's text, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<(usize, usize)>,
    /// The key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self { message, at: None, key: None }
    }
}

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Self {
        let key = error.key.as_ref().map(ToString::to_string).filter(|key| !key.is_empty());
        Self { message: error.to_string(), at: error.at, key }
    }
}

/// The open scenario and its run.
#[derive(Debug, Default)]
pub struct Desk {
    open: Option<(String, Resolved)>,
    running: Option<Running>,
}

impl Desk {
    /// Answers a request with a JSON object; `{"error": {"message", "at", "key"}}`, where it cannot.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = serde_json::from_str(request)
            .map_err(|fault| Refusal::from(format!("cannot read the request: {fault}")))
            .and_then(|request| self.handle(request));
        answer.unwrap_or_else(|refusal| json!({ "error": refusal })).to_string()
    }

    fn handle(&mut self, request: Request) -> Result<Value, Refusal> {
        match request {
            Request::Library => Ok(library::listed()),
            Request::Scenario { id } => {
                let text = library::text(&id).ok_or_else(|| format!("there is no built-in scenario {id}"))?;
                Ok(json!({ "text": text }))
            }
            Request::Open { name, text } => self.read(name, &text),
            Request::Edit { text, edits } => Ok(json!({ "text": edit::edited(&text, &edits)? })),
            Request::WriteOut => {
                let text = self.scenario()?.1.to_toml().map_err(|fault| fault.to_string())?;
                Ok(json!({ "text": text }))
            }
            Request::Optimum => self.optimum(),
            Request::Start { seed, frames } => {
                let (name, scenario) = self.scenario()?;
                let running = Running::start(name, scenario, seed, frames);
                let start = running.as_json();
                self.running = Some(running);
                Ok(start)
            }
            Request::Advance { until_ns } => Ok(json!({ "now_ns": self.running()?.advance(until_ns) })),
            Request::Live { frames } => Ok(self.running()?.live(frames)),
            Request::SoFar { fair, without_fair } => {
                let (_, scenario) = self.open.as_ref().ok_or_else(nothing_open)?;
                let running = self.running.as_ref().ok_or_else(nothing_runs)?;
                let fair = fair.map(Ok).or(without_fair.map(Err)).map(FairRates::known);
                Ok(running.so_far(scenario, fair.as_ref()))
            }
            Request::Result => {
                let (_, scenario) = self.open.as_ref().ok_or_else(nothing_open)?;
                let running = self.running.as_ref().ok_or_else(nothing_runs)?;
                Ok(json!({ "document": running.document(scenario)? }))
            }
        }
    }

    fn read(&mut self, name: String, text: &str) -> Result<Value, Refusal> {
        let scenario = Resolved::parse_network(&name, text, &[])?;
        let description = Description::of(&scenario, text);
        self.running = None;
        self.open = Some((name, scenario));
        serde_json::to_value(description).map_err(|fault| fault.to_string().into())
    }

    fn optimum(&self) -> Result<Value, Refusal> {
        let (_, scenario) = self.scenario()?;
        let optimum = scenario.optimum(Objective::Fair).map_err(|failure| failure.to_string())?;
        Ok(json!({ "rates_pps": optimum.rates_pps }))
    }

    fn scenario(&self) -> Result<&(String, Resolved), Refusal> {
        self.open.as_ref().ok_or_else(nothing_open)
    }

    fn running(&mut self) -> Result<&mut Running, Refusal> {
        self.running.as_mut().ok_or_else(nothing_runs)
    }
}

fn nothing_open() -> Refusal {
    String::from("no scenario is open: open one first").into()
}

fn nothing_runs() -> Refusal {
    String::from("nothing runs: start a run first").into()
}
