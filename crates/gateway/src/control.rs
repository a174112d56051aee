//! The socket by which a running gateway is asked and told: a line of JSON each way.
//!
//! Whoever may open the socket may ask. What changes something is for root, the daemon's own user, and the group that the operator names; the kernel says who
//! it is that asks.

use crate::kernel::Failure;
use crate::status::Status;
use evenair_units::plain_message;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A question, or a wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// How all fare.
    Status,
    /// The limits are to open.
    Pause,
    /// The limits are to hold again.
    Resume,
    /// All is well: what was begun on trial stays.
    Confirm,
    /// The operator's file is to be read again.
    Reload,
    /// The daemon is to end, and leave all as it is to the next one.
    HandOver,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// How all fare.
    Status(Box<Status>),
    /// It is done: what, in words.
    Done(String),
    /// It is not done: why.
    Refused(String),
}

impl Request {
    /// Whether it changes something.
    pub fn changes(&self) -> bool {
        *self != Self::Status
    }
}

/// The longest request \[bytes\].
const LINE_MAX: u64 = 4096;
/// A client that says nothing is left after this time: it asks the loop that sets the limits.
const PATIENCE: Duration = Duration::from_millis(50);

/// So often a request is made that the daemon left unread.
const TRIES: u32 = 20;

/// The daemon's end.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    path: PathBuf,
    group: Option<u32>,
}

impl Listener {
    /// Opens the socket, in the place of one that a daemon before left. The lock of the state folder says that there is none.
    ///
    /// # Errors
    /// If something else is there, or the folder may not be written to.
    pub fn new(path: &Path, group: Option<u32>) -> Result<Self, Failure> {
        let open = || {
            if UnixStream::connect(path).is_ok() {
                return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon answers there"));
            }
            if fs::symlink_metadata(path)
                .is_ok_and(|there| std::os::unix::fs::FileTypeExt::is_socket(&there.file_type()))
            {
                fs::remove_file(path)?;
            }
            let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
                // Before the kernel is asked, as it takes 107 bytes.
                io::ErrorKind::InvalidInput => io::Error::other(
                    "too long for a socket; name a shorter one: socket = \"/run/evenair.sock\"",
                ),
                _ => error,
            })?;
            listener.set_nonblocking(true)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o666))?;
            Ok(listener)
        };
        let listener = open().map_err(|error| Failure::new(path.display().to_string(), error))?;
        Ok(Self { socket: listener, path: path.into(), group })
    }

    /// Answers all who ask now.
    pub fn serve(&self, mut answer: impl FnMut(&Request) -> Answer) {
        while let Ok((stream, _)) = self.socket.accept() {
            // Who hangs up early has no answer.
            let _ = self.serve_one(&stream, &mut answer);
        }
    }

    fn serve_one(
        &self,
        mut stream: &UnixStream,
        answer: &mut impl FnMut(&Request) -> Answer,
    ) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut line = String::new();
        BufReader::new(stream.take(LINE_MAX)).read_line(&mut line)?;
        let answer = match serde_json::from_str::<Request>(&line) {
            Err(error) => Answer::Refused(format!("not a request: {}", plain_message(&error.to_string()))),
            Ok(request) if request.changes() && !self.may_change(stream)? => {
                let group = self.group.map(|group| format!(", or group {group}")).unwrap_or_default();
                Answer::Refused(format!("only root and the daemon's own user may do that{group}"))
            }
            Ok(request) => answer(&request),
        };
        let mut text = serde_json::to_vec(&answer)?;
        text.push(b'\n');
        stream.write_all(&text)
    }

    fn may_change(&self, stream: &UnixStream) -> io::Result<bool> {
        let peer = socket_peercred(stream)?;
        let is_own = peer.uid.is_root() || peer.uid == geteuid();
        let Some(group) = self.group.filter(|_| !is_own) else { return Ok(is_own) };
        Ok(peer.gid.as_raw() == group || evenair_linux::peer::groups(stream)?.contains(&group))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Asks a running gateway.
///
/// # Errors
/// If none runs there.
pub fn ask(path: &Path, request: &Request) -> Result<Answer, Failure> {
    // On a busy machine the daemon's patience may end between the connection and the request. Then the request was not read: the kernel
    // refuses to take it, or says that the other end closed with bytes unread.
    let is_unread = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
    };
    let ask = || {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut text = serde_json::to_vec(request)?;
        text.push(b'\n');
        stream.write_all(&text)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    let mut asked = ask();
    for _ in 1..TRIES {
        if !asked.as_ref().is_err_and(is_unread) {
            break;
        }
        asked = ask();
    }
    asked.map_err(|error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                "no gateway runs with this file; start one: evenair gateway run".into()
            }
            _ => plain_message(&error.to_string()),
        };
        Failure::new(path.display().to_string(), why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a peer with this user and these groups is answered; the thread alone is somebody else for a while.
    fn asked_by(path: &Path, user: u32, group: u32, others: &[u32]) -> Answer {
        use rustix::process::{Gid, Uid};
        use rustix::thread::{set_thread_gid, set_thread_groups, set_thread_uid};
        let (path, others) = (path.to_path_buf(), others.to_vec());
        let asks = std::thread::spawn(move || {
            let others: Vec<Gid> = others.into_iter().map(Gid::from_raw).collect();
            set_thread_groups(&others).unwrap();
            set_thread_gid(Gid::from_raw(group)).unwrap();
            set_thread_uid(Uid::from_raw(user)).unwrap();
            ask(&path, &Request::Pause).unwrap()
        });
        asks.join().unwrap()
    }

    #[test]
    fn who_changes_something_is_root_the_own_user_or_of_the_group() {
        if !geteuid().is_root()
            || fs::read_to_string("/proc/self/setgroups").is_ok_and(|may| may.trim() == "deny")
        {
            return evenair_needs::skip("root", "a question as another user");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let path = folder.path().join("control.sock");
        let listener = Listener::new(&path, Some(4242)).unwrap();
        let ends = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ended = std::sync::Arc::clone(&ends);
        let serves = std::thread::spawn(move || {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                listener.serve(|_| Answer::Done("paused".into()));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let many: Vec<u32> = (10_000..10_100).chain([4242]).collect();
        let allowed = [
            asked_by(&path, 0, 0, &[]),
            asked_by(&path, 1000, 4242, &[]),
            asked_by(&path, 1000, 1000, &many),
        ];
        assert_eq!(allowed, [(); 3].map(|()| Answer::Done("paused".into())));
        let refused = asked_by(&path, 1000, 1000, &[4241, 4243]);
        assert!(matches!(&refused, Answer::Refused(why) if why.contains("or group 4242")), "{refused:?}");
        ends.store(true, std::sync::atomic::Ordering::Relaxed);
        serves.join().unwrap();
    }

    #[test]
    fn who_asks_is_answered_and_nonsense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let refused = ask(&path, &Request::Status).unwrap_err().to_string();
        assert!(refused.contains("no gateway runs"), "{refused}");
        let listener = Listener::new(&path, None).unwrap();
        assert!(Listener::new(&path, None).is_err(), "another daemon answers there");
        let asked = std::thread::spawn({
            let path = path.clone();
            move || ask(&path, &Request::Pause)
        });
        let mut heard = Vec::new();
        while !asked.is_finished() {
            listener.serve(|request| {
                heard.push(request.clone());
                Answer::Done("paused".into())
            });
        }
        assert_eq!((asked.join().unwrap(), heard), (Ok(Answer::Done("paused".into())), vec![Request::Pause]));
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.write_all(&[b'x'; 10_000]).unwrap();
        listener.serve(|_| panic!("that was no request"));
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        assert!(line.contains("refused"), "{line}");
        // A client that says nothing holds nobody up for long.
        let _silent = UnixStream::connect(&path).unwrap();
        let begun = std::time::Instant::now();
        listener.serve(|_| panic!("nothing was asked"));
        assert!(begun.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn request_that_was_left_unread_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = UnixListener::bind(&path).unwrap();
        let daemon = std::thread::spawn(move || {
            for _ in 0..3 {
                drop(socket.accept().unwrap());
            }
            let (mut stream, _) = socket.accept().unwrap();
            BufReader::new(&stream).read_line(&mut String::new()).unwrap();
            stream.write_all(b"{\"done\":\"paused\"}\n").unwrap();
        });
        assert_eq!(ask(&path, &Request::Pause), Ok(Answer::Done("paused".into())));
        daemon.join().unwrap();
    }
}
