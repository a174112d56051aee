use super::*;
use evenair_linux::wireless::{Interface, Kind, Queue, Station};

/// An access point in memory.
#[derive(Debug, Default)]
struct Memory {
    found: Option<Found>,
    stations: Vec<Station>,
    set: Vec<Registers>,
    refuses: Option<io::ErrorKind>,
}

impl Radio for Memory {
    fn find(&mut self) -> io::Result<Option<Found>> {
        Ok(self.found.clone())
    }

    fn stations(&mut self) -> io::Result<Vec<Station>> {
        Ok(self.stations.clone())
    }

    fn set(&mut self, registers: Registers) -> io::Result<()> {
        if let Some(kind) = self.refuses {
            return Err(io::Error::new(kind, "refused"));
        }
        self.set.push(registers);
        Ok(())
    }
}

/// ETSI's best effort for clients.
const ETSI: RegisterLimits = RegisterLimits { window_min: 15, window_max: 1023, aifsn: 3, txop_units: 187 };

fn found(kind: Kind) -> Found {
    let interface = Interface {
        index: 3,
        name: "wlan0".into(),
        kind,
        radio: 0,
        frequency_mhz: Some(5180),
        aggregates: false,
    };
    Found { interface, limits: Some(ETSI), others: Vec::new() }
}

fn daemon(more: &str) -> Daemon<Memory> {
    let text = format!("interface = 'wlan0'\nmode = 'enforce'\n{more}");
    let radio = Memory { found: Some(found(Kind::AccessPoint)), ..Memory::default() };
    Daemon::new(Config::parse("b.toml", &text).unwrap(), radio)
}

/// A station at 6 Mb/s that was sent so many packets.
fn station(sent: u64) -> Station {
    let mut station = Station { address: [2; 6], rate_100kbps: 60, ..Station::default() };
    station.queues[2] = Queue { sent, ..Queue::default() };
    station
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// [Lee12] eq. (2) by hand, with 1500-byte packets at 6 Mb/s: a frame of 20 + 4·514 = 2076 us. V = 5000, b = 0.01, vq = 1 at
/// first: one packet over e^0.01 is a mean back-off of 2055 us or 228.4 slots; a window of 511 has a mean of 255.5, one of 255
/// of 127.5.
#[test]
fn law_sets_registers_within_limits() {
    let mut daemon = daemon("");
    assert!(daemon.step(at(0)).unwrap().said.iter().any(|said| said.contains("no station")));
    daemon.radio.stations = vec![station(0)];
    let step = daemon.step(at(100)).unwrap();
    assert!(step.said.contains(&"the law acts".into()), "{:?}", step.said);
    assert!(step.said.iter().any(|said| said.contains("limits cut the law's")), "AIFSN 2 becomes 3");
    let first = Registers { window_min: 511, window_max: 1023, aifsn: 3, txop_units: 0 };
    assert_eq!(daemon.radio.set, [first]);
    // 40 packets come and are served: vq = 1 + 5000/1 - 40 = 4961, so b vq = 49.6: the least window, the longest TXOP.
    daemon.radio.stations = vec![station(40)];
    daemon.step(at(200)).unwrap();
    let second = Registers { window_min: 15, txop_units: 187, ..first };
    assert_eq!(daemon.radio.set, [first, second]);
    let status = daemon.status();
    assert_eq!((status.accepted, status.sets, status.cuts, status.waits), (Some(second), 2, 2, None));
    assert!((status.aggressiveness.unwrap() - 49.61).abs() < 1e-9);
    assert_eq!(daemon.restore().unwrap(), "put back: CWmin 15, CWmax 63, AIFSN 3, TXOP 0 us");
    assert_eq!(daemon.radio.set[2], crate::restore::default(evenair_laws::backoff::Category::BestEffort));
}

#[test]
fn registers_are_set_again_each_second() {
    let mut daemon = daemon("");
    daemon.radio.stations = vec![station(0)];
    (0..=20).for_each(|i| drop(daemon.step(at(100 * i)).unwrap()));
    assert_eq!(daemon.radio.set.len(), 3, "at 0, 1 and 2 s: an unstarted virtual queue stays");
}

/// After a channel switch the registers stand at once within the new channel's limits, and hostapd's start is made good in
/// two seconds of updates.
#[test]
fn news_sets_registers_at_once() {
    let mut daemon = daemon("");
    daemon.radio.found.as_mut().unwrap().limits = None;
    daemon.radio.stations = vec![station(0)];
    daemon.step(at(0)).unwrap();
    let wide = Registers { window_min: 511, window_max: 1023, aifsn: 2, txop_units: 0 };
    assert_eq!(daemon.radio.set, [wide]);
    daemon.radio.found = Some(found(Kind::AccessPoint));
    let step = daemon.refresh(at(30)).unwrap();
    assert!(step.entries.is_empty() && step.said[0].contains("AIFSN 3 or more"), "{:?}", step.said);
    assert_eq!(daemon.radio.set, [wide, Registers { aifsn: 3, ..wide }]);
    (1..=30).for_each(|i| drop(daemon.step(at(100 * i)).unwrap()));
    assert_eq!(daemon.radio.set.len(), 2 + 20 + 1, "each update for 2 s, then once a second");
    daemon.radio.found = None;
    assert_eq!(daemon.refresh(at(3_100)).unwrap().said, ["waiting: wlan0: no such interface"]);
}

#[test]
fn renamed_interface_is_told() {
    let mut daemon = daemon("");
    daemon.radio.stations = vec![station(0)];
    daemon.step(at(0)).unwrap();
    daemon.radio.found.as_mut().unwrap().interface.name = "ap0".into();
    assert_eq!(daemon.step(at(1000)).unwrap().said, ["wlan0 is called ap0"]);
}

#[test]
fn observe_mode_sets_nothing() {
    let mut daemon = daemon("");
    daemon.config.mode = Mode::Observe;
    daemon.radio.stations = vec![station(0)];
    let entries: usize = (0..30).map(|i| daemon.step(at(100 * i)).unwrap().entries.len()).sum();
    assert_eq!((entries, daemon.radio.set.len(), daemon.status().accepted), (30, 0, None));
    assert!(daemon.status().wanted.is_some());
}

#[test]
fn interface_without_access_point_is_awaited() {
    let mut daemon = daemon("");
    daemon.radio.stations = vec![station(0)];
    daemon.step(at(0)).unwrap();
    // hostapd's disable makes it a client; its start makes it an access point, and sets its own registers.
    daemon.radio.found = Some(found(Kind::Station));
    let step = daemon.step(at(1000)).unwrap();
    assert!(step.said.iter().any(|said| said.starts_with("waiting: wlan0 is a client")), "{:?}", step.said);
    assert!(daemon.step(at(1100)).unwrap().said.is_empty(), "told once");
    assert_eq!(daemon.restore().unwrap(), "nothing to put back: it is no access point now");
    daemon.radio.found = Some(found(Kind::AccessPoint));
    assert_eq!(daemon.step(at(2000)).unwrap().said, ["the law acts"]);
    assert_eq!(daemon.radio.set.len(), 2, "sent at once");
    daemon.radio.found = None;
    let step = daemon.step(at(3000)).unwrap();
    assert_eq!(step.said, ["waiting: wlan0: no such interface"]);
}

#[test]
fn refusals_are_waited_for_or_final() {
    let mut daemon = daemon("");
    daemon.radio.stations = vec![station(0)];
    daemon.radio.refuses = Some(io::ErrorKind::NetworkDown);
    assert!(daemon.step(at(0)).unwrap().said.contains(&"waiting: refused".into()));
    assert!(daemon.restore().unwrap().starts_with("nothing to put back: the interface is down"));
    for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported] {
        daemon.radio.refuses = Some(kind);
        assert_eq!(daemon.step(at(100)).unwrap_err().kind(), kind);
        assert_eq!(daemon.restore().unwrap_err().kind(), kind);
    }
}

#[test]
fn other_access_points_of_a_radio_need_a_word() {
    let shared = Found { others: vec!["wlan0-1".into()], ..found(Kind::AccessPoint) };
    for (more, sets) in [("", 0), ("whole_radio = true", 1)] {
        let mut daemon = daemon(more);
        daemon.radio.found = Some(shared.clone());
        daemon.radio.stations = vec![station(0)];
        let step = daemon.step(at(0)).unwrap();
        assert_eq!(daemon.radio.set.len(), sets);
        assert_eq!(step.said.iter().any(|said| said.contains("wlan0-1: other access points")), sets == 0);
    }
}

#[test]
fn law_of_the_real_queue_needs_one() {
    let mut daemon = daemon("law = { law = 'optimal' }");
    daemon.radio.stations = vec![station(0)];
    let refused = daemon.step(at(0)).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
    assert!(refused.to_string().contains("only law = \"virtual-queue\""), "{refused}");
    daemon.radio.stations[0].queues[2].has_queue = true;
    assert!(daemon.step(at(100)).is_ok());
}

/// The standard's `CWmin` of best effort is 15 (IEEE 802.11-2016 table 9-137).
#[test]
fn less_than_the_standards_window_needs_a_word() {
    for (more, least) in [("", 15), ("below_standard = true\n", 1)] {
        let mut daemon = daemon(&format!("{more}law = {{ law = 'virtual-queue', window_min = 1 }}"));
        daemon.radio.found.as_mut().unwrap().limits = None;
        daemon.radio.stations = vec![station(0)];
        daemon.step(at(0)).unwrap();
        daemon.radio.stations = vec![station(40)];
        daemon.step(at(100)).unwrap();
        assert_eq!(daemon.radio.set.last().map(|registers| registers.window_min), Some(least));
    }
}
