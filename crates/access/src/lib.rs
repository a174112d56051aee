//! Back-off laws on a Linux access point.
//!
//! The daemon looks at the stations of an access point ten times a second, tells a law of [`evenair_laws::backoff`] what
//! it saw, and sets the registers of one access category by nl80211: `CWmin`, `CWmax`, AIFSN and the TXOP limit. It contains
//! no control equation.
//!
//! | module | content |
//! |---|---|
//! | [`config`] | the operator's file |
//! | [`sensor`] | counters of stations become a law's view of its link |
//! | [`role`] | the link as the law is begun with: slot and airtime |
//! | [`radio`] | the access point: in the kernel, or in memory |
//! | [`daemon`] | one update after the other |
//! | [`restore`] | the registers that are put back |
//! | [`state`] | what a killed daemon leaves to the next |
//! | [`tape`] | what the law saw and answered, to replay |
//! | [`run`] | the daemon in real time |
#![cfg(target_os = "linux")]

pub mod config;
pub mod daemon;
pub mod radio;
pub mod restore;
pub mod role;
pub mod run;
pub mod sensor;
pub mod state;
pub mod status;
pub mod tape;

pub use config::{Config, Mode};
pub use daemon::Daemon;
pub use sensor::Sensor;
