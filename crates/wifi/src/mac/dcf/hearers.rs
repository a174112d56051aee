//! The nodes that hear each node, drawn up from the medium once.

use super::node::Node;
use super::rules::{Capture, Rules};
use crate::air::Contender;
use crate::phy::Mode;
use crate::receivers::{Decoding, Receivers};
use crate::timing::MacTiming;
use evenair_topology::{Hearing, Medium};
use evenair_units::{Dbm, Duration, Instant};

/// One hearer of a node.
#[derive(Clone, Copy, Debug)]
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub struct Ear {
    pub(super) node: u32,
    pub(super) delay_ns: u32,
    pub(super) power_mw: f32,
    pub(super) decodable: bool,
    /// Strong enough to make the medium busy; if not, it is interference and nothing more.
    pub(super) sensed: bool,
    /// An error model spoils some frames that would be decoded.
    pub(super) lossy: bool,
    /// Its receiver locks to it, to decode it or to take it for an error.
    pub(super) noticed: bool,
    /// It is decoded where nothing overlaps it.
    pub(super) clear_alone: bool,
}

const _: () = assert!(size_of::<Ear>() <= 20);

impl Ear {
    /// How long a signal takes to get there.
    #[inline]
    pub(super) const fn delay(&self) -> Duration {
        Duration::from_nanos(self.delay_ns as u64)
    }

    /// When energy that leaves its sender at an instant gets there, if it is near: within the time that a simulation has.
    #[inline]
    pub(super) const fn after(&self, at: Instant) -> Instant {
        Instant::from_nanos(at.as_nanos() + self.delay_ns as u64)
    }

    /// A hearer that takes weak signals for errors, or not, and decodes those that are this strong.
    pub(super) fn of(hearing: &Hearing, decoding: Decoding, weak_is_error: bool, least_mw: f32) -> Self {
        let (sensed, power_mw) = (hearing.is_sensed(), milliwatts(hearing.power));
        let decodable = decoding == Decoding::Whole;
        Self {
            node: hearing.node,
            delay_ns: u32::try_from(hearing.delay.as_nanos()).unwrap_or(u32::MAX),
            power_mw,
            decodable,
            sensed,
            lossy: false,
            noticed: match decoding {
                Decoding::Whole | Decoding::Header => true,
                Decoding::Weak => sensed && weak_is_error,
                Decoding::Energy => false,
            },
            clear_alone: decodable && power_mw >= least_mw,
        }
    }

    /// The same, where a receiver locks to each preamble that it detects, and errors follow from the signal-to-noise ratio.
    pub(super) fn by_errors(self, least_mw: f32) -> Self {
        let noticed = self.noticed && self.power_mw >= least_mw;
        Self { noticed, clear_alone: self.decodable && noticed, lossy: true, ..self }
    }
}

/// The hearers of all nodes: those of each class of rates, and of a class those of each node.
pub(super) struct Hearers {
    pub(super) ears: Vec<Ear>,
    /// The places of those near by.
    pub(super) near: Vec<(u32, u32)>,
    /// The places of those further off.
    pub(super) far: Vec<(u32, u32)>,
}

impl Hearers {
    pub(super) fn of(
        medium: &Medium,
        modes: &[Mode],
        timing: &MacTiming,
        rules: &Rules,
        receivers: &Receivers,
    ) -> Self {
        let noise_mw = rules.noise_mw();
        let capture_ratio = libm::pow(10.0, rules.capture_db / 10.0) as f32;
        let by_errors = matches!(rules.capture, Capture::Errors(_));
        let (mut ears, mut near, mut far) = (Vec::new(), Vec::new(), Vec::new());
        for (node, mode) in modes.iter().flat_map(|&mode| (0..medium.nodes()).map(move |node| (node, mode))) {
            let ear = |hearing: &Hearing| {
                let decoding = receivers.of(hearing, mode, timing.phy);
                if by_errors {
                    Ear::of(hearing, decoding, false, 0.0).by_errors(rules.detection_ratio() * noise_mw)
                } else {
                    Ear::of(hearing, decoding, rules.weak_is_error, capture_ratio * noise_mw)
                }
            };
            for (is_far, range) in [(false, &mut near), (true, &mut far)] {
                let start = ears.len() as u32;
                let hearers = medium.hearers(node).iter().filter(|ear| (ear.delay > timing.near()) == is_far);
                ears.extend(hearers.map(ear));
                range.push((start, ears.len() as u32));
            }
        }
        Self { ears, near, far }
    }
}

/// The contenders of each node and of all that sense it, or add it up with others, and each node's range of them.
pub(super) fn neighbourhoods(
    medium: &Medium,
    nodes: &[Node],
    adds_up: bool,
) -> (Vec<Contender>, Vec<(u32, u32)>) {
    let (mut around, mut ranges) = (Vec::new(), Vec::new());
    for (node, own) in nodes.iter().enumerate() {
        let start = around.len() as u32;
        let hearers = medium.hearers(node).iter().filter(|ear| adds_up || ear.is_sensed());
        around.extend(own.contenders());
        around.extend(hearers.flat_map(|ear| nodes[ear.node as usize].contenders()));
        ranges.push((start, around.len() as u32));
    }
    (around, ranges)
}

pub(super) fn milliwatts(power: Dbm) -> f32 {
    libm::pow(10.0, power.level() / 10.0) as f32
}
