//! A quantity in one word: `delay-p95`, `ack-aggressiveness-deviation@100s..300s`.

use super::{Of, Quantity, Statistic};
use crate::metric::Metric;
use evenair_scenario::Time;
use evenair_units::Duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.of == Of::Acks { "ack-" } else { "" };
        write!(f, "{of}{}", self.metric.name())?;
        if self.statistic != Statistic::Mean {
            write!(f, "-{}", self.statistic)?;
        }
        if self.from.is_none() && self.to.is_none() {
            return Ok(());
        }
        let time =
            |time: Option<Duration>| time.map_or_else(String::new, |t| format!("{}s", t.as_secs_f64()));
        write!(f, "@{}..{}", time(self.from), time(self.to))
    }
}

/// Reads the form that `Display` writes.
impl FromStr for Quantity {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let (what, when) = word.split_once('@').map_or((word, None), |(what, when)| (what, Some(when)));
        let mut quantity = match of_any_packets(what) {
            Some(quantity) => quantity,
            None => what.parse::<Metric>()?.into(), // says why
        };
        if let Some(when) = when {
            let (from, to) = when
                .split_once("..")
                .ok_or_else(|| format!("\"{word}\": write the time as FROM..TO, such as 100s..300s"))?;
            let time = |text: &str| match text {
                "" => Ok(None),
                text => text.parse::<Time>().map(|time| Some(time.0)).map_err(|e| format!("\"{word}\": {e}")),
            };
            (quantity.from, quantity.to) = (time(from)?, time(to)?);
        }
        Ok(quantity)
    }
}

/// A metric, perhaps of acknowledgements, with a statistic perhaps.
fn of_any_packets(word: &str) -> Option<Quantity> {
    let of_acks = || Some(Quantity { of: Of::Acks, ..with_statistic(word.strip_prefix("ack-")?)? });
    with_statistic(word).or_else(of_acks)
}

fn with_statistic(word: &str) -> Option<Quantity> {
    if let Ok(metric) = word.parse::<Metric>() {
        return Some(metric.into());
    }
    let (name, statistic) = word.rsplit_once('-')?;
    Some(Quantity { statistic: statistic.parse().ok()?, ..name.parse::<Metric>().ok()?.into() })
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        for word in [
            "delay",
            "delay-p95",
            "ack-waiting-p99.9",
            "ack-aggressiveness-deviation@100s..300s",
            "backlog-p50@..20s",
            "goodput-kbps-spread",
            "goodput-kbps-least@2.5s..",
        ] {
            assert_eq!(word.parse::<Quantity>().unwrap().to_string(), word);
        }
        assert_eq!("ack-loss".parse::<Quantity>().unwrap().of, Of::Acks);
        let every = Metric::all().map(Quantity::from);
        every.for_each(|quantity| assert_eq!(quantity.to_string().parse(), Ok(quantity)));
    }

    #[test]
    fn misspelt_word_gets_suggestion() {
        let why = |word: &str| word.parse::<Quantity>().unwrap_err();
        assert!(why("dealy").contains("did you mean delay?"), "{}", why("dealy"));
        for percentile in ["delay-p0", "delay-p100", "delay-p.5", "delay-p99.999", "delay-p+5", "delay-95"] {
            assert!(why(percentile).contains("there is no metric"), "{percentile}");
        }
        assert!(why("delay@10s").contains("FROM..TO"));
        assert!(why("delay@x..2s").contains("\"delay@x..2s\""), "{}", why("delay@x..2s"));
    }
}
