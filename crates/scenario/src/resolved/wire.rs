//! Wires.

use super::Wrong;
use crate::language::WireTable;
use evenair_netsim::Opportunities;
use evenair_units::Rate;

impl WireTable {
    /// Its rate, and its trace, if that says when it sends: then the rate is the mean.
    pub(crate) fn rate(&self) -> Result<(Rate, Option<Opportunities>), Wrong> {
        match (self.rate, self.trace.is_empty()) {
            (Some(rate), true) => Ok((rate.0, None)),
            (None, false) => {
                let trace = Opportunities::new(self.trace.here().to_vec());
                let trace = trace.map_err(|why| ("trace", why.to_string()))?;
                Ok((trace.rate(), Some(trace)))
            }
            (Some(_), false) => Err(("rate", "a wire has a rate or a trace: remove one of them".into())),
            (None, true) => Err((
                "rate",
                "is missing: rate = \"10 Mbps\", or trace = { file = \"cellular.trace\" }".into(),
            )),
        }
    }
}
