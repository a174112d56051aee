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
        self.drop_capabilities()?;
        let mut lacks = Vec::new();
        lacks.extend(landlock::restrict(&self.reads, &self.writes)?);
        // The last: what the others do is not on the list.
        lacks.extend(calls::restrict(self.administers)?);
        Ok(lacks)
    }

    fn drop_capabilities(&self) -> io::Result<()> {
        let own = capabilities(None)?;
        let wanted = if self.administers { CapabilitySet::NET_ADMIN } else { CapabilitySet::empty() };
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
}
