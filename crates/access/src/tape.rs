//! Tapes: a law's place, its observations and answers, and the registers of each answer. A tape is a
//! file of JSON, one record a line; the first has the law.

use evenair_laws::Parameters;
use evenair_laws::backoff::{
    AnyBackoff, BackoffAnswer, BackoffParams, BackoffTold, LinkRole, LinkView, RegisterLimits, Registers,
};
use evenair_laws::tape::Taped;
use serde::{Deserialize, Serialize};

/// The first line of a tape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the format.
    pub tape: u32,
    /// The interface.
    pub interface: String,
    /// The law.
    pub law: BackoffParams,
}

/// The version of the format.
pub const VERSION: u32 = 1;

/// One update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The law's observation: its place, or its view of the link.
    pub told: BackoffTold,
    /// The law's answer.
    pub answer: BackoffAnswer,
    /// The law's registers, before any limit.
    pub wanted: Registers,
    /// The limits then.
    pub limits: RegisterLimits,
    /// The registers within them.
    pub registers: Registers,
}

/// A law with its registers: as the daemon runs it, and as a tape replays it.
#[derive(Clone, Debug)]
pub struct Decider {
    law: AnyBackoff,
}

impl Decider {
    /// Begins a law.
    pub fn begin(law: &BackoffParams, role: &LinkRole) -> Self {
        Self { law: law.begin(role) }
    }

    /// The law's state.
    pub const fn law(&self) -> &AnyBackoff {
        &self.law
    }

    /// Returns the record of the law's beginning.
    ///
    /// # Errors
    /// If the law's answers are no registers.
    pub fn beginning(&self, role: &LinkRole, limits: &RegisterLimits) -> Result<Entry, String> {
        entry(BackoffParams::begun(role), BackoffParams::ask(&self.law), limits)
    }

    /// Tells the law of its link.
    ///
    /// # Errors
    /// If the law's answers are no registers.
    pub fn decide(&mut self, link: LinkView, limits: &RegisterLimits) -> Result<Entry, String> {
        let told = BackoffTold::OnUpdate { link };
        let answer = BackoffParams::tell(&mut self.law, &told);
        entry(told, answer, limits)
    }
}

fn entry(told: BackoffTold, answer: BackoffAnswer, limits: &RegisterLimits) -> Result<Entry, String> {
    let wanted = Registers::of(&answer.access, answer.space).map_err(|error| error.to_string())?;
    Ok(Entry { told, answer, wanted, limits: *limits, registers: wanted.within(limits) })
}

/// The result of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Updates on the tape.
    pub updates: usize,
    /// Updates with other registers.
    pub differing: usize,
    /// The line of the first of them, from one.
    pub first: Option<usize>,
}

/// Runs a law over a tape: the tape's own, or another. `each` gets each update's time, the recorded registers and the
/// replayed ones.
///
/// # Errors
/// Names the line that is no record.
pub fn replay(
    text: &str,
    other: Option<&BackoffParams>,
    mut each: impl FnMut(&Entry, Registers),
) -> Result<Replayed, String> {
    let mut lines = text.lines().enumerate();
    let bad = |number: usize, error: &dyn std::fmt::Display| format!("line {}: {error}", number + 1);
    let (_, first) = lines.next().ok_or("the tape is empty")?;
    let head: Head = serde_json::from_str(first).map_err(|error| bad(0, &error))?;
    if head.tape != VERSION {
        return Err(format!(
            "line 1: version {} of tapes is not known; this program reads {VERSION}",
            head.tape
        ));
    }
    let law = other.unwrap_or(&head.law);
    let (mut decider, mut found) = (None::<Decider>, Replayed::default());
    for (number, line) in lines {
        let entry: Entry = serde_json::from_str(line).map_err(|error| bad(number, &error))?;
        let again = match &entry.told {
            BackoffTold::Begin(role) => {
                decider.insert(Decider::begin(law, role)).beginning(role, &entry.limits)
            }
            BackoffTold::OnUpdate { link } => {
                let decider =
                    decider.as_mut().ok_or_else(|| bad(number, &"an update before the law began"))?;
                decider.decide(*link, &entry.limits)
            }
            _ => continue,
        };
        let again = again.map_err(|error| bad(number, &error))?;
        found.updates += 1;
        // The law's own tape is compared whole, to the last bit.
        if again.registers != entry.registers || (other.is_none() && again.answer != entry.answer) {
            found.differing += 1;
            found.first.get_or_insert(number + 1);
        }
        each(&entry, again.registers);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::law;
    use evenair_laws::backoff::Surroundings;
    use evenair_units::Volume;

    fn tape() -> String {
        let params = law(&"law = 'virtual-queue'".parse().unwrap()).unwrap();
        let role = LinkRole::data(Surroundings::default());
        let mut decider = Decider::begin(&params, &role);
        let limits = RegisterLimits::VALID;
        let mut all = vec![decider.beginning(&role, &limits).unwrap()];
        for packets in [0, 3, 7, 0, 0, 40] {
            let arrivals = Volume { packets, bytes: packets * 1500 };
            all.push(decider.decide(LinkView { arrivals, ..LinkView::default() }, &limits).unwrap());
        }
        let head = Head { tape: VERSION, interface: "wlan0".into(), law: params };
        let mut text = serde_json::to_string(&head).unwrap();
        for entry in all {
            text = format!("{text}\n{}", serde_json::to_string(&entry).unwrap());
        }
        text
    }

    #[test]
    fn tape_replays_to_the_same_registers() {
        let replayed = replay(&tape(), None, |entry, again| assert_eq!(entry.registers, again)).unwrap();
        assert_eq!(replayed, Replayed { updates: 7, differing: 0, first: None });
        let other = law(&"law = 'virtual-queue'\nb = 0.1".parse().unwrap()).unwrap();
        let replayed = replay(&tape(), Some(&other), |_, _| ()).unwrap();
        assert!(replayed.differing > 0 && replayed.first.is_some(), "{replayed:?}");
    }

    #[test]
    fn broken_tape_names_its_line() {
        let cut: String = tape().lines().take(3).collect::<Vec<_>>().join("\n") + "\n{";
        assert!(replay(&cut, None, |_, _| ()).unwrap_err().starts_with("line 4: "));
        assert!(replay("", None, |_, _| ()).is_err());
        let later = tape().replacen("\"tape\":1", "\"tape\":9", 1);
        assert!(replay(&later, None, |_, _| ()).unwrap_err().contains("version 9"));
        let text = tape();
        let lines = text.lines().enumerate().filter(|(number, _)| *number != 1).map(|(_, line)| line);
        let headless = lines.collect::<Vec<_>>().join(
            "
",
        );
        assert!(replay(&headless, None, |_, _| ()).unwrap_err().contains("before the law began"));
    }
}
