//! TFRC connections in the network: opening, packets and reports, timers.

use super::delay::produced;
use super::{Attached, Due};
use crate::core::Core;
use crate::packet::{Body, Way};
use crate::spec::Source;
use evenair_tcp::{SenderStats, TfrcData, TfrcReceiver, TfrcReport, TfrcSender};
use evenair_units::{Duration, Instant};

/// A TFRC connection, with both its ends.
#[derive(Clone, Debug)]
pub(crate) struct TfrcConnection {
    flow: u32,
    /// Counts the connections that have used this place; packets of earlier ones are recognised by it.
    epoch: u32,
    /// When it was opened.
    opened: Instant,
    sender: TfrcSender,
    receiver: TfrcReceiver,
    /// The instants of the sender's entry in the event queue and of the receiver's: each has one at most.
    timer_queued: Instant,
    report_queued: Instant,
}

impl TfrcConnection {
    pub(crate) const fn supply(&mut self, packets: u32) {
        self.sender.supply(packets);
    }

    pub(crate) const fn stats(&self) -> &SenderStats {
        self.sender.stats()
    }

    pub(crate) fn smoothed_round_trip(&self) -> Option<Duration> {
        self.sender.smoothed_round_trip()
    }

    /// It is worth so many connections from now on.
    pub(super) fn set_worth(&mut self, worth: f64) {
        self.sender.set_worth(worth);
    }

    /// Returns the number of connections that it stands for, and the window that those would have under TCP.
    pub(crate) fn worth_and_window(&self) -> (f64, f64) {
        (self.sender.worth(), self.sender.window())
    }

    pub(crate) const fn loss_events(&self) -> u64 {
        self.receiver.loss_events()
    }
}

impl Attached {
    /// Opens one more connection of a flow over TFRC.
    pub(super) fn open_tfrc(&mut self, core: &mut Core<Due>, flow: u32) {
        let Some(spec) = self.flows[flow as usize].tfrc() else { return };
        let connection = |epoch| TfrcConnection {
            flow,
            epoch,
            opened: core.now(),
            sender: TfrcSender::new(core.now(), &spec.params, spec.size),
            receiver: TfrcReceiver::new(&spec.params),
            timer_queued: Instant::NEVER,
            report_queued: Instant::NEVER,
        };
        let source = spec.source;
        let id = if let Some(id) = self.free_tfrc.pop() {
            let place = &mut self.tfrc[id as usize];
            // Entries of its predecessor may still be in the event queue; they find nothing due.
            *place = connection(place.epoch + 1);
            id
        } else {
            self.tfrc.push(connection(0));
            self.tfrc.len() as u32 - 1
        };
        debug_assert!(
            !matches!(source, Source::Segments(_)),
            "nothing is repeated, so that no transfer is complete"
        );
        if let Source::Paced(_) = source {
            self.flows[flow as usize].produced = 1;
            self.tfrc[id as usize].supply(1);
        }
        self.flows[flow as usize].connections.push(id);
        self.pump_tfrc(core, id);
    }

    /// Sends as much as a connection may, and keeps its one entry in the event queue.
    pub(super) fn pump_tfrc(&mut self, core: &mut Core<Due>, id: u32) {
        let TfrcConnection { flow, epoch, ref mut sender, .. } = self.tfrc[id as usize];
        let now = core.now();
        while let Some(data) = sender.poll_transmit(now) {
            let state = &mut self.flows[flow as usize];
            if let Some(prober) = &mut state.prober {
                prober.count_data(1);
            }
            let (hop, size) = (state.hops.forward, state.unit_bytes());
            core.inject(Way::forward(flow), hop, size, Body::TfrcData { connection: id, epoch, data });
        }
        let place = &mut self.tfrc[id as usize];
        let due = place.sender.poll_timeout().max(now);
        if due < place.timer_queued {
            place.timer_queued = due;
            core.call_at(due, Due::Tfrc(id));
        }
    }

    /// A sender's entry in the event queue has come up.
    pub(super) fn on_tfrc(&mut self, core: &mut Core<Due>, id: u32) {
        let place = &mut self.tfrc[id as usize];
        if place.timer_queued == core.now() {
            place.timer_queued = Instant::NEVER;
        }
        // Not due means that it was put off since: `pump_tfrc` queues it again where it is due now.
        place.sender.handle_timeout(core.now());
        self.pump_tfrc(core, id);
    }

    /// Data have come to the end of their way.
    pub(super) fn deliver_tfrc(
        &mut self,
        core: &mut Core<Due>,
        flow: u32,
        id: u32,
        epoch: u32,
        data: TfrcData,
    ) {
        let now = core.now();
        let place = &self.tfrc[id as usize];
        let handed = match self.flows[flow as usize].traffic.source() {
            Some(Source::Paced(interval)) if place.epoch == epoch => {
                produced(place.opened, interval, data.number)
            }
            _ => data.sent,
        };
        self.deliver_datagram(now, flow, handed);
        let place = &mut self.tfrc[id as usize];
        // Packets under way when their connection ended count, and are not answered.
        if place.epoch == epoch && place.sender.is_open() {
            let report = place.receiver.handle_data(now, data);
            self.send_report(core, id, report);
        }
    }

    /// A receiver's entry in the event queue has come up.
    pub(super) fn on_tfrc_report(&mut self, core: &mut Core<Due>, id: u32) {
        let place = &mut self.tfrc[id as usize];
        if place.report_queued == core.now() {
            place.report_queued = Instant::NEVER;
        }
        if place.sender.is_open() {
            let report = place.receiver.handle_timeout(core.now());
            self.send_report(core, id, report);
        }
    }

    /// Sends a receiver's report, if there is one, and keeps its entry in the event queue.
    fn send_report(&mut self, core: &mut Core<Due>, id: u32, report: Option<TfrcReport>) {
        let place = &mut self.tfrc[id as usize];
        let (flow, epoch, due) = (place.flow, place.epoch, place.receiver.poll_timeout());
        if due < place.report_queued {
            place.report_queued = due;
            core.call_at(due, Due::TfrcReport(id));
        }
        if let Some(report) = report {
            let state = &self.flows[flow as usize];
            let size = state.tfrc().expect("it has a TFRC connection").report;
            let body = Body::TfrcReport { connection: id, epoch, report };
            core.inject(Way::backward(flow), state.hops.backward, size.count(), body);
        }
    }

    /// A report has come to the sender.
    pub(super) fn read_report(&mut self, core: &mut Core<Due>, id: u32, epoch: u32, report: &TfrcReport) {
        let now = core.now();
        let place = &mut self.tfrc[id as usize];
        if place.epoch != epoch || !place.sender.is_open() {
            return; // of a connection that is over
        }
        let round_trip = place.sender.handle_report(now, report);
        let warm = now >= self.warm_at;
        let flow = &mut self.flows[place.flow as usize];
        flow.interval.add(round_trip, Some(round_trip));
        flow.add_round_trip(round_trip, warm);
        self.pump_tfrc(core, id);
    }

    /// A connection sends no more, and its place is free.
    pub(super) fn close_tfrc(&mut self, id: u32) {
        let place = &mut self.tfrc[id as usize];
        debug_assert!(place.sender.is_open(), "a connection is closed twice");
        place.sender.close();
        let flow = &mut self.flows[place.flow as usize];
        flow.connections.retain(|&other| other != id);
        flow.finished.add(place.sender.stats());
        flow.finished_events += place.receiver.loss_events();
        self.free_tfrc.push(id);
    }

    /// Loss events of a flow's connections so far, those that are over too; none without TFRC.
    pub(crate) fn loss_events(&self, flow: u32) -> u64 {
        let state = &self.flows[flow as usize];
        if !state.is_tfrc() {
            return 0;
        }
        let open = state.connections.iter().map(|&id| self.tfrc[id as usize].loss_events());
        state.finished_events + open.sum::<u64>()
    }
}
