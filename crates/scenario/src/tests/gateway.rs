//! The gateway's table, and sources that hold their data back.

use super::*;
use evenair_laws::gateway::Direction;
use evenair_netsim::{GatewayControl, GatewaySpec, Shaping};

// [Jam10] section 6.3.3: static limits, at the gateway or at the sources.

/// A chain of five nodes 200 m apart with a server behind node 0; flows as written.
fn chain(tables: &str, flows: &str) -> Result<Resolved, ScenarioError> {
    let nodes: Vec<String> = (0..5).map(|i| format!("{{ id = \"{i}\", at = [{}, 0] }}", 200 * i)).collect();
    let text = format!(
        "preset = \"ns2\"
radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }}
mac = {{ data_rate = \"1 Mbps\", basic_rate = \"1 Mbps\" }}
tcp = {{ payload = \"1460 bytes\", headers = \"40 bytes\" }}
nodes = [{}, {{ id = \"server\" }}]
wires = [{{ from = \"server\", to = \"0\", rate = \"100 Mbps\", delay = \"1 ms\" }}]
{tables}
flows = [{flows}]
",
        nodes.join(", ")
    );
    parse(&text)
}

const FLOWS: &str =
    "{ id = \"a\", from = \"1\", to = \"0\" }, { id = \"b\", from = \"1\", to = \"0\", weight = 3.0 },
    { id = \"c\", from = \"server\", to = \"2\" }, { id = \"d\", from = \"3\", to = \"server\" },
    { id = \"e\", from = \"3\", to = \"4\" }, { id = \"f\", from = \"0\", to = \"1\" }";

fn gateway(keys: &str) -> GatewaySpec {
    let scenario = chain(&format!("gateway = {{ node = \"0\", {keys} }}"), FLOWS).unwrap();
    let text = scenario.to_toml().unwrap();
    let again = parse(&text).unwrap();
    assert_eq!(again, scenario, "what is written out reads back as the same");
    assert_eq!(again.network().gateway, scenario.network().gateway);
    assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
    scenario.network().gateway.clone().expect("it has one")
}

fn classes(gateway: &GatewaySpec) -> Vec<(&str, Direction, f64)> {
    gateway.classes.iter().map(|c| (c.name.as_str(), c.role.direction, c.role.weight)).collect()
}

#[test]
fn a_class_is_a_subscriber_and_a_direction() {
    use Direction::{Down, Up};
    let both = gateway("rate = \"400 kbps\"");
    assert_eq!(classes(&both), [("1", Up, 3.0), ("2", Down, 1.0), ("3", Up, 1.0), ("1", Down, 1.0)]);
    assert_eq!(both.of_flow, [Some(0), Some(0), Some(1), Some(2), None, Some(3)]);
    let up = gateway("rate = \"400 kbps\", directions = \"up\"");
    assert_eq!(up.of_flow, [Some(0), Some(0), None, Some(1), None, None]);
    let down = gateway("rate = \"400 kbps\", directions = \"down\", per = \"flow\"");
    assert_eq!(classes(&down), [("c", Down, 1.0), ("f", Down, 1.0)]);
    // Through the gateway, from one side of it to the other.
    let peers =
        chain("gateway = { node = \"2\", law = \"pfrc\" }", "{ id = \"p\", from = \"4\", to = \"1\" }");
    assert_eq!(classes(peers.unwrap().network().gateway.as_ref().unwrap()), [("4", Up, 1.0)]);
}

#[test]
fn a_web_flow_has_a_class_each_way() {
    let flows = "{ id = \"w\", from = \"3\", to = \"server\", traffic = \"web\" }";
    let of = |keys: &str| {
        let scenario = chain(&format!("gateway = {{ node = \"0\", {keys} }}"), flows).unwrap();
        scenario.network().gateway.clone().expect("it has one")
    };
    let both = of("rate = \"max-min\"");
    assert_eq!(classes(&both), [("3", Direction::Up, 1.0), ("3", Direction::Down, 1.0)]);
    assert_eq!((both.of_flow, both.of_replies), (vec![Some(0)], vec![Some(1)]));
    let GatewayControl::Plan(plan) = &both.control else { panic!("what is fair is a plan") };
    let [requests, replies] = plan[0].1.each[..] else { panic!("{plan:?}") };
    assert!(replies.as_bps() > 10_000, "{plan:?}");
    // 640 bytes with headers beside 51400, on average.
    assert!((51_400 * requests.as_bps()).abs_diff(640 * replies.as_bps()) < 51_400, "{plan:?}");
    let down = of("law = \"pfrc\", directions = \"down\"");
    assert_eq!((down.of_flow, down.of_replies), (vec![None], vec![Some(0)]));
}

#[test]
fn rate_is_shared_by_weight_or_max_min() {
    let fixed = gateway("rate = \"400 kbps\"");
    let GatewayControl::Plan(plan) = &fixed.control else { panic!("a rate is no law") };
    assert_eq!(plan[0].1.total.as_bps(), 400_000);
    assert_eq!(
        plan[0].1.each.iter().map(|r| r.as_bps()).collect::<Vec<_>>(),
        [200_000, 66_667, 66_667, 66_667]
    );
    // Both alone and together, [Jam10] section 7.2: one hop carries 805 kb/s of TCP's data, two flows of one and of two hops
    // share it as 1:1 over three transmissions.
    let flows = "{ id = \"1\", from = \"1\", to = \"0\", start = \"0 s\", stop = \"50 s\" },
        { id = \"2\", from = \"2\", to = \"0\", active = [[\"10 s\", \"80 s\"]] }";
    let scenario = chain("gateway = { node = \"0\", rate = \"max-min\" }", flows).unwrap();
    let Some(GatewaySpec { control: GatewayControl::Plan(plan), .. }) = &scenario.network().gateway else {
        panic!("what is fair is a plan")
    };
    let at: Vec<f64> = plan.iter().map(|(from, _)| from.as_secs_f64()).collect();
    assert_eq!(at, [0.0, 10.0, 50.0, 80.0]);
    let kbps = |step: usize| plan[step].1.each.iter().map(|r| r.as_bps() as f64 / 1e3).collect::<Vec<_>>();
    let alone = kbps(0)[0];
    assert!((alone * 1460.0 / 1500.0 - 805.0).abs() < 5.0, "{alone}");
    assert!(kbps(1).iter().all(|rate| (rate / alone - 1.0 / 3.0).abs() < 1e-3), "{:?}", kbps(1));
    assert!((kbps(2)[1] / alone - 0.5).abs() < 1e-3, "two hops in a row take turns: {:?}", kbps(2));
    assert!(
        (plan[2].1.total.as_bps() as f64 / 1e3 - kbps(2)[1]).abs() < 1.0,
        "who has left has no part in the sum"
    );
    assert_eq!(kbps(3), kbps(2), "nobody is active: rates stay");
}

#[test]
fn laws_set_shaper_and_link_rate() {
    assert_eq!(gateway("law = \"pfrc\"").shaper, Shaping::PerClass);
    let arc = gateway("law = \"arc\"");
    assert_eq!(arc.shaper, Shaping::AggregateFair);
    assert_eq!(gateway("law = \"arc\", shaper = \"aggregate\"").queue.limit_packets, 25);
    // W: UDP of 1500 bytes at 1 Mb/s, 917 kb/s with ns-2's headers (specs: J12); wires bound nothing.
    let link = |class: usize| arc.classes[class].role.link_rate.map(|rate| rate.as_bps() as f64 / 1e3);
    assert!((link(0).unwrap() - 915.0).abs() < 5.0, "{:?}", link(0));
    assert_eq!((arc.queue.limit_packets, arc.burst.count()), (5, 3000));
}

#[test]
fn mistakes_at_the_gateway_name_key_and_remedy() {
    let error = |tables: &str| chain(tables, FLOWS).unwrap_err().to_string();
    for (keys, expected) in [
        ("node = \"9\", law = \"pfrc\"", "gateway.node: there is no node \"9\""),
        (
            "node = \"4\", law = \"pfrc\", directions = \"down\"",
            "gateway.node: no flow into the mesh passes \"4\"",
        ),
        ("node = \"0\"", "gateway.rate: has no rate: give a law"),
        ("node = \"0\", law = \"pfrc\", rate = \"1 Mbps\"", "gateway.rate: the law finds the rate"),
        ("node = \"0\", rate = \"0 bps\"", "\"0 bps\" is zero; a rate must be above it"),
        ("node = \"0\", rate = \"fair\"", "or write \"max-min\""),
        (
            "node = \"0\", rate = \"1 Mbps\", burst = \"1499 bytes\"",
            "gateway.burst: 1499 bytes is less than a packet",
        ),
        (
            "node = \"0\", rate = \"1 Mbps\", queue = { quantum = \"1 bytes\" }",
            "gateway.queue.quantum: is for drr",
        ),
        (
            "node = \"0\", rate = \"1 Mbps\", queue = { discipline = \"drr\", per = \"subscriber\" }",
            "gateway.queue.per: must match gateway.per",
        ),
        ("node = \"0\", law = { law = \"pfrc\", gamma = 2.0 }", "gateway.law.gamma"),
        (
            "node = \"0\", law = { law = \"fixed\", rates = [\"9 kbps\"] }",
            "gateway.law: gives 1 rates, and there are 4",
        ),
    ] {
        let message = error(&format!("gateway = {{ {keys} }}"));
        assert!(message.contains(expected), "{message}");
    }
    let message = error("source_limit = { rate = \"60 kbps\", burst = \"40 bytes\" }");
    assert!(message.contains("source_limit.burst"), "{message}");
}

#[test]
fn law_takes_place_of_rate_and_leaves_rest() {
    let change = |changes: &[&str]| {
        let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        let scenario =
            chain("gateway = { node = \"0\", rate = \"1 Mbps\", directions = \"up\" }", FLOWS).unwrap();
        Resolved::parse("t", &scenario.to_toml().unwrap(), &changes)
            .unwrap()
            .settings()
            .gateway
            .clone()
            .unwrap()
    };
    let law = change(&["gateway.law=arc", "gateway.shaper=aggregate"]);
    assert!(law.rate.is_none() && law.law.is_some());
    assert_eq!((law.directions, law.shaper), (Directions::Up, Some(ShaperName::Aggregate)));
    let rate = change(&["gateway.law=arc", "gateway.rate=max-min"]);
    assert!(rate.law.is_none() && rate.rate == Some(LimitRate::MaxMin));
}

#[test]
fn every_source_has_a_limit_of_its_own() {
    let scenario = chain("source_limit = { rate = \"max-min\" }", FLOWS).unwrap();
    let fair = scenario.fair_shares().unwrap();
    let limits = &scenario.network().source_limits;
    assert_eq!(limits.len(), 6);
    for (limit, pps) in limits.iter().zip(&fair.rates_pps) {
        let last = limit.plan.last().expect("a plan has a beginning").1.as_bps() as f64;
        assert!((last / (pps * 12_000.0) - 1.0).abs() < 1e-3, "flow {}: {last}", limit.flow);
    }
    assert_eq!(parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
}

#[test]
fn gateway_above_its_links_capacity_is_warned_of() {
    let up = "{ id = \"a\", from = \"1\", to = \"0\" }, { id = \"b\", from = \"0\", to = \"2\" }";
    let warnings = |keys: &str, flows: &str| {
        let all = chain(&format!("gateway = {{ node = \"0\", {keys} }}"), flows).unwrap().warnings();
        all.into_iter().filter(|warning| warning.starts_with("gateway")).collect::<Vec<_>>()
    };
    // A link carries 915 kb/s of 1500-byte packets at 1 Mb/s.
    for keys in
        ["rate = \"900 kbps\"", "rate = \"max-min\"", "law = \"arc\"", "law = \"pfrc\"", "law = \"fixed\""]
    {
        assert!(warnings(keys, up).is_empty(), "{keys}: {:?}", warnings(keys, up));
    }
    for (keys, words) in [
        (
            "rate = \"1 Mbps\"",
            ["gateway.rate: 1 Mbps are more than the 91", "subscribers that all send at once"],
        ),
        ("rate = \"1 Mbps\", shaper = \"aggregate-fair\"", ["gateway.rate: 1 Mbps", "holds nothing back"]),
        (
            "law = { law = \"fixed\", rates = [\"600 kbps\", \"400 kbps\"] }",
            ["gateway.law: 1 Mbps", "more than the 91"],
        ),
    ] {
        let all = warnings(keys, up);
        assert!(all.len() == 1 && words.iter().all(|word| all[0].contains(word)), "{keys}: {all:?}");
    }
    // The gateway's packets over a wire have no such bound.
    let wired =
        "{ id = \"a\", from = \"1\", to = \"server\" }, { id = \"p\", from = \"0\", to = \"server\" }";
    assert!(warnings("rate = \"5 Mbps\"", wired).is_empty());
}
