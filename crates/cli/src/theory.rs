//! The commands of the theory.

mod compare;
mod fluid;
mod solve;

pub(crate) use compare::compare;
pub(crate) use fluid::fluid;
pub(crate) use solve::solve;

fn row(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}
