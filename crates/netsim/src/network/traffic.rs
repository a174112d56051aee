//! Flows that start and stop, and what they send meanwhile.

use super::{Event, Network};
use crate::packet::{Body, Packet};
use crate::spec::{Pattern, Source, Traffic};
use evenair_units::{Duration, Instant};

impl Network {
    /// A stretch of activity begins.
    pub(super) fn start(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Some((_, until)) = state.active.pop_front() else { return };
        if state.is_finished() {
            return; // an earlier stretch of activity completed the transfer
        }
        state.run += 1;
        state.is_active = true;
        state.interval.began = self.now;
        let next = state.active.front().map(|&(from, _)| from);
        if !until.is_never() {
            self.host(until, Event::Stop(flow));
        }
        if let Some(from) = next {
            self.host(from, Event::Start(flow));
        }
        match self.flows[flow as usize].traffic {
            Traffic::Tcp(_) => {
                self.open_connection(flow);
                self.schedule_production(flow);
                self.schedule_connections(flow);
            }
            Traffic::Datagrams { pattern: Pattern::Saturated, .. } => {
                // One for the MAC and one that waits behind it.
                self.send_datagram(flow);
                self.send_datagram(flow);
            }
            Traffic::Datagrams { pattern, .. } => {
                if let Pattern::OnOff { on, .. } = pattern {
                    self.toggle_after(flow, on);
                }
                self.send_datagram(flow);
                self.schedule_datagram(flow);
            }
        }
    }

    /// A stretch of activity ends: no new data; what is under way is finished.
    pub(super) fn stop(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        state.is_active = false;
        state.datagram_due = Instant::NEVER;
        for id in self.flows[flow as usize].connections.clone() {
            self.drain(id);
        }
    }

    /// Whether an event of this stretch of activity is still meant.
    pub(super) fn is_current(&self, flow: u32, run: u32) -> bool {
        let state = &self.flows[flow as usize];
        state.is_active && state.run == run
    }

    /// The next datagram is due.
    pub(super) fn on_datagram(&mut self, flow: u32) {
        if self.flows[flow as usize].datagram_due == self.now {
            self.send_datagram(flow);
            self.schedule_datagram(flow);
        }
    }

    fn schedule_datagram(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let gap = match state.traffic {
            Traffic::Datagrams { pattern: Pattern::Constant { interval, jitter }, .. } if jitter > 0.0 => {
                interval.mul_f64(1.0 + jitter * (2.0 * state.stream.unit() - 1.0))
            }
            Traffic::Datagrams {
                pattern: Pattern::Constant { interval, .. } | Pattern::OnOff { interval, .. },
                ..
            } => interval,
            Traffic::Datagrams { pattern: Pattern::Saturated, .. } | Traffic::Tcp(_) => return,
        };
        state.datagram_due = self.now + gap;
        self.host(self.now + gap, Event::Datagram(flow));
    }

    fn toggle_after(&mut self, flow: u32, mean: Duration) {
        let state = &mut self.flows[flow as usize];
        let length = state.stream.exponential(mean);
        let run = state.run;
        self.host(self.now + length, Event::Toggle(flow, run));
    }

    /// An on-off source changes its state.
    pub(super) fn on_toggle(&mut self, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let state = &mut self.flows[flow as usize];
        let Traffic::Datagrams { pattern: Pattern::OnOff { on, off, .. }, .. } = state.traffic else {
            return;
        };
        let was_on = !state.datagram_due.is_never();
        self.toggle_after(flow, if was_on { off } else { on });
        if was_on {
            self.flows[flow as usize].datagram_due = Instant::NEVER;
        } else {
            self.send_datagram(flow);
            self.schedule_datagram(flow);
        }
    }

    /// An application produces one more segment.
    pub(super) fn on_produce(&mut self, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let state = &mut self.flows[flow as usize];
        state.produced += 1;
        let produced = state.produced;
        for id in state.connections.clone() {
            self.connections[id as usize].sender.supply(produced);
            self.pump(id);
        }
        self.schedule_production(flow);
    }

    fn schedule_production(&mut self, flow: u32) {
        let state = &self.flows[flow as usize];
        if let Some(Source::Paced(interval)) = state.tcp().map(|tcp| tcp.source) {
            let event = Event::Produce(flow, state.run);
            self.host(self.now + interval, event);
        }
    }

    /// A source hands a datagram down.
    pub(super) fn send_datagram(&mut self, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Traffic::Datagrams { size, .. } = state.traffic else { return };
        let number = state.next_datagram;
        state.next_datagram += 1;
        let body = Body::Datagram { number, sent: self.now };
        self.originate(Packet {
            flow,
            connection: 0,
            epoch: 0,
            size: size.count() as u16,
            hop: 0,
            answers: 0,
            body,
        });
    }

    /// A datagram has arrived.
    pub(super) fn deliver_datagram(&mut self, flow: u32, sent: Instant) {
        let warm = self.now >= self.meter.warm_at;
        let delay = self.now.since(sent);
        let state = &mut self.flows[flow as usize];
        state.hand_over(self.now, 1);
        if warm {
            state.delays.add(delay);
            if let Some(last) = state.last_delay {
                state.jitter.add(delay.saturating_sub(last).max(last.saturating_sub(delay)));
            }
        }
        state.last_delay = Some(delay);
    }
}
