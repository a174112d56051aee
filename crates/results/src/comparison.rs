//! One scenario in one world after the other.

/// Each flow's rate in each world in turn, from the optimum to 802.11.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The flows' names.
    pub flows: Vec<String>,
    /// The worlds, each with one idealisation less than the one before.
    pub stages: Vec<Stage>,
    /// Each flow's rate alone over the scenario's own air [packets/s].
    pub capacity_pps: Vec<f64>,
    /// Where the senders' time goes in the last world, as shares of it, in the mean over senders and seeds.
    pub senders_time: Vec<(&'static str, f64)>,
    /// Why a stage is missing; why one has more than the optimum.
    pub notes: Vec<String>,
}

/// One world: each flow's rate as a share of its rate alone there.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// The additions of this world to the one before; for a simulated one also its measurements.
    pub gap: String,
    /// Each flow's rate, as a share of its rate alone there.
    pub shares: Vec<f64>,
    /// Packets per second that were counted, in a world that was simulated. An exchange of ideal CSMA has neither preambles nor
    /// spaces, so a packet takes less time there: the shares compare, and these are in the scenario's own packets.
    pub counted_pps: Option<Vec<f64>>,
}

impl Stage {
    /// The shares in packets per second of the scenario's own air: one unit for all worlds.
    pub fn rates_pps(&self, capacity_pps: &[f64]) -> Vec<f64> {
        self.shares.iter().zip(capacity_pps).map(|(share, c)| share * c).collect()
    }
}
