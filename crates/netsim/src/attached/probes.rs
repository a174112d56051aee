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

/// The probes of one flow's path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Prober {
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
    /// A data packet is sent.
    #[inline]
    pub(crate) const fn count_data(&mut self) {
        self.data += 1;
    }

    /// Probes sent so far.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Probes that came to the destination so far.
    pub(crate) const fn came(&self) -> u64 {
        self.came
    }

    /// The mean round trip since the warm-up.
    pub(crate) fn measured(&self) -> Option<Duration> {
        self.measured.mean()
    }

    /// The mean round trip since this was last asked.
    pub(crate) fn take_mean(&mut self) -> Option<Duration> {
        std::mem::take(&mut self.samples).mean()
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

    /// Takes the next probe, if one is due, and says when to come again.
    fn next(&mut self, now: Instant) -> (bool, Instant) {
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
            (prober.data, prober.left, prober.round_ends) = (0, 0, core.now());
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
        prober.turn_to(core.now(), spec.most_per_second);
        let (sends, again) = prober.next(core.now());
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
            state.prober.iter_mut().for_each(|prober| prober.came += 1);
            let size = state.traffic.probes().expect("only flows with connections are probed").size;
            core.inject(Way::backward(way.flow()), state.hops.backward, size.count(), Body::Probe { sent });
            return;
        }
        let prober = state.prober.as_mut().expect("a probe came back");
        debug_assert!(sent < now, "a probe came back in no time");
        let round_trip = now.since(sent);
        prober.round_trip = Some(round_trip);
        prober.samples.add(round_trip);
        if warm {
            prober.measured.add(round_trip);
        }
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
            (told..data).for_each(|_| prober.count_data());
            told = told.max(data);
            prober.turn_to(now, most_per_second);
            let (_, again) = prober.next(now);
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
            (0..100).for_each(|_| prober.count_data());
            prober.turn_to(now, None);
            let (sends, again) = prober.next(now);
            assert!(sends && again == now + FIRST_ROUND);
            now = again;
        }
    }
}
