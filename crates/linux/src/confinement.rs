//! A thread gives away what it will not need again: capabilities (capabilities(7)), new privileges by programs that it starts, files
//! and ports ([`landlock`](https://docs.kernel.org/userspace-api/landlock.html)), and system calls (seccomp(2)).
//!
//! There is no way back, for the thread and for those that it starts afterwards; threads that run already keep what they have, and
//! are to be confined by themselves. What is open stays open: so sockets and folders are opened first.

mod calls;
mod landlock;

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use std::io;
use std::path::PathBuf;

/// What a thread keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// It sets queues, filters and devices of its network namespace (`CAP_NET_ADMIN`, netlink and ethtool), opens files, and starts no
    /// thread or program. Otherwise it has no capability, and answers at sockets that are open, and that is all.
    pub administers: bool,
    /// Folders in which it reads.
    pub reads: Vec<PathBuf>,
    /// Folders in which it reads, makes, changes and removes files.
    pub writes: Vec<PathBuf>,
}

impl Confinement {
    /// From now on the calling thread may do no more than this. Gives a word for each part that the kernel does not have; the rest
    /// holds all the same.
    ///
    /// # Errors
    /// If the kernel has a part and refuses it.
    pub fn enter(&self) -> io::Result<Vec<String>> {
        // Landlock and seccomp ask for it of who may not administer the machine.
        set_no_new_privs(true)?;
        let wanted = if self.administers { CapabilitySet::NET_ADMIN } else { CapabilitySet::empty() };
        keep_capabilities(wanted)?;
        let mut lacks = Vec::new();
        lacks.extend(landlock::restrict(&self.reads, &self.writes)?);
        // The last: what the others do is not on the list.
        lacks.extend(calls::restrict(self.administers)?);
        Ok(lacks)
    }
}

/// The calling thread keeps no capability, and gets none back.
///
/// # Errors
/// None that a kernel is known to have.
pub fn give_up_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    keep_capabilities(CapabilitySet::empty())
}

fn keep_capabilities(wanted: CapabilitySet) -> io::Result<()> {
    let own = capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        // What is not in this set comes back by no program, whatever its file says. Unknown numbers end the list.
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
    use std::net::{TcpListener, UdpSocket};
    use std::process::Command;
    use std::thread;

    /// What the kernel says of the calling thread.
    fn status(key: &str) -> String {
        let status = fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.unwrap().trim().into()
    }

    #[test]
    fn who_administers_works_in_its_folders_and_starts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (reads, writes) = (folder.path().join("reads"), folder.path().join("writes"));
        for folder in [&reads, &writes] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("file"), "1").unwrap();
        }
        let before = status("CapEff");
        let confined = thread::spawn(move || {
            // The kernel's word on the thread must be read somewhere.
            let kept = vec![reads.clone(), "/proc".into()];
            let lacks =
                Confinement { administers: true, reads: kept, writes: vec![writes.clone()] }.enter().unwrap();
            let has = |part: &str| !lacks.iter().any(|lack| lack.contains(part));
            assert_eq!((status("NoNewPrivs").as_str(), status("CapInh").as_str()), ("1", "0000000000000000"));
            assert_eq!(status("CapEff").trim_matches('0').replace('1', ""), "", "at most one bit");
            fs::write(writes.join("new"), "2").unwrap();
            fs::rename(writes.join("new"), writes.join("file")).unwrap();
            fs::remove_file(writes.join("file")).unwrap();
            fs::create_dir(writes.join("folder")).unwrap();
            assert_eq!(fs::read_to_string(reads.join("file")).unwrap(), "1");
            if has("Landlock") {
                assert!(
                    fs::write(reads.join("file"), "3").is_err() && fs::write(reads.join("new"), "3").is_err()
                );
                assert!(fs::remove_file(reads.join("file")).is_err());
                assert!(File::open("/etc/passwd").is_err() && fs::read_dir(folder.path()).is_err());
            }
            if has("system calls") {
                assert!(Command::new("true").status().is_err(), "no program is started");
                assert!(thread::Builder::new().spawn(|| ()).is_err(), "nor a thread");
                assert!(crate::NetworkNamespace::new().is_err() && crate::Rtnetlink::new().is_err());
            }
        });
        confined.join().unwrap();
        assert_eq!(status("CapEff"), before, "other threads keep what they have");
    }

    #[test]
    fn who_answers_only_opens_nothing() {
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
        });
        let mut stream = std::net::TcpStream::connect(at).unwrap();
        let mut text = String::new();
        io::Read::read_to_string(&mut stream, &mut text).unwrap();
        serves.join().unwrap();
        assert_eq!(text, "it answers");
    }
}
