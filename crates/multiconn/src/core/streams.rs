//! The streams of a session: the host's operations on them, and the frames about them.

use super::cost::{self, Paid};
use super::{Core, Event, LATE, Side};
use crate::budget::Share;
use crate::frame::{Broken, CHUNK_MAX, Closed, Frame, StreamId};
use crate::receive::Receive;
use crate::send::{Send, SubflowId};
use evenair_units::{Duration, Instant};

/// The round trip before one is measured; and the least that windows grow by: below it lies this machine's
/// own scheduling.
const ROUND_TRIP: Duration = Duration::from_millis(100);
const ROUND_TRIP_LEAST: Duration = Duration::from_millis(1);
/// Streams that wait for memory are woken once this much of it is free again \[bytes\].
const FEEDS: u64 = 16 << 10;
/// The most streams with a waiting `Over` frame.
const OVERS_MAX: usize = 1 << 16;

/// A window is this many times the bytes read in a round trip. A sender in slow start sends twice as much in
/// the next one, and twice that before a new limit arrives. Limits are sent by quarters of the window.
const ROUND_TRIPS: u64 = 4;

/// The round trip that is being counted.
#[derive(Clone, Copy, Debug)]
struct Round {
    since: Instant,
    /// The bytes read by its start, and the end of those received by then.
    read: u64,
    seen: u64,
}

impl Round {
    /// Returns the bytes that arrived and were read in a round trip, as far as measured: bytes that wait for
    /// a lost one do not count as speed.
    fn pace(&mut self, receive: &Receive, round_trip: Duration, now: Instant) -> u64 {
        let count = (receive.consumed() - self.read).min(receive.seen() - self.seen);
        let elapsed = now.since(self.since);
        if elapsed < round_trip {
            return count;
        }
        *self = Self { since: now, read: receive.consumed(), seen: receive.seen() };
        (count as f64 * (round_trip.as_secs_f64() / elapsed.as_secs_f64())) as u64
    }
}

/// A stream.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) receive: Receive,
    pub(super) send: Send,
    /// Bytes beyond the read ones that may be under way.
    window: u64,
    /// Bytes of the budget that it holds for receiving, and for sending.
    taken: [u64; 2],
    /// Blocks of the budget that it holds for pieces.
    pub(super) paid: Paid,
    /// The part of those for sending that a writer has reserved.
    reserved: u64,
    round: Round,
    /// The received count last sent to the other side.
    told: u64,
    broken: Option<Broken>,
    /// Whether it is over: no frame is sent about it any more.
    pub(super) is_over: bool,
    /// Whether the host still uses it.
    is_held: bool,
    pub(super) in_ready: bool,
    pub(super) in_credits: bool,
    pub(super) in_asks: bool,
    in_late: bool,
    is_hungry: bool,
}

/// The reason why no stream opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The session is over.
    Closed(Closed),
    /// The stream limit is reached, or memory is short.
    TooMany,
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed(why) => why.fmt(f),
            Self::TooMany => f.write_str("there are as many streams as there may be"),
        }
    }
}

impl std::error::Error for OpenError {}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes.
    Bytes(usize),
    /// The stream's end.
    End,
    /// No data yet: [`Event::Readable`] follows.
    Wait,
}

/// The state of a stream.
enum Place {
    Open,
    Over,
    New,
    Impossible,
}

impl Core {
    fn is_own(&self, stream: StreamId) -> bool {
        (stream % 2 == 1) == (self.side == Side::Client)
    }

    fn place(&self, stream: StreamId) -> Place {
        match self.streams.get(&stream) {
            Some(entry) if entry.is_over => Place::Over,
            Some(_) => Place::Open,
            None if self.is_own(stream) => {
                if stream / 2 < self.next_own {
                    Place::Over
                } else {
                    Place::Impossible
                }
            }
            None if self.finished.contains(stream / 2) => Place::Over,
            None => Place::New,
        }
    }

    /// Opens a stream.
    ///
    /// # Errors
    /// If the session is over, or has as many streams as it may.
    pub fn open(&mut self, now: Instant) -> Result<StreamId, OpenError> {
        if let Some(why) = self.closed {
            return Err(OpenError::Closed(why));
        }
        let has_room = self.open[0] < self.limits.own_streams && self.next_own < u32::MAX / 2;
        if !has_room || !self.budget.take(self.limits.window + cost::STREAM, Share::All) {
            return Err(OpenError::TooMany);
        }
        let stream = self.next_own * 2 + u32::from(self.side == Side::Client);
        self.next_own += 1;
        self.open[0] += 1;
        self.insert(stream, now);
        Ok(stream)
    }

    fn insert(&mut self, stream: StreamId, now: Instant) {
        let window = self.limits.window;
        self.counts.streams += 1;
        self.used_at = now;
        let entry = Entry {
            receive: Receive::new(window),
            send: Send::new(window),
            window,
            taken: [window, 0],
            paid: [0; 2],
            reserved: 0,
            round: Round { since: now, read: 0, seen: 0 },
            told: 0,
            broken: None,
            is_over: false,
            is_held: true,
            in_ready: false,
            in_credits: false,
            in_asks: false,
            in_late: false,
            is_hungry: false,
        };
        self.streams.insert(stream, entry);
    }

    /// Writes bytes; returns the number accepted. If it is none, [`Event::Writable`] follows.
    ///
    /// # Errors
    /// The reason why the stream is broken.
    pub fn write(&mut self, stream: StreamId, bytes: &[u8], now: Instant) -> Result<usize, Broken> {
        let room = self.reserve(stream, bytes.len(), now)?;
        self.write_reserved(stream, &bytes[..room], room, now)?;
        Ok(room)
    }

    /// Reserves memory for up to `most` bytes; returns the number reserved. If it is none,
    /// [`Event::Writable`] follows.
    ///
    /// # Errors
    /// The reason why the stream is broken.
    pub fn reserve(&mut self, stream: StreamId, most: usize, now: Instant) -> Result<usize, Broken> {
        let Some(entry) = self.streams.get_mut(&stream) else { return Err(Broken::Aborted) };
        if let Some(why) = entry.broken {
            return Err(why);
        }
        if entry.is_over || entry.send.has_ended() {
            return Err(Broken::Aborted);
        }
        let held = entry.send.held();
        let room = self.limits.held_most.saturating_sub(held).min(most as u64);
        let share = if held < self.limits.window { Share::All } else { Share::Most };
        if room == 0 {
            return Ok(0);
        }
        if !self.budget.take(room, share) {
            if !std::mem::replace(&mut entry.is_hungry, true) {
                self.hungry.push(stream);
                self.hungry_until = self.hungry_until.or(Some(now + super::HUNGER));
            }
            return Ok(0);
        }
        entry.taken[1] += room;
        entry.reserved += room;
        Ok(room as usize)
    }

    /// Writes bytes into [reserved](Self::reserve) room; the rest of the room becomes free.
    ///
    /// # Errors
    /// The reason why the stream is broken.
    pub fn write_reserved(
        &mut self,
        stream: StreamId,
        bytes: &[u8],
        reserved: usize,
        now: Instant,
    ) -> Result<(), Broken> {
        let Some(entry) = self.streams.get_mut(&stream) else { return Err(Broken::Aborted) };
        if entry.is_over || entry.send.has_ended() {
            // Its reservation was given back with the rest of its memory.
            return Err(entry.broken.unwrap_or(Broken::Aborted));
        }
        debug_assert!(bytes.len() <= reserved && reserved as u64 <= entry.reserved);
        entry.reserved -= reserved as u64;
        if !bytes.is_empty() {
            entry.send.write(bytes);
            self.make_ready(stream);
            self.used_at = now;
        }
        self.free_sent(stream);
        self.settle(now);
        Ok(())
    }

    /// Ends the writing direction.
    pub fn end(&mut self, stream: StreamId, now: Instant) {
        if let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) {
            entry.send.end();
            self.make_ready(stream);
            self.settle(now);
        }
    }

    /// Returns whether everything written was received, the end included.
    pub fn is_delivered(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_none_or(|entry| entry.is_over || entry.send.is_over())
    }

    fn make_ready(&mut self, stream: StreamId) {
        self.pay_for_chunks(stream);
        if let Some(entry) = self.streams.get_mut(&stream)
            && !entry.is_over
            && entry.send.is_ready()
            && !std::mem::replace(&mut entry.in_ready, true)
        {
            self.ready.push_back(stream);
        }
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// The reason why the stream is broken; unread bytes are then lost.
    pub fn read(&mut self, stream: StreamId, into: &mut [u8], now: Instant) -> Result<Read, Broken> {
        let found = self.peek(stream, into)?;
        if let Read::Bytes(count) = found {
            self.consume(stream, count, now)?;
        } else {
            self.finish_if_over(stream);
            self.settle(now);
        }
        Ok(found)
    }

    /// Copies bytes without consuming them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn peek(&self, stream: StreamId, into: &mut [u8]) -> Result<Read, Broken> {
        let Some(entry) = self.streams.get(&stream) else { return Err(Broken::Aborted) };
        if let Some(why) = entry.broken {
            return Err(why);
        }
        Ok(match entry.receive.peek(into) {
            0 if entry.receive.is_over() => Read::End,
            0 if !into.is_empty() => Read::Wait,
            count => Read::Bytes(count),
        })
    }

    /// Consumes all readable bytes without copying them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn discard(&mut self, stream: StreamId, now: Instant) -> Result<Read, Broken> {
        let Some(entry) = self.streams.get(&stream) else { return Err(Broken::Aborted) };
        match entry.receive.readable() as usize {
            0 => self.read(stream, &mut [0], now),
            count => self.consume(stream, count, now).map(|()| Read::Bytes(count)),
        }
    }

    /// Consumes bytes that were copied by `peek`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn consume(&mut self, stream: StreamId, count: usize, now: Instant) -> Result<(), Broken> {
        let Some(entry) = self.streams.get_mut(&stream) else { return Err(Broken::Aborted) };
        if let Some(why) = entry.broken {
            return Err(why);
        }
        entry.receive.consume(count);
        self.allow_more(stream, now);
        self.finish_if_over(stream);
        self.settle(now);
        Ok(())
    }

    /// Raises the other side's limit once that is worth a quarter of the window. The window grows with the
    /// bytes read in a round trip.
    fn allow_more(&mut self, stream: StreamId, now: Instant) {
        let round_trip = self.subflows.iter().filter_map(|subflow| subflow.round_trip).max();
        let round_trip = round_trip.unwrap_or(ROUND_TRIP).max(ROUND_TRIP_LEAST);
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| entry.receive.is_open()) else {
            return;
        };
        let wanted = ROUND_TRIPS * entry.round.pace(&entry.receive, round_trip, now);
        self.widen_to(stream, wanted);
        let Some(entry) = self.streams.get_mut(&stream) else { return };
        let until = entry.receive.consumed() + entry.window;
        if until.saturating_sub(entry.receive.limit()) >= entry.window / 4 {
            entry.receive.allow(until);
            self.tell_credit(stream);
        }
    }

    /// Doubles the window if the other side has used it up although all bytes in order were read. Bytes then
    /// wait for one on a slow connection, and the window bounds the stream too.
    fn widen(&mut self, stream: StreamId) {
        let Some(entry) = self.streams.get(&stream) else { return };
        let is_used_up = entry.receive.seen() + CHUNK_MAX as u64 > entry.receive.limit();
        if is_used_up && entry.receive.readable() <= entry.window / 2 {
            let (limit, twice) = (entry.receive.limit(), 2 * entry.window);
            self.widen_to(stream, twice);
            let Some(entry) = self.streams.get_mut(&stream) else { return };
            entry.receive.allow(entry.receive.consumed() + entry.window);
            if entry.receive.limit() > limit {
                self.tell_credit(stream);
            }
        }
    }

    /// Widens the window to a size, as far as the limit and memory permit.
    fn widen_to(&mut self, stream: StreamId, wanted: u64) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| entry.receive.is_open()) else {
            return;
        };
        let more = wanted.min(self.limits.window_most).saturating_sub(entry.window);
        if self.budget.take(more, Share::Half) {
            entry.window += more;
            entry.taken[0] += more;
        }
    }

    pub(super) fn tell_credit(&mut self, stream: StreamId) {
        if let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) {
            entry.in_late = false;
            if !std::mem::replace(&mut entry.in_credits, true) {
                self.credits.push_back(stream);
            }
        }
    }

    /// Sends a delayed credit, if it was not sent earlier.
    pub(super) fn tell_late(&mut self, stream: StreamId) {
        if self.streams.get(&stream).is_some_and(|entry| entry.in_late) {
            self.tell_credit(stream);
        }
    }

    /// Breaks a stream off, both ways.
    pub fn reset(&mut self, stream: StreamId, why: Broken, now: Instant) {
        if self.streams.get(&stream).is_some_and(|entry| !entry.is_over) {
            self.break_off(stream, why);
            if self.closed.is_none() {
                self.resets.insert(stream, why);
                self.unsaid.push_back(stream);
            }
            self.settle(now);
        }
    }

    /// Releases a stream that the host uses no more. Written bytes still go out; a stream with an unfinished
    /// direction or unread bytes is broken off.
    pub fn release(&mut self, stream: StreamId, now: Instant) {
        let Some(entry) = self.streams.get_mut(&stream) else { return };
        entry.is_held = false;
        if entry.is_over {
            self.streams.remove(&stream);
        } else if !(entry.send.has_ended() && entry.receive.is_over()) {
            self.reset(stream, Broken::Aborted, now);
        }
    }

    /// Ends a stream with a break.
    pub(super) fn break_off(&mut self, stream: StreamId, why: Broken) {
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) else { return };
        entry.broken = Some(why);
        self.finish(stream);
        self.events.extend([Event::Readable(stream), Event::Writable(stream)]);
    }

    fn finish_if_over(&mut self, stream: StreamId) {
        let is_over = |entry: &Entry| !entry.is_over && entry.send.is_over() && entry.receive.is_over();
        if self.streams.get(&stream).is_some_and(is_over) {
            self.finish(stream);
            self.overs.push_back(stream);
        }
    }

    /// Ends a stream and frees its memory.
    fn finish(&mut self, stream: StreamId) {
        let is_own = self.is_own(stream);
        let Some(entry) = self.streams.get_mut(&stream).filter(|entry| !entry.is_over) else { return };
        entry.is_over = true;
        let pieces = cost::of_blocks(entry.paid.iter().sum());
        self.budget.give(cost::STREAM + entry.taken.iter().sum::<u64>() + pieces);
        (entry.taken, entry.paid, entry.reserved) = ([0; 2], [0; 2], 0);
        entry.send = Send::default();
        if entry.broken.is_some() {
            entry.receive = Receive::default();
        }
        self.open[usize::from(!is_own)] -= 1;
        if !is_own {
            self.finished.insert(stream / 2);
        }
        if !entry.is_held {
            self.streams.remove(&stream);
        }
        self.feed();
    }

    /// Wakes the streams that wait for memory.
    pub(super) fn feed(&mut self) {
        (self.hungry_until, self.freed) = (None, 0);
        for stream in std::mem::take(&mut self.hungry) {
            if let Some(entry) = self.streams.get_mut(&stream) {
                entry.is_hungry = false;
            }
            self.events.push_back(Event::Writable(stream));
        }
    }

    pub(super) fn take_chunk(
        &mut self,
        stream: StreamId,
        offset: u64,
        bytes: &[u8],
        end: bool,
        now: Instant,
    ) -> Result<(), Closed> {
        match self.place(stream) {
            Place::Impossible => return Err(Closed::Protocol),
            Place::Over => {
                return if self.resets.contains_key(&stream) { Ok(()) } else { self.say_over(stream) };
            }
            Place::New if !self.accept(stream, now)? => return Ok(()),
            Place::New | Place::Open => {}
        }
        let late_at = now + LATE;
        let Some(entry) = self.streams.get_mut(&stream) else { return Ok(()) };
        match entry.receive.chunk(offset, bytes, end) {
            Err(crate::receive::Wrong::Beyond) => return Err(Closed::Protocol),
            Err(crate::receive::Wrong::Gaps) => {
                self.reset(stream, Broken::Overloaded, now);
                return Ok(());
            }
            Ok(is_readable) => {
                if is_readable {
                    self.events.push_back(Event::Readable(stream));
                }
                let fresh = entry.receive.received() - entry.told;
                let urgent = (entry.window / 4).min(256 << 10);
                if entry.receive.is_complete() || fresh >= urgent {
                    self.tell_credit(stream);
                } else if !entry.in_credits && !std::mem::replace(&mut entry.in_late, true) {
                    self.late.push(stream);
                    self.late_at = self.late_at.or(Some(late_at));
                }
            }
        }
        if !self.pay_for_gaps(stream) {
            self.reset(stream, Broken::Overloaded, now);
            return Ok(());
        }
        self.widen(stream);
        self.finish_if_over(stream);
        Ok(())
    }

    /// Opens a stream of the other side; returns whether it is accepted.
    fn accept(&mut self, stream: StreamId, now: Instant) -> Result<bool, Closed> {
        // A stream that is over here may still be open there.
        let most = self.limits.their_streams + self.limits.their_streams / 4 + 8;
        if self.finished.ranges() as u32 > 4 * most || self.resets.len() as u32 > 4 * most {
            return Err(Closed::Protocol);
        }
        if self.open[1] >= most || !self.budget.take(self.limits.window + cost::STREAM, Share::All) {
            self.finished.insert(stream / 2);
            self.resets.insert(stream, Broken::Overloaded);
            self.unsaid.push_back(stream);
            return Ok(false);
        }
        self.open[1] += 1;
        self.insert(stream, now);
        self.events.push_back(Event::Opened(stream));
        Ok(true)
    }

    pub(super) fn take_credit(&mut self, stream: StreamId, received: u64, limit: u64) -> Result<(), Closed> {
        match self.place(stream) {
            Place::Impossible => return Err(Closed::Protocol),
            Place::Over | Place::New => return Ok(()),
            Place::Open => {}
        }
        let Some(entry) = self.streams.get_mut(&stream) else { return Ok(()) };
        entry.send.credit(received, limit).ok_or(Closed::Protocol)?;
        self.free_sent(stream);
        self.make_ready(stream);
        self.finish_if_over(stream);
        Ok(())
    }

    /// Frees the bytes that the other side has received.
    fn free_sent(&mut self, stream: StreamId) {
        self.repay_chunks(stream);
        let Some(entry) = self.streams.get_mut(&stream) else { return };
        let free = entry.taken[1].saturating_sub(entry.send.held() + entry.reserved);
        if free > 0 {
            entry.taken[1] -= free;
            self.budget.give(free);
            self.events.push_back(Event::Writable(stream));
            self.freed += free;
            // A few free bytes do not wake all of them: they try again by themselves.
            if self.freed >= FEEDS {
                self.feed();
            }
        }
    }

    pub(super) fn take_reset(&mut self, stream: StreamId, why: Broken, now: Instant) -> Result<(), Closed> {
        match self.place(stream) {
            Place::Impossible => return Err(Closed::Protocol),
            Place::Open => self.break_off(stream, why),
            Place::New => {
                self.finished.insert(stream / 2);
                if self.finished.ranges() as u32 > 8 * (self.limits.their_streams + 8) {
                    return Err(Closed::Protocol);
                }
            }
            Place::Over => {}
        }
        self.resets.remove(&stream);
        self.used_at = now;
        self.say_over(stream)
    }

    pub(super) fn take_over(&mut self, stream: StreamId, now: Instant) {
        self.resets.remove(&stream);
        let Place::Open = self.place(stream) else { return };
        let Some(entry) = self.streams.get_mut(&stream) else { return };
        if entry.send.has_sent_all() {
            entry.send.all_there();
            self.free_sent(stream);
            self.finish_if_over(stream);
        } else {
            self.reset(stream, Broken::Aborted, now);
        }
    }

    pub(super) fn take_ask(&mut self, stream: StreamId) -> Result<(), Closed> {
        match self.place(stream) {
            Place::Impossible => return Err(Closed::Protocol),
            Place::Open => self.tell_credit(stream),
            Place::Over => return self.say_over(stream),
            Place::New => {}
        }
        Ok(())
    }

    /// Queues an `Over` frame for the other side. A peer that asks without reading gets a bounded number of
    /// answers.
    fn say_over(&mut self, stream: StreamId) -> Result<(), Closed> {
        if self.overs.len() >= OVERS_MAX {
            return Err(Closed::Protocol);
        }
        self.overs.push_back(stream);
        Ok(())
    }

    pub(super) fn pull_credit(&mut self, stream: StreamId, out: &mut Vec<u8>) {
        if let Some(entry) = self.streams.get_mut(&stream)
            && std::mem::replace(&mut entry.in_credits, false)
            && !entry.is_over
        {
            entry.told = entry.receive.received();
            let limit = entry.receive.limit();
            Frame::Credit { stream, received: entry.told, limit }.encode(out);
        }
    }

    /// Appends a chunk of up to `most` bytes for a connection; returns its length.
    pub(super) fn pull_chunk(
        &mut self,
        subflow: SubflowId,
        stream: StreamId,
        most: usize,
        out: &mut Vec<u8>,
    ) -> u64 {
        let Some(entry) = self.streams.get_mut(&stream) else { return 0 };
        entry.in_ready = false;
        if entry.is_over {
            return 0;
        }
        let mut bytes = 0;
        if let Some(chunk) = entry.send.chunk(subflow, most) {
            bytes = chunk.bytes.len() as u64;
            if chunk.again {
                self.counts.again += bytes;
            } else {
                self.counts.sent += bytes;
            }
            Frame::Data { stream, offset: chunk.offset, end: chunk.end, bytes: chunk.bytes }.encode(out);
        }
        self.make_ready(stream);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_is_less_of_received_and_read() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let round_trip = Duration::from_millis(100);
        let mut receive = Receive::new(1 << 20);
        receive.chunk(0, &[7; 1000], false).unwrap();
        receive.consume(1000);
        // 1500 bytes behind a gap of 500 have arrived, and none was read.
        receive.chunk(1500, &[7; 1500], false).unwrap();
        let mut round = Round { since: at(0), read: 1000, seen: 1000 };
        assert_eq!(round.pace(&receive, round_trip, at(99)), 0);
        // The gap is filled, and all bytes are read in the next round trip, in which none arrived.
        receive.chunk(1000, &[7; 500], false).unwrap();
        receive.consume(2000);
        let mut next = Round { since: at(100), read: 1000, seen: 3000 };
        assert_eq!(next.pace(&receive, round_trip, at(199)), 0);
        // One round counts 2000 bytes; over two round trips it is half of that for each, and another round
        // begins.
        assert_eq!(round.pace(&receive, round_trip, at(99)), 2000);
        assert_eq!(round.pace(&receive, round_trip, at(200)), 1000);
        assert_eq!((round.since, round.read, round.seen), (at(200), 3000, 3000));
        // A round may also end after just one round trip.
        next.pace(&receive, round_trip, at(200));
        assert_eq!(next.since, at(200));
    }
}
