use super::*;
use crate::record::RecordOptions;
use evenair_netsim::Network;

/// Runs a scenario with some changes, the ledger kept.
fn run(text: &str, changes: &[&str]) -> (Resolved, RunRecord) {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    let scenario = Resolved::parse("test.toml", text, &changes).unwrap();
    let options = RecordOptions { ledger: true, times: true, ..RecordOptions::default() };
    let seed = scenario.settings().seed;
    let result = Network::run(scenario.network(), options.run_spec(&scenario, seed));
    let record = RunRecord::new(&scenario, result, options);
    (scenario, record)
}

fn judged(text: &str, changes: &[&str]) -> Verdict {
    let (scenario, record) = run(text, changes);
    Verdict::of(&scenario, &[record])
}

fn flow<'a>(verdict: &'a Verdict, name: &str) -> &'a FlowVerdict {
    verdict.flows.iter().find(|flow| flow.flow == name).unwrap()
}

fn sets(verdict: &Verdict) -> Vec<Vec<&str>> {
    verdict.remedies.iter().map(|remedy| remedy.set.iter().map(String::as_str).collect()).collect()
}

/// [Jam10] Table 6.1: of three flows over one, two and three hops the last gets next to nothing.
const CHAIN: &str = include_str!("../../../../scenarios/jam10/chain.toml");
/// [Chen10] section 4.2: flow 2 senses all others.
const FOUR: &str = include_str!("../../../../scenarios/chen10/a.toml");

/// Two stations that do not sense each other, and the receiver of both.
const HIDDEN: &str = r#"
warmup = "5 s"
radio = { transmission_range = "250 m", carrier_sense_range = "300 m" }
nodes = [{ id = "a", at = [0, 0] }, { id = "ap", at = [200, 0] }, { id = "b", at = [400, 0] }]
flows = [{ id = "a-up", from = "a", to = "ap" }, { id = "b-up", from = "b", to = "ap" }]
"#;

/// [`FOUR`] with more keys of flow 1.
fn first_flow(keys: &str) -> String {
    let text = FOUR.replace("id = \"1\"\n", &format!("id = \"1\"\n{keys}\n"));
    assert_ne!(text, FOUR);
    text
}

#[test]
fn hidden_nodes_starve_the_longest_flow() {
    let verdict = judged(CHAIN, &["duration=60 s"]);
    let starved = flow(&verdict, "3");
    assert_eq!((verdict.starving, starved.standing), (1, Standing::Starves), "{verdict:#?}");
    assert_eq!(starved.cause, Some(Cause::HiddenNodes));
    // Nodes stand 200 m apart, and carrier sense ends at 550 m: node 3 does not sense node 0, which disturbs node 2, 400 m away.
    let sentence = starved.sentence.as_ref().unwrap();
    assert!(
        sentence.starts_with("Flow 3 starves at ") && sentence.contains("does not sense the hidden node"),
        "{sentence}"
    );
    assert!(starved.evidence.as_ref().unwrap().hops[0].hidden == ["0"], "{sentence}");
    assert!(verdict.headline.starts_with("1 of 3 flows starves: 3; the others get "), "{}", verdict.headline);
    assert_eq!(verdict.told()[0].flow, "3");
    let sets = sets(&verdict);
    // Node 0 cannot decode the CTS of node 2, 400 m away: transmissions reach 250 m.
    assert!(!sets.iter().flatten().any(|set| set.starts_with("mac.rts")), "{sets:?}");
    assert!(sets.contains(&vec!["backoff.law=adaptive"]), "{sets:?}");
    assert!(sets.contains(&vec!["gateway.node=\"0\"", "gateway.rate=max-min"]), "{sets:?}");
    let commands = verdict.commands("evenair run jam10/chain");
    assert!(
        commands.iter().any(|(command, _)| command == "evenair run jam10/chain --set backoff.law=adaptive"),
        "{commands:?}"
    );
}

/// A CTS silences nodes that decode it.
#[test]
fn rts_is_advice_where_its_cts_is_decoded() {
    let verdict = judged(HIDDEN, &["duration=20 s"]);
    let short = flow(&verdict, "a-up");
    assert_eq!(short.cause, Some(Cause::HiddenNodes), "{verdict:#?}");
    assert_eq!(sets(&verdict), [["mac.rts_threshold=0 bytes"]]);
    let verdict = judged(HIDDEN, &["duration=20 s", "mac.rts_threshold=0 bytes"]);
    let with_rts = flow(&verdict, "a-up");
    assert!(with_rts.share > short.share, "{verdict:#?}");
    assert!(with_rts.sentence.as_ref().is_none_or(|told| told.contains("RTS frames")), "{with_rts:?}");
    assert!(!sets(&verdict).iter().flatten().any(|set| set.starts_with("mac.rts")), "{:?}", sets(&verdict));
}

#[test]
fn deference_names_the_queues_and_their_shares() {
    let verdict = judged(FOUR, &["duration=60 s"]);
    let short = flow(&verdict, "2");
    assert_eq!((short.standing, short.cause), (Standing::Short, Some(Cause::Deference)), "{verdict:#?}");
    let hop = &short.evidence.as_ref().unwrap().hops[0];
    assert!(
        hop.blocked.unwrap() > 0.8 && hop.blocked_by[0].0 == "s1" && hop.blocked_by.len() == 3,
        "{hop:?}"
    );
    assert!(short.sentence.as_ref().unwrap().contains("its sender s2 waits for other transmissions"));
    assert_eq!(sets(&verdict), [["backoff.law=adaptive", "connections.k=10"]]);
    // The optimum by hand: s1 beside s3 or s4, else s2 alone; 1/x1² = 1/x2² + …: flow 1 has 354 packets/s.
    assert!((flow(&verdict, "1").fair_pps.unwrap() - 354.0).abs() < 1.0);
    assert!(flow(&verdict, "1").sentence.is_none());
}

/// Each frame over 5 km is repeated: its acknowledgement comes after the time-out.
#[test]
fn late_acknowledgements_want_a_longer_time_out() {
    let far = HIDDEN.replace("250 m", "6 km").replace("300 m", "12 km").replace("[200, 0]", "[5000, 0]");
    let verdict = judged(&far, &["duration=20 s"]);
    let late = flow(&verdict, "a-up");
    assert_eq!((late.standing, late.cause), (Standing::Short, Some(Cause::LateAcks)), "{verdict:#?}");
    assert!(late.sentence.as_ref().unwrap().contains("come after its time-out"));
    assert_eq!(sets(&verdict)[0], ["mac.ack_timeout=distance"]);
    let cured = judged(&far, &["duration=20 s", "mac.ack_timeout=distance"]);
    assert!(flow(&cured, "a-up").share.unwrap() > 5.0 * late.share.unwrap(), "{cured:#?}");
}

/// A round trip of milliseconds has room for one connection of k = 10.
#[test]
fn no_connections_for_short_round_trips() {
    let cell = r#"
warmup = "1 s"
mac = { kind = "802.11ac", mcs = 7, streams = 2, width = "80 MHz" }
radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
nodes = [{ id = "ap", at = [0, 0] }, { id = "b", at = [10, 0] }, { id = "c", at = [0, 20] }, { id = "d", at = [30, 10] }]
flows = [
    { id = "down-b", from = "ap", to = "b" },
    { id = "down-c", from = "ap", to = "c" },
    { id = "up-d", from = "d", to = "ap" },
]
"#;
    let verdict = judged(cell, &["duration=2 s"]);
    assert_eq!(flow(&verdict, "down-c").cause, Some(Cause::Deference), "{verdict:#?}");
    assert_eq!(sets(&verdict), [["backoff.law=adaptive"]]);
}

#[test]
fn a_law_is_advised_as_far_as_it_is_missing() {
    let adaptive = judged(FOUR, &["duration=20 s", "backoff.law=adaptive"]);
    for remedy in sets(&adaptive) {
        assert_eq!(remedy, ["connections.k=10"]);
    }
    let both = judged(FOUR, &["duration=20 s", "backoff.law=adaptive", "connections.k=10"]);
    assert!(both.remedies.is_empty(), "{:?}", both.remedies);
}

/// A transfer that ends soon after the warm-up has next to nothing in the measured time, and does not starve.
#[test]
fn a_finished_transfer_does_not_starve() {
    let text = first_flow("transfer = \"5 MB\"");
    let (scenario, record) = run(&text, &["duration=20 s"]);
    let verdict = Verdict::of(&scenario, std::slice::from_ref(&record));
    let finished = flow(&verdict, "1");
    assert_eq!(finished.standing, Standing::Finished, "{verdict:#?}");
    // 5 MB in segments of 1000 bytes over the time that they took.
    let took_s = record.flows[0].transfers.as_ref().unwrap().took.as_ref().unwrap().mean_s;
    assert!((finished.rate_pps - 5000.0 / took_s).abs() < 1e-6 * finished.rate_pps);
    let sentence = finished.sentence.as_ref().unwrap();
    assert!(sentence.starts_with("Flow 1 is finished: its transfer of 5 MB took "), "{sentence}");
    assert!(sets(&verdict).contains(&vec!["warmup=0 s"]), "{:?}", sets(&verdict));
}

#[test]
fn a_flow_outside_of_the_measured_time_is_idle() {
    let text = first_flow("start = \"40 s\"");
    let verdict = judged(&text, &["duration=10 s"]);
    assert_eq!(flow(&verdict, "1").standing, Standing::Idle);
    assert_eq!(verdict.starving, 0, "{verdict:#?}");
}

#[test]
fn a_source_of_little_gets_all_that_it_offers() {
    let text = first_flow("traffic = \"cbr\"\nrate = \"16 kbps\"\nsize = \"1000 bytes\"");
    let verdict = judged(&text, &["duration=20 s"]);
    assert_eq!(flow(&verdict, "1").standing, Standing::Served, "{verdict:#?}");
}

#[test]
fn best_served_flow_measures_without_fair_rates() {
    let (scenario, record) = run(CHAIN, &["duration=60 s"]);
    let fair = FairRates(Err("with 900 links it takes long".into()));
    let verdict = Verdict::beside(&scenario, &fair, &[record]);
    let starved = flow(&verdict, "3");
    assert_eq!((starved.standing, starved.share, verdict.starving), (Standing::Starves, None, 1));
    assert!(starved.sentence.as_ref().unwrap().contains("where the best-served flow has"));
    assert!(verdict.headline.ends_with("The fair optimum is not solved here: with 900 links it takes long."));
}

/// The glossary's second measure: 15 packets/s of a fair 252 (6 %) are 3 % of the best-served flow's 478.
#[test]
fn a_flow_far_behind_the_best_served_starves() {
    let (scenario, mut record) = run(FOUR, &["duration=5 s"]);
    let fair = FairRates(Ok(vec![356.0, 252.0, 252.0, 252.0]));
    for (flow, rate) in record.flows.iter_mut().zip([478.0, 15.0, 25.0, 130.0]) {
        flow.goodput_pps = rate;
    }
    let standing: Vec<Standing> =
        Verdict::beside(&scenario, &fair, &[record]).flows.iter().map(|flow| flow.standing).collect();
    assert_eq!(standing, [Standing::Served, Standing::Starves, Standing::Short, Standing::Served]);
}

#[test]
fn runs_are_judged_together_and_the_same_twice() {
    let (scenario, one) = run(FOUR, &["duration=20 s"]);
    let (_, two) = run(FOUR, &["duration=20 s", "seed=2"]);
    let mean = |f: usize| f64::midpoint(one.flows[f].goodput_pps, two.flows[f].goodput_pps);
    let (a, b) = (mean(0), mean(1));
    let runs = [one, two];
    let verdict = Verdict::of(&scenario, &runs);
    assert!((verdict.flows[0].rate_pps - a).abs() < 1e-9 && (verdict.flows[1].rate_pps - b).abs() < 1e-9);
    assert_eq!(verdict, Verdict::of(&scenario, &runs));
}

fn hop() -> Hop {
    Hop {
        from: "a".into(),
        to: "b".into(),
        blocked: Some(0.1),
        empty: Some(0.1),
        frames_lost: Some(0.01),
        ..Hop::default()
    }
}

fn evidence(hops: &[Hop], timeouts_per_s: f64) -> Evidence {
    Evidence { hops: hops.to_vec(), timeouts_per_s, round_trip_s: Some(1.2), is_tcp: true }
}

/// By chance alone, seven attempts in a row are lost once in 160 000 packets (0.18⁷); hidden nodes overlap attempt after attempt.
#[test]
fn few_losses_count_with_hidden_nodes() {
    let some = Hop { frames_lost: Some(0.18), hidden: vec!["x".into()], ..hop() };
    assert_eq!(cause::judge(&evidence(std::slice::from_ref(&some), 0.1)).0, Cause::HiddenNodes);
    let waiting = Hop { blocked: Some(0.6), ..some.clone() };
    assert_eq!(cause::judge(&evidence(&[waiting], 0.1)).0, Cause::Deference);
    let in_sight = Hop { hidden: Vec::new(), empty: Some(0.6), ..some };
    assert_eq!(cause::judge(&evidence(&[in_sight], 0.1)).0, Cause::Timeouts);
}

/// Hops, time-outs a second, the cause, and the end of the clause that says it.
type Case = (Vec<Hop>, f64, Cause, &'static str);

fn check(cases: impl IntoIterator<Item = Case>) {
    for (hops, timeouts, expected, words) in cases {
        let (cause, clause) = cause::judge(&evidence(&hops, timeouts));
        assert_eq!(cause, expected, "{clause}");
        assert!(clause.ends_with(words), "{clause}");
    }
}

#[test]
fn waiting_and_lost_frames_are_causes() {
    check([
        (
            vec![Hop { blocked: Some(0.9), blocked_by: vec![("x".into(), 0.9)], ..hop() }],
            0.0,
            Cause::Deference,
            "waits for other transmissions 90 % of the time (x 90 %)",
        ),
        (
            vec![Hop { frames_lost: Some(0.6), hidden: vec!["x".into(), "y".into()], ..hop() }],
            0.0,
            Cause::HiddenNodes,
            "60 % of the frames that a sends are lost in collisions; it does not sense the hidden nodes x and y, which reach its receiver b",
        ),
        (
            vec![Hop { frames_lost: Some(0.6), ..hop() }],
            0.0,
            Cause::Collisions,
            "60 % of the frames that a sends are lost in collisions",
        ),
        (
            vec![Hop { frames_lost: Some(0.6), link_loss: 0.5, ..hop() }],
            0.0,
            Cause::LinkErrors,
            "60 % of the frames that a sends are lost, 50 % by errors of the link to b",
        ),
    ]);
}

#[test]
fn a_way_without_lost_frames_has_other_causes() {
    let relay = |hop: Hop| Hop { from: "b".into(), to: "c".into(), ..hop };
    check([
        (
            vec![hop(), relay(Hop { lost_on_wire: 0.02, ..hop() })],
            0.0,
            Cause::LinkErrors,
            "the wire from b to c loses 2 % of the packets by errors",
        ),
        (
            vec![hop(), relay(Hop { dropped_full: 0.1, ..hop() })],
            0.0,
            Cause::Drops,
            "b drops 10 % of its packets, most of them for want of room",
        ),
        (
            vec![Hop { empty: Some(0.9), ..hop() }],
            0.2,
            Cause::Timeouts,
            "its sender a has nothing to send 90 % of the time, with 0.2 time-outs a second",
        ),
        (
            vec![Hop { empty: Some(0.9), ..hop() }],
            0.0,
            Cause::NothingToSend,
            "its sender a has nothing to send 90 % of the time",
        ),
        (
            vec![Hop { waits_s: Some(0.1), ..hop() }, relay(Hop { waits_s: Some(0.5), ..hop() })],
            0.0,
            Cause::Queueing,
            "its packets wait longest at b, 500 ms in the mean; a round trip takes 1.2 s",
        ),
        (
            vec![hop(), relay(Hop { waits_s: Some(0.5), blocked: Some(0.7), ..hop() })],
            0.0,
            Cause::Deference,
            "b on its way waits for other transmissions 70 % of the time",
        ),
        (Vec::new(), 0.0, Cause::Unknown, "the airtime ledger, which was not kept, would tell why"),
    ]);
}

/// [Jam10] Fig 3.4: a saturated source in the middle offers its queue as little as the air takes, and starves.
#[test]
fn saturated_source_in_the_middle_starves() {
    let text = include_str!("../../../../scenarios/jam10/flow-in-the-middle.toml");
    let verdict = judged(text, &["duration=20 s"]);
    let standings: Vec<Standing> = verdict.flows.iter().map(|flow| flow.standing).collect();
    assert_eq!(standings, [Standing::Served, Standing::Starves, Standing::Served], "{verdict:#?}");
}
