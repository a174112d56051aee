#![doc = include_str!("../README.md")]
//!
//! # How to read it
//! [`ProductForm`] is ideal CSMA's stationary distribution ([Chen10] eq. (3.2)), its sums taken on a tree decomposition, and
//! its inverse. [`Problem`] is a utility maximisation with the entropy term or without it; every [`Solution`] carries the
//! residuals of its own optimality conditions and a certified bound. [`max_min`] is max-min fairness over the exact region
//! or over the simpler models of [Jam10].
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "the same bits on every machine")]

#[cfg(test)]
mod library;
pub mod max_min;
#[cfg(test)]
mod meshes;
mod newton;
mod problem;
mod product_form;
mod simplex;
mod utility;
mod watch;
mod wire;

pub use problem::{Failure, Flow, Near, Problem, Residuals, Solution};
pub use product_form::{ProductForm, Shares};
pub use utility::{Concave, Points, Utility};
pub use watch::{Done, Watch};
pub use wire::Wire;
