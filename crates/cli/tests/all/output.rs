//! End to end: the places of results, and the files left by a failure.

use crate::{evenair, json, stderr, stdout};
use std::path::Path;
use std::process::Command;

const SHORT: [&str; 6] = ["run", "chen10/a", "--set", "duration=2 s", "--set", "warmup=1 s"];
/// A run that no test waits for the end of.
const ENDLESS: [&str; 4] = ["run", "chen10/a", "--set", "duration=1000000 s"];

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn short(more: &[&str]) -> std::process::Output {
    evenair(&[&SHORT[..], more].concat())
}

fn manifest(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn folder_holds_one_result_with_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("my result");
    let out = place.to_str().unwrap();
    let first = short(&["--series", "--timeline", "1s..1.1s", "--out", out]);
    assert!(first.status.success(), "{}", stderr(&first));
    let files = names(&place);
    assert!(["frames.csv", "series.csv"].iter().all(|name| files.contains(&name.to_string())), "{files:?}");
    std::fs::write(place.join("notes.txt"), "mine").unwrap();
    assert!(short(&["--out", out]).status.success());
    let expected = "figures.json flows.csv links.csv manifest.json notes.txt result.json runs.jsonl scenario.toml seeds.csv";
    let with_parquet = names(&place);
    let files: Vec<&String> = with_parquet.iter().filter(|name| !name.ends_with(".parquet")).collect();
    assert_eq!(
        files,
        expected.split(' ').collect::<Vec<_>>(),
        "what the first had and the second has not is gone"
    );
    let manifest = manifest(&place);
    let line = format!("evenair run chen10/a --set 'duration=2 s' --set 'warmup=1 s' --out '{out}'");
    assert_eq!(manifest["command_line"], line.as_str());
    assert_eq!(manifest["schema_version"], 1);
    let commit = option_env!("EVENAIR_COMMIT").filter(|commit| !commit.is_empty());
    assert_eq!(manifest["commit"].as_str(), commit);
    assert_eq!(manifest["files"].as_object().unwrap().len(), with_parquet.len() - 2);
    // The hash of the scenario is that of its file.
    assert_eq!(manifest["files"]["scenario.toml"].as_str().map(str::len), Some(64));
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(place.join("runs.jsonl")).unwrap()).unwrap();
    assert_eq!(manifest["runs"][0]["fingerprint"], record["fingerprint"]);
    // A result of another command takes its place, too.
    assert!(evenair(&["fluid", "cz06/one", "--out", out]).status.success());
    let files = names(&place);
    assert_eq!(
        files.iter().filter(|name| !name.ends_with(".parquet")).collect::<Vec<_>>(),
        "figures.json flows.csv links.csv manifest.json notes.txt result.json scenario.toml trajectory.csv"
            .split(' ')
            .collect::<Vec<_>>()
    );
}

#[test]
fn run_without_place_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("flows.csv"), "years of work").unwrap();
    let (here, file) = (folder.path().to_str().unwrap(), folder.path().join("flows.csv"));
    let below = file.join("result");
    let nowhere = folder.path().join("no/such/chain.pcap");
    let cases: [(Vec<&str>, &str); 5] = [
        ([&ENDLESS[..], &["--out", here]].concat(), "flows.csv is in the way: evenair did not write it"),
        ([&ENDLESS[..], &["--out", below.to_str().unwrap()]].concat(), "cannot make"),
        ([&ENDLESS[..], &["--pcap", nowhere.to_str().unwrap()]].concat(), "chain.pcap"),
        (
            vec!["run", "chen10/a-graph", "--set", "duration=1000000 s", "--pcap", "a.pcap"],
            "ideal CSMA has no frames",
        ),
        (vec!["demo", "--out", here], "--force"),
    ];
    for (arguments, words) in cases {
        let output = evenair(&arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(names(folder.path()), ["flows.csv"], "nothing is left behind");
    let forced = short(&["--out", here, "--force"]);
    assert!(stderr(&forced).contains("is kept as"), "{}", stderr(&forced));
    assert_eq!(std::fs::read_to_string(folder.path().join("flows.csv.before")).unwrap(), "years of work");
    assert!(stderr(&short(&["--force"])).contains("--out"), "--force alone has no effect");
    for idle in [&["show", "chen10/a", "--force"][..], &["man", "--force"]] {
        assert!(stderr(&evenair(idle)).contains("--force has no effect"), "{idle:?}");
    }
}

/// A folder in which one works, with a scenario and a paper in it, takes a result as it is.
#[test]
fn files_of_users_own_are_no_hindrance_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = evenair_study::builtin_scenario("chen10/a").unwrap();
    std::fs::write(folder.path().join("my.toml"), scenario).unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let run = |scenario: &str, out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
        let short = ["--set", "duration=2 s", "--set", "warmup=1 s", "--out", out];
        command.args(["run", scenario]).args(short).current_dir(folder.path()).output().unwrap()
    };
    let done = run("my.toml", ".");
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(names(folder.path()).contains(&"flows.csv".to_string()));
    assert!(evenair(&["solve", "chen10/a", "--out", folder.path().to_str().unwrap()]).status.success());
    let files = names(folder.path());
    assert!(files.contains(&"conflicts.csv".to_string()) && !files.contains(&"runs.jsonl".to_string()));
    assert!(["my.toml", "thesis.tex"].iter().all(|name| files.contains(&name.to_string())), "{files:?}");
    // A report and captures may lie in the folder, and are no hindrance for the next result.
    for _ in 0..2 {
        let place = folder.path().join("with report");
        let file = |name: &str| place.join(name).to_str().unwrap().to_string();
        let (report, capture) = (format!("--report={}", file("report.html")), file("air.pcap"));
        let done = short(&["--out", place.to_str().unwrap(), &report, "--pcap", &capture]);
        assert!(done.status.success(), "{}", stderr(&done));
        assert!(place.join("report.html").exists() && place.join("air.pcap").exists());
    }
    // A scenario of the user's is not replaced by the resolved one.
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("scenario.toml"), scenario).unwrap();
    let refused = run("other/scenario.toml", "other");
    assert!(stderr(&refused).contains("scenario.toml is in the way"), "{}", stderr(&refused));
    assert_eq!(names(&other), ["scenario.toml"]);
}

/// One rule for every written file: only evenair's own unedited files are replaced.
#[test]
fn foreign_files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let result = path("result");
    assert!(short(&["--out", &result]).status.success());
    let report = format!("--report={}", path("a.html"));
    let (pages, exported) = (path("man"), path("exported"));
    let cases: [(&str, Vec<&str>); 8] = [
        (
            "a.pcap",
            [&SHORT[..], &["--pcap", &path("a.pcap")]]
                .concat()
                .into_iter()
                .map(|s| &*s.to_string().leak())
                .collect(),
        ),
        ("a.html", [&SHORT[..], &[&report]].concat()),
        ("a.svg", vec!["show", "chen10/a", "--map", path("a.svg").leak()]),
        ("a.png", vec!["plot", &result, "map", "--out", path("a.png").leak()]),
        ("a.dot", vec!["show", "chen10/a", "--export", path("a.dot").leak()]),
        ("a.toml", vec!["new", path("a.toml").leak()]),
        ("man/evenair-run.1", vec!["man", &pages]),
        ("exported/chen10/a.toml", vec!["study", "chen10/fig-4-2", "--export", &exported]),
    ];
    for (name, arguments) in cases {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "years of work").unwrap();
        let refused = evenair(&arguments);
        assert_eq!(refused.status.code(), Some(2), "{name}: {}", stdout(&refused));
        let text = stderr(&refused);
        assert!(text.contains(&format!("{name} is in the way")) && text.contains("--force"), "{text}");
        assert_eq!(std::fs::read(&file).unwrap(), b"years of work", "{name}");
        let forced = evenair(&[&arguments[..], &["--force"]].concat());
        assert!(
            forced.status.success() && stderr(&forced).contains("is kept as"),
            "{name}: {}",
            stderr(&forced)
        );
        let before = file.with_file_name(format!("{}.before", file.file_name().unwrap().to_str().unwrap()));
        assert_eq!(std::fs::read(before).unwrap(), b"years of work", "{name}");
        // A file that a user edits is never replaced; all else is, as long as it is unedited.
        let again = evenair(&arguments);
        let is_theirs = file.extension().is_some_and(|ending| ending == "toml");
        assert_eq!(again.status.success(), !is_theirs, "{name}: {}", stderr(&again));
    }
}

/// A run's report lies in its folder: one that is not named is part of the result, and in its manifest.
#[test]
fn a_report_lies_with_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("result");
    let out = place.to_str().unwrap();
    let done = short(&["--out", out, "--report"]);
    assert!(stdout(&done).contains(&format!("report: {out}/report.html")), "{}", stderr(&done));
    assert!(manifest(&place)["files"]["report.html"].is_string());
    assert!(short(&["--out", out]).status.success());
    assert!(!place.join("report.html").exists(), "the next result has none");
    // Without a folder it is where one works, and the user's own is safe.
    let here = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
        command.args(SHORT).arg("--report").current_dir(folder.path()).output().unwrap()
    };
    assert!(here().status.success() && here().status.success());
    std::fs::write(folder.path().join("report.html"), "mine").unwrap();
    assert!(stderr(&here()).contains("report.html is in the way"));
}

/// A limit on the size of files stands for a full disk: it needs no rights.
#[cfg(unix)]
#[test]
fn full_disk_leaves_no_half_and_prints_result() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("result");
    let out = place.to_str().unwrap();
    let before = short(&["--json", "--out", out]);
    let kept = std::fs::read(place.join("runs.jsonl")).unwrap();
    let limited = |more: &[&str]| {
        let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
        let program = env!("CARGO_BIN_EXE_evenair");
        Command::new("sh").args(["-c", script, "sh", program]).args(SHORT).args(more).output().unwrap()
    };
    let full = limited(&["--series", "--every", "1 ms", "--out", out]);
    assert_eq!(full.status.code(), Some(2), "{}", stdout(&full));
    assert!(stderr(&full).contains("cannot write"), "{}", stderr(&full));
    assert!(stdout(&full).contains("packets/s"), "what was computed is told");
    assert_eq!(std::fs::read(place.join("runs.jsonl")).unwrap(), kept, "the result before is whole");
    assert!(names(&place).iter().all(|name| !name.contains("series") && !name.starts_with('.')));
    let capture = folder.path().join("a.pcap");
    let full = limited(&["--pcap", capture.to_str().unwrap()]);
    assert_eq!(full.status.code(), Some(2), "{}", stdout(&full));
    assert_eq!(names(folder.path()), ["result"], "no half capture");
    let new = folder.path().join("new");
    limited(&["--series", "--every", "1 ms", "--out", new.to_str().unwrap()]);
    assert_eq!(names(folder.path()), ["result"], "no folder without a result");
    assert_eq!(json(&before)["seed"], 1);
}

/// The report of a study is replaced; its finished runs are found again.
#[test]
fn study_keeps_its_runs_when_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let study = |more: &[&str]| {
        let arguments = [&["study", "chen10/fig-4-2", "--quick", "--out", out], more].concat();
        let output = evenair(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
    };
    study(&[]);
    let place = folder.path().join("chen10/fig-4-2");
    let (all, runs) = (names(&place.join("scenarios")), names(&place.join("runs")));
    assert!(all.len() > 1 && !runs.is_empty());
    let first = all[0].trim_end_matches(".toml");
    study(&["--variant", first]);
    assert_eq!(names(&place.join("scenarios")), all[..1], "the scenarios of other variants are gone");
    assert_eq!(names(&place.join("runs")), runs);
    let line = manifest(&place)["command_line"].as_str().unwrap().to_string();
    assert!(line.starts_with("evenair study chen10/fig-4-2 --quick --variant"), "{line}");
}
