//! Quick forms of packet studies, claim by claim, against the verdicts recorded in `validation/quick-claims/`; studies of the theory
//! in full; and `evenair verdicts`, which reads the records of `evenair study --record`.
//!
//! A quick run has two seeds or so, and its verdicts prove nothing of the papers. But they follow from scenario and seed to
//! the last bit, so each stays the same until results, claims or their judgement change. `EVENAIR_BLESS=1 cargo test -p
//! evenair-cli claims` writes these records.

use crate::{evenair, json, stderr, stdout};
use evenair_study::verdicts::{Record, recorded};
use evenair_study::{Study, study_ids};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Studies over real sockets, which are run again before a release.
const LEFT_STALE: [&str; 8] = [
    "gateway/linux-baselines",
    "gateway/linux-bully",
    "jam10/linux-6-8",
    "jam10/linux-6-9",
    "jam10/linux-7-13",
    "jam10/linux-8-8",
    "qcsma/linux-fig-4",
    "qcsma/linux-fig-5",
];

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

#[test]
fn verdicts_match_records_and_name_causes() {
    let records = recorded();
    let with_claims = study_ids().filter(|id| !Study::builtin(id).unwrap().claims.is_empty());
    for id in with_claims {
        assert_eq!(records.get(id).map(|record| &*record.study), Some(id), "no record of its own");
    }
    let document = json(&evenair(&["verdicts", "--json"]));
    let causes = document["causes"].as_array().unwrap();
    let unnamed = causes.iter().find(|cause| cause["cause"].is_null());
    assert_eq!(unnamed.map(|cause| &cause["in_substance"]), None, "a failure in substance without a cause");
    let page = stdout(&evenair(&["verdicts", "--markdown"]));
    let share = page.lines().find(|line| line.contains("fail in substance: ")).unwrap();
    let head = stdout(&evenair(&["verdicts"]));
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert!(words(&head).starts_with(&words(share)), "{head}");
    let paper = stdout(&evenair(&["verdicts", "chen10"]));
    assert!(paper.contains("chen10/fig-4-2") && !paper.contains("jam10"), "{paper}");
    let one = stdout(&evenair(&["verdicts", "jam10/fig-7-1"]));
    assert!(one.contains("holds") && one.contains("Recorded 20"), "{one}");
    assert!(stderr(&evenair(&["verdicts", "jam10/fig-7-111"])).contains("did you mean"));
}

/// The first five seconds of every variant are simulated.
#[test]
fn every_record_matches_the_present_program() {
    let document = json(&evenair(&["verdicts", "--stale", "--json"]));
    let studies =
        document["chapters"].as_array().unwrap().iter().flat_map(|c| c["studies"].as_array().unwrap());
    let stale: Vec<&str> = studies
        .filter(|study| !study["stale"].as_array().unwrap().is_empty())
        .map(|study| study["study"].as_str().unwrap())
        .filter(|study| !LEFT_STALE.contains(study))
        .collect();
    assert!(
        stale.is_empty(),
        "run anew by `evenair study --all --due --record validation/verdicts`: {stale:?}"
    );
}

#[test]
fn records_need_whole_studies_and_a_commit() {
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
