//! Connections as sockets of one rate each, of which one waits for a time-out: the time for which the stream
//! waits with it.

use super::*;
use crate::core::AHEAD_MOST;

/// The rate of each connection: it carries a window in a round trip of 50 ms \[bytes/s, bytes\].
const RATE: u64 = 125_000;
const WINDOW: u64 = RATE / 20;
const STEP_MS: u64 = 5;
/// The second connection is silent during this time \[ms\].
const SILENT: std::ops::Range<u64> = 4000..5200;

/// The bytes that a socket holds and has passed on \[bytes\].
#[derive(Default)]
struct Socket {
    held: u64,
    passed: u64,
}

/// Runs four connections; returns the longest time without a byte in order \[ms\], and the bytes that were
/// sent again.
fn longest_silence(tells_window: bool) -> (u64, u64) {
    let limits = Limits { window: 1 << 20, window_most: 1 << 24, held_most: 1 << 24, ..Limits::default() };
    let (mut pair, stream, subflows) = Pair::of_four(limits, 1 << 26);
    let mut sockets: BTreeMap<SubflowId, Socket> =
        subflows.iter().map(|subflow| (*subflow, Socket::default())).collect();
    let (mut into, mut read_at, mut longest) = (vec![0; 1 << 20], 0, 0);
    let words = vec![7; 1 << 16];
    for at_ms in (0..8000).step_by(STEP_MS as usize) {
        pair.pass(STEP_MS);
        let now = pair.now;
        let _ = pair.cores[0].write(stream, &words, now);
        for subflow in &subflows {
            let socket = sockets.get_mut(subflow).unwrap();
            let ahead = if tells_window { pair.cores[0].ahead(*subflow).unwrap() } else { AHEAD_MOST };
            socket.held = pair.fill(*subflow, socket.held, ahead / 2);
            let carried = (RATE * STEP_MS / 1000).min(socket.held);
            if !(*subflow == subflows[1] && SILENT.contains(&at_ms)) {
                socket.held -= carried;
                socket.passed += carried;
            }
            // Whole frames of the passed bytes are delivered.
            let out = pair.wires[subflow][0].len() - socket.held as usize;
            pair.deliver_within(0, *subflow, out);
            if at_ms % 50 == 0 {
                let measured = Measured {
                    round_trip: Some(Duration::from_millis(50)),
                    waiting: socket.held,
                    acknowledged: socket.passed,
                    window: tells_window.then_some(WINDOW),
                };
                pair.cores[0].measured(*subflow, measured, now);
            }
            pair.pull(1, *subflow);
            pair.deliver(1, *subflow, usize::MAX);
        }
        if matches!(pair.cores[1].read(stream, &mut into, now), Ok(Read::Bytes(_))) {
            (longest, read_at) = (longest.max(at_ms - read_at), at_ms);
        }
    }
    assert!(pair.cores[0].counts().stuck >= 1, "the silence was noticed");
    (longest, pair.cores[0].counts().again)
}

#[test]
fn stream_waits_for_silent_connection_boundedly() {
    let (with_windows, again) = longest_silence(true);
    assert!(with_windows <= 350, "{with_windows} ms");
    assert!(again <= 2 * WINDOW, "{again} bytes: about what it had ahead");
    let (without, more) = longest_silence(false);
    assert!(without >= with_windows + 200 && more >= 8 * again, "{without} ms, {more} bytes");
}
