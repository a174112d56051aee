//! Reading of studies: a built-in one by its id, a user's own from its file; and the choice of its variants.

use crate::check::Mistake;
use crate::each::{self, Places};
use crate::language::{Claim, Figure, Origin, Published, Study, Value, Variant};
use crate::library;
use crate::quantity::Quantity;
use crate::written;
use evenair_scenario::{Resolved, ScenarioError, explained};
use evenair_service::document::{Fault, of_table, place_of, table};
use evenair_service::meant::did_you_mean;
use evenair_service::{KeyPath, Mistake as StudyError, file};
use evenair_units::{is_printable, printable};
use std::path::Path;

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
    /// Names line, key and allowed values.
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
        let (file, text) = (path.display().to_string(), file::text(path)?);
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
        let table = table(file, text)?;
        if ["flows", "nodes", "radio", "mac"].iter().any(|key| table.contains_key(*key))
            && !table.contains_key("variants")
        {
            return Err(StudyError::of(file, format!("this is a scenario: evenair run {file} runs it")));
        }
        if let Some((key, found)) = unprintable(KeyPath::root(), &toml::Value::Table(table.clone())) {
            let why = format!("\"{found}\" has characters that terminals take for commands; leave them out");
            return Err(StudyError::of(file, why).placed(place_of(text, &key)).of_key(key));
        }
        let written = each::written_out(table);
        let (table, places) = written
            .map_err(|(key, why)| StudyError::of(file, why).placed(place_of(text, &key)).of_key(key))?;
        let origin = Origin { file: file.into(), text: text.into(), folder: None, places };
        match of_table::<Self>(&table) {
            Ok(study) => {
                let mut study = Self { origin, ..study };
                written::remember(&mut study);
                Ok(study)
            }
            Err(Fault { key, message }) => {
                Err(Fault { key: origin.renumbered(key), message }.in_text(file, text, explained))
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
                return Err(StudyError::of(id, format!("this is a scenario: evenair run {id} runs it")));
            }
            if Path::new(id).is_dir() {
                return Err(StudyError::of(
                    id,
                    "this is a folder; name a study's file in it, or a study's id",
                ));
            }
            let meant = did_you_mean(id, crate::study_ids())
                .unwrap_or_else(|| "`evenair list studies` names all that are built in".into());
            let message = format!("there is no such study, and no such file; {meant}");
            return Err(StudyError::of(id, message));
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

    /// Keeps some variants, and the claims and figures that only they have.
    ///
    /// # Errors
    /// If there is no variant of a name.
    pub fn keep(&mut self, names: &[String]) -> Result<(), StudyError> {
        if let Some(name) = names.iter().find(|name| !self.variants.iter().any(|v| v.is_named(name))) {
            let message = format!("there is no variant \"{name}\"; {}", self.meant_variant(name));
            return Err(StudyError::of(&self.origin.file, message));
        }
        self.variants.retain(|variant| names.iter().any(|name| variant.is_named(name)));
        let kept = |id: &String| self.variants.iter().any(|variant| variant.is_named(id));
        // A figure without names draws all variants.
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
        let key = self.renumbered(key);
        let place = place_of(&self.text, &key);
        StudyError { key: Some(key).filter(|key| !key.is_root()), ..StudyError::of(&self.file, message) }
            .placed(place)
    }

    /// The same key with the number of its entry in the file.
    fn renumbered(&self, key: KeyPath) -> KeyPath {
        let number = |list: &str, i: usize| self.places.get(list).and_then(|from| from.get(i)).copied();
        key.renumbered(|list, i| number(list, i).unwrap_or(i))
    }
}
