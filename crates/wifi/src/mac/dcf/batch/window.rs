//! The window of a batch: which packets the receiver has, which it has handed up, and which the sender is done with.
//!
//! The receiver hands packets up in order (IEEE 802.11-2016 clause 10.24.7.6): one that is missing holds back those behind it
//! until it is received, or until a block ack request moves the window past those that the sender has given up.

use super::{Batch, MissedBlockAck, Mpdu, State};
use crate::air::{Outcome, Up};
use evenair_units::Instant;

impl Batch {
    /// The packets of this frame are under way.
    pub(super) fn mark(&mut self, parts: u16) {
        let mut left = parts;
        for mpdu in self.mpdus.iter_mut().filter(|mpdu| !mpdu.state.is(State::DONE)) {
            mpdu.state.clear(State::IN_FRAME | State::SPOILT);
            if left > 0 {
                mpdu.state.set(State::IN_FRAME);
                left -= 1;
            }
        }
    }

    /// The packets of the frame under way, in order.
    pub(super) fn in_frame(&mut self) -> impl Iterator<Item = &mut Mpdu> {
        self.mpdus.iter_mut().filter(|mpdu| mpdu.state.is(State::IN_FRAME))
    }

    /// The receiver has decoded the frame under way, but for the packets in it that the error model spoils.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn receive(&mut self, at: u32, out: &mut Vec<Up>) {
        let mut lost = 0;
        for mpdu in self.in_frame() {
            if mpdu.state.is(State::SPOILT) {
                lost += 1;
            } else {
                mpdu.state.set(State::RECEIVED);
            }
        }
        self.counters.mpdus_lost += lost;
        self.release(at, false, out);
    }

    /// The receiver has decoded a block ack request, which moves its window past the packets that were given up.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn receive_request(&mut self, at: u32, out: &mut Vec<Up>) {
        self.release(at, true, out);
    }

    /// The receiver hands up its packets, up to the first missing one; `passes` tells whether it still waits for given-up
    /// ones.
    fn release(&mut self, at: u32, passes: bool, out: &mut Vec<Up>) {
        let from = self.by;
        for mpdu in &mut self.mpdus {
            if mpdu.state.is(State::RELEASED) {
                continue;
            }
            if mpdu.state.is(State::RECEIVED) {
                out.push(Up::Received { from, at, packet: mpdu.packet });
            } else if !(passes && mpdu.state.is(State::DONE)) {
                return;
            }
            mpdu.state.set(State::RELEASED);
        }
    }

    /// The sender has decoded an acknowledgement: of the one packet in the frame under way, or of all that the receiver has. In answer to
    /// a block ack request it says nothing new of the packets that it does not name. Returns how many are given up.
    pub(super) fn acknowledge(&mut self, now: Instant, parts: u16, out: &mut Vec<Up>) -> u64 {
        let (by, is_request) = (self.by, parts == 0);
        let mut done = 0;
        for mpdu in &mut self.mpdus {
            let in_frame = mpdu.state.is(State::IN_FRAME);
            mpdu.state.clear(State::IN_FRAME);
            if mpdu.state.is(State::DONE) {
                continue;
            }
            if mpdu.state.is(State::RECEIVED) && (in_frame || parts != 1) {
                mpdu.state.set(State::DONE);
                done += 1;
                out.push(Up::Done { by, packet: mpdu.packet, outcome: Outcome::Delivered });
            } else if in_frame && !is_request {
                mpdu.tries = mpdu.tries.saturating_add(1);
            }
        }
        self.waiting -= done;
        self.request_due &= !is_request;
        let given_up = self.give_up(now, out);
        self.forget();
        given_up
    }

    /// An exchange for packets of the batch was in vain: those that were in it, or the first, have one try less. Returns how many
    /// are given up.
    pub(super) fn fail(&mut self, now: Instant, out: &mut Vec<Up>) -> u64 {
        let mut any = false;
        for mpdu in self.mpdus.iter_mut().filter(|mpdu| mpdu.state.is(State::IN_FRAME)) {
            mpdu.tries = mpdu.tries.saturating_add(1);
            any = true;
        }
        if !any && let Some(first) = self.mpdus.iter_mut().find(|mpdu| !mpdu.state.is(State::DONE)) {
            first.tries = first.tries.saturating_add(1);
        }
        let given_up = self.give_up(now, out);
        self.forget();
        given_up
    }

    /// The block acknowledgement of an aggregate did not come, or that of a block ack request.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(in crate::mac::dcf) fn miss(&mut self, parts: u16) {
        self.counters.block_acks_missing += u64::from(parts != 1);
        self.request_due |= parts > 1 && self.limits.after_missed == MissedBlockAck::Request;
    }

    /// Gives up packets that have failed and have no tries left, or have outlived their lifetime.
    fn give_up(&mut self, now: Instant, out: &mut Vec<Up>) -> u64 {
        let (tries, lifetime) = (self.limits.tries.unwrap_or(u8::MAX), self.limits.lifetime);
        let is_endless = self.limits.tries.is_none();
        let mut given_up = 0;
        for (i, mpdu) in self.mpdus.iter_mut().enumerate() {
            if mpdu.tries == 0 || mpdu.state.is(State::DONE) {
                continue;
            }
            let is_spent = mpdu.tries >= tries && !is_endless;
            if !is_spent && lifetime.is_none_or(|lifetime| now.since(self.staged[i]) <= lifetime) {
                continue;
            }
            mpdu.state.set(State::DONE);
            mpdu.state.clear(State::IN_FRAME);
            given_up += 1;
            let is_received = mpdu.state.is(State::RECEIVED);
            let outcome = if is_received { Outcome::Unacknowledged } else { Outcome::Dropped };
            out.push(Up::Done { by: self.by, packet: mpdu.packet, outcome });
        }
        self.waiting -= given_up;
        self.counters.given_up += u64::from(given_up);
        self.request_due |= given_up > 0;
        if self.waiting == 0 || self.limits.packets == 1 {
            self.release(self.to, true, out); // as its time-out would; frames of one packet need no agreement and no order
            self.request_due = false;
        }
        given_up.into()
    }

    /// Forgets the first packets, as long as neither side needs them.
    fn forget(&mut self) {
        let is_over = |mpdu: &Mpdu| mpdu.state.is(State::DONE) && mpdu.state.is(State::RELEASED);
        while self.mpdus.front().is_some_and(is_over) {
            self.mpdus.pop_front();
            self.staged.pop_front();
            self.first_number = self.first_number.wrapping_add(1);
        }
    }

    /// Packets of the frame under way that the receiver has.
    pub(in crate::mac::dcf) fn received(&self) -> u16 {
        let is_there = |mpdu: &&Mpdu| mpdu.state.is(State::IN_FRAME) && mpdu.state.is(State::RECEIVED);
        self.mpdus.iter().filter(is_there).count() as u16
    }

    /// Whether a block ack request follows a missing block acknowledgement.
    pub(in crate::mac::dcf) fn asks_after_missed(&self) -> bool {
        self.limits.after_missed == MissedBlockAck::Request
    }

    /// Whether the receiver has the first packet that waits.
    pub(in crate::mac::dcf) fn head_received(&self) -> bool {
        self.first().is_some_and(|first| first.state.is(State::RECEIVED))
    }

    /// The first packet that waits.
    pub(super) fn first(&self) -> Option<&Mpdu> {
        self.waiting().next()
    }
}
