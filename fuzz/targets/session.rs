//! `cargo +nightly fuzz run session`: a session of `evenair multiconn` processes any bytes from an authenticated peer on two
//! connections, while its own side opens, writes, reads, ends and breaks off streams and loses connections. It holds no more
//! memory than it may, and none when it is over.
#![no_main]

use evenair_multiconn::budget::Budget;
use evenair_multiconn::core::{Core, Event, Limits, Measured, Side};
use evenair_multiconn::frame::{Broken, Closed, Frame};
use evenair_units::{Duration, Instant};
use std::sync::Arc;

/// Memory that a peer may have here \[bytes\].
const MEMORY: u64 = 1 << 20;
/// The bytes that a connection takes at once.
const ROOM: usize = 1 << 14;
/// From this byte on it is an action of this side: frames begin with lower ones.
const OWN: u8 = 0x80;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let budget = Budget::new(MEMORY);
    Party::new(&budget).live(bytes, &budget);
    assert_eq!(budget.taken(), 0, "a session that is over holds memory");
});

struct Party {
    core: Core,
    now: Instant,
    /// Its two connections; the first receives the next bytes.
    subflows: [u32; 2],
    /// The bytes that their sockets report as acknowledged, together.
    acknowledged: u64,
    streams: Vec<u32>,
    out: Vec<u8>,
}

impl Party {
    fn new(budget: &Arc<Budget>) -> Self {
        let now = Instant::from_nanos(1);
        let mut core = Core::new(Side::Relay, Limits::default(), Arc::clone(budget), now);
        core.add_subflow(1, now);
        core.add_subflow(2, now);
        core.set_wanted(2, now);
        Self { core, now, subflows: [1, 2], acknowledged: 0, streams: Vec::new(), out: Vec::new() }
    }

    fn live(&mut self, mut bytes: &[u8], budget: &Budget) {
        while let Some(&first) = bytes.first() {
            self.now = self.now + Duration::from_millis(7);
            if first >= OWN {
                let (own, rest) = bytes.split_at(bytes.len().min(2));
                self.own(first - OWN, own.get(1).copied().unwrap_or(0));
                bytes = rest;
            } else {
                let Ok(Some((frame, used))) = Frame::decode(bytes) else { break };
                bytes = &bytes[used..];
                if self.core.frame(self.subflows[0], frame, self.now).is_err() {
                    break;
                }
            }
            self.send();
            assert!(budget.taken() <= MEMORY, "more memory than there is");
        }
        self.core.close(Closed::Done);
        self.send();
    }

    /// One of the things that this side does, to a stream or a connection.
    fn own(&mut self, what: u8, with: u8) {
        let (now, core) = (self.now, &mut self.core);
        let stream = self.streams.get(usize::from(with) % self.streams.len().max(1)).copied();
        let stream = stream.unwrap_or(u32::from(with));
        match what {
            0 => self.streams.extend(core.open(now)),
            1 => drop(core.write(stream, &[with; 300], now)),
            2 => drop(core.write(stream, &[with; 40_000], now)),
            3 => drop(core.read(stream, &mut [0; 50], now)),
            4 => drop(core.read(stream, &mut [0; 20_000], now)),
            5 => core.end(stream, now),
            6 => core.reset(stream, Broken::Aborted, now),
            7 => {
                core.release(stream, now);
                self.streams.retain(|one| *one != stream);
            }
            8 => self.subflows.swap(0, 1),
            9 => {
                let new = self.subflows[0].max(self.subflows[1]) + 1;
                core.lost(self.subflows[0], now);
                core.add_subflow(new, now);
                self.subflows[0] = new;
            }
            10 => core.retire(self.subflows[0]),
            11 => core.set_wanted(with.into(), now),
            12 => core.tell_wanted(with.into()),
            13 => self.now = now + Duration::from_millis(u64::from(with) * 100),
            14 => drop(core.reserve(stream, usize::from(with) * 100, now)),
            15 => {
                self.acknowledged += u64::from(with & 0xf) * 1000;
                let round_trip = (with & 0x10 != 0).then(|| Duration::from_millis(u64::from(with)));
                let window = (with & 0x20 != 0).then_some(u64::from(with) * 100);
                let (waiting, acknowledged) = (u64::from(with >> 6) * 1000, self.acknowledged);
                core.measured(self.subflows[0], Measured { round_trip, waiting, acknowledged, window }, now);
            }
            _ => {}
        }
    }

    /// The output of both, and the host's view of it.
    fn send(&mut self) {
        if self.core.timeout().is_some_and(|due| due <= self.now) {
            self.core.on_timeout(self.now);
        }
        for subflow in self.subflows {
            self.out.clear();
            self.core.pull(subflow, self.now, ROOM, &mut self.out);
            assert!(self.out.len() <= ROOM, "more than a connection takes");
        }
        while let Some(event) = self.core.event() {
            if let Event::Opened(stream) = event {
                self.streams.push(stream);
            }
        }
    }
}
