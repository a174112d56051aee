//! The corrected form's judgement of a class, from its queue's counters and its history.
//!
//! # Law
//! A class is *limited* if the gateway itself is its bottleneck, or if it got γ of its due. It is
//! *unresponsive* if it is limited and still loses half as much as it gets. It is *starved* if it is not
//! limited and gets less than θ of its greatest observed rate, or has never been observed to get anything.
//! Else it is *content* at any rate. An epoch without a packet is not judged: a starved class may wait for a
//! longer time-out, and a class is gone only after `patience` epochs.
//!
//! Where the host reports *busy time* (`busy.rs`), a class that gets less than γ of its due may be content at
//! once. It is, if it is not limited and busy for less than a tenth of the epoch, or if it has γ of its due
//! while it is busy; its demand is its smoothed rate. So are pages and calls. A class that is busy and silent
//! is starved. Only a class that is busy and gets less than its due is judged by the above: its path may be
//! narrow, or others may take its share. It is not limited, though most of its packets waited: mesh and TCP
//! pass an upload in bursts, and a burst waits for tokens although tokens went unused in the pauses.
//!
//! Where the host reports busy time for some classes and not for one, that one gets γ of its due, or is not
//! judged. So a sender that hides its outstanding data neither makes all content nor lowers the rate of
//! others.
//!
//! Where the host reports *answers* (`answers.rs`), a class of an absent subscriber wants the rate that it
//! gets, and an alarm raised for it is dropped. While the last data have waited for an answer for a second or
//! more, a class is not judged starved.
//!
//! # Source
//! Ours, after [Jam10] Alg. 1 and Alg. 4 (J11, J13).
//!
//! # Symbols
//! γ, θ → `gamma`, `theta` of the laws' parameters.
//!
//! # Signals
//! All of [`ClassView`].
//!
//! # Deviations
//! It is one: see [`pfrc`](super::pfrc) and [`arc`](super::arc).

use super::members::{Change, Members};
use super::{ClassView, GatewayView, Tuning};

/// A class that is busy for a smaller share of the time wants little.
const IDLE: f64 = 0.1;
/// The weight of one epoch in a class's smoothed demand.
const SMOOTHING: f64 = 0.3;
/// An epoch's counts may differ by so much by chance \[bits\]: two full packets.
const SLACK_BITS: f64 = 24_000.0;
/// Alarms of a class are ignored for this many epochs after its second false alarm in a row; the first only
/// updates its demand.
const DEAF: u32 = 6;
/// So often that time is doubled at most.
const DOUBLINGS: u32 = 3;
/// While alarms are ignored, a rate below this share of the greatest observed one still counts.
const DEEP: f64 = 0.5;
/// A class that is starved in so many epochs in a row is taken for it.
const LASTING: u32 = 2;
/// The number of them, if it was never seen to get more than a trickle: that may be all that it wants, such as a web client's requests.
const LASTING_TRICKLE: u32 = 4;

/// A law's account of its classes in an epoch.
pub(super) struct Epoch<'a> {
    pub(super) view: &'a GatewayView,
    pub(super) members: &'a Members,
    pub(super) change: Change,
    /// Each class's due \[bit/s\].
    pub(super) due: &'a [f64],
    /// Whether the gateway itself was a class's bottleneck whenever it had something to send.
    pub(super) limited: fn(&ClassView) -> bool,
    /// Whether one bucket serves all, so that one class takes the rest of another.
    pub(super) one_bucket: bool,
}

impl Epoch<'_> {
    pub(super) fn is_limited(&self, class: usize) -> bool {
        self.view.class(class).is_some_and(self.limited)
    }

    /// Whether the host reports busy time, of one class at least.
    fn has_busy_time(&self) -> bool {
        self.view.classes.iter().flatten().any(|class| class.busy.is_some())
    }

    /// The chance deviation of a rate \[bit/s\].
    fn slack(&self) -> f64 {
        SLACK_BITS / self.view.interval.as_secs_f64()
    }
}

/// How a class fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It is not there, or not for a whole epoch.
    Absent,
    /// It is there, but there was nothing of it.
    Silent,
    /// The gateway is its bottleneck.
    Limited,
    /// The gateway is its bottleneck, and it does not care.
    Unresponsive,
    /// It wants no more, or its bottleneck is its own.
    Content,
    /// Others take rate that it could have.
    Starved,
    /// It got less than its due, and its demand is unknown.
    Unjudged,
}

/// The record of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Memory {
    /// The rate that it was seen to get \[bit/s\].
    pub(super) known: Option<f64>,
    /// The rate that it got when it was found starved, until that is resolved \[bit/s\].
    pub(super) alarm: Option<f64>,
    /// Epochs in a row in which it was found starved.
    doubt: u32,
    /// False alarms in a row.
    false_alarms: u32,
    /// Epochs for which its alarms are ignored.
    deaf: u32,
    /// Whether a lower rate for all has shown that it wants no more than the known rate.
    is_content: bool,
    /// Whether it was there for the whole of the last epoch.
    is_settled: bool,
}

impl Memory {
    /// Judges the class. Its history is updated too, unless the last move has not taken effect yet.
    pub(super) fn judge(
        &mut self,
        tuning: &Tuning,
        epoch: &Epoch<'_>,
        class: usize,
        settling: bool,
    ) -> Finding {
        self.deaf = self.deaf.saturating_sub(1);
        if !epoch.members.is_active(class) {
            *self = Self { alarm: None, doubt: 0, is_settled: false, ..*self };
            return Finding::Absent;
        }
        if !core::mem::replace(&mut self.is_settled, true) {
            return Finding::Absent;
        }
        let seen = epoch.view.class(class).copied().unwrap_or_default();
        let busy = seen.busy.map(|busy| busy.as_secs_f64() / epoch.view.interval.as_secs_f64());
        if !seen.is_seen() && busy.is_none_or(|busy| busy < IDLE) {
            return Finding::Silent;
        }
        let (rate, due) = (epoch.view.rate(class), epoch.due[class]);
        let enough = rate >= tuning.gamma * due;
        if seen.is_away() && !enough {
            self.leaves(rate);
            return Finding::Content;
        }
        let mut limited = (epoch.limited)(&seen);
        if let Some(busy) = busy.filter(|_| !enough) {
            if !limited && busy < IDLE || rate >= tuning.gamma * due * busy {
                self.wants(rate);
                return Finding::Content;
            }
            self.is_content &= self.deaf > 0;
            // Its packets waited, but its bucket had more to give than it took.
            limited &= busy < IDLE;
        }
        if enough {
            self.is_content = false;
            if !settling {
                self.known = Some(self.known.map_or(rate, |known| f64::midpoint(known, rate)));
            }
        }
        if enough || limited {
            return if seen.ignores_losses() { Finding::Unresponsive } else { Finding::Limited };
        }
        if busy.is_none() && epoch.has_busy_time() {
            return Finding::Unjudged;
        }
        let starved = if seen.is_unheard() { Finding::Silent } else { Finding::Starved };
        match self.known {
            // A packet more or less is no less.
            Some(known) if rate + epoch.slack() >= tuning.theta * known => {
                self.known = Some(known.max(f64::midpoint(known, rate)));
                Finding::Content
            }
            // After a false alarm the next alarm counts when the class loses half, and not at once.
            Some(known) if rate < DEEP * known => starved,
            _ if self.deaf > 0 => Finding::Content,
            _ => starved,
        }
    }

    /// It wants so much and no more \[bit/s\].
    fn wants(&mut self, rate: f64) {
        // Its rate while it wanted all it could get is not its demand.
        let before = self.known.filter(|_| self.is_content).unwrap_or(rate);
        (self.is_content, self.known) = (true, Some(before + SMOOTHING * (rate - before)));
    }

    /// Its subscriber is away: the rate before says nothing about the rate after its return \[bit/s\].
    const fn leaves(&mut self, rate: f64) {
        (self.is_content, self.known, self.alarm, self.doubt) = (true, Some(rate), None, 0);
    }

    /// One more epoch in which the class was found so.
    pub(super) fn count(&mut self, finding: Finding) {
        self.doubt = match finding {
            Finding::Starved => self.doubt.saturating_add(1),
            Finding::Silent | Finding::Unjudged => self.doubt,
            _ => 0,
        };
    }

    /// Whether the class has been starved for long enough to believe it.
    pub(super) fn is_lasting(&self, epoch: &Epoch<'_>, class: usize) -> bool {
        let trickle = self.known.is_none() && epoch.view.rate(class) <= epoch.slack();
        self.doubt >= if trickle { LASTING_TRICKLE } else { LASTING }
    }

    /// Whether a change after an increase counts as its effect at once.
    pub(super) fn is_trusted(&self) -> bool {
        self.deaf == 0 && self.known.is_some()
    }

    /// All rates have changed: earlier observations of known classes no longer apply.
    pub(super) fn forget_doubt(&mut self) {
        if self.known.is_some() {
            self.doubt = 0;
        }
    }

    /// It was starved indeed.
    pub(super) fn was_starved(&mut self) {
        (self.alarm, self.false_alarms) = (None, 0);
    }

    /// It wants no more than it gets \[bit/s\].
    pub(super) fn is_found_content(&mut self, rate: f64) {
        let again = self.false_alarms.checked_sub(1);
        self.deaf = again.map_or(0, |times| DEAF << times.min(DOUBLINGS));
        self.false_alarms = self.false_alarms.saturating_add(1);
        (self.is_content, self.known, self.doubt) = (true, Some(rate), 0);
    }

    /// Its demand; none, if it is not known to want less than it is given \[bit/s\].
    pub(super) fn demand(&self) -> Option<f64> {
        self.known.filter(|_| self.is_content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::tests::{served, tuning, view};
    use crate::gateway::{ClassRole, GatewayRole};
    use evenair_units::{Duration, Volume};

    /// In these tests the gateway is the bottleneck of any class with a wait.
    fn limited(seen: &ClassView) -> bool {
        seen.held.is_some()
    }

    /// The result of `with` in an epoch of ten seconds in which a class with a due of 1 Mb/s was observed so;
    /// γ is 0.85, θ 0.9.
    fn in_epoch<T>(seen: ClassView, with: impl FnOnce(&Epoch<'_>) -> T) -> T {
        let role = GatewayRole { classes: [ClassRole::default()].into() };
        let mut members = Members::new(&role, 3, false);
        members.observe(&view(&[Some(served(1_000))]));
        let seen = view(&[Some(seen)]);
        let change = Change::default();
        with(&Epoch { view: &seen, members: &members, change, due: &[1e6], limited, one_bucket: false })
    }

    fn judged(memory: &mut Memory, seen: ClassView) -> Finding {
        in_epoch(seen, |epoch| memory.judge(&tuning(), epoch, 0, false))
    }

    fn settled(known: Option<f64>) -> Memory {
        Memory { known, is_settled: true, ..Memory::default() }
    }

    fn busy(bps: u64, ms: u64) -> ClassView {
        ClassView { busy: Some(Duration::from_millis(ms)), ..served(bps) }
    }

    fn held(seen: ClassView) -> ClassView {
        ClassView { held: Some(1), ..seen }
    }

    #[test]
    fn class_without_a_whole_epoch_is_absent() {
        let mut new = Memory::default();
        assert_eq!(judged(&mut new, served(900_000)), Finding::Absent);
        assert_eq!(judged(&mut new, served(900_000)), Finding::Limited);
        let role = GatewayRole { classes: [ClassRole::default()].into() };
        let members = Members::new(&role, 3, false);
        let mut gone = Memory { alarm: Some(1.0), doubt: 2, deaf: 4, ..settled(Some(5e5)) };
        let seen = view(&[Some(served(0))]);
        let change = Change::default();
        let epoch = Epoch { view: &seen, members: &members, change, due: &[1e6], limited, one_bucket: false };
        assert_eq!(gone.judge(&tuning(), &epoch, 0, false), Finding::Absent);
        assert_eq!(gone, Memory { known: Some(5e5), deaf: 3, ..Memory::default() });
    }

    #[test]
    fn empty_epoch_counts_only_if_it_was_busy() {
        assert_eq!(judged(&mut settled(None), served(0)), Finding::Silent);
        assert_eq!(judged(&mut settled(None), busy(0, 900)), Finding::Silent);
        assert_eq!(judged(&mut settled(None), busy(0, 1_000)), Finding::Starved, "a tenth of the time");
    }

    #[test]
    fn class_with_its_due_is_limited_and_known() {
        let mut memory = settled(None);
        assert_eq!(judged(&mut memory, served(850_000)), Finding::Limited);
        assert_eq!(memory.known, Some(850e3));
        assert_eq!(judged(&mut memory, served(950_000)), Finding::Limited);
        assert_eq!(memory.known, Some(900e3), "half way");
        let mut settling = settled(None);
        in_epoch(served(900_000), |epoch| settling.judge(&tuning(), epoch, 0, true));
        assert_eq!(settling.known, None, "the last move is not to be seen yet");
        let dropped = Volume { packets: 600, bytes: 900_000 };
        let lossy = ClassView { dropped, ..served(900_000) };
        assert_eq!(judged(&mut settled(None), lossy), Finding::Unresponsive);
        let mut content = Memory { is_content: true, ..settled(Some(5e5)) };
        judged(&mut content, served(900_000));
        assert_eq!(content.demand(), None, "it wanted more than it was known to");
    }

    #[test]
    fn waiting_class_is_limited_by_an_empty_bucket() {
        assert_eq!(judged(&mut settled(None), held(served(100_000))), Finding::Limited);
        assert_eq!(judged(&mut settled(None), held(busy(20_000, 500))), Finding::Limited);
        assert_eq!(judged(&mut settled(None), held(busy(20_000, 5_000))), Finding::Starved);
        assert_eq!(judged(&mut settled(None), held(busy(50_000, 1_000))), Finding::Starved);
    }

    /// A class that hides its busy time while another's is reported: 85 % of its due is limited, less is not
    /// judged.
    #[test]
    fn class_without_busy_time_is_not_judged() {
        let judged = |memory: &mut Memory, seen: ClassView| {
            let role = GatewayRole { classes: [ClassRole::default(); 2].into() };
            let mut members = Members::new(&role, 3, false);
            members.observe(&view(&[Some(served(1_000)); 2]));
            let seen = view(&[Some(seen), Some(busy(1_000, 100))]);
            let (change, due) = (Change::default(), &[1e6; 2][..]);
            let epoch = Epoch { view: &seen, members: &members, change, due, limited, one_bucket: false };
            memory.judge(&tuning(), &epoch, 0, false)
        };
        for known in [None, Some(1e6)] {
            let mut memory = settled(known);
            assert_eq!(judged(&mut memory, served(20_000)), Finding::Unjudged);
            memory.count(Finding::Unjudged);
            assert_eq!(memory, settled(known), "nothing is learnt");
            assert_eq!(judged(&mut settled(known), busy(20_000, 5_000)), Finding::Starved);
            assert_eq!(judged(&mut settled(known), served(850_000)), Finding::Limited);
            assert_eq!(judged(&mut settled(known), ClassView::default()), Finding::Silent);
        }
    }

    /// Half a second of ten: it wants little. Of a second or two it got γ of its due while it was busy: 85 or 170 kb/s.
    #[test]
    fn idle_or_fast_class_is_content() {
        let mut idle = settled(None);
        assert_eq!(judged(&mut idle, busy(20_000, 500)), Finding::Content);
        assert_eq!(idle.demand(), Some(20e3));
        assert_eq!(judged(&mut idle, busy(30_000, 500)), Finding::Content);
        assert!((idle.demand().unwrap() - 23e3).abs() < 1e-6, "0.3 of the way");
        assert_eq!(judged(&mut settled(None), busy(170_000, 2_000)), Finding::Content);
        assert_eq!(judged(&mut settled(None), busy(169_000, 2_000)), Finding::Starved);
        assert_eq!(judged(&mut settled(None), busy(84_000, 1_000)), Finding::Starved, "busy for a tenth");
        assert_eq!(judged(&mut settled(None), held(busy(42_500, 500))), Finding::Content);
        // Its rate while it wanted all it could get is not its demand.
        let mut was_hungry = settled(Some(9e5));
        judged(&mut was_hungry, busy(20_000, 500));
        assert_eq!(was_hungry.demand(), Some(20e3));
    }

    /// θ = 0.9 of 500 kb/s is 450; two packets more in ten seconds are 2.4.
    #[test]
    fn class_below_its_known_rate_is_starved() {
        let mut memory = settled(Some(5e5));
        assert_eq!(judged(&mut memory, served(447_600)), Finding::Content);
        assert_eq!(memory.known, Some(5e5));
        assert_eq!(judged(&mut memory, served(447_592)), Finding::Starved);
        assert_eq!(judged(&mut memory, served(600_000)), Finding::Content);
        assert_eq!(memory.known, Some(5.5e5), "half way up");
        assert_eq!(
            judged(&mut settled(None), served(800_000)),
            Finding::Starved,
            "never seen to get its due"
        );
    }

    #[test]
    fn alarm_after_a_false_one_needs_half_a_loss() {
        let deaf = |deaf, known, bps| judged(&mut Memory { deaf, ..settled(known) }, served(bps));
        assert_eq!(deaf(2, Some(5e5), 250_000), Finding::Content);
        assert_eq!(deaf(2, Some(5e5), 249_600), Finding::Starved);
        assert_eq!(deaf(1, Some(5e5), 250_000), Finding::Starved, "that was the last epoch");
        assert_eq!(deaf(2, None, 250_000), Finding::Content);
        let stays = |deaf| {
            let mut memory = Memory { deaf, is_content: true, ..settled(Some(5e5)) };
            judged(&mut memory, busy(300_000, 9_000));
            memory.is_content
        };
        assert!(stays(2) && !stays(1));
    }

    /// Five seconds without an answer: its rate is its demand, unless that is γ of its due. After one second
    /// the epoch is not judged.
    #[test]
    fn class_of_a_host_that_has_left_wants_no_more() {
        let silent =
            |seconds, bps| ClassView { unanswered: Some(Duration::from_secs(seconds)), ..served(bps) };
        let mut memory = Memory { alarm: Some(1e5), doubt: 2, ..settled(Some(5e5)) };
        assert_eq!(judged(&mut memory, silent(5, 20_000)), Finding::Content);
        assert_eq!((memory.demand(), memory.alarm, memory.doubt), (Some(20e3), None, 0));
        let mut there = settled(None);
        assert_eq!(judged(&mut there, silent(5, 850_000)), Finding::Limited);
        assert_eq!((there.demand(), there.known), (None, Some(850e3)));
        assert_eq!(judged(&mut settled(None), silent(1, 20_000)), Finding::Silent);
    }

    #[test]
    fn doubts_grow_while_starved_and_last_in_silence() {
        let after = |finding| {
            let mut memory = Memory { doubt: 2, ..Memory::default() };
            memory.count(finding);
            memory.doubt
        };
        assert_eq!([Finding::Starved, Finding::Silent, Finding::Content].map(after), [3, 2, 0]);
        let lasting = |doubt, known, bps| {
            let memory = Memory { doubt, ..settled(known) };
            in_epoch(served(bps), |epoch| memory.is_lasting(epoch, 0))
        };
        assert!(lasting(2, None, 2_408) && !lasting(1, None, 2_408));
        assert!(lasting(4, None, 2_400) && !lasting(3, None, 2_400), "two packets: a trickle");
        assert!(lasting(2, Some(5e5), 2_400));
        for (known, left) in [(Some(5e5), 0), (None, 2)] {
            let mut memory = Memory { doubt: 2, ..settled(known) };
            memory.forget_doubt();
            assert_eq!(memory.doubt, left);
        }
    }

    #[test]
    fn known_class_without_doubt_is_trusted() {
        assert!(settled(Some(5e5)).is_trusted() && !settled(None).is_trusted());
        assert!(!Memory { deaf: 1, ..settled(Some(5e5)) }.is_trusted());
    }

    /// The first false alarm updates its demand; later ones silence it for 6, 12, 24 and 48 epochs, and no
    /// longer.
    #[test]
    fn false_alarms_silence_a_class_ever_longer() {
        let mut memory = Memory { doubt: 2, alarm: Some(1e5), ..settled(Some(5e5)) };
        let deaf = [(); 6].map(|()| {
            memory.is_found_content(2e5);
            memory.deaf
        });
        assert_eq!(deaf, [0, 6, 12, 24, 48, 48]);
        assert_eq!((memory.demand(), memory.doubt), (Some(2e5), 0));
        memory.was_starved();
        assert_eq!((memory.alarm, memory.false_alarms), (None, 0));
    }
}
