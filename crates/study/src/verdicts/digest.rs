//! Digests of a variant's runs: of its scenario, and of its first simulated seconds.
//!
//! The program itself is no part of it: most of its changes leave every run as it was, to the last bit. The effect of a change of
//! laws, MAC or TCP on a run shows in the trajectory of its beginning.

use crate::language::{Study, Variant};
use crate::sweep::{Case, Sweep, SweepError};
use crate::world::World;
use evenair_netsim::{Network, RunSpec};
use evenair_scenario::Resolved;
use evenair_units::Duration;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

/// How much of a run its trajectory is of.
const BEGINNING: Duration = Duration::from_secs(5);
/// Keys of scenarios that are read by people alone.
const PROSE: [&str; 2] = ["name", "description"];

/// The identity of a variant's runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Digest {
    /// Of world, scenarios and changes, as they are written: a default that is new changes nothing.
    pub scenario: String,
    /// The fingerprint of the first five seconds of seed 1; none where no packets are simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<String>,
}

/// The digests of a study's variants, over all cores.
///
/// # Errors
/// As [`Sweep::new`].
pub fn digests(study: &Study) -> Result<BTreeMap<String, Digest>, SweepError> {
    let sweep = Sweep::new(study, false)?;
    let of = |(variant, case): (&Variant, &Case)| (variant.id.clone(), Digest::of(study, variant, case));
    Ok(study.variants.par_iter().zip(&sweep.cases).map(of).collect())
}

impl Digest {
    fn of(study: &Study, variant: &Variant, case: &Case) -> Self {
        let texts: Vec<toml::Table> =
            variant.scenario_ids().into_iter().map(|id| without_prose(study, id)).collect();
        let world = variant.world.name();
        let written = serde_json::to_string(&(world, texts, &study.set, &variant.set));
        let written = written.expect("tables are plain data");
        let hash = format!("{:x}", Sha256::digest(written));
        let beginning = matches!(case.world, World::Packets).then(|| beginning(&case.scenarios[0]));
        Self { scenario: hash[..12].into(), beginning }
    }
}

fn without_prose(study: &Study, id: &str) -> toml::Table {
    let text = study.scenario_text(id).unwrap_or_default();
    let mut table: toml::Table = text.parse().unwrap_or_default();
    PROSE.iter().for_each(|key| drop(table.remove(*key)));
    sorted(table)
}

/// The same with all keys in order: their order in the text makes no difference.
fn sorted(table: toml::Table) -> toml::Table {
    let in_order: BTreeMap<String, toml::Value> = table.into_iter().collect();
    in_order.into_iter().map(|(key, value)| (key, sorted_value(value))).collect()
}

fn sorted_value(value: toml::Value) -> toml::Value {
    match value {
        toml::Value::Table(table) => toml::Value::Table(sorted(table)),
        toml::Value::Array(values) => toml::Value::Array(values.into_iter().map(sorted_value).collect()),
        plain => plain,
    }
}

fn beginning(scenario: &Resolved) -> String {
    let spec = RunSpec { warmup: Duration::ZERO, duration: BEGINNING, ..scenario.run_spec(1) };
    Network::run(scenario.network(), spec).fingerprint.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(set: &str, scenario: &str) -> Digest {
        let text = format!(
            "title = \"One\"\nvariants = [{{ id = \"one\", label = \"One\", scenario = \"{scenario}\", set = [{set}] }}]"
        );
        digests(&Study::checked("one", "one", &text).unwrap()).unwrap()["one"].clone()
    }

    #[test]
    fn order_of_keys_changes_no_digest() {
        let texts = [
            "b = 1\nc = [{ e = 1, d = 2 }]\n[a]\ng = 1\nf = 2",
            "c = [{ d = 2, e = 1 }]\nb = 1\n[a]\nf = 2\ng = 1",
        ];
        let [one, other] = texts.map(|text| serde_json::to_string(&sorted(text.parse().unwrap())).unwrap());
        assert_eq!(one, other);
        assert_eq!(one, r#"{"a":{"f":2,"g":1},"b":1,"c":[{"d":2,"e":1}]}"#);
    }

    #[test]
    fn digest_differs_by_scenario_and_trajectory() {
        let plain = digest("", "chen10/a");
        assert_eq!(plain, digest("", "chen10/a"));
        assert_ne!(plain.scenario, digest("", "chen10/b").scenario);
        let longer = digest("'duration=900 s'", "chen10/a");
        assert_ne!(plain.scenario, longer.scenario, "what is written differs");
        assert_eq!(plain.beginning, longer.beginning, "and the first seconds do not");
        let law = digest("'backoff.law=adaptive'", "chen10/a");
        assert!(plain.beginning.is_some() && plain.beginning != law.beginning);
    }
}
