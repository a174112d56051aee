//! Probes over sockets: the calling end has a socket for each session, the called end one for all sessions.

use super::party::{Heard, Party};
use super::{LENGTH, Returned, tag};
use evenair_units::{Duration, Instant};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use tokio::net::UdpSocket;

/// A caller that needs no probes sends one at this interval. It keeps the mapping of a NAT or firewall open
/// for the other end's probes.
const BEAT: Duration = Duration::from_secs(5);
/// The time between two checks of whether probes are needed.
const LOOK: Duration = Duration::from_millis(500);
/// The pause after an error of the socket, such as a port on which no program listens.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);
/// A caller without an answer to its probes for this time, and two round trips, needs another socket: its
/// address or route may be gone.
const SILENCE: Duration = Duration::from_secs(3);

/// A user of round trips.
pub trait Host: Send + Sync {
    /// Returns the wanted time between probes; none if no probes are wanted.
    fn spacing(&self) -> Option<Duration>;
    /// Receives a returned probe.
    fn back(&self, returned: Returned);
}

/// Returns the time on the clock of all probes of this process.
pub fn now() -> Instant {
    static BEGUN: OnceLock<std::time::Instant> = OnceLock::new();
    let begun = BEGUN.get_or_init(std::time::Instant::now);
    Instant::from_nanos(begun.elapsed().as_nanos() as u64)
}

/// Returns an unpredictable number from 0 to 1.
fn draw() -> f64 {
    let mut bytes = [0; 4];
    // Without randomness probes are evenly spaced: worse, but no failure.
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.map_or(0.5, |()| f64::from(u32::from_ne_bytes(bytes)) / f64::from(u32::MAX))
}

fn wait(until: Instant) -> std::time::Duration {
    std::time::Duration::from_nanos(until.since(now()).as_nanos())
}

/// Returns a socket for a caller.
///
/// # Errors
/// If this process may have none, or there is no route to the called end.
pub async fn socket(called: SocketAddr) -> io::Result<UdpSocket> {
    let any = match called {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(called).await?;
    Ok(socket)
}

/// Sends the caller's probes and answers, over a socket that is connected to the other end. Returns the error
/// once the socket is unusable.
pub async fn call(socket: UdpSocket, party: &mut Party, host: &dyn Host) -> io::Error {
    let mut buffer = [0; LENGTH + 1];
    let (mut back_at, mut round_trip) = (now(), Duration::ZERO);
    loop {
        let wanted = host.spacing();
        if wanted.is_none() {
            back_at = now();
        } else if now().since(back_at) > SILENCE + round_trip * 2 {
            return io::ErrorKind::TimedOut.into();
        }
        let spacing = wanted.unwrap_or(BEAT);
        if let Some(probe) = party.poll(now(), spacing, draw())
            && let Err(error) = socket.send(&probe).await
            && is_for_good(&error)
        {
            return error;
        }
        let due = party.next_at(now(), spacing).min(now() + LOOK);
        tokio::select! {
            () = tokio::time::sleep(wait(due)) => {}
            received = socket.recv(&mut buffer) => match received {
                Ok(length) => match party.handle(now(), &buffer[..length]) {
                    Heard::Answer(reply) => { let _ = socket.send(&reply).await; }
                    Heard::Back(returned) => {
                        (back_at, round_trip) = (now(), returned.round_trip);
                        host.back(returned);
                    }
                    Heard::Nothing => {}
                },
                Err(error) if is_for_good(&error) => return error,
                Err(_) => tokio::time::sleep(PAUSE).await,
            },
        }
    }
}

/// Returns whether an error makes a socket unusable; a closed port at the other end and a full queue do not.
fn is_for_good(error: &io::Error) -> bool {
    !matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory
    ) && error.raw_os_error() != Some(rustix::io::Errno::NOBUFS.raw_os_error())
}

/// Receives the probes of all sessions, over one socket or several.
#[derive(Clone, Default)]
pub struct Desk {
    guests: Arc<Mutex<BTreeMap<u64, Arc<Guest>>>>,
}

/// The socket and address of a peer's last datagram.
type Place = (Arc<UdpSocket>, SocketAddr);

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Desk({})", self.guests().len())
    }
}

/// A session registered at the desk.
struct Guest {
    party: Mutex<(Party, Option<Place>)>,
    host: Arc<dyn Host>,
}

impl Guest {
    fn party(&self) -> MutexGuard<'_, (Party, Option<Place>)> {
        self.party.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A session's registration at the desk, until it is dropped.
pub struct Seat {
    desk: Desk,
    guest: Arc<Guest>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seat({:?})", self.guest.party().1.as_ref().map(|(_, from)| *from))
    }
}

impl Desk {
    fn guests(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Guest>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a session.
    pub fn seat(&self, party: Party, host: Arc<dyn Host>) -> Seat {
        let tags = party.tags();
        let guest = Arc::new(Guest { party: Mutex::new((party, None)), host });
        let mut guests = self.guests();
        for tag in tags {
            guests.insert(tag, Arc::clone(&guest));
        }
        drop(guests);
        Seat { desk: self.clone(), guest }
    }

    /// Answers the datagrams of a bound socket, for as long as it is awaited.
    ///
    /// # Errors
    /// If the socket is gone.
    pub async fn serve(&self, socket: UdpSocket) -> io::Result<()> {
        let socket = Arc::new(socket);
        let mut buffer = [0; LENGTH + 1];
        loop {
            let (length, from) = match socket.recv_from(&mut buffer).await {
                Ok(received) => received,
                // A host that refuses an answer is no fault of the desk.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            let datagram = &buffer[..length];
            let guest = tag(datagram).and_then(|tag| self.guests().get(&tag).cloned());
            let Some(guest) = guest else { continue };
            let heard = {
                let mut party = guest.party();
                let heard = party.0.handle(now(), datagram);
                // The sender has the key, so this is the peer's present address: addresses change.
                if heard != Heard::Nothing {
                    party.1 = Some((Arc::clone(&socket), from));
                }
                heard
            };
            match heard {
                Heard::Answer(reply) => {
                    let _ = socket.send_to(&reply, from).await;
                }
                Heard::Back(returned) => guest.host.back(returned),
                Heard::Nothing => {}
            }
        }
    }
}

impl Seat {
    /// Sends this end's probes to the other end's last address, for as long as it is awaited.
    pub async fn probe(&self) {
        loop {
            let due = match self.guest.host.spacing() {
                None => now() + LOOK,
                Some(spacing) => {
                    let (probe, to, due) = {
                        let mut party = self.guest.party();
                        let to = party.1.clone();
                        let probe = to.as_ref().and_then(|_| party.0.poll(now(), spacing, draw()));
                        let due = party.0.next_at(now(), spacing);
                        // Without an address yet, one may arrive soon.
                        let due = if to.is_some() { due } else { now() + LOOK };
                        (probe, to, due)
                    };
                    if let (Some(probe), Some((socket, to))) = (probe, to) {
                        let _ = socket.send_to(&probe, to).await;
                    }
                    due
                }
            };
            tokio::time::sleep(wait(due.min(now() + LOOK))).await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let tags = self.guest.party().0.tags();
        let mut guests = self.desk.guests();
        for tag in tags {
            if guests.get(&tag).is_some_and(|guest| Arc::ptr_eq(guest, &self.guest)) {
                guests.remove(&tag);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{End, SECRET};

    /// Wants probes, or none, and keeps the round trips.
    struct Wants(Option<Duration>, Mutex<Vec<Returned>>);

    impl Host for Wants {
        fn spacing(&self) -> Option<Duration> {
            self.0
        }
        fn back(&self, returned: Returned) {
            self.1.lock().unwrap().push(returned);
        }
    }

    fn wants(ms: Option<u64>) -> Arc<Wants> {
        Arc::new(Wants(ms.map(Duration::from_millis), Mutex::default()))
    }

    async fn bound() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").await.unwrap()
    }

    #[tokio::test]
    async fn silent_prober_changes_socket() {
        let silent = bound().await;
        let calls = async |host: Arc<Wants>| {
            let own = bound().await;
            own.connect(silent.local_addr().unwrap()).await.unwrap();
            let mut party = Party::new(&[3; SECRET], End::Caller, now());
            let call = call(own, &mut party, &*host);
            tokio::time::timeout(std::time::Duration::from_secs(5), call).await.ok().map(|why| why.kind())
        };
        let (wanted, unwanted) = tokio::join!(calls(wants(Some(50))), calls(wants(None)));
        assert_eq!((wanted, unwanted), (Some(io::ErrorKind::TimedOut), None));
    }

    #[tokio::test]
    async fn sessions_probe_over_one_port_separately() {
        let socket = bound().await;
        let place = socket.local_addr().unwrap();
        let desk = Desk::default();
        let secrets = [[1; SECRET], [2; SECRET]];
        // The first client needs no probes, and its relay's end does; the second is the reverse.
        let called = [wants(Some(20)), wants(None)];
        let callers = [wants(None), wants(Some(20))];
        let seats = [0, 1].map(|i| {
            let party = Party::new(&secrets[i], End::Called, now());
            desk.seat(party, Arc::<Wants>::clone(&called[i]) as Arc<dyn Host>)
        });
        let call_of = async |i: usize| {
            let own = bound().await;
            own.connect(place).await.unwrap();
            call(own, &mut Party::new(&secrets[i], End::Caller, now()), &*callers[i]).await;
        };
        let all = async {
            tokio::join!(desk.serve(socket), seats[0].probe(), seats[1].probe(), call_of(0), call_of(1))
        };
        let _ = tokio::time::timeout(std::time::Duration::from_secs(3), all).await;
        let heard = |of: &Wants| of.1.lock().unwrap().len();
        // A spacing of 20 ms is fifty a second at most; a busy machine may be late.
        assert!((20..=150).contains(&heard(&called[0])), "{}", heard(&called[0]));
        assert!((20..=150).contains(&heard(&callers[1])), "{}", heard(&callers[1]));
        assert_eq!(heard(&called[1]), 0);
        assert!((1..=2).contains(&heard(&callers[0])), "a beat");
        drop(seats);
        assert!(desk.guests().is_empty(), "a session that is over leaves nothing");
    }
}
