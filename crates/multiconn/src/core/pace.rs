//! A session's waiting time apart from its connections: for a rate bound, and for data to send.

use super::Core;
use crate::bucket::Bucket;
use evenair_units::{Duration, Instant, Rate};
use std::sync::Arc;

/// Accumulates the time during which a condition holds.
#[derive(Debug, Default)]
struct Stopwatch {
    since: Option<Instant>,
    so_far: Duration,
}

impl Stopwatch {
    fn note(&mut self, now: Instant, runs: bool) {
        match (self.since, runs) {
            (Some(since), false) => {
                self.so_far += now.since(since);
                self.since = None;
            }
            (None, true) => self.since = Some(now),
            _ => {}
        }
    }

    fn take(&mut self, now: Instant) -> Duration {
        let runs = self.since.is_some();
        self.note(now, false);
        self.note(now, runs);
        std::mem::replace(&mut self.so_far, Duration::ZERO)
    }
}

/// The rate bound and the idle times of a session.
#[derive(Debug, Default)]
pub(super) struct Pace {
    bucket: Option<Arc<Bucket>>,
    /// Reserved bytes and the earliest time to send them.
    booked: Option<(u64, Instant)>,
    /// Nothing may be sent until then.
    pub(super) dry_until: Option<Instant>,
    idle: Stopwatch,
    dry: Stopwatch,
}

impl Pace {
    pub(super) fn new(now: Instant) -> Self {
        let mut pace = Self::default();
        pace.idle.note(now, true);
        pace
    }

    /// Returns the bytes that may be sent now, at most `most`; none before `dry_until`.
    pub(super) fn take(&mut self, most: u64, now: Instant) -> Option<u64> {
        let Some(bucket) = &self.bucket else { return Some(most) };
        let (bytes, at) = self.booked.take().unwrap_or_else(|| {
            let piece = bucket.piece().min(most);
            (piece, bucket.book(piece, now))
        });
        if at > now {
            self.booked = Some((bytes, at));
            self.dry_until = Some(at);
            return None;
        }
        Some(bytes)
    }

    /// Settles the difference between the bytes taken and those sent. A chunk that is sent again keeps its
    /// length, so the excess is reserved afterwards.
    pub(super) fn settle(&self, taken: u64, sent: u64, now: Instant) {
        let Some(bucket) = &self.bucket else { return };
        match sent.checked_sub(taken) {
            None => bucket.give(taken - sent),
            Some(0) => {}
            Some(more) => {
                bucket.book(more, now);
            }
        }
    }

    /// Clears the wait if its time has passed.
    pub(super) fn pass(&mut self, now: Instant) {
        self.dry_until = self.dry_until.filter(|until| *until > now);
    }

    /// Records whether a connection is idle, and whether the rate bound is the reason.
    pub(super) fn note(&mut self, now: Instant, is_idle: bool, is_dry: bool) {
        self.idle.note(now, is_idle);
        self.dry.note(now, is_idle && is_dry);
    }
}

impl Core {
    /// Bounds the rate of its stream bytes by a bucket.
    pub fn bound(&mut self, bucket: Arc<Bucket>) {
        self.pace.bucket = Some(bucket);
    }

    /// Returns the rate bound of its stream bytes, if there is one.
    pub fn rate_most(&self) -> Option<Rate> {
        self.pace.bucket.as_ref().and_then(|bucket| bucket.rate())
    }

    /// Returns the idle time since the last call, and the part of it in which the rate bound was the reason.
    pub fn take_idle(&mut self, now: Instant) -> (Duration, Duration) {
        (self.pace.idle.take(now), self.pace.dry.take(now))
    }
}
