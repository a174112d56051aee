//! The theory's view of a scenario: which flow loads which link with how much, and which links conflict.

use crate::build::airtime;
use crate::resolved::{ALPHA, Resolved};
use evenair_laws::backoff::{BackoffParams, DcfParams};
use evenair_netsim::{MacSpec, NetworkSpec, Pattern, Source, Traffic};
use evenair_optimum::Failure;
use evenair_optimum::max_min::Demand;
use evenair_tcp::AckPolicy;
use evenair_topology::{ConflictGraph, Link};
use evenair_units::{Bytes, Duration};
use evenair_wifi::{BROADCAST, LossModel};

/// A scenario as the theory sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Theory {
    /// Names of the links that carry data: those of the air, in the order of [`Layout::links`](crate::Layout::links), then
    /// wires.
    pub links: Vec<String>,
    /// Which links of the air may not transmit at once.
    pub conflicts: ConflictGraph,
    /// Which links of the air share a collision domain ([Jam10] section 4.1.2): those with an end in transmission range of an end of
    /// the other; where conflicts are given outright, those that conflict.
    pub domains: ConflictGraph,
    /// Flows.
    pub flows: Vec<TheoryFlow>,
}

/// A flow as the theory sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TheoryFlow {
    /// Its name.
    pub name: String,
    /// Links on its way and the share of time that a packet per second takes of each \[s\]: the exchange, that of TCP's
    /// acknowledgement counted, back-off not; on a wire the time that it needs to be put there.
    pub loads: Vec<(usize, f64)>,
    /// How much the flow counts.
    pub weight: f64,
    /// α of its own utility; none, where that is a table.
    pub alpha: Option<f64>,
    /// The table of its own utility: rates, in the unit of `[utility]`, and their utilities.
    pub points: Option<Vec<[f64; 2]>>,
    /// No more than this is offered \[packets/s\]; infinity for a flow without end.
    pub limit_pps: f64,
    /// The channel's losses on its way: the sum of the links' loss probabilities.
    pub loss: f64,
    /// Round-trip time of an empty network \[s\]: propagation on wires, both ways, and one packet's time on each link.
    pub round_trip_s: f64,
    /// Time that packets are under way on wires, both ways \[s\].
    pub propagation_s: f64,
    /// Size of a packet's payload \[bits\].
    pub payload_bits: f64,
    /// Size of a packet on the network layer \[bits\].
    pub size_bits: f64,
}

impl Theory {
    /// How many of the links are links of the air.
    pub fn air(&self) -> usize {
        self.conflicts.links()
    }

    /// The flows as demands on the links, each of a capacity of one.
    pub fn demands(&self) -> Vec<Demand> {
        let demand = |flow: &TheoryFlow| Demand {
            weight: flow.weight,
            limit: flow.limit_pps,
            loads: flow.loads.clone(),
        };
        self.flows.iter().map(demand).collect()
    }
}

impl Resolved {
    /// The theory's view of the scenario.
    ///
    /// # Errors
    /// If there is no flow, or one is a broadcast: it has no receiver, hence no link to load.
    pub fn theory(&self) -> Result<Theory, Failure> {
        let (layout, network) = (self.layout(), self.network());
        if network.flows.is_empty() {
            let why = "it has no flow, and how much comes from outside is not known; add a [[flows]] table with id, from and to";
            return Err(Failure::Malformed(why.into()));
        }
        let mut links: Vec<String> = layout.links.iter().map(|(name, _)| name.clone()).collect();
        let mut wires: Vec<Link> = Vec::new();
        let bare: Vec<Link> = layout.links.iter().map(|&(_, link)| link).collect();
        let mut flows = Vec::new();
        let of_all = self.settings.utility.as_ref();
        for (flow, given) in network.flows.iter().zip(&self.settings.flows) {
            if flow.path.contains(&BROADCAST) {
                let what = format!(
                    "flow {} is a broadcast, and the theory has flows with one receiver only",
                    flow.name
                );
                return Err(Failure::Malformed(what));
            }
            let mut seen = TheoryFlow {
                name: flow.name.clone(),
                loads: Vec::new(),
                weight: given.weight.unwrap_or(1.0),
                alpha: None,
                points: given.points.clone(),
                limit_pps: limit_pps(&flow.traffic),
                loss: 0.0,
                round_trip_s: 0.0,
                propagation_s: 0.0,
                payload_bits: flow.traffic.payload().bits() as f64,
                size_bits: flow.traffic.size().bits() as f64,
            };
            match (given.alpha, of_all) {
                _ if seen.points.is_some() => (),
                (None, Some(of_all)) => (seen.alpha, seen.points) = (of_all.alpha, of_all.points.clone()),
                (own, _) => seen.alpha = Some(own.unwrap_or(ALPHA)),
            }
            for hop in flow.data_path().windows(2) {
                let link = Link { from: hop[0], to: hop[1] };
                let by_noise = noise_loss(network, link, flow.traffic.size());
                seen.loss += loss(network, link) + by_noise.residual;
                let wire = network.wires.iter().find(|w| (w.from, w.to) == (link.from, link.to));
                let (place, load) = if let Some(wire) = wire {
                    seen.propagation_s += 2.0 * wire.delay.as_secs_f64();
                    let place = wires.iter().position(|&w| w == link).unwrap_or_else(|| {
                        links.push(format!("{}={}", network.name(link.from), network.name(link.to)));
                        wires.push(link);
                        wires.len() - 1
                    });
                    (bare.len() + place, wire.rate.time_for(flow.traffic.size()))
                } else {
                    let place = bare.iter().position(|&l| l == link).expect("links come from the flows");
                    (place, airtime_of(network, link, &flow.traffic).mul_f64(by_noise.attempts))
                };
                seen.round_trip_s += load.as_secs_f64();
                // A way that crosses a link twice loads it twice.
                match seen.loads.iter_mut().find(|(l, _)| *l == place) {
                    Some((_, sum)) => *sum += load.as_secs_f64(),
                    None => seen.loads.push((place, load.as_secs_f64())),
                }
            }
            seen.round_trip_s += seen.propagation_s;
            flows.push(seen);
        }
        let domains = self.domains(&bare);
        Ok(Theory { links, conflicts: layout.conflicts.clone(), domains, flows })
    }
}

impl Resolved {
    /// The links that share a collision domain. [Jam10] section 4.1.2: a domain is a link's neighbours in the link-contention graph,
    /// "modulo the definition of contend", which is transmission range there. Conflicts that are given are that graph themselves.
    fn domains(&self, links: &[Link]) -> ConflictGraph {
        if self.settings.links.is_empty() {
            self.network().medium.collision_domains(links)
        } else {
            self.layout().conflicts.clone()
        }
    }

    /// The theory of the scenario where the time of a packet counts back-off, too: `B` of [Jam10] eq. (4.6) is the rate of one
    /// hop, with a mean back-off before each data frame and before each TCP acknowledgement. Over any MAC but DCF with a window
    /// of its own none is counted.
    ///
    /// # Errors
    /// As [`Self::theory`].
    pub fn theory_with_backoff(&self) -> Result<Theory, Failure> {
        let (mut theory, layout) = (self.theory()?, self.layout());
        let backoff_s = |node: u32| self.mean_backoff(node).as_secs_f64();
        let capacity = self.settings.domain_capacity.unwrap_or(1.0);
        for (flow, seen) in self.network().flows.iter().zip(&mut theory.flows) {
            let frames = frames_per_packet(&flow.traffic);
            for hop in flow.data_path().windows(2) {
                let place = layout.links.iter().position(|(_, l)| [l.from, l.to] == *hop);
                if let Some((_, load)) = seen.loads.iter_mut().find(|(l, _)| Some(*l) == place) {
                    *load += backoff_s(hop[0]) + (frames - 1.0) * backoff_s(hop[1]);
                }
            }
            // A domain that carries less is full earlier.
            let air = seen.loads.iter_mut().filter(|(link, _)| *link < layout.links.len());
            air.for_each(|(_, load)| *load /= capacity);
        }
        Ok(theory)
    }

    /// DCF's mean back-off at a node before a frame that nothing disturbs.
    pub(crate) fn mean_backoff(&self, node: u32) -> Duration {
        match (self.network().mac, self.network().backoff_of(node)) {
            (
                MacSpec::Dcf { timing, .. },
                &BackoffParams::Dcf(DcfParams { window_min: Some(window), .. }),
            ) => timing.slot.mul_f64(f64::from(window) / 2.0),
            _ => Duration::ZERO,
        }
    }
}

/// Frames that contend for the air, a packet on one hop, with its TCP acknowledgement.
fn frames_per_packet(traffic: &Traffic) -> f64 {
    match traffic.tcp() {
        Some(tcp) if tcp.acknowledge == AckPolicy::EachSegment => 2.0,
        Some(_) => 1.5,
        None => 1.0,
    }
}

fn limit_pps(traffic: &Traffic) -> f64 {
    let per = |interval: Duration| 1.0 / interval.as_secs_f64();
    match traffic {
        Traffic::Tcp(_) | Traffic::Tfrc(_) => match traffic.source() {
            Some(Source::Paced(interval)) => per(interval),
            _ => f64::INFINITY,
        },
        Traffic::Datagrams { pattern, .. } => match pattern {
            Pattern::Saturated => f64::INFINITY,
            Pattern::Constant { interval, .. } | Pattern::Poisson { interval, .. } => per(*interval),
            Pattern::OnOff { interval, on, off } => {
                per(*interval) * on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64())
            }
        },
        // Its replies, in full segments; its requests are small beside them.
        Traffic::Web(web) => {
            f64::from(web.reply.count()) / f64::from(web.tcp.payload.count()) * per(web.interval)
        }
        // A rated flow's own limit is a guard, not an offer; the rate from outside is not known.
        Traffic::Rated(_) | Traffic::Outside(_) => f64::INFINITY,
    }
}

/// The airtime that one packet costs on a link, with its TCP acknowledgement; the mean, where sizes are drawn.
fn airtime_of(network: &NetworkSpec, link: Link, traffic: &Traffic) -> Duration {
    if let Some(mix) = traffic.mix() {
        let (sum, count) = mix
            .sizes()
            .fold((Duration::ZERO, 0), |(sum, count), size| (sum + airtime(network, link, size), count + 1));
        return sum / count;
    }
    let data = airtime(network, link, traffic.size());
    let Some(tcp) = traffic.tcp() else { return data };
    let answer = airtime(network, link.reversed(), tcp.plain_headers());
    // A delayed acknowledgement answers two segments.
    data + if tcp.acknowledge == AckPolicy::EachSegment { answer } else { answer / 2 }
}

/// The cost of a link's noise, without interference: the mean number of attempts for each packet that is delivered, and the
/// probability that a packet is given up.
struct NoiseLoss {
    attempts: f64,
    residual: f64,
}

/// The least part of its attempts that a link is taken to deliver: a dead link has next to no capacity, and not none.
const DELIVERED_MIN: f64 = 1e-4;

/// The cost of noise on a link to a packet of so many bytes of the network layer. Each attempt fails alone, and answers are not lost.
fn noise_loss(network: &NetworkSpec, link: Link, size: Bytes) -> NoiseLoss {
    let none = NoiseLoss { attempts: 1.0, residual: 0.0 };
    let Some(loss) = network.noise_loss(link.from, link.to, size) else { return none };
    let tries = match (&network.aggregation, network.mac) {
        (Some(staging), _) => staging.limits.tries.map(i32::from),
        (None, MacSpec::Dcf { rules, .. }) => i32::try_from(rules.short_retry_limit).ok(),
        (None, MacSpec::Ideal) => return none,
    };
    let residual = tries.map_or(0.0, |tries| loss.powi(tries));
    // Of n tries (1 - lossⁿ) / (1 - loss) are made for a packet, and it is delivered with probability 1 - lossⁿ.
    NoiseLoss { attempts: 1.0 / (1.0 - loss).max(DELIVERED_MIN), residual }
}

/// The probability with which a link loses a packet from the start, where it is one number.
fn loss(network: &NetworkSpec, link: Link) -> f64 {
    let own = network.losses.iter().find(|l| (l.from, l.to) == (link.from, link.to));
    match own.and_then(|l| l.schedule.first()) {
        Some((_, LossModel::Frames(p))) => p.value(),
        _ => 0.0,
    }
}
