//! Aggregates: packets for one receiver that share a frame (A-MPDU), and their block acknowledgement.
//!
//! Read IEEE 802.11-2016 clauses 9.7 (A-MPDU), 10.13 (its operation) and 10.24 (block acknowledgement) first. `window` has the
//! packets that are staged, in the order of their sequence numbers, and their fates; `exchange` composes frames of them, and has
//! the effects of their ends.
//!
//! The host stages packets as a driver does: a staged packet has its sequence number. At the instant at which its contender
//! wins the medium a frame is composed of those that are not acknowledged, oldest first, as far as the limits of
//! [`Aggregation`] and the time that the medium may be kept allow. One packet goes as a frame of its own with a normal ACK; several
//! bring a block acknowledgement, and each is lost or received on its own.
//!
//! # Simplifications
//! The agreement (ADDBA) exists from the start. The receiver's scoreboard and the sender's are one list, since a block acknowledgement
//! lists the packets that the receiver has at that instant. When the sender has given up its last packet, the receiver releases at once
//! those that it holds back behind a gap; a real one waits for a time-out. An overlap spoils the whole frame. Hearers further
//! than half a slot are not supported.

mod exchange;
mod records;
#[cfg(test)]
mod tests;
mod window;

use crate::air::{Contender, Head, PacketId};
use crate::phy::Mode;
use crate::timeline::Window;
use crate::timing::{DELIMITER_BYTES, MacTiming};
use evenair_units::{Bytes, Duration, Instant};
use std::collections::VecDeque;

/// Size of a compressed block ack request: header 16, control 2, starting sequence control 2, checksum 4 (clause 9.3.1.8).
pub(super) const BLOCK_ACK_REQUEST_BYTES: Bytes = Bytes::new(24);
/// Subframes begin at multiples of this: all but the last are padded.
const ALIGNMENT_BYTES: u32 = 4;
/// The size of an aggregate with one more MAC frame: padding, delimiter, frame (clause 9.7.1).
const fn with_part(bytes: u32, mpdu: u32) -> u32 {
    bytes.next_multiple_of(ALIGNMENT_BYTES) + DELIMITER_BYTES.count() + mpdu
}

/// The longest frame of 802.11n, ac and ax (aPPDUMaxTime, clauses 19.4.4 and 21.4.4).
const PPDU_TIME_MAX: Duration = Duration::from_micros(5_484);

/// The sender's reaction to a missing block acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissedBlockAck {
    /// Sends the packets again, as most chips do.
    Data,
    /// Asks for the block acknowledgement by a block ack request (BAR), as ns-3 does: received packets are not sent again.
    Request,
}

/// The limits of a contender's aggregates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregation {
    /// Packets in a frame, at most.
    pub packets: u16,
    /// Bytes of a frame with all its headers, at most; a single packet may be longer.
    pub bytes: u32,
    /// The time that a frame takes, at most.
    pub airtime: Duration,
    /// Sequence numbers from that of the oldest packet that is not acknowledged on within which packets are sent: the size of the
    /// receiver's buffer.
    pub window: u16,
    /// How many exchanges a packet may take part in; without end, if there is no limit.
    pub tries: Option<u8>,
    /// How long after it was staged a packet may be repeated; without end, if there is no limit.
    pub lifetime: Option<Duration>,
    /// The reaction to a missing block acknowledgement.
    pub after_missed: MissedBlockAck,
}

impl Aggregation {
    /// 802.11n and ac: a window of 64, 65 535 bytes, 5.484 ms (clauses 9.4.2.56.3 and 10.13.2); 10 exchanges for a packet, as in
    /// Linux' ath9k.
    pub const fn standard() -> Self {
        Self {
            packets: 64,
            bytes: 65_535,
            airtime: PPDU_TIME_MAX,
            window: 64,
            tries: Some(10),
            lifetime: None,
            after_missed: MissedBlockAck::Data,
        }
    }

    /// Returns the largest aggregate of packets of `size` network-layer bytes that go in a mode, as many as there may be.
    pub fn full(&self, timing: &MacTiming, size: Bytes, mode: Mode) -> FullAggregate {
        let mpdu = (size + timing.overhead).count();
        let airtime = |bytes: u32| timing.phy.airtime(Bytes::new(bytes), mode);
        let (mut packets, mut bytes) = (1, with_part(0, mpdu));
        loop {
            let more = with_part(bytes, mpdu);
            if packets >= self.packets.min(self.window) || more > self.bytes || airtime(more) > self.airtime {
                break;
            }
            (packets, bytes) = (packets + 1, more);
        }
        if packets == 1 {
            let (frame, exchange) = (timing.data(size, mode), timing.exchange(size, mode));
            return FullAggregate { packets, frame, exchange };
        }
        let (frame, answer) = (airtime(bytes), timing.control_frame(self.block_ack_bytes(), mode));
        FullAggregate { packets, frame, exchange: timing.exchange_of(frame, answer, mode) }
    }

    /// Size of the block acknowledgement: 24 bytes and a bitmap of the window, in 8 bytes or 32 (clause 9.3.1.9.3).
    const fn block_ack_bytes(&self) -> Bytes {
        Bytes::new(24 + if self.window > 64 { 32 } else { 8 })
    }
}

/// An aggregate of packets of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullAggregate {
    /// How many they are; one goes as a frame of its own.
    pub packets: u16,
    /// The airtime of the frame.
    pub frame: Duration,
    /// The whole exchange without back-off: DIFS, frame, SIFS, answer, and a CTS to the sender itself where one precedes it.
    pub exchange: Duration,
}

/// Counts of a contender's aggregates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregateCounters {
    /// Frames sent of more than one packet.
    pub aggregates: u64,
    /// Packets in all DATA frames sent: each time that a packet was sent counts.
    pub mpdus: u64,
    /// Those of them that their receiver did not decode.
    pub mpdus_lost: u64,
    /// Aggregates and block ack requests that brought no block acknowledgement.
    pub block_acks_missing: u64,
    /// block ack requests sent.
    pub requests: u64,
    /// Packets given up.
    pub given_up: u64,
}

impl AggregateCounters {
    /// The counts since the last reading.
    #[must_use]
    pub const fn since(self, then: Self) -> Self {
        Self {
            aggregates: self.aggregates - then.aggregates,
            mpdus: self.mpdus - then.mpdus,
            mpdus_lost: self.mpdus_lost - then.mpdus_lost,
            block_acks_missing: self.block_acks_missing - then.block_acks_missing,
            requests: self.requests - then.requests,
            given_up: self.given_up - then.given_up,
        }
    }
}

/// One packet of a batch.
#[derive(Clone, Copy, Debug)]
struct Mpdu {
    packet: PacketId,
    /// Header and checksum included \[bytes\].
    size: u16,
    /// Exchanges in vain that it took part in.
    tries: u8,
    state: State,
}

const _: () = assert!(size_of::<Mpdu>() == 8, "a packet of a batch is small");

/// The state of a packet, several yes or no in one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State(u8);

impl State {
    /// It is in the frame that was composed last, and the answer is still to come.
    const IN_FRAME: u8 = 1;
    /// The error model spoils it in that frame.
    const SPOILT: u8 = 2;
    /// The receiver has it.
    const RECEIVED: u8 = 4;
    /// The receiver has handed it up.
    const RELEASED: u8 = 8;
    /// The sender is done with it: it is acknowledged or given up.
    const DONE: u8 = 16;
    /// It has been sent, and more than once.
    const SENT: u8 = 32;
    const REPEATED: u8 = 64;

    const fn is(self, what: u8) -> bool {
        self.0 & what > 0
    }

    const fn set(&mut self, what: u8) {
        self.0 |= what;
    }

    const fn clear(&mut self, what: u8) {
        self.0 &= !what;
    }
}

/// The packets that a contender has been given for one receiver.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    by: Contender,
    limits: Aggregation,
    to: u32,
    /// From the oldest on that either side still needs, each with the next sequence number.
    mpdus: VecDeque<Mpdu>,
    /// When they were staged; kept only where they have a lifetime.
    staged: VecDeque<Instant>,
    /// The sequence number of the first.
    first_number: u16,
    /// Those that the sender is not done with.
    waiting: u16,
    /// A block ack request is to be sent before any DATA.
    request_due: bool,
    /// The first packet of the frame that was composed last, for the timeline.
    composed: PacketId,
    /// The packets of the receiver's last block acknowledgement, for the timeline.
    told: Window,
    counters: AggregateCounters,
}

/// Which packets a frame has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fit {
    parts: u16,
    /// The size of the aggregate of them.
    bytes: u32,
}

impl Batch {
    /// An empty batch of a contender.
    pub(super) const fn new(by: Contender, limits: Aggregation) -> Self {
        Self {
            by,
            limits,
            to: 0,
            mpdus: VecDeque::new(),
            staged: VecDeque::new(),
            first_number: 0,
            waiting: 0,
            request_due: false,
            composed: PacketId::NONE,
            told: Window { first: 0, words: 0, received: [0; 4] },
            counters: AggregateCounters {
                aggregates: 0,
                mpdus: 0,
                mpdus_lost: 0,
                block_acks_missing: 0,
                requests: 0,
                given_up: 0,
            },
        }
    }

    /// Whether packets wait in it.
    #[inline]
    pub(super) const fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// How many more packets may be staged.
    pub(super) fn room(&self) -> u16 {
        self.limits.window.saturating_sub(self.mpdus.len() as u16)
    }

    pub(super) const fn counters(&self) -> &AggregateCounters {
        &self.counters
    }

    /// Adds a packet with a MAC frame of this size.
    #[inline(never)] // out of the way of contenders without aggregates
    pub(super) fn push(&mut self, now: Instant, head: &Head, size: Bytes) {
        debug_assert!(self.waiting == 0 || self.to == head.to, "a batch is for one receiver");
        debug_assert!(self.waiting > 0 || self.mpdus.is_empty(), "nothing is left of the batch before");
        self.to = head.to;
        let size = u16::try_from(size.count()).expect("a packet is shorter than 65 536 bytes");
        self.mpdus.push_back(Mpdu { packet: head.packet, size, tries: 0, state: State::default() });
        if self.limits.lifetime.is_some() {
            self.staged.push_back(now);
        }
        self.waiting += 1;
    }

    /// The packets that wait, in order.
    fn waiting(&self) -> impl Iterator<Item = &Mpdu> {
        self.mpdus.iter().filter(|mpdu| !mpdu.state.is(State::DONE))
    }

    /// The first packets that wait, so many at most, as have room in a frame of so many bytes; one always has.
    fn fit(&self, parts_max: u16, bytes_max: u32) -> Fit {
        let mut fit = Fit { parts: 0, bytes: 0 };
        for mpdu in self.waiting().take(parts_max.into()) {
            let with = with_part(fit.bytes, mpdu.size.into());
            if fit.parts > 0 && with > bytes_max {
                break;
            }
            fit = Fit { parts: fit.parts + 1, bytes: with };
        }
        fit
    }
}
