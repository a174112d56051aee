//! Fading of links, under an error model: a frame is met at the power of its moment.
//!
//! Detection, capture, the signal and its interference go by the power at a frame's beginning, and each packet of an aggregate by
//! the power at its own. Carrier sense, and the threshold from which on preambles are detected at all, go by the mean.

use super::shape::Shape;
use super::{Capture, DcfAir, Ear};
use evenair_topology::{FadedLink, Fading};
use evenair_units::Instant;
use std::collections::BTreeMap;

/// How links fade.
#[derive(Clone, Debug)]
pub(super) struct Fades {
    fading: Fading,
    /// By both nodes, the one with the lower number first.
    links: BTreeMap<(u32, u32), Faded>,
}

/// A link, and its power over its mean in the block of time that was asked for last.
#[derive(Clone, Debug)]
struct Faded {
    link: FadedLink,
    block: Instant,
    power: f64,
}

impl Fades {
    /// The power of a link over its mean; 1, of a link without fading.
    pub(super) fn power(&mut self, one: usize, other: usize, at: Instant) -> f64 {
        let pair = (one.min(other) as u32, one.max(other) as u32);
        let Some(faded) = self.links.get_mut(&pair) else { return 1.0 };
        let block = self.fading.block_start(at);
        if faded.block != block {
            (faded.block, faded.power) = (block, self.fading.power(&faded.link, block));
        }
        faded.power
    }
}

impl<S: Shape> DcfAir<S> {
    /// Makes links fade, each by the waves of its two nodes, the one with the lower number first, under
    /// [`Capture::Errors`].
    pub fn set_fading(&mut self, fading: Fading, links: impl IntoIterator<Item = ((u32, u32), FadedLink)>) {
        assert!(matches!(self.rules.capture, Capture::Errors(_)), "thresholds would cut links off whole");
        let faded = |link: FadedLink| {
            let power = fading.power(&link, Instant::ZERO);
            Faded { link, block: Instant::ZERO, power }
        };
        let links = links.into_iter().map(|(pair, link)| (pair, faded(link))).collect();
        self.fades = Some(Box::new(Fades { fading, links }));
    }

    /// The hearers of a node as a frame that it begins at an instant finds them.
    #[cold]
    #[inline(never)]
    pub(super) fn fade(&mut self, node: usize, hearers: &[Ear], at: Instant) -> Vec<Ear> {
        hearers.iter().map(|ear| self.faded(node, ear, at)).collect()
    }

    /// A hearer as a frame that begins at an instant finds it.
    pub(super) fn faded(&mut self, from: usize, ear: &Ear, at: Instant) -> Ear {
        let Some(fades) = &mut self.fades else { return *ear };
        let power_mw = (f64::from(ear.power_mw) * fades.power(from, ear.node as usize, at)) as f32;
        let noticed = ear.noticed && power_mw >= self.detection_ratio * self.noise_mw;
        Ear { power_mw, noticed, clear_alone: noticed && ear.decodable, ..*ear }
    }
}
