//! Lowers limits gradually: by half every 0.4 s, starting from the rate that a class carried.
//!
//! A flow of 5 Gb/s has some three megabytes in flight. If it is cut to 250 kb/s within a packet's
//! time, the gateway drops nearly all of them. TCP then only retransmits for a minute and a half: the
//! application gets nothing, and the law sees a class that leaves its rate unused. If a limit comes
//! down step by step, TCP answers each loss with a smaller window.
//!
//! A class that carries less than its limit gets the limit at the first sample. A limit that falls by
//! less than half falls at once, as a law's limits do.

use crate::Side;
use crate::kernel::{AllFound, Readings, Root};
use crate::tree::{OPEN, Trees};
use evenair_units::{Instant, Rate};
use std::collections::BTreeMap;

/// The part of a limit that remains after one sample, in 1/1024: the fourth root of a half.
const STEP: u64 = 861;

/// The present limit of a class on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    at: Rate,
    carries: Carries,
}

/// The measured rate of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Unknown,
    /// The start of the measurement and the byte counter at that time \[bytes\].
    Since(Instant, u64),
    Known,
}

/// The limits that come down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lowering {
    classes: BTreeMap<(Side, u16), Place>,
}

impl Lowering {
    /// Raises wanted ceilings to the present limits on their way down. `begins` means that no limit was
    /// set before, so that a new tree starts without limits.
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

    /// Takes one sample: measures a class's rate first, then lowers its limit by a step. Returns
    /// whether a class carries more than it should.
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

    /// Returns whether no limit is on its way down.
    pub(crate) fn is_over(&self) -> bool {
        self.classes.is_empty()
    }

    /// Ends the lowering: the wanted limits apply at once.
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

    /// Returns the subscriber's download ceiling \[kb/s\] after a sample with so many bytes, and a
    /// hold.
    fn sample(lowering: &mut Lowering, there: &mut AllFound, (ms, bytes): (u64, u64), kbps: u64) -> u64 {
        let counters = Counters { bytes, ..Counters::default() };
        lowering
            .step(Instant::ZERO + Duration::from_millis(ms), &[[(FIRST, counters)].into(), Readings::new()]);
        held(lowering, there, kbps, false)
    }

    fn held(lowering: &mut Lowering, there: &mut AllFound, kbps: u64, begins: bool) -> u64 {
        let mut trees = wanted(kbps);
        lowering.hold(&mut trees, there, begins);
        let found = |tree: &Tree| Found { root: Root::Ours, tree: tree.clone(), ..Found::default() };
        *there = AllFound { down: found(&trees.down), up: found(&trees.up), ..AllFound::default() };
        trees.down.classes[&FIRST].ceiling.as_bps() / 1000
    }

    #[test]
    fn limits_fall_by_half_in_four_samples() {
        let (mut lowering, mut there) = (Lowering::default(), AllFound::default());
        assert_eq!(held(&mut lowering, &mut there, 250, true), OPEN.as_bps() / 1000);
        assert_eq!(sample(&mut lowering, &mut there, (70, 5_000), 250), OPEN.as_bps() / 1000);
        // 2 500 000 bytes in 0.2 s are 100 Mb/s.
        assert_eq!(sample(&mut lowering, &mut there, (270, 2_505_000), 250), 100_000);
        let up = there.up.tree.classes[&FIRST].ceiling;
        assert_eq!(up, Rate::from_kbps(250), "who carries nothing has its limit");
        for _ in 0..4 {
            sample(&mut lowering, &mut there, (300, 0), 250);
        }
        let four = there.down.tree.classes[&FIRST];
        assert!((49_000..51_000).contains(&(four.ceiling.as_bps() / 1000)), "{four:?}");
        assert_eq!((four.rate, four.quantum), (four.ceiling, 1514), "all of it is its own, as below");
        let mut samples = 4;
        while !lowering.is_over() {
            sample(&mut lowering, &mut there, (300, 0), 250);
            samples += 1;
        }
        // 400 times less: 8.6 halvings.
        assert!((33..=36).contains(&samples), "{samples}");
        assert_eq!(there.down.tree, wanted(250).down);
    }

    #[test]
    fn small_falls_and_new_classes_need_no_step() {
        let (mut lowering, mut there) = (Lowering::default(), AllFound::default());
        assert_eq!(held(&mut lowering, &mut there, 250, false), 250, "a device that came back");
        assert_eq!(held(&mut lowering, &mut there, 130, false), 130);
        assert_eq!(held(&mut lowering, &mut there, 60, false), 130);
        // A wanted ceiling above the present limit ends the lowering.
        assert_eq!(held(&mut lowering, &mut there, 900, false), 900);
        assert!(lowering.is_over());
    }
}
