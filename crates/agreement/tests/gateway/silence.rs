//! A starved class may have nothing to show for whole epochs: it waits for a time-out. Silence is no relief, and a trickle is no proof.

use crate::bounds::{role, served, step};
use evenair_laws::Parameters;
use evenair_laws::gateway::{Allocation, ClassView, Pfrc, PfrcParams, Reason, Step};

/// An epoch in which each class was served at a share of its rate, and waited for its tokens if that was all
/// of it.
fn epoch(law: &mut Pfrc, before: &Allocation, shares: &[f64]) -> Allocation {
    let view = |(rate, &share): (&evenair_units::Rate, &f64)| {
        let seen = served((rate.as_bps() as f64 * share) as u64);
        ClassView { held: Some(if share >= 1.0 { seen.served.packets } else { 0 }), ..seen }
    };
    let classes: Vec<_> = before.each.iter().zip(shares).map(view).collect();
    step(law, &classes)
}

fn begin(classes: usize) -> (Pfrc, Allocation) {
    use evenair_laws::gateway::GatewayLaw;
    let law = PfrcParams::corrected().begin(&role(classes));
    let allocation = law.at_start();
    (law, allocation)
}

#[test]
fn silence_after_an_alarm_is_no_relief() {
    let (mut law, mut allocation) = begin(3);
    for _ in 0..6 {
        allocation = epoch(&mut law, &allocation, &[1.0; 3]);
    }
    // The third starves after an increase.
    for _ in 0..3 {
        allocation = epoch(&mut law, &allocation, &[1.0, 1.0, 0.3]);
        if allocation.decision.reason == Reason::Starved {
            break;
        }
    }
    assert_eq!((allocation.decision.step, allocation.decision.reason), (Step::Decrease, Reason::Starved));
    let total = |allocation: &Allocation| allocation.each.iter().map(|rate| rate.as_bps()).sum::<u64>();
    let held = total(&allocation);
    // It is in a time-out: there is nothing of it for two epochs, and it is still taken to be there.
    for _ in 0..2 {
        allocation = epoch(&mut law, &allocation, &[1.0, 1.0, 0.0]);
        assert_ne!(allocation.decision.reason, Reason::Relieved);
        assert!(total(&allocation) <= held, "no class is given more until then: {allocation:?}");
    }
}

/// One of three never gets more than a packet an epoch, as it may be by the mesh's doing: it is not left to that unasked.
#[test]
fn class_with_a_trickle_is_tested() {
    let (mut law, mut allocation) = begin(3);
    let trickle = |allocation: &Allocation| 1_200.0 / allocation.each[2].as_bps() as f64;
    let mut decisions = Vec::new();
    while decisions.last() != Some(&Reason::Tested) {
        assert!(decisions.len() < 12, "{decisions:?}");
        let share = trickle(&allocation);
        allocation = epoch(&mut law, &allocation, &[1.0, 1.0, share]);
        decisions.push(allocation.decision.reason);
    }
    // Less for all brings it more: the others had taken the rate that it wanted.
    allocation = epoch(&mut law, &allocation, &[1.0; 3]);
    allocation = epoch(&mut law, &allocation, &[1.0; 3]);
    assert_eq!(allocation.decision.reason, Reason::Relieved, "{decisions:?}");
}

/// At rest a class gets too little for two epochs: a fifth less for all is tried before the floor is.
#[test]
fn a_shortfall_that_lasts_costs_a_fifth_at_first() {
    let (mut law, mut allocation) = begin(3);
    let total =
        |allocation: &Allocation| allocation.each.iter().map(|rate| rate.as_bps()).sum::<u64>() as f64;
    for _ in 0..40 {
        allocation = epoch(&mut law, &allocation, &[1.0; 3]);
    }
    assert_eq!(allocation.decision.reason, Reason::Converged);
    let before = total(&allocation);
    let doubted = epoch(&mut law, &allocation, &[1.0, 1.0, 0.7]);
    assert_eq!(doubted.decision.reason, Reason::Doubted);
    let starved = epoch(&mut law, &doubted, &[1.0, 1.0, 0.7]);
    assert_eq!(starved.decision.reason, Reason::Starved);
    // 0.9 of it passed, twice, and a fifth less of that.
    assert!((total(&starved) / before - 0.9 * 0.9 / 1.25).abs() < 0.01, "{}", total(&starved) / before);
    // It does not help: the floor shows.
    let mut last = epoch(&mut law, &starved, &[1.0, 1.0, 0.3]);
    last = epoch(&mut law, &last, &[1.0, 1.0, 0.3]);
    last = epoch(&mut law, &last, &[1.0, 1.0, 0.3]);
    assert_eq!(last.decision.reason, Reason::Tested);
    assert!(total(&last) < 0.7 * total(&starved), "{} of {}", total(&last), total(&starved));
}
