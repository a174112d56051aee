//! Places in sets of all nodes: nodes near each other share words.

use crate::mac::dcf::Ear;
use crate::mac::dcf::shape::WORD;

/// The nodes in the order of their places. Word by word, each next node is the one that hears most of those in the word, and is not
/// placed yet.
pub(super) fn nodes_by_place(hearers: &[&[Ear]]) -> Vec<u32> {
    let nodes = hearers.len();
    let mut order: Vec<u32> = Vec::with_capacity(nodes);
    let (mut is_placed, mut hears) = (vec![false; nodes], vec![0_u32; nodes]);
    let mut unplaced = 0..nodes as u32;
    // Those that hear some node of the word, and those that heard some of words before.
    let (mut candidates, mut left): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    while order.len() < nodes {
        if order.len().is_multiple_of(WORD) {
            candidates.iter().for_each(|&node| hears[node as usize] = 0);
            left.append(&mut candidates);
        }
        let most = candidates.iter().enumerate().max_by_key(|(_, node)| hears[**node as usize]);
        let next = match most.map(|(at, _)| at) {
            Some(at) => candidates.swap_remove(at),
            None => left.pop().or_else(|| unplaced.next()).expect("one is not placed"),
        };
        if std::mem::replace(&mut is_placed[next as usize], true) {
            continue;
        }
        order.push(next);
        for ear in hearers[next as usize].iter().filter(|ear| !is_placed[ear.node as usize]) {
            let hears = &mut hears[ear.node as usize];
            if *hears == 0 {
                candidates.push(ear.node);
            }
            *hears += 1;
        }
    }
    order
}
