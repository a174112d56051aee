//! The number of connections in one direction of a session: the host of a law, without a clock or a socket.
//!
//! The caller passes the kernel's counters of each connection to [`Controller::observe`] once per interval
//! ([`Controller::next_at`]). It then opens or drains connections until there are [`Decision::wanted`]. The
//! control equations are those of `evenair_laws::connections`; the host adds these rules:
//!
//! - Counters of connections that come and go become one view ([`Senders`]), as in the emulator.
//! - An interval in which the direction was idle for a part changes nothing: an application that does not
//!   send shows nothing about the path.
//! - A law that begins with several connections runs once all of them are open: fewer carry less.
//! - At most one connection is opened per interval, and never more than [`Caps::most`], which the law takes
//!   into account.
//! - `guarded` with its default interval runs every ten round trips of the path, but no more often than every
//!   half second.
//! - Round trips are those of probes if the law needs them and probes pass. If none returns in [`UNANSWERED`]
//!   busy intervals, and five seconds, the law restarts with the kernel's smoothed round trips. Those include
//!   the flow's own retransmissions and delayed acknowledgements. [`Status::source`] names the source, so the
//!   two are never confused.

mod choice;
mod record;
mod senders;

pub use choice::{congestion_control, law, law_with, remembers, with_start};
pub use record::{Again, Line, Replay, SCHEMA, What};
pub use senders::{Counts, Senders, why_not};

use evenair_laws::Parameters;
use evenair_laws::connections::{
    AnyConnections, ConnectionLaw, ConnectionParams, ConnectionTold, Reason, RoundTripSamples,
};
use evenair_laws::flow::{FlowRole, FlowView, check_needs};
use evenair_laws::tape::Taped;
use evenair_linux::tcp::Info;
use evenair_units::{Bytes, Duration, Instant};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// After this many busy intervals, and this time, without a single returned probe, UDP does not pass. After a
/// change of address the probes have a new socket by then.
pub const UNANSWERED: u32 = 3;
const UNANSWERED_FOR: Duration = Duration::from_secs(5);
/// The most connections that any configuration may request: a relay with more would harm its neighbours and
/// itself.
pub const MOST: u32 = 64;
/// Segments per probe. [CZ06] section IV-A sends one for each, which is 2 % of the bytes, and half of the
/// packets. A policer, a queue or the air of a CSMA network, which count packets, treat a probe like a
/// segment.
const SEGMENTS_PER_PROBE: f64 = 20.0;
/// The time between probes: 50 a second at most, 2 at least.
const SPACING_MIN: Duration = Duration::from_millis(20);
const SPACING_MAX: Duration = Duration::from_millis(500);
/// The time between probes before a rate is known.
const SPACING_FIRST: Duration = Duration::from_millis(100);
/// After this time without traffic no probes are sent until there is some: an idle session costs only its
/// keepalive.
const REST: Duration = Duration::from_secs(10);
/// The most intervals for which a law that begins with several connections waits until all are open.
const OPENING_MOST: u32 = 20;
/// This many segments in an interval are more than a keepalive.
const SENT_LEAST: u64 = 4;

/// The host's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caps {
    /// The most connections of this direction.
    pub most: u32,
}

impl Default for Caps {
    fn default() -> Self {
        Self { most: 16 }
    }
}

/// An open connection, by a number that no other connection of the session has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subflow {
    /// Its number.
    pub id: u64,
    /// Its kernel counters.
    pub info: Info,
}

/// The reason why a law cannot run on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// The source of a law's round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Probes of the path.
    Probes,
    /// The kernel's smoothed round trips, which the law requires.
    TcpInfo,
    /// The kernel's, because probes cannot be sent here, or none returns.
    TcpInfoForProbes,
    /// The law uses none.
    None,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probes => "probes",
            Self::TcpInfo => "TCP_INFO",
            Self::TcpInfoForProbes => "TCP_INFO, because no probes come back",
            Self::None => "no round trips",
        })
    }
}

/// The reason for the present number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The law's own reason.
    Law(Reason),
    /// The direction was idle for a part of the interval.
    NotBusy,
    /// The connections with which the law begins are not all open yet.
    Opening,
    /// The sending rate was at the configured bound.
    Bounded,
    /// The law requests more than [`Caps::most`].
    Capped,
    /// The law requests more, and one is opened per interval.
    OneByOne,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Law(reason) => reason.fmt(f),
            Self::NotBusy => {
                f.write_str("there is not always something to send, and that says nothing of the path")
            }
            Self::Opening => f.write_str("it begins, and not all of them are there yet"),
            Self::Bounded => {
                f.write_str("as much is sent as rate_most allows, and that says nothing of the path")
            }
            Self::Capped => f.write_str("the law asks for more than the cap allows"),
            Self::OneByOne => f.write_str("the law asks for more, and one is opened at a time"),
        }
    }
}

/// The number of connections to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number.
    pub wanted: u32,
    /// The reason.
    pub why: Why,
}

/// The state of a controller, for `status`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The law's name, as in `evenair list laws`.
    pub law: String,
    /// The wanted number of connections.
    pub n: u32,
    /// The same before rounding, of a law that computes it.
    pub exact: Option<f64>,
    /// The most that the host allows.
    pub most: u32,
    /// T: the last round trip that the law used \[s\].
    pub round_trip_s: Option<f64>,
    /// T₀: the least of them so far \[s\].
    pub least_round_trip_s: Option<f64>,
    /// The source of both.
    pub source: Source,
    /// Intervals in which the law ran, and intervals in which the direction was idle for a part.
    pub intervals: u64,
    /// See `intervals`.
    pub held: u64,
    /// The reason for n, in one line.
    pub why: String,
}

/// The host of a law.
#[derive(Clone, Debug)]
pub struct Controller {
    params: ConnectionParams,
    law: AnyConnections,
    role: FlowRole,
    caps: Caps,
    source: Source,
    senders: Senders,
    /// The last counters of each connection; those of a closed one are kept.
    seen: BTreeMap<u64, Info>,
    decision: Decision,
    next_at: Instant,
    spacing: Duration,
    /// The time of the last traffic, and whether that is long ago.
    sent_at: Instant,
    rests: bool,
    /// Successive busy intervals without a returned probe, and their total length.
    unanswered: (u32, Duration),
    round_trip: Option<Duration>,
    least: Option<Duration>,
    intervals: u64,
    held: u64,
    /// Busy intervals spent waiting for the connections with which the law begins.
    opening: u32,
    /// The recorded lines, if recording is on.
    record: Option<Vec<Line>>,
}

impl Controller {
    /// Begins a law for a new direction. `payload` is a segment's \[bytes\]; probes are used only if they can
    /// be sent.
    ///
    /// # Errors
    /// If the law's parameters are out of their bounds, or it needs a quantity that Linux does not report;
    /// the message names a remedy.
    pub fn new(
        law: ConnectionParams,
        caps: Caps,
        can_probe: bool,
        payload: Bytes,
        now: Instant,
    ) -> Result<Self, Refused> {
        let named = name(&law);
        let refused = |error: &dyn fmt::Display| Refused(format!("law {named}: {error}"));
        if !(1..=MOST).contains(&caps.most) {
            return Err(refused(&format_args!("at most {} connections: from 1 to {MOST}", caps.most)));
        }
        let params = law.validated().map_err(|error| refused(&error))?;
        let params = choice::with_most(params, caps.most);
        let asks = choice::samples(&params);
        let (params, source) = match asks {
            None => (params, Source::None),
            Some(RoundTripSamples::Probes) if can_probe => (params, Source::Probes),
            Some(RoundTripSamples::Probes) => {
                (choice::with_samples(params, RoundTripSamples::Smoothed), Source::TcpInfoForProbes)
            }
            Some(_) => (params, Source::TcpInfo),
        };
        let role = FlowRole { payload };
        let begun = params.begin(&role);
        check_needs(&begun.needs(), why_not).map_err(|error| refused(&error))?;
        let wanted = begun.at_start().clamp(1, caps.most);
        Ok(Self {
            next_at: now + begun.interval(),
            decision: Decision { wanted, why: Why::Law(begun.reason()) },
            law: begun,
            params,
            role,
            caps,
            source,
            senders: Senders::from(now),
            seen: BTreeMap::new(),
            spacing: SPACING_FIRST,
            sent_at: now,
            rests: false,
            unanswered: (0, Duration::ZERO),
            round_trip: None,
            least: None,
            intervals: 0,
            held: 0,
            opening: 0,
            record: None,
        })
    }

    /// Starts recording; [`Self::take_record`] returns the lines.
    pub fn record(&mut self, now: Instant) {
        self.record = Some(Vec::new());
        // A replay begins where the law does.
        self.law = self.params.begin(&self.role);
        self.write(now, What::Begin { law: self.params.clone(), role: self.role, caps: self.caps });
    }

    /// Returns the lines recorded since the last call.
    pub fn take_record(&mut self) -> Vec<Line> {
        self.record.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the time between probes, or none if no probes are to be sent.
    pub fn wants_probes(&self) -> Option<Duration> {
        (self.source == Source::Probes && !self.rests).then_some(self.spacing)
    }

    /// Returns the congestion control that each connection of this direction must have; see
    /// [`congestion_control`].
    pub const fn congestion_control(&self) -> Option<&'static str> {
        congestion_control(&self.params)
    }

    /// Returns the end of the interval.
    pub const fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Returns the last decision, or the law's initial one.
    pub const fn decision(&self) -> Decision {
        self.decision
    }

    /// Removes a closed connection, with its last counters if they can still be read. A connection that
    /// disappears without this call keeps its last observed counters.
    pub fn closed(&mut self, subflow: &Subflow) {
        self.seen.remove(&subflow.id);
        self.senders.part(&subflow.info);
    }

    /// Ends an interval with `TCP_INFO` of each open connection, the round trips of the returned probes, and
    /// whether there was always data to send. Returns the decision, if the law ran.
    pub fn observe(
        &mut self,
        now: Instant,
        subflows: &[Subflow],
        probes: &[Duration],
        busy: bool,
    ) -> Option<Decision> {
        self.observe_with_others(now, subflows, (&[], 0), probes, busy)
    }

    /// Ends an interval like [`Self::observe`], with other connections that get no new data: their remaining
    /// data counts. `spare` of them are open already and can carry data at once, so they need not be opened
    /// one by one.
    pub fn observe_with_others(
        &mut self,
        now: Instant,
        open: &[Subflow],
        (others, spare): (&[Subflow], u32),
        probes: &[Duration],
        busy: bool,
    ) -> Option<Decision> {
        let view = self.view(now, open, others, probes);
        self.space(now, &view);
        self.next_at = now + self.law.interval();
        if !busy {
            return self.hold(now, Why::NotBusy);
        }
        if self.is_opening(open.len()) {
            return self.hold(now, Why::Opening);
        }
        self.note(&view);
        if self.falls_back(now, &view) || self.stretches(now) {
            return Some(self.decision);
        }
        self.intervals += 1;
        let told = ConnectionTold::OnInterval { flow: view };
        let answer = ConnectionParams::tell(&mut self.law, &told);
        // One of the spare ones is the one that an interval may add.
        let there = open.len() as u32 + spare.saturating_sub(1);
        let (wanted, why) = bounded(answer.on_interval.unwrap_or(1), there, self.caps);
        let why = why.unwrap_or(Why::Law(answer.reason));
        self.decision = Decision { wanted, why };
        self.next_at = now + self.law.interval();
        self.write(now, What::Heard { told, answer, open: there, wanted });
        Some(self.decision)
    }

    /// Skips the law for this interval.
    fn hold(&mut self, now: Instant, why: Why) -> Option<Decision> {
        self.held += 1;
        self.decision.why = why;
        self.write(now, What::Held);
        None
    }

    /// Returns whether the law has not run yet and its initial connections are not all open.
    const fn is_opening(&mut self, there: usize) -> bool {
        let waits =
            self.intervals == 0 && there < self.decision.wanted as usize && self.opening < OPENING_MOST;
        self.opening += waits as u32;
        waits
    }

    /// Records that the host's own rate bound kept the last interval from being busy, for `status`.
    pub const fn was_bounded(&mut self) {
        self.decision.why = Why::Bounded;
    }

    /// Combines all connections into one view; closed ones contribute their last counters.
    fn view(&mut self, now: Instant, open: &[Subflow], others: &[Subflow], probes: &[Duration]) -> FlowView {
        let there: BTreeMap<u64, Info> =
            open.iter().chain(others).map(|subflow| (subflow.id, subflow.info)).collect();
        let before = std::mem::replace(&mut self.seen, there);
        for (_, last) in before.iter().filter(|(id, _)| !self.seen.contains_key(id)) {
            self.senders.part(last);
        }
        let infos = |subflows: &[Subflow]| subflows.iter().map(|subflow| subflow.info).collect::<Vec<_>>();
        let mean_s = probes.iter().map(|each| each.as_secs_f64()).sum::<f64>() / probes.len() as f64;
        let probes = (!probes.is_empty()).then(|| Duration::from_secs_f64(mean_s));
        self.senders.look(now, self.role.payload, (&infos(open), &infos(others)), probes)
    }

    /// Sets the time between probes. A direction that is partly idle still sends a few, so that samples exist
    /// once it is busy.
    fn space(&mut self, now: Instant, view: &FlowView) {
        if view.sent >= SENT_LEAST {
            self.sent_at = now;
        }
        self.rests = now.since(self.sent_at) >= REST;
        let rate = view.sent as f64 / view.interval.as_secs_f64();
        let spacing = if rate > 0.0 { SEGMENTS_PER_PROBE / rate } else { 1.0 };
        self.spacing = Duration::from_secs_f64(spacing.min(1.0)).clamp(SPACING_MIN, SPACING_MAX);
    }

    /// Stores the values that `status` reports.
    fn note(&mut self, view: &FlowView) {
        let (round_trip, least) = match self.source {
            Source::Probes => (view.round_trip_of_probes, view.round_trip_of_probes),
            _ => (view.smoothed_round_trip, view.least_round_trip),
        };
        self.round_trip = round_trip.or(self.round_trip);
        self.least = least.into_iter().chain(self.least).min();
    }

    /// Returns whether the law restarted because no probes return.
    fn falls_back(&mut self, now: Instant, view: &FlowView) -> bool {
        if self.source != Source::Probes {
            return false;
        }
        let answered = view.round_trip_of_probes.is_some() || view.delivered.packets == 0;
        let (intervals, time) = self.unanswered;
        self.unanswered = if answered { (0, Duration::ZERO) } else { (intervals + 1, time + view.interval) };
        if self.unanswered.0 < UNANSWERED || self.unanswered.1 < UNANSWERED_FOR {
            return false;
        }
        self.source = Source::TcpInfoForProbes;
        (self.round_trip, self.least) = (None, None);
        self.begin_anew(now, choice::with_samples(self.params.clone(), RoundTripSamples::Smoothed));
        true
    }

    /// Returns whether the law restarted because the path's first known round trip is long for its interval.
    fn stretches(&mut self, now: Instant) -> bool {
        let stretched = self.round_trip.and_then(|round_trip| choice::stretched(&self.params, round_trip));
        let stretched = stretched.filter(|_| self.intervals == 0);
        let stretches = stretched.is_some();
        stretched.into_iter().for_each(|law| self.begin_anew(now, law));
        stretches
    }

    fn begin_anew(&mut self, now: Instant, law: ConnectionParams) {
        self.params = law;
        self.law = self.params.begin(&self.role);
        self.next_at = now + self.law.interval();
        let wanted = self.law.at_start().clamp(1, self.caps.most);
        self.decision = Decision { wanted, why: Why::Law(self.law.reason()) };
        self.write(now, What::Begin { law: self.params.clone(), role: self.role, caps: self.caps });
    }

    /// Returns the controller's state.
    pub fn status(&self) -> Status {
        let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
        Status {
            law: name(&self.params),
            n: self.decision.wanted,
            exact: self.law.exact(),
            most: self.caps.most,
            round_trip_s: seconds(self.round_trip),
            least_round_trip_s: seconds(self.least),
            source: self.source,
            intervals: self.intervals,
            held: self.held,
            why: self.why(),
        }
    }

    /// Returns a line such as "n is 3: the last connection is on trial (round trip 61 ms, 52 at least, by
    /// probes)".
    fn why(&self) -> String {
        let Decision { wanted, why } = self.decision;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let seen = match (self.round_trip, self.least) {
            (Some(round_trip), Some(least)) => {
                format!(
                    " (round trip {:.0} ms, {:.0} at least, by {})",
                    ms(round_trip),
                    ms(least),
                    self.source
                )
            }
            _ => String::new(),
        };
        format!("n is {wanted}: {why}{seen}")
    }

    fn write(&mut self, now: Instant, what: What) {
        if let Some(lines) = &mut self.record {
            lines.push(Line { schema: SCHEMA, at_ns: now.as_nanos(), what });
        }
    }
}

/// Limits a law's answer to one more than the open connections and to the caps; returns the reason if the
/// result differs.
fn bounded(asked: u32, open: u32, caps: Caps) -> (u32, Option<Why>) {
    let asked = asked.max(1);
    let one_more = open.max(1).saturating_add(1);
    if asked > caps.most && caps.most <= one_more {
        (caps.most, Some(Why::Capped))
    } else if asked > one_more {
        (one_more, Some(Why::OneByOne))
    } else {
        (asked, None)
    }
}

/// Returns a law's name in scenarios.
fn name(law: &ConnectionParams) -> String {
    let word = serde_json::to_value(law).ok().and_then(|value| Some(value.get("law")?.as_str()?.to_owned()));
    word.or_else(|| law.identity()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
