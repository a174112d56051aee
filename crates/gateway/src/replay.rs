//! Replays a record, with its own law or with another.

use crate::Side;
use crate::record::{Heard, Line, SCHEMA, What};
use evenair_laws::Parameters;
use evenair_laws::gateway::{Allocation, AnyGateway, GatewayAnswer, GatewayParams};
use evenair_laws::tape::Taped;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One replayed answer, beside the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The time \[ms since 1970\].
    pub at_ms: u64,
    /// The recorded allocation.
    pub recorded: Allocation,
    /// The allocation of the replaying law.
    pub replayed: Allocation,
    /// Whether the whole answer is the same to the last bit.
    pub is_same: bool,
}

/// A law that replays a record, line by line.
#[derive(Clone, Debug)]
pub struct Replay {
    other: Option<GatewayParams>,
    law: Option<AnyGateway>,
    recorded: Option<GatewayParams>,
    classes: Vec<(String, Side)>,
}

impl Replay {
    /// Creates a replay by another law, or by the recorded one.
    pub const fn new(other: Option<GatewayParams>) -> Self {
        Self { other, law: None, recorded: None, classes: Vec::new() }
    }

    /// Replays one line; returns the law's answer, if the line is a call of the law.
    ///
    /// # Errors
    /// If the record does not begin with its law, or has another version. Also if it holds a state or
    /// an input that is impossible for the law, because the file was changed.
    pub fn hear(&mut self, line: &Line) -> Result<Option<Answer>, String> {
        if line.schema != SCHEMA {
            return Err(format!("a line of form {}, this program reads form {SCHEMA}", line.schema));
        }
        match &line.what {
            What::Begin { law, state, role, classes } => {
                // If the recorded law continues in another file, so does the replaying one.
                let goes_on = self.recorded.as_ref() == Some(law) && self.classes == *classes;
                match &self.other {
                    Some(_) if goes_on => (),
                    Some(other) => self.law = Some(other.begin(role)),
                    None => self.law = Some(state.clone()),
                }
                self.recorded = Some(law.clone());
                self.classes.clone_from(classes);
                Ok(None)
            }
            What::Heard(heard) => self.answer(line.at_ms, heard).map(Some),
            What::Event(_) => Ok(None),
        }
    }

    fn answer(&mut self, at_ms: u64, heard: &Heard) -> Result<Answer, String> {
        let law = self.law.as_mut().ok_or("the record does not begin with its law (\"begin\")")?;
        // A law's assertions guard against its own mistakes; a changed file may violate them too. After
        // a panic the law is not called again.
        let told = catch_unwind(AssertUnwindSafe(|| GatewayParams::tell(law, &heard.told)));
        let answer =
            told.map_err(|_| "the law's state and its inputs do not match: the record was changed")?;
        if let Some(classes) = &heard.classes {
            self.classes.clone_from(classes);
        }
        // `Debug` prints any two different numbers differently.
        let is_same = format!("{answer:?}") == format!("{:?}", heard.answer);
        let [recorded, replayed] = [&heard.answer, &answer].map(given);
        Ok(Answer { at_ms, recorded, replayed, is_same })
    }

    /// Returns subscriber and direction of each class, in the order of the rates.
    pub fn classes(&self) -> &[(String, Side)] {
        &self.classes
    }
}

/// Returns the rates of an answer.
fn given(answer: &GatewayAnswer) -> Allocation {
    answer
        .on_epoch
        .as_ref()
        .or(answer.on_classes.as_ref())
        .cloned()
        .unwrap_or_else(|| answer.at_start.clone())
}
