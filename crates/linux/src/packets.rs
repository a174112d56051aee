//! The packets that pass a device, with their headers, as they arrive or **leave the queue**: packets in the
//! device's queueing discipline have not passed yet.
//!
//! It works for an ordinary user in own namespaces (`CAP_NET_RAW` there) and needs no eBPF. The kernel copies
//! 128 bytes of each packet into a ring that it shares with this process. It hands over some thousands at a
//! time, or those of the last 10 ms. A segment sent in one piece, to be cut further down, is one packet.

mod headers;
pub(crate) mod ring;

pub use headers::{Headers, Segment};

use evenair_units::Instant;
use ring::Ring;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The direction in which a packet passes a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    Incoming,
    /// It was passed to the device.
    Outgoing,
}

/// A packet that passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The direction.
    pub direction: Direction,
    /// The time by the machine's monotonic clock (`CLOCK_MONOTONIC`); never before that of an earlier packet.
    pub at: Instant,
    /// The virtual network of its tag (IEEE 802.1Q).
    pub vlan: Option<u16>,
    /// Its headers.
    pub headers: Headers,
}

/// A socket that receives all IP packets that pass a device.
#[derive(Debug)]
pub struct Packets {
    ring: Ring,
    /// The latest time returned.
    latest: Instant,
    /// Packets lost for lack of room, so far.
    drops: u64,
}

impl Packets {
    /// Follows the device of this number in the calling thread's namespace, from now on.
    ///
    /// # Errors
    /// If there is none, if the process lacks `CAP_NET_RAW`, or the kernel has no packet sockets.
    pub fn new(device: u32) -> io::Result<Self> {
        Ok(Self { ring: Ring::new(device)?, latest: Instant::ZERO, drops: 0 })
    }

    /// Follows another device from now on: a device that was removed and added again has another number.
    /// Unlike a new socket, this needs no privilege.
    ///
    /// # Errors
    /// If there is none.
    pub fn follow(&mut self, device: u32) -> io::Result<()> {
        self.ring.follow(device)
    }

    /// Calls `each` for the packets that have passed since the last call. Returns their number, packets other
    /// than IP included. It does not wait; the descriptor is readable if there are packets.
    ///
    /// # Errors
    /// If the device went down or was removed. A device that is up again is followed further; a removed one
    /// is not, even if another gets its name.
    pub fn read(&mut self, mut each: impl FnMut(&Packet)) -> io::Result<usize> {
        let (mut count, mut latest) = (0, self.latest);
        // Bounded, so that a ring that fills as fast as it is read is left in the end.
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

    /// Returns the number of packets that passed unreported, since the ring was full.
    ///
    /// # Errors
    /// None on known kernels.
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

/// Two clocks at one instant: the kernel stamps packets by the adjustable one.
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

    /// Converts a recent stamp into an instant.
    fn monotonic(self, stamp_ns: u64) -> Instant {
        let age = self.real_ns.saturating_sub(stamp_ns);
        Instant::from_nanos(self.monotonic_ns.saturating_sub(age))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_converted_to_the_monotonic_clock() {
        let clock = Clock { real_ns: 1_700_000_000_000_000_000, monotonic_ns: 5_000_000_000 };
        assert_eq!(clock.monotonic(clock.real_ns - 1_000), Instant::from_nanos(4_999_999_000));
        // The clock was set back: the packet passed just now.
        assert_eq!(clock.monotonic(clock.real_ns + 3_600_000_000_000), Instant::from_nanos(5_000_000_000));
        assert_eq!(clock.monotonic(0), Instant::ZERO);
    }
}
