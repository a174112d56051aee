//! Nodes that are attached to the outside.

use super::*;
use evenair_laws::backoff::Category;
use evenair_netsim::{Codepoint, Fate, Foreign, Whose};
use evenair_units::{Bytes, Duration, Instant};

const FLOW: &str = r#"[{ id = "f", from = "a", to = "b" }]"#;

fn chain(outside: &str) -> Result<Resolved, ScenarioError> {
    with(FLOW, outside, "")
}

fn with(flows: &str, outside: &str, more: &str) -> Result<Resolved, ScenarioError> {
    parse(&format!(
        "radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }}
        nodes = [{{ id = \"a\", at = [0, 0] }}, {{ id = \"b\", at = [200, 0] }}, {{ id = \"c\", at = [400, 0] }},
            {{ id = \"far\", at = [9000, 0] }}]
        flows = {flows}\noutside = {outside}\n{more}\n"
    ))
}

#[test]
fn routes_of_outside_packets_have_fewest_hops() {
    let scenario = chain(r#"["c", "a", "b"]"#).unwrap();
    assert_eq!(scenario.network().routes, [vec![2, 1, 0], vec![2, 1], vec![0, 1]]);
    assert!(chain("[]").unwrap().network().routes.is_empty());
}

#[test]
fn mistakes_name_their_cause() {
    for (outside, why) in [
        (r#"["a", "d"]"#, "outside: there is no node \"d\"; nodes are a, b, c, far"),
        (r#"["a", "a"]"#, "outside: \"a\" is there already"),
        (r#"["a"]"#, "outside: needs two nodes at least: packets go from one node to another"),
        (r#"["a", "far"]"#, "outside: there is no route from \"a\" to \"far\""),
    ] {
        let error = chain(outside).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn written_scenario_reads_back() {
    let scenario = chain(r#"["a", "c"]"#).unwrap();
    let again = scenario.written_out().resolve().unwrap();
    assert_eq!(
        (again.settings().outside.as_slice(), &again),
        (&["a".to_string(), "c".into()][..], &scenario)
    );
}

#[test]
fn scenario_may_have_outside_flows_only() {
    let none = with("[]", "[]", "").unwrap_err().to_string();
    assert!(
        none.contains("flows: there is no flow; add a [[flows]] table") && none.contains("(outside)"),
        "{none}"
    );
    let scenario = with("[]", r#"["c", "a"]"#, "").unwrap();
    assert_eq!(scenario.written_out().resolve().unwrap(), scenario);
    let links: Vec<&str> = scenario.layout().links.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(links, ["c>b", "b>a", "a>b", "b>c"], "the map and the conflict graph show their ways");
    assert_eq!((0..4).map(|link| scenario.layout().conflicts.neighbours(link).len()).sum::<usize>(), 12);
    let why = scenario.theory().unwrap_err().to_string();
    assert!(why.contains("it has no flow, and how much comes from outside is not known"), "{why}");
    assert!(scenario.fluid().is_err());
    let result = Network::run(scenario.network(), scenario.run_spec(1));
    assert!(result.flows.is_empty() && result.links.len() == 3, "{:?}", result.links);
    let gateway = with("[]", r#"["c", "a"]"#, "gateway = { node = \"a\", rate = \"1 Mbps\" }").unwrap_err();
    assert!(gateway.to_string().contains("nothing to shape there"), "{gateway}");

    // They pass it, and their links are waited for as those of flows are.
    let mut network = Network::new(scenario.network(), scenario.run_spec(1));
    let packet = Foreign {
        from: 2,
        to: 0,
        size: Bytes::new(1500),
        whose: Whose::Nobody(1),
        since: None,
        category: Category::BestEffort,
        ecn: Codepoint::NotCapable,
        content: 1,
    };
    network.inject(Instant::ZERO, packet).unwrap();
    let emerged = network.advance(Instant::ZERO + Duration::from_secs(1)).unwrap();
    assert_eq!(emerged.fate, Fate::Arrived);
}

#[test]
fn mac_waits_for_outside_packets_as_for_flows() {
    let far = |flows: &str, outside: &str| {
        let text = format!(
            "radio = {{ transmission_range = \"30 km\", carrier_sense_range = \"30 km\" }}
            nodes = [{{ id = \"a\", at = [0, 0] }}, {{ id = \"b\", at = [20000, 0] }}]
            flows = {flows}\noutside = {outside}\n"
        );
        parse(&text).unwrap().network().mac
    };
    assert_eq!(far("[]", r#"["a", "b"]"#), far(FLOW, "[]"));
}

#[test]
fn settings_on_outside_paths_have_effect() {
    let warnings = |outside: &str| {
        let losses = "losses = [{ from = \"b\", to = \"c\", loss = 0.1 }]\nqueues = [{ nodes = [\"c\"], queue = \"9 packets\" }]";
        with(FLOW, outside, losses).unwrap().warnings()
    };
    assert_eq!(warnings(r#"["a", "c"]"#), [""; 0]);
    let without = warnings("[]");
    assert!(
        without.iter().any(|what| what.contains("losses[0] has no effect: nothing goes between")),
        "{without:?}"
    );
    assert_eq!(without.len(), 2, "{without:?}");
}
