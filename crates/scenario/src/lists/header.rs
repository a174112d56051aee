//! The first line of a list: a header, or already an entry.
//!
//! A first line with names that occur nowhere else is a header if all its words are words of headers. Else it is refused: it may
//! be a header in other words, or a mistake, and must not become links.

use super::Row;
use std::collections::BTreeSet;

/// The part that a column has in a list of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    From,
    To,
}

/// Words of a header, without signs, small letters; `node`, `id` and `name` at their ends do not matter.
const ID: [&str; 10] = ["", "id", "link", "name", "label", "no", "nr", "number", "index", "edge"];
const FROM: [&str; 8] = ["from", "source", "src", "transmitter", "tx", "sender", "start", "tail"];
const TO: [&str; 10] =
    ["to", "target", "tgt", "destination", "dest", "dst", "receiver", "rx", "sink", "head"];
/// Words that only lists of pairs have.
const PAIR: [&str; 20] = [
    "first", "second", "linka", "linkb", "link1", "link2", "linki", "linkj", "edge1", "edge2", "node1",
    "node2", "nodea", "nodeb", "vertex1", "vertex2", "id1", "id2", "name1", "name2",
];

/// A header's cell without capitals and signs.
pub(crate) fn plain(cell: &str) -> String {
    cell.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The column that a cell of a header names; a cell without words names none.
pub(super) fn column(cell: &str) -> Option<Column> {
    let plain = plain(cell);
    let bare = ["node", "id", "name"].iter().find_map(|end| plain.strip_suffix(end)).unwrap_or(&plain);
    let is = |words: &[&str]| words.contains(&plain.as_str()) || words.contains(&bare);
    match () {
        () if plain.is_empty() => None,
        () if is(&FROM) => Some(Column::From),
        () if is(&TO) => Some(Column::To),
        () if is(&ID) => Some(Column::Id),
        () => None,
    }
}

/// The places of id, transmitter and receiver that a first line names as a header.
pub(super) fn order(first: &Row) -> Option<(Option<usize>, usize, usize)> {
    let columns: Vec<Column> = first.cells.iter().map(|cell| column(cell)).collect::<Option<_>>()?;
    let place = |wanted| columns.iter().position(|&column| column == wanted);
    match (columns.len(), place(Column::Id), place(Column::From)?, place(Column::To)?) {
        (2, id, from, to) | (3, id @ Some(_), from, to) => Some((id, from, to)),
        _ => None,
    }
}

/// The kind of a list's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    Header,
    Entry,
    /// Its names are no words of headers and occur nowhere else.
    Unclear,
}

impl First {
    /// The kind of the first line of a list of pairs; `is_known` says whether the scenario has a name elsewhere.
    pub(super) fn of(first: &Row, rest: &[Row], is_known: impl Fn(&str) -> bool) -> Self {
        let others: BTreeSet<&String> = rest.iter().flat_map(|row| &row.cells).collect();
        let is_word = |cell: &String| PAIR.contains(&plain(cell).as_str()) || column(cell).is_some();
        if first.cells.iter().any(|cell| others.contains(cell) || is_known(cell)) {
            Self::Entry
        } else if first.cells.iter().all(is_word) {
            Self::Header
        } else if rest.is_empty() {
            Self::Entry
        } else {
            Self::Unclear
        }
    }
}

/// The message for a first line with names that occur nowhere else.
pub(super) fn alone(file: &str, first: &Row, header: &str) -> String {
    let names: Vec<String> = first.cells.iter().map(|cell| format!("\"{cell}\"")).collect();
    let (names, occur) = match names.as_slice() {
        [one] => (one.clone(), "occurs"),
        [before @ .., last] => (format!("{} and {last}", before.join(", ")), "occur"),
        [] => (String::new(), "occur"),
    };
    format!(
        "{file}, line {}: {names} {occur} nowhere else: if that is a header, write it as {header}; if not, put such a header above it",
        first.line
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(line: u64, cells: &str) -> Row {
        Row { of: "line", line, cells: cells.split(',').map(String::from).collect() }
    }

    #[test]
    fn usual_words_are_columns() {
        for (cell, is) in [
            ("From", Some(Column::From)),
            ("source_node", Some(Column::From)),
            ("src", Some(Column::From)),
            ("TX node", Some(Column::From)),
            ("to", Some(Column::To)),
            ("Dst", Some(Column::To)),
            ("target-id", Some(Column::To)),
            ("link_id", Some(Column::Id)),
            ("L1", None),
            ("a", None),
            ("--", None),
        ] {
            assert_eq!(column(cell), is, "{cell}");
        }
    }

    #[test]
    fn a_header_gives_the_order() {
        assert_eq!(order(&row(1, "to,id,from")), Some((Some(1), 2, 0)));
        assert_eq!(order(&row(1, "src,dst")), Some((None, 0, 1)));
        for entry in ["1,sender,relay", "a,b", "from", "from,from", "id,from,to,rate"] {
            assert_eq!(order(&row(1, entry)), None, "{entry}");
        }
        // The first column is a number of a link and no word.
        assert_eq!(order(&row(1, "1,sender,receiver")), None);
    }
}
