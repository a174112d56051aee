//! The scenarios and studies that come with evenair.

include!(concat!(env!("OUT_DIR"), "/library.rs"));

fn find(list: &[(&'static str, &'static str)], id: &str) -> Option<&'static str> {
    list.iter().find(|(name, _)| *name == id).map(|(_, text)| *text)
}

/// The text of a scenario by its id, e.g. `chen10/a`.
pub fn builtin_scenario(id: &str) -> Option<&'static str> {
    find(SCENARIOS, id)
}

/// The text of a study by its id, e.g. `chen10/fig-4-2`.
pub fn study_text(id: &str) -> Option<&'static str> {
    find(STUDIES, id)
}

/// Ids of all scenarios.
pub fn scenario_ids() -> impl Iterator<Item = &'static str> {
    SCENARIOS.iter().map(|(id, _)| *id)
}

/// Ids of all studies.
pub fn study_ids() -> impl Iterator<Item = &'static str> {
    STUDIES.iter().map(|(id, _)| *id)
}

/// Asks whether a misspelt id is meant to be one of these: the likeliest first, at most three; none, if it is like none.
pub(crate) fn did_you_mean(id: &str, ids: impl Iterator<Item = &'static str>) -> Option<String> {
    let mut near: Vec<(f64, &str)> = ids
        .map(|known| (strsim::normalized_damerau_levenshtein(id, known), known))
        .filter(|&(likeness, _)| likeness > 0.75)
        .collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let meant: Vec<&str> = near.into_iter().take(3).map(|(_, known)| known).collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}
