//! Reading a scenario: text, overrides, checks, and where a mistake stands.

use crate::error::{KeyPath, Mistake, ScenarioError, Step};
use crate::language::{MacKind, MacTable, Scenario};
use crate::resolved::Resolved;
use std::path::Path;
use toml_edit::{Document, DocumentMut, Item, Table, Value};

impl Resolved {
    /// Reads a scenario file, with `overrides` of the form `key=value` applied, and resolves it.
    ///
    /// # Errors
    /// If the file cannot be read, or as [`Resolved::parse`].
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read(path).map_err(|e| error(&file, format!("cannot be read: {e}")))?;
        let text = String::from_utf8(text).map_err(|_| error(&file, "is not a text file in UTF-8".into()))?;
        Self::parse_beside(path.parent().unwrap_or(Path::new("")), &file, &text, overrides)
    }

    /// Reads a scenario from its text and resolves it; `file` names it in errors. Files that it names are looked for in the working
    /// directory.
    ///
    /// # Errors
    /// Names file, line, key and what is allowed.
    pub fn parse(file: &str, text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::parse_beside(Path::new(""), file, text, overrides)
    }

    fn parse_beside(
        folder: &Path,
        file: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<Self, ScenarioError> {
        if overrides.is_empty() {
            return read(folder, file, text);
        }
        // Mistakes of the file itself are reported with its own lines.
        let mut document: DocumentMut = text.parse().map_err(|_| read(folder, file, text).unwrap_err())?;
        for change in overrides {
            apply(&mut document, change).map_err(|message| error("--set", message))?;
        }
        read(folder, file, &document.to_string()).map_err(|e| ScenarioError { overridden: true, ..e })
    }

    /// Writes the scenario as TOML, all defaults spelt out.
    ///
    /// # Errors
    /// None that is known: every scenario can be written.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }

    /// The scenario as if every default had been written: to be changed and resolved again.
    pub fn written_out(&self) -> Scenario {
        self.settings.clone()
    }

    /// The same scenario over ideal CSMA: what only 802.11 knows is left out.
    ///
    /// # Errors
    /// If something of the scenario needs 802.11, such as EDCA, channel errors or broadcasts.
    pub fn over_ideal_csma(&self) -> Result<Self, ScenarioError> {
        let mac = MacTable {
            kind: MacKind::Ideal,
            data_rate: self.settings.mac.data_rate,
            queue: self.settings.mac.queue,
            ..MacTable::default()
        };
        Scenario { mac, ..self.written_out() }.resolve()
    }
}

impl Scenario {
    /// Writes every default out, checks everything and builds the packet world; files that it names are looked for in the working
    /// directory.
    ///
    /// # Errors
    /// Names the key and what is allowed, and the scenario in the place of a file.
    pub fn resolve(self) -> Result<Resolved, ScenarioError> {
        let name = self.name.clone();
        self.complete(Path::new(""))
            .map_err(|mistake| ScenarioError { key: Some(mistake.key), ..error(&name, mistake.message) })
    }
}

fn error(file: &str, message: String) -> ScenarioError {
    ScenarioError { file: file.into(), at: None, key: None, message, overridden: false }
}

fn read(folder: &Path, file: &str, text: &str) -> Result<Resolved, ScenarioError> {
    let scenario: Scenario = toml::from_str(text).map_err(|e| ScenarioError {
        at: e.span().map(|span| line_and_column(text, span.start)),
        key: e.span().and_then(|span| key_at(text, span.start)),
        ..error(file, e.message().trim().replace('\n', "; "))
    })?;
    scenario.complete(folder).map_err(|mistake| locate(file, text, mistake))
}

/// Line and column of a place in a text, from one.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// The way to the value that stands at a place of the text, if one does.
fn key_at(text: &str, offset: usize) -> Option<KeyPath> {
    fn find(item: &Item, offset: usize, path: &mut Vec<Step>) -> bool {
        let mut within = |step: Step, item: &Item| {
            path.push(step);
            let found = find(item, offset, path);
            if !found {
                path.pop();
            }
            found
        };
        if let Some(table) = item.as_table_like()
            && table.iter().any(|(key, item)| within(Step::Key(key.into()), item))
        {
            return true;
        }
        if let Some(tables) = item.as_array_of_tables()
            && tables.iter().enumerate().any(|(i, table)| within(Step::Index(i), &Item::Table(table.clone())))
        {
            return true;
        }
        if let Some(list) = item.as_array()
            && list.iter().enumerate().any(|(i, value)| within(Step::Index(i), &Item::Value(value.clone())))
        {
            return true;
        }
        // A table's span is its header, where a missing key is reported; that is the table's place, too.
        !path.is_empty() && item.span().is_some_and(|span| span.contains(&offset))
    }
    let (document, mut path) = (Document::parse(text).ok()?, Vec::new());
    find(document.as_item(), offset, &mut path).then_some(KeyPath(path))
}

/// Line and column of a key in a TOML text; of the nearest table around it, if the key is not written.
pub fn place_of(text: &str, key: &KeyPath) -> Option<(usize, usize)> {
    let document = Document::parse(text).ok()?;
    let mut item = document.as_item();
    let mut span = item.span();
    for step in &key.0 {
        let next = match step {
            Step::Key(key) => item.get(key.as_str()),
            Step::Index(index) => item.get(*index),
        };
        match next {
            Some(next) => item = next,
            None => break,
        }
        span = item.span().or(span);
    }
    span.map(|span| line_and_column(text, span.start))
}

fn locate(file: &str, text: &str, mistake: Mistake) -> ScenarioError {
    ScenarioError { at: place_of(text, &mistake.key), key: Some(mistake.key), ..error(file, mistake.message) }
}

/// The table of the gateway.
const GATEWAY: &str = "gateway";

/// Applies `path.to.key=value` to a document; the value is TOML, or a bare word taken as a string.
fn apply(document: &mut DocumentMut, change: &str) -> Result<(), String> {
    let (path, value) =
        change.split_once('=').ok_or_else(|| format!("\"{change}\" is not of the form key=value"))?;
    let value = value.trim();
    let value: Value = value.parse().unwrap_or_else(|_| Value::from(value));
    let KeyPath(steps) = KeyPath::key(path.trim());
    let (last, parents) = steps.split_last().expect("a split has one part at least");
    if let Some(Step::Key(list)) = parents.first()
        && let Some(why) = made_by_rule(document, list)
    {
        return Err(format!("{path}: {why}"));
    }
    let mut item: &mut Item = document.as_item_mut();
    for step in parents {
        let Step::Key(key) = step else { unreachable!("a key path of keys") };
        let entries = entries(item);
        item =
            descend(item, key).ok_or_else(|| format!("{path}: there is no \"{key}\" to go into{entries}"))?;
    }
    let Step::Key(last) = last else { unreachable!("a key path of keys") };
    if let Some(table) = item.as_table_like_mut() {
        match (parents, last.as_str()) {
            // A gateway has a law or a rate, beside keys that go with both.
            ([Step::Key(parent)], "law") if parent == GATEWAY => _ = table.remove("rate"),
            ([Step::Key(parent)], "rate") if parent == GATEWAY => _ = table.remove("law"),
            // Any other law is replaced whole: the keys of the old one mean nothing to the new one.
            (_, "law") => table.clear(),
            _ => (),
        }
    }
    let place = descend(item, last).ok_or_else(|| format!("{path}: there is no place for \"{last}\""))?;
    *place = Item::Value(value);
    Ok(())
}

/// Why no entry of a list can be changed: a rule makes them all.
fn made_by_rule(document: &DocumentMut, list: &str) -> Option<String> {
    let rule = document.get("generate").filter(|_| !document.contains_key(list))?;
    let of_graph = rule.get("kind").and_then(Item::as_str) == Some("conflict-graph");
    let (key, how) = match list {
        "flows" => {
            rule.get("flows")?;
            ("generate.flows", "count, traffic, rate and the rest for all of them")
        }
        "nodes" if !of_graph => ("generate", "their number and spacing"),
        "links" if of_graph => ("generate", "the file that names them"),
        _ => return None,
    };
    Some(format!(
        "the scenario's {list} are made by the rule `{key}`, whose own keys can be set ({how}); for one of them, have them \
         written out first: evenair show SCENARIO --resolved > mine.toml, then set the key of mine.toml"
    ))
}

/// The most entries of a list that are named.
const NAMED_MAX: usize = 12;

/// Who is in a list, for who looked for another; nothing of what is no list.
fn entries(item: &Item) -> String {
    let ids: Vec<&str> = match (item.as_array_of_tables(), item.as_array()) {
        (Some(list), _) => list.iter().filter_map(|table| table.get("id")?.as_str()).collect(),
        (_, Some(list)) => {
            list.iter().filter_map(|value| value.as_inline_table()?.get("id")?.as_str()).collect()
        }
        _ => Vec::new(),
    };
    match ids.len() {
        0 => String::new(),
        n if n > NAMED_MAX => format!("; there are {}, … ({n} in all)", ids[..NAMED_MAX].join(", ")),
        _ => format!("; there are {}", ids.join(", ")),
    }
}

/// One step into a document: a key of a table, or the number or id of an entry of a list.
fn descend<'a>(item: &'a mut Item, key: &str) -> Option<&'a mut Item> {
    if item.is_none() {
        *item = Item::Table(Table::new());
    }
    // A list of inline tables is a list of tables too.
    if item.as_array().is_some_and(|list| list.iter().all(Value::is_inline_table)) {
        let list = std::mem::take(item).into_array_of_tables();
        *item = Item::ArrayOfTables(list.unwrap_or_default());
    }
    if let Some(list) = item.as_array_of_tables() {
        let by_id = list.iter().position(|t| t.get("id").and_then(Item::as_str) == Some(key));
        let index = by_id.or_else(|| key.parse().ok())?;
        return item.get_mut(index);
    }
    item.as_table_like_mut()?;
    Some(&mut item[key])
}
