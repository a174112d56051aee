//! In a closed loop: where the laws settle, how soon, and which events move them.

use crate::mesh::{Flow, LINK, Mesh, Wants};
use evenair_laws::gateway::{
    ArcParams, ClassView, GatewayParams, PfrcParams, RateHistory, Reason, SearchMethod, Step,
};

fn elastic(hops: &[f64]) -> Vec<Flow> {
    hops.iter().map(|&hops| Flow::new(hops, Wants::All)).collect()
}

fn pfrc() -> GatewayParams {
    PfrcParams::corrected().into()
}

/// Of its share γ is enough for a class, and it may fall by θ before that counts.
fn enough() -> f64 {
    0.9 * PfrcParams::corrected().gamma()
}

/// Least and greatest mean rate over `epochs` epochs, over the fair share; only of flows that want all.
fn over_fair(mesh: &mut Mesh, epochs: usize) -> (f64, f64) {
    let fair = mesh.fair();
    let rates = mesh.mean(epochs);
    let wants_all = |flow: &Flow| flow.wants == Wants::All;
    let shares = mesh.flows.iter().zip(&rates).filter(|(flow, _)| wants_all(flow));
    shares.fold((f64::INFINITY, 0.0), |(least, most), (flow, &rate)| {
        let share = rate / (fair * flow.weight);
        (least.min(share), most.max(share))
    })
}

/// Deep meshes are to be found below the first estimate, flat ones above it.
#[test]
fn every_law_finds_fair_share_from_both_sides() {
    let exponential = SearchMethod::Exponential;
    let laws: [(&str, GatewayParams); 4] = [
        ("PFRC", pfrc()),
        ("PFRC, exponential", PfrcParams { search: exponential, ..PfrcParams::corrected() }.into()),
        ("ARC", ArcParams::corrected().into()),
        ("ARC, exponential", ArcParams { search: exponential, ..ArcParams::corrected() }.into()),
    ];
    for (name, params) in laws {
        // An exponential search never rests: it goes to and fro between β and α.
        let PfrcParams { alpha, beta, .. } = PfrcParams::corrected();
        let least = if name.contains("exponential") { enough() * beta / alpha } else { enough() };
        for hops in [&[1.0, 2.0, 3.0, 4.0][..], &[3.0; 4], &[1.0, 1.0], &[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]] {
            let mut mesh = Mesh::new(&params, &elastic(hops));
            mesh.run(20);
            let (worst, best) = over_fair(&mut mesh, 20);
            assert!(worst >= least && best <= 1.25, "{name}, {hops:?}: {worst:.2} to {best:.2} of fair");
        }
    }
}

/// [Jam10] section 7.5.2 promises about log2 K steps; the corrected form's take two epochs each.
#[test]
fn it_settles_in_a_dozen_epochs() {
    let mut mesh = Mesh::new(&pfrc(), &elastic(&[1.0, 2.0, 3.0, 4.0]));
    mesh.run(12);
    let fair = mesh.fair();
    for epoch in 12..30 {
        mesh.epoch();
        let worst = mesh.rates().into_iter().fold(f64::INFINITY, f64::min) / fair;
        assert!(worst > enough(), "{worst:.2} of fair in epoch {epoch}");
        assert_eq!(mesh.allocation.decision.step, Step::Hold, "epoch {epoch}");
    }
}

#[test]
fn weights_are_kept() {
    let mut flows = elastic(&[1.0, 2.0, 3.0]);
    for (flow, weight) in flows.iter_mut().zip([1.0, 2.0, 3.0]) {
        flow.weight = weight;
    }
    let mut mesh = Mesh::new(&pfrc(), &flows);
    mesh.run(20);
    let (worst, best) = over_fair(&mut mesh, 20);
    assert!(worst > enough() && best < 1.25, "{worst:.2} to {best:.2} of fair");
}

/// [Jam10] Table 8.3's flow: as printed it drags all to the floor `C_low`/N of section 8.2.4; corrected it is
/// content, and the others share the rest.
#[test]
fn flow_of_low_demand_lowers_no_rate() {
    for (wants, kbps) in [(10e3, 10.0), (20e3, 20.0), (40e3, 40.0)] {
        let mut flows = elastic(&[1.0, 2.0, 3.0, 4.0]);
        flows[3].wants = Wants::Rate(wants);
        let mut thesis = Mesh::new(&PfrcParams::jam10().into(), &flows);
        thesis.run(30);
        let dragged = thesis.mean(20)[0];
        let floor = LINK / 3.0 / 4.0;
        assert!((dragged / floor - 1.0).abs() < 0.05, "{dragged} of {floor} at {kbps} kb/s");
        let mut corrected = Mesh::new(&pfrc(), &flows);
        corrected.run(30);
        let fair = corrected.fair();
        let rates = corrected.mean(20);
        let others = &rates[..3];
        assert!(others.iter().all(|&rate| rate > enough() * fair), "{rates:?} of {fair} at {kbps} kb/s");
        // Its share of its known demand, but for two packets an epoch.
        assert!(rates[3] > 0.9 * wants - 2_400.0, "{rates:?}: it has its demand");
    }
}

/// Pages leave gaps: their mean is below any share, and they are not starved.
#[test]
fn pages_lower_no_rate() {
    let mut flows = elastic(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    for flow in &mut flows[3..] {
        flow.wants = Wants::Pages(20e3);
    }
    let shares = |params: &GatewayParams| {
        let mut mesh = Mesh::new(params, &flows);
        mesh.run(30);
        over_fair(&mut mesh, 30)
    };
    let (thesis, corrected) = (shares(&PfrcParams::jam10().into()), shares(&pfrc()));
    assert!(thesis.1 < 0.55, "as printed all are at the floor: {thesis:?}");
    assert!(corrected.0 > 0.8, "{corrected:?}");
}

#[test]
fn rate_of_a_departed_class_is_shared() {
    let mut mesh = Mesh::new(&pfrc(), &elastic(&[1.0, 2.0, 3.0, 4.0]));
    mesh.run(20);
    for wants in [Wants::Nothing, Wants::All] {
        mesh.flows[3].wants = wants;
        mesh.run(14);
        let (worst, best) = over_fair(&mut mesh, 10);
        assert!(worst > 0.75 && best < 1.25, "{worst:.2} to {best:.2} of fair after {wants:?}");
    }
}

/// The air loses half of its capacity, a fiftieth of it an epoch, and has it back later.
#[test]
fn capacity_that_goes_and_comes_is_followed() {
    let mut mesh = Mesh::new(&pfrc(), &elastic(&[1.0, 1.0, 2.0, 2.0]));
    mesh.run(20);
    for _ in 0..35 {
        mesh.airtime *= 0.98;
        mesh.epoch();
    }
    mesh.run(6);
    let (worst, _) = over_fair(&mut mesh, 10);
    assert!(worst > enough(), "{worst:.2} of fair after the decline");
    mesh.airtime = 1.0;
    mesh.run(60);
    let (worst, _) = over_fair(&mut mesh, 20);
    assert!(worst > 0.75, "{worst:.2} of fair: the bounds open again");
}

/// Alg. 1 overwrites the value that it compares with, so a flow that loses a fiftieth an epoch is never below
/// θ of it; its text's maximum finds the decline.
#[test]
fn alg_1_as_printed_does_not_see_a_slow_decline() {
    let decreases = |history| {
        let params = ArcParams { history, ..ArcParams::jam10() };
        let mut law = evenair_laws::Parameters::begin(&params, &crate::bounds::role(2));
        let mut count = 0;
        for epoch in 0..40 {
            let declining = (100_000.0 * 0.98f64.powi(epoch)) as u64;
            let views = [crate::bounds::served(100_000), crate::bounds::served(declining)];
            count += usize::from(crate::bounds::step(&mut law, &views).decision.step == Step::Decrease);
        }
        count
    };
    assert_eq!(decreases(RateHistory::Overwritten), 0);
    assert!(decreases(RateHistory::Maximum) > 30);
}

/// Downstream UDP always gets its given rate, as far as its queue can show: without other traffic, all rates
/// stay where they began.
#[test]
fn unresponsive_class_does_not_raise_the_rates() {
    let blind = [Flow::new(2.0, Wants::Blind(2e6)), Flow::new(3.0, Wants::Blind(2e6))];
    let mut mesh = Mesh::new(&pfrc(), &blind);
    mesh.run(10);
    assert_eq!(mesh.allocation.decision.reason, Reason::Unresponsive);
    let total: u64 = mesh.allocation.each.iter().map(|rate| rate.as_bps()).sum();
    assert!((total as f64 - LINK / 3.0).abs() < 10.0, "{total}");
    // As printed it climbs to the upper bound.
    let mut thesis = Mesh::new(&PfrcParams::jam10().into(), &blind);
    thesis.run(10);
    let total: u64 = thesis.allocation.each.iter().map(|rate| rate.as_bps()).sum();
    assert!(total as f64 > 0.98 * LINK, "{total}");
    // Beside TCP it is held to its share, because TCP responds to its load.
    let mut flows = elastic(&[1.0, 2.0, 3.0]);
    flows[0].wants = Wants::Blind(2e6);
    let mut mixed = Mesh::new(&pfrc(), &flows);
    mixed.run(30);
    let (worst, _) = over_fair(&mut mixed, 20);
    assert!(worst > 0.75, "{worst:.2} of fair beside UDP");
    // While the law rests its log names the unresponsive class, and no other.
    let mut named = 0;
    for _ in 0..20 {
        mixed.epoch();
        let decision = mixed.allocation.decision;
        if decision.reason == Reason::Unresponsive {
            assert_eq!(decision.class, Some(0));
            named += 1;
        }
    }
    assert!(named > 5, "{named} times");
}

/// One after the other of twenty flows begins and ends within an epoch or two: no rate falls to the floor for
/// it.
#[test]
fn churn_is_no_starvation() {
    let mut mesh = Mesh::new(&pfrc(), &elastic(&[2.0; 24]));
    for flow in &mut mesh.flows[4..] {
        flow.wants = Wants::Nothing;
    }
    mesh.run(20);
    let mut sum = [0.0; 4];
    for epoch in 0..100 {
        let comes = 4 + epoch % 20;
        mesh.flows[comes].wants = Wants::Rate(20e3);
        mesh.flows[4 + (epoch + 18) % 20].wants = Wants::Nothing;
        mesh.epoch();
        sum.iter_mut().enumerate().for_each(|(i, sum)| *sum += mesh.rate(i) / 100.0);
    }
    let fair = mesh.fair();
    assert!(sum.iter().all(|&rate| rate > 0.7 * fair), "{sum:?} of {fair}");
}

/// A mesh with a capacity far below every bound: no class gets the promised floor, and none is blamed for
/// ever.
#[test]
fn below_the_floor_the_floor_holds() {
    let mut mesh = Mesh::new(&pfrc(), &elastic(&[9.0, 9.0, 12.0]));
    mesh.run(40);
    let floor = LINK / 6.0 / 3.0;
    for _ in 0..20 {
        mesh.epoch();
        let least = mesh.allocation.each.iter().map(|rate| rate.as_bps()).min();
        assert!(least.is_some_and(|least| least as f64 > 0.999 * floor), "{least:?} of {floor}");
        assert!(mesh.views.iter().all(ClassView::is_seen));
    }
}
