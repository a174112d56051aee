//! A run in slices of simulated time.

use evenair_netsim::{Body, FrameSink, Network, Sent, TcpPacket, Watchers};
use evenair_results::document::write_line;
use evenair_results::verdict::{FairRates, Verdict};
use evenair_results::{RecordOptions, RunRecord};
use evenair_scenario::Resolved;
use evenair_units::{Duration, Instant};
use evenair_wifi::{BROADCAST, FrameRecord};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// The measures of `evenair run --json`.
const MEASURED: RecordOptions = RecordOptions {
    series: false,
    every: Some(Duration::from_secs(1)),
    ledger: true,
    times: true,
    histograms: false,
    timeline: None,
};

/// Frames that are kept until they are asked for; older ones are lost.
const FRAMES_KEPT: usize = 8192;

/// A run of a scenario.
#[derive(Debug)]
pub(crate) struct Running {
    /// The scenario's name in the document.
    name: String,
    network: Network,
    warm_at: Instant,
    flows: u32,
    frames: Option<Frames>,
}

/// The newest frames.
#[derive(Debug, Default)]
struct Frames(VecDeque<Frame>);

/// A frame as the page draws it: start and end \[ns\], sender, addressee (−1 of a broadcast), kind, flow (−1 without one), and bits: 1
/// decoded, 2 a repetition, 4 an acknowledgement of TCP.
#[derive(Clone, Copy, Debug, Serialize)]
struct Frame(u64, u64, u32, i64, &'static str, i64, u8);

impl FrameSink for Frames {
    fn frame(&mut self, frame: &FrameRecord, packet: Option<&Sent>) {
        if self.0.len() == FRAMES_KEPT {
            self.0.pop_front();
        }
        let is_ack = packet.is_some_and(
            |sent| matches!(sent.body, Body::Tcp(TcpPacket { segment, .. }) if segment.kind.is_reply()),
        );
        let bits = u8::from(frame.decoded) | u8::from(frame.retry) << 1 | u8::from(is_ack) << 2;
        let to = if frame.to == BROADCAST { -1 } else { i64::from(frame.to) };
        let flow = packet.map_or(-1, |sent| i64::from(sent.flow));
        let (start, end) = (frame.start.as_nanos(), frame.end.as_nanos());
        self.0.push_back(Frame(start, end, frame.from, to, frame.kind.name(), flow, bits));
    }
}

impl Running {
    pub(crate) fn start(name: &str, scenario: &Resolved, seed: Option<u64>, frames: bool) -> Self {
        let spec = MEASURED.run_spec(scenario, seed.unwrap_or(scenario.settings().seed));
        let mut network = Network::new(scenario.network(), spec);
        if frames {
            network.see_all_frames();
        }
        let warm_at = Instant::ZERO + spec.warmup;
        let flows = scenario.network().flows.len() as u32;
        Self { name: name.into(), network, warm_at, flows, frames: frames.then(Frames::default) }
    }

    /// Returns the ends of warm-up and run, and the queues.
    pub(crate) fn as_json(&self) -> Value {
        let queues: Vec<Value> =
            self.network.backlogs().map(|(name, node, _)| json!({ "name": name, "node": node })).collect();
        let (warm_ns, end_ns) = (self.warm_at.as_nanos(), self.network.end().as_nanos());
        json!({ "warm_ns": warm_ns, "end_ns": end_ns, "queues": queues })
    }

    /// Goes on to an instant, and returns it.
    pub(crate) fn advance(&mut self, until_ns: u64) -> u64 {
        let until = Instant::from_nanos(until_ns).min(self.network.end());
        let frames = self.frames.as_mut().map(|frames| frames as &mut dyn FrameSink);
        let mut watchers = Watchers { frames, ..Watchers::default() };
        while self.network.advance_watched(until, &mut watchers).is_some() {}
        until.as_nanos()
    }

    /// Per flow the segments delivered so far, the congestion window and the connections; per queue its packets; the newest frames.
    pub(crate) fn live(&mut self, frames_max: usize) -> Value {
        let flow = |flow: u32| {
            let state = self.network.flow_state(flow);
            json!([state.delivered.packets, state.congestion_window, state.connections])
        };
        let flows: Vec<Value> = (0..self.flows).map(flow).collect();
        let queues: Vec<u64> = self.network.backlogs().map(|(.., waiting)| waiting.packets).collect();
        let frames: Vec<Frame> = self.frames.as_mut().map_or_else(Vec::new, |Frames(kept)| {
            let skipped = kept.len().saturating_sub(frames_max);
            kept.drain(..).skip(skipped).collect()
        });
        json!({ "now_ns": self.network.now().as_nanos(), "flows": flows, "queues": queues, "frames": frames })
    }

    /// The record of the run as if it ended now.
    fn record(&self, scenario: &Resolved, end: Instant) -> RunRecord {
        let result = self.network.clone().finish_at(end);
        RunRecord { scenario: self.name.clone(), ..RunRecord::new(scenario, result, MEASURED) }
    }

    /// The results since the warm-up, and the verdict on them where fair rates are known, or known to be missing.
    pub(crate) fn so_far(&self, scenario: &Resolved, fair: Option<&FairRates>) -> Value {
        let record = self.record(scenario, self.network.now().max(self.warm_at));
        let verdict = fair.filter(|_| record.measured_s > 0.0).map(|fair| {
            let verdict = Verdict::beside(scenario, fair, std::slice::from_ref(&record));
            let reasons: Vec<&String> =
                verdict.told().iter().filter_map(|flow| flow.sentence.as_ref()).collect();
            json!({ "headline": verdict.headline, "reasons": reasons, "remedies": verdict.remedies })
        });
        json!({
            "flows": record.flows,
            "links": record.links,
            "measured_s": record.measured_s,
            "verdict": verdict,
        })
    }

    /// The document of the whole run.
    pub(crate) fn document(&self, scenario: &Resolved) -> Result<String, String> {
        let end = self.network.end();
        if self.network.next_at() <= end {
            return Err("the run has not ended yet: go on to its end first".into());
        }
        let mut record = self.record(scenario, end);
        record.verdict =
            Some(Verdict::beside(scenario, &FairRates::of(scenario), std::slice::from_ref(&record)));
        let mut line = Vec::new();
        write_line(&mut line, "run", &record, None).map_err(|fault| fault.to_string())?;
        String::from_utf8(line).map_err(|fault| fault.to_string())
    }
}
