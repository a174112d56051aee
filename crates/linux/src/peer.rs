//! The user at the other end of a local socket (unix(7)), as the kernel reports it.

use crate::socket_option;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Returns the user and the primary group that the other end had when it connected (`SO_PEERCRED`). The
/// number of its process is omitted: it is 0 in a namespace that does not contain the process.
///
/// # Errors
/// If it is no socket.
pub fn user_and_group(socket: impl AsFd) -> io::Result<(u32, u32)> {
    let [_process, user, group] = socket_option::value(socket, libc::SOL_SOCKET, libc::SO_PEERCRED)?;
    Ok((user, group))
}

/// Returns the supplementary groups that the other end had when it connected.
///
/// # Errors
/// If it is no local socket that is connected.
pub fn groups(socket: impl AsFd) -> io::Result<Vec<u32>> {
    // The most groups of a user (`NGROUPS_MAX`) take 256 kB: the kernel returns the number if the buffer is
    // too small.
    let mut groups = vec![0_u32; 32];
    loop {
        let mut length = size_of_val(&groups[..]) as libc::socklen_t;
        let (socket, place) = (socket.as_fd().as_raw_fd(), groups.as_mut_ptr());
        // SAFETY: the kernel writes no more than `length` bytes, and returns the number written.
        let done = unsafe {
            libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERGROUPS, place.cast(), &raw mut length)
        };
        let count = length as usize / size_of::<u32>();
        match done {
            0 => {
                groups.truncate(count);
                return Ok(groups);
            }
            _ if io::Error::last_os_error().raw_os_error() == Some(libc::ERANGE) && count > groups.len() => {
                groups.resize(count, 0);
            }
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn own_groups_are_read() {
        let (one, _other) = UnixStream::pair().unwrap();
        let own = rustix::process::getgroups().unwrap();
        assert_eq!(groups(&one).unwrap(), own.iter().map(|group| group.as_raw()).collect::<Vec<_>>());
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        assert_eq!(user_and_group(&one).unwrap(), (user.as_raw(), group.as_raw()));
        assert!(groups(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
