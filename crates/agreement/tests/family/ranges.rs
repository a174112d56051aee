//! For every law of every family, the parameters with which it is driven.
//!
//! The families list their laws: one without ranges of its parameters here fails all tests of its family.
#![allow(
    clippy::match_wildcard_for_single_variants,
    reason = "a family may grow: the tests find its new laws"
)]

use evenair_laws::Family;
use evenair_laws::backoff::{
    AckPriority, AdaptiveParams, Adapts, BackoffForm, BackoffParams, BackoffUnit, CapacityUnit,
    CategoryParams, DcfParams, EdcaParams, Execution, Intensity, Links, OptimalParams, QueueLengthParams,
    QueueMeasure, QueueingDelayParams, QueuesOf, UtilityQueue, VirtualQueueParams, WhileEmpty,
};
use evenair_laws::connections::{
    ConnectionParams, DelayPriceParams, FixedParams, GuardedParams, IiadParams, IimdParams, Price,
    RoundTripSamples, RttProportionalParams, Unsampled, UtilityParams,
};
use evenair_laws::gateway::{
    ArcParams, DelayCapParams, FirstEstimate, FixedRateParams, Form, GatewayParams, OnChange, PfrcParams,
    RateHistory, SearchMethod,
};
use evenair_laws::marking::{
    CodelParams, DropTail, FredParams, MarkingParams, PieParams, Proportional, RedParams,
};
use evenair_laws::rate::{RateParams, SeenQueue, UtilityBasedParams};
use evenair_laws::rates::{
    AarfParams, ArfParams, FixedModeParams, IdealParams, MinstrelHtParams, RateControlParams,
};
use evenair_laws::window::{
    AdaptivePacingParams, BbrParams, CubicParams, FastParams, QuicTcpParams, RenoParams, ScaledRenoParams,
    ShortPaths, VegasMeasure, VegasParams, WindowParams,
};
use evenair_units::{Amount, Bytes, Duration, PacketCount, Rate};
use proptest::prelude::*;
use proptest::strategy::Union;

/// A family of laws with ranges.
pub(crate) trait Ranges: Family + 'static {
    /// Parameters of the same law.
    fn range(&self) -> BoxedStrategy<Self>;
}

/// Any law of a family, with any parameters.
pub(crate) fn any_law<P: Ranges>() -> impl Strategy<Value = P> {
    Union::new(P::laws().into_iter().map(|law| {
        law.range().prop_map(move |params| {
            assert!(is_same_law(&params, &law), "the range of {law:?} has {params:?}");
            params
        })
    }))
}

/// A law's parameters as its family's.
fn into<L: Into<P> + std::fmt::Debug + 'static, P: std::fmt::Debug + 'static>(
    law: impl Strategy<Value = L> + 'static,
) -> BoxedStrategy<P> {
    law.prop_map(Into::into).boxed()
}

fn is_same_law<P>(one: &P, other: &P) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// The laws of a family, each with its range.
macro_rules! ranges {
    ($family:ident $($law:ident => $range:expr,)+) => {
        impl Ranges for $family {
            fn range(&self) -> BoxedStrategy<Self> {
                match self {
                    $(Self::$law(_) => into($range),)+
                    law => panic!("{law:?} has no range of parameters: give it one in crates/agreement/tests/family/ranges.rs"),
                }
            }
        }
    };
}

/// From the shortest interval that a law may have.
fn time() -> impl Strategy<Value = Duration> {
    (10_000u64..20_000_000_000).prop_map(Duration::from_nanos)
}

/// Windows up to the given one, if any: the standard's own are between 7 and 1023 slots.
fn windows() -> impl Strategy<Value = (Option<u32>, Option<u32>)> {
    (prop::option::of(0u32..8), prop::option::of(1023u32..65_536))
}

fn category() -> impl Strategy<Value = CategoryParams> {
    (windows(), prop::option::of(1u32..16), prop::option::of(time())).prop_map(
        |((window_min, window_max), aifsn, txop)| CategoryParams { window_min, window_max, aifsn, txop },
    )
}

ranges! { BackoffParams
    Dcf => dcf(),
    Edca => edca(),
    Adaptive => adaptive(),
    QueueingDelay => queueing_delay(),
    QueueLength => queue_length(),
    Optimal => optimal(),
    VirtualQueue => virtual_queue(),
}

fn dcf() -> impl Strategy<Value = DcfParams> {
    windows().prop_map(|(window_min, window_max)| DcfParams { window_min, window_max })
}

fn edca() -> impl Strategy<Value = EdcaParams> {
    [category(), category(), category(), category()].prop_map(|[voice, video, best_effort, background]| {
        EdcaParams { voice, video, best_effort, background }
    })
}

fn adaptive() -> impl Strategy<Value = AdaptiveParams> {
    let units = prop::sample::select(vec![
        BackoffUnit::OwnPacket,
        BackoffUnit::DataPacket,
        BackoffUnit::OwnBits,
        BackoffUnit::DataBits,
    ]);
    let adaptive = (0.0..10.0, 0.0..1e4, 1e-6..10.0, time(), units, any::<[bool; 6]>(), intensity());
    adaptive.prop_map(|(alpha, beta, r_max, interval, unit, switches, registers)| {
        let Intensity { execution, window_min, window_max, aifsn, holding_max, .. } = registers;
        let (window_max, aifsn, holding_max) = (Some(window_max), Some(aifsn), Some(holding_max));
        let [bytes, high, drop, dummies, slotted, redraw] = switches;
        let measure = if bytes { QueueMeasure::Bytes } else { QueueMeasure::Packets };
        let acks = if high { AckPriority::High } else { AckPriority::Normal };
        let r_max = Some(r_max);
        AdaptiveParams {
            alpha,
            beta,
            r_max,
            interval,
            measure,
            unit,
            acks,
            drop,
            dummies,
            slotted,
            redraw,
            execution,
            window_min,
            window_max,
            aifsn,
            holding_max,
        }
    })
}

fn optimal() -> impl Strategy<Value = OptimalParams> {
    (weight(), time(), any::<[bool; 2]>(), intensity()).prop_map(
        |(weight, frame, [bytes, dummies], intensity)| {
            let measure = if bytes { QueueMeasure::Bytes } else { QueueMeasure::Packets };
            OptimalParams { weight, frame, measure, dummies, intensity }
        },
    )
}

fn weight() -> impl Strategy<Value = f64> {
    1e-6..10.0f64
}

fn virtual_queue() -> impl Strategy<Value = VirtualQueueParams> {
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

fn capacity() -> impl Strategy<Value = (CapacityUnit, Option<BackoffForm>, Option<u32>, bool, QueuesOf)> {
    let units = prop::sample::select(vec![CapacityUnit::Exchange, CapacityUnit::Bits, CapacityUnit::Frame]);
    let forms = prop::sample::select(vec![None, Some(BackoffForm::Exponential), Some(BackoffForm::Windows)]);
    let queues = prop::sample::select(vec![QueuesOf::PerNextHop, QueuesOf::PerNode]);
    (units, forms, prop::option::of(1u32..65_536), any::<bool>(), queues)
}

fn queueing_delay() -> impl Strategy<Value = QueueingDelayParams> {
    (0.0..1e3, 0.0..1.0, time(), capacity(), intensity()).prop_map(
        |(scale, memory, interval, (capacity, form, window_max, dummies, queues), registers)| {
            let is_hardware = registers.execution == Execution::Hardware;
            QueueingDelayParams {
                scale,
                memory,
                interval,
                capacity,
                form,
                window_max: if is_hardware { Some(registers.window_max) } else { window_max },
                dummies,
                queues,
                execution: registers.execution,
                window_min: registers.window_min,
                aifsn: Some(registers.aifsn),
            }
        },
    )
}

fn queue_length() -> impl Strategy<Value = QueueLengthParams> {
    (0.0..1e3, prop::option::of(0.0..10.0), time(), capacity()).prop_map(
        |(scale, epsilon, interval, (capacity, form, window_max, dummies, queues))| QueueLengthParams {
            scale,
            epsilon,
            interval,
            capacity,
            form,
            window_max,
            dummies,
            queues,
        },
    )
}

ranges! { WindowParams
    Reno => Just(RenoParams {}),
    ScaledReno => Just(ScaledRenoParams {}),
    Cubic => cubic(),
    QuicTcp => quic_tcp(),
    Vegas => vegas(),
    Fast => fast(),
    Bbr => bbr(),
    AdaptivePacing => adaptive_pacing(),
}

fn cubic() -> impl Strategy<Value = CubicParams> {
    (1e-3..1e3, 0.01..0.99).prop_map(|(scale, beta)| CubicParams { scale, beta })
}

fn quic_tcp() -> impl Strategy<Value = QuicTcpParams> {
    let holds = prop::option::of(time());
    (0.1..1e4, 1e-3..100.0, 0.0..=1.0, holds).prop_map(|(target, gain, shape, round_trip_holds)| {
        QuicTcpParams { target, gain, shape, round_trip_holds }
    })
}

fn vegas() -> impl Strategy<Value = VegasParams> {
    (0.1..300.0, 0.0..300.0, 0.1..300.0, any::<bool>()).prop_map(|(alpha, more, gamma, linux)| {
        let measure = if linux { VegasMeasure::Linux } else { VegasMeasure::Waiting };
        VegasParams { alpha, beta: alpha + more, gamma, measure }
    })
}

fn fast() -> impl Strategy<Value = FastParams> {
    (0.1..1e4, 1e-3..1.999, 1u32..4).prop_map(|(alpha, gamma, rounds)| FastParams { alpha, gamma, rounds })
}

fn bbr() -> impl Strategy<Value = BbrParams> {
    (1.001..=10.0, 1.0..=10.0, time(), time(), 0u32..7).prop_map(
        |(startup_gain, window_gain, round_trip_holds, round_trip_probe, phase)| BbrParams {
            startup_gain,
            window_gain,
            round_trip_holds,
            round_trip_probe,
            phase,
        },
    )
}

fn adaptive_pacing() -> impl Strategy<Value = AdaptivePacingParams> {
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
        },
    )
}

fn samples() -> impl Strategy<Value = RoundTripSamples> {
    use RoundTripSamples::{Probes, Segments, Smoothed, Windows};
    prop::sample::select(&[Segments, Windows, Probes, Smoothed])
}

fn iimd() -> impl Strategy<Value = IimdParams> {
    let params =
        (0.01..0.99, 0.01..5.0, time(), samples(), prop::option::of(time()), any::<bool>(), 1u32..5000);
    params.prop_map(|(decrease, threshold, interval, samples, window, route_changes, connections_max)| {
        IimdParams {
            increase: 1.0 - decrease,
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

ranges! { ConnectionParams
    RttProportional => rtt_proportional(),
    Iimd => iimd(),
    Utility => utility(),
    DelayPrice => delay_price(),
    Fixed => fixed(),
    Iiad => iiad(),
    Guarded => guarded(),
}

fn rtt_proportional() -> impl Strategy<Value = RttProportionalParams> {
    let bounds = (0u32..5, 0.01..=1.0, 1u32..5000);
    let proportional = (1e-3..1e4, time(), 0.0..5.0, any::<bool>(), bounds, 0usize..3, samples());
    proportional.prop_map(
        |(per_second, interval, hysteresis, smoothed, (base, least, most), rule, samples)| {
            RttProportionalParams {
                base,
                connections_min: least,
                per_second,
                interval,
                hysteresis,
                smoothed,
                connections_max: most,
                samples,
                unsampled: [Unsampled::Hold, Unsampled::Halve, Unsampled::Grow][rule],
            }
        },
    )
}

fn iiad() -> impl Strategy<Value = IiadParams> {
    (iimd(), 0.01..10.0).prop_map(|(like, decrease)| {
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
    })
}

fn guarded() -> impl Strategy<Value = GuardedParams> {
    let guards =
        (time(), 0.01..=1.0, 0.0..3.0, 0.01..=1.0, 1u32..=128, any::<bool>(), 1u32..=40, 1u32..=1000);
    (iimd(), guards).prop_map(|(like, guards)| {
        let IimdParams { increase, decrease, threshold, interval, samples, route_changes, .. } = like;
        let (window, keep, rise, retransmitted_max, patience, doubling, start, connections_max) = guards;
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
            doubling,
            start,
            connections_max,
        }
    })
}

fn fixed() -> impl Strategy<Value = FixedParams> {
    (1u32..=100_000).prop_map(|connections| FixedParams { connections })
}

fn utility() -> impl Strategy<Value = UtilityParams> {
    (1e-3..1e3, 0.0..20.0, 1e-3..1e3, time(), 1u32..5000, samples()).prop_map(
        |(per_second, fairness, weight, interval, connections_max, samples)| UtilityParams {
            per_second,
            fairness,
            weight,
            interval,
            connections_max,
            samples,
        },
    )
}

fn prices() -> impl Strategy<Value = Price> {
    prop::sample::select(&[Price::Told, Price::Learnt, Price::Marks])
}

fn delay_price() -> impl Strategy<Value = DelayPriceParams> {
    let learning = (prices(), prop::option::of(time()), time(), time(), 0.01..=1.0);
    let utility = (1e-3..1e3, 0.0..20.0, 1e-3..1e3);
    (utility, 1e-9..1.0, 1e-3..=1.0, time(), 1u32..5000, samples(), learning).prop_map(
        |(utility, per_packet, gain, interval, connections_max, samples, learning)| {
            let (per_second, fairness, weight) = utility;
            let (price, round_trip_holds, drain, memory, connections_min) = learning;
            DelayPriceParams {
                connections_min,
                price,
                round_trip_holds,
                drain,
                memory,
                per_second,
                fairness,
                weight,
                per_packet,
                gain,
                interval,
                connections_max,
                samples,
            }
        },
    )
}

ranges! { RateParams
    UtilityBased => utility_based(),
}

fn utility_based() -> impl Strategy<Value = UtilityBasedParams> {
    (1e-3..1e6, time(), any::<bool>()).prop_map(|(utility, frame, path)| {
        let queue = if path { SeenQueue::PathSum } else { SeenQueue::FirstLink };
        UtilityBasedParams { utility, frame, queue }
    })
}

ranges! { GatewayParams
    Fixed => fixed_rate(),
    Arc => arc(),
    Pfrc => pfrc(),
    DelayCap => delay_cap(),
}

fn delay_cap() -> impl Strategy<Value = DelayCapParams> {
    let factors = (1.01..=10.0, 0.01..0.99, 0.01..=1.0);
    let rates = (prop::option::of(1u64..1_000_000), prop::option::of(1_000_000u64..1_000_000_000));
    let delays = (1u64..1_000, 1u64..1_000, 1u64..1_000);
    (factors, rates, prop::option::of(1u64..1_000_000_000), delays, time()).prop_map(
        |((alpha, beta, load), (low, high), base, (good, more, most), epoch)| DelayCapParams {
            epoch,
            good: Duration::from_millis(good),
            threshold: Duration::from_millis(good + more),
            bad: Duration::from_millis(good + more + most),
            alpha,
            beta,
            load,
            capacity_low: low.map(Rate::from_bps),
            capacity_high: high.map(Rate::from_bps),
            base: base.map(Rate::from_bps),
        },
    )
}

fn fixed_rate() -> impl Strategy<Value = FixedRateParams> {
    let rate = (1u64..1_000_000_000).prop_map(Rate::from_bps);
    (prop::option::of(rate), any::<bool>()).prop_map(|(rate, shared)| FixedRateParams {
        rate,
        shared,
        rates: Vec::new(),
    })
}

fn arc() -> impl Strategy<Value = ArcParams> {
    let shares = (0.01..=1.0, prop::option::of(0.01..=1.0), 1.01..=10.0, 0.01..0.99);
    let bounds = (prop::option::of(1u64..1_000_000), prop::option::of(1_000_000u64..1_000_000_000));
    let times = (time(), prop::option::of(1u32..=20), 0u32..=5, time());
    (shares, bounds, times, any::<[bool; 5]>()).prop_map(|(shares, bounds, times, switches)| {
        let (gamma, theta, alpha, beta) = shares;
        let (epoch, patience, settle, reopen) = times;
        let [thesis, exponential, step, overwritten, low] = switches;
        ArcParams {
            form: if thesis { Form::Thesis } else { Form::Corrected },
            search: if exponential { SearchMethod::Exponential } else { SearchMethod::Binary },
            first: if low { FirstEstimate::Low } else { FirstEstimate::Middle },
            gamma,
            theta,
            alpha,
            beta,
            epoch,
            capacity_low: bounds.0.map(Rate::from_bps),
            capacity_high: bounds.1.map(Rate::from_bps),
            floor: gamma,
            patience,
            settle,
            reopen,
            on_change: if step { OnChange::Step } else { OnChange::Restart },
            history: if overwritten { RateHistory::Overwritten } else { RateHistory::Maximum },
        }
    })
}

fn pfrc() -> impl Strategy<Value = PfrcParams> {
    arc().prop_map(|like| {
        let ArcParams { form, search, first, gamma, theta, alpha, beta, epoch, .. } = like;
        let ArcParams { capacity_low, capacity_high, floor, patience, settle, reopen, on_change, .. } = like;
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
    })
}

ranges! { RateControlParams
    Fixed => Just(FixedModeParams {}),
    Ideal => prop::option::of(0.001..0.5).prop_map(|loss| IdealParams { loss }),
    Arf => arf(),
    Aarf => (arf(), 1.0..10.0, 0u32..1000).prop_map(|(arf, factor, more)| {
        let ArfParams { successes, failures, timer } = arf;
        AarfParams { successes, failures, timer, factor, successes_max: successes + more }
    }),
    MinstrelHt => minstrel_ht(),
}

fn arf() -> impl Strategy<Value = ArfParams> {
    [1u32..100, 1u32..10, 1u32..100].prop_map(|[successes, failures, timer]| ArfParams {
        successes,
        failures,
        timer,
    })
}

fn minstrel_ht() -> impl Strategy<Value = MinstrelHtParams> {
    (time(), time(), any::<[bool; 2]>(), 1u32..=4, 2u32..=31, time()).prop_map(
        |(interval, probe_interval, [probes, rts], steps, tries_max, segment)| MinstrelHtParams {
            interval,
            probe_interval,
            probes,
            steps,
            tries_max,
            segment,
            rts,
        },
    )
}

ranges! { MarkingParams
    DropTail => drop_tail(),
    Proportional => proportional(),
    Codel => codel(),
    Red => red(),
    Fred => fred(),
    Pie => pie(),
}

fn drop_tail() -> impl Strategy<Value = DropTail> {
    let packets = (1u32..10_000).prop_map(|packets| Amount::Packets(PacketCount(packets)));
    let bytes = (1u64..10_000_000).prop_map(Amount::Bytes);
    prop_oneof![packets, bytes].prop_map(|limit| DropTail { limit })
}

fn proportional() -> impl Strategy<Value = Proportional> {
    (0.0..=1.0).prop_map(|per_packet| Proportional { per_packet })
}

fn codel() -> impl Strategy<Value = CodelParams> {
    (time(), time()).prop_map(|(target, more)| CodelParams { target, interval: target + more })
}

fn pie() -> impl Strategy<Value = PieParams> {
    let update = (1_000_000u64..1_000_000_000).prop_map(Duration::from_nanos);
    (time(), update, 0.0..10.0, 0.0..10.0, time(), any::<bool>()).prop_map(
        |(target, update, alpha, beta, burst, spread)| PieParams {
            target,
            update,
            alpha,
            beta,
            burst,
            spread,
        },
    )
}

fn red() -> impl Strategy<Value = RedParams> {
    let packet = prop::option::of((1u32..2_000).prop_map(Bytes::new));
    (0.0..1e3, 1e-3..1e3, 1e-6..=1.0, 0.0..=1.0, any::<[bool; 2]>(), packet).prop_map(
        |(threshold_min, more, weight, probability_max, [gentle, wait], packet)| {
            let threshold_max = threshold_min + more;
            RedParams { threshold_min, threshold_max, weight, probability_max, gentle, wait, packet }
        },
    )
}

fn fred() -> impl Strategy<Value = FredParams> {
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
        },
    )
}
