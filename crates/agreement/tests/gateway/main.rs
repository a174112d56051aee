//! The laws of a gateway in a closed loop with a mesh, and where nothing closes it.

mod away;
mod bounds;
mod busy;
mod classes;
mod loops;
mod mesh;
mod replay;
mod silence;
