//! The scenario's own flows, by sockets of this machine's kernel: one thread for all of them, beside the
//! drive's.

mod board;
mod flow;
mod probes;
mod sockets;
mod web;

pub(crate) use board::Board;
pub(crate) use flow::{RealSpec, Tally, why_simulated};
pub(crate) use probes::{REAL_BYTES as PROBE_BYTES, port as probe_port, wanted as wanted_probes};
pub(crate) use sockets::congestion_control;

use crate::address::Addresses;
use crate::hosts::{Clock, timespec};
use evenair_laws::connections::ConnectionLaw;
use evenair_linux::NetworkNamespace;
use evenair_linux::tcp::Info;
use evenair_netsim::{Pattern, Source, Traffic as Kind, WebConnection};
use evenair_units::{Duration, Instant};
use evenair_wifi::BROADCAST;
use flow::Flow;
use rustix::event::epoll;
use sockets::{Phase, Socket};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use web::{End, Web};

/// The port of the first flow; those of the others follow.
pub(crate) const FIRST_PORT: u16 = 5001;

/// The time between two observations of the sockets.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// An event at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Warm,
    Look,
    /// A flow's activity begins, or ends.
    Start(usize),
    Stop(usize),
    /// An interval of the law of a flow's connections ends; void after a start or stop, as below.
    Law(usize, u32),
    /// A flow's application has data to send, if this is still its due time.
    Produce(usize),
    /// A source turns on, or off; a client makes a request: void as the law's.
    Toggle(usize, u32),
    Request(usize, u32),
    /// A probe of a flow's path, or the next round of them.
    Probe(usize, u32),
}

/// The event number of the saturated flows' bell; no socket has this number.
const BELL: u64 = u64::MAX;

/// All flows, and the sockets of all.
#[derive(Debug)]
pub(crate) struct Traffic {
    clock: Clock,
    addresses: Addresses,
    events: OwnedFd,
    due: BinaryHeap<Reverse<(Instant, Due)>>,
    flows: Vec<Flow>,
    sockets: Vec<Option<Socket>>,
    board: Arc<Board>,
}

impl Traffic {
    /// Listens for all flows. Nothing is sent yet.
    ///
    /// # Errors
    /// If a socket cannot be created, or does not accept an option of the scenario; the flow is named.
    pub(crate) fn new(
        specs: Vec<RealSpec>,
        warmup: Duration,
        (clock, addresses): (Clock, Addresses),
        board: Arc<Board>,
        hosts: &[NetworkNamespace],
    ) -> Result<Self, (String, io::Error)> {
        let events =
            epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| (String::new(), error.into()))?;
        let bell = epoll::EventData::new_u64(BELL);
        epoll::add(&events, &*board, bell, epoll::EventFlags::IN)
            .map_err(|error| (String::new(), error.into()))?;
        let (due, flows, sockets) = (BinaryHeap::new(), Vec::new(), Vec::new());
        let mut traffic = Self { clock, addresses, events, due, flows, sockets, board };
        let warm_at = Instant::ZERO + warmup;
        traffic.at(warm_at, Due::Warm);
        traffic.at(Instant::ZERO + LOOK_EVERY, Due::Look);
        for (index, spec) in specs.into_iter().enumerate() {
            let name = spec.name.clone();
            traffic.listen(index, &spec, hosts).map_err(|error| (name, error))?;
            for &(from, until) in &spec.active {
                traffic.at(from, Due::Start(index));
                traffic.at(until, Due::Stop(index));
            }
            traffic.flows.push(Flow::new(spec, warm_at));
        }
        Ok(traffic)
    }

    /// Sends and receives until it is stopped; returns the tally of each flow.
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
                    match event.data.u64() {
                        BELL => self.fill(),
                        place => self.on_ready(now, place as usize),
                    }
                }
            }
        }
        self.look();
        let now = self.clock.now();
        self.flows.into_iter().map(|flow| flow.tally(now)).collect()
    }

    fn at(&mut self, at: Instant, due: Due) {
        if !at.is_never() {
            self.due.push(Reverse((at, due)));
        }
    }

    /// Keeps a socket; its number identifies it in the kernel's events.
    fn keep(&mut self, socket: Socket, flags: epoll::EventFlags) -> io::Result<usize> {
        let place = self.sockets.iter().position(Option::is_none).unwrap_or(self.sockets.len());
        epoll::add(&self.events, &socket, epoll::EventData::new_u64(place as u64), flags)?;
        if place == self.sockets.len() {
            self.sockets.push(None);
        }
        self.sockets[place] = Some(socket);
        Ok(place)
    }

    fn listen(&mut self, index: usize, spec: &RealSpec, hosts: &[NetworkNamespace]) -> io::Result<()> {
        if spec.destination == BROADCAST {
            return Ok(()); // no listener is needed: the air determines the receivers
        }
        let place = SocketAddrV4::new(self.addresses.ipv4(spec.destination), spec.port);
        let socket = hosts[spec.destination as usize].within(|| match spec.traffic.tcp() {
            Some(tcp) => sockets::listener(place, tcp, spec.code_point)
                .map(|socket| Socket::Listener { flow: index, socket }),
            None => sockets::receiver(place, spec.code_point)
                .map(|socket| Socket::Receiver { flow: index, socket }),
        })??;
        self.keep(socket, epoll::EventFlags::IN)?;
        if probes::wanted(&spec.traffic).is_some() {
            let place = SocketAddrV4::new(*place.ip(), probes::port(spec.port));
            let echo =
                hosts[spec.destination as usize].within(|| sockets::receiver(place, spec.code_point))??;
            self.keep(Socket::Echo { flow: index, socket: echo }, epoll::EventFlags::IN)?;
            let from = self.addresses.ipv4(spec.source);
            let probe =
                hosts[spec.source as usize].within(|| sockets::datagrams(from, place, spec.code_point))??;
            self.keep(Socket::Probe { flow: index, socket: probe }, epoll::EventFlags::IN)?;
        }
        Ok(())
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
            Due::Stop(index) => self.stop(index),
            Due::Produce(index) if self.flows[index].due == at => self.produce(at, index),
            Due::Law(index, run) if self.flows[index].run == run => self.ask_law(at, index, hosts),
            Due::Toggle(index, run) if self.flows[index].run == run => self.toggle(at, index),
            Due::Request(index, run) if self.flows[index].run == run => self.request(at, index, hosts),
            Due::Probe(index, run) if self.flows[index].run == run => self.probe(at, index),
            Due::Produce(_) | Due::Law(..) | Due::Toggle(..) | Due::Request(..) | Due::Probe(..) => (),
        }
    }

    fn start(&mut self, at: Instant, index: usize, hosts: &[NetworkNamespace]) {
        let there = [self.infos(index, true), self.infos(index, false)].concat();
        let flow = &mut self.flows[index];
        if flow.is_finished() {
            return; // an earlier stretch of activity completed the transfer
        }
        flow.run += 1;
        let (run, connections) = (flow.run, flow.begin(at, &there));
        if let Kind::Web(_) = flow.spec.traffic {
            return self.at(at, Due::Request(index, run));
        }
        self.open(index, connections, hosts);
        match &self.flows[index].spec.traffic {
            Kind::Datagrams { pattern: Pattern::Saturated, .. } => return self.fill(),
            Kind::Datagrams { pattern: Pattern::OnOff { on, .. }, .. } => self.toggle_after(at, index, *on),
            _ => (),
        }
        match &self.flows[index].spec.traffic {
            Kind::Datagrams { pattern, .. } if !pattern.begins_at_once() => self.schedule(at, index),
            _ => self.produce(at, index),
        }
        self.look_again(at, index);
        let data = self.segments(index);
        if let Some(probes) = &mut self.flows[index].probes {
            probes.begin(at, data);
            self.at(at, Due::Probe(index, run));
        }
    }

    /// Returns the segments that a flow has sent so far.
    fn segments(&self, index: usize) -> u64 {
        let all = [self.infos(index, true), self.infos(index, false)].concat();
        self.flows[index].segments(&all)
    }

    /// Sends a due probe of a flow's path, or ends a round of them.
    fn probe(&mut self, at: Instant, index: usize) {
        let (data, run) = (self.segments(index), self.flows[index].run);
        let is_own = |socket: &&Socket| matches!(socket, Socket::Probe { flow, .. } if *flow == index);
        let Some(Socket::Probe { socket, .. }) = self.sockets.iter().flatten().find(is_own) else { return };
        let Some(probes) = &mut self.flows[index].probes else { return };
        let again = probes.send(at, data, socket, self.clock.now());
        self.at(again, Due::Probe(index, run));
    }

    /// Ends a flow's activity: there is no new data; data in its connections is still sent.
    fn stop(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.run += 1;
        flow.due = Instant::NEVER;
        flow.web.persistent = None;
        for place in &mut self.sockets {
            match place {
                Some(socket @ Socket::Sender { .. }) if socket.flow() == index => socket.drain(),
                Some(Socket::Web { flow, end }) if *flow == index && !end.is_server => end.finish(),
                Some(Socket::Datagrams { flow, .. }) if *flow == index => *place = None,
                _ => (),
            }
        }
    }

    /// Opens a number of connections, or the one source of datagrams, of a flow.
    fn open(&mut self, index: usize, count: u32, hosts: &[NetworkNamespace]) {
        for _ in 0..count {
            let socket = if self.flows[index].spec.traffic.tcp().is_some() {
                let stream = self.connect(index, hosts);
                stream.map(|stream| Socket::Sender { flow: index, stream, left: 0, phase: Phase::Open })
            } else {
                let socket = self.datagrams(index, hosts);
                socket.map(|socket| Socket::Datagrams { flow: index, socket })
            };
            if let Err(error) = socket.and_then(|socket| self.keep(socket, sockets::ANYTHING)) {
                self.flows[index].failed = Some(error);
            }
        }
    }

    /// Returns the source of a flow's datagrams.
    fn datagrams(&self, index: usize, hosts: &[NetworkNamespace]) -> io::Result<UdpSocket> {
        let spec = &self.flows[index].spec;
        let to = match spec.destination {
            BROADCAST => Ipv4Addr::BROADCAST,
            node => self.addresses.ipv4(node),
        };
        let (from, to) = (self.addresses.ipv4(spec.source), SocketAddrV4::new(to, spec.port));
        hosts[spec.source as usize]
            .within(|| sockets::datagrams(from, to, spec.code_point))
            .and_then(|socket| socket)
    }

    /// Begins a connection of a flow.
    fn connect(&self, index: usize, hosts: &[NetworkNamespace]) -> io::Result<TcpStream> {
        let spec = &self.flows[index].spec;
        let (from, to) = (self.addresses.ipv4(spec.source), self.addresses.ipv4(spec.destination));
        let to = SocketAddrV4::new(to, spec.port);
        let tcp = spec.traffic.tcp().expect("a flow over TCP");
        hosts[spec.source as usize]
            .within(|| sockets::connect(from, to, tcp, spec.code_point))
            .and_then(|stream| stream)
    }

    /// Runs the law of a flow's connections: some are opened, or the last ones are closed once their data is
    /// sent.
    fn ask_law(&mut self, at: Instant, index: usize, hosts: &[NetworkNamespace]) {
        let (open, draining) = (self.infos(index, true), self.infos(index, false));
        let wanted = self.flows[index].ask_law(at, &open, &draining);
        if let Some(wanted) = wanted.filter(|_| !self.flows[index].is_finished()) {
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

    /// Returns the counters of a flow's open connections, or of those that only send their remaining data.
    fn infos(&self, index: usize, open: bool) -> Vec<Info> {
        let own = self.sockets.iter().flatten().filter(|socket| socket.flow() == index);
        own.filter(|socket| socket.is_open() == open).filter_map(Socket::info).collect()
    }

    /// Produces a segment or a datagram of a flow's application, and schedules the next. Size and time are
    /// drawn in the order of a simulated source.
    fn produce(&mut self, at: Instant, index: usize) {
        let is_paced = match &self.flows[index].spec.traffic {
            Kind::Tcp(tcp) => matches!(tcp.source, Source::Paced(_)),
            Kind::Datagrams { pattern, .. } => *pattern != Pattern::Saturated,
            _ => false,
        };
        if is_paced {
            self.hand_down(index);
            self.schedule(at, index);
        }
    }

    /// Schedules the next segment or datagram of a flow's application.
    fn schedule(&mut self, at: Instant, index: usize) {
        let flow = &mut self.flows[index];
        let next_in = match &flow.spec.traffic {
            Kind::Tcp(tcp) => match tcp.source {
                Source::Paced(gap) => Some(gap),
                Source::Endless | Source::Segments(_) => None,
            },
            Kind::Datagrams { pattern, .. } => pattern.next_in(&mut flow.stream),
            _ => None,
        };
        let Some(next_in) = next_in else { return };
        flow.due = at + next_in;
        let due = flow.due;
        self.at(due, Due::Produce(index));
    }

    /// Passes a segment or a datagram of a flow's application to each of its sockets.
    fn hand_down(&mut self, index: usize) {
        for socket in self.sockets.iter_mut().flatten().filter(|socket| socket.flow() == index) {
            socket.produce(&mut self.flows[index]);
        }
    }

    fn toggle_after(&mut self, at: Instant, index: usize, mean: Duration) {
        let flow = &mut self.flows[index];
        let (next, run) = (at + flow.stream.exponential(mean), flow.run);
        self.at(next, Due::Toggle(index, run));
    }

    /// Changes the state of an on-off source.
    fn toggle(&mut self, at: Instant, index: usize) {
        let flow = &mut self.flows[index];
        let Kind::Datagrams { pattern: Pattern::OnOff { on, off, .. }, .. } = flow.spec.traffic else {
            return;
        };
        let was_on = !flow.due.is_never();
        flow.due = Instant::NEVER;
        self.toggle_after(at, index, if was_on { off } else { on });
        if !was_on {
            self.produce(at, index);
        }
    }

    /// Sends the datagrams that saturated sources lack at their nodes.
    fn fill(&mut self) {
        self.board.hear();
        for index in 0..self.flows.len() {
            let flow = &self.flows[index];
            if flow.spec.is_saturated() && flow.is_active() {
                for _ in 0..flow.saturated.missing(&self.board, flow.spec.number) {
                    self.flows[index].saturated.count();
                    self.hand_down(index);
                }
            }
        }
    }

    /// Makes a web client's request, over the persistent connection or a separate one.
    fn request(&mut self, at: Instant, index: usize, hosts: &[NetworkNamespace]) {
        let flow = &mut self.flows[index];
        let Kind::Web(spec) = flow.spec.traffic.clone() else { return };
        let (request, next_in) = Web::next(flow, &spec, at);
        let (run, persistent) = (flow.run, flow.web.persistent);
        self.at(at + next_in, Due::Request(index, run));
        let place = persistent.map_or_else(|| self.open_client(index, hosts), Ok);
        match place {
            Ok(place) => {
                if let Some(Socket::Web { end, .. }) = &mut self.sockets[place] {
                    end.ask(request, &mut self.flows[index], spec.connection);
                }
                self.flows[index].web.persistent =
                    (spec.connection == WebConnection::Persistent).then_some(place);
            }
            Err(error) => self.flows[index].failed = Some(error),
        }
    }

    /// Opens a web client's end of a connection; returns its place.
    fn open_client(&mut self, index: usize, hosts: &[NetworkNamespace]) -> io::Result<usize> {
        let stream = self.connect(index, hosts)?;
        let port = stream.local_addr()?.port();
        let end = End::new(stream, port, false);
        self.keep(Socket::Web { flow: index, end }, sockets::ANYTHING)
    }

    /// Serves a socket that can be read or written.
    fn on_ready(&mut self, now: Instant, place: usize) {
        let Some(socket) = &mut self.sockets[place] else { return };
        let index = socket.flow();
        let flow = &mut self.flows[index];
        if let Socket::Listener { socket, .. } = socket {
            let is_web = matches!(flow.spec.traffic, Kind::Web(_));
            let Some(spec) = flow.spec.traffic.tcp() else { return };
            for (stream, port) in sockets::accept(socket, spec) {
                let _ = if is_web {
                    let end = End::new(stream, port, true);
                    self.keep(Socket::Web { flow: index, end }, sockets::ANYTHING)
                } else {
                    self.keep(Socket::Sink { flow: index, stream }, epoll::EventFlags::IN)
                };
            }
        } else if socket.serve(now, flow) {
            let over = self.sockets[place].take(); // dropped here, which removes it from the events
            over.iter().for_each(Socket::part_well);
            if let Some(Socket::Web { end, .. }) = over {
                self.forget_web(index, place, &end);
            }
        }
    }

    /// Removes the server's end of a connection after the client's is over.
    fn forget_web(&mut self, index: usize, place: usize, end: &End) {
        if end.is_server {
            return;
        }
        let web = &mut self.flows[index].web;
        web.persistent = web.persistent.filter(|&persistent| persistent != place);
        let is_other = |socket: &&mut Option<Socket>| {
            socket.as_ref().is_some_and(|socket| socket.is_server_of(index, end.port))
        };
        if let Some(socket) = self.sockets.iter_mut().find(is_other).and_then(Option::take) {
            socket.part_well();
            self.flows[index].take_leave(&socket);
        }
    }

    /// Observes all senders.
    fn look(&mut self) {
        for index in 0..self.flows.len() {
            let (open, drained) = (self.infos(index, true), self.infos(index, false));
            self.flows[index].look(&open, &drained);
            if self.flows[index].spec.is_saturated() {
                let number = self.flows[index].spec.number;
                self.flows[index].saturated.settle(&self.board, number);
            }
        }
        self.board.write(self.flows.iter().map(|flow| (flow.spec.number, flow.ends)));
    }
}
