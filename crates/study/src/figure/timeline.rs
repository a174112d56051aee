//! The air's occupancy, frame by frame.

use crate::chart::{Axis, Bar, Chart, Height, Key, Marks, Panel, Series, Span, Ticks};
use crate::outcome::VariantOutcome;
use evenair_results::FrameRow;

/// The kinds of frames, and their colours.
const KINDS: [(&str, &str); 3] = [("DATA", "#0072b2"), ("802.11 ACK", "#56b4e9"), ("lost", "#d55e00")];

/// Of more nodes than this only those that sent have a row.
const NODES_MAX: usize = 16;

/// Every frame of a window of the first seed: a panel per variant, a row per node.
pub(super) fn timeline(variants: &[&VariantOutcome]) -> Chart {
    let colours = KINDS.map(|(name, look)| Key { name: name.into(), look: look.into() });
    let zero = |v: &VariantOutcome| v.runs[0].frames.iter().map(|f| f.start_ms).fold(f64::INFINITY, f64::min);
    let ends = variants.iter().flat_map(|v| v.runs[0].frames.iter().map(|f| f.end_ms - zero(v)));
    let x = Axis::of("time in the window [ms]", (0.0, Span::of(ends).tight().1), Ticks::Numbers);
    let panels = variants.iter().map(|v| {
        let nodes = nodes(v);
        let y = Axis::of_words("node", nodes.iter().map(|node| (*node).into()).collect()).downwards();
        let mut panel = Panel::new(&v.label, x.clone(), y, Height::Pixels(18.0 * nodes.len() as f64));
        for (kind, _) in KINDS {
            let bar = |frame: &FrameRow| {
                let row = nodes.iter().position(|node| frame.node == **node)? as f64;
                Some(Bar {
                    of: format!("node {}", frame.node),
                    sides: (row - 0.4, row + 0.4),
                    from: frame.start_ms - zero(v),
                    to: frame.end_ms - zero(v),
                    interval: None,
                })
            };
            let frames = v.runs[0].frames.iter().filter(|frame| kind_of(frame) == kind);
            let bars: Vec<Bar> = frames.filter_map(bar).collect();
            panel.series.push(Series::coloured(kind, kind, Marks::Bars { bars, lying: true }));
        }
        panel
    });
    let note = "Bars: frames on the air, a row per node (of more than 16, per node that sent), in a part of one run. Every frame is answered by a short acknowledgement; one that its receiver could not decode is lost.";
    Chart {
        note: note.into(),
        panels: panels.collect(),
        colours: colours.into(),
        width: (460.0, 1000.0),
        ..Chart::default()
    }
}

/// The nodes of a variant's network; of many only those that sent.
fn nodes(variant: &VariantOutcome) -> Vec<&str> {
    let all = &variant.scenario().network().nodes;
    let sent = |node: &&String| variant.runs[0].frames.iter().any(|frame| frame.node == **node);
    all.iter().filter(|node| all.len() <= NODES_MAX || sent(node)).map(String::as_str).collect()
}

fn kind_of(frame: &FrameRow) -> &'static str {
    match (frame.kind.as_str(), frame.decoded) {
        (_, false) => "lost",
        ("ACK", true) => "802.11 ACK",
        _ => "DATA",
    }
}
