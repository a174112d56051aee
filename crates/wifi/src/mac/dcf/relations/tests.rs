//! Colours tell the nodes of a small network as their numbers do.

use super::{Coloured, Few, Network, Others as _, Relations, Row as _};
use crate::mac::dcf::Ear;
use crate::mac::dcf::shape::{Dense, Many, NodeSet, Set, UpTo128, WORD};
use proptest::prelude::*;
use std::collections::BTreeSet;

type Small = Few<UpTo128, 2>;

/// Nodes of a square at random, of which each hears those within its own reach: not all pairs hear each other both ways.
fn hearers(at: &[(f64, f64, f64)]) -> Vec<Vec<Ear>> {
    let ear = |from: &(f64, f64, f64), node: usize| {
        let distance = libm::hypot(from.0 - at[node].0, from.1 - at[node].1);
        (distance < from.2).then(|| Ear {
            node: node as u32,
            delay_ns: (distance * 3.3) as u32,
            power_mw: (from.2 / distance.max(1.0)).powi(4) as f32,
            decodable: distance < 0.4 * from.2,
            sensed: distance < 0.9 * from.2,
            lossy: false,
            noticed: distance < 0.9 * from.2,
            clear_alone: distance < 0.4 * from.2,
        })
    };
    let of = |from: usize| (0..at.len()).filter(move |&n| n != from).filter_map(move |n| ear(&at[from], n));
    (0..at.len()).map(|from| of(from).collect()).collect()
}

/// The nodes of a set of a node's hearers.
fn named<const W: usize>(set: Set<W>, hearer: impl Fn(usize) -> usize) -> BTreeSet<usize> {
    set.into_iter().map(hearer).collect()
}

fn placed(coloured: &Coloured<Many>, nodes: &BTreeSet<usize>, all: usize) -> Dense {
    let mut set = Dense::of_none(all);
    nodes.iter().for_each(|&node| set.insert(coloured.place(node)));
    set
}

proptest! {
    #[test]
    fn colours_tell_hearers_as_numbers_do(
        at in prop::collection::vec((0.0..3_000.0f64, 0.0..3_000.0f64, 200.0..600.0f64), 2..=128),
        some in prop::collection::btree_set(0..128usize, 0..40),
        others in prop::collection::btree_set(0..128usize, 0..40),
    ) {
        let ears = hearers(&at);
        let network = Network {
            hearers: ears.iter().map(Vec::as_slice).collect(),
            contends: (0..at.len()).map(|node| node % 3 > 0).collect(),
            capture_ratio: Some(4.0),
        };
        let (mut few, mut many) = (Small::none(at.len()), Coloured::<Many>::none(at.len()));
        prop_assume!(Relations::<UpTo128>::draw(&mut few, &network) && many.draw(&network));
        let here = |set: BTreeSet<usize>| -> BTreeSet<usize> { set.into_iter().filter(|&n| n < at.len()).collect() };
        let (some, others) = (here(some), here(others));
        let numbers: [Set<2>; 2] = [&some, &others].map(|set| set.iter().copied().collect());
        let places = [&some, &others].map(|set| placed(&many, set, at.len()));
        prop_assert_eq!(many.nodes(&places[0]).collect::<BTreeSet<_>>(), some.clone());
        for (node, hearers) in ears.iter().enumerate() {
            let is_hearer = |n: &usize| hearers.iter().any(|ear| ear.node as usize == *n);
            let of_many = |set| named(set, |colour| many.row(node).hearer(colour));
            let of_few = |set| named(set, |n| n).into_iter().filter(is_hearer).collect::<BTreeSet<_>>();
            for ear in hearers {
                let colour = many.colour(ear.node as usize);
                prop_assert_eq!(many.row(node).hearer(colour), ear.node as usize, "two hearers of one colour");
                prop_assert_eq!(many.row(node).delay_ns(colour), ear.delay_ns);
                prop_assert_eq!(of_many(many.alone(node, ear.node)), BTreeSet::from([ear.node as usize]));
            }
            prop_assert_eq!(of_many(many.among(node, &places[0])), of_few(few.among(node, &numbers[0])));
            let but = of_few(few.among_but(node, &numbers[0], &numbers[1]));
            prop_assert_eq!(of_many(many.among_but(node, &places[0], &places[1])), but);
            let around = many.neighbours_among(node, &places[0]).collect::<BTreeSet<_>>();
            prop_assert_eq!(around, few.neighbours_among(node, &numbers[0]).collect());
            let sensed = many.sensed_among(node, &places[0]).collect::<BTreeSet<_>>();
            prop_assert_eq!(sensed, few.sensed_among(node, &numbers[0]).collect());
            let mut near: Vec<_> = many.others(node, &places[0]).each().collect();
            near.sort_by_key(|other| other.node());
            let near_few: Vec<_> = few.others(node, &numbers[0]).each().collect();
            prop_assert_eq!(near.len(), near_few.len());
            for (of, small) in near.into_iter().zip(near_few) {
                prop_assert_eq!(of.node(), small.node());
                prop_assert_eq!(many.is_heard(node, of), few.is_heard(node, small));
                prop_assert_eq!(many.hears(node, of), few.hears(node, small));
                prop_assert_eq!(of_many(many.shared(node, of)), of_few(few.shared(node, small)));
                prop_assert_eq!(of_many(many.prevails(node, of)), of_few(few.prevails(node, small)));
                prop_assert_eq!(of_many(many.yields(node, of)), of_few(few.yields(node, small)));
            }
        }
    }

    /// A node senses a carrier from the beginning of the first to the end of the last.
    #[test]
    fn carriers_are_counted(
        at in prop::collection::vec((0.0..2_000.0f64, 0.0..2_000.0f64, 200.0..600.0f64), 2..=60),
        turns in prop::collection::vec(0..60usize, 0..60),
    ) {
        let ears = hearers(&at);
        let hearers = ears.iter().map(Vec::as_slice).collect();
        let mut many = Coloured::<Many>::none(at.len());
        prop_assume!(many.draw(&Network { hearers, contends: vec![true; at.len()], capture_ratio: None }));
        let mut active = BTreeSet::new();
        for node in turns.into_iter().filter(|&node| node < at.len()) {
            let sensing = ears[node].iter().filter(|ear| ear.sensed).map(|ear| many.colour(ear.node as usize));
            let sensing: Set<1> = sensing.collect();
            if active.remove(&node) {
                many.end(node, sensing);
            } else {
                active.insert(node);
                many.begin(node, sensing);
            }
            let set = placed(&many, &active, at.len());
            for there in 0..at.len() {
                let senses = many.sensed_among(there, &set).next().is_some();
                prop_assert_eq!(many.senses_any(there, &set), senses);
            }
        }
    }
}

/// A node with more hearers than there are colours.
#[test]
fn a_crowd_has_too_few_colours() {
    for (nodes, is_enough) in [(WORD, true), (WORD + 1, true), (WORD + 2, false)] {
        let ears = hearers(&vec![(0.0, 0.0, 500.0); nodes]);
        let first_alone: Vec<&[Ear]> =
            ears.iter().enumerate().map(|(n, ears)| if n == 0 { &ears[..] } else { &[] }).collect();
        let network = Network { hearers: first_alone, contends: vec![true; nodes], capture_ratio: Some(4.0) };
        assert_eq!(Coloured::<Many>::none(nodes).draw(&network), is_enough, "{nodes} nodes");
    }
}
