//! The order and the names in which a scenario lists its parts say nothing about the network.
//!
//! Theory and fluid models find the same for any order and names. Random streams of the packet world are named by nodes and
//! flows, so other names are other draws; with the same names another order of flows is the same run where no two events are at
//! one instant.

use super::*;

/// Four links in conflicts, of rates and packets of several sizes, and a wire behind the first.
#[derive(Debug)]
struct Network4 {
    rates: Vec<f64>,
    sizes: Vec<u32>,
    weights: Vec<f64>,
    /// Where each link, and each flow, stands in its list.
    links: Vec<usize>,
    flows: Vec<usize>,
    /// The first letter of nodes' and flows' names.
    letter: char,
}

impl Network4 {
    fn text(&self, laws: &str) -> String {
        let at = self.letter;
        let links: Vec<String> = self
            .links
            .iter()
            .map(|l| format!("{{ id = \"{at}{l}\", from = \"{at}a{l}\", to = \"{at}b{l}\" }}"))
            .collect();
        let rates: Vec<String> = self
            .links
            .iter()
            .map(|&l| {
                format!("{{ from = \"{at}a{l}\", to = \"{at}b{l}\", rate = \"{} kbps\" }}", self.rates[l])
            })
            .collect();
        let flows: Vec<String> = self
            .flows
            .iter()
            .map(|&s| {
                // A flow for each link; the fifth shares the first, and both go on over the wire.
                let (link, last) = (s % 4, if s % 4 == 0 { format!("{at}w") } else { format!("{at}b{s}") });
                let (size, weight) = (self.sizes[s], self.weights[s]);
                format!(
                    "{{ id = \"{at}{s}\", from = \"{at}a{link}\", to = \"{last}\", traffic = \"saturated\", size = \"{size} bytes\", weight = {weight}, start = \"{s} ms\" }}"
                )
            })
            .collect();
        format!(
            "duration = \"20 s\"\nmac = {{ kind = \"ideal\", data_rate = \"2 Mbps\" }}\nlinks = [{}]\nrates = [{}]\nflows = [{}]\n\
             wires = [{{ from = \"{at}b0\", to = \"{at}w\", rate = \"900 kbps\", delay = \"10 ms\" }}]\n\
             conflicts = [[\"{at}1\", \"{at}0\"], [\"{at}1\", \"{at}2\"], [\"{at}2\", \"{at}3\"]]\n{laws}\n",
            links.join(", "),
            rates.join(", "),
            flows.join(", ")
        )
    }

    /// Each flow's value, in any order.
    fn by_flow(&self, values: &[f64]) -> Vec<f64> {
        let mut sorted = vec![0.0; values.len()];
        self.flows.iter().zip(values).for_each(|(&s, &x)| sorted[s] = x);
        sorted
    }

    fn solved(&self, objective: Objective) -> Vec<f64> {
        self.by_flow(&parse(&self.text("")).unwrap().optimum(objective).unwrap().rates_pps)
    }

    fn followed(&self, laws: &str) -> Vec<f64> {
        let run = parse(&self.text(laws)).unwrap().fluid().unwrap();
        self.by_flow(&run.views.last().unwrap().rates)
    }
}

fn networks() -> impl Strategy<Value = (Network4, Network4)> {
    let order = |n: usize| Just((0..n).collect::<Vec<usize>>()).prop_shuffle();
    let numbers = (
        prop::collection::vec(500.0f64..11_000.0, 4),
        prop::collection::vec(prop::sample::select(vec![100u32, 500, 1_000, 1_460]), 5),
        prop::collection::vec(0.2f64..5.0, 5),
    );
    (numbers, order(4), order(5)).prop_map(|((rates, sizes, weights), links, flows)| {
        let one = Network4 {
            rates: rates.clone(),
            sizes: sizes.clone(),
            weights: weights.clone(),
            links: (0..4).collect(),
            flows: (0..5).collect(),
            letter: 'n',
        };
        (one, Network4 { rates, sizes, weights, links, flows, letter: 'k' })
    })
}

fn assert_same(one: &[f64], other: &[f64], tolerance: f64) -> Result<(), TestCaseError> {
    for (a, b) in one.iter().zip(other) {
        prop_assert!((a - b).abs() <= tolerance * a.abs().max(1e-3), "{one:?} {other:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_best_allocation_knows_no_order((one, other) in networks()) {
        for objective in [Objective::Proportional, Objective::Fair, Objective::AlphaFair(3.0), Objective::MaxMin] {
            assert_same(&one.solved(objective), &other.solved(objective), 2e-3)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn fluid_models_know_no_order((one, other) in networks()) {
        for laws in [
            "backoff = { law = \"adaptive\", alpha = 0.05, beta = 100.0, r_max = 1000.0 }\n\
             fluid = { model = \"reno-csma\", round_trip = \"queueing\", base_round_trip = \"20 ms\", duration = \"20 s\", implicit = true }",
            "backoff = { law = \"adaptive\", alpha = 0.05, beta = 100.0, measure = \"bytes\" }\nconnections = { law = \"rtt-proportional\", k = 5.0 }\n\
             fluid = { model = \"reno-csma\", duration = \"20 s\", implicit = true }",
        ] {
            assert_same(&one.followed(laws), &other.followed(laws), 1e-4)?;
        }
    }
}

/// Flows of large and of small packets behind one wire.
fn wired(flows: &[&str], fluid: &str) -> Vec<f64> {
    let entry = |id: &&str| {
        let (from, size) = if *id == "big" { ("s", 1_500) } else { ("t", 100) };
        format!(
            "{{ id = \"{id}\", from = \"{from}\", to = \"r\", traffic = \"saturated\", size = \"{size} bytes\", start = \"0 s\" }}"
        )
    };
    let entries: Vec<String> = flows.iter().map(entry).collect();
    let text = format!(
        r#"
        nodes = [{{ id = "s" }}, {{ id = "t" }}, {{ id = "m" }}, {{ id = "r" }}]
        wires = [
            {{ from = "s", to = "m", rate = "100 Mbps", delay = "10 ms" }},
            {{ from = "t", to = "m", rate = "100 Mbps", delay = "10 ms" }},
            {{ from = "m", to = "r", rate = "2 Mbps", delay = "20 ms" }},
        ]
        losses = [{{ from = "m", to = "r", loss = 0.001, one_way = true }}]
        fluid = {fluid}
        flows = [{}]
        "#,
        entries.join(", ")
    );
    let run = parse(&text).unwrap().fluid().unwrap();
    let rate = |name: &str| run.views.last().unwrap().rates[flows.iter().position(|f| *f == name).unwrap()];
    vec![rate("big"), rate("small")]
}

/// The wire carried packets of the first flow's size for every sender.
#[test]
fn wires_carry_bytes_in_every_fluid_model() {
    for fluid in [
        "{ model = \"e-multcp\", smoothing = 50.0, implicit = true }",
        "{ model = \"e-multcp-reduced\", smoothing = 50.0, implicit = true }",
        "{ model = \"quic-tcp\" }",
        "{ model = \"dual-descent\", implicit = true }",
    ] {
        let (one, other) = (wired(&["big", "small"], fluid), wired(&["small", "big"], fluid));
        assert!(
            (one[0] / other[0] - 1.0).abs() < 1e-4 && (one[1] / other[1] - 1.0).abs() < 1e-4,
            "{one:?} {other:?}"
        );
        // All of 2 Mb/s, except for losses to the smoothed bit or the queue.
        let bits = 8.0 * (1_500.0 * one[0] + 100.0 * one[1]);
        assert!((1.8e6..2.4e6).contains(&bits), "{fluid}: {bits} bit/s of {one:?}");
    }
}

/// The order of flows is none of the run's business: streams are named.
#[test]
fn order_of_flows_is_irrelevant_over_ideal_csma() {
    let numbers = |flows: Vec<usize>| {
        let network = Network4 {
            rates: vec![2_000.0, 5_500.0, 1_000.0, 11_000.0],
            sizes: vec![1_000, 500, 1_460, 100, 1_000],
            weights: vec![1.0; 5],
            links: (0..4).collect(),
            flows,
            letter: 'n',
        };
        let scenario = parse(&network.text("backoff = { law = \"optimal\" }")).unwrap();
        let result = Network::run(scenario.network(), scenario.run_spec(3));
        network.by_flow(&result.flows.iter().map(|flow| flow.goodput_pps).collect::<Vec<_>>())
    };
    assert_eq!(numbers(vec![0, 1, 2, 3, 4]), numbers(vec![3, 4, 1, 0, 2]));
}
