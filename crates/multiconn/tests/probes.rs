//! Probes of sessions, and the stretches of a survey, over loopback.
#![cfg(target_os = "linux")]

mod parts;

use evenair_multiconn::control::Source;
use evenair_multiconn::probe::carrier::OverRelay;
use evenair_multiconn::probe::diagnosis::diagnose;
use evenair_multiconn::probe::survey::{Carrier, Load, Stretch};
use evenair_multiconn::target::{DISCARD, Outcome};
use evenair_units::Duration;
use parts::Relay;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn law_sees_round_trips_of_its_sessions_probes() {
    let relay = Relay::start().await;
    let client = evenair_multiconn::connect(relay.options()).await.unwrap();
    let mut stream = client.open().await.unwrap();
    stream.write_all(&DISCARD.encode()).await.unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer[0], Outcome::Connected.code());
    let batch = vec![0; 64 << 10];
    let writes = async { while stream.write_all(&batch).await.is_ok() {} };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(4), writes).await;
    let law = client.status().remove(0).sending.law.unwrap();
    assert_eq!(law.source, Source::Probes, "{law:?}");
    assert!(law.intervals > 0 && law.round_trip_s.is_some_and(|seconds| seconds < 1.0), "{law:?}");
    assert!(law.why.contains("by probes"), "{}", law.why);
}

#[test]
fn stretch_has_probes_and_carried_bytes() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let relay = runtime.block_on(Relay::start());
    let mut carrier = OverRelay::new(relay.options()).unwrap();
    let seen: Vec<Stretch> = [0, 1, 3]
        .map(|connections| {
            let load = Load { connections, congestion_control: None };
            carrier.stretch(&load, Duration::from_secs(3)).unwrap()
        })
        .into();
    for stretch in &seen {
        let back = stretch.round_trips().len();
        // The number in three seconds depends on the machine; over loopback few are lost.
        let all = stretch.samples.len();
        assert!(back > all / 2 && back + stretch.lost() <= all, "{back} and {} of {all}", stretch.lost());
        assert_eq!(stretch.goodput_bps > 0.0, stretch.load.connections > 0, "{:?}", stretch.load);
    }
    assert!(diagnose(&seen).least_s.is_some_and(|seconds| seconds > 0.0 && seconds < 3.0));
}
