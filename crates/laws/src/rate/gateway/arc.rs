//! ARC: one bucket for all, its rate found by feedback.
//!
//! # Law
//! Each epoch: if `r_i/r_j < γ` and `r_i/rmax_i < θ` for any active classes i, j, less; else more.
//!
//! # Source
//! [Jam10] sections 7.4 and 7.5 (J11), Alg. 1, Alg. 2, Alg. 3.
//!
//! # Symbols
//! `r_i` → served of a class per epoch \[bit/s\]; `rmax_i` → `greatest` \[bit/s\]; `γ`, `θ` → [`ArcParams::gamma`],
//! [`ArcParams::theta`]; `δ` → [`ArcParams::epoch`]; `α`, `β` → [`ArcParams::alpha`], [`ArcParams::beta`]; `C_est`, `C_low`,
//! `C_up` → `search` \[bit/s\].
//!
//! # Signals
//! What was served of each class, and whether there was a packet of it; the corrected form also what was dropped and waits.
//!
//! # Deviations
//! TODO
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::rate::gateway::{ArcParams, ClassRole, GatewayLaw, GatewayRole};
//! use evenair_units::Rate;
//! let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
//! let law = ArcParams::default().begin(&GatewayRole { classes: [class; 3].into() });
//! // Half way between W/3 and W.
//! assert_eq!(law.at_start().total, Some(Rate::from_kbps(600)));
//! ```

use super::feedback::{Epoch, Feedback};
use super::members::{Change, Members};
use super::search::Search;
use super::{
    Allocation, CapacityBounds, ClassView, Decision, Form, GatewayLaw, GatewayRole, GatewayView, OnChange,
    Reason, SearchMethod, Step, Tuning, check_bounds, rate,
};
use crate::{BadParameter, Parameters, check};
use alloc::vec::Vec;
use evenair_units::{Duration, Rate};

/// What the thesis's form compares a class's rate with: Alg. 1 and its text differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum RateHistory {
    /// Its greatest so far, as the text of section 7.4.2 says.
    #[default]
    Maximum,
    /// Its last before an increase, as Alg. 1 is printed.
    Overwritten,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ArcParams {
    /// Whose text it follows.
    pub form: Form,
    /// How the capacity is sought.
    pub search: SearchMethod,
    /// Below this share of the best class's rate a class may be starved.
    pub gamma: f64,
    /// Below this share of what it was seen to get such a class is starved.
    pub theta: Option<f64>,
    /// What an exponential search increases by.
    pub alpha: f64,
    /// What an exponential search decreases by.
    pub beta: f64,
    /// How often the law runs.
    pub epoch: Duration,
    /// The least capacity, instead of that of section 7.5.2.
    pub capacity_low: Option<Rate>,
    /// The greatest capacity, instead of that of section 7.5.2.
    pub capacity_high: Option<Rate>,
    /// A class is not active after so many epochs without a packet; one, if not given, and three in the corrected form.
    pub patience: Option<u32>,
    /// After a change so many epochs are not judged (corrected form).
    pub settle: u32,
    /// How long bounds that have met stay closed (corrected form).
    pub reopen: Duration,
    /// What a change of the active classes does (thesis's form).
    pub on_change: OnChange,
    /// What a class's rate is compared with (thesis's form).
    pub history: RateHistory,
}

impl ArcParams {
    /// [Jam10] section 7.6: δ = 10 s, γ = 0.9, θ = 0.95, binary search; α and β of section 7.7. The rest is ours.
    pub const fn jam10() -> Self {
        Self { form: Form::Thesis, ..Self::corrected() }
    }

    /// The default.
    pub const fn corrected() -> Self {
        Self {
            form: Form::Corrected,
            search: SearchMethod::Binary,
            gamma: 0.9,
            theta: None,
            alpha: 1.1,
            beta: 0.9,
            epoch: Duration::from_secs(10),
            capacity_low: None,
            capacity_high: None,
            patience: None,
            settle: 1,
            reopen: Duration::from_secs(300),
            on_change: OnChange::Restart,
            history: RateHistory::Maximum,
        }
    }

    fn tuning(&self) -> Tuning {
        let theta = self.theta();
        let Self { search, gamma, alpha, beta, epoch, settle, reopen, .. } = *self;
        let reopen_epochs = u32::try_from(reopen.whole(epoch)).unwrap_or(u32::MAX);
        Tuning { search, gamma, theta, alpha, beta, epoch, settle, reopen_epochs }
    }

    fn theta(&self) -> f64 {
        let usual = if self.form == Form::Thesis { 0.95 } else { 0.9 };
        self.theta.unwrap_or(usual)
    }

    fn patience(&self) -> u32 {
        let usual = if self.form == Form::Thesis { 1 } else { 3 };
        self.patience.unwrap_or(usual)
    }
}

impl Default for ArcParams {
    fn default() -> Self {
        Self::corrected()
    }
}

impl Parameters for ArcParams {
    type Surroundings = ();
    type Place = GatewayRole;
    type Law = Arc;

    fn validated(self) -> Result<Self, BadParameter> {
        self.tuning().check()?;
        let patience = self.patience();
        check("patience", f64::from(patience), (1..=1000).contains(&patience), "from 1 to 1000")?;
        check_bounds(self.capacity_low, self.capacity_high)?;
        Ok(self)
    }

    fn begin(&self, role: &GatewayRole) -> Arc {
        let members = Members::new(role, self.patience());
        let bounds = members.bounds(self.capacity_low, self.capacity_high);
        let state = bounds.map(|bounds| match self.form {
            Form::Thesis => State::Thesis(Search::new(&self.tuning(), bounds)),
            Form::Corrected => State::Corrected(Feedback::new(self.tuning(), bounds, &members)),
        });
        let greatest = alloc::vec![0.0; members.len()];
        Arc { params: *self, members, state, greatest }
    }
}

/// The law's state at one gateway.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Arc {
    params: ArcParams,
    members: Members,
    /// None without bounds.
    state: Option<State>,
    /// `rmax_i` of the thesis's form, zero before there is one \[bit/s\].
    greatest: Vec<f64>,
}

/// The search, in either form.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum State {
    Thesis(Search),
    Corrected(Feedback),
}

/// Whether the gateway was a class's bottleneck: its own queue was full, or is not empty. That packets had to wait says nothing
/// where one bucket is for all.
const fn limited(seen: &ClassView) -> bool {
    seen.dropped.packets > 0 || seen.backlog.packets > 1
}

impl Arc {
    /// The thesis's form.
    fn thesis(
        &mut self,
        view: &GatewayView<'_>,
        change: Change,
        bounds: CapacityBounds,
    ) -> (Step, Reason, Option<u32>) {
        let Some(State::Thesis(search)) = &mut self.state else { unreachable!("asked of the thesis's form") };
        let measured = self.members.measured(view);
        let reason = if change.joined.is_some() { Reason::Joined } else { Reason::Left };
        if let Some(class) = change.class() {
            // Section 7.5.1: the greatest rates are those of another set.
            self.greatest.fill(0.0);
            if change.is_first || self.params.on_change == OnChange::Restart {
                search.restart(bounds);
                return (Step::Start, reason, Some(class));
            }
        }
        // [Jam10] Alg. 1, with the text's "any".
        let best = self.members.sharing().map(|class| view.rate(class)).fold(0.0, f64::max);
        let is_starved = |&class: &usize| {
            let rate = view.rate(class);
            rate < self.params.gamma * best && rate < self.params.theta() * self.greatest[class]
        };
        let starved = self.members.sharing().find(is_starved);
        if self.params.history == RateHistory::Maximum || starved.is_none() {
            for class in self.members.sharing() {
                let rate = view.rate(class);
                let greatest = &mut self.greatest[class];
                *greatest =
                    if self.params.history == RateHistory::Maximum { greatest.max(rate) } else { rate };
            }
        }
        match starved {
            Some(class) => {
                search.decrease(measured);
                (Step::Decrease, Reason::Starved, Some(class as u32))
            }
            None => {
                search.increase(measured);
                (Step::Increase, Reason::Satisfied, None)
            }
        }
    }

    fn allocation(&self, (step, reason, class): (Step, Reason, Option<u32>)) -> Allocation {
        let estimate = self.state.as_ref().map(|state| match state {
            State::Thesis(search) => search.estimate,
            State::Corrected(search) => search.estimate,
        });
        Allocation { total: estimate.map(rate), each: Vec::new(), decision: Decision { step, reason, class } }
    }

    /// What each is due: as much as the best, by weight.
    fn due(&self, view: &GatewayView<'_>) -> Vec<f64> {
        let members = &self.members;
        let best =
            members.sharing().map(|class| view.rate(class) / members.weight(class)).fold(0.0, f64::max);
        (0..members.len()).map(|class| best * members.weight(class)).collect()
    }
}

impl GatewayLaw for Arc {
    fn interval(&self) -> Duration {
        self.params.epoch
    }

    fn at_start(&self) -> Allocation {
        let reason = if self.state.is_some() { Reason::Configured } else { Reason::Unbounded };
        self.allocation((Step::Start, reason, None))
    }

    fn on_epoch(&mut self, view: &GatewayView<'_>) -> Allocation {
        let bounds = self.members.bounds(self.params.capacity_low, self.params.capacity_high);
        let (Some(_), false) = (bounds, view.interval.is_zero()) else {
            let reason = if bounds.is_some() { Reason::Idle } else { Reason::Unbounded };
            return self.allocation((Step::Hold, reason, None));
        };
        let change = self.members.observe(view);
        let bounds = self.members.bounds(self.params.capacity_low, self.params.capacity_high).or(bounds);
        let (Some(bounds), true) = (bounds, self.members.any_active()) else {
            return self.allocation((Step::Hold, Reason::Idle, None));
        };
        let due = self.due(view);
        let verdict = match &mut self.state {
            Some(State::Corrected(search)) => {
                let epoch = Epoch { view, members: &self.members, change, due: &due, limited };
                search.on_epoch(&epoch, bounds)
            }
            _ => self.thesis(view, change, bounds),
        };
        self.allocation(verdict)
    }
}
