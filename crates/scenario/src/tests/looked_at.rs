//! Networks that are shown and not run, limits of the fluid models, and words of other programs.

use super::*;

fn network(text: &str) -> Resolved {
    assert!(message(text).contains("there is no flow"), "nothing runs in it");
    Resolved::parse_network("x.toml", text, &[]).unwrap()
}

fn names(scenario: &Resolved) -> Vec<&str> {
    scenario.layout().links.iter().map(|(name, _)| name.as_str()).collect()
}

/// a and b, b and c are in transmission range (100 m), a and c in carrier-sense range (220 m); d is far.
#[test]
fn network_without_flows_has_links_in_range() {
    let placed = network(
        "radio = { transmission_range = '100 m', carrier_sense_range = '220 m' }
        nodes = [{ id = 'a', at = [0, 0] }, { id = 'b', at = [60, 0] }, { id = 'c', at = [130, 0] }, { id = 'd', at = [700, 0] }]",
    );
    assert_eq!(names(&placed), ["a>b", "b>c"]);
    assert!(placed.layout().conflicts.conflict(0, 1));
    assert!(placed.warnings().is_empty(), "{:?}", placed.warnings());
    assert!(placed.optimum_in_passing(Objective::Fair).is_none());
    assert_eq!(Resolved::parse_network("x.toml", &placed.to_toml().unwrap(), &[]).unwrap(), placed);
    let given = network(
        "mac = { kind = 'ideal' }
        links = [{ id = '1', from = 'a', to = 'A' }, { id = '2', from = 'b', to = 'B' }, { id = '3', from = 'c', to = 'C' }]
        conflicts = [['1', '2']]",
    );
    assert_eq!(names(&given), ["a>A", "b>B", "c>C"]);
    assert_eq!(given.layout().conflicts.edges().collect::<Vec<_>>(), [(0, 1)]);
    assert!(given.warnings().is_empty(), "{:?}", given.warnings());
    let wires = network(
        "nodes = [{ id = 'a' }, { id = 'b' }]\nwires = [{ from = 'a', to = 'b', rate = '1 Mbps', delay = '1 ms' }]",
    );
    assert!(names(&wires).is_empty());
    // A grid of 50 × 50 with neighbours in range has 4900 links: more than are listed.
    let large = network(
        "radio = { transmission_range = '100 m', carrier_sense_range = '220 m' }
        generate = { kind = 'grid', columns = 50, rows = 50, spacing = '90 m' }",
    );
    assert!(names(&large).is_empty());
}

/// Two senders 400 m apart, their receiver between them: hidden where carrier is sensed to 300 m, not at 550 m, and not by ideal CSMA,
/// which senses all that conflicts.
#[test]
fn fluid_models_name_their_limits() {
    let lacks = |sense: u32, mac: &str| {
        let text = format!(
            "radio = {{ transmission_range = '250 m', carrier_sense_range = '{sense} m' }}
            mac = {{ kind = '{mac}' }}
            backoff = {{ law = 'adaptive' }}
            connections = {{ law = 'rtt-proportional', k = 10 }}
            nodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [200, 0] }}, {{ id = 'c', at = [400, 0] }}]
            flows = [{{ id = '1', from = 'a', to = 'b' }}, {{ id = '2', from = 'c', to = 'b' }}]"
        );
        let scenario = parse(&text).unwrap();
        (scenario.hidden_pairs(), scenario.fluid().unwrap().lacks)
    };
    let (hidden, lacks_then) = lacks(300, "802.11b");
    assert_eq!(hidden, [(0, 1)]);
    let lacks_then = lacks_then.unwrap();
    assert!(lacks_then.contains("no collisions and no hidden terminals"), "{lacks_then}");
    assert!(lacks_then.contains("a and c (a>b and c>b)"), "{lacks_then}");
    let (hidden, lacks_then) = lacks(550, "802.11b");
    assert!(hidden.is_empty());
    let lacks_then = lacks_then.unwrap();
    assert!(lacks_then.contains("no collisions") && !lacks_then.contains("a and c"), "{lacks_then}");
    assert_eq!(lacks(550, "ideal").1, None);
}

#[test]
fn words_of_other_programs_are_answered() {
    let flow = |words: &str| {
        let text = TWO.replace("[[flows]]", &format!("[[flows]]\n{words}"));
        message(&text)
    };
    for (words, answer) in [
        ("traffic = 'voip'", "not built: `voip`, this model of a conversation; a call is traffic = \"cbr\""),
        ("traffic = 'ping'", "not built: `ping`, echo requests"),
        ("traffic = 'udp'", "unknown variant `udp`; datagrams are traffic = \"saturated\""),
        ("traffic = 'http'", "unknown variant `http`; browsing is traffic = \"web\""),
        ("traffic = 'possion'", "did you mean poisson?"),
    ] {
        assert!(flow(words).contains(answer), "{}", flow(words));
    }
    assert!(flow("protocol = 'tcp'").contains("unknown field `protocol`; a flow is TCP by default"));
    let backoff = message(&format!("backoff = 'exponential'\n{TWO}"));
    assert!(backoff.contains("binary exponential back-off is \"dcf\", the default"), "{backoff}");
    let mac = |words: &str| message(&format!("mac = {{ {words} }}\n{TWO}"));
    for (words, answer) in [
        ("data_rate = 'MCS7'", "802.11n, ac and ax are `mac.kind`, with `mcs`"),
        ("data_rate = 'VHT-MCS 9'", "write it as \"11 Mbps\""),
        ("nss = 2", "802.11n, ac and ax are `mac.kind`, with `mcs`"),
        ("fragmentation_threshold = '500 bytes'", "not built: `fragmentation_threshold`, fragmentation"),
        ("kind = 'HT40'", "802.11n, ac and ax are `mac.kind`, with `mcs`"),
        ("beacon_interval = '100 ms'", "not built: `beacon_interval`, management frames"),
        ("edca = true", "EDCA is backoff.law = \"edca\""),
        ("rts_treshold = '0 bytes'", "did you mean rts_threshold?"),
    ] {
        assert!(mac(words).contains(answer), "{}", mac(words));
    }
}
