//! The scenario's own flows, by sockets of this machine's kernel: one thread for all of them, beside the drive's.

mod flow;
mod sockets;

pub(crate) use flow::{RealSpec, Tally, why_not};
pub(crate) use sockets::congestion_control;

use crate::address::Addresses;
use crate::hosts::{Clock, timespec};
use evenair_laws::connections::ConnectionLaw;
use evenair_linux::NetworkNamespace;
use evenair_linux::tcp::Info;
use evenair_netsim::{Pattern, Source, Traffic as Kind};
use evenair_units::{Duration, Instant};
use flow::Flow;
use rustix::event::epoll;
use sockets::Socket;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The port of the first flow; those of the others follow.
pub(crate) const FIRST_PORT: u16 = 5001;

/// How often sockets are asked how they are.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is due at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Warm,
    Look,
    /// A flow's activity begins, or ends.
    Start(usize),
    Stop(usize),
    /// The law of a flow's connections looks; void as below.
    Law(usize, u32),
    /// A flow's application has something to send; void if the flow has begun again since.
    Produce(usize, u32),
}

/// All flows, and the sockets of all.
#[derive(Debug)]
pub(crate) struct Traffic {
    clock: Clock,
    addresses: Addresses,
    events: OwnedFd,
    due: BinaryHeap<Reverse<(Instant, Due)>>,
    flows: Vec<Flow>,
    sockets: Vec<Option<Socket>>,
}

impl Traffic {
    /// Listens for all flows. Nothing is sent yet.
    ///
    /// # Errors
    /// If a socket cannot be had, or does not take an option that the scenario asks for; the flow is named.
    pub(crate) fn new(
        specs: Vec<RealSpec>,
        warmup: Duration,
        (clock, addresses): (Clock, Addresses),
        hosts: &[NetworkNamespace],
    ) -> Result<Self, (String, io::Error)> {
        let events =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| (String::new(), error.into()))?;
        let mut traffic =
            Self { clock, addresses, events, due: BinaryHeap::new(), flows: Vec::new(), sockets: Vec::new() };
        traffic.at(Instant::ZERO + warmup, Due::Warm);
        traffic.at(Instant::ZERO + LOOK_EVERY, Due::Look);
        for (index, spec) in specs.into_iter().enumerate() {
            let name = spec.name.clone();
            traffic.listen(index, &spec, hosts).map_err(|error| (name, error))?;
            for &(from, until) in &spec.active {
                traffic.at(from, Due::Start(index));
                traffic.at(until, Due::Stop(index));
            }
            traffic.flows.push(Flow::new(spec));
        }
        Ok(traffic)
    }

    /// Sends and receives until it is told to stop; gives what came of each flow.
    pub(crate) fn run(mut self, hosts: &[NetworkNamespace], stop: &AtomicBool) -> Vec<Tally> {
        let mut found = Vec::with_capacity(64);
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            while let Some(Reverse((at, due))) =
                self.due.peek().copied().filter(|Reverse((at, _))| *at <= now)
            {
                self.due.pop();
                self.on_due(at, due, hosts);
            }
            let next = self.due.peek().map_or(LOOK_EVERY, |Reverse((at, _))| at.since(now)).min(LOOK_EVERY);
            let timeout = timespec(next);
            found.clear();
            if epoll::wait(&self.events, rustix::buffer::spare_capacity(&mut found), Some(&timeout)).is_ok() {
                let now = self.clock.now();
                for event in &found {
                    self.on_ready(now, event.data.u64() as usize);
                }
            }
        }
        self.look();
        self.flows.into_iter().map(Flow::tally).collect()
    }

    fn at(&mut self, at: Instant, due: Due) {
        if !at.is_never() {
            self.due.push(Reverse((at, due)));
        }
    }

    /// Keeps a socket; its number is what the kernel tells of it by.
    fn keep(&mut self, socket: Socket, flags: epoll::EventFlags) -> io::Result<()> {
        let place = self.sockets.iter().position(Option::is_none).unwrap_or(self.sockets.len());
        epoll::add(&self.events, &socket, epoll::EventData::new_u64(place as u64), flags)?;
        if place == self.sockets.len() {
            self.sockets.push(None);
        }
        self.sockets[place] = Some(socket);
        Ok(())
    }

    fn listen(&mut self, index: usize, spec: &RealSpec, hosts: &[NetworkNamespace]) -> io::Result<()> {
        let place = SocketAddrV4::new(self.addresses.ipv4(spec.destination), spec.port);
        let socket = hosts[spec.destination as usize].within(|| match &spec.traffic {
            Kind::Tcp(tcp) => {
                sockets::listener(place, tcp).map(|socket| Socket::Listener { flow: index, socket })
            }
            _ => sockets::receiver(place).map(|socket| Socket::Receiver { flow: index, socket }),
        })??;
        self.keep(socket, epoll::EventFlags::IN)
    }

    fn on_due(&mut self, at: Instant, due: Due, hosts: &[NetworkNamespace]) {
        match due {
            Due::Warm => {
                self.look();
                self.flows.iter_mut().for_each(Flow::start_measuring);
            }
            Due::Look => {
                self.look();
                self.at(at + LOOK_EVERY, Due::Look);
            }
            Due::Start(index) => self.start(at, index, hosts),
            Due::Stop(index) => {
                self.flows[index].run += 1;
                self.close_senders(index);
            }
            Due::Produce(index, run) if self.flows[index].run == run => self.produce(at, index),
            Due::Law(index, run) if self.flows[index].run == run => self.ask_law(at, index, hosts),
            Due::Produce(..) | Due::Law(..) => (),
        }
    }

    fn start(&mut self, at: Instant, index: usize, hosts: &[NetworkNamespace]) {
        let open = self.infos(index, true);
        let flow = &mut self.flows[index];
        flow.run += 1;
        flow.began.get_or_insert(at);
        let (run, connections) = (flow.run, flow.begin(at, open.into_iter()));
        self.open(index, connections, hosts);
        self.at(at, Due::Produce(index, run));
        self.look_again(at, index);
    }

    /// Opens so many connections, or the one source of datagrams, of a flow.
    fn open(&mut self, index: usize, count: u32, hosts: &[NetworkNamespace]) {
        let spec = self.flows[index].spec.clone();
        let (from, to) = (self.addresses.ipv4(spec.source), self.addresses.ipv4(spec.destination));
        let to = SocketAddrV4::new(to, spec.port);
        let open = || match &spec.traffic {
            Kind::Tcp(tcp) => {
                sockets::connect(from, to, tcp).map(|stream| Socket::sender(index, stream, tcp))
            }
            _ => sockets::datagrams(from, to).map(|socket| Socket::Datagrams { flow: index, socket }),
        };
        for _ in 0..count {
            let opened = hosts[spec.source as usize].within(open).and_then(|socket| socket);
            if let Err(error) = opened.and_then(|socket| self.keep(socket, sockets::ANYTHING)) {
                self.flows[index].failed = Some(error);
            }
        }
    }

    /// The law of a flow's connections has looked: some are opened, or the last ones are closed once they have sent all they had.
    fn ask_law(&mut self, at: Instant, index: usize, hosts: &[NetworkNamespace]) {
        let open = self.infos(index, true);
        if let Some(wanted) = self.flows[index].ask_law(at, &open) {
            let there = open.len() as u32;
            self.open(index, wanted.saturating_sub(there), hosts);
            let closing =
                self.sockets.iter_mut().flatten().filter(|socket| socket.flow() == index && socket.is_open());
            let last: Vec<&mut Socket> = closing.collect();
            last.into_iter().rev().take(there.saturating_sub(wanted) as usize).for_each(Socket::drain);
        }
        self.look_again(at, index);
    }

    fn look_again(&mut self, at: Instant, index: usize) {
        let flow = &self.flows[index];
        if let Some(law) = &flow.law {
            let (next, run) = (at + law.interval(), flow.run);
            self.at(next, Due::Law(index, run));
        }
    }

    /// How the connections of a flow are that are open, or that only send what they still have.
    fn infos(&self, index: usize, open: bool) -> Vec<Info> {
        let own = self.sockets.iter().flatten().filter(|socket| socket.flow() == index);
        own.filter(|socket| socket.is_open() == open).filter_map(Socket::info).collect()
    }

    /// The application of a paced flow has a segment, or a datagram; the next one follows.
    fn produce(&mut self, at: Instant, index: usize) {
        let gap = match &self.flows[index].spec.traffic {
            Kind::Tcp(tcp) => match tcp.source {
                Source::Paced(gap) => Some(gap),
                Source::Endless | Source::Segments(_) => None,
            },
            Kind::Datagrams { pattern: Pattern::Constant { interval, .. }, .. } => Some(*interval),
            _ => None,
        };
        let Some(gap) = gap else { return };
        let run = self.flows[index].run;
        self.at(at + gap, Due::Produce(index, run));
        for socket in self.sockets.iter_mut().flatten().filter(|socket| socket.flow() == index) {
            socket.produce(&mut self.flows[index]);
        }
    }

    /// A socket can be read or written.
    fn on_ready(&mut self, now: Instant, place: usize) {
        let Some(socket) = &mut self.sockets[place] else { return };
        let index = socket.flow();
        let flow = &mut self.flows[index];
        match socket {
            Socket::Listener { socket, .. } => {
                let accepted = sockets::accept(socket);
                for stream in accepted {
                    let _ =
                        self.keep(Socket::Sink { flow: index, stream, received: 0 }, epoll::EventFlags::IN);
                }
            }
            socket => {
                if socket.serve(now, flow) {
                    self.sockets[place] = None; // closed, which takes it from the events
                }
            }
        }
    }

    fn close_senders(&mut self, index: usize) {
        let is_sender = |socket: &Socket| socket.flow() == index && socket.is_sender();
        for socket in self.sockets.iter_mut().filter(|socket| socket.as_ref().is_some_and(is_sender)) {
            if let Some(socket) = socket.take() {
                self.flows[index].take_leave(&socket);
            }
        }
    }

    /// Asks all senders how they are.
    fn look(&mut self) {
        for index in 0..self.flows.len() {
            let (open, drained) = (self.infos(index, true), self.infos(index, false));
            self.flows[index].look(&open, &drained);
        }
    }
}
