//! Flows that start and stop, and their data.

use super::{Attached, Due};
use crate::core::Core;
use crate::packet::{Body, Way};
use crate::spec::{Pattern, RatedSpec, Source, Traffic};
use evenair_units::{Duration, Instant};

impl Attached {
    /// A stretch of activity begins.
    pub(super) fn start(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let Some((_, until)) = state.active.pop_front() else { return };
        if state.is_finished() {
            return; // an earlier stretch of activity completed the transfer
        }
        state.run += 1;
        state.is_active = true;
        state.interval.began = core.now();
        state.began.get_or_insert(core.now());
        let next = state.active.front().map(|&(from, _)| from);
        if !until.is_never() {
            core.call_at(until, Due::Stop(flow));
        }
        if let Some(from) = next {
            core.call_at(from, Due::Start(flow));
        }
        match self.flows[flow as usize].traffic {
            Traffic::Tcp(_) | Traffic::Tfrc(_) => {
                self.open_connections(core, flow);
                self.schedule_production(core, flow);
                self.schedule_connections(core, flow);
                self.start_probes(core, flow);
            }
            Traffic::Datagrams { pattern: Pattern::Saturated, .. } => {
                // As many as the MAC takes, and one that waits behind them.
                let ahead = core.packets_ahead(self.flows[flow as usize].hops.forward);
                (0..=ahead).for_each(|_| self.send_datagram(core, flow));
            }
            Traffic::Datagrams { pattern, .. } => {
                if let Pattern::OnOff { on, .. } = pattern {
                    self.toggle_after(core, flow, on);
                }
                if pattern.begins_at_once() {
                    self.send_datagram(core, flow);
                }
                self.schedule_datagram(core, flow);
            }
            Traffic::Rated(_) => self.start_rate(core, flow),
            Traffic::Web(_) => self.start_web(core, flow),
            Traffic::Outside(_) => (), // whoever injects its packets knows when
        }
    }

    /// Ends a stretch of activity: no new data; segments under way are finished.
    pub(super) fn stop(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        state.is_active = false;
        state.datagram_due = Instant::NEVER;
        if state.web.is_some() {
            return self.stop_web(core, flow);
        }
        for id in self.flows[flow as usize].connections.clone() {
            self.end_connection(core, flow, id);
        }
    }

    /// Whether an event of this stretch of activity is still meant.
    pub(super) fn is_current(&self, flow: u32, run: u32) -> bool {
        let state = &self.flows[flow as usize];
        state.is_active && state.run == run
    }

    /// The next datagram is due.
    #[inline(never)]
    pub(crate) fn on_datagram(&mut self, core: &mut Core<Due>, flow: u32) {
        if self.flows[flow as usize].datagram_due == core.now() {
            self.send_datagram(core, flow);
            self.schedule_datagram(core, flow);
        }
    }

    #[expect(clippy::inline_always, reason = "each datagram passes here")]
    #[inline(always)]
    fn schedule_datagram(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let gap = match &state.traffic {
            Traffic::Rated(_) => return self.schedule_paced(core, flow),
            Traffic::Datagrams { pattern, .. } => pattern.next_in(&mut state.stream),
            Traffic::Tcp(_) | Traffic::Tfrc(_) | Traffic::Web(_) | Traffic::Outside(_) => None,
        };
        let Some(gap) = gap else { return };
        state.datagram_due = core.now() + gap;
        core.call_at(core.now() + gap, Due::Datagram(flow));
    }

    fn toggle_after(&mut self, core: &mut Core<Due>, flow: u32, mean: Duration) {
        let state = &mut self.flows[flow as usize];
        let length = state.stream.exponential(mean);
        let run = state.run;
        core.call_at(core.now() + length, Due::Toggle(flow, run));
    }

    /// An on-off source changes its state.
    pub(super) fn on_toggle(&mut self, core: &mut Core<Due>, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let state = &mut self.flows[flow as usize];
        let Traffic::Datagrams { pattern: Pattern::OnOff { on, off, .. }, .. } = state.traffic else {
            return;
        };
        let was_on = !state.datagram_due.is_never();
        self.toggle_after(core, flow, if was_on { off } else { on });
        if was_on {
            self.flows[flow as usize].datagram_due = Instant::NEVER;
        } else {
            self.send_datagram(core, flow);
            self.schedule_datagram(core, flow);
        }
    }

    /// An application produces one more segment.
    pub(super) fn on_produce(&mut self, core: &mut Core<Due>, flow: u32, run: u32) {
        if !self.is_current(flow, run) {
            return;
        }
        let state = &mut self.flows[flow as usize];
        state.produced += 1;
        let produced = state.produced;
        let over_tfrc = state.is_tfrc();
        for id in state.connections.clone() {
            if over_tfrc {
                self.tfrc[id as usize].supply(produced);
                self.pump_tfrc(core, id);
            } else {
                self.connections[id as usize].sender.supply(produced);
                self.pump(core, id);
            }
        }
        self.schedule_production(core, flow);
    }

    fn schedule_production(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &self.flows[flow as usize];
        if let Some(Source::Paced(interval)) = state.traffic.source() {
            let event = Due::Produce(flow, state.run);
            core.call_at(core.now() + interval, event);
        }
    }

    /// A source hands a datagram down.
    #[expect(clippy::inline_always, reason = "each datagram passes here")]
    #[inline(always)]
    pub(super) fn send_datagram(&mut self, core: &mut Core<Due>, flow: u32) {
        let state = &mut self.flows[flow as usize];
        let size = match &state.traffic {
            Traffic::Datagrams { pattern: Pattern::Poisson { .. }, .. } => {
                state.traffic.next_size(&mut state.stream)
            }
            Traffic::Datagrams { size, .. } | Traffic::Rated(RatedSpec { size, .. }) => *size,
            _ => return,
        };
        if let Some(paced) = &mut state.paced {
            paced.spend(core.now());
        }
        let number = state.next_datagram;
        state.next_datagram += 1;
        let hop = state.hops.forward;
        let body = Body::Datagram { number, sent: core.now() };
        core.inject(Way::forward(flow), hop, size.count(), body);
    }

    /// A datagram has arrived.
    pub(super) fn deliver_datagram(&mut self, now: Instant, flow: u32, handed: Instant) {
        let state = &mut self.flows[flow as usize];
        state.hand_over(now, 1);
        state.delay.add(now.since(handed));
    }
}
