//! Linux interfaces for the live crates: thin, without policy, safe to use.
//!
//! | module | content |
//! |---|---|
//! | [`sandbox`] | a sandbox of namespaces that ends with the process |
//! | [`NetworkNamespace`] | network namespaces |
//! | [`Tun`] | TUN devices |
//! | [`link`], [`route`] | devices, addresses and routes |
//! | [`neighbours`] | the hosts that answer on a link |
//! | [`tc`] | queues and their classes |
//! | [`nft`] | tables that classify and count packets |
//! | [`packets`] | the packets that pass a device |
//! | [`offload`] | large segments |
//! | [`sysctl`] | settings |
//! | [`uplink`] | a route to the machine's own network |
//! | [`server`], [`socket`] | local sockets and the users at their other ends, served by a thread without rights |
//! | [`notify`] | notices to the service manager |
//! | [`wireless`] | Wi-Fi interfaces: stations, limits, registers |
//! | [`confinement`] | rights that a thread drops for good |
//! | [`memory`] | the process's memory |
//! | [`bpf`] | programs of congestion control |
//! | [`tcp`] | the options and counters of a TCP socket |
//!
//! All of it works for an ordinary user, in namespaces of that user, and in the same way for root. It needs
//! Linux 5.11 or later.
#![cfg(target_os = "linux")]
#![deny(unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]

pub mod bpf;
pub mod confinement;
#[doc(hidden)]
pub mod fuzz;
#[doc(hidden)]
pub mod hwsim;
pub mod link;
pub mod memory;
mod namespace;
pub mod neighbours;
pub mod netlink;
pub mod nft;
pub mod notify;
pub mod offload;
pub mod packets;
pub mod peer;
pub mod route;
pub mod sandbox;
pub mod scheduling;
pub mod server;
pub mod signals;
pub mod socket;
mod socket_option;
pub mod sysctl;
pub mod tc;
pub mod tcp;
mod tun;
pub mod uplink;
pub mod wireless;

pub use link::Rtnetlink;
pub use namespace::NetworkNamespace;
pub use tun::{PACKET_MAX, Tun};

/// Returns the kernel's release.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
