//! The reception of frames: carrier sense, overlap, capture, error models.
//!
//! Each node keeps the signals that reach it; its receiver is locked to at most one of them. A signal that cannot be
//! decoded (too weak, or overlapped) is carrier and, at its end, an error.

use super::flight::Flight;
use super::shape::Shape;
use super::signals::Heard;
use super::{Capture, DcfAir, Ear, Sending};
use crate::air::Contender;
use crate::ledger::Doing;
use crate::timeline::FrameKind;
use evenair_units::{Duration, Instant};

/// How long a receiver needs to detect a frame (aCCATime of OFDM, IEEE 802.11-2016 table 17-21).
pub(super) const DETECTION_TIME: Duration = Duration::from_micros(4);

/// The rules of reception that the loop over a frame's hearers is compiled for: [`Capture::First`], where no hearer is far and no
/// powers are added up.
pub(super) const FIRST: u8 = 0;
/// [`Capture::Strongest`], where besides every preamble is detected.
pub(super) const STRONGEST: u8 = 1;
/// All others.
pub(super) const OTHER: u8 = 2;

/// The result of receiving a frame that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    /// Decoded.
    Decoded,
    /// Locked to and lost: an error.
    Error,
    /// Not noticed as a frame of its own.
    Unnoticed,
}

/// A signal that reaches a receiver beside others.
pub(super) struct Newcomer<'a> {
    pub(super) ear: &'a Ear,
    pub(super) until: Instant,
    /// The receiver is itself transmitting.
    pub(super) transmitting: bool,
}

/// The signal that its receiver is locked to.
#[derive(Clone, Copy)]
pub(super) struct Locked {
    pub(super) power_mw: f32,
    pub(super) until: Instant,
    pub(super) intact: bool,
}

/// The powers that decide an overlap, and by how much a frame must be stronger.
pub(super) struct Powers {
    /// That from which a new frame must stand out.
    pub(super) rival_mw: f32,
    /// That which disturbs the frame under reception beside the new one.
    pub(super) others_mw: f32,
    /// To survive.
    pub(super) ratio: f32,
    /// To be detected.
    pub(super) detection: f32,
}

/// The effect of a newcomer on a receiver.
#[derive(Default)]
pub(super) struct Overlap {
    /// The signal that it is locked to will not be decoded.
    pub(super) spoils: bool,
    /// It leaves that signal.
    pub(super) frees: bool,
    /// It locks to the newcomer; whether that will be decoded, as far as is known.
    pub(super) locks: Option<bool>,
    /// It reserves the medium until an EIFS after the newcomer's end.
    pub(super) reserves: bool,
}

/// Whether a receiver that is locked to a signal is not disturbed by a later one, under [`Capture::First`].
#[inline]
pub(super) fn prevails(first_mw: f32, later_mw: f32, ratio: f32) -> bool {
    first_mw >= ratio * later_mw
}

impl Overlap {
    /// Under [`Capture::First`].
    #[inline]
    pub(super) fn of_first(locked: Option<Locked>, new: &Newcomer<'_>, ratio: f32) -> Self {
        let &Newcomer { ear, until, transmitting } = new;
        match locked {
            _ if !ear.sensed => Self::default(), // ns-2 drops it before its MAC
            None => Self { locks: Some(ear.decodable && !transmitting), ..Self::default() },
            // ns-2 ignores the weaker frame but reserves the medium until its end and an EIFS more.
            Some(locked) if prevails(locked.power_mw, ear.power_mw, ratio) => {
                Self { reserves: true, ..Self::default() }
            }
            Some(locked) => {
                Self { spoils: true, locks: (until > locked.until).then_some(false), ..Self::default() }
            }
        }
    }

    /// Under all other rules, at a receiver that does not transmit. Whether the frame under reception has just begun matters where
    /// preambles are detected by their power.
    #[inline]
    pub(super) fn of_strongest(
        locked: Option<Locked>,
        new: &Newcomer<'_>,
        powers: &Powers,
        has_just_begun: bool,
    ) -> Self {
        let &Newcomer { ear, until, .. } = new;
        let &Powers { rival_mw, others_mw, ratio, detection } = powers;
        let clear = ear.decodable && ear.power_mw >= ratio * rival_mw;
        let noticed = ear.noticed && ear.power_mw >= detection * rival_mw;
        match locked {
            None => Self { locks: noticed.then_some(clear), ..Self::default() },
            Some(locked) if has_just_begun && locked.power_mw < detection * ear.power_mw => {
                Self { frees: true, locks: noticed.then_some(clear), ..Self::default() }
            }
            Some(locked) => {
                let spoils = locked.power_mw < ratio * (others_mw + ear.power_mw);
                // Below 0 dB both could be decoded; the receiver stays with the first.
                let is_left = (spoils || !locked.intact) && (clear || (noticed && until > locked.until));
                Self { spoils, locks: is_left.then_some(clear), ..Self::default() }
            }
        }
    }
}

impl<S: Shape> DcfAir<S> {
    /// The rules that frames are received by.
    #[inline]
    pub(super) fn reception_rules(&self) -> u8 {
        match self.rules.capture {
            _ if self.is_wide() || self.adds_up() => OTHER,
            Capture::First => FIRST,
            Capture::Strongest if self.detection_ratio == 0.0 => STRONGEST,
            _ => OTHER,
        }
    }

    /// A frame's first energy reaches `node`; tells whether that node is itself transmitting then. `RULES` are those of
    /// [`reception_rules`](Self::reception_rules), which is then not asked at every hearer.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn arrive<const RULES: u8>(
        &mut self,
        node: usize,
        from: usize,
        ear: &Ear,
        at: Instant,
        until: Instant,
    ) -> bool {
        let heard = Heard::new(from as u32, ear.power_mw, ear.sensed);
        let capture = self.capture::<RULES>();
        let this = &mut self.nodes[node];
        let transmitting = this.sending_until > at;
        if ear.sensed {
            this.keep_reservation();
        }
        let signals = &mut self.signals[node];
        if !signals.is_silent() {
            self.arrive_among_others::<RULES>(node, heard, ear, at, until);
            if RULES == OTHER && self.adds_up() {
                self.note_energy(node, from, at);
            }
            return transmitting;
        }
        signals.hear_first(heard);
        match capture {
            Capture::First if !ear.sensed => (), // ns-2 drops it before its MAC
            Capture::First => signals.lock(heard.from(), until, ear.clear_alone && !transmitting),
            _ if transmitting || !ear.noticed => (),
            _ => signals.lock(heard.from(), until, ear.clear_alone),
        }
        if RULES == OTHER && self.is_wide() {
            self.stations[node].locked_since = at;
        }
        transmitting
    }

    #[inline]
    const fn capture<const RULES: u8>(&self) -> Capture {
        match RULES {
            FIRST => Capture::First,
            STRONGEST => Capture::Strongest,
            _ => self.rules.capture,
        }
    }

    /// The same where other signals are present.
    #[inline(never)]
    fn arrive_among_others<const RULES: u8>(
        &mut self,
        node: usize,
        heard: Heard,
        ear: &Ear,
        at: Instant,
        until: Instant,
    ) {
        let rule = self.capture::<RULES>();
        let (ratio, noise_mw, is_wide) = (self.capture_ratio, self.noise_mw, self.is_wide());
        let detection = if RULES == OTHER { self.detection_ratio } else { 0.0 };
        let has_just_begun = detection > 0.0 && self.has_just_begun(node, at);
        let (this, station) = (&mut self.signals[node], &mut self.stations[node]);
        let transmitting = self.nodes[node].sending_until > at;
        // The power that the new frame must stand out from.
        let others = || this.powers_mw(station);
        let rival_mw = match rule {
            Capture::Sinr { .. } => noise_mw + others().sum::<f32>(),
            Capture::Strongest => others().fold(0.0, f32::max),
            Capture::First => 0.0, // it is compared with the first alone
            Capture::Errors(_) => return self.arrive_disturbed(node, heard, ear, at, until),
        };
        let locked = this.locked().map(|from| Locked {
            power_mw: this.signal(from, station).power_mw,
            until: this.locked_until,
            intact: this.is_intact(),
        });
        this.hear_more(heard, station);
        let was_locked = this.locked();
        let newcomer = Newcomer { ear, until, transmitting };
        let overlap = if rule == Capture::First {
            Overlap::of_first(locked, &newcomer, ratio)
        } else if transmitting {
            Overlap::default()
        } else {
            let others_mw = match (rule, locked) {
                (Capture::Sinr { .. }, Some(locked)) => rival_mw - locked.power_mw,
                _ => 0.0,
            };
            let powers = Powers { rival_mw, others_mw, ratio, detection };
            Overlap::of_strongest(locked, &newcomer, &powers, has_just_begun)
        };
        if overlap.spoils {
            this.spoil();
        }
        if overlap.frees {
            this.unlock();
        }
        if let Some(intact) = overlap.locks {
            this.lock(heard.from(), until, intact);
        }
        if overlap.reserves {
            let this = &mut self.nodes[node];
            this.reserved_until = this.reserved_until.max(until + self.timing.eifs);
        }
        if RULES == OTHER && is_wide && self.signals[node].locked() != was_locked {
            station.locked_since = at;
        }
    }

    /// Whether receptions fail by noise and interference over time. Where not, a hearer's station is let be: another line of the cache.
    #[inline]
    const fn errs_by_noise(&self) -> bool {
        matches!(self.rules.capture, Capture::Errors(_))
    }

    /// Whether the preamble of the frame that a receiver is locked to is still to be detected.
    #[inline(never)]
    fn has_just_begun(&self, node: usize, at: Instant) -> bool {
        self.age_of_locked(node, at).is_some_and(|age| age < DETECTION_TIME)
    }

    /// For how long a receiver has been locked to a frame, by the sender's clock.
    pub(super) fn age_of_locked(&self, node: usize, at: Instant) -> Option<Duration> {
        let sent = self.signals[node].locked().and_then(|from| self.stations[from as usize].sending)?;
        Some(at.since(sent.since))
    }

    /// A frame's last energy has reached `node`, where it leaves a reservation behind, or a longer inter-frame space.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn depart(
        &mut self,
        node: usize,
        from: usize,
        ear: &Ear,
        at: Instant,
        sent: &Sending,
    ) -> Reception {
        let signals = &mut self.signals[node];
        if !signals.hears_one() {
            return self.depart_from_others(node, from, ear, at, sent);
        }
        signals.hear_none(from as u32);
        self.end_reception(node, from, ear, at, sent)
    }

    /// The same where other signals are present.
    #[inline(never)]
    fn depart_from_others(
        &mut self,
        node: usize,
        from: usize,
        ear: &Ear,
        at: Instant,
        sent: &Sending,
    ) -> Reception {
        self.signals[node].hear_less(from as u32, &mut self.stations[node]);
        if self.adds_up() {
            self.release_energy(node, at);
        }
        if self.ledger.is_some() && ear.sensed {
            self.pass_blame(node, sent.by, at);
        }
        if self.errs_by_noise() && !self.stations[node].interference.is_empty() {
            self.note_interference(node, at);
        }
        self.end_reception(node, from, ear, at, sent)
    }

    /// The result of a reception that ends, and the state behind it.
    #[allow(clippy::inline_always, reason = "a twentieth of a run: part of `depart`")]
    #[inline(always)]
    fn end_reception(
        &mut self,
        node: usize,
        from: usize,
        ear: &Ear,
        at: Instant,
        sent: &Sending,
    ) -> Reception {
        if !ear.sensed {
            return Reception::Unnoticed;
        }
        let this = &mut self.nodes[node];
        this.idle_since = this.idle_since.max(at);
        let reception = match self.signals[node].part_from(from as u32) {
            Some(_) if this.sending_until > at => Reception::Unnoticed,
            Some(true) if ear.lossy => return self.end_lossy(node, from, ear, at, sent),
            Some(true) => Reception::Decoded,
            Some(false) => Reception::Error,
            None => Reception::Unnoticed,
        };
        self.leave_behind(node, reception, at, sent);
        reception
    }

    /// The same of an intact frame that the link's error model may spoil.
    #[cold]
    #[inline(never)]
    fn end_lossy(&mut self, node: usize, from: usize, ear: &Ear, at: Instant, sent: &Sending) -> Reception {
        let is_spoilt = self.spoils(from, node, ear, sent, at);
        let reception = if is_spoilt { Reception::Error } else { Reception::Decoded };
        self.leave_behind(node, reception, at, sent);
        reception
    }

    /// The inter-frame space and the reservation that a reception leaves behind.
    #[allow(clippy::inline_always, reason = "a twentieth of a run: part of `depart`")]
    #[inline(always)]
    pub(super) fn leave_behind(&mut self, node: usize, reception: Reception, at: Instant, sent: &Sending) {
        let this = &mut self.nodes[node];
        match reception {
            Reception::Unnoticed => (),
            Reception::Error if self.rules.eifs_reserves => {
                this.reserved_until = this.reserved_until.max(at.later(self.timing.eifs));
            }
            Reception::Error => this.extended = true,
            Reception::Decoded => {
                // IEEE 802.11-2016 clause 10.3.2.3.7: a frame received correctly ends the EIFS.
                this.extended = false;
                // Clause 10.3.2.4: others reserve the medium for the rest of the exchange.
                let until = at.later(sent.reserves);
                if sent.to as usize != node && until > this.reserved_until {
                    this.reserved_until = until;
                    if sent.kind == FrameKind::Rts {
                        self.reserve_for_request(node, sent.by);
                    }
                }
            }
        }
    }

    /// An exchange of `gone` is sensed no more: a sender that is still sensed takes over the blame.
    #[inline]
    pub(super) fn pass_blame(&mut self, node: usize, gone: Contender, at: Instant) {
        for c in self.contenders(node) {
            if self.ledger.as_ref().is_some_and(|ledger| ledger.doing(c) == Doing::Blocked { by: gone }) {
                self.blame_next(c, node, at);
            }
        }
    }

    #[inline(never)]
    fn blame_next(&mut self, c: Contender, node: usize, at: Instant) {
        if let Some(by) = self.sensed(node) {
            self.turn_to(c, at, Doing::Blocked { by });
        }
    }

    /// The contender with the exchange of the first frame that a node senses, by its beginning and its sender's number; of any that it
    /// senses together, if it senses none alone.
    pub(super) fn sensed(&self, node: usize) -> Option<Contender> {
        if self.in_sets() {
            return self.first_of(node, self.senders_sensed(node).map(|from| from as u32));
        }
        let (this, station) = (&self.signals[node], &self.stations[node]);
        let alone = this.all(station).filter(|heard| heard.is_sensed()).map(Heard::from);
        let together = || this.all(station).filter(|_| station.energetic).map(Heard::from);
        self.first_of(node, alone).or_else(|| self.first_of(node, together()))
    }

    /// The contender with the exchange of the first of these senders' frames, all of which reach a node.
    fn first_of(&self, node: usize, senders: impl Iterator<Item = u32>) -> Option<Contender> {
        let frames = senders.filter_map(|from| Some((from, self.frame_at(node, from)?)));
        frames.min_by_key(|&(from, sent)| (sent.since, from)).map(|(_, sent)| sent.by)
    }

    /// The frame of `from` that reaches a node.
    pub(super) fn frame_at(&self, node: usize, from: u32) -> Option<&Sending> {
        let flight = self.flights.iter().find(|flight| flight.reaches(node, from));
        flight.map(Flight::sent).or(self.stations[from as usize].sending.as_ref())
    }

    /// Whether the link's error model spoils a frame.
    pub(super) fn spoils(&mut self, from: usize, to: usize, ear: &Ear, sent: &Sending, at: Instant) -> bool {
        if let Capture::Errors(model) = self.rules.capture {
            return self.spoils_by_noise(model, (from, to), ear, sent, at);
        }
        if sent.parts > 1 {
            return self.spoils_parts((from as u32, to as u32), sent, at);
        }
        let process = self.losses.get_mut(&(from as u32, to as u32)).expect("lossy ears have a model");
        process.loses(at, sent.size)
    }

    /// The medium is reserved for an RTS of `by`, which may be void.
    #[cold]
    #[inline(never)]
    pub(super) fn reserve_for_request(&mut self, node: usize, by: Contender) {
        let sender = self.queues[by as usize].node as usize;
        let void_at = self.stations[sender].request_void_at;
        self.nodes[node].unreserve_at(void_at, &mut self.stations[node]);
        self.note_request(node);
    }
}
