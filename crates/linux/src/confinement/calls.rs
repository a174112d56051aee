//! The system calls that remain to a thread. Any other one fails with `EPERM`, which a daemon can report. An
//! attacker in control of the thread can then not start a program, trace a process, load a module, mount, or
//! change namespaces.

use std::io;

/// The calls of a thread that answers at open sockets and manages its memory. Sending calls have a condition,
/// see [`rules`].
const SERVES: &[libc::c_long] = &[
    // Its sockets.
    libc::SYS_accept4,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_getsockopt,
    libc::SYS_ppoll,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_write,
    libc::SYS_writev,
    // Its memory, without the right to execute written pages, see below.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Time, other threads, signals and exit.
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_tkill,
];

/// Beside those: files, numbers of devices and their features, and the own user.
const ADMINISTERS: &[libc::c_long] = &[
    libc::SYS_bind,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getsockname,
    libc::SYS_getuid,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_readlinkat,
    libc::SYS_renameat2,
    libc::SYS_statx,
    libc::SYS_uname,
    libc::SYS_unlinkat,
];

/// Calls that older C libraries use instead.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_open,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(target_arch = "aarch64")]
const OLDER: &[libc::c_long] = &[libc::SYS_renameat];

/// Restricts the calling thread to these calls. Returns a message if that is not possible.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn restrict(administers: bool) -> io::Result<Option<String>> {
    use seccompiler::{BpfProgram, Error, SeccompAction, SeccompFilter, apply_filter};
    let allow = || -> Result<BpfProgram, seccompiler::BackendError> {
        let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let arch = std::env::consts::ARCH.try_into()?;
        SeccompFilter::new(rules(administers)?, denied, SeccompAction::Allow, arch)?.try_into()
    };
    let program = allow().map_err(|error| io::Error::other(error.to_string()))?;
    match apply_filter(&program) {
        Ok(()) => Ok(None),
        // The error of a kernel that was built without it.
        Err(Error::Prctl(error) | Error::Seccomp(error))
            if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) =>
        {
            Ok(Some("the kernel has no seccomp filters: all system calls stay open to the process".into()))
        }
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

/// Restricts the calling thread to these calls. Returns a message if that is not possible.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn restrict(_administers: bool) -> io::Result<Option<String>> {
    let arch = std::env::consts::ARCH;
    Ok(Some(format!("no list of system calls is made for {arch}: all of them stay open to the process")))
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
type Rules = std::collections::BTreeMap<i64, Vec<seccompiler::SeccompRule>>;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn rules(administers: bool) -> Result<Rules, seccompiler::BackendError> {
    use seccompiler::{SeccompCmpArgLen::Dword, SeccompCmpOp, SeccompCondition, SeccompRule};
    let only = |argument, mask: i32, value: i32| {
        let masked = SeccompCmpOp::MaskedEq(mask.cast_unsigned().into());
        let condition = SeccompCondition::new(argument, Dword, masked, value.cast_unsigned().into())?;
        SeccompRule::new(vec![condition])
    };
    let mut calls = SERVES.to_vec();
    if administers {
        calls.extend_from_slice(ADMINISTERS);
        calls.extend_from_slice(OLDER);
    }
    let mut rules: Rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_poll, Vec::new());
    // Memory is writable or executable, never both.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![only(2, libc::PROT_EXEC, 0)?]);
    }
    // With this flag a TCP socket connects as it sends, past the rules about connect(2): Landlock's ports as
    // well as this list.
    rules.insert(libc::SYS_sendto, vec![only(3, libc::MSG_FASTOPEN, 0)?]);
    rules.insert(libc::SYS_sendmsg, vec![only(2, libc::MSG_FASTOPEN, 0)?]);
    if administers {
        // A device's features are read through such a socket, which reaches the kernel alone; all others are
        // open already.
        let is = |argument, value: i32| {
            SeccompCondition::new(argument, Dword, SeccompCmpOp::Eq, value.cast_unsigned().into())
        };
        let generic = SeccompRule::new(vec![is(0, libc::AF_NETLINK)?, is(2, libc::NETLINK_GENERIC)?])?;
        rules.insert(libc::SYS_socket, vec![generic]);
    }
    Ok(rules)
}
