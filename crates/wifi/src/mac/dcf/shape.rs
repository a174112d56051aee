//! The shapes of networks that the air is compiled for.
//!
//! The rules of the air stand in the source once, for all shapes. In a plain network the compiler knows most answers that the code needs
//! at every hearer of every frame: that no hearer is far, that a node has one contender. A set of a node's hearers is one word or two,
//! with a bit for each *colour*: hearers of one sender have different colours. A small network has at most 64 or at most 128 nodes. There
//! each node has a colour of its own, its number.

use super::agenda::{Agenda, Due, Lists};
use super::relations::{Coloured, Few, Relations};
use evenair_des::Queue;
use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, Index, IndexMut, Sub};

/// A shape of networks.
pub trait Shape: Clone + Debug + Sized + 'static {
    /// A plain network: no far hearer, all rates of one and the same hearers, no node with two contenders, no sum of signals.
    const PLAIN: bool;
    /// A small one: plain, of at most [`PLACES`](Self::PLACES) nodes.
    const SMALL: bool;
    /// How many nodes and contenders it has at most.
    const PLACES: usize;
    /// Values by node, or by contender.
    type Table<T: Clone + Debug>: Table<T>;
    /// A set of a node's hearers, by their colours.
    type Set: ColourSet;
    /// A set of any of its nodes.
    type Nodes: NodeSet;
    /// Which nodes hear which.
    type Relations: Relations<Self>;
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

/// A set of nodes.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait NodeSet: Clone + Debug {
    /// The empty one of so many nodes.
    fn of_none(nodes: usize) -> Self;

    /// Whether a node is in it.
    fn has(&self, node: usize) -> bool;

    /// A node comes in.
    fn insert(&mut self, node: usize);

    /// A node leaves.
    fn remove(&mut self, node: usize);

    /// Inserts a node or removes it, without a branch.
    fn put(&mut self, node: usize, is_in: bool);
}

/// A set of a sender's hearers, by their colours.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub trait ColourSet:
    Copy
    + Debug
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Sub<Output = Self>
    + FromIterator<usize>
    + IntoIterator<Item = usize>
{
    /// The empty one.
    const NONE: Self;

    /// How many colours there are.
    const COLOURS: usize;

    /// A colour alone, or none if there is no such colour.
    fn of(colour: u32) -> Self;

    /// Whether it is empty.
    fn is_empty(self) -> bool;

    /// Whether a colour is in it.
    fn has(self, colour: usize) -> bool;

    /// Whether it has a colour in common with another.
    fn meets(self, other: Self) -> bool;

    /// A colour comes in.
    fn insert(&mut self, colour: usize);

    /// A colour leaves.
    fn remove(&mut self, colour: usize);

    /// Inserts a colour or lets it be, without a branch.
    fn insert_if(&mut self, is_in: bool, colour: usize);
}

/// Any network.
#[derive(Clone, Debug)]
pub struct General;

/// A [plain](Shape::PLAIN) network of any number of nodes, of which 64 colours tell any sender's hearers apart.
#[derive(Clone, Debug)]
pub struct Many;

/// A [small](Shape::SMALL) network of at most 64 nodes, as most are.
#[derive(Clone, Debug)]
pub struct UpTo64;

/// One of at most 128 nodes. Sets of four words, for 256 nodes, would save no more than colours do.
#[derive(Clone, Debug)]
pub struct UpTo128;

impl Shape for General {
    const PLAIN: bool = false;
    const SMALL: bool = false;
    const PLACES: usize = usize::MAX;
    type Table<T: Clone + Debug> = Vec<T>;
    type Set = Set<1>;
    type Nodes = Dense;
    type Relations = Coloured<Self>;
    type Agenda = Queue<Due>;
}

impl Shape for Many {
    const PLAIN: bool = true;
    const SMALL: bool = false;
    const PLACES: usize = usize::MAX;
    type Table<T: Clone + Debug> = Vec<T>;
    type Set = Set<1>;
    type Nodes = Dense;
    type Relations = Coloured<Self>;
    type Agenda = Queue<Due>;
}

impl Shape for UpTo64 {
    const PLAIN: bool = true;
    const SMALL: bool = true;
    const PLACES: usize = WORD;
    type Table<T: Clone + Debug> = Places<T, { Self::PLACES }>;
    type Set = Set<1>;
    type Nodes = Set<1>;
    type Relations = Few<Self, 1>;
    type Agenda = Lists<Self>;
}

impl Shape for UpTo128 {
    const PLAIN: bool = true;
    const SMALL: bool = true;
    const PLACES: usize = 2 * WORD;
    type Table<T: Clone + Debug> = Places<T, { Self::PLACES }>;
    type Set = Set<2>;
    type Nodes = Set<2>;
    type Relations = Few<Self, 2>;
    type Agenda = Lists<Self>;
}

impl<T: Clone + Debug> Table<T> for Vec<T> {
    fn new(all: Self) -> Self {
        all
    }

    fn all(&self) -> &[T] {
        self
    }
}

/// A table with a place for each number below `N`, so that none need be checked.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Debug)]
pub struct Places<T, const N: usize> {
    places: [T; N], // in place: found without another pointer
    taken: usize,
}

impl<T: Clone + Debug, const N: usize> Table<T> for Places<T, N> {
    fn new(mut all: Vec<T>) -> Self {
        let taken = all.len();
        let last = all.last().expect("a network has nodes and contenders").clone();
        all.resize(N, last);
        let Ok(places) = all.try_into() else { unreachable!("resized") };
        Self { places, taken }
    }

    fn all(&self) -> &[T] {
        &self.places[..self.taken]
    }
}

impl<T, const N: usize> Index<usize> for Places<T, N> {
    type Output = T;

    #[inline]
    fn index(&self, place: usize) -> &T {
        debug_assert!(place < self.taken, "no such place");
        &self.places[place % N]
    }
}

impl<T, const N: usize> IndexMut<usize> for Places<T, N> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut T {
        debug_assert!(place < self.taken, "no such place");
        &mut self.places[place % N]
    }
}

/// Bits of a word.
pub(super) const WORD: usize = u64::BITS as usize;

/// A set in so many words.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Copy, Debug)]
pub struct Set<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Set<WORDS> {
    #[inline]
    const fn bit(place: usize) -> u64 {
        1 << (place % WORD)
    }

    /// The word that a place has its bit in.
    #[inline]
    const fn word(&mut self, place: usize) -> &mut u64 {
        &mut self.0[place / WORD % WORDS]
    }

    /// The words of two, each pair made one.
    #[inline]
    fn with(self, other: Self, op: impl Fn(u64, u64) -> u64) -> Self {
        Self(std::array::from_fn(|i| op(self.0[i], other.0[i])))
    }
}

impl<const WORDS: usize> ColourSet for Set<WORDS> {
    const NONE: Self = Self([0; WORDS]);
    const COLOURS: usize = WORDS * WORD;

    #[inline]
    fn of(colour: u32) -> Self {
        let mut set = Self::NONE;
        set.insert_if((colour as usize) < Self::COLOURS, colour as usize);
        set
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0.into_iter().fold(0, BitOr::bitor) == 0
    }

    #[inline]
    fn has(self, colour: usize) -> bool {
        self.0[colour / WORD % WORDS] & Self::bit(colour) != 0
    }

    #[inline]
    fn meets(self, other: Self) -> bool {
        !(self & other).is_empty()
    }

    #[inline]
    fn insert(&mut self, colour: usize) {
        *self.word(colour) |= Self::bit(colour);
    }

    #[inline]
    fn remove(&mut self, colour: usize) {
        *self.word(colour) &= !Self::bit(colour);
    }

    #[inline]
    fn insert_if(&mut self, is_in: bool, colour: usize) {
        *self.word(colour) |= u64::from(is_in) << (colour % WORD);
    }
}

impl<const WORDS: usize> NodeSet for Set<WORDS> {
    fn of_none(_nodes: usize) -> Self {
        Self::NONE
    }

    #[inline]
    fn has(&self, node: usize) -> bool {
        ColourSet::has(*self, node)
    }

    #[inline]
    fn insert(&mut self, node: usize) {
        ColourSet::insert(self, node);
    }

    #[inline]
    fn remove(&mut self, node: usize) {
        ColourSet::remove(self, node);
    }

    #[inline]
    fn put(&mut self, node: usize, is_in: bool) {
        ColourSet::remove(self, node);
        self.insert_if(is_in, node);
    }
}

impl<const WORDS: usize> From<[u64; WORDS]> for Set<WORDS> {
    fn from(words: [u64; WORDS]) -> Self {
        Self(words)
    }
}

/// A set of nodes, with a bit for each node of the network.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Debug)]
pub struct Dense(Vec<u64>);

impl Dense {
    /// One of its words.
    #[inline]
    pub(super) fn word(&self, lot: u32) -> u64 {
        self.0[lot as usize]
    }
}

impl NodeSet for Dense {
    fn of_none(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(WORD)])
    }

    #[inline]
    fn has(&self, node: usize) -> bool {
        self.0[node / WORD] >> (node % WORD) & 1 == 1
    }

    #[inline]
    fn insert(&mut self, node: usize) {
        self.0[node / WORD] |= 1 << (node % WORD);
    }

    #[inline]
    fn remove(&mut self, node: usize) {
        self.0[node / WORD] &= !(1 << (node % WORD));
    }

    #[inline]
    fn put(&mut self, node: usize, is_in: bool) {
        let word = &mut self.0[node / WORD];
        *word = *word & !(1 << (node % WORD)) | u64::from(is_in) << (node % WORD);
    }
}

impl<const WORDS: usize> BitAnd for Set<WORDS> {
    type Output = Self;

    #[inline]
    fn bitand(self, other: Self) -> Self {
        self.with(other, |this, other| this & other)
    }
}

impl<const WORDS: usize> BitOr for Set<WORDS> {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        self.with(other, |this, other| this | other)
    }
}

impl<const WORDS: usize> Sub for Set<WORDS> {
    type Output = Self;

    /// Those of the one that are not in the other.
    #[inline]
    fn sub(self, other: Self) -> Self {
        self.with(other, |this, other| this & !other)
    }
}

impl<const WORDS: usize> FromIterator<usize> for Set<WORDS> {
    fn from_iter<I: IntoIterator<Item = usize>>(nodes: I) -> Self {
        let mut set = Self::NONE;
        nodes.into_iter().for_each(|colour| ColourSet::insert(&mut set, colour));
        set
    }
}

impl<const WORDS: usize> IntoIterator for Set<WORDS> {
    type Item = usize;
    type IntoIter = Nodes<WORDS>;

    #[inline]
    fn into_iter(self) -> Nodes<WORDS> {
        Nodes { left: self.0 }
    }
}

/// The nodes of a set, in ascending order.
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub struct Nodes<const WORDS: usize> {
    left: [u64; WORDS],
}

impl<const WORDS: usize> Iterator for Nodes<WORDS> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        // The first word with one, found without a branch.
        let (mut first, mut place) = (0, 0);
        for (i, &word) in self.left.iter().enumerate().rev() {
            (first, place) = if word == 0 { (first, place) } else { (word, i) };
        }
        if first == 0 {
            return None;
        }
        for (i, word) in self.left.iter_mut().enumerate() {
            *word = if i == place { first & (first - 1) } else { *word };
        }
        Some(place * WORD + first.trailing_zeros() as usize)
    }
}
