//! The queues of classes: their kind and length.

use crate::config::Leaf as Wanted;
use crate::kernel::Failure;
use evenair_linux::Rtnetlink;
use evenair_linux::tc::{Cake, Discipline, FqCodel, Isolation, Tbf};
use evenair_units::{Bytes, Rate};

/// The link layer's header and tags, beyond the largest packet \[bytes\].
const LINK_LAYER: u32 = 22;
/// A rate that never delays a packet, as fast as any queue is drained.
const SPLITTER: Rate = Rate::from_kbps(1_000_000_000);
/// Memory of a flow queue as a multiple of its bytes. Such queues count the memory of packets: a full
/// packet takes half as much again as its bytes, a short one many times as much.
pub(crate) const MEMORY: u32 = 2;
/// Number of flows of a queue: a subscriber has few, and each takes 64 bytes of every queue.
pub(crate) const FLOWS: u32 = 128;

/// A kind of queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// First in, first out.
    Plain,
    /// As `Plain`, and cuts segments of many packets.
    Cutting,
    FqCodel,
    Cake,
}

impl Leaf {
    /// Returns the wanted kind, or for `Auto` the best that the kernel has.
    ///
    /// # Errors
    /// If the kernel lacks the wanted kind.
    pub(super) fn choose(netlink: &mut Rtnetlink, wanted: Wanted) -> Result<Self, Failure> {
        // If the process lacks permission to ask, every kind counts as missing. `Fifo` and `Auto` then
        // use `Plain`, which every kernel with HTB has.
        let mut has = |kind: &str| netlink.has_discipline(kind).unwrap_or(false);
        match wanted {
            Wanted::Cake if has("cake") => Ok(Self::Cake),
            Wanted::FqCodel | Wanted::Auto if has("fq_codel") => Ok(Self::FqCodel),
            Wanted::Fifo | Wanted::Auto if has("tbf") => Ok(Self::Cutting),
            Wanted::Fifo | Wanted::Auto => Ok(Self::Plain),
            Wanted::FqCodel | Wanted::Cake => {
                let kind = wanted.word();
                let why = format!(
                    "the kernel has no {kind} (module sch_{kind}); leaf = \"auto\" takes one that it has"
                );
                Err(Failure::new(format!("leaf = \"{kind}\""), why))
            }
        }
    }

    /// Returns a queue of a length in bytes, for a new class or for one that has a queue.
    pub(super) fn discipline(self, line: u32, is_new: bool) -> Discipline {
        let (limit, memory) = (Bytes::new(line), Some(Bytes::new(line.saturating_mul(MEMORY))));
        match self {
            Self::Plain => Discipline::Bfifo { limit },
            Self::Cutting => {
                Discipline::Tbf(Tbf { rate: SPLITTER, burst: Bytes::new(1500 + LINK_LAYER), limit })
            }
            Self::FqCodel => {
                // The kernel refuses to set the number of flows twice.
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

    /// Returns the length of a queue \[bytes\], if it is of this kind.
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
    fn leaf_reads_back_and_another_kind_is_none() {
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
