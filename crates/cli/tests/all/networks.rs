//! Networks without flows, given conflicts, and the theory's notes on its gaps.

use super::{evenair, json, stderr, stdout};
use std::path::Path;

/// A folder with a file, and the file's path.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.display().to_string();
    (folder, path)
}

const IDLE: &str = "radio = { transmission_range = '100 m', carrier_sense_range = '220 m' }
nodes = [
    { id = 'a', at = [0, 0] }, { id = 'b', at = [60, 0] }, { id = 'c', at = [130, 0], channel = 6 }, { id = 'd', at = [190, 0], channel = 6 },
]
";

#[test]
fn a_network_without_flows_is_shown_and_not_run() {
    let (folder, path) = file("idle.toml", IDLE);
    let shown = evenair(&["show", &path]);
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert!(stderr(&shown).is_empty(), "{}", stderr(&shown));
    let text = stdout(&shown);
    assert!(text.contains("a>b: none") && text.contains("c>d: none"), "{text}");
    assert!(text.contains("channels: c 6, d 6; others 1"), "{text}");
    let one = stdout(&evenair(&["show", &path, "--set", "nodes.c.channel=1", "--set", "nodes.d.channel=1"]));
    assert!(one.contains("a>b: b>c, c>d"), "{one}");
    for name in ["map.svg", "net.graphml", "conflicts.dot"] {
        let out = folder.path().join(name).display().to_string();
        let how: &[&str] = match name {
            "map.svg" => &["--map", &out],
            "net.graphml" => &["--export", &out],
            _ => &["--export", &out, "--graph", "conflicts"],
        };
        let drawn = evenair(&[&["show", &path], how].concat());
        assert!(drawn.status.success() && Path::new(&out).exists(), "{name}: {}", stderr(&drawn));
    }
    for command in ["run", "solve", "compare"] {
        let refused = evenair(&[command, &path]);
        assert_eq!(refused.status.code(), Some(2), "{command}");
        assert!(stderr(&refused).contains("there is no flow; add a [[flows]] table"), "{}", stderr(&refused));
    }
}

/// Three links in conflict with each other: a third each over every region.
#[test]
fn every_region_counts_given_conflicts() {
    let (_folder, path) = file(
        "triangle.toml",
        "mac = { kind = 'ideal' }
        links = [{ id = '1', from = 'a', to = 'A' }, { id = '2', from = 'b', to = 'B' }, { id = '3', from = 'c', to = 'C' }]
        conflicts = [['1', '2'], ['2', '3'], ['1', '3']]
        flows = [{ id = '1', from = 'a', to = 'A' }, { id = '2', from = 'b', to = 'B' }, { id = '3', from = 'c', to = 'C' }]
        ",
    );
    for region in ["exact", "cliques", "collision-domains"] {
        let asked = ["solve", &path, "--objective", "max-min", "--region", region, "--json"];
        let document = json(&evenair(&asked));
        for flow in document["flows"].as_array().unwrap() {
            let share = flow["rate_pps"].as_f64().unwrap() / flow["capacity_pps"].as_f64().unwrap();
            assert!((share - 1.0 / 3.0).abs() < 1e-9, "{region}: {share}");
        }
    }
}

/// Two links that sense each other from 260 m: a collision domain counts transmission range, 250 m.
#[test]
fn rates_beyond_the_air_are_said_to_be_so() {
    let (_folder, path) = file(
        "sensed.toml",
        "radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }
        nodes = [{ id = 'a', at = [0, 0] }, { id = 'A', at = [0, 9] }, { id = 'b', at = [260, 0] }, { id = 'B', at = [260, 9] }]
        flows = [{ id = '1', from = 'a', to = 'A' }, { id = '2', from = 'b', to = 'B' }]
        ",
    );
    let of = |region: &str| stdout(&evenair(&["solve", &path, "--objective", "max-min", "--region", region]));
    let domains = of("collision-domains");
    assert!(
        domains.contains("More than the air carries: links a>A, b>B") && domains.contains("200 %"),
        "{domains}"
    );
    assert!(!of("exact").contains("More than the air"));
}

#[test]
fn a_fluid_model_names_hidden_terminals() {
    let (_folder, path) = file(
        "hidden.toml",
        "radio = { transmission_range = '250 m', carrier_sense_range = '300 m' }
        backoff = { law = 'adaptive' }
        connections = { law = 'rtt-proportional', k = 10 }
        nodes = [{ id = 'a', at = [0, 0] }, { id = 'b', at = [200, 0] }, { id = 'c', at = [400, 0] }]
        flows = [{ id = 'left', from = 'a', to = 'b' }, { id = 'right', from = 'c', to = 'b' }]
        ",
    );
    let text = stdout(&evenair(&["fluid", &path]));
    assert!(text.contains("The model has no collisions and no hidden terminals"), "{text}");
    let lacks = json(&evenair(&["fluid", &path, "--json"]));
    assert!(lacks["lacks"].as_str().unwrap().contains("a and c (a>b and c>b)"), "{}", lacks["lacks"]);
}

#[test]
fn compare_prints_measurements() {
    let (_folder, path) = file(
        "saturated.toml",
        "duration = '2 s'
        warmup = '1 s'
        radio = { transmission_range = '250 m', carrier_sense_range = '550 m' }
        nodes = [{ id = 'a', at = [0, 0] }, { id = 'b', at = [9, 0] }]
        flows = [{ id = '1', from = 'a', to = 'b', traffic = 'saturated' }]
        ",
    );
    let document = json(&evenair(&["compare", &path, "--seeds", "2", "--json"]));
    let stages = document["stages"].as_array().unwrap();
    let gap = |place: usize| stages[place]["gap"].as_str().unwrap();
    assert!(stages.iter().all(|stage| !stage["gap"].as_str().unwrap().contains("TCP")), "{document}");
    // One sender: nothing collides, and no other is waited for.
    let over_802_11 = gap(stages.len() - 1);
    assert!(over_802_11.contains("Measured: of the senders' time own exchanges"), "{over_802_11}");
    assert!(
        over_802_11.contains("no frame was lost") && !over_802_11.contains("others' exchanges"),
        "{over_802_11}"
    );
}
