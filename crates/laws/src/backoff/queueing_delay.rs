//! Queueing-delay CSMA: aggressiveness in proportion to how long the queue takes.
//!
//! # Law
//! `ρ = b·q`: a link of capacity `b` with a queueing delay `q` backs off for `exp(−b·q)/b` in the mean. In
//! practice `q` is estimated by `QueLEN/AveR`. On ideal CSMA the mean is that of an exponential, on 802.11
//! that of a contention window ([`contention`](super::contention)).
//!
//! # Source
//! [QCSMA] eq. (13), (14), (18).
//!
//! # Symbols
//! `b` → one over the time that the link's own packet needs ([`QueueingDelayParams::capacity`]) \[packets/s\]; `q` \[s\];
//! `QueLEN` → [`LinkView::backlog`] \[packets\]; `AveR` → `average_rate`, low-pass filtered \[packets/s\]; the filter's memory →
//! [`QueueingDelayParams::memory`].
//!
//! # Signals
//! The link's own backlog, and its service.
//!
//! # Deviations
//! - The paper only has `AveR` filtered as the round-trip time of its (17) is, which keeps 31/32 per sample
//!   (damaged in our copy). It leaves the sampling interval open: [`QueueingDelayParams::interval`], 10 ms,
//!   is ours. It begins at `b`. `ρ` stops at 700, where `exp(−ρ)` leaves the range of numbers.
//! - `b` is "the interference-free capacity", one of fluid packets. Ours is the link's own, at its own rate and of its own
//!   packets, all that a packet costs the medium counted: then `1/b` is how long the medium is held, as eq. (1) has it. Where packets share frames that is the aggregate's time, and a
//!   packet's part of it is far less: [`CapacityUnit::Frame`] makes the aggregate the unit, of the back-off and of `ρ` alike.
//! - [`QueueingDelayParams::scale`], 1 in the paper, multiplies `ρ`. Problem (2) has one unit, the packet.
//!   `ρ = s·b·q` with windows that keep `p` packets waiting rests where `ρ = b·q` with `s·p` does, but with
//!   queues `1/s` as long; their randomness counts as much less. The paper's own `p = 200` makes `ρ` hundreds
//!   ([`AGGRESSIVENESS_MAX`] is soon reached).
//! - A link has a queue of its own, as in problem (2). The paper also gives each transmitter a single queue for all incoming
//!   traffic (section II-B), which may be the link's or the node's: [`QueueingDelayParams::queues`].
//! - On 802.11e hardware ([`Execution::Hardware`]) the window is the one of 2^k − 1 slots with the nearest mean, by ratio, not
//!   below `CWmin`, and the packet is held alone, as in the paper's windows.
//! - In the paper's model a link with an empty queue contends nevertheless, with `ρ = 0`. Ours is silent then, as any
//!   transmitter is; with [`QueueingDelayParams::dummies`] it sends dummy packets.
//!
//! # Example
//! ```
//! use evenair_laws::Parameters;
//! use evenair_laws::backoff::queueing_delay::QueueingDelayParams;
//! use evenair_laws::backoff::{BackoffLaw, LinkRole, LinkView};
//! use evenair_units::Volume;
//! let mut law = QueueingDelayParams { memory: 0.0, ..Default::default() }.begin(&LinkRole::data(Default::default()));
//! // Ten packets wait; in 10 ms one was served of the 7.5 that the link could have, at 1.33 ms each: ρ = 10·7.5/1.
//! let (backlog, service) = (Volume { packets: 10, bytes: 10_400 }, Volume { packets: 1, bytes: 1_040 });
//! let interval = law.update_interval().unwrap();
//! law.on_update(&LinkView { interval, backlog, service, ..LinkView::default() });
//! assert!((law.aggressiveness().unwrap() - 75.1).abs() < 0.1);
//! ```

use super::contention::{
    AGGRESSIVENESS_MAX, BackoffForm, CapacityUnit, Contention, QueuesOf, check_window_max,
};
use super::intensity::{check_aifsn, check_register};
use super::{Access, BackoffLaw, Dcf, Execution, LinkRole, LinkView, Scope, Space, Surroundings};
use crate::{BadParameter, Parameters, check, check_interval};
use evenair_units::{Bytes, Duration};

/// Parameters of the law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct QueueingDelayParams {
    /// The factor of the aggressiveness; 1 is the paper's.
    pub scale: f64,
    /// How much of the average rate each interval keeps, from 0 to 1.
    pub memory: f64,
    /// The interval between two readings of the queue.
    pub interval: Duration,
    /// The unit of the link's capacity.
    pub capacity: CapacityUnit,
    /// Exponential back-offs, or contention windows; by default the former on ideal CSMA, the latter on 802.11.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub form: Option<BackoffForm>,
    /// Window that failures end at [slots]; by default the physical layer's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_max: Option<u32>,
    /// Send dummy packets when a queue of data is empty.
    pub dummies: bool,
    /// A queue for each next hop, or one for the node.
    pub queues: QueuesOf,
    /// The means that execute it; hardware's registers take the place of `form`.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Execution::is_continuous"))]
    pub execution: Execution,
    /// The least window that hardware is given, 2^k − 1 [slots]; by default the physical layer's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub window_min: Option<u32>,
    /// AIFSN of hardware; by default 2, DCF's.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub aifsn: Option<u32>,
}

impl QueueingDelayParams {
    /// [QCSMA]'s filter, every 10 ms.
    pub const fn qcsma() -> Self {
        Self {
            scale: 1.0,
            memory: 31.0 / 32.0,
            interval: Duration::from_millis(10),
            capacity: CapacityUnit::Exchange,
            form: None,
            window_max: None,
            dummies: false,
            queues: QueuesOf::PerNextHop,
            execution: Execution::Continuous,
            window_min: None,
            aifsn: None,
        }
    }

    fn least_window(&self, surroundings: &Surroundings) -> u32 {
        self.window_min.unwrap_or(Dcf::of(surroundings.physical_layer).window_min)
    }
}

impl Default for QueueingDelayParams {
    fn default() -> Self {
        Self::qcsma()
    }
}

impl Parameters for QueueingDelayParams {
    type Surroundings = Surroundings;
    type Place = LinkRole;
    type Law = QueueingDelay;

    fn validated(self) -> Result<Self, BadParameter> {
        check("scale", self.scale, self.scale >= 0.0 && self.scale.is_finite(), "0 or more, and finite")?;
        check("memory", self.memory, (0.0..1.0).contains(&self.memory), "0 or more, and below 1")?;
        check_interval("interval", self.interval)?;
        check_window_max(self.window_max)?;
        if self.execution == Execution::Hardware {
            let most = self.window_max.unwrap_or(1023);
            check_register("window_max", most)?;
            let least = self.window_min.unwrap_or(most);
            check_register("window_min", least)?;
            check("window_min", f64::from(least), least <= most, "at most window_max")?;
        }
        check_aifsn(self.aifsn.unwrap_or(2))?;
        Ok(self)
    }

    fn resolve(&mut self, surroundings: &Surroundings) {
        self.form.get_or_insert(BackoffForm::of(surroundings));
        self.window_max.get_or_insert(Dcf::of(surroundings.physical_layer).window_max);
        if self.execution == Execution::Hardware {
            self.window_min = Some(self.least_window(surroundings));
        }
    }

    fn begin(&self, role: &LinkRole) -> QueueingDelay {
        let mut params = *self;
        params.resolve(&role.surroundings);
        let contention = Contention::new(role, self.capacity, self.form, self.window_max);
        let dummy = (self.dummies && !role.acknowledgements_only).then_some(role.packet.size);
        let average_rate = contention.capacity();
        QueueingDelay { params, contention, dummy, average_rate, aggressiveness: 0.0 }
    }
}

/// The law's state at one link.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueingDelay {
    params: QueueingDelayParams,
    contention: Contention,
    dummy: Option<Bytes>,
    /// `AveR` \[packets/s\].
    average_rate: f64,
    aggressiveness: f64,
}

impl BackoffLaw for QueueingDelay {
    fn scope(&self) -> Scope {
        self.params.queues.scope()
    }

    fn update_interval(&self) -> Option<Duration> {
        Some(self.params.interval)
    }

    /// [QCSMA] eq. (18).
    fn on_update(&mut self, link: &LinkView) {
        let rate = link.service.packets as f64 / link.interval.as_secs_f64().max(1e-9);
        self.average_rate = self.params.memory * self.average_rate + (1.0 - self.params.memory) * rate;
        let delay = link.backlog.packets as f64 / self.average_rate.max(1e-300);
        let full = aggressiveness(self.contention.capacity(), delay);
        self.aggressiveness = (self.params.scale * full).min(AGGRESSIVENESS_MAX);
        debug_assert!((0.0..=AGGRESSIVENESS_MAX).contains(&self.aggressiveness));
    }

    fn access(&self) -> Access {
        match (self.params.execution, self.params.window_min) {
            (Execution::Hardware, Some(least)) => self.contention.registers(self.aggressiveness, least),
            _ => self.contention.access(self.aggressiveness),
        }
    }

    fn space(&self) -> Space {
        match self.params.execution {
            Execution::Continuous => Space::Difs,
            Execution::Hardware => Space::Aifs { slots: self.params.aifsn.unwrap_or(2) },
        }
    }

    fn dummy_packet(&self) -> Option<Bytes> {
        self.dummy
    }

    /// `ρ`.
    fn aggressiveness(&self) -> Option<f64> {
        Some(self.aggressiveness)
    }
}

/// The fluid face, [QCSMA] eq. (13): `ρ = b·q`, the logarithm of holding over back-off time. It has no drift: in the fluid model
/// the queueing delay is there at once.
pub fn aggressiveness(capacity: f64, queueing_delay: f64) -> f64 {
    capacity * queueing_delay
}

/// [QCSMA] eq. (18): the mean back-off of a link with `backlog` packets, served at `rate`.
pub fn mean_backoff(capacity: f64, backlog: f64, rate: f64) -> f64 {
    libm::exp(-aggressiveness(capacity, backlog / rate)) / capacity
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{Draw, Registers};
    use crate::conformance::drift;
    use crate::ranges::{NOT_NEGATIVE, assert_range};
    use evenair_units::Volume;

    fn ideal() -> Surroundings {
        Surroundings { is_ideal: true, ..Surroundings::default() }
    }

    fn begin(params: QueueingDelayParams, mac: Surroundings) -> QueueingDelay {
        params.validated().unwrap().begin(&LinkRole::data(mac))
    }

    fn view(packets: u64, served: u64) -> LinkView {
        let volume = |packets| Volume { packets, bytes: packets * 1040 };
        let interval = QueueingDelayParams::qcsma().interval;
        LinkView { interval, backlog: volume(packets), service: volume(served), ..LinkView::default() }
    }

    #[test]
    fn an_empty_queue_waits_one_service_time() {
        assert!((mean_backoff(4.0, 0.0, 1.0) - 0.25).abs() < 1e-15);
        assert!(mean_backoff(4.0, 2.0, 1.0) < mean_backoff(4.0, 1.0, 1.0));
    }

    /// In a steady state the machine is the fluid law: `AveR` is the rate, and ρ is b times the queueing delay.
    #[test]
    fn at_rest_the_machine_is_the_fluid_law() {
        for scale in [1.0, 0.1] {
            let params = QueueingDelayParams { scale, ..QueueingDelayParams::qcsma() };
            let mut law = begin(params, ideal());
            (0..2_000).for_each(|_| law.on_update(&view(4, 2))); // 200 packets/s
            let capacity = law.contention.capacity();
            let fluid = scale * aggressiveness(capacity, 4.0 / 200.0);
            assert!((law.aggressiveness / fluid - 1.0).abs() < 1e-9, "{} {fluid}", law.aggressiveness);
            let Draw::Exponential { mean, .. } = law.access().draw else { panic!("{law:?}") };
            if scale >= 1.0 {
                assert!((mean.as_secs_f64() - mean_backoff(capacity, 4.0, 200.0)).abs() < 1e-9);
            }
        }
    }

    /// `AveR`'s mean step is its filter's drift, `(1 − memory)·(rate − AveR)`: here one packet is served in every second interval.
    #[test]
    fn the_average_follows_the_rate() {
        let law = begin(QueueingDelayParams::qcsma(), ideal());
        let expected = (1.0 - law.params.memory) * (50.0 - law.average_rate);
        let served = |law: &mut QueueingDelay| law.on_update(&view(4, 1));
        let not = |law: &mut QueueingDelay| law.on_update(&view(4, 0));
        drift(&law, |law| law.average_rate, &[(0.5, &served), (0.5, &not)], expected, 1e-9);
    }

    #[test]
    fn on_80211_it_is_a_contention_window() {
        // An exchange of 1332.7 µs is 66.6 slots in the mean: CW = 134.
        let mut law = begin(QueueingDelayParams::qcsma(), Surroundings::default());
        assert_eq!(law.access().draw, Draw::Slots { window: 133, end_included: true });
        (0..2_000).for_each(|_| law.on_update(&view(1, 4))); // ρ = 750·1/400
        assert_eq!(law.access().draw, Draw::Slots { window: 20, end_included: true });
        // An explicit form holds on any MAC.
        let continuous = QueueingDelayParams { form: Some(BackoffForm::Exponential), ..law.params };
        let draw = begin(continuous, Surroundings::default()).access().draw;
        assert!(matches!(draw, Draw::Exponential { slotted: false, .. }));
    }

    /// An exchange of 1332.7 us: 127 slots of 20 us have a mean of 1270 us, 255 of 2550. At rho = 1.875 it is 204.4 us: the
    /// windows of 15 and 31 slots have 150 and 310 us, and sqrt(150·310) is 215.6. The physical layer's `CWmin` is 31.
    #[test]
    fn on_hardware_it_sets_registers() {
        let params = QueueingDelayParams {
            execution: Execution::Hardware,
            aifsn: Some(7),
            ..QueueingDelayParams::qcsma()
        };
        let mut law = begin(params, Surroundings::default());
        let registers = |law: &QueueingDelay| Registers::of(&law.access(), law.space()).expect("registers");
        let idle = Registers { window_min: 127, window_max: 1023, aifsn: 7, txop_units: 0 };
        assert_eq!(registers(&law), idle);
        (0..2_000).for_each(|_| law.on_update(&view(1, 4))); // ρ = 750.4·1/400
        assert_eq!(registers(&law), Registers { window_min: 31, ..idle });
        let mut law = begin(QueueingDelayParams { window_min: Some(7), ..params }, Surroundings::default());
        (0..2_000).for_each(|_| law.on_update(&view(1, 4)));
        assert_eq!(registers(&law), Registers { window_min: 15, ..idle });
        let bad = |params: QueueingDelayParams| params.validated().unwrap_err().name;
        assert_eq!(bad(QueueingDelayParams { window_max: Some(100), ..params }), "window_max");
        assert_eq!(bad(QueueingDelayParams { window_min: Some(2047), ..params }), "window_min");
        assert_eq!(bad(QueueingDelayParams { aifsn: Some(16), ..params }), "aifsn");
    }

    #[test]
    fn capacity_may_be_that_of_bits_alone() {
        let bits = QueueingDelayParams { capacity: CapacityUnit::Bits, ..QueueingDelayParams::qcsma() };
        // 1040 bytes at 11 Mb/s: 756 µs.
        assert!((begin(bits, ideal()).contention.capacity() - 11e6 / 8320.0).abs() < 0.01);
    }

    /// 42 packets of 35 us share a frame of 1372 us. By packets an empty queue backs off for 35 us, 4 slots of the 40 that a frame
    /// holds the medium for; by frames it waits for as long as it sends.
    #[test]
    fn capacity_may_be_that_of_aggregates() {
        let surroundings = Surroundings { slot: Duration::from_micros(9), ..Surroundings::default() };
        let (frame, exchange) = (Duration::from_micros(1372), Duration::from_micros(35));
        let packet = crate::backoff::FullPacket { frame, exchange, ..surroundings.packet };
        let role = LinkRole { packet, ..LinkRole::data(surroundings) };
        let window = |capacity| {
            let params = QueueingDelayParams { capacity, ..QueueingDelayParams::qcsma() };
            let Draw::Slots { window, .. } = params.begin(&role).access().draw else { panic!() };
            f64::from(window) / 2.0 * 9.0
        };
        assert!((window(CapacityUnit::Exchange) - 35.0).abs() < 9.0);
        assert!((window(CapacityUnit::Frame) - 1372.0).abs() < 9.0);
    }

    #[test]
    fn link_of_acks_has_their_capacity_no_dummies() {
        let surroundings = ideal();
        let data = LinkRole::data(surroundings);
        let exchange = Duration::from_micros(600);
        let packet = crate::backoff::FullPacket { exchange, ..data.packet };
        let answers = LinkRole { acknowledgements_only: true, packet, ..data };
        let params = QueueingDelayParams { dummies: true, ..QueueingDelayParams::qcsma() };
        let law = params.begin(&answers);
        assert!((law.contention.capacity() - 1e6 / 600.0).abs() < 1e-6);
        assert_eq!(law.dummy_packet(), None);
        assert_eq!(params.begin(&data).dummy_packet(), Some(data.packet.size));
    }

    #[test]
    fn unserved_queue_reaches_the_largest_number() {
        let params = QueueingDelayParams { memory: 0.0, ..QueueingDelayParams::qcsma() };
        let mut law = begin(params, ideal());
        law.on_update(&view(1, 0));
        assert!((law.aggressiveness - AGGRESSIVENESS_MAX).abs() < 1e-12);
        law.on_update(&view(0, 0));
        assert!(law.aggressiveness.abs() < 1e-12, "an empty queue is in no hurry");
    }

    /// [QCSMA] section III-C: "each wireless transmitter node read its queue length".
    #[test]
    fn queues_are_the_links_or_the_nodes() {
        let of = |queues| {
            begin(QueueingDelayParams { queues, ..Default::default() }, Surroundings::default()).scope()
        };
        assert_eq!(begin(QueueingDelayParams::default(), Surroundings::default()).scope(), Scope::NextHop);
        assert_eq!((of(QueuesOf::PerNextHop), of(QueuesOf::PerNode)), (Scope::NextHop, Scope::Node));
    }

    #[test]
    fn each_parameter_has_its_range() {
        let params = QueueingDelayParams::qcsma();
        let (good, bad) = NOT_NEGATIVE;
        assert_range("scale", |scale| QueueingDelayParams { scale, ..params }, good, bad);
        let memory = |memory| QueueingDelayParams { memory, ..params };
        assert_range("memory", memory, &[0.0, 0.999], &[-0.001, 1.0, f64::NAN]);
        let interval = |us| QueueingDelayParams { interval: Duration::from_micros(us), ..params };
        assert_range("interval", interval, &[10], &[0, 9]);
        let window = |window| QueueingDelayParams { window_max: Some(window), ..params };
        assert_range("window_max", window, &[1, 65_535], &[0, 65_536]);
    }

    #[test]
    fn defaults_are_the_macs() {
        let mut params = QueueingDelayParams::qcsma();
        params.resolve(&Surroundings::default());
        assert_eq!((params.form, params.window_max), (Some(BackoffForm::Windows), Some(1023)));
    }

    /// [QCSMA] eq. (18): 2 packets at 8 packets/s wait 1/4 s; by b = 4 packets/s that is e^-1 over 4.
    #[test]
    fn mean_back_off_is_exponential_of_delay() {
        assert!((mean_backoff(4.0, 2.0, 8.0) - 0.25 * libm::exp(-1.0)).abs() < 1e-15);
    }

    /// [QCSMA] eq. (1): the mean back-off is `exp(−ρ)` over the capacity.
    #[test]
    fn aggressiveness_is_logarithm_of_back_off() {
        let mut law = begin(QueueingDelayParams::qcsma(), ideal());
        (0..200).for_each(|_| law.on_update(&view(100, 500)));
        let rho = BackoffLaw::aggressiveness(&law).unwrap();
        assert!(rho > 1.0, "{rho}");
        let Draw::Exponential { mean, .. } = law.access().draw else { panic!("{:?}", law.access()) };
        let expected = libm::exp(-rho) / law.contention.capacity();
        assert!((mean.as_secs_f64() / expected - 1.0).abs() < 1e-3, "{mean} {expected}");
    }
}
