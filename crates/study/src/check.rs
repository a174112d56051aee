//! The mistakes that a well-formed study can have: names of nothing, and metrics that cannot be measured.

use crate::causes;
use crate::language::{Holds, Study, Value, Variant};
use crate::metric::flows_named;
use crate::quantity::Quantity;
use crate::sweep::Case;
use crate::world::World;
use evenair_results::file_name_fault;
use evenair_service::KeyPath;
use evenair_service::Mistake as StudyError;
use evenair_service::meant::did_you_mean;
use std::collections::BTreeMap;

/// A mistake, and the key at which it is.
pub(crate) struct Mistake {
    pub(crate) key: KeyPath,
    pub(crate) message: String,
}

/// A quantity that the study asks for: its key, the variant, the quantity and the flow.
type Told<'a> = (KeyPath, &'a str, Quantity, Option<&'a str>);

impl Study {
    /// The first mistake, if there is any. No scenario is looked at.
    pub(crate) fn mistake(&self) -> Option<Mistake> {
        let zero = |seeds: u32, key: &str| {
            (seeds == 0).then(|| Mistake { key: KeyPath::key(key), message: "must be at least 1".into() })
        };
        let nothing = || {
            let message = "there is nothing to run: name at least one variant".into();
            self.variants.is_empty().then(|| Mistake { key: KeyPath::key("variants"), message })
        };
        zero(self.seeds, "seeds")
            .or_else(|| zero(self.quick.seeds, "quick.seeds"))
            .or_else(nothing)
            .or_else(|| self.unusable_id())
            .or_else(|| self.unknown_variant())
            .or_else(|| self.unmeasurable())
            .or_else(|| self.no_number())
            .or_else(|| self.empty_bounds())
            .or_else(|| self.told_twice())
            .or_else(|| self.unknown_cause())
            .or_else(|| self.mistake_of_pools())
    }

    /// Ids become names of files: the study's, and those of the variants, which must differ also on disks that know no capitals.
    fn unusable_id(&self) -> Option<Mistake> {
        if let Some(why) = self.id.split('/').find_map(file_name_fault) {
            let message = format!("\"{}\" {why}; it names files", self.id);
            return Some(Mistake { key: KeyPath::key("id"), message });
        }
        let mut taken: BTreeMap<String, &Variant> = BTreeMap::new();
        self.variants.iter().find_map(|variant| {
            let id = &variant.id;
            let key = KeyPath::entry("variants", variant.number, "id");
            if let Some(why) = file_name_fault(id) {
                return Some(Mistake { key, message: format!("\"{id}\" {why}; files are called by it") });
            }
            let pool = variant.scenarios.len();
            let files =
                if pool > 1 { (1..=pool).map(|k| format!("{id}.{k}")).collect() } else { vec![id.clone()] };
            let other = files.into_iter().find_map(|file| taken.insert(file.to_lowercase(), variant))?;
            let place = self.fault(KeyPath::entry("variants", other.number, "id"), String::new());
            let line = place.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            let there =
                place.key.and_then(|key| key.parent()).map_or_else(String::new, |key| key.to_string());
            let message = match (other.number == variant.number, other.id == *id) {
                (true, _) => format!("its sweep has the value of \"{id}\" twice"),
                (_, true) => format!("\"{id}\" is the id of {there}{line}, too; ids must differ"),
                _ => format!("\"{id}\" and \"{}\" of {there}{line} would name the same file", other.id),
            };
            Some(Mistake { key, message })
        })
    }

    /// Numbers are finite: TOML knows `nan` and `inf`, too.
    fn no_number(&self) -> Option<Mistake> {
        let single = [("precision", self.precision), ("utility_unit", Some(self.utility_unit))];
        let single = single.into_iter().filter_map(|(key, x)| Some((KeyPath::key(key), x?)));
        let of_claims = self.claims.iter().enumerate().flat_map(|(i, claim)| {
            let key = move |name| KeyPath::entry("claims", i, name);
            let bounds = claim.holds.bounds().into_iter().map(move |x| (key("holds"), x));
            let paper = claim.paper.map(|x| (key("paper"), x));
            let reference = claim.reference.as_ref().map(|r| (key("reference").then("value"), r.value));
            bounds.chain(paper).chain(reference)
        });
        let of_papers = self.published.iter().enumerate();
        let of_papers = of_papers.map(|(i, p)| (KeyPath::entry("published", i, "value"), p.value));
        let of_sweeps = self.variants.iter().filter_map(|v| {
            let values = KeyPath::entry("variants", v.number, "sweep").then("values");
            Some((values, v.point.as_ref()?.x))
        });
        let (key, x) =
            single.chain(of_claims).chain(of_papers).chain(of_sweeps).find(|(_, x)| !x.is_finite())?;
        Some(Mistake {
            key,
            message: format!("a finite number is needed here, not {}", x.to_string().to_lowercase()),
        })
    }

    /// Of two numbers of one origin for the same the second would never be shown.
    fn told_twice(&self) -> Option<Mistake> {
        let told = |i: usize| {
            let p = &self.published[i];
            (&p.variant, &p.flow, p.quantity(), &p.origin)
        };
        (0..self.published.len()).find_map(|i| {
            let first = (0..i).find(|&j| told(j) == told(i))?;
            let place = self.fault(KeyPath::root().then("published").at(first), String::new());
            let line = place.line.map(|line| format!(" in line {line}")).unwrap_or_default();
            let message = format!("a number for the same is given{line} already; give another origin");
            Some(Mistake { key: KeyPath::root().then("published").at(i), message })
        })
    }

    /// Causes are named as the list of them has it.
    fn unknown_cause(&self) -> Option<Mistake> {
        let of_study = self.cause.iter().map(|cause| (KeyPath::key("cause"), cause));
        let of_claims = self.claims.iter().enumerate();
        let of_claims = of_claims
            .filter_map(|(i, claim)| Some((KeyPath::entry("claims", i, "cause"), claim.cause.as_ref()?)));
        let (key, cause) = of_study.chain(of_claims).find(|(_, cause)| causes::look_up(cause).is_none())?;
        let meant = did_you_mean(cause, causes::entries().iter().map(|cause| cause.id.as_str()));
        let meant = meant.unwrap_or_else(|| "give it in `why`".into());
        Some(Mistake { key, message: format!("there is no cause \"{cause}\"; {meant}") })
    }

    /// Each value that a claim measures, with its place.
    fn placed_values(&self) -> impl Iterator<Item = (KeyPath, &Value)> {
        self.claims.iter().enumerate().flat_map(|(i, claim)| {
            let parts = [
                ("value", Some(&claim.value)),
                ("minus", claim.minus.as_ref()),
                ("over", claim.over.as_ref()),
            ];
            parts
                .into_iter()
                .filter_map(move |(name, value)| Some((KeyPath::entry("claims", i, name), value?)))
        })
    }

    fn told(&self) -> impl Iterator<Item = Told<'_>> {
        let of_claims =
            self.placed_values().map(|(key, v)| (key, &*v.variant, v.quantity(), v.flow.as_deref()));
        let of_papers = self.published.iter().enumerate().map(|(i, p)| {
            let key = KeyPath::root().then("published").at(i);
            (key, &*p.variant, p.quantity(), p.flow.as_deref())
        });
        of_claims.chain(of_papers)
    }

    /// Figures, tables and the baseline may name all points of a sweep by its id.
    fn unknown_variant(&self) -> Option<Mistake> {
        let named =
            |list: &'static str, i: usize| move |(j, id)| (KeyPath::entry(list, i, "variants").at(j), id);
        let of_figures = self.figures.iter().enumerate();
        let of_figures = of_figures.flat_map(|(i, f)| f.variants.iter().enumerate().map(named("figures", i)));
        let of_tables = self.tables.iter().enumerate();
        let of_tables = of_tables.flat_map(|(i, t)| t.variants.iter().enumerate().map(named("tables", i)));
        let baseline = self.baseline.iter().map(|id| (KeyPath::key("baseline"), id));
        let lists = of_figures.chain(of_tables).chain(baseline).map(|(key, id)| (key, id.as_str()));
        let told = self.told().map(|(key, id, ..)| (key.then("variant"), id));
        let (key, id) = told.chain(lists).find(|(_, id)| !self.variants.iter().any(|v| v.is_named(id)))?;
        Some(Mistake { key, message: format!("there is no variant \"{id}\"; {}", self.meant_variant(id)) })
    }

    /// Which variant is meant, or all that there are.
    pub(crate) fn meant_variant(&self, id: &str) -> String {
        let mut ids: Vec<&str> = Vec::new();
        for variant in &self.variants {
            let id = variant.point.as_ref().map_or(&variant.id, |point| &point.curve);
            if !ids.contains(&id.as_str()) {
                ids.push(id);
            }
        }
        did_you_mean(id, ids.iter()).unwrap_or_else(|| format!("there are {}", ids.join(", ")))
    }

    fn unmeasurable(&self) -> Option<Mistake> {
        let told = self.told().map(|(key, _, quantity, flow)| (key.then("metric"), quantity, flow));
        let drawn = self.figures.iter().enumerate();
        let drawn = drawn.map(|(i, f)| (KeyPath::entry("figures", i, "metric"), f.quantity(), Some("")));
        let tables = self.tables.iter().enumerate();
        let tables = tables.flat_map(|(i, table)| {
            let key = move |j| KeyPath::entry("tables", i, "metrics").at(j);
            table.metrics.iter().enumerate().map(move |(j, &quantity)| (key(j), quantity, None))
        });
        told.chain(drawn)
            .chain(tables)
            .find_map(|(key, quantity, flow)| quantity.mistake(flow).map(|message| Mistake { key, message }))
    }

    fn empty_bounds(&self) -> Option<Mistake> {
        self.claims.iter().enumerate().find_map(|(i, claim)| match claim.holds {
            Holds::Within([least, most]) if least > most => {
                let message = format!("nothing is between {least} and {most}: the lesser bound comes first");
                Some(Mistake { key: KeyPath::entry("claims", i, "holds"), message })
            }
            Holds::Like(like) if like.samples < 2 || like.deviation < 0.0 => {
                let message = "a mean of two samples at least has a deviation, of 0 or more".into();
                Some(Mistake { key: KeyPath::entry("claims", i, "holds").then("like"), message })
            }
            Holds::Like(_)
                if !self.is_pooled(&claim.value.variant) || claim.over_seeds != crate::OverSeeds::Mean =>
            {
                let message = "it compares a mean over scenarios: the variant needs a pool of them".into();
                Some(Mistake { key: KeyPath::entry("claims", i, "holds").then("like"), message })
            }
            _ => None,
        })
    }

    fn is_pooled(&self, id: &str) -> bool {
        self.variants.iter().any(|variant| variant.id == id && variant.is_pooled())
    }

    fn mistake_of_pools(&self) -> Option<Mistake> {
        if let Some(variant) = self.variants.iter().find(|v| v.scenario.is_empty() != v.is_pooled()) {
            let message = format!("variant {}: give one of scenario and scenarios", variant.id);
            return Some(Mistake { key: KeyPath::entry("variants", variant.number, "scenarios"), message });
        }
        if let Some((key, id, ..)) = self.told().find(|(_, id, _, flow)| flow.is_some() && self.is_pooled(id))
        {
            let message = format!("variant {id} has a pool of scenarios, and no flow is in all of them");
            return Some(Mistake { key: key.then("flow"), message });
        }
        if self.precision.is_some() && self.variants.iter().any(Variant::is_pooled) {
            let message = "a precision is one of flows, and pools of scenarios have none in common".into();
            return Some(Mistake { key: KeyPath::key("precision"), message });
        }
        None
    }

    /// Looks for the flows that claims and published numbers name in the variants' scenarios.
    ///
    /// # Errors
    /// If one is not there.
    pub(crate) fn find_flows(&self, cases: &[Case]) -> Result<(), StudyError> {
        for (key, id, _, flow) in self.told() {
            let case = cases.iter().find(|case| case.variant == id);
            // Experiments make networks of their own.
            let case = case.filter(|case| !matches!(case.world, World::Experiment(_)));
            let (Some(flow), Some(case)) = (flow, case) else { continue };
            let names: Vec<&str> =
                case.scenarios[0].network().flows.iter().map(|flow| flow.name.as_str()).collect();
            if flows_named(&names, flow).is_empty() {
                let meant =
                    did_you_mean(flow, &names).unwrap_or_else(|| format!("there are {}", names.join(", ")));
                let message = format!("variant {id} has no flow \"{flow}\"; {meant}");
                return Err(self.fault(key.then("flow"), message));
            }
        }
        Ok(())
    }
}
