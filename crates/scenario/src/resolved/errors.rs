//! The error model by the signal-to-noise ratio, and the thresholds that it brings.

use super::Mac;
use crate::error::Mistake;
use crate::language::{CodingName, PerRate, Preset, RadioTable, Threshold};
use crate::quantity::{Decibels, Power};
use evenair_units::Dbm;
use evenair_wifi::{Coding, ErrorModel, Format, Width};

/// By how much a later frame must be stronger for a receiver to turn to it \[dB\]: ns-3's `SimpleFrameCaptureModel`.
const CAPTURE_DB: f64 = 5.0;
/// How far below the noise a signal no longer counts as interference \[dB\]: it would raise the noise by 0.4 dB.
const NEGLIGIBLE_DB: f64 = 10.0;

impl RadioTable {
    /// The error model, if there is one, with the defaults of its thresholds.
    pub(super) fn complete_errors(
        &mut self,
        preset: Preset,
        mac: &Mac,
    ) -> Result<Option<ErrorModel>, Mistake> {
        if self.errors.is_none() {
            return Ok(None);
        }
        self.check_errors(preset, mac)?;
        let width = mac.modulation().map_or(Width::Mhz20, |modulation| modulation.width);
        let default = ErrorModel::new(width);
        let table = self.errors.as_mut().expect("it has been looked at");
        let coding = match (table.coding, mac.modulation()) {
            (None, Some(modulation)) => {
                let usual = if modulation.format == Format::He { CodingName::Ldpc } else { CodingName::Bcc };
                Some(*table.coding.insert(usual))
            }
            (given, _) => given,
        };
        let model = ErrorModel {
            coding: if coding == Some(CodingName::Ldpc) { Coding::Ldpc } else { Coding::Convolutional },
            noise_figure_db: table.noise_figure.get_or_insert(Decibels(default.noise_figure_db.into())).0
                as f32,
            width,
        };
        table.preamble_detection.get_or_insert(Decibels(ErrorModel::DETECTION_DB));
        self.capture.get_or_insert(Decibels(CAPTURE_DB));
        let negligible = Dbm::new((model.noise(width).level() - NEGLIGIBLE_DB).round());
        self.interference_threshold.get_or_insert(Power(negligible));
        let detected = ErrorModel::detected(width);
        if self.transmission_range.is_none() {
            let receive = Threshold::Power(Power(detected));
            self.receive_threshold.get_or_insert(PerRate::All(receive));
        }
        if self.carrier_sense_range.is_none() && self.carrier_sense_threshold.is_none() {
            let sensed = match self.receive_threshold {
                Some(PerRate::All(Threshold::Power(Power(own)))) if own < detected => own,
                _ => detected,
            };
            self.carrier_sense_threshold = Some(Power(sensed));
        }
        Ok(Some(model))
    }

    /// Refuses settings that contradict an error model.
    fn check_errors(&self, preset: Preset, mac: &Mac) -> Result<(), Mistake> {
        let Some(table) = &self.errors else { return Ok(()) };
        let one_threshold = |given: &PerRate<Threshold>| matches!(given, PerRate::All(Threshold::Power(_)));
        let by_rate = self.receive_threshold.as_ref().is_some_and(|given| !one_threshold(given));
        let by_range = matches!(self.transmission_range, Some(PerRate::Each(_)));
        let decides = "is for receivers with thresholds: radio.errors decides here; remove one of them";
        let one = "must be one for all rates, because radio.errors has the loss of each rate; give one value";
        let wrong = [
            (mac.is_ideal(), "errors", "has no meaning for the ideal MAC, which loses no frames"),
            (preset == Preset::Ns2, "errors", "is for the other presets: ns-2's receivers have thresholds"),
            (self.interference.is_some(), "interference", decides),
            (self.weak_signals.is_some(), "weak_signals", decides),
            (
                self.noise.is_some(),
                "noise",
                "follows from radio.errors.noise_figure and the width; give that",
            ),
            (by_rate, "receive_threshold", one),
            (by_range, "transmission_range", one),
            (
                table.coding.is_some() && mac.modulation().is_none(),
                "errors.coding",
                "is for 802.11n, ac and ax: other kinds have one code for each rate",
            ),
        ];
        if let Some((_, key, why)) = wrong.into_iter().find(|(is, ..)| *is) {
            return Err(Mistake::at(&format!("radio.{key}"), why));
        }
        let ranges = [
            ("noise_figure", table.noise_figure, 0.0..=40.0),
            ("preamble_detection", table.preamble_detection, -10.0..=40.0),
        ];
        for (key, given, range) in ranges {
            if let Some(Decibels(db)) = given.filter(|given| !range.contains(&given.0)) {
                let why = format!("{db} dB must lie between {} and {}", range.start(), range.end());
                return Err(Mistake::at(&format!("radio.errors.{key}"), why));
            }
        }
        Ok(())
    }
}
