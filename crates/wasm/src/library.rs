//! The scenarios that come with the page, and the laws.

use evenair_scenario::laws;
use evenair_study::{builtin_scenario, scenario_ids};
use serde_json::{Value, json};

/// The scenarios of the tutorial, as `evenair new` writes them: id, text.
const TEMPLATES: [(&str, &str); 4] = [
    ("new/cell", include_str!("../../cli/src/templates/cell.toml")),
    ("new/chain", include_str!("../../cli/src/templates/chain.toml")),
    ("new/hidden", include_str!("../../cli/src/templates/hidden.toml")),
    ("new/mesh", include_str!("../../cli/src/templates/mesh.toml")),
];
/// The templates' word for the file's own name.
const FILE: &str = "FILE";

/// The scenarios that are offered first, in groups: id and a few words.
const FIRST: [(&str, &[(&str, &str)]); 4] = [
    (
        "Tutorial",
        &[
            ("new/hidden", "Hidden terminals"),
            ("new/cell", "An access point and its stations"),
            ("new/chain", "Hops in a row"),
            ("new/mesh", "A mesh and its gateway"),
        ],
    ),
    (
        "Four links [Chen10]",
        &[
            ("chen10/a", "Link 2 senses all others"),
            ("chen10/b", "A chain of links"),
            ("chen10/e", "A ring of links"),
            ("chen10/access-point", "Up and down at an access point"),
        ],
    ),
    (
        "Meshes [Jam10]",
        &[
            ("jam10/flow-in-the-middle", "Flow in the middle"),
            ("jam10/information-asymmetry", "Information asymmetry"),
            ("jam10/chain", "A chain to the gateway"),
            ("jam10/grid", "36 nodes, 18 flows"),
        ],
    ),
    ("Adaptive laws [Lee12]", &[("lee12/fim", "Flow in the middle"), ("lee12/multi-hop", "Several hops")]),
];

/// The text of a scenario.
pub(crate) fn text(id: &str) -> Option<String> {
    let template = TEMPLATES.iter().find(|(name, _)| *name == id);
    template
        .map(|(_, text)| text.replace(FILE, "play.toml"))
        .or_else(|| builtin_scenario(id).map(String::from))
}

/// The groups, all ids, and the names of laws by family.
pub(crate) fn listed() -> Value {
    let groups: Vec<Value> = FIRST
        .iter()
        .map(|(group, entries)| {
            let entries: Vec<Value> =
                entries.iter().map(|(id, words)| json!({ "id": id, "words": words })).collect();
            json!({ "group": group, "scenarios": entries })
        })
        .collect();
    let families: Vec<Value> = laws()
        .iter()
        .map(|family| {
            let laws: Vec<Value> =
                family.laws.iter().map(|law| json!({ "name": law.name, "does": law.does })).collect();
            json!({ "family": family.family, "key": family.key, "laws": laws })
        })
        .collect();
    let all: Vec<&str> = scenario_ids().collect();
    json!({ "version": evenair_results::version(), "groups": groups, "all": all, "families": families })
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_scenario::Resolved;

    #[test]
    fn scenarios_offered_first_resolve() {
        for (id, _) in FIRST.iter().flat_map(|(_, entries)| *entries) {
            let text = text(id).unwrap_or_else(|| panic!("{id} is not there"));
            let scenario = Resolved::parse(id, &text, &[]).unwrap_or_else(|fault| panic!("{fault}"));
            assert!(!scenario.network().flows.is_empty(), "{id}");
        }
    }
}
