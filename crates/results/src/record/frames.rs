//! Frames of a window: their transmitters, times, receivers and outcomes.

use evenair_netsim::{Body, RunResult, Sent};
use evenair_wifi::{BROADCAST, FrameKind, FrameRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One frame of the window. In JSON an object of these fields; in CSV and Parquet a row of them, after the variant and the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FrameRow {
    /// When it began [ms].
    pub start_ms: f64,
    /// When it ended [ms].
    pub end_ms: f64,
    /// The node that sent it.
    pub node: String,
    /// The node that it was sent to; "all" of a broadcast.
    pub to: String,
    /// DATA, ACK, RTS or CTS.
    pub kind: String,
    /// Whether its addressee decoded it; of a broadcast, whether any node did.
    pub decoded: bool,
    /// Whether it repeats a DATA frame.
    pub retry: bool,
    /// The flow of the packet that it carries or acknowledges; missing for dummies and for packets from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Of DATA, the packet with its network-layer headers; of control frames, the whole frame \[bytes\]. Missing for dummies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u32>,
    /// The rate of its body [Mb/s]. Missing for dummies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<f64>,
    /// How its body is modulated, such as "VHT MCS 9, 80 MHz, 1 stream, 800 ns"; only of frames of 802.11n, ac and ax, as the rate says
    /// it of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The transmit queue of its exchange; DATA goes to the next hop of the packet that it carries.
    pub queue: String,
}

/// The frames that a run recorded.
pub(super) fn rows(result: &RunResult) -> Vec<FrameRow> {
    let row = |(frame, sent): &(FrameRecord, Option<Sent>)| FrameRow {
        start_ms: frame.start.as_secs_f64() * 1e3,
        end_ms: frame.end.as_secs_f64() * 1e3,
        node: result.nodes[frame.from as usize].clone(),
        to: if frame.to == BROADCAST { "all".into() } else { result.nodes[frame.to as usize].clone() },
        kind: frame.kind.name().into(),
        decoded: frame.decoded,
        retry: frame.retry,
        flow: sent.as_ref().and_then(|sent| match sent.body {
            Body::Foreign(_) => None,
            _ => Some(result.flows[sent.flow as usize].flow.clone()),
        }),
        size_bytes: sent.as_ref().map(|sent| match frame.kind {
            FrameKind::Data => u32::from(sent.size),
            FrameKind::Rts => 20,
            FrameKind::Ack | FrameKind::Cts | FrameKind::CtsToSelf => 14,
            FrameKind::BlockAck | FrameKind::BlockAckRequest => frame.size.count(),
        }),
        rate_mbps: sent.as_ref().map(|_| frame.mode.rate().as_bps() as f64 / 1e6),
        mode: sent.as_ref().and(frame.mode.modulation()).map(|modulation| modulation.to_string()),
        queue: result.links[frame.by as usize].queue.clone(),
    };
    result.timeline.iter().map(row).collect()
}
