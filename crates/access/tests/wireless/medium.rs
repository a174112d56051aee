//! A medium behind simulated radios, which have none of their own: `evenair-wifi`'s channel access in real time, with the
//! registers that reach each radio's driver.
//!
//! Access points stand in a row, each with a station. Neighbours in the row sense and decode each other, others do not.
//! All frames are sent at 6 Mb/s, in slow motion, with which an emulated machine keeps up. The simulated clock stops while
//! this program is late, so that shares hold and rates do not.

use crate::probe::{Conf, Probe};
use evenair_des::Stream;
use evenair_laws::backoff::{BackoffLaw as _, Category, Edca, PhysicalLayer, Registers};
use evenair_linux::hwsim::{Frame, Hwsim};
use evenair_topology::{Medium, Signal};
use evenair_units::{Bytes, Dbm, Duration, Instant, Rate};
use evenair_wifi::mac::edca::Arbitration;
use evenair_wifi::{
    Air, BROADCAST, Contention, ControlRate, Head, MacTiming, Mode, Outcome, PacketId, Receivers, Rules, Up,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io;

/// Access categories of a radio.
const CATEGORIES: usize = 4;
/// The rate of all frames.
const RATE: Rate = Rate::from_kbps(6_000);
/// The most frames that a category of a radio keeps: fewer than the radio waits for before it drops some.
const ROOM: usize = 90;
/// Seconds of this machine in a simulated one.
pub(crate) const SLOWNESS: u64 = 8;
/// The most simulated time between two looks at the radios: they keep more packets than are sent in it.
const STRIDE: Duration = Duration::from_millis(20);
/// Bytes of a frame that the air adds to a packet: header and check sum.
const OVERHEAD: usize = 28;

/// The medium of a row of access points, radio after radio, then their stations.
pub(crate) struct Row {
    hwsim: Hwsim,
    probe: Probe,
    reach: Medium,
    registers: Vec<Registers>,
    queues: Vec<VecDeque<Frame>>,
    air: Air,
    news: Vec<Up>,
    now: Instant,
}

impl Row {
    /// Takes the frames of `2 * count` radios from here on.
    pub(crate) fn new(count: u32) -> io::Result<Self> {
        let contenders = 2 * count as usize * CATEGORIES;
        let standard =
            |contender| Registers::standard(Category::ALL[contender % CATEGORIES], PhysicalLayer::Ofdm);
        let (reach, registers) = (reach(count), (0..contenders).map(standard).collect::<Vec<_>>());
        Ok(Self {
            hwsim: Hwsim::new()?,
            probe: Probe::new("medium"),
            air: air(&reach, &registers),
            reach,
            registers,
            queues: vec![VecDeque::new(); contenders],
            news: Vec::new(),
            now: Instant::ZERO,
        })
    }

    /// Serves for ever.
    pub(crate) fn serve(&mut self) -> io::Result<()> {
        let mut last = std::time::Instant::now();
        loop {
            self.follow_registers();
            for frame in self.hwsim.frames()? {
                self.take(frame)?;
            }
            let passed = Duration::from_nanos(last.elapsed().as_nanos() as u64 / SLOWNESS).min(STRIDE);
            last = std::time::Instant::now();
            self.advance(self.now + passed)?;
            let wait = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
            poll(&mut [PollFd::new(&self.hwsim, PollFlags::IN)], Some(&wait))?;
        }
    }

    /// Puts a frame into the queue of its radio and category.
    fn take(&mut self, frame: Frame) -> io::Result<()> {
        let node = usize::from(frame.transmitter[4]);
        let by = node * CATEGORIES + category(&frame.bytes);
        match self.queues.get_mut(by) {
            Some(queue) if queue.len() < ROOM => queue.push_back(frame),
            _ => return self.hwsim.finish(&frame, false),
        }
        if self.queues[by].len() == 1 {
            self.offer(self.now, by);
        }
        Ok(())
    }

    /// Offers the head of a queue to the air.
    fn offer(&mut self, now: Instant, by: usize) {
        let Some(frame) = self.queues[by].front() else { return };
        let to = receiver(&frame.bytes);
        let size = Bytes::new(frame.bytes.len().saturating_sub(OVERHEAD).max(1) as u32);
        let head = Head { to, size, mode: Mode::at(RATE), packet: PacketId(by as u32) };
        self.air.offer(now, by as u32, head);
    }

    fn advance(&mut self, until: Instant) -> io::Result<()> {
        while let Some(at) = self.air.advance(until, &mut self.news) {
            for up in std::mem::take(&mut self.news) {
                self.on_up(at, up)?;
            }
        }
        self.now = until;
        Ok(())
    }

    fn on_up(&mut self, at: Instant, up: Up) -> io::Result<()> {
        match up {
            Up::Received { from, at, .. } => match self.queues[from as usize].front() {
                Some(frame) => self.hwsim.deliver(frame, [0x42, 0, 0, 0, at as u8, 0]),
                None => Ok(()),
            },
            Up::Done { by, outcome, .. } => {
                let Some(frame) = self.queues[by as usize].pop_front() else { return Ok(()) };
                let is_acknowledged = outcome == Outcome::Delivered && receiver(&frame.bytes) != BROADCAST;
                self.hwsim.finish(&frame, is_acknowledged)?;
                self.offer(at, by as usize);
                Ok(())
            }
            Up::Attempt { .. } => Ok(()),
        }
    }

    /// Takes the registers that have reached drivers. The air's spaces are those of its beginning, so that another AIFSN
    /// begins it again, with the same queues.
    fn follow_registers(&mut self) {
        for Conf { vif, category, registers } in self.probe.take() {
            let node = vif.strip_prefix("wlan").and_then(|number| number.parse::<usize>().ok());
            let Some(by) = node.map(|node| node * CATEGORIES + category) else { continue };
            let Some(own) = self.registers.get_mut(by) else { continue };
            let before = std::mem::replace(own, registers);
            if before.aifsn == registers.aifsn {
                self.air.set_access(by as u32, edca(registers).access());
                continue;
            }
            (self.air, self.news) = (air(&self.reach, &self.registers), Vec::new());
            (0..self.queues.len()).for_each(|by| self.offer(self.now, by));
        }
    }
}

/// The reach of signals: access points and stations of one place in the row, and of the next.
fn reach(count: u32) -> Medium {
    let place = |node: u32| node % count;
    let power = Dbm::new(-50.0);
    let mut signals = Vec::new();
    for from in 0..2 * count {
        let near = (0..2 * count).filter(|&to| to != from && place(from).abs_diff(place(to)) <= 1);
        signals.extend(near.map(|to| Signal { from, to, power }));
    }
    Medium::from_signals(2 * count as usize, &signals, Dbm::new(-80.0), Dbm::new(-80.0))
}

fn air(reach: &Medium, registers: &[Registers]) -> Air {
    let timing = MacTiming::a(ControlRate::Mandatory).with_qos(true);
    let contention = |(by, &registers): (usize, &Registers)| {
        let law = edca(registers);
        let access = law.access();
        Contention {
            node: (by / CATEGORIES) as u32,
            access,
            arbitration: Arbitration::of(law.space(), access.holding, &timing),
            stream: Stream::named(1, &by.to_string(), "medium"),
        }
    };
    let contenders = registers.iter().enumerate().map(contention).collect();
    Air::dcf(reach, contenders, timing, Rules::standard(), &Receivers::default())
}

fn edca(registers: Registers) -> Edca {
    let Registers { window_min, window_max, aifsn, .. } = registers;
    Edca { window_min, window_max, aifsn, txop_limit: registers.txop() }
}

/// The node of a frame's first address, or [`BROADCAST`].
fn receiver(bytes: &[u8]) -> u32 {
    match bytes.get(4..10) {
        Some([first, _, _, _, node, _]) if first & 1 == 0 => u32::from(*node),
        _ => BROADCAST,
    }
}

/// The category of a frame by its QoS Control field; other data is best effort, and management is voice, as hardware has it.
fn category(bytes: &[u8]) -> usize {
    const QOS_DATA: u8 = 0x88;
    match bytes.first().copied().unwrap_or_default() & 0xfc {
        QOS_DATA => match bytes.get(24).copied().unwrap_or_default() & 7 {
            1 | 2 => 3,
            0 | 3 => 2,
            4 | 5 => 1,
            _ => 0,
        },
        kind if kind & 0x0c == 8 => 2,
        _ => 0,
    }
}
