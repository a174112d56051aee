//! Every command that README, CONTRIBUTING, the pages of docs/ and the helps show runs, with quick options, in a folder of its own.
//!
//! The commands print the text that the tutorial shows.
//!
//! A fenced block with a title is a file: ```` ```toml title="cafe.toml" ````. It is there before the page's commands run, which stand in
//! blocks of `sh` and between backticks.

use crate::{evenair, json, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of a text: lines of fenced blocks, and code between backticks. In a table an option alone belongs to the
/// command before it in its row, or else to `evenair run`.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, part) in text.split("```").enumerate() {
        // A block of commands begins with one; the picture of the worlds does not.
        let is_commands = ["\ncargo ", "\nevenair ", "sh\n"].iter().any(|first| part.starts_with(first));
        if number % 2 == 1 {
            if !is_commands {
                continue;
            }
            found.extend(
                part.lines()
                    .skip(1)
                    .map(|line| line.split(" # ").next().unwrap_or_default().trim().to_string()),
            );
            continue;
        }
        for line in part.lines() {
            let mut before = "evenair run …".to_string();
            for span in line.split('`').skip(1).step_by(2) {
                if span.starts_with("--") && line.starts_with('|') {
                    found.push(format!("{before} {span}"));
                } else {
                    found.push(span.to_string());
                    before = span.to_string();
                }
            }
        }
    }
    found.retain(|c| ["evenair ", "cargo "].iter().any(|program| c.starts_with(program)));
    found
}

/// Files of a page: blocks that have a title.
fn files(text: &str) -> Vec<(&str, &str)> {
    let block = |rest: &'_ str| -> Option<(usize, usize, usize)> {
        let (info, _) = rest.split_once('\n')?;
        let name = info.find("title=\"")? + "title=\"".len();
        Some((name, name + info[name..].find('"')?, info.len() + 1))
    };
    let parts = text.split("```").skip(1).step_by(2);
    parts.filter_map(|part| block(part).map(|(from, to, body)| (&part[from..to], &part[body..]))).collect()
}

/// All pages of the site.
fn pages() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![root().join("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Blocks of TOML that are whole scenarios.
fn scenarios(text: &str) -> Vec<&str> {
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains("flows = [")).collect()
}

/// The words of a command, as a shell would split them; the part behind `>` or `|` is the shell's.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in command.chars().chain([' ']) {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(c),
        }
    }
    words.into_iter().take_while(|word| word != ">" && word != "|").collect()
}

/// The arguments of a quick form: placeholders filled in, short runs, few seeds.
fn quick(command: &str) -> Vec<String> {
    let mut arguments =
        words(command.trim_start_matches("cargo run --release -- ").trim_start_matches("evenair "));
    let verb = arguments[0].clone();
    for word in &mut arguments {
        *word = match word.as_str() {
            "ID" if verb == "study" => "jam10/fig-3-3b".into(),
            "…" | "ID" => "chen10/a".into(),
            "2%" | "5%" => "50%".into(),
            "1/8" => "1/1000".into(),
            "20%" => "90%".into(),
            other => other.trim_start_matches("~/").into(),
        };
    }
    // Verdicts are kept of whole runs by a program from a commit: the tests of claims see to that.
    if let Some(place) = arguments.iter().position(|word| word == "--record") {
        arguments.drain(place..place + 2);
    }
    // The tests of claims look through all studies.
    if arguments.iter().any(|word| word == "--due") {
        arguments.iter_mut().filter(|word| *word == "--all").for_each(|word| *word = "jam10/fig-7-1".into());
    }
    let has = |word: &str| arguments.iter().any(|a| a == word);
    let more: &[&str] = match verb.as_str() {
        "run" if has("--timeline") => &[], // whose window is of the whole run
        "emulate" if has("--") => &[],
        "emulate" => &["--set", "duration=1 s", "--set", "warmup=0 s"],
        "run" | "compare" | "sweep" => &["--set", "duration=1 s", "--set", "warmup=1 s"],
        "study" if has("--export") || has("--quick") => &[],
        // Minutes each: the test checks that they begin.
        "study" if arguments.iter().any(|a| a.starts_with("gateway/") || a.starts_with("jam10/table-8")) => {
            &["--quick", "--shard", "1/1000"]
        }
        "study" if (has("--all") || arguments[1].ends_with('*')) && !has("--shard") => {
            &["--quick", "--shard", "1/1000"]
        }
        "study" if has("--decide") => &["--quick", "--seeds-max", "3"],
        "demo" if has("--quick") => &[],
        "study" | "demo" => &["--quick"],
        _ => &[],
    };
    arguments.extend(more.iter().map(ToString::to_string));
    arguments
}

/// Whether the machine meets the needs of a live command's example.
#[cfg(all(feature = "live", target_os = "linux"))]
fn can_run(arguments: &[String]) -> bool {
    let missing = crate::emulate::missing(arguments);
    if let Some(missing) = &missing {
        evenair_needs::skip_part(
            missing.need,
            format!("evenair {}: {}", arguments.join(" "), missing.details),
        );
    }
    missing.is_none()
}

#[cfg(not(all(feature = "live", target_os = "linux")))]
fn can_run(_: &[String]) -> bool {
    true
}

/// Runs quick forms of commands, in one folder and in their order. A build with live commands runs their examples, one without them all
/// others, so that each is run once.
fn run_all(commands: &[String], folder: &Path) {
    for command in commands {
        let arguments = quick(command);
        // A gateway wants devices, a law root's rights over the kernel or an access point, a relay's client a relay, and the playground a browser and a
        // build of its own: their own tests see to them.
        if ["backoff", "gateway", "cc", "multiconn", "play"].contains(&arguments[0].as_str()) {
            continue;
        }
        // Scripts at nodes want files that the page makes before them: keys, a server's file. Tests of the transport have
        // these.
        if arguments.iter().any(|word| word.contains("=sh ")) {
            continue;
        }
        let is_live = ["doctor", "emulate"].contains(&arguments[0].as_str())
            || arguments.iter().any(|word| word == "--live");
        if is_live != cfg!(feature = "live") || !can_run(&arguments) {
            continue;
        }
        let output = Command::new(env!("CARGO_BIN_EXE_evenair"))
            .args(&arguments)
            .current_dir(folder)
            .output()
            .expect("the command runs");
        assert!(output.status.success(), "{command}\n{arguments:?}\n{}", stderr(&output));
        assert!(
            !output.stdout.is_empty()
                || ["--shard", "--out", "--shell"].iter().any(|silent| command.contains(silent)),
            "{command}"
        );
    }
}

/// A page's text, and a folder with the files that it shows.
fn opened(page: &Path) -> (String, tempfile::TempDir) {
    let text = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, contents) in files(&text) {
        fs::write(folder.path().join(name), contents).unwrap();
    }
    (text, folder)
}

/// A test for each page of the site: its commands run.
macro_rules! pages {
    ($($name:ident $page:literal,)+) => {
        /// The pages that are tested.
        const PAGES: &[&str] = &[$($page,)+];

        mod page {
            $(#[test] fn $name() { super::every_command_runs($page); })+
        }
    };
}

pages! {
    citations "citations.md",
    concepts_connections "concepts/connections.md",
    concepts_emulator "concepts/emulator.md",
    concepts_errors "concepts/errors.md",
    concepts_gateway_laws "concepts/gateway-laws.md",
    concepts_gateway "concepts/gateway.md",
    concepts_rate_control "concepts/rate-control.md",
    concepts_wifi_of_today "concepts/wifi-of-today.md",
    dependencies "dependencies.md",
    how_to_backoff "how-to/backoff.md",
    how_to_cc "how-to/cc.md",
    how_to_cluster "how-to/cluster.md",
    how_to_conflict_graph "how-to/conflict-graph.md",
    how_to_emulate "how-to/emulate.md",
    how_to_gateway "how-to/gateway.md",
    how_to_install "how-to/install.md",
    how_to_laws "how-to/laws.md",
    how_to_mesh "how-to/mesh.md",
    how_to_mobility "how-to/mobility.md",
    how_to_multiconn "how-to/multiconn.md",
    how_to_ns "how-to/ns.md",
    how_to_play "how-to/play.md",
    how_to_study "how-to/study.md",
    how_to_utility "how-to/utility.md",
    how_to_wireshark "how-to/wireshark.md",
    index "index.md",
    json "json.md",
    notes_channel_access "notes/channel-access.md",
    notes_claims_chen10 "notes/claims-chen10.md",
    notes_claims_count "notes/claims-count.md",
    notes_claims_jam10 "notes/claims-jam10.md",
    notes_clocks_chen10 "notes/clocks-chen10.md",
    notes_delay_price "notes/delay-price.md",
    notes_emulator "notes/emulator.md",
    notes_gateway_kernel "notes/gateway-kernel.md",
    notes_gateway_laws "notes/gateway-laws.md",
    notes_gateway_simulated "notes/gateway-simulated.md",
    notes_kernel_laws "notes/kernel-laws.md",
    notes_limit_cycle "notes/limit-cycle.md",
    notes_ns_2 "notes/ns-2.md",
    notes_ns_3 "notes/ns-3.md",
    notes_papers_chen10 "notes/papers-chen10.md",
    notes_papers_cz06 "notes/papers-cz06.md",
    notes_papers_jam10 "notes/papers-jam10.md",
    notes_papers_lee12 "notes/papers-lee12.md",
    notes_papers_qcsma "notes/papers-qcsma.md",
    notes_performance "notes/performance.md",
    notes_readings_chen10 "notes/readings-chen10.md",
    notes_single_cell "notes/single-cell.md",
    notes_tcp "notes/tcp.md",
    notes_theory "notes/theory.md",
    notes_transport "notes/transport.md",
    notes_variants_chen10 "notes/variants-chen10.md",
    notes_vegas_fast_bbr "notes/vegas-fast-bbr.md",
    notes_wifi_today "notes/wifi-today.md",
    papers_chen10 "papers/chen10.md",
    papers_cz06 "papers/cz06.md",
    papers_index "papers/index.md",
    papers_jam10 "papers/jam10.md",
    papers_lee12 "papers/lee12.md",
    papers_qcsma "papers/qcsma.md",
    performance "performance.md",
    reference_backoff "reference/backoff.md",
    reference_commands "reference/commands.md",
    reference_gateway "reference/gateway.md",
    reference_glossary "reference/glossary.md",
    reference_laws "reference/laws.md",
    reference_metrics "reference/metrics.md",
    reference_multiconn "reference/multiconn.md",
    reference_python "reference/python.md",
    reference_results "reference/results.md",
    reference_scenario "reference/scenario.md",
    reference_study "reference/study.md",
    security "security.md",
    tutorial_figure "tutorial/figure.md",
    tutorial_hidden "tutorial/hidden.md",
    tutorial_house "tutorial/house.md",
    tutorial_law "tutorial/law.md",
    tutorial_network "tutorial/network.md",
    validation "validation.md",
}

fn every_command_runs(page: &str) {
    let (text, folder) = opened(&root().join("docs").join(page));
    let whole: Vec<String> = commands(&text).into_iter().filter(|command| is_whole(command)).collect();
    run_all(&whole, folder.path());
}

#[test]
fn every_page_has_its_test() {
    let found = pages();
    let names = found.iter().map(|page| page.strip_prefix(root().join("docs")).unwrap().to_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), PAGES);
    let count = |page: &PathBuf| {
        let text = fs::read_to_string(page).unwrap();
        commands(&text).iter().filter(|command| is_whole(command)).count()
    };
    let count: usize = found.iter().map(count).sum();
    assert!(count > 40, "{count} commands");
}

/// Where blocks of `text` follow commands, each of their lines is one that the last of them prints, as it stands and not in a
/// quick form, or its beginning; how far columns are apart does not matter.
#[test]
fn site_shows_printed_output() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let (text, folder) = opened(&page);
        let fences = text.split("```").skip(1).step_by(2).filter_map(|fence| fence.split_once('\n'));
        let (mut command, mut printed) = ("", None);
        for (kind, block) in fences {
            match kind {
                "sh" => (command, printed) = (block.lines().last().expect("a block has a command"), None),
                "text" if !command.is_empty() => {
                    let printed = printed.get_or_insert_with(|| printed_by(command, folder.path()));
                    let is_printed = |line: &str| printed.iter().any(|one| one.starts_with(&spaced(line)));
                    let missing = block.lines().filter(|line| !is_printed(line));
                    wrong.extend(missing.map(|line| format!("{}: `{command}`: {line}", page.display())));
                    count += 1;
                }
                _ => command = "",
            }
        }
    }
    assert!(wrong.is_empty(), "not printed:\n{}", wrong.join("\n"));
    assert!(count > 6, "{count} blocks");
}

/// A line with single spaces.
fn spaced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines that a command prints in a folder.
fn printed_by(command: &str, folder: &Path) -> Vec<String> {
    let mut evenair = Command::new(env!("CARGO_BIN_EXE_evenair"));
    evenair.args(words(command.trim_start_matches("evenair "))).current_dir(folder).env("COLUMNS", "200");
    stdout(&evenair.output().expect("the command runs")).lines().map(spaced).collect()
}

/// Whether it can be run as it stands: a sentence may name a command without its scenario, or a family of commands.
fn is_whole(command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    let is_family = words
        .iter()
        .any(|word| ["…", "COMMAND", "DIR", "ID", "WORD"].contains(word) || word.starts_with('…'));
    let verbs = ["emulate", "run", "solve", "fluid", "compare", "study", "show", "sweep"];
    let has_object = words.get(2).is_some_and(|word| !word.starts_with('-')) || !verbs.contains(&words[1]);
    words[0] == "evenair" && words.len() > 1 && has_object && !is_family
}

/// The commands that a help shows: its lines that begin so.
fn examples(help: &str) -> Vec<String> {
    help.lines().map(str::trim).filter(|line| line.starts_with("evenair ")).map(String::from).collect()
}

const MAP: &str = r#"{"type": "FeatureCollection", "features": [
    {"type": "Feature", "properties": {"id": "a"}, "geometry": {"type": "Point", "coordinates": [10, 45]}},
    {"type": "Feature", "properties": {"id": "b"}, "geometry": {"type": "Point", "coordinates": [10.001, 45]}}
]}"#;
const GRAPH: &str = r#"<graphml><key id="x" for="node" attr.name="x"/><key id="y" for="node" attr.name="y"/><graph>
    <node id="a"><data key="x">0</data><data key="y">0</data></node>
    <node id="b"><data key="x">90</data><data key="y">0</data></node>
</graph></graphml>"#;

#[test]
fn every_example_of_the_helps_runs() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = evenair_study::builtin_scenario("chen10/a").unwrap();
    fs::write(folder.path().join("my.toml"), scenario).unwrap();
    fs::write(folder.path().join("nodes.csv"), "id,x,y\na,0,0\nb,90,0\n").unwrap();
    fs::write(folder.path().join("flows.csv"), "from,to\na,b\n").unwrap();
    fs::write(folder.path().join("map.geojson"), MAP).unwrap();
    fs::write(folder.path().join("topology.graphml"), GRAPH).unwrap();
    // The part behind "Commands:", up to the empty line: a command a line, some of which go on in the next.
    let help = stdout(&evenair(&["--help"]));
    let (_, list) = help.split_once("Commands:\n").expect("there are commands");
    let list = list.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = list
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(names.len() > 10 && names.contains(&"completions"), "{help}");
    let mut all = Vec::new();
    for name in names {
        let mut help = Command::new(env!("CARGO_BIN_EXE_evenair"));
        let help = help.args([name, "--help"]).env("COLUMNS", "1000").output().unwrap(); // no line is folded
        all.extend(examples(&stdout(&help)));
    }
    assert!(all.len() > 25, "{all:?}");
    run_all(&all, folder.path());
}

#[test]
fn every_command_of_the_documents_runs() {
    let folder = scenario_of_the_readme();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let contributing = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let all: Vec<String> = [readme.as_str(), &contributing].into_iter().flat_map(commands).collect();
    let (ours, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|c| c.starts_with("evenair ") || c.starts_with("cargo run --release -- "));
    assert!(ours.len() > 10, "{ours:?}");
    run_all(&ours, folder.path());
    // A command that cannot run inside a test names at least existing files; `cargo xtask tidy` knows its own parts.
    for command in others {
        let words = words(&command);
        for pair in words.windows(2) {
            let folder = match pair[0].as_str() {
                "--path" => root().join(&pair[1]),
                "-p" => root().join("crates").join(pair[1].trim_start_matches("evenair-")),
                _ => continue,
            };
            assert!(folder.join("Cargo.toml").exists(), "{command}");
        }
    }
}

/// The scenario that README shows, in a folder of its own.
fn scenario_of_the_readme() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let [scenario] = scenarios(&readme)[..] else { panic!("README shows a scenario") };
    fs::write(folder.path().join("two.toml"), scenario).unwrap();
    folder
}

/// As it stands there: a release build once sent nothing of its transfer, by a fault of the compiler (xtask/src/compiler.rs).
#[test]
fn the_transfer_of_the_readme_completes() {
    let folder = scenario_of_the_readme();
    let path = folder.path().join("two.toml");
    let changes = ["--set", "warmup=0 s", "--set", "flows.right.transfer=5 MB"];
    let run = json(&evenair(&[&["run", path.to_str().unwrap(), "--json"], &changes[..]].concat()));
    let right = &run["flows"][1];
    assert_eq!((&right["flow"], &right["transfers"]["completed"]), (&"right".into(), &1.into()), "{right}");
    // 5 MB in packets of 1000 bytes, each of which arrived in order.
    let packets = right["goodput_pps"].as_f64().unwrap() * 60.0;
    assert!((packets - 5000.0).abs() < 0.5, "{packets} packets");
}

#[test]
fn commands_are_found_in_blocks_spans_and_tables() {
    let text = "see `evenair run a` and `x`\n| b | `--set 'x=1 s'` · `evenair solve c` · `--json` |\n```\ncargo run -- d  # e\n```\n";
    let found = commands(text);
    assert_eq!(
        found,
        [
            "evenair run a",
            "evenair run … --set 'x=1 s'",
            "evenair solve c",
            "evenair solve c --json",
            "cargo run -- d"
        ]
    );
    assert_eq!(words("a --set 'x=1 s' > file"), ["a", "--set", "x=1 s"]);
}
