//! The lines behind classes: which kind of queue each is, and how long.

use crate::config::Leaf as Wanted;
use crate::kernel::Failure;
use evenair_linux::Rtnetlink;
use evenair_linux::tc::{Cake, Discipline, FqCodel, Isolation, Tbf};
use evenair_units::{Bytes, Rate};

/// The link layer's head and tags, beyond the largest packet \[bytes\].
const LINK_LAYER: u32 = 22;
/// A rate that never holds a packet back: as fast as anything leaves a line.
const SPLITTER: Rate = Rate::from_kbps(1_000_000_000);
/// Queues for flows count the memory that packets take: a full one a half more than its bytes, a short one many times as much.
pub(crate) const MEMORY: u32 = 2;
/// A subscriber's flows are few, and each place for one takes 64 bytes of every line.
pub(crate) const FLOWS: u32 = 128;

/// A kind of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Packets in their order.
    Plain,
    /// The same, and segments of many packets are cut.
    Cutting,
    FqCodel,
    Cake,
}

impl Leaf {
    /// The kind that is wanted, or, where that is left to the gateway, the best that the kernel has.
    pub(super) fn choose(netlink: &mut Rtnetlink, wanted: Wanted) -> Result<Self, Failure> {
        // Who may not ask has what any kernel with HTB has.
        let mut has = |kind: &str| netlink.has_discipline(kind).unwrap_or(false);
        match wanted {
            Wanted::Cake if has("cake") => Ok(Self::Cake),
            Wanted::FqCodel | Wanted::Auto if has("fq_codel") => Ok(Self::FqCodel),
            Wanted::Fifo | Wanted::Auto if has("tbf") => Ok(Self::Cutting),
            Wanted::Fifo | Wanted::Auto => Ok(Self::Plain),
            Wanted::FqCodel | Wanted::Cake => {
                let kind = wanted.word();
                let why = format!(
                    "the kernel has no {kind} (module sch_{kind}); leaf = \"auto\" takes what it has"
                );
                Err(Failure::new(format!("leaf = \"{kind}\""), why))
            }
        }
    }

    /// A queue of so many bytes, for a class that comes or that has one already.
    pub(super) fn discipline(self, line: u32, is_new: bool) -> Discipline {
        let (limit, memory) = (Bytes::new(line), Some(Bytes::new(line.saturating_mul(MEMORY))));
        match self {
            Self::Plain => Discipline::Bfifo { limit },
            Self::Cutting => {
                Discipline::Tbf(Tbf { rate: SPLITTER, burst: Bytes::new(1500 + LINK_LAYER), limit })
            }
            Self::FqCodel => {
                // The kernel refuses to be told again how many flows there are.
                let flows = is_new.then_some(FLOWS);
                Discipline::FqCodel(FqCodel { memory, flows, ..FqCodel::default() })
            }
            Self::Cake => Discipline::Cake(Cake {
                rate: Some(Rate::from_bps(0)),
                isolation: Some(Isolation::Triple),
                is_best_effort: true,
                memory,
                splits: Some(true),
                ..Cake::default()
            }),
        }
    }

    /// How long a queue is, if it is one of this kind.
    pub(super) fn line(self, found: &Discipline) -> Option<u32> {
        let of_memory = |memory: Option<Bytes>| memory.map(|memory| memory.count() / MEMORY);
        match (self, found) {
            (Self::Plain, Discipline::Bfifo { limit }) => Some(limit.count()),
            (Self::Cutting, Discipline::Tbf(tbf)) => Some(tbf.limit.count()),
            (Self::FqCodel, Discipline::FqCodel(found)) => of_memory(found.memory),
            (Self::Cake, Discipline::Other { kind, options }) if kind == "cake" => {
                of_memory(Cake::memory(options))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_made_and_another_kind_is_none() {
        let all = [Leaf::Plain, Leaf::Cutting, Leaf::FqCodel];
        for made in all {
            for read in all {
                let line = read.line(&made.discipline(6056, true));
                assert_eq!(line, (made == read).then_some(6056), "{made:?} read as {read:?}");
            }
        }
        let memory = [8, 0, 10, 0, 0, 1, 0, 0]; // `TCA_CAKE_MEMORY` of 256 bytes
        let cake = Discipline::Other { kind: "cake".into(), options: memory.to_vec() };
        if cfg!(target_endian = "little") {
            assert_eq!(Leaf::Cake.line(&cake), Some(128));
        }
        assert_eq!(Leaf::Cutting.line(&cake), None);
    }
}
