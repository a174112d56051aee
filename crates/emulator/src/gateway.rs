//! The gateway's daemon in its node's kernel, as an operator would run it there.

use crate::address::Addresses;
use crate::hosts::{Clock, DEVICE, wire};
use evenair_gateway::config::Config;
use evenair_gateway::kernel::Failure;
use evenair_gateway::record::What;
use evenair_gateway::subscribers::Place;
use evenair_gateway::{Daemon, Linux, Prefix, Side, Subscriber, Subscribers};
use evenair_laws::gateway::{Allocation, ClassRole, Direction, GatewayRole, GatewayTold, GatewayView};
use evenair_linux::NetworkNamespace;
use evenair_netsim::{
    ClassSeries, GatewayClass, GatewayControl, GatewayResult, GatewaySeries, GatewaySpec, NetworkSpec,
};
use evenair_units::{Duration, Instant, Rate};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The daemon's longest sleep, so that it ends in time.
const NAP: Duration = Duration::from_millis(20);

/// A gateway that a daemon implements.
#[derive(Clone, Debug)]
pub(crate) struct RealGateway {
    /// Its node.
    pub(crate) node: u32,
    config: Config,
    subscribers: Subscribers,
}

impl RealGateway {
    /// Returns the daemon of a simulated gateway's law and subscribers.
    ///
    /// # Errors
    /// If no daemon can implement it, with the reason.
    pub(crate) fn new(spec: &NetworkSpec, gateway: &GatewaySpec) -> Result<Self, String> {
        let GatewayControl::Law(law) = &gateway.control else {
            return Err("the daemon sets rates by a law: give gateway.law, such as law = \"pfrc\"".into());
        };
        if gateway.acknowledgements {
            let why =
                "the daemon lets acknowledgements pass beside all limits: leave gateway.acknowledgements out";
            return Err(why.into());
        }
        let wires = spec.wires.iter().filter(|wire| wire.from == gateway.node).count();
        if wires != 1 {
            return Err(format!(
                "the daemon stands between the air and one wire, and the node has {wires}: flows end at a node behind a wire"
            ));
        }
        let text = format!("mode = \"enforce\"\nmesh = \"{DEVICE}\"\nuplink = \"{}\"\n", wire(0));
        let mut config = Config::parse("gateway", &text).map_err(|mistake| mistake.to_string())?;
        (config.law, config.least_rate) = (law.clone(), Rate::from_kbps(8));
        let subscribers = subscribers(spec, gateway)?;
        Ok(Self { node: gateway.node, config, subscribers })
    }

    /// Runs in its node's namespace until the run is over; returns its record. An error ends the run.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn run(
        self,
        namespaces: &[NetworkNamespace],
        clock: Clock,
        done: &AtomicBool,
    ) -> Result<Record, Failure> {
        crate::scheduling::sockets();
        let ran = self.shape(&namespaces[self.node as usize], clock, done);
        done.store(done.load(Ordering::Relaxed) || ran.is_err(), Ordering::Relaxed);
        ran
    }

    fn shape(
        &self,
        namespace: &NetworkNamespace,
        clock: Clock,
        done: &AtomicBool,
    ) -> Result<Record, Failure> {
        let entered = namespace.within(|| Linux::new(&self.config));
        let kernel = entered.map_err(|error| Failure::new("the gateway's namespace", error))??;
        let mut daemon =
            Daemon::new(Clock::monotonic(), &self.config, self.subscribers.clone(), kernel, (None, false))?;
        daemon.begin(Clock::monotonic())?;
        let mut record = Record { node: self.node, ..Record::default() };
        daemon.take_happened().iter().for_each(|what| record.hear(clock, what));
        record.add(Instant::ZERO, daemon.gateway().allocation(), None);
        while !done.load(Ordering::Relaxed) {
            let left = daemon.due().since(Clock::monotonic()).min(NAP);
            let packets = daemon.kernel().packets();
            let mut waiting: Vec<_> = packets.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            let _ = poll(&mut waiting, Some(&crate::hosts::timespec(left)));
            daemon.step(Clock::monotonic());
            daemon.take_happened().iter().for_each(|what| record.hear(clock, what));
        }
        daemon.stop("the emulation is over", true)?;
        Ok(record)
    }
}

/// Returns the nodes of flows with classes, with their addresses.
fn subscribers(spec: &NetworkSpec, gateway: &GatewaySpec) -> Result<Subscribers, String> {
    let addresses = Addresses::of(spec.nodes.len() as u32);
    let mut found: BTreeMap<u32, Subscriber> = BTreeMap::new();
    for (flow, class) in spec.flows.iter().zip(&gateway.of_flow) {
        let (Some(class), Some((node, _))) = (class, spec.subscriber(&flow.path, gateway.node)) else {
            continue;
        };
        let (class, id) = (&gateway.classes[*class as usize], &spec.nodes[node as usize]);
        if class.name != *id {
            return Err("the daemon tells subscribers apart, not flows: leave gateway.per out".into());
        }
        let of = [addresses.ipv4(node).into(), addresses.ipv6(node).into()];
        found.entry(node).or_insert_with(|| Subscriber {
            prefixes: of.map(Prefix::host).to_vec(),
            weight: class.role.weight,
            link_rate: class.role.link_rate,
            ..Subscriber::new(id)
        });
    }
    let listed = found.into_values().map(|subscriber| (Place::default(), subscriber));
    Subscribers::new(listed).map_err(|mistake| mistake.to_string())
}

/// The daemon's observations and actions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    node: u32,
    classes: Vec<GatewayClass>,
    /// The present class of each class of the law: a subscriber that is silent for long has none for a while.
    order: Vec<usize>,
    series: GatewaySeries,
}

impl Record {
    fn hear(&mut self, clock: Clock, what: &What) {
        match what {
            What::Begin { role, classes, .. } => {
                let class = |((name, side), role): (&(String, Side), &ClassRole)| GatewayClass {
                    name: name.clone(),
                    role: ClassRole { direction: direction(*side), ..*role },
                };
                self.classes = classes.iter().zip(&role.classes).map(class).collect();
                self.series.classes = vec![ClassSeries::default(); classes.len()];
                self.order = (0..classes.len()).collect();
            }
            What::Heard(heard) => {
                if let Some(names) = &heard.classes {
                    self.order = names.iter().filter_map(|name| self.place(name)).collect();
                }
                if let (GatewayTold::OnEpoch { view }, Some(answer)) = (&heard.told, &heard.answer.on_epoch) {
                    self.add(clock.since_start(view.now), answer, Some(view));
                }
            }
            What::Event(_) => (),
        }
    }

    fn place(&self, (name, side): &(String, Side)) -> Option<usize> {
        let is = |class: &GatewayClass| class.name == *name && class.role.direction == direction(*side);
        self.classes.iter().position(is)
    }

    fn add(&mut self, now: Instant, allocation: &Allocation, view: Option<&GatewayView>) {
        let sum = || allocation.each.iter().fold(0, |sum: u64, rate| sum.saturating_add(rate.as_bps()));
        let total = allocation.total.unwrap_or_else(|| Rate::from_bps(sum()));
        let role =
            GatewayRole { classes: self.order.iter().map(|&class| self.classes[class].role).collect() };
        let each = if allocation.each.is_empty() { role.split(total) } else { allocation.each.clone() };
        self.series.time_s.push(now.as_secs_f64());
        self.series.decisions.push(allocation.decision);
        self.series.total_bps.push(total.as_bps() as f64);
        for (index, class) in self.series.classes.iter_mut().enumerate() {
            let place = self.order.iter().position(|&of| of == index);
            let allowed = place.and_then(|place| Some(each.get(place)?.as_bps() as f64));
            let last = class.allowed_bps.last().copied().unwrap_or_default();
            class.allowed_bps.push(allowed.unwrap_or(last));
            let seen = place.and_then(|place| view?.class(place).copied());
            class.counts.push(seen.unwrap_or_default());
        }
    }

    /// Returns its result, measured from the end of the warm-up to an instant.
    pub(crate) fn result(self, nodes: &[String], (warmup, ended): (Duration, Instant)) -> GatewayResult {
        let node = nodes[self.node as usize].clone();
        GatewayResult::of(node, &self.classes, self.series, (warmup.as_secs_f64(), ended.as_secs_f64()))
    }
}

const fn direction(side: Side) -> Direction {
    match side {
        Side::Down => Direction::Down,
        Side::Up => Direction::Up,
    }
}
