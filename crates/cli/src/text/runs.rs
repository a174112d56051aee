//! Tables of runs: flows, queues, and where the queues' time went.

use super::{columns, modes, row, wrapped};
use crate::terminal;
use evenair_netsim::{AggregateResult, FlowResult, LinkResult};
use evenair_results::digits::{self, counted, exact};
use evenair_results::verdict::Verdict;
use evenair_results::{Estimate, RunRecord};
use std::cmp::Ordering;

/// Which tables of runs are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// All rows and columns.
    pub(crate) all: bool,
    /// The ledger, too.
    pub(crate) ledger: bool,
}

/// The record of each flow and queue over some runs, means over seeds: the worst rows and the main columns, unless all is wanted.
pub(crate) fn runs(runs: &[RunRecord], verdict: &Verdict, shown: Shown) -> String {
    let first = &runs[0];
    let mut text = String::new();
    if !first.flows.is_empty() {
        let places = if shown.all { (0..first.flows.len()).collect() } else { worst_flows(verdict) };
        let mut rows = flow_rows(runs, verdict, &places, shown.all);
        let total = |of: fn(&FlowResult) -> f64| over_seeds(runs, &|r| r.flows.iter().map(of).sum());
        let fair: Option<f64> = verdict.flows.iter().map(|flow| flow.fair_pps).sum();
        let mut cells = vec!["total".into(), total(|f| f.goodput_pps)];
        cells.extend(fair.map(exact));
        cells.extend(fair.map(|_| String::new()));
        cells.push(total(|f| f.goodput_bps / 1e3));
        rows.push(cells);
        text += &columns(&rows);
        text += &left_out(first.flows.len() - places.len(), "more flow", "more flows");
        text.push('\n');
    }
    let places = if shown.all { (0..first.links.len()).collect() } else { worst_queues(first) };
    text.push_str(&queue_table(runs, &places, shown.all));
    if shown.all {
        text.push_str(&modes::table(runs, &places));
        text.push_str(&aggregate_table(runs, &places));
    }
    if shown.ledger || shown.all {
        text.push_str(&ledger_table(first, &places));
    }
    text
}

/// The mean over seeds, with half of its 95 % interval where there are several.
fn over_seeds(runs: &[RunRecord], of: &dyn Fn(&RunRecord) -> f64) -> String {
    estimated(&runs.iter().map(of).collect::<Vec<_>>())
}

/// The mean of some values, with half of its 95 % interval where there are several.
fn estimated(values: &[f64]) -> String {
    let Estimate { mean, half_width } = Estimate::from_samples(values);
    digits::measured(mean, half_width)
}

/// The most rows of a table that is folded.
const ROWS: usize = 12;

/// The line below a folded table.
fn left_out(count: usize, one: &str, many: &str) -> String {
    if count == 0 { String::new() } else { format!("  … {} (--all)\n", counted(count as u64, one, many)) }
}

/// The flows of a folded table, in the scenario's order: those that get the least of their fair rates.
fn worst_flows(verdict: &Verdict) -> Vec<usize> {
    let flows = &verdict.flows;
    let share = |f: usize| flows[f].share.unwrap_or(flows[f].rate_pps);
    few((0..flows.len()).collect(), |a, b| share(a).total_cmp(&share(b)))
}

/// The queues of a folded table, in the scenario's order: those that lose most frames and packets, then those that send most.
fn worst_queues(run: &RunRecord) -> Vec<usize> {
    let lost = |q: usize| {
        let link = &run.links[q];
        let frames = link.collided + link.receiver_busy + link.ack_lost;
        let packets =
            link.dropped_queue_full + link.dropped_by_law + link.dropped_retries + link.lost_on_wire;
        (frames + packets, link.served_packets)
    };
    few((0..run.links.len()).collect(), |a, b| lost(b).cmp(&lost(a)))
}

/// The first in this order, as many as a folded table has, in their own order.
fn few(mut places: Vec<usize>, order: impl Fn(usize, usize) -> Ordering) -> Vec<usize> {
    places.sort_by(|&a, &b| order(a, b));
    places.truncate(ROWS);
    places.sort_unstable();
    places
}

/// Without the columns that have neither a number above zero nor a word, but for the first ones.
fn without_empty(rows: &[Vec<String>], first: usize) -> Vec<Vec<String>> {
    let count = rows.first().map_or(0, Vec::len);
    let says = |cell: &String| !matches!(cell.as_str(), "0" | "–" | "");
    let is_kept = |column: usize| column < first || rows[1..].iter().filter_map(|r| r.get(column)).any(says);
    let kept: Vec<usize> = (0..count).filter(|&column| is_kept(column)).collect();
    rows.iter().map(|row| kept.iter().filter_map(|&column| row.get(column).cloned()).collect()).collect()
}

/// Heads of the table of queues; that of the aggressiveness stands among them where a law has one.
const QUEUE: [&str; 10] = [
    "queue",
    "backlog",
    "waits [ms]",
    "frames",
    "collided",
    "receiver busy",
    "ACK lost",
    "dropped: full",
    "by law",
    "retries",
];

/// Heads of the table of aggregates.
const AGGREGATES: [&str; 8] =
    ["queue", "aggregates", "MPDUs", "a frame", "MPDUs lost", "block ACKs missing", "BARs", "given up"];

/// Heads of the ledger.
const LEDGER: [&str; 7] = ["share of time", "own", "failed", "back-off", "spaces", "empty", "blocked"];

/// Head of a part of a queue's own time, where aggregates lost packets.
const PARTLY: &str = "lost parts";

/// A row per transmit queue, with the less plain heads explained below.
fn queue_table(runs: &[RunRecord], places: &[usize], all: bool) -> String {
    let links = &runs[0].links;
    let mut head = row(&QUEUE);
    let has_law = links.iter().any(|link| link.aggressiveness.is_some());
    if has_law {
        head.insert(3, "r".into());
    }
    let any = |of: fn(&LinkResult) -> u64| runs.iter().flat_map(|run| &run.links).any(|link| of(link) > 0);
    let (marks, late) = (any(|link| link.marked), any(|link| link.ack_late));
    let lost_routes = any(|link| link.dropped_no_route);
    if marks {
        head.push("marked".into());
    }
    if lost_routes {
        head.push("no route".into());
    }
    if late {
        let after = head.iter().position(|cell| cell == "ACK lost").expect("a head") + 1;
        head.insert(after, "ACK late".into());
    }
    let mut rows = vec![head];
    for &i in places {
        let link = &links[i];
        let mean = |of: &dyn Fn(&RunRecord) -> f64| over_seeds(runs, of);
        let count = |of: &dyn Fn(&RunRecord) -> u64| over_seeds(runs, &|r| of(r) as f64);
        let dash = || "–".to_string();
        let waits = link
            .waiting
            .as_ref()
            .map(|_| mean(&|r| r.links[i].waiting.as_ref().map_or(0.0, |w| w.mean_s) * 1e3));
        let presses = link.aggressiveness.map(|_| mean(&|r| r.links[i].aggressiveness.unwrap_or(0.0)));
        let mut cells = vec![
            link.queue.clone(),
            mean(&|r| r.links[i].backlog),
            waits.unwrap_or_else(dash),
            count(&|r| r.links[i].attempts),
            count(&|r| r.links[i].collided),
            count(&|r| r.links[i].receiver_busy),
            count(&|r| r.links[i].ack_lost),
            count(&|r| r.links[i].dropped_queue_full),
            count(&|r| r.links[i].dropped_by_law),
            count(&|r| r.links[i].dropped_retries),
        ];
        if marks {
            cells.push(count(&|r| r.links[i].marked));
        }
        if lost_routes {
            cells.push(count(&|r| r.links[i].dropped_no_route));
        }
        if late {
            cells.insert(7, count(&|r| r.links[i].ack_late));
        }
        if has_law {
            cells.insert(3, presses.unwrap_or_else(dash));
        }
        rows.push(cells);
    }
    if !all {
        rows = without_empty(&rows, 2);
    }
    let has = |note: &&(&str, &str)| rows[0].iter().any(|head| head == note.0);
    let mut notes: Vec<&str> = NOTES.iter().filter(has).map(|(_, note)| *note).collect();
    notes.push("evenair glossary WORD explains each column");
    columns(&rows)
        + &left_out(links.len() - places.len(), "more queue", "more queues")
        + &wrapped("  ", &notes.join(" · "), terminal::width())
}

/// A count of a queue's aggregates.
type Count = fn(&AggregateResult) -> f64;

/// A row per queue that sends aggregates, if any does.
fn aggregate_table(runs: &[RunRecord], places: &[usize]) -> String {
    let aggregates = |&place: &usize| runs[0].links[place].aggregates.is_some();
    let mut rows = vec![row(&AGGREGATES)];
    for place in places.iter().copied().filter(aggregates) {
        let mean = |of: Count| over_seeds(runs, &|run| run.links[place].aggregates.as_ref().map_or(0.0, of));
        rows.push(vec![
            runs[0].links[place].queue.clone(),
            mean(|a| a.aggregates as f64),
            mean(|a| a.mpdus as f64),
            mean(|a| a.mean_aggregate),
            mean(|a| a.mpdus_lost as f64),
            mean(|a| a.block_acks_missing as f64),
            mean(|a| a.bars as f64),
            mean(|a| a.given_up as f64),
        ]);
    }
    if rows.len() == 1 { String::new() } else { format!("\n{}", columns(&rows)) }
}

/// Columns of the table of queues that are not plain in their heads.
const NOTES: [(&str, &str); 4] = [
    ("receiver busy", "receiver busy: lost because the receiver was transmitting"),
    ("ACK late", "ACK late: the acknowledgement came after the time-out"),
    ("by law", "by law: dropped early by a rule of the queue, to slow TCP down"),
    ("r", "r: its aggressiveness"),
];

/// A column that only some flows have: its headline, its value, and the factor of that.
type Optional = (&'static str, fn(&FlowResult) -> Option<f64>, f64);

/// Whether a flow has connections, with all that goes with them.
const fn connects(flow: &FlowResult) -> bool {
    flow.offered_pps.is_none()
}

/// A number of flows that have connections.
fn of_tcp(flow: &FlowResult, number: f64) -> Option<f64> {
    connects(flow).then_some(number)
}

/// Columns that are left out where no flow has them.
const OPTIONAL: [Optional; 20] = [
    ("RTT [ms]", |f| f.round_trip_s, 1e3),
    ("connections", |f| of_tcp(f, f.connections), 1.0),
    ("cwnd", |f| of_tcp(f, f.congestion_window), 1.0),
    ("repeated", |f| of_tcp(f, f.retransmitted as f64), 1.0),
    ("time-outs", |f| of_tcp(f, f.timeouts as f64), 1.0),
    ("offered/s", |f| f.offered_pps, 1.0),
    ("delay [ms]", |f| Some(f.delay.as_ref()?.mean_s), 1e3),
    ("95 %", |f| f.delay.as_ref()?.p95_s, 1e3),
    ("jitter [ms]", |f| f.jitter_s.filter(|_| !connects(f)), 1e3),
    ("probes' RTT [ms]", |f| f.probes?.round_trip_s, 1e3),
    ("of bytes", |f| Some(f.probes?.share), 1.0),
    ("resequencing [ms]", |f| Some(f.resequencing?.delay_s), 1e3),
    ("longest [ms]", |f| Some(f.resequencing?.delay_s_max), 1e3),
    ("buffer", |f| Some(f.resequencing?.buffer), 1.0),
    ("most", |f| Some(f.resequencing?.buffer_max as f64), 1.0),
    ("requests", |f| Some(f.transfers.as_ref()?.requests as f64), 1.0),
    ("completed", |f| Some(f.transfers.as_ref()?.completed as f64), 1.0),
    ("took [s]", |f| Some(f.transfers.as_ref()?.took.as_ref()?.mean_s), 1.0),
    ("median", |f| f.transfers.as_ref()?.took.as_ref()?.p50_s, 1.0),
    ("95 %", |f| f.transfers.as_ref()?.took.as_ref()?.p95_s, 1.0),
];

/// Optional columns that a folded table leaves out.
const FOLDED: [&str; 12] = [
    "cwnd",
    "repeated",
    "95 %",
    "jitter [ms]",
    "of bytes",
    "resequencing [ms]",
    "longest [ms]",
    "buffer",
    "most",
    "median",
    "probes' RTT [ms]",
    "requests",
];

/// The table of flows, means over seeds, with its head: goodput beside the fair optimum, then the optional columns.
fn flow_rows(runs: &[RunRecord], verdict: &Verdict, places: &[usize], all: bool) -> Vec<Vec<String>> {
    let first = &runs[0];
    let mean = |of: &dyn Fn(&RunRecord) -> f64| over_seeds(runs, of);
    let has_fair = verdict.without_fair.is_none();
    let mut head = vec!["flow", "packets/s"];
    head.extend(if has_fair { &["fair", "of fair"][..] } else { &[] });
    head.push("kb/s");
    let shown = |(_, of, _): &&Optional| runs.iter().flat_map(|r| &r.flows).any(|flow| of(flow).is_some());
    let connects = runs.iter().flat_map(|r| &r.flows).any(|flow| (flow.connections - 1.0).abs() > 1e-9);
    let unfolded = |(headline, ..): &&Optional| {
        all || !FOLDED.contains(headline) && (connects || *headline != "connections")
    };
    let optional: Vec<&Optional> = OPTIONAL.iter().filter(shown).filter(unfolded).collect();
    head.extend(optional.iter().map(|(headline, ..)| headline));
    let mut rows = vec![row(&head)];
    for &i in places {
        let flow = &first.flows[i];
        let dash = || "–".to_string();
        // A value that not every flow has: of TCP, or of datagrams.
        let some = |of: fn(&FlowResult) -> Option<f64>, scale: f64| {
            let values = runs.iter().filter_map(|r| of(&r.flows[i])).map(|value| value * scale);
            let values: Vec<f64> = values.collect();
            if values.is_empty() { dash() } else { estimated(&values) }
        };
        let mut cells = vec![flow.flow.clone(), mean(&|r| r.flows[i].goodput_pps)];
        if has_fair {
            let judged = &verdict.flows[i];
            cells.push(judged.fair_pps.map_or_else(dash, exact));
            cells.push(
                judged.share.map_or_else(dash, |share| format!("{} %", digits::fixed(share * 100.0, 0))),
            );
        }
        cells.push(mean(&|r| r.flows[i].goodput_bps / 1e3));
        cells.extend(optional.iter().map(|(_, of, scale)| some(*of, *scale)));
        rows.push(cells);
    }
    rows
}

/// Where each queue's time went, in the first run.
fn ledger_table(run: &RunRecord, places: &[usize]) -> String {
    let percent = digits::percent;
    let has_parts = run.links.iter().filter_map(|link| link.airtime.as_ref()).any(|time| time.partly > 0.0);
    let mut rows = vec![row(&LEDGER)];
    if has_parts {
        rows[0].insert(2, PARTLY.into());
    }
    for link in places.iter().map(|&place| &run.links[place]) {
        let Some(time) = &link.airtime else { continue };
        let mut blocked = time.blocked_by.clone();
        blocked.sort_by(|a, b| b.1.total_cmp(&a.1));
        let total: f64 = blocked.iter().map(|(_, share)| share).sum();
        let by: Vec<String> =
            blocked.iter().take(4).map(|(name, share)| format!("{name} {}", percent(*share))).collect();
        let mut cells = vec![
            link.queue.clone(),
            percent(time.own),
            percent(time.collided),
            percent(time.backoff),
            percent(time.interframe),
            percent(time.empty),
            percent(total),
            format!("by {}", by.join(", ")),
        ];
        if has_parts {
            cells.insert(2, percent(time.partly));
        }
        rows.push(cells);
    }
    format!("\n{}", columns(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenair_study::glossary;

    #[test]
    fn every_head_of_a_run_is_in_the_glossary() {
        let flows = ["packets/s", "fair", "of fair", "kb/s"]
            .into_iter()
            .chain(OPTIONAL.iter().map(|(head, ..)| *head));
        let queues = [&QUEUE[1..], &["r"], &AGGREGATES[1..], &LEDGER[1..], &[PARTLY]].concat();
        for head in flows.chain(queues) {
            let word = head.split(" [").next().unwrap();
            let found = glossary::look_up(word);
            let is = |text: &String| text == word;
            let of = |e: &glossary::Entry| is(&e.word) || e.forms.iter().chain(&e.heads).any(is);
            assert!(found.len() == 1 && of(found[0]), "{word}: {found:?}");
        }
    }

    #[test]
    fn folded_table_has_worst_rows_in_their_order() {
        let order = |a: usize, b: usize| b.cmp(&a);
        assert_eq!(few((0..14).collect(), order), (2..14).collect::<Vec<_>>());
        let rows = [row(&["a", "b", "c", "d"]), row(&["x", "0", "0", "1"]), row(&["y", "0", "–", "0"])];
        assert_eq!(
            without_empty(&rows, 2),
            [row(&["a", "b", "d"]), row(&["x", "0", "1"]), row(&["y", "0", "0"])]
        );
    }
}
