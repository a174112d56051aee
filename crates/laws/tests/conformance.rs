//! Every built-in law passes its family's suite, whatever its parameters; so does a law of a user's own.

use evenair_laws::backoff::{
    Access, AckPriority, AdaptiveParams, Adapts, AnyBackoff, BackoffForm, BackoffLaw, BackoffParams,
    BackoffUnit, CapacityUnit, CategoryParams, DcfParams, Draw, EdcaParams, Execution, Holding, Intensity,
    LinkView, Links, OnFailure, OptimalParams, OwnBackoff, QueueLengthParams, QueueMeasure,
    QueueingDelayParams, Scope, UtilityQueue, VirtualQueueParams, When, WhileEmpty,
};
use evenair_laws::connections::{
    ConnectionParams, DelayPriceParams, FixedParams, GuardedParams, IiadParams, IimdParams, RoundTripSamples,
    RttProportionalParams, Unsampled, UtilityParams,
};
use evenair_laws::marking::{
    CodelParams, DropTail, FredParams, MarkingParams, PieParams, Proportional, RedParams,
};
use evenair_laws::rate::gateway::{
    ArcParams, FirstEstimate, FixedRateParams, Form, GatewayParams, OnChange, PfrcParams, RateHistory,
    SearchMethod,
};
use evenair_laws::rate::{RateParams, SeenQueue, UtilityBasedParams};
use evenair_laws::window::{
    Acked, AdaptivePacingParams, AnyWindow, BbrParams, CubicParams, FastParams, Loss, OwnWindow,
    QuicTcpParams, RenoParams, ShortPaths, VegasMeasure, VegasParams, WindowLaw, WindowParams, WindowStart,
};
use evenair_laws::{OwnLaw, Parameters, conformance};
use evenair_units::{Bytes, Duration, Rate};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// A state as a file keeps it.
fn kept<L: Serialize + DeserializeOwned>(law: &L) -> L {
    let text = serde_json::to_string(law).expect("built-in laws can be kept");
    serde_json::from_str(&text).expect("and read back")
}

fn time() -> impl Strategy<Value = Duration> {
    (1u64..20_000_000_000).prop_map(Duration::from_nanos)
}

/// Windows up to what is given, if it is: the standard's own are between 7 and 1023 slots.
fn windows() -> impl Strategy<Value = (Option<u32>, Option<u32>)> {
    (prop::option::of(0u32..8), prop::option::of(1023u32..65_536))
}

fn category() -> impl Strategy<Value = CategoryParams> {
    (windows(), prop::option::of(1u32..16), prop::option::of(time())).prop_map(
        |((window_min, window_max), aifsn, txop)| CategoryParams { window_min, window_max, aifsn, txop },
    )
}

fn backoff() -> impl Strategy<Value = BackoffParams> {
    let dcf = windows().prop_map(|(window_min, window_max)| DcfParams { window_min, window_max }.into());
    let edca = [category(), category(), category(), category()];
    let edca = edca.prop_map(|[voice, video, best_effort, background]| {
        EdcaParams { voice, video, best_effort, background }.into()
    });
    let units = prop::sample::select(vec![
        BackoffUnit::OwnPacket,
        BackoffUnit::DataPacket,
        BackoffUnit::OwnBits,
        BackoffUnit::DataBits,
    ]);
    let adaptive = (0.0..10.0, 0.0..1e4, 1e-6..10.0, time(), units, any::<[bool; 6]>());
    let adaptive = adaptive.prop_map(|(alpha, beta, r_max, interval, unit, switches)| {
        let [bytes, high, drop, dummies, slotted, redraw] = switches;
        let measure = if bytes { QueueMeasure::Bytes } else { QueueMeasure::Packets };
        let acks = if high { AckPriority::High } else { AckPriority::Normal };
        let r_max = Some(r_max);
        AdaptiveParams { alpha, beta, r_max, interval, measure, unit, acks, drop, dummies, slotted, redraw }
            .into()
    });
    let optimal = (weight(), time(), any::<[bool; 2]>(), intensity()).prop_map(
        |(weight, frame, [bytes, dummies], intensity)| {
            let measure = if bytes { QueueMeasure::Bytes } else { QueueMeasure::Packets };
            OptimalParams { weight, frame, measure, dummies, intensity }.into()
        },
    );
    prop_oneof![dcf, edca, adaptive, queueing_delay(), queue_length(), optimal, virtual_queue()]
}

fn weight() -> impl Strategy<Value = f64> {
    1e-6..10.0f64
}

fn virtual_queue() -> impl Strategy<Value = BackoffParams> {
    let queue = (weight(), 1e-3..1e6, 1e-3..10.0).prop_map(|(weight, utility, least)| UtilityQueue {
        weight,
        utility,
        least,
    });
    let bounds = (prop::option::of(10.0..1e3), prop::option::of(1e3..1e9));
    (queue, bounds, time(), any::<[bool; 4]>(), intensity()).prop_map(
        |(queue, (start, most), frame, [bytes, dummies, hold, all], intensity)| {
            let measure = if bytes { QueueMeasure::Bytes } else { QueueMeasure::Packets };
            let while_empty = if hold { WhileEmpty::Hold } else { WhileEmpty::Grow };
            let links = if all { Links::All } else { Links::Tcp };
            VirtualQueueParams { queue, start, most, while_empty, links, frame, measure, dummies, intensity }
                .into()
        },
    )
}

fn intensity() -> impl Strategy<Value = Intensity> {
    let short = || (1u64..2_000_000_000).prop_map(Duration::from_nanos);
    let windows = (prop::option::of(1u32..8), 8u32..16);
    (any::<[bool; 2]>(), prop::option::of(short()), short(), windows, 1u32..16).prop_map(
        |([holding, hardware], fixed, holding_max, (least, most), aifsn)| Intensity {
            adapts: if holding { Adapts::Holding } else { Adapts::Backoff },
            fixed,
            holding_max,
            execution: if hardware { Execution::Hardware } else { Execution::Continuous },
            window_min: least.map(|k| (1 << k) - 1),
            window_max: (1 << most) - 1,
            aifsn,
        },
    )
}

fn capacity() -> impl Strategy<Value = (CapacityUnit, Option<BackoffForm>, Option<u32>, bool)> {
    let units = prop::sample::select(vec![CapacityUnit::Exchange, CapacityUnit::Bits]);
    let forms = prop::sample::select(vec![None, Some(BackoffForm::Exponential), Some(BackoffForm::Windows)]);
    (units, forms, prop::option::of(1u32..65_536), any::<bool>())
}

fn queueing_delay() -> impl Strategy<Value = BackoffParams> {
    (0.0..1e3, 0.0..1.0, time(), capacity()).prop_map(
        |(scale, memory, interval, (capacity, form, window_max, dummies))| {
            QueueingDelayParams { scale, memory, interval, capacity, form, window_max, dummies }.into()
        },
    )
}

fn queue_length() -> impl Strategy<Value = BackoffParams> {
    (0.0..1e3, prop::option::of(0.0..10.0), time(), capacity()).prop_map(
        |(scale, epsilon, interval, (capacity, form, window_max, dummies))| {
            QueueLengthParams { scale, epsilon, interval, capacity, form, window_max, dummies }.into()
        },
    )
}

fn window() -> impl Strategy<Value = WindowParams> {
    let cubic = (1e-3..1e3, 0.01..0.99).prop_map(|(scale, beta)| CubicParams { scale, beta }.into());
    let quic = (0.1..1e4, 1e-3..100.0, 0.0..=1.0)
        .prop_map(|(target, gain, shape)| QuicTcpParams { target, gain, shape }.into());
    let vegas = (0.1..300.0, 0.0..300.0, 0.1..300.0, any::<bool>());
    let vegas = vegas.prop_map(|(alpha, more, gamma, linux)| {
        let measure = if linux { VegasMeasure::Linux } else { VegasMeasure::Waiting };
        VegasParams { alpha, beta: alpha + more, gamma, measure }.into()
    });
    let fast = (0.1..1e4, 1e-3..1.999, 1u32..4)
        .prop_map(|(alpha, gamma, rounds)| FastParams { alpha, gamma, rounds }.into());
    let bbr = (1.001..=10.0, 1.0..=10.0, time(), time(), 0u32..7);
    let bbr = bbr.prop_map(|(startup_gain, window_gain, round_trip_holds, round_trip_probe, phase)| {
        BbrParams { startup_gain, window_gain, round_trip_holds, round_trip_probe, phase }.into()
    });
    prop_oneof![Just(RenoParams {}.into()), cubic, quic, vegas, fast, bbr, adaptive_pacing()]
}

fn adaptive_pacing() -> impl Strategy<Value = WindowParams> {
    let memories = (0.0..1.0, 0.0..1.0);
    let times = (time(), time(), 0u32..=10_000);
    (1u32..100, any::<bool>(), memories, 1u32..=1000, 0.0..=100.0, times).prop_map(
        |(hops, all, (memory, queueing_memory), samples, caution, (delay_max, first_gap, overhead))| {
            let short_paths = if all { ShortPaths::AllHops } else { ShortPaths::OneHop };
            AdaptivePacingParams {
                hops,
                short_paths,
                memory,
                samples,
                caution,
                queueing_memory,
                delay_max,
                first_gap,
                overhead,
            }
            .into()
        },
    )
}

const SAMPLES: [RoundTripSamples; 3] =
    [RoundTripSamples::Segments, RoundTripSamples::Windows, RoundTripSamples::Probes];

fn iimd() -> impl Strategy<Value = IimdParams> {
    let params =
        (0.01..0.99, 0.01..5.0, time(), 0usize..3, prop::option::of(time()), any::<bool>(), 1u32..5000);
    params.prop_map(|(decrease, threshold, interval, samples, window, route_changes, connections_max)| {
        let (increase, samples) = (1.0 - decrease, SAMPLES[samples]);
        IimdParams {
            increase,
            decrease,
            threshold,
            interval,
            samples,
            window,
            route_changes,
            connections_max,
        }
    })
}

fn connections() -> impl Strategy<Value = ConnectionParams> {
    let proportional = (1e-3..1e4, time(), 0.0..5.0, any::<[bool; 2]>(), 1u32..5000, 0usize..3);
    let proportional = proportional.prop_map(|(per_second, interval, hysteresis, switches, most, rule)| {
        RttProportionalParams {
            per_second,
            interval,
            hysteresis,
            smoothed: switches[0],
            connections_max: most,
            samples: SAMPLES[usize::from(switches[1])],
            unsampled: [Unsampled::Hold, Unsampled::Halve, Unsampled::Grow][rule],
        }
        .into()
    });
    let iiad = (iimd(), 0.01..10.0).prop_map(|(like, decrease)| {
        let IimdParams { increase, threshold, interval, samples, window, .. } = like;
        let IimdParams { route_changes, connections_max, .. } = like;
        IiadParams {
            increase,
            decrease,
            threshold,
            interval,
            samples,
            window,
            route_changes,
            connections_max,
        }
        .into()
    });
    let guards = (time(), 0.01..=1.0, 0.0..3.0, 0.01..=1.0, 1u32..=128, 1u32..=1000);
    let guarded = (iimd(), guards).prop_map(|(like, guards)| {
        let IimdParams { increase, decrease, threshold, interval, samples, route_changes, .. } = like;
        let (window, keep, rise, retransmitted_max, patience, connections_max) = guards;
        GuardedParams {
            increase,
            decrease,
            threshold,
            interval,
            samples,
            window,
            route_changes,
            keep,
            rise,
            retransmitted_max,
            patience,
            connections_max,
        }
        .into()
    });
    let fixed = (1u32..=100_000).prop_map(|connections| FixedParams { connections }.into());
    let utility = (1e-3..1e3, 0.0..20.0, 1e-3..1e3, time(), 1u32..5000);
    let utility = utility.prop_map(|(per_second, fairness, weight, interval, connections_max)| {
        UtilityParams { per_second, fairness, weight, interval, connections_max }.into()
    });
    let delay_price = (1e-3..1e3, 0.0..20.0, 1e-3..1e3, 1e-9..1.0, 1e-3..=1.0, time(), 1u32..5000);
    let delay_price = delay_price.prop_map(
        |(per_second, fairness, weight, per_packet, gain, interval, connections_max)| {
            DelayPriceParams { per_second, fairness, weight, per_packet, gain, interval, connections_max }
                .into()
        },
    );
    prop_oneof![proportional, iimd().prop_map(Into::into), utility, fixed, iiad, guarded, delay_price]
}

fn gateway() -> impl Strategy<Value = GatewayParams> {
    let rate = || (1u64..1_000_000_000).prop_map(Rate::from_bps);
    let fixed = (prop::option::of(rate()), any::<bool>())
        .prop_map(|(rate, shared)| FixedRateParams { rate, shared, rates: Vec::new() }.into());
    let shares = (0.01..=1.0, prop::option::of(0.01..=1.0), 1.01..=10.0, 0.01..0.99);
    let bounds = (prop::option::of(1u64..1_000_000), prop::option::of(1_000_000u64..1_000_000_000));
    let times = (time(), prop::option::of(1u32..=20), 0u32..=5, time());
    let found = (shares, bounds, times, any::<[bool; 6]>()).prop_map(|(shares, bounds, times, switches)| {
        let (gamma, theta, alpha, beta) = shares;
        let (capacity_low, capacity_high) = (bounds.0.map(Rate::from_bps), bounds.1.map(Rate::from_bps));
        let (epoch, patience, settle, reopen) = times;
        let floor = gamma;
        let [thesis, exponential, step, overwritten, low, arc] = switches;
        let first = if low { FirstEstimate::Low } else { FirstEstimate::Middle };
        let form = if thesis { Form::Thesis } else { Form::Corrected };
        let search = if exponential { SearchMethod::Exponential } else { SearchMethod::Binary };
        let on_change = if step { OnChange::Step } else { OnChange::Restart };
        let history = if overwritten { RateHistory::Overwritten } else { RateHistory::Maximum };
        if arc {
            ArcParams {
                form,
                search,
                first,
                gamma,
                theta,
                alpha,
                beta,
                epoch,
                capacity_low,
                capacity_high,
                floor,
                patience,
                settle,
                reopen,
                on_change,
                history,
            }
            .into()
        } else {
            PfrcParams {
                form,
                search,
                first,
                gamma: Some(gamma),
                theta,
                alpha,
                beta,
                epoch,
                capacity_low,
                capacity_high,
                floor,
                patience,
                settle,
                reopen,
                on_change,
            }
            .into()
        }
    });
    prop_oneof![fixed, found.boxed()]
}

fn marking() -> impl Strategy<Value = MarkingParams> {
    prop_oneof![
        (1u32..10_000).prop_map(|limit_packets| DropTail { limit_packets }.into()),
        (0.0..=1.0).prop_map(|per_packet| Proportional { per_packet }.into()),
        (time(), time()).prop_map(|(target, more)| CodelParams { target, interval: target + more }.into()),
        red(),
        fred(),
        (
            time(),
            (1_000_000u64..1_000_000_000).prop_map(Duration::from_nanos),
            0.0..10.0,
            0.0..10.0,
            time(),
            any::<bool>()
        )
            .prop_map(|(target, update, alpha, beta, burst, spread)| PieParams {
                target,
                update,
                alpha,
                beta,
                burst,
                spread
            }
            .into()),
    ]
}

fn red() -> impl Strategy<Value = MarkingParams> {
    let packet = prop::option::of((1u32..2_000).prop_map(Bytes::new));
    (0.0..1e3, 1e-3..1e3, 1e-6..=1.0, 0.0..=1.0, any::<[bool; 2]>(), packet).prop_map(
        |(threshold_min, more, weight, probability_max, [gentle, wait], packet)| {
            let threshold_max = threshold_min + more;
            RedParams { threshold_min, threshold_max, weight, probability_max, gentle, wait, packet }.into()
        },
    )
}

fn fred() -> impl Strategy<Value = MarkingParams> {
    let most = prop::option::of(1u32..100);
    (0.0..1e3, 1e-3..1e3, 1e-6..=1.0, 0.0..=1.0, 0u32..10, most, any::<bool>()).prop_map(
        |(threshold_min, more, weight, probability_max, flow_min, most, many_flows)| {
            let (threshold_max, flow_max) = (threshold_min + more, most.map(|more| flow_min + more));
            FredParams {
                threshold_min,
                threshold_max,
                weight,
                probability_max,
                flow_min,
                flow_max,
                many_flows,
            }
            .into()
        },
    )
}

/// What is written of a law reads back to it.
fn assert_written<P>(params: &P)
where
    P: Parameters + Serialize + DeserializeOwned + PartialEq + Debug + Clone,
{
    assert_eq!(&kept(params), params);
    assert!(params.clone().validated().is_ok(), "{params:?}");
}

proptest! {
    #[test]
    fn backoff_laws_conform(params in backoff(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::backoff(&params, kept, seed);
    }

    #[test]
    fn window_laws_conform(params in window(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::window(&params, kept, seed);
    }

    #[test]
    fn connection_laws_conform(params in connections(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::connections(&params, kept, seed);
    }

    #[test]
    fn rate_laws_conform(utility in 1e-3..1e6, frame in time(), path in any::<bool>(), seed in any::<u64>()) {
        let queue = if path { SeenQueue::PathSum } else { SeenQueue::FirstLink };
        let params = RateParams::from(UtilityBasedParams { utility, frame, queue });
        assert_written(&params);
        conformance::rate(&params, kept, seed);
    }

    #[test]
    fn gateway_laws_conform(params in gateway(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::gateway(&params, kept, seed);
    }

    #[test]
    fn marking_laws_conform(params in marking(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::marking(&params, kept, seed);
    }

    #[test]
    fn laws_of_ones_own_conform(share in 0.01f64..1.0, window in 1.0f64..100.0, seed in any::<u64>()) {
        conformance::backoff(&OwnBackoff::new(Patient { share, looks: 0 }).into(), AnyBackoff::clone, seed);
        conformance::window(&OwnWindow::new(Fixed { window }).into(), AnyWindow::clone, seed);
    }
}

/// Waits a little longer after every look.
#[derive(Clone, Debug)]
struct Patient {
    share: f64,
    looks: u32,
}

impl OwnLaw for Patient {
    fn identity(&self) -> String {
        format!("patient, share {}", self.share)
    }
}

impl BackoffLaw for Patient {
    fn scope(&self) -> Scope {
        Scope::NextHop
    }
    fn update_interval(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }
    fn on_update(&mut self, _: &LinkView) {
        self.looks += 1;
    }
    fn access(&self) -> Access {
        let draw = Draw::ExponentialOfFrame { factor: self.share * f64::from(self.looks), slotted: false };
        Access { draw, on_failure: OnFailure::Redraw, when: When::BeforeFrame, holding: Holding::Packet }
    }
}

/// Keeps its window, paced.
#[derive(Clone, Debug)]
struct Fixed {
    window: f64,
}

impl OwnLaw for Fixed {
    fn identity(&self) -> String {
        format!("fixed window of {}", self.window)
    }
}

impl WindowLaw for Fixed {
    fn begin(&mut self, _: &WindowStart) {}
    fn on_ack(&mut self, _: &Acked) {}
    fn on_loss(&mut self, _: &Loss) {}
    fn on_timeout(&mut self, _: &Loss) {}
    fn congestion_window(&self) -> f64 {
        self.window
    }
    fn slow_start_threshold(&self) -> f64 {
        self.window
    }
    fn pacing_gap(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

#[test]
fn laws_of_ones_own_are_told_apart_by_their_words() {
    let law = |share| BackoffParams::from(OwnBackoff::new(Patient { share, looks: 0 }));
    assert_eq!(law(0.5).identity().as_deref(), Some("patient, share 0.5"));
    assert_eq!(law(0.5), law(0.5));
    assert_ne!(law(0.5), law(0.25));
    assert_eq!(BackoffParams::default().identity(), None);
    assert!(serde_json::to_string(&law(0.5)).is_err(), "no file can name it");
}

/// The suite would find a law that is none of these.
#[test]
fn a_law_that_does_not_conform_is_found() {
    #[derive(Clone, Debug)]
    struct Unbounded(f64);
    impl OwnLaw for Unbounded {
        fn identity(&self) -> String {
            "unbounded".into()
        }
    }
    impl WindowLaw for Unbounded {
        fn begin(&mut self, start: &WindowStart) {
            self.0 = start.initial_window;
        }
        fn on_ack(&mut self, _: &Acked) {
            self.0 *= 2.0;
        }
        fn on_loss(&mut self, _: &Loss) {}
        fn on_timeout(&mut self, _: &Loss) {}
        fn congestion_window(&self) -> f64 {
            self.0
        }
        fn slow_start_threshold(&self) -> f64 {
            2.0
        }
    }
    let found = std::panic::catch_unwind(|| {
        conformance::window(&OwnWindow::new(Unbounded(1.0)).into(), AnyWindow::clone, 1);
    });
    assert!(found.is_err());
}
