//! The daemon's end of the control socket.

use super::{Answer, Request};
use crate::kernel::Failure;
use crate::server::{self, Bell, Limits, Owner, Service, Text};
use crate::status::Status;
use evenair_linux::peer;
use evenair_units::plain_message;
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, chownat, fchmod, fstat, openat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::{getegid, geteuid};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::{Duration, Instant};

/// Bounds of the clients. `status --watch` sends one request a second.
const LIMITS: Limits = Limits {
    trusted: 16,
    others: 32,
    per_user: 4,
    requests: 10,
    request_bytes: 4096,
    time: Duration::from_secs(5),
};
/// Connections that the kernel queues until the thread accepts them.
const BACKLOG: i32 = 128;
/// Requests that may wait for the loop.
const REQUESTS: usize = 16;
/// Longest time for which one rendering of the status is served.
const RENDERED: Duration = Duration::from_secs(1);
/// Longest wait for the thread's last answers.
const END_TIME: Duration = Duration::from_millis(500);

/// The number of a request that the loop has not answered yet.
#[derive(Clone, Copy, Debug)]
pub struct Ticket(u64);

/// A message of the loop to the thread.
#[derive(Debug)]
enum News {
    Status(Box<Status>),
    Answer(u64, Answer),
    End,
}

/// The loop's end of the socket. Dropping it ends the thread and removes the socket.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    lack: Option<String>,
    requests: Receiver<(u64, Request)>,
    /// Wakes the loop for requests.
    bell: Bell,
    news: Sender<News>,
    /// Wakes the thread for messages.
    tells: Bell,
    alive_ms: Arc<AtomicU64>,
    ended: Receiver<()>,
}

impl Listener {
    /// Opens the socket for a group or for everyone, and starts the thread that answers there. It
    /// replaces a socket that an earlier daemon left. The lock of the state folder ensures that no
    /// other daemon runs.
    ///
    /// # Errors
    /// If another kind of file is there, or the folder is not writable.
    pub fn new(path: &Path, group: Option<u32>, is_for_everyone: bool) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::new(path.display().to_string(), error);
        let (socket, lack) = open(path, group, is_for_everyone).map_err(failed)?;
        let bells = || Ok((Bell::new()?, Bell::new()?));
        let (bell, tells) = bells().map_err(failed)?;
        let (asks, requests) = sync_channel(REQUESTS);
        let (news, told) = channel();
        let alive_ms = Arc::new(AtomicU64::new(0));
        let desk = Desk {
            group,
            own: geteuid().as_raw(),
            asks,
            bell: bell.clone(),
            news: told,
            alive_ms: Arc::clone(&alive_ms),
            status: None,
            rendered: None,
        };
        let ended = server::start(socket, tells.clone(), LIMITS, desk).map_err(failed)?;
        Ok(Self { path: path.into(), lack, requests, bell, news, tells, alive_ms, ended })
    }

    /// Returns a description of the permissions that could not be set on the socket.
    pub fn lack(&self) -> Option<&str> {
        self.lack.as_deref()
    }

    /// Returns the next request that changes something.
    pub fn take(&self) -> Option<(Ticket, Request)> {
        let next = || self.requests.try_recv().ok();
        // The bell stays rung while there may be more requests; a request after `quiet` rings it again.
        let taken = next().or_else(|| {
            self.bell.quiet();
            next()
        });
        taken.map(|(id, request)| (Ticket(id), request))
    }

    /// Answers a request.
    pub fn reply(&self, ticket: Ticket, answer: Answer) {
        self.tell(News::Answer(ticket.0, answer));
    }

    /// Publishes this status for all later requests.
    pub fn show(&self, status: Status) {
        self.tell(News::Status(Box::new(status)));
    }

    /// Records that the loop runs at this time \[ms since 1970\]: the status is current.
    pub fn is_alive(&self, at_ms: u64) {
        self.alive_ms.store(at_ms, Ordering::Relaxed);
    }

    fn tell(&self, news: News) {
        // If the thread has ended, no client gets an answer, but the limits still hold.
        let _ = self.news.send(news);
        self.tells.ring();
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.tell(News::End);
        let _ = self.ended.recv_timeout(END_TIME);
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens a socket, and returns a description of the permissions that could not be set.
fn open(path: &Path, group: Option<u32>, is_for_everyone: bool) -> io::Result<(OwnedFd, Option<String>)> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another daemon answers there"));
    }
    if fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    let address = SocketAddrUnix::new(path).map_err(|_| {
        io::Error::other("too long for a socket; name a shorter one: socket = \"/run/evenair.sock\"")
    })?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Linux gives the file the socket's own mode, so the file is never open to others, not even for a
    // moment.
    fchmod(&socket, Mode::from_raw_mode(0o600))?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let lack = give(path, group, is_for_everyone).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok((socket, lack))
}

/// Gives the socket's file to a group, or to everyone. Leaves a file alone that replaced the socket in
/// the meantime.
fn give(path: &Path, group: Option<u32>, is_for_everyone: bool) -> io::Result<Option<String>> {
    let file = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let there = fstat(&file)?;
    let is_own =
        FileType::from_raw_mode(there.st_mode) == FileType::Socket && there.st_uid == geteuid().as_raw();
    if !is_own {
        return Err(io::Error::other(
            "another user put something else there; name a folder that is the daemon's own",
        ));
    }
    let given = group
        .filter(|group| *group != there.st_gid)
        .map_or(Ok(()), |group| chownat(&file, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH));
    let mode = if is_for_everyone { 0o666 } else { 0o660 };
    // Uses the descriptor: a name could lead to another file by now.
    fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), Permissions::from_mode(mode))?;
    Ok(given.err().filter(|_| !is_for_everyone).map(|error| {
        let (group, own) = (group.unwrap_or_default(), getegid().as_raw());
        format!(
            "{} stays with group {own}: cannot give it to group {group}: {error}; run the daemon as a member \
            (SupplementaryGroups={group} in the service), or write asked_by = \"everyone\"",
            path.display()
        )
    }))
}

/// The thread's end of the socket.
struct Desk {
    group: Option<u32>,
    own: u32,
    asks: SyncSender<(u64, Request)>,
    bell: Bell,
    news: Receiver<News>,
    alive_ms: Arc<AtomicU64>,
    status: Option<Box<Status>>,
    rendered: Option<(Instant, Text)>,
}

impl Desk {
    /// Returns the status, rendered once a second at most.
    fn status(&mut self) -> Text {
        let is_fresh = |(at, _): &&(Instant, Text)| at.elapsed() < RENDERED;
        if let Some((_, text)) = self.rendered.as_ref().filter(is_fresh) {
            return Arc::clone(text);
        }
        let Some(mut status) = self.status.take() else {
            return text(&Answer::Refused("the gateway begins; ask again in a moment".into()));
        };
        status.at_ms = status.at_ms.max(self.alive_ms.load(Ordering::Relaxed));
        let answer = Answer::Status(status);
        let rendered = text(&answer);
        if let Answer::Status(status) = answer {
            self.status = Some(status);
        }
        self.rendered = Some((Instant::now(), Arc::clone(&rendered)));
        rendered
    }
}

fn text(answer: &Answer) -> Text {
    // Numbers that JSON cannot express become null; nothing else can fail.
    let mut text = serde_json::to_vec(answer).unwrap_or_default();
    text.push(b'\n');
    text.into()
}

impl Service for Desk {
    fn owner(&self, stream: BorrowedFd<'_>) -> io::Result<Owner> {
        let (user, group) = peer::user_and_group(stream)?;
        let is_member =
            |wanted| Ok::<_, io::Error>(group == wanted || peer::groups(stream)?.contains(&wanted));
        let is_trusted =
            user == 0 || user == self.own || self.group.map(is_member).transpose()?.unwrap_or(false);
        Ok(Owner { user, is_trusted })
    }

    fn is_whole(&self, text: &[u8]) -> bool {
        text.contains(&b'\n')
    }

    fn answer(&mut self, id: u64, owner: Owner, request: &[u8]) -> Option<Text> {
        let refused = |why: String| Some(text(&Answer::Refused(why)));
        let line = request.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice::<Request>(line) {
            Err(error) => refused(format!("not a request: {}", plain_message(&error.to_string()))),
            Ok(Request::Status) => Some(self.status()),
            Ok(_) if !owner.is_trusted => {
                let group =
                    self.group.map(|group| format!(", or members of group {group}")).unwrap_or_default();
                refused(format!("only root and the daemon's own user may do that{group}"))
            }
            Ok(request) => match self.asks.try_send((id, request)) {
                Ok(()) => {
                    self.bell.ring();
                    None
                }
                Err(TrySendError::Full(_)) => refused("too many requests wait; ask again in a moment".into()),
                Err(TrySendError::Disconnected(_)) => refused("the gateway ends".into()),
            },
        }
    }

    fn too_often(&self) -> Text {
        let most = LIMITS.requests;
        text(&Answer::Refused(format!("more than {most} requests of one user in a second; ask again later")))
    }

    fn take_news(&mut self) -> (Vec<(u64, Text)>, bool) {
        let (mut answers, mut ends) = (Vec::new(), false);
        while let Ok(news) = self.news.try_recv() {
            match news {
                News::Status(status) => (self.status, self.rendered) = (Some(status), None),
                News::Answer(id, answer) => answers.push((id, text(&answer))),
                News::End => ends = true,
            }
        }
        (answers, ends)
    }
}

#[cfg(test)]
mod tests;
