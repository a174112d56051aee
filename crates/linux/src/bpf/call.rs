//! The system call.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// What the kernel is asked for, by its numbers of `enum bpf_cmd`.
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
}

/// A name of at most fifteen letters, and zeros.
pub(super) type Text = [u8; 16];

/// A name as tools show it, as far as there is room.
pub(super) fn text(name: &str) -> Text {
    let mut text = [0; 16];
    for (place, byte) in text.iter_mut().zip(name.bytes().take(15)) {
        *place = byte;
    }
    text
}

/// The address of what the kernel is to read.
pub(super) fn address(bytes: &[u8]) -> u64 {
    bytes.as_ptr() as u64
}

/// How often a call is made that gives way to a signal, as the verification of a program does.
const TRIES: u32 = 16;

/// Calls with attributes. The kernel may answer in them.
///
/// # Safety
/// Every address in the attributes is 0 or that of memory that lives until the call returns, and of which the kernel reads or writes
/// no more than there is: lengths stand beside the addresses, or follow from the command and, for a map's values, from the map.
pub(super) unsafe fn call<A>(command: Command, attributes: &mut A) -> io::Result<i32> {
    let mut error = io::Error::from(io::ErrorKind::Interrupted);
    for _ in 0..TRIES {
        // SAFETY: the kernel reads and writes no more than the attributes, whose size it is given, and what their addresses name,
        // for which the caller answers.
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

/// Calls for what comes with a descriptor.
///
/// # Safety
/// As of [`call`]; and the command answers with a new descriptor.
pub(super) unsafe fn descriptor<A>(command: Command, mut attributes: A) -> io::Result<OwnedFd> {
    // SAFETY: the caller answers for the attributes.
    let descriptor = unsafe { call(command, &mut attributes) }?;
    // SAFETY: the kernel has just made it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
