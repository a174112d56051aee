//! Options of sockets that `rustix` lacks.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option that is a number.
pub(crate) fn set(socket: impl AsFd, level: i32, option: i32, value: u32) -> io::Result<()> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let socket = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel reads one integer.
    let done = unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
