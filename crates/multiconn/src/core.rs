//! The state machine of a session: streams on one side, connections on the other, frames between. It has no
//! clock and no socket.
//!
//! Read [`receive`](crate::receive) and [`send`](crate::send) first, the halves of a stream. The host writes
//! and reads streams. When a connection's socket has room, the host sends the output of [`pull`](Core::pull)
//! on it. It passes in every received frame, and polls [`events`](Core::event).
//!
//! # Protection against lost connections
//! Chunks are held until acknowledged, and sent again on another connection. Answers are states, not changes:
//! after a loss, or while a connection is stuck, this side repeats its own and requests the other side's.

mod cost;
mod finished;
mod pace;
mod streams;
mod subflow;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use cost::STREAM as STREAM_COST;
pub use streams::{OpenError, Read};
pub use subflow::{AHEAD_MOST, Measured};

use crate::budget::Budget;
use crate::frame::{Broken, Closed, DATA_HEADER, FRAME_MAX, Frame, StreamId};
use crate::send::SubflowId;
use evenair_units::{Duration, Instant};
use finished::Finished;
use pace::Pace;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use streams::Entry;
use subflow::{Change, SILENCE, SILENCE_MOST, Subflow};

/// An end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The dialling side: its streams have odd numbers.
    Client,
    /// The dialled side.
    Relay,
}

/// The limits of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most streams that this side has open at once.
    pub own_streams: u32,
    /// The most streams that the other side has open at once.
    pub their_streams: u32,
    /// The initial window of a stream: its bytes that may be under way \[bytes\].
    pub window: u64,
    /// The largest window \[bytes\].
    pub window_most: u64,
    /// The most bytes of a stream that are held until acknowledged \[bytes\].
    pub held_most: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            own_streams: 1024,
            their_streams: 1024,
            window: 64 << 10,
            window_most: 16 << 20,
            held_most: 16 << 20,
        }
    }
}

/// An event for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The other side opened a stream.
    Opened(StreamId),
    /// There is data to read, or the end, or a break.
    Readable(StreamId),
    /// There is room to write, or a break.
    Writable(StreamId),
    /// The connection has data to send.
    Wake(SubflowId),
    /// The connection is finished: both sides send no more on it.
    Served(SubflowId),
    /// The connection is to be closed as failed.
    GiveUp(SubflowId),
    /// The other side wants this many connections to send on.
    TheyWant(u32),
}

/// A message that is sent once, on any connection or on a particular one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnFrame {
    Ping(u64),
    Pong(u64),
    Retired,
}

/// Counters of a session since its start, in bytes of stream data or in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes sent for the first time.
    pub sent: u64,
    /// Bytes sent again.
    pub again: u64,
    /// Bytes received, repetitions included.
    pub received: u64,
    /// Streams so far.
    pub streams: u64,
    /// Lost connections.
    pub lost: u64,
    /// Times at which a connection was found stuck.
    pub stuck: u64,
}

/// Acknowledgements that are not urgent wait for this time.
const LATE: Duration = Duration::from_millis(25);
/// A stream that waits for memory tries again after this time: other streams may have given some back.
const HUNGER: Duration = Duration::from_millis(100);
/// The most answers to pings, and other messages, that wait on a connection: a peer that sends pings without
/// reading gets no more memory.
const ANSWERS_MAX: usize = 4;
/// The most bytes that are sent twice because a connection is stuck, beside an eighth of all sent bytes. Also
/// the most in one observation of its socket if no other data is to be sent.
const COPIES: u64 = 256 << 10;

/// The state machine of a session.
#[derive(Debug)]
pub struct Core {
    side: Side,
    limits: Limits,
    budget: Arc<Budget>,
    streams: BTreeMap<StreamId, Entry>,
    /// The other side's streams that are over.
    finished: Finished,
    next_own: u32,
    open: [u32; 2],
    /// Streams with data to send, each once.
    ready: VecDeque<StreamId>,
    /// Streams with a credit to send, each once.
    credits: VecDeque<StreamId>,
    /// Streams with a credit to send a little later, unless it is sent at once before that.
    late: Vec<StreamId>,
    late_at: Option<Instant>,
    /// Streams that wait for memory to write.
    hungry: Vec<StreamId>,
    hungry_until: Option<Instant>,
    /// Bytes given back since the waiting streams were woken last \[bytes\].
    freed: u64,
    /// Streams that this side broke off, until the other side confirms; and those with a reset still to be
    /// sent.
    resets: BTreeMap<StreamId, Broken>,
    unsaid: VecDeque<StreamId>,
    overs: VecDeque<StreamId>,
    asks: VecDeque<StreamId>,
    subflows: Vec<Subflow>,
    wanted: u32,
    /// The wanted number of connections for the other side, and whether it was sent since a connection came
    /// or went.
    want: Option<(u16, bool)>,
    closed: Option<Closed>,
    events: VecDeque<Event>,
    counts: Counts,
    pace: Pace,
    used_at: Instant,
}

impl Core {
    /// Begins a session.
    pub fn new(side: Side, limits: Limits, budget: Arc<Budget>, now: Instant) -> Self {
        Self {
            side,
            limits,
            budget,
            streams: BTreeMap::new(),
            finished: Finished::default(),
            next_own: 0,
            open: [0; 2],
            ready: VecDeque::new(),
            credits: VecDeque::new(),
            late: Vec::new(),
            late_at: None,
            hungry: Vec::new(),
            hungry_until: None,
            freed: 0,
            resets: BTreeMap::new(),
            unsaid: VecDeque::new(),
            overs: VecDeque::new(),
            asks: VecDeque::new(),
            subflows: Vec::new(),
            wanted: 1,
            want: None,
            closed: None,
            events: VecDeque::new(),
            counts: Counts::default(),
            pace: Pace::new(now),
            used_at: now,
        }
    }

    /// Returns the next event for the host.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the byte counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the reason why the session is over, if it is.
    pub fn closed(&self) -> Option<Closed> {
        self.closed
    }

    /// Returns the number of open streams.
    pub fn open_streams(&self) -> u32 {
        self.open[0] + self.open[1]
    }

    /// Returns the time at which a stream's byte passed last, or a stream was open.
    pub fn used_at(&self) -> Instant {
        self.used_at
    }

    /// Adds a connection to the session. Numbers rise.
    pub fn add_subflow(&mut self, subflow: SubflowId, now: Instant) {
        debug_assert!(self.subflows.last().is_none_or(|last| last.id < subflow));
        self.subflows.push(Subflow::new(subflow, now));
        self.say_wanted();
        self.settle(now);
    }

    /// Sets the number of connections on which this side sends.
    pub fn set_wanted(&mut self, connections: u32, now: Instant) {
        self.wanted = connections.max(1);
        self.settle(now);
    }

    /// Sends the other side the number of connections that this side wants to send on.
    pub fn tell_wanted(&mut self, connections: u32) {
        self.want = Some((connections.min(u16::MAX.into()) as u16, false));
        self.say_wanted();
    }

    /// Marks the wanted number as unsent, since it may have been sent on a connection that is lost.
    fn say_wanted(&mut self) {
        let Some((_, said)) = &mut self.want else { return };
        *said = false;
        if let Some(subflow) =
            self.subflows.iter().find(|subflow| !subflow.stuck && !subflow.retires).map(|subflow| subflow.id)
        {
            self.wake(subflow);
        }
    }

    /// Stops sending on a connection. Once the other side stops too, the connection is finished.
    pub fn retire(&mut self, subflow: SubflowId) {
        if let Some(subflow) = self.subflows.iter_mut().find(|one| one.id == subflow && !one.retires) {
            subflow.retires = true;
            subflow.idle = false;
            self.events.push_back(Event::Wake(subflow.id));
        }
    }

    /// Removes a lost connection.
    pub fn lost(&mut self, subflow: SubflowId, now: Instant) {
        let Some(place) = self.subflows.iter().position(|one| one.id == subflow) else { return };
        let gone = self.subflows.remove(place);
        if self.closed.is_some() {
            return;
        }
        if !gone.is_heard {
            self.counts.lost += 1;
            self.again_from(subflow);
            self.doubt();
        }
        self.settle(now);
    }

    /// Queues the data of a lost connection for sending again.
    fn again_from(&mut self, subflow: SubflowId) {
        for (id, entry) in &mut self.streams {
            if !entry.is_over && entry.send.lost(subflow) && !std::mem::replace(&mut entry.in_ready, true) {
                self.ready.push_front(*id);
            }
        }
    }

    /// Repeats all credits, which may be lost, and requests the other side's.
    fn doubt(&mut self) {
        for (id, entry) in self.streams.iter_mut().filter(|(_, entry)| !entry.is_over) {
            if !std::mem::replace(&mut entry.in_credits, true) {
                self.credits.push_back(*id);
            }
            if entry.send.is_in_doubt() && !std::mem::replace(&mut entry.in_asks, true) {
                self.asks.push_back(*id);
            }
        }
        self.unsaid = self.resets.keys().copied().collect();
        self.say_wanted();
    }

    /// Updates a connection from its socket's counters.
    pub fn measured(&mut self, subflow: SubflowId, measured: Measured, now: Instant) {
        let in_doubt = self.streams.values().any(|entry| entry.send.is_in_doubt());
        let Some(at) = self.subflows.iter_mut().find(|one| one.id == subflow) else { return };
        let change = at.measured(now, measured);
        if at.is_to_be_asked(in_doubt, now) {
            at.asked_at = Some(now);
            at.own.push(OwnFrame::Ping(now.as_nanos()));
            self.wake(subflow);
        }
        match change {
            Change::None => return,
            Change::GivenUp => self.events.push_back(Event::GiveUp(subflow)),
            Change::Free => self.streams.values_mut().for_each(|entry| entry.send.freed(subflow)),
            Change::Stuck => {
                self.counts.stuck += 1;
                self.repeat(subflow);
                self.doubt();
            }
            Change::StillStuck => self.repeat(subflow),
        }
        self.settle(now);
    }

    /// Sends the data of a stuck connection once more on others, the first chunks of each stream first, in
    /// bounded parts. If no other data is to be sent, the copies displace nothing. This happens when streams
    /// have used their windows up and wait for the stuck data.
    fn repeat(&mut self, subflow: SubflowId) {
        if self.active().next().is_none() {
            return; // the copy would only go out on this connection again
        }
        let spare = if self.ready.is_empty() { COPIES } else { 0 };
        let mut most = (COPIES + self.counts.sent / 8).saturating_sub(self.counts.again).max(spare);
        for (id, entry) in self.streams.iter_mut().filter(|(_, entry)| !entry.is_over) {
            let bytes = entry.send.stuck(subflow, most.min(COPIES));
            most = most.saturating_sub(bytes);
            if bytes > 0 && !std::mem::replace(&mut entry.in_ready, true) {
                self.ready.push_front(*id);
            }
        }
    }

    /// Iterates over the connections on which this side sends now.
    fn active(&self) -> impl Iterator<Item = &Subflow> {
        self.subflows.iter().filter(|subflow| !subflow.stuck && !subflow.retires).take(self.wanted as usize)
    }

    fn is_active(&self, subflow: SubflowId) -> bool {
        self.active().any(|active| active.id == subflow)
    }

    fn has_work(&self) -> bool {
        (!self.ready.is_empty() && self.pace.dry_until.is_none())
            || !self.credits.is_empty()
            || !self.overs.is_empty()
            || !self.asks.is_empty()
            || !self.unsaid.is_empty()
    }

    /// Wakes a connection if there is data to send, and measures the idle time.
    fn settle(&mut self, now: Instant) {
        self.pace.pass(now);
        let idle = self.active().filter(|subflow| subflow.idle).min_by_key(|subflow| subflow.round_trip);
        let idle = idle.map(|subflow| subflow.id);
        let has_work = self.has_work();
        self.pace.note(now, idle.is_some() && !has_work, !self.ready.is_empty());
        if let Some(subflow) = idle.filter(|_| has_work) {
            self.wake(subflow);
        }
    }

    fn wake(&mut self, subflow: SubflowId) {
        if let Some(subflow) = self.subflows.iter_mut().find(|one| one.id == subflow)
            && std::mem::replace(&mut subflow.idle, false)
        {
            self.events.push_back(Event::Wake(subflow.id));
        }
    }

    /// Returns the time of the next [`on_timeout`](Self::on_timeout).
    pub fn timeout(&self) -> Option<Instant> {
        let silences =
            self.subflows.iter().map(|subflow| subflow.asked_at.unwrap_or(subflow.heard_at) + SILENCE);
        silences.chain(self.late_at).chain(self.hungry_until).chain(self.pace.dry_until).min()
    }

    /// Runs the timers that are due.
    pub fn on_timeout(&mut self, now: Instant) {
        if self.late_at.is_some_and(|at| at <= now) {
            self.late_at = None;
            for id in std::mem::take(&mut self.late) {
                self.tell_late(id);
            }
        }
        let mut wakes = Vec::new();
        for subflow in &mut self.subflows {
            if now.since(subflow.heard_at) >= SILENCE_MOST {
                self.events.push_back(Event::GiveUp(subflow.id));
                subflow.asked_at = Some(now);
            } else if subflow.asked_at.unwrap_or(subflow.heard_at) + SILENCE <= now {
                subflow.asked_at = Some(now);
                subflow.own.push(OwnFrame::Ping(now.as_nanos()));
                wakes.push(subflow.id);
            }
        }
        wakes.into_iter().for_each(|subflow| self.wake(subflow));
        if self.hungry_until.is_some_and(|until| until <= now) {
            self.feed();
        }
        self.settle(now);
    }

    /// Processes a frame received on a connection.
    ///
    /// # Errors
    /// If the frame ends the session.
    pub fn frame(&mut self, subflow: SubflowId, frame: Frame<'_>, now: Instant) -> Result<(), Closed> {
        if let Some(closed) = self.closed {
            return Err(closed);
        }
        self.heard(subflow, now);
        let done = self.take_frame(subflow, frame, now);
        if let Err(why) = done {
            self.close(why);
        }
        self.settle(now);
        done
    }

    /// Records that bytes arrived on a connection, a whole frame or not.
    pub fn heard(&mut self, subflow: SubflowId, now: Instant) {
        if let Some(at) = self.subflows.iter_mut().find(|one| one.id == subflow) {
            at.heard(now);
        }
    }

    fn take_frame(&mut self, subflow: SubflowId, frame: Frame<'_>, now: Instant) -> Result<(), Closed> {
        match frame {
            Frame::Data { stream, offset, end, bytes } => {
                self.used_at = now;
                self.counts.received += bytes.len() as u64;
                if let Some(at) = self.subflows.iter_mut().find(|one| one.id == subflow) {
                    at.received += bytes.len() as u64;
                }
                self.take_chunk(stream, offset, bytes, end, now)
            }
            Frame::Credit { stream, received, limit } => self.take_credit(stream, received, limit),
            Frame::Reset { stream, why } => self.take_reset(stream, why, now),
            Frame::Over { stream } => {
                self.take_over(stream, now);
                Ok(())
            }
            Frame::Ask { stream } => self.take_ask(stream),
            Frame::Ping(number) => {
                if let Some(at) = self.subflows.iter_mut().find(|one| one.id == subflow)
                    && at.own.len() < ANSWERS_MAX
                {
                    at.own.push(OwnFrame::Pong(number));
                    self.wake(subflow);
                }
                Ok(())
            }
            Frame::Pong(_) => Ok(()),
            Frame::Want(connections) => {
                self.events.push_back(Event::TheyWant(u32::from(connections).max(1)));
                Ok(())
            }
            Frame::Retire => {
                if let Some(at) = self.subflows.iter_mut().find(|one| one.id == subflow)
                    && !std::mem::replace(&mut at.peer_retired, true)
                {
                    at.own.push(OwnFrame::Retired);
                    self.retire(subflow);
                    self.wake(subflow);
                }
                Ok(())
            }
            Frame::Retired => {
                if let Some(at) = self.subflows.iter_mut().find(|one| one.id == subflow) {
                    at.is_heard = at.retire_said;
                    if at.has_served() {
                        self.events.push_back(Event::Served(subflow));
                    }
                }
                Ok(())
            }
            Frame::Close(why) => Err(why),
        }
    }

    /// Ends the session: open streams break, and every connection sends the reason as its last frame.
    pub fn close(&mut self, why: Closed) {
        if self.closed.is_some() {
            return;
        }
        self.closed = Some(why);
        let open: Vec<_> = self.streams.keys().copied().collect();
        for id in open {
            self.break_off(id, Broken::SessionOver(why));
        }
        let subflows: Vec<_> = self.subflows.iter().map(|subflow| subflow.id).collect();
        for subflow in subflows {
            self.wake(subflow);
        }
    }

    /// Returns the most that a connection's socket takes beyond its congestion window \[bytes\].
    pub fn ahead(&self, subflow: SubflowId) -> Option<u64> {
        self.subflows.iter().find(|one| one.id == subflow).map(|subflow| subflow.ahead)
    }

    /// Appends a connection's next frames to `out`, up to `room` bytes or its [`ahead`](Self::ahead). Appends
    /// nothing if the connection is to wait for [`Event::Wake`].
    pub fn pull(&mut self, subflow: SubflowId, now: Instant, room: usize, out: &mut Vec<u8>) {
        let Some(place) = self.subflows.iter().position(|one| one.id == subflow) else { return };
        if let Some(why) = self.closed {
            Frame::Close(why).encode(out);
            return;
        }
        let begun = out.len();
        let room = room.min(self.subflows[place].ahead as usize);
        let answers = self.subflows[place].own.iter().any(|frame| matches!(frame, OwnFrame::Pong(_)));
        let retires = self.pull_own(place, out);
        let own = out.len() - begun;
        if !retires {
            if let Some((wanted, said)) = self.want.as_mut().filter(|(_, said)| !said) {
                *said = true;
                Frame::Want(*wanted).encode(out);
            }
            if self.is_active(subflow) {
                self.pull_shared(subflow, now, room, out);
            }
        }
        let sent = out.len() - begun;
        let at = &mut self.subflows[place];
        at.idle = sent == 0;
        at.is_unconfirmed |= sent > 0 && !(answers && sent == own);
        at.sent += sent as u64;
        self.settle(now);
    }

    /// Appends the frames that belong on this very connection; returns whether nothing else may follow.
    fn pull_own(&mut self, place: usize, out: &mut Vec<u8>) -> bool {
        let at = &mut self.subflows[place];
        for frame in std::mem::take(&mut at.own) {
            match frame {
                OwnFrame::Ping(number) => Frame::Ping(number).encode(out),
                OwnFrame::Pong(number) => Frame::Pong(number).encode(out),
                OwnFrame::Retired => {
                    at.hears = true;
                    Frame::Retired.encode(out);
                }
            }
        }
        if at.retires && !std::mem::replace(&mut at.retire_said, true) {
            Frame::Retire.encode(out);
        }
        if at.has_served() {
            self.events.push_back(Event::Served(at.id));
        }
        at.retires
    }

    /// Appends frames that may go on any connection, in small chunks if there is little room.
    fn pull_shared(&mut self, subflow: SubflowId, now: Instant, room: usize, out: &mut Vec<u8>) {
        let frame_most = (room / 2).clamp(DATA_HEADER + 1, FRAME_MAX);
        while out.len() + frame_most <= room {
            if let Some(stream) = self.unsaid.pop_front() {
                if let Some(why) = self.resets.get(&stream) {
                    Frame::Reset { stream, why: *why }.encode(out);
                }
            } else if let Some(stream) = self.overs.pop_front() {
                Frame::Over { stream }.encode(out);
            } else if let Some(stream) = self.credits.pop_front() {
                self.pull_credit(stream, out);
            } else if let Some(stream) = self.asks.pop_front() {
                if let Some(entry) = self.streams.get_mut(&stream) {
                    entry.in_asks = false;
                }
                Frame::Ask { stream }.encode(out);
            } else {
                let most = (frame_most - DATA_HEADER) as u64;
                if self.ready.is_empty() {
                    return; // without taking tokens
                }
                let Some(taken) = self.pace.take(most, now) else { return };
                let Some(stream) = self.ready.pop_front() else { return };
                let sent = self.pull_chunk(subflow, stream, taken.min(most) as usize, out);
                self.pace.settle(taken, sent, now);
            }
        }
    }

    /// Returns the state of the connections, for `status`.
    pub fn subflows(&self) -> Vec<SubflowState> {
        let active: Vec<_> = self.active().map(|subflow| subflow.id).collect();
        let state = |subflow: &Subflow| SubflowState {
            id: subflow.id,
            is_active: active.contains(&subflow.id),
            is_stuck: subflow.stuck,
            retires: subflow.retires || subflow.peer_retired,
            round_trip: subflow.round_trip,
            sent: subflow.sent,
            received: subflow.received,
        };
        self.subflows.iter().map(state).collect()
    }

    /// Returns the number of connections that do not retire.
    pub fn subflow_count(&self) -> u32 {
        self.subflows.iter().filter(|subflow| !subflow.retires && !subflow.peer_retired).count() as u32
    }
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubflowState {
    /// Its number.
    pub id: SubflowId,
    /// Whether this side sends on it.
    pub is_active: bool,
    /// Whether it has made no progress for a while.
    pub is_stuck: bool,
    /// Whether it retires.
    pub retires: bool,
    /// Smoothed round trip, if any was measured.
    pub round_trip: Option<Duration>,
    /// Bytes sent, frames included.
    pub sent: u64,
    /// Bytes of streams received.
    pub received: u64,
}

impl SubflowState {
    /// Returns whether it makes progress and does not retire.
    pub const fn is_usable(&self) -> bool {
        !self.is_stuck && !self.retires
    }
}
