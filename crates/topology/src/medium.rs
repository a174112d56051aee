//! The nodes' hearing of each other: how strongly and how late.

use crate::{ConflictGraph, Obstacles, Position, Propagation};
use evenair_units::{Dbm, Duration};
use std::collections::BTreeMap;

/// The strongest effect of a signal on a node that it reaches. A decodable signal is sensed, too, and a sensed signal
/// interferes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// It disturbs other frames and nothing more.
    Interferes,
    /// It makes the medium busy.
    Sensed,
    /// Undisturbed, it is decoded.
    Decodable,
}

impl Reach {
    /// The strongest effect. Where the threshold of decoding is met, that of carrier sense counts as met.
    const fn of(decodable: bool, sensed: bool) -> Self {
        match (decodable, sensed) {
            (true, _) => Self::Decodable,
            (false, true) => Self::Sensed,
            (false, false) => Self::Interferes,
        }
    }
}

/// One node's ear for another node's frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hearing {
    /// The node that hears.
    pub node: u32,
    /// How strongly.
    pub power: Dbm,
    /// The signal's strongest effect there.
    pub reach: Reach,
    /// How long the signal is under way.
    pub delay: Duration,
}

impl Hearing {
    /// Whether an undisturbed frame is decoded.
    pub const fn is_decodable(&self) -> bool {
        matches!(self.reach, Reach::Decodable)
    }

    /// Whether it makes the medium busy; a frame that can be decoded does.
    pub const fn is_sensed(&self) -> bool {
        !matches!(self.reach, Reach::Interferes)
    }
}

/// A directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// The node that transmits.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
}

impl Link {
    /// The link the other way, which carries the acknowledgements.
    pub const fn reversed(self) -> Self {
        Self { from: self.to, to: self.from }
    }

    fn ends(self) -> [u32; 2] {
        [self.from, self.to]
    }
}

/// A radio with thresholds given as ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdRadio {
    /// Frames from nearer than this are decoded, and sensed \[m\].
    pub transmission_range_m: f64,
    /// Frames from nearer than this make the medium busy \[m\].
    pub carrier_sense_range_m: f64,
    /// Frames from nearer than this interfere, where interference is added up; at least the carrier-sense range \[m\].
    pub interference_range_m: f64,
    /// How power falls with distance; decides which of two frames captures a receiver.
    pub propagation: Propagation,
}

/// How strongly one node receives another, given outright.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// The node that transmits.
    pub from: u32,
    /// The node that receives.
    pub to: u32,
    /// How strongly.
    pub power: Dbm,
}

/// The nodes' hearing of each other: for each transmitter, the nodes that its signal reaches, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Medium {
    hearers: Vec<Vec<Hearing>>,
}

impl Medium {
    /// The medium between nodes at these positions.
    pub fn from_positions(positions: &[Position], radio: &ThresholdRadio) -> Self {
        let places: Vec<Option<Position>> = positions.iter().copied().map(Some).collect();
        Self::from_transmitters(&places, &Obstacles::default(), radio, |_| None)
    }

    /// The medium between nodes with obstacles; nodes without a place are never heard. Through obstacles a node is
    /// heard as one that is as much further away in the open. The time grows with the pairs in range, not with the
    /// square of the nodes.
    ///
    /// A node with a transmit power of its own is heard as one of the radio's power that is as much
    /// nearer or further away. Thresholds are then powers, by which the radio's ranges go.
    pub fn from_transmitters(
        places: &[Option<Position>],
        obstacles: &Obstacles,
        radio: &ThresholdRadio,
        transmit: impl Fn(usize) -> Option<Dbm>,
    ) -> Self {
        let reach_m =
            radio.interference_range_m.max(radio.carrier_sense_range_m).max(radio.transmission_range_m);
        let propagation = &radio.propagation;
        let gain_db = |node: usize| transmit(node).map_or(0.0, |own| own - propagation.transmit);
        let loudest_db = (0..places.len()).map(gain_db).fold(0.0, f64::max) + obstacles.most_gain_db();
        // The distance at which the loudest is as loud as the radio's own power at the edge of its reach.
        let farthest_m = if loudest_db > 0.0 {
            propagation.range_m(propagation.received(reach_m) + -loudest_db)
        } else {
            reach_m
        };
        let squares = Squares::new(places, farthest_m);
        let hearers = places.iter().enumerate().map(|(from, at)| {
            let Some(at) = *at else { return Vec::new() };
            let mut near: Vec<(u32, Position)> =
                squares.around(at).filter(|&(node, _)| node as usize != from).collect();
            near.sort_unstable_by_key(|&(node, _)| node);
            let ears = near.into_iter().filter_map(|(node, there)| {
                let mut distance_m = at.distance_m(there);
                let mut power = radio.propagation.received(distance_m);
                let loss_db = obstacles.loss_db(at, there) - gain_db(from);
                if loss_db != 0.0 {
                    power = power + -loss_db;
                    distance_m = radio.propagation.range_m(power);
                }
                (distance_m <= reach_m).then(|| Hearing {
                    node,
                    power,
                    reach: Reach::of(
                        distance_m <= radio.transmission_range_m,
                        distance_m <= radio.carrier_sense_range_m,
                    ),
                    delay: at.propagation(there),
                })
            });
            ears.collect()
        });
        Self { hearers: hearers.collect() }
    }

    /// The medium that a table of signals describes; without delay. Of two entries for one pair the later counts.
    pub fn from_signals(nodes: usize, signals: &[Signal], receive: Dbm, carrier_sense: Dbm) -> Self {
        let mut hearers: Vec<Vec<Hearing>> = vec![Vec::new(); nodes];
        for signal in signals {
            let ear = Hearing {
                node: signal.to,
                power: signal.power,
                reach: Reach::of(signal.power >= receive, signal.power >= carrier_sense),
                delay: Duration::ZERO,
            };
            let ears = &mut hearers[signal.from as usize];
            match ears.binary_search_by_key(&signal.to, |ear| ear.node) {
                Ok(at) => ears[at] = ear,
                Err(at) => ears.insert(at, ear),
            }
        }
        Self { hearers }
    }

    /// The medium that a conflict graph between links describes: the two ends of a link decode each other, all ends
    /// of two conflicting links sense each other without decoding, at one power and without delay.
    ///
    /// Links that share a node conflict, with or without an edge in the graph.
    pub fn from_conflicts(nodes: usize, links: &[Link], conflicts: &ConflictGraph) -> Self {
        let level = |decodable| if decodable { Dbm::new(-60.0) } else { Dbm::new(-70.0) };
        let mut decodable = vec![None; nodes * nodes];
        let mut connect = |a: u32, b: u32, can_decode: bool| {
            for (x, y) in [(a, b), (b, a)] {
                let cell: &mut Option<bool> = &mut decodable[x as usize * nodes + y as usize];
                *cell = Some(cell.unwrap_or(false) || can_decode);
            }
        };
        for (l, link) in links.iter().enumerate() {
            connect(link.from, link.to, true);
            for &m in conflicts.neighbours(l) {
                for a in link.ends() {
                    for b in links[m as usize].ends().into_iter().filter(|&b| b != a) {
                        connect(a, b, false);
                    }
                }
            }
        }
        let hearers = decodable
            .chunks(nodes.max(1))
            .map(|row| {
                let ears = row.iter().enumerate().filter_map(|(node, &cell)| cell.map(|can| (node, can)));
                ears.map(|(node, decodable)| Hearing {
                    node: node as u32,
                    power: level(decodable),
                    reach: Reach::of(decodable, true),
                    delay: Duration::ZERO,
                })
                .collect()
            })
            .collect();
        Self { hearers }
    }

    /// The same medium where each node is on one of several channels that do not disturb each other: a node hears those of its own.
    #[must_use]
    pub fn on_channels(mut self, channels: &[u32]) -> Self {
        for (from, ears) in self.hearers.iter_mut().enumerate() {
            ears.retain(|ear| channels[ear.node as usize] == channels[from]);
        }
        self
    }

    /// The same medium, where a signal that is decodable remains so only by this rule, of its sender and its hearer; else it is sensed.
    #[must_use]
    pub fn decodable_where(mut self, rule: impl Fn(u32, &Hearing) -> bool) -> Self {
        for (from, ears) in (0..).zip(&mut self.hearers) {
            for ear in ears.iter_mut().filter(|ear| ear.is_decodable()) {
                if !rule(from, ear) {
                    ear.reach = Reach::Sensed;
                }
            }
        }
        self
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.hearers.len()
    }

    /// The nodes that hear `from`, in the order of their numbers.
    pub fn hearers(&self, from: usize) -> &[Hearing] {
        &self.hearers[from]
    }

    /// How `to` hears `from`, if it does.
    pub fn hearing(&self, from: usize, to: usize) -> Option<&Hearing> {
        let ears = &self.hearers[from];
        ears.binary_search_by_key(&(to as u32), |ear| ear.node).ok().map(|i| &ears[i])
    }

    /// Which of `links` conflict: those with an end in carrier-sense range of an end of the other ([Chen10] section
    /// 3.2), and those that share a node. The time grows with the pairs nearby.
    pub fn conflicts(&self, links: &[Link]) -> ConflictGraph {
        self.contention(links, Hearing::is_sensed)
    }

    /// Each link's collision domain: the neighbours are the links with an end in *transmission* range of one of its
    /// ends, or a node in common. The domain is these and the link itself ([Jam10] section 4.1.2, eq. (4.6)).
    pub fn collision_domains(&self, links: &[Link]) -> ConflictGraph {
        self.contention(links, Hearing::is_decodable)
    }

    /// Which of `links` conflict where carrier sense has no part: those of which one's frames, or the answers to them, spoil the other's,
    /// and those that share a node. `survives` tells whether a link, by its place, keeps its frames, received at the first power, under a
    /// signal of the second.
    pub fn spoiling(&self, links: &[Link], survives: impl Fn(usize, Dbm, Dbm) -> bool) -> ConflictGraph {
        let mut received_at: Vec<Vec<usize>> = vec![Vec::new(); self.nodes()];
        for (l, link) in links.iter().enumerate() {
            received_at[link.to as usize].push(l);
        }
        let mut graph = self.contention(links, |_| false); // a node in common
        for (m, link) in links.iter().enumerate() {
            for ear in link.ends().into_iter().flat_map(|end| self.hearers(end as usize)) {
                for &l in &received_at[ear.node as usize] {
                    let signal = self.hearing(links[l].from as usize, links[l].to as usize);
                    if signal.is_none_or(|signal| !survives(l, signal.power, ear.power)) {
                        graph.add(l, m);
                    }
                }
            }
        }
        graph
    }

    /// Links that an ear of this kind, or a common node, joins.
    fn contention(&self, links: &[Link], joins: impl Fn(&Hearing) -> bool) -> ConflictGraph {
        let mut at_node: Vec<Vec<usize>> = vec![Vec::new(); self.nodes()];
        for (l, link) in links.iter().enumerate() {
            for end in link.ends() {
                at_node[end as usize].push(l);
            }
        }
        let mut graph = ConflictGraph::new(links.len());
        for (l, link) in links.iter().enumerate() {
            for end in link.ends() {
                let ears = self.hearers(end as usize).iter().filter(|ear| joins(ear));
                for near in ears.map(|ear| ear.node).chain([end]) {
                    for &m in &at_node[near as usize] {
                        graph.add(l, m);
                    }
                }
            }
        }
        graph
    }
}

/// Nodes by the square of the plane that they stand in.
struct Squares {
    side_m: f64,
    nodes: BTreeMap<(i64, i64), Vec<(u32, Position)>>,
}

impl Squares {
    fn new(places: &[Option<Position>], side_m: f64) -> Self {
        let mut squares = Self { side_m: side_m.max(1.0), nodes: BTreeMap::new() };
        for (node, at) in places.iter().enumerate() {
            if let Some(at) = *at {
                squares.nodes.entry(squares.of(at)).or_default().push((node as u32, at));
            }
        }
        squares
    }

    fn of(&self, at: Position) -> (i64, i64) {
        // The casts saturate: nodes very far out share a square, which only costs time.
        (libm::floor(at.x_m / self.side_m) as i64, libm::floor(at.y_m / self.side_m) as i64)
    }

    /// The nodes of a point's square and of the eight around it: all that stand within a side's length are among them.
    fn around(&self, at: Position) -> impl Iterator<Item = (u32, Position)> + '_ {
        let (column, row) = self.of(at);
        (-1..=1)
            .flat_map(move |dx| (-1..=1).map(move |dy| (column.saturating_add(dx), row.saturating_add(dy))))
            .filter_map(|square| self.nodes.get(&square))
            .flatten()
            .copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathLoss;

    fn radio() -> ThresholdRadio {
        ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 800.0,
            interference_range_m: 800.0,
            propagation: Propagation::default(),
        }
    }

    #[test]
    fn ranges_decide_on_reception() {
        let at = [0.0, 200.0, 700.0].map(|x| Position::new(x, 0.0));
        let medium = Medium::from_positions(&at, &radio());
        assert!(medium.hearing(0, 1).unwrap().is_decodable());
        assert!(!medium.hearing(0, 2).unwrap().is_decodable());
        assert_eq!(medium.hearers(2).len(), 2);
        let far = [0.0, 900.0].map(|x| Position::new(x, 0.0));
        assert!(Medium::from_positions(&far, &radio()).hearing(0, 1).is_none());
    }

    #[test]
    fn height_lengthens_the_way() {
        // 3, 4, 12: 5 m along the ground, 13 m in all.
        let at = [Position::new(0.0, 0.0), Position::new(3.0, 4.0).up(12.0)];
        assert!((at[0].distance_m(at[1]) - 13.0).abs() < 1e-12);
        let radio = ThresholdRadio { transmission_range_m: 12.9, carrier_sense_range_m: 13.1, ..radio() };
        assert_eq!(Medium::from_positions(&at, &radio).hearing(0, 1).unwrap().reach, Reach::Sensed);
    }

    /// Free space: 6.02 dB more go twice as far, and as much less half as far; only that node's own frames.
    #[test]
    fn stronger_node_reaches_further() {
        let propagation = Propagation { loss: PathLoss::FreeSpace, ..Propagation::default() };
        let radio = ThresholdRadio {
            transmission_range_m: 100.0,
            carrier_sense_range_m: 200.0,
            interference_range_m: 200.0,
            propagation,
        };
        let change_db = 20.0 * libm::log10(2.0);
        let heard = |distance_m: f64, by_db: f64| {
            let places = [Some(Position::new(0.0, 0.0)), Some(Position::new(distance_m, 0.0))];
            let own = propagation.transmit + by_db;
            let medium = Medium::from_transmitters(&places, &Obstacles::default(), &radio, |node| {
                (node == 0).then_some(own)
            });
            [medium.hearing(0, 1).map(|ear| ear.reach), medium.hearing(1, 0).map(|ear| ear.reach)]
        };
        let (decoded, sensed) = (Some(Reach::Decodable), Some(Reach::Sensed));
        assert_eq!(heard(199.0, change_db), [decoded, sensed]);
        assert_eq!(heard(201.0, change_db), [sensed, None]);
        assert_eq!(heard(399.0, change_db), [sensed, None]);
        assert_eq!(heard(401.0, change_db), [None, None]);
        assert_eq!(heard(49.0, -change_db), [decoded, decoded]);
        assert_eq!(heard(51.0, -change_db), [sensed, decoded]);
        assert_eq!(heard(101.0, -change_db), [None, sensed]);
    }

    #[test]
    fn channels_part_nodes() {
        let at = [0.0, 50.0, 100.0].map(|x| Position::new(x, 0.0));
        let medium = Medium::from_positions(&at, &radio()).on_channels(&[1, 6, 1]);
        assert!(medium.hearing(0, 2).is_some() && medium.hearing(2, 0).is_some());
        assert!(medium.hearing(0, 1).is_none() && medium.hearing(1, 2).is_none());
    }

    #[test]
    fn conflict_graph_survives_way_through_medium() {
        let links: Vec<Link> = (0..4).map(|l| Link { from: 2 * l, to: 2 * l + 1 }).collect();
        let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
        let medium = Medium::from_conflicts(8, &links, &graph);
        assert_eq!(medium.conflicts(&links), graph);
    }

    /// Two pairs with receivers 100 m from their senders on the outer side: the senders are 300 m apart, each receiver 400 m from the other
    /// sender. Carrier sense joins the links; signals are 24 dB over interference, by free space to 86 m and the fourth power behind.
    #[test]
    fn links_that_spoil_nothing_do_not_conflict() {
        let at = [-100.0, 0.0, 300.0, 400.0].map(|x| Position::new(x, 0.0));
        let medium = Medium::from_positions(&at, &radio());
        let links = [Link { from: 1, to: 0 }, Link { from: 2, to: 3 }];
        assert_eq!(medium.conflicts(&links), ConflictGraph::from_edges(2, &[(0, 1)]));
        let with = |ratio_db: f64| medium.spoiling(&links, |_, signal, other| signal - other >= ratio_db);
        assert_eq!(with(23.0), ConflictGraph::new(2));
        assert_eq!(with(25.0), ConflictGraph::from_edges(2, &[(0, 1)]));
        // A node in common.
        let both = [links[0], Link { from: 1, to: 2 }];
        assert_eq!(medium.spoiling(&both, |_, _, _| true), ConflictGraph::from_edges(2, &[(0, 1)]));
    }

    #[test]
    fn squares_find_the_pairs_of_a_full_search() {
        let mut state = 1u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / 9_007_199_254_740_992.0
        };
        let at = crate::generate::random(300, 5000.0, 4000.0, &mut unit);
        let medium = Medium::from_positions(&at, &radio());
        for from in 0..at.len() {
            let near = (0..at.len()).filter(|&to| to != from && at[from].distance_m(at[to]) <= 800.0);
            let found: Vec<usize> = medium.hearers(from).iter().map(|ear| ear.node as usize).collect();
            assert_eq!(found, near.collect::<Vec<_>>());
        }
    }

    #[test]
    fn table_of_signals_keeps_its_directions() {
        let signal = |from, to, dbm| Signal { from, to, power: Dbm::new(dbm) };
        let table = [signal(0, 1, -60.0), signal(1, 0, -70.0), signal(1, 2, -90.0)];
        let medium = Medium::from_signals(3, &table, Dbm::new(-64.0), Dbm::new(-78.0));
        assert!(medium.hearing(0, 1).unwrap().is_decodable());
        assert!(!medium.hearing(1, 0).unwrap().is_decodable() && medium.hearing(1, 0).unwrap().is_sensed());
        assert!(!medium.hearing(1, 2).unwrap().is_sensed(), "interference and nothing more");
        assert!(medium.hearing(2, 1).is_none());
    }
    #[test]
    fn decodable_is_sensed_at_any_threshold() {
        // Carrier sense to 100 m beside decoding to 250 m, and to -60 dBm beside -80: no medium can be so.
        let at = [0.0, 200.0, 900.0].map(|x| Position::new(x, 0.0));
        let short = ThresholdRadio { carrier_sense_range_m: 100.0, interference_range_m: 100.0, ..radio() };
        let places = Medium::from_positions(&at, &short);
        assert_eq!(places.hearing(0, 1).unwrap().reach, Reach::Decodable);
        let table = [Signal { from: 0, to: 1, power: Dbm::new(-70.0) }];
        let signals = Medium::from_signals(2, &table, Dbm::new(-80.0), Dbm::new(-60.0));
        for medium in [places, signals] {
            let mut ears = (0..medium.nodes()).flat_map(|from| medium.hearers(from));
            assert!(ears.all(|ear| ear.is_sensed() || !ear.is_decodable()));
        }
    }
}
