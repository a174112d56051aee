//! Flows that are drawn, and the rates that [Jam10] calls fair.

use super::*;

/// Nodes 200 m apart with [Jam10]'s ranges at 1 Mb/s, flows between them and node 0.
fn mesh(rule: &str, flows: &str, changes: &[&str]) -> Resolved {
    let text = format!(
        "radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }}
mac = {{ data_rate = \"1 Mbps\", basic_rate = \"1 Mbps\" }}
tcp = {{ payload = \"1460 bytes\", headers = \"40 bytes\" }}
preset = \"ns2\"
[generate]
{rule}
spacing = \"200 m\"
flows = {{ {flows} }}
"
    );
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    Resolved::parse("mesh.toml", &text, &changes).unwrap()
}

fn ends(scenario: &Resolved) -> Vec<(String, String, String)> {
    scenario.settings().flows.iter().map(|f| (f.id.clone(), f.from.clone(), f.to.clone())).collect()
}

#[test]
fn some_of_nodes_are_drawn_by_seed_of_their_own() {
    let of = |flows: &str| ends(&mesh("kind = \"grid\"\ncolumns = 4\nrows = 4", flows, &[]));
    let up = of("pattern = \"to-gateway\", count = 5, seed = 3");
    assert_eq!(up.len(), 5);
    assert!(up.iter().all(|(id, from, to)| id == from && to == "0" && from != "0"));
    let down = of("pattern = \"from-gateway\", count = 5, seed = 3");
    let turned: Vec<_> = down.iter().map(|(id, from, to)| (id.clone(), to.clone(), from.clone())).collect();
    assert_eq!(turned, up, "the same nodes, whichever way");
    assert_ne!(of("pattern = \"to-gateway\", count = 5, seed = 4"), up);
    let all = of("pattern = \"to-gateway\"");
    assert_eq!(of("pattern = \"to-gateway\", count = 15"), all);
    assert_eq!(all.len(), 15);
}

#[test]
fn more_flows_than_nodes_are_refused() {
    let text = "radio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }
[generate]
kind = \"chain\"
nodes = 4
spacing = \"200 m\"
flows = { pattern = \"to-gateway\", count = 4 }
";
    let error = Resolved::parse("mesh.toml", text, &[]).unwrap_err().to_string();
    assert!(error.contains("generate.flows.count: 4 nodes have 3 flows with the gateway"), "{error}");
}

/// Fair rates [kb/s].
fn fair_kbps(scenario: &Resolved) -> Vec<f64> {
    let fair = scenario.fair_shares().unwrap();
    fair.rates_pps.iter().zip(&fair.theory.flows).map(|(x, f)| x * f.payload_bits / 1e3).collect()
}

/// The shares are even in the users' bytes, however many packets those take.
#[test]
fn call_of_small_packets_equals_a_download() {
    let text = "radio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }
generate = { kind = \"chain\", nodes = 3, spacing = \"200 m\" }
flows = [
    { id = \"call\", from = \"0\", to = \"1\", traffic = \"cbr\", size = \"200 bytes\", rate = \"10 Mbps\" },
    { id = \"download\", from = \"0\", to = \"2\" },
]
";
    let rates = fair_kbps(&Resolved::parse("calls.toml", text, &[]).unwrap());
    assert!((rates[0] - rates[1]).abs() < 1e-6 && rates[0] > 10.0, "{rates:?}");
}

#[test]
fn fair_rates_are_the_thesiss() {
    // [Jam10] section 7.3 at 1 Mb/s, "approximately 800 Kb/s": DIFS 50 us, a mean back-off of 310, 192 + (1500 + 34)·8, SIFS 10,
    // 192 + 112 for a segment, and the same with 40 bytes for its acknowledgement: 13.138 + 1.458 = 14.596 ms for 11680 bits,
    // 800.2 kb/s on one hop; 3 + 2 + 1 of it on the chain's.
    let chain = |nodes: u32| format!("kind = \"chain\"\nnodes = {nodes}");
    let up = "pattern = \"to-gateway\"";
    let one_hop = fair_kbps(&mesh(&chain(2), up, &[]));
    assert!((one_hop[0] - 800.219).abs() < 1e-3, "{one_hop:?}");
    for rate in fair_kbps(&mesh(&chain(4), up, &[])) {
        assert!((rate - one_hop[0] / 6.0).abs() < 1e-6, "{rate}");
    }
    // Half of the acknowledgements cost half of their time and half of their back-off.
    let delayed = fair_kbps(&mesh(&chain(2), up, &["tcp.delayed_ack=\"100 ms\""]));
    assert!((delayed[0] - 11_680.0 / (14.596 - 1.458 / 2.0)).abs() < 1e-3, "{delayed:?}");
    // UDP of 1500 bytes: 13.138 ms and no acknowledgement.
    let udp = "pattern = \"from-gateway\", traffic = \"cbr\", rate = \"800 kbps\", size = \"1500 bytes\"";
    let rates = fair_kbps(&mesh(&chain(4), udp, &[]));
    assert!((rates[2] - 12_000.0 / 13.138 / 6.0).abs() < 0.05, "{rates:?}");
}

#[test]
fn domain_may_carry_less_than_a_lone_hop() {
    let chain = "kind = \"chain\"\nnodes = 4";
    let of = |changes: &[&str]| fair_kbps(&mesh(chain, "pattern = \"to-gateway\"", changes));
    for (whole, less) in of(&[]).iter().zip(of(&["domain_capacity=0.9"])) {
        assert!((less - 0.9 * whole).abs() < 1e-9, "{less} of {whole}");
    }
    let network = "radio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }
generate = { kind = \"chain\", nodes = 3, spacing = \"200 m\", flows = { pattern = \"to-gateway\" } }
";
    let text = Resolved::parse("mesh.toml", network, &["domain_capacity=0".into()]).unwrap_err().to_string();
    assert!(text.contains("domain_capacity: 0 is not allowed"), "{text}");
}

#[test]
fn without_dcf_no_back_off_is_counted() {
    let ideal = "radio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }
mac = { kind = \"ideal\", data_rate = \"1 Mbps\" }
[generate]
kind = \"chain\"
nodes = 2
spacing = \"200 m\"
flows = { pattern = \"to-gateway\", traffic = \"saturated\", size = \"1500 bytes\" }
";
    let scenario = Resolved::parse("mesh.toml", ideal, &[]).unwrap();
    assert_eq!(scenario.theory_with_backoff().unwrap(), scenario.theory().unwrap());
    assert!((fair_kbps(&scenario)[0] - 1000.0).abs() < 1e-6);
}

/// Each flow's max-min share of its rate alone, over the collision domains.
fn domain_shares(scenario: &Resolved) -> Vec<f64> {
    let question = Question { region: Region::CollisionDomains, ..Question::new(Objective::MaxMin) };
    let optimum = scenario.answer(question).unwrap();
    optimum.rates_pps.iter().zip(&optimum.capacity_pps).map(|(x, c)| x / c).collect()
}

/// [Jam10] section 4.1.2: a domain is a link with its neighbours in the contention graph. Its rates are counted by hand.
#[test]
fn given_conflicts_are_the_collision_domains() {
    for (edges, links, shares) in [
        ("[['1','2'], ['2','3'], ['1','3']]", 3, vec![1.0 / 3.0; 3]),
        // The domain of 2 holds all three, those of its neighbours are not full.
        ("[['1','2'], ['2','3']]", 3, vec![1.0 / 3.0; 3]),
        // A ring of five: three links in each domain (the exact region has 2/5).
        ("[['1','2'], ['2','3'], ['3','4'], ['4','5'], ['5','1']]", 5, vec![1.0 / 3.0; 5]),
        // The domain of 1 is full at 1/4; 5 shares its own with 4 alone, which has 1/4.
        ("[['1','2'], ['1','3'], ['1','4'], ['4','5']]", 5, vec![0.25, 0.25, 0.25, 0.25, 0.5]),
        ("[]", 2, vec![1.0; 2]),
    ] {
        for mac in ["'ideal'", "'802.11b'"] {
            let each = |one: &dyn Fn(usize) -> String| (1..=links).map(one).collect::<Vec<_>>().join(", ");
            let of_link = each(&|l| format!("{{ id = '{l}', from = 's{l}', to = 'r{l}' }}"));
            let of_flow =
                each(&|l| format!("{{ id = '{l}', from = 's{l}', to = 'r{l}', traffic = 'saturated' }}"));
            let text = format!(
                "mac = {{ kind = {mac} }}\nlinks = [{of_link}]\nconflicts = {edges}\nsource_limit = {{ rate = 'max-min' }}\nflows = [{of_flow}]\n"
            );
            let scenario = parse(&text).unwrap();
            for (is, should) in domain_shares(&scenario).iter().zip(&shares) {
                assert!((is - should).abs() < 1e-12, "{edges}: {is} for {should}");
            }
            // The sources are held to the same shares of a lone hop's rate.
            let theory = scenario.theory_with_backoff().unwrap();
            for (limit, (flow, share)) in
                scenario.network().source_limits.iter().zip(theory.flows.iter().zip(&shares))
            {
                let bps = share / flow.loads[0].1 * flow.size_bits;
                let given = limit.plan.last().unwrap().1.as_bps() as f64;
                assert!((given - bps).abs() <= 1.0, "{edges}: {given} for {bps}");
            }
        }
    }
}

/// [Jam10] section 4.1.2 counts transmission range and no carrier sense, "this model underestimates the level of contention".
#[test]
fn domains_reach_as_far_as_transmissions() {
    let lines = |gap_m: u32| {
        let node = |l: u32, end: &str, y: u32| format!("{{ id = '{end}{l}', at = [{}, {y}] }}", gap_m * l);
        let nodes: Vec<String> = (0..3).flat_map(|l| [node(l, "s", 0), node(l, "r", 10)]).collect();
        let flows: Vec<String> = (0..3)
            .map(|l| format!("{{ id = '{l}', from = 's{l}', to = 'r{l}', traffic = 'saturated' }}"))
            .collect();
        let radio = "radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }";
        parse(&format!("{radio}\nnodes = [{}]\nflows = [{}]\n", nodes.join(", "), flows.join(", "))).unwrap()
    };
    let question = Question { region: Region::CollisionDomains, ..Question::new(Objective::MaxMin) };
    // All within 200 m; neighbours within transmission range: the middle one's domain holds all three.
    for gap_m in [100, 200] {
        let shares = domain_shares(&lines(gap_m));
        assert!(shares.iter().all(|share| (share - 1.0 / 3.0).abs() < 1e-12), "{gap_m} m: {shares:?}");
    }
    // Beyond transmission range each has a domain of its own, and the answer names the domains that this leaves out.
    let sensed = lines(260);
    assert!(domain_shares(&sensed).iter().all(|share| (share - 1.0).abs() < 1e-12));
    let overfull = sensed.answer(question).unwrap().overfull().unwrap();
    assert_eq!(overfull.links, [0, 1, 2]);
    assert!((overfull.load - 3.0).abs() < 1e-9, "{overfull:?}");
    let apart = lines(600).answer(question).unwrap();
    assert_eq!(apart.overfull(), None);
}
