//! Classes come, go and change while a law runs: those that stay go on as they were, and a search does not begin again.

use crate::bounds::{role, served, step};
use crate::mesh::{Flow, LINK, Mesh, Wants};
use evenair_laws::Parameters;
use evenair_laws::gateway::{
    Allocation, AnyGateway, ArcParams, ClassRole, ClassView, DelayCapParams, FixedRateParams, GatewayLaw,
    GatewayParams, GatewayRole, GatewayView, NewClasses, Pfrc, PfrcParams, Reason, Step,
};
use evenair_units::{Duration, Instant, Rate};
use proptest::prelude::*;

fn laws() -> Vec<GatewayParams> {
    let rate = Some(Rate::from_kbps(600));
    vec![
        PfrcParams::corrected().into(),
        PfrcParams::jam10().into(),
        ArcParams::corrected().into(),
        ArcParams::jam10().into(),
        DelayCapParams::default().into(),
        FixedRateParams { rate, shared: true, ..FixedRateParams::default() }.into(),
        FixedRateParams { rates: vec![Rate::from_kbps(90); 3], ..FixedRateParams::default() }.into(),
    ]
}

fn classes(role: &GatewayRole, was: &[Option<u32>]) -> NewClasses {
    NewClasses { role: role.clone(), was: was.to_vec() }
}

/// The service of three classes in some epochs \[bit/s\].
fn epochs() -> impl Strategy<Value = Vec<[u64; 3]>> {
    prop::collection::vec([0u64..600_000, 0u64..600_000, 0u64..600_000], 1..40)
}

fn views(rates: &[u64]) -> Vec<ClassView> {
    rates.iter().map(|&bps| if bps < 60_000 { ClassView::default() } else { served(bps) }).collect()
}

proptest! {
    /// The same classes once more are no change.
    #[test]
    fn unchanged_classes_change_nothing(epochs in epochs(), at in 0usize..40) {
        for params in laws() {
            let mut law = params.begin(&role(3));
            for (epoch, rates) in epochs.iter().enumerate() {
                if epoch == at {
                    let before = law.clone();
                    law.on_classes(&classes(&role(3), &[Some(0), Some(1), Some(2)]));
                    prop_assert_eq!(&law, &before);
                }
                step(&mut law, &views(rates));
            }
        }
    }

    /// A class without packets comes and goes: to the last bit, the others keep their rates.
    #[test]
    fn idle_class_moves_no_rate(epochs in epochs(), came in 0usize..20, stays in 1usize..20) {
        let searching = laws().into_iter().take(4);
        for params in searching {
            let (mut with, mut without) = (params.begin(&role(3)), params.begin(&role(3)));
            let mut is_there = false;
            // All are seen first: before that, all share.
            for (epoch, rates) in [[300_000; 3]].iter().chain(&epochs).enumerate() {
                if epoch == came + 1 {
                    with.on_classes(&classes(&role(4), &[Some(0), None, Some(1), Some(2)]));
                    is_there = true;
                } else if epoch == came + 1 + stays {
                    with.on_classes(&classes(&role(3), &[Some(0), Some(2), Some(3)]));
                    is_there = false;
                }
                let mut seen = views(rates);
                let alone = step(&mut without, &seen);
                if is_there {
                    seen.insert(1, ClassView::default());
                }
                let mut beside = step(&mut with, &seen);
                if is_there && !beside.each.is_empty() {
                    beside.each.remove(1);
                }
                prop_assert_eq!(alone.total, beside.total);
                // Without an active class all share, idle ones too.
                if seen.iter().any(ClassView::is_seen) {
                    prop_assert_eq!(alone.each, beside.each);
                }
            }
        }
    }

    /// For any arrivals, departures and changes: PFRC's rates are shares by weight of no more than the links'
    /// capacity.
    #[test]
    fn shares_stay_within_the_links(
        epochs in prop::collection::vec((prop::collection::vec(0u64..600_000, 5), 0usize..9, 0.1f64..10.0), 1..40),
    ) {
        for form in [PfrcParams::corrected(), PfrcParams::jam10()] {
            let mut now = role(3);
            let mut law = form.begin(&now);
            for (rates, what, weight) in &epochs {
                let mut was: Vec<_> = (0..now.classes.len() as u32).map(Some).collect();
                match what {
                    0 if was.len() < 5 => {
                        now.classes.push(ClassRole { weight: *weight, ..now.classes[0] });
                        was.push(None);
                    }
                    1 if was.len() > 1 => {
                        now.classes.remove(0);
                        was.remove(0);
                    }
                    2 => now.classes[0].weight = *weight,
                    _ => (),
                }
                let told = law.on_classes(&classes(&now, &was));
                let decided = step(&mut law, &views(&rates[..now.classes.len()]));
                for allocation in [told, decided] {
                    prop_assert_eq!(allocation.each.len(), now.classes.len());
                    for rate in allocation.each {
                        prop_assert!((1..=LINK as u64).contains(&rate.as_bps()) || form == PfrcParams::jam10(), "{}", rate);
                    }
                }
            }
        }
    }
}

fn estimate(allocation: &Allocation) -> u64 {
    allocation.total.map_or_else(|| allocation.each.iter().map(|rate| rate.as_bps()).sum(), Rate::as_bps)
}

/// A mesh at rest: a fifth subscriber is configured, and comes; the capacity that was found is not sought from the beginning.
#[test]
fn a_subscriber_comes_and_the_search_goes_on() {
    for params in laws().into_iter().take(4) {
        let flows: Vec<_> = [1.0, 2.0, 2.0, 1.0].map(|hops| Flow::new(hops, Wants::All)).into();
        let mut mesh = Mesh::new(&params, &flows);
        let first = estimate(&mesh.allocation);
        mesh.run(60);
        let before = estimate(&mesh.allocation);
        assert!(
            before > first + first / 10,
            "{params:?} found more than it began with: {before} after {first}"
        );
        let class = ClassRole { link_rate: Some(Rate::from_bps(LINK as u64)), ..ClassRole::default() };
        let new = GatewayRole { classes: vec![class; 5] };
        let told = mesh.law.on_classes(&classes(&new, &[Some(0), Some(1), Some(2), Some(3), None]));
        assert_eq!((told.decision.step, told.decision.reason), (Step::Hold, Reason::Reconfigured));
        // A new class begins with its rate beside the others, which keep theirs.
        assert_eq!(told.total, mesh.allocation.total, "{params:?}");
        if let [others @ .., new] = &told.each[..] {
            assert_eq!(others, &mesh.allocation.each[..], "{params:?}");
            assert!(*new < others[0] && new.as_bps() > 0, "{params:?}: {told:?}");
        }
        mesh.allocation = told;
        mesh.flows.push(Flow::new(1.0, Wants::All));
        mesh.epoch();
        mesh.epoch();
        let after = estimate(&mesh.allocation);
        assert!(after * 3 > before * 2, "{params:?} goes on near {before}, at {after}");
    }
}

/// Weights change: the shares follow at once, and their sum stays.
#[test]
fn other_weights_share_the_same() {
    for params in [PfrcParams::corrected(), PfrcParams::jam10()] {
        let mut law = params.begin(&role(3));
        for _ in 0..4 {
            step(&mut law, &[served(120_000); 3]);
        }
        let before = estimate(&law.at_start());
        let mut new = role(3);
        new.classes[2].weight = 4.0;
        let told = law.on_classes(&classes(&new, &[Some(0), Some(1), Some(2)]));
        assert!(estimate(&told).abs_diff(before) <= 3, "{params:?}: {before} and {told:?}");
        assert!(told.each[2].as_bps().abs_diff(4 * told.each[0].as_bps()) <= 4, "{told:?}");
    }
}

/// Links become twice as fast, and so does the reachable estimate, without a wait for the bounds to open. And
/// half as fast: at once.
#[test]
fn other_links_are_other_bounds() {
    let saturated = |law: &mut AnyGateway, epochs: u32| {
        let mut allocation = law.at_start();
        for _ in 0..epochs {
            let all = estimate(&allocation);
            // The allowed rate is served, and more is wanted.
            let seen = |of: u64| {
                let seen = served(all / 3 / of);
                ClassView { held: Some(seen.served.packets), backlog: seen.served, ..seen }
            };
            allocation = step(law, &[seen(1), seen(1), seen(1)]);
        }
        estimate(&allocation)
    };
    for params in laws().into_iter().take(4) {
        let mut law = params.begin(&role(3));
        let found = saturated(&mut law, 40);
        assert!(found <= LINK as u64 + 3 && found > LINK as u64 / 2, "{params:?}: {found}");
        let mut fast = role(3);
        fast.classes.iter_mut().for_each(|class| class.link_rate = Some(Rate::from_bps(2 * LINK as u64)));
        let same = [Some(0), Some(1), Some(2)];
        let told = law.on_classes(&classes(&fast, &same));
        assert!(estimate(&told).abs_diff(found) <= 3, "{params:?}: it goes on from where it is");
        let more = saturated(&mut law, 10);
        assert!(more as f64 > 1.2 * LINK, "{params:?}: {more} after {found}");
        let told = law.on_classes(&classes(&role(3), &same));
        assert!(estimate(&told) <= LINK as u64 + 3, "{params:?}: {told:?}");
    }
}

/// A class that raised an alarm has gone while all were held at the floor for its sake: they return to where they were.
#[test]
fn alarm_ends_with_its_class() {
    let mut law: Pfrc = PfrcParams::corrected().begin(&role(3));
    let limited = |rate: Rate| {
        let seen = served(rate.as_bps());
        ClassView { held: Some(seen.served.packets), ..seen }
    };
    let mut allocation = law.at_start();
    let mut highest = 0;
    // The third never gets more than a trickle.
    while allocation.decision.reason != Reason::Tested {
        highest = highest.max(allocation.each[0].as_bps());
        let seen = [limited(allocation.each[0]), limited(allocation.each[1]), served(1_200)];
        allocation = step(&mut law, &seen);
    }
    let held = allocation.each[0].as_bps();
    assert!(held < highest, "{held} at the floor, {highest} before");
    let told = law.on_classes(&classes(&role(2), &[Some(0), Some(1)]));
    assert!(told.each[0].as_bps() > held, "{told:?}");
}

/// Own rates: a class that stays keeps its own, a new one has the least, and none is without a limit.
#[test]
fn fixed_rates_go_with_their_classes() {
    let rates = [60, 40, 90].map(Rate::from_kbps);
    let mut law = FixedRateParams { rates: rates.into(), ..FixedRateParams::default() }.begin(&role(3));
    let told = law.on_classes(&classes(&role(3), &[Some(2), None, Some(0)]));
    assert_eq!(told.each, [rates[2], rates[1], rates[0]]);
    law.on_classes(&classes(&role(0), &[]));
    assert_eq!(law.on_classes(&classes(&role(1), &[None])).each, [rates[1]]);
}

/// Nothing was known of the links, so that the gateway was open: it is no longer when one becomes known.
#[test]
fn link_that_becomes_known_closes_open_gateway() {
    for params in laws().into_iter().take(4) {
        let mut law = params.begin(&GatewayRole { classes: vec![ClassRole::default(); 2] });
        assert_eq!(law.at_start().decision.reason, Reason::Unbounded);
        let told = law.on_classes(&classes(&role(2), &[Some(0), Some(1)]));
        assert!(estimate(&told) >= 1 && estimate(&told) <= LINK as u64, "{told:?}");
    }
}

/// Nothing is known of a class that is there, as when its counters began again: the law holds, and goes on as if the epoch had not
/// been. Of a class that is not there nothing need be known.
#[test]
fn unknown_figures_are_waited_for() {
    for params in laws().into_iter().take(4) {
        let mut law = params.begin(&role(3));
        for _ in 0..4 {
            step(&mut law, &[served(120_000), served(120_000), ClassView::default()]);
        }
        let before = law.clone();
        let (now, interval) = (Instant::ZERO, Duration::from_secs(10));
        let epoch = |classes: [Option<ClassView>; 3]| GatewayView { now, interval, classes: classes.into() };
        let told = law.on_epoch(&epoch([Some(served(120_000)), None, None]));
        assert_eq!(told.decision.reason, Reason::Unknown, "{params:?}");
        assert_eq!((told.decision.step, told.decision.class), (Step::Hold, Some(1)));
        assert_eq!(law, before);
        let mut beside = before.clone();
        let told = law.on_epoch(&epoch([Some(served(120_000)), Some(served(120_000)), None]));
        assert_ne!(told.decision.reason, Reason::Unknown);
        let known = [Some(served(120_000)), Some(served(120_000)), Some(ClassView::default())];
        assert_eq!(told, beside.on_epoch(&epoch(known)), "{params:?}");
    }
}
