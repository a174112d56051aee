//! Packets that were led to a class and did not come there: another rule or filter has given them another class behind the gateway's rules.
//!
//! The packet filter counts what it leads to classes, by address, before any queue; the queues count what came to each class. Where a class
//! lacks a good part of what was led to it, and what passes without a subscriber's limit has about as much, it is there. Both are needed: what another rule of the
//! packet filter drops behind the gateway's own comes to no class either, and is no concern of the gateway's.

use crate::Side;
use crate::kernel::{Counters, Readings};
use crate::tree::{DIRECT, EXEMPT};
use std::collections::{BTreeMap, BTreeSet};

/// So much is a matter of a few packets \[bytes\]: twenty full ones.
const LEAST: u64 = 30_000;
/// A class lacks packets if so much of them is missing: what drops are taken to be is no better known, where segments are joined.
const MISSING: f64 = 0.25;
/// And if what has no subscriber's limit had so much of what is missing, or more.
const FOUND: f64 = 0.5;

/// The account of an epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Astray {
    /// What was led to each subscriber's classes, both ways together \[bytes\].
    led: BTreeMap<u16, u64>,
    /// Where the queues' counters stood when the epoch began; none, where they could not be read.
    then: Option<[Readings; 2]>,
    /// The subscribers whose packets went astray in the last epoch.
    of: BTreeSet<u16>,
    /// Those of whom it was told, and whose packets were not seen to come again since.
    told: BTreeSet<u16>,
    /// What is to be told: those who are astray, more than before; or that none is any more.
    news: Option<BTreeSet<u16>>,
}

impl Astray {
    /// So much more was led to a subscriber's classes \[bytes\].
    pub(crate) fn lead(&mut self, minor: u16, bytes: u64) {
        *self.led.entry(minor).or_default() += bytes;
    }

    /// An epoch begins.
    pub(crate) fn begin(&mut self, now: Option<&[Readings; 2]>) {
        self.led.clear();
        self.then = now.cloned();
    }

    /// An epoch ends, and another begins; none, where the queues' counters could not be read.
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

    /// Those who are astray, if there are more since this was asked last; none of them, where all have come again.
    pub(crate) const fn take_news(&mut self) -> Option<BTreeSet<u16>> {
        self.news.take()
    }

    /// Those whose packets went astray in the last epoch.
    pub(crate) const fn of(&self) -> &BTreeSet<u16> {
        &self.of
    }
}

/// What came to a subscriber's classes, kept, passed on or dropped \[bytes\]; none, if a class was made anew.
fn came(then: &[Readings; 2], now: &[Readings; 2], minor: u16) -> Option<f64> {
    let of = |side: Side| {
        let Some(now) = now[side as usize].get(&minor) else { return Some(0.0) };
        more(then[side as usize].get(&minor)?, now)
    };
    Some(of(Side::Down)? + of(Side::Up)?)
}

/// What came to a class between two readings \[bytes\], drops taken to be as large as the mean; none, if it was made anew.
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

    /// Counters after so many packets of 1500 bytes, and so many drops.
    fn counters(packets: u32, dropped: u32) -> Counters {
        Counters { packets, bytes: u64::from(packets) * 1_500, dropped, ..Counters::default() }
    }

    /// Readings of the exempt class and two subscribers' on the way down, each \[packets, drops\].
    fn readings(exempt: [u32; 2], classes: [[u32; 2]; 2]) -> [Readings; 2] {
        let of = |[packets, dropped]: [u32; 2]| counters(packets, dropped);
        let down = [(EXEMPT, of(exempt)), (FIRST, of(classes[0])), (FIRST + 1, of(classes[1]))].into();
        [down, Readings::new()]
    }

    /// Who is told to be astray, where so many packets were led to each of two.
    fn astray(led: [u64; 2], exempt: [u32; 2], classes: [[u32; 2]; 2]) -> Vec<u16> {
        let mut astray = Astray::default();
        astray.begin(Some(&readings([7, 7], [[9, 9]; 2])));
        astray.lead(FIRST, led[0] * 1_500);
        astray.lead(FIRST + 1, led[1] * 1_500);
        let then = |[packets, dropped]: [u32; 2], was: u32| [packets + was, dropped + was];
        astray.end(Some(&readings(then(exempt, 7), classes.map(|class| then(class, 9)))));
        astray.of().iter().copied().collect()
    }

    #[test]
    fn what_is_in_the_exempt_class_is_missed_where_it_was_led_to() {
        // All of both are in the exempt class, which has dropped three quarters of it.
        assert_eq!(astray([400, 400], [200, 600], [[0, 0]; 2]), [FIRST, FIRST + 1]);
        // A third of one subscriber's: packets with a mark of their own.
        assert_eq!(astray([300, 300], [100, 0], [[200, 0], [300, 0]]), [FIRST]);
    }

    #[test]
    fn what_is_dropped_or_waits_is_not_astray() {
        assert_eq!(astray([400, 400], [500, 0], [[100, 300], [400, 0]]), [0_u16; 0]);
        // A firewall drops a flood behind the gateway's rules: it is in no class.
        assert_eq!(astray([4_000, 400], [100, 0], [[100, 0], [400, 0]]), [0_u16; 0]);
        // A few packets.
        assert_eq!(astray([19, 0], [19, 0], [[0, 0]; 2]), [0_u16; 0]);
        // Nothing was counted by address: the packet filter did not tell.
        assert_eq!(astray([0, 0], [500, 0], [[10, 0]; 2]), [0_u16; 0]);
    }

    /// Who is silent for an epoch has not come again, and is not told of twice.
    #[test]
    fn it_is_told_once_until_packets_come_again() {
        let mut astray = Astray::default();
        let (mut exempt, mut own) = (0, 0);
        let mut epoch = |led: u64, to_exempt: u32, to_own: u32| {
            (exempt, own) = (exempt + to_exempt, own + to_own);
            astray.lead(FIRST, led * 1_500);
            astray.end(Some(&readings([exempt, 0], [[own, 0], [0, 0]])));
            (astray.of().len(), astray.take_news().map(|news| news.len()))
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
        let mut astray = Astray::default();
        astray.begin(Some(&readings([0, 0], [[500, 0]; 2])));
        astray.lead(FIRST, 600_000);
        astray.end(Some(&readings([400, 0], [[0, 0], [500, 0]])));
        assert!(astray.of().is_empty());
        astray.lead(FIRST, 600_000);
        astray.end(None);
        astray.lead(FIRST, 600_000);
        astray.end(Some(&readings([900, 0], [[0, 0], [500, 0]])));
        assert!(astray.of().is_empty(), "of an epoch that was not read at its beginning nothing is known");
    }
}
