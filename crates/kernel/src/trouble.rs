//! Why a congestion control could not be loaded, found or changed, with the remedy.

use super::bytes::Malformed;
use super::law::BadSetting;
use std::path::PathBuf;
use std::{fmt, io};

/// "Operation not permitted".
const EPERM: i32 = 1;

/// What stands in the way.
#[derive(Debug)]
pub enum Trouble {
    /// A parameter.
    Setting(BadSetting),
    /// The kernel is older than links of congestion controls.
    OldKernel(String),
    /// The kernel does not describe its types.
    NoTypes(io::Error),
    /// The process may not.
    Unprivileged,
    /// A description or an object that cannot be read.
    Malformed(&'static str, Malformed),
    /// The kernel lacks a structure, or a member of it.
    Lacks(String),
    /// The verifier refused a program; its last words.
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
    /// It is in force, but by no pin: a process holds it.
    Held(String),
    /// It is not loaded.
    NotLoaded(&'static str),
    /// The folder of pins is another user's, or others may write there.
    StrangePins(PathBuf),
    /// There is no place for pins.
    NoPins(PathBuf, io::Error),
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
                write!(f, "{control} is not loaded: evenair cc list shows what is")
            }
            Self::StrangePins(path) => write!(
                f,
                "{}: this folder is not root's alone, so somebody else may have made it: look at it, and remove it",
                path.display()
            ),
            Self::NoPins(path, error) => write!(f, "{}: {error}: pins need a BPF file system there: mount -t bpf bpf /sys/fs/bpf", path.display()),
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

/// What makes of the kernel's error that this step was refused.
pub(crate) fn at(step: &'static str) -> impl Fn(io::Error) -> Trouble {
    // The verifier refuses with EACCES, a lack of capabilities is EPERM.
    move |error| match error.raw_os_error() {
        Some(EPERM) => Trouble::Unprivileged,
        _ => Trouble::Step(step, error),
    }
}
