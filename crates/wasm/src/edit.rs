//! Changes of a scenario's text that leave the rest of it as it is written.

use evenair_scenario::{Resolved, ScenarioError};
use serde::Deserialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

/// The name of the text in errors.
const FILE: &str = "scenario";

/// One change.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Edit {
    /// Sets a key: `KEY=VALUE`, as `--set` takes it.
    Set(String),
    /// Removes a key, such as `mac.rts_threshold`, so that its default holds.
    Unset(String),
    /// Adds a node at a place \[m\].
    AddNode {
        /// Its name.
        id: String,
        /// East and north \[m\].
        at: [f64; 2],
    },
    /// Adds a flow of TCP.
    AddFlow {
        /// Its name.
        id: String,
        /// The node that it comes from.
        from: String,
        /// The node that it goes to.
        to: String,
    },
    /// Removes a node, and the flows that begin or end there.
    RemoveNode(String),
    /// Removes a flow.
    RemoveFlow(String),
}

/// The text with the changes.
///
/// # Errors
/// If a change has no place in the text.
pub(crate) fn edited(text: &str, edits: &[Edit]) -> Result<String, ScenarioError> {
    let mut text = text.to_string();
    for edit in edits {
        text = match edit {
            Edit::Set(change) => Resolved::changed(FILE, &text, std::slice::from_ref(change))?,
            other => applied(&text, other)?,
        };
    }
    Ok(text)
}

fn applied(text: &str, edit: &Edit) -> Result<String, ScenarioError> {
    // Without a change this only reads, and reports a fault of the text.
    let mut document: DocumentMut =
        Resolved::changed(FILE, text, &[])?.parse().expect("it was read as a document");
    let ids = |words: &[(&str, &str)]| {
        let mut table = Table::new();
        words.iter().for_each(|(key, word)| table[*key] = value(*word));
        table
    };
    match edit {
        Edit::Set(_) => (),
        Edit::Unset(key) => unset(&mut document, key),
        Edit::AddNode { id, at } => {
            let mut table = ids(&[("id", id)]);
            table["at"] = value(at.iter().copied().map(place).collect::<toml_edit::Array>());
            list(&mut document, "nodes").push(table);
        }
        Edit::AddFlow { id, from, to } => {
            list(&mut document, "flows").push(ids(&[("id", id), ("from", from), ("to", to)]));
        }
        Edit::RemoveNode(node) => {
            let is = |table: &Table, key: &str| table.get(key).and_then(Item::as_str) == Some(node);
            list(&mut document, "nodes").retain(|table| !is(table, "id"));
            list(&mut document, "flows").retain(|table| !is(table, "from") && !is(table, "to"));
        }
        Edit::RemoveFlow(flow) => {
            list(&mut document, "flows").retain(|table| table.get("id").and_then(Item::as_str) != Some(flow));
        }
    }
    Ok(document.to_string())
}

/// A coordinate to the decimetre, without a point where none is needed.
fn place(metres: f64) -> toml_edit::Value {
    let rounded = (metres * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { (rounded as i64).into() } else { rounded.into() }
}

/// A list of tables, written as such if it was a list in one line.
fn list<'a>(document: &'a mut DocumentMut, key: &str) -> &'a mut ArrayOfTables {
    let item = document.entry(key).or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    if !item.is_array_of_tables() {
        let tables = std::mem::take(item).into_array_of_tables().unwrap_or_default();
        *item = Item::ArrayOfTables(tables);
    }
    item.as_array_of_tables_mut().expect("it was made one")
}

fn unset(document: &mut DocumentMut, key: &str) {
    let (parents, last) = key.rsplit_once('.').map_or(("", key), |(parents, last)| (parents, last));
    let mut item = document.as_item_mut();
    for step in parents.split('.').filter(|step| !step.is_empty()) {
        let Some(next) = item.get_mut(step) else { return };
        item = next;
    }
    if let Some(table) = item.as_table_like_mut() {
        table.remove(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# a comment
radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
mac = { rts_threshold = "0 bytes" } # the MAC
nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [100, 0] }, { id = "c", at = [200, 0] }]
flows = [{ id = "1", from = "a", to = "b" }, { id = "2", from = "b", to = "c" }]
"#;

    fn after(edits: &[Edit]) -> Resolved {
        let text = edited(TEXT, edits).unwrap();
        assert!(text.starts_with("# a comment\n"), "{text}");
        Resolved::parse_network("test", &text, &[]).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
    }

    #[test]
    fn edits_change_named_keys() {
        let add = Edit::AddNode { id: "d".into(), at: [50.0, -20.26] };
        let flow = Edit::AddFlow { id: "3".into(), from: "d".into(), to: "a".into() };
        let scenario = after(&[add, flow, Edit::Unset("mac.rts_threshold".into())]);
        assert_eq!(scenario.network().nodes, ["a", "b", "c", "d"]);
        let at = scenario.layout().positions.as_ref().unwrap()[3].unwrap();
        assert_eq!([at.x_m, at.y_m].map(f64::to_bits), [50.0_f64, -20.3].map(f64::to_bits));
        assert_eq!(scenario.network().flows.len(), 3);
        assert!(scenario.settings().mac.rts_threshold.is_none());
    }

    #[test]
    fn a_node_takes_its_flows_with_it() {
        let scenario = after(&[Edit::RemoveNode("c".into())]);
        assert_eq!((scenario.network().nodes.len(), scenario.network().flows.len()), (2, 1));
        let scenario = after(&[Edit::RemoveFlow("1".into()), Edit::Set("nodes.a.at=[5, 6]".into())]);
        assert_eq!(scenario.network().flows[0].name, "2");
        let at = scenario.layout().positions.as_ref().unwrap()[0].unwrap();
        assert_eq!([at.x_m, at.y_m].map(f64::to_bits), [5.0_f64, 6.0].map(f64::to_bits));
    }

    #[test]
    fn a_text_that_is_no_toml_names_its_line() {
        let fault = edited("nodes = [\n", &[Edit::Unset("x".into())]).unwrap_err();
        assert!(fault.at.is_some(), "{fault}");
    }
}
