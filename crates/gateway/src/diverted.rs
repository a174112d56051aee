//! Detects diverted packets: another rule or filter moved them out of the class that the gateway's
//! rules chose.
//!
//! The packet filter counts the packets for each subscriber, by address, before any queue. The queues
//! count the packets that reach each class. Packets are diverted if a class lacks a good part of its
//! packets and the unlimited classes have about as many. Both conditions are needed: packets that a
//! later rule drops reach no class either, and the gateway ignores them.

use crate::Side;
use crate::kernel::{Counters, Readings};
use crate::tree::{DIRECT, EXEMPT};
use std::collections::{BTreeMap, BTreeSet};

/// Smallest volume of one subscriber that is judged \[bytes\]: twenty full packets.
const LEAST: u64 = 30_000;
/// Smallest missing part of a class's packets that counts as diverted. The size of drops is known no
/// better where segments are joined.
const MISSING: f64 = 0.25;
/// Smallest part of the missing bytes that must be in the unlimited classes.
const FOUND: f64 = 0.5;

/// The account of diverted packets of one epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Diverted {
    /// Bytes that the packet filter led to each subscriber's classes, both directions together.
    led: BTreeMap<u16, u64>,
    /// The queues' counters at the start of the epoch; `None` if they could not be read.
    then: Option<[Readings; 2]>,
    /// The subscribers with diverted packets in the last epoch.
    of: BTreeSet<u16>,
    /// The subscribers that were reported and have not received their packets again.
    told: BTreeSet<u16>,
    /// The next report: all diverted subscribers if there are new ones, or the empty set once none is
    /// left.
    news: Option<BTreeSet<u16>>,
}

impl Diverted {
    /// Adds bytes that were led to a subscriber's classes.
    pub(crate) fn lead(&mut self, minor: u16, bytes: u64) {
        *self.led.entry(minor).or_default() += bytes;
    }

    /// Starts an epoch.
    pub(crate) fn begin(&mut self, now: Option<&[Readings; 2]>) {
        self.led.clear();
        self.then = now.cloned();
    }

    /// Ends an epoch and starts the next; `now` is `None` if the queues' counters could not be read.
    pub(crate) fn end(&mut self, now: Option<&[Readings; 2]>) {
        let led = std::mem::take(&mut self.led);
        let then = std::mem::replace(&mut self.then, now.cloned());
        self.of.clear();
        let Some((then, now)) = then.zip(now) else { return };
        let came = |minor: u16| came(&then, now, minor);
        let elsewhere = [EXEMPT, DIRECT].map(|minor| came(minor).unwrap_or(0.0)).iter().sum::<f64>();
        let (mut are_more, mut are_fewer) = (false, false);
        for (minor, led) in led.into_iter().filter(|(_, led)| *led >= LEAST) {
            let missing = came(minor).map_or(0.0, |came| led as f64 - came);
            if missing >= MISSING * led as f64 && elsewhere >= FOUND * missing {
                self.of.insert(minor);
                are_more |= self.told.insert(minor);
            } else {
                are_fewer |= self.told.remove(&minor);
            }
        }
        if are_more || are_fewer && self.told.is_empty() {
            self.news = Some(self.told.clone());
        }
    }

    /// Takes the next report: all diverted subscribers if there are new ones, or the empty set once
    /// none is left.
    pub(crate) const fn take_news(&mut self) -> Option<BTreeSet<u16>> {
        self.news.take()
    }

    /// Returns the subscribers with diverted packets in the last epoch.
    pub(crate) const fn of(&self) -> &BTreeSet<u16> {
        &self.of
    }
}

/// Returns the bytes that reached a subscriber's classes: queued, sent or dropped. `None` if a class
/// was replaced in between.
fn came(then: &[Readings; 2], now: &[Readings; 2], minor: u16) -> Option<f64> {
    let of = |side: Side| {
        let Some(now) = now[side as usize].get(&minor) else { return Some(0.0) };
        more(then[side as usize].get(&minor)?, now)
    };
    Some(of(Side::Down)? + of(Side::Up)?)
}

/// Returns the bytes that reached a class between two readings; drops count with the mean packet size.
/// `None` if the class was replaced in between.
fn more(then: &Counters, now: &Counters) -> Option<f64> {
    let served = now.bytes.checked_sub(then.bytes)? as f64;
    let [packets, dropped] =
        [(now.packets, then.packets), (now.dropped, then.dropped)].map(|(now, then)| now.wrapping_sub(then));
    let mean = if packets > 0 { served / f64::from(packets) } else { 1_514.0 };
    Some(served + mean * f64::from(dropped) + now.backlog.bytes as f64 - then.backlog.bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::FIRST;

    /// Returns counters after a number of packets of 1500 bytes and a number of drops.
    fn counters(packets: u32, dropped: u32) -> Counters {
        Counters { packets, bytes: u64::from(packets) * 1_500, dropped, ..Counters::default() }
    }

    /// Returns readings of the exempt class and of two subscribers' download classes, each \[packets,
    /// drops\].
    fn readings(exempt: [u32; 2], classes: [[u32; 2]; 2]) -> [Readings; 2] {
        let of = |[packets, dropped]: [u32; 2]| counters(packets, dropped);
        let down = [(EXEMPT, of(exempt)), (FIRST, of(classes[0])), (FIRST + 1, of(classes[1]))].into();
        [down, Readings::new()]
    }

    /// Returns the diverted subscribers; `led` has the packets that were led to each of two.
    fn diverted(led: [u64; 2], exempt: [u32; 2], classes: [[u32; 2]; 2]) -> Vec<u16> {
        let mut diverted = Diverted::default();
        diverted.begin(Some(&readings([7, 7], [[9, 9]; 2])));
        diverted.lead(FIRST, led[0] * 1_500);
        diverted.lead(FIRST + 1, led[1] * 1_500);
        let then = |[packets, dropped]: [u32; 2], was: u32| [packets + was, dropped + was];
        diverted.end(Some(&readings(then(exempt, 7), classes.map(|class| then(class, 9)))));
        diverted.of().iter().copied().collect()
    }

    #[test]
    fn exempt_packets_count_as_diverted() {
        // The exempt class has all packets of both, and has dropped three quarters of them.
        assert_eq!(diverted([400, 400], [200, 600], [[0, 0]; 2]), [FIRST, FIRST + 1]);
        // A third of one subscriber's packets, which have a mark of their own.
        assert_eq!(diverted([300, 300], [100, 0], [[200, 0], [300, 0]]), [FIRST]);
    }

    #[test]
    fn dropped_or_waiting_is_not_diverted() {
        assert_eq!(diverted([400, 400], [500, 0], [[100, 300], [400, 0]]), [0_u16; 0]);
        // A firewall drops a flood behind the gateway's rules: the flood is in no class.
        assert_eq!(diverted([4_000, 400], [100, 0], [[100, 0], [400, 0]]), [0_u16; 0]);
        // A few packets.
        assert_eq!(diverted([19, 0], [19, 0], [[0, 0]; 2]), [0_u16; 0]);
        // The packet filter reported no counts by address.
        assert_eq!(diverted([0, 0], [500, 0], [[10, 0]; 2]), [0_u16; 0]);
    }

    /// A subscriber that is silent for an epoch stays diverted and is not reported twice.
    #[test]
    fn it_is_told_once_until_packets_come_again() {
        let mut diverted = Diverted::default();
        let (mut exempt, mut own) = (0, 0);
        let mut epoch = |led: u64, to_exempt: u32, to_own: u32| {
            (exempt, own) = (exempt + to_exempt, own + to_own);
            diverted.lead(FIRST, led * 1_500);
            diverted.end(Some(&readings([exempt, 0], [[own, 0], [0, 0]])));
            (diverted.of().len(), diverted.take_news().map(|news| news.len()))
        };
        epoch(0, 0, 0);
        assert_eq!(epoch(400, 400, 0), (1, Some(1)));
        assert_eq!(epoch(400, 400, 0), (1, None));
        assert_eq!(epoch(1, 1, 0), (0, None));
        assert_eq!(epoch(400, 400, 0), (1, None));
        assert_eq!(epoch(400, 0, 400), (0, Some(0)));
        assert_eq!(epoch(400, 0, 400), (0, None));
    }

    #[test]
    fn classes_that_were_made_anew_tell_nothing() {
        let mut diverted = Diverted::default();
        diverted.begin(Some(&readings([0, 0], [[500, 0]; 2])));
        diverted.lead(FIRST, 600_000);
        diverted.end(Some(&readings([400, 0], [[0, 0], [500, 0]])));
        assert!(diverted.of().is_empty());
        diverted.lead(FIRST, 600_000);
        diverted.end(None);
        diverted.lead(FIRST, 600_000);
        diverted.end(Some(&readings([900, 0], [[0, 0], [500, 0]])));
        assert!(diverted.of().is_empty(), "of an epoch that was not read at its beginning nothing is known");
    }
}
