//! Does a law reach the best allocation? The laws' differential equations on a network.
//!
//! A [`System`] is a drift with corners: components stop at bounds (`[·]⁺`), switches flip (a congestion bit). [`integrate()`]
//! follows it by an explicit or an implicit method and stops at every corner. [`models`] are the papers' systems; their
//! drifts are the laws' own, from `evenair-laws`. [`Equilibrium`] finds where a system rests, and how it returns there.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "the same bits on every machine")]

mod equilibrium;
mod integrate;
pub mod models;
mod system;

pub use equilibrium::{Equilibrium, jacobian};
pub use integrate::{Corner, Method, Options, Stuck, Trajectory, integrate, integrate_unless};
pub use models::{Component, Model, View};
pub use system::System;
