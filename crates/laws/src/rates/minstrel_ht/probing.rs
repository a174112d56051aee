//! Which modes are probed.

use super::groups::{Group, MODES_MAX, Place};
use super::{MinstrelHt, ONE};
use alloc::vec::Vec;
use evenair_units::Instant;

/// Candidates of each kind.
const CANDIDATES: usize = 5;

/// Random orders in which a group's modes are probed.
const ORDERS: usize = 10;

/// The modes that may be probed next, of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Candidates {
    places: [Option<Place>; CANDIDATES],
    /// The group that the last of them is from.
    group: u8,
}

impl Candidates {
    /// The slowest mode of each group that is faster than the best.
    pub(super) const NEXT: usize = 0;
    /// A random mode that is faster than those in use.
    const RANDOM: usize = 1;
    /// A random mode between the fastest and the slowest in use.
    const SLOWER: usize = 2;
    /// In which order kinds have their turn.
    const TURNS: [usize; 6] = [Self::NEXT, Self::RANDOM, Self::NEXT, Self::RANDOM, Self::NEXT, Self::SLOWER];

    /// Whether a mode is among the first, up to the first place that is free.
    fn have(&self, place: Place) -> bool {
        self.places.iter().map_while(|other| *other).any(|other| other == place)
    }

    /// Keeps those that are allowed still, as Linux does: one that needs not move is not counted, so that the next takes its place.
    fn keep(&mut self, is_allowed: impl Fn(Place) -> bool) -> usize {
        let mut kept = 0;
        for at in 0..CANDIDATES {
            let Some(place) = self.places[at] else { continue };
            if !is_allowed(place) {
                self.places[at] = None;
            } else if at != kept {
                self.places[at] = None;
                self.places[kept] = Some(place);
                kept += 1;
            }
        }
        kept
    }
}

/// The state of probing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Probing {
    /// No frame probes before.
    pub(super) due: Instant,
    turn: u8,
    kinds: [Candidates; 3],
    /// Random orders of a group's indices.
    orders: Vec<Vec<u8>>,
}

impl Probing {
    pub(super) fn new(groups: &[Group], seed: u64) -> Self {
        // The first group that is looked at is the second of Linux' list.
        let has_first = groups.first().is_some_and(|group| group.is_first);
        let group = if has_first { 0 } else { groups.len().saturating_sub(1) as u8 };
        let kinds = [Candidates { group, ..Candidates::default() }; 3];
        let is_long = groups.iter().any(|group| group.modes[10..].iter().any(Option::is_some));
        let size = if is_long { MODES_MAX } else { 10 };
        Self { due: Instant::ZERO, turn: 0, kinds, orders: random_orders(size, seed) }
    }

    /// The next mode to be probed, of the kind that has its turn or of this one.
    pub(super) fn take(&mut self, kind: Option<usize>) -> Option<Place> {
        let kind = kind.unwrap_or_else(|| {
            let kind = Candidates::TURNS[usize::from(self.turn)];
            self.turn = (self.turn + 1) % Candidates::TURNS.len() as u8;
            kind
        });
        self.kinds[kind].places.iter_mut().find(|place| place.is_some())?.take()
    }
}

/// Each index goes to a random place, or to the next one that is free.
fn random_orders(size: usize, seed: u64) -> Vec<Vec<u8>> {
    let mut state = seed;
    let order = |_| {
        let shifts: Vec<usize> = (0..size).map(|_| usize::from(byte(&mut state))).collect();
        let mut order = alloc::vec![None; size];
        for (index, shift) in shifts.into_iter().enumerate() {
            let mut at = (index + shift) % size;
            while order[at].is_some() {
                at = (at + 1) % size;
            }
            order[at] = Some(index as u8);
        }
        order.into_iter().flatten().collect()
    };
    (0..ORDERS).map(order).collect()
}

/// A byte of `SplitMix64`.
const fn byte(state: &mut u64) -> u8 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 56) as u8
}

impl MinstrelHt {
    /// Fills up the candidates, after the modes were sorted.
    pub(super) fn refill(&mut self) {
        let times = [self.best[0], self.best[1], self.robust].map(|place| self.duration(place));
        let [of_best, second, robust] = times;
        let (fast, slow) = (of_best.min(second).min(robust), of_best.max(second).max(robust));
        let mut kinds = self.probing.kinds;
        let mut filled = kinds[Candidates::NEXT].keep(|place| self.duration(place) < fast);
        while filled < CANDIDATES {
            kinds[Candidates::NEXT].places[filled] = self.next_faster(&mut kinds[Candidates::NEXT], of_best);
            if kinds[Candidates::NEXT].places[filled].is_none() {
                break;
            }
            filled += 1;
        }
        let mut filled = kinds[Candidates::RANDOM].keep(|place| self.duration(place) < fast);
        let is_between = |place| (self.duration(place) > fast) && (self.duration(place) < slow);
        let mut slower = kinds[Candidates::SLOWER].keep(is_between);
        while filled < CANDIDATES {
            kinds[Candidates::RANDOM].places[filled] =
                self.next_random(&mut kinds, [fast, slow], &mut slower);
            if kinds[Candidates::RANDOM].places[filled].is_none() {
                break;
            }
            filled += 1;
        }
        self.probing.kinds = kinds;
    }

    /// The groups after one, that one last.
    fn groups_after(&self, group: u8) -> impl Iterator<Item = usize> + use<> {
        let count = self.groups.len();
        (1..=count).map(move |step| (usize::from(group) + step) % count)
    }

    /// The slowest mode of a group that takes less than this time.
    fn slowest_below(&self, group: usize, time: u32) -> Option<usize> {
        self.groups[group].indices().find(|&index| self.groups[group].durations[index] < time)
    }

    /// Whether a mode is among the candidates, or is never one.
    fn have(&self, candidates: &Candidates, place: Place) -> bool {
        let is_zero = self.groups[place.group()].is_first && place.index() == 0;
        let has_room = candidates.places.iter().any(Option::is_none);
        candidates.have(place) || (is_zero && has_room)
    }

    /// The slowest mode faster than the best, of the next group that has one.
    fn next_faster(&self, candidates: &mut Candidates, of_best: u32) -> Option<Place> {
        for group in self.groups_after(candidates.group) {
            let Some(index) = self.slowest_below(group, of_best) else { continue };
            let place = Place::new(group, index);
            if !self.have(candidates, place) {
                candidates.group = group as u8;
                return Some(place);
            }
        }
        None
    }

    /// A random mode faster than those in use; others that are met on the way and are not the slowest become candidates too.
    fn next_random(
        &mut self,
        kinds: &mut [Candidates; 3],
        [fast, slow]: [u32; 2],
        slower: &mut usize,
    ) -> Option<Place> {
        let limit = |slower: usize| if slower < CANDIDATES { slow } else { fast };
        for group in self.groups_after(kinds[Candidates::RANDOM].group) {
            let Some(least) = self.slowest_below(group, limit(*slower)) else { continue };
            let Some(index) = self.next_in_order(group, least) else { continue };
            let place = Place::new(group, index);
            let time = self.duration(place);
            let kind = if time < fast { Candidates::RANDOM } else { Candidates::SLOWER };
            if self.have(&kinds[kind], place) {
                continue;
            }
            if kind == Candidates::RANDOM {
                kinds[kind].group = group as u8;
                return Some(place);
            }
            if *slower < CANDIDATES && time < slow && self.average(place) <= 95 * ONE / 100 {
                kinds[kind].places[*slower] = Some(place);
                *slower += 1;
            }
        }
        None
    }

    /// The next index in a group's random order that is not below the least one.
    fn next_in_order(&mut self, group: usize, least: usize) -> Option<usize> {
        let orders = &self.probing.orders;
        let this = &mut self.groups[group];
        for _ in 0..orders[0].len() {
            let index = usize::from(orders[usize::from(this.order)][usize::from(this.next)]);
            this.next += 1;
            if usize::from(this.next) == orders[0].len() {
                (this.next, this.order) = (0, (this.order + 1) % ORDERS as u8);
            }
            if index >= least && this.modes[index].is_some() {
                return Some(index);
            }
        }
        None
    }
}
