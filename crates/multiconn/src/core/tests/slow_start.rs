//! Connections in slow start, as sockets with doubling windows: the stream must have data for all of them.

use super::*;

const ROUND_TRIP_MS: u64 = 100;
/// Ten segments, RFC 6928's first window \[bytes\].
const FIRST: u64 = 14_480;

/// Doubles the windows of several connections `rounds` times; returns the bytes that the stream supplied in
/// the last round, and the windows.
fn filled(connections: usize, rounds: u32, reads: bool) -> (u64, u64) {
    let (mut pair, stream, subflows) = Pair::of_four(Limits::default(), 1 << 30);
    let round_trip = Some(Duration::from_millis(ROUND_TRIP_MS));
    for subflow in &subflows {
        (0..2).for_each(|side| {
            pair.cores[side].measured(*subflow, Measured { round_trip, ..Measured::default() }, pair.now);
        });
    }
    let (words, mut into) = (vec![7; 1 << 22], vec![0; 1 << 22]);
    let (mut window, mut last) = (FIRST, (0, 0));
    for _ in 0..rounds {
        let now = pair.now;
        let mut sent = 0;
        for subflow in &subflows[..connections] {
            let _ = pair.cores[0].write(stream, &words, now);
            sent += pair.fill(*subflow, 0, window);
        }
        last = (sent, window * connections as u64);
        pair.pass(ROUND_TRIP_MS / 2);
        let now = pair.now;
        for subflow in &subflows[..connections] {
            pair.deliver(0, *subflow, usize::MAX);
            if reads {
                while matches!(pair.cores[1].read(stream, &mut into, now), Ok(Read::Bytes(_))) {}
            }
        }
        subflows.iter().for_each(|subflow| while pair.pull(1, *subflow) {});
        pair.pass(ROUND_TRIP_MS / 2);
        subflows.iter().for_each(|subflow| while pair.deliver(1, *subflow, usize::MAX) {});
        window *= 2;
    }
    last
}

#[test]
fn stream_window_never_limits_slow_start() {
    for rounds in 1..=8 {
        for connections in [1, 4] {
            let (sent, windows) = filled(connections, rounds, true);
            assert!(
                sent >= windows,
                "{sent} of {windows} bytes by {connections} connections in round {rounds}"
            );
        }
    }
}

#[test]
fn unread_stream_gets_no_more_data() {
    assert_eq!(filled(1, 8, false).0, 0);
}
