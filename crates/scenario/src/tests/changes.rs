//! Changes of a scenario that is resolved already.

use super::*;
use std::path::{Path, PathBuf};

/// All scenarios that come with evenair.
fn all(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, found);
        } else if path.extension().is_some_and(|end| end == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn changes_are_those_of_the_whole_text() {
    let mut files = Vec::new();
    all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut files);
    let changes = [
        "mac.rts_threshold=0 bytes",
        "backoff.law=adaptive",
        "connections.k=10",
        "mac.ack_timeout=distance",
        "warmup=0 s",
        "mac.kind=ideal",
    ]
    .map(|change| vec![change.to_string()]);
    let (mut taken, mut refused) = (0, 0);
    for scenario in files.iter().filter_map(|file| Resolved::load(file, &[]).ok()) {
        let text = scenario.to_toml().unwrap();
        for change in &changes {
            let (here, anew) = (scenario.with(change), Resolved::parse("whole", &text, change));
            taken += usize::from(here.is_ok());
            refused += usize::from(here.is_err());
            assert_eq!(here.ok(), anew.ok(), "{}: {change:?}", scenario.settings().name);
        }
    }
    assert!(taken > 50 && refused > 5, "{taken} taken, {refused} refused");
}
