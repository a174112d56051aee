//! Reading a scenario: text, overrides, checks, and where a mistake stands.

use crate::bulk::inlined;
use crate::error::{Mistake, ScenarioError};
use crate::language::{DataRate, MacKind, MacTable, RateTable, Scenario};
use crate::meant::explained;
use crate::quantity::RateQuantity;
use crate::resolved::Resolved;
use evenair_laws::backoff::BackoffParams;
use evenair_service::document::{is_empty, parse_with, place_of};
use evenair_service::meant::did_you_mean;
use evenair_service::{KeyPath, Step, file::text};
use evenair_topology::Link;
use evenair_wifi::{Receivers, Sensitivity};
use std::collections::BTreeSet;
use std::path::Path;
use toml_edit::{Array, DocumentMut, Item, Table, TomlError, Value};

impl Resolved {
    /// Reads a scenario file, with `overrides` of the form `key=value` applied, and resolves it.
    ///
    /// # Errors
    /// If the file cannot be read, or as [`Resolved::parse`].
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::load_for(path, overrides, Needs::Traffic)
    }

    /// As [`Self::load`], also of a network without flows: to be looked at, for nothing runs in it.
    ///
    /// # Errors
    /// As [`Self::load`], but for a want of flows.
    pub fn load_network(path: &Path, overrides: &[String]) -> Result<Self, ScenarioError> {
        Self::load_for(path, overrides, Needs::Nothing)
    }

    fn load_for(path: &Path, overrides: &[String], needs: Needs) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = text(path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse_beside(&Reading { folder, file: &file, needs }, &text, overrides)
    }

    /// Reads a scenario from its text and resolves it; `file` names it in errors. Files that it names are looked for in the working
    /// directory.
    ///
    /// # Errors
    /// Names file, line, key and allowed values.
    pub fn parse(file: &str, text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        let reading = Reading { folder: Path::new(""), file, needs: Needs::Traffic };
        Self::parse_beside(&reading, text, overrides)
    }

    /// As [`Self::parse`], also of a network without flows.
    ///
    /// # Errors
    /// As [`Self::parse`], but for a want of flows.
    pub fn parse_network(file: &str, text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        let reading = Reading { folder: Path::new(""), file, needs: Needs::Nothing };
        Self::parse_beside(&reading, text, overrides)
    }

    fn parse_beside(reading: &Reading<'_>, text: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        let file = reading.file;
        let wrong = |mistake| locate(file, text, mistake);
        let text = &*inlined(text, reading.folder).map_err(wrong)?;
        if overrides.is_empty() {
            return read(reading, text);
        }
        let texts = changed(reading, text, overrides)?;
        let last = texts.last().expect("there is the file itself");
        read(reading, last).map_err(|fault| blamed(reading, &texts, overrides, fault))
    }

    /// Writes `changes` of the form `key=value` into the text of a scenario and keeps its comments; `file` names it in errors.
    ///
    /// # Errors
    /// If a change has no place in it. A wrong value is an error of [`Self::parse`].
    pub fn changed(file: &str, text: &str, changes: &[String]) -> Result<String, ScenarioError> {
        let reading = Reading { folder: Path::new(""), file, needs: Needs::Nothing };
        let texts = changed(&reading, text, changes)?;
        Ok(texts.into_iter().last().expect("there is the file itself"))
    }

    /// Writes the scenario as TOML, all defaults spelt out.
    ///
    /// # Errors
    /// None that is known: every scenario can be written.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        written(&self.settings)
    }

    /// The same scenario with `changes` of the form `key=value`, of other settings than nodes and flows.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn with(&self, changes: &[String]) -> Result<Self, ScenarioError> {
        let mut settings = self.written_out();
        // Of a large network they are nearly all of its text, which is written and read for the changes alone.
        let (nodes, flows) = (std::mem::take(&mut settings.nodes), std::mem::take(&mut settings.flows));
        let name = &self.settings.name;
        let text = written(&settings).map_err(|fault| error(name, fault.to_string()))?;
        let scenario: Scenario = parse_with(name, &Self::changed(name, &text, changes)?, explained)?;
        Scenario { nodes, flows, ..scenario }.resolve()
    }

    /// The scenario as if every default had been written: to be changed and resolved again.
    pub fn written_out(&self) -> Scenario {
        self.settings.clone()
    }

    /// The same scenario over ideal CSMA: settings of 802.11 alone are left out.
    ///
    /// # Errors
    /// If something of the scenario needs 802.11, such as EDCA, channel errors or broadcasts.
    pub fn over_ideal_csma(&self) -> Result<Self, ScenarioError> {
        let mut settings = self.written_out();
        settings.aggregation = None;
        // Nodes do not move there: they stand where they begin.
        settings.mobility = None;
        (settings.tracks, settings.walks) = (Vec::new(), Vec::new());
        settings.mac = MacTable {
            kind: MacKind::Ideal,
            data_rate: Some(DataRate::Fixed(RateQuantity(self.network.data_mode.rate()))),
            queue: self.settings.mac.queue,
            ..MacTable::default()
        };
        settings.nodes.iter_mut().for_each(|node| node.mac = None);
        let is_modulated = self.network.data_mode.modulation().is_some();
        if is_modulated && matches!(settings.backoff, BackoffParams::Edca(_)) {
            settings.backoff = BackoffParams::default();
        }
        if self.network.receivers != Receivers::default() || is_modulated && !settings.rates.is_empty() {
            settings.rates = self.rates_in_use();
        }
        let least = self.network.receivers.sensitivity.as_ref().and_then(Sensitivity::least);
        if let (Some(radio), Some(least)) = (&mut settings.radio, least) {
            radio.decode_alike(least);
        }
        settings.resolve()
    }

    /// The rate of each link that carries data, and of the way back, as the language has it.
    fn rates_in_use(&self) -> Vec<RateTable> {
        let ways = self.layout.links.iter().flat_map(|&(_, link)| [link, link.reversed()]);
        let ways: BTreeSet<Link> = ways.collect();
        let name = |node: u32| self.network.name(node).to_string();
        let table = |link: Link| RateTable {
            from: name(link.from),
            to: name(link.to),
            rate: Some(RateQuantity(self.network.rate(link.from, link.to))),
            one_way: true,
            ..RateTable::default()
        };
        ways.into_iter().map(table).collect()
    }
}

impl Scenario {
    /// Writes every default out, checks everything and builds the packet world; files that it names are looked for in the working
    /// directory.
    ///
    /// # Errors
    /// Names the key and the allowed values, and the scenario in the place of a file.
    pub fn resolve(self) -> Result<Resolved, ScenarioError> {
        resolved(self, Needs::Traffic)
    }
}

/// A scenario as TOML.
fn written(scenario: &Scenario) -> Result<String, toml::ser::Error> {
    toml::to_string(&toml::Table::try_from(scenario)?)
}

/// A scenario with nothing left open.
pub(crate) fn resolved(scenario: Scenario, needs: Needs) -> Result<Resolved, ScenarioError> {
    let name = scenario.name.clone();
    scenario
        .complete(Path::new(""), needs)
        .map_err(|mistake| ScenarioError { key: Some(mistake.key), ..error(&name, mistake.message) })
}

/// The required parts of a scenario beyond its own consistency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Flows, or nodes that are attached to the outside: it is to run.
    Traffic,
    /// Nothing more: it is to be looked at.
    Nothing,
}

/// A text to read: the folder of the files beside it, its own name, and its required parts.
struct Reading<'a> {
    folder: &'a Path,
    file: &'a str,
    needs: Needs,
}

/// A text, and the same after each change.
fn changed(reading: &Reading<'_>, text: &str, changes: &[String]) -> Result<Vec<String>, ScenarioError> {
    // Mistakes of the file itself are reported with its own lines.
    let own = |fault: TomlError| {
        read(reading, text).err().unwrap_or_else(|| error(reading.file, fault.message().into()))
    };
    let mut document: DocumentMut = text.parse().map_err(own)?;
    let mut texts = vec![text.to_string()];
    for change in changes {
        let of_change =
            |message| ScenarioError { change: Some(change.clone()), ..error(reading.file, message) };
        apply(&mut document, change).map_err(of_change)?;
        texts.push(document.to_string());
    }
    Ok(texts)
}

fn error(file: &str, message: String) -> ScenarioError {
    ScenarioError { file: file.into(), at: None, key: None, message, change: None }
}

/// A fault of a text with changes, laid to the first of them with which it is there; lines are those of the file as it was written.
fn blamed(
    reading: &Reading<'_>,
    texts: &[String],
    changes: &[String],
    fault: ScenarioError,
) -> ScenarioError {
    let is_same = |other: &ScenarioError| (&other.key, &other.message) == (&fault.key, &fault.message);
    let is_there = |text: &String| read(reading, text).is_err_and(|other| is_same(&other));
    let key = fault.key.clone().unwrap_or_default();
    match texts.iter().position(is_there) {
        Some(number) if number > 0 => {
            // Where the change replaced the value, no line of the file is to blame.
            let [before, after] = [&texts[number - 1], &texts[number]].map(|text| written_at(text, &key));
            let at = place_of(&texts[0], &key).filter(|_| before.is_some() && before == after);
            ScenarioError { at, change: Some(changes[number - 1].clone()), ..fault }
        }
        _ => ScenarioError { at: place_of(&texts[0], &key), ..fault },
    }
}

fn read(reading: &Reading<'_>, text: &str) -> Result<Resolved, ScenarioError> {
    let &Reading { folder, file, needs } = reading;
    if is_empty(text) {
        return Err(error(
            file,
            "the file is empty; evenair new FILE writes a scenario to begin with".into(),
        ));
    }
    let scenario: Scenario = parse_with(file, text, explained).map_err(|mistake| match study_key(text) {
        Some(key) => {
            let why = format!("this is a study, with {key}: evenair study {file} runs it");
            ScenarioError { at: place_of(text, &KeyPath::key(key)), ..error(file, why) }
        }
        None => mistake.into(),
    })?;
    scenario.complete(folder, needs).map_err(|mistake| locate(file, text, mistake))
}

/// The key of a study that a text has, if it is one.
fn study_key(text: &str) -> Option<&'static str> {
    let table: toml::Table = text.parse().ok()?;
    ["variants", "claims"].into_iter().find(|key| table.contains_key(*key))
}

/// The value of a TOML text at a key, if it is written there.
fn written_at(text: &str, key: &KeyPath) -> Option<String> {
    let document: DocumentMut = text.parse().ok()?;
    let way = way(document.as_item(), key);
    way.get(key.steps().len()).filter(|_| *key != KeyPath::root()).map(ToString::to_string)
}

/// The items on the way to a key, as far as they are written, from the whole on.
fn way<'a>(document: &'a Item, key: &KeyPath) -> Vec<&'a Item> {
    let mut way = vec![document];
    for step in key.steps() {
        let next = match step {
            Step::Key(key) => way[way.len() - 1].get(key.as_str()),
            Step::Index(index) => way[way.len() - 1].get(*index),
        };
        match next {
            Some(next) => way.push(next),
            None => break,
        }
    }
    way
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
    let key = KeyPath::key(path.trim());
    let (last, parents) = key.steps().split_last().expect("a split has one part at least");
    if let Some(Step::Key(list)) = parents.first()
        && let Some(why) = made_by_rule(document, list)
    {
        return Err(why);
    }
    let mut item: &mut Item = document.as_item_mut();
    for step in parents {
        let Step::Key(key) = step else { unreachable!("a key path of keys") };
        let entries = entries(item, key);
        item = descend(item, key).ok_or_else(|| format!("there is no \"{key}\" to go into{entries}"))?;
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
    let is_of_tables = |list: &Array| list.iter().all(Value::is_inline_table);
    let is_entry = item.is_array_of_tables() || item.as_array().is_some_and(is_of_tables);
    let place = descend(item, last).ok_or_else(|| format!("there is no place for \"{last}\""))?;
    *place = match value {
        // A value that is no table would silently be left out of the list's text.
        Value::InlineTable(table) if is_entry => Item::Table(table.into_table()),
        _ if is_entry => {
            return Err(format!("an entry of this list is a table; {path}.KEY=VALUE sets a key of it"));
        }
        value => Item::Value(value),
    };
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

/// Suggests entries of a list for an unknown id: similar ones, or all; nothing where it is no list.
fn entries(item: &Item, key: &str) -> String {
    let ids: Vec<&str> = match (item.as_array_of_tables(), item.as_array()) {
        (Some(list), _) => list.iter().filter_map(|table| table.get("id")?.as_str()).collect(),
        (_, Some(list)) => {
            list.iter().filter_map(|value| value.as_inline_table()?.get("id")?.as_str()).collect()
        }
        _ => Vec::new(),
    };
    if let Some(meant) = did_you_mean(key, &ids) {
        return format!("; {meant}");
    }
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
    if item.is_array() {
        return item.get_mut(key.parse::<usize>().ok()?); // a number of a list, such as a coordinate
    }
    item.as_table_like_mut()?;
    Some(&mut item[key])
}
