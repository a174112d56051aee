//! Which part of the recorded air is worth looking at: the one in which a flow is served that is seldom served.

use evenair_results::{FrameRow, RunRecord};
use evenair_units::Duration;

/// So much of the window lies before the frame that it is about.
const BEFORE: f64 = 0.4;

/// The flow of which the fewest recorded frames arrived, though one at least; the first, if there is none.
pub(crate) fn scarcest(record: &RunRecord) -> &str {
    let arrived = |node: &str| record.frames.iter().filter(|f| is_served(f, node)).count();
    let flows = record.flows.iter().map(|flow| (arrived(&flow.from), &flow.flow));
    flows.filter(|(count, _)| *count > 0).min_by_key(|(count, _)| *count).map_or("", |(_, flow)| flow)
}

/// Keeps the frames around the first that a flow's sender brought to its receiver after it had been silent for a while; around its
/// first, if it never is silent, and the first frames of all, if none arrived.
pub(crate) fn crop(record: &mut RunRecord, flow: &str, length: Duration) {
    let Some(first_ms) = record.frames.iter().map(|f| f.start_ms).reduce(f64::min) else { return };
    let length_ms = length.as_secs_f64() * 1e3;
    let before_ms = BEFORE * length_ms;
    let sender = record.flows.iter().find(|f| f.flow == flow).map_or("", |f| f.from.as_str());
    let mut starts: Vec<f64> =
        record.frames.iter().filter(|f| is_served(f, sender)).map(|f| f.start_ms).collect();
    starts.sort_by(f64::total_cmp);
    let last_before = std::iter::once(first_ms).chain(starts.iter().copied());
    let silent = starts.iter().zip(last_before).find(|(start, last)| *start - last >= before_ms);
    let any = starts.iter().find(|start| **start - first_ms >= before_ms);
    let from_ms = silent.map(|(start, _)| start).or(any).map_or(first_ms, |start| start - before_ms);
    record.frames.retain(|f| f.end_ms > from_ms && f.start_ms < from_ms + length_ms);
}

/// Whether it is a data frame of this node's that arrived.
fn is_served(frame: &FrameRow, node: &str) -> bool {
    frame.decoded && frame.kind == "DATA" && frame.node == node
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Aside;
    use crate::sweep::Sweep;
    use evenair_results::RecordOptions;
    use evenair_scenario::Resolved;
    use evenair_units::Instant;
    use std::sync::atomic::AtomicBool;

    fn recorded() -> RunRecord {
        let changes = ["duration=5 s", "warmup=1 s"].map(String::from);
        let text = crate::builtin_scenario("chen10/a").unwrap();
        let scenario = Resolved::parse("chen10/a.toml", text, &changes).unwrap();
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let options = RecordOptions { timeline: Some((at(1), at(6))), ..RecordOptions::default() };
        let runs = Sweep::of_scenario(scenario, 1, options).run_in_memory(
            &Aside::default(),
            &AtomicBool::new(false),
            &(),
        );
        runs.unwrap().remove(0)
    }

    #[test]
    fn window_shows_frame_of_flow_that_starves() {
        let mut record = recorded();
        assert_eq!(scarcest(&record), "2", "it hears all others");
        crop(&mut record, "2", Duration::from_millis(60));
        let frames = &record.frames;
        let first = frames.iter().map(|f| f.start_ms).fold(f64::INFINITY, f64::min);
        let last = frames.iter().map(|f| f.end_ms).fold(0.0, f64::max);
        assert!(last - first < 70.0 && frames.len() > 20, "{first} {last}");
        let served = frames.iter().find(|f| is_served(f, "s2")).expect("flow 2 is served");
        assert!(served.start_ms - first > 15.0, "and what came before is there");
    }

    #[test]
    fn a_flow_without_frames_shows_the_first() {
        let mut record = recorded();
        let first = record.frames[0].clone();
        crop(&mut record, "none", Duration::from_millis(10));
        assert_eq!(record.frames[0], first);
        record.frames.clear();
        crop(&mut record, "2", Duration::from_millis(10));
        assert!(record.frames.is_empty() && scarcest(&record).is_empty());
    }
}
