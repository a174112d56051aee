//! Notices on the terminal of faults beside single connections: each with its remedy, and at most one a
//! minute of each kind.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The least time between two notices of a kind.
pub const PAUSE: Duration = Duration::from_secs(60);

/// The reason why requests to a local port fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Words {
    /// They are HTTP.
    Http,
    /// They are SOCKS4.
    Socks4,
    /// They are TLS, meant for a server of HTTPS.
    Tls,
    /// They are another protocol.
    Other,
    /// The program offers only authentication.
    Login,
    /// It requests an operation other than a connection.
    Unsupported,
}

impl Words {
    /// Classifies the first bytes of a program, which are not SOCKS5.
    pub(crate) fn of(first: &[u8]) -> Self {
        match first {
            // RFC 9110 §9.1: a method is letters, and all that are registered are upper-case.
            [b'A'..=b'Z', ..] => Self::Http,
            [4, ..] => Self::Socks4,
            // RFC 8446 §5.1: a record of a handshake.
            [22, 3, ..] => Self::Tls,
            _ => Self::Other,
        }
    }
}

/// A fault at a local port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A program's request is not supported there.
    Words(SocketAddr, Words),
    /// There is no socket for a program that connects: the error's number.
    Descriptors(SocketAddr, i32),
}

impl Notice {
    /// Returns the notice of a failed accept, unless only that connection ended.
    pub(crate) fn of_accept(port: SocketAddr, error: &io::Error) -> Option<Self> {
        error.raw_os_error().filter(|error| is_scarce(*error)).map(|error| Self::Descriptors(port, error))
    }

    /// Returns its kind.
    pub fn kind(&self) -> Kind {
        match *self {
            Self::Words(port, words) => Kind(port.port(), Some(words)),
            Self::Descriptors(port, _) => Kind(port.port(), None),
        }
    }
}

/// Returns whether an error of `accept(2)` means that descriptors, here or on the whole machine, or memory
/// for sockets have run out.
pub(crate) fn is_scarce(error: i32) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM]
        .iter()
        .any(|scarce| scarce.raw_os_error() == error)
}

/// Returns the remedy if descriptors have run out.
pub(crate) fn scarce(error: i32) -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.map_or_else(|| "no limit of its own".into(), |limit| format!("at most {limit}"));
    format!(
        "{}: this process may have {limit}; let it have more (ulimit -n 65536, LimitNOFILE= of a service), new connections wait until then",
        io::Error::from_raw_os_error(error)
    )
}

/// A kind of notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(u16, Option<Words>);

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (port, words) = match self {
            Self::Words(port, words) => (port, words),
            Self::Descriptors(port, error) => return write!(f, "socks5://{port}: {}", scarce(*error)),
        };
        let what = match words {
            Words::Http => {
                "a program sends HTTP to this port, which is for SOCKS5: name it as a SOCKS5 proxy (socks5h://), not as one for HTTP"
            }
            Words::Socks4 => "a program sends SOCKS4 to this port, which is for SOCKS5: let it use version 5",
            Words::Tls => {
                "a program sends TLS to this port, which is for SOCKS5: name it as a SOCKS5 proxy (socks5h://), not as one for HTTPS"
            }
            Words::Other => {
                "a program sends something else than SOCKS5 to this port; for one server and any protocol: -L tcp://PORT:HOST:PORT"
            }
            Words::Login => {
                "a program wants to log in by SOCKS5, and this port has no login: take user and password out of its settings"
            }
            Words::Unsupported => {
                "a program asks for more than connections by SOCKS5 (UDP, or to be connected to), and only connections are carried: turn that off"
            }
        };
        write!(f, "socks5://{port}: {what}")
    }
}

/// Lets one notice of each kind pass per minute.
#[derive(Debug)]
pub(crate) struct Sparing<K>(BTreeMap<K, Instant>);

impl<K: Ord> Sparing<K> {
    /// Returns a filter that has passed no notice yet.
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Returns whether a notice of this kind may pass now.
    pub(crate) fn may(&mut self, now: Instant, kind: K) -> bool {
        self.0.retain(|_, said| now.duration_since(*said) < PAUSE);
        let is_new = !self.0.contains_key(&kind);
        if is_new {
            self.0.insert(kind, now);
        }
        is_new
    }
}

/// A repeated fault: its first value, until it has not happened for a minute.
#[derive(Debug)]
pub(crate) struct Lasting<T>(Option<(Instant, T)>);

impl<T> Default for Lasting<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Clone> Lasting<T> {
    /// Records that it happens.
    pub(crate) fn happens(&mut self, now: Instant, what: T) {
        let first =
            self.0.take().filter(|(last, _)| now.duration_since(*last) < PAUSE).map(|(_, first)| first);
        self.0 = Some((now, first.unwrap_or(what)));
    }

    /// Returns the value if it happened within the last minute.
    pub(crate) fn now(&self, now: Instant) -> Option<T> {
        self.0.as_ref().filter(|(last, _)| now.duration_since(*last) < PAUSE).map(|(_, what)| what.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_protocols_show_in_first_bytes() {
        for (first, words) in [
            (b"GET / HTTP/1.1\r\n".as_slice(), Words::Http),
            (b"CONNECT example.org:443 HTTP/1.1\r\n", Words::Http),
            (b"\x04\x01\x00\x50\x5d\xb8\xd8\x22\x00", Words::Socks4),
            (b"\x16\x03\x01\x02\x00\x01", Words::Tls),
            (b"SSH-2.0-OpenSSH_9.2\r\n", Words::Http),
            (b"\x05\x00", Words::Other),
            (b"\x00", Words::Other),
        ] {
            // A protocol with an upper-case first line is taken for HTTP; the remedy is the same.
            assert_eq!(Words::of(first), words, "{first:?}");
        }
        let port: SocketAddr = "127.0.0.1:1080".parse().unwrap();
        let said = Notice::Words(port, Words::Http).to_string();
        assert!(
            said.starts_with("socks5://127.0.0.1:1080: a program sends HTTP") && said.contains("socks5h://"),
            "{said}"
        );
    }

    #[test]
    fn only_scarce_sockets_are_told() {
        let port: SocketAddr = "127.0.0.1:1080".parse().unwrap();
        let of = |errno: rustix::io::Errno| {
            Notice::of_accept(port, &io::Error::from(errno)).map(|notice| notice.to_string())
        };
        let said = of(rustix::io::Errno::MFILE).expect("it is scarce");
        assert!(said.contains("ulimit -n") && said.contains("Too many open files"), "{said}");
        assert!(of(rustix::io::Errno::NFILE).is_some());
        // The peer has closed the connection.
        assert_eq!(of(rustix::io::Errno::CONNABORTED), None);
    }

    #[test]
    fn a_line_of_a_kind_a_minute() {
        let mut sparing = Sparing::new();
        let begun = Instant::now();
        let at = |s: u64| begun + Duration::from_secs(s);
        let said = (0..180).filter(|s| sparing.may(at(*s), "http")).count();
        assert_eq!(said, 3);
        assert!(sparing.may(at(179), "socks4"), "of another kind");
    }

    #[test]
    fn repeated_trouble_lasts() {
        let mut lasting = Lasting::default();
        let begun = Instant::now();
        let at = |s: u64| begun + Duration::from_secs(s);
        assert_eq!(lasting.now(at(0)), None);
        for s in [0, 4, 50, 90] {
            lasting.happens(at(s), s);
        }
        assert_eq!((lasting.now(at(149)), lasting.now(at(150))), (Some(0), None));
        lasting.happens(at(150), 150);
        assert_eq!(lasting.now(at(151)), Some(150), "it was over");
    }
}
