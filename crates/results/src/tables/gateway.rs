//! Tables of gateways.

use super::{Column, Group, Row, Table, count, number, optional, rows, text};
use crate::record::{ClassColumns, GatewayColumns, class_name};
use evenair_netsim::ClassResult;

/// A row per class.
pub(super) fn classes(groups: &[Group<'_>]) -> Table {
    fn class<'a>(row: &Row<'a>) -> &'a ClassResult {
        &row.run.gateway.as_ref().expect("the row is one of its classes").classes[row.index]
    }
    let rows = rows(groups, |run| run.gateway.as_ref().map_or(0, |gateway| gateway.classes.len()));
    vec![
        ("variant", text(&rows, |r| r.group.variant.into())),
        ("x", optional(&rows, |r| r.group.x)),
        ("seed", count(&rows, |r| r.run.seed)),
        ("class", text(&rows, |r| class_name(class(r)))),
        ("weight", number(&rows, |r| class(r).weight)),
        ("allowed_bps", number(&rows, |r| class(r).allowed_bps)),
        ("served_bps", number(&rows, |r| class(r).served_bps)),
        ("arrived_packets", count(&rows, |r| class(r).arrived_packets)),
        ("served_packets", count(&rows, |r| class(r).served_packets)),
        ("dropped_packets", count(&rows, |r| class(r).dropped_packets)),
        ("held_packets", count(&rows, |r| class(r).held_packets)),
        ("busy", optional(&rows, |r| class(r).busy)),
    ]
}

/// A row per look of a gateway and class.
pub(super) fn looks(groups: &[Group<'_>]) -> Table {
    let mut rows: Vec<(Group<'_>, u64, &GatewayColumns, &ClassColumns, usize)> = Vec::new();
    for &group in groups {
        for run in group.runs {
            let Some(series) = run.gateway.as_ref().and_then(|gateway| gateway.series.as_ref()) else {
                continue;
            };
            for look in 0..series.time_s.len() {
                rows.extend(series.classes.iter().map(|class| (group, run.seed, series, class, look)));
            }
        }
    }
    let counts = |of: fn(&ClassColumns) -> &[u64]| {
        Column::Count(rows.iter().map(|(_, _, _, class, look)| of(class)[*look].cast_signed()).collect())
    };
    vec![
        ("variant", Column::Text(rows.iter().map(|(group, ..)| group.variant.into()).collect())),
        ("seed", Column::Count(rows.iter().map(|(_, seed, ..)| seed.cast_signed()).collect())),
        ("time_s", Column::Number(rows.iter().map(|(_, _, series, _, look)| series.time_s[*look]).collect())),
        ("decision", Column::Text(rows.iter().map(|(_, _, s, _, look)| s.decision[*look].clone()).collect())),
        ("total_bps", Column::Number(rows.iter().map(|(_, _, s, _, look)| s.total_bps[*look]).collect())),
        ("class", Column::Text(rows.iter().map(|(_, _, _, class, _)| class.class.clone()).collect())),
        (
            "allowed_bps",
            Column::Number(rows.iter().map(|(_, _, _, class, look)| class.allowed_bps[*look]).collect()),
        ),
        ("arrived_packets", counts(|c| &c.arrived_packets)),
        ("served_packets", counts(|c| &c.served_packets)),
        ("served_bytes", counts(|c| &c.served_bytes)),
        ("dropped_packets", counts(|c| &c.dropped_packets)),
        ("held_packets", counts(|c| &c.held_packets)),
        ("backlog_packets", counts(|c| &c.backlog_packets)),
        ("busy_s", Column::Optional(rows.iter().map(|(_, _, _, class, look)| class.busy_s[*look]).collect())),
    ]
}
