//! The system call.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Commands, by their numbers in `enum bpf_cmd`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    ProgramLoad = 5,
    ObjectPin = 6,
    ObjectGet = 7,
    NextProgram = 11,
    NextMap = 12,
    ObjectInfo = 15,
    BtfLoad = 18,
    LinkCreate = 28,
    LinkUpdate = 29,
    NextLink = 31,
    IteratorCreate = 33,
    LinkDetach = 34,
}

/// A name of at most fifteen bytes, and zeros.
pub(super) type Text = [u8; 16];

/// Returns a name as tools show it, cut to its room.
pub(super) fn text(name: &str) -> Text {
    let mut text = [0; 16];
    for (place, byte) in text.iter_mut().zip(name.bytes().take(15)) {
        *place = byte;
    }
    text
}

/// Returns the address of bytes that the kernel is to read.
pub(super) fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr() as u64
}

/// The attempts of a call that a signal interrupts, as in the verification of a program.
const TRIES: u32 = 16;

/// Makes a call with attributes, in which the kernel may answer.
///
/// # Safety
/// Every address in the attributes must be 0 or that of memory that lives until the call returns. The kernel
/// must read or write no more than that memory. The lengths are in fields beside the addresses, or follow
/// from the command and, for a map's values, from the map.
pub(super) unsafe fn call<A>(command: Command, attributes: &mut A) -> io::Result<i32> {
    let mut error = io::Error::from(io::ErrorKind::Interrupted);
    for _ in 0..TRIES {
        // SAFETY: the kernel reads and writes only the attributes, of the given size, and the memory at their
        // addresses, which the caller guarantees.
        let done = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command as libc::c_int,
                std::ptr::from_mut(attributes),
                size_of::<A>(),
            )
        };
        if done >= 0 {
            return Ok(done as i32);
        }
        error = io::Error::last_os_error();
        if !matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) {
            break;
        }
    }
    Err(error)
}

/// Makes a call that returns a descriptor.
///
/// # Safety
/// As for [`call`]; and the command must answer with a new descriptor.
pub(super) unsafe fn descriptor<A>(command: Command, mut attributes: A) -> io::Result<OwnedFd> {
    // SAFETY: the caller guarantees the attributes.
    let descriptor = unsafe { call(command, &mut attributes) }?;
    // SAFETY: the kernel has just created it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
