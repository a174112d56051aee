//! The papers' systems: against `SciPy`, against the optimum, and against their theorems.

use evenair_fluid::models::Way;
use evenair_fluid::models::{
    Backlog, Congestion, Connections, DelayWindow, DualDescent, Loss, LossyPath, OptimalCsma, Queue,
    RenoOverCsma, RoundTrip,
};
use evenair_fluid::{Equilibrium, Method, Model, Options, integrate};
use evenair_laws::backoff::UtilityQueue;
use evenair_laws::connections::{DelayPriceParams, UtilityParams};
use evenair_laws::marking::droptail::loss_price;
use evenair_laws::window::QuicTcpParams;
use evenair_optimum::{Flow, Problem, ProductForm, Utility, Wire};
use evenair_topology::ConflictGraph;
use proptest::prelude::*;

fn topology_a() -> ConflictGraph {
    ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)])
}

/// One flow per link of topology a, a packet taking 1/532 s.
fn four_links() -> RenoOverCsma {
    let way = |l: usize| Way { air: vec![(l, 1.0 / 532.0)], wires: Vec::new(), round_trip_s: 0.1 };
    let ways: Vec<Way> = (0..4).map(way).collect();
    RenoOverCsma {
        form: ProductForm::new(&topology_a()).unwrap(),
        wires: Vec::new(),
        losses: vec![0.0; 4],
        step: 0.1,
        backlog: Backlog::of_airtime(1.0, &ways, 4),
        beta: 200.0,
        aggressiveness_max: f64::INFINITY,
        connections: Connections::PerRoundTrip(10.0),
        round_trip: RoundTrip::Fixed,
        loss: Loss::Aqm,
        ways,
    }
}

fn one_connection() -> RenoOverCsma {
    let mut model = four_links();
    model.ways.iter_mut().for_each(|way| way.round_trip_s = 0.01);
    RenoOverCsma {
        step: 0.05,
        beta: 800.0,
        connections: Connections::One,
        round_trip: RoundTrip::Queueing,
        ..model
    }
}

fn lossy() -> LossyPath {
    let way = Way::over_wires;
    LossyPath {
        capacities: vec![80.0, 120.0],
        ways: vec![way(&[0], 0.1), way(&[0, 1], 0.2), way(&[1], 0.15)],
        losses: vec![0.02, 0.03, 0.01],
        gain: 0.0125,
        connections: vec![1.0; 3],
        congestion: Congestion::Smoothed(50.0),
    }
}

fn three_links(queue: Queue) -> OptimalCsma {
    let graph = ConflictGraph::from_edges(3, &[(0, 1), (1, 2)]);
    let way = |l: usize| Way { air: vec![(l, 1.0)], wires: Vec::new(), round_trip_s: 0.0 };
    let form = ProductForm::new(&graph).unwrap();
    let law = UtilityQueue::lee12();
    OptimalCsma { form, ways: (0..3).map(way).collect(), law, capacity: 4.0, queue }
}

fn assert_close(ours: &[f64], theirs: &[f64], tolerance: f64) {
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a / b - 1.0).abs() < tolerance, "{ours:?} {theirs:?}");
    }
}

/// Both methods follow the trajectories that `SciPy` finds from the equations alone (validation/fluid/reference.py).
#[test]
fn trajectories_are_scipys() {
    let starts: Vec<(&str, Box<dyn Model>, Vec<f64>)> = vec![
        ("multi", Box::new(four_links()), [vec![10.0; 4], vec![1e-4; 4]].concat()),
        ("one", Box::new(one_connection()), [vec![100.0; 4], vec![1e-4; 4]].concat()),
        ("lossy", Box::new(lossy()), vec![10.0, 5.0, 8.0, 1.0, 1.0, 1.0]),
        ("virtual", Box::new(three_links(Queue::Virtual)), vec![1.0; 3]),
    ];
    let mut compared = 0;
    for line in include_str!("../../../validation/fluid/reference.txt").lines() {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap();
        let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        let Some((_, model, start)) = starts.iter().find(|(n, ..)| *n == name) else { continue };
        for method in [Method::Explicit, Method::Implicit] {
            let options = Options { method, tolerance: 1e-9, ..Options::default() };
            let ours = integrate(&**model, start, numbers[0], options).unwrap();
            assert_close(ours.last(), &numbers[1..], 1e-6);
            compared += 1;
        }
    }
    assert_eq!(compared, 24);
}

/// A case of `validation/fluid/random_cases.txt`, with its start.
fn random_case(lines: &[Vec<&str>]) -> (RenoOverCsma, Vec<f64>) {
    let numbers = |words: &[&str]| words.iter().map(|w| w.parse::<f64>().unwrap()).collect::<Vec<f64>>();
    let of = |key: &str| numbers(&lines.iter().find(|words| words[0] == key).unwrap()[2..]);
    let laws = of("laws");
    let way = |words: &Vec<&str>| {
        let wires = words.iter().position(|w| *w == "wires").unwrap();
        let cost = words[2].parse().unwrap();
        Way {
            air: words[5..wires].iter().map(|l| (l.parse().unwrap(), cost)).collect(),
            wires: words[wires + 1..].iter().map(|w| (w.parse().unwrap(), 1.0)).collect(),
            round_trip_s: words[3].parse().unwrap(),
        }
    };
    let ways: Vec<Way> = lines.iter().filter(|words| words[0] == "flow").map(way).collect();
    let model = RenoOverCsma {
        form: ProductForm::new(&topology_a()).unwrap(),
        wires: of("wires"),
        losses: vec![0.0; ways.len()],
        step: laws[1],
        backlog: Backlog::of_airtime(1.0, &ways, 4),
        ways,
        beta: laws[2],
        aggressiveness_max: laws[3],
        connections: Connections::PerRoundTrip(laws[0]),
        round_trip: if laws[4] > 0.5 { RoundTrip::Queueing } else { RoundTrip::Fixed },
        loss: Loss::Aqm,
    };
    (model, of("start"))
}

/// [Chen10] (5.30) to (5.34) with random parameters: wires, queueing round trips, bounds. `SciPy` goes from corner to corner
/// (`validation/fluid/random_cases.py`), and so do both methods.
#[test]
fn random_trajectories_match_scipy_at_corners() {
    let lines: Vec<Vec<&str>> = include_str!("../../../validation/fluid/random_cases.txt")
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let mut compared = 0;
    for at in lines.iter().filter(|words| words[0] == "at") {
        let own: Vec<Vec<&str>> = lines.iter().filter(|words| words[1] == at[1]).cloned().collect();
        let (model, start) = random_case(&own);
        let numbers: Vec<f64> = at[2..].iter().map(|word| word.parse().unwrap()).collect();
        for method in [Method::Explicit, Method::Implicit] {
            let options = Options { method, tolerance: 1e-9, ..Options::default() };
            let ours = integrate(&model, &start, numbers[0], options).unwrap();
            for (i, (a, b)) in ours.last().iter().zip(&numbers[1..]).enumerate() {
                // An aggressiveness of zero is compared in its own size.
                let off = (a - b).abs() / b.abs().max(if i < 3 { 1.0 } else { 1e-4 });
                assert!(
                    off < 1e-6,
                    "{} at {} s, {method:?}: component {i} is {a}, SciPy's {b}",
                    at[1],
                    numbers[0]
                );
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 144);
}

/// [Chen10] Theorem 2: the equilibrium is problem MP's solution, and V of (5.23), without its `(·)⁺`, never grows.
#[test]
fn reno_over_adaptive_csma_reaches_optimum_of_mp() {
    let model = four_links();
    let capacity = 532.0;
    let flows =
        (0..4).map(|l| Flow::over(Utility::inverse(2.0 * (10.0 / capacity) * (10.0 / capacity)), &[l]));
    let problem =
        Problem { air: topology_a(), flows: flows.collect(), beta: Some(200.0), ..Problem::default() };
    let best = problem.solve().unwrap();
    let optimum: Vec<f64> =
        best.rates.iter().map(|x| x * capacity).chain(best.prices.iter().copied()).collect();
    let trajectory = integrate(&model, &model.start(), 300.0, Options::default()).unwrap();
    assert_close(trajectory.last(), &optimum, 1e-6);
    let rest = Equilibrium::near(&model, trajectory.last()).unwrap();
    assert_close(&rest.state, &optimum, 1e-9);
    assert!(rest.is_stable(), "{:?}", rest.eigenvalues);
    let values: Vec<f64> =
        trajectory.states.iter().map(|s| model.lyapunov(s, &rest.state).unwrap()).collect();
    for pair in values.windows(2) {
        assert!(pair[1] <= pair[0] * (1.0 + 1e-6) + 1e-12, "{pair:?}");
    }
    assert!(values[0] > 1.0 && values[500] < 1e-9, "{} {}", values[0], values[500]);
}

/// MP's solution on topology a with a flow's utility in the place of −2/x.
fn optimum_of_mp(utility: &Utility) -> Vec<f64> {
    let flows = (0..4).map(|l| Flow::over(utility.clone(), &[l])).collect();
    let problem = Problem { air: topology_a(), flows, beta: Some(200.0), ..Problem::default() };
    let best = problem.solve().unwrap();
    best.rates.iter().map(|x| x * 532.0).chain(best.prices).collect()
}

/// [Chen10] section 7.2: connections by the delay's price rest at MP's optimum for any loss of the channels,
/// from any start; `n = kT` does so without losses only.
#[test]
fn delay_price_leads_to_mp_for_any_loss() {
    let optimum = optimum_of_mp(&Utility::inverse(2.0 * (10.0 / 532.0) * (10.0 / 532.0)));
    let law = DelayPriceParams { per_packet: 0.1 / 532.0, ..DelayPriceParams::chen10() };
    for losses in [[0.0; 4], [0.01; 4], [0.1, 0.0, 0.05, 0.02], [0.0, 0.1, 0.0, 0.0], [0.1; 4]] {
        let mut model = RenoOverCsma {
            connections: Connections::DelayPrice(law),
            round_trip: RoundTrip::Queueing,
            losses: losses.to_vec(),
            ..four_links()
        };
        model.ways.iter_mut().for_each(|way| way.round_trip_s = 0.01);
        for (rate, price, connections) in [(10.0, 0.0, 1.0), (400.0, 0.02, 60.0), (1.0, 0.01, 5.0)] {
            let start = [vec![rate; 4], vec![price; 4], vec![connections; 4]].concat();
            let trajectory = integrate(&model, &start, model.horizon_s(), Options::default()).unwrap();
            assert_close(&trajectory.last()[..8], &optimum, 1e-3);
            let rest = Equilibrium::near(&model, trajectory.last()).unwrap();
            assert_close(&rest.state[..8], &optimum, 1e-6);
            assert!(rest.is_stable(), "{losses:?}: {:?}", rest.eigenvalues);
            // n = kT·√((r + ε)/r)
            let view = model.view(&rest.state);
            let needed = (0..4).map(|s| {
                10.0 * view.round_trips_s[s] * ((optimum[4 + s] + losses[s]) / optimum[4 + s]).sqrt()
            });
            assert_close(&view.connections, &needed.collect::<Vec<_>>(), 1e-5);
        }
    }
    let parent = RenoOverCsma { losses: vec![0.1; 4], ..four_links() };
    let rest = integrate(&parent, &parent.start(), 300.0, Options::default()).unwrap();
    // 2k²/x² ≥ ε: no more than k·√(2/ε), for any capacity of the links.
    assert!(rest.last()[..4].iter().all(|x| *x < 10.0 * 20f64.sqrt()), "{:?}", rest.last());
}

/// [Chen10] eq. (5.29): with U = log x the rest is that of the proportionally fair MP.
#[test]
fn connections_for_a_utility_reach_its_optimum() {
    let law = UtilityParams { per_second: 1.0, fairness: 1.0, weight: 1.0, ..UtilityParams::chen10() };
    let model = RenoOverCsma { connections: Connections::Utility(law), ..four_links() };
    let optimum = optimum_of_mp(&Utility::log(1.0 / 532.0));
    let trajectory = integrate(&model, &model.start(), 300.0, Options::default()).unwrap();
    assert_close(trajectory.last(), &optimum, 1e-5);
    let rest = Equilibrium::near(&model, trajectory.last()).unwrap();
    assert!(rest.is_stable(), "{:?}", rest.eigenvalues);
}

/// [Chen10] appendix A: without AQM every flow keeps more under way than its link carries, so that r goes to its bound.
#[test]
fn aggressiveness_without_aqm_reaches_bound() {
    let model = RenoOverCsma {
        aggressiveness_max: 0.01,
        beta: 800.0,
        loss: Loss::DropTail,
        connections: Connections::One,
        ..four_links()
    };
    let trajectory =
        integrate(&model, &model.start(), 4000.0, Options { method: Method::Implicit, ..Options::default() });
    let last = trajectory.unwrap().last().to_vec();
    assert!(last[4..].iter().all(|r| (r - 0.01).abs() < 1e-9), "{last:?}");
    assert!(last[1] < 0.1 * last[0], "link 2 starves: {last:?}");
}

/// [Chen10] appendix B: with AQM and one connection all r are 2^(1/3)·α^(2/3), α per packet, so that link 2 starves.
#[test]
fn one_connection_equalises_aggressiveness() {
    let mut model = one_connection();
    model.ways.iter_mut().for_each(|way| way.round_trip_s = 0.0); // (B.6): all of the round trip is queueing
    let mut start = model.start();
    start[4..].fill(1e-3);
    let trajectory =
        integrate(&model, &start, 2000.0, Options { method: Method::Implicit, ..Options::default() })
            .unwrap();
    let expected = 2f64.cbrt() * (0.05f64 / 532.0).powf(2.0 / 3.0);
    assert_close(&trajectory.last()[4..], &[expected; 4], 1e-6);
    let airtime = model.view(trajectory.last()).airtime;
    assert!(airtime[1] < 0.1 && airtime[0] > 0.7, "{airtime:?}");
}

/// [Chen10] Theorem 3: with wires the equilibrium is EP's solution.
#[test]
fn with_wires_the_equilibrium_is_that_of_ep() {
    // Two links in conflict; the first flow goes on over a wire that is its bottleneck.
    let cost = 1.0 / 500.0;
    let way = |l: usize, wires: &[usize]| Way {
        air: vec![(l, cost)],
        wires: wires.iter().map(|&w| (w, 1.0)).collect(),
        round_trip_s: 0.05,
    };
    let ways = vec![way(0, &[0]), way(1, &[])];
    let model = RenoOverCsma {
        form: ProductForm::new(&ConflictGraph::from_edges(2, &[(0, 1)])).unwrap(),
        wires: vec![60.0],
        backlog: Backlog::of_airtime(1.0, &ways, 2),
        ways,
        ..four_links()
    };
    let utility = Utility::inverse(2.0 * (10.0 * cost) * (10.0 * cost));
    let problem = Problem {
        air: ConflictGraph::from_edges(2, &[(0, 1)]),
        wires: vec![Wire::DropTail(60.0 * cost)],
        flows: vec![Flow::over(utility.clone(), &[0, 2]), Flow::over(utility, &[1])],
        beta: Some(200.0),
        ..Problem::default()
    };
    let best: Vec<f64> = problem.solve().unwrap().rates.iter().map(|x| x / cost).collect();
    let trajectory = integrate(&model, &model.start(), 400.0, Options::default()).unwrap();
    assert_close(&model.view(trajectory.last()).rates, &best, 1e-5);
    assert!(best[0] > 60.0 && best[0] < 65.0, "a little more than the wire carries: {best:?}");
}

/// [CZ06] eq. (5), (8): Kelly's system, and TCP over a lossy link, which leaves it unused.
#[test]
fn kelly_and_lossy_tcp_rest_at_their_equilibria() {
    let way = Way::over_wires(&[0], 0.2);
    let model = LossyPath {
        capacities: vec![100.0],
        ways: vec![way],
        losses: vec![0.0],
        gain: 0.0,
        connections: vec![1.0],
        congestion: Congestion::Bit,
    };
    let rate =
        |model: &LossyPath| integrate(model, &model.start(), 400.0, Options::default()).unwrap().last()[0];
    // 2/T² = x² − C x: x = 50 + √(2500 + 50)
    assert_close(&[rate(&model)], &[50.0 + 2550f64.sqrt()], 1e-6);
    // √2/(T√ε) = 50 < C
    let lossy = LossyPath { losses: vec![0.02], ..model };
    assert_close(&[rate(&lossy)], &[2f64.sqrt() / (0.2 * 0.02f64.sqrt())], 1e-6);
}

/// [CZ06] Theorems 1 and 2: one equilibrium, (19)'s solution, exponentially stable, from many starting points; and the reduced
/// system rests there too.
/// The price of a wire in the optimum is the price of the queue's law.
#[test]
fn wire_costs_what_droptail_refuses() {
    for load in [0.0, 0.5, 1.0, 1.25, 1e6] {
        let price = Wire::DropTail(1.0).price(load).map(f64::to_bits);
        assert_eq!(price, Some(loss_price(load, 1.0).to_bits()), "{load}");
    }
}

#[test]
fn e_multcp_reaches_the_optimum_from_everywhere() {
    let model = lossy();
    let (rates, connections) = model.optimum(50.0).unwrap();
    let best = [rates, connections].concat();
    // Round trips of a tenth of a second beside connections of an hour: stiff. `trajectories_are_scipys` compares the methods.
    let stiff = Options { method: Method::Implicit, ..Options::default() };
    for (x, n) in [(1.0, 1.0), (100.0, 1.0), (5.0, 6.0), (60.0, 3.0), (200.0, 10.0)] {
        let start = [[x; 3], [n; 3]].concat();
        let trajectory = integrate(&model, &start, 20_000.0, stiff).unwrap();
        assert_close(trajectory.last(), &best, 1e-4);
    }
    let rest = Equilibrium::near(&model, &best).unwrap();
    assert_close(&rest.state, &best, 1e-7);
    assert!(rest.is_stable(), "{:?}", rest.eigenvalues);
    let reduced = model.reduced();
    let options = Options { tolerance: 1e-6, samples: 21, ..Options::default() };
    let trajectory = integrate(&reduced, &[3.0, 1.0, 5.0], 4000.0, options).unwrap();
    assert_close(trajectory.last(), &best[3..], 1e-3);
}

/// [CZ06] Theorem 3: behind one bottleneck all n become equal, and x is in proportion to 1/T.
#[test]
fn one_bottleneck_gives_equal_connections() {
    let way = |round_trip_s| Way::over_wires(&[0], round_trip_s);
    let model = LossyPath {
        capacities: vec![200.0],
        ways: [0.1, 0.2, 0.4].map(way).to_vec(),
        losses: vec![0.02; 3],
        gain: 0.0125,
        connections: vec![1.0, 4.0, 8.0],
        congestion: Congestion::Smoothed(50.0),
    };
    let trajectory = integrate(&model, &model.start(), 20_000.0, Options::default()).unwrap();
    let last = trajectory.last();
    assert_close(&[last[4], last[5]], &[last[3]; 2], 1e-4);
    assert_close(&[last[1] * 2.0, last[2] * 4.0], &[last[0]; 2], 1e-4);
}

/// [CZ06] eq. (9) to (11): with the bare bit the system circles into the capacity.
#[test]
fn the_bare_congestion_bit_keeps_the_link_full() {
    let capacities = vec![400.0, 600.0]; // more than one connection each fills
    let model = LossyPath { congestion: Congestion::Bit, capacities, ..lossy() };
    let trajectory =
        integrate(&model, &model.start(), 4000.0, Options { tolerance: 1e-6, ..Options::default() }).unwrap();
    let loads = |state: &[f64]| [state[0] + state[1], state[1] + state[2]];
    let late = &trajectory.states[400..];
    for (l, capacity) in [400.0, 600.0].into_iter().enumerate() {
        let mean: f64 = late.iter().map(|s| loads(s)[l]).sum::<f64>() / late.len() as f64;
        assert!((mean / capacity - 1.0).abs() < 0.02, "link {l}: {mean}");
    }
    assert!(trajectory.corners.len() > 10);
}

fn quic(shape: f64) -> DelayWindow {
    // Three links in a row of conflicts and a wire: one flow over the wire and two hops, one over each hop.
    let air = ConflictGraph::from_edges(2, &[(0, 1)]);
    let b = [1.0 / 400.0, 1.0 / 300.0];
    let way = |air: &[usize], wires: &[usize], round_trip_s| Way {
        air: air.iter().map(|&l| (l, b[l])).collect(),
        wires: wires.iter().map(|&w| (w, 1.0)).collect(),
        round_trip_s,
    };
    let ways = vec![way(&[0, 1], &[0], 0.04), way(&[0], &[], 0.01), way(&[1], &[], 0.02)];
    // Gains of one speed at the equilibrium: κ·w*^(1−2ρ) alike.
    let gain = 1.5 * 4f64.powf(2.0 * shape - 1.0);
    let law = QuicTcpParams { target: 2.0, gain, shape, ..QuicTcpParams::qcsma() };
    DelayWindow::new(air, &[60.0], ways, law).unwrap()
}

/// [QCSMA] Theorems 1 and 2: QUIC-TCP over queueing-delay CSMA goes to problem (2)'s solution, from anywhere and for every ρ,
/// and Y falls on the way.
#[test]
fn quic_tcp_reaches_the_optimum_for_every_rho() {
    for shape in [0.0, 0.5, 1.0] {
        let model = quic(shape);
        let best = model.problem().solve().unwrap();
        for start in [[1.0, 1.0, 1.0], [30.0, 2.0, 9.0]] {
            let options = Options { tolerance: 1e-7, samples: 101, ..Options::default() };
            let trajectory = integrate(&model, &start, 150.0, options).unwrap();
            let view = model.view(trajectory.last());
            assert_close(&view.rates, &best.rates, 1e-4);
            let values: Vec<f64> =
                trajectory.states.iter().map(|s| model.lyapunov(s, &[]).unwrap()).collect();
            for pair in values.windows(2) {
                assert!(pair[1] <= pair[0] * (1.0 + 1e-5) + 1e-9, "ρ = {shape}: {pair:?}");
            }
        }
    }
}

/// [QCSMA] eq. (9): the classic scheme reaches the same, with message passing.
#[test]
fn the_dual_scheme_reaches_the_optimum() {
    let model = quic(0.5);
    let best = model.problem().solve().unwrap();
    let b = [1.0 / 400.0, 1.0 / 300.0];
    let way = |air: &[usize], wires: &[usize]| Way {
        air: air.iter().map(|&l| (l, b[l])).collect(),
        wires: wires.iter().map(|&w| (w, 1.0)).collect(),
        round_trip_s: 0.0,
    };
    let ways = vec![way(&[0, 1], &[0]), way(&[0], &[]), way(&[1], &[])];
    let air = ConflictGraph::from_edges(2, &[(0, 1)]);
    let dual = DualDescent::new(air, &[60.0], ways, 2.0, 1.0).unwrap();
    let options = Options { method: Method::Implicit, tolerance: 1e-7, ..Options::default() };
    let trajectory = integrate(&dual, &dual.start(), 2000.0, options).unwrap();
    assert_close(&dual.view(trajectory.last()).rates, &best.rates, 1e-4);
}

/// [Lee12]: bV/C = 5 gives the flow in the middle .34 of the time and the outer ones .66; 0.5 gives .29 and .51. Two hops
/// reach 1/4, 1/2 with the path sum only.
#[test]
fn optimal_csma_shares_as_in_the_letter() {
    for queue in [Queue::FirstLink, Queue::Virtual] {
        for (capacity, shares) in [(1.0, [0.66, 0.34, 0.66]), (10.0, [0.51, 0.29, 0.51])] {
            let model = OptimalCsma { capacity, ..three_links(queue) };
            let options = Options { method: Method::Implicit, ..Options::default() };
            let trajectory = integrate(&model, &model.start(), 200.0 * model.horizon_s(), options).unwrap();
            let airtime = model.view(trajectory.last()).airtime;
            for (y, share) in airtime.iter().zip(shares) {
                assert!((y - share).abs() < 0.005, "{queue:?}, {capacity}: {airtime:?}");
            }
        }
    }
    let form = ProductForm::new(&ConflictGraph::from_edges(2, &[(0, 1)])).unwrap();
    let way = |air: &[usize]| Way {
        air: air.iter().map(|&l| (l, 1.0)).collect(),
        wires: Vec::new(),
        round_trip_s: 0.0,
    };
    let rates = |queue| {
        let law = UtilityQueue { utility: 5e4, ..UtilityQueue::lee12() };
        let model = OptimalCsma {
            form: form.clone(),
            ways: vec![way(&[0, 1]), way(&[1])],
            law,
            capacity: 1.0,
            queue,
        };
        let options = Options { method: Method::Implicit, ..Options::default() };
        let trajectory = integrate(&model, &[100.0, 100.0], 1e7, options).unwrap();
        model.view(trajectory.last()).rates
    };
    let (sum, first) = (rates(Queue::PathSum), rates(Queue::FirstLink));
    assert!((sum[0] - 0.25).abs() < 0.01 && (sum[1] - 0.5).abs() < 0.01, "{sum:?}");
    assert!((first[0] - 1.0 / 3.0).abs() < 0.01 && (first[1] - 1.0 / 3.0).abs() < 0.01, "{first:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// [QCSMA] Lemma 1: ∂R/∂q is symmetric and positive definite, `b_l·b_n·Cov(l, n)`.
    #[test]
    fn capacities_grow_with_delays_as_in_lemma_1(
        edges in prop::collection::vec((0usize..5, 0usize..5), 0..8),
        b in prop::collection::vec(0.5f64..3.0, 5),
        q in prop::collection::vec(0.0f64..2.0, 5),
    ) {
        let form = ProductForm::new(&ConflictGraph::from_edges(5, &edges)).unwrap();
        let capacity = |q: &[f64]| -> Vec<f64> {
            let exponents: Vec<f64> = q.iter().zip(&b).map(|(q, b)| q * b).collect();
            form.shares(&exponents).links.iter().zip(&b).map(|(y, b)| b * y).collect()
        };
        let h = 1e-6;
        let column = |n: usize| -> Vec<f64> {
            let (mut up, mut down) = (q.clone(), q.clone());
            up[n] += h;
            down[n] -= h;
            capacity(&up).iter().zip(capacity(&down)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
        };
        let jacobian: Vec<Vec<f64>> = (0..5).map(column).collect();
        let matrix = nalgebra::DMatrix::from_fn(5, 5, |l, n| jacobian[n][l]);
        prop_assert!((&matrix - matrix.transpose()).amax() < 1e-7);
        let least = matrix.symmetric_eigenvalues().min();
        prop_assert!(least > 0.0, "{least}");
    }
}
