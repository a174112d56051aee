//! The sending endpoint: sequence space, loss recovery, timers. The window is a law of `evenair-laws`.

mod recovery;
#[cfg(test)]
mod tests;
use crate::sack::Scoreboard;
use crate::{RtoEstimator, RtoParams, Segment, SegmentKind};
use evenair_laws::window::{Acked, Cubic, Loss, Reno, Window, WindowLaw, WindowParams};
use evenair_units::{Duration, Instant};
use recovery::ProportionalRateReduction;

/// Which window law a sender runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WindowKind {
    /// TCP Reno.
    Reno,
    /// TCP CUBIC.
    Cubic,
}

/// How a sender repairs what duplicate acknowledgements report lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Any new acknowledgement ends recovery (RFC 5681 section 3.2): Reno.
    Reno,
    /// A partial acknowledgement retransmits the next segment (RFC 6582): NewReno.
    NewReno,
    /// By selective acknowledgement (RFC 6675).
    Sack,
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
    /// How losses are repaired.
    pub recovery: Recovery,
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
    /// Take a round-trip sample from every acknowledgement (RFC 7323) instead of one per round trip.
    pub timestamps: bool,
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

/// The sending endpoint of one connection, with endless data until it is told how much there is, or to drain.
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
    /// How many segments the application has produced.
    supplied: u32,
    /// The window, not the application, is what kept the sender from sending last.
    window_limited: bool,
    duplicates: u32,
    in_recovery: bool,
    /// A partial acknowledgement has come in this recovery.
    partial: bool,
    /// Segments that duplicates report to have left the network (RFC 5681 section 3.2), without SACK.
    inflation: f64,
    scoreboard: Scoreboard,
    prr: ProportionalRateReduction,
    /// `highest` when the last loss was found; an older one is the same loss.
    recover: u32,
    retransmit: bool,
    control_due: bool,
    rto: RtoEstimator,
    timer: Instant,
    /// The segment whose round trip is being timed, and when it was sent.
    timed: Option<(u32, Instant)>,
    last_round_trip: Option<Duration>,
    min_round_trip: Option<Duration>,
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
            WindowKind::Cubic => Window::Cubic(Cubic::new(params.start)),
        };
        let state = if params.handshake { State::Opening } else { State::Established };
        Self {
            params,
            law,
            state,
            oldest: 0,
            next: 0,
            highest: 0,
            supplied: u32::MAX,
            window_limited: true,
            duplicates: 0,
            in_recovery: false,
            partial: false,
            inflation: 0.0,
            scoreboard: Scoreboard::default(),
            prr: ProportionalRateReduction::default(),
            recover: 0,
            retransmit: false,
            control_due: params.handshake,
            rto: RtoEstimator::new(params.rto),
            timer: Instant::NEVER,
            timed: None,
            last_round_trip: None,
            min_round_trip: None,
            oldest_since: Instant::ZERO,
            timed_out_at: None,
            stats: SenderStats::default(),
        }
    }

    /// The application has produced so many segments in all; without this call they are endless.
    pub fn supply(&mut self, segments: u32) {
        self.supplied = segments;
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
        Some(Segment { stamp: stamp(now), ..Segment::plain(kind, self.highest) })
    }

    fn data(&mut self, now: Instant) -> Option<Segment> {
        let number = if std::mem::take(&mut self.retransmit) {
            if self.in_recovery && self.sack() {
                self.scoreboard.mark_retransmitted(0);
                self.prr.sent();
            }
            self.oldest
        } else if self.in_recovery && self.sack() {
            self.next_by_scoreboard()?
        } else {
            self.next_in_sequence()?
        };
        self.count_sent(now, number);
        Some(Segment { stamp: stamp(now), ..Segment::plain(SegmentKind::Data, number) })
    }

    /// Where new data end: what the application has produced, nothing new while draining, the receiver's window.
    fn end_of_data(&self) -> u32 {
        let produced = if self.state == State::Draining { self.highest } else { self.supplied };
        produced.min(self.oldest.saturating_add(self.params.receiver_window))
    }

    /// The next segment in order that the window lets out.
    fn next_in_sequence(&mut self) -> Option<u32> {
        // What arrived out of order is neither under way nor sent again after a time-out.
        while self.next < self.highest && self.scoreboard.has_arrived(self.next - self.oldest) {
            self.next += 1;
        }
        let arrived = if self.next < self.highest { 0 } else { self.scoreboard.arrived() };
        let allowed = self.oldest.saturating_add(self.allowed()).saturating_add(arrived);
        if self.next >= allowed.min(self.end_of_data()) {
            self.window_limited = self.next >= allowed;
            return None;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    fn count_sent(&mut self, now: Instant, number: u32) {
        self.stats.sent += 1;
        if number < self.highest {
            self.stats.retransmitted += 1;
            if self.timed.is_some_and(|(timed, _)| timed >= number) {
                self.timed = None; // Karn: an acknowledgement would be ambiguous
            }
        } else {
            self.highest = number + 1;
            if self.sack() {
                self.scoreboard.push();
            }
            self.timed.get_or_insert((number, now));
            if number == self.oldest {
                self.oldest_since = now;
            }
        }
        if self.timer.is_never() {
            self.timer = now + self.rto.timeout();
        }
    }

    fn sack(&self) -> bool {
        self.params.recovery == Recovery::Sack
    }

    /// How many segments may be under way.
    fn allowed(&self) -> u32 {
        // With SACK the arrivals themselves let new segments out (RFC 6675 section 5 step 3).
        let limited = self.params.limited_transmit && !self.sack();
        let extra = if limited && !self.in_recovery { self.duplicates.min(2) } else { 0 };
        // The cast truncates to whole segments and saturates.
        let window = (self.law.congestion_window() + self.inflation) as u32;
        window.saturating_add(extra).min(self.params.receiver_window)
    }

    /// A reply from the receiver arrives.
    pub fn handle_reply(&mut self, now: Instant, reply: Segment) {
        match (self.state, reply.kind) {
            (State::Opening, SegmentKind::SynAck) => {
                if let Some((_, sent)) = self.timed.take() {
                    self.add_sample(now.since(sent));
                }
                self.timer = Instant::NEVER;
                self.state = State::Established;
            }
            (State::Closing, SegmentKind::FinAck) => {
                self.timer = Instant::NEVER;
                self.state = State::Closed;
            }
            (State::Established | State::Draining, SegmentKind::Ack) => self.handle_ack(now, &reply),
            _ => (), // a late repetition
        }
    }

    fn handle_ack(&mut self, now: Instant, ack: &Segment) {
        let expected = ack.number;
        if expected > self.highest {
            return; // acknowledges what was never sent (RFC 9293 section 3.10.7.4)
        }
        if expected < self.oldest {
            return; // overtaken by a later one
        }
        let advances = expected > self.oldest;
        let was_recovering = self.in_recovery;
        let mut delivered = 0;
        if advances && self.params.timestamps {
            // RFC 7323 section 4.1: only acknowledgements of new data are measured.
            self.add_sample(Duration::from_micros(u64::from(stamp(now).wrapping_sub(ack.stamp))));
        }
        if advances {
            delivered += self.advance(now, expected);
        }
        let lost_before = self.scoreboard.lost_below();
        if self.sack() {
            delivered += self.scoreboard.update(self.oldest, &ack.sack);
        }
        if !advances && self.highest > self.oldest {
            self.handle_duplicate(now);
        } else if delivered > 0 && !self.in_recovery && self.scoreboard.arrived() > 0 {
            self.detect_loss(now);
        }
        if self.in_recovery && self.sack() {
            let lost_below = self.scoreboard.lost_below();
            let progress = advances && lost_below <= lost_before;
            self.prr.on_ack(
                delivered,
                self.scoreboard.pipe(lost_below),
                self.law.slow_start_threshold(),
                was_recovering && progress,
            );
        }
    }

    /// Acknowledges everything before `expected`; gives how many segments of it were not known to have arrived.
    fn advance(&mut self, now: Instant, expected: u32) -> u32 {
        let segments = expected - self.oldest;
        let mut delivered = segments;
        self.oldest = expected;
        self.next = self.next.max(expected);
        self.oldest_since = now;
        self.duplicates = 0;
        if self.sack() {
            delivered = self.scoreboard.pop(segments);
        }
        if self.timed.is_some_and(|(timed, _)| expected > timed) {
            self.take_sample(now);
        }
        let mut restart = true;
        if self.in_recovery {
            restart = self.advance_in_recovery(segments, expected);
        } else if self.may_grow() {
            let (round_trip, min_round_trip) = (self.rto.smoothed(), self.min_round_trip);
            self.law.on_ack(Acked { now, segments, round_trip, min_round_trip });
        }
        // RFC 6298 section 5.2 and 5.3
        let outstanding = self.highest > self.oldest;
        if restart {
            self.timer = if outstanding { now + self.rto.timeout() } else { Instant::NEVER };
        }
        self.finish_draining();
        delivered
    }

    /// A window that was not used says nothing about the path (RFC 7661 section 1).
    fn may_grow(&self) -> bool {
        let receiver = f64::from(self.params.receiver_window);
        self.window_limited && (self.params.grows_unused || self.law.congestion_window() < receiver)
    }

    fn loss(&self) -> Loss {
        let flight = match self.params.loss_measure {
            LossMeasure::Outstanding => f64::from(self.highest - self.oldest),
            LossMeasure::Window => self.law.congestion_window().min(f64::from(self.params.receiver_window)),
        };
        Loss { flight }
    }

    /// The sample of the one segment that is timed.
    fn take_sample(&mut self, now: Instant) {
        if let Some((_, sent)) = self.timed.take()
            && !self.params.timestamps
        {
            self.add_sample(now.since(sent));
        }
    }

    fn add_sample(&mut self, round_trip: Duration) {
        self.rto.sample(round_trip);
        self.min_round_trip = Some(self.min_round_trip.map_or(round_trip, |least| least.min(round_trip)));
        self.last_round_trip = Some(round_trip);
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
                self.inflation = 0.0;
                self.scoreboard.forget_retransmissions();
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

    /// Segments that the application has produced and that were never sent; of no meaning where it is endless.
    pub const fn unsent(&self) -> u32 {
        self.supplied - self.highest
    }

    /// One more segment from the application, for a connection that can send it; says whether it took it.
    pub fn supply_one(&mut self) -> bool {
        let takes = self.state == State::Established;
        self.supplied += u32::from(takes);
        takes
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

/// RFC 7323's clock, in microseconds.
fn stamp(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}
