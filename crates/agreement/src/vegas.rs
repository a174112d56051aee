//! The kernel's own `tcp_vegas` (Linux 6.1) alone over a wire of 2 Mb/s, recorded by `validation/kernel/vegas.py`, and the same path in
//! evenair.

use evenair_netsim::{Network, RunSpec};
use evenair_scenario::Resolved;
use evenair_units::Duration;

/// Bytes of a full segment on the wire, with Ethernet's header, and of the headers before its data.
const FULL: f64 = 1514.0;
const HEADERS: u32 = 66;
/// The wire's rate \[b/s\].
const RATE_BPS: f64 = 2e6;

/// A flow that has come to rest: the last ten of thirty seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rest {
    /// The thresholds \[packets\].
    pub alpha: f64,
    /// See there.
    pub beta: f64,
    /// The wire's round trip \[ms\]; a full segment needs 6.06 more.
    pub wire_ms: f64,
    /// The mean window \[packets\].
    pub window: f64,
    /// The round trip that the law takes for the path's \[ms\].
    pub base_ms: f64,
    /// The rate of arrivals \[packets/s\].
    pub rate_pps: f64,
}

impl Rest {
    /// The record.
    pub fn recorded() -> Vec<Self> {
        include_str!("../../../validation/kernel/vegas.txt").lines().map(Self::of).collect()
    }

    fn of(line: &str) -> Self {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [alpha, beta, wire_ms, window, _least, _most, _round_trip_ms, base_ms, rate_pps, resent] =
            numbers[..]
        else {
            unreachable!("ten numbers a line")
        };
        assert!(resent < 1.0, "nothing is lost: {line}");
        Self { alpha, beta, wire_ms, window, base_ms, rate_pps }
    }

    /// The same in evenair.
    pub fn simulated(&self) -> Self {
        let Self { alpha, beta, wire_ms, .. } = *self;
        let text = format!(
            "
            warmup = \"20 s\"
            duration = \"10 s\"
            nodes = [{{ id = \"near\" }}, {{ id = \"far\" }}]
            wires = [{{ from = \"near\", to = \"far\", rate = \"{RATE_BPS} bps\", delay = \"{} ms\", queue = \"500 packets\" }}]
            flows = [{{ id = \"1\", from = \"near\", to = \"far\" }}]
            [tcp]
            window = {{ law = \"vegas\", alpha = {alpha:?}, beta = {beta:?}, gamma = 1.0, measure = \"linux\" }}
            sack = true
            initial_window = \"10 packets\"
            delayed_ack = \"40 ms\"
            payload = \"1448 bytes\"
            headers = \"{HEADERS} bytes\"
            receiver_window = \"2000 packets\"
            ",
            wire_ms / 2.0
        );
        let scenario = Resolved::parse("vegas", &text, &[]).expect("the scenario is right");
        let run = RunSpec { sample_every: Some(Duration::from_millis(10)), ..scenario.run_spec(1) };
        let flow = &Network::run(scenario.network(), run).flows[0];
        let bytes = FULL + f64::from(HEADERS);
        Self {
            window: flow.congestion_window,
            base_ms: wire_ms + bytes * 8.0 / RATE_BPS * 1e3,
            rate_pps: flow.goodput_pps,
            ..*self
        }
    }

    /// The windows between which nothing moves, `α ≤ w·(D/d − 1) ≤ β`, by the law's equation with the law's
    /// own d for the path.
    ///
    /// `D = w/C` where the window is even: each acknowledgement is of two segments that were sent together. Where it is odd, of the
    /// second of one pair and the first of the next, which was sent with `w − 1` under way: `D = (w − 1)/C`. So the band is from the
    /// one at α to the other at β \[packets\].
    pub fn band(&self) -> (f64, f64) {
        let path = RATE_BPS / 8.0 / FULL * self.base_ms / 1e3;
        let window = |excess: f64, less: f64| {
            let half = f64::midpoint(path, less);
            half + (half * half + path * excess).sqrt()
        };
        (window(self.alpha, 0.0), window(self.beta, 1.0))
    }
}
