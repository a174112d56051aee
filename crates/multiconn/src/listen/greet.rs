//! A connection from its first byte until it belongs to a session.

use super::Shared;
use super::admission::{Handshake, Outcome};
use crate::connect::prepare;
use crate::governor::Governor;
use crate::hello::{Answer, Exported, HELLO_MAX, Hello, JOIN_LABEL, Refusal, SESSION_LABEL};
use crate::keys::PublicKey;
use crate::notice;
use crate::prompt::Prompt;
use std::future::poll_fn;
use std::io;
use std::os::fd::AsFd as _;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A handshake that is not finished in this time is closed.
pub(super) const DEADLINE: Duration = Duration::from_secs(5);
/// The time limit of its first byte: a lost segment is sent again after 1 s (RFC 6298 §2.1), and once more
/// after 3 s.
const FIRST_BYTE: Duration = Duration::from_millis(3500);

/// This many kilobytes of a refused connection are still read.
const DRAINED: u32 = 16;

/// A connection with an authorised key.
pub(super) struct Incoming {
    pub(super) tls: TlsStream<Prompt>,
    pub(super) key: PublicKey,
    pub(super) peer: String,
}

impl Incoming {
    pub(super) fn exported(&self, label: &[u8]) -> Option<Exported> {
        self.tls.get_ref().1.export_keying_material([0; 32], label, None).ok()
    }

    pub(super) fn socket(&self) -> &TcpStream {
        self.tls.get_ref().0.socket()
    }

    /// Gives the connection the congestion control that its session's law needs, or the relay's own.
    pub(super) fn carry(&self, governor: &Governor, own: &str) -> Result<(), Refusal> {
        let name = governor.congestion_control().unwrap_or(own);
        evenair_linux::tcp::set_congestion_control(self.socket(), name).map_err(|_| Refusal::Law)
    }

    pub(super) fn duplicate(&self) -> Option<std::os::fd::OwnedFd> {
        self.socket().as_fd().try_clone_to_owned().ok()
    }
}

/// Accepts until the listener is dropped.
pub(super) async fn accept(shared: Arc<Shared>, listener: TcpListener, acceptor: TlsAcceptor) {
    loop {
        let (socket, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors: present connections are still served.
                if let Some(error) = error.raw_os_error().filter(|error| notice::is_scarce(*error)) {
                    shared.troubles().scarce.happens(Instant::now(), error);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (handshake, displaced) = shared.admission.handshake(from.ip(), Instant::now());
        if let Some(network) = displaced {
            shared.troubles().flood.happens(Instant::now(), network);
        }
        let (shared, acceptor) = (Arc::clone(&shared), acceptor.clone());
        tokio::spawn(async move {
            let greeted = tokio::time::timeout(
                DEADLINE,
                greet(&shared, socket, &acceptor, from.to_string(), &handshake),
            );
            let outcome = tokio::select! {
                greeted = greeted => greeted.unwrap_or(Ok(Outcome::Late)).unwrap_or(Outcome::Failed),
                () = handshake.displaced() => Outcome::Displaced,
            };
            shared.admission.ended(outcome);
        });
    }
}

async fn greet(
    shared: &Arc<Shared>,
    socket: TcpStream,
    acceptor: &TlsAcceptor,
    peer: String,
    handshake: &Handshake,
) -> io::Result<Outcome> {
    prepare(&socket)?;
    match tokio::time::timeout(FIRST_BYTE, socket.readable()).await {
        Ok(readable) => readable?,
        Err(_) => return Ok(Outcome::Late),
    }
    let accepts = acceptor.accept(Prompt::new(socket)).into_fallible();
    let mut tls = match one_at_a_time(&shared.handshaking, accepts).await {
        Ok(tls) => tls,
        Err((error, socket)) => {
            // The close is not part of this handshake's outcome.
            let _ = farewell(socket.into_inner()).await;
            return Ok(if is_of_key(&error) { Outcome::UnknownKey } else { Outcome::Failed });
        }
    };
    let key = tls.get_ref().1.peer_certificates().and_then(|all| PublicKey::from_spki(all.first()?));
    let Some(key) = key else { return Ok(Outcome::Failed) };
    handshake.shows(key, Instant::now());
    let length = usize::from(tls.read_u16().await?);
    if length > HELLO_MAX {
        return refuse(&mut tls, Refusal::Malformed).await;
    }
    let mut body = vec![0; length];
    tls.read_exact(&mut body).await?;
    let Ok(hello) = Hello::decode(&body) else { return refuse(&mut tls, Refusal::Malformed).await };
    let mut incoming = Incoming { tls, key, peer };
    let admitted = match (shared.known.find(key), shared.admission.connection(key, shared.known.all().len()))
    {
        (Some(entry), Some(admitted)) => (entry, admitted),
        (entry, _) => {
            let name = entry.map_or_else(|| key.to_string(), |entry| entry.name.clone());
            shared.troubles().refused.happens(Instant::now(), (name, Refusal::Full));
            return refuse(&mut incoming.tls, Refusal::Full).await;
        }
    };
    let done = match hello {
        Hello::New { streams, connections, law } => {
            let Some(secret) = incoming.exported(SESSION_LABEL) else { return Ok(Outcome::Failed) };
            shared.sessions.begin(shared, &incoming, &admitted.0, (streams, connections, &law), secret)
        }
        Hello::Join { session, proof } => {
            let Some(exported) = incoming.exported(JOIN_LABEL) else { return Ok(Outcome::Failed) };
            shared
                .sessions
                .join(shared, &incoming, &session, &exported, &proof)
                .map(|held| (held, Answer::Joined))
        }
    };
    match done {
        Err(why) => {
            shared.troubles().refused.happens(Instant::now(), (admitted.0.name.clone(), why));
            refuse(&mut incoming.tls, why).await
        }
        Ok((session, answer)) => {
            incoming.tls.write_all(&answer.encode()).await?;
            incoming.tls.flush().await?;
            let (socket, peer) = (incoming.duplicate(), incoming.peer);
            session.add(incoming.tls, socket, peer, Box::new(admitted.1));
            Ok(Outcome::Accepted)
        }
    }
}

/// Awaits a future with steps that take processor time, one step at a time of all that share a turn. A flood
/// of handshakes then keeps at most one core from the sessions.
async fn one_at_a_time<T>(turn: &tokio::sync::Mutex<()>, what: impl Future<Output = T>) -> T {
    let mut what = pin!(what);
    loop {
        let step = {
            let _turn = turn.lock().await;
            poll_fn(|context| Poll::Ready(what.as_mut().poll(context))).await
        };
        if let Poll::Ready(done) = step {
            return done;
        }
        // Yields until the task is woken, as the step requested.
        let mut is_woken = false;
        poll_fn(|_| if std::mem::replace(&mut is_woken, true) { Poll::Ready(()) } else { Poll::Pending })
            .await;
    }
}

/// Lets the alert arrive: a socket that is closed with unread bytes discards its sent data.
async fn farewell(mut socket: TcpStream) -> io::Result<()> {
    socket.shutdown().await?;
    let mut nothing = [0; 1024];
    let drains = async {
        for _ in 0..DRAINED {
            if !matches!(socket.read(&mut nothing).await, Ok(1..)) {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), drains).await;
    Ok(())
}

async fn refuse(tls: &mut TlsStream<Prompt>, why: Refusal) -> io::Result<Outcome> {
    tls.write_all(&Answer::Refused(why).encode()).await?;
    tls.shutdown().await?;
    Ok(Outcome::Refused)
}

/// Returns whether TLS failed because the key is not authorised.
fn is_of_key(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn steps_take_turns_and_none_is_lost() {
        let (turn, inside) = (Arc::new(tokio::sync::Mutex::new(())), Arc::new(AtomicU32::new(0)));
        let tasks: Vec<_> = (0..100_u64)
            .map(|number| {
                let (turn, inside) = (Arc::clone(&turn), Arc::clone(&inside));
                tokio::spawn(async move {
                    let steps = async {
                        for step in 0..20 {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
                            inside.fetch_sub(1, Ordering::SeqCst);
                            // Woken at once, or by the clock.
                            if (number + step) % 3 == 0 {
                                tokio::time::sleep(Duration::from_millis(1)).await;
                            } else {
                                tokio::task::yield_now().await;
                            }
                        }
                        number
                    };
                    one_at_a_time(&turn, steps).await
                })
            })
            .collect();
        for (number, task) in (0..).zip(tasks) {
            let done = tokio::time::timeout(Duration::from_secs(20), task).await;
            assert_eq!(done.expect("no wake is lost").unwrap(), number);
        }
    }
}
