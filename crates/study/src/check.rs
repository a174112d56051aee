//! The mistakes that a well-formed study can have: names of nothing, and metrics that cannot be measured.

use crate::language::{Holds, Study, Value, Variant};
use crate::library::did_you_mean;
use crate::metric::flows_named;
use crate::quantity::Quantity;
use crate::read::StudyError;
use crate::sweep::Case;
use crate::world::World;
use evenair_scenario::KeyPath;

/// A mistake, and the key at which it is.
pub(crate) struct Mistake {
    pub(crate) key: KeyPath,
    pub(crate) message: String,
}

/// A number that is told of: where, of which variant, what, and of which flow.
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
            .or_else(|| self.unknown_variant())
            .or_else(|| self.unmeasurable())
            .or_else(|| self.empty_bounds())
            .or_else(|| self.mistake_of_pools())
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
            _ => None,
        })
    }

    fn mistake_of_pools(&self) -> Option<Mistake> {
        let pooled = |id: &str| self.variants.iter().any(|v| v.id == id && v.is_pooled());
        if let Some(variant) = self.variants.iter().find(|v| v.scenario.is_empty() != v.is_pooled()) {
            let message = format!("variant {}: give one of scenario and scenarios", variant.id);
            return Some(Mistake { key: KeyPath::entry("variants", variant.number, "scenarios"), message });
        }
        if let Some((key, id, ..)) = self.told().find(|(_, id, _, flow)| flow.is_some() && pooled(id)) {
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
                let message = format!("variant {id} has no flow \"{flow}\"; there are {}", names.join(", "));
                return Err(self.fault(key.then("flow"), message));
            }
        }
        Ok(())
    }
}
