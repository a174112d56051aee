//! Sources with a law for their rate.

use super::*;
use evenair_laws::OwnLaw;
use evenair_laws::flow::FlowView;
use evenair_laws::rate::{OwnRate, RateLaw, RateParams, SeenQueue, UtilityBasedParams};

fn rated(law: impl Into<RateParams>) -> RatedSpec {
    RatedSpec { size: Bytes::new(1250), law: law.into(), rate_max: Rate::from_kbps(1_000_000) }
}

/// Rates in turn, 70 ms each.
#[derive(Clone, Debug)]
struct InTurn {
    rates_bps: Vec<u64>,
    asked: usize,
}

impl OwnLaw for InTurn {
    fn identity(&self) -> String {
        format!("in turn {:?}", self.rates_bps)
    }
}

impl RateLaw for InTurn {
    fn interval(&self) -> Duration {
        Duration::from_millis(70)
    }
    fn on_interval(&mut self, flow: &FlowView) -> Rate {
        assert_eq!(
            flow.interval,
            self.interval() * u64::from(self.asked > 0),
            "it is asked where it starts, too"
        );
        assert!(flow.path_backlog.is_none(), "nobody asked for the path's");
        self.asked += 1;
        Rate::from_bps(self.rates_bps[(self.asked - 1) % self.rates_bps.len()])
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    /// For any rates, and any number of datagrams an interval, the count equals the integral of the rate.
    #[test]
    fn nothing_is_lost_or_won_where_a_rate_changes(
        rates_bps in prop::collection::vec(prop_oneof![Just(0), 1u64..300_000, 1u64..30_000_000], 1..6),
        intervals in 1u64..60,
    ) {
        let law = OwnRate::new(InTurn { rates_bps: rates_bps.clone(), asked: 0 });
        let mut spec = wired(100_000, 1, 10_000, Traffic::Rated(rated(law)));
        let until = Instant::ZERO + Duration::from_millis(70) * intervals;
        spec.flows[0].active = vec![(Instant::ZERO, until)];
        let run = RunSpec { warmup: Duration::ZERO, duration: until.since(Instant::ZERO), ..seconds(1, 0, 1) };
        let result = Network::run(&spec, run);
        let bits_ms: u64 = (0..intervals as usize).map(|i| 70 * rates_bps[i % rates_bps.len()]).sum();
        // 10 000 bits each; the last of them may be due at the very end.
        let earned = bits_ms as f64 / 1e3 / 10_000.0;
        let sent = result.flows[0].sent as f64;
        prop_assert!((earned - 1.0..=earned).contains(&sent), "{sent} of {earned}");
        assert_conserved(&result);
    }
}

#[test]
fn logarithmic_source_keeps_its_queue() {
    // 100 datagrams/s are one a frame of 10 ms: V/q = 1, and 50 wait. [Lee12] L3.
    let law = UtilityBasedParams { utility: 50.0, ..UtilityBasedParams::lee12() };
    let result = Network::run(&wired(1_000, 20, 1_000, Traffic::Rated(rated(law))), seconds(1, 10, 30));
    let flow = &result.flows[0];
    assert!((flow.goodput_pps - 100.0).abs() < 0.2, "{}", flow.goodput_pps);
    assert!((result.links[0].backlog - 50.0).abs() < 1.0, "{}", result.links[0].backlog);
    assert_eq!(flow.lost, 0);
    assert_eq!(flow.round_trip_s, None);
}

/// A fast wire and a slow one behind it.
fn two_wires(queue: SeenQueue) -> RunResult {
    let law = UtilityBasedParams { utility: 50.0, queue, ..UtilityBasedParams::lee12() };
    let mut spec = wired(10_000, 1, 200, Traffic::Rated(rated(law)));
    spec.medium = Medium::from_signals(3, &[], Dbm::new(0.0), Dbm::new(0.0));
    spec.nodes.push("c".into());
    let slow = Wire { from: 1, to: 2, rate: Rate::from_kbps(1_000), ..spec.wires[0].clone() };
    spec.wires.extend([Wire { from: 2, to: 1, ..slow.clone() }, slow]);
    spec.flows[0].path.push(2);
    Network::run(&spec, seconds(1, 10, 30))
}

#[test]
fn measured_queue_decides_two_hop_rate() {
    let named = |result: &RunResult, name: &str| -> f64 {
        result.links.iter().find(|link| link.queue == name).expect("it is there").backlog
    };
    let (first, sum) = (two_wires(SeenQueue::FirstLink), two_wires(SeenQueue::PathSum));
    // The sum is the slow one's, which makes it one a frame.
    assert!((named(&sum, "b-c") - 50.0).abs() < 1.5, "{}", named(&sum, "b-c"));
    assert_eq!(sum.flows[0].lost, 0);
    // The first link takes ten a frame and has five; the second drops nine of them.
    assert!((named(&first, "a-b") - 5.0).abs() < 1.5, "{}", named(&first, "a-b"));
    assert!((first.flows[0].lost as f64 / 30.0 / 900.0 - 1.0).abs() < 0.02, "{}", first.flows[0].lost);
    assert!(
        (first.flows[0].goodput_pps - 100.0).abs() < 0.2 && (sum.flows[0].goodput_pps - 100.0).abs() < 0.2
    );
}

#[test]
fn a_source_has_a_limit_of_its_own() {
    let law = UtilityBasedParams { utility: 1e300, ..UtilityBasedParams::lee12() };
    let spec = RatedSpec { rate_max: Rate::from_kbps(2_000), ..rated(law) };
    let result = Network::run(&wired(1_000, 1, 10, Traffic::Rated(spec)), seconds(1, 1, 10));
    assert!((result.flows[0].offered_pps.unwrap() - 200.0).abs() < 0.11);
    assert!((result.flows[0].goodput_pps - 100.0).abs() < 0.11);
}
