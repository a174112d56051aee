//! End to end: studies of one's own, and the effect of options on a study.

use crate::{evenair, json, stderr, stdout};
use std::path::Path;

const MINE: &str = r#"
title = "Mine"
seeds = 2
set = ["duration=2 s", "warmup=1 s"]
variants = [
    { id = "dcf", label = "802.11", scenario = "links" },
    { id = "built-in", label = "one that is built in", scenario = "jam10/chain" },
]

[[claims]]
text = "Links carry something"
value = { metric = "goodput", variant = "dcf" }
holds = { above = 0.0 }
"#;

/// A study in a folder, beside its scenario.
fn mine(folder: &Path, text: &str) -> String {
    let scenario = evenair_study::builtin_scenario("chen10/a").unwrap();
    std::fs::write(folder.join("links.toml"), scenario).unwrap();
    let path = folder.join("my-study.toml");
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().into()
}

fn out(folder: &Path) -> String {
    folder.join("results").to_str().unwrap().into()
}

#[test]
fn a_file_of_ones_own_is_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (mine(folder.path(), MINE), out(folder.path()));
    let output = evenair(&["study", &file, "--out", &out]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("holds      Links carry something"), "{}", stdout(&output));
    let results = Path::new(&out).join("my-study");
    assert!(results.join("report.html").is_file());
    assert_eq!(std::fs::read_to_string(results.join("study.toml")).unwrap(), MINE);
}

#[test]
fn options_change_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (mine(folder.path(), MINE), out(folder.path()));
    let result = json(&evenair(&[
        "study",
        &file,
        "--out",
        &out,
        "--json",
        "--variant",
        "built-in",
        "--seeds",
        "3",
        "--set",
        "duration=1 s",
    ]));
    let manifest = std::fs::read_to_string(Path::new(&out).join("my-study/manifest.json")).unwrap();
    for part in ["--variant built-in", "--seeds 3", "--set 'duration=1 s'"] {
        assert!(manifest.contains(part), "{part}: {manifest}");
    }
    assert_eq!(result["claims"].as_array().unwrap().len(), 0, "the claim is of the other variant");
    let scenario = std::fs::read_to_string(Path::new(&out).join("my-study/scenarios/built-in.toml")).unwrap();
    assert!(scenario.contains("duration = \"1 s\""), "{scenario}");
}

/// A study that is exported, edited and run is like the built-in study.
#[test]
fn a_built_in_study_is_exported_edited_and_run() {
    let folder = tempfile::tempdir().unwrap();
    let (mine, out) = (folder.path().join("mine"), out(folder.path()));
    let output = evenair(&["study", "jam10/fig-7-1", "--export", mine.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let file = mine.join("fig-7-1.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("title = \"", "title = \"Edited: ")).unwrap();
    let output = evenair(&["study", file.to_str().unwrap(), "--quick", "--out", &out]);
    assert!(stdout(&output).contains("Edited: "), "{}{}", stdout(&output), stderr(&output));
    // Its scenarios are the copies beside it.
    let scenario = mine.join("jam10");
    assert!(scenario.is_dir(), "scenarios keep their ids");
    let again = evenair(&["study", "jam10/fig-7-1", "--export", mine.to_str().unwrap()]);
    assert!(stderr(&again).contains("fig-7-1.toml is in the way"), "{}", stderr(&again));
}

#[test]
fn mistakes_suggest_names() {
    let folder = tempfile::tempdir().unwrap();
    let broken = mine(folder.path(), &MINE.replace("scenario = \"links\"", "scenario = \"jam10/chian\""));
    let unknown = folder.path().join("unknown.toml");
    std::fs::write(&unknown, MINE.replace("title", "titel")).unwrap();
    for (arguments, words) in [
        (vec!["study", "jam10/fig-82"], "did you mean jam10/fig-8-2"),
        (vec!["study", "mine/nothing.toml"], "there is no file mine/nothing.toml"),
        (vec!["study", "jam11*"], "no built-in study is called \"jam11*\""),
        (
            vec!["study", &broken],
            "jam10/chian: there is no such file, and no built-in scenario of that id; did you mean jam10/chain",
        ),
        (vec!["study", unknown.to_str().unwrap()], "unknown field `titel`"),
        (vec!["study", "jam10/fig-8-2", "--variant", "nobody"], "there is no variant \"nobody\"; there are"),
    ] {
        let output = evenair(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

/// Every mistake is found before anything runs, with its line.
#[test]
fn mistakes_have_line_key_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to, words) in [
        ("seeds = 2", "sedes = 2", ":3:1: unknown field `sedes`; did you mean seeds?"),
        ("seeds = 2", "seeds = \"2\"", ":3:9: seeds: invalid type: string \"2\", expected a whole number"),
        ("seeds = 2", "seeds = 0", ":3:9: seeds: must be at least 1"),
        ("seeds = 2", "seeds = ", ":3:"),
        (
            "variant = \"dcf\" }",
            "variant = \"dfc\" }",
            "claims[0].value.variant: there is no variant \"dfc\"; there are dcf, built-in",
        ),
        (
            "metric = \"goodput\"",
            "metric = \"gooodput\"",
            ":12:20: claims[0].value.metric: there is no metric \"gooodput\"; did you mean goodput?",
        ),
        (
            "variant = \"dcf\" }",
            "variant = \"dcf\", flow = \"9\" }",
            ":12:55: claims[0].value.flow: variant dcf has no flow \"9\"; there are 1, 2, 3, 4",
        ),
        ("holds = { above = 0.0 }", "", ":10:1: claims[0]: missing field `holds`"),
        ("{ above = 0.0 }", "{ within = [2, 1] }", ":13:9: claims[0].holds: nothing is between 2 and 1"),
        ("\"warmup=1 s\"", "\"warmupp=1 s\"", "variants[0].set: variant dcf: "),
        (
            "scenario = \"links\"",
            "scenario = \"lnks\"",
            "variants[0].scenario: variant dcf: lnks: there is no such",
        ),
    ] {
        let file = mine(folder.path(), &MINE.replace(from, to));
        let output = evenair(&["study", &file, "--check"]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{to}");
        assert!(stderr(&output).contains(words), "{words}\n{}", stderr(&output));
    }
    let file = mine(folder.path(), MINE);
    let right = stdout(&evenair(&["study", &file, "--check"]));
    assert!(right.ends_with("is right: 2 variants, 2 seeds each, 1 claim\n"), "{right}");
}

/// A repeated table's mistake is at the table, whichever of its copies has it.
#[test]
fn mistakes_of_repeated_tables_have_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let each = r#"
[[claims]]
each = { v = ["dcf", "nobody"] }
text = "{v}"
value = { metric = "goodput", variant = "{v}" }
holds = { above = 0.0 }
"#;
    let check = |each: &str| {
        let file = mine(folder.path(), &format!("{MINE}{each}"));
        stderr(&evenair(&["study", &file, "--check"]))
    };
    let line = MINE.lines().count() + 5;
    let unknown = check(each);
    let words = format!(":{line}:41: claims[1].value.variant: there is no variant \"nobody\"");
    assert!(unknown.contains(&words), "{words}\n{unknown}");
    let open = check(&each.replace("\"{v}\"", "\"{w}\""));
    assert!(open.contains("claims[1].each: `each` has no value for"), "{open}");
    let misspelt = check(&each.replace("text", "txet"));
    assert!(misspelt.contains(&format!(":{}:1: unknown field `txet`", line - 1)), "{misspelt}");
}

#[test]
fn the_language_of_studies_has_a_schema() {
    let schema = json(&evenair(&["schema", "study"]));
    assert_eq!((&schema["title"], &schema["additionalProperties"]), (&"Study".into(), &false.into()));
}
