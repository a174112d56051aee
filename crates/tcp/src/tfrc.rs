//! TFRC (RFC 5348): endpoints that send at the rate of TCP's equation for the loss-event rate that the
//! receiver measures.
//!
//! [`TfrcSender`] and [`TfrcReceiver`] are driven as TCP's are. Nothing is repeated, opened or closed: the first packet
//! begins a connection, and a connection that sends no more is over. The sender decides by `evenair_laws::rate::tfrc`;
//! the receiver measures with `history`.

mod history;
mod receiver;
mod sender;

pub use receiver::TfrcReceiver;
pub use sender::TfrcSender;

use evenair_units::{Duration, Instant};

/// A packet with data (RFC 5348 section 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TfrcData {
    /// Its number in the connection.
    pub number: u32,
    /// When it was sent.
    pub sent: Instant,
    /// The sender's round-trip time \[µs\]; zero before the first sample.
    pub round_trip_us: u32,
    /// Losses within so long of the first are one loss event \[µs\]: a round trip of one connection.
    pub event_us: u32,
}

/// A receiver's report (RFC 5348 section 3.2.2). Rates are of 32 bits, as they are on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport {
    /// `t_recvdata`: when the latest packet to arrive was sent.
    pub echo: Instant,
    /// `t_delay`: how long that packet has been here \[µs\].
    pub delay_us: u32,
    /// `X_recv`: packets per second that came in the last round trip.
    pub receive_rate: f32,
    /// p: the loss-event rate.
    pub loss_event_rate: f32,
}

/// Whole microseconds as a packet carries them.
fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1000).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
