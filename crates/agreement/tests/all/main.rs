//! evenair against closed forms, other programs, and itself. One binary, because each costs a link.

#[cfg(target_os = "linux")]
mod access;
mod aggregates;
mod conservation;
mod fingerprints;
mod group;
mod kernel;
mod languages;
mod laws_over_aggregates;
mod lee12;
mod modulated;
mod queueing_delay;
mod quick;
mod shaping;
mod windows;
