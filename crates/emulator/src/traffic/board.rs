//! What the drive's thread and that of the sockets tell each other: of packets of saturated sources that have left their nodes, so that
//! the next are sent; and how connections are, for the time series.

use evenair_netsim::{Network, OutsideEnds};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Packets that a source keeps at its node: one for the MAC, as many behind it as a late thread may miss.
const KEPT: u64 = 4;

/// Seen by both threads.
#[derive(Debug)]
pub(crate) struct Board {
    gates: Vec<Gate>,
    /// Rings when a packet of a saturated source has left.
    bell: OwnedFd,
    /// How flows' ends are, as far as the drive has not read it yet.
    ends: Mutex<Vec<(u32, OutsideEnds)>>,
}

/// What the drive tells of a saturated flow.
#[derive(Debug)]
struct Gate {
    flow: u32,
    /// Packets that have come into the network, and those of them that have left their first node or were dropped there.
    entered: AtomicU64,
    departed: AtomicU64,
}

impl Board {
    /// For the saturated flows of these numbers.
    pub(crate) fn new(flows: impl Iterator<Item = u32>) -> io::Result<Self> {
        let gate = |flow| Gate { flow, entered: AtomicU64::new(0), departed: AtomicU64::new(0) };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { gates: flows.map(gate).collect(), bell, ends: Mutex::default() })
    }

    /// Has a network count what it is to tell.
    pub(crate) fn watch(&self, network: &mut Network) {
        self.gates.iter().for_each(|gate| network.watch_departures(gate.flow));
    }

    /// The drive tells how far the network is.
    pub(crate) fn tell(&self, network: &Network) {
        for gate in &self.gates {
            gate.entered.store(network.flow_state(gate.flow).sent, Ordering::Relaxed);
            let departed = network.departures(gate.flow);
            if gate.departed.swap(departed, Ordering::Relaxed) != departed {
                let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
            }
        }
    }

    /// The sockets' thread tells how flows are.
    pub(super) fn write(&self, ends: impl Iterator<Item = (u32, OutsideEnds)>) {
        let mut written = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        written.clear(); // the drive looks more often; if it has not, this is newer
        written.extend(ends);
    }

    /// The drive reads that, if it need not wait.
    pub(crate) fn read(&self, network: &mut Network) {
        if let Ok(mut written) = self.ends.try_lock() {
            written.drain(..).for_each(|(flow, ends)| network.tell_ends(flow, ends));
        }
    }

    /// The other side has heard the bell.
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
    /// Of those, packets that have not come into the network, and will not: the device had no room.
    lost: u64,
}

impl Saturated {
    /// How many datagrams are missing.
    pub(super) fn missing(&self, board: &Board, flow: u32) -> u64 {
        let departed = board.of(flow).departed.load(Ordering::Relaxed);
        KEPT.saturating_sub(self.sent.saturating_sub(departed + self.lost))
    }

    pub(super) const fn count(&mut self) {
        self.sent += 1;
    }

    /// Once in a while: all that was sent has come into the network by now, or will not.
    pub(super) fn settle(&mut self, board: &Board, flow: u32) {
        self.lost = self.sent.saturating_sub(board.of(flow).entered.load(Ordering::Relaxed));
    }
}
