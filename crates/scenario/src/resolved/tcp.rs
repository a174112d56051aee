//! TCP endpoints, complete.

use crate::error::Mistake;
use crate::language::{Preset, ResolvedTcp, TcpTable, Window};
use crate::law;
use crate::quantity::{PacketCount, Size, Time};
use evenair_laws::window::{CubicParams, RenoParams, WindowParams};
use evenair_tcp::{Recovery, RtoParams};
use evenair_units::{Bytes, Duration};

/// The largest IP packet (RFC 791: the total length has 16 bits) \[bytes\].
const PACKET_BYTES_MAX: u32 = 65_535;

impl TcpTable {
    /// `come_and_go`: whether connections are opened and closed on the way.
    pub(crate) fn resolve(self, preset: Preset, come_and_go: bool) -> Result<ResolvedTcp, Mistake> {
        let ns2 = preset == Preset::Ns2;
        let rto = if ns2 { RtoParams::ns2() } else { RtoParams::rfc6298() };
        let window = match self.window {
            Some(window) => window.complete("tcp.window")?,
            None if ns2 => Window::Law(RenoParams::default().into()),
            None => Window::Law(CubicParams::default().into()),
        };
        // Today's endpoints are CUBIC's and BBR's; who asks for Reno or NewReno means those of the papers, whose acknowledgements
        // are neither selective nor delayed.
        let today = matches!(window, Window::Law(WindowParams::Cubic(_) | WindowParams::Bbr(_)));
        let sack = self.sack.unwrap_or(today);
        let rack = self.rack.unwrap_or(sack && !ns2);
        let packets = |given: Option<PacketCount>, default: u32| given.unwrap_or(PacketCount(default));
        let bytes = |given: Option<Size>, default: u32| given.unwrap_or(Size(Bytes::new(default)));
        let tcp = ResolvedTcp {
            window,
            payload: bytes(self.payload, 1000),
            headers: bytes(self.headers, 40),
            receiver_window: packets(self.receiver_window, if ns2 { 20 } else { 64 }),
            // RFC 6928 allows ten segments; ns-2 begins with two, and with a threshold of 20: an agent takes its class's
            // `window_` for `ssthresh_` when it is made, before a script gives it another one.
            initial_window: packets(self.initial_window, if ns2 { 2 } else { 10 }),
            initial_ssthresh: packets(self.initial_ssthresh, if ns2 { 20 } else { 1_000_000 }),
            min_rto: self.min_rto.unwrap_or(Time(rto.min)),
            initial_rto: self.initial_rto.unwrap_or(Time(rto.initial)),
            clock: self.clock.unwrap_or(Time(rto.granularity)),
            limited_transmit: self.limited_transmit.unwrap_or(true),
            delayed_ack: self.delayed_ack.unwrap_or(Time(Duration::from_millis(if today { 40 } else { 0 }))),
            quick_acks: packets(self.quick_acks, if ns2 { 0 } else { 16 }),
            sack,
            rack,
            tail_loss_probe: self.tail_loss_probe.unwrap_or(rack),
            timestamps: self.timestamps.unwrap_or(false),
            ecn: self.ecn.unwrap_or(false),
            // Connections that come and go are opened and closed for real.
            handshake: self.handshake.unwrap_or(!ns2 || come_and_go),
        };
        tcp.check()?;
        Ok(tcp)
    }
}

impl Window {
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
}

impl ResolvedTcp {
    fn check(&self) -> Result<(), Mistake> {
        for (key, on, needed, needs) in [
            ("tcp.rack", self.rack, self.sack, "tcp.sack"),
            ("tcp.tail_loss_probe", self.tail_loss_probe, self.rack, "tcp.rack"),
        ] {
            if on && !needed {
                return Err(Mistake::at(key, format!("needs {needs}: set {needs} = true")));
            }
        }
        if self.receiver_window.0 == 0 || self.initial_window.0 == 0 {
            return Err(Mistake::at("tcp", "windows must hold at least 1 segment"));
        }
        let (payload, headers) = (self.payload, self.headers);
        for (key, size) in [("tcp.payload", payload), ("tcp.headers", headers)] {
            if size.0.count() == 0 {
                return Err(Mistake::at(key, "must be at least 1 byte"));
            }
        }
        let whole = payload.0 + headers.0;
        if whole.count() > PACKET_BYTES_MAX {
            let most = PACKET_BYTES_MAX.saturating_sub(headers.0.count());
            let why = format!(
                "{payload} and {headers} of headers are {whole}, more than the {PACKET_BYTES_MAX} of an IP packet; make it at most {most} bytes"
            );
            return Err(Mistake::at("tcp.payload", why));
        }
        Ok(())
    }

    /// How losses are repaired under a window law.
    pub(crate) fn recovery(&self, window: &Window) -> Recovery {
        match (self.sack, window) {
            (true, _) => Recovery::Sack,
            (false, Window::Law(WindowParams::Reno(_))) => Recovery::Reno,
            (false, _) => Recovery::NewReno,
        }
    }

    /// A full segment, with its headers.
    pub(crate) fn segment(&self) -> Bytes {
        self.payload.0 + self.headers.0
    }
}
