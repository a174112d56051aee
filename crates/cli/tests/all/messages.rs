//! Mistakes of newcomers and the answers to them, a row each.

use crate::{evenair, stderr};
use std::fs;

/// A scenario of two nodes, with something of it changed.
fn two(from: &str, to: &str) -> String {
    const TWO: &str = r#"duration = "5 s"
warmup = "1 s"
radio = { transmission_range = "250 m", carrier_sense_range = "550 m" }
nodes = [{ id = "a", at = [0, 0] }, { id = "b", at = [100, 0] }]
flows = [{ id = "up", from = "a", to = "b" }]
"#;
    let changed = TWO.replacen(from, to, 1);
    assert_ne!(changed, TWO, "{from}");
    changed
}

#[test]
fn mistakes_of_newcomers_are_answered() {
    for (arguments, words) in [
        ("simulate chen10/a", "'evenair run'"),
        ("scenarios", "'evenair list scenarios'"),
        ("studies", "'evenair list studies'"),
        ("list hidden", "'evenair list scenarios hidden'"),
        ("run chen10/a --duration 3s", "duration is a key of the scenario: --set duration='3 s'"),
        ("run chen10/a --seed=7", "seed is a key of the scenario: --set seed=7"),
        ("run .", "this is a folder"),
        ("study .", "this is a folder"),
        ("run jam10/fig-3-2", "this is a study: evenair study jam10/fig-3-2"),
        ("study chen10/a", "this is a scenario: evenair run chen10/a"),
        ("sweep chen10/a --vary connections.k=1,2 --metric throughput", "did you mean goodput?"),
        ("run chen10/a --set nodes.r1.at=[2000,2000]", "they are 3280.2 m apart, and the range is 250.0 m"),
    ] {
        let words_given: Vec<&str> = arguments.split(' ').collect();
        let told = stderr(&evenair(&words_given));
        assert!(told.contains(words), "{arguments}: {told}");
        assert!(!told.contains("similar") && !told.contains("'-- "), "clap's own guess is gone: {told}");
    }
}

#[test]
fn mistakes_in_files_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    for (text, words) in [
        (two("5 s", "0,5 s"), "1:12: duration: \"0,5 s\" has a decimal comma; write \"0.5 s\""),
        (two("\"5 s\"", "5"), "1:12: duration: a time needs a unit; write it as \"5 s\""),
        (two("\"5 s\"", "0.5"), "duration: a time needs a unit; write it as \"0.5 s\""),
        (two("5 s", "5"), "duration: \"5\" has no unit; write it as \"5 s\""),
        (
            two("warmup", "connections = 10\nwarmup"),
            "several connections for each flow are connections = { k = 10 }",
        ),
        (two("warmup", "tcp = \"cubic\"\nwarmup"), "a window law is tcp = { window = \"cubic\" }"),
        (two("5 s", "5 m"), "has the unknown unit \"m\"; did you mean \"min\"?"),
        (two("\"5 s\"", "“5 s”"), "1:12: “ is no quote of TOML; write \" instead"),
        (two("warmup", "duration"), "2:1: \"duration\" is there twice, first in line 1; leave one out"),
        (two("to = \"b\"", "to = \"b\", traffic = \"udp\""), "traffic = \"saturated\", \"cbr\", \"poisson\""),
        (two("from =", "src ="), "unknown field `src`; a flow's source is `from`"),
        (two("to = \"b\"", "dst = \"b\""), "unknown field `dst`; a flow's destination is `to`"),
        (
            two("at = [0, 0]", "x = 0, y = 0"),
            "unknown field `x`; a position is `at = [east, north]`, in metres",
        ),
        (
            two("warmup", "mac = { rts = true }\nwarmup"),
            "unknown field `rts`; RTS and CTS are `mac.rts_threshold`",
        ),
        (
            two("transmission_range", "range"),
            "`range`; ranges are `radio.transmission_range` and `radio.carrier_sense_range`",
        ),
        (
            two("warmup = \"1 s\"", "seeds = 5"),
            "`seeds`; how many seeds is no key of a scenario; run it with `--seeds 5`",
        ),
        ("{\"duration\": \"5 s\"}".into(), "this is JSON; write TOML"),
        ("duration: 5 s\nnodes:\n  - a\n".into(), "this is YAML; write TOML"),
        ("# nothing yet\n".into(), "the file is empty; evenair new FILE"),
    ] {
        let path = folder.path().join("my.toml");
        fs::write(&path, &text).unwrap();
        let told = stderr(&evenair(&["run", path.to_str().unwrap()]));
        assert!(told.contains(words), "{text}\n{told}");
    }
    let scenario = folder.path().join("scenario.toml");
    fs::write(&scenario, two("5 s", "6 s")).unwrap();
    let told = stderr(&evenair(&["study", scenario.to_str().unwrap()]));
    assert!(told.contains("this is a scenario: evenair run "), "{told}");
    let study = folder.path().join("study.toml");
    fs::write(&study, "title = \"x\"\n[[variants]]\nid = \"a\"\n").unwrap();
    let told = stderr(&evenair(&["run", study.to_str().unwrap()]));
    assert!(told.contains("this is a study, with variants: evenair study "), "{told}");
}
