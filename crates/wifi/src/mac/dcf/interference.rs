//! Receptions under an error model: which preambles are detected, the interference over a frame's time, and the packets that it
//! spoils.
//!
//! A station keeps the power of all other signals while it receives a frame, from instant to instant. Nothing of this is kept
//! under other rules.

use super::reception::DETECTION_TIME;
use super::shape::Shape;
use super::signals::Heard;
use super::{DcfAir, Ear, Sending};
use crate::error::{Curve, ErrorModel, Header};
use evenair_des::unit_of;
use evenair_units::{Duration, Instant};

/// How long after a frame's beginning its receiver may still turn to a stronger one: the training fields.
const CAPTURE_TIME: Duration = Duration::from_micros(16);

/// The number of the draw for a frame's header.
const HEADER: u64 = u64::MAX;

/// A frame as its receiver meets it.
struct Exposure {
    /// Its mean power.
    signal_mw: f64,
    noise_mw: f64,
    /// The interference from each instant on; none before the first.
    interference: Vec<(Instant, f32)>,
}

impl Exposure {
    /// The errors to be expected in so many bits that are sent evenly over a time, at this power of the signal over its mean.
    fn errors(&self, curve: Curve, bits: f64, (from, to): (Instant, Instant), gain: f64) -> f64 {
        let hazard = |level_mw: f32| {
            let ratio = gain * self.signal_mw / (self.noise_mw + f64::from(level_mw));
            curve.hazard(10.0 * libm::log10(ratio))
        };
        if self.interference.is_empty() || to <= from {
            return bits * hazard(0.0);
        }
        let (mut begin, mut level, mut sum) = (from, 0.0, 0.0);
        for &(at, next) in self.interference.iter().chain([&(to, 0.0)]) {
            let end = at.max(begin).min(to);
            if end > begin {
                sum += hazard(level) * end.since(begin).as_secs_f64();
            }
            (begin, level) = (end, next);
        }
        bits * sum / to.since(from).as_secs_f64()
    }
}

impl<S: Shape> DcfAir<S> {
    /// A frame's first energy reaches a node that other signals reach.
    #[cold]
    #[inline(never)] // out of the way of receivers with thresholds
    pub(super) fn arrive_disturbed(
        &mut self,
        node: usize,
        heard: Heard,
        ear: &Ear,
        at: Instant,
        until: Instant,
    ) {
        let age = self.age_of_locked(node, at);
        let (noise_mw, detection, capture) = (self.noise_mw, self.detection_ratio, self.capture_ratio);
        let (is_wide, this) = (self.is_wide(), &mut self.signals[node]);
        let station = &mut self.stations[node];
        let others_mw = noise_mw + this.powers_mw(station).sum::<f32>();
        let locked = this.locked().map(|from| this.signal(from, station));
        this.hear_more(heard, station);
        if self.nodes[node].sending_until > at {
            return; // it is locked to nothing
        }
        let is_detected = ear.noticed && ear.power_mw >= detection * others_mw;
        let is_taken = match (locked, age) {
            (None, _) => is_detected,
            (Some(locked), age) => {
                let rest_mw = others_mw - locked.power_mw + ear.power_mw;
                let is_within = |time: Duration| age.is_some_and(|age| age < time);
                let is_undetected = is_within(DETECTION_TIME) && locked.power_mw < detection * rest_mw;
                let is_captured = is_within(CAPTURE_TIME) && ear.power_mw >= capture * locked.power_mw;
                if is_undetected || (is_captured && is_detected) {
                    this.unlock();
                }
                this.locked().is_none() && is_detected
            }
        };
        if is_taken {
            this.lock(heard.from(), until, ear.decodable);
            station.interference.clear();
            if is_wide {
                station.locked_since = at;
            }
        }
        self.note_interference(node, at);
    }

    /// The signals that reach a node have changed: keeps the power of those that disturb the frame to which it is locked.
    #[cold]
    #[inline(never)] // as above
    pub(super) fn note_interference(&mut self, node: usize, at: Instant) {
        let (this, station) = (&self.signals[node], &mut self.stations[node]);
        let Some(locked) = this.locked() else { return station.interference.clear() };
        let others = this.all(station).filter(|heard| heard.from() != locked);
        let level_mw = others.map(|heard| heard.power_mw).sum();
        // Signals that travel differently far may be told of in another order.
        let at = station.interference.last().map_or(at, |&(last, _)| at.max(last));
        station.interference.push((at, level_mw));
    }

    /// Whether noise and interference spoil a frame; of an aggregate, all its packets.
    pub(super) fn spoils_by_noise(
        &mut self,
        model: ErrorModel,
        (from, to): (usize, usize),
        ear: &Ear,
        sent: &Sending,
        at: Instant,
    ) -> bool {
        let phy = self.timing.phy;
        let mode = self.timing.mode_of(sent.kind, sent.mode);
        let begin = ear.after(sent.since);
        let body = begin + phy.preamble_time(mode);
        let exposure = self.expose(model, to, ear, sent, begin);
        let header = Header::of(phy, mode);
        let curve = model.link(phy, mode);
        let mut fades = self.fades.as_deref_mut();
        let mut gain = |at| fades.as_mut().map_or(1.0, |fades| fades.power(from, to, at));
        let of_header =
            exposure.errors(header.curve, header.bits, (begin + header.begins, body), gain(sent.since));
        let key = |node: usize| self.draw_keys.get(node).copied().unwrap_or(node as u64);
        let keys = [key(from), key(to).rotate_left(32), sent.since.as_nanos()];
        let is_lost =
            |number: u64, errors: f64| unit_of([keys[0], keys[1], keys[2], number]) >= libm::exp(-errors);
        let mut process = self.losses.get_mut(&(from as u32, to as u32));
        let mut by_link = |at, size| process.as_mut().is_some_and(|process| process.loses(at, size));
        let is_spoilt = if sent.parts > 1 {
            let batch = self.queues[sent.by as usize].batch.as_mut().expect("a contender that aggregates");
            let all = is_lost(HEADER, of_header);
            batch.spoil(sent, at, to == sent.to as usize, |part| {
                let bits = part.size.bits() as f64;
                let errors = exposure.errors(curve, bits, (part.begin, part.end), gain(part.begin));
                by_link(part.end, part.size) | is_lost(part.number, errors) | all
            })
        } else {
            let bits = sent.size.bits() as f64;
            let errors = of_header + exposure.errors(curve, bits, (body, at), gain(sent.since));
            by_link(at, sent.size) | is_lost(0, errors)
        };
        self.stations[to].interference = exposure.interference;
        self.stations[to].interference.clear();
        is_spoilt
    }

    /// The interference that a frame of this beginning has met on its way to a receiver.
    fn expose(
        &mut self,
        model: ErrorModel,
        to: usize,
        ear: &Ear,
        sent: &Sending,
        begin: Instant,
    ) -> Exposure {
        let mut interference = std::mem::take(&mut self.stations[to].interference);
        interference.retain(|&(at, _)| at >= begin);
        // Control frames fill the channel of their exchange.
        let phy = self.timing.phy;
        let filled = if sent.mode.modulation().is_some() {
            sent.mode
        } else {
            self.timing.mode_of(sent.kind, sent.mode)
        };
        let noise_mw = f64::from(self.noise_mw) * model.relative_width(phy, filled);
        Exposure { signal_mw: ear.power_mw.into(), noise_mw, interference }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Coding;
    use crate::phy::{Mode, Phy};
    use evenair_units::Rate;
    use proptest::prelude::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn curve() -> Curve {
        ErrorModel { coding: Coding::Convolutional, ..ErrorModel::new(crate::Width::Mhz20) }
            .link(Phy::a(), Mode::at(Rate::from_kbps(54_000)))
    }

    fn exposure(interference: Vec<(Instant, f32)>) -> Exposure {
        Exposure { signal_mw: 100.0, noise_mw: 1.0, interference } // 20 dB
    }

    #[test]
    fn overlap_counts_for_the_bits_that_it_meets() {
        // 20 dB alone; 17 dB under as much interference as noise.
        let (clear, disturbed) = (curve().hazard(20.0), curve().hazard(10.0 * libm::log10(50.0)));
        let errors =
            exposure(vec![(at(40), 1.0), (at(70), 0.0)]).errors(curve(), 1_000.0, (at(0), at(100)), 1.0);
        let expected = 700.0 * clear + 300.0 * disturbed;
        assert!((errors / expected - 1.0).abs() < 1e-9, "{errors} {expected}");
        // A signal of twice the power over as much noise as interference is one of once the power over noise.
        let doubled = exposure(vec![(at(0), 1.0)]).errors(curve(), 1_000.0, (at(0), at(100)), 2.0);
        assert!((doubled / (1_000.0 * clear) - 1.0).abs() < 1e-6);
    }

    proptest! {
        /// A packet in two parts meets the same interference as in one.
        #[test]
        fn errors_of_parts_add_up(
            steps in prop::collection::vec((0u64..1_000, 0.0f32..100.0), 0..8),
            cut in 1u64..999,
        ) {
            let mut steps: Vec<(Instant, f32)> = steps.into_iter().map(|(us, mw)| (at(us), mw)).collect();
            steps.sort_by_key(|&(at, _)| at);
            let exposure = exposure(steps);
            let errors = |from, to| exposure.errors(curve(), (to - from) as f64 * 54.0, (at(from), at(to)), 1.0);
            let (whole, parts) = (errors(0, 1_000), errors(0, cut) + errors(cut, 1_000));
            prop_assert!((whole - parts).abs() <= 1e-9 * whole, "{whole} {parts}");
        }
    }
}
