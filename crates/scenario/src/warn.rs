//! Settings that are allowed and hardly meant.

use crate::language::LimitRate;
use crate::resolved::Resolved;
use evenair_laws::gateway::GatewayParams;
use evenair_netsim::{FlowSpec, MacSpec, Pattern, Shaping, Traffic};
use evenair_units::{Bytes, Duration, Rate};
use evenair_wifi::MacTiming;
use std::collections::BTreeMap;

/// The largest MSDU (IEEE 802.11-2016 clause 9.2.4.7.1) \[bytes\], of which LLC and SNAP take 8.
const MSDU_BYTES_MAX: u32 = 2304;
const LLC_BYTES: u32 = 8;
/// The time that ns-2's time-out leaves for propagation there and back.
const NS2_ROUND_TRIP: Duration = Duration::from_micros(4);

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
        let all = of_frames.into_iter().chain([self.too_generous(), self.in_step()]).flatten();
        all.chain(self.without_effect()).collect()
    }

    /// A gateway that lets through what is configured, and that is more than its own links of the air carry: nothing ever waits for
    /// all together.
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

    /// Links whose acknowledgements come after the time-out.
    fn too_far(&self, timing: &MacTiming, allowed: Duration, is_standard: bool) -> Option<String> {
        let delay = |link: evenair_topology::Link| {
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
