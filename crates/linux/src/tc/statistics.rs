//! The counters of disciplines and classes (`TCA_STATS2`).

use crate::netlink::attributes::{Attributes, u32_at, u64_at, u64_of};

/// Linux' `TCA_STATS_BASIC` and others.
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const OWN: u16 = 4;
const PACKETS64: u16 = 8;

/// The counters of any discipline or class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes sent, with the link layer's header.
    pub bytes: u64,
    /// Packets sent, each packet of a segment counted; of 32 bits, which wrap, if the kernel has no more.
    pub packets: u64,
    /// Packets waiting; a segment of many is one.
    pub waiting: u32,
    /// Bytes waiting.
    pub backlog: u32,
    /// Packets dropped; wraps. If a discipline below a class cuts a segment and drops parts of it, only that
    /// discipline counts them.
    pub drops: u32,
    /// Packets that the device did not accept at once; wraps.
    pub requeues: u32,
    /// A count that depends on the kind; wraps. HTB counts changes of mode, which do not show for how long a
    /// class was limited.
    pub overlimits: u32,
}

/// HTB's own counters of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HtbStatistics {
    /// Packets sent within its own rate; wraps.
    pub lends: u32,
    /// Packets sent with its parent's rate; wraps.
    pub borrows: u32,
    /// The tokens at its rate \[ticks of 64 ns\]; negative while it waits for them.
    pub tokens: i32,
    /// The tokens at its ceiling \[ticks of 64 ns\]; negative while it waits for them. Changing the ceiling
    /// changes neither: a class that was slow waits first.
    pub ceiling_tokens: i32,
}

impl Statistics {
    /// Reads those of a message; zeros if it has none.
    pub(super) fn parse(attributes: &Attributes<'_>) -> Self {
        let all = attributes.within(libc::TCA_STATS2);
        let basic = all.find(BASIC).unwrap_or_default();
        let queue = all.find(QUEUE).unwrap_or_default();
        let of_queue = |at| u32_at(queue, at).unwrap_or_default();
        let packets64 = all.find(PACKETS64).and_then(u64_of);
        Self {
            bytes: u64_at(basic, 0).unwrap_or_default(),
            packets: packets64.unwrap_or_else(|| u32_at(basic, 8).unwrap_or_default().into()),
            waiting: of_queue(0),
            backlog: of_queue(4),
            drops: of_queue(8),
            requeues: of_queue(12),
            overlimits: of_queue(16),
        }
    }
}

impl HtbStatistics {
    /// Reads `struct tc_htb_xstats`.
    pub(super) fn parse(attributes: &Attributes<'_>) -> Option<Self> {
        let own = attributes.within(libc::TCA_STATS2).find(OWN)?;
        Some(Self {
            lends: u32_at(own, 0)?,
            borrows: u32_at(own, 4)?,
            tokens: u32_at(own, 12)?.cast_signed(),
            ceiling_tokens: u32_at(own, 16)?.cast_signed(),
        })
    }
}
