//! The gateway and limited sources of the packet world: the classes of flows, and their rates over time.

use super::{airtime, node_number};
use crate::error::Mistake;
use crate::language::{Directions, GatewayTable, LimitRate, Per, ShaperName, SourceLimitTable};
use crate::resolved::Resolved;
use crate::theory::Theory;
use evenair_laws::Parameters;
use evenair_laws::gateway::{ClassRole, Direction, GatewayLaw};
use evenair_netsim::{
    FlowSpec, GatewayClass, GatewayControl, GatewaySpec, Shaping, Shares, SourceLimit, WebSpec,
};
use evenair_optimum::Failure;
use evenair_topology::Link;
use evenair_units::{Duration, Instant, Rate};

impl Resolved {
    /// Adds the shapers, which depend on all the rest.
    pub(super) fn add_shapers(&mut self) -> Result<(), Mistake> {
        if let Some(mut gateway) = self.settings.gateway.take() {
            self.network.gateway = Some(self.gateway_spec(&mut gateway)?);
            self.settings.gateway = Some(gateway);
        }
        if let Some(mut limit) = self.settings.source_limit.take() {
            self.network.source_limits = self.limit_specs(&mut limit)?;
            self.settings.source_limit = Some(limit);
        }
        Ok(())
    }

    fn gateway_spec(&self, gateway: &mut GatewayTable) -> Result<GatewaySpec, Mistake> {
        let (shaper, queue, burst) = gateway.complete(self.network.surroundings.packet.size)?;
        let node = node_number(&gateway.node, &self.network.nodes);
        let node = node.map_err(|why| Mistake::at("gateway.node", why))?;
        let classes = self.classes(gateway, node);
        if classes.list.is_empty() {
            let which = match gateway.directions {
                Directions::Both => "no flow",
                Directions::Up => "no flow from the mesh",
                Directions::Down => "no flow into the mesh",
            };
            let why = format!("{which} passes \"{}\", so it has nothing to shape there", gateway.node);
            return Err(Mistake::at("gateway.node", why));
        }
        let control = match (&gateway.law, gateway.rate) {
            (Some(law), _) => {
                let given = law.begin(&GatewayClass::roles(&classes.list)).at_start().each.len();
                if given > 0 && given != classes.list.len() {
                    let why = format!(
                        "gives {given} rates, and there are {} subscribers and directions",
                        classes.list.len()
                    );
                    return Err(Mistake::at("gateway.law", why));
                }
                GatewayControl::Law(law.clone())
            }
            (None, Some(LimitRate::Fixed(rate))) => {
                GatewayControl::Plan(vec![(Instant::ZERO, Shares::by_weight(rate.0, &classes.list))])
            }
            (None, _) => GatewayControl::Plan(self.fair_plan("gateway.rate", &classes)?),
        };
        Ok(GatewaySpec {
            node,
            stack: gateway.stack.map(Into::into),
            classes: classes.list,
            of_flow: classes.of_flow,
            of_replies: classes.of_replies,
            acknowledgements: gateway.acknowledgements,
            no_busy_time: gateway.no_busy_time,
            shaper: match shaper {
                ShaperName::Aggregate => Shaping::Aggregate,
                ShaperName::AggregateFair => Shaping::AggregateFair,
                ShaperName::PerSubscriber => Shaping::PerClass,
            },
            queue,
            burst,
            burst_time: gateway.burst_time.map_or(Duration::ZERO, |time| time.0),
            control,
        })
    }

    /// The classes in the order in which flows ask for them, each flow's, and that of its returning packets.
    fn classes(&self, gateway: &GatewayTable, node: u32) -> Classes {
        let mut all = Classes::default();
        for (flow, given) in self.network.flows.iter().zip(&self.settings.flows) {
            let weight = given.weight.unwrap_or(1.0);
            let mut class_on = |path: &[u32]| {
                let (subscriber, direction) = self.network.subscriber(path, node)?;
                let is_meant = match gateway.directions {
                    Directions::Both => true,
                    Directions::Up => direction == Direction::Up,
                    Directions::Down => direction == Direction::Down,
                };
                let name = match gateway.per {
                    Per::Subscriber => self.network.name(subscriber).to_owned(),
                    Per::Flow => flow.name.clone(),
                };
                let link_rate = self.own_link(path, node, direction);
                is_meant.then(|| all.add(name, ClassRole { weight, direction, link_rate, subscriber: None }))
            };
            let there = class_on(&flow.path);
            let back: Vec<u32> = flow.path.iter().rev().copied().collect();
            let back = flow.traffic.web().and_then(|_| class_on(&back));
            all.of_flow.push(there);
            all.of_replies.push(back);
        }
        all
    }

    /// The rate of the gateway's own link for a flow \[bit/s\]: one full packet after the other, with a mean back-off between,
    /// net of the MAC's overhead; nothing collides ([Jam10] section 7.5.2).
    fn own_link(&self, path: &[u32], gateway: u32, direction: Direction) -> Option<Rate> {
        let network = &self.network;
        let hop = path.windows(2).find(|hop| hop[usize::from(direction == Direction::Up)] == gateway)?;
        if network.wires.iter().any(|wire| [wire.from, wire.to] == *hop) {
            return None;
        }
        let packet = network.surroundings.packet.size;
        let exchange = airtime(network, Link { from: hop[0], to: hop[1] }, packet);
        let time = exchange + self.mean_backoff(hop[0]);
        Some(Rate::from_bps((packet.bits() as f64 / time.as_secs_f64()) as u64))
    }

    fn limit_specs(&self, limit: &mut SourceLimitTable) -> Result<Vec<SourceLimit>, Mistake> {
        let (queue, burst) = limit.complete(self.network.surroundings.packet.size)?;
        let flows = self.network.flows.len();
        let plan = match limit.rate {
            LimitRate::Fixed(rate) => vec![(Instant::ZERO, Shares::of_each(vec![rate.0; flows]))],
            LimitRate::MaxMin => {
                let mut all = Classes::default();
                for (flow, given) in self.network.flows.iter().zip(&self.settings.flows) {
                    let role = ClassRole { weight: given.weight.unwrap_or(1.0), ..ClassRole::default() };
                    let class = all.add(flow.name.clone(), role);
                    all.of_flow.push(Some(class));
                    all.of_replies.push(None);
                }
                self.fair_plan("source_limit.rate", &all)?
            }
        };
        let spec = |flow: u32| SourceLimit {
            flow,
            queue: queue.clone(),
            burst,
            plan: plan.iter().map(|(from, shares)| (*from, shares.each[flow as usize])).collect(),
        };
        Ok((0..flows as u32).map(spec).collect())
    }

    /// [Jam10] section 6.3.3: each class's rate under max-min fairness over the collision domains, at each time that a flow
    /// comes or goes. The flows of a class share its rate; one that is not active keeps its rate, and has no part in the sum.
    fn fair_plan(&self, key: &str, classes: &Classes) -> Result<Vec<(Instant, Shares)>, Mistake> {
        let wrong = |failure: Failure| Mistake::at(key, failure.to_string());
        let theory = self.theory_with_backoff().map_err(wrong)?;
        let flows = &self.network.flows;
        let ends = flows.iter().flat_map(|flow| &flow.active).flat_map(|&(from, until)| [from, until]);
        let mut instants: Vec<Instant> = ends.filter(|at| !at.is_never()).chain([Instant::ZERO]).collect();
        instants.sort_unstable();
        instants.dedup();
        let mut plan = Vec::new();
        let mut each = vec![Rate::default(); classes.list.len()];
        for now in instants {
            let is_active =
                |flow: &FlowSpec| flow.active.iter().any(|&(from, until)| from <= now && now < until);
            let active: Vec<usize> = (0..flows.len()).filter(|&f| is_active(&flows[f])).collect();
            let mut sums = vec![0.0; each.len()];
            for (flow, rate) in self.fair_rates(&theory, classes, &active).map_err(wrong)? {
                // A web flow's rate is that of its replies; requests have as much of it as they are beside them.
                let there = flows[flow].traffic.web().map_or(1.0, WebSpec::request_share);
                for (class, part) in [(classes.of_flow[flow], there), (classes.of_replies[flow], 1.0)] {
                    if let Some(class) = class {
                        sums[class as usize] += rate * part;
                    }
                }
            }
            for (rate, &sum) in each.iter_mut().zip(&sums).filter(|(_, sum)| **sum > 0.0) {
                *rate = at_least_one(sum);
            }
            plan.push((now, Shares { total: at_least_one(sums.iter().sum()), each: each.clone() }));
        }
        Ok(plan)
    }

    /// The fair rates of some flows, network-layer sizes \[bit/s\].
    fn fair_rates(
        &self,
        theory: &Theory,
        classes: &Classes,
        active: &[usize],
    ) -> Result<Vec<(usize, f64)>, Failure> {
        if active.is_empty() {
            return Ok(Vec::new());
        }
        let class_of = |f: usize| classes.of_replies[f].or(classes.of_flow[f]);
        let together = |class: u32| active.iter().filter(|&&f| class_of(f) == Some(class)).count() as f64;
        let flow = |&f: &usize| {
            let mut flow = theory.flows[f].clone();
            if let Some(class) = class_of(f) {
                flow.weight = classes.list[class as usize].role.weight / together(class);
            }
            flow
        };
        let theory = Theory { flows: active.iter().map(flow).collect(), ..theory.clone() };
        let rates = crate::optimum::over_domains(theory)?;
        let bits = |f: usize| self.network.flows[f].traffic.size().bits() as f64;
        Ok(active.iter().zip(rates).map(|(&f, pps)| (f, pps * bits(f))).collect())
    }
}

/// The classes that a gateway, or the sources, tell apart.
#[derive(Default)]
struct Classes {
    list: Vec<GatewayClass>,
    of_flow: Vec<Option<u32>>,
    of_replies: Vec<Option<u32>>,
}

impl Classes {
    /// The class of this name and direction, which may be there.
    fn add(&mut self, name: String, role: ClassRole) -> u32 {
        let is_it = |class: &GatewayClass| class.name == name && class.role.direction == role.direction;
        if let Some(known) = self.list.iter().position(is_it) {
            // A subscriber does not count for more because it has more flows.
            let weight = &mut self.list[known].role.weight;
            *weight = weight.max(role.weight);
            return known as u32;
        }
        let place = self.list.len() as u32;
        // The first of its classes names its subscriber.
        let first = self.list.iter().position(|class| class.name == name);
        let subscriber = Some(first.map_or(place, |first| first as u32));
        self.list.push(GatewayClass { name, role: ClassRole { subscriber, ..role } });
        place
    }
}

/// A rate \[bit/s\]; a positive rate has at least one bit of it.
fn at_least_one(bps: f64) -> Rate {
    Rate::from_bps((bps.round() as u64).max(1))
}
