//! Parameters of every variant: all of the first, and the differences of the others.

use crate::outcome::Outcome;
use evenair_scenario::Resolved;
use std::collections::BTreeMap;
use toml::Value;

/// The scenarios computed, in the language of scenarios; differences in the form of `--set`.
pub(super) fn parameters(outcome: &Outcome) -> String {
    let written = |scenario: &Resolved| scenario.to_toml().unwrap_or_else(|e| e.to_string());
    let mut all = outcome.scenarios();
    let Some((first, scenario)) = all.next() else { return String::new() };
    let mut text = format!("# {first}\n{}", written(scenario));
    let of_first = keys(&written(scenario));
    for (name, scenario) in all {
        let of_this = keys(&written(scenario));
        text += &format!("\n# {name}: as {first}, but\n");
        for (key, value) in of_this.iter().filter(|(key, value)| of_first.get(*key) != Some(value)) {
            text += &format!("{key} = {value}\n");
        }
        for key in of_first.keys().filter(|key| !of_this.contains_key(*key)) {
            text += &format!("# without {key}\n");
        }
    }
    text
}

/// The keys of a scenario with their tables and values.
fn keys(text: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    if let Ok(table) = text.parse() {
        collect("", &Value::Table(table), &mut keys);
    }
    keys
}

fn collect(place: &str, value: &Value, keys: &mut BTreeMap<String, String>) {
    let within = |name: &str| if place.is_empty() { name.into() } else { format!("{place}.{name}") };
    match value {
        Value::Table(table) => table.iter().for_each(|(key, value)| collect(&within(key), value, keys)),
        Value::Array(entries) if entries.iter().all(Value::is_table) && !entries.is_empty() => {
            for (number, entry) in entries.iter().enumerate() {
                let id = entry.get("id").and_then(Value::as_str).map(String::from);
                collect(&within(&id.unwrap_or_else(|| number.to_string())), entry, keys);
            }
        }
        other => _ = keys.insert(place.into(), other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_called_as_command_line_calls_them() {
        let found = keys(
            "seed = 1\nmac = { kind = \"802.11b\" }\n[[flows]]\nid = \"a\"\nfrom = \"x\"\n[[wires]]\nat = [1, 2]",
        );
        let found: Vec<String> = found.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            found,
            ["flows.a.from=\"x\"", "flows.a.id=\"a\"", "mac.kind=\"802.11b\"", "seed=1", "wires.0.at=[1, 2]"]
        );
    }
}
