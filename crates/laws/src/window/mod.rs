//! Window laws: how many segments a TCP sender may have under way.
//!
//! The endpoint owns sequence numbers, timers and the question *what* is lost; a law owns the congestion window and
//! answers what each event does to it.

pub mod newreno;
pub mod reno;

pub use newreno::NewReno;
pub use reno::Reno;

/// What a sender starts with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowParams {
    /// Congestion window at the start \[segments\].
    pub initial_window: f64,
    /// Slow-start threshold at the start \[segments\].
    pub initial_ssthresh: f64,
}

/// What the window law is told when duplicate acknowledgements or a time-out announce a loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// What was under way: the window that was in use, after every other limit \[segments\].
    pub flight: f64,
}

/// What an acknowledgement during fast recovery asks of the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Recovery is over.
    Leave,
    /// The next segment is missing too: retransmit it and stay in recovery.
    RetransmitNext,
}

/// A congestion-window law.
pub trait WindowLaw {
    /// A new cumulative acknowledgement of `segments` segments outside recovery.
    fn on_ack(&mut self, segments: u32);
    /// Duplicate acknowledgements announce a loss: fast retransmit, recovery begins.
    fn on_fast_retransmit(&mut self, loss: Loss);
    /// One more duplicate acknowledgement during recovery.
    fn on_duplicate_in_recovery(&mut self);
    /// A new cumulative acknowledgement of `segments` segments during recovery; `partial` if it does not cover all
    /// that was under way when recovery began.
    fn on_ack_in_recovery(&mut self, segments: u32, partial: bool) -> Recovery;
    /// The retransmission timer expired.
    fn on_timeout(&mut self, loss: Loss);
    /// The window in force \[segments\], recovery's inflation included.
    fn window(&self) -> f64;
    /// The congestion window without inflation \[segments\], for measurement.
    fn congestion_window(&self) -> f64;
    /// The slow-start threshold \[segments\].
    fn slow_start_threshold(&self) -> f64;
}

/// The built-in window laws, chosen by value.
#[derive(Clone, Debug, PartialEq)]
pub enum Window {
    /// TCP Reno.
    Reno(Reno),
    /// TCP NewReno.
    NewReno(NewReno),
}

macro_rules! each {
    ($law:ident => $body:expr, $self:expr) => {
        match $self {
            Window::Reno($law) => $body,
            Window::NewReno($law) => $body,
        }
    };
}

impl WindowLaw for Window {
    fn on_ack(&mut self, segments: u32) {
        each!(law => law.on_ack(segments), self);
    }
    fn on_fast_retransmit(&mut self, loss: Loss) {
        each!(law => law.on_fast_retransmit(loss), self);
    }
    fn on_duplicate_in_recovery(&mut self) {
        each!(law => law.on_duplicate_in_recovery(), self);
    }
    fn on_ack_in_recovery(&mut self, segments: u32, partial: bool) -> Recovery {
        each!(law => law.on_ack_in_recovery(segments, partial), self)
    }
    fn on_timeout(&mut self, loss: Loss) {
        each!(law => law.on_timeout(loss), self);
    }
    fn window(&self) -> f64 {
        each!(law => law.window(), self)
    }
    fn congestion_window(&self) -> f64 {
        each!(law => law.congestion_window(), self)
    }
    fn slow_start_threshold(&self) -> f64 {
        each!(law => law.slow_start_threshold(), self)
    }
}
