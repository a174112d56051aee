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
/// Segments that a connection has ready beyond its window; half of them are left when its program is woken. Where that were none, the
/// kernel would take every sample of its rate for the application's (`is_app_limited`), and BBR never end its startup.
const UNSENT_SEGMENTS: u32 = 16;
/// The same of connections that a law opens and closes: what is ready is sent before one ends.
const UNSENT_OF_MANY: u32 = 2;
/// Bytes that are taken from a socket at once.
const PORTION: usize = 16 * 1024;
/// The data that all flows send.
static DATA: [u8; 64 * 1024] = [0; 64 * 1024];

/// A socket, and whose it is.
#[derive(Debug)]
pub(super) enum Socket {
    /// Waits for a flow's connections.
    Listener {
        flow: usize,
        socket: TcpListener,
    },
    /// The receiving end of one.
    Sink {
        flow: usize,
        stream: TcpStream,
    },
    /// The sending end of one: bytes that a paced application has for it, and how far it is.
    Sender {
        flow: usize,
        stream: TcpStream,
        left: u64,
        phase: Phase,
    },
    /// An end of a connection of the web.
    Web {
        flow: usize,
        end: End,
    },
    /// The ends of the probes of a flow's path: the one that sends them, and the one that sends them back.
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
    /// The sending end.
    Datagrams {
        flow: usize,
        socket: UdpSocket,
    },
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It takes what its application has.
    Open,
    /// It is closed, and sends what it has taken.
    Drained,
}

/// All that the kernel tells of a socket of ours: each change once.
pub(super) const ANYTHING: EventFlags = EventFlags::IN.union(EventFlags::OUT).union(EventFlags::ET);

impl Socket {
    /// Whether it is a connection that takes what its application has.
    pub(super) const fn is_open(&self) -> bool {
        match self {
            Self::Sender { phase, .. } => matches!(phase, Phase::Open),
            Self::Web { end, .. } => end.is_open(),
            _ => false,
        }
    }

    /// Closes a connection, which sends what it has taken.
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

    /// Whether it is the server's end of the web connection whose client has this port.
    pub(super) fn is_server_of(&self, of: usize, port: u16) -> bool {
        matches!(self, Self::Web { flow, end } if (*flow, end.port, end.is_server) == (of, port, true))
    }

    /// What its kernel says of a connection that sends.
    pub(super) fn info(&self) -> Option<tcp::Info> {
        match self {
            Self::Sender { stream, .. } => tcp::info(stream).ok(),
            Self::Web { end, .. } => tcp::info(end.stream()).ok(),
            _ => None,
        }
    }

    /// The application has one more segment or datagram.
    pub(super) fn produce(&mut self, flow: &mut Flow) {
        match (self, &flow.spec.traffic) {
            (Self::Sender { stream, left, phase: Phase::Open, .. }, Traffic::Tcp(spec)) => {
                *left += u64::from(spec.payload.count());
                push(stream, left, spec.payload.count() as usize);
            }
            (Self::Datagrams { socket, .. }, traffic) => {
                let data = traffic.next_size(&mut flow.stream).count().saturating_sub(DATAGRAM_HEADERS);
                // A full buffer loses it, as the device's would.
                flow.datagrams += u64::from(socket.send(&DATA[..data as usize]).is_ok());
            }
            _ => (),
        }
    }

    /// It is closed as TCP closes: what is under way arrives.
    pub(super) fn part_well(&self) {
        let _ = sockopt::set_socket_linger(self, None);
    }

    /// It can be read, or written; tells whether it is over.
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

/// Hands a connection what it takes, in writes of so many bytes; tells whether it is alive.
///
/// All but the last are said to be followed by more, as those of a write without end are. Linux marks the end of a write
/// as pushed, that of one for which there is half the room, too, and acknowledges a pushed segment as soon as it is read,
/// without waiting for a second one: a program that writes segment by segment has one acknowledgement for two.
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

/// Takes what a connection has; gives how many bytes, and whether it has ended.
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

/// What the kernel forgets on the way: to acknowledge each segment, and the bound of the window, which it sets anew when it has
/// measured how much room segments take.
fn remind(stream: &TcpStream, spec: &TcpSpec) {
    let _ = tcp::set_window_clamp(stream, window(spec));
    if spec.acknowledge == AckPolicy::EachSegment {
        let _ = sockopt::set_tcp_quickack(stream, true);
    }
}

/// All that this socket sends has this DSCP; those that a listener accepts, too. Two bits below it are left to ECN.
fn mark(socket: impl AsFd, code_point: u8) -> io::Result<()> {
    Ok(sockopt::set_ip_tos(socket, code_point << 2)?)
}

/// A TCP socket with the options of a flow.
fn stream_socket(spec: &TcpSpec, code_point: u8) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        socket_with(rustix::net::AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    mark(&socket, code_point)?;
    tcp::set_congestion_control(&socket, congestion_control(&spec.window)?)?;
    tcp::set_segment(&socket, segment(spec))?;
    // A buffer of a size that is given is not tuned, and only then a bound of the window stays; it holds packets with their frames.
    let room = (window(spec) as usize).saturating_mul(4).saturating_add(PORTION);
    // What is open when all ends is gone at once: a connection that starves would hold its namespace until its timer expires.
    sockopt::set_socket_linger(&socket, Some(std::time::Duration::ZERO))?;
    // It tries to open as long as a simulated one, for ever.
    tcp::set_opening_attempts(&socket, u8::MAX)?;
    let unsent = if spec.connections.is_some() { UNSENT_OF_MANY } else { UNSENT_SEGMENTS };
    tcp::set_unsent(&socket, Bytes::new(unsent * spec.payload.count()))?;
    // Nothing waits for more to send with it.
    sockopt::set_tcp_nodelay(&socket, true)?;
    sockopt::set_socket_recv_buffer_size(&socket, room)?;
    tcp::set_window_clamp(&socket, window(spec))?;
    Ok(socket)
}

/// The largest segment to agree on: Linux counts a segment's options in (RFC 9293 section 3.7.1 does not).
fn segment(spec: &TcpSpec) -> Bytes {
    spec.payload + Bytes::new(if spec.sender.timestamps { 12 } else { 0 })
}

/// Linux' name of a window law: of those that it has by itself, and of those that `evenair cc load` brings into it. Vegas may be either.
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

/// The receiver's window \[bytes\].
fn window(spec: &TcpSpec) -> u32 {
    spec.sender.receiver_window.saturating_mul(spec.payload.count())
}

/// All connections that wait, and the ports that they come from.
pub(super) fn accept(listener: &TcpListener, spec: &TcpSpec) -> Vec<(TcpStream, u16)> {
    let waiting = std::iter::from_fn(|| listener.accept().ok());
    // Opening, these too took their route's law.
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
            // Connecting, a socket takes its route's law, the first flow's, whatever it had.
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
