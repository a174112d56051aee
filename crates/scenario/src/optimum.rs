//! The best allocation of a scenario.

use crate::build::airtime_per_unit;
use crate::language::{BackoffLaw, Scenario};
use evenair_netsim::{Pattern, Traffic};
use evenair_optimum::{Failure, Problem, Residuals, Utility};
use evenair_tcp::AckPolicy;
use evenair_topology::{IndependentSets, Link};
use evenair_units::Duration;
use evenair_wifi::BROADCAST;

/// What is maximised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Objective {
    /// `Σ −1/x` without entropy: the fair optimum that the laws of [Chen10] aim at.
    Fair,
    /// Problem MP with the scenario's own k and β: the fixed point that its laws run into, entropy included.
    FixedPoint,
    /// `Σ log x` without entropy: proportional fairness.
    Proportional,
}

/// The best allocation, in the units of the packet world.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// What was maximised.
    pub objective: Objective,
    /// Each flow's rate \[segments or datagrams per second\].
    pub rates_pps: Vec<f64>,
    /// Rate of a link that is always on the air \[1/s\], per flow: `C`, acknowledgements and spaces counted, back-off
    /// not.
    pub capacity_pps: Vec<f64>,
    /// Each link's price, in the order of [`World::links`](crate::World::links).
    pub prices: Vec<f64>,
    /// Share of time in which each link is on the air.
    pub airtime: Vec<f64>,
    /// The optimality conditions, checked.
    pub residuals: Residuals,
}

impl Scenario {
    /// Solves for the best allocation.
    ///
    /// The capacity `C` counts DIFS, DATA, SIFS and ACK of a segment and of its TCP acknowledgement, and no back-off:
    /// 514 segments/s for 1000 bytes at 11 Mb/s. The thesis does not give its own; 530 to 660 fit its tables.
    ///
    /// # Errors
    /// If the conflict graph has too many independent sets to list, [`Objective::FixedPoint`] is asked of a scenario
    /// without adaptive back-off and connections, or the solver fails.
    pub fn optimum(&self, objective: Objective) -> Result<Optimum, Failure> {
        let world = self.describe();
        let mixed = !world.network.wires.is_empty() || !world.network.rates.is_empty();
        let unsaturated =
            |t: &Traffic| matches!(t, Traffic::Datagrams { pattern, .. } if *pattern != Pattern::Saturated);
        if mixed || world.network.flows.iter().any(|f| unsaturated(&f.traffic) || f.path.contains(&BROADCAST))
        {
            let what = "the optimum is built for flows without a limit of their own over links of one rate";
            return Err(Failure::Malformed(what.into()));
        }
        let sets = IndependentSets::of(&world.conflicts).map_err(|e| Failure::Malformed(e.to_string()))?;
        let network = &world.network;
        let (k, beta) = match (objective, self.connections, self.backoff) {
            (Objective::FixedPoint, Some(c), BackoffLaw::Adaptive { beta, .. }) => (c.k, Some(beta)),
            (Objective::FixedPoint, ..) => {
                let what = "the fixed point needs [connections] and an adaptive [backoff]";
                return Err(Failure::Malformed(what.into()));
            }
            _ => (1.0, None),
        };
        let costs: Vec<f64> = network
            .flows
            .iter()
            .map(|flow| match &flow.traffic {
                // A delayed acknowledgement answers two segments.
                Traffic::Tcp(tcp) if tcp.acknowledge != AckPolicy::EachSegment => {
                    let data = airtime_per_unit(
                        network,
                        &Traffic::Datagrams { size: tcp.payload + tcp.headers, pattern: Pattern::Saturated },
                    );
                    let both = airtime_per_unit(network, &flow.traffic);
                    data + both.saturating_sub(data) / 2
                }
                traffic => airtime_per_unit(network, traffic),
            })
            .map(Duration::as_secs_f64)
            .collect();
        let flows = network.flows.iter().zip(&costs).map(|(flow, &cost)| {
            let way = flow.path.windows(2).map(|hop| {
                let link = Link { from: hop[0], to: hop[1] };
                world.links.iter().position(|&(_, l)| l == link).expect("links come from the flows")
            });
            // In rates x̂ = x·cost, −w/x becomes −w·cost/x̂; the price of the fixed point, 2k²/x² = r, belongs to
            // −2k²·cost²/x̂ ([Chen10] eq. (5.21)).
            let utility = match objective {
                Objective::Fair => Utility::Inverse { weight: cost },
                Objective::FixedPoint => Utility::Inverse { weight: 2.0 * (k * cost) * (k * cost) },
                Objective::Proportional => Utility::Log { weight: 1.0 },
            };
            (utility, way.collect())
        });
        let solution = Problem { sets: &sets, flows: flows.collect(), beta }.solve()?;
        Ok(Optimum {
            objective,
            rates_pps: solution.rates.iter().zip(&costs).map(|(x, cost)| x / cost).collect(),
            capacity_pps: costs.iter().map(|cost| 1.0 / cost).collect(),
            prices: solution.prices,
            airtime: solution.airtime,
            residuals: solution.residuals,
        })
    }
}
