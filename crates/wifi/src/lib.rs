//! The air: 802.11 and ideal CSMA, each as one machine for all nodes, without an event queue of its own.
//!
//! A host owns time. It hands heads of queues to the air ([`Air::offer`]), wakes it when a wake that it asked for is
//! due ([`Air::wake`]), and finds in [`Effects`] what to wake next and what was received or finished. Back-off laws
//! are data here ([`Access`](evenair_laws::backoff::Access)); the air draws the samples from one stream per contender.
//!
//! Read [`mac::dcf`] for channel access, its submodule `reception` for who decodes what, [`mac::ideal`] for the
//! papers' model, [`timing`] for every microsecond.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "pure: no clock, no environment, no platform's exp and log")]

pub mod ledger;
pub mod mac;
pub mod timeline;
pub mod timing;

mod air;

pub use air::{Air, Contender, Effects, Head, Outcome, Up, Wake};
pub use ledger::{Airtime, Ledger};
pub use mac::dcf::{Capture, Counters, DcfAir, Rules};
pub use mac::ideal::{Holding, IdealAir};
pub use timeline::{FrameKind, FrameRecord, Timeline};
pub use timing::{MacTiming, Phy, PhyStandard, Preamble, UnsupportedRate};
