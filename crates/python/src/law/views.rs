//! The observations that laws are told, as light objects: each is made for one call, and read field by field.

use evenair_laws::gateway;
use evenair_laws::{backoff, flow, marking, rates, window};
use evenair_units::{Duration, Instant};
use pyo3::prelude::*;

/// An object with a fact's fields, each with its unit last in its name.
macro_rules! view {
    ($(#[$doc:meta])* $Name:ident($Inner:ty) { $($(#[$about:meta])* $field:ident: $Type:ty = |$fact:ident| $value:expr;)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "evenair.laws")]
        pub(crate) struct $Name(pub(super) $Inner);

        #[pymethods]
        impl $Name {
            $($(#[$about])*
            #[getter]
            fn $field(&self) -> $Type {
                let $fact = &self.0;
                $value
            })*

            fn __repr__(&self) -> String {
                format!("{:?}", self.0)
            }
        }
    };
}

fn at(instant: Instant) -> f64 {
    instant.as_secs_f64()
}

fn long(time: Option<Duration>) -> Option<f64> {
    time.map(Duration::as_secs_f64)
}

view! {
    /// The queue that a back-off law is put at.
    LinkRole(backoff::LinkRole) {
        /// A slot [s].
        slot_s: f64 = |role| role.surroundings.slot.as_secs_f64();
        /// The MAC is ideal CSMA: no slots, no collisions.
        is_ideal: bool = |role| role.surroundings.is_ideal;
        /// It carries nothing but acknowledgements.
        acknowledgements_only: bool = |role| role.acknowledgements_only;
        /// It carries TCP's packets.
        carries_tcp: bool = |role| role.carries_tcp;
        /// Payload of its largest packet [bytes].
        payload_bytes: u32 = |role| role.packet.payload.count();
        /// Network-layer size of its largest packet [bytes].
        packet_bytes: u32 = |role| role.packet.size.count();
        /// Airtime of the frame of its largest packet [s].
        frame_s: f64 = |role| role.packet.frame.as_secs_f64();
        /// Time from one largest packet to the next without disturbance, back-off not counted [s].
        exchange_s: f64 = |role| role.packet.exchange.as_secs_f64();
    }
}

view! {
    /// A back-off law's view of its link.
    LinkView(backoff::LinkView) {
        /// When [s].
        now_s: f64 = |link| at(link.now);
        /// The time since the last update [s].
        interval_s: f64 = |link| link.interval.as_secs_f64();
        /// Accepted arrivals since the last update [packets].
        arrivals_packets: u64 = |link| link.arrivals.packets;
        /// Accepted arrivals since the last update [bytes].
        arrivals_bytes: u64 = |link| link.arrivals.bytes;
        /// Sent to the next hop since the last update [packets].
        service_packets: u64 = |link| link.service.packets;
        /// Sent to the next hop since the last update [bytes].
        service_bytes: u64 = |link| link.service.bytes;
        /// Dummy packets sent since the last update [packets].
        dummies_packets: u64 = |link| link.dummies.packets;
        /// The backlog, the packet in service counted [packets].
        backlog_packets: u64 = |link| link.backlog.packets;
        /// The backlog, the packet in service counted [bytes].
        backlog_bytes: u64 = |link| link.backlog.bytes;
        /// The waiting time of the backlog's first packet [s], if known.
        head_of_line_delay_s: Option<f64> = |link| long(link.head_of_line_delay);
        /// The rate at which data are sent [bit/s].
        data_rate_bps: u64 = |link| link.data_rate.as_bps();
    }
}

view! {
    /// The flow that a law of connections or of a rate is put at.
    FlowRole(flow::FlowRole) {
        /// Payload of a segment [bytes].
        payload_bytes: u32 = |role| role.payload.count();
    }
}

view! {
    /// A law's view of its flow after an interval.
    FlowView(flow::FlowView) {
        /// When [s].
        now_s: f64 = |flow| at(flow.now);
        /// The time since the law ran last [s].
        interval_s: f64 = |flow| flow.interval.as_secs_f64();
        /// Mean round-trip time of all segments acknowledged in the interval [s]; None without any, or if unknown.
        round_trip_s: Option<f64> = |flow| long(flow.round_trip);
        /// The mean of the retransmission timers' samples [s].
        round_trip_of_windows_s: Option<f64> = |flow| long(flow.round_trip_of_windows);
        /// The mean of the probes' samples [s], if the law needs probes.
        round_trip_of_probes_s: Option<f64> = |flow| long(flow.round_trip_of_probes);
        /// The mean of the connections' smoothed round-trip times at the interval's end [s], as Linux knows them.
        smoothed_round_trip_s: Option<f64> = |flow| long(flow.smoothed_round_trip);
        /// The least round-trip time so far [s].
        least_round_trip_s: Option<f64> = |flow| long(flow.least_round_trip);
        /// The least round-trip time of the segments acknowledged in the interval [s].
        least_in_interval_s: Option<f64> = |flow| long(flow.least_in_interval);
        /// Segments sent and not acknowledged at the interval's end; None over another transport than TCP.
        outstanding: Option<u64> = |flow| flow.outstanding;
        /// Segments that queues marked in the interval; None where nothing is marked, or where the host cannot tell.
        marked: Option<u64> = |flow| flow.marked;
        /// Whether the path has changed in the interval; None where the host cannot tell.
        route_changed: Option<bool> = |flow| flow.route_changed;
        /// Payload delivered in the interval [segments].
        delivered_packets: u64 = |flow| flow.delivered.packets;
        /// Payload delivered in the interval [bytes].
        delivered_bytes: u64 = |flow| flow.delivered.bytes;
        /// Payload delivered in the interval, per time [bit/s].
        goodput_bps: u64 = |flow| flow.goodput().as_bps();
        /// Segments sent in the interval, repetitions included.
        sent: u64 = |flow| flow.sent;
        /// Repetitions among the segments sent in the interval.
        retransmitted: u64 = |flow| flow.retransmitted;
        /// The flow's packets dropped on their way in the interval; None where the host cannot tell.
        lost: Option<u64> = |flow| flow.lost;
        /// The backlog at the flow's first link [packets], if the host knows it.
        first_backlog_packets: Option<u64> = |flow| flow.first_backlog.map(|v| v.packets);
        /// The backlog at the flow's first link [bytes], if the host knows it.
        first_backlog_bytes: Option<u64> = |flow| flow.first_backlog.map(|v| v.bytes);
        /// The backlog at all links on the flow's path [packets], for laws that need it.
        path_backlog_packets: Option<u64> = |flow| flow.path_backlog.map(|v| v.packets);
        /// The backlog at all links on the flow's path [bytes], for laws that need it.
        path_backlog_bytes: Option<u64> = |flow| flow.path_backlog.map(|v| v.bytes);
    }
}

view! {
    /// A class of a gateway: the traffic that one subscriber sends (up) or receives (down).
    ClassRole(gateway::ClassRole) {
        /// Its weight; above zero.
        weight: f64 = |role| role.weight;
        /// Which way its data goes: "up", to the gateway, or "down".
        direction: &'static str = |role| match role.direction {
            gateway::Direction::Up => "up",
            gateway::Direction::Down => "down",
        };
        /// The capacity of the gateway's own link on the class's path, without the MAC's overhead [bit/s], if known.
        link_rate_bps: Option<u64> = |role| role.link_rate.map(evenair_units::Rate::as_bps);
        /// Its subscriber: classes with the same number share one subscriber's due; none, a subscriber of its own.
        subscriber: Option<u32> = |role| role.subscriber;
    }
}

view! {
    /// The gateway that a law is put at.
    GatewayRole(gateway::GatewayRole) {
        /// Its classes, in the order in which the flows ask for them.
        classes: Vec<ClassRole> = |role| role.classes.iter().copied().map(ClassRole).collect();
    }
}

view! {
    /// The counts of one class by the gateway's queue in an epoch.
    ClassView(gateway::ClassView) {
        /// Arrivals at the queue, dropped or not [packets].
        arrived_packets: u64 = |class| class.arrived.packets;
        /// Arrivals at the queue, dropped or not [bytes].
        arrived_bytes: u64 = |class| class.arrived.bytes;
        /// Departures from the queue [packets].
        served_packets: u64 = |class| class.served.packets;
        /// Departures from the queue [bytes].
        served_bytes: u64 = |class| class.served.bytes;
        /// Drops of the queue [packets].
        dropped_packets: u64 = |class| class.dropped.packets;
        /// Drops of the queue [bytes].
        dropped_bytes: u64 = |class| class.dropped.bytes;
        /// The backlog now [packets].
        backlog_packets: u64 = |class| class.backlog.packets;
        /// The backlog now [bytes].
        backlog_bytes: u64 = |class| class.backlog.bytes;
        /// How many packets had to wait for tokens, where that is counted.
        held_packets: Option<u64> = |class| class.held;
        /// For how long data were outstanding beyond the gateway [s], where that is told.
        busy_s: Option<f64> = |class| long(class.busy);
        /// The mean time from data let through to their acknowledgement [s], where that is told.
        delay_s: Option<f64> = |class| long(class.delay);
    }
}

view! {
    /// A gateway law's view after an epoch.
    GatewayView(gateway::GatewayView) {
        /// When [s].
        now_s: f64 = |seen| at(seen.now);
        /// The time since the law ran last [s].
        interval_s: f64 = |seen| seen.interval.as_secs_f64();
        /// The rate served of each class [bit/s]; zero over no time.
        served_bps: Vec<f64> = |seen| (0..seen.classes.len()).map(|class| seen.rate(class)).collect();
        /// The classes, in the order of their roles; none, of which nothing is known.
        classes: Vec<Option<ClassView>> = |seen| seen.classes.iter().map(|seen| seen.map(ClassView)).collect();
    }
}

view! {
    /// The queue that a marking law is put at.
    QueueRole(marking::QueueRole) {
        /// The largest packet [bytes].
        full_packet_bytes: u32 = |role| role.full_packet.count();
        /// The rate at which its packets are sent [bit/s].
        rate_bps: u64 = |role| role.rate.as_bps();
    }
}

view! {
    /// A marking law's view of its queue.
    QueueView(marking::QueueView) {
        /// The backlog beside the packet that comes or leaves [packets].
        waiting_packets: u64 = |queue| queue.waiting.packets;
        /// The backlog beside the packet that comes or leaves [bytes].
        waiting_bytes: u64 = |queue| queue.waiting.bytes;
        /// The flow of the packet that comes or leaves: one number for each flow and direction.
        flow: u32 = |queue| queue.flow;
        /// Network-layer size of the packet that comes or leaves [bytes].
        size_bytes: u32 = |queue| queue.size.count();
    }
}

view! {
    /// The link that a rate control is put at.
    RateRole(rates::RateRole) {
        /// The modes that frames may have, which a law names by their place here: format, index, streams, width in MHz, guard
        /// interval in ns, rate in bit/s.
        modes: Vec<(String, u8, u8, u16, u16, u64)> = |link| link.modes.iter().map(mode).collect();
        /// The place of the link's own mode, the fastest.
        own: u16 = |link| link.own;
        /// A number for the law's own draws.
        seed: u64 = |link| link.seed;
    }
}

/// A mode as Python knows it.
fn mode(mode: &rates::RateMode) -> (String, u8, u8, u16, u16, u64) {
    let format = match mode.format {
        rates::RateFormat::Dsss => "dsss",
        rates::RateFormat::Ofdm => "ofdm",
        rates::RateFormat::Ht => "ht",
        rates::RateFormat::Vht => "vht",
        rates::RateFormat::He => "he",
    };
    (format.into(), mode.index, mode.streams, mode.width_mhz, mode.guard_ns, mode.rate.as_bps())
}

view! {
    /// The frame that is next.
    FrameView(rates::FrameView) {
        /// When [s].
        now_s: f64 = |frame| at(frame.now);
        /// The mode with the greatest expected rate, by the medium; None, unless the law asks for it.
        best: Option<u16> = |frame| frame.best;
    }
}

view! {
    /// How a frame ended.
    FrameStatus(rates::FrameStatus) {
        /// When [s].
        now_s: f64 = |status| at(status.now);
        /// The steps of its chain that were tried: mode, tries, and packets in all of these frames together.
        tried: Vec<(u16, u8, u32)> = |status| status.tried().map(|t| (t.mode, t.tries, t.packets)).collect();
        /// Packets in the frame, when it was last sent.
        packets: u16 = |status| status.packets;
        /// Packets of it that were acknowledged, all in the last mode that was tried.
        acknowledged: u16 = |status| status.acknowledged;
    }
}

view! {
    /// A sender's start.
    WindowStart(window::WindowStart) {
        /// Congestion window at the start [segments].
        initial_window: f64 = |start| start.initial_window;
        /// Slow-start threshold at the start [segments].
        initial_threshold: f64 = |start| start.initial_ssthresh;
        /// Grow by the segments that an acknowledgement covers, not by one for each.
        byte_counting: bool = |start| start.byte_counting;
        /// Hops of the path on the air; none, if nothing is known of it.
        hops: Option<u32> = |start| start.path.map(|path| path.hops);
    }
}

view! {
    /// An acknowledgement.
    Acked(window::Acked) {
        /// When it came [s].
        now_s: f64 = |acked| at(acked.now);
        /// Segments that it reports to have arrived and none did before.
        segments: u32 = |acked| acked.segments;
        /// It acknowledges new data cumulatively.
        advances: bool = |acked| acked.advances;
        /// A loss is being repaired.
        in_recovery: bool = |acked| acked.in_recovery;
        /// The congestion window limits the sender.
        window_limited: bool = |acked| acked.window_limited;
        /// Whether windows that know only growth and loss grow with it.
        grows: bool = |acked| acked.grows();
        /// Segments under way before it came.
        flight: u32 = |acked| acked.flight;
        /// The round-trip time that it measures [s], if it does.
        sample_s: Option<f64> = |acked| long(acked.sample);
        /// The smoothed round-trip time [s], once there is one.
        smoothed_s: Option<f64> = |acked| long(acked.smoothed);
        /// The least round-trip time so far [s], once there is one.
        least_s: Option<f64> = |acked| long(acked.least);
    }
}

view! {
    /// A loss, as duplicate acknowledgements or a time-out announce it.
    Loss(window::Loss) {
        /// When it was found [s].
        now_s: f64 = |loss| at(loss.now);
        /// Segments under way [segments].
        flight: f64 = |loss| loss.flight;
        /// One more of a flight for which the window was cut already.
        repeated: bool = |loss| loss.repeated;
    }
}

view! {
    /// An acknowledgement's delivery.
    Delivery(window::Delivery) {
        /// When it came [s].
        now_s: f64 = |d| at(d.now);
        /// Segments that it reports to have arrived and none did before.
        segments: u32 = |d| d.segments;
        /// Segments that have arrived in all.
        total: u64 = |d| d.total;
        /// Segments found lost with it.
        lost: u32 = |d| d.lost;
        /// Segments found lost in all.
        lost_total: u64 = |d| d.lost_total;
        /// Segments thought to be in the network before it came.
        flight_before: u32 = |d| d.flight_before;
        /// Segments thought to be in the network now.
        flight: u32 = |d| d.flight;
        /// The repair under way: "none", "recovery" or "timeout".
        repair: &'static str = |d| match d.repair {
            window::Repair::None => "none",
            window::Repair::Recovery => "recovery",
            window::Repair::Timeout => "timeout",
        };
        /// Round-trip time of the segment sent last of those [s], if it is not ambiguous.
        round_trip_s: Option<f64> = |d| long(d.round_trip);
        /// The smoothed round-trip time [s], once there is one.
        smoothed_s: Option<f64> = |d| long(d.smoothed);
        /// Segments per second that the network delivered, if that can be told.
        delivery_rate_pps: Option<f64> = |d| d.rate.map(|rate| rate.rate_pps());
        /// The application may have limited the sender.
        application_limited: bool = |d| d.rate.is_some_and(|rate| rate.application_limited);
    }
}
