//! Tables and maps as text.

mod modes;
mod runs;

pub(crate) use runs::{Shown, runs};

use crate::{latex, terminal};
use evenair_results::digits;
use evenair_study::{Figure, Metric, Outcome, Published, Quantity, Summary, Verdict};
use evenair_topology::Position;
use evenair_units::Duration;
use std::fmt::Write;

/// Lays out rows, the first of which is the head, in columns: the first to the left, the others to the right. A table wider than the terminal becomes several, one
/// below the other, each with the first column.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    if latex::is_wanted() {
        return latex::table(rows);
    }
    columns_within(rows, terminal::width())
}

fn columns_within(rows: &[Vec<String>], most: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut blocks: Vec<String> = Vec::new();
    let mut from = 1;
    while blocks.is_empty() || from < count {
        // As many columns as fit, and one at least.
        let mut used = 2 + widths.first().copied().unwrap_or(0);
        let mut to = from;
        while to < count && (to == from || used + 2 + widths[to] <= most) {
            used += 2 + widths[to];
            to += 1;
        }
        blocks.push(block(rows, &widths, from..to));
        from = to;
    }
    blocks.join("\n")
}

/// The first column beside some others; a row that has none of those is left out of all blocks but the first.
fn block(rows: &[Vec<String>], widths: &[usize], columns: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| columns.start == 1 || row.len() > columns.start) {
        let mut line = String::from(" ");
        for i in std::iter::once(0).chain(columns.clone()) {
            let Some(cell) = row.get(i) else { break };
            let pad = " ".repeat(widths[i] - cell.chars().count());
            let _ = if i == 0 { write!(line, " {cell}{pad}") } else { write!(line, "  {pad}{cell}") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A text in lines of a width at most, where words allow; the first begins with `head`, the others are as far in.
pub(crate) fn wrapped(head: &str, text: &str, width: usize) -> String {
    let indent = head.chars().count();
    let mut lines = vec![head.to_string()];
    let mut used = indent;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        let line = lines.last_mut().expect("there is a line");
        if used > indent && used + 1 + size > width {
            lines.push(" ".repeat(indent) + word);
            used = indent + size;
            continue;
        }
        let gap = usize::from(used > indent);
        *line += &" ".repeat(gap);
        *line += word;
        used += gap + size;
    }
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Names with commas between; of more than `most` the first ones and how many there are.
pub(crate) fn listed(names: &[&str], most: usize) -> String {
    if names.len() > most {
        format!("{}, … ({} links)", names[..most].join(", "), names.len())
    } else {
        names.join(", ")
    }
}

pub(crate) fn number(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let decimals = if x.abs() < 5e-10 { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 6) };
    digits::fixed(if x.abs() < 5e-10 { 0.0 } else { x }, decimals as usize)
}

/// Goodput per variant and flow with the optimum, then the claims.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let study = &outcome.study;
    let parts = [&study.id, &study.source].into_iter().filter(|part| !part.is_empty());
    let mut text =
        format!("\n{}\n{}\n", outcome.headline(), parts.map(String::as_str).collect::<Vec<_>>().join(" · "));
    let mut flows: Vec<&str> = Vec::new();
    for (_, names) in outcome.shape() {
        flows.extend(names.iter().filter(|n| !flows.contains(*n)).collect::<Vec<_>>());
    }
    let mut quantities: Vec<Quantity> = vec![Metric::Goodput.into()];
    quantities.extend(study.figures.iter().filter(|f| f.metric.is_some()).map(Figure::quantity));
    quantities.extend(study.published.iter().map(Published::quantity));
    let mut seen = Vec::new();
    for quantity in quantities {
        if !seen.contains(&quantity) {
            seen.push(quantity);
            let _ = write!(text, "\n{}\n{}", quantity.label(), quantity_table(outcome, quantity, &flows));
        }
    }
    for summary in &study.tables {
        let _ = write!(text, "\n{}\n{}", summary.title, summary_table(outcome, summary));
    }
    if let Some(sentence) = outcome.in_real_time() {
        let _ = writeln!(text, "\n{sentence}");
    }
    text + &claims(outcome)
}

/// The claims: their measured values, their bounds, and the cause of a failure where the study has it.
pub(crate) fn claims(outcome: &Outcome) -> String {
    let mut text = format!("\nclaims: {}\n", outcome.tally());
    let note = outcome.cannot_judge().map(|why| wrapped("  ", &why, terminal::width()));
    text += &note.unwrap_or_default();
    let mut told = Vec::new();
    for claim in &outcome.claims {
        let (style, mark) = match claim.verdict {
            Verdict::Holds => (terminal::GOOD, "holds    "),
            Verdict::Fails => (terminal::BAD, "FAILS    "),
            Verdict::Undecided => (terminal::OPEN, "undecided"),
        };
        let measured =
            claim.measured.map_or_else(|| "nothing".into(), |m| digits::measured(m, claim.half_width));
        let paper = claim.paper.map(|p| format!(", paper {}", digits::printed(p))).unwrap_or_default();
        let reference = claim.reference.as_ref();
        let reference =
            reference.map(|r| format!(", {} by {}", number(r.value), r.origin)).unwrap_or_default();
        let sentence =
            format!("{} (measured {measured}, needed {}{paper}{reference})", claim.claim, claim.required);
        let lines = wrapped(&format!("  {mark}  "), &sentence, terminal::width());
        text += &lines.replacen(mark, &format!("{style}{mark}{style:#}"), 1);
        if let Some(why) = &claim.why {
            text.push_str(&why_not(why, &mut told));
        }
    }
    text
}

/// The reason beside a claim that does not hold, once.
fn why_not<'a>(why: &'a str, told: &mut Vec<&'a str>) -> String {
    if told.contains(&why) {
        return String::new();
    }
    told.push(why);
    wrapped("             why: ", why, terminal::width())
}

/// A row per variant, a column per metric: mean, standard deviation over seeds, the paper's mean.
fn summary_table(outcome: &Outcome, summary: &Summary) -> String {
    let head = summary.metrics.iter().map(Quantity::label);
    let mut rows = vec![std::iter::once(String::new()).chain(head).collect::<Vec<_>>()];
    for (label, cells) in outcome.summary(summary) {
        let cells = cells.into_iter().map(|cell| {
            cell.map_or_else(
                || "–".into(),
                |cell| {
                    let deviation = cell.deviation.map(|d| format!(" ({})", number(d))).unwrap_or_default();
                    let paper =
                        cell.paper.map(|p| format!(" [paper {}]", digits::printed(p))).unwrap_or_default();
                    format!("{}{deviation}{paper}", number(cell.mean))
                },
            )
        });
        rows.push(std::iter::once(label).chain(cells).collect());
    }
    columns(&rows)
}

/// A row per variant, a column per flow, and one for all of them that is named after its kind.
pub(crate) fn quantity_table(outcome: &Outcome, quantity: Quantity, flows: &[&str]) -> String {
    let of_flows = flows.iter().map(|f| (Some(*f), format!("flow {f}")));
    let of_all = (None, quantity.over_flows_name().to_string());
    // A metric of the network has no columns of flows, a statistic over time none of all flows.
    let has_any = |flow: Option<&str>| outcome.shape().any(|(v, _)| outcome.row(v, flow, quantity).is_some());
    let (columns_of, names): (Vec<Option<&str>>, Vec<String>) =
        of_flows.chain([of_all]).filter(|(flow, _)| has_any(*flow)).unzip();
    let mut rows = vec![std::iter::once(String::new()).chain(names).collect()];
    let mut optimum_of_last = None;
    let row = |label: String, variant: &str, quantity: Quantity| {
        let mut cells = vec![label];
        let mut any = false;
        for &flow in &columns_of {
            let found = outcome.row(variant, flow, quantity);
            any |= found.is_some();
            cells.push(found.map_or_else(
                || "–".into(),
                |r| {
                    let paper =
                        r.paper.map(|p| format!(" [paper {}]", digits::printed(p))).unwrap_or_default();
                    let other = r.reference.as_ref().map(|o| format!(" [{} {}]", o.origin, number(o.value)));
                    format!("{}{paper}{}", digits::measured(r.mean, r.half_width), other.unwrap_or_default())
                },
            ));
        }
        any.then_some(cells)
    };
    for (variant, _) in outcome.shape() {
        rows.extend(row(outcome.label(variant), variant, quantity));
        // The optimum once for the variants of one scenario.
        let optimum = (quantity == Metric::Goodput.into())
            .then(|| row("fair optimum".into(), variant, Metric::Optimum.into()))
            .flatten();
        if let (Some(last), true) = (optimum_of_last.take(), optimum.is_some())
            && Some(&last) != optimum.as_ref()
        {
            rows.insert(rows.len() - 1, last);
        }
        optimum_of_last = optimum;
    }
    rows.extend(optimum_of_last);
    columns(&rows)
}

pub(crate) fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// A map of nodes, 64 characters wide, in metres.
pub(crate) fn map(names: &[String], places: &[Option<Position>]) -> String {
    let (names, at): (Vec<&String>, Vec<Position>) =
        names.iter().zip(places).filter_map(|(name, place)| Some((name, (*place)?))).unzip();
    let bound = |of: fn(&Position) -> f64| {
        let low = at.iter().map(of).fold(f64::INFINITY, f64::min);
        let high = at.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
        (low, high)
    };
    let ((left, right), (bottom, top)) = (bound(|p| p.x_m), bound(|p| p.y_m));
    let metres_per_column = ((right - left) / 63.0).max(1.0);
    let height = (((top - bottom) / (2.0 * metres_per_column)) as usize + 1).min(40);
    let mut cells = vec![vec![' '; 80]; height];
    for (name, p) in names.iter().zip(&at) {
        let x = ((p.x_m - left) / metres_per_column) as usize;
        let y = (((top - p.y_m) / (2.0 * metres_per_column)) as usize).min(height - 1);
        for (i, c) in name.chars().enumerate().take(80 - x.min(79)) {
            cells[y][x + i] = c;
        }
    }
    let mut text = String::new();
    for line in cells {
        let _ = writeln!(text, "  {}", line.into_iter().collect::<String>().trim_end());
    }
    let _ = writeln!(
        text,
        "  (one character is {metres_per_column:.0} m across, {:.0} m down)",
        2.0 * metres_per_column
    );
    text
}

pub(crate) fn microseconds(time: Duration) -> String {
    format!("{} us", number(time.as_secs_f64() * 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![row(&["a", "1"]), row(&["long", "1000"])];
        assert_eq!(columns(&rows), "  a        1\n  long  1000\n");
    }

    #[test]
    fn wide_table_becomes_several_and_loses_nothing() {
        let rows = [row(&["flow", "one", "two", "three"]), row(&["a", "1", "2", "3"]), row(&["all", "9"])];
        let expected = "  flow  one  two\n  a       1    2\n  all     9\n\n  flow  three\n  a         3\n";
        assert_eq!(columns_within(&rows, 16), expected);
        let narrow = "  flow  one\n  a       1\n  all     9\n\n  flow  two\n  a       2\n\n  flow  three\n  a         3\n";
        assert_eq!(columns_within(&rows, 15), narrow);
        assert_eq!(columns_within(&rows, 1).matches("flow").count(), 3, "one column at least");
        assert_eq!(columns_within(&[row(&["alone"])], 1), "  alone\n");
    }

    #[test]
    fn long_texts_wrap_between_words() {
        assert_eq!(wrapped("  a  ", "one two three", 12), "  a  one two\n     three\n");
        assert_eq!(wrapped("  ", "unbreakable", 4), "  unbreakable\n");
        assert_eq!(wrapped("  key  ", "", 80), "  key\n");
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!([0.0, 1.2345, 1234.5, 0.00123].map(number), ["0", "1.23", "1234", "0.00123"]);
    }
}
