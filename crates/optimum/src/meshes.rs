//! A library of ordinary problems: random meshes, grids with flows to a corner, chains, cells, odd rings and random conflicts, each from
//! a fixed seed, with rates and weights alike or spread. Tests take the small ones, `examples/library.rs` the large ones.

#![allow(unreachable_pub, dead_code, reason = "an example includes this file")]

use evenair_topology::{ConflictGraph, Link, Medium, Position, Propagation, ThresholdRadio};

/// A network with flows.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// The conflicts between links.
    pub air: ConflictGraph,
    /// The load of a unit of each flow's rate on links.
    pub loads: Vec<Vec<(usize, f64)>>,
    /// Each flow's weight.
    pub weights: Vec<f64>,
}

/// The shape of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Links of 100 to 200 m at random places, a flow on each.
    Links,
    /// Nodes at random places, flows between nodes at most four hops apart.
    Routes,
    /// A square grid, flows from half of the nodes to a node in a corner.
    Grid,
    /// A row of nodes, flows over stretches of it.
    Chain,
    /// Every node hears every other.
    Cell,
    /// Rings of five and of seven conflicts, each joined to the next by a shared link: cliques do not
    /// describe these regions.
    Rings,
    /// Flows over up to four links, three conflicts a link at random: no positions in the plane give such a
    /// graph.
    Pairs,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Links, Self::Routes, Self::Grid, Self::Chain, Self::Cell, Self::Rings, Self::Pairs];
}

/// Numbers from a seed.
struct Lots(u64);

impl Lots {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / 9_007_199_254_740_992.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    /// Between one and ten to this power, either way.
    fn spread(&mut self, power: f64) -> f64 {
        libm::pow(10.0, power * (2.0 * self.unit() - 1.0))
    }
}

/// A network of about so many links; airtimes per packet differ between links by up to 10^±`rates`, weights of flows by up to
/// 10^±`weights`.
pub fn mesh(shape: Shape, links: usize, (rates, weights): (f64, f64), seed: u64) -> Mesh {
    let mut lots = Lots(seed.wrapping_mul(2).wrapping_add(1));
    for _ in 0..3 {
        lots.unit();
    }
    let (places, ways) = match shape {
        Shape::Rings => return loaded(rings(links, &mut lots), (rates, weights), &mut lots),
        Shape::Pairs => return loaded(pairs(links, &mut lots), (rates, weights), &mut lots),
        Shape::Links => scattered(links, &mut lots),
        Shape::Routes => routes(links, &mut lots),
        Shape::Grid => grid(links),
        Shape::Chain => chain(links, &mut lots),
        Shape::Cell => {
            let ways = (0..links as u32).map(|l| vec![Link { from: 2 * l, to: 2 * l + 1 }]).collect();
            let near = |i: u32| Position::new(f64::from(i), 0.0);
            ((0..2 * links as u32).map(near).collect(), ways)
        }
    };
    let mut names: Vec<Link> = Vec::new();
    for link in ways.iter().flatten() {
        if !names.contains(link) {
            names.push(*link);
        }
    }
    let air = Medium::from_positions(&places, &radio()).conflicts(&names);
    let place = |link: &Link| names.iter().position(|n| n == link).expect("all are named");
    let ways = ways.iter().map(|way| way.iter().map(place).collect()).collect();
    loaded((air, ways), (rates, weights), &mut lots)
}

/// Conflicts, and the links on each flow's way.
type Abstract = (ConflictGraph, Vec<Vec<usize>>);

fn loaded((air, ways): Abstract, (rates, weights): (f64, f64), lots: &mut Lots) -> Mesh {
    let costs: Vec<f64> = (0..air.links()).map(|_| lots.spread(rates)).collect();
    let loads: Vec<Vec<(usize, f64)>> =
        ways.iter().map(|way| way.iter().map(|&l| (l, costs[l])).collect()).collect();
    let weights = loads.iter().map(|_| lots.spread(weights)).collect();
    Mesh { air, loads, weights }
}

fn radio() -> ThresholdRadio {
    ThresholdRadio {
        transmission_range_m: 250.0,
        carrier_sense_range_m: 550.0,
        interference_range_m: 550.0,
        propagation: Propagation::default(),
    }
}

type Placed = (Vec<Position>, Vec<Vec<Link>>);

/// As densely as some ten conflicts a link.
fn side_m(links: usize) -> f64 {
    300.0 * libm::sqrt(links as f64)
}

fn scattered(links: usize, lots: &mut Lots) -> Placed {
    let mut places = Vec::new();
    for _ in 0..links {
        let (x, y) = (lots.unit() * side_m(links), lots.unit() * side_m(links));
        let (angle, length) = (lots.unit() * std::f64::consts::TAU, 100.0 + 100.0 * lots.unit());
        places.push(Position::new(x, y));
        places.push(Position::new(x + length * libm::cos(angle), y + length * libm::sin(angle)));
    }
    (places, (0..links as u32).map(|l| vec![Link { from: 2 * l, to: 2 * l + 1 }]).collect())
}

/// The hops from one place to another, fewest first; none if there are none.
fn route(places: &[Position], from: usize, to: usize) -> Option<Vec<Link>> {
    let mut before = vec![usize::MAX; places.len()];
    before[from] = from;
    let mut front = std::collections::VecDeque::from([from]);
    while let Some(i) = front.pop_front() {
        for j in 0..places.len() {
            if before[j] == usize::MAX && places[i].distance_m(places[j]) <= 250.0 {
                before[j] = i;
                front.push_back(j);
            }
        }
    }
    let (mut way, mut at) = (Vec::new(), to);
    while at != from {
        let last = before[at];
        if last == usize::MAX {
            return None;
        }
        way.push(Link { from: last as u32, to: at as u32 });
        at = last;
    }
    way.reverse();
    Some(way)
}

fn routes(links: usize, lots: &mut Lots) -> Placed {
    let nodes = (2 * links / 3).max(6);
    let side = 130.0 * libm::sqrt(nodes as f64);
    let places: Vec<Position> =
        (0..nodes).map(|_| Position::new(lots.unit() * side, lots.unit() * side)).collect();
    let (mut ways, mut used): (Vec<Vec<Link>>, Vec<Link>) = (Vec::new(), Vec::new());
    for _ in 0..50 * links {
        let (from, to) = (lots.below(nodes), lots.below(nodes));
        let Some(way) = route(&places, from, to) else { continue };
        if way.is_empty() || way.len() > 4 {
            continue;
        }
        used.extend(way.iter().filter(|l| !used.contains(l)).copied().collect::<Vec<_>>());
        ways.push(way);
        if used.len() >= links {
            break;
        }
    }
    (places, ways)
}

fn grid(links: usize) -> Placed {
    let side = libm::ceil(libm::sqrt(links as f64 + 1.0)) as usize;
    let places: Vec<Position> = (0..side * side)
        .map(|i| Position::new(200.0 * (i % side) as f64, 200.0 * (i / side) as f64))
        .collect();
    let ways = (1..side * side).step_by(2).filter_map(|from| route(&places, from, 0)).collect();
    (places, ways)
}

fn chain(links: usize, lots: &mut Lots) -> Placed {
    let places: Vec<Position> = (0..=links).map(|i| Position::new(200.0 * i as f64, 0.0)).collect();
    let mut ways: Vec<Vec<Link>> = Vec::new();
    let hop = |i: usize| Link { from: i as u32, to: i as u32 + 1 };
    for i in 0..links {
        ways.push(vec![hop(i)]);
        if i % 3 == 0 {
            ways.push((i..links.min(i + 1 + lots.below(5))).map(hop).collect());
        }
    }
    (places, ways)
}

fn rings(links: usize, lots: &mut Lots) -> Abstract {
    let mut conflicts: Vec<(usize, usize)> = Vec::new();
    let mut ways: Vec<Vec<usize>> = Vec::new();
    // The last link of a ring is the first of the next.
    let mut first = 0;
    while first < links {
        let around = [4, 6][lots.below(2)];
        conflicts.extend((first..first + around).map(|l| (l, l + 1)));
        conflicts.push((first, first + around));
        ways.extend((first..first + around).map(|l| vec![l]));
        let at = first + lots.below(around - 1);
        ways.push((at..=at + 1).collect());
        first += around;
    }
    ways.push(vec![first]);
    (ConflictGraph::from_edges(first + 1, &conflicts), ways)
}

fn pairs(links: usize, lots: &mut Lots) -> Abstract {
    let mut ways: Vec<Vec<usize>> = Vec::new();
    let mut first = 0;
    while first < links {
        let end = links.min(first + 1 + lots.below(4));
        ways.push((first..end).collect());
        first = end;
    }
    // Neighbours on a way share a node; the rest is by chance.
    let mut conflicts: Vec<(usize, usize)> =
        ways.iter().flat_map(|way| way.windows(2)).map(|pair| (pair[0], pair[1])).collect();
    conflicts.extend((0..3 * links).map(|_| (lots.below(links), lots.below(links))));
    (ConflictGraph::from_edges(links, &conflicts), ways)
}
