//! QUIC-TCP over queueing-delay CSMA ([QCSMA] (10) to (15)), and the classic dual scheme with message passing (9).
//!
//! State of the first: each flow's window \[packets\]. Rates and queueing delays follow from the windows at
//! once: they are the maximum of `Σ (w_s log x_s − d_s x_s)` plus the entropy over the region, and its
//! multipliers. So [QCSMA] eq. (10), (13), the capacities (14) and the complementarity on wires (11) and on
//! the air (12) hold inside the right-hand side. State of the second: each link's price \[s\].

use super::{Component, Model, View, Way};
use crate::System;
use evenair_laws::window::QuicTcpParams;
use evenair_optimum::{Failure, Flow, Near, Problem, Utility, Wire};
use evenair_topology::ConflictGraph;
use std::cell::RefCell;

/// The parts that both systems share.
#[derive(Clone, Debug)]
struct Network {
    problem: Problem,
    near: Near,
    ways: Vec<Way>,
}

impl Network {
    /// Prices and the airtime of each link of the air, of these weights, in packets, and delays.
    fn solve(&self, weights: &[f64], delays_s: &[f64], prices: &mut Vec<f64>) -> Vec<f64> {
        let mut problem = self.problem.clone();
        for (s, flow) in problem.flows.iter_mut().enumerate() {
            flow.utility = Utility::log(weights[s] * self.ways[s].size());
            flow.fixed_price = delays_s[s];
        }
        let (found, airtime) = self.near.solve(&problem, prices);
        *prices = found;
        airtime
    }

    /// Queueing delay on a flow's way \[s\]: the price of a packet.
    fn delay_s(&self, flow: usize, prices: &[f64]) -> f64 {
        self.problem.flows[flow].loads.iter().map(|&(l, a)| a * prices[l]).sum()
    }
}

/// QUIC-TCP over queueing-delay CSMA.
#[derive(Clone, Debug)]
pub struct DelayWindow {
    network: Network,
    law: QuicTcpParams,
    /// The last prices, with which the next search begins. They change its time, not its result.
    last: RefCell<Vec<f64>>,
}

/// The problem of [QCSMA] with weights `p`: `a = 1/b` loads the air, wires have capacities \[packets/s\].
///
/// A queue in front of a wire delays packets of all sizes alike. So flows are counted in packets of one size, that of the wires'
/// capacities: rates and windows are `x·size` and `w·size`, the price of a wire is its delay.
fn problem(air: ConflictGraph, wires: &[f64], ways: &[Way], weight: f64) -> Problem {
    let links = air.links();
    let flow = |way: &Way| {
        let air = way.air.iter().map(|&(l, airtime)| (l, airtime / way.size()));
        let wires = way.wires.iter().map(|&(w, load)| (links + w, load / way.size()));
        Flow {
            utility: Utility::log(weight * way.size()),
            fixed_price: 0.0,
            loads: air.chain(wires).collect(),
        }
    };
    Problem {
        air,
        wires: wires.iter().map(|&capacity| Wire::Capacity(capacity)).collect(),
        flows: ways.iter().map(flow).collect(),
        beta: Some(1.0),
        background: Vec::new(),
    }
}

impl Network {
    fn new(air: ConflictGraph, wires: &[f64], ways: Vec<Way>, weight: f64) -> Result<Self, Failure> {
        let problem = problem(air, wires, &ways, weight);
        problem.solve()?;
        Ok(Self { near: Near::new(&problem)?, problem, ways })
    }
}

impl DelayWindow {
    /// A network of flows; `round_trip_s` are their propagation delays `d`.
    ///
    /// # Errors
    /// As [`Problem::solve`].
    pub fn new(
        air: ConflictGraph,
        wires: &[f64],
        ways: Vec<Way>,
        law: QuicTcpParams,
    ) -> Result<Self, Failure> {
        let network = Network::new(air, wires, ways, law.target)?;
        let last = RefCell::new(Vec::new());
        Ok(Self { network, law, last })
    }

    /// Problem (2); the system rests at its solution ([QCSMA] Theorem 1).
    pub const fn problem(&self) -> &Problem {
        &self.network.problem
    }

    /// Rates, queueing delays of the flows, prices and airtime at these windows.
    fn settled(&self, windows: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>) {
        let delays_s: Vec<f64> = self.network.ways.iter().map(|way| way.round_trip_s).collect();
        let mut prices = self.last.borrow().clone();
        let airtime = self.network.solve(windows, &delays_s, &mut prices);
        self.last.borrow_mut().clone_from(&prices);
        let queueing: Vec<f64> = (0..windows.len()).map(|s| self.network.delay_s(s, &prices)).collect();
        // [QCSMA] eq. (10): x(d + q) = w
        let rates = windows.iter().zip(&delays_s).zip(&queueing).map(|((w, d), q)| w / (d + q)).collect();
        (rates, queueing, prices, airtime)
    }
}

impl System for DelayWindow {
    fn dimension(&self) -> usize {
        self.network.ways.len()
    }

    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        let (_, queueing, ..) = self.settled(state);
        for (s, way) in self.network.ways.iter().enumerate() {
            let share = way.round_trip_s / (way.round_trip_s + queueing[s]);
            drift[s] = self.law.drift(state[s], share); // [QCSMA] eq. (15)
        }
    }

    fn bounds(&self, _: usize) -> (f64, f64) {
        (1e-6, f64::INFINITY)
    }
}

impl Model for DelayWindow {
    fn start(&self) -> Vec<f64> {
        vec![self.law.target; self.dimension()]
    }

    fn view(&self, state: &[f64]) -> View {
        let (rates, queueing, prices, airtime) = self.settled(state);
        let round_trip = |(way, q): (&Way, &f64)| way.round_trip_s + q;
        View {
            round_trips_s: self.network.ways.iter().zip(&queueing).map(round_trip).collect(),
            windows: state.to_vec(),
            connections: vec![1.0; state.len()],
            rates,
            prices,
            airtime,
        }
    }

    fn component(&self, component: usize) -> Component {
        Component::Window(component)
    }

    /// `Y = ½ Σ (v_s/w_s^ρ)²` ([QCSMA] Theorem 2).
    fn lyapunov(&self, state: &[f64], _: &[f64]) -> Option<f64> {
        let (_, queueing, ..) = self.settled(state);
        let part = |s: usize| {
            let d = self.network.ways[s].round_trip_s;
            let v = self.law.excess(state[s], d / (d + queueing[s])) / libm::pow(state[s], self.law.shape);
            0.5 * v * v
        };
        Some((0..state.len()).map(part).sum())
    }

    fn horizon_s(&self) -> f64 {
        // Near rest the slowest window moves with κ·d/D·w^(1−2ρ).
        40.0 / (self.law.gain * libm::pow(2.0 * self.law.target, 1.0 - 2.0 * self.law.shape))
    }
}

/// The classic scheme: sources that know the prices of their ways, and prices that follow the excess ([QCSMA] eq. (9)).
#[derive(Clone, Debug)]
pub struct DualDescent {
    network: Network,
    weight: f64,
    /// The step size \[s² per packet per s\].
    step: f64,
}

impl DualDescent {
    /// A network with this weight for every flow.
    ///
    /// # Errors
    /// As [`Problem::solve`].
    pub fn new(
        air: ConflictGraph,
        wires: &[f64],
        ways: Vec<Way>,
        weight: f64,
        step: f64,
    ) -> Result<Self, Failure> {
        Ok(Self { network: Network::new(air, wires, ways, weight)?, weight, step })
    }

    /// Rates \[packets/s\].
    fn rates(&self, prices: &[f64]) -> Vec<f64> {
        (0..self.network.ways.len())
            .map(|s| self.weight / self.network.delay_s(s, prices).max(1e-12))
            .collect()
    }

    /// Prices of packets to those of shares of time: the air's are times `b`.
    fn airtime(&self, prices: &[f64]) -> Vec<f64> {
        self.network.near.form().shares(&prices[..self.network.problem.air.links()]).links
    }
}

impl System for DualDescent {
    fn dimension(&self) -> usize {
        self.network.problem.links()
    }

    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        let air = self.network.problem.air.links();
        let airtime = self.airtime(state);
        for (l, drift) in drift.iter_mut().enumerate() {
            *drift = -match l.checked_sub(air) {
                None => airtime[l],
                Some(w) => self.network.problem.wires[w].capacity(),
            };
        }
        let flows = self.network.problem.flows.iter().zip(&self.network.ways).zip(self.rates(state));
        for ((flow, way), x) in flows {
            flow.loads.iter().for_each(|&(l, a)| drift[l] += a * way.size() * x);
        }
        drift.iter_mut().for_each(|d| *d *= self.step);
    }

    fn bounds(&self, _: usize) -> (f64, f64) {
        (0.0, f64::INFINITY)
    }

    fn scale(&self, _: usize) -> f64 {
        1e-3
    }
}

impl Model for DualDescent {
    fn start(&self) -> Vec<f64> {
        vec![1.0; self.dimension()]
    }

    fn view(&self, state: &[f64]) -> View {
        let rates = self.rates(state);
        let round_trips_s: Vec<f64> = (0..rates.len())
            .map(|s| self.network.ways[s].round_trip_s + self.network.delay_s(s, state))
            .collect();
        View {
            windows: rates.iter().zip(&round_trips_s).map(|(x, t)| x * t).collect(),
            connections: vec![1.0; rates.len()],
            round_trips_s,
            prices: state.to_vec(),
            airtime: self.airtime(state),
            rates,
        }
    }

    fn component(&self, component: usize) -> Component {
        Component::Price(component)
    }

    fn horizon_s(&self) -> f64 {
        100.0 / self.step
    }
}
