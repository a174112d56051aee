//! A sender that is held back, and let go.

use super::*;
use evenair_laws::window::ScaledRenoParams;

#[test]
fn held_sender_stays_below_its_limit() {
    for kind in [Recovery::NewReno, Recovery::Sack] {
        let mut sender = with_flight(kind, 10);
        assert!(!sender.is_held_back());
        sender.hold_back(2);
        assert!(sender.is_held_back());
        let mut sent = Vec::new();
        for number in 1..=10 {
            sender.handle_reply(at(100), ack(number));
            sent.extend(send_all(&mut sender, at(100)));
        }
        assert_eq!(sent, [10, 11], "two are under way, the window is ten");
        // Let go it opens as in slow start: each that arrives lets out two, up to the window.
        sender.let_go();
        assert!(!sender.is_held_back());
        let mut under_way = Vec::new();
        for number in 11..=20 {
            sender.handle_reply(at(200), ack(number));
            send_all(&mut sender, at(200));
            under_way.push(sender.outstanding());
        }
        assert_eq!(&under_way[..4], [3, 4, 5, 6]);
        assert!(under_way.iter().all(|&segments| segments <= 11) && under_way[9] >= 10, "{under_way:?}");
    }
}

#[test]
fn held_sender_repeats_losses() {
    let mut sender = with_flight(Recovery::NewReno, 6);
    sender.hold_back(0);
    for _ in 0..3 {
        sender.handle_reply(at(100), ack(0));
    }
    assert_eq!(send_all(&mut sender, at(100)), [0]);
    sender.handle_reply(at(200), ack(6));
    assert_eq!(send_all(&mut sender, at(200)), [0; 0]);
    sender.let_go();
    assert_eq!(send_all(&mut sender, at(200)), [6], "one, so that an acknowledgement comes");
}

#[test]
fn one_socket_grows_by_its_worth() {
    let start = start(10.0, 2.0);
    let mut sender =
        Sender::new(SenderParams { start, ..params(Recovery::Sack) }, &ScaledRenoParams {}.into());
    sender.be_worth(2.5);
    send_all(&mut sender, at(0));
    for number in 1..=10 {
        sender.handle_reply(at(100), ack(number));
        send_all(&mut sender, at(100));
    }
    // A round trip's acknowledgements: ten times 2.5/W, with a window that grows between them.
    assert!((sender.congestion_window() - 12.25).abs() < 0.1, "{}", sender.congestion_window());
}
