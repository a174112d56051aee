//! Numbers as a study's author wrote them: a bound of 0.70 says more than one of 0.7.

use crate::language::{Claim, Holds, Sampled, Study};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A number and how it is written.
pub(crate) type Written = (f64, String);

/// Keeps with each claim its entry's numbers as written in the file: its bounds first, then the keys repeated with it.
pub(crate) fn remember(study: &mut Study) {
    let Ok(table) = DeTable::parse(&study.origin.text) else { return };
    let Some(DeValue::Array(entries)) = table.get_ref().get("claims").map(Spanned::get_ref) else {
        return;
    };
    let places = study.origin.places.get("claims");
    for (i, claim) in study.claims.iter_mut().enumerate() {
        let place = places.and_then(|places| places.get(i)).copied().unwrap_or(i);
        let Some(DeValue::Table(entry)) = entries.get(place).map(Spanned::get_ref) else { continue };
        for key in ["holds", "each"] {
            if let Some(value) = entry.get(key) {
                collect(value.get_ref(), &mut claim.written);
            }
        }
    }
}

fn collect(value: &DeValue<'_>, written: &mut Vec<Written>) {
    match value {
        DeValue::Float(number) => {
            written.extend(number.as_str().parse().ok().map(|x| (x, number.as_str().into())));
        }
        DeValue::Array(values) => values.iter().for_each(|value| collect(value.get_ref(), written)),
        DeValue::Table(table) => table.values().for_each(|value| collect(value.get_ref(), written)),
        _ => (),
    }
}

impl Claim {
    /// The condition under which it holds, with the author's digits; of a study's printed numbers, which are means of so many runs.
    pub(crate) fn required(&self, runs: Option<u32>) -> String {
        let bounds = self.bounds_written();
        match self.runs(runs) {
            None => bounds,
            Some(1) => format!("{bounds} in a run"),
            Some(runs) => format!("{bounds} in a mean of {runs} runs"),
        }
    }

    fn bounds_written(&self) -> String {
        let number = |x: f64| {
            let mut written = self.written.iter();
            written
                .find(|(value, _)| value.total_cmp(&x).is_eq())
                .map_or_else(|| x.to_string(), |(_, text)| text.clone())
        };
        match self.holds {
            Holds::Below(limit) => format!("below {}", number(limit)),
            Holds::Above(limit) => format!("above {}", number(limit)),
            Holds::Within([low, high]) => format!("{} to {}", number(low), number(high)),
            Holds::Like(Sampled { mean, deviation, samples }) => {
                format!("like {} ({}) over {samples}", number(mean), number(deviation))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Claim, Study};

    #[test]
    fn bounds_are_told_with_the_authors_digits() {
        let text = r#"
            title = "Digits"
            variants = [{ id = "one", label = "One", scenario = "chen10/a" }]

            [[claims]]
            text = "A"
            value = { metric = "goodput", variant = "one" }
            holds = { within = [0.70, 0.8] }

            [[claims]]
            text = "B {flow}"
            value = { metric = "goodput", variant = "one", flow = "{flow}" }
            holds = { above = "{least}" }
            each = [{ flow = "1", least = 3.50 }, { flow = "2", least = 4 }]

            [[claims]]
            text = "C"
            value = { metric = "goodput", variant = "one" }
            holds = { below = 1e-3 }
        "#;
        let mut study = Study::checked("digits", "digits", text).unwrap();
        let told = |study: &Study| {
            study.claims.iter().map(|claim: &Claim| claim.required(study.runs)).collect::<Vec<_>>()
        };
        assert_eq!(told(&study), ["0.70 to 0.8", "above 3.50", "above 4", "below 1e-3"]);
        study.keep(&["one".into()]).unwrap();
        assert_eq!(told(&study)[0], "0.70 to 0.8");
    }
}
