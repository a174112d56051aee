//! E-MULTCP with a further connection on trial first: for paths that may lose packets without delaying them.
//!
//! # Law
//! E-MULTCP's (20), with a second bit. `n` grows and shrinks as there; where its whole number rises from `k` to `k + 1`, the
//! further connection is on trial: after an interval to settle, the next [`TICKS`] are compared with the last ones of `k`. It is
//! kept if
//!
//! 1. goodput rose by at least `keep`/k of itself (a path that loses by chance gives 1/k, one that is full gives nothing), and
//! 2. the retransmitted share did not rise: by no more than `rise` of itself, or by no more than two standard
//!    deviations of the counts (chance keeps its share; a full queue's losses grow with the square of the
//!    connections in it).
//!
//! If it is not kept, `n` returns to `k`, and one connection fewer is put to the same test, which may lead
//! further down; then `n` rests for `patience` intervals, twice as many after each failure. An interval in
//! which the retransmitted share exceeds `retransmitted_max` counts as congested. Congestion may end the
//! trial of a second connection before goodput has risen by half of the rise required to keep it: then one
//! alone fills the path. That is a failure, too, for the second's slow start has cost the first its window.
//! If goodput has risen by that, two are a little too many and one too few, and (20) oscillates as it does
//! anywhere.
//!
//! With `doubling`, a trial that succeeds is followed by one of twice as many connections, which open one per interval; `k + m` are
//! kept if goodput rose by `keep`·m/k. The first failure, or congestion, ends that, and (20) goes on from the last number that was kept.
//!
//! With `start`, it begins with this number: the host remembers it of the path. They are on trial from the
//! first: half of them are closed once all have been measured, and open again only if they had earned their
//! places; otherwise the law tries half of the rest, and so on.
//!
//! # Source
//! Ours. [CZ06] eq. (20) takes delay for the only sign of congestion: a policer, or a buffer too short to delay anything, loses
//! without it, and there the paper's `n` grows for ever.
//!
//! # Symbols
//! `α`, `β`, `γ`, `τ` → as in [`iimd`]; `n` → `connections`; `k` → `open`.
//!
//! # Signals
//! The average round-trip time of each interval, of the segments themselves unless [`GuardedParams::samples`]
//! selects others: where a queue is short, probes take room that data need. The flow's goodput; segments
//! sent, and sent again. Intervals without a delivery change nothing.
//!
//! # Deviations
//! From the paper's form: the trial, the bounds, and that the least round trip is forgotten after `window`
//! and after a reported change of route. One end alone cannot tell apart losses by chance and a short queue
//! that many others share: one connection more changes neither its loss nor the flow's own share of it. As it
//! grows by (20) it has (20)'s drift; a trial is no step of an equation.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::connections::{ConnectionLaw, GuardedParams};
//! use evenair_laws::flow::{FlowRole, FlowView};
//! use evenair_units::{Bytes, Duration, Volume};
//! let mut law = GuardedParams::default().begin(&FlowRole { payload: Bytes::new(1000) });
//! // A policer: 1000 packets in an interval, however many connections there are, and no delay.
//! let policed = FlowView {
//!     interval: Duration::from_secs(20),
//!     round_trip: Some(Duration::from_millis(100)),
//!     delivered: Volume { packets: 1000, bytes: 1_000_000 },
//!     sent: 1010,
//!     retransmitted: 10,
//!     ..FlowView::default()
//! };
//! // The second connection is there for three intervals: one to settle, two to be judged by.
//! assert_eq!([(); 8].map(|()| law.on_interval(&policed)), [1, 1, 2, 2, 2, 1, 1, 1]);
//! ```

#[cfg(test)]
mod tests;

use super::delay::{Delay, DelayParams};
use super::{ConnectionLaw, Reason, RoundTripSamples, iimd};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::{BadParameter, Parameters, check, check_interval};
use alloc::vec::Vec;
use evenair_units::Duration;

/// Intervals that are compared, before a trial and in it.
pub const TICKS: u32 = 2;
/// The longest rest between trials \[intervals\].
const PATIENCE_MAX: u32 = 128;

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct GuardedParams {
    /// α: how much is added, over the number that there is.
    #[cfg_attr(feature = "serde", serde(rename = "alpha"))]
    pub increase: f64,
    /// β: the factor of the number when the path is congested.
    #[cfg_attr(feature = "serde", serde(rename = "beta"))]
    pub decrease: f64,
    /// γ: the queueing delay that counts as congestion, over the least round-trip time.
    #[cfg_attr(feature = "serde", serde(rename = "gamma"))]
    pub threshold: f64,
    /// τ: how often the law runs.
    pub interval: Duration,
    /// Which round trips are averaged.
    pub samples: RoundTripSamples,
    /// How long the least average holds at most.
    pub window: Duration,
    /// Measure the least average again when the host reports a change of route, if it can.
    pub route_changes: bool,
    /// The share of 1/k by which a further connection must raise the goodput of k.
    pub keep: f64,
    /// How much larger the retransmitted share may become by it, relative to its value before.
    pub rise: f64,
    /// The share sent again that counts as congestion.
    pub retransmitted_max: f64,
    /// How long it rests after the first trial that failed \[intervals\].
    pub patience: u32,
    /// Whether, from the beginning on, each trial that succeeds is followed by one of twice as many connections.
    pub doubling: bool,
    /// The first number: more than one are remembered of the path, and are on trial from the first.
    pub start: u32,
    /// The most connections that are kept.
    #[cfg_attr(feature = "serde", serde(rename = "max"))]
    pub connections_max: u32,
}

impl Default for GuardedParams {
    fn default() -> Self {
        Self {
            increase: 0.25,
            decrease: 0.75,
            threshold: 0.2,
            interval: Duration::from_secs(20),
            samples: RoundTripSamples::Segments,
            window: Duration::from_secs(600),
            route_changes: true,
            keep: 0.55,
            rise: 0.15,
            retransmitted_max: 0.2,
            patience: 16,
            doubling: false,
            start: 1,
            connections_max: 16,
        }
    }
}

impl GuardedParams {
    const fn delay(&self) -> DelayParams {
        let Self { threshold, samples, window, route_changes, .. } = *self;
        DelayParams { threshold, samples, window: Some(window), route_changes }
    }
}

impl Parameters for GuardedParams {
    type Surroundings = ();
    type Place = FlowRole;
    type Law = Guarded;

    fn validated(self) -> Result<Self, BadParameter> {
        let Self { increase, decrease, keep, rise, retransmitted_max, patience, .. } = self;
        check("beta", decrease, decrease > 0.0 && decrease < 1.0, "above 0 and below 1")?;
        check("alpha", increase, increase > 0.0 && increase <= 1.0, "above 0, 1 at most")?;
        check_interval("interval", self.interval)?;
        self.delay().check()?;
        check("keep", keep, keep > 0.0 && keep <= 1.0, "above 0, 1 at most")?;
        check("rise", rise, rise >= 0.0 && rise.is_finite(), "0 or more")?;
        let share = retransmitted_max;
        check("retransmitted_max", share, share > 0.0 && share <= 1.0, "above 0, 1 at most")?;
        check("patience", patience.into(), (1..=PATIENCE_MAX).contains(&patience), "from 1 to 128")?;
        check("start", self.start.into(), (1..=1000).contains(&self.start), "from 1 to 1000")?;
        let most = self.connections_max;
        check("max", most.into(), (1..=1000).contains(&most), "from 1 to 1000")?;
        Ok(self)
    }

    /// One connection, or as many as are remembered.
    fn begin(&self, _: &FlowRole) -> Guarded {
        let open = self.start.min(self.connections_max);
        Guarded {
            params: *self,
            delay: Delay::new(self.delay()),
            connections: open.into(),
            open,
            settling: true,
            tally: Tally::default(),
            trial: if open > 1 { Trial::Remembered } else { Trial::None },
            remembers: open > 1,
            stride: u32::from(self.doubling),
            patience: self.patience,
            resting: 0,
            reason: Reason::Begins,
        }
    }
}

/// The goodput that a number of connections brought.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Tally {
    intervals: u32,
    seconds: f64,
    bytes: f64,
    sent: f64,
    again: f64,
}

impl Tally {
    /// One more interval; the old count half as soon as they are twice as many as are compared.
    fn add(&mut self, flow: &FlowView) {
        if self.intervals >= 2 * TICKS {
            self.intervals /= 2;
            for sum in [&mut self.seconds, &mut self.bytes, &mut self.sent, &mut self.again] {
                *sum /= 2.0;
            }
        }
        self.intervals += 1;
        self.seconds += flow.interval.as_secs_f64();
        self.bytes += flow.delivered.bytes as f64;
        self.sent += flow.sent as f64;
        self.again += flow.retransmitted as f64;
    }

    const fn is_full(&self) -> bool {
        self.intervals >= TICKS
    }
}

/// The trial under way.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Trial {
    None,
    /// All that it began with.
    Remembered,
    /// So many connections more than brought this, or as many of them as are open by now.
    More(u32, Tally),
    /// So many fewer than brought this.
    Fewer(u32, Tally),
}

/// The law's state at one flow.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Guarded {
    params: GuardedParams,
    delay: Delay,
    /// `n`, a real number.
    connections: f64,
    /// Its last number, `k`.
    open: u32,
    /// The first interval after a change is not judged.
    settling: bool,
    /// The goodput that `open` connections brought since they settled.
    tally: Tally,
    trial: Trial,
    /// Whether it began with several, of which it is not known yet how many earn their places.
    remembers: bool,
    /// How many the last trial added, while trials double; none when they no longer do.
    stride: u32,
    /// How long it rests after the next failure \[intervals\].
    patience: u32,
    /// How long it still rests \[intervals\].
    resting: u32,
    reason: Reason,
}

impl ConnectionLaw for Guarded {
    fn interval(&self) -> Duration {
        self.params.interval
    }

    fn needs(&self) -> Vec<Signal> {
        self.delay.needs()
    }

    fn at_start(&self) -> u32 {
        self.open
    }

    fn reason(&self) -> Reason {
        self.reason
    }

    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        if self.params.route_changes && flow.route_changed == Some(true) {
            self.change_to(self.open, self.unproven()); // the compared intervals were of another path
        }
        let delayed = self.delay.congested(flow);
        if flow.delivered.packets > 0 {
            let again = flow.retransmitted as f64 > self.params.retransmitted_max * flow.sent as f64;
            if delayed == Some(true) || again {
                self.reason = if again { Reason::Lossy } else { Reason::Delayed };
                self.give_way(flow);
            } else {
                self.reason = Reason::Uncongested;
                self.go_on(flow, delayed == Some(false));
                self.explain(delayed);
            }
        }
        debug_assert!((1..=self.params.connections_max).contains(&self.open), "out of bounds");
        self.open
    }
}

impl Guarded {
    /// The path is congested: (20)'s decrease.
    fn give_way(&mut self, flow: &FlowView) {
        let GuardedParams { increase, decrease, .. } = self.params;
        let trial = self.trial;
        if matches!(trial, Trial::More(2.., _)) {
            self.connections = f64::from(self.open);
        }
        self.connections = iimd::step(self.connections, true, increase, decrease);
        self.stride = 0;
        let wanted = self.whole();
        if let Trial::More(added, fewer) = trial
            && wanted == 1
            && !self.was_of_use(&fewer, flow, (self.open - added, added))
        {
            self.rest();
        }
        self.remembers &= wanted > 1;
        if wanted != self.open || trial != Trial::None {
            self.change_to(wanted, self.unproven());
        }
    }

    /// The trial before any is under way: all remembered connections, until their effect is known.
    const fn unproven(&self) -> Trial {
        if self.remembers { Trial::Remembered } else { Trial::None }
    }

    /// Whether the connections of a trial that ends in congestion have raised the goodput of `k`, by half of
    /// the rise required to keep them.
    fn was_of_use(&self, fewer: &Tally, flow: &FlowView, (k, added): (u32, u32)) -> bool {
        let mut here = self.tally;
        here.add(flow);
        let rise = self.params.keep / 2.0 * f64::from(added) / f64::from(k);
        here.bytes * fewer.seconds >= fewer.bytes * here.seconds * (1.0 + rise)
    }

    /// The path is not congested: counts, judges the trial, and grows; only where `sampled` gives a round
    /// trip.
    fn go_on(&mut self, flow: &FlowView, sampled: bool) {
        if self.settling {
            self.settling = false;
            if self.comes_next() {
                return;
            }
        } else {
            self.tally.add(flow);
        }
        if self.tally.is_full() && !self.judge() {
            return;
        }
        if self.resting > 0 {
            self.resting -= 1;
        } else if sampled {
            self.grow();
        }
    }

    /// Judges a trial that has lasted long enough; returns whether the rest may go on.
    fn judge(&mut self) -> bool {
        let (here, open) = (self.tally, self.open);
        match self.trial {
            Trial::None => true,
            Trial::More(added, fewer) if self.earned(&fewer, &here, (open - added, added)) => {
                self.trial = Trial::None;
                self.patience = self.params.patience;
                self.connections = self.connections.max(f64::from(open) - 0.5);
                self.reason = Reason::Earned;
                !self.leap(here)
            }
            Trial::More(1, fewer) => self.fall_back(fewer),
            Trial::More(added, _) => {
                // This many at once were too many, which proves nothing about one.
                self.stride = 0;
                self.connections = f64::from(open - added);
                self.change_to(open - added, Trial::None);
                false
            }
            Trial::Fewer(left, more) if self.earned(&here, &more, (open, left)) => {
                self.connections = f64::from(open + left);
                if !core::mem::take(&mut self.remembers) {
                    self.rest();
                } else if self.stride > 0 {
                    self.connections += 0.499; // the trials that double go on from here
                }
                self.change_to(open + left, Trial::None);
                false
            }
            Trial::Remembered | Trial::Fewer(..) => self.try_fewer(here),
        }
    }

    /// Starts a trial of twice as many connections as the last one added, if trials still double: the first
    /// of them opens. `here` are the measurements of the present number.
    fn leap(&mut self, here: Tally) -> bool {
        let leaps = self.stride > 0 && self.open < self.params.connections_max;
        if leaps {
            self.stride *= 2;
            self.connections = f64::from(self.open);
            self.change_to(self.open + 1, Trial::More(1, here));
        }
        leaps
    }

    /// Opens the next connection of a trial of several, an interval after the last, if there is one.
    fn comes_next(&mut self) -> bool {
        let Trial::More(added, fewer) = self.trial else { return false };
        let comes = added < self.stride && self.open < self.params.connections_max;
        if comes {
            self.change_to(self.open + 1, Trial::More(added + 1, fewer));
        }
        comes
    }

    /// The last connection did not earn its place beside those that brought `here`: one fewer still may do as well.
    fn fall_back(&mut self, here: Tally) -> bool {
        self.open -= 1;
        self.try_fewer(here)
    }

    /// With `open` connections, which brought `here`: goes on with one fewer, or with half of those that are remembered, if there is more
    /// than one.
    fn try_fewer(&mut self, here: Tally) -> bool {
        if self.open > 1 {
            let left = if self.remembers { self.open / 2 } else { 1 };
            self.connections = f64::from(self.open - left);
            self.change_to(self.open - left, Trial::Fewer(left, here));
        } else {
            self.connections = 1.0;
            self.change_to(1, Trial::None);
            self.remembers = false;
            self.rest();
        }
        false
    }

    fn rest(&mut self) {
        self.resting = self.patience;
        self.patience = (2 * self.patience).min(PATIENCE_MAX);
    }

    /// (20)'s increase, as far as trials allow.
    fn grow(&mut self) {
        let GuardedParams { increase, decrease, connections_max, .. } = self.params;
        let grown = iimd::step(self.connections, false, increase, decrease);
        // One connection at a time: n waits below the next for the trial's end.
        let bound = f64::from(self.open) + if self.trial == Trial::None { 0.5 } else { 0.499 };
        self.connections = grown.min(bound).min(f64::from(connections_max));
        if self.whole() > self.open {
            if self.tally.is_full() {
                self.change_to(self.open + 1, Trial::More(1, self.tally));
            } else {
                self.connections = f64::from(self.open) + 0.499;
            }
        }
    }

    /// The reason, where the path is not congested.
    fn explain(&mut self, delayed: Option<bool>) {
        self.reason = match self.trial {
            Trial::More(..) => Reason::OnTrial,
            Trial::Remembered => Reason::Begins,
            Trial::Fewer(..) if self.remembers => Reason::RememberedTried,
            Trial::Fewer(..) => Reason::FewerTried,
            Trial::None if self.resting > 0 => Reason::Resting,
            Trial::None if delayed.is_none() => Reason::Unsampled,
            Trial::None if self.open >= self.params.connections_max => Reason::Bounded,
            Trial::None => self.reason,
        };
    }

    fn whole(&self) -> u32 {
        super::whole(libm::round(self.connections), self.params.connections_max)
    }

    fn change_to(&mut self, open: u32, trial: Trial) {
        (self.open, self.trial) = (open, trial);
        (self.tally, self.settling) = (Tally::default(), true);
    }

    /// Whether the connections by which `more` differs from the `k` of `fewer` earned their places.
    fn earned(&self, fewer: &Tally, more: &Tally, (k, added): (u32, u32)) -> bool {
        let rates = (more.bytes * fewer.seconds, fewer.bytes * more.seconds);
        let share = f64::from(added) / f64::from(k);
        let goodput_rose = rates.0 >= rates.1 * (1.0 + self.params.keep * share);
        goodput_rose && !self.more_is_lost(fewer, more)
    }

    /// Whether the retransmitted share rose: by more than `rise`, and by more than twice the standard
    /// deviation of the counts, were both of one share.
    fn more_is_lost(&self, fewer: &Tally, more: &Tally) -> bool {
        let excess = more.again * fewer.sent - fewer.again * more.sent;
        let deviation = libm::sqrt(fewer.sent * more.sent * (fewer.again + more.again));
        excess > 2.0 * deviation && excess > self.params.rise * fewer.again * more.sent
    }
}
