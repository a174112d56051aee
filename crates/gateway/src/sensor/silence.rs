//! Connections that are reset, and hosts that leave: neither keeps a class busy.

use super::*;
use crate::kernel::Segment;
use evenair_laws::gateway::AWAY;

const ANNA: &str = "10.0.0.1";
const PHONE: &str = "10.0.0.2";
const CLASS: u16 = 0x10;
const DOWN: (Side, u16) = (Side::Down, CLASS);
const UP: (Side, u16) = (Side::Up, CLASS);
const DATA: Segment =
    Segment { end: 0, acknowledged: Some(1), has_data: true, is_last: false, is_reset: false };
/// A reset as parsed from a header: it also counts as the last.
const RESET: Segment = Segment { end: 0, acknowledged: None, has_data: false, is_last: true, is_reset: true };

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A sensor with one subscriber, two hosts and one server, between which there are a connection and a
/// flow of datagrams.
#[derive(Default)]
struct Told(Sensor);

impl Told {
    fn pass(&mut self, ms: u64, side: Side, own: &str, size: u32, tcp: Option<Segment>) {
        let (own, server) = (own.parse().unwrap(), "1.1.1.1".parse().unwrap());
        let (from, to, ports) = match side {
            Side::Down => (server, own, (443, 5000)),
            Side::Up => (own, server, (5000, 443)),
        };
        let protocol = if tcp.is_some() { 6 } else { 17 };
        let packet = Passed { at: at(ms), side, size, from, to, protocol, ports: Some(ports), tcp };
        assert_eq!(self.0.see(&packet, true, |_| Some(CLASS)), None);
    }

    /// Sends TCP data up to a sequence number.
    fn data(&mut self, ms: u64, side: Side, own: &str, end: u32) {
        self.pass(ms, side, own, 1500, Some(Segment { end, ..DATA }));
    }

    fn acknowledge(&mut self, ms: u64, own: &str, number: u32) {
        let tcp = Segment { acknowledged: Some(number), has_data: false, ..DATA };
        self.pass(ms, Side::Up, own, 40, Some(tcp));
    }

    /// Sends an acknowledgement from a host.
    fn hear(&mut self, ms: u64, own: &str) {
        self.acknowledge(ms, own, 1);
    }

    fn reset(&mut self, ms: u64, side: Side, number: u32) {
        self.pass(ms, side, ANNA, 40, Some(Segment { end: number, ..RESET }));
    }

    fn datagram(&mut self, ms: u64, side: Side, size: u32) {
        self.pass(ms, side, ANNA, size, None);
    }

    /// Ends an epoch; returns the busy time of a class so far and the time for which its data have been
    /// unanswered \[ms\].
    fn told(&mut self, ms: u64, class: (Side, u16)) -> (u64, Option<u64>) {
        self.0.expire(at(ms));
        let whole = |time: Duration| time.as_nanos() / 1_000_000;
        (whole(self.0.busy(class, at(ms))), self.0.unanswered(class).map(whole))
    }
}

/// RFC 9293 §3.10.7.1: a closed connection answers data with a reset, and acknowledges none.
#[test]
fn a_reset_ends_both_sides() {
    for breaks in Side::ALL {
        let mut told = Told::default();
        told.data(0, Side::Down, ANNA, 1460);
        told.data(10, Side::Up, ANNA, 1460);
        told.reset(200, breaks, 1);
        // Both last until the reset: the download since its data, the upload since its full packet.
        assert_eq!(told.told(9_000, DOWN), (200, None), "{breaks}");
        assert_eq!(told.told(9_000, UP), (190, None), "{breaks}");
    }
}

/// Data in flight pass after the reset, and each segment is answered by another reset.
#[test]
fn data_in_flight_is_not_busy() {
    let mut told = Told::default();
    told.hear(0, ANNA);
    told.data(0, Side::Down, ANNA, 1460);
    told.reset(100, Side::Up, 1);
    told.data(110, Side::Down, ANNA, 2920);
    told.reset(160, Side::Up, 1);
    assert_eq!(told.told(2_000, DOWN), (150, None));
    // The last answer is lost: the class stays busy for five seconds, then counts as away.
    told.data(2_000, Side::Down, ANNA, 4380);
    assert_eq!(told.told(4_000, DOWN), (2_150, Some(2_000)));
    assert_eq!(told.told(9_000, DOWN), (5_150, Some(7_000)));
}

/// A reset with any number may be forged: the connection goes on, and so does its busy time.
#[test]
fn false_reset_hides_no_flow() {
    let mut told = Told::default();
    let mut end = 0;
    for ms in (0..10_000).step_by(100) {
        end += 1460;
        told.data(ms, Side::Down, ANNA, end);
        if ms % 1_000 == 500 {
            told.reset(ms + 10, Side::Up, 0xdead_0000 + end);
            told.reset(ms + 20, Side::Down, 7);
        }
        // Acknowledgements stay one segment behind.
        told.acknowledge(ms + 50, ANNA, end - 1460);
    }
    let (busy, unanswered) = told.told(10_000, DOWN);
    // Ten times the flow is not followed from the reset to the next segment: 90 ms.
    assert_eq!((busy, unanswered), (10_000 - 10 * 90, Some(0)));
    told.acknowledge(10_000, ANNA, end);
    assert_eq!(told.told(20_000, DOWN).0, 10_000 - 10 * 90, "and it ends as any other");
}

/// Another connection with the same ports starts after a reset.
#[test]
fn the_next_connection_is_followed() {
    let mut told = Told::default();
    told.data(0, Side::Down, ANNA, 3_000_000_000);
    told.reset(100, Side::Up, 1);
    told.data(1_000, Side::Down, ANNA, 1460);
    told.acknowledge(1_300, ANNA, 1460);
    assert_eq!(told.told(9_000, DOWN), (100 + 300, None));
}

/// The server retransmits its data after time-outs that double (RFC 6298 §5.5), for half a minute and
/// longer.
#[test]
fn leaving_host_is_busy_five_seconds() {
    let mut told = Told::default();
    told.data(0, Side::Down, ANNA, 1460);
    told.acknowledge(50, ANNA, 1460);
    for ms in [100, 1_100, 3_100] {
        told.data(ms, Side::Down, ANNA, 2920);
    }
    assert_eq!(told.told(2_000, DOWN), (50 + 1_900, Some(1_900)));
    assert_eq!(told.told(5_000, DOWN), (50 + 4_900, Some(4_900)));
    let away = 50 + AWAY.as_nanos() / 1_000_000;
    for ms in [7_100, 15_100, 31_100, 63_100] {
        told.data(ms, Side::Down, ANNA, 2920);
        assert_eq!(told.told(ms + 500, DOWN), (away, Some(ms + 400)), "a repetition begins nothing");
    }
    assert_eq!(told.told(70_000, UP).1, None, "data go down");
    // The host is back: outstanding data keep the class busy at once.
    told.acknowledge(71_000, ANNA, 2920);
    told.data(71_000, Side::Down, ANNA, 4380);
    assert_eq!(told.told(71_500, DOWN), (away + 500, Some(500)));
    told.acknowledge(71_500, ANNA, 4380);
    assert_eq!(told.told(90_000, DOWN), (away + 500, None));
}

#[test]
fn ended_sender_ends_absence() {
    let mut told = Told::default();
    told.hear(0, ANNA);
    told.data(0, Side::Down, ANNA, 1460);
    assert_eq!(told.told(119_000, DOWN).1, Some(119_000));
    assert_eq!(told.told(120_000, DOWN).1, None);
    // New data are judged as before.
    told.data(200_000, Side::Down, ANNA, 2920);
    assert_eq!(told.told(204_000, DOWN).1, Some(4_000));
    assert_eq!((told.told(3_799_000, DOWN).1, told.0.hosts.len()), (None, 1));
    assert_eq!((told.told(3_800_000, DOWN).1, told.0.hosts.len()), (None, 0));
}

/// Without packets it is unknown which hosts answer.
#[test]
fn unseen_host_is_not_away() {
    let mut told = Told::default();
    told.hear(0, ANNA);
    told.data(0, Side::Down, ANNA, 1460);
    told.0.see_nothing();
    assert_eq!(told.told(9_000, DOWN), (9_000, Some(0)));
}

/// A connection is idle for half an hour, and its telephone leaves; then the server sends data.
#[test]
fn silent_leaver_is_away_once_data_come() {
    let mut told = Told::default();
    told.hear(0, PHONE);
    assert_eq!(told.told(1_000_000, DOWN), (0, None));
    for ms in [0, 1_000, 3_000, 7_000] {
        told.data(1_800_000 + ms, Side::Down, PHONE, 100);
    }
    assert_eq!(told.told(1_808_000, DOWN), (5_000, Some(8_000)));
}

/// Answers on another path are not seen, so the host is not judged.
#[test]
fn unseen_answers_are_not_absence() {
    let mut told = Told::default();
    for ms in (0..60_000).step_by(1_000) {
        told.data(ms, Side::Down, ANNA, 1460 + ms as u32);
    }
    assert_eq!(told.told(60_000, DOWN), (60_000, Some(0)));
}

/// One host of a household leaves, the other is starved: the class is busy because of the present one.
#[test]
fn hosts_of_one_subscriber_answer_for_themselves() {
    let mut told = Told::default();
    told.hear(0, ANNA);
    told.data(0, Side::Down, ANNA, 1460);
    for ms in (0..20_000).step_by(500) {
        told.data(ms, Side::Down, PHONE, 1460 + ms as u32);
        told.acknowledge(ms + 200, PHONE, 1460 + ms as u32);
        told.0.expire(at(ms + 300));
    }
    let (busy, unanswered) = told.told(20_000, DOWN);
    // Anna's data count for five seconds, which include the phone's; then the phone's 200 ms of each
    // half second.
    assert_eq!((busy, unanswered), (5_000 + 30 * 200, Some(20_000)));
    told.data(20_000, Side::Down, PHONE, 50_000);
    assert_eq!(told.told(20_100, DOWN).1, Some(100), "of who is there");
}

/// Datagrams in one direction are ordinary: a host that sends none back, or answers another flow, is
/// present.
#[test]
fn unanswered_datagrams_are_not_absence() {
    let mut told = Told::default();
    told.datagram(0, Side::Up, 100); // requested by one packet
    for ms in (10..30_000).step_by(10) {
        told.datagram(ms, Side::Down, 1500);
    }
    assert_eq!(told.told(30_000, DOWN), (29_990, Some(0)));
}

/// A flow of datagrams that was answered, as QUIC's is, and then is not.
#[test]
fn answered_datagrams_reveal_leaving() {
    let mut told = Told::default();
    for ms in (0..2_000).step_by(10) {
        told.datagram(ms, Side::Down, 1300);
        if ms % 20 == 0 {
            told.datagram(ms + 5, Side::Up, 60);
        }
    }
    assert_eq!(told.told(2_000, DOWN).1, Some(10));
    for ms in [2_200, 2_600, 3_400, 5_000, 8_200, 14_600] {
        told.datagram(ms, Side::Down, 1300);
    }
    let (busy, unanswered) = told.told(16_000, DOWN);
    // The last answer was at 1 985 ms, the first packet without one at 1 990.
    assert_eq!((busy, unanswered), (1_990 + 5_000, Some(16_000 - 1_990)));
}

/// An upload or a download by datagrams that stops without notice ends after three of its own pauses,
/// one second at least.
#[test]
fn ceased_packets_end_busy_time() {
    for side in Side::ALL {
        let mut told = Told::default();
        (0..100).for_each(|k| told.datagram(20 * k, side, 1300));
        assert_eq!(told.told(9_000, (side, CLASS)).0, 1_980 + 1_000, "{side}");
    }
}
