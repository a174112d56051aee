//! Control laws by name, with keys set one by one.

use crate::meant::did_you_mean;
use evenair_laws::Family;
use evenair_units::plain_message;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

/// Earlier names of laws, and their names.
const RENAMED: [(&str, &str); 2] = [("fair", "rtt-proportional"), ("e-multcp", "iimd")];

/// Returns the names of a family's laws, in the order of the family.
pub fn names<P: Family + Serialize>() -> Vec<String> {
    let name = |law: P| Some(Table::try_from(law).ok()?.get("law")?.as_str()?.to_string());
    P::laws().into_iter().filter_map(name).collect()
}

/// Returns a law with its defaults.
///
/// # Errors
/// If the family has no law of this name; the message has the likely one.
pub fn named<P: Family + Serialize>(name: &str) -> Result<P, String> {
    let names = names::<P>();
    match names.iter().position(|known| known == name) {
        Some(number) => Ok(P::laws().swap_remove(number)),
        None => Err(unknown(name, &names)),
    }
}

/// Returns the message for a name that is not among the known ones.
pub fn unknown<Name: AsRef<str>>(name: &str, known: &[Name]) -> String {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let renamed = RENAMED.into_iter().find(|(earlier, now)| *earlier == name && known.contains(now));
    let instead = match renamed {
        Some((_, now)) => format!("it is called {now}"),
        None => did_you_mean(name, &known).unwrap_or_else(|| format!("there are {}", known.join(", "))),
    };
    format!("there is no law `{name}`; {instead}")
}

/// Returns a law with some of its keys set, named as in `evenair list laws`.
///
/// # Errors
/// If the law does not accept a key or value, which the message names.
pub fn with_keys<P>(law: P, keys: &Table) -> Result<P, String>
where
    P: Family + Serialize + DeserializeOwned,
{
    let mut law = law;
    let mut table = Table::try_from(&law).map_err(|error| error.to_string())?;
    let name = table.get("law").and_then(toml::Value::as_str).unwrap_or_default().to_string();
    for (key, value) in keys {
        if key == "law" {
            return Err("law: it is named outside of its own table".into());
        }
        table.insert(key.clone(), value.clone());
        // Keys are set one by one, so that an error names its key.
        law = table.clone().try_into().map_err(|error: toml::de::Error| {
            let message = crate::meant::explained(plain_message(error.message()));
            format!("law {name}: {key}: {message}")
        })?;
    }
    law.validated().map_err(|error| format!("law {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_laws::connections::ConnectionParams;

    #[test]
    fn law_is_found_by_its_name_alone() {
        for name in names::<ConnectionParams>() {
            let law: ConnectionParams = named(&name).unwrap();
            assert!(with_keys(law, &Table::new()).is_ok(), "{name}");
        }
        let message = |name| named::<ConnectionParams>(name).unwrap_err();
        assert_eq!(message("fair"), "there is no law `fair`; it is called rtt-proportional");
        assert_eq!(message("e-multcp"), "there is no law `e-multcp`; it is called iimd");
        assert_eq!(message("gaurded"), "there is no law `gaurded`; did you mean guarded?");
        assert!(message("x").starts_with("there is no law `x`; there are rtt-proportional, iimd, "));
    }

    #[test]
    fn mistake_names_law_and_key() {
        let with = |name, keys: &str| {
            with_keys::<ConnectionParams>(named(name).unwrap(), &keys.parse().unwrap()).unwrap_err()
        };
        assert!(with("guarded", "gama = 0.3").contains("unknown field `gama`; did you mean gamma?"));
        assert!(with("guarded", "gamma = -1").contains("gamma"));
        let expected = "law guarded: gamma: invalid type: string \"x\", expected a number";
        assert_eq!(with("guarded", "max = 8\ngamma = 'x'"), expected);
        assert!(with("fixed", "law = 'iimd'").contains("outside of its own table"));
    }
}
