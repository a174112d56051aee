//! TCP Reno over adaptive CSMA ([Chen10]): with AQM and n = kT connections ((5.1) to (5.4)), and with wires
//! ((5.30) to (5.34)). It also has the failures without them: no AQM, so that aggressiveness diverges ((A.1)
//! to (A.4)), or one connection, so that all aggressiveness becomes the same ((B.1) to (B.4)). Channels may
//! lose packets ([Chen10] section 7.2); then rates are those of sending.
//!
//! State: each flow's rate \[packets/s\], then each link's aggressiveness, then, where a law of their own moves them, each flow's
//! number of connections.

use super::{Component, Model, View, Way, wire_loads};
use crate::System;
use evenair_laws::backoff::adaptive::aggressiveness_drift;
use evenair_laws::connections::{DelayPriceParams, UtilityParams, for_utility};
use evenair_laws::marking::droptail::loss_price;
use evenair_laws::window::reno::aggregate_rate_drift;
use evenair_optimum::ProductForm;

/// How many connections a flow has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Connections {
    /// One ([Chen10] appendices A and B).
    One,
    /// `n = kT`, a real number ([Chen10] eq. (5.1), (5.30)).
    PerRoundTrip(f64),
    /// As a utility wants, a real number ([Chen10] eq. (5.29)).
    Utility(UtilityParams),
    /// By the price of the queues' delay: `n` moves by the law's own drift.
    DelayPrice(DelayPriceParams),
}

/// How long a round trip takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundTrip {
    /// As in an empty network, always.
    Fixed,
    /// That, and the queues: the backlog `r/α` over the link's load ([Chen10] eq. (B.4), (B.6)).
    Queueing,
}

/// The losses of a flow on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// An AQM drops with the aggressiveness as probability ([Chen10] eq. (5.2), (B.1)).
    Aqm,
    /// Only packets that do not fit are lost ([Chen10] eq. (A.3)).
    DropTail,
}

/// The system.
#[derive(Clone, Debug)]
pub struct RenoOverCsma {
    /// The product form of the links' conflicts.
    pub form: ProductForm,
    /// Capacities of wires \[packets/s\], of packets of one size, priced as DropTail queues are ([Chen10] eq. (5.34)).
    pub wires: Vec<f64>,
    /// Flows.
    pub ways: Vec<Way>,
    /// The channel's losses on each flow's way, `Σε`.
    pub losses: Vec<f64>,
    /// α \[1/s\].
    pub step: f64,
    /// The measure of waiting packets.
    pub backlog: Backlog,
    /// β.
    pub beta: f64,
    /// `r_max`; infinity for none.
    pub aggressiveness_max: f64,
    /// How many connections.
    pub connections: Connections,
    /// How long a round trip takes.
    pub round_trip: RoundTrip,
    /// Losses on the way.
    pub loss: Loss,
}

/// The backlog that `r = αQ` is taken of ([Chen10] Algorithm 1 line 3): each waiting packet counts for some time, which need not be
/// the airtime that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Backlog {
    /// The measure of a packet of each flow on each link of its path on the air, in the order of [`Way::air`]
    /// \[s\].
    pub packets_s: Vec<Vec<f64>>,
    /// The same over the airtime, on each link, where no flow sends.
    pub idle: Vec<f64>,
}

impl Backlog {
    /// Each packet counts for this share of the airtime that it takes.
    pub fn of_airtime(share: f64, ways: &[Way], links: usize) -> Self {
        let of = |way: &Way| way.air.iter().map(|&(_, a)| share * a).collect();
        Self { packets_s: ways.iter().map(of).collect(), idle: vec![share; links] }
    }

    /// The backlog that a second of airtime removes from each link's queue \[s\], where flows of these rates
    /// mix; `loads` is the airtime that they need.
    fn per_airtime(&self, ways: &[Way], rates: &[f64], loads: &[f64]) -> Vec<f64> {
        let mut backlog = vec![0.0; loads.len()];
        for ((way, packets), x) in ways.iter().zip(&self.packets_s).zip(rates) {
            way.air.iter().zip(packets).for_each(|((l, _), packet)| backlog[*l] += packet * x);
        }
        let of = |l: usize| if loads[l] > 0.0 { backlog[l] / loads[l] } else { self.idle[l] };
        (0..loads.len()).map(of).collect()
    }

    /// The same where it is one number for any rates of the flows, beside the airtime of a packet; none,
    /// where a link's flows differ.
    fn alike(&self, ways: &[Way]) -> Option<Vec<(f64, f64)>> {
        let mut alike: Vec<Option<(f64, f64)>> = vec![None; self.idle.len()];
        for (way, packets) in ways.iter().zip(&self.packets_s) {
            for (&(l, airtime), &packet) in way.air.iter().zip(packets) {
                let (first, cost) = *alike[l].get_or_insert((packet, airtime));
                if (first - packet).abs() > 1e-12 * packet || (cost - airtime).abs() > 1e-12 * airtime {
                    return None;
                }
            }
        }
        let of = |(l, one): (usize, Option<(f64, f64)>)| {
            one.map_or((self.idle[l], 1.0), |(packet, airtime)| (packet / airtime, airtime))
        };
        Some(alike.into_iter().enumerate().map(of).collect())
    }
}

impl RenoOverCsma {
    /// How fast each link's aggressiveness grows with its load less its airtime \[1/s\].
    fn steps(&self, rates: &[f64], loads: &[f64]) -> Vec<f64> {
        let per_airtime = self.backlog.per_airtime(&self.ways, rates, loads);
        per_airtime.into_iter().map(|backlog| self.step * backlog).collect()
    }

    fn flows(&self) -> usize {
        self.ways.len()
    }

    /// Load of each link of the air, as a share of time.
    fn loads(&self, rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; self.form.links()];
        for (way, x) in self.ways.iter().zip(rates) {
            way.air.iter().for_each(|&(l, a)| loads[l] += a * x);
        }
        loads
    }

    fn airtime(&self, aggressiveness: &[f64]) -> Vec<f64> {
        let exponents: Vec<f64> = aggressiveness.iter().map(|r| self.beta * r).collect();
        self.form.shares(&exponents).links
    }

    fn round_trip_s(&self, way: &Way, aggressiveness: &[f64], loads: &[f64], steps: &[f64]) -> f64 {
        let queueing = |&(l, _): &(usize, f64)| aggressiveness[l] / steps[l] / loads[l].max(1e-12);
        match self.round_trip {
            RoundTrip::Fixed => way.round_trip_s,
            RoundTrip::Queueing => way.round_trip_s + way.air.iter().map(queueing).sum::<f64>(),
        }
    }

    /// Rates, aggressiveness, and connections where they are of the state.
    fn parts<'a>(&self, state: &'a [f64]) -> (&'a [f64], &'a [f64], &'a [f64]) {
        let (rates, others) = state.split_at(self.flows());
        let (aggressiveness, connections) = others.split_at(self.form.links());
        (rates, aggressiveness, connections)
    }

    fn connections(&self, flow: usize, rate: f64, round_trip_s: f64, moved: &[f64]) -> f64 {
        match &self.connections {
            Connections::One => 1.0,
            Connections::PerRoundTrip(k) => k * round_trip_s,
            Connections::Utility(law) => {
                for_utility(law.per_second, law.marginal_utility(rate), round_trip_s, rate)
            }
            Connections::DelayPrice(_) => moved[flow],
        }
    }

    /// Loss rate of each wire at these rates.
    fn wire_prices(&self, rates: &[f64]) -> Vec<f64> {
        let loads = wire_loads(&self.ways, rates, self.wires.len());
        loads.iter().zip(&self.wires).map(|(&load, &capacity)| loss_price(load, capacity)).collect()
    }

    fn price(&self, way: &Way, aggressiveness: &[f64], loads: &[f64], airtime: &[f64], wires: &[f64]) -> f64 {
        let on_air = |&(l, _): &(usize, f64)| match self.loss {
            Loss::Aqm => aggressiveness[l],
            Loss::DropTail => loss_price(loads[l], airtime[l]),
        };
        way.air.iter().map(on_air).sum::<f64>() + way.wires.iter().map(|&(w, _)| wires[w]).sum::<f64>()
    }
}

impl System for RenoOverCsma {
    fn dimension(&self) -> usize {
        let moved = if matches!(self.connections, Connections::DelayPrice(_)) { self.flows() } else { 0 };
        self.flows() + self.form.links() + moved
    }

    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        let (rates, aggressiveness, moved) = self.parts(state);
        let (loads, airtime, wires) =
            (self.loads(rates), self.airtime(aggressiveness), self.wire_prices(rates));
        let steps = self.steps(rates, &loads);
        for (s, way) in self.ways.iter().enumerate() {
            let round_trip_s = self.round_trip_s(way, aggressiveness, &loads, &steps);
            let price = self.losses[s] + self.price(way, aggressiveness, &loads, &airtime, &wires);
            let n = self.connections(s, rates[s], round_trip_s, moved);
            drift[s] = aggregate_rate_drift(rates[s], n, round_trip_s, price); // [Chen10] eq. (5.2), (5.31), (A.1), (B.1)
            if let Connections::DelayPrice(law) = &self.connections {
                let waiting_s = round_trip_s - way.round_trip_s;
                drift[self.flows() + loads.len() + s] = law.connections_drift(n, rates[s], waiting_s);
            }
        }
        for l in 0..loads.len() {
            // [Chen10] eq. (5.3), (5.32), (A.2), (B.2); the projection is the integrator's.
            drift[self.flows() + l] = aggressiveness_drift(steps[l], f64::INFINITY, loads[l], airtime[l]);
        }
    }

    fn bounds(&self, component: usize) -> (f64, f64) {
        match self.component(component) {
            Component::Price(_) => (0.0, self.aggressiveness_max),
            Component::Connections(_) => (1e-3, f64::INFINITY),
            _ => (1e-9, f64::INFINITY),
        }
    }

    fn switches(&self, state: &[f64]) -> Vec<f64> {
        // Where a DropTail queue begins to refuse its price has a corner.
        let (rates, aggressiveness, _) = self.parts(state);
        let loads = wire_loads(&self.ways, rates, self.wires.len());
        let mut switches: Vec<f64> =
            loads.iter().zip(&self.wires).map(|(y, capacity)| y - capacity).collect();
        if self.loss == Loss::DropTail {
            let airtime = self.airtime(aggressiveness);
            switches.extend(self.loads(rates).iter().zip(airtime).map(|(load, y)| load - y));
        }
        switches
    }

    fn scale(&self, component: usize) -> f64 {
        match self.component(component) {
            Component::Price(_) => 1e-6,
            Component::Connections(_) => 1e-2,
            _ => 1e-3,
        }
    }
}

impl Model for RenoOverCsma {
    /// One packet per round trip of an empty network, no aggressiveness, one connection.
    fn start(&self) -> Vec<f64> {
        let mut state: Vec<f64> = self.ways.iter().map(|way| 1.0 / way.round_trip_s.max(1e-3)).collect();
        state.resize(self.flows() + self.form.links(), 0.0);
        state.resize(self.dimension(), 1.0);
        state
    }

    fn view(&self, state: &[f64]) -> View {
        let (rates, aggressiveness, moved) = self.parts(state);
        let loads = self.loads(rates);
        let steps = self.steps(rates, &loads);
        let round_trip_s = |way: &Way| self.round_trip_s(way, aggressiveness, &loads, &steps);
        let round_trips_s: Vec<f64> = self.ways.iter().map(round_trip_s).collect();
        let mut prices = aggressiveness.to_vec();
        prices.extend(self.wire_prices(rates));
        let connections = |s: usize| self.connections(s, rates[s], round_trips_s[s], moved);
        View {
            rates: rates.to_vec(),
            windows: rates.iter().zip(&round_trips_s).map(|(x, t)| x * t).collect(),
            connections: (0..rates.len()).map(connections).collect(),
            round_trips_s,
            prices,
            airtime: self.airtime(aggressiveness),
        }
    }

    fn component(&self, component: usize) -> Component {
        match component.checked_sub(self.flows()) {
            None => Component::Rate(component),
            Some(link) if link < self.form.links() => Component::Price(link),
            Some(other) => Component::Connections(other - self.form.links()),
        }
    }

    /// [Chen10] eq. (5.23) without its `(·)⁺`, with fixed round trips and `f(x) = x²/2kT`: it never grows.
    ///
    /// In packets per second the two parts are in one unit if all packets load a link with the same share of time.
    fn lyapunov(&self, state: &[f64], rest: &[f64]) -> Option<f64> {
        let (Connections::PerRoundTrip(k), RoundTrip::Fixed, Loss::Aqm) =
            (&self.connections, self.round_trip, self.loss)
        else {
            return None;
        };
        if !self.wires.is_empty() || self.losses.iter().any(|&loss| loss > 0.0) {
            return None;
        }
        let units = self.backlog.alike(&self.ways)?;
        let rates = self.ways.iter().enumerate().map(|(s, way)| {
            // ∫ 2kT/δ²·(δ − x*) dδ = 2kT·(ln(x/x*) + x*/x − 1)
            let (x, to) = (state[s], rest[s]);
            2.0 * k * way.round_trip_s * (libm::log(x / to) + to / x - 1.0)
        });
        let links = units.iter().enumerate().map(|(l, (backlog, airtime))| {
            let away = state[self.flows() + l] - rest[self.flows() + l];
            away * away / (2.0 * self.step * backlog * airtime)
        });
        Some(rates.sum::<f64>() + links.sum::<f64>())
    }

    fn horizon_s(&self) -> f64 {
        // Aggressiveness climbs with α per second of backlog; some thousand backlogs see it settled.
        let slowest = self.backlog.idle.iter().copied().fold(f64::INFINITY, f64::min);
        let links_s = (300.0 / (self.step * slowest * self.beta)).max(100.0);
        match &self.connections {
            Connections::DelayPrice(law) => links_s.max(100.0 * law.interval.as_secs_f64() / law.gain),
            _ => links_s,
        }
    }
}
