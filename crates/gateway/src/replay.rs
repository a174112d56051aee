//! A record heard again, by the law that made it or by another: what would that have done?

use crate::Side;
use crate::record::{Heard, Line, SCHEMA, What};
use evenair_laws::Parameters;
use evenair_laws::gateway::{Allocation, AnyGateway, GatewayAnswer, GatewayParams};
use evenair_laws::tape::Taped;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// One answer, beside the one on record.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// When \[ms since 1970\].
    pub at_ms: u64,
    /// What is on record.
    pub recorded: Allocation,
    /// What the law that hears it again gives.
    pub replayed: Allocation,
    /// Whether all that it answers is the same to the last bit.
    pub is_same: bool,
}

/// A law that hears a record, line by line.
#[derive(Clone, Debug)]
pub struct Replay {
    other: Option<GatewayParams>,
    law: Option<AnyGateway>,
    recorded: Option<GatewayParams>,
    classes: Vec<(String, Side)>,
}

impl Replay {
    /// By another law, or by the one on record.
    pub const fn new(other: Option<GatewayParams>) -> Self {
        Self { other, law: None, recorded: None, classes: Vec::new() }
    }

    /// One more line; gives the law's answer, if it is one that the law hears.
    ///
    /// # Errors
    /// If the record does not begin with its law, is of another form, or holds what no law ever was in or heard, since somebody changed it.
    pub fn hear(&mut self, line: &Line) -> Result<Option<Answer>, String> {
        if line.schema != SCHEMA {
            return Err(format!("a line of form {}, this program reads form {SCHEMA}", line.schema));
        }
        match &line.what {
            What::Begin { law, state, role, classes } => {
                // Where the same law goes on in another file, another law that hears it goes on, too.
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
        // A law's assertions are for its own mistakes; what stands in a file is its writer's. The law is not asked again.
        let told = catch_unwind(AssertUnwindSafe(|| GatewayParams::tell(law, &heard.told)));
        let answer =
            told.map_err(|_| "the law's state and what it heard do not fit: the record was changed")?;
        if let Some(classes) = &heard.classes {
            self.classes.clone_from(classes);
        }
        // What `Debug` prints of a number tells it from every other.
        let is_same = format!("{answer:?}") == format!("{:?}", heard.answer);
        let [recorded, replayed] = [&heard.answer, &answer].map(given);
        Ok(Answer { at_ms, recorded, replayed, is_same })
    }

    /// Whose the classes are, in the order of the rates.
    pub fn classes(&self) -> &[(String, Side)] {
        &self.classes
    }
}

/// The rates that an answer gives.
fn given(answer: &GatewayAnswer) -> Allocation {
    answer
        .on_epoch
        .as_ref()
        .or(answer.on_classes.as_ref())
        .cloned()
        .unwrap_or_else(|| answer.at_start.clone())
}
