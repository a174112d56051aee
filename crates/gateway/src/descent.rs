//! How limits come down: not at once, but by half every 0.4 s, from what a class carried.
//!
//! A flow of 5 Gb/s has some three megabytes on their way. Cut to 250 kb/s within a packet's time, the gateway drops nearly all of them, and
//! for a minute and a half TCP sends nothing but what was lost: the application gets nothing, and the law hears of a class that does not use
//! what it has. While a limit comes down step by step each loss is one that TCP answers by a smaller window. Who carries less than its limit has
//! the limit at the first look, and a limit that falls by less than half falls at once, as those of a law do.

use crate::Side;
use crate::kernel::{AllFound, Readings, Root};
use crate::tree::{OPEN, Trees};
use evenair_units::{Instant, Rate};
use std::collections::BTreeMap;

/// What remains of a limit after one look, in 1/1024: the fourth root of a half.
const STEP: u64 = 861;

/// Where a class's limit stands that comes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: Rate,
    carries: Carries,
}

/// What a class carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Unknown,
    /// What will have been counted since then \[bytes\].
    Since(Instant, u64),
    Known,
}

/// The limits that come down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Descent {
    classes: BTreeMap<(Side, u16), Place>,
}

impl Descent {
    /// Holds what is wanted up to where limits have come. `begins` says that nothing held anybody before, so that a tree which is made now
    /// begins without limits.
    pub(crate) fn hold(&mut self, wanted: &mut Trees, there: &AllFound, begins: bool) {
        for side in Side::ALL {
            let found = there.of(side);
            for (&minor, class) in &mut wanted.of_mut(side).classes {
                let standing = match found.root {
                    Root::Ours => found.tree.classes.get(&minor).map(|class| class.ceiling),
                    _ => begins.then_some(OPEN),
                };
                let falls = standing.is_some_and(|standing| class.ceiling.as_bps() * 2 < standing.as_bps());
                let key = (side, minor);
                if falls {
                    let place = Place { at: standing.unwrap_or(OPEN), carries: Carries::Unknown };
                    self.classes.entry(key).or_insert(place);
                }
                match self.classes.get(&key) {
                    Some(place) if place.at > class.ceiling => *class = class.up_to(place.at),
                    Some(_) => drop(self.classes.remove(&key)),
                    None => (),
                }
            }
        }
        self.classes.retain(|(side, minor), _| wanted.of(*side).classes.contains_key(minor));
    }

    /// A look later: what was measured is where the way down begins. Gives whether somebody carries more than it should.
    pub(crate) fn step(&mut self, now: Instant, readings: &[Readings; 2]) -> bool {
        let mut carries = false;
        for ((side, minor), place) in &mut self.classes {
            let bytes = readings[*side as usize].get(minor).map_or(0, |read| read.bytes);
            match place.carries {
                Carries::Unknown => place.carries = Carries::Since(now, bytes),
                Carries::Since(then, before) => {
                    let carried = bytes.saturating_sub(before) as f64 * 8.0 / now.since(then).as_secs_f64();
                    *place =
                        Place { at: place.at.min(Rate::from_bps(carried as u64)), carries: Carries::Known };
                }
                Carries::Known => {
                    carries = true;
                    place.at = Rate::from_bps(place.at.as_bps() / 1024 * STEP);
                }
            }
        }
        carries
    }

    /// Whether some are still on their way.
    pub(crate) fn is_over(&self) -> bool {
        self.classes.is_empty()
    }

    /// All limits are where they should be.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Counters, Found};
    use crate::tree::{FIRST, Has, Limits, Tree};
    use evenair_units::Duration;

    const LIMITS: Limits = Limits {
        total: None,
        unknown: Rate::from_kbps(256),
        exempt: Rate::from_kbps(10_000_000),
        acknowledgements: false,
    };

    fn wanted(kbps: u64) -> Trees {
        let mut tree = Tree::new(&LIMITS);
        tree.subscriber(FIRST, (Has::Bucket(Rate::from_kbps(kbps)), None), 1.0, Rate::from_kbps(8));
        Trees { down: tree.clone(), up: tree }
    }

    /// What stands after a look at which so many bytes had passed, and a hold: the subscriber's ceiling downwards \[kb/s\].
    fn look(descent: &mut Descent, there: &mut AllFound, (ms, bytes): (u64, u64), kbps: u64) -> u64 {
        let counters = Counters { bytes, ..Counters::default() };
        descent
            .step(Instant::ZERO + Duration::from_millis(ms), &[[(FIRST, counters)].into(), Readings::new()]);
        held(descent, there, kbps, false)
    }

    fn held(descent: &mut Descent, there: &mut AllFound, kbps: u64, begins: bool) -> u64 {
        let mut trees = wanted(kbps);
        descent.hold(&mut trees, there, begins);
        let found = |tree: &Tree| Found { root: Root::Ours, tree: tree.clone(), ..Found::default() };
        *there = AllFound { down: found(&trees.down), up: found(&trees.up), ..AllFound::default() };
        trees.down.classes[&FIRST].ceiling.as_bps() / 1000
    }

    #[test]
    fn who_carries_much_is_brought_down_by_half_in_four_looks() {
        let (mut descent, mut there) = (Descent::default(), AllFound::default());
        assert_eq!(held(&mut descent, &mut there, 250, true), OPEN.as_bps() / 1000);
        assert_eq!(look(&mut descent, &mut there, (70, 5_000), 250), OPEN.as_bps() / 1000);
        // 2 500 000 bytes in 0.2 s are 100 Mb/s.
        assert_eq!(look(&mut descent, &mut there, (270, 2_505_000), 250), 100_000);
        let up = there.up.tree.classes[&FIRST].ceiling;
        assert_eq!(up, Rate::from_kbps(250), "who carries nothing has its limit");
        for _ in 0..4 {
            look(&mut descent, &mut there, (300, 0), 250);
        }
        let four = there.down.tree.classes[&FIRST];
        assert!((49_000..51_000).contains(&(four.ceiling.as_bps() / 1000)), "{four:?}");
        assert_eq!((four.rate, four.quantum), (four.ceiling, 1514), "all of it is its own, as below");
        let mut looks = 4;
        while !descent.is_over() {
            look(&mut descent, &mut there, (300, 0), 250);
            looks += 1;
        }
        // 400 times less: 8.6 halvings.
        assert!((33..=36).contains(&looks), "{looks}");
        assert_eq!(there.down.tree, wanted(250).down);
    }

    #[test]
    fn what_falls_by_less_than_half_or_is_new_has_its_limit_at_once() {
        let (mut descent, mut there) = (Descent::default(), AllFound::default());
        assert_eq!(held(&mut descent, &mut there, 250, false), 250, "a device that came back");
        assert_eq!(held(&mut descent, &mut there, 130, false), 130);
        assert_eq!(held(&mut descent, &mut there, 60, false), 130);
        // Whatever it is that is wanted now, it is not less.
        assert_eq!(held(&mut descent, &mut there, 900, false), 900);
        assert!(descent.is_over());
    }
}
