//! The reception of frames: carrier sense, overlap, capture, error models.
//!
//! Each node keeps the signals that reach it; its receiver is locked to at most one of them. A signal that cannot be
//! decoded (too weak, or overlapped) is carrier and, at its end, an error.

use super::flight::Flight;
use super::node::Heard;
use super::{Capture, DcfAir, Ear, Sending};
use crate::air::Contender;
use crate::ledger::Doing;
use crate::timeline::FrameKind;
use evenair_units::Instant;

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

impl DcfAir {
    /// A frame's first energy reaches `node`. Where `FIRST_WINS`, the rule is [`Capture::First`] and nobody is far, which is then
    /// not asked at every hearer.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn arrive<const FIRST_WINS: bool>(
        &mut self,
        node: usize,
        from: usize,
        ear: &Ear,
        at: Instant,
        until: Instant,
    ) {
        let heard = Heard::new(from as u32, ear.power_mw, ear.sensed);
        let this = &mut self.nodes[node];
        if ear.sensed {
            this.keep_reservation();
        }
        if !this.is_silent() {
            return self.arrive_among_others(node, heard, ear, at, until);
        }
        this.hear_first(heard);
        let transmitting = this.sending_until > at;
        match if FIRST_WINS { Capture::First } else { self.rules.capture } {
            Capture::First if !ear.sensed => (), // ns-2 drops it before its MAC
            Capture::First => this.lock(heard.from(), until, ear.clear_alone && !transmitting),
            Capture::Strongest | Capture::Sinr { .. } if transmitting || !ear.noticed => (),
            Capture::Strongest | Capture::Sinr { .. } => this.lock(heard.from(), until, ear.clear_alone),
        }
        if !FIRST_WINS && self.is_wide {
            self.stations[node].locked_since = at;
        }
    }

    /// The same where other signals are present.
    #[inline(never)]
    fn arrive_among_others(&mut self, node: usize, heard: Heard, ear: &Ear, at: Instant, until: Instant) {
        let (ratio, noise_mw) = (self.capture_ratio, self.noise_mw);
        let (this, station) = (&mut self.nodes[node], &mut self.stations[node]);
        let transmitting = this.sending_until > at;
        // The power that the new frame must stand out from.
        let others = || this.signals(station).map(|h| h.power_mw);
        let rival_mw = match self.rules.capture {
            Capture::Sinr { .. } => noise_mw + others().sum::<f32>(),
            Capture::Strongest => others().fold(0.0, f32::max),
            Capture::First => 0.0, // it is compared with the first alone
        };
        let locked = this.locked().and_then(|from| this.signals(station).find(|h| h.from() == from));
        debug_assert_eq!(locked.is_some(), this.locked().is_some(), "locked to a signal that is gone");
        this.hear_more(heard, station);
        let was_locked = this.locked();
        match (self.rules.capture, locked) {
            (Capture::First, _) if !ear.sensed => (), // ns-2 drops it before its MAC
            (Capture::First, None) => this.lock(heard.from(), until, ear.decodable && !transmitting),
            (Capture::First, Some(locked)) if locked.power_mw >= ratio * ear.power_mw => {
                // ns-2 ignores the weaker frame but reserves the medium until its end and an EIFS more.
                this.reserved_until = this.reserved_until.max(until + self.timing.eifs);
            }
            (Capture::First, Some(_)) => {
                this.spoil();
                if until > this.locked_until {
                    this.lock(heard.from(), until, false);
                }
            }
            (Capture::Strongest | Capture::Sinr { .. }, _) if transmitting => (),
            (rule, locked) => {
                let clear = ear.decodable && ear.power_mw >= ratio * rival_mw;
                match locked {
                    None if ear.noticed => this.lock(heard.from(), until, clear),
                    None => (),
                    Some(locked) => {
                        let disturbance_mw = match rule {
                            Capture::Sinr { .. } => rival_mw - locked.power_mw + ear.power_mw,
                            Capture::Strongest | Capture::First => ear.power_mw,
                        };
                        if locked.power_mw < ratio * disturbance_mw {
                            this.spoil();
                        }
                        // Below 0 dB both could be decoded; the receiver stays with the first.
                        if !this.is_intact() && (clear || (ear.noticed && until > this.locked_until)) {
                            this.lock(heard.from(), until, clear);
                        }
                    }
                }
            }
        }
        if self.is_wide && this.locked() != was_locked {
            station.locked_since = at;
        }
    }

    /// A frame's last energy has reached `node`.
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
        let this = &mut self.nodes[node];
        if this.hears_one() {
            this.hear_none(from as u32);
        } else {
            this.hear_less(from as u32, &mut self.stations[node]);
            if self.ledger.is_some() && ear.sensed {
                self.pass_blame(node, sent.by, at);
            }
        }
        if !ear.sensed {
            return Reception::Unnoticed;
        }
        let this = &mut self.nodes[node];
        this.idle_since = this.idle_since.max(at);
        if this.locked() != Some(from as u32) {
            return Reception::Unnoticed;
        }
        let intact = this.unlock();
        match (this.sending_until > at, intact) {
            (true, _) => Reception::Unnoticed,
            (false, true) if ear.lossy && self.spoils(from, node, sent, at) => Reception::Error,
            (false, true) => Reception::Decoded,
            (false, false) => Reception::Error,
        }
    }

    /// An exchange of `gone` is sensed no more: a sender who is still sensed takes over the blame.
    #[cold]
    fn pass_blame(&mut self, node: usize, gone: Contender, at: Instant) {
        let Some(by) = self.sensed(node) else { return };
        for c in self.contenders(node) {
            if self.ledger.as_ref().is_some_and(|l| l.doing(c) == Doing::Blocked { by: gone }) {
                self.turn_to(c, at, Doing::Blocked { by });
            }
        }
    }

    /// The contender to whose exchange the first of the signals belongs that a node senses.
    pub(super) fn sensed(&self, node: usize) -> Option<Contender> {
        let from = self.nodes[node].signals(&self.stations[node]).find(|heard| heard.is_sensed())?.from();
        let flight = self.flights.iter().find(|flight| flight.reaches(node, from));
        let sent = flight.map(Flight::sent).or(self.stations[from as usize].sending.as_ref());
        sent.map(|sent| sent.by)
    }

    /// Whether the link's error model spoils a frame.
    fn spoils(&mut self, from: usize, to: usize, sent: &Sending, at: Instant) -> bool {
        let process = self.losses.get_mut(&(from as u32, to as u32)).expect("lossy ears have a model");
        process.loses(at, sent.size)
    }

    /// A frame that has ended leaves a reservation behind at `node`, or a longer inter-frame space.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn after_reception(&mut self, node: usize, reception: Reception, sent: &Sending, at: Instant) {
        let this = &mut self.nodes[node];
        match reception {
            Reception::Unnoticed => (),
            Reception::Error if self.rules.eifs_reserves => {
                this.reserved_until = this.reserved_until.max(at + self.timing.eifs);
            }
            Reception::Error => this.extended = true,
            Reception::Decoded => {
                // IEEE 802.11-2016 clause 10.3.2.3.7: a frame received correctly ends the EIFS.
                this.extended = false;
                // Clause 10.3.2.4: others reserve the medium for the rest of the exchange.
                let until = at + sent.reserves;
                if sent.to as usize != node && until > this.reserved_until {
                    this.reserved_until = until;
                    if sent.kind == FrameKind::Rts {
                        let sender = self.queues[sent.by as usize].node as usize;
                        let void_at = self.stations[sender].request_void_at;
                        self.nodes[node].unreserve_at(void_at, &mut self.stations[node]);
                    }
                }
            }
        }
    }
}
