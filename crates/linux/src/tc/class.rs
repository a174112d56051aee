//! A class of HTB (`struct tc_htb_opt`).

use crate::netlink::attributes::{Attributes, u32_at, u64_of};
use crate::netlink::message::Message;
use evenair_units::{Bytes, Rate};

/// Linux' `TCA_HTB_PARMS`, `TCA_HTB_RATE64` and `TCA_HTB_CEIL64`.
const PARAMETERS: u16 = 1;
const RATE64: u16 = 6;
const CEILING64: u16 = 7;
/// Linux' `TC_LINKLAYER_ETHERNET`: sizes count unchanged, and no table of them is sent.
const LINK_LAYER: u8 = 1;
/// Linux' `PSCHED_SHIFT`: the power of two of a tick in nanoseconds, in every kernel since 2.6.31
/// (`/proc/net/psched` reports it to older programs).
const TICK_SHIFT: u32 = 6;

/// The HTB parameters of a class. The kernel has rates in whole bytes a second; a remainder of 8 bit/s is
/// cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// The guaranteed rate, at least 8 bit/s.
    pub rate: Rate,
    /// The highest rate, with the rest of its parent's.
    pub ceiling: Rate,
    /// The bytes sent at once at its rate.
    pub burst: Bytes,
    /// The bytes sent at once at its ceiling.
    pub ceiling_burst: Bytes,
    /// The bytes sent of its parent's rate before the next class of its priority has its turn; `None` makes
    /// the kernel divide the rate.
    pub quantum: Option<Bytes>,
    /// The order of service with the parent's rest, 0 first, to 7.
    pub priority: u32,
}

impl HtbClass {
    /// Returns a class with bursts of two packets of 1514 bytes, and a quantum of one.
    pub const fn new(rate: Rate, ceiling: Rate) -> Self {
        let (burst, quantum) = (Bytes::new(3028), Some(Bytes::new(1514)));
        Self { rate, ceiling, burst, ceiling_burst: burst, quantum, priority: 0 }
    }

    pub(super) fn put(&self, message: &mut Message) {
        let (rate, ceiling) = (bytes_per_second(self.rate), bytes_per_second(self.ceiling));
        message.put_text(libc::TCA_KIND, "htb").nest_unmarked(libc::TCA_OPTIONS, |options| {
            let numbers = [
                ticks_of(self.burst, rate),
                ticks_of(self.ceiling_burst, ceiling),
                self.quantum.map_or(0, Bytes::count),
                0,
                self.priority,
            ];
            let mut own = [rate_specification(rate), rate_specification(ceiling)].concat();
            own.extend(numbers.into_iter().flat_map(u32::to_ne_bytes));
            for (kind, rate) in [(RATE64, rate), (CEILING64, ceiling)] {
                if rate > u32::MAX.into() {
                    options.put(kind, &rate.to_ne_bytes());
                }
            }
            options.put(PARAMETERS, &own);
        });
    }

    /// Reads a class's options.
    pub(super) fn parse(options: &Attributes<'_>) -> Option<Self> {
        let own = options.find(PARAMETERS)?;
        let wide = |kind, at| {
            let narrow = u32_at(own, at).map(u64::from);
            options.find(kind).and_then(u64_of).or(narrow)
        };
        let (rate, ceiling) = (wide(RATE64, 8)?, wide(CEILING64, 20)?);
        Some(Self {
            rate: bits_per_second(rate),
            ceiling: bits_per_second(ceiling),
            burst: bytes_of(u32_at(own, 24)?, rate),
            ceiling_burst: bytes_of(u32_at(own, 28)?, ceiling),
            quantum: u32_at(own, 32).filter(|&quantum| quantum > 0).map(Bytes::new),
            priority: u32_at(own, 40)?,
        })
    }
}

/// Returns the kernel's rate, which must not be zero.
pub(super) const fn bytes_per_second(rate: Rate) -> u64 {
    let bytes = rate.as_bps() / 8;
    if bytes == 0 { 1 } else { bytes }
}

pub(super) const fn bits_per_second(bytes: u64) -> Rate {
    Rate::from_bps(bytes.saturating_mul(8))
}

/// Returns `struct tc_ratespec`; a rate beyond its 32 bits is in an attribute of its own, and here the
/// greatest.
pub(super) fn rate_specification(rate: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[1] = LINK_LAYER;
    bytes[8..].copy_from_slice(&u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    bytes
}

/// Returns the transmission time of a size \[ticks\], rounded up: less would be less than a packet.
pub(super) fn ticks_of(size: Bytes, rate: u64) -> u32 {
    let ns = u128::from(size.count()) * 1_000_000_000;
    let ticks = ns.div_ceil(u128::from(rate.max(1)) << TICK_SHIFT);
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// Returns the bytes sent in a number of ticks.
pub(super) fn bytes_of(ticks: u32, rate: u64) -> Bytes {
    let bytes = (u128::from(ticks) << TICK_SHIFT) * u128::from(rate) / 1_000_000_000;
    Bytes::new(u32::try_from(bytes).unwrap_or(u32::MAX))
}
