//! End to end: scenarios with keys varied.

use crate::{evenair, json, stderr, stdout};
use serde_json::Value;
use std::path::Path;

const SHORT: [&str; 8] =
    ["sweep", "chen10/a", "--set", "duration=2 s", "--set", "warmup=1 s", "--vary", "connections.k=5,10"];

fn sweep(folder: &Path, more: &[&str]) -> std::process::Output {
    evenair(&[&SHORT[..], more, &["--out", folder.to_str().unwrap()]].concat())
}

fn lines(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| line.split(',').map(String::from).collect()).collect()
}

/// A setting without effect in a run has none in a sweep or a study either, and is told once, with how many points it is of.
#[test]
fn ineffective_keys_warn_in_sweeps() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let datagrams = file(
        "datagrams.toml",
        "duration = \"1 s\"\nwarmup = \"0 s\"\nradio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }\n\
         nodes = [{ id = \"a\", at = [0, 0] }, { id = \"b\", at = [100, 0] }]\n\
         flows = [{ id = \"1\", from = \"a\", to = \"b\", traffic = \"saturated\" }]\nconnections = { k = 10 }\n",
    );
    let study = file(
        "own.toml",
        "title = \"t\"\nseeds = 1\nvariants = [{ id = \"v\", label = \"V\", scenario = \"datagrams\" }]\n",
    );
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    let warning = "[connections] has no effect";
    let swept = evenair(&[
        "sweep",
        &datagrams,
        "--vary",
        "flows.1.traffic=saturated,tcp",
        "--seeds",
        "1",
        "--out",
        out,
    ]);
    let text = stderr(&swept);
    assert!(text.contains(warning) && text.contains("(in 1 of 2 scenarios)"), "{text}");
    for arguments in [vec!["run", &datagrams], vec!["study", &study, "--out", out]] {
        let text = stderr(&evenair(&arguments));
        assert!(text.matches(warning).count() == 1 && !text.contains("scenarios)"), "{arguments:?}: {text}");
    }
}

#[test]
fn a_point_is_the_run_that_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let output = sweep(folder.path(), &["--seeds", "2", "--metric", "goodput,jain,round-trip"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for words in ["chen10/a over connections.k", "goodput [packets/s]", "flow 4", "Jain's index", "report: "]
    {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    let seeds = lines(&folder.path().join("seeds.csv"));
    assert_eq!(seeds[0].join(","), "connections.k,seed,flow,goodput,jain,round-trip");
    assert_eq!(seeds.len(), 1 + 2 * 2 * 5, "two points, two seeds, four flows and all together");
    let run = [&["run"], &SHORT[1..6], &["--set", "connections.k=10", "--seeds", "2", "--json"]].concat();
    let run = stdout(&evenair(&run));
    let second: Value = serde_json::from_str(run.lines().nth(1).unwrap()).unwrap();
    let of = |k: &str, seed: &str, flow: &str| {
        let row = seeds.iter().find(|row| row[..3] == [k, seed, flow]).expect("there is such a row");
        row[3].parse::<f64>().unwrap()
    };
    assert_eq!(Some(of("10", "2", "3")), second["flows"][2]["goodput_pps"].as_f64());
    let table = lines(&folder.path().join("table.csv"));
    assert!(
        table[0].join(",").starts_with("connections.k,flow,goodput,goodput_low,goodput_high,goodput_n,jain")
    );
    let row = table.iter().find(|row| row[..2] == ["10", "3"]).unwrap();
    let mean = f64::midpoint(of("10", "1", "3"), of("10", "2", "3"));
    assert!((row[2].parse::<f64>().unwrap() - mean).abs() < 1e-9 && row[5] == "2", "{row:?}");
    let all = table.iter().find(|row| row[..2] == ["10", "all"]).unwrap();
    assert!(!all[6].is_empty() && row[6].is_empty(), "Jain's index is of all flows: {row:?} {all:?}");
    for file in ["report.html", "result.json", "scenario.toml", "manifest.json"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
}

#[test]
fn finished_runs_are_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let kept = || {
        let runs = std::fs::read_dir(folder.path().join("runs")).unwrap();
        let mut runs: Vec<_> = runs.map(|run| run.unwrap().metadata().unwrap().modified().unwrap()).collect();
        runs.sort();
        runs
    };
    for part in ["1/2", "2/2"] {
        let output = sweep(folder.path(), &["--seeds", "3", "--shard", part]);
        assert_eq!(stdout(&output), format!("part {part} is done, 3 runs\n"), "{}", stderr(&output));
    }
    let before = kept();
    assert_eq!(before.len(), 6);
    assert!(sweep(folder.path(), &["--seeds", "3"]).status.success());
    assert_eq!(kept(), before);
    // A point more leaves those that are there.
    assert!(sweep(folder.path(), &["--seeds", "3", "--vary", "tcp.window=reno,cubic"]).status.success());
    assert_eq!(kept().len(), 12, "reno is what the scenario has");
    assert_eq!(kept()[..6], before[..]);
}

#[test]
fn words_and_quantities_are_columns_and_figures() {
    let folder = tempfile::tempdir().unwrap();
    let more =
        ["--vary", "backoff.law=dcf,adaptive", "--vary", "mac.queue=10..30 packets:20", "--seeds", "1"];
    let plot = ["--plot", "x=mac.queue,y=backlog,color=backoff.law", "--json"];
    let document = json(&sweep(folder.path(), &[&more[..], &plot[..]].concat()));
    let rows = document["table"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 2 * 2 * 5);
    let last = rows.last().unwrap();
    assert_eq!((&last["connections.k"], &last["backoff.law"]), (&10.into(), &"adaptive".into()));
    assert_eq!((&last["mac.queue [packets]"], &last["flow"]), (&30.into(), &"all".into()));
    assert!(last["backlog"]["mean"].as_f64().unwrap() > 0.0, "what is drawn is measured: {last}");
    assert_eq!((&last["goodput"]["low"], &last["goodput"]["n"]), (&Value::Null, &1.into()));
    let report = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(report.contains("backlog [packets] over mac.queue") && report.contains("backoff.law adaptive"));
}

#[test]
fn a_sweep_of_the_optimum_knows_no_chance() {
    let folder = tempfile::tempdir().unwrap();
    let document = json(&sweep(folder.path(), &["--world", "fair", "--json"]));
    let rows = document["table"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["goodput"]["n"]), (10, &1.into()));
    let refused = sweep(folder.path(), &["--world", "fair", "--seeds", "3"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--seeds has no effect"), "{}", stderr(&refused));
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    for (more, words) in [
        (vec!["--vary", "connections.kk=5..20"], "connections.kk=5: unknown field `kk`, expected one of `k`"),
        (vec!["--vary", "backoff.law=dcf,adaptiv"], "backoff.law=adaptiv: unknown variant `adaptiv`"),
        (vec!["--vary", "tcp.window"], "is not of the form KEY=VALUES"),
        (vec!["--vary", "connections.k=1,2"], "connections.k: is varied twice"),
        (vec!["--zip"], "--zip has no effect"),
        (vec!["--metric", "gooodput"], "did you mean goodput?"),
        (vec!["--world", "nowhere"], "there is no world \"nowhere\"; there are packets, fluid"),
        (vec!["--plot", "x=backoff.law"], "backoff.law: is not varied; there is connections.k"),
    ] {
        let output = sweep(&out, &more);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{more:?}");
        assert!(stderr(&output).contains(words), "{more:?}: {}", stderr(&output));
        assert!(!out.exists(), "{more:?}");
    }
    let none = evenair(&["sweep", "chen10/a"]);
    assert!(stderr(&none).contains("--vary"), "{}", stderr(&none));
}
