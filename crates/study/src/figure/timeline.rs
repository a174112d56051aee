//! Who held the air.

use crate::chart::{Axis, Bar, Chart, Height, Key, Marks, Panel, Series, Span, Ticks};
use crate::outcome::VariantOutcome;
use crate::record::FrameRow;

/// What frames are told apart by, and their colours.
const KINDS: [(&str, &str); 3] = [("DATA", "#0072b2"), ("802.11 ACK", "#56b4e9"), ("lost", "#d55e00")];

/// Every frame of a window of the first seed: a panel per variant, a row per node.
pub(super) fn timeline(variants: &[&VariantOutcome]) -> Chart {
    let colours = KINDS.map(|(name, look)| Key { name: name.into(), look: look.into() });
    let zero = |v: &VariantOutcome| v.runs[0].frames.iter().map(|f| f.start_ms).fold(f64::INFINITY, f64::min);
    let ends = variants.iter().flat_map(|v| v.runs[0].frames.iter().map(|f| f.end_ms - zero(v)));
    let x = Axis::of("time in the window [ms]", (0.0, Span::of(ends).tight().1), Ticks::Numbers);
    let panels = variants.iter().map(|v| {
        let nodes = &v.scenario().network().nodes;
        let y = Axis::of_words("node", nodes.clone()).downwards();
        let mut panel = Panel::new(&v.label, x.clone(), y, Height::Pixels(18.0 * nodes.len() as f64));
        for (kind, _) in KINDS {
            let bar = |frame: &FrameRow| {
                let row = nodes.iter().position(|node| *node == frame.node)? as f64;
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
    let note = "Bars: frames on the air, a row per node, in a part of one run. Every frame is answered by a short acknowledgement; one that its receiver could not decode is lost.";
    Chart {
        note: note.into(),
        panels: panels.collect(),
        colours: colours.into(),
        width: (460.0, 1000.0),
        ..Chart::default()
    }
}

fn kind_of(frame: &FrameRow) -> &'static str {
    match (frame.kind.as_str(), frame.decoded) {
        (_, false) => "lost",
        ("ACK", true) => "802.11 ACK",
        _ => "DATA",
    }
}
