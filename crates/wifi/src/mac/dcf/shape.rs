//! The shapes of networks that the air is compiled for.
//!
//! The rules of the air stand in the source once, for all shapes. For a [`Small`] network the compiler knows most answers that
//! the code needs at every hearer of every frame: that a place exists, that no hearer is far, that a node has one contender.

use std::fmt::Debug;
use std::ops::{Index, IndexMut};

/// A shape of networks.
pub trait Shape: Clone + Debug {
    /// At most 64 nodes, no far hearer, all rates of one and the same hearers, no node with two contenders, no sum of signals.
    const SMALL: bool;
    /// Values by node, or by contender.
    type Table<T: Clone + Debug>: Table<T>;
}

/// Values by node, or by contender.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait Table<T>: Clone + Debug + IndexMut<usize, Output = T> {
    /// Of all of them, in order.
    fn new(all: Vec<T>) -> Self;

    /// All of them.
    fn all(&self) -> &[T];
}

/// Any network.
#[derive(Clone, Debug)]
pub struct General;

/// A network as most are; see [`Shape::SMALL`].
#[derive(Clone, Debug)]
pub struct Small;

/// How many nodes a small network has at most.
pub(super) const PLACES: usize = 64;

impl Shape for General {
    const SMALL: bool = false;
    type Table<T: Clone + Debug> = Vec<T>;
}

impl Shape for Small {
    const SMALL: bool = true;
    type Table<T: Clone + Debug> = Places<T>;
}

impl<T: Clone + Debug> Table<T> for Vec<T> {
    fn new(all: Self) -> Self {
        all
    }

    fn all(&self) -> &[T] {
        self
    }
}

/// A table with a place for each number below [`PLACES`], so that none need be checked.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Debug)]
pub struct Places<T> {
    places: Box<[T; PLACES]>,
    taken: usize,
}

impl<T: Clone + Debug> Table<T> for Places<T> {
    fn new(mut all: Vec<T>) -> Self {
        let taken = all.len();
        let last = all.last().expect("a network has nodes and contenders").clone();
        all.resize(PLACES, last);
        let Ok(places) = all.try_into() else { unreachable!("resized") };
        Self { places, taken }
    }

    fn all(&self) -> &[T] {
        &self.places[..self.taken]
    }
}

impl<T> Index<usize> for Places<T> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        debug_assert!(place < self.taken, "no such place");
        &self.places[place % PLACES]
    }
}

impl<T> IndexMut<usize> for Places<T> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        debug_assert!(place < self.taken, "no such place");
        &mut self.places[place % PLACES]
    }
}
