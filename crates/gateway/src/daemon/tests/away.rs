//! Closed tabs and subscribers that leave: from packets to limits.

use super::*;
use crate::kernel::{Passed, Segment};
use crate::status::rate;

const CONFIG: &str =
    "mode = \"enforce\"\n[law]\nlaw = \"pfrc\"\nepoch = \"2 s\"\ncapacity_high = \"6 Mbps\"\n";
const RTT_MS: u64 = 50;

/// Returns a configuration with the law's own bounds and no link rate.
fn config_of_two() -> Config {
    Config::parse("g.toml", &format!("{HEAD}{CONFIG}").replace("link_rate = \"900 kbps\"\n", "")).unwrap()
}

/// A download of one subscriber, sampled every 0.1 s.
#[derive(Clone, Copy)]
struct Download {
    place: u16,
    port: u16,
    end: u32,
}

impl Download {
    const fn new(place: u16, port: u16) -> Self {
        Self { place, port, end: 1 }
    }

    fn packet(self, ms: u64, side: Side, tcp: Segment) -> Passed {
        let own = format!("10.0.{}.1", self.place).parse().unwrap();
        let server = "192.0.2.2".parse().unwrap();
        let (from, to, ports) = match side {
            Side::Down => (server, own, (443, self.port)),
            Side::Up => (own, server, (self.port, 443)),
        };
        let size = if tcp.has_data { 1500 } else { 40 };
        Passed { at: at(ms), side, size, from, to, protocol: 6, ports: Some(ports), tcp: Some(tcp) }
    }

    /// Sends full segments down. If `is_answered`, an acknowledgement follows after a round trip.
    fn pass(&mut self, daemon: &mut Daemon<MemoryKernel>, ms: u64, segments: u32, is_answered: bool) {
        for _ in 0..segments {
            self.end = self.end.wrapping_add(1460);
            let data = Segment {
                end: self.end,
                acknowledged: Some(1),
                has_data: true,
                is_last: false,
                is_reset: false,
            };
            let seen = self.packet(ms, Side::Down, data);
            daemon.kernel_mut().passed.push(seen);
        }
        daemon.kernel_mut().serve(Side::Down, FIRST + self.place, segments);
        if is_answered {
            let acknowledged = Some(self.end);
            let answer = Segment { end: 1, acknowledged, has_data: false, is_last: false, is_reset: false };
            let seen = self.packet(ms + RTT_MS, Side::Up, answer);
            daemon.kernel_mut().passed.push(seen);
        }
    }

    fn reset(self, daemon: &mut Daemon<MemoryKernel>, ms: u64) {
        let reset = Segment { end: 1, acknowledged: None, has_data: false, is_last: true, is_reset: true };
        let seen = self.packet(ms, Side::Up, reset);
        daemon.kernel_mut().passed.push(seen);
    }
}

/// Returns the number of full packets that a class's limit passes in 0.1 s.
fn fitting(daemon: &mut Daemon<MemoryKernel>, place: u16) -> u32 {
    let limit = ceiling(daemon, Side::Down, &format!("10.0.{place}.1"));
    (limit.as_bps() / 80 / 1500) as u32
}

/// Steps 0.1 s, in which Ben's download uses its whole limit and keeps a backlog.
fn tenth(daemon: &mut Daemon<MemoryKernel>, ms: u64, ben: &mut Download) {
    let packets = fitting(daemon, ben.place);
    ben.pass(daemon, ms, packets, true);
    wait(daemon, ben.place, true);
    daemon.step(at(ms + 100));
}

fn wait(daemon: &mut Daemon<MemoryKernel>, place: u16, waits: bool) {
    let backlog = Volume { packets: 3 * u64::from(waits), bytes: 4500 * u64::from(waits) };
    daemon.kernel_mut().counters[0].get_mut(&(FIRST + place)).unwrap().backlog = backlog;
}

fn limit_bps(daemon: &mut Daemon<MemoryKernel>, place: u16) -> f64 {
    ceiling(daemon, Side::Down, &format!("10.0.{place}.1")).as_bps() as f64
}

/// Takes the decisions since the last call that lower rates.
fn decreases(daemon: &mut Daemon<MemoryKernel>) -> Vec<String> {
    let of = |what: What| match what {
        What::Heard(Heard { answer, .. }) => answer.on_epoch.map(|allocation| allocation.decision),
        _ => None,
    };
    let all = daemon.take_happened().into_iter().filter_map(of);
    all.filter(|decision| decision.step == Step::Decrease || decision.reason == Reason::Tested)
        .map(|decision| decision.to_string())
        .collect()
}

/// Runs Anna's download beside Ben's, each at its limit, for a span of time.
fn both(daemon: &mut Daemon<MemoryKernel>, (from, to): (u64, u64), anna: &mut Download, ben: &mut Download) {
    for ms in (from..to).step_by(100) {
        let packets = fitting(daemon, anna.place);
        anna.pass(daemon, ms, packets, true);
        wait(daemon, anna.place, true);
        tenth(daemon, ms, ben);
    }
    wait(daemon, anna.place, false);
}

/// Returns Ben's limit \[bit/s\] and the decisions that lower rates. Anna downloads beside Ben for one
/// second of every six.
fn beside_tabs(is_closed: bool) -> (f64, Vec<String>) {
    let mut daemon = start(&config_of_two(), MemoryKernel::default(), None);
    let mut ben = Download::new(1, 6000);
    let mut ms = 200;
    for tab in 0..10 {
        let mut anna = Download::new(0, 5000 + tab);
        both(&mut daemon, (ms, ms + 1_000), &mut anna, &mut ben);
        if is_closed {
            // Packets in flight pass after the reset, and another reset answers them.
            anna.reset(&mut daemon, ms + 1_000);
            anna.pass(&mut daemon, ms + 1_010, 3, false);
            anna.reset(&mut daemon, ms + 1_050);
        }
        for later in (ms + 1_000..ms + 6_000).step_by(100) {
            tenth(&mut daemon, later, &mut ben);
        }
        ms += 6_000;
    }
    let decreases = decreases(&mut daemon);
    (limit_bps(&mut daemon, 1), decreases)
}

/// A closed tab counts as a download that its server ends.
#[test]
fn closed_tabs_take_no_rate() {
    let [(closed, decreases), (clean, _)] = [true, false].map(beside_tabs);
    assert_eq!(decreases, [""; 0]);
    assert!(closed > 0.95 * clean, "{} and {}", rate(closed), rate(clean));
}

/// Anna leaves in the middle of a download; her server retransmits after time-outs that double.
#[test]
fn leaving_host_takes_no_rate() {
    let mut daemon = start(&config_of_two(), MemoryKernel::default(), None);
    let (mut anna, mut ben) = (Download::new(0, 5000), Download::new(1, 6000));
    both(&mut daemon, (200, 40_000), &mut anna, &mut ben);
    let before = limit_bps(&mut daemon, 1);
    daemon.take_happened();
    // Linux's first time-out is 200 ms plus the round trip.
    let repeated =
        [250_u64, 750, 1_750, 3_750, 7_750, 15_750, 31_750].map(|after| 40_000 + after / 100 * 100);
    let (mut standings, mut least) = (Vec::new(), f64::INFINITY);
    for ms in (40_000..80_000).step_by(100) {
        anna.pass(&mut daemon, ms, u32::from(repeated.contains(&ms)), false);
        tenth(&mut daemon, ms, &mut ben);
        least = least.min(limit_bps(&mut daemon, 1));
        let standing = daemon.gateway().statuses()[0].standing;
        if standings.last() != Some(&standing) {
            standings.push(standing);
        }
    }
    assert_eq!(decreases(&mut daemon), [""; 0]);
    assert!(
        least >= before && limit_bps(&mut daemon, 1) > 1.5 * before,
        "{} after {}",
        rate(least),
        rate(before)
    );
    assert!(standings.contains(&Standing::Away), "{standings:?}");
    // Anna is back.
    both(&mut daemon, (80_000, 110_000), &mut anna, &mut ben);
    let [hers, his] = [0, 1].map(|place| limit_bps(&mut daemon, place));
    assert!((hers / his - 1.0).abs() < 0.05 && hers > 0.8 * before, "{} and {}", rate(hers), rate(his));
}

/// The packets of a subscriber arrive in another class: their readings are unknown, the law waits, and
/// an event names the subscriber.
#[test]
fn packets_past_their_class_are_reported() {
    let mut daemon = start(&config_of_two(), MemoryKernel::default(), None);
    let offer = |daemon: &mut Daemon<MemoryKernel>, packets: u64| {
        let volume = Volume { packets, bytes: packets * 1_486 };
        daemon.kernel_mut().offered =
            vec![crate::kernel::Offered { address: "10.0.0.1".parse().unwrap(), volume }];
    };
    offer(&mut daemon, 1);
    let mut offered = 1;
    let mut go = |daemon: &mut Daemon<MemoryKernel>, (from, to): (u64, u64), minor: u16| {
        for ms in (from..to).step_by(100) {
            offered += 10;
            offer(daemon, offered);
            daemon.kernel_mut().serve(Side::Down, minor, 10);
            daemon.step(at(ms + 100));
        }
    };
    go(&mut daemon, (200, 10_000), FIRST);
    assert!(events(&mut daemon).iter().all(|event| !matches!(event, Event::Diverted(_))));
    let given = daemon.gateway().allocation().each.clone();
    go(&mut daemon, (10_000, 20_000), crate::tree::EXEMPT);
    let told = events(&mut daemon);
    let of_these: Vec<_> =
        told.iter().filter(|event| matches!(event, Event::Diverted(_) | Event::Opened)).collect();
    assert_eq!(of_these, [&Event::Diverted(vec!["s0000".into()])], "once, and the limits stay");
    let standings: Vec<_> = daemon.gateway().statuses().iter().map(|class| class.standing).collect();
    assert_eq!(standings[..3], [Standing::Diverted, Standing::Diverted, Standing::Idle]);
    assert_eq!(daemon.gateway().allocation().each, given, "the law waits");
    go(&mut daemon, (20_000, 30_000), FIRST);
    assert!(events(&mut daemon).contains(&Event::NotDiverted));
    assert!(daemon.gateway().statuses()[0].rate_bps.is_some_and(|bps| bps > 1e6));
}
