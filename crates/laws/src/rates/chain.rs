//! The facts that rate control is told, and its answer.

use alloc::vec::Vec;
use evenair_units::{Instant, Rate};

/// The most steps of a chain, as in drivers of Linux.
pub const CHAIN_MAX: usize = 4;

/// The most tries of a step: a count of tries in Linux has five bits.
pub const TRIES_MAX: u8 = 31;

/// The format of a mode's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum RateFormat {
    /// Of 802.11n.
    Ht,
    /// DSSS and CCK, of 802.11b.
    Dsss,
    /// OFDM of 802.11a and g.
    Ofdm,
    /// Of 802.11ac.
    Vht,
    /// Of 802.11ax.
    He,
}

/// A mode that a link's frames may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateMode {
    /// Its format.
    pub format: RateFormat,
    /// Its index of modulation and coding for each stream; of DSSS and OFDM its place among their rates.
    pub index: u8,
    /// Its spatial streams.
    pub streams: u8,
    /// The width of its channel \[MHz\].
    pub width_mhz: u16,
    /// Its guard interval \[ns\].
    pub guard_ns: u16,
    /// Its rate.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub rate: Rate,
}

/// The link that rate control is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RateRole {
    /// The modes that its frames may have, at least one, which a law names by their place here.
    pub modes: Vec<RateMode>,
    /// The place of the link's own mode, the fastest.
    pub own: u16,
    /// A number that the host has drawn for it, from which all of the law's own draws follow.
    pub seed: u64,
}

impl RateRole {
    /// Returns the places of the modes that differ from the link's own in their index alone, slowest first.
    pub fn ladder(&self) -> Vec<u16> {
        let own = self.modes[usize::from(self.own)];
        let is_alike = |mode: &RateMode| {
            (mode.format, mode.streams, mode.width_mhz, mode.guard_ns)
                == (own.format, own.streams, own.width_mhz, own.guard_ns)
        };
        let mut ladder: Vec<u16> =
            (0..).zip(&self.modes).filter(|(_, mode)| is_alike(mode)).map(|(place, _)| place).collect();
        ladder.sort_by_key(|&place| self.modes[usize::from(place)].rate.as_bps());
        ladder
    }
}

/// A step of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Step {
    /// The place of the mode in [`RateRole::modes`].
    pub mode: u16,
    /// How often the frame is sent in it, 1 to [`TRIES_MAX`].
    pub tries: u8,
    /// An RTS precedes it.
    pub announced: bool,
}

/// The modes of a frame: one after another, each so many times, until the frame is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Chain {
    steps: [Step; CHAIN_MAX],
    count: u8,
    /// The first step is a probe: its frame has one packet.
    pub probe: bool,
}

impl Chain {
    /// One mode, without RTS.
    pub fn of(mode: u16, tries: u8) -> Self {
        Self::new(&[Step { mode, tries, announced: false }])
    }

    /// These steps.
    ///
    /// # Panics
    /// If there is none, or more than [`CHAIN_MAX`].
    pub fn new(steps: &[Step]) -> Self {
        assert!(!steps.is_empty(), "a chain has a step");
        let mut chain = Self { steps: [Step::default(); CHAIN_MAX], count: steps.len() as u8, probe: false };
        chain.steps[..steps.len()].copy_from_slice(steps);
        chain
    }

    /// The same with another first step, a probe.
    #[must_use]
    pub const fn probing(mut self, mode: u16) -> Self {
        self.steps[0] = Step { mode, tries: 1, announced: false };
        self.probe = true;
        self
    }

    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps[..usize::from(self.count)]
    }

    /// Whether each step has one of so many modes, and a number of tries that is allowed.
    pub fn is_within(&self, modes: usize) -> bool {
        let fits = |step: &Step| usize::from(step.mode) < modes && (1..=TRIES_MAX).contains(&step.tries);
        self.steps().iter().all(fits)
    }
}

/// The frame that is next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameView {
    /// The instant.
    pub now: Instant,
    /// The mode with the greatest expected rate at this instant, by the medium; none, unless the law asks for it.
    pub best: Option<u16>,
}

/// How often a frame was sent in one mode of its chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tried {
    /// The place of the mode in [`RateRole::modes`].
    pub mode: u16,
    /// How often; zero, if the step was not reached.
    pub tries: u8,
    /// Packets in all of these frames together.
    pub packets: u32,
}

/// How a frame ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FrameStatus {
    /// The instant.
    pub now: Instant,
    /// The steps of its chain.
    pub tried: [Tried; CHAIN_MAX],
    /// Packets in the frame, when it was last sent.
    pub packets: u16,
    /// Packets of it that were acknowledged, all in the last mode that was tried.
    pub acknowledged: u16,
}

impl FrameStatus {
    /// The steps that were tried, in order.
    pub fn tried(&self) -> impl Iterator<Item = &Tried> {
        self.tried.iter().filter(|tried| tried.tries > 0)
    }
}
