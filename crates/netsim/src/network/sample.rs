//! Measurement: the warm-up's end, time series, and the final result.

use super::Network;
use crate::attached::{Attached, Due, Flow};
use crate::core::{END, Passed};
use crate::measure::{
    AggregateResult, AirtimeShares, ClassResult, Counts, FlowCounts, FlowResult, GatewayResult, LinkResult,
    ModeResult, Packets, ProbeResult, QueueCounts, RunResult, TransferResult,
};
use crate::packet::Way;
use crate::queue::{Delays, Outlet, TransmitQueue};
use crate::spec::{GatewayClass, name};
use crate::times::{Histogram, Times};
use crate::trace::Watchers;
use evenair_des::Fingerprint;
use evenair_units::{Bytes, Duration, Instant};

impl Network {
    pub(super) fn on_warm(&mut self) {
        let now = self.core.now();
        self.meter.at_warmup = self.counts();
        self.meter.passed_at_warmup = self.core.hops.all().iter().map(|hop| hop.passed).collect();
        if let Some((_, counts)) = self.core.gateway() {
            self.meter.classes_at_warmup = counts.to_vec();
        }
        self.attached.outside.start_measuring();
        for flow in &mut self.attached.flows {
            (flow.last_delivery, flow.silence) = (now, Duration::ZERO);
            flow.delay.start_measuring();
            if let Some(web) = &mut flow.web {
                web.start_measuring();
            }
            if let Some(resequencer) = &mut flow.resequencer {
                resequencer.start_measuring(now);
            }
        }
        for queue in &mut self.core.queues {
            queue.waits.iter_mut().for_each(Histogram::clear);
        }
        self.core.air.clear_mode_counters();
        if self.run.ledger {
            self.core.air.start_ledger(now);
        }
    }

    /// All that has been counted so far.
    fn counts(&self) -> Counts {
        let queue = |(index, queue): (usize, &TransmitQueue)| QueueCounts {
            dropped: queue.dropped,
            marked: queue.marked,
            frames: match queue.outlet {
                Outlet::Air => self.core.air.counters(index as u32).copied(),
                _ => None,
            },
            aggregates: match queue.outlet {
                Outlet::Air => self.core.air.aggregate_counters(index as u32).copied(),
                _ => None,
            },
        };
        Counts {
            flows: (0..self.attached.flows.len()).map(|index| self.flow_counts(index)).collect(),
            queues: self.core.queues.iter().enumerate().map(queue).collect(),
        }
    }

    /// All that has been counted of a flow so far.
    fn flow_counts(&self, index: usize) -> FlowCounts {
        let flow = &self.attached.flows[index];
        let index = index as u32;
        let passage = |way: Way| &self.core.passages()[way.0 as usize];
        let stats = self.attached.stats(index);
        // Most data of the web are replies, on the way back.
        let (data, acks) = if flow.traffic.has_replies() {
            (Way::backward(index), Way::forward(index))
        } else {
            (Way::forward(index), Way::backward(index))
        };
        let probes_came = flow.prober.as_ref().map_or(0, |prober| prober.came());
        FlowCounts {
            delivered: flow.delivered,
            sent: self.attached.sent(&self.core, index),
            retransmitted: stats.retransmitted,
            timeouts: stats.timeouts,
            lost: passage(data).lost(),
            arrived: passage(data).delivered.packets - probes_came,
            arrived_bytes: passage(data).delivered.bytes,
            acks_lost: passage(acks).lost(),
            acks: passage(acks).delivered.packets,
            probes: flow.prober.as_ref().map_or(0, |prober| prober.sent()),
            loss_events: self.attached.loss_events(index),
        }
    }

    pub(super) fn on_sample(&mut self) {
        let every = self.run.sample_every.expect("sampling is on");
        let now = self.core.now();
        let warm = now > self.attached.warm_at;
        self.meter.series.time_s.push(now.as_secs_f64());
        self.meter.means.points += u32::from(warm);
        let waiting = self.waiting_since_sample();
        for index in 0..self.attached.flows.len() {
            self.sample_flow(index, every, warm);
            let delay_s = self.mean_wait_s(&waiting, self.ways(index).0);
            self.meter.series.flows[index].queueing_delay_s.push(delay_s);
        }
        let mut waits = vec![Delays::default(); self.core.queues.len()];
        for (hop, &waiting) in self.core.hops.all().iter().zip(&waiting) {
            waits[hop.queue as usize] = waits[hop.queue as usize].plus(waiting);
        }
        for (index, queue) in self.core.queues.iter().enumerate() {
            let series = &mut self.meter.series.links[index];
            let backlog = queue.backlog().packets as f64;
            series.backlog.push(backlog);
            series.waiting_s.push(waits[index].mean_s());
            series.aggressiveness.extend(queue.aggressiveness());
            if warm {
                self.meter.means.backlog[index] += backlog;
                self.meter.means.aggressiveness[index] += queue.aggressiveness().unwrap_or(0.0);
            }
        }
        self.core.call_at(now + every, Due::Sample);
    }

    /// Hands the time series to watchers once there are so many points.
    pub(super) fn tell_series(&mut self, watchers: &mut Watchers<'_>, points: usize) {
        let series = &mut self.meter.series;
        if let Some(see) = watchers.series.as_mut().filter(|_| series.time_s.len() >= points) {
            see(series);
            series.clear();
        }
    }

    fn sample_flow(&mut self, index: usize, every: Duration, warm: bool) {
        let Attached { flows, connections, tfrc, .. } = &mut self.attached;
        let flow = &mut flows[index];
        let (mut count, mut window) = (0.0, 0.0);
        for &id in &flow.connections {
            let (worth, packets) = if flow.is_tfrc() {
                tfrc[id as usize].worth_and_window()
            } else {
                let sender = &connections[id as usize].sender;
                (flow.worth * f64::from(u8::from(sender.is_open())), sender.congestion_window())
            };
            count += worth;
            window += packets;
        }
        let delay_s = flow.delay.take_mean_s();
        let mut round_trip = std::mem::take(&mut flow.sampled).mean();
        if flow.traffic.is_outside() {
            (count, window) = (f64::from(flow.ends.connections), flow.ends.congestion_window);
            round_trip = flow.ends.round_trip;
        }
        let counts = self.flow_counts(index);
        let since = counts.since(std::mem::replace(&mut self.meter.at_sample[index], counts));
        let series = &mut self.meter.series.flows[index];
        series.goodput_pps.push(since.delivered as f64 / every.as_secs_f64());
        series.delay_s.push(delay_s);
        series.loss.push(since.loss());
        series.congestion_window.push(window);
        // A second without an acknowledgement tells nothing: the last point stands.
        let last = &mut self.meter.last_round_trip_s[index];
        *last = round_trip.map_or(*last, Duration::as_secs_f64);
        series.round_trip_s.push(*last);
        series.connections.push(count);
        if warm {
            self.meter.means.connections[index] += count;
            self.meter.means.congestion_window[index] += window;
        }
    }

    /// The waiting at each hop since the last point of the time series.
    fn waiting_since_sample(&mut self) -> Vec<Delays> {
        let hops = self.core.hops.all().iter().map(|hop| hop.passed.waiting);
        let since = |(now, then): (Delays, &mut Delays)| now.since(std::mem::replace(then, now));
        hops.zip(&mut self.meter.waiting_at_sample).map(since).collect()
    }

    /// The first hops of a flow's data and of its returning packets.
    fn ways(&self, index: usize) -> (u32, u32) {
        let flow = &self.attached.flows[index];
        match flow.web {
            Some(_) => (flow.hops.replies, flow.hops.reply_acks),
            None if flow.traffic.has_replies() => (flow.hops.backward, flow.hops.forward),
            None => (flow.hops.forward, flow.hops.backward),
        }
    }

    /// The sum over the hops from this one on of their mean waits \[s\]; none if nothing was served on one of them.
    fn mean_wait_s(&self, waiting: &[Delays], first: u32) -> Option<f64> {
        self.core.hops.chain(first).map(|hop| waiting[hop].mean_s()).sum()
    }

    /// The result of the run, which ends when it was to end.
    pub fn finish(self) -> RunResult {
        let end = self.end();
        self.finish_at(end)
    }

    /// The same as [`finish_at`](Self::finish_at) with watchers, which get the rest of the time series.
    ///
    /// # Panics
    /// As [`finish_at`](Self::finish_at).
    pub fn finish_watched(mut self, end: Instant, watchers: &mut Watchers<'_>) -> RunResult {
        self.tell_series(watchers, 1);
        let result = self.finish_at(end);
        RunResult { series: result.series.filter(|_| watchers.series.is_none()), ..result }
    }

    /// The result of a run that ends at this instant, be it before or after the one that was planned: rates are those of the time
    /// that has passed since the warm-up, zero where none has.
    ///
    /// # Panics
    /// If something has been handled that happened later.
    pub fn finish_at(mut self, end: Instant) -> RunResult {
        assert!(end >= self.now(), "the run has gone on beyond its end");
        self.run.duration = end.since(self.attached.warm_at);
        let measured_s = self.run.duration.as_secs_f64();
        let counts = self.counts().since(&self.meter.at_warmup);
        let passed = self.passed();
        let waiting: Vec<Delays> = passed.iter().map(|passed| passed.waiting).collect();
        let flow = |(index, counts): (usize, &FlowCounts)| self.flow_result(index, *counts, &waiting, end);
        let flows = counts.flows.iter().enumerate().map(flow).collect();
        let links = self.link_results(&counts, &passed, end);
        let fingerprint = self.fingerprint(end);
        let events = self.core.handled();
        let packets = self.account();
        let gateway = self.gateway_result(end);
        RunResult {
            seed: self.run.seed,
            measured_s,
            flows,
            links,
            outside: self.attached.outside.results(&self.nodes),
            timeline: self.frames,
            fingerprint,
            events,
            packets,
            gateway,
            series: self.run.sample_every.map(|_| self.meter.series),
            nodes: self.nodes,
        }
    }

    /// So much of the measured time, in each second of it.
    fn per_second(&self, count: f64) -> f64 {
        let measured_s = self.run.duration.as_secs_f64();
        if measured_s > 0.0 { count / measured_s } else { 0.0 }
    }

    /// The packets that have passed each hop in the measured time.
    fn passed(&self) -> Vec<Passed> {
        let then = &self.meter.passed_at_warmup;
        let hops = self.core.hops.all().iter().zip(then);
        hops.map(|(hop, &then)| hop.passed.since(then)).collect()
    }

    fn link_results(&mut self, counts: &Counts, passed: &[Passed], end: Instant) -> Vec<LinkResult> {
        let ledger = self.core.air.ledger(end).cloned();
        let mut through = vec![Passed::default(); self.core.queues.len()];
        for (hop, &passed) in self.core.hops.all().iter().zip(passed) {
            let sum = &mut through[hop.queue as usize];
            *sum = sum.plus(passed);
        }
        let queues = self.core.queues.iter().zip(&counts.queues).zip(through).enumerate();
        let means = &self.meter.means;
        let names = || self.core.queues.iter().map(|queue| queue.name.as_str());
        let result = |(index, ((queue, &QueueCounts { dropped, marked, frames, aggregates }), passed)): (
            _,
            ((&TransmitQueue, _), Passed),
        )| {
            let frames = frames.unwrap_or_default();
            LinkResult {
                queue: queue.name.clone(),
                backlog: means.of(&means.backlog, index),
                aggressiveness: queue.aggressiveness().map(|_| means.of(&means.aggressiveness, index)),
                served_packets: passed.served().packets,
                served_bytes: passed.served().bytes,
                waiting: Times::of(passed.waiting, queue.waits.as_ref()),
                sojourn_s: passed.sojourn.mean_s(),
                dropped_queue_full: dropped.queue_full,
                dropped_by_law: dropped.by_law,
                marked,
                dropped_retries: dropped.retries,
                received_despite: dropped.received,
                attempts: frames.attempts,
                collided: frames.collided,
                receiver_busy: frames.receiver_busy,
                ack_lost: frames.ack_lost,
                ack_late: frames.ack_late,
                requests: frames.requests,
                requests_failed: frames.requests_failed,
                internal: frames.internal,
                lost_on_wire: dropped.on_wire,
                dropped_no_route: dropped.no_route,
                aggregates: aggregates.map(|counters| AggregateResult::of(counters, frames.attempts)),
                modes: self.mode_results(index, queue),
                airtime: ledger
                    .as_ref()
                    .filter(|_| matches!(queue.outlet, Outlet::Air))
                    .map(|ledger| AirtimeShares::of(ledger.airtime(index as u32), names())),
            }
        };
        queues.map(result).collect()
    }

    /// The modes of a queue's DATA frames under rate control.
    fn mode_results(&self, index: usize, queue: &TransmitQueue) -> Vec<ModeResult> {
        let counters = match queue.outlet {
            Outlet::Air => self.core.air.mode_counters(index as u32),
            _ => Vec::new(),
        };
        let sent = counters.into_iter().filter(|(.., counters)| counters.frames > 0);
        sent.map(|(to, mode, counters)| ModeResult {
            to: name(&self.nodes, to).into(),
            mode: mode.to_string(),
            rate_bps: mode.rate().as_bps(),
            frames: counters.frames,
            packets: counters.packets,
            acknowledged: counters.acknowledged,
        })
        .collect()
    }

    /// The gateway's record.
    fn gateway_result(&self, end: Instant) -> Option<GatewayResult> {
        let (record, counts) = self.core.gateway()?;
        let (from_s, until_s) = (self.run.warmup.as_secs_f64(), end.as_secs_f64());
        let class = |(index, class): (usize, &GatewayClass)| {
            let passed = counts[index].since(&self.meter.classes_at_warmup[index]);
            ClassResult {
                class: class.name.clone(),
                direction: class.role.direction.to_string(),
                weight: class.role.weight,
                allowed_bps: record.series.mean_allowed(index, from_s, until_s),
                served_bps: self.per_second(passed.served.bytes as f64 * 8.0),
                arrived_packets: passed.arrived.packets,
                served_packets: passed.served.packets,
                dropped_packets: passed.dropped.packets,
                held_packets: passed.held.unwrap_or_default(),
                busy: record.series.mean_busy(index, from_s, until_s),
            }
        };
        Some(GatewayResult {
            node: name(&self.nodes, record.node).into(),
            classes: record.classes.iter().enumerate().map(class).collect(),
            series: record.series.clone(),
        })
    }

    /// Where every packet went.
    fn account(&self) -> Packets {
        let mut packets = Packets { under_way: self.core.under_way(), ..Packets::default() };
        for passage in self.core.passages() {
            packets.originated += passage.originated.packets;
            packets.delivered += passage.delivered.packets;
            packets.dropped += passage.dropped.packets;
        }
        packets
    }

    fn flow_result(&self, index: usize, counts: FlowCounts, waiting: &[Delays], end: Instant) -> FlowResult {
        let flow: &Flow = &self.attached.flows[index];
        let hops = &self.core.hops;
        let goodput_pps = self.per_second(counts.delivered as f64);
        let means = &self.meter.means;
        let queue = |hop: u32| self.core.queues[hops.get(hop).queue as usize].name.clone();
        let delay_s = |first| self.mean_wait_s(waiting, first);
        let (there, back) = self.ways(index);
        let is_outside = flow.traffic.is_outside();
        let answers = flow.traffic.source().is_some() || flow.web.is_some() || is_outside;
        let back = Some(back).filter(|&hop| hop != END && answers);
        let goodput_bps = match &flow.web {
            Some(web) => self.per_second(web.measured_bytes() as f64 * 8.0),
            None if is_outside || flow.traffic.mix().is_some() => {
                let headers = counts.delivered * u64::from(flow.traffic.headers().count());
                self.per_second(counts.arrived_bytes.saturating_sub(headers) as f64 * 8.0)
            }
            None => goodput_pps * 8.0 * f64::from(flow.unit_bytes()),
        };
        FlowResult {
            flow: flow.name.clone(),
            from: name(&self.nodes, flow.source).into(),
            to: name(&self.nodes, flow.destination).into(),
            queue: queue(there),
            ack_queue: back.map(queue),
            goodput_bps,
            goodput_pps,
            unit_bytes: flow.unit_bytes(),
            round_trip_s: flow.measured.mean().map(Duration::as_secs_f64),
            connections: means.of(&means.connections, index),
            congestion_window: means.of(&means.congestion_window, index),
            offered_pps: flow.tcp().is_none().then(|| self.per_second(counts.sent as f64)),
            delay: flow.delay.result(),
            jitter_s: flow.delay.jitter_s(),
            sent: counts.sent,
            retransmitted: counts.retransmitted,
            timeouts: counts.timeouts,
            lost: counts.lost,
            arrived: counts.arrived,
            acks_lost: counts.acks_lost,
            acks: counts.acks,
            queueing_delay_s: delay_s(there),
            ack_queueing_delay_s: back.and_then(delay_s),
            silence_s: flow.silence_until(end).as_secs_f64(),
            loss_event_rate: (flow.is_tfrc() && counts.sent > 0)
                .then(|| counts.loss_events as f64 / counts.sent as f64),
            probes: probe_result(flow, counts),
            transfers: transfer_result(flow),
            resequencing: flow.resequencer.as_ref().map(|resequencer| resequencer.result(end)),
        }
    }

    /// The trajectory's hash: every frame on the air, then every flow's results by the run's end.
    fn fingerprint(&self, end: Instant) -> Fingerprint {
        let mut fingerprint = self.core.air.fingerprint();
        for flow in &self.attached.flows {
            fingerprint.add(end, flow.delivered);
        }
        fingerprint
    }
}

/// The outcome of a flow's requests, if it made any.
fn transfer_result(flow: &Flow) -> Option<TransferResult> {
    let requests = match &flow.web {
        Some(web) => web.requests(),
        None => flow.remaining.map(|_| u64::from(flow.began.is_some()))?,
    };
    let took = Times::of(flow.took.0, Some(&flow.took.1));
    let completed = took.as_ref().map_or(0, |took| took.count);
    debug_assert!(completed <= requests, "a reply to no request");
    Some(TransferResult { requests, completed, took })
}

/// The result of a flow's probes, if there are any.
fn probe_result(flow: &Flow, counts: FlowCounts) -> Option<ProbeResult> {
    let (prober, spec) = (flow.prober.as_ref()?, flow.traffic.probes()?);
    let bytes = |packets: u64, size: Bytes| packets as f64 * f64::from(size.count());
    let probes = bytes(counts.probes, spec.size);
    let all = probes + bytes(counts.sent, flow.traffic.size());
    let round_trip_s = prober.measured().map(Duration::as_secs_f64);
    Some(ProbeResult { sent: counts.probes, share: probes / all.max(1.0), round_trip_s })
}
