//! A network that Python steps, with its flows' controls set from there: the core of an environment of Gymnasium.

use crate::scenario::{Scenario, raised};
use evenair_laws::OwnLaw;
use evenair_laws::backoff::{Access, Draw, Holding, OnFailure, When};
use evenair_laws::connections::{ConnectionLaw, OwnConnections};
use evenair_laws::flow::FlowView;
use evenair_laws::rate::{OwnRate, RateLaw};
use evenair_laws::window::{Acked, Loss, OwnWindow, WINDOW_MAX, WindowLaw, WindowStart};
use evenair_netsim::{FlowSpec, FlowState, MacSpec, Network, NetworkSpec};
use evenair_scenario::Window;
use evenair_units::{Duration, Instant, Rate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The parameter that actions set.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    /// The contention window of the queue at each flow's source [slots].
    ContentionWindow,
    /// The number of each flow's connections.
    Connections,
    /// The congestion window of each of a flow's connections [segments].
    CongestionWindow,
    /// The rate of each source [bit/s].
    Rate,
}

/// A law with the value that Python set last.
#[derive(Clone, Debug)]
struct Told {
    value: Arc<AtomicU64>,
    interval: Duration,
}

impl Told {
    fn get(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }
}

impl OwnLaw for Told {
    fn identity(&self) -> String {
        "told from outside".into()
    }
}

impl ConnectionLaw for Told {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn on_interval(&mut self, _flow: &FlowView) -> u32 {
        u32::try_from(self.get()).unwrap_or(u32::MAX).max(1)
    }
}

impl RateLaw for Told {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn on_interval(&mut self, _flow: &FlowView) -> Rate {
        Rate::from_bps(self.get())
    }
}

/// A window that neither grows nor shrinks by itself, recovery or not.
impl WindowLaw for Told {
    fn begin(&mut self, _start: &WindowStart) {}
    fn on_ack(&mut self, _acked: &Acked) {}
    fn on_loss(&mut self, _loss: &Loss) {}
    fn on_timeout(&mut self, _loss: &Loss) {}

    fn steers_recovery(&self) -> bool {
        true
    }

    fn congestion_window(&self) -> f64 {
        (self.get() as f64).clamp(1.0, WINDOW_MAX)
    }

    fn slow_start_threshold(&self) -> f64 {
        self.congestion_window()
    }
}

/// The observation of one flow after a step.
const SEEN: usize = 6;

/// A network and its controls.
#[pyclass(module = "evenair._evenair")]
pub(crate) struct Environment {
    network: Network,
    names: Vec<String>,
    scales: Vec<[f64; SEEN]>,
    told: Vec<Arc<AtomicU64>>,
    /// The queue at each flow's source, where contention is set.
    queues: Vec<u32>,
    control: Control,
    step: Duration,
    now: Instant,
    end: Instant,
    /// How much of its goodput's mean a step keeps.
    keep: f64,
    goodput_pps: Vec<f64>,
    before: Vec<FlowState>,
}

#[pymethods]
impl Environment {
    /// A scenario at its beginning; all of its flows are controlled, once per `step_s`. Goodput is averaged over
    /// `horizon_s`.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        control: &str,
        step_s: f64,
        horizon_s: f64,
        seed: u64,
    ) -> PyResult<Self> {
        let control = match control {
            "contention-window" => Control::ContentionWindow,
            "connections" => Control::Connections,
            "congestion-window" => Control::CongestionWindow,
            "rate" => Control::Rate,
            other => {
                let known = "contention-window, congestion-window, connections, rate";
                return Err(PyValueError::new_err(format!("control = \"{other}\": there are {known}")));
            }
        };
        if !(step_s >= 1e-6 && horizon_s >= step_s && horizon_s <= 1e9) {
            let message = format!(
                "step = {step_s} s, horizon = {horizon_s} s: a step takes a microsecond at least, and no longer than the horizon, \
                 a horizon 1e9 s at most"
            );
            return Err(PyValueError::new_err(message));
        }
        let step = Duration::from_secs_f64(step_s);
        let mut written = scenario.resolved.written_out();
        let told: Vec<_> = written.flows.iter().map(|_| Arc::new(AtomicU64::new(1))).collect();
        for (flow, value) in written.flows.iter_mut().zip(&told) {
            let law = Told { value: Arc::clone(value), interval: step };
            match control {
                Control::ContentionWindow => (),
                Control::Connections => flow.connections = Some(OwnConnections::new(law).into()),
                Control::CongestionWindow => flow.window = Some(Window::Law(OwnWindow::new(law).into())),
                Control::Rate => flow.rate_law = Some(OwnRate::new(law).into()),
            }
        }
        let resolved = written.resolve().map_err(|e| raised(py, &e))?;
        if control == Control::ContentionWindow && !matches!(resolved.network().mac, MacSpec::Dcf { .. }) {
            return Err(PyValueError::new_err("ideal CSMA has no slots, hence no contention windows"));
        }
        let network = Network::new(resolved.network(), resolved.run_spec(seed));
        let names: Vec<String> = resolved.network().flows.iter().map(|flow| flow.name.clone()).collect();
        let queues =
            if control == Control::ContentionWindow { queues(&network, &names)? } else { Vec::new() };
        let flows = told.len();
        Ok(Self {
            names,
            scales: scales(resolved.network(), step_s, horizon_s),
            end: network.end(),
            network,
            told,
            queues,
            control,
            step,
            now: Instant::ZERO,
            keep: (-step_s / horizon_s).exp(),
            goodput_pps: vec![0.0; flows],
            before: vec![FlowState::default(); flows],
        })
    }

    /// The flows.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The divisors of each flow's quantities in observations.
    #[getter]
    fn scales(&self) -> Vec<[f64; SEEN]> {
        self.scales.clone()
    }

    /// How far it is [s].
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Sets each flow's control, runs one step, and returns the quantities of each flow and whether the run is over.
    /// The numbers have 32 bits in the machine's byte order: the quantities, then all of them over their scales, 1 at
    /// most.
    fn step<'py>(&mut self, py: Python<'py>, actions: Vec<f64>) -> PyResult<(Bound<'py, PyByteArray>, bool)> {
        if actions.len() != self.names.len() {
            let (given, wanted) = (actions.len(), self.names.len());
            return Err(PyValueError::new_err(format!(
                "actions: {given}, flows: {wanted}; give one action a flow"
            )));
        }
        for (flow, &action) in actions.iter().enumerate() {
            if !(action >= 0.0 && action.is_finite()) {
                return Err(PyValueError::new_err(format!("an action of {action}: give 0 or more")));
            }
            self.set(flow, action);
        }
        let until = (self.now + self.step).min(self.end);
        let network = &mut self.network;
        py.detach(|| while network.advance(until).is_some() {});
        let seconds = until.since(self.now).as_secs_f64();
        self.now = until;
        Ok((PyByteArray::new(py, &self.see(seconds)), until == self.end))
    }
}

impl Environment {
    fn set(&mut self, flow: usize, action: f64) {
        match self.control {
            Control::ContentionWindow => {
                let access = Access {
                    draw: Draw::Slots { window: action.min(65_535.0) as u32, end_included: true },
                    on_failure: OnFailure::Redraw,
                    when: When::AfterTransmission,
                    holding: Holding::Packet,
                };
                self.network.set_access(self.queues[flow], access);
            }
            Control::Connections | Control::CongestionWindow | Control::Rate => {
                self.told[flow].store(action as u64, Ordering::Relaxed);
            }
        }
    }

    /// Of each flow: mean goodput [packets/s], packets delivered in the step, backlog [packets], mean round-trip time in the step
    /// (0, if there was none) [s], connections, congestion window [segments].
    fn see(&mut self, seconds: f64) -> Vec<u8> {
        let mut measured = Vec::with_capacity(2 * SEEN * self.names.len() * size_of::<f32>());
        let mut observed = Vec::with_capacity(SEEN * self.names.len() * size_of::<f32>());
        for flow in 0..self.names.len() {
            let state = self.network.flow_state(flow as u32);
            let before = std::mem::replace(&mut self.before[flow], state);
            let delivered = (state.delivered.packets - before.delivered.packets) as f64;
            let goodput = &mut self.goodput_pps[flow];
            *goodput = *goodput * self.keep + (1.0 - self.keep) * delivered / seconds.max(1e-9);
            let samples = f64::from(state.round_trips - before.round_trips);
            let round_trip = (state.round_trips_s - before.round_trips_s) / samples.max(1.0);
            let seen = [
                *goodput,
                delivered,
                state.backlog.packets as f64,
                round_trip,
                f64::from(state.connections),
                state.congestion_window,
            ];
            measured.extend(seen.iter().flat_map(|&x| (x as f32).to_ne_bytes()));
            let shares = seen.iter().zip(&self.scales[flow]).map(|(x, scale)| (x / scale).min(1.0) as f32);
            observed.extend(shares.flat_map(f32::to_ne_bytes));
        }
        measured.extend(observed);
        measured
    }
}

/// How many connections, and how many segments of a congestion window, are all of the scale.
const CONNECTIONS: f64 = 32.0;
const SEGMENTS: f64 = 64.0;

/// The scales of each flow's quantities: the capacity of the network's fastest link for it \[packets/s\], and in a step
/// \[packets\]; the size of its first queue \[packets\]; the horizon \[s\]; connections; segments.
fn scales(network: &NetworkSpec, step_s: f64, horizon_s: f64) -> Vec<[f64; SEEN]> {
    let own =
        network.rates.iter().map(|link| link.mode.rate()).chain(network.wires.iter().map(|wire| wire.rate));
    let fastest = own.fold(network.data_mode.rate(), Rate::max).as_bps() as f64;
    let of = |flow: &FlowSpec| {
        let (from, to) = (flow.path[0], flow.path[1]);
        let wire =
            network.wires.iter().find(|wire| (wire.from, wire.to) == (from, to)).map(|wire| &wire.queue);
        let own = || network.node_queues.iter().find(|(node, _)| *node == from).map(|(_, queue)| queue);
        let queue = wire.or_else(own).unwrap_or(&network.queue);
        let most_pps = fastest / flow.traffic.payload().bits() as f64;
        let holds = f64::from(queue.limit_packets) + 1.0; // and one is in service
        [most_pps, (most_pps * step_s).max(1.0), holds, horizon_s, CONNECTIONS, SEGMENTS]
    };
    network.flows.iter().map(of).collect()
}

/// The queue at each flow's source.
fn queues(network: &Network, names: &[String]) -> PyResult<Vec<u32>> {
    let mut queues: Vec<u32> = Vec::new();
    for flow in 0..names.len() as u32 {
        let Some((queue, name)) = network.source_queue(flow) else {
            let message = "begins on a wire, where no station contends: no contention window can be set";
            return Err(PyValueError::new_err(format!("flow {} {message}", names[flow as usize])));
        };
        if queues.contains(&queue) {
            let message =
                format!("begins in the queue {name}, as another flow does, and it has one contention window");
            return Err(PyValueError::new_err(format!("flow {} {message}", names[flow as usize])));
        }
        queues.push(queue);
    }
    Ok(queues)
}
