//! What a session knows of one of its connections.

use super::Told;
use crate::frame::FRAME_MAX;
use crate::send::LegId;
use evenair_units::{Duration, Instant};

/// What a socket says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Smoothed round trip, if any was measured.
    pub round_trip: Option<Duration>,
    /// Bytes that the socket holds: not sent, or not acknowledged.
    pub waiting: u64,
    /// Bytes acknowledged since the beginning.
    pub acknowledged: u64,
    /// Bytes that its congestion window lets be on their way, if it is known.
    pub window: Option<u64>,
}

/// A socket is given so much ahead of what it may send, at most: more would not make anything faster \[bytes\].
pub const AHEAD_MOST: u64 = 4 * FRAME_MAX as u64;
/// And so much at least: four segments of Ethernet, so that an acknowledgement always finds something to send \[bytes\].
const AHEAD_LEAST: u64 = 6 << 10;
/// What a socket is given ahead lasts for so long at least: until it is looked at again, and its window may have grown meanwhile.
const AHEAD_FOR: Duration = Duration::from_millis(50);

/// What a socket is given ahead of what it may send: as much again as its window, or what goes out until the next look. More
/// would wait there with the stream behind it, and longest where the connection waits for a time-out.
fn ahead(window: u64, round_trip: Duration) -> u64 {
    let round_trips = AHEAD_FOR.as_secs_f64() / round_trip.as_secs_f64().max(1e-6);
    ((window as f64 * round_trips.max(1.0)) as u64).clamp(AHEAD_LEAST, AHEAD_MOST)
}

/// No connection is called stuck before this time.
const STUCK_LEAST: Duration = Duration::from_millis(200);
/// Nor one that has sent all, and has no answer to a question, before this time.
const UNANSWERED: Duration = Duration::from_millis(1500);
/// While something is not known to be there, a connection is asked after this silence, or two round trips.
const QUIET: Duration = Duration::from_millis(500);
/// A connection that has been stuck for so long is given up; on a slow path, after nine round trips.
const STUCK_MOST: Duration = Duration::from_secs(20);
/// After so long a silence the other side is asked.
pub(super) const SILENCE: Duration = Duration::from_secs(15);
/// After so long a silence the connection is given up.
pub(super) const SILENCE_MOST: Duration = Duration::from_secs(45);

/// A connection.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) id: LegId,
    /// Frames that belong on this connection.
    pub(super) own: Vec<Told>,
    /// Nothing is to be sent on it, and it waits.
    pub(super) idle: bool,
    /// Nothing is sent on it any more: it was said, or is to be.
    pub(super) retires: bool,
    pub(super) retire_said: bool,
    pub(super) peer_retired: bool,
    /// The other side has all that was sent on it.
    pub(super) is_heard: bool,
    /// It was said that all was heard.
    pub(super) hears: bool,
    /// Its socket has not got on for a while.
    pub(super) stuck: bool,
    pub(super) round_trip: Option<Duration>,
    /// What it takes ahead of what it may send \[bytes\].
    pub(super) ahead: u64,
    last: Measured,
    progress_at: Instant,
    pub(super) heard_at: Instant,
    pub(super) asked_at: Option<Instant>,
    /// Something else than an answer was sent on it since something came on it.
    pub(super) is_unconfirmed: bool,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// What became of a connection since it was looked at last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Stuck,
    StillStuck,
    Free,
    GivenUp,
}

impl Leg {
    pub(super) fn new(id: LegId, now: Instant) -> Self {
        Self {
            id,
            own: Vec::new(),
            idle: true,
            retires: false,
            retire_said: false,
            peer_retired: false,
            is_heard: false,
            hears: false,
            stuck: false,
            round_trip: None,
            ahead: AHEAD_MOST,
            last: Measured::default(),
            progress_at: now,
            heard_at: now,
            asked_at: None,
            is_unconfirmed: false,
            sent: 0,
            received: 0,
        }
    }

    /// Both sides send no more on it, and both know.
    pub(super) const fn has_served(&self) -> bool {
        self.is_heard && self.hears
    }

    fn usual_round_trip(&self) -> Duration {
        self.round_trip.unwrap_or(Duration::from_millis(500))
    }

    /// Something was sent on it, or on some connection, that is not known to be there, and nothing has come on it for a while: it is to be asked.
    pub(super) fn is_to_be_asked(&self, in_doubt: bool, now: Instant) -> bool {
        let quiet = self.usual_round_trip().mul_f64(2.0).max(QUIET);
        (in_doubt || self.is_unconfirmed) && self.asked_at.is_none() && now.since(self.heard_at) >= quiet
    }

    /// Something came on it.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.asked_at = None;
        self.is_unconfirmed = false;
    }

    /// Its socket was asked.
    pub(super) fn measured(&mut self, now: Instant, measured: Measured) -> Change {
        self.round_trip = measured.round_trip.or(self.round_trip);
        if let Some(window) = measured.window {
            self.ahead = ahead(window, self.usual_round_trip());
        }
        // TCP's acknowledgements are progress while the socket holds something. A middlebox may acknowledge and swallow: once TCP has
        // acknowledged all of it, a question among it, only an answer is progress.
        let waited_for_nothing = self.last.waiting == 0 && self.asked_at.is_none();
        let moves = measured.waiting > 0 && measured.acknowledged != self.last.acknowledged;
        let drains = measured.waiting == 0 && self.last.waiting > 0;
        if waited_for_nothing || moves || drains {
            self.progress_at = now;
        }
        self.last = measured;
        let still = now.since(self.progress_at);
        let least = if measured.waiting > 0 { STUCK_LEAST } else { UNANSWERED };
        let patience = self.usual_round_trip().mul_f64(3.0).max(least);
        let was = std::mem::replace(&mut self.stuck, still > patience);
        match (was, self.stuck) {
            (_, true) if still > STUCK_MOST.max(patience.mul_f64(3.0)) => Change::GivenUp,
            (false, true) => Change::Stuck,
            (true, true) => Change::StillStuck,
            (true, false) => Change::Free,
            _ => Change::None,
        }
    }
}
