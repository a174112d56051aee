//! A session's state of one connection.

use super::OwnFrame;
use crate::frame::FRAME_MAX;
use crate::send::SubflowId;
use evenair_units::{Duration, Instant};

/// Counters of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Smoothed round trip, if any was measured.
    pub round_trip: Option<Duration>,
    /// Bytes that the socket holds: not sent, or not acknowledged.
    pub waiting: u64,
    /// Bytes acknowledged since the beginning.
    pub acknowledged: u64,
    /// Bytes that its congestion window permits under way, if known.
    pub window: Option<u64>,
}

/// The most that a socket takes beyond its congestion window: more would not raise the rate \[bytes\].
pub const AHEAD_MOST: u64 = 4 * FRAME_MAX as u64;
/// The least: four segments of Ethernet, so that an acknowledgement always finds data to send \[bytes\].
const AHEAD_LEAST: u64 = 6 << 10;
/// The data beyond the window lasts for this time at least: until the next observation, by when the window
/// may have grown.
const AHEAD_FOR: Duration = Duration::from_millis(50);

/// Returns the bytes that a socket takes beyond its congestion window: another window, or the amount sent
/// until the next observation. More would wait there with the stream behind it, and longest if the connection
/// waits for a time-out.
fn ahead(window: u64, round_trip: Duration) -> u64 {
    let round_trips = AHEAD_FOR.as_secs_f64() / round_trip.as_secs_f64().max(1e-6);
    ((window as f64 * round_trips.max(1.0)) as u64).clamp(AHEAD_LEAST, AHEAD_MOST)
}

/// No connection is stuck before this time.
const STUCK_LEAST: Duration = Duration::from_millis(200);
/// A connection with all its data acknowledged is not stuck for an unanswered ping before this time.
const UNANSWERED: Duration = Duration::from_millis(1500);
/// While data is unconfirmed, a connection is pinged after this silence, or two round trips.
const QUIET: Duration = Duration::from_millis(500);
/// A connection that has been stuck for this time is given up; on a slow path, after nine round trips.
const STUCK_MOST: Duration = Duration::from_secs(20);
/// After this silence the other side is pinged.
pub(super) const SILENCE: Duration = Duration::from_secs(15);
/// After this silence the connection is given up.
pub(super) const SILENCE_MOST: Duration = Duration::from_secs(45);

/// A connection.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) id: SubflowId,
    /// Frames that belong on this connection.
    pub(super) own: Vec<OwnFrame>,
    /// Whether it waits, without data to send.
    pub(super) idle: bool,
    /// Whether this side sends no more on it; the other side is informed or will be.
    pub(super) retires: bool,
    pub(super) retire_said: bool,
    pub(super) peer_retired: bool,
    /// Whether the other side has everything sent on it.
    pub(super) is_heard: bool,
    /// Whether this side has sent the confirmation of everything received.
    pub(super) hears: bool,
    /// Whether its socket has made no progress for a while.
    pub(super) stuck: bool,
    pub(super) round_trip: Option<Duration>,
    /// The most that it takes beyond its congestion window \[bytes\].
    pub(super) ahead: u64,
    last: Measured,
    progress_at: Instant,
    pub(super) heard_at: Instant,
    pub(super) asked_at: Option<Instant>,
    /// Whether frames other than answers were sent on it since the last bytes arrived.
    pub(super) is_unconfirmed: bool,
    pub(super) sent: u64,
    pub(super) received: u64,
}

/// The change of a connection since its last observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Stuck,
    StillStuck,
    Free,
    GivenUp,
}

impl Subflow {
    pub(super) fn new(id: SubflowId, now: Instant) -> Self {
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

    /// Returns whether both sides send no more on it and have confirmed that.
    pub(super) const fn has_served(&self) -> bool {
        self.is_heard && self.hears
    }

    fn usual_round_trip(&self) -> Duration {
        self.round_trip.unwrap_or(Duration::from_millis(500))
    }

    /// Returns whether to ping it: sent data is unconfirmed, on it or on any connection, and nothing has
    /// arrived on it for a while.
    pub(super) fn is_to_be_asked(&self, in_doubt: bool, now: Instant) -> bool {
        let quiet = self.usual_round_trip().mul_f64(2.0).max(QUIET);
        (in_doubt || self.is_unconfirmed) && self.asked_at.is_none() && now.since(self.heard_at) >= quiet
    }

    /// Records an arrival on it.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.asked_at = None;
        self.is_unconfirmed = false;
    }

    /// Updates it from its socket's counters.
    pub(super) fn measured(&mut self, now: Instant, measured: Measured) -> Change {
        self.round_trip = measured.round_trip.or(self.round_trip);
        if let Some(window) = measured.window {
            self.ahead = ahead(window, self.usual_round_trip());
        }
        // TCP's acknowledgements are progress while the socket holds data. A middlebox may acknowledge data
        // and drop it. So once TCP has acknowledged everything, a ping included, only an answer is progress.
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
