//! Placements and flows made by rule, written out as nodes and flows.

use crate::error::Mistake;
use crate::language::{At, FlowPattern, FlowTable, Generate, GeneratedFlows, NodeTable, Scenario};
use crate::resolved::Radio;
use evenair_des::Stream;
use evenair_topology::{Medium, Position, Router, ThresholdRadio, generate};

/// The most nodes and flows that are made.
const MOST: u32 = 100_000;
/// How often a random placement is drawn before it is given up.
const DRAWS: u32 = 1_000;

impl Scenario {
    /// Expands `generate`.
    pub(crate) fn generate(&mut self, radio: Option<&Radio>) -> Result<(), Mistake> {
        let Some(rule) = self.generate.take() else { return Ok(()) };
        if !self.nodes.is_empty() || !self.links.is_empty() {
            return Err(Mistake::at(
                "generate",
                "places the nodes; give no [[nodes]] or [[links]] beside it",
            ));
        }
        let (positions, flows, seed) = place(&rule, radio)?;
        self.nodes = positions
            .iter()
            .enumerate()
            .map(|(i, p)| NodeTable {
                id: i.to_string(),
                at: Some(At::ground(p.x_m, p.y_m)),
                ..NodeTable::default()
            })
            .collect();
        if let Some(flows) = flows {
            if !self.flows.is_empty() {
                return Err(Mistake::at("generate.flows", "makes the flows; give no [[flows]] beside it"));
            }
            self.flows = make_flows(flows, positions.len() as u32, seed)?;
        }
        Ok(())
    }
}

fn place(
    rule: &Generate,
    radio: Option<&Radio>,
) -> Result<(Vec<Position>, Option<GeneratedFlows>, u64), Mistake> {
    let counted = |key: &str, count: u32| {
        if (1..=MOST).contains(&count) {
            Ok(count as usize)
        } else {
            Err(Mistake::at(&format!("generate.{key}"), format!("must lie between 1 and {MOST}")))
        }
    };
    Ok(match *rule {
        Generate::Chain { nodes, spacing, flows } => {
            (generate::chain(counted("nodes", nodes)?, spacing.0), flows, 0)
        }
        Generate::Grid { columns, rows, spacing, flows } => {
            counted("columns", columns.saturating_mul(rows))?;
            (generate::grid(columns as usize, rows as usize, spacing.0), flows, 0)
        }
        Generate::Ring { nodes, spacing, flows } => {
            (generate::ring(counted("nodes", nodes)?, spacing.0), flows, 0)
        }
        Generate::Random { nodes, width, height, seed, flows } => {
            let count = counted("nodes", nodes)?;
            (connected(radio, count, width.0, height.0, seed)?, flows, seed)
        }
        Generate::ConflictGraph { .. } => unreachable!("it places no node: lists.rs has taken it"),
    })
}

/// Draws placements until one is connected.
fn connected(
    radio: Option<&Radio>,
    nodes: usize,
    width_m: f64,
    height_m: f64,
    seed: u64,
) -> Result<Vec<Position>, Mistake> {
    let radio = radio.ok_or_else(|| Mistake::at("radio", "random nodes need a [radio]"))?;
    let reach = radio.reach.transmission_range_m;
    let radio = ThresholdRadio { carrier_sense_range_m: reach, interference_range_m: reach, ..radio.reach };
    let mut stream = Stream::named(seed, "nodes", "placement");
    for _ in 0..DRAWS {
        let positions = generate::random(nodes, width_m, height_m, || stream.unit());
        if is_torn(&positions, reach) {
            continue;
        }
        let medium = Medium::from_positions(&positions, &radio);
        let router = Router::new(&medium);
        if router.reachable(0) == nodes {
            return Ok(positions);
        }
    }
    let message = format!(
        "none of {DRAWS} random placements connects {nodes} nodes on {width_m} m by {height_m} m; give more nodes or a smaller area"
    );
    Err(Mistake::at("generate", message))
}

/// Whether a strip without nodes, wider than a hop, parts them: placements on far too large an area are refused before anything is
/// computed for each pair of nodes.
fn is_torn(positions: &[Position], reach_m: f64) -> bool {
    let parted = |along: fn(&Position) -> f64| {
        let mut at: Vec<f64> = positions.iter().map(along).collect();
        let (least, most) =
            at.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &x| (a.min(x), b.max(x)));
        if most - least > reach_m * at.len() as f64 {
            return true; // without sorting
        }
        at.sort_by(f64::total_cmp);
        at.windows(2).any(|pair| pair[1] - pair[0] > reach_m)
    };
    parted(|at| at.x_m) || parted(|at| at.y_m)
}

fn make_flows(rule: GeneratedFlows, nodes: u32, seed: u64) -> Result<Vec<FlowTable>, Mistake> {
    let mut stream = Stream::named(rule.seed.unwrap_or(seed), "flows", "placement");
    let wrong = |why: String| Mistake::at("generate.flows.count", why);
    let mut some = || match rule.count {
        Some(count) if count >= nodes => Err(wrong(match nodes {
            0 | 1 => "one node has no flow with the gateway, which it is itself".into(),
            2 => "2 nodes have 1 flow with the gateway".into(),
            n => format!("{n} nodes have {} flows with the gateway", n - 1),
        })),
        Some(count) => Ok(chosen(count, nodes, &mut stream)),
        None => Ok((1..nodes).collect()),
    };
    // Name, source and destination.
    let ends: Vec<(u32, u32, u32)> = match rule.pattern {
        FlowPattern::ToGateway => some()?.into_iter().map(|n| (n, n, 0)).collect(),
        FlowPattern::FromGateway => some()?.into_iter().map(|n| (n, 0, n)).collect(),
        FlowPattern::Random => {
            let count = rule.count.ok_or_else(|| wrong("how many random flows?".into()))?;
            if nodes < 2 || count > MOST {
                return Err(wrong(format!("needs two nodes, and at most {MOST} flows")));
            }
            let pairs = random_pairs(count, nodes, &mut stream).into_iter();
            pairs.zip(1..).map(|((from, to), name)| (name, from, to)).collect()
        }
        FlowPattern::EachLink => {
            let why = "\"each-link\" is for a conflict graph; nodes have \"to-gateway\", \"from-gateway\" or \"random\"";
            return Err(Mistake::at("generate.flows.pattern", why));
        }
    };
    let flow = |(name, from, to): (u32, u32, u32)| {
        FlowTable::generated(&name.to_string(), &from.to_string(), &to.to_string(), rule)
    };
    Ok(ends.into_iter().map(flow).collect())
}

/// A number of the nodes but the gateway, each as likely as any other, in order.
fn chosen(count: u32, nodes: u32, stream: &mut Stream) -> Vec<u32> {
    let mut others: Vec<u32> = (1..nodes).collect();
    shuffle(&mut others, stream);
    others.truncate(count as usize);
    others.sort_unstable();
    others
}

fn shuffle(list: &mut [u32], stream: &mut Stream) {
    for i in (1..list.len()).rev() {
        list.swap(i, stream.up_to(i as u32) as usize);
    }
}

/// Sources in random order, again from the start when all had their turn; any other node as destination.
fn random_pairs(count: u32, nodes: u32, stream: &mut Stream) -> Vec<(u32, u32)> {
    let mut sources: Vec<u32> = Vec::new();
    (0..count)
        .map(|_| {
            if sources.is_empty() {
                sources = (0..nodes).collect();
                shuffle(&mut sources, stream);
            }
            let from = sources.pop().expect("just filled");
            let to = stream.up_to(nodes - 2);
            (from, if to >= from { to + 1 } else { to })
        })
        .collect()
}

impl FlowTable {
    pub(crate) fn generated(name: &str, from: &str, to: &str, rule: GeneratedFlows) -> Self {
        Self {
            id: name.into(),
            from: from.into(),
            to: to.into(),
            traffic: rule.traffic,
            size: rule.size,
            rate: rule.rate,
            ..Self::default()
        }
    }
}
