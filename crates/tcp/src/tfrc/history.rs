//! Which packets are lost, which losses are one event, and how often events are: RFC 5348 section 5.

use evenair_units::{Duration, Instant};
use std::collections::VecDeque;

/// A missing packet is lost once so many later packets have come (section 5.1).
const NDUPACK: u32 = 3;
/// Loss intervals that count (section 5.4).
const INTERVALS: usize = 8;
/// Section 5.4: how much each counts, the youngest first.
const WEIGHTS: [f64; INTERVALS] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
/// An old interval never counts less than this for a long one (section 5.5).
const DISCOUNT_LEAST: f64 = 0.25;

/// The packets of one connection, as they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// All before this one have come or are lost.
    next: u32,
    /// When the packet before it came, or the last packet that did.
    before: Option<(u32, Instant)>,
    /// From `next` on: when each packet came, if it has.
    ahead: VecDeque<Option<Instant>>,
    /// How many of those have come.
    waiting: u32,
}

impl Arrivals {
    /// A packet comes; gives every packet that is lost therefore, and when it would have come.
    pub(super) fn add(&mut self, now: Instant, number: u32, mut lost: impl FnMut(u32, Instant)) {
        let Some(offset) = number.checked_sub(self.next) else { return };
        let offset = offset as usize;
        if self.ahead.len() <= offset {
            self.ahead.resize(offset + 1, None);
        }
        if self.ahead[offset].is_none() {
            self.ahead[offset] = Some(now);
            self.waiting += 1;
        }
        loop {
            match self.ahead.front() {
                Some(&Some(at)) => {
                    self.before = Some((self.next, at));
                    self.step();
                    self.waiting -= 1;
                }
                Some(None) if self.waiting >= NDUPACK => self.give_up(&mut lost),
                _ => return,
            }
        }
    }

    fn step(&mut self) {
        self.ahead.pop_front();
        self.next += 1;
    }

    /// The first gap is lost; its packets would have come evenly between those around it (section 5.2).
    fn give_up(&mut self, lost: &mut impl FnMut(u32, Instant)) {
        let (gap, after_at) =
            self.ahead.iter().enumerate().find_map(|(i, at)| at.map(|at| (i, at))).expect("three have come");
        let after = self.next + gap as u32;
        let (before, before_at) = self.before.unwrap_or((after, after_at));
        for _ in 0..gap {
            let share = f64::from(self.next.saturating_sub(before)) / f64::from((after - before).max(1));
            let at = before_at + Duration::from_secs_f64(after_at.since(before_at).as_secs_f64() * share);
            lost(self.next, at.min(after_at));
            self.step();
        }
    }

    /// The number after the highest that has come.
    pub(super) fn end(&self) -> u32 {
        self.next + self.ahead.len() as u32
    }
}

/// Loss events and the packets between them.
#[derive(Clone, Debug)]
pub(super) struct LossIntervals {
    /// The first packet of the last event, and when it would have come.
    event: Option<(u32, Instant)>,
    /// Closed intervals, the youngest first \[packets\], and how much each is discounted.
    closed: VecDeque<(f64, f64)>,
    discounting: bool,
    /// How much all closed intervals are discounted now.
    discount: f64,
    events: u64,
}

impl LossIntervals {
    pub(super) fn new(discounting: bool) -> Self {
        let closed = VecDeque::with_capacity(INTERVALS + 1);
        Self { event: None, closed, discounting, discount: 1.0, events: 0 }
    }

    /// A packet is lost; outside the last event it begins another (section 5.2), and closes an interval
    /// (5.3). Returns whether this is the first event of all; its interval is no measurement and has to be
    /// [`seeded`](Self::seed).
    pub(super) fn lose(&mut self, number: u32, at: Instant, event: Duration) -> bool {
        if let Some((_, began)) = self.event
            && at.since(began) < event
        {
            return false;
        }
        let first = match self.event {
            None => true,
            Some((began, _)) => {
                debug_assert!(number > began, "loss events run backwards");
                self.close(f64::from(number - began));
                false
            }
        };
        self.event = Some((number, at));
        self.events += 1;
        first
    }

    /// The interval before the first event (section 6.3.1): the oldest, also where one arrival reveals
    /// several events.
    pub(super) fn seed(&mut self, packets: f64) {
        debug_assert_eq!(self.closed.len() as u64, (self.events - 1).min(INTERVALS as u64), "seeded twice");
        self.closed.push_back((packets.max(1.0), 1.0)); // of more than eight the oldest do not count
    }

    fn close(&mut self, packets: f64) {
        for (_, discount) in &mut self.closed {
            *discount *= self.discount;
        }
        self.discount = 1.0;
        self.closed.push_front((packets, 1.0));
        self.closed.truncate(INTERVALS);
    }

    /// Events so far.
    pub(super) const fn events(&self) -> u64 {
        self.events
    }

    /// p, where the numbers before `end` have come (sections 5.4 and 5.5); zero before the first event.
    pub(super) fn rate(&mut self, end: u32) -> f64 {
        let Some((began, _)) = self.event else { return 0.0 };
        let open = f64::from(end.saturating_sub(began));
        let mean = |lead: Option<f64>, discount: f64| {
            let closed = self.closed.iter().map(|&(packets, own)| (packets, own * discount));
            let all = lead.map(|packets| (packets, 1.0)).into_iter().chain(closed);
            let (packets, weights) = all.zip(WEIGHTS).fold((0.0, 0.0), |(p, w), ((packets, own), weight)| {
                (p + packets * own * weight, w + own * weight)
            });
            packets / weights
        };
        let without = mean(None, 1.0);
        self.discount = if self.discounting && open > 2.0 * without {
            (2.0 * without / open).max(DISCOUNT_LEAST)
        } else {
            1.0
        };
        let with = mean(Some(open), self.discount);
        (1.0 / with.max(without)).min(1.0)
    }
}
