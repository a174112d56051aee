//! The suites that every law of a family must pass, built in or of a user's own.
//!
//! One function a family drives a law through an arbitrary sequence of measurements, those of a bad day included: no time
//! between two updates, nothing served, a rate of zero, counters beyond all that a run has. It panics where
//! - an answer leaves its bounds, or is not a number;
//! - the same measurements make another state, or another answer;
//! - a copy that was kept and read back behaves differently (`keep` writes and reads it; cloning is enough
//!   for a law that is never stored);
//! - a law of a flow changes its answer when signals that it does not need are missing.
//!
//! [`drift`] is for the laws that state one: the mean step of the machine is the step of the fluid law.
//!
//! ```
//! use evenair_laws::backoff::{AnyBackoff, BackoffParams, DcfParams};
//! (0..10).for_each(|seed| evenair_laws::conformance::backoff(&DcfParams::default().into(), AnyBackoff::clone, seed));
//! ```

use crate::Parameters;
use crate::backoff::{
    AnyBackoff, BackoffLaw, BackoffParams, Category, Draw, Holding, LinkRole, LinkView, OnFailure,
    PhysicalLayer, Rendering, Surroundings,
};
use crate::connections::{AnyConnections, ConnectionLaw, ConnectionParams};
use crate::flow::{FlowRole, FlowView, Signal};
use crate::gateway::{
    AnyGateway, ClassRole, ClassView, Direction, GatewayLaw, GatewayParams, GatewayRole, GatewayView,
    NewClasses,
};
use crate::marking::{AnyMarking, MarkingLaw, MarkingParams, QueueRole, QueueView};
use crate::rate::{AnyRate, RateLaw, RateParams};
use crate::rates::{
    AnyRateControl, CHAIN_MAX, FrameStatus, FrameView, RateControl, RateControlParams, RateFormat, RateMode,
    RateRole, Tried,
};
use crate::window::{
    Acked, AirPath, AnyWindow, Delivery, Loss, RateSample, Repair, WINDOW_MAX, WindowLaw, WindowParams,
    WindowStart,
};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use evenair_units::{Bytes, Duration, Instant, Probability, Rate, Volume};

/// Measurements in a sequence.
const STEPS: u32 = 300;

/// A back-off law.
///
/// # Panics
/// Where it does not conform.
pub fn backoff(params: &BackoffParams, keep: impl Fn(&AnyBackoff) -> AnyBackoff, seed: u64) {
    let role = link_role(&mut Draws(seed));
    let mut resolved = params.clone();
    resolved.resolve(&role.surroundings);
    same(&resolved.begin(&role), &params.begin(&role), "resolved parameters are the same law");
    let mut now = Instant::ZERO;
    let update = |draws: &mut Draws| {
        let interval = draws.time();
        now += interval;
        LinkView {
            now,
            interval,
            arrivals: draws.volume(),
            service: draws.volume(),
            dummies: draws.volume(),
            backlog: draws.volume(),
            head_of_line_delay: draws.maybe(Draws::time),
            data_rate: Rate::from_bps(draws.one_of([0, 1, 6_000_000, 1_000_000_000_000])),
        }
    };
    drive(&role, params, keep, seed, update, |law, link| {
        law.on_update(link);
        check_access(law);
        assert_ne!(law.update_interval(), Some(Duration::ZERO), "{law:?}");
        assert!(law.aggressiveness().is_none_or(f64::is_finite), "{law:?}");
        format!("{:?} {:?} {:?}", law.access(), law.drop_probability(), law.dummy_packet())
    });
}

fn link_role(draws: &mut Draws) -> LinkRole {
    let surroundings = Surroundings {
        physical_layer: draws.one_of([
            PhysicalLayer::Dsss,
            PhysicalLayer::Ofdm,
            PhysicalLayer::HighThroughput,
        ]),
        rendering: draws.one_of([Rendering::Standard, Rendering::Ns2]),
        is_ideal: draws.chance(),
        ..Surroundings::default()
    };
    LinkRole {
        category: draws.one_of(Category::ALL),
        acknowledgements_only: draws.chance(),
        carries_tcp: draws.chance(),
        ..LinkRole::data(surroundings)
    }
}

fn check_access(law: &AnyBackoff) {
    let access = law.access();
    match access.draw {
        Draw::Slots { window, .. } => {
            assert!(window <= 65_535, "{law:?}");
            if let OnFailure::Double { window_max } = access.on_failure {
                assert!((window..=65_535).contains(&window_max), "{law:?}");
            }
        }
        Draw::ExponentialOfFrame { factor, .. } | Draw::ExponentialOfPacket { factor, .. } => {
            assert!(factor.is_finite() && factor >= 0.0, "{law:?}");
        }
        Draw::Exponential { mean, .. } | Draw::Uniform { mean } | Draw::Fixed { mean } => {
            assert!(mean < Duration::MAX, "{law:?}");
        }
    }
    match access.holding {
        Holding::Packet => (),
        Holding::Burst(time)
        | Holding::Span(time)
        | Holding::Exponential(time)
        | Holding::Uniform(time)
        | Holding::Fixed(time) => {
            assert!(time < Duration::MAX, "{law:?}");
        }
    }
}

/// A window law.
///
/// # Panics
/// Where it does not conform.
pub fn window(params: &WindowParams, keep: impl Fn(&AnyWindow) -> AnyWindow, seed: u64) {
    let mut draws = Draws(seed);
    let start = WindowStart {
        initial_window: draws.one_of([1.0, 2.0, 10.0, 1000.0]),
        initial_ssthresh: draws.one_of([2.0, 20.0, 1e6]),
        byte_counting: draws.chance(),
        path: draws.maybe(|draws| AirPath {
            hops: draws.one_of([0, 1, 3, 4, 30]),
            data: Bytes::new(draws.up_to(1500)),
            acknowledgement: Bytes::new(draws.up_to(60)),
            rate: Rate::from_kbps(draws.one_of([1, 1_000, 54_000, 1_000_000])),
            wired: draws.time(),
        }),
    };
    let (mut now, mut least, mut told) = (Instant::ZERO, None, Delivery::default());
    let event = |draws: &mut Draws| {
        now += draws.time();
        let sample = draws.maybe(Draws::time);
        least = sample.into_iter().chain(least).min();
        let acked = Acked {
            now,
            segments: draws.up_to(1000),
            advances: draws.up_to(9) > 0,
            in_recovery: draws.up_to(9) == 0,
            window_limited: draws.up_to(9) > 0,
            sample,
            smoothed: least,
            least,
            ..Acked::default()
        };
        told = delivery(draws, &acked, &told);
        (draws.up_to(15), acked, told)
    };
    drive(&start, params, keep, seed, event, |law, (what, acked, delivery)| {
        window_event(law, *what, acked, delivery);
        let window = law.congestion_window();
        assert!((1.0..=WINDOW_MAX).contains(&window), "a window of {window}: {law:?}");
        assert!(law.slow_start_threshold() >= 1.0, "{law:?}");
        assert!(law.pacing_gap().is_none_or(|gap| gap < Duration::MAX), "{law:?}");
        format!("{window} {} {:?}", law.slow_start_threshold(), law.pacing_gap())
    });
    let mut again = params.begin(&start);
    let (acked, delivery) = (Acked { segments: 1, ..Acked::default() }, Delivery::default());
    (0..16).for_each(|what| window_event(&mut again, what, &acked, &delivery));
    again.begin(&start);
    same(&again, &params.begin(&start), "a connection that starts again starts as the first time");
}

/// The segments that arrived with an acknowledgement, after those that had arrived before.
fn delivery(draws: &mut Draws, acked: &Acked, before: &Delivery) -> Delivery {
    let (lost, total) = (draws.up_to(3), before.total + u64::from(acked.segments));
    let lost_total = before.lost_total + u64::from(lost + draws.up_to(1));
    let rate = draws.maybe(|draws| {
        let segments = draws.next() % (total + 1);
        let (interval, application_limited) = (draws.time(), draws.up_to(9) == 0);
        RateSample { before: total - segments, segments, interval, application_limited }
    });
    Delivery {
        now: acked.now,
        segments: acked.segments,
        total,
        lost,
        lost_total,
        flight_before: draws.up_to(1000),
        flight: draws.up_to(1000),
        repair: draws.one_of([Repair::None, Repair::None, Repair::None, Repair::Recovery, Repair::Timeout]),
        round_trip: acked.sample,
        smoothed: acked.smoothed,
        after_idle: draws.up_to(20) == 0,
        paced_until: acked.now + draws.time(),
        rate,
    }
}

/// Mostly acknowledgements and sometimes losses of the segments that the law itself lets out.
fn window_event(law: &mut AnyWindow, what: u32, acked: &Acked, delivery: &Delivery) {
    let flight = law.congestion_window();
    let loss = Loss { now: acked.now, flight, repeated: acked.advances };
    match what {
        0 => law.on_loss(&loss),
        1 => law.on_timeout(&loss),
        2 => law.deflate(f64::from(acked.segments)),
        _ => {
            let flight = flight as u32;
            if law.sees_deliveries() {
                law.on_delivery(delivery);
            }
            law.on_ack(&Acked { segments: acked.segments.min(flight), flight, ..*acked });
        }
    }
}

/// A connection law.
///
/// # Panics
/// Where it does not conform.
pub fn connections(params: &ConnectionParams, keep: impl Fn(&AnyConnections) -> AnyConnections, seed: u64) {
    let (mut now, host) = (Instant::ZERO, Draws(seed).up_to(3));
    let interval = |draws: &mut Draws| known_to(host, flow_view(&mut now, draws));
    drive(&flow_role(seed), params, keep, seed, interval, |law, flow| {
        assert!(!law.interval().is_zero(), "{law:?}");
        assert!(law.at_start() >= 1, "no connection: {law:?}");
        let wanted = law.on_interval(flow);
        assert!(wanted >= 1, "no connection: {law:?}");
        format!("{wanted}")
    });
    let law = params.begin(&flow_role(seed));
    does_without(&law, &law.needs(), seed, AnyConnections::on_interval);
}

/// A rate law.
///
/// # Panics
/// Where it does not conform.
pub fn rate(params: &RateParams, keep: impl Fn(&AnyRate) -> AnyRate, seed: u64) {
    let (mut now, host) = (Instant::ZERO, Draws(seed).up_to(3));
    let interval = |draws: &mut Draws| known_to(host, flow_view(&mut now, draws));
    drive(&flow_role(seed), params, keep, seed, interval, |law, flow| {
        assert!(!law.interval().is_zero(), "{law:?}");
        let rate = law.on_interval(flow);
        assert!(rate.as_bps() < u64::MAX, "a rate without bound: {law:?}");
        format!("{rate}")
    });
    let law = params.begin(&flow_role(seed));
    does_without(&law, &law.needs(), seed, AnyRate::on_interval);
}

/// A law of a flow gives the same answers to a host that offers only the signals that it needs. Both hosts
/// report changes of route, because a law may react to them without needing them.
fn does_without<L: Clone + Debug, A: PartialEq + Debug>(
    law: &L,
    needs: &[Signal],
    seed: u64,
    on_interval: impl Fn(&mut L, &FlowView) -> A,
) {
    let (mut all, mut little) = (law.clone(), law.clone());
    let (mut now, mut draws) = (Instant::ZERO, Draws(seed));
    for _ in 0..STEPS {
        let flow = flow_view(&mut now, &mut draws);
        let answers = (
            on_interval(&mut all, &flow),
            on_interval(&mut little, &view_with(&flow, needs, flow.route_changed)),
        );
        assert_eq!(answers.0, answers.1, "it uses a signal that it does not declare: {law:?} {flow:?}");
    }
}

/// A view in which nothing else is known than this.
fn view_with(flow: &FlowView, signals: &[Signal], route_changed: Option<bool>) -> FlowView {
    fn only<T>(known: Option<T>, of: bool) -> Option<T> {
        known.filter(|_| of)
    }
    let has = |signal| signals.contains(&signal);
    FlowView {
        round_trip: only(flow.round_trip, has(Signal::RoundTrip)),
        round_trip_of_windows: only(flow.round_trip_of_windows, has(Signal::RoundTripOfWindows)),
        round_trip_of_probes: only(flow.round_trip_of_probes, has(Signal::RoundTripOfProbes)),
        smoothed_round_trip: only(flow.smoothed_round_trip, has(Signal::SmoothedRoundTrip)),
        least_round_trip: only(flow.least_round_trip, has(Signal::LeastRoundTrip)),
        least_in_interval: only(flow.least_in_interval, has(Signal::LeastInInterval)),
        marked: only(flow.marked, has(Signal::Marked)),
        route_changed,
        lost: only(flow.lost, has(Signal::Lost)),
        first_backlog: only(flow.first_backlog, has(Signal::FirstBacklog)),
        path_backlog: only(flow.path_backlog, has(Signal::PathBacklog)),
        ..*flow
    }
}

/// A flow as one of four hosts sees it: with no optional signal, with Linux's, or with all.
fn known_to(host: u32, flow: FlowView) -> FlowView {
    match host {
        0 => view_with(&flow, &[], None),
        1 => view_with(&flow, &[Signal::SmoothedRoundTrip, Signal::LeastRoundTrip], None),
        _ => flow,
    }
}

fn flow_role(seed: u64) -> FlowRole {
    FlowRole { payload: Bytes::new(Draws(seed).one_of([1, 536, 1460])) }
}

fn flow_view(now: &mut Instant, draws: &mut Draws) -> FlowView {
    let interval = draws.time();
    *now += interval;
    FlowView {
        now: *now,
        interval,
        round_trip: draws.maybe(Draws::time),
        round_trip_of_windows: draws.maybe(Draws::time),
        round_trip_of_probes: draws.maybe(Draws::time),
        smoothed_round_trip: draws.maybe(Draws::time),
        least_round_trip: draws.maybe(Draws::time),
        least_in_interval: draws.maybe(Draws::time),
        marked: draws.maybe(|draws| draws.up_to(1000).into()),
        route_changed: draws.maybe(|draws| draws.up_to(9) == 0),
        delivered: draws.volume(),
        sent: u64::from(draws.up_to(1000)),
        retransmitted: u64::from(draws.up_to(1000)),
        lost: draws.maybe(|draws| draws.up_to(1000).into()),
        first_backlog: draws.maybe(Draws::volume),
        path_backlog: draws.maybe(Draws::volume),
        outstanding: draws.maybe(|draws| draws.up_to(1000).into()),
    }
}

/// A rate control, under any reports: also of modes that it did not name, and of more packets than were sent.
///
/// # Panics
/// Where it does not conform.
pub fn rates(params: &RateControlParams, keep: impl Fn(&AnyRateControl) -> AnyRateControl, seed: u64) {
    let role = rate_role(&mut Draws(seed));
    let (modes, mut now) = (role.modes.len() as u16, Instant::ZERO);
    let event = |draws: &mut Draws| {
        now += draws.time();
        let place = |draws: &mut Draws| draws.up_to(u32::from(modes) - 1) as u16;
        let best = draws.maybe(place);
        let packets = draws.one_of([1, 1, 2, 32, 256, u16::MAX]);
        let steps = draws.up_to(CHAIN_MAX as u32 - 1) as usize;
        let tried = core::array::from_fn(|step| {
            let tries = if step <= steps { draws.up_to(30) as u8 } else { 0 };
            Tried { mode: place(draws), tries, packets: u32::from(tries) * u32::from(packets) }
        });
        let acknowledged = draws.one_of([0, packets / 2, packets, u16::MAX]);
        (FrameView { now, best }, FrameStatus { now, tried, packets, acknowledged })
    };
    drive(&role, params, keep, seed, event, |law, (frame, status)| {
        let chain = law.on_frame(frame);
        assert!(chain.is_within(usize::from(modes)), "{chain:?} of {modes} modes: {law:?}");
        law.on_status(status);
        format!("{chain:?} {}", law.asks_medium())
    });
}

/// A link of one format, with all of its modes up to some width and number of streams.
fn rate_role(draws: &mut Draws) -> RateRole {
    let (format, indices) = draws.one_of([
        (RateFormat::Dsss, 4),
        (RateFormat::Ofdm, 8),
        (RateFormat::Ht, 8),
        (RateFormat::Vht, 10),
        (RateFormat::He, 12),
    ]);
    let is_legacy = matches!(format, RateFormat::Dsss | RateFormat::Ofdm);
    let streams = if is_legacy { 1 } else { draws.one_of([1, 2, 4]) };
    let widths: &[u16] = if is_legacy { &[20] } else { &[20, 40, 80][..draws.one_of([1, 2, 3])] };
    let mut modes = Vec::new();
    for &width_mhz in widths {
        for streams in 1..=streams {
            modes.extend((0..indices).map(|index| {
                let bps = u64::from(width_mhz) * u64::from(streams) * u64::from(index + 1) * 300_000;
                let rate = Rate::from_bps(bps);
                RateMode { format, index, streams, width_mhz, guard_ns: 800, rate }
            }));
        }
    }
    RateRole { own: modes.len() as u16 - 1, modes, seed: draws.next() }
}

/// A law of a gateway under classes that come and go. No class is closed, and no rate is without bound.
///
/// # Panics
/// Where it does not conform.
pub fn gateway(params: &GatewayParams, keep: impl Fn(&AnyGateway) -> AnyGateway, seed: u64) {
    let mut draws = Draws(seed);
    let class = |draws: &mut Draws| ClassRole {
        weight: draws.one_of([1.0, 1.0, 0.25, 3.0]),
        direction: draws.one_of([Direction::Up, Direction::Down]),
        link_rate: draws.maybe(|draws| Rate::from_bps(draws.one_of([1, 900_000, 54_000_000]))),
        subscriber: draws.maybe(|draws| draws.one_of([0, 1, u32::MAX])),
    };
    let mut count = draws.one_of([0, 1, 2, 7]);
    let role = GatewayRole { classes: (0..count).map(|_| class(&mut draws)).collect() };
    let mut now = Instant::ZERO;
    let event = |draws: &mut Draws| {
        if draws.up_to(9) == 0 {
            // Some classes stay, in any order and some with another weight or link; others come.
            let mut was: Vec<Option<u32>> =
                (0..count as u32).filter(|_| draws.up_to(3) > 0).map(Some).collect();
            was.extend((0..draws.up_to(2)).map(|_| None));
            let turned = draws.up_to(was.len() as u32) as usize;
            was.rotate_left(turned);
            count = was.len();
            let role = GatewayRole { classes: was.iter().map(|_| class(draws)).collect() };
            return GatewayEvent::Classes(NewClasses { role, was });
        }
        let interval = draws.time();
        now += interval;
        let seen = |draws: &mut Draws| ClassView {
            arrived: draws.volume(),
            served: draws.volume(),
            dropped: draws.volume(),
            backlog: draws.volume(),
            held: draws.maybe(|draws| draws.one_of([0, 1, 100, u64::MAX])),
            busy: draws.maybe(Draws::time),
            delay: draws.maybe(Draws::time),
            unanswered: draws.maybe(Draws::time),
        };
        let known = |draws: &mut Draws| draws.maybe(seen).unwrap_or_default();
        let is_known = draws.up_to(9) > 0;
        let class = |draws: &mut Draws| Some(known(draws)).filter(|_| is_known || draws.chance());
        let classes = (0..count).map(|_| class(draws)).collect();
        GatewayEvent::Epoch(GatewayView { now, interval, classes })
    };
    drive(&role, params, keep, seed, event, |law, event| {
        assert!(!law.interval().is_zero(), "{law:?}");
        let (allocation, count) = match event {
            GatewayEvent::Classes(classes) => (law.on_classes(classes), Some(classes.was.len())),
            GatewayEvent::Epoch(view) => (law.on_epoch(view), Some(view.classes.len())),
        };
        let again = law.at_start();
        for (allocation, count) in [(&allocation, count), (&again, None)] {
            let each = allocation.each.len();
            assert!(each == 0 || count.is_none_or(|count| each == count), "a rate for each: {law:?}");
            let open = |rate: &Rate| (1..u64::MAX).contains(&rate.as_bps());
            assert!(allocation.each.iter().chain(&allocation.total).all(open), "{allocation:?} of {law:?}");
        }
        format!("{allocation:?}")
    });
}

/// The observations of a gateway's law.
enum GatewayEvent {
    Classes(NewClasses),
    Epoch(GatewayView),
}

/// A marking law.
///
/// # Panics
/// Where it does not conform.
pub fn marking(params: &MarkingParams, keep: impl Fn(&AnyMarking) -> AnyMarking, seed: u64) {
    let rate = Rate::from_kbps(Draws(seed).one_of([1, 1_000, 1_000_000]));
    let role = QueueRole { full_packet: Bytes::new(Draws(seed).one_of([40, 1500])), rate };
    let mut now = Instant::ZERO;
    let packet = |draws: &mut Draws| {
        now += draws.time();
        let (waiting, flow) = (draws.volume(), draws.up_to(3));
        let view = QueueView { waiting, flow, size: Bytes::new(draws.up_to(1500)) };
        (now, draws.up_to(9), draws.time(), view)
    };
    drive(&role, params, keep, seed, packet, |law, &(now, what, sojourn, view)| match what {
        // Probabilities are between 0 and 1 by their type. Some arrivals are refused for lack of room, and
        // some without consulting the law.
        0..5 => {
            let refusal = (what > 0).then(|| law.on_arrival(now, &view));
            law.after_arrival(now, &view, refusal != Some(Probability::ONE) && what > 1);
            format!("{refusal:?}")
        }
        5..9 => format!("{:?}", law.on_departure(now, sojourn, &view)),
        _ => {
            law.on_removal(now, &view);
            String::new()
        }
    });
}

/// The events of a law's life, and how probable each is.
pub type Outcome<'a, L> = (f64, &'a dyn Fn(&mut L));

/// A law's mean step is its drift: `outcomes` lists possible steps with their probabilities, `value` reads
/// the quantity that drifts.
///
/// # Panics
/// Where they differ by more than `tolerance`.
pub fn drift<L: Clone + Debug>(
    law: &L,
    value: impl Fn(&L) -> f64,
    outcomes: &[Outcome<'_, L>],
    drift: f64,
    tolerance: f64,
) {
    let before = value(law);
    let step = |&(probability, happens): &Outcome<'_, L>| {
        let mut law = law.clone();
        happens(&mut law);
        probability * (value(&law) - before)
    };
    let mean: f64 = outcomes.iter().map(step).sum();
    assert!((mean - drift).abs() <= tolerance, "a mean step of {mean}, a drift of {drift}: {law:?}");
}

/// Drives a law, and a twin of it that is now and then kept and read back, through one sequence of events.
/// `apply` gives an event to a law, checks it, and returns its answers in words.
fn drive<P: Parameters<Law: Debug>, E>(
    place: &P::Place,
    params: &P,
    keep: impl Fn(&P::Law) -> P::Law,
    seed: u64,
    mut event: impl FnMut(&mut Draws) -> E,
    apply: impl Fn(&mut P::Law, &E) -> String,
) {
    let mut draws = Draws(seed ^ 0x5EED);
    let (mut law, mut twin) = (params.begin(place), params.begin(place));
    for step in 0..STEPS {
        if step % 8 == 0 {
            twin = keep(&law);
        }
        same(&law, &twin, "one sequence, or a copy, makes one state");
        let event = event(&mut draws);
        assert_eq!(apply(&mut law, &event), apply(&mut twin, &event), "one sequence gives one answer");
    }
}

fn same(one: &impl Debug, other: &impl Debug, what: &str) {
    let (one, other) = (format!("{one:?}"), format!("{other:?}"));
    assert_eq!(one, other, "{what}");
}

/// Arbitrary numbers, the same for the same seed (`SplitMix64`).
#[derive(Clone, Debug)]
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn up_to(&mut self, most: u32) -> u32 {
        (self.next() % (u64::from(most) + 1)) as u32
    }

    fn chance(&mut self) -> bool {
        self.up_to(1) == 0
    }

    fn one_of<T: Copy, const N: usize>(&mut self, of: [T; N]) -> T {
        of[self.up_to(N as u32 - 1) as usize]
    }

    fn maybe<T>(&mut self, of: impl Fn(&mut Self) -> T) -> Option<T> {
        (self.up_to(3) > 0).then(|| of(self))
    }

    /// None at all, or up to ten seconds.
    fn time(&mut self) -> Duration {
        let most = self.one_of([0, 1, 1_000, 1_000_000, 100_000_000, 10_000_000_000]);
        Duration::from_nanos(self.next() % (most + 1))
    }

    fn volume(&mut self) -> Volume {
        let most = self.one_of([0, 1, 50, 1_000, 1_000_000_000]);
        let packets = self.next() % (most + 1);
        Volume { packets, bytes: packets * u64::from(self.up_to(1500)) }
    }
}

#[cfg(test)]
mod witness;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{Access, OwnBackoff, Scope, When};
    use crate::connections::OwnConnections;
    use crate::gateway::{Allocation, OwnGateway};
    use crate::marking::{OwnMarking, Verdict};
    use crate::rate::OwnRate;
    use crate::window::OwnWindow;
    use crate::{Family, OwnLaw};
    use core::panic::AssertUnwindSafe;

    #[test]
    fn every_built_in_law_conforms() {
        for seed in 0..2 {
            BackoffParams::laws().iter().for_each(|law| backoff(law, AnyBackoff::clone, seed));
            WindowParams::laws().iter().for_each(|law| window(law, AnyWindow::clone, seed));
            ConnectionParams::laws().iter().for_each(|law| connections(law, AnyConnections::clone, seed));
            RateParams::laws().iter().for_each(|law| rate(law, AnyRate::clone, seed));
            RateControlParams::laws().iter().for_each(|law| rates(law, AnyRateControl::clone, seed));
            GatewayParams::laws().iter().for_each(|law| gateway(law, AnyGateway::clone, seed));
            MarkingParams::laws().iter().for_each(|law| marking(law, AnyMarking::clone, seed));
        }
    }

    /// The published sequence of `SplitMix64` from 1234567.
    #[test]
    fn draws_are_those_of_splitmix64() {
        let mut draws = Draws(1_234_567);
        let first = [(); 5].map(|()| draws.next());
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first, published);
    }

    /// A law of every family with one fault, or none.
    #[derive(Clone, Debug)]
    struct Wrong {
        fault: &'static str,
        told: u64,
    }

    impl Wrong {
        fn new(fault: &'static str) -> Self {
            Self { fault, told: 0 }
        }

        /// The second with the fault, else the first.
        fn or<T>(&self, fault: &str, right: T, wrong: T) -> T {
            if self.fault == fault { wrong } else { right }
        }

        fn interval(&self) -> Duration {
            self.or("no interval", Duration::from_secs(1), Duration::ZERO)
        }
    }

    impl OwnLaw for Wrong {
        fn identity(&self) -> String {
            self.fault.into()
        }
    }

    impl ConnectionLaw for Wrong {
        fn interval(&self) -> Duration {
            self.interval()
        }
        fn at_start(&self) -> u32 {
            self.or("none at start", 1, 0)
        }
        fn on_interval(&mut self, flow: &FlowView) -> u32 {
            self.told += 1;
            self.or("none", 1, 0) + self.or("heeds losses", 0, u32::from(flow.lost.is_some()))
        }
    }

    impl RateLaw for Wrong {
        fn interval(&self) -> Duration {
            self.interval()
        }
        fn needs(&self) -> Vec<Signal> {
            Vec::new()
        }
        fn on_interval(&mut self, flow: &FlowView) -> Rate {
            self.told += 1;
            let heeded = self.or("heeds losses", 0, u64::from(flow.lost.is_some()));
            Rate::from_bps(self.or("no bound", 1, u64::MAX) - heeded)
        }
    }

    impl WindowLaw for Wrong {
        fn begin(&mut self, _: &WindowStart) {
            self.told = self.or("remembers", 0, self.told);
        }
        fn on_ack(&mut self, _: &Acked) {
            self.told += 1;
        }
        fn on_loss(&mut self, _: &Loss) {}
        fn on_timeout(&mut self, _: &Loss) {}
        fn congestion_window(&self) -> f64 {
            match self.fault {
                "no window" => 0.9,
                "no end" => WINDOW_MAX + 1.0,
                _ => 1.0,
            }
        }
        fn slow_start_threshold(&self) -> f64 {
            self.or("no threshold", 1.0, 0.9)
        }
        fn pacing_gap(&self) -> Option<Duration> {
            Some(self.or("no pace", Duration::ZERO, Duration::MAX))
        }
    }

    impl MarkingLaw for Wrong {
        fn on_departure(&mut self, _: Instant, _: Duration, _: &QueueView) -> Verdict {
            self.told += 1;
            Verdict::Send
        }
    }

    impl GatewayLaw for Wrong {
        fn interval(&self) -> Duration {
            self.interval()
        }
        fn at_start(&self) -> Allocation {
            let bps = self.or("closed", 1, 0).max(self.or("no bound", 0, u64::MAX));
            Allocation { total: Some(Rate::from_bps(bps)), ..Allocation::default() }
        }
        fn on_classes(&mut self, _: &NewClasses) -> Allocation {
            GatewayLaw::at_start(self)
        }
        fn on_epoch(&mut self, view: &GatewayView) -> Allocation {
            self.told += 1;
            let count = view.classes.len() + self.or("one too many", 0, 1);
            let closed = Rate::from_bps(self.or("one closed", 1, 0));
            Allocation { each: alloc::vec![closed; count], ..GatewayLaw::at_start(self) }
        }
    }

    impl BackoffLaw for Wrong {
        fn scope(&self) -> Scope {
            Scope::NextHop
        }
        fn update_interval(&self) -> Option<Duration> {
            Some(self.interval())
        }
        fn on_update(&mut self, _: &LinkView) {
            self.told += 1;
        }
        fn access(&self) -> Access {
            let (zero, max) = (Duration::ZERO, Duration::MAX);
            let window = self.or("a wide window", 31, 65_536);
            let draw = match self.fault {
                "no factor" => Draw::ExponentialOfFrame { factor: f64::NAN, slotted: false },
                "an endless factor" => Draw::ExponentialOfPacket { factor: f64::INFINITY, slotted: false },
                "a factor below zero" => Draw::ExponentialOfPacket { factor: -0.1, slotted: false },
                "an endless mean" => Draw::Uniform { mean: max },
                _ => Draw::Slots { window, end_included: true },
            };
            let window_max = self.or("a short end", 65_535, 30).max(self.or("a long end", 0, 65_536));
            Access {
                draw,
                on_failure: OnFailure::Double { window_max },
                when: When::BeforeFrame,
                holding: Holding::Burst(self.or("an endless burst", zero, max)),
            }
        }
        fn aggressiveness(&self) -> Option<f64> {
            Some(self.or("endless", 1.0, f64::INFINITY))
        }
    }

    /// A family's suite: parameters, how a copy is kept, and the seed.
    type Suite<P, L> = fn(&P, &dyn Fn(&L) -> L, u64);

    fn fails(run: impl FnOnce()) -> bool {
        std::panic::catch_unwind(AssertUnwindSafe(run)).is_err()
    }

    /// Each suite passes the law without a fault, and rejects it with any fault and with a copy that loses
    /// state.
    #[test]
    fn faulty_law_fails_its_suite() {
        fn check<P, L: Clone>(
            suite: Suite<P, L>,
            params: impl Fn(Wrong) -> P,
            begin: impl Fn(&P) -> L,
            faults: &[&'static str],
        ) {
            let right = params(Wrong::new("none of them"));
            suite(&right, &L::clone, 1);
            assert!(fails(|| suite(&right, &|_| begin(&right), 1)), "a copy that forgets");
            for &fault in faults {
                assert!(fails(|| suite(&params(Wrong::new(fault)), &L::clone, 1)), "{fault}");
            }
        }
        let link = LinkRole::data(Surroundings::default());
        let faults = [
            "a wide window",
            "no factor",
            "an endless factor",
            "a factor below zero",
            "an endless mean",
            "a short end",
            "a long end",
            "an endless burst",
            "endless",
            "no interval",
        ];
        let own = |law| BackoffParams::from(OwnBackoff::new(law));
        check(|law, keep, seed| backoff(law, keep, seed), own, |law| law.begin(&link), &faults);
        let start = WindowStart::default();
        let faults = ["remembers", "no window", "no end", "no threshold", "no pace"];
        let own = |law| WindowParams::from(OwnWindow::new(law));
        check(|law, keep, seed| window(law, keep, seed), own, |law| law.begin(&start), &faults);
        let faults = ["no interval", "none at start", "none", "heeds losses"];
        let own = |law| ConnectionParams::from(OwnConnections::new(law));
        check(|law, keep, seed| connections(law, keep, seed), own, |law| law.begin(&flow_role(1)), &faults);
        let faults = ["no interval", "no bound", "heeds losses"];
        let own = |law| RateParams::from(OwnRate::new(law));
        check(|law, keep, seed| rate(law, keep, seed), own, |law| law.begin(&flow_role(1)), &faults);
        let faults = ["no interval", "closed", "no bound", "one too many", "one closed"];
        let own = |law| GatewayParams::from(OwnGateway::new(law));
        let role = GatewayRole::default();
        check(|law, keep, seed| gateway(law, keep, seed), own, |law| law.begin(&role), &faults);
        let own = |law| MarkingParams::from(OwnMarking::new(law));
        let role = QueueRole { full_packet: Bytes::new(1500), rate: Rate::from_kbps(1_000) };
        check(|law, keep, seed| marking(law, keep, seed), own, |law| law.begin(&role), &[]);
    }

    #[test]
    fn a_step_that_is_not_its_drift_fails() {
        let step = |law: &mut Draws| law.0 += 2;
        let half = |law: &mut Draws| law.0 += 1;
        let outcomes: [Outcome<'_, Draws>; 2] = [(0.25, &step), (0.75, &half)];
        let value = |law: &Draws| law.0 as f64;
        drift(&Draws(5), value, &outcomes, 1.25, 1e-12);
        assert!(fails(|| drift(&Draws(5), value, &outcomes, 1.3, 0.04)));
        assert!(fails(|| drift(&Draws(5), value, &outcomes, 1.2, 0.04)));
    }
}
