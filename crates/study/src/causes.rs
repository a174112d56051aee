//! Named causes: why claims of the papers do not hold, each said once in `causes.toml`.

use serde::Deserialize;
use std::sync::LazyLock;

/// A cause that claims of several studies share.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The word by which studies name it, such as "chen10-smoothed-rtt".
    pub id: String,
    /// The cause in a sentence or two, with the figures that show it.
    pub text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Causes {
    cause: Vec<Cause>,
}

static ENTRIES: LazyLock<Vec<Cause>> = LazyLock::new(|| {
    let causes: Causes = toml::from_str(include_str!("causes.toml")).expect("a test reads it");
    causes.cause
});

/// All causes, in the order of the file.
pub fn entries() -> &'static [Cause] {
    &ENTRIES
}

/// The cause of a name.
pub fn look_up(id: &str) -> Option<&'static Cause> {
    ENTRIES.iter().find(|cause| cause.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Study, study_ids};

    #[test]
    fn each_cause_has_one_name_and_is_named_by_study() {
        let studies: Vec<Study> = study_ids().map(|id| Study::builtin(id).unwrap()).collect();
        for (index, cause) in entries().iter().enumerate() {
            assert!(entries()[..index].iter().all(|other| other.id != cause.id), "{}", cause.id);
            let names = |study: &Study| {
                let of_claims = study.claims.iter().filter_map(|claim| claim.cause.as_ref());
                study.cause.iter().chain(of_claims).any(|name| *name == cause.id)
            };
            assert!(studies.iter().any(names), "{} is the cause of nothing", cause.id);
        }
    }
}
