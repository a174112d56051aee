//! The signals that end a service or make it read its settings again, as a descriptor to wait for.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGTERM or SIGINT: end.
    End,
    /// SIGHUP: read the settings again.
    Reload,
}

/// The pending signals.
#[derive(Debug)]
pub struct Signals {
    waiting: OwnedFd,
}

impl Signals {
    /// Blocks these signals and keeps them pending, for the calling thread and the threads that it starts
    /// afterwards.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is initialised before it is added to and read; no handler is changed.
        let descriptor = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), std::ptr::null_mut()) != 0 {
                return Err(io::Error::other("signals cannot be kept waiting"));
            }
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was just created, and nothing else owns it.
        Ok(Self { waiting: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    /// Returns the next pending signal, or none.
    pub fn take(&mut self) -> Option<Asked> {
        let mut told = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the buffer has this size, and any bytes are a value of it.
        let length = unsafe { libc::read(self.waiting.as_raw_fd(), told.as_mut_ptr().cast(), size) };
        if length != size.cast_signed() {
            return None;
        }
        // SAFETY: all of it was written.
        let signal = unsafe { told.assume_init() }.ssi_signo.cast_signed();
        Some(if signal == libc::SIGHUP { Asked::Reload } else { Asked::End })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waiting.as_fd()
    }
}
