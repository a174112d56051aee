//! Parameters as files write them.

use evenair_laws::backoff::{
    AckPriority, AdaptiveParams, Adapts, BackoffParams, DcfParams, EdcaParams, Execution, Intensity,
    OptimalParams, Surroundings, VirtualQueueParams,
};
use evenair_laws::connections::{ConnectionParams, IimdParams, RttProportionalParams};
use evenair_laws::marking::{CodelParams, DropTail, FredParams, MarkingParams, Proportional, RedParams};
use evenair_laws::window::{
    BbrParams, CubicParams, FastParams, QuicTcpParams, RenoParams, VegasMeasure, VegasParams, WindowParams,
};
use evenair_laws::{Family, Parameters};
use evenair_units::Duration;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, to_value};

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn table_names_its_law_and_deviations() {
    let table = json!({ "law": "adaptive", "alpha": 0.2, "interval": "2 s", "acks": "high" });
    let expected = AdaptiveParams {
        alpha: 0.2,
        interval: Duration::from_secs(2),
        acks: AckPriority::High,
        ..AdaptiveParams::chen10()
    };
    assert_eq!(read(table), Ok(BackoffParams::from(expected)));
    let table = json!({ "law": "edca", "video": { "txop": "3008 us" } });
    let mut expected = EdcaParams::default();
    expected.video.txop = Some(Duration::from_micros(3008));
    assert_eq!(read(table), Ok(BackoffParams::from(expected)));
    let table = json!({ "law": "virtual-queue", "v": 5000.0, "adapts": "holding", "execution": "hardware", "vq_max": 900 });
    let mut expected = VirtualQueueParams { most: Some(900.0), ..VirtualQueueParams::lee12() };
    expected.queue.utility = 5000.0;
    expected.intensity =
        Intensity { adapts: Adapts::Holding, execution: Execution::Hardware, ..Intensity::lee12() };
    assert_eq!(read(table), Ok(BackoffParams::from(expected)));
    let table = json!({ "law": "quic-tcp", "p": 20, "rho": 1.0 });
    let expected = QuicTcpParams { target: 20.0, shape: 1.0, ..QuicTcpParams::qcsma() };
    assert_eq!(read(table), Ok(WindowParams::from(expected)));
    let table = json!({ "law": "vegas", "alpha": 200, "beta": 203 });
    assert_eq!(read(table), Ok(WindowParams::from(VegasParams::qcsma())));
    let table = json!({ "law": "vegas", "measure": "linux" });
    let expected = VegasParams { measure: VegasMeasure::Linux, ..VegasParams::linux() };
    assert_eq!(read(table), Ok(WindowParams::from(expected)));
    let table = json!({ "law": "fast", "gamma": 1.5, "rounds": 1 });
    assert_eq!(read(table), Ok(WindowParams::from(FastParams::qcsma())));
    let table = json!({ "law": "bbr", "phase": 3, "round_trip_holds": "5 s" });
    let round_trip_holds = Duration::from_secs(5);
    let expected = BbrParams { phase: 3, round_trip_holds, ..BbrParams::linux() };
    assert_eq!(read(table), Ok(WindowParams::from(expected)));
}

#[test]
fn a_word_is_a_law_with_its_defaults() {
    assert_eq!(read(json!("cubic")), Ok(WindowParams::from(CubicParams::rfc9438())));
    assert_eq!(read(json!("vegas")), Ok(WindowParams::from(VegasParams::linux())));
    assert_eq!(read(json!("fast")), Ok(WindowParams::from(FastParams::published())));
    assert_eq!(read(json!("bbr")), Ok(WindowParams::from(BbrParams::linux())));
    assert_eq!(read(json!("reno")), Ok(WindowParams::from(RenoParams {})));
    assert_eq!(read(json!("optimal")), Ok(BackoffParams::from(OptimalParams::lee12())));
    assert_eq!(read(json!("virtual-queue")), Ok(BackoffParams::from(VirtualQueueParams::lee12())));
    assert_eq!(read(json!("dcf")), Ok(BackoffParams::from(DcfParams::default())));
    assert_eq!(read(json!("drop-tail")), Ok(MarkingParams::from(DropTail::default())));
    assert_eq!(read(json!("codel")), Ok(MarkingParams::from(CodelParams::rfc8289())));
    assert_eq!(read(json!("red")), Ok(MarkingParams::from(RedParams::default())));
    assert_eq!(read(json!("fred")), Ok(MarkingParams::from(FredParams::default())));
}

#[test]
fn connections_default_is_rtt_proportional() {
    let expected = RttProportionalParams { per_second: 20.0, ..RttProportionalParams::chen10() };
    assert_eq!(read(json!({ "k": 20 })), Ok(ConnectionParams::from(expected)));
    assert_eq!(read(json!({})), Ok(ConnectionParams::from(RttProportionalParams::chen10())));
    let iimd = ConnectionParams::from(IimdParams::cz06());
    assert_eq!(read(json!({ "law": "iimd" })), Ok(iimd.clone()));
    assert_eq!(read(json!({ "gamma": 0.2, "law": "iimd" })), Ok(iimd), "in any order");
}

#[test]
fn unknown_key_is_named() {
    let unknown = read::<BackoffParams>(json!({ "law": "adaptive", "gamma": 1.0 })).unwrap_err();
    assert!(unknown.contains("gamma") && unknown.contains("alpha"), "{unknown}");
    for law in ["optimal", "virtual-queue"] {
        let unknown = read::<BackoffParams>(json!({ "law": law, "gamma": 1.0 })).unwrap_err();
        assert!(unknown.contains("gamma"), "{unknown}");
    }
    let law = read::<WindowParams>(json!("westwood")).unwrap_err();
    assert!(law.contains("westwood") && law.contains("quic-tcp"), "{law}");
    assert!(read::<BackoffParams>(json!({ "alpha": 0.1 })).unwrap_err().contains("law"));
    assert!(read::<MarkingParams>(json!({ "law": "codel", "target": 5.0 })).unwrap_err().contains("a time"));
    assert!(read::<BackoffParams>(json!({ "law": "own" })).is_err(), "no file can name a user's own");
    assert!(read::<BackoffParams>(json!(3)).unwrap_err().contains("a law's name"));
}

#[test]
fn resolved_parameters_are_complete() {
    let mut params = BackoffParams::from(AdaptiveParams::chen10());
    params.resolve(&Surroundings::default());
    let written = to_value(&params).unwrap();
    assert_eq!(written["law"], "adaptive");
    assert_eq!(written["r_max"], 0.04);
    assert_eq!(written["interval"], "1 s");
    let mut params = BackoffParams::from(EdcaParams::default());
    params.resolve(&Surroundings::default());
    let voice = &to_value(&params).unwrap()["voice"];
    assert_eq!(*voice, json!({ "window_min": 7, "window_max": 15, "aifsn": 2, "txop": "3.264 ms" }));
    let marking = to_value(MarkingParams::from(Proportional { per_packet: 0.5 })).unwrap();
    assert_eq!(marking, json!({ "law": "proportional", "per_packet": 0.5 }));
}

/// The schema has every law by its word, and each key of each by its description.
#[test]
fn the_schema_describes_every_key() {
    let schema = schemars::schema_for!(BackoffParams).to_value().to_string();
    for word in ["dcf", "edca", "adaptive", "r_max", "best_effort", "Step size", "vq_min", "holding_max"] {
        assert!(schema.contains(word), "{word}: {schema}");
    }
    assert!(!schema.contains("Own"), "{schema}");
    let schema = schemars::schema_for!(WindowParams).to_value().to_string();
    for word in ["reno", "cubic", "quic-tcp", "kappa", "vegas", "fast", "bbr", "startup_gain"] {
        assert!(schema.contains(word), "{word}: {schema}");
    }
}

/// A law's file names its source, and lists of laws print the same.
#[test]
fn every_law_has_its_source() {
    fn check<P: Family>() {
        let sources = P::sources();
        assert!(!sources.is_empty() && sources.iter().all(|source| !source.is_empty()), "{sources:?}");
    }
    check::<BackoffParams>();
    check::<WindowParams>();
    check::<ConnectionParams>();
    check::<MarkingParams>();
    check::<evenair_laws::rate::RateParams>();
    check::<evenair_laws::rates::RateControlParams>();
    assert_eq!(ConnectionParams::sources()[1], "[CZ06] eq. (10), (11), (20), (21), section IV-C.");
}
