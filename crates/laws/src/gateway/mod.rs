//! Laws of a mesh gateway: how much of the network's capacity its subscribers may use, and which of them how much.
//!
//! The gateway shapes the traffic that passes it, with one token bucket for all or one for each class; a
//! class is the traffic that one subscriber sends (up) or receives (down). Once an epoch the law receives the
//! counters of these queues and sets the buckets' rates. Classes come, go and change while it runs
//! ([`GatewayLaw::on_classes`]). It has no other input: no relay, no loss in the air, no topology, except the
//! operator's configuration ([`ClassRole::link_rate`]).

mod answers;
pub mod arc;
pub mod bounds;
mod busy;
mod controller;
mod counters;
pub mod delay_cap;
mod feedback;
pub mod fixed;
mod judgement;
mod members;
pub mod pfrc;
mod round_trip;
mod search;

pub use answers::{AWAY, Answers, UNHEARD};
pub use arc::{Arc, ArcParams, RateHistory};
pub use bounds::CapacityBounds;
pub use busy::{BusyClass, BusyFlow, FORGOTTEN};
pub use counters::{ClassCounters, Count, Counted, Meter};
pub use delay_cap::{DelayCap, DelayCapParams};
pub use fixed::{FixedRate, FixedRateParams};
pub use pfrc::{Pfrc, PfrcParams};
pub use round_trip::{RoundTrip, RoundTrips};
pub use search::{FirstEstimate, OnChange, SearchMethod};

use crate::family::family;
use crate::{BadParameter, check, check_interval};
use alloc::vec::Vec;
use core::fmt;
use evenair_units::{Duration, Instant, Rate, Volume};

/// The counts of the gateway's own queue for one class during an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClassView {
    /// Packets that came to the queue, dropped or not.
    pub arrived: Volume,
    /// Packets that left it.
    pub served: Volume,
    /// Packets that it gave up.
    pub dropped: Volume,
    /// Packets that wait now.
    pub backlog: Volume,
    /// How many packets had to wait for tokens, of their class or of all, where the host counts packets that do; Linux' HTB
    /// does not, its "overlimits" are changes of mode.
    pub held: Option<u64>,
    /// How long data were outstanding beyond the gateway, if the host measures it: see [`BusyClass`].
    #[cfg_attr(feature = "serde", serde(default, with = "crate::tape::exact"))]
    pub busy: Option<Duration>,
    /// The mean time from data let through to their acknowledgement, if the host measures it and there was
    /// any: see [`RoundTrip`].
    #[cfg_attr(
        feature = "serde",
        serde(default, with = "crate::tape::exact", skip_serializing_if = "Option::is_none")
    )]
    pub delay: Option<Duration>,
    /// How long data have gone to a host of the class without any answer, now, if the host measures it. It is
    /// the least of the hosts that keep the class busy; where there is none, of those that are away. See
    /// [`Answers`].
    #[cfg_attr(
        feature = "serde",
        serde(default, with = "crate::tape::exact", skip_serializing_if = "Option::is_none")
    )]
    pub unanswered: Option<Duration>,
}

impl ClassView {
    /// Whether there was anything of the class at all.
    pub const fn is_seen(&self) -> bool {
        self.arrived.packets > 0 || self.served.packets > 0 || self.backlog.packets > 0
    }

    /// Whether data go to a host that has left: to no other, and without any answer for [`AWAY`].
    pub fn is_away(&self) -> bool {
        self.unanswered.is_some_and(|unanswered| unanswered >= AWAY)
    }

    /// Whether the last data have waited for an answer for so long that a starved class and a host that has
    /// left look the same in this epoch.
    pub fn is_unheard(&self) -> bool {
        self.unanswered.is_some_and(|unanswered| unanswered >= UNHEARD)
    }

    /// Whether it lost half as many packets as it got; no sender that responds to losses does.
    pub fn ignores_losses(&self) -> bool {
        self.dropped.packets as f64 > UNRESPONSIVE * self.served.packets as f64
    }
}

/// A class that loses this share of its rate at its own bucket does not respond; TCP and pages lose a tenth
/// of theirs there.
const UNRESPONSIVE: f64 = 0.5;

/// A law's view after an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GatewayView {
    /// When.
    pub now: Instant,
    /// The time since the law ran last, or since it began.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub interval: Duration,
    /// The classes, in the order of their roles; none, of which nothing is known in this epoch.
    pub classes: Vec<Option<ClassView>>,
}

impl GatewayView {
    /// The counts of a class, if they are known.
    pub fn class(&self, class: usize) -> Option<&ClassView> {
        self.classes.get(class)?.as_ref()
    }

    /// A class's service per time \[bit/s\]; nothing in no time, and of a class that is not known.
    pub fn rate(&self, class: usize) -> f64 {
        let seconds = self.interval.as_secs_f64();
        let bytes = self.class(class).map_or(0, |seen| seen.served.bytes);
        if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
    }
}

/// The direction of a class's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Direction {
    /// To the gateway.
    #[default]
    Up,
    /// From it.
    Down,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "up",
            Self::Down => "down",
        })
    }
}

/// A class, as the operator configures it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClassRole {
    /// Its weight; above zero.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub weight: f64,
    /// The direction of its data.
    pub direction: Direction,
    /// The capacity of the gateway's own link on the class's path, net of the MAC's overhead at full packets, where it is known.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub link_rate: Option<Rate>,
    /// Its subscriber: classes with the same number share one subscriber's due. None: a subscriber of its
    /// own.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub subscriber: Option<u32>,
}

impl Default for ClassRole {
    fn default() -> Self {
        Self { weight: 1.0, direction: Direction::Up, link_rate: None, subscriber: None }
    }
}

/// The gateway that a law's state is made for.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GatewayRole {
    /// Its classes.
    pub classes: Vec<ClassRole>,
}

/// The classes that a gateway has from now on: subscribers came or went, or have another weight or link.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NewClasses {
    /// The gateway as it is now.
    pub role: GatewayRole,
    /// Of each class, its place among the classes before; none, if it has come.
    pub was: Vec<Option<u32>>,
}

impl NewClasses {
    /// Each class's value: the old one, found by its place among the classes before, or `new` for a class
    /// that has come.
    pub fn carry<T: Clone>(&self, before: &[T], new: T) -> Vec<T> {
        debug_assert_eq!(self.was.len(), self.role.classes.len(), "every class came or was there");
        let kept = |was: &Option<u32>| was.and_then(|was| before.get(was as usize)).unwrap_or(&new).clone();
        self.was.iter().map(kept).collect()
    }

    /// Where a class of before is now, if it has not gone.
    pub fn place_of(&self, before: u32) -> Option<u32> {
        self.was.iter().position(|&was| was == Some(before)).map(|class| class as u32)
    }
}

/// The buckets' rates until the next epoch ends.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Allocation {
    /// Of the one bucket; none where there is none.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub total: Option<Rate>,
    /// Of each class's own bucket, in the order of the roles; empty where they have none. Classes that are not active have
    /// the share that they would begin with: the active ones' shares alone make up the estimate of the capacity.
    #[cfg_attr(feature = "serde", serde(with = "crate::tape::exact"))]
    pub each: Vec<Rate>,
    /// The reason for it.
    pub decision: Decision,
}

/// A law's decision, for the gateway's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Decision {
    /// The step that it takes.
    pub step: Step,
    /// Why.
    pub reason: Reason,
    /// Because of which class, if it is one.
    pub class: Option<u32>,
}

/// A law's steps with the capacity that it allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Step {
    /// It begins, or begins again.
    #[default]
    Start,
    /// It allows more.
    Increase,
    /// It allows less.
    Decrease,
    /// It waits.
    Hold,
}

/// Why a law does so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Reason {
    /// As configured, or nothing has been seen yet.
    #[default]
    Configured,
    /// Every class got its given rate, or wanted no more.
    Satisfied,
    /// A class got less than it was given.
    Starved,
    /// A class came.
    Joined,
    /// A class went.
    Left,
    /// There was nothing to see.
    Idle,
    /// The effect of the last change is not to be seen yet.
    Settling,
    /// A class may be starved: the next epoch shows.
    Doubted,
    /// A class seems starved: whether less for all brings it more is tried.
    Tested,
    /// Less for all did bring it more.
    Relieved,
    /// A lower rate for all brought no class more: the class that seemed starved wants no more than it has.
    Content,
    /// The bounds have met.
    Converged,
    /// The operator changed the classes.
    Reconfigured,
    /// The bounds had met long ago; there may be more by now.
    Reopened,
    /// A class does not respond to its limit: it alone wants more, or the law rests and has no other reason.
    Unresponsive,
    /// Nothing is known of a class that is there: the law waits for the next epoch.
    Unknown,
    /// Neither links nor bounds are known: the gateway is open.
    Unbounded,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            Step::Start => "start",
            Step::Increase => "increase",
            Step::Decrease => "decrease",
            Step::Hold => "hold",
        };
        let reason = match self.reason {
            Reason::Configured => "configured",
            Reason::Satisfied => "satisfied",
            Reason::Starved => "starved",
            Reason::Joined => "joined",
            Reason::Left => "left",
            Reason::Idle => "idle",
            Reason::Settling => "settling",
            Reason::Doubted => "doubted",
            Reason::Tested => "tested",
            Reason::Relieved => "relieved",
            Reason::Content => "content",
            Reason::Reconfigured => "reconfigured",
            Reason::Converged => "converged",
            Reason::Reopened => "reopened",
            Reason::Unresponsive => "unresponsive",
            Reason::Unknown => "unknown",
            Reason::Unbounded => "without bounds",
        };
        write!(f, "{step}: {reason}")?;
        self.class.map_or(Ok(()), |class| write!(f, " (class {class})"))
    }
}

/// A law of a gateway.
pub trait GatewayLaw {
    /// The law of a user's own is put in its place; built-in laws are made for theirs.
    fn begin(&mut self, _role: &GatewayRole) {}
    /// An epoch: how often the law runs.
    fn interval(&self) -> Duration;
    /// The rates of the first epoch.
    fn at_start(&self) -> Allocation;
    /// Replaces the classes; returns the rates until the epoch ends. Classes that stay keep their history,
    /// and a search continues. A law of a user's own starts again, unless it overrides this.
    fn on_classes(&mut self, classes: &NewClasses) -> Allocation {
        self.begin(&classes.role);
        self.at_start()
    }
    /// The classes after one more epoch; gives the rates of the next.
    fn on_epoch(&mut self, view: &GatewayView) -> Allocation;
}

family! {
    /// Which law of the gateway, with its parameters.
    parameters GatewayParams,
    /// A law's state at a gateway.
    state AnyGateway: GatewayLaw,
    /// A gateway's law of a user's own.
    own OwnGateway: OwnGatewayLaw,
    place () => GatewayRole,
    tape GatewayTold => GatewayAnswer,
    default None,
    told {
        OnClasses: on_classes(classes: &NewClasses) -> Allocation;
        OnEpoch: on_epoch(view: &GatewayView) -> Allocation;
    }
    asked {
        interval() -> Duration;
        at_start() -> Allocation;
    }
    laws {
        /// The configured value, always.
        Fixed(FixedRateParams => FixedRate),
        /// One bucket for all, its rate found by feedback ([Jam10]'s ARC).
        Arc(ArcParams => Arc),
        /// A bucket for each class, all rates found together by feedback ([Jam10]'s PFRC).
        Pfrc(PfrcParams => Pfrc),
        /// One bucket for all, its rate by delay alone (as cake-autorate and `StormGuard`).
        DelayCap(DelayCapParams => DelayCap),
    }
}

/// The author of the law's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Form {
    /// Ours: a class that wants less is not starved, moves wait for their effect, the bounds open again,
    /// floors hold.
    #[default]
    Corrected,
    /// The algorithms as [Jam10] prints them.
    Thesis,
}

impl Form {
    /// The value that is given, or the usual value of the thesis's form, or of ours.
    fn usual<T>(self, given: Option<T>, thesis: T, corrected: T) -> T {
        given.unwrap_or(match self {
            Self::Thesis => thesis,
            Self::Corrected => corrected,
        })
    }
}

/// The settings that both laws' searches depend on, with nothing left open.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Tuning {
    form: Form,
    search: SearchMethod,
    first: FirstEstimate,
    gamma: f64,
    theta: f64,
    alpha: f64,
    beta: f64,
    epoch: Duration,
    capacity_low: Option<Rate>,
    capacity_high: Option<Rate>,
    floor: f64,
    /// After so many epochs without a packet a class is not active.
    patience: u32,
    settle: u32,
    reopen: Duration,
    /// Whether all classes of a subscriber share its due.
    per_subscriber: bool,
}

/// The parameters of a law that searches: those common to all such laws, and its own. Schemas and errors list
/// them in one table.
macro_rules! searching {
    (
        $(#[$doc:meta])*
        $params:ident {
            $(#[$gamma_doc:meta])* gamma: $gamma_type:ty = $gamma:expr,
            $(#[$theta_doc:meta])* theta,
            $($(#[$own_doc:meta])* $own:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        pub struct $params {
            /// The author of its text.
            pub form: Form,
            /// How the capacity is sought.
            pub search: SearchMethod,
            /// Where the search begins (thesis's form).
            pub first: FirstEstimate,
            $(#[$gamma_doc])*
            pub gamma: $gamma_type,
            $(#[$theta_doc])*
            pub theta: Option<f64>,
            /// The factor by which an exponential search increases.
            pub alpha: f64,
            /// The factor by which an exponential search decreases.
            pub beta: f64,
            /// How often the law runs.
            pub epoch: Duration,
            /// The least capacity, instead of that of section 7.5.2.
            pub capacity_low: Option<Rate>,
            /// The greatest capacity, instead of that of section 7.5.2.
            pub capacity_high: Option<Rate>,
            /// Where the least capacity follows from section 7.5.2, this share of it (corrected form).
            pub floor: f64,
            /// A class is not active after so many epochs without a packet; one, if not given, and three in the corrected form.
            pub patience: Option<u32>,
            /// After a change so many epochs are not judged (corrected form).
            pub settle: u32,
            /// How long bounds that have met stay closed (corrected form).
            pub reopen: Duration,
            /// The effect of a change of the active classes (thesis's form).
            pub on_change: OnChange,
            $($(#[$own_doc])* pub $own: $type,)*
        }

        impl $params {
            /// The default.
            pub const fn corrected() -> Self {
                Self {
                    form: Form::Corrected,
                    search: SearchMethod::Binary,
                    first: FirstEstimate::Low,
                    gamma: $gamma,
                    theta: None,
                    alpha: 1.1,
                    beta: 0.9,
                    epoch: Duration::from_secs(10),
                    capacity_low: None,
                    capacity_high: None,
                    floor: 0.5,
                    patience: None,
                    settle: 1,
                    reopen: Duration::from_secs(300),
                    on_change: OnChange::Step,
                    $($own: $default,)*
                }
            }

            /// The settings that the search depends on, with this γ.
            fn tuned(&self, gamma: f64) -> Tuning {
                let Self { form, search, first, alpha, beta, epoch, floor, settle, reopen, .. } = *self;
                let Self { capacity_low, capacity_high, .. } = *self;
                let (theta, patience) = (Tuning::theta(form, self.theta), form.usual(self.patience, 1, 3));
                Tuning {
                    form, search, first, gamma, theta, alpha, beta, epoch, capacity_low, capacity_high, floor,
                    patience, settle, reopen, per_subscriber: false,
                }
            }
        }

        impl Default for $params {
            fn default() -> Self {
                Self::corrected()
            }
        }
    };
}
use searching;

impl Tuning {
    fn check(&self) -> Result<(), BadParameter> {
        let share = |value: f64| value > 0.0 && value <= 1.0;
        check("gamma", self.gamma, share(self.gamma), "above 0, at most 1")?;
        check("theta", self.theta, share(self.theta), "above 0, at most 1")?;
        check("alpha", self.alpha, self.alpha > 1.0 && self.alpha <= 10.0, "above 1, at most 10")?;
        check("beta", self.beta, self.beta > 0.0 && self.beta < 1.0, "between 0 and 1")?;
        check("floor", self.floor, share(self.floor), "above 0, at most 1")?;
        let patience = (1..=1000).contains(&self.patience);
        check("patience", f64::from(self.patience), patience, "from 1 to 1000")?;
        check("settle", f64::from(self.settle), self.settle <= 100, "at most 100")?;
        check_interval("epoch", self.epoch)?;
        let mut rates = self.capacity_low.into_iter().chain(self.capacity_high);
        check("capacity_high", 0.0, rates.all(|rate| rate.as_bps() > 0), "above 0")?;
        match (self.capacity_low, self.capacity_high) {
            (Some(low), Some(high)) => {
                check("capacity_low", low.as_bps() as f64, low < high, "below capacity_high")
            }
            _ => Ok(()),
        }
    }

    /// θ, if none is given.
    fn theta(form: Form, given: Option<f64>) -> f64 {
        form.usual(given, 0.95, 0.9)
    }

    /// Epochs after which a closed interval opens.
    fn reopen_epochs(&self) -> u32 {
        u32::try_from(self.reopen.whole(self.epoch)).unwrap_or(u32::MAX)
    }
}

/// A rate of a bucket \[bit/s\].
fn rate(bps: f64) -> Rate {
    // No class is closed, and none gets a rate that cannot be written; the cast truncates and maps NaN to
    // zero.
    Rate::from_bps((bps as u64).clamp(1, 1_000_000_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OwnLaw, Parameters};
    use alloc::string::{String, ToString};
    use alloc::vec;

    /// The corrected form's settings for γ = 0.85, as PFRC has them.
    pub(super) fn tuning() -> Tuning {
        PfrcParams::corrected().tuning()
    }

    /// A class that was served so fast in ten seconds \[bit/s\].
    pub(super) fn served(bps: u64) -> ClassView {
        let served = Volume { packets: bps.div_ceil(1_200), bytes: bps * 10 / 8 };
        ClassView { arrived: served, served, ..ClassView::default() }
    }

    /// An epoch of ten seconds.
    pub(super) fn view(classes: &[Option<ClassView>]) -> GatewayView {
        GatewayView { now: Instant::ZERO, interval: Duration::from_secs(10), classes: classes.into() }
    }

    #[test]
    fn class_with_any_packet_is_seen() {
        let one = Volume { packets: 1, bytes: 1_500 };
        assert!(!ClassView::default().is_seen());
        assert!(ClassView { arrived: one, ..ClassView::default() }.is_seen());
        assert!(ClassView { served: one, ..ClassView::default() }.is_seen());
        assert!(ClassView { backlog: one, ..ClassView::default() }.is_seen());
    }

    #[test]
    fn class_losing_more_than_half_ignores_losses() {
        let packets = |packets| Volume { packets, bytes: packets * 1_500 };
        let ignores = |dropped, served| {
            let (dropped, served) = (packets(dropped), packets(served));
            ClassView { served, dropped, ..ClassView::default() }.ignores_losses()
        };
        assert!(ignores(6, 10) && !ignores(5, 10) && !ignores(0, 0));
    }

    /// After a second without an answer the class is not judged, after five its host is away.
    #[test]
    fn class_without_answers_is_unheard_then_away() {
        let told = |unanswered_ms: Option<u64>| {
            let seen =
                ClassView { unanswered: unanswered_ms.map(Duration::from_millis), ..ClassView::default() };
            (seen.is_unheard(), seen.is_away())
        };
        assert_eq!([None, Some(999)].map(told), [(false, false); 2]);
        assert_eq!([1_000, 4_999].map(|ms| told(Some(ms))), [(true, false); 2]);
        assert_eq!(told(Some(5_000)), (true, true));
    }

    #[test]
    fn a_rate_is_of_time() {
        let mut seen = view(&[Some(served(8_000)), None]);
        assert!((seen.rate(0) - 8_000.0).abs() < 1e-9 && seen.rate(1) <= 0.0);
        seen.interval = Duration::ZERO;
        assert!(seen.rate(0) <= 0.0 && seen.rate(1) <= 0.0);
    }

    #[test]
    fn logs_read_as_words() {
        assert_eq!([Direction::Up, Direction::Down].map(|way| way.to_string()), ["up", "down"]);
        let decision = Decision { step: Step::Decrease, reason: Reason::Starved, class: Some(3) };
        assert_eq!(decision.to_string(), "decrease: starved (class 3)");
        assert_eq!(Decision::default().to_string(), "start: configured");
    }

    #[test]
    fn a_class_is_found_where_it_is_now() {
        let classes = NewClasses {
            role: GatewayRole { classes: vec![ClassRole::default(); 3] },
            was: vec![None, Some(2), Some(0)],
        };
        assert_eq!([0, 1, 2].map(|before| classes.place_of(before)), [Some(2), None, Some(1)]);
    }

    /// A law that counts how often it began.
    #[derive(Clone, Debug, Default)]
    struct Beginner(u64);

    impl GatewayLaw for Beginner {
        fn begin(&mut self, _: &GatewayRole) {
            self.0 += 1;
        }
        fn interval(&self) -> Duration {
            Duration::from_secs(1)
        }
        fn at_start(&self) -> Allocation {
            Allocation { total: Some(Rate::from_bps(self.0)), ..Allocation::default() }
        }
        fn on_epoch(&mut self, _: &GatewayView) -> Allocation {
            self.at_start()
        }
    }

    impl OwnLaw for Beginner {
        fn identity(&self) -> String {
            "beginner".into()
        }
    }

    #[test]
    fn own_law_begins_again_with_other_classes() {
        let mut law =
            GatewayParams::from(OwnGateway::new(Beginner::default())).begin(&GatewayRole::default());
        assert_eq!(law.at_start().total, Some(Rate::from_bps(1)));
        assert_eq!(law.on_classes(&NewClasses::default()).total, Some(Rate::from_bps(2)));
    }

    #[test]
    fn each_parameter_of_a_search_has_its_range() {
        let params = PfrcParams { floor: 0.4, ..PfrcParams::default() };
        let range = |key, with: &dyn Fn(f64) -> PfrcParams, good: &[f64], bad: &[f64]| {
            crate::ranges::assert_range(key, with, good, bad);
        };
        let (good, bad) = (&[1e-9, 1.0], &[0.0, -1.0, 1.001, f64::NAN]);
        range("gamma", &|gamma| PfrcParams { gamma: Some(gamma), ..params }, good, bad);
        range("theta", &|theta| PfrcParams { theta: Some(theta), ..params }, good, bad);
        range("floor", &|floor| PfrcParams { floor, ..params }, good, bad);
        range("alpha", &|alpha| PfrcParams { alpha, ..params }, &[1.001, 10.0], &[1.0, 0.5, 10.1, f64::NAN]);
        range("beta", &|beta| PfrcParams { beta, ..params }, &[1e-9, 0.999], &[0.0, -1.0, 1.0, f64::NAN]);
        let settle = |settle| ArcParams { settle, ..ArcParams::default() };
        crate::ranges::assert_range("settle", settle, &[0, 2, 100], &[101]);
        let patience = |patience| PfrcParams { patience: Some(patience), ..params };
        crate::ranges::assert_range("patience", patience, &[1, 1000], &[0, 1001]);
        let kbps = |kbps: Option<u64>| kbps.map(Rate::from_kbps);
        let bounds =
            |(low, high)| PfrcParams { capacity_low: kbps(low), capacity_high: kbps(high), ..params };
        crate::ranges::assert_range(
            "capacity_high",
            bounds,
            &[(None, Some(1))],
            &[(Some(0), None), (None, Some(0))],
        );
        let ordered = &[(Some(1), Some(2)), (Some(9), None)];
        crate::ranges::assert_range(
            "capacity_low",
            bounds,
            ordered,
            &[(Some(2), Some(2)), (Some(3), Some(2))],
        );
    }

    #[test]
    fn laws_run_once_an_epoch() {
        let epoch = Duration::from_secs(7);
        let laws: [GatewayParams; 3] = [
            ArcParams { epoch, ..ArcParams::default() }.into(),
            PfrcParams { epoch, ..PfrcParams::default() }.into(),
            DelayCapParams { epoch, ..DelayCapParams::default() }.into(),
        ];
        for law in laws {
            assert_eq!(law.begin(&GatewayRole::default()).interval(), epoch, "{law:?}");
        }
        assert_eq!(tuning().reopen_epochs(), 30);
    }
}
