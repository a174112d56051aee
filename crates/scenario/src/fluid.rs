//! The fluid model of a scenario, and where it goes.

use crate::language::{
    DualDescentKeys, FluidModel, LossyPathKeys, OptimalCsmaKeys, QueueKind, RenoCsmaKeys, RoundTripKind,
};
use crate::resolved::Resolved;
use crate::theory::{Theory, TheoryFlow};
use evenair_fluid::models::{
    Backlog, Congestion, Connections, DelayWindow, DualDescent, Loss, LossyPath, OptimalCsma, Queue,
    RenoOverCsma, RoundTrip, Way,
};
use evenair_fluid::{
    Component, Corner, Equilibrium, Method, Model, Options, Stuck, Trajectory, View, integrate_unless,
};
use evenair_laws::backoff::{AdaptiveParams, BackoffParams, QueueMeasure};
use evenair_laws::connections::{ConnectionParams, Price};
use evenair_laws::window::QuicTcpParams;
use evenair_optimum::{Failure, ProductForm};
use evenair_units::Instant;
use std::sync::atomic::AtomicBool;

/// Where a scenario's fluid model went.
#[derive(Clone, Debug)]
pub struct FluidRun {
    /// The theory's view of the scenario.
    pub theory: Theory,
    /// Names of the state's components.
    pub components: Vec<String>,
    /// When \[s\], and the state then.
    pub times: Vec<f64>,
    /// The state at each time; while a flow is off its components are zero.
    pub states: Vec<Vec<f64>>,
    /// The meaning of each state.
    pub views: Vec<View>,
    /// A function that should fall along the trajectory, where one is known.
    pub lyapunov: Vec<f64>,
    /// Corners that were passed: when, and a component's or a switch's number.
    pub corners: Vec<(f64, Corner)>,
    /// Where it rests, and the meaning of that state; none, if it rests nowhere close to its end.
    pub rest: Option<(Equilibrium, View)>,
    /// Whether the end is that rest, within a thousandth, and nothing is overloaded there.
    pub has_settled: bool,
    /// Links with a price at its bound in the end that does not hold their load down to their CSMA airtime: rates that
    /// load them so are outside the capacity region.
    pub overloaded: Vec<Overload>,
    /// The value of `backoff.r_max` at which prices hold all loads down: the greatest price of the fixed point, where that is known.
    pub r_max_needed: Option<f64>,
    /// The things of the scenario's MAC that the model lacks; none, if it has all.
    pub lacks: Option<String>,
    /// Steps that were taken.
    pub steps: u64,
}

/// A link that is asked for more than it is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overload {
    /// Its number in [`Theory::links`].
    pub link: usize,
    /// The share of time that the flows' rates would take of it.
    pub load: f64,
    /// The share of time that it transmits.
    pub airtime: f64,
}

impl FluidRun {
    /// The fault of the end, if the rates there cannot be carried, and its remedy.
    pub fn warning(&self) -> Option<String> {
        let excess = |o: &&Overload| o.load - o.airtime;
        let worst = self.overloaded.iter().max_by(|a, b| excess(a).total_cmp(&excess(b)))?;
        // A price is the probability of a drop: no r_max above one means anything.
        let remedy = match self.r_max_needed {
            Some(r) if r > 1.0 => format!(
                "No drop probability is high enough (the fixed point would need {r:.2}): lower connections.k or the load."
            ),
            Some(r) => format!("Raise backoff.r_max (the fixed point needs {r:.3}) or lower connections.k."),
            None => "Raise backoff.r_max, to 1 at most, or lower connections.k.".into(),
        };
        Some(format!(
            "The rates are outside the capacity region: the price of {} at its bound, r_max, and does not hold the \
             load down to its CSMA airtime (the worst is {}: load {:.1} %, airtime {:.1} %). The excess piles up without \
             end or is dropped; this is no rest of the network. {remedy}",
            match (self.overloaded.len(), self.theory.air()) {
                (1, 1) => "its one link is".into(),
                (n, all) => format!("{n} of {all} links is"),
            },
            self.theory.links[worst.link],
            100.0 * worst.load,
            100.0 * worst.airtime
        ))
    }
}

/// A load may exceed its airtime by so much, relatively, and count as carried: an integration ends close to a rest, not on it.
const OVERLOAD: f64 = 1e-3;
/// How many states are kept.
const SAMPLES: usize = 401;
/// Rates move within round trips, prices and connections in minutes: samples crowd where the first still move.
const CROWDING: f64 = 2.5;
/// Flows that start earlier than this do so together: there are no packets that would have to be kept apart \[s\].
const TOGETHER_S: f64 = 1.0;

impl Resolved {
    /// Follows the scenario's fluid model.
    ///
    /// # Errors
    /// If the scenario has no fluid model, a parameter is out of range, or the integration gets stuck.
    pub fn fluid(&self) -> Result<FluidRun, Failure> {
        self.fluid_unless(&AtomicBool::new(false))
    }

    /// The same, unless it is told to stop.
    ///
    /// # Errors
    /// As [`Self::fluid`], and [`Failure::Stopped`].
    pub fn fluid_unless(&self, stop: &AtomicBool) -> Result<FluidRun, Failure> {
        let theory = self.theory()?;
        let mut settings = self.settings.fluid.clone().unwrap_or_default();
        let known = settings.complete(matches!(self.settings.backoff, BackoffParams::Adaptive(_)));
        let (known, tolerance) = known.map_err(|mistake| Failure::Malformed(mistake.message))?;
        let known = known.ok_or_else(|| {
            let what = "the scenario's laws have no fluid model: give an adaptive [backoff], or name one in [fluid] model";
            Failure::Malformed(what.into())
        })?;
        let all: Vec<usize> = (0..theory.flows.len()).collect();
        let model = self.fluid_model(&theory, &all, &known)?;
        let until = settings.duration.map_or_else(|| model.horizon_s(), |d| d.0.as_secs_f64());
        let start = if settings.start.is_empty() { model.start() } else { settings.start.clone() };
        if start.len() != model.dimension() || start.iter().any(|x| !x.is_finite()) {
            let names: Vec<String> =
                (0..model.dimension()).map(|i| label(&theory, model.component(i))).collect();
            let what = format!("fluid.start has {} numbers; the state is {}", start.len(), names.join(", "));
            return Err(Failure::Malformed(what));
        }
        let mut run = FluidRun {
            components: (0..model.dimension()).map(|i| label(&theory, model.component(i))).collect(),
            times: Vec::new(),
            states: Vec::new(),
            views: Vec::new(),
            lyapunov: Vec::new(),
            corners: Vec::new(),
            rest: None,
            has_settled: false,
            overloaded: Vec::new(),
            r_max_needed: None,
            lacks: self.fluid_lacks(),
            steps: 0,
            theory,
        };
        let mut whole = start;
        let stretches = self.stretches_s(until);
        if stretches.is_empty() {
            let what = format!(
                "no flow is active within fluid.duration, {until} s: make it longer, or let a flow start earlier (flows.ID.start)"
            );
            return Err(Failure::Malformed(what));
        }
        let method = if settings.implicit { Method::Implicit } else { Method::Explicit };
        let course = Course { scenario: self, known: &known, method, tolerance, until, stop };
        for (i, (from, to, active)) in stretches.iter().enumerate() {
            let is_last = i + 1 == stretches.len();
            course.follow(&mut run, &mut whole, (*from, *to), active, is_last)?;
        }
        if !run.overloaded.is_empty() {
            let fixed = self.optimum_in_passing(crate::Objective::FixedPoint);
            run.r_max_needed = fixed.map(|o| o.prices[..o.theory.air()].iter().copied().fold(0.0, f64::max));
        }
        Ok(run)
    }

    /// Stretches with the same active flows, from 0 to the end \[s\].
    fn stretches_s(&self, until: f64) -> Vec<(f64, f64, Vec<usize>)> {
        let seconds = |at: Instant| {
            let s = if at.is_never() { until } else { (at - Instant::ZERO).as_secs_f64() };
            if s < TOGETHER_S { 0.0 } else { s.min(until) }
        };
        let active: Vec<Vec<(f64, f64)>> = self
            .network
            .flows
            .iter()
            .map(|flow| flow.active.iter().map(|&(a, b)| (seconds(a), seconds(b))).collect())
            .collect();
        let mut changes: Vec<f64> =
            active.iter().flatten().flat_map(|&(a, b)| [a, b]).chain([0.0, until]).collect();
        changes.sort_by(f64::total_cmp);
        changes.dedup();
        let stretches = changes.windows(2).map(|pair| {
            let middle = f64::midpoint(pair[0], pair[1]);
            let on = |s: &usize| active[*s].iter().any(|&(a, b)| a <= middle && middle < b);
            (pair[0], pair[1], (0..active.len()).filter(on).collect::<Vec<usize>>())
        });
        stretches.filter(|(_, _, on)| !on.is_empty()).collect()
    }

    fn fluid_model(
        &self,
        theory: &Theory,
        active: &[usize],
        known: &FluidModel,
    ) -> Result<Box<dyn Model>, Failure> {
        let flows: Vec<&TheoryFlow> = active.iter().map(|&s| &theory.flows[s]).collect();
        match known {
            FluidModel::RenoCsma(keys) => self.reno_csma(theory, &flows, *keys),
            FluidModel::EMultcp(keys) => Ok(Box::new(lossy_path(theory, &flows, *keys)?)),
            FluidModel::EMultcpReduced(keys) => Ok(Box::new(lossy_path(theory, &flows, *keys)?.reduced())),
            FluidModel::QuicTcp(law) => quic_tcp(theory, &flows, *law),
            FluidModel::DualDescent(keys) => dual_descent(theory, &flows, *keys),
            FluidModel::OptimalCsma(keys) => optimal_csma(theory, &flows, *keys),
        }
    }

    fn reno_csma(
        &self,
        theory: &Theory,
        flows: &[&TheoryFlow],
        keys: RenoCsmaKeys,
    ) -> Result<Box<dyn Model>, Failure> {
        let BackoffParams::Adaptive(AdaptiveParams { alpha, beta, r_max, drop, measure, .. }) =
            self.settings.backoff
        else {
            return Err(Failure::Malformed("the model reno-csma needs an adaptive [backoff]".into()));
        };
        self.one_backoff("the model reno-csma")?;
        let connections = match &self.settings.connections {
            None => Connections::One,
            Some(ConnectionParams::RttProportional(law)) => Connections::PerRoundTrip(law.per_second),
            Some(ConnectionParams::Utility(law)) => Connections::Utility(*law),
            Some(ConnectionParams::DelayPrice(law)) if law.price != Price::Told => {
                let what =
                    "the model reno-csma has delay-price with a told price: set connections.price = \"told\"";
                return Err(Failure::Malformed(what.into()));
            }
            Some(ConnectionParams::DelayPrice(law)) => Connections::DelayPrice(*law),
            Some(_) => {
                let what = "the model reno-csma has the laws of connections rtt-proportional, utility and delay-price: choose one of them";
                return Err(Failure::Malformed(what.into()));
            }
        };
        let by_delay = matches!(connections, Connections::DelayPrice(_));
        let queueing = match keys.round_trip {
            Some(RoundTripKind::Fixed) if by_delay => {
                let what = "delay-price sees queues by their delay: fluid.round_trip must be \"queueing\"";
                return Err(Failure::Malformed(what.into()));
            }
            Some(kind) => kind == RoundTripKind::Queueing,
            // With n ∝ T, T has no effect; without connections it decides.
            None => self.settings.connections.is_none() || by_delay,
        };
        let mut ways: Vec<Way> = flows.iter().map(|flow| way(theory, flow)).collect();
        if let Some(base) = keys.base_round_trip {
            ways.iter_mut().for_each(|way| way.round_trip_s = base.0.as_secs_f64());
        }
        Ok(Box::new(RenoOverCsma {
            form: ProductForm::new(&theory.conflicts)?,
            wires: wires(theory),
            ways,
            losses: flows.iter().map(|flow| flow.loss).collect(),
            step: alpha,
            backlog: self.backlog(theory, flows, measure),
            beta,
            aggressiveness_max: r_max.unwrap_or(f64::INFINITY),
            connections,
            round_trip: if queueing { RoundTrip::Queueing } else { RoundTrip::Fixed },
            loss: if drop { Loss::Aqm } else { Loss::DropTail },
        }))
    }
}

impl Resolved {
    /// The weights of waiting packets on each link. A backlog is counted in time at the link's own rate ([Chen10] Alg. 1 line 3),
    /// each packet as a full one of the network, or its bytes.
    fn backlog(&self, theory: &Theory, flows: &[&TheoryFlow], measure: QueueMeasure) -> Backlog {
        let full = theory.flows.iter().map(|flow| flow.payload_bits).fold(0.0, f64::max);
        let packet_s = |flow: &TheoryFlow, l: usize| {
            let link = self.layout.links[l].1;
            let rate = self.network.rate(link.from, link.to).as_bps() as f64;
            match measure {
                QueueMeasure::Packets => full / rate,
                QueueMeasure::Bytes => flow.size_bits / rate,
            }
        };
        let on_air = |flow: &TheoryFlow| -> Vec<f64> {
            let air = flow.loads.iter().filter(|(l, _)| *l < theory.air());
            air.map(|&(l, _)| packet_s(flow, l)).collect()
        };
        // Without active flows, as if all flows of the link sent at one rate.
        let idle = |l: usize| {
            let over =
                || theory.flows.iter().filter_map(|f| Some((f, f.loads.iter().find(|(m, _)| *m == l)?.1)));
            over().map(|(flow, _)| packet_s(flow, l)).sum::<f64>() / over().map(|(_, a)| a).sum::<f64>()
        };
        Backlog {
            packets_s: flows.iter().map(|flow| on_air(flow)).collect(),
            idle: (0..theory.air()).map(idle).collect(),
        }
    }
}

/// How a scenario's model is followed.
struct Course<'a> {
    scenario: &'a Resolved,
    known: &'a FluidModel,
    method: Method,
    tolerance: f64,
    until: f64,
    stop: &'a AtomicBool,
}

impl Course<'_> {
    /// Follows one stretch with the same active flows.
    fn follow(
        &self,
        run: &mut FluidRun,
        whole: &mut [f64],
        (from, to): (f64, f64),
        active: &[usize],
        is_last: bool,
    ) -> Result<(), Failure> {
        let model = self.scenario.fluid_model(&run.theory, active, self.known)?;
        // A flow that comes begins where its model begins; links and flows that stay go on.
        let place = |i: usize| {
            let component = match model.component(i) {
                Component::Rate(s) => Component::Rate(active[s]),
                Component::Connections(s) => Component::Connections(active[s]),
                Component::Window(s) => Component::Window(active[s]),
                on_link => on_link,
            };
            let name = label(&run.theory, component);
            run.components.iter().position(|c| *c == name).expect("all components are in the whole")
        };
        let places: Vec<usize> = (0..model.dimension()).map(place).collect();
        let fresh = model.start();
        let state: Vec<f64> = places
            .iter()
            .zip(&fresh)
            .enumerate()
            .map(|(i, (&p, &fresh))| {
                let of_link = matches!(model.component(i), Component::Price(_) | Component::Queue(_));
                if whole[p] > 0.0 || of_link { whole[p] } else { fresh }
            })
            .collect();
        let options = Options {
            method: self.method,
            tolerance: self.tolerance,
            samples: ((SAMPLES as f64 * (to - from) / self.until) as usize).max(5),
            crowding: CROWDING,
            fixed_step: None,
        };
        let stuck = |e: Stuck| match e {
            Stuck::Stopped(_) => Failure::Stopped,
            _ => Failure::Malformed(format!("the fluid model cannot be followed: {e}")),
        };
        let trajectory = integrate_unless(&*model, &state, to - from, options, self.stop).map_err(stuck)?;
        whole.fill(0.0);
        let spread = |state: &[f64]| {
            let mut all = vec![0.0; whole.len()];
            places.iter().zip(state).for_each(|(&p, &x)| all[p] = x);
            all
        };
        for (time, state) in trajectory.times.iter().zip(&trajectory.states) {
            let view = model.view(state);
            if view.rates.iter().any(|x| !x.is_finite()) {
                return Err(stuck(Stuck::Undefined(*time)));
            }
            run.times.push(from + time);
            run.states.push(spread(state));
            run.views.push(spread_view(view, active, run.theory.flows.len()));
        }
        whole.copy_from_slice(run.states.last().expect("a stretch has states"));
        run.corners.extend(trajectory.corners.iter().map(|&(time, corner)| (from + time, corner)));
        run.steps += trajectory.steps;
        if is_last {
            finish(run, &*model, &trajectory, active);
        }
        Ok(())
    }
}

/// The part after the last stretch: rest, and the Lyapunov function on the way there.
fn finish(run: &mut FluidRun, model: &dyn Model, trajectory: &Trajectory, active: &[usize]) {
    let rest = Equilibrium::near(model, trajectory.last());
    run.overloaded = overloaded(run, model, trajectory.last());
    if let Some(rest) = &rest {
        let off = |(a, b): (&f64, &f64)| (a - b).abs() / b.abs().max(1e-9);
        let far = trajectory.last().iter().zip(&rest.state).map(off).fold(0.0, f64::max);
        run.has_settled = far < 1e-3 && run.overloaded.is_empty();
        run.lyapunov = trajectory.states.iter().filter_map(|s| model.lyapunov(s, &rest.state)).collect();
    }
    run.rest = rest.map(|rest| {
        let view = spread_view(model.view(&rest.state), active, run.theory.flows.len());
        (rest, view)
    });
}

/// Links with a price at its bound and a load above their airtime all the same.
fn overloaded(run: &FluidRun, model: &dyn Model, end: &[f64]) -> Vec<Overload> {
    let view = run.views.last().expect("a stretch has states");
    let mut load = vec![0.0; run.theory.links.len()];
    for (flow, x) in run.theory.flows.iter().zip(&view.rates) {
        flow.loads.iter().for_each(|&(l, a)| load[l] += a * x);
    }
    let at_bound = |i: usize| match model.component(i) {
        Component::Price(l) if end[i] >= model.bounds(i).1 * (1.0 - 1e-9) => Some(l),
        _ => None,
    };
    let links = (0..end.len()).filter_map(at_bound).filter(|l| *l < view.airtime.len());
    let links = links.map(|link| Overload { link, load: load[link], airtime: view.airtime[link] });
    links.filter(|o| o.load > o.airtime + OVERLOAD * o.load.max(1e-3)).collect()
}

/// A view of the active flows as one of all.
fn spread_view(view: View, active: &[usize], flows: usize) -> View {
    let spread = |values: &[f64]| {
        let mut all = vec![0.0; flows];
        active.iter().zip(values).for_each(|(&s, &x)| all[s] = x);
        all
    };
    View {
        rates: spread(&view.rates),
        round_trips_s: spread(&view.round_trips_s),
        windows: spread(&view.windows),
        connections: spread(&view.connections),
        ..view
    }
}

fn label(theory: &Theory, component: Component) -> String {
    match component {
        Component::Rate(s) => format!("x[{}]", theory.flows[s].name),
        Component::Connections(s) => format!("n[{}]", theory.flows[s].name),
        Component::Window(s) => format!("w[{}]", theory.flows[s].name),
        Component::Price(l) => format!("r[{}]", theory.links[l]),
        Component::Queue(l) => format!("q[{}]", theory.links[l]),
    }
}

fn way(theory: &Theory, flow: &TheoryFlow) -> Way {
    let air = flow.loads.iter().copied().filter(|(l, _)| *l < theory.air()).collect();
    let size = flow.size_bits / full_bits(theory);
    let wires = flow.loads.iter().filter(|(l, _)| *l >= theory.air()).map(|&(l, load)| {
        let times = (load / size / full_packet_s(theory, l)).round();
        (l - theory.air(), times * size)
    });
    Way { air, wires: wires.collect(), round_trip_s: flow.round_trip_s }
}

/// The size of the largest packet of any flow \[bits\].
fn full_bits(theory: &Theory) -> f64 {
    theory.flows.iter().map(|flow| flow.size_bits).fold(0.0, f64::max)
}

/// The time that a wire takes for a packet of that size \[s\].
fn full_packet_s(theory: &Theory, wire: usize) -> f64 {
    let full = full_bits(theory);
    let of =
        |flow: &TheoryFlow| Some(flow.loads.iter().find(|(l, _)| *l == wire)?.1 * (full / flow.size_bits));
    // A flow that crosses it twice takes longer.
    theory.flows.iter().filter_map(of).fold(f64::INFINITY, f64::min)
}

/// Capacities of the wires \[full packets/s\].
fn wires(theory: &Theory) -> Vec<f64> {
    (theory.air()..theory.links.len()).map(|l| 1.0 / full_packet_s(theory, l)).collect()
}

fn lossy_path(theory: &Theory, flows: &[&TheoryFlow], keys: LossyPathKeys) -> Result<LossyPath, Failure> {
    if theory.air() > 0 {
        return Err(Failure::Malformed(
            "the model e-multcp is for wires: replace the air by lossy [[wires]]".into(),
        ));
    }
    let ways = over_propagation(theory, flows);
    if ways.iter().any(|way| way.round_trip_s <= 0.0) {
        return Err(Failure::Malformed(
            "the model e-multcp needs wires with a delay: it is the round trip".into(),
        ));
    }
    Ok(LossyPath {
        capacities: wires(theory),
        losses: flows.iter().map(|f| f.loss).collect(),
        gain: keys.gain,
        connections: vec![keys.connections; ways.len()],
        congestion: keys.smoothing.map_or(Congestion::Bit, Congestion::Smoothed),
        ways,
    })
}

/// The flows' ways, with propagation alone as their round trips.
fn over_propagation(theory: &Theory, flows: &[&TheoryFlow]) -> Vec<Way> {
    flows.iter().map(|flow| Way { round_trip_s: flow.propagation_s, ..way(theory, flow) }).collect()
}

fn quic_tcp(theory: &Theory, flows: &[&TheoryFlow], law: QuicTcpParams) -> Result<Box<dyn Model>, Failure> {
    let ways = over_propagation(theory, flows);
    if ways.iter().any(|way| way.round_trip_s <= 0.0) {
        return Err(Failure::Malformed(
            "the model quic-tcp needs a propagation delay on every way: a wire's".into(),
        ));
    }
    Ok(Box::new(DelayWindow::new(theory.conflicts.clone(), &wires(theory), ways, law)?))
}

fn dual_descent(
    theory: &Theory,
    flows: &[&TheoryFlow],
    keys: DualDescentKeys,
) -> Result<Box<dyn Model>, Failure> {
    let ways = over_propagation(theory, flows);
    Ok(Box::new(DualDescent::new(theory.conflicts.clone(), &wires(theory), ways, keys.p, keys.step)?))
}

fn optimal_csma(
    theory: &Theory,
    flows: &[&TheoryFlow],
    keys: OptimalCsmaKeys,
) -> Result<Box<dyn Model>, Failure> {
    if theory.links.len() > theory.air() {
        return Err(Failure::Malformed(
            "the model optimal-csma is for links of the air: remove [[wires]]".into(),
        ));
    }
    Ok(Box::new(OptimalCsma {
        form: ProductForm::new(&theory.conflicts)?,
        ways: flows.iter().map(|flow| way(theory, flow)).collect(),
        law: keys.law,
        capacity: keys.capacity,
        queue: match keys.queue {
            QueueKind::FirstLink => Queue::FirstLink,
            QueueKind::PathSum => Queue::PathSum,
            QueueKind::Virtual => Queue::Virtual,
        },
    }))
}
