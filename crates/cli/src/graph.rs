//! A network as a graph for other programs: `GraphML` (`NetworkX`, Gephi, igraph) and DOT (Graphviz).

use anyhow::{Result, bail};
use clap::ValueEnum;
use evenair_scenario::Resolved;
use std::collections::BTreeSet;
use std::fmt::{Display, Write};
use std::path::Path;

/// The subject of a graph.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Of {
    /// Nodes, and an edge from each to every node that decodes it, with its length, its kind and whether a flow takes
    /// it
    Topology,
    /// The links that flows take, and which of them may not transmit at once
    Conflicts,
}

/// An attribute's value.
enum Value {
    Text(String),
    Number(f64),
    Flag(bool),
}

impl Value {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Number(_) => "double",
            Self::Flag(_) => "boolean",
        }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => write!(f, "{number}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

type Attributes = Vec<(&'static str, Value)>;

/// A graph with attributes of its vertices and edges.
pub(crate) struct Graph {
    name: String,
    is_directed: bool,
    vertices: Vec<(String, Attributes)>,
    /// From which vertex, to which.
    edges: Vec<(usize, usize, Attributes)>,
}

impl Graph {
    /// A graph of a scenario.
    pub(crate) fn of(scenario: &Resolved, of: Of) -> Self {
        match of {
            Of::Topology => Self::topology(scenario),
            Of::Conflicts => Self::conflicts(scenario),
        }
    }

    fn topology(scenario: &Resolved) -> Self {
        let (layout, network) = (scenario.layout(), scenario.network());
        let place = |node: usize| layout.positions.as_ref().and_then(|all| all[node]);
        // A channel is told of each node where there are several.
        let several = scenario.settings().nodes.iter().any(|node| node.channel.is_some());
        let all_on = several.then(|| scenario.settings().mac.channel.unwrap_or(1));
        let vertex = |(node, name): (usize, &String)| {
            let at = place(node).map(|p| [("x_m", Value::Number(p.x_m)), ("y_m", Value::Number(p.y_m))]);
            let up = place(node).filter(|p| p.z_m != 0.0).map(|p| ("z_m", Value::Number(p.z_m)));
            let own = scenario.settings().nodes.get(node).and_then(|node| node.channel);
            let channel = own.or(all_on).map(|channel| ("channel", Value::Number(channel.into())));
            (name.clone(), at.into_iter().flatten().chain(up).chain(channel).collect())
        };
        let used: BTreeSet<(u32, u32)> =
            network.flows.iter().flat_map(|flow| flow.path.windows(2).map(|hop| (hop[0], hop[1]))).collect();
        let edge = |from: usize, to: usize, kind: &str| {
            let used = used.contains(&(from as u32, to as u32));
            let mut attributes = vec![("kind", Value::Text(kind.into())), ("used", Value::Flag(used))];
            if let (Some(a), Some(b)) = (place(from), place(to)) {
                attributes.push(("length_m", Value::Number(a.distance_m(b))));
            }
            (from, to, attributes)
        };
        let on_air = (0..network.nodes.len()).flat_map(|from| {
            let decodes = network.medium.hearers(from).iter().filter(|ear| ear.is_decodable());
            decodes.map(move |ear| (from, ear.node as usize))
        });
        let on_air = on_air.map(|(from, to)| edge(from, to, "air"));
        let wires = network.wires.iter().map(|wire| edge(wire.from as usize, wire.to as usize, "wire"));
        Self {
            name: scenario.settings().name.clone(),
            is_directed: true,
            vertices: network.nodes.iter().enumerate().map(vertex).collect(),
            edges: on_air.chain(wires).collect(),
        }
    }

    fn conflicts(scenario: &Resolved) -> Self {
        let layout = scenario.layout();
        let name = |node: u32| Value::Text(scenario.network().name(node).into());
        let vertex = |(id, link): &(String, evenair_topology::Link)| {
            (id.clone(), vec![("from", name(link.from)), ("to", name(link.to))])
        };
        Self {
            name: scenario.settings().name.clone(),
            is_directed: false,
            vertices: layout.links.iter().map(vertex).collect(),
            edges: layout.conflicts.edges().map(|(l, m)| (l, m, Vec::new())).collect(),
        }
    }

    /// The graph as a file of this name has it.
    pub(crate) fn written_for(&self, file: &Path) -> Result<String> {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("graphml") => Ok(self.graphml()),
            Some("dot" | "gv") => Ok(self.dot()),
            _ => bail!(
                "{}: graphs are written as .graphml or .dot; give the file such an ending",
                file.display()
            ),
        }
    }

    /// `GraphML` 1.0.
    fn graphml(&self) -> String {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
        );
        let of_edges = self.edges.iter().flat_map(|(_, _, attributes)| attributes);
        let of_vertices = self.vertices.iter().flat_map(|(_, attributes)| attributes);
        let mut known = BTreeSet::new();
        for (of, (key, value)) in of_vertices.map(|a| ("node", a)).chain(of_edges.map(|a| ("edge", a))) {
            if known.insert((of, *key)) {
                let kind = value.kind();
                let _ = writeln!(
                    out,
                    "  <key id=\"{of}_{key}\" for=\"{of}\" attr.name=\"{key}\" attr.type=\"{kind}\"/>"
                );
            }
        }
        let data = |out: &mut String, of: &str, attributes: &Attributes| {
            for (key, value) in attributes {
                let _ = write!(out, "<data key=\"{of}_{key}\">{}</data>", xml(&value.to_string()));
            }
        };
        let (name, directed) = (xml(&self.name), if self.is_directed { "directed" } else { "undirected" });
        let _ = writeln!(out, "  <graph id=\"{name}\" edgedefault=\"{directed}\">");
        for (vertex, attributes) in &self.vertices {
            let _ = write!(out, "    <node id=\"{}\">", xml(vertex));
            data(&mut out, "node", attributes);
            out += "</node>\n";
        }
        for (from, to, attributes) in &self.edges {
            let [from, to] = [from, to].map(|end| xml(&self.vertices[*end].0));
            let _ = write!(out, "    <edge source=\"{from}\" target=\"{to}\">");
            data(&mut out, "edge", attributes);
            out += "</edge>\n";
        }
        out + "  </graph>\n</graphml>\n"
    }

    /// The language of Graphviz; `pos` places nodes on the map for neato -n, a point a metre.
    fn dot(&self) -> String {
        let (kind, arrow) = if self.is_directed { ("digraph", "->") } else { ("graph", "--") };
        let mut out = format!("{kind} {} {{\n", quoted(&self.name));
        for (vertex, attributes) in &self.vertices {
            let place =
                |key| attributes.iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_string());
            let pos =
                place("x_m").zip(place("y_m")).map(|(x, y)| format!("pos={}", quoted(&format!("{x},{y}!"))));
            let list = attributes.iter().map(|(key, value)| format!("{key}={}", quoted(&value.to_string())));
            let list: Vec<String> = list.chain(pos).collect();
            let _ = writeln!(out, "  {} [{}];", quoted(vertex), list.join(", "));
        }
        for (from, to, attributes) in &self.edges {
            let [from, to] = [from, to].map(|end| quoted(&self.vertices[*end].0));
            let list = attributes.iter().map(|(key, value)| format!("{key}={}", quoted(&value.to_string())));
            let list: Vec<String> = list.collect();
            let list = if list.is_empty() { String::new() } else { format!(" [{}]", list.join(", ")) };
            let _ = writeln!(out, "  {from} {arrow} {to}{list};");
        }
        out + "}\n"
    }
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = r#"
        name = "A & \"B\""
        radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
        nodes = [{ id = "a<1", at = [0, 0] }, { id = "b", at = [200, 0] }, { id = "c", at = [400, 0] }]
        flows = [{ id = "1", from = "a<1", to = "b" }, { id = "2", from = "b", to = "c" }]
    "#;

    fn written(of: Of, file: &str) -> String {
        let scenario = Resolved::parse("f", SCENARIO, &[]).unwrap();
        Graph::of(&scenario, of).written_for(Path::new(file)).unwrap()
    }

    #[test]
    fn graphml_has_every_node_link_and_conflict() {
        let text = written(Of::Topology, "a.graphml");
        assert_eq!((text.matches("<node ").count(), text.matches("<edge ").count()), (3, 4), "{text}");
        for part in [
            "<graph id=\"A &amp; &quot;B&quot;\" edgedefault=\"directed\">",
            "<key id=\"edge_length_m\" for=\"edge\" attr.name=\"length_m\" attr.type=\"double\"/>",
            "<node id=\"a&lt;1\"><data key=\"node_x_m\">0</data><data key=\"node_y_m\">0</data></node>",
            "<edge source=\"a&lt;1\" target=\"b\"><data key=\"edge_kind\">air</data><data key=\"edge_used\">true</data><data key=\"edge_length_m\">200</data></edge>",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let conflicts = written(Of::Conflicts, "a.graphml");
        assert!(conflicts.contains("<edge source=\"a&lt;1&gt;b\" target=\"b&gt;c\"></edge>"), "{conflicts}");
    }

    /// 3, 4, 12: 13 m; nodes of other channels are not joined.
    #[test]
    fn heights_and_channels_are_attributes() {
        let text = r#"
            radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
            nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [3, 4, 12] }, { id = "c", at = [1, 1], channel = 6 }]
        "#;
        let scenario = Resolved::parse_network("f", text, &[]).unwrap();
        let text = Graph::of(&scenario, Of::Topology).written_for(Path::new("a.dot")).unwrap();
        assert!(text.contains("z_m=\"12\", channel=\"1\"") && text.contains("channel=\"6\""), "{text}");
        assert_eq!((text.matches("length_m=\"13\"").count(), text.matches("->").count()), (2, 2), "{text}");
    }

    #[test]
    fn dot_is_quoted_and_placed() {
        let text = written(Of::Topology, "a.dot");
        assert!(text.starts_with("digraph \"A & \\\"B\\\"\" {\n"), "{text}");
        assert!(text.contains("  \"c\" [x_m=\"400\", y_m=\"0\", pos=\"400,0!\"];\n"), "{text}");
        assert!(
            text.contains("  \"c\" -> \"b\" [kind=\"air\", used=\"false\", length_m=\"200\"];\n"),
            "{text}"
        );
        assert!(written(Of::Conflicts, "a.gv").contains("  \"a<1>b\" -- \"b>c\";\n"));
    }
}
