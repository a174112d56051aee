//! For any measurements: sums, weights, bounds and floors.

use evenair_laws::Parameters;
use evenair_laws::gateway::{
    Allocation, ArcParams, ClassRole, ClassView, Form, GatewayLaw, GatewayRole, GatewayView, PfrcParams,
    SearchMethod,
};
use evenair_units::{Duration, Instant, Rate, Volume};
use proptest::prelude::*;

const LINK: u64 = 900_000;

pub(crate) fn role(classes: usize) -> GatewayRole {
    let link_rate = Some(Rate::from_bps(LINK));
    GatewayRole { classes: vec![ClassRole { link_rate, ..ClassRole::default() }; classes] }
}

/// A class that was served at a rate for ten seconds.
pub(crate) fn served(bps: u64) -> ClassView {
    let served = Volume { packets: (bps * 10 / 8).div_ceil(1500), bytes: bps * 10 / 8 };
    ClassView { arrived: served, served, ..ClassView::default() }
}

pub(crate) fn step(law: &mut impl GatewayLaw, classes: &[ClassView]) -> Allocation {
    law.on_epoch(&GatewayView {
        now: Instant::ZERO,
        interval: Duration::from_secs(10),
        classes: classes.iter().copied().map(Some).collect(),
    })
}

fn volume() -> impl Strategy<Value = Volume> {
    prop_oneof![
        2 => Just(Volume::default()),
        5 => (0u64..2_000, 1u64..1_500).prop_map(|(packets, size)| Volume { packets, bytes: packets * size }),
        1 => (0u64..=u64::MAX / 2).prop_map(|bytes| Volume { packets: bytes / 1500, bytes }),
    ]
}

fn class() -> impl Strategy<Value = ClassView> {
    let busy = prop::option::of((0u64..20_000).prop_map(Duration::from_millis));
    (volume(), volume(), volume(), volume(), 0u64..3_000, busy).prop_map(
        |(arrived, served, dropped, backlog, held, busy)| ClassView {
            arrived,
            served,
            dropped,
            backlog,
            held: Some(held),
            busy,
            unanswered: busy.map(|busy| busy / 2),
            ..ClassView::default()
        },
    )
}

fn searches() -> impl Strategy<Value = SearchMethod> {
    prop::sample::select(vec![SearchMethod::Binary, SearchMethod::Exponential])
}

type Epochs = (Vec<f64>, Vec<(u64, Vec<ClassView>)>);

/// Weights of some classes, and their measurements in lengths of time.
fn epochs() -> impl Strategy<Value = Epochs> {
    (1usize..6).prop_flat_map(|classes| {
        let epoch = (prop_oneof![Just(0u64), 1u64..60_000], prop::collection::vec(class(), classes));
        (prop::collection::vec(0.1..10.0f64, classes), prop::collection::vec(epoch, 1..60))
    })
}

proptest! {
    /// Every class's rate is its weight's share of at least the floor, and never beyond the capacity of the
    /// gateway's link.
    #[test]
    fn pfrc_keeps_weights_floors_and_bounds((weights, epochs) in epochs(), search in searches()) {
        let params = PfrcParams { search, ..PfrcParams::corrected() };
        let mut role = role(weights.len());
        role.classes.iter_mut().zip(&weights).for_each(|(class, &weight)| class.weight = weight);
        let mut law = params.begin(&role);
        let (low, high) = (params.floor * LINK as f64 / 3.0, LINK as f64);
        let all: f64 = weights.iter().sum();
        for (ms, classes) in epochs {
            let view = GatewayView { now: Instant::ZERO, interval: Duration::from_millis(ms), classes: classes.iter().copied().map(Some).collect() };
            let each = law.on_epoch(&view).each;
            prop_assert_eq!(each.len(), weights.len());
            for (rate, weight) in each.iter().zip(&weights) {
                let rate = rate.as_bps() as f64;
                prop_assert!(rate + 1.0 >= low * weight / all, "{rate} is below the floor");
                prop_assert!(rate <= high, "{rate} is beyond the link");
            }
            // Classes with traffic are active and share one level, unless that exceeds the link.
            let most = each.iter().max().map_or(0, |rate| rate.as_bps());
            let seen = |i: &usize| ms > 0 && classes[*i].is_seen() && each[*i].as_bps() < most;
            let levels: Vec<_> = (0..weights.len()).filter(seen).map(|i| each[i].as_bps() as f64 / weights[i]).collect();
            let spread = levels.iter().fold(0.0, |spread: f64, level| spread.max((level - levels[0]).abs()));
            prop_assert!(spread <= 20.0, "levels differ by {spread} bit/s: {levels:?}");
        }
    }

    /// One bucket stays between the bounds.
    #[test]
    fn arc_keeps_its_bounds((weights, epochs) in epochs(), search in searches()) {
        let mut law = ArcParams { search, ..ArcParams::corrected() }.begin(&role(weights.len()));
        for (ms, classes) in epochs {
            let view = GatewayView { now: Instant::ZERO, interval: Duration::from_millis(ms), classes: classes.iter().copied().map(Some).collect() };
            let total = law.on_epoch(&view).total.expect("one bucket").as_bps();
            prop_assert!((LINK / 6..=LINK).contains(&total), "{total}");
        }
    }

    /// The thesis's form shares all of its estimate among the active ones.
    #[test]
    fn shares_of_the_thesis_add_up((_, epochs) in epochs()) {
        let classes = epochs[0].1.len();
        let mut law = PfrcParams { search: SearchMethod::Exponential, ..PfrcParams::jam10() }.begin(&role(classes));
        let mut before: Option<Vec<bool>> = None;
        for (_, classes) in epochs {
            let allocation = step(&mut law, &classes);
            let seen: Vec<_> = classes.iter().map(ClassView::is_seen).collect();
            let sum: u64 = (0..seen.len()).filter(|&i| seen[i]).map(|i| allocation.each[i].as_bps()).sum();
            if before.as_ref() == Some(&seen) && seen.contains(&true) && sum < 1_000_000_000_000_000 {
                let measured: f64 = classes.iter().map(|class| class.served.bytes as f64 * 0.8).sum();
                let expected = [1.1, 0.9].map(|factor| (factor * measured).max(1_200.0));
                let near = |expected: &f64| (sum as f64 - expected).abs() <= 10.0 + 1e-9 * expected;
                prop_assert!(expected.iter().any(near), "{sum} is neither of {expected:?}");
            }
            before = Some(seen);
        }
    }
}

/// No class, no time, no link: nothing breaks, and open classes stay open.
#[test]
fn where_there_is_nothing_nothing_happens() {
    for form in [Form::Corrected, Form::Thesis] {
        let mut none = PfrcParams { form, ..PfrcParams::corrected() }.begin(&GatewayRole::default());
        assert!(step(&mut none, &[]).each.is_empty());
        let unknown = GatewayRole { classes: vec![ClassRole::default(); 2] };
        let mut open = PfrcParams { form, ..PfrcParams::corrected() }.begin(&unknown);
        assert!(step(&mut open, &[served(5_000); 2]).each.is_empty(), "no rate without bounds");
        let mut open = ArcParams { form, ..ArcParams::corrected() }.begin(&unknown);
        assert_eq!(step(&mut open, &[served(5_000); 2]).total, None);
        let capacity_high = Some(Rate::from_kbps(600));
        let configured = PfrcParams { form, capacity_high, ..PfrcParams::corrected() }.begin(&unknown);
        // A third of 600.
        assert_eq!(configured.at_start().each, [Rate::from_kbps(100); 2]);
    }
}
