//! Traffic through a gateway's shaper, and around it: the web, several flows of a node, peers.

use super::*;
use evenair_netsim::{GatewaySpec, RunResult};

/// A chain of nodes 200 m apart at 1 Mb/s, node 0 the gateway; flows from, to, and their other keys.
fn chain(nodes: usize, gateway: &str, flows: &[(usize, usize, &str)]) -> Resolved {
    let mut text = format!(
        "preset = \"ns2\"\nduration = \"200 s\"\nwarmup = \"0 s\"\ntcp = {{ window = \"newreno\", payload = \"1460 bytes\" }}
        radio = {{ receive_threshold = \"-64.37 dBm\", carrier_sense_threshold = \"-78 dBm\", transmit_power = \"24.5 dBm\" }}
        mac = {{ data_rate = \"1 Mbps\", basic_rate = \"1 Mbps\" }}\n{gateway}\n"
    );
    for node in 0..nodes {
        text += &format!("[[nodes]]\nid = \"{node}\"\nat = [{}, 0]\n", 200 * node);
    }
    for (index, (from, to, more)) in flows.iter().enumerate() {
        text += &format!("[[flows]]\nid = \"f{index}\"\nfrom = \"{from}\"\nto = \"{to}\"\n{more}\n");
    }
    parse(&text).unwrap()
}

fn gateway(scenario: &Resolved) -> &GatewaySpec {
    scenario.network().gateway.as_ref().expect("there is a gateway")
}

fn result(scenario: &Resolved) -> RunResult {
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    let p = result.packets;
    assert_eq!(p.originated, p.delivered + p.dropped + p.under_way, "{p:?}");
    result
}

fn kbps(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|flow| flow.goodput_bps / 1e3).collect()
}

const FIXED: &str = "[gateway]\nnode = \"0\"\nshaper = \"per-subscriber\"\nrate = \"240 kbps\"";

#[test]
fn web_replies_and_requests_are_shaped_by_way() {
    let web = "traffic = \"web\"";
    let clients = [(1, 0, web), (2, 0, web), (3, 0, web)];
    let both = chain(4, FIXED, &clients);
    let spec = gateway(&both);
    let names: Vec<String> =
        spec.classes.iter().map(|class| format!("{} {}", class.name, class.role.direction)).collect();
    assert_eq!(names, ["1 up", "1 down", "2 up", "2 down", "3 up", "3 down"]);
    assert_eq!(spec.of_flow, [Some(0), Some(2), Some(4)]);
    assert_eq!(spec.of_replies, [Some(1), Some(3), Some(5)]);
    // Of the replies alone each subscriber has 80 kb/s, of which 1460 of 1500 bytes are data, but for the last of a reply.
    let down = chain(4, &format!("{FIXED}\ndirections = \"down\""), &clients);
    assert_eq!(gateway(&down).of_flow, [None; 3]);
    let shaped = result(&down);
    for rate in kbps(&shaped) {
        assert!((0.9 * 77.9..77.9).contains(&rate), "{rate}");
    }
    let free = result(&chain(4, "", &clients));
    assert!(kbps(&free)[2] < 0.5 * kbps(&shaped)[2], "without it node 3 starves: {:?}", kbps(&free));
    let completed =
        |result: &RunResult, flow: usize| result.flows[flow].transfers.as_ref().unwrap().completed;
    assert!(completed(&shaped, 2) > completed(&free, 2));
}

#[test]
fn fair_plan_gives_web_flows_both_directions() {
    let max_min = "[gateway]\nnode = \"0\"\nshaper = \"per-subscriber\"\nrate = \"max-min\"";
    let scenario = chain(3, max_min, &[(1, 0, "traffic = \"web\""), (0, 2, "")]);
    let evenair_netsim::GatewayControl::Plan(plan) = &gateway(&scenario).control else {
        panic!("it is a plan")
    };
    let each: Vec<f64> = plan.last().unwrap().1.each.iter().map(|rate| rate.as_bps() as f64).collect();
    // Requests of 640 bytes with headers, replies of 51400: 35 segments of 50000.
    assert!((each[0] / each[1] - 640.0 / 51_400.0).abs() < 1e-4, "{each:?}");
    assert!((each[1] / each[2] - 1.0).abs() < 1e-3, "one and two hops share one domain: {each:?}");
}

#[test]
fn flows_share_their_subscribers_rate() {
    let scenario = chain(3, FIXED, &[(0, 1, ""), (0, 1, ""), (0, 1, ""), (0, 2, "")]);
    assert_eq!(gateway(&scenario).of_flow, [Some(0), Some(0), Some(0), Some(1)]);
    let rates = kbps(&result(&scenario));
    let first: f64 = rates[..3].iter().sum();
    assert!((first / rates[3] - 1.0).abs() < 0.05, "{rates:?}");
    assert!(rates[..3].iter().all(|rate| *rate > 10.0), "{rates:?}");
}

#[test]
fn paced_application_gets_its_rate() {
    let scenario =
        chain(3, "", &[(2, 0, "application_rate = \"50 kbps\""), (1, 0, "application_rate = \"90 kbps\"")]);
    let rates = kbps(&result(&scenario));
    assert!((rates[0] - 50.0).abs() < 1.0 && (rates[1] - 90.0).abs() < 1.0, "{rates:?}");
}

/// [Jam10] section 8.2.6, Fig 8.5 and 8.6.
#[test]
fn peers_pass_the_gateway_or_do_not() {
    let scenario = chain(8, FIXED, &[(1, 0, ""), (2, 0, ""), (7, 5, "")]);
    assert_eq!(gateway(&scenario).of_flow, [Some(0), Some(1), None], "7 to 5 does not");
    let rates = kbps(&result(&scenario));
    assert!(rates[2] > rates[0].max(rates[1]), "nothing holds it back: {rates:?}");
    // Node 1 is the gateway now, and 0 sends through it to 2: that is upstream of node 0.
    let through = FIXED.replace("node = \"0\"", "node = \"1\"");
    let scenario = chain(4, &through, &[(0, 2, ""), (3, 1, ""), (1, 3, "")]);
    let spec = gateway(&scenario);
    let names: Vec<String> =
        spec.classes.iter().map(|class| format!("{} {}", class.name, class.role.direction)).collect();
    assert_eq!(names, ["0 up", "3 up", "3 down"]);
    assert_eq!(scenario.network().flows[0].path, [0, 1, 2]);
    for rate in kbps(&result(&scenario)) {
        assert!(rate < 80.0, "each has a third of 240 kb/s: {rate}");
    }
}

/// A source that is never idle, at a gateway that lets all through or some, gets the rate of its path: the run ends.
#[test]
fn saturated_source_at_gateway_waits_for_air() {
    let saturated = "traffic = \"saturated\"\nsize = \"1000 bytes\"";
    let rate = |rate: &str| {
        let gateway = format!("[gateway]\nnode = \"0\"\nshaper = \"per-subscriber\"\nrate = \"{rate}\"");
        kbps(&result(&chain(2, &gateway, &[(0, 1, saturated)])))[0]
    };
    assert!((rate("300 kbps") - 300.0).abs() < 1.0, "{}", rate("300 kbps"));
    let free = kbps(&result(&chain(2, "", &[(0, 1, saturated)])))[0];
    assert!((rate("1 Gbps") / free - 1.0).abs() < 0.01, "{} and {free}", rate("1 Gbps"));
}

/// Two stations that do not hear each other, each with three megabits a second for the one between.
const HIDDEN: &str = r#"
duration = "5 s"
warmup = "1 s"
radio = { transmission_range = "250 m", carrier_sense_range = "300 m" }
nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [200, 0] }, { id = "c", at = [400, 0] }]
flows = [
  { id = "ab", from = "a", to = "b", traffic = "cbr", rate = "3 Mbps", size = "1000 bytes" },
  { id = "cb", from = "c", to = "b", traffic = "cbr", rate = "3 Mbps", size = "1000 bytes" },
]
"#;

#[test]
fn flows_in_step_are_named_with_a_remedy() {
    let collided = |scenario: &Resolved| result(scenario).links.iter().map(|link| link.collided).sum::<u64>();
    let locked = parse(HIDDEN).unwrap();
    let [warning] = &locked.warnings()[..] else { panic!("{:?}", locked.warnings()) };
    assert!(
        warning.contains("\"ab\" and \"cb\"") && warning.contains("start_jitter = \"2.666667 ms\""),
        "{warning}"
    );
    assert_eq!(collided(&locked), 0, "their starts, a tenth of a second apart, keep them apart for ever");
    let spread = parse(&format!("start_jitter = \"2.666667 ms\"\n{HIDDEN}")).unwrap();
    assert!(spread.warnings().is_empty(), "{:?}", spread.warnings());
    assert!(collided(&spread) > 100, "{}", collided(&spread));
    let unequal = parse(&HIDDEN.replacen("3 Mbps", "2 Mbps", 1)).unwrap();
    assert!(unequal.warnings().is_empty() && collided(&unequal) > 100);
}

/// A flow says its DSCP, by name or number, or its access category, and not both.
#[test]
fn a_flows_code_point_chooses_its_category() {
    use evenair_laws::backoff::Category;
    let with = |key: &str| parse(&HIDDEN.replacen("size =", &format!("{key}, size ="), 1));
    let category = |key: &str| with(key).unwrap().network().flows[0].category;
    assert_eq!(category("dscp = \"EF\""), Category::Voice);
    assert_eq!(category("dscp = 34"), Category::Video);
    assert_eq!(category("dscp = \"cs1\""), category("category = \"background\""));
    assert_eq!(category("jitter = 0.1"), Category::BestEffort);
    for (wrong, why) in [
        ("dscp = 64", "a number from 0 to 63"),
        ("dscp = \"voice\"", "a name such as"),
        ("dscp = 46, category = \"voice\"", "remove one"),
    ] {
        let error = with(wrong).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("dscp"), "{wrong}: {error}");
    }
}

/// Goodput is payload where headers are given, as by ns-3's receivers (`PacketSink`); frames are the same.
#[test]
fn headers_of_datagrams_are_no_goodput() {
    let goodput = |begin: &str, more: &str| {
        let text = HIDDEN.replacen("size =", &format!("{more} size ="), 1);
        let flow = &result(&parse(&format!("{begin}{text}")).unwrap()).flows[0];
        (flow.goodput_pps, flow.goodput_bps)
    };
    let (whole, without) = (goodput("", ""), goodput("", "headers = \"28 bytes\","));
    assert!(whole.0 > 100.0 && (whole.1 / whole.0 - 8000.0).abs() < 1e-6, "{whole:?}");
    assert!((whole.0 - without.0).abs() < 1e-9, "{whole:?} {without:?}");
    assert!((without.1 / without.0 - 8.0 * 972.0).abs() < 1e-6, "{without:?}");
    let ns3 = goodput("preset = \"ns3\"\n", "");
    assert!((ns3.1 / ns3.0 - 8.0 * 972.0).abs() < 1e-6, "{ns3:?}");
    let refused = HIDDEN.replacen("size =", "headers = \"1000 bytes\", size =", 1);
    assert!(parse(&refused).unwrap_err().to_string().contains("no payload"));
}
