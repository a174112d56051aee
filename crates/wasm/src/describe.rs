//! A scenario as the page draws it before anything runs.

use evenair_netsim::{FlowSpec, MacSpec, Traffic};
use evenair_scenario::Resolved;
use serde::Serialize;
use serde_json::Value;

/// Networks of more nodes than this are described without the nodes that sense each other: the pairs grow with the square.
const NODES_TOLD: usize = 400;

/// A scenario as the page shows it. Nodes, links and flows are numbered in these orders.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    title: String,
    about: String,
    nodes: Vec<Node>,
    /// Transmission and carrier-sense range \[m\].
    ranges_m: Option<(f64, f64)>,
    /// The nodes that sense each node; those that decode it come first.
    sensed_by: Vec<Heard>,
    wires: Vec<(u32, u32)>,
    links: Vec<Link>,
    /// Pairs of links that must not send at once.
    conflicts: Vec<(usize, usize)>,
    /// Pairs of links with hidden terminals.
    hidden: Vec<(usize, usize)>,
    flows: Vec<Flow>,
    settings: Settings,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Node {
    id: String,
    /// East and north \[m\].
    at: Option<(f64, f64)>,
    /// Whether the text has its position, so that it can be moved.
    movable: bool,
}

#[derive(Debug, Default, Serialize)]
struct Heard {
    decoded: Vec<u32>,
    sensed: Vec<u32>,
}

#[derive(Debug, Serialize)]
struct Link {
    id: String,
    from: u32,
    to: u32,
}

#[derive(Debug, Serialize)]
struct Flow {
    id: String,
    /// The nodes on its way.
    path: Vec<u32>,
    tcp: bool,
    /// Payload of a segment or datagram \[bytes\].
    unit_bytes: u32,
}

/// The settings that the page's controls show, as the text has them or by their defaults.
#[derive(Debug, Serialize)]
struct Settings {
    mac: Value,
    backoff: Value,
    tcp: Value,
    connections: Value,
    /// How packets of 802.11n, ac and ax share frames; null, if the text does not say.
    aggregation: Value,
    duration: String,
    warmup: String,
    seed: u64,
    end_s: f64,
    /// The rates of the physical layer \[Mb/s\]; none of ideal CSMA.
    rates_mbps: Vec<f64>,
}

impl Description {
    pub(crate) fn of(scenario: &Resolved, text: &str) -> Self {
        let (network, layout) = (scenario.network(), scenario.layout());
        let link = |(id, link): &(String, evenair_topology::Link)| Link {
            id: id.clone(),
            from: link.from,
            to: link.to,
        };
        let pairs = (0..layout.links.len()).flat_map(|l| {
            let others = layout.conflicts.neighbours(l).iter().map(|&m| m as usize);
            others.filter(move |&m| l < m).map(move |m| (l, m))
        });
        Self {
            title: scenario.settings().name.clone(),
            about: scenario.settings().description.clone(),
            nodes: nodes(scenario, text),
            ranges_m: layout.ranges_m,
            sensed_by: sensed_by(scenario),
            wires: network.wires.iter().map(|wire| (wire.from, wire.to)).filter(|(a, b)| a < b).collect(),
            links: layout.links.iter().map(link).collect(),
            conflicts: pairs.collect(),
            hidden: scenario.hidden_pairs(),
            flows: network.flows.iter().map(flow).collect(),
            settings: settings(scenario),
            warnings: scenario.warnings(),
        }
    }
}

fn nodes(scenario: &Resolved, text: &str) -> Vec<Node> {
    let written = written_positions(text);
    let places = scenario.layout().positions.as_ref();
    let node = |(number, id): (usize, &String)| Node {
        id: id.clone(),
        at: places.and_then(|places| places[number]).map(|at| (at.x_m, at.y_m)),
        movable: written.contains(id),
    };
    scenario.network().nodes.iter().enumerate().map(node).collect()
}

/// The nodes that have their positions in the text.
fn written_positions(text: &str) -> Vec<String> {
    let Ok(document) = text.parse::<toml_edit::DocumentMut>() else { return Vec::new() };
    let Some(nodes) = document.get("nodes") else { return Vec::new() };
    let id = |table: &dyn toml_edit::TableLike| {
        table.get("at")?;
        table.get("id")?.as_str().map(String::from)
    };
    match (nodes.as_array_of_tables(), nodes.as_array()) {
        (Some(tables), _) => tables.iter().filter_map(|table| id(table)).collect(),
        (_, Some(list)) => list
            .iter()
            .filter_map(|value| id(value.as_inline_table()? as &dyn toml_edit::TableLike))
            .collect(),
        _ => Vec::new(),
    }
}

fn sensed_by(scenario: &Resolved) -> Vec<Heard> {
    let medium = &scenario.network().medium;
    if medium.nodes() > NODES_TOLD {
        return Vec::new();
    }
    let heard = |node: usize| {
        let mut heard = Heard::default();
        for ear in medium.hearers(node).iter().filter(|ear| ear.is_sensed()) {
            let list = if ear.is_decodable() { &mut heard.decoded } else { &mut heard.sensed };
            list.push(ear.node);
        }
        heard
    };
    (0..medium.nodes()).map(heard).collect()
}

fn flow(spec: &FlowSpec) -> Flow {
    Flow {
        id: spec.name.clone(),
        path: spec.data_path(),
        tcp: matches!(spec.traffic, Traffic::Tcp { .. }) || spec.traffic.tcp().is_some(),
        unit_bytes: spec.traffic.tcp().map_or(0, |tcp| tcp.payload.count()),
    }
}

fn settings(scenario: &Resolved) -> Settings {
    let settings = scenario.settings();
    let value = |value: Result<Value, serde_json::Error>| value.unwrap_or(Value::Null);
    let whole = value(serde_json::to_value(scenario));
    let of = |key: &str| whole.get(key).cloned().unwrap_or(Value::Null);
    let rates_mbps = match &scenario.network().mac {
        MacSpec::Dcf { timing, .. } => {
            timing.phy.rates().iter().map(|rate| rate.as_bps() as f64 / 1e6).collect()
        }
        MacSpec::Ideal => Vec::new(),
    };
    Settings {
        mac: of("mac"),
        backoff: of("backoff"),
        tcp: of("tcp"),
        connections: of("connections"),
        aggregation: of("aggregation"),
        duration: settings.duration.to_string(),
        warmup: settings.warmup.to_string(),
        seed: settings.seed,
        end_s: (settings.warmup.0 + settings.duration.0).as_secs_f64(),
        rates_mbps,
    }
}
