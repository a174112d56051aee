//! Order, corners and stiffness, against closed forms and a maintained integrator.

use super::*;

/// `ẏ = −λ(y − cos t) ` with the time as a component: smooth, and as stiff as λ.
struct Forced(f64);

impl System for Forced {
    fn dimension(&self) -> usize {
        2
    }
    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        drift[0] = -self.0 * (state[0] - libm::cos(state[1]));
        drift[1] = 1.0;
    }
}

impl Forced {
    /// `y = (λ² cos t + λ sin t)/(λ² + 1) + c·e^(−λt)`
    fn exact(&self, start: f64, t: f64) -> f64 {
        let l = self.0;
        let part = |t: f64| (l * l * libm::cos(t) + l * libm::sin(t)) / (l * l + 1.0);
        part(t) + (start - part(0.0)) * libm::exp(-l * t)
    }
}

fn error_with_step(method: Method, step: f64) -> f64 {
    let options = Options { method, fixed_step: Some(step), ..Options::default() };
    let system = Forced(2.0);
    let end = integrate(&system, &[0.3, 0.0], 2.0, options).unwrap().last()[0];
    (end - system.exact(0.3, 2.0)).abs()
}

#[test]
fn both_methods_converge_at_their_order() {
    for (method, order) in [(Method::Explicit, 5.0), (Method::Implicit, 4.0)] {
        let errors = [0.1, 0.05, 0.025].map(|step| error_with_step(method, step));
        for pair in errors.windows(2) {
            let measured = (pair[0] / pair[1]).log2();
            assert!((measured - order).abs() < 0.3, "{method:?}: {measured}");
        }
    }
}

#[test]
fn error_is_the_tolerance() {
    for method in [Method::Explicit, Method::Implicit] {
        let options = Options { method, tolerance: 1e-9, ..Options::default() };
        let system = Forced(3.0);
        let trajectory = integrate(&system, &[0.3, 0.0], 5.0, options).unwrap();
        for (time, state) in trajectory.times.iter().zip(&trajectory.states) {
            assert!((state[0] - system.exact(0.3, *time)).abs() < 1e-7, "{method:?} at {time}");
        }
        assert_eq!(trajectory.times.len(), 501);
        assert!((trajectory.times[500] - 5.0).abs() < 1e-12);
    }
}

#[test]
fn implicit_method_takes_fewer_steps_when_stiff() {
    let steps = |method| {
        let options = Options { method, tolerance: 1e-6, ..Options::default() };
        let trajectory = integrate(&Forced(1e5), &[0.3, 0.0], 3.0, options).unwrap();
        assert!((trajectory.last()[0] - Forced(1e5).exact(0.3, 3.0)).abs() < 1e-4);
        trajectory.steps
    };
    let (explicit, implicit) = (steps(Method::Explicit), steps(Method::Implicit));
    assert!(explicit > 100 * implicit, "{explicit} {implicit}");
}

/// `ẏ = cos t`, projected to `y ≥ 0` and to `y ≤ 1.5`, with the time as a component.
struct Projected;

impl System for Projected {
    fn dimension(&self) -> usize {
        2
    }
    fn drift(&self, state: &[f64], _: &[bool], drift: &mut [f64]) {
        drift[0] = libm::cos(state[1]);
        drift[1] = 1.0;
    }
    fn bounds(&self, component: usize) -> (f64, f64) {
        if component == 0 { (0.0, 0.5) } else { (f64::NEG_INFINITY, f64::INFINITY) }
    }
}

#[test]
fn component_rests_at_its_bound_and_leaves_it() {
    use std::f64::consts::PI;
    // From 0 it rises to 1/2 at π/6, rests until π/2, falls to 0 at asin(1/2) past it, rests until 3π/2, and rises again.
    for method in [Method::Explicit, Method::Implicit] {
        let trajectory =
            integrate(&Projected, &[0.0, 0.0], 5.0, Options { method, ..Options::default() }).unwrap();
        let expected = [
            (PI / 6.0, Corner::Held(0)),
            (PI / 2.0, Corner::Released(0)),
            // 1/2 + sin t − 1 = 0
            (PI - PI / 6.0, Corner::Held(0)),
            (1.5 * PI, Corner::Released(0)),
        ];
        assert_eq!(trajectory.corners.len(), expected.len(), "{:?}", trajectory.corners);
        for ((time, corner), (when, what)) in trajectory.corners.iter().zip(expected) {
            assert!(
                (time - when).abs() < 1e-6 && *corner == what,
                "{time} {corner:?}, expected {when} {what:?}"
            );
        }
        assert!((trajectory.last()[0] - (libm::sin(5.0) + 1.0)).abs() < 1e-7);
    }
}

/// A relay: `ẋ = −1` above zero and `+2` below, with a velocity that carries it across: `ÿ = −sign(y)`.
struct Relay;

impl System for Relay {
    fn dimension(&self) -> usize {
        2
    }
    fn drift(&self, state: &[f64], switches: &[bool], drift: &mut [f64]) {
        drift[0] = state[1];
        drift[1] = if switches[0] { -1.0 } else { 1.0 };
    }
    fn switches(&self, state: &[f64]) -> Vec<f64> {
        vec![state[0]]
    }
}

#[test]
fn a_switch_is_met_where_it_flips() {
    // From y = 1/2 at rest: parabolas, zero crossings at 1, 3, 5, …, and y² /2 + |x| conserved.
    let trajectory = integrate(&Relay, &[0.5, 0.0], 10.0, Options::default()).unwrap();
    let times: Vec<f64> = trajectory.corners.iter().map(|(time, _)| *time).collect();
    assert_eq!(times.len(), 5, "{times:?}");
    for (i, time) in times.iter().enumerate() {
        assert!((time - (2.0 * i as f64 + 1.0)).abs() < 1e-8, "{times:?}");
    }
    for state in &trajectory.states {
        assert!((state[0].abs() + state[1] * state[1] / 2.0 - 0.5).abs() < 1e-7);
    }
}

#[test]
fn robertsons_reaction_ends_as_published() {
    // Three species, rates from 0.04 to 3·10⁷; the values at t = 40 are those of Hairer and Wanner's test set, which
    // validation/fluid/reference.py finds again with SciPy's Radau.
    struct Robertson;
    impl System for Robertson {
        fn dimension(&self) -> usize {
            3
        }
        fn drift(&self, y: &[f64], _: &[bool], d: &mut [f64]) {
            d[0] = -0.04 * y[0] + 1e4 * y[1] * y[2];
            d[1] = 0.04 * y[0] - 1e4 * y[1] * y[2] - 3e7 * y[1] * y[1];
            d[2] = 3e7 * y[1] * y[1];
        }
        fn scale(&self, component: usize) -> f64 {
            [1.0, 1e-6, 1.0][component]
        }
    }
    let options = Options { method: Method::Implicit, tolerance: 1e-8, ..Options::default() };
    let ours = integrate(&Robertson, &[1.0, 0.0, 0.0], 40.0, options).unwrap();
    for (a, b) in ours.last().iter().zip([0.715_827_068_718, 9.185_534_765e-6, 0.284_163_745_747]) {
        assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
    }
}
