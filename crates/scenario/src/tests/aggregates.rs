//! How packets share frames: the table, its defaults, and where it is refused.

use super::*;
use evenair_netsim::Staging;
use evenair_units::Duration;
use evenair_wifi::{Aggregation, MissedBlockAck};

fn scenario(mac: &str, more: &str) -> String {
    at(mac, more, 100)
}

fn at(mac: &str, more: &str, metres: u32) -> String {
    format!(
        "{more}
        radio = {{ transmission_range = '5 km', carrier_sense_range = '5 km' }}
        mac = {{ {mac} }}
        nodes = [{{ id = 'a', at = [0, 0] }}, {{ id = 'b', at = [{metres}, 0] }}]
        flows = [{{ id = '1', from = 'a', to = 'b' }}]"
    )
}

fn staging(mac: &str, more: &str) -> Option<Staging> {
    parse(&scenario(mac, more)).unwrap().network().aggregation
}

#[test]
fn packets_share_frames_by_default() {
    let standard = Staging { limits: Aggregation::standard(), airtime: Some(Duration::from_millis(8)) };
    for kind in ["802.11n", "802.11ac"] {
        assert_eq!(staging(&format!("kind = '{kind}'"), ""), Some(standard));
    }
    let limits = Aggregation { packets: 256, window: 256, ..Aggregation::standard() };
    assert_eq!(staging("kind = '802.11ax'", ""), Some(Staging { limits, ..standard }));
    for kind in ["802.11a", "802.11b", "802.11g", "ideal"] {
        assert_eq!(staging(&format!("kind = '{kind}'"), ""), None);
    }
    let ns3 = staging("kind = '802.11ac'", "preset = 'ns3'").unwrap().limits;
    assert_eq!((ns3.tries, ns3.after_missed), (None, MissedBlockAck::Request));
}

#[test]
fn aggregates_are_limited_as_the_table_says() {
    let table = "aggregation = { packets = 32, bytes = '20000 bytes', airtime = '2 ms', retries = 3, lifetime = '100 ms',
        after_missed_block_ack = 'bar', staged_airtime = 'one' }";
    let found = staging("kind = '802.11ac'", &table.replace('\n', " ")).unwrap();
    let limits = Aggregation {
        packets: 32,
        bytes: 20_000,
        airtime: Duration::from_millis(2),
        window: 64,
        tries: Some(3),
        lifetime: Some(Duration::from_millis(100)),
        after_missed: MissedBlockAck::Request,
    };
    assert_eq!(found, Staging { limits, airtime: None });
    assert_eq!(staging("kind = '802.11ac'", "aggregation.packets = 1"), None);
    assert_eq!(staging("kind = '802.11ac'", "aggregation.retries = 'never'").unwrap().limits.tries, None);
    // A completed scenario reads as the same.
    let whole = parse(&scenario("kind = '802.11ax'", "aggregation.staged_airtime = '4 ms'")).unwrap();
    assert_eq!(parse(&whole.to_toml().unwrap()).unwrap(), whole);
    assert_eq!(whole.settings().aggregation.unwrap().bytes, Some(Amount::Bytes(65_535)));
}

#[test]
fn impossible_aggregation_is_refused() {
    let refused = |mac: &str, more: &str| message(&scenario(mac, more));
    let older = refused("kind = '802.11g'", "aggregation.packets = 8");
    assert!(older.contains("aggregation: is for 802.11n, ac and ax"), "{older}");
    for (keys, why) in [
        ("packets = 65", "must be from 1 to 64"),
        ("packets = 0", "must be from 1 to 64"),
        ("bytes = '2 MB'", "must be at most"),
        ("airtime = '6 ms'", "must be above 0 and at most"),
        ("retries = 0", "must be from 1 to 255, or \"never\""),
        ("staged_airtime = '0 ms'", "must be above 0, or \"one\" aggregate"),
    ] {
        let said = refused("kind = '802.11ac'", &format!("aggregation = {{ {keys} }}"));
        let key = keys.split(' ').next().unwrap();
        assert!(said.contains(&format!("aggregation.{key}")) && said.contains(why), "{keys}: {said}");
    }
    let far = message(&at("kind = '802.11ac'", "", 1_400));
    assert!(far.contains("aggregation") && far.contains("set aggregation.packets = 1"), "{far}");
    assert!(parse(&at("kind = '802.11ac'", "aggregation.packets = 1", 1_400)).is_ok());
}

/// 42 packets of 1538 bytes at VHT MCS 9 and 80 MHz take 1372 µs, SIFS and the block acknowledgement 48, DIFS 34: three senders
/// have a turn each in 4.36 ms, and ten turns take 43.6 ms.
#[test]
fn law_faster_than_aggregates_is_warned_of() {
    let warned = |law: &str, more: &str| {
        let rows =
            [0, 4, 8].map(|x| format!("{{ id = 's{x}', at = [{x}, 0] }}, {{ id = 'r{x}', at = [{x}, 2] }}"));
        let flows = [0, 4, 8].map(|x| format!("{{ id = '{x}', from = 's{x}', to = 'r{x}' }}"));
        let text = format!(
            "{more}
            radio = {{ transmission_range = '5 m', carrier_sense_range = '5 m' }}
            tcp.payload = '1460 bytes'
            backoff = {{ {law} }}
            nodes = [{}]
            flows = [{}]",
            rows.join(", "),
            flows.join(", ")
        );
        parse(&text).unwrap().warnings()
    };
    let ac = "mac = { kind = '802.11ac', width = '80 MHz', mcs = 9 }";
    let said = warned("law = 'virtual-queue'", ac);
    let [warning] = &said[..] else { panic!("{said:?}") };
    for part in [
        "backoff.interval: 10 ms",
        "10 turns of 3 contenders",
        "aggregates of 42 packets take 1.454 ms each",
        "43.62 ms or more",
    ] {
        assert!(warning.contains(part), "{part}: {warning}");
    }
    assert!(warned("law = 'virtual-queue', interval = '50 ms'", ac).is_empty());
    assert!(warned("law = 'edca'", ac).is_empty(), "windows are never updated");
    let single = format!("{ac}\naggregation.packets = 1");
    assert!(warned("law = 'virtual-queue'", &single).is_empty());
    assert!(warned("law = 'virtual-queue'", "mac.kind = '802.11a'").is_empty());
}
