//! The state of a node: the signals that reach it ([`Node`]), and its own transmissions ([`Station`]).

use super::{Expecting, Reply, Sending};
use crate::air::Contender;
use evenair_units::Instant;
use smallvec::SmallVec;
use std::ops::Range;

/// A signal present at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    source: Source,
    pub(super) power_mw: f32,
}

/// The sender of a signal, and a yes or no about it, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source(u32);

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
    /// Its sender, and whether it will be decoded, as far as is known.
    locked: Source,
    /// The first of its contenders, and how many they are.
    pub(super) first: Contender,
    /// The first two of the signals that reach it; any others are with its [`Station`].
    few: [Heard; 2],
    pub(super) count: u16,
    /// Twice the number of signals that make its medium busy, two more while their sum does, and one more while it is engaged.
    busy: u16,
    /// There are others.
    crowded: bool,
    /// The last frame was not decoded: wait an EIFS.
    pub(super) extended: bool,
    /// Its reservation may be dropped at an instant that its [`Station`] knows.
    may_unreserve: bool,
    pub(super) back_offs: BackOffs,
}

/// Whether back-offs of a node may run, and whether some may stand still: a frame looks at no others.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackOffs(u8);

const _: () = assert!(size_of::<Node>() == 64, "a node fills one line of the cache");

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

impl Source {
    /// Of a receiver that is locked to nothing, and where no signal is.
    const NOBODY: Self = Self(u32::MAX << 1);

    #[inline]
    const fn new(node: u32, yes: bool) -> Self {
        Self(node << 1 | yes as u32)
    }

    #[inline]
    const fn node(self) -> u32 {
        self.0 >> 1
    }

    #[inline]
    const fn is_nobody(self) -> bool {
        self.node() == Self::NOBODY.node()
    }

    #[inline]
    const fn yes(self) -> bool {
        self.0 & 1 == 1
    }
}

impl BackOffs {
    const NONE: Self = Self(0);
    const RUN: u8 = 1;
    const STAND: u8 = 2;

    /// Whether some may run.
    #[inline]
    pub(super) const fn run(self) -> bool {
        self.0 & Self::RUN > 0
    }

    /// Whether some may stand still.
    #[inline]
    pub(super) const fn stand(self) -> bool {
        self.0 & Self::STAND > 0
    }

    /// Whether there may be any.
    #[inline]
    pub(super) const fn any(self) -> bool {
        self.0 > 0
    }

    /// One stands still.
    #[inline]
    pub(super) const fn add_standing(&mut self) {
        self.0 |= Self::STAND;
    }

    /// One runs.
    #[inline]
    pub(super) const fn add_running(&mut self) {
        self.0 |= Self::RUN;
    }

    /// None runs.
    #[inline]
    pub(super) const fn stop(&mut self) {
        self.0 &= !Self::RUN;
    }

    /// None stands still.
    #[inline]
    pub(super) const fn go_on(&mut self) {
        self.0 &= !Self::STAND;
    }
}

impl Heard {
    const NOTHING: Self = Self { source: Source::NOBODY, power_mw: 0.0 };

    /// A signal, and whether it makes the medium busy.
    #[inline]
    pub(super) const fn new(from: u32, power_mw: f32, sensed: bool) -> Self {
        Self { source: Source::new(from, sensed), power_mw }
    }

    #[inline]
    pub(super) const fn from(self) -> u32 {
        self.source.node()
    }

    #[inline]
    pub(super) const fn is_sensed(self) -> bool {
        self.source.yes()
    }

    /// Its addition to [`Node::busy`].
    #[inline]
    const fn carries(self) -> u16 {
        (self.source.yes() as u16) << 1
    }
}

impl Node {
    /// A node that hears nothing and sends nothing, with these contenders.
    pub(super) const fn idle(first: Contender, count: u16) -> Self {
        Self {
            sending_until: Instant::ZERO,
            idle_since: Instant::ZERO,
            reserved_until: Instant::ZERO,
            locked_until: Instant::ZERO,
            locked: Source::NOBODY,
            first,
            few: [Heard::NOTHING; 2],
            count,
            busy: 0,
            crowded: false,
            extended: false,
            may_unreserve: false,
            back_offs: BackOffs::NONE,
        }
    }

    /// Its contenders.
    #[inline]
    pub(super) const fn contenders(&self) -> Range<Contender> {
        self.first..self.first + self.count as u32
    }

    /// Whether it senses a carrier or is engaged.
    #[inline]
    pub(super) const fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// How many signals make its medium busy.
    #[inline]
    pub(super) const fn carriers(&self) -> u16 {
        self.busy >> 1
    }

    /// Whether it sends, or is in the middle of an exchange of its own.
    #[inline]
    pub(super) const fn is_engaged(&self) -> bool {
        self.busy & 1 == 1
    }

    #[inline]
    pub(super) const fn engage(&mut self, engaged: bool) {
        self.busy = self.busy & !1 | engaged as u16;
    }

    #[inline]
    pub(super) const fn is_silent(&self) -> bool {
        self.few[0].source.is_nobody()
    }

    /// The sender of the signal that its receiver is locked to.
    #[inline]
    pub(super) const fn locked(&self) -> Option<u32> {
        if self.locked.is_nobody() { None } else { Some(self.locked.node()) }
    }

    /// Whether that signal will be decoded, as far as is known.
    #[inline]
    pub(super) const fn is_intact(&self) -> bool {
        self.locked.yes()
    }

    /// The receiver stays with this signal from now on.
    #[inline]
    pub(super) const fn lock(&mut self, from: u32, until: Instant, intact: bool) {
        (self.locked, self.locked_until) = (Source::new(from, intact), until);
    }

    /// The signal that its receiver is locked to, if there is one, will not be decoded.
    #[inline]
    pub(super) const fn spoil(&mut self) {
        self.locked.0 &= !1;
    }

    /// A signal ends: whether it was intact, if the receiver was locked to it; then it is locked to nothing.
    #[inline]
    pub(super) fn part_from(&mut self, from: u32) -> Option<bool> {
        (self.locked.node() == from).then(|| self.unlock())
    }

    /// The receiver is locked to nothing any more; says whether the signal was intact.
    #[inline]
    pub(super) const fn unlock(&mut self) -> bool {
        std::mem::replace(&mut self.locked, Source::NOBODY).yes()
    }

    /// A signal begins where none was.
    #[inline]
    pub(super) fn hear_first(&mut self, heard: Heard) {
        debug_assert!(self.is_silent() && self.carriers() == 0 && self.locked().is_none());
        self.busy += heard.carries();
        self.few[0] = heard;
    }

    /// One more signal begins.
    #[inline]
    pub(super) fn hear_more(&mut self, heard: Heard, station: &mut Station) {
        debug_assert!(!self.is_silent());
        self.busy += heard.carries();
        if self.hears_one() {
            self.few[1] = heard;
        } else {
            self.crowded = true;
            station.more.push(heard);
        }
    }

    /// Signals that are not sensed one by one are energy together: one more reason for a busy medium.
    pub(super) const fn add_energy(&mut self) {
        self.busy += 2;
    }

    /// They are none any more.
    pub(super) const fn take_energy(&mut self) {
        self.busy -= 2;
    }

    /// The only signal ends.
    #[inline]
    pub(super) fn hear_none(&mut self, from: u32) {
        debug_assert!(self.hears_one() && self.few[0].from() == from, "a signal ends that never began");
        self.busy &= 1;
        self.few[0] = Heard::NOTHING;
    }

    /// Whether one signal reaches it, and no more.
    #[inline]
    pub(super) const fn hears_one(&self) -> bool {
        self.few[1].source.is_nobody()
    }

    /// Whether some signal is kept by its [`Station`], if one of them ends; or would be, if one more began.
    #[inline]
    pub(super) const fn may_keep_more(&self, ends: bool) -> bool {
        if ends { self.crowded } else { !self.hears_one() }
    }

    /// One of several signals ends: the last one takes its place.
    #[inline]
    pub(super) fn hear_less(&mut self, from: u32, station: &mut Station) {
        let last = if self.crowded {
            let last = station.more.pop().expect("there are others");
            self.crowded = !station.more.is_empty();
            last
        } else {
            std::mem::replace(&mut self.few[1], Heard::NOTHING)
        };
        let gone = if last.from() == from {
            last
        } else {
            let place = match self.few.iter().position(|heard| heard.from() == from) {
                Some(place) => &mut self.few[place],
                None => station.more.iter_mut().find(|heard| heard.from() == from).expect("it began"),
            };
            std::mem::replace(place, last)
        };
        self.busy -= gone.carries();
    }

    /// The signal of this sender, which reaches it.
    #[inline]
    pub(super) fn signal(&self, from: u32, station: &Station) -> Heard {
        let among = |heard: &&Heard| heard.from() == from;
        let found = self.few.iter().find(among).or_else(|| station.more.iter().find(among));
        *found.expect("it began")
    }

    /// All signals that reach it.
    pub(super) fn signals<'a>(&self, station: &'a Station) -> impl Iterator<Item = Heard> + use<'a> {
        self.places(station).filter(|heard| !heard.source.is_nobody())
    }

    /// Their powers \[mW\]; zero, where there is none: asked for at nearly every arrival, without a branch.
    #[inline]
    pub(super) fn powers_mw<'a>(&self, station: &'a Station) -> impl Iterator<Item = f32> + use<'a> {
        self.places(station).map(|heard| heard.power_mw)
    }

    /// The places for signals, of which the first two may be empty.
    #[inline]
    fn places<'a>(&self, station: &'a Station) -> impl Iterator<Item = Heard> + use<'a> {
        let more: &[Heard] = if self.crowded { &station.more } else { &[] };
        self.few.into_iter().chain(more.iter().copied())
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
