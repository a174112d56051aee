//! End to end: standard input, colours, quiet, the width of tables, completions, manual pages, options without effect.

use crate::{evenair, json, stderr, stdout};
use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const SHORT: [&str; 4] = ["--set", "duration=2 s", "--set", "warmup=1 s"];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenair"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command
}

fn with_input(arguments: &[&str], text: &[u8]) -> Output {
    let mut command = command(arguments);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_scenario_may_come_in_by_standard_input() {
    let text = evenair_study::builtin_scenario("chen10/a").unwrap().as_bytes();
    let run = json(&with_input(&[&["run", "-", "--json"], &SHORT[..]].concat(), text));
    let file = json(&evenair(&[&["run", "chen10/a", "--json"], &SHORT[..]].concat()));
    assert_eq!((&run["fingerprint"], run["scenario"].as_str()), (&file["fingerprint"], Some("<stdin>")));
    for verb in ["show", "solve"] {
        let (piped, named) = (with_input(&[verb, "-"], text), evenair(&[verb, "chen10/a"]));
        assert_eq!(stdout(&piped), stdout(&named), "{verb}: {}", stderr(&piped));
    }
    let broken = with_input(&["show", "-"], b"[mac]\ndata_rat = \"11 Mbps\"\n");
    assert!(stderr(&broken).contains("<stdin>:2:1: unknown field `data_rat`"), "{}", stderr(&broken));
    let binary = with_input(&["show", "-"], &[0xff, 0xfe]);
    assert!(stderr(&binary).contains("<stdin>"), "{}", stderr(&binary));
    assert_eq!((broken.status.code(), binary.status.code()), (Some(2), Some(2)));
}

#[test]
fn colours_need_terminal_or_option() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let study = |more: &[&str], variable: Option<(&str, &str)>| {
        let mut command = command(&[&["study", "jam10/fig-7-1", "--quick", "--out", out], more].concat());
        stdout(&command.envs(variable).output().unwrap())
    };
    let green = "\u{1b}[32mholds    \u{1b}[0m  ";
    assert!(!study(&[], None).contains('\u{1b}'), "a pipe is no terminal");
    assert!(study(&["--color", "always"], None).contains(green));
    assert!(study(&[], Some(("CLICOLOR_FORCE", "1"))).contains(green));
    assert!(!study(&["--color=never"], Some(("CLICOLOR_FORCE", "1"))).contains('\u{1b}'));
    assert!(!study(&[], Some(("NO_COLOR", "1"))).contains('\u{1b}'));
    let wrong = command(&["--color", "always", "show", "no/such"]).output().unwrap();
    assert!(stderr(&wrong).starts_with("\u{1b}[1m\u{1b}[31mevenair:\u{1b}[0m "), "{}", stderr(&wrong));
}

#[test]
fn quiet_says_results_and_errors_only() {
    let long = ["--set", "radio.transmission_range=20 km", "--set", "radio.carrier_sense_range=20 km"];
    let show = [&["show", "cell", "--set", "nodes.a.at=[9000, 0]"], &long[..]].concat();
    assert!(stderr(&evenair(&show)).starts_with("warning: link "), "{}", stderr(&evenair(&show)));
    for quiet in [[&["--quiet"], &show[..]].concat(), [&show[..], &["-q"]].concat()] {
        let output = evenair(&quiet);
        assert_eq!(stderr(&output), "");
        assert_eq!(stdout(&output), stdout(&evenair(&show)));
    }
    assert!(stderr(&evenair(&["-q", "show", "no/such"])).contains("there is no such file"));
}

#[test]
fn tables_fit_the_terminal_and_lose_nothing() {
    let arguments = [&["run", "jam10/grid"], &SHORT[..]].concat();
    let table = |columns: &str| {
        let output = command(&arguments).env("COLUMNS", columns).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let (narrow, wide) = (table("60"), table("200"));
    let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest(&narrow) <= 60 && widest(&wide) > 100, "{narrow}");
    let mut words: Vec<&str> = wide.split_whitespace().collect();
    let found: Vec<&str> = narrow.split_whitespace().collect();
    words.retain(|word| !found.contains(word));
    assert!(words.is_empty(), "{words:?} are missing in\n{narrow}");
    let piped = stdout(&command(&arguments).output().unwrap());
    assert_eq!(piped, table("100"), "a pipe is a hundred wide");
}

#[test]
fn shells_complete_options_and_ids() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&evenair(&["completions", shell]));
        assert!(script.contains("COMPLETE") && script.contains("evenair"), "{shell}: {script}");
    }
    let complete = |words: &[&str]| {
        let mut command = command(&[&["--", "evenair"], words].concat());
        let last = words.len().to_string();
        command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", last).env("_CLAP_IFS", "\n");
        let output = command.env("_CLAP_COMPLETE_COMP_TYPE", "9").output().unwrap();
        stdout(&output).lines().map(String::from).collect::<Vec<_>>()
    };
    assert!(complete(&["run", "chen10/a"]).contains(&"chen10/a-graph".to_string()));
    assert!(complete(&["study", "jam10/fig-8"]).contains(&"jam10/fig-8-2".to_string()));
    assert_eq!(complete(&["run", "--prec"]), ["--precision"]);
    assert!(complete(&["comp"]).contains(&"compare".to_string()));
    assert_eq!(evenair(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let page = stdout(&evenair(&["man"]));
    assert!(page.contains(".TH evenair 1") && page.contains("evenair\\-study(1)"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("man1");
    let told = stdout(&evenair(&["man", place.to_str().unwrap()]));
    let pages: Vec<_> = std::fs::read_dir(&place).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(told.starts_with(&format!("{} pages in ", pages.len())), "{told}: {pages:?}");
    let run = std::fs::read_to_string(place.join("evenair-run.1")).unwrap();
    assert!(run.contains("evenair run chen10/a") && run.contains("\\-\\-precision"), "{run}");
}

/// Every command crossed with its options: an option without an effect is refused, with its remedy.
#[test]
fn options_without_effect_are_refused() {
    let refused: [(&str, &str); 38] = [
        ("run chen10/a --series", "--series has no effect: give --json or --out DIR with it"),
        ("run chen10/a --json --series --every 9000s", "--every is longer than the run"),
        ("run chen10/a --timeline 1s..2s", "--timeline has no effect: give --json or --out DIR"),
        ("run chen10/a --json --timeline 90000s..90001s", "--timeline begins after the run ends"),
        ("run chen10/a --precision 2% --seeds 1000", "--precision has no effect: it goes on to 1000 seeds"),
        ("run chen10/a --force", "--force has no effect: give --out DIR"),
        ("run chen10/a-graph --pcap a.pcap", "--pcap has nothing to write"),
        ("fluid cz06/one --force", "--force has no effect: give --out DIR"),
        ("solve chen10/a --alpha 3", "--alpha has no effect: give --objective alpha-fair"),
        ("solve chen10/a --objective max-min --alpha 3", "--alpha has no effect"),
        ("solve chen10/a --objective max-min --solver clarabel", "Clarabel has no part in it"),
        ("solve chen10/a --objective max-min --beta 1", "an entropy is one of independent sets"),
        ("solve chen10/a --region cliques --beta 1", "an entropy is one of independent sets"),
        ("solve chen10/a --exponents 1,1,1,1 --objective fair", "cannot be used with"),
        ("solve chen10/a --exponents 1,1,1,1 --alpha 3", "cannot be used with"),
        ("solve chen10/a --exponents 1,1,1,1 --region cliques", "cannot be used with"),
        ("solve chen10/a --exponents 1,1,1,1 --solver clarabel", "cannot be used with"),
        ("solve chen10/a --exponents 1,1,1,1 --beta 1", "cannot be used with"),
        ("solve chen10/a --exponents 1,1,1,1 --wanted 1,1,1,1", "cannot be used with"),
        ("solve chen10/a --wanted 1,1,1,1 --objective fair", "cannot be used with"),
        ("solve chen10/a --wanted 1,1,1,1 --region cliques", "cannot be used with"),
        ("study chen10/fig-4-2 --seeds-max 9", "--seeds-max has no effect"),
        ("study chen10/fig-4-2 --shard 1/2 --decide", "cannot be used with"),
        ("study chen10/fig-4-2 --shard 1/2 --precision 2%", "cannot be used with"),
        ("study chen10/fig-4-2 --shard 1/2 --seeds-max 9", "cannot be used with"),
        ("study chen10/fig-4-2 --shard 1/2 --json", "cannot be used with"),
        ("study chen10/fig-4-2 --export mine --quick", "cannot be used with"),
        ("study chen10/fig-4-2 --export mine --out results", "cannot be used with"),
        ("study chen10/fig-4-2 --export mine --seeds 3", "cannot be used with"),
        ("study chen10/fig-4-2 --all", "cannot be used with"),
        ("study --check", "name the studies, or give --all"),
        ("study --out results", "name the studies, or give --all"),
        ("solve chen10/a --exponents 1,1,1,1 --out results", "cannot be used with"),
        ("plot nowhere --list --scale 3", "cannot be used with"),
        ("study --quick", "name the studies, or give --all"),
        ("study --set duration=1s", "name the studies, or give --all"),
        ("show chen10/a --seeds 2", "unexpected argument"),
        ("demo --seeds 2", "unexpected argument"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (line, words) in refused {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = command(&arguments).current_dir(folder.path()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}: {}", stdout(&output));
        assert!(stderr(&output).contains(words), "{line}: {}", stderr(&output));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "and nothing is written");
    let beyond = evenair(&[&["run", "chen10/a", "--json", "--timeline", "1s..9s"], &SHORT[..]].concat());
    assert!(beyond.status.success());
    assert!(stderr(&beyond).contains("--timeline goes on beyond the end of the run, at 3 s"));
}

#[test]
fn seeds_have_means_with_intervals_and_rows() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("result");
    let arguments = [&["run", "chen10/a", "--seeds", "3", "--out", out.to_str().unwrap()], &SHORT[..]];
    let text = stdout(&evenair(&arguments.concat()));
    assert!(text.contains("means over 3 seeds with their 95 % intervals"), "{text}");
    let (_, table) = text.split_once("seed by seed\n").expect("there is a table over seeds");
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    let first: Vec<&str> = lines.iter().map(|line| line[0]).collect();
    assert_eq!(first, ["seed", "1", "2", "3", "mean"]);
    let read = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    let result: Value = serde_json::from_str(&read("result.json")).unwrap();
    let totals: Vec<f64> =
        result["seeds"].as_array().unwrap().iter().map(|s| s["goodput_pps"].as_f64().unwrap()).collect();
    let mean = totals.iter().sum::<f64>() / 3.0;
    assert!((result["goodput_pps"]["mean"].as_f64().unwrap() - mean).abs() < 1e-9);
    // Student's t with two degrees of freedom: 4.303.
    let variance = totals.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 2.0;
    let half = 4.303 * (variance / 3.0).sqrt();
    let found = result["goodput_pps"]["half_width_95"].as_f64().unwrap();
    assert!((found / half - 1.0).abs() < 1e-3 && half > 0.0, "{found} {half}");
    let csv = read("seeds.csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0],
        ["variant", "x", "seed", "goodput_pps", "goodput_bps", "jain", "measured_s", "fingerprint"]
    );
    let csv: Vec<f64> = rows[1..].iter().map(|row| row[3].parse().unwrap()).collect();
    assert_eq!(csv, totals);
}
