//! A sandbox of namespaces for an ordinary user, which leaves nothing behind.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getegid, geteuid, set_parent_process_death_signal, wait, waitpid,
};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
    unshare_unsafe,
};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::exit;
use std::{fmt, fs, io};

/// The kernel refuses a sandbox, and the switch that would allow it.
#[derive(Debug)]
pub struct Refused {
    /// The step that was refused.
    step: &'static str,
    error: io::Error,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.step, self.error)?;
        let switches = [
            ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
            ("user/max_user_namespaces", "0", "user.max_user_namespaces=10000"),
            (
                "kernel/apparmor_restrict_unprivileged_userns",
                "1",
                "kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        ];
        let reads = |path: &str| fs::read_to_string(format!("/proc/sys/{path}")).unwrap_or_default();
        let off = switches.iter().find(|(path, off, _)| reads(path).trim() == *off);
        off.map_or(Ok(()), |(_, _, on)| write!(f, "; allow user namespaces: sysctl {on}"))
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// What makes of an error that this step was refused.
fn refused(step: &'static str) -> impl Fn(io::Error) -> Refused {
    move |error| Refused { step, error }
}

/// Goes on in a sandbox: a user namespace in which the process is who it was, and may do with its own network, mounts and
/// processes what root may; a network namespace without a device; a view of the file system whose mounts are its own; and a
/// process namespace that dies with the process that called this, by whatever signal that dies. Programs that it starts may
/// administer the sandbox's networks (ip, tc, nft), too, also an ordinary user's.
///
/// It returns in a new process. The calling process waits for that, with Ctrl-C ignored, and ends with its status; between the
/// two stands the first process of the process namespace, which buries orphans.
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
    // A container may hide parts of /proc and refuse another: then the old one stays, in which processes have other numbers.
    let _ = mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None);
    if let Some(worker) = fork().map_err(refused("no process"))? {
        only_waits();
        exit(bury_until(worker));
    }
    die_with_parent().map_err(refused("no signal at the parent's death"))?;
    let_programs_administer().map_err(refused("no capabilities"))
}

/// Whether the kernel would let [`enter`] go on, as far as namespaces decide; nothing of this process changes.
///
/// # Errors
/// As [`enter`].
pub fn probe() -> Result<(), Refused> {
    let refused = refused("no user namespace");
    let Some(child) = fork().map_err(&refused)? else {
        exit(new_namespaces().map_or_else(|refused| refused.error.raw_os_error().unwrap_or(1), |()| 0))
    };
    match status_of(child) {
        0 => Ok(()),
        code => Err(refused(io::Error::from_raw_os_error(code))),
    }
}

/// Puts a text in the place of a file, in the sandbox alone. The text has no name of its own, and goes with the sandbox.
///
/// # Errors
/// If the file is not there, or there is no place for temporary files.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new()?; // its name is gone at the end of this function
    file.write_all(text.as_bytes())?;
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644))?;
    Ok(mount_bind(file.path(), path)?)
}

/// Leaves all that is shared, and stays who one was.
fn new_namespaces() -> Result<(), Refused> {
    alone().map_err(refused("cannot enter a sandbox"))?;
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let new = UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    // SAFETY: there is one thread; neither memory nor descriptors are unshared.
    unsafe { unshare_unsafe(new) }.map_err(|e| refused("no user namespace")(e.into()))?;
    // The order is the kernel's: without the second a user may not map a group.
    fs::write("/proc/self/uid_map", format!("{user} {user} 1")).map_err(refused("no map of users"))?;
    fs::write("/proc/self/setgroups", "deny").map_err(refused("no map of groups"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1")).map_err(refused("no map of groups"))
}

/// Fails where the process has other threads, which a new namespace and a fork would leave behind.
fn alone() -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    let is_alone = threads.is_some_and(|count| count.trim() == "1");
    if is_alone { Ok(()) } else { Err(io::Error::other("only a process of one thread can be taken there")) }
}

/// The child's number; none in the child.
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

/// Programs inherit what networks need: without this only root's would keep it.
fn let_programs_administer() -> io::Result<()> {
    let mut own = capabilities(None)?;
    own.inheritable |= CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    set_capabilities(None, own)?;
    for capability in [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW] {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Ctrl-C is for the processes inside; whoever waits for them goes on waiting.
fn ignore_interrupts() {
    // SAFETY: no handler runs.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
}

/// The process will do nothing but wait. It is an ordinary one from here on: where somebody looks into the folder of a process in /proc that it
/// buries, Linux tries again and again until he has done so, and a real-time process on his processor keeps him from it for ever.
fn only_waits() {
    ignore_interrupts();
    crate::scheduling::stay_ordinary();
}

/// Waits for a child; gives its status as a shell has it.
fn status_of(child: Pid) -> i32 {
    loop {
        if let Ok(Some((_, status))) = waitpid(Some(child), WaitOptions::empty()) {
            return shell_status(status);
        }
    }
}

/// Waits for all children, of which orphans become some, until this one has ended.
fn bury_until(worker: Pid) -> i32 {
    loop {
        if let Ok(Some((child, status))) = wait(WaitOptions::empty())
            && child == worker
        {
            return shell_status(status);
        }
    }
}

/// A process's status as a shell has it: 128 and more for a signal.
fn shell_status(status: WaitStatus) -> i32 {
    status.exit_status().unwrap_or_else(|| 128 + status.terminating_signal().unwrap_or(0))
}
