//! Rate control: the modes of frames, the law's chain, and that a fixed mode is the path without a law.

use super::aggregates::{cell, saturated};
use super::*;
use evenair_laws::OwnLaw;
use evenair_laws::rates::{
    AarfParams, ArfParams, Chain, FixedModeParams, FrameStatus, FrameView, IdealParams, MinstrelHtParams,
    OwnRateControl, RateControl, RateControlParams, RateRole, Step,
};
use evenair_wifi::{Aggregation, MissedBlockAck};
use std::sync::{Arc, Mutex};

/// Stations that send to one receiver, under rate control.
fn controlled(stations: u32, law: impl Into<RateControlParams>) -> NetworkSpec {
    let flows: Vec<_> = (1..=stations).map(|from| (from, 0, saturated())).collect();
    let mut spec = cell(stations + 1, &flows);
    spec.rate_control.law = Some(law.into());
    spec
}

fn lose(spec: &mut NetworkSpec, share: f64) {
    let model = LossModel::Frames(Probability::new(share).unwrap());
    spec.losses = vec![LinkLoss { from: 1, to: 0, schedule: vec![(Instant::ZERO, model)] }];
}

/// A law that asks for the same chain always and records its reports.
#[derive(Clone, Debug)]
struct Told {
    steps: Vec<Step>,
    statuses: Arc<Mutex<Vec<FrameStatus>>>,
}

impl OwnLaw for Told {
    fn identity(&self) -> String {
        "told".into()
    }
}

impl RateControl for Told {
    fn begin(&mut self, link: &RateRole) {
        assert_eq!(link.modes[usize::from(link.own)].rate.as_bps(), 390_000_000);
        // VHT 20, 40 and 80 MHz, but MCS 9 at 20 MHz.
        assert_eq!(link.modes.len(), 29);
    }
    fn on_frame(&mut self, _: &FrameView) -> Chain {
        Chain::new(&self.steps)
    }
    fn on_status(&mut self, status: &FrameStatus) {
        self.statuses.lock().unwrap().push(*status);
    }
}

/// Runs a station with a chain of three steps, RTS before each or none, and returns its result and the law's reports.
fn told(loss: f64, announced: bool, after_missed: MissedBlockAck) -> (RunResult, Vec<FrameStatus>) {
    let steps = [(28, 2), (12, 1), (0, 3)].map(|(mode, tries)| Step { mode, tries, announced });
    let law = Told { steps: steps.into(), statuses: Arc::default() };
    let statuses = Arc::clone(&law.statuses);
    let mut spec = controlled(1, OwnRateControl::new(law));
    let limits = Aggregation { after_missed, ..Aggregation::standard() };
    spec.aggregation = Some(Staging { limits, airtime: Some(Staging::AIRTIME) });
    lose(&mut spec, loss);
    let result = Network::run(&spec, seconds(1, 0, 2));
    let all = statuses.lock().unwrap().clone();
    (result, all)
}

#[test]
fn a_fixed_mode_is_the_path_without_a_law() {
    for stations in [1, 3] {
        let spec = controlled(stations, FixedModeParams {});
        let mut without = spec.clone();
        without.rate_control = RateControlSpec::default();
        let [with, without] = [spec, without].map(|spec| Network::run(&spec, seconds(1, 0, 2)));
        assert_eq!(with.fingerprint, without.fingerprint, "{stations} stations");
        assert!(with.links.iter().all(|link| link.modes.len() <= 1), "{:?}", with.links);
    }
}

/// All is lost: a chain is tried to its end, two, one and three times, unless its packets are given up before.
#[test]
fn a_chain_is_tried_to_its_end() {
    let (result, statuses) = told(1.0, false, MissedBlockAck::Data);
    let tries = |status: &FrameStatus| status.tried.map(|tried| tried.tries);
    assert_eq!(tries(&statuses[0]), [2, 1, 3, 0]);
    let in_order = [[1, 0, 0, 0], [2, 0, 0, 0], [2, 1, 0, 0], [2, 1, 1, 0], [2, 1, 2, 0], [2, 1, 3, 0]];
    assert!(statuses.iter().all(|status| in_order.contains(&tries(status)) && status.acknowledged == 0));
    let link = result.links.iter().find(|link| !link.modes.is_empty()).unwrap();
    for (place, mode) in [2, 1, 0].into_iter().zip(&link.modes) {
        let told: u64 = statuses.iter().map(|status| u64::from(tries(status)[place])).sum();
        assert!(
            mode.acknowledged == 0 && mode.frames.abs_diff(told) <= 3,
            "{mode:?}, {told}: a chain at most is under way"
        );
    }
}

/// Nothing is lost: each frame is acknowledged in the first mode, whole, after an RTS.
#[test]
fn a_law_is_told_of_each_frame() {
    let (result, statuses) = told(0.0, true, MissedBlockAck::Data);
    let is_whole = |status: &FrameStatus| status.acknowledged == status.packets && status.tried[0].tries == 1;
    assert!(statuses.len() > 100 && statuses.iter().all(is_whole));
    let link = result.links.iter().find(|link| !link.modes.is_empty()).unwrap();
    let frames: u64 = link.modes.iter().map(|mode| mode.frames).sum();
    assert!(link.attempts.abs_diff(frames) <= 1, "{} frames, {frames} told", link.attempts);
    assert!(link.requests.abs_diff(link.attempts) <= 1, "{} RTS", link.requests);
    let sent: u64 = statuses.iter().map(|status| u64::from(status.packets)).sum();
    assert!(sent.abs_diff(link.modes[0].packets) <= 64, "all but the last frame's");
}

/// A block ack request follows a missing block acknowledgement: it ends the chain, and the law learns of one try.
#[test]
fn a_block_ack_request_ends_the_chain() {
    let (_, statuses) = told(1.0, false, MissedBlockAck::Request);
    let aggregates: Vec<_> = statuses.iter().filter(|status| status.packets > 1).collect();
    assert!(aggregates.len() > 5 && aggregates.iter().all(|status| status.tried().count() == 1));
}

/// Nothing but collisions is lost: a lone station ends in its fastest mode under every law, and carries nine tenths of it at least.
#[test]
fn a_lone_station_reaches_its_fastest_mode() {
    let laws: [RateControlParams; 4] = [
        IdealParams::default().into(),
        ArfParams::default().into(),
        AarfParams::default().into(),
        MinstrelHtParams::default().into(),
    ];
    let [fixed] = [RateControlParams::from(FixedModeParams {})]
        .map(|law| Network::run(&controlled(1, law), seconds(1, 2, 4)).flows[0].goodput_pps);
    for law in laws {
        let result = Network::run(&controlled(1, law.clone()), seconds(1, 2, 4));
        let share = result.flows[0].goodput_pps / fixed;
        assert!((0.9..1.001).contains(&share), "{law:?}: {share}");
        assert_conserved(&result);
    }
}

/// The ledger's shares add up to one while modes change from frame to frame.
#[test]
fn ledger_adds_up_under_rate_control() {
    let mut run = seconds(1, 1, 3);
    run.ledger = true;
    let result = Network::run(&controlled(5, MinstrelHtParams::default()), run);
    for link in &result.links {
        let airtime = link.airtime.as_ref().unwrap();
        let shares = [airtime.own, airtime.collided, airtime.backoff, airtime.interframe, airtime.empty];
        let sum: f64 = shares.iter().sum::<f64>() + airtime.blocked();
        assert!((sum - 1.0).abs() < 1e-9, "{}: {sum}", link.queue);
    }
    assert!(result.links.iter().any(|link| link.modes.len() > 3), "modes change");
}
