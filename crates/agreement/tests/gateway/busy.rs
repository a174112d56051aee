//! Busy time: a content class is known at once, and a class that waits in silence is starved.

use crate::bounds::{served, step};
use crate::mesh::{Flow, Mesh, Wants};
use evenair_laws::Parameters;
use evenair_laws::gateway::{
    ArcParams, ClassRole, ClassView, GatewayLaw, GatewayParams, GatewayRole, PfrcParams, Reason,
};
use evenair_units::{Duration, Rate};

/// Two browsing classes, one with a call, and two that want all.
fn community() -> Vec<Flow> {
    let wants = [Wants::All, Wants::All, Wants::Pages(15e3), Wants::Pages(15e3), Wants::Rate(20e3)];
    wants.into_iter().zip([2.0, 3.0, 2.0, 4.0, 3.0]).map(|(wants, hops)| Flow::new(hops, wants)).collect()
}

#[test]
fn browsing_keeps_no_class_at_the_floor() {
    let laws: [GatewayParams; 2] = [PfrcParams::corrected().into(), ArcParams::corrected().into()];
    for params in laws {
        let mut mesh = Mesh::new(&params, &community());
        mesh.tells_busy = true;
        mesh.run(20);
        let fair = 2.0 * mesh.fair();
        let (mut tests, mut sum) = (0, 0.0);
        for _ in 0..100 {
            mesh.epoch();
            sum += mesh.rates()[..2].iter().sum::<f64>() / 100.0;
            tests += u32::from(mesh.allocation.decision.reason == Reason::Tested);
        }
        assert!(tests == 0 && sum > 0.8 * fair, "{params:?}: {sum} of {fair}, {tests} tests");
    }
}

/// A subscriber that downloads and uploads has one share, and one with a single direction has as much.
#[test]
fn both_directions_have_one_share() {
    let class = |subscriber| ClassRole {
        subscriber: Some(subscriber),
        link_rate: Some(Rate::from_kbps(900)),
        ..ClassRole::default()
    };
    let role = GatewayRole { classes: [class(0), class(0), class(1)].into() };
    let mut law = PfrcParams::corrected().begin(&role);
    let kbps = |each: &[Rate]| each.iter().map(|rate| rate.as_bps() as f64 / 1e3).collect::<Vec<_>>();
    let limited = |bps: u64| {
        let seen = served(bps);
        ClassView { held: Some(seen.served.packets), busy: Some(Duration::from_secs(10)), ..seen }
    };
    for _ in 0..3 {
        step(&mut law, &[limited(80_000), limited(80_000), limited(160_000)]);
    }
    let each = kbps(&step(&mut law, &[limited(80_000), limited(80_000), limited(160_000)]).each);
    assert!((each[0] - each[1]).abs() < 1e-3 && (each[0] + each[1] - each[2]).abs() < 0.01, "{each:?}");
    // The upload stops, but for acknowledgements and such: the download has the rest.
    let little = ClassView { held: Some(0), busy: Some(Duration::ZERO), ..served(4_000) };
    let mut each = Vec::new();
    for _ in 0..20 {
        each = kbps(&step(&mut law, &[limited(150_000), little, limited(160_000)]).each);
    }
    assert!(each[0] > 0.9 * each[2] && each[1] >= 0.49 * each[2], "{each:?}");
}

/// Nothing of a class passes, and yet it has data outstanding: its sender waits for a time-out.
#[test]
fn silent_waiting_class_is_starved() {
    let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
    let last = |busy: Duration| {
        let mut law = PfrcParams::corrected().begin(&GatewayRole { classes: [class; 2].into() });
        let limited = ClassView { held: Some(100), busy: Some(Duration::from_secs(10)), ..served(150_000) };
        for _ in 0..4 {
            step(&mut law, &[limited, limited]);
        }
        let silent = ClassView { busy: Some(busy), ..ClassView::default() };
        let reasons = [0; 2].map(|_| step(&mut law, &[limited, silent]).decision.reason);
        reasons.into_iter().any(|reason| matches!(reason, Reason::Starved | Reason::Doubted | Reason::Tested))
    };
    assert!(last(Duration::from_secs(10)));
    assert!(!last(Duration::ZERO), "it may have nothing to send");
}

/// An upload's packets come in bursts and wait for tokens, though all together it gets less than its bucket has: the gateway is not its
/// bottleneck.
#[test]
fn class_with_spare_tokens_is_not_limited() {
    let class = ClassRole { link_rate: Some(Rate::from_kbps(900)), ..ClassRole::default() };
    let after = |share: f64, busy: Option<Duration>| {
        let mut law = PfrcParams::corrected().begin(&GatewayRole { classes: [class; 2].into() });
        let mut allocation = law.at_start();
        for epoch in 0..10 {
            let held = |(of, rate): (usize, &Rate)| {
                let share = if of == 1 && epoch > 4 { share } else { 1.0 };
                let seen = served((rate.as_bps() as f64 * share) as u64);
                ClassView { held: Some(seen.served.packets), busy, ..seen }
            };
            let classes: Vec<_> = allocation.each.iter().enumerate().map(held).collect();
            allocation = step(&mut law, &classes);
        }
        allocation.each[0].as_bps()
    };
    let all = Some(Duration::from_secs(10));
    let content = after(1.0, all);
    assert!(after(0.6, all) < content * 9 / 10, "it is starved");
    assert!(after(0.6, Some(Duration::from_millis(600))) >= content, "its pauses are its own");
    assert_eq!(after(0.6, None), content, "without busy time only its waits are known");
}
