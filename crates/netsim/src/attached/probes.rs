//! Probes of a flow's path: [CZ06]'s RTT measurement sub-system (section IV-A).
//!
//! In each round trip as many are sent as data packets were in the last one, at even distances, on the flow's own way there and
//! back. They are packets like others: they wait in queues, and may be lost.

use super::flow::Samples;
use super::{Attached, Due};
use crate::core::Core;
use crate::packet::{Body, Way};
use evenair_units::{Duration, Instant};

/// How long a round is as long as no probe has come back: RFC 6298's first time-out.
const FIRST_ROUND: Duration = Duration::from_secs(1);

/// The probes of one flow's path: their due times and results. The flow's host sends them.
#[derive(Clone, Debug, Default)]
pub struct Prober {
    /// Data packets that were sent in this round.
    data: u32,
    /// Probes that this round still has to send, and their distance.
    left: u32,
    gap: Duration,
    round_ends: Instant,
    /// The last round trip.
    round_trip: Option<Duration>,
    /// Round trips since the connection law last ran, and since the warm-up.
    samples: Samples,
    measured: Samples,
    sent: u64,
    /// How many came to the destination.
    came: u64,
}

impl Prober {
    /// So many data packets are sent.
    #[inline]
    pub const fn count_data(&mut self, packets: u32) {
        self.data += packets;
    }

    /// Probes sent so far.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Probes that came to the destination so far.
    pub const fn came(&self) -> u64 {
        self.came
    }

    /// The mean round trip since the warm-up.
    pub fn measured(&self) -> Option<Duration> {
        self.measured.mean()
    }

    /// The mean round trip since this was last asked.
    pub fn take_mean(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.samples).mean()
    }

    /// The flow begins to send.
    pub const fn begin(&mut self, now: Instant) {
        (self.data, self.left, self.round_ends) = (0, 0, now);
    }

    /// One has come to the destination, which answers it.
    pub const fn arrive(&mut self) {
        self.came += 1;
    }

    /// One has come back.
    pub fn come_back(&mut self, round_trip: Duration, is_measured: bool) {
        self.round_trip = Some(round_trip);
        self.samples.add(round_trip);
        if is_measured {
            self.measured.add(round_trip);
        }
    }

    /// Begins the round that comes after the last, if that is over.
    fn turn_to(&mut self, now: Instant, most_per_second: Option<f64>) {
        if now < self.round_ends {
            return;
        }
        let data = std::mem::take(&mut self.data);
        let round = self.round_trip.unwrap_or(FIRST_ROUND).max(Duration::from_micros(1));
        // As long as there is no round trip there is nothing that a round could count.
        let wanted = if self.round_trip.is_some() { data } else { 1 };
        let most = most_per_second.map_or(u32::MAX, |rate| (rate * round.as_secs_f64()).ceil() as u32);
        self.left = wanted.min(most);
        self.gap = round / u64::from(self.left.max(1));
        self.round_ends = now + round;
    }

    /// Takes the next probe, if one is due, and says when to come again; no more than so many a second on average over a round.
    pub fn next(&mut self, now: Instant, most_per_second: Option<f64>) -> (bool, Instant) {
        self.turn_to(now, most_per_second);
        let sends = self.left > 0;
        self.left -= u32::from(sends);
        self.sent += u64::from(sends);
        let again = if self.left > 0 { now + self.gap } else { self.round_ends };
        (sends, again.max(now + Duration::from_nanos(1)))
    }
}

impl Attached {
    /// The flow's path is probed from now on, if its law wants to know.
    pub(super) fn start_probes(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        if let Some(prober) = &mut state.prober {
            prober.begin(core.now());
            core.call_at(core.now(), Due::Probe(flow, state.run));
        }
    }

    /// The next probe of a flow is due, or its next round.
    pub(super) fn on_probe(&mut self, core: &mut Core<Due>, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let state = &mut self.flows[flow as usize];
        let Some(spec) = state.traffic.probes() else { return };
        let hop = state.hops.forward;
        let Some(prober) = &mut state.prober else { return };
        let (sends, again) = prober.next(core.now(), spec.most_per_second);
        if sends {
            core.inject(Way::forward(flow), hop, spec.size.count(), Body::Probe { sent: core.now() });
        }
        core.call_at(again, Due::Probe(flow, run));
    }

    /// A probe has come to the end of its way: the destination sends it back, the source reads it.
    pub(super) fn deliver_probe(&mut self, core: &mut Core<Due>, way: Way, sent: Instant) {
        let now = core.now();
        let warm = now >= self.warm_at;
        let state = &mut self.flows[way.flow() as usize];
        if way == Way::forward(way.flow()) {
            state.prober.iter_mut().for_each(|prober| prober.arrive());
            let size = state.traffic.probes().expect("only flows with connections are probed").size;
            core.inject(Way::backward(way.flow()), state.hops.backward, size.count(), Body::Probe { sent });
            return;
        }
        let prober = state.prober.as_mut().expect("a probe came back");
        debug_assert!(sent < now, "a probe came back in no time");
        prober.come_back(now.since(sent), warm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many probes are sent in ten seconds, with so many data packets a second.
    fn sent(data_per_second: u32, round_trip: Duration, most_per_second: Option<f64>) -> u64 {
        let mut prober = Prober { round_trip: Some(round_trip), ..Prober::default() };
        let (mut now, end) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(10));
        let mut told = 0;
        while now < end {
            let data = (now.since(Instant::ZERO).as_secs_f64() * f64::from(data_per_second)) as u32;
            prober.count_data(data.saturating_sub(told));
            told = told.max(data);
            let (_, again) = prober.next(now, most_per_second);
            assert!(again > now);
            now = again;
        }
        prober.sent()
    }

    #[test]
    fn there_are_as_many_as_data_packets() {
        for (rate, ms) in [(100, 168), (85, 500), (10, 2000)] {
            let sent = sent(rate, Duration::from_millis(ms), None);
            // The first round has none, because nothing was sent before it.
            let expected = f64::from(rate) * (10.0 - 1e-3 * ms as f64);
            assert!((sent as f64 / expected - 1.0).abs() < 0.12, "{sent} {expected}");
        }
        assert_eq!(sent(0, Duration::from_millis(100), None), 0, "no data, no probes");
    }

    #[test]
    fn a_cap_holds_on_average_over_a_round_trip() {
        let sent = sent(1000, Duration::from_millis(200), Some(50.0));
        assert!((480..=500).contains(&sent), "{sent}");
    }

    #[test]
    fn one_a_second_until_one_comes_back() {
        let mut prober = Prober::default();
        let mut now = Instant::ZERO;
        for _ in 0..5 {
            prober.count_data(100);
            let (sends, again) = prober.next(now, None);
            assert!(sends && again == now + FIRST_ROUND);
            now = again;
        }
    }
}
