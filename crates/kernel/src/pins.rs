//! Laws that stay in the kernel after the process that loaded them: pins below `/sys/fs/bpf/evenair`, a
//! folder for each law.
//!
//! The link puts the law into force. Once its last pin and descriptor are gone, new sockets cannot use the
//! law; sockets with it keep it until they close.

use super::bytes::u32_at;
use super::law::{Law, decode, encode};
use super::load::{Loaded, Wanted, load, numbers};
use super::trouble::{Trouble, at};
use evenair_laws::window::WindowParams;
use evenair_linux::signals::{Asked, Signals};
use evenair_linux::{bpf, confinement};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::statfs;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The mount point of file systems of pins, and `BPF_FS_MAGIC`.
const MOUNT: &str = "/sys/fs/bpf";
const MAGIC: u32 = 0xcafe_4a11;
/// The folder of evenair's pins.
const FOLDER: &str = "evenair";

/// The names of a law's pins: its link, its functions, its parameters.
const LINK: &str = "link";
const FUNCTIONS: &str = "functions";
const PARAMETERS: &str = "parameters";

/// A law that is in force.
#[derive(Debug)]
pub struct Pinned {
    /// The law.
    pub law: Law,
    link: OwnedFd,
    functions: OwnedFd,
    parameters: OwnedFd,
}

/// Puts a law into force for as long as the link is held; nothing is pinned.
///
/// # Errors
/// If the kernel refuses, or has it already.
pub fn attach(loaded: &Loaded) -> Result<OwnedFd, Trouble> {
    bpf::link_struct_ops(&loaded.functions).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => there_already(loaded),
        _ => at("bringing the law into force")(error),
    })
}

/// Returns the reason why a law's name is taken: it is pinned, or a process holds it.
fn there_already(loaded: &Loaded) -> Trouble {
    let control = loaded.law.control();
    if loaded.name == control && Pinned::open(loaded.law).is_ok() {
        Trouble::Loaded(control)
    } else {
        Trouble::Held(loaded.name.clone())
    }
}

/// Returns the laws that processes hold, without a pin.
///
/// # Errors
/// If this process may not read the pins.
pub fn held() -> Result<Vec<Law>, Trouble> {
    let mut held = Vec::new();
    for law in Law::ALL {
        match Pinned::open(law) {
            Err(Trouble::Held(_)) => held.push(law),
            Ok(_) | Err(Trouble::NotLoaded(_)) => (),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(held)
}

/// Returns whether a congestion control of this law's name is in force, pinned or not.
///
/// # Errors
/// If `/proc` is not mounted.
pub fn is_in_force(law: Law) -> Result<bool, Trouble> {
    let names = evenair_linux::tcp::available().map_err(at("the kernel's congestion controls"))?;
    Ok(names.iter().any(|name| name == law.control()))
}

/// Holds the link of [`attach`] until Ctrl-C or SIGTERM, with no capability left.
///
/// # Errors
/// If the process may not wait for signals.
pub fn hold(link: OwnedFd) -> io::Result<()> {
    let mut signals = Signals::new()?;
    confinement::give_up_capabilities()?;
    while signals.take() != Some(Asked::End) {
        let mut waits = [PollFd::new(&signals, PollFlags::IN)];
        match poll(&mut waits, None) {
            Ok(_) | Err(Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
    }
    drop(link);
    Ok(())
}

/// Loads a law and pins it; a law that is pinned already is replaced if `replace` is set.
///
/// # Errors
/// If a parameter is out of range, the kernel refuses, or the law is pinned and not to be replaced.
pub fn install(wanted: &Wanted, replace: bool) -> Result<Loaded, Trouble> {
    encode(&wanted.params)?; // an error in them is reported first
    let law = Law::of(&wanted.params);
    let old = law.map(Pinned::open).transpose().or_else(|trouble| match trouble {
        Trouble::NotLoaded(_) => Ok(None),
        trouble => Err(trouble),
    })?;
    if let Some(old) = old.as_ref().filter(|_| !replace) {
        return Err(Trouble::Loaded(old.law.control()));
    }
    let loaded = load(wanted, None)?;
    if old.is_none() {
        clear(&folder(loaded.law)); // the remains of a killed process
    }
    let folder = make_folder(loaded.law)?;
    let pin = |thing: &OwnedFd, name: &str| {
        let path = folder.join(name);
        bpf::pin(thing, &path).map_err(|error| Trouble::of_pins(path, error))
    };
    if let Some(old) = old {
        bpf::replace_struct_ops(&old.link, &loaded.functions).map_err(at("replacing the law"))?;
        for name in [FUNCTIONS, PARAMETERS] {
            remove(&folder.join(name)).map_err(at("an old pin"))?;
        }
        pin(&loaded.functions, FUNCTIONS)?;
        pin(&loaded.parameters, PARAMETERS)?;
        return Ok(loaded);
    }
    let link = attach(&loaded)?;
    let pinned = [(&loaded.functions, FUNCTIONS), (&loaded.parameters, PARAMETERS), (&link, LINK)]
        .into_iter()
        .try_for_each(|(thing, name)| pin(thing, name));
    if pinned.is_err() {
        clear(&folder);
    }
    pinned.map(|()| loaded)
}

impl Pinned {
    /// Opens the pinned law.
    ///
    /// # Errors
    /// If it is not pinned, even if a process holds it, or the process may not read the pins.
    pub fn open(law: Law) -> Result<Self, Trouble> {
        let open = |name: &str| {
            let path = folder(law).join(name);
            bpf::open_pinned(&path).map_err(|error| match error.kind() {
                ErrorKind::NotFound if is_in_force(law).unwrap_or(false) => {
                    Trouble::Held(law.control().into())
                }
                ErrorKind::NotFound => Trouble::NotLoaded(law.control()),
                ErrorKind::PermissionDenied => Trouble::Unprivileged,
                _ => Trouble::of_pins(path, error),
            })
        };
        Ok(Self { law, link: open(LINK)?, functions: open(FUNCTIONS)?, parameters: open(PARAMETERS)? })
    }

    /// Opens all pinned laws, but not those that a process holds.
    ///
    /// # Errors
    /// If the process may not read the pins.
    pub fn all() -> Result<Vec<Self>, Trouble> {
        let mut all = Vec::new();
        for law in Law::ALL {
            match Self::open(law) {
                Ok(pinned) => all.push(pinned),
                Err(Trouble::NotLoaded(_) | Trouble::Held(_)) => (),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(all)
    }

    /// Returns its parameters.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn params(&self) -> Result<WindowParams, Trouble> {
        decode(self.law, &numbers(&self.parameters)?).ok_or_else(|| Trouble::Lacks("such parameters".into()))
    }

    /// Replaces its parameters. They apply from the next acknowledgement on, also to sockets that use it.
    ///
    /// # Errors
    /// If one is out of range.
    pub fn set(&self, params: &WindowParams) -> Result<(), Trouble> {
        let bytes: Vec<u8> = encode(params)?.iter().flat_map(|number| number.to_le_bytes()).collect();
        bpf::write(&self.parameters, &bytes).map_err(at("parameters"))
    }

    /// Returns the number of sockets that use it, in all network namespaces, by the kernel's count of
    /// references.
    ///
    /// # Errors
    /// If the kernel does not return the count.
    pub fn sockets(&self) -> Result<u32, Trouble> {
        // The link is one reference.
        Ok(users(&self.functions)?.saturating_sub(1))
    }

    /// Returns whether users without `CAP_NET_ADMIN` may choose it, by the kernel's list.
    pub fn is_for_everybody(&self) -> bool {
        let allowed = evenair_linux::sysctl::get("ipv4/tcp_allowed_congestion_control").unwrap_or_default();
        allowed.split_whitespace().any(|name| name == self.law.control())
    }

    /// Takes it out of force: new sockets cannot use it; sockets with it keep it until they close. Returns a
    /// counter of these.
    ///
    /// # Errors
    /// If a pin cannot be removed.
    pub fn unload(self) -> Result<Leaving, Trouble> {
        let folder = folder(self.law);
        for name in [LINK, FUNCTIONS, PARAMETERS] {
            remove(&folder.join(name)).map_err(at("a pin"))?;
        }
        clear(&folder);
        // Another process may have the link open, to read the law. New sockets could use the law until then.
        match bpf::detach(&self.link) {
            Err(error) if Errno::from_io_error(&error) != Some(Errno::OPNOTSUPP) => {
                Err(at("taking the law out of force")(error))
            }
            _ => Ok(()),
        }?;
        drop(self.link);
        Ok(Leaving { functions: self.functions })
    }
}

/// A law that is out of force, and may have sockets left.
#[derive(Debug)]
pub struct Leaving {
    functions: OwnedFd,
}

impl Leaving {
    /// Returns the number of sockets that still use it.
    ///
    /// # Errors
    /// If the kernel does not return the count.
    pub fn sockets(&self) -> Result<u32, Trouble> {
        users(&self.functions)
    }
}

/// Returns the references to a structure of functions, without descriptors and pins: one for each socket that
/// uses it, and one for its link.
///
/// # Errors
/// If it is no such structure.
pub fn users(functions: &OwnedFd) -> Result<u32, Trouble> {
    let value = bpf::read(functions).map_err(at("the law's users"))?;
    u32_at(&value, 0).map_err(|why| Trouble::Malformed("the law's users", why))
}

fn folder(law: Law) -> PathBuf {
    Path::new(MOUNT).join(FOLDER).join(law.control())
}

/// Creates a law's folder, which only its owner may enter; mounts the file system if necessary.
fn make_folder(law: Law) -> Result<PathBuf, Trouble> {
    let is_there = || statfs(MOUNT).is_ok_and(|found| found.f_type as u32 == MAGIC);
    if !is_there() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("bpf", MOUNT, "bpf", flags, c"mode=0700")
            .map_err(|error| Trouble::of_pins(MOUNT.into(), error.into()))?;
    }
    let folder = folder(law);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Trouble::Unprivileged,
        _ => Trouble::of_pins(folder.clone(), error),
    })?;
    // If all users may create folders there, another user could have created this one first.
    for folder in [Path::new(MOUNT).join(FOLDER), folder.clone()] {
        let found = fs::metadata(&folder).map_err(at("the folder of pins"))?;
        if found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
            return Err(Trouble::StrangePins(folder));
        }
    }
    Ok(folder)
}

/// Removes the remains of a law's folder, and the common folder if it is the last.
fn clear(folder: &Path) {
    for name in [LINK, FUNCTIONS, PARAMETERS] {
        let _ = remove(&folder.join(name));
    }
    let _ = fs::remove_dir(folder);
    let _ = fs::remove_dir(Path::new(MOUNT).join(FOLDER));
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
