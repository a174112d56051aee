//! Tables and maps as text.

use evenair_netsim::FlowResult;
use evenair_study::{Figure, Metric, Outcome, Published, Quantity, RunRecord, Summary, Verdict, digits};
use evenair_topology::Position;
use evenair_units::Duration;
use std::fmt::Write;

/// Lays out rows in columns: the first to the left, the others to the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::from(" ");
        for (i, cell) in row.iter().enumerate() {
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

pub(crate) fn number(x: f64) -> String {
    if !x.is_finite() {
        return "–".into();
    }
    let digits = if x.abs() < 5e-10 { 0 } else { (2 - x.abs().log10().floor() as i32).clamp(0, 6) };
    format!("{:.*}", digits as usize, if x.abs() < 5e-10 { 0.0 } else { x })
}

/// Goodput per variant and flow with the optimum, then the claims.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    let study = &outcome.study;
    let mut text = format!("\n{}\n{} · {}\n", study.title, study.id, study.source);
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
    text + &claims(outcome)
}

/// The claims: what was measured, what is needed, and why one does not hold where the study knows.
pub(crate) fn claims(outcome: &Outcome) -> String {
    let mut text = format!("\nclaims: {}\n", outcome.tally());
    let mut told = Vec::new();
    for claim in &outcome.claims {
        let mark = match claim.verdict {
            Verdict::Holds => "holds    ",
            Verdict::Fails => "FAILS    ",
            Verdict::Undecided => "undecided",
        };
        let measured =
            claim.measured.map_or_else(|| "nothing".into(), |m| digits::measured(m, claim.half_width));
        let paper = claim.paper.map(|p| format!(", paper {}", digits::printed(p))).unwrap_or_default();
        let reference = claim.reference.as_ref();
        let reference =
            reference.map(|r| format!(", {} by {}", number(r.value), r.origin)).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {mark}  {} (measured {measured}, needed {}{paper}{reference})",
            claim.claim, claim.required
        );
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
    wrapped("             why: ", why, 100)
}

/// A row per variant, a column per metric: mean, standard deviation over seeds, the paper's mean.
fn summary_table(outcome: &Outcome, summary: &Summary) -> String {
    let head = summary.metrics.iter().map(|metric| metric.label().to_string());
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

/// A row per variant, a column per flow, and one for all of them that is called by what it holds.
pub(crate) fn quantity_table(outcome: &Outcome, quantity: Quantity, flows: &[&str]) -> String {
    let of_flows = flows.iter().map(|f| (Some(*f), format!("flow {f}")));
    let of_all = (None, quantity.metric.over_flows_name().to_string());
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

/// What each flow and queue of some runs did, means over seeds.
pub(crate) fn runs(runs: &[RunRecord], ledger: bool) -> String {
    let first = &runs[0];
    let mean = |of: &dyn Fn(&RunRecord) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let mut rows = flow_rows(runs);
    let total = mean(&|r| r.flows.iter().map(|f| f.goodput_pps).sum());
    let total_kbps = mean(&|r| r.flows.iter().map(|f| f.goodput_bps / 1e3).sum());
    rows.push(vec!["total".into(), number(total), number(total_kbps)]);
    let mut text = columns(&rows);
    text.push('\n');
    let mut rows = vec![row(&[
        "queue",
        "backlog",
        "waits [ms]",
        "r",
        "frames",
        "collided",
        "receiver busy",
        "ACK lost",
        "dropped: full",
        "by law",
        "retries",
    ])];
    for (i, link) in first.links.iter().enumerate() {
        let count = |of: &dyn Fn(&RunRecord) -> u64| number(mean(&|r| of(r) as f64));
        rows.push(vec![
            link.queue.clone(),
            number(mean(&|r| r.links[i].backlog)),
            link.queueing_delay_s.map_or_else(
                || "–".into(),
                |_| number(mean(&|r| r.links[i].queueing_delay_s.unwrap_or(0.0)) * 1e3),
            ),
            link.aggressiveness
                .map_or_else(|| "–".into(), |_| number(mean(&|r| r.links[i].aggressiveness.unwrap_or(0.0)))),
            count(&|r| r.links[i].attempts),
            count(&|r| r.links[i].collided),
            count(&|r| r.links[i].receiver_busy),
            count(&|r| r.links[i].ack_lost),
            count(&|r| r.links[i].dropped_queue_full),
            count(&|r| r.links[i].dropped_by_law),
            count(&|r| r.links[i].dropped_retries),
        ]);
    }
    text.push_str(&columns(&rows));
    if ledger {
        text.push_str(&ledger_table(first));
    }
    text
}

/// A column that only some flows have: its headline, what it holds, and what that is multiplied by.
type Optional = (&'static str, fn(&FlowResult) -> Option<f64>, f64);

/// Columns that are left out where no flow has them.
const OPTIONAL: [Optional; 14] = [
    ("offered/s", |f| f.offered_pps, 1.0),
    ("delay [ms]", |f| f.delay_s, 1e3),
    ("jitter [ms]", |f| f.jitter_s, 1e3),
    ("probes' RTT [ms]", |f| f.probes?.round_trip_s, 1e3),
    ("of bytes", |f| Some(f.probes?.share), 1.0),
    ("resequencing [ms]", |f| Some(f.resequencing?.delay_s), 1e3),
    ("longest [ms]", |f| Some(f.resequencing?.delay_s_max), 1e3),
    ("buffer", |f| Some(f.resequencing?.buffer), 1.0),
    ("most", |f| Some(f.resequencing?.buffer_max as f64), 1.0),
    ("requests", |f| Some(f.web?.requests as f64), 1.0),
    ("completed", |f| Some(f.web?.completed as f64), 1.0),
    ("took [s]", |f| f.web?.mean_s, 1.0),
    ("median [s]", |f| f.web?.median_s, 1.0),
    ("95 % [s]", |f| f.web?.late_s, 1.0),
];

/// The table of flows, means over seeds, with its head.
fn flow_rows(runs: &[RunRecord]) -> Vec<Vec<String>> {
    let first = &runs[0];
    let mean = |of: &dyn Fn(&RunRecord) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let mut head =
        vec!["flow", "packets/s", "kb/s", "RTT [ms]", "connections", "cwnd", "repeated", "time-outs"];
    let shown = |(_, of, _): &&Optional| first.flows.iter().any(|flow| of(flow).is_some());
    let optional: Vec<&Optional> = OPTIONAL.iter().filter(shown).collect();
    head.extend(optional.iter().map(|(headline, ..)| headline));
    let mut rows = vec![row(&head)];
    for (i, flow) in first.flows.iter().enumerate() {
        let dash = || "–".to_string();
        // A value that not every flow has: of TCP, or of datagrams.
        let some = |of: fn(&FlowResult) -> Option<f64>, scale: f64| {
            of(flow).map_or_else(dash, |_| number(mean(&|r| of(&r.flows[i]).unwrap_or(0.0)) * scale))
        };
        let tcp = |of: &dyn Fn(&FlowResult) -> f64| {
            if flow.offered_pps.is_some() { dash() } else { number(mean(&|r| of(&r.flows[i]))) }
        };
        let mut cells = vec![
            flow.flow.clone(),
            number(mean(&|r| r.flows[i].goodput_pps)),
            number(mean(&|r| r.flows[i].goodput_bps / 1e3)),
            some(|f| f.round_trip_s, 1e3),
            tcp(&|f| f.connections),
            tcp(&|f| f.congestion_window),
            tcp(&|f| f.retransmitted as f64),
            tcp(&|f| f.timeouts as f64),
        ];
        cells.extend(optional.iter().map(|(_, of, scale)| some(*of, *scale)));
        rows.push(cells);
    }
    rows
}

/// Where each queue's time went, in the first run.
fn ledger_table(run: &RunRecord) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let mut rows = vec![row(&["share of time", "own", "failed", "back-off", "spaces", "empty", "blocked"])];
    for link in &run.links {
        let Some(time) = &link.airtime else { continue };
        let mut blocked = time.blocked_by.clone();
        blocked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let total: f64 = blocked.iter().map(|(_, share)| share).sum();
        let by: Vec<String> =
            blocked.iter().take(4).map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        rows.push(vec![
            link.queue.clone(),
            percent(time.own),
            percent(time.collided),
            percent(time.backoff),
            percent(time.interframe),
            percent(time.empty),
            percent(total),
            format!("by {}", by.join(", ")),
        ]);
    }
    format!("\n{}", columns(&rows))
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
