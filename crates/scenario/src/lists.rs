//! Links, conflicts and traces that a scenario has in files, and the names by which conflicts call links.
//!
//! A file's separator is the comma, else the semicolon, the tab or blanks, whichever its first line has; lines that begin with # are
//! comments. Of a faulty line the error says which it is.

mod header;

pub(crate) use self::header::plain;

use self::header::First;
use crate::bulk::{Format, link_rows};
use crate::error::Mistake;
use crate::language::{FlowPattern, FlowTable, Generate, LinkTable, Listed, Scenario};
use evenair_netsim::{NoTrace, Opportunities};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

/// The largest list \[bytes\]; an endless file is no list.
const FILE_BYTES_MAX: u64 = 256 << 20;
/// A line of a list.
pub(crate) struct Row {
    /// The word for the counted unit: line, or feature.
    pub(crate) of: &'static str,
    pub(crate) line: u64,
    pub(crate) cells: Vec<String>,
}

impl Row {
    /// The row's place in a file, for a message.
    pub(crate) fn of(&self, file: &str) -> String {
        format!("{file}, {} {}", self.of, self.line)
    }
}

impl Scenario {
    /// Reads the lists in files, which are looked for in `folder`, and writes conflicts as pairs of ids of links.
    pub(crate) fn read_lists(&mut self, folder: &Path) -> Result<(), Mistake> {
        self.generate_graph(folder)?;
        for (index, wire) in self.wires.iter_mut().enumerate() {
            if let Listed::File(file) = &wire.trace {
                let trace = rows(folder, file).and_then(|rows| instants(file, &rows));
                let wrong = |why| Mistake::entry("wires", index, "trace", why);
                wire.trace = Listed::Here(trace.map_err(wrong)?);
            }
        }
        if let Listed::File(file) = &self.links {
            let named = self.names_of_nodes();
            let is_known = |name: &str| named.contains(name);
            let links = link_rows(folder, file).and_then(|rows| links(file, &rows, is_known));
            self.links = Listed::Here(links.map_err(|why| Mistake::at("links.file", why))?);
        }
        if self.links.is_empty() {
            return Ok(()); // conflicts without links are refused with the scenario's shape
        }
        let names = Names::of(self.links.here());
        let pairs = match &self.conflicts {
            Listed::Here(pairs) => names.here(pairs)?,
            Listed::File(file) => {
                let pairs = rows(folder, file).and_then(|rows| names.in_file(file, &rows));
                pairs.map_err(|why| Mistake::at("conflicts.file", why))?
            }
        };
        self.conflicts = Listed::Here(pairs);
        Ok(())
    }

    /// The nodes that the scenario names beside its links.
    fn names_of_nodes(&self) -> BTreeSet<&str> {
        let of_flows = self.flows.iter().flat_map(|flow| {
            let via = flow.via.iter().flatten();
            [&flow.from, &flow.to].into_iter().chain(via)
        });
        let of_wires = self.wires.iter().flat_map(|wire| [&wire.from, &wire.to]);
        let all = of_flows.chain(of_wires).chain(&self.outside).chain(self.nodes.iter().map(|node| &node.id));
        all.map(String::as_str).collect()
    }

    /// A link for each name of an abstract conflict graph, from a node of that name; and a flow over each, if that is asked for.
    fn generate_graph(&mut self, folder: &Path) -> Result<(), Mistake> {
        let Some(Generate::ConflictGraph { file, flows }) = self.generate.clone() else { return Ok(()) };
        if !(self.nodes.is_empty() && self.links.is_empty() && self.conflicts.is_empty()) {
            let why = "makes links and conflicts; give no [[nodes]], [[links]] or conflicts beside it";
            return Err(Mistake::at("generate", why));
        }
        let used: BTreeSet<&String> = self.flows.iter().map(|flow| &flow.from).collect();
        let is_known = |name: &str| used.iter().any(|used| *used == name);
        let graph = rows(folder, &file).and_then(|rows| graph(&file, &rows, is_known));
        let (ids, pairs) = graph.map_err(|why| Mistake::at("generate.file", why))?;
        let link = |id: String| LinkTable { to: format!("{id}-receiver"), from: id.clone(), id };
        let links: Vec<LinkTable> = ids.into_iter().map(link).collect();
        if let Some(flows) = flows {
            if !self.flows.is_empty() {
                return Err(Mistake::at("generate.flows", "makes the flows; give no [[flows]] beside it"));
            }
            if flows.pattern != FlowPattern::EachLink || flows.count.is_some() || flows.seed.is_some() {
                let why = "the flows of a conflict graph have the pattern \"each-link\", and neither count nor seed";
                return Err(Mistake::at("generate.flows", why));
            }
            let flow = |link: &LinkTable| FlowTable::generated(&link.id, &link.from, &link.to, flows);
            self.flows = links.iter().map(flow).collect();
        }
        (self.generate, self.links, self.conflicts) = (None, Listed::Here(links), Listed::Here(pairs));
        Ok(())
    }
}

/// A file's text.
pub(crate) fn text(folder: &Path, file: &str) -> Result<String, String> {
    let path = folder.join(file);
    let shown = path.display();
    let unread = |why: &dyn std::fmt::Display| format!("{shown} cannot be read: {why}");
    let mut text = String::new();
    let opened = std::fs::File::open(&path).map_err(|e| unread(&e))?;
    opened.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(|e| unread(&e))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("{shown} is longer than {} MiB", FILE_BYTES_MAX >> 20));
    }
    Ok(text.trim_start_matches('\u{feff}').into())
}

/// The lines of a list in CSV, a header among them.
pub(crate) fn rows(folder: &Path, file: &str) -> Result<Vec<Row>, String> {
    if Format::of(file) != Format::Csv {
        return Err(format!(
            "{file}: only nodes and links stand in GeoJSON and GraphML; save this list as CSV"
        ));
    }
    let text = text(folder, file)?;
    let first =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let separator = [',', ';', '\t', ' '].into_iter().find(|separator| first.trim().contains(*separator));
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .delimiter(separator.map_or(b',', |c| c as u8))
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| format!("{file} cannot be read: {e}"))?;
        // The reader counts from the end of the record before: blank lines and comments between them lie before this one.
        let (start, line) = record.position().map_or((0, 0), |at| (at.byte() as usize, at.line()));
        let between = |line: &&str| line.is_empty() || line.starts_with('#');
        let line = line + text[start..].lines().take_while(between).count() as u64;
        // A separator at a line's end makes no cell.
        let mut cells: Vec<String> = record.iter().map(String::from).collect();
        cells.truncate(cells.iter().rposition(|cell| !cell.is_empty()).map_or(0, |last| last + 1));
        if !cells.is_empty() {
            rows.push(Row { of: "line", line, cells });
        }
    }
    Ok(rows)
}

/// The links of an abstract conflict graph, in the order in which it names them, and its pairs; `is_known` says whether a flow uses a
/// link.
fn graph(
    file: &str,
    rows: &[Row],
    is_known: impl Fn(&str) -> bool,
) -> Result<(Vec<String>, Vec<[String; 2]>), String> {
    let (mut ids, mut edges) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    let entries =
        match rows.split_first().map(|(first, rest)| (first, rest, First::of(first, rest, is_known))) {
            Some((_, rest, First::Header)) => rest,
            Some((first, _, First::Unclear)) => return Err(header::alone(file, first, "link_a,link_b")),
            _ => rows,
        };
    for Row { line, cells, .. } in entries {
        match cells.as_slice() {
            [_] => (),
            [one, other] if one == other => return Err(with_itself(file, *line, one)),
            [one, other] => edges.push([one.clone(), other.clone()]),
            more => {
                return Err(columns(
                    file,
                    *line,
                    more.len(),
                    "two links that conflict, or one that conflicts with none",
                ));
            }
        }
        ids.extend(cells.iter().filter(|id| seen.insert(id.as_str())).cloned());
    }
    if ids.is_empty() {
        return Err(format!("{file} has no link"));
    }
    Ok((ids, edges))
}

fn columns(file: &str, line: u64, columns: usize, wanted: &str) -> String {
    format!("{file}, line {line} has {columns} columns; a line has {wanted}")
}

fn with_itself(file: &str, line: u64, id: &str) -> String {
    format!("{file}, line {line}: \"{id}\" stands there twice; a conflict is between two links")
}

/// Checks that the nodes of the first link are named elsewhere, in the list or in the scenario: else the line may be a header.
fn check_first(
    file: &str,
    rows: &[Row],
    (id, from, to): (Option<usize>, usize, usize),
    is_known: impl Fn(&str) -> bool,
) -> Result<(), String> {
    let Some((first, rest)) = rows.split_first().filter(|(_, rest)| !rest.is_empty()) else { return Ok(()) };
    let mut ends = [from, to].into_iter().filter_map(|place| first.cells.get(place));
    if ends.any(|name| rest.iter().any(|row| row.cells.contains(name)) || is_known(name)) {
        return Ok(());
    }
    Err(header::alone(file, first, if id.is_some() { "id,from,to" } else { "from,to" }))
}

/// Links from a list: id, from and to in the order that its header says, else in this order; numbered, if there are two columns.
/// `is_known` says whether the scenario names a node elsewhere.
fn links(file: &str, rows: &[Row], is_known: impl Fn(&str) -> bool) -> Result<Vec<LinkTable>, String> {
    let first = rows.first();
    let (order, rows) = if let Some(order) = first.and_then(header::order) {
        (order, &rows[1..])
    } else {
        let order =
            if first.is_some_and(|row| row.cells.len() == 2) { (None, 0, 1) } else { (Some(0), 1, 2) };
        check_first(file, rows, order, is_known)?;
        (order, rows)
    };
    let wanted = if order.0.is_some() { 3 } else { 2 };
    let link = |(number, row): (usize, &Row)| {
        if row.cells.len() != wanted || row.cells.iter().any(String::is_empty) {
            let what = "an id, the node that transmits and the node that receives; or the two nodes alone";
            return Err(columns(file, row.line, row.cells.len(), what));
        }
        let id = order.0.map_or_else(|| (number + 1).to_string(), |at| row.cells[at].clone());
        Ok(LinkTable { id, from: row.cells[order.1].clone(), to: row.cells[order.2].clone() })
    };
    let links: Vec<LinkTable> = rows.iter().enumerate().map(link).collect::<Result<_, _>>()?;
    if links.is_empty() { Err(format!("{file} has no link")) } else { Ok(links) }
}

/// A trace: an instant in each line \[ms\].
fn instants(file: &str, rows: &[Row]) -> Result<Vec<u64>, String> {
    let instant = |Row { line, cells, .. }: &Row| match cells.as_slice() {
        [at] => at.parse().map_err(|_| {
            format!("{file}, line {line}: \"{at}\" is no whole number of milliseconds, such as 12")
        }),
        more => Err(columns(file, *line, more.len(), "one instant, in milliseconds")),
    };
    let at_ms: Vec<u64> = rows.iter().map(instant).collect::<Result<_, _>>()?;
    match Opportunities::new(at_ms.clone()) {
        Ok(_) => Ok(at_ms),
        Err(NoTrace::Back(place)) => {
            let (at, before) = (at_ms[place], at_ms[place - 1]);
            Err(format!(
                "{file}, line {}: {at} ms comes before {before} ms; sort the lines",
                rows[place].line
            ))
        }
        Err(why) => Err(format!("{file} {why}")),
    }
}

/// The names by which conflicts may call links: their ids, "from>to", and a node's name for all the links on which it transmits.
struct Names<'a> {
    ids: Vec<&'a str>,
    meant: BTreeMap<String, Vec<&'a str>>,
}

impl<'a> Names<'a> {
    fn of(links: &'a [LinkTable]) -> Self {
        let mut meant: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for link in links {
            meant.entry(link.from.clone()).or_default().push(&link.id);
        }
        for link in links {
            meant.insert(format!("{}>{}", link.from, link.to), vec![&link.id]);
        }
        for link in links {
            meant.insert(link.id.clone(), vec![&link.id]);
        }
        Self { ids: links.iter().map(|link| link.id.as_str()).collect(), meant }
    }

    fn find(&self, name: &str) -> Result<&[&'a str], String> {
        let known = || match self.ids.len() {
            0..=40 => self.ids.join(", "),
            n => format!("{}, … {} ({n} of them)", self.ids[..5].join(", "), self.ids[n - 1]),
        };
        let found = self.meant.get(name).map(Vec::as_slice);
        found.ok_or_else(|| format!("there is no link \"{name}\"; links are {}", known()))
    }

    /// The pairs of links that two names mean.
    fn pairs(&self, one: &str, other: &str) -> Result<Vec<[String; 2]>, String> {
        let (ones, others) = (self.find(one)?, self.find(other)?);
        let all = ones.iter().flat_map(|l| others.iter().map(move |m| [(*l).to_string(), (*m).to_string()]));
        Ok(all.filter(|[l, m]| l != m).collect())
    }

    fn here(&self, pairs: &[[String; 2]]) -> Result<Vec<[String; 2]>, Mistake> {
        let mut all = Vec::new();
        for (index, [one, other]) in pairs.iter().enumerate() {
            let pairs = self.pairs(one, other);
            all.extend(pairs.map_err(|why| Mistake::at("conflicts", format!("entry {index}: {why}")))?);
        }
        Ok(all)
    }

    fn in_file(&self, file: &str, rows: &[Row]) -> Result<Vec<[String; 2]>, String> {
        let mut all = Vec::new();
        let is_known = |name: &str| self.meant.contains_key(name);
        let entries = match rows.split_first() {
            Some((first, rest)) if First::of(first, rest, is_known) == First::Header => rest,
            _ => rows,
        };
        for Row { line, cells, .. } in entries {
            let [one, other] = cells.as_slice() else {
                return Err(columns(file, *line, cells.len(), "the two links of a conflict"));
            };
            if one == other {
                return Err(with_itself(file, *line, one));
            }
            let pairs = self.pairs(one, other);
            all.extend(pairs.map_err(|why| {
                let header = if *line == rows[0].line { " (a header is link_a,link_b)" } else { "" };
                format!("{file}, line {line}: {why}{header}")
            })?);
        }
        Ok(all)
    }
}
