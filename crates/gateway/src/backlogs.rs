//! Estimates the number of packets that waited for the gateway's limits, from samples of backlogs every
//! 0.1 s.
//!
//! The kernel does not count packets that wait ("overlimits" are changes of mode). A sender at full
//! rate has a backlog in nearly every sample. A browser has one in some samples, and a sender that is
//! slow for other reasons in none. The estimate is the share of samples with a backlog, times the
//! packets that arrived.
//!
//! A backlog waits for the class's own bucket if the class had its ceiling in that time. Otherwise it
//! waits for the common bucket or for the device.

use crate::Side;
use evenair_units::{Duration, Rate};
use std::collections::BTreeMap;

/// Interval between samples.
pub(crate) const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// A class with this part of its ceiling had its ceiling.
const HAD: f64 = 0.95;

/// A class's samples in an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    samples: u32,
    backlogged: u32,
}

/// The bucket behind which a class has a backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bottleneck {
    /// No significant backlog.
    #[default]
    Nothing,
    /// The class's own bucket.
    Own,
    /// The common bucket, or the device.
    Other,
}

/// The samples since the start of the epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct BacklogSamples(BTreeMap<(Side, u16), Seen>);

impl BacklogSamples {
    /// Adds a sample of backlogs \[packets\], by class.
    pub(crate) fn add(&mut self, side: Side, lines: &BTreeMap<u16, u64>) {
        for (&minor, &packets) in lines {
            let seen = self.0.entry((side, minor)).or_default();
            seen.samples += 1;
            seen.backlogged += u32::from(packets > 0);
        }
    }

    /// Returns the share of samples with a backlog, or `None` without samples.
    pub(crate) fn share(&self, class: (Side, u16)) -> Option<f64> {
        let seen = self.0.get(&class).filter(|seen| seen.samples > 0)?;
        Some(f64::from(seen.backlogged) / f64::from(seen.samples))
    }

    /// Clears the samples at the end of an epoch.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Returns the bucket behind a backlog that was seen in this share of an interval, in which the class sent
/// so many bytes under its ceiling.
pub(crate) fn bottleneck(share: f64, bytes: u64, ceiling: Rate, interval: Duration) -> Bottleneck {
    let could = ceiling.as_bps() as f64 / 8.0 * interval.as_secs_f64();
    match share {
        0.0 => Bottleneck::Nothing,
        share if bytes as f64 >= HAD * could * share => Bottleneck::Own,
        _ => Bottleneck::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_tell_backlog_and_bucket() {
        let mut backlogs = BacklogSamples::default();
        for k in 0..10 {
            backlogs.add(Side::Down, &[(1, 3), (2, u64::from(k % 5 == 0)), (3, 0)].into());
        }
        let share = |minor| backlogs.share((Side::Down, minor));
        assert_eq!([share(1), share(2), share(3), share(4)], [Some(1.0), Some(0.2), Some(0.0), None]);
        assert_eq!(backlogs.share((Side::Up, 1)), None);
        let (ceiling, interval) = (Rate::from_kbps(400), Duration::from_secs(10));
        // 400 kb/s for 10 s are 500 kB.
        assert_eq!(bottleneck(1.0, 480_000, ceiling, interval), Bottleneck::Own);
        assert_eq!(bottleneck(1.0, 300_000, ceiling, interval), Bottleneck::Other, "another bucket held it");
        assert_eq!(
            bottleneck(0.2, 100_000, ceiling, interval),
            Bottleneck::Own,
            "pages, at full rate while they come"
        );
        assert_eq!(bottleneck(0.0, 480_000, ceiling, interval), Bottleneck::Nothing);
    }
}
