//! The state of a node: the signals that reach it ([`Node`]), and its own transmissions ([`Station`]).

use super::{Expecting, Reply, Sending};
use crate::air::Contender;
use evenair_units::Instant;

/// No node: the sender of a receiver that is locked to nothing.
const NOBODY: u32 = u32::MAX;

/// A signal present at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) from: u32,
    pub(super) power_mw: f32,
    /// The contender whose exchange it belongs to.
    pub(super) by: Contender,
    /// Whether it makes the medium busy.
    pub(super) sensed: bool,
}

/// A node as its neighbours' frames find it: all that they touch, in one line of the cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Node {
    /// End of the last frame that it sent.
    pub(super) sending_until: Instant,
    /// Since when the medium is physically idle.
    pub(super) idle_since: Instant,
    /// Network allocation vector: the medium is reserved until then.
    pub(super) reserved_until: Instant,
    /// The end of the signal that its receiver is locked to.
    pub(super) locked_until: Instant,
    locked_from: u32,
    /// The first of the signals that reach it; any others are with its [`Station`].
    from: u32,
    power_mw: f32,
    by: Contender,
    /// Its contenders.
    pub(super) first: Contender,
    pub(super) count: u16,
    /// How many signals reach it.
    signals: u16,
    /// How many of them make its medium busy.
    pub(super) carriers: u16,
    sensed: bool,
    /// Whether the signal that its receiver is locked to will be decoded, as far as is known.
    pub(super) intact: bool,
    /// It sends, or is in the middle of an exchange of its own.
    pub(super) engaged: bool,
    /// The last frame was not decoded: wait an EIFS.
    pub(super) extended: bool,
    /// Its reservation may be dropped at an instant that its [`Station`] knows.
    may_unreserve: bool,
}

const _: () = assert!(size_of::<Node>() == 64, "a node fills one line of the cache");

/// A node's own transmissions, and the state that its neighbours' frames touch only where several overlap.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) sending: Option<Sending>,
    /// The contender whose exchange it is in the middle of.
    pub(super) awaiting: Option<(Contender, Expecting)>,
    /// When the answer is overdue.
    pub(super) overdue: Instant,
    /// When the hearers of its last RTS may drop their reservation, if nothing follows.
    pub(super) request_void_at: Instant,
    pub(super) reply: Option<Reply>,
    /// The wake at the least deadline of this neighbourhood.
    pub(super) next_access: Instant,
    /// From when on the reservation may be dropped, if an RTS made it and nothing has followed yet.
    unreserve_at: Instant,
    /// Since when its receiver is locked; known only where hearers are far.
    pub(super) locked_since: Instant,
    /// Signals beside the first.
    more: Vec<Heard>,
}

impl Node {
    /// A node that hears nothing and sends nothing, with these contenders.
    pub(super) fn idle(first: Contender, count: u16) -> Self {
        Self {
            sending_until: Instant::ZERO,
            idle_since: Instant::ZERO,
            reserved_until: Instant::ZERO,
            locked_until: Instant::ZERO,
            locked_from: NOBODY,
            from: NOBODY,
            power_mw: 0.0,
            by: 0,
            first,
            count,
            signals: 0,
            carriers: 0,
            sensed: false,
            intact: false,
            engaged: false,
            extended: false,
            may_unreserve: false,
        }
    }

    #[inline]
    pub(super) const fn is_silent(&self) -> bool {
        self.signals == 0
    }

    /// The signal that its receiver is locked to.
    #[inline]
    pub(super) const fn locked(&self) -> Option<u32> {
        if self.locked_from == NOBODY { None } else { Some(self.locked_from) }
    }

    /// The receiver stays with this signal from now on.
    #[inline]
    pub(super) const fn lock(&mut self, from: u32, until: Instant, intact: bool) {
        (self.locked_from, self.locked_until, self.intact) = (from, until, intact);
    }

    #[inline]
    pub(super) const fn unlock(&mut self) {
        self.locked_from = NOBODY;
    }

    /// A signal begins where none was.
    #[inline]
    pub(super) fn hear_first(&mut self, heard: Heard) {
        debug_assert!(self.is_silent() && self.carriers == 0 && self.locked().is_none());
        self.signals = 1;
        self.carriers = u16::from(heard.sensed);
        (self.from, self.power_mw, self.by, self.sensed) =
            (heard.from, heard.power_mw, heard.by, heard.sensed);
    }

    /// One more signal begins.
    pub(super) fn hear_more(&mut self, heard: Heard, station: &mut Station) {
        debug_assert!(!self.is_silent());
        self.signals += 1;
        self.carriers += u16::from(heard.sensed);
        station.more.push(heard);
    }

    /// The only signal ends; gives whether it was sensed.
    #[inline]
    pub(super) fn hear_none(&mut self, from: u32) -> bool {
        debug_assert!(self.signals == 1 && self.from == from, "a signal ends that never began");
        self.signals = 0;
        self.carriers = 0;
        self.sensed
    }

    /// Whether one signal reaches it, and no more.
    #[inline]
    pub(super) const fn hears_one(&self) -> bool {
        self.signals == 1
    }

    /// One of several signals ends.
    pub(super) fn hear_less(&mut self, from: u32, station: &mut Station) -> Heard {
        let first = Heard { from: self.from, power_mw: self.power_mw, by: self.by, sensed: self.sensed };
        let place = station.more.iter().position(|heard| heard.from == from);
        debug_assert!(first.from == from || place.is_some(), "a signal ends that never began");
        let gone = match place {
            Some(place) if first.from != from => station.more.swap_remove(place),
            _ => {
                let heir = station.more.pop().expect("several signals reach it");
                (self.from, self.power_mw, self.by, self.sensed) =
                    (heir.from, heir.power_mw, heir.by, heir.sensed);
                first
            }
        };
        self.signals -= 1;
        self.carriers -= u16::from(gone.sensed);
        gone
    }

    /// All signals that reach it.
    pub(super) fn signals<'a>(&self, station: &'a Station) -> impl Iterator<Item = Heard> + use<'a> {
        let first = Heard { from: self.from, power_mw: self.power_mw, by: self.by, sensed: self.sensed };
        (!self.is_silent()).then_some(first).into_iter().chain(station.more.iter().copied())
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
    pub(super) const fn idle() -> Self {
        Self {
            sending: None,
            awaiting: None,
            overdue: Instant::ZERO,
            request_void_at: Instant::NEVER,
            reply: None,
            next_access: Instant::NEVER,
            unreserve_at: Instant::NEVER,
            locked_since: Instant::ZERO,
            more: Vec::new(),
        }
    }

    /// Whether it sends, or is in the middle of an exchange of its own.
    #[inline]
    pub(super) const fn is_engaged(&self) -> bool {
        self.sending.is_some() || self.awaiting.is_some()
    }

    /// The contender for whose frame it awaits an answer.
    pub(super) const fn awaited_answer(&self) -> Option<Contender> {
        match self.awaiting {
            Some((c, Expecting::Answer | Expecting::FarAnswer)) => Some(c),
            _ => None,
        }
    }
}
