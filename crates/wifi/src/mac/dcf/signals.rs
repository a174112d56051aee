//! The signals that reach a node, one by one ([`Signals`]).

use super::node::Station;
use evenair_units::Instant;

/// A signal present at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    source: Source,
    pub(super) power_mw: f32,
}

/// The sender of a signal, and a yes or no about it, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Source(u32);

/// The signals that reach a node, and the one that its receiver is locked to.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Signals {
    /// The end of the signal that its receiver is locked to.
    pub(super) locked_until: Instant,
    /// Its sender, and whether it will be decoded, as far as is known.
    locked: Source,
    /// The first two of the signals; any others are with its [`Station`].
    few: [Heard; 2],
    /// Twice the number of signals that make its medium busy, two more while their sum does, and one more while it is engaged.
    busy: u16,
    /// There are others.
    crowded: bool,
    pub(super) back_offs: BackOffs,
}

const _: () = assert!(size_of::<Signals>() == 32, "signals fill half a line of the cache");

/// Whether back-offs of a node may run, and whether some may stand still: a frame looks at no others.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackOffs(u8);

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

    /// Its addition to [`Signals::busy`].
    #[inline]
    const fn carries(self) -> u16 {
        (self.source.yes() as u16) << 1
    }
}

impl Signals {
    /// None, at a node that sends nothing.
    pub(super) const NONE: Self = Self {
        locked_until: Instant::ZERO,
        locked: Source::NOBODY,
        few: [Heard::NOTHING; 2],
        busy: 0,
        crowded: false,
        back_offs: BackOffs::NONE,
    };

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
    pub(super) fn all<'a>(&self, station: &'a Station) -> impl Iterator<Item = Heard> + use<'a> {
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
}
