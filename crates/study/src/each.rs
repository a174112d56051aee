//! Repetition in study files: a table with `each` stands for many.
//!
//! `each = { topology = ["a", "b"], flow = ["1", "2"] }` makes four of the table, one per combination;
//! `each = [{ flow = "1", paper = 3.7 }, { flow = "2", paper = 9.4 }]` makes two, one per row. `{flow}` within a text stands
//! for the row's word; a text that is nothing but `"{paper}"` becomes the row's value, a number if it is one. Variants, claims,
//! published numbers and figures can all repeat.

use evenair_service::KeyPath;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Which entry of its list in the file each entry comes from, by list.
pub(crate) type Places = BTreeMap<String, Vec<usize>>;

/// The study with every repetition written out, in order, and where each entry comes from.
///
/// # Errors
/// If `each` is neither lists nor rows, or a table uses a word that its rows do not have: the table, and why.
pub(crate) fn written_out(mut study: Table) -> Result<(Table, Places), (KeyPath, String)> {
    let mut places = Places::new();
    for (name, value) in &mut study {
        let Some(tables) = value.as_array_mut() else { continue };
        let (mut all, mut from) = (Vec::new(), Vec::new());
        for (index, value) in std::mem::take(tables).into_iter().enumerate() {
            match value {
                Value::Table(mut table) => match table.remove("each") {
                    Some(each) => {
                        let wrong = |why| (KeyPath::entry(name, index, "each"), why);
                        all.extend(repeated(&table, &each).map_err(wrong)?);
                    }
                    None => all.push(Value::Table(table)),
                },
                other => all.push(other),
            }
            from.resize(all.len(), index);
        }
        *tables = all;
        places.insert(name.clone(), from);
    }
    Ok((study, places))
}

fn repeated(table: &Table, each: &Value) -> Result<Vec<Value>, String> {
    let rows = rows(each)?;
    let copy = |row: &Table| {
        let filled = filled(&Value::Table(table.clone()), row);
        match left_open(&filled) {
            Some(text) => Err(format!("`each` has no value for the name in braces in \"{text}\"")),
            None => Ok(filled),
        }
    };
    rows.iter().map(copy).collect()
}

/// A row for every combination of lists, which are taken in the order of their names; or the rows as they stand.
fn rows(each: &Value) -> Result<Vec<Table>, String> {
    let wrong = || format!("`each` is a table of lists or a list of tables, not {each}");
    match each {
        Value::Array(rows) => rows.iter().map(|row| row.as_table().cloned().ok_or_else(wrong)).collect(),
        Value::Table(lists) => {
            let mut rows = vec![Table::new()];
            for (name, list) in lists {
                let list = list.as_array().ok_or_else(wrong)?;
                let with = |row: &Table, value: &Value| {
                    let mut row = row.clone();
                    row.insert(name.clone(), value.clone());
                    row
                };
                rows = rows.iter().flat_map(|row| list.iter().map(|value| with(row, value))).collect();
            }
            Ok(rows)
        }
        _ => Err(wrong()),
    }
}

fn filled(value: &Value, row: &Table) -> Value {
    match value {
        Value::String(text) => {
            let whole = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
            if let Some(value) = whole.and_then(|name| row.get(name)) {
                return value.clone();
            }
            let fill = |text: String, (name, value): (&String, &Value)| {
                text.replace(&format!("{{{name}}}"), &word(value))
            };
            Value::String(row.iter().fold(text.clone(), fill))
        }
        Value::Array(values) => Value::Array(values.iter().map(|v| filled(v, row)).collect()),
        Value::Table(table) => {
            Value::Table(table.iter().map(|(key, v)| (key.clone(), filled(v, row))).collect())
        }
        other => other.clone(),
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}

/// A text in which a word in braces was left; `{x}` and `{x+1}` are a sweep's.
fn left_open(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let mut words = text.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(w, _)| w);
            let open = words.any(|w| {
                let plain = w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                plain && !w.is_empty() && w != "x"
            });
            open.then(|| text.clone())
        }
        Value::Array(values) => values.iter().find_map(left_open),
        Value::Table(table) => table.values().find_map(left_open),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Result<Vec<Value>, String> {
        let (study, places) = written_out(text.parse().unwrap()).map_err(|(_, why)| why)?;
        let claims = study["claims"].as_array().unwrap().clone();
        assert_eq!(places["claims"].len(), claims.len());
        Ok(claims)
    }

    #[test]
    fn lists_are_combined_and_rows_kept() {
        let claims = written(
            r#"
            [[claims]]
            each = { topology = ["a", "b"], flow = ["1", "2"] }
            text = "{topology}: link {flow}"
            [[claims]]
            text = "alone"
            [[claims]]
            each = [{ k = 10, paper = 737.0, low = 729.6 }, { k = 28.3, paper = 741.0, low = 733.6 }]
            text = "k = {k}: {paper}"
            paper = "{paper}"
            holds = { within = ["{low}", 750.0] }
            "#,
        )
        .unwrap();
        let texts: Vec<&str> = claims.iter().map(|c| c["text"].as_str().unwrap()).collect();
        let expected =
            ["b: link 1", "b: link 2", "alone", "k = 10: 737", "k = 28.3: 741"].map(str::to_string);
        assert_eq!(texts.len(), 7);
        for text in expected {
            assert!(texts.contains(&text.as_str()), "{text} in {texts:?}");
        }
        let last = claims.last().unwrap();
        assert_eq!(last["paper"].as_float(), Some(741.0));
        assert_eq!(last["holds"]["within"][0].as_float(), Some(733.6));
        assert!(claims.iter().all(|c| c.get("each").is_none()));
    }

    #[test]
    fn word_without_a_row_is_refused() {
        let wrong = "[[claims]]\neach = { flow = [\"1\"] }\ntext = \"link {flwo}\"";
        assert!(written(wrong).unwrap_err().contains("link {flwo}"));
        assert!(written("[[claims]]\neach = 3\ntext = \"\"").unwrap_err().contains("table of lists"));
        let sweep = "[[claims]]\neach = { k = [2] }\ntext = \"{k} of {x} and {x+1}\"";
        assert_eq!(written(sweep).unwrap()[0]["text"].as_str(), Some("2 of {x} and {x+1}"));
    }
}
