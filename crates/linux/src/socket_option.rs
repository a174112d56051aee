//! Options of sockets that `rustix` lacks.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option that is a number.
pub(crate) fn set(socket: impl AsFd, level: i32, option: i32, value: u32) -> io::Result<()> {
    set_value(socket, level, option, &libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX))
}

/// Sets an option that is a structure of the kernel.
pub(crate) fn set_value<T>(socket: impl AsFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let (socket, length) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the kernel reads no more than the structure.
    let done = unsafe { libc::setsockopt(socket, level, option, std::ptr::from_ref(value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option that consists of numbers.
pub(crate) fn value<const N: usize>(socket: impl AsFd, level: i32, option: i32) -> io::Result<[u32; N]> {
    let mut numbers = [0; N];
    let mut length = size_of_val(&numbers) as libc::socklen_t;
    let (socket, place) = (socket.as_fd().as_raw_fd(), numbers.as_mut_ptr());
    // SAFETY: the kernel writes no more than `length` bytes.
    let done = unsafe { libc::getsockopt(socket, level, option, place.cast(), &raw mut length) };
    if done == 0 { Ok(numbers) } else { Err(io::Error::last_os_error()) }
}
