//! A parser of Prometheus' text format, stricter than the format: it also checks the names and the order
//! that [`Metrics`](super::Metrics) promises.

use std::collections::{BTreeMap, BTreeSet};

/// Returns type and number of samples of each family of a text with this prefix.
///
/// # Errors
/// If the text breaks a rule of the format or of naming.
pub fn families(text: &str, prefix: &str) -> Result<BTreeMap<String, (String, usize)>, String> {
    let mut families: BTreeMap<String, (String, usize)> = BTreeMap::new();
    let (mut helped, mut current, mut seen) = (String::new(), String::new(), BTreeSet::new());
    if !text.is_empty() && !text.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    for line in text.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(help) = line.strip_prefix("# HELP ") {
            let Some((name, words)) = help.split_once(' ') else { return wrong("no help") };
            if !words.ends_with('.') || words.contains('\\') {
                return wrong("help is a sentence");
            }
            helped = name.into();
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = kind.split_once(' ') else { return wrong("no type") };
            if name != helped || families.contains_key(name) {
                return wrong("a type stands once, behind its help");
            }
            if (kind == "counter") != name.ends_with("_total") || !matches!(kind, "counter" | "gauge") {
                return wrong("counters, and they alone, end in _total");
            }
            let units = ["bits", "kilobytes", "milliseconds", "percent", "minutes"];
            if name.split('_').any(|word| units.contains(&word)) || !name.starts_with(prefix) {
                return wrong("base units, and the program's own prefix");
            }
            current = name.into();
            families.insert(current.clone(), (kind.into(), 0));
        } else {
            let (series, value) = sample(line)?;
            let name = series.split('{').next().unwrap_or_default();
            if name != current || !seen.insert(series.clone()) {
                return wrong("a family's samples stand together, each once");
            }
            if families[name].0 == "counter" && value < 0.0 {
                return wrong("a counter below zero");
            }
            families.entry(name.into()).and_modify(|family| family.1 += 1);
        }
    }
    Ok(families)
}

/// Parses `name{label="value",…} number`; returns the text before the number, and the number.
fn sample(line: &str) -> Result<(String, f64), String> {
    let wrong = |why: &str| format!("{why}: {line}");
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let end = line.find(['{', ' ']).ok_or_else(|| wrong("no value"))?;
    if !is_name(&line[..end]) {
        return Err(wrong("no name"));
    }
    let mut rest = &line[end..];
    if let Some(mut labels) = rest.strip_prefix('{') {
        loop {
            let (name, after) = labels.split_once("=\"").ok_or_else(|| wrong("no label"))?;
            if !is_name(name) {
                return Err(wrong("no label's name"));
            }
            let (mut escapes, mut close) = (false, None);
            for (i, c) in after.char_indices() {
                match c {
                    _ if escapes && !matches!(c, '\\' | '"' | 'n') => return Err(wrong("no such escape")),
                    _ if escapes => escapes = false,
                    '\\' => escapes = true,
                    '"' => {
                        close = Some(i);
                        break;
                    }
                    _ => (),
                }
            }
            labels = &after[close.ok_or_else(|| wrong("a value without end"))? + 1..];
            match labels.strip_prefix(',') {
                Some(next) => labels = next,
                None => break,
            }
        }
        rest = labels.strip_prefix('}').ok_or_else(|| wrong("labels without end"))?;
    }
    let value = rest.strip_prefix(' ').ok_or_else(|| wrong("no value"))?;
    let number = value.parse().map_err(|_| wrong("no number"))?;
    Ok((line[..line.len() - value.len() - 1].into(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breach_of_format_is_an_error() {
        let good = "# HELP evenair_x A thing.\n# TYPE evenair_x gauge\nevenair_x{a=\"b\"} 1\n";
        assert!(families(good, "evenair_").is_ok());
        for (from, to) in [
            (" 1\n", " one\n"),
            (" 1\n", " 1"),
            ("{a=\"b\"}", "{a=\"b}"),
            ("{a=\"b\"}", "{a=\"\\x\"}"),
            ("{a=\"b\"}", "{A=\"b\"}"),
            (" gauge", " counter"),
            ("evenair_", "other_"),
            (" gauge", " thing"),
            ("_x", "_x_bits"),
            ("# TYPE", "# KIND"),
            ("evenair_x{", "evenair_y{"),
            ("evenair_x{a=\"b\"} 1\n", "evenair_x 1\nevenair_x 1\n"),
        ] {
            assert!(families(&good.replace(from, to), "evenair_").is_err(), "{}", good.replace(from, to));
        }
    }
}
