//! TCP over links that lose packets, and E-MULTCP's control of the number of connections ([CZ06]).
//!
//! Its parameters make this system several of [CZ06]'s: Kelly's eq. (3) with one connection and no loss, (7) with loss, the
//! boundary system (15) with n fixed, (9) to (11) with the congestion bit, (14) with the smoothed bit. [`LossyPath::reduced`]
//! is (16), the rates settled.
//!
//! State: each flow's rate \[packets/s\], then, where n moves, each flow's number of connections.

use super::{Component, Model, View, Way, wire_loads};
use crate::System;
use evenair_laws::connections::iimd::{connections_drift, smoothed_bit};
use evenair_laws::window::reno::aggregate_rate_drift;
use evenair_optimum::{Flow, Problem, Utility, Wire};

/// A flow's signal that its path is congested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// Whether a queue on the way refuses anything ([CZ06] eq. (11)), prices with corners (2).
    Bit,
    /// Without corners, at this β ([CZ06] eq. (12), (13)).
    Smoothed(f64),
}

/// The system.
#[derive(Clone, Debug, PartialEq)]
pub struct LossyPath {
    /// Capacity of each link \[packets/s\], of packets of one size.
    pub capacities: Vec<f64>,
    /// Flows; their links are wires.
    pub ways: Vec<Way>,
    /// The channel's losses on each flow's way, `Σε`.
    pub losses: Vec<f64>,
    /// `c` of the law of connections \[1/s\]; 0 leaves them as they are.
    pub gain: f64,
    /// How many connections each flow begins with.
    pub connections: Vec<f64>,
    /// The signal of congestion.
    pub congestion: Congestion,
}

impl LossyPath {
    fn flows(&self) -> usize {
        self.ways.len()
    }

    fn wire(&self, link: usize) -> Wire {
        match self.congestion {
            Congestion::Bit => Wire::DropTail(self.capacities[link]),
            Congestion::Smoothed(beta) => Wire::Smoothed { capacity: self.capacities[link], beta },
        }
    }

    fn loads(&self, rates: &[f64]) -> Vec<f64> {
        wire_loads(&self.ways, rates, self.capacities.len())
    }

    /// The share of a flow's packets that queues on its way refuse.
    fn price(&self, flow: usize, prices: &[f64]) -> f64 {
        self.ways[flow].wires.iter().map(|&(l, _)| prices[l]).sum()
    }

    /// The share of each link's load that queues refuse.
    fn prices(&self, rates: &[f64]) -> Vec<f64> {
        let loads = self.loads(rates);
        (0..loads.len()).map(|l| self.wire(l).price(loads[l]).expect("priced")).collect()
    }

    fn connections_of(&self, state: &[f64]) -> Vec<f64> {
        if self.gain > 0.0 { state[self.flows()..].to_vec() } else { self.connections.clone() }
    }

    /// The congestion bit of a flow.
    fn bit(&self, flow: usize, prices: &[f64], switches: &[bool]) -> f64 {
        match self.congestion {
            Congestion::Bit => f64::from(u8::from(self.ways[flow].wires.iter().any(|&(l, _)| switches[l]))),
            Congestion::Smoothed(beta) => smoothed_bit(beta, self.price(flow, prices)),
        }
    }

    /// A flow of the optimisation, in units of the capacities. A queue refuses the same share of packets of
    /// any size, so the flow's bytes `X = x·size` have the utility, and the price at `X` is that at `x`.
    fn flow(&self, flow: usize, utility: Utility, fixed_price: f64) -> Flow {
        let way = &self.ways[flow];
        Flow {
            utility,
            fixed_price,
            loads: way.wires.iter().map(|&(l, size)| (l, size / way.size())).collect(),
        }
    }

    /// The rates to which the system settles with these numbers of connections, [CZ06] eq. (17): `2n²/T² = x²·Σ(ε + g)`, the
    /// maximum of `Σ −2n²/(T²x) − Σε·x − cost`.
    fn settled(&self, connections: &[f64]) -> Vec<f64> {
        let flow = |s: usize| {
            let bytes = self.ways[s].size() * connections[s] / self.ways[s].round_trip_s;
            self.flow(s, Utility::inverse(2.0 * bytes * bytes), self.losses[s])
        };
        let wires = (0..self.capacities.len()).map(|l| self.wire(l)).collect();
        let problem = Problem { wires, flows: (0..self.flows()).map(flow).collect(), ..Problem::default() };
        problem.solve().map_or_else(|_| vec![f64::NAN; self.flows()], |solution| self.packets(solution.rates))
    }

    /// Rates in packets, of those in units of the capacities.
    fn packets(&self, rates: Vec<f64>) -> Vec<f64> {
        rates.into_iter().enumerate().map(|(s, x)| x / self.ways[s].size()).collect()
    }

    /// The equilibrium of the smoothed system by optimisation: [CZ06] eq. (19), and `n* = 1/√f`.
    ///
    /// # Errors
    /// As [`Problem::solve`].
    pub fn optimum(&self, beta: f64) -> Result<(Vec<f64>, Vec<f64>), evenair_optimum::Failure> {
        let flow = |s: usize| {
            let bytes = self.ways[s].size() / self.ways[s].round_trip_s;
            let utility =
                Utility::LossyConnections { weight: 2.0 * bytes * bytes, loss: self.losses[s], beta };
            self.flow(s, utility, 0.0)
        };
        let wires = self.capacities.iter().map(|&capacity| Wire::Smoothed { capacity, beta }).collect();
        let problem = Problem { wires, flows: (0..self.flows()).map(flow).collect(), ..Problem::default() };
        let solution = problem.solve()?;
        let bit = |s: usize| smoothed_bit(beta, self.price(s, &solution.prices));
        let connections = (0..self.flows()).map(|s| 1.0 / libm::sqrt(bit(s))).collect();
        Ok((self.packets(solution.rates), connections))
    }

    /// The reduced system (16): connections alone, rates settled at each moment.
    pub const fn reduced(self) -> Reduced {
        Reduced(self)
    }
}

impl System for LossyPath {
    fn dimension(&self) -> usize {
        self.flows() * if self.gain > 0.0 { 2 } else { 1 }
    }

    fn drift(&self, state: &[f64], switches: &[bool], drift: &mut [f64]) {
        let (prices, connections) = (self.prices(&state[..self.flows()]), self.connections_of(state));
        for (s, way) in self.ways.iter().enumerate() {
            let price = self.losses[s] + self.price(s, &prices);
            // [CZ06] eq. (3), (7), (9): a packet is the unit.
            drift[s] = aggregate_rate_drift(state[s], connections[s], way.round_trip_s, price);
            if self.gain > 0.0 {
                let bit = self.bit(s, &prices, switches);
                drift[self.flows() + s] = connections_drift(self.gain, connections[s], bit); // [CZ06] eq. (10)
            }
        }
    }

    fn bounds(&self, component: usize) -> (f64, f64) {
        (if component < self.flows() { 1e-9 } else { 1e-3 }, f64::INFINITY)
    }

    fn switches(&self, state: &[f64]) -> Vec<f64> {
        match self.congestion {
            Congestion::Bit => {
                let loads = self.loads(&state[..self.flows()]);
                loads.iter().zip(&self.capacities).map(|(y, capacity)| y - capacity).collect()
            }
            Congestion::Smoothed(_) => Vec::new(),
        }
    }

    fn scale(&self, component: usize) -> f64 {
        if component < self.flows() { 1e-3 } else { 1e-2 }
    }
}

impl Model for LossyPath {
    /// One packet per round trip, and as many connections as are given.
    fn start(&self) -> Vec<f64> {
        let mut state: Vec<f64> = self.ways.iter().map(|way| 1.0 / way.round_trip_s).collect();
        if self.gain > 0.0 {
            state.extend(&self.connections);
        }
        state
    }

    fn view(&self, state: &[f64]) -> View {
        let rates = state[..self.flows()].to_vec();
        let round_trips_s: Vec<f64> = self.ways.iter().map(|way| way.round_trip_s).collect();
        View {
            prices: self.prices(&rates),
            windows: rates.iter().zip(&round_trips_s).map(|(x, t)| x * t).collect(),
            connections: self.connections_of(state),
            round_trips_s,
            rates,
            airtime: Vec::new(),
        }
    }

    fn component(&self, component: usize) -> Component {
        match component.checked_sub(self.flows()) {
            None => Component::Rate(component),
            Some(flow) => Component::Connections(flow),
        }
    }

    fn horizon_s(&self) -> f64 {
        let longest = self.ways.iter().map(|way| way.round_trip_s).fold(0.0, f64::max);
        if self.gain > 0.0 { 30.0 / self.gain } else { 2000.0 * longest }
    }
}

/// The reduced system, [CZ06] eq. (16).
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced(LossyPath);

impl System for Reduced {
    fn dimension(&self) -> usize {
        self.0.flows()
    }

    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        let rates = self.0.settled(state);
        let prices = self.0.prices(&rates);
        let switches: Vec<bool> =
            self.0.loads(&rates).iter().zip(&self.0.capacities).map(|(y, capacity)| y > capacity).collect();
        for (s, drift) in drift.iter_mut().enumerate() {
            *drift = connections_drift(self.0.gain, state[s], self.0.bit(s, &prices, &switches));
        }
    }

    fn bounds(&self, _: usize) -> (f64, f64) {
        (1e-3, f64::INFINITY)
    }
}

impl Model for Reduced {
    fn start(&self) -> Vec<f64> {
        self.0.connections.clone()
    }

    fn view(&self, state: &[f64]) -> View {
        let mut whole = self.0.settled(state);
        whole.extend(state);
        self.0.view(&whole)
    }

    fn component(&self, component: usize) -> Component {
        Component::Connections(component)
    }

    fn horizon_s(&self) -> f64 {
        self.0.horizon_s()
    }
}
