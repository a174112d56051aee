//! One byte stream over several TCP connections, as many as a law of [`evenair_laws::connections`] says.
//!
//! A client keeps a *session* with a relay: as many connections as are wanted, each with TLS of its own, and over them any number of streams. What goes out is
//! cut into chunks that the connections fetch as their sockets take more, so that none waits behind a slow one.
//!
//! # How to read it
//! [`frame`] is what passes on a connection; [`receive`] and [`send`] are the halves of a stream, [`core`] the machine of a session around them, all
//! without clock and socket. [`session`] gives it both. [`connect()`] dials and keeps as many connections as are wanted, [`listen()`] is dialled; [`relay`] and [`forward`] are
//! the two ends of the command. [`authorised`] and [`destination`] say who may go where. [`control`] hosts the law.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod authorised;
pub mod bucket;
pub mod budget;
pub mod config;
pub mod connect;
pub mod control;
pub mod core;
pub mod destination;
pub mod forward;
pub mod frame;
mod governor;
pub mod hello;
pub mod keys;
pub mod listen;
pub mod metrics;
mod mistake;
pub mod notice;
pub mod paths;
pub mod probe;
mod prompt;
mod pump;
pub mod receive;
pub mod relay;
pub mod run;
pub mod send;
pub mod session;
mod shares;
pub mod socks;
pub mod status;
pub mod target;
mod tls;

pub use connect::{Client, ConnectOptions, connect};
pub use listen::{ListenOptions, Listener, listen};
pub use mistake::Mistake;
pub use session::{Session, Stream};
