//! The nodes that hear a sender, by their colours, and the other senders that they hear.
//!
//! A set of a sender's hearers has a bit for each colour. No two hearers of one sender have the same, so that of hearers of two senders
//! the same bit means the same node: sets of both are combined bit by bit. In a small network the colour of a node is its number
//! ([`Few`]). In others colours are used again far off ([`Coloured`]), and the senders near a node, those with frames that can overlap its
//! own somewhere, have a record each. Sets of all nodes have a bit for each *place*; nodes near each other have places near each other, so
//! that those around a node are in few words.

mod coloured;
mod few;
#[cfg(test)]
mod tests;

use super::Ear;
use super::shape::Shape;
pub(super) use coloured::Coloured;
use evenair_units::Instant;
pub(super) use few::Few;
use std::fmt::Debug;

/// Which nodes hear which.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait Relations<S: Shape>: Clone + Debug {
    /// The other senders near a node that send.
    type Others: Others;
    /// The hearers of a node, by their colours.
    type Row: Row;

    /// Of so many nodes that do not hear each other.
    fn none(nodes: usize) -> Self;

    /// Draws them up from the hearers of each node; tells whether there are colours enough.
    fn draw(&mut self, network: &Network<'_>) -> bool;

    /// The place of a node in sets of all nodes, which never changes.
    fn place(&self, node: usize) -> usize;

    /// The nodes of a set, in the order of their places.
    fn nodes(&self, those: &S::Nodes) -> impl Iterator<Item = usize>;

    /// The colour of a node.
    fn colour(&self, node: usize) -> usize;

    /// The hearers of a node.
    fn row(&self, node: usize) -> &Self::Row;

    /// This hearer of a node alone; none, if it is not one.
    fn alone(&self, node: usize, hearer: u32) -> S::Set;

    /// Of the hearers of a node those among these nodes. In a small network there may be others, too.
    fn among(&self, node: usize, those: &S::Nodes) -> S::Set;

    /// The same of those in the one set and not in the other.
    fn among_but(&self, node: usize, those: &S::Nodes, others: &S::Nodes) -> S::Set;

    /// Of a node and those that sense it, as far as they contend, the ones among these nodes: its neighbourhood.
    fn neighbours_among(&self, node: usize, those: &S::Nodes) -> impl Iterator<Item = usize>;

    /// These hearers of a node sense its frame from now on.
    fn begin(&mut self, node: usize, sensing: S::Set);

    /// They do no longer.
    fn end(&mut self, node: usize, sensing: S::Set);

    /// Whether a node senses one of these senders, which are all.
    fn senses_any(&self, node: usize, active: &S::Nodes) -> bool;

    /// The nodes among these that a node senses.
    fn sensed_among(&self, node: usize, those: &S::Nodes) -> impl Iterator<Item = usize>;

    /// The senders near a node that are among these.
    fn others(&self, node: usize, active: &S::Nodes) -> Self::Others;

    /// Whether the node hears this one.
    fn is_heard(&self, node: usize, other: Other) -> bool;

    /// Whether this one hears the node.
    fn hears(&self, node: usize, other: Other) -> bool;

    /// The hearers of the node that hear this one, too. In a small network there may be others of its hearers.
    fn shared(&self, node: usize, other: Other) -> S::Set;

    /// Of these hearers of the other those that are hearers of the node. In a small network they are all given back.
    fn shared_of(&self, node: usize, other: Other, hearers: S::Set) -> S::Set;

    /// Those of them that receive the node's frames so much stronger that they survive.
    fn prevails(&self, node: usize, other: Other) -> S::Set;

    /// Those that receive the other's so much stronger.
    fn yields(&self, node: usize, other: Other) -> S::Set;

    /// Fetches that which tells the neighbourhood of a node into the cache.
    fn fetch_neighbourhood(&self, _node: usize) {}

    /// The same of its hearers.
    fn fetch_node(&self, _node: usize) {}

    /// The same of the senders near it.
    fn fetch_near(&self, _node: usize) {}

    /// The same of the records of a node and those of these senders.
    fn fetch_pairs(&self, _node: usize, _active: &S::Nodes) {}
}

/// The hearers of a node, by their colours.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait Row {
    /// The hearer of this colour.
    fn hearer(&self, colour: usize) -> usize;

    /// How long the node's frames travel to that \[ns\].
    fn delay_ns(&self, colour: usize) -> u32;

    /// When energy that leaves the node at an instant gets there.
    #[inline]
    fn after(&self, at: Instant, colour: usize) -> Instant {
        Instant::from_nanos(at.as_nanos() + u64::from(self.delay_ns(colour)))
    }
}

/// Senders near a node.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait Others: Clone {
    /// Each of them.
    fn each(&self) -> impl Iterator<Item = Other>;
}

/// A sender near another.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Copy, Debug)]
pub struct Other {
    node: usize,
    /// The place of the record of both.
    pair: u32,
}

impl Other {
    #[inline]
    pub(super) const fn node(self) -> usize {
        self.node
    }
}

/// That which relations are drawn up from.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub struct Network<'a> {
    /// The hearers of each node, in ascending order.
    pub(super) hearers: Vec<&'a [Ear]>,
    /// Which nodes contend.
    pub(super) contends: Vec<bool>,
    /// By how much a frame must be stronger to survive, where overlapping frames are compared pair by pair.
    pub(super) capture_ratio: Option<f32>,
}
