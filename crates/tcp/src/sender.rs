//! The sending endpoint: sequence space, loss recovery, timers. The window is a law of `evenair-laws`.

mod delivery;
mod rack;
mod recovery;
mod reduction;
mod selective;
#[cfg(test)]
mod tests;

use crate::ecn::Reaction;
use crate::scoreboard::Scoreboard;
use crate::{RtoEstimator, RtoParams, Segment, SegmentKind};
use delivery::Account;
use evenair_laws::Parameters;
use evenair_laws::window::{Acked, AnyWindow, Delivery, Loss, Repair, WindowLaw, WindowParams, WindowStart};
use evenair_units::{Duration, Instant};
use rack::{Rack, TailProbe};
use reduction::ProportionalRateReduction;

/// How a sender repairs losses that duplicate acknowledgements report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recovery {
    /// Any new acknowledgement ends recovery (RFC 5681 section 3.2): Reno.
    Reno,
    /// A partial acknowledgement retransmits the next segment (RFC 6582): NewReno.
    NewReno,
    /// By selective acknowledgement (RFC 6675, RFC 8985).
    Sack,
}

/// The quantity that is halved after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossMeasure {
    /// Segments under way within the window; those that limited transmit or selective acknowledgements let out beyond it
    /// do not count (RFC 5681 section 3.2 step 2, RFC 6675 section 5 step 4.2).
    Outstanding,
    /// The window in force, clamped by the receiver's: ns-2.
    Window,
}

/// Parameters of a sender, its window law left aside.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderParams {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// The window law's start.
    pub start: WindowStart,
    /// The receiver's window \[segments\].
    pub receiver_window: u32,
    /// The retransmission timer.
    pub rto: RtoParams,
    /// New segments for the first two duplicate acknowledgements (RFC 3042); selective acknowledgements do so anyway.
    pub limited_transmit: bool,
    /// With selective acknowledgements: find losses by time (RFC 8985, RACK) instead of by count (RFC 6675), and measure each
    /// acknowledgement's round trip, as Linux does.
    pub rack: bool,
    /// With `rack`: probe the end of the data (RFC 8985 section 7, TLP).
    pub tail_loss_probe: bool,
    /// The quantity that is halved after a loss.
    pub loss_measure: LossMeasure,
    /// The congestion window grows on even where the receiver's window limits the sender: ns-2. By the RFCs
    /// an unused window proves nothing about the path (RFC 7661 section 1).
    pub grows_unused: bool,
    /// Open with a SYN and close with a FIN.
    pub handshake: bool,
    /// Take a round-trip sample from every acknowledgement (RFC 7323) instead of one per round trip.
    pub timestamps: bool,
    /// New data may be marked instead of dropped, and a mark cuts the window as a loss does (RFC 3168). A law
    /// that steers recovery itself does not use ECN; its data are dropped.
    pub ecn: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The SYN is to be sent, or not answered yet.
    Opening,
    Established,
    /// No new segment is sent; those under way are finished.
    Draining,
    /// All is acknowledged; the FIN is to be sent, or not answered yet.
    Closing,
    Closed,
}

/// The state of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Every known loss has been dealt with.
    Open,
    /// Acknowledgements revealed a loss; the segments under way then are being repaired.
    Recovery,
    /// The timer revealed a loss; the segments under way then are being repaired.
    Loss,
}

/// Whether new data are held back, independent of the window law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// They are not.
    None,
    /// So many segments are under way at most, until it is let go.
    Held { segments: u32 },
    /// It was let go: so many at most, one more for each that arrives, until they fill the congestion window.
    Opening { segments: u32 },
}

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// Give up the segments under way (RFC 6298).
    Retransmission,
    /// Look once more whether doubtful segments are lost (RFC 8985 section 6.3).
    Reordering,
    /// Probe the end of the data (RFC 8985 section 7).
    Probe,
}

/// A sender's counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, repetitions included.
    pub sent: u64,
    /// Repetitions among them.
    pub retransmitted: u64,
    /// Times that three duplicate acknowledgements announced a loss.
    pub fast_retransmits: u64,
    /// Times that an echo of marks cut the window.
    pub marks: u64,
    /// Segments that were marked.
    pub marked: u64,
    /// Times that the retransmission timer expired.
    pub timeouts: u64,
    /// Probes of the data's end.
    pub probes: u64,
}

impl SenderStats {
    /// Adds another connection's counts.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.retransmitted += other.retransmitted;
        self.fast_retransmits += other.fast_retransmits;
        self.marks += other.marks;
        self.marked += other.marked;
        self.timeouts += other.timeouts;
        self.probes += other.probes;
    }
}

/// The sending endpoint of one connection, with endless data until a limit is set or it is to drain.
#[derive(Clone, Debug)]
pub struct Sender {
    params: SenderParams,
    law: AnyWindow,
    state: State,
    /// The oldest segment that is not acknowledged.
    oldest: u32,
    /// The next segment to send; steps back after a time-out.
    next: u32,
    /// One more than the highest segment ever sent.
    highest: u32,
    /// How many segments the application has produced.
    supplied: u32,
    /// When the sender last stopped, the window kept it from sending, not the application.
    window_limited: bool,
    duplicates: u32,
    phase: Phase,
    /// A partial acknowledgement has come in this recovery.
    partial: bool,
    /// Segments that duplicates report to have left the network (RFC 5681 section 3.2), without SACK.
    inflation: f64,
    scoreboard: Scoreboard,
    prr: ProportionalRateReduction,
    rack: Rack,
    probe: Option<TailProbe>,
    probe_due: bool,
    /// `highest` when the last loss was found; a loss below it is the same loss.
    recover: u32,
    retransmit: bool,
    control_due: bool,
    rto: RtoEstimator,
    timer: Instant,
    guard: Guard,
    /// A pacing law lets nothing out before this.
    paced_until: Instant,
    /// Something may be waiting for that.
    paced: bool,
    /// The segment that is being timed, and its time of sending.
    timed: Option<(u32, Instant)>,
    last_round_trip: Option<Duration>,
    min_round_trip: Option<Duration>,
    timed_out_at: Option<u32>,
    /// The account of deliveries, for a law that needs them.
    account: Option<Box<Account>>,
    reaction: Reaction,
    hold: Hold,
    stats: SenderStats,
}

impl Sender {
    /// A sender at its start; with a handshake its first segment is a SYN.
    pub fn new(params: SenderParams, window: &WindowParams) -> Self {
        let state = if params.handshake { State::Opening } else { State::Established };
        let law = window.begin(&params.start);
        let account = law.sees_deliveries().then(Box::default);
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
            phase: Phase::Open,
            partial: false,
            inflation: 0.0,
            scoreboard: Scoreboard::default(),
            prr: ProportionalRateReduction::default(),
            rack: Rack::default(),
            probe: None,
            probe_due: false,
            recover: 0,
            retransmit: false,
            control_due: params.handshake,
            rto: RtoEstimator::new(params.rto),
            timer: Instant::NEVER,
            guard: Guard::Retransmission,
            paced_until: Instant::ZERO,
            paced: false,
            timed: None,
            last_round_trip: None,
            min_round_trip: None,
            timed_out_at: None,
            account,
            reaction: Reaction::default(),
            hold: Hold::None,
            stats: SenderStats::default(),
        }
    }

    /// The application has produced so many segments in all; without this call they are endless.
    pub fn supply(&mut self, segments: u32) {
        self.supplied = segments;
    }

    /// The next segment to send now, if any.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.paced = false; // unless it turns out that something is held back
        match self.state {
            State::Opening => self.control(now, SegmentKind::Syn),
            State::Closing => self.control(now, SegmentKind::Fin),
            State::Closed => None,
            State::Established | State::Draining => self.data(now),
        }
    }

    #[inline(never)] // once or twice a connection
    fn control(&mut self, now: Instant, kind: SegmentKind) -> Option<Segment> {
        if !std::mem::take(&mut self.control_due) {
            return None;
        }
        if self.stats.timeouts == 0 {
            self.timed = Some((0, now));
        }
        self.guard(now, self.rto.timeout());
        Some(Segment { stamp: stamp(now), ..Segment::plain(kind, self.highest) })
    }

    fn data(&mut self, now: Instant) -> Option<Segment> {
        if now < self.paced_until {
            self.paced = true;
            return None;
        }
        let number = if std::mem::take(&mut self.probe_due) {
            self.stats.probes += 1;
            self.next_probe(now)
        } else if self.sack() {
            self.next_selected(now)
        } else {
            self.next_in_sequence()
        };
        let Some(number) = number else {
            self.note_nothing_to_send();
            return None;
        };
        let is_new = number >= self.highest;
        self.count_sent(now, number);
        if let Some(gap) = self.law.pacing_gap() {
            self.paced_until = now + gap;
        }
        let plain = Segment::plain(SegmentKind::Data, number);
        let ecn = if self.reacts_to_marks() && is_new { self.reaction.of_new_data() } else { plain.ecn };
        Some(Segment { stamp: stamp(now), ecn, ..plain })
    }

    /// New data are held back as if the receiver's window were this number of segments, independent of the
    /// window law.
    pub const fn hold_back(&mut self, segments: u32) {
        self.hold = Hold::Held { segments };
    }

    /// Whether it is held back, and was not let go.
    pub const fn is_held_back(&self) -> bool {
        matches!(self.hold, Hold::Held { .. })
    }

    /// It is held back no longer: its window opens again as in slow start, not at once, which would be a burst.
    pub fn let_go(&mut self) {
        if let Hold::Held { segments } = self.hold {
            self.hold = Hold::Opening { segments: segments.max(1) };
        }
    }

    /// So many segments more were acknowledged: to a sender that was let go.
    fn open_again(&mut self, segments: u32) {
        let Hold::Opening { segments: before } = self.hold else { return };
        let segments = before.saturating_add(segments);
        let is_opening = f64::from(segments) < self.law.congestion_window();
        self.hold = if is_opening { Hold::Opening { segments } } else { Hold::None };
    }

    /// The connection is worth this many from now on, if its window law supports that.
    pub fn be_worth(&mut self, connections: f64) {
        self.law.be_worth(connections);
    }

    /// Where new data end: by the application's supply, by draining, by being held back, or by the receiver's window.
    fn end_of_data(&self) -> u32 {
        let window = match self.hold {
            Hold::None => self.params.receiver_window,
            Hold::Held { segments } | Hold::Opening { segments } => self.params.receiver_window.min(segments),
        };
        self.produced().min(self.oldest.saturating_add(window))
    }

    fn produced(&self) -> u32 {
        if self.state == State::Draining { self.highest } else { self.supplied }
    }

    fn note_nothing_to_send(&mut self) {
        if self.account.is_some() && !self.window_limited && self.highest >= self.produced() {
            let flight = self.flight();
            if let Some(account) = &mut self.account {
                account.on_nothing_to_send(flight);
            }
        }
    }

    /// How many segments are thought to be in the network.
    fn flight(&self) -> u32 {
        if self.sack() {
            return self.scoreboard.pipe();
        }
        let arrived = self.account.as_ref().map_or(0, |account| account.duplicates());
        self.outstanding().saturating_sub(arrived)
    }

    fn count_sent(&mut self, now: Instant, number: u32) {
        self.stats.sent += 1;
        if let Some(account) = &mut self.account {
            account.on_sent(now, number);
        }
        if number < self.highest {
            self.stats.retransmitted += 1;
            if self.timed.is_some_and(|(timed, _)| timed >= number) {
                self.timed = None; // Karn: an acknowledgement would be ambiguous
            }
        } else {
            self.highest = number + 1;
            self.next = self.next.max(self.highest);
            if self.sack() {
                self.scoreboard.push(now);
                if self.guard == Guard::Probe {
                    self.timer = Instant::NEVER; // the end of the data has moved
                }
            }
            self.timed.get_or_insert((number, now));
        }
        if self.timer.is_never() {
            self.rearm(now);
        }
    }

    /// The timer guards the segments under way from now on for so long.
    fn guard(&mut self, now: Instant, timeout: Duration) {
        self.timer = now + timeout;
        self.guard = Guard::Retransmission;
    }

    /// The timer guards the segments under way: first by a probe, if it is allowed, which is no later than the time-out would be
    /// (RFC 8985 section 7.2), else by a time-out (RFC 6298 section 5.2 and 5.3).
    fn rearm(&mut self, now: Instant) {
        if self.highest == self.oldest {
            self.timer = Instant::NEVER;
            return;
        }
        self.guard(now, self.rto.timeout());
        if let Some(wait) = self.probe_wait() {
            self.timer = self.timer.min(now + wait);
            self.guard = Guard::Probe;
        }
    }

    /// The timer guards the segments under way as if it had done so since the oldest was sent.
    fn guard_oldest(&mut self, now: Instant) {
        let sent = self.scoreboard.oldest().map_or(now, |mark| mark.sent);
        self.guard(sent, self.rto.timeout());
        self.timer = self.timer.max(now + Duration::from_nanos(1));
    }

    fn sack(&self) -> bool {
        self.params.recovery == Recovery::Sack
    }

    /// A reply from the receiver arrives.
    pub fn handle_reply(&mut self, now: Instant, reply: Segment) {
        match (self.state, reply.kind) {
            (State::Opening, SegmentKind::SynAck) => {
                if let Some((_, sent)) = self.timed.take() {
                    self.add_sample(1, now.since(sent));
                }
                if self.stats.timeouts > 0 {
                    // RFC 5681 section 3.1: one segment after a lost SYN; RFC 6298 section 5.7: no hurry either.
                    self.law.begin(&WindowStart { initial_window: 1.0, ..self.params.start });
                    self.rto.fall_back();
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
        self.last_round_trip = None;
        if expected > self.highest {
            return; // acknowledges data that were never sent (RFC 9293 section 3.10.7.4)
        }
        if expected < self.oldest {
            return; // overtaken by a later one
        }
        self.open_again(expected - self.oldest);
        self.stats.marked += u64::from(self.reaction.count_marks(ack.ecn));
        if expected > self.oldest && self.params.timestamps {
            // RFC 7323 section 4.1: only acknowledgements of new data are measured.
            // Section 4.2: of the segments under way every second one is expected to bring a sample.
            let samples = self.outstanding().div_ceil(2);
            self.add_sample(samples, Duration::from_micros(u64::from(stamp(now).wrapping_sub(ack.stamp))));
        }
        if self.account.is_some() {
            let flight = self.flight();
            self.account.iter_mut().for_each(|account| account.begin(flight));
        }
        if self.sack() {
            self.handle_selective(now, ack);
        } else if expected > self.oldest {
            self.advance(now, expected);
        } else if self.highest > self.oldest {
            self.handle_duplicate(now);
        }
        if ack.ecn.echoes() {
            self.handle_echo(now, expected);
        }
        self.finish_draining();
    }

    fn reacts_to_marks(&self) -> bool {
        self.params.ecn && !self.law.steers_recovery()
    }

    /// The receiver has seen a mark. During recovery the window is cut already.
    fn handle_echo(&mut self, now: Instant, expected: u32) {
        if self.phase == Phase::Open && self.reaction.is_due(expected) {
            self.stats.marks += 1;
            self.law.on_loss(&self.loss(now));
            self.reaction.has_cut(self.highest);
        }
    }

    /// Acknowledges everything before `expected`, without selective acknowledgements.
    fn advance(&mut self, now: Instant, expected: u32) {
        let segments = expected - self.oldest;
        let in_recovery = self.phase == Phase::Recovery;
        let flight = self.outstanding();
        self.duplicates = 0;
        if let Some(account) = &mut self.account {
            account.advance_in_order(expected);
        }
        self.advance_to(now, expected);
        let restart = !in_recovery || self.advance_in_recovery(segments, expected);
        self.tell(now, &Acked { segments, advances: true, in_recovery, flight, ..Acked::default() });
        if restart {
            self.rearm(now);
        }
    }

    /// The window of acknowledged segments moves on.
    fn advance_to(&mut self, now: Instant, expected: u32) {
        if expected == self.oldest {
            return;
        }
        self.oldest = expected;
        self.next = self.next.max(expected);
        if self.timed.is_some_and(|(timed, _)| expected > timed) {
            self.take_sample(now);
        }
    }

    /// Passes an acknowledgement to the window law.
    fn tell(&mut self, now: Instant, acked: &Acked) {
        self.tell_delivery(now);
        self.law.on_ack(&Acked {
            now,
            window_limited: self.is_window_limited(),
            sample: self.last_round_trip,
            smoothed: self.rto.smoothed(),
            least: self.min_round_trip,
            ..*acked
        });
    }

    /// Before it, passes the deliveries, if the law needs them.
    fn tell_delivery(&mut self, now: Instant) {
        let Some(account) = &mut self.account else { return };
        let told = account.tell(now);
        let repair = match self.phase {
            Phase::Recovery => Repair::Recovery,
            Phase::Loss if self.oldest < self.recover => Repair::Timeout,
            Phase::Loss | Phase::Open => Repair::None,
        };
        self.law.on_delivery(&Delivery {
            flight: self.flight(),
            repair,
            smoothed: self.rto.smoothed(),
            paced_until: self.paced_until,
            ..told
        });
    }

    fn count_lost(&mut self, segments: u32) {
        if let Some(account) = &mut self.account {
            account.on_lost(segments);
        }
    }

    /// Whether the window limits the sender, neither the application nor the receiver (RFC 7661 section 1).
    fn is_window_limited(&self) -> bool {
        let receiver = f64::from(self.params.receiver_window);
        self.window_limited && (self.params.grows_unused || self.law.congestion_window() < receiver)
    }

    fn loss(&self, now: Instant) -> Loss {
        let most = match self.params.loss_measure {
            LossMeasure::Outstanding => self.highest - self.oldest,
            LossMeasure::Window => self.params.receiver_window,
        };
        Loss { now, flight: self.law.congestion_window().min(f64::from(most)), repeated: false }
    }

    /// The sample of the only timed segment, where not every segment is timed.
    fn take_sample(&mut self, now: Instant) {
        if let Some((_, sent)) = self.timed.take()
            && !self.params.timestamps
            && !(self.params.rack && self.sack())
        {
            self.add_sample(1, now.since(sent));
        }
    }

    /// A sample, and how many a round trip brings.
    fn add_sample(&mut self, of: u32, round_trip: Duration) {
        self.rto.sample(of, round_trip);
        self.min_round_trip = Some(self.min_round_trip.map_or(round_trip, |least| least.min(round_trip)));
        self.last_round_trip = Some(round_trip);
    }

    /// When the timer expires, or a segment is due that was held back to be paced.
    pub fn poll_timeout(&self) -> Instant {
        if self.paced { self.timer.min(self.paced_until) } else { self.timer }
    }

    /// The timer expired; harmless when it is not due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if now < self.timer {
            return;
        }
        self.timer = Instant::NEVER;
        match self.guard {
            Guard::Retransmission => self.time_out(now),
            Guard::Reordering => self.on_reordering_timer(now),
            Guard::Probe => self.probe_due = true,
        }
    }

    fn time_out(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.rto.back_off();
        self.timed = None;
        match self.state {
            State::Opening | State::Closing => self.control_due = true,
            State::Established | State::Draining => {
                // RFC 5681 section 3.1: the threshold is held when the same segment times out again. So it is when the timer
                // has to end a recovery: that flight's loss has cut the window already (Linux).
                let again =
                    self.timed_out_at == Some(self.oldest) || (self.sack() && self.phase == Phase::Recovery);
                let repeated = again && self.params.loss_measure == LossMeasure::Outstanding;
                self.law.on_timeout(&Loss { repeated, ..self.loss(now) });
                self.reaction.has_cut(self.highest);
                self.timed_out_at = Some(self.oldest);
                self.recover = self.highest;
                self.phase = Phase::Loss;
                if self.sack() {
                    self.lose_all(now);
                } else {
                    self.next = self.oldest;
                    self.inflation = 0.0;
                    self.retransmit = false;
                    self.duplicates = 0;
                    self.account.iter_mut().for_each(|account| account.forget_duplicates());
                    self.count_lost(1);
                }
            }
            State::Closed => (),
        }
    }

    /// No new data from here on: the connection finishes the segments under way and closes.
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

    /// Segments that the application has produced and that were never sent; meaningless where the data are endless.
    pub const fn unsent(&self) -> u32 {
        self.supplied - self.highest
    }

    /// One more segment from the application; returns whether the connection takes it.
    pub fn supply_one(&mut self) -> bool {
        if self.state != State::Established {
            return false;
        }
        self.supplied += 1;
        true
    }

    /// The smoothed round-trip time (RFC 6298 section 2), once there is one.
    pub fn smoothed_round_trip(&self) -> Option<Duration> {
        self.rto.smoothed()
    }

    /// The retransmission timer's last sample of the round trip, given once.
    pub fn take_round_trip(&mut self) -> Option<Duration> {
        self.last_round_trip.take()
    }

    /// Segments acknowledged in order.
    pub const fn acknowledged(&self) -> u32 {
        self.oldest
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

    /// The counts so far.
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }
}

/// RFC 7323's clock, in microseconds.
fn stamp(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}
