//! End to end: figures as files, and maps.

use crate::{evenair, stderr, stdout};
use std::path::Path;

const STUDY: &str = r#"
title = "Two figures"
seeds = 1
set = ["duration=1 s", "warmup=1 s"]
variants = [{ id = "dcf", label = "802.11", scenario = "chen10/a" }]
figures = [
    { kind = "bars", title = "Goodput", metric = "goodput" },
    { kind = "map", title = "Where nodes stand" },
]
claims = []
"#;

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().into()
}

#[test]
fn figures_of_a_result_become_files() {
    let folder = tempfile::tempdir().unwrap();
    let (study, out) = (file(folder.path(), "two.toml"), file(folder.path(), "results"));
    std::fs::write(&study, STUDY).unwrap();
    let done = evenair(&["study", &study, "--out", &out]);
    assert!(done.status.success(), "{}", stderr(&done));
    let result = file(Path::new(&out), "two");

    let listed = evenair(&["plot", &result, "--list"]);
    assert_eq!(stdout(&listed), "goodput: Goodput\nmap: Where nodes stand\n");

    let figures = file(folder.path(), "figures");
    let drawn = evenair(&["plot", &result, "--out", &figures]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let svg = std::fs::read_to_string(Path::new(&figures).join("two-goodput.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains(">goodput [packets/s]</text>"), "{svg}");
    let png = std::fs::read(Path::new(&figures).join("two-map.png")).unwrap();
    assert_eq!(&png[1..4], b"PNG");
    // Twice 720 pixels across.
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 1440);

    let unknown = evenair(&["plot", &result, "throughput"]);
    assert!(stderr(&unknown).contains("there are goodput, map"), "{}", stderr(&unknown));
    let several = evenair(&["plot", &result, "--out", &file(folder.path(), "all.svg")]);
    assert!(stderr(&several).contains("takes one figure"), "{}", stderr(&several));
    let strange = evenair(&["plot", &result, "map", "--out", &file(folder.path(), "map.pdf")]);
    assert!(stderr(&strange).contains(".svg or .png"), "{}", stderr(&strange));
    let nothing = evenair(&["plot", &file(folder.path(), "nowhere")]);
    assert!(stderr(&nothing).contains("no figures in"), "{}", stderr(&nothing));
}

#[test]
fn a_scenario_has_a_map() {
    let folder = tempfile::tempdir().unwrap();
    let map = file(folder.path(), "map.svg");
    let drawn = evenair(&["show", "chen10/a", "--map", &map]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let svg = std::fs::read_to_string(&map).unwrap();
    for text in ["flow 2", "east [m]", "carrier-sense range of", ">s1</text>"] {
        assert!(svg.contains(text), "{text}");
    }
}
