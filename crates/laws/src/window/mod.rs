//! Window laws: how many segments a TCP sender may have under way.
//!
//! The endpoint owns sequence numbers, timers, and what is lost and sent again (Reno's, NewReno's or SACK's recovery); a
//! law owns the congestion window and answers what each event does to it.

pub mod cubic;
pub mod quic_tcp;
pub mod reno;

pub use cubic::Cubic;
pub use reno::Reno;

use evenair_units::{Duration, Instant};

/// What a sender starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowParams {
    /// Congestion window at the start \[segments\].
    pub initial_window: f64,
    /// Slow-start threshold at the start \[segments\].
    pub initial_ssthresh: f64,
    /// Grow by what an acknowledgement covers (RFC 3465, at most two segments in slow start), not by one per
    /// acknowledgement: ns-2 counts acknowledgements.
    pub byte_counting: bool,
}

/// A new cumulative acknowledgement outside recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acked {
    /// When it came.
    pub now: Instant,
    /// How many segments it covers.
    pub segments: u32,
    /// The smoothed round-trip time, once there is one.
    pub round_trip: Option<Duration>,
    /// The least round-trip time so far, once there is one.
    pub min_round_trip: Option<Duration>,
}

/// What the window law is told when duplicate acknowledgements or a time-out announce a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// What was under way: the window that was in use, after every other limit \[segments\].
    pub flight: f64,
    /// The loss is one more of a flight for which the window was cut already: the threshold is held (RFC 5681 section 3.1).
    pub repeated: bool,
}

/// A congestion-window law.
pub trait WindowLaw {
    /// A new cumulative acknowledgement outside recovery, of a window that was in use.
    fn on_ack(&mut self, acked: Acked);
    /// Acknowledgements announce a loss: recovery begins.
    fn on_loss(&mut self, loss: Loss);
    /// The retransmission timer expired.
    fn on_timeout(&mut self, loss: Loss);
    /// Recovery without SACK takes so many segments off the window itself (ns-2's NewReno); a law need not follow.
    fn deflate(&mut self, _segments: f64) {}
    /// The congestion window \[segments\].
    fn congestion_window(&self) -> f64;
    /// The slow-start threshold \[segments\].
    fn slow_start_threshold(&self) -> f64;
}

/// The built-in window laws, chosen by value.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// TCP Reno.
    Reno(Reno),
    /// TCP CUBIC.
    Cubic(Cubic),
}

macro_rules! each {
    ($law:ident => $body:expr, $self:expr) => {
        match $self {
            Window::Reno($law) => $body,
            Window::Cubic($law) => $body,
        }
    };
}

impl WindowLaw for Window {
    fn on_ack(&mut self, acked: Acked) {
        each!(law => law.on_ack(acked), self);
    }
    fn on_loss(&mut self, loss: Loss) {
        each!(law => law.on_loss(loss), self);
    }
    fn on_timeout(&mut self, loss: Loss) {
        each!(law => law.on_timeout(loss), self);
    }
    fn deflate(&mut self, segments: f64) {
        each!(law => law.deflate(segments), self);
    }
    fn congestion_window(&self) -> f64 {
        each!(law => law.congestion_window(), self)
    }
    fn slow_start_threshold(&self) -> f64 {
        each!(law => law.slow_start_threshold(), self)
    }
}

/// Growth in slow start: one segment per acknowledgement, or what it covers, up to two (RFC 3465 section 2.2).
fn slow_start_growth(segments: u32, byte_counting: bool) -> f64 {
    if byte_counting { f64::from(segments.min(2)) } else { 1.0 }
}
