//! A network of any number of nodes: sets of a node's hearers by colours that are used again far off.
//!
//! Two nodes have different colours if they hear one sender: a colouring of the graph at distance two, node by node, each with
//! the least colour that is free. The nodes near a node are kept as words of a set of all nodes, with those words alone that have any.

mod places;

use super::{Network, Other, Others, Relations, Row};
use crate::mac::dcf::Ear;
use crate::mac::dcf::reception::prevails;
use crate::mac::dcf::shape::{ColourSet, Dense, Set, Shape, WORD};
use evenair_des::ahead::{fetch, fetch_all};
use smallvec::SmallVec;

/// The relations of nodes that have colours.
#[allow(unnameable_types, reason = "a matter of the air's own")]
#[derive(Clone, Debug)]
pub struct Coloured<S: Shape> {
    /// By node: its place in sets of all nodes.
    places: Vec<u32>,
    /// By place.
    nodes: Vec<u32>,
    /// By node, and by place.
    colours: Vec<u8>,
    colours_by_place: Vec<u8>,
    used: usize,
    /// By node, and of each node by the hearer's colour.
    hearers: Vec<Hearers>,
    regions: Rows<Region>,
    /// Words of the sets of the nodes that a node senses.
    sensed: Rows<(u32, u64)>,
    /// By node: how many frames it senses.
    carriers: Vec<u16>,
    near: Rows<Near>,
    pairs: Vec<Pair<S>>,
}

/// How many colours there are.
const COLOURS: usize = WORD;

/// A hearer of a node, and how long frames travel to it \[ns\], in four bytes.
#[derive(Clone, Copy, Debug)]
#[allow(unnameable_types, reason = "a matter of the air's own")]
pub struct Hearer(u32);

impl Hearer {
    const DELAY_BITS: u32 = 14; // for a half slot of any standard
    const NOBODY: Self = Self(u32::MAX);

    /// If so much is enough for its number and its delay.
    fn new(node: u32, delay_ns: u32) -> Option<Self> {
        let is_few = node < (Self::NOBODY.0 >> Self::DELAY_BITS) && delay_ns < 1 << Self::DELAY_BITS;
        is_few.then_some(Self(node << Self::DELAY_BITS | delay_ns))
    }

    #[inline]
    const fn node(self) -> usize {
        (self.0 >> Self::DELAY_BITS) as usize
    }

    #[inline]
    const fn delay_ns(self) -> u32 {
        self.0 & ((1 << Self::DELAY_BITS) - 1)
    }
}

/// The hearers of a node, by their colours.
type Hearers = [Hearer; COLOURS];

impl Row for Hearers {
    #[inline]
    fn hearer(&self, colour: usize) -> usize {
        self[colour % COLOURS].node()
    }

    #[inline]
    fn delay_ns(&self, colour: usize) -> u32 {
        self[colour % COLOURS].delay_ns()
    }
}

/// A word of the sets of the nodes that hear a node, and of its neighbourhood.
#[derive(Clone, Copy, Debug)]
struct Region {
    lot: u32,
    hearers: u64,
    neighbours: u64,
}

/// A word of the set of the senders near a node, and the place of the record of the first of them.
#[derive(Clone, Copy, Debug)]
struct Near {
    lot: u32,
    first: u32,
    senders: u64,
}

/// A node and a sender near it.
#[derive(Clone, Copy, Debug)]
struct Pair<S: Shape> {
    /// The hearers that both have, those where the node's frames survive the other's, and the other way round.
    shared: S::Set,
    prevails: S::Set,
    yields: S::Set,
    /// It hears the node; the node hears it.
    hears: bool,
    is_heard: bool,
}

impl<S: Shape> Pair<S> {
    const NONE: Self = Self {
        shared: S::Set::NONE,
        prevails: S::Set::NONE,
        yields: S::Set::NONE,
        hears: false,
        is_heard: false,
    };
}

/// Rows of values, one for each node.
#[derive(Clone, Debug)]
struct Rows<T> {
    values: Vec<T>,
    /// Where the row of each node begins, and the last ends.
    begins: Vec<u32>,
}

impl<T> Rows<T> {
    fn new() -> Self {
        Self { values: Vec::new(), begins: vec![0] }
    }

    /// The row of the next node.
    fn add(&mut self, row: impl IntoIterator<Item = T>) {
        self.values.extend(row);
        self.begins.push(self.values.len() as u32);
    }

    #[inline]
    fn of(&self, node: usize) -> &[T] {
        &self.values[self.begins[node] as usize..self.begins[node + 1] as usize]
    }
}

/// The places in a word of a set of all nodes.
#[inline]
fn places_of(lot: u32, word: u64) -> impl Iterator<Item = usize> {
    Set::from([word]).into_iter().map(move |bit| lot as usize * WORD + bit)
}

/// Whether two places have their bits in one word.
fn share_a_word(a: u32, b: u32) -> bool {
    a / WORD as u32 == b / WORD as u32
}

/// The word of a set of all nodes that these places have their bits in, and what is in it.
fn word_of(places: &[u32]) -> (u32, u64) {
    let word = places.iter().fold(0, |word, place| word | 1 << (place % WORD as u32));
    (places[0] / WORD as u32, word)
}

/// The senders that reach each node, in ascending order, with their signals.
fn heard_by(hearers: &[&[Ear]]) -> Vec<Vec<(u32, Ear)>> {
    let mut heard = vec![Vec::new(); hearers.len()];
    for (node, ears) in (0..).zip(hearers) {
        ears.iter().for_each(|ear| heard[ear.node as usize].push((node, *ear)));
    }
    heard
}

/// A colour for each node, if so many are enough.
fn colour(hearers: &[&[Ear]], heard: &[Vec<(u32, Ear)>], most: usize) -> Option<Vec<u8>> {
    const NONE: u8 = u8::MAX;
    let mut colours = vec![NONE; hearers.len()];
    let mut taken_by = [usize::MAX; NONE as usize + 1];
    for (node, heard) in heard.iter().enumerate() {
        for ear in heard.iter().flat_map(|&(from, _)| hearers[from as usize]) {
            taken_by[usize::from(colours[ear.node as usize])] = node;
        }
        colours[node] = (0..most.min(NONE.into())).find(|&colour| taken_by[colour] != node)? as u8;
    }
    Some(colours)
}

impl<S: Shape> Coloured<S> {
    /// These hearers by their colours.
    fn hearers_of(&self, ears: &[Ear]) -> Hearers {
        let mut hearers = [Hearer::NOBODY; COLOURS];
        for ear in ears {
            let hearer = Hearer::new(ear.node, ear.delay_ns).expect("all were tried");
            hearers[usize::from(self.colours[ear.node as usize])] = hearer;
        }
        hearers
    }

    /// The hearers of a node in a set of all nodes, of which a word is made of its number.
    #[inline]
    fn colours_of(&self, node: usize, word: impl Fn(u32) -> u64) -> S::Set {
        let mut set = S::Set::NONE;
        for region in self.regions.of(node) {
            for place in places_of(region.lot, region.hearers & word(region.lot)) {
                set.insert(usize::from(self.colours_by_place[place]));
            }
        }
        set
    }

    /// The place of each sender near a node that is among these, and that of the record of both.
    #[inline]
    fn each_near(&self, node: usize, active: &Dense, mut each: impl FnMut(usize, u32)) {
        for near in self.near.of(node) {
            let mut word = near.senders & active.word(near.lot);
            while word != 0 {
                let bit = word.trailing_zeros();
                let before = near.senders & ((1 << bit) - 1);
                each(near.lot as usize * WORD + bit as usize, near.first + before.count_ones());
                word &= word - 1;
            }
        }
    }

    /// The words of the sets around a node, which hears these senders.
    fn add_region(&mut self, node: usize, network: &Network<'_>, heard: &[(u32, Ear)]) {
        const NONE: Region = Region { lot: 0, hearers: 0, neighbours: 0 };
        let contends = |node: u32| u64::from(network.contends[node as usize]);
        let place = |node: u32| self.places[node as usize];
        let own = (place(node as u32), Region { neighbours: contends(node as u32), ..NONE });
        let hearers = network.hearers[node].iter().map(|ear| {
            let neighbours = u64::from(ear.sensed) & contends(ear.node);
            (place(ear.node), Region { hearers: 1, neighbours, ..NONE })
        });
        let mut sensed: Vec<u32> =
            heard.iter().filter(|(_, ear)| ear.sensed).map(|&(from, _)| place(from)).collect();
        sensed.sort_unstable();
        self.sensed.add(sensed.chunk_by(|&a, &b| share_a_word(a, b)).map(word_of));
        let mut bits: Vec<(u32, Region)> = hearers.chain([own]).collect();
        bits.sort_unstable_by_key(|&(place, _)| place);
        self.regions.add(bits.chunk_by(|a, b| share_a_word(a.0, b.0)).map(|lot| {
            let none = Region { lot: lot[0].0 / WORD as u32, ..NONE };
            lot.iter().fold(none, |word, &(place, bit)| {
                let place = place % WORD as u32;
                Region {
                    lot: word.lot,
                    hearers: word.hearers | bit.hearers << place,
                    neighbours: word.neighbours | bit.neighbours << place,
                }
            })
        }));
    }

    /// The senders near a node, with the records of both. `records` is of use to find these again by their nodes.
    fn add_near(
        &mut self,
        node: usize,
        network: &Network<'_>,
        heard: &[Vec<(u32, Ear)>],
        records: &mut [u32],
    ) {
        let hearers = network.hearers[node];
        let beside = hearers.iter().flat_map(|ear| &heard[ear.node as usize]);
        let senders = heard[node].iter().chain(beside).map(|&(from, _)| from);
        let all = hearers.iter().map(|ear| ear.node).chain(senders);
        let others = all.filter(|&other| other as usize != node);
        let mut near: Vec<u32> = others.map(|other| self.places[other as usize]).collect();
        near.sort_unstable();
        near.dedup();
        let first = self.pairs.len() as u32;
        self.pairs.resize(self.pairs.len() + near.len(), Pair::NONE);
        for (record, &place) in (first..).zip(&near) {
            records[self.nodes[place as usize] as usize] = record;
        }
        for ear in hearers {
            self.pairs[records[ear.node as usize] as usize].hears = true;
            let colour = usize::from(self.colours[ear.node as usize]);
            for (other, of_other) in heard[ear.node as usize].iter().filter(|h| h.0 as usize != node) {
                let pair = &mut self.pairs[records[*other as usize] as usize];
                pair.shared.insert(colour);
                if let Some(ratio) = network.capture_ratio {
                    pair.prevails.insert_if(prevails(ear.power_mw, of_other.power_mw, ratio), colour);
                    pair.yields.insert_if(prevails(of_other.power_mw, ear.power_mw, ratio), colour);
                }
            }
        }
        for (from, _) in &heard[node] {
            self.pairs[records[*from as usize] as usize].is_heard = true;
        }
        let mut record = first;
        self.near.add(near.chunk_by(|&a, &b| share_a_word(a, b)).map(|lot| {
            let (lot_number, senders) = word_of(lot);
            let word = Near { lot: lot_number, first: record, senders };
            record += lot.len() as u32;
            word
        }));
    }
}

impl<S: Shape<Nodes = Dense>> Relations<S> for Coloured<S> {
    type Others = SmallVec<[Other; 8]>;
    type Row = Hearers;

    fn none(_nodes: usize) -> Self {
        Self {
            places: Vec::new(),
            nodes: Vec::new(),
            colours: Vec::new(),
            colours_by_place: Vec::new(),
            used: 0,
            hearers: Vec::new(),
            regions: Rows::new(),
            sensed: Rows::new(),
            carriers: Vec::new(),
            near: Rows::new(),
            pairs: Vec::new(),
        }
    }

    fn draw(&mut self, network: &Network<'_>) -> bool {
        let nodes = network.hearers.len();
        self.nodes = places::nodes_by_place(&network.hearers);
        self.places = vec![0; nodes];
        (0..).zip(&self.nodes).for_each(|(place, &node)| self.places[node as usize] = place);
        let mut ears = network.hearers.iter().copied().flatten();
        if !ears.all(|ear| Hearer::new(ear.node, ear.delay_ns).is_some()) {
            return false;
        }
        let heard = heard_by(&network.hearers);
        let Some(colours) = colour(&network.hearers, &heard, COLOURS) else { return false };
        self.colours_by_place = self.nodes.iter().map(|&node| colours[node as usize]).collect();
        self.used = colours.iter().max().map_or(0, |&last| usize::from(last) + 1);
        self.colours = colours;
        self.hearers = network.hearers.iter().map(|ears| self.hearers_of(ears)).collect();
        self.carriers = vec![0; nodes];
        (self.regions, self.sensed) = (Rows::new(), Rows::new());
        (self.near, self.pairs) = (Rows::new(), Vec::new());
        let mut records = vec![0; nodes];
        for node in 0..nodes {
            self.add_region(node, network, &heard[node]);
            self.add_near(node, network, &heard, &mut records);
        }
        true
    }

    #[inline]
    fn place(&self, node: usize) -> usize {
        self.places[node] as usize
    }

    fn nodes(&self, those: &Dense) -> impl Iterator<Item = usize> {
        let lots = 0..self.nodes.len().div_ceil(WORD) as u32;
        lots.flat_map(|lot| places_of(lot, those.word(lot))).map(|place| self.nodes[place] as usize)
    }

    #[inline]
    fn colour(&self, node: usize) -> usize {
        self.colours[node].into()
    }

    #[inline]
    fn row(&self, node: usize) -> &Hearers {
        &self.hearers[node]
    }

    #[inline]
    fn alone(&self, node: usize, hearer: u32) -> S::Set {
        match self.colours.get(hearer as usize).map(|&colour| usize::from(colour)) {
            Some(colour) if self.row(node).hearer(colour) == hearer as usize => S::Set::of(colour as u32),
            _ => S::Set::NONE,
        }
    }

    #[inline]
    fn among(&self, node: usize, those: &Dense) -> S::Set {
        self.colours_of(node, |lot| those.word(lot))
    }

    #[inline]
    fn among_but(&self, node: usize, those: &Dense, others: &Dense) -> S::Set {
        self.colours_of(node, |lot| those.word(lot) & !others.word(lot))
    }

    #[inline]
    fn neighbours_among(&self, node: usize, those: &Dense) -> impl Iterator<Item = usize> {
        let word = |region: &Region| places_of(region.lot, region.neighbours & those.word(region.lot));
        self.regions.of(node).iter().flat_map(word).map(|place| self.nodes[place] as usize)
    }

    #[inline]
    fn begin(&mut self, node: usize, sensing: S::Set) {
        let hearers = &self.hearers[node];
        sensing.into_iter().for_each(|colour| self.carriers[hearers.hearer(colour)] += 1);
    }

    #[inline]
    fn end(&mut self, node: usize, sensing: S::Set) {
        let hearers = &self.hearers[node];
        sensing.into_iter().for_each(|colour| self.carriers[hearers.hearer(colour)] -= 1);
    }

    #[inline]
    fn senses_any(&self, node: usize, _active: &Dense) -> bool {
        self.carriers[node] > 0
    }

    #[inline]
    fn sensed_among(&self, node: usize, those: &Dense) -> impl Iterator<Item = usize> {
        let word = |&(lot, word): &(u32, u64)| places_of(lot, word & those.word(lot));
        self.sensed.of(node).iter().flat_map(word).map(|place| self.nodes[place] as usize)
    }

    #[inline]
    fn others(&self, node: usize, active: &Dense) -> Self::Others {
        let mut others = SmallVec::new();
        self.each_near(node, active, |place, pair| {
            others.push(Other { node: self.nodes[place] as usize, pair });
        });
        others
    }

    #[inline]
    fn is_heard(&self, _node: usize, other: Other) -> bool {
        self.pairs[other.pair as usize].is_heard
    }

    #[inline]
    fn hears(&self, _node: usize, other: Other) -> bool {
        self.pairs[other.pair as usize].hears
    }

    #[inline]
    fn shared(&self, _node: usize, other: Other) -> S::Set {
        self.pairs[other.pair as usize].shared
    }

    #[inline]
    fn shared_of(&self, node: usize, other: Other, hearers: S::Set) -> S::Set {
        hearers & self.shared(node, other)
    }

    #[inline]
    fn prevails(&self, _node: usize, other: Other) -> S::Set {
        self.pairs[other.pair as usize].prevails
    }

    #[inline]
    fn yields(&self, _node: usize, other: Other) -> S::Set {
        self.pairs[other.pair as usize].yields
    }

    #[inline]
    fn fetch_neighbourhood(&self, node: usize) {
        fetch_all(self.regions.of(node));
    }

    #[inline]
    fn fetch_node(&self, node: usize) {
        fetch_all(self.regions.of(node));
        fetch_all(&self.hearers[node][..self.used]);
    }

    #[inline]
    fn fetch_near(&self, node: usize) {
        fetch_all(self.near.of(node));
    }

    #[inline]
    fn fetch_pairs(&self, node: usize, active: &Dense) {
        self.each_near(node, active, |_, pair| fetch(&self.pairs[pair as usize]));
    }
}

impl Others for SmallVec<[Other; 8]> {
    #[inline]
    fn each(&self) -> impl Iterator<Item = Other> {
        self.iter().copied()
    }
}
