//! A quantity to measure: a metric, of which of a flow's queues, as which statistic over which time.

mod statistic;
mod words;

pub use statistic::{Percent, Statistic};

use crate::metric::Metric;
use evenair_results::RunRecord;
use evenair_units::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

/// Which of a flow's packets, and so which of its queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// Its data: the queue at its source.
    #[default]
    Data,
    /// Its acknowledgements: the queue at its destination that carries them.
    Acks,
}

/// A quantity to measure.
///
/// The mean over all of the measured time is the run's own: of samples for queues and windows, of packets for round
/// trips, of deliveries for goodput. Other statistics come from the time series, each sample weighted with the time since
/// the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    /// The metric.
    pub metric: Metric,
    /// The statistic that its course over time is reduced to.
    pub statistic: Statistic,
    /// Which of the flow's packets.
    pub of: Of,
    /// From when on, in simulated time; from the warm-up's end, if it is not given.
    pub from: Option<Duration>,
    /// Until when; to the end, if it is not given.
    pub to: Option<Duration>,
}

impl From<Metric> for Quantity {
    fn from(metric: Metric) -> Self {
        Self { metric, statistic: Statistic::Mean, of: Of::Data, from: None, to: None }
    }
}

impl Quantity {
    /// Whether it is taken from time series: a statistic of them, or a change in them.
    pub(crate) fn needs_series(&self) -> bool {
        self.is_over_time() || self.metric == Metric::Efficiency || self.metric.is_of_window()
    }

    /// Whether it is a statistic of a course over time, or of a part of it.
    pub(crate) fn is_over_time(&self) -> bool {
        let of_means = matches!(self.statistic, Statistic::Mean | Statistic::Spread);
        let over_time = !of_means && self.percentile_of_times().is_none();
        over_time || self.from.is_some() || self.to.is_some()
    }

    /// Which percentile it is, as a share, if it is one of times that are kept each: how long data took, and not how that mean moved.
    pub(crate) fn percentile_of_times(&self) -> Option<f64> {
        match self.statistic {
            Statistic::Percentile(percent) if self.metric.has_times() => Some(percent.share()),
            _ => None,
        }
    }

    /// Whether each segment or packet has to be followed for it.
    pub(crate) fn needs_times(&self) -> bool {
        self.percentile_of_times().is_some() || matches!(self.metric, Metric::Delay | Metric::Jitter)
    }

    /// The kind of number in the column of all flows together; it stands in the place of a flow's name.
    pub fn over_flows_name(&self) -> &'static str {
        let all = self.percentile_of_times().is_some() || self.statistic == Statistic::Spread;
        if all { "all" } else { self.metric.over_flows_name() }
    }

    /// Says why it makes no sense, if it does not.
    pub(crate) fn mistake(&self, flow: Option<&str>) -> Option<String> {
        let of_acks = matches!(
            self.metric,
            Metric::Aggressiveness
                | Metric::Backlog
                | Metric::Drops
                | Metric::EarlyDrops
                | Metric::FrameCollisions
                | Metric::FrameLoss
                | Metric::Loss
                | Metric::Lost
                | Metric::Overflows
                | Metric::QueueingDelay
                | Metric::Waiting
        );
        if self.of == Of::Acks && !of_acks {
            return Some(format!("{} has nothing to do with acknowledgements", self.metric.name()));
        }
        if self.statistic == Statistic::Spread && !self.metric.is_of_flows() {
            return Some(format!("{self}: {} is one of the network, not of its flows", self.metric.name()));
        }
        if self.statistic == Statistic::Spread && flow.is_some_and(|flow| !flow.contains(['*', '.'])) {
            return Some(format!("{self} is of several flows: write A..C or A-*"));
        }
        if !self.is_over_time() {
            return None;
        }
        if self.percentile_of_times().is_some() {
            return Some(format!(
                "{self}: percentiles of {} are of all of the measured time",
                self.metric.name()
            ));
        }
        let of_window = self.metric.is_of_window() && self.statistic == Statistic::Mean;
        if !self.metric.has_series() && !of_window {
            return Some(format!("{self}: {} has no time series", self.metric.name()));
        }
        if self.of == Of::Acks && matches!(self.metric, Metric::Loss | Metric::QueueingDelay) {
            return Some(format!("{self}: the time series is of the data alone"));
        }
        if flow.is_none() && !of_window {
            return Some(format!("{self} is of one flow: name it"));
        }
        let (from, to) = (self.from.unwrap_or(Duration::ZERO), self.to.unwrap_or(Duration::MAX));
        (from >= to).then(|| format!("{self} ends before it begins"))
    }

    /// The least and the greatest that it can be.
    pub(crate) fn bounds(&self) -> (f64, f64) {
        match self.statistic {
            Statistic::Deviation | Statistic::Spread => (0.0, f64::INFINITY),
            _ => self.metric.bounds(),
        }
    }

    /// A label with its unit.
    pub fn label(&self) -> String {
        let mut label = self.metric.label().to_string();
        if self.of == Of::Acks {
            label += match self.metric {
                Metric::Loss | Metric::Lost | Metric::QueueingDelay => ", acknowledgements",
                _ => " of the acknowledgements' queue",
            };
        }
        label += &match self.statistic {
            Statistic::Mean => String::new(),
            Statistic::Deviation => ", standard deviation over time".into(),
            Statistic::Least => ", least".into(),
            Statistic::Greatest => ", greatest".into(),
            Statistic::Spread => ", standard deviation between flows".into(),
            Statistic::Percentile(percent) if self.is_over_time() => format!(", {percent} % of the time"),
            Statistic::Percentile(percent) => format!(", {percent} % within"),
        };
        match (self.from, self.to) {
            (None, None) => label,
            (from, to) => {
                let second = |time: Option<Duration>| {
                    time.map_or_else(String::new, |t| format!(" {} s", t.as_secs_f64()))
                };
                let (from, to) = (second(from), second(to));
                let word = |word: &str, time: &str| {
                    if time.is_empty() { String::new() } else { format!(" {word}{time}") }
                };
                label + "," + &word("from", &from) + &word("to", &to)
            }
        }
    }

    /// Its course over the whole run, of one flow: when, and how much; no number where there was nothing to measure.
    pub(crate) fn course<'a>(&self, run: &'a RunRecord, flow: usize) -> Option<(&'a [f64], Vec<f64>)> {
        let series = run.series.as_ref()?;
        let columns = series.flows.get(flow)?;
        let result = &run.flows[flow];
        let link = || {
            let queue = self.queue(run, flow)?;
            series.links.iter().find(|l| l.queue == queue)
        };
        let values = match self.metric {
            Metric::Goodput => columns.goodput_pps.clone(),
            Metric::GoodputKbps => {
                let kilobits = f64::from(result.unit_bytes) * 8.0 / 1e3;
                columns.goodput_pps.iter().map(|x| x * kilobits).collect()
            }
            Metric::Connections => columns.connections.clone(),
            Metric::RoundTrip => columns.round_trip_s.clone(),
            Metric::CongestionWindow => columns.congestion_window.clone(),
            Metric::Aggressiveness => link()?.aggressiveness.clone(),
            Metric::Backlog => link()?.backlog.clone(),
            Metric::Delay => filled(&columns.delay_s),
            Metric::Loss => filled(&columns.loss),
            Metric::QueueingDelay => filled(&columns.queueing_delay_s),
            Metric::Waiting => filled(&link()?.waiting_s),
            _ => return None,
        };
        (values.len() == series.time_s.len()).then_some((&series.time_s, values))
    }

    /// The queue that it is about.
    pub(crate) fn queue<'a>(&self, run: &'a RunRecord, flow: usize) -> Option<&'a str> {
        let flow = run.flows.get(flow)?;
        match self.of {
            Of::Data => Some(&flow.queue),
            Of::Acks => flow.ack_queue.as_deref(),
        }
    }

    /// Its statistic over its time, of one flow; `warmup` is where the measured time begins.
    pub(crate) fn over_time(&self, run: &RunRecord, flow: usize, warmup: Duration) -> Option<f64> {
        let (times, values) = self.course(run, flow)?;
        let from = self.from.unwrap_or(warmup).as_secs_f64();
        let to = self.to.map_or(f64::INFINITY, Duration::as_secs_f64);
        let before = std::iter::once(&0.0).chain(times);
        // (value, weight): a sample speaks for the time since the one before.
        let samples: Vec<(f64, f64)> = times
            .iter()
            .zip(before)
            .zip(&values)
            .filter(|((at, _), value)| **at > from && **at <= to && value.is_finite())
            .map(|((at, before), value)| (*value, at - before))
            .collect();
        let weight: f64 = samples.iter().map(|(_, w)| w).sum();
        if weight <= 0.0 {
            return None;
        }
        let mean = samples.iter().map(|(x, w)| x * w).sum::<f64>() / weight;
        let each = samples.iter().map(|(x, _)| *x);
        Some(match self.statistic {
            Statistic::Mean | Statistic::Spread => mean,
            Statistic::Deviation => {
                (samples.iter().map(|(x, w)| (x - mean) * (x - mean) * w).sum::<f64>() / weight).sqrt()
            }
            Statistic::Least => each.fold(f64::INFINITY, f64::min),
            Statistic::Greatest => each.fold(f64::NEG_INFINITY, f64::max),
            Statistic::Percentile(percent) => percentile(samples, percent.share() * weight),
        })
    }
}

/// A column with gaps.
fn filled(column: &[Option<f64>]) -> Vec<f64> {
    column.iter().map(|value| value.unwrap_or(f64::NAN)).collect()
}

/// The least value that samples of this weight do not exceed.
fn percentile(mut samples: Vec<(f64, f64)>, weight: f64) -> f64 {
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0.0;
    let reaches = |(_, w): &&(f64, f64)| {
        below += w;
        below >= weight * (1.0 - 1e-12)
    };
    let last = samples.last().map_or(f64::NAN, |(value, _)| *value);
    samples.iter().find(reaches).map_or(last, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentile_over_time_weighs_by_duration() {
        let samples = || vec![(3.0, 1.0), (1.0, 8.0), (2.0, 1.0)];
        let found = [0.5, 0.8, 0.81, 0.9, 0.91].map(|q| percentile(samples(), q * 10.0));
        assert_eq!(found.map(|value| value as u32), [1, 1, 2, 2, 3]);
    }

    #[test]
    fn meaningless_quantity_is_refused() {
        let why = |word: &str| word.parse::<Quantity>().unwrap().mistake(None).unwrap_or_default();
        assert!(why("ack-delay").contains("nothing to do with acknowledgements"));
        assert!(why("delay-p95@1s..2s").contains("all of the measured time"));
        assert!(why("jain-p95").contains("no time series"));
        assert!(why("ack-queueing-delay@1s..").contains("of the data alone"));
        assert!(why("backlog-p95").contains("name it"));
        assert!(why("jain-spread").contains("one of the network"));
        let one = "goodput-spread".parse::<Quantity>().unwrap().mistake(Some("A"));
        assert!(one.unwrap_or_default().contains("of several flows"));
        assert_eq!((why("delay-p95"), why("ack-waiting-p99")), (String::new(), String::new()));
    }
}
