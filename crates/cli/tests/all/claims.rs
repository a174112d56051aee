//! Quick forms of packet studies, claim by claim, against the verdicts recorded in `validation/quick-claims/`; studies of the theory
//! in full; and the page of the verdicts of full runs, which `evenair study --record` keeps in `validation/verdicts/`.
//!
//! A quick run has two seeds or so, and its verdicts prove nothing of the papers. But they follow from scenario and seed to
//! the last bit, so that each stays what it is until results, claims or their judgement change.
//! `EVENAIR_BLESS=1 cargo test -p evenair-cli claims` writes these records.

use crate::{evenair, json, stderr};
use evenair_study::verdicts::{self, Record, digests};
use evenair_study::{Study, study_ids};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A test for each study.
macro_rules! studies {
    ($check:ident: $($name:ident $id:literal,)+) => {
        $(#[test]
        fn $name() {
            $check($id);
        })+
    };
}

/// Every packet study of a second or less, built with optimisation.
mod quick {
    use super::gets_the_verdicts_it_got;
    studies! { gets_the_verdicts_it_got:
        chen10_fig_4_3 "chen10/fig-4-3",
        chen10_fig_6_3 "chen10/fig-6-3",
        chen10_fig_6_5 "chen10/fig-6-5",
        chen10_fig_6_6 "chen10/fig-6-6",
        chen10_fig_6_7 "chen10/fig-6-7",
        chen10_fig_6_8 "chen10/fig-6-8",
        chen10_fig_6_11 "chen10/fig-6-11",
        chen10_fig_6_14 "chen10/fig-6-14",
        chen10_table_6_5 "chen10/table-6-5",
        cz06_table_1 "cz06/table-1",
        jam10_fig_3_2 "jam10/fig-3-2",
        jam10_fig_3_3a "jam10/fig-3-3a",
        jam10_fig_3_3b "jam10/fig-3-3b",
        jam10_fig_3_4 "jam10/fig-3-4",
        jam10_fig_3_5 "jam10/fig-3-5",
        jam10_fig_3_6 "jam10/fig-3-6",
        jam10_fig_5_1 "jam10/fig-5-1",
        jam10_fig_6_4 "jam10/fig-6-4",
        jam10_fig_8_2 "jam10/fig-8-2",
        jam10_fig_8_4 "jam10/fig-8-4",
        jam10_table_8_3 "jam10/table-8-3",
        lee12_fig_3b "lee12/fig-3b",
        lee12_fig_3c "lee12/fig-3c",
    }

    /// A study that is no longer tested leaves no verdicts behind.
    #[test]
    fn every_record_has_its_test() {
        let recorded = super::records(&super::root().join("validation/quick-claims"));
        assert_eq!(recorded, 23);
    }
}

/// The studies of the theory, in full.
mod theory {
    use super::every_claim_holds;
    studies! { every_claim_holds:
        chen10_theorem_2 "chen10/theorem-2",
        chen10_theorem_3 "chen10/theorem-3",
        chen10_appendix_a "chen10/appendix-a",
        chen10_appendix_b "chen10/appendix-b",
        cz06_fig_1 "cz06/fig-1",
        cz06_theorem_1 "cz06/theorem-1",
        qcsma_fig_3 "qcsma/fig-3",
        jam10_fig_7_1 "jam10/fig-7-1",
        jam10_fig_7_2 "jam10/fig-7-2",
        jam10_fig_7_3 "jam10/fig-7-3",
        jam10_fig_7_6a "jam10/fig-7-6a",
    }
}

fn gets_the_verdicts_it_got(id: &str) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let document = json(&evenair(&["study", id, "--quick", "--json", "--out", out]));
    let mut table = String::new();
    for claim in document["claims"].as_array().expect("a list") {
        let (text, verdict) = (claim["claim"].as_str().unwrap(), claim["verdict"].as_str().unwrap());
        writeln!(table, "{verdict}: {text}").unwrap();
    }
    assert!(!table.is_empty(), "{id} has no claims");
    let path = root().join(format!("validation/quick-claims/{id}.txt"));
    if std::env::var_os("EVENAIR_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
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

fn every_claim_holds(id: &str) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let document = json(&evenair(&["study", id, "--json", "--out", out]));
    let claims = document["claims"].as_array().unwrap();
    assert!(claims.len() >= 3);
    for claim in claims {
        assert!(claim["verdict"] == "holds", "{claim}");
    }
    let report = std::fs::read_to_string(folder.path().join(id).join("report.html")).unwrap();
    assert!(report.contains("data-figure=\"0\""));
}

/// How many records lie in the folders of papers below a folder.
fn records(folder: &Path) -> usize {
    let files = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files(folder).map(|paper| files(&paper).count()).sum()
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
    let digests = |study: &Study| (study.id.clone(), digests(study).unwrap());
    let now = studies.iter().map(digests).collect();
    let page = verdicts::page(&studies, &records, &now);
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
        return evenair_needs::skip_part("a commit", "the record itself");
    }
    let text = std::fs::read_to_string(Path::new(records).join("jam10/fig-7-1.json")).expect("it was kept");
    let record: Record = serde_json::from_str(&text).unwrap();
    assert_eq!((record.command.as_str(), record.measured.len()), ("evenair study jam10/fig-7-1", 3));
    assert_eq!(record.to_json(), text);
    let due = ["study", "jam10/fig-7-1", "--out", out, "--record", records, "--due"];
    assert_eq!(stderr(&evenair(&due)).lines().last(), Some("no study is due"));
    let (_, digest) = record.variants.first_key_value().unwrap();
    let other = text.replace(&digest.scenario, "0123456789ab");
    std::fs::write(Path::new(records).join("jam10/fig-7-1.json"), other).unwrap();
    let run = stderr(&evenair(&due));
    assert!(
        run.contains("1 of 1 study is due; recorded in")
            || run.contains("1 of 1 study is due: jam10/fig-7-1"),
        "{run}"
    );
    assert_eq!(stderr(&evenair(&due)).lines().last(), Some("no study is due"), "it was recorded again");
}
