//! Settings that are allowed and hardly meant.

mod intervals;

use crate::language::{LimitRate, LinkTable};
use crate::resolved::Resolved;
use evenair_laws::gateway::GatewayParams;
use evenair_netsim::{FlowSpec, MacSpec, Pattern, Shaping, Traffic};
use evenair_topology::Link;
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::MacTiming;
use std::collections::BTreeMap;

/// The largest MSDU (IEEE 802.11-2016 clause 9.2.4.7.1) \[bytes\], of which LLC and SNAP take 8.
const MSDU_BYTES_MAX: u32 = 2304;
const LLC_BYTES: u32 = 8;
/// The time that ns-2's time-out leaves for propagation there and back.
const NS2_ROUND_TRIP: Duration = Duration::from_micros(4);

/// The most pairs that a warning names.
const ADDED_NAMED: usize = 8;

/// A node that is an end of both links.
fn shared_end<'a>(a: &'a LinkTable, b: &LinkTable) -> Option<&'a str> {
    [&a.from, &a.to].into_iter().find(|node| **node == b.from || **node == b.to).map(String::as_str)
}

fn is_pair(pair: &[String; 2], a: &str, b: &str) -> bool {
    pair[0] == a && pair[1] == b || pair[0] == b && pair[1] == a
}

impl Resolved {
    /// The settings that run as they are described, and are hardly meant so: each with its remedy.
    pub fn warnings(&self) -> Vec<String> {
        let of_frames = if let MacSpec::Dcf { timing, rules } = self.network().mac {
            let allowed = if rules.hears_out_answers { timing.round_trip_max() } else { NS2_ROUND_TRIP };
            let is_standard = rules.hears_out_answers;
            [self.too_far(&timing, allowed, is_standard), self.too_large(is_standard)]
        } else {
            [None, None]
        };
        let others = [self.too_generous(), self.in_step(), self.conflicts_added(), self.too_often()];
        let all = of_frames.into_iter().chain(others).flatten();
        all.chain(self.without_effect()).collect()
    }

    /// A gateway with a configured rate above that of its own links of the air: no queue for all together ever builds up.
    fn too_generous(&self) -> Option<String> {
        let (spec, given) = (self.network().gateway.as_ref()?, self.settings.gateway.as_ref()?);
        let key = match (&given.rate, &given.law) {
            (Some(LimitRate::Fixed(_)), _) => "gateway.rate",
            (_, Some(GatewayParams::Fixed(law))) if law.rate.is_some() || !law.rates.is_empty() => {
                "gateway.law"
            }
            _ => return None,
        };
        // Its links share one radio; over a wire there is no such bound.
        let links: Option<Vec<Rate>> = spec.classes.iter().map(|class| class.role.link_rate).collect();
        let (fastest, total) = (links?.into_iter().max()?, spec.at_start().total);
        let what = match spec.shaper {
            Shaping::Aggregate | Shaping::AggregateFair => "so that it holds nothing back",
            Shaping::PerClass => "so that it does not hold back subscribers that all send at once",
        };
        (total > fastest).then(|| {
            format!(
                "{key}: {total} are more than the {fastest} that the gateway's own links carry, one full packet after the other, {what}: make it less, or let a law find it"
            )
        })
    }

    /// Periodic flows of one interval, from fixed instants on: how their packets meet is the same in every seed, be it never.
    fn in_step(&self) -> Option<String> {
        let periodic = |flow: &FlowSpec| match flow.traffic {
            Traffic::Datagrams { pattern: Pattern::Constant { interval, jitter: 0.0 }, .. } => {
                flow.start_jitter.is_zero().then_some(interval)
            }
            _ => None,
        };
        let mut by_interval: BTreeMap<Duration, Vec<&str>> = BTreeMap::new();
        for flow in &self.network().flows {
            if let Some(interval) = periodic(flow) {
                by_interval.entry(interval).or_default().push(&flow.name);
            }
        }
        let (interval, names) = by_interval.into_iter().find(|(_, names)| names.len() > 1)?;
        let others = if names.len() > 2 { format!(" (and {} more)", names.len() - 2) } else { String::new() };
        Some(format!(
            "flows \"{}\" and \"{}\"{others} send every {interval}, one always as long after the other, in every seed: whether their packets meet is decided by their starts alone; give them start_jitter = \"{interval}\", or a jitter",
            names[0], names[1]
        ))
    }

    /// Links that conflict though the scenario's pairs do not say so. Nodes hear, not links: one that must be silent for the sake of a
    /// link is so for all its links, in the packet world, and the theory is of the same network. That links which share a node
    /// conflict goes without saying.
    pub fn conflicts_added(&self) -> Option<String> {
        let (given, pairs) = (self.settings.links.here(), self.settings.conflicts.here());
        let place = |link: &Link| {
            let name = |node: u32| self.network().name(node);
            let (from, to) = (name(link.from), name(link.to));
            given.iter().find(|l| [&l.from, &l.to] == [from, to] || [&l.to, &l.from] == [from, to])
        };
        let in_use: Vec<&LinkTable> =
            self.layout().links.iter().filter_map(|(_, link)| place(link)).collect();
        if given.is_empty() || in_use.len() < self.layout().links.len() {
            return None;
        }
        let said = |a: &LinkTable, b: &LinkTable| {
            shared_end(a, b).is_some() || pairs.iter().any(|p| is_pair(p, &a.id, &b.id))
        };
        let all = || (0..in_use.len()).flat_map(|l| (l + 1..in_use.len()).map(move |m| (l, m)));
        let conflicts = &self.layout().conflicts;
        let added: Vec<(usize, usize)> =
            all().filter(|&(l, m)| conflicts.conflict(l, m) && !said(in_use[l], in_use[m])).collect();
        // A reason is looked for among all pairs: for those that are named alone.
        let named = added.iter().take(ADDED_NAMED).map(|&(l, m)| {
            let (a, b) = (in_use[l], in_use[m]);
            format!("\"{}\" and \"{}\" ({})", a.id, b.id, self.why_they_conflict(a, b))
        });
        let named = named.collect::<Vec<String>>().join(", ");
        let more = added.len().saturating_sub(ADDED_NAMED);
        let more = if more > 0 { format!(" and {more} more pairs") } else { String::new() };
        (!added.is_empty()).then(|| {
            format!(
                "these links conflict although conflicts does not list them: {named}{more}: carrier sense is a node's, for all its links; add the pairs, or give the links separate nodes"
            )
        })
    }

    /// The reason of a conflict between links that share no node and are no pair.
    fn why_they_conflict(&self, a: &LinkTable, b: &LinkTable) -> String {
        let (given, pairs) = (self.settings.links.here(), self.settings.conflicts.here());
        if let Some(link) = given.iter().find(|l| shared_end(l, a).is_some() && shared_end(l, b).is_some()) {
            return format!("link \"{}\" joins their ends", link.id);
        }
        let by_id = |id: &String| given.iter().find(|l| l.id == *id);
        let through =
            pairs.iter().flat_map(|[one, other]| [[one, other], [other, one]]).find_map(|[one, other]| {
                let (one, other) = (by_id(one)?, by_id(other)?);
                Some(([one, other], [shared_end(a, one)?, shared_end(b, other)?]))
            });
        let Some(([one, other], [end, far])) = through else { return "their ends hear each other".into() };
        let of = |link: &LinkTable, with: &LinkTable, node: &str| {
            if link.id == with.id {
                None
            } else {
                Some(format!("node \"{node}\" is an end of \"{}\"", with.id))
            }
        };
        let ends: Vec<String> = [of(a, one, end), of(b, other, far)].into_iter().flatten().collect();
        format!("{}, and \"{}\" conflicts with \"{}\"", ends.join(" and "), one.id, other.id)
    }

    /// IEEE 802.11 carries no packet that large; ns-2 does.
    fn too_large(&self, is_standard: bool) -> Option<String> {
        let size = self.network.surroundings.packet.size;
        let most = Bytes::new(MSDU_BYTES_MAX - LLC_BYTES);
        (is_standard && !self.layout().links.is_empty() && size > most).then(|| {
            format!(
                "packets of {size} are larger than the {most} that an 802.11 frame carries (MSDU of {MSDU_BYTES_MAX} bytes); they are sent all the same, as ns-2 would: make tcp.payload or the flows' size smaller"
            )
        })
    }

    /// Links with acknowledgements that come after the time-out.
    fn too_far(&self, timing: &MacTiming, allowed: Duration, is_standard: bool) -> Option<String> {
        let delay = |link: Link| {
            self.network()
                .medium
                .hearing(link.from as usize, link.to as usize)
                .map_or(Duration::ZERO, |ear| ear.delay)
        };
        let far = self.layout().links.iter().filter(|(_, link)| delay(*link) * 2 > allowed);
        let (name, link) = far.clone().max_by_key(|(_, link)| delay(*link))?;
        let round_trip = delay(*link) * 2;
        let others = match far.count() {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        let late = round_trip - allowed;
        let what = format!(
            "link {name}{others} is too long for the ACK time-out of {}: there and back its signals take {round_trip}, {late} too long, so that every frame is repeated until it is given up",
            timing.answer_timeout
        );
        if !is_standard {
            return Some(format!("{what}, as in ns-2; the standard preset has mac.ack_timeout"));
        }
        // A class is 3 µs there and back.
        let class = round_trip.as_nanos().div_ceil(3_000);
        let remedy = if class <= u64::from(crate::resolved::COVERAGE_CLASS_MAX) {
            format!("set mac.ack_timeout = \"distance\", or mac.coverage_class = {class}")
        } else {
            "set mac.ack_timeout = \"distance\"".into()
        };
        Some(format!("{what}; {remedy}"))
    }
}
