//! A scenario of nodes or links that stand in a file: a spreadsheet, a map, a graph.

use anyhow::{Context, Result, ensure};
use evenair_scenario::{Resolved, nodes_have_places};
use evenair_topology::Position;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Carrier sense reaches so much farther than a frame can be decoded: ns-2's 550 m and 250 m.
const CARRIER_SENSE: f64 = 2.2;

/// The text of a scenario that lies at `file`, of nodes in another file, and of flows in a third, or from each node to the first. A
/// graph without places has links instead.
pub(super) fn scenario(file: &Path, nodes: &Path, flows: Option<&Path>) -> Result<String> {
    let shown = nodes.display();
    let whole = std::path::absolute(nodes).with_context(|| format!("cannot find {shown}"))?;
    let is_graph = nodes.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("graphml"));
    // Mistakes of the file are those of the list of nodes.
    let has_places = !is_graph || nodes_have_places(&whole).unwrap_or(true);
    let probe = if has_places {
        "radio = { transmission_range = \"1 m\", carrier_sense_range = \"1 m\" }\nnodes"
    } else {
        "mac = { kind = \"ideal\" }\nlinks"
    };
    let probe = format!("{probe} = {{ file = {} }}\n", toml_text(&whole));
    let network = Resolved::parse_network(&shown.to_string(), &probe, &[])?;
    let names = &network.network().nodes;
    ensure!(names.len() > 1, "{shown} has {} node; a network has two at least", names.len());
    let list = toml_text(&beside(file, nodes)?);
    let mut text = format!(
        "# {} nodes from {shown}. A scenario of evenair.\n#\n#   evenair show FILE     the map, the routes, what conflicts\n#   evenair \
         run FILE      who starves, and why\n\nduration = \"60 s\"\nwarmup = \"10 s\"\n\n",
        names.len()
    );
    text += &if has_places { of_nodes(&network, &list) } else { of_links(&list) };
    if let Some(flows) = flows {
        let _ = writeln!(text, "flows = {{ file = {} }}", toml_text(&beside(file, flows)?));
    } else {
        text += "\n# An upload from each node to the first; give your own: flows = { file = \"flows.csv\" }\nflows = [\n";
        for name in &names[1..] {
            let _ = writeln!(text, "    {{ id = {name:?}, from = {name:?}, to = {:?} }},", names[0]);
        }
        text += "]\n";
    }
    Ok(text)
}

/// Nodes with places, and a radio of the least range that connects them.
fn of_nodes(network: &Resolved, list: &str) -> String {
    let places: Vec<Position> =
        network.layout().positions.iter().flatten().filter_map(|place| *place).collect();
    let range_m = (connecting_m(&places) / 10.0).ceil() * 10.0;
    format!(
        "# The least range that connects all nodes, and 2.2 times as much for carrier sense. Measure yours and\n# write it here, or give \
         levels: signals = {{ file = \"signals.csv\" }} with columns from, to and power [dBm].\nradio = {{ transmission_range = \"{range_m} \
         m\", carrier_sense_range = \"{} m\" }}\nmac = {{ kind = \"802.11g\", data_rate = \"24 Mbps\" }}\n\nnodes = {{ file = {list} }}\n",
        (range_m * CARRIER_SENSE).round(),
    )
}

/// Links without places.
fn of_links(list: &str) -> String {
    format!(
        "mac = {{ kind = \"802.11g\", data_rate = \"24 Mbps\" }}\n\n# The file has no places. Links that share a node conflict; give others \
         that do:\n# conflicts = {{ file = \"conflicts.csv\" }} with two links on each line.\nlinks = {{ file = {list} }}\n"
    )
}

/// The least range that connects all places: the longest edge of their shortest tree (Prim) \[m\].
fn connecting_m(places: &[Position]) -> f64 {
    let between = |a: &Position, b: &Position| {
        let (dx, dy, dz) = (a.x_m - b.x_m, a.y_m - b.y_m, a.z_m - b.z_m);
        dx.hypot(dy).hypot(dz)
    };
    let mut near: Vec<f64> = places.iter().map(|place| between(&places[0], place)).collect();
    let mut outside: Vec<usize> = (1..places.len()).collect();
    let mut longest = 0f64;
    while let Some((index, _)) = outside.iter().enumerate().min_by(|a, b| near[*a.1].total_cmp(&near[*b.1])) {
        let next = outside.swap_remove(index);
        longest = longest.max(near[next]);
        for &other in &outside {
            near[other] = near[other].min(between(&places[next], &places[other]));
        }
    }
    longest
}

/// A file's way from the folder of the scenario, if it lies below; else its whole way.
fn beside(scenario: &Path, file: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(file)?;
    let folder = std::path::absolute(scenario)?;
    let folder = folder.parent().unwrap_or(Path::new(""));
    Ok(whole.strip_prefix(folder).map_or(whole.clone(), Path::to_path_buf))
}

/// A path as a TOML string.
fn toml_text(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_is_longest_edge_of_shortest_tree() {
        let at = |x_m: f64, y_m: f64| Position { x_m, y_m, ..Position::default() };
        // A row with a gap of 120 m; its ends are 260 m apart.
        let row = [at(0.0, 0.0), at(260.0, 0.0), at(60.0, 0.0), at(180.0, 0.0)];
        assert!((connecting_m(&row) - 120.0).abs() < 1e-9);
        assert!((connecting_m(&[at(0.0, 0.0), at(3.0, 4.0)]) - 5.0).abs() < 1e-9);
    }
}
