//! How the corrected form judges a class by what its queue counted, and what it remembers of it.
//!
//! # Law
//! A class is *limited* if the gateway itself is its bottleneck, or if it got γ of its due; *unresponsive* if it is limited and
//! loses half as much as it gets all the same; *starved* if it is not limited and gets less than θ of what it was seen to get, or
//! was never seen to get anything; else *content*, whatever it gets. An epoch without a packet says nothing: who starves may
//! wait for a time-out longer than that, and who has gone has gone after `patience` epochs.
//!
//! Where the host tells *busy time* (`busy.rs`), who gets less than γ of its due is content at once if it is not limited and busy for less
//! than a tenth of the epoch, or if it has γ of its due while it is busy; its demand is its smoothed rate. So are pages and calls. Who
//! is busy and silent is starved. Only who is busy and gets less than its due is judged by the above: its path may be narrow, or others
//! may take its share. It is not limited, though most of its packets waited: what mesh and TCP let through of an upload comes in bursts, which
//! wait for tokens that nobody used in between.
//!
//! Where the host tells *answers* (`answers.rs`), a class whose subscriber is away wants what it gets, and an alarm that was raised for it is none; while
//! the last data have waited for an answer for a second or more, a class is not found starved: the epoch says nothing of it.
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

/// Who is busy for less of the time wants little.
const IDLE: f64 = 0.1;
/// What one epoch tells of what a class wants counts so much.
const SMOOTHING: f64 = 0.3;
/// An epoch's counts may differ by so much by chance \[bits\]: two full packets.
const SLACK_BITS: f64 = 24_000.0;
/// For so many epochs a class is not heard after its second false alarm in a row; the first only teaches what it wants.
const DEAF: u32 = 6;
/// So often that time is doubled at most.
const DOUBLINGS: u32 = 3;
/// Meanwhile less than this share of what it was seen to get is heard.
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
    /// Whether one bucket is for all, so that what one leaves another takes.
    pub(super) one_bucket: bool,
}

impl Epoch<'_> {
    pub(super) fn is_limited(&self, class: usize) -> bool {
        self.view.class(class).is_some_and(self.limited)
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
    /// Others take what it could have.
    Starved,
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
    /// Epochs for which it is not heard.
    deaf: u32,
    /// Whether less for all has shown that it wants no more than what is known.
    is_content: bool,
    /// Whether it was there for the whole of the last epoch.
    is_settled: bool,
}

impl Memory {
    /// How the class fares. What is known of it is brought up to date, unless what the last move does is not to be seen yet.
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
        let starved = if seen.is_unheard() { Finding::Silent } else { Finding::Starved };
        match self.known {
            // A packet more or less is no less.
            Some(known) if rate + epoch.slack() >= tuning.theta * known => {
                self.known = Some(known.max(f64::midpoint(known, rate)));
                Finding::Content
            }
            // Who cried in vain is heard again when it loses half, and not at once.
            Some(known) if self.deaf > 0 && rate < DEEP * known => starved,
            _ if self.deaf > 0 => Finding::Content,
            _ => starved,
        }
    }

    /// It wants so much and no more \[bit/s\].
    fn wants(&mut self, rate: f64) {
        // What it had when it wanted all it could get is not what it wants.
        let before = self.known.filter(|_| self.is_content).unwrap_or(rate);
        (self.is_content, self.known) = (true, Some(before + SMOOTHING * (rate - before)));
    }

    /// Its subscriber is away: what it had says nothing of what it will have when it is back \[bit/s\].
    const fn leaves(&mut self, rate: f64) {
        (self.is_content, self.known, self.alarm, self.doubt) = (true, Some(rate), None, 0);
    }

    /// One more epoch in which the class was found so.
    pub(super) fn count(&mut self, finding: Finding) {
        self.doubt = match finding {
            Finding::Starved => self.doubt.saturating_add(1),
            Finding::Silent => self.doubt,
            _ => 0,
        };
    }

    /// Whether the class has been starved for long enough to believe it.
    pub(super) fn is_lasting(&self, epoch: &Epoch<'_>, class: usize) -> bool {
        let trickle = self.known.is_none() && epoch.view.rate(class) <= epoch.slack();
        self.doubt >= if trickle { LASTING_TRICKLE } else { LASTING }
    }

    /// Whether what follows an increase is taken for its effect at once.
    pub(super) fn is_trusted(&self) -> bool {
        self.deaf == 0 && self.known.is_some()
    }

    /// Something else is given to all: of who is known, what was seen before says nothing any more.
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
