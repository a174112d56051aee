//! Optimal CSMA with utility-based sources, and with virtual queues ([Lee12] (1), (2)).
//!
//! State: each link's queue, real or virtual, in the letter's unit; time in frames.

use super::{Component, Model, View, Way};
use crate::System;
use evenair_laws::backoff::{UtilityQueue, optimal};
use evenair_optimum::ProductForm;

/// Which queue makes a link aggressive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The MAC's own, fed by sources that send `V/q`, `q` the first link's queue (UBC-oCSMA).
    FirstLink,
    /// The same, `q` the sum over the way.
    PathSum,
    /// A queue that no source sees, each link's own (VQ-oCSMA).
    Virtual,
}

/// The system.
#[derive(Clone, Debug)]
pub struct OptimalCsma {
    /// The product form of the links' conflicts.
    pub form: ProductForm,
    /// Flows.
    pub ways: Vec<Way>,
    /// Parameters of the law.
    pub law: UtilityQueue,
    /// A link's service in a frame while it is on the air, in the queue's unit.
    pub capacity: f64,
    /// Which queue.
    pub queue: Queue,
}

impl OptimalCsma {
    fn airtime(&self, queues: &[f64]) -> Vec<f64> {
        let exponents: Vec<f64> = queues.iter().map(|&q| self.law.aggressiveness(q)).collect();
        self.form.shares(&exponents).links
    }

    /// Each flow's load in a frame.
    fn rates(&self, queues: &[f64]) -> Vec<f64> {
        let airtime = self.airtime(queues);
        let flows_of =
            |l: usize| self.ways.iter().filter(|way| way.air.iter().any(|&(m, _)| m == l)).count() as f64;
        let rate = |way: &Way| match self.queue {
            Queue::FirstLink => self.law.arrivals(queues[way.air[0].0].max(1e-9)),
            Queue::PathSum => {
                self.law.arrivals(way.air.iter().map(|&(l, _)| queues[l]).sum::<f64>().max(1e-9))
            }
            // Transport fills the links' capacity; flows that share a link share it evenly.
            Queue::Virtual => way
                .air
                .iter()
                .map(|&(l, _)| airtime[l] * self.capacity / flows_of(l))
                .fold(f64::INFINITY, f64::min),
        };
        self.ways.iter().map(rate).collect()
    }
}

impl System for OptimalCsma {
    fn dimension(&self) -> usize {
        self.form.links()
    }

    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        let airtime = self.airtime(state);
        if self.queue == Queue::Virtual {
            for l in 0..state.len() {
                drift[l] = self.law.drift(state[l], airtime[l] * self.capacity); // [Lee12] eq. (2)
            }
            return;
        }
        let mut arrivals = vec![0.0; state.len()];
        for (way, x) in self.ways.iter().zip(self.rates(state)) {
            way.air.iter().for_each(|&(l, _)| arrivals[l] += x);
        }
        for l in 0..state.len() {
            drift[l] = optimal::drift(arrivals[l], airtime[l] * self.capacity); // [Lee12] eq. (1)
        }
    }

    fn bounds(&self, _: usize) -> (f64, f64) {
        (if self.queue == Queue::Virtual { self.law.least } else { 0.0 }, f64::INFINITY)
    }
}

impl Model for OptimalCsma {
    fn start(&self) -> Vec<f64> {
        vec![self.law.least; self.dimension()]
    }

    fn view(&self, state: &[f64]) -> View {
        let rates = self.rates(state);
        View {
            round_trips_s: self.ways.iter().map(|way| way.round_trip_s).collect(),
            windows: vec![f64::NAN; rates.len()],
            connections: vec![1.0; rates.len()],
            prices: state.iter().map(|&q| self.law.aggressiveness(q)).collect(),
            airtime: self.airtime(state),
            rates,
        }
    }

    fn component(&self, component: usize) -> Component {
        Component::Queue(component)
    }

    fn horizon_s(&self) -> f64 {
        // A queue of V/C fills at V/C per frame; some dozens of that.
        50.0 * self.law.utility / (self.capacity * self.capacity) + 50.0 / self.law.weight
    }
}
