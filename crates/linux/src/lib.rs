//! What live rooms need of Linux, thin, without policy, safe outside: a sandbox of namespaces that dies with the process
//! ([`sandbox`]), network namespaces ([`NetworkNamespace`]), TUN devices ([`Tun`]), devices, addresses and routes ([`link`], [`route`]), who answers on a link
//! ([`neighbours`]), queues
//! and their classes ([`tc`]), tables that classify and count packets ([`nft`]), the packets that pass ([`packets`]), large segments
//! ([`offload`]), settings ([`sysctl`]), a way to the machine's own network ([`uplink`]), what a thread gives away for good
//! ([`confinement`]), the process's [`memory`], programs of congestion control ([`bpf`]), and what a TCP socket tells and takes ([`tcp`]).
//!
//! Everything here works for an ordinary user, in namespaces of his own; as root it works the same way. Linux 5.11 is the least.
#![cfg(target_os = "linux")]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod bpf;
pub mod confinement;
#[doc(hidden)]
pub mod fuzz;
pub mod link;
pub mod memory;
mod namespace;
pub mod neighbours;
pub mod netlink;
pub mod nft;
pub mod offload;
pub mod packets;
pub mod peer;
pub mod route;
pub mod sandbox;
pub mod scheduling;
pub mod signals;
mod socket_option;
pub mod sysctl;
pub mod tc;
pub mod tcp;
mod tun;
pub mod uplink;

pub use link::Rtnetlink;
pub use namespace::NetworkNamespace;
pub use tun::{PACKET_MAX, Tun};

/// The kernel's release.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
