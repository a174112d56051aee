//! How a study is read: a built-in one by its id, a user's own from its file; and what of it is kept.

use crate::check::Mistake;
use crate::each::{self, Places};
use crate::language::{Claim, Figure, Origin, Published, Study, Value, Variant};
use crate::library;
use crate::quantity::Quantity;
use crate::written;
use evenair_scenario::did_you_mean;
use evenair_scenario::{
    KeyPath, Resolved, ScenarioError, explained, line_and_column, place_of, syntax_fault,
};
use evenair_units::{is_printable, plain_message, printable};
use serde_path_to_error::Segment;
use std::fmt;
use std::path::Path;

/// A mistake in a study, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyError {
    /// The file, as it was named; the id of a built-in study.
    pub file: String,
    /// Line and column, from one.
    pub at: Option<(usize, usize)>,
    /// The key, where it is known.
    pub key: Option<KeyPath>,
    /// The mistake, and what is allowed.
    pub message: String,
}

impl StudyError {
    pub(crate) fn new(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.into(), at: None, key: None, message: message.into() }
    }
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some((line, column)) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for StudyError {}

/// The first key or text of a study that no terminal should be given, made printable, and where it is.
fn unprintable(place: KeyPath, value: &toml::Value) -> Option<(KeyPath, String)> {
    let shown = |text: &str| printable(text, 60);
    match value {
        toml::Value::String(text) => (!is_printable(text)).then(|| (place, shown(text))),
        toml::Value::Array(all) => {
            all.iter().enumerate().find_map(|(index, value)| unprintable(place.clone().at(index), value))
        }
        toml::Value::Table(table) => table.iter().find_map(|(key, value)| {
            if is_printable(key) {
                unprintable(place.clone().then(key), value)
            } else {
                Some((place.clone(), shown(key)))
            }
        }),
        _ => None,
    }
}

impl Study {
    /// Reads a study from its text.
    ///
    /// # Errors
    /// Names line, key and what is allowed.
    pub fn parse(id: &str, text: &str) -> Result<Self, StudyError> {
        let study = Self::checked(id, id, text)?;
        if study.id != id {
            return Err(study.fault(KeyPath::key("id"), format!("the study's file is called {id}")));
        }
        Ok(study)
    }

    /// Reads a user's own study. Scenarios are files beside it, or built in.
    ///
    /// # Errors
    /// If the file cannot be read; else as [`Self::parse`].
    pub fn load(path: &Path) -> Result<Self, StudyError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|e| StudyError::new(&file, format!("cannot be read: {e}")))?;
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut study = Self::checked(&file, &name, &text)?;
        study.origin.folder = Some(path.parent().map(Path::to_path_buf).unwrap_or_default());
        Ok(study)
    }

    /// Reads a study, which has this id if it names none.
    pub(crate) fn checked(file: &str, id: &str, text: &str) -> Result<Self, StudyError> {
        let mut study = Self::read(file, text)?;
        if study.id.is_empty() {
            study.id = id.into();
        }
        for (number, variant) in study.variants.iter_mut().enumerate() {
            variant.number = number;
        }
        study.variants = std::mem::take(&mut study.variants).into_iter().flat_map(Variant::expand).collect();
        match study.mistake() {
            Some(Mistake { key, message }) => Err(study.fault(key, message)),
            None => Ok(study),
        }
    }

    fn read(file: &str, text: &str) -> Result<Self, StudyError> {
        let message = |e: &toml::de::Error| plain_message(e.message());
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let at = e.span().map(|span| line_and_column(text, span.start));
            let plain = message(&e);
            let fault = syntax_fault(text, e.span().map(|span| span.start), &plain, "studies");
            StudyError { at, ..StudyError::new(file, fault.unwrap_or(plain)) }
        })?;
        if ["flows", "nodes", "radio", "mac"].iter().any(|key| table.contains_key(*key))
            && !table.contains_key("variants")
        {
            return Err(StudyError::new(file, format!("this is a scenario: evenair run {file} runs it")));
        }
        if let Some((key, found)) = unprintable(KeyPath::root(), &toml::Value::Table(table.clone())) {
            let why = format!("\"{found}\" has characters that terminals take for commands; leave them out");
            return Err(StudyError {
                at: place_of(text, &key),
                key: Some(key),
                ..StudyError::new(file, why)
            });
        }
        let written = each::written_out(table);
        let (table, places) = written.map_err(|(key, why)| StudyError {
            at: place_of(text, &key),
            key: Some(key),
            ..StudyError::new(file, why)
        })?;
        let origin = Origin { file: file.into(), text: text.into(), folder: None, places };
        match serde_path_to_error::deserialize(table) {
            Ok(study) => {
                let mut study = Self { origin, ..study };
                written::remember(&mut study);
                Ok(study)
            }
            Err(error) => {
                let key = key_of(error.path());
                let message = explained(Some(&key), message(error.inner()));
                let fault = origin.fault(key, message);
                // Who reads of an unknown key needs no other key than those around it.
                let key = fault.key.filter(|_| !fault.message.starts_with("unknown field"));
                Err(StudyError { key, ..fault })
            }
        }
    }

    /// An error at a key of the study as it was read.
    pub(crate) fn fault(&self, key: KeyPath, message: String) -> StudyError {
        self.origin.fault(key, message)
    }

    /// Every value that a claim measures.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Value> {
        self.claims.iter().flat_map(Claim::values)
    }

    /// Whether anything that the study tells has to be measured segment by segment: delays, and percentiles of times.
    pub(crate) fn needs_times(&self) -> bool {
        let of_values = self.values().map(Value::quantity);
        let of_published = self.published.iter().map(Published::quantity);
        let of_figures = self.figures.iter().map(Figure::quantity);
        let of_tables = self.tables.iter().flat_map(|t| t.metrics.iter().copied());
        let mut told = of_values.chain(of_published).chain(of_figures).chain(of_tables);
        told.any(|quantity| quantity.needs_times())
    }

    /// Whether anything that the study tells of a variant is taken from time series.
    pub(crate) fn needs_series(&self, variant: &Variant) -> bool {
        let named = |id: &String| variant.is_named(id);
        let of_values = self.values().filter(|v| named(&v.variant)).map(Value::quantity);
        let of_published = self.published.iter().filter(|p| named(&p.variant)).map(Published::quantity);
        let of_figures =
            self.figures.iter().filter(|f| f.variants.is_empty() || f.variants.iter().any(named));
        let of_tables = self.tables.iter().filter(|t| t.variants.is_empty() || t.variants.iter().any(named));
        of_values
            .chain(of_published)
            .chain(of_figures.map(Figure::quantity))
            .chain(of_tables.flat_map(|t| t.metrics.iter().copied()))
            .any(|q: Quantity| q.needs_series())
    }

    /// The label of a variant or of a sweep.
    pub(crate) fn label_of(&self, id: &str) -> String {
        self.variants
            .iter()
            .find(|variant| variant.is_named(id))
            .map_or_else(|| id.into(), |v| v.label.clone())
    }

    /// A study that comes with evenair.
    ///
    /// # Errors
    /// If there is none with this id; the message names those that it may be meant to be.
    pub fn builtin(id: &str) -> Result<Self, StudyError> {
        let Some(text) = crate::study_text(id) else {
            if library::builtin_scenario(id).is_some() {
                return Err(StudyError::new(id, format!("this is a scenario: evenair run {id} runs it")));
            }
            if Path::new(id).is_dir() {
                return Err(StudyError::new(
                    id,
                    "this is a folder; name a study's file in it, or a study's id",
                ));
            }
            let meant = did_you_mean(id, crate::study_ids())
                .unwrap_or_else(|| "`evenair list studies` names all that are built in".into());
            let message = format!("there is no such study, and no such file; {meant}");
            return Err(StudyError::new(id, message));
        };
        Self::parse(id, text)
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.origin.text
    }

    /// A scenario that a variant names: a file beside the study, else a built-in one.
    ///
    /// # Errors
    /// If there is neither, or as [`Resolved::parse`].
    pub(crate) fn scenario(&self, id: &str, changes: &[String]) -> Result<Resolved, ScenarioError> {
        crate::scenario(id, self.origin.folder.as_deref(), changes)
    }

    /// The text of such a scenario.
    pub(crate) fn scenario_text(&self, id: &str) -> Option<String> {
        let file = library::beside(id, self.origin.folder.as_deref());
        file.map_or_else(
            || crate::builtin_scenario(id).map(Into::into),
            |path| std::fs::read_to_string(path).ok(),
        )
    }

    /// Keeps some variants, and what is told of them alone.
    ///
    /// # Errors
    /// If there is no variant of a name.
    pub fn keep(&mut self, names: &[String]) -> Result<(), StudyError> {
        if let Some(name) = names.iter().find(|name| !self.variants.iter().any(|v| v.is_named(name))) {
            let message = format!("there is no variant \"{name}\"; {}", self.meant_variant(name));
            return Err(StudyError::new(&self.origin.file, message));
        }
        self.variants.retain(|variant| names.iter().any(|name| variant.is_named(name)));
        let kept = |id: &String| self.variants.iter().any(|variant| variant.is_named(id));
        // Who names none draws all that there are.
        let keep_some = |variants: &mut Vec<String>| {
            let named = !variants.is_empty();
            variants.retain(&kept);
            !named || !variants.is_empty()
        };
        let places = &mut self.origin.places;
        retain("claims", &mut self.claims, places, |claim| claim.values().all(|value| kept(&value.variant)));
        retain("published", &mut self.published, places, |published| kept(&published.variant));
        retain("figures", &mut self.figures, places, |figure| keep_some(&mut figure.variants));
        retain("tables", &mut self.tables, places, |table| keep_some(&mut table.variants));
        self.baseline = self.baseline.take().filter(kept);
        Ok(())
    }
}

/// Keeps some entries of a list, and where each comes from.
fn retain<T>(name: &str, list: &mut Vec<T>, places: &mut Places, mut keep: impl FnMut(&mut T) -> bool) {
    let kept: Vec<bool> = list.iter_mut().map(&mut keep).collect();
    let mut flags = kept.iter();
    list.retain(|_| flags.next().copied().unwrap_or(true));
    let mut flags = kept.iter();
    if let Some(places) = places.get_mut(name) {
        places.retain(|_| flags.next().copied().unwrap_or(true));
    }
}

impl Origin {
    fn fault(&self, key: KeyPath, message: String) -> StudyError {
        let number = |list: &str, i: usize| self.places.get(list).and_then(|from| from.get(i)).copied();
        let key = key.renumbered(|list, i| number(list, i).unwrap_or(i));
        let at = place_of(&self.text, &key);
        let key = Some(key).filter(|key| *key != KeyPath::root());
        StudyError { at, key, ..StudyError::new(&self.file, message) }
    }
}

/// The way that a deserialiser went.
fn key_of(path: &serde_path_to_error::Path) -> KeyPath {
    path.iter().fold(KeyPath::root(), |key, segment| match segment {
        Segment::Seq { index } => key.at(*index),
        Segment::Map { key: word } | Segment::Enum { variant: word } => key.then(word),
        Segment::Unknown => key,
    })
}
