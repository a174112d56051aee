//! One byte stream over several TCP connections, as many as a law of [`evenair_laws::connections`] wants.
//!
//! A client keeps a *session* with a relay: the wanted number of connections, each with TLS of its own, and
//! over them any number of streams. Outgoing bytes are cut into chunks that the connections fetch as their
//! sockets take more, so that none waits behind a slow one.
//!
//! # How to read it
//! Without clock and socket: [`frame`] has the frames on a connection, [`receive`] and [`send`] the halves of
//! a stream, and [`core`] the state machine of a session. [`session`] gives it both. [`connect()`] dials and
//! keeps the wanted connections, and [`listen()`] accepts them. [`relay`] and [`forward`] are the two ends of
//! the command. [`authorised`] and [`destination`] hold the permissions. [`control`] hosts the law.
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
pub use evenair_service::Mistake;
pub use listen::{ListenOptions, Listener, listen};
pub use session::{Session, Stream};
