//! The shapes of networks that the air is compiled for.
//!
//! The rules of the air stand in the source once, for all shapes. For a [`Small`] network the compiler knows most answers that
//! the code needs at every hearer of every frame: that a place exists, that no hearer is far, that a node has one contender.

use super::agenda::{Agenda, Due, Lists};
use evenair_des::Queue;
use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, Index, IndexMut, Sub};

/// A shape of networks.
pub trait Shape: Clone + Debug {
    /// At most 64 nodes, no far hearer, all rates of one and the same hearers, no node with two contenders, no sum of signals.
    const SMALL: bool;
    /// Values by node, or by contender.
    type Table<T: Clone + Debug>: Table<T>;
    /// The events that are due.
    type Agenda: Agenda;
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
    type Agenda = Queue<Due>;
}

impl Shape for Small {
    const SMALL: bool = true;
    type Table<T: Clone + Debug> = Places<T>;
    type Agenda = Lists;
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
    places: [T; PLACES], // in place: found without another pointer
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

/// A set of nodes of a small network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u64);

impl Set {
    pub(super) const NONE: Self = Self(0);

    /// A node alone, or none if there is no such node.
    #[inline]
    pub(super) const fn of(node: u32) -> Self {
        if (node as usize) < PLACES { Self(Self::bit(node as usize)) } else { Self::NONE }
    }

    #[inline]
    const fn bit(node: usize) -> u64 {
        1 << (node % PLACES)
    }

    #[inline]
    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(super) const fn has(self, node: usize) -> bool {
        self.0 & Self::bit(node) != 0
    }

    /// Its least node.
    #[inline]
    pub(super) const fn first(self) -> Option<usize> {
        if self.is_empty() { None } else { Some(self.0.trailing_zeros() as usize) }
    }

    /// Whether the sets have a node in common.
    #[inline]
    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    #[inline]
    pub(super) const fn insert(&mut self, node: usize) {
        self.0 |= Self::bit(node);
    }

    #[inline]
    pub(super) const fn remove(&mut self, node: usize) {
        self.0 &= !Self::bit(node);
    }

    /// Inserts a node or lets it be, without a branch.
    #[inline]
    pub(super) const fn insert_if(&mut self, is_in: bool, node: usize) {
        self.0 |= (is_in as u64) << (node % PLACES);
    }

    #[inline]
    pub(super) const fn put(&mut self, node: usize, is_in: bool) {
        self.remove(node);
        self.insert_if(is_in, node);
    }
}

impl BitAnd for Set {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Set {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Sub for Set {
    type Output = Self;

    /// Those of the one that are not in the other.
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl FromIterator<usize> for Set {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        nodes.into_iter().fold(Self::NONE, |set, node| Self(set.0 | Self::bit(node)))
    }
}

impl IntoIterator for Set {
    type Item = usize;
    type IntoIter = Nodes;

    #[inline]
    fn into_iter(self) -> Nodes {
        Nodes(self.0)
    }
}

/// The nodes of a set, in ascending order.
pub(super) struct Nodes(u64);

impl Iterator for Nodes {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let node = Set(self.0).first()?;
        self.0 &= self.0 - 1;
        Some(node)
    }
}
