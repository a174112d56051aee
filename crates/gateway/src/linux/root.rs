//! The root of a device, and the saved form of a foreign queue, from which it is restored.

use crate::kernel::Root;
use crate::tree::MAJOR;
use evenair_linux::tc::{Discipline, FqCodel, Handle, Qdisc, Tbf};
use evenair_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

/// Queues without classes: the kernel's report of one describes it completely.
const CLASSLESS: [&str; 9] =
    ["cake", "codel", "fq", "fq_codel", "fq_pie", "pfifo_fast", "pfifo_head_drop", "pie", "sfq"];

/// The saved form of a queue.
#[derive(Debug, Serialize, Deserialize)]
enum Kept {
    Pfifo(u32),
    Bfifo(u32),
    /// Rate \[bit/s\], burst and limit \[bytes\].
    Tbf(u64, u32, u32),
    /// Packets, memory, target and interval \[ns\], quantum, flows, marks.
    FqCodel(Option<u32>, Option<u32>, Option<u64>, Option<u64>, Option<u32>, Option<u32>, Option<bool>),
    Other(String, Vec<u8>),
}

/// Returns the root among all queues of a device.
pub(super) fn of(qdiscs: &[Qdisc]) -> Root {
    let Some(root) = qdiscs.iter().find(|qdisc| qdisc.parent == Handle::ROOT) else { return Root::Usual };
    match root.handle.major {
        // The kernel's own default has no number.
        0 => Root::Usual,
        MAJOR if matches!(root.discipline, Discipline::Htb(_)) => Root::Ours,
        major => {
            let has_children =
                qdiscs.iter().any(|qdisc| qdisc.parent.major == major && qdisc.parent != Handle::ROOT);
            let kept = keep(&root.discipline).filter(|_| !has_children);
            let kept = kept.and_then(|kept| serde_json::to_vec(&kept).ok());
            Root::Foreign { kind: root.discipline.kind().into(), major, kept }
        }
    }
}

fn keep(discipline: &Discipline) -> Option<Kept> {
    Some(match discipline {
        Discipline::Pfifo { packets } => Kept::Pfifo(*packets),
        Discipline::Bfifo { limit } => Kept::Bfifo(limit.count()),
        Discipline::Tbf(Tbf { rate, burst, limit }) => Kept::Tbf(rate.as_bps(), burst.count(), limit.count()),
        Discipline::FqCodel(FqCodel { packets, memory, target, interval, quantum, flows, marks }) => {
            Kept::FqCodel(
                *packets,
                memory.map(Bytes::count),
                target.map(Duration::as_nanos),
                interval.map(Duration::as_nanos),
                quantum.map(Bytes::count),
                *flows,
                *marks,
            )
        }
        Discipline::Other { kind, options } if CLASSLESS.contains(&kind.as_str()) => {
            Kept::Other(kind.clone(), options.clone())
        }
        _ => return None,
    })
}

/// Returns the queue of a saved form.
pub(super) fn read(kept: &[u8]) -> Option<Discipline> {
    Some(match serde_json::from_slice(kept).ok()? {
        Kept::Pfifo(packets) => Discipline::Pfifo { packets },
        Kept::Bfifo(limit) => Discipline::Bfifo { limit: Bytes::new(limit) },
        Kept::Tbf(rate, burst, limit) => {
            let (rate, burst, limit) = (Rate::from_bps(rate), Bytes::new(burst), Bytes::new(limit));
            Discipline::Tbf(Tbf { rate, burst, limit })
        }
        Kept::FqCodel(packets, memory, target, interval, quantum, flows, marks) => {
            Discipline::FqCodel(FqCodel {
                packets,
                memory: memory.map(Bytes::new),
                target: target.map(Duration::from_nanos),
                interval: interval.map(Duration::from_nanos),
                quantum: quantum.map(Bytes::new),
                flows,
                marks,
            })
        }
        Kept::Other(kind, options) => Discipline::Other { kind, options },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_root_reads_back_without_classes() {
        let tbf = Tbf { rate: Rate::from_kbps(900), burst: Bytes::new(3000), limit: Bytes::new(9000) };
        let codel =
            FqCodel { packets: Some(10), target: Some(Duration::from_millis(5)), ..FqCodel::default() };
        let cake = Discipline::Other { kind: "cake".into(), options: vec![1, 2, 3] };
        let all = [Discipline::Pfifo { packets: 9 }, Discipline::Tbf(tbf), Discipline::FqCodel(codel), cake];
        for discipline in all {
            let kept = serde_json::to_vec(&keep(&discipline).unwrap()).unwrap();
            assert_eq!(read(&kept), Some(discipline));
        }
        assert!(keep(&Discipline::Other { kind: "hfsc".into(), options: Vec::new() }).is_none());
        assert_eq!(read(b"nonsense"), None);
    }
}
