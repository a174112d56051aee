//! The state of a node as its neighbours' frames find it ([`Node`]), and its own transmissions ([`Station`]).

use super::signals::Heard;
use super::{Expecting, Reply, Sending};
use crate::air::Contender;
use evenair_units::Instant;
use smallvec::SmallVec;
use std::ops::Range;

/// A node as its neighbours' frames find it: half a line of the cache.
#[derive(Clone, Debug)]
#[repr(C, align(32))]
pub(super) struct Node {
    /// End of the last frame that it sent.
    pub(super) sending_until: Instant,
    /// Since when the medium is physically idle.
    pub(super) idle_since: Instant,
    /// Network allocation vector: the medium is reserved until then.
    pub(super) reserved_until: Instant,
    /// The first of its contenders, and how many they are.
    pub(super) first: Contender,
    pub(super) count: u16,
    /// The last frame was not decoded: wait an EIFS.
    pub(super) extended: bool,
    /// Its reservation may be dropped at an instant that its [`Station`] knows.
    may_unreserve: bool,
}

const _: () = assert!(size_of::<Node>() == 32, "a node fills half a line of the cache");

/// A node's own transmissions, and the state that its neighbours' frames touch only where more than two overlap: three lines of the
/// cache, of which the last is touched only then, where hearers are far, and under error models.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Station {
    pub(super) sending: Option<Sending>,
    /// When the answer is overdue.
    pub(super) overdue: Instant,
    /// The contender with the exchange that it is in the middle of.
    pub(super) awaiting: Option<(Contender, Expecting)>,
    /// When the hearers of its last RTS may drop their reservation, if nothing follows.
    pub(super) request_void_at: Instant,
    pub(super) reply: Option<Reply>,
    /// From when on the reservation may be dropped, if an RTS made it and nothing has followed yet.
    unreserve_at: Instant,
    /// Signals beside the first two; the first two of these are in place.
    pub(super) more: SmallVec<[Heard; 2]>,
    /// Under an error model the power of all signals but that of the frame to which the receiver is locked, from each instant on
    /// \[mW\]; zero before the first.
    pub(super) interference: Vec<(Instant, f32)>,
    /// Since when its receiver is locked; known only where hearers are far.
    pub(super) locked_since: Instant,
    /// The sum of all signals makes its medium busy.
    pub(super) energetic: bool,
}

const _: () = assert!(size_of::<Station>() <= 192, "a station fills three lines of the cache");

impl Node {
    /// A node that hears nothing and sends nothing, with these contenders.
    pub(super) const fn idle(first: Contender, count: u16) -> Self {
        Self {
            sending_until: Instant::ZERO,
            idle_since: Instant::ZERO,
            reserved_until: Instant::ZERO,
            first,
            count,
            extended: false,
            may_unreserve: false,
        }
    }

    /// Its contenders.
    #[inline]
    pub(super) const fn contenders(&self) -> Range<Contender> {
        self.first..self.first + self.count as u32
    }

    /// From this instant on its reservation may be dropped; never, if that comes never.
    #[inline]
    pub(super) const fn unreserve_at(&mut self, at: Instant, station: &mut Station) {
        self.may_unreserve = !at.is_never();
        station.unreserve_at = at;
    }

    /// Its reservation stands.
    #[inline]
    pub(super) const fn keep_reservation(&mut self) {
        self.may_unreserve = false;
    }

    /// Whether its reservation may be dropped at some instant.
    #[cfg(test)]
    pub(super) const fn may_unreserve(&self) -> bool {
        self.may_unreserve
    }

    /// Whether its reservation may be dropped at this very instant.
    pub(super) fn unreserves(&self, now: Instant, station: &Station) -> bool {
        self.may_unreserve && station.unreserve_at == now
    }
}

impl Station {
    /// An idle station.
    pub(super) fn idle() -> Self {
        Self {
            sending: None,
            awaiting: None,
            overdue: Instant::ZERO,
            request_void_at: Instant::NEVER,
            reply: None,
            unreserve_at: Instant::NEVER,
            locked_since: Instant::ZERO,
            energetic: false,
            more: SmallVec::new(),
            interference: Vec::new(),
        }
    }

    /// Whether it sends, or is in the middle of an exchange of its own.
    #[inline]
    pub(super) const fn is_engaged(&self) -> bool {
        self.sending.is_some() || self.awaiting.is_some()
    }

    /// The contender with the frame that awaits an answer.
    pub(super) const fn awaited_answer(&self) -> Option<Contender> {
        match self.awaiting {
            Some((c, Expecting::Answer | Expecting::FarAnswer)) => Some(c),
            _ => None,
        }
    }
}
