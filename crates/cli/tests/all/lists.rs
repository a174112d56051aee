//! End to end: lists of scenarios, studies and laws.

use crate::{evenair, json, stderr, stdout};

#[test]
fn list_alone_names_lists() {
    let text = stdout(&evenair(&["list"]));
    for words in ["evenair list laws", "evenair list metrics", "evenair study ID", "evenair show ID"] {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    let counts = json(&evenair(&["list", "--json"]));
    let studies = json(&evenair(&["list", "studies", "--json"]));
    assert_eq!(
        counts["counts"]["studies"].as_u64(),
        studies["studies"].as_array().map(|all| all.len() as u64)
    );
}

#[test]
fn studies_are_listed_by_paper_and_by_pattern() {
    let text = stdout(&evenair(&["list", "studies", "jam10/fig-8-*", "cz06/fig-1"]));
    let (chen, jam) = (text.find("[CZ06] Minghua Chen"), text.find("[Jam10] Kamran Jamshaid: Centralized"));
    assert!(jam < chen && jam.is_some(), "{text}");
    // How far apart the columns are is the longest name's affair.
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("jam10/fig-8-2 How near PFRC at the gateway") && !words.contains("jam10/fig-7"),
        "{text}"
    );
    let rows = json(&evenair(&["list", "scenarios", "chen10", "--json"]))["scenarios"].clone();
    assert!(rows.as_array().unwrap().iter().all(|row| row["paper"] == "Chen10"), "{rows}");
    let refused = evenair(&["list", "studies", "jam11*"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    assert!(stderr(&refused).contains("no study is called \"jam11*\""), "{}", stderr(&refused));
}

#[test]
fn words_are_looked_for_in_descriptions() {
    let ids = |kind: &str, word: &str| -> Vec<String> {
        let list = json(&evenair(&["list", kind, word, "--json"]))[kind].clone();
        let key = if kind == "metrics" { "metric" } else { "id" };
        list.as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_string()).collect()
    };
    assert!(ids("scenarios", "hidden").contains(&"jam10/information-asymmetry".into()));
    assert!(ids("studies", "Hidden").contains(&"jam10/fig-3-4".into()));
    assert_eq!(ids("metrics", "collision"), ["frame-collisions"]);
    assert!(ids("metrics", "time-out").contains(&"timeouts".into()));
    // A part of an id is not looked for in texts: other papers' scenarios name [Chen10], too.
    assert!(ids("scenarios", "chen10").iter().all(|id| id.starts_with("chen10/")));
    let laws = stdout(&evenair(&["list", "laws", "model of the path"]));
    assert!(laws.contains("  bbr\n") && !laws.contains("  cubic\n"), "{laws}");
    let nothing = evenair(&["list", "scenarios", "submarine"]);
    assert!(stderr(&nothing).contains("no scenario is called \"submarine\""), "{}", stderr(&nothing));
}

#[test]
fn faulty_file_is_shown_as_faulty_beside_others() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let study = evenair_study::study_text("jam10/fig-8-2").unwrap();
    let (good, bad) = (write("good.toml", study), write("bad.toml", &study.replace("title", "titel")));
    let output = evenair(&["list", "studies", &good, &bad]);
    let text = stdout(&output);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("How near PFRC at the gateway") && text.contains("FAULTY: "), "{text}");
    let rows = json(&evenair(&["list", "studies", &good, &bad, "--json"]))["studies"].clone();
    assert!(rows[1]["error"].as_str().unwrap().contains("unknown field `titel`"), "{rows}");
    let scenario = write("scenario.toml", "seed = \"one\"\n");
    assert!(stdout(&evenair(&["list", "scenarios", &scenario])).contains("FAULTY: "));
}

#[test]
fn metrics_have_units_and_meanings() {
    let text = stdout(&evenair(&["list", "metrics"]));
    let goodput = text.lines().find(|line| line.starts_with("  goodput ")).unwrap();
    assert!(goodput.contains("packets/s") && goodput.contains("total"), "{goodput}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let rows = json(&evenair(&["list", "metrics", "jain*", "--json"]))["metrics"].clone();
    assert!(rows.as_array().unwrap().len() >= 2 && rows[0]["of_flows"] == false, "{rows}");
    assert!(stderr(&evenair(&["list", "metrics", "gooodput"])).contains("no metric is called"));
}
