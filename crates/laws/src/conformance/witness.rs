//! Tests of the suites: each fact reaches a law as often as it should, measured by laws that count their
//! calls.

use super::*;
use crate::OwnLaw;
use crate::backoff::{Access, OwnBackoff, Scope, When};
use crate::connections::OwnConnections;
use crate::gateway::{Allocation, OwnGateway};
use crate::marking::{OwnMarking, Verdict};
use crate::window::OwnWindow;
use alloc::collections::BTreeMap;
use core::cell::{Cell, RefCell};
use core::fmt;
use std::sync::{Arc, Mutex};

/// How often something was so, and how often it was not, by name; and the law's own state.
#[derive(Clone, Default)]
struct Witness {
    seen: Arc<Mutex<BTreeMap<&'static str, [u32; 2]>>>,
    refuses: bool,
    last: Delivery,
    classes: u32,
}

/// All witnesses are alike: their counts are no state of the law.
impl Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a witness")
    }
}

impl Witness {
    fn note(&self, facts: &[(&'static str, bool)]) {
        let mut seen = self.seen.lock().unwrap();
        facts.iter().for_each(|&(name, is_so)| seen.entry(name).or_default()[usize::from(is_so)] += 1);
    }

    /// Each was so in this share of the cases, within three hundredths.
    fn confirms(&self, shares: &[(&str, f64)]) {
        let seen = self.seen.lock().unwrap();
        for &(name, expected) in shares {
            let [no, yes] = seen.get(name).copied().unwrap_or_default().map(f64::from);
            let share = yes / (yes + no);
            assert!((share - expected).abs() < 0.03, "{name}: {share}, not {expected}");
        }
    }
}

impl OwnLaw for Witness {
    fn identity(&self) -> String {
        "a witness".into()
    }
}

impl BackoffLaw for Witness {
    fn begin(&mut self, role: &LinkRole) {
        self.note(&[
            ("DSSS", role.surroundings.physical_layer == PhysicalLayer::Dsss),
            ("802.11n and later", role.surroundings.physical_layer == PhysicalLayer::HighThroughput),
            ("ns-2", role.surroundings.rendering == Rendering::Ns2),
            ("ideal", role.surroundings.is_ideal),
            ("voice", role.category == Category::Voice),
            ("background", role.category == Category::Background),
            ("acknowledgements", role.acknowledgements_only),
            ("TCP", role.carries_tcp),
        ]);
    }
    fn scope(&self) -> Scope {
        Scope::Node
    }
    fn access(&self) -> Access {
        let draw = Draw::Slots { window: 31, end_included: true };
        Access { draw, on_failure: OnFailure::Redraw, when: When::BeforeFrame, holding: Holding::Packet }
    }
}

impl WindowLaw for Witness {
    fn begin(&mut self, _: &WindowStart) {}
    fn sees_deliveries(&self) -> bool {
        true
    }
    fn on_delivery(&mut self, told: &Delivery) {
        let last = core::mem::replace(&mut self.last, *told);
        if told.total == 0 {
            return; // that of the connection that starts again
        }
        let grows = told.total >= last.total && told.lost_total >= last.lost_total + u64::from(told.lost);
        self.note(&[
            ("it grows", grows),
            ("arrivals count", told.total - last.total >= u64::from(told.segments)),
            ("nothing was lost yet", told.lost_total == 0),
            ("lost", told.lost > 0),
            ("restored", told.repair == Repair::None),
            ("recovery", told.repair == Repair::Recovery),
            ("round trip", told.round_trip.is_some()),
            ("idle", told.after_idle),
            ("paced", told.paced_until > told.now),
            ("rate", told.rate.is_some()),
        ]);
        if let Some(rate) = told.rate {
            self.note(&[
                ("whole", rate.before + rate.segments == told.total),
                ("application", rate.application_limited),
            ]);
        }
    }
    fn on_ack(&mut self, acked: &Acked) {
        let what = [("a loss", false), ("a time-out", false), ("a deflation", false)];
        self.note(&what);
        if acked.flight == 500 && !acked.now.since(Instant::ZERO).is_zero() {
            self.note(&[
                ("advances", acked.advances),
                ("in recovery", acked.in_recovery),
                ("limited", acked.window_limited),
                ("sampled", acked.sample.is_some()),
                ("smoothed", acked.smoothed.is_some()),
                ("least", acked.least.is_some()),
                ("segments", acked.segments > 0),
                ("of those under way", acked.segments <= acked.flight),
            ]);
        }
    }
    fn on_loss(&mut self, _: &Loss) {
        self.note(&[("a loss", true)]);
    }
    fn on_timeout(&mut self, _: &Loss) {
        self.note(&[("a time-out", true)]);
    }
    fn deflate(&mut self, _: f64) {
        self.note(&[("a deflation", true)]);
    }
    fn congestion_window(&self) -> f64 {
        500.0
    }
    fn slow_start_threshold(&self) -> f64 {
        2.0
    }
}

impl ConnectionLaw for Witness {
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn on_interval(&mut self, flow: &FlowView) -> u32 {
        if let Some(changed) = flow.route_changed {
            self.note(&[("route", changed)]);
        }
        1
    }
}

impl GatewayLaw for Witness {
    fn begin(&mut self, role: &GatewayRole) {
        self.classes = role.classes.len() as u32;
    }
    fn interval(&self) -> Duration {
        Duration::from_secs(1)
    }
    fn at_start(&self) -> Allocation {
        Allocation { total: Some(Rate::from_bps(1)), ..Allocation::default() }
    }
    fn on_classes(&mut self, classes: &NewClasses) -> Allocation {
        self.note(&[("other classes", true)]);
        for class in 0..self.classes {
            self.note(&[("stays", classes.was.contains(&Some(class)))]);
        }
        self.classes = classes.role.classes.len() as u32;
        GatewayLaw::at_start(self)
    }
    fn on_epoch(&mut self, view: &GatewayView) -> Allocation {
        self.note(&[("other classes", false)]);
        view.classes.iter().for_each(|class| self.note(&[("reported", class.is_some())]));
        if view.classes.len() > 5 {
            self.note(&[("all reported", view.classes.iter().all(Option::is_some))]);
        }
        GatewayLaw::at_start(self)
    }
}

impl MarkingLaw for Witness {
    fn on_arrival(&mut self, _: Instant, _: &QueueView) -> Probability {
        self.note(&[("asked", true)]);
        if self.refuses { Probability::ONE } else { Probability::ZERO }
    }
    fn after_arrival(&mut self, _: Instant, _: &QueueView, accepted: bool) {
        self.note(&[("asked", false), ("accepted", accepted), ("arrival", true), ("removal", false)]);
    }
    fn on_departure(&mut self, _: Instant, _: Duration, _: &QueueView) -> Verdict {
        self.note(&[("arrival", false), ("removal", false)]);
        Verdict::Send
    }
    fn on_removal(&mut self, _: Instant, _: &QueueView) {
        self.note(&[("arrival", false), ("removal", true)]);
    }
}

#[test]
fn back_off_laws_are_put_in_every_place() {
    let witness = Witness::default();
    let law = BackoffParams::from(OwnBackoff::new(witness.clone()));
    // One sequence of measurements is enough for the rest.
    (0..2000).for_each(|seed| {
        let mut draws = Draws(seed);
        law.begin(&link_role(&mut draws));
    });
    let even = ["ns-2", "ideal", "acknowledgements", "TCP"].map(|name| (name, 0.5));
    witness.confirms(&even);
    witness.confirms(&[("DSSS", 1.0 / 3.0), ("802.11n and later", 1.0 / 3.0)]);
    witness.confirms(&[("voice", 0.25), ("background", 0.25)]);
    backoff(&law, AnyBackoff::clone, 1);
}

#[test]
fn window_laws_receive_every_fact() {
    let witness = Witness::default();
    let law = WindowParams::from(OwnWindow::new(witness.clone()));
    (0..10).for_each(|seed| window(&law, AnyWindow::clone, seed));
    witness.confirms(&[("it grows", 1.0), ("arrivals count", 1.0), ("nothing was lost yet", 0.0)]);
    // Of each of a loss, a time-out, a deflation there is one in fourteen acknowledgements.
    let rare = 1.0 / 14.0;
    witness.confirms(&[("a loss", rare), ("a time-out", rare), ("a deflation", rare)]);
    witness.confirms(&[("advances", 0.9), ("in recovery", 0.1), ("limited", 0.9), ("segments", 1.0)]);
    witness.confirms(&[("sampled", 0.75), ("smoothed", 1.0), ("least", 1.0), ("of those under way", 1.0)]);
    witness.confirms(&[("lost", 0.75), ("restored", 0.6), ("recovery", 0.2), ("round trip", 0.75)]);
    // A time is none in a sixth of the cases, and in half of another.
    witness.confirms(&[("idle", 1.0 / 21.0), ("paced", 0.75), ("rate", 0.75)]);
    witness.confirms(&[("whole", 1.0), ("application", 0.1)]);
    // Nothing has arrived yet: of nothing is the rate.
    (0..50).for_each(|seed| {
        let told = delivery(&mut Draws(seed), &Acked::default(), &Delivery::default());
        assert!(told.rate.is_none_or(|rate| rate.before + rate.segments == 0));
    });
}

#[test]
fn gateway_laws_receive_changes_of_classes() {
    let witness = Witness::default();
    let law = GatewayParams::from(OwnGateway::new(witness.clone()));
    (0..40).for_each(|seed| gateway(&law, AnyGateway::clone, seed));
    witness.confirms(&[("other classes", 0.1), ("stays", 0.75), ("reported", 0.95)]);
    // In one epoch of ten each class is reported or not, at random; in the others all are.
    witness.confirms(&[("all reported", 0.9)]);
}

#[test]
fn marking_laws_receive_every_outcome() {
    for (refuses, accepted) in [(false, 0.6), (true, 0.0)] {
        let witness = Witness { refuses, ..Witness::default() };
        let law = MarkingParams::from(OwnMarking::new(witness.clone()));
        (0..10).for_each(|seed| marking(&law, AnyMarking::clone, seed));
        // Of ten events five are arrivals, four of them with a call of the law, four departures, one a
        // removal.
        witness.confirms(&[("asked", 4.0 / 9.0), ("accepted", accepted), ("arrival", 0.5), ("removal", 0.1)]);
    }
}

/// Which facts of a flow are known, in the order of [`Signal`]'s but for changes of route, which come last.
fn known(flow: &FlowView) -> [bool; 11] {
    [
        flow.round_trip.is_some(),
        flow.round_trip_of_windows.is_some(),
        flow.round_trip_of_probes.is_some(),
        flow.smoothed_round_trip.is_some(),
        flow.least_round_trip.is_some(),
        flow.least_in_interval.is_some(),
        flow.marked.is_some(),
        flow.lost.is_some(),
        flow.first_backlog.is_some(),
        flow.path_backlog.is_some(),
        flow.route_changed.is_some(),
    ]
}

#[test]
fn laws_of_flows_receive_their_hosts_signals() {
    let (mut now, mut draws) = (Instant::ZERO, Draws(1));
    let full =
        (0..10_000).map(|_| flow_view(&mut now, &mut draws)).find(|flow| known(flow) == [true; 11]).unwrap();
    let signals = [
        Signal::RoundTrip,
        Signal::RoundTripOfWindows,
        Signal::RoundTripOfProbes,
        Signal::SmoothedRoundTrip,
        Signal::LeastRoundTrip,
        Signal::LeastInInterval,
        Signal::Marked,
        Signal::Lost,
        Signal::FirstBacklog,
        Signal::PathBacklog,
    ];
    for (index, signal) in signals.into_iter().enumerate() {
        let mut only = [false; 11];
        only[index] = true;
        assert_eq!(known(&view_with(&full, &[signal], None)), only, "{signal:?}");
    }
    assert_eq!(known(&view_with(&full, &signals, full.route_changed)), [true; 11]);
    let of_linux: [bool; 11] = core::array::from_fn(|index| (3..5).contains(&index));
    assert_eq!(
        [0, 1, 2, 3].map(|host| known(&known_to(host, full))),
        [[false; 11], of_linux, [true; 11], [true; 11]]
    );
    let witness = Witness::default();
    let law = ConnectionParams::from(OwnConnections::new(witness.clone()));
    (0..8).for_each(|seed| connections(&law, AnyConnections::clone, seed));
    witness.confirms(&[("route", 0.1)]);
}

/// One seed, one sequence: others for others. A copy is kept every eighth time.
#[test]
fn seeds_make_sequences_and_copies_are_kept() {
    let law = WindowParams::from(OwnWindow::new(Witness::default()));
    let mut sequences = Vec::new();
    for seed in 0..4 {
        let (kept, told) = (Cell::new(0), RefCell::new(Vec::new()));
        let keep = |law: &AnyWindow| {
            kept.set(kept.get() + 1);
            law.clone()
        };
        drive(&WindowStart::default(), &law, keep, seed, Draws::next, |_, &number| {
            told.borrow_mut().push(number);
            String::new()
        });
        assert_eq!(kept.get(), STEPS.div_ceil(8));
        sequences.push(told.into_inner());
    }
    for (index, one) in sequences.iter().enumerate() {
        assert_eq!(one.len(), 2 * STEPS as usize, "the law and its twin");
        assert!(!sequences[..index].contains(one));
    }
}

#[test]
fn draws_are_of_all_sizes() {
    let witness = Witness::default();
    let mut draws = Draws(1);
    for _ in 0..6000 {
        let (time, volume) = (draws.time(), draws.volume());
        witness.note(&[
            ("chance", draws.chance()),
            ("maybe", draws.maybe(|_| ()).is_some()),
            ("no time", time.is_zero()),
            ("over a second", time > Duration::from_secs(1)),
            ("nothing", volume.packets == 0),
            ("many", volume.packets > 100_000_000),
        ]);
        assert!(volume.packets == 0 || volume.bytes.is_multiple_of(volume.packets), "of one size");
    }
    witness.confirms(&[("chance", 0.5), ("maybe", 0.75)]);
    // Of six spans the longest is ten seconds, of five volumes the greatest 10⁹.
    witness.confirms(&[("no time", 0.25), ("over a second", 0.15), ("nothing", 0.305), ("many", 0.18)]);
}
