//! Sockets of real flows; none of them ever blocks.

use super::flow::Flow;
use super::web::End;
use evenair_kernel::law::Law;
use evenair_laws::window::WindowParams;
use evenair_linux::tcp;
use evenair_netsim::{Source, TcpSpec, Traffic};
use evenair_tcp::AckPolicy;
use evenair_units::{Bytes, Instant};
use rustix::event::epoll::EventFlags;
use rustix::net::{
    SendFlags, SocketFlags, SocketType, bind, connect as connect_socket, ipproto, send, socket_with, sockopt,
};
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// IP's and UDP's headers \[bytes\].
const DATAGRAM_HEADERS: u32 = 28;
/// Segments that a connection has ready beyond its window; its program is woken when half of them are left.
/// With none ready, the kernel would take every sample of its rate for the application's (`is_app_limited`),
/// and BBR would never end its startup.
const UNSENT_SEGMENTS: u32 = 16;
/// The same for connections that a law opens and closes: ready data is sent before one ends.
const UNSENT_OF_MANY: u32 = 2;
/// Bytes read from a socket at once.
const PORTION: usize = 16 * 1024;
/// The data that all flows send.
static DATA: [u8; 64 * 1024] = [0; 64 * 1024];

/// A socket and its flow.
#[derive(Debug)]
pub(super) enum Socket {
    /// Listens for a flow's connections.
    Listener {
        flow: usize,
        socket: TcpListener,
    },
    /// The receiving end of a connection.
    Sink {
        flow: usize,
        stream: TcpStream,
    },
    /// The sending end of a connection: the bytes that a paced application has for it, and its phase.
    Sender {
        flow: usize,
        stream: TcpStream,
        left: u64,
        phase: Phase,
    },
    /// An end of a web connection.
    Web {
        flow: usize,
        end: End,
    },
    /// An end of the probes of a flow's path: the sender, or the one that returns them.
    Probe {
        flow: usize,
        socket: UdpSocket,
    },
    Echo {
        flow: usize,
        socket: UdpSocket,
    },
    /// The receiving end of a flow of datagrams.
    Receiver {
        flow: usize,
        socket: UdpSocket,
    },
    /// The sending end of a flow of datagrams.
    Datagrams {
        flow: usize,
        socket: UdpSocket,
    },
}

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It accepts its application's data.
    Open,
    /// It is closed, and sends its remaining data.
    Drained,
}

/// All events of a socket: each change once.
pub(super) const ANYTHING: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::ET);

impl Socket {
    /// Returns whether it is a connection that accepts its application's data.
    pub(super) const fn is_open(&self) -> bool {
        match self {
            Self::Sender { phase, .. } => matches!(phase, Phase::Open),
            Self::Web { end, .. } => end.is_open(),
            _ => false,
        }
    }

    /// Closes a connection, which sends its remaining data.
    pub(super) fn drain(&mut self) {
        if let Self::Sender { stream, left, phase, .. } = self {
            let _ = stream.shutdown(Shutdown::Write);
            (*left, *phase) = (0, Phase::Drained);
        }
    }

    pub(super) const fn flow(&self) -> usize {
        match self {
            Self::Listener { flow, .. }
            | Self::Sink { flow, .. }
            | Self::Sender { flow, .. }
            | Self::Web { flow, .. }
            | Self::Probe { flow, .. }
            | Self::Echo { flow, .. }
            | Self::Receiver { flow, .. }
            | Self::Datagrams { flow, .. } => *flow,
        }
    }

    /// Returns whether it is the server's end of the web connection from this client port.
    pub(super) fn is_server_of(&self, of: usize, port: u16) -> bool {
        matches!(self, Self::Web { flow, end } if (*flow, end.port, end.is_server) == (of, port, true))
    }

    /// Returns the kernel's counters of a sending connection.
    pub(super) fn info(&self) -> Option<tcp::Info> {
        match self {
            Self::Sender { stream, .. } => tcp::info(stream).ok(),
            Self::Web { end, .. } => tcp::info(end.stream()).ok(),
            _ => None,
        }
    }

    /// Adds a segment or datagram of the application.
    pub(super) fn produce(&mut self, flow: &mut Flow) {
        match (self, &flow.spec.traffic) {
            (Self::Sender { stream, left, phase: Phase::Open, .. }, Traffic::Tcp(spec)) => {
                *left += u64::from(spec.payload.count());
                push(stream, left, spec.payload.count() as usize);
            }
            (Self::Datagrams { socket, .. }, traffic) => {
                let data = traffic.next_size(&mut flow.stream).count().saturating_sub(DATAGRAM_HEADERS);
                // A full buffer drops it, as the device's would.
                flow.datagrams += u64::from(socket.send(&DATA[..data as usize]).is_ok());
            }
            _ => (),
        }
    }

    /// Makes its close graceful: data under way arrives.
    pub(super) fn part_well(&self) {
        let _ = sockopt::set_socket_linger(self, None);
    }

    /// Serves a readable or writable socket; returns whether it is over.
    pub(super) fn serve(&mut self, now: Instant, flow: &mut Flow) -> bool {
        match self {
            Self::Sink { stream, .. } => {
                let (received, ended) = take(stream);
                flow.deliver(now, received);
                if let Traffic::Tcp(tcp) = &flow.spec.traffic {
                    remind(stream, tcp);
                }
                ended
            }
            Self::Sender { stream, left, phase, .. } => {
                let is_paced = matches!(flow.spec.traffic.source(), Some(Source::Paced(_)));
                let left = if is_paced { left } else { &mut flow.remaining };
                let alive = match phase {
                    Phase::Open => push(stream, left, flow.spec.traffic.payload().count() as usize),
                    Phase::Drained => !take(stream).1,
                };
                if alive && *phase == Phase::Open && flow.is_finished() {
                    self.drain();
                }
                if !alive {
                    flow.take_leave(self);
                }
                !alive
            }
            Self::Web { end, .. } => {
                let over = end.serve(now, flow);
                if let Traffic::Web(web) = &flow.spec.traffic {
                    remind(end.stream(), &web.tcp);
                }
                if over {
                    flow.take_leave(self);
                }
                over
            }
            Self::Receiver { socket, .. } => {
                let mut buffer = [0; PORTION];
                while let Ok(length) = socket.recv(&mut buffer) {
                    flow.delivered += length as u64;
                }
                false
            }
            Self::Probe { socket, .. } => {
                let is_measured = now >= flow.warm_at;
                flow.probes.iter_mut().for_each(|probes| probes.read(now, socket, is_measured));
                false
            }
            Self::Echo { socket, .. } => {
                flow.probes.iter_mut().for_each(|probes| probes.answer(socket));
                false
            }
            Self::Listener { .. } | Self::Datagrams { .. } => false,
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Listener { socket, .. } => socket.as_fd(),
            Self::Sink { stream, .. } | Self::Sender { stream, .. } => stream.as_fd(),
            Self::Web { end, .. } => end.stream().as_fd(),
            Self::Receiver { socket, .. }
            | Self::Datagrams { socket, .. }
            | Self::Probe { socket, .. }
            | Self::Echo { socket, .. } => socket.as_fd(),
        }
    }
}

/// Passes a connection the data that it accepts, in writes of `write` bytes; returns whether it is alive.
///
/// All writes but the last are flagged to be followed by more, like those of a write without end. Linux sets
/// the push flag at the end of a write, and also of one for which there is only half the room. It
/// acknowledges a pushed segment as soon as it is read, without waiting for a second one. A program that
/// writes segment by segment has one acknowledgement for two.
pub(super) fn push(stream: &TcpStream, left: &mut u64, write: usize) -> bool {
    while *left > 0 {
        let portion = (*left).min(write.min(DATA.len()) as u64);
        let more = if portion < *left { SendFlags::MORE } else { SendFlags::empty() };
        match send(stream, &DATA[..portion as usize], more | SendFlags::NOSIGNAL) {
            Ok(taken) if *left == u64::MAX => debug_assert!(taken > 0),
            Ok(taken) => *left -= taken as u64,
            Err(rustix::io::Errno::INTR) => (),
            Err(error) => {
                return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected);
            }
        }
    }
    true
}

/// Reads a connection's data; returns the number of bytes, and whether it has ended.
pub(super) fn take(mut stream: &TcpStream) -> (u64, bool) {
    let (mut buffer, mut received) = ([0; PORTION], 0);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (received, true),
            Ok(length) => received += length as u64,
            Err(error) => {
                return (received, !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::NotConnected));
            }
        }
    }
}

/// Sets two options again that the kernel resets: the acknowledgement of each segment, and the bound of the
/// window. It recomputes the latter when it has measured the room of segments.
fn remind(stream: &TcpStream, spec: &TcpSpec) {
    let _ = tcp::set_window_clamp(stream, window(spec));
    if spec.acknowledge == AckPolicy::EachSegment {
        let _ = sockopt::set_tcp_quickack(stream, true);
    }
}

/// Sets the DSCP of all packets of this socket, and of those that a listener accepts. The two bits below it
/// are ECN's.
fn mark(socket: impl AsFd, code_point: u8) -> io::Result<()> {
    Ok(sockopt::set_ip_tos(socket, code_point << 2)?)
}

/// Returns a TCP socket with the options of a flow.
fn stream_socket(spec: &TcpSpec, code_point: u8) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        socket_with(rustix::net::AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    mark(&socket, code_point)?;
    tcp::set_congestion_control(&socket, congestion_control(&spec.window)?)?;
    tcp::set_segment(&socket, segment(spec))?;
    // A buffer of a fixed size is not tuned, and only then a bound of the window stays; it holds packets with
    // their frames.
    let room = (window(spec) as usize).saturating_mul(4).saturating_add(PORTION);
    // Connections still open at the end are closed at once: one that starves would hold its namespace until
    // its timer expires.
    sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO))?;
    // It tries to open for ever, as a simulated one does.
    tcp::set_opening_attempts(&socket, u8::MAX)?;
    let unsent = if spec.connections.is_some() { UNSENT_OF_MANY } else { UNSENT_SEGMENTS };
    tcp::set_unsent(&socket, Bytes::new(unsent * spec.payload.count()))?;
    // No data waits for more to be sent with it.
    sockopt::set_tcp_nodelay(&socket, true)?;
    sockopt::set_socket_recv_buffer_size(&socket, room)?;
    tcp::set_window_clamp(&socket, window(spec))?;
    Ok(socket)
}

/// Returns the largest segment to agree on: Linux includes a segment's options (RFC 9293 section 3.7.1 does
/// not).
fn segment(spec: &TcpSpec) -> Bytes {
    spec.payload + Bytes::new(if spec.sender.timestamps { 12 } else { 0 })
}

/// Returns Linux' name of a window law: of its own, and of those that `evenair cc load` adds. Vegas may be
/// either.
pub(crate) fn congestion_control(law: &WindowParams) -> io::Result<&'static str> {
    let own = Law::of(law).map(Law::control);
    match law {
        WindowParams::Reno(_) => Ok("reno"),
        WindowParams::Cubic(_) => Ok("cubic"),
        WindowParams::Bbr(_) => Ok("bbr"),
        WindowParams::Vegas(_) if !tcp::available()?.iter().any(|name| Some(name.as_str()) == own) => {
            Ok("vegas")
        }
        WindowParams::QuicTcp(_) | WindowParams::Fast(_) | WindowParams::Vegas(_) => {
            Ok(own.expect("evenair has it for the kernel"))
        }
        other => {
            let words = format!("{other:?}");
            let name = words.split('(').next().unwrap_or_default();
            let why = format!("Linux has no congestion control like the window law {name}");
            Err(io::Error::new(ErrorKind::Unsupported, why))
        }
    }
}

pub(super) fn listener(place: SocketAddrV4, spec: &TcpSpec, code_point: u8) -> io::Result<TcpListener> {
    let socket = stream_socket(spec, code_point)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &place)?;
    rustix::net::listen(&socket, 1024)?;
    Ok(TcpListener::from(socket))
}

/// Returns the receiver's window \[bytes\].
fn window(spec: &TcpSpec) -> u32 {
    spec.sender.receiver_window.saturating_mul(spec.payload.count())
}

/// Accepts all waiting connections; returns them with their source ports.
pub(super) fn accept(listener: &TcpListener, spec: &TcpSpec) -> Vec<(TcpStream, u16)> {
    let waiting = std::iter::from_fn(|| listener.accept().ok());
    // On opening, these too got their route's law.
    let has_its_law =
        |stream: &TcpStream| tcp::set_congestion_control(stream, congestion_control(&spec.window)?);
    let ours =
        waiting.filter(|(stream, _)| stream.set_nonblocking(true).and_then(|()| has_its_law(stream)).is_ok());
    ours.map(|(stream, from)| (stream, from.port())).collect()
}

pub(super) fn connect(
    from: Ipv4Addr,
    to: SocketAddrV4,
    spec: &TcpSpec,
    code_point: u8,
) -> io::Result<TcpStream> {
    let socket = stream_socket(spec, code_point)?;
    bind(&socket, &SocketAddrV4::new(from, 0))?;
    match connect_socket(&socket, &to) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {
            // On connecting, a socket gets its route's law, the first flow's, in place of its own.
            tcp::set_congestion_control(&socket, congestion_control(&spec.window)?)?;
            Ok(TcpStream::from(socket))
        }
        Err(error) => Err(error.into()),
    }
}

pub(super) fn receiver(place: SocketAddrV4, code_point: u8) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(place)?;
    mark(&socket, code_point)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

pub(super) fn datagrams(from: Ipv4Addr, to: SocketAddrV4, code_point: u8) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((from, 0))?;
    mark(&socket, code_point)?;
    socket.set_nonblocking(true)?;
    socket.set_broadcast(to.ip().is_broadcast())?;
    socket.connect(to)?;
    Ok(socket)
}
