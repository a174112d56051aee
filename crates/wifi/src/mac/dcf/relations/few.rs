//! A small network: sets of its nodes by their numbers.

use super::{Network, Other, Others, Relations, Row};
use crate::mac::dcf::Ear;
use crate::mac::dcf::reception::prevails;
use crate::mac::dcf::shape::{ColourSet as _, Set, Shape, Table};

/// The relations of a small network's nodes.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Debug)]
pub struct Few<S: Shape, const WORDS: usize> {
    of: S::Table<Surroundings<S, WORDS>>,
}

/// The surroundings of a node.
#[derive(Clone, Debug)]
struct Surroundings<S: Shape, const WORDS: usize> {
    hearers: Set<WORDS>,
    /// The nodes with frames that reach it, and that make its medium busy.
    heard: Set<WORDS>,
    sensed: Set<WORDS>,
    /// Itself and those that sense it, as far as they contend: the node's neighbourhood.
    neighbours: Set<WORDS>,
    /// Those with frames that can overlap its own somewhere: that hear it, that it hears, and that share a hearer with it.
    near: Set<WORDS>,
    /// Of each other sender the hearers that receive its own frames so much stronger that they survive.
    prevails: Box<S::Table<Set<WORDS>>>,
    delays: Delays<S>,
}

/// How long the frames of a node travel to each of its hearers \[ns\].
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Debug)]
pub struct Delays<S: Shape>(S::Table<u32>);

impl<S: Shape> Row for Delays<S> {
    #[inline]
    fn hearer(&self, colour: usize) -> usize {
        colour
    }

    #[inline]
    fn delay_ns(&self, colour: usize) -> u32 {
        self.0[colour]
    }
}

impl<S: Shape, const WORDS: usize> Few<S, WORDS> {
    /// Compares any two senders at each node that hears both.
    fn compare_powers(&mut self, hearers: &[&[Ear]], ratio: f32) {
        for node in 0..hearers.len() {
            let around = &mut self.of[node];
            around.near.into_iter().for_each(|other| around.prevails[other] = Set::NONE);
            around.near = around.hearers | around.heard;
        }
        let mut signals: Vec<(usize, f32)> = Vec::new();
        for there in 0..hearers.len() {
            let heard = self.of[there].heard;
            signals.clear();
            signals.extend(heard.into_iter().map(|from| (from, power_mw(hearers[from], there))));
            for &(from, power_mw) in &signals {
                let around = &mut self.of[from];
                around.near = around.near | heard;
                for &(other, other_mw) in &signals {
                    if prevails(power_mw, other_mw, ratio) {
                        around.prevails[other].insert(there);
                    }
                }
            }
        }
        (0..hearers.len()).for_each(|node| self.of[node].near.remove(node));
    }
}

/// The power at which one of these hearers receives its sender.
fn power_mw(hearers: &[Ear], there: usize) -> f32 {
    let place = hearers.binary_search_by_key(&(there as u32), |ear| ear.node).expect("it hears the sender");
    hearers[place].power_mw
}

impl<S, const WORDS: usize> Relations<S> for Few<S, WORDS>
where
    S: Shape<Set = Set<WORDS>, Nodes = Set<WORDS>>,
{
    type Others = Set<WORDS>;
    type Row = Delays<S>;

    fn none(nodes: usize) -> Self {
        let none = Surroundings {
            hearers: Set::NONE,
            heard: Set::NONE,
            sensed: Set::NONE,
            neighbours: Set::NONE,
            near: Set::NONE,
            prevails: Box::new(Table::new(vec![Set::NONE; nodes])),
            delays: Delays(Table::new(vec![0; nodes])),
        };
        Self { of: Table::new(vec![none; nodes]) }
    }

    fn draw(&mut self, network: &Network<'_>) -> bool {
        for (node, ears) in network.hearers.iter().enumerate() {
            let around = &mut self.of[node];
            (around.heard, around.sensed, around.neighbours) = (Set::NONE, Set::NONE, Set::NONE);
            around.neighbours.insert_if(network.contends[node], node);
            around.hearers = ears.iter().map(|ear| ear.node as usize).collect();
            ears.iter().for_each(|ear| around.delays.0[ear.node as usize] = ear.delay_ns);
        }
        for (node, ears) in network.hearers.iter().enumerate() {
            for ear in *ears {
                let (there, contends) = (ear.node as usize, network.contends[ear.node as usize]);
                self.of[there].heard.insert(node);
                self.of[there].sensed.insert_if(ear.sensed, node);
                self.of[node].neighbours.insert_if(ear.sensed && contends, there);
            }
        }
        if let Some(ratio) = network.capture_ratio {
            self.compare_powers(&network.hearers, ratio);
        }
        true
    }

    #[inline]
    fn place(&self, node: usize) -> usize {
        node
    }

    #[inline]
    fn nodes(&self, those: &Set<WORDS>) -> impl Iterator<Item = usize> {
        those.into_iter()
    }

    #[inline]
    fn colour(&self, node: usize) -> usize {
        node
    }

    #[inline]
    fn row(&self, node: usize) -> &Delays<S> {
        &self.of[node].delays
    }

    #[inline]
    fn alone(&self, _node: usize, hearer: u32) -> Set<WORDS> {
        Set::of(hearer)
    }

    #[inline]
    fn among(&self, _node: usize, those: &Set<WORDS>) -> Set<WORDS> {
        *those
    }

    #[inline]
    fn among_but(&self, _node: usize, those: &Set<WORDS>, others: &Set<WORDS>) -> Set<WORDS> {
        *those - *others
    }

    #[inline]
    fn neighbours_among(&self, node: usize, those: &Set<WORDS>) -> impl Iterator<Item = usize> {
        (self.of[node].neighbours & *those).into_iter()
    }

    #[inline]
    fn begin(&mut self, _node: usize, _sensing: Set<WORDS>) {} // they are told by the sets of all senders

    #[inline]
    fn end(&mut self, _node: usize, _sensing: Set<WORDS>) {}

    #[inline]
    fn senses_any(&self, node: usize, active: &Set<WORDS>) -> bool {
        active.meets(self.of[node].sensed)
    }

    #[inline]
    fn sensed_among(&self, node: usize, those: &Set<WORDS>) -> impl Iterator<Item = usize> {
        (self.of[node].sensed & *those).into_iter()
    }

    #[inline]
    fn others(&self, node: usize, active: &Set<WORDS>) -> Set<WORDS> {
        *active & self.of[node].near
    }

    #[inline]
    fn is_heard(&self, node: usize, other: Other) -> bool {
        self.of[node].heard.has(other.node())
    }

    #[inline]
    fn hears(&self, node: usize, other: Other) -> bool {
        self.of[node].hearers.has(other.node())
    }

    #[inline]
    fn shared(&self, _node: usize, other: Other) -> Set<WORDS> {
        self.of[other.node()].hearers
    }

    #[inline]
    fn shared_of(&self, _node: usize, _other: Other, hearers: Set<WORDS>) -> Set<WORDS> {
        hearers
    }

    #[inline]
    fn prevails(&self, node: usize, other: Other) -> Set<WORDS> {
        self.of[node].prevails[other.node()]
    }

    #[inline]
    fn yields(&self, node: usize, other: Other) -> Set<WORDS> {
        self.of[other.node()].prevails[node]
    }
}

impl<const WORDS: usize> Others for Set<WORDS> {
    #[inline]
    fn each(&self) -> impl Iterator<Item = Other> {
        self.into_iter().map(|node| Other { node, pair: 0 })
    }
}
