//! How a study is read: a built-in one by its id, a user's own from its file; and what of it is kept.

use crate::each;
use crate::language::{Claim, Figure, Published, Study, Value, Variant};
use crate::library::did_you_mean;
use crate::quantity::Quantity;
use evenair_scenario::Resolved;
use serde::Deserialize;
use std::fmt;
use std::path::Path;

/// What is wrong with a study file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyError {
    /// The study.
    pub id: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for StudyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "study {}: {}", self.id, self.message)
    }
}

impl std::error::Error for StudyError {}

impl Study {
    /// Reads a study from its text.
    ///
    /// # Errors
    /// Names the line, or the variant that a claim or figure refers to and that is not there.
    pub fn parse(id: &str, text: &str) -> Result<Self, StudyError> {
        let study = Self::checked(id, text)?;
        if study.id != id {
            return Err(StudyError { id: id.into(), message: format!("the file calls itself {}", study.id) });
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
            .map_err(|e| StudyError { id: file.clone(), message: format!("cannot be read: {e}") })?;
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut study = Self::checked(&name, &text).map_err(|e| StudyError { id: file, ..e })?;
        study.origin.folder = Some(path.parent().map(Path::to_path_buf).unwrap_or_default());
        Ok(study)
    }

    /// Reads a study, which has this id if it names none.
    fn checked(id: &str, text: &str) -> Result<Self, StudyError> {
        let fail = |message: String| StudyError { id: id.into(), message };
        let mut study = Self::read(text).map_err(fail)?;
        if study.id.is_empty() {
            study.id = id.into();
        }
        study.origin.text = text.into();
        study.variants = study.variants.into_iter().flat_map(Variant::expand).collect();
        // Figures and the baseline may name all points of a sweep by its id.
        let known = |id: &str| study.variants.iter().any(|variant| variant.is_named(id));
        let named = study
            .values()
            .map(|v| &v.variant)
            .chain(study.published.iter().map(|p| &p.variant))
            .chain(study.figures.iter().flat_map(|f| &f.variants))
            .chain(study.tables.iter().flat_map(|t| &t.variants))
            .chain(&study.baseline);
        for variant in named {
            if !known(variant) {
                return Err(fail(format!("there is no variant \"{variant}\"")));
            }
        }
        let of_values = study.values().map(|v| (v.quantity(), v.flow.as_deref()));
        let of_published = study.published.iter().map(|p| (p.quantity(), p.flow.as_deref()));
        let of_figures = study.figures.iter().map(|f| (f.quantity(), Some("")));
        let of_tables = study.tables.iter().flat_map(|t| &t.metrics).map(|&quantity| (quantity, None));
        if let Some(mistake) = of_values
            .chain(of_published)
            .chain(of_figures)
            .chain(of_tables)
            .find_map(|(quantity, flow)| quantity.mistake(flow))
        {
            return Err(fail(mistake));
        }
        study.check_pools().map_err(fail)?;
        if study.seeds == 0 || study.quick.seeds == 0 || study.variants.is_empty() {
            return Err(fail("needs at least one seed and one variant".into()));
        }
        Ok(study)
    }

    fn check_pools(&self) -> Result<(), String> {
        let pooled = |id: &str| self.variants.iter().any(|v| v.id == id && v.is_pooled());
        if let Some(variant) = self.variants.iter().find(|v| v.scenario.is_empty() != v.is_pooled()) {
            return Err(format!("variant {}: give one of scenario and scenarios", variant.id));
        }
        let of_values = self.values().filter(|v| v.flow.is_some()).map(|v| &v.variant);
        let of_published = self.published.iter().filter(|p| p.flow.is_some()).map(|p| &p.variant);
        if let Some(id) = of_values.chain(of_published).find(|id| pooled(id)) {
            return Err(format!("variant {id} has a pool of scenarios, and no flow is in all of them"));
        }
        if self.precision.is_some() && self.variants.iter().any(Variant::is_pooled) {
            return Err("a precision is one of flows, and pools of scenarios have none in common".into());
        }
        Ok(())
    }

    fn read(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        if !each::repeats(&table) {
            // Read once more from the text, because then a mistake's line is known.
            return toml::from_str(text).map_err(|e| e.to_string());
        }
        Self::deserialize(each::written_out(table)?).map_err(|e| e.to_string())
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
            let meant = did_you_mean(id, crate::study_ids())
                .unwrap_or_else(|| "`evenair list studies` names all that are built in".into());
            let message = format!("there is no such study, and no such file; {meant}");
            return Err(StudyError { id: id.into(), message });
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
    pub(crate) fn scenario(&self, id: &str, changes: &[String]) -> Result<Resolved, String> {
        crate::scenario(id, self.origin.folder.as_deref(), changes).map_err(|e| e.to_string())
    }

    /// Keeps some variants, and what is told of them alone.
    ///
    /// # Errors
    /// If there is no variant of a name.
    pub fn keep(&mut self, names: &[String]) -> Result<(), StudyError> {
        if let Some(name) = names.iter().find(|name| !self.variants.iter().any(|v| v.is_named(name))) {
            let ids: Vec<_> = self.variants.iter().map(|v| v.id.as_str()).collect();
            let message = format!("there is no variant \"{name}\"; there are {}", ids.join(", "));
            return Err(StudyError { id: self.id.clone(), message });
        }
        self.variants.retain(|variant| names.iter().any(|name| variant.is_named(name)));
        let kept = |id: &String| self.variants.iter().any(|variant| variant.is_named(id));
        self.claims.retain(|claim| claim.values().all(|value| kept(&value.variant)));
        self.published.retain(|published| kept(&published.variant));
        // Who names none draws all that there are.
        let keep_some = |variants: &mut Vec<String>| {
            let named = !variants.is_empty();
            variants.retain(&kept);
            !named || !variants.is_empty()
        };
        self.figures.retain_mut(|figure| keep_some(&mut figure.variants));
        self.tables.retain_mut(|table| keep_some(&mut table.variants));
        self.baseline = self.baseline.take().filter(kept);
        Ok(())
    }
}
