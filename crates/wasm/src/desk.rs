//! Requests and their answers.

use crate::describe::Description;
use crate::edit::{self, Edit};
use crate::library;
use crate::running::Running;
use evenair_results::verdict::FairRates;
use evenair_scenario::{Objective, Resolved, ScenarioError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A request: a JSON object with its name under `do`.
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

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_netsim::Network;
    use evenair_results::document::write_line;
    use evenair_results::verdict::Verdict;
    use evenair_results::{RecordOptions, RunRecord};
    use evenair_units::Duration;

    const TEXT: &str = r#"
        duration = "2 s"
        warmup = "1 s"
        radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
        nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [100, 0] }, { id = "c", at = [200, 0] }]
        flows = [{ id = "1", from = "a", to = "b" }, { id = "2", from = "c", to = "b" }]
    "#;

    fn ask(desk: &mut Desk, request: &Value) -> Value {
        serde_json::from_str(&desk.answer(&request.to_string())).unwrap()
    }

    fn opened() -> Desk {
        let mut desk = Desk::default();
        let network = ask(&mut desk, &json!({ "do": "open", "name": "test", "text": TEXT }));
        assert_eq!(network["error"], Value::Null);
        assert_eq!(network["nodes"][2], json!({ "id": "c", "at": [200.0, 0.0], "movable": true }));
        assert_eq!(network["sensed_by"][0], json!({ "decoded": [1, 2], "sensed": [] }));
        assert_eq!((&network["conflicts"], &network["hidden"]), (&json!([[0, 1]]), &json!([])));
        desk
    }

    #[test]
    fn run_in_slices_gives_document_of_whole_run() {
        let mut desk = opened();
        let start = ask(&mut desk, &json!({ "do": "start", "frames": true }));
        assert_eq!((&start["warm_ns"], &start["end_ns"]), (&json!(1_000_000_000), &json!(3_000_000_000_u64)));
        let fair = ask(&mut desk, &json!({ "do": "optimum" }))["rates_pps"].clone();
        for until_ns in (0..=3_000_000_000_u64).step_by(7_123_457).chain([3_000_000_000]) {
            ask(&mut desk, &json!({ "do": "advance", "until_ns": until_ns }));
            let live = ask(&mut desk, &json!({ "do": "live", "frames": 5 }));
            assert!(live["frames"].as_array().unwrap().len() <= 5);
            let so_far = ask(&mut desk, &json!({ "do": "so-far", "fair": fair }));
            assert_eq!(so_far["verdict"].is_null(), until_ns <= 1_000_000_000, "{until_ns}");
        }
        let document = ask(&mut desk, &json!({ "do": "result" }))["document"].clone();
        let scenario = Resolved::parse("test", TEXT, &[]).unwrap();
        let options = RecordOptions {
            every: Some(Duration::from_secs(1)),
            ledger: true,
            times: true,
            ..RecordOptions::default()
        };
        let result = Network::run(scenario.network(), options.run_spec(&scenario, 1));
        let mut record = RunRecord::new(&scenario, result, options);
        record.scenario = "test".into();
        record.verdict = Some(Verdict::of(&scenario, std::slice::from_ref(&record)));
        let mut line = Vec::new();
        write_line(&mut line, "run", &record, None).unwrap();
        assert_eq!(document.as_str().unwrap(), String::from_utf8(line).unwrap());
    }

    #[test]
    fn unreadable_text_names_line() {
        let mut desk = opened();
        let text = TEXT.replace("250 m", "250 q");
        let refused = ask(&mut desk, &json!({ "do": "open", "name": "test", "text": text }));
        assert_eq!(refused["error"]["at"][0], json!(4));
        assert_eq!(refused["error"]["key"], json!("radio.transmission_range"));
        assert_eq!(ask(&mut desk, &json!({ "do": "start", "frames": false }))["error"], Value::Null);
        let early = ask(&mut desk, &json!({ "do": "result" }));
        assert!(early["error"]["message"].as_str().unwrap().contains("not ended"));
        assert!(desk.answer("no json").contains("cannot read the request"));
    }
}
