//! TUN devices: network interfaces with packets that a program reads and writes.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, write};
use rustix::ioctl::{IntegerSetter, Updater, ioctl};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The largest packet that a device carries \[bytes\].
pub const PACKET_MAX: usize = 65_535;

/// Linux' `IFF_TUN`: IP packets, without a link layer's header.
const IFF_TUN: i16 = 0x0001;
/// Linux' `IFF_NO_PI`: nothing precedes a packet.
const IFF_NO_PI: i16 = 0x1000;
/// Linux' `TUNSETIFF`.
const TUNSETIFF: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<libc::c_int>(b'T', 202);

/// Linux' `TUNSETPERSIST`.
const TUNSETPERSIST: rustix::ioctl::Opcode = rustix::ioctl::opcode::write::<libc::c_int>(b'T', 203);

/// Linux' `struct ifreq` with its flags.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: i16,
    unused: [u8; 22],
}

const _: () = assert!(size_of::<Request>() == size_of::<libc::ifreq>());

/// A TUN device, removed when this is dropped, or together with its namespace ([`outlive`](Self::outlive)).
/// Packets are IP packets, one a call; nothing blocks.
#[derive(Debug)]
pub struct Tun {
    device: OwnedFd,
}

impl Tun {
    /// Creates a device of this name in the calling thread's network namespace, down and without an address.
    ///
    /// # Errors
    /// If there is no `/dev/net/tun` or the process may not open it, or if the name is taken or longer than
    /// 15 bytes. Also if the thread lacks `CAP_NET_ADMIN` in its namespace.
    pub fn new(name: &str) -> io::Result<Self> {
        let mut request = Request { name: [0; 16], flags: IFF_TUN | IFF_NO_PI, unused: [0; 22] };
        if name.is_empty() || name.len() >= request.name.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a device's name has 1 to 15 bytes"));
        }
        request.name[..name.len()].copy_from_slice(name.as_bytes());
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let device = open("/dev/net/tun", flags, Mode::empty())?;
        // SAFETY: TUNSETIFF reads a `struct ifreq` of this layout, and writes the device's name and flags
        // into it.
        unsafe { ioctl(&device, Updater::<TUNSETIFF, Request>::new(&mut request)) }?;
        Ok(Self { device })
    }

    /// Keeps the device when this is dropped, until its network namespace ends. Devices that end with their
    /// namespace do so at once; each that is removed alone takes 20 ms.
    ///
    /// # Errors
    /// None on known kernels.
    pub fn outlive(&self) -> io::Result<()> {
        // SAFETY: TUNSETPERSIST takes its argument as a number.
        Ok(unsafe { ioctl(&self.device, IntegerSetter::<TUNSETPERSIST>::new_usize(1)) }?)
    }

    /// Reads the next packet that the kernel sends through the device into `buffer`; none if none waits. A
    /// packet longer than the buffer is cut.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match read(&self.device, &mut *buffer) {
            Ok(length) => Ok(Some(&buffer[..length])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Passes a packet to the kernel, as one that the device has received; returns whether it was accepted.
    /// The kernel refuses packets other than IP, and everything while the device is down.
    pub fn write(&self, packet: &[u8]) -> bool {
        write(&self.device, packet).is_ok_and(|length| length == packet.len())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}
