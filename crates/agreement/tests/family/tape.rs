//! A law that replays its own tape gives the same answers, to the last bit, for any law and any events.

use crate::conformance::kept;
use crate::ranges::{Ranges, any_law};
use evenair_laws::backoff::{AnyBackoff, BackoffParams, OwnBackoff};
use evenair_laws::conformance;
use evenair_laws::connections::{AnyConnections, ConnectionParams, OwnConnections};
use evenair_laws::gateway::{AnyGateway, GatewayParams, OwnGateway};
use evenair_laws::marking::{AnyMarking, MarkingParams, OwnMarking};
use evenair_laws::rate::{AnyRate, OwnRate, RateParams};
use evenair_laws::rates::{AnyRateControl, OwnRateControl, RateControlParams};
use evenair_laws::tape::{RecordOf, Recorder, Tape, Taped, first_difference};
use evenair_laws::window::{AnyWindow, OwnWindow, WindowParams};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex};

/// Tapes of a law and of all its copies; a copy goes on where the law was.
#[derive(Debug)]
struct Reel<R> {
    all: Arc<Mutex<Vec<Vec<R>>>>,
    own: usize,
}

impl<R> Reel<R> {
    fn new() -> Self {
        Self { all: Arc::new(Mutex::new(vec![Vec::new()])), own: 0 }
    }

    /// The law that lived longest.
    fn longest(&self) -> Vec<R> {
        let mut all = self.all.lock().expect("no holder panicked");
        all.drain(..).max_by_key(Vec::len).expect("there is one")
    }
}

impl<R: Clone> Clone for Reel<R> {
    fn clone(&self) -> Self {
        let mut all = self.all.lock().expect("no holder panicked");
        let copy = all[self.own].clone();
        all.push(copy);
        Self { all: Arc::clone(&self.all), own: all.len() - 1 }
    }
}

impl<R> Tape<R> for Reel<R> {
    fn add(&mut self, record: R) {
        self.all.lock().expect("no holder panicked")[self.own].push(record);
    }
}

/// Has the suite drive a law behind a recorder, keeps the tape as text, reads it back, and replays it.
fn replays<P>(params: &P, drive: impl FnOnce(Recorder<P, Reel<RecordOf<P>>>))
where
    P: Taped<Told: Serialize + DeserializeOwned, Answer: Serialize + DeserializeOwned>,
    P: Ranges + Serialize + DeserializeOwned,
{
    let reel = Reel::new();
    drive(Recorder::new(params.clone(), Reel { all: Arc::clone(&reel.all), own: 0 }));
    let tape = reel.longest();
    assert!(tape.len() > 300, "{} records", tape.len());
    let read = kept(&tape);
    assert_eq!(format!("{read:?}"), format!("{tape:?}"), "a tape reads back");
    assert_eq!(first_difference(&kept(params), &read), Ok(None), "{params:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn backoff_laws_replay(params in any_law::<BackoffParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::backoff(&OwnBackoff::new(law).into(), AnyBackoff::clone, seed));
    }

    #[test]
    fn window_laws_replay(params in any_law::<WindowParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::window(&OwnWindow::new(law).into(), AnyWindow::clone, seed));
    }

    #[test]
    fn connection_laws_replay(params in any_law::<ConnectionParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::connections(&OwnConnections::new(law).into(), AnyConnections::clone, seed));
    }

    #[test]
    fn rate_laws_replay(params in any_law::<RateParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::rate(&OwnRate::new(law).into(), AnyRate::clone, seed));
    }

    #[test]
    fn rate_controls_replay(params in any_law::<RateControlParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::rates(&OwnRateControl::new(law).into(), AnyRateControl::clone, seed));
    }

    #[test]
    fn gateway_laws_replay(params in any_law::<GatewayParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::gateway(&OwnGateway::new(law).into(), AnyGateway::clone, seed));
    }

    #[test]
    fn marking_laws_replay(params in any_law::<MarkingParams>(), seed in any::<u64>()) {
        replays(&params, |law| conformance::marking(&OwnMarking::new(law).into(), AnyMarking::clone, seed));
    }
}

/// The lines that a law in another language reads and writes: one a record.
#[test]
fn a_record_is_plain_text() {
    use evenair_laws::window::{Acked, RenoParams, WindowLaw, WindowStart};
    use evenair_units::{Duration, Instant};
    let mut law = Recorder::new(WindowParams::from(RenoParams {}), Vec::new());
    law.begin(&WindowStart::default());
    let sample = Some(Duration::from_millis(50));
    law.on_ack(&Acked {
        now: Instant::from_nanos(7),
        segments: 2,
        advances: true,
        window_limited: true,
        flight: 10,
        sample,
        ..Acked::default()
    });
    let text = serde_json::to_string(&law.tape()[1]).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"told":{"on_ack":{"acked":{"now":7,"segments":2,"advances":true,"in_recovery":false,"window_limited":true,"#,
            r#""flight":10,"sample":50000000,"smoothed":null,"least":null}}},"answer":{"can_be_worth_several":false,"#,
            r#""sees_deliveries":false,"steers_recovery":false,"congestion_window":12.0,"slow_start_threshold":1000000.0,"pacing_gap":null}}"#,
        )
    );
}
