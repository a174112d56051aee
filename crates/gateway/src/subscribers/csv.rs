//! Subscribers from a table: `id, name, prefixes, weight, cap, link_rate`, with a header that names the
//! columns.

use super::{Place, Subscriber};
use crate::Mistake;
use evenair_service::quoted;

/// The columns, of which `id` and `prefixes` are required.
const COLUMNS: [&str; 6] = ["id", "name", "prefixes", "weight", "cap", "link_rate"];

/// Reads a table; blanks or semicolons separate several prefixes of one subscriber. Lines that begin
/// with # are comments.
///
/// # Errors
/// Names file, line and column.
pub fn from_csv(file: &str, text: &str) -> Result<Vec<(Place, Subscriber)>, Mistake> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .flexible(true)
        .from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| broken(file, &error))?.clone();
    for name in &head {
        if !COLUMNS.contains(&name) {
            let hint = if name.contains([';', '\t']) { "; commas part them" } else { "" };
            let message = format!("{} is no column; there are {}{hint}", quoted(name), COLUMNS.join(", "));
            return Err(Mistake::of(file, message).at(1));
        }
    }
    if let Some(twice) =
        head.iter().enumerate().find(|(i, name)| head.iter().take(*i).any(|other| other == *name))
    {
        return Err(Mistake::of(file, format!("the column \"{}\" is there twice", twice.1)).at(1));
    }
    for needed in ["id", "prefixes"] {
        if !head.iter().any(|name| name == needed) {
            let message = format!("no column \"{needed}\"; begin with a line such as {}", COLUMNS.join(","));
            return Err(Mistake::of(file, message).at(1));
        }
    }
    let mut read = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(file, &error))?;
        let line = record.position().map_or(1, |position| line(text, position));
        let mistake = |key: &str, why: String| Mistake::of(file, why).at(line).of_key(key);
        if record.len() > head.len() {
            let why = format!(
                "{} values, the head has {} columns; quote values with commas",
                record.len(),
                head.len()
            );
            return Err(Mistake::of(file, why).at(line));
        }
        let mut subscriber = Subscriber::new("");
        for (key, value) in head.iter().zip(&record).filter(|(_, value)| !value.is_empty()) {
            set(&mut subscriber, key, value).map_err(|why| mistake(key, why))?;
        }
        read.push((Place { file: file.into(), line: Some(line) }, subscriber));
    }
    Ok(read)
}

fn set(subscriber: &mut Subscriber, key: &str, value: &str) -> Result<(), String> {
    match key {
        "id" => subscriber.id = value.into(),
        "name" => subscriber.name = value.into(),
        "prefixes" => {
            let words = value.split([' ', ';']).filter(|word| !word.is_empty());
            subscriber.prefixes = words.map(str::parse).collect::<Result<_, _>>()?;
        }
        "weight" => {
            let wrong = |_| format!("{} is no number", quoted(value));
            subscriber.weight = value.parse().map_err(wrong)?;
        }
        "cap" => subscriber.cap = Some(value.parse()?),
        _ => subscriber.link_rate = Some(value.parse()?),
    }
    Ok(())
}

/// Returns the line of a record, from one; the parser's position is before comments and empty lines.
fn line(text: &str, position: &csv::Position) -> usize {
    let rest = text.get(position.byte() as usize..).unwrap_or_default();
    let is_passed = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    position.line() as usize + rest.lines().take_while(is_passed).count()
}

fn broken(file: &str, error: &csv::Error) -> Mistake {
    let line = error.position().map(csv::Position::line);
    let message = match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "is not UTF-8".into(),
        _ => error.to_string(),
    };
    Mistake { line: line.map(|line| line as usize), ..Mistake::of(file, message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Subscribers;
    use evenair_units::Rate;
    use proptest::prelude::*;

    #[test]
    fn a_table_is_read_in_any_order_of_columns() {
        let text = "id,prefixes,weight,name,cap\n\
            # comment\n\
            anna,10.1.0.0/24 fd00:1::/56,2,\"Anna, house 3\",5 Mbps\n\
            ben,10.2.0.7\n";
        let read = from_csv("s.csv", text).unwrap();
        let (place, anna) = &read[0];
        assert_eq!((place.line, anna.called(), anna.prefixes.len()), (Some(3), "Anna, house 3", 2));
        assert_eq!((anna.weight.to_bits(), anna.cap), (2f64.to_bits(), Some(Rate::from_kbps(5_000))));
        let (place, ben) = &read[1];
        assert_eq!((place.line, ben.called(), ben.weight.to_bits()), (Some(4), "ben", 1f64.to_bits()));
    }

    #[test]
    fn mistakes_name_line_column_value_and_remedy() {
        for (text, says) in [
            (
                "id,prefixes,wheight\n",
                "s.csv:1: \"wheight\" is no column; there are id, name, prefixes, weight, cap, link_rate",
            ),
            ("id;prefixes\na;10.0.0.1\n", "link_rate; commas part them"),
            ("id,weight\n", "s.csv:1: no column \"prefixes\"; begin with a line such as id,name,"),
            ("id,id,prefixes\n", "the column \"id\" is there twice"),
            ("id,prefixes,weight\na,10.0.0.1,heavy\n", "s.csv:2: weight: \"heavy\" is no number"),
            ("id,prefixes\na,10.0.0.1/8\n", "s.csv:2: prefixes: \"10.0.0.1/8\" has bits behind its prefix"),
            ("id,prefixes,cap\na,10.0.0.1,5\n", "s.csv:2: cap: \"5\" has no unit"),
            ("id,prefixes\na,10.0.0.1,2,3\n", "s.csv:2: 4 values, the head has 2 columns"),
        ] {
            let refused = from_csv("s.csv", text).unwrap_err().to_string();
            assert!(refused.contains(says), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(id|name|prefixes|weight|cap|[,\n\" #;./:a-f0-9éλ-]){0,80}") {
            if let Ok(read) = from_csv("s.csv", &text) {
                let _ = Subscribers::new(read);
            }
        }
    }
}
