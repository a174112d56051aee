//! Who hears whom, how strongly and how late.

use crate::{ConflictGraph, Position, TwoRayGround};
use evenair_units::{Dbm, Duration};

/// One node's ear for another node's frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hearing {
    /// The node that hears.
    pub node: u32,
    /// How strongly.
    pub power: Dbm,
    /// Whether an undisturbed frame is decoded; if not, it is carrier to sense and nothing more.
    pub decodable: bool,
    /// How long the signal is under way.
    pub delay: Duration,
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

/// A radio whose thresholds are given as ranges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdRadio {
    /// Frames from nearer than this are decoded \[m\].
    pub transmission_range_m: f64,
    /// Frames from nearer than this make the medium busy \[m\].
    pub carrier_sense_range_m: f64,
    /// How power falls with distance; decides which of two frames captures a receiver.
    pub propagation: TwoRayGround,
}

/// Who hears whom: for each transmitter, the nodes in carrier-sense range, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Medium {
    hearers: Vec<Vec<Hearing>>,
}

impl Medium {
    /// The medium between nodes at these positions.
    pub fn from_positions(positions: &[Position], radio: &ThresholdRadio) -> Self {
        let hearers = positions
            .iter()
            .enumerate()
            .map(|(from, &at)| {
                let others = positions.iter().enumerate().filter(|&(node, _)| node != from);
                others
                    .filter_map(|(node, &there)| {
                        let distance_m = at.distance_m(there);
                        (distance_m <= radio.carrier_sense_range_m).then(|| Hearing {
                            node: node as u32,
                            power: radio.propagation.received(distance_m),
                            decodable: distance_m <= radio.transmission_range_m,
                            delay: at.propagation(there),
                        })
                    })
                    .collect()
            })
            .collect();
        Self { hearers }
    }

    /// The medium that a conflict graph between links describes: the two ends of a link decode each other, all ends
    /// of two conflicting links sense each other without decoding, at one power and without delay.
    ///
    /// Links that share a node conflict, whatever the graph says.
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
                    decodable,
                    delay: Duration::ZERO,
                })
                .collect()
            })
            .collect();
        Self { hearers }
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
    /// 3.2), and those that share a node.
    pub fn conflicts(&self, links: &[Link]) -> ConflictGraph {
        let near = |a: Link, b: Link| {
            a.ends().into_iter().any(|x| {
                b.ends().into_iter().any(|y| x == y || self.hearing(x as usize, y as usize).is_some())
            })
        };
        let mut graph = ConflictGraph::new(links.len());
        for l in 0..links.len() {
            for m in 0..l {
                if near(links[l], links[m]) {
                    graph.add(l, m);
                }
            }
        }
        graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn radio() -> ThresholdRadio {
        ThresholdRadio {
            transmission_range_m: 250.0,
            carrier_sense_range_m: 800.0,
            propagation: TwoRayGround::default(),
        }
    }

    #[test]
    fn ranges_decide_who_hears() {
        let at = [0.0, 200.0, 700.0].map(|x| Position::new(x, 0.0));
        let medium = Medium::from_positions(&at, &radio());
        assert!(medium.hearing(0, 1).unwrap().decodable);
        assert!(!medium.hearing(0, 2).unwrap().decodable);
        assert_eq!(medium.hearers(2).len(), 2);
        let far = [0.0, 900.0].map(|x| Position::new(x, 0.0));
        assert!(Medium::from_positions(&far, &radio()).hearing(0, 1).is_none());
    }

    #[test]
    fn a_conflict_graph_survives_the_way_through_the_medium() {
        let links: Vec<Link> = (0..4).map(|l| Link { from: 2 * l, to: 2 * l + 1 }).collect();
        let graph = ConflictGraph::from_edges(4, &[(0, 1), (1, 2), (1, 3), (2, 3)]);
        let medium = Medium::from_conflicts(8, &links, &graph);
        assert_eq!(medium.conflicts(&links), graph);
    }
}
