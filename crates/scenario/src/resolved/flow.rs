//! Flows: their traffic and their times.

use crate::error::Mistake;
use crate::language::{CodePoint, FlowTable, TrafficKind, UtilityTable};
use crate::law;
use crate::quantity::{Amount, PacketCount, Probability, RateQuantity, Time};
use evenair_laws::Parameters;
use evenair_laws::backoff::Category;
use evenair_laws::flow::{FlowRole, check_needs};
use evenair_laws::rate::{RateLaw, RateParams};
use evenair_netsim::{Mix, Pattern, RatedSpec, Source, Traffic};
use evenair_optimum::Points;
use evenair_units::{Bytes, Duration, Instant, Rate};

/// The fastest source, if nothing else is said: a gigabit interface.
const RATE_MAX: Rate = Rate::from_kbps(1_000_000);
/// α of TCP Reno's utility and of `n = kT` connections of it.
pub(crate) const ALPHA: f64 = 2.0;
/// Beyond it numbers of a double's precision say nothing any more.
const ALPHA_MAX: f64 = 50.0;

fn check_alpha(alpha: Option<f64>) -> Result<(), Wrong> {
    match alpha {
        Some(alpha) if !(alpha > 0.0 && alpha <= ALPHA_MAX) => {
            Err(("alpha", format!("{alpha} must be above 0, {ALPHA_MAX} at most")))
        }
        _ => Ok(()),
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
    pub(crate) fn complete(&mut self) -> Result<(), Mistake> {
        let wrong = |(key, why): Wrong| Mistake::at(&format!("utility.{key}"), why);
        check_points(self.points.as_deref(), self.alpha).map_err(wrong)?;
        if self.points.is_none() {
            check_alpha(Some(*self.alpha.get_or_insert(ALPHA))).map_err(wrong)?;
        }
        self.unit.get_or_insert_default();
        Ok(())
    }
}

/// A key and its mistake.
pub(crate) type Wrong = (&'static str, String);

impl FlowTable {
    /// Checks the keys of all kinds of traffic.
    pub(crate) fn check(&self, ideal: bool) -> Result<(), Wrong> {
        if let Some(weight) = self.weight.filter(|w| !(*w > 0.0 && w.is_finite())) {
            return Err(("weight", format!("{weight} must be above 0")));
        }
        if self.to == "*"
            && (ideal || matches!(self.traffic, TrafficKind::Tcp | TrafficKind::Tfrc | TrafficKind::Web))
        {
            return Err(("to", "a broadcast needs datagrams and an 802.11 MAC".into()));
        }
        check_alpha(self.alpha)?;
        check_points(self.points.as_deref(), self.alpha)?;
        let checked = self.connections.clone().map(Parameters::validated).transpose();
        checked.map(|_| ()).map_err(|error| ("connections", error.to_string()))
    }

    /// The laws of its windows and of its rate are completed; the latter is that of all flows, if it has none.
    pub(crate) fn complete_laws(&mut self, of_all: Option<&RateParams>) -> Result<(), Mistake> {
        self.window = self.window.take().map(|window| window.complete("window")).transpose()?;
        if self.rate_law.is_none() && self.traffic == TrafficKind::Rated {
            self.rate_law = of_all.cloned();
        }
        law::complete_any("rate_law", &mut self.rate_law)
    }

    /// How much it has to send over these endpoints.
    pub(crate) fn source(&self, payload: Bytes) -> Result<Source, Wrong> {
        match (self.transfer, self.application_rate) {
            (Some(_), Some(_)) | (Some(Amount::Packets(PacketCount(0)) | Amount::Bytes(0)), _) => {
                Err(("transfer", "must be at least 1 byte or segment, and excludes application_rate".into()))
            }
            (Some(amount), None) => {
                let segments = u32::try_from(amount.packets_of(payload)).map_err(|_| {
                    let most = u32::MAX;
                    let why = format!(
                        "is more than {most} segments of tcp.payload; leave it out for a flow without end"
                    );
                    ("transfer", why)
                })?;
                Ok(Source::Segments(segments))
            }
            (None, Some(rate)) => Ok(Source::Paced(rate.0.time_for(payload))),
            (None, None) => Ok(Source::Endless),
        }
    }

    /// The sizes of its datagrams, where they are drawn.
    pub(crate) fn mix(&self) -> Result<Option<Mix>, Wrong> {
        if self.sizes.is_empty() {
            return Ok(None);
        }
        if self.size.is_some() {
            return Err(("sizes", "lists the sizes that are drawn; remove size".into()));
        }
        if self.to == "*" {
            return Err(("sizes", "a broadcast has datagrams of one size".into()));
        }
        let sizes: Vec<Bytes> = self.sizes.iter().map(|size| size.0).collect();
        let why = || format!("needs 1 to {} sizes, each of at least 1 byte", Mix::MOST);
        Mix::new(&sizes).map(Some).ok_or_else(|| ("sizes", why()))
    }

    /// Datagrams of a size, the mean of those that are drawn, that nothing acknowledges.
    pub(crate) fn datagrams(&mut self, size: Bytes, sizes: Option<Mix>) -> Result<Traffic, Wrong> {
        let pattern = match self.traffic {
            TrafficKind::Cbr => Pattern::Constant {
                interval: self.pace(size)?,
                jitter: self.jitter.map_or(0.0, Probability::value),
            },
            TrafficKind::Poisson => Pattern::Poisson { interval: self.pace(size)?, sizes },
            TrafficKind::OnOff => {
                let interval = self.pace(size)?;
                let (Some(Time(on)), Some(Time(off))) = (self.on, self.off) else {
                    return Err(("traffic", "on-off traffic needs its mean times, on and off".into()));
                };
                if on.is_zero() || off.is_zero() {
                    return Err(("on", "on and off must be above 0 s".into()));
                }
                Pattern::OnOff { interval, on, off }
            }
            TrafficKind::Rated => {
                let Some(law) = self.rate_law.clone() else {
                    let why = "rated traffic needs the law of its rate: rate_law = \"utility-based\", here or for all flows";
                    return Err(("traffic", why.into()));
                };
                let rate_max = self.rate_max.get_or_insert(RateQuantity(RATE_MAX)).0;
                if rate_max.as_bps() == 0 {
                    return Err(("rate_max", "must be above 0".into()));
                }
                let needs = law.begin(&FlowRole { payload: size }).needs();
                let told = check_needs(&needs, RatedSpec::cannot_tell);
                told.map_err(|untold| ("rate_law", untold.to_string()))?;
                return Ok(Traffic::Rated(RatedSpec { size, law, rate_max }));
            }
            _ => Pattern::Saturated,
        };
        let headers = self.headers_within(sizes.map_or(size, |mix| mix.smallest()))?;
        Ok(Traffic::Datagrams { size, headers, pattern })
    }

    /// Headers within datagrams, of which the smallest has this size.
    fn headers_within(&self, smallest: Bytes) -> Result<Bytes, Wrong> {
        let headers = self.headers.map_or(Bytes::new(0), |headers| headers.0);
        if headers >= smallest {
            return Err((
                "headers",
                format!("leave no payload in a datagram of {smallest}; make them smaller"),
            ));
        }
        Ok(headers)
    }

    /// Whether it has datagrams that no law and no receiver paces.
    pub(crate) fn is_plain(&self) -> bool {
        use TrafficKind::{Cbr, OnOff, Poisson, Saturated};
        matches!(self.traffic, Cbr | OnOff | Poisson | Saturated)
    }

    /// Keys that are for another kind of traffic.
    pub(crate) fn check_kind(&self) -> Result<(), Wrong> {
        let tcp = self.traffic == TrafficKind::Tcp;
        let poisson = self.traffic == TrafficKind::Poisson;
        let paced = poisson || matches!(self.traffic, TrafficKind::Cbr | TrafficKind::OnOff);
        let on_off = self.traffic == TrafficKind::OnOff;
        let rated = self.traffic == TrafficKind::Rated;
        let web = self.traffic == TrafficKind::Web;
        let connects = tcp || self.traffic == TrafficKind::Tfrc;
        let given = [
            (
                "headers",
                self.headers.is_some(),
                self.is_plain(),
                "is for cbr, on-off, poisson and saturated traffic",
            ),
            ("size", self.size.is_some(), !tcp && !web, "is for datagrams; TCP has tcp.payload"),
            (
                "rate",
                self.rate.is_some(),
                paced,
                "is for cbr, on-off and poisson traffic; a law's is bounded by rate_max",
            ),
            ("interval", self.interval.is_some(), paced, "is for cbr, on-off and poisson traffic"),
            (
                "packets_per_second",
                self.packets_per_second.is_some(),
                paced,
                "is for cbr, on-off and poisson traffic",
            ),
            ("sizes", !self.sizes.is_empty(), poisson, "is for poisson traffic; others have one size"),
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
            (
                "transfer",
                self.transfer.is_some(),
                tcp,
                "is for TCP; other traffic does not repeat lost packets",
            ),
            ("application_rate", self.application_rate.is_some(), connects, "is for TCP and TFRC"),
            ("connections", self.connections.is_some(), connects, "is for TCP and TFRC"),
            ("window", self.window.is_some(), tcp || web, "is for TCP"),
            ("sack", self.sack.is_some(), tcp || web, "is for TCP"),
            ("delayed_ack", self.delayed_ack.is_some(), tcp || web, "is for TCP"),
            ("resequence", self.resequence, tcp, "is for TCP"),
            ("web", self.web.is_some(), web, "is for web traffic: set traffic = \"web\", or remove it"),
        ];
        match given.iter().find(|(_, given, fits, _)| *given && !fits) {
            Some((key, .., why)) => Err((key, (*why).into())),
            None if self.category.is_some() && self.dscp.is_some() => {
                Err(("dscp", "chooses the access category, and so does category: remove one".into()))
            }
            None => Ok(()),
        }
    }

    /// The access category of its packets.
    pub(crate) fn access_category(&self) -> Category {
        let marked = self.dscp.map(|dscp| Category::of_dscp(dscp.number()));
        self.category.or(marked).unwrap_or_default()
    }

    /// The DSCP of its packets: its own, or the one that its access category stands for.
    pub(crate) fn code_point(&self) -> u8 {
        self.dscp.map_or_else(|| self.access_category().dscp(), CodePoint::number)
    }

    /// Time between datagrams of a size.
    fn pace(&self, size: Bytes) -> Result<Duration, Wrong> {
        match (self.rate, self.interval, self.packets_per_second) {
            (Some(rate), None, None) => Ok(rate.0.time_for(size)),
            (None, Some(interval), None) if interval.0.is_zero() => {
                Err(("interval", "must be above 0 s".into()))
            }
            (None, Some(interval), None) => Ok(interval.0),
            (None, None, Some(per_second)) if (1e-6..=1e9).contains(&per_second) => {
                Ok(Duration::from_secs_f64(1.0 / per_second))
            }
            (None, None, Some(per_second)) => {
                Err(("packets_per_second", format!("{per_second} must lie between 0.000001 and 1000000000")))
            }
            _ => {
                let why = "cbr, on-off and poisson traffic need one of rate = \"500 kbps\", interval = \"5 ms\" and packets_per_second = 200";
                Err(("traffic", why.into()))
            }
        }
    }

    /// From when to when it is active; `index` is its place among the flows.
    pub(crate) fn activity(&mut self, index: usize) -> Result<Vec<(Instant, Instant)>, Wrong> {
        if !self.active.is_empty() && (self.start.is_some() || self.stop.is_some()) {
            return Err(("active", "has the flow's start and stop; remove start and stop".into()));
        }
        let at = |time: Time| Instant::ZERO + time.0;
        let (key, stretches) = if self.active.is_empty() {
            let apart = if self.start_jitter.is_some() { 0 } else { index as u64 };
            let start = *self.start.get_or_insert(Time(Duration::from_millis(100) * apart));
            ("stop", vec![(at(start), self.stop.map_or(Instant::NEVER, at))])
        } else {
            ("active", self.active.iter().map(|&[from, to]| (at(from), at(to))).collect())
        };
        let order: Vec<Instant> = stretches.iter().flat_map(|&(from, to)| [from, to]).collect();
        if !order.is_sorted() || stretches.iter().any(|(from, to)| from == to) {
            return Err((
                key,
                "an active period must end after it begins, and before the next begins".into(),
            ));
        }
        let jitter = self.start_jitter.map_or(Duration::ZERO, |jitter| jitter.0);
        if stretches.first().is_some_and(|&(from, to)| from + jitter > to) {
            let why = "is longer than the flow's first active period, which it shortens";
            return Err(("start_jitter", why.into()));
        }
        Ok(stretches)
    }
}
