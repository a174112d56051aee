//! Frames on the air as a table: the columns are the fields of [`FrameRow`].

use super::{Column, Group, Table, count, optional, rows, text};
use crate::record::FrameRow;

pub(super) fn frames(groups: &[Group<'_>]) -> Table {
    let rows = rows(groups, |run| run.frames.len());
    let frames: Vec<&FrameRow> = rows.iter().map(|row| &row.run.frames[row.index]).collect();
    let word = |of: fn(&FrameRow) -> String| Column::Text(frames.iter().map(|f| of(f)).collect());
    let maybe = |of: fn(&FrameRow) -> Option<f64>| Column::Optional(frames.iter().map(|f| of(f)).collect());
    let time = |of: fn(&FrameRow) -> f64| Column::Number(frames.iter().map(|f| of(f)).collect());
    vec![
        ("variant", text(&rows, |r| r.group.variant.into())),
        ("x", optional(&rows, |r| r.group.x)),
        ("seed", count(&rows, |r| r.run.seed)),
        ("start_ms", time(|f| f.start_ms)),
        ("end_ms", time(|f| f.end_ms)),
        ("node", word(|f| f.node.clone())),
        ("to", word(|f| f.to.clone())),
        ("kind", word(|f| f.kind.clone())),
        ("decoded", word(|f| f.decoded.to_string())),
        ("retry", word(|f| f.retry.to_string())),
        ("flow", word(|f| f.flow.clone().unwrap_or_default())),
        ("size_bytes", maybe(|f| f.size_bytes.map(f64::from))),
        ("rate_mbps", maybe(|f| f.rate_mbps)),
        ("mode", word(|f| f.mode.clone().unwrap_or_default())),
        ("queue", word(|f| f.queue.clone())),
    ]
}
