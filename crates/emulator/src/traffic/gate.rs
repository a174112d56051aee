//! Saturated sources: the drive tells of each packet that has left its node, and the next is sent.

use evenair_netsim::Network;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

/// Packets that a source keeps at its node: one for the MAC, as many behind it as a late thread may miss.
const KEPT: u64 = 4;

/// What the drive tells of the network's saturated flows, for the thread of their sockets.
#[derive(Debug)]
pub(crate) struct Gates {
    all: Vec<Gate>,
    bell: OwnedFd,
}

#[derive(Debug)]
struct Gate {
    flow: u32,
    /// Packets that have come into the network, and those of them that have left their first node or were dropped there.
    entered: AtomicU64,
    departed: AtomicU64,
}

impl Gates {
    /// For the flows of these numbers.
    pub(crate) fn new(flows: impl Iterator<Item = u32>) -> io::Result<Self> {
        let gate = |flow| Gate { flow, entered: AtomicU64::new(0), departed: AtomicU64::new(0) };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { all: flows.map(gate).collect(), bell })
    }

    /// Has a network count what it is to tell.
    pub(crate) fn watch(&self, network: &mut Network) {
        self.all.iter().for_each(|gate| network.watch_departures(gate.flow));
    }

    /// The drive tells how far the network is.
    pub(crate) fn tell(&self, network: &Network) {
        for gate in &self.all {
            gate.entered.store(network.flow_state(gate.flow).sent, Ordering::Relaxed);
            let departed = network.departures(gate.flow);
            if gate.departed.swap(departed, Ordering::Relaxed) != departed {
                let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
            }
        }
    }

    /// The other side has heard the bell.
    pub(super) fn hear(&self) {
        let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
    }

    fn of(&self, flow: u32) -> &Gate {
        self.all.iter().find(|gate| gate.flow == flow).expect("a saturated flow")
    }
}

impl AsFd for Gates {
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
    pub(super) fn missing(&self, gates: &Gates, flow: u32) -> u64 {
        let departed = gates.of(flow).departed.load(Ordering::Relaxed);
        KEPT.saturating_sub(self.sent.saturating_sub(departed + self.lost))
    }

    pub(super) const fn count(&mut self) {
        self.sent += 1;
    }

    /// Once in a while: all that was sent has come into the network by now, or will not.
    pub(super) fn settle(&mut self, gates: &Gates, flow: u32) {
        self.lost = self.sent.saturating_sub(gates.of(flow).entered.load(Ordering::Relaxed));
    }
}
