//! Metrics and worlds by their words, as on a command line.

use crate::metric::Metric;
use crate::world::World;
use evenair_service::meant::did_you_mean;
use std::str::FromStr;

/// Metrics by names that they have elsewhere.
const OTHERWISE: [(&str, &str); 12] = [
    ("throughput", "goodput"),
    ("rate", "goodput"),
    ("bandwidth", "goodput-kbps"),
    ("bitrate", "goodput-kbps"),
    ("latency", "delay"),
    ("rtt", "round-trip"),
    ("cwnd", "congestion-window"),
    ("window", "congestion-window"),
    ("queue", "backlog"),
    ("queue-length", "backlog"),
    ("collisions", "frame-loss"),
    ("fct", "completion-time"),
];

/// The metric that a word of other programs means.
fn called_otherwise(word: &str) -> Option<String> {
    let lower = word.to_lowercase().replace('_', "-");
    let name = OTHERWISE.iter().find(|(other, _)| *other == lower).map(|(_, name)| *name)?;
    Some(format!("did you mean {name}?"))
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::all().find(|metric| metric.name() == word).ok_or_else(|| {
            let meant = called_otherwise(word).or_else(|| did_you_mean(word, Self::all().map(Self::name)));
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
    fn names_of_other_programs_lead_to_metrics() {
        for (word, name) in OTHERWISE {
            assert!(name.parse::<Metric>().is_ok(), "{name}");
            let why = word.parse::<Metric>().unwrap_err();
            assert!(why.ends_with(&format!("did you mean {name}?")), "{why}");
        }
    }

    #[test]
    fn misspelt_word_gets_suggestion() {
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
