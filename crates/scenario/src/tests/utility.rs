//! The best allocation by the flows' own utilities, against closed forms and a second solver.

use super::*;

/// Links that all conflict, or each with the next alone; a flow over each, with its weight and α.
fn network(chain: bool, flows: &[(f64, f64)], more: &str) -> Resolved {
    let count = flows.len();
    let pairs = (0..count).flat_map(|l| (l + 1..count).map(move |m| (l, m)));
    let pairs: Vec<String> =
        pairs.filter(|(l, m)| !chain || l + 1 == *m).map(|(l, m)| format!("[\"{l}\", \"{m}\"]")).collect();
    let mut text = format!("{more}\nconflicts = [{}]\nmac = {{ kind = \"ideal\" }}\n", pairs.join(", "));
    for (l, (weight, alpha)) in flows.iter().enumerate() {
        text += &format!(
            "[[links]]\nid = \"{l}\"\nfrom = \"s{l}\"\nto = \"r{l}\"\n[[flows]]\nid = \"{l}\"\nfrom = \"s{l}\"\nto = \"r{l}\"\n\
             traffic = \"saturated\"\nweight = {weight}\nalpha = {alpha}\n"
        );
    }
    parse(&text).unwrap()
}

fn solve(scenario: &Resolved) -> Optimum {
    assert_eq!(scenario.objective(), Objective::Utility);
    let optimum = scenario.optimum(Objective::Utility).unwrap();
    assert!(optimum.residuals.unwrap().worst() < 1e-6);
    optimum
}

/// On one shared medium weighted proportional fairness gives times in proportion to the weights.
#[test]
fn weighted_fairness_on_clique_shares_time() {
    let weights = [1.0, 3.0, 0.2, 7.5];
    let optimum = solve(&network(false, &weights.map(|w| (w, 1.0)), ""));
    let sum: f64 = weights.iter().sum();
    for (load, weight) in optimum.load.iter().zip(weights) {
        assert!((load - weight / sum).abs() < 1e-7, "{:?}", optimum.load);
    }
}

/// On a clique all flows of one packet size have one price, so that x^α/w is the same for all: the rates at price p add up to one.
#[test]
fn mixed_fairness_has_one_price_on_a_clique() {
    for (unit, per_packet) in [("packets/s", 1.0), ("kbps", 8.0), ("Mbps", 8e-3)] {
        let given = [(2.0, 1.0), (1.0, 2.0), (5.0, 0.5), (0.3, 4.0)];
        let optimum = solve(&network(false, &given, &format!("utility = {{ unit = \"{unit}\" }}")));
        let capacity = optimum.capacity_pps[0];
        // Bisection on the price, written once more: w·(c·y)^(−α)·c = p.
        let rates = |price: f64| given.map(|(w, a)| (w * per_packet / price).powf(1.0 / a) / per_packet);
        let (mut low, mut high) = (1e-30f64, 1e30f64);
        for _ in 0..300 {
            let middle = (low * high).sqrt();
            if rates(middle).iter().sum::<f64>() > capacity { low = middle } else { high = middle }
        }
        for (rate, wanted) in optimum.rates_pps.iter().zip(rates(low)) {
            assert!((rate / wanted - 1.0).abs() < 1e-5, "{unit}: {rate} {wanted}");
        }
        let utility = |(y, (w, a)): (&f64, (f64, f64))| {
            let x = y * per_packet;
            if (a - 1.0).abs() < f64::EPSILON { w * x.ln() } else { w * x.powf(1.0 - a) / (1.0 - a) }
        };
        let value: f64 = optimum.rates_pps.iter().zip(given).map(utility).sum();
        assert!((optimum.value.unwrap().0 / value - 1.0).abs() < 1e-9, "{unit}: {:?} {value}", optimum.value);
    }
}

/// In a chain of three the middle link has the rest of the others' time: w₂/x₂ = (w₁ + w₃)/(1 − x₂) under proportional
/// fairness.
#[test]
fn middle_of_chain_pays_for_both_neighbours() {
    let optimum = solve(&network(true, &[(1.0, 1.0), (4.0, 1.0), (2.0, 1.0)], ""));
    assert!((optimum.load[1] - 4.0 / 7.0).abs() < 1e-7, "{:?}", optimum.load);
    assert!((optimum.load[0] - 3.0 / 7.0).abs() < 1e-7 && (optimum.load[2] - 3.0 / 7.0).abs() < 1e-7);
}

/// A random mesh with weights and α of each flow's own: Clarabel finds the same.
#[test]
fn clarabel_agrees_on_random_meshes() {
    for seed in 1..=4 {
        let mut flows = String::new();
        for f in 1..=6 {
            let (to, weight) = ((f * 5 + seed) % 14 + 7, 1.0 + (f * seed % 5) as f64);
            let alpha = [0.5, 1.0, 2.0, 3.0, 1.0, 1.5][(f + seed) % 6];
            flows += &format!(
                "[[flows]]\nid = \"{f}\"\nfrom = \"{f}\"\nto = \"{to}\"\nweight = {weight}\nalpha = {alpha}\n"
            );
        }
        let text = format!(
            "radio = {{ transmission_range = \"250 m\", carrier_sense_range = \"400 m\" }}\nutility = {{ unit = \"Mbps\" }}\n\
             generate = {{ kind = \"random\", nodes = 21, width = \"900 m\", height = \"700 m\", seed = {seed} }}\n{flows}"
        );
        let scenario = parse(&text).unwrap();
        let own = solve(&scenario);
        let question = Question { solver: Solver::Clarabel, ..Question::new(Objective::Utility) };
        let other = scenario.answer(question).unwrap();
        assert!(other.by_clarabel && !own.by_clarabel);
        for (ours, theirs) in own.rates_pps.iter().zip(&other.rates_pps) {
            assert!((ours / theirs - 1.0).abs() < 1e-3, "{seed}: {:?} {:?}", own.rates_pps, other.rates_pps);
        }
    }
}

#[test]
fn of_one_alpha_it_is_the_objective_of_that_name() {
    let scenario = set(&["utility.alpha=1"]).unwrap();
    let (own, named) = (solve(&scenario), scenario.optimum(Objective::Proportional).unwrap());
    assert!((own.rates_pps[0] / named.rates_pps[0] - 1.0).abs() < 1e-9);
    assert_eq!(set(&[]).unwrap().objective(), Objective::Fair);
    assert!(set(&["utility.alpha=0"]).unwrap_err().to_string().contains("utility.alpha: 0 must be above 0"));
    assert!(set(&["flows.1.alpha=51"]).unwrap_err().to_string().contains("flows[0].alpha: 51 must be"));
    assert!(set(&["utility.unit=packets"]).unwrap_err().to_string().contains("packets/s"));
}

/// A table is a linear programme: on a shared medium the steepest pieces are sent first, weights and units counted.
#[test]
fn tables_of_points_are_utilities() {
    let mut text =
        network(false, &[(1.0, 1.0), (1.0, 1.0)], "utility = { unit = \"Mbps\" }").to_toml().unwrap();
    text = text.replace("alpha = 1.0", "points = [[0, 0], [0.5, 10], [40, 12]]").replacen(
        "weight = 1.0",
        "weight = 9.0",
        1,
    );
    let optimum = solve(&parse(&text).unwrap());
    assert!(optimum.by_clarabel);
    // Each has its steep half megabit, and the heavier one all the rest.
    let megabits: Vec<f64> = optimum.rates_pps.iter().map(|x| x * 8e-3).collect();
    assert!(
        (megabits[1] - 0.5).abs() < 1e-6 && (optimum.load[0] + optimum.load[1] - 1.0).abs() < 1e-7,
        "{megabits:?}"
    );
    let value = 9.0 * (10.0 + 2.0 * (megabits[0] - 0.5) / 39.5) + 10.0;
    assert!((optimum.value.unwrap().0 / value - 1.0).abs() < 1e-7);
    assert_eq!(optimum.objective.alpha_of(&optimum.theory.flows[0]), None);
    let of_all = set(&["utility.points=[[0, 0], [100, 4], [9000, 6]]"]).unwrap();
    assert_eq!(of_all.objective(), Objective::Utility);
    assert!(solve(&of_all).rates_pps[0] > 99.0);
    assert_eq!(parse(&of_all.to_toml().unwrap()).unwrap(), of_all, "it reads back as the same");
    let wrong = |change: &str| set(&[change]).unwrap_err().to_string();
    assert!(
        wrong("utility={ points = [[0, 0], [1, 1]], alpha = 2 }")
            .contains("utility.points: a utility is a table or has")
    );
    assert!(
        wrong("utility.points=[[0, 0], [1, 1], [2, 9]]")
            .contains("utility.points: from 1 to 2 it rises by 8")
    );
    assert!(wrong("flows.1.points=[[1, 1]]").contains("flows[0].points: give two points"));
}

/// A function of one's own with the derivative of proportional fairness is proportional fairness, in any unit.
#[test]
fn functions_of_ones_own_are_utilities() {
    #[derive(Debug)]
    struct Power(f64);
    impl Concave for Power {
        fn of(&self, rate: f64) -> f64 {
            rate.powf(1.0 - self.0) / (1.0 - self.0)
        }
        fn price(&self, rate: f64) -> f64 {
            rate.powf(-self.0)
        }
    }
    for (unit, alpha) in [("packets/s", 2.0), ("Mbps", 0.5), ("kbps", 3.0)] {
        let text = format!("utility = {{ unit = \"{unit}\" }}");
        let scenario = network(true, &[(1.0, alpha), (1.0, alpha), (1.0, alpha), (1.0, alpha)], &text);
        let stop = std::sync::atomic::AtomicBool::new(false);
        let own = |_: &str| -> std::sync::Arc<dyn Concave> { std::sync::Arc::new(Power(alpha)) };
        let question = Question::new(Objective::Utility);
        let (ours, built_in) = (scenario.answer_of_ones_own(own, question, &stop).unwrap(), solve(&scenario));
        for (x, y) in ours.rates_pps.iter().zip(&built_in.rates_pps) {
            // About the best the objective is flat: rates are known less well than it.
            assert!((x / y - 1.0).abs() < 1e-5, "{unit}: {:?} {:?}", ours.rates_pps, built_in.rates_pps);
        }
        let values = [&ours, &built_in].map(|optimum| optimum.value.unwrap().0);
        assert!((values[0] / values[1] - 1.0).abs() < 1e-8, "{unit}: {values:?}");
        let by_cones = Question { solver: Solver::Clarabel, ..question };
        assert!(
            scenario
                .answer_of_ones_own(own, by_cones, &stop)
                .unwrap_err()
                .to_string()
                .contains("Clarabel knows")
        );
    }
    let convex = |_: &str| -> std::sync::Arc<dyn Concave> { std::sync::Arc::new(Power(-1.0)) };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let wrong = set(&[]).unwrap().answer_of_ones_own(convex, Question::new(Objective::Utility), &stop);
    assert!(wrong.unwrap_err().to_string().contains("the utility of flow 1: between rates"));
}
