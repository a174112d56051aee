//! Tables of numbers: long ones folded, each column sortable.

use super::Page;
use super::verdict;
use super::words::{anchor_of, escape, explained};
use crate::language::{Reference, Summary};
use crate::metric::Metric;
use crate::outcome::{Cell, Outcome, Row};
use crate::quantity::Quantity;
use evenair_results::digits;
use std::fmt::Write;
use std::ops::Range;

/// Before a table is unfolded it shows so many rows.
const SEEN: usize = 12;
/// So many columns fit beside each other, and another one.
const COLUMNS_MAX: usize = 7;

pub(super) fn tables(page: &mut Page, outcome: &Outcome) {
    page.section("tables", "Numbers");
    for summary in &outcome.study.tables {
        summary_table(page, outcome, summary);
    }
    if let [one] = outcome.variants.as_slice() {
        if let Some(verdict) = outcome.verdict(&one.id) {
            verdict::table(page, &verdict);
        }
        flow_table(page, outcome, &one.id);
        return;
    }
    for quantity in outcome.quantities() {
        quantity_table(page, outcome, quantity);
    }
}

/// Means with standard deviations over seeds in parentheses, and the paper's means below them.
fn summary_table(page: &mut Page, outcome: &Outcome, summary: &Summary) {
    let heads = summary.metrics.iter().map(|metric| explained(&metric.label()));
    let rows = outcome.summary(summary).into_iter().map(|(label, cells)| {
        (explained(&label), cells.into_iter().map(|cell| cell.map_or("–".into(), summary_cell)).collect())
    });
    let table = Table {
        title: summary.title.clone(),
        note: "Means over seeds, their standard deviations in parentheses.".into(),
        first: String::new(),
        heads: heads.collect(),
        rows: rows.collect(),
    };
    table.put(page);
}

fn summary_cell(cell: Cell) -> String {
    let paper = cell.paper.map(|p| format!("<small>paper {}</small>", digits::printed(p)));
    format!("{}{}", digits::spread(cell.mean, cell.deviation), paper.unwrap_or_default())
}

/// One variant alone: a row per quantity, a column per flow and one for all of them; of many flows a row each.
fn flow_table(page: &mut Page, outcome: &Outcome, variant: &str) {
    let flows = outcome.shape().next().map(|(_, flows)| flows).unwrap_or_default();
    let columns: Vec<Option<&str>> = flows.iter().map(|&flow| Some(flow)).chain([None]).collect();
    let mut quantities = outcome.quantities();
    quantities.retain(|q| outcome.table.iter().any(|row| row.quantity == *q));
    let text = |quantity: Quantity, flow: Option<&str>| match (outcome.row(variant, flow, quantity), flow) {
        (Some(row), None) => format!("{}<small>{}</small>", cell(row), row.flow),
        (Some(row), Some(_)) => cell(row),
        (None, _) => String::new(),
    };
    let flow_names =
        columns.iter().map(|flow| flow.map_or("all".into(), |flow| format!("flow {}", escape(flow))));
    let labels = quantities.iter().map(|q| explained(&q.label()));
    let of_flow = |flow: Option<&str>| quantities.iter().map(|&q| text(q, flow)).collect();
    let of_quantity = |&q: &Quantity| columns.iter().map(|&flow| text(q, flow)).collect();
    let (heads, rows): (Vec<String>, Vec<(String, Vec<String>)>) = if flows.len() > COLUMNS_MAX {
        (labels.collect(), flow_names.zip(columns.iter().copied().map(of_flow)).collect())
    } else {
        (flow_names.collect(), labels.zip(quantities.iter().map(of_quantity)).collect())
    };
    let note = "The kind of \"all\" stands below its number, such as total or mean.".into();
    Table { title: "Flows".into(), note, first: String::new(), heads, rows }.put(page);
}

/// A row per variant, a column per flow, and one for all flows that is named after its kind. Rows and columns change places where
/// that is narrower than more columns than fit.
fn quantity_table(page: &mut Page, outcome: &Outcome, quantity: Quantity) {
    let mut flows: Vec<&str> = Vec::new();
    for (_, names) in outcome.shape() {
        flows.extend(names.iter().filter(|name| !flows.contains(*name)).copied().collect::<Vec<_>>());
    }
    let of_flows = flows.iter().map(|flow| (Some(*flow), format!("flow {}", escape(flow))));
    let of_all = (None, quantity.over_flows_name().to_string());
    let has_any = |flow: Option<&str>| outcome.shape().any(|(v, _)| outcome.row(v, flow, quantity).is_some());
    let (columns, heads): (Vec<Option<&str>>, Vec<String>) =
        of_flows.chain([of_all]).filter(|(flow, _)| has_any(*flow)).unzip();
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for (variant, _) in outcome.shape() {
        let found: Vec<_> = columns.iter().map(|&flow| outcome.row(variant, flow, quantity)).collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        let cells = found.iter().map(|row| row.map_or("–".into(), cell)).collect();
        rows.push((explained(&outcome.label(variant)), cells));
    }
    // The optimum is one for all variants of a scenario.
    if quantity == Metric::Optimum.into() {
        rows.dedup_by(|later, earlier| later.1 == earlier.1);
    }
    if rows.is_empty() {
        return;
    }
    let baseline = outcome.study.baseline.as_ref().map(|id| outcome.study.label_of(id));
    let note =
        baseline.map(|label| format!("Below a number: minus {}, paired seed by seed.", escape(&label)));
    let title = quantity.label();
    let table = Table { title, note: note.unwrap_or_default(), first: "variant".into(), heads, rows };
    let turns = table.heads.len() > COLUMNS_MAX + 1 && table.rows.len() < table.heads.len();
    if turns { table.turned(String::new()) } else { table }.put(page);
}

fn cell(row: &Row) -> String {
    let mut text = digits::measured(row.mean, row.half_width);
    if let Some(difference) = row.difference {
        let sign = if difference.mean > 0.0 { "+" } else { "" };
        text += &format!("<small>{sign}{}</small>", digits::measured(difference.mean, difference.half_width));
    }
    if let Some(paper) = row.paper {
        text += &format!("<small>paper {}</small>", digits::printed(paper));
    }
    if let Some(Reference { value, origin }) = &row.reference {
        text += &format!("<small>{}: {}</small>", escape(origin), digits::exact(*value));
    }
    text
}

/// A table with a name and cells of HTML.
pub(super) struct Table {
    pub(super) title: String,
    pub(super) note: String,
    pub(super) first: String,
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<(String, Vec<String>)>,
}

impl Table {
    /// Returns the table with rows and columns exchanged; `first` heads the column of former heads.
    fn turned(self, first: String) -> Self {
        let (heads, cells): (Vec<String>, Vec<Vec<String>>) = self.rows.into_iter().unzip();
        let row = |(k, label): (usize, String)| (label, cells.iter().map(|of| of[k].clone()).collect());
        let rows = self.heads.into_iter().enumerate().map(row).collect();
        Self { title: self.title, note: self.note, first, heads, rows }
    }

    /// Writes the table: in parts below each other, where all its columns do not fit beside each other.
    pub(super) fn put(&self, page: &mut Page) {
        let anchor = format!("table-{}-{}", page.contents.len(), anchor_of(&self.title));
        page.part(&anchor, &self.title);
        if !self.note.is_empty() {
            page.put(format_args!("<p class=\"note\">{}</p>", self.note));
        }
        let count = self.heads.len();
        let parts = if count > COLUMNS_MAX + 1 { count.div_ceil(COLUMNS_MAX) } else { 1 };
        let ends: Vec<usize> = (0..=parts).map(|k| k * count / parts).collect();
        for ends in ends.windows(2) {
            self.put_part(page, ends[0]..ends[1]);
        }
    }

    fn put_part(&self, page: &mut Page, columns: Range<usize>) {
        let folded = self.rows.len() > SEEN + 2;
        page.put(format_args!(
            "<div class=\"{}\"><div class=\"wide\"><table class=\"sortable\">",
            if folded { "fold" } else { "" }
        ));
        let heads = cells("th", &self.heads[columns.clone()]);
        page.put(format_args!("<thead><tr><th>{}</th>{heads}</tr></thead><tbody>", self.first));
        for (label, cells) in &self.rows {
            let cells = self::cells("td", &cells[columns.clone()]);
            page.put(format_args!("<tr><td>{label}</td>{cells}</tr>"));
        }
        page.body.push_str("</tbody></table></div>");
        if folded {
            page.unfold(format_args!("all {} rows", self.rows.len()));
        }
        page.body.push_str("</div>\n");
    }
}

/// Cells of numbers, one after the other.
fn cells(element: &str, texts: &[String]) -> String {
    let mut row = String::new();
    for text in texts {
        let _ = write!(row, "<{element} class=\"n\">{text}</{element}>");
    }
    row
}
