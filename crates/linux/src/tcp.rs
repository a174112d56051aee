//! The options and counters of a TCP socket.

use evenair_units::{Bytes, Duration};
use rustix::net::sockopt;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The fields of `TCP_INFO` that every kernel since 5.5 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Smoothed round trip (RFC 6298), if any has been measured.
    pub smoothed_round_trip: Option<Duration>,
    /// The least round trip of the last minutes (`tcp_min_rtt_wlen`), if any has been measured.
    pub least_round_trip: Option<Duration>,
    /// Segments sent again, since the connection began.
    pub retransmitted: u64,
    /// Congestion window \[segments\].
    pub congestion_window: u32,
    /// Data of a full segment.
    pub segment: Bytes,
    /// Bytes that the other side has acknowledged.
    pub acknowledged_bytes: u64,
    /// Segments with data sent, retransmissions included.
    pub sent_segments: u64,
    /// Segments that the other side has not acknowledged.
    pub unacknowledged: u64,
    /// The last measured rate at which data reached the other side \[bytes/s\], if any.
    pub delivery_rate: Option<u64>,
    /// Retransmission time-outs; none before Linux 6.7, which does not count them.
    pub timeouts: Option<u64>,
}

/// The kernel's `struct tcp_info`, which grows from release to release, and room for fields that `libc`
/// lacks.
#[repr(C)]
union Raw {
    known: libc::tcp_info,
    halves: [u16; 256],
}

/// The offset of `tcpi_total_rto` in half words: it follows five words after `tcpi_dsack_dups`.
const TOTAL_RTO: usize = (std::mem::offset_of!(libc::tcp_info, tcpi_dsack_dups) + 24) / size_of::<u16>();

/// Reads a socket's counters.
///
/// # Errors
/// If it is no TCP socket.
pub fn info(socket: impl AsFd) -> io::Result<Info> {
    let mut raw = Raw { halves: [0; 256] };
    let mut length = size_of::<Raw>() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, and any bytes are a `tcp_info`, and half words.
    let (raw, halves) = unsafe {
        if libc::getsockopt(socket, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut raw).cast(), &raw mut length)
            != 0
        {
            return Err(io::Error::last_os_error());
        }
        (raw.known, raw.halves)
    };
    // Before the first sample the kernel returns 0 for the one, and the greatest number for the other.
    let micros = |time: u32| (time != 0 && time != u32::MAX).then(|| Duration::from_micros(time.into()));
    Ok(Info {
        smoothed_round_trip: micros(raw.tcpi_rtt),
        least_round_trip: micros(raw.tcpi_min_rtt),
        retransmitted: raw.tcpi_total_retrans.into(),
        congestion_window: raw.tcpi_snd_cwnd,
        segment: Bytes::new(raw.tcpi_snd_mss),
        acknowledged_bytes: raw.tcpi_bytes_acked,
        sent_segments: raw.tcpi_data_segs_out.into(),
        unacknowledged: raw.tcpi_unacked.into(),
        delivery_rate: (raw.tcpi_delivery_rate > 0).then_some(raw.tcpi_delivery_rate),
        timeouts: timeouts(&halves, length as usize),
    })
}

/// Returns `tcpi_total_rto`, if the written bytes include it.
fn timeouts(halves: &[u16; 256], length: usize) -> Option<u64> {
    (length > TOTAL_RTO * size_of::<u16>()).then(|| halves[TOTAL_RTO].into())
}

/// Sets a socket's congestion control, and reads it back.
///
/// # Errors
/// If the kernel has none of this name, or reserves it for processes with `CAP_NET_ADMIN`.
pub fn set_congestion_control(socket: impl AsFd, name: &str) -> io::Result<()> {
    sockopt::set_tcp_congestion(&socket, name).map_err(|error| not_had(name, &error.into()))?;
    let set = sockopt::tcp_congestion(&socket)?;
    if set == name { Ok(()) } else { Err(io::Error::other(format!("the socket has {set} for {name}"))) }
}

/// Returns the reason why a congestion control is not available, with the remedy.
fn not_had(name: &str, error: &io::Error) -> io::Error {
    let why = match error.kind() {
        io::ErrorKind::NotFound => {
            let there = available().map_or_else(|_| "others".into(), |all| all.join(", "));
            format!("this kernel has no \"{name}\"; it has {there}")
        }
        io::ErrorKind::PermissionDenied => format!(
            "\"{name}\" is for processes with CAP_NET_ADMIN, until net.ipv4.tcp_allowed_congestion_control names it"
        ),
        _ => format!("{name}: {error}"),
    };
    io::Error::new(error.kind(), why)
}

/// Returns a socket's congestion control: the system's default, if none was set.
///
/// # Errors
/// If it is no TCP socket.
pub fn congestion_control(socket: impl AsFd) -> io::Result<String> {
    Ok(sockopt::tcp_congestion(&socket)?)
}

/// Returns the congestion controls that this kernel has loaded.
///
/// # Errors
/// If `/proc` is not mounted.
pub fn available() -> io::Result<Vec<String>> {
    let all = crate::sysctl::get("ipv4/tcp_available_congestion_control")?;
    Ok(all.split_whitespace().map(String::from).collect())
}

/// Bounds the window that a socket offers the other side \[bytes\]. The kernel raises it to at least half of
/// its smallest buffer.
///
/// # Errors
/// If it is no TCP socket.
pub fn set_window_clamp(socket: impl AsFd, bytes: u32) -> io::Result<()> {
    set(socket, libc::TCP_WINDOW_CLAMP, bytes)
}

/// Bounds the segments of a future connection, data and TCP's options.
///
/// # Errors
/// If the kernel has other bounds (88 to 32 767 bytes).
pub fn set_segment(socket: impl AsFd, bytes: Bytes) -> io::Result<()> {
    set(socket, libc::TCP_MAXSEG, bytes.count())
}

/// Bounds the attempts to open a future connection; the kernel's most is 127.
///
/// # Errors
/// If it is no TCP socket.
pub fn set_opening_attempts(socket: impl AsFd, attempts: u8) -> io::Result<()> {
    set(socket, libc::TCP_SYNCNT, attempts.clamp(1, 127).into())
}

/// Bounds the unsent bytes that a connection accepts from its program.
///
/// # Errors
/// If it is no TCP socket.
pub fn set_unsent(socket: impl AsFd, most: Bytes) -> io::Result<()> {
    set(socket, libc::TCP_NOTSENT_LOWAT, most.count())
}

/// Makes a socket acknowledge read data now, and later data at once, until the kernel treats it as
/// interactive again.
///
/// # Errors
/// If it is no TCP socket.
pub fn acknowledge_at_once(socket: impl AsFd) -> io::Result<()> {
    set(socket, libc::TCP_QUICKACK, 1)
}

/// Returns the bytes that a socket holds: unsent, or unacknowledged.
///
/// # Errors
/// If it is no TCP socket, or listens.
pub fn waiting(socket: impl AsFd) -> io::Result<u32> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if done == 0 { Ok(bytes.unsigned_abs()) } else { Err(io::Error::last_os_error()) }
}

/// Sets an option of TCP that is a number.
fn set(socket: impl AsFd, option: libc::c_int, value: u32) -> io::Result<()> {
    crate::socket_option::set(socket, libc::IPPROTO_TCP, option, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, socket};
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::time::{Duration as Time, Instant};

    /// Linux' `struct tcp_info`: 8 bytes, 24 words to `tcpi_total_retrans`, four of 8 bytes to
    /// `tcpi_bytes_received`, six words to `tcpi_data_segs_out`. Then four of 8 bytes to
    /// `tcpi_sndbuf_limited`, two words, two of 8 bytes, and six words from `tcpi_dsack_dups` to
    /// `tcpi_rehash`.
    #[test]
    fn count_of_time_outs_is_where_linux_puts_it() {
        let bytes = 8 + 24 * 4 + 4 * 8 + 6 * 4 + 4 * 8 + 2 * 4 + 2 * 8 + 6 * 4;
        assert_eq!((TOTAL_RTO * 2, bytes), (240, 240));
    }

    /// Returns both ends of a connection within this machine.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let here = TcpStream::connect(listener.local_addr().expect("an address")).expect("a connection");
        (here, listener.accept().expect("its other end").0)
    }

    fn unconnected() -> OwnedFd {
        socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket")
    }

    /// Reads an option of TCP that is a number.
    fn option(socket: impl AsFd, option: libc::c_int) -> u32 {
        let [value] = crate::socket_option::value(socket, libc::IPPROTO_TCP, option).expect("an option");
        value
    }

    /// Waits until a condition holds, for five seconds.
    fn eventually(mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Time::from_secs(5), "it never is");
            std::thread::sleep(Time::from_millis(1));
        }
    }

    #[test]
    fn new_socket_has_measured_nothing() {
        let info = info(unconnected()).expect("TCP");
        assert_eq!((info.smoothed_round_trip, info.least_round_trip), (None, None));
        assert_eq!((info.delivery_rate, info.acknowledged_bytes, info.sent_segments), (None, 0, 0));
        assert_eq!(info.congestion_window, 10, "RFC 6928's first window");
        let (one, _other) = std::os::unix::net::UnixStream::pair().expect("a pair");
        assert!(super::info(&one).is_err(), "it is no TCP socket");
    }

    #[test]
    fn bytes_that_came_are_acknowledged() {
        let (mut here, mut there) = pair();
        let before = info(&here).expect("TCP");
        assert!(before.least_round_trip.is_some() && before.smoothed_round_trip >= before.least_round_trip);
        for _ in 0..3 {
            here.write_all(&[7; 1000]).expect("room");
            there.read_exact(&mut [0; 1000]).expect("bytes");
            eventually(|| waiting(&here).expect("TCP") == 0);
        }
        let after = info(&here).expect("TCP");
        assert_eq!(after.acknowledged_bytes - before.acknowledged_bytes, 3000);
        assert_eq!((after.sent_segments, after.retransmitted), (3, 0));
        eventually(|| {
            here.write_all(&[7]).expect("room");
            there.read_exact(&mut [0]).expect("a byte");
            info(&here).expect("TCP").delivery_rate.is_some_and(|rate| rate > 0)
        });
    }

    #[test]
    fn unread_bytes_wait() {
        let (mut here, _there) = pair();
        let acknowledged = || info(&here).expect("TCP").acknowledged_bytes;
        let before = acknowledged();
        here.set_nonblocking(true).expect("an option");
        let mut written = 0;
        // Unacknowledged data waits, once neither side accepts more.
        let mut quiet = 0;
        while quiet < 20 {
            match (&here).write(&[7; 8_192]) {
                Ok(count) => (written, quiet) = (written + count as u64, 0),
                Err(error) if error.kind() == ErrorKind::WouldBlock => quiet += 1,
                Err(error) => panic!("{error}"),
            }
            std::thread::sleep(Time::from_millis(1));
        }
        eventually(|| u64::from(waiting(&here).expect("TCP")) + acknowledged() - before == written);
        assert!(waiting(&here).expect("TCP") > 1);
        here.flush().expect("nothing to do");
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        assert_eq!(waiting(&listener).unwrap_err().kind(), ErrorKind::InvalidInput, "it listens");
    }

    /// `struct tcp_info` of linux/tcp.h: 240 bytes until 6.6; then `tcpi_total_rto` of 16 bits, 248 bytes in
    /// all.
    #[test]
    fn timeouts_are_counted_since_linux_6_7() {
        let mut halves = [1; 256];
        halves[120] = 7;
        assert_eq!([240, 248].map(|length| timeouts(&halves, length)), [None, Some(7)]);
    }

    #[test]
    fn congestion_control_is_the_one_that_was_chosen() {
        let socket = unconnected();
        for name in ["reno", "cubic", "reno"] {
            if available().expect("a list").iter().any(|one| one == name) {
                set_congestion_control(&socket, name).expect("it is allowed");
                assert_eq!(congestion_control(&socket).expect("TCP"), name);
            }
        }
        let all = available().expect("a list");
        assert!(all.contains(&"reno".to_owned()), "it is built into every kernel: {all:?}");
        let error = set_congestion_control(&socket, "no-such-law").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let expected = format!("this kernel has no \"no-such-law\"; it has {}", all.join(", "));
        assert_eq!(error.to_string(), expected);
        let denied = not_had("bbr", &ErrorKind::PermissionDenied.into()).to_string();
        assert!(denied.contains("net.ipv4.tcp_allowed_congestion_control"), "{denied}");
        let other = not_had("bbr", &ErrorKind::OutOfMemory.into()).to_string();
        assert!(other.starts_with("bbr: "), "{other}");
    }

    #[test]
    fn options_are_read_back() {
        let socket = unconnected();
        set_window_clamp(&socket, 100_000).expect("TCP");
        set_segment(&socket, Bytes::new(1_000)).expect("TCP");
        set_unsent(&socket, Bytes::new(16_384)).expect("TCP");
        let read = [libc::TCP_WINDOW_CLAMP, libc::TCP_MAXSEG, libc::TCP_NOTSENT_LOWAT];
        assert_eq!(read.map(|one| option(&socket, one)), [100_000, 1_000, 16_384]);
        for (attempts, read) in [(3, 3), (0, 1), (255, 127)] {
            set_opening_attempts(&socket, attempts).expect("TCP");
            assert_eq!(option(&socket, libc::TCP_SYNCNT), read);
        }
        let (here, _there) = pair();
        set(&here, libc::TCP_QUICKACK, 0).expect("TCP");
        assert_eq!(option(&here, libc::TCP_QUICKACK), 0);
        acknowledge_at_once(&here).expect("TCP");
        assert_eq!(option(&here, libc::TCP_QUICKACK), 1);
    }
}
