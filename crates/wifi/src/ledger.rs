//! The airtime ledger: where each contender's time went.

use evenair_units::{Duration, Instant};

/// Where one contender's time went. The parts add up to the time that the ledger was open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Airtime {
    /// Exchanges of its own that succeeded: DATA, SIFS, ACK.
    pub own: Duration,
    /// Of these, aggregates: the part of their packets that the receiver did not decode.
    pub partly: Duration,
    /// Exchanges of its own that failed, time-out included.
    pub collided: Duration,
    /// Counting down on an idle medium.
    pub backoff: Duration,
    /// Waiting for an inter-frame space or a reservation to pass on an idle medium.
    pub interframe: Duration,
    /// Nothing to send.
    pub empty: Duration,
    /// The medium was busy with an exchange of each other contender, in the order of their numbers.
    pub blocked_by: Vec<Duration>,
}

impl Airtime {
    /// All the time that the medium was busy with others.
    pub fn blocked(&self) -> Duration {
        self.blocked_by.iter().copied().sum()
    }

    /// The sum of all parts.
    pub fn total(&self) -> Duration {
        self.own + self.collided + self.backoff + self.interframe + self.empty + self.blocked()
    }
}

/// A contender's present activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    Nothing,
    /// The medium is idle; the countdown runs from this instant.
    Waiting {
        countdown_from: Instant,
    },
    /// The medium is busy with an exchange of this contender.
    Blocked {
        by: u32,
    },
    Sending,
}

#[derive(Clone, Debug)]
struct Account {
    doing: Doing,
    since: Instant,
    time: Airtime,
}

/// The ledger of all contenders.
#[derive(Clone, Debug)]
pub struct Ledger {
    accounts: Vec<Account>,
}

impl Ledger {
    pub(crate) fn new(contenders: usize, now: Instant) -> Self {
        let time = Airtime { blocked_by: vec![Duration::ZERO; contenders], ..Airtime::default() };
        let account = Account { doing: Doing::Nothing, since: now, time };
        Self { accounts: vec![account; contenders] }
    }

    /// Where the time of one contender went.
    pub fn airtime(&self, contender: u32) -> &Airtime {
        &self.accounts[contender as usize].time
    }

    /// Turns to another activity at `now`. A frame that was being sent counts as own time; see [`Self::failed`].
    ///
    /// Propagation lets neighbours learn of things slightly out of order; time never runs backwards here.
    pub(crate) fn turn_to(&mut self, contender: u32, now: Instant, doing: Doing) {
        let account = &mut self.accounts[contender as usize];
        let now = now.max(account.since);
        let span = now.since(account.since);
        let time = &mut account.time;
        match account.doing {
            Doing::Nothing => time.empty += span,
            Doing::Sending => time.own += span,
            Doing::Blocked { by } => time.blocked_by[by as usize] += span,
            Doing::Waiting { countdown_from } => {
                let counted = now.since(countdown_from.max(account.since));
                time.backoff += counted;
                time.interframe += span - counted;
            }
        }
        account.doing = doing;
        account.since = now;
    }

    /// The exchange that ends at `now` failed.
    pub(crate) fn failed(&mut self, contender: u32, now: Instant, doing: Doing) {
        let before = self.accounts[contender as usize].time.own;
        self.turn_to(contender, now, doing);
        let time = &mut self.accounts[contender as usize].time;
        let span = time.own - before;
        time.own = before;
        time.collided += span;
    }

    /// The exchange that ends at `now` succeeded, but for so many of its packets.
    pub(crate) fn succeeded_partly(&mut self, contender: u32, now: Instant, (lost, of): (u64, u64)) {
        let before = self.accounts[contender as usize].time.own;
        self.turn_to(contender, now, Doing::Nothing);
        let time = &mut self.accounts[contender as usize].time;
        time.partly += (time.own - before) * lost / of;
    }

    pub(crate) fn doing(&self, contender: u32) -> Doing {
        self.accounts[contender as usize].doing
    }

    /// Brings all accounts up to `now`.
    pub(crate) fn close(&mut self, now: Instant) {
        for contender in 0..self.accounts.len() as u32 {
            self.turn_to(contender, now, self.doing(contender));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    #[test]
    fn every_microsecond_is_booked_once() {
        let mut ledger = Ledger::new(2, at(0));
        ledger.turn_to(0, at(10), Doing::Waiting { countdown_from: at(60) });
        ledger.turn_to(0, at(100), Doing::Blocked { by: 1 });
        ledger.turn_to(0, at(900), Doing::Waiting { countdown_from: at(950) });
        ledger.turn_to(0, at(1000), Doing::Sending);
        ledger.failed(0, at(2000), Doing::Waiting { countdown_from: at(2000) });
        ledger.turn_to(0, at(2020), Doing::Sending);
        ledger.succeeded_partly(0, at(3000), (3, 4));
        ledger.close(at(3500));
        let time = ledger.airtime(0);
        let us = |d: Duration| d.as_nanos() / 1000;
        assert_eq!(us(time.empty), 10 + 500);
        assert_eq!(us(time.interframe), 50 + 50);
        assert_eq!(us(time.backoff), 40 + 50 + 20);
        assert_eq!(us(time.blocked_by[1]), 800);
        assert_eq!(us(time.collided), 1000);
        assert_eq!((us(time.own), us(time.partly)), (980, 735));
        assert_eq!(us(time.total()), 3500);
    }
}
