//! How many of a class's packets had to wait for the gateway itself: told from looks at the lines, every tenth of a second.
//!
//! The kernel counts no packet that waits ("overlimits" are changes of mode). But who sends all that it can has a line at nearly every look, who
//! opens pages at some, and who is slow for other reasons at none; the share of looks with a line, times what came, is the estimate. A line stands
//! before the class's own bucket if the class had its ceiling while it stood; else before the bucket for all, or because the device itself takes no more.

use crate::Side;
use evenair_units::{Duration, Rate};
use std::collections::BTreeMap;

/// How often lines are looked at.
pub(crate) const EVERY: Duration = Duration::from_millis(100);
/// Who had so much of its ceiling had it.
const HAD: f64 = 0.95;

/// A class's looks in an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    looks: u32,
    lines: u32,
}

/// What made a class's packets wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nothing that is worth a word.
    #[default]
    Nothing,
    /// Its own bucket.
    Own,
    /// The bucket for all, or the device.
    Other,
}

/// The looks since the epoch began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks(BTreeMap<(Side, u16), Seen>);

impl Looks {
    /// How many packets wait of each class that was looked at.
    pub(crate) fn look(&mut self, side: Side, lines: &BTreeMap<u16, u64>) {
        for (&minor, &packets) in lines {
            let seen = self.0.entry((side, minor)).or_default();
            seen.looks += 1;
            seen.lines += u32::from(packets > 0);
        }
    }

    /// The share of looks at which a class had a line; none, if nobody looked.
    pub(crate) fn share(&self, class: (Side, u16)) -> Option<f64> {
        let seen = self.0.get(&class).filter(|seen| seen.looks > 0)?;
        Some(f64::from(seen.lines) / f64::from(seen.looks))
    }

    /// An epoch ends.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// What made a class wait that had a line for this share of an interval, and sent so many bytes under its ceiling.
pub(crate) fn before(share: f64, bytes: u64, ceiling: Rate, interval: Duration) -> Before {
    let could = ceiling.as_bps() as f64 / 8.0 * interval.as_secs_f64();
    match share {
        0.0 => Before::Nothing,
        share if bytes as f64 >= HAD * could * share => Before::Own,
        _ => Before::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_who_waits_and_for_what() {
        let mut looks = Looks::default();
        for k in 0..10 {
            looks.look(Side::Down, &[(1, 3), (2, u64::from(k % 5 == 0)), (3, 0)].into());
        }
        let share = |minor| looks.share((Side::Down, minor));
        assert_eq!([share(1), share(2), share(3), share(4)], [Some(1.0), Some(0.2), Some(0.0), None]);
        assert_eq!(looks.share((Side::Up, 1)), None);
        let (ceiling, interval) = (Rate::from_kbps(400), Duration::from_secs(10));
        // 400 kb/s for 10 s are 500 kB.
        assert_eq!(before(1.0, 480_000, ceiling, interval), Before::Own);
        assert_eq!(before(1.0, 300_000, ceiling, interval), Before::Other, "another bucket held it");
        assert_eq!(
            before(0.2, 100_000, ceiling, interval),
            Before::Own,
            "pages, at full rate while they come"
        );
        assert_eq!(before(0.0, 480_000, ceiling, interval), Before::Nothing);
    }
}
