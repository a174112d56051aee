//! Enhanced distributed channel access: four queues per node that contend with their own spaces, windows and bursts.
//!
//! Channel access itself is [`dcf`](super::dcf)'s: a category differs in its [`Arbitration`] and its contention window.
//! Where EDCA departs from DCF: the inter-frame space depends on the category; a countdown is decremented at the
//! *beginning* of each slot, so that one interrupted in its first slot has still counted it; categories of one node
//! settle a tie among themselves; and a category that won may keep the medium for a TXOP.

use crate::phy::PhyStandard;
use crate::timing::MacTiming;
use evenair_laws::backoff::DcfParams;
use evenair_units::Duration;

/// How a contender waits for and keeps the medium, its back-off law left aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arbitration {
    /// The inter-frame space before countdowns run.
    pub space: Duration,
    /// How long it may keep the medium once it has won it; one packet only, if zero.
    pub txop_limit: Duration,
    /// Count a slot at its beginning (EDCA) instead of at its end (DCF).
    pub at_boundary: bool,
}

impl Arbitration {
    /// DCF's.
    pub const fn dcf(timing: &MacTiming) -> Self {
        Self { space: timing.difs, txop_limit: Duration::ZERO, at_boundary: false }
    }
}

/// Access categories, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// `AC_VO`.
    Voice,
    /// `AC_VI`.
    Video,
    /// `AC_BE`.
    BestEffort,
    /// `AC_BK`.
    Background,
}

impl Category {
    /// Its abbreviation in the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Voice => "vo",
            Self::Video => "vi",
            Self::BestEffort => "be",
            Self::Background => "bk",
        }
    }
}

/// Parameters of one category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdcaParams {
    /// Contention window before the first attempt \[slots\].
    pub window_min: u32,
    /// Contention window that repeated failures end at \[slots\].
    pub window_max: u32,
    /// Arbitration inter-frame space: SIFS and so many slots.
    pub aifsn: u32,
    /// How long a transmission opportunity lasts; one packet, if zero.
    pub txop_limit: Duration,
}

impl EdcaParams {
    /// The defaults of IEEE 802.11-2016 table 9-137.
    pub const fn standard(category: Category, phy: PhyStandard) -> Self {
        let (window, video_us, voice_us): (u32, u64, u64) = match phy {
            PhyStandard::B => (31, 6_016, 3_264),
            PhyStandard::A | PhyStandard::G => (15, 3_008, 1_504),
        };
        let (window_min, window_max, aifsn, txop_us) = match category {
            Category::Background => (window, 1023, 7, 0),
            Category::BestEffort => (window, 1023, 3, 0),
            Category::Video => (window.div_ceil(2) - 1, window, 2, video_us),
            Category::Voice => ((window + 1) / 4 - 1, window.div_ceil(2) - 1, 2, voice_us),
        };
        Self { window_min, window_max, aifsn, txop_limit: Duration::from_micros(txop_us) }
    }

    /// How a queue of this category arbitrates.
    pub fn arbitration(&self, timing: &MacTiming) -> Arbitration {
        Arbitration {
            space: timing.sifs + timing.slot * u64::from(self.aifsn),
            txop_limit: self.txop_limit,
            at_boundary: true,
        }
    }

    /// Its contention window.
    pub const fn backoff(&self) -> DcfParams {
        DcfParams { window_min: self.window_min, window_max: self.window_max, ..DcfParams::dsss() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_table() {
        let row = |category, phy| {
            let p = EdcaParams::standard(category, phy);
            (p.window_min, p.window_max, p.aifsn, p.txop_limit.as_nanos() / 1000)
        };
        assert_eq!(row(Category::Voice, PhyStandard::A), (3, 7, 2, 1504));
        assert_eq!(row(Category::Video, PhyStandard::A), (7, 15, 2, 3008));
        assert_eq!(row(Category::BestEffort, PhyStandard::A), (15, 1023, 3, 0));
        assert_eq!(row(Category::Background, PhyStandard::A), (15, 1023, 7, 0));
        assert_eq!(row(Category::Voice, PhyStandard::B), (7, 15, 2, 3264));
        assert_eq!(row(Category::Video, PhyStandard::B), (15, 31, 2, 6016));
    }
}
