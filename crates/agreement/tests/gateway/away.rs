//! A class that leaves in the middle of a download lowers no other's rate.

use crate::bounds::{role, served, step};
use evenair_laws::Parameters;
use evenair_laws::gateway::{
    Allocation, ArcParams, ClassView, GatewayLaw, GatewayParams, PfrcParams, Reason, Step,
};
use evenair_units::{Duration, Rate};

const EPOCH: Duration = Duration::from_secs(10);

fn laws() -> [GatewayParams; 2] {
    [PfrcParams::corrected().into(), ArcParams::corrected().into()]
}

/// A class that its own bucket, or that of all, holds back.
fn limited(bps: u64) -> ClassView {
    let seen = served(bps);
    ClassView { held: Some(seen.served.packets), busy: Some(EPOCH), ..seen }
}

/// A class that is sent a packet now and then, of which none is answered.
fn unanswered(seconds: u64) -> ClassView {
    let busy = Duration::from_secs(seconds.min(5));
    ClassView {
        held: Some(0),
        busy: Some(busy),
        unanswered: Some(Duration::from_secs(seconds)),
        ..served(2_000)
    }
}

fn sum(each: &[Rate]) -> f64 {
    each.iter().map(|rate| rate.as_bps() as f64).sum()
}

/// Nothing comes back from one of two: at the first epoch's end for two seconds, then for longer than five.
#[test]
fn departed_class_lowers_no_rate() {
    for params in laws() {
        let mut law = params.begin(&role(2));
        let mut given = law.at_start();
        let part = |given: &Allocation, class: usize| {
            given
                .each
                .get(class)
                .map_or_else(|| given.total.expect("one of both").as_bps() / 2, |rate| rate.as_bps())
        };
        for _ in 0..8 {
            let classes = [0, 1].map(|class| limited(part(&given, class)));
            given = step(&mut law, &classes);
        }
        let before = given.clone();
        for seconds in [2, 12, 22, 32, 42] {
            let stays = limited(part(&given, 0));
            given = step(&mut law, &[stays, unanswered(seconds)]);
            let Step::Decrease = given.decision.step else { continue };
            panic!("{params:?}, {seconds} s: {:?}", given.decision);
        }
        assert!(part(&given, 0) >= part(&before, 0), "{params:?}: {given:?} after {before:?}");
        if !given.each.is_empty() {
            assert!(
                part(&given, 0) > part(&before, 0) * 3 / 2,
                "the departed class's share is the other's: {given:?}"
            );
            assert!(part(&given, 1) >= part(&before, 1) / 2, "and is there when he is back: {given:?}");
        }
    }
}

/// The same class, starved and then gone: its link was bad before it broke.
#[test]
fn test_for_a_departed_class_is_called_off() {
    let mut law = PfrcParams::corrected().begin(&role(10));
    let mut given = law.at_start();
    let all =
        |given: &Allocation| -> Vec<_> { given.each.iter().map(|rate| limited(rate.as_bps())).collect() };
    for _ in 0..12 {
        let classes = all(&given);
        given = step(&mut law, &classes);
    }
    let before = sum(&given.each);
    let starved =
        ClassView { held: Some(0), busy: Some(EPOCH), unanswered: Some(Duration::ZERO), ..served(1_000) };
    let mut reasons = Vec::new();
    for _ in 0..6 {
        let mut classes = all(&given);
        classes[9] = starved;
        given = step(&mut law, &classes);
        reasons.push(given.decision.reason);
        if given.decision.reason == Reason::Tested {
            break;
        }
    }
    assert_eq!(reasons.last(), Some(&Reason::Tested), "{reasons:?}");
    assert!(sum(&given.each) < 0.8 * before, "all are lower for a test");
    for seconds in [8, 18] {
        let mut classes = all(&given);
        classes[9] = unanswered(seconds);
        given = step(&mut law, &classes);
    }
    assert_eq!((given.decision.step, given.decision.reason), (Step::Increase, Reason::Left));
    // The rate before the alarm: a tenth less for the doubt, and of the rest the share that nine of ten
    // classes carried.
    let back = sum(&given.each) / before;
    assert!((back - 0.9 * 0.9).abs() < 0.01, "{back} of its value before");
}

/// A starved class answers now and then: its alarm counts all the same.
#[test]
fn class_with_rare_answers_is_starved() {
    let mut law = PfrcParams::corrected().begin(&role(2));
    for _ in 0..4 {
        step(&mut law, &[limited(150_000), limited(150_000)]);
    }
    let mut reasons = Vec::new();
    for ms in [300, 2_500, 700, 900, 4_000, 100] {
        let answered = Duration::from_millis(ms);
        let seen =
            ClassView { held: Some(0), busy: Some(EPOCH), unanswered: Some(answered), ..served(9_000) };
        reasons.push(step(&mut law, &[limited(150_000), seen]).decision.reason);
    }
    assert!(reasons.contains(&Reason::Starved) || reasons.contains(&Reason::Tested), "{reasons:?}");
}
