//! Who decodes what: carrier sense, overlap, capture.
//!
//! Each node keeps the signals that it hears and at most one that its receiver is locked to. A signal that cannot be
//! decoded (too weak, or overlapped) is carrier and, at its end, an error.

use super::{Capture, DcfAir, Doing, Ear, Sending};
use crate::timeline::FrameKind;
use evenair_units::Instant;

/// A signal present at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub(super) from: u32,
    power_db: f32,
    /// The contender whose exchange it belongs to.
    pub(super) by: u32,
}

/// The signal that a receiver is locked to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Locked {
    from: u32,
    power_db: f32,
    until: Instant,
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
    pub(super) fn arrive(&mut self, node: usize, from: usize, ear: Ear, at: Instant, until: Instant) {
        let by = self.nodes[from].sending.expect("a signal without a sender").by;
        let threshold = self.rules.capture_db as f32;
        let this = &mut self.nodes[node];
        let transmitting = this.sending_until > at;
        let strongest_other = this.heard.iter().map(|h| h.power_db).fold(f32::NEG_INFINITY, f32::max);
        this.heard.push(Heard { from: from as u32, power_db: ear.power_db, by });
        let new = |intact| Locked { from: from as u32, power_db: ear.power_db, until, intact };
        match (self.rules.capture, &mut this.locked) {
            (Capture::First, locked @ None) => *locked = Some(new(ear.decodable && !transmitting)),
            (Capture::First, Some(locked)) if locked.power_db - ear.power_db >= threshold => {
                // ns-2 ignores the weaker frame but reserves the medium until its end and an EIFS more.
                this.reserved_until = this.reserved_until.max(until + self.timing.eifs);
            }
            (Capture::First, Some(locked)) => {
                locked.intact = false;
                if until > locked.until {
                    *locked = new(false);
                }
            }
            (Capture::Strongest, _) if transmitting => (),
            (Capture::Strongest, slot) => {
                let clear = ear.decodable && ear.power_db - strongest_other >= threshold;
                match slot {
                    None => *slot = Some(new(clear)),
                    Some(locked) => {
                        if locked.power_db - ear.power_db < threshold {
                            locked.intact = false;
                        }
                        if clear || (!locked.intact && until > locked.until) {
                            *slot = Some(new(clear));
                        }
                    }
                }
            }
        }
    }

    /// A frame's last energy has reached `node`.
    pub(super) fn depart(&mut self, node: usize, from: usize, at: Instant) -> Reception {
        let this = &mut self.nodes[node];
        let index =
            this.heard.iter().position(|h| h.from == from as u32).expect("a signal ends that never began");
        let gone = this.heard.swap_remove(index);
        this.idle_since = this.idle_since.max(at);
        let rest = this.heard.first().map(|h| h.by);
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
        reception
    }

    /// What a frame that has ended leaves behind at `node`: a reservation, or a longer inter-frame space.
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
                // Clause 9.2.5: a DATA frame reserves the medium for its acknowledgement.
                if sent.to as usize != node && sent.kind == FrameKind::Data {
                    let reserved = at + self.timing.sifs + self.timing.ack;
                    this.reserved_until = this.reserved_until.max(reserved);
                }
            }
        }
    }
}
