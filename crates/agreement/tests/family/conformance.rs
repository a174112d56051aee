//! Every built-in law passes its family's suite with any parameters; so does a law of a user's own.

use crate::ranges::{Ranges, any_law};
use evenair_laws::backoff::{
    Access, AnyBackoff, BackoffLaw, BackoffParams, Draw, Holding, LinkView, OnFailure, OwnBackoff, Scope,
    When,
};
use evenair_laws::connections::{AnyConnections, ConnectionLaw, ConnectionParams, OwnConnections};
use evenair_laws::flow::{FlowRole, FlowView, Signal, check_needs};
use evenair_laws::gateway::GatewayParams;
use evenair_laws::marking::MarkingParams;
use evenair_laws::rate::RateParams;
use evenair_laws::rates::RateControlParams;
use evenair_laws::window::{Acked, AnyWindow, Loss, OwnWindow, WindowLaw, WindowParams, WindowStart};
use evenair_laws::{Family, OwnLaw, Parameters, conformance};
use evenair_units::{Bytes, Duration};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A value that was kept, read back.
pub(crate) fn kept<L: Serialize + DeserializeOwned>(law: &L) -> L {
    let text = serde_json::to_string(law).expect("built-in laws can be kept");
    serde_json::from_str(&text).expect("and read back")
}

/// A law's text reads back to it.
fn assert_written<P: Ranges + Serialize + DeserializeOwned + PartialEq>(params: &P) {
    assert_eq!(&kept(params), params);
    assert!(params.clone().validated().is_ok(), "{params:?}");
}

proptest! {
    #[test]
    fn backoff_laws_conform(params in any_law::<BackoffParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::backoff(&params, kept, seed);
    }

    #[test]
    fn window_laws_conform(params in any_law::<WindowParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::window(&params, kept, seed);
    }

    #[test]
    fn connection_laws_conform(params in any_law::<ConnectionParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::connections(&params, kept, seed);
    }

    #[test]
    fn rate_laws_conform(params in any_law::<RateParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::rate(&params, kept, seed);
    }

    #[test]
    fn rate_controls_conform(params in any_law::<RateControlParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::rates(&params, kept, seed);
    }

    #[test]
    fn gateway_laws_conform(params in any_law::<GatewayParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::gateway(&params, kept, seed);
    }

    #[test]
    fn marking_laws_conform(params in any_law::<MarkingParams>(), seed in any::<u64>()) {
        assert_written(&params);
        conformance::marking(&params, kept, seed);
    }

    #[test]
    fn laws_of_ones_own_conform(share in 0.01f64..1.0, window in 1.0f64..100.0, seed in any::<u64>()) {
        conformance::backoff(&OwnBackoff::new(Patient { share, looks: 0 }).into(), AnyBackoff::clone, seed);
        conformance::window(&OwnWindow::new(Fixed { window }).into(), AnyWindow::clone, seed);
    }
}

/// Waits a little longer after every update.
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
fn own_laws_are_distinguished_by_their_words() {
    let law = |share| BackoffParams::from(OwnBackoff::new(Patient { share, looks: 0 }));
    assert_eq!(law(0.5).identity().as_deref(), Some("patient, share 0.5"));
    assert_eq!(law(0.5), law(0.5));
    assert_ne!(law(0.5), law(0.25));
    assert_eq!(BackoffParams::default().identity(), None);
    assert!(serde_json::to_string(&law(0.5)).is_err(), "no file can name it");
}

/// A family names all of its laws, each with its default parameters.
#[test]
fn family_lists_its_laws() {
    let names: Vec<_> =
        WindowParams::laws().iter().map(|law| serde_json::to_value(law).unwrap()["law"].clone()).collect();
    assert_eq!(
        names,
        ["reno", "scaled-reno", "cubic", "quic-tcp", "vegas", "fast", "bbr", "adaptive-pacing"]
    );
    assert_eq!(WindowParams::laws().len(), WindowParams::sources().len());
}

/// A law without a range of parameters is no law that conforms: the suite does not pass it over.
#[test]
fn a_law_without_a_range_is_found() {
    let found = std::panic::catch_unwind(|| {
        drop(BackoffParams::from(OwnBackoff::new(Patient { share: 0.5, looks: 0 })).range());
    });
    assert!(found.is_err());
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

/// So it would find a law that uses an undeclared signal.
#[test]
fn law_with_undeclared_needs_is_found() {
    #[derive(Clone, Debug)]
    struct Curious;
    impl OwnLaw for Curious {
        fn identity(&self) -> String {
            "curious".into()
        }
    }
    impl ConnectionLaw for Curious {
        fn interval(&self) -> Duration {
            Duration::from_secs(1)
        }
        fn on_interval(&mut self, flow: &FlowView) -> u32 {
            1 + u32::from(flow.lost.is_some_and(|lost| lost > 0))
        }
    }
    let found = std::panic::catch_unwind(|| {
        conformance::connections(&OwnConnections::new(Curious).into(), AnyConnections::clone, 1);
    });
    assert!(found.unwrap_err().downcast_ref::<String>().unwrap().contains("that it does not declare"));
}

/// Linux's signals of its connections are enough for every connection law, with smoothed round trips.
#[test]
fn every_connection_law_can_run_on_linux() {
    let linux = |signal| match signal {
        Signal::SmoothedRoundTrip | Signal::LeastRoundTrip => None,
        _ => Some("TCP_INFO does not have it"),
    };
    for law in ConnectionParams::laws() {
        let runs = |law: &ConnectionParams| {
            let needs = law.begin(&FlowRole { payload: Bytes::new(1448) }).needs();
            check_needs(&needs, linux)
        };
        let mut written = serde_json::to_value(&law).unwrap();
        if let Some(samples) = written.get_mut("samples") {
            assert_eq!(runs(&law).is_ok(), *samples == "smoothed", "{law:?}");
            *samples = "smoothed".into();
        }
        let smoothed = serde_json::from_value(written).unwrap();
        assert_eq!(runs(&smoothed), Ok(()), "{smoothed:?}");
    }
}
