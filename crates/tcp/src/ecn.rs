//! Explicit congestion notification (RFC 3168): a queue marks packets where it would drop them, the receiver
//! echoes the mark, and the sender cuts its window once a round trip and repeats nothing.
//!
//! Acknowledgements count marks, too (accurate ECN, RFC 9768: its three bits, without its option), for laws that want to know how many
//! there are; windows are cut as by RFC 3168.
//!
//! That both ends know it is a parameter of the sender's ([`SenderParams::ecn`](crate::SenderParams::ecn)):
//! the handshake's negotiation (section 6.1.1) is left out. Packets without data are not marked, nor are
//! retransmissions (section 6.1.5).
//!
//! # Deviations
//! The window is cut at once, as section 6.1.2 allows: no new segment leaves until the flight fits into it,
//! half a round trip of silence where it is halved. Linux spreads this cut over the round trip, as it does
//! after a loss (proportional rate reduction, RFC 6937), which the sender here does after losses only. Behind
//! a queue of a few packets a link idles more with marks here than there.

/// The congestion bits of one segment, and of the packet that carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ecn(u8);

impl Ecn {
    const CAPABLE: u8 = 1;
    const MARKED: u8 = 2;
    const ECHO: u8 = 4;
    const REDUCED: u8 = 8;
    /// Where the count of marks begins, of three bits.
    const COUNT: u32 = 4;

    /// New data: queues may mark it instead of dropping it (ECT); `reduced` confirms the receiver's echo
    /// (CWR).
    pub const fn of_data(reduced: bool) -> Self {
        Self(if reduced { Self::CAPABLE | Self::REDUCED } else { Self::CAPABLE })
    }

    /// An acknowledgement, which echoes marks or does not (ECE), and has the last three bits of their count (ACE of RFC 9768).
    pub(crate) const fn of_acknowledgement(echo: bool, marks: u8) -> Self {
        Self((if echo { Self::ECHO } else { 0 }) | (marks & 7) << Self::COUNT)
    }

    /// The last three bits of how many marks the receiver has seen (ACE).
    const fn count(self) -> u8 {
        self.0 >> Self::COUNT
    }

    const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// Whether a queue may mark the packet (ECT).
    pub const fn is_capable(self) -> bool {
        self.has(Self::CAPABLE)
    }

    /// Whether a queue has (CE).
    pub const fn is_marked(self) -> bool {
        self.has(Self::MARKED)
    }

    /// Whether the receiver has seen a mark that the sender has not confirmed yet (ECE).
    pub const fn echoes(self) -> bool {
        self.has(Self::ECHO)
    }

    /// Whether the sender has cut its window since its last confirmation (CWR).
    pub const fn is_reduced(self) -> bool {
        self.has(Self::REDUCED)
    }

    /// A queue marks the packet.
    ///
    /// # Panics
    /// If it is not capable: it would have to be dropped.
    pub const fn mark(&mut self) {
        assert!(self.is_capable(), "packets that cannot be marked are dropped");
        self.0 |= Self::MARKED;
    }
}

/// The receiver's side: it echoes from a mark on until the sender confirms its reaction (RFC 3168 section
/// 6.1.3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Echo {
    is_on: bool,
    /// Marks seen; it wraps.
    marks: u8,
}

impl Echo {
    pub(crate) const OFF: Self = Self { is_on: false, marks: 0 };

    pub(crate) const fn handle_data(&mut self, ecn: Ecn) {
        // A mark on the very segment that confirms the reaction is a new one.
        self.is_on = ecn.is_marked() || self.is_on && !ecn.is_reduced();
        self.marks = self.marks.wrapping_add(ecn.is_marked() as u8);
    }

    pub(crate) const fn told(self) -> Ecn {
        Ecn::of_acknowledgement(self.is_on, self.marks)
    }
}

/// The sender's side: one reaction a window, confirmed by new data (RFC 3168 section 6.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reaction {
    /// Until this segment is acknowledged an echo is of marks from before the last cut.
    until: u32,
    /// The next new data confirm the cut of the window.
    untold: bool,
    /// The last reported count of marks.
    marks: u8,
}

impl Reaction {
    /// Whether an echo, on an acknowledgement that expects this segment, requires a cut.
    pub(crate) const fn is_due(self, expected: u32) -> bool {
        expected > self.until
    }

    /// The window was cut, for an echo or a loss, when this segment was the next to be sent for the first time.
    pub(crate) const fn has_cut(&mut self, highest: u32) {
        *self = Self { until: highest, untold: true, marks: self.marks };
    }

    /// How many marks more an acknowledgement counts than the one before. Seven at most: RFC 9768 section
    /// 3.2.2 takes an ambiguous count for the least.
    pub(crate) const fn count_marks(&mut self, told: Ecn) -> u8 {
        let more = told.count().wrapping_sub(self.marks) & 7;
        self.marks = told.count();
        more
    }

    /// The flags of new data.
    pub(crate) fn of_new_data(&mut self) -> Ecn {
        Ecn::of_data(std::mem::take(&mut self.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echo_lasts_until_cwr_and_a_mark_restarts_it() {
        let (plain, told) = (Ecn::of_data(false), Ecn::of_data(true));
        let with_mark = |mut ecn: Ecn| {
            ecn.mark();
            ecn
        };
        let mut echo = Echo::OFF;
        let seen = [plain, with_mark(plain), plain, told, plain, with_mark(plain), with_mark(told), told];
        let echoed = seen.map(|ecn| {
            echo.handle_data(ecn);
            echo.told().echoes()
        });
        assert_eq!(echoed, [false, true, true, false, false, true, true, false]);
    }

    #[test]
    #[should_panic(expected = "packets that cannot be marked are dropped")]
    fn acknowledgements_are_not_marked() {
        Ecn::of_acknowledgement(true, 0).mark();
    }

    #[test]
    fn sender_counts_marks_beyond_its_cuts() {
        let (mut echo, mut reaction) = (Echo::OFF, Reaction::default());
        let mut marked = Ecn::of_data(false);
        marked.mark();
        let mut counted = 0;
        for step in 0..100 {
            echo.handle_data(if step % 3 == 0 { marked } else { Ecn::of_data(false) });
            // Every fifth is acknowledged; the next one reports the others.
            if step % 5 == 4 {
                counted += u32::from(reaction.count_marks(echo.told()));
                reaction.has_cut(step);
            }
        }
        assert_eq!(counted, 34);
    }

    #[test]
    fn one_cut_answers_a_window_with_one_cwr() {
        let mut reaction = Reaction::default();
        assert!(reaction.is_due(1));
        reaction.has_cut(10);
        assert!(!reaction.is_due(10) && reaction.is_due(11), "a window later");
        assert!(reaction.of_new_data().is_reduced() && !reaction.of_new_data().is_reduced());
    }
}
