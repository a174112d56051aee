//! Notifies the service manager that a program is ready, alive, or ending (`sd_notify(3)`). Each
//! notice is a datagram to the socket that the environment names; without one there are none.

use evenair_units::{Duration, Instant};
use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Number of missed epochs after which the daemon is restarted.
const EPOCHS: u64 = 3;
/// Shortest watchdog time: a large plan takes seconds.
const LEAST: Duration = Duration::from_secs(10);

/// The service manager.
#[derive(Debug, Default)]
pub struct Supervisor {
    socket: Option<UnixDatagram>,
    /// Whether it expects signs of life.
    watches: bool,
    /// The watchdog time.
    watchdog_time: Duration,
    /// The time of the next sign of life.
    due: Option<Instant>,
}

impl Supervisor {
    /// Connects to the service manager that the environment names. The socket is connected at once:
    /// later a confined program may not open one.
    pub fn of_environment() -> Self {
        let socket = env::var_os("NOTIFY_SOCKET").and_then(|name| connect(&name).ok());
        let is_own = |number: String| number.parse() == Ok(std::process::id());
        let watches = env::var_os("WATCHDOG_USEC").is_some() && env::var("WATCHDOG_PID").map_or(true, is_own);
        Self { socket, watches, ..Self::default() }
    }

    /// Sends a notice; errors are ignored.
    pub fn tell(&self, words: &str) {
        let _ = self.socket.as_ref().map(|socket| socket.send(words.as_bytes()));
    }

    /// Sets the watchdog time to three epochs, in each of which the program decides once.
    pub fn expect(&mut self, epoch: Duration) {
        let time = (epoch * EPOCHS).max(LEAST);
        if std::mem::replace(&mut self.watchdog_time, time) != time && self.watches {
            self.tell(&format!("WATCHDOG_USEC={}", time.as_nanos() / 1000));
        }
    }

    /// Sends a sign of life if one is due.
    pub fn is_alive(&mut self, now: Instant) {
        if self.watches && self.due.is_none_or(|due| now >= due) {
            self.tell("WATCHDOG=1");
            self.due = Some(now + self.watchdog_time / 4);
        }
    }
}

/// Connects to a socket by its path, or, after an @, by its abstract name.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    match name.as_bytes() {
        [b'@', name @ ..] => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        _ => socket.connect(name)?,
    }
    // A slow reader does not delay the program.
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_life_come_four_times_in_three_epochs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let hears = UnixDatagram::bind(&path).unwrap();
        hears.set_nonblocking(true).unwrap();
        let heard = || {
            let mut text = [0; 200];
            hears.recv(&mut text).map(|length| String::from_utf8_lossy(&text[..length]).into_owned()).ok()
        };
        let socket = connect(path.as_os_str()).ok();
        assert!(socket.is_some());
        let mut supervisor = Supervisor { socket, watches: true, ..Supervisor::default() };
        supervisor.expect(Duration::from_secs(10));
        assert_eq!(heard().as_deref(), Some("WATCHDOG_USEC=30000000"));
        let signs = (0..300).filter(|i| {
            supervisor.is_alive(Instant::ZERO + Duration::from_millis(100 * i));
            heard().is_some_and(|text| text == "WATCHDOG=1")
        });
        assert_eq!(signs.count(), 4, "at 0, 7.5, 15 and 22.5 s");
        supervisor.expect(Duration::from_secs(1));
        assert_eq!(heard().as_deref(), Some("WATCHDOG_USEC=10000000"), "no sooner than that");
        drop(hears);
        supervisor.tell("READY=1");
        Supervisor::default().tell("no socket");
    }

    #[test]
    fn abstract_names_are_names_too() {
        let name = format!("evenair-{}", std::process::id());
        let hears = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        connect(OsStr::new(&format!("@{name}"))).unwrap().send(b"READY=1").unwrap();
        let mut text = [0; 20];
        assert_eq!(hears.recv(&mut text).unwrap(), 7);
    }
}
