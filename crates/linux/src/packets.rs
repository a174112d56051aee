//! The packets that pass a device, told from their headers, as they come in or **leave the queue**: what waits in the device's
//! queueing discipline has not passed yet.
//!
//! It works for an ordinary user in namespaces of his own (`CAP_NET_RAW` there) and needs no eBPF. Of each packet the kernel copies
//! 128 bytes into a ring that this process shares with it, and hands over some thousands at a time, or whatever 10 ms have brought.
//! A segment that is sent in one piece, to be cut further down, is one packet.

mod headers;
pub(crate) mod ring;

pub use headers::{Headers, Segment};

use evenair_units::Instant;
use ring::Ring;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Which way a packet passes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    Incoming,
    /// It was handed to the device.
    Outgoing,
}

/// A packet that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Which way.
    pub direction: Direction,
    /// When, by the machine's clock that nobody sets (`CLOCK_MONOTONIC`); never before a packet that was told earlier.
    pub at: Instant,
    /// The virtual network that its tag names (IEEE 802.1Q).
    pub vlan: Option<u16>,
    /// What its headers say.
    pub headers: Headers,
}

/// A socket that is told of all IP packets that pass a device.
#[derive(Debug)]
pub struct Packets {
    ring: Ring,
    /// The latest time that was told.
    latest: Instant,
    /// Packets that found no room, so far.
    drops: u64,
}

impl Packets {
    /// Of the device of this number in the calling thread's namespace, from now on.
    ///
    /// # Errors
    /// If there is none, if the process lacks `CAP_NET_RAW`, or the kernel has no packet sockets.
    pub fn new(device: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::new(device)?, latest: Instant::ZERO, drops: 0 })
    }

    /// Tells of the packets of another device from now on: one that went and came back has another number. Other than for a new socket,
    /// no privilege is needed.
    ///
    /// # Errors
    /// If there is none.
    pub fn follow(&mut self, device: u32) -> io::Result<()> {
        self.ring.follow(device)
    }

    /// Tells of the packets that have passed since it was last asked, and gives their number, those that are no IP packets
    /// included. It does not wait; the descriptor is readable where there is something to tell.
    ///
    /// # Errors
    /// If the device went down or away. One that is up again is told of further; one that went is not, whatever has its name.
    pub fn read(&mut self, mut each: impl FnMut(&Packet)) -> io::Result<usize> {
        let (mut count, mut latest) = (0, self.latest);
        // A ring that is filled as fast as it is read is left in the end.
        for _ in 0..ring::BLOCKS {
            let clock = Clock::now();
            let is_read = self.ring.read_block(|frame| {
                count += 1;
                let Some(headers) = Headers::parse(frame.ethertype, frame.bytes, frame.length) else {
                    return;
                };
                let direction = if frame.is_outgoing { Direction::Outgoing } else { Direction::Incoming };
                latest = latest.max(clock.monotonic(frame.stamp_ns));
                each(&Packet { direction, at: latest, vlan: frame.vlan, headers });
            });
            if !is_read {
                break;
            }
        }
        self.latest = latest;
        if count == 0 {
            self.ring.failure()?;
        }
        Ok(count)
    }

    /// Packets that passed and are not told, since the ring was full.
    ///
    /// # Errors
    /// None that a kernel is known to have.
    pub fn drops(&mut self) -> io::Result<u64> {
        self.drops += u64::from(self.ring.new_drops()?);
        Ok(self.drops)
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ring.as_fd()
    }
}

/// Two clocks at one instant: the kernel stamps packets by the one that people set.
#[derive(Clone, Copy, Debug)]
struct Clock {
    real_ns: u64,
    monotonic_ns: u64,
}

impl Clock {
    fn now() -> Self {
        let read = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        };
        Self { real_ns: read(ClockId::Realtime), monotonic_ns: read(ClockId::Monotonic) }
    }

    /// The instant of a stamp, which is past, and not long.
    fn monotonic(self, stamp_ns: u64) -> Instant {
        let age = self.real_ns.saturating_sub(stamp_ns);
        Instant::from_nanos(self.monotonic_ns.saturating_sub(age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_told_by_the_clock_that_nobody_sets() {
        let clock = Clock { real_ns: 1_700_000_000_000_000_000, monotonic_ns: 5_000_000_000 };
        assert_eq!(clock.monotonic(clock.real_ns - 1_000), Instant::from_nanos(4_999_999_000));
        // Somebody has set the clock back: it was just now.
        assert_eq!(clock.monotonic(clock.real_ns + 3_600_000_000_000), Instant::from_nanos(5_000_000_000));
        assert_eq!(clock.monotonic(0), Instant::ZERO);
    }
}
