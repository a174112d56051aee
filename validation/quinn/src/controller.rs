//! A congestion controller of quinn, or any program on `quinn-proto`, by a window law of evenair: QUIC-TCP, which shares only the
//! name with QUIC.
//!
//! The law owns the window, and receives quinn's events: an acknowledgement as a batch, with the round trip of the packet in it
//! that was sent last; a loss once per round trip; persistent congestion as a time-out. Pacing stays quinn's.

use evenair_laws::window::{Acked, Loss, QuicTcp, QuicTcpParams, WindowLaw, WindowStart};
use evenair_units::{Duration, Instant as LawInstant};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// The initial settings of new connections.
pub struct Config {
    pub params: QuicTcpParams,
    pub start: WindowStart,
}

impl ControllerFactory for Config {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let law = QuicTcp::new(self.params, &self.start);
        Box::new(Window { config: self, law, mtu, born: now, batch: Batch::default(), cut: None })
    }
}

/// Packets that one acknowledgement acknowledges.
#[derive(Clone, Copy, Default)]
struct Batch {
    bytes: u64,
    /// When the last of them was sent.
    sent: Option<Instant>,
    app_limited: bool,
}

/// The state of one connection.
#[derive(Clone)]
pub struct Window {
    config: Arc<Config>,
    law: QuicTcp,
    /// The bytes of a datagram: the law counts in these.
    mtu: u16,
    /// The law's time begins here.
    born: Instant,
    batch: Batch,
    /// The instant of the law's last loss: packets sent before it are of the same flight.
    cut: Option<Instant>,
}

impl Window {
    fn time(&self, now: Instant) -> LawInstant {
        LawInstant::from_nanos((now - self.born).as_nanos() as u64)
    }

    fn packets(&self, bytes: u64) -> u32 {
        bytes.div_ceil(self.mtu.into()) as u32
    }
}

impl Controller for Window {
    fn on_ack(&mut self, _: Instant, sent: Instant, bytes: u64, app_limited: bool, _: &RttEstimator) {
        self.batch.bytes += bytes;
        self.batch.sent = self.batch.sent.max(Some(sent));
        self.batch.app_limited |= app_limited;
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        let Batch { bytes, sent: Some(sent), app_limited } = std::mem::take(&mut self.batch) else { return };
        self.law.on_ack(&Acked {
            now: self.time(now),
            segments: self.packets(bytes),
            advances: true,
            in_recovery: self.cut.is_some_and(|cut| sent <= cut),
            window_limited: !app_limited,
            flight: self.packets(in_flight + bytes),
            sample: Some(Duration::from_nanos((now - sent).as_nanos() as u64)),
            ..Acked::default()
        });
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, _: u64) {
        if self.cut.is_some_and(|cut| sent <= cut) {
            return;
        }
        self.cut = Some(now);
        let loss = Loss { now: self.time(now), flight: self.law.congestion_window(), repeated: false };
        if persistent { self.law.on_timeout(&loss) } else { self.law.on_loss(&loss) }
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.mtu = mtu;
    }

    /// Never below two datagrams (RFC 9002 section 7.2).
    fn window(&self) -> u64 {
        (self.law.congestion_window().max(2.0) * f64::from(self.mtu)) as u64
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        (self.config.start.initial_window * f64::from(self.mtu)) as u64
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
