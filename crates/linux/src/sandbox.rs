//! A sandbox of namespaces for an ordinary user, which leaves nothing behind.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getegid, geteuid, set_parent_process_death_signal, wait, waitpid,
};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
    unshare_unsafe,
};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::exit;
use std::{fmt, fs, io};

/// The kernel refuses a sandbox; the message names the setting that would allow it.
#[derive(Debug)]
pub struct Refused {
    /// The refused step.
    step: &'static str,
    error: io::Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.error)?;
        let reads = |path: &str| fs::read_to_string(format!("/proc/{path}")).unwrap_or_default();
        self.remedy(reads).map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

// No source: the printed message has the cause.
impl std::error::Error for Refused {}

impl Refused {
    /// Returns the remedy, by the kernel's error and the content of files in /proc.
    fn remedy(&self, reads: impl Fn(&str) -> String) -> Option<String> {
        let kind = KINDS.iter().find(|kind| kind.step == self.step)?;
        let error = self.error.raw_os_error()?;
        // `namespaces(7)`: this user or an enclosing namespace has reached the limit, or 32 user namespaces
        // are nested.
        if matches!(error, libc::ENOSPC | libc::EUSERS) {
            return Some(spent(kind.name));
        }
        let off = SWITCHES.iter().find(|(path, off, _)| reads(path).trim() == *off);
        if let Some((_, _, on)) = off {
            return Some(format!("allow user namespaces: sysctl {on}"));
        }
        let is_filtered = is_filtered(&reads("self/status"));
        (error == libc::EPERM).then(|| if is_filtered { FILTER.into() } else { FORBIDDEN.into() })
    }

    /// Returns the error's number, and the step's, for the process that tries in a child.
    fn told(&self) -> [i32; 2] {
        let step = KINDS.iter().position(|kind| kind.step == self.step);
        [
            self.error.raw_os_error().unwrap_or(libc::EIO),
            step.and_then(|step| i32::try_from(step).ok()).unwrap_or(-1),
        ]
    }
}

/// Files in /proc that forbid user namespaces: their content then, and the setting that allows them.
const SWITCHES: [(&str, &str, &str); 3] = [
    ("sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
    ("sys/user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
    (
        "sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

/// The remedy if a filter of system calls refuses namespaces.
const FILTER: &str = "a filter of system calls (seccomp) refuses it, as a container's does: run the container with --security-opt seccomp=unconfined, \
    a service of systemd with RestrictNamespaces=no";

/// The remedy if another mechanism refuses them (`unshare(2)`).
const FORBIDDEN: &str = "a chroot, the container that this runs in, or a security module forbids it: run it outside of the container, or look at dmesg";

/// Returns the remedy if a user has reached the limit of a kind of namespace (`namespaces(7)`).
pub(crate) fn spent(kind: &str) -> String {
    format!(
        "the limit of {kind} namespaces is reached: end the programs that hold them (lsns -t {kind}), or raise it: sysctl user.max_{kind}_namespaces=10000, outside of all containers"
    )
}

/// Returns whether a process has a filter of system calls, by its `/proc/PID/status` (`proc_pid_status(5)`:
/// 2).
fn is_filtered(status: &str) -> bool {
    status.lines().filter_map(|line| line.strip_prefix("Seccomp:")).any(|mode| mode.trim() == "2")
}

/// A kind of namespace.
struct Kind {
    flag: UnshareFlags,
    /// The text of its refusal.
    step: &'static str,
    /// Its name in `lsns` and in the limit's name.
    name: &'static str,
}

/// The kinds of a sandbox, in order: a process in the first may create the others.
const KINDS: [Kind; 4] = [
    Kind { flag: UnshareFlags::NEWUSER, step: "no user namespace", name: "user" },
    Kind { flag: UnshareFlags::NEWNET, step: "no network namespace", name: "net" },
    Kind { flag: UnshareFlags::NEWNS, step: "no mount namespace", name: "mnt" },
    Kind { flag: UnshareFlags::NEWPID, step: "no process namespace", name: "pid" },
];

/// Returns a function that converts an error into the refusal of this step.
fn refused(step: &'static str) -> impl Fn(io::Error) -> Refused {
    move |error| Refused { step, error }
}

/// Continues in a sandbox. It has a user namespace, in which the process keeps its user and has root's rights
/// over its own network, mounts and processes. It has a network namespace without a device, and its own view
/// of the file system. Its process namespace ends with the process that called this, by any signal. Programs
/// that it starts may also administer the sandbox's networks (ip, tc, nft), even for an ordinary user.
///
/// It returns in a new process. The calling process waits for that process, with Ctrl-C ignored, and ends
/// with its status. Between the two runs the first process of the process namespace, which reaps orphans.
///
/// # Errors
/// If the kernel refuses user namespaces, or the process has several threads.
pub fn enter() -> Result<(), Refused> {
    crate::scheduling::keep_real_time();
    new_namespaces()?;
    if let Some(first) = fork().map_err(refused("no process"))? {
        only_waits();
        exit(status_of(first));
    }
    die_with_parent().map_err(refused("no signal at the parent's death"))?;
    let own = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", own).map_err(|e| refused("no mounts of its own")(e.into()))?;
    // A container may hide parts of /proc and refuse another: then the old one stays, in which processes have
    // other numbers.
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    if let Some(worker) = fork().map_err(refused("no process"))? {
        only_waits();
        exit(bury_until(worker));
    }
    die_with_parent().map_err(refused("no signal at the parent's death"))?;
    let_programs_administer().map_err(refused("no capabilities"))
}

/// Checks whether the kernel would let [`enter`] succeed, as far as namespaces decide; this process stays
/// unchanged.
///
/// # Errors
/// As [`enter`].
pub fn probe() -> Result<(), Refused> {
    let no_process = refused("no process");
    let (mut reads, mut writes) = UnixStream::pair().map_err(&no_process)?;
    let Some(child) = fork().map_err(&no_process)? else {
        let told = new_namespaces().map_or_else(|refused| refused.told(), |()| [0; 2]);
        exit(writes.write_all(&told.map(i32::to_ne_bytes).concat()).map_or(1, |()| 0))
    };
    drop(writes);
    let mut told = [[0; 4]; 2];
    let is_told = reads.read_exact(told.as_flattened_mut());
    status_of(child);
    is_told.map_err(&no_process)?;
    match told.map(i32::from_ne_bytes) {
        [0, _] => Ok(()),
        [error, number] => Err(Refused { step: step(number), error: io::Error::from_raw_os_error(error) }),
    }
}

/// Returns the step of a number in a child's report.
fn step(number: i32) -> &'static str {
    usize::try_from(number)
        .ok()
        .and_then(|number| KINDS.get(number))
        .map_or("cannot enter a sandbox", |kind| kind.step)
}

/// Replaces a file's content with a text, in the sandbox alone. The text has no file name, and ends with the
/// sandbox.
///
/// # Errors
/// If the file is missing, or there is no room for temporary files.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new()?; // its name is removed at the end of this function
    file.write_all(text.as_bytes())?;
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
    Ok(mount_bind(file.path(), path)?)
}

/// Leaves all shared namespaces, and keeps the user.
fn new_namespaces() -> Result<(), Refused> {
    alone().map_err(refused("cannot enter a sandbox"))?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    for kind in &KINDS {
        // SAFETY: there is one thread; neither memory nor descriptors are unshared.
        unsafe { unshare_unsafe(kind.flag) }.map_err(|e| refused(kind.step)(e.into()))?;
    }
    // The kernel requires this order: without the second step a user may not map a group.
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(refused("no map of users"))?;
    fs::write("/proc/self/setgroups", "deny").map_err(refused("no map of groups"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(refused("no map of groups"))
}

/// Fails if the process has other threads, which a new namespace and a fork would leave behind.
fn alone() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    let is_alone = threads.is_some_and(|count| count.trim() == "1");
    if is_alone { Ok(()) } else { Err(io::Error::other("only a process of one thread can be taken there")) }
}

/// Forks; returns the child's number, or none in the child.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    alone()?;
    // SAFETY: there is one thread, so the child is a whole process.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        child => Ok(Pid::from_raw(child)),
    }
}

pub(crate) fn die_with_parent() -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
}

/// Makes programs inherit the capabilities for networks: otherwise only root's would keep them.
fn let_programs_administer() -> io::Result<()> {
    let mut own = capabilities(None)?;
    own.inheritable |= CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    set_capabilities(None, own)?;
    for capability in [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW] {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Ignores Ctrl-C, which is for the processes inside; their waiting parent continues.
fn ignore_interrupts() {
    // SAFETY: no handler runs.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// Prepares a process that does nothing but wait: it becomes an ordinary one. While another process reads the
/// /proc folder of a process being reaped, Linux retries the reaping until that is done. A real-time reaper
/// on the same processor would block the reader for ever.
fn only_waits() {
    ignore_interrupts();
    crate::scheduling::stay_ordinary();
}

/// Waits for a child; returns its status as a shell does.
fn status_of(child: Pid) -> i32 {
    loop {
        if let Ok(Some((_, status))) = waitpid(Some(child), WaitOptions::empty()) {
            return shell_status(status);
        }
    }
}

/// Waits for all children, orphans included, until this one has ended.
fn bury_until(worker: Pid) -> i32 {
    loop {
        if let Ok(Some((child, status))) = wait(WaitOptions::empty())
            && child == worker
        {
            return shell_status(status);
        }
    }
}

/// Returns a process's status as a shell does: 128 and more for a signal.
fn shell_status(status: WaitStatus) -> i32 {
    status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the message of a refusal, given the content of files in /proc.
    fn words(step: &'static str, error: i32, files: &[(&str, &str)]) -> String {
        let reads =
            |path: &str| files.iter().find(|(name, _)| *name == path).map_or("", |(_, text)| text).to_owned();
        Refused { step, error: io::Error::from_raw_os_error(error) }.remedy(reads).unwrap_or_default()
    }

    #[test]
    fn each_refusal_has_its_remedy() {
        let filtered = ("self/status", "Name:\tevenair\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        let free = ("self/status", "Name:\tevenair\nSeccomp:\t0\n");
        let off = ("sys/kernel/unprivileged_userns_clone", "0\n");
        assert!(
            words("no user namespace", libc::EPERM, &[filtered])
                .contains("--security-opt seccomp=unconfined")
        );
        assert!(words("no user namespace", libc::EPERM, &[free]).contains("chroot"));
        assert_eq!(
            words("no user namespace", libc::EPERM, &[filtered, off]),
            "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"
        );
        for (step, kind) in [
            ("no user namespace", "user"),
            ("no network namespace", "net"),
            ("no mount namespace", "mnt"),
            ("no process namespace", "pid"),
        ] {
            let said = words(step, libc::ENOSPC, &[filtered]);
            assert!(said.contains(&format!("lsns -t {kind})")), "{said}");
            assert!(said.contains(&format!("sysctl user.max_{kind}_namespaces=10000")), "{said}");
        }
        assert_eq!(words("no process", libc::EAGAIN, &[]), "");
    }

    #[test]
    fn a_cause_is_printed_once() {
        let refused =
            Refused { step: "no network namespace", error: io::Error::from_raw_os_error(libc::ENOSPC) };
        assert!(std::error::Error::source(&refused).is_none(), "{refused}");
        assert_eq!(refused.to_string().matches("No space left on device").count(), 1);
        assert_eq!((step(refused.told()[1]), refused.told()[0]), ("no network namespace", libc::ENOSPC));
    }
}
