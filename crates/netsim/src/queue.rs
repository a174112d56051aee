//! A transmit queue: what waits, what is in the MAC, what was dropped and why.

use crate::packet::Packet;
use evenair_des::Stream;
use evenair_laws::backoff::{AdaptiveBackoff, LinkView};
use evenair_laws::marking::DropTail;
use evenair_units::{Duration, Rate};
use evenair_wifi::LossProcess;
use std::collections::VecDeque;

/// What the MAC has of this queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    Nothing,
    /// The packet at the front.
    Front,
    /// A dummy packet ([Chen10] Alg. 1 line 18).
    Dummy,
}

/// Packets that a queue gave up, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) queue_full: u64,
    pub(crate) by_law: u64,
    pub(crate) retries: u64,
    pub(crate) on_wire: u64,
}

/// The wired link behind a queue.
#[derive(Clone, Debug)]
pub(crate) struct WireEnd {
    pub(crate) delay: Duration,
    pub(crate) buffer: DropTail,
    pub(crate) loss: Option<LossProcess>,
    /// Packets under way on it, the oldest first.
    pub(crate) in_flight: VecDeque<Packet>,
}

#[derive(Clone, Debug)]
pub(crate) struct TransmitQueue {
    pub(crate) name: String,
    pub(crate) node: u32,
    /// The next hop of dummy packets.
    pub(crate) next_hop: u32,
    /// Its rate.
    pub(crate) rate: Rate,
    pub(crate) packets: VecDeque<Packet>,
    pub(crate) bytes: u64,
    pub(crate) service: Service,
    pub(crate) law: Option<AdaptiveBackoff>,
    /// Where it leads over a wire instead of the air.
    pub(crate) wire: Option<WireEnd>,
    pub(crate) stream: Stream,
    pub(crate) dropped: Dropped,
}

impl TransmitQueue {
    /// Packets that wait, the one in the MAC not counted.
    pub(crate) fn waiting(&self) -> u32 {
        (self.packets.len() - usize::from(self.service == Service::Front)) as u32
    }

    /// What a back-off law sees.
    pub(crate) fn view(&self) -> LinkView {
        let backlog_packets = self.packets.len() as u32;
        LinkView { backlog_packets, backlog_bytes: self.bytes, data_rate: self.rate }
    }

    pub(crate) fn aggressiveness(&self) -> Option<f64> {
        self.law.as_ref().map(AdaptiveBackoff::aggressiveness)
    }
}
