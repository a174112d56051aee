//! Labels of facts that the papers describe in words: each label in a comment of the code is explained in
//! docs/citations.md.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The papers' letters: [Chen10], [Jam10], [Lee12], [QCSMA], [CZ06].
const LETTERS: [char; 5] = ['C', 'J', 'L', 'Q', 'Z'];

/// Labels in the comments of these files that the table of citations lacks.
pub(crate) fn unexplained(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let table = fs::read_to_string(root.join("docs/citations.md")).context("docs/citations.md")?;
    let explained: BTreeSet<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next()).collect();
    let mut findings = Vec::new();
    for file in files {
        let text = fs::read_to_string(file)?;
        let name = file.strip_prefix(root).unwrap_or(file).display();
        for (number, line) in text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            for label in labels(comment).filter(|label| !explained.contains(label)) {
                findings.push(format!("{name}:{}: {label} is not in docs/citations.md", number + 1));
            }
        }
    }
    Ok(findings)
}

/// Words such as `C8`; code in back-quotes is not prose.
fn labels(comment: &str) -> impl Iterator<Item = &str> {
    let prose = comment.split('`').step_by(2);
    prose.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).filter(|word| {
        word.strip_prefix(LETTERS)
            .is_some_and(|rest| (1..=2).contains(&rest.len()) && rest.chars().all(|c| c.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_words_of_a_letter_and_a_number() {
        let found: Vec<&str> = labels(" [Chen10] C8, (L2 to L4), `Z9`, 1C3, CW15, Jam10, C123").collect();
        assert_eq!(found, ["C8", "L2", "L4"]);
    }
}
