//! `evenair list laws`.

use super::{ListOptions, told};
use crate::output::print;
use crate::{terminal, text};
use anyhow::{Result, bail};
use evenair_scenario::{ListedFamily, ListedLaw};
use serde_json::Value;
use wildmatch::WildMatch;

pub(super) fn laws(options: &ListOptions) -> Result<()> {
    let mut families = evenair_scenario::laws();
    if !options.names.is_empty() {
        let known: Vec<String> =
            families.iter().flat_map(|f| f.laws.iter().map(|law| law.name.clone())).collect();
        // A family's name stands for all of its laws.
        let named = |word: &str| options.names.iter().any(|name| WildMatch::new(name).matches(word));
        let has_name =
            |family: &ListedFamily| named(family.family) || family.laws.iter().any(|law| named(&law.name));
        let by_name = families.iter().any(has_name);
        let does = |law: &ListedLaw| {
            let does = law.does.to_lowercase();
            options.names.iter().any(|name| does.contains(&name.to_lowercase()))
        };
        for family in families.iter_mut().filter(|family| !named(family.family)) {
            family.laws.retain(|law| if by_name { named(&law.name) } else { does(law) });
        }
        families.retain(|family| !family.laws.is_empty());
        if families.is_empty() {
            let names = options.names.join(" ");
            bail!("there is no law and no family \"{names}\"; laws are {}", known.join(", "));
        }
    }
    if options.json {
        return print(&told("laws", serde_json::to_value(&families)?));
    }
    print(&families.iter().map(of_family).collect::<String>())
}

fn of_family(family: &ListedFamily) -> String {
    let ListedFamily { family: name, decides, key, laws } = family;
    let mut out =
        text::wrapped(&format!("{name}: "), &format!("{decides} ({key} = \"NAME\")"), terminal::width());
    for law in laws {
        out += &of_law(law);
    }
    out + "\n"
}

fn of_law(law: &ListedLaw) -> String {
    let ListedLaw { name, does, source, media, traffic, parameters } = law;
    let mut out = format!("\n  {name}\n");
    out += &text::wrapped("    ", does, terminal::width());
    out += &text::wrapped("    from  ", source, terminal::width());
    if !media.is_empty() {
        let over = format!("over {}; for {} traffic", media.join(", "), traffic.join(", "));
        out += &text::wrapped("    runs  ", &over, terminal::width());
    }
    let shown: Vec<(&str, String, String)> = parameters
        .iter()
        .map(|p| {
            let unit = p.unit.as_ref().map(|unit| format!(" [{unit}]"));
            // A number or a time shows its form by its default; words are listed.
            let words = if p.kind.contains(" | ") && !p.default.is_boolean() { &p.kind } else { "" };
            let means = p.means.strip_suffix('.').unwrap_or(&p.means);
            let means =
                unit.as_ref().map_or(means, |unit| means.strip_suffix(unit.as_str()).unwrap_or(means));
            let words = if words.is_empty() { String::new() } else { format!(" ({words})") };
            (p.key.as_str(), default(&p.default) + &unit.unwrap_or_default(), format!("{means}{words}"))
        })
        .collect();
    let widest = |of: fn(&(&str, String, String)) -> usize| shown.iter().map(of).max().unwrap_or(0);
    let (keys, defaults) = (widest(|p| p.0.chars().count()), widest(|p| p.1.chars().count()));
    for (key, default, means) in &shown {
        out += &text::wrapped(&format!("      {key:keys$}  {default:defaults$}  "), means, terminal::width());
    }
    out
}

/// A default as it would be written; none is a dash.
fn default(value: &Value) -> String {
    match value {
        Value::Null => "–".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_f64().map_or_else(|| number.to_string(), short),
        other => other.to_string(),
    }
}

/// As few digits as say it to four.
fn short(x: f64) -> String {
    let plain = format!("{x}");
    if plain.len() <= 8 { plain } else { format!("{x:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn defaults_read_as_they_are_written() {
        let cases = [(json!(10.0), "10"), (json!("5 s"), "5 s"), (Value::Null, "–"), (json!(false), "false")];
        for (value, expected) in cases {
            assert_eq!(default(&value), expected);
        }
        assert_eq!(default(&json!(7.272_727_272_727_273e-5)), "7.273e-5");
    }

    #[test]
    fn every_law_fits_a_hundred_columns() {
        let text: String = evenair_scenario::laws().iter().map(of_family).collect();
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > terminal::width()).collect();
        assert!(long.is_empty() && text.contains("delay-price"), "{long:?}");
    }
}
