//! E-MULTCP on a path of its own in closed form: [CZ06] section IV-C and Fig 3, as a world beside packets and fluid.
//!
//! The path is full at n* connections, each at the rate of (8): `n* = x·T·√(ε/2)`, x the path's capacity \[packets/s\]. Between
//! βn* and n* `n` climbs as (20) does and falls at once; the goodput is proportional, so its mean is (21) of the capacity.

use crate::world::{blank, set_rates};
use evenair_laws::connections::iimd::sawtooth;
use evenair_laws::connections::{ConnectionParams, IimdParams};
use evenair_netsim::{FlowSeries, Series, Traffic};
use evenair_results::{RecordOptions, RunRecord};
use evenair_scenario::{Resolved, TheoryFlow};
use evenair_units::Duration;

/// One run: it knows no chance.
pub(crate) fn run(scenario: &Resolved, options: RecordOptions) -> Result<RunRecord, String> {
    let theory = scenario.theory().map_err(|e| e.to_string())?;
    let teeth: Vec<Tooth> = theory
        .flows
        .iter()
        .zip(&scenario.network().flows)
        .map(|(seen, flow)| Tooth::of(seen, &flow.traffic))
        .collect::<Result<_, _>>()?;
    let mut record = blank(scenario, &theory);
    let rates: Vec<f64> = teeth.iter().map(|tooth| tooth.most_pps * sawtooth::used(&tooth.params)).collect();
    set_rates(&mut record, &theory, &rates);
    for (flow, (tooth, seen)) in record.flows.iter_mut().zip(teeth.iter().zip(&theory.flows)) {
        flow.connections = tooth.peak * sawtooth::used(&tooth.params);
        flow.round_trip_s = Some(seen.round_trip_s);
    }
    let settings = scenario.settings();
    let every = options.every.unwrap_or(Duration::from_secs(1)).as_secs_f64();
    let end = (settings.warmup.0 + settings.duration.0).as_secs_f64();
    let time_s: Vec<f64> = (1..=(end / every) as u32).map(|i| f64::from(i) * every).collect();
    let flow = |(tooth, seen): (&Tooth, &TheoryFlow)| {
        let connections: Vec<f64> =
            time_s.iter().map(|&t| sawtooth::connections(&tooth.params, tooth.peak, t)).collect();
        FlowSeries {
            flow: seen.name.clone(),
            goodput_pps: connections.iter().map(|n| n / tooth.peak * tooth.most_pps).collect(),
            congestion_window: vec![0.0; time_s.len()],
            round_trip_s: vec![seen.round_trip_s; time_s.len()],
            connections,
            ..FlowSeries::default()
        }
    };
    record.series = options.series.then(|| Series {
        flows: teeth.iter().zip(&theory.flows).map(flow).collect(),
        links: Vec::new(),
        time_s: time_s.clone(),
    });
    Ok(record)
}

/// One flow's sawtooth.
struct Tooth {
    params: IimdParams,
    /// n*.
    peak: f64,
    /// The packets of a full path that arrive \[packets/s\].
    most_pps: f64,
}

impl Tooth {
    fn of(seen: &TheoryFlow, traffic: &Traffic) -> Result<Self, String> {
        let law = if let Traffic::Tcp(tcp) = traffic { tcp.connections.as_ref() } else { None };
        let Some(&ConnectionParams::Iimd(params)) = law else {
            return Err(format!("flow {} has no sawtooth: its law of connections is not iimd", seen.name));
        };
        let longest_s = seen.loads.iter().map(|&(_, airtime_s)| airtime_s).fold(0.0, f64::max);
        if seen.loss <= 0.0 || longest_s <= 0.0 {
            return Err(format!("flow {} has no sawtooth: its path loses nothing", seen.name));
        }
        let full_pps = 1.0 / longest_s;
        let peak = full_pps * seen.round_trip_s * (seen.loss / 2.0).sqrt(); // [CZ06] eq. (8)
        Ok(Self { params, peak, most_pps: full_pps * (1.0 - seen.loss) })
    }
}
