//! What disciplines and classes have counted (`TCA_STATS2`).

use crate::netlink::attributes::{Attributes, u32_at, u64_at, u64_of};

/// Linux' `TCA_STATS_BASIC` and others.
const BASIC: u16 = 1;
const QUEUE: u16 = 3;
const OWN: u16 = 4;
const PACKETS64: u16 = 8;

/// What any discipline or class has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes that have left, with the link layer's header.
    pub bytes: u64,
    /// Packets that have left, each of a segment that is sent in one piece among them; of 32 bits, which wrap, where the kernel has no more.
    pub packets: u64,
    /// Packets that wait, where a segment of many is one.
    pub waiting: u32,
    /// Bytes that wait.
    pub backlog: u32,
    /// Packets dropped; wraps. What a discipline below a class drops of a segment that it has cut itself is with that discipline alone.
    pub drops: u32,
    /// Packets that the device did not take at once; wraps.
    pub requeues: u32,
    /// Whatever the kind counts as such; wraps. HTB counts changes of mode, which say nothing of how long a class was limited.
    pub overlimits: u32,
}

/// What HTB counts of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HtbStatistics {
    /// Packets that left within its own rate; wraps.
    pub lends: u32,
    /// Packets that left with its parent's; wraps.
    pub borrows: u32,
    /// What it may send at once at its rate \[ticks of 64 ns\]; negative while it waits for it.
    pub tokens: i32,
    /// What it may send at once at its ceiling \[ticks of 64 ns\]; negative while it waits for it. Changing the ceiling changes neither:
    /// a class that was slow waits first.
    pub ceiling_tokens: i32,
}

impl Statistics {
    /// Those of a message; zeros where the kernel has none.
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
    /// `struct tc_htb_xstats`.
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
