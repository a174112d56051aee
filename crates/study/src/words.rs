//! Metrics and worlds by their words, as on a command line.

use crate::metric::Metric;
use crate::world::World;
use evenair_service::meant::did_you_mean;
use std::str::FromStr;

impl FromStr for Metric {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::all().find(|metric| metric.name() == word).ok_or_else(|| {
            let meant = did_you_mean(word, Self::all().map(Self::name));
            let meant = meant.unwrap_or_else(|| "`evenair list metrics` shows all".into());
            format!("there is no metric \"{word}\"; {meant}")
        })
    }
}

impl FromStr for World {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let names: Vec<String> = Self::ALL.into_iter().map(Self::name).collect();
        let place = names.iter().position(|name| name == word);
        let known = || format!("there is no world \"{word}\"; there are {}", names.join(", "));
        place.map(|place| Self::ALL[place]).ok_or_else(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_misspelt_is_asked_about() {
        assert_eq!("jain".parse(), Ok(Metric::Jain));
        assert_eq!("clique-error".parse::<Metric>().map(Metric::name).as_deref(), Ok("clique-error"));
        assert_eq!(
            "gooodput".parse::<Metric>().unwrap_err(),
            "there is no metric \"gooodput\"; did you mean goodput?"
        );
        assert_eq!("max-min".parse(), Ok(World::MaxMin));
        let error = "nowhere".parse::<World>().unwrap_err();
        assert!(
            error.starts_with("there is no world \"nowhere\"; there are packets, fluid, fair,"),
            "{error}"
        );
    }
}
