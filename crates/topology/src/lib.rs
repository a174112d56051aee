#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! A network is given either by geometry ([`Medium::from_positions`]; the conflict graph follows) or by links
//! and conflicts outright ([`Medium::from_conflicts`]; which nodes hear each other follows). Either way the
//! rest of evenair sees a [`Medium`] (which node hears which, how strongly, how late) and a [`ConflictGraph`]
//! between links.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "pure: no clock, no environment, no platform's exp and log")]

mod cliques;
mod conflict;
mod fading;
mod fairness;
pub mod generate;
mod geometry;
mod independent;
mod medium;
mod obstacles;
mod propagation;
mod route;
mod shadowing;
mod track;

pub use cliques::{clique_cover, maximal_cliques};
pub use conflict::ConflictGraph;
pub use fading::{FadedLink, Fading, FadingModel};
pub use fairness::jain_index;
pub use geometry::{Position, Wall, light_travels_m};
pub use independent::{IndependentSets, TooLarge};
pub use medium::{Hearing, Link, Medium, Reach, Signal, ThresholdRadio};
pub use obstacles::Obstacles;
pub use propagation::{PathLoss, Propagation};
pub use route::{Router, Unreachable};
pub use shadowing::Shadowing;
pub use track::{RandomWaypoint, Track};
