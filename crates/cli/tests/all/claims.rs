//! Quick forms of packet studies, claim by claim, against the verdicts recorded in `validation/quick-claims.txt`.
//!
//! A quick run has two seeds or so, and its verdicts prove nothing of the papers. But they follow from scenario and seed to
//! the last bit, so that each stays what it is until results, claims or their judgement change.
//! `EVENAIR_BLESS=1 cargo test -p evenair-cli claims` writes the table anew.

use crate::{evenair, json};
use std::fmt::Write;
use std::path::Path;

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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/quick-claims.txt");
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
