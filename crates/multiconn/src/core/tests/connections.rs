//! One connection: when it is stuck, when it is given up, and when it is finished.

use super::super::subflow::{Change, Subflow};
use super::told::{events, ms, relay, said, tell};
use super::*;

/// Returns a connection with a round trip of 20 ms that began at zero.
fn begun() -> Subflow {
    let mut subflow = Subflow::new(1, Instant::ZERO);
    let idle = Measured { round_trip: Some(ms(20)), ..Measured::default() };
    assert_eq!(subflow.measured(Instant::ZERO, idle), Change::None);
    subflow
}

const WAITING: Measured = Measured { round_trip: None, waiting: 1, acknowledged: 0, window: None };

fn at(after_ms: u64) -> Instant {
    Instant::ZERO + ms(after_ms)
}

/// 200 ms count from the first waiting byte, after any idle time.
#[test]
fn connection_is_not_stuck_for_having_been_idle() {
    let mut subflow = begun();
    assert_eq!(subflow.measured(at(900), WAITING), Change::None);
    assert_eq!(subflow.measured(at(1100), WAITING), Change::None);
    assert_eq!(subflow.measured(at(1101), WAITING), Change::Stuck);
    assert_eq!(subflow.measured(at(1102), WAITING), Change::StillStuck);
    assert_eq!(subflow.measured(at(1103), Measured { acknowledged: 1, ..WAITING }), Change::Free);
    assert_eq!(subflow.measured(at(1104), Measured { acknowledged: 1, ..WAITING }), Change::None);
}

/// With an unanswered ping, 1500 ms count from the time at which TCP has acknowledged everything.
#[test]
fn answer_is_waited_for_from_last_ack_on() {
    let mut subflow = begun();
    subflow.asked_at = Some(at(0));
    assert_eq!(subflow.measured(at(50), WAITING), Change::None);
    assert_eq!(subflow.measured(at(150), Measured::default()), Change::None);
    assert_eq!(subflow.measured(at(1650), Measured::default()), Change::None);
    assert_eq!(subflow.measured(at(1651), Measured::default()), Change::Stuck);
}

/// After more than 20 s without progress, or nine round trips.
#[test]
fn stuck_connection_is_given_up_in_the_end() {
    for (round_trip_ms, most_ms) in [(20, 20_000), (2_000, 20_000), (3_000, 27_000)] {
        let mut subflow = begun();
        let waiting = Measured { round_trip: Some(ms(round_trip_ms)), ..WAITING };
        subflow.measured(at(0), waiting);
        assert_eq!(subflow.measured(at(most_ms - 1), waiting), Change::Stuck);
        assert_eq!(subflow.measured(at(most_ms), waiting), Change::StillStuck);
        assert_eq!(subflow.measured(at(most_ms + 1), waiting), Change::GivenUp);
        assert_eq!(subflow.measured(at(most_ms + 60_000), waiting), Change::GivenUp);
    }
}

/// In either order: this side's `Retire` must be answered, and the other's.
#[test]
fn connection_has_served_once_both_answered() {
    let served = |core: &mut Core| events(core).contains(&Event::Served(1));
    let (mut core, now) = relay(limits(1 << 16));
    core.retire(1);
    assert_eq!(said(&mut core, 1, now), ["Retire"]);
    tell(&mut core, Frame::Retired, now).unwrap();
    assert!(!served(&mut core), "the client still sends");
    tell(&mut core, Frame::Retire, now).unwrap();
    assert!(!served(&mut core), "the client waits for an answer");
    assert_eq!(said(&mut core, 1, now), ["Retired"]);
    assert!(served(&mut core));

    let (mut core, now) = relay(limits(1 << 16));
    tell(&mut core, Frame::Retired, now).unwrap();
    tell(&mut core, Frame::Retire, now).unwrap();
    assert_eq!(said(&mut core, 1, now), ["Retired", "Retire"]);
    assert!(!served(&mut core), "what was answered before it was said is no answer");
    tell(&mut core, Frame::Retired, now).unwrap();
    assert!(served(&mut core));
}
