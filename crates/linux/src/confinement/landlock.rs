//! Landlock: the files, TCP ports and outside processes that a thread may still reach, by the kernel's
//! numbers (`linux/landlock.h`).

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;

/// `LANDLOCK_ACCESS_FS_*`.
mod access {
    pub(super) const WRITE_FILE: u64 = 1 << 1;
    pub(super) const READ_FILE: u64 = 1 << 2;
    pub(super) const READ_DIR: u64 = 1 << 3;
    pub(super) const REMOVE_FILE: u64 = 1 << 5;
    pub(super) const MAKE_DIR: u64 = 1 << 7;
    pub(super) const MAKE_REG: u64 = 1 << 8;
    pub(super) const TRUNCATE: u64 = 1 << 14;

    /// The rights that each version of the kernel's interface handles, from the first on.
    pub(super) const KNOWN: [u64; 5] =
        [(1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1];
}

const READS: u64 = access::READ_FILE | access::READ_DIR;
const WRITES: u64 =
    READS | access::WRITE_FILE | access::REMOVE_FILE | access::MAKE_DIR | access::MAKE_REG | access::TRUNCATE;

/// The first version that handles TCP ports, and the rights to bind and to connect.
const KNOWS_PORTS: usize = 4;
const PORTS: u64 = 1 | 1 << 1;
/// The first version that handles abstract sockets and signals.
const KNOWS_SCOPES: usize = 6;
const SCOPES: u64 = 1 | 1 << 1;

const VERSION: u32 = 1;
const PATH_BENEATH: u32 = 1;

/// `struct landlock_ruleset_attr`: the rights that are denied without a rule. A kernel accepts unknown fields
/// if they are zero.
#[repr(C)]
struct Ruleset {
    files: u64,
    ports: u64,
    scopes: u64,
}

/// `struct landlock_path_beneath_attr`.
#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    folder: i32,
}

/// Converts a system call's result.
fn checked(answer: libc::c_long) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Returns the version of the interface; none, if the kernel lacks it, or it is disabled.
fn version() -> Option<usize> {
    // SAFETY: nothing is read or written, because of `VERSION`.
    checked(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<Ruleset>(), 0, VERSION)
    })
    .ok()
}

/// Restricts the calling thread to these files, to no TCP ports, and to signals within its own processes.
/// Returns a message if the kernel lacks a part of that.
pub(super) fn restrict(reads: &[PathBuf], writes: &[PathBuf]) -> io::Result<Option<String>> {
    let Some(version) = version() else {
        return Ok(Some(
            "the kernel has no Landlock: all files that the user may open stay open to the process".into(),
        ));
    };
    let files = access::KNOWN[version.clamp(1, access::KNOWN.len()) - 1];
    let if_knows = |since, what| if version >= since { what } else { 0 };
    let ruleset =
        Ruleset { files, ports: if_knows(KNOWS_PORTS, PORTS), scopes: if_knows(KNOWS_SCOPES, SCOPES) };
    // SAFETY: the kernel reads one structure of this size, and returns a new descriptor.
    let descriptor = checked(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size_of::<Ruleset>(), 0)
    })?;
    let descriptor = libc::c_int::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: it was just created, and nothing else owns it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let all = reads.iter().map(|path| (path, READS)).chain(writes.iter().map(|path| (path, WRITES)));
    for (path, allowed) in all {
        // A missing folder needs no rule.
        let Ok(folder) = open(path, OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY, Mode::empty()) else {
            continue;
        };
        let beneath = Beneath { allowed: allowed & files, folder: folder.as_raw_fd() };
        // SAFETY: the kernel reads one structure of this kind.
        checked(unsafe {
            let (rules, beneath) = (descriptor.as_raw_fd(), &raw const beneath);
            libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, beneath, 0)
        })?;
    }
    // SAFETY: it restricts the thread's future opens, not its memory.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, descriptor.as_raw_fd(), 0) })?;
    Ok((version < KNOWS_PORTS).then(|| {
        format!("the kernel's Landlock is of version {version}: files are held, ports of TCP are not")
    }))
}
