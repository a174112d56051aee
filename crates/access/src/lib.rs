//! Back-off laws on a Linux access point.
//!
//! The daemon reads the counters of an access point's stations ten times a second and gives them to a law of
//! [`evenair_laws::backoff`]. By nl80211 it sets the registers of one access category: `CWmin`, `CWmax`, AIFSN and the TXOP
//! limit. It contains no control equation.
#![cfg(target_os = "linux")]

pub mod config;
pub mod daemon;
pub mod metrics;
pub mod radio;
pub mod restore;
pub mod role;
pub mod run;
pub mod sensor;
pub mod state;
pub mod status;
pub mod tape;
pub mod trial;

pub use config::{Config, Mode};
pub use daemon::Daemon;
pub use sensor::Sensor;
