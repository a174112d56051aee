//! Local sockets of a running program, which users of this machine may ask.
//!
//! The mode of the socket's file decides which users may connect. The kernel reports the user at the other
//! end (`SO_PEERCRED`), so a program can answer some requests to some users alone.

use crate::peer;
use crate::server::{Limits, Owner, Service, Thread};
use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, chownat, fchmod, fstat, openat};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with};
use rustix::process::{getegid, geteuid};
use std::fs::{self, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Connections that the kernel queues until the thread accepts them.
const BACKLOG: i32 = 128;

/// The users that may connect, beside root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The program's own user.
    Own,
    /// The members of a group, by its number; of the program's own group, if there is no number.
    Group(Option<u32>),
    /// Every user of this machine. The file belongs to the group, if there is one.
    Everyone(Option<u32>),
}

impl Access {
    const fn group(self) -> Option<u32> {
        match self {
            Self::Own => None,
            Self::Group(group) | Self::Everyone(group) => group,
        }
    }

    const fn mode(self) -> u32 {
        match self {
            Self::Own => 0o600,
            Self::Group(_) => 0o660,
            Self::Everyone(_) => 0o666,
        }
    }
}

/// A socket that is served. Dropping it ends its thread and removes its file.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    lack: Option<String>,
    thread: Thread,
}

impl Socket {
    /// Opens a socket and serves it. It replaces a socket that an earlier program left.
    ///
    /// # Errors
    /// If another program answers there, another kind of file is there, or the folder is not writable.
    pub fn serve(path: &Path, access: Access, limits: Limits, service: impl Service) -> io::Result<Self> {
        let (socket, lack) = open(path, access)?;
        let thread = Thread::start(socket, limits, service)?;
        Ok(Self { path: path.into(), lack, thread })
    }

    /// Returns a description of the permissions that could not be set.
    pub fn lack(&self) -> Option<&str> {
        self.lack.as_deref()
    }

    /// Makes the thread call [`Service::take_answers`].
    pub fn wake(&self) {
        self.thread.wake();
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.thread.end();
        let _ = fs::remove_file(&self.path);
    }
}

/// The trusted users of a socket: root, the program's own user and the members of a group.
#[derive(Clone, Copy, Debug)]
pub struct Trusted {
    own: u32,
    group: Option<u32>,
}

impl Trusted {
    /// Returns the trusted users of the calling process. A confined thread may no longer ask for its user.
    pub fn new(group: Option<u32>) -> Self {
        Self { own: geteuid().as_raw(), group }
    }

    /// Returns the user at the other end, as the kernel reports it.
    ///
    /// # Errors
    /// If it is no local socket.
    pub fn owner(self, stream: BorrowedFd<'_>) -> io::Result<Owner> {
        let (user, primary) = peer::user_and_group(stream)?;
        let is_member =
            |wanted| Ok::<_, io::Error>(primary == wanted || peer::groups(stream)?.contains(&wanted));
        let is_own = user == 0 || user == self.own;
        Ok(Owner { user, is_trusted: is_own || self.group.map(is_member).transpose()?.unwrap_or(false) })
    }
}

/// Opens a socket, and returns a description of the permissions that could not be set.
fn open(path: &Path, access: Access) -> io::Result<(OwnedFd, Option<String>)> {
    if UnixStream::connect(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, "another program answers there"));
    }
    if fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
        fs::remove_file(path)?;
    }
    let address = SocketAddrUnix::new(path).map_err(|_| {
        io::Error::other("too long for a socket; name a shorter one, such as /run/evenair.sock")
    })?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Linux gives the file the socket's own mode, so the file is never open to others, not even for a
    // moment.
    fchmod(&socket, Mode::from_raw_mode(0o600))?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let lack = give(path, access).inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok((socket, lack))
}

/// Gives the socket's file to its users. Leaves a file alone that replaced the socket in the meantime.
fn give(path: &Path, access: Access) -> io::Result<Option<String>> {
    let file = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let there = fstat(&file)?;
    let is_own =
        FileType::from_raw_mode(there.st_mode) == FileType::Socket && there.st_uid == geteuid().as_raw();
    if !is_own {
        return Err(io::Error::other(
            "another user put something else there; name a folder that is the program's own",
        ));
    }
    let group = access.group().filter(|group| *group != there.st_gid);
    let given = group
        .map_or(Ok(()), |group| chownat(&file, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH));
    let mode = Permissions::from_mode(access.mode());
    // Uses the descriptor: a name could lead to another file by now.
    fs::set_permissions(format!("/proc/self/fd/{}", file.as_raw_fd()), mode)?;
    Ok(given.err().filter(|_| matches!(access, Access::Group(_))).map(|error| {
        let (group, own) = (group.unwrap_or_default(), getegid().as_raw());
        format!("{} stays with group {own}: cannot give it to group {group}: {error}", path.display())
    }))
}

/// Number of attempts while the program closes connections unread.
const TRIES: u32 = 20;

/// Sends a line to a running program and returns its answer.
///
/// # Errors
/// If no program runs there, or it does not answer in time; [`why`] gives the reason in words.
pub fn ask(path: &Path, line: &str, time: Duration) -> io::Result<String> {
    // Under a flood of the same user's connections one may be closed before its request is read. The
    // kernel then refuses the request, or reports that the other end closed with bytes unread.
    let is_unread = |error: &io::Error| {
        matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
    };
    let ask = || {
        let mut stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(time))?;
        stream.write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        if stream.read_to_string(&mut answer)? == 0 {
            let why = "the program ended, or closed the connection, without an answer; ask again";
            return Err(io::Error::other(why));
        }
        Ok(answer)
    };
    let mut asked = ask();
    for _ in 1..TRIES {
        if !asked.as_ref().is_err_and(is_unread) {
            break;
        }
        asked = ask();
    }
    asked
}

/// Returns the reason for a failed [`ask`]. `missing` is the reason and remedy if no program runs.
pub fn why(error: &io::Error, missing: &str, time: Duration) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => missing.into(),
        io::ErrorKind::PermissionDenied => {
            "only the socket's group may ask; ask as root or as a member of it (ls -l shows the group)".into()
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("no answer within {} s; see the program's log", time.as_secs())
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::net::UnixListener;

    #[test]
    fn request_that_was_left_unread_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let socket = UnixListener::bind(&path).unwrap();
        let program = std::thread::spawn(move || {
            for _ in 0..3 {
                drop(socket.accept().unwrap());
            }
            let (mut stream, _) = socket.accept().unwrap();
            BufReader::new(&stream).read_line(&mut String::new()).unwrap();
            stream.write_all(b"paused\n").unwrap();
        });
        assert_eq!(ask(&path, "pause", Duration::from_secs(30)).unwrap(), "paused\n");
        program.join().unwrap();
    }

    /// Access by mode is unix(7)'s: connecting needs write permission.
    #[test]
    fn file_has_its_mode_and_other_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        for (access, mode) in
            [(Access::Own, 0o600), (Access::Group(None), 0o660), (Access::Everyone(None), 0o666)]
        {
            let (socket, lack) = open(&path, access).unwrap();
            assert_eq!((fs::metadata(&path).unwrap().permissions().mode() & 0o777, lack), (mode, None));
            assert!(open(&path, access).unwrap_err().to_string().contains("another program answers"));
            drop(socket);
        }
        let victim = folder.path().join("victim");
        fs::write(&victim, "").unwrap();
        fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        assert!(give(&path, Access::Everyone(None)).is_err());
        assert!(open(&path, Access::Everyone(None)).is_err(), "a link is not removed");
        assert_eq!(fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
