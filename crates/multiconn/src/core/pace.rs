//! What a session waits for beside its connections: a bound of rate; and for how long its connections had nothing to do.

use super::Core;
use crate::bucket::Bucket;
use evenair_units::{Duration, Instant, Rate};
use std::sync::Arc;

/// Time that passes while something is so.
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

/// See the file's head.
#[derive(Debug, Default)]
pub(super) struct Pace {
    bucket: Option<Arc<Bucket>>,
    /// Bytes that are booked, and from when on they may go out.
    booked: Option<(u64, Instant)>,
    /// Nothing may go out until then.
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

    /// Bytes that may go out now, about as many as asked for; none where it is to be waited until `dry_until`.
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

    /// So many went out of those that were taken. A chunk that goes out again is as long as it was, and its rest is booked behind it.
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

    /// Time has passed.
    pub(super) fn pass(&mut self, now: Instant) {
        self.dry_until = self.dry_until.filter(|until| *until > now);
    }

    /// Whether a connection has nothing to do, and whether that is because nothing may go out.
    pub(super) fn note(&mut self, now: Instant, is_idle: bool, is_dry: bool) {
        self.idle.note(now, is_idle);
        self.dry.note(now, is_idle && is_dry);
    }
}

impl Core {
    /// From now on its bytes of streams go out as a bucket has tokens.
    pub fn bound(&mut self, bucket: Arc<Bucket>) {
        self.pace.bucket = Some(bucket);
    }

    /// The rate that bounds what it sends, if one does.
    pub fn rate_most(&self) -> Option<Rate> {
        self.pace.bucket.as_ref().and_then(|bucket| bucket.rate())
    }

    /// For how long there was nothing to send, or nothing that might go out, since this was asked last; and for how long of that it was the latter.
    pub fn take_idle(&mut self, now: Instant) -> (Duration, Duration) {
        (self.pace.idle.take(now), self.pace.dry.take(now))
    }
}
