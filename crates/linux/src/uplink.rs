//! Connects a namespace in the sandbox to the machine's own network, through slirp4netns: an ordinary user's
//! programs reach the Internet as that user's.

use crate::NetworkNamespace;
use crate::sandbox;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{FdFlags, fcntl_setfd, read};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio, exit};

/// The program that carries it.
pub const PROGRAM: &str = "slirp4netns";
/// Its network: addresses that neither a node nor, most likely, the machine has.
const NETWORK: &str = "192.168.211.0/24";
/// The address of its name server.
pub const NAME_SERVER: &str = "192.168.211.3";
/// Its device in the namespace.
pub const DEVICE: &str = "tap0";

/// A process that waits outside of the sandbox, and ends with its creator.
#[derive(Debug)]
pub struct Uplink {
    channel: OwnedFd,
}

impl Uplink {
    /// Starts the process, before [`sandbox::enter`].
    ///
    /// # Errors
    /// If this process has several threads, or no descriptors left.
    pub fn new() -> io::Result<Self> {
        let (inside, outside) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        if sandbox::fork()?.is_some() {
            return Ok(Self { channel: inside });
        }
        drop(inside);
        exit(carry(&outside).map_or_else(|error| error.raw_os_error().unwrap_or(1), |()| 0))
    }

    /// Connects a namespace: it gets a device and a default route.
    ///
    /// # Errors
    /// If slirp4netns is not found, or fails.
    pub fn connect(&self, namespace: &NetworkNamespace) -> io::Result<()> {
        let users = open("/proc/self/ns/user", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let both = [users.as_fd(), namespace.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&both));
        sendmsg(&self.channel, &[IoSlice::new(b"c")], &mut control, SendFlags::NOSIGNAL)?;
        let mut ready = [0];
        match read(&self.channel, &mut ready)? {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "slirp4netns does not start")),
            _ => Ok(()),
        }
    }
}

/// Waits outside for the namespaces, and becomes slirp4netns.
fn carry(channel: &OwnedFd) -> io::Result<()> {
    sandbox::die_with_parent()?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(channel, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::empty())?;
    let received = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let namespaces: Vec<OwnedFd> = received.flatten().collect();
    let [users, network] = &namespaces[..] else { return Ok(()) }; // no namespace will be connected any more
    for kept in [users.as_fd(), network.as_fd(), channel.as_fd()] {
        fcntl_setfd(kept, FdFlags::empty())?;
    }
    let path = |descriptor: &OwnedFd| format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let error = Command::new(PROGRAM)
        .args(["--configure", "--disable-host-loopback", "--netns-type=path"])
        .arg(format!("--cidr={NETWORK}"))
        .arg(format!("--ready-fd={}", channel.as_raw_fd()))
        .arg(format!("--userns-path={}", path(users)))
        .args([&path(network), DEVICE])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .exec();
    Err(error)
}
