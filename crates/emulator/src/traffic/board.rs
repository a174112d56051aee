//! The shared state of the drive's thread and that of the sockets. It counts packets of saturated sources
//! that have left their nodes, so that the next are sent. It also has the state of connections, for the time
//! series.

use evenair_netsim::{Network, OutsideEnds};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Packets that a source keeps at its node: one for the MAC, and enough behind it for a late thread.
const KEPT: u64 = 4;

/// The state shared by both threads.
#[derive(Debug)]
pub(crate) struct Board {
    gates: Vec<Gate>,
    /// Rings when a packet of a saturated source has left.
    bell: OwnedFd,
    /// The state of flows' ends that the drive has not read yet.
    ends: Mutex<Vec<(u32, OutsideEnds)>>,
}

/// The drive's counters of a saturated flow.
#[derive(Debug)]
struct Gate {
    flow: u32,
    /// Packets that have entered the network, and those of them that have left their first node or were
    /// dropped there.
    entered: AtomicU64,
    departed: AtomicU64,
}

impl Board {
    /// Returns a board for the saturated flows of these numbers.
    pub(crate) fn new(flows: impl Iterator<Item = u32>) -> io::Result<Self> {
        let gate = |flow| Gate { flow, entered: AtomicU64::new(0), departed: AtomicU64::new(0) };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { gates: flows.map(gate).collect(), bell, ends: Mutex::default() })
    }

    /// Makes a network count the departures of these flows.
    pub(crate) fn watch(&self, network: &mut Network) {
        self.gates.iter().for_each(|gate| network.watch_departures(gate.flow));
    }

    /// Publishes the network's counters; called by the drive's thread.
    pub(crate) fn tell(&self, network: &Network) {
        for gate in &self.gates {
            gate.entered.store(network.flow_state(gate.flow).sent, Ordering::Relaxed);
            let departed = network.departures(gate.flow);
            if gate.departed.swap(departed, Ordering::Relaxed) != departed {
                let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
            }
        }
    }

    /// Publishes the state of flows' ends; called by the sockets' thread.
    pub(super) fn write(&self, ends: impl Iterator<Item = (u32, OutsideEnds)>) {
        let mut written = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        written.clear(); // the drive reads more often; if it has not, this is newer
        written.extend(ends);
    }

    /// Passes that state to the network, if it need not wait; called by the drive's thread.
    pub(crate) fn read(&self, network: &mut Network) {
        if let Ok(mut written) = self.ends.try_lock() {
            written.drain(..).for_each(|(flow, ends)| network.tell_ends(flow, ends));
        }
    }

    /// Resets the bell.
    pub(super) fn hear(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
    }

    fn of(&self, flow: u32) -> &Gate {
        self.gates.iter().find(|gate| gate.flow == flow).expect("a saturated flow")
    }
}

impl AsFd for Board {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

/// A saturated source's own count.
#[derive(Debug, Default)]
pub(super) struct Saturated {
    sent: u64,
    /// The packets among them that never entered the network: the device had no room.
    lost: u64,
}

impl Saturated {
    /// Returns the number of missing datagrams.
    pub(super) fn missing(&self, board: &Board, flow: u32) -> u64 {
        let departed = board.of(flow).departed.load(Ordering::Relaxed);
        KEPT.saturating_sub(self.sent.saturating_sub(departed + self.lost))
    }

    pub(super) const fn count(&mut self) {
        self.sent += 1;
    }

    /// Counts sent packets that have not entered the network by now as lost; called once in a while.
    pub(super) fn settle(&mut self, board: &Board, flow: u32) {
        self.lost = self.sent.saturating_sub(board.of(flow).entered.load(Ordering::Relaxed));
    }
}
