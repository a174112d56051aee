//! A scenario of nodes that stand in a spreadsheet.

use anyhow::{Context, Result, ensure};
use evenair_scenario::Resolved;
use evenair_topology::Position;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Carrier sense reaches so much farther than a frame can be decoded: ns-2's 550 m and 250 m.
const CARRIER_SENSE: f64 = 2.2;

/// The text of a scenario that lies at `file`, of nodes in a CSV file, and of flows in another, or from each node to the first.
pub(super) fn scenario(file: &Path, nodes: &Path, flows: Option<&Path>) -> Result<String> {
    let shown = nodes.display();
    let probe = format!(
        "radio = {{ transmission_range = \"1 m\", carrier_sense_range = \"1 m\" }}\nnodes = {{ file = {} }}\n",
        toml_text(&std::path::absolute(nodes).with_context(|| format!("cannot find {shown}"))?)
    );
    let network = Resolved::parse_network(&shown.to_string(), &probe, &[])?;
    let names = &network.network().nodes;
    let places: Vec<Position> =
        network.layout().positions.iter().flatten().filter_map(|place| *place).collect();
    ensure!(names.len() > 1, "{shown} has {} node; a network has two at least", names.len());
    let range_m = (connecting_m(&places) / 10.0).ceil() * 10.0;
    let mut text = format!(
        "# {} nodes from {shown}. A scenario of evenair.\n#\n#   evenair show FILE     the map, the routes, what conflicts\n#   evenair \
         run FILE      who starves, and why\n\nduration = \"60 s\"\nwarmup = \"10 s\"\n\n# The least range that connects all nodes, \
         and 2.2 times as much for carrier sense. Measure yours and\n# write it here, or give levels: signals = {{ file = \
         \"signals.csv\" }} with columns from, to and power [dBm].\nradio = {{ transmission_range = \"{range_m} m\", \
         carrier_sense_range = \"{} m\" }}\nmac = {{ kind = \"802.11g\", data_rate = \"24 Mbps\" }}\n\nnodes = {{ file = {} }}\n",
        names.len(),
        (range_m * CARRIER_SENSE).round(),
        toml_text(&beside(file, nodes)?)
    );
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
