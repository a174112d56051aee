//! A window law receives all its facts, and its pacing is kept.

use super::*;
use evenair_laws::OwnLaw;
use evenair_laws::window::{Delivery, OwnWindow, Repair};
use std::sync::{Arc, Mutex};

/// A window of ten segments that records its calls.
#[derive(Clone, Debug, Default)]
struct Witness {
    told: Arc<Mutex<Vec<Acked>>>,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
    asks: bool,
    steers: bool,
    gap: Option<Duration>,
}

impl OwnLaw for Witness {
    fn identity(&self) -> String {
        "witness".into()
    }
}

impl WindowLaw for Witness {
    fn begin(&mut self, _: &WindowStart) {}
    fn on_ack(&mut self, acked: &Acked) {
        self.told.lock().unwrap().push(*acked);
    }
    fn sees_deliveries(&self) -> bool {
        self.asks
    }
    fn on_delivery(&mut self, delivery: &Delivery) {
        self.deliveries.lock().unwrap().push(*delivery);
    }
    fn steers_recovery(&self) -> bool {
        self.steers
    }
    fn on_loss(&mut self, _: &Loss) {}
    fn on_timeout(&mut self, _: &Loss) {}
    fn congestion_window(&self) -> f64 {
        10.0
    }
    fn slow_start_threshold(&self) -> f64 {
        5.0
    }
    fn pacing_gap(&self) -> Option<Duration> {
        self.gap
    }
}

impl Witness {
    fn sender(&self, params: SenderParams) -> Sender {
        Sender::new(params, &OwnWindow::new(self.clone()).into())
    }

    /// Segments, whether they advance, whether in recovery, whether the window limits, flight.
    fn told(&self) -> Vec<(u32, bool, bool, bool, u32)> {
        let told = self.told.lock().unwrap();
        let parts = |a: &Acked| (a.segments, a.advances, a.in_recovery, a.window_limited, a.flight);
        told.iter().map(parts).collect()
    }
}

#[test]
fn law_receives_every_acknowledgement() {
    let witness = Witness::default();
    let mut sender = witness.sender(params(Recovery::Sack));
    assert_eq!(send_all(&mut sender, at(0)).len(), 10);
    sender.handle_reply(at(100), ack(1));
    sender.handle_reply(at(110), sack(1, &[(2, 3)])); // a duplicate that reports one more
    sender.handle_reply(at(120), sack(1, &[(2, 6)])); // three beyond the hole: recovery
    sender.handle_reply(at(130), ack(6)); // the hole is filled, not all of the flight
    sender.handle_reply(at(140), ack(10)); // recovery is over
    assert_eq!(
        witness.told(),
        [
            (1, true, false, true, 10),
            (1, false, false, true, 9),
            (3, false, true, true, 9),
            (1, true, true, true, 9),
            (4, true, false, true, 4),
        ]
    );
    let told = witness.told.lock().unwrap();
    assert_eq!(told[0].now, at(100));
    assert_eq!(told[0].sample, Some(Duration::from_millis(100)));
    assert_eq!((told[0].smoothed, told[0].least), (told[0].sample, told[0].sample));
    assert_eq!(told[1].sample, None, "no segment is timed");
    assert_eq!(told[1].smoothed, Some(Duration::from_millis(100)));
}

#[test]
fn without_selective_acknowledgements_too() {
    let witness = Witness::default();
    let mut sender = witness.sender(params(Recovery::NewReno));
    assert_eq!(send_all(&mut sender, at(0)).len(), 10);
    for ms in [100, 101, 102, 103] {
        sender.handle_reply(at(ms), ack(0));
    }
    sender.handle_reply(at(200), ack(4)); // partial
    sender.handle_reply(at(300), ack(10)); // ends recovery, and is of it
    let duplicate = |in_recovery| (0, false, in_recovery, true, 10);
    let expected = [
        duplicate(false),
        duplicate(false),
        duplicate(false),
        duplicate(true),
        (4, true, true, true, 10),
        (6, true, true, true, 6),
    ];
    assert_eq!(witness.told(), expected);
}

#[test]
fn law_receives_the_limit_of_the_sender() {
    let limited = |change: fn(&mut Sender), receiver_window| {
        let witness = Witness::default();
        let mut sender = witness.sender(SenderParams {
            receiver_window,
            start: start(10.0, 2.0),
            ..params(Recovery::Reno)
        });
        change(&mut sender);
        send_all(&mut sender, at(0));
        sender.handle_reply(at(100), ack(1));
        !witness.told()[0].3
    };
    assert!(!limited(|_| (), 1000));
    assert!(limited(|sender| sender.supply(4), 1000), "the application");
    assert!(limited(|_| (), 10), "the receiver's window");
}

#[test]
fn segments_are_paced_if_the_law_paces() {
    let gap = Some(Duration::from_millis(7));
    let mut sender = Witness { gap, ..Witness::default() }.sender(params(Recovery::Sack));
    for number in 0..10 {
        let now = at(7 * u64::from(number));
        assert_eq!(send_all(&mut sender, now), [number], "one at a time");
        assert!(send_all(&mut sender, now + Duration::from_millis(6)).is_empty());
        // The time at which the next may go; it disturbs no other timer.
        assert_eq!(sender.poll_timeout(), at(7 * u64::from(number) + 7));
        sender.handle_timeout(sender.poll_timeout());
    }
    assert!(send_all(&mut sender, at(70)).is_empty(), "the window is full");
    assert_eq!(sender.poll_timeout(), at(1000), "only the retransmission timer is left");
    assert_eq!(sender.stats().timeouts, 0);
    sender.handle_reply(at(100), ack(3));
    assert_eq!(send_all(&mut sender, at(100)), [10]);
    assert_eq!(send_all(&mut sender, at(107)), [11]);
}

/// Ten segments leave at once; one of the acknowledgements in between reveals a loss.
#[test]
fn law_receives_deliveries_and_their_rate() {
    let witness = Witness { asks: true, ..Witness::default() };
    let mut sender = witness.sender(params(Recovery::Sack));
    assert_eq!(send_all(&mut sender, at(0)).len(), 10);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(send_all(&mut sender, at(100)), [10]);
    sender.handle_reply(at(110), sack(1, &[(2, 3)]));
    send_all(&mut sender, at(110));
    sender.handle_reply(at(120), sack(1, &[(2, 6)])); // three beyond the hole
    sender.handle_reply(at(220), ack(11));
    let told = witness.deliveries.lock().unwrap().clone();
    let counts = |d: &Delivery| (d.segments, d.total, d.lost, d.flight_before, d.flight, d.repair);
    let expected =
        [(1, 1, 0, 10, 9, Repair::None), (1, 2, 0, 10, 9, Repair::None), (3, 5, 1, 10, 6, Repair::Recovery)];
    assert_eq!(told[..3].iter().map(counts).collect::<Vec<_>>(), expected);
    assert_eq!(told[0].round_trip, Some(Duration::from_millis(100)));
    assert_eq!(told[0].smoothed, Some(Duration::from_millis(100)), "RFC 6298 section 2.2");
    let rate = told[2].rate.unwrap();
    assert_eq!((rate.before, rate.segments, rate.interval), (0, 5, Duration::from_millis(120)));
    // The tenth left when one had arrived, at 100 ms.
    let rate = told[3].rate.unwrap();
    assert_eq!((rate.before, rate.interval), (1, Duration::from_millis(120)));
    assert_eq!(told[3].repair, Repair::Recovery, "later segments are not acknowledged yet");
}

#[test]
fn law_that_steers_recovery_sets_its_window() {
    for (steers, sent) in [(true, 4), (false, 2)] {
        let mut sender = Witness { steers, ..Witness::default() }.sender(params(Recovery::Sack));
        send_all(&mut sender, at(0));
        sender.handle_reply(at(120), sack(0, &[(1, 4)]));
        // Three have arrived and one is lost: six are under way of ten, or half of three go out.
        assert_eq!(send_all(&mut sender, at(120)).len(), sent);
    }
}

#[test]
fn duplicates_without_sack_are_deliveries_too() {
    let witness = Witness { asks: true, ..Witness::default() };
    let mut sender = witness.sender(params(Recovery::NewReno));
    send_all(&mut sender, at(0));
    for ms in [100, 101, 102, 103] {
        sender.handle_reply(at(ms), ack(0));
    }
    sender.handle_reply(at(200), ack(5));
    let told = witness.deliveries.lock().unwrap().clone();
    let totals: Vec<_> = told.iter().map(|d| (d.total, d.flight)).collect();
    assert_eq!(totals, [(1, 9), (2, 8), (3, 7), (4, 6), (5, 5)]);
    assert_eq!((told[3].repair, told[4].lost_total), (Repair::Recovery, 1));
}

/// draft-cheng-iccrg-delivery-rate-estimation section 3.4: samples of segments that were sent after the application ran dry,
/// with two under way, are marked until those two are delivered.
#[test]
fn samples_of_a_dry_application_are_marked() {
    for (first, marked) in [(2, true), (u32::MAX, false)] {
        let witness = Witness { asks: true, ..Witness::default() };
        let mut sender = witness.sender(params(Recovery::Sack));
        sender.supply(first);
        send_all(&mut sender, at(0));
        sender.supply(4.max(first));
        send_all(&mut sender, at(50));
        sender.handle_reply(at(100), ack(2));
        sender.handle_reply(at(150), ack(4));
        let told = witness.deliveries.lock().unwrap().clone();
        assert!(!told[0].rate.unwrap().application_limited, "sent before");
        assert_eq!(told[1].rate.unwrap().application_limited, marked);
    }
}

#[test]
fn samples_of_held_sender_are_its_own() {
    let witness = Witness { asks: true, ..Witness::default() };
    let mut sender = witness.sender(params(Recovery::Sack));
    sender.hold_back(2);
    for (ms, acknowledged) in [(0, 2), (100, 4), (200, 6)] {
        assert_eq!(send_all(&mut sender, at(ms)).len(), 2);
        sender.handle_reply(at(ms + 100), ack(acknowledged));
    }
    let told = witness.deliveries.lock().unwrap().clone();
    assert!(told.iter().all(|told| !told.rate.unwrap().application_limited));
}

/// Let go, a sender opens until the flight fills the window of ten; then RFC 3042 lets one more out for a
/// duplicate.
#[test]
fn opening_ends_when_the_window_is_filled() {
    let rules = SenderParams { limited_transmit: true, ..params(Recovery::NewReno) };
    let mut sender = Witness::default().sender(rules);
    send_all(&mut sender, at(0));
    sender.hold_back(2);
    sender.handle_reply(at(100), ack(8));
    sender.let_go();
    for (acknowledged, under_way) in [(10, 4), (14, 8), (16, 10)] {
        sender.handle_reply(at(200), ack(acknowledged));
        send_all(&mut sender, at(200));
        assert_eq!(sender.outstanding(), under_way);
    }
    sender.handle_reply(at(300), ack(16));
    assert_eq!(send_all(&mut sender, at(300)), [26]);
}

/// After a time-out the segments under way then are being repaired, until the last of them is acknowledged.
#[test]
fn repair_after_a_timeout_ends_with_its_flight() {
    let witness = Witness { asks: true, ..Witness::default() };
    let mut sender = witness.sender(params(Recovery::NewReno));
    assert_eq!(send_all(&mut sender, at(0)).len(), 10);
    sender.handle_timeout(at(1000));
    for (ms, acknowledged) in [(1100, 1), (1200, 9), (1300, 10), (1400, 12)] {
        send_all(&mut sender, at(ms - 50));
        sender.handle_reply(at(ms), ack(acknowledged));
    }
    let told: Vec<Repair> = witness.deliveries.lock().unwrap().iter().map(|told| told.repair).collect();
    assert_eq!(told, [Repair::Timeout, Repair::Timeout, Repair::None, Repair::None]);
}

#[test]
fn law_receives_the_next_pacing_time() {
    let gap = Some(Duration::from_millis(7));
    let witness = Witness { asks: true, gap, ..Witness::default() };
    let mut sender = witness.sender(params(Recovery::Sack));
    assert_eq!(send_all(&mut sender, at(20)), [0]);
    sender.handle_reply(at(100), ack(1));
    assert_eq!(witness.deliveries.lock().unwrap()[0].paced_until, at(27));
}
