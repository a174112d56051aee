//! A class of HTB (`struct tc_htb_opt`).

use crate::netlink::attributes::{Attributes, u32_at, u64_of};
use crate::netlink::message::Message;
use evenair_units::{Bytes, Rate};

/// Linux' `TCA_HTB_PARMS`, `TCA_HTB_RATE64` and `TCA_HTB_CEIL64`.
const PARAMETERS: u16 = 1;
const RATE64: u16 = 6;
const CEILING64: u16 = 7;
/// Linux' `TC_LINKLAYER_ETHERNET`: sizes count as they are, and no table of them is sent.
const LINK_LAYER: u8 = 1;
/// Linux' `PSCHED_SHIFT`: a tick is so many powers of two of a nanosecond, in every kernel since 2.6.31 (`/proc/net/psched` tells it
/// to programs that are older).
const TICK_SHIFT: u32 = 6;

/// What HTB gives a class. Rates are whole bytes a second to the kernel; what remains of 8 bit/s is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbClass {
    /// What it always gets, at least 8 bit/s.
    pub rate: Rate,
    /// What it gets at most, of what its parent has left.
    pub ceiling: Rate,
    /// What it sends at once at its rate.
    pub burst: Bytes,
    /// What it sends at once at its ceiling.
    pub ceiling_burst: Bytes,
    /// What it sends of its parent's before the next class of its priority gets its turn; `None` leaves the kernel to divide the rate.
    pub quantum: Option<Bytes>,
    /// Lower ones are first served with what the parent has left: 0 to 7.
    pub priority: u32,
}

impl HtbClass {
    /// A class that may send what two packets of 1514 bytes take at once, and takes turns by one such packet.
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

/// The kernel's rate, of which it takes none of zero.
pub(super) const fn bytes_per_second(rate: Rate) -> u64 {
    let bytes = rate.as_bps() / 8;
    if bytes == 0 { 1 } else { bytes }
}

pub(super) const fn bits_per_second(bytes: u64) -> Rate {
    Rate::from_bps(bytes.saturating_mul(8))
}

/// `struct tc_ratespec`; a rate beyond its 32 bits stands in an attribute of its own, and here the greatest.
pub(super) fn rate_specification(rate: u64) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[1] = LINK_LAYER;
    bytes[8..].copy_from_slice(&u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    bytes
}

/// The time that so much takes \[ticks\], rounded up: less would be less than a packet.
pub(super) fn ticks_of(size: Bytes, rate: u64) -> u32 {
    let ns = u128::from(size.count()) * 1_000_000_000;
    let ticks = ns.div_ceil(u128::from(rate.max(1)) << TICK_SHIFT);
    u32::try_from(ticks).unwrap_or(u32::MAX)
}

/// How much leaves in so many ticks.
pub(super) fn bytes_of(ticks: u32, rate: u64) -> Bytes {
    let bytes = (u128::from(ticks) << TICK_SHIFT) * u128::from(rate) / 1_000_000_000;
    Bytes::new(u32::try_from(bytes).unwrap_or(u32::MAX))
}
