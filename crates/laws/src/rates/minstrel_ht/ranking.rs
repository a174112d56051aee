//! How modes are sorted, at the end of each interval.

use super::groups::{Group, Place, Stats};
use super::{MinstrelHt, ONE};
use crate::rates::CHAIN_MAX;
use evenair_units::Instant;

/// The coefficients of the filter, times [`ONE`]: a low-pass of second order with a period of 16 intervals.
const OF_LAST: i32 = 0x1499;
const OF_LAST_BUT_ONE: i32 = -0x92e;
const OF_NEW: i32 = ONE.cast_signed() - OF_LAST - OF_LAST_BUT_ONE;

/// A probability of so many hundredths.
const fn percent(hundredths: u32) -> u32 {
    hundredths * ONE / 100
}

impl Stats {
    /// The interval is over.
    pub(super) fn close(&mut self) {
        if self.attempts > 0 {
            // A host that reports more than it sent is not believed.
            let successes = self.successes.min(self.attempts);
            let seen = (u64::from(successes) * u64::from(ONE) / u64::from(self.attempts)) as i32;
            self.filter(seen.max(1));
            self.is_known = true;
        }
        (self.attempts, self.successes) = (0, 0);
    }

    fn filter(&mut self, seen: i32) {
        let last = i32::from(self.average);
        if last == 0 {
            (self.average, self.average_before) = (seen as u16, seen as u16);
            return;
        }
        let filtered = OF_NEW * seen + OF_LAST * last + OF_LAST_BUT_ONE * i32::from(self.average_before);
        let filtered = (filtered >> 12).min(ONE.cast_signed());
        self.average_before = self.average;
        self.average = if filtered < 0 { 1 } else { filtered as u16 };
    }
}

impl MinstrelHt {
    /// Closes an interval: new averages, new order, new candidates for probes.
    #[allow(clippy::needless_range_loop, reason = "the groups change while their modes are compared")]
    pub(super) fn sort(&mut self, now: Instant) {
        if self.frames > 0 {
            let mean = ((u64::from(self.packets) << 12) / u64::from(self.frames)).cast_signed();
            let step = 32 * (mean - i64::from(self.length)) / 128; // a quarter of what is new
            self.length = (i64::from(self.length) + step).max(ONE.into()) as u32;
            (self.frames, self.packets) = (0, 0);
        }
        let first = Place::new(self.first_group(), self.groups[self.first_group()].slowest());
        let mut best = [first; CHAIN_MAX];
        for group in 0..self.groups.len() {
            self.close_group(group, &mut best);
        }
        self.best = best;
        self.robust = self.most_robust(first);
        self.reduce_streams();
        self.refill();
        self.sorted_at = now;
        self.probing.due = now;
    }

    /// The group that stands first: of the newest format, but for a group of DSSS where there are none of aggregates.
    fn first_group(&self) -> usize {
        self.groups.iter().position(|group| !group.is_legacy()).unwrap_or(0)
    }

    /// Closes the interval of a group's modes, fastest first: one that was never tried is as good as the best of the faster ones.
    fn close_group(&mut self, group: usize, best: &mut [Place; CHAIN_MAX]) {
        let mut of_group = [Place::new(group, self.groups[group].slowest()); CHAIN_MAX];
        let mut so_far = 0;
        for index in self.groups[group].indices().rev() {
            let stats = &mut self.groups[group].stats[index];
            stats.close();
            if stats.is_known {
                so_far = so_far.max(stats.average);
            } else {
                stats.average = stats.average.max(so_far);
            }
            let place = Place::new(group, index);
            if self.throughput(place) > 0 {
                self.insert(best, place);
                self.insert(&mut of_group, place);
            }
        }
        self.groups[group].best = [of_group[0].index() as u8, of_group[1].index() as u8];
    }

    /// Puts a mode into a list by its throughput, and of equals by its probability.
    fn insert(&self, list: &mut [Place; CHAIN_MAX], place: Place) {
        let rank = |place| (self.throughput(place), self.average(place));
        let at = list.iter().rposition(|&other| rank(place) <= rank(other)).map_or(0, |worse| worse + 1);
        if at < CHAIN_MAX {
            list[at..].rotate_right(1);
            list[at] = place;
        }
    }

    /// Packets of 1200 bytes in ten seconds; none, where fewer than a tenth arrives. At most nine tenths count, since the rest may be collisions.
    fn throughput(&self, place: Place) -> u32 {
        let average = self.average(place);
        if average < percent(10) {
            return 0;
        }
        let group = self.group(place);
        let length = if group.is_legacy() { 1 } else { self.length() };
        let overhead = self.overhead.of_frame(group.is_legacy(), false);
        let time = 1000 * overhead / length + self.duration(place);
        (100 * (average.min(percent(90)) * 1_000_000 / time)) >> 12
    }

    fn group(&self, place: Place) -> &Group {
        &self.groups[place.group()]
    }

    /// The filtered probability of success, times [`ONE`].
    pub(super) fn average(&self, place: Place) -> u32 {
        self.group(place).stats[place.index()].average.into()
    }

    /// The time of an average packet \[ns\].
    pub(super) fn duration(&self, place: Place) -> u32 {
        self.group(place).durations[place.index()]
    }

    /// Of the modes with more than three quarters the one with the greatest throughput, else the one with the greatest
    /// probability; of the whole link, and of each group.
    fn most_robust(&mut self, first: Place) -> Place {
        let best = self.best[0];
        let mut robust = first;
        for group in 0..self.groups.len() {
            self.groups[group].robust = self.groups[group].slowest() as u8;
            for index in self.groups[group].indices() {
                let place = Place::new(group, index);
                let is_vain =
                    self.duration(best) > self.duration(place) && self.average(place) < self.average(best);
                if is_vain || (self.group(place).is_legacy() && !self.group(best).is_legacy()) {
                    continue;
                }
                let of_group = Place::new(group, self.groups[group].robust.into());
                if self.is_more_robust(place, robust) {
                    robust = place;
                }
                if self.is_more_robust(place, of_group) {
                    self.groups[group].robust = index as u8;
                }
            }
        }
        robust
    }

    fn is_more_robust(&self, place: Place, than: Place) -> bool {
        if self.average(place) > percent(75) {
            self.throughput(place) > self.throughput(than)
        } else {
            self.average(place) > self.average(than)
        }
    }

    /// The most robust mode has fewer streams than the best, where there is one.
    fn reduce_streams(&mut self) {
        if self.groups.iter().all(Group::is_legacy) {
            return;
        }
        let (streams, mut greatest) = (self.group(self.best[0]).streams, 0);
        for (group, this) in self.groups.iter().enumerate() {
            let place = Place::new(group, this.robust.into());
            let throughput = self.throughput(place);
            if this.streams < streams && greatest < throughput {
                (self.robust, greatest) = (place, throughput);
            }
        }
    }
}
