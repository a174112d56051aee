//! Flows, complete.

use super::web::ResolvedWeb;
use crate::error::Mistake;
use crate::language::{FlowTable, RateUnit, TrafficKind, UtilityTable, Window};
use crate::law;
use crate::quantity::{Amount, PacketCount, Probability, RateQuantity, Size, Time};
use evenair_laws::Parameters;
use evenair_laws::backoff::Category;
use evenair_laws::connections::ConnectionParams;
use evenair_laws::flow::{FlowRole, check_needs};
use evenair_laws::rate::{RateLaw, RateParams};
use evenair_netsim::RatedSpec;
use evenair_optimum::Points;
use evenair_units::{Bytes, Duration, Instant, Rate};
use serde::Serialize;

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedFlow {
    /// Its name.
    pub id: String,
    /// Where its data come from.
    pub from: String,
    /// Where they go; "*" for a broadcast.
    pub to: String,
    /// What it sends.
    #[serde(flatten)]
    pub sends: Sends,
    /// When it is active.
    #[serde(flatten)]
    pub activity: Activity,
    /// It starts later by a time that each run draws evenly between zero and this, if it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter: Option<Time>,
    /// The nodes between its ends, where they are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Vec<String>>,
    /// How many connections it keeps, if not what all do.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "law::write_any")]
    pub connections: Option<ConnectionParams>,
    /// The window law of its senders, if not that of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Its receiver hands over in the order of the one stream that its connections share.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resequence: bool,
    /// Its access category; best effort, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// How much it counts in the best allocation; 1, if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The table of its own utility, if not what all have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<[f64; 2]>>,
    /// α of its own utility, if not what all have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

/// The sum of the flows' own utilities.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResolvedUtility {
    /// α of flows that have none of their own; none, where a table is in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
    /// The table of flows that have none of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<[f64; 2]>>,
    /// In what a flow's rate is counted.
    pub unit: RateUnit,
}

/// α of TCP Reno's utility and of `n = kT` connections of it.
pub(crate) const ALPHA: f64 = 2.0;
/// Beyond it numbers of a double's precision say nothing any more.
const ALPHA_MAX: f64 = 50.0;

fn check_alpha(alpha: f64) -> Result<f64, Wrong> {
    if alpha > 0.0 && alpha <= ALPHA_MAX {
        Ok(alpha)
    } else {
        Err(("alpha", format!("{alpha} must be above 0, {ALPHA_MAX} at most")))
    }
}

fn check_points(points: Option<&[[f64; 2]]>, alpha: Option<f64>) -> Result<(), Wrong> {
    let Some(points) = points else { return Ok(()) };
    if alpha.is_some() {
        return Err(("points", "a utility is a table or has an alpha: remove one of them".into()));
    }
    Points::new(points.iter().map(|&[x, u]| (x, u))).map(|_| ()).map_err(|why| ("points", why))
}

impl UtilityTable {
    pub(crate) fn resolve(self) -> Result<ResolvedUtility, Mistake> {
        let wrong = |(key, why): Wrong| Mistake::at(&format!("utility.{key}"), why);
        check_points(self.points.as_deref(), self.alpha).map_err(wrong)?;
        let alpha = if self.points.is_some() { None } else { Some(self.alpha.unwrap_or(ALPHA)) };
        let alpha = alpha.map(check_alpha).transpose().map_err(wrong)?;
        Ok(ResolvedUtility { alpha, points: self.points, unit: self.unit.unwrap_or_default() })
    }
}

/// What a flow sends.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "traffic", rename_all = "kebab-case")]
pub enum Sends {
    /// Data over TCP: so much in all, or as fast as an application produces them, or without end.
    Tcp {
        /// How much in all.
        #[serde(skip_serializing_if = "Option::is_none")]
        transfer: Option<Amount>,
        /// How fast the application produces them.
        #[serde(skip_serializing_if = "Option::is_none")]
        application_rate: Option<RateQuantity>,
    },
    /// Datagrams without end.
    Saturated {
        /// Network-layer size.
        size: Size,
    },
    /// Datagrams at a constant rate.
    Cbr {
        /// Network-layer size.
        size: Size,
        /// How often.
        #[serde(flatten)]
        pace: Pace,
        /// Share of the interval around its mean from which each is drawn.
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter: Option<Probability>,
    },
    /// Datagrams at a constant rate for exponential times, with exponential pauses.
    OnOff {
        /// Network-layer size.
        size: Size,
        /// How often, while on.
        #[serde(flatten)]
        pace: Pace,
        /// Mean time on.
        on: Time,
        /// Mean time off.
        off: Time,
    },
    /// Datagrams at the rate of a law.
    Rated {
        /// Network-layer size.
        size: Size,
        /// The law.
        #[serde(serialize_with = "law::write")]
        rate_law: RateParams,
        /// No faster than this.
        rate_max: RateQuantity,
    },
    /// Datagrams over TFRC.
    Tfrc {
        /// Network-layer size.
        size: Size,
        /// How fast the application produces them.
        #[serde(skip_serializing_if = "Option::is_none")]
        application_rate: Option<RateQuantity>,
    },
    /// Requests and replies over TCP.
    Web {
        /// Which.
        web: ResolvedWeb,
    },
}

/// The fastest source, if nothing else is said: a gigabit interface.
const RATE_MAX: Rate = Rate::from_kbps(1_000_000);

/// How often a datagram is sent, as it was given.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// So many bits a second.
    Rate(RateQuantity),
    /// One in so much time.
    Interval(Time),
}

impl Pace {
    /// Time between datagrams of a size.
    pub fn interval(self, size: Size) -> Duration {
        match self {
            Self::Rate(rate) => rate.0.time_for(size.0),
            Self::Interval(interval) => interval.0,
        }
    }
}

/// When a flow is active.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Activity {
    /// From once on.
    Since {
        /// When it starts.
        start: Time,
        /// When it stops; never, if it is not given.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop: Option<Time>,
    },
    /// In stretches.
    Stretches {
        /// From when to when.
        active: Vec<[Time; 2]>,
    },
}

/// A key and what is wrong with it.
pub(super) type Wrong = (&'static str, String);

impl FlowTable {
    /// `index` is its place among the flows.
    pub(crate) fn resolve(mut self, index: usize, ideal: bool) -> Result<ResolvedFlow, Wrong> {
        let sends = self.sends()?;
        if let Some(weight) = self.weight.filter(|w| !(*w > 0.0 && w.is_finite())) {
            return Err(("weight", format!("{weight} must be above 0")));
        }
        if self.to == "*"
            && (ideal || matches!(self.traffic, TrafficKind::Tcp | TrafficKind::Tfrc | TrafficKind::Web))
        {
            return Err(("to", "a broadcast needs datagrams and an 802.11 MAC".into()));
        }
        let alpha = self.alpha.map(check_alpha).transpose()?;
        check_points(self.points.as_deref(), alpha)?;
        self.start_jitter = self.start_jitter.filter(|jitter| !jitter.0.is_zero());
        let activity = self.activity(index)?;
        let connections = self.complete_connections()?;
        let window = self.window.take();
        let Self { id, from, to, start_jitter, via, resequence, category, weight, points, .. } = self;
        Ok(ResolvedFlow {
            id,
            from,
            to,
            sends,
            activity,
            start_jitter,
            via,
            connections,
            window,
            resequence,
            category,
            weight,
            points,
            alpha,
        })
    }

    fn complete_connections(&self) -> Result<Option<ConnectionParams>, Wrong> {
        let checked = self.connections.clone().map(Parameters::validated).transpose();
        checked.map_err(|error| ("connections", error.to_string()))
    }

    /// The laws of its windows and of its rate are completed; the latter is that of all flows, if it has none.
    pub(crate) fn complete_laws(&mut self, of_all: Option<&RateParams>) -> Result<(), Mistake> {
        self.window = self.window.take().map(|window| window.complete("window")).transpose()?;
        self.rate_law = match self.rate_law.take() {
            Some(law) => Some(law::complete("rate_law", law, &())?),
            None => of_all.filter(|_| self.traffic == TrafficKind::Rated).cloned(),
        };
        Ok(())
    }

    fn sends(&self) -> Result<Sends, Wrong> {
        self.check_kind()?;
        let size = self.size.unwrap_or(Size(Bytes::new(1000)));
        if size.0.count() == 0 {
            return Err(("size", "must be at least 1 byte".into()));
        }
        Ok(match self.traffic {
            TrafficKind::Tcp => {
                let Self { transfer, application_rate, .. } = *self;
                let nothing = [Amount::Packets(PacketCount(0)), Amount::Bytes(0)].map(Some);
                if transfer.is_some() && application_rate.is_some() || nothing.contains(&transfer) {
                    return Err((
                        "transfer",
                        "must be at least 1 byte or segment, and excludes application_rate".into(),
                    ));
                }
                Sends::Tcp { transfer, application_rate }
            }
            TrafficKind::Saturated => Sends::Saturated { size },
            TrafficKind::Cbr => Sends::Cbr { size, pace: self.pace()?, jitter: self.jitter },
            TrafficKind::OnOff => {
                let pace = self.pace()?;
                let (Some(on), Some(off)) = (self.on, self.off) else {
                    return Err(("traffic", "on-off traffic needs its mean times, on and off".into()));
                };
                if on.0.is_zero() || off.0.is_zero() {
                    return Err(("on", "on and off must be longer than no time".into()));
                }
                Sends::OnOff { size, pace, on, off }
            }
            TrafficKind::Rated => {
                let Some(rate_law) = self.rate_law.clone() else {
                    let why = "rated traffic needs the law of its rate: rate_law = \"utility-based\", here or for all flows";
                    return Err(("traffic", why.into()));
                };
                let rate_max = self.rate_max.unwrap_or(RateQuantity(RATE_MAX));
                if rate_max.0.as_bps() == 0 {
                    return Err(("rate_max", "must be above 0".into()));
                }
                let needs = rate_law.begin(&FlowRole { payload: size.0 }).needs();
                let told = check_needs(&needs, RatedSpec::cannot_tell);
                told.map_err(|untold| ("rate_law", untold.to_string()))?;
                Sends::Rated { size, rate_law, rate_max }
            }
            TrafficKind::Web => Sends::Web { web: self.web.unwrap_or_default().resolve()? },
            TrafficKind::Tfrc => Sends::Tfrc { size, application_rate: self.application_rate },
        })
    }

    /// Keys that are for another kind of traffic.
    fn check_kind(&self) -> Result<(), Wrong> {
        let tcp = self.traffic == TrafficKind::Tcp;
        let paced = matches!(self.traffic, TrafficKind::Cbr | TrafficKind::OnOff);
        let on_off = self.traffic == TrafficKind::OnOff;
        let rated = self.traffic == TrafficKind::Rated;
        let web = self.traffic == TrafficKind::Web;
        let connects = tcp || self.traffic == TrafficKind::Tfrc;
        let given = [
            ("size", self.size.is_some(), !tcp && !web, "is for datagrams; TCP has tcp.payload"),
            (
                "rate",
                self.rate.is_some(),
                paced,
                "is for cbr and on-off traffic; a law's is bounded by rate_max",
            ),
            ("interval", self.interval.is_some(), paced, "is for cbr and on-off traffic"),
            ("jitter", self.jitter.is_some(), self.traffic == TrafficKind::Cbr, "is for cbr traffic"),
            (
                "rate_law",
                self.rate_law.is_some(),
                rated,
                "is for rated traffic: set traffic = \"rated\", or remove it",
            ),
            ("rate_max", self.rate_max.is_some(), rated, "is for rated traffic"),
            ("on", self.on.is_some(), on_off, "is for on-off traffic"),
            ("off", self.off.is_some(), on_off, "is for on-off traffic"),
            ("transfer", self.transfer.is_some(), tcp, "is for TCP; nothing else repeats what is lost"),
            ("application_rate", self.application_rate.is_some(), connects, "is for TCP and TFRC"),
            ("connections", self.connections.is_some(), connects, "is for TCP and TFRC"),
            ("window", self.window.is_some(), tcp || web, "is for TCP"),
            ("resequence", self.resequence, tcp, "is for TCP"),
            ("web", self.web.is_some(), web, "is for web traffic: set traffic = \"web\", or remove it"),
        ];
        match given.iter().find(|(_, given, fits, _)| *given && !fits) {
            Some((key, .., why)) => Err((key, (*why).into())),
            None => Ok(()),
        }
    }

    fn pace(&self) -> Result<Pace, Wrong> {
        match (self.rate, self.interval) {
            (Some(rate), None) => Ok(Pace::Rate(rate)),
            (None, Some(interval)) if interval.0.is_zero() => {
                Err(("interval", "must be longer than no time".into()))
            }
            (None, Some(interval)) => Ok(Pace::Interval(interval)),
            _ => {
                let why = "cbr and on-off traffic need one of rate = \"500 kbps\" and interval = \"5 ms\"";
                Err(("traffic", why.into()))
            }
        }
    }

    fn activity(&self, index: usize) -> Result<Activity, Wrong> {
        if !self.active.is_empty() && (self.start.is_some() || self.stop.is_some()) {
            return Err(("active", "says when the flow starts and stops; leave start and stop out".into()));
        }
        let (key, activity) = if self.active.is_empty() {
            let apart = if self.start_jitter.is_some() { 0 } else { index as u64 };
            let start = self.start.unwrap_or(Time(Duration::from_millis(100) * apart));
            ("stop", Activity::Since { start, stop: self.stop })
        } else {
            ("active", Activity::Stretches { active: self.active.clone() })
        };
        let stretches = activity.stretches();
        let order: Vec<Instant> = stretches.iter().flat_map(|&(from, to)| [from, to]).collect();
        if !order.is_sorted() || stretches.iter().any(|(from, to)| from == to) {
            return Err((key, "a stretch must end after it begins, and before the next begins".into()));
        }
        let jitter = self.start_jitter.map_or(Duration::ZERO, |jitter| jitter.0);
        if stretches.first().is_some_and(|&(from, to)| from + jitter > to) {
            let why = "is longer than the flow's first stretch of activity, which it shortens";
            return Err(("start_jitter", why.into()));
        }
        Ok(activity)
    }
}

impl Activity {
    /// From when to when.
    pub(crate) fn stretches(&self) -> Vec<(Instant, Instant)> {
        match self {
            Self::Since { start, stop } => {
                vec![(Instant::ZERO + start.0, stop.map_or(Instant::NEVER, |t| Instant::ZERO + t.0))]
            }
            Self::Stretches { active } => {
                active.iter().map(|[from, to]| (Instant::ZERO + from.0, Instant::ZERO + to.0)).collect()
            }
        }
    }
}
