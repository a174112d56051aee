//! The reasons why a congestion control could not be loaded, found or changed, with the remedy.

use super::bytes::Malformed;
use super::law::BadSetting;
use std::path::PathBuf;
use std::{fmt, io};

/// "Operation not permitted", and "Read-only file system".
const EPERM: i32 = 1;
const EROFS: i32 = 30;

/// The reason of a failure.
#[derive(Debug)]
pub enum Trouble {
    /// A parameter is wrong.
    Setting(BadSetting),
    /// The kernel is older than links of congestion controls.
    OldKernel(String),
    /// The kernel does not describe its types.
    NoTypes(io::Error),
    /// The process lacks the privilege.
    Unprivileged,
    /// A description or an object cannot be read.
    Malformed(&'static str, Malformed),
    /// The kernel lacks a structure, or a member of it.
    Lacks(String),
    /// The verifier rejected a program, with its last message.
    Refused {
        /// The program.
        program: String,
        /// The kernel's error.
        error: io::Error,
        /// The verifier's last line.
        why: String,
    },
    /// It is loaded already.
    Loaded(&'static str),
    /// It is in force without a pin: a process holds it.
    Held(String),
    /// It is not loaded.
    NotLoaded(&'static str),
    /// The folder of pins belongs to another user, or others may write there.
    StrangePins(PathBuf),
    /// There is no file system for pins.
    NoPins(PathBuf, io::Error),
    /// The file system for pins is read-only.
    ReadOnlyPins(PathBuf),
    /// The kernel refused a step.
    Step(&'static str, io::Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(bad) => bad.fmt(f),
            Self::OldKernel(release) => write!(
                f,
                "Linux {release} cannot load congestion controls so: 6.4 is the least; boot a newer kernel"
            ),
            Self::NoTypes(error) => write!(
                f,
                "/sys/kernel/btf/vmlinux: {error}: this kernel does not describe its types; take one with CONFIG_DEBUG_INFO_BTF=y, as those of distributions are"
            ),
            Self::Unprivileged => f.write_str(
                "this takes root, outside of any user namespace (or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, and CAP_SYS_ADMIN to mount /sys/fs/bpf): sudo evenair cc …",
            ),
            Self::Malformed(what, why) => write!(f, "{what}: {why}"),
            Self::Lacks(what) => write!(f, "this kernel has no {what}"),
            Self::Refused { program, error, why } => {
                write!(f, "the kernel refuses the program {program}: {error}: {why}")
            }
            Self::Loaded(control) => write!(
                f,
                "{control} is loaded already: change it with evenair cc set, replace it with --replace, or unload it first"
            ),
            Self::Held(control) => write!(
                f,
                "{control} is held by another process (evenair cc load --foreground, without a pin): it is gone when that one ends; pgrep -af 'cc load' finds it"
            ),
            Self::NotLoaded(control) => {
                write!(f, "{control} is not loaded: evenair cc list shows the loaded ones")
            }
            Self::StrangePins(path) => write!(
                f,
                "{}: not root alone may write this folder, so another user may have made it: check it, and remove it",
                path.display()
            ),
            Self::NoPins(path, error) => write!(f, "{}: {error}: pins need a BPF file system there: mount -t bpf bpf /sys/fs/bpf", path.display()),
            Self::ReadOnlyPins(path) => write!(
                f,
                "{}: the BPF file system there is mounted read-only: mount -o remount,rw /sys/fs/bpf (in a container: give it /sys/fs/bpf to write to), or load without a pin: evenair cc load --foreground",
                path.display()
            ),
            Self::Step(step, error) => write!(f, "{step}: {error}"),
        }
    }
}

impl std::error::Error for Trouble {}

impl From<BadSetting> for Trouble {
    fn from(bad: BadSetting) -> Self {
        Self::Setting(bad)
    }
}

impl Trouble {
    /// Returns the error of a missing file system for pins, or of one that is not writable.
    pub(crate) fn of_pins(path: PathBuf, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(EROFS) => Self::ReadOnlyPins(path),
            _ => Self::NoPins(path, error),
        }
    }
}

/// Returns a function that converts the kernel's error into the refusal of this step.
pub(crate) fn at(step: &'static str) -> impl Fn(io::Error) -> Trouble {
    // The verifier rejects with EACCES, a lack of capabilities is EPERM.
    move |error| match error.raw_os_error() {
        Some(EPERM) => Trouble::Unprivileged,
        // Only pins are ever written.
        Some(EROFS) => Trouble::ReadOnlyPins("/sys/fs/bpf".into()),
        _ => Trouble::Step(step, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_pin_folder_has_its_own_remedy() {
        let of = |errno: i32| {
            Trouble::of_pins("/sys/fs/bpf/evenair".into(), io::Error::from_raw_os_error(errno)).to_string()
        };
        // EROFS 30, ENOENT 2.
        let read_only = of(30);
        assert!(
            read_only.contains("mount -o remount,rw /sys/fs/bpf") && read_only.contains("--foreground"),
            "{read_only}"
        );
        assert!(!read_only.contains("mount -t bpf"), "{read_only}");
        assert!(of(2).contains("mount -t bpf bpf /sys/fs/bpf"));
    }
}
