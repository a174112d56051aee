//! Connections like TCP's over a lossy path, one round trip at a time: the stream's share of the bytes that
//! its connections carry.

use super::*;
use crate::core::AHEAD_MOST;

const SEGMENT: u64 = 1448;
const ROUND_MS: u64 = 50;
const ROUNDS: u64 = 1200;
/// A time-out, in round trips.
const TIMEOUT: u32 = 5;

/// A sender with losses: a window that halves, and below four segments a time-out instead of a fast recovery.
struct Tcp {
    window: u64,
    threshold: u64,
    silent: u32,
    held: u64,
    passed: u64,
    random: u64,
}

impl Tcp {
    fn new(seed: u64) -> Self {
        Self { window: 10, threshold: u64::MAX, silent: 0, held: 0, passed: 0, random: seed }
    }

    fn is_lost(&mut self, per_mille: u64) -> bool {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % 1000 < per_mille
    }

    /// Simulates a round trip; returns the bytes that arrived in order.
    fn round(&mut self, per_mille: u64) -> u64 {
        if self.silent > 0 {
            self.silent -= 1;
            return 0;
        }
        let sent = self.window.min(self.held.div_ceil(SEGMENT));
        let through = (0..sent).position(|_| self.is_lost(per_mille));
        let carried = (through.map_or(sent, |first| first as u64) * SEGMENT).min(self.held);
        match through {
            None if self.window < self.threshold => self.window *= 2,
            None => self.window += 1,
            Some(_) => {
                self.threshold = (self.window / 2).max(2);
                // The rest arrives with the retransmission, in the next round, or after a time-out.
                (self.window, self.silent) = if sent >= 4 { (self.threshold, 0) } else { (1, TIMEOUT) };
            }
        }
        self.held -= carried;
        self.passed += carried;
        carried
    }
}

/// Runs four connections for a minute; returns the bytes read in order, those that the connections carried,
/// and those sent again.
fn carried(per_mille: u64, tells_window: bool, seed: u64) -> (u64, u64, u64) {
    let (mut pair, stream, subflows) = Pair::of_four(Limits::default(), 1 << 28);
    let mut senders: BTreeMap<SubflowId, Tcp> =
        subflows.iter().map(|subflow| (*subflow, Tcp::new(seed + u64::from(*subflow)))).collect();
    let (words, mut into, mut read) = (vec![7; 1 << 20], vec![0; 1 << 20], 0);
    for _ in 0..ROUNDS {
        pair.pass(ROUND_MS);
        let now = pair.now;
        let _ = pair.cores[0].write(stream, &words, now);
        for subflow in &subflows {
            let sender = senders.get_mut(subflow).unwrap();
            let ahead = if tells_window { pair.cores[0].ahead(*subflow).unwrap() } else { AHEAD_MOST };
            sender.held = pair.fill(*subflow, sender.held, sender.window * SEGMENT + ahead / 2);
        }
        for subflow in &subflows {
            let sender = senders.get_mut(subflow).unwrap();
            sender.round(per_mille);
            let out = pair.wires[subflow][0].len() - sender.held as usize;
            pair.deliver_within(0, *subflow, out);
            let measured = Measured {
                round_trip: Some(Duration::from_millis(ROUND_MS)),
                waiting: sender.held,
                acknowledged: sender.passed,
                window: tells_window.then_some(sender.window * SEGMENT),
            };
            pair.cores[0].measured(*subflow, measured, now);
        }
        while let Ok(Read::Bytes(count)) = pair.cores[1].read(stream, &mut into, now) {
            read += count as u64;
        }
        pair.pass(25);
        for subflow in &subflows {
            pair.pull(1, *subflow);
            pair.deliver(1, *subflow, usize::MAX);
        }
    }
    (read, senders.values().map(|sender| sender.passed).sum(), pair.cores[0].counts().again)
}

/// Returns the bytes read and those sent again, as shares of the bytes carried, over several minutes with 4 %
/// loss.
fn shares(tells_window: bool) -> (f64, f64) {
    let all: Vec<_> = (1..=6).map(|seed| carried(40, tells_window, 1000 * seed)).collect();
    let sum = |of: fn(&(u64, u64, u64)) -> u64| all.iter().map(of).sum::<u64>() as f64;
    let carried = sum(|one| one.1);
    (sum(|one| one.0) / carried, sum(|one| one.2) / carried)
}

#[test]
fn frequent_time_outs_cause_few_repetitions() {
    let (read, again) = shares(true);
    assert!(read > 0.94 && again < 0.05, "{read} read, {again} again");
    let (read, again) = shares(false);
    assert!(read < 0.92 && again > 0.08, "{read} read, {again} again");
}
