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
    // Twice 720 pixels across, less the margins that a map does not need.
    assert!((1300..=1440).contains(&u32::from_be_bytes(png[16..20].try_into().unwrap())));
    let dark = file(folder.path(), "dark.svg");
    assert!(evenair(&["plot", &result, "goodput", "--dark", "--out", &dark]).status.success());
    assert!(!std::fs::read_to_string(&dark).unwrap().contains("#ffffff"));

    let unknown = evenair(&["plot", &result, "throughput"]);
    assert!(stderr(&unknown).contains("there are goodput, map"), "{}", stderr(&unknown));
    let svg = file(folder.path(), "a.svg");
    let pixels = evenair(&["plot", &result, "map", "--out", &svg, "--scale", "3"]);
    assert!(stderr(&pixels).contains("--scale has no effect"), "{}", stderr(&pixels));
    let several = evenair(&["plot", &result, "--out", &file(folder.path(), "all.svg")]);
    assert!(stderr(&several).contains("takes one figure"), "{}", stderr(&several));
    let pdf = file(folder.path(), "map.pdf");
    assert!(evenair(&["plot", &result, "map", "--out", &pdf, "--width", "340"]).status.success());
    let pdf = std::fs::read(&pdf).unwrap();
    assert_eq!(std::fs::read(Path::new(&figures).join("two-map.pdf")).unwrap()[..5], pdf[..5]);
    assert!(pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF"), "{}", pdf.len());
    let strange = evenair(&["plot", &result, "map", "--out", &file(folder.path(), "map.eps")]);
    assert!(stderr(&strange).contains("drawn as .svg, .png or .pdf"), "{}", stderr(&strange));
    let nothing = evenair(&["plot", &file(folder.path(), "nowhere")]);
    assert!(
        stderr(&nothing).contains("nowhere: there is no such folder: plot takes"),
        "{}",
        stderr(&nothing)
    );
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

/// The figures of a result: names and titles, a line each.
fn listed(out: &str) -> String {
    let listed = evenair(&["plot", out, "--list"]);
    assert!(listed.status.success(), "{}", stderr(&listed));
    stdout(&listed)
}

#[test]
fn run_has_figures_of_kept_data() {
    let folder = tempfile::tempdir().unwrap();
    let out = file(folder.path(), "a");
    let run = |more: &[&str]| {
        let short = ["run", "chen10/a", "--set", "duration=2 s", "--set", "warmup=1 s", "--out", &out];
        let done = evenair(&[&short[..], more].concat());
        assert!(done.status.success(), "{}", stderr(&done));
    };
    run(&[]);
    let names = |text: &str| {
        text.lines().map(|line| line.split(':').next().unwrap().to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&listed(&out)), "map conflict-graph goodput ledger");
    run(&["--ledger", "--timeline", "1s..1.1s", "--series", "--seeds", "2"]);
    let all = "map conflict-graph goodput ledger timeline goodput-over-time backlog-over-time round-trip-over-time \
        congestion-window-over-time";
    assert_eq!(names(&listed(&out)), all);
    let svg = file(folder.path(), "course.svg");
    let drawn = evenair(&["plot", &out, "goodput-over-time", "--out", &svg]);
    assert!(drawn.status.success(), "{}", stderr(&drawn));
    let svg = std::fs::read_to_string(&svg).unwrap();
    assert!(svg.contains("goodput [packets/s]") && svg.contains("flow 4") && svg.contains("time [s]"));
    let figures = file(folder.path(), "figures");
    assert!(evenair(&["plot", &out, "ledger", "--out", &figures]).status.success());
    assert!(Path::new(&figures).join("chen10-a-ledger.svg").exists());
}

#[test]
fn theory_has_figures_too() {
    let folder = tempfile::tempdir().unwrap();
    let out = file(folder.path(), "result");
    let laws = ["--set", "backoff.law=adaptive", "--set", "connections.k=10"];
    let done = |arguments: &[&str]| {
        let done = evenair(&[arguments, &["chen10/a", "--out", &out], &laws].concat());
        assert!(done.status.success(), "{}", stderr(&done));
    };
    done(&["fluid"]);
    let text = listed(&out);
    for line in ["goodput: Flows' rates at the end", "congestion-window-over-time: Congestion windows"] {
        assert!(text.contains(line), "{text}");
    }
    done(&["solve"]);
    assert_eq!(listed(&out).lines().next(), Some("goodput: Flows' optimal rates"));
    done(&["compare", "--seeds", "2", "--set", "duration=2 s", "--set", "warmup=1 s"]);
    assert_eq!(listed(&out), "goodput: Flows' rates, world by world\n");
    let table = std::fs::read_to_string(Path::new(&out).join("stages.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("stage,gap,flow,rate_pps,share,counted_pps"));
    let first: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!((first[0], first[2], first[5]), ("fair optimum", "1", ""), "{table}");
    assert_eq!(lines.count() + 1, 4 * table.matches(",1,").count(), "a row per world and flow: {table}");
    let document = std::fs::read_to_string(Path::new(&out).join("result.json")).unwrap();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let rate = document["stages"][0]["flows"][0]["rate_pps"].as_f64().unwrap();
    assert_eq!(first[3], rate.to_string());
}
