//! Opens connections before the network begins, which leave the kernels a first slow-start threshold.
//!
//! Linux stores metrics of a pair of addresses at the end of a connection between them, for later
//! connections. It then copies the threshold from the route. So one connection opens and closes between each
//! pair, with its packets passed at once.

use crate::address::Addresses;
use crate::drive::{Ports, Ready};
use evenair_linux::{NetworkNamespace, sysctl};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};
use std::io::{self, Read};
use std::net::{SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The setting that lets a kernel store metrics of connections.
const FORGETS: &str = "ipv4/tcp_no_metrics_save";
/// The time limit; the kernels pass packets within microseconds.
const REHEARSAL_TIME_MAX: Duration = Duration::from_secs(2);

/// Lets one connection open and close between each two of these nodes.
///
/// # Errors
/// If sockets cannot be created, or a connection does not open.
pub(crate) fn rehearse(
    ports: &mut impl Ports,
    addresses: Addresses,
    namespaces: &[NetworkNamespace],
    pairs: impl IntoIterator<Item = (u32, u32)>,
) -> io::Result<()> {
    for (from, to) in pairs {
        let both = [&namespaces[from as usize], &namespaces[to as usize]];
        both.iter().try_for_each(|host| host.within(|| sysctl::set(FORGETS, "0"))?)?;
        let listener = both[1].within(|| TcpListener::bind((addresses.ipv4(to), 0)))??;
        listener.set_nonblocking(true)?;
        let place = SocketAddrV4::new(addresses.ipv4(to), listener.local_addr()?.port());
        let client = both[0].within(|| opening(place))??;
        let mut server = until(ports, (from, to), || listener.accept().ok())?.0;
        server.set_nonblocking(true)?;
        until(ports, (from, to), || client.peer_addr().ok())?;
        drop(client);
        until(ports, (from, to), || matches!(server.read(&mut [0]), Ok(0)).then_some(()))?;
        drop(server);
        // The last acknowledgements: an end that waits for one stores its metrics on arrival.
        let last = Instant::now();
        until(ports, (from, to), || (last.elapsed() > Duration::from_millis(1)).then_some(()))?;
        both.iter().try_for_each(|host| host.within(|| sysctl::set(FORGETS, "1"))?)?;
    }
    Ok(())
}

/// Returns a connection that is opening.
fn opening(place: SocketAddrV4) -> io::Result<TcpStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    match connect(&socket, &place) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

/// Passes packets between two nodes until a value is available.
fn until<T>(
    ports: &mut impl Ports,
    (from, to): (u32, u32),
    mut is_there: impl FnMut() -> Option<T>,
) -> io::Result<T> {
    let began = Instant::now();
    let (mut packet, mut ready) = (Vec::new(), Ready::new());
    while began.elapsed() < REHEARSAL_TIME_MAX {
        for (port, other) in [(from, to), (to, from)] {
            packet.clear();
            while ports.read(port, &mut packet) {
                ports.write(other, &packet);
                packet.clear();
            }
        }
        if let Some(thing) = is_there() {
            return Ok(thing);
        }
        ready.clear();
        ports.wait(ports.now() + evenair_units::Duration::from_micros(300), &mut ready);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "no connection before the network begins"))
}
