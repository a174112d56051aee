//! End to end: the command as its users call it.

use crate::{evenair, json, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

const SHORT: [&str; 4] = ["--set", "duration=5 s", "--set", "warmup=5 s"];

fn run_short(more: &[&str]) -> Output {
    evenair(&[&["run", "chen10/a"], &SHORT[..], more].concat())
}

#[test]
fn run_prints_flows_and_queues() {
    let output = run_short(&["--ledger"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for word in ["packets/s", "receiver busy", "share of time", "by s1", "s2"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
}

/// A wire that a rate fills and a transfer crosses.
const WIRE: &str = r#"
duration = "10 s"
warmup = "0 s"
nodes = [{ id = "a" }, { id = "b" }]
wires = [{ from = "a", to = "b", rate = "1 Mbps", delay = "20 ms" }, { from = "b", to = "a", rate = "1 Mbps", delay = "20 ms" }]
flows = [
  { id = "voice", from = "a", to = "b", traffic = "cbr", size = "1250 bytes", interval = "25 ms" },
  { id = "file", from = "b", to = "a", transfer = "14 packets" },
]
"#;

#[test]
fn delays_and_completions_are_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wire.toml");
    std::fs::write(&file, WIRE).unwrap();
    let (file, out) = (file.to_str().unwrap(), folder.path().join("out"));
    let text = stdout(&evenair(&["run", file, "--all"]));
    for word in ["delay [ms]", "95 %", "completed", "took [s]"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let run = json(&evenair(&["run", file, "--json", "--series", "--out", out.to_str().unwrap()]));
    // 10 ms on the wire and 20 ms on the way, each of them.
    let delay = &run["flows"][0]["delay"];
    let near = |value: &Value, s: f64| (value.as_f64().unwrap() / s - 1.0).abs() < 0.01;
    assert!(near(&delay["mean_s"], 0.030) && near(&delay["p99_s"], 0.030), "{delay}");
    assert_eq!(run["flows"][1]["transfers"]["completed"], 1);
    let series = std::fs::read_to_string(out.join("series.csv")).unwrap();
    for column in [
        "flow voice,delay_s,0.03",
        "flow voice,loss,0",
        "flow voice,queueing_delay_s,",
        "queue a-b,waiting_s,",
    ] {
        assert!(series.contains(column), "{column} is missing in\n{series}");
    }
    // The file is there within the first second, and has no delay after it.
    assert_eq!(series.matches("flow file,delay_s,").count(), 1);
    let flows = std::fs::read_to_string(out.join("flows.csv")).unwrap();
    let head = flows.lines().next().unwrap();
    for column in ["loss,delay_s,delay_s_50,delay_s_95,delay_s_99,jitter_s", "completion_s,completion_s_50"] {
        assert!(head.contains(column), "{column} is missing in\n{head}");
    }
}

#[test]
fn the_table_of_flows_fits_a_hundred_columns() {
    let text = stdout(&run_short(&[]));
    let flows: Vec<&str> = text.lines().take_while(|line| !line.contains("backlog")).collect();
    assert!(flows.iter().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn seed_fixes_bytes_for_any_threads() {
    let one = run_short(&["--json", "--seeds", "4"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
    command
        .args(["run", "chen10/a"])
        .args(SHORT)
        .args(["--json", "--seeds", "4"])
        .env("RAYON_NUM_THREADS", "1");
    let other = command.output().expect("the command runs");
    assert_eq!(one.stdout, other.stdout);
    let text = stdout(&one);
    let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert!(lines[0]["flows"][0]["goodput_bps"].as_f64().unwrap() > 1e6);
    assert_eq!((&lines[3]["seed"], &lines[3]["scenario"]), (&4.into(), &"chen10/a".into()));
}

#[test]
fn out_keeps_a_scenario_that_runs_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("result");
    let first = run_short(&["--json", "--out", out.to_str().unwrap()]);
    let scenario = out.join("scenario.toml");
    let again = evenair(&["run", scenario.to_str().unwrap(), "--json"]);
    assert_eq!(json(&first)["fingerprint"], json(&again)["fingerprint"]);
    let csv = std::fs::read_to_string(out.join("flows.csv")).unwrap();
    assert!(csv.starts_with("variant,x,seed,flow,from,to,goodput_bps") && csv.lines().count() == 5, "{csv}");
}

#[test]
fn the_timeline_holds_the_frames_of_its_window() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let run = json(&run_short(&["--json", "--timeline", "5s..5.05s", "--out", out]));
    let frames = run["frames"].as_array().unwrap();
    assert!(frames.len() > 20, "{}", frames.len());
    assert!(
        frames.iter().all(|f| f["end_ms"].as_f64() > Some(5000.0) && f["start_ms"].as_f64() < Some(5050.0))
    );
    let csv = std::fs::read_to_string(folder.path().join("frames.csv")).unwrap();
    assert_eq!(csv.lines().count(), frames.len() + 1);
    assert!(stderr(&run_short(&["--timeline", "5s"])).contains("FROM..TO"));
}

#[test]
fn bad_input_exits_with_two_and_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let cases = [
        (
            write("unknown.toml", b"[mac]\ndata_rat = \"11 Mbps\"\n"),
            "unknown.toml:2:1: unknown field `data_rat`; did you mean data_rate?",
        ),
        (write("binary.toml", &[0xff, 0xfe, 0x00]), "binary.toml:1:1: the byte ff is not UTF-8"),
        (write("prose.toml", b"hello there"), "prose.toml:1:"),
        (write("empty.toml", b""), "the file is empty; evenair new FILE"),
        (
            write("type.toml", b"seed = \"one\"\n"),
            "type.toml:1:8: seed: invalid type: string \"one\", expected a whole number",
        ),
        ("nowhere/at-all".into(), "there is no such file, and no built-in scenario of that id"),
    ];
    for (scenario, expected) in cases {
        let output = evenair(&["run", &scenario]);
        assert_eq!(output.status.code(), Some(2), "{scenario}");
        assert!(output.stdout.is_empty(), "{scenario}: partial output");
        assert!(stderr(&output).contains(expected), "{scenario}: {}", stderr(&output));
    }
    for set in ["mac.data_rate=0 Mbps", "duration=nan s", "nodes.s2.id=s1", "flows.1.to=nobody", "nonsense=1"]
    {
        let output = evenair(&["run", "chen10/a", "--set", set]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{set}");
        assert!(stderr(&output).contains("--set"), "{set}: {}", stderr(&output));
    }
    let output = evenair(&["study", "chen10/fig-4-2", "chen10/no-such"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(stderr(&output).contains("`evenair list studies` names all"), "{}", stderr(&output));
}

#[test]
fn solve_gives_rates_prices_and_residuals() {
    let document = json(&evenair(&["solve", "chen10/a", "--json"]));
    let rates: Vec<f64> =
        document["flows"].as_array().unwrap().iter().map(|f| f["rate_pps"].as_f64().unwrap()).collect();
    // Without entropy x₂ = C/(1 + √5); by the standard C is 513 packets/s.
    let capacity = document["flows"][0]["capacity_pps"].as_f64().unwrap();
    assert!((rates[1] - capacity / (1.0 + 5f64.sqrt())).abs() < 0.01, "{rates:?}");
    assert!(document["residuals"]["gap"].as_f64().unwrap() < 1e-6);
    let refused = evenair(&["solve", "chen10/a", "--objective", "fixed-point"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("needs [connections] and an adaptive [backoff]"));
}

#[test]
fn outside_nodes_scenario_names_its_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attached.toml");
    let text = "duration = \"5 s\"\nwarmup = \"0 s\"\noutside = [\"a\", \"b\"]\n\
        radio = { transmission_range = \"250 m\", carrier_sense_range = \"550 m\" }\n\
        nodes = [{ id = \"a\", at = [0, 0] }, { id = \"b\", at = [200, 0] }]\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let shown = stdout(&evenair(&["show", path]));
    assert!(shown.contains("attached to the outside: a, b") && shown.contains("a>b: b>a"), "{shown}");
    let run = evenair(&["run", path, "--seeds", "2"]);
    assert!(run.status.success() && stderr(&run).contains("nothing is sent in this run"), "{}", stderr(&run));
    assert!(!stdout(&run).contains("total") && stdout(&run).contains("queue"), "{}", stdout(&run));
    let solved = evenair(&["solve", path]);
    assert_eq!(solved.status.code(), Some(2));
    assert!(stderr(&solved).contains("it has no flow, and how much comes from outside is not known"));
}

#[test]
fn show_draws_the_map_and_lists_conflicts() {
    let text = stdout(&evenair(&["show", "chen10/a"]));
    assert!(text.contains("s2>r2: s1>r1, s3>r3, s4>r4"), "{text}");
    assert!(text.contains("carrier-sense range 800 m"));
    let resolved = stdout(&evenair(&["show", "chen10/a", "--resolved"]));
    assert!(resolved.contains("min_rto = \"1 s\""), "{resolved}");
    assert!(stdout(&evenair(&["show", "chen10/b-graph"])).contains("s1>r1: s2>r2, s3>r3, s4>r4"));
}

#[test]
fn the_schema_is_json() {
    assert_eq!(json(&evenair(&["schema"]))["title"], "Scenario");
}

#[test]
fn study_runs_until_decided_or_out_of_seeds() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let study = |more: &[&str]| {
        let run = ["study", "jam10/fig-3-5", "--quick", "--json", "--out", out];
        json(&evenair(&[&run[..], more].concat()))
    };
    let verdicts = |document: &Value| {
        let claims = document["claims"].as_array().unwrap().clone();
        claims
            .iter()
            .map(|c| (c["verdict"].as_str().unwrap().to_string(), c["seeds"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let once = verdicts(&study(&[]));
    assert!(once.iter().all(|(_, seeds)| *seeds == 3), "{once:?}");
    // A band of 5 kb/s around 170 is not decided by three seeds, nor by seven.
    assert!(once.iter().any(|(verdict, _)| verdict == "undecided"), "{once:?}");
    let document = study(&["--decide", "--seeds-max", "7"]);
    let decided = verdicts(&document);
    assert!(decided.iter().all(|(verdict, seeds)| verdict != "undecided" || *seeds == 7), "{decided:?}");
    assert!(decided.iter().any(|(_, seeds)| *seeds > 3), "{decided:?}");
    let tally = &document["tally"];
    let all = ["hold", "fail", "undecided"].iter().map(|k| tally[k].as_u64().unwrap()).sum::<u64>();
    assert_eq!(all as usize, decided.len());
    assert!(folder.path().join("jam10/fig-3-5/claims.csv").exists());
}

#[test]
fn a_study_reports_resumes_and_repeats_itself() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let study = |id: &str| evenair(&["study", id, "--quick", "--json", "--out", out]);
    let first = json(&study("chen10/fig-4-2"));
    assert_eq!(first["study"], "chen10/fig-4-2");
    let claims = first["claims"].as_array().unwrap();
    assert!(
        !claims.is_empty() && claims.iter().all(|c| c["verdict"].is_string() && c["measured"].is_number())
    );
    let runs = folder.path().join("chen10/fig-4-2/runs");
    let files = || {
        let mut list: Vec<_> = std::fs::read_dir(&runs).unwrap().map(|e| e.unwrap().path()).collect();
        list.sort();
        list
    };
    let all = files();
    assert_eq!(all.len(), 8, "four variants, two seeds");
    // Lose one run and damage another: both are done again, the rest is kept.
    let kept = std::fs::metadata(&all[2]).unwrap().modified().unwrap();
    std::fs::remove_file(&all[0]).unwrap();
    std::fs::write(&all[1], "{").unwrap();
    assert_eq!(json(&study("chen10/fig-4-2")), first);
    assert_eq!(files(), all);
    assert_eq!(std::fs::metadata(&all[2]).unwrap().modified().unwrap(), kept);
    check_report(&folder.path().join("chen10/fig-4-2/report.html"));
    assert!(folder.path().join("chen10/fig-4-2/table.csv").exists());
}

/// The report stands alone: it asks the network for nothing.
fn check_report(path: &Path) {
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.contains("data-figure=\"0\">\n<svg class=\"broad\"") && page.contains("const FIGURES = [{"));
    for outside in ["<script src", "<link ", "@import", "<img src=\"http"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn interrupted_study_keeps_finished_runs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_evenair"))
        .args(["study", "chen10/table-6-2", "--out", out])
        .env("RAYON_NUM_THREADS", "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let runs = folder.path().join("chen10/table-6-2/runs");
    let finished = || {
        std::fs::read_dir(&runs).map_or(0, |d| {
            d.filter(|e| e.as_ref().is_ok_and(|e| e.path().extension().is_some_and(|x| x == "json"))).count()
        })
    };
    while finished() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(finished() >= 2, "what was finished is kept");
}

#[test]
fn adaptive_back_off_says_that_it_drops() {
    let said = |text: &str| text.replace('\n', " ").contains("adaptive back-off drops arriving packets, too");
    let (adaptive, none) = ("backoff.law=adaptive", "backoff.drop=false");
    for (changes, says) in
        [(vec!["--set", adaptive], true), (vec!["--set", adaptive, "--set", none], false), (vec![], false)]
    {
        assert_eq!(said(&stdout(&run_short(&changes))), says, "run {changes:?}");
        let shown = evenair(&[&["show", "chen10/a"], &changes[..]].concat());
        assert_eq!(said(&stdout(&shown)), says, "show {changes:?}");
    }
}

#[test]
fn help_teaches() {
    for command in [&["--help"][..], &["run", "--help"], &["study", "--help"], &["solve", "--help"]] {
        let output = evenair(command);
        assert!(output.status.success() && stdout(&output).lines().count() > 8, "{command:?}");
    }
    assert!(stdout(&evenair(&["run", "--help"])).contains("evenair run chen10/a --set preset=ns2"));
    for wrong in [
        ["run", "chen10/a", "--seeds", "-3"],
        ["solve", "chen10/a", "--alpha", "-1"],
        ["solve", "chen10/a", "--wanted", "-1,2"],
    ] {
        let text = stderr(&evenair(&wrong));
        assert!(
            text.contains("invalid value") && !text.contains("tip:"),
            "a wrong number is no option: {text}"
        );
    }
    let (version, commit) = (stdout(&evenair(&["--version"])), env!("EVENAIR_COMMIT"));
    assert!(version.starts_with(concat!("evenair ", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(version.contains(commit), "{version}");
}

#[test]
fn capture_is_a_pcap_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.pcap");
    let path = file.to_str().unwrap();
    let output = evenair(&[
        "run",
        "jam10/chain",
        "--set",
        "duration=2 s",
        "--set",
        "warmup=1 s",
        "--set",
        "mac.rts_threshold=500 bytes",
        "--pcap",
        path,
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let bytes = std::fs::read(&file).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(20)), (0xa1b2_3c4d, 127), "nanoseconds, 802.11 with radiotap");
    let (mut at, mut last) = (24, (0, 0));
    let (mut kinds, mut hops) = (BTreeSet::new(), BTreeSet::new());
    while at < bytes.len() {
        let time = (word(at), word(at + 4));
        assert!(time >= last, "captures are in the order of time");
        last = time;
        let (captured, length) = (word(at + 8) as usize, word(at + 12) as usize);
        assert!(captured <= length);
        kinds.insert(bytes[at + 16 + 15]);
        let frame = &bytes[at + 16..at + 16 + captured];
        // The protocol number of IPv4, and the first bytes of its header.
        let header = frame.windows(4).position(|window| window == [0x08, 0, 0x45, 0]);
        hops.extend(header.map(|start| frame[start + 2 + 8]));
        at += 16 + captured;
    }
    assert_eq!(at, bytes.len(), "no half record");
    assert_eq!(Vec::from_iter(kinds), [0x08, 0xb4, 0xc4, 0xd4], "DATA, RTS, CTS, ACK");
    assert_eq!(Vec::from_iter(hops), [62, 63, 64], "each router takes one");
    let ideal = evenair(&["run", "chen10/a-graph", "--set", "duration=1 s", "--pcap", path]);
    assert!(stderr(&ideal).contains("ideal CSMA has no frames"), "{}", stderr(&ideal));
}

#[test]
fn a_precision_asks_for_more_seeds() {
    let output = evenair(&[
        "run",
        "jam10/chain",
        "--set",
        "duration=10 s",
        "--set",
        "warmup=5 s",
        "--precision",
        "8%",
        "--json",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).lines().count() >= 3, "{}", stdout(&output).lines().count());
    assert!(stderr(&evenair(&["run", "cell", "--precision", "200%"])).contains("such as 2% or 0.02"));
    assert!(stderr(&evenair(&["study", "demo", "--shard", "3/2"])).contains("from 1/N to N/N"));
}

#[test]
fn a_study_keeps_all_that_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    for part in ["1/2", "2/2"] {
        let output = evenair(&["study", "jam10/fig-3-3b", "--quick", "--out", out, "--shard", part]);
        assert!(stdout(&output).contains("is done, 4 runs"), "{}", stdout(&output));
    }
    let output = evenair(&["study", "jam10/fig-3-3b", "--quick", "--out", out]);
    assert!(output.status.success(), "{}", stderr(&output));
    let study = folder.path().join("jam10/fig-3-3b");
    for file in [
        "report.html",
        "result.json",
        "table.csv",
        "study.toml",
        "manifest.json",
        "flows.csv",
        "links.csv",
        "claims.csv",
        "scenarios/ns2.toml",
    ] {
        assert!(study.join(file).exists(), "{file} is missing");
    }
}

#[test]
fn both_solvers_and_three_regions_agree() {
    let rates = |arguments: &[&str]| -> Vec<f64> {
        let document = json(&evenair(&[&["solve", "--json"], arguments].concat()));
        document["flows"].as_array().unwrap().iter().map(|f| f["rate_pps"].as_f64().unwrap()).collect()
    };
    let own = rates(&["chen10/a"]);
    for (a, b) in own.iter().zip(rates(&["chen10/a", "--solver", "clarabel"])) {
        assert!((a / b - 1.0).abs() < 1e-3, "{own:?}");
    }
    // Topology a is a perfect graph: cliques say as much as independent sets. Its collision domains are one each.
    let exact = rates(&["chen10/a", "--objective", "max-min"]);
    let cliques = rates(&["chen10/a", "--objective", "max-min", "--region", "cliques"]);
    for (a, b) in exact.iter().zip(cliques) {
        assert!((a / b - 1.0).abs() < 1e-6, "{exact:?}");
    }
    // [Jam10] Fig 7.3: R/5, R/10, R/10 of 83.3 packets/s
    let domains = rates(&["jam10/two-leaves", "--objective", "max-min", "--region", "collision-domains"]);
    for (a, b) in domains.iter().zip([16.667, 8.333, 8.333]) {
        assert!((a - b).abs() < 1e-3, "{domains:?}");
    }
    let refused = evenair(&["solve", "jam10/grid", "--objective", "max-min", "--solver", "clarabel"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn the_product_form_and_its_inverse() {
    // [Chen10] eq. (4.2): link 2 gets ρ/(2ρ² + 4ρ + 1) where all have the exponent log ρ.
    let rho = 2.24f64;
    let z = rho.ln().to_string();
    let all = [z.as_str(); 4].join(",");
    let document = json(&evenair(&["solve", "chen10/a", "--exponents", &all, "--json"]));
    let airtime = document["links"][1]["airtime"].as_f64().unwrap();
    assert!((airtime - rho / (2.0 * rho * rho + 4.0 * rho + 1.0)).abs() < 1e-12, "{airtime}");
    let document = json(&evenair(&["solve", "chen10/a", "--wanted", "250,130,150,150", "--json"]));
    let capacity =
        json(&evenair(&["solve", "chen10/a", "--json"]))["flows"][0]["capacity_pps"].as_f64().unwrap();
    for (link, rate) in document["links"].as_array().unwrap().iter().zip([250.0, 130.0, 150.0, 150.0]) {
        assert!((link["airtime"].as_f64().unwrap() * capacity - rate).abs() < 1e-6, "{document}");
    }
    let beyond = evenair(&["solve", "chen10/a", "--wanted", "400,200,150,150"]);
    assert_eq!(beyond.status.code(), Some(2));
    assert!(stderr(&beyond).contains("infeasible"), "{}", stderr(&beyond));
}

#[test]
fn the_fluid_model_rests_at_the_fixed_point() {
    let laws = ["--set", "backoff.law=adaptive", "--set", "connections.k=10"];
    let fluid = json(&evenair(&[&["fluid", "chen10/a", "--json"], &laws[..]].concat()));
    assert_eq!((&fluid["has_settled"], &fluid["rest"]["is_stable"]), (&true.into(), &true.into()));
    let point =
        json(&evenair(&[&["solve", "chen10/a", "--objective", "fixed-point", "--json"], &laws[..]].concat()));
    for (a, b) in fluid["flows"].as_array().unwrap().iter().zip(point["flows"].as_array().unwrap()) {
        let (a, b) = (a["rest_pps"].as_f64().unwrap(), b["rate_pps"].as_f64().unwrap());
        assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    assert!(evenair(&["fluid", "cz06/one", "--out", out]).status.success());
    let csv = std::fs::read_to_string(folder.path().join("trajectory.csv")).unwrap();
    assert!(csv.starts_with("time_s,x[1],n[1],rate_pps[1]\n0,"), "{}", &csv[..60]);
}

/// [QCSMA] Theorem 1 through the command line: the fluid model of QUIC-TCP rests where problem (2) has its maximum.
#[test]
fn quic_tcp_rests_at_the_optimum_of_problem_2() {
    let fluid = json(&evenair(&["fluid", "qcsma/mesh", "--json"]));
    let mut arguments = vec!["solve", "qcsma/mesh", "--objective", "proportional", "--beta", "1", "--json"];
    for set in
        ["flows.ftp0.weight=2.0", "flows.ftp1.weight=2.0", "flows.ftp2.weight=2.0", "flows.ftp3.weight=2.0"]
    {
        arguments.extend(["--set", set]);
    }
    let best = json(&evenair(&arguments));
    for (a, b) in fluid["flows"].as_array().unwrap().iter().zip(best["flows"].as_array().unwrap()) {
        let (a, b) = (a["rest_pps"].as_f64().unwrap(), b["rate_pps"].as_f64().unwrap());
        assert!((a / b - 1.0).abs() < 1e-4, "{a} {b}");
    }
}

#[test]
fn missing_fluid_model_names_cause() {
    let plain = evenair(&["fluid", "chen10/a"]);
    assert_eq!(plain.status.code(), Some(2));
    assert!(stderr(&plain).contains("[fluid] model"), "{}", stderr(&plain));
    let foreign = evenair(&["fluid", "cz06/one", "--set", "fluid.rho=0.5"]);
    assert!(stderr(&foreign).contains("fluid.rho"), "{}", stderr(&foreign));
    let start = evenair(&["fluid", "cz06/one", "--set", "fluid.start=[1.0]"]);
    assert!(stderr(&start).contains("the state is x[1], n[1]"), "{}", stderr(&start));
}

#[test]
fn compare_lays_the_worlds_side_by_side() {
    let laws = ["--set", "backoff.law=adaptive", "--set", "connections.k=10", "--set", "duration='20 s'"];
    let document = json(&evenair(&[&["compare", "chen10/a", "--seeds", "1", "--json"], &laws[..]].concat()));
    let stages = document["stages"].as_array().unwrap();
    let names: Vec<&str> = stages.iter().map(|s| s["stage"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "fair optimum",
            "fixed point of the laws",
            "fluid model at rest",
            "… less drops",
            "ideal CSMA, ACKs first",
            "ideal CSMA",
            "802.11",
        ]
    );
    let share = |stage: usize, flow: usize| stages[stage]["flows"][flow]["share"].as_f64().unwrap();
    assert!((share(1, 1) - share(2, 1)).abs() < 1e-6, "the law rests at its fixed point");
    assert!((0..7).all(|stage| (0..4).all(|flow| share(stage, flow) > 0.02)), "nobody starves");
}

/// The studies of the theory know no chance: each claim holds or something has changed.
#[test]
fn a_link_too_long_for_its_time_out_is_warned_of() {
    let radio = ["--set", "radio.transmission_range=20 km", "--set", "radio.carrier_sense_range=20 km"];
    for command in ["run", "show"] {
        let long = [&[command, "cell", "--set", "nodes.a.at=[9000, 0]"], &radio[..], &SHORT[..]].concat();
        let output = evenair(&long);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("warning: link ") && stderr(&output).contains("mac.coverage_class = 21")
        );
        let mended = evenair(&[&long[..], &["--set", "mac.ack_timeout=distance"]].concat());
        assert!(mended.status.success() && !stderr(&mended).contains("warning"), "{}", stderr(&mended));
    }
}

#[test]
fn theory_limits_are_errors_not_panics() {
    let late = ["fluid", "cz06/one", "--set", "flows.1.start=3 s", "--set", "fluid.duration=2 s"];
    let output = evenair(&late);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("no flow is active within fluid.duration"), "{}", stderr(&output));
    let unbounded = ["--set", "backoff.law=adaptive", "--set", "backoff.r_max=inf", "--seeds", "1"];
    let output = evenair(&[&["compare", "chen10/a"], &unbounded[..], &SHORT[..]].concat());
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
fn list_names_laws_papers_and_parameters() {
    let output = evenair(&["list", "laws", "connections"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    for words in ["rtt-proportional", "from  [Chen10] eq. (5.1)", "over 802.11, ideal CSMA, wires", "[1/s]"] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    let document = json(&evenair(&["list", "laws", "cubic", "--json"]));
    let cubic = &document["laws"][0]["laws"][0];
    assert_eq!(
        (cubic["name"].as_str(), document["laws"][0]["laws"].as_array().unwrap().len()),
        (Some("cubic"), 1)
    );
    assert!(cubic["source"].as_str().unwrap().contains("RFC 9438"), "{cubic}");
    let studies = stdout(&evenair(&["list", "studies", "chen10"]));
    assert!(studies.contains("chen10/table-6-5") && !studies.contains("jam10/"), "{studies}");
    assert!(stdout(&evenair(&["list", "scenarios"])).contains("chen10/d-graph"));
    let refused = evenair(&["list", "laws", "nobody"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("laws are dcf, edca, adaptive"), "{}", stderr(&refused));
}

/// Each of [Chen10]'s topologies exists twice: by positions, and by the conflict graph that the thesis's text tells.
#[test]
fn positions_and_graphs_are_of_one_network() {
    let conflicts = |id: &str| {
        let text = stdout(&evenair(&["show", id]));
        let (_, rest) = text.split_once("conflict graph: ").expect("every network has one");
        rest.split("\n\n").next().unwrap_or_default().trim_end().to_string()
    };
    for topology in ["a", "b", "c", "d", "e"] {
        let by_positions = conflicts(&format!("chen10/{topology}"));
        assert_eq!(by_positions, conflicts(&format!("chen10/{topology}-graph")), "{topology}");
        assert!(by_positions.lines().count() >= 5, "{topology}: {by_positions}");
    }
}

/// The allocation that `solve` writes is the one that it prints; a scenario with the same links reads its conflicts back.
#[test]
fn solve_writes_its_allocation_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a");
    let printed = json(&evenair(&["solve", "chen10/a-graph", "--json", "--out", out.to_str().unwrap()]));
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&read("result.json")).unwrap(), printed);
    let rows = |name: &str| read(name).lines().skip(1).map(String::from).collect::<Vec<_>>();
    for (row, flow) in rows("flows.csv").iter().zip(printed["flows"].as_array().unwrap()) {
        let rate: f64 = row.split(',').nth(3).unwrap().parse().unwrap();
        assert!((rate / flow["rate_pps"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{row}");
    }
    let shares: f64 =
        rows("sets.csv").iter().map(|row| row.split(',').nth(1).unwrap().parse::<f64>().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    assert_eq!(rows("conflicts.csv"), ["s1>r1,s2>r2", "s2>r2,s3>r3", "s2>r2,s4>r4", "s3>r3,s4>r4"]);
    let file = format!("conflicts={{file='{}'}}", out.join("conflicts.csv").display());
    let again = json(&evenair(&["solve", "chen10/a-graph", "--json", "--set", &file]));
    assert_eq!(again["flows"], printed["flows"]);
}

/// The objective is the scenario's own where it has one.
#[test]
fn solve_asks_for_the_scenarios_own_utilities() {
    let solve = |set: &[&str]| {
        let changes = set.iter().flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> = ["solve", "chen10/a", "--json"].into_iter().chain(changes).collect();
        json(&evenair(&arguments))
    };
    let (plain, own) = (solve(&[]), solve(&["utility.alpha=1", "flows.2.weight=3"]));
    assert!(plain["flows"][1]["alpha"] == 2.0 && own["flows"][1]["alpha"] == 1.0, "{}", own["flows"]);
    // Link 2 alone, or 1 with 3 or 4: w₂/x₂ = (1 + 1 + 1)/(1 − x₂) with all of weight one beside.
    assert!((own["links"][1]["load"].as_f64().unwrap() - 0.5).abs() < 1e-6, "{}", own["links"][1]);
    // No flow wants more than 100 packets a second, which all can have; and a table names its solver, and why.
    let table = "utility.points=[[0, 0], [100, 1]]";
    let few = solve(&[table]);
    assert!(few["flows"].as_array().unwrap().iter().all(|flow| flow["alpha"].is_null()), "{}", few["flows"]);
    let rate = |flow: &Value| flow["rate_pps"].as_f64().unwrap();
    assert!(
        few["flows"].as_array().unwrap().iter().all(|flow| (rate(flow) - 100.0).abs() < 1e-3),
        "{}",
        few["flows"]
    );
    assert!(
        stdout(&evenair(&["solve", "chen10/a", "--set", table]))
            .contains("Found by Clarabel: utilities that are tables")
    );
    let convex = stderr(&evenair(&["solve", "chen10/a", "--set", "flows.2.points=[[0, 0], [1, 1], [2, 3]]"]));
    assert!(convex.contains("flows[1].points: from 1 to 2 it rises by 2"), "{convex}");
}

#[test]
fn words_are_explained() {
    let all = stdout(&evenair(&["glossary"]));
    assert!(
        all.contains("receiver busy") && all.contains("[Jam10]") && all.contains("University of Waterloo"),
        "{all}"
    );
    let one = stdout(&evenair(&["glossary", "H-ACK"]));
    assert!(one.contains("highest aggressiveness") && one.lines().count() < 6, "{one}");
    assert_eq!(stdout(&evenair(&["help", "glossary"])), all);
    let document = json(&evenair(&["glossary", "by law", "--json"]));
    assert_eq!(document["words"][0]["word"], "dropped by law");
    assert!(stderr(&evenair(&["glossary", "nonsense-word"])).contains("does not have"));
}

#[test]
fn report_records_its_own_data() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.html");
    let output = run_short(&[&format!("--report={}", file.display()), "--seeds", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(&file).unwrap();
    for part in [
        "The network",
        "Which links must not send at once",
        "Where each sender's time goes",
        "A part of the air",
        "Queues over time",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("2 seeds") && page.contains("--report="), "it says what made it");
    let nowhere = run_short(&["--report=/nowhere/at/all.html"]);
    assert!(!nowhere.status.success() && stderr(&nowhere).contains("/nowhere/at"), "{}", stderr(&nowhere));
}
