//! A survey of a path: stretches of time with probes, at rest and under loads, and the observations in each.
//!
//! A [`Carrier`] carries the loads and keeps the clock; this module chooses the loads and their order.

use super::Returned;
use evenair_units::{Duration, Instant, Rate};
use serde::Serialize;
use std::fmt;

/// A load, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Load {
    /// The number of connections that always have data to send; 0 is a path at rest.
    pub connections: u32,
    /// Their congestion control, by Linux' name; the system's default if not given.
    pub congestion_control: Option<String>,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let control = self.congestion_control.as_deref().unwrap_or("TCP");
        match self.connections {
            0 => f.write_str("at rest"),
            1 => write!(f, "1 {control}"),
            n => write!(f, "{n} {control}"),
        }
    }
}

/// A probe of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The time of sending, since the stretch began \[s\].
    pub at_s: f64,
    /// The time there and back \[s\]; none, if it was lost.
    pub round_trip_s: Option<f64>,
}

/// The observations in one stretch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stretch {
    /// The load.
    pub load: Load,
    /// The probes, in the order of sending.
    pub samples: Vec<Sample>,
    /// Bytes per time that the other side acknowledged, after the connections' start \[bit/s\].
    pub goodput_bps: f64,
    /// Segments that the connections sent, and those sent again among them.
    pub sent: u64,
    /// See `sent`.
    pub again: u64,
}

impl Stretch {
    /// Returns the share of the segments that was sent again; none without a load.
    pub fn again_share(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.again as f64 / self.sent as f64)
    }

    /// Returns the round trips of the returned probes, sorted \[s\].
    pub fn round_trips(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.samples.iter().filter_map(|sample| sample.round_trip_s).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Returns the number of lost probes.
    pub fn lost(&self) -> usize {
        self.samples.iter().filter(|sample| sample.round_trip_s.is_none()).count()
    }
}

/// Merges the sent probes of a stretch and the returned ones into one list; `sent` has each one's number and
/// time.
pub fn samples(began: Instant, sent: &[(u64, Instant)], returned: &[Returned]) -> Vec<Sample> {
    let round_trip = |number| {
        let back = returned.iter().find(|back| back.number == number)?;
        Some(back.round_trip.as_secs_f64())
    };
    let sample = |&(number, at): &(u64, Instant)| Sample {
        at_s: at.since(began).as_secs_f64(),
        round_trip_s: round_trip(number),
    };
    sent.iter().map(sample).collect()
}

/// Carries loads over a path, and probes it at the same time.
pub trait Carrier {
    /// The reason why a stretch failed.
    type Error;
    /// Returns the congestion controls that it may choose.
    fn congestion_controls(&self) -> Vec<String>;
    /// Keeps a load on the path for a time, and observes; the load has ended when this returns.
    ///
    /// # Errors
    /// If the path is gone, or a connection fails.
    fn stretch(&mut self, load: &Load, time: Duration) -> Result<Stretch, Self::Error>;
}

/// The durations of a survey's stretches \[s\].
const REST_S: u64 = 7;
const LOADED_S: u64 = 6;
/// The smaller number of parallel connections.
pub const SEVERAL: u32 = 4;
/// The larger number of parallel connections.
pub const MANY: u32 = 8;

/// Returns the loads of a survey with their durations: half a minute in all.
pub fn plan(controls: &[String]) -> Vec<(Load, Duration)> {
    let has = |name: &str| controls.iter().any(|control| control == name);
    let loss_based = ["cubic", "reno"].into_iter().find(|name| has(name)).map(String::from);
    let load = |connections, control: Option<&str>| Load {
        connections,
        congestion_control: control.map(String::from).or_else(|| loss_based.clone()),
    };
    let rest = Load { connections: 0, congestion_control: None };
    let mut plan = vec![(rest, Duration::from_secs(REST_S))];
    let loads = [
        Some(load(1, None)),
        Some(load(SEVERAL, None)),
        Some(load(MANY, None)),
        has("bbr").then(|| load(1, Some("bbr"))),
    ];
    plan.extend(loads.into_iter().flatten().map(|load| (load, Duration::from_secs(LOADED_S))));
    plan
}

/// Makes a survey; calls `tells` before and after each stretch.
///
/// # Errors
/// If the carrier fails.
pub fn survey<C: Carrier>(
    carrier: &mut C,
    mut tells: impl FnMut(&Load, Option<&Stretch>),
) -> Result<Vec<Stretch>, C::Error> {
    let mut stretches = Vec::new();
    for (load, time) in plan(&carrier.congestion_controls()) {
        tells(&load, None);
        let stretch = carrier.stretch(&load, time)?;
        tells(&load, Some(&stretch));
        stretches.push(stretch);
    }
    Ok(stretches)
}

/// Returns a goodput for printing.
pub fn rate(bps: f64) -> Rate {
    Rate::from_bps(bps.max(0.0) as u64) // saturates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survey_takes_half_a_minute_and_ends_with_bbr() {
        let controls = ["reno", "cubic", "bbr"].map(String::from);
        let planned = plan(&controls);
        let words: Vec<String> = planned.iter().map(|(load, _)| load.to_string()).collect();
        assert_eq!(words, ["at rest", "1 cubic", "4 cubic", "8 cubic", "1 bbr"]);
        let seconds: f64 = planned.iter().map(|(_, time)| time.as_secs_f64()).sum();
        assert!((30.0..=32.0).contains(&seconds), "{seconds}");
        assert_eq!(plan(&["reno".into()]).len(), 4);
        assert_eq!(plan(&["reno".into()])[1].0.to_string(), "1 reno");
    }

    #[test]
    fn probe_without_reply_is_loss_at_its_place() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let sent = [(5, at(100)), (6, at(200)), (7, at(300))];
        let back =
            |number, sent, ms| Returned { number, sent, round_trip: Duration::from_millis(ms), there_ns: 0 };
        let samples = samples(at(100), &sent, &[back(7, at(300), 30), back(5, at(100), 20)]);
        let times: Vec<Option<f64>> = samples.iter().map(|sample| sample.round_trip_s).collect();
        assert_eq!(times, [Some(0.02), None, Some(0.03)]);
        assert!((samples[2].at_s - 0.2).abs() < 1e-12);
    }
}
