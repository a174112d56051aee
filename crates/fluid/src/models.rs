//! The papers' systems.

pub mod delay_window;
pub mod lossy_path;
pub mod optimal_csma;
pub mod reno_over_csma;

pub use delay_window::{DelayWindow, DualDescent};
pub use lossy_path::{Congestion, LossyPath};
pub use optimal_csma::{OptimalCsma, Queue};
pub use reno_over_csma::{Backlog, Connections, Loss, RenoOverCsma, RoundTrip};

use crate::System;

/// The meaning of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// Each flow's rate \[packets/s\].
    pub rates: Vec<f64>,
    /// Each flow's round-trip time \[s\].
    pub round_trips_s: Vec<f64>,
    /// Each flow's congestion window, of all its connections \[packets\].
    pub windows: Vec<f64>,
    /// Each flow's number of connections.
    pub connections: Vec<f64>,
    /// Each link's price: aggressiveness, loss rate, queueing delay.
    pub prices: Vec<f64>,
    /// Share of time that each link of the air transmits; empty, if there is none.
    pub airtime: Vec<f64>,
}

/// The kind of a state's component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// A flow's rate.
    Rate(usize),
    /// A flow's number of connections.
    Connections(usize),
    /// A flow's window.
    Window(usize),
    /// A link's price: aggressiveness, queueing delay.
    Price(usize),
    /// A link's queue.
    Queue(usize),
}

/// A system with a meaning for each of its states.
pub trait Model: System {
    /// A state to start from.
    fn start(&self) -> Vec<f64>;

    /// The meaning of a state.
    fn view(&self, state: &[f64]) -> View;

    /// The kind of each component.
    fn component(&self, component: usize) -> Component;

    /// A function that falls along every trajectory, given where it ends; none, if none is known.
    fn lyapunov(&self, state: &[f64], rest: &[f64]) -> Option<f64> {
        let _ = (state, rest);
        None
    }

    /// A time in which the system settles \[s\], roughly.
    fn horizon_s(&self) -> f64;
}

/// A flow's way: the links that it crosses, each with the load of a packet per second.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Links of the air, and the share of time that a packet per second takes of each \[s\].
    pub air: Vec<(usize, f64)>,
    /// Wires, and the load of each: the size of the flow's packets, in those that capacities are counted in.
    pub wires: Vec<(usize, f64)>,
    /// Round-trip time of an empty network \[s\].
    pub round_trip_s: f64,
}

impl Way {
    /// A way over these wires, for packets of the size that capacities are counted in.
    pub fn over_wires(wires: &[usize], round_trip_s: f64) -> Self {
        Self { air: Vec::new(), wires: wires.iter().map(|&w| (w, 1.0)).collect(), round_trip_s }
    }

    /// The size of the flow's packets, in those that the wires' capacities are counted in; one, without any wire.
    fn size(&self) -> f64 {
        self.wires.iter().map(|&(_, size)| size).reduce(f64::min).unwrap_or(1.0)
    }
}

/// The load that flows of these rates put on each of so many wires, in packets of the size that capacities are counted in.
fn wire_loads(ways: &[Way], rates: &[f64], wires: usize) -> Vec<f64> {
    let mut loads = vec![0.0; wires];
    for (way, x) in ways.iter().zip(rates) {
        way.wires.iter().for_each(|&(w, size)| loads[w] += size * x);
    }
    loads
}
