//! The sending endpoint: sequence space, loss recovery, timers. The window is a law of `evenair-laws`.

use crate::{RtoEstimator, RtoParams, Segment, SegmentKind};
use evenair_laws::window::{Loss, NewReno, Recovery, Reno, Window, WindowLaw, WindowParams};
use evenair_units::{Duration, Instant};

/// Which window law a sender runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// TCP Reno.
    Reno,
    /// TCP NewReno.
    NewReno,
}

/// What "half of it" refers to after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LossMeasure {
    /// What is under way; kept when one segment times out again (RFC 5681 eq. (4)).
    Outstanding,
    /// The window in force, clamped by the receiver's: ns-2.
    Window,
}

/// Parameters of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderParams {
    /// Which window law.
    pub window: WindowKind,
    /// What the window law starts with.
    pub start: WindowParams,
    /// The receiver's window \[segments\].
    pub receiver_window: u32,
    /// The retransmission timer.
    pub rto: RtoParams,
    /// New segments for the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// What is halved after a loss.
    pub loss_measure: LossMeasure,
    /// The congestion window grows on even where the receiver's window is what limits the sender: ns-2. By the RFCs a
    /// window that is not used says nothing about the path (RFC 7661 section 1).
    pub grows_unused: bool,
    /// Open with a SYN and close with a FIN.
    pub handshake: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The SYN is to be sent, or not answered yet.
    Opening,
    Established,
    /// Nothing new is sent; what is under way is finished.
    Draining,
    /// All is acknowledged; the FIN is to be sent, or not answered yet.
    Closing,
    Closed,
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, repetitions included.
    pub sent: u64,
    /// Repetitions among them.
    pub retransmitted: u64,
    /// Times that three duplicate acknowledgements announced a loss.
    pub fast_retransmits: u64,
    /// Times that the timer expired.
    pub timeouts: u64,
}

impl SenderStats {
    /// Adds another connection's.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.retransmitted += other.retransmitted;
        self.fast_retransmits += other.fast_retransmits;
        self.timeouts += other.timeouts;
    }
}

/// The sending endpoint of one connection, with endless data until it is told to drain.
#[derive(Clone, Debug)]
pub struct Sender {
    params: SenderParams,
    law: Window,
    state: State,
    /// The oldest segment that is not acknowledged.
    oldest: u32,
    /// The next segment to send; steps back after a time-out.
    next: u32,
    /// One more than the highest segment ever sent.
    highest: u32,
    duplicates: u32,
    in_recovery: bool,
    /// `highest` when the last loss was found; an older one is the same loss.
    recover: u32,
    retransmit: bool,
    control_due: bool,
    rto: RtoEstimator,
    timer: Instant,
    /// The segment whose round trip is being timed, and when it was sent.
    timed: Option<(u32, Instant)>,
    last_round_trip: Option<Duration>,
    /// Since when the oldest segment has been the oldest.
    oldest_since: Instant,
    timed_out_at: Option<u32>,
    stats: SenderStats,
}

impl Sender {
    /// A sender at its start; with a handshake its first segment is a SYN.
    pub fn new(params: SenderParams) -> Self {
        let law = match params.window {
            WindowKind::Reno => Window::Reno(Reno::new(params.start)),
            WindowKind::NewReno => Window::NewReno(NewReno::new(params.start)),
        };
        let state = if params.handshake { State::Opening } else { State::Established };
        Self {
            params,
            law,
            state,
            oldest: 0,
            next: 0,
            highest: 0,
            duplicates: 0,
            in_recovery: false,
            recover: 0,
            retransmit: false,
            control_due: params.handshake,
            rto: RtoEstimator::new(params.rto),
            timer: Instant::NEVER,
            timed: None,
            last_round_trip: None,
            oldest_since: Instant::ZERO,
            timed_out_at: None,
            stats: SenderStats::default(),
        }
    }

    /// The next segment to send now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        match self.state {
            State::Opening => self.control(now, SegmentKind::Syn),
            State::Closing => self.control(now, SegmentKind::Fin),
            State::Closed => None,
            State::Established | State::Draining => self.data(now),
        }
    }

    fn control(&mut self, now: Instant, kind: SegmentKind) -> Option<Segment> {
        if !std::mem::take(&mut self.control_due) {
            return None;
        }
        if self.stats.timeouts == 0 {
            self.timed = Some((0, now));
        }
        self.oldest_since = now;
        self.timer = now + self.rto.timeout();
        Some(Segment { kind, number: self.highest })
    }

    fn data(&mut self, now: Instant) -> Option<Segment> {
        let number = if std::mem::take(&mut self.retransmit) {
            self.oldest
        } else {
            let limit = self.oldest.saturating_add(self.allowed());
            let end = if self.state == State::Draining { limit.min(self.highest) } else { limit };
            if self.next >= end {
                return None;
            }
            self.next += 1;
            self.next - 1
        };
        self.stats.sent += 1;
        if number < self.highest {
            self.stats.retransmitted += 1;
            if self.timed.is_some_and(|(timed, _)| timed >= number) {
                self.timed = None; // Karn: an acknowledgement would be ambiguous
            }
        } else {
            self.highest = number + 1;
            self.timed.get_or_insert((number, now));
            if number == self.oldest {
                self.oldest_since = now;
            }
        }
        if self.timer.is_never() {
            self.timer = now + self.rto.timeout();
        }
        Some(Segment { kind: SegmentKind::Data, number })
    }

    /// How many segments may be under way.
    fn allowed(&self) -> u32 {
        let extra =
            if self.params.limited_transmit && !self.in_recovery { self.duplicates.min(2) } else { 0 };
        // The cast truncates to whole segments and saturates.
        (self.law.window() as u32).saturating_add(extra).min(self.params.receiver_window)
    }

    /// A reply from the receiver arrives.
    pub fn handle_reply(&mut self, now: Instant, reply: Segment) {
        match (self.state, reply.kind) {
            (State::Opening, SegmentKind::SynAck) => {
                self.take_sample(now);
                self.timer = Instant::NEVER;
                self.state = State::Established;
            }
            (State::Closing, SegmentKind::FinAck) => {
                self.timer = Instant::NEVER;
                self.state = State::Closed;
            }
            (State::Established | State::Draining, SegmentKind::Ack) => self.handle_ack(now, reply.number),
            _ => (), // a late repetition
        }
    }

    fn handle_ack(&mut self, now: Instant, expected: u32) {
        if expected > self.highest {
            return; // acknowledges what was never sent (RFC 9293 section 3.10.7.4)
        }
        if expected > self.oldest {
            self.advance(now, expected);
        } else if expected == self.oldest && self.highest > self.oldest {
            self.handle_duplicate(now);
        }
    }

    fn advance(&mut self, now: Instant, expected: u32) {
        let segments = expected - self.oldest;
        self.oldest = expected;
        self.next = self.next.max(expected);
        self.oldest_since = now;
        self.duplicates = 0;
        if self.timed.is_some_and(|(timed, _)| expected > timed) {
            self.take_sample(now);
        }
        if self.in_recovery {
            match self.law.on_ack_in_recovery(segments, expected < self.recover) {
                Recovery::Leave => self.in_recovery = false,
                Recovery::RetransmitNext => self.retransmit = true,
            }
        } else if self.params.grows_unused
            || self.law.congestion_window() < f64::from(self.params.receiver_window)
        {
            self.law.on_ack(segments);
        }
        // RFC 6298 section 5.2 and 5.3
        let outstanding = self.highest > self.oldest;
        self.timer = if outstanding { now + self.rto.timeout() } else { Instant::NEVER };
        self.finish_draining();
    }

    fn handle_duplicate(&mut self, now: Instant) {
        if self.in_recovery {
            self.law.on_duplicate_in_recovery();
            return;
        }
        self.duplicates += 1;
        // RFC 6582 section 3.2 step 2: a loss that was dealt with is not found again.
        if self.duplicates == 3 && (self.recover == 0 || self.oldest > self.recover) {
            self.stats.fast_retransmits += 1;
            self.law.on_fast_retransmit(self.loss());
            self.in_recovery = true;
            self.recover = self.highest;
            self.retransmit = true;
            self.timed = None;
            self.timer = now + self.rto.timeout();
        }
    }

    fn loss(&self) -> Loss {
        let flight = match self.params.loss_measure {
            LossMeasure::Outstanding => f64::from(self.highest - self.oldest),
            LossMeasure::Window => self.law.congestion_window().min(f64::from(self.params.receiver_window)),
        };
        Loss { flight }
    }

    fn take_sample(&mut self, now: Instant) {
        if let Some((_, sent)) = self.timed.take() {
            let round_trip = now.since(sent);
            self.rto.sample(round_trip);
            self.last_round_trip = Some(round_trip);
        }
    }

    /// When the timer expires.
    pub const fn poll_timeout(&self) -> Instant {
        self.timer
    }

    /// The timer expired; harmless when it is not due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.timer {
            return;
        }
        self.stats.timeouts += 1;
        self.rto.back_off();
        self.timed = None;
        self.timer = Instant::NEVER;
        match self.state {
            State::Opening | State::Closing => self.control_due = true,
            State::Established | State::Draining => {
                // RFC 5681 section 3.1: the threshold is held when the same segment times out again.
                let again = self.timed_out_at == Some(self.oldest);
                let flight = match (self.params.loss_measure, again) {
                    (LossMeasure::Outstanding, true) => 2.0 * self.law.slow_start_threshold(),
                    _ => self.loss().flight,
                };
                self.law.on_timeout(Loss { flight });
                self.timed_out_at = Some(self.oldest);
                self.next = self.oldest;
                self.recover = self.highest;
                self.in_recovery = false;
                self.retransmit = false;
                self.duplicates = 0;
            }
            State::Closed => (),
        }
    }

    /// No new data from here on: the connection finishes what is under way and closes.
    pub fn drain(&mut self) {
        match self.state {
            State::Opening => {
                // Nothing was sent yet: forget it.
                self.state = State::Closed;
                self.timer = Instant::NEVER;
            }
            State::Established => {
                self.state = State::Draining;
                self.finish_draining();
            }
            _ => (),
        }
    }

    fn finish_draining(&mut self) {
        if self.state == State::Draining && self.oldest == self.highest {
            self.state = if self.params.handshake { State::Closing } else { State::Closed };
            self.control_due = self.params.handshake;
            self.timer = Instant::NEVER;
        }
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.state == State::Closed
    }

    /// Whether the connection sends, or will send, new data.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Opening | State::Established)
    }

    /// The last round-trip sample, given once.
    pub fn take_round_trip(&mut self) -> Option<Duration> {
        self.last_round_trip.take()
    }

    /// For how long the oldest segment under way has waited for its acknowledgement; none if nothing is under way.
    pub fn age_of_oldest(&self, now: Instant) -> Option<Duration> {
        let waiting = self.highest > self.oldest || matches!(self.state, State::Opening | State::Closing);
        waiting.then(|| now.since(self.oldest_since))
    }

    /// Segments under way.
    pub const fn outstanding(&self) -> u32 {
        self.highest - self.oldest
    }

    /// The congestion window \[segments\].
    pub fn congestion_window(&self) -> f64 {
        self.law.congestion_window()
    }

    /// The slow-start threshold \[segments\].
    pub fn slow_start_threshold(&self) -> f64 {
        self.law.slow_start_threshold()
    }

    /// The retransmission time-out in force.
    pub fn retransmission_timeout(&self) -> Duration {
        self.rto.timeout()
    }

    /// What was counted.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }
}

#[cfg(test)]
mod tests;
