//! Network namespaces.

use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A network namespace, held by a descriptor alone. It has no name and no file, and ends once it is empty and
/// this is dropped.
#[derive(Debug)]
pub struct NetworkNamespace {
    held: OwnedFd,
}

impl NetworkNamespace {
    /// Creates a namespace with nothing but a loopback device, which is down.
    ///
    /// # Errors
    /// If the kernel refuses: the calling thread lacks `CAP_SYS_ADMIN` in its user namespace
    /// ([`crate::sandbox::enter`] grants it), or `user.max_net_namespaces` is reached.
    pub fn new() -> io::Result<Self> {
        let home = Self::current()?;
        // SAFETY: only the network namespace changes; no memory or descriptor is unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(refused)?;
        let new = Self::current();
        home.enter()?;
        new
    }

    /// Returns the calling thread's namespace.
    ///
    /// # Errors
    /// If /proc is not mounted.
    pub fn current() -> io::Result<Self> {
        let held = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { held })
    }

    /// Runs a function with the calling thread in this namespace. Sockets and processes created in it stay in
    /// the namespace afterwards.
    ///
    /// # Errors
    /// If the thread may not enter.
    ///
    /// # Panics
    /// If the thread cannot return: it must not continue in the wrong namespace.
    pub fn within<T>(&self, act: impl FnOnce() -> T) -> io::Result<T> {
        let home = Self::current()?;
        self.enter()?;
        let done = act();
        home.enter().expect("a thread returns to the namespace that it came from");
        Ok(done)
    }

    fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.held.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// Returns the kernel's error, with the remedy if a limit of namespaces is reached (`namespaces(7)`).
fn refused(error: rustix::io::Errno) -> io::Error {
    match error {
        rustix::io::Errno::NOSPC => {
            io::Error::other(format!("no network namespace: {error}; {}", crate::sandbox::spent("net")))
        }
        error => error.into(),
    }
}

impl AsFd for NetworkNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}
