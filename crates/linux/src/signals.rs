//! The signals by which a service is told to end or to read its settings again, as a descriptor that can be waited for.

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGTERM or SIGINT: an end.
    End,
    /// SIGHUP: the settings are read again.
    Reload,
}

/// The signals that wait.
#[derive(Debug)]
pub struct Signals {
    waiting: OwnedFd,
}

impl Signals {
    /// From now on these signals wait until they are asked for: those of the calling thread, and of the threads that it starts
    /// afterwards.
    ///
    /// # Errors
    /// If the process has no descriptors left.
    pub fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is made before it is added to and read; no handler is changed.
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
        // SAFETY: it was just made, and nobody else has it.
        Ok(Self { waiting: unsafe { OwnedFd::from_raw_fd(descriptor) } })
    }

    /// The next one that waits; none, if none does.
    pub fn take(&mut self) -> Option<Asked> {
        let mut told = MaybeUninit::<libc::signalfd_siginfo>::uninit();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: there is room for so many bytes, of which any are a value.
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
