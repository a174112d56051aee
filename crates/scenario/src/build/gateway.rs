//! The gateway and limited sources of the packet world: who has which class, and which rates when.

use super::{airtime, no_node};
use crate::error::Mistake;
use crate::language::{Directions, LimitRate, Per, ShaperName};
use crate::resolved::{Resolved, ResolvedGateway, ResolvedSourceLimit};
use crate::theory::Theory;
use evenair_laws::Parameters;
use evenair_laws::rate::gateway::{ClassRole, Direction, GatewayLaw, GatewayRole};
use evenair_netsim::{
    FlowSpec, GatewayClass, GatewayControl, GatewaySpec, NetworkSpec, Shaping, Shares, SourceLimit,
};
use evenair_units::{Instant, Rate};
use evenair_wifi::BROADCAST;

/// What a gateway tells apart, the class of each flow's data, and of each web flow's replies.
struct Classes {
    classes: Vec<GatewayClass>,
    of_flow: Vec<Option<u32>>,
    of_replies: Vec<Option<u32>>,
}

impl Resolved {
    /// Adds what holds packets back: it depends on all the rest.
    pub(super) fn add_shapers(&mut self) -> Result<(), Mistake> {
        if let Some(gateway) = self.settings.gateway.clone() {
            self.network.gateway = Some(self.gateway_spec(&gateway)?);
        }
        if let Some(limit) = self.settings.source_limit.clone() {
            self.network.source_limits = self.limit_specs(&limit)?;
        }
        Ok(())
    }

    fn gateway_spec(&self, gateway: &ResolvedGateway) -> Result<GatewaySpec, Mistake> {
        let names = &self.network.nodes;
        let node = names.iter().position(|name| *name == gateway.node);
        let node = node.ok_or_else(|| Mistake::at("gateway.node", no_node(&gateway.node, names)))? as u32;
        let Classes { classes, of_flow, of_replies } = self.classes(gateway, node);
        if classes.is_empty() {
            let which = match gateway.directions {
                Directions::Both => "no flow",
                Directions::Up => "no flow from the mesh",
                Directions::Down => "no flow into the mesh",
            };
            let why = format!("{which} passes \"{}\", so there is nothing to shape there", gateway.node);
            return Err(Mistake::at("gateway.node", why));
        }
        let control = match (&gateway.law, gateway.rate) {
            (Some(law), _) => {
                let role = GatewayRole { classes: classes.iter().map(|class| class.role).collect() };
                let given = law.begin(&role).at_start().each.len();
                if given > 0 && given != classes.len() {
                    let why = format!(
                        "gives {given} rates, and there are {} subscribers and directions",
                        classes.len()
                    );
                    return Err(Mistake::at("gateway.law", why));
                }
                GatewayControl::Law(law.clone())
            }
            (None, Some(LimitRate::Fixed(rate))) => {
                let weights: f64 = classes.iter().map(|class| class.role.weight).sum();
                let share = |class: &GatewayClass| portion(rate.0, class.role.weight / weights);
                let each = classes.iter().map(share).collect();
                GatewayControl::Plan(vec![(Instant::ZERO, Shares { total: rate.0, each })])
            }
            (None, _) => {
                GatewayControl::Plan(self.fair_plan("gateway.rate", &classes, &of_flow, &of_replies)?)
            }
        };
        Ok(GatewaySpec {
            node,
            classes,
            of_flow,
            of_replies,
            acknowledgements: gateway.acknowledgements,
            shaper: match gateway.shaper {
                ShaperName::Aggregate => Shaping::Aggregate,
                ShaperName::AggregateFair => Shaping::AggregateFair,
                ShaperName::PerSubscriber => Shaping::PerClass,
            },
            queue: gateway.queue.discipline.spec(gateway.queue.limit, None),
            burst: gateway.burst.0,
            control,
        })
    }

    /// The classes in the order in which flows ask for them, each flow's, and those of the web's replies.
    fn classes(&self, gateway: &ResolvedGateway, node: u32) -> Classes {
        let mut classes: Vec<GatewayClass> = Vec::new();
        let mut place = |flow: &FlowSpec, weight: f64, path: &[u32]| {
            let (subscriber, direction) = subscriber(&self.network, path, node)?;
            let is_up = direction == Direction::Up;
            if gateway.directions != Directions::Both && (gateway.directions == Directions::Up) != is_up {
                return None;
            }
            let name = match gateway.per {
                Per::Subscriber => self.network.name(subscriber).to_owned(),
                Per::Flow => flow.name.clone(),
            };
            let known = classes.iter().position(|c| c.name == name && c.role.direction == direction);
            let place = known.unwrap_or_else(|| {
                let link_rate = self.own_link(path, node, direction);
                classes.push(GatewayClass { name, role: ClassRole { weight, direction, link_rate } });
                classes.len() - 1
            });
            // A subscriber does not count for more because it has more flows.
            let role = &mut classes[place].role;
            role.weight = role.weight.max(weight);
            Some(place as u32)
        };
        let (mut of_flow, mut of_replies) = (Vec::new(), Vec::new());
        for (flow, given) in self.network.flows.iter().zip(&self.settings.flows) {
            let weight = given.weight.unwrap_or(1.0);
            of_flow.push(place(flow, weight, &flow.path));
            let web = flow.traffic.web();
            of_replies.push(web.and_then(|_| place(flow, weight, &flow.data_path())));
        }
        Classes { classes, of_flow, of_replies }
    }

    /// What the gateway's own link carries of a flow \[bit/s\]: one full packet after the other, with a mean back-off between, net of
    /// the MAC's overhead; nothing collides ([Jam10] section 7.5.2).
    fn own_link(&self, path: &[u32], gateway: u32, direction: Direction) -> Option<Rate> {
        let network = &self.network;
        let hop = path.windows(2).find(|hop| hop[usize::from(direction == Direction::Up)] == gateway)?;
        if network.wires.iter().any(|wire| [wire.from, wire.to] == *hop) {
            return None;
        }
        let own = network.rates.iter().find(|rate| [rate.from, rate.to] == *hop);
        let packet = network.surroundings.packet.size;
        let exchange = airtime(network, packet, own.map_or(network.data_rate, |own| own.rate));
        let time = exchange + self.mean_backoff();
        Some(Rate::from_bps((packet.bits() as f64 / time.as_secs_f64()) as u64))
    }

    fn limit_specs(&self, limit: &ResolvedSourceLimit) -> Result<Vec<SourceLimit>, Mistake> {
        let flows = self.network.flows.len();
        let all: Vec<Option<u32>> = (0..flows as u32).map(Some).collect();
        let plan = match limit.rate {
            LimitRate::Fixed(rate) => vec![(Instant::ZERO, Shares::of_each(vec![rate.0; flows]))],
            LimitRate::MaxMin => {
                let class = |(flow, given): (&FlowSpec, &crate::resolved::ResolvedFlow)| GatewayClass {
                    name: flow.name.clone(),
                    role: ClassRole { weight: given.weight.unwrap_or(1.0), ..ClassRole::default() },
                };
                let classes: Vec<_> =
                    self.network.flows.iter().zip(&self.settings.flows).map(class).collect();
                self.fair_plan("source_limit.rate", &classes, &all, &vec![None; flows])?
            }
        };
        let spec = |flow: u32| SourceLimit {
            flow,
            queue: limit.queue.discipline.spec(limit.queue.limit, None),
            burst: limit.burst.0,
            plan: plan.iter().map(|(from, shares)| (*from, shares.each[flow as usize])).collect(),
        };
        Ok((0..flows as u32).map(spec).collect())
    }

    /// [Jam10] section 6.3.3: what each class has under max-min fairness over the collision domains, whenever a flow comes or goes. The flows of a
    /// class share what it has; one that is not active keeps its rate, and has no part in the sum.
    fn fair_plan(
        &self,
        key: &str,
        classes: &[GatewayClass],
        of_flow: &[Option<u32>],
        of_replies: &[Option<u32>],
    ) -> Result<Vec<(Instant, Shares)>, Mistake> {
        // Of the web the replies are what loads the network.
        let of_data: Vec<_> =
            of_flow.iter().zip(of_replies).map(|(&flow, &replies)| replies.or(flow)).collect();
        let theory = self.theory_with_backoff().map_err(|failure| Mistake::at(key, failure.to_string()))?;
        let flows = &self.network.flows;
        let ends = flows.iter().flat_map(|flow| &flow.active).flat_map(|&(from, until)| [from, until]);
        let mut instants: Vec<Instant> = ends.filter(|at| !at.is_never()).chain([Instant::ZERO]).collect();
        instants.sort_unstable();
        instants.dedup();
        let mut plan: Vec<(Instant, Shares)> = Vec::new();
        let mut each = vec![Rate::default(); classes.len()];
        for now in instants {
            let is_active =
                |flow: &FlowSpec| flow.active.iter().any(|&(from, until)| from <= now && now < until);
            let active: Vec<usize> = (0..flows.len()).filter(|&f| is_active(&flows[f])).collect();
            let mut sums = vec![0.0; classes.len()];
            for (flow, rate) in self
                .fair_rates(&theory, classes, &of_data, &active)
                .map_err(|failure| Mistake::at(key, failure.to_string()))?
            {
                if let Some(class) = of_data[flow] {
                    sums[class as usize] += rate;
                }
                // Requests have as much of it as they are beside the replies.
                if let (Some(class), Some(web)) = (of_flow[flow], flows[flow].traffic.web())
                    && of_replies[flow].is_some()
                {
                    sums[class as usize] += rate * web.request_share();
                }
            }
            for (rate, &sum) in each.iter_mut().zip(&sums) {
                if sum > 0.0 {
                    *rate = Rate::from_bps((sum.round() as u64).max(1));
                }
            }
            let total = Rate::from_bps((sums.iter().sum::<f64>().round() as u64).max(1));
            plan.push((now, Shares { total, each: each.clone() }));
        }
        Ok(plan)
    }

    /// The fair rates of some flows, network-layer sizes \[bit/s\].
    fn fair_rates(
        &self,
        theory: &Theory,
        classes: &[GatewayClass],
        of_flow: &[Option<u32>],
        active: &[usize],
    ) -> Result<Vec<(usize, f64)>, evenair_optimum::Failure> {
        if active.is_empty() {
            return Ok(Vec::new());
        }
        let together = |class: u32| active.iter().filter(|&&f| of_flow[f] == Some(class)).count() as f64;
        let flow = |&f: &usize| {
            let mut flow = theory.flows[f].clone();
            if let Some(class) = of_flow[f] {
                flow.weight = classes[class as usize].role.weight / together(class);
            }
            flow
        };
        let theory = Theory { flows: active.iter().map(flow).collect(), ..theory.clone() };
        let rates = crate::optimum::over_domains(theory)?;
        let bits = |f: usize| self.network.flows[f].traffic.size().bits() as f64;
        Ok(active.iter().zip(rates).map(|(&f, pps)| (f, pps * bits(f))).collect())
    }
}

/// A part of a rate, at least 1 bit/s.
fn portion(rate: Rate, share: f64) -> Rate {
    Rate::from_bps(((rate.as_bps() as f64 * share).round() as u64).max(1))
}

/// Whose data a flow's are, and which way they go, where they pass the gateway: into the mesh where they begin at the gateway
/// or come to it over a wire; up where they end there or go on.
fn subscriber(network: &NetworkSpec, path: &[u32], gateway: u32) -> Option<(u32, Direction)> {
    let place = path.iter().position(|&node| node == gateway)?;
    let (&first, &last) = (path.first()?, path.last()?);
    let wired = |from: u32, to: u32| network.wires.iter().any(|w| (w.from, w.to) == (from, to));
    if last == BROADCAST {
        return None;
    }
    if place == 0 || wired(path[place - 1], gateway) {
        Some((last, Direction::Down))
    } else {
        Some((first, Direction::Up))
    }
}
