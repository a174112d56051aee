//! What is the best allocation? Network utility maximisation over the CSMA capacity region.
//!
//! [`ProductForm`] is ideal CSMA's stationary distribution ([Chen10] eq. (3.2)); [`Problem`] is MP of [Chen10]
//! (Theorem 2), solved through its dual by a Newton method whose Hessian is a covariance of that distribution. Every
//! [`Solution`] carries the residuals of its own optimality conditions.
#![forbid(unsafe_code)]
#![warn(clippy::disallowed_methods, reason = "the same bits on every machine")]

mod problem;
mod product_form;
mod utility;

pub use problem::{Failure, Problem, Residuals, Solution};
pub use product_form::ProductForm;
pub use utility::Utility;
