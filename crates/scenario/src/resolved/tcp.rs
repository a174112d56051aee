//! TCP endpoints.

use crate::error::Mistake;
use crate::language::{FlowTable, Preset, TcpTable, Window};
use crate::law;
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::window::{CubicParams, RenoParams, WindowParams, WindowStart};
use evenair_netsim::{ProbeSpec, Sampling, Source, TcpSpec};
use evenair_tcp::{AckPolicy, LossMeasure, Recovery, RtoParams, SenderParams};
use evenair_units::{Bytes, Duration};

/// The largest IP packet (RFC 791: the total length has 16 bits) \[bytes\].
const PACKET_BYTES_MAX: u32 = 65_535;
/// The most that options fill of a TCP header (RFC 9293 section 3.1).
const OPTIONS_MAX: Bytes = Bytes::new(40);

impl TcpTable {
    /// The endpoints of a flow without end that says nothing of its own. `come_and_go`: whether connections are opened and closed on
    /// the way.
    pub(crate) fn complete(
        &mut self,
        preset: Preset,
        come_and_go: bool,
        probes: ProbeSpec,
    ) -> Result<TcpSpec, Mistake> {
        let ns2 = preset == Preset::Ns2;
        let rto = if ns2 { RtoParams::ns2() } else { RtoParams::rfc6298() };
        let window = match self.window.take() {
            Some(window) => window.complete("tcp.window")?,
            None if ns2 => Window::Law(RenoParams::default().into()),
            None => Window::Law(CubicParams::default().into()),
        };
        let [sack, rack, tail_loss_probe] = self.repair(&window, ns2)?;
        let packets = |given: &mut Option<PacketCount>, count| given.get_or_insert(PacketCount(count)).0;
        let time = |given: &mut Option<Time>, time| given.get_or_insert(Time(time)).0;
        let (payload, headers) = self.segment()?;
        let options = *self.options.get_or_insert(false);
        // RFC 6928 allows ten segments; ns-2 begins with two, and with a threshold of 20: an agent takes its class's
        // `window_` for `ssthresh_` when it is made, before a script gives it another one.
        let initial_window = packets(&mut self.initial_window, if ns2 { 2 } else { 10 });
        let receiver_window = packets(&mut self.receiver_window, if ns2 { 20 } else { 64 });
        if receiver_window == 0 || initial_window == 0 {
            return Err(Mistake::at("tcp", "windows must hold at least 1 segment"));
        }
        let delay = time(&mut self.delayed_ack, window.delayed_ack());
        let quick = packets(&mut self.quick_acks, quick_acks(ns2));
        let sender = SenderParams {
            recovery: window.recovery(sack),
            start: WindowStart {
                initial_window: f64::from(initial_window),
                initial_ssthresh: f64::from(packets(
                    &mut self.initial_ssthresh,
                    if ns2 { 20 } else { 1_000_000 },
                )),
                byte_counting: !ns2,
                path: None,
            },
            receiver_window,
            rto: RtoParams {
                initial: time(&mut self.initial_rto, rto.initial),
                min: time(&mut self.min_rto, rto.min),
                granularity: time(&mut self.clock, rto.granularity),
                ..RtoParams::rfc6298()
            },
            limited_transmit: *self.limited_transmit.get_or_insert(true),
            rack,
            tail_loss_probe,
            loss_measure: if ns2 { LossMeasure::Window } else { LossMeasure::Outstanding },
            grows_unused: ns2,
            // Connections that come and go are opened and closed for real.
            handshake: *self.handshake.get_or_insert(!ns2 || come_and_go),
            timestamps: *self.timestamps.get_or_insert(false),
            ecn: *self.ecn.get_or_insert(false),
        };
        let law = window.law();
        self.window = Some(window);
        Ok(TcpSpec {
            sender,
            window: law,
            acknowledge: acknowledge(delay, quick),
            payload,
            headers,
            options,
            source: Source::Endless,
            connections: None,
            probes,
            resequence: false,
            sampling: Sampling::default(),
        })
    }

    /// Whether losses are found by selective acknowledgements, by time, and by a probe of the data's end. The latter two say
    /// nothing, and are not written out, without the first.
    fn repair(&mut self, window: &Window, ns2: bool) -> Result<[bool; 3], Mistake> {
        let sack = *self.sack.get_or_insert(window.is_todays());
        let rack = if sack { *self.rack.get_or_insert(!ns2) } else { self.rack.unwrap_or(false) };
        let tail_loss_probe = if rack {
            *self.tail_loss_probe.get_or_insert(true)
        } else {
            self.tail_loss_probe.unwrap_or(false)
        };
        for (key, on, needed, needs) in
            [("tcp.rack", rack, sack, "tcp.sack"), ("tcp.tail_loss_probe", tail_loss_probe, rack, "tcp.rack")]
        {
            if on && !needed {
                return Err(Mistake::at(key, format!("needs {needs}: set {needs} = true")));
            }
        }
        Ok([sack, rack, tail_loss_probe])
    }

    /// The endpoints of a flow that may have a window law, and acknowledgements, of its own; `all` are everybody's, of this table
    /// when it is complete.
    pub(crate) fn of_flow(&self, all: &TcpSpec, flow: &FlowTable, preset: Preset) -> TcpSpec {
        let ns2 = preset == Preset::Ns2;
        let mut tcp = all.clone();
        if let Some(window) = &flow.window {
            tcp.window = window.law();
        }
        if let Some(sack) = flow.sack {
            let window = flow.window.as_ref().or(self.window.as_ref()).expect("the table is complete");
            tcp.sender.recovery = window.recovery(sack);
            tcp.sender.rack = sack && self.rack.unwrap_or(!ns2);
            tcp.sender.tail_loss_probe = tcp.sender.rack && self.tail_loss_probe.unwrap_or(true);
        }
        if let Some(Time(delay)) = flow.delayed_ack {
            tcp.acknowledge = acknowledge(delay, self.quick_acks.map_or_else(|| quick_acks(ns2), |q| q.0));
        }
        tcp
    }

    /// A segment's payload and headers.
    fn segment(&mut self) -> Result<(Bytes, Bytes), Mistake> {
        let payload = self.payload.get_or_insert(Size(Bytes::new(1000))).0;
        let headers = self.headers.get_or_insert(Size(Bytes::new(40))).0;
        for (key, size) in [("tcp.payload", payload), ("tcp.headers", headers)] {
            if size.count() == 0 {
                return Err(Mistake::at(key, "must be at least 1 byte"));
            }
        }
        let options = if self.options == Some(true) { OPTIONS_MAX } else { Bytes::new(0) };
        let headers_max = headers + options;
        let whole = payload + headers_max;
        if whole.count() > PACKET_BYTES_MAX {
            let most = PACKET_BYTES_MAX.saturating_sub(headers_max.count());
            let why = format!(
                "{payload} and {headers_max} of headers are {whole}, more than the {PACKET_BYTES_MAX} of an IP packet; make it at most {most} bytes"
            );
            return Err(Mistake::at("tcp.payload", why));
        }
        Ok((payload, headers))
    }
}

impl FlowTable {
    /// A flow with a window law of its own has the acknowledgements that go with that law, where `[tcp]`, not yet complete, says
    /// nothing of them: as if the law stood there.
    pub(crate) fn complete_acknowledgements(&mut self, all: &TcpTable) {
        if let Some(window) = &self.window {
            self.sack.get_or_insert_with(|| all.sack.unwrap_or_else(|| window.is_todays()));
            self.delayed_ack
                .get_or_insert_with(|| all.delayed_ack.unwrap_or_else(|| Time(window.delayed_ack())));
        }
    }
}

const fn acknowledge(delay: Duration, quick: u32) -> AckPolicy {
    if delay.is_zero() { AckPolicy::EachSegment } else { AckPolicy::Delayed { delay, quick } }
}

/// How many segments are acknowledged each at the start and after a gap, if it is not said: 16 is Linux's number.
const fn quick_acks(ns2: bool) -> u32 {
    if ns2 { 0 } else { 16 }
}

impl Window {
    /// Modern endpoints are CUBIC's and BBR's; Reno or NewReno means those of the papers, with acknowledgements that are
    /// neither selective nor delayed.
    const fn is_todays(&self) -> bool {
        matches!(self, Self::Law(WindowParams::Cubic(_) | WindowParams::Bbr(_)))
    }

    /// How long acknowledgements wait, if it is not said.
    const fn delayed_ack(&self) -> Duration {
        Duration::from_millis(if self.is_todays() { 40 } else { 0 })
    }

    /// The law with its parameters complete; `table` is where it stands.
    pub(crate) fn complete(self, table: &str) -> Result<Self, Mistake> {
        Ok(match self {
            Self::Law(law) => Self::Law(law::complete(table, law, &())?),
            Self::Newreno => Self::Newreno,
        })
    }

    /// The law that the word or the table means.
    pub(crate) fn law(&self) -> WindowParams {
        match self {
            Self::Newreno => RenoParams::default().into(),
            Self::Law(law) => law.clone(),
        }
    }

    /// How losses are repaired under it.
    const fn recovery(&self, sack: bool) -> Recovery {
        match (sack, self) {
            (true, _) => Recovery::Sack,
            (false, Self::Law(WindowParams::Reno(_))) => Recovery::Reno,
            (false, _) => Recovery::NewReno,
        }
    }
}
