//! Who decodes what: carrier sense, overlap, capture, error models.
//!
//! Each node keeps the signals that reach it and at most one that its receiver is locked to. A signal that cannot be
//! decoded (too weak, or overlapped) is carrier and, at its end, an error.

use super::{Capture, DcfAir, Ear, Sending};
use crate::air::Contender;
use crate::ledger::Doing;
use crate::timeline::FrameKind;
use evenair_units::Instant;

/// A signal present at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) from: u32,
    power_mw: f32,
    /// Whether it makes the medium busy.
    pub(super) sensed: bool,
    /// The contender whose exchange it belongs to.
    pub(super) by: u32,
}

/// The signal that a receiver is locked to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locked {
    from: u32,
    power_mw: f32,
    pub(super) since: Instant,
    pub(super) until: Instant,
    /// Whether it will be decoded, as far as is known.
    pub(super) intact: bool,
}

/// What a receiver makes of a frame that has ended.
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
    /// A frame's first energy reaches `node`.
    #[allow(
        clippy::inline_always,
        reason = "a tenth of a run: near and far hearers both call it, for every frame and hearer"
    )]
    #[inline(always)]
    pub(super) fn arrive(
        &mut self,
        node: usize,
        (from, by): (usize, Contender),
        ear: Ear,
        at: Instant,
        until: Instant,
    ) {
        let (ratio, noise_mw) = (self.capture_ratio, self.noise_mw);
        let this = &mut self.nodes[node];
        let transmitting = this.sending_until > at;
        // What the new frame must stand out from.
        let others = this.heard.iter().map(|h| h.power_mw);
        let rival_mw = match self.rules.capture {
            Capture::Sinr { .. } => noise_mw + others.sum::<f32>(),
            Capture::Strongest => others.fold(0.0, f32::max),
            Capture::First => 0.0, // it is compared with the first alone
        };
        this.heard.push(Heard { from: from as u32, power_mw: ear.power_mw, sensed: ear.sensed, by });
        if ear.sensed {
            this.carriers += 1;
            this.unreserve_at = Instant::NEVER;
        }
        let noticed = ear.decodable || (ear.sensed && self.rules.weak_is_error);
        let new = |intact| Locked { from: from as u32, power_mw: ear.power_mw, since: at, until, intact };
        match (self.rules.capture, &mut this.locked) {
            (Capture::First, _) if !ear.sensed => (), // ns-2 drops it before its MAC
            (Capture::First, locked @ None) => *locked = Some(new(ear.decodable && !transmitting)),
            (Capture::First, Some(locked)) if locked.power_mw >= ratio * ear.power_mw => {
                // ns-2 ignores the weaker frame but reserves the medium until its end and an EIFS more.
                this.reserved_until = this.reserved_until.max(until + self.timing.eifs);
            }
            (Capture::First, Some(locked)) => {
                locked.intact = false;
                if until > locked.until {
                    *locked = new(false);
                }
            }
            (Capture::Strongest | Capture::Sinr { .. }, _) if transmitting => (),
            (rule, slot) => {
                let clear = ear.decodable && ear.power_mw >= ratio * rival_mw;
                match slot {
                    None if noticed => *slot = Some(new(clear)),
                    None => (),
                    Some(locked) => {
                        let disturbance_mw = match rule {
                            Capture::Sinr { .. } => rival_mw - locked.power_mw + ear.power_mw,
                            Capture::Strongest | Capture::First => ear.power_mw,
                        };
                        if locked.power_mw < ratio * disturbance_mw {
                            locked.intact = false;
                        }
                        // Below 0 dB both could be decoded; the receiver stays with the first.
                        if !locked.intact && (clear || (noticed && until > locked.until)) {
                            *slot = Some(new(clear));
                        }
                    }
                }
            }
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
        ear: Ear,
        at: Instant,
        sent: &Sending,
    ) -> Reception {
        let this = &mut self.nodes[node];
        let index =
            this.heard.iter().position(|h| h.from == from as u32).expect("a signal ends that never began");
        let gone = this.heard.swap_remove(index);
        if !gone.sensed {
            return Reception::Unnoticed;
        }
        this.carriers -= 1;
        this.idle_since = this.idle_since.max(at);
        let rest = this.heard.iter().find(|h| h.sensed).map(|h| h.by);
        let reception = match this.locked {
            Some(locked) if locked.from == from as u32 => {
                this.locked = None;
                match (this.sending_until > at, locked.intact) {
                    (true, _) => Reception::Unnoticed,
                    (false, true) => Reception::Decoded,
                    (false, false) => Reception::Error,
                }
            }
            _ => Reception::Unnoticed,
        };
        if let Some(by) = rest
            && self.ledger.is_some()
        {
            // Whoever is still heard takes over the blame.
            for c in self.contenders(node) {
                if self.ledger.as_ref().is_some_and(|l| l.doing(c) == Doing::Blocked { by: gone.by }) {
                    self.turn_to(c, at, Doing::Blocked { by });
                }
            }
        }
        if reception == Reception::Decoded && ear.lossy && self.spoils(from, node, sent, at) {
            return Reception::Error;
        }
        reception
    }

    /// Whether the link's error model spoils a frame.
    fn spoils(&mut self, from: usize, to: usize, sent: &Sending, at: Instant) -> bool {
        let process = self.losses.get_mut(&(from as u32, to as u32)).expect("lossy ears have a model");
        process.loses(at, sent.size)
    }

    /// What a frame that has ended leaves behind at `node`: a reservation, or a longer inter-frame space.
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
                        self.nodes[node].unreserve_at = self.nodes[sender].request_void_at;
                    }
                }
            }
        }
    }
}
