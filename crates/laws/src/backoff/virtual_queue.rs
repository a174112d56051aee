//! Virtual-queue optimal CSMA: aggressiveness in proportion to a virtual queue, VQ-oCSMA.
//!
//! # Law
//! Each link counts a queue that a logarithmic utility fills and its real service empties, frame by frame,
//! `vq ← max(vq + V/vq − S, vq_min)`, and sets back-off and holding time so that `p·μ = exp(b·vq)`. The real queue may be
//! TCP's and run empty: the virtual one stays as high as it is.
//!
//! # Source
//! [Lee12] eq. (2), Fig 2, section III-B (L4); its rendering on 802.11 hardware (L6) is ours.
//!
//! # Symbols
//! `b` → [`UtilityQueue::weight`]; `V` → [`UtilityQueue::utility`]; `vq_min` → [`UtilityQueue::least`]; a frame →
//! [`VirtualQueueParams::frame`]; `S` → [`LinkView::service`], dummies counted; `p`, `μ` → [`Intensity`].
//!
//! # Signals
//! The own link's service, frame by frame; whether anything has come; of its queue, whether TCP takes it.
//!
//! # Deviations
//! The letter leaves open, and we choose (studies/lee12/open-points sweeps all of it):
//! - the frame's length and the unit of `vq`: 10 ms and packets, as in [`optimal`](super::optimal);
//! - which of `p` and `μ` adapts: `p`, "for a given μ" (section II), which is the packet's airtime;
//! - the first `vq`: `vq_min`, from which (2) jumps to 501 in its first frame ([`VirtualQueueParams::start`]);
//! - when it starts: in the frame in which the first packet comes to the queue. At the source that is "the first TCP DATA packet"
//!   that finds it empty; links of relays and of acknowledgements ("delivered through the same MAC scheme") begin with
//!   their own first packet;
//! - which links have one: those that TCP takes, since its packet "triggers the update" (Fig 2); the others are oCSMA's, with
//!   their real queue ([`VirtualQueueParams::links`]);
//! - frames of an empty queue while `vq` is high: none; dummy packets are an option, and count as service;
//! - when its growth stops (unserved it is `√(2V·t)`): never, as (2) has no end. [`WhileEmpty::Hold`] and
//!   [`VirtualQueueParams::most`] are there to compare with: a link that has been idle for five minutes has `vq = 5500` and keeps
//!   the air to itself for eight seconds when it wakes up.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::{BackoffLaw, LinkRole, LinkView, VirtualQueueParams};
//! use evenair_units::Volume;
//! let mut law = VirtualQueueParams::lee12().begin(&LinkRole::data(Default::default()));
//! let arrivals = Volume { packets: 1, bytes: 1064 };
//! law.on_update(&LinkView { arrivals, ..LinkView::default() }); // nothing was served: 1 + 500/1
//! assert!((law.aggressiveness().unwrap() - 0.01 * 501.0).abs() < 1e-12);
//! ```

use super::{Access, BackoffLaw, Intensity, LinkRole, LinkView, QueueMeasure, Scope, Space, Surroundings};
use crate::{BadParameter, Parameters, check, check_interval};
use evenair_units::{Bytes, Duration, Volume};

/// A queue that a logarithmic utility fills: the numbers of (2) and `p·μ = exp(b·vq)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UtilityQueue {
    /// b: aggressiveness per unit of queue.
    #[cfg_attr(feature = "serde", serde(rename = "b"))]
    pub weight: f64,
    /// V: how much the utility counts.
    #[cfg_attr(feature = "serde", serde(rename = "v"))]
    pub utility: f64,
    /// The least virtual queue.
    #[cfg_attr(feature = "serde", serde(rename = "vq_min"))]
    pub least: f64,
}

impl UtilityQueue {
    /// [Lee12] section IV: b = 0.01, V = 500, `vq_min` = 1.
    pub const fn lee12() -> Self {
        Self { weight: 0.01, utility: 500.0, least: 1.0 }
    }

    /// `A = V/q`: packets that a utility-based source sends in a frame, with log utility ([Lee12] section
    /// II).
    pub fn arrivals(&self, queue: f64) -> f64 {
        self.utility / queue
    }

    /// `b·q`, the logarithm of `p·μ`.
    pub fn aggressiveness(&self, queue: f64) -> f64 {
        self.weight * queue
    }

    /// The fluid face, [Lee12] eq. (2) per frame: `q̇ = V/q − S`. The bound, [`Self::least`], is the host's to keep.
    pub fn drift(&self, queue: f64, service: f64) -> f64 {
        self.arrivals(queue) - service
    }

    /// Checks them.
    ///
    /// # Errors
    /// Names the first one outside its range.
    pub fn validated(self) -> Result<Self, BadParameter> {
        let Self { weight, utility, least } = self;
        check("b", weight, weight > 0.0 && weight.is_finite(), "above 0")?;
        check("v", utility, utility > 0.0 && utility.is_finite(), "above 0")?;
        check("vq_min", least, least > 0.0 && least.is_finite(), "above 0")?;
        Ok(self)
    }
}

impl Default for UtilityQueue {
    fn default() -> Self {
        Self::lee12()
    }
}

/// A virtual queue's behaviour while the real one is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum WhileEmpty {
    /// It grows as in (2).
    #[default]
    Grow,
    /// It stays where it is.
    Hold,
}

/// Which links have a virtual queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Links {
    /// The queues that TCP takes, its acknowledgements counted; the real queue drives the others.
    #[default]
    Tcp,
    /// All.
    All,
}

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VirtualQueueParams {
    /// The virtual queue.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub queue: UtilityQueue,
    /// Where the virtual queue starts; by default at its least.
    #[cfg_attr(feature = "serde", serde(rename = "vq_start", skip_serializing_if = "Option::is_none"))]
    pub start: Option<f64>,
    /// Where it stops growing; nowhere, if it is not given.
    #[cfg_attr(feature = "serde", serde(rename = "vq_max", skip_serializing_if = "Option::is_none"))]
    pub most: Option<f64>,
    /// Its behaviour while the real queue is empty.
    pub while_empty: WhileEmpty,
    /// Which links have one.
    pub links: Links,
    /// A frame of the letter: how often the queue is updated.
    #[cfg_attr(feature = "serde", serde(rename = "interval"))]
    pub frame: Duration,
    /// The unit of service.
    pub measure: QueueMeasure,
    /// Send dummy packets when the real queue is empty, once the virtual one has started; they count as service.
    pub dummies: bool,
    /// How `p·μ` is rendered.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub intensity: Intensity,
}

impl VirtualQueueParams {
    /// [Lee12] section IV: b = 0.01, V = 500, `vq_min` = 1.
    pub const fn lee12() -> Self {
        Self {
            queue: UtilityQueue::lee12(),
            start: None,
            most: None,
            while_empty: WhileEmpty::Grow,
            links: Links::Tcp,
            frame: Duration::from_millis(10),
            measure: QueueMeasure::Packets,
            dummies: false,
            intensity: Intensity::lee12(),
        }
    }
}

impl Default for VirtualQueueParams {
    fn default() -> Self {
        Self::lee12()
    }
}

impl Parameters for VirtualQueueParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = VirtualQueue;

    fn validated(self) -> Result<Self, BadParameter> {
        let queue = self.queue.validated()?;
        let (start, most) = (self.start.unwrap_or(queue.least), self.most.unwrap_or(f64::MAX));
        check("vq_max", most, most >= queue.least && most.is_finite(), "vq_min or more, and finite")?;
        check("vq_start", start, (queue.least..=most).contains(&start), "from vq_min to vq_max")?;
        check_interval("interval", self.frame)?;
        Ok(Self { intensity: self.intensity.validated()?, ..self })
    }

    fn resolve(&mut self, surroundings: &Surroundings) {
        self.start.get_or_insert(self.queue.least);
        self.intensity.resolve(surroundings);
    }

    fn begin(&self, role: &LinkRole) -> VirtualQueue {
        let is_virtual = self.links == Links::All || role.carries_tcp;
        let mut params = *self;
        params.resolve(&role.surroundings);
        VirtualQueue {
            params,
            role: *role,
            is_virtual,
            started: false,
            queue: if is_virtual { self.start.unwrap_or(self.queue.least) } else { 0.0 },
        }
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VirtualQueue {
    params: VirtualQueueParams,
    role: LinkRole,
    /// If not, the queue is the real one.
    is_virtual: bool,
    /// A packet has come.
    started: bool,
    /// `vq`, or `q`.
    queue: f64,
}

impl VirtualQueue {
    /// [Lee12] eq. (2), at the end of a frame in which so much was served.
    fn on_frame(&mut self, service: f64) {
        let VirtualQueueParams { queue, most, .. } = self.params;
        let next = self.queue + queue.drift(self.queue, service);
        self.queue = next.min(most.unwrap_or(f64::MAX)).max(queue.least);
    }
}

impl BackoffLaw for VirtualQueue {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.frame)
    }

    fn on_update(&mut self, link: &LinkView) {
        let count = |volume: Volume| self.params.measure.count(volume, &self.role);
        if !self.is_virtual {
            self.queue = count(link.backlog); // [Lee12] eq. (1)
            return;
        }
        self.started |= link.arrivals.packets > 0;
        let service = count(link.service) + count(link.dummies);
        let is_idle = link.backlog.packets == 0 && service <= 0.0;
        if self.started && !(is_idle && self.params.while_empty == WhileEmpty::Hold) {
            self.on_frame(service);
        }
    }

    /// [Lee12] Alg. 1 line 3, with `vq` for `q`.
    fn access(&self) -> Access {
        self.params.intensity.access(self.params.queue.aggressiveness(self.queue), &self.role)
    }

    fn space(&self) -> Space {
        self.params.intensity.space()
    }

    fn dummy_packet(&self) -> Option<Bytes> {
        (self.params.dummies && self.started).then_some(self.role.surroundings.packet.payload)
    }

    /// `b·vq`.
    fn aggressiveness(&self) -> Option<f64> {
        Some(self.params.queue.aggressiveness(self.queue))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Draw;
    use crate::conformance::drift;
    use crate::ranges::{POSITIVE, assert_range};

    fn begin(params: VirtualQueueParams) -> VirtualQueue {
        params.validated().unwrap().begin(&LinkRole::data(Surroundings::default()))
    }

    fn arrivals(packets: u64) -> LinkView {
        LinkView { arrivals: Volume { packets, bytes: packets * 1064 }, ..LinkView::default() }
    }

    #[test]
    fn unserved_it_grows_like_a_root() {
        // [Lee12] eq. (2): √(2Vt), after a first frame that takes it to 501
        let mut law = begin(VirtualQueueParams::lee12());
        (0..10_000).for_each(|_| law.on_frame(0.0));
        let expected = libm::sqrt(501.0 * 501.0 + 2.0 * 500.0 * 9_999.0);
        assert!((law.queue / expected - 1.0).abs() < 1e-3, "{} {expected}", law.queue);
        let mut bounded = begin(VirtualQueueParams { most: Some(600.0), ..VirtualQueueParams::lee12() });
        (0..10_000).for_each(|_| bounded.on_frame(0.0));
        assert!((bounded.queue - 600.0).abs() < 1e-9);
    }

    #[test]
    fn step_is_the_drift_and_stops_at_the_least() {
        let params = VirtualQueueParams::lee12();
        let mut law = VirtualQueue { queue: 300.0, ..begin(params) };
        let per_frame = params.queue.drift(300.0, 4.0);
        drift(&law, |law| law.queue, &[(1.0, &|law| law.on_frame(4.0))], per_frame, 1e-12);
        // A frame in which six packets are served with probability 1/3, and none else.
        let mean = params.queue.drift(300.0, 2.0);
        let six = |law: &mut VirtualQueue| law.on_frame(6.0);
        let none = |law: &mut VirtualQueue| law.on_frame(0.0);
        drift(&law, |law| law.queue, &[(1.0 / 3.0, &six), (2.0 / 3.0, &none)], mean, 1e-12);
        law.on_frame(1e6);
        assert!((law.queue - 1.0).abs() < 1e-12);
    }

    #[test]
    fn holding_over_back_off_is_exponential_in_queue() {
        // [Lee12] Alg. 1: p·μ = exp(b·q); at vq = 501, b = 0.01 the mean back-off is e^-5.01 of the airtime.
        let mut law = begin(VirtualQueueParams::lee12());
        law.on_update(&arrivals(1));
        let Draw::ExponentialOfFrame { factor, .. } = law.access().draw else { panic!("{law:?}") };
        assert!((1.0 / factor / libm::exp(5.01) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn first_packet_starts_it_empty_queue_keeps_it() {
        let mut law = begin(VirtualQueueParams { dummies: true, ..VirtualQueueParams::lee12() });
        law.on_update(&LinkView::default());
        assert!((law.queue - 1.0).abs() < 1e-12 && law.dummy_packet().is_none(), "nothing has come");
        law.on_update(&arrivals(1));
        assert!((law.queue - 501.0).abs() < 1e-12);
        assert_eq!(law.dummy_packet(), Some(Surroundings::default().packet.payload));
        let mut held =
            begin(VirtualQueueParams { while_empty: WhileEmpty::Hold, ..VirtualQueueParams::lee12() });
        held.on_update(&arrivals(1));
        let high = held.queue;
        held.on_update(&LinkView::default());
        law.on_update(&LinkView::default());
        assert!(law.queue > 501.9 && (held.queue - high).abs() < 1e-12, "one grows, one holds");
        // A dummy is service like any other.
        let dummies = Volume { packets: 3, bytes: 3_000 };
        let before = law.queue;
        law.on_update(&LinkView { dummies, ..LinkView::default() });
        assert!((law.queue - before - (500.0 / before - 3.0)).abs() < 1e-12);
    }

    #[test]
    fn links_without_tcp_follow_their_real_queue() {
        let role = LinkRole { carries_tcp: false, ..LinkRole::data(Surroundings::default()) };
        let backlog = Volume { packets: 70, bytes: 74_480 };
        let view = LinkView { backlog, ..arrivals(3) };
        let mut law = VirtualQueueParams::lee12().begin(&role);
        law.on_update(&view);
        assert!((law.queue - 70.0).abs() < 1e-12);
        let mut law = VirtualQueueParams { links: Links::All, ..VirtualQueueParams::lee12() }.begin(&role);
        law.on_update(&view);
        assert!((law.queue - 501.0).abs() < 1e-12);
    }

    #[test]
    fn bounds_in_the_wrong_order_are_refused() {
        let bad = |params: VirtualQueueParams| params.validated().unwrap_err().name;
        assert_eq!(bad(VirtualQueueParams { most: Some(0.5), ..VirtualQueueParams::lee12() }), "vq_max");
        assert_eq!(bad(VirtualQueueParams { start: Some(0.5), ..VirtualQueueParams::lee12() }), "vq_start");
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = VirtualQueueParams::lee12();
        let (good, bad) = POSITIVE;
        let with = |queue| VirtualQueueParams { queue, ..params };
        assert_range("b", |weight| with(UtilityQueue { weight, ..params.queue }), good, bad);
        assert_range("v", |utility| with(UtilityQueue { utility, ..params.queue }), good, bad);
        assert_range("vq_min", |least| with(UtilityQueue { least, ..params.queue }), good, bad);
        let aifsn =
            |aifsn| VirtualQueueParams { intensity: Intensity { aifsn, ..params.intensity }, ..params };
        assert_range("aifsn", aifsn, &[1, 15], &[0, 16]);
        let interval = |us| VirtualQueueParams { frame: Duration::from_micros(us), ..params };
        assert_range("interval", interval, &[10], &[0, 9]);
        let start = |start| VirtualQueueParams { start: Some(start), most: Some(9.0), ..params };
        assert_range("vq_start", start, &[1.0, 9.0], &[0.9, 9.1, f64::NAN]);
    }

    #[test]
    fn starts_at_its_least_by_default() {
        let mut params = VirtualQueueParams::lee12();
        params.resolve(&Surroundings::default());
        assert_eq!(params.start, Some(1.0));
    }

    /// A queue that waits while nothing is served grows by (2) also where an idle one is held: 501 + 500/501.
    #[test]
    fn a_queue_that_waits_is_not_idle() {
        let mut law =
            begin(VirtualQueueParams { while_empty: WhileEmpty::Hold, ..VirtualQueueParams::lee12() });
        let backlog = Volume { packets: 1, bytes: 1064 };
        law.on_update(&LinkView { backlog, ..arrivals(1) });
        law.on_update(&LinkView { backlog, ..LinkView::default() });
        assert!((law.queue - (501.0 + 500.0 / 501.0)).abs() < 1e-12);
        assert!((law.aggressiveness().unwrap() - 0.01 * law.queue).abs() < 1e-15);
    }
}
