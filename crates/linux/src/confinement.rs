//! Confines a thread: it drops capabilities (capabilities(7)), new privileges by programs that it starts,
//! files and ports ([`landlock`](https://docs.kernel.org/userspace-api/landlock.html)), and system calls
//! (seccomp(2)).
//!
//! This cannot be undone, for the thread and for those that it starts afterwards. Threads that run already
//! are not affected, and must be confined separately. Open descriptors stay open, so sockets and folders are
//! opened first.

mod calls;
mod landlock;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;
use std::path::PathBuf;

/// The rights that a thread keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Whether it administers its network namespace. It then sets queues, filters and devices
    /// (`CAP_NET_ADMIN`, netlink and ethtool) and opens files, but starts no thread or program. Otherwise it
    /// has no capability, and only answers at open sockets.
    pub administers: bool,
    /// Folders with files that it may read.
    pub reads: Vec<PathBuf>,
    /// Folders in which it may read, create, change and remove files.
    pub writes: Vec<PathBuf>,
}

impl Confinement {
    /// Confines the calling thread to these rights. Returns a message for each mechanism that the kernel
    /// lacks; the others take effect all the same.
    ///
    /// # Errors
    /// If the kernel has a mechanism and refuses it.
    pub fn enter(&self) -> io::Result<Vec<String>> {
        // Landlock and seccomp require it of a thread without `CAP_SYS_ADMIN`.
        set_no_new_privs(true)?;
        let wanted = if self.administers { CapabilitySet::NET_ADMIN } else { CapabilitySet::empty() };
        keep_capabilities(wanted)?;
        let mut lacks = Vec::new();
        lacks.extend(landlock::restrict(&self.reads, &self.writes)?);
        // Last, since the list excludes the system calls of the other steps.
        lacks.extend(calls::restrict(self.administers)?);
        Ok(lacks)
    }
}

/// Drops all capabilities of the calling thread for good.
///
/// # Errors
/// None on known kernels.
pub fn give_up_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    keep_capabilities(CapabilitySet::empty())
}

fn keep_capabilities(wanted: CapabilitySet) -> io::Result<()> {
    let own = capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        // A capability outside of this set never returns, even by a program with file capabilities. Unknown
        // numbers end the list.
        for number in 0..64 {
            match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
                Ok(()) => (),
                Err(Errno::INVAL) => break,
                Err(error) => return Err(error.into()),
            }
        }
    }
    clear_ambient_capability_set()?;
    let kept = own.permitted & wanted;
    Ok(set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::net::{SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::process::Command;
    use std::thread;

    /// Returns a field of the calling thread's status in /proc.
    fn status(key: &str) -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.unwrap().trim().into()
    }

    /// The parts of a confinement that a kernel may lack: words of the message, and the need.
    const PARTS: [(&str, &str); 2] = [(LANDLOCK, "Landlock"), (CALLS, "seccomp")];
    const LANDLOCK: &str = "Landlock";
    const CALLS: &str = "system calls";

    fn has(lacks: &[String], part: &str) -> bool {
        !lacks.iter().any(|lack| lack.contains(part))
    }

    /// Counts the parts that this kernel lacks as skipped. A confined thread cannot: it may open no file.
    fn count(lacks: &[String]) {
        for lack in lacks {
            let (_, need) = PARTS.into_iter().find(|(words, _)| lack.contains(words)).expect("a part");
            evenair_needs::skip_part(need, lack);
        }
    }

    #[test]
    fn administrating_thread_works_in_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (reads, writes) = (folder.path().join("reads"), folder.path().join("writes"));
        for folder in [&reads, &writes] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "1").unwrap();
        }
        let before = status("CapEff");
        let confined = thread::spawn(move || {
            // The thread's status in /proc must stay readable.
            let kept = vec![reads.clone(), "/proc".into()];
            let lacks =
                Confinement { administers: true, reads: kept, writes: vec![writes.clone()] }.enter().unwrap();
            assert_eq!((status("NoNewPrivs").as_str(), status("CapInh").as_str()), ("1", "0000000000000000"));
            assert_eq!(status("CapEff").trim_matches('0').replace('1', ""), "", "at most one bit");
            fs::write(writes.join("new"), "2").unwrap();
            fs::rename(writes.join("new"), writes.join("file")).unwrap();
            fs::remove_file(writes.join("file")).unwrap();
            fs::create_dir(writes.join("folder")).unwrap();
            assert_eq!(fs::read_to_string(reads.join("file")).unwrap(), "1");
            if has(&lacks, LANDLOCK) {
                assert!(
                    fs::write(reads.join("file"), "3").is_err() && fs::write(reads.join("new"), "3").is_err()
                );
                assert!(fs::remove_file(reads.join("file")).is_err());
                assert!(File::open("/etc/passwd").is_err() && fs::read_dir(folder.path()).is_err());
            }
            if has(&lacks, CALLS) {
                assert!(Command::new("true").status().is_err(), "no program is started");
                assert!(thread::Builder::new().spawn(|| ()).is_err(), "nor a thread");
                assert!(crate::NetworkNamespace::new().is_err() && crate::Rtnetlink::new().is_err());
                assert!(
                    UdpSocket::bind("127.0.0.1:0").is_err(),
                    "no socket by which bytes leave the machine"
                );
                let features = crate::offload::Offloads::read("lo").map(|of| of.features().len());
                assert!(features.is_ok_and(|features| features > 0), "it queries a device for its features");
            }
            lacks
        });
        count(&confined.join().unwrap());
        assert_eq!(status("CapEff"), before, "other threads keep their rights");
    }

    /// Connects a TCP socket by sending (RFC 7413 §4.2.1), with `sendto` and with `sendmsg`.
    fn fast_open(socket: &impl AsRawFd, to: SocketAddrV4) -> [io::Result<()>; 2] {
        // SAFETY: zero is a value of both structures.
        let (mut address, mut message): (libc::sockaddr_in, libc::msghdr) = unsafe { std::mem::zeroed() };
        address.sin_family = libc::AF_INET as libc::sa_family_t;
        address.sin_port = to.port().to_be();
        address.sin_addr.s_addr = u32::from(*to.ip()).to_be();
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let mut word = libc::iovec { iov_base: c"out".as_ptr().cast_mut().cast(), iov_len: 3 };
        (message.msg_name, message.msg_namelen) = ((&raw mut address).cast(), length);
        (message.msg_iov, message.msg_iovlen) = (&raw mut word, 1);
        let (fd, flag) = (socket.as_raw_fd(), libc::MSG_FASTOPEN);
        // SAFETY: both read an address and three bytes, which outlive the call.
        let by_message = unsafe { libc::sendmsg(fd, &raw const message, flag) };
        let by_message = if by_message < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        // SAFETY: as above.
        let sent = unsafe { libc::sendto(fd, word.iov_base, 3, flag, message.msg_name.cast(), length) };
        [by_message, if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }]
    }

    #[test]
    fn no_thread_connects_by_sending() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(at) = listener.local_addr().unwrap() else { panic!("it is of IPv4") };
        for administers in [true, false] {
            // A socket from before: one that listened, and may connect once it was shut.
            let own = TcpListener::bind("127.0.0.1:0").unwrap();
            let confined = thread::spawn(move || {
                let lacks = Confinement { administers, ..Confinement::default() }.enter().unwrap();
                rustix::net::shutdown(&own, rustix::net::Shutdown::Both).unwrap();
                let opened = || fast_open(&own, at).map(|done| done.map_err(|error| error.raw_os_error()));
                let done = has(&lacks, CALLS).then(opened);
                (lacks, done)
            });
            let (lacks, done) = confined.join().unwrap();
            count(&lacks);
            if let Some(done) = done {
                assert_eq!(done, [(); 2].map(|()| Err(Some(libc::EPERM))), "{administers}");
            }
        }
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "nothing came");
    }

    #[test]
    fn answering_thread_opens_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let serves = thread::spawn(move || {
            let lacks = Confinement::default().enter().unwrap();
            if lacks.is_empty() {
                assert!(File::open("/dev/null").is_err() && UdpSocket::bind("127.0.0.1:0").is_err());
                assert!(TcpListener::bind("127.0.0.1:0").is_err());
            }
            let (mut stream, _) = listener.accept().unwrap();
            io::Write::write_all(&mut stream, b"it answers").unwrap();
            lacks
        });
        let mut stream = std::net::TcpStream::connect(at).unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut stream, &mut text).unwrap();
        count(&serves.join().unwrap());
        assert_eq!(text, "it answers");
    }
}
