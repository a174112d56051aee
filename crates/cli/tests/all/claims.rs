//! Quick forms of packet studies, claim by claim, against the verdicts recorded in `validation/quick-claims.txt`; and the page of
//! the verdicts of full runs, which `evenair study --record` keeps in `validation/verdicts/`.
//!
//! A quick run has two seeds or so, and its verdicts prove nothing of the papers. But they follow from scenario and seed to
//! the last bit, so that each stays what it is until results, claims or their judgement change.
//! `EVENAIR_BLESS=1 cargo test -p evenair-cli claims` writes the table anew.

use crate::{evenair, json, stderr};
use evenair_study::verdicts::{self, Record};
use evenair_study::{Study, study_ids};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Every packet study of a second or less, built with optimisation. Those of the theory run in full in `command.rs`.
const IDS: [&str; 23] = [
    "chen10/fig-4-3",
    "chen10/fig-6-3",
    "chen10/fig-6-5",
    "chen10/fig-6-6",
    "chen10/fig-6-7",
    "chen10/fig-6-8",
    "chen10/fig-6-11",
    "chen10/fig-6-14",
    "chen10/table-6-5",
    "cz06/table-1",
    "jam10/fig-3-2",
    "jam10/fig-3-3a",
    "jam10/fig-3-3b",
    "jam10/fig-3-4",
    "jam10/fig-3-5",
    "jam10/fig-3-6",
    "jam10/fig-5-1",
    "jam10/fig-6-4",
    "jam10/fig-8-2",
    "jam10/fig-8-4",
    "jam10/table-8-3",
    "lee12/fig-3b",
    "lee12/fig-3c",
];

#[test]
fn each_quick_claim_gets_the_verdict_it_got() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let mut table = String::new();
    for id in IDS {
        let document = json(&evenair(&["study", id, "--quick", "--json", "--out", out]));
        let claims = document["claims"].as_array().expect("a list");
        assert!(!claims.is_empty(), "{id}");
        for claim in claims {
            let (text, verdict) = (claim["claim"].as_str().unwrap(), claim["verdict"].as_str().unwrap());
            writeln!(table, "{id}: {verdict}: {text}").unwrap();
        }
    }
    let path = root().join("validation/quick-claims.txt");
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let kept = std::fs::read_to_string(&path).expect("the table is part of the repository");
    let only = |ours: &str, theirs: &str| -> Vec<String> {
        ours.lines().filter(|line| !theirs.lines().any(|other| other == *line)).map(Into::into).collect()
    };
    let (lost, found) = (only(&kept, &table), only(&table, &kept));
    assert!(lost.is_empty() && found.is_empty(), "verdicts have changed from\n{lost:#?}\nto\n{found:#?}");
    assert_eq!(table.lines().count(), kept.lines().count());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `EVENAIR_BLESS=1 cargo test -p evenair-cli verdicts` writes the page anew.
#[test]
fn the_page_of_verdicts_is_what_was_recorded() {
    let studies: Vec<Study> = study_ids().map(|id| Study::builtin(id).unwrap()).collect();
    let record = |study: &Study| {
        let text =
            std::fs::read_to_string(root().join(format!("validation/verdicts/{}.json", study.id))).ok()?;
        let record: Record = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", study.id));
        assert_eq!(record.study, study.id);
        Some((study.id.clone(), record))
    };
    let records: BTreeMap<String, Record> = studies.iter().filter_map(record).collect();
    let page = verdicts::page(&studies, &records);
    let path = root().join("docs/papers/verdicts.md");
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == page,
        "EVENAIR_BLESS=1 cargo test -p evenair-cli verdicts writes docs/papers/verdicts.md anew"
    );
}

#[test]
fn verdicts_are_kept_of_whole_studies_and_of_programs_that_a_commit_names() {
    let folder = tempfile::tempdir().unwrap();
    let (out, records) = (folder.path().join("out"), folder.path().join("records"));
    let [out, records] = [&out, &records].map(|path| path.to_str().unwrap());
    let command = ["study", "jam10/fig-7-1", "--out", out, "--record", records];
    let changed = evenair(&[&command[..], &["--set", "seed=2"]].concat());
    assert!(stderr(&changed).contains("cannot be used with"), "{}", stderr(&changed));
    let output = evenair(&command);
    let version = String::from_utf8(evenair(&["--version"]).stdout).unwrap();
    if !version.contains('(') || version.contains("dirty") {
        assert!(stderr(&output).contains("--record names the commit"), "{}", stderr(&output));
        return;
    }
    let text = std::fs::read_to_string(Path::new(records).join("jam10/fig-7-1.json")).expect("it was kept");
    let record: Record = serde_json::from_str(&text).unwrap();
    assert_eq!((record.command.as_str(), record.claims.len()), ("evenair study jam10/fig-7-1", 3));
    assert_eq!(record.to_json(), text);
}
