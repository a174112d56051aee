//! Laws with flows that drain to see their round trip without a queue.

use super::*;
use evenair_laws::connections::{ConnectionParams, ConnectionTold, DelayPriceParams, OwnConnections};
use evenair_laws::tape::RecordOf;

/// Over a wire of 10 Mb/s and 10 ms a window of 200 segments has 175 of them waiting, 146 ms, until the flow drains.
#[test]
fn draining_flow_sees_the_wire_without_its_queue() {
    let holds = Some(Duration::from_secs(10));
    let params = DelayPriceParams { round_trip_holds: holds, ..DelayPriceParams::chen10() };
    let tapes = Tapes::default();
    let mut tcp = tcp(None);
    tcp.sender.receiver_window = 200;
    tcp.connections = Some(OwnConnections::new(tapes.record(&params.into())).into());
    let result = Network::run(&wired(10_000, 10, 1_000, Traffic::Tcp(tcp)), seconds(1, 0, 60));
    let tape = tapes.take().remove(0);
    let views = |record: &RecordOf<ConnectionParams>| match record.told {
        ConnectionTold::OnInterval { flow } => {
            let least_ms = flow.least_in_interval.unwrap().as_secs_f64() * 1e3;
            Some((flow.interval, least_ms, flow.sent))
        }
        _ => None,
    };
    let seen: Vec<_> = tape.iter().filter_map(views).collect();
    let looks: Vec<_> =
        seen.iter().filter(|(interval, ..)| *interval == Duration::from_millis(500)).collect();
    assert!(looks.len() >= 2, "{seen:?}");
    for (_, least_ms, sent) in looks {
        assert!((20.8..22.0).contains(least_ms), "{seen:?}");
        assert!((80..=110).contains(sent), "four segments a round trip of 21 ms: {seen:?}");
    }
    let steers = seen.iter().skip(2).filter(|(interval, ..)| *interval == Duration::from_secs(5));
    assert!(steers.clone().count() >= 6, "{seen:?}");
    // After a look the window opens again by acknowledgements, without a burst; the next interval has the whole queue.
    assert!(seen[6].1 > 150.0, "{seen:?}");
    assert_eq!(result.flows[0].lost, 0);
    assert!(result.flows[0].goodput_pps > 1100.0, "{}", result.flows[0].goodput_pps);
}
