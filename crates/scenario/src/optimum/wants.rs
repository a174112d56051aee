//! The flows' utilities, as the solvers take them.

use super::Optimum;
use crate::language::RateUnit;
use crate::theory::TheoryFlow;
use crate::{Question, Resolved};
use evenair_optimum::{Concave, Failure, Points, Utility};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The flows' utilities: all the same α, each its own, or one per flow from the caller.
#[derive(Clone, Copy)]
pub(super) struct Utilities<'a> {
    pub(super) alpha: Option<f64>,
    pub(super) unit: RateUnit,
    pub(super) given: &'a [Arc<dyn Concave>],
}

impl Utilities<'_> {
    pub(super) fn alike(alpha: f64) -> Self {
        Self { alpha: Some(alpha), unit: RateUnit::Packets, given: &[] }
    }

    /// Returns the utility of flow `s` in packets/s, and the constant that turns it into the utility in the rate's unit. For `x =
    /// c·y` the utility is `c^(1−α)` times that of y, or with α = 1 greater by `log c`.
    pub(super) fn of(self, s: usize, flow: &TheoryFlow) -> Result<(Utility, f64), Failure> {
        let c = per_packet(self.unit, flow);
        if let Some(own) = self.given.get(s) {
            return Ok((Utility::Given(Arc::new(PerPacket { own: Arc::clone(own), c })), 0.0));
        }
        if let (None, Some(points)) = (self.alpha, &flow.points) {
            let points = Points::new(points.iter().map(|&[x, u]| (x / c, flow.weight * u)));
            let points = points.map_err(|why| Failure::Malformed(format!("flow {}: {why}", flow.name)))?;
            return Ok((Utility::Points(points), 0.0));
        }
        let alpha = self.alpha.or(flow.alpha).expect("a utility that is no table has an alpha");
        let more = if (alpha - 1.0).abs() < f64::EPSILON { flow.weight * c.ln() } else { 0.0 };
        Ok((Utility::AlphaFair { weight: flow.weight * c.powf(1.0 - alpha), alpha }, more))
    }
}

/// A packet per second in the unit in which rates are counted.
fn per_packet(unit: RateUnit, flow: &TheoryFlow) -> f64 {
    match unit {
        RateUnit::Packets => 1.0,
        RateUnit::Kilobits => flow.payload_bits / 1e3,
        RateUnit::Megabits => flow.payload_bits / 1e6,
    }
}

/// A utility of a rate in its unit, of the rate in packets/s.
#[derive(Debug)]
struct PerPacket {
    own: Arc<dyn Concave>,
    c: f64,
}

impl Concave for PerPacket {
    fn of(&self, rate: f64) -> f64 {
        self.own.of(self.c * rate)
    }

    fn price(&self, rate: f64) -> f64 {
        self.c * self.own.price(self.c * rate)
    }
}

impl Resolved {
    /// Solves for the greatest sum of utilities of a user's own: `utility` gives that of a flow by its name, of rates in the unit
    /// that `[utility]` says (packets/s). The objective of `question` does not matter.
    ///
    /// # Errors
    /// As [`Self::answer`]; if a utility does not rise or is not strictly concave; and Clarabel does not know it.
    pub fn answer_of_ones_own(
        &self,
        utility: impl Fn(&str) -> Arc<dyn Concave>,
        question: Question,
        stop: &AtomicBool,
    ) -> Result<Optimum, Failure> {
        let theory = self.theory()?;
        let unit = self.settings().utility.as_ref().and_then(|table| table.unit).unwrap_or_default();
        let capacity_pps = super::capacity_pps(&theory);
        let given = theory.flows.iter().zip(&capacity_pps).map(|(flow, &most)| {
            let checked = Utility::checked(utility(&flow.name), most * per_packet(unit, flow));
            match checked
                .map_err(|why| Failure::Malformed(format!("the utility of flow {}: {why}", flow.name)))?
            {
                Utility::Given(own) => Ok(own),
                _ => unreachable!("a utility of one's own is one"),
            }
        });
        let given = given.collect::<Result<Vec<_>, Failure>>()?;
        super::check(question)?;
        super::maximum(
            theory,
            question,
            capacity_pps,
            Utilities { alpha: None, unit, given: &given },
            stop.into(),
        )
    }
}
