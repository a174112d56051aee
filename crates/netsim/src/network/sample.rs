//! Measurement: the warm-up's end, time series, and the final result.

use super::{Event, Network};
use crate::flow::{Flow, Hop};
use crate::measure::{Counts, FlowCounts, FlowResult, LinkResult, QueueCounts, RunResult};
use crate::queue::{Service, TransmitQueue};
use evenair_des::Fingerprint;
use evenair_units::{Duration, Instant};
use evenair_wifi::Air;

impl Network {
    pub(super) fn on_warm(&mut self) {
        self.meter.at_warmup = self.counts();
        for flow in &mut self.flows {
            (flow.last_delivery, flow.silence) = (self.now, Duration::ZERO);
        }
        if self.run.ledger {
            self.air.start_ledger(self.now);
        }
    }

    /// All that has been counted so far.
    fn counts(&self) -> Counts {
        let flow = |flow: &Flow| {
            let mut stats = flow.finished;
            for &id in &flow.connections {
                stats.add(self.connections[id as usize].sender.stats());
            }
            FlowCounts {
                delivered: flow.delivered,
                datagrams: flow.next_datagram.into(),
                sent: stats.sent + u64::from(flow.next_datagram),
                retransmitted: stats.retransmitted,
                timeouts: stats.timeouts,
                lost: flow.lost,
                acks_lost: flow.acks_lost,
            }
        };
        let queue = |(index, queue): (usize, &TransmitQueue)| QueueCounts {
            dropped: queue.dropped,
            frames: match &self.air {
                Air::Dcf(air) if queue.wire.is_none() => Some(*air.counters(index as u32)),
                Air::Dcf(_) | Air::Ideal(_) => None,
            },
        };
        Counts {
            flows: self.flows.iter().map(flow).collect(),
            queues: self.queues.iter().enumerate().map(queue).collect(),
        }
    }

    pub(super) fn on_sample(&mut self) {
        let every = self.run.sample_every.expect("sampling is on");
        let warm = self.now > self.meter.warm_at;
        self.meter.series.time_s.push(self.now.as_secs_f64());
        self.meter.means.points += u32::from(warm);
        for index in 0..self.flows.len() {
            self.sample_flow(index, every, warm);
        }
        for (index, queue) in self.queues.iter().enumerate() {
            let series = &mut self.meter.series.links[index];
            let backlog = queue.packets.len() as f64;
            series.backlog.push(backlog);
            series.aggressiveness.extend(queue.aggressiveness());
            if warm {
                self.meter.means.backlog[index] += backlog;
                self.meter.means.aggressiveness[index] += queue.aggressiveness().unwrap_or(0.0);
            }
        }
        self.host(self.now + every, Event::Sample);
    }

    fn sample_flow(&mut self, index: usize, every: Duration, warm: bool) {
        let flow = &mut self.flows[index];
        let open = flow.connections.iter().map(|&id| &self.connections[id as usize].sender);
        let (mut count, mut window) = (0.0, 0.0);
        for sender in open {
            count += f64::from(u8::from(sender.is_open()));
            window += sender.congestion_window();
        }
        let delivered = flow.delivered - self.meter.delivered_at_sample[index];
        self.meter.delivered_at_sample[index] = flow.delivered;
        let series = &mut self.meter.series.flows[index];
        series.goodput_pps.push(delivered as f64 / every.as_secs_f64());
        series.congestion_window.push(window);
        // A second without an acknowledgement tells nothing: the last point stands.
        let last = series.round_trip_s.last().copied().unwrap_or_default();
        let round_trip = std::mem::take(&mut flow.sampled).mean();
        series.round_trip_s.push(round_trip.map_or(last, Duration::as_secs_f64));
        series.connections.push(count);
        if warm {
            self.meter.means.connections[index] += count;
            self.meter.means.congestion_window[index] += window;
        }
    }

    pub(super) fn finish(mut self, end: Instant) -> RunResult {
        let measured_s = self.run.duration.as_secs_f64();
        let counts = self.counts().since(&self.meter.at_warmup);
        let flow = |(index, counts): (usize, &FlowCounts)| self.flow_result(index, *counts, end);
        let flows = counts.flows.iter().enumerate().map(flow).collect();
        let ledger = self.air.ledger(end).cloned();
        let queues = self.queues.iter().zip(&counts.queues).enumerate();
        let links = queues.map(|(index, (queue, &QueueCounts { dropped, frames }))| {
            let means = &self.meter.means;
            LinkResult {
                name: queue.name.clone(),
                backlog: means.of(&means.backlog, index),
                aggressiveness: queue.aggressiveness().map(|_| means.of(&means.aggressiveness, index)),
                dropped_queue_full: dropped.queue_full,
                dropped_by_law: dropped.by_law,
                dropped_retries: dropped.retries,
                lost_on_wire: dropped.on_wire,
                frames,
                airtime: ledger
                    .as_ref()
                    .filter(|_| queue.wire.is_none())
                    .map(|ledger| ledger.airtime(index as u32).clone()),
            }
        });
        let links = links.collect();
        let fingerprint = self.fingerprint();
        let events = self.events.inserted() - self.events.len() as u64;
        let packets = self.account();
        RunResult {
            seed: self.run.seed,
            measured_s,
            flows,
            links,
            timeline: self.frames,
            fingerprint,
            events,
            packets,
            series: self.run.sample_every.map(|_| self.meter.series),
            nodes: self.spec.nodes,
        }
    }

    /// Counts what is still under way: in queues, and between layers.
    fn account(&self) -> crate::Packets {
        let mut packets = self.packets;
        for (index, queue) in self.queues.iter().enumerate() {
            // A packet that was received while its sender still awaits the acknowledgement is beyond its queue.
            let received = match &self.air {
                Air::Dcf(air) if queue.wire.is_none() => {
                    queue.service == Service::Front && air.head_received(index as u32)
                }
                Air::Dcf(_) | Air::Ideal(_) => false,
            };
            packets.under_way += queue.packets.len() as u64 - u64::from(received);
            packets.under_way += queue.wire.as_ref().map_or(0, |wire| wire.in_flight.len() as u64);
        }
        packets.under_way += self.between_layers.len() as u64;
        packets
    }

    fn flow_result(&self, index: usize, counts: FlowCounts, end: Instant) -> FlowResult {
        let flow: &Flow = &self.flows[index];
        let measured_s = self.run.duration.as_secs_f64();
        let goodput_pps = counts.delivered as f64 / measured_s;
        let means = &self.meter.means;
        let queue = |hop: &Hop| self.queues[hop.queue as usize].name.clone();
        FlowResult {
            flow: flow.name.clone(),
            from: self.spec.name(flow.source).into(),
            to: self.spec.name(flow.destination).into(),
            queue: queue(&flow.forward[0]),
            ack_queue: flow.tcp().and(flow.backward.first()).map(queue),
            goodput_bps: goodput_pps * 8.0 * f64::from(flow.unit_bytes()),
            goodput_pps,
            unit_bytes: flow.unit_bytes(),
            round_trip_s: flow.measured.mean().map(Duration::as_secs_f64),
            connections: means.of(&means.connections, index),
            congestion_window: means.of(&means.congestion_window, index),
            offered_pps: flow.tcp().is_none().then(|| counts.datagrams as f64 / measured_s),
            delay_s: flow.delays.mean().map(Duration::as_secs_f64),
            jitter_s: flow.jitter.mean().map(Duration::as_secs_f64),
            sent: counts.sent,
            retransmitted: counts.retransmitted,
            timeouts: counts.timeouts,
            lost: counts.lost,
            acks_lost: counts.acks_lost,
            silence_s: flow.silence_until(end).as_secs_f64(),
        }
    }

    /// The trajectory's hash: every frame on the air, then what every flow got.
    fn fingerprint(&self) -> Fingerprint {
        let mut fingerprint = match &self.air {
            Air::Dcf(air) => air.fingerprint(),
            Air::Ideal(_) => Fingerprint::default(),
        };
        for flow in &self.flows {
            fingerprint.add(self.now, flow.delivered);
        }
        fingerprint.add(self.now, self.events.inserted());
        fingerprint
    }
}
