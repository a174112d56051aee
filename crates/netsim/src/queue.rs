//! A transmit queue: what waits, what is in the MAC, what was dropped and why.

use crate::packet::Packet;
use evenair_des::Stream;
use evenair_laws::backoff::{AnyBackoff, BackoffLaw, LinkView, Volume};
use evenair_laws::marking::DropTail;
use evenair_units::{Duration, Instant, Rate};
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
    /// The back-off law, where it leads over the air.
    pub(crate) law: Option<AnyBackoff>,
    /// What came and left since the law was last asked, and when that was.
    pub(crate) arrivals: Volume,
    pub(crate) served: Volume,
    pub(crate) updated: Instant,
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

    /// The law sees its link.
    pub(crate) fn update(&mut self, now: Instant) {
        let Some(law) = &mut self.law else { return };
        law.on_update(&LinkView {
            now,
            interval: now.since(self.updated),
            arrivals: std::mem::take(&mut self.arrivals),
            service: std::mem::take(&mut self.served),
            backlog: Volume { packets: self.packets.len() as u64, bytes: self.bytes },
            head_of_line_delay: None,
            data_rate: self.rate,
        });
        self.updated = now;
    }

    pub(crate) fn aggressiveness(&self) -> Option<f64> {
        self.law.as_ref().and_then(BackoffLaw::aggressiveness)
    }
}
