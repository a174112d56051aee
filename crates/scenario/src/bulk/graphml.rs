//! Nodes and links of a `GraphML` file (<http://graphml.graphdrawing.org/>): its nodes with their data, its edges.

use super::columns::Word;
use crate::lists::{Row, plain};
use roxmltree::{Document, Node, ParsingOptions};

/// No more elements, attributes and texts are read than this.
const PARTS_MAX: u32 = 8_000_000;
const LINE: &str = "line";

/// Rows of the nodes, with a head: the id of each, and its data that are words of columns. Edges name nodes by their ids, so that a
/// label is no id here.
pub(super) fn nodes(file: &str, text: &str, words: &[Word]) -> Result<Vec<Row>, String> {
    let document = read(file, text)?;
    let keys = Keys::of(&document);
    let columns: Vec<&Word> = words.iter().filter(|(name, _)| *name != "id").collect();
    let held: Vec<&&Word> = columns.iter().filter(|word| keys.id(word).is_some()).collect();
    let head = std::iter::once("id").chain(held.iter().map(|(name, _)| *name)).map(String::from).collect();
    let mut rows = vec![Row { of: LINE, line: 1, cells: head }];
    for node in elements(&document, "node") {
        let line = line(&document, node);
        let mut cells = vec![attribute(file, line, node, "id")?];
        cells.extend(
            held.iter().map(|word| keys.id(word).and_then(|key| data(node, key)).unwrap_or_default()),
        );
        rows.push(Row { of: LINE, line, cells });
    }
    if rows.len() == 1 {
        return Err(format!("{file} has no <node>"));
    }
    Ok(rows)
}

/// Rows of the links, with a head: each edge, by its id or its number. A link carries acknowledgements back, so an edge without a
/// direction is one link, too.
pub(super) fn links(file: &str, text: &str) -> Result<Vec<Row>, String> {
    let document = read(file, text)?;
    let mut rows = vec![Row { of: LINE, line: 1, cells: ["id", "from", "to"].map(String::from).into() }];
    for edge in elements(&document, "edge") {
        let line = line(&document, edge);
        let ends = (attribute(file, line, edge, "source")?, attribute(file, line, edge, "target")?);
        let id = edge.attribute("id").map_or_else(|| rows.len().to_string(), String::from);
        rows.push(Row { of: LINE, line, cells: vec![id, ends.0, ends.1] });
    }
    if rows.len() == 1 {
        return Err(format!("{file} has no <edge>"));
    }
    Ok(rows)
}

fn read<'a>(file: &str, text: &'a str) -> Result<Document<'a>, String> {
    let options = ParsingOptions { nodes_limit: PARTS_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options);
    let document = document.map_err(|why| format!("{file} cannot be read as XML: {why}"))?;
    let root = document.root_element().tag_name().name();
    if root != "graphml" {
        return Err(format!("{file} is no GraphML: it begins with <{root}>, not <graphml>"));
    }
    Ok(document)
}

fn elements<'a, 'i>(document: &'a Document<'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    document.descendants().filter(move |node| node.tag_name().name() == name)
}

fn line(document: &Document<'_>, node: Node<'_, '_>) -> u64 {
    document.text_pos_at(node.range().start).row.into()
}

fn attribute(file: &str, line: u64, node: Node<'_, '_>, name: &str) -> Result<String, String> {
    let found = node.attribute(name).map(str::trim).filter(|text| !text.is_empty());
    let element = node.tag_name().name();
    found.map(String::from).ok_or_else(|| format!("{file}, line {line}: <{element}> has no {name}"))
}

/// A node's data of a key.
fn data(node: Node<'_, '_>, key: &str) -> Option<String> {
    let mut all = node.children().filter(|child| child.tag_name().name() == "data");
    let text = all.find(|child| child.attribute("key") == Some(key))?.text()?.trim();
    Some(text.into()).filter(|text: &String| !text.is_empty())
}

/// The keys of data of nodes: the plain form of their names, and their ids.
struct Keys(Vec<(String, String)>);

impl Keys {
    fn of(document: &Document<'_>) -> Self {
        let keys = elements(document, "key");
        let of_nodes = keys.filter(|key| matches!(key.attribute("for"), None | Some("node" | "all")));
        let key = |key: Node<'_, '_>| {
            let id = key.attribute("id")?;
            Some((plain(key.attribute("attr.name").unwrap_or(id)), id.into()))
        };
        Self(of_nodes.filter_map(key).collect())
    }

    /// The id of the key that a column's words name, by their order.
    fn id(&self, (_, others): &Word) -> Option<&str> {
        let named = |word: &&str| self.0.iter().find(|(name, _)| name == word);
        others.iter().find_map(named).map(|(_, id)| id.as_str())
    }
}
